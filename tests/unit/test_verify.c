/* SPDX-License-Identifier: Apache-2.0
 * What the verifier says of a module with one thing wrong: the whole message, and of a node its
 * name. What differs from it in one thing and is right is taken. */
#include <errno.h>

#include "tests/unit/case_text.h"

static wk_value_id named(const wk_graph *g, const char *name) {
  uint32_t id;
  assert_true(wk_map_get(g->names, name, &id));
  return id;
}

static wk_value *value(wk_module *m, const char *name) {
  return wk_val(m->main, named(m->main, name));
}

/* A copy of the value behind the last one, where an id that is one too large leads. */
static wk_value_id beyond(wk_module *m, const char *name) {
  wk_value copy = *value(m, name);
  wk_vec_push(&m->main->values, copy);
  return (wk_value_id)--m->main->values.n;
}

static wk_node *node(wk_module *m, int i) { return &m->main->nodes.data[i]; }

/* One thing that is changed, and what comes of it; no message: it is taken. */
typedef struct {
  void (*change)(wk_module *m);
  const char *message, *place;
} change_case;

static void check(const char *text, const change_case *cases, size_t n) {
  for (size_t k = 0; k < n; k++) {
    wk_module *m = NULL;
    wk_status s = wk_module_parse(text, "t", &m);
    if (s) fail_msg("%s: %s", s->place, s->message);
    size_t graphs = m->graphs.n;
    cases[k].change(m);
    s = wk_module_verify(m);
    const char *got = s ? s->message : "taken", *want = cases[k].message;
    if (strcmp(got, want ? want : "taken")) fail_msg("\"%s\", not \"%s\"", got, want);
    const char *place = s && s->place ? s->place : "";
    assert_string_equal(place, cases[k].place ? cases[k].place : "");
    if (s) assert_int_equal(s->code, WK_INTERNAL);
    wk_status_free(s);
    m->graphs.n = graphs;
    wk_module_free(m);
  }
}
#define CHECK(text, cases) check(text, cases, WK_COUNTOF(cases))

/* ---- values ---------------------------------------------------------------------------------- */

static const char bodies[] =
    "module \"m\" {graph @main(%c:bool[],%x:f32[2,3]){%r=abs(%x) \"first\" "
    "%y=if(%c,%r)then @a else @b \"choice\" %k=constant f32[2] {1,2} %z=neg(%k) "
    "%b=constant u8[1] {1} %s,%t=split(%x){axis=0,sizes=[1,1]} %q=constant i8<0.5,3>[2] {1,2} "
    "%o=reshape(%q){shape=[1,2]} output %y output %z output %s output %b output %o}"
    "graph @a(%p:f32[2,3]){%q=relu(%p) output %q}graph @b(%p:f32[2,3]){output %p}}";

static void nothing(wk_module *m) { (void)m; }
static void order(wk_module *m, uint8_t first, uint8_t second) {
  value(m, "x")->has_order = true;
  value(m, "x")->order[0] = first;
  value(m, "x")->order[1] = second;
}
static void order_01(wk_module *m) { order(m, 0, 1); }
static void order_10(wk_module *m) { order(m, 1, 0); }
static void order_00(wk_module *m) { order(m, 0, 0); }
static void order_11(wk_module *m) { order(m, 1, 1); }
static void order_12(wk_module *m) { order(m, 1, 2); }
static void order_20(wk_module *m) { order(m, 2, 0); }
static void order_far(wk_module *m) { order(m, 32, 1); }
static void no_name(wk_module *m) { value(m, "x")->name = NULL; }
static void rank_below(wk_module *m) { value(m, "x")->type.rank = -1; }
static void last_dim(wk_module *m) { value(m, "x")->type.dims[WK_MAX_RANK - 1] = 1; }
static void next_dim(wk_module *m) { value(m, "x")->type.dims[2] = 1; }
static void no_elements(wk_module *m) { value(m, "k")->data = NULL; }
static void empty_constant(wk_module *m) {
  value(m, "k")->data = NULL;
  value(m, "k")->type.dims[0] = value(m, "z")->type.dims[0] = 0;
}
static void no_byte(wk_module *m) { value(m, "b")->data = NULL; }
static void made_behind_last(wk_module *m) {
  wk_node copy = *node(m, 0);
  wk_vec_push(&m->main->nodes, copy);
  value(m, "r")->node = (wk_node_id)--m->main->nodes.n;
}
static const wk_quant per_tensor = {
    .axis = -1, .n = 1, .scale = (const float[]){1}, .zero_point = (const int32_t[]){0}};
