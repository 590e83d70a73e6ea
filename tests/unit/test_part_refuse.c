/* SPDX-License-Identifier: Apache-2.0
 * From a node that a target cannot have in its part to the nodes of the model that it was made of:
 * by what they make, by their names, by what is near. */
#include "tests/unit/case_text.h"

#include "compiler/part/part.h"
#include "tests/plain_target.h"

/* The model: three in a row, of which two have names, one beside them, and one whose second output
 * alone is there. */
static const char model[] =
    "module \"m\" {\ngraph @main(%x: f32[4]) {\n%a = exp(%x) \"first\"\n%b = neg(%a) \"second\"\n"
    "%c = add(%b, %x)\n%d = tanh(%x) \"beside\"\n-, %e = top_k(%x) {axis=0, k=4}\n"
    "output %c\noutput %d\noutput %e\n}\n}\n";

/* What became of it in the part, whose input is x and whose output is known as c; the node that is
 * refused makes `node`, none: the part as a whole is. origin: whose nodes are the part's, by what
 * they make; "-": the part is the whole module. */
static const struct {
  const char *what, *part, *node, *origin, *refused; /* refused: or an error */
} cases[] = {
    {"itself", "%a = exp(%x)\n%b = neg(%a)\n%y = add(%b, %x)\n", "b", "abc", "b"},
    {"the first", "%a = exp(%x)\n%b = neg(%a)\n%y = add(%b, %x)\n", "a", "abc", "a"},
    {"the part's output", "%a = exp(%x)\n%b = neg(%a)\n%y = add(%b, %x)\n", "y", "abc", "c"},
    {"fused, named as the last of them", "%b = neg(%x)\n%y = add(%b, %x)\n", "b", "abc", "b"},
    {"by name and operator", "%t = neg(%x) \"second\"\n%y = add(%t, %x)\n", "t", "abc", "b"},
    {"of its name, but another operator", "%t = abs(%x) \"second\"\n%y = add(%t, %x)\n", "t", "abc",
     "c"},
    {"of its operator, but another name", "%t = neg(%x) \"third\"\n%y = add(%t, %x)\n", "t", "abc",
     "c"},
    {"of a name that the part has not", "%t = neg(%x) \"second\"\n%y = add(%t, %x)\n", "t", "ac",
     "c"},
    {"what it depends on", "%a = exp(%x)\n%t = abs(%a)\n%y = add(%t, %x)\n", "t", "abc", "a"},
    {"what that depends on", "%a = exp(%x)\n%s = abs(%a)\n%t = abs(%s)\n%y = add(%t, %x)\n", "t",
     "abc", "a"},
    {"the nearest of them", "%a = exp(%x)\n%s = abs(%a)\n%b = neg(%s)\n%t = abs(%b)\n"
     "%y = add(%t, %x)\n", "t", "abc", "b"},
    {"through any operand", "%a = exp(%x)\n%s = abs(%x)\n%t = sub(%s, %a)\n%y = add(%t, %x)\n", "t",
     "abc", "a"},
    {"what depends on it", "%s = abs(%x)\n%t = abs(%s)\n%y = add(%t, %x)\n", "s", "abc", "c"},
    {"not what depends on others", "%a = exp(%x)\n%s = abs(%x)\n%t = abs(%s)\n%y = add(%t, %a)\n",
     "s", "abc", "c"},
    {"nor on the next one", "%s = abs(%x)\n%r = abs(%x)\n%a = exp(%r)\n%t = abs(%s)\n"
     "%y = add(%t, %a)\n", "s", "abc", "c"},
    {"by the name of the first", "%t = exp(%x) \"first\"\n%y = add(%t, %x)\n", "t", "abc", "a"},
    {"without a name", "%s = add(%x, %x)\n%a = exp(%s)\n%y = sub(%a, %x)\n", "s", "abc", "a"},
    {"by the second output", "-, %i = top_k(%x) {axis=0, k=4}\n%b = exp(%x)\n"
     "%y = cast(%i) {to=f32}\n", "i", "abc", "c"},
    {"by the first output", "%s, - = top_k(%x) {axis=0, k=4}\n%b = exp(%x)\n"
     "%y = add(%s, %b)\n", "s", "ac", "c"},
    {"a node of two outputs", "%a = exp(%x)\n-, %e = top_k(%a) {axis=0, k=4}\n"
     "%y = cast(%e) {to=f32}\n", "e", "ace", "e"},
    {"the part as a whole", "%a = exp(%x)\n%b = neg(%a)\n%y = add(%b, %x)\n", "", "abc", "a b c"},
    {"a part of fewer nodes", "%a = exp(%x)\n%b = neg(%a)\n%y = add(%b, %x)\n", "", "ca", "c a"},
    {"the whole module", "%a = exp(%x)\n%b = neg(%a)\n%y = add(%b, %x)\n", "", "-", "a b c d e"},
    {"names are not looked for in the whole module", "%t = neg(%x) \"second\"\n%y = add(%t, %x)\n",
     "t", "-", "c"},
    {"nothing to leave out", "%a = exp(%x)\n%b = neg(%a)\n%y = add(%b, %x)\n", "", "",
     "target plain does not admit part 7, which has no operator to leave out: it was drawn"},
};

