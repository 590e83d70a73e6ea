/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/sim_model.h"
#include "cli/study/causes.h"
#include "cli/sweep/sweep.h"
#include "cli/text.h"
#include "compiler/pipeline/runner.h"
#include "targets/accel/isa/area.h"

/* ---- compile and run ------------------------------------------------------------------------- */

static wk_status compile(const wk_sweep *s, const wk_sweep_point *p, const char *machine,
                         wk_nameless *package, json_t *row) {
  double began = wk_clock();
  wk_notes notes = {0};
  wk_module *m = NULL;
  wk_emit_result result = {.scratch_bytes = -1};
  wk_runner_options o = {.target.settings = p->settings, .model_name = p->model->name,
                         .result = &result, .path = p->model->path, .needed = WK_ACCEL_TARGET};
  o.target.target = wk_arena_printf(s->arena, WK_ACCEL_TARGET ":%s", machine);
  wk_status status = wk_model_import(p->model->path, &s->binding, false, &notes, NULL, &m);
  if (!status && s->o->quantize)
    status = wk_quantize_module(&m, p->model->path, s->o->quantize);
  if (!status) status = wk_compile_package(m, &o, package);
  wk_module_free(m);
  wk_notes_free(&notes);
  json_object_set_new(row, "predicted", json_integer(result.predicted_cycles));
  json_object_set_new(row, "host_macs", json_integer(result.other_macs));
  json_object_set_new(row, "compile_seconds", json_real(wk_clock() - began));
  return status;
}

static wk_status simulate(const wk_sweep *s, const wk_sweep_point *p, const char *machine,
                          const char *package, const char *figures, json_t *row) {
  double began = wk_clock();
  const wk_sim_opts o = {.machine = machine, .json = figures,
                         .model = p->kind == WK_SWEEP_RTL ? WK_SIM_RTL : WK_SIM_TIMING,
                         .causes = true, .no_what_if = !s->o->what_if, .timeout = WK_SIM_UNSET,
                         .seed = WK_SIM_UNSET, .random = WK_SIM_UNSET,
                         .part = WK_ACCEL_ALL_PARTS};
  wk_sim_record *record = wk_sim_record_new(&o, package);
  wk_status status = wk_sim_record_close(record, wk_sim_package(&o, package, package, record));
  json_object_set_new(row, "simulate_seconds", json_real(wk_clock() - began));
  return status;
}

/* ---- figures --------------------------------------------------------------------------------- */

static double number_of(const json_t *o, const char *name) {
  return json_number_value(json_object_get(o, name));
}

static void add_to(json_t *o, const char *name, double n) {
  double sum = number_of(o, name) + n;
  bool is_whole = sum == (double)(int64_t)sum;
  json_object_set_new(o, name, is_whole ? json_integer((json_int_t)sum) : json_real(sum));
}

/* Every number of `from` is added to the one of that name, `times`. */
static void add_all(json_t *row, const char *prefix, const json_t *from, double times) {
  const char *name;
  json_t *value, *source = (json_t *)(uintptr_t)from;
  char full[64];
  json_object_foreach(source, name, value) {
    snprintf(full, sizeof full, "%s%s", prefix, name);
    if (json_is_number(value)) add_to(row, full, times * json_number_value(value));
  }
}

/* Cycles; the least that layers could take. */
typedef struct {
  double cycles, bound;
} sums;

static void add_part(json_t *row, const json_t *part, sums *t) {
  static const struct { const char *to, *from;
  } moved[] = {{"exposed", "exposed"}, {"bytes_in", "read"}, {"bytes_out", "written"},
               {"macs", "macs"}};
  const json_t *layers = json_object_get(part, "all_layers");
  double runs = number_of(part, "runs");
  for (size_t i = 0; i < WK_COUNTOF(moved); i++)
    add_to(row, moved[i].to, runs * number_of(layers, moved[i].from));
  add_all(row, "cause_", json_object_get(part, "causes"), runs);
  add_all(row, "what_if_", json_object_get(part, "what_if"), runs);
  add_to(row, "energy", runs * number_of(part, "energy_pj"));
  t->cycles += runs * number_of(part, "cycles");
  t->bound += runs * number_of(layers, "bound");
}

static void add_machine(json_t *row, const wk_machine *m) {
  json_object_set_new(row, "onchip_bytes", json_integer(wk_machine_onchip_bytes(m)));
  json_object_set_new(row, "area", json_real(wk_machine_area(m, NULL)));
  json_object_set_new(row, "array_macs", json_integer(m->array * m->array));
}

/* From what `wick sim` says of the parts. */
static wk_status add_figures(json_t *row, const wk_machine *m, const char *figures) {
  json_t *root = json_load_file(figures, 0, NULL), *part;
  size_t i;
  sums t = {0};
  if (!root) return wk_error(WK_IO, "the figures of the run cannot be read");
  add_to(row, "cycles", 0);
  json_array_foreach(json_object_get(root, "parts"), i, part) add_part(row, part, &t);
  json_decref(root);
  json_object_set_new(row, "cycles", json_integer((json_int_t)t.cycles));
  double peak = (double)m->array * (double)m->array * t.cycles;
  json_object_set_new(row, "utilisation", json_real(peak > 0 ? number_of(row, "macs") / peak : 0));
  json_object_set_new(row, "efficiency", json_real(t.cycles > 0 ? t.bound / t.cycles : 0));
  return NULL;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* What the compiler and the simulator print is not for the user of a sweep. */
static wk_status enter(const char *folder) {
  int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null < 0 || chdir(folder) != 0) return wk_error_at(WK_IO, folder, "cannot be entered");
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  close(null);
  return NULL;
}

static wk_status run_package(const wk_sweep *s, const wk_sweep_point *p, const char *machine,
                             const char *package, json_t *row) {
  wk_nameless figures;
  WK_TRY(wk_nameless_open(&figures));
  wk_status status = simulate(s, p, machine, package, figures.path, row);
  if (!status) status = add_figures(row, &p->machine, figures.path);
  wk_nameless_close(&figures);
  return wk_nameless_place(&figures, status, NULL);
}

static wk_status compute(const wk_sweep *s, const wk_sweep_point *p, const char *machine,
                         json_t *row) {
  wk_nameless package;
  WK_TRY(compile(s, p, machine, &package, row));
  wk_status status = p->kind == WK_SWEEP_SCHEDULE
                         ? NULL : run_package(s, p, machine, package.path, row);
  wk_nameless_close(&package);
  return wk_nameless_place(&package, status, NULL);
}

/* One line: what a list would add is dropped. */
static json_t *reason_row(const wk_sweep *s, const wk_sweep_point *p, const wk_status why) {
  bool is_placed = why->place && strcmp(why->place, p->model->path) != 0;
  const char *text = wk_arena_printf(s->arena, "%s%s%s", is_placed ? why->place : "",
                                     is_placed ? ": " : "", why->message);
  return json_pack("{s:s}", "error", wk_text_shown(s->arena, text));
}

wk_status wk_sweep_compute(const wk_sweep *s, const wk_sweep_point *p, json_t **row) {
  const char *file = wk_sweep_machine_file(s, p), *slash = strrchr(file, '/');
  WK_TRY(enter(wk_arena_strndup(s->arena, file, (size_t)(slash - file))));
  *row = json_object();
  wk_status status = compute(s, p, slash + 1, *row);
  if (!status) add_machine(*row, &p->machine);
  if (!status || status->code == WK_IO) return status;
  json_decref(*row);
  *row = reason_row(s, p, status);
  wk_status_free(status);
  return NULL;
}
