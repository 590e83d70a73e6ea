/* SPDX-License-Identifier: Apache-2.0
 * What steps wait for: who used the same bytes before. Buffers are told apart by cells, rows of a
 * tensor as a rule, memory by the rows of its tensors, the accumulators by their halves. */
#include <stdlib.h>
#include <string.h>

#include "targets/accel/compile/plan.h"

/* One more than the ordinal of the last command of each queue, of the queues in the sets. */
typedef struct {
  uint32_t wrote[WK_QUEUE_COUNT], read[WK_QUEUE_COUNT];
  uint8_t writers, readers;
} cell;

/* A buffer: its cells, what touched any of them, and what touched all, which is not noted in
 * each. */
typedef struct {
  cell *cells, any, all;
} tracked;

typedef struct {
  const wk_accel_net *net;
  wk_accel_steps *steps;
  tracked *buffers;
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

static void visit(cell *cells, const wk_accel_buffer *b, wk_accel_step *s,
                  const wk_accel_access *a, int64_t from, bool is_noted) {
  int64_t last = from + a->run - 1;
  if (last >= b->bytes) last = b->bytes - 1;
  if (from < 0) from = 0;
  for (int64_t i = from / b->cell; i <= last / b->cell; i++)
    if (is_noted) note(&cells[i], s, a->writes);
    else look(s, &cells[i], a->writes);
}

/* It touches every cell of the buffer: counted, because no cell is touched twice for nothing. */
static bool is_whole(const wk_accel_buffer *b, const wk_accel_access *a) {
  int64_t cells = wk_accel_up(b->bytes, b->cell);
  return a->n0 * a->n1 * (a->run / b->cell) >= cells;
}

static void visit_all(depending *d, wk_accel_step *s, bool is_noted) {
  for (int k = 0; k < s->n_access; k++) {
    const wk_accel_access *a = &s->access[k];
    const wk_accel_buffer *b = &d->steps->buffers.data[a->buffer];
    tracked *t = &d->buffers[a->buffer];
    bool whole = is_whole(b, a);
    if (is_noted) {
      note(&t->any, s, a->writes);
      if (whole) note(&t->all, s, a->writes);
    } else look(s, whole ? &t->any : &t->all, a->writes);
    for (int64_t i = 0; i < a->n1 && !whole; i++)
      for (int64_t j = 0; j < a->n0; j++)
        visit(t->cells, b, s, a, a->from + i * a->s1 + j * a->s0, is_noted);
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

void wk_accel_depend(const wk_accel_net *net, wk_accel_steps *s) {
  depending d = {.net = net, .steps = s};
  d.buffers = wk_xcalloc(s->buffers.n + 1, sizeof *d.buffers);
  d.rows = wk_xcalloc(net->tensors.n + 1, sizeof *d.rows);
  for (size_t i = 0; i < s->buffers.n; i++) {
    const wk_accel_buffer *b = &s->buffers.data[i];
    d.buffers[i].cells = wk_xcalloc((size_t)wk_accel_up(b->bytes, b->cell), sizeof(cell));
  }
  for (size_t i = 0; i < s->list.n; i++) {
    wk_accel_step *x = &s->list.data[i];
    memset(x->needs, 0, sizeof x->needs);
    visit_all(&d, x, false);
    visit_all(&d, x, true);
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
  for (size_t i = 0; i < s->buffers.n; i++) free(d.buffers[i].cells);
  for (size_t t = 0; t < net->tensors.n; t++) free(d.rows[t]);
  free(d.buffers);
  free(d.rows);
}
