/* SPDX-License-Identifier: Apache-2.0
 * Bags of embeddings as torch exports them: aten::embedding_bag, kept as an operator or written as
 * a Loop of a bag per iteration. Both become segment_reduce. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import/control.h"
#include "compiler/onnx/import/extent.h"
#include "compiler/onnx/import/handlers.h"

static const char *const kinds[] = {"sum", "mean", "max"};

typedef struct {
  wk_value_id table, indices, offsets, weights; /* offsets: one more than bags */
  const char *kind;
  int64_t padding;
  double empty; /* a maximum of nothing */
} bags;

static wk_value_id make_bags(wk_onnx_node *c, const bags *b) {
  WK_MAKE_ATTRS(c, a, SEGMENT_REDUCE, segment_reduce);
  a->kind = b->kind;
  a->padding = b->padding;
  a->empty = b->empty;
  a->to = wk_onnx_type(c, b->table)->dtype;
  return wk_make(c, WK_OP_SEGMENT_REDUCE, a, b->weights == WK_NONE ? 3 : 4, b->table, b->offsets,
                 b->indices, b->weights);
}

/* ---- aten ---------------------------------------------------------------------------------- */

/* aten::embedding_bag(table, indices, starts or offsets, weights?). */
static wk_status embedding_bag(wk_onnx_node *c) {
  int64_t mode = wk_onnx_int(c, "mode", 0), padding = wk_onnx_int(c, "padding_idx", -1);
  bags b = {.table = c->in[0], .indices = c->in[1], .offsets = c->in[2], .padding = padding,
            .weights = wk_onnx_has(c, 3) ? c->in[3] : WK_NONE};
  if (!wk_onnx_valid(c, mode >= 0 && mode < (int64_t)WK_COUNTOF(kinds), "mode is %lld",
                     (long long)mode))
    return c->status;
  b.kind = kinds[mode];
  for (int k = 1; k < c->n_out; k++)
    wk_onnx_need(c, !wk_onnx_wants(c, k), "output %d is read, which serves training", k);
  if (!wk_onnx_int(c, "include_last_offset", 0)) {
    const wk_type t = *wk_onnx_type(c, c->in[1]); /* the graph's own moves when it grows */
    wk_value_id n = wk_make_i64s(c, t.dims, 1);
    wk_value_id parts[] = {b.offsets, wk_make_cast(c, n, wk_onnx_type(c, b.offsets)->dtype)};
    b.offsets = wk_make_concat(c, parts, 2, 0);
  }
  return wk_onnx_return(c, make_bags(c, &b));
}

wk_status wk_onnx_aten(wk_onnx_node *c) {
  const char *name = wk_onnx_text(c, "operator", "");
  if (!wk_onnx_need(c, !strcmp(name, "embedding_bag"), "aten::%s is not known", name))
    return c->status;
  if (!wk_onnx_valid(c, c->n_in >= 3, "has %d inputs", c->n_in)) return c->status;
  return embedding_bag(c);
}

/* ---- a loop -------------------------------------------------------------------------------- */

/* What an iteration reads, by name: table[indices[first:end]] * weights[first:end], folded. first
 * and end are elements of `starts` and `ends`. */
typedef struct {
  wk_onnx_node *c; /* the Loop */
  const Onnx__GraphProto *p;
  const char *table, *indices, *weights, *starts, *ends;
  const char *kind;
} bag_body;

/* The node of the body that makes this value, identities skipped; NULL: none does, and *name is
 * the value that they lead to. */
static const Onnx__NodeProto *maker_of(const bag_body *b, const char **name) {
  for (size_t i = b->p->n_node; i-- > 0;) {
    const Onnx__NodeProto *n = b->p->node[i];
    if (!n->op_type || n->n_output < 1 || strcmp(n->output[0], *name) != 0) continue;
    if (strcmp(n->op_type, "Identity") != 0 || n->n_input != 1) return n;
    *name = n->input[0];
  }
  return NULL;
}

static const Onnx__NodeProto *maker(const bag_body *b, const char *name) {
  return maker_of(b, &name);
}

/* The same if it is this operator with so many inputs. */
static const Onnx__NodeProto *made_by(const bag_body *b, const char *name, const char *op,
                                      size_t min_in) {
  const Onnx__NodeProto *n = maker(b, name);
  bool is_it = n && !*wk_onnx_domain(n->domain) && !strcmp(n->op_type, op) && n->n_input >= min_in;
  return is_it ? n : NULL;
}

static wk_onnx_node inside(const bag_body *b, const Onnx__NodeProto *n) {
  wk_onnx_node inner = *b->c;
  inner.proto = n;
  return inner;
}

static bool one_element(const wk_tensor *t, int64_t *v) {
  if (wk_type_count(&t->type) != 1 || !t->data) return false;
  *v = wk_load_i64(t->data, t->type.dtype, 0);
  return true;
}

