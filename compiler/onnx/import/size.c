/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/onnx/import/size.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/extent.h"

static const wk_unknown *unknown(const wk_onnx_node *c, uint16_t i) {
  return &c->im->extents->unknowns.data[i];
}

/* ---- making ---------------------------------------------------------------------------------- */

static wk_size *new_size(wk_onnx_node *c) { return wk_arena_alloc(c->im->arena, sizeof(wk_size)); }

/* Longer products first, then by their unknowns: a product of leading terms leads the product. */
static int compare_terms(const wk_size_term *a, const wk_size_term *b) {
  if (a->n != b->n) return b->n - a->n;
  for (int i = 0; i < a->n; i++)
    if (a->unknowns[i] != b->unknowns[i]) return (int)a->unknowns[i] - (int)b->unknowns[i];
  return 0;
}

static void too_long(wk_onnx_node *c) {
  wk_onnx_fail(c, WK_UNSUPPORTED, "a size that is only known at run time is too long a formula");
}

/* s + t; the terms stay in order. */
static void add_term(wk_onnx_node *c, wk_size *s, const wk_size_term *t) {
  int i = 0;
  while (i < s->n && compare_terms(&s->terms[i], t) < 0) i++;
  if (i < s->n && compare_terms(&s->terms[i], t) == 0) {
    int64_t sum;
    if (__builtin_add_overflow(s->terms[i].factor, t->factor, &sum)) too_long(c);
    else if (sum != 0) s->terms[i].factor = sum;
    else memmove(&s->terms[i], &s->terms[i + 1], (size_t)(--s->n - i) * sizeof *t);
    return;
  }
  if (s->n == WK_SIZE_TERMS) {
    too_long(c);
    return;
  }
  memmove(&s->terms[i + 1], &s->terms[i], (size_t)(s->n++ - i) * sizeof *t);
  s->terms[i] = *t;
}

static wk_size_term multiply_terms(wk_onnx_node *c, const wk_size_term *a, const wk_size_term *b) {
  wk_size_term t = {.n = a->n + b->n};
  if (t.n > WK_SIZE_DEGREE || !wk_mul_ok(a->factor, b->factor, &t.factor)) {
    too_long(c);
    return *a;
  }
  for (int i = 0, k = 0, n = 0; n < t.n; n++) {
    bool first = k == b->n || (i < a->n && a->unknowns[i] <= b->unknowns[k]);
    t.unknowns[n] = first ? a->unknowns[i++] : b->unknowns[k++];
  }
  return t;
}

const wk_size *wk_size_const(wk_onnx_node *c, int64_t v) {
  wk_size *s = new_size(c);
  *s = (wk_size){.n = v != 0, .terms[0].factor = v};
  return s;
}

const wk_size *wk_size_unknown(wk_onnx_node *c, const wk_unknown *u) {
  wk_extents *e = c->im->extents;
  size_t i = 0;
  while (i < e->unknowns.n && (e->unknowns.data[i].is_given != u->is_given ||
                               strcmp(e->unknowns.data[i].text, u->text) != 0))
    i++;
  if (i == e->unknowns.n) wk_vec_push(&e->unknowns, *u);
  wk_size *s = new_size(c);
  *s = (wk_size){.n = 1, .terms[0] = {.factor = 1, .n = 1, .unknowns = {(uint16_t)i}}};
  if (i > UINT16_MAX) too_long(c);
  return s;
}

bool wk_size_is_const(const wk_size *s, int64_t *v) {
  if (s->n > 1 || (s->n == 1 && s->terms[0].n > 0)) return false;
  *v = s->n ? s->terms[0].factor : 0;
  return true;
}

bool wk_size_equal(const wk_size *a, const wk_size *b) {
  if (a->n != b->n) return false;
  for (int i = 0; i < a->n; i++)
    if (a->terms[i].factor != b->terms[i].factor || compare_terms(&a->terms[i], &b->terms[i]) != 0)
      return false;
  return true;
}

static const wk_size *add_scaled(wk_onnx_node *c, const wk_size *a, const wk_size *b, int64_t by) {
  wk_size *s = new_size(c);
  *s = *a;
  for (int i = 0; i < b->n; i++) {
    wk_size_term t = b->terms[i];
    if (wk_mul_ok(t.factor, by, &t.factor)) add_term(c, s, &t);
    else too_long(c);
  }
  return s;
}

