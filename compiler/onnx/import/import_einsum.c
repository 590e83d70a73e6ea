/* SPDX-License-Identifier: Apache-2.0
 * Einsum by pairs of operands, left to right. Every operand is first brought to distinct labels
 * (diagonals taken, labels that nobody else needs summed away); a pair becomes one batched matrix
 * product: labels of both that are still needed are the batch, labels of both that are not are
 * summed by the product, the rest are rows and columns. An ellipsis stands for labels of its
 * own. */
#include <ctype.h>
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"

#define LABELS (52 + WK_MAX_RANK) /* letters, then the axes under the ellipsis */

typedef struct {
  int n;
  uint8_t label[2 * WK_MAX_RANK];
} subscript;

typedef struct {
  int n_operands;
  subscript *in, out;
  int64_t size[LABELS]; /* -1: not met */
  int need[LABELS];     /* operands that still have the label, plus 1 when the result has it */
} einsum;

typedef struct { wk_value_id v; subscript s; } term;

static int label_of(char ch) { return islower((unsigned char)ch) ? ch - 'a' : ch - 'A' + 26; }

/* Parses one subscript; `rank` tells how many axes the ellipsis covers (-1: the result's:
 * `dots`). */
static const char *parse(wk_onnx_node *c, const char *p, int rank, int dots, subscript *s) {
  const char *end = p;
  int letters = 0, n_dots = 0;
  for (; *end && *end != ',' && *end != '-'; end++) {
    if (isalpha((unsigned char)*end)) letters++;
    else if (strncmp(end, "...", 3) == 0) n_dots++, end += 2;
    else if (!wk_onnx_valid(c, *end == ' ', "'%c' is not allowed in the equation", *end))
      return end;
  }
  int covered = rank < 0 ? dots : n_dots ? rank - letters : 0;
  bool fits = n_dots <= 1 && covered >= 0 && letters + covered <= WK_MAX_RANK &&
              (rank < 0 || letters + covered == rank);
  if (!wk_onnx_valid(c, fits, "the equation does not fit an operand of rank %d", rank)) return end;
  s->n = 0;
  for (; p < end; p++) {
    if (isalpha((unsigned char)*p)) s->label[s->n++] = (uint8_t)label_of(*p);
    if (*p != '.') continue;
    for (int i = 0; i < covered; i++) s->label[s->n++] = (uint8_t)(52 + WK_MAX_RANK - covered + i);
    p += 2;
  }
  return end;
}

/* Result of an equation without "->": labels that occur once, in alphabetical order after the
 * dots. */
static void implicit_result(einsum *e) {
  int count[LABELS] = {0};
  for (int i = 0; i < e->n_operands; i++) {
    for (int k = 0; k < e->in[i].n; k++) count[e->in[i].label[k]]++;
  }
  for (int l = 52; l < LABELS; l++) {
    if (count[l] && e->out.n < WK_MAX_RANK) e->out.label[e->out.n++] = (uint8_t)l;
  }
  for (int half = 26; half >= 0; half -= 26) { /* capitals sort first */
    for (int l = half; l < half + 26; l++) {
      if (count[l] == 1 && e->out.n < WK_MAX_RANK) e->out.label[e->out.n++] = (uint8_t)l;
    }
  }
}

static void set_sizes(wk_onnx_node *c, einsum *e) {
  for (int l = 0; l < LABELS; l++) e->size[l] = -1;
  for (int i = 0; i < e->n_operands; i++) {
    const wk_type *t = wk_onnx_type(c, c->in[i]);
    for (int k = 0; k < e->in[i].n; k++) {
      int64_t *size = &e->size[e->in[i].label[k]], dim = t->dims[k];
      wk_onnx_valid(c, *size < 0 || *size == dim || *size == 1 || dim == 1,
                    "one label of the equation has sizes %lld and %lld", (long long)*size,
                    (long long)dim);
      if (*size < 0 || *size == 1) *size = dim;
    }
  }
}

