/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/study/what_if.h"

typedef struct {
  const wk_sim_shown *x;
  const wk_flow *flow;
  int assumed;
  wk_if_commands *out;
  uint32_t *same;  /* per command: an earlier load of the same bytes, or NOBODY */
  uint32_t *stamp; /* per command: 1 + who has counted it last */
  WK_VEC(uint32_t) needs;
} walk;

/* ---- what need not be ------------------------------------------------------------------------ */

static bool is_of_results(const walk *w, const wk_isa_command *store) {
  uint64_t at = WK_V(store, ST, dram);
  for (size_t i = 0; i < w->x->stream->regions.n; i++) {
    const wk_image *r = &w->x->stream->regions.data[i];
    if (at >= r->address && at < r->address + r->size) return r->is_output;
  }
  return false;
}

static int by_bytes(const wk_isa_command *x, const wk_isa_command *y) {
  static const int fields[] = {WK_LD_dram, WK_LD_n0, WK_LD_n1, WK_LD_n2, WK_LD_n3,
                               WK_LD_s1,   WK_LD_s2, WK_LD_s3};
  for (size_t f = 0; f < WK_COUNTOF(fields); f++)
    if (x->v[fields[f]] != y->v[fields[f]]) return x->v[fields[f]] < y->v[fields[f]] ? -1 : 1;
  return 0;
}

static int by_source(const void *a, const void *b, void *context) {
  const wk_isa_command *c = context;
  uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
  int order = by_bytes(&c[i], &c[k]);
  return order ? order : i < k ? -1 : i > k;
}

static void find_repeated(walk *w) {
  const wk_if_commands *x = w->out;
  uint32_t *loads = wk_xcalloc(x->n, sizeof *loads), n = 0;
  for (uint32_t i = 0; i < x->n; i++) {
    w->same[i] = WK_SCHED_NOBODY;
    if (x->c[i].opcode == WK_CMD_LD && !x->is_gone[i]) loads[n++] = i;
  }
  qsort_r(loads, n, sizeof *loads, by_source, (void *)(uintptr_t)x->c);
  for (uint32_t k = 1; k < n; k++) {
    if (by_bytes(&x->c[loads[k - 1]], &x->c[loads[k]])) continue;
    w->same[loads[k]] = loads[k - 1];
    x->is_gone[loads[k]] = true;
  }
  free(loads);
}

/* What a store has put into memory, for whoever reads it back, is still where it came from. */
static void find_read_back(walk *w) {
  const wk_if_commands *x = w->out;
  for (uint32_t i = 0; i < x->n; i++) {
    if (x->c[i].opcode != WK_CMD_LD) continue;
    for (uint32_t k = w->flow->first[i]; k < w->flow->first[i + 1]; k++) {
      const wk_flow_edge *e = &w->flow->edges.data[k];
      if (e->space != WK_SPACE_MEMORY || !e->is_data) continue;
      x->is_gone[i] = true;
      if (!is_of_results(w, &x->c[e->from])) x->is_gone[e->from] = true;
    }
  }
}

/* ---- needs ----------------------------------------------------------------------------------- */

static void add_need(walk *w, uint32_t who, uint32_t of) {
  if (w->stamp[of] == who + 1) return;
  w->stamp[of] = who + 1;
  wk_vec_push(&w->needs, of);
}

static void add_needs_of(walk *w, uint32_t who, uint32_t of) {
  const wk_if_commands *x = w->out;
  for (uint32_t k = x->first[of]; k < x->first[of + 1]; k++) add_need(w, who, w->needs.data[k]);
}

static void add_needs(walk *w, uint32_t i) {
  const wk_if_commands *x = w->out;
  bool has_room = w->assumed & WK_IF_ROOM;
  if (has_room && w->same[i] != WK_SCHED_NOBODY) {
    if (x->is_gone[w->same[i]]) add_needs_of(w, i, w->same[i]);
    else add_need(w, i, w->same[i]);
    return;
  }
  for (uint32_t k = w->flow->first[i]; k < w->flow->first[i + 1]; k++) {
    const wk_flow_edge *e = &w->flow->edges.data[k];
    bool moves = e->space == WK_SPACE_MEMORY || e->space == WK_SPACE_SCRATCHPAD;
    if (has_room && moves && !e->is_data) continue;
    bool is_read_back = has_room && e->space == WK_SPACE_MEMORY;
    if (x->is_gone[e->from] || is_read_back) add_needs_of(w, i, e->from);
    else add_need(w, i, e->from);
  }
}

void wk_if_commands_of(const wk_sim_shown *x, const wk_isa_command *c, const wk_flow *flow,
                       int assumed, wk_if_commands *out) {
  walk w = {.x = x, .flow = flow, .assumed = assumed, .out = out};
  uint32_t n = flow->n;
  *out = (wk_if_commands){.machine = x->machine, .c = c, .n = n,
                          .is_gone = wk_xcalloc(n, sizeof *out->is_gone),
                          .first = wk_xcalloc(n + 1, sizeof *out->first)};
  w.same = wk_xcalloc(n, sizeof *w.same);
  w.stamp = wk_xcalloc(n, sizeof *w.stamp);
  if (assumed & WK_IF_ROOM) find_read_back(&w), find_repeated(&w);
  for (uint32_t i = 0; i < n; i++) {
    add_needs(&w, i);
    out->first[i + 1] = (uint32_t)w.needs.n;
  }
  out->needs = w.needs.data;
  free(w.same);
  free(w.stamp);
}

void wk_if_commands_free(wk_if_commands *x) {
  free(x->is_gone);
  free(x->first);
  free(x->needs);
}
