/* SPDX-License-Identifier: Apache-2.0
 * Adjoints of every operator, and of random graphs, against central differences in f64.
 *   test_grad [SEED [COUNT]]   random graphs from SEED on */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/grad/grad.h"
#include "tests/random_graph.h"

#define TOLERANCE 1e-6
#define ROUNDS 6

static struct { uint64_t first, count; bool random_only; } range = {1, 200, false};

static void print_module(const wk_module *m) {
  wk_str s = {0};
  wk_module_print(&s, m, WK_PRINT_SHORT);
  fputs(s.s, stderr);
  wk_str_free(&s);
}

typedef struct {
  int64_t tried, kinks, refused;
  bool is_good;
} outcome;

static outcome check(const wk_module *m, uint64_t seed) {
  outcome o = {.is_good = true};
  wk_grad_check_report r;
  if (m->main->outputs.n == 0) return o; /* nothing could be drawn */
  wk_tensor *in = random_inputs(m->main);
  wk_status s = wk_grad_check(m, &(wk_grad_check_options){.inputs = in, .seed = seed,
                                                          .elements = 6}, &r);
  if (s) {
    o.is_good = s->code == WK_UNSUPPORTED;
    o.refused = 1;
    if (!o.is_good)
      fprintf(stderr, "seed %llu: %s: %s\n", (unsigned long long)seed, s->place ? s->place : "",
              s->message);
  }
  for (size_t i = 0; i < r.rows.n; i++) {
    const wk_grad_check_row *row = &r.rows.data[i];
    o.tried += row->tried;
    o.kinks += row->kinks;
    if (row->error <= TOLERANCE) continue;
    fprintf(stderr, "seed %llu: %s[%lld]: adjoint %.17g, difference %.17g, error %.3g\n",
            (unsigned long long)seed, row->name, (long long)row->at, row->adjoint,
            row->difference, row->error);
    o.is_good = false;
  }
  if (!o.is_good) print_module(m);
  wk_status_free(s);
  wk_grad_check_free(&r);
  random_tensors_free(in, m->main->inputs.n);
  return o;
}

/* No difference shows what goes straight through a rounding; test_grad_kinks has it. */
static bool is_straight(wk_op op) {
  const char *note;
  return wk_adjoint_of(op, &note) == WK_ADJOINT_STRAIGHT;
}

static bool rounds(const wk_module *m) {
  bool found = false;
  for (size_t i = 0; i < m->main->nodes.n; i++)
    found = found || is_straight(wk_nod(m->main, (wk_node_id)i)->op);
  return found;
}

static bool is_differentiable(wk_op op) {
  const char *note;
  wk_adjoint_kind k = wk_adjoint_of(op, &note);
  return wk_op_get(op)->kind != WK_KIND_INST && wk_adjoint_exists(k) && k != WK_ADJOINT_STRAIGHT;
}

static void test_operators(void **state) {
  (void)state;
  int bad = 0, count = 0;
  if (range.random_only) return;
  for (int op = 0; op < WK_OP_COUNT; op++) {
    outcome all = {.is_good = true};
    if (!is_differentiable((wk_op)op)) continue;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
      random_options o = {.nodes = 1, .floats_only = true, .only = (wk_op)op, .no_motifs = true};
      wk_module *m = random_graph(seed, &o);
      outcome one = check(m, seed);
      all.tried += one.tried;
      all.kinks += one.kinks;
      all.refused += one.refused;
      all.is_good = all.is_good && one.is_good;
      wk_module_free(m);
    }
    if (!all.is_good || all.tried == all.kinks)
      print_message("%s: tried %lld, kinks %lld, refused %lld%s\n", wk_op_get((wk_op)op)->name,
                    (long long)all.tried, (long long)all.kinks, (long long)all.refused,
                    all.is_good ? "" : ": WRONG");
    bad += !all.is_good;
    count += all.tried > all.kinks;
  }
  print_message("%d operators\n", count);
  assert_int_equal(bad, 0);
}

