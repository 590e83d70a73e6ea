/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "targets/accel/compile/package.h"

typedef struct {
  wk_instance base;
  wk_machine machine;
  wk_accel_options options;
  char *spec;
} accel;

static const accel *accel_of(const wk_instance *t) { return (const accel *)(const void *)t; }

/* ---- MACHINE[:KEY=VALUE…] -------------------------------------------------------------------- */

static const char *const prefetches[] = {"off", "serial", "double", "auto", NULL};

static wk_status set_option(accel *t, const char *key, const char *value) {
  if (!strcmp(key, "prefetch")) {
    for (int i = 0; prefetches[i]; i++)
      if (!strcmp(value, prefetches[i])) return t->options.prefetch = (wk_accel_prefetch)i, NULL;
    return wk_error(WK_USAGE, "--target accel: prefetch is off, serial, double or auto, not '%s'",
                    value);
  }
  if (!strcmp(key, "effort")) {
    if (strlen(value) != 1 || *value < '0' || *value > '3')
      return wk_error(WK_USAGE, "--target accel: effort is 0 to 3, not '%s'", value);
    return t->options.effort = *value - '0', NULL;
  }
  if (!strcmp(key, "dram")) {
    for (char *p = (char *)(uintptr_t)value; *p; p++)
      if (*p == '+') *p = ',';
    return wk_machine_override(&t->machine, value);
  }
  return wk_error(WK_USAGE, "--target accel: no option '%s'; there are prefetch, effort and dram",
                  key);
}

static wk_status read_spec(accel *t, char *text) {
  char *rest = strchr(text, ':');
  if (rest) *rest++ = '\0';
  WK_TRY(wk_machine_read(*text ? text : "base", &t->machine));
  while (rest) {
    char *word = rest, *equals = strchr(word, '=');
    rest = strchr(word, ':');
    if (rest) *rest++ = '\0';
    if (!equals || (rest && equals > rest))
      return wk_error(WK_USAGE, "--target accel: '%s' is no KEY=VALUE", word);
    *equals = '\0';
    WK_TRY(set_option(t, word, equals + 1));
  }
  return NULL;
}

static void close_accel(wk_instance *t) {
  free(((accel *)(void *)t)->spec);
  free(t);
}

static wk_status open_accel(const char *spec, wk_instance **out) {
  accel *t = wk_xcalloc(1, sizeof *t);
  t->spec = wk_xstrdup(spec ? spec : "base");
  t->options = (wk_accel_options){WK_PREFETCH_AUTO, 1};
  t->base = (wk_instance){&wk_target_accel, t->spec, true};
  char *text = wk_xstrdup(t->spec);
  wk_status s = read_spec(t, text);
  free(text);
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
  wk_operand_layout((int)m->array, type->rank, wk_accel_lane_axis(g, v, NULL), out);
  return true;
}

static wk_status compile(const wk_instance *t, const wk_target_part *parts, size_t n,
                         const wk_emit_options *o, wk_package *pkg, uint32_t *row,
                         wk_emit_result *result) {
  const accel *x = accel_of(t);
  (void)o;
  result->scratch_bytes = 0;
  return wk_accel_compile(&x->machine, x->spec, &x->options, parts, n, pkg, row);
}

const wk_target wk_target_accel = {
    .name = "accel",
    .doc = "the accelerator: DMA and compute streams with asynchronous prefetch (docs/isa.md)",
    .spec_doc = "a machine: base (default), tiny, wide or FILE.cfg; then :KEY=VALUE, prefetch=off, "
                "serial, double or auto, effort=0 to 3, dram=latency=500+bytes=4",
    .places_itself = true,
    .takes_graph = true,
    .open = open_accel,
    .close = close_accel,
    .claims = claims,
    .fuses = fuses,
    .supports = supports,
    .edge = edge,
    .compile = compile};
