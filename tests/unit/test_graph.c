/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: building, names, uses, replacement, normalisation, copies, the verifier, dot. */
#include "tests/unit/case_text.h"
#include "tests/unit/empty_graph.h"

static const int64_t dims[] = {2, 3};

static wk_type f32(void) { return wk_type_make(WK_F32, 2, dims); }

static wk_module *parsed(const char *text) {
  wk_module *m = NULL;
  wk_status s = wk_module_parse(text, "t", &m);
  if (s) fail_msg("%s: %s", s->place, s->message);
  return m;
}

/* The nodes in order as "op(in,in) op(in)", by value names. */
static void assert_nodes(const wk_graph *g, const char *want) {
  wk_str b = {0};
  wk_str_add(&b, "");
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (n->dead) continue;
    wk_str_printf(&b, "%s%s(", b.n ? " " : "", wk_op_get(n->op)->name);
    for (uint32_t k = 0; k < n->n_in; k++)
      wk_str_printf(&b, "%s%s", k ? "," : "",
                    n->in[k] == WK_NONE ? "-" : wk_val(g, n->in[k])->name);
    wk_str_add(&b, ")");
  }
  assert_string_equal(b.s, want);
  wk_str_free(&b);
}

static void assert_ok(wk_status s) {
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
}

static void assert_error(wk_status s, wk_code code, const char *part) {
  if (!s) fail_msg("accepted; wanted \"%s\"", part);
  if (s->code != code || !strstr(s->message, part))
    fail_msg("code %d: \"%s\"; wanted %d: \"%s\"", (int)s->code, s->message, (int)code, part);
  wk_status_free(s);
}

static wk_value_id named(const wk_graph *g, const char *name) {
  wk_value_id v = WK_NONE;
  if (!wk_map_get(g->names, name, &v)) fail_msg("no value %s", name);
  return v;
}

/* ---- building ------------------------------------------------------------------------------ */

static void names_are_unique(void **state) {
  (void)state;
  wk_value_id x;
  wk_graph *g = empty_graph(&x);
  wk_type t = f32();
  assert_string_equal(wk_val(g, wk_graph_input(g, "x", &t))->name, "x.1");
  assert_string_equal(wk_val(g, wk_graph_input(g, "x", &t))->name, "x.2");
  assert_string_equal(wk_val(g, wk_graph_input(g, NULL, &t))->name, "_3");
  assert_string_equal(wk_val(g, wk_graph_input(g, "_4", &t))->name, "_4");
  assert_string_equal(wk_val(g, wk_graph_input(g, "_6", &t))->name, "_6");
  assert_string_equal(wk_val(g, wk_graph_input(g, "", &t))->name, "_7");
  for (int k = 0; k < 5000; k++) wk_graph_input(g, k & 1 ? "same" : NULL, &t);
  assert_ok(wk_module_verify(g->module));
  assert_string_equal(wk_graph_new(g->module, "main")->name, "main.1");
  wk_module_free(g->module);
}

static void nodes_are_inferred_and_checked(void **state) {
  (void)state;
  wk_value_id x, out[3];
  wk_graph *g = empty_graph(&x);
  wk_node_desc d = {.op = WK_OP_RELU, .name = "r", .in = &x, .n_in = 1};
  assert_ok(wk_graph_add(g, &d, out));
  wk_type t = f32();
  assert_true(wk_type_equal(&wk_val(g, out[0])->type, &t));
  size_t values = g->values.n, nodes = g->nodes.n;
  d.n_in = 0;
  assert_error(wk_graph_add(g, &d, out), WK_INPUT, "relu");
  d.n_in = 1;
  d.n_out = 2;
  assert_error(wk_graph_add(g, &d, out), WK_INPUT, "relu");
  d.n_out = 0;
  d.in = (wk_value_id[]){77};
  assert_error(wk_graph_add(g, &d, out), WK_INPUT, "not a value of this graph");
  d.op = WK_OP_FILL;
  assert_error(wk_graph_add(g, &d, out), WK_INPUT, "not a graph operator");
  d.op = WK_OP_COUNT;
  assert_error(wk_graph_add(g, &d, out), WK_INPUT, "unknown operator");
  d = (wk_node_desc){.op = WK_OP_IF, .in = &x, .n_in = 1};
  assert_error(wk_graph_add(g, &d, out), WK_INPUT, "0 bodies, needs 2");
  assert_int_equal(g->values.n, values); /* nothing is left of what failed */
  assert_int_equal(g->nodes.n, nodes);
  d = (wk_node_desc){.op = WK_OP_NOT, .name = "here", .in = &x, .n_in = 1};
  wk_status s = wk_graph_add(g, &d, NULL);
  assert_string_equal(s->place, "here");
  wk_status_free(s);
  wk_module_free(g->module);
}

