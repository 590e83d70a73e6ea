/* SPDX-License-Identifier: Apache-2.0
 * Diagrams, whole: every coordinate. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/driver/plot.h"

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
                                     cmocka_unit_test(logarithms)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
