/* SPDX-License-Identifier: Apache-2.0
 * Convolutions and products with constant matrices. */
#include <stdlib.h>
#include <string.h>

#include "targets/accel/compile/record.h"

/* Weights as w[out][in][ky][kx] by strides, elements. */
typedef struct {
  const wk_value *value;
  int64_t offset, s_out, s_in, s_ky, s_kx;
} weights;

static int weight(const weights *w, int64_t out, int64_t in, int64_t ky, int64_t kx) {
  int64_t at = w->offset + out * w->s_out + in * w->s_in + ky * w->s_ky + kx * w->s_kx;
  return w->value->type.dtype == WK_U8 ? ((const uint8_t *)w->value->data)[at]
                                       : ((const int8_t *)w->value->data)[at];
}

static bool are_weights_fine(wk_accel_making *k, wk_value_id v) {
  const wk_value *w = wk_val(k->g, v);
  if (!wk_is_const(k->g, v)) return wk_accel_refuse(k, "the weights are no constant");
  if (w->type.dtype == WK_I8) return true;
  for (int64_t i = 0, n = wk_type_count(&w->type); i < n; i++)
    if (((const uint8_t *)w->data)[i] > INT8_MAX)
      return wk_accel_refuse(k, "weights of u8 above %d", INT8_MAX);
  return true;
}

/* An input of 16 bits became one for weights that have more than 8 themselves, or as it lost its
 * zero point. */
static bool refuse_wide(wk_accel_making *k, const wk_value *w) {
  for (int64_t i = 0, n = wk_type_count(&w->type); i < n; i++)
    if (((const int16_t *)w->data)[i] < INT8_MIN || ((const int16_t *)w->data)[i] > INT8_MAX)
      return wk_accel_refuse(k, "weights, less their zero point, have more than 8 bits: those of "
                                "i8, or of u8 with zero point 128, have not");
  return wk_accel_refuse(k, "its input, less its zero point, has more than 8 bits: with zero point "
                            "0 it has not");
}

static bool is_input_fine(wk_accel_making *k, wk_value_id v) {
  wk_dtype t = wk_val(k->g, v)->type.dtype;
  const wk_value *w = wk_val(k->g, k->node->in[1]);
  if (t == WK_I16 && w->type.dtype == WK_I16 && wk_is_const(k->g, k->node->in[1]))
    return refuse_wide(k, w);
  return wk_accel_is_8_bit(t) ||
         wk_accel_refuse(k, "it computes on %s, the accelerator on i8 and u8%s", wk_dtype_name(t),
                         wk_dtype_is_float(t) ? ": 'wick quantize' makes such a model" : "");
}

/* ---- geometry -------------------------------------------------------------------------------- */

typedef struct {
  int64_t groups, in, out, k[2], stride[2], dilation[2], before[2];
} conv;

/* Of rows and columns. */
static const conv limits = {
    .k = {WK_MAX_WINDOW(ky), WK_MAX_WINDOW(kx)},
    .stride = {WK_MAX_WINDOW(sy), WK_MAX_WINDOW(sx)},
    .dilation = {WK_MAX_WINDOW(dy), WK_MAX_WINDOW(dx)},
    .before = {WK_MAX_WINDOW(pad_t), WK_MAX_WINDOW(pad_l)}};

static bool within(wk_accel_making *k, const char *what, int64_t v, int64_t limit) {
  return v <= limit || wk_accel_refuse(k, "%s %lld is more than %lld", what, (long long)v,
                                       (long long)limit);
}

static bool conv_of(wk_accel_making *k, conv *c) {
  const wk_attr_conv *a = WK_ATTR(k->node, conv);
  const wk_type *x = &wk_val(k->g, k->node->in[0])->type, *w = &wk_val(k->g, k->node->in[1])->type;
  int spatial = x->rank - 2;
  if (spatial < 1 || spatial > 2) return wk_accel_refuse(k, "%d spatial axes", spatial);
  *c = (conv){.groups = a->group, .in = w->dims[1], .out = w->dims[0] / a->group, .k = {1, 1},
              .stride = {1, 1}, .dilation = {1, 1}};
  for (int i = 0; i < spatial; i++) { /* a line of pixels is an image of one column */
    c->k[i] = w->dims[2 + i];
    c->stride[i] = a->strides.v[i];
    c->dilation[i] = a->dilations.v[i];
    c->before[i] = a->pads.v[i];
  }
  for (int i = 0; i < 2; i++)
    if (!within(k, "a kernel of", c->k[i], limits.k[i]) ||
        !within(k, "a stride of", c->stride[i], limits.stride[i]) ||
        !within(k, "a dilation of", c->dilation[i], limits.dilation[i]) ||
        !within(k, "padding of", c->before[i], limits.before[i]))
      return false;
  return true;
}

