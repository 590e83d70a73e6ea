/* SPDX-License-Identifier: Apache-2.0
 * text: tokens of the text formats of models, and protobuf text.
 *
 * Tokens point into the text. # starts a comment that ends with the line (// does not). A sign is a
 * token of its own. Errors name FILE:LINE:COLUMN. */
#ifndef WICK_ONNX_WIRE_TEXT_H
#define WICK_ONNX_WIRE_TEXT_H

#include "compiler/onnx/wire/wire.h"

typedef enum {
  WK_TEXT_END,
  WK_TEXT_WORD,   /* a letter or _, then letters, digits and _ */
  WK_TEXT_NUMBER, /* begins with a digit, or with . and a digit */
  WK_TEXT_STRING, /* in ' or ", not decoded, on one line */
  WK_TEXT_PUNCT   /* one character */
} wk_text_kind;

typedef struct {
  wk_text_kind kind;
  const char *p;
  size_t n;
  const char *line_start;
  int64_t line; /* from 1 */
} wk_text_token;

/* The reader always holds one token. May be copied to come back to its place later. */
typedef struct {
  const char *file, *at, *end, *line_start;
  int64_t line;
  wk_text_token tok;
} wk_text;

wk_status wk_text_start(wk_text *t, const char *file, const char *text, size_t n) WK_MUST_CHECK;
wk_status wk_text_next(wk_text *t) WK_MUST_CHECK;

/* WK_INPUT at a token; at the present one. */
wk_status wk_text_error_at(const wk_text *t, const wk_text_token *at, const char *fmt, ...)
    WK_PRINTF(3, 4) WK_MUST_CHECK;
#define wk_text_error(t, ...) wk_text_error_at((t), &(t)->tok, __VA_ARGS__)
/* WK_INPUT: "expected WHAT, not 'token'". */
wk_status wk_text_unexpected(const wk_text *t, const char *what) WK_MUST_CHECK;

static inline bool wk_text_is(const wk_text *t, char c) {
  return t->tok.kind == WK_TEXT_PUNCT && t->tok.p[0] == c;
}
bool wk_text_is_word(const wk_text *t, const char *word);
wk_status wk_text_accept(wk_text *t, char c, bool *found) WK_MUST_CHECK;
wk_status wk_text_expect(wk_text *t, char c) WK_MUST_CHECK;
/* Values, which are passed. A string: adjacent ones are one; decoded into b, which may hold any
 * byte. */
wk_status wk_text_string(wk_text *t, wk_str *b) WK_MUST_CHECK;
wk_status wk_text_integer(wk_text *t, bool *negative, uint64_t *magnitude) WK_MUST_CHECK;
wk_status wk_text_i64(wk_text *t, int64_t *out) WK_MUST_CHECK;
wk_status wk_text_f32(wk_text *t, float *out) WK_MUST_CHECK; /* rounded once, from the text */
wk_status wk_text_f64(wk_text *t, double *out) WK_MUST_CHECK;

/* Protobuf text as a message of type d, in the wire format: malloc'ed. The bytes are those that
 * protobuf's libraries write when the fields come in the order of their numbers, as those print
 * them. What it then means is for wk_wire_unpack to say. */
wk_status wk_text_to_wire(const char *file, const char *text, size_t n,
                          const ProtobufCMessageDescriptor *d, uint8_t **out,
                          size_t *out_n) WK_MUST_CHECK;
/* The type among d[0..n) that has the first field of a protobuf text; NULL: the text does not begin
 * with a field. WK_INPUT: with one that none of them has. */
wk_status wk_text_message(const char *file, const char *text, size_t n,
                          const ProtobufCMessageDescriptor *const *d, size_t n_d,
                          const ProtobufCMessageDescriptor **out) WK_MUST_CHECK;

#endif
