/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pipeline/open.h"
#include "compiler/pipeline/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/support/machine.h"

typedef struct {
  const char *name;
  wk_type type;
  const wk_labels *labels; /* of an output, or NULL */
  int64_t least[WK_MAX_RANK]; /* elements of each axis; type has the most */
  const char *symbols[WK_MAX_RANK]; /* what an open size is called */
} port;

static bool is_open(const port *p) {
  for (int k = 0; k < p->type.rank; k++)
    if (p->least[k] < p->type.dims[k]) return true;
  return false;
}

struct wk_runner {
  wk_arena *arena;
  wk_module *module;     /* evaluator */
  wick_model *model;     /* runtime */
  wick_session *session;
  wick_state *state;     /* bound to the session; NULL: it needs none */
  wk_tensor *variables;  /* evaluator: what the variables hold */
  port *in, *out, *states;
  void **marked; /* copies of the states' bytes; NULL: there are none */
  size_t n_in, n_out, n_states;
  wk_runner_start start;
};

size_t wk_runner_inputs(const wk_runner *r) { return r->n_in; }
size_t wk_runner_outputs(const wk_runner *r) { return r->n_out; }
const char *wk_runner_input_name(const wk_runner *r, size_t i) { return r->in[i].name; }
const char *wk_runner_output_name(const wk_runner *r, size_t i) { return r->out[i].name; }
const wk_labels *wk_runner_output_labels(const wk_runner *r, size_t i) { return r->out[i].labels; }
const wk_type *wk_runner_input_type(const wk_runner *r, size_t i) { return &r->in[i].type; }
wk_runner_start wk_runner_started(const wk_runner *r) { return r->start; }
wick_session *wk_runner_session(const wk_runner *r) { return r->session; }
const wk_module *wk_runner_module(const wk_runner *r) { return r->module; }

size_t wk_runner_states(const wk_runner *r) { return r->n_states; }
const char *wk_runner_state_name(const wk_runner *r, size_t i) { return r->states[i].name; }
const wk_type *wk_runner_state_type(const wk_runner *r, size_t i) { return &r->states[i].type; }

void wk_runner_mark(wk_runner *r) {
  if (!r->marked) r->marked = wk_arena_alloc(r->arena, r->n_states * sizeof *r->marked);
  for (size_t i = 0; i < r->n_states; i++) {
    size_t bytes = (size_t)wk_type_bytes(&r->states[i].type);
    if (!r->marked[i]) r->marked[i] = wk_arena_alloc(r->arena, bytes);
    memcpy(r->marked[i], wk_runner_state_data(r, i), bytes);
  }
}

void wk_runner_rewind(wk_runner *r) {
  for (size_t i = 0; r->marked && i < r->n_states; i++)
    memcpy(wk_runner_state_data(r, i), r->marked[i], (size_t)wk_type_bytes(&r->states[i].type));
}

void *wk_runner_state_data(const wk_runner *r, size_t i) {
  return r->variables ? r->variables[i].data : wick_state_data(r->state, (uint32_t)i);
}

void wk_runner_free(wk_runner *r) {
  if (!r) return;
  wick_session_free(r->session);
  wick_state_free(r->state);
  wick_model_free(r->model);
  wk_module_free(r->module);
  for (size_t i = 0; r->variables && i < r->n_states; i++) wk_tensor_free(&r->variables[i]);
  wk_arena_free(r->arena);
  free(r);
}

/* Of what whoever runs it will make, before any of it is made. limit 0: what the machine has. */
static wk_status check_memory(const wk_runner *r, const char *path, uint64_t limit) {
  uint64_t needed = 0, there = wk_machine_memory();
  if (!limit || limit > there) limit = there;
  for (size_t i = 0; i < r->n_in + r->n_out; i++) {
    const port *p = i < r->n_in ? &r->in[i] : &r->out[i - r->n_in];
    uint64_t bytes = (uint64_t)wk_type_bytes(&p->type);
    needed = bytes > UINT64_MAX - needed ? UINT64_MAX : needed + bytes;
  }
  if (needed <= limit) return NULL;
  return wk_error_at(WK_RESOURCE, path, "out of memory: inputs and outputs ask for %" PRIu64
                     " bytes of memory; %" PRIu64 " are the most that there may be", needed,
                     limit);
}

