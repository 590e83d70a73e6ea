/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/check/flow.h"

#include <stdlib.h>
#include <string.h>

#include "targets/accel/check/shadows.h"

/* Bytes of memory that a load has read, from the first to the last, and some store writes. */
typedef struct {
  uint64_t from, end;
  uint32_t load;
} reading;

typedef struct {
  const wk_isa_command *c;
  wk_flow *out;
  wk_sched_shadow shadows[WK_SPACE_COUNT];
  WK_VEC(reading) readings; /* that no store has overwritten whole */
  WK_VEC(wk_run) runs;         /* of the command looked at */
  uint32_t now;
} walk;

static void add_edge(walk *w, const wk_run *r, uint32_t from, bool is_data) {
  wk_flow *f = w->out;
  if (from == WK_SCHED_NOBODY || from == w->now) return;
  for (size_t k = f->first[w->now]; k < f->edges.n; k++) {
    const wk_flow_edge *e = &f->edges.data[k];
    if (e->from == from && e->space == r->space && e->is_data == is_data && e->field == r->field)
      return;
  }
  const wk_flow_edge edge = {from, (uint8_t)r->space, is_data, r->field};
  wk_vec_push(&f->edges, edge);
}

static void look_at(walk *w, const wk_run *r, const wk_sched_cell *cell) {
  bool reads = r->access == WK_ACCESS_READ;
  if (r->space == WK_SPACE_ACCUMULATOR) {
    if (cell->writer != WK_SCHED_NOBODY && wk_drains(&w->c[cell->writer]))
      add_edge(w, r, cell->writer, reads);
    return;
  }
  add_edge(w, r, cell->writer, reads);
  if (reads || r->space == WK_SPACE_MEMORY) return;
  for (int q = 0; q < WK_QUEUE_COUNT; q++) add_edge(w, r, cell->reader[q], false);
}

/* A cell knows the last reader of a queue, and that knows nothing of those before it, which are
 * loads of the same queue: they may pass each other. */
static void look_at_readings(walk *w, const wk_run *whole) {
  size_t n = 0;
  for (size_t i = 0; i < w->readings.n; i++) {
    const reading x = w->readings.data[i];
    uint64_t end = whole->from + whole->length;
    if (x.from < end && whole->from < x.end) add_edge(w, whole, x.load, false);
    if (x.from < whole->from || x.end > end) w->readings.data[n++] = x;
  }
  w->readings.n = n;
}

/* What the command looked at has of memory. */
static void use_memory(walk *w) {
  wk_run whole = {.space = WK_SPACE_MEMORY};
  uint64_t end = 0;
  bool is_written = false;
  for (size_t i = 0; i < w->runs.n; i++) {
    const wk_run *r = &w->runs.data[i];
    if (r->space != WK_SPACE_MEMORY) continue;
    if (!end || r->from < whole.from) whole.from = r->from;
    if (r->from + r->length > end) end = r->from + r->length;
    whole.access = r->access, whole.field = r->field;
    is_written |= wk_sched_shadow_has_any(&w->shadows[WK_SPACE_MEMORY], r->from, r->length);
  }
  whole.length = end - whole.from;
  const reading x = {whole.from, end, w->now};
  if (end && whole.access == WK_ACCESS_WRITE) look_at_readings(w, &whole);
  else if (is_written) wk_vec_push(&w->readings, x);
}

/* Before any of them is noted: a command may write what it reads. */
static void look(walk *w, const wk_run *r) {
  uint64_t end;
  for (uint64_t a = r->from; a < r->from + r->length; a = end) {
    end = r->from + r->length;
    const wk_sched_cell *cell = wk_sched_shadow_find(&w->shadows[r->space], a, &end);
    if (cell) look_at(w, r, cell);
  }
}

static void note(walk *w, const wk_run *r) {
  bool reads = r->access == WK_ACCESS_READ;
  uint64_t end;
  if (reads && r->space == WK_SPACE_ACCUMULATOR) return;
  for (uint64_t a = r->from; a < r->from + r->length; a = end) {
    end = r->from + r->length;
    wk_sched_shadow *s = &w->shadows[r->space];
    wk_sched_cell *cell = (reads ? wk_sched_shadow_cut : wk_sched_shadow_join)(s, a, &end);
    if (cell && reads) cell->reader[w->c[w->now].queue] = w->now;
    else if (cell) cell->writer = w->now;
  }
}

static void keep_run(void *context, wk_space space, wk_access access, const char *field,
                     uint64_t from, uint64_t length) {
  walk *w = context;
  uint64_t size = w->shadows[space].size;
  if (!length || from >= size || length > size - from) return;
  const wk_run r = {space, access, field, from, length};
  wk_vec_push(&w->runs, r);
}

void wk_flow_of(const wk_machine *m, const wk_isa_command *c, uint32_t n, wk_flow *out) {
  walk w = {.c = c, .out = out};
  *out = (wk_flow){.n = n, .first = wk_xcalloc(n + 1, sizeof *out->first)};
  wk_shadows_prepare(w.shadows, m, c, n);
  for (w.now = 0; w.now < n; w.now++) {
    w.runs.n = 0;
    wk_footprint(m, &c[w.now], keep_run, &w);
    for (size_t k = 0; k < w.runs.n; k++) look(&w, &w.runs.data[k]);
    use_memory(&w);
    for (size_t k = 0; k < w.runs.n; k++) note(&w, &w.runs.data[k]);
    out->first[w.now + 1] = (uint32_t)out->edges.n;
  }
  wk_vec_free(&w.runs);
  wk_vec_free(&w.readings);
  wk_shadows_free(w.shadows);
}

void wk_flow_free(wk_flow *f) {
  free(f->first);
  wk_vec_free(&f->edges);
}
