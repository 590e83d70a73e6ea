/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/observe.h"

static wk_sim_device_options configured;

void wk_sim_device_configure(const wk_sim_device_options *o) { configured = *o; }

/* ---- units ----------------------------------------------------------------------------------- */

typedef struct {
  const wick_device_unit *info;
  wk_accel_unit unit;
  wk_machine machine; /* that is simulated */
  uint64_t hash;      /* of it */
  wk_sim_device_options options;
  const wk_sim_model *model;
  wk_accel_io **io; /* per part of info */
} loaded_unit;

static size_t io_count(const wick_part_info *p) {
  return (size_t)p->input_count + p->output_count;
}

/* A part's tensor: its inputs come first, outputs follow them. */
static const wick_tensor_info *tensor_of(const wick_part_info *p, size_t i) {
  return i < p->input_count ? &p->inputs[i] : &p->outputs[i - p->input_count];
}

static wick_status tell(wick_error_detail *error, wick_status status, wk_status s) {
  snprintf(error->text, sizeof error->text, "%s%s%s", s->place ? s->place : "",
           s->place ? ": " : "", s->message);
  wk_status_free(s);
  return status;
}

static wick_status tell_failure(wick_error_detail *error, wk_status s) {
  return tell(error, s->code == WK_RESOURCE ? WICK_NO_MEMORY : WICK_DEVICE_FAILED, s);
}

/* `status`, unless it was memory that there was not enough of. */
static wick_status tell_refusal(wick_error_detail *error, wick_status status, wk_status s) {
  return tell(error, s->code == WK_RESOURCE ? WICK_NO_MEMORY : status, s);
}

static wk_status read_unit(const wick_device_unit *info, wk_accel_unit *out) {
  wk_accel_section *sections = calloc((size_t)info->section_count + 1, sizeof *sections);
  if (!sections) return wk_error(WK_RESOURCE, "out of memory");
  for (uint32_t i = 0; i < info->section_count; i++)
    sections[i] = (wk_accel_section){info->sections[i].name, info->sections[i].data,
                                     info->sections[i].size};
  wk_status s = wk_accel_unit_read(sections, info->section_count, info->info->spec, out);
  free(sections);
  return s;
}

/* The unit's hardware, with the memory to simulate. */
static wk_status choose_machine(const wk_accel_unit *unit, const wk_sim_device_options *o,
                                wk_machine *m) {
  *m = unit->machine;
  if (o->machine) *m = *o->machine;
  if (o->memory) WK_TRY(wk_machine_override(m, o->memory));
  if (wk_machine_hash(m) == wk_machine_hash(&unit->machine)) return NULL;
  return wk_error(WK_UNSUPPORTED, "compiled for machine '%s', this is '%s': %s",
                  unit->machine.name, m->name, wk_machine_difference(&unit->machine, m).s);
}

static wick_status check_machine(const wick_device_unit *info, const wk_accel_unit *unit,
                                 wk_machine *machine, wick_error_detail *error) {
  uint64_t hash = wk_machine_hash(&unit->machine);
  if (hash != info->info->machine_hash)
    return tell(error, WICK_BAD_MACHINE,
                wk_error(WK_UNSUPPORTED, "compiled for machine '%s' of another version of Wick "
                         "(hash %016" PRIx64 ", not %016" PRIx64 "), or its description was "
                         "changed", unit->machine.name, info->info->machine_hash, hash));
  wk_status s = choose_machine(unit, &configured, machine);
  return s ? tell_refusal(error, WICK_BAD_MACHINE, s) : WICK_OK;
}

static wick_status probe(const wick_device_unit *info, wick_error_detail *error) {
  wk_accel_unit unit;
  wk_machine machine;
  wk_status s = read_unit(info, &unit);
  return s ? tell_refusal(error, WICK_CORRUPT, s) : check_machine(info, &unit, &machine, error);
}

static void unload(void *loaded) {
  loaded_unit *u = loaded;
  for (uint32_t i = 0; u->io && i < u->info->part_count; i++) free(u->io[i]);
  free(u->io);
  free(u);
}

static bool uses_streams(const loaded_unit *u) {
  return u->options.model != WK_SIM_FUNCTIONAL || u->options.run;
}

