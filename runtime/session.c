/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- making one ------------------------------------------------------------------------------ */

/* The parts of a unit that the entry has, each once, by their numbers in the unit. */
static uint32_t parts_of_unit(const wick_session *s, uint32_t unit, uint32_t *out) {
  const wick_model *m = s->model;
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->entry->part_count; i++) {
    const wick_part_info *part = s->entry->parts[i];
    uint32_t number = m->part_in_unit[part - m->parts], k = 0;
    if (part->unit != unit) continue;
    while (k < n && out[k] != number) k++;
    if (k == n) out[n++] = number;
  }
  return n;
}

static wick_status open_queues(wick_session *s) {
  uint32_t *parts = wick_list(s->entry->part_count, sizeof *parts);
  wick_status status = parts ? WICK_OK : WICK_NO_MEMORY;
  for (uint32_t u = 0; status == WICK_OK && u < s->model->info.unit_count; u++) {
    const wick_loaded_unit *unit = &s->model->units[u];
    uint32_t n = parts_of_unit(s, u, parts);
    if (n == 0) continue;
    wick_error_detail why = {{0}};
    status = unit->device->open(unit->loaded, parts, n, s->threads, &s->queues[u].context, &why);
    if (status == WICK_OK) s->queues[u].device = unit->device;
    else wick_fail_unit(s->model, &s->model->unit_infos[u],
                        wick_unit_first_part(s->model, &s->model->unit_infos[u]), status, &why,
                        &s->error);
  }
  free(parts);
  return status;
}

static wick_status import(wick_session *s, void *memory, size_t size) {
  wick_status status = WICK_OK;
  for (uint32_t u = 0; status == WICK_OK && u < s->model->info.unit_count; u++) {
    const wick_queue *q = &s->queues[u];
    wick_error_detail why = {{0}};
    if (q->device && q->device->import)
      status = q->device->import(q->context, memory, size, &why);
    if (status != WICK_OK) wick_queue_fail(s, q, NULL, status, &why);
  }
  return status;
}

static wick_status allocate_edges(wick_session *s) {
  size_t size = s->entry->edge_bytes, align = s->plan->edge_align;
  if (size == 0) return WICK_OK;
  s->edges = aligned_alloc(align, wick_align_up(size, align));
  if (!s->edges) return WICK_NO_MEMORY;
  if (s->plan->extent_count) memset(s->edges, 0, size); /* not every run fills a stage */
  for (uint32_t i = 0; i < s->entry->edge_count; i++)
    if (s->entry->edges[i].place == WICK_PLACE_EDGE)
      s->tensors[s->entry->input_count + s->entry->output_count + i] =
          s->edges + s->entry->edges[i].offset;
  return import(s, s->edges, size);
}

/* Steps are the part's, the caller's are the entry's. */
static void observe(void *user, uint32_t step, int after, void *arena) {
  const wick_run *r = user;
  wick_session *s = r->session;
  s->observed = after ? r : NULL;
  s->observed_step = step;
  s->observer(s->user, r->first_step + step, after, arena);
  s->observed = NULL;
}

static size_t count_of_io(const wick_session *s, uint32_t run) {
  const wick_part_info *part = s->entry->parts[run];
  return s->plan->is_whole ? 0 : (size_t)part->input_count + part->output_count;
}

static bool has_bound(const wick_part_info *part) {
  for (uint32_t i = 0; i < part->output_count; i++)
    if (part->outputs[i].is_bound) return true;
  return false;
}

/* Jobs are filled once; a run only changes addresses. One part on the entry's own tensors finds
 * them where the caller's addresses are put, and leaves dims where the caller finds them. */
static wick_status prepare_runs(wick_session *s) {
  uint32_t step = 0;
  for (uint32_t i = 0; i < s->entry->part_count; i++) {
    const wick_part_info *part = s->entry->parts[i];
    wick_run *r = &s->runs[i];
    size_t io = count_of_io(s, i);
    bool own_dims = !s->plan->is_whole && has_bound(part);
    r->session = s;
    r->queue = &s->queues[part->unit];
    r->first_step = step;
    r->io = s->tensors;
    if (io && !(r->io = calloc(io, sizeof *r->io))) return WICK_NO_MEMORY;
    r->job.part = s->model->part_in_unit[part - s->model->parts];
    r->job.io = r->io;
    if (s->plan->is_whole && s->plan->has_bound) r->job.output_dims = s->dims;
    if (own_dims &&
        !(r->job.output_dims = calloc(part->output_count, WICK_MAX_RANK * sizeof *s->dims)))
      return WICK_NO_MEMORY;
    step += part->step_count;
  }
  return WICK_OK;
}

