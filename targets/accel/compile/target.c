/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "compiler/stream/settings.h"
#include "targets/accel/compile/package.h"
#include "targets/accel/isa/unit_emit.h"

enum { KEY_STEP = 64 };

typedef struct {
  wk_sched_instance base;
  wk_machine machine;
  wk_sched_explain explain;
  char *spec, *layer; /* layer: --explain */
  int64_t part;       /* --part; -1: none was named */
  int64_t key_step;   /* --keys; 0: all at once */
} accel;

static const accel *accel_of(const wk_instance *t) { return (const accel *)(const void *)t; }

const wk_machine *wk_accel_machine_of(const wk_instance *t) { return &accel_of(t)->machine; }
const int64_t *wk_accel_key_step_of(const wk_instance *t) { return &accel_of(t)->key_step; }
static accel *accel_to_set(wk_instance *t) { return (accel *)(void *)t; }

/* ---- machine and settings -------------------------------------------------------------------- */

static wk_status set_marks(wk_instance *t, const char *value) {
  if (strcmp(value, "yes") && strcmp(value, "no"))
    return wk_error(WK_USAGE, "must be yes or no, not '%s'", value);
  accel_to_set(t)->base.options.marks = *value == 'y';
  return NULL;
}

static wk_status set_dram(wk_instance *t, const char *value) {
  return wk_machine_override(&accel_to_set(t)->machine, value);
}

static wk_status set_explain(wk_instance *t, const char *value) {
  accel *x = accel_to_set(t);
  free(x->layer);
  x->layer = wk_xstrdup(value);
  x->explain = (wk_sched_explain){.layer = x->layer};
  x->base.options.explain = &x->explain;
  return NULL;
}

static bool is_number(const char *value, int64_t *out) {
  char *end;
  *out = strtol(value, &end, 10);
  return *value >= '0' && *value <= '9' && !*end && end - value < 7;
}

static wk_status set_keys(wk_instance *t, const char *value) {
  if (!strcmp(value, "all")) return accel_to_set(t)->key_step = 0, NULL;
  bool is_fine = is_number(value, &accel_to_set(t)->key_step) && accel_to_set(t)->key_step > 0;
  return is_fine ? NULL : wk_error(WK_USAGE, "must be a number of keys, or all, not '%s'", value);
}

static wk_status set_part(wk_instance *t, const char *value) {
  bool is_fine = is_number(value, &accel_to_set(t)->part);
  return is_fine ? NULL : wk_error(WK_USAGE, "must be the number of a part, not '%s'", value);
}

static const wk_target_setting settings[] = {
    WK_SCHED_SETTING_PREFETCH, WK_SCHED_SETTING_EFFORT,
    {"marks", "YES|NO", "yes, no (default)",
     "setting of a target: time stamps behind groups of operators",
     "behind every group of operators a MARK writes the machine's "
     "counters to memory, so that groups can be timed on hardware; 2 cycles and 1 KiB each",
     set_marks, false},
    WK_SCHED_SETTING_WITHOUT,
    {"dram", "KEY=VALUE,…", "KEY=VALUE,…", "setting of a target: change the machine's memory",
     "memory that differs from the machine's: latency=500,bytes=4 (docs/machine.md)", set_dram,
     false},
    {"keys", "N|all", "a number (default 64), all",
     "setting of a target: attention over a cache for every N keys",
     "attention over a cache is compiled for every N keys, and a run takes what is enough for "
     "those that it has filled; all: for the whole cache alone", set_keys, false},
    {"explain", "LAYER", "LAYER",
     "setting of a target: print how this layer could have been computed, and what each way would "
     "cost",
     "print the groups that were tried for a layer, and what they would cost", set_explain, true},
    {"part", "N", "N",
     "setting of a target: the one of several parts that --emit stream writes, counted from 0",
     "the one of several parts that --emit stream writes, counted from 0", set_part, true},
    {0}};

static void close_accel(wk_instance *t) {
  accel *x = (accel *)(void *)t;
  wk_vec_free(&x->explain.list);
  wk_str_free(&x->explain.text);
  wk_sched_plans_free(x->base.options.plans);
  free(x->layer);
  free(x->spec);
  free(t);
}

