/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "internal.h"
#include "pool.h"

enum { HUGE_PAGE = 2 << 20 };

struct wick_session {
  wick_exec exec;
  const wick_model *model;
  const wick_entry_info *entry;
  const wick_entry_code *code;
  wick_pool *pool;
  atomic_flag busy;
  uint32_t threads;
  size_t memory_size;
  uint8_t *memory; /* scratch of each thread, then the arena */
  uint8_t *arena;
  void *io[]; /* inputs, then outputs */
};

static void parallel_for(wick_exec *exec, wick_task_fn fn, void *ctx, int64_t n, int64_t grain) {
  wick_pool_run(exec->owner, fn, ctx, n, grain);
}

static size_t align_up(size_t n, size_t align) { return (n + align - 1) / align * align; }

/* One piece for arena and scratch. The arena comes first where large pages are worth it, so that it
 * starts on one. Decoded sizes are below 2^47 and threads below 2^9: no sum here overflows. */
static wick_status allocate_memory(wick_session *s, size_t stride) {
  size_t arena = align_up(s->entry->arena_bytes, WICK_PAGE);
  size_t size = arena + s->threads * stride;
  bool large = size >= HUGE_PAGE;
  if (size == 0) size = WICK_ALIGN;
  s->memory_size = align_up(size, large ? HUGE_PAGE : WICK_PAGE);
  s->memory = aligned_alloc(large ? HUGE_PAGE : WICK_PAGE, s->memory_size);
  if (!s->memory) return WICK_NO_MEMORY;
  if (large) madvise(s->memory, s->memory_size, MADV_HUGEPAGE);
  s->arena = s->memory;
  s->exec.scratch = s->memory + arena;
  return WICK_OK;
}

wick_status wick_session_create(const wick_model *model, uint32_t entry, uint32_t threads,
                                wick_session **out) {
  if (!model || !out || entry >= model->info.entry_count || threads > WICK_MAX_THREADS)
    return WICK_BAD_ARGUMENT;
  if (model->describe_only) return WICK_BAD_MACHINE;
  const wick_entry_info *info = &model->entries[entry];
  size_t io_count = (size_t)info->input_count + info->output_count;
  wick_session *s = calloc(1, sizeof *s + io_count * sizeof s->io[0]);
  if (!s) return WICK_NO_MEMORY;
  s->model = model;
  s->entry = info;
  s->code = &model->entry_code[entry];
  s->threads = threads ? threads : wick_processors();
  atomic_flag_clear(&s->busy);
  size_t stride = align_up(info->scratch_bytes, WICK_PAGE);
  wick_status status = allocate_memory(s, stride);
  if (status == WICK_OK && s->threads > 1)
    status = wick_pool_create(s->threads, s->exec.scratch, stride, &s->pool);
  if (status != WICK_OK) {
    wick_session_free(s);
    return status;
  }
  s->exec.threads = s->threads;
  s->exec.owner = s->pool;
  s->exec.parallel_for = s->pool ? parallel_for : NULL;
  *out = s;
  return WICK_OK;
}

void wick_session_free(wick_session *session) {
  if (!session) return;
  wick_pool_free(session->pool);
  free(session->memory);
  free(session);
}

const wick_entry_info *wick_session_entry(const wick_session *session) { return session->entry; }

uint32_t wick_session_threads(const wick_session *session) { return session->threads; }

static bool usable(const wick_tensor_info *tensor, const void *buffer) {
  return tensor->bytes == 0 || (buffer && (uintptr_t)buffer % tensor->align == 0);
}

/* Takes the session, checks the buffers and puts them where generated code looks. */
static wick_status begin(wick_session *s, const void *const *inputs, void *const *outputs) {
  const wick_entry_info *e = s->entry;
  if ((!inputs && e->input_count) || (!outputs && e->output_count)) return WICK_BAD_ARGUMENT;
  if (atomic_flag_test_and_set(&s->busy)) return WICK_BUSY;
  bool ok = true;
  for (uint32_t i = 0; i < e->input_count; i++) {
    ok = ok && usable(&e->inputs[i], inputs[i]);
    s->io[i] = (void *)(uintptr_t)inputs[i];
  }
  for (uint32_t i = 0; i < e->output_count; i++) {
    ok = ok && usable(&e->outputs[i], outputs[i]);
    s->io[e->input_count + i] = outputs[i];
  }
  s->exec.error = 0;
  if (ok) return WICK_OK;
  atomic_flag_clear(&s->busy);
  return WICK_BAD_ARGUMENT;
}

static wick_status end(wick_session *s, bool ok) {
  s->exec.profile = NULL;
  atomic_flag_clear(&s->busy);
  return ok ? WICK_OK : WICK_RUN_FAILED;
}

/* Generated code as a function; a data pointer cannot be cast to one in ISO C. */
static wick_entry_fn entry_function(const wick_session *s) {
  const uint8_t *address = s->model->code + s->code->code;
  wick_entry_fn fn;
  memcpy(&fn, &address, sizeof fn);
  return fn;
}

static wick_step_fn step_function(const wick_session *s, uint32_t step) {
  const uint8_t *address = s->model->code + s->model->step_code[s->code->first_step + step];
  wick_step_fn fn;
  memcpy(&fn, &address, sizeof fn);
  return fn;
}

wick_status wick_session_run(wick_session *session, const void *const *inputs,
                             void *const *outputs) {
  if (!session) return WICK_BAD_ARGUMENT;
  wick_status status = begin(session, inputs, outputs);
  if (status != WICK_OK) return status;
  int32_t error = entry_function(session)(&session->exec, session->model->consts, session->io,
                                          session->arena);
  return end(session, error == 0);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void run_steps(wick_session *s, wick_observer observer, void *user) {
  for (uint32_t i = 0; i < s->entry->step_count && s->exec.error == 0; i++) {
    wick_step_fn step = step_function(s, i);
    if (observer) observer(user, i, 0, s->arena);
    uint64_t start = s->exec.profile ? now_ns() : 0;
    step(&s->exec, s->model->consts, s->io, s->arena);
    if (s->exec.profile) {
      s->exec.profile[2 * i] += now_ns() - start;
      s->exec.profile[2 * i + 1]++;
    }
    if (observer) observer(user, i, 1, s->arena);
  }
}

wick_status wick_session_run_profiled(wick_session *session, const void *const *inputs,
                                      void *const *outputs, wick_step_profile *profile) {
  _Static_assert(sizeof(wick_step_profile) == 2 * sizeof(uint64_t), "the layout of exec.profile");
  if (!session || !profile) return WICK_BAD_ARGUMENT;
  if (!session->entry->has_steps) return WICK_NO_STEPS;
  wick_status status = begin(session, inputs, outputs);
  if (status != WICK_OK) return status;
  session->exec.profile = &profile->nanoseconds;
  run_steps(session, NULL, NULL);
  return end(session, session->exec.error == 0);
}

wick_status wick_session_run_observed(wick_session *session, const void *const *inputs,
                                      void *const *outputs, wick_observer observer, void *user) {
  if (!session || !observer) return WICK_BAD_ARGUMENT;
  if (!session->entry->has_steps) return WICK_NO_STEPS;
  wick_status status = begin(session, inputs, outputs);
  if (status != WICK_OK) return status;
  run_steps(session, observer, user);
  return end(session, session->exec.error == 0);
}