static void test_random(void **state) {
  (void)state;
  int64_t tried = 0, kinks = 0, refused = 0;
  for (uint64_t seed = range.first; seed < range.first + range.count; seed++) {
    random_options o = {.nodes = 3 + (int)(seed % 9), .floats_only = true, .only = WK_OP_COUNT};
    wk_module *m = random_graph(seed, &o);
    outcome one = {.is_good = true, .refused = 1};
    if (!rounds(m)) one = check(m, seed);
    wk_module_free(m);
    tried += one.tried;
    kinks += one.kinks;
    refused += one.refused;
    if (!one.is_good) fail_msg("seed %llu", (unsigned long long)seed);
  }
  print_message("%lld elements, %lld of them at kinks, %lld graphs refused\n", (long long)tried,
                (long long)kinks, (long long)refused);
}

/* Choices within choices, deeper than they are taken apart one by one: the arm that was taken. */
static void test_choices(void **state) {
  (void)state;
  enum { ARMS = 9 };
  wk_str text = {0};
  if (range.random_only) return;
  wk_str_printf(&text, "module \"m\" {\n  graph @main(%%x: f32[%d]) {\n    %%y = map(%%x) {body=\"",
                ARMS + 1);
  for (int k = 1; k <= ARMS; k++)
    wk_str_printf(&text, "select(lt(%%0, %d.0f32), mul(mul(%%0, %%0), %d.0f32), ", k, k + 1);
  wk_str_add(&text, "neg(%0)");
  for (int k = 1; k <= ARMS; k++) wk_str_add(&text, ")");
  wk_str_printf(&text, "\"} : f32[%d]\n    output %%y\n  }\n}\n", ARMS + 1);
  wk_module *m = NULL;
  assert_null(wk_module_parse(text.s, "choices", &m));
  float x[ARMS + 1];
  for (int k = 0; k <= ARMS; k++) x[k] = (float)k + 0.5f;
  const wk_tensor in = {wk_val(m->main, m->main->inputs.data[0])->type, x};
  wk_grad_check_report r;
  assert_null(wk_grad_check(m, &(wk_grad_check_options){.inputs = &in, .seed = 1,
                                                             .elements = ARMS + 1}, &r));
  assert_int_equal(r.rows.n, 1);
  assert_int_equal(r.rows.data[0].tried, ARMS + 1);
  assert_int_equal(r.rows.data[0].kinks, 0);
  assert_true(r.rows.data[0].error <= TOLERANCE);
  wk_grad_check_free(&r);
  wk_module_free(m);
  wk_str_free(&text);
}

/* In f64 a float has other bits: what reads them is refused. */
static void test_bits(void **state) {
  static const char *const texts[] = {
      "module \"m\" {\n  graph @main(%x: f32[2]) {\n"
      "    %y = map(%x) {body=\"mul(%0, f32(bits<u32>(%0)))\"} : f32[2]\n"
      "    output %y\n  }\n}\n",
      "module \"m\" {\n  graph @main(%x: f32[2]) {\n    %b = bitcast(%x) {to=i32} : i32[2]\n"
      "    %c = cast(%b) {to=f32} : f32[2]\n    %y = mul(%x, %c) : f32[2]\n"
      "    output %y\n  }\n}\n"};
  float x[2] = {1, 2};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(texts); i++) {
    wk_module *m = NULL;
    wk_grad_check_report r;
    wk_status s = wk_module_parse(texts[i], "bits", &m);
    if (s) fail_msg("%s", s->message);
    const wk_tensor in = {wk_val(m->main, m->main->inputs.data[0])->type, x};
    s = wk_grad_check(m, &(wk_grad_check_options){.inputs = &in, .seed = 1, .elements = 2}, &r);
    assert_non_null(s);
    assert_non_null(strstr(s->message, "it reads the bits of a float"));
    wk_status_free(s);
    wk_grad_check_free(&r);
    wk_module_free(m);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_operators),
                                     cmocka_unit_test(test_choices), cmocka_unit_test(test_bits),
                                     cmocka_unit_test(test_random)};
  if (argc > 1) {
    range.random_only = true;
    range.first = strtoull(argv[1], NULL, 10);
    range.count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
