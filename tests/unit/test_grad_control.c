/* SPDX-License-Identifier: Apache-2.0
 * Adjoints of loops, branches and recurrences: against central differences in f64, and as programs.
 *   test_grad_control [SEED [COUNT]]   random ones from SEED on */
#include <math.h>

#include "compiler/grad/grad.h"
#include "tests/random_control.h"
#include "tests/random_middle.h"
#include "tests/unit/case_text.h"
#include "tests/unit/middle.h"

#define TOLERANCE 1e-6
/* Adjoints next to nothing, of models whose outputs are about 1. */
#define NOTHING 1e-13

static struct { uint64_t first, count; } range = {1, 150};

static void refuse(const wk_module *m, uint64_t seed, const char *why) {
  wk_str text = {0};
  wk_module_print(&text, m, WK_PRINT_SHORT);
  fputs(text.s, stderr);
  wk_str_free(&text);
  fail_msg("seed %llu: %s", (unsigned long long)seed, why);
}

/* The number of elements that were compared; fails where they differ. */
static int64_t check(const wk_module *m, const wk_tensor *in, uint64_t seed) {
  wk_grad_check_report r;
  int64_t tried = 0;
  bool is_good = true;
  wk_status s = wk_grad_check(
      m, &(wk_grad_check_options){.inputs = in, .seed = seed, .elements = 4}, &r);
  for (size_t i = 0; i < r.rows.n; i++) {
    const wk_grad_check_row *row = &r.rows.data[i];
    tried += row->tried - row->kinks;
    if (row->error <= TOLERANCE || fabs(row->adjoint - row->difference) < NOTHING) continue;
    print_message("%s[%lld]: adjoint %.17g, difference %.17g, error %.3g\n", row->name,
                  (long long)row->at, row->adjoint, row->difference, row->error);
    is_good = false;
  }
  if (s || !is_good) refuse(m, seed, s ? s->message : "adjoints are wrong");
  wk_grad_check_free(&r);
  return tried;
}

/* The outputs are followed by the adjoints of the inputs. */
static wk_status differentiate(wk_module *m) {
  wk_graph *g = m->main;
  wk_value_id *of = wk_arena_alloc(m->arena, (g->outputs.n + 1) * sizeof *of);
  wk_value_id *wrt = wk_arena_alloc(m->arena, (g->inputs.n + 1) * sizeof *wrt);
  wk_value_id *out = wk_arena_alloc(m->arena, (g->inputs.n + 1) * sizeof *out);
  wk_grad_request r = {.of = of, .wrt = wrt, .out = out, .n_wrt = g->inputs.n};
  for (size_t k = 0; k < g->outputs.n; k++)
    if (wk_dtype_is_float(wk_val(g, g->outputs.data[k])->type.dtype))
      of[r.n_of++] = g->outputs.data[k];
  for (size_t k = 0; k < g->inputs.n; k++) wrt[k] = g->inputs.data[k];
  WK_TRY(wk_grad(g, &r));
  for (size_t k = 0; k < r.n_wrt; k++)
    if (out[k] != WK_NONE) wk_graph_output(g, NULL, out[k]);
  WK_TRY(wk_module_normalise(m));
  return wk_module_verify(m);
}

/* The differentiated module gives as a program what it gives as a graph. */
static void check_program(const wk_module *m, const wk_tensor *in, uint64_t seed) {
  const middle_options o = {.passes = seed % 2, .order = true, .rtol = 1e-3};
  wk_module *d = wk_module_clone(m);
  wk_str why = {0};
  wk_status s = differentiate(d);
  if (s) wk_str_add(&why, s->message);
  if (s || !middle_agrees(d, in, &o, NULL, &why)) refuse(m, seed, why.s);
  wk_str_free(&why);
  wk_module_free(d);
}

/* The module's adjoints by differences, and as a program; frees it. Returns elements tried. */
static int64_t check_all(wk_module *m, uint64_t seed) {
  wk_tensor *in = random_control_inputs(m->main, seed);
  int64_t tried = check(m, in, seed);
  check_program(m, in, seed);
  middle_free(in, m->main->inputs.n);
  wk_module_free(m);
  return tried;
}

static void test_random(void **state) {
  (void)state;
  int64_t tried = 0;
  for (uint64_t seed = range.first; seed < range.first + range.count; seed++) {
    wk_module *m = random_control(seed);
    tried += check_all(m, seed);
  }
  print_message("%lld elements\n", (long long)tried);
}

/* Weights of a loop: of what it scans, of a state, of what it computes; one that is used twice. */
static void test_weights(void **state) {
  (void)state;
  static const char text[] =
      "module \"weights\" {\n"
      "  graph @main(%%x: f32[4,1,3], %%h: f32[1,5], %%w: f32[3,5], %%r: f32[5,5], "
      "%%u: f32[5,5]) {\n"
      "    %%y, %%all = loop(-, %%h, %%x, %%w, %%r, %%u) {trip=4, n_state=1, n_scan=1,"
      " scan_reverse=[%d], scan_axes=[0], out_reverse=[%d], out_axes=[0]} do @step"
      " : f32[1,5], f32[4,1,5]\n"
      "    output %%y\n"
      "    output %%all\n"
      "  }\n"
      "  graph @step(%%i: i64[], %%h: f32[1,5], %%x: f32[1,3], %%w: f32[3,5], %%r: f32[5,5],"
      " %%u: f32[5,5]) {\n"
      "    %%a = matmul(%%x, %%w) : f32[1,5]\n"
      "    %%b = matmul(%%h, %%r) : f32[1,5]\n"
      "    %%c = add(%%a, %%b) : f32[1,5]\n"
      "    %%d = tanh(%%c) : f32[1,5]\n"
      "    %%e = matmul(%%d, %%u) : f32[1,5]\n"
      "    %%f = sin(%%e) : f32[1,5]\n"
      "    %%g = matmul(%%f, %%u) : f32[1,5]\n"
      "    output %%f\n"
      "    output %%g\n"
      "  }\n"
      "}\n";
  for (int k = 0; k < 4; k++) {
    char one[sizeof text];
    wk_module *m;
    snprintf(one, sizeof one, text, k % 2, k / 2);
    wk_status s = wk_module_parse(one, "weights", &m);
    if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
    wk_tensor *in = random_control_inputs(m->main, (uint64_t)k);
    assert_true(check(m, in, (uint64_t)k) > 0);
    check_program(m, in, (uint64_t)k);
    middle_free(in, m->main->inputs.n);
    wk_module_free(m);
  }
}

