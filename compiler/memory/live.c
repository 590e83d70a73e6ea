/* SPDX-License-Identifier: Apache-2.0
 * Liveness of buffers over the flat list of instructions. A buffer mentioned inside a loop whose
 * value must survive from one iteration to the next, or that is mentioned outside the loop too,
 * is live from the loop's first to its last instruction; a buffer of one iteration lives between
 * its mentions. */
#include "compiler/memory/memory.h"

typedef struct {
  int64_t first, last; /* flat positions of the loop instruction and of the end of its body */
} span;

static int64_t end_of(const wk_inst_pos *flat, size_t n, size_t i) {
  size_t k = i + 1;
  while (k < n && flat[k].depth > flat[i].depth) k++;
  return (int64_t)k - 1;
}

/* Where the buffer is first mentioned within a loop it must be written as a whole, else it
 * carries a value between iterations. */
static bool is_whole_write(const wk_program *p, const wk_inst *i, uint32_t buffer) {
  const wk_view *write = NULL;
  for (uint32_t k = 0; k < i->n_operands; k++) {
    const wk_view *v = &i->operands[k];
    if (v->buffer != buffer) continue;
    if (v->role != WK_ROLE_OUT) return false;
    write = v;
  }
  if (!write || write->step != 0) return false;
  int64_t count = 1;
  for (int d = 0; d < write->rank; d++)
    if (write->strides[d] != 0) count *= write->dims[d];
  return count * wk_dtype_size(write->dtype) == p->buffers.data[buffer].size;
}

static void extend_over_loop(const wk_program *p, const wk_inst_pos *flat, span loop, wk_live *live,
                             bool *seen) {
  for (int64_t i = loop.first; i <= loop.last; i++)
    for (uint32_t k = 0; k < wk_inst_views(flat[i].inst); k++) {
      uint32_t b = wk_inst_view(flat[i].inst, k)->buffer;
      if (b == WK_NONE || seen[b]) continue;
      seen[b] = true;
      bool inside = live[b].first >= loop.first && live[b].last <= loop.last;
      bool local = inside && live[b].first > loop.first && is_whole_write(p, flat[i].inst, b);
      if (local) continue;
      if (live[b].first > loop.first) live[b].first = loop.first;
      if (live[b].last < loop.last) live[b].last = loop.last;
    }
  for (int64_t i = loop.first; i <= loop.last; i++)
    for (uint32_t k = 0; k < wk_inst_views(flat[i].inst); k++)
      if (wk_inst_view(flat[i].inst, k)->buffer != WK_NONE)
        seen[wk_inst_view(flat[i].inst, k)->buffer] = false;
}

/* A whole write inside a branch need not happen: a buffer first written there and read in the
 * other branch, or behind it, lives from the branch on. Positions inside both bodies are covered
 * because the range runs from first to last mention. */
wk_live *wk_liveness(const wk_program *p, wk_arena *scratch) {
  wk_inst_pos *flat;
  size_t n = wk_program_flatten(p, scratch, &flat);
  wk_live *live = wk_arena_alloc(scratch, p->buffers.n * sizeof *live);
  bool *seen = wk_arena_alloc(scratch, p->buffers.n);
  for (size_t b = 0; b < p->buffers.n; b++) live[b] = (wk_live){.first = 1, .last = 0};
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < wk_inst_views(flat[i].inst); k++) {
      uint32_t b = wk_inst_view(flat[i].inst, k)->buffer;
      if (b == WK_NONE) continue;
      if (live[b].first > live[b].last) live[b].first = (int64_t)i;
      live[b].last = (int64_t)i;
    }
  for (size_t i = n; i-- > 0;) /* inner loops first */
    if (flat[i].inst->op == WK_OP_LOOP) {
      span loop = {.first = (int64_t)i, .last = end_of(flat, n, i)};
      extend_over_loop(p, flat, loop, live, seen);
    }
  /* A nest interleaves its body: what it mentions is live throughout. */
  for (size_t i = 0; i < n; i++)
    if (flat[i].inst->op == WK_OP_NEST) {
      int64_t last = end_of(flat, n, i);
      for (int64_t j = (int64_t)i + 1; j <= last; j++)
        for (uint32_t k = 0; k < wk_inst_views(flat[j].inst); k++) {
          uint32_t b = wk_inst_view(flat[j].inst, k)->buffer;
          if (b == WK_NONE) continue;
          if (live[b].first > (int64_t)i) live[b].first = (int64_t)i;
          if (live[b].last < last) live[b].last = last;
        }
    }
  return live;
}