static bool read_equation(wk_onnx_node *c, einsum *e) {
  const char *p = wk_onnx_text(c, "equation", "");
  int dots = 0;
  e->n_operands = c->n_in;
  e->in = wk_arena_alloc(c->im->arena, (size_t)c->n_in * sizeof *e->in);
  for (int i = 0; i < c->n_in && wk_onnx_ok(c); i++) {
    wk_onnx_valid(c, wk_onnx_has(c, i), "operand %d is missing", i);
    p = parse(c, p, wk_onnx_type(c, c->in[i])->rank, 0, &e->in[i]);
    int covered = 0;
    for (int k = 0; k < e->in[i].n; k++) covered += e->in[i].label[k] >= 52;
    if (covered > dots) dots = covered;
    if (i + 1 < c->n_in && wk_onnx_ok(c))
      wk_onnx_valid(c, *p++ == ',', "the equation has too few operands");
  }
  if (!wk_onnx_ok(c)) return false;
  if (strncmp(p, "->", 2) == 0) p = parse(c, p + 2, -1, dots, &e->out);
  else implicit_result(e);
  wk_onnx_valid(c, !*p, "the equation has too many operands");
  set_sizes(c, e);
  for (int k = 0; k < e->out.n && wk_onnx_ok(c); k++) {
    for (int j = 0; j < k; j++)
      wk_onnx_valid(c, e->out.label[j] != e->out.label[k], "the equation has a result label twice");
    wk_onnx_valid(c, e->size[e->out.label[k]] >= 0,
                  "the equation has a result label that no operand has");
    e->need[e->out.label[k]]++;
  }
  return wk_onnx_ok(c);
}

/* ---- one operand --------------------------------------------------------------------------- */

static int find_label(const subscript *s, int label) {
  for (int i = 0; i < s->n; i++) {
    if (s->label[i] == label) return i;
  }
  return -1;
}

static void drop(subscript *s, int at) {
  for (int i = at; i + 1 < s->n; i++) s->label[i] = s->label[i + 1];
  s->n--;
}

/* Axes i < k with one label become their diagonal: side by side, flattened, every (n+1)th
 * element. */
static void take_diagonal(wk_onnx_node *c, term *t, int i, int k) {
  int last = t->s.n - 1;
  t->v = wk_make_move_axis(c, wk_make_move_axis(c, t->v, k, last), i, last - 1);
  wk_type type = *wk_onnx_type(c, t->v);
  if (!wk_onnx_ok(c)) return;
  int64_t n = type.dims[last];
  wk_onnx_valid(c, type.dims[last - 1] == n, "the diagonal of %lld by %lld is not square",
                (long long)type.dims[last - 1], (long long)n);
  type.dims[last - 1] = n * n;
  t->v = wk_make_reshape(c, t->v, last, type.dims);
  t->v = wk_make_slice(c, t->v, last - 1, 0, n, n + 1);
  uint8_t label = t->s.label[i];
  drop(&t->s, k);
  drop(&t->s, i);
  t->s.label[t->s.n++] = label;
}

static void sum_axis(wk_onnx_node *c, term *t, int axis) {
  t->v = wk_make_reduce(c, WK_OP_REDUCE_SUM, t->v, wk_make_axes(c, axis, axis + 1), false);
  drop(&t->s, axis);
}

static term prepare(wk_onnx_node *c, const einsum *e, int i) {
  term t = {.v = c->in[i], .s = e->in[i]};
  for (int k = 1; k < t.s.n && wk_onnx_ok(c); k++) {
    int first = find_label(&t.s, t.s.label[k]);
    if (first == k) continue;
    take_diagonal(c, &t, first, k);
    k = 0;
  }
  return t;
}

/* Sums labels that neither the result nor another operand has. */
static void sum_private(wk_onnx_node *c, const einsum *e, term *t) {
  for (int k = t->s.n - 1; k >= 0 && wk_onnx_ok(c); k--) {
    if (e->need[t->s.label[k]] == 0) sum_axis(c, t, k);
  }
}

/* ---- a pair -------------------------------------------------------------------------------- */

/* t with its axes in the order of the labels, missing ones as size 1, flattened to the three
 * groups. */
