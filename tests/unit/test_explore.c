/* SPDX-License-Identifier: Apache-2.0 */
/* Who is not beaten in times and area, and in which order machines go to the next rung. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cli/sweep/explore.h"

enum { MOST = 12 };

/* The candidates of a case: times and area; what comes out are their places. */
typedef struct {
  const char *name;
  int n;
  double at[MOST][2];
  int front[MOST], n_front;
  int order[MOST], n_order;
} order_case;

static const order_case cases[] = {
    {"one", 1, {{1, 1}}, {0}, 1, {0}, 1},
    {"two ends", 2, {{2, 1}, {1, 2}}, {1, 0}, 2, {1, 0}, 2},
    {"one between", 3, {{1, 3}, {2, 2}, {3, 1}}, {0, 1, 2}, 3, {0, 2, 1}, 3},
    {"middles, the breadth first", 6, {{1, 9}, {2, 8}, {3, 7}, {4, 6}, {5, 5}, {6, 4}},
     {0, 1, 2, 3, 4, 5}, 6, {0, 5, 2, 1, 3, 4}, 6},
    {"the beaten behind", 5, {{3, 3}, {1, 3}, {2, 2}, {4, 2}, {3, 1}}, {1, 2, 4}, 3,
     {1, 4, 2, 0, 3}, 5},
    {"alike: the first", 3, {{1, 1}, {1, 1}, {1, 2}}, {0}, 1, {0, 1, 2}, 3},
    {"as quick and smaller", 2, {{1, 2}, {1, 1}}, {1}, 1, {1, 0}, 2},
    {"those that are out are left out", 4, {{NAN, 1}, {2, 1}, {NAN, 0}, {1, 2}}, {3, 1}, 2,
     {3, 1}, 2},
    {"nobody", 1, {{NAN, 1}}, {0}, 0, {0}, 0},
};

static void expect(const char *name, const wk_candidates *got, const wk_candidate *all,
                   const int *want, int n) {
  if (got->n != (size_t)n) fail_msg("%s: %zu machines, not %d", name, got->n, n);
  for (int i = 0; i < n; i++)
    if (got->data[i] != &all[want[i]])
      fail_msg("%s: place %d is %d, not %d", name, i, (int)(got->data[i] - all), want[i]);
}

static void machines_come_in_order(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const order_case *c = &cases[k];
    wk_candidate all[MOST] = {0};
    wk_candidates list = {0}, front = {0};
    for (int i = 0; i < c->n; i++) {
      all[i].times = c->at[i][0];
      all[i].area = c->at[i][1];
      wk_vec_push(&list, &all[i]);
    }
    wk_explore_front(&list, &front);
    expect(c->name, &front, all, c->front, c->n_front);
    wk_explore_sort(&list);
    expect(c->name, &list, all, c->order, c->n_order);
    wk_vec_free(&list);
    wk_vec_free(&front);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(machines_come_in_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
