/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors of the matrix kernels from instructions. Strides of axes of one element mean nothing
 * and are set to 0, so that equal work gives equal kernels. The batch axes of a matrix product are
 * merged until two are left. A product whose output is contiguous along rows instead of columns is
 * computed transposed: y^T = b^T a^T. */
#include "targets/cpu/kernels/contract.h"

#include <string.h>

#include "targets/cpu/expr/expr_codegen.h"
#include "targets/cpu/kernels/window.h"

static const int64_t REACH = INT64_C(1) << 39; /* elements; kernels.h */

const wk_expr **wk_contract_attr(const wk_inst *i) {
  if (i->op == WK_OP_MATMUL) return (const wk_expr **)&((wk_attr_matmul *)i->attrs)->epilogue;
  if (i->op == WK_OP_CONV) return (const wk_expr **)&((wk_attr_conv *)i->attrs)->epilogue;
  return (const wk_expr **)&((wk_attr_conv_transpose *)i->attrs)->epilogue;
}

const wk_expr *wk_contract_epilogue(const wk_inst *i, wk_arena *a) {
  const wk_expr *e = *wk_contract_attr(i);
  wk_dtype acc = wk_accumulator_dtype(i->operands[WK_CONTRACT_A].dtype);
  wk_dtype y = wk_contraction_dtype(e, i->operands[WK_CONTRACT_A].dtype);
  bool has_bias = wk_contract_has_bias(i), is_identity = !e || wk_expr_is_identity(e);
  if (!has_bias && (!is_identity || y == acc)) return is_identity ? NULL : e;
  wk_expr_builder *b = wk_expr_begin(a);
  uint16_t in[WK_EXPR_MAX_NODES];
  in[0] = wk_expr_input(b, 0, acc);
  if (has_bias) {
    wk_dtype t = i->operands[WK_CONTRACT_BIAS].dtype;
    in[0] = wk_expr_2(b, WK_EX_ADD, in[0], wk_expr_cast(b, acc, wk_expr_input(b, 1, t)));
  }
  if (is_identity) {
    in[0] = wk_expr_cast(b, y, in[0]);
    return wk_expr_finish(b, in, 1);
  }
  for (uint32_t k = WK_CONTRACT_EXTRA; k < i->n_operands; k++) {
    int64_t input = (int64_t)k - WK_CONTRACT_EXTRA;
    in[1 + input] = wk_expr_input(b, 2 + input, i->operands[k].dtype);
  }
  uint16_t result = wk_expr_inline(b, e, in, 0);
  return wk_expr_finish(b, &result, 1);
}

static bool reaches_far(const wk_view *v) {
  for (int k = 0; k < v->rank; k++) {
    int64_t bytes;
    if (!wk_mul_ok(v->dims[k], v->strides[k], &bytes)) return true;
    if (bytes > REACH || bytes < -REACH) return true;
  }
  return false;
}

static bool is_real(const wk_view *v) { return wk_compute_dtype(v->dtype) == WK_F32; }

static int64_t stride_of(const wk_view *v, int axis) {
  return v->dims[axis] == 1 ? 0 : v->strides[axis];
}

static bool is_byte(const wk_view *v) { return v->dtype == WK_I8 || v->dtype == WK_U8; }

static wk_dtype accumulator(const wk_inst *i) {
  return is_real(&i->operands[WK_CONTRACT_A]) ? WK_F32 : WK_I32;
}

/* Element types that an epilogue's registers hold: of floats all but f64, of integers all. */
static bool is_epilogue_type(wk_dtype acc, wk_dtype t) {
  return wk_compute_dtype(t) == WK_F32 || (acc == WK_I32 && wk_dtype_is_int(t));
}

static bool is_bias_type(const wk_inst *i, wk_dtype t) {
  return wk_compute_dtype(t) == accumulator(i);
}

/* True when registers can hold what the expression computes. */
static bool is_vector_epilogue(wk_dtype acc, const wk_expr *e) {
  if (!e) return true;
  if (e->n_results != 1 || !is_epilogue_type(acc, e->nodes[e->results[0]].dtype)) return false;
  for (uint32_t k = 0; k < e->n; k++) {
    const wk_expr_node *n = &e->nodes[k];
    if (n->op == WK_EX_INDEX) return false;
    if (!is_epilogue_type(acc, n->dtype) && (n->dtype != WK_BOOL || n->op == WK_EX_INPUT))
      return false;
  }
  return true;
}

