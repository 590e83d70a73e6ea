/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/observe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- while commands run ---------------------------------------------------------------------- */

static void keep(void *context, uint64_t at, uint64_t n) {
  const wk_observation *o = context;
  const wk_accel_window *w = o->place;
  if (!w || at < w->scratchpad) return;
  uint64_t plane = (uint64_t)w->rows * w->row, q = at - w->scratchpad, end = q + n;
  uint64_t solid = o->pitch == w->row ? plane : w->row; /* bytes that follow one another */
  if (end > w->planes * plane) end = w->planes * plane;
  while (q < end) {
    uint64_t rest = solid - q % solid, run = end - q < rest ? end - q : rest;
    uint64_t row = q % plane / w->row;
    memcpy(o->tensors + w->at + q / plane * w->plane + row * o->pitch + q % w->row,
           o->f->scratchpad + w->scratchpad + q, run);
    q += run;
  }
}

wk_status wk_observe(wk_observation *o, const wk_accel_unit *u, const wk_accel_part *p,
                     wk_functional *f) {
  if (p->tensor_bytes > o->size || !o->tensors) {
    void *data = mmap(NULL, p->tensor_bytes ? p->tensor_bytes : 1, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return wk_error(WK_RESOURCE, "out of memory");
    wk_observation_free(o);
    o->tensors = data;
    o->size = p->tensor_bytes ? p->tensor_bytes : 1;
  } else if (madvise(o->tensors, o->size, MADV_DONTNEED) != 0) { /* zeros again */
    memset(o->tensors, 0, o->size);
  }
  o->unit = u, o->part = p, o->f = f, o->place = NULL;
  f->written = keep;
  f->context = o;
  return NULL;
}

void wk_observe_command(wk_observation *o, uint32_t index) {
  uint32_t row = o->unit->results[o->part->first_command + index];
  o->place = row ? &o->unit->places[row - 1] : NULL;
  o->pitch = row ? wk_accel_pitch(o->unit, row - 1) : 0;
}

void wk_observe_end(wk_functional *f) {
  f->written = NULL;
  f->context = NULL;
}

void wk_observation_free(wk_observation *o) {
  if (o->tensors) munmap(o->tensors, o->size);
  *o = (wk_observation){0};
}

/* ---- afterwards ------------------------------------------------------------------------------ */

typedef struct {
  const wk_observation *o;
  const wk_accel_value *v;
  const wick_tensor_info *t;
  uint8_t *out;
} gathering;

/* Elements of axis `axis` on, of which the first is byte `at`; false: one lies outside. */
static bool gather(gathering *g, uint32_t axis, uint64_t at) {
  if (axis == g->t->rank) {
    if (at >= g->o->part->tensor_bytes) return false;
    *g->out++ = g->o->tensors[at];
    return true;
  }
  uint64_t n = (uint64_t)g->o->unit->machine.array, stride = (uint64_t)g->v->strides[axis];
  for (uint64_t p = 0; p < (uint64_t)g->t->dims[axis]; p++) {
    uint64_t q = g->v->first + p;
    if (!gather(g, axis + 1, axis == g->v->lane ? at + q / n * stride + q % n : at + p * stride))
      return false;
  }
  return true;
}

wk_status wk_observed(const wk_observation *o, uint32_t layer, uint32_t number,
                      const wick_tensor_info *t, void *dense) {
  const wk_accel_layer *l = NULL;
  if (layer < o->part->layers) l = &o->unit->layers[o->part->first_layer + layer];
  if (!l || number >= l->values || t->bits != 8)
    return wk_error(WK_INPUT, "section %s: layer %u does not leave tensor %u", WK_ACCEL_LAYERS,
                    layer, number);
  gathering g = {o, &o->unit->values[l->first_value + number], t, dense};
  if (gather(&g, 0, g.v->at)) return NULL;
  return wk_error(WK_INPUT, "section %s: row %u lies outside of the part's tensors",
                  WK_ACCEL_VALUES, l->first_value + number);
}
