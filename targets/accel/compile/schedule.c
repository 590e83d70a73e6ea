/* SPDX-License-Identifier: Apache-2.0
 * From steps to commands: order, places, waits. */
#include "targets/accel/compile/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/memory/plan.h"
#include "targets/accel/isa/duration.h"

typedef struct {
  wk_accel_net *net;
  wk_accel_steps *steps;
  wk_arena *arena;
  wk_accel_times times;
  uint32_t *order; /* steps as they stand in the stream */
  wk_accel_stream *out;
} scheduling;

void wk_accel_stream_free(wk_accel_stream *s) {
  wk_vec_free(&s->commands);
  wk_vec_free(&s->segments);
  wk_vec_free(&s->results);
  wk_vec_free(&s->spans);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Places come with the times; the planner's checker, which shares no code with either, confirms
 * that no two buffers that live at the same time share a byte. */
static wk_status check_places(scheduling *x) {
  size_t n = x->steps->buffers.n;
  const wk_machine *m = x->net->machine;
  wk_plan_item *items = wk_xcalloc(n, sizeof *items);
  for (size_t i = 0; i < n; i++) {
    wk_accel_buffer *b = &x->steps->buffers.data[i];
    b->at = x->times.place[i];
    items[i] = (wk_plan_item){.size = b->bytes, .align = m->array, .lower = INT64_MAX,
                              .fixed = -1, .offset = b->at};
  }
  for (size_t i = 0; i < x->steps->list.n; i++)
    for (int k = 0; k < x->steps->list.data[i].n_access; k++) {
      wk_plan_item *b = &items[x->steps->list.data[i].access[k].buffer];
      if (x->times.start[i] < b->lower) b->lower = x->times.start[i];
      if (x->times.retire[i] > b->upper) b->upper = x->times.retire[i];
    }
  for (size_t i = 0; i < n; i++)
    if (items[i].lower == INT64_MAX) items[i].lower = items[i].upper = 0;
  wk_status s = wk_plan_check(items, n, m->scratchpad);
  free(items);
  return s;
}

static const char *layer_of(const scheduling *x, size_t step) {
  return x->net->names.data[x->steps->list.data[step].c.operator - 1];
}

static wk_status find_places(scheduling *x, wk_accel_prefetch mode) {
  int64_t capacity = x->net->machine->scratchpad;
  if (!wk_accel_simulate(x->net, x->steps, capacity, mode, x->arena, &x->times))
    return wk_error_at(WK_RESOURCE, layer_of(x, x->times.failed), "the schedule has no room for it "
                       "in %lld bytes of scratchpad", (long long)capacity);
  wk_accel_order(&x->times, x->steps->list.n, x->order);
  return check_places(x);
}

/* Tensors in WORK: each from its first store to its last load. */
static wk_status place_tensors(scheduling *x, wk_plan_item **out) {
  size_t n = x->net->tensors.n;
  wk_plan_item *items = wk_xcalloc(n, sizeof *items);
  *out = items;
  for (size_t t = 0; t < n; t++)
    items[t] = (wk_plan_item){.size = x->net->tensors.data[t].bytes, .align = 64,
                              .lower = INT64_MAX, .fixed = -1};
  for (size_t i = 0; i < x->steps->list.n; i++) {
    int t = x->steps->list.data[i].tensor;
    if (t < 0) continue;
    if (x->times.start[i] < items[t].lower) items[t].lower = x->times.start[i];
    if (x->times.retire[i] > items[t].upper) items[t].upper = x->times.retire[i];
  }
  for (size_t t = 0; t < n; t++)
    if (x->net->tensors.data[t].segment != WK_SEGMENT_WORK || items[t].lower == INT64_MAX)
      items[t].lower = items[t].upper = 0;
  wk_plan_result r;
  WK_TRY(wk_plan(items, n, &(wk_plan_options){.effort = 2000}, &r));
  x->out->work_bytes = r.peak;
  for (size_t t = 0; t < n; t++)
    if (x->net->tensors.data[t].segment == WK_SEGMENT_WORK)
      x->net->tensors.data[t].at = items[t].offset;
  return NULL;
}

/* ---- who was there before -------------------------------------------------------------------- */

typedef wk_accel_counts counts;

static void join(counts a, const counts b) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (a[q] < b[q]) a[q] = b[q];
}