static void outputs_may_be_left_out(void **state) {
  (void)state;
  wk_value_id x, out[2];
  wk_graph *g = empty_graph(&x);
  wk_attr_top_k *a = wk_attrs_new(g->module->arena, WK_OP_TOP_K);
  a->axis = 1;
  a->k = 2;
  wk_node_desc d = {.op = WK_OP_TOP_K, .attrs = a, .in = &x, .n_in = 1,
                    .n_out = 2, .out_names = (const char *[]){"", "where"}};
  assert_ok(wk_graph_add(g, &d, out));
  assert_int_equal(out[0], WK_NONE);
  assert_string_equal(wk_val(g, out[1])->name, "where");
  assert_int_equal(wk_val(g, out[1])->type.dtype, WK_I64);
  assert_int_equal(wk_val(g, out[1])->index, 1);
  wk_attr_split *s = wk_attrs_new(g->module->arena, WK_OP_SPLIT);
  s->axis = 1;
  s->sizes = wk_ints_fill(g->module->arena, 3, 1);
  wk_value_id first = wk_build(g, WK_OP_SPLIT, s, 1, x); /* as many results as there are sizes */
  assert_int_equal(first + 3, g->values.n);
  assert_ok(wk_module_verify(g->module));
  wk_module_free(g->module);
}

static void constants_own_their_data(void **state) {
  (void)state;
  wk_value_id x, v;
  void *data;
  wk_graph *g = empty_graph(&x);
  wk_type t = f32();
  assert_ok(wk_graph_constant_alloc(g, "w", &t, &v, &data));
  for (int i = 0; i < 6; i++) assert_true(((float *)data)[i] == 0);
  assert_ptr_equal(wk_val(g, v)->data, data);
  assert_true(wk_is_const(g, v) && !wk_is_const(g, x) && !wk_is_const(g, WK_NONE));
  wk_value_id s = wk_graph_scalar(g, WK_I32, -7);
  assert_int_equal(*(const int32_t *)wk_val(g, s)->data, -7);
  int64_t huge[] = {1 << 30, 1 << 30};
  t = wk_type_make(WK_F32, 2, huge);
  assert_error(wk_graph_constant_alloc(g, "w", &t, &v, &data), WK_RESOURCE, "2^46");
  wk_module_free(g->module);
}

/* ---- uses, replacement --------------------------------------------------------------------- */

/* What a reader's constants lie in stays, be it their first byte or not. */
static void data_of_no_reader_goes(void **state) {
  (void)state;
  wk_value_id x, v[4];
  wk_graph *g = empty_graph(&x);
  wk_module *m = g->module;
  const int64_t large[] = {64};
  wk_type t = wk_type_make(WK_F32, 1, large), part = wk_type_make(WK_F32, 1, (int64_t[]){8});
  float *data[4];
  for (int i = 0; i < 4; i++) {
    void *p;
    assert_ok(wk_graph_constant_alloc(g, NULL, &t, &v[i], &p));
    data[i] = p;
    data[i][63] = (float)i;
  }
  wk_module_trim(m, m);
  assert_int_equal(m->blobs.n, 4);
  wk_module *reader = wk_module_new("reader");
  wk_graph *h = wk_graph_new(reader, "main");
  wk_graph_constant(h, NULL, &t, data[1]);
  wk_graph_constant(h, NULL, &part, data[3] + 56);
  wk_graph_constant(h, NULL, &part, NULL);
  wk_module_trim(m, reader);
  assert_int_equal(m->blobs.n, 2);
  for (size_t i = 0; i < 2; i++)
    assert_true(m->blobs.data[i] == data[1] || m->blobs.data[i] == data[3]);
  assert_true(data[1][63] == 1 && data[3][63] == 3);
  wk_module_free(reader);
  wk_module_free(m);
}