static wk_status make_stream(const loaded_unit *u, uint32_t part, wk_stream **out,
                             uint32_t **regions) {
  const wick_device_part *p = &u->info->parts[part];
  const wk_accel_placement at = {.source = p->info->name, .machine = &u->machine};
  return wk_accel_part_stream(&u->unit, (uint32_t)p->code, u->io[part], io_count(p->info), &at, out,
                              regions);
}

static wk_status check_part(const loaded_unit *u, uint32_t part) {
  const wick_device_part *p = &u->info->parts[part];
  size_t n = io_count(p->info);
  wk_accel_io *io = u->io[part] = calloc(n + 1, sizeof *io);
  if (!io) return wk_error(WK_RESOURCE, "out of memory");
  for (size_t i = 0; i < n; i++) {
    const wick_tensor_info *t = tensor_of(p->info, i);
    io[i] = (wk_accel_io){t->name, t->bytes, i >= p->info->input_count};
  }
  if (p->code >= u->unit.n_parts)
    return wk_error(WK_INPUT, "section %s: there is no part %" PRIu64, WK_ACCEL_PARTS, p->code);
  if (p->info->step_count > u->unit.parts[p->code].layers)
    return wk_error(WK_INPUT, "part %" PRIu64 " has more steps than layers", p->code);
  for (uint32_t i = 0; i < p->info->step_count; i++)
    if (p->step_code[i] != i) return wk_error(WK_INPUT, "step %u is another layer", i);
  return wk_accel_part_check(&u->unit, (uint32_t)p->code, io, n);
}

/* Now, when it can be said what does not fit, not when a session is made. */
static wk_status check_memory(const loaded_unit *u, uint32_t part) {
  wk_stream *s = NULL;
  wk_status status = make_stream(u, part, &s, NULL);
  wk_stream_free(s);
  return status;
}

/* Of what a session holds at most, before anything is allocated: what the parts work in, and what
 * they are seen to compute. Each is below 2^40 (wk_accel_unit_read). */
static wk_status check_limit(const loaded_unit *u) {
  uint64_t work = 0, tensors = 0, limit = u->info->memory_limit;
  for (uint32_t i = 0; i < u->info->part_count; i++) {
    const wk_accel_part *p = &u->unit.parts[u->info->parts[i].code];
    if (p->work_bytes > work) work = p->work_bytes;
    if (p->tensor_bytes > tensors) tensors = p->tensor_bytes;
  }
  if (work + tensors <= limit) return NULL;
  return wk_error(WK_RESOURCE, "the parts ask for %" PRIu64 " bytes of memory; %" PRIu64 " are the "
                  "most that there may be", work + tensors, limit);
}

static wk_status find_model(loaded_unit *u) {
  const wk_sim_device_options *o = &u->options;
  if (o->model == WK_SIM_FUNCTIONAL) u->model = &wk_sim_functional;
  else if (o->model == WK_SIM_TIMING) u->model = &wk_sim_timing;
  else if (o->find) return o->find(o->find_context, &u->machine, &u->model);
  return u->model ? NULL : wk_error(WK_UNSUPPORTED, "this program has no RTL model");
}

static wick_status prepare(loaded_unit *u, wick_error_detail *error) {
  u->io = calloc((size_t)u->info->part_count + 1, sizeof *u->io);
  wk_status s = u->io ? NULL : wk_error(WK_RESOURCE, "out of memory");
  for (uint32_t i = 0; !s && i < u->info->part_count; i++) s = check_part(u, i);
  if (!s) s = check_limit(u);
  if (s) return tell_refusal(error, WICK_CORRUPT, s);
  for (uint32_t i = 0; !s && uses_streams(u) && i < u->info->part_count; i++)
    s = check_memory(u, i);
  if (s) return tell(error, WICK_NO_MEMORY, s);
  if (u->options.run) return WICK_OK;
  s = find_model(u);
  return s ? tell_failure(error, s) : WICK_OK;
}

