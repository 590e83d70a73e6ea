/* SPDX-License-Identifier: Apache-2.0
 *
 * A convolution in three dimensions is the sum, over the planes of its window, of convolutions in
 * two: tap t of the depth adds, to the outputs `od` whose input plane od*stride - pad + t*dilation
 * exists, what plane t of the window makes of that plane. Either all such outputs of one image are
 * the batch of such a convolution, or one output of all images, whichever takes fewer of them. */
#include <string.h>

#include "targets/cpu/prepare.h"

enum { MAX_CONVS = 256, DEPTH = 2 };

typedef struct {
  wk_prepare *r;
  const wk_inst *i; /* without bias and epilogue */
  const wk_attr_conv *a;
  wk_dtype acc;
  const wk_expr *start, *add; /* epilogues of the first convolution and of those behind it */
  bool by_image;
} volume;

/* Outputs along the depth that tap t reaches: first <= od < *end. */
static int64_t reached(const volume *v, int64_t t, int64_t *end) {
  const wk_view *y = &v->i->operands[WK_CONTRACT_Y], *x = &v->i->operands[WK_CONTRACT_A];
  int64_t s = v->a->strides.v[0], before = v->a->pads.v[0] - t * v->a->dilations.v[0];
  int64_t first = wk_ceil_div(before, s);
  *end = wk_ceil_div(x->dims[DEPTH] + before, s);
  if (*end > y->dims[DEPTH]) *end = y->dims[DEPTH];
  return first > 0 ? first : 0;
}

/* `count` planes from `plane` on, `step` apart, of one image as the batch, or one plane of all
 * images (count 0). */
static wk_view planes(const wk_view *x, int64_t image, int64_t plane, int64_t count, int64_t step) {
  wk_view v = *x;
  v.offset += plane * x->strides[DEPTH] * wk_dtype_size(x->dtype);
  if (count > 0) {
    v.offset += image * x->strides[0] * wk_dtype_size(x->dtype);
    v.dims[0] = count;
    v.strides[0] = step * x->strides[DEPTH];
  }
  v.rank = 4;
  for (int k = DEPTH; k < 4; k++) {
    v.dims[k] = x->dims[k + 1];
    v.strides[k] = x->strides[k + 1];
  }
  return v;
}

/* Outputs from `od` on of tap t: `count` of one image, or (0) one of all images. */
static wk_status add_conv(const volume *v, int64_t t, int64_t image, int64_t od, int64_t count,
                          bool is_first) {
  wk_prepare *r = v->r;
  const wk_attr_conv *a = v->a;
  const wk_view *of = v->i->operands;
  int64_t s = a->strides.v[0], from = od * s - a->pads.v[0] + t * a->dilations.v[0];
  uint32_t n = is_first ? WK_CONTRACT_BIAS : WK_CONTRACT_EXTRA + 1;
  wk_inst *c = wk_inst_new(r->p, WK_OP_CONV, v->i->name, 1, n);
  wk_view y = planes(&of[WK_CONTRACT_Y], image, od, count, 1);
  c->operands[WK_CONTRACT_Y] = y;
  c->operands[WK_CONTRACT_A] = planes(&of[WK_CONTRACT_A], image, from, count, s);
  c->operands[WK_CONTRACT_B] = planes(&of[WK_CONTRACT_B], 0, t, 0, 0);
  if (!is_first) {
    c->operands[WK_CONTRACT_BIAS] = wk_view_none();
    y.role = WK_ROLE_IN;
    c->operands[WK_CONTRACT_EXTRA] = y;
  }
  wk_attr_conv *b = c->attrs;
  const int64_t pads[] = {a->pads.v[1], a->pads.v[2], a->pads.v[4], a->pads.v[5]};
  b->strides = wk_ints_dup(r->p->arena, a->strides.v + 1, 2);
  b->dilations = wk_ints_dup(r->p->arena, a->dilations.v + 1, 2);
  b->pads = wk_ints_dup(r->p->arena, pads, 4);
  b->group = a->group;
  b->epilogue = is_first ? v->start : v->add;
  return wk_prepare_contract(r, c);
}

