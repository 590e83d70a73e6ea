/* SPDX-License-Identifier: Apache-2.0
 * What the samples are normalised with: the numbers that are subtracted from an input or divide it,
 * factors and offsets behind that, or of integers; and where products with weights alone read what
 * comes out, in which they would be of no use as weights: those of each channel before a
 * convolution, a factor and an offset before a matrix. */
#include <stdlib.h>

#include "compiler/train/finder.h"

typedef enum { OTHER, SAMPLES, INTEGERS, NORMALISED } origin;

typedef struct {
  wk_finder *f;
  origin *of;           /* of values */
  wk_value_id *pending; /* of values: the factor or offset of samples that made it; WK_NONE */
  bool *convolved;      /* convolutions alone read it, be it normalised */
  bool *multiplied;     /* the same of convolutions and matrices */
  bool *is_fixed;       /* made of constants alone */
  bool *has_weight;     /* that, and weights are among them */
  bool *is_said;
} inputs;

static bool is_linear(wk_op op) {
  return op == WK_OP_MUL || op == WK_OP_ADD || op == WK_OP_SUB || op == WK_OP_DIV;
}

static bool is_product(const wk_finder *f, const wk_node *n, bool has_matrices) {
  return n->op == WK_OP_CONV ||
         (has_matrices && n->op == WK_OP_MATMUL && f->weight[n->in[1]] != WK_NONE);
}

/* True for each value that products with weights alone read. */
static bool *find_read(const wk_finder *f, bool has_matrices) {
  const wk_graph *g = f->g;
  bool *is_read = wk_xcalloc(g->values.n, sizeof *is_read), *only = wk_xcalloc(g->values.n, 1);
  for (size_t i = 0; i < g->values.n; i++) only[i] = true;
  for (size_t i = 0; i < g->outputs.n; i++) only[g->outputs.data[i]] = false;
  for (size_t i = g->nodes.n; i-- > 0;) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    if (n->dead) continue;
    bool goes_on = (is_linear(n->op) || wk_moves_one(n->op)) && n->out[0] != WK_NONE &&
                   only[n->out[0]] && is_read[n->out[0]];
    for (uint32_t k = 0; k < n->n_in; k++) {
      if (n->in[k] == WK_NONE) continue;
      is_read[n->in[k]] = true;
      only[n->in[k]] = only[n->in[k]] && (goes_on || (k == 0 && is_product(f, n, has_matrices)));
    }
  }
  for (size_t i = 0; i < g->values.n; i++) only[i] = only[i] && is_read[i];
  free(is_read);
  return only;
}

/* Arithmetic that a deviation is made with beforehand. What makes a positive number of any weight,
 * as exp does, is how one is learned. */
static bool is_arithmetic(wk_op op) {
  return is_linear(op) || op == WK_OP_SQRT || op == WK_OP_RECIPROCAL || op == WK_OP_POW ||
         op == WK_OP_NEG || op == WK_OP_MAX || wk_moves_one(op);
}

/* What is made of constants alone, and of which weights. */
static void find_fixed(inputs *a) {
  const wk_graph *g = a->f->g;
  for (size_t i = 0; i < g->values.n; i++) {
    a->is_fixed[i] = g->values.data[i].kind == WK_VALUE_CONSTANT;
    a->has_weight[i] = a->is_fixed[i] && a->f->weight[i] != WK_NONE;
  }
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    bool is_fixed = !n->dead && is_arithmetic(n->op), has_weight = false;
    for (uint32_t k = 0; k < n->n_in && is_fixed; k++) {
      if (n->in[k] == WK_NONE) continue;
      is_fixed = a->is_fixed[n->in[k]];
      has_weight = has_weight || a->has_weight[n->in[k]];
    }
    for (uint32_t k = 0; k < n->n_out && is_fixed; k++) {
      if (n->out[k] == WK_NONE) continue;
      a->is_fixed[n->out[k]] = true;
      a->has_weight[n->out[k]] = has_weight;
    }
  }
}

static void say(inputs *a, wk_value_id v) {
  if (!a->has_weight[v] || a->is_said[v]) return;
  a->is_said[v] = true;
  wk_finder_say(a->f, v, "normalisation of an input");
  const wk_value *value = wk_val(a->f->g, v);
  if (value->kind != WK_VALUE_NODE) return;
  const wk_node *n = wk_nod(a->f->g, value->node);
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE) say(a, n->in[k]);
}

/* An offset and then a divisor, or a factor and an offset before weights: for each element both,
 * not one number for all. */