/* ---- evaluator ------------------------------------------------------------------------------- */

static port port_of(const char *name, const wk_type *t) {
  port p = {.name = name, .type = *t};
  memcpy(p.least, t->dims, sizeof p.least);
  return p;
}

static void open_ports(wk_runner *r, const wk_module *m) {
  for (size_t i = 0; i < m->open_axes.n; i++) {
    const wk_open_axis *a = &m->open_axes.data[i];
    port *list = a->is_output ? r->out : r->in;
    size_t n = a->is_output ? r->n_out : r->n_in;
    for (size_t k = 0; k < n; k++) {
      if (strcmp(list[k].name, a->tensor) != 0) continue;
      list[k].least[a->axis] = a->least;
      list[k].symbols[a->axis] = a->symbol;
    }
  }
}

static void ports_of_graph(wk_runner *r, const wk_graph *g) {
  r->n_in = wk_module_seen_inputs(g->module);
  r->n_out = wk_module_seen_outputs(g->module);
  r->in = wk_arena_alloc(r->arena, r->n_in * sizeof *r->in);
  r->out = wk_arena_alloc(r->arena, r->n_out * sizeof *r->out);
  for (size_t i = 0; i < r->n_in; i++) {
    const wk_value *v = wk_val(g, g->inputs.data[i]);
    r->in[i] = port_of(v->name, &v->type);
  }
  for (size_t i = 0; i < r->n_out; i++) {
    const char *name = g->output_names.data[i];
    r->out[i] = port_of(name, &wk_val(g, g->outputs.data[i])->type);
    r->out[i].labels = wk_module_labels(g->module, name);
  }
  open_ports(r, g->module);
}

static wk_status variables_of_graph(wk_runner *r, const wk_graph *g) {
  size_t plain = wk_graph_plain_inputs(g);
  r->n_states = g->inputs.n - plain;
  r->states = wk_arena_alloc(r->arena, r->n_states * sizeof *r->states);
  r->variables = wk_arena_alloc(r->arena, r->n_states * sizeof *r->variables);
  for (size_t i = 0; i < r->n_states; i++) {
    const wk_value *v = wk_val(g, g->inputs.data[plain + i]);
    r->states[i] = port_of(v->name, &v->type);
    WK_TRY(wk_tensor_alloc(&v->type, &r->variables[i]));
    memcpy(r->variables[i].data, v->initial, (size_t)wk_type_bytes(&v->type));
  }
  return NULL;
}

/* ---- runtime --------------------------------------------------------------------------------- */

wk_status wk_wick_error(wick_status s, const char *detail, const char *what) {
  static const struct { wick_status from; wk_code to;
  } codes[] = {{WICK_CANNOT_READ, WK_IO},
               {WICK_CANNOT_WRITE, WK_IO},
               {WICK_NO_MEMORY, WK_RESOURCE},
               {WICK_NO_THREAD, WK_RESOURCE},
               {WICK_BAD_MACHINE, WK_UNSUPPORTED},
               {WICK_NO_DEVICE, WK_UNSUPPORTED},
               {WICK_NO_ROUTINE, WK_UNSUPPORTED},
               {WICK_NO_STEPS, WK_UNSUPPORTED},
               {WICK_DEVICE_FAILED, WK_IO},
               {WICK_RUN_FAILED, WK_INPUT},
               {WICK_NOT_PACKAGE, WK_INPUT},
               {WICK_BAD_VERSION, WK_INPUT},
               {WICK_CORRUPT, WK_INPUT},
               {WICK_BAD_STATE, WK_INPUT},
               {WICK_REFUSED, WK_FAILED}};
  wk_code code = WK_INTERNAL;
  if (s == WICK_OK) return NULL;
  for (size_t i = 0; i < WK_COUNTOF(codes); i++)
    if (codes[i].from == s) code = codes[i].to;
  size_t n = what ? strlen(what) : 0; /* some details begin with the path */
  if (detail && n && !strncmp(detail, what, n) && !strncmp(detail + n, ": ", 2)) detail += n + 2;
  const char *text = wick_status_text(s);
  bool says_more = detail && *detail && strcmp(detail, text) != 0;
  return wk_error_at(code, what, "%s%s%s", text, says_more ? ": " : "", says_more ? detail : "");
}

