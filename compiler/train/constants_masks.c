/* SPDX-License-Identifier: Apache-2.0
 * Masks and distances that come to the scores of attention: a softmax takes them by elementwise
 * operations alone. There contents tell them that could be weights elsewhere. */
#include <math.h>
#include <stdlib.h>

#include "compiler/train/finder.h"

static double element(const wk_value *v, int64_t i) {
  return wk_load_f64(v->data, v->type.dtype, i);
}

/* Two kinds of numbers, of which both are there: 0, and 1 or what leaves nothing of a score. */
static bool is_mask(const wk_value *v) {
  enum { FAR = 20 };
  bool has_zero = false, has_one = false, has_far = false;
  for (int64_t i = 0, n = wk_type_count(&v->type); i < n; i++) {
    double x = element(v, i);
    if (x == 0) has_zero = true;
    else if (x == 1) has_one = true;
    else if (x <= -FAR) has_far = true;
    else return false;
  }
  return has_zero && has_one != has_far;
}

/* One matrix: -s |j - i|, s (j - i), or the half of it that a mask leaves; or s j in all rows. */
static bool are_distances_of(const wk_value *v, int64_t first, int64_t rows, int64_t columns) {
  double step =
      element(v, first + (rows - 1) * columns + 1) - element(v, first + (rows - 1) * columns);
  bool is_by_rows = rows == 1 || element(v, first + columns) == 0;
  for (int64_t i = 0; i < rows * columns; i++) {
    int64_t row = i / columns, column = i % columns;
    double x = element(v, first + i), d = (double)(is_by_rows ? column : column - row) * step;
    double near = 1e-3 * fabs(step) * (1 + fabs((double)(column - row)));
    bool is_upper = !is_by_rows && column > row;
    if (!(fabs(x - d) <= near || (is_upper && (fabs(x + d) <= near || x == 0)))) return false;
  }
  return step != 0;
}

static bool are_distances(const wk_value *v) {
  const wk_type *t = &v->type;
  int64_t rows = t->dims[t->rank - 2], columns = t->dims[t->rank - 1], size = rows * columns;
  if (columns < 4 || (rows > 1 && rows < 4)) return false;
  for (int64_t i = 0, n = wk_type_count(t); i < n; i += size)
    if (!are_distances_of(v, i, rows, columns)) return false;
  return true;
}

/* Positive, and each the same part of the one before. */
static bool are_slopes(const wk_value *v) {
  int64_t n = wk_type_count(&v->type);
  double ratio = n > 1 ? element(v, 1) / element(v, 0) : 1;
  for (int64_t i = 0; i < n; i++) {
    double x = element(v, i);
    if (x <= 0 || (i > 0 && fabs(x - ratio * element(v, i - 1)) > 1e-3 * x)) return false;
  }
  return n > 0 && wk_is_vector(&v->type);
}

/* True for each value that comes to the scores of attention by elementwise operations alone. */
static bool *find_scores(const wk_graph *g) {
  bool *is_score = wk_xcalloc(g->values.n, sizeof *is_score);
  for (size_t i = g->nodes.n; i-- > 0;) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    if (n->dead || n->n_out == 0) continue;
    bool goes_on = (wk_op_get(n->op)->cls == WK_CLASS_ELEMENTWISE || wk_moves_one(n->op)) &&
                   n->out[0] != WK_NONE && is_score[n->out[0]];
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k] != WK_NONE &&
          (goes_on || (n->op == WK_OP_SOFTMAX && k == 0) || (n->op == WK_OP_ATTENTION && k == 3)))
        is_score[n->in[k]] = true;
  }
  return is_score;
}

static wk_value_id source(const wk_graph *g, wk_value_id v) {
  while (wk_val(g, v)->kind == WK_VALUE_NODE && wk_moves_one(wk_nod(g, wk_val(g, v)->node)->op))
    v = wk_nod(g, wk_val(g, v)->node)->in[0];
  return v;
}

/* Of a factor beside distances. */
static void say_of_slopes(wk_finder *f, const wk_node *n, const bool *is_distance) {
  for (int k = 0; k < 2; k++) {
    if (n->in[k] == WK_NONE || n->in[1 - k] == WK_NONE) continue;
    wk_value_id slopes = source(f->g, n->in[k]), distances = source(f->g, n->in[1 - k]);
    const wk_value *v = wk_val(f->g, slopes);
    if (is_distance[distances] && v->kind == WK_VALUE_CONSTANT &&
        wk_dtype_is_float(v->type.dtype) && are_slopes(v))
      wk_finder_say(f, slopes, "slopes of distances");
  }
}

void wk_find_masks(wk_finder *f) {
  const wk_graph *g = f->g;
  bool *is_score = find_scores(g), *is_distance = wk_xcalloc(g->values.n, 1);
  for (size_t i = 0; i < g->values.n; i++) {
    const wk_value *v = wk_val(g, (wk_value_id)i);
    if (!is_score[i] || f->weight[i] == WK_NONE || v->kind != WK_VALUE_CONSTANT ||
        v->type.rank < 2 || !wk_dtype_is_float(v->type.dtype) || wk_type_count(&v->type) == 0)
      continue;
    is_distance[i] = are_distances(v);
    if (is_distance[i]) wk_finder_say(f, (wk_value_id)i, "distances");
    else if (is_mask(v)) wk_finder_say(f, (wk_value_id)i, "a mask");
  }
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    if (!n->dead && n->op == WK_OP_MUL && is_score[n->out[0]]) say_of_slopes(f, n, is_distance);
  }
  free(is_score);
  free(is_distance);
}
