/* SPDX-License-Identifier: Apache-2.0
 * A run as a trace for Perfetto or chrome://tracing. */
#include <stdlib.h>

#include "cli/study/sim_json.h"

/* Engines overlap neighbours, but slices of a track may only nest: a queue has as many tracks as
 * commands in flight. lanes: of every command. */
enum { LANES = 32 };

typedef struct {
  uint8_t *of; /* n */
  int used[WK_QUEUE_COUNT];
} lanes;

static lanes assign_lanes(const wk_sim_run *r) {
  lanes l = {.of = wk_xcalloc(r->n, 1)};
  uint64_t ends[WK_QUEUE_COUNT][LANES] = {0};
  for (uint32_t i = 0; i < r->n; i++) {
    const wk_sched_span *span = &r->spans[i];
    int lane = 0, q = span->queue;
    if (!wk_sched_has_run(span)) continue;
    while (lane < LANES - 1 && ends[q][lane] > span->start) lane++;
    ends[q][lane] = span->retire;
    l.of[i] = (uint8_t)lane;
    if (l.used[q] <= lane) l.used[q] = lane + 1;
  }
  return l;
}

/* A cycle is shown as a microsecond. */
static json_t *event(const wk_sim_trace *t, const char *phase, const char *name, int track,
                     uint64_t cycle) {
  return wk_trace_event(&t->to, phase, name, track, json_integer((json_int_t)(t->from + cycle)));
}

static void describe_track(const wk_sim_trace *t, int track, const char *what, const char *key,
                           json_t *value) {
  wk_trace_describe(&t->to, track, what, key, value);
}

static void add_tracks(const wk_sim_trace *t, const wk_sim_shown *x, const lanes *l) {
  for (int q = 0; q < wk_machine_queues(x->machine); q++)
    for (int lane = 0; lane < l->used[q] || lane == 0; lane++) {
      char name[32];
      int track = q * LANES + lane;
      snprintf(name, sizeof name, lane ? "%s (+%d)" : "%s", wk_isa_queue_name(q), lane);
      describe_track(t, track, "thread_name", "name", json_string(name));
      describe_track(t, track, "thread_sort_index", "sort_index", json_integer(track));
    }
}

static int track_of(const wk_sim_shown *x, const lanes *l, uint32_t i) {
  return x->run->spans[i].queue * LANES + l->of[i];
}

static void add_span(const wk_sim_trace *t, const wk_sim_shown *x, const lanes *l, uint32_t i) {
  const wk_sched_span *span = &x->run->spans[i];
  wk_isa_command c;
  wk_str text = {0};
  (void)wk_stream_get(x->stream, i, &c);
  wk_disasm_command(&text, x->machine, &c);
  json_t *e = event(t, "X", wk_isa_command_of(span->opcode)->name, track_of(x, l, i), span->start),
         *args = json_object();
  json_object_set_new(e, "dur", json_integer((json_int_t)(span->retire - span->start)));
  json_object_set_new(args, "index", json_integer(i));
  json_object_set_new(args, "operator", json_integer(span->operator));
  if (x->part && span->operator <= x->part->row->layers)
    json_object_set_new(args, "layer", json_string(wk_sim_layer_name(x->part, span->operator)));
  json_object_set_new(args, "command", json_string(text.s));
  json_object_set_new(e, "args", args);
  wk_trace_put(&t->to, e);
  wk_str_free(&text);
}

/* An arrow from the retirement that let a command start. */
static void add_flow(const wk_sim_trace *t, const wk_sim_shown *x, const lanes *l, uint32_t i) {
  const wk_sched_span *to = &x->run->spans[i], *from;
  if (to->released_by == WK_SCHED_NOBODY) return;
  from = &x->run->spans[to->released_by];
  uint64_t left = from->retire > from->start ? from->retire - 1 : from->retire;
  json_t *begin = event(t, "s", "wait", track_of(x, l, to->released_by), left),
         *end = event(t, "f", "wait", track_of(x, l, i), to->start);
  json_object_set_new(begin, "id", json_integer(i));
  json_object_set_new(end, "id", json_integer(i));
  json_object_set_new(begin, "cat", json_string("wait"));
  json_object_set_new(end, "cat", json_string("wait"));
  json_object_set_new(end, "bp", json_string("e"));
  wk_trace_put(&t->to, begin);
  wk_trace_put(&t->to, end);
}

void wk_sim_trace_add(const wk_sim_trace *t, const wk_sim_shown *x) {
  lanes l = assign_lanes(x->run);
  if (x->part) describe_track(t, 0, "process_name", "name", json_string(x->part->name));
  add_tracks(t, x, &l);
  for (uint32_t i = 0; i < x->run->n; i++) {
    const wk_sched_span *span = &x->run->spans[i];
    if (!wk_sched_has_run(span)) continue;
    add_span(t, x, &l, i);
    add_flow(t, x, &l, i);
  }
  free(l.of);
}