bool wk_is_package(const wk_file *f) {
  return f->size >= sizeof WICK_MAGIC && !memcmp(f->data, WICK_MAGIC, sizeof WICK_MAGIC);
}

wk_status wk_open_session(const wick_model *m, uint32_t entry, int64_t threads, const char *what,
                          wick_session **out) {
  wick_error_detail detail = {{0}};
  const wick_session_options o = {.size = sizeof o, .threads = (uint32_t)threads,
                                  .detail = &detail};
  return wk_wick_error(wick_session_create_with(m, entry, &o, out), detail.text, what);
}

static port port_of_tensor(const wick_tensor_info *t) {
  const wk_type type = wk_type_make((wk_dtype)t->dtype, (int)t->rank, t->dims);
  return port_of(t->name, &type);
}

static const wk_labels *labels_of_entry(wk_arena *a, const wick_entry_info *e, uint32_t output) {
  const wick_labels *l = wick_output_labels(e, output);
  if (!l) return NULL;
  wk_labels *out = wk_arena_alloc(a, sizeof *out);
  *out = (wk_labels){.output = e->outputs[output].name,
                     .kind = l->kind == WICK_LABELS_COLUMNS ? WK_LABELS_COLUMNS
                                                            : WK_LABELS_ELEMENTS,
                     .are_numbers = l->are_numbers != 0,
                     .texts = {.n = l->count, .v = l->texts}};
  return out;
}

/* Runs use it from now on, and not the one before; it is the runner's, or freed. */
static wick_status take_state(wk_runner *r, wick_state *state) {
  wick_status s = wick_session_bind_state(r->session, state);
  wick_state_free(s == WICK_OK ? r->state : state);
  if (s == WICK_OK) r->state = state;
  return s;
}

/* As the package has it. */
static wk_status bind_state(wk_runner *r, const wick_entry_info *e, const char *path) {
  const wick_model_info *m = wick_model_describe(r->model);
  if (!e->reads_state && !e->writes_state) return NULL;
  r->n_states = m->state_count;
  r->states = wk_arena_alloc(r->arena, r->n_states * sizeof *r->states);
  for (size_t i = 0; i < r->n_states; i++) r->states[i] = port_of_tensor(m->states[i].tensor);
  wick_state *state;
  wick_status s = wick_state_new(r->model, &state);
  if (s == WICK_OK) s = take_state(r, state);
  return wk_wick_error(s, NULL, path);
}

wk_status wk_runner_load_state(wk_runner *r, const char *path) {
  wick_error_detail detail = {{0}};
  wick_state *state;
  wick_status s = wick_state_load(r->model, path, &detail, &state);
  if (s == WICK_OK) s = take_state(r, state);
  return wk_wick_error(s, detail.text, path);
}

wk_status wk_runner_save_state(const wk_runner *r, const char *path) {
  wick_error_detail detail = {{0}};
  return wk_wick_error(wick_state_save(r->state, path, &detail), detail.text, path);
}

