/* SPDX-License-Identifier: Apache-2.0
 * A package under `wick sim`: it is run as `wick run` runs it, on a device that hands the parts of
 * the accelerator over as streams. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sim_model.h"
#include "cli/study/sim.h"
#include "cli/text.h"

/* ---- parts ----------------------------------------------------------------------------------- */

typedef struct {
  const wick_part_info *info;
  uint32_t runs;   /* of which the first is shown; in loops there are more, of as many cycles */
  uint64_t cycles; /* of one run */
  bool is_shown;
  size_t number;   /* of those that are shown */
} seen_part;

typedef struct {
  const wk_sim_opts *o;
  const char *file, *path;
  wk_sim_record *record;
  wick_model *model; /* as described: who is which part */
  wk_accel_parts parts;
  seen_part *seen; /* per part */
  const wk_sim_model *simulated; /* of the part before; NULL: there was none */
  uint64_t hardware;             /* its machine's hash */
  size_t shown;
  wk_status failure; /* why a job has failed */
} package_run;

/* The device has loaded the same package once more. */
static size_t number_of(const package_run *p, const wick_part_info *info) {
  size_t i = 0;
  while (i < p->parts.n_parts && (p->parts.parts[i].info->unit != info->unit ||
                                  p->parts.parts[i].info->code != info->code))
    i++;
  return i;
}

static wk_status run_unseen(const wk_stream *s, wk_sim_run *out) {
  const wk_sim_run_options o = {.machine = &s->machine};
  WK_TRY(wk_sim_run_stream(s, &wk_sim_functional, &o, out));
  return wk_sim_verdict(s, &s->machine, out);
}

static wk_status run_part(package_run *p, const wk_sim_device_job *job, wk_sim_run *out) {
  size_t number = number_of(p, job->info);
  const wk_accel_package_part *x = &p->parts.parts[number];
  const wk_sim_part part = {job->info->name, number, x->unit, x->row};
  bool is_wanted = p->o->part == WK_ACCEL_ALL_PARTS || (uint64_t)p->o->part == number;
  if (p->seen[number].runs++ || !is_wanted) return run_unseen(job->stream, out);
  p->seen[number].is_shown = true;
  p->seen[number].number = p->shown;
  if (p->shown++ && !wk_sim_record_is_mode(p->record)) fputc('\n', wk_sim_output(p->o));
  const wk_machine *m = &job->stream->machine;
  if (p->hardware != wk_machine_hash(m)) p->simulated = NULL;
  p->hardware = wk_machine_hash(m);
  wk_str place = {0};
  wk_stream stream = *job->stream; /* with a name as `wick check` says it */
  wk_str_printf(&place, "%s:%s", p->path, job->info->name);
  stream.source = place.s;
  wk_status s = wk_sim_simulate(p->o, &stream, &part, m, &p->simulated, p->record, out);
  p->seen[number].cycles = out->result.cycles;
  wk_str_free(&place);
  return s;
}

static wk_status run_job(void *context, const wk_sim_device_job *job, wk_sim_run *out) {
  package_run *p = context;
  p->failure = run_part(p, job, out);
  return p->failure ? wk_error(p->failure->code, "%s", p->failure->message) : NULL;
}

/* ---- all parts ------------------------------------------------------------------------------- */

static void print_total(const package_run *p) {
  wk_arena *a = wk_arena_new();
  wk_table t = {0};
  uint64_t all = 0;
  size_t n = 0;
  for (size_t i = 0; i < p->parts.n_parts; i++) all += p->seen[i].cycles * p->seen[i].runs;
  wk_table_row(&t, "\npart\tname\truns\tcycles\t%%");
  for (size_t i = 0; i < p->parts.n_parts; i++) {
    uint64_t cycles = p->seen[i].cycles * p->seen[i].runs;
    if (!cycles) continue;
    n++;
    wk_table_row(&t, "%zu\t%s\t%u\t%s\t%.1f", i, wk_text_shown(a, p->parts.parts[i].info->name),
                 p->seen[i].runs, wk_sim_grouped(cycles).s, 100 * (double)cycles / (double)all);
  }
  wk_table_row(&t, "all\t\t\t%s\t100.0", wk_sim_grouped(all).s);
  if (n > 1) wk_table_print(wk_sim_output(p->o), &t, "rlrrr");
  else wk_str_free(&t.text);
  wk_arena_free(a);
}