static wk_module *parse(const char *text) {
  wk_module *m = NULL;
  wk_status s = wk_module_parse(text, "case", &m);
  if (s) fail_msg("%s: %s\n%s", s->place ? s->place : "", s->message, text);
  return m;
}

static wk_node_id maker(const wk_graph *g, const char *value, size_t n) {
  for (wk_value_id v = 0; v < g->values.n; v++)
    if (strlen(wk_val(g, v)->name) == n && !memcmp(wk_val(g, v)->name, value, n))
      return wk_val(g, v)->node;
  fail_msg("no value %s", value);
  return WK_NONE;
}

static void refusals(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str text = {0}, b = {0};
    wk_module *from = parse(model);
    wk_str_printf(&text, "module \"p\" {\ngraph @main(%%x: f32[4]) {\n%soutput %%y\n}\n}\n",
                  cases[i].part);
    wk_module *m = parse(text.s);
    m->main->output_names.data[0] = "c";
    wk_part p = {.target = 5, .instance = &plain_instance, .module = m, .from = from->main,
                 .owns_module = *cases[i].origin != '-', .name = "7"};
    for (const char *s = cases[i].origin; p.owns_module && *s; s++)
      wk_vec_push(&p.origin, maker(from->main, s, 1));
    wk_part_refusals r = {.arena = wk_arena_new()};
    wk_node_id node = *cases[i].node ? maker(m->main, cases[i].node, 1) : WK_NONE;
    wk_status s = wk_part_refuse(&p, node, "it was drawn", &r);
    for (size_t k = 0; k < r.list.n; k++) {
      wk_str_printf(&b, k ? " %s" : "%s", r.list.data[k].value);
      assert_int_equal(r.list.data[k].target, 5);
      assert_string_equal(r.list.data[k].graph, "main");
      assert_string_equal(r.list.data[k].reason, "it was drawn");
    }
    if (s) wk_str_add(&b, s->message);
    size_t n_refused = r.list.n;
    wk_status again = node == WK_NONE ? wk_part_refuse(&p, node, "once more", &r) : NULL;
    assert_true((again != NULL) == (node == WK_NONE)); /* all are left out already */
    assert_int_equal(r.list.n, n_refused);
    wk_status_free(again);
    if (strcmp(b.s, cases[i].refused)) {
      differ++;
      print_message("%s: %s\n", cases[i].what, b.s);
    }
    for (size_t k = 0; k < from->main->nodes.n; k++) {
      const wk_node *n = &from->main->nodes.data[k];
      const char *name = wk_val(from->main, n->out[n->n_out - 1])->name;
      bool is_refused = !s && strchr(cases[i].refused, *name);
      const char *why = wk_part_refused(&r, 5, from->main, n);
      assert_true(is_refused == (why != NULL));
      assert_null(wk_part_refused(&r, 4, from->main, n));
    }
    wk_status_free(s);
    wk_vec_free(&p.origin);
    wk_vec_free(&r.list);
    wk_arena_free(r.arena);
    wk_str_free(&text);
    wk_str_free(&b);
    wk_module_free(m);
    wk_module_free(from);
  }
  assert_int_equal(differ, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