static wick_status load(const wick_device_unit *info, void **loaded, wick_error_detail *error) {
  loaded_unit *u = calloc(1, sizeof *u);
  if (!u) return tell(error, WICK_NO_MEMORY, wk_error(WK_RESOURCE, "out of memory"));
  *u = (loaded_unit){.info = info, .options = configured};
  wk_status s = read_unit(info, &u->unit);
  wick_status status = s ? tell_refusal(error, WICK_CORRUPT, s) : WICK_OK;
  if (status == WICK_OK) status = check_machine(info, &u->unit, &u->machine, error);
  u->hash = info->info->machine_hash; /* it is the same */
  if (status == WICK_OK) status = prepare(u, error);
  if (status == WICK_OK) *loaded = u;
  else unload(u);
  return status;
}

/* What load looks at but for the machine and the memory. */
static wick_status check(const wick_device_unit *info, wick_error_detail *error) {
  loaded_unit *u = calloc(1, sizeof *u);
  wk_accel_io **io = calloc((size_t)info->part_count + 1, sizeof *io);
  wk_status s = u && io ? NULL : wk_error(WK_RESOURCE, "out of memory");
  if (!s) *u = (loaded_unit){.info = info, .io = io};
  if (!s) s = read_unit(info, &u->unit);
  for (uint32_t i = 0; !s && i < info->part_count; i++) s = check_part(u, i);
  if (u && u->io) unload(u);
  else free(u), free(io);
  return s ? tell_refusal(error, WICK_CORRUPT, s) : WICK_OK;
}

/* ---- contexts -------------------------------------------------------------------------------- */

typedef struct {
  wk_stream *stream;
  uint32_t *regions; /* per tensor */
} placed_part;

typedef struct {
  const loaded_unit *u;
  wk_functional f;     /* of a context without streams, like the next two */
  void *work;
  bool has_functional;
  wk_observation observation;
  placed_part *parts; /* per part of the unit; NULL streams: not of this context */
} device_context;

static void close_context(void *context) {
  device_context *c = context;
  for (uint32_t i = 0; c->parts && i < c->u->info->part_count; i++) {
    wk_stream_free(c->parts[i].stream);
    free(c->parts[i].regions);
  }
  if (c->has_functional) wk_functional_free(&c->f);
  wk_observation_free(&c->observation);
  free(c->parts);
  free(c->work);
  free(c);
}

static wk_status open_functional(device_context *c, const uint32_t *parts, uint32_t n) {
  uint64_t most = 1;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t bytes = c->u->unit.parts[c->u->info->parts[parts[i]].code].work_bytes;
    if (bytes > most) most = bytes;
  }
  c->work = calloc(1, (size_t)most); /* of what is not used nothing is taken */
  if (!c->work) return wk_error(WK_RESOURCE, "out of memory");
  c->has_functional = wk_functional_init(&c->f, &c->u->machine, NULL, 0);
  return c->has_functional ? NULL : wk_error(WK_RESOURCE, "out of memory");
}

static wk_status open_streams(device_context *c, const uint32_t *parts, uint32_t n) {
  c->parts = calloc((size_t)c->u->info->part_count + 1, sizeof *c->parts);
  if (!c->parts) return wk_error(WK_RESOURCE, "out of memory");
  for (uint32_t i = 0; i < n; i++) {
    placed_part *p = &c->parts[parts[i]];
    WK_TRY(make_stream(c->u, parts[i], &p->stream, &p->regions));
  }
  return NULL;
}

static wick_status open_context(void *loaded, const uint32_t *parts, uint32_t n, uint32_t threads,
                                void **context, wick_error_detail *error) {
  device_context *c = calloc(1, sizeof *c);
  (void)threads;
  if (!c) return tell(error, WICK_NO_MEMORY, wk_error(WK_RESOURCE, "out of memory"));
  c->u = loaded;
  wk_status s = uses_streams(c->u) ? open_streams(c, parts, n) : open_functional(c, parts, n);
  if (!s) {
    *context = c;
    return WICK_OK;
  }
  close_context(c);
  return tell_failure(error, s);
}

/* ---- jobs in place --------------------------------------------------------------------------- */