/* The first step of each queue that uses a buffer waits for all that used its bytes before. */
typedef struct {
  counts *users;  /* of each buffer, so far */
  counts *before; /* of each buffer: who used its bytes before it */
  uint32_t *left; /* accesses that are still to come */
  counts *cells;  /* of the scratchpad */
  int64_t cell;
} reuse;

static void enter(reuse *r, const wk_accel_buffer *b, int number) {
  for (int64_t i = b->at / r->cell; i <= (b->at + b->bytes - 1) / r->cell; i++)
    join(r->before[number], r->cells[i]);
}

static void leave(reuse *r, const wk_accel_buffer *b, int number) {
  for (int64_t i = b->at / r->cell; i <= (b->at + b->bytes - 1) / r->cell; i++)
    join(r->cells[i], r->users[number]);
}

static void add_needs(wk_accel_step *s, const counts c) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (c[q] > s->needs[q] && !(q == WK_QUEUE_ve && s->c.queue == WK_QUEUE_ve)) s->needs[q] = c[q];
}

static void note_reuse(scheduling *x) {
  size_t n = x->steps->buffers.n;
  reuse r = {.cell = x->net->machine->array};
  r.users = wk_xcalloc(n, sizeof *r.users);
  r.before = wk_xcalloc(n, sizeof *r.before);
  r.left = wk_xcalloc(n, sizeof *r.left);
  r.cells = wk_xcalloc((size_t)(x->net->machine->scratchpad / r.cell), sizeof *r.cells);
  for (size_t i = 0; i < x->steps->list.n; i++)
    for (int k = 0; k < x->steps->list.data[i].n_access; k++)
      r.left[x->steps->list.data[i].access[k].buffer]++;
  bool *seen = wk_xcalloc(n, sizeof *seen);
  for (size_t i = 0; i < x->steps->list.n; i++) {
    wk_accel_step *s = &x->steps->list.data[x->order[i]];
    for (int k = 0; k < s->n_access; k++) {
      int b = s->access[k].buffer;
      if (!seen[b]) enter(&r, &x->steps->buffers.data[b], b);
      seen[b] = true;
      if (!r.users[b][s->c.queue]) add_needs(s, r.before[b]);
    }
    for (int k = 0; k < s->n_access; k++) {
      int b = s->access[k].buffer;
      if (r.users[b][s->c.queue] < s->ordinal + 1) r.users[b][s->c.queue] = s->ordinal + 1;
      if (!--r.left[b]) leave(&r, &x->steps->buffers.data[b], b);
    }
  }
  free(seen);
  free(r.users);
  free(r.before);
  free(r.left);
  free(r.cells);
}

/* The same for tensors in WORK. */
static void note_memory_reuse(scheduling *x, const wk_plan_item *items) {
  size_t n = x->net->tensors.n;
  counts *users = wk_xcalloc(n, sizeof *users);
  for (size_t i = 0; i < x->steps->list.n; i++) {
    wk_accel_step *s = &x->steps->list.data[x->order[i]];
    int t = s->tensor;
    if (t < 0 || x->net->tensors.data[t].segment != WK_SEGMENT_WORK) continue;
    const wk_plan_item *a = &items[t];
    for (size_t u = 0; u < n && !users[t][s->c.queue]; u++) {
      const wk_plan_item *b = &items[u];
      if (b->upper <= a->lower && b->offset < a->offset + a->size &&
          a->offset < b->offset + b->size && b->upper > b->lower)
        add_needs(s, users[u]);
    }
    users[t][s->c.queue] = s->ordinal + 1;
  }
  free(users);
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* What is known to have retired when a command starts, and of what it stands for once it has
 * retired itself. A wait that follows from another one, or from the command before in the same
 * queue, is left out. */
typedef struct {
  counts *known[WK_QUEUE_COUNT]; /* of each command: at its start, itself added */
  counts queue[WK_QUEUE_COUNT];  /* of the last command of each queue, at its start */
} clocks;

static void put_waits(clocks *k, const wk_accel_step *s, wk_isa_command *c) {
  counts now, need;
  memcpy(now, k->queue[s->c.queue], sizeof now);
  if (s->c.queue == WK_QUEUE_ve && s->ordinal) {
    counts retired;
    memcpy(retired, k->known[WK_QUEUE_ve][s->ordinal - 1], sizeof retired);
    join(now, retired);
  }
  memcpy(need, s->needs, sizeof need);
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (need[q] <= now[q]) need[q] = 0;
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    for (int r = 0; r < WK_QUEUE_COUNT && need[q]; r++)
      if (r != q && need[r] && k->known[r][need[r] - 1][q] >= need[q]) need[q] = 0;
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    if (!need[q]) continue;
    wk_isa_wait(c, q, need[q]);
    join(now, k->known[q][need[q] - 1]);
  }
  memcpy(k->queue[s->c.queue], now, sizeof now);
  if (now[s->c.queue] < s->ordinal + 1) now[s->c.queue] = s->ordinal + 1;
  memcpy(k->known[s->c.queue][s->ordinal], now, sizeof now);
}

