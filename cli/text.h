/* SPDX-License-Identifier: Apache-2.0
 * Numbers, positions and tables as text. */
#ifndef WICK_CLI_TEXT_H
#define WICK_CLI_TEXT_H

#include "compiler/eval/eval.h"
#include "compiler/pipeline/model.h"

/* "[0,12,4]": the position of element `flat` of a row-major tensor. */
void wk_text_position(wk_str *b, const wk_type *t, int64_t flat);
/* An element as a decimal number: floats with the digits that tell them apart, integers exact. */
void wk_text_element(wk_str *b, const wk_tensor *t, int64_t flat);
/* "3 of 12 elements differ, worst at [0,3]: got 1.5, want 2" */
void wk_text_diff(wk_str *b, const wk_tensor *got, const wk_tensor *want, const wk_diff *d);
/* "812 us", "3.4 ms", "12.1 s" */
wk_text24 wk_text_seconds(double s);
/* "4.09 G", "812 k" */
wk_text24 wk_text_count(int64_t n);
/* A name from a model, fit for a terminal. */
const char *wk_text_shown(wk_arena *a, const char *name);

/* Lines "wick: PLACE: TEXT". */
void wk_text_notes(FILE *f, const wk_note *notes, size_t n);

/* Columns of text, aligned; numbers to the right. Rows are '\t'-separated cells. */
typedef struct {
  wk_str text;
} wk_table;
/* One line without its newline; it may begin with an empty line. What is not fit for a terminal is
 * replaced; a name with a '\t' in it would begin a column (wk_text_shown). */
void wk_table_row(wk_table *t, const char *fmt, ...) WK_PRINTF(2, 3);
/* align: one letter per column, 'l' or 'r'; columns beyond it are left-aligned. Frees the rows. */
void wk_table_print(FILE *f, wk_table *t, const char *align);

#endif
