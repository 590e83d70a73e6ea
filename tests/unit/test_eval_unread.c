/* SPDX-License-Identifier: Apache-2.0
 * Results that nobody reads are not computed: of every row of the table of cases, none of its
 * results, and each of them alone, which is then what it is beside the others; those beside it are
 * not read, or there are none at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "tests/unit/case_text.h"

enum { MOST = 16 };

typedef struct {
  wk_op op;
  const char *attrs, *in, *want;
} row;

static const row rows[] = {
#define CASE(op, attrs, in, want) {WK_OP_##op, attrs, in, want},
#include "tests/unit/eval_cases.def"
#undef CASE
};

typedef struct {
  wk_module *m;
  wk_tensor in[MOST];
  wk_value_id out[MOST];
  uint32_t n_in, n_out;
} fixture;

/* Results without a bit in `there` are left out. False: the row is one that is refused. */
static bool build(const row *r, unsigned there, fixture *f) {
  wk_value_id in[MOST];
  const char *names[MOST];
  uint32_t n = 0;
  const char *w = r->want;
  if (*w == '!') return false;
  *f = (fixture){.m = wk_module_new("row")};
  wk_graph *g = wk_graph_new(f->m, "main");
  for (size_t k; (k = case_word(&w)) > 0; w += k) f->n_out++;
  const char *s = r->in;
  for (size_t k; (k = case_word(&s)) > 0; s += k, n++) {
    in[n] = WK_NONE;
    if (*s == '-') continue;
    f->in[f->n_in] = case_tensor(s);
    in[n] = wk_graph_input(g, NULL, &f->in[f->n_in++].type);
  }
  for (uint32_t k = 0; k < f->n_out; k++) names[k] = there >> k & 1 ? NULL : "";
  wk_node_desc d = {.op = r->op, .name = "node", .in = in, .n_in = n, .n_out = f->n_out,
                    .out_names = names,
                    .attrs = case_attrs(f->m->arena, r->op, r->attrs)};
  wk_status st = wk_graph_add(g, &d, f->out);
  if (st) fail_msg("%s %s: %s", wk_op_get(r->op)->name, r->attrs, st->message);
  return true;
}

static void drop(fixture *f) {
  for (uint32_t k = 0; k < f->n_in; k++) wk_tensor_free(&f->in[k]);
  wk_module_free(f->m);
}

/* The results of which the mask has a bit are read. */
static void evaluate(const row *r, const fixture *f, unsigned mask, wk_tensor *out) {
  wk_graph *g = f->m->main;
  wk_graph_drop_outputs(g);
  for (uint32_t k = 0; k < f->n_out; k++)
    if (mask >> k & 1) wk_graph_output(g, NULL, f->out[k]);
  wk_status s = wk_eval_graph(g, f->in, out, NULL, NULL);
  if (s) fail_msg("%s %s: %s", wk_op_get(r->op)->name, r->attrs, s->message);
}

static void expect(const row *r, uint32_t k, const wk_tensor *got, const wk_tensor *want) {
  assert_true(wk_type_equal(&got->type, &want->type));
  if (memcmp(got->data, want->data, (size_t)wk_type_bytes(&want->type)))
    fail_msg("%s %s: result %u is another one by itself", wk_op_get(r->op)->name, r->attrs, k);
}

static void test_rows(void **state) {
  (void)state;
  int alone = 0;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    fixture f;
    wk_tensor all[MOST], one;
    if (!build(&rows[i], ~0u, &f)) continue;
    evaluate(&rows[i], &f, 0, NULL);
    evaluate(&rows[i], &f, (1u << f.n_out) - 1, all);
    for (uint32_t k = 0; k < f.n_out && f.n_out > 1; k++, alone++) {
      fixture only;
      evaluate(&rows[i], &f, 1u << k, &one);
      expect(&rows[i], k, &one, &all[k]);
      wk_tensor_free(&one);
      assert_true(build(&rows[i], 1u << k, &only));
      evaluate(&rows[i], &only, 1u << k, &one);
      expect(&rows[i], k, &one, &all[k]);
      wk_tensor_free(&one);
      drop(&only);
    }
    for (uint32_t k = 0; k < f.n_out; k++) wk_tensor_free(&all[k]);
    drop(&f);
  }
  print_message("%d results by themselves\n", alone);
  assert_true(alone > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