/* The segment's memory becomes the model's. */
static void select_segment(device_context *c, const wk_accel_part *p, const wick_device_job *job,
                           uint8_t segment) {
  wk_functional *f = &c->f;
  if (segment == WK_SEGMENT_CONST) { /* no command writes it: wk_accel_part_check */
    f->memory = (uint8_t *)(uintptr_t)c->u->unit.constants;
    f->memory_size = c->u->unit.const_bytes;
  } else if (segment == WK_SEGMENT_WORK) {
    f->memory = c->work;
    f->memory_size = p->work_bytes;
  } else if (segment != WK_SEGMENT_NONE) {
    f->memory = job->io[segment - WK_SEGMENT_IO];
    f->memory_size = c->u->io[job->part][segment - WK_SEGMENT_IO].bytes;
  }
}

/* Who names the command; of a run that failed. */
static wick_status tell_verdict(const device_context *c, uint32_t part, const wk_sim_result *r,
                                wick_error_detail *error) {
  const wk_accel_unit *u = &c->u->unit;
  const wick_device_part *info = &c->u->info->parts[part];
  const wk_accel_part *p = &u->parts[info->code];
  wk_stream *s = wk_stream_new(&u->machine, info->info->name);
  const wk_sim_run run = {.result = *r};
  wk_status status = s ? NULL : wk_error(WK_RESOURCE, "out of memory");
  for (uint32_t i = 0; !status && i < p->commands; i++)
    status = wk_stream_add_bytes(s, wk_accel_command(u, p, i), 0);
  if (!status) status = wk_sim_verdict(s, &u->machine, &run);
  wk_stream_free(s);
  return tell_failure(error, status);
}

/* How long the model took, by layers. */
static void note_time(const device_context *c, const wick_device_job *job,
                      const wk_isa_command *command, uint64_t ns) {
  const wick_part_info *info = c->u->info->parts[job->part].info;
  if (command->operator && command->operator <= info->step_count)
    job->profile[command->operator - 1].nanoseconds += ns;
}

/* False: it has ended, r says how. */
static bool run_command(device_context *c, const wk_accel_part *p, const wick_device_job *job,
                        uint32_t i, wk_sim_result *r) {
  const wk_accel_unit *u = &c->u->unit;
  wk_isa_command command;
  (void)wk_isa_decode(wk_accel_command(u, p, i), &command);
  select_segment(c, p, job, u->segments[p->first_command + i]);
  if (job->observer) wk_observe_command(&c->observation, i);
  if (!job->profile) return wk_sim_step(&c->f, &command, i, r);
  double start = wk_clock();
  bool goes_on = wk_sim_step(&c->f, &command, i, r);
  note_time(c, job, &command, (uint64_t)(1e9 * (wk_clock() - start)));
  return goes_on;
}

/* Layers run in turns: they are shown when all have been computed. */
static void show_steps(const device_context *c, const wick_device_job *job) {
  const wick_part_info *info = c->u->info->parts[job->part].info;
  for (uint32_t i = 0; i < info->step_count; i++) {
    if (job->profile) job->profile[i].calls++;
    for (int after = 0; job->observer && after < 2; after++)
      job->observer(job->user, i, after, NULL);
  }
}

static wick_status run_in_place(device_context *c, const wick_device_job *job,
                                wick_error_detail *error) {
  const wk_accel_part *p = &c->u->unit.parts[c->u->info->parts[job->part].code];
  wk_sim_result r = {.config = c->u->hash};
  wk_status s = job->observer ? wk_observe(&c->observation, &c->u->unit, p, &c->f) : NULL;
  if (s) return tell_failure(error, s);
  for (uint32_t i = 0; run_command(c, p, job, i, &r);) i++;
  if (job->observer) wk_observe_end(&c->f);
  if (r.error || r.undefined[0]) return tell_verdict(c, job->part, &r, error);
  show_steps(c, job);
  return WICK_OK;
}

static wick_status read_tensor(void *context, const wick_device_job *job, uint32_t step,
                               uint32_t tensor, void *dense, wick_error_detail *error) {
  const device_context *c = context;
  const wick_device_part *part = &c->u->info->parts[job->part];
  wk_status s = wk_observed(&c->observation, step, tensor,
                            &part->info->steps[step].tensors[tensor], dense);
  return s ? tell(error, WICK_CORRUPT, s) : WICK_OK;
}

/* ---- jobs by copies -------------------------------------------------------------------------- */

