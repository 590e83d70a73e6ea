/* SPDX-License-Identifier: Apache-2.0
 * The ends of a model, which the host may have beside --no-host: what it gets there, what is
 * refused between them, and when the refusal says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/part/part.h"
#include "tests/unit/maps_target.h"

static bool supports_products(const wk_instance *t, const wk_graph *g, const wk_node *n,
                              wk_arena *a, const char **reason) {
  return n->op == WK_OP_MATMUL || supports_maps(t, g, n, a, reason);
}

#define SUM(y, x) "%" y " = cum_sum(%" x ") {axis=0}\n"

/* The other target takes maps, products and movement with them. x: f32[4,4]; who has which node, in
 * their order: h the host, t the other; or the error's lines without places, and the hint. */
static const struct {
  const char *what, *graph, *ends, *refused;
} cases[] = {
    {"nothing is left", "%y = matmul(%x, %x)\n%z = relu(%y)\n", "tt", NULL},
    {"before", SUM("a", "x") "%y = matmul(%a, %a)\n%z = relu(%y)\n", "htt", "1 hint"},
    {"behind", "%y = matmul(%x, %x)\n%a = relu(%y)\n" SUM("z", "a"), "tth", "1 hint"},
    {"at both", SUM("a", "x") "%y = matmul(%a, %a)\n" SUM("z", "y"), "hth", "2 hint"},
    {"with what it needs", "%a = relu(%x)\n" SUM("b", "a") "%y = matmul(%b, %b)\n%z = neg(%y)\n",
     "hhtt", "1 hint"},
    {"but not with what others need", "%a = relu(%x)\n" SUM("b", "x") "%y = matmul(%b, %a)\n"
     "%z = neg(%y)\n", "thtt", "1 hint"},
    {"between two products", "%a = matmul(%x, %x)\n" SUM("b", "a") "%z = matmul(%b, %b)\n", "1",
     "1"},
    {"between a product and a map", "%a = matmul(%x, %x)\n" SUM("b", "a") "%z = relu(%b)\n", "1",
     "1"},
    {"beside products, of the input", "%a = matmul(%x, %x)\n" SUM("b", "x") "%z = matmul(%a, %b)\n",
     "tht", "1 hint"},
    {"one end and between", SUM("a", "x") "%b = matmul(%a, %a)\n" SUM("c", "b")
     "%z = relu(%c)\n", "1", "2"},
    {"where the others have nothing", SUM("a", "x") SUM("z", "a"), "2", "2"},
};

/* "hth", or how many nodes are refused and whether that is said to be the ends. */
static void answer_of(const wk_targets *all, const char *graph, wk_str *out) {
  wk_str text = {0};
  wk_parts *p;
  wk_str_printf(&text, "graph @main(%%x: f32[4,4]) {\n%soutput %%z\n}\n", graph);
  wk_module *m = lowered(text.s);
  wk_status s = partition_for(m, all, NULL, &p);
  if (s) {
    int n = 1;
    bool has_hint = s->notes && strstr(s->notes, "--place @ends=host");
    for (const char *c = s->notes ? s->notes : ""; *c; c++) n += *c == '\n';
    wk_str_printf(out, "%d%s", n - has_hint, has_hint ? " hint" : "");
    wk_status_free(s);
  } else {
    for (size_t i = 0; i < p->of.n; i++)
      wk_str_add(out, p->parts.data[p->of.data[i]].target ? "h" : "t");
    wk_parts_free(p);
  }
  wk_module_free(m);
  wk_str_free(&text);
}

static void ends_of_models(void **state) {
  (void)state;
  int differ = 0;
  wk_target target = maps_target;
  target.supports = supports_products;
  wk_instance t = {.target = &target, .is_here = true};
  wk_instance *const list[] = {&t, &dear_instance};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str with = {0}, without = {0};
    answer_of(&(wk_targets){.list = list, .n = 2, .has_host = true, .host_by_pin = true,
                            .host_at_ends = true, .host_name = "host"},
              cases[i].graph, &with);
    answer_of(&(wk_targets){.list = list, .n = 1, .host_by_pin = true, .host_name = "host"},
              cases[i].graph, &without);
    const char *refused = cases[i].refused ? cases[i].refused : cases[i].ends;
    if (strcmp(with.s, cases[i].ends) || strcmp(without.s, refused)) {
      print_message("%s: '%s', alone '%s'\n", cases[i].what, with.s, without.s);
      differ++;
    }
    wk_str_free(&with);
    wk_str_free(&without);
  }
  assert_int_equal(differ, 0);
}

/* A place of its own is no end, and none is needed. */
static void beside_pins(void **state) {
  (void)state;
  wk_target target = maps_target;
  target.supports = supports_products;
  wk_instance t = {.target = &target, .is_here = true};
  wk_instance *const list[] = {&t, &dear_instance};
  const wk_target_pin pin = {"mine", 1};
  const wk_targets all = {.list = list, .n = 2, .has_host = true, .host_by_pin = true,
                          .host_at_ends = true, .pins = &pin, .n_pins = 1};
  wk_str got = {0};
  answer_of(&all, "%a = matmul(%x, %x)\n%b = cum_sum(%a) {axis=0} \"mine\"\n%z = relu(%b)\n", &got);
  assert_string_equal(got.s, "tht");
  wk_str_free(&got);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(ends_of_models),
                                     cmocka_unit_test(beside_pins)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