static void uses_are_listed(void **state) {
  (void)state;
  wk_module *m = parsed(
      "module \"m\" {graph @main(%x:f32[2],%p:bool[1]){%a=relu(%x)%b=add(%a,%a)"
      "%c=relu(%b) when %p output %b output %a}}");
  wk_graph *g = m->main;
  wk_arena *scratch = wk_arena_new();
  wk_uses u = wk_graph_uses(g, scratch);
  wk_value_id a = named(g, "a"), p = named(g, "p");
  assert_int_equal(wk_use_count(&u, a), 3);
  assert_int_equal(u.uses[u.first[a]].node, 1);
  assert_int_equal(u.uses[u.first[a]].index, 0);
  assert_int_equal(u.uses[u.first[a] + 1].index, 1);
  assert_int_equal(u.uses[u.first[a] + 2].node, WK_NONE);
  assert_int_equal(u.uses[u.first[a] + 2].index, 1);
  assert_int_equal(wk_use_count(&u, p), 1);
  assert_int_equal(u.uses[u.first[p]].node, 2);
  assert_int_equal(u.uses[u.first[p]].index, 1); /* n_in: the predicate */
  assert_int_equal(wk_use_count(&u, named(g, "c")), 0);
  wk_node_remove(g, 1);
  u = wk_graph_uses(g, scratch);
  assert_int_equal(wk_use_count(&u, a), 1);
  wk_arena_free(scratch);
  wk_module_free(m);
}

static void replacement_moves_uses_and_names(void **state) {
  (void)state;
  wk_module *m = parsed(
      "module \"m\" {graph @main(%x:f32[2],%p:bool[1]){%q=not(%p)%a=relu(%x)%b=add(%a,%a)"
      "%c=relu(%b) when %q output %a as \"y\"}}");
  wk_graph *g = m->main;
  wk_value_id x = named(g, "x"), a = named(g, "a"), made = wk_build(g, WK_OP_ABS, NULL, 1, x);
  assert_int_equal(wk_val(g, made)->name[0], '_');
  wk_graph_replace(g, a, made);
  assert_string_equal(wk_val(g, made)->name, "a"); /* a's name is the better one */
  assert_int_equal(named(g, "a"), made);
  assert_int_equal(g->outputs.data[0], made);
  assert_string_equal(g->output_names.data[0], "y");
  assert_nodes(g, "not(p) relu(x) add(a,a) relu(b) abs(x)");
  wk_graph_replace(g, named(g, "b"), x); /* x has a name of its own */
  assert_string_equal(wk_val(g, x)->name, "x");
  wk_graph_replace_uses(g, named(g, "q"), named(g, "p")); /* a predicate is a use */
  assert_int_equal(g->nodes.data[3].predicate, named(g, "p"));
  wk_node_remove(g, 0);
  wk_node_remove(g, 1);
  wk_node_remove(g, 2);
  assert_ok(wk_graph_normalise(g));
  assert_nodes(g, "relu(x) abs(x)");
  assert_ok(wk_module_verify(m));
  wk_module_free(m);
}

static void public_names_stay(void **state) {
  (void)state;
  wk_module *m = parsed("module \"m\" {graph @main(%x:f32[2]){%a=relu(%x)output %a}}");
  wk_graph *g = m->main;
  wk_value_id made = wk_build(g, WK_OP_ABS, NULL, 1, named(g, "x"));
  const char *before = wk_val(g, made)->name;
  wk_val(g, made)->is_public = true;
  wk_graph_replace(g, named(g, "a"), made);
  assert_string_equal(wk_val(g, made)->name, before);
  wk_module_free(m);
}

