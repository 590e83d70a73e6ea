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
#include "compiler/ir/inst_c.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"
#include "tests/random_control.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"
#include "tests/random_layers.h"
#include "tests/random_middle.h"
#include "tests/unit/maps_target.h"
#include "tests/unit/middle.h"

/* ---- rows ------------------------------------------------------------------------------------ */

/* changes: what the step says of itself, or the number before it. size: nodes or instructions.
 * bytes: of constants, of copies, of memory. */
typedef struct {
  const char *kind, *step;
  int64_t changes, size, bytes;
  uint32_t text; /* hash, without the data of constants: those may depend on the host's libm */
} row;

static const row rows[] = {
#define ROW(kind, step, changes, size, bytes, text) {kind, step, changes, size, bytes, text},
#include "tests/unit/figures.def"
#undef ROW
};

typedef struct {
  const char *kind;
  WK_VEC(row) rows;
  uint64_t seed; /* the current one */
} record;

static void must(const record *r, wk_status s) {
  if (s)
    fail_msg("%s, seed %llu: %s: %s", r->kind, (unsigned long long)r->seed,
             s->place ? s->place : "", s->message);
}

static row *row_of(record *r, const char *step) {
  for (size_t i = 0; i < r->rows.n; i++)
    if (!strcmp(r->rows.data[i].step, step)) return &r->rows.data[i];
  wk_vec_push(&r->rows, ((row){.kind = r->kind, .step = step}));
  return &r->rows.data[r->rows.n - 1];
}

/* Frees the text. */
static void add_text(row *x, wk_str *text) {
  x->text = (uint32_t)wk_hash64(text->s, text->n, x->text);
  wk_str_free(text);
}

/* Lines of constants end before their data. */
static void cut_data(wk_str *text, const char *mark, const char *const *data) {
  size_t to = 0;
  for (char *at = text->s, *next; at && *at; at = next) {
    char *end = strchr(at, '\n'), *stop;
    end = end ? end : at + strlen(at);
    next = *end ? end + 1 : end;
    *end = '\0';
    stop = strstr(at, mark);
    for (int k = 0; stop && data[k]; k++) {
      char *from = strstr(stop, data[k]);
      if (from) *from = '\0';
    }
    size_t n = strlen(at);
    memmove(text->s + to, at, n);
    to += n;
  }
  text->n = to;
}

static int64_t constant_bytes(const wk_module *m) {
  int64_t bytes = 0;
  for (size_t k = 0; k < m->graphs.n; k++)
    for (size_t v = 0; v < m->graphs.data[k]->values.n; v++) {
      const wk_value *x = &m->graphs.data[k]->values.data[v];
      if (x->kind == WK_VALUE_CONSTANT) bytes += wk_type_bytes(&x->type);
    }
  return bytes;
}

static int64_t nodes_of(const wk_module *m) {
  int64_t n = 0;
  for (size_t k = 0; k < m->graphs.n; k++) n += (int64_t)m->graphs.data[k]->nodes.n;
  return n;
}

static row *saw_module(record *r, const char *step, const wk_module *m, int64_t changes) {
  static const char *const data[] = {" {", " splat(", " hex(", " elided(", NULL};
  row *x = row_of(r, step);
  wk_str text = {0};
  x->changes += changes;
  x->size += nodes_of(m);
  x->bytes += constant_bytes(m);
  wk_module_print(&text, m, WK_PRINT_SHORT);
  cut_data(&text, " = constant ", data);
  add_text(x, &text);
  return x;
}

static void saw_program(record *r, const char *step, const wk_program *p, int64_t changes) {
  static const char *const data[] = {" = ", NULL};
  row *x = row_of(r, step);
  wk_str text = {0};
  wk_arena *scratch = wk_arena_new();
  wk_inst_pos *flat;
  x->changes += changes;
  x->size += (int64_t)wk_program_flatten(p, scratch, &flat);
  x->bytes += p->copy_bytes_after;
  wk_program_print(&text, p, WK_PRINT_SHORT);
  cut_data(&text, "  buffer const ", data);
  add_text(x, &text);
  wk_arena_free(scratch);
}

/* ---- steps ----------------------------------------------------------------------------------- */

typedef struct {
  record *record;
  wk_stage stage;
} pass_run;

static wk_status after_pass(void *ctx, const wk_pass *p, const wk_module *m, int64_t changes,
                            double seconds) {
  const pass_run *x = ctx;
  static char names[2][64][48];
  size_t k = (size_t)(p - wk_passes);
  char *name = names[x->stage == WK_STAGE_PRIMITIVE][k];
  (void)seconds;
  snprintf(name, sizeof names[0][0], "%s%s", p->name,
           x->stage == WK_STAGE_PRIMITIVE ? ", primitives" : "");
  saw_module(x->record, name, m, changes);
  return NULL;
}

static void run_passes(record *r, wk_module *m, wk_stage stage) {
  must(r, wk_passes_run(m, stage, NULL, after_pass, &(pass_run){r, stage}));
}

