/* SPDX-License-Identifier: Apache-2.0
 * Runs for --json, --html, --trace and --csv, and how they are written. */
#include <stdlib.h>
#include <string.h>

#include "cli/json_file.h"
#include "cli/study/diff.h"
#include "cli/study/report.h"
#include "cli/study/sim_json.h"
#include "cli/text.h"
#include "compiler/stream/prefetch.h"
#include "wick_version.h"

/* What --with-modes compares. */
typedef struct {
  const char *prefetch; /* NULL: as the options have it */
  json_t *parts;
  uint64_t cycles, least, exposed, transfers, overlapped, bytes_in, bytes_out;
} mode;

struct wk_sim_record {
  const wk_sim_opts *o;
  const char *package;
  WK_VEC(mode) modes;   /* first what was asked for; the last one is under way */
  json_t *runs, *shown, *events; /* --json, --html, --trace */
  wk_str csv;
  int n;
  uint64_t cycles;
};

wk_sim_record *wk_sim_record_new(const wk_sim_opts *o, const char *package) {
  wk_sim_record *r = wk_xcalloc(1, sizeof *r);
  *r = (wk_sim_record){.o = o, .package = package, .runs = json_array(),
                       .shown = json_array(), .events = json_array()};
  wk_vec_push(&r->modes, (mode){.parts = json_array()});
  return r;
}

const char *wk_sim_record_file(const wk_sim_record *r, const wk_stream *s) {
  return r->package ? r->package : s->source;
}

/* The page has no marks and results, and the same bytes whenever it is made. */
static json_t *bare_run(const wk_sim_shown *x) {
  json_t *o = wk_sim_figures_json(x);
  json_object_del(o, "seconds");
  json_object_del(o, "marks");
  json_object_del(o, "outputs");
  return o;
}

static json_t *shown_run(const wk_sim_shown *x) {
  json_t *o = bare_run(x);
  if (!x->why) return o;
  json_object_set_new(o, "timeline", wk_report_timeline(x));
  json_object_set_new(o, "space", wk_report_space(x));
  return o;
}

static uint64_t least_of(const wk_sim_shown *x) {
  if (!x->part || !wk_sim_is_whole(x)) return 0;
  wk_sim_layers l = wk_sim_layers_of(x);
  free(l.list);
  return l.total.least;
}

static void add_to_mode(mode *m, const wk_sim_shown *x) {
  wk_sim_figures f = wk_sim_figures_of(x->machine, x->run->result.counters);
  json_array_append_new(m->parts, bare_run(x));
  m->cycles += f.cycles;
  m->least += least_of(x);
  m->exposed += f.exposed;
  m->transfers += f.dma_active;
  m->overlapped += f.overlapped;
  m->bytes_in += f.bytes_in;
  m->bytes_out += f.bytes_out;
}

void wk_sim_record_add(wk_sim_record *r, const wk_sim_shown *x) {
  const wk_sim_trace t = {{r->events, r->n + 1}, r->cycles};
  if (r->o->with_modes) add_to_mode(&r->modes.data[r->modes.n - 1], x);
  if (wk_sim_record_is_mode(r)) return;
  r->n++;
  if (r->o->json) json_array_append_new(r->runs, wk_sim_figures_json(x));
  if (r->o->html) json_array_append_new(r->shown, shown_run(x));
  if (r->o->trace) wk_sim_trace_add(&t, x);
  if (r->o->csv && wk_sim_is_whole(x)) wk_sim_add_csv(&r->csv, x);
  r->cycles += x->run->result.cycles;
}

void wk_sim_record_repeat(wk_sim_record *r, size_t i, uint32_t runs) {
  if (r->o->json) json_object_set_new(json_array_get(r->runs, i), "runs", json_integer(runs));
}

/* ---- modes ----------------------------------------------------------------------------------- */

void wk_sim_record_begin_mode(wk_sim_record *r, const char *prefetch, bool has_run) {
  mode m = {.parts = json_array()};
  if (has_run) {
    json_decref(m.parts);
    m = r->modes.data[0];
    json_incref(m.parts);
  }
  m.prefetch = prefetch;
  wk_vec_push(&r->modes, m);
}

bool wk_sim_record_is_mode(const wk_sim_record *r) { return r->modes.n > 1; }

/* The share of off's exposed cycles that a mode has not. Negative where it has more, or false: off
 * has none. */
static bool hides(const wk_sim_record *r, const mode *m, double *share) {
  for (size_t i = 1; i < r->modes.n; i++) {
    const mode *off = &r->modes.data[i];
    if (strcmp(off->prefetch, wk_sched_prefetch_names[WK_PREFETCH_OFF]) != 0) continue;
    if (off->exposed) *share = 1 - (double)m->exposed / (double)off->exposed;
    return off->exposed != 0;
  }
  return false;
}

