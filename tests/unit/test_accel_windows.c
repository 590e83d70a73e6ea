/* SPDX-License-Identifier: Apache-2.0
 * Windows as large as commands have them go to the accelerator and compute what the evaluator does;
 * those that are one larger are refused. What the largest is comes from isa.def: tests/widths
 * builds this with fields of other widths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "targets/accel/isa/isa.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"
#include "tests/unit/accel_package.h"

/* Kernel, strides, and columns of the result, which has three rows. */
typedef struct {
  int64_t ky, kx, sy, sx, nx;
} window;

/* ---- graphs ---------------------------------------------------------------------------------- */

typedef long long ll;

static void add_input(wk_str *b, const window *x) {
  wk_str_printf(b, "module \"windows\" {\ngraph @main(%%x: i8[1,9,%lld,%lld]) {\n",
                (ll)(2 * x->sy + x->ky), (ll)((x->nx - 1) * x->sx + x->kx));
}

static void add_strides(wk_str *b, const window *x) {
  wk_str_printf(b, "strides=[%lld,%lld], pads=[0,0,0,0], dilations=[1,1]", (ll)x->sy, (ll)x->sx);
}

static void add_result(wk_str *b, const window *x) {
  wk_str_printf(b, "} : i8[1,9,3,%lld]\n  output %%y\n}\n}\n", (ll)x->nx);
}

static void add_conv(wk_str *b, const window *x, int groups) {
  add_input(b, x);
  wk_str_printf(b, "  %%w = constant i8[9,%d,%lld,%lld] splat(3)\n  %%y = conv(%%x, %%w) {",
                9 / groups, (ll)x->ky, (ll)x->kx);
  add_strides(b, x);
  wk_str_printf(b, ", group=%d, epilogue=\"sat<i8>(rescale(%%0, 9000000i64, 27i64))\"", groups);
  add_result(b, x);
}

static void conv(wk_str *b, const window *x) { add_conv(b, x, 1); }
static void depthwise(wk_str *b, const window *x) { add_conv(b, x, 9); }

static void add_pool(wk_str *b, const window *x, const char *operator, const char *more) {
  add_input(b, x);
  wk_str_printf(b, "  %%y = %s(%%x) {kernel=[%lld,%lld], ", operator, (ll)x->ky, (ll)x->kx);
  add_strides(b, x);
  wk_str_add(b, more);
  add_result(b, x);
}

static void max_pool(wk_str *b, const window *x) { add_pool(b, x, "max_pool", ""); }
static void mean(wk_str *b, const window *x) {
  add_pool(b, x, "integer_avg_pool", ", real_pads=[0,0,0,0], factor=1.0, lo=-128, hi=127, to=i8");
}

static void (*const makers[])(wk_str *b, const window *x) = {conv, depthwise, max_pool, mean};
enum { CONVOLUTIONS = 2 }; /* the first ones */

static int accel_parts;
static char reason[160];

static void look_at(const wk_parts *p) {
  accel_parts = 0;
  for (size_t i = 0; i < p->parts.n; i++)
    accel_parts += !strcmp(p->parts.data[i].instance->target->name, "accel");
  snprintf(reason, sizeof reason, "%s", p->reasons.n ? p->reasons.data[0].reason : "");
}

static const window small = {2, 2, 1, 1, 3};

static void set(window *x, size_t offset, int64_t number) {
  memcpy((char *)x + offset, &number, sizeof number);
}

static void run(size_t maker, const window *x) {
  wk_module *m, *copy;
  wk_str text = {0}, why = {0};
  makers[maker](&text, x);
  wk_status s = wk_module_parse(text.s, "windows", &m);
  if (s) fail_msg("%s: %s", text.s, s->message);
  const wk_graph *g = m->main;
  wk_tensor *in = random_integer_inputs(g, 1), want = {0}, got = {0};
  copy = wk_module_clone(m);
  s = wk_eval_graph(g, in, &want, NULL, NULL);
  if (!s) s = accel_compile(copy, &(wk_target_args){.target = "accel:tiny"}, package_file, look_at);
  if (!s) s = accel_run(package_file, g, in, &got);
  if (s) fail_msg("%s: %s", text.s, s->message);
  if (!random_same(g, &got, &want, &why)) fail_msg("%s: %s", text.s, why.s);
  wk_tensor_free(&got);
  wk_tensor_free(&want);
  random_tensors_free(in, g->inputs.n);
  wk_module_free(copy);
  wk_module_free(m);
  wk_str_free(&text);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const struct {
  size_t offset;
  int64_t most;
  const char *conv; /* how what is said of one more begins, of a convolution; NULL: it is taken */
} limits[] = {
    {offsetof(window, ky), WK_MAX(CONV, ky), "a kernel of"},
    {offsetof(window, kx), WK_MAX(CONV, kx), "a kernel of"},
    {offsetof(window, sy), WK_MAX(CONV, sy), "a stride of"},
    {offsetof(window, sx), WK_MAX(CONV, sx), "a stride of"},
    {offsetof(window, nx), WK_MAX(CONV, nx), NULL},
};

/* Of one limit j the largest number, or more. */
static void run_at(size_t maker, size_t j, int64_t more) {
  window x = small;
  set(&x, limits[j].offset, limits[j].most + more);
  run(maker, &x);
}

static void taken(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(makers); i++)
    for (size_t j = 0; j < WK_COUNTOF(limits); j++) {
      run_at(i, j, 0);
      assert_string_equal(reason, "");
      assert_int_equal(accel_parts, 1);
    }
}

static void refused(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(makers); i++)
    for (size_t j = 0; j < WK_COUNTOF(limits); j++) {
      char wanted[160];
      ll most = limits[j].most;
      if (!limits[j].conv) *wanted = '\0';
      else if (i < CONVOLUTIONS)
        snprintf(wanted, sizeof wanted, "%s %lld is more than %lld", limits[j].conv, most + 1,
                 most);
      else snprintf(wanted, sizeof wanted, "a window that the vector unit does not have");
      run_at(i, j, 1);
      assert_string_equal(reason, wanted);
      assert_int_equal(accel_parts, !limits[j].conv);
    }
}

/* Two numbers at once: bytes between rows and columns may be more than their fields hold, and then
 * the host has it. */
static void far_apart(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(makers); i++)
    for (size_t j = 0; j < WK_COUNTOF(limits); j++)
      for (size_t k = 0; k < j; k++) {
        window x = small;
        set(&x, limits[j].offset, limits[j].most);
        set(&x, limits[k].offset, limits[k].most);
        run(i, &x);
      }
}

#ifdef WICK_TEST_SY
static void width(void **state) {
  const wk_isa_field *f = &wk_isa_command_of(WK_CMD_POOL)->fields[WK_POOL_sy];
  (void)state;
  assert_string_equal(f->name, "sy");
  assert_int_equal(f->bits, WICK_TEST_SY);
  assert_int_equal(WK_MAX(CONV, sy), (1 << WICK_TEST_SY) - 1);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
#ifdef WICK_TEST_SY
      cmocka_unit_test(width),
#endif
      cmocka_unit_test(taken), cmocka_unit_test(refused), cmocka_unit_test(far_apart)};
  return cmocka_run_group_tests(tests, open_package_file, remove_package_file);
}