static wk_status run_network(package_run *p) {
  wk_machine machine;
  if (p->o->machine) WK_TRY(wk_machine_read(p->o->machine, &machine));
  const wk_sim_device_options device = {.machine = p->o->machine ? &machine : NULL,
                                        .memory = p->o->dram, .run = run_job, .context = p};
  const wk_run_opts o = {.input = p->o->input, .entry = p->o->entry, .repeat = 1,
                         .random = p->o->random == WK_SIM_UNSET ? 1 : p->o->random};
  wk_run_job job;
  wk_sim_device_configure(&device);
  wk_status s = wk_run_load(&o, p->file, &job);
  size_t n = job.runner ? wk_runner_outputs(job.runner) : 0;
  wk_tensor *out = wk_xcalloc(n, sizeof *out);
  if (!s) s = wk_status_place(wk_runner_run(job.runner, job.in, out), p->path);
  if (!s && !wk_sim_record_is_mode(p->record))
    wk_text_notes(stderr, job.notes.data, job.notes.n);
  for (size_t i = 0; i < n; i++) wk_tensor_free(&out[i]);
  free(out);
  wk_run_job_free(&job);
  wk_sim_device_configure(&(wk_sim_device_options){0}); /* the machine is gone */
  if (!p->failure) return s;
  wk_status_free(s); /* what the runtime made of it */
  return p->failure;
}

static wk_status check_part(const package_run *p) {
  if (p->parts.n_parts == 0)
    return wk_error_at(WK_INPUT, p->path, WK_NO_ACCEL_PART);
  if (p->o->part == WK_ACCEL_ALL_PARTS || (uint64_t)p->o->part < p->parts.n_parts) return NULL;
  return wk_error_at(WK_USAGE, p->path, "--part %" PRId64 ": the package has %zu for the "
                     "accelerator, counted from 0", p->o->part, p->parts.n_parts);
}

/* What a file can hold of one run alone. */
static wk_status check_single(const package_run *p) {
  const char *option = p->o->fst ? "--fst" : p->o->dump.n ? "--dump" : NULL;
  if (!option || p->parts.n_parts == 1 || p->o->part != WK_ACCEL_ALL_PARTS) return NULL;
  return wk_error_at(WK_USAGE, p->path, "has %zu parts for the accelerator: choose one for %s with "
                     "--part", p->parts.n_parts, option);
}

/* As of streams, before anything is loaded. */
static wk_status check_machine(const package_run *p) {
  wk_stream *s = wk_stream_new(&p->parts.parts[0].unit->machine, p->path);
  wk_machine m;
  wk_status status = s ? wk_sim_choose_machine(p->o, s, &m)
                       : wk_error(WK_RESOURCE, "out of memory");
  if (!status) status = wk_status_place(wk_stream_fits(s, &m), p->path);
  wk_stream_free(s);
  return status;
}

static wk_status run_all(package_run *p) {
  WK_TRY(check_part(p));
  WK_TRY(check_machine(p));
  WK_TRY(check_single(p));
  p->seen = wk_xcalloc(p->parts.n_parts, sizeof *p->seen);
  WK_TRY(run_network(p));
  if (wk_sim_record_is_mode(p->record)) return NULL;
  for (size_t i = 0; i < p->parts.n_parts; i++)
    if (p->seen[i].is_shown)
      wk_sim_record_repeat(p->record, p->seen[i].number, p->seen[i].runs);
  print_total(p);
  return NULL;
}

wk_status wk_sim_package(const wk_sim_opts *o, const char *file, const char *path,
                         wk_sim_record *record) {
  package_run p = {.o = o, .file = file, .path = path, .record = record};
  wick_error_detail detail = {{0}};
  const wick_load_options lo = {.size = sizeof lo, .flags = WICK_LOAD_DESCRIBE, .detail = &detail};
  wk_file f;
  WK_TRY(wk_file_map(file, &f));
  wk_status s = wk_wick_error(wick_model_load(file, &lo, &p.model), detail.text, path);
  if (!s) s = wk_status_place(wk_accel_parts_read(p.model, &f, &p.parts), path);
  if (!s) s = run_all(&p);
  if (p.parts.arena) wk_accel_parts_free(&p.parts);
  free(p.seen);
  wick_model_free(p.model);
  wk_file_unmap(&f);
  return s;
}
