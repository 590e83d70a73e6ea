/* SPDX-License-Identifier: Apache-2.0
 * Graphs in a line or two and the operators that one pass leaves of them, in their order. Each
 * condition of a rewrite has its near misses beside it: what differs in one thing only stays as it
 * is. Whatever comes out must compute the same. */
#ifndef WICK_TEST_REWRITE_CASE_H
#define WICK_TEST_REWRITE_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"
#include "tests/random_graph.h"
#include "tests/unit/graph_text.h"

typedef struct {
  const char *args; /* of the graph: "%x: f32[2,3]"; NULL: those of the case before */
  const char *body; /* nodes and outputs */
  const char *left; /* "transpose add" */
} rewrite_case;

/* Numbers that every case may use. */
#define REWRITE_NUMBERS                                                                \
  "%k0 = constant f32[] {0.0}\n%k1 = constant f32[] {1.0}\n%k2 = constant f32[] {2.0}\n" \
  "%k3 = constant f32[] {3.0}\n%k6 = constant f32[] {6.0}\n%kh = constant f32[] {0.5}\n" \
  "%eps = constant f32[] {1e-05}\n"

static inline void rewrite_must(wk_status s, const char *what, const rewrite_case *c) {
  if (s)
    fail_msg("%s\n%s: %s: %s", c->body, what, s->place ? s->place : "", s->message);
}

static inline wk_module *rewrite_module(const rewrite_case *c, const char *args) {
  return graph_of(args, REWRITE_NUMBERS, c->body);
}

static inline wk_tensor *rewrite_outputs(const rewrite_case *c, const wk_module *m) {
  wk_tensor *in = random_inputs(m->main), *out = wk_xcalloc(m->main->outputs.n + 1, sizeof *out);
  rewrite_must(wk_eval_graph(m->main, in, out, NULL, NULL), "evaluating", c);
  random_tensors_free(in, m->main->inputs.n);
  return out;
}

static inline void rewrite_ops(wk_str *b, const wk_graph *g, bool counted) {
  wk_str_add(b, "");
  for (size_t i = 0; i < g->nodes.n; i++) {
    wk_str_printf(b, "%s%s", i ? " " : "", wk_op_get(g->nodes.data[i].op)->name);
    if (counted) wk_str_printf(b, "(%u)", g->nodes.data[i].n_in);
  }
}

/* Number of cases that differ. With `lowered`, graphs are lowered first, and operators have the
 * number of their operands in parentheses. */
static inline int rewrite_check(const char *pass, bool lowered, const rewrite_case *c, size_t n) {
  int bad = 0;
  const char *args = "";
  for (size_t i = 0; i < n; i++) {
    if (c[i].args) args = c[i].args;
    int64_t changes = 0;
    wk_str ops = {0}, why = {0};
    wk_module *m = rewrite_module(&c[i], args);
    wk_tensor *want = rewrite_outputs(&c[i], m), *got;
    if (lowered) rewrite_must(wk_lower_nodes(m, NULL, NULL), "lowering", &c[i]);
    rewrite_must(wk_pass_run_one(m, wk_pass_find(pass), NULL, &changes), "the pass", &c[i]);
    rewrite_ops(&ops, m->main, lowered);
    got = rewrite_outputs(&c[i], m);
    bool same = random_same(m->main, got, want, &why);
    if (!same || strcmp(ops.s, c[i].left)) {
      print_error("%s, case %zu: %s\n  left: %s\n  want: %s\n  %s\n", pass, i, c[i].body, ops.s,
                  c[i].left, same ? "" : why.s);
      bad++;
    }
    random_tensors_free(got, m->main->outputs.n);
    random_tensors_free(want, m->main->outputs.n);
    wk_module_free(m);
    wk_str_free(&ops);
    wk_str_free(&why);
  }
  return bad;
}

#endif
