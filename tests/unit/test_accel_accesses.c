/* SPDX-License-Identifier: Apache-2.0
 * What steps are said to use of buffers, accumulators and memory, against what the checker finds
 * that their commands touch, which it finds by the fields alone. Everything that a command touches
 * must be said, or a hazard is missed; what is said beyond it costs waits, so how much of it there
 * is, is a figure that is held.
 *   test_accel_accesses print     the figures */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/integer/integer.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/pipeline/targets.h"
#include "targets/accel/check/footprint.h"
#include "targets/accel/compile/compile.h"
#include "tests/random_layers.h"

static const struct {
  const char *machine, *graph;
} layers[] = {
#define LAYERS(machine, ...) {machine, __VA_ARGS__},
#include "tests/unit/accel_layers.def"
};

/* Layers as they are in models, then drawn networks; each planned layer by layer, and in groups. */
enum { LAYERS_END = WK_COUNTOF(layers), NETWORKS = LAYERS_END + 24, PLANS = 2 };

/* Of each address of each command: how many steps have it, bytes that these touch, bytes that they
 * are said to use. Of memory "dram". */
typedef struct {
  const char *command, *field;
  int64_t steps, touched, said;
} figures;

static const figures want[] = {
#define ACCESSES(...) {__VA_ARGS__},
#include "tests/unit/accel_accesses.def"
};

enum { MOST_FIGURES = 64 };
static figures got[MOST_FIGURES];
static size_t n_got;

static figures *figures_of(const char *command, const char *field) {
  size_t i = 0;
  while (i < n_got && (strcmp(got[i].command, command) != 0 || strcmp(got[i].field, field) != 0))
    i++;
  assert_true(i < MOST_FIGURES);
  if (i == n_got) got[n_got++] = (figures){.command = command, .field = field};
  return &got[i];
}

/* ---- bytes ----------------------------------------------------------------------------------- */

typedef struct {
  int64_t from, end;
} interval;

/* Of one buffer. */
typedef struct {
  WK_VEC(interval) list;
} intervals;

static int by_from(const void *a, const void *b) {
  const interval *x = a, *y = b;
  return (x->from > y->from) - (x->from < y->from);
}

static void add_interval(intervals *b, int64_t from, int64_t end) {
  const interval x = {from, end};
  interval *last = b->list.n ? &b->list.data[b->list.n - 1] : NULL;
  if (from >= end) return;
  if (!last || from < last->from || from > last->end) wk_vec_push(&b->list, x);
  else if (end > last->end) last->end = end;
}

/* In their order, each once: how many. */
static int64_t sort_intervals(intervals *b) {
  intervals y = {0};
  int64_t n = 0;
  if (b->list.n) qsort(b->list.data, b->list.n, sizeof *b->list.data, by_from);
  for (size_t i = 0; i < b->list.n; i++)
    add_interval(&y, b->list.data[i].from, b->list.data[i].end);
  for (size_t i = 0; i < y.list.n; i++) n += y.list.data[i].end - y.list.data[i].from;
  wk_vec_free(&b->list);
  *b = y;
  return n;
}

/* A byte that others have and these have not; -1: there is none. Both are sorted. */
static int64_t lacking_byte(const intervals *b, const intervals *others) {
  size_t k = 0;
  for (size_t i = 0; i < others->list.n; i++) {
    const interval *y = &others->list.data[i];
    while (k < b->list.n && b->list.data[k].end <= y->from) k++;
    if (k == b->list.n || b->list.data[k].from > y->from) return y->from;
    if (b->list.data[k].end < y->end) return b->list.data[k].end;
  }
  return -1;
}

/* ---- what is said ---------------------------------------------------------------------------- */

typedef struct {
  const wk_accel_net *net;
  const wk_sched_steps *steps;
  const wk_sched_step *step;
  const wk_isa_command *command; /* of the step */
  const wk_isa_command_info *info;
  WK_VEC(wk_run) runs;
} subject;

/* Where access k's buffer is taken to lie: far from all others of the command. */
static int64_t base_of(int k) { return (int64_t)(k + 1) << 24; }

static void complain(const subject *x, const char *what, const char *field, int64_t at) {
  wk_str b = {0};
  wk_disasm_command(&b, x->net->machine, x->command);
  fail_msg("layer %s: %s: %s of %s, 0x%llx", x->net->names.data[x->command->operator - 1], b.s,
           what, field, (unsigned long long)at);
}

static intervals said_bytes(const subject *x, const wk_sched_access *a) {
  int64_t most = x->steps->buffers.data[a->buffer].bytes;
  intervals b = {0};
  for (int64_t i = 0; i < a->n1; i++)
    for (int64_t j = 0; j < a->n0; j++) {
      int64_t from = a->from + i * a->s1 + j * a->s0, end = from + a->run;
      add_interval(&b, from < 0 ? 0 : from, end > most ? most : end);
    }
  return b;
}