/* ---- normalisation ------------------------------------------------------------------------- */

static void valid_orders_stay(void **state) {
  (void)state;
  wk_module *m = parsed(
      "module \"m\" {graph @main(%x:f32[2]){%d=constant f32[2] splat(1.0)%a=relu(%x)%b=abs(%x)"
      "%c=neg(%a)%e=exp(%b)%f=add(%c,%e)output %f}}");
  wk_graph *g = m->main;
  assert_ok(wk_graph_normalise(g));
  assert_nodes(g, "relu(x) abs(x) neg(a) exp(b) add(c,e)");
  uint32_t id;
  assert_false(wk_map_get(g->names, "d", &id)); /* nothing uses it */
  assert_int_equal(g->values.n, 6);
  for (uint32_t v = 0; v < g->values.n; v++) assert_int_equal(named(g, wk_val(g, v)->name), v);
  wk_module_free(m);
}

static void late_definitions_move_up(void **state) {
  (void)state;
  wk_module *m = parsed(
      "module \"m\" {graph @main(%x:f32[2]){%a=relu(%x)%b=abs(%a)%c=neg(%b)output %c}}");
  wk_graph *g = m->main;
  wk_value_id late = wk_build(g, WK_OP_EXP, NULL, 1, named(g, "a"));
  wk_nod(g, 1)->in[0] = late; /* abs uses what the last node makes */
  assert_ok(wk_graph_normalise(g));
  assert_nodes(g, "relu(x) exp(a) abs(_4) neg(b)");
  assert_ok(wk_module_verify(m));
  wk_module_free(m);
}

static void cycles_are_refused(void **state) {
  (void)state;
  wk_module *m = parsed(
      "module \"m\" {graph @main(%x:f32[2]){%a=relu(%x) \"before\" %b=abs(%a) \"in\""
      "%c=neg(%b) \"in\" %d=exp(%c) \"behind\" output %d}}");
  wk_graph *g = m->main;
  wk_nod(g, 1)->in[0] = named(g, "c");
  wk_status s = wk_graph_normalise(g);
  assert_non_null(s);
  assert_string_equal(s->place, "in"); /* a node of the cycle, not one that waits for it */
  assert_error(s, WK_INPUT, "cycle");
  wk_nod(g, 1)->in[0] = named(g, "b");
  assert_error(wk_module_normalise(m), WK_INPUT, "cycle");
  wk_module_free(m);
}

static void removed_but_used_is_a_bug(void **state) {
  (void)state;
  wk_module *m = parsed("module \"m\" {graph @main(%x:f32[2]){%a=relu(%x)%b=abs(%a)output %b}}");
  wk_node_remove(m->main, 0);
  assert_error(wk_graph_normalise(m->main), WK_INTERNAL, "%a is used but its node was removed");
  wk_nod(m->main, 1)->dead = true;
  assert_error(wk_module_verify(m), WK_INTERNAL, "output 0");
  wk_module_free(m);
}

static const char with_bodies[] =
    "module \"m\" {graph @main(%c:bool[],%x:f32[2]){%y=if(%c,%x)then @a else @b output %y}"
    "graph @a(%p:f32[2]){%q=relu(%p) output %q}"
    "graph @b(%p:f32[2]){%k=constant f32[2] {1.0,2.0} output %k}}";

static void unreachable_graphs_go(void **state) {
  (void)state;
  wk_module *m = parsed(with_bodies);
  assert_int_equal(m->graphs.n, 3);
  assert_ok(wk_module_normalise(m));
  assert_int_equal(m->graphs.n, 3);
  wk_graph_replace(m->main, named(m->main, "y"), named(m->main, "x"));
  wk_node_remove(m->main, 0);
  assert_ok(wk_module_normalise(m));
  assert_int_equal(m->graphs.n, 1);
  assert_ok(wk_module_verify(m));
  wk_module_free(m);
}

