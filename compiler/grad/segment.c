/* SPDX-License-Identifier: Apache-2.0
 * Adjoint of segment_reduce over rows of floats: every row that was read gets what its segment has,
 * times its weight; of a maximum, only the first row that it was found in. */
#include <string.h>

#include "compiler/grad/adjoint.h"

enum { DATA, OFFSETS, INDICES, WEIGHTS };

typedef struct {
  wk_adjoint *a;
  wk_low *l;
  const wk_attr_segment_reduce *at;
  wk_dtype wide;
  int64_t reads, rows, width, segments;
  wk_value_id row;     /* i64 [reads]: of data; WK_NONE: in order */
  wk_value_id segment; /* i64 [reads]: 1 + its segment; 0 or segments + 1: none */
  wk_value_id counts;  /* bool [reads, 1]; WK_NONE: all count */
  wk_value_id weight;  /* [reads, 1]; WK_NONE: ones */
} segments;

static wk_value_id input_of(const segments *s, uint32_t k) {
  return k < s->a->n->n_in ? s->a->n->in[k] : WK_NONE;
}

static wk_value_id column(const segments *s, wk_value_id v) {
  const int64_t dims[] = {s->reads, 1};
  return wk_low_reshape(s->l, v, 2, dims);
}

static void find_rows(segments *s) {
  wk_low *l = s->l;
  char text[80];
  s->row = s->counts = WK_NONE;
  if (input_of(s, INDICES) != WK_NONE) {
    snprintf(text, sizeof text, "i = i64(a); select(lt(i, 0), add(i, %lld), i)",
             (long long)s->rows);
    s->row = wk_low_map(l, WK_I64, text, 1, input_of(s, INDICES));
  }
  if (s->at->padding < 0) return;
  wk_value_id row = s->row;
  if (row == WK_NONE) {
    const wk_type t = wk_type_make(WK_I64, 1, &s->rows);
    row = wk_low_map(l, WK_I64, "add(a, index<0>())", 1, wk_adjoint_zeros(l, &t));
  }
  snprintf(text, sizeof text, "ne(a, %lld)", (long long)s->at->padding);
  s->counts = column(s, wk_low_map(l, WK_BOOL, text, 1, row));
}

/* As many segments have begun as offsets have been passed. */
static void find_segments(segments *s) {
  wk_low *l = s->l;
  const int64_t places = s->reads + 1, n = s->segments + 1, dims[] = {n, 1};
  const wk_type t = wk_type_make(WK_I64, 1, &places);
  wk_value_id at = wk_adjoint_cast(l, input_of(s, OFFSETS), WK_I64);
  wk_value_id in[] = {wk_adjoint_zeros(l, &t), wk_low_reshape(l, at, 2, dims),
                      wk_low_expand(l, wk_low_scalar(l, WK_I64, 1), 1, &n)};
  if (l->status) return;
  wk_attr_scatter_nd *add = wk_attrs_new(l->arena, WK_OP_SCATTER_ND);
  add->reduction = "add";
  wk_value_id begun = wk_low_add(l, WK_OP_SCATTER_ND, add, in, 3, 1, NULL);
  begun = wk_low_add(l, WK_OP_CUM_SUM, wk_attrs_new(l->arena, WK_OP_CUM_SUM), &begun, 1, 1, NULL);
  s->segment = wk_low_slice(l, begun, 0, 0, s->reads, 1);
}

/* Row k: that of v [segments, n] for the segment of read k; 0 where it is in none. */
static wk_value_id of_segments(const segments *s, wk_value_id v) {
  wk_low *l = s->l;
  static const int64_t margin[] = {1, 0};
  if (l->status) return 0;
  wk_attr_pad *p = wk_attrs_new(l->arena, WK_OP_PAD);
  p->before = p->after = wk_ints_dup(l->arena, margin, 2);
  return wk_low_gather(l, wk_low_add(l, WK_OP_PAD, p, &v, 1, 1, NULL), s->segment, 0);
}

/* x [reads, n] folded over segments. */
static wk_value_id fold(const segments *s, const char *kind, wk_value_id x, wk_dtype t) {
  wk_low *l = s->l;
  wk_value_id in[] = {x, input_of(s, OFFSETS)};
  if (l->status) return 0;
  wk_attr_segment_reduce *r = wk_attrs_new(l->arena, WK_OP_SEGMENT_REDUCE);
  r->kind = kind;
  r->to = t;
  return wk_low_add(l, WK_OP_SEGMENT_REDUCE, r, in, 2, 1, NULL);
}

static wk_value_id rows_read(const segments *s) {
  wk_value_id x = wk_adjoint_cast(s->l, input_of(s, DATA), s->wide);
  return s->row == WK_NONE ? x : wk_low_gather(s->l, x, s->row, 0);
}