static bool epilogue_fits(const wk_inst *i) {
  uint32_t extras = i->n_operands > WK_CONTRACT_EXTRA ? i->n_operands - WK_CONTRACT_EXTRA : 0;
  const wk_expr *e = *wk_contract_attr(i);
  wk_dtype acc = accumulator(i);
  wk_dtype result = wk_contraction_dtype(e, i->operands[WK_CONTRACT_A].dtype);
  if (i->operands[WK_CONTRACT_Y].dtype != result) return false;
  if (extras + 1 > WK_CPU_MAX_OPERANDS) return false;
  return is_vector_epilogue(acc, e);
}

static wk_cpu_types types_of(const wk_inst *i, uint32_t a, uint32_t b, int64_t outside) {
  return (wk_cpu_types){i->operands[a].dtype, i->operands[b].dtype,
                        i->operands[WK_CONTRACT_Y].dtype, (int32_t)outside};
}

/* One operand of the epilogue; `column` is the axis of y that the kernel's columns run along and
 * outer[3] the others (-1: none), in kernels.h's order. */
static bool place_operand(wk_contract *c, const wk_inst *i, uint32_t k, int column,
                          const int64_t outer[3]) {
  const wk_view *v = &i->operands[k];
  int64_t along = stride_of(v, column);
  if (!is_epilogue_type(accumulator(i), v->dtype)) return false;
  if ((along != 0 && along != 1) || reaches_far(v)) return false;
  wk_cpu_operand *o = &c->place[c->n_operands];
  memset(o, 0, sizeof *o);
  for (int d = 0; d < 3; d++) o->stride[d] = outer[d];
  o->per_column = along == 1;
  o->dtype = v->dtype;
  c->operand[c->n_operands++] = k;
  return true;
}

/* ---- convolution ---------------------------------------------------------------------------- */

/* Axis of h, or -1 in one dimension. */
static int axis_h(const wk_view *v) { return v->rank == 4 ? 2 : -1; }
static int64_t dim_h(const wk_view *v) { return v->rank == 4 ? v->dims[2] : 1; }
static int64_t stride_h(const wk_view *v) { return v->rank == 4 ? stride_of(v, 2) : 0; }

static void describe_conv(wk_contract *c, const wk_inst *i) {
  const wk_attr_conv *a = i->attrs;
  const wk_view *y = &i->operands[WK_CONTRACT_Y], *x = &i->operands[WK_CONTRACT_A];
  const wk_view *w = &i->operands[WK_CONTRACT_B];
  int last = x->rank - 1, spatial = x->rank - 2;
  bool is_2d = axis_h(x) > 0;
  c->conv = (wk_cpu_conv_desc){
      .n = x->dims[0], .h = dim_h(x), .w = x->dims[last], .cin = x->dims[1],
      .oh = dim_h(y), .ow = y->dims[last], .cout = y->dims[1],
      .kh = dim_h(w), .kw = w->dims[last],
      .stride_h = is_2d ? a->strides.v[0] : 1, .stride_w = a->strides.v[spatial - 1],
      .pad_h = is_2d ? a->pads.v[0] : 0, .pad_w = a->pads.v[spatial - 1],
      .dil_h = is_2d ? a->dilations.v[0] : 1, .dil_w = a->dilations.v[spatial - 1],
      .group = a->group,
      .x_stride = {stride_of(x, 0), stride_h(x), stride_of(x, last), stride_of(x, 1)},
      .y_stride = {stride_of(y, 0), stride_h(y), stride_of(y, last)},
      .types = types_of(i, WK_CONTRACT_A, WK_CONTRACT_B, a->pad_value)};
  if (c->conv.cin == 1) c->conv.x_stride[3] = 1;
}

static void place_conv_epilogue(wk_contract *c, const wk_inst *i) {
  bool fits = epilogue_fits(i);
  if (wk_contract_has_bias(i)) {
    wk_view bias = i->operands[WK_CONTRACT_BIAS];
    fits = fits && is_bias_type(i, bias.dtype) && (bias.dims[0] == 1 || bias.strides[0] == 1);
    wk_cpu_operand *o = &c->place[c->n_operands];
    memset(o, 0, sizeof *o);
    o->per_column = bias.dims[0] != 1;
    o->dtype = bias.dtype;
    c->operand[c->n_operands++] = WK_CONTRACT_BIAS;
  }
  for (uint32_t k = WK_CONTRACT_EXTRA; fits && k < i->n_operands; k++) {
    const wk_view *v = &i->operands[k];
    int64_t outer[3] = {stride_of(v, 0), stride_h(v), stride_of(v, v->rank - 1)};
    fits = place_operand(c, i, k, 1, outer);
  }
  if (!fits) c->fix |= WK_FIX_EPILOGUE;
}

