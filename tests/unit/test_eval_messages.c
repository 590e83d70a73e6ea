/* SPDX-License-Identifier: Apache-2.0
 * What the evaluator says of operands that it finds to be out of bounds, and the nearest that it
 * takes; which boxes hide others, on both sides of each limit. */
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

/* ---- boxes ----------------------------------------------------------------------------------- */

/* Computed by hand. more: the most of a class, how much they may share, the least score. */
static const struct {
  const char *boxes, *scores, *more;
  int rows;
  int64_t want[12];
} hiding[] = {
    /* 2 of 3 shared is half of both together, exactly */
    {"f32[1,2,4] {0, 0, 1, 3, 0, 1, 1, 4}", "f32[1,1,2] {0.9, 0.8}", "5, 0.5, 0", 2,
     {0, 0, 0, 0, 0, 1}},
    {"f32[1,2,4] {1, 3, 0, 0, 0, 4, 1, 1}", "f32[1,1,2] {0.8, 0.9}", "5, 0.25, 0", 2,
     {0, 0, 1, -1, -1, -1}}, /* whichever corner comes first */
    {"f32[1,2,4] {0, 0, 1, 1, 0, 1, 1, 2}", "f32[1,1,2] {0.9, 0.8}", "5, 0, 0", 2,
     {0, 0, 0, 0, 0, 1}}, /* what touches shares nothing */
    {"f32[1,2,4] {0, 0, 1, 1, 0, 0.75, 1, 2}", "f32[1,1,2] {0.9, 0.8}", "5, 0, 0", 2,
     {0, 0, 0, -1, -1, -1}},
    /* hidden by the second that is kept; not by one that is hidden itself */
    {"f32[1,3,4] {0, 0, 1, 3, 0, 5, 1, 8, 0, 6, 1, 9}", "f32[1,1,3] {0.9, 0.8, 0.7}",
     "5, 0.25, 0", 3, {0, 0, 0, 0, 0, 1, -1, -1, -1}},
    {"f32[1,3,4] {0, 0, 1, 3, 0, 1, 1, 4, 0, 3, 1, 5}", "f32[1,1,3] {0.9, 0.8, 0.7}",
     "5, 0.125, 0", 3, {0, 0, 0, 0, 0, 2, -1, -1, -1}},
    /* equals in their order, as many as may be */
    {"f32[1,3,4] {0, 0, 1, 1, 0, 2, 1, 3, 0, 4, 1, 5}", "f32[1,1,3] {0.5, 0.5, 0.5}", "2, 0, 0", 3,
     {0, 0, 0, 0, 0, 1, -1, -1, -1}},
    {"f32[1,3,4] {0, 0, 1, 1, 0, 2, 1, 3, 0, 4, 1, 5}", "f32[1,1,3] {0.5, 0.5, 0.75}", "2, 0, 0", 3,
     {0, 0, 2, 0, 0, 0, -1, -1, -1}},
    {"f32[1,1,4] {0, 0, 1, 1}", "f32[1,1,1] {0.5}", "0, 0, 0", 1, {-1, -1, -1}},
    /* more than the least score */
    {"f32[1,2,4] {0, 0, 1, 1, 0, 2, 1, 3}", "f32[1,1,2] {0.5, 0.625}", "2, 0, 0.5", 2,
     {0, 0, 1, -1, -1, -1}},
    /* samples and their classes, until the rows are full */
    {"f32[2,1,4] {0, 0, 1, 1, 0, 0, 1, 1}", "f32[2,2,1] {0.1, 0.2, 0.3, 0.4}", "1, 0.5, 0.15", 4,
     {0, 1, 0, 1, 0, 0, 1, 1, 0, -1, -1, -1}},
    {"f32[2,1,4] {0, 0, 1, 1, 0, 0, 1, 1}", "f32[2,2,1] {0.1, 0.2, 0.3, 0.4}", "1, 0.5, 0.15", 2,
     {0, 1, 0, 1, 0, 0}},
};

static void boxes(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(hiding); i++) {
    char text[1024];
    int most;
    char share[16], least[16];
    wk_module *m = NULL;
    assert_int_equal(sscanf(hiding[i].more, "%d, %15[^,], %15s", &most, share, least), 3);
    snprintf(text, sizeof text,
             "module \"m\" {\ngraph @main() {\n%%b = constant %s\n%%s = constant %s\n"
             "%%m = constant i64[] {%d}\n%%i = constant f32[] {%s}\n%%l = constant f32[] {%s}\n"
             "%%y = non_max_suppression(%%b, %%s, %%m, %%i, %%l) {rows=%d}\noutput %%y\n}\n}\n",
             hiding[i].boxes, hiding[i].scores, most, share, least, hiding[i].rows);
    wk_status s = wk_module_parse(text, "case", &m);
    if (s) fail_msg("%s: %s\n%s", s->place ? s->place : "", s->message, text);
    wk_tensor y = {.data = NULL};
    assert_null(wk_eval_graph(m->main, NULL, &y, NULL, NULL));
    for (int k = 0; k < 3 * hiding[i].rows; k++)
      if (((const int64_t *)y.data)[k] != hiding[i].want[k])
        fail_msg("case %zu: number %d is %d", i, k, (int)((const int64_t *)y.data)[k]);
    wk_tensor_free(&y);
    wk_module_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(operands), cmocka_unit_test(boxes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
