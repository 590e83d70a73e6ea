/* SPDX-License-Identifier: Apache-2.0
 * NaN, infinities and equal numbers: a NaN is the largest and the smallest that there is, wherever
 * it stands, and of equals the first counts, unless the last is asked for. */
#include <math.h>

#include "tests/unit/case_text.h"

#include "compiler/eval/eval.h"

static const struct {
  wk_op op;
  const char *attrs, *in, *want;
} rows[] = {
    {WK_OP_SOFTMAX, "axis=0", "f32[3]{nan,1,2}", "f32[3]{nan,nan,nan}"},
    {WK_OP_SOFTMAX, "axis=0", "f32[3]{1,2,nan}", "f32[3]{nan,nan,nan}"},
    {WK_OP_SOFTMAX, "axis=0", "f32[3]{-inf,0,0}", "f32[3]{0,0.5,0.5}"},
    {WK_OP_SOFTMAX, "axis=0", "f32[2]{1000,1000}", "f32[2]{0.5,0.5}"},
    {WK_OP_SOFTMAX, "axis=1", "f32[2,2]{nan,1,0,0}", "f32[2,2]{nan,nan,0.5,0.5}"},
    {WK_OP_LOG_SOFTMAX, "axis=0", "f32[2]{-inf,0}", "f32[2]{-inf,0}"},
    {WK_OP_LOG_SOFTMAX, "axis=0", "f32[3]{1,nan,0}", "f32[3]{nan,nan,nan}"},
    {WK_OP_HARDMAX, "axis=0", "f32[3]{1,nan,2}", "f32[3]{0,1,0}"},
    {WK_OP_HARDMAX, "axis=0", "f32[3]{nan,7,nan}", "f32[3]{1,0,0}"},
    {WK_OP_HARDMAX, "axis=0", "f32[3]{1,3,3}", "f32[3]{0,1,0}"},
    {WK_OP_HARDMAX, "axis=0", "f32[2]{-inf,-inf}", "f32[2]{1,0}"},
    {WK_OP_REDUCE_MAX, "axes=0", "f32[3]{1,nan,2}", "f32[1]{nan}"},
    {WK_OP_REDUCE_MAX, "axes=0", "f32[3]{nan,1,2}", "f32[1]{nan}"},
    {WK_OP_REDUCE_MAX, "axes=0", "f32[2]{-inf,-5}", "f32[1]{-5}"},
    {WK_OP_REDUCE_MIN, "axes=0", "f32[3]{1,2,nan}", "f32[1]{nan}"},
    {WK_OP_REDUCE_MIN, "axes=0", "f32[2]{inf,5}", "f32[1]{5}"},
    {WK_OP_REDUCE_SUM, "axes=0", "f32[2]{inf,-inf}", "f32[1]{nan}"},
    {WK_OP_ARG_MAX, "axis=0 keepdims=0", "f32[3]{1,nan,2}", "i64[]{1}"},
    {WK_OP_ARG_MAX, "axis=0 keepdims=0", "f32[3]{nan,nan,2}", "i64[]{0}"},
    {WK_OP_ARG_MAX, "axis=0 keepdims=0 select_last=1", "f32[3]{nan,nan,2}", "i64[]{1}"},
    {WK_OP_ARG_MAX, "axis=0 keepdims=0", "f32[4]{1,3,3,2}", "i64[]{1}"},
    {WK_OP_ARG_MAX, "axis=0 keepdims=0 select_last=1", "f32[4]{1,3,3,2}", "i64[]{2}"},
    {WK_OP_ARG_MIN, "axis=0 keepdims=0", "f32[4]{4,1,1,nan}", "i64[]{3}"},
    {WK_OP_ARG_MIN, "axis=0 keepdims=0", "f32[4]{4,1,1,2}", "i64[]{1}"},
    {WK_OP_ARG_MIN, "axis=0 keepdims=0 select_last=1", "u8[4]{4,1,1,2}", "i64[]{2}"},
    {WK_OP_TOP_K, "axis=0 k=2", "f32[4]{1,nan,3,2}", "f32[2]{nan,3} i64[2]{1,2}"},
    {WK_OP_TOP_K, "axis=0 k=2 largest=0", "f32[4]{1,nan,3,2}", "f32[2]{1,2} i64[2]{0,3}"},
    {WK_OP_TOP_K, "axis=0 k=3", "f32[4]{2,5,5,5}", "f32[3]{5,5,5} i64[3]{1,2,3}"},
    {WK_OP_TOP_K, "axis=0 k=3 largest=0", "f32[4]{9,5,5,5}", "f32[3]{5,5,5} i64[3]{1,2,3}"},
    {WK_OP_RELU, "", "f32[4]{nan,-0.0,-inf,inf}", "f32[4]{nan,0,0,inf}"},
    {WK_OP_CLIP, "lo=-1 hi=1", "f32[3]{nan,-inf,inf}", "f32[3]{nan,-1,1}"},
    {WK_OP_MAX, "", "f32[4]{nan,1,inf,-inf} f32[4]{1,nan,2,3}", "f32[4]{nan,nan,inf,3}"},
    {WK_OP_MIN, "", "f32[4]{nan,1,inf,-inf} f32[4]{1,nan,2,3}", "f32[4]{nan,nan,2,-inf}"},
    {WK_OP_MAX_POOL, "kernel=2 strides=1 pads=0,0 dilations=1", "f32[1,1,4]{1,nan,2,3}",
     "f32[1,1,3]{nan,nan,3} i64[1,1,3]{1,1,3}"},
    {WK_OP_MAX_POOL, "kernel=2 strides=1 pads=0,0 dilations=1", "f32[1,1,3]{-inf,-inf,-inf}",
     "f32[1,1,2]{-inf,-inf} i64[1,1,2]{0,1}"},
    {WK_OP_MAX_POOL, "kernel=2 strides=1 pads=0,0 dilations=1", "f32[1,1,3]{2,2,2}",
     "f32[1,1,2]{2,2} i64[1,1,2]{0,1}"},
    {WK_OP_EQUAL, "", "f32[3]{nan,inf,-0.0} f32[3]{nan,inf,0}", "bool[3]{0,1,1}"},
    {WK_OP_LESS, "", "f32[3]{nan,1,-inf} f32[3]{1,nan,inf}", "bool[3]{0,0,1}"},
    {WK_OP_WHERE, "", "bool[2]{1,0} f32[2]{nan,nan} f32[2]{1,2}", "f32[2]{nan,2}"},
    {WK_OP_IS_NAN, "", "f32[3]{nan,inf,0}", "bool[3]{1,0,0}"},
    {WK_OP_SIGN, "", "f32[4]{-inf,inf,0,-3}", "f32[4]{-1,1,0,-1}"},
    {WK_OP_CUM_SUM, "axis=0", "f32[4]{1,inf,-inf,1}", "f32[4]{1,inf,nan,nan}"},
};

