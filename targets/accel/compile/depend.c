/* SPDX-License-Identifier: Apache-2.0
 * What steps wait for: who used the same bytes before. Buffers are told apart by cells, rows of a
 * tensor as a rule, memory by the rows of its tensors, the accumulators by their halves. */
#include <stdlib.h>
#include <string.h>

#include "targets/accel/compile/ideas.h"
#include "targets/accel/compile/plan.h"

/* One more than the ordinal of the last command of each queue, of the queues in the sets. */
typedef struct {
  uint32_t wrote[WK_QUEUE_COUNT], read[WK_QUEUE_COUNT];
  uint8_t writers, readers;
} cell;

/* A read that its cells do not show yet. */
typedef struct {
  uint32_t step;
  int access, before; /* before: another one of the same buffer, or -1 */
} reading;

/* A buffer: its cells, what touched any of them, and what touched all, which is not noted in
 * each. Few buffers are written again once they were read, so reads wait for a write that has to
 * know of them. */
typedef struct {
  cell *cells, any, all; /* cells: NULL until something is noted */
  int reads;             /* the last one of those that wait; -1: none */
} tracked;

typedef struct {
  const wk_accel_net *net;
  wk_accel_steps *steps;
  tracked *buffers;
  WK_VEC(reading) reads; /* of all buffers */
  uint32_t **rows; /* of tensors: stores */
  uint32_t drained[2];
} depending;

static void need(wk_accel_step *s, int queue, uint32_t count) {
  if (s->needs[queue] < count) s->needs[queue] = count;
}

/* Commands of ve start when the one before has retired. */
static void need_all(wk_accel_step *s, unsigned set, const uint32_t counts[WK_QUEUE_COUNT]) {
  if (s->c.queue == WK_QUEUE_ve) set &= ~(1u << WK_QUEUE_ve);
  for (; set; set &= set - 1) {
    int q = __builtin_ctz(set);
    need(s, q, counts[q]);
  }
}

static void join_counts(uint32_t a[WK_QUEUE_COUNT], uint8_t *set, int queue, uint32_t count) {
  if (a[queue] < count) a[queue] = count;
  *set |= (uint8_t)(1u << queue);
}

static void note(cell *c, const wk_accel_step *s, bool writes) {
  join_counts(writes ? c->wrote : c->read, writes ? &c->writers : &c->readers, (int)s->c.queue,
              s->ordinal + 1);
}

static void look(wk_accel_step *s, const cell *c, bool writes) {
  need_all(s, c->writers, c->wrote);
  if (writes) need_all(s, c->readers, c->read);
}

/* Nothing that a cell of the buffer may hold adds to what the step needs. */
static bool is_settled(const wk_accel_step *s, const cell *any, bool writes) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    uint32_t most = writes && any->read[q] > any->wrote[q] ? any->read[q] : any->wrote[q];
    if (s->needs[q] < most && !(q == WK_QUEUE_ve && s->c.queue == WK_QUEUE_ve)) return false;
  }
  return true;
}

/* Cells of the runs of an access. */
typedef struct {
  const wk_accel_buffer *buffer;
  int64_t from, run, step;    /* bytes: of the first run */
  int64_t first, last, cells; /* cells: of the first run; from run to run, 0: that is not even */
} runs;

static runs runs_of(const wk_accel_buffer *b, const wk_accel_access *a, int64_t i) {
  runs r = {.buffer = b, .from = a->from + i * a->s1, .run = a->run, .step = a->s0};
  int64_t end = r.from + r.run + (a->n0 - 1) * a->s0;
  if (r.from < 0 || a->s0 < 0 || end > b->bytes || a->s0 % b->cell) return r;
  r.first = r.from / b->cell, r.last = (r.from + r.run - 1) / b->cell;
  r.cells = a->s0 / b->cell;
  return r;
}

/* Cells [first, last] of run j. */
static void cells_of(const runs *r, int64_t j, int64_t *first, int64_t *last) {
  if (r->cells) {
    *first = r->first + j * r->cells, *last = r->last + j * r->cells;
    return;
  }
  int64_t from = r->from + j * r->step, end = from + r->run;
  *first = (from < 0 ? 0 : from) / r->buffer->cell;
  *last = ((end > r->buffer->bytes ? r->buffer->bytes : end) - 1) / r->buffer->cell;
}

/* The last run first: it is as a rule the one that was written last. */
static void look_at_cells(const tracked *t, const wk_accel_buffer *b, wk_accel_step *s,
                          const wk_accel_access *a) {
  int64_t first, last;
  if (!t->cells) return;
  for (int64_t i = a->n1 - 1; i >= 0; i--) {
    runs r = runs_of(b, a, i);
    for (int64_t j = a->n0 - 1; j >= 0; j--) {
      if (is_settled(s, &t->any, a->writes)) return;
      cells_of(&r, j, &first, &last);
      for (int64_t k = first; k <= last; k++) look(s, &t->cells[k], a->writes);
    }
  }
}