static wk_value_id grouped(wk_onnx_node *c, const einsum *e, const term *t, const subscript g[3]) {
  int64_t perm[WK_MAX_RANK], dims[WK_MAX_RANK] = {0}, flat[3] = {1, 1, 1};
  int n = 0;
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < g[k].n; i++) {
      perm[n] = find_label(&t->s, g[k].label[i]);
      dims[n++] = e->size[g[k].label[i]];
      flat[k] *= e->size[g[k].label[i]];
    }
  }
  wk_value_id v = wk_make_transpose(c, t->v, perm);
  v = wk_make_expand(c, v, n, dims); /* axes of size 1 that broadcast */
  return wk_make_reshape(c, v, 3, flat);
}

static void add_label(subscript *s, int label) { s->label[s->n++] = (uint8_t)label; }

/* need[] already excludes both operands. */
static term multiply(wk_onnx_node *c, const einsum *e, const term *a, const term *b) {
  subscript batch = {0}, sum = {0}, rows = {0}, columns = {0};
  for (int i = 0; i < a->s.n; i++) {
    int l = a->s.label[i];
    bool both = find_label(&b->s, l) >= 0;
    add_label(!both ? &rows : e->need[l] ? &batch : &sum, l);
  }
  for (int i = 0; i < b->s.n; i++) {
    if (find_label(&a->s, b->s.label[i]) < 0) add_label(&columns, b->s.label[i]);
  }
  const subscript left[3] = {batch, rows, sum}, right[3] = {batch, sum, columns};
  wk_value_id x = grouped(c, e, a, left), y = grouped(c, e, b, right);
  term t = {.v = wk_make_2(c, WK_OP_MATMUL, x, y)};
  int64_t dims[2 * WK_MAX_RANK];
  for (int k = 0; k < 3; k++) {
    const subscript *g = k == 0 ? &batch : k == 1 ? &rows : &columns;
    for (int i = 0; i < g->n; i++) {
      dims[t.s.n] = e->size[g->label[i]];
      add_label(&t.s, g->label[i]);
    }
  }
  if (!wk_onnx_need(c, t.s.n <= WK_MAX_RANK, "an intermediate result of rank %d is not supported",
                    t.s.n))
    return t;
  t.v = wk_make_reshape(c, t.v, t.s.n, dims);
  return t;
}

static wk_value_id arranged(wk_onnx_node *c, const einsum *e, const term *t) {
  int64_t perm[WK_MAX_RANK], dims[WK_MAX_RANK] = {0};
  for (int i = 0; i < e->out.n; i++) {
    perm[i] = find_label(&t->s, e->out.label[i]);
    dims[i] = e->size[e->out.label[i]];
  }
  return wk_make_expand(c, wk_make_transpose(c, t->v, perm), e->out.n, dims);
}

wk_status wk_onnx_einsum(wk_onnx_node *c) {
  einsum e = {0};
  if (!read_equation(c, &e)) return c->status;
  term *terms = wk_arena_alloc(c->im->arena, (size_t)c->n_in * sizeof *terms);
  for (int i = 0; i < c->n_in; i++) {
    terms[i] = prepare(c, &e, i);
    for (int k = 0; k < terms[i].s.n; k++) e.need[terms[i].s.label[k]]++;
  }
  term t = terms[0];
  for (int k = 0; k < t.s.n; k++) e.need[t.s.label[k]]--;
  sum_private(c, &e, &t);
  for (int i = 1; i < c->n_in && wk_onnx_ok(c); i++) {
    for (int k = 0; k < terms[i].s.n; k++) e.need[terms[i].s.label[k]]--;
    term other = terms[i];
    for (int k = other.s.n - 1; k >= 0 && wk_onnx_ok(c); k--) { /* labels of this operand alone */
      int l = other.s.label[k];
      if (e.need[l] == 0 && find_label(&t.s, l) < 0) sum_axis(c, &other, k);
    }
    if (wk_onnx_ok(c)) t = multiply(c, &e, &t, &other);
  }
  return wk_onnx_ok(c) ? wk_onnx_return(c, arranged(c, &e, &t)) : c->status;
}
