/* SPDX-License-Identifier: Apache-2.0 */
/* What program generation and the instruction passes leave over: copies, fills, buffers. Every case
 * also runs through all checks of middle.h. */
#include "tests/unit/case_text.h"
#include "tests/unit/middle.h"

static void must(wk_status s) {
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
}

typedef struct {
  wk_module *m;
  wk_program *p;
} compiled;

/* The body of @main, or a whole list of graphs when the text starts with "graph". */
static compiled compile(const char *inputs, const char *body, bool channels_last) {
  compiled c = {0};
  wk_str text = {0}, why = {0};
  if (!strncmp(body, "graph", 5)) wk_str_printf(&text, "module \"t\" {\n%s\n}\n", body);
  else wk_str_printf(&text, "module \"t\" {\ngraph @main(%s) {\n%s\n}\n}\n", inputs, body);
  must(wk_module_parse(text.s, "case", &c.m));
  const wk_graph *g = c.m->main;
  wk_tensor *in = wk_xcalloc(g->inputs.n + 1, sizeof *in);
  wk_rng rng = {7};
  for (size_t i = 0; i < g->inputs.n; i++) {
    must(wk_tensor_alloc(&wk_val(g, g->inputs.data[i])->type, &in[i]));
    for (int64_t k = 0; k < wk_type_count(&in[i].type); k++)
      if (wk_dtype_is_float(in[i].type.dtype))
        wk_store_f64(in[i].data, in[i].type.dtype, k, wk_rng_normal(&rng));
      else wk_store_i64(in[i].data, in[i].type.dtype, k, wk_rng_range(&rng, 0, 1));
  }
  middle_options o = {.channels_last = channels_last, .order = true};
  size_t n_in = g->inputs.n;
  if (!middle_agrees(c.m, in, &o, &c.p, &why)) fail_msg("%s: %s", body, why.s);
  middle_free(in, n_in);
  wk_str_free(&text);
  return c;
}

static void drop(compiled *c) {
  wk_program_free(c->p);
  wk_module_free(c->m);
}

/* ---- copies ---------------------------------------------------------------------------------- */

typedef struct {
  const char *what, *inputs, *body;
  int before, after, fills;
  bool channels_last;
} copy_case;

#define X23 "%x: f32[2,3]"
#define X234 "%x: f32[2,3,4]"