/* path: NULL when the package has no name. */
static wk_status open_session(wk_runner *r, const char *path, uint32_t entry, int64_t threads,
                              uint64_t limit) {
  const wick_entry_info *e = wick_model_entry(r->model, entry);
  if (!e) return wk_error_at(WK_USAGE, path, "the package has no binding number %u", entry);
  r->n_in = e->input_count;
  r->n_out = e->output_count;
  r->in = wk_arena_alloc(r->arena, r->n_in * sizeof *r->in);
  r->out = wk_arena_alloc(r->arena, r->n_out * sizeof *r->out);
  for (size_t i = 0; i < r->n_in; i++) r->in[i] = port_of_tensor(&e->inputs[i]);
  for (size_t i = 0; i < r->n_out; i++) {
    r->out[i] = port_of_tensor(&e->outputs[i]);
    r->out[i].labels = labels_of_entry(r->arena, e, (uint32_t)i);
  }
  for (uint32_t i = 0; i < e->extent_count; i++) {
    const wick_extent_info *x = &e->extents[i];
    if (x->tensor >= e->input_count) continue;
    r->in[x->tensor].least[x->axis] = x->least;
    r->in[x->tensor].symbols[x->axis] = x->name;
  }
  WK_TRY(check_memory(r, path, limit));
  double start = wk_clock();
  wk_status s = wk_open_session(r->model, entry, threads, path, &r->session);
  r->start.session = wk_clock() - start;
  return s ? s : bind_state(r, e, path);
}

static wk_runner *runner_new(void) {
  wk_runner *r = wk_xcalloc(1, sizeof *r);
  r->arena = wk_arena_new();
  return r;
}

wk_status wk_runner_of_package(const char *path, uint32_t entry, int64_t threads,
                               const wick_load_options *load, wk_runner **out) {
  wk_runner *r = runner_new();
  wick_error_detail detail = {{0}};
  wick_load_options o = load ? *load : (wick_load_options){.size = sizeof(wick_load_options)};
  o.detail = &detail;
  double start = wk_clock();
  wk_status s = wk_wick_error(wick_model_load(path, &o, &r->model), detail.text, path);
  r->start.load = wk_clock() - start;
  if (!s) s = open_session(r, path, entry, threads, o.memory_limit);
  if (s) wk_runner_free(r);
  else *out = r;
  return s;
}

/* ---- compiled on the spot -------------------------------------------------------------------- */

wk_status wk_nameless_open(wk_nameless *f) {
  const char *folder = getenv("TMPDIR");
  if (!folder || !*folder) folder = "/tmp";
  f->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (f->fd < 0) f->fd = memfd_create("wick", MFD_CLOEXEC);
  snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
  if (f->fd >= 0) return NULL;
  return wk_error_at(WK_IO, folder, "cannot create a temporary file: %s", strerror(errno));
}

void wk_nameless_close(wk_nameless *f) {
  close(f->fd);
  f->fd = -1;
}

wk_status wk_nameless_place(const wk_nameless *f, wk_status s, const char *place) {
  if (!s || !s->place || strcmp(s->place, f->path) != 0) return s;
  free(s->place);
  s->place = NULL;
  return place ? wk_status_place(s, place) : s;
}

/* Loads what was written there unless s says that it was not. */
static wk_status load_nameless(wk_nameless *f, wk_status s, wick_model **out) {
  wick_error_detail detail = {{0}};
  wick_load_options lo = {.size = sizeof lo, .flags = WICK_LOAD_UNCHECKED, .detail = &detail};
  if (!s) s = wk_wick_error(wick_model_load(f->path, &lo, out), detail.text, f->path);
  wk_nameless_close(f);
  return wk_nameless_place(f, s, NULL);
}

wk_status wk_load_programs(const wk_instance *t, wk_program *const *programs, size_t n,
                           const wk_emit_options *o, wick_model **out) {
  wk_nameless f;
  WK_TRY(wk_nameless_open(&f));
  return load_nameless(&f, wk_emit_programs(t, programs, n, o, f.path), out);
}

wk_status wk_load_parts(const wk_targets *t, wk_parts *p, const wk_emit_options *o,
                        uint32_t *entry, wick_model **out) {
  wk_nameless f;
  WK_TRY(wk_nameless_open(&f));
  return load_nameless(&f, wk_emit_parts(t, p, o, f.path, entry), out);
}

