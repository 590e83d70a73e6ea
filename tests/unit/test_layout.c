/* SPDX-License-Identifier: Apache-2.0
 * In which order of axes values are stored: what convolutions write, what follows them, what moves
 * data for nothing, and which values are written for their readers. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/lower/lower.h"
#include "tests/unit/graph_text.h"

#define PADS "{strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}\n"
#define CONV "%w = constant f32[4,2,1,1] splat(1.0)\n%c = conv(%x, %w) " PADS
#define MAP(name, of) "%" name " = map(%" of ") {body=\"neg(%0)\"}\n"
#define POOL "kernel=[1,1], strides=[1,1], pads=[0,0,0,0], dilations=[1,1]"
#define SUM(name, of, axes, keep)                                                            \
  "%" name " = reduce(%" of ") {kind=\"sum\", axes=[" axes "], keepdims=" keep "}\n"
#define ARGS "%x: f32[2,2,3,5], %f: f32[2,4,3,5], %v: f32[4,1,1], %o: f32[1,4,1,1]"

/* orders: "value:axes, outermost first" of those that are not stored as they are indexed. */
static const struct { bool channels_last; const char *args, *body, *orders; } cases[] = {
    {true, ARGS, CONV "output %c\n", "c:0231"},
    {false, ARGS, CONV "output %c\n", ""},
    {true, "%x: f32[2,2,5]", "%w = constant f32[4,2,1] splat(1.0)\n%c = conv(%x, %w) "
     "{strides=[1], pads=[0,0], dilations=[1]}\noutput %c\n", "c:021"},
    {true, "%x: f32[2,2,3,5,2]", "%w = constant f32[4,2,1,1,1] splat(1.0)\n%c = conv(%x, %w) "
     "{strides=[1,1,1], pads=[0,0,0,0,0,0], dilations=[1,1,1]}\noutput %c\n", "c:02341"},
    {true, ARGS, "%w = constant f32[2,4,1,1] splat(1.0)\n%c = conv_transpose(%x, %w) "
     "{strides=[1,1], pads=[0,0,0,0], dilations=[1,1], output_padding=[0,0]}\noutput %c\n",
     "c:0231"},
    /* what keeps the order of its operand */
    {true, ARGS, CONV MAP("y", "c") "output %y\n", "c:0231 y:0231"},
    {true, ARGS, CONV "%y = max_pool(%c) {" POOL "}\noutput %y\n", "c:0231 y:0231"},
    {true, ARGS, CONV "%y = avg_pool(%c) {" POOL ", real_pads=[0,0,0,0]}\noutput %y\n",
     "c:0231 y:0231"},
    {true, ARGS, CONV "%y = lp_pool(%c) {p=2, " POOL "}\noutput %y\n", "c:0231 y:0231"},
    {true, ARGS, CONV "%y = pad(%c) {before=[0,0,1,0], after=[0,0,0,0]}\noutput %y\n",
     "c:0231 y:0231"},
    {true, ARGS, CONV "%y = slice(%c) {starts=[0,0,1,0], sizes=[2,4,2,5], steps=[1,1,1,1]}\n"
     "output %y\n", "c:0231 y:0231"},
    {true, ARGS, CONV "%y, %z = split(%c) {axis=1, sizes=[2,2]}\noutput %y\noutput %z\n",
     "c:0231 y:0231 z:0231"},
    {true, ARGS, CONV "%y = identity(%c)\noutput %y\n", "c:0231 y:0231"},
    {true, ARGS, CONV "%y = concat(%f, %c) {axis=1}\noutput %y\n", "c:0231 y:0231"},
    {true, ARGS, CONV "%y = concat(%c, %f) {axis=1}\noutput %y\n", "c:0231 y:0231"},
    {true, ARGS, CONV "%y = concat(%f, %f) {axis=1}\noutput %y\noutput %c\n", "c:0231"},
    {true, ARGS, CONV "%k = constant i64[2] {3,1}\n%y = gather(%c, %k) {axis=1}\noutput %y\n",
     "c:0231 y:0231"},
    {true, ARGS, CONV "%k = constant i64[2,2] {3,1,0,2}\n%y = gather(%c, %k) {axis=1}\n"
     "output %y\n", "c:0231"},
    /* of several operands, one of the result's shape decides, first of all one with an order */
    {true, ARGS, CONV "%y = map(%f, %c) {body=\"add(%0, %1)\"}\noutput %y\n", "c:0231 y:0231"},
    {true, ARGS, CONV "%y = map(%c, %f) {body=\"add(%0, %1)\"}\noutput %y\n", "c:0231 y:0231"},
    {true, ARGS, CONV "%y = map(%v, %c) {body=\"add(%0, %1)\"}\noutput %y\n", "c:0231 y:0231"},
    {true, ARGS, CONV "%y = map(%o, %c) {body=\"add(%0, %1)\"}\noutput %y\n", "c:0231 y:0231"},
    {true, ARGS, CONV SUM("s", "c", "2,3", "1") "%y = map(%f, %s) {body=\"add(%0, %1)\"}\n"
     "output %y\n", "c:0231"},
    {true, ARGS, CONV SUM("s", "c", "2,3", "1") "%y = map(%s, %f) {body=\"add(%0, %1)\"}\n"
     "output %y\n", "c:0231"},
    {true, ARGS, CONV SUM("s", "c", "2", "1") SUM("t", "c", "3", "1")
     "%y = map(%s, %t) {body=\"add(%0, %1)\"}\noutput %y\n", "c:0231 s:031 t:021 y:0231"},
    {true, ARGS, CONV SUM("s", "c", "2", "1") SUM("t", "f", "3", "1")
     "%y = map(%t, %s) {body=\"add(%0, %1)\"}\noutput %y\n", "c:0231 s:031 y:0231"},
    {true, "%x: f32[2,2,3,3], %f: f32[2,4,3,3]", CONV "%t = transpose(%f) {perm=[0,1,3,2]}\n"
     "%y = map(%c, %t) {body=\"add(%0, %1)\"}\noutput %y\n", "c:0231 t:0132 y:0231"},
    {true, "%x: f32[2,2,3,3], %f: f32[2,4,3,3]", CONV "%t = transpose(%f) {perm=[0,1,3,2]}\n"
     "%y = map(%t, %c) {body=\"add(%0, %1)\"}\noutput %y\n", "c:0231 t:0132 y:0132"},
    {true, ARGS, CONV SUM("r", "c", "0", "0") SUM("s", "c", "3", "1")
     "%y = map(%r, %s) {body=\"add(%0, %1)\"}\noutput %y\n", "c:0231 r:120 s:021 y:0231"},
    /* folds */
    {true, ARGS, CONV SUM("y", "c", "3", "1") "output %y\n", "c:0231 y:021"},
    {true, ARGS, CONV SUM("y", "c", "2,3", "0") "output %y\n", "c:0231"},
    {true, ARGS, CONV SUM("y", "c", "1", "0") "output %y\n", "c:0231"},
    {true, ARGS, CONV SUM("y", "c", "2", "0") "output %y\n", "c:0231 y:021"},
    {true, ARGS, CONV SUM("y", "c", "3", "0") "output %y\n", "c:0231 y:021"},
    {true, ARGS, CONV SUM("y", "c", "0", "0") "output %y\n", "c:0231 y:120"},
    {true, ARGS, CONV SUM("y", "c", "0,3", "0") "output %y\n", "c:0231 y:10"},
    {true, ARGS, CONV SUM("y", "c", "0,2", "0") "output %y\n", "c:0231 y:10"},
    {true, ARGS, CONV SUM("y", "c", "0,1", "0") "output %y\n", "c:0231"},
    {true, ARGS, SUM("y", "x", "0", "0") "output %y\n", ""},
    /* transposes are views */
    {true, ARGS, "%y = transpose(%x) {perm=[0,2,3,1]}\noutput %y\n", "y:0312"},
    {true, ARGS, "%y = transpose(%x) {perm=[1,2,3,0]}\noutput %y\n", "y:3012"},
    {true, ARGS, CONV "%y = transpose(%c) {perm=[0,2,3,1]}\noutput %y\n", "c:0231"},
    {true, ARGS, CONV "%y = transpose(%c) {perm=[0,3,1,2]}\noutput %y\n", "c:0231 y:0312"},
    {true, ARGS, CONV "%y = transpose(%c) {perm=[1,0,2,3]}\noutput %y\n", "c:0231 y:1230"},
    /* and so are reshapes, where axes stay together; where not, images keep channels last */
    {true, ARGS, CONV "%y = reshape(%c) {shape=[2,4,15]}\noutput %y\n", "c:0231 y:021"},
    {true, ARGS, CONV "%y = reshape(%c) {shape=[2,2,2,3,5]}\noutput %y\n", "c:0231 y:03412"},
    {true, ARGS, CONV "%y = reshape(%c) {shape=[1,2,4,3,5]}\noutput %y\n", "c:0231 y:1342"},
    {true, ARGS, CONV "%y = reshape(%c) {shape=[2,4,3,1,5]}\noutput %y\n", "c:0231 y:0241"},
    {true, ARGS, CONV "%y = reshape(%c) {shape=[2,60]}\noutput %y\n", "c:0231"},
    {true, ARGS, CONV "%y = reshape(%c) {shape=[8,15]}\noutput %y\n", "c:0231"},
    {true, ARGS, CONV "%y = reshape(%c) {shape=[8,3,5]}\noutput %y\n", "c:0231 y:021"},
    {true, ARGS, CONV "%y = reshape(%c) {shape=[2,10,6]}\noutput %y\n", "c:0231 y:021"},
    {true, ARGS, CONV "%y = reshape(%c) {shape=[2,3,4,5]}\noutput %y\n", "c:0231 y:0231"},
    {false, ARGS, "%c = transpose(%x) {perm=[0,2,3,1]}\n%y = reshape(%c) {shape=[2,5,6]}\n"
     "output %c\noutput %y\n", "c:0312"},
    {true, ARGS, "%y = reshape(%x) {shape=[2,5,6]}\noutput %y\n", ""},
    /* written for a transpose in front of reshapes only */
    {false, ARGS, MAP("a", "x") "%t = transpose(%a) {perm=[0,2,1,3]}\n"
     "%y = reshape(%t) {shape=[6,10]}\noutput %y\n", "a:0213"},
    {false, ARGS, MAP("a", "x") "%t = transpose(%a) {perm=[0,2,1,3]}\n"
     "%y = reshape(%t) {shape=[6,10]}\n%z = reshape(%t) {shape=[60]}\noutput %y\noutput %z\n",
     "a:0213"},
    {false, ARGS, MAP("a", "x") "%t = transpose(%a) {perm=[1,2,0,3]}\n"
     "%y = reshape(%t) {shape=[2,3,1,10]}\noutput %y\n", "a:1203"},
    {false, ARGS, MAP("a", "x") "%t = transpose(%a) {perm=[1,0,2,3]}\n"
     "%y = reshape(%t) {shape=[2,1,2,15]}\noutput %y\n", "a:1023"},
    {false, ARGS, MAP("a", "x") "%t = transpose(%a) {perm=[0,2,1,3]}\n"
     "%y = reshape(%t) {shape=[6,10]}\noutput %y\noutput %t\n", "t:0213"},
    {false, ARGS, MAP("a", "x") "%t = transpose(%a) {perm=[0,2,1,3]}\n"
     "%y = reshape(%t) {shape=[6,10]}\n" MAP("z", "t") "output %y\noutput %z\n",
     "t:0213 z:0213"},
    {false, ARGS, MAP("a", "x") "%t = transpose(%a) {perm=[0,2,1,3]}\n" MAP("z", "t")
     "%y = reshape(%t) {shape=[6,10]}\noutput %y\noutput %z\n", "t:0213 z:0213"},
    {false, ARGS, MAP("a", "x") "%t = transpose(%a) {perm=[0,2,1,3]}\n"
     "%y = reshape(%t) {shape=[6,10]}\noutput %y\noutput %a\n", "t:0213"},
    {false, ARGS, MAP("a", "x") "output %a\n", ""},
    {false, ARGS, MAP("a", "x") MAP("b", "a") "output %b\n", ""},
    {false, ARGS, "%t = transpose(%x) {perm=[0,2,1,3]}\n%y = reshape(%t) {shape=[6,10]}\n"
     "output %y\n", "t:0213"},
    {false, ARGS, SUM("a", "x", "3", "1") "%t = transpose(%a) {perm=[0,2,1,3]}\n"
     "%y = reshape(%t) {shape=[6,2]}\noutput %y\n", "t:021"},
    {true, ARGS, CONV MAP("a", "c") "%t = transpose(%a) {perm=[0,3,2,1]}\n"
     "%y = reshape(%t) {shape=[10,12]}\noutput %y\n", "c:0231 a:0231 t:0213"},
    {false, "%x: f32[2,3,4], %z: f32[2,4,5]", "%a = matmul(%x, %z)\n"
     "%t = transpose(%a) {perm=[1,0,2]}\n%y = reshape(%t) {shape=[3,10]}\noutput %y\n", "a:102"},
    {false, "%x: f32[2,3,4]", "%k = constant i64[3] {1,0,1}\n%a = gather(%x, %k)\n"
     "%t = transpose(%a) {perm=[1,0,2]}\n%y = reshape(%t) {shape=[3,12]}\noutput %y\n", "a:102"}};