/* Elements between neighbours along (channel, r, s) of weights; 0: not the same everywhere. */
static int64_t even_step(const wk_view *w) {
  int64_t run = 1, step = 0;
  for (int k = w->rank - 1; k >= 1; k--) {
    if (w->dims[k] == 1) continue;
    if (run == 1) step = w->strides[k];
    else if (w->strides[k] != step * run) return 0;
    if (step == 0) return 0;
    run *= w->dims[k];
  }
  return run == 1 ? 1 : step;
}

/* Rows are images: x contiguous along them, w along output channels. */
static void fit_window(wk_contract *c, const wk_inst *i) {
  const wk_view *x = &i->operands[WK_CONTRACT_A], *w = &i->operands[WK_CONTRACT_B];
  c->kind = WK_CONTRACT_WINDOW;
  c->is_packed = false;
  c->w_step = even_step(w);
  if (x->dims[0] > 1 && x->strides[0] != 1) c->fix |= WK_FIX_A;
  if (c->w_step == 0 || (w->dims[0] > 1 && w->strides[0] != 1)) c->fix |= WK_FIX_B;
  if (x->dtype != WK_F32) c->fix |= WK_FIX_WIDE;
}

static void fit_conv(wk_contract *c, const wk_program *p, const wk_inst *i) {
  const wk_view *y = &i->operands[WK_CONTRACT_Y], *x = &i->operands[WK_CONTRACT_A];
  const wk_view *w = &i->operands[WK_CONTRACT_B];
  if (x->rank != 3 && x->rank != 4) return;
  bool is_const = p->buffers.data[w->buffer].region == WK_REGION_CONST;
  if (!is_const && !is_real(x)) return;
  c->is_packed = true;
  c->kind = WK_CONTRACT_CONV;
  c->a = WK_CONTRACT_A;
  c->b = WK_CONTRACT_B;
  describe_conv(c, i);
  if (y->dims[1] != 1 && y->strides[1] != 1) c->fix |= WK_FIX_Y;
  if (!is_const && wk_cpu_window_pays(&c->conv)) fit_window(c, i);
  else if (wk_cpu_conv_widens(&c->conv)) c->fix |= WK_FIX_WIDE;
  place_conv_epilogue(c, i);
}

/* ---- matrix product ------------------------------------------------------------------------- */

enum { MAX_VIEWS = 3 + WK_CPU_MAX_OPERANDS };

/* Batch axes of several views, merged where all of them step evenly. */
typedef struct {
  int n;
  int64_t dims[WK_MAX_RANK], strides[WK_MAX_RANK][MAX_VIEWS]; /* innermost first */
} batch;

static bool continues(const batch *b, const wk_view *const *views, int n_views, int axis) {
  for (int v = 0; v < n_views; v++)
    if (views[v]->strides[axis] != b->strides[b->n - 1][v] * b->dims[b->n - 1]) return false;
  return true;
}

static batch merge_batch(const wk_view *const *views, int n_views) {
  batch b = {.n = 0};
  const wk_view *y = views[0];
  for (int axis = y->rank - 3; axis >= 0; axis--) {
    if (y->dims[axis] == 1) continue;
    if (b.n > 0 && continues(&b, views, n_views, axis)) {
      b.dims[b.n - 1] *= y->dims[axis];
      continue;
    }
    b.dims[b.n] = y->dims[axis];
    for (int v = 0; v < n_views; v++) b.strides[b.n][v] = views[v]->strides[axis];
    b.n++;
  }
  for (int k = b.n; k < 2; k++) {
    b.dims[k] = 1;
    memset(b.strides[k], 0, sizeof b.strides[k]);
  }
  return b;
}

/* 1 where an axis of one element may have any stride and another one wants a unit stride. */
static int64_t unit_stride_of(const wk_view *v, int axis) {
  return v->dims[axis] == 1 ? 1 : v->strides[axis];
}

/* False when reading rows of bytes by whole words would leave the buffer. */
static bool reads_words(const wk_program *p, const wk_view *v, int axis) {
  int64_t past = -v->dims[axis] & 3, last = v->offset;
  if (!is_byte(v) || past == 0) return true;
  for (int k = 0; k < v->rank; k++)
    if (v->strides[k] > 0) last += (v->dims[k] - 1) * v->strides[k];
  return v->step == 0 && last + past < p->buffers.data[v->buffer].size;
}

