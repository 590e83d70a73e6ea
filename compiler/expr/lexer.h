/* SPDX-License-Identifier: Apache-2.0
 * Tokens of the text forms of graphs and programs; private to compiler/ir. The lexer always holds
 * one token. Names and strings are decoded into its arena. # starts a comment that ends with the
 * line. */
#ifndef WICK_EXPR_LEXER_H
#define WICK_EXPR_LEXER_H

#include "compiler/expr/types.h"

typedef enum {
  WK_TOK_END,
  WK_TOK_WORD,   /* letters, digits, _ and ., if it is no number */
  WK_TOK_VALUE,  /* %name or %"any text" */
  WK_TOK_SYMBOL, /* @name or @"any text" */
  WK_TOK_STRING, /* "any text" */
  WK_TOK_NUMBER, /* -1, 2.5e-3, -inf; inf and nan are words */
  WK_TOK_PUNCT   /* one character */
} wk_tok;

typedef struct {
  wk_tok kind;
  const char *text; /* decoded, NUL-terminated; PUNCT: one character */
  size_t n;
  int line, column; /* from 1, columns in bytes */
} wk_token;

typedef struct {
  const char *at, *end, *line_start;
  int line;
  const char *file; /* for messages */
  wk_arena *arena;
  wk_token tok;
} wk_lexer;

/* Reads the first token. text must outlive the lexer. A lexer may be copied to come back to its
 * place later. */
wk_status wk_lex_start(wk_lexer *l, wk_arena *a, const char *text, const char *file) WK_MUST_CHECK;
wk_status wk_lex_next(wk_lexer *l) WK_MUST_CHECK;

/* WK_INPUT at the present token. */
#define wk_lex_error(l, ...) wk_lex_error_at((l), &(l)->tok, __FILE__, __LINE__, __VA_ARGS__)
wk_status wk_lex_error_at(const wk_lexer *l, const wk_token *t, const char *file, int line,
                          const char *fmt, ...) WK_PRINTF(5, 6) WK_MUST_CHECK;
/* "conv", %x … for messages. */
typedef struct { char s[48]; } wk_text48;
wk_text48 wk_lex_shown(const wk_token *t);

static inline bool wk_lex_is(const wk_lexer *l, char c) {
  return l->tok.kind == WK_TOK_PUNCT && l->tok.text[0] == c;
}
bool wk_lex_is_word(const wk_lexer *l, const char *word);
wk_status wk_lex_accept(wk_lexer *l, char c, bool *found) WK_MUST_CHECK;
wk_status wk_lex_accept_word(wk_lexer *l, const char *word, bool *found) WK_MUST_CHECK;
wk_status wk_lex_expect(wk_lexer *l, char c) WK_MUST_CHECK;
wk_status wk_lex_expect_word(wk_lexer *l, const char *word) WK_MUST_CHECK;
/* The text of a token of that kind, which is passed. */
wk_status wk_lex_text(wk_lexer *l, wk_tok kind, const char **out) WK_MUST_CHECK;
wk_status wk_lex_int(wk_lexer *l, int64_t *out) WK_MUST_CHECK;
wk_status wk_lex_u64(wk_lexer *l, uint64_t *out) WK_MUST_CHECK;
wk_status wk_lex_f64(wk_lexer *l, double *out) WK_MUST_CHECK;
wk_status wk_lex_f32(wk_lexer *l, float *out) WK_MUST_CHECK; /* rounded once, from the text */

/* sigil, then the name, quoted where the lexer needs it. */
void wk_print_name(wk_str *b, char sigil, const char *name);

#endif
