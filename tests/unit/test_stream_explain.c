/* SPDX-License-Identifier: Apache-2.0
 * What --explain prints, by candidates and a plan made by hand: which operators and groups are
 * shown, in what words, and what a part costs with each of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/stream/explain.h"

enum { OPERATORS = 6 };

static const wk_sched_machine machine = {.queues = {.n = 3, .computes = 3},
                                         .units = {"array", "vector"}};

/* Operator i writes tensor i + 1. */
static const struct {
  const char *name, *op;
  uint32_t layer;
} operators[OPERATORS + 1] = {{"stem", "conv", 0}, {"stem.1", "conv", 0}, {"pool", "max_pool", 1},
                          {"sum", "add", 2},   {"head", "matmul", 3}, {"end", "softmax", 4},
                              {"behind", "conv", 5}}; /* of none of the part's */
static const char *layers[] = {"stem", "pool", "sum", "head", "end", "behind"};

#define GROUP(begin, end, n, ...)                                                               \
  { .first = (begin), .last = (end), .strips = (n), .rounds = 1, .keeps = __VA_ARGS__ }

/* Groups by first and last operator, strips, constants that are kept. As the search has them: the
 * last operator ascending. */
static wk_sched_candidate candidates[] = {
    /* no plan has what begins behind operator 0 */
    {GROUP(1, 1, 1, false), true, 40, 32, {30, 0}, 10, 30, 45},
    {GROUP(1, 1, 2, false), true, 41, 32, {30, 0}, 10, 30, 46},
    {GROUP(0, 1, 1, false), true, 100, 64, {80, 0}, 20, 80, 110.4},
    {GROUP(0, 1, 2, true), true, 90, 128, {80, 0}, 40, 80, 95},
    /* of a group that the plan does not have the cheapest, the first of them */
    {GROUP(2, 2, 1, false), true, 60, 16, {0, 70}, 5, 70, 75},
    {GROUP(2, 2, 2, false), true, 50, 24, {0, 40}, 40, 40, 52},
    {GROUP(2, 2, 4, true), true, 50, 25, {0, 40}, 41, 41, 52},
    {GROUP(2, 2, 8, true), true, 55, 26, {1, 2}, 3, 3, 57},
    /* none of them fits: the one that goes through at once */
    {GROUP(1, 2, 1, false), false, 0, 0, {0, 0}, 0, 0, 0},
    {GROUP(1, 2, 2, false), false, 0, 0, {0, 0}, 0, 0, 0},
    /* only the last one fits */
    {GROUP(0, 2, 1, false), false, 0, 0, {0, 0}, 0, 0, 0},
    {GROUP(0, 2, 2, true), true, 999, 1, {7, 7}, 7, 7, 1000},
    {GROUP(3, 3, 1, false), true, 30, 8, {0, 25}, 30, 30, 33},
    /* all of a group that the plan has */
    {GROUP(2, 3, 1, true), false, 0, 0, {0, 0}, 0, 0, 0},
    {GROUP(2, 3, 3, false), true, 70, 48, {10, 60}, 61, 61, 72.5},
    {GROUP(2, 3, 3, true), true, 65, 40, {10, 60}, 59, 60, 66},
    {GROUP(1, 3, 1, false), true, 20, 2, {1, 0}, 0, 1, 21},
    {GROUP(4, 4, 1, false),
     true, 150, 5000, {30, 0}, 190, 190, 205},
    {GROUP(2, 4, 1, false),
     true, 300, 5048, {30, 60}, 290, 290, 280},
    {GROUP(5, 5, 1, false), true, 10, 4, {0, 9}, 2, 9, 12},
    /* behind the list: of no interest */
    {GROUP(0, 5, 1, false), true, 1, 1, {1, 0}, 0, 1, 1},
    {GROUP(2, 2, 1, false), true, 1, 1, {1, 0}, 0, 1, 1}};
enum { CANDIDATES = WK_COUNTOF(candidates) - 2 };

static const wk_sched_group chosen[] = {
    GROUP(0, 1, 2, true),
    GROUP(2, 3, 3, true),
    GROUP(4, 4, 1, false),
    GROUP(5, 5, 1, false, .alone = true)};

typedef struct {
  wk_sched_op ops[OPERATORS + 1];
  wk_sched_group groups[WK_COUNTOF(chosen)];
  int resident[OPERATORS + 2];
  wk_sched_net net;
  wk_sched_plan plan;
} part;

static void make_part(part *p) {
  memset(p, 0, sizeof *p);
  memcpy(p->groups, chosen, sizeof chosen);
  for (int i = 0; i <= OPERATORS + 1; i++) p->resident[i] = -1;
  for (int i = 0; i <= OPERATORS; i++) {
    p->ops[i].name = operators[i].name;
    p->ops[i].kind = operators[i].op;
    p->ops[i].layer = operators[i].layer;
    p->ops[i].out.tensor = i + 1;
  }
  p->resident[2] = 3; /* of operator 1 */
  p->resident[4] = 4;
  p->net = (wk_sched_net){.machine = &machine, .ops = p->ops, .n_ops = OPERATORS,
                          .layers = layers, .n_layers = WK_COUNTOF(layers)};
  p->plan.groups.data = p->groups, p->plan.groups.n = WK_COUNTOF(chosen);
  p->plan.resident = p->resident;
}

/* The text about a layer; "" when the part does not have it. */
static void print(const part *p, wk_sched_explain *x, char *text, size_t size) {
  wk_sched_explain_text(x, &p->net, &p->plan);
  assert_true(x->text.n < size);
  if (x->text.n) strcpy(text, x->text.s);
  wk_str_free(&x->text);
  assert_int_equal(x->list.n, 0);
}

