/* SPDX-License-Identifier: Apache-2.0
 * Runs as JSON, and as a trace for Perfetto. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/driver/diff.h"
#include "compiler/driver/report.h"
#include "wick_version.h"

static json_t *number(uint64_t n) { return json_integer((json_int_t)n); }

static wk_status write_json(json_t *root, const char *path, size_t flags) {
  char *text = json_dumps(root, flags | JSON_ENSURE_ASCII);
  json_decref(root);
  if (!text) return wk_error_at(WK_RESOURCE, path, "no room for the text");
  wk_out *out;
  wk_status s = wk_out_open(path, &out);
  if (!s) {
    wk_out_write(out, text, strlen(text));
    wk_out_write(out, "\n", 1);
    s = wk_out_commit(out);
  }
  free(text);
  return s;
}

/* ---- figures --------------------------------------------------------------------------------- */

static json_t *counters(const uint64_t *c) {
  json_t *o = json_object();
  for (int i = 0; i < WK_COUNTER_COUNT; i++)
    json_object_set_new(o, wk_isa_counter_name(i).s, number(c[i]));
  return o;
}

static json_t *key_value(double v) {
  return v == (double)(int64_t)v ? json_integer((json_int_t)v) : json_real(v);
}

static json_t *machine(const wk_machine *m) {
  json_t *o = json_object();
  char hash[20];
  snprintf(hash, sizeof hash, "%016" PRIx64, wk_machine_hash(m));
  json_object_set_new(o, "name", json_string(m->name));
  json_object_set_new(o, "hash", json_string(hash));
  for (int i = 0; i < WK_KEY_COUNT; i++) {
    wk_str text = {0};
    wk_machine_key_text(&text, m, &wk_machine_keys[i]);
    json_object_set_new(o, wk_machine_keys[i].name, key_value(strtod(text.s, NULL)));
    wk_str_free(&text);
  }
  return o;
}