/* ---- copies -------------------------------------------------------------------------------- */

static char *text_of(const wk_module *m) {
  wk_str b = {0};
  wk_module_print(&b, m, WK_PRINT_FULL);
  return b.s;
}

static void clones_are_equal_and_apart(void **state) {
  (void)state;
  wk_module *m = parsed(with_bodies), *copy = wk_module_clone(m);
  assert_ok(wk_module_verify(copy));
  char *before = text_of(m), *after = text_of(copy);
  assert_string_equal(before, after);
  free(after);
  assert_ptr_not_equal(copy->main->nodes.data[0].bodies[0], m->main->nodes.data[0].bodies[0]);
  assert_ptr_equal(copy->graphs.data[2]->values.data[1].data,
                   m->graphs.data[2]->values.data[1].data);
  wk_build(copy->graphs.data[1], WK_OP_ABS, NULL, 1, 0);
  wk_graph_output(copy->main, "z", 0);
  after = text_of(m);
  assert_string_equal(before, after);
  free(before);
  free(after);
  wk_graph *again = wk_graph_clone_into(m, m->main); /* into its own module, with its bodies */
  assert_string_equal(again->name, "main.3");
  assert_int_equal(m->graphs.n, 6);
  assert_ptr_not_equal(again->nodes.data[0].bodies[0], m->main->nodes.data[0].bodies[0]);
  assert_ok(wk_module_verify(m));
  wk_module_free(copy);
  wk_module_free(m);
}

/* A copy outlives what it was made of, and so do its quantisations. */
static void copies_own_quantisations(void **state) {
  (void)state;
  wk_module *m = parsed("module \"m\" {graph @main(%x:i8<axis=1,{0.5,0.25},{3,-4}>[3,2],"
                        "%y:u8<0.125,7>[2]){output %x output %y}}");
  char *before = text_of(m);
  wk_module *copy = wk_module_clone(m);
  wk_module_free(m);
  char *after = text_of(copy);
  assert_string_equal(before, after);
  const wk_type *t = &wk_val(copy->main, named(copy->main, "x"))->type;
  assert_true(t->quant->scale[1] == 0.25f && t->quant->zero_point[1] == -4);
  free(before);
  free(after);
  wk_module_free(copy);
}

/* ---- variables ----------------------------------------------------------------------------- */

static const char with_variables[] =
    "module \"m\" {graph @main(%x:f32[2]){variable %w:f32[2] trainable={1.0, 2.0} "
    "variable %k:i64[1]={7}%y=add(%x,%w)%z=abs(%y)%unused=neg(%w)output %y update %w=%z}}";

static void variables_come_last(void **state) {
  (void)state;
  static const float first[6] = {1, 2, 3, 4, 5, 6};
  wk_value_id x;
  wk_graph *g = empty_graph(&x);
  wk_type t = f32();
  wk_value_id w = wk_graph_variable(g, "w", &t, first, true);
  wk_value_id y = wk_build(g, WK_OP_ADD, NULL, 2, x, w);
  wk_graph_update(g, w, y);
  wk_value_id late = wk_graph_input(g, "late", &t);
  wk_value_id v = wk_graph_variable(g, "v", &t, first, false);
  wk_graph_output(g, "sum", y);
  wk_graph_output(g, "again", y);
  assert_ok(wk_module_verify(g->module));
  assert_int_equal(g->inputs.n, 4);
  assert_int_equal(wk_graph_plain_inputs(g), 2);
  assert_int_equal(g->inputs.data[1], late);
  assert_int_equal(g->inputs.data[2], w);
  for (uint32_t i = 0; i < 4; i++) assert_int_equal(wk_val(g, g->inputs.data[i])->index, i);
  assert_int_equal(wk_graph_plain_outputs(g), 2);
  assert_string_equal(g->output_names.data[0], "sum");
  assert_string_equal(g->output_names.data[1], "again");
  assert_string_equal(g->output_names.data[2], "w");
  assert_int_equal(g->updates.data[1], WK_NONE);
  assert_int_equal(g->updates.data[2], w);
  assert_int_equal(wk_graph_new_value(g, w), y);
  assert_int_equal(wk_graph_new_value(g, v), WK_NONE);
  assert_true(wk_is_variable(g, v) && !wk_is_variable(g, late) && !wk_is_variable(g, WK_NONE));
  wk_module_free(g->module);
}

