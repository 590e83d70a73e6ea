/* SPDX-License-Identifier: Apache-2.0
 * The schedule model. Time goes from event to event: a command starts, something happens in a unit
 * of the machine, a buffer leaves the scratchpad. Each queue runs its steps in program order;
 * buffers get room in the order in which they are first used, as early as there is some, but for
 * those that would find none then, which come earlier. */
#include <stdlib.h>
#include <string.h>

#include "compiler/stream/room.h"
#include "compiler/stream/schedule.h"

/* What a queue does. */
typedef struct {
  uint32_t *steps;  /* in their order */
  int64_t *retired; /* by ordinal; NEVER: not known yet. In order, so that the last is the latest */
  uint32_t head;    /* the next that starts */
  int64_t may;      /* when, by what is known; NEVER: an event comes first */
  const int64_t *waits; /* then, what has to be known; NULL: look again */
} queue;

/* What of a step is looked at often: it fits a line of a cache. */
typedef struct {
  wk_sched_counts needs;
  uint32_t ordinal;
  int32_t group;
  int32_t buffers[WK_SCHED_ACCESSES]; /* each once */
  uint8_t n_buffers, queue;
} brief;

/* A buffer gets its room before those that this step is the first to use. */
typedef struct {
  int buffer;
  size_t step;
} advance;
typedef WK_VEC(advance) advances;

typedef struct {
  const wk_sched_net *net;
  const wk_sched_steps *steps;
  brief *briefs; /* of the steps */
  const wk_sched_machine *m;
  const wk_sched_model *model;
  wk_sched_units *units;
  wk_sched_times *t;
  queue queues[WK_SCHED_QUEUES];
  int64_t now, last; /* last: the latest retirement of all that are known */
  size_t started, known; /* steps; known: when they retire is */
  /* buffers */
  wk_sched_room room;
  int64_t *since;   /* when it got its room; NEVER */
  int64_t *ends;    /* when the last of its users that are known has retired */
  int *users;       /* whose retirement is not known yet */
  uint32_t *firsts; /* buffers in the order in which they get room */
  size_t n_firsts, entered;
  /* groups whose first buffer waits until all others that end before have gone */
  const bool *begins_alone;
  advances advances;
  const uint32_t *order; /* of steps that have their places; NULL: as they stand, without any */
  uint32_t *place_in_order; /* its inverse */
} simulation;

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- room ------------------------------------------------------------------------------------ */

static int64_t rounded(const simulation *x, const wk_sched_buffer *b) {
  return wk_ceil_div(b->bytes, x->m->align) * x->m->align;
}

/* A group that begins alone waits for buffers that end before it. */
static bool must_wait(const simulation *x, const wk_sched_buffer *b) {
  int group = x->briefs[b->first].group;
  if (!x->begins_alone[group]) return false;
  for (size_t i = 0; i < x->room.n_live; i++) {
    const wk_sched_buffer *y = &x->steps->buffers.data[x->room.live[i].buffer];
    if (x->briefs[y->last].group < group) return true;
  }
  return false;
}

/* As many as there is room for. */
static void enter_room(simulation *x) {
  for (; x->entered < x->n_firsts; x->entered++) {
    int number = (int)x->firsts[x->entered];
    const wk_sched_buffer *b = &x->steps->buffers.data[number];
    bool is_long = b->last - b->first > x->steps->lasting;
    if (must_wait(x, b) ||
        !wk_sched_room_enter(&x->room, number, rounded(x, b), is_long, &x->t->place[number]))
      return;
    x->since[number] = x->now;
  }
}

static void add_buffer(brief *y, int number) {
  for (int k = 0; k < y->n_buffers; k++)
    if (y->buffers[k] == number) return;
  y->buffers[y->n_buffers++] = number;
}

