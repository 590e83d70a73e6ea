/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution, transposed convolution and matrix product, all as products of packed panels. A
 * convolution gathers the inputs of a chunk of output positions into columns (one row per input
 * channel and kernel tap); a table says where each tap of each position reads, or that it reads
 * nothing. The transposed one differs in that table and in the layout of its weights alone. */
#include <stdlib.h>

#include "compiler/eval/handler.h"

typedef struct {
  const wk_eval_call *c;
  const wk_tensor *x, *w;
  bool transposed, real;
  int sp; /* spatial axes */
  const int64_t *in_dims, *k_dims, *out_dims, *strides, *pads, *dilations;
  int64_t groups, in_channels, out_channels; /* channels of one group */
  int64_t in_size, taps, out_size;           /* positions of one plane */
  wk_scalar *plane; /* the sample at hand */
  wk_scalar outside; /* value of x there */
  wk_scalar *bias;  /* per output channel */
  int64_t *table;   /* taps x columns: position in the input plane or -1 */
  wk_epilogue ep;
  wk_gemm g;
} conv;

/* Input coordinate that output position o sees through kernel tap t along one axis; -1: none. */
static int64_t source(const conv *v, int axis, int64_t o, int64_t t) {
  int64_t at;
  if (v->transposed) {
    at = o + v->pads[axis] - t * v->dilations[axis];
    if (at % v->strides[axis]) return -1;
    at /= v->strides[axis];
  } else {
    at = o * v->strides[axis] + t * v->dilations[axis] - v->pads[axis];
  }
  return at >= 0 && at < v->in_dims[axis] ? at : -1;
}

static int64_t source_position(const conv *v, const int64_t *out, const int64_t *tap) {
  int64_t at = 0;
  for (int i = 0; i < v->sp; i++) {
    int64_t s = source(v, i, out[i], tap[i]);
    if (s < 0) return -1;
    at = at * v->in_dims[i] + s;
  }
  return at;
}

static void fill_table(conv *v, int64_t first, int64_t n) {
  for (int64_t j = 0; j < n; j++) {
    int64_t out[WK_MAX_RANK], tap[WK_MAX_RANK] = {0}, rest = first + j;
    for (int i = v->sp - 1; i >= 0; i--) {
      out[i] = rest % v->out_dims[i];
      rest /= v->out_dims[i];
    }
    for (int64_t t = 0; t < v->taps; t++) {
      v->table[t * v->g.columns + j] = source_position(v, out, tap);
      wk_walk_next(v->sp, v->k_dims, tap);
    }
  }
}

static void pack_columns(conv *v, int64_t group, int64_t n) {
  for (int64_t ic = 0; ic < v->in_channels; ic++) {
    const wk_scalar *x = v->plane + (group * v->in_channels + ic) * v->in_size;
    for (int64_t t = 0; t < v->taps; t++) {
      const int64_t *from = v->table + t * v->g.columns;
      wk_scalar *cell = wk_gemm_cell(&v->g, ic * v->taps + t, 0);
      for (int64_t j = 0; j < n; j++)
        cell[j / WK_TILE * v->g.k * WK_TILE + j % WK_TILE] =
            from[j] < 0 ? v->outside : x[from[j]];
    }
  }
}

/* The weights of one output channel of a group as a row of the left matrix. */
static void pack_weights(conv *v, int64_t group, int64_t oc, int row) {
  wk_dtype t = v->w->type.dtype;
  if (!v->transposed) {
    int64_t first = (group * v->out_channels + oc) * v->g.k;
    wk_scalars_read(v->g.line, v->w->data, t, first, 1, v->g.k);
  } else {
    for (int64_t ic = 0; ic < v->in_channels; ic++) {
      int64_t first = ((group * v->in_channels + ic) * v->out_channels + oc) * v->taps;
      wk_scalars_read(v->g.line + ic * v->taps, v->w->data, t, first, 1, v->taps);
    }
  }
  wk_gemm_pack_row(&v->g, row);
}

static void add_bias(bool real, wk_scalar *row, wk_scalar bias, int64_t n) {
  for (int64_t j = 0; j < n; j++) {
    if (real) row[j].f += bias.f;
    else row[j].i = (int64_t)((uint64_t)row[j].i + (uint64_t)bias.i);
  }
}

static void run_group(conv *v, int64_t sample, int64_t group, int64_t first, int64_t n) {
  pack_columns(v, group, n);
  for (int64_t oc = 0; oc < v->out_channels; oc += WK_TILE) {
    int64_t rows = v->out_channels - oc < WK_TILE ? v->out_channels - oc : WK_TILE;
    for (int r = 0; r < rows; r++) pack_weights(v, group, oc + r, r);
    wk_gemm_run(&v->g, n);
    for (int64_t r = 0; r < rows; r++) {
      int64_t channel = group * v->out_channels + oc + r;
      int64_t at = (sample * v->groups * v->out_channels + channel) * v->out_size + first;
      wk_scalar *row = v->g.rows + r * v->g.columns;
      if (v->bias) add_bias(v->real, row, v->bias[channel], n);
      wk_scalars_write(row, v->ep.acc.data, v->ep.acc.type.dtype, at, 1, n);
    }
  }
}

