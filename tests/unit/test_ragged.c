/* SPDX-License-Identifier: Apache-2.0
 * Texts of different lengths side by side: a batch whose rows are at positions of their own, in
 * caches of their own, gives what each row gives alone, to the bit, from one import. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/pipeline/runner.h"
#include "tests/hostile/model_text.h"

enum { ROOM = 12, BATCH = 4, INPUTS = 8, RUNS = 6 };

/* Rows of the batch along axis 0 of all inputs but scalars. */
static const char *const models[] = {
    "in q f32[N,1,32]; in k f32[N,1,16]; in v f32[N,1,16]; in pk f32[N,2,12,8]; "
    "in pv f32[N,2,12,8]; in at i32[N]; in all i32[]; "
    "com.microsoft.GroupQueryAttention q,k,v,pk,pv,at,all -> y,nk,nv {num_heads=4 kv_num_heads=2}; "
    "out y; out nk; out nv",
    /* rows by TensorScatter, keys that are there by their number */
    "opset 24; in q f32[N,4,1,8]; in k f32[N,2,1,8]; in v f32[N,2,1,8]; in pk f32[N,2,12,8]; "
    "in pv f32[N,2,12,8]; in at i64[N]; init one i64[]={1}; TensorScatter pk,k,at -> nk {axis=2}; "
    "TensorScatter pv,v,at -> nv {axis=2}; Add at,one -> n; "
    "Attention q,nk,nv,_,_,_,n -> y; out y; out nk; out nv",
};

static void must(const char *text, wk_status s) {
  if (s) fail_msg("%s\n%s", text, s->message);
}

static wk_runner *runner_of(const char *text, const char *target) {
  const wk_bind bind = {.symbol = "N", .value = BATCH, .is_open = true, .least = 1};
  const wk_import_options o = {.binds = &bind, .n_binds = 1, .list_all = true};
  const wk_runner_options ro = {.target = {.target = target}, .model_name = "case"};
  wk_str model = {0};
  wk_module *m = NULL;
  wk_runner *r = NULL;
  model_text(text, &model);
  must(text, wk_import_onnx_memory(model.s, model.n, &o, NULL, &m));
  wk_str_free(&model);
  must(text, wk_runner_of_module(m, &ro, &r));
  return r;
}

static wk_type with_rows(const wk_runner *r, size_t input, int64_t n) {
  wk_type t = *wk_runner_input_type(r, input);
  if (t.rank) t.dims[0] = n;
  return t;
}

static void draw(wk_rng *rng, wk_tensor *t) {
  for (int64_t i = 0; i < wk_type_count(&t->type); i++) {
    if (wk_dtype_is_float(t->type.dtype))
      wk_store_f64(t->data, t->type.dtype, i, wk_rng_normal(rng));
    else
      wk_store_i64(t->data, t->type.dtype, i,
                   t->type.rank ? wk_rng_range(rng, 0, ROOM - 1) : ROOM);
  }
}

/* Row `row` of the batch alone gives row `row` of `all`. */
static void check_row(const char *text, wk_runner *r, const wk_tensor *in, const wk_tensor *all,
                      int64_t row) {
  wk_tensor one[INPUTS] = {{{0}, NULL}}, got[INPUTS] = {{{0}, NULL}};
  for (size_t i = 0; i < wk_runner_inputs(r); i++) {
    const wk_type t = with_rows(r, i, 1);
    must(text, wk_tensor_alloc(&t, &one[i]));
    size_t bytes = (size_t)wk_type_bytes(&t);
    memcpy(one[i].data, (char *)in[i].data + (t.rank ? (size_t)row * bytes : 0), bytes);
  }
  must(text, wk_runner_run(r, one, got));
  for (size_t i = 0; i < wk_runner_outputs(r); i++) {
    size_t bytes = (size_t)wk_type_bytes(&got[i].type);
    assert_int_equal(got[i].type.dims[0], 1);
    if (memcmp(got[i].data, (char *)all[i].data + (size_t)row * bytes, bytes) != 0)
      fail_msg("%s\nrow %lld of output %zu differs alone", text, (long long)row, i);
    wk_tensor_free(&got[i]);
  }
  for (size_t i = 0; i < wk_runner_inputs(r); i++) wk_tensor_free(&one[i]);
}

static void check_batch(const char *text, wk_runner *r, int64_t rows, wk_rng *rng) {
  wk_tensor in[INPUTS] = {{{0}, NULL}}, all[INPUTS] = {{{0}, NULL}};
  for (size_t i = 0; i < wk_runner_inputs(r); i++) {
    const wk_type t = with_rows(r, i, rows);
    must(text, wk_tensor_alloc(&t, &in[i]));
    draw(rng, &in[i]);
  }
  must(text, wk_runner_run(r, in, all));
  for (int64_t row = 0; row < rows; row++) check_row(text, r, in, all, row);
  for (size_t i = 0; i < wk_runner_inputs(r); i++) wk_tensor_free(&in[i]);
  for (size_t i = 0; i < wk_runner_outputs(r); i++) wk_tensor_free(&all[i]);
}

static void one_by_one(void **state) {
  (void)state;
  static const char *const targets[] = {"eval", "cpu"};
  wk_rng rng = {7};
  for (size_t k = 0; k < WK_COUNTOF(targets); k++)
    for (size_t i = 0; i < WK_COUNTOF(models); i++) {
      wk_runner *r = runner_of(models[i], targets[k]);
      for (int run = 0; run < RUNS; run++) check_batch(models[i], r, 1 + run % BATCH, &rng);
      wk_runner_free(r);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_by_one)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
