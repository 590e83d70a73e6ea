/* SPDX-License-Identifier: Apache-2.0
 * How good what comes out of each step is: every pass on drawn graphs, lowering, order,
 * rematerialisation, generation, every pass on programs, placement, the C of instructions, the cut
 * for two targets. That results stay right is for other tests; these see passes that fire less
 * often, worse orders, more copies, larger constants, other text. A row sums up what one step did
 * to all graphs of one kind. After a change that is meant, read which rows became better or worse;
 * a row in which only the hash of the text moved is as good as it was, in another form. Then
 *   test_figures rows >tests/unit/figures.def */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/grad/grad.h"
#include "compiler/integer/integer.h"
#include "tests/random_control.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"
#include "tests/random_layers.h"
#include "tests/random_middle.h"
#include "tests/unit/figures.h"
#include "tests/unit/figures_tables.h"

static const row rows[] = {
#define ROW(kind, step, changes, size, bytes, text) {kind, step, changes, size, bytes, text},
#include "tests/unit/figures.def"
#undef ROW
};

/* ---- kinds ----------------------------------------------------------------------------------- */

/* Each operator of graphs in its turn. */
static wk_module *draw_operator(record *r) {
  wk_op op = (wk_op)(r->seed % WK_OP_CUSTOM);
  const wk_op_info *info = wk_op_get(op);
  if (info->kind == WK_KIND_INST || info->cls == WK_CLASS_CONTROL) return NULL;
  return random_graph(r->seed, &(random_options){.nodes = 1, .only = op});
}

static wk_module *draw_graph(record *r) {
  return random_graph(r->seed, &(random_options){.nodes = 14, .only = WK_OP_COUNT});
}

static wk_module *draw_storage(record *r) {
  return random_middle_graph(r->seed, 4 + (int)(r->seed % 24));
}

static wk_module *draw_control(record *r) { return random_control(r->seed); }

static wk_module *converted(record *r, wk_module *m, bool narrow) {
  int64_t changes = 0;
  saw_module(r, "quantised", m, 0);
  must(r, wk_integer_convert(m, &changes));
  saw_module(r, "integers", m, changes);
  changes = 0;
  if (narrow) must(r, wk_integer_narrow(m, &changes));
  if (narrow) saw_module(r, "narrow", m, changes);
  return m;
}

static wk_module *draw_integers(record *r) {
  return converted(r, random_integer_graph(r->seed, 6), r->seed % 2);
}

static wk_module *draw_layers(record *r) {
  return converted(r, random_layers_graph(r->seed, 5), false);
}

static wk_module *draw_halves(record *r) {
  int64_t changes = 0;
  wk_module *m = draw_graph(r);
  must(r, wk_convert_floats(m, r->seed % 2 ? WK_F16 : WK_BF16, &changes));
  saw_module(r, "convert", m, changes);
  return m;
}

/* The adjoints of all inputs; NULL: there are none. */
static wk_module *differentiated(record *r, wk_module *m) {
  wk_graph *g = m->main;
  WK_VEC(wk_value_id) of = {0}, wrt = {0}, out = {0};
  for (size_t i = 0; i < g->outputs.n; i++)
    if (wk_dtype_is_float(wk_val(g, g->outputs.data[i])->type.dtype))
      wk_vec_push(&of, g->outputs.data[i]);
  for (size_t i = 0; i < g->inputs.n; i++) {
    wk_vec_push(&wrt, g->inputs.data[i]);
    wk_vec_push(&out, WK_NONE);
  }
  wk_status s = wk_grad(g, &(wk_grad_request){of.n, wrt.n, of.data, NULL, wrt.data, out.data});
  row *x = row_of(r, "refused");
  x->changes += s != NULL;
  if (s) x->text = (uint32_t)wk_hash64(s->message, strlen(s->message), x->text);
  bool is_good = !s;
  for (size_t i = 0; i < wrt.n && is_good; i++)
    if (out.data[i] != WK_NONE) wk_graph_output(g, wk_val(g, wrt.data[i])->name, out.data[i]);
  wk_status_free(s);
  if (is_good) must(r, wk_module_normalise(m));
  wk_vec_free(&of);
  wk_vec_free(&wrt);
  wk_vec_free(&out);
  if (is_good) return m;
  wk_module_free(m);
  return NULL;
}

static wk_module *draw_gradient(record *r) {
  int nodes = 1 + (int)(r->seed % 10);
  return differentiated(r, random_graph(r->seed, &(random_options){.nodes = nodes,
                                                                   .floats_only = true,
                                                                   .only = WK_OP_COUNT}));
}

static wk_module *draw_gradient_of_operator(record *r) {
  const char *note;
  wk_op op = (wk_op)(r->seed % WK_OP_CUSTOM);
  const wk_op_info *info = wk_op_get(op);
  if (info->kind == WK_KIND_INST || info->cls == WK_CLASS_CONTROL ||
      !wk_adjoint_exists(wk_adjoint_of(op, &note)))
    return NULL;
  random_options o = {.nodes = 1, .floats_only = true, .only = op, .no_motifs = true};
  return differentiated(r, random_graph(r->seed, &o));
}

