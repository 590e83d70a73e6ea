/* SPDX-License-Identifier: Apache-2.0
 * Depthwise convolution on GPUs: a work item computes some pixels of a row for a vector of
 * channels. For each row of the window it reads what its pixels need once, into a register for each
 * column, beside the weights of that row. Neighbouring work items have neighbouring channels. */
#include <stdlib.h>
#include <string.h>

#include "compiler/cgen/expr_c.h"
#include "targets/opencl/depthwise.h"
#include "targets/opencl/lanes.h"
#include "targets/opencl/prepare.h"
#include "targets/opencl/tile.h"

enum {
  MOST_PIXELS = 8,
  MOST_COLUMNS = 64,
  MOST_TAPS = 49,  /* of a window whose rows are unrolled */
  REGISTERS = 100  /* for columns, weights and sums */
};

/* ---- size ------------------------------------------------------------------------------------ */

static int last_axis(const wk_cl_depthwise *v) { return v->spatial + 1; }
static int64_t window(const wk_cl_depthwise *v) { return v->w->dims[last_axis(v)]; }
static int64_t stride_of(const wk_cl_depthwise *v) { return v->c->strides.v[v->spatial - 1]; }
static int64_t dilation_of(const wk_cl_depthwise *v) { return v->c->dilations.v[v->spatial - 1]; }

static int64_t pieces_of(const wk_cl_depthwise *v) {
  return wk_ceil_div(v->y->dims[last_axis(v)], v->pixels);
}

/* Of the output, without its last axis, for one vector of channels. */
static int64_t rows_of(const wk_cl_depthwise *v) {
  int64_t n = 1;
  for (int d = 0; d < last_axis(v); d++) n *= d == 1 ? 1 : v->y->dims[d];
  return n;
}

static int64_t items_of(const wk_cl_depthwise *v) {
  return v->x->dims[1] / v->lanes * pieces_of(v) * rows_of(v);
}

/* Columns that the pixels read, from the first one's first tap on, ascending; 0: too many. */
static int columns_of(const wk_cl_depthwise *v, int64_t *at) {
  int n = 0;
  if (window(v) * v->pixels > 4 * MOST_COLUMNS) return 0;
  for (int64_t c = 0; c <= (v->pixels - 1) * stride_of(v) + (window(v) - 1) * dilation_of(v); c++) {
    bool is_read = false;
    for (int64_t p = 0; p < v->pixels && !is_read; p++) {
      int64_t from = c - p * stride_of(v);
      is_read = from >= 0 && from % dilation_of(v) == 0 && from / dilation_of(v) < window(v);
    }
    if (is_read && n == MOST_COLUMNS) return 0;
    if (is_read) at[n++] = c;
  }
  return n;
}

/* What all units do, in instructions: too few work items cost as much as enough of them. */
static double cost_of(const wk_cl_depthwise *v, int columns) {
  double items = (double)items_of(v), least = (double)v->m->device->info.units * WK_CL_BUSY;
  double rows = (double)(v->taps / window(v)), load = 2 + 0.5 * v->lanes;
  double row = (double)(columns + window(v)) * load + (double)(v->pixels * window(v) * v->lanes);
  double outside = 10 + v->pixels * (2.0 + 2.0 * v->lanes);
  return (items > least ? items : least) * (rows * row + outside);
}

static bool fits(const wk_cl_depthwise *v, int columns) {
  return columns && (columns + window(v) + v->pixels) * v->lanes <= REGISTERS;
}