static const copy_case copy_cases[] = {
    {"a concat's operands are written into place", X23,
     "%a = relu(%x) : f32[2,3]\n%b = tanh(%x) : f32[2,3]\n"
     "%y = concat(%a, %b) {axis=1} : f32[2,6]\noutput %y",
     2, 0, 0, false},
    {"a value joined twice is copied once", X23,
     "%a = relu(%x) : f32[2,3]\n%y = concat(%a, %a) {axis=0} : f32[4,3]\noutput %y", 2, 1, 0,
     false},
    {"inputs are not ours to place", X23,
     "%y = concat(%x, %x) {axis=0} : f32[4,3]\noutput %y", 2, 2, 0, false},
    {"concat of concat", X23,
     "%a = relu(%x) : f32[2,3]\n%b = tanh(%x) : f32[2,3]\n%c = abs(%x) : f32[2,3]\n"
     "%d = concat(%a, %b) {axis=1} : f32[2,6]\n%y = concat(%c, %d) {axis=1} : f32[2,9]\noutput %y",
     4, 0, 0, false},
    {"concat through reshape and transpose", X23,
     "%a = relu(%x) : f32[2,3]\n%b = transpose(%a) {perm=[1,0]} : f32[3,2]\n"
     "%c = reshape(%b) {shape=[1,6]} : f32[1,6]\n%d = tanh(%x) : f32[2,3]\n"
     "%e = reshape(%d) {shape=[1,6]} : f32[1,6]\n"
     "%y = concat(%c, %e) {axis=0} : f32[2,6]\noutput %y",
     5, 0, 0, false},
    {"the parts of a split are views", X234,
     "%a, %b = split(%x) {axis=1, sizes=[1,2]} : f32[2,1,4], f32[2,2,4]\n"
     "%y = relu(%a) : f32[2,1,4]\n%z = relu(%b) : f32[2,2,4]\noutput %y\noutput %z",
     2, 0, 0, false},
    {"a slice backwards is a view", X23,
     "%a = slice(%x) {starts=[1,2], sizes=[2,2], steps=[-1,-2]} : f32[2,2]\n"
     "%y = relu(%a) : f32[2,2]\noutput %y",
     1, 0, 0, false},
    {"a slice that is an output is copied", X23,
     "%y = slice(%x) {starts=[0,1], sizes=[2,2], steps=[1,1]} : f32[2,2]\noutput %y", 1, 1, 0,
     false},
    {"a result is written straight into a reshaped output", X234,
     "%a = relu(%x) : f32[2,3,4]\n%y = reshape(%a) {shape=[6,4]} : f32[6,4]\noutput %y",
     1, 0, 0, false},
    {"and into a transposed one", X234,
     "%a = relu(%x) : f32[2,3,4]\n%y = transpose(%a) {perm=[2,0,1]} : f32[4,2,3]\noutput %y",
     1, 0, 0, false},
    {"a reshape that strides cannot express is one copy", X23,
     "%a = transpose(%x) {perm=[1,0]} : f32[3,2]\n%b = reshape(%a) {shape=[6]} : f32[6]\n"
     "%y = relu(%b) : f32[6]\noutput %y",
     2, 1, 0, false},
    {"an expanded operand is a view", "%x: f32[3,1]",
     "%a = expand(%x) {shape=[2,3,4]} : f32[2,3,4]\n%y = relu(%a) : f32[2,3,4]\noutput %y",
     1, 0, 0, false},
    {"the inside of a pad is written into place", X23,
     "%a = relu(%x) : f32[2,3]\n%y = pad(%a) {before=[1,0], after=[0,2]} : f32[3,5]\noutput %y",
     1, 0, 2, false},
    {"a padded input is copied", X23,
     "%y = pad(%x) {before=[1,1], after=[1,1]} : f32[4,5]\noutput %y", 1, 1, 4, false},
    {"a known fill is no copy", X23,
     "%c = constant f32[] {-inf}\n%a = relu(%x) : f32[2,3]\n"
     "%y = pad(%a, %c) {before=[0,1], after=[0,0]} : f32[2,4]\noutput %y",
     1, 0, 1, false},
    {"a pad that crops takes a view of what it keeps", X23,
     "%a = relu(%x) : f32[2,3]\n%y = pad(%a) {before=[-1,2], after=[0,-1]} : f32[1,4]\noutput %y",
     1, 1, 1, false},
    {"outputs that are inputs, constants, repeated", X23,
     "%c = constant f32[2] {1.0, 2.0}\n%a = relu(%x) : f32[2,3]\n"
     "output %x\noutput %c\noutput %a\noutput %a",
     3, 3, 0, false},
    {"identity costs nothing inside", X23,
     "%a = relu(%x) : f32[2,3]\n%b = identity(%a) : f32[2,3]\noutput %b", 1, 0, 0, false},
    {"empty pieces are no copies", X23,
     "%a = slice(%x) {starts=[0,0], sizes=[0,3], steps=[1,1]} : f32[0,3]\n"
     "%b = relu(%x) : f32[2,3]\n"
     "%y = concat(%a, %b) {axis=0} : f32[2,3]\noutput %y",
     3, 0, 0, false},
    {"rows of heads: transpose between product and reshape", "%q: f32[2,5,3], %k: f32[2,3,4]",
     "%p = matmul(%q, %k) : f32[2,5,4]\n%t = transpose(%p) {perm=[1,0,2]} : f32[5,2,4]\n"
     "%r = reshape(%t) {shape=[5,8]} : f32[5,8]\n%y = relu(%r) : f32[5,8]\noutput %y",
     2, 0, 0, false},
    {"channels joined in memory order", "%x: f32[1,3,4,4]",
     "%w = constant f32[2,3,1,1] splat(0.5)\n"
     "%a = conv(%x, %w) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1]} : f32[1,2,4,4]\n"
     "%b = relu(%a) : f32[1,2,4,4]\n%c = concat(%a, %b) {axis=1} : f32[1,4,4,4]\n"
     "%d = reduce_mean(%c) {axes=[2,3]} : f32[1,4,1,1]\n"
     "%y = reshape(%d) {shape=[1,4]} : f32[1,4]\noutput %y",
     3, 0, 0, true},
};

