/* SPDX-License-Identifier: Apache-2.0 */
/* The history of a training run as text. */
#include "tests/unit/case_text.h"

#include "cli/fit/train.h"

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

/* ---- whole lines ----------------------------------------------------------------------------- */

static const struct {
  const char *metric;
  int64_t epochs;
  wk_epoch e;
  const char *want;
} lines[] = {
    {"", 1, {1, 10, 0.5, 2.25, NAN, NAN, NAN, 0.5, 100},
     "epoch 1/1: loss 2.25; 200 samples/s\n"},
    {"", 9, {8, 10, 0.5, 2.25, 0.5, 3.5, 0.5, 2, 100},
     "epoch 8/9: loss 2.25; held out: loss 3.5; 50 samples/s, 2.00 s left\n"},
    {"accuracy", 100, {98, 10, 0.5, 1e-7, 0.123456, NAN, NAN, 0.25, 1e6},
     "epoch  98/100: loss 1e-07, accuracy 0.1235; 4.00 M samples/s, 500 ms left\n"},
    {"accuracy", 10, {10, 10, 0.5, 1234567, 1, 0.25, 0.75, 0.5, 1},
     "epoch 10/10: loss 1.23457e+06, accuracy 1; held out: loss 0.25, accuracy 0.75; "
     "2 samples/s\n"},
    {"", 2, {1, 10, 0.5, 2, NAN, NAN, NAN, 0, 100},
     "epoch 1/2: loss 2; 0 samples/s, 0 us left\n"},
};

static void test_lines(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(lines); i++) {
    const wk_history h = {.metric = lines[i].metric, .epochs = lines[i].epochs};
    char text[256] = {0};
    FILE *f = fmemopen(text, sizeof text, "w");
    wk_history_line(f, &h, &lines[i].e);
    fclose(f);
    assert_string_equal(text, lines[i].want);
  }
}

/* ---- diagrams -------------------------------------------------------------------------------- */

static const char *next_diagram(const char *at) {
  const char *next = strstr(at + 1, "<svg");
  return next ? next : at + strlen(at);
}

/* Labels of the x axis of a diagram, which are numbers; where they stand. */
static size_t ticks_of(const char *from, char *labels, size_t size, double *x) {
  static const char middle[] = "text-anchor=\"middle\">";
  const char *end = next_diagram(from);
  size_t n = 0, used = 0;
  labels[0] = 0;
  for (const char *at = from; (at = strstr(at, middle)) && at < end; at++) {
    const char *text = at + sizeof middle - 1, *start = at;
    if (*text < '0' || *text > '9') continue;
    while (strncmp(start, "<text x=\"", 9) != 0) start--;
    x[n++] = atof(start + 9);
    used += (size_t)snprintf(labels + used, size - used, "%.*s ", (int)strcspn(text, "<"), text);
  }
  return n;
}

static size_t times(const char *text, const char *end, const char *what) {
  size_t n = 0;
  for (; (text = strstr(text, what)) && text < end; text++) n++;
  return n;
}

/* About ten of an axis: round numbers. */
static const struct {
  int n;
  const char *labels; /* of epochs and of steps */
} ticks[] = {
    {1, "1 "},
    {2, "1 2 "},
    {10, "1 2 3 4 5 6 7 8 9 10 "},
    {11, "2 4 6 8 10 "},
    {20, "2 4 6 8 10 12 14 16 18 20 "},
    {22, "5 10 15 20 "},
    {100, "10 20 30 40 50 60 70 80 90 100 "},
    {137, "20 40 60 80 100 120 "},
};

static wk_history of_length(int n) {
  wk_history h = {.metric = "", .epochs = n, .per_epoch = 1, .has_steps = true};
  for (int i = 0; i < n; i++) {
    const wk_epoch e = {i + 1, i + 1, 0.5, 1 + i, NAN, NAN, NAN, 0.5, 100};
    const wk_step_figures s = {0.1, 2 + i, 0, i == 3 ? INFINITY : 3};
    wk_vec_push(&h.rows, e);
    wk_vec_push(&h.steps, s);
  }
  return h;
}

static void history_free(wk_history *h) {
  wk_vec_free(&h->rows);
  wk_vec_free(&h->steps);
}

static void test_ticks(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(ticks); i++) {
    wk_history h = of_length(ticks[i].n);
    wk_str b = {0};
    char labels[200];
    double x[40];
    wk_history_page(&b, &h);
    const char *at = strstr(b.s, "<svg"), *steps = next_diagram(at), *norm = next_diagram(steps);
    ticks_of(at, labels, sizeof labels, x);
    assert_string_equal(labels, ticks[i].labels);
    ticks_of(steps, labels, sizeof labels, x);
    assert_string_equal(labels, ticks[i].labels);
    assert_int_equal(times(at, steps, "<title>epoch "), ticks[i].n);
    assert_int_equal(times(steps, norm, "<title>step "), ticks[i].n);
    assert_int_equal(times(norm, b.s + b.n, "<title>step "), ticks[i].n - (ticks[i].n > 3));
    assert_null(strstr(b.s, "held out")); /* nothing is */
    wk_str_free(&b);
    history_free(&h);
  }
}

/* The first epoch and step stand left, the last right; one alone stands in the middle. */
static void test_places(void **state) {
  (void)state;
  char labels[100];
  double x[3], one[1], step[3];
  wk_history h = of_length(3), single = of_length(1);
  wk_str b = {0};
  wk_history_page(&b, &h);
  assert_int_equal(ticks_of(strstr(b.s, "<svg"), labels, sizeof labels, x), 3);
  assert_int_equal(ticks_of(next_diagram(strstr(b.s, "<svg")), labels, sizeof labels, step), 3);
  wk_str_free(&b);
  wk_history_page(&b, &single);
  assert_int_equal(ticks_of(strstr(b.s, "<svg"), labels, sizeof labels, one), 1);
  wk_str_free(&b);
  assert_true(x[0] < x[1] && fabs(x[0] + x[2] - 2 * x[1]) < 0.3 && fabs(one[0] - x[1]) < 0.3);
  for (int i = 0; i < 3; i++) assert_true(fabs(x[i] - step[i]) < 0.3);
  history_free(&h);
  history_free(&single);
}

/* Of more than a thousand steps every second, third … is drawn. */
static void test_many_steps(void **state) {
  static const struct {
    int n;
    size_t drawn;
  } cases[] = {{999, 999}, {1000, 1000}, {1001, 501}, {2000, 1000}, {2001, 667}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_history h = of_length(cases[i].n);
    wk_str b = {0};
    wk_history_page(&b, &h);
    const char *steps = next_diagram(strstr(b.s, "<svg"));
    assert_int_equal(times(steps, next_diagram(steps), "<title>step "), cases[i].drawn);
    wk_str_free(&b);
    history_free(&h);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_csv),
      cmocka_unit_test(test_line),
      cmocka_unit_test(test_page),
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_lines),
      cmocka_unit_test(test_ticks),
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_many_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