static void set_window(wk_accel_op *op, const conv *c) {
  op->ky = c->k[0], op->kx = c->k[1];
  op->sy = c->stride[0], op->sx = c->stride[1];
  op->dy = c->dilation[0], op->dx = c->dilation[1];
  op->pad_t = c->before[0], op->pad_l = c->before[1];
}

/* Does a window reach outside of the input? */
static bool has_padding(const wk_accel_op *op) {
  int64_t bottom = (op->out.h - 1) * op->sy - op->pad_t + (op->ky - 1) * op->dy;
  int64_t right = (op->out.w - 1) * op->sx - op->pad_l + (op->kx - 1) * op->dx;
  return op->pad_t > 0 || op->pad_l > 0 || bottom >= op->a.h || right >= op->a.w;
}

/* Of commands that begin behind the input no field says that all of it is padding. */
static bool are_windows_fine(wk_accel_making *k, const wk_accel_op *op) {
  if (!op->has_window || ((op->out.h - 1) * op->sy - op->pad_t < op->a.h &&
                          (op->out.w - 1) * op->sx - op->pad_l < op->a.w))
    return true;
  return wk_accel_refuse(k, "windows with nothing but padding");
}

static wk_accel_view channels(int n, const wk_accel_view *x, int64_t from, int64_t count) {
  wk_accel_view y = *x;
  y.offset += (x->first + from) / n * x->sb;
  y.first = (int)((x->first + from) % n);
  y.c = count;
  return y;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* The array subtracts the zero point from the input, so that padding is 0; sums of the graph hold
 * it times the weights. */
static void zero_sums(const weights *w, const wk_accel_op *op,
                      const wk_accel_piece *p, int64_t inputs, int64_t *out) {
  int64_t zero = op->a_u8 ? op->a_zero : (int8_t)op->a_zero;
  for (int c = 0; c < p->n; c++) {
    out[c] = 0;
    for (int64_t i = 0; zero && i < inputs; i++)
      for (int64_t y = 0; y < op->ky; y++)
        for (int64_t x = 0; x < op->kx; x++) out[c] += zero * weight(w, p->c + c, i, y, x);
  }
}

/* Weights that go into lanes [from, from + n) of a tile's row, `step` elements apart. */
typedef struct {
  int64_t from, n, at, step;
} lanes;

/* Of block b of the input, for tap (ky, kx). */
static lanes lanes_of(const wk_accel_op *op, int n, const weights *w, int64_t b, int64_t ky,
                      int64_t kx) {
  int64_t first = b * n - op->a.first; /* the input's channel in lane 0 */
  lanes l = {.from = first < 0 ? -first : 0, .n = n, .step = w->s_in};
  if (first + n > op->a.c) l.n = op->a.c - first;
  l.n -= l.from;
  l.at = w->offset + (first + l.from) * w->s_in + ky * w->s_ky + kx * w->s_kx;
  return l;
}

static void pack_row(const weights *w, const lanes *l, int64_t out, uint8_t *row) {
  const uint8_t *data = (const uint8_t *)w->value->data + l->at + out * w->s_out;
  for (int64_t i = 0; i < l->n; i++) row[l->from + i] = data[i * l->step];
}

/* A dense image: taps side by side, of as many channels as a pixel has bytes. */
static void pack_dense_row(const wk_accel_op *op, int n, const weights *w, int64_t out, int64_t b,
                           int64_t ky, uint8_t *row) {
  for (int i = 0; i < n; i++) {
    int64_t q = b * n + i, in = q % op->a.sx, x = q / op->a.sx;
    if (x < op->kx && in < op->a.c) row[i] = (uint8_t)weight(w, out, in, ky, x);
  }
}

/* `out` is zero. */
static void pack_tiles(const wk_accel_op *op, int n, const weights *w, const wk_accel_piece *p,
                       uint8_t *out) {
  int64_t kx_tiles = op->is_packed ? 1 : op->kx;
  for (int64_t b = 0; b < op->kc; b++)
    for (int64_t ky = 0; ky < op->ky; ky++)
      for (int64_t kx = 0; kx < kx_tiles; kx++, out += n * n) {
        lanes l = lanes_of(op, n, w, b, ky, kx);
        for (int o = 0; o < p->n; o++)
          if (op->is_packed) pack_dense_row(op, n, w, p->c + o, b, ky, out + o * n);
          else pack_row(w, &l, p->c + o, out + o * n);
      }
}

/* c0: the first of the operator's channels among the node's, for records. */
static void pack_conv(wk_accel_making *k, wk_accel_op *op, const weights *w,
                      const wk_accel_requant *r, int64_t c0) {
  int n = k->net->n;
  int64_t tiles = op->kc * op->ky * (op->is_packed ? 1 : op->kx);
  op->record_bytes = wk_accel_record_bytes(n, n);
  op->const_bytes = op->record_bytes + tiles * n * n;
  if (k->is_trial) return;
  uint8_t *at = wk_arena_alloc(k->net->arena, op->n_pieces * (size_t)op->const_bytes);
  op->consts = at;
  for (size_t i = 0; i < op->n_pieces; i++, at += op->const_bytes) {
    const wk_accel_piece *p = &op->pieces[i];
    int64_t more[WK_ACCEL_LANES];
    zero_sums(w, op, p, op->a.c, more);
    wk_accel_record_sums(r, c0 + p->c, p->n, n, more, at);
    pack_tiles(op, n, w, p, at + op->record_bytes);
  }
}

static bool set_residual(wk_accel_making *k, wk_accel_op *op, const wk_accel_requant *r,
                         uint32_t first_extra, wk_accel_view_of *view) {
  wk_accel_operand x;
  if (r->residual == WK_REQUANT_NONE) return true;
  wk_value_id v = k->node->in[first_extra + (uint32_t)r->residual - 1];
  if (!wk_accel_operand_of(k, v, &x)) return false;
  if (!view(k, &x, &op->b)) return false;
  const wk_accel_view *b = &op->b, *y = &op->out;
  if (b->o != y->o || b->c != y->c || b->h != y->h || b->w != y->w)
    return wk_accel_refuse(k, "the second operand of its epilogue is broadcast");
  if ((y->w > 1 && b->sx != y->sx) || b->first != y->first)
    return wk_accel_refuse(k, "the second operand of its epilogue lies in other lanes");
  return true;
}

/* Tile after tile of as many channels as the array takes; groups of few channels together. */
static bool add_conv(wk_accel_making *k, const wk_accel_op *like, const weights *w,
                     const wk_accel_requant *r, int64_t c0) {
  wk_accel_op *op = wk_accel_add(k, like);
  int n = k->net->n;
  if (op->is_packed) {
    op->kc = wk_ceil_div(op->kx * op->a.sx, n);
    op->k_tail = (int)(op->kx * op->a.sx - (op->kc - 1) * n);
  } else {
    op->kc = wk_ceil_div(op->a.first + op->a.c, n);
    op->k_tail = n;
  }
  op->has_window = !op->is_flat && has_padding(op);
  if (!are_windows_fine(k, op)) return false;
  wk_accel_cut_pieces(k, op, NULL);
  pack_conv(k, op, w, r, c0);
  return true;
}

/* ---- depthwise ------------------------------------------------------------------------------- */

static bool add_depthwise(wk_accel_making *k, const wk_accel_op *like, const weights *w,
                          const wk_accel_requant *r) {
  wk_accel_op *op = wk_accel_add(k, like);
  int n = k->net->n;
  op->kind = WK_ACCEL_DWC;
  op->has_window = has_padding(op);
  if (!are_windows_fine(k, op)) return false;
  wk_accel_cut_pieces(k, op, &op->a);
  op->is_line = op->out.w == 1 && op->a.w == 1 && op->kx == 1 && op->a.sy == n && op->dy == 1 &&
                op->sy <= 2;
  bool is_three = op->is_line || (op->dx == 1 && op->sx <= 2 && op->a.sx == n);
  int64_t along = op->is_line ? op->ky : op->kx, lines = op->is_line ? 1 : op->ky;
  int64_t taps = is_three ? wk_ceil_div(along, 3) * 3 : along;
  op->fn = is_three ? WK_CHOICE_TAPS_three : WK_CHOICE_TAPS_one;
  op->record_bytes = wk_accel_record_bytes(n, n);
  op->const_bytes = op->record_bytes + lines * taps * n;
  if (k->is_trial) return true;
  uint8_t *at = wk_arena_alloc(k->net->arena, op->n_pieces * (size_t)op->const_bytes);
  op->consts = at;
  for (size_t i = 0; i < op->n_pieces; i++, at += op->const_bytes) {
    const wk_accel_piece *p = &op->pieces[i];
    int64_t more[WK_ACCEL_LANES];
    zero_sums(w, op, p, 1, more);
    wk_accel_record_sums(r, p->c, p->n, n, more, at);
    for (int64_t ky = 0; ky < op->ky; ky++)
      for (int64_t kx = 0; kx < op->kx; kx++)
        for (int c = 0; c < p->n; c++)
          at[op->record_bytes + (op->is_line ? ky : ky * taps + kx) * n + c] =
              (uint8_t)weight(w, p->c + c, 0, ky, kx);
  }
  return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A dense image: rows of few channels are read as one vector, so columns of padding must be there
 * in the scratchpad, and taps lie side by side. */
static bool set_packed(wk_accel_making *k, wk_accel_op *op, const wk_accel_operand *x) {
  if (x->rank != 4 || x->strides[1] > 1 || x->strides[3] < x->dims[1] || op->dx != 1)
    return wk_accel_refuse(k, "a dense image that this operator does not read");
  op->is_packed = true;
  op->a = (wk_accel_view){.tensor = x->tensor, .offset = x->offset, .o = x->dims[0],
                          .c = x->dims[1], .h = x->dims[2], .w = x->dims[3], .so = x->strides[0],
                          .sy = x->strides[2], .sx = x->strides[3]};
  int64_t right = (op->out.w - 1) * op->sx + op->kx - op->pad_l;
  op->columns = op->pad_l + (right > op->a.w ? right : op->a.w);
  return true;
}

/* Groups side by side that fill the array. */
static int64_t groups_together(const conv *c, int n) {
  int64_t most = c->in > c->out ? c->in : c->out, m = n / most;
  if (m < 1) m = 1;
  while (c->groups % m) m--;
  return m;
}

/* Weights of m groups as one matrix with zeros between them. */
static const wk_value *join_groups(wk_accel_making *k, const conv *c, const weights *w, int64_t g,
                                   int64_t m) {
  int64_t in = m * c->in, taps = c->k[0] * c->k[1];
  wk_value *v = wk_arena_alloc(k->net->arena, sizeof *v);
  int8_t *data = wk_arena_alloc(k->net->arena, (size_t)(m * c->out * in * taps));
  for (int64_t o = 0; o < m * c->out; o++)
    for (int64_t i = 0; i < c->in; i++)
      for (int64_t t = 0; t < taps; t++)
        data[(o * in + o / c->out * c->in + i) * taps + t] =
            (int8_t)weight(w, g * c->out + o, i, t / c->k[1], t % c->k[1]);
  v->type.dtype = WK_I8;
  v->data = data;
  return v;
}

static bool add_groups(wk_accel_making *k, const wk_accel_op *like, const conv *c,
                       const weights *all, const wk_accel_requant *r) {
  int n = k->net->n;
  int64_t m = groups_together(c, n), in = m * c->in, out = m * c->out;
  for (int64_t g = 0; g < c->groups; g += m) {
    wk_accel_op op = *like;
    weights w = *all;
    if (m > 1 && !k->is_trial)
      w = (weights){join_groups(k, c, all, g, m), 0, in * c->k[0] * c->k[1], c->k[0] * c->k[1],
                    c->k[1], 1};
    else w.offset += g * c->out * all->s_out;
    op.a = channels(n, &like->a, g * c->in, in);
    op.out = channels(n, &like->out, g * c->out, out);
    if (op.b.tensor >= 0) op.b = channels(n, &like->b, g * c->out, out);
    op.macs = like->macs / c->groups * m;
    if (!add_conv(k, &op, &w, r, g * c->out)) return false;
  }
  return true;
}

static void swap(int64_t x[2]) {
  int64_t first = x[0];
  x[0] = x[1], x[1] = first;
}

/* Rows of the machine go along a line of pixels. */
static wk_accel_view_of *turn_line(const wk_accel_making *k, conv *c) {
  if (!wk_accel_goes_along(k->g, k->node)) return wk_accel_image;
  if (wk_val(k->g, k->node->out[0])->type.rank == 4)
    swap(c->k), swap(c->stride), swap(c->dilation), swap(c->before);
  return wk_accel_line;
}

bool wk_accel_make_conv(wk_accel_making *k, const wk_expr *epilogue) {
  const wk_node *nd = k->node;
  const wk_attr_conv *a = WK_ATTR(nd, conv);
  wk_accel_operand x, y;
  wk_accel_requant r;
  conv c = {0};
  int spatial = wk_val(k->g, nd->in[0])->type.rank - 2;
  wk_value_id bias = nd->n_in > 2 ? nd->in[2] : WK_NONE;
  if (!is_input_fine(k, nd->in[0]) || !wk_accel_is_result_fine(k) ||
      !are_weights_fine(k, nd->in[1]) ||
      !conv_of(k, &c) || !wk_accel_requant_of(k, epilogue, 3, spatial, bias, &r) ||
      !wk_accel_operand_of(k, nd->in[0], &x))
    return false;
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_CONV);
  wk_accel_view_of *image = turn_line(k, &c);
  set_window(&op, &c);
  op.a_zero = (uint8_t)a->pad_value;
  op.macs = wk_node_model_macs(k->g, nd);
  y = wk_accel_result(k, nd->out[0]);
  if (!image(k, &y, &op.out)) return false;
  if (!(x.lane < 0 && x.rank == 4 ? set_packed(k, &op, &x) : image(k, &x, &op.a))) return false;
  if (!set_residual(k, &op, &r, 3, image)) return false;
  weights w = {wk_val(k->g, nd->in[1]), 0, c.in * c.k[0] * c.k[1], c.k[0] * c.k[1], c.k[1], 1};
  if (c.groups == 1) return add_conv(k, &op, &w, &r, 0);
  if (op.is_packed) return wk_accel_refuse(k, "groups of a dense image");
  if (c.in == 1 && c.out == 1 && op.a.first == op.out.first) return add_depthwise(k, &op, &w, &r);
  return add_groups(k, &op, &c, &w, &r);
}

/* [1, .., rows, c] as [rows, c]; false: it is a stack. */
static bool matrix_of(const wk_type *t, int64_t matrix[2]) {
  for (int i = 0; i < t->rank - 2; i++)
    if (t->dims[i] != 1) return false;
  matrix[0] = t->dims[t->rank - 2], matrix[1] = t->dims[t->rank - 1];
  return true;
}

/* What rows of a matrix were before they were flattened, as images [n, c, h, w]. */
static bool unflatten(wk_accel_making *k, const wk_accel_operand *x, const int64_t matrix[2],
                      wk_accel_operand *image) {
  int64_t dims[4] = {matrix[0], matrix[1], 1, 1};
  int at = 4;
  for (int i = x->rank; i-- > x->lane + 1;) {
    if (x->dims[i] == 1) continue;
    if (at == 2 || dims[1] % x->dims[i]) return false;
    dims[--at] = x->dims[i];
    dims[1] /= x->dims[i];
  }
  return x->lane >= 0 && wk_operand_reshape(k->net->n, x, 4, dims, image) && image->lane == 1;
}

/* Rows times a constant matrix [k, n]: a convolution of one tap. What was flattened before is
 * summed where it lies: a window as large as the image. */
static bool rows_or_flat(wk_accel_making *k, wk_value_id v, wk_accel_view_of *view,
                         wk_accel_op *op, weights *w) {
  const wk_graph *g = k->g;
  wk_accel_operand x;
  const char *why = NULL;
  int64_t out = op->out.c;
  if (wk_accel_operand_of(k, v, &x) &&
      (view(k, &x, &op->a) ||
       (x.lane >= 0 && wk_accel_turn(k, v, x.rank - 1, &x) && view(k, &x, &op->a)))) {
    *w = (weights){w->value, 0, 1, out, 0, 0};
    return true;
  }
  why = k->reason;
  const wk_value *flat = wk_val(g, v);
  if (flat->kind != WK_VALUE_NODE || wk_nod(g, flat->node)->op != WK_OP_RESHAPE)
    return k->reason = why, false;
  wk_accel_operand y;
  wk_accel_view image;
  int64_t matrix[2];
  if (flat->type.rank < 2 || !matrix_of(&flat->type, matrix) ||
      !wk_accel_operand_of(k, wk_nod(g, flat->node)->in[0], &x) || !unflatten(k, &x, matrix, &y) ||
      !wk_accel_image(k, &y, &image) ||
      image.h > limits.k[0] || image.w > limits.k[1])
    return k->reason = why, false;
  op->ky = image.h, op->kx = image.w;
  op->a = image;
  op->is_flat = true;
  *w = (weights){w->value, 0, 1, image.h * image.w * out, image.w * out, out};
  return true;
}

bool wk_accel_make_matmul(wk_accel_making *k, const wk_expr *epilogue) {
  const wk_node *nd = k->node;
  wk_accel_operand y;
  wk_accel_requant r;
  wk_value_id bias = nd->n_in > 2 ? nd->in[2] : WK_NONE;
  const wk_type *t = &wk_val(k->g, nd->in[1])->type;
  if (!is_input_fine(k, nd->in[0]) || !wk_accel_is_result_fine(k) ||
      !are_weights_fine(k, nd->in[1]))
    return false;
  if (t->rank != 2)
    return wk_accel_refuse(k, "a product with a stack of constant matrices");
  if (!wk_accel_requant_of(k, epilogue, 3, 0, bias, &r)) return false;
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_CONV);
  weights w = {wk_val(k->g, nd->in[1]), 0, 0, 0, 0, 0};
  op.macs = wk_node_model_macs(k->g, nd);
  y = wk_accel_result(k, nd->out[0]);
  wk_accel_view_of *view = wk_accel_rows_of(k, &y);
  if (!view(k, &y, &op.out) || !rows_or_flat(k, nd->in[0], view, &op, &w)) return false;
  return set_residual(k, &op, &r, 3, view) && add_conv(k, &op, &w, &r, 0);
}

