/* SPDX-License-Identifier: Apache-2.0
 * Private to the assembler: asm.c runs the lines, asm_expr.c reads names and expressions,
 * asm_command.c commands, asm_data.c what lies in memory. */
#ifndef WICK_ACCEL_ASM_H
#define WICK_ACCEL_ASM_H

#include <string.h>

#include "targets/accel/isa/internal.h"
#include "targets/accel/isa/stream.h"

#define NAME_MAX_LENGTH 63

typedef enum { WK_ASM_NUMBER, WK_ASM_LOOP, WK_ASM_REGION } wk_asm_kind;

typedef struct {
  const char *name;
  wk_asm_kind kind;
  bool is_defined; /* a loop's variable ends with it */
  int64_t value;
} wk_asm_symbol;

typedef struct {
  const char *name;
  uint32_t line, queue, ordinal; /* ordinal: of the command in its queue, from 1 */
} wk_asm_label;

typedef struct {
  uint32_t line; /* index of .for */
  uint32_t symbol;
  int64_t at, to;
  wk_asm_symbol hidden; /* what the variable's name meant outside */
} wk_asm_loop;

typedef struct {
  const char *file, *folder;
  wk_asm_options o;
  wk_stream *s; /* NULL until the machine is known */
  wk_arena *arena;
  const char **lines;
  uint32_t n_lines, line; /* line: index of the one at hand */
  uint32_t *match;        /* of .for its .end, of .end its .for */
  const char *at;         /* where reading goes on in it */
  int depth;              /* of brackets in an expression */
  uint64_t passed, image_bytes;
  WK_VEC(wk_asm_symbol) symbols;
  WK_VEC(wk_asm_label) labels;
  WK_VEC(wk_asm_loop) loops;
  wk_map *symbol_of, *label_of;
} wk_asm_state;

typedef struct { char s[NAME_MAX_LENGTH + 1]; } wk_asm_name;

/* WK_INPUT with FILE:LINE:COLUMN. */
#define wk_asm_error(a, at, ...) \
  wk_asm_error_at((a), WK_INPUT, (at), __FILE__, __LINE__, __VA_ARGS__)
wk_status wk_asm_error_at(const wk_asm_state *a, wk_code code, const char *at, const char *file,
                          int line, const char *fmt, ...) WK_PRINTF(6, 7) WK_MUST_CHECK;
/* "unknown WHAT 'x'; did you mean 'y'?" */
wk_status wk_asm_unknown(const wk_asm_state *a, const char *at, const char *what, const char *name,
                         const char *const *names, size_t n) WK_MUST_CHECK;
/* Sets the place of a status that has none. */
wk_status wk_asm_place(const wk_asm_state *a, const char *at, wk_status s) WK_MUST_CHECK;

/* ---- reading --------------------------------------------------------------------------------- */

bool wk_asm_at_end(wk_asm_state *a);        /* skips blanks; a comment is an end */
bool wk_asm_accept(wk_asm_state *a, char c); /* skips blanks before it */
wk_status wk_asm_expect_end(wk_asm_state *a) WK_MUST_CHECK;
/* Letters, digits and _, not a digit first; false (and nothing read) when there is none. */
bool wk_asm_word(wk_asm_state *a, wk_asm_name *out);
wk_status wk_asm_need_word(wk_asm_state *a, const char *what, wk_asm_name *out) WK_MUST_CHECK;
/* A name in which {expr} stands for a number; "" when there is none. */
wk_status wk_asm_label_name(wk_asm_state *a, wk_asm_name *out) WK_MUST_CHECK;
wk_status wk_asm_expr(wk_asm_state *a, int64_t *out) WK_MUST_CHECK;
/* An expression with a value of low .. high. */
wk_status wk_asm_number(wk_asm_state *a, const char *what, int64_t low, int64_t high,
                        int64_t *out) WK_MUST_CHECK;
wk_status wk_asm_real(wk_asm_state *a, double *out) WK_MUST_CHECK; /* a decimal number */
wk_status wk_asm_string(wk_asm_state *a, const char **out) WK_MUST_CHECK;

/* ---- symbols --------------------------------------------------------------------------------- */

wk_asm_symbol *wk_asm_find(const wk_asm_state *a, const char *name); /* NULL: not defined */
/* The row of that name, a new undefined one when there is none. */
uint32_t wk_asm_symbol_row(wk_asm_state *a, const char *name);

/* ---- parts ----------------------------------------------------------------------------------- */

/* The stream, made on first use: then the machine is fixed. */
wk_status wk_asm_start(wk_asm_state *a) WK_MUST_CHECK;
wk_status wk_asm_command(wk_asm_state *a) WK_MUST_CHECK;
wk_status wk_asm_raw(wk_asm_state *a) WK_MUST_CHECK;

wk_status wk_asm_memory(wk_asm_state *a) WK_MUST_CHECK;
wk_status wk_asm_random(wk_asm_state *a) WK_MUST_CHECK;
wk_status wk_asm_file(wk_asm_state *a) WK_MUST_CHECK;
wk_status wk_asm_bytes(wk_asm_state *a) WK_MUST_CHECK;
wk_status wk_asm_words(wk_asm_state *a) WK_MUST_CHECK;
wk_status wk_asm_record(wk_asm_state *a) WK_MUST_CHECK;
wk_status wk_asm_entry(wk_asm_state *a) WK_MUST_CHECK;
wk_status wk_asm_output(wk_asm_state *a) WK_MUST_CHECK;

#endif
