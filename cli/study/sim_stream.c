/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sim_model.h"
#include "cli/study/causes.h"
#include "cli/study/sim.h"
#include "cli/text.h"
#include "targets/accel/check/check.h"

/* ---- preparation ----------------------------------------------------------------------------- */

wk_status wk_sim_choose_machine(const wk_sim_opts *o, const wk_stream *s, wk_machine *m) {
  if (o->machine) WK_TRY(wk_machine_read(o->machine, m));
  else if (s) *m = s->machine;
  else WK_TRY(wk_machine_read("base", m));
  return o->dram ? wk_machine_override(m, o->dram) : NULL;
}

wk_status wk_sim_open_model(const wk_sim_opts *o, const wk_machine *m,
                            const wk_sim_model **model) {
  wk_sim_progress_line shown = {.tenth = 0};
  wk_sim_build_options b = {.machine = m, .rtl = o->rtl, .waves = o->fst != NULL,
                            .coverage = o->coverage != NULL, .rebuild = o->rebuild,
                            .tune = (wk_sim_tune)o->tune, .progress = wk_sim_progress_show,
                            .context = &shown};
  wk_status s = wk_sim_model_of((wk_sim_kind)o->model, &b, model);
  wk_progress_end();
  if (!s || o->tune != WK_SIM_TUNE_NOW || o->build) return s;
  wk_status_print(stderr, s); /* a run does without */
  fprintf(stderr, "wick: the model is not tuned: the plain one runs\n");
  wk_status_free(s);
  b.tune = WK_SIM_TUNE_NEVER;
  s = wk_sim_model_of((wk_sim_kind)o->model, &b, model);
  wk_progress_end();
  return s;
}

/* ---- waveform -------------------------------------------------------------------------------- */

typedef struct {
  unsigned long first, last; /* commands */
  const char *file;          /* NULL: after what is run */
} wave_window;

static wk_status parse_window(const wk_sim_opts *o, const wk_stream *s, wave_window *w) {
  char rest = 0;
  int n = sscanf(o->fst, "%lu:%lu%c", &w->first, &w->last, &rest);
  w->file = wk_sim_fst_file(o->fst);
  if (n < 2 || (n == 3 && (rest != '=' || !w->file)) || w->first > w->last || w->last >= s->n)
    return wk_error(WK_USAGE, "--fst %s is not A:B or A:B=FILE, two command indices below %" PRIu32,
                    o->fst, s->n);
  return NULL;
}

const char *wk_sim_fst_file(const char *window) {
  const char *equals = window ? strchr(window, '=') : NULL;
  return equals && equals[1] ? equals + 1 : NULL;
}

/* "net.wick.1.fst", "layer.s.fst": in the current folder, as whatever is named by itself. */
static void name_wave(const char *path, const wk_sim_part *part, wk_str *out) {
  const char *slash = strrchr(path, '/');
  wk_str_add(out, slash ? slash + 1 : path);
  if (part) wk_str_printf(out, ".%zu", part->number);
  wk_str_add(out, ".fst");
}

/* Once more with a waveform; r is of a run without one, from which its cycles come. */
static wk_status run_with_wave(const wk_stream *s, const wk_sim_model *model, const wave_window *w,
                               const char *file, wk_sim_run_options *ro, wk_sim_run *r) {
  uint64_t start = r->spans[w->first].start, retire = r->spans[w->last].retire;
  ro->wave = file;
  ro->wave_from = start == WK_SCHED_NOT_RUN ? 0 : start;
  ro->wave_to = retire == WK_SCHED_NOT_RUN ? r->result.cycles : retire;
  wk_sim_run_free(r);
  WK_TRY(wk_sim_run_stream(s, model, ro, r));
  fprintf(stderr, "wrote %s: cycles %" PRIu64 " to %" PRIu64 "\n", file, ro->wave_from,
          ro->wave_to);
  return NULL;
}

/* ---- verification ---------------------------------------------------------------------------- */

