/* SPDX-License-Identifier: Apache-2.0
 * Trees by position (TreeEnsemble): how each mode of a node compares, and members of sets, which
 * are searched, against a walk from node to node that looks through the whole set. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/onnx/onnx.h"
#include "tests/hostile/model_text.h"

enum { MODES = 7, MEMBER = 6, MAX_NODES = 4, MAX_SET = 9, ROWS = 14 };

typedef struct {
  int mode, missing_true, n_members;
  double split, members[MAX_SET];
} node;

/* A chain: whoever does not belong to node k goes on to node k + 1; leaf k is worth 2^k. */
typedef struct {
  int n;
  bool is_f64;
  node nodes[MAX_NODES];
} chain;

static bool holds(const node *t, double x) {
  bool is_member = false;
  if (isnan(x) && t->missing_true) return true;
  for (int i = 0; i < t->n_members; i++) is_member = is_member || t->members[i] == x;
  switch (t->mode) {
    case 0: return x <= t->split;
    case 1: return x < t->split;
    case 2: return x >= t->split;
    case 3: return x > t->split;
    case 4: return x == t->split;
    case 5: return x != t->split;
    default: return is_member;
  }
}

static double walk(const chain *c, double x) {
  int k = 0;
  while (k < c->n && !holds(&c->nodes[k], x)) k++;
  return ldexp(1, k);
}

static void add_list(wk_str *b, const char *name, const chain *c, int (*of)(const chain *, int)) {
  wk_str_printf(b, " %s=[", name);
  for (int k = 0; k < c->n; k++) wk_str_printf(b, "%s%d", k ? "," : "", of(c, k));
  wk_str_add(b, "]");
}

static int zero(const chain *c, int k) { return (void)c, (void)k, 0; }
static int one(const chain *c, int k) { return (void)c, (void)k, 1; }
static int same(const chain *c, int k) { return (void)c, k; }
static int next(const chain *c, int k) { return (void)c, k + 1; }
static int is_last(const chain *c, int k) { return k == c->n - 1; }
static int missing(const chain *c, int k) { return c->nodes[k].missing_true; }

/* Sets stand one behind the other, a NaN between two. */
static void add_members(wk_str *b, const chain *c, const char *type) {
  wk_str values = {0};
  int n = 0;
  for (int k = 0; k < c->n; k++) {
    const node *t = &c->nodes[k];
    if (t->mode != MEMBER) continue;
    for (int i = 0; i < t->n_members; i++, n++) wk_str_printf(&values, "%g,", t->members[i]);
    wk_str_add(&values, "nan,");
    n++;
  }
  if (n) {
    values.s[--values.n] = 0;
    wk_str_printf(b, " membership_values=tensor v %s[%d]={%s}", type, n, values.s);
  }
  wk_str_free(&values);
}

static void chain_text(const chain *c, wk_str *b) {
  const char *type = c->is_f64 ? "f64" : "f32";
  wk_str_printf(b, "in x %s[%d,1]; ai.onnx.ml.TreeEnsemble x -> y {n_targets=1 tree_roots=[0]",
                type, ROWS);
  add_list(b, "nodes_featureids", c, zero);
  add_list(b, "nodes_truenodeids", c, same);
  add_list(b, "nodes_trueleafs", c, one);
  add_list(b, "nodes_falsenodeids", c, next);
  add_list(b, "nodes_falseleafs", c, is_last);
  add_list(b, "nodes_missing_value_tracks_true", c, missing);
  wk_str_printf(b, " nodes_modes=tensor m u8[%d]={", c->n);
  for (int k = 0; k < c->n; k++) wk_str_printf(b, "%s%d", k ? "," : "", c->nodes[k].mode);
  wk_str_printf(b, "} nodes_splits=tensor s %s[%d]={", type, c->n);
  for (int k = 0; k < c->n; k++) wk_str_printf(b, "%s%g", k ? "," : "", c->nodes[k].split);
  wk_str_add(b, "}");
  add_members(b, c, type);
  wk_str_add(b, " leaf_targetids=[0");
  for (int k = 0; k < c->n; k++) wk_str_add(b, ",0");
  wk_str_printf(b, "] leaf_weights=tensor w %s[%d]={1", type, c->n + 1);
  for (int k = 1; k <= c->n; k++) wk_str_printf(b, ",%g", ldexp(1, k));
  wk_str_add(b, "}}; out y");
}

