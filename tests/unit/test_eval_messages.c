/* SPDX-License-Identifier: Apache-2.0
 * What the evaluator says of operands that it finds to be out of bounds, and the nearest that it
 * takes. */
#include "tests/unit/case_text.h"

#include "compiler/eval/eval.h"

static const struct {
  const char *graph, *says; /* NULL: fine */
} cases[] = {
    {"%i = constant i64[1,1,2] {0, 5}\n%y = max_unpool(%x, %i) {shape=[1,1,6]}", NULL},
    {"%i = constant i64[1,1,2] {0, 6}\n%y = max_unpool(%x, %i) {shape=[1,1,6]}",
     "index 6 is outside the 6 elements of the output"},
    {"%i = constant i64[1,1,2] {-1, 0}\n%y = max_unpool(%x, %i) {shape=[1,1,6]}",
     "index -1 is outside the 6 elements of the output"},
    {"%r = constant f32[2,4] {0, 0, 2, 2, 0, 0, 1, 1}\n%b = constant i64[2] {0, 2}\n"
     "%y = roi_align(%m, %r, %b) {height=1, width=1, samples=1}", NULL},
    {"%r = constant f32[2,4] {0, 0, 2, 2, 0, 0, 1, 1}\n%b = constant i64[2] {0, 3}\n"
     "%y = roi_align(%m, %r, %b) {height=1, width=1, samples=1}",
     "batch index 3 is outside 0..2"},
    {"%r = constant f32[2,4] {0, 0, 2, 2, 0, 0, 1, 1}\n%b = constant i64[2] {-1, 0}\n"
     "%y = roi_align(%m, %r, %b) {height=1, width=1, samples=1}",
     "batch index -1 is outside 0..2"},
    {"%r = constant f32[1,4] {0, 0, 1024, 1024}\n%b = constant i64[1] {0}\n"
     "%y = roi_align(%m, %r, %b) {height=1, width=1, samples=0}", NULL},
    {"%r = constant f32[1,4] {0, 0, 4096, 4097}\n%b = constant i64[1] {0}\n"
     "%y = roi_align(%m, %r, %b) {height=1, width=1, samples=0}",
     "region (0, 0, 4096, 4097) is too large"},
    {"%r = constant f32[1,4] {0, 0, 3e38, 1}\n%b = constant i64[1] {0}\n"
     "%y = roi_align(%m, %r, %b) {height=1, width=1, samples=1}", NULL},
    {"%r = constant f32[1,4] {0, -inf, 1, 1}\n%b = constant i64[1] {0}\n"
     "%y = roi_align(%m, %r, %b) {height=1, width=1, samples=1}",
     "region (0, -inf, 1, 1) is too large"},
};

static void operands(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str text = {0};
    wk_module *m = NULL;
    wk_str_printf(&text, "module \"m\" {\ngraph @main(%%x: f32[1,1,2], %%m: f32[3,1,2,2]) {\n%s "
                         "\"node\"\noutput %%y\n}\n}\n", cases[i].graph);
    wk_status s = wk_module_parse(text.s, "case", &m);
    if (s) fail_msg("%s: %s\n%s", s->place ? s->place : "", s->message, text.s);
    wk_tensor in[] = {case_tensor("f32[1,1,2]{1,2}"), case_tensor("f32[3,1,2,2]{1}")};
    wk_tensor y = {.data = NULL};
    s = wk_eval_graph(m->main, in, &y, NULL, NULL);
    if (strcmp(s ? s->message : "", cases[i].says ? cases[i].says : "")) {
      differ++;
      print_message("%zu: %s\n", i, s ? s->message : "fine");
    }
    if (s) assert_string_equal(s->place, "node");
    if (s) assert_int_equal(s->code, WK_INPUT);
    wk_status_free(s);
    wk_tensor_free(&y);
    for (int k = 0; k < 2; k++) wk_tensor_free(&in[k]);
    wk_str_free(&text);
    wk_module_free(m);
  }
  assert_int_equal(differ, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(operands)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