static void quantised_otherwise(wk_module *m) { value(m, "o")->type.quant = &per_tensor; }
static void quantised_no_more(wk_module *m) { value(m, "o")->type.quant = NULL; }
static void quantised_by_whoever(wk_module *m) {
  node(m, 0)->op = WK_OP_RELU;
  value(m, "x")->type.dtype = WK_I8;
  value(m, "r")->type.dtype = value(m, "s")->type.dtype = value(m, "t")->type.dtype = WK_I8;
  value(m, "y")->type.dtype = WK_I8;
  for (int i = 1; i < 3; i++)
    for (size_t v = 0; v < m->graphs.data[i]->values.n; v++)
      m->graphs.data[i]->values.data[v].type.dtype = WK_I8;
  value(m, "s")->type.quant = &per_tensor;
}
static void made_by_next(wk_module *m) { value(m, "r")->node = 3; }
static void second_result(wk_module *m) { value(m, "r")->index = 1; }
static void trainable_result(wk_module *m) { value(m, "r")->is_trainable = true; }

static void values(void **state) {
  static const change_case cases[] = {
      {nothing, NULL, NULL},
      {order_01, NULL, NULL},
      {order_10, NULL, NULL},
      {order_00, "graph @main: the memory order of %x is not a permutation", NULL},
      {order_11, "graph @main: the memory order of %x is not a permutation", NULL},
      {order_12, "graph @main: the memory order of %x is not a permutation", NULL},
      {order_20, "graph @main: the memory order of %x is not a permutation", NULL},
      {order_far, "graph @main: the memory order of %x is not a permutation", NULL},
      {no_name, "graph @main: value 1 has no name", NULL},
      {rank_below, "graph @main: %x has rank -1", NULL},
      {last_dim, "graph @main: %x has dims past its rank", NULL},
      {next_dim, "graph @main: %x has dims past its rank", NULL},
      {no_elements, "graph @main: constant %k has no data", NULL},
      {no_byte, "graph @main: constant %b has no data", NULL},
      {empty_constant, NULL, NULL},
      {quantised_otherwise,
       "graph @main: node 4 (reshape): %o is i8<1.0,0>[1,2], inference says i8<0.5,3>[1,2]", NULL},
      {quantised_no_more,
       "graph @main: node 4 (reshape): %o is i8[1,2], inference says i8<0.5,3>[1,2]", NULL},
      {quantised_by_whoever, NULL, NULL},
      {made_behind_last, "graph @main: %r is not made by the node it names", NULL},
      {made_by_next, "graph @main: %r is not made by the node it names", NULL},
      {second_result, "graph @main: %r is not made by the node it names", NULL},
      {trainable_result, "graph @main: %r is no input but has what variables have", NULL}};
  (void)state;
  CHECK(bodies, cases);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void inst(wk_module *m) { node(m, 0)->op = WK_OP_COPY; }
static void far_op(wk_module *m) { node(m, 0)->op = WK_OP_COUNT; }
static void nameless(wk_module *m) { node(m, 0)->name = NULL; }
static void empty_name(wk_module *m) { node(m, 0)->name = ""; }
static void no_attrs(wk_module *m) { node(m, 2)->attrs = NULL; }
static void no_outputs(wk_module *m) {
  node(m, 2)->n_out = 0;
  value(m, "z")->kind = WK_VALUE_DEAD;
  m->main->outputs.data[1] = named(m->main, "x");
}
static void far_input(wk_module *m) { node(m, 0)->in[0] = beyond(m, "x"); }
static void own_result(wk_module *m) { node(m, 0)->in[0] = named(m->main, "r"); }
static void dead_maker(wk_module *m) { node(m, 0)->dead = true; }
static void dead_value(wk_module *m) { value(m, "r")->kind = WK_VALUE_DEAD; }
static void far_predicate(wk_module *m) { node(m, 0)->predicate = 1000; }
static void number_predicate(wk_module *m) { node(m, 0)->predicate = named(m->main, "k"); }
static void own_predicate(wk_module *m) { node(m, 0)->predicate = named(m->main, "r"); }
static void good_predicate(wk_module *m) { node(m, 0)->predicate = named(m->main, "c"); }
static void far_output(wk_module *m) {
  node(m, 1)->out[0] = beyond(m, "y");
  value(m, "y")->kind = WK_VALUE_DEAD;
  m->main->outputs.data[0] = named(m->main, "x");
}
static void same_outputs(wk_module *m) {
  value(m, "t")->kind = WK_VALUE_DEAD;
  node(m, 3)->out[1] = named(m->main, "s");
}
static void input_as_output(wk_module *m) {
  value(m, "y")->kind = WK_VALUE_DEAD;
  node(m, 1)->out[0] = named(m->main, "x");
}
static void omitted_output(wk_module *m) {
  value(m, "z")->kind = WK_VALUE_DEAD;
  value(m, "z")->name = NULL;
  node(m, 2)->out[0] = WK_NONE;
  m->main->outputs.data[1] = named(m->main, "x");
}
static void no_body(wk_module *m) { node(m, 1)->bodies[1] = NULL; }
static void no_first_body(wk_module *m) { node(m, 1)->bodies[0] = NULL; }
static void other_body(wk_module *m, const char *name) {
  wk_graph *g = wk_arena_memdup(m->arena, m->graphs.data[1], sizeof *g);
  g->name = name;
  node(m, 1)->bodies[0] = g;
}
static void body_of_other(wk_module *m) { other_body(m, "elsewhere"); }
static void body_of_same_name(wk_module *m) { other_body(m, "a"); }
static void body_without_name(wk_module *m) { other_body(m, NULL); }
static void body_of_none(wk_module *m) { node(m, 0)->n_bodies = 1; }
static void nameless_graph(wk_module *m) { m->graphs.data[1]->name = NULL; }
static void empty_graph_name(wk_module *m) { m->graphs.data[2]->name = ""; }
static void other_rows(wk_module *m) { value(m, "z")->type.dims[0] = 3; }
static void other_branch(wk_module *m) { m->graphs.data[2]->values.data[0].type.dims[1] = 4; }

static void nodes(void **state) {
  static const change_case cases[] = {
      {inst, "graph @main: node 0 (copy): not a graph operator", "first"},
      {nameless, "graph @main: node 0 (abs): name is missing", NULL},
      {empty_name, NULL, NULL},
      {no_attrs, "graph @main: node 2 (neg): attributes are missing", NULL},
      {no_outputs, "graph @main: node 2 (neg): no outputs", NULL},
      {far_input, "graph @main: node 0 (abs): input is not a live value", "first"},
      {own_result, "graph @main: node 0 (abs): input %r is used before its definition", "first"},
      {dead_maker, "graph @main: node 1 (if): input is not a live value", "choice"},
      {dead_value, "graph @main: node 0 (abs): output 0 is not its own", "first"},
      {far_predicate, "graph @main: node 0 (abs): predicate is not a live value", "first"},
      {number_predicate, "graph @main: node 0 (abs): the predicate is not bool", "first"},
      {own_predicate, "graph @main: node 0 (abs): predicate %r is used before its definition",
       "first"},
      {good_predicate, NULL, NULL},
      {far_output, "graph @main: node 1 (if): output 0 is not its own", "choice"},
      {same_outputs, "graph @main: node 3 (split): output 1 is not its own", NULL},
      {input_as_output, "graph @main: output 0 is not a live value", NULL},
      {omitted_output, NULL, NULL},
      {no_body, "graph @main: node 1 (if): body 1 is not a graph of the module", "choice"},
      {no_first_body, "graph @main: node 1 (if): body 0 is not a graph of the module", "choice"},
      {body_of_other, "graph @main: node 1 (if): body 0 is not a graph of the module", "choice"},
      {body_of_same_name, "graph @main: node 1 (if): body 0 is not a graph of the module",
       "choice"},
      {body_without_name, "graph @main: node 1 (if): body 0 is not a graph of the module",
       "choice"},
      {body_of_none, "graph @main: node 0 (abs): 1 bodies, needs 0", "first"},
      {nameless_graph, "graph 1 has no name", NULL},
      {empty_graph_name, "graph 2 has no name", NULL},
      {other_rows, "graph @main: node 2 (neg): %z is f32[3], inference says f32[2]", NULL},
      {other_branch,
       "graph @main: node 1 (if): if: input of the else body 0 is f32[2,4], needs f32[2,3]",
       "choice"}};
  (void)state;
  CHECK(bodies, cases);
  wk_module *m = NULL;
  assert_null(wk_module_parse(bodies, "t", &m));
  far_op(m);
  wk_status s = wk_module_verify(m);
  assert_non_null(strstr(s->message, "graph @main: node 0 (unknown operator): operator "));
  wk_status_free(s);
  wk_module_free(m);
}

/* ---- what goes in and out -------------------------------------------------------------------- */

static const char variables[] =
    "module \"m\" {graph @main(%x:f32[2]){variable %w:f32[2] trainable={1,2} "
    "variable %k:i64[1]={7} %y=add(%x,%w) %z=abs(%y) %l=neg(%k) "
    "output %y update %w=%z update %k=%l}}";

static void trainable_integers(wk_module *m) { value(m, "k")->is_trainable = true; }
static void trainable_input(wk_module *m) { value(m, "x")->is_trainable = true; }
static void untrained(wk_module *m) { value(m, "w")->is_trainable = false; }
static void updates_far(wk_module *m) {
  m->main->updates.data[1] = beyond(m, "w");
}
static void updates_result(wk_module *m) { m->main->updates.data[2] = named(m->main, "y"); }
static void two_updates(wk_module *m) { m->main->updates.data[2] = named(m->main, "w"); }
static void other_update(wk_module *m) { m->main->outputs.data[1] = named(m->main, "l"); }
static void same_update(wk_module *m) { m->main->outputs.data[1] = named(m->main, "y"); }
static void fewer_updates(wk_module *m) { m->main->updates.n = 2; }
static void update_first(wk_module *m) {
  m->main->updates.data[0] = named(m->main, "w");
  m->main->updates.data[1] = WK_NONE;
}
static void nameless_output(wk_module *m) { m->main->output_names.data[2] = NULL; }
static void fewer_names(wk_module *m) { m->main->output_names.n = 2; }
static void variable_first(wk_module *m) {
  m->main->inputs.data[0] = named(m->main, "w");
  m->main->inputs.data[1] = named(m->main, "x");
}
static void far_in(wk_module *m) { m->main->inputs.data[2] = beyond(m, "k"); }
static void result_in(wk_module *m) { m->main->inputs.data[2] = named(m->main, "y"); }
static void twice_in(wk_module *m) { m->main->inputs.data[2] = named(m->main, "w"); }
static void fewer_in(wk_module *m) { m->main->inputs.n = 2; }

static void ends(void **state) {
  static const change_case cases[] = {
      {nothing, NULL, NULL},
      {trainable_integers, "graph @main: %k is trainable but no variable of floats", NULL},
      {trainable_input, "graph @main: %x is trainable but no variable of floats", NULL},
      {untrained, NULL, NULL},
      {updates_far, "graph @main: output 1 updates what is no variable", NULL},
      {updates_result, "graph @main: output 2 updates what is no variable", NULL},
      {two_updates, "graph @main: variable %w has two updates", NULL},
      {other_update, "graph @main: variable %w is f32[2], its update %l is i64[1]", NULL},
      {same_update, NULL, NULL},
      {fewer_updates, "graph @main: 3 outputs but 2 updates", NULL},
      {update_first, "graph @main: output 0, an update, comes before a plain output", NULL},
      {nameless_output, "graph @main: output 2 has no name", NULL},
      {fewer_names, "graph @main: 3 outputs but 2 names", NULL},
      {variable_first, "graph @main: variable %w comes before a plain input", NULL},
      {far_in, "graph @main: input 2 is not a placeholder or appears twice", NULL},
      {result_in, "graph @main: input 2 is not a placeholder or appears twice", NULL},
      {twice_in, "graph @main: input 2 is not a placeholder or appears twice", NULL},
      {fewer_in, "graph @main: 3 placeholders but 2 inputs", NULL}};
  (void)state;
  CHECK(variables, cases);
}

/* ---- nesting --------------------------------------------------------------------------------- */

static const char nested[] =
    "module \"m\" {graph @main(%c:bool[],%x:f32[2]){%y=if(%c,%c,%x)then @a else @b "
    "%u=if(%c,%c,%x)then @b else @a %v=loop(-,%x){trip=2,n_state=1} do @l "
    "output %y output %u output %v}"
    "graph @a(%c:bool[],%p:f32[2]){%q=if(%c,%p)then @d else @d output %q}"
    "graph @b(%c:bool[],%p:f32[2]){%q=if(%c,%p)then @d else @e output %q}"
    "graph @l(%i:i64[],%p:f32[2]){output %p}graph @d(%p:f32[2]){output %p}"
    "graph @e(%p:f32[2]){%q=neg(%p) output %q}}";

static void within(wk_module *m, int outer, int from, int inner) {
  m->graphs.data[outer]->nodes.data[from].bodies[1] = m->graphs.data[inner];
}
static void a_in_itself(wk_module *m) { within(m, 1, 0, 1); }
static void a_in_b_in_a(wk_module *m) {
  within(m, 1, 0, 2);
  within(m, 2, 0, 1);
}
static void main_in_b(wk_module *m) { within(m, 2, 0, 0); }

static void loop_of_two(wk_module *m) { node(m, 2)->n_bodies = 2; }

static void nesting(void **state) {
  static const change_case cases[] = {{nothing, NULL, NULL},
                                      {loop_of_two,
                                       "graph @main: node 2 (loop): 2 bodies, needs 1", NULL},
                                      {a_in_itself, "graph @a: contains itself", NULL},
                                      {a_in_b_in_a, "graph @a: contains itself", NULL},
                                      {main_in_b, "graph @main: contains itself", NULL}};
  (void)state;
  CHECK(nested, cases);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static const char labelled[] =
    "module \"m\" {graph @main(%x:f32[4,2],%i:i64[4],%s:f32[],%e:f32[1,1,1,1,1,1,1,2])"
    "{output %x output %i output %s output %e}}";

static void labels(void **state) {
  static const struct {
    const char *output;
    wk_labels_kind kind;
    bool are_numbers;
    int64_t n;
    const char *texts[4];
    bool fits;
  } cases[] = {{"x", WK_LABELS_COLUMNS, false, 2, {"a", "b"}, true},
               {"x", WK_LABELS_COLUMNS, false, 1, {"a"}, false},
               {"x", WK_LABELS_ELEMENTS, false, 2, {"a", "b"}, false},
               {"i", WK_LABELS_ELEMENTS, false, 2, {"a", "b"}, true},
               {"i", WK_LABELS_ELEMENTS, false, 1, {"a"}, true},
               {"i", WK_LABELS_ELEMENTS, false, 0, {NULL}, false},
               {"i", WK_LABELS_COLUMNS, false, 4, {"a", "b", "c", "d"}, true},
               {"e", WK_LABELS_COLUMNS, false, 2, {"a", "b"}, true},
               {"s", WK_LABELS_COLUMNS, false, 1, {"a"}, false},
               {"y", WK_LABELS_COLUMNS, false, 2, {"a", "b"}, false},
               {"x", WK_LABELS_COLUMNS, true, 2, {"0", "-12"}, true},
               {"x", WK_LABELS_COLUMNS, true, 2, {"9", "a"}, false},
               {"x", WK_LABELS_COLUMNS, true, 2, {"a", "9"}, false},
               {"x", WK_LABELS_COLUMNS, true, 2, {"1", "1 "}, false},
               {"x", WK_LABELS_COLUMNS, true, 2, {"1", " 1"}, false},
               {"x", WK_LABELS_COLUMNS, true, 2, {"1", "+1"}, false},
               {"x", WK_LABELS_COLUMNS, true, 2, {"1", ""}, false},
               {"x", WK_LABELS_COLUMNS, true, 2, {"1", "9223372036854775807"}, true},
               {"x", WK_LABELS_COLUMNS, true, 2, {"1", "9223372036854775808"}, false}};
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    wk_module *m = NULL;
    assert_null(wk_module_parse(labelled, "t", &m));
    wk_labels l = {.output = cases[k].output, .kind = cases[k].kind,
                   .are_numbers = cases[k].are_numbers,
                   .texts = {cases[k].n, (const char **)(uintptr_t)cases[k].texts}};
    wk_module_label(m, &l);
    errno = ERANGE; /* of something before */
    wk_status s = wk_module_verify(m);
    char want[64] = "taken";
    if (!cases[k].fits)
      snprintf(want, sizeof want, "the labels of output '%s' do not fit it", cases[k].output);
    if (strcmp(s ? s->message : "taken", want)) fail_msg("case %zu: not %s", k, want);
    wk_status_free(s);
    wk_module_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(nodes),
                                     cmocka_unit_test(ends), cmocka_unit_test(nesting),
                                     cmocka_unit_test(labels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