static void updates_are_uses(void **state) {
  (void)state;
  wk_module *m = parsed(with_variables);
  wk_graph *g = m->main;
  wk_arena *a = wk_arena_new();
  wk_uses u = wk_graph_uses(g, a);
  wk_value_id z = named(g, "z");
  assert_int_equal(wk_use_count(&u, z), 1);
  assert_int_equal(u.uses[u.first[z]].node, WK_NONE);
  assert_int_equal(u.uses[u.first[z]].index, 1);
  wk_arena_free(a);
  wk_node_remove(g, 2); /* the unused one */
  assert_ok(wk_module_normalise(m));
  assert_ok(wk_module_verify(m));
  assert_nodes(g, "add(x,w) abs(y)");
  assert_string_equal(wk_val(g, g->updates.data[1])->name, "w");
  assert_int_equal(g->inputs.n, 3); /* %k, which nothing reads, stays */
  wk_graph_replace(g, named(g, "z"), named(g, "y"));
  assert_int_equal(wk_graph_new_value(g, named(g, "w")), named(g, "y"));
  wk_module_free(m);
}

static void copies_keep_variables(void **state) {
  (void)state;
  wk_module *m = parsed(with_variables), *copy = wk_module_clone(m);
  assert_ok(wk_module_verify(copy));
  char *before = text_of(m), *after = text_of(copy);
  assert_string_equal(before, after);
  free(before);
  free(after);
  wk_module_trim(m, copy); /* the copy reads what the variables have at first */
  assert_int_equal(m->blobs.n, 2);
  const wk_graph *g = copy->main;
  wk_value_id in[] = {named(g, "x"), named(g, "w")}, out[] = {named(g, "z")};
  wk_value_id updates[] = {named(g, "w")};
  wk_node_id nodes[] = {0, 1};
  const char *names[] = {"w"};
  wk_graph_piece piece = {.nodes = nodes, .in = in, .out = out, .out_names = names,
                          .updates = updates, .n_nodes = 2, .n_in = 2, .n_out = 1};
  wk_module *part = wk_module_new("part");
  const wk_graph *p = wk_graph_extract(part, g, &piece);
  assert_ok(wk_module_verify(part));
  assert_int_equal(wk_graph_plain_inputs(p), 1);
  assert_int_equal(p->updates.data[0], named(p, "w"));
  assert_true(wk_val(p, named(p, "w"))->is_trainable);
  wk_module_free(part);
  wk_module_free(copy);
  wk_module_free(m);
}

/* ---- the verifier -------------------------------------------------------------------------- */

typedef struct {
  void (*damage)(wk_module *m);
  const char *message;
} damaged;

static wk_value *value(wk_module *m, const char *name) {
  return wk_val(m->main, named(m->main, name));
}