static wk_text24 percent(double v) {
  wk_text24 t;
  snprintf(t.s, sizeof t.s, "%.1f", 100 * v);
  return t;
}

static double ratio(uint64_t part, uint64_t whole) {
  return whole ? (double)part / (double)whole : 0;
}

void wk_sim_record_print_modes(const wk_sim_record *r, FILE *f) {
  wk_table t = {0};
  wk_table_row(&t, "\nprefetch\tcycles\tof least %%\toverlap %%\texposed\thides %%\tread"
               "\twritten");
  for (size_t i = 1; i < r->modes.n; i++) {
    const mode *m = &r->modes.data[i];
    double share = 0;
    bool is_known = hides(r, m, &share);
    wk_table_row(&t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", m->prefetch, wk_sim_grouped(m->cycles).s,
                 m->least ? percent(ratio(m->least, m->cycles)).s : "-",
                 percent(ratio(m->overlapped, m->transfers)).s, wk_sim_grouped(m->exposed).s,
                 is_known ? percent(share).s : "-", wk_bytes_text(m->bytes_in).s,
                 wk_bytes_text(m->bytes_out).s);
  }
  wk_table_print(f, &t, "lrrrrrrr");
}

/* NULL: there are none. */
static json_t *modes_json(const wk_sim_record *r) {
  json_t *list = r->modes.n > 1 ? json_array() : NULL;
  for (size_t i = 1; i < r->modes.n; i++) {
    const mode *m = &r->modes.data[i];
    json_t *o = json_object();
    double share;
    json_object_set_new(o, "prefetch", json_string(m->prefetch));
    json_object_set_new(o, "cycles", json_integer((json_int_t)m->cycles));
    json_object_set_new(o, "exposed", json_integer((json_int_t)m->exposed));
    json_object_set_new(o, "hides", hides(r, m, &share) ? json_real(share) : json_null());
    json_object_set(o, "parts", m->parts);
    json_array_append_new(list, o);
  }
  return list;
}

/* ---- files ----------------------------------------------------------------------------------- */

static wk_status write_runs(const wk_sim_record *r) {
  json_t *root = json_object(), *modes = modes_json(r);
  json_object_set_new(root, "wick", json_string(WK_SIM_JSON_KIND));
  json_object_set_new(root, "version", json_integer(WK_SIM_JSON_VERSION));
  if (r->package) {
    json_object_set_new(root, "package", json_string(r->package));
    json_object_set_new(root, "cycles", json_integer((json_int_t)r->cycles));
    json_object_set(root, "parts", r->runs);
  } else {
    json_object_update(root, json_array_get(r->runs, 0));
  }
  if (modes) json_object_set_new(root, "modes", modes);
  return wk_json_write(root, r->o->json, JSON_INDENT(1));
}

static wk_status write_trace(const wk_sim_record *r) {
  return wk_trace_write(&(wk_trace){.events = r->events}, r->o->trace);
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
  json_t *root = json_object(), *modes = modes_json(r);
  const char *stream = json_string_value(json_object_get(json_array_get(r->shown, 0), "stream"));
  json_object_set_new(root, "wick", json_string(WICK_VERSION));
  json_object_set_new(root, "cause_docs", cause_docs());
  json_object_set_new(root, "what_if_docs", what_if_docs());
  json_object_set(root, "parts", r->shown);
  if (modes) json_object_set_new(root, "modes", modes);
  wk_status s = wk_report_write(r->o->html, r->package ? r->package : stream, root);
  json_decref(root);
  return s;
}

static wk_status write_all(wk_sim_record *r) {
  if (r->o->json) WK_TRY(write_runs(r));
  if (r->o->html) WK_TRY(write_page(r));
  if (r->o->trace) WK_TRY(write_trace(r));
  if (!r->o->csv) return NULL;
  wk_sim_add_csv_heading(&r->csv); /* of no rows, too: no part may have come to its end */
  return wk_write_file(r->o->csv, r->csv.s, r->csv.n);
}

wk_status wk_sim_record_close(wk_sim_record *r, wk_status s) {
  wk_status written = r->n ? write_all(r) : NULL;
  for (size_t i = 0; i < r->modes.n; i++) json_decref(r->modes.data[i].parts);
  wk_vec_free(&r->modes);
  json_decref(r->runs);
  json_decref(r->shown);
  json_decref(r->events);
  wk_str_free(&r->csv);
  free(r);
  if (!s) return written;
  wk_status_free(written);
  return s;
}