/* Elements of axis `axis` on; what lies between them stays as it is. */
static void copy_axis(const wick_tensor_info *t, uint32_t axis, uint8_t *to, const uint8_t *from) {
  size_t size = t->bits / 8;
  if (axis == t->rank) memcpy(to, from, size);
  else
    for (int64_t i = 0; i < t->dims[axis]; i++) {
      size_t at = (size_t)(i * t->strides[axis]) * size;
      copy_axis(t, axis + 1, to + at, from + at);
    }
}

/* Elements of less than a byte have no gaps. */
static void copy_tensor(const wick_tensor_info *t, uint8_t *to, const uint8_t *from) {
  if (t->bits % 8) memcpy(to, from, t->bytes);
  else copy_axis(t, 0, to, from);
}

static wk_status put_inputs(const wick_part_info *info, const placed_part *p,
                            const wick_device_job *job) {
  for (size_t i = 0; i < info->input_count; i++) {
    uint8_t *data;
    if (p->regions[i] == WK_ACCEL_NO_REGION) continue;
    WK_TRY(wk_region_fill(&p->stream->regions.data[p->regions[i]], &data));
    copy_tensor(tensor_of(info, i), data, job->io[i]);
  }
  return NULL;
}

static void take_outputs(const wick_part_info *info, const placed_part *p,
                         const wick_device_job *job, const wk_sim_run *run) {
  for (size_t i = info->input_count; i < io_count(info); i++)
    if (p->regions[i] != WK_ACCEL_NO_REGION)
      copy_tensor(tensor_of(info, i), job->io[i],
                  run->memory + p->stream->regions.data[p->regions[i]].address);
}

static wk_status run_stream(const device_context *c, const wk_stream *s, wk_sim_run *run) {
  const wk_sim_run_options o = {.machine = &c->u->machine};
  WK_TRY(wk_sim_run_stream(s, c->u->model, &o, run));
  return wk_sim_verdict(s, &c->u->machine, run);
}

/* What the machine would take, by layers, at its clock. */
static wk_status note_cycles(const device_context *c, const wick_device_job *job,
                             const wk_sim_run *run) {
  uint32_t layers = c->u->info->parts[job->part].info->step_count;
  wk_sched_charge *charges = calloc((size_t)layers + 1, sizeof *charges);
  wk_status s = charges ? wk_sim_charge(run, layers, charges)
                        : wk_error(WK_RESOURCE, "out of memory");
  for (uint32_t i = 0; !s && i < layers; i++) {
    job->profile[i].nanoseconds +=
        charges[i + 1].cycles * 1000 / (uint64_t)c->u->machine.clock_mhz;
    job->profile[i].calls++;
  }
  free(charges);
  return s;
}

static wick_status run_by_copies(device_context *c, const wick_device_job *job,
                                 wick_error_detail *error) {
  const wick_device_part *part = &c->u->info->parts[job->part];
  const placed_part *p = &c->parts[job->part];
  const wk_sim_device_job handed = {part->info, p->stream};
  wk_sim_run run = {0};
  wk_status s = put_inputs(part->info, p, job);
  if (!s && c->u->options.run) s = c->u->options.run(c->u->options.context, &handed, &run);
  else if (!s) s = run_stream(c, p->stream, &run);
  if (!s && job->profile) s = note_cycles(c, job, &run);
  if (!s) take_outputs(part->info, p, job, &run);
  wk_sim_run_free(&run);
  return s ? tell_failure(error, s) : WICK_OK;
}

static wick_status submit(void *context, const wick_device_job *job, uint64_t *ticket,
                          wick_error_detail *error) {
  device_context *c = context;
  *ticket = 0;
  if (uses_streams(c->u) && job->observer)
    return tell(error, WICK_NO_STEPS,
                wk_error(WK_UNSUPPORTED, "the %s model does not show tensors of layers; the "
                         "functional model does",
                         c->u->options.run ? "chosen" : c->u->model->name));
  return uses_streams(c->u) ? run_by_copies(c, job, error) : run_in_place(c, job, error);
}

static const wick_device device = {
    .size = sizeof device, .version = WICK_DEVICE_VERSION, .target = "accel",
    .doc = "models of the accelerator", .check = check, .probe = probe, .load = load,
    .unload = unload,
    .open = open_context, .close = close_context, .submit = submit, .read = read_tensor};

const wick_device *wk_sim_device(void) { return &device; }