static wk_status compile_for(wk_module *m, const wk_targets *t, const wk_runner_options *o,
                             const char *path) {
  wk_parts *parts = NULL;
  wk_pipeline_report local = {0}, *report = o->report ? o->report : &local;
  wk_emit_options emit = {.model_name = o->model_name, .command = ""};
  wk_emit_result unasked = {.scratch_bytes = -1}, *result = o->result ? o->result : &unasked;
  wk_pipeline_options po = {.targets = t};
  WK_TRY(wk_targets_check_here(t, &o->target));
  wk_status s = wk_pipeline_run(m, &po, report, &parts);
  wk_status unused = NULL;
  if (!s && o->needed) unused = wk_model_check_used(o->path, report, t, parts, o->needed);
  if (o->notes && !unused) wk_model_target_notes(o->notes, o->path, report, t, parts, s);
  if (!s) s = unused;
  wk_emit_entry entry = {"", parts};
  if (!s) s = wk_emit_package(t, &entry, 1, &emit, path, result);
  wk_parts_free(parts);
  if (!o->report) wk_pipeline_report_free(&local);
  return s;
}

wk_status wk_compile_package(wk_module *m, const wk_runner_options *o, wk_nameless *out) {
  wk_targets t;
  WK_TRY(wk_nameless_open(out));
  wk_status s = wk_targets_open(&o->target, &t);
  if (!s) s = compile_for(m, &t, o, out->path);
  wk_targets_close(&t);
  if (s) wk_nameless_close(out);
  return wk_nameless_place(out, s, NULL);
}

static wk_status compile_and_open(wk_runner *r, wk_module *m, const wk_runner_options *o) {
  wk_nameless f;
  WK_TRY(wk_compile_package(m, o, &f));
  double start = wk_clock();
  WK_TRY(load_nameless(&f, NULL, &r->model));
  r->start.load = wk_clock() - start;
  return open_session(r, NULL, 0, o->threads, 0);
}

wk_status wk_runner_of_module(wk_module *m, const wk_runner_options *o, wk_runner **out) {
  bool is_eval = wk_target_is_eval(&o->target);
  const char *setting = is_eval ? wk_settings_given(&o->target.settings) : NULL;
  if (setting) {
    wk_module_free(m);
    return wk_error(WK_USAGE, "--%s: the evaluator has no such setting", setting);
  }
  wk_runner *r = runner_new();
  if (is_eval) {
    r->module = m;
    ports_of_graph(r, m->main);
  }
  wk_status s = is_eval ? check_memory(r, NULL, 0) : compile_and_open(r, m, o);
  if (!s && is_eval) s = variables_of_graph(r, m->main);
  if (!is_eval) wk_module_free(m);
  if (s) wk_runner_free(r);
  else *out = r;
  return s;
}

/* ---- running --------------------------------------------------------------------------------- */

const char *wk_runner_size_name(const wk_runner *r, size_t i, int axis) {
  return r->in[i].symbols[axis];
}

bool wk_runner_takes(const wk_runner *r, size_t i, const wk_type *t) {
  const port *p = &r->in[i];
  bool fits = p->type.rank == t->rank;
  for (int k = 0; fits && k < t->rank; k++)
    fits = t->dims[k] >= p->least[k] && t->dims[k] <= p->type.dims[k];
  return fits;
}

wk_status wk_runner_check_input(const wk_runner *r, size_t i, const wk_tensor *t) {
  if (r->in[i].type.dtype == t->type.dtype && wk_runner_takes(r, i, &t->type)) return NULL;
  return wk_error(WK_INPUT, "input %s is %s but %s was given", r->in[i].name,
                  wk_range_text(r->arena, &r->in[i].type, r->in[i].least),
                  wk_type_text(r->arena, &t->type));
}

