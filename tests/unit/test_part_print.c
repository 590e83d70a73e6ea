/* SPDX-License-Identifier: Apache-2.0
 * What is printed of a partition. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/part/part.h"
#include "tests/unit/maps_target.h"

static const char printed[] =
    "row 0: copy y f32[2,3] from x f32[2,3]: 24 bytes\n"
    "row 1: loop (4 rows) at most 4 times\n"
    "    after row 0\n"
    "row 2: part 0 on host: 1 operator, 0 MACs, 48 bytes in and out\n"
    "    in  y f32[2,3]\n"
    "    out t f32[2,3]\n"
    "    after row 0\n"
    "row 3: part 1 on maps: 1 operator, 0 MACs, 48 bytes in and out\n"
    "    in  t f32[2,3]\n"
    "    out u f32[2,3]\n"
    "    after row 2\n"
    "row 4: copy ys f32[4,2,3] from t f32[2,3]: 24 bytes of each iteration\n"
    "    after row 2\n"
    "row 5: copy y f32[2,3] from u f32[2,3]: 24 bytes\n"
    "    after row 3\n"
    "row 6: if (1 rows, else 1) c bool[]\n"
    "    after row 1\n"
    "row 7: part 2 on host: 1 operator, 0 MACs, 48 bytes in and out\n"
    "    in  y f32[2,3]\n"
    "    out z f32[2,3]\n"
    "    after row 1\n"
    "row 8: part 3 on maps: 1 operator, 0 MACs, 48 bytes in and out\n"
    "    in  y f32[2,3]\n"
    "    out z f32[2,3]\n"
    "    after row 1\n"
    "row 9: part 4 on maps: 1 operator, 0 MACs, 48 bytes in and out\n"
    "    in  z f32[2,3]\n"
    "    out e f32[2,3]\n"
    "    after row 6\n"
    "row 10: part 5 on host: 2 operators, 0 MACs, 48 bytes in and out\n"
    "    in  e f32[2,3]\n"
    "    out p f32[3,2]\n"
    "    after row 9\n"
    "row 11: part 6 on maps: 1 operator, 0 MACs, 72 bytes in and out\n"
    "    in  p f32[3,2], v f32[3,2]\n"
    "    out f f32[3,2]\n"
    "    after row 10\n"
    "edges: 256 bytes of memory\n"
    "operators that a target of higher preference did not get:\n"
    "  cum_sum on host, not maps: it is no map\n"
    "     and 2 others\n"
    "  transpose on host, not maps: it is no map\n"
    "    \n";

/* What --print-parts says of rows, and the colours of --emit dot: none for the last target. */
static void test_printed(void **state) {
  (void)state;
  wk_module *m = lowered("graph @main(%c: bool[], %x: f32[2,3], %v: f32[3,2]) {\n"
                         "%y, %ys = loop(-, %x) {trip=4, n_state=1, out_axes=[0], out_reverse=[0]} "
                         "do @body : f32[2,3], f32[4,2,3]\n"
                         "%z = if(%c, %y) then @one else @two : f32[2,3]\n"
                         "%e = exp(%z)\n%k = cum_sum(%e) {axis=0}\n"
                         "%p = transpose(%k) {perm=[1,0]}\n"
                         "%f = map(%p, %v) {body=\"add(%0, %1)\"}\n"
                         "output %e\noutput %ys\noutput %f\n}\n"
                         "graph @body(%i: i64[], %s: f32[2,3]) {\n%t = cum_sum(%s) {axis=1}\n"
                         "%u = relu(%t)\noutput %u\noutput %t\n}\n"
                         "graph @one(%a: f32[2,3]) {\n%b = cum_sum(%a) {axis=0}\noutput %b\n}\n"
                         "graph @two(%a: f32[2,3]) {\n%b = relu(%a)\noutput %b\n}\n");
  wk_parts *p;
  wk_arena *a = wk_arena_new();
  wk_str text = {0};
  assert_null(partition_for(m, &maps_targets, NULL, &p));
  wk_parts_print(&text, p);
  assert_string_equal(text.s, printed);
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

/* A target that is alone has a colour of its own. */
static void test_one_target(void **state) {
  (void)state;
  static wk_instance *const list[] = {&dear_instance};
  static const wk_targets alone = {.list = list, .n = 1, .has_host = true};
  wk_module *m = lowered("graph @main(%x: f32[2,3]) {\n%y = cum_sum(%x) {axis=1}\noutput %y\n}\n");
  wk_parts *p;
  wk_arena *a = wk_arena_new();
  assert_null(partition_for(m, &alone, NULL, &p));
  const char **colour = wk_parts_colours(p, a);
  int n = 0;
  for (size_t i = 0; i < m->main->nodes.n && i < p->of.n; i++) {
    if (wk_nod(m->main, (wk_node_id)i)->dead || p->of.data[i] == WK_NONE) continue;
    assert_string_equal(colour[i], "#9ecae1");
    n++;
  }
  assert_int_equal(n, 1);
  wk_arena_free(a);
  wk_parts_free(p);
  wk_module_free(m);
}

/* What does not pay: 48 bytes at 1 ns each, as many bytes of edges at 30 ns, and 2 us to start,
 * against 48 bytes at 20 ns on the host; and what just pays. */
static void test_too_small(void **state) {
  (void)state;
  static const struct { double start; const char *why; } rows[] = {
      {2e6, "  map on host, not maps: its part is too small: 3.5 us there with 48 bytes of edges, "
            "1.0 us on the host\n"},
      {-528e3, NULL}, /* 48 * (1 + 30) ns - 528 ns = 48 * 20 ns */
      {-527e3, "  map on host, not maps: its part is too small: 1.0 us there with 48 bytes of "
               "edges, 1.0 us on the host\n"}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_target small = maps_target, slow = maps_host;
    small.cost = (wk_target_cost){0, 1e3, 30e3, rows[i].start};
    slow.cost = (wk_target_cost){.per_byte = 20e3};
    wk_instance first = {.target = &small, .is_here = true}, last = {.target = &slow,
                                                                      .is_here = true};
    wk_instance *const list[] = {&first, &last};
    const wk_targets both = {.list = list, .n = 2, .has_host = true};
    wk_module *m = lowered("graph @main(%x: f32[2,3]) {\n%y = relu(%x)\noutput %y\n}\n");
    wk_parts *p;
    wk_str text = {0};
    assert_null(partition_for(m, &both, NULL, &p));
    wk_parts_print(&text, p);
    const char *why = strstr(text.s, "  map on host");
    if (!rows[i].why) assert_null(why);
    else assert_true(why && !strncmp(why, rows[i].why, strlen(rows[i].why)));
    wk_str_free(&text);
    wk_parts_free(p);
    wk_module_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_printed),
                                     cmocka_unit_test(test_one_target),
                                     cmocka_unit_test(test_too_small)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