/* Axes of size 1 may stand anywhere and are left out. An order that is none is marked. */
static void orders_of(const wk_graph *g, wk_str *b) {
  wk_str_add(b, "");
  for (size_t v = 0; v < g->values.n; v++) {
    const wk_value *x = &g->values.data[v];
    bool moves = false, any = false;
    int last = -1;
    for (int i = 0; x->has_order && i < x->type.rank; i++) {
      any |= x->order[i] != i;
      if (x->type.dims[x->order[i]] == 1) continue;
      moves |= x->order[i] < last;
      last = x->order[i];
    }
    if (!x->has_order || (any && !moves)) continue;
    wk_str_printf(b, "%s%s:%s", b->n ? " " : "", x->name, any ? "" : "!");
    for (int i = 0; i < x->type.rank; i++)
      if (x->type.dims[x->order[i]] != 1) wk_str_printf(b, "%d", x->order[i]);
  }
}

static void test_orders(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str got = {0};
    wk_module *m = graph_of(cases[i].args, "", cases[i].body);
    for (int again = 0; again < 2; again++) { /* a second time, from what the first one left */
      assert_null(wk_layout_assign(m, cases[i].channels_last));
      wk_str_free(&got);
      got = (wk_str){0};
      orders_of(m->main, &got);
      if (strcmp(got.s, cases[i].orders)) {
        print_error("case %zu: %s-- is: %s, want: %s\n", i, cases[i].body, got.s, cases[i].orders);
        bad++;
      }
    }
    wk_module_free(m);
    wk_str_free(&got);
  }
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
