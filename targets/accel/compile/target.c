/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "targets/accel/compile/package.h"
#include "targets/accel/isa/unit_emit.h"

typedef struct {
  wk_instance base;
  wk_machine machine;
  wk_sched_options options;
  wk_sched_explain explain;
  char *spec, *layer; /* layer: --explain */
} accel;

static const accel *accel_of(const wk_instance *t) { return (const accel *)(const void *)t; }
static accel *accel_to_set(wk_instance *t) { return (accel *)(void *)t; }

/* ---- machine and settings -------------------------------------------------------------------- */

static wk_status set_prefetch(wk_instance *t, const char *value) {
  for (size_t i = 0; i < WK_PREFETCH_COUNT; i++)
    if (!strcmp(value, wk_sched_prefetch_names[i]))
      return accel_to_set(t)->options.prefetch = (wk_sched_prefetch)i, NULL;
  return wk_error(WK_USAGE, "there are off, serial, double and auto, not '%s'", value);
}

static wk_status set_effort(wk_instance *t, const char *value) {
  if (strlen(value) != 1 || *value < '0' || *value > '3')
    return wk_error(WK_USAGE, "must be 0, 1, 2 or 3, not '%s'", value);
  accel_to_set(t)->options.effort = *value - '0';
  return NULL;
}

static wk_status set_marks(wk_instance *t, const char *value) {
  if (strcmp(value, "yes") && strcmp(value, "no"))
    return wk_error(WK_USAGE, "must be yes or no, not '%s'", value);
  accel_to_set(t)->options.marks = *value == 'y';
  return NULL;
}

static wk_status set_without(wk_instance *t, const char *value) {
  return wk_sched_ideas_read(value, &accel_to_set(t)->options.without);
}

static wk_status set_dram(wk_instance *t, const char *value) {
  return wk_machine_override(&accel_to_set(t)->machine, value);
}

static wk_status set_explain(wk_instance *t, const char *value) {
  accel *x = accel_to_set(t);
  free(x->layer);
  x->layer = wk_xstrdup(value);
  x->explain = (wk_sched_explain){.layer = x->layer};
  x->options.explain = &x->explain;
  return NULL;
}

static const wk_target_setting settings[] = {
    {"prefetch", "MODE", "off, serial, double, auto (default)",
     "setting of a target ('wick targets'): when data is loaded for what computes later",
     "off: nothing runs beside a transfer; double: only what its own layer computes; auto: "
     "transfers start as early as there is room; each with the plan that is best for it; serial: "
     "the plan of auto, one command at a time", set_prefetch, false},
    {"effort", "N", "0 to 3 (default 1)",
     "setting of a target: how long to search for a schedule ('wick targets')",
     "how many schedules are tried: 0: few; 1: groups "
     "of up to 6 operators; 2, 3: of up to 8 and 12, in more strips, then a local search",
     set_effort, false},
    {"marks", "YES|NO", "yes, no (default)",
     "setting of a target: time stamps behind groups of operators",
     "behind every group of operators a MARK writes the machine's "
     "counters to memory, so that groups can be timed on hardware; 2 cycles and 1 KiB each",
     set_marks, false},
    {"without", "IDEA,…", "IDEA,…",
     "setting of a target: what to leave out of its schedules, to see what that is worth ('wick "
     "targets')",
     "leave out what makes schedules fast, to see what it is worth: "
     "early-issue (loads more than a tile ahead), cross-layer (loads for the next group), "
     "residency (tensors that stay in the scratchpad), fusion (groups of several operators), "
     "local-search", set_without, false},
    {"dram", "KEY=VALUE,…", "KEY=VALUE,…", "setting of a target: change the machine's memory",
     "memory that differs from the machine's: latency=500,bytes=4 (docs/machine.md)", set_dram,
     false},
    {"explain", "LAYER", "LAYER",
     "setting of a target: print how this layer could have been computed, and what each way would "
     "cost",
     "print the groups that were tried for a layer, and what they would cost", set_explain, true},
    {0}};

static void close_accel(wk_instance *t) {
  accel *x = (accel *)(void *)t;
  wk_vec_free(&x->explain.list);
  wk_str_free(&x->explain.text);
  wk_sched_plans_free(x->options.plans);
  free(x->layer);
  free(x->spec);
  free(t);
}