static void test_copies(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(copy_cases); i++) {
    const copy_case *c = &copy_cases[i];
    compiled k = compile(c->inputs, c->body, c->channels_last);
    int64_t fills = middle_count(k.p, WK_OP_FILL, NULL);
    if (k.p->copies_before != c->before || k.p->copies_after != c->after || fills != c->fills)
      fail_msg("%s: copies %d -> %d and %d fills, not %d -> %d and %d", c->what,
               (int)k.p->copies_before, (int)k.p->copies_after, (int)fills, c->before, c->after,
               c->fills);
    drop(&k);
  }
}

/* ---- in place -------------------------------------------------------------------------------- */

#define CONV_1X1 "{strides=[1,1], pads=[0,0,0,0], dilations=[1,1]"

static void test_residual_in_place(void **state) {
  (void)state;
  compiled c = compile(
      "%x: f32[1,2,4,4]",
      "%w = constant f32[2,2,1,1] splat(0.5)\n%r = conv(%x, %w) " CONV_1X1 "} : f32[1,2,4,4]\n"
      "%a = relu(%r) : f32[1,2,4,4]\n"
      "%y = conv(%a, %w, -, %r) " CONV_1X1 ", epilogue=\"add(%0, %1)\"} : f32[1,2,4,4]\n"
      "%z = reduce_max(%y) {axes=[2]} : f32[1,2,1,4]\noutput %z",
      true);
  const wk_inst *last = NULL;
  for (size_t i = 0; i < c.p->body.insts.n; i++)
    if (c.p->body.insts.data[i]->op == WK_OP_CONV) last = c.p->body.insts.data[i];
  assert_int_equal(last->n_operands, 5);
  assert_int_equal(last->operands[0].buffer, last->operands[4].buffer); /* y is r */
  assert_int_equal(c.p->region_size[WK_REGION_ACT], 2 * 128);
  drop(&c);
}

/* A chain of maps needs one buffer; a value that is read again keeps its own. */
static void test_maps_in_place(void **state) {
  (void)state;
  compiled c = compile("%x: f32[4,64], %w: f32[64,2]",
                       "%a = tanh(%x) : f32[4,64]\n%b = relu(%a) : f32[4,64]\n"
                       "%c = abs(%b) : f32[4,64]\n%y = matmul(%c, %w) : f32[4,2]\noutput %y\n",
                       false);
  assert_int_equal(c.p->region_size[WK_REGION_ACT], 4 * 64 * 4);
  drop(&c);
  c = compile("%x: f32[4,64]",
              "%a = tanh(%x) : f32[4,64]\n%b = relu(%a) : f32[4,64]\n"
              "%t = transpose(%a) {perm=[1,0]} : f32[64,4]\n%y = matmul(%b, %t) : f32[4,4]\n"
              "output %y\n",
              false);
  assert_int_equal(c.p->region_size[WK_REGION_ACT], 2 * 4 * 64 * 4);
  drop(&c);
}

/* ---- loops ----------------------------------------------------------------------------------- */

#define LSTM_WEIGHTS                                          \
  "%w = constant f32[1,8,3] splat(0.25)\n"                    \
  "%r = constant f32[1,8,2] splat(0.125)\n"

static void expect_copies(const char *inputs, const char *body, int after, int loops) {
  compiled c = compile(inputs, body, false);
  int64_t found = middle_count(c.p, WK_OP_LOOP, NULL);
  if (c.p->copies_after != after || found != loops) {
    wk_str s = {0};
    wk_program_print(&s, c.p, WK_PRINT_SHORT);
    fail_msg("%d copies in %d loops, not %d in %d:\n%s", (int)c.p->copies_after, (int)found, after,
             loops, s.s);
  }
  drop(&c);
}