/* In a clone, so that what comes behind sees graphs as they are without a budget. */
static void rematerialise(record *r, const wk_module *m) {
  wk_module *less = wk_module_clone(m);
  wk_remat_report all, report;
  must(r, wk_rematerialise(less, INT64_MAX, &all));
  wk_status s = wk_rematerialise(less, all.before / 4 * 3, &report);
  row *x = saw_module(r, "rematerialise", less, report.nodes);
  x->bytes += report.peak + report.macs;
  if (s) {
    assert_int_equal(s->code, WK_RESOURCE);
    row_of(r, "rematerialise, beyond it")->bytes += report.least;
    row_of(r, "rematerialise, beyond it")->size++;
  }
  wk_status_free(s);
  wk_module_free(less);
}

static void cut(record *r, const wk_module *m, const wk_targets *t, const char *step) {
  wk_module *own = wk_module_clone(m);
  wk_parts *p;
  wk_str text = {0};
  must(r, wk_partition(own, t, NULL, &p));
  row *x = row_of(r, step);
  x->changes += (int64_t)p->rows.n;
  x->size += (int64_t)p->parts.n;
  x->bytes += p->edge_bytes;
  wk_parts_print(&text, p);
  add_text(x, &text);
  for (size_t i = 0; i < p->parts.n; i++) {
    x->bytes += p->parts.data[i].edge_bytes;
    for (size_t k = 0; k < p->parts.data[i].origin.n; k++)
      x->text = x->text * 31 + p->parts.data[i].origin.data[k];
  }
  wk_parts_free(p);
  wk_module_free(own);
}

static void cuts(record *r, const wk_module *m) {
  wk_target maps = maps_target;
  maps.cost = (wk_target_cost){0.5, 0.5, 0.25, 100};
  wk_instance dear = {.target = &maps, .is_here = true};
  wk_instance *const list[] = {&dear, &dear_instance};
  cut(r, m, &maps_targets, "cut");
  cut(r, m, &(wk_targets){list, 2, true}, "cut, at a price");
}

static void in_c(record *r, const wk_program *p) {
  wk_arena *a = wk_arena_new();
  wk_str text = {0};
  row *x = row_of(r, "C");
  uint64_t *at = wk_arena_alloc(a, (p->buffers.n + 1) * sizeof *at);
  for (size_t i = 0; i < p->buffers.n; i++) at[i] = 64 * i;
  const char *const *bases = wk_inst_c_bases(p, at, a);
  for (size_t i = 0; i < p->body.insts.n; i++) {
    bool printed = wk_inst_c_print(&text, a, p->body.insts.data[i], bases);
    x->size += printed;
    x->changes += !printed;
  }
  x->bytes += (int64_t)text.n;
  add_text(x, &text);
  wk_arena_free(a);
}

static void on_program(record *r, const wk_module *m) {
  wk_program *p;
  wk_str why = {0};
  must(r, wk_generate(m, &p));
  saw_program(r, "generate", p, p->copies_after);
  for (size_t i = 0; middle_pass(i); i++) {
    int64_t changes = 0;
    if (!middle_run_pass(p, middle_pass(i), &changes, &why)) fail_msg("%s", why.s);
    saw_program(r, middle_pass(i)->name, p, changes);
  }
  must(r, wk_place(p, 1 << r->seed % 7));
  saw_program(r, "place", p, p->act_bound);
  for (int k = 0; k < WK_REGION_COUNT; k++) row_of(r, "place")->bytes += p->region_size[k];
  in_c(r, p);
  wk_program_free(p);
}

static void go_through(record *r, wk_module *m) {
  int64_t before, after, macs = 0;
  wk_str dot = {0};
  for (size_t k = 0; k < m->graphs.n; k++)
    for (size_t i = 0; i < m->graphs.data[k]->nodes.n; i++)
      macs += wk_node_macs(m->graphs.data[k], &m->graphs.data[k]->nodes.data[i]);
  saw_module(r, "drawn", m, macs);
  run_passes(r, m, WK_STAGE_GRAPH);
  must(r, wk_lower_nodes(m, NULL, NULL));
  saw_module(r, "lower", m, 0);
  run_passes(r, m, WK_STAGE_PRIMITIVE);
  cuts(r, m);
  wk_module_dot(&dot, m, NULL);
  row_of(r, "dot")->bytes += (int64_t)dot.n;
  add_text(row_of(r, "dot"), &dot);
  must(r, wk_layout_assign(m, r->seed % 2));
  saw_module(r, "layout", m, 0);
  rematerialise(r, m);
  must(r, wk_order_nodes(m, &before, &after));
  saw_module(r, "order", m, before)->bytes += after;
  on_program(r, m);
}

/* ---- kinds ----------------------------------------------------------------------------------- */

/* Each operator of graphs in its turn. */
static wk_module *draw_operator(record *r) {
  wk_op op = (wk_op)(r->seed % WK_OP_COUNT);
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
  wk_op op = (wk_op)(r->seed % WK_OP_COUNT);
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

static const struct {
  const char *kind;
  wk_module *(*draw)(record *r); /* NULL: nothing for this seed */
  uint64_t count;
} kinds[] = {
    {"operator", draw_operator, 4 * WK_OP_COUNT},
    {"graph", draw_graph, 300},
    {"storage", draw_storage, 150},
    {"control", draw_control, 40},
    {"integers", draw_integers, 60},
    {"layers", draw_layers, 8},
    {"halves", draw_halves, 30},
    {"gradient", draw_gradient, 80},
    {"gradient of operator", draw_gradient_of_operator, 2 * WK_OP_COUNT},
    {"gradient of control", draw_gradient_of_control, 20},
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