static void name_twice(wk_module *m) { value(m, "x")->name = "c"; }
static void name_empty(wk_module *m) { value(m, "x")->name = ""; }
static void bad_rank(wk_module *m) { value(m, "x")->type.rank = 9; }
static void bad_dim(wk_module *m) { value(m, "x")->type.dims[0] = -1; }
static void stale_dim(wk_module *m) { value(m, "x")->type.dims[3] = 1; }
static void bad_dtype(wk_module *m) { value(m, "x")->type.dtype = (wk_dtype)77; }
static void bad_order(wk_module *m) {
  value(m, "x")->has_order = true;
  value(m, "x")->order[0] = 1;
}
static void wrong_type(wk_module *m) { value(m, "r")->type.dims[0] = 3; }
static void wrong_node(wk_module *m) { value(m, "r")->node = 1; }
static void wrong_index(wk_module *m) { value(m, "r")->index = 1; }
static void far_node(wk_module *m) { value(m, "r")->node = 99; }
static void no_data(wk_module *m) {
  value(m, "r")->kind = WK_VALUE_CONSTANT;
  m->main->nodes.data[0].dead = true;
}
static void dead_input(wk_module *m) { m->main->nodes.data[0].in[0] = 99; }
static void use_before(wk_module *m) { m->main->nodes.data[0].in[0] = named(m->main, "y"); }
static void inst_op(wk_module *m) { m->main->nodes.data[0].op = WK_OP_COPY; }
static void no_op(wk_module *m) { m->main->nodes.data[0].op = (wk_op)9999; }
static void no_attrs(wk_module *m) { m->main->nodes.data[0].attrs = NULL; }
static void too_few(wk_module *m) { m->main->nodes.data[0].n_in = 0; }
static void stolen_output(wk_module *m) { m->main->nodes.data[1].out[0] = named(m->main, "r"); }
static void no_output(wk_module *m) { m->main->outputs.data[0] = 99; }
static void unnamed_output(wk_module *m) { m->main->output_names.n = 0; }
static void input_twice(wk_module *m) { m->main->inputs.data[0] = m->main->inputs.data[1]; }
static void input_lost(wk_module *m) { m->main->inputs.n--; }
static void no_main(wk_module *m) { m->main = NULL; }
static void same_graph_name(wk_module *m) { m->graphs.data[2]->name = "a"; }
static void lost_body(wk_module *m) { m->main->nodes.data[1].n_bodies = 1; }
static void recursive(wk_module *m) {
  wk_graph *a = m->graphs.data[1];
  wk_node n = m->main->nodes.data[1];
  n.dead = false;
  n.n_in = n.n_out = 0;
  wk_vec_push(&a->nodes, n);
}
static void foreign_body(wk_module *m) { m->graphs.n--; }
static void body_input(wk_module *m) { m->graphs.data[1]->values.data[0].type.dims[0] = 3; }
static void body_output(wk_module *m) { m->graphs.data[1]->outputs.n = 0; }
static void predicate(wk_module *m) { m->main->nodes.data[1].predicate = named(m->main, "x"); }
static void foreign_graph(wk_module *m) { m->graphs.data[1]->module = NULL; }

static void lost_update(wk_module *m) { m->main->updates.n = 0; }
static void updates_input(wk_module *m) { m->main->updates.data[0] = named(m->main, "x"); }
static void early_variable(wk_module *m) { value(m, "c")->initial = "\0"; }
static void early_update(wk_module *m) {
  wk_graph_output(m->main, "z", named(m->main, "x"));
  m->main->updates.data[0] = named(m->main, "x");
}
static void data_of_node(wk_module *m) { value(m, "r")->initial = "\0\0\0\0\0\0\0"; }
static void trainable_input(wk_module *m) { value(m, "x")->is_trainable = true; }
static void variable_in_body(wk_module *m) {
  m->graphs.data[1]->values.data[0].initial = "\0\0\0\0\0\0\0";
}

static const damaged damages[] = {
    {name_twice, "not the only value of its name"},
    {name_empty, "has no name"},
    {bad_rank, "has rank 9"},
    {bad_dim, "negative"},
    {stale_dim, "dims past its rank"},
    {bad_dtype, "invalid element type"},
    {bad_order, "not a permutation"},
    {wrong_type, "%r is f32[3], inference says f32[2]"},
    {wrong_node, "not made by the node"},
    {wrong_index, "not made by the node"},
    {far_node, "not made by the node"},
    {no_data, "has no data"},
    {dead_input, "not a live value"},
    {use_before, "before its definition"},
    {inst_op, "not a graph operator"},
    {no_op, "operator 9999"},
    {no_attrs, "attributes are missing"},
    {too_few, "0 inputs"},
    {stolen_output, "%y is not made by the node"},
    {no_output, "output 0 is not a live value"},
    {unnamed_output, "1 outputs but 0 names"},
    {input_twice, "appears twice"},
    {input_lost, "2 placeholders but 1 inputs"},
    {no_main, "is not the main one"},
    {same_graph_name, "two graphs are called @a"},
    {lost_body, "1 bodies, needs 2"},
    {recursive, "contains itself"},
    {foreign_body, "not a graph of the module"},
    {body_input, "needs f32[2]"},
    {body_output, "0 outputs"},
    {predicate, "predicate is not bool"},
    {foreign_graph, "another module"},
    {lost_update, "1 outputs but 0 updates"},
    {updates_input, "output 0 updates what is no variable"},
    {early_variable, "variable %c comes before a plain input"},
    {early_update, "output 0, an update, comes before a plain output"},
    {data_of_node, "%r is no input but has what variables have"},
    {trainable_input, "%x is trainable but no variable of floats"},
    {variable_in_body, "only the main graph has variables"},
};