static void note_in_cells(tracked *t, const wk_accel_buffer *b, const wk_accel_step *s,
                          const wk_accel_access *a) {
  int64_t first, last;
  if (!t->cells) t->cells = wk_xcalloc((size_t)wk_ceil_div(b->bytes, b->cell), sizeof(cell));
  for (int64_t i = 0; i < a->n1; i++) {
    runs r = runs_of(b, a, i);
    for (int64_t j = 0; j < a->n0; j++) {
      cells_of(&r, j, &first, &last);
      for (int64_t k = first; k <= last; k++) note(&t->cells[k], s, a->writes);
    }
  }
}

/* It touches every cell of the buffer: counted, because no cell is touched twice for nothing. */
static bool is_whole(const wk_accel_buffer *b, const wk_accel_access *a) {
  return a->n0 * a->n1 * a->run >= b->bytes &&
         a->n0 * a->n1 * (a->run / b->cell) >= wk_ceil_div(b->bytes, b->cell);
}

static void note_reads(depending *d, tracked *t, const wk_accel_buffer *b) {
  for (; t->reads >= 0; t->reads = d->reads.data[t->reads].before) {
    const reading *r = &d->reads.data[t->reads];
    const wk_accel_step *s = &d->steps->list.data[r->step];
    note_in_cells(t, b, s, &s->access[r->access]);
  }
}

static void look_at_all(depending *d, wk_accel_step *s) {
  for (int k = 0; k < s->n_access; k++) {
    const wk_accel_access *a = &s->access[k];
    const wk_accel_buffer *b = &d->steps->buffers.data[a->buffer];
    tracked *t = &d->buffers[a->buffer];
    bool whole = is_whole(b, a);
    look(s, whole ? &t->any : &t->all, a->writes);
    if (whole) continue;
    if (a->writes) note_reads(d, t, b);
    look_at_cells(t, b, s, a);
  }
}

static void note_all(depending *d, size_t step) {
  const wk_accel_step *s = &d->steps->list.data[step];
  for (int k = 0; k < s->n_access; k++) {
    const wk_accel_access *a = &s->access[k];
    const wk_accel_buffer *b = &d->steps->buffers.data[a->buffer];
    tracked *t = &d->buffers[a->buffer];
    note(&t->any, s, a->writes);
    if (is_whole(b, a)) {
      note(&t->all, s, a->writes);
    } else if (a->writes) {
      note_in_cells(t, b, s, a);
    } else {
      const reading r = {(uint32_t)step, k, t->reads};
      t->reads = (int)d->reads.n;
      wk_vec_push(&d->reads, r);
    }
  }
}

static void depend_memory(depending *d, wk_accel_step *s) {
  if (s->tensor < 0 || d->net->tensors.data[s->tensor].segment == WK_SEGMENT_CONST) return;
  const wk_accel_tensor *t = &d->net->tensors.data[s->tensor];
  uint32_t **rows = &d->rows[s->tensor];
  if (!*rows) *rows = wk_xcalloc((size_t)t->rows, sizeof **rows);
  for (int64_t r = s->mem_rows[0]; r < s->mem_rows[1]; r++) {
    if (s->c.opcode == WK_CMD_LD) need(s, WK_QUEUE_st, (*rows)[r]);
    else (*rows)[r] = s->ordinal + 1;
  }
}

static bool drains(const wk_accel_step *s) {
  return s->c.opcode != WK_CMD_CONV || WK_V(&s->c, CONV, drain);
}

void wk_accel_depend(const wk_accel_net *net, wk_accel_prefetch mode, unsigned without,
                     wk_accel_steps *s) {
  depending d = {.net = net, .steps = s};
  d.buffers = wk_xcalloc(s->buffers.n, sizeof *d.buffers);
  d.rows = wk_xcalloc(net->tensors.n, sizeof *d.rows);
  for (size_t i = 0; i < s->buffers.n; i++) d.buffers[i].reads = -1;
  for (size_t i = 0; i < s->list.n; i++) {
    wk_accel_step *x = &s->list.data[i];
    memset(x->needs, 0, sizeof x->needs);
    look_at_all(&d, x);
    note_all(&d, i);
    depend_memory(&d, x);
    for (int k = 0; k < x->n_access; k++) {
      wk_accel_buffer *b = &s->buffers.data[x->access[k].buffer];
      if (b->first < 0) b->first = (int)i;
      b->last = (int)i;
    }
    if (x->half < 0) continue;
    need(x, WK_QUEUE_ex, d.drained[x->half]);
    if (drains(x)) d.drained[x->half] = x->ordinal + 1;
  }
  wk_accel_hold_loads(s, without);
  wk_accel_hold_transfers(s, mode);
  for (size_t i = 0; i < s->buffers.n; i++) free(d.buffers[i].cells);
  for (size_t t = 0; t < net->tensors.n; t++) free(d.rows[t]);
  wk_vec_free(&d.reads);
  free(d.buffers);
  free(d.rows);
}
