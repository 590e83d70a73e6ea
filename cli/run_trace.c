/* SPDX-License-Identifier: Apache-2.0
 * When each instruction of a compiled model ran, or each node of the evaluator: a timeline. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run.h"
#include "cli/text.h"
#include "cli/trace.h"

/* Of step, or node, number `index`; seconds. */
typedef struct {
  uint32_t index;
  double start, end;
  bool is_command; /* one of those of a step, by the device's clock */
} slice;

typedef struct {
  WK_VEC(slice) slices;
  WK_VEC(slice) runs; /* index: of the run */
} recording;

/* What a slice of an instruction, or of a node, says. */
typedef struct {
  const char *op, *node, *text; /* text: NULL where there is none */
  uint64_t macs;
} shown_step;

enum { RUNS, FIRST_UNIT }; /* tracks */

/* To the nanosecond. */
static json_t *microseconds(double seconds) { return json_real(round(seconds * 1e9) / 1e3); }

static json_t *put_slice(const wk_trace *t, const char *name, int track, const slice *s) {
  json_t *e = wk_trace_event(t, "X", name, track, microseconds(s->start));
  json_object_set_new(e, "dur", microseconds(s->end - s->start));
  wk_trace_put(t, e);
  return e;
}

static void put_step(const wk_trace *t, int track, const slice *s, const shown_step *x) {
  json_t *e = put_slice(t, *x->node ? x->node : x->op, track, s), *args = json_object();
  double seconds = s->end - s->start;
  json_object_set_new(args, "op", json_string(x->op));
  if (x->text) json_object_set_new(args, "instruction", json_string(x->text));
  if (x->macs) json_object_set_new(args, "macs", json_integer((json_int_t)x->macs));
  if (x->macs && seconds > 0)
    json_object_set_new(args, "gflops", json_real(2e-9 * (double)x->macs / seconds));
  json_object_set_new(e, "cat", json_string(x->op));
  json_object_set_new(e, "args", args);
}

static void put_runs(const wk_trace *t, const recording *r) {
  wk_trace_describe(t, RUNS, "thread_name", "name", json_string("runs"));
  for (size_t i = 0; i < r->runs.n; i++) {
    char name[32];
    snprintf(name, sizeof name, "run %zu", i + 1);
    (void)put_slice(t, name, RUNS, &r->runs.data[i]);
  }
}

static void begin_run(recording *r) {
  wk_vec_push(&r->runs, ((slice){(uint32_t)r->runs.n, wk_clock(), 0, false}));
}

static void end_run(recording *r) { r->runs.data[r->runs.n - 1].end = wk_clock(); }

/* Time 0 is when the first run begins. */
static void begin_at_zero(recording *r) {
  double zero = r->runs.n ? r->runs.data[0].start : 0;
  for (size_t i = 0; i < r->runs.n; i++)
    r->runs.data[i].start -= zero, r->runs.data[i].end -= zero;
  for (size_t i = 0; i < r->slices.n; i++)
    r->slices.data[i].start -= zero, r->slices.data[i].end -= zero;
}

/* ---- compiled -------------------------------------------------------------------------------- */

static void note(void *user, const wick_step_time *t) {
  recording *r = user;
  const slice one = {t->step, 1e-9 * (double)t->start, 1e-9 * (double)t->end,
                     t->clock == WICK_CLOCK_DEVICE};
  wk_vec_push(&r->slices, one);
}

static wk_status record_session(const wk_run_opts *o, wk_run_job *job, wk_tensor *out,
                                recording *r) {
  wk_run_buffers b;
  wick_session *session = wk_runner_session(job->runner);
  WK_TRY(wk_run_warm(job, out, &b));
  for (int64_t k = 0; k < o->repeat; k++) {
    wk_runner_rewind(job->runner);
    begin_run(r);
    wick_status s = wick_session_run_timed(session, b.inputs, b.outputs, note, r);
    end_run(r);
    WK_TRY(wk_wick_error(s, wick_session_error(session), NULL));
  }
  return NULL;
}

/* The part that has a step; *first: the number of its first one. */
static uint32_t part_of(const wick_entry_info *e, uint32_t step, uint32_t *first) {
  uint32_t part = 0;
  for (*first = 0; step >= *first + e->parts[part]->step_count; part++)
    *first += e->parts[part]->step_count;
  return part;
}

static int track_of(const wick_part_info *p) { return FIRST_UNIT + (int)p->unit; }

/* Whether the part of slice `a` goes on with `b`. */
static bool goes_on(const slice *a, const slice *b) {
  return b->index > a->index || (b->is_command && b->index == a->index);
}

