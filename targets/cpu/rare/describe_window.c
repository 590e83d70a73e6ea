/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/rare/rare_call.h"

#include "targets/cpu/kernels/contract.h"

/* [n, c, spatial...] with leading spatial axes of size 1. */
static wk_rare_view spatial_view(const wk_view *v) {
  wk_rare_view r = {.dtype = v->dtype, .rank = 2 + WK_RARE_SPATIAL, .dims = {0, 0, 1, 1, 1}};
  int lead = WK_RARE_SPATIAL - (v->rank - 2);
  for (int k = 0; k < v->rank; k++) {
    int to = k < 2 ? k : k + lead;
    r.dims[to] = v->dims[k];
    r.strides[to] = v->strides[k];
  }
  return r;
}

static void set_spatial(wk_rare_call *r, int at, const int64_t *values, int64_t n,
                        int64_t missing) {
  for (int64_t k = 0; k < WK_RARE_SPATIAL; k++) {
    int64_t from = k - (WK_RARE_SPATIAL - n);
    r->attr[at + k] = from < 0 ? missing : values[from];
  }
}

static void set_window(wk_rare_call *r, wk_ints strides, wk_ints pads, wk_ints dilations,
                       const int64_t *kernel) {
  set_spatial(r, RARE_STRIDE, strides.v, strides.n, 1);
  set_spatial(r, RARE_PAD, pads.v, strides.n, 0);
  set_spatial(r, RARE_DILATION, dilations.v, strides.n, 1);
  set_spatial(r, RARE_KERNEL, kernel, strides.n, 1);
  r->attr[RARE_AXES] = strides.n;
}

static void name_types(wk_rare_call *r, const char *base) {
  r->function = wk_arena_printf(r->c->arena, "wk_rare_%s_%s_%s", base,
                                wk_dtype_name(wk_rare_operand(r, 1)->dtype),
                                wk_dtype_name(wk_rare_operand(r, 2)->dtype));
}

/* kernels/contract.h */
static void choose_correlation(wk_rare_call *r) {
  const wk_rare_view *y = &r->view[0];
  int64_t outputs = wk_rare_product(y->dims, 3, 5);
  r->function = "wk_rare_correlate";
  r->file = WK_RARE_correlate;
  r->n_tasks = wk_ceil_div(y->dims[1], RARE_GROUP_CHANNELS);
  r->scratch_bytes = 2 * outputs * RARE_GROUP_CHANNELS * 4;
  r->ns /= 20;
}

void wk_describe_conv(wk_rare_call *r) {
  const wk_attr_conv *a = r->i->attrs;
  bool transposed = r->i->op == WK_OP_CONV_TRANSPOSE;
  const wk_attr_conv_transpose *t = r->i->attrs;
  r->n_views = 3;
  for (uint32_t k = 0; k < 3; k++) r->view[k] = spatial_view(wk_rare_operand(r, k));
  const int64_t *kernel = wk_rare_operand(r, 2)->dims + 2;
  if (transposed) set_window(r, t->strides, t->pads, t->dilations, kernel);
  else set_window(r, a->strides, a->pads, a->dilations, kernel);
  r->attr[RARE_GROUP] = transposed ? t->group : a->group;
  r->attr[RARE_PAD_VALUE] = transposed ? 0 : a->pad_value;
  name_types(r, transposed ? "conv_transpose" : "conv");
  r->n_tasks = wk_rare_product(r->view[0].dims, 0, 4);
  r->ns = (double)wk_inst_macs(r->i) / 2;
  if (wk_contract_is_correlation(r->c->p, r->i)) choose_correlation(r);
}

void wk_describe_matmul(wk_rare_call *r) {
  r->n_views = 3;
  for (uint32_t k = 0; k < 3; k++) r->view[k] = wk_rare_plain_view(wk_rare_operand(r, k));
  name_types(r, "matmul");
  r->n_tasks = wk_rare_product(r->view[0].dims, 0, wk_rare_operand(r, 0)->rank - 1);
  r->ns = (double)wk_inst_macs(r->i) / 2;
}

/* Views y, indices (left out: rank 0), x. */
static void set_pool(wk_rare_call *r, const char *name, wk_ints kernel, wk_ints strides,
                     wk_ints pads, wk_ints dilations) {
  const wk_view *y = wk_rare_operand(r, 0), *x = wk_rare_operand(r, r->i->n_out);
  bool has_indices = r->i->n_out > 1 && wk_rare_operand(r, 1)->buffer != WK_NONE;
  r->n_views = 3;
  r->view[0] = spatial_view(y->buffer == WK_NONE ? wk_rare_operand(r, 1) : y);
  r->view[2] = spatial_view(x);
  if (has_indices) r->view[1] = spatial_view(wk_rare_operand(r, 1));
  set_window(r, strides, pads, dilations, kernel.v);
  r->function = wk_arena_printf(r->c->arena, "wk_rare_%s", name);
  r->n_tasks = wk_rare_product(r->view[0].dims, 0, 4);
  r->ns = 2 * (double)wk_rare_product(r->view[0].dims, 0, 5) *
          (double)wk_rare_product(kernel.v, 0, (int)kernel.n);
}