static void run_conv(conv *v) {
  int64_t sample_size = v->groups * v->in_channels * v->in_size;
  for (int64_t s = 0; s < v->x->type.dims[0]; s++) {
    wk_scalars_read(v->plane, v->x->data, v->x->type.dtype, s * sample_size, 1, sample_size);
    for (int64_t first = 0; first < v->out_size; first += v->g.columns) {
      int64_t left = v->out_size - first, n = left < v->g.columns ? left : v->g.columns;
      fill_table(v, first, n);
      for (int64_t g = 0; g < v->groups; g++) run_group(v, s, g, first, n);
    }
  }
}

static wk_status read_bias(const wk_eval_call *c, wk_scalar **out) {
  const wk_tensor *b = wk_eval_in(c, 2);
  *out = NULL;
  if (!b) return NULL;
  int64_t n = wk_type_count(&b->type);
  WK_TRY(wk_scalars_alloc(n, out));
  wk_scalars_read(*out, b->data, b->type.dtype, 0, 1, n);
  return NULL;
}

static wk_status convolve(conv *v, const wk_expr *epilogue) {
  const wk_type *x = &v->x->type, *w = &v->w->type, *y = &v->c->a.out[0].type;
  v->sp = x->rank - 2;
  v->in_dims = x->dims + 2;
  v->k_dims = w->dims + 2;
  v->out_dims = y->dims + 2;
  v->real = wk_dtype_is_float(x->dtype);
  v->in_channels = x->dims[1] / v->groups;
  v->out_channels = y->dims[1] / v->groups;
  v->in_size = wk_dims_count(x->dims, 2, x->rank);
  v->taps = wk_dims_count(w->dims, 2, w->rank);
  v->out_size = wk_dims_count(y->dims, 2, y->rank);
  wk_status s;
  void *table = NULL;
  WK_TRY(wk_epilogue_begin(v->c, epilogue, &v->ep));
  WK_TRY_GOTO(s, done, wk_gemm_begin(&v->g, v->real, v->in_channels * v->taps, v->out_size));
  WK_TRY_GOTO(s, done, wk_scalars_alloc(x->dims[1] * v->in_size, &v->plane));
  WK_TRY_GOTO(s, done, wk_try_malloc((size_t)(v->taps * v->g.columns) * sizeof *v->table, &table));
  WK_TRY_GOTO(s, done, read_bias(v->c, &v->bias));
  v->table = table;
  run_conv(v);
done:
  if (!s) wk_epilogue_end(v->c, epilogue, &v->ep);
  else if (v->ep.own) wk_tensor_free(&v->ep.acc);
  wk_gemm_end(&v->g);
  free(v->plane);
  free(v->bias);
  free(table);
  return s;
}

wk_status wk_eval_conv(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_conv *a = c->a.node->attrs;
  conv v = {.c = c, .x = &c->a.in[0], .w = &c->a.in[1], .groups = a->group,
            .strides = a->strides.v, .pads = a->pads.v, .dilations = a->dilations.v,
            .outside = {.i = a->pad_value}}; /* 0 of floats has the same bits */
  return convolve(&v, a->epilogue);
}

wk_status wk_eval_conv_transpose(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_conv_transpose *a = c->a.node->attrs;
  conv v = {.c = c, .x = &c->a.in[0], .w = &c->a.in[1], .groups = a->group, .transposed = true,
            .strides = a->strides.v, .pads = a->pads.v, .dilations = a->dilations.v};
  return convolve(&v, a->epilogue);
}

/* ---- matrix product -------------------------------------------------------------------------- */

typedef struct {
  const wk_tensor *a, *b;
  bool real;
  int64_t m, k, n;
  int64_t a_zero, b_zero; /* of integers */
  int64_t a_at, b_at, y_at; /* first element of the matrices at hand */
  wk_scalar *bias;
  wk_scalar *thin; /* two rows of n when there are too few rows for panels, else NULL */
  wk_epilogue ep;
  wk_gemm g;
} product;

/* Integers are read less their zero point. */
static void read_factor(const product *p, bool is_b, int64_t first, wk_scalar *to, int64_t n) {
  const wk_tensor *from = is_b ? p->b : p->a;
  int64_t zero = is_b ? p->b_zero : p->a_zero;
  wk_scalars_read(to, from->data, from->type.dtype, first, 1, n);
  for (int64_t i = 0; zero && i < n; i++) to[i].i -= zero;
}

