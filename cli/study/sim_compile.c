/* SPDX-License-Identifier: Apache-2.0
 * A model under `wick sim`: it is compiled for the machine and run as a package; with --with-modes
 * once for each --prefetch. */
#include <stdlib.h>
#include <string.h>

#include "cli/study/sim.h"
#include "cli/text.h"
#include "compiler/calibrate/quantize.h"
#include "compiler/pipeline/runner.h"
#include "compiler/stream/prefetch.h"

static wk_status import(const wk_sim_opts *o, const char *path, wk_notes *notes, wk_module **out) {
  wk_binding_set sets[WK_MAX_BINDINGS];
  size_t n;
  WK_TRY(wk_binding_sets_parse(&o->binding, sets, WK_MAX_BINDINGS, &n));
  wk_status s = n > 1 ? wk_error(WK_USAGE, "only one binding can be run at a time: give --bind and "
                                 "--shape only once") : NULL;
  if (!s) s = wk_model_import(path, &sets[0], false, notes, NULL, out);
  for (size_t i = 0; i < n; i++) wk_binding_set_free(&sets[i]);
  if (!s) s = wk_status_place(wk_module_no_open(*out, "wick sim"), path);
  if (!s && o->quantize) s = wk_quantize_module(out, path, o->quantize);
  return s;
}

/* Those of the target, with this prefetch; NULL: as it has it. */
static wk_option_pairs settings_of(const wk_sim_opts *o, const char *prefetch) {
  wk_option_pairs all = {0};
  for (size_t i = 0; i < o->settings.n; i++) wk_vec_push(&all, o->settings.data[i]);
  wk_option_pairs_set(&all, "prefetch", prefetch);
  wk_option_pairs_set(&all, "dram", o->dram);
  return all;
}

static wk_status compile(const wk_sim_opts *o, const char *path, const char *prefetch,
                         wk_notes *notes, wk_nameless *out) {
  wk_arena *a = wk_arena_new();
  wk_module *m = NULL;
  const char *target = wk_arena_printf(a, WK_ACCEL_TARGET ":%s", o->machine ? o->machine : "base");
  wk_option_pairs settings = settings_of(o, prefetch);
  const wk_runner_options ro = {
      .target = {.target = target, .settings = settings},
      .model_name = wk_model_name(a, path), .notes = notes, .path = path,
      .needed = WK_ACCEL_TARGET};
  wk_status s = import(o, path, notes, &m);
  if (!s) s = wk_status_place(wk_compile_package(m, &ro, out), path);
  wk_module_free(m);
  wk_vec_free(&settings);
  wk_arena_free(a);
  return s;
}

static wk_status run(const wk_sim_opts *o, const char *path, const char *prefetch,
                     wk_notes *notes, wk_sim_record *record) {
  wk_nameless f;
  WK_TRY(compile(o, path, prefetch, notes, &f));
  wk_status s = wk_sim_package(o, f.path, path, record);
  wk_nameless_close(&f);
  return wk_nameless_place(&f, s, path);
}

static const char *prefetch_of(const wk_sim_opts *o) {
  return wk_option_pairs_get(&o->settings, "prefetch");
}

static wk_status run_modes(const wk_sim_opts *o, const char *path, wk_sim_record *record) {
  wk_sim_opts figures = *o; /* and no other files */
  const char *given = prefetch_of(o);
  const char *shown = given ? given : wk_sched_prefetch_names[WK_PREFETCH_AUTO];
  figures.fst = figures.coverage = NULL;
  figures.dump.n = 0;
  for (size_t i = 0; i < WK_PREFETCH_COUNT; i++) {
    const char *mode = wk_sched_prefetch_names[i];
    bool has_run = !strcmp(mode, shown);
    wk_notes notes = {0}; /* those of the first time */
    wk_sim_record_begin_mode(record, mode, has_run);
    wk_status s = has_run ? NULL : run(&figures, path, mode, &notes, record);
    wk_notes_free(&notes);
    WK_TRY(s);
  }
  wk_sim_record_print_modes(record, wk_sim_output(o));
  return NULL;
}

wk_status wk_sim_model_file(const wk_sim_opts *o, const char *path) {
  wk_sim_record *record = wk_sim_record_new(o, path);
  wk_notes notes = {0};
  wk_status s = run(o, path, prefetch_of(o), &notes, record);
  wk_text_notes(stderr, notes.data, notes.n);
  wk_notes_free(&notes);
  if (!s && o->with_modes) s = run_modes(o, path, record);
  return wk_sim_record_close(record, s);
}
