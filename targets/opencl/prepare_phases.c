/* SPDX-License-Identifier: Apache-2.0
 * A transposed convolution writes, along each axis, `stride` interleaved sets of elements, each of
 * which is an ordinary convolution with every stride-th tap, backwards. All of them are views:
 *
 *   element o = first + stride * j reads taps  rho + stride * t  at position  q + j - t,
 *   where o + pad = stride * q' + rho and q is q' of j = 0 */
#include <string.h>

#include "targets/opencl/prepare.h"

/* One set along one axis. */
typedef struct {
  int64_t first, count; /* elements of the output */
  int64_t rho, taps;
  int64_t before;       /* padding, in front; may be negative */
} phase;

static phase phase_of(const wk_inst *i, int d, int64_t first) {
  const wk_attr_conv_transpose *c = i->attrs;
  int64_t s = c->strides.v[d], at = first + c->pads.v[d], out = i->operands[0].dims[d + 2];
  phase p = {.first = first, .count = wk_ceil_div(out - first, s), .rho = at % s};
  p.taps = wk_ceil_div(i->operands[2].dims[d + 2] - p.rho, s);
  p.before = p.taps - 1 - at / s;
  return p;
}

bool wk_cl_wants_phases(const wk_program *p, const wk_inst *i) {
  if (i->op != WK_OP_CONV_TRANSPOSE) return false;
  const wk_attr_conv_transpose *c = i->attrs;
  const wk_view *y = &i->operands[0], *w = &i->operands[2];
  bool is_constant = p->buffers.data[w->buffer].region == WK_REGION_CONST && !w->step;
  if (c->group != 1 || !is_constant) return false;
  for (int d = 0; d < y->rank - 2; d++) {
    if (c->dilations.v[d] != 1) return false;
    for (int64_t first = 0; first < c->strides.v[d] && first < y->dims[d + 2]; first++)
      if (phase_of(i, d, first).taps < 1) return false;
  }
  return true;
}

/* Elements of the set, in a view that has the output's axes. */
static void narrow(wk_view *v, int spatial, const phase *p, const int64_t *strides) {
  int64_t size = wk_dtype_size(v->dtype);
  for (int d = 0; d < spatial; d++) {
    int axis = v->rank - spatial + d;
    v->offset += p[d].first * v->strides[axis] * size;
    v->strides[axis] *= strides[d];
    v->dims[axis] = p[d].count;
  }
}

/* w[c, oc, k…] as weights [oc, c, taps…] of the set. */
static wk_view weights(const wk_view *w, int spatial, const phase *p, const int64_t *strides) {
  wk_view v = *w;
  v.dims[0] = w->dims[1], v.strides[0] = w->strides[1];
  v.dims[1] = w->dims[0], v.strides[1] = w->strides[0];
  for (int d = 0; d < spatial; d++) {
    v.offset += (p[d].rho + strides[d] * (p[d].taps - 1)) * w->strides[d + 2] *
                wk_dtype_size(w->dtype);
    v.strides[d + 2] = -strides[d] * w->strides[d + 2];
    v.dims[d + 2] = p[d].taps;
  }
  return v;
}

/* Positions that no window reaches, in front, are cut off; the rest is padding. */
static void set_window(wk_arena *a, wk_inst *conv, int spatial, const phase *p) {
  wk_attr_conv *c = conv->attrs;
  wk_view *x = &conv->operands[1];
  int64_t *ones = wk_arena_alloc(a, (size_t)spatial * sizeof *ones);
  int64_t *pads = wk_arena_alloc(a, (size_t)(2 * spatial) * sizeof *pads);
  for (int d = 0; d < spatial; d++) {
    ones[d] = 1;
    pads[d] = p[d].before;
    if (pads[d] < 0) {
      x->offset -= pads[d] * x->strides[d + 2] * wk_dtype_size(x->dtype);
      x->dims[d + 2] += pads[d];
      pads[d] = 0;
    }
    int64_t after = p[d].count + p[d].taps - 1 - pads[d] - x->dims[d + 2];
    if (after < 0) x->dims[d + 2] += after;
    pads[spatial + d] = after < 0 ? 0 : after;
  }
  c->strides = c->dilations = (wk_ints){.n = spatial, .v = ones};
  c->pads = (wk_ints){.n = 2 * spatial, .v = pads};
  c->group = 1;
}

static void add_phase(wk_program *p, wk_block *out, const wk_inst *i, const phase *phases) {
  const wk_attr_conv_transpose *t = i->attrs;
  int spatial = i->operands[0].rank - 2;
  wk_inst *conv = wk_inst_new(p, WK_OP_CONV, i->name, 1, i->n_operands);
  memcpy(conv->operands, i->operands, i->n_operands * sizeof *i->operands);
  ((wk_attr_conv *)conv->attrs)->epilogue = t->epilogue;
  set_window(p->arena, conv, spatial, phases);
  conv->operands[2] = weights(&i->operands[2], spatial, phases, t->strides.v);
  narrow(&conv->operands[0], spatial, phases, t->strides.v);
  for (uint32_t k = 4; k < i->n_operands; k++)
    if (conv->operands[k].buffer != WK_NONE)
      narrow(&conv->operands[k], spatial, phases, t->strides.v);
  wk_block_append(out, conv);
}

void wk_cl_add_phases(wk_program *p, wk_block *out, const wk_inst *i) {
  const wk_attr_conv_transpose *c = i->attrs;
  int spatial = i->operands[0].rank - 2;
  phase phases[WK_MAX_RANK];
  int64_t sets = 1;
  for (int d = 0; d < spatial; d++) {
    int64_t n = c->strides.v[d], dim = i->operands[0].dims[d + 2];
    sets *= n < dim ? n : dim;
  }
  for (int64_t k = 0; k < sets; k++) {
    int64_t rest = k;
    for (int d = 0; d < spatial; d++) {
      int64_t n = c->strides.v[d], dim = i->operands[0].dims[d + 2];
      n = n < dim ? n : dim;
      phases[d] = phase_of(i, d, rest % n);
      rest /= n;
    }
    add_phase(p, out, i, phases);
  }
}