static void test_loop_states(void **state) {
  (void)state;
  /* h and c are set to zero; each step collects h */
  expect_copies("%x: f32[5,1,3]",
                LSTM_WEIGHTS "%y, %h, %c = lstm(%x, %w, %r) : "
                             "f32[5,1,1,2], f32[1,1,2], f32[1,1,2]\n"
                             "output %y\noutput %h\noutput %c",
                3, 1);
  /* nobody wants the rows */
  expect_copies("%x: f32[5,1,3]",
                LSTM_WEIGHTS "-, %h = lstm(%x, %w, %r) : f32[1,1,2]\noutput %h", 2, 1);
  /* two states that change places: both are saved, one of the copies sinks */
  expect_copies("", "graph @main(%a: f32[3], %b: f32[3]) {\n"
                    "%x, %y = loop(-, %a, %b) {trip=3, n_state=2} do @swap : f32[3], f32[3]\n"
                    "output %x\noutput %y\n}\n"
                    "graph @swap(%i: i64[], %p: f32[3], %q: f32[3]) {\noutput %q\noutput %p\n}",
                2 + 3, 1);
  /* a state that stays as it is */
  expect_copies("", "graph @main(%a: f32[3], %b: f32[3]) {\n"
                    "%x, %y = loop(-, %a, %b) {trip=3, n_state=2} do @add : f32[3], f32[3]\n"
                    "output %x\noutput %y\n}\n"
                    "graph @add(%i: i64[], %p: f32[3], %q: f32[3]) {\n"
                    "%s = add(%p, %q) : f32[3]\noutput %s\noutput %q\n}",
                2, 1);
  /* a loop that never runs */
  expect_copies("", "graph @main(%a: f32[3]) {\n"
                    "%x = loop(-, %a) {trip=0, n_state=1} do @twice : f32[3]\noutput %x\n}\n"
                    "graph @twice(%i: i64[], %p: f32[3]) {\n"
                    "%s = add(%p, %p) : f32[3]\noutput %s\n}",
                1, 0);
}

/* Results of both sides are written where the output is. */
static void test_branches(void **state) {
  (void)state;
  expect_copies("", "graph @main(%c: bool[], %a: f32[3]) {\n"
                    "%x = if(%c, %a) then @left else @right : f32[3]\noutput %x\n}\n"
                    "graph @left(%p: f32[3]) {\n%s = relu(%p) : f32[3]\noutput %s\n}\n"
                    "graph @right(%p: f32[3]) {\noutput %p\n}",
                1, 0);
}

/* A map of three results, of which some or all are wanted: one instruction writes just those. */
static void test_wanted_results(void **state) {
  (void)state;
  for (unsigned wanted = 1; wanted < 8; wanted++) {
    wk_str body = {0};
    uint32_t count = 0;
    for (int k = 0; k < 3; k++)
      wk_str_printf(&body, "%s%s%.*s", k ? ", " : "", wanted >> k & 1 ? "%" : "-",
                    (int)(wanted >> k & 1), "abc" + k);
    wk_str_add(&body, " = map(%x, %z) {body=\"s = sub(%0, %1); mul(s, 3.0f32), gt(%1, s), "
                      "add(mul(%0, %0), 1.0f32)\"}\n");
    for (int k = 0; k < 3; k++) {
      if (!(wanted >> k & 1)) continue;
      wk_str_printf(&body, "output %%%c\n", 'a' + k);
      count++;
    }
    compiled c = compile("%x: f32[2,3], %z: f32[2,3]", body.s, false);
    assert_int_equal(c.p->body.insts.n, 1);
    assert_int_equal(c.p->body.insts.data[0]->op, WK_OP_MAP);
    assert_int_equal(c.p->body.insts.data[0]->n_out, count);
    drop(&c);
    wk_str_free(&body);
  }
}

/* An invariant of the loop is read by the last instruction of its body, whose other result nobody
 * wants: that one must not take the invariant's memory. */
