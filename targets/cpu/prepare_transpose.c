/* SPDX-License-Identifier: Apache-2.0
 *
 * A transposed convolution with stride s writes output o from the taps t with o + pad = i*s + t*d.
 * Outputs whose (o + pad) mod s agree use the same taps, and along such a phase it is an ordinary
 * convolution: with o + pad = s*q + r, a tap with t*d = r + s*u reads x[q - u]. Those taps are s/g
 * apart (g = gcd(d, s)) and their u is d/g apart; read backwards they are a kernel with dilation
 * d/g. So each phase becomes a CONV that writes a strided view of y. Where a phase has no taps the
 * sums are zero. */
#include <string.h>

#include "targets/cpu/kernels/contract.h"
#include "targets/cpu/prepare.h"

enum { MAX_PHASES = 64, MAX_SPATIAL = 3 };

typedef struct {
  int64_t first, count;        /* of the outputs; they are `stride` apart */
  int64_t tap, tap_step, taps; /* the last tap (the kernel is read backwards) */
  int64_t in_first, in_count;  /* the part of x that is looked at */
  int64_t pad, pad_end, dilation;
} phase; /* taps 0: all sums are zero */

static phase phase_of(int64_t r, int64_t s, int64_t d, int64_t pad, int64_t k, int64_t out,
                      int64_t in) {
  int64_t g = (int64_t)wk_gcd((uint64_t)d, (uint64_t)s), q = wk_ceil_div(pad - r, s), tap = 0;
  phase f = {.first = s * q + r - pad, .dilation = d / g, .tap_step = s / g};
  if (f.first < out) f.count = (out - f.first - 1) / s + 1;
  while (tap < k && tap * d % s != r) tap++;
  if (tap >= k) return f;
  f.taps = (k - 1 - tap) / f.tap_step + 1;
  f.tap = tap + (f.taps - 1) * f.tap_step;
  /* output o of the phase reads x from o - before to o - before + reach - 1 */
  int64_t before = (f.tap * d - r) / s - q, reach = f.dilation * (f.taps - 1) + 1;
  f.in_first = before < 0 ? -before : 0;
  f.pad = before < 0 ? 0 : before;
  int64_t end = f.count - 1 - before + reach; /* one past the last position that is read */
  f.in_count = (end < in ? end : in) - f.in_first;
  f.pad_end = end > in ? end - in : 0;
  if (f.in_count <= 0) f.taps = 0;
  return f;
}

/* The order [oc, c/group, k...] of a constant, cg channels c a group. */
static wk_status regrouped_constant(wk_prepare *r, const wk_view *w, int64_t cg, wk_view *v) {
  int64_t og = w->dims[1], taps = 1;
  for (int k = 2; k < w->rank; k++) taps *= w->dims[k];
  const wk_buffer *b = &r->p->buffers.data[w->buffer];
  size_t size = (size_t)wk_dtype_size(w->dtype);
  const char *src = (const char *)b->data + w->offset;
  int64_t bytes = v->dims[0] * cg * taps * (int64_t)size;
  float *data;
  WK_TRY(wk_prepare_data(r, bytes, &data));
  for (int64_t o = 0; o < v->dims[0]; o++)
    for (int64_t i = 0; i < cg; i++)
      for (int64_t t = 0; t < taps; t++) {
        int64_t at = (o / og * cg + i) * w->strides[0] + o % og * w->strides[1], rest = t;
        for (int k = w->rank - 1; k >= 2; rest /= w->dims[k], k--)
          at += rest % w->dims[k] * w->strides[k];
        memcpy((char *)data + (size_t)((o * cg + i) * taps + t) * size, src + at * (int64_t)size,
               size);
      }
  wk_buffer copy = {.name = wk_arena_printf(r->p->arena, "%s.forward", b->name),
                    .region = WK_REGION_CONST, .size = bytes, .align = 64,
                    .offset = -1, .data = data};
  wk_type t = wk_type_make(w->dtype, v->rank, v->dims);
  *v = wk_view_dense(wk_program_buffer(r->p, &copy), &t, WK_ROLE_IN);
  return NULL;
}