/* ---- transposed convolution ------------------------------------------------------------------ */

/* Every position modulo the stride is a convolution of its own, of stride 1, with each stride-th
 * tap from the last to the first; its results lie a stride apart. */
typedef struct {
  int64_t taps, first_tap; /* of the kernel: first_tap, first_tap + stride, … */
  int64_t before;          /* padding, may be negative */
  int64_t at, count;       /* results at, at + stride, … */
} phase;

static phase phase_of(int64_t p, int64_t kernel, int64_t stride, int64_t pad, int64_t size) {
  phase f = {.first_tap = p, .taps = kernel > p ? (kernel - p - 1) / stride + 1 : 0};
  int64_t q0 = pad > p ? wk_ceil_div(pad - p, stride) : 0;
  f.at = q0 * stride + p - pad;
  f.count = f.at < size ? (size - f.at - 1) / stride + 1 : 0;
  f.before = (f.taps ? f.taps - 1 : 0) - q0;
  return f;
}

/* Weights of the phase as those of a convolution; zeros where it has no tap. */
static const wk_value *phase_weights(wk_accel_making *k, const wk_type *t, const void *data,
                                     const phase f[2], const int64_t stride[2], const int64_t kn[2],
                                     int64_t taps[2]) {
  int64_t in = t->dims[0], out = t->dims[1];
  for (int i = 0; i < 2; i++) taps[i] = f[i].taps ? f[i].taps : 1;
  wk_value *v = wk_arena_alloc(k->net->arena, sizeof *v);
  v->type.dtype = WK_I8;
  if (k->is_trial) return v;
  int8_t *w = wk_arena_alloc(k->net->arena, (size_t)(out * in * taps[0] * taps[1]));
  v->data = w;
  for (int64_t o = 0; o < out; o++)
    for (int64_t i = 0; i < in; i++)
      for (int64_t y = 0; y < taps[0]; y++)
        for (int64_t x = 0; x < taps[1]; x++, w++) {
          int64_t ky = f[0].first_tap + (taps[0] - 1 - y) * stride[0];
          int64_t kx = f[1].first_tap + (taps[1] - 1 - x) * stride[1];
          if (f[0].taps && f[1].taps)
            *w = ((const int8_t *)data)[((i * out + o) * kn[0] + ky) * kn[1] + kx];
        }
  return v;
}