static void product_block(product *p, int64_t first, int64_t n) {
  for (int64_t k = 0; k < p->k; k++) {
    read_factor(p, true, p->b_at + k * p->n + first, p->g.rows, n);
    for (int64_t j = 0; j < n; j++) *wk_gemm_cell(&p->g, k, j) = p->g.rows[j];
  }
  for (int64_t i = 0; i < p->m; i += WK_TILE) {
    int64_t rows = p->m - i < WK_TILE ? p->m - i : WK_TILE;
    for (int r = 0; r < rows; r++) {
      read_factor(p, false, p->a_at + (i + r) * p->k, p->g.line, p->k);
      wk_gemm_pack_row(&p->g, r);
    }
    wk_gemm_run(&p->g, n);
    for (int64_t r = 0; r < rows; r++) {
      wk_scalar *row = p->g.rows + r * p->g.columns;
      for (int64_t j = 0; p->bias && j < n; j++) add_bias(p->real, row + j, p->bias[first + j], 1);
      wk_scalars_write(row, p->ep.acc.data, p->ep.acc.type.dtype, p->y_at + (i + r) * p->n + first,
                       1, n);
    }
  }
}

/* Few rows: the right matrix is read once, row by row, instead of packed. Each cell is summed in
 * the same order as by panels. */
static void product_thin(product *p, wk_scalar *acc, wk_scalar *line) {
  for (int64_t i = 0; i < p->m; i++) {
    for (int64_t j = 0; j < p->n; j++) acc[j].i = 0; /* 0.0 has the same bits */
    for (int64_t k = 0; k < p->k; k++) {
      wk_scalar a;
      read_factor(p, false, p->a_at + i * p->k + k, &a, 1);
      read_factor(p, true, p->b_at + k * p->n, line, p->n);
      if (p->real)
        for (int64_t j = 0; j < p->n; j++) acc[j].f += a.f * line[j].f;
      else
        for (int64_t j = 0; j < p->n; j++)
          acc[j].i = (int64_t)((uint64_t)acc[j].i + (uint64_t)a.i * (uint64_t)line[j].i);
    }
    for (int64_t j = 0; p->bias && j < p->n; j++) add_bias(p->real, acc + j, p->bias[j], 1);
    wk_scalars_write(acc, p->ep.acc.data, p->ep.acc.type.dtype, p->y_at + i * p->n, 1, p->n);
  }
}

/* Strides of the leading axes of x against those of y; 0 where x is broadcast. */
static void batch_strides(const wk_type *x, int batch, int64_t strides[WK_MAX_RANK]) {
  int64_t own[WK_MAX_RANK];
  int shift = batch - (x->rank - 2);
  wk_type_strides(x, own);
  for (int i = 0; i < batch; i++)
    strides[i] = i < shift || x->dims[i - shift] == 1 ? 0 : own[i - shift];
}

static void run_product(product *p, const wk_type *y) {
  int batch = y->rank - 2;
  int64_t as[WK_MAX_RANK], bs[WK_MAX_RANK], pos[WK_MAX_RANK] = {0};
  batch_strides(&p->a->type, batch, as);
  batch_strides(&p->b->type, batch, bs);
  p->y_at = 0;
  do {
    p->a_at = wk_walk_dot(batch, pos, as);
    p->b_at = wk_walk_dot(batch, pos, bs);
    for (int64_t first = 0; !p->thin && first < p->n; first += p->g.columns) {
      int64_t left = p->n - first;
      product_block(p, first, left < p->g.columns ? left : p->g.columns);
    }
    if (p->thin) product_thin(p, p->thin, p->thin + p->n);
    p->y_at += p->m * p->n;
  } while (wk_walk_next(batch, y->dims, pos));
}

static wk_status multiply(const wk_eval_call *c, const wk_expr *e, int64_t a_zero,
                          int64_t b_zero) {
  if (!wk_eval_out(c, 0) || wk_type_count(&c->a.out[0].type) == 0) return NULL;
  const wk_type *y = &c->a.out[0].type;
  product p = {.a = &c->a.in[0], .b = &c->a.in[1], .a_zero = a_zero, .b_zero = b_zero};
  p.real = wk_dtype_is_float(p.a->type.dtype);
  p.m = y->dims[y->rank - 2];
  p.n = y->dims[y->rank - 1];
  p.k = p.a->type.dims[p.a->type.rank - 1];
  wk_status s;
  WK_TRY(wk_epilogue_begin(c, e, &p.ep));
  if (p.m < WK_TILE) WK_TRY_GOTO(s, done, wk_scalars_alloc(2 * p.n, &p.thin));
  else WK_TRY_GOTO(s, done, wk_gemm_begin(&p.g, p.real, p.k, p.n));
  WK_TRY_GOTO(s, done, read_bias(c, &p.bias));
  run_product(&p, y);
done:
  if (!s) wk_epilogue_end(c, e, &p.ep);
  else if (p.ep.own) wk_tensor_free(&p.ep.acc);
  wk_gemm_end(&p.g);
  free(p.bias);
  free(p.thin);
  return s;
}

wk_status wk_eval_matmul(const wk_eval_call *c) {
  return multiply(c, ((const wk_attr_matmul *)c->a.node->attrs)->epilogue, 0, 0);
}

wk_status wk_eval_integer_matmul(const wk_eval_call *c) {
  const wk_attr_integer_matmul *a = c->a.node->attrs;
  return multiply(c, a->epilogue, a->a_zero, a->b_zero);
}