/* ---- what is touched ------------------------------------------------------------------------- */

static void keep(void *context, wk_space space, wk_access access, const char *field, uint64_t from,
                 uint64_t length) {
  subject *x = context;
  const wk_run r = {space, access, field, from, length};
  wk_vec_push(&x->runs, r);
}

/* The access of a run: its field's. */
static int access_of(const subject *x, const wk_run *r) {
  const wk_sched_step *s = x->step;
  for (int k = 0; k < s->n_access; k++) {
    if (strcmp(x->info->fields[s->access[k].field].name, r->field) != 0) continue;
    if (s->access[k].writes != (r->access == WK_ACCESS_WRITE))
      complain(x, "the direction", r->field, (int64_t)r->from);
    return k;
  }
  complain(x, "nothing is said", r->field, (int64_t)r->from);
  return 0;
}

static void compare_access(subject *x, int k) {
  const wk_sched_access *a = &x->step->access[k];
  const char *field = x->info->fields[a->field].name;
  figures *f = figures_of(x->info->name, field);
  intervals said = said_bytes(x, a), touched = {0};
  for (size_t i = 0; i < x->runs.n; i++) {
    const wk_run *r = &x->runs.data[i];
    int64_t at = (int64_t)r->from - base_of(k);
    if (r->space == WK_SPACE_SCRATCHPAD && access_of(x, r) == k)
      add_interval(&touched, at, at + (int64_t)r->length);
  }
  f->steps++;
  f->said += sort_intervals(&said);
  f->touched += sort_intervals(&touched);
  int64_t lacks = lacking_byte(&said, &touched);
  if (lacks >= 0) complain(x, "a byte that is not said", field, lacks);
  wk_vec_free(&said.list);
  wk_vec_free(&touched.list);
}

/* Sums go to the half of the accumulators that is said, and nothing else has any. */
static void compare_half(const subject *x, const wk_run *r) {
  uint64_t half = (uint64_t)wk_machine_entries(x->net->machine) / 2;
  int is = x->step->slot;
  if (is < 0 || r->from < (uint64_t)is * half || r->from + r->length > ((uint64_t)is + 1) * half)
    complain(x, "the half", r->field, (int64_t)r->from);
}

/* Exactly the rows that are said, and as many bytes. */
static void compare_memory(const subject *x) {
  const wk_sched_step *s = x->step;
  figures *f = figures_of(x->info->name, "dram");
  int64_t low = INT64_MAX, high = 0, bytes = 0;
  assert_true(s->tensor >= 0);
  const wk_accel_tensor *t = &x->net->tensors.data[s->tensor];
  for (size_t i = 0; i < x->runs.n; i++) {
    const wk_run *r = &x->runs.data[i];
    if (r->space != WK_SPACE_MEMORY) continue;
    int64_t first = (int64_t)r->from, last = first + (int64_t)r->length - 1;
    bytes += (int64_t)r->length;
    assert_true(last < t->bytes);
    if (first / (t->rows * t->row) != last / (t->rows * t->row)) low = 0, high = t->rows;
    first = first / t->row % t->rows, last = last / t->row % t->rows;
    if (first < low) low = first;
    if (last + 1 > high) high = last + 1;
  }
  assert_int_equal(bytes, s->bytes);
  f->steps++;
  f->touched += bytes;
  f->said += s->bytes;
  if (t->segment == WK_SEGMENT_CONST) return; /* nobody writes it */
  if (low != s->mem_rows[0] || high != s->mem_rows[1])
    complain(x, "rows", t->name, low);
}

static void compare_step(subject *x) {
  const wk_sched_step *s = x->step;
  wk_isa_command c = *x->command;
  assert_int_equal(s->queue, c.queue);
  assert_int_equal(s->layer, c.operator);
  x->info = wk_isa_command_of((int)c.opcode);
  x->runs.n = 0;
  for (int k = 0; k < s->n_access; k++) c.v[s->access[k].field] = base_of(k) + s->access[k].at;
  wk_footprint(x->net->machine, &c, keep, x);
  bool has_memory = false;
  for (size_t i = 0; i < x->runs.n; i++) {
    const wk_run *r = &x->runs.data[i];
    if (r->space == WK_SPACE_ACCUMULATOR) compare_half(x, r);
    has_memory |= r->space == WK_SPACE_MEMORY;
    if (r->space == WK_SPACE_SCRATCHPAD) access_of(x, r);
  }
  for (int k = 0; k < s->n_access; k++) compare_access(x, k);
  assert_int_equal(has_memory, s->tensor >= 0);
  if (has_memory) compare_memory(x);
}

