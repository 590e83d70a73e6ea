/* SPDX-License-Identifier: Apache-2.0 */
/* The history of a training run as text. */
#include "tests/unit/case_text.h"

#include "compiler/driver/train.h"

static wk_history history(const char *metric) {
  static const wk_epoch rows[] = {
      {1, 10, 0.5, 2.25, 0.125, 2, 0.25, 0.5, 100}, {2, 20, 0.5, 1.5, 0.5, 1.75, 0.5, 0.25, 100}};
  wk_history h = {.metric = metric, .epochs = 12};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) wk_vec_push(&h.rows, rows[i]);
  return h;
}

static void test_csv(void **state) {
  (void)state;
  wk_history h = history("accuracy");
  wk_str b = {0};
  h.rows.data[1].held_loss = h.rows.data[1].held_metric = NAN;
  wk_history_csv(&b, &h);
  assert_string_equal(b.s, "epoch,step,rate,loss,accuracy,held_out_loss,held_out_accuracy,seconds,"
                           "samples_per_second\n"
                           "1,10,0.5,2.25,0.125,2.0,0.25,0.5,200.0\n"
                           "2,20,0.5,1.5,0.5,,,0.25,400.0\n");
  wk_str_free(&b);
  h.metric = "";
  wk_history_csv(&b, &h);
  assert_non_null(strstr(b.s, "epoch,step,rate,loss,held_out_loss,seconds,"));
  wk_str_free(&b);
  wk_vec_free(&h.rows);
}

static void test_line(void **state) {
  (void)state;
  wk_history h = history("accuracy");
  char text[256] = {0};
  FILE *f = fmemopen(text, sizeof text, "w");
  wk_history_line(f, &h, &h.rows.data[0]);
  fclose(f);
  assert_string_equal(text, "epoch  1/12: loss 2.25, accuracy 0.125; held out: loss 2, accuracy "
                            "0.25; 200 samples/s, 5.50 s left\n");
  wk_vec_free(&h.rows);
}

static void test_page(void **state) {
  (void)state;
  wk_history h = history("accuracy");
  wk_str b = {0};
  wk_history_page(&b, &h);
  assert_non_null(strstr(b.s, "<title>epoch 2: 1.75</title>"));
  assert_non_null(strstr(b.s, "held out"));
  wk_str_free(&b);
  wk_vec_free(&h.rows);
}

static void add_steps(wk_history *h) {
  static const wk_step_figures steps[] = {
      {0.1, 2.5, 0.25, 3}, {0.1, 1.0 / 3, 0.5, 2}, {0.05, 1, 0.75, 1.5}};
  h->has_steps = true;
  h->per_epoch = 2;
  for (size_t i = 0; i < WK_COUNTOF(steps); i++) wk_vec_push(&h->steps, steps[i]);
}

static void test_steps(void **state) {
  (void)state;
  wk_history h = history("accuracy");
  wk_str b = {0};
  add_steps(&h);
  wk_history_steps_csv(&b, &h);
  assert_string_equal(b.s, "step,epoch,rate,loss,accuracy,gradient_norm\n"
                           "1,1,0.1,2.5,0.25,3.0\n"
                           "2,1,0.1,0.3333333333333333,0.5,2.0\n"
                           "3,2,0.05,1.0,0.75,1.5\n");
  wk_str_free(&b);
  h.metric = "";
  wk_history_steps_csv(&b, &h);
  assert_non_null(strstr(b.s, "loss,gradient_norm\n1,1,0.1,2.5,3.0\n"));
  wk_str_free(&b);
  wk_history_page(&b, &h);
  assert_non_null(strstr(b.s, "<title>step 2: 0.3333</title>"));
  wk_str_free(&b);
  for (size_t i = 0; i < 5000; i++) add_steps(&h); /* fewer are drawn */
  wk_history_page(&b, &h);
  assert_true(b.n < 500000);
  wk_str_free(&b);
  wk_vec_free(&h.rows);
  wk_vec_free(&h.steps);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_csv),
      cmocka_unit_test(test_line),
      cmocka_unit_test(test_page),
      cmocka_unit_test(test_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