static void find_briefs(simulation *x) {
  x->briefs = wk_xcalloc(x->steps->list.n, sizeof *x->briefs);
  for (size_t i = 0; i < x->steps->list.n; i++) {
    const wk_sched_step *s = &x->steps->list.data[i];
    brief *y = &x->briefs[i];
    y->ordinal = s->ordinal, y->queue = (uint8_t)s->queue, y->group = s->group;
    memcpy(y->needs, s->needs, sizeof y->needs);
    for (int k = 0; k < s->n_access; k++) add_buffer(y, s->access[k].buffer);
  }
}

static const advance *advance_of(const simulation *x, int buffer) {
  for (size_t k = 0; k < x->advances.n; k++)
    if (x->advances.data[k].buffer == buffer) return &x->advances.data[k];
  return NULL;
}

static void find_firsts(simulation *x) {
  for (size_t i = 0; i < x->steps->list.n; i++) {
    const brief *s = &x->briefs[i];
    for (size_t k = 0; k < x->advances.n; k++)
      if (x->advances.data[k].step == i)
        x->firsts[x->n_firsts++] = (uint32_t)x->advances.data[k].buffer;
    for (int k = 0; k < s->n_buffers; k++) {
      int number = s->buffers[k];
      x->users[number]++;
      if (x->steps->buffers.data[number].first != (int)i) continue;
      x->since[number] = x->order ? 0 : WK_SCHED_NEVER;
      if (!advance_of(x, number)) x->firsts[x->n_firsts++] = (uint32_t)number;
    }
  }
  if (x->order) x->n_firsts = 0;
}

static void free_room(simulation *x, const brief *s, int64_t end) {
  for (int k = 0; k < s->n_buffers && !x->order; k++) {
    int number = s->buffers[k];
    x->ends[number] = later(x->ends[number], end);
    if (!--x->users[number]) wk_sched_room_end(&x->room, number, x->ends[number]);
  }
}

/* ---- what is known --------------------------------------------------------------------------- */

/* When the step retires is. */
static void note_end(simulation *x, size_t i, int64_t end) {
  const brief *s = &x->briefs[i];
  queue *q = &x->queues[s->queue];
  if (s->ordinal) end = later(end, q->retired[s->ordinal - 1]);
  q->retired[s->ordinal] = end;
  x->t->retire[i] = end;
  x->last = later(x->last, end);
  x->known++;
  free_room(x, s, end);
}

static void note_done(simulation *x) {
  for (int i = 0; i < x->units->n_done; i++)
    note_end(x, x->units->done[i].step, x->units->done[i].retire);
  x->units->n_done = 0;
}

/* ---- when steps start ------------------------------------------------------------------------ */

/* In order, a step waits for all before. */
static bool has_turn(const simulation *x, uint32_t step) {
  return !x->order || x->known == x->place_in_order[step];
}

static int64_t when(const simulation *x, queue *q, uint32_t step) {
  const brief *s = &x->briefs[step];
  int64_t start = x->model->free(x->units, s->queue);
  q->waits = NULL;
  if (start == WK_SCHED_NEVER || !has_turn(x, step)) return WK_SCHED_NEVER;
  for (int r = 0; r < x->m->queues.n; r++) {
    if (!s->needs[r]) continue;
    q->waits = &x->queues[r].retired[s->needs[r] - 1];
    start = later(start, *q->waits);
    if (start == WK_SCHED_NEVER) return start;
  }
  for (int k = 0; k < s->n_buffers; k++) {
    q->waits = &x->since[s->buffers[k]];
    start = later(start, *q->waits);
    if (start == WK_SCHED_NEVER) return start;
  }
  return x->order ? later(start, x->last) : start;
}

static void look_again(simulation *x) {
  for (int r = 0; r < x->m->queues.n; r++) {
    queue *q = &x->queues[r];
    bool is_open = q->may == WK_SCHED_NEVER && q->head < x->steps->issued[r];
    if (is_open && (!q->waits || *q->waits != WK_SCHED_NEVER))
      q->may = when(x, q, q->steps[q->head]);
  }
}

