/* SPDX-License-Identifier: Apache-2.0
 * Windows with the largest strides that commands have go to the accelerator and compute what the
 * evaluator does; with strides one larger they are refused. What the largest is comes from isa.def:
 * tests/widths builds this with fields of other widths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "targets/accel/isa/isa.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"
#include "tests/unit/accel_run.h"

static char package_file[] = "/tmp/wick-strides-XXXXXX";

/* Of height, width and both strides; results are 3 x 3. */
typedef struct {
  const char *graph, *refused; /* the stride and the largest one */
} kind;

#define CONV(groups, weights)                                                                     \
  "graph @main(%%x: i8[1,9,%lld,%lld]) {\n  %%w = constant i8[9," weights ",2,2] splat(3)\n"      \
  "  %%y = conv(%%x, %%w) {strides=[%lld,%lld], pads=[0,0,0,0], dilations=[1,1], group=" groups   \
  ", epilogue=\"sat<i8>(rescale(%%0, 9000000i64, 26i64))\"} : i8[1,9,3,3]\n  output %%y\n}\n"
#define POOL(operator, more)                                                                      \
  "graph @main(%%x: i8[1,9,%lld,%lld]) {\n  %%y = " operator "(%%x) {kernel=[2,2], "              \
  "strides=[%lld,%lld], pads=[0,0,0,0], dilations=[1,1]" more "} : i8[1,9,3,3]\n"                 \
  "  output %%y\n}\n"
#define STRIDE "a stride of %lld is more than %lld"
#define WINDOW "a window that the vector unit does not have"

static const kind kinds[] = {
    {CONV("1", "9"), STRIDE},
    {CONV("9", "1"), STRIDE},
    {POOL("max_pool", ""), WINDOW},
    {POOL("integer_avg_pool", ", real_pads=[0,0,0,0], factor=1.0, lo=-128, hi=127, to=i8"), WINDOW},
};

/* ---- one graph ------------------------------------------------------------------------------- */

static int accel_parts;
static char reason[160];

static void look_at(const wk_parts *p) {
  accel_parts = 0;
  for (size_t i = 0; i < p->parts.n; i++)
    accel_parts += !strcmp(p->parts.data[i].instance->target->name, "accel");
  snprintf(reason, sizeof reason, "%s", p->reasons.n ? p->reasons.data[0].reason : "");
}

static void compile_and_run(const char *graph) {
  wk_module *m, *copy;
  wk_str text = {0}, why = {0};
  wk_str_printf(&text, "module \"strides\" {\n%s}\n", graph);
  wk_status s = wk_module_parse(text.s, "strides", &m);
  if (s) fail_msg("%s: %s", graph, s->message);
  const wk_graph *g = m->main;
  wk_tensor *in = random_integer_inputs(g, 1), want = {0}, got = {0};
  copy = wk_module_clone(m);
  s = wk_eval_graph(g, in, &want, NULL, NULL);
  if (!s) s = accel_compile(copy, &(wk_target_args){.target = "accel"}, package_file, look_at);
  if (!s) s = accel_run(package_file, g, in, &got);
  if (s) fail_msg("%s: %s", graph, s->message);
  if (!random_same(g, &got, &want, &why)) fail_msg("%s: %s", graph, why.s);
  wk_tensor_free(&got);
  wk_tensor_free(&want);
  random_tensors_free(in, g->inputs.n);
  wk_module_free(copy);
  wk_module_free(m);
  wk_str_free(&text);
}

static void run(const kind *k, int64_t sy, int64_t sx) {
  wk_str graph = {0};
  wk_str_printf(&graph, k->graph, (long long)(2 * sy + 2), (long long)(2 * sx + 2), (long long)sy,
                (long long)sx);
  compile_and_run(graph.s);
  wk_str_free(&graph);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const int64_t most_y = WK_MAX(CONV, sy), most_x = WK_MAX(CONV, sx);

static void taken(void **state) {
  const int64_t strides[][2] = {{most_y, 1}, {1, most_x}, {most_y, most_x}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(kinds); i++)
    for (size_t j = 0; j < WK_COUNTOF(strides); j++) {
      run(&kinds[i], strides[j][0], strides[j][1]);
      assert_string_equal(reason, "");
      assert_int_equal(accel_parts, 1);
    }
}

static void expect_refused(const kind *k, int64_t sy, int64_t sx, int64_t stride, int64_t most) {
  char wanted[160];
  snprintf(wanted, sizeof wanted, k->refused, (long long)stride, (long long)most);
  run(k, sy, sx);
  assert_string_equal(reason, wanted);
  assert_int_equal(accel_parts, 0);
}

static void refused(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(kinds); i++) {
    expect_refused(&kinds[i], most_y + 1, 1, most_y + 1, most_y);
    expect_refused(&kinds[i], 1, most_x + 1, most_x + 1, most_x);
  }
}

#ifdef WICK_TEST_SY
static void width(void **state) {
  const wk_isa_field *f = &wk_isa_command_of(WK_CMD_POOL)->fields[WK_POOL_sy];
  (void)state;
  assert_string_equal(f->name, "sy");
  assert_int_equal(f->bits, WICK_TEST_SY);
  assert_int_equal(most_y, (1 << WICK_TEST_SY) - 1);
}
#endif

static int setup(void **state) {
  (void)state;
  int fd = mkstemp(package_file);
  return fd < 0 || close(fd) || wick_device_register(wk_sim_device()) != WICK_OK;
}

static int teardown(void **state) {
  (void)state;
  return unlink(package_file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#ifdef WICK_TEST_SY
      cmocka_unit_test(width),
#endif
      cmocka_unit_test(taken), cmocka_unit_test(refused)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