/* Sizes of this run, where they are open. */
static wk_status set_dims(wk_runner *r, const wk_tensor *in) {
  for (size_t i = 0; i < r->n_in; i++) {
    if (!is_open(&r->in[i])) continue;
    wick_status s = wick_session_set_input_dims(r->session, (uint32_t)i, in[i].type.dims);
    WK_TRY(wk_wick_error(s, wick_session_error(r->session), NULL));
  }
  return NULL;
}

static wk_status run_session(wk_runner *r, const wk_tensor *in, wk_tensor *out) {
  const void *inputs[WK_RUNNER_MAX_IO];
  void *outputs[WK_RUNNER_MAX_IO];
  if (r->n_in > WK_RUNNER_MAX_IO || r->n_out > WK_RUNNER_MAX_IO)
    return wk_error(WK_UNSUPPORTED, "more than %d inputs or outputs", WK_RUNNER_MAX_IO);
  for (size_t i = 0; i < r->n_in; i++) inputs[i] = in[i].data;
  for (size_t i = 0; i < r->n_out; i++) outputs[i] = out[i].data;
  WK_TRY(set_dims(r, in));
  wick_status s = wick_session_run(r->session, inputs, outputs);
  if (s == WICK_BAD_ARGUMENT && *wick_session_error(r->session)) /* sizes that differ */
    return wk_error(WK_INPUT, "%s", wick_session_error(r->session));
  WK_TRY(wk_wick_error(s, wick_session_error(r->session), NULL));
  for (size_t i = 0; i < r->n_out; i++)
    memcpy(out[i].type.dims, wick_session_output_dims(r->session, (uint32_t)i),
           sizeof out[i].type.dims);
  return NULL;
}

/* What the updates are become the variables; the rest is the caller's. */
static void take_results(wk_runner *r, const wk_tensor *results, wk_tensor *out) {
  const wk_graph *g = r->module->main;
  size_t plain = wk_graph_plain_inputs(g);
  if (r->n_out) memcpy(out, results, r->n_out * sizeof *out);
  for (size_t i = wk_graph_plain_outputs(g); i < g->outputs.n; i++)
    for (size_t k = 0; k < r->n_states; k++) {
      if (g->inputs.data[plain + k] != g->updates.data[i]) continue;
      wk_tensor_free(&r->variables[k]);
      r->variables[k] = results[i];
    }
}

wk_status wk_runner_evaluate(wk_runner *r, const wk_tensor *in, wk_tensor *out, wk_eval_hook hook,
                             void *ctx) {
  const wk_graph *g = r->module->main;
  wk_tensor *given = wk_xcalloc(g->inputs.n, sizeof *given);
  wk_tensor *results = wk_xcalloc(g->outputs.n, sizeof *results);
  size_t plain = wk_graph_plain_inputs(g);
  for (size_t i = 0; i < r->n_out; i++) wk_tensor_free(&out[i]);
  memcpy(given + plain, r->variables, r->n_states * sizeof *given);
  wk_status s = wk_open_inputs(r->module, in, given);
  if (!s) s = wk_eval_graph(g, given, results, hook, ctx);
  if (!s) s = wk_open_outputs(r->module, given, results);
  if (!s) take_results(r, results, out);
  for (size_t i = 0; s && i < g->outputs.n; i++) wk_tensor_free(&results[i]);
  wk_open_free(r->module, in, given, results);
  free(given);
  free(results);
  return s;
}

wk_status wk_runner_run(wk_runner *r, const wk_tensor *in, wk_tensor *out) {
  for (size_t i = 0; i < r->n_in; i++) WK_TRY(wk_runner_check_input(r, i, &in[i]));
  if (r->module) return wk_runner_evaluate(r, in, out, NULL, NULL);
  for (size_t i = 0; i < r->n_out; i++)
    if (!out[i].data) WK_TRY(wk_tensor_alloc(&r->out[i].type, &out[i]));
  return run_session(r, in, out);
}