static void test_middle(void **state) {
  (void)state;
  int64_t tried = 0;
  for (uint64_t seed = range.first; seed < range.first + range.count; seed++) {
    wk_module *m = random_middle_graph(seed, 12);
    wk_tensor *in = random_middle_inputs(m->main, seed);
    tried += check(m, in, seed);
    check_program(m, in, seed);
    middle_free(in, m->main->inputs.n);
    wk_module_free(m);
  }
  print_message("%lld elements\n", (long long)tried);
}

/* ---- recurrences ----------------------------------------------------------------------------- */

static const struct {
  wk_op op;
  const char *attrs, *in;
  int n_out;
} recurrences[] = {
    {WK_OP_LSTM, "", "f32[3,2,4] f32[1,12,4] f32[1,12,3] f32[1,24]", 3},
    {WK_OP_LSTM, "direction=reverse",
     "f32[3,2,4] f32[1,12,4] f32[1,12,3] f32[1,24] i32[2] f32[1,2,3] f32[1,2,3] f32[1,9]", 3},
    {WK_OP_LSTM, "direction=bidirectional clip=0.7 input_forget=1",
     "f32[4,2,3] f32[2,8,3] f32[2,8,2] f32[2,16] i32[2] f32[2,2,2] f32[2,2,2] f32[2,6]", 3},
    {WK_OP_LSTM, "activations=softsign,scaledtanh,affine alpha=1.5,0.5 beta=0.5,0.1",
     "f32[3,2,4] f32[1,12,4] f32[1,12,3]", 3},
    {WK_OP_GRU, "", "f32[3,2,4] f32[1,9,4] f32[1,9,3] f32[1,18] i32[2] f32[1,2,3]", 2},
    {WK_OP_GRU, "linear_before_reset=1 direction=bidirectional clip=1.5",
     "f32[4,2,3] f32[2,6,3] f32[2,6,2] f32[2,12] i32[2] f32[2,2,2]", 2},
    {WK_OP_GRU, "direction=bidirectional", "f32[3,1,4] f32[2,15,4] f32[2,15,5] f32[2,30]", 2},
    {WK_OP_GRU, "linear_before_reset=1 direction=reverse", "f32[3,2,4] f32[1,9,4] f32[1,9,3]", 2},
    {WK_OP_RNN, "activations=LeakyRelu alpha=0.2",
     "f32[3,2,4] f32[1,3,4] f32[1,3,3] f32[1,6] i32[2] f32[1,2,3]", 2},
    {WK_OP_RNN, "direction=bidirectional activations=Elu,Softplus alpha=0.5",
     "f32[4,1,2] f32[2,2,2] f32[2,2,2] f32[2,4]", 2},
};

static wk_module *recurrence(size_t row) {
  wk_module *m = wk_module_new("recurrence");
  wk_graph *g = wk_graph_new(m, "main");
  void *attrs = case_attrs(m->arena, recurrences[row].op, recurrences[row].attrs);
  wk_value_id in[8], out[3];
  uint32_t n_in = 0;
  const char *s = recurrences[row].in;
  for (size_t n; (n = case_word(&s)); s += n) {
    const wk_type t = case_type(s);
    in[n_in++] = wk_graph_input(g, NULL, &t);
  }
  wk_node_desc d = {.op = recurrences[row].op, .attrs = attrs, .in = in, .n_in = n_in,
                    .n_out = (uint32_t)recurrences[row].n_out};
  wk_status st = wk_graph_add(g, &d, out);
  if (st) fail_msg("row %zu: %s", row, st->message);
  for (uint32_t k = 0; k < d.n_out; k++) wk_graph_output(g, NULL, out[k]);
  return m;
}

static void test_recurrences(void **state) {
  (void)state;
  int64_t tried = 0;
  for (size_t row = 0; row < WK_COUNTOF(recurrences); row++)
    for (uint64_t seed = 1; seed <= 5; seed++) {
      wk_module *m = recurrence(row);
      tried += check_all(m, seed);
    }
  print_message("%lld elements\n", (long long)tried);
}

int main(int argc, char **argv) {
  const struct CMUnitTest all[] = {cmocka_unit_test(test_recurrences),
                                   cmocka_unit_test(test_weights),
                                   cmocka_unit_test(test_random), cmocka_unit_test(test_middle)};
  const struct CMUnitTest some[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_middle)};
  if (argc < 2) return cmocka_run_group_tests(all, NULL, NULL);
  range.first = strtoull(argv[1], NULL, 10);
  range.count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  return cmocka_run_group_tests(some, NULL, NULL);
}