/* The value of a Constant of the body. */
static bool constant_inside(const bag_body *b, const Onnx__NodeProto *n, int64_t *v) {
  wk_onnx_node inner = inside(b, n);
  const Onnx__AttributeProto *a = wk_onnx_attr(&inner, "value");
  wk_tensor t;
  bool is_borrowed;
  if (strcmp(n->op_type, "Constant") != 0 || !a || !a->t) return false;
  wk_status s = wk_onnx_tensor_read(a->t, &t, &is_borrowed);
  bool ok = !s && one_element(&t, v);
  if (!s && !is_borrowed) wk_tensor_free(&t);
  wk_status_free(s);
  return ok;
}

/* A value from outside the body. */
static wk_value_id outer(const bag_body *b, const char *name) {
  wk_bound found;
  for (size_t k = 0; k < b->p->n_input; k++)
    if (!strcmp(b->p->input[k]->name, name)) return WK_NONE;
  if (maker(b, name) || !wk_scope_find(b->c->im, b->c->scope, name, &found)) return WK_NONE;
  bool is_plain = found.kind == WK_BOUND_TENSOR &&
                  !wk_extent_has_open(b->c->im, b->c->g, found.value);
  return is_plain ? found.value : WK_NONE;
}

/* The value of a constant of one element, of the body or from outside, or of a cast of one. */
static bool constant_of(const bag_body *b, const char *name, int64_t *v) {
  const Onnx__NodeProto *cast = made_by(b, name, "Cast", 1);
  if (cast) name = cast->input[0];
  const Onnx__NodeProto *n = maker(b, name);
  if (n) return constant_inside(b, n, v);
  wk_value_id x = outer(b, name);
  if (!wk_is_const(b->c->g, x)) return false;
  const wk_value *value = wk_val(b->c->g, x);
  return one_element(&(wk_tensor){.type = value->type, .data = (void *)(uintptr_t)value->data}, v);
}

/* The axes of a node, an attribute or input k: this one alone. */
static bool has_axis(const bag_body *b, const Onnx__NodeProto *n, size_t k, int64_t axis) {
  int64_t v;
  if (k < n->n_input) return constant_of(b, n->input[k], &v) && v == axis;
  wk_onnx_node inner = inside(b, n);
  wk_ints axes = wk_onnx_ints(&inner, "axes");
  return axes.n == 1 && axes.v[0] == axis;
}

/* Unsqueeze(Gather(list, iteration)). */
static bool match_bound(const bag_body *b, const char *name, const char **list) {
  const Onnx__NodeProto *n = made_by(b, name, "Unsqueeze", 1);
  n = n && has_axis(b, n, 1, 0) ? made_by(b, n->input[0], "Gather", 2) : NULL;
  if (!n || strcmp(n->input[1], b->p->input[0]->name) != 0) return false;
  wk_onnx_node inner = inside(b, n);
  *list = n->input[0];
  return wk_onnx_int(&inner, "axis", 0) == 0;
}

/* Slice(x, first, end) of axis 0; the bounds are those of all slices of the body. */
static bool match_slice(bag_body *b, const char *name, const char **x) {
  const Onnx__NodeProto *n = made_by(b, name, "Slice", 4);
  const char *starts, *ends;
  int64_t step = 1;
  if (!n || !has_axis(b, n, 3, 0) || (n->n_input > 4 && !constant_of(b, n->input[4], &step)) ||
      step != 1)
    return false;
  if (!match_bound(b, n->input[1], &starts) || !match_bound(b, n->input[2], &ends)) return false;
  bool is_first = !b->starts, is_same = !is_first && !strcmp(starts, b->starts) &&
                                        !strcmp(ends, b->ends);
  b->starts = starts;
  b->ends = ends;
  *x = n->input[0];
  return is_first || is_same;
}

static bool match_rows(bag_body *b, const char *name) {
  const Onnx__NodeProto *n = made_by(b, name, "Gather", 2);
  if (!n) return false;
  wk_onnx_node inner = inside(b, n);
  b->table = n->input[0];
  return wk_onnx_int(&inner, "axis", 0) == 0 && match_slice(b, n->input[1], &b->indices);
}

static bool match_weighted(bag_body *b, const char *name) {
  const Onnx__NodeProto *n = made_by(b, name, "Mul", 2);
  if (!n) return match_rows(b, name);
  const Onnx__NodeProto *w = made_by(b, n->input[1], "Unsqueeze", 1);
  return w && has_axis(b, w, 1, 1) && match_rows(b, n->input[0]) &&
         match_slice(b, w->input[0], &b->weights);
}

static bool has_names(const Onnx__GraphProto *p) {
  return p->input[0]->name && p->input[1]->name && p->output[0]->name && p->output[1]->name;
}

