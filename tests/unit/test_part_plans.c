/* SPDX-License-Identifier: Apache-2.0
 * Whole plans of small graphs: who computes what, in which order, what waits for what, where edges
 * lie, and why who did not get what. A row that differs is printed; when it differs on purpose,
 * read it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/part/part.h"
#include "tests/unit/maps_target.h"

/* One target takes maps, the other what moves things about as well. */
static bool supports_moves(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                           const char **reason) {
  return supports_maps(t, g, n, a, reason) || wk_op_get(n->op)->cls == WK_CLASS_MOVEMENT;
}

static const wk_target moves_target = {.name = "moves", .supports = supports_moves,
                                       .wish = plain_wish};
static wk_instance moves_instance = {.target = &moves_target, .is_here = true};
static wk_instance *const moves_list[] = {&moves_instance, &dear_instance};
static const wk_targets moves_targets = {.list = moves_list, .n = 2, .has_host = true};

/* One takes maps, and wishes what has two axes transposed, in blocks of 2 where it is large. */
static bool turned_edge(const wk_instance *t, const wk_graph *g, wk_value_id v, bool is_output,
                        wk_edge_layout *out) {
  (void)t, (void)is_output;
  const wk_type *type = &wk_val(g, v)->type;
  if (type->rank != 2) return false;
  bool is_large = type->dims[0] > 4;
  *out = (wk_edge_layout){.split = is_large ? 0 : -1, .block = 2, .order = {1, 0, 2}};
  return true;
}

static const wk_target turned_target = {.name = "turned", .supports = supports_maps,
                                        .wish = plain_wish, .edge = turned_edge};
static wk_instance turned_instance = {.target = &turned_target, .is_here = true};
static wk_instance *const turned_list[] = {&turned_instance, &dear_instance};
static const wk_targets turned_targets = {.list = turned_list, .n = 2, .has_host = true};

static const struct {
  const wk_targets *targets;
  const char *target, *what, *graph, *plan;
} cases[] = {
#define PLAN(target, what, graph, plan) {&target##_targets, #target, what, graph, plan},
#include "tests/unit/part_plans.def"
#undef PLAN
};

/* Edges by name: where, and how large. */
static void add_edges(wk_str *b, const wk_parts *p) {
  for (size_t t = p->n_in + p->n_out; t < p->tensors.n; t++)
    wk_str_printf(b, "%s at %d: %d\n", p->tensors.data[t].name, (int)p->tensors.data[t].offset,
                  (int)p->tensors.data[t].bytes);
}

/* Copies of slices say where. */
static void add_slices(wk_str *b, const wk_parts *p) {
  for (size_t i = 0; i < p->rows.n; i++) {
    const wk_part_row *r = &p->rows.data[i];
    if (r->source_step || r->destination_step || r->source_offset || r->destination_offset)
      wk_str_printf(b, "row %zu: from %d by %d to %d by %d\n", i, (int)r->source_offset,
                    (int)r->source_step, (int)r->destination_offset, (int)r->destination_step);
  }
}

static void print_case(size_t i, wk_str *b) {
  wk_module *m = lowered(cases[i].graph);
  wk_parts *p;
  wk_status s = partition_for(m, cases[i].targets, NULL, &p);
  if (s) fail_msg("%s: %s", cases[i].what, s->message);
  wk_parts_print(b, p);
  add_edges(b, p);
  add_slices(b, p);
  wk_parts_free(p);
  wk_module_free(m);
}

/* As a string of C, whose lines have 88 characters at most; is_plan: each row of it on one of its
 * own. */
static void print_text(const char *s, bool is_plan) {
  enum { WIDTH = 88 };
  int n = WIDTH;
  for (; *s; s++) {
    if (n >= WIDTH - 1) {
      printf("\n     \"");
      n = 0;
    }
    n += *s == '"' || *s == '\n' ? 2 : 1;
    if (*s == '"') printf("\\\"");
    else if (*s != '\n') putchar(*s);
    else printf("\\n");
    if ((*s == '\n' && is_plan && s[1] != ' ') || n >= WIDTH - 1 || !s[1]) {
      putchar('"');
      n = WIDTH;
    }
  }
}

static void print_rows(void) {
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str b = {0};
    print_case(i, &b);
    printf("PLAN(%s, \"%s\",", cases[i].target, cases[i].what);
    print_text(cases[i].graph, false);
    printf(",");
    print_text(b.s, true);
    printf(")\n");
    wk_str_free(&b);
  }
}

static void test_plans(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str b = {0};
    print_case(i, &b);
    if (strcmp(b.s, cases[i].plan)) {
      differ++;
      print_message("%s:\n%s", cases[i].what, b.s);
    }
    wk_str_free(&b);
  }
  assert_int_equal(differ, 0);
}

/* With an argument: prints the table. */
int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans)};
  (void)argv;
  if (argc > 1) print_rows();
  return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
