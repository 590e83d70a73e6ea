/* SPDX-License-Identifier: Apache-2.0
 * What steps wait for: who used the same bytes before. Buffers are told apart by cells, rows of a
 * tensor as a rule, memory by the rows of its tensors, what a queue keeps by slots. */
#include <stdlib.h>
#include <string.h>

#include "compiler/stream/ideas.h"
#include "compiler/stream/machine.h"

/* One more than the ordinal of the last command of each queue, of the queues in the sets. */
typedef struct {
  wk_sched_counts wrote, read;
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
  const wk_sched_net *net;
  wk_sched_steps *steps;
  tracked *buffers;
  WK_VEC(reading) reads; /* of all buffers */
  uint32_t **rows; /* of tensors, of each plane or of all: stores, one more than the ordinal of the
                      last */
  uint32_t ended[WK_SCHED_QUEUES][WK_SCHED_SLOTS]; /* the same of whoever ended a slot's use */
  unsigned serial;
  size_t chunk, used; /* of the steps' room: bytes of this chunk, and all before */
} depending;

enum { CHUNK = 1 << 20 };

/* Zeroed; they live as long as the steps are depended on. */
static cell *new_cells(depending *d, int64_t n) {
  wk_sched_steps *s = d->steps;
  size_t bytes = (size_t)n * sizeof(cell);
  while (d->chunk < s->room.n && d->used + bytes > s->room.data[d->chunk].bytes)
    d->chunk++, d->used = 0;
  if (d->chunk == s->room.n) {
    size_t all = bytes > CHUNK ? bytes : CHUNK;
    wk_vec_push(&s->room, ((wk_sched_chunk){wk_xmalloc(all), all}));
  }
  cell *x = (cell *)(void *)&s->room.data[d->chunk].data[d->used];
  d->used += bytes;
  return memset(x, 0, bytes);
}

static void need(wk_sched_step *s, int queue, uint32_t count) {
  if (s->needs[queue] < count) s->needs[queue] = count;
}

/* Commands of a serial queue start when the one before has retired. */
static void need_all(const depending *d, wk_sched_step *s, unsigned set,
                     const wk_sched_counts counts) {
  set &= ~(d->serial & 1u << s->queue);
  for (; set; set &= set - 1) {
    int q = __builtin_ctz(set);
    need(s, q, counts[q]);
  }
}

static void join_counts(wk_sched_counts a, uint8_t *set, int queue, uint32_t count) {
  if (a[queue] < count) a[queue] = count;
  *set |= (uint8_t)(1u << queue);
}

static void note(cell *c, const wk_sched_step *s, bool writes) {
  join_counts(writes ? c->wrote : c->read, writes ? &c->writers : &c->readers, s->queue,
              s->ordinal + 1);
}

static void look(const depending *d, wk_sched_step *s, const cell *c, bool writes) {
  need_all(d, s, c->writers, c->wrote);
  if (writes) need_all(d, s, c->readers, c->read);
}

/* Nothing that a cell of the buffer may hold adds to what the step needs. */
static bool is_settled(const depending *d, const wk_sched_step *s, const cell *any,
                       bool writes) {
  for (int q = 0; q < d->net->machine->queues.n; q++) {
    uint32_t most = writes && any->read[q] > any->wrote[q] ? any->read[q] : any->wrote[q];
    if (s->needs[q] < most && !(q == s->queue && wk_sched_in(d->serial, q))) return false;
  }
  return true;
}

/* Cells of the runs of an access. */
typedef struct {
  const wk_sched_buffer *buffer;
  int64_t from, run, step;    /* bytes: of the first run */
  int64_t first, last, cells; /* cells: of the first run; from run to run, 0: that is not even */
} runs;

