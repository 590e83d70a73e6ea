/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a program: constants and the caller's buffers as they are, one arena per region for
 * what is placed, storage of its own for what is not. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/inst.h"

enum { UNWRITTEN = 0xAA }; /* reads of memory never written show */

typedef struct {
  void **bases;
  void **own; /* per buffer: storage of its own */
  void *arenas[WK_REGION_COUNT];
} memory;

static bool is_local(const wk_buffer *b) {
  return b->region == WK_REGION_ACT || b->region == WK_REGION_SCRATCH;
}

static wk_status alloc_unwritten(int64_t size, void **out) {
  WK_TRY(wk_try_malloc((size_t)size, out));
  memset(*out, UNWRITTEN, (size_t)size);
  return NULL;
}

static wk_status make_arenas(const wk_program *p, memory *m) {
  int64_t size[WK_REGION_COUNT] = {0};
  for (size_t i = 0; i < p->buffers.n; i++) {
    const wk_buffer *b = &p->buffers.data[i];
    int64_t end;
    if (!is_local(b) || b->offset < 0) continue;
    if (b->size < 0 || !wk_add_ok(b->offset, b->size, &end))
      return wk_error_at(WK_INTERNAL, b->name, "buffer has no valid place");
    if (end > size[b->region]) size[b->region] = end;
  }
  for (int r = 0; r < WK_REGION_COUNT; r++)
    if (size[r]) WK_TRY(alloc_unwritten(size[r], &m->arenas[r]));
  return NULL;
}

/* A state is a copy of what it holds before. */
static wk_status alloc_state(const wk_program *p, const wk_buffer *b, const void *const *inputs,
                             void **out) {
  const void *given = b->io < p->states.n ? inputs[p->inputs.n + b->io] : NULL;
  const void *from = given ? given : b->data;
  WK_TRY(wk_try_malloc((size_t)b->size, out));
  if (b->size && from) memcpy(*out, from, (size_t)b->size);
  return NULL;
}

static void give_states(const wk_program *p, const memory *m, void *const *outputs) {
  for (size_t i = 0; i < p->states.n; i++) {
    uint32_t b = p->states.data[i].buffer;
    void *to = outputs[p->outputs.n + i];
    if (to) memcpy(to, m->own[b], (size_t)p->buffers.data[b].size);
  }
}

static wk_status place(const wk_program *p, memory *m, size_t i, const void *const *inputs,
                       void *const *outputs) {
  const wk_buffer *b = &p->buffers.data[i];
  if (b->region == WK_REGION_CONST) {
    m->bases[i] = (void *)(uintptr_t)b->data;
  } else if (b->region == WK_REGION_INPUT) {
    m->bases[i] = b->io < p->inputs.n ? (void *)(uintptr_t)inputs[b->io] : NULL;
  } else if (b->region == WK_REGION_OUTPUT) {
    m->bases[i] = b->io < p->outputs.n ? outputs[b->io] : NULL;
  } else if (b->region == WK_REGION_STATE) {
    WK_TRY(alloc_state(p, b, inputs, &m->own[i]));
    m->bases[i] = m->own[i];
  } else if (b->offset >= 0) {
    m->bases[i] = m->arenas[b->region] ? (char *)m->arenas[b->region] + b->offset : NULL;
  } else {
    WK_TRY(alloc_unwritten(b->size, &m->own[i]));
    m->bases[i] = m->own[i];
  }
  static const max_align_t nothing = {0};
  if (m->bases[i]) return NULL;
  if (b->size) return wk_error_at(WK_INTERNAL, b->name, "buffer has no memory");
  m->bases[i] = (void *)(uintptr_t)&nothing; /* empty, but there: NULL means left out */
  return NULL;
}

static wk_status run(const wk_program *p, const void *const *inputs, void *const *outputs,
                     wk_frame f) {
  memory m = {.bases = wk_xcalloc(p->buffers.n, sizeof *m.bases),
              .own = wk_xcalloc(p->buffers.n, sizeof *m.own)};
  wk_status s = make_arenas(p, &m);
  for (size_t i = 0; i < p->buffers.n && !s; i++) s = place(p, &m, i, inputs, outputs);
  f.p = p;
  f.bases = m.bases;
  if (!s) s = wk_frame_run(&f, &p->body);
  if (!s) give_states(p, &m, outputs);
  for (size_t i = 0; i < p->buffers.n; i++) free(m.own[i]);
  for (int r = 0; r < WK_REGION_COUNT; r++) free(m.arenas[r]);
  free(m.bases);
  free(m.own);
  return s;
}

wk_status wk_eval_program(const wk_program *p, const void *const *inputs, void *const *outputs,
                          wk_eval_inst_hook hook, void *ctx) {
  return run(p, inputs, outputs, (wk_frame){.hook = hook, .ctx = ctx});
}

wk_status wk_eval_program_poisoned(const wk_program *p, const void *const *inputs,
                                   void *const *outputs) {
  return run(p, inputs, outputs, (wk_frame){.poisons = true});
}
