/* SPDX-License-Identifier: Apache-2.0
 * Diagrams, whole: every coordinate. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/plot.h"

static wk_text24 text_of(double y) {
  wk_text24 t;
  snprintf(t.s, sizeof t.s, "%g", y);
  return t;
}

/* A line with marks, one of marks alone and a front; a legend that has no room for its last. */
static void fill(wk_plot *p) {
  static const wk_plot_point points[][3] = {{{0, 1, "a"}, {0.5, 12, "<b>"}, {1, 7, "\"\""}},
                                            {{0.25, 3, "c & d"}, {0.75, 19, "e"}},
                                            {{0.1, 18, "f"}, {0.4, 9, "g"}, {0.9, 2, "h"}}};
  static const int counts[] = {3, 2, 3};
  static const wk_plot_label ticks[] = {{0, "1"}, {0.5, "10"}, {1, "100"}};
  static const char *const legend[] = {"short", "one that is longer",
                                       "one that goes on and on until there is no more room",
                                       "and this is past the end of the diagram"};
  for (size_t k = 0; k < 3; k++) {
    wk_plot_series s = {.colour = (unsigned)k, .is_line = k == 0, .is_front = k == 2};
    for (int i = 0; i < counts[k]; i++) wk_vec_push(&s.points, points[k][i]);
    wk_vec_push(&p->series, s);
    wk_vec_push(&p->ticks, ticks[k]);
  }
  for (size_t k = 0; k < WK_COUNTOF(legend); k++) wk_vec_push(&p->legend, legend[k]);
}

/* Lines of SVG, one after the other. */
static const char *const of_tens[] = {
#include "tests/unit/plot_tens.def"
}, *const of_twos[] = {
#include "tests/unit/plot_twos.def"
};

static void check(const wk_plot *p, const char *const *want, size_t n) {
  wk_str b = {0};
  wk_plot_svg(&b, p);
  char *line = b.s;
  for (size_t i = 0; i < n; i++) {
    char *end = strchr(line, '\n');
    assert_non_null(end);
    *end = '\0';
    assert_string_equal(line, want[i]);
    line = end + 1;
  }
  assert_string_equal(line, "");
  wk_str_free(&b);
}

static void axes_of_tens(void **state) {
  (void)state;
  wk_plot p = {.title = "title", .x_title = "x", .y_text = text_of};
  fill(&p);
  check(&p, of_tens, WK_COUNTOF(of_tens));
  wk_plot_free(&p);
}

static void axes_of_twos(void **state) {
  (void)state;
  wk_plot p = {.title = "a < b", .x_title = "x & y", .y_text = text_of, .low = -4,
               .is_binary = true};
  fill(&p);
  check(&p, of_twos, WK_COUNTOF(of_twos));
  wk_plot_free(&p);
}

/* Dashes and marks have rows of their own, and what is past the last colour another mark. */
static void lines_are_told_apart(void **state) {
  (void)state;
  wk_plot p = {.title = "", .x_title = "", .y_text = text_of};
  for (unsigned k = 0; k < 10; k++) {
    wk_plot_series s = {.is_line = true, .colour = k, .dash = k % 3, .mark = k == 1};
    wk_vec_push(&s.points, ((wk_plot_point){0, k, ""}));
    wk_vec_push(&p.series, s);
    wk_vec_push(&p.legend, "a colour");
  }
  wk_vec_push(&p.dashes, "full");
  wk_vec_push(&p.dashes, "dashed");
  wk_vec_push(&p.marks, "round");
  wk_vec_push(&p.marks, "square");
  wk_str b = {0};
  wk_plot_svg(&b, &p);
  static const struct {
    const char *text;
    int times;
  } wanted[] = {
      {"<circle", 7 + 1},                                     /* 0 and 2 to 7; in the legend */
      {"h6.4v6.4", 3 + 3},                                    /* 1, 8, 9; two colours, a mark */
      {" stroke-dasharray=\"7 4\"", 3 + 1},                   /* 1, 4, 7 */
      {" stroke-dasharray=\"2 3\"", 3},
      {"class=\"line\"", 10 + 2},
      {">a colour<", 10},
      {"viewBox=\"0 -48 ", 1}};                               /* two rows, and one each */
  for (size_t i = 0; i < WK_COUNTOF(wanted); i++) {
    int n = 0;
    for (const char *at = b.s; (at = strstr(at, wanted[i].text)); at++) n++;
    if (n != wanted[i].times) fail_msg("%d times %s: %s", n, wanted[i].text, b.s);
  }
  wk_str_free(&b);
  wk_plot_free(&p);
}