const wk_size *wk_size_add(wk_onnx_node *c, const wk_size *a, const wk_size *b) {
  return add_scaled(c, a, b, 1);
}

const wk_size *wk_size_sub(wk_onnx_node *c, const wk_size *a, const wk_size *b) {
  return add_scaled(c, a, b, -1);
}

const wk_size *wk_size_mul(wk_onnx_node *c, const wk_size *a, const wk_size *b) {
  wk_size *s = new_size(c);
  *s = (wk_size){0};
  for (int i = 0; i < a->n; i++)
    for (int k = 0; k < b->n && !c->status; k++) {
      wk_size_term t = multiply_terms(c, &a->terms[i], &b->terms[k]);
      add_term(c, s, &t);
    }
  return s;
}

/* a / b as one term; false: it is none. */
static bool divide_terms(const wk_size_term *a, const wk_size_term *b, wk_size_term *out) {
  if (a->factor % b->factor != 0) return false;
  *out = (wk_size_term){.factor = a->factor / b->factor};
  int k = 0;
  for (int i = 0; i < a->n; i++) {
    if (k < b->n && a->unknowns[i] == b->unknowns[k]) k++;
    else out->unknowns[out->n++] = a->unknowns[i];
  }
  return k == b->n;
}

/* The polynomial q with a = q * b; NULL: there is none. */
static const wk_size *divide_exactly(wk_onnx_node *c, const wk_size *a, const wk_size *b) {
  wk_size *q = new_size(c);
  const wk_size *rest = a;
  *q = (wk_size){0};
  for (int i = 0; i < WK_SIZE_TERMS && rest->n > 0 && !c->status; i++) {
    wk_size t = {.n = 1};
    if (!divide_terms(&rest->terms[0], &b->terms[0], &t.terms[0])) return NULL;
    add_term(c, q, &t.terms[0]);
    rest = wk_size_sub(c, rest, wk_size_mul(c, b, &t));
  }
  return rest->n == 0 ? q : NULL;
}

/* Of g, and of the graphs of what s is made of, the one within the others. */
static const wk_graph *innermost(const wk_onnx_node *c, const wk_graph *g, const wk_size *s) {
  for (int i = 0; i < s->n; i++)
    for (int k = 0; k < s->terms[i].n; k++) {
      const wk_graph *of = unknown(c, s->terms[i].unknowns[k])->g;
      const wk_scope *at = c->scope->edge;
      while (at->g != of && at->g != g) at = at->parent->edge;
      g = at->g;
    }
  return g;
}

/* The node as one of this graph around it, or of its own. */
static wk_onnx_node around(const wk_onnx_node *c, const wk_graph *g) {
  wk_onnx_node at = *c;
  while (at.scope->g != g) at.scope = at.scope->edge->parent;
  at.g = at.scope->g;
  return at;
}

/* What is no polynomial: an unknown of its own. */
static const wk_size *combine(wk_onnx_node *c, wk_op op, const char *name, const wk_size *a,
                              const wk_size *b, int64_t least, int64_t most) {
  int64_t divisor = 0;
  bool is_quotient = op == WK_OP_DIV && wk_size_is_const(b, &divisor) && least >= 0;
  const char *text = wk_arena_printf(c->im->arena, "%s(%s, %s)", name, wk_size_text(c, a),
                                     wk_size_text(c, b));
  wk_onnx_node at = around(c, innermost(c, innermost(c, c->im->m->main, a), b));
  const wk_unknown u = {.text = text, .least = least, .most = most,
                        .dividend = is_quotient ? a : NULL, .divisor = divisor, .g = at.g,
                        .greater_of = {op == WK_OP_MAX ? a : NULL, op == WK_OP_MAX ? b : NULL},
                        .value = wk_make_2(&at, op, wk_size_value(&at, a), wk_size_value(&at, b))};
  c->status = at.status;
  return wk_size_unknown(c, &u);
}

/* a / y, y > 1, where what is a multiple of y stands before the quotient, and a quotient of a
 * quotient is one; NULL: neither is there. */