static void test_invariant_stays(void **state) {
  (void)state;
  static const char text[] =
      "program \"t\" {\n  buffer input 0 %x : f32[4] align 64\n"
      "  buffer output 0 %y : f32[4] align 64\n  buffer act %k : 16 align 64\n"
      "  buffer act %unused : 16 align 64\n"
      "  map(@out %k[4]:f32; @in %x[4]:f32) {body=\"add(%0, 1.0f32)\"}\n"
      "  fill(@out %y[4]:f32) {value=0.0}\n"
      "  loop(; -, -) {trip=3} do {\n"
      "    map(@out %y[4]:f32, @out %unused[4]:f32; @in %y[4]:f32, @in %k[4]:f32)"
      " {body=\"add(%0, %1), mul(%0, 3.0f32)\"}\n  }\n}\n";
  wk_program *p;
  wk_arena *scratch = wk_arena_new();
  int64_t changes = 0;
  float x[] = {1, 2, 3, 4}, y[4];
  must(wk_program_parse(text, "case", &p));
  must(wk_inst_passes[2].run(p, scratch, &changes));
  assert_string_equal(wk_inst_passes[2].name, "in-place");
  must(wk_place(p, 64));
  must(wk_place_check(p));
  must(wk_eval_program(p, (const void *[]){x}, (void *[]){y}, NULL, NULL));
  for (int i = 0; i < 4; i++) assert_true(y[i] == 3 * (x[i] + 1));
  wk_arena_free(scratch);
  wk_program_free(p);
}

/* The source of the copy repeats one element: its producer cannot write the destination. */
static void test_broadcast_does_not_sink(void **state) {
  (void)state;
  compiled c = compile("", "graph @main(%x: f32[2]) {\n"
                           "%m = reduce_max(%x) {axes=[0]} : f32[1]\n"
                           "%y = expand(%m) {shape=[2]} : f32[2]\noutput %y\n}",
                       false);
  assert_int_equal(c.p->copies_after, 1);
  drop(&c);
}

/* ---- nests, dead stores ---------------------------------------------------------------------- */

static void test_softmax_is_one_nest(void **state) {
  (void)state;
  compiled c = compile("%x: f32[6,32]", "%y = softmax(%x) {axis=1} : f32[6,32]\noutput %y", false);
  assert_int_equal(c.p->body.insts.n, 1);
  assert_int_equal(c.p->body.insts.data[0]->op, WK_OP_NEST);
  assert_int_equal(c.p->region_size[WK_REGION_ACT], 0); /* rows live in scratch */
  assert_true(c.p->region_size[WK_REGION_SCRATCH] > 0);
  drop(&c);
}

static void test_dead_control_goes(void **state) {
  (void)state;
  compiled c = compile(
      "", "graph @main(%a: f32[3], %c: bool[]) {\n"
          "%x = loop(-, %a, %c) {trip=3, n_state=1} do @body : f32[3]\n%y = relu(%a) : f32[3]\n"
          "output %y\n}\n"
          "graph @body(%i: i64[], %p: f32[3], %c: bool[]) {\n"
          "%s = if(%c, %p) then @left else @right : f32[3]\n%t = tanh(%p) : f32[3]\noutput %t\n}\n"
          "graph @left(%p: f32[3]) {\n%s = relu(%p) : f32[3]\noutput %s\n}\n"
          "graph @right(%p: f32[3]) {\noutput %p\n}",
      false);
  assert_int_equal(middle_count(c.p, WK_OP_IF, NULL), 0);
  drop(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_copies),
      cmocka_unit_test(test_residual_in_place),
      cmocka_unit_test(test_maps_in_place),
      cmocka_unit_test(test_loop_states),
      cmocka_unit_test(test_branches),
      cmocka_unit_test(test_wanted_results),
      cmocka_unit_test(test_invariant_stays),
      cmocka_unit_test(test_broadcast_does_not_sink),
      cmocka_unit_test(test_softmax_is_one_nest),
      cmocka_unit_test(test_dead_control_goes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
