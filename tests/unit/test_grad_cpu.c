/* SPDX-License-Identifier: Apache-2.0
 * Adjoints as f32 programs of the cpu target against the evaluator's in f64: of every operator that
 * has one, for some shapes, and of random graphs.
 *
 * A tensor's error is relative to its largest element. Beside that, what cancels cannot be better
 * than what it is made of: with L the sum of all outputs, weighted and without signs, and x the
 * largest element of the tensor that is differentiated by, an adjoint of the size of L / x has
 * rounding errors of some 2^-24 L / x however it is computed (that of x / |x|, say, is 0).
 *   test_grad_cpu [SEED [COUNT]]   random graphs from SEED on */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/grad/grad.h"
#include "compiler/pipeline/runner.h"
#include "tests/random_control.h"
#include "tests/random_graph.h"

#define TOLERANCE 1e-4
#define ROUNDING 0x1p-22 /* of L / x */
#define SHAPES 5
#define DRAWS 60

static struct { uint64_t first, count; bool random_only; } range = {1, 40, false};

/* ---- what is differentiated ------------------------------------------------------------------ */

/* Softmax as what it consists of has both primitives. */
static wk_module *lowered(uint64_t seed) {
  const random_options o = {.nodes = 1, .floats_only = true, .only = WK_OP_SOFTMAX,
                            .no_motifs = true};
  wk_module *m = random_graph(seed, &o);
  assert_null(wk_lower_nodes(m, NULL, NULL));
  return m;
}

static bool has_control(wk_op op) { return op == WK_OP_IF || op == WK_OP_LOOP; }

static wk_module *draw(wk_op op, uint64_t seed) {
  if (op == WK_OP_MAP || op == WK_OP_REDUCE) return lowered(seed);
  if (has_control(op)) return random_control(seed);
  bool any = op == WK_OP_COUNT;
  const random_options o = {.nodes = any ? 3 + (int)(seed % 9) : 1, .floats_only = true,
                            .only = op, .no_motifs = !any};
  return random_graph(seed, &o);
}

static bool has_node(const wk_module *m, wk_op op) {
  bool found = op == WK_OP_COUNT;
  for (size_t i = 0; i < m->main->nodes.n; i++) {
    const wk_node *n = wk_nod(m->main, (wk_node_id)i);
    found = found || (n->op == op && !n->dead);
  }
  return found;
}

/* ---- derivatives ----------------------------------------------------------------------------- */

static bool is_float(const wk_graph *g, wk_value_id v) {
  return v != WK_NONE && wk_dtype_is_float(wk_val(g, v)->type.dtype);
}

/* Other floats than f32 have errors of their own. */
static bool is_f32(const wk_module *m) {
  bool only = m->main->outputs.n > 0;
  for (size_t i = 0; i < m->graphs.n; i++)
    for (size_t v = 0; v < m->graphs.data[i]->values.n; v++) {
      const wk_graph *g = m->graphs.data[i];
      only = only && (!is_float(g, (wk_value_id)v) || wk_val(g, v)->type.dtype == WK_F32);
    }
  return only;
}

/* Weights of an output, from 0.5 to 1.5 and the same numbers in f32 and f64. */
static wk_value_id weights(wk_graph *g, wk_value_id v, uint64_t seed) {
  const wk_type t = wk_val(g, v)->type;
  wk_rng rng = {wk_hash64("weights", 7, seed)};
  wk_value_id out;
  void *data;
  assert_null(wk_graph_constant_alloc(g, NULL, &t, &out, &data));
  for (int64_t i = 0, n = wk_type_count(&t); i < n; i++)
    wk_store_f64(data, t.dtype, i, (double)(float)(0.5 + wk_rng_unit(&rng)));
  return out;
}

/* Float inputs, then float constants that nodes read. */
static size_t find_wrt(const wk_graph *g, wk_value_id *wrt) {
  bool *seen = wk_xcalloc(g->values.n + 1, 1);
  size_t n = 0;
  for (size_t k = 0; k < g->inputs.n; k++)
    if (is_float(g, g->inputs.data[k])) wrt[n++] = g->inputs.data[k];
  for (size_t i = 0; i < g->nodes.n; i++)
    for (uint32_t k = 0; k < g->nodes.data[i].n_in; k++) {
      wk_value_id v = g->nodes.data[i].in[k];
      if (!is_float(g, v) || !wk_is_const(g, v) || seen[v]) continue;
      seen[v] = true;
      wrt[n++] = v;
    }
  free(seen);
  return n;
}

/* A module whose outputs are derivatives, of the tensors of a largest element, then what is
 * differentiated. */
typedef struct {
  wk_module *m;
  size_t n;        /* derivatives */
  double *largest; /* per derivative */
} derivation;

