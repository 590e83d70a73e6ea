/* SPDX-License-Identifier: Apache-2.0
 * Copies of modules and of pieces of graphs: as text they are what they were copied from, and they
 * keep nothing of it, so that it may be freed or changed. */
#include "tests/unit/case_text.h"

static const char text[] =
    "module \"m\" producer \"maker 1.2\" opset 17 {\n"
    "graph @main(%c: bool[], %x: f32[2,3]) {\n"
    "  variable %w: f32[2,3] trainable = splat(1.0)\n"
    "  %q = constant i8<axis=1,{0.5,0.25,1.0},{3,0,1}>[2,3] splat(1)\n"
    "  %a = clip(%x) {lo=0.5, hi=2.5} \"limits\"\n"
    "  %r = reshape(%q) {shape=[2,3,1]} \"shape\"\n"
    "  %y = if(%c, %a) then @a else @b \"choice\"\n"
    "  %z = add(%a, %w) \"sum\"\n"
    "  output %y columns {\"l\", \"m\", \"n\"}\n"
    "  output %r\n"
    "  update %w = %z\n"
    "}\n"
    "graph @a(%p: f32[2,3]) {\n  %s = relu(%p) \"in a\"\n  output %s\n}\n"
    "graph @b(%p: f32[2,3]) {\n  output %p\n}\n"
    "graph @f(%p: f32[2,3], %o: f32[2,3]) {\n"
    "  %k = constant f32[3] {1, 2, 3}\n  %l = constant f32[3] {4, 5, 6}\n"
    "  %a = add(%p, %k)\n  %unused = add(%p, %l)\n"
    "  %s, %t = split(%a) {axis=0, sizes=[1,1]}\n  %n = neg(%t)\n"
    "  output %n\n  output %o\n  output %k\n}\n"
    "}\n";

static wk_module *parsed(void) {
  wk_module *m = NULL;
  wk_status s = wk_module_parse(text, "t", &m);
  if (s) fail_msg("%s: %s", s->place, s->message);
  return m;
}

static wk_value_id named(const wk_graph *g, const char *name) {
  uint32_t id;
  if (!wk_map_get(g->names, name, &id)) fail_msg("no value %s", name);
  return id;
}

static void assert_same_text(const wk_module *got, const wk_module *want) {
  wk_str a = {0}, b = {0};
  wk_module_print(&a, got, WK_PRINT_FULL);
  wk_module_print(&b, want, WK_PRINT_FULL);
  assert_string_equal(a.s, b.s);
  wk_str_free(&a);
  wk_str_free(&b);
}

static void assert_values_apart(const wk_value *v, const wk_value *from) {
  assert_ptr_not_equal(v->name, from->name);
  assert_string_equal(v->name, from->name);
  if (!from->type.quant) return;
  assert_ptr_not_equal(v->type.quant, from->type.quant);
  assert_ptr_not_equal(v->type.quant->scale, from->type.quant->scale);
  assert_ptr_not_equal(v->type.quant->zero_point, from->type.quant->zero_point);
}

static void assert_nodes_apart(const wk_node *n, const wk_node *from) {
  assert_ptr_not_equal(n->name, from->name);
  assert_string_equal(n->name, from->name);
  assert_ptr_not_equal(n->attrs, from->attrs);
  assert_ptr_not_equal(n->in, from->in);
  assert_ptr_not_equal(n->out, from->out);
  assert_true(wk_attrs_equal(n->op, n->attrs, from->attrs));
  for (uint32_t b = 0; b < n->n_bodies; b++) assert_ptr_not_equal(n->bodies[b], from->bodies[b]);
}

static void modules_share_nothing(void **state) {
  (void)state;
  wk_module *m = parsed();
  m->constant_bytes_left = 1234;
  m->fold_work_left = 567;
  wk_module *copy = wk_module_clone(m);
  assert_null(wk_module_verify(copy));
  assert_same_text(copy, m);
  assert_int_equal(copy->graphs.n, 4);
  assert_ptr_equal(copy->main, copy->graphs.data[0]);
  assert_int_equal(copy->opset, 17);
  assert_int_equal(copy->constant_bytes_left, 1234);
  assert_int_equal(copy->fold_work_left, 567);
  assert_string_equal(copy->producer, "maker 1.2");
  assert_ptr_not_equal(copy->producer, m->producer);
  assert_ptr_not_equal(copy->name, m->name);
  assert_int_equal(copy->labels.n, 1);
  assert_ptr_not_equal(copy->labels.data[0].output, m->labels.data[0].output);
  assert_ptr_not_equal(copy->labels.data[0].texts.v, m->labels.data[0].texts.v);
  for (size_t i = 0; i < m->graphs.n; i++) {
    const wk_graph *g = copy->graphs.data[i], *from = m->graphs.data[i];
    assert_ptr_equal(g->module, copy);
    assert_ptr_not_equal(g->name, from->name);
    for (size_t v = 0; v < from->values.n; v++)
      assert_values_apart(&g->values.data[v], &from->values.data[v]);
    for (size_t k = 0; k < from->nodes.n; k++)
      assert_nodes_apart(&g->nodes.data[k], &from->nodes.data[k]);
    for (size_t k = 0; k < from->outputs.n; k++)
      assert_ptr_not_equal(g->output_names.data[k], from->output_names.data[k]);
  }
  m->producer = NULL;
  wk_module *without = wk_module_clone(m);
  assert_null(without->producer);
  wk_module_free(without);
  wk_module_free(copy);
  wk_module_free(m);
}