static void copy_dims(int64_t *dims, const wick_tensor_info *tensors, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    memcpy(dims + (size_t)i * WICK_MAX_RANK, tensors[i].dims, sizeof tensors[i].dims);
}

static void reset_dims(wick_session *s) {
  copy_dims(s->dims, s->entry->outputs, s->entry->output_count);
}

static wick_status allocate(wick_session *s) {
  const wick_entry_info *e = s->entry;
  s->queues = wick_list(s->model->info.unit_count, sizeof *s->queues);
  s->runs = wick_list(e->part_count, sizeof *s->runs);
  s->tensors = wick_list(s->plan->tensor_count, sizeof *s->tensors);
  s->dims = wick_list(e->output_count, WICK_MAX_RANK * sizeof *s->dims);
  s->input_dims = wick_list(e->input_count, WICK_MAX_RANK * sizeof *s->input_dims);
  if (!s->queues || !s->runs || !s->tensors || !s->dims || !s->input_dims) return WICK_NO_MEMORY;
  copy_dims(s->input_dims, e->inputs, e->input_count);
  reset_dims(s);
  return WICK_OK;
}

/* What the entry asks for, before any of it is allocated. Sizes are below 2^47 each, threads below
 * 2^9: the sum does not overflow. */
static wick_status check_memory(wick_session *s) {
  const wick_entry_info *e = s->entry;
  uint64_t needed = e->arena_bytes + (uint64_t)s->threads * e->scratch_bytes;
  if (needed <= s->model->memory_limit) return WICK_OK;
  return wick_fail_memory(&s->error, needed, s->model->memory_limit);
}

static wick_status prepare(wick_session *s) {
  wick_status status = check_memory(s);
  if (status == WICK_OK) status = allocate(s);
  if (status == WICK_OK) status = open_queues(s);
  if (status == WICK_OK) status = allocate_edges(s);
  if (status == WICK_OK) status = prepare_runs(s);
  if (status == WICK_OK) status = wick_submitted_make(s);
  return status;
}

wick_status wick_session_create_with(const wick_model *model, uint32_t entry,
                                     const wick_session_options *options, wick_session **out) {
  wick_session_options o;
  size_t least = offsetof(wick_session_options, detail) + sizeof o.detail;
  bool is_known = wick_options_read(&o, sizeof o, least, options);
  wick_error_detail *detail = o.detail;
  if (detail) detail->text[0] = '\0';
  if (!is_known)
    return wick_fail(detail, WICK_BAD_ARGUMENT, "options that this version does not know");
  if (!model || !out) return wick_fail(detail, WICK_BAD_ARGUMENT, "no model or no place for it");
  if (entry >= model->info.entry_count)
    return wick_fail(detail, WICK_BAD_ARGUMENT, "there is no entry %u", entry);
  if (o.threads > WICK_MAX_THREADS)
    return wick_fail(detail, WICK_BAD_ARGUMENT, "%u threads are more than %d", o.threads,
                     WICK_MAX_THREADS);
  if (model->describe_only)
    return wick_fail(detail, WICK_BAD_MACHINE, "the model was loaded to be described only");
  wick_session *s = calloc(1, sizeof *s);
  if (!s) return WICK_NO_MEMORY;
  s->model = model;
  s->entry = &model->entries[entry];
  s->plan = &model->plans[entry];
  s->threads = o.threads ? o.threads : wick_processors();
  atomic_flag_clear(&s->busy);
  wick_status status = prepare(s);
  if (status == WICK_OK) {
    *out = s;
  } else {
    if (detail) *detail = s->error;
    wick_session_free(s);
  }
  return status;
}

wick_status wick_session_create(const wick_model *model, uint32_t entry, uint32_t threads,
                                wick_session **out) {
  const wick_session_options o = {.size = sizeof o, .threads = threads};
  return wick_session_create_with(model, entry, &o, out);
}