static double largest_in(const wk_graph *g, wk_value_id v, const wk_tensor *in) {
  const wk_value *x = wk_val(g, v);
  const void *data = wk_is_const(g, v) ? x->data : in[x->index].data;
  wk_dtype t = wk_is_const(g, v) ? x->type.dtype : in[x->index].type.dtype;
  double largest = 0;
  for (int64_t i = 0, n = wk_type_count(&x->type); i < n; i++)
    largest = fmax(largest, fabs(wk_load_f64(data, t, i)));
  return largest;
}

static wk_status derive(derivation *d, const wk_tensor *in, uint64_t seed) {
  wk_module *m = d->m;
  wk_graph *g = m->main;
  size_t n_out = g->outputs.n, n_values = g->values.n;
  wk_value_id *of = wk_arena_alloc(m->arena, (2 * n_out + 2 * n_values + 1) * sizeof *of);
  wk_value_id *seeds = of + n_out, *wrt = seeds + n_out;
  wk_grad_request r = {.of = of, .seed = seeds, .wrt = wrt, .out = wrt + n_values};
  r.n_wrt = find_wrt(g, wrt);
  d->largest = wk_arena_alloc(m->arena, (r.n_wrt + 1) * sizeof *d->largest);
  for (size_t k = 0; k < g->outputs.n; k++)
    if (is_float(g, g->outputs.data[k])) of[r.n_of++] = g->outputs.data[k];
  for (size_t k = 0; k < r.n_of; k++) seeds[k] = weights(g, of[k], seed + k);
  WK_TRY(wk_grad(g, &r));
  wk_graph_drop_outputs(g);
  for (size_t k = 0; k < r.n_wrt; k++) {
    if (r.out[k] == WK_NONE) continue;
    d->largest[d->n++] = largest_in(g, wrt[k], in);
    wk_graph_output(g, wk_arena_printf(m->arena, "d%zu", k), r.out[k]);
  }
  for (size_t k = 0; k < r.n_of; k++)
    wk_graph_output(g, wk_arena_printf(m->arena, "y%zu", k), of[k]);
  WK_TRY(wk_module_normalise(m));
  return wk_module_verify(m);
}

/* ---- comparison ------------------------------------------------------------------------------ */

typedef struct {
  int64_t tensors, cancelled; /* of these, with an error above TOLERANCE that L explains */
  double worst;               /* of the others */
} outcome;

static wk_tensor *widened(const wk_tensor *in, const wk_graph *g) {
  wk_tensor *out = wk_xcalloc(g->inputs.n + 1, sizeof *out);
  for (size_t k = 0; k < g->inputs.n; k++) {
    const wk_type *t = &wk_val(g, g->inputs.data[k])->type;
    assert_null(wk_tensor_alloc(t, &out[k]));
    if (t->dtype == in[k].type.dtype)
      memcpy(out[k].data, in[k].data, (size_t)wk_type_bytes(t));
    else
      for (int64_t i = 0, n = wk_type_count(t); i < n; i++)
        wk_store_f64(out[k].data, t->dtype, i, wk_load_f64(in[k].data, in[k].type.dtype, i));
  }
  return out;
}

/* What f32 does not hold is no error of it. */
static void measure(const wk_tensor *got, const wk_tensor *want, double *apart, double *largest) {
  *apart = *largest = 0;
  for (int64_t i = 0, n = wk_type_count(&want->type); i < n; i++) {
    double w = wk_load_f64(want->data, want->type.dtype, i);
    double v = wk_load_f64(got->data, got->type.dtype, i);
    if (!(fabs(w) <= (double)FLT_MAX)) continue;
    *largest = fmax(*largest, fabs(w));
    *apart = fmax(*apart, isfinite(v) ? fabs(v - w) : INFINITY);
  }
}

/* L, with weights of 1. */
static double magnitude(const wk_tensor *y, size_t n) {
  double sum = 0;
  for (size_t k = 0; k < n; k++)
    for (int64_t i = 0, count = wk_type_count(&y[k].type); i < count; i++)
      sum += fabs(wk_load_f64(y[k].data, y[k].type.dtype, i));
  return sum;
}

static bool is_near(const wk_tensor *got, const wk_tensor *want, double scale, outcome *o) {
  double apart, largest;
  measure(got, want, &apart, &largest);
  bool is_small = apart <= TOLERANCE * largest || apart <= (double)FLT_MIN;
  bool is_explained = apart <= ROUNDING * scale;
  o->tensors++;
  o->cancelled += !is_small && is_explained;
  if (largest > 0 && (is_small || !is_explained)) o->worst = fmax(o->worst, apart / largest);
  if (!is_small && !is_explained)
    print_message("%g from a tensor up to %g, L / x %g: ", apart, largest, scale);
  return is_small || is_explained;
}

static bool is_good(wk_status s, const char *what, uint64_t seed) {
  if (!s) return true;
  print_message("seed %llu: %s: %s: %s\n", (unsigned long long)seed, what, s->place ? s->place : "",
                s->message);
  wk_status_free(s);
  return false;
}