/* Spatial axes may change places: the one without gaps in memory comes last. */
static void choose_line_axis(wk_rare_call *r) {
  static const int attrs[] = {RARE_STRIDE, RARE_PAD,         RARE_DILATION,
                              RARE_KERNEL, RARE_REAL_BEFORE, RARE_REAL_AFTER};
  int to = WK_RARE_SPATIAL - 1, from = to;
  for (int k = 0; k < WK_RARE_SPATIAL; k++)
    if (r->view[2].dims[2 + k] > 1 && r->view[2].strides[2 + k] == 1) from = k;
  for (size_t k = 0; k < WK_COUNTOF(attrs); k++) {
    int64_t *a = &r->attr[attrs[k]], swap = a[from];
    a[from] = a[to];
    a[to] = swap;
  }
  for (int v = 0; v <= 2; v += 2) {
    wk_rare_view *view = &r->view[v], old = *view;
    view->dims[2 + from] = old.dims[2 + to], view->dims[2 + to] = old.dims[2 + from];
    view->strides[2 + from] = old.strides[2 + to], view->strides[2 + to] = old.strides[2 + from];
  }
}

/* Floats whose channels lie together, with the positions of their maxima, which are counted in 32
 * bits within a plane. */
static void choose_places(wk_rare_call *r) {
  const wk_rare_view *y = &r->view[0], *x = &r->view[2];
  bool in_rows = x->dims[1] >= 16 && x->strides[1] == 1 && y->strides[1] == 1;
  if (!in_rows || x->dtype != WK_F32 || wk_rare_product(x->dims, 2, 5) > INT32_MAX) return;
  r->function = "wk_rare_max_pool_rows_places";
  r->n_tasks = y->dims[0] * wk_rare_product(y->dims, 2, 4);
  r->ns /= 10;
}

/* Channels in vectors when they lie together, else lines of floats. */
static void choose_loop(wk_rare_call *r) {
  const wk_rare_view *y = &r->view[0], *x = &r->view[2];
  bool is_float = x->dtype == WK_F32;
  bool is_byte = (x->dtype == WK_U8 || x->dtype == WK_I8) && r->i->op == WK_OP_MAX_POOL;
  if (wk_rare_operand(r, 0)->buffer == WK_NONE) return;
  if (r->view[1].rank > 0) {
    choose_places(r);
    return;
  }
  bool in_rows = x->dims[1] > 1 && x->strides[1] == 1 && y->strides[1] == 1;
  if (!is_float && !(is_byte && in_rows)) return;
  const char *type = is_float ? "" : x->dtype == WK_U8 ? "_u8" : "_i8";
  r->function =
      wk_arena_printf(r->c->arena, "%s%s_%s", r->function, type, in_rows ? "rows" : "lines");
  if (!in_rows) choose_line_axis(r);
  r->n_tasks = in_rows ? y->dims[0] * wk_rare_product(y->dims, 2, 4)
                       : wk_rare_product(y->dims, 0, 4);
  r->ns /= is_byte ? 80 : in_rows ? 20 : 4;
}

void wk_describe_max_pool(wk_rare_call *r) {
  const wk_attr_max_pool *a = r->i->attrs;
  set_pool(r, "max_pool", a->kernel, a->strides, a->pads, a->dilations);
  r->attr[RARE_COLUMN_MAJOR] = a->column_major;
  r->attr[RARE_TAPS] = a->taps;
  choose_loop(r);
}

void wk_describe_avg_pool(wk_rare_call *r) {
  const wk_attr_avg_pool *a = r->i->attrs;
  set_pool(r, "avg_pool", a->kernel, a->strides, a->pads, a->dilations);
  set_spatial(r, RARE_REAL_BEFORE, a->real_pads.v, a->kernel.n, 0);
  set_spatial(r, RARE_REAL_AFTER, a->real_pads.v + a->kernel.n, a->kernel.n, 0);
  choose_loop(r);
}

void wk_describe_lp_pool(wk_rare_call *r) {
  const wk_attr_lp_pool *a = r->i->attrs;
  set_pool(r, "lp_pool", a->kernel, a->strides, a->pads, a->dilations);
  r->attr[RARE_POWER] = a->p;
}

/* Views y, x, taps. */
void wk_describe_unpool(wk_rare_call *r) {
  const wk_attr_unpool *a = r->i->attrs;
  wk_rare_view *y = &r->view[0], *x = &r->view[1], *taps = &r->view[2];
  r->n_views = 3;
  for (uint32_t k = 0; k < 3; k++) r->view[k] = spatial_view(wk_rare_operand(r, k));
  set_window(r, a->strides, a->pads, a->dilations, a->kernel.v);
  bool in_rows = y->dims[1] >= 16 && y->strides[1] == 1 && x->strides[1] == 1;
  in_rows = in_rows && taps->strides[1] == 1 && x->dtype == WK_F32 && taps->dtype == WK_U8;
  r->function = in_rows ? "wk_rare_unpool_rows" : "wk_rare_unpool";
  r->n_tasks = in_rows ? y->dims[0] * wk_rare_product(y->dims, 2, 4)
                       : wk_rare_product(y->dims, 0, 4);
  r->ns = (in_rows ? 0.3 : 8) * (double)wk_rare_product(y->dims, 0, 5);
}
