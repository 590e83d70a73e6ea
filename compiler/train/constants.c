/* SPDX-License-Identifier: Apache-2.0
 * Initialisers that are constants where no operand says so: by their contents, and by what the
 * model does with them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/train/finder.h"

/* ---- contents -------------------------------------------------------------------------------- */

static double element(const wk_value *v, int64_t i) {
  return wk_load_f64(v->data, v->type.dtype, i);
}

static const char *if_not_finite(const wk_value *v) {
  for (int64_t i = 0, n = wk_type_count(&v->type); i < n; i++)
    if (!isfinite(element(v, i))) return "not finite";
  return NULL;
}

/* 0 where a score stays, and numbers that no score is near; or one such number alone. */
static const char *if_mask(const wk_value *v) {
  enum { FAR = 100, FURTHER = 1000 };
  bool has_zero = false, are_equal = true;
  double far = 0;
  for (int64_t i = 0, n = wk_type_count(&v->type); i < n; i++) {
    double x = element(v, i);
    if (x > -FAR && x != 0) return NULL;
    has_zero = has_zero || x == 0;
    are_equal = are_equal && (x == 0 || far == 0 || x == far);
    if (x != 0) far = x;
  }
  return (has_zero && far != 0) || (are_equal && far <= -FURTHER) ? "a mask" : NULL;
}

/* Ones below or above the diagonal of the last two axes, and zeros elsewhere. */
static bool is_triangle(const wk_value *v, bool is_upper) {
  const wk_type *t = &v->type;
  int64_t rows = t->dims[t->rank - 2], columns = t->dims[t->rank - 1];
  for (int64_t i = 0, n = wk_type_count(t); i < n; i++) {
    int64_t row = i / columns % rows, column = i % columns;
    bool is_in = is_upper ? column >= row : column <= row;
    if (element(v, i) != (is_in ? 1 : 0)) return false;
  }
  return true;
}

static const char *if_triangle(const wk_value *v) {
  const wk_type *t = &v->type;
  if (t->rank < 2 || t->dims[t->rank - 1] < 2 || t->dims[t->rank - 2] < 2) return NULL;
  return is_triangle(v, false) || is_triangle(v, true) ? "a mask" : NULL;
}

/* Where the pairs of a row are: of a from the first element, of b from an offset on; the last
 * columns may be there to fill up. */
typedef struct {
  int64_t columns, pairs, step, offset, filled;
} pairing;

static bool is_empty(const wk_value *v, int64_t first, int64_t step, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (element(v, first + i * step) != 0) return false;
  return true;
}

/* What is seen of pairs: the sum of squares, 0 before the first; how the first of them differ. */
typedef struct {
  double sum, first;
  bool varies, is_between;
} circles;

static bool is_circle(circles *c, double x, double y) {
  double s = x * x + y * y;
  if (c->sum == 0) *c = (circles){.sum = s, .first = fabs(x)};
  c->varies = c->varies || fabs(fabs(x) - c->first) > 0.01 * sqrt(c->sum);
  c->is_between = c->is_between || (x * x > 0.0004 * s && x * x < 0.96 * s);
  return c->sum != 0 && fabs(s - c->sum) <= 0.01 * c->sum;
}

/* Squares of a's and b's elements have one sum everywhere but in rows of zeros, as one for padding
 * is, and a is neither one number with signs nor ones and zeros. */
static bool are_circles(const wk_value *a, const wk_value *b, pairing p) {
  circles c = {0};
  int64_t rows = wk_type_count(&a->type) / p.columns, left_out = 0;
  for (int64_t row = 0; row < rows; row++) {
    int64_t at = row * p.columns;
    if (is_empty(a, at, 1, p.columns) && is_empty(b, at, 1, p.columns)) {
      left_out++;
      continue;
    }
    for (int64_t i = 0; i < p.pairs; i++) {
      int64_t column = p.offset + i * p.step;
      if (column < p.columns - p.filled &&
          !is_circle(&c, element(a, at + i * p.step), element(b, at + column)))
        return false;
    }
  }
  return c.varies && c.is_between && 2 * left_out < rows;
}

/* Sines and cosines in one table, by turns or half and half along the last axis. */
static const char *if_circles(const wk_value *v) {
  const wk_type *t = &v->type;
  int64_t n = wk_type_count(t), last = t->dims[t->rank - 1], filled = 0;
  if (n < 8) return NULL;
  while (filled < last && is_empty(v, last - 1 - filled, last, n / last)) filled++;
  if (4 * filled > last) return NULL;
  for (int64_t width = last; width >= last - filled; width--) {
    int64_t half = width / 2;
    if (width % 2 == 0 && (are_circles(v, v, (pairing){last, half, 2, 1, filled}) ||
                           are_circles(v, v, (pairing){last, half, 1, half, filled})))
      return "a table of sines";
  }
  return NULL;
}

static const char *(*const by_contents[])(const wk_value *) = {if_not_finite, if_mask, if_triangle,
                                                               if_circles};

/* ---- the list -------------------------------------------------------------------------------- */

static wk_value_id find_constant(const wk_graph *g, const char *name) {
  for (size_t i = 0; i < g->values.n; i++)
    if (g->values.data[i].kind == WK_VALUE_CONSTANT && !strcmp(g->values.data[i].name, name))
      return (wk_value_id)i;
  return WK_NONE;
}

void wk_finder_say(wk_finder *f, wk_value_id v, const char *what) {
  if (v == WK_NONE || f->weight[v] == WK_NONE) return;
  wk_import_weight *w = &f->report->weights.data[f->weight[v]];
  if (!w->constant) w->constant = what;
}