/* A list of rows of all batches. */
static void describe_list(wk_cpu_matmul_desc *d, const wk_inst *i, int number, int row) {
  const wk_view *y = &i->operands[WK_CONTRACT_Y];
  const wk_limit *l = &i->limits[number - 1];
  for (int axis = 0; axis < l->axis; axis++)
    if (y->dims[axis] != 1) return;
  int last = wk_limit_last_axis(i, l);
  for (int axis = last + 1; axis <= row; axis++)
    if (y->dims[axis] != 1) return;
  if (last > row) return;
  d->list_limit = number;
  d->list_rows = l->rows.dims[0];
}

/* Limits of rows, columns and what is summed up, and of the outermost batch that has several. */
static void describe_limits(wk_cpu_matmul_desc *d, const wk_inst *i, int row, int column) {
  const wk_view *y = &i->operands[WK_CONTRACT_Y];
  int first = 0;
  while (first < y->rank - 2 && y->dims[first] == 1) first++;
  for (uint32_t k = 0; k < i->n_limits; k++) {
    if (wk_limit_has_rows(&i->limits[k])) {
      describe_list(d, i, 1 + (int)k, row);
      continue;
    }
    if (i->limits[k].axis == row) d->row_limit = 1 + (int)k;
    if (i->limits[k].axis == column) d->column_limit = 1 + (int)k;
    if (i->limits[k].axis == y->rank) d->fold_limit = 1 + (int)k;
    if (i->limits[k].axis != first || first >= y->rank - 2) continue;
    d->batch_limit = 1 + (int)k;
    d->batch_rows = d->m;
    for (int axis = first + 1; axis < y->rank - 2; axis++) d->batch_rows *= y->dims[axis];
  }
}

/* Longer rows of A are too much for scratch as f32. */
#define MAX_WIDE_K 16384

static void describe_matmul(wk_contract *c, const wk_program *p, const wk_inst *i, const batch *b,
                            bool swapped) {
  const wk_view *y = &i->operands[WK_CONTRACT_Y];
  const wk_view *left = &i->operands[c->a], *right = &i->operands[c->b];
  int row = y->rank - 2 + swapped, col = y->rank - 1 - swapped;
  int k_left = swapped ? y->rank - 2 : y->rank - 1, k_right = swapped ? y->rank - 1 : y->rank - 2;
  c->matmul = (wk_cpu_matmul_desc){
      .batch = {b->dims[1], b->dims[0]}, .m = y->dims[row], .n = y->dims[col],
      .k = left->dims[k_left],
      .a_stride = {b->strides[1][c->a], b->strides[0][c->a], stride_of(left, row)},
      .b_stride = {b->strides[1][c->b], b->strides[0][c->b], unit_stride_of(right, k_right),
                   unit_stride_of(right, col)},
      .y_stride = {b->strides[1][0], b->strides[0][0], stride_of(y, row)},
      .b_constant = c->is_packed,
      .types = types_of(i, c->a, c->b, 0)};
  describe_limits(&c->matmul, i, row, col);
  bool is_narrow = wk_cpu_is_float(&c->matmul.types) && c->matmul.types.a != WK_F32;
  if (is_narrow && c->matmul.k > MAX_WIDE_K) c->fix |= WK_FIX_WIDE;
  if (y->dims[col] != 1 && y->strides[col] != 1) c->fix |= WK_FIX_Y;
  if (unit_stride_of(left, k_left) != 1 || !reads_words(p, left, k_left)) c->fix |= WK_FIX_A;
  const int64_t *s = c->matmul.b_stride;
  bool along_k = s[2] == 1 && s[3] != 1;
  if (c->is_packed) return;
  if ((s[2] != 1 && s[3] != 1) || (along_k && !reads_words(p, right, k_right))) c->fix |= WK_FIX_B;
}

static bool is_const(const wk_program *p, const wk_view *v) {
  return p->buffers.data[v->buffer].region == WK_REGION_CONST;
}

/* A constant matrix times a vector, or a product whose result lies transposed, is computed the
 * other way round, unless that would take a constant from where it can be packed. */
static bool prefers_swap(const wk_program *p, const wk_inst *i) {
  const wk_view *y = &i->operands[WK_CONTRACT_Y];
  int64_t m = y->dims[y->rank - 2], n = y->dims[y->rank - 1];
  int64_t along_m = y->strides[y->rank - 2], along_n = y->strides[y->rank - 1];
  if (m == 1) return false;
  if (n == 1) return along_m == 1 && is_const(p, &i->operands[WK_CONTRACT_A]);
  return along_n != 1 && along_m == 1 && !is_const(p, &i->operands[WK_CONTRACT_B]);
}