static wk_module *draw_gradient_of_control(record *r) {
  return differentiated(r, random_control(r->seed));
}

static wk_module *draw_gradient_of_row(record *r) {
  wk_module *m = draw_constants(r);
  return m ? differentiated(r, m) : NULL;
}

static wk_module *draw_gradient_of_network(record *r) {
  return differentiated(r, draw_network(r));
}

/* Inputs from a drawn one on become variables; each has an update, half of them of themselves. */
static wk_module *draw_variables(record *r) {
  wk_module *m = random_middle_graph(r->seed, 4 + (int)(r->seed % 16));
  wk_graph *g = m->main;
  wk_rng rng = {r->seed};
  size_t first = (size_t)wk_rng_range(&rng, 0, (int64_t)g->inputs.n);
  for (size_t i = first; i < g->inputs.n; i++) {
    wk_value *v = wk_val(g, g->inputs.data[i]);
    char *zeros = wk_arena_alloc(m->arena, (size_t)wk_type_bytes(&v->type) + 1);
    memset(zeros, 0, (size_t)wk_type_bytes(&v->type));
    v->initial = zeros;
  }
  for (size_t i = first; i < g->inputs.n; i++) {
    wk_value_id v = g->inputs.data[i], to = v;
    for (int tries = 0; tries < 64 && to == v; tries++) {
      wk_value_id other = (wk_value_id)wk_rng_range(&rng, 0, (int64_t)g->values.n - 1);
      const wk_value *x = wk_val(g, other);
      if (x->kind != WK_VALUE_DEAD && wk_type_equal(&x->type, &wk_val(g, v)->type)) to = other;
    }
    bool is_own = wk_dtype_is_float(wk_val(g, v)->type.dtype) && (wk_rng_next(&rng) & 1);
    wk_graph_update(g, v, is_own ? wk_build(g, WK_OP_SUB, NULL, 2, v, to) : to);
  }
  return m;
}

static const struct {
  const char *kind;
  wk_module *(*draw)(record *r); /* NULL: nothing for this seed */
  uint64_t count;
} kinds[] = {
    {"operator", draw_operator, 4 * WK_OP_CUSTOM},
    {"graph", draw_graph, 300},
    {"storage", draw_storage, 150},
    {"control", draw_control, 40},
    {"integers", draw_integers, 60},
    {"layers", draw_layers, 8},
    {"halves", draw_halves, 30},
    {"gradient", draw_gradient, 80},
    {"gradient of operator", draw_gradient_of_operator, 2 * WK_OP_CUSTOM},
    {"gradient of control", draw_gradient_of_control, 20},
    {"variables", draw_variables, 60},
    {"row", draw_row, WK_COUNTOF(table)},
    {"row with constants", draw_constants, WK_COUNTOF(table)},
    {"gradient of row", draw_gradient_of_row, WK_COUNTOF(table)},
    {"limit", draw_limit, 8 * WK_COUNTOF(limits)},
    {"network", draw_network, WK_COUNTOF(networks)},
    {"gradient of network", draw_gradient_of_network, 2},
};

static void record_kind(record *r, size_t k) {
  r->kind = kinds[k].kind;
  for (r->seed = 1; r->seed <= kinds[k].count; r->seed++) {
    wk_module *m = kinds[k].draw(r);
    if (!m) continue;
    go_through(r, m);
    wk_module_free(m);
  }
}

static void print_row(const row *x) {
  printf("ROW(\"%s\", \"%s\", %lld, %lld, %lld, 0x%08x)\n", x->kind, x->step,
         (long long)x->changes, (long long)x->size, (long long)x->bytes, x->text);
}

static void figures(void **state) {
  (void)state;
  size_t at = 0, differ = 0;
  for (size_t k = 0; k < WK_COUNTOF(kinds); k++) {
    record r = {0};
    record_kind(&r, k);
    for (size_t i = 0; i < r.rows.n; i++, at++) {
      const row *got = &r.rows.data[i], *want = at < WK_COUNTOF(rows) ? &rows[at] : NULL;
      if (want && !strcmp(want->kind, got->kind) && !strcmp(want->step, got->step) &&
          want->changes == got->changes && want->size == got->size && want->bytes == got->bytes &&
          want->text == got->text)
        continue;
      differ++;
      if (want) print_row(want);
      print_row(got);
    }
    wk_vec_free(&r.rows);
  }
  assert_int_equal(differ, 0);
  assert_int_equal(at, WK_COUNTOF(rows));
}

static int print_rows(void) {
  printf("/* SPDX-License-Identifier: Apache-2.0\n"
         " * What test_figures.c sees: kind, step, changes, size, bytes, hash of the text. */\n");
  for (size_t k = 0; k < WK_COUNTOF(kinds); k++) {
    record r = {0};
    record_kind(&r, k);
    for (size_t i = 0; i < r.rows.n; i++) print_row(&r.rows.data[i]);
    wk_vec_free(&r.rows);
  }
  return 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(figures)};
  if (argc > 1 && !strcmp(argv[1], "rows")) return print_rows();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