/* Lanes and pixels that cost least; false: nothing fits. */
static bool choose(wk_cl_depthwise *v) {
  int64_t at[MOST_COLUMNS];
  double least = 0;
  int lanes = 0, pixels = 0;
  for (v->lanes = 4; v->lanes; v->lanes /= 2) {
    bool is_vector = v->lanes == 1 || wk_cl_is_vector(v->m->p, v->x, 1, v->lanes);
    for (v->pixels = 1; v->pixels <= MOST_PIXELS && is_vector; v->pixels++) {
      int columns = columns_of(v, at);
      double cost = cost_of(v, columns);
      if (!fits(v, columns) || (lanes && cost >= least)) continue;
      least = cost, lanes = v->lanes, pixels = v->pixels;
    }
  }
  v->lanes = lanes, v->pixels = pixels;
  return lanes > 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* "float4", or "uint" for one lane. */
static const char *sum_type(const wk_cl_depthwise *v) {
  const char *scalar = v->sum == WK_F32 ? "float" : "uint";
  return v->lanes == 1 ? scalar : wk_arena_printf(v->m->a, "%s%d", scalar, v->lanes);
}

/* A vector of channels, or one, as it is multiplied; aligned. */
static const char *loaded(const wk_cl_depthwise *v, wk_dtype t, const char *pointer) {
  wk_arena *a = v->m->a;
  int n = v->lanes;
  if (n == 1) {
    pointer = wk_arena_printf(a, "(%s)", pointer);
    const char *scalar = wk_cl_tile_scalar(a, t, pointer, "0");
    return v->sum == WK_F32 ? scalar : wk_arena_printf(a, "(uint)(%s)", scalar);
  }
  if (t == WK_F16) return wk_arena_printf(a, "vloada_half%d(0, %s)", n, pointer);
  const char *memory = wk_arena_printf(a, "*(__global const %s%d *)(%s)", wk_cl_tile_type(t), n,
                                       pointer);
  if (t == WK_F32) return memory;
  if (t == WK_BF16) return wk_arena_printf(a, "as_float%d(convert_uint%d(%s) << 16)", n, n, memory);
  return wk_arena_printf(a, "as_uint%d(convert_int%d(%s))", n, n, memory);
}

/* The work item: channel `first`, pixel `lo`, positions of the other axes. */
static void add_item(const wk_cl_depthwise *v) {
  wk_str *b = v->l.b;
  const char *flat = wk_cl_flat_type(&v->l), *type = v->l.type, *u = *flat == 'u' ? "u" : "";
  long long runs = v->x->dims[1] / v->lanes, pieces = pieces_of(v), n = items_of(v);
  v->k->local[0] = wk_cl_group_for(v->m->device, n);
  v->k->global[0] = (uint64_t)n;
  wk_str_printf(b, "const %s t = get_global_id(0);\n", flat);
  if (n % v->k->local[0]) wk_str_printf(b, "if (t >= %lld) return;\n", n);
  wk_str_printf(b, "const %s first = t %% %lld%s * %d;\n", type, runs, u, v->lanes);
  wk_str_printf(b, "const %s lo = t / %lld%s %% %lld%s * %d;\n", type, runs, u, pieces, u,
                v->pixels);
  wk_str_printf(b, "const %s rest = t / %lld%s;\n", flat, runs * pieces, u);
  wk_cl_split(&v->l, 'i', 0, last_axis(v), v->y->dims, 1, "rest");
}

/* Rows outside of the image add nothing. */
static bool skips(const wk_cl_depthwise *v) {
  return v->sum == WK_F32 || v->c->pad_value == 0;
}

/* Loops over the rows of the window, with the position of each in the image as h<d>, and `inside`:
 * it is there; those that are not are left out, or brought into the image. */
static void begin_rows(const wk_cl_depthwise *v) {
  wk_str *b = v->l.b;
  wk_str inside = {0};
  for (int d = 0; d < v->spatial - 1; d++) {
    long long size = v->x->dims[d + 2];
    wk_str_printf(b, "%sfor (int t%d = 0; t%d < %lld; t%d++) {\n%s%s h%d = i%d * %lld + "
                  "t%d * %lld - %lld;\n", v->taps <= MOST_TAPS ? "WK_UNROLL " : "", d, d,
                  (long long)v->w->dims[d + 2], d,
                  wk_cl_clips(v->m->inst, d) ? "" : "const ", v->l.type, d, d + 2,
                  (long long)v->c->strides.v[d], d, (long long)v->c->dilations.v[d],
                  (long long)v->c->pads.v[d]);
    if (!wk_cl_clips(v->m->inst, d)) continue;
    wk_str_printf(&inside, "%s(h%d >= 0 & h%d < %lld)", inside.n ? " & " : "", d, d, size);
  }
  if (inside.n) wk_str_printf(b, skips(v) ? "if (%s) {\n" : "const int inside = %s;\n", inside.s);
  for (int d = 0; d < v->spatial - 1; d++)
    if (wk_cl_clips(v->m->inst, d) && !skips(v))
      wk_str_printf(b, "h%d = min(max(h%d, (%s)0), (%s)%lld);\n", d, d, v->l.type, v->l.type,
                    (long long)v->x->dims[d + 2] - 1);
  wk_str_free(&inside);
}

/* Registers r<column>: where some work item is outside it reads within the image, and takes the
 * padding instead. */
static void add_column(const wk_cl_depthwise *v, int64_t at, bool may_be_outside) {
  wk_str *b = v->l.b;
  int last = last_axis(v);
  const char *type = v->l.type, *sum = sum_type(v);
  long long size = v->x->dims[last], from = at - v->c->pads.v[v->spatial - 1];
  long long stride = stride_of(v), row = v->x->strides[last];
  long long end = (pieces_of(v) - 1) * v->pixels * stride + from;
  bool below = from < 0, above = end >= size;
  const char *q = wk_arena_printf(v->m->a, "(lo * %lld + %lld)", stride, from);
  const char *within = below ? wk_arena_printf(v->m->a, "max(%s, (%s)0)", q, type) : q;
  if (above) within = wk_arena_printf(v->m->a, "min(%s, (%s)%lld)", within, type, size - 1);
  const char *load = loaded(v, v->x->dtype,
                            wk_arena_printf(v->m->a, "p + %s * %lld", within, row));
  wk_str_printf(b, "%s r%lld = %s;\n", sum, (long long)at, load);
  if (!below && !above && !may_be_outside) return;
  wk_str_printf(b, "r%lld = ((%s)", (long long)at, may_be_outside ? "inside" : "1");
  if (below) wk_str_printf(b, " & (%s >= 0)", q);
  if (above) wk_str_printf(b, " & (%s < %lld)", q, size);
  wk_str_printf(b, ") ? r%lld : (%s)(outside);\n", (long long)at, sum);
}

static void add_rows(const wk_cl_depthwise *v) {
  wk_str *b = v->l.b;
  int64_t at[MOST_COLUMNS], channels = v->x->dims[1], run = window(v);
  int columns = columns_of(v, at);
  const char *x_type = wk_cl_tile_type(v->x->dtype);
  bool is_real = v->sum == WK_F32, clipped = false;
  begin_rows(v);
  wk_str_printf(b, "__global const %s *p = x", x_type);
  for (int d = 0; d < v->spatial - 1; d++) {
    wk_str_printf(b, " + h%d * %lld", d, (long long)v->x->strides[d + 2]);
    clipped = clipped || wk_cl_clips(v->m->inst, d);
  }
  wk_str_printf(b, ";\n__global const %s *wt = w", wk_cl_tile_type(v->w->dtype));
  for (int d = v->spatial - 2; d >= 0; d--) {
    wk_str_printf(b, " + t%d * %lld", d, (long long)(run * channels));
    run *= v->w->dims[d + 2];
  }
  wk_str_add(b, ";\n");
  for (int c = 0; c < columns; c++) add_column(v, at[c], clipped && !skips(v));
  for (int64_t t = 0; t < window(v); t++)
    wk_str_printf(b, "const %s w%lld = %s;\n", sum_type(v), (long long)t,
                  loaded(v, v->w->dtype, wk_arena_printf(v->m->a, "wt + %lld",
                                                         (long long)(t * channels))));
  for (int64_t p = 0; p < v->pixels; p++)
    for (int64_t t = 0; t < window(v); t++) {
      long long column = p * stride_of(v) + t * dilation_of(v);
      wk_str_printf(b, is_real ? "c%lld = fma(r%lld, w%lld, c%lld);\n"
                               : "c%lld = r%lld * w%lld + c%lld;\n", (long long)p, column,
                    (long long)t, (long long)p);
    }
  if (clipped && skips(v)) wk_str_add(b, "}\n");
  for (int d = 0; d < v->spatial - 1; d++) wk_str_add(b, "}\n");
}

static void add_results(const wk_cl_depthwise *v) {
  wk_str *b = v->l.b;
  int last = last_axis(v);
  const char *acc[4] = {0}, *type = wk_expr_c_type(v->sum);
  wk_str_printf(b, "const %s sums[] = {", sum_type(v));
  for (int p = 0; p < v->pixels; p++) wk_str_printf(b, "%sc%d", p ? ", " : "", p);
  wk_str_printf(b, "};\nWK_UNROLL for (int p = 0; p < %d; p++) {\nconst %s i%d = lo + p;\n",
                v->pixels, v->l.type, last);
  bool ends = v->y->dims[last] % v->pixels != 0;
  if (ends) wk_str_printf(b, "if (i%d < %lld) {\n", last, (long long)v->y->dims[last]);
  for (int j = 0; j < v->lanes; j++)
    acc[j] = v->lanes == 1 ? wk_arena_printf(v->m->a, "(%s)sums[p]", type)
                           : wk_arena_printf(v->m->a, "(%s)sums[p].s%d", type, j);
  wk_cl_end_lanes(&v->l, v->m->p, 1, v->lanes, acc);
  wk_str_add(b, ends ? "}\n}\n" : "}\n");
}

bool wk_cl_depthwise_gpu(wk_cl_depthwise *v) {
  if (!choose(v) || !wk_cl_loops_open(&v->l, v->m->a, v->k, v->m->p, v->m->inst, 2, false))
    return false;
  const char *x_type = wk_cl_tile_type(v->x->dtype), *w_type = wk_cl_tile_type(v->w->dtype);
  uint32_t weights = wk_cl_depthwise_weights(v);
  add_item(v);
  wk_str_printf(v->l.b, "__global const %s *w = (__global const %s *)(g%u + o%u) + first;\n",
                w_type, w_type, weights, weights);
  wk_str_printf(v->l.b, "__global const %s *x = (__global const %s *)(%s) + i0 * %lld + first;\n",
                x_type, x_type, v->l.base[1], (long long)v->x->strides[0]);
  wk_str_printf(v->l.b, "const %s outside = %lld;\n", v->sum == WK_F32 ? "float" : "uint",
                v->sum == WK_F32 ? 0ll : (long long)v->c->pad_value);
  for (int p = 0; p < v->pixels; p++)
    wk_str_printf(v->l.b, "%s c%d = 0;\n", sum_type(v), p);
  add_rows(v);
  add_results(v);
  return true;
}