/* Nodes 1 to 3 and what they use: inputs in the order asked for, the rest comes along. */
static void pieces_share_nothing(void **state) {
  (void)state;
  wk_module *m = parsed(), *to = wk_module_new("piece");
  const wk_graph *g = m->main;
  wk_nod(m->main, 3)->predicate = named(g, "c");
  const wk_value_id in[] = {named(g, "a"), named(g, "w"), named(g, "c")};
  const wk_value_id out[] = {named(g, "y"), named(g, "z")};
  const wk_value_id updates[] = {WK_NONE, named(g, "w")};
  const wk_node_id nodes[] = {1, 2, 3};
  const char *const names[] = {"first", "w"};
  wk_graph_piece piece = {.in = in, .n_in = 3, .nodes = nodes, .n_nodes = 3, .out = out, .n_out = 2,
                          .out_names = names, .updates = updates};
  wk_graph *x = wk_graph_extract(to, g, &piece);
  assert_int_equal(to->graphs.n, 3);
  assert_int_equal(x->nodes.n, 3);
  for (uint32_t k = 0; k < 3; k++) {
    const wk_node *n = wk_nod(x, k), *from = wk_nod(g, nodes[k]);
    assert_nodes_apart(n, from);
    assert_int_equal(wk_val(x, n->out[0])->node, k);
    assert_int_equal(wk_val(x, n->out[0])->kind, WK_VALUE_NODE);
    assert_string_equal(wk_val(x, n->out[0])->name, wk_val(g, from->out[0])->name);
    for (uint32_t i = 0; i < n->n_in; i++)
      assert_string_equal(wk_val(x, n->in[i])->name, wk_val(g, from->in[i])->name);
  }
  assert_string_equal(wk_val(x, wk_nod(x, 2)->predicate)->name, "c");
  assert_int_equal(wk_nod(x, 0)->predicate, WK_NONE);
  for (size_t k = 0; k < 3; k++) {
    assert_string_equal(wk_val(x, x->inputs.data[k])->name, wk_val(g, in[k])->name);
    assert_int_equal(wk_val(x, x->inputs.data[k])->kind, WK_VALUE_INPUT);
  }
  assert_int_equal(wk_val(x, named(x, "q"))->kind, WK_VALUE_CONSTANT);
  for (size_t v = 0; v < x->values.n; v++)
    assert_values_apart(&x->values.data[v], wk_val(g, named(g, x->values.data[v].name)));
  assert_int_equal(x->updates.data[0], WK_NONE);
  assert_int_equal(x->updates.data[1], named(x, "w"));
  assert_int_equal(x->outputs.data[1], named(x, "z"));
  assert_string_equal(x->output_names.data[0], "first");
  assert_int_equal(to->graphs.data[1]->nodes.n + to->graphs.data[2]->nodes.n, 1);
  wk_module_free(to);
  wk_module_free(m);
}

/* Only what the outputs need is copied; what was named keeps its name where it is free. */
static void inlining(void **state) {
  (void)state;
  wk_module *m = parsed();
  wk_graph *g = m->main;
  size_t before = g->nodes.n, values = g->values.n;
  const wk_value_id in[] = {named(g, "x"), named(g, "z")};
  wk_value_id out[3];
  assert_null(wk_graph_inline(g, m->graphs.data[3], in, out));
  assert_int_equal(g->nodes.n, before + 3);
  assert_int_equal(wk_nod(g, (wk_node_id)before)->op, WK_OP_ADD);
  assert_int_equal(wk_nod(g, (wk_node_id)before)->in[0], named(g, "x"));
  assert_int_equal(wk_nod(g, (wk_node_id)before)->in[1], named(g, "k"));
  assert_int_equal(wk_nod(g, (wk_node_id)before + 2)->in[0], named(g, "t"));
  assert_int_equal(out[0], named(g, "n"));
  assert_int_equal(out[1], named(g, "z"));
  assert_int_equal(out[2], named(g, "k"));
  assert_int_equal(g->values.n, values + 5); /* k, a, s, t, n */
  uint32_t id;
  assert_false(wk_map_get(g->names, "l", &id) || wk_map_get(g->names, "unused", &id));
  assert_null(wk_module_verify(m));
  wk_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(modules_share_nothing),
                                     cmocka_unit_test(pieces_share_nothing),
                                     cmocka_unit_test(inlining)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
