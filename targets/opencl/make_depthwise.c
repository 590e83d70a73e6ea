/* SPDX-License-Identifier: Apache-2.0
 * Convolution of each channel by itself: what both families of devices share. */
#include <string.h>

#include "targets/opencl/depthwise.h"
#include "targets/opencl/tile.h"

bool wk_cl_depthwise_open(wk_cl_depthwise *v, const wk_cl_making *m) {
  if (m->inst->op != WK_OP_CONV) return false;
  v->m = m;
  v->y = &m->inst->operands[0];
  v->x = &m->inst->operands[1];
  v->w = &m->inst->operands[2];
  v->c = m->inst->attrs;
  v->spatial = v->y->rank - 2;
  v->sum = wk_cl_tile_sum(v->x->dtype);
  v->taps = 1;
  for (int d = 0; d < v->spatial; d++) v->taps *= v->w->dims[d + 2];
  int64_t channels = v->x->dims[1];
  return v->c->group == channels && v->y->dims[1] == channels && v->spatial >= 1 &&
         v->x->strides[1] == 1 && wk_cl_tile_types(v->x->dtype, v->w->dtype) &&
         m->p->buffers.data[v->w->buffer].region == WK_REGION_CONST && !v->w->step;
}

uint32_t wk_cl_depthwise_weights(const wk_cl_depthwise *v) {
  int64_t channels = v->x->dims[1], size = wk_dtype_size(v->w->dtype);
  const char *data = (const char *)v->m->p->buffers.data[v->w->buffer].data + v->w->offset;
  char *out = wk_arena_alloc(v->m->unit->arena, (size_t)(channels * v->taps * size));
  for (int64_t t = 0; t < v->taps; t++)
    for (int64_t c = 0; c < channels; c++) {
      int64_t at = c * v->w->strides[0], k = t;
      for (int d = v->spatial - 1; d >= 0; d--) {
        at += k % v->w->dims[d + 2] * v->w->strides[d + 2];
        k /= v->w->dims[d + 2];
      }
      memcpy(out + (t * channels + c) * size, data + at * size, (size_t)size);
    }
  return wk_cl_add_bytes(v->k, out, (uint64_t)(channels * v->taps * size));
}

bool wk_cl_make_depthwise(const wk_cl_making *m) {
  wk_cl_depthwise v = {0};
  wk_cl_kernel k = {.what = "depthwise conv", .node = m->inst->name};
  v.k = &k;
  bool is_cpu = m->device->family == WK_CL_CPU;
  if (!wk_cl_depthwise_open(&v, m) || !(is_cpu ? wk_cl_depthwise_cpu : wk_cl_depthwise_gpu)(&v))
    return false;
  wk_cl_add_launch(m->unit, &k);
  return true;
}