static void place_matmul_epilogue(wk_contract *c, const wk_inst *i, const batch *b,
                                  const uint32_t *view_operand, int n_views, bool swapped) {
  const wk_view *y = &i->operands[WK_CONTRACT_Y];
  int row = y->rank - 2 + swapped, col = y->rank - 1 - swapped;
  bool fits = epilogue_fits(i);
  if (fits && wk_contract_has_bias(i)) {
    const wk_view *bias = &i->operands[WK_CONTRACT_BIAS];
    int64_t step = bias->dims[0] == 1 ? 0 : bias->strides[0];
    fits = is_bias_type(i, bias->dtype) && (swapped || step == 0 || step == 1);
    wk_cpu_operand *o = &c->place[c->n_operands];
    *o = (wk_cpu_operand){.stride = {0, 0, swapped ? step : 0},
                          .per_column = !swapped && step,
                          .dtype = bias->dtype};
    c->operand[c->n_operands++] = WK_CONTRACT_BIAS;
  }
  for (int v = 3; fits && v < n_views; v++) {
    const wk_view *x = &i->operands[view_operand[v]];
    int64_t outer[3] = {b->strides[1][v], b->strides[0][v], stride_of(x, row)};
    fits = place_operand(c, i, view_operand[v], col, outer);
  }
  if (!fits) c->fix |= WK_FIX_EPILOGUE;
}

static void fit_matmul(wk_contract *c, const wk_program *p, const wk_inst *i) {
  const wk_view *views[MAX_VIEWS];
  uint32_t view_operand[MAX_VIEWS];
  int n_views = 0;
  for (uint32_t k = 0; k < i->n_operands && n_views < MAX_VIEWS; k++) {
    if (k == WK_CONTRACT_BIAS) continue;
    if (k > WK_CONTRACT_BIAS && !epilogue_fits(i)) continue;
    view_operand[n_views] = k;
    views[n_views++] = &i->operands[k];
  }
  batch b = merge_batch(views, n_views);
  if (b.n > 2) return;
  bool swapped = prefers_swap(p, i);
  c->kind = WK_CONTRACT_MATMUL;
  c->a = swapped ? WK_CONTRACT_B : WK_CONTRACT_A;
  c->b = swapped ? WK_CONTRACT_A : WK_CONTRACT_B;
  c->is_packed = is_const(p, &i->operands[c->b]);
  describe_matmul(c, p, i, &b, swapped);
  place_matmul_epilogue(c, i, &b, view_operand, n_views, swapped);
}

static int64_t positions(const wk_view *v) {
  int64_t n = 1;
  for (int k = 2; k < v->rank; k++) n *= v->dims[k];
  return n;
}

bool wk_contract_is_correlation(const wk_program *p, const wk_inst *i) {
  enum { MAX_OUTPUTS = 128 }; /* whose sums are in scratch */
  const wk_view *y = &i->operands[WK_CONTRACT_Y], *x = &i->operands[WK_CONTRACT_A];
  const wk_view *w = &i->operands[WK_CONTRACT_B];
  if (i->op != WK_OP_CONV || x->rank > 5 || is_const(p, w) || !is_real(x) || !is_real(w))
    return false;
  const wk_attr_conv *a = i->attrs;
  bool is_depthwise = a->group > 1 && x->dims[1] == a->group && w->dims[0] == a->group &&
                      w->dims[1] == 1 && x->dims[0] == 1;
  int64_t outputs = positions(y), taps = positions(w);
  return is_depthwise && x->strides[1] == 1 && w->strides[0] == 1 && outputs > 0 &&
         outputs < taps && outputs <= MAX_OUTPUTS && wk_view_count(x) > 0;
}

wk_contract wk_contract_of(const wk_program *p, const wk_inst *i) {
  wk_contract c;
  memset(&c, 0, sizeof c);
  c.kind = WK_CONTRACT_GENERIC;
  if (i->op == WK_OP_CONV_TRANSPOSE || wk_contract_is_correlation(p, i)) return c;
  bool is_float = is_real(&i->operands[WK_CONTRACT_A]);
  for (uint32_t k = 0; k <= WK_CONTRACT_B; k++) {
    const wk_view *v = &i->operands[k];
    if (k > 0 && !(is_float ? is_real(v) : is_byte(v))) return c;
    if (wk_view_count(v) == 0 || reaches_far(v)) return c;
  }
  if (i->op == WK_OP_CONV) fit_conv(&c, p, i);
  else fit_matmul(&c, p, i);
  return c;
}