/* The queue whose next step starts first; of those of one cycle, the step that stands first. */
static queue *next_queue(simulation *x, int64_t fetched, int64_t *at) {
  queue *best = NULL;
  for (int r = 0; r < x->m->queues.n; r++) {
    queue *q = &x->queues[r];
    if (q->may == WK_SCHED_NEVER) continue;
    int64_t start = later(q->may, fetched);
    if (best && (start > *at || (start == *at && best->steps[best->head] < q->steps[q->head])))
      continue;
    best = q;
    *at = start;
  }
  return best;
}

static void start(simulation *x, queue *q, int64_t at) {
  uint32_t i = q->steps[q->head++];
  q->may = WK_SCHED_NEVER;
  q->waits = NULL;
  x->t->start[i] = at;
  x->started++;
  if (q->head < x->steps->issued[q - x->queues]) { /* these are far apart */
    __builtin_prefetch(&x->steps->list.data[q->steps[q->head]].access);
    __builtin_prefetch(wk_sched_command(x->steps, q->steps[q->head]));
  }
  x->model->start(x->units, i, at);
  note_done(x);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int64_t fetched(const simulation *x) {
  return x->model->fetched ? x->model->fetched(x->units, (int64_t)x->started) : 0;
}

/* False: nothing can happen any more. */
static bool next_event(simulation *x) {
  int64_t starts = WK_SCHED_NEVER, from = fetched(x);
  look_again(x);
  queue *q = from == WK_SCHED_NEVER ? NULL : next_queue(x, from, &starts);
  bool is_full = x->entered < x->n_firsts && x->room.n;
  int64_t leaves = is_full ? x->room.heap[0].time : WK_SCHED_NEVER;
  int64_t at = starts < leaves ? starts : leaves;
  if (x->model->run && x->model->run(x->units, at)) {
    x->now = later(x->now, x->units->now);
    note_done(x);
    return true;
  }
  if (at == WK_SCHED_NEVER) return false;
  x->now = later(x->now, at);
  if (at == leaves) {
    wk_sched_room_leave(&x->room);
    enter_room(x);
  } else {
    start(x, q, at);
  }
  return true;
}

static void prepare(simulation *x) {
  const wk_sched_steps *s = x->steps;
  size_t buffers = s->buffers.n;
  find_briefs(x);
  wk_sched_room_init(&x->room, x->room.capacity, buffers);
  x->units = x->model->open(x->net, s);
  x->since = wk_xcalloc(buffers, sizeof *x->since);
  x->ends = wk_xcalloc(buffers, sizeof *x->ends);
  x->users = wk_xcalloc(buffers, sizeof *x->users);
  x->firsts = wk_xcalloc(buffers, sizeof *x->firsts);
  x->place_in_order = wk_xcalloc(s->list.n, sizeof *x->place_in_order);
  for (int r = 0; r < x->m->queues.n; r++) {
    queue *q = &x->queues[r];
    q->steps = wk_xcalloc(s->issued[r], sizeof *q->steps);
    q->retired = wk_xcalloc(s->issued[r], sizeof *q->retired);
    q->may = WK_SCHED_NEVER;
    for (uint32_t k = 0; k < s->issued[r]; k++) q->retired[k] = WK_SCHED_NEVER;
  }
  for (uint32_t i = 0; i < s->list.n; i++) {
    const brief *y = &x->briefs[i];
    x->queues[y->queue].steps[y->ordinal] = i;
    if (x->order) x->place_in_order[x->order[i]] = i;
  }
  find_firsts(x);
}

static void finish(simulation *x) {
  for (int r = 0; r < x->m->queues.n; r++) {
    free(x->queues[r].steps);
    free(x->queues[r].retired);
  }
  x->model->close(x->units);
  wk_sched_room_free(&x->room);
  free(x->since);
  free(x->ends);
  free(x->users);
  free(x->firsts);
  free(x->place_in_order);
  free(x->briefs);
}

/* The step that finds no room; the number of steps: there is none. */
static size_t simulate(simulation *x) {
  size_t n = x->steps->list.n, failed = n;
  prepare(x);
  enter_room(x);
  while (x->known < n && next_event(x)) continue;
  if (x->known < n && x->entered < x->n_firsts)
    failed = (size_t)x->steps->buffers.data[x->firsts[x->entered]].first;
  wk_assert(failed < n || x->known == n); /* the model has told all retirements */
  x->t->cycles = x->last;
  return failed;
}

typedef struct {
  int64_t start;
  uint32_t step;
} place_in_time;

static int by_start(const void *a, const void *b) {
  const place_in_time *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return x->step < y->step ? -1 : x->step > y->step;
}

void wk_sched_order(const wk_sched_times *t, size_t n, uint32_t *order) {
  place_in_time *all = wk_xcalloc(n, sizeof *all);
  for (uint32_t i = 0; i < n; i++) all[i] = (place_in_time){t->start[i], i};
  qsort(all, n, sizeof *all, by_start);
  for (uint32_t i = 0; i < n; i++) order[i] = all[i].step;
  free(all);
}

/* When steps that have places, in the order of their starts, start one after the other. */
static void run_serially(const wk_sched_net *net, const wk_sched_steps *s, wk_sched_times *t) {
  uint32_t *order = wk_xcalloc(s->list.n, sizeof *order);
  simulation x = {.net = net, .steps = s, .m = net->machine, .model = net->machine->model, .t = t,
                  .order = order};
  wk_sched_order(t, s->list.n, order);
  (void)simulate(&x);
  finish(&x);
  free(order);
}

/* The first step of a group's. */
static size_t begin_of(const simulation *x, size_t step) {
  const wk_sched_step *s = x->steps->list.data;
  while (step && s[step - 1].group == s[step].group) step--;
  return step;
}

enum { ADVANCES = 3 }; /* more would take long */

/* The buffer that found no gap gets its room a step earlier than it is used, or twice as early as
 * before, so that those that come and go find theirs beside it. False: it is the group's first one,
 * or there are too many. */
static bool advance_buffer(simulation *x) {
  int buffer = (int)x->firsts[x->entered];
  size_t first = (size_t)x->steps->buffers.data[buffer].first, begin = begin_of(x, first);
  const advance *known = advance_of(x, buffer);
  size_t back = known ? 2 * (first - known->step) : 1;
  if (known && known->step <= begin) return false;
  const advance y = {buffer, first - begin > back ? first - back : begin};
  if (known) x->advances.data[known - x->advances.data] = y;
  else wk_vec_push(&x->advances, y);
  return first > begin && x->advances.n <= ADVANCES;
}

/* Buffers of one group may lie so that a later one finds no gap for its own. So it begins when the
 * others have gone; and where its own ones, which come at other times then, lie so, the one that
 * finds no gap comes earlier. */
bool wk_sched_simulate(const wk_sched_net *net, const wk_sched_steps *s, int64_t capacity,
                       wk_sched_prefetch mode, wk_arena *a, wk_sched_times *out) {
  bool *alone = wk_xcalloc((size_t)s->groups, sizeof *alone), fine = false;
  for (size_t g = 0; g < s->alone.n; g++) alone[g] = s->alone.data[g];
  advances found = {0};
  *out = (wk_sched_times){.start = wk_arena_alloc(a, s->list.n * sizeof(int64_t)),
                          .retire = wk_arena_alloc(a, s->list.n * sizeof(int64_t)),
                          .place = wk_arena_alloc(a, s->buffers.n * sizeof(int64_t))};
  for (;;) {
    simulation x = {.net = net, .steps = s, .m = net->machine, .model = net->machine->model,
                    .t = out, .begins_alone = alone, .advances = found};
    x.room.capacity = capacity;
    out->failed = simulate(&x);
    fine = out->failed == s->list.n;
    int group = fine ? 0 : s->list.data[out->failed].group;
    bool is_tried = !group || (alone[group] && !advance_buffer(&x));
    finish(&x);
    found = x.advances;
    if (is_tried) break;
    for (size_t g = 1; g < s->same.n; g++) alone[g] |= s->same.data[g] == s->same.data[group];
  }
  wk_vec_free(&found);
  free(alone);
  if (fine && mode == WK_PREFETCH_SERIAL) run_serially(net, s, out);
  return fine;
}
