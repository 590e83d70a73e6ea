/* SPDX-License-Identifier: Apache-2.0
 * made drawn: products, loops and rows of random types, shapes and layouts, through targets. */
#include "tests/checksums/made_machines.h"
#include "tests/unit/program_drawn_cases.h"

enum { SEEDS = 77, HALVES = 28 };

static void emit_seed(made_table *t, const made_place *place, uint64_t seed) {
  char name[32];
  snprintf(name, sizeof name, "drawn-%d", (int)seed);
  made_row(t, name);
  for (size_t i = 0; i < MADE_ALL; i++) {
    wk_program *p = wk_program_new(name);
    drawn_program(p, seed);
    made_program(t, place, i, p);
  }
}

void made_drawn(made_table *t) {
  made_place place;
  made_open(&place);
  for (uint64_t seed = 1; seed <= SEEDS; seed++) emit_seed(t, &place, seed);
  for (uint64_t seed = 101; seed <= 100 + HALVES; seed++) emit_seed(t, &place, seed);
  made_close(&place);
}