static bool add_phase(wk_accel_making *k, const wk_accel_op *like, const phase f[2],
                      const int64_t stride[2], const int64_t kn[2], const wk_accel_requant *r) {
  wk_accel_op op = *like;
  const wk_value *all = wk_val(k->g, k->node->in[1]);
  int64_t taps[2], in = all->type.dims[0];
  const wk_value *w = phase_weights(k, &all->type, all->data, f, stride, kn, taps);
  op.ky = taps[0], op.kx = taps[1];
  op.out.offset += f[0].at * op.out.sy + f[1].at * op.out.sx;
  op.out.h = f[0].count, op.out.w = f[1].count;
  op.out.sy *= stride[0], op.out.sx *= stride[1];
  int64_t cut_y = f[0].before < 0 ? -f[0].before : 0, cut_x = f[1].before < 0 ? -f[1].before : 0;
  op.pad_t = f[0].before + cut_y, op.pad_l = f[1].before + cut_x;
  op.a.offset += cut_y * op.a.sy + cut_x * op.a.sx;
  op.a.h -= cut_y, op.a.w -= cut_x;
  return add_conv(k, &op, &(weights){w, 0, in * taps[0] * taps[1], taps[0] * taps[1], taps[1], 1},
                  r, 0);
}

bool wk_accel_make_conv_transpose(wk_accel_making *k, const wk_expr *epilogue) {
  const wk_node *nd = k->node;
  const wk_attr_conv_transpose *a = WK_ATTR(nd, conv_transpose);
  const wk_type *w = &wk_val(k->g, nd->in[1])->type;
  wk_accel_operand x, y;
  wk_accel_requant r;
  wk_value_id bias = nd->n_in > 2 ? nd->in[2] : WK_NONE;
  if (!is_input_fine(k, nd->in[0]) || !wk_accel_is_result_fine(k) ||
      !are_weights_fine(k, nd->in[1]) ||
      !wk_accel_requant_of(k, epilogue, 3, 2, bias, &r))
    return false;
  if (w->rank != 4 || a->group != 1 || a->dilations.v[0] != 1 || a->dilations.v[1] != 1 ||
      r.residual != WK_REQUANT_NONE || w->dtype != WK_I8)
    return wk_accel_refuse(k, "a transposed convolution that is not plain");
  int64_t stride[2] = {a->strides.v[0], a->strides.v[1]}, kn[2] = {w->dims[2], w->dims[3]};
  int64_t pad[2] = {a->pads.v[0], a->pads.v[1]};
  for (int i = 0; i < 2; i++)
    if (!within(k, "a kernel of", kn[i], limits.k[i])) return false;
  for (int i = 0; i < 2; i++)
    if (!within(k, "a stride of", stride[i], limits.stride[i])) return false;
  if (!wk_accel_operand_of(k, nd->in[0], &x)) return false;
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_CONV);
  op.macs = wk_node_model_macs(k->g, nd) / (stride[0] * stride[1]);
  y = wk_accel_result(k, nd->out[0]);
  if (!wk_accel_image(k, &y, &op.out) || !wk_accel_image(k, &x, &op.a))
    return false;
  for (int64_t py = 0; py < stride[0]; py++)
    for (int64_t px = 0; px < stride[1]; px++) {
      phase f[2] = {phase_of(py, kn[0], stride[0], pad[0], op.out.h),
                    phase_of(px, kn[1], stride[1], pad[1], op.out.w)};
      if (f[0].count && f[1].count && !add_phase(k, &op, f, stride, kn, &r)) return false;
    }
  return true;
}