/* Memory but for the mark area, where counters lie. */
static wk_status same_memory(const wk_stream *s, const wk_sim_run *got, const wk_sim_run *want) {
  uint64_t marks_end = s->marks + wk_stream_mark_bytes(s);
  enum { BLOCK = 4096 };
  for (uint64_t at = 0; at < got->memory_size; at += BLOCK) {
    if (!memcmp(got->memory + at, want->memory + at, BLOCK)) continue;
    for (uint64_t i = at; i < at + BLOCK; i++)
      if (got->memory[i] != want->memory[i] && !(i >= s->marks && i < marks_end))
        return wk_error(WK_FAILED, "memory differs from the functional model, first at 0x%" PRIx64
                        ": got %d, want %d", i, got->memory[i], want->memory[i]);
  }
  return NULL;
}

static wk_status verify(const wk_stream *s, const wk_machine *m, const wk_sim_run *got) {
  const wk_sim_run_options o = {.machine = m};
  wk_sim_run want;
  WK_TRY(wk_sim_run_stream(s, &wk_sim_functional, &o, &want));
  wk_status status = wk_sim_verdict(s, m, &want);
  if (!status) status = same_memory(s, got, &want);
  wk_sim_run_free(&want);
  return status;
}

/* ---- output ---------------------------------------------------------------------------------- */

/* "REGION=FILE" */
static wk_status parse_dump(const wk_stream *s, const char *text, const wk_image **region,
                            const char **file) {
  const char *equals = strchr(text, '=');
  if (!equals || !equals[1]) return wk_error(WK_USAGE, "--dump %s is not REGION=FILE", text);
  char *name = wk_xstrdup(text);
  name[equals - text] = 0;
  *region = wk_stream_find(s, name);
  *file = equals + 1;
  free(name);
  return *region ? NULL : wk_error(WK_USAGE, "--dump %s: the stream has no such region", text);
}

static wk_status write_dumps(const wk_sim_opts *o, const wk_stream *s, const wk_sim_run *r) {
  const wk_image *region = NULL;
  const char *file = NULL;
  for (size_t i = 0; i < o->dump.n; i++) {
    WK_TRY(parse_dump(s, o->dump.data[i], &region, &file));
    WK_TRY(wk_write_file(file, r->memory + region->address, region->size));
  }
  return NULL;
}

static void print(FILE *f, const wk_sim_opts *o, const wk_sim_shown *x) {
  bool is_timed = x->run->result.cycles && !x->run->result.gave_up;
  wk_sim_print(f, x);
  if (x->part && wk_sim_is_whole(x)) {
    wk_sim_layers layers = wk_sim_layers_of(x);
    wk_sim_print_layers(f, x, &layers);
    free(layers.list);
  }
  if (is_timed && (!x->part || x->part->row->marks)) wk_sim_print_marks(f, x);
  if (x->why && o->causes) wk_sim_print_why(f, x, x->why);
  if (o->commands) wk_sim_print_costs(f, x);
  wk_sim_print_outputs(f, x);
}

static bool is_stdout(const char *path) { return path && !strcmp(path, "-"); }

FILE *wk_sim_output(const wk_sim_opts *o) {
  const char *const files[] = {o->json, o->html, o->trace, o->csv};
  for (size_t i = 0; i < WK_COUNTOF(files); i++)
    if (is_stdout(files[i])) return stderr;
  return stdout;
}

static wk_status show(const wk_sim_opts *o, const wk_sim_shown *x, wk_sim_record *record) {
  wk_sim_shown shown = *x;
  wk_sim_why why = {0};
  bool is_mode = wk_sim_record_is_mode(record);
  if ((o->causes || o->html || o->with_modes) && wk_sim_is_whole(x)) {
    wk_sim_why_of(x, !o->no_what_if && !is_mode, &why);
    shown.why = &why;
  }
  if (!is_mode) print(wk_sim_output(o), o, &shown);
  wk_sim_record_add(record, &shown);
  wk_sim_why_free(&why);
  return write_dumps(o, x->stream, x->run);
}