static void check(const chain *c) {
  static const double xs[ROWS] = {-INFINITY, -3, -1, -0.5, 0,   0.5,      1,
                                   1.5,       2,  3,  7,    100, INFINITY, NAN};
  const wk_type t = wk_type_make(c->is_f64 ? WK_F64 : WK_F32, 2, (int64_t[]){ROWS, 1});
  wk_str text = {0}, model = {0};
  wk_module *m = NULL;
  wk_tensor x, y;
  chain_text(c, &text);
  model_text(text.s, &model);
  wk_status s = wk_import_onnx_memory(model.s, model.n, NULL, NULL, &m);
  if (!s) s = wk_tensor_alloc(&t, &x);
  if (s) fail_msg("%s: %s", text.s, s->message);
  for (int i = 0; i < ROWS; i++) wk_store_f64(x.data, t.dtype, i, xs[i]);
  s = wk_eval_graph(m->main, &x, &y, NULL, NULL);
  if (s) fail_msg("%s: %s", text.s, s->message);
  for (int i = 0; i < ROWS; i++) {
    double got = wk_load_f64(y.data, y.type.dtype, i);
    if (got != walk(c, xs[i]))
      fail_msg("%s: %g gives %g, not %g", text.s, xs[i], got, walk(c, xs[i]));
  }
  wk_tensor_free(&x);
  wk_tensor_free(&y);
  wk_module_free(m);
  wk_str_free(&text);
  wk_str_free(&model);
}

/* Below, at and above the number compared with, and what is missing. */
static void modes(void **state) {
  (void)state;
  for (int k = 0; k < 4 * MEMBER; k++) {
    const chain c = {.n = 1, .is_f64 = k & 1,
                     .nodes = {{.mode = k / 4, .missing_true = k >> 1 & 1, .split = 0.5}}};
    check(&c);
  }
}

/* No member, one, two and more, in whatever order; the first, the last and all between them. */
static void members(void **state) {
  (void)state;
  static const double all[MAX_SET] = {2, -1, 7, 0.5, 100, 0, 3, -3, 1};
  for (int n = 0; n <= MAX_SET; n++)
    for (int k = 0; k < 4; k++) {
      chain c = {.n = 1, .is_f64 = k & 1,
                 .nodes = {{.mode = MEMBER, .missing_true = k >> 1, .n_members = n}}};
      memcpy(c.nodes[0].members, all, sizeof all);
      check(&c);
    }
}

/* Each set is the next one's start; nodes of other modes between them have none. */
static void drawn(void **state) {
  (void)state;
  static const double some[] = {-3, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 7};
  wk_rng r = {7};
  for (int i = 0; i < 300; i++) {
    chain c = {.n = 1 + (int)wk_rng_range(&r, 0, MAX_NODES - 1), .is_f64 = wk_rng_range(&r, 0, 1)};
    for (int k = 0; k < c.n; k++) {
      node *t = &c.nodes[k];
      t->mode = wk_rng_range(&r, 0, 1) ? MEMBER : (int)wk_rng_range(&r, 0, MEMBER - 1);
      t->missing_true = (int)wk_rng_range(&r, 0, 1);
      t->split = some[wk_rng_range(&r, 0, WK_COUNTOF(some) - 1)];
      t->n_members = t->mode == MEMBER ? (int)wk_rng_range(&r, 0, MAX_SET) : 0;
      for (int e = 0; e < t->n_members; e++)
        t->members[e] = some[wk_rng_range(&r, 0, WK_COUNTOF(some) - 1)];
    }
    check(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(modes), cmocka_unit_test(members),
                                     cmocka_unit_test(drawn)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