void wick_session_free(wick_session *s) {
  if (!s) return;
  wick_submitted_free(s);
  for (uint32_t u = 0; s->queues && u < s->model->info.unit_count; u++)
    if (s->queues[u].device) s->queues[u].device->close(s->queues[u].context);
  for (uint32_t i = 0; s->runs && i < s->entry->part_count; i++) {
    if (s->runs[i].io != s->tensors) free(s->runs[i].io);
    if (s->runs[i].job.output_dims != s->dims) free(s->runs[i].job.output_dims);
  }
  wick_memories_free(s);
  free(s->queues);
  free(s->runs);
  free(s->tensors);
  free(s->dims);
  free(s->input_dims);
  free(s->edges);
  free(s);
}

const wick_entry_info *wick_session_entry(const wick_session *session) { return session->entry; }

uint32_t wick_session_threads(const wick_session *session) { return session->threads; }

const char *wick_session_error(const wick_session *session) { return session->error.text; }

const int64_t *wick_session_output_dims(const wick_session *session, uint32_t output) {
  if (!session || output >= session->entry->output_count) return NULL;
  return session->dims + (size_t)output * WICK_MAX_RANK;
}

wick_status wick_session_import(wick_session *session, void *memory, size_t size) {
  if (!session || !memory) return WICK_BAD_ARGUMENT;
  if (atomic_flag_test_and_set(&session->busy)) return WICK_BUSY;
  session->error.text[0] = '\0';
  wick_status status = import(session, memory, size);
  atomic_flag_clear(&session->busy);
  return status;
}