static json_t *marks(const wk_sim_shown *x) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < x->run->n; i++) {
    wk_isa_command c;
    uint64_t values[WK_COUNTER_COUNT];
    if (!wk_stream_get(x->stream, i, &c) || c.opcode != WK_CMD_MARK) continue;
    uint64_t row = (uint64_t)c.v[WK_MARK_row];
    memcpy(values, x->run->memory + x->stream->marks + row * WK_MARK_BYTES, sizeof values);
    if (!values[WK_COUNTER_cycles]) continue; /* the run ended before it */
    json_t *o = json_object();
    json_object_set_new(o, "row", number(row));
    json_object_set_new(o, "operator", json_integer(c.operator));
    json_object_set_new(o, "counters", counters(values));
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *outputs(const wk_sim_shown *x) {
  json_t *list = json_array();
  for (size_t i = 0; i < x->stream->regions.n; i++) {
    const wk_image *r = &x->stream->regions.data[i];
    char hash[20];
    if (!r->is_output) continue;
    json_t *o = json_object();
    snprintf(hash, sizeof hash, "%016" PRIx64, wk_hash64(x->run->memory + r->address, r->size, 0));
    json_object_set_new(o, "name", json_string(r->name));
    json_object_set_new(o, "bytes", number(r->size));
    json_object_set_new(o, "hash", json_string(hash));
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *ratio(double v) { return v < 0 ? json_null() : json_real(v); }

static json_t *layer(const wk_sim_shown *x, const wk_sim_layer *l, uint64_t all) {
  wk_sim_ratios r = wk_sim_ratios_of(x->machine, l, all);
  json_t *o = json_object();
  json_object_set_new(o, "cycles", number(l->cycles));
  json_object_set_new(o, "predicted", number(l->predicted));
  json_object_set_new(o, "share", ratio(r.share));
  json_object_set_new(o, "mapping", ratio(r.mapping));
  json_object_set_new(o, "activity", ratio(r.activity));
  json_object_set_new(o, "overlap", ratio(r.overlap));
  json_object_set_new(o, "exposed", number(l->exposed));
  json_object_set_new(o, "macs", number(l->macs));
  json_object_set_new(o, "ex", number(l->ex));
  json_object_set_new(o, "drain", number(l->drain));
  json_object_set_new(o, "ve", number(l->ve));
  json_object_set_new(o, "read", number(l->read));
  json_object_set_new(o, "written", number(l->written));
  json_object_set_new(o, "compulsory", number(l->compulsory));
  json_object_set_new(o, "bound", number(l->bound));
  json_object_set_new(o, "compulsory_bound", number(l->compulsory_bound));
  json_object_set_new(o, "efficiency", ratio(r.efficiency));
  json_object_set_new(o, "limit", *l->limit ? json_string(l->limit) : json_null());
  return o;
}

static void add_layers(json_t *o, const wk_sim_shown *x) {
  wk_sim_layers l = wk_sim_layers_of(x);
  json_t *list = json_array();
  for (uint32_t i = 0; i <= l.n; i++) {
    json_t *row = layer(x, &l.list[i], l.total.cycles);
    json_object_set_new(row, "operator", json_integer(i));
    json_object_set_new(row, "name", json_string(wk_sim_layer_name(x->part, i)));
    json_object_set_new(row, "op", json_string(wk_sim_layer_op(x->part, i)));
    json_array_append_new(list, row);
  }
  json_object_set_new(o, "part", json_string(x->part->name));
  json_object_set_new(o, "layers", list);
  json_object_set_new(o, "all_layers", layer(x, &l.total, l.total.cycles));
  free(l.list);
}

static void add_causes(json_t *o, const wk_sim_shown *x, const wk_causes *c) {
  static const char *const moved[] = {NULL, "weights", "inputs", "results"};
  json_t *totals = json_object(), *list = json_array();
  for (int i = 0; i < WK_CAUSE_COUNT; i++)
    json_object_set_new(totals, wk_cause_infos[i].name, number(c->cycles[i]));
  for (size_t i = 0; i < c->rows.n; i++) {
    const wk_cause_row *r = &c->rows.data[i];
    json_t *row = json_object();
    json_object_set_new(row, "cause", json_string(wk_cause_infos[r->cause].name));
    json_object_set_new(row, "operator", json_integer(r->operator));
    if (x->part)
      json_object_set_new(row, "layer", json_string(wk_sim_layer_name(x->part, r->operator)));
    if (moved[r->moved]) json_object_set_new(row, "moved", json_string(moved[r->moved]));
    json_object_set_new(row, "cycles", number(r->cycles));
    json_array_append_new(list, row);
  }
  json_object_set_new(o, "causes", totals);
  json_object_set_new(o, "causes_of_layers", list);
}

static void add_what_ifs(json_t *o, const wk_what_if list[WK_WHAT_IFS]) {
  json_t *all = json_object();
  for (int i = 0; i < WK_WHAT_IFS; i++)
    json_object_set_new(all, list[i].name, number(list[i].cycles));
  json_object_set_new(o, "what_if", all);
}

static json_t *figures(const wk_sim_shown *x) {
  wk_sim_figures f = wk_sim_figures_of(x->machine, x->run->result.counters);
  json_t *o = json_object();
  json_object_set_new(o, "stream", json_string(x->stream->source));
  json_object_set_new(o, "commands", json_integer(x->run->n));
  json_object_set_new(o, "model", json_string(x->model->name));
  if (x->model->build) json_object_set_new(o, "build", json_string(x->model->build));
  json_object_set_new(o, "machine", machine(x->machine));
  json_object_set_new(o, "cycles", number(f.cycles));
  json_object_set_new(o, "seconds", json_real(x->run->seconds));
  json_object_set_new(o, "utilisation", json_real(f.utilisation));
  json_object_set_new(o, "overlap",
                      json_real(f.dma_active ? (double)f.overlapped / (double)f.dma_active : 0));
  json_object_set_new(o, "exposed", number(f.exposed));
  json_object_set_new(o, "counters", counters(x->run->result.counters));
  json_object_set_new(o, "marks", marks(x));
  json_object_set_new(o, "outputs", outputs(x));
  if (x->part && f.cycles) add_layers(o, x);
  if (x->why) add_causes(o, x, &x->why->causes);
  if (x->why && x->why->has_what_if) add_what_ifs(o, x->why->what_if);
  return o;
}

/* ---- trace ----------------------------------------------------------------------------------- */

/* Engines overlap neighbours, but slices of a track may only nest: a queue has as many tracks as
 * commands in flight. lanes: of every command. */
enum { LANES = 32 };

typedef struct {
  uint8_t *of; /* n */
  int used[WK_QUEUE_COUNT];
} lanes;

static lanes assign_lanes(const wk_sim_run *r) {
  lanes l = {.of = wk_xcalloc(r->n + 1, 1)};
  uint64_t ends[WK_QUEUE_COUNT][LANES] = {0};
  for (uint32_t i = 0; i < r->n; i++) {
    const wk_sim_span *span = &r->spans[i];
    int lane = 0, q = span->queue;
    if (span->start == WK_SIM_NEVER || span->retire == WK_SIM_NEVER) continue;
    while (lane < LANES - 1 && ends[q][lane] > span->start) lane++;
    ends[q][lane] = span->retire;
    l.of[i] = (uint8_t)lane;
    if (l.used[q] <= lane) l.used[q] = lane + 1;
  }
  return l;
}

typedef struct {
  json_t *events;
  int process;   /* of this run */
  uint64_t from; /* when it starts: behind the runs before */
} trace;

/* Events of the Chrome trace format; a cycle is shown as a microsecond. */
static json_t *event(const trace *t, const char *phase, const char *name, int track,
                     uint64_t time) {
  json_t *e = json_object();
  json_object_set_new(e, "ph", json_string(phase));
  json_object_set_new(e, "name", json_string(name));
  json_object_set_new(e, "pid", json_integer(t->process));
  json_object_set_new(e, "tid", json_integer(track + 1));
  json_object_set_new(e, "ts", number(t->from + time));
  return e;
}

static void describe_track(const trace *t, int track, const char *what, const char *key,
                           json_t *value) {
  json_t *e = event(t, "M", what, track, 0), *args = json_object();
  json_object_set_new(args, key, value);
  json_object_set_new(e, "args", args);
  json_array_append_new(t->events, e);
}

static void add_tracks(const trace *t, const wk_sim_shown *x, const lanes *l) {
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

static void add_span(const trace *t, const wk_sim_shown *x, const lanes *l, uint32_t i) {
  const wk_sim_span *span = &x->run->spans[i];
  wk_isa_command c;
  wk_str text = {0};
  (void)wk_stream_get(x->stream, i, &c);
  wk_disasm_command(&text, x->machine, &c);
  json_t *e = event(t, "X", wk_isa_command_of(span->opcode)->name, track_of(x, l, i), span->start),
         *args = json_object();
  json_object_set_new(e, "dur", number(span->retire - span->start));
  json_object_set_new(args, "index", json_integer(i));
  json_object_set_new(args, "operator", json_integer(span->operator));
  if (x->part && span->operator <= x->part->row->layers)
    json_object_set_new(args, "layer", json_string(wk_sim_layer_name(x->part, span->operator)));
  json_object_set_new(args, "command", json_string(text.s));
  json_object_set_new(e, "args", args);
  json_array_append_new(t->events, e);
  wk_str_free(&text);
}

/* An arrow from the retirement that let a command start. */
static void add_flow(const trace *t, const wk_sim_shown *x, const lanes *l, uint32_t i) {
  const wk_sim_span *to = &x->run->spans[i], *from;
  if (to->released_by == WK_SIM_NOBODY) return;
  from = &x->run->spans[to->released_by];
  uint64_t left = from->retire > from->start ? from->retire - 1 : from->retire;
  json_t *begin = event(t, "s", "wait", track_of(x, l, to->released_by), left),
         *end = event(t, "f", "wait", track_of(x, l, i), to->start);
  json_object_set_new(begin, "id", json_integer(i));
  json_object_set_new(end, "id", json_integer(i));
  json_object_set_new(begin, "cat", json_string("wait"));
  json_object_set_new(end, "cat", json_string("wait"));
  json_object_set_new(end, "bp", json_string("e"));
  json_array_append_new(t->events, begin);
  json_array_append_new(t->events, end);
}

static void add_trace(const trace *t, const wk_sim_shown *x) {
  lanes l = assign_lanes(x->run);
  if (x->part) describe_track(t, 0, "process_name", "name", json_string(x->part->name));
  add_tracks(t, x, &l);
  for (uint32_t i = 0; i < x->run->n; i++) {
    const wk_sim_span *span = &x->run->spans[i];
    if (span->start == WK_SIM_NEVER || span->retire == WK_SIM_NEVER) continue;
    add_span(t, x, &l, i);
    add_flow(t, x, &l, i);
  }
  free(l.of);
}

/* ---- all runs -------------------------------------------------------------------------------- */

struct wk_sim_record {
  const wk_sim_opts *o;
  const char *package;
  json_t *runs, *shown, *events; /* --json, --html, --trace */
  wk_str csv;
  int n;
  uint64_t cycles;
};

wk_sim_record *wk_sim_record_new(const wk_sim_opts *o, const char *package) {
  wk_sim_record *r = wk_xcalloc(1, sizeof *r);
  *r = (wk_sim_record){.o = o, .package = package, .runs = json_array(),
                       .shown = json_array(), .events = json_array()};
  return r;
}

/* The page has no marks and results, and the same bytes whenever it is made. */
static json_t *shown_run(const wk_sim_shown *x) {
  json_t *o = figures(x);
  json_object_del(o, "seconds");
  json_object_del(o, "marks");
  json_object_del(o, "outputs");
  if (!x->why) return o;
  json_object_set_new(o, "timeline", wk_report_timeline(x));
  json_object_set_new(o, "space", wk_report_space(x));
  return o;
}

void wk_sim_record_add(wk_sim_record *r, const wk_sim_shown *x) {
  const trace t = {r->events, ++r->n, r->cycles};
  if (r->o->json) json_array_append_new(r->runs, figures(x));
  if (r->o->html) json_array_append_new(r->shown, shown_run(x));
  if (r->o->trace) add_trace(&t, x);
  if (r->o->csv) wk_sim_add_csv(&r->csv, x);
  r->cycles += x->run->result.cycles;
}

void wk_sim_record_repeat(wk_sim_record *r, size_t i, uint32_t runs) {
  if (r->o->json) json_object_set_new(json_array_get(r->runs, i), "runs", json_integer(runs));
}

static wk_status write_runs(const wk_sim_record *r) {
  json_t *root = r->package ? json_object() : json_incref(json_array_get(r->runs, 0));
  json_object_set_new(root, "wick", json_string(WK_SIM_JSON_KIND));
  json_object_set_new(root, "version", json_integer(WK_SIM_JSON_VERSION));
  if (r->package) {
    json_object_set_new(root, "package", json_string(r->package));
    json_object_set_new(root, "cycles", number(r->cycles));
    json_object_set(root, "parts", r->runs);
  }
  return write_json(root, r->o->json, JSON_INDENT(1));
}

static wk_status write_trace(const wk_sim_record *r) {
  json_t *root = json_object();
  json_object_set(root, "traceEvents", r->events);
  json_object_set_new(root, "displayTimeUnit", json_string("ns"));
  return write_json(root, r->o->trace, JSON_COMPACT);
}

static json_t *cause_docs(void) {
  json_t *o = json_object();
  for (int i = 0; i < WK_CAUSE_COUNT; i++)
    json_object_set_new(o, wk_cause_infos[i].name, json_string(wk_cause_infos[i].doc));
  return o;
}

static json_t *what_if_docs(void) {
  json_t *o = json_object();
  for (int i = 0; i < WK_WHAT_IFS; i++)
    json_object_set_new(o, wk_what_if_infos[i].name, json_string(wk_what_if_infos[i].doc));
  return o;
}

static wk_status write_page(const wk_sim_record *r) {
  json_t *root = json_object();
  const char *stream = json_string_value(json_object_get(json_array_get(r->shown, 0), "stream"));
  json_object_set_new(root, "wick", json_string(WICK_VERSION));
  json_object_set_new(root, "cause_docs", cause_docs());
  json_object_set_new(root, "what_if_docs", what_if_docs());
  json_object_set(root, "parts", r->shown);
  wk_status s = wk_report_write(r->o->html, r->package ? r->package : stream, root);
  json_decref(root);
  return s;
}

static wk_status write_all(const wk_sim_record *r) {
  if (r->o->json) WK_TRY(write_runs(r));
  if (r->o->html) WK_TRY(write_page(r));
  if (r->o->trace) WK_TRY(write_trace(r));
  return r->o->csv ? wk_write_file(r->o->csv, r->csv.s, r->csv.n) : NULL;
}

wk_status wk_sim_record_close(wk_sim_record *r, wk_status s) {
  wk_status written = r->n ? write_all(r) : NULL;
  json_decref(r->runs);
  json_decref(r->shown);
  json_decref(r->events);
  wk_str_free(&r->csv);
  free(r);
  if (!s) return written;
  wk_status_free(written);
  return s;
}