static runs runs_of(const wk_sched_buffer *b, const wk_sched_access *a, int64_t i) {
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
static void look_at_cells(const depending *d, const tracked *t, const wk_sched_buffer *b,
                          wk_sched_step *s, const wk_sched_access *a) {
  int64_t first, last;
  if (!t->cells) return;
  for (int64_t i = a->n1 - 1; i >= 0; i--) {
    runs r = runs_of(b, a, i);
    for (int64_t j = a->n0 - 1; j >= 0; j--) {
      if (is_settled(d, s, &t->any, a->writes)) return;
      cells_of(&r, j, &first, &last);
      for (int64_t k = first; k <= last; k++) look(d, s, &t->cells[k], a->writes);
    }
  }
}

static void note_in_cells(depending *d, tracked *t, const wk_sched_buffer *b,
                          const wk_sched_step *s, const wk_sched_access *a) {
  int64_t first, last;
  if (!t->cells) t->cells = new_cells(d, wk_ceil_div(b->bytes, b->cell));
  for (int64_t i = 0; i < a->n1; i++) {
    runs r = runs_of(b, a, i);
    for (int64_t j = 0; j < a->n0; j++) {
      cells_of(&r, j, &first, &last);
      for (int64_t k = first; k <= last; k++) note(&t->cells[k], s, a->writes);
    }
  }
}

/* It touches every cell of the buffer: counted, because no cell is touched twice for nothing. */
static bool is_whole(const wk_sched_buffer *b, const wk_sched_access *a) {
  return a->n0 * a->n1 * a->run >= b->bytes &&
         a->n0 * a->n1 * (a->run / b->cell) >= wk_ceil_div(b->bytes, b->cell);
}

static void note_reads(depending *d, tracked *t, const wk_sched_buffer *b) {
  for (; t->reads >= 0; t->reads = d->reads.data[t->reads].before) {
    const reading *r = &d->reads.data[t->reads];
    const wk_sched_step *s = &d->steps->list.data[r->step];
    note_in_cells(d, t, b, s, &s->access[r->access]);
  }
}

static void look_at_all(depending *d, wk_sched_step *s) {
  for (int k = 0; k < s->n_access; k++) {
    const wk_sched_access *a = &s->access[k];
    const wk_sched_buffer *b = &d->steps->buffers.data[a->buffer];
    tracked *t = &d->buffers[a->buffer];
    bool whole = is_whole(b, a);
    look(d, s, whole ? &t->any : &t->all, a->writes);
    if (whole) continue;
    if (a->writes) note_reads(d, t, b);
    look_at_cells(d, t, b, s, a);
  }
}

static void note_all(depending *d, size_t step) {
  const wk_sched_step *s = &d->steps->list.data[step];
  for (int k = 0; k < s->n_access; k++) {
    const wk_sched_access *a = &s->access[k];
    const wk_sched_buffer *b = &d->steps->buffers.data[a->buffer];
    tracked *t = &d->buffers[a->buffer];
    note(&t->any, s, a->writes);
    if (is_whole(b, a)) {
      note(&t->all, s, a->writes);
    } else if (a->writes) {
      note_in_cells(d, t, b, s, a);
    } else {
      const reading r = {(uint32_t)step, k, t->reads};
      t->reads = (int)d->reads.n;
      wk_vec_push(&d->reads, r);
    }
  }
}

static void depend_memory(depending *d, wk_sched_step *s) {
  if (s->tensor < 0 || d->net->tensors[s->tensor].home == WK_SCHED_CONST) return;
  const wk_sched_queues *q = &d->net->machine->queues;
  const wk_sched_tensor *t = &d->net->tensors[s->tensor];
  bool stores = wk_sched_in(q->stores, s->queue);
  uint32_t **rows = &d->rows[s->tensor];
  int64_t plane = t->rows * t->row, planes[2] = {0, 1};
  if (d->steps->by_planes) {
    planes[0] = s->mem_at / plane;
    planes[1] = (s->mem_at + (s->mem_runs - 1) * s->mem_stride + s->mem_run - 1) / plane + 1;
  }
  size_t n = (size_t)((d->steps->by_planes ? t->planes : 1) * t->rows);
  if (!*rows) *rows = wk_xcalloc(n, sizeof **rows);
  for (int64_t p = planes[0]; p < planes[1]; p++)
    for (int64_t r = s->mem_rows[0]; r < s->mem_rows[1]; r++) {
      uint32_t *x = &(*rows)[p * t->rows + r];
      if (stores) *x = s->ordinal + 1;
      else need(s, d->net->machine->store_queue, *x);
    }
}

void wk_sched_depend(const wk_sched_net *net, wk_sched_prefetch mode, unsigned without,
                     wk_sched_steps *s) {
  depending d = {.net = net, .steps = s, .serial = net->machine->queues.serial};
  d.buffers = wk_xcalloc(s->buffers.n, sizeof *d.buffers);
  d.rows = wk_xcalloc(net->n_tensors, sizeof *d.rows);
  for (size_t i = 0; i < s->buffers.n; i++) d.buffers[i].reads = -1;
  for (size_t i = 0; i < s->list.n; i++) {
    wk_sched_step *x = &s->list.data[i];
    memset(x->needs, 0, sizeof x->needs);
    look_at_all(&d, x);
    note_all(&d, i);
    depend_memory(&d, x);
    for (int k = 0; k < x->n_access; k++) {
      wk_sched_buffer *b = &s->buffers.data[x->access[k].buffer];
      if (b->first < 0) b->first = (int)i;
      b->last = (int)i;
    }
    if (x->slot < 0) continue;
    uint32_t *ended = &d.ended[x->queue][x->slot];
    need(x, x->queue, *ended);
    if (x->ends_slot) *ended = x->ordinal + 1;
  }
  wk_sched_hold_loads(s, &net->machine->queues, without);
  wk_sched_hold_transfers(s, &net->machine->queues, mode);
  for (size_t t = 0; t < net->n_tensors; t++) free(d.rows[t]);
  wk_vec_free(&d.reads);
  free(d.buffers);
  free(d.rows);
}