/* The same at run time: a copy over (group, oc of it, c of it, k...). */
static void regroup(wk_prepare *r, const wk_inst *i, int64_t cg, wk_view *v) {
  static const int row_major[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const wk_view *w = &i->operands[WK_CONTRACT_B];
  wk_view from = *w, to = wk_prepare_temporary(r, v, w->dtype, row_major), dense = to;
  from.rank = to.rank = w->rank + 1;
  const int64_t dims[] = {w->dims[0] / cg, w->dims[1], cg};
  const int64_t steps[] = {cg * w->strides[0], w->strides[1], w->strides[0]};
  const int64_t put[] = {w->dims[1] * dense.strides[0], dense.strides[0], dense.strides[1]};
  memcpy(from.dims, dims, sizeof dims);
  memcpy(to.dims, dims, sizeof dims);
  memcpy(from.strides, steps, sizeof steps);
  memcpy(to.strides, put, sizeof put);
  for (int k = 2; k < w->rank; k++) {
    from.dims[k + 1] = to.dims[k + 1] = w->dims[k];
    from.strides[k + 1] = w->strides[k];
    to.strides[k + 1] = dense.strides[k];
  }
  wk_prepare_copy(r, i, to, from);
  dense.role = WK_ROLE_IN;
  *v = dense;
}

/* w [c, oc/group, k...] as [oc, c/group, k...]: a view, but for groups of several channels each
 * way, where the order of the channels is another one. Those are copied, constants now. */
static wk_status forward_weights(wk_prepare *r, const wk_inst *i, int64_t group, wk_view *out) {
  const wk_view *w = &i->operands[WK_CONTRACT_B];
  wk_view v = *w;
  int64_t cg = w->dims[0] / group, og = w->dims[1];
  v.dims[0] = og * group;
  v.dims[1] = cg;
  v.strides[0] = group == 1 ? w->strides[1] : cg * w->strides[0];
  v.strides[1] = w->strides[0];
  *out = v;
  if (group == 1 || og == 1) return NULL;
  if (r->p->buffers.data[w->buffer].region == WK_REGION_CONST)
    return regrouped_constant(r, w, cg, out);
  regroup(r, i, cg, out);
  return NULL;
}

static void move(wk_view *v, int axis, int64_t first, int64_t count, int64_t step) {
  v->offset += first * v->strides[axis] * wk_dtype_size(v->dtype);
  v->dims[axis] = count;
  v->strides[axis] *= step;
}

static wk_inst *phase_conv(wk_prepare *r, const wk_inst *i, const wk_view *w, const phase *f,
                           int spatial) {
  const wk_attr_conv_transpose *a = i->attrs;
  wk_arena *arena = r->p->arena;
  wk_inst *c = wk_inst_new(r->p, WK_OP_CONV, i->name, 1, i->n_operands);
  wk_attr_conv *attr = c->attrs;
  int64_t pads[2 * MAX_SPATIAL], dilations[MAX_SPATIAL];
  for (uint32_t k = 0; k < i->n_operands; k++) c->operands[k] = i->operands[k];
  c->operands[WK_CONTRACT_B] = *w;
  for (int s = 0; s < spatial; s++, f++) {
    move(&c->operands[WK_CONTRACT_A], 2 + s, f->in_first, f->in_count, 1);
    move(&c->operands[WK_CONTRACT_B], 2 + s, f->tap, f->taps, -f->tap_step);
    move(&c->operands[WK_CONTRACT_Y], 2 + s, f->first, f->count, a->strides.v[s]);
    for (uint32_t k = WK_CONTRACT_EXTRA; k < i->n_operands; k++)
      move(&c->operands[k], 2 + s, f->first, f->count, a->strides.v[s]);
    pads[s] = f->pad;
    pads[spatial + s] = f->pad_end;
    dilations[s] = f->dilation;
  }
  attr->strides = wk_ints_fill(arena, spatial, 1);
  attr->pads = wk_ints_dup(arena, pads, 2 * spatial);
  attr->dilations = wk_ints_dup(arena, dilations, spatial);
  attr->group = a->group;
  attr->epilogue = a->epilogue;
  return c;
}

static bool can_split(const wk_prepare *r, const wk_inst *i) {
  const wk_attr_conv_transpose *a = i->attrs;
  const wk_view *x = &i->operands[WK_CONTRACT_A], *w = &i->operands[WK_CONTRACT_B];
  bool is_byte = x->dtype == WK_U8 || x->dtype == WK_I8;
  if (wk_compute_dtype(x->dtype) != WK_F32 && !is_byte) return false;
  if (x->rank < 3 || x->rank > 2 + MAX_SPATIAL) return false;
  if (is_byte && r->p->buffers.data[w->buffer].region != WK_REGION_CONST) return false;
  if (!wk_view_count(x) || !wk_view_count(w) || !wk_view_count(&i->operands[WK_CONTRACT_Y]))
    return false;
  int64_t phases = 1;
  for (int64_t s = 0; s < a->strides.n; s++)
    if (!wk_mul_ok(phases, a->strides.v[s], &phases) || phases > MAX_PHASES) return false;
  return true;
}

wk_status wk_prepare_transpose(wk_prepare *r, wk_inst *i, bool *done) {
  *done = can_split(r, i);
  if (!*done) return NULL;
  const wk_attr_conv_transpose *a = i->attrs;
  const wk_view *x = &i->operands[WK_CONTRACT_A], *y = &i->operands[WK_CONTRACT_Y];
  wk_view w;
  WK_TRY(forward_weights(r, i, a->group, &w));
  int spatial = x->rank - 2;
  int64_t phases = 1;
  for (int s = 0; s < spatial; s++) phases *= a->strides.v[s];
  for (int64_t n = 0; n < phases; n++) {
    phase f[MAX_SPATIAL];
    bool is_empty = false, is_zero = false;
    int64_t rest = n;
    for (int s = spatial - 1; s >= 0; rest /= a->strides.v[s], s--) {
      f[s] = phase_of(rest % a->strides.v[s], a->strides.v[s], a->dilations.v[s], a->pads.v[s],
                      w.dims[2 + s], y->dims[2 + s], x->dims[2 + s]);
      is_empty = is_empty || f[s].count == 0;
      is_zero = is_zero || f[s].taps == 0;
    }
    if (is_empty) continue;
    wk_inst *conv = phase_conv(r, i, &w, f, spatial);
    if (is_zero) WK_TRY(wk_prepare_zero(r, conv));
    else WK_TRY(wk_prepare_contract(r, conv));
  }
  return NULL;
}
