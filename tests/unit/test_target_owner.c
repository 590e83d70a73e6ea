/* SPDX-License-Identifier: Apache-2.0
 * Who has a node, and why others do not: claims of whole operators, the host, what is inside of
 * branches and loops. */
#include "tests/unit/case_text.h"

#include "compiler/target/owners.h"
#include "tests/plain_target.h"

/* Supports what it is told to, and claims so. */
typedef struct {
  wk_instance base;
  const char *supports, *claims; /* operators: " exp add " */
} picky;

static bool has(const char *list, const wk_node *n) {
  char name[40];
  snprintf(name, sizeof name, " %s ", wk_op_get(n->op)->name);
  return strstr(list, name) != NULL;
}

static bool picky_supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                           const char **reason) {
  (void)g, (void)a;
  *reason = "it is not on the list";
  return has(((const picky *)t)->supports, n);
}

static bool picky_claims(const wk_instance *t, const wk_graph *g, const wk_node *n) {
  (void)g;
  return has(((const picky *)t)->claims, n);
}

static bool silent_supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                            const char **reason) {
  (void)reason;
  const char *ignored;
  return picky_supports(t, g, n, a, &ignored);
}

#define UNCLAIMED "another target claims it, this one does not"
#define UNLISTED "it is not on the list"

/* The first target claims, the second has no such function, the third may be the host. */
static const struct {
  const char *graph; /* the node of y, which is the last of the main graph */
  const char *supports[3], *claims;
  bool has_host;
  uint32_t owner;
  const char *why[3]; /* NULL: it takes the node */
} cases[] = {
    {"%y = map(%x) {body=\"neg(%0)\"}", {" map ", " map ", " map "}, "", true, 0,
     {NULL, NULL, NULL}},
    {"%y = map(%x) {body=\"neg(%0)\"}", {" exp ", " map ", " map "}, "", true, 1,
     {UNLISTED, NULL, NULL}},
    {"%y = map(%x) {body=\"neg(%0)\"}", {" exp ", " exp ", " map "}, "", false, 2,
     {UNLISTED, UNLISTED, NULL}},
    {"%y = map(%x) {body=\"neg(%0)\"}", {" exp ", " exp ", " exp "}, "", true, 3,
     {UNLISTED, UNLISTED, UNLISTED}},
    {"%y = softmax(%x) {axis=0}", {" softmax ", " softmax ", " softmax "}, " softmax ", true, 0,
     {NULL, UNCLAIMED, NULL}},
    {"%y = softmax(%x) {axis=0}", {" softmax ", " softmax ", " softmax "}, " exp ", true, 2,
     {UNCLAIMED, UNCLAIMED, NULL}},
    {"%y = softmax(%x) {axis=0}", {" softmax ", " softmax ", " softmax "}, " exp ", false, 3,
     {UNCLAIMED, UNCLAIMED, UNCLAIMED}},
    {"%y = softmax(%x) {axis=0}", {" exp ", " exp ", " exp "}, " softmax ", true, 2,
     {UNLISTED, UNCLAIMED, NULL}}, /* the host has what it is expanded into */
    {"%y = reshape(%x) {shape=[4,1]}", {" reshape ", " reshape ", " reshape "}, "", true, 0,
     {NULL, NULL, NULL}}, /* movement is for all */
    {"%y = identity(%x)", {" ", " identity ", " identity "}, "", true, 1, {UNLISTED, NULL, NULL}},
    {"%y = if(%c, %x) then @one else @two : f32[4]", {" if map ", " if map cum_sum ", " if "}, "",
     true, 1, {"in its body: cum_sum: " UNLISTED, NULL, "in its body: map: " UNLISTED}},
    {"%y = if(%c, %x) then @one else @two : f32[4]", {" map cum_sum ", " if cum_sum ", " if map "},
     "", true, 3, {UNLISTED, "in its body: map: " UNLISTED, "in its body: cum_sum: " UNLISTED}},
    {"%y = loop(-, %x) {trip=2, n_state=1} do @deep : f32[4]",
     {" loop if map ", " loop map cum_sum ", " loop if map cum_sum "}, "", true, 2,
     {"in its body: cum_sum: " UNLISTED, "in its body: if: " UNLISTED, NULL}},
};
static const char bodies[] =
    "graph @one(%a: f32[4]) {\n%b = map(%a) {body=\"neg(%0)\"}\noutput %b\n}\n"
    "graph @two(%a: f32[4]) {\n%b = map(%a) {body=\"neg(%0)\"}\n%c = cum_sum(%b) {axis=0}\n"
    "output %c\n}\n"
    "graph @deep(%i: i64[], %a: f32[4]) {\n%k = constant bool[] {1}\n"
    "%b = if(%k, %a) then @one else @two : f32[4]\noutput %b\n}\n";

