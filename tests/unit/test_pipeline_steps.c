/* SPDX-License-Identifier: Apache-2.0
 * The steps that run are those that `wick ops --passes` lists, in its order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/pipeline/pipeline.h"
#include "compiler/pipeline/targets.h"

static const char text[] =
    "module \"m\" {\n"
    "  graph @main(%x: i8[1,16,8,8]) {\n"
    "    %w = constant i8[16,16,1,1] splat(3)\n"
    "    %y = conv(%x, %w) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], "
    "epilogue=\"sat<i8>(rescale(%0, 9000000i64, 13i64))\"} : i8[1,16,8,8]\n"
    "    %f = map(%y) {body=\"exp(f32(%0))\"} : f32[1,16,8,8]\n"
    "    output %f\n"
    "  }\n"
    "}\n";

typedef struct {
  const char *names[128]; /* in the order in which they came first */
  size_t n;
} seen;

static wk_status add(void *ctx, const wk_step_record *step, const wk_module *m,
                     const wk_program *p) {
  seen *x = ctx;
  (void)m, (void)p;
  for (size_t i = 0; i < x->n; i++)
    if (!strcmp(x->names[i], step->name)) return NULL;
  assert_true(x->n < WK_COUNTOF(x->names));
  x->names[x->n++] = step->name;
  return NULL;
}

static void run(seen *x, const char *stop_after) {
  wk_module *m;
  wk_targets t;
  wk_parts *parts = NULL;
  wk_pipeline_report report = {0};
  assert_null(wk_module_parse(text, "text", &m));
  assert_null(wk_targets_open(&(wk_target_args){.target = "accel:tiny", .cpu = "avx2"}, &t));
  wk_status s = wk_pipeline_run(m, &(wk_pipeline_options){.targets = &t, .hook = add, .ctx = x,
                                                          .stop_after = stop_after},
                                &report, &parts);
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
  wk_parts_free(parts);
  wk_pipeline_report_free(&report);
  wk_targets_close(&t);
  wk_module_free(m);
}

/* Passes of targets run for the parts of each target. */
static void drop_target_passes(wk_pipeline_step_list *all, seen *x) {
  size_t n = 0, k = 0;
  for (size_t i = 0; i < all->n; i++) {
    if (!all->data[i].target) all->data[n++] = all->data[i];
    for (size_t m = k = 0; all->data[i].target && m < x->n; m++)
      if (strcmp(x->names[m], all->data[i].name) != 0) x->names[k++] = x->names[m];
    if (all->data[i].target) x->n = k;
  }
  all->n = n;
}

static void are_those_listed(void **state) {
  (void)state;
  seen x = {0};
  run(&x, NULL);
  wk_pipeline_step_list all = wk_pipeline_steps();
  drop_target_passes(&all, &x);
  size_t k = 0;
  for (size_t i = 0; i < all.n; i++) {
    if (k < x.n && !strcmp(x.names[k], all.data[i].name)) k++;
    else if (all.data[i].kind != WK_ON_OUTPUT)
      fail_msg("%s is listed and does not run there", all.data[i].name);
  }
  if (k < x.n) fail_msg("%s runs and is not listed there", x.names[k]);
  wk_vec_free(&all);
}

/* Behind each of those that ran nothing else runs. */
static void stop_where_asked(void **state) {
  (void)state;
  seen x = {0};
  run(&x, NULL);
  for (size_t i = 0; i < x.n; i++) {
    seen y = {0};
    run(&y, x.names[i]);
    assert_string_equal(y.names[y.n - 1], x.names[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(are_those_listed),
                                     cmocka_unit_test(stop_where_asked)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
