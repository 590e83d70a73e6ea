/* SPDX-License-Identifier: Apache-2.0
 * A table of checksums of what the compiler makes, for made.c: a row for each case, a cell for each
 * machine that it is made for. */
#ifndef WICK_TESTS_CHECKSUMS_TABLE_H
#define WICK_TESTS_CHECKSUMS_TABLE_H

#include "compiler/support/support.h"

typedef struct {
  wk_str text;       /* rows so far */
  const char *show;  /* the row whose texts are printed instead; NULL: none */
  bool is_shown;     /* the row that is being written */
} made_table;

void made_row(made_table *t, const char *name);
/* Figures of the text, then its checksum; figures may be "". Text NULL: it is refused. */
void made_cell(made_table *t, const char *machine, const char *figures, const char *text, size_t n);

/* The suites. */
void made_kernels(made_table *t);
void made_programs(made_table *t);
void made_indexed(made_table *t);
void made_drawn(made_table *t);
void made_near(made_table *t);
void made_graphs(made_table *t);
void made_operators(made_table *t);

#endif
