/* SPDX-License-Identifier: Apache-2.0
 * Parts that do not pay for their edges, and those that stay in any case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/part/part.h"
#include "tests/unit/maps_target.h"

/* Three maps in a row, a running sum, one map. All tensors have 32 bytes: an operator has 64 bytes
 * of operands, an island as many of edges. */
static const char *const two_islands =
    "graph @main(%x: f32[8]) {\n%a = relu(%x) : f32[8]\n%b = neg(%a) : f32[8]\n"
    "%c = abs(%b) : f32[8]\n%s = cum_sum(%c) {axis=0} : f32[8]\n%y = relu(%s) : f32[8]\n"
    "output %y\n}\n";

/* How many of the four maps stay where they are wanted; *why: the first reason of another kind than
 * support. */
static size_t maps_that_stay(wk_target_cost cost, const char **why, wk_str *text) {
  wk_target target = maps_target, host_target = maps_host;
  host_target.cost = (wk_target_cost){.per_byte = 10};
  target.cost = cost;
  wk_instance t = {.target = &target, .is_here = true};
  wk_instance host = {.target = &host_target, .is_here = true};
  wk_instance *const list[] = {&t, &host};
  wk_module *m = lowered(two_islands);
  wk_parts *p;
  size_t stay = 0, moved = 0;
  assert_null(partition_for(m, &(wk_targets){.list = list, .n = 2, .has_host = true}, NULL, &p));
  for (size_t i = 0; i < p->of.n; i++)
    stay += p->of.data[i] != WK_NONE && p->parts.data[p->of.data[i]].target == 0;
  for (size_t i = 0; i < p->reasons.n; i++) {
    if (strncmp(p->reasons.data[i].reason, "its part is too small", 21) != 0) continue;
    if (!moved++) wk_str_add(text, p->reasons.data[i].reason);
    assert_int_equal(p->reasons.data[i].refused, 0);
    assert_int_equal(p->reasons.data[i].target, 1);
  }
  assert_int_equal(stay + moved, 4);
  *why = text->n ? text->s : "";
  wk_parts_free(p);
  wk_module_free(m);
  return stay;
}

/* The first island takes the host 3 * 640 ps, the second 640; either has edges of 64 bytes. */
static void test_islands(void **state) {
  static const struct {
    wk_target_cost cost;
    size_t stay;
    const char *why;
  } rows[] = {
      {{0, 0, 0, 0}, 4, ""},
      {{0, 1, 0, 500}, 4, ""},                           /* 692 and 564 */
      {{0, 1, 1, 512}, 4, ""},                           /* 768 and 640: not more than the host */
      {{0, 1, 1, 513}, 3, "with 64 bytes of edges"},     /* 641 */
      {{0, 0, 20, 0}, 3, "with 64 bytes of edges"},      /* 1280 for either */
      {{0, 0, 0, 1921}, 0, "0.0 us there"},
      {{0, 0, 30, 0}, 3, "with 64 bytes of edges"},      /* 1920 */
      {{0, 10, 0.1, 0}, 0, "with 64 bytes of edges"}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    const char *why;
    wk_str text = {0};
    size_t stay = maps_that_stay(rows[i].cost, &why, &text);
    if (stay != rows[i].stay) fail_msg("row %zu: %zu maps stay", i, stay);
    if (!strstr(why, rows[i].why) || (!*rows[i].why && *why)) fail_msg("row %zu: '%s'", i, why);
    wk_str_free(&text);
  }
}

static bool supports_products(const wk_instance *t, const wk_graph *g, const wk_node *n,
                              wk_arena *a, const char **reason) {
  return n->op == WK_OP_MATMUL || supports_maps(t, g, n, a, reason);
}

/* Whoever asks for such a target wants to see it work: what multiplies stays though the host be
 * faster, and a part beside it pays for its edges; where nothing multiplies all stays. */
static void test_kept_products(void **state) {
  static const struct {
    const char *graph;
    bool keeps, pinned;
    size_t own; /* parts of the target */
  } rows[] = {
#define ALONE "%y = cum_sum(%x) {axis=0}\n%z = relu(%y)\n"
#define BESIDE "%y = matmul(%x, %x)\n%s = cum_sum(%y) {axis=0}\n%z = relu(%s)\n"
      {ALONE, false, false, 0}, {ALONE, true, false, 1},
      {BESIDE, false, false, 0}, {BESIDE, true, false, 1}, {BESIDE, true, true, 2}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_str text = {0};
    wk_target target = maps_target;
    target.supports = supports_products;
    target.keeps_products = rows[i].keeps;
    target.cost = (wk_target_cost){.per_part = 1e9};
    wk_instance t = {.target = &target, .is_here = true};
    wk_instance *const list[] = {&t, &dear_instance};
    const wk_target_pin pin = {"other", 0};
    const wk_targets all = {.list = list, .n = 2, .has_host = true, .pins = &pin,
                            .n_pins = rows[i].pinned};
    wk_str_printf(&text, "graph @main(%%x: f32[4,4]) {\n%soutput %%z\n}\n", rows[i].graph);
    wk_module *m = lowered(text.s);
    wk_parts *p;
    for (size_t k = 0; k < m->main->nodes.n; k++) {
      wk_node *n = &m->main->nodes.data[k];
      n->name = n->op == WK_OP_CUM_SUM ? "sum" : "other";
    }
    assert_null(partition_for(m, &all, NULL, &p));
    size_t own = 0;
    for (size_t k = 0; k < p->parts.n; k++) own += p->parts.data[k].target == 0;
    assert_int_equal(own, rows[i].own);
    wk_parts_free(p);
    wk_module_free(m);
    wk_str_free(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_islands),
                                     cmocka_unit_test(test_kept_products)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