static void fill_zero(const volume *v) {
  wk_inst *fill = wk_inst_new(v->r->p, WK_OP_FILL, v->i->name, 1, 1);
  fill->operands[0] = v->i->operands[WK_CONTRACT_Y];
  wk_block_append(v->r->out, fill);
}

/* The tap that reaches all outputs, -1 when there is none. */
static int64_t whole_tap(const volume *v) {
  for (int64_t t = 0, end; t < v->i->operands[WK_CONTRACT_B].dims[DEPTH]; t++)
    if (reached(v, t, &end) == 0 && end == v->i->operands[WK_CONTRACT_Y].dims[DEPTH]) return t;
  return -1;
}

static wk_status add_tap(const volume *v, int64_t t, bool is_first) {
  int64_t end, first = reached(v, t, &end), images = v->i->operands[WK_CONTRACT_Y].dims[0];
  for (int64_t n = 0; v->by_image && first < end && n < images; n++)
    WK_TRY(add_conv(v, t, n, first, end - first, is_first));
  for (int64_t od = first; !v->by_image && od < end; od++)
    WK_TRY(add_conv(v, t, 0, od, 0, is_first));
  return NULL;
}

static wk_status add_taps(const volume *v) {
  int64_t whole = whole_tap(v);
  if (whole < 0) fill_zero(v);
  else WK_TRY(add_tap(v, whole, true));
  for (int64_t t = 0; t < v->i->operands[WK_CONTRACT_B].dims[DEPTH]; t++)
    if (t != whole) WK_TRY(add_tap(v, t, false));
  return NULL;
}

static bool fits(const wk_prepare *r, const wk_inst *i) {
  const wk_attr_conv *a = i->attrs;
  const wk_view *y = &i->operands[WK_CONTRACT_Y], *x = &i->operands[WK_CONTRACT_A];
  const wk_view *w = &i->operands[WK_CONTRACT_B];
  bool is_real = wk_compute_dtype(x->dtype) == WK_F32;
  bool is_byte = x->dtype == WK_U8 || x->dtype == WK_I8;
  bool is_const = r->p->buffers.data[w->buffer].region == WK_REGION_CONST;
  if (i->op != WK_OP_CONV || x->rank != 5) return false;
  if (!is_real && !(is_byte && is_const && a->pad_value == 0)) return false;
  if (!wk_view_count(x) || !wk_view_count(w) || !wk_view_count(y)) return false;
  int64_t fewer = y->dims[0] < y->dims[DEPTH] ? y->dims[0] : y->dims[DEPTH], convs;
  return wk_mul_ok(fewer, w->dims[DEPTH], &convs) && convs <= MAX_CONVS;
}

wk_status wk_prepare_volume(wk_prepare *r, wk_inst *i, bool *done) {
  static const int channels_last[] = {0, 2, 3, 4, 1};
  *done = fits(r, i);
  if (!*done) return NULL;
  const wk_view *y = &i->operands[WK_CONTRACT_Y];
  bool is_direct = y->dims[1] == 1 || y->strides[1] == 1;
  wk_inst *after = wk_prepare_epilogue(r, i, channels_last, is_direct);
  volume v = {.r = r, .i = i, .a = i->attrs, .acc = y->dtype};
  wk_expr_builder *b = wk_expr_begin(r->p->arena);
  uint16_t sum = wk_expr_2(b, WK_EX_ADD, wk_expr_input(b, 0, v.acc), wk_expr_input(b, 1, v.acc));
  v.add = wk_expr_finish(b, &sum, 1);
  v.start = *wk_contract_attr(i);
  v.by_image = y->dims[0] <= y->dims[DEPTH];
  r->shares_panels = true;
  r->packed_bytes = 0; /* what was packed before may have changed since */
  wk_status s = add_taps(&v);
  r->shares_panels = false;
  if (!s && after) wk_block_append(r->out, after);
  return s;
}
