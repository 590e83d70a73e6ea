/* SPDX-License-Identifier: Apache-2.0
 * Values that decide sizes, with what the caller says of them (--bound): a run in which they are
 * within it gives what they ask for, any other fails and names them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/pipeline/runner.h"
#include "tests/hostile/model_text.h"

static wk_status import(const char *text, const char *const *bounds, size_t n, wk_module **m) {
  wk_binding_args args = {0};
  wk_binding_set set;
  size_t sets;
  wk_str model = {0};
  for (size_t i = 0; i < n; i++) wk_vec_push(&args.bound, bounds[i]);
  wk_status s = wk_binding_sets_parse(&args, &set, 1, &sets);
  wk_vec_free(&args.bound);
  if (s) return s;
  const wk_import_options o = wk_binding_import_options(&set, true);
  model_text(text, &model);
  s = wk_import_onnx_memory(model.s, model.n, &o, NULL, m);
  wk_str_free(&model);
  wk_binding_set_free(&set);
  return s;
}

static wk_runner *runner_of(const char *text, const char *bound, const char *target) {
  wk_module *m;
  wk_runner *r;
  wk_status s = import(text, &bound, 1, &m);
  if (s) fail_msg("%s\n%s", text, s->message);
  const wk_runner_options ro = {.target = {.target = target}, .threads = 1, .model_name = "case"};
  s = wk_runner_of_module(m, &ro, &r);
  if (s) fail_msg("%s\n%s", text, s->message);
  return r;
}

/* The numbers v of the one input, a list or scalar; what the output has, or the reason. */
static void check(const char *text, const char *bound, const char *target, const int64_t *v,
                  int64_t n, const char *reason, int rank, const int64_t *dims) {
  wk_runner *r = runner_of(text, bound, target);
  wk_tensor in, out[1] = {{{0}, NULL}};
  assert_null(wk_tensor_alloc(wk_runner_input_type(r, 0), &in));
  for (int64_t i = 0; i < n; i++) wk_store_i64(in.data, WK_I64, i, v[i]);
  wk_status s = wk_runner_run(r, &in, out);
  if (reason) {
    bool names = s && (strstr(s->message, reason) || (s->place && strstr(s->place, reason)));
    if (!names) fail_msg("%s\n%s", text, s ? s->message : "is taken");
  } else {
    if (s) fail_msg("%s\n%s", text, s->message);
    assert_int_equal(out[0].type.rank, rank);
    for (int i = 0; i < rank; i++) assert_int_equal(out[0].type.dims[i], dims[i]);
  }
  wk_status_free(s);
  wk_tensor_free(&in);
  wk_tensor_free(&out[0]);
  wk_runner_free(r);
}

#define COUNTED "in x i64[]; init z i64[]={0}; init o i64[]={1}; Range z,x,o -> y; out y"
#define LARGEST "in x i64[3]; ReduceMax x -> m {keepdims=0}; init z i64[]={0}; init o i64[]={1}; " \
  "Range z,m,o -> r; Unsqueeze r,a -> u; init a i64[1]={1}; Less u,x -> l; " \
  "Cast l -> f {to=1}; Softmax f -> y {axis=0}; out y"
#define SHAPE "in x i64[2]; Add x,x -> s; ConstantOfShape s -> y; out y"

static void runs_stay_within(void **state) {
  static const char *const targets[] = {"eval", "cpu"};
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(targets); k++) {
    const char *t = targets[k];
    check(COUNTED, "x=5", t, (const int64_t[]){3}, 1, NULL, 1, (const int64_t[]){3});
    check(COUNTED, "x=5", t, (const int64_t[]){0}, 1, NULL, 1, (const int64_t[]){0});
    check(COUNTED, "x=1..5", t, (const int64_t[]){0}, 1, "x is not within --bound x=1..5", 0, NULL);
    check(COUNTED, "x=5", t, (const int64_t[]){6}, 1, "x is not within --bound x=0..5", 0, NULL);
    check(COUNTED, "x=5", t, (const int64_t[]){-1}, 1, "x is not within --bound x=0..5", 0, NULL);
    check(LARGEST, "m=1..9", t, (const int64_t[]){2, 7, 1}, 3, NULL, 2, (const int64_t[]){7, 3});
    check(LARGEST, "m=1..9", t, (const int64_t[]){2, 10, 1}, 3, "m is not within", 0, NULL);
    check(SHAPE, "s=1..6", t, (const int64_t[]){2, 3}, 2, NULL, 2, (const int64_t[]){4, 6});
    check(SHAPE, "s=1..6", t, (const int64_t[]){2, 4}, 2, "s is not within", 0, NULL);
    check(SHAPE, "x=3", t, (const int64_t[]){1, 3}, 2, NULL, 2, (const int64_t[]){2, 6});
  }
}

static const struct { const char *text, *bounds[2], *reason; } refused[] = {
    {LARGEST, {"r=3"}, "the limit must be known at compile time: give --value x=FILE (no input is "
     "left then, and the result is a constant); or say how large it is: --bound x=1..N"},
    {"in x f32[4]; Cast x -> i {to=7}; init o i64[1]={1}; Add i,o -> s; ConstantOfShape s -> y; "
     "out y", {NULL}, "--bound i=1..N"},
    {COUNTED, {NULL}, "--bound x=1..N"},
    {COUNTED, {"w=3"}, "--bound w: the model has no such value"},
    {COUNTED, {"x"}, "must be VALUE=N or VALUE=M..N"},
    {COUNTED, {"x=5..3"}, "has no number in it"},
    {COUNTED, {"x=5", "x=6"}, "value x has a bound already"},
    {"in x f32[]; Exp x -> y; out y", {"y=5"}, "it is no scalar or list of whole numbers"},
};

static void others_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(refused); i++) {
    wk_module *m;
    size_t n = refused[i].bounds[1] ? 2 : refused[i].bounds[0] ? 1 : 0;
    wk_status s = import(refused[i].text, refused[i].bounds, n, &m);
    if (!s || !strstr(s->message, refused[i].reason))
      fail_msg("%s\n%s", refused[i].text, s ? s->message : "is taken");
    wk_status_free(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(runs_stay_within),
                                     cmocka_unit_test(others_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