static bool ends_pair(const inputs *a, const wk_node *n, wk_value_id x, wk_value_id c) {
  wk_value_id first = a->pending[x];
  if (first == WK_NONE) return false;
  const wk_graph *g = a->f->g;
  wk_op before = wk_nod(g, wk_val(g, x)->node)->op;
  const wk_type *one = &wk_val(g, first)->type, *other = &wk_val(g, c)->type;
  int64_t count = wk_type_count(one);
  if (!wk_is_vector(one) || !wk_is_vector(other) || count != wk_type_count(other)) return false;
  if (before == WK_OP_ADD && n->op == WK_OP_DIV) return true;
  bool is_scale = n->op == WK_OP_MUL || n->op == WK_OP_DIV;
  bool is_last =
      count > 1 && one->dims[one->rank - 1] == count && other->dims[other->rank - 1] == count;
  return is_last && a->multiplied[n->out[0]] && is_scale == (before == WK_OP_ADD);
}

static origin normalise(inputs *a, const wk_node *n) {
  if (n->n_in != 2 || n->in[0] == WK_NONE || n->in[1] == WK_NONE) return OTHER;
  const wk_graph *g = a->f->g;
  bool commutes = n->op == WK_OP_MUL || n->op == WK_OP_ADD;
  uint32_t x = commutes && a->of[n->in[0]] == OTHER ? 1 : 0;
  wk_value_id c = n->in[1 - x], y = n->out[0];
  const wk_type *t = &wk_val(g, n->in[x])->type;
  origin from = a->of[n->in[x]];
  bool is_first = n->op == WK_OP_SUB || n->op == WK_OP_DIV;
  if (from == OTHER || !(is_first || commutes) || !wk_shape_equal(t, &wk_val(g, y)->type) ||
      !a->is_fixed[c])
    return OTHER;
  wk_value_id first = a->pending[n->in[x]];
  if (!a->has_weight[c] || wk_val(g, c)->type.rank == 0) return first == WK_NONE ? from : OTHER;
  bool is_pair = ends_pair(a, n, n->in[x], c);
  bool is_for_conv = a->convolved[y] && wk_is_vector(&wk_val(g, c)->type);
  if (is_pair) say(a, first);
  else if (first != WK_NONE) return OTHER;
  else if (!is_first && from == SAMPLES && !is_for_conv) {
    a->pending[y] = c;
    return from;
  }
  say(a, c);
  return NORMALISED;
}

/* Of an operand; a pair's second comes at once, or the first is a part of the network. */
static origin origin_of(const inputs *a, wk_value_id v) {
  return v == WK_NONE || a->pending[v] != WK_NONE ? OTHER : a->of[v];
}

/* What is joined is what all of it is at least. */
static origin join(const inputs *a, const wk_node *n) {
  origin least = NORMALISED;
  for (uint32_t k = 0; k < n->n_in; k++) {
    origin one = origin_of(a, n->in[k]);
    if (one < least) least = one;
  }
  return least;
}

/* Still samples of the same channels. */
static bool keeps_samples(wk_op op) {
  return op == WK_OP_RESIZE || op == WK_OP_AVG_POOL || op == WK_OP_MAX_POOL ||
         (wk_moves_one(op) && op != WK_OP_GATHER);
}

static void visit(inputs *a, const wk_node *n) {
  if (n->op == WK_OP_CONCAT) a->of[n->out[0]] = join(a, n);
  else if (!keeps_samples(n->op)) a->of[n->out[0]] = normalise(a, n);
  for (uint32_t k = 0; keeps_samples(n->op) && k < n->n_out; k++)
    if (n->out[k] != WK_NONE) a->of[n->out[k]] = origin_of(a, n->in[0]);
}

void wk_find_normalisations(wk_finder *f) {
  const wk_graph *g = f->g;
  size_t n_values = g->values.n;
  inputs a = {.f = f,
              .of = wk_xcalloc(n_values, sizeof *a.of),
              .pending = wk_xcalloc(n_values, sizeof *a.pending),
              .convolved = find_read(f, false),
              .multiplied = find_read(f, true),
              .is_fixed = wk_xcalloc(n_values, 1),
              .has_weight = wk_xcalloc(n_values, 1),
              .is_said = wk_xcalloc(n_values, 1)};
  find_fixed(&a);
  for (size_t i = 0; i < g->values.n; i++) a.pending[i] = WK_NONE;
  for (size_t i = 0; i < g->inputs.n; i++) {
    bool is_float = wk_dtype_is_float(wk_val(g, g->inputs.data[i])->type.dtype);
    a.of[g->inputs.data[i]] = is_float ? SAMPLES : INTEGERS;
  }
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    bool is_one = !n->dead && n->n_out > 0 && n->out[0] != WK_NONE && n->n_in > 0;
    if (is_one && n->in[0] != WK_NONE) visit(&a, n);
  }
  free(a.of);
  free(a.pending);
  free(a.convolved);
  free(a.multiplied);
  free(a.is_fixed);
  free(a.has_weight);
  free(a.is_said);
}
