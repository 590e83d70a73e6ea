/* SPDX-License-Identifier: Apache-2.0
 * What is printed of a partition. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/part/part.h"
#include "tests/unit/maps_target.h"

static void expect_line(const wk_str *text, const char *part) {
  if (!strstr(text->s, part)) fail_msg("no '%s' in\n%s", part, text->s);
}

/* What --print-parts says of rows, and the colours of --emit dot: none for the last target. */
static void test_printed(void **state) {
  (void)state;
  wk_module *m = lowered("graph @main(%c: bool[], %x: f32[2,3]) {\n"
                         "%y, %ys = loop(-, %x) {trip=4, n_state=1, out_axes=[0], out_reverse=[0]} "
                         "do @body : f32[2,3], f32[4,2,3]\n"
                         "%z = if(%c, %y) then @one else @two : f32[2,3]\n"
                         "%e = exp(%z)\noutput %e\noutput %ys\n}\n"
                         "graph @body(%i: i64[], %s: f32[2,3]) {\n%t = cum_sum(%s) {axis=1}\n"
                         "%u = relu(%t)\noutput %u\noutput %t\n}\n"
                         "graph @one(%a: f32[2,3]) {\n%b = cum_sum(%a) {axis=0}\noutput %b\n}\n"
                         "graph @two(%a: f32[2,3]) {\n%b = relu(%a)\noutput %b\n}\n");
  wk_parts *p;
  wk_arena *a = wk_arena_new();
  wk_str text = {0};
  assert_null(wk_partition(m, &maps_targets, NULL, &p));
  wk_parts_print(&text, p);
  expect_line(&text, "loop (");
  expect_line(&text, " rows) at most 4 times\n");
  expect_line(&text, "if (1 rows, else 1) c bool[]\n");
  expect_line(&text, " from t f32[2,3]: 24 bytes of each iteration\n");
  expect_line(&text, ": 24 bytes\n");
  expect_line(&text, "on maps: 1 operator, 0 MACs, 48 bytes in and out\n");
  expect_line(&text, "on host, not maps: it is no map\n");
  const char **colour = wk_parts_colours(p, a);
  bool has_map = false, has_other = false;
  for (size_t i = 0; i < m->main->nodes.n && i < p->of.n; i++) {
    const wk_node *n = wk_nod(m->main, (wk_node_id)i);
    if (n->dead) continue;
    if (n->op == WK_OP_MAP) has_map = has_map || colour[i];
    else has_other = has_other || colour[i];
  }
  assert_true(has_map && !has_other);
  wk_str_free(&text);
  wk_arena_free(a);
  wk_parts_free(p);
  wk_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_printed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