/* g [segments, width] divided by how many rows count; what has none gets nothing on. */
static wk_value_id by_count(const segments *s, wk_value_id g) {
  wk_low *l = s->l;
  const int64_t dims[] = {s->reads, 1};
  wk_value_id one = s->counts == WK_NONE
                        ? wk_low_expand(l, wk_low_scalar(l, s->wide, 1), 2, dims)
                        : wk_low_map(l, s->wide, "select(a, 1, 0)", 1, s->counts);
  wk_value_id n = fold(s, "sum", one, s->wide);
  return wk_low_map(l, s->wide, "select(eq(b, 0), 0, div(a, b))", 2, g, n);
}

/* g [reads, width] where the read row was the first to be the maximum; 0 elsewhere. */
static wk_value_id where_largest(const segments *s, wk_value_id g) {
  wk_low *l = s->l;
  wk_value_id x = rows_read(s);
  if (s->weight != WK_NONE) x = wk_low_map(l, s->wide, "mul(a, b)", 2, x, s->weight);
  wk_value_id y = of_segments(s, wk_adjoint_cast(l, s->a->n->out[0], s->wide));
  /* the order of reads, backwards; f64 holds them all */
  wk_value_id order =
      wk_low_map(l, WK_F64, "select(eq(a, b), neg(f64(index<0>())), -inf)", 2, x, y);
  if (s->counts != WK_NONE)
    order = wk_low_map(l, WK_F64, "select(b, a, -inf)", 2, order, s->counts);
  wk_value_id first = of_segments(s, fold(s, "max", order, WK_F64));
  return wk_low_map(l, s->wide, "select(and(eq(a, b), eq(c, d)), e, 0)", 5, order, first, x, y, g);
}

static void give_data(segments *s, wk_value_id g) {
  wk_low *l = s->l;
  const wk_type t = *wk_low_type(l, input_of(s, DATA));
  if (s->weight != WK_NONE) g = wk_low_map(l, s->wide, "mul(a, b)", 2, g, s->weight);
  g = wk_adjoint_cast(l, g, t.dtype);
  s->a->dx[DATA] = g;
  if (s->row == WK_NONE || l->status) return;
  wk_value_id in[] = {wk_adjoint_zeros(l, &t), column(s, s->row), g};
  wk_attr_scatter_nd *add = wk_attrs_new(l->arena, WK_OP_SCATTER_ND);
  add->reduction = "add";
  s->a->dx[DATA] = wk_low_add(l, WK_OP_SCATTER_ND, add, in, 3, 1, NULL);
}

static void give_weights(segments *s, wk_value_id g) {
  wk_low *l = s->l;
  static const int64_t across = 1;
  wk_value_id both = wk_low_map(l, s->wide, "mul(a, b)", 2, g, rows_read(s));
  wk_value_id sum = wk_low_reduce(l, s->at->to, "sum", both, &across, 1, false, NULL, NULL);
  s->a->dx[WEIGHTS] = wk_adjoint_cast(l, sum, s->at->to);
}

void wk_adjoint_segment_reduce(wk_adjoint *a) {
  const wk_type x = *wk_low_type(&a->l, a->n->in[DATA]);
  segments s = {.a = a, .l = &a->l, .at = WK_ATTR(a->n, segment_reduce), .rows = x.dims[0],
                .width = x.dims[1], .weight = WK_NONE};
  if (!wk_dtype_is_float(x.dtype)) {
    wk_low_fail(&a->l, wk_error(WK_UNSUPPORTED, "rows of integers have no gradient"));
    return;
  }
  bool has_indices = input_of(&s, INDICES) != WK_NONE;
  s.reads = has_indices ? wk_low_type(&a->l, a->n->in[INDICES])->dims[0] : s.rows;
  s.segments = wk_low_type(&a->l, a->dy[0])->dims[0];
  s.wide = wk_compute_dtype(s.at->to);
  if (s.reads == 0 || s.segments == 0) return;
  find_rows(&s);
  find_segments(&s);
  if (input_of(&s, WEIGHTS) != WK_NONE)
    s.weight = wk_adjoint_cast(&a->l, column(&s, input_of(&s, WEIGHTS)), s.wide);
  wk_value_id g = wk_adjoint_cast(&a->l, a->dy[0], s.wide);
  if (!strcmp(s.at->kind, "mean")) g = by_count(&s, g);
  g = of_segments(&s, g);
  if (!strcmp(s.at->kind, "max")) g = where_largest(&s, g);
  else if (s.counts != WK_NONE)
    g = wk_low_map(&a->l, s.wide, "select(b, a, 0)", 2, g, s.counts);
  if (wk_adjoint_wants(a, DATA)) give_data(&s, g);
  if (wk_adjoint_wants(a, WEIGHTS)) give_weights(&s, g);
}