static void say_by_contents(wk_finder *f, size_t i) {
  const wk_value *a = wk_val(f->g, (wk_value_id)i);
  if (f->weight[i] == WK_NONE || a->kind != WK_VALUE_CONSTANT || a->type.rank == 0 ||
      !wk_dtype_is_float(a->type.dtype) || wk_type_count(&a->type) == 0)
    return;
  for (size_t k = 0; k < WK_COUNTOF(by_contents); k++) {
    const char *what = by_contents[k](a);
    if (what) wk_finder_say(f, (wk_value_id)i, what);
  }
  int64_t n = wk_type_count(&a->type), last = a->type.dims[a->type.rank - 1];
  const pairing all = {last, last, 1, 0, 0};
  for (size_t k = 0; n >= 4 && k < f->g->values.n; k++) { /* cosines, whose sines are b */
    const wk_value *b = wk_val(f->g, (wk_value_id)k);
    if (k == i || f->weight[k] == WK_NONE || b->kind != WK_VALUE_CONSTANT ||
        !wk_type_equal(&a->type, &b->type) || !are_circles(a, b, all) || !are_circles(b, a, all))
      continue;
    wk_finder_say(f, (wk_value_id)i, "a table of sines");
    wk_finder_say(f, (wk_value_id)k, "a table of sines");
  }
}

/* ---- uses ------------------------------------------------------------------------------------ */

static void find_weights(wk_finder *f) {
  for (size_t v = 0; v < f->g->values.n; v++) f->weight[v] = WK_NONE;
  for (size_t i = 0; i < f->report->weights.n; i++) {
    wk_value_id v = find_constant(f->g, f->report->weights.data[i].name);
    if (v != WK_NONE) f->weight[v] = (uint32_t)i;
  }
  for (size_t i = 0; i < f->g->nodes.n; i++) {
    const wk_node *n = wk_nod(f->g, (wk_node_id)i);
    bool is_moved = !n->dead && wk_moves_one(n->op) && n->in[0] != WK_NONE;
    for (uint32_t k = 0; is_moved && k < n->n_out; k++)
      if (n->out[k] != WK_NONE) f->weight[n->out[k]] = f->weight[n->in[0]];
  }
}

/* Operands of the graph's own operators, whatever they have been in the file. */
static const struct {
  wk_op op;
  uint32_t input;
  const char *what;
} operands[] = {{WK_OP_BATCH_NORM, 3, "a statistic"},  {WK_OP_BATCH_NORM, 4, "a statistic"},
                {WK_OP_QUANTIZE, 1, "a scale"},        {WK_OP_DEQUANTIZE, 1, "a scale"},
                {WK_OP_FAKE_QUANTIZE, 1, "a scale"},   {WK_OP_QUANTIZE, 2, "a zero point"},
                {WK_OP_DEQUANTIZE, 2, "a zero point"}, {WK_OP_FAKE_QUANTIZE, 2, "a zero point"}};

static void say_by_operand(wk_finder *f, const wk_node *n) {
  for (size_t i = 0; i < WK_COUNTOF(operands); i++)
    if (operands[i].op == n->op && operands[i].input < n->n_in)
      wk_finder_say(f, n->in[operands[i].input], operands[i].what);
}

bool wk_is_vector(const wk_type *t) {
  int64_t longest = 1;
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] > longest) longest = t->dims[i];
  return longest == wk_type_count(t);
}

/* Frequencies: a vector whose products have both sines and cosines. */
static void say_of_waves(wk_finder *f) {
  const wk_graph *g = f->g;
  enum { SINE = 1, COSINE = 2 };
  uint8_t *waves = wk_xcalloc(g->values.n, 1);
  for (size_t i = g->nodes.n; i-- > 0;) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    if (n->dead) continue;
    uint8_t of = 0;
    if (n->op == WK_OP_SIN) of = SINE;
    else if (n->op == WK_OP_COS) of = COSINE;
    else if ((wk_moves_one(n->op) && n->op != WK_OP_GATHER) || n->op == WK_OP_CONCAT ||
             n->op == WK_OP_MUL || n->op == WK_OP_MATMUL)
      of = n->out[0] == WK_NONE ? 0 : waves[n->out[0]];
    for (uint32_t k = 0; of && k < n->n_in; k++)
      if (n->in[k] != WK_NONE) waves[n->in[k]] |= of;
  }
  for (size_t v = 0; v < g->values.n; v++)
    if (waves[v] == (SINE | COSINE) && wk_is_vector(&wk_val(g, (wk_value_id)v)->type))
      wk_finder_say(f, (wk_value_id)v, "frequencies");
  free(waves);
}

void wk_find_constants(const wk_graph *g, wk_import_report *report) {
  wk_finder f = {g, report, wk_xcalloc(g->values.n, sizeof *f.weight)};
  find_weights(&f);
  for (size_t i = 0; i < report->moved.n; i++)
    wk_finder_say(&f, find_constant(g, report->moved.data[i].name), "a statistic");
  for (size_t i = 0; i < g->nodes.n; i++)
    if (!g->nodes.data[i].dead) say_by_operand(&f, wk_nod(g, (wk_node_id)i));
  for (size_t i = 0; i < g->values.n; i++) say_by_contents(&f, i);
  wk_find_masks(&f);
  wk_find_normalisations(&f);
  wk_find_class_weights(&f);
  say_of_waves(&f);
  free(f.weight);
}