static const wk_size *divide_simply(wk_onnx_node *c, const wk_size *a, int64_t y) {
  wk_size *whole = new_size(c), *rest = new_size(c);
  *whole = *rest = (wk_size){0};
  for (int i = 0; i < a->n && !c->status; i++) {
    wk_size_term t = a->terms[i];
    int64_t left = t.n == 0 ? ((t.factor % y) + y) % y : t.factor % y == 0 ? 0 : t.factor;
    wk_size_term q = t, r = t;
    q.factor = (t.factor - left) / y;
    r.factor = left;
    if (q.factor) add_term(c, whole, &q);
    if (r.factor) add_term(c, rest, &r);
  }
  if (c->status || wk_size_least(c, a) < 0) return NULL;
  if (whole->n > 0 && wk_size_least(c, rest) >= 0)
    return wk_size_add(c, whole, wk_size_div(c, rest, wk_size_const(c, y)));
  const wk_unknown *u = a->n && a->terms[0].n == 1 && a->terms[0].factor == 1
                            ? unknown(c, a->terms[0].unknowns[0]) : NULL;
  bool is_one = u && u->dividend && (a->n == 1 || (a->n == 2 && a->terms[1].n == 0));
  int64_t more = is_one && a->n == 2 ? a->terms[1].factor : 0, by;
  if (!is_one || more < 0 || more > (1 << 20) || !wk_mul_ok(u->divisor, y, &by) || by > (1 << 20))
    return NULL;
  return wk_size_div(c, wk_size_plus(c, u->dividend, more * u->divisor), wk_size_const(c, by));
}

const wk_size *wk_size_div(wk_onnx_node *c, const wk_size *a, const wk_size *b) {
  int64_t x, y;
  bool known = wk_size_is_const(b, &y);
  if (known && y == 1) return a;
  if (b->n == 0 || c->status) {
    wk_onnx_fail(c, WK_INPUT, "a size is divided by 0");
    return wk_size_const(c, 0);
  }
  if (known && wk_size_is_const(a, &x)) return wk_size_const(c, x / y);
  const wk_size *q = divide_exactly(c, a, b);
  if (!q && known && y > 1) q = divide_simply(c, a, y);
  if (q || c->status) return q ? q : wk_size_const(c, 0);
  int64_t least = wk_size_least(c, a), most = wk_size_most(c, a);
  int64_t low = wk_size_least(c, b), high = wk_size_most(c, b);
  if (low < 1) low = 1;
  if (high < 1) high = 1;
  return combine(c, WK_OP_DIV, "div", a, b, least >= 0 ? least / high : least / low, most / low);
}

const wk_size *wk_size_min(wk_onnx_node *c, const wk_size *a, const wk_size *b) {
  const wk_size *gap = wk_size_sub(c, b, a);
  if (c->status || wk_size_least(c, gap) >= 0) return a;
  if (wk_size_most(c, gap) <= 0) return b;
  int64_t least[] = {wk_size_least(c, a), wk_size_least(c, b)};
  int64_t most[] = {wk_size_most(c, a), wk_size_most(c, b)};
  return combine(c, WK_OP_MIN, "min", a, b, least[0] < least[1] ? least[0] : least[1],
                 most[0] < most[1] ? most[0] : most[1]);
}

const wk_size *wk_size_max(wk_onnx_node *c, const wk_size *a, const wk_size *b) {
  const wk_size *gap = wk_size_sub(c, a, b);
  if (c->status || wk_size_least(c, gap) >= 0) return a;
  if (wk_size_most(c, gap) <= 0) return b;
  int64_t least[] = {wk_size_least(c, a), wk_size_least(c, b)};
  int64_t most[] = {wk_size_most(c, a), wk_size_most(c, b)};
  return combine(c, WK_OP_MAX, "max", a, b, least[0] > least[1] ? least[0] : least[1],
                 most[0] > most[1] ? most[0] : most[1]);
}

/* ---- asking ---------------------------------------------------------------------------------- */

#define FAR ((int64_t)1 << 61)

static int64_t bounded(int64_t v) { return v > FAR ? FAR : v < -FAR ? -FAR : v; }

static int64_t product_of(int64_t a, int64_t b) {
  int64_t v;
  return bounded(!__builtin_mul_overflow(a, b, &v) ? v : (a < 0) == (b < 0) ? FAR : -FAR);
}

static void widen_by(int64_t range[2], int64_t least, int64_t most) {
  const int64_t of[] = {product_of(range[0], least), product_of(range[0], most),
                        product_of(range[1], least), product_of(range[1], most)};
  range[0] = range[1] = of[0];
  for (int i = 1; i < 4; i++) {
    if (of[i] < range[0]) range[0] = of[i];
    if (of[i] > range[1]) range[1] = of[i];
  }
}