static void put_addresses(const scheduling *x, const wk_accel_step *s, wk_isa_command *c) {
  for (int k = 0; k < s->n_access; k++) {
    const wk_accel_access *a = &s->access[k];
    if (a->field >= 0) c->v[a->field] = x->steps->buffers.data[a->buffer].at + a->at;
  }
  if (s->tensor >= 0) c->v[WK_LD_dram] += x->net->tensors.data[s->tensor].at;
}

/* Of transfers none: they compute nothing. */
static uint32_t result_of(const wk_accel_step *s) {
  return s->result < 0 || s->c.opcode == WK_CMD_LD || s->c.opcode == WK_CMD_ST
             ? 0 : (uint32_t)s->result + 1;
}

static void emit(scheduling *x, wk_accel_prefetch mode) {
  clocks k = {0};
  counts issued = {0};
  int64_t words = 0;
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    k.known[q] = wk_xcalloc(x->steps->issued[q], sizeof **k.known);
  for (size_t i = 0; i < x->steps->list.n; i++) {
    wk_accel_step *s = &x->steps->list.data[x->order[i]];
    wk_isa_command c = s->c;
    if (mode == WK_PREFETCH_SERIAL) add_needs(s, issued);
    put_addresses(x, s, &c);
    put_waits(&k, s, &c);
    issued[s->c.queue]++;
    wk_vec_push(&x->out->commands, c);
    wk_isa_bound bound = wk_isa_bound_of(x->net->machine, &c, &words);
    const wk_sched_span span = {.start = (uint64_t)x->times.start[x->order[i]],
                                .retire = (uint64_t)x->times.retire[x->order[i]],
                                .released_by = WK_SCHED_NOBODY, .operator = c.operator,
                                .queue = (uint8_t)c.queue, .opcode = (uint8_t)c.opcode,
                                .kind = (uint8_t)wk_isa_kind_of(c.opcode),
                                .array = (uint64_t)bound.array, .drain = (uint64_t)bound.drain};
    wk_vec_push(&x->out->spans, span);
    int segment = s->tensor < 0 ? WK_SEGMENT_NONE : x->net->tensors.data[s->tensor].segment;
    wk_vec_push(&x->out->segments, (uint8_t)segment);
    wk_vec_push(&x->out->results, result_of(s));
  }
  wk_isa_command end = wk_isa_command_default(x->net->machine, WK_CMD_END);
  wk_vec_push(&x->out->commands, end);
  wk_vec_push(&x->out->segments, (uint8_t)WK_SEGMENT_NONE);
  wk_vec_push(&x->out->results, 0);
  x->out->cycles = x->times.cycles;
  for (int q = 0; q < WK_QUEUE_COUNT; q++) free(k.known[q]);
}

wk_status wk_accel_schedule(wk_accel_net *net, wk_accel_steps *steps, wk_accel_prefetch mode,
                            wk_accel_stream *out) {
  scheduling x = {.net = net, .steps = steps, .arena = wk_arena_new(), .out = out};
  wk_plan_item *tensors = NULL;
  x.order = wk_arena_alloc(x.arena, steps->list.n * sizeof *x.order);
  *out = (wk_accel_stream){0};
  wk_status s = NULL;
  if (steps->list.n + 1 >= WK_STREAM_COMMANDS)
    s = wk_error(WK_RESOURCE, "more than %u commands", WK_STREAM_COMMANDS);
  if (!s) s = find_places(&x, mode);
  if (!s) s = place_tensors(&x, &tensors);
  if (!s) {
    note_reuse(&x);
    note_memory_reuse(&x, tensors);
    emit(&x, mode);
  }
  free(tensors);
  wk_arena_free(x.arena);
  return s;
}
