/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/package/program.h"

uint32_t wk_program_arena_align(const wk_program *p) {
  int64_t align = WICK_ALIGN;
  for (size_t b = 0; b < p->buffers.n; b++)
    if (p->buffers.data[b].region == WK_REGION_ACT && p->buffers.data[b].align > align)
      align = p->buffers.data[b].align;
  return (uint32_t)align;
}

/* A state that no instruction mentions is none of the program's. */
static uint32_t state_use(const wk_program *p) {
  bool writes = wk_program_touches(p, WK_REGION_STATE, true);
  bool touches = writes || wk_program_touches(p, WK_REGION_STATE, false);
  return (touches ? WICK_ENTRY_READS_STATE : 0) | (writes ? WICK_ENTRY_WRITES_STATE : 0);
}

static wk_package_tensor *tensors(const wk_program_io *io, size_t n, wk_arena *a) {
  wk_package_tensor *t = wk_arena_alloc(a, n * sizeof *t);
  for (size_t i = 0; i < n; i++)
    t[i] = (wk_package_tensor){.name = io[i].name, .dtype = (uint32_t)io[i].type.dtype,
                               .rank = io[i].type.rank, .dims = io[i].type.dims};
  return t;
}

wk_package_part wk_package_part_of(const wk_program *p, const char *name, uint32_t unit,
                                   wk_arena *a) {
  return (wk_package_part){
      .name = name, .unit = unit,
      .inputs = tensors(p->inputs.data, p->inputs.n, a), .n_inputs = p->inputs.n,
      .outputs = tensors(p->outputs.data, p->outputs.n, a), .n_outputs = p->outputs.n,
      .arena_bytes = (uint64_t)p->region_size[WK_REGION_ACT],
      .arena_bound = (uint64_t)p->act_bound, .arena_align = wk_program_arena_align(p),
      .state_use = state_use(p)};
}

uint64_t *wk_package_add_consts(wk_package *pkg, uint32_t unit, const wk_program *p, wk_arena *a) {
  uint64_t *at = wk_arena_alloc(a, p->buffers.n * sizeof *at);
  for (size_t k = 0; k < p->buffers.n; k++) {
    const wk_buffer *b = &p->buffers.data[k];
    if (b->region == WK_REGION_CONST)
      at[k] = wk_package_add_const(pkg, unit, b->data, (uint64_t)b->size);
  }
  return at;
}