/* ---- run ------------------------------------------------------------------------------------- */

/* The RTL counts accesses of all layers together; they follow from the commands alone, as the
 * timing model counts them. */
static void count_accesses(const wk_stream *s, const wk_machine *m, wk_sim_run *r) {
  uint32_t n;
  wk_isa_command *commands = wk_stream_commands(s, &n);
  wk_timing_result t;
  wk_timing_run(&(wk_timing_job){.machine = m, .dram = wk_dram_params_of(m), .commands = commands,
                                 .n = s->n, .address = (uint32_t)s->address,
                                 .accesses = r->accesses}, &t);
  free(commands);
  if (t.no_memory) wk_xcheck(wk_error(WK_RESOURCE, "out of memory"));
}

/* Of the command at which the machine stopped. */
static wk_status add_layer(wk_status status, const wk_stream *s, const wk_sim_part *part,
                           const wk_sim_run *r) {
  wk_isa_command c = {0};
  uint32_t index = r->result.error >> 8;
  if (!status || !part || !(r->result.status & 4) || index >= s->n) return status;
  if (!wk_stream_get(s, index, &c) || !c.operator || c.operator > part->row->layers) return status;
  wk_status named = wk_error_at(status->code, status->place, "%s; layer %s", status->message,
                                wk_sim_layer_name(part, c.operator));
  wk_status_free(status);
  return named;
}

/* What can be said of options before anything is built or run. */
static wk_status check_options(const wk_sim_opts *o, const wk_stream *s, wave_window *w) {
  const wk_image *region;
  const char *file;
  WK_TRY(wk_sim_check_dram(o));
  for (size_t i = 0; i < o->dump.n; i++)
    WK_TRY(parse_dump(s, o->dump.data[i], &region, &file));
  return o->fst ? parse_window(o, s, w) : NULL;
}

wk_status wk_sim_simulate(const wk_sim_opts *o, const wk_stream *s, const wk_sim_part *part,
                          const wk_machine *m, const wk_sim_model **model, wk_sim_record *record,
                          wk_sim_run *r) {
  wave_window w;
  WK_TRY(wk_stream_fits(s, m));
  WK_TRY(check_options(o, s, &w));
  if (!o->unchecked) WK_TRY(wk_check(s, m, NULL));
  if (!*model) WK_TRY(wk_sim_open_model(o, m, model));
  wk_sim_run_options ro = {.machine = m, .max_cycles = (uint64_t)o->max_cycles,
                           .timeout = o->timeout == WK_SIM_UNSET ? 0 : (uint32_t)o->timeout,
                           .seed = o->seed == WK_SIM_UNSET ? 0 : (uint64_t)o->seed,
                           .stalls = o->stalls,
                           .reset = o->random_reset ? WK_SIM_RESET_RANDOM : WK_SIM_RESET_ZEROS};
  WK_TRY(wk_sim_run_stream(s, *model, &ro, r));
  wk_status status = NULL;
  if (o->fst) {
    wk_str file = {0};
    if (w.file) wk_str_add(&file, w.file);
    else name_wave(wk_sim_record_file(record, s), part, &file);
    status = run_with_wave(s, *model, &w, file.s, &ro, r);
    wk_str_free(&file);
  }
  if (!status && o->coverage && (*model)->write_counts) (*model)->write_counts(o->coverage);
  const wk_sim_shown x = {s, m, r, *model, part, NULL};
  if (part && o->model == WK_SIM_RTL && wk_sim_is_whole(&x)) count_accesses(s, m, r);
  if (!status) status = show(o, &x, record);
  if (!status) status = add_layer(wk_sim_verdict(s, m, r), s, part, r);
  if (!status && o->model == WK_SIM_RTL && !o->unverified) status = verify(s, m, r);
  return status;
}