/* ---- networks -------------------------------------------------------------------------------- */

static void compare_part(const wk_machine *m, const wk_sched_options *o, const wk_graph *g) {
  wk_accel_net net;
  wk_sched_net sched;
  wk_sched_plan plan = {0};
  wk_sched_steps steps = {0};
  wk_accel_refused why;
  wk_arena *a = wk_arena_new();
  wk_accel_net_init(&net, m, a);
  assert_true(wk_accel_net_make(g, &net, &why));
  wk_accel_sched_net(&net, a, &sched);
  wk_sched_use *uses = wk_sched_uses(&sched, a);
  wk_status s = wk_sched_search(&sched, uses, o, &plan);
  if (!s) wk_sched_build(&sched, &plan, uses, 0, plan.groups.n, &steps);
  subject x = {.net = &net, .steps = &steps};
  for (size_t i = 0; i < steps.list.n; i++) {
    x.step = &steps.list.data[i];
    x.command = wk_accel_step_command(&steps, i);
    compare_step(&x);
  }
  wk_vec_free(&x.runs);
  wk_status_free(s);
  wk_sched_steps_free(&steps);
  wk_sched_plan_free(&plan);
  wk_accel_net_free(&net);
  wk_arena_free(a);
}

static wk_module *module_of(int number) {
  wk_module *m;
  wk_str text = {0};
  int64_t changes;
  wk_status s;
  if (number >= (int)LAYERS_END) {
    int draw = number - (int)LAYERS_END;
    m = random_layers_graph((uint64_t)draw + 90000, 2 + draw % 5);
    s = wk_integer_convert(m, &changes);
  } else {
    wk_str_printf(&text, "module \"t\" {\ngraph @main%s  output %%y\n}\n}\n",
                  layers[number].graph);
    s = wk_module_parse(text.s, "t", &m);
  }
  if (s) fail_msg("network %d: %s: %s", number, s->place ? s->place : "", s->message);
  wk_str_free(&text);
  return m;
}

static void compare_network(int number) {
  static const char *const named[] = {"tiny", "base", "wide"};
  const char *name = number < (int)LAYERS_END ? layers[number].machine : named[number % 3];
  char spec[80];
  wk_machine machine;
  wk_targets t;
  wk_parts *parts = NULL;
  wk_pipeline_report report = {0};
  assert_null(wk_machine_read(name, &machine));
  snprintf(spec, sizeof spec, "accel:%s", name);
  wk_module *m = module_of(number);
  const wk_target_args args = {.target = spec, .cpu = "avx2",
                               .settings = WK_SETTINGS({"effort", "0"})};
  wk_status s = wk_targets_open(&args, &t);
  if (!s) s = wk_pipeline_run(m, &(wk_pipeline_options){.targets = &t}, &report, &parts);
  if (s) fail_msg("network %d: %s", number, s->message);
  for (size_t i = 0; i < parts->parts.n; i++) {
    const wk_part *p = &parts->parts.data[i];
    if (strcmp(p->instance->target->name, "accel") != 0) continue;
    for (int plan = 0; plan < PLANS; plan++) {
      const wk_sched_options o = {.prefetch = plan ? WK_PREFETCH_AUTO : WK_PREFETCH_DOUBLE,
                                  .without = plan ? 0 : WK_SCHED_FUSION,
                                  .marks = number % 5 == 0};
      compare_part(&machine, &o, p->module->main);
    }
  }
  wk_parts_free(parts);
  wk_pipeline_report_free(&report);
  wk_targets_close(&t);
  wk_module_free(m);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void print(const figures *f) {
  printf("ACCESSES(\"%s\", \"%s\", %lld, %lld, %lld)\n", f->command, f->field,
         (long long)f->steps, (long long)f->touched, (long long)f->said);
}

static bool is_printing;

static void everything_is_said(void **state) {
  size_t wrong = 0;
  (void)state;
  for (int i = 0; i < (int)NETWORKS; i++) compare_network(i);
  for (size_t i = 0; i < n_got; i++) {
    const figures *w = i < WK_COUNTOF(want) ? &want[i] : NULL, *g = &got[i];
    bool is_same = w && !strcmp(w->command, g->command) && !strcmp(w->field, g->field) &&
                   w->steps == g->steps && w->touched == g->touched && w->said == g->said;
    if (!is_same || is_printing) print(g);
    wrong += !is_same;
  }
  assert_true(is_printing || (!wrong && n_got == WK_COUNTOF(want)));
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(everything_is_said)};
  is_printing = argc > 1 && !strcmp(argv[1], "print");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