/* s by unknown u, which all of its terms have; false: some has not. */
static bool divide_by(const wk_size *s, uint16_t u, wk_size *q) {
  *q = *s;
  for (int i = 0; i < s->n; i++) {
    wk_size_term *t = &q->terms[i];
    int k = 0;
    while (k < t->n && t->unknowns[k] != u) k++;
    if (k == t->n) return false;
    memmove(&t->unknowns[k], &t->unknowns[k + 1], (size_t)(--t->n - k) * sizeof *t->unknowns);
  }
  return true;
}

static void range_of(const wk_onnx_node *c, const wk_size *s, int64_t range[2]);

/* An unknown that all terms have is looked at once: n * n - n is n * (n - 1). */
static void narrow_by_factor(const wk_onnx_node *c, const wk_size *s, int64_t range[2]) {
  wk_size q;
  for (int k = 0; s->n > 1 && k < s->terms[0].n; k++) {
    int64_t of[2];
    const uint16_t u = s->terms[0].unknowns[k];
    if (!divide_by(s, u, &q)) continue;
    range_of(c, &q, of);
    widen_by(of, unknown(c, u)->least, unknown(c, u)->most);
    if (of[0] > range[0]) range[0] = of[0];
    if (of[1] < range[1]) range[1] = of[1];
    return;
  }
}

static void range_of(const wk_onnx_node *c, const wk_size *s, int64_t range[2]) {
  range[0] = range[1] = 0;
  for (int i = 0; i < s->n; i++) {
    int64_t term[2] = {s->terms[i].factor, s->terms[i].factor};
    for (int k = 0; k < s->terms[i].n; k++) {
      const wk_unknown *u = unknown(c, s->terms[i].unknowns[k]);
      widen_by(term, u->least, u->most);
    }
    range[0] = bounded(range[0] + bounded(term[0]));
    range[1] = bounded(range[1] + bounded(term[1]));
  }
  narrow_by_factor(c, s, range);
}

/* A bound of s in which no quotient by a constant is left whose factor is a multiple of it: b times
 * a / b lies between a - b + 1 and a. NULL: there is none. */
static const wk_size *without_quotient(wk_onnx_node *c, const wk_size *s, bool is_least) {
  for (int i = 0; i < s->n && !c->status; i++) {
    const wk_size_term *t = &s->terms[i];
    const wk_unknown *u = t->n == 1 ? unknown(c, t->unknowns[0]) : NULL;
    if (!u || !u->dividend || t->factor % u->divisor != 0) continue;
    const wk_size *a = u->dividend, term = {.n = 1, .terms[0] = *t};
    if ((t->factor > 0) == is_least) a = wk_size_plus(c, a, 1 - u->divisor);
    const wk_size *times = wk_size_const(c, t->factor / u->divisor);
    return wk_size_add(c, wk_size_sub(c, s, &term), wk_size_mul(c, a, times));
  }
  return NULL;
}

int64_t wk_size_least(wk_onnx_node *c, const wk_size *s) {
  int64_t range[2], least = -FAR;
  for (int i = 0; s && i < WK_SIZE_TERMS; i++, s = without_quotient(c, s, true)) {
    range_of(c, s, range);
    if (range[0] > least) least = range[0];
  }
  return least;
}

/* The number that a is more than b; false: that is none. */
static bool is_more_by(const wk_size *a, const wk_size *b, int64_t *by) {
  int n = a->n, m = b->n;
  int64_t of_a = n && a->terms[n - 1].n == 0 ? a->terms[--n].factor : 0;
  int64_t of_b = m && b->terms[m - 1].n == 0 ? b->terms[--m].factor : 0;
  for (int i = 0; i < n && n == m; i++)
    if (a->terms[i].factor != b->terms[i].factor || compare_terms(&a->terms[i], &b->terms[i]) != 0)
      return false;
  *by = of_a - of_b;
  return n == m;
}

static int64_t most_by_bounds(const wk_onnx_node *c, const wk_size *s) {
  const wk_extents *e = c->im->extents;
  int64_t most = FAR, by;
  for (size_t i = 0; i < e->bounds.n; i++)
    if (is_more_by(s, e->bounds.data[i].size, &by) && e->bounds.data[i].most + by < most)
      most = e->bounds.data[i].most + by;
  return most;
}

void wk_size_bound(wk_onnx_node *c, const wk_size *s, int64_t most) {
  const wk_size_bound_row row = {s, most};
  wk_vec_push(&c->im->extents->bounds, row);
}