static wk_status open_accel(const char *spec, wk_instance **out) {
  accel *t = wk_xcalloc(1, sizeof *t);
  t->spec = wk_xstrdup(spec ? spec : "base");
  t->options = (wk_sched_options){.prefetch = WK_PREFETCH_AUTO, .effort = 1,
                                  .plans = wk_sched_plans_new()};
  t->base = (wk_instance){&wk_target_accel, t->spec, true};
  wk_status s = wk_machine_read(t->spec, &t->machine);
  if (s) close_accel(&t->base);
  else *out = &t->base;
  return s;
}

/* ---- what it computes ------------------------------------------------------------------------ */

static bool claims(const wk_instance *t, const wk_graph *g, const wk_node *n) {
  (void)t;
  (void)g;
  return n->op == WK_OP_INTEGER_SOFTMAX || n->op == WK_OP_INTEGER_NORM ||
         n->op == WK_OP_INTEGER_AVG_POOL || n->op == WK_OP_INTEGER_MATMUL;
}

static bool supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                     const char **reason) {
  *reason = wk_accel_refusal(&accel_of(t)->machine, g, n, a);
  return !*reason;
}

static bool admits(const wk_instance *t, const wk_graph *part, wk_arena *a, wk_node_id *node,
                   const char **reason) {
  const accel *x = accel_of(t);
  return wk_accel_admits(&x->machine, &x->options, part, a, node, reason);
}

static bool fuses(const wk_instance *t, const wk_graph *g, const wk_node *fused) {
  wk_arena *a = wk_arena_new();
  bool fine = !wk_accel_refusal(&accel_of(t)->machine, g, fused, a);
  wk_arena_free(a);
  return fine;
}

/* ---- edges ----------------------------------------------------------------------------------- */

static bool edge(const wk_instance *t, const wk_graph *g, wk_value_id v, bool is_output,
                 wk_edge_layout *out) {
  const wk_machine *m = &accel_of(t)->machine;
  const wk_type *type = &wk_val(g, v)->type;
  if (!wk_accel_is_8_bit(type->dtype) || type->rank < 1 || type->rank > 6) return false;
  if (!is_output && wk_accel_is_dense_input(m, g, v)) {
    wk_operand_layout(wk_accel_dense_lanes(type->dims[1]), type->rank, 1, out);
    return true;
  }
  wk_operand_layout((int)m->array, type->rank, wk_accel_lane_axis(m, g, v), out);
  return true;
}

/* For whoever asks, also when s is an error. The layer may have been in none of the parts. */
static wk_status tell_explained(const accel *x, wk_status s, const wk_emit_options *o) {
  wk_sched_explain *e = x->options.explain;
  if (!e) return s;
  if (o->text) wk_str_addn(o->text, e->text.s, e->text.n);
  e->text.n = 0;
  if (s || e->is_found) return s;
  return wk_error(WK_USAGE, "--explain: no layer '%s' on the accelerator; 'wick inspect PACKAGE "
                            "--steps' lists them", x->layer);
}

static wk_status compile(const wk_instance *t, const wk_target_part *parts, size_t n,
                         const wk_emit_options *o, wk_package *pkg, uint32_t *row,
                         wk_emit_result *result) {
  const accel *x = accel_of(t);
  result->scratch_bytes = 0;
  wk_status s = wk_accel_compile(&x->machine, x->spec, &x->options, parts, n, pkg, row,
                                 &result->predicted_cycles);
  return tell_explained(x, s, o);
}

static wk_status write_stream(const wk_instance *t, const wk_target_part *parts, size_t n,
                              const wk_emit_options *o, const char *path, wk_emit_result *result) {
  const accel *x = accel_of(t);
  result->scratch_bytes = 0;
  wk_status s = wk_accel_write_stream(&x->machine, &x->options, parts, n, path,
                                      &result->predicted_cycles);
  return tell_explained(x, s, o);
}

static const wk_target_output outputs[] = {
    {"stream", "", "FILE.wcs for 'wick sim', 'check' and 'disasm'; FILE.bin, FILE.map: what goes "
     "where in memory (docs/streams.md)", true, wk_accel_emit_files, write_stream},
    {0}};

const wk_target wk_target_accel = {
    .name = "accel",
    .doc = "the accelerator: DMA and compute streams with asynchronous prefetch (docs/isa.md)",
    .spec_doc = "base (default), tiny, wide or FILE.cfg",
    .settings = settings,
    .outputs = outputs,
    .places_itself = true,
    .takes_graph = true,
    .wants_integers = true,
    .open = open_accel,
    .close = close_accel,
    .adapt = wk_accel_adapt,
    .claims = claims,
    .covers = wk_accel_covers,
    .fuses = fuses,
    .supports = supports,
    .admits = admits,
    .edge = edge,
    .compile = compile};