wick_status wick_session_bind_state(wick_session *session, wick_state *state) {
  if (!session || (state && wick_state_model(state) != session->model)) return WICK_BAD_ARGUMENT;
  if (atomic_flag_test_and_set(&session->busy)) return WICK_BUSY;
  session->state = state;
  atomic_flag_clear(&session->busy);
  return WICK_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static bool is_empty(const wick_tensor_info *tensor, const int64_t *dims) {
  for (uint32_t i = 0; i < tensor->rank; i++)
    if (dims[i] == 0) return true;
  return false;
}

static bool usable(const wick_tensor_info *tensor, const int64_t *dims, const void *buffer) {
  return is_empty(tensor, dims) || (buffer && (uintptr_t)buffer % tensor->align == 0);
}

static bool uses_state(const wick_session *s) {
  return s->entry->reads_state || s->entry->writes_state;
}

static wick_status take_state(wick_session *s) {
  if (!s->state) return WICK_NO_STATE;
  if (!wick_state_lock(s->state, s->entry->writes_state)) return WICK_BUSY;
  for (uint32_t i = 0; i < s->entry->part_count; i++)
    s->runs[i].job.state = wick_state_memory(s->state);
  return WICK_OK;
}

/* Edges that lie within something that the caller has brought along. */
static void place_edges(wick_session *s) {
  const wick_entry_info *e = s->entry;
  uint32_t ports = e->input_count + e->output_count;
  for (uint32_t i = 0; i < e->edge_count; i++) {
    const wick_tensor_info *t = &e->edges[i];
    uint8_t *base = t->place == WICK_PLACE_INPUT    ? s->tensors[t->index]
                    : t->place == WICK_PLACE_OUTPUT ? s->tensors[e->input_count + t->index]
                    : t->place == WICK_PLACE_STATE  ? wick_state_memory(s->state)
                                                    : NULL;
    if (t->place != WICK_PLACE_EDGE) s->tensors[ports + i] = base ? base + t->offset : NULL;
  }
}

wick_status wick_run_begin(wick_session *s, const void *const *inputs, void *const *outputs,
                           bool is_submitted) {
  const wick_entry_info *e = s->entry;
  if ((!inputs && e->input_count) || (!outputs && e->output_count)) return WICK_BAD_ARGUMENT;
  if (atomic_flag_test_and_set(&s->busy)) return WICK_BUSY;
  if (s->under_way > 0 && !(is_submitted && wick_submitted_have_room(s))) {
    atomic_flag_clear(&s->busy);
    return WICK_BUSY;
  }
  bool ok = true;
  s->is_late = false;
  s->error.text[0] = '\0';
  for (uint32_t i = 0; i < e->input_count; i++) {
    ok = ok && usable(&e->inputs[i], s->input_dims + (size_t)i * WICK_MAX_RANK, inputs[i]);
    s->tensors[i] = (void *)(uintptr_t)inputs[i];
  }
  for (uint32_t i = 0; i < e->output_count; i++) {
    ok = ok && usable(&e->outputs[i], e->outputs[i].dims, outputs[i]);
    s->tensors[e->input_count + i] = outputs[i];
  }
  wick_status status = ok ? WICK_OK : WICK_BAD_ARGUMENT;
  if (ok && s->memories) status = wick_memories_check(s);
  if (status == WICK_OK && s->plan->extent_count) status = wick_extents_give(s);
  if (status == WICK_OK && uses_state(s)) status = take_state(s);
  if (status != WICK_OK) {
    atomic_flag_clear(&s->busy);
    return status;
  }
  if (e->edge_count) place_edges(s);
  if (s->plan->has_bound) reset_dims(s);
  return WICK_OK;
}

static bool are_within(const wick_tensor_info *t, const int64_t *dims) {
  for (uint32_t i = 0; i < t->rank; i++)
    if (dims[i] < 0 || dims[i] > t->dims[i]) return false;
  return true;
}

/* Dims that parts left for outputs of the entry. */
static void gather_dims(wick_session *s) {
  for (uint32_t row = 0; row < s->plan->row_count; row++) {
    if (s->plan->rows[row].kind != WICK_ROW_RUN) continue;
    const wick_run *r = &s->runs[s->plan->parts[row]];
    const wick_part_info *part = s->entry->parts[s->plan->parts[row]];
    const uint32_t *refs = s->plan->refs + s->plan->rows[row].first_ref + part->input_count;
    if (!r->job.output_dims || r->job.output_dims == s->dims || !r->has_run) continue;
    for (uint32_t k = 0; k < part->output_count; k++)
      if (part->outputs[k].is_bound)
        memcpy(s->dims + (size_t)(refs[k] - s->entry->input_count) * WICK_MAX_RANK,
               r->job.output_dims + (size_t)k * WICK_MAX_RANK,
               WICK_MAX_RANK * sizeof *s->dims);
  }
}

static wick_status check_dims(wick_session *s) {
  gather_dims(s);
  wick_extents_take(s);
  for (uint32_t i = 0; i < s->entry->output_count; i++) {
    const wick_tensor_info *t = &s->entry->outputs[i];
    if (t->is_bound && !are_within(t, s->dims + (size_t)i * WICK_MAX_RANK))
      return wick_fail(&s->error, WICK_RUN_FAILED, "output %s is larger than it may be", t->name);
  }
  return WICK_OK;
}

wick_status wick_run_check(wick_session *s, wick_status status) {
  if (status == WICK_OK && s->plan->has_bound) status = check_dims(s);
  if (status == WICK_OK) wick_extents_pack(s);
  return status;
}

void wick_run_end(wick_session *s) {
  if (uses_state(s)) wick_state_unlock(s->state, s->entry->writes_state);
  atomic_flag_clear(&s->busy);
}

static wick_status end(wick_session *s, wick_status status) {
  status = wick_run_check(s, status);
  wick_run_end(s);
  return status;
}

/* The plan with a single row, which is most of them. */
static wick_status run_whole(wick_session *s) {
  wick_run *r = s->runs;
  wick_status status = wick_run_submit(s, r);
  return status == WICK_OK && r->ticket ? wick_queue_wait(s, r->queue, r->ticket) : status;
}

static wick_status run(wick_session *s) {
  return s->plan->is_whole ? run_whole(s) : wick_plan_run(s);
}

static void watch(wick_session *s, wick_step_profile *profile, wick_step_work *work,
                  wick_observer observer, wick_timer timer) {
  for (uint32_t i = 0; i < s->entry->part_count; i++) {
    wick_run *r = &s->runs[i];
    if (profile || timer) r->queue->clock = WICK_CLOCK_HOST;
    r->job.timer = timer;
    r->job.profile = profile ? profile + r->first_step : NULL;
    r->job.work = work ? work + r->first_step : NULL;
    r->job.observer = observer;
    r->job.user = r;
  }
}

static void see_nothing(void *user, uint32_t step, int after, void *arena) {
  (void)user, (void)step, (void)after, (void)arena;
}

wick_status wick_run_name_step(wick_session *s, wick_status failed) {
  bool can_repeat = s->entry->has_steps && !s->entry->writes_state;
  if (failed != WICK_RUN_FAILED || !s->is_late || !can_repeat) return failed;
  wick_error_detail first = s->error;
  s->observer = see_nothing;
  watch(s, NULL, NULL, observe, NULL);
  wick_status status = run(s);
  watch(s, NULL, NULL, NULL, NULL);
  if (status != WICK_OK) return status;
  s->error = first;
  return WICK_RUN_FAILED;
}

wick_status wick_run_now(wick_session *s) { return wick_run_name_step(s, run(s)); }

wick_status wick_session_run(wick_session *session, const void *const *inputs,
                             void *const *outputs) {
  if (!session) return WICK_BAD_ARGUMENT;
  wick_status status = wick_run_begin(session, inputs, outputs, false);
  if (status != WICK_OK) return status;
  return end(session, wick_run_now(session));
}

/* ---- when steps ran -------------------------------------------------------------------------- */

static void take_time(void *user, const wick_step_time *time) {
  const wick_run *r = user;
  wick_step_time own = *time;
  own.step += r->first_step;
  r->queue->clock = time->clock;
  if (r->session->timer) r->session->timer(r->session->user, &own);
}

/* Of a device that does not tell. */
static void time_step(void *user, uint32_t step, int after, void *arena) {
  const wick_run *r = user;
  struct timespec t;
  (void)arena;
  clock_gettime(CLOCK_MONOTONIC, &t);
  uint64_t now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
  if (!after) r->session->step_start = now;
  else take_time(user, &(wick_step_time){step, WICK_CLOCK_HOST, r->session->step_start, now});
}

static wick_status run_measured(wick_session *s, const void *const *inputs, void *const *outputs,
                                wick_step_profile *profile, wick_step_work *work) {
  if (!s->entry->has_steps) return WICK_NO_STEPS;
  wick_status status = wick_run_begin(s, inputs, outputs, false);
  if (status != WICK_OK) return status;
  s->timer = NULL;
  watch(s, profile, work, NULL, take_time);
  status = run(s);
  watch(s, NULL, NULL, NULL, NULL);
  return end(s, status);
}

wick_status wick_session_run_profiled(wick_session *session, const void *const *inputs,
                                      void *const *outputs, wick_step_profile *profile) {
  if (!session || !profile) return WICK_BAD_ARGUMENT;
  return run_measured(session, inputs, outputs, profile, NULL);
}

wick_status wick_session_run_counted(wick_session *session, const void *const *inputs,
                                     void *const *outputs, wick_step_profile *profile,
                                     wick_step_work *work) {
  if (!session || !profile || !work) return WICK_BAD_ARGUMENT;
  return run_measured(session, inputs, outputs, profile, work);
}

wick_status wick_session_run_observed(wick_session *session, const void *const *inputs,
                                      void *const *outputs, wick_observer observer, void *user) {
  if (!session || !observer) return WICK_BAD_ARGUMENT;
  if (!session->entry->has_steps) return WICK_NO_STEPS;
  wick_status status = wick_run_begin(session, inputs, outputs, false);
  if (status != WICK_OK) return status;
  session->observer = observer;
  session->user = user;
  watch(session, NULL, NULL, observe, NULL);
  status = run(session);
  watch(session, NULL, NULL, NULL, NULL);
  return end(session, status);
}

wick_status wick_session_run_timed(wick_session *session, const void *const *inputs,
                                   void *const *outputs, wick_timer timer, void *user) {
  if (!session || !timer) return WICK_BAD_ARGUMENT;
  if (!session->entry->has_steps) return WICK_NO_STEPS;
  wick_status status = wick_run_begin(session, inputs, outputs, false);
  if (status != WICK_OK) return status;
  session->timer = timer;
  session->user = user;
  watch(session, NULL, NULL, time_step, take_time);
  status = run(session);
  watch(session, NULL, NULL, NULL, NULL);
  return end(session, status);
}

wick_clock wick_session_clock(const wick_session *session, uint32_t unit) {
  if (!session || unit >= session->model->info.unit_count) return WICK_CLOCK_HOST;
  return session->queues[unit].clock;
}

wick_status wick_session_read_tensor(wick_session *session, uint32_t step, uint32_t tensor,
                                     void *dense, size_t size) {
  const wick_run *r = session ? session->observed : NULL;
  if (!r || step != r->first_step + session->observed_step ||
      tensor >= session->entry->steps[step].tensor_count)
    return WICK_BAD_ARGUMENT;
  if (size != wick_tensor_dense_bytes(&session->entry->steps[step].tensors[tensor]) ||
      (!dense && size))
    return WICK_BAD_ARGUMENT;
  const wick_queue *q = r->queue;
  wick_error_detail why = {{0}};
  if (!q->device->read) return WICK_NO_STEPS;
  wick_status status =
      q->device->read(q->context, &r->job, session->observed_step, tensor, dense, &why);
  return status == WICK_OK ? status : wick_queue_fail(session, q, r, status, &why);
}