/* From its first step on to its last one: slice i and those behind it. Returns the next one. */
static size_t put_part(const wk_trace *t, const wick_entry_info *e, const recording *r, size_t i) {
  uint32_t first, part = part_of(e, r->slices.data[i].index, &first);
  const wick_part_info *p = e->parts[part];
  size_t end = i + 1;
  while (end < r->slices.n && goes_on(&r->slices.data[end - 1], &r->slices.data[end]) &&
         r->slices.data[end].index < first + p->step_count)
    end++;
  const slice whole = {part, r->slices.data[i].start, r->slices.data[end - 1].end, false};
  (void)put_slice(t, *p->name ? p->name : "part", track_of(p), &whole);
  return end;
}

static void put_session(const wk_trace *t, wk_run_job *job, const recording *r) {
  const wick_session *session = wk_runner_session(job->runner);
  const wick_entry_info *e = wick_session_entry(session);
  for (uint32_t i = 0; i < e->part_count; i++) {
    bool is_own = wick_session_clock(session, e->parts[i]->unit) == WICK_CLOCK_DEVICE;
    const char *name = wk_arena_printf(job->arena, "%s%s", e->parts[i]->target,
                                       is_own ? " (by its own clock)" : "");
    wk_trace_describe(t, track_of(e->parts[i]), "thread_name", "name", json_string(name));
  }
  for (size_t i = 0; i < r->slices.n;) i = put_part(t, e, r, i);
  for (size_t i = 0; i < r->slices.n; i++) {
    uint32_t first, step = r->slices.data[i].index;
    const wick_step_info *s = &e->steps[step];
    const shown_step x = {s->op, wk_text_shown(job->arena, s->node),
                          wk_text_shown(job->arena, s->text), s->macs};
    put_step(t, track_of(e->parts[part_of(e, step, &first)]), &r->slices.data[i], &x);
  }
}

/* ---- evaluator ------------------------------------------------------------------------------- */

typedef struct {
  recording *r;
  double last;
} evaluation;

static wk_status after_node(void *ctx, const wk_graph *g, const wk_node *n, const wk_tensor *in,
                            const wk_tensor *out, int depth) {
  evaluation *v = ctx;
  (void)in, (void)out;
  if (depth > 0) return NULL; /* the time of bodies is their owner's */
  double now = wk_clock();
  wk_vec_push(&v->r->slices, ((slice){(uint32_t)(n - g->nodes.data), v->last, now, false}));
  v->last = wk_clock();
  return NULL;
}

static wk_status record_eval(const wk_run_opts *o, wk_run_job *job, wk_tensor *out, recording *r) {
  evaluation v = {.r = r};
  wk_status s = NULL;
  for (int64_t k = 0; !s && k < o->repeat; k++) {
    wk_runner_rewind(job->runner);
    begin_run(r);
    v.last = wk_clock();
    s = wk_runner_evaluate(job->runner, job->in, out, after_node, &v);
    end_run(r);
  }
  return s;
}

static void put_eval(const wk_trace *t, wk_run_job *job, const recording *r) {
  const wk_graph *g = wk_runner_module(job->runner)->main;
  wk_trace_describe(t, FIRST_UNIT, "thread_name", "name", json_string("eval"));
  for (size_t i = 0; i < r->slices.n; i++) {
    const wk_node *n = wk_nod(g, (wk_node_id)r->slices.data[i].index);
    const shown_step x = {wk_op_get(n->op)->name, wk_text_shown(job->arena, n->name), NULL,
                          (uint64_t)wk_node_macs(g, n)};
    put_step(t, FIRST_UNIT, &r->slices.data[i], &x);
  }
}

/* ---- all ------------------------------------------------------------------------------------- */

wk_status wk_run_trace(const wk_run_opts *o, const char *model, wk_run_job *job, wk_tensor *out) {
  const wk_trace t = {json_array(), 1};
  recording r = {0};
  bool is_compiled = wk_runner_session(job->runner) != NULL;
  wk_status s = is_compiled ? record_session(o, job, out, &r) : record_eval(o, job, out, &r);
  if (!s) {
    begin_at_zero(&r);
    wk_trace_describe(&t, RUNS, "process_name", "name",
                      json_string(wk_text_shown(job->arena, model)));
    put_runs(&t, &r);
    if (is_compiled) put_session(&t, job, &r);
    else put_eval(&t, job, &r);
    s = wk_trace_write(&t, o->trace);
  }
  json_decref(t.events);
  wk_vec_free(&r.slices);
  wk_vec_free(&r.runs);
  return s;
}
