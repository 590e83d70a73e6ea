/* SPDX-License-Identifier: Apache-2.0
 * What test_figures.c notes down of each step between a graph and the C of its placed program. */
#ifndef WICK_TEST_FIGURES_H
#define WICK_TEST_FIGURES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/cgen/inst_c.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"
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

typedef struct {
  const char *kind;
  WK_VEC(row) rows;
  uint64_t seed; /* the current one */
} record;

static inline void must(const record *r, wk_status s) {
  if (s)
    fail_msg("%s, seed %llu: %s: %s", r->kind, (unsigned long long)r->seed,
             s->place ? s->place : "", s->message);
}

static inline row *row_of(record *r, const char *step) {
  for (size_t i = 0; i < r->rows.n; i++)
    if (!strcmp(r->rows.data[i].step, step)) return &r->rows.data[i];
  wk_vec_push(&r->rows, ((row){.kind = r->kind, .step = step}));
  return &r->rows.data[r->rows.n - 1];
}

/* Frees the text. */
static inline void add_text(row *x, wk_str *text) {
  x->text = (uint32_t)wk_hash64(text->s, text->n, x->text);
  wk_str_free(text);
}

/* Lines of constants end before their data. */
static inline void cut_data(wk_str *text, const char *mark, const char *const *data) {
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

static inline int64_t constant_bytes(const wk_module *m) {
  int64_t bytes = 0;
  for (size_t k = 0; k < m->graphs.n; k++)
    for (size_t v = 0; v < m->graphs.data[k]->values.n; v++) {
      const wk_value *x = &m->graphs.data[k]->values.data[v];
      if (x->kind == WK_VALUE_CONSTANT) bytes += wk_type_bytes(&x->type);
    }
  return bytes;
}

static inline int64_t nodes_of(const wk_module *m) {
  int64_t n = 0;
  for (size_t k = 0; k < m->graphs.n; k++) n += (int64_t)m->graphs.data[k]->nodes.n;
  return n;
}

static inline row *saw_module(record *r, const char *step, const wk_module *m, int64_t changes) {
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

static inline void saw_program(record *r, const char *step, const wk_program *p, int64_t changes) {
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

static inline wk_status after_pass(void *ctx, const wk_pass *p, const wk_module *m, int64_t changes,
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

static inline void run_passes(record *r, wk_module *m, wk_stage stage) {
  must(r, wk_passes_run(m, stage, NULL, after_pass, &(pass_run){r, stage}));
}

/* In a clone, so that what comes behind sees graphs as they are without a budget. */
static inline void rematerialise(record *r, const wk_module *m) {
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

static inline void cut(record *r, const wk_module *m, const wk_targets *t, const char *step) {
  wk_module *own = wk_module_clone(m);
  wk_parts *p;
  wk_str text = {0};
  must(r, partition_for(own, t, NULL, &p));
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

static inline void cuts(record *r, const wk_module *m) {
  wk_target maps = maps_target;
  maps.cost = (wk_target_cost){0.5, 0.5, 0.25, 100};
  wk_instance dear = {.target = &maps, .is_here = true};
  wk_instance *const list[] = {&dear, &dear_instance};
  cut(r, m, &maps_targets, "cut");
  cut(r, m, &(wk_targets){.list = list, .n = 2, .has_host = true}, "cut, at a price");
}

static inline void in_c(record *r, const wk_program *p) {
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

static inline void on_program(record *r, const wk_module *m) {
  wk_program *p;
  wk_str why = {0};
  must(r, wk_generate(m, 1, &p));
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

static inline void go_through(record *r, wk_module *m) {
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

#endif
