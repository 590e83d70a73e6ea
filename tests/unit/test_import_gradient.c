/* SPDX-License-Identifier: Apache-2.0
 * Gradient beside random numbers: the part of the graph that it differentiates has the same ones.
 * What it computes otherwise is in tests/onnx, what it refuses in import_messages.def. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/onnx/onnx.h"
#include "tests/hostile/model_text.h"

#define GRADIENT "ai.onnx.preview.training.Gradient "
#define STATE "in i i64[]; in go bool[]; in v f32[2,3]; "

/* Models whose outputs are 0. */
static const char *const models[] = {
    /* Two calls of a function. */
    "fun Noisy a -> b,r (RandomNormalLike a -> r; Mul a,r -> b); in x f32[2,3]; "
    "local.Noisy x -> b,p; local.Noisy x -> c,q; " GRADIENT "x -> dc {xs=[\"x\"] y=\"c\"}; "
    GRADIENT "x -> db {xs=[\"x\"] y=\"b\"}; Sub dc,q -> of_q; Sub db,p -> of_p; out of_q; out of_p",
    /* Iterations of a loop that stays one. */
    "in x f32[2,3]; init n i64[]={3}; init yes bool[]={1}; Loop n,yes,x -> last,us,gaps {body=("
    STATE "RandomUniformLike v -> u; Mul v,u -> next; " GRADIENT "v -> du {xs=[\"v\"] y=\"next\"}; "
    "Sub du,u -> gap; Identity go -> goes; out goes; out next; out u; out gap)}; "
    GRADIENT "x -> dlast {xs=[\"x\"] y=\"last\"}; init a i64[1]={0}; "
    "ReduceProd us -> product {axes=[0] keepdims=0}; Sub dlast,product -> of_last; "
    "out gaps; out of_last",
    /* Iterations that are unrolled, because the state grows. */
    "in x f32[2,3]; init n i64[]={3}; init yes bool[]={1}; init zero f32[]={0}; "
    "Loop n,yes,x,zero -> last,errors {body=(" STATE "in e f32[]; RandomUniformLike v -> u; "
    "Mul v,u -> vu; " GRADIENT "v -> du {xs=[\"v\"] y=\"vu\"}; Sub du,u -> gap; Abs gap -> far; "
    "ReduceSum far -> sum {keepdims=0}; Add e,sum -> more; Concat vu,vu -> next {axis=0}; "
    "Identity go -> goes; out goes; out next; out more)}; "
    GRADIENT "x -> d {xs=[\"x\"] y=\"last\"}; Mul d,x -> dx; ReduceSum dx -> by_x {keepdims=0}; "
    "ReduceSum last -> all {keepdims=0}; Sub by_x,all -> of_last; out errors; out of_last",
};

static bool has_zeros(const wk_graph *g) {
  float x[] = {1, 2, -3, 0.5f, -0.25f, 4};
  const wk_tensor in[] = {{wk_val(g, g->inputs.data[0])->type, x}};
  wk_tensor *out = wk_xcalloc(g->outputs.n + 1, sizeof *out);
  bool good = true;
  assert_int_equal(wk_type_count(&in[0].type), WK_COUNTOF(x));
  assert_null(wk_eval_graph(g, in, out, NULL, NULL));
  for (size_t k = 0; k < g->outputs.n; k++) {
    for (int64_t i = 0, n = wk_type_count(&out[k].type); i < n; i++)
      if (!(fabs(wk_load_f64(out[k].data, out[k].type.dtype, i)) < 1e-5)) {
        print_message("%s[%lld] is %g\n", g->output_names.data[k], (long long)i,
                      wk_load_f64(out[k].data, out[k].type.dtype, i));
        good = false;
      }
    wk_tensor_free(&out[k]);
  }
  free(out);
  return good;
}

static void test_noise(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(models); i++) {
    wk_str model = {0};
    wk_module *m = NULL;
    model_text(models[i], &model);
    wk_status s = wk_import_onnx_memory(model.s, model.n, NULL, NULL, &m);
    if (s) fail_msg("model %zu: %s: %s", i, s->place ? s->place : "", s->message);
    if (!has_zeros(m->main)) fail_msg("model %zu", i);
    wk_module_free(m);
    wk_str_free(&model);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_noise)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
