/* SPDX-License-Identifier: Apache-2.0 */
/* A map: loops over all dims but the last, vectors along that. Values of a group of vectors are
 * computed before the first of them is stored, so that their instructions may overlap although an
 * output may be an input's memory. */
#include <stdlib.h>

#include "targets/cpu/nest/nest.h"

void wk_nest_map_group(wk_nest_at *at, const wk_nest_place *places, int n, void *ctx) {
  const wk_nest_statement *s = at->s;
  uint32_t n_results = s->body->n_results;
  wk_ssa *values = wk_xcalloc((size_t)n * n_results, sizeof *values);
  (void)ctx;
  for (int u = 0; u < n; u++) wk_nest_body(at, &places[u], values + (size_t)u * n_results);
  for (int u = 0; u < n; u++)
    for (uint32_t r = 0; r < n_results && r < s->n_out; r++)
      if (at->base[r]) wk_nest_store(at, r, &places[u], values[(size_t)u * n_results + r]);
  free(values);
}

void wk_nest_map_codegen(wk_nest_at *at, int outer) {
  const wk_nest_statement *s = at->s;
  wk_llvm_loop *loops = wk_xcalloc(WK_NEST_RANK, sizeof *loops);
  wk_nest_at inner = *at;
  int last = wk_nest_inner(s);
  for (int d = outer; d < last; d++) {
    wk_ssa length = wk_nest_length(&inner, d);
    wk_llvm_begin(at->e, &loops[d], wk_llvm_int(at->e, 0), length, 1, NULL, 0);
    wk_nest_step(&inner, d, loops[d].i);
  }
  if (s->tile >= 0) wk_nest_tile_codegen(&inner);
  else wk_nest_walk(&inner, wk_nest_map_group, NULL);
  for (int d = last - 1; d >= outer; d--) wk_llvm_end(at->e, &loops[d], NULL);
  free(loops);
}