static bool match_body(bag_body *b) {
  static const char *const folds[] = {"ReduceSum", "ReduceMean", "ReduceMax"};
  const char *on = b->p->output[0]->name;
  if (maker_of(b, &on)) on = b->p->output[0]->name;
  int64_t goes_on = strcmp(on, b->p->input[1]->name) == 0;
  if (!goes_on && (!constant_of(b, on, &goes_on) || !goes_on)) return false;
  for (size_t k = 0; k < WK_COUNTOF(folds); k++) {
    const Onnx__NodeProto *n = made_by(b, b->p->output[1]->name, folds[k], 1);
    if (!n) continue;
    wk_onnx_node inner = inside(b, n);
    b->kind = kinds[k];
    return wk_onnx_int(&inner, "keepdims", 1) == 0 && has_axis(b, n, 1, 0) &&
           match_weighted(b, n->input[0]);
  }
  return false;
}

/* The same of this rank; WK_NONE: there is none, or it has another. */
static wk_value_id outer_of_rank(const bag_body *b, const char *name, int rank) {
  wk_value_id v = name ? outer(b, name) : WK_NONE;
  return v != WK_NONE && wk_onnx_type(b->c, v)->rank == rank ? v : WK_NONE;
}

/* x is list[from:], or a list that holds the same. */
static bool is_rest(const wk_graph *g, wk_value_id x, wk_value_id list, int64_t from) {
  const wk_value *v = wk_val(g, x);
  if (x == list) return from == 0;
  if (v->kind != WK_VALUE_NODE || wk_nod(g, v->node)->op != WK_OP_SLICE) return false;
  const wk_node *n = wk_nod(g, v->node);
  const wk_attr_slice *a = WK_ATTR(n, slice);
  return n->in[0] == list && a->starts.v[0] == from && a->steps.v[0] == 1;
}

static bool same_elements(const wk_graph *g, wk_value_id x, int64_t i, wk_value_id y, int64_t j,
                          int64_t n) {
  const wk_value *p = wk_val(g, x), *q = wk_val(g, y);
  for (int64_t k = 0; k < n; k++)
    if (wk_load_i64(p->data, p->type.dtype, i + k) != wk_load_i64(q->data, q->type.dtype, j + k))
      return false;
  return true;
}

/* The offsets of n bags from where they start and end; WK_NONE: one may not end where the next
 * starts. */
static wk_value_id offsets_of(wk_onnx_node *c, wk_value_id starts, wk_value_id ends, int64_t n) {
  const wk_graph *g = c->g;
  if (n < 1 || wk_onnx_type(c, starts)->dims[0] < n || wk_onnx_type(c, ends)->dims[0] < n)
    return WK_NONE;
  if (wk_is_const(g, starts) && wk_is_const(g, ends)) {
    if (wk_onnx_type(c, starts)->dtype != wk_onnx_type(c, ends)->dtype) return WK_NONE;
    if (!same_elements(g, starts, 1, ends, 0, n - 1)) return WK_NONE;
    wk_value_id parts[] = {wk_make_slice(c, starts, 0, 0, 1, 1),
                           wk_make_slice(c, ends, 0, 0, n, 1)};
    return wk_make_concat(c, parts, 2, 0);
  }
  const wk_value *v = wk_val(g, ends);
  if (v->kind != WK_VALUE_NODE || wk_nod(g, v->node)->op != WK_OP_SLICE) return WK_NONE;
  wk_value_id list = wk_nod(g, v->node)->in[0];
  if (!is_rest(g, ends, list, 1) || !is_rest(g, starts, list, 0)) return WK_NONE;
  return wk_make_slice(c, list, 0, 0, n + 1, 1);
}

bool wk_onnx_loop_of_bags(wk_onnx_node *c, const Onnx__GraphProto *p, int64_t trip) {
  bag_body b = {.c = c, .p = p};
  if (p->n_input != 2 || p->n_output != 2 || p->n_initializer) return false;
  if (!has_names(p) || !match_body(&b)) return false;
  wk_value_id starts = outer_of_rank(&b, b.starts, 1), ends = outer_of_rank(&b, b.ends, 1);
  bags y = {.table = outer_of_rank(&b, b.table, 2), .indices = outer_of_rank(&b, b.indices, 1),
            .weights = outer_of_rank(&b, b.weights, 1), .kind = b.kind, .padding = -1,
            .empty = -INFINITY};
  if (y.table == WK_NONE || y.indices == WK_NONE || starts == WK_NONE || ends == WK_NONE ||
      (b.weights && y.weights == WK_NONE))
    return false;
  wk_dtype t = wk_onnx_type(c, y.table)->dtype;
  if (!wk_dtype_is_float(t) || (b.weights && wk_onnx_type(c, y.weights)->dtype != t)) return false;
  y.offsets = offsets_of(c, starts, ends, trip);
  if (y.offsets == WK_NONE) return false;
  wk_onnx_result(c, 0, make_bags(c, &y));
  return true;
}