static void ticks_are_round(void **state) {
  (void)state;
  static const int64_t cases[][2] = {{1, 1},     {10, 1},    {11, 2},     {21, 2},  {22, 5},
                                     {54, 5},    {55, 10},   {109, 10},   {137, 20}, {220, 50},
                                     {999, 100}, {1100, 200}, {123456, 20000}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++)
    assert_int_equal(wk_plot_tick_step(cases[i][0], 10), cases[i][1]);
}

/* What stands beside the axis, of a line up to `top`; how many. */
enum { LABELS = 32 };
static int labels_of(double low, double top, bool is_binary, double labels[LABELS]) {
  wk_plot p = {.title = "", .x_title = "", .y_text = text_of, .low = low, .is_binary = is_binary};
  wk_plot_series s = {.is_line = true};
  wk_vec_push(&s.points, ((wk_plot_point){0, low, ""}));
  wk_vec_push(&s.points, ((wk_plot_point){1, top, ""}));
  wk_vec_push(&p.series, s);
  wk_str b = {0};
  wk_plot_svg(&b, &p);
  int n = 0;
  static const char mark[] = "text-anchor=\"end\">";
  for (char *at = b.s; (at = strstr(at, mark)) && n < LABELS;)
    labels[n++] = strtod(at + strlen(mark), &at);
  wk_str_free(&b);
  wk_plot_free(&p);
  return n;
}

static void check_labels(double low, double top, bool is_binary) {
  double labels[LABELS];
  int n = labels_of(low, top, is_binary, labels);
  if (n < 2) fail_msg("%g to %g: %d labels", low, top, n);
  double step = labels[1] - labels[0], tens = step / pow(10, floor(log10(step * 1.0001)));
  bool is_round = is_binary ? fabs(exp2(round(log2(step))) / step - 1) < 1e-4
                            : fabs(tens - 1) < 1e-3 || fabs(tens - 2) < 1e-3 ||
                                  fabs(tens - 5) < 1e-3;
  bool fits = labels[0] == low && labels[n - 1] >= top * 0.9999 && labels[n - 2] < top * 0.9999;
  for (int i = 1; i < n; i++) fits &= fabs(labels[i] - labels[i - 1] - step) < step * 1e-3;
  if (!is_round || !fits || n - 1 < 5 || n - 1 > (is_binary ? 8 : 10))
    fail_msg("%g to %g: %d steps of %g, to %g", low, top, n - 1, step, labels[n - 1]);
}

/* Five to ten steps, or to eight where they are powers of two; the last is the first that is not
 * below the highest point. */
static void axes_have_round_steps(void **state) {
  (void)state;
  for (int k = -30; k <= 30; k++)
    for (int d = 0; d < 40; d++) {
      check_labels(0, exp2(k) * (1 + d / 40.0), true);
      if (k >= -12 && k <= 12) check_labels(0, pow(10, k / 4.0) * (1 + d / 40.0), false);
    }
  double flat[LABELS];
  for (int low = -3; low <= 5; low += 4)
    for (int is_binary = 0; is_binary < 2; is_binary++) { /* all points are at the bottom */
      int n = labels_of(low, low, is_binary, flat);
      assert_int_equal(n, is_binary ? 9 : 11);
      assert_float_equal(flat[0], low, 0);
      assert_float_equal(flat[n - 1], low + 1, 1e-9);
    }
}

static void logarithms(void **state) {
  (void)state;
  assert_float_equal(wk_plot_log(1, 1, 100), 0.04, 1e-12);
  assert_float_equal(wk_plot_log(10, 1, 100), 0.5, 1e-12);
  assert_float_equal(wk_plot_log(100, 1, 100), 0.96, 1e-12);
  assert_float_equal(wk_plot_log(7, 7, 7), 0.5, 1e-12);
  assert_float_equal(wk_plot_log(7, 0, 9), 0.5, 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(axes_of_tens),
                                     cmocka_unit_test(axes_of_twos),
                                     cmocka_unit_test(lines_are_told_apart),
                                     cmocka_unit_test(ticks_are_round),
                                     cmocka_unit_test(axes_have_round_steps),
                                     cmocka_unit_test(logarithms)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
