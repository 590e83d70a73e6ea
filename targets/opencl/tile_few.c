/* SPDX-License-Identifier: Apache-2.0
 * Tiles of few rows on GPUs, which memory limits: b is read from it once and by whole rows of a
 * panel, WK_CL_FEW_LANES items beside each other. Slices of the group have each a piece of every
 * step, and their sums are joined in local memory. */
#include "targets/opencl/tile.h"

int wk_cl_tile_few_pointers(const wk_cl_tile *t) { return t->form->rows; }

void wk_cl_tile_few_begin(wk_cl_tile *t) {
  int words = WK_CL_SLICES * t->form->rows * t->form->columns;
  wk_str_printf(t->x.b, "__local %s4 joined[%d];\n", wk_cl_tile_sum_type(t), words / 4);
  wk_str_printf(t->x.b, "const int lane = item %% %d, slice = item / %d;\n", WK_CL_FEW_LANES,
                WK_CL_FEW_LANES);
}

/* Rows that are not there are the last one. */
const char *wk_cl_tile_few_row_of(const wk_cl_tile *t, int pointer) {
  const char *row = wk_arena_printf(t->m->a, "min(m0 + %d, (long)%s - 1)", pointer,
                                    wk_cl_tile_rows(t));
  if (t->live_rows) row = wk_arena_printf(t->m->a, "max(%s, 0l)", row);
  return wk_cl_tile_listed(t, row);
}

void wk_cl_tile_few_sums(const wk_cl_tile *t) {
  for (int r = 0; r < t->form->rows; r++)
    wk_str_printf(t->x.b, "%s4 c%d = 0;\n", wk_cl_tile_sum_type(t), r);
}

/* Word k of row r. */
static const char *word_of_a(const wk_cl_tile *t, int r) {
  wk_arena *a = t->m->a;
  const char *p = wk_arena_printf(a, "p%d", r), *outside = "";
  if (t->outside) outside = wk_arena_printf(a, "!ok%d ? %s : ", r, t->outside);
  const char *at = wk_arena_printf(a, t->is_dots ? "k" : "k * %lldl", (long long)t->a_step);
  const char *word = wk_cl_tile_one(t, t->a, t->a_run, p, at);
  return wk_arena_printf(a, "%s%s", outside, word);
}

static const char *last_word(const wk_cl_tile *t) {
  if (!t->live_depth) return wk_arena_printf(t->m->a, "%lld", (long long)wk_cl_tile_words(t));
  return wk_arena_printf(t->m->a, "(int)min((%s + %d) / %d * %d, %lldl)", t->live_depth,
                         t->form->depth - 1, t->form->depth, t->form->depth,
                         (long long)wk_cl_tile_words(t));
}

void wk_cl_tile_few_products(const wk_cl_tile *t, const wk_cl_taps *taps) {
  wk_str *b = t->x.b;
  int depth = t->form->depth, own = depth / WK_CL_SLICES, unit = wk_cl_tile_unit(t);
  int64_t part = wk_cl_tile_part_steps(t) * depth;
  if (taps->point) {
    for (int d = 0; d < taps->n; d++) wk_str_printf(b, "const int t%d = 0;\n", d);
    taps->point(taps->ctx);
  }
  const char *from = t->size.split > 1 ? wk_arena_printf(t->m->a, "part * %lld", (long long)part)
                                       : "0";
  wk_str_printf(b, "const int from = %s, until = min(from + %lld, %s);\n", from, (long long)part,
                last_word(t));
  wk_str_printf(b, "for (int ks = from + slice * %d; ks < until; ks += %d) {\n", own, depth);
  wk_str_printf(b, "WK_UNROLL for (int e = 0; e < %d; e++) {\nconst int k = ks + e;\n", own);
  const char *at = wk_arena_printf(t->m->a, "k * %lldl + lane * %d", (long long)t->b_row * unit,
                                   4 * unit);
  wk_str_printf(b, "const %s4 y = %s;\n", wk_cl_tile_word(t),
                wk_cl_tile_fours(t, t->b, WK_CL_WHOLE, "w", at));
  bool ends = wk_cl_tile_words(t) % own != 0;
  for (int r = 0; r < t->form->rows; r++) {
    const char *sum = wk_arena_printf(t->m->a, "c%d", r);
    wk_str_printf(b, "{ const %s x = ", wk_cl_tile_word(t));
    if (ends) wk_str_printf(b, "k >= %lld ? 0 : ", (long long)wk_cl_tile_words(t));
    wk_str_printf(b, "%s;\n%s = %s; }\n", word_of_a(t, r), sum,
                  wk_cl_tile_multiplied(t, "x", "y", sum));
  }
  wk_str_add(b, "}\n}\n");
}

void wk_cl_tile_few_end(const wk_cl_tile *t, const char *position, const char *column) {
  wk_str *b = t->x.b;
  const wk_cl_gpu_form *f = t->form;
  const char *word = wk_cl_tile_sum_type(t);
  for (int r = 0; r < f->rows; r++)
    wk_str_printf(b, "joined[(slice * %d + %d) * %d + lane] = c%d;\n", f->rows, r, WK_CL_FEW_LANES,
                  r);
  wk_str_printf(b, "barrier(CLK_LOCAL_MEM_FENCE);\n__local const %s *const all = (__local const %s "
                "*)joined;\n", word, word);
  wk_str_printf(b, "for (int e = item; e < %d; e += %d) {\n", f->rows * f->columns, f->items);
  wk_str_printf(b, "const int row = e / %d, column = e %% %d;\n%s one = all[e];\n", f->columns,
                f->columns, word);
  wk_str_printf(b, "WK_UNROLL for (int n = 1; n < %d; n++) one += all[n * %d + e];\n", WK_CL_SLICES,
                f->rows * f->columns);
  wk_cl_tile_gpu_result(t, position, column, 1, (const char *const[]){"one"});
  wk_str_add(b, "}\n");
}