static void print(const wk_module *m) {
  wk_str text = {0};
  wk_module_print(&text, m, WK_PRINT_SHORT);
  print_message("%s\n", text.s);
  wk_str_free(&text);
}

static bool compare(const derivation *narrow, const derivation *wide, const wk_tensor *in,
                    uint64_t seed, outcome *o) {
  const wk_runner_options options = {.model_name = "gradient"};
  const wk_graph *g = wide->m->main;
  size_t n = g->outputs.n;
  wk_tensor *wide_in = widened(in, g);
  wk_tensor *want = wk_xcalloc(n + 1, sizeof *want), *got = wk_xcalloc(n + 1, sizeof *got);
  wk_runner *r = NULL;
  assert_int_equal(n, narrow->m->main->outputs.n);
  bool good = is_good(wk_eval_graph(g, wide_in, want, NULL, NULL), "evaluator", seed);
  wk_module *copy = good ? wk_module_clone(narrow->m) : NULL;
  good = good && is_good(wk_runner_of_module(copy, &options, &r), "cpu", seed);
  good = good && is_good(wk_runner_run(r, in, got), "cpu", seed);
  double all = good ? magnitude(want + wide->n, n - wide->n) : 0;
  for (size_t k = 0; k < wide->n && good; k++) {
    good = is_near(&got[k], &want[k], all / wide->largest[k], o);
    if (!good)
      print_message("%s of seed %llu\n", g->output_names.data[k], (unsigned long long)seed);
  }
  wk_runner_free(r);
  random_tensors_free(wide_in, g->inputs.n);
  random_tensors_free(want, n);
  random_tensors_free(got, n);
  return good;
}

/* *skipped: it has other floats, no node of the operator, or no derivative. */
static bool check(wk_op op, uint64_t seed, outcome *o, bool *skipped) {
  derivation narrow = {.m = draw(op, seed)}, wide = {NULL};
  const wk_graph *g = narrow.m->main;
  size_t n_in = g->inputs.n;
  wk_tensor *in = has_control(op) ? random_control_inputs(g, seed) : random_inputs(g);
  bool good = true;
  *skipped = !is_f32(narrow.m) || !has_node(narrow.m, op);
  if (!*skipped) {
    assert_null(wk_module_normalise(narrow.m));
    wk_status s = wk_widen_floats(narrow.m, &wide.m);
    if (!s) s = derive(&wide, in, seed);
    if (!s) s = derive(&narrow, in, seed);
    *skipped = s ? s->code == WK_UNSUPPORTED : narrow.n == 0;
    if (*skipped) wk_status_free(s);
    else good = is_good(s, "derivative", seed);
  }
  if (good && !*skipped) good = compare(&narrow, &wide, in, seed, o);
  if (!good) print(narrow.m);
  random_tensors_free(in, n_in);
  wk_module_free(wide.m);
  wk_module_free(narrow.m);
  return good;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Other than 0. */
static bool has_derivative(wk_op op) {
  const char *note;
  wk_adjoint_kind k = wk_adjoint_of(op, &note);
  return wk_op_get(op)->kind != WK_KIND_INST && wk_adjoint_exists(k) && k != WK_ADJOINT_CONSTANT;
}

static void report(const char *what, int count, const outcome *o) {
  print_message("%d %s, %lld tensors, largest error %.3g; %lld cancel\n", count, what,
                (long long)o->tensors, o->worst, (long long)o->cancelled);
}

static void test_operators(void **state) {
  (void)state;
  int bad = 0, count = 0;
  outcome all = {0};
  if (range.random_only) return;
  for (int op = 0; op < WK_OP_COUNT; op++) {
    int shapes = 0;
    if (!has_derivative((wk_op)op)) continue;
    for (uint64_t seed = 1; seed <= DRAWS && shapes < SHAPES; seed++) {
      bool skipped, good = check((wk_op)op, seed, &all, &skipped);
      shapes += !skipped;
      bad += !good;
    }
    if (shapes < SHAPES) fail_msg("%s: %d shapes", wk_op_get((wk_op)op)->name, shapes);
    count++;
  }
  report("operators", count, &all);
  assert_int_equal(bad, 0);
}

static void test_random(void **state) {
  (void)state;
  int bad = 0, graphs = 0;
  outcome all = {0};
  for (uint64_t seed = range.first; seed < range.first + range.count; seed++) {
    bool skipped;
    bad += !check(WK_OP_COUNT, seed, &all, &skipped);
    graphs += !skipped;
  }
  report("graphs", graphs, &all);
  assert_int_equal(bad, 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_operators),
                                     cmocka_unit_test(test_random)};
  if (argc > 1) {
    range.random_only = true;
    range.first = strtoull(argv[1], NULL, 10);
    range.count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