static void owners(void **state) {
  (void)state;
  static const wk_target claiming = {.name = "a", .supports = picky_supports,
                                     .claims = picky_claims, .wish = plain_wish};
  static const wk_target plain = {.name = "b", .supports = picky_supports, .wish = plain_wish};
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str text = {0};
    wk_module *m = NULL;
    wk_str_printf(&text, "module \"m\" {\ngraph @main(%%c: bool[], %%x: f32[4]) {\n%s\noutput %%y\n"
                         "}\n%s}\n", cases[i].graph, bodies);
    wk_status s = wk_module_parse(text.s, "case", &m);
    if (s) fail_msg("%s: %s\n%s", s->place ? s->place : "", s->message, text.s);
    picky t[3];
    for (int k = 0; k < 3; k++)
      t[k] = (picky){{k ? &plain : &claiming, NULL, true}, cases[i].supports[k], cases[i].claims};
    wk_instance *const list[] = {&t[0].base, &t[1].base, &t[2].base};
    const wk_targets all = {.list = list, .n = 3, .has_host = cases[i].has_host};
    wk_node_id last = (wk_node_id)m->main->nodes.n - 1;
    wk_owners *o = wk_owners_new(&all);
    uint32_t owner = wk_owners_first(o, m->main, last);
    if (owner != cases[i].owner) differ++, print_message("%zu: owner %u\n", i, (unsigned)owner);
    for (uint32_t k = 0; k < 3; k++) {
      const char *why = "";
      bool takes = wk_owners_takes(o, k, m->main, last, &why);
      if (takes != !cases[i].why[k] || (!takes && strcmp(why, cases[i].why[k])))
        differ++, print_message("%zu, %u: %d, %s\n", i, (unsigned)k, takes, why);
    }
    wk_owners_free(o);
    wk_str_free(&text);
    wk_module_free(m);
  }
  assert_int_equal(differ, 0);
}

/* A target need not say why. */
static void no_reason(void **state) {
  (void)state;
  static const wk_target silent = {.name = "s", .supports = silent_supports, .wish = plain_wish};
  wk_module *m = NULL;
  assert_null(wk_module_parse("module \"m\" {\ngraph @main(%x: f32[4]) {\n"
                              "%y = cum_sum(%x) {axis=0}\noutput %y\n}\n}\n", "case", &m));
  picky t = {{&silent, NULL, true}, " map ", ""};
  wk_instance *const list[] = {&t.base};
  const wk_targets all = {.list = list, .n = 1};
  wk_owners *o = wk_owners_new(&all);
  const char *why = "";
  assert_false(wk_owners_takes(o, 0, m->main, 0, &why));
  assert_string_equal(why, "no reason given");
  wk_owners_free(o);
  wk_module_free(m);
}

/* What the user has put somewhere is no question for the target. */
static void not_asked(void **state) {
  (void)state;
  static const wk_target willing = {.name = "w", .supports = silent_supports, .wish = plain_wish};
  wk_module *m = NULL;
  assert_null(wk_module_parse("module \"m\" {\ngraph @main(%x: f32[4]) {\n"
                              "%y = relu(%x) \"one.a\"\n%z = relu(%y) \"two\"\noutput %z\n}\n}\n",
                              "case", &m));
  picky t[3];
  for (int k = 0; k < 3; k++) t[k] = (picky){{&willing, k ? "b" : "a", true}, " relu ", " relu "};
  wk_instance *const list[] = {&t[0].base, &t[1].base, &t[2].base};
  const wk_target_pin pins[] = {{"*", 0}, {"one.*", 1}};
  wk_targets all = {.list = list, .n = 3, .pins = pins, .n_pins = 2};
  wk_owners *o = wk_owners_new(&all);
  const char *why = "";
  assert_int_equal(wk_targets_pinned(&all, &m->main->nodes.data[0]), 1);
  assert_int_equal(wk_targets_pinned(&all, &m->main->nodes.data[1]), 0);
  assert_false(wk_owners_takes(o, 0, m->main, 0, &why));
  assert_string_equal(why, "--place has it on w:b");
  assert_string_equal(wk_targets_name(&all, 0).s, "w:a");
  assert_string_equal(wk_targets_name(&all, 2).s, "w:b#2");
  wk_owners_free(o);
  wk_module_free(m);
}