static wk_status open_accel(const char *spec, wk_instance **out) {
  accel *t = wk_xcalloc(1, sizeof *t);
  t->spec = wk_xstrdup(spec ? spec : "base");
  t->part = -1;
  t->key_step = KEY_STEP;
  t->base.options = (wk_sched_options){.prefetch = WK_PREFETCH_AUTO, .effort = 1,
                                       .threads = wk_sched_processors(),
                                       .plans = wk_sched_plans_new()};
  t->base.base = (wk_instance){&wk_target_accel, t->spec, true};
  wk_status s = wk_machine_read(t->spec, &t->machine);
  if (s) close_accel(&t->base.base);
  else *out = &t->base.base;
  return s;
}

/* In picoseconds, at the machine's clock: the array full, a word of the vector unit each cycle, the
 * memory's bandwidth, and a load and a store to begin and end with. */
static wk_target_cost cost_of(const wk_instance *t) {
  const wk_machine *m = &accel_of(t)->machine;
  double cycle = 1e6 / (double)m->clock_mhz, n = (double)m->array;
  return (wk_target_cost){
      .per_mac = cycle / (n * n), .per_byte = cycle / n,
      .per_edge_byte = cycle * (double)m->dram_bytes.den / (double)m->dram_bytes.num,
      .per_part = cycle * (double)(m->dram_latency + m->dram_write_latency)};
}

/* ---- what it computes ------------------------------------------------------------------------ */

static bool claims(const wk_instance *t, const wk_graph *g, const wk_node *n) {
  (void)t;
  (void)g;
  return n->op == WK_OP_INTEGER_SOFTMAX || n->op == WK_OP_INTEGER_NORM ||
         n->op == WK_OP_INTEGER_AVG_POOL || n->op == WK_OP_INTEGER_MATMUL ||
         n->op == WK_OP_INTEGER_RESIZE || n->op == WK_OP_DEPTH_TO_SPACE;
}

static bool supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                     const char **reason) {
  *reason = wk_accel_refusal(&accel_of(t)->machine, g, n, a);
  return !*reason;
}

static bool admits(const wk_instance *t, const wk_graph *part, wk_arena *a, wk_node_id *node,
                   const char **reason) {
  const accel *x = accel_of(t);
  return wk_accel_admits(&x->machine, &x->base.options, part, a, node, reason);
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
  if (!wk_accel_is_8_bit(type->dtype) || type->rank < 1 || type->rank > 6 ||
      !wk_type_count(type))
    return false;
  const int dense = is_output ? -1 : wk_accel_dense_axis(m, g, v);
  if (dense >= 0) {
    int lanes = wk_accel_dense_lanes(type->dims[dense]);
    if (dense == 3) wk_operand_image_layout(lanes, 4, out);
    else wk_operand_layout(lanes, 4, 1, out);
    return true;
  }
  const wk_accel_lanes lanes = wk_accel_edge_lanes(m, g, v);
  if (lanes.is_image) wk_operand_image_layout((int)m->array, type->rank, out);
  else wk_operand_layout((int)m->array, type->rank, lanes.axis, out);
  return true;
}

/* For whoever asks, also when s is an error. The layer may have been in none of the parts. */
static wk_status tell_explained(const accel *x, wk_status s, const wk_emit_options *o) {
  wk_sched_explain *e = x->base.options.explain;
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
  if (x->part >= 0) return wk_error(WK_USAGE, "--part chooses what --emit stream writes; a package "
                                              "has all parts");
  wk_status s = wk_accel_compile(&x->machine, x->spec, &x->base.options, parts, n, pkg, row,
                                 &result->predicted_cycles);
  return tell_explained(x, s, o);
}

static wk_status write_stream(const wk_instance *t, const wk_target_part *parts, size_t n,
                              const wk_emit_options *o, const char *path, wk_emit_result *result) {
  const accel *x = accel_of(t);
  result->scratch_bytes = 0;
  wk_status s = wk_accel_write_streams(&x->machine, &x->base.options, parts, n, x->part, path, o,
                                       &result->predicted_cycles);
  return tell_explained(x, s, o);
}

static const wk_target_output outputs[] = {
    {"stream", "", "FILE.wcs for 'wick sim', 'check' and 'disasm'; FILE.bin, FILE.map: what goes "
     "where in memory; of several parts FILE.0.wcs … and FILE.index (docs/streams.md)", true,
     wk_accel_emit_files, write_stream},
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
    .cost_of = cost_of,
    .keeps_products = true,
    .has_copies = true,
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