static void test_rows(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_module *m = wk_module_new("row");
    wk_graph *g = wk_graph_new(m, "main");
    wk_tensor in[3], out[2], want[2];
    wk_value_id ids[3], y[2];
    uint32_t n = 0, n_out = 0;
    const char *s = rows[i].in;
    for (size_t k; (k = case_word(&s)) > 0; s += k, n++) {
      in[n] = case_tensor(s);
      ids[n] = wk_graph_input(g, NULL, &in[n].type);
    }
    s = rows[i].want;
    for (size_t k; (k = case_word(&s)) > 0; s += k) want[n_out++] = case_tensor(s);
    wk_node_desc d = {.op = rows[i].op, .name = "node", .in = ids, .n_in = n, .n_out = n_out,
                      .attrs = case_attrs(m->arena, rows[i].op, rows[i].attrs)};
    wk_status st = wk_graph_add(g, &d, y);
    for (uint32_t k = 0; k < n_out && !st; k++) wk_graph_output(g, NULL, y[k]);
    if (!st) st = wk_eval_graph(g, in, out, NULL, NULL);
    if (st) fail_msg("row %zu: %s", i, st->message);
    for (uint32_t k = 0; k < n_out; k++) {
      wk_diff e = wk_tensor_diff(&out[k], &want[k], &(wk_tolerance){1e-6, 0, 0});
      if (!e.equal) {
        differ++;
        print_message("%s %s of %s: %g instead of %g at %d\n", wk_op_get(rows[i].op)->name,
                      rows[i].attrs, rows[i].in, e.got, e.want, (int)e.worst);
      }
      wk_tensor_free(&out[k]);
      wk_tensor_free(&want[k]);
    }
    for (uint32_t k = 0; k < n; k++) wk_tensor_free(&in[k]);
    wk_module_free(m);
  }
  assert_int_equal(differ, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