static void damage_is_found(void **state) {
  (void)state;
  static const char text[] =
      "module \"m\" {graph @main(%c:bool[],%x:f32[2]){%r=abs(%x)%y=if(%c,%r)then @a else @b "
      "output %y}graph @a(%p:f32[2]){%q=relu(%p) output %q}graph @b(%p:f32[2]){output %p}}";
  for (size_t k = 0; k < WK_COUNTOF(damages); k++) {
    wk_module *m = parsed(text);
    size_t graphs = m->graphs.n;
    wk_graph *last = m->graphs.data[graphs - 1];
    damages[k].damage(m);
    assert_error(wk_module_verify(m), WK_INTERNAL, damages[k].message);
    if (m->graphs.n < graphs) wk_vec_push(&m->graphs, last);
    wk_module_free(m);
  }
}

/* ---- dot ----------------------------------------------------------------------------------- */

static void dot_shows_nodes(void **state) {
  (void)state;
  wk_module *m = parsed(with_bodies);
  wk_str b = {0};
  wk_module_dot(&b, m, NULL);
  assert_non_null(strstr(b.s, "digraph \"m\""));
  assert_non_null(strstr(b.s, "g0_n0 [label=\"if\\n@a\\n@b\"]"));
  assert_non_null(strstr(b.s, "g0_v1 -> \"g0_n0\" [label=\"f32[2]\"]"));
  assert_non_null(strstr(b.s, "g1_n0 -> \"g1_o0\""));
  wk_str_free(&b);
  wk_module_free(m);
}

static void dot_shows_variables(void **state) {
  (void)state;
  wk_module *m = parsed(with_variables);
  wk_str b = {0};
  wk_module_dot(&b, m, NULL);
  assert_non_null(strstr(b.s, "g0_v1 [shape=cylinder label=\"w\\nf32[2]\"]"));
  assert_non_null(strstr(b.s, "g0_o1 [shape=cylinder label=\"update w\"]"));
  assert_non_null(strstr(b.s, "g0_o0 [shape=invhouse label=\"y\"]"));
  wk_str_free(&b);
  wk_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_unique),
      cmocka_unit_test(nodes_are_inferred_and_checked),
      cmocka_unit_test(outputs_may_be_left_out),
      cmocka_unit_test(constants_own_their_data),
      cmocka_unit_test(data_of_no_reader_goes),
      cmocka_unit_test(uses_are_listed),
      cmocka_unit_test(replacement_moves_uses_and_names),
      cmocka_unit_test(public_names_stay),
      cmocka_unit_test(valid_orders_stay),
      cmocka_unit_test(late_definitions_move_up),
      cmocka_unit_test(cycles_are_refused),
      cmocka_unit_test(removed_but_used_is_a_bug),
      cmocka_unit_test(unreachable_graphs_go),
      cmocka_unit_test(clones_are_equal_and_apart),
      cmocka_unit_test(copies_own_quantisations),
      cmocka_unit_test(variables_come_last),
      cmocka_unit_test(updates_are_uses),
      cmocka_unit_test(copies_keep_variables),
      cmocka_unit_test(damage_is_found),
      cmocka_unit_test(dot_shows_nodes),
      cmocka_unit_test(dot_shows_variables),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