static void explain(const part *p, wk_sched_explain *x, char *text, size_t size) {
  x->list.data = candidates, x->list.n = CANDIDATES;
  print(p, x, text, size);
}

#define HEAD                                                                                       \
  "groups with it, those of other operators than the chosen one at their best (*: chosen; 2x8: "   \
  "in 8 rounds; s: stages side by side; p: the operand comes in parts; f: strips of as many rows " \
  "of the first operator; total: what the part costs with it, the least wins):\n"                 \
  "  from   to strips  constants     cycles      bytes      array     vector     memory  limit   " \
  "     idle         cost        total\n"

static const struct {
  const char *layer, *text;
} texts[] = {
    {"pool",
     "operators around pool:\n"
     "     0 stem (conv)\n"
     "     1 stem.1 (conv): the result stays in the scratchpad until operator 3\n"
     ">    2 pool (max_pool)\n"
     "     3 sum (add): the result stays in the scratchpad until operator 4\n"
     "     4 head (matmul)\n"
     HEAD
     "     2    2      2  per strip         50         24          0         40         40  "
     "vector         10           52          397\n"
     "     1    2      1  once       does not fit into the scratchpad\n"
     "     0    2      2  kept             999          1          7          7          7  "
     "array         992         1000         1250\n"
     "     2    3      1  once       does not fit into the scratchpad\n"
     "     2    3      3  per strip         70         48         10         60         61  "
     "memory          9           72          384\n"
     "*    2    3      3  kept              65         40         10         60         59  "
     "vector          5           66          378\n"
     "     1    3      1  once              20          2          1          0          0  "
     "array          19           21          inf\n"
     "     2    4      1  once             300       5048         30         60        290  "
     "memory         10          280          387\n"},
    {"stem",
     "operators around stem:\n"
     ">    0 stem (conv)\n"
     ">    1 stem.1 (conv): the result stays in the scratchpad until operator 3\n"
     "     2 pool (max_pool)\n"
     "     3 sum (add): the result stays in the scratchpad until operator 4\n"
     HEAD
     "     1    1      1  once              40         32         30          0         10  "
     "array          10           45          inf\n"
     "     0    1      1  once             100         64         80          0         20  "
     "array          20          110          393\n"
     "*    0    1      2  kept              90        128         80          0         40  "
     "array          10           95          378\n"
     "     1    2      1  once       does not fit into the scratchpad\n"
     "     0    2      2  kept             999          1          7          7          7  "
     "array         992         1000         1250\n"
     "     1    3      1  once              20          2          1          0          0  "
     "array          19           21          inf\n"},
    {"end",
     "operators around end:\n"
     ">    5 end (softmax)\n"
     HEAD
     "*    5    5      1  once              10          4          0          9          2  "
     "vector          1           12          378\n"},
    {"head",
     "operators around head:\n"
     "     2 pool (max_pool)\n"
     "     3 sum (add): the result stays in the scratchpad until operator 4\n"
     ">    4 head (matmul)\n"
     HEAD
     "*    4    4      1  once             150       5000         30          0        190  "
     "memory          0          205          378\n"
     "     2    4      1  once             300       5048         30         60        290  "
     "memory         10          280          387\n"},
};

static void layers_are_explained(void **state) {
  part p;
  int wrong = 0;
  (void)state;
  make_part(&p);
  for (size_t i = 0; i < WK_COUNTOF(texts); i++) {
    char got[4096] = "";
    wk_sched_explain x = {.layer = texts[i].layer};
    explain(&p, &x, got, sizeof got);
    assert_true(x.is_found);
    if (strcmp(got, texts[i].text) == 0) continue;
    print_error("%s:\n%s", texts[i].layer, got);
    wrong++;
  }
  assert_int_equal(wrong, 0);
}

/* Of parts without the layer nothing is said; that one had it is remembered. */
static void parts_without_the_layer(void **state) {
  part p;
  char got[4096] = "";
  wk_sched_explain x = {.layer = "stem.1"}; /* an operator's name, no layer's */
  (void)state;
  make_part(&p);
  explain(&p, &x, got, sizeof got);
  assert_string_equal(got, "");
  assert_false(x.is_found);
  x.layer = "end";
  explain(&p, &x, got, sizeof got);
  assert_true(x.is_found);
  for (int i = 0; i < 2; i++) {
    x.layer = i ? "nowhere" : "behind";
    memset(got, 0, sizeof got);
    explain(&p, &x, got, sizeof got);
    assert_string_equal(got, "");
    assert_true(x.is_found);
  }
}

/* A part of one operator, with one candidate. */
static void one_operator(void **state) {
  wk_sched_candidate one = {GROUP(0, 0, 1, true),
                            true, 40, 32, {30, 0}, 10, 30, 45};
  wk_sched_explain x = {.layer = "stem", .list = {.data = &one, .n = 1}};
  char got[1024] = "";
  part p;
  (void)state;
  make_part(&p);
  p.net.n_ops = p.plan.groups.n = 1;
  p.groups[0] = one.group;
  p.resident[1] = 0;
  print(&p, &x, got, sizeof got);
  assert_string_equal(got, "operators around stem:\n"
                           ">    0 stem (conv): the result stays in the scratchpad until operator "
                           "0\n" HEAD
                           "*    0    0      1  once              40         32         30    "
                           "      0         10  array          10           45           45\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(layers_are_explained),
                                     cmocka_unit_test(parts_without_the_layer),
                                     cmocka_unit_test(one_operator)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