int64_t wk_size_most(wk_onnx_node *c, const wk_size *s) {
  int64_t range[2], most = most_by_bounds(c, s);
  for (int i = 0; s && i < WK_SIZE_TERMS; i++, s = without_quotient(c, s, false)) {
    range_of(c, s, range);
    if (range[1] < most) most = range[1];
  }
  return most;
}

const char *wk_size_text(const wk_onnx_node *c, const wk_size *s) {
  wk_str b = {0};
  for (int i = 0; i < s->n; i++) {
    const wk_size_term *t = &s->terms[i];
    int64_t factor = i && t->factor < 0 ? -t->factor : t->factor;
    if (i) wk_str_add(&b, t->factor < 0 ? " - " : " + ");
    if (factor != 1 || t->n == 0) wk_str_printf(&b, "%lld%s", (long long)factor, t->n ? "*" : "");
    for (int k = 0; k < t->n; k++)
      wk_str_printf(&b, "%s%s", k ? "*" : "", unknown(c, t->unknowns[k])->text);
  }
  const char *text = wk_arena_strdup(c->im->arena, s->n ? b.s : "0");
  wk_str_free(&b);
  return text;
}

/* ---- values ---------------------------------------------------------------------------------- */

bool wk_size_is_known(const wk_onnx_node *c, const wk_size *s) {
  bool all = true;
  for (int i = 0; i < s->n; i++)
    for (int k = 0; k < s->terms[i].n; k++) {
      const wk_scope *at = c->scope->edge;
      while (at && at->g != unknown(c, s->terms[i].unknowns[k])->g)
        at = at->parent ? at->parent->edge : NULL;
      all = all && at;
    }
  return all;
}

/* Of graph `from` around the node, or of its own. */
static wk_value_id carried(wk_onnx_node *c, const wk_graph *from, wk_value_id v) {
  wk_scope *chain[WK_GRAPH_MAX_DEPTH + 1];
  int n = 0;
  for (wk_scope *s = c->scope->edge; s->g != from; s = s->parent->edge) chain[n++] = s;
  for (; n-- > 0 && !c->status; from = chain[n]->g) v = wk_scope_capture(chain[n], from, v);
  return v;
}

static wk_value_id term_value(wk_onnx_node *c, const wk_size_term *t) {
  wk_value_id v = WK_NONE;
  for (int k = 0; k < t->n; k++) {
    const wk_unknown *u = unknown(c, t->unknowns[k]);
    wk_value_id x = carried(c, u->g, u->value);
    v = v == WK_NONE ? x : wk_make_2(c, WK_OP_MUL, v, x);
  }
  if (v == WK_NONE) return wk_make_scalar(c, WK_I64, (double)t->factor);
  return t->factor == 1 ? v
                        : wk_make_2(c, WK_OP_MUL, v, wk_make_scalar(c, WK_I64, (double)t->factor));
}

/* Two sizes have the same one if and only if they are the same: texts of unknowns may be any. */
static const char *key_of(const wk_onnx_node *c, const wk_size *s) {
  wk_str b = {0};
  for (int i = 0; i < s->n; i++) {
    wk_str_printf(&b, "%lld", (long long)s->terms[i].factor);
    for (int k = 0; k < s->terms[i].n; k++) wk_str_printf(&b, "*%u", s->terms[i].unknowns[k]);
    wk_str_add(&b, "+");
  }
  const char *key = wk_arena_strdup(c->im->arena, s->n ? b.s : "");
  wk_str_free(&b);
  return key;
}

wk_value_id wk_size_value(wk_onnx_node *c, const wk_size *s) {
  wk_extents *e = c->im->extents;
  const char *key = key_of(c, s);
  wk_onnx_node at = around(c, innermost(c, c->im->m->main, s));
  wk_value_id v = WK_NONE;
  if (wk_map_get(e->values, key, &v)) return carried(c, at.g, v);
  for (int i = 0; i < s->n; i++) {
    wk_value_id t = term_value(&at, &s->terms[i]);
    v = v == WK_NONE ? t : wk_make_2(&at, WK_OP_ADD, v, t);
  }
  if (v == WK_NONE) v = wk_make_scalar(&at, WK_I64, 0);
  c->status = at.status;
  if (!c->status) wk_map_put(e->values, key, v);
  return carried(c, at.g, v);
}