/* Why target 0, which would have every node, does not get node n; NULL: it does. */
static const char *refusal_of(wk_module *m, wk_node_id n) {
  static const wk_target willing = {.name = "w", .supports = silent_supports,
                                    .claims = picky_claims, .wish = plain_wish};
  static picky t[2] = {{{&willing, "a", true}, " relu ", " relu "},
                       {{&willing, "b", true}, " relu ", " relu "}};
  wk_instance *const list[] = {&t[0].base, &t[1].base};
  const wk_targets all = {.list = list, .n = 2, .has_host = true};
  static char text[200];
  wk_owners *o = wk_owners_new(&all);
  const char *why = "";
  bool takes = wk_owners_takes(o, 0, m->main, n, &why);
  snprintf(text, sizeof text, "%s", why);
  wk_owners_free(o);
  return takes ? NULL : text;
}

/* What makes the update of a variable is the host's, what reads one that never changes as well;
 * others may read variables, unless training changes them. */
static void variables(void **state) {
  (void)state;
  wk_module *m = NULL;
  assert_null(wk_module_parse("module \"m\" {\ngraph @main(%x: f32[4]) {\n"
                              "variable %v: f32[4] = splat(0.0)\n"
                              "variable %w: f32[4] = splat(1.0)\n"
                              "%a = relu(%v)\n%b = relu(%w)\n%c = relu(%x)\n%d = relu(%c)\n"
                              "output %a\noutput %b\noutput %d\nupdate %v = %c\n}\n}\n",
                              "case", &m));
  assert_null(refusal_of(m, 0));
  assert_string_equal(refusal_of(m, 1),
                      "it reads a variable that no run changes, which is the host's");
  assert_string_equal(refusal_of(m, 2), "it makes what a variable becomes, which the host does");
  assert_null(refusal_of(m, 3));
  wk_val(m->main, m->main->inputs.data[1])->is_trainable = true;
  for (wk_node_id n = 0; n < 4; n++)
    assert_string_equal(refusal_of(m, n), "the model has variables that training changes, which "
                                          "are the host's");
  wk_module_free(m);
}

/* A target is asked once about a node until a graph is another one; fusion adds nodes meanwhile. */
static int questions;

static bool counting_supports(const wk_instance *t, const wk_graph *g, const wk_node *n,
                              wk_arena *a, const char **reason) {
  (void)t, (void)g;
  questions++;
  *reason = wk_arena_printf(a, "question %d", questions);
  return n->op == WK_OP_RELU;
}

static void asked_once(void **state) {
  (void)state;
  static const wk_target counting = {.name = "c", .supports = counting_supports,
                                     .claims = picky_claims, .wish = plain_wish};
  wk_module *m = NULL;
  assert_null(wk_module_parse("module \"m\" {\ngraph @main(%x: f32[4]) {\n%y = relu(%x)\n"
                              "%z = exp(%y)\noutput %z\n}\n}\n", "case", &m));
  picky t = {{&counting, NULL, true}, "", " relu exp "};
  wk_instance *const list[] = {&t.base};
  const wk_targets all = {.list = list, .n = 1};
  wk_owners *o = wk_owners_new(&all);
  const wk_graph *g = m->main;
  const char *why = "";
  questions = 0;
  for (int round = 0; round < 3; round++) {
    assert_int_equal(wk_owners_first(o, g, 0), 0);
    assert_false(wk_owners_takes(o, 0, g, 1, &why));
    assert_string_equal(why, "question 2");
  }
  for (int k = 0; k < 50; k++) {
    wk_value_id in = g->outputs.data[0], out;
    wk_node_desc d = {.op = WK_OP_EXP, .name = "more", .in = &in, .n_in = 1, .n_out = 1};
    assert_null(wk_graph_add(m->main, &d, &out));
    assert_int_equal(wk_owners_first(o, g, (wk_node_id)g->nodes.n - 1), 1);
  }
  assert_int_equal(questions, 52);
  assert_false(wk_owners_takes(o, 0, g, 1, &why));
  assert_string_equal(why, "question 2");
  wk_owners_forget(o);
  assert_int_equal(wk_owners_first(o, g, 1), 1);
  assert_int_equal(questions, 53);
  wk_owners_free(o);
  wk_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(owners), cmocka_unit_test(no_reason),
                                     cmocka_unit_test(asked_once),
                                     cmocka_unit_test(not_asked),
                                     cmocka_unit_test(variables)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
