/* SPDX-License-Identifier: Apache-2.0
 *
 * The processor as a device. Code is made executable where the file is mapped. It is copied to
 * memory of its own when the package came from memory, when the file's mount forbids execution, or
 * when perf shall see names (perf looks only at anonymous memory for them). A job runs to its end
 * within submit; what it needs is one piece of memory for the largest part. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu.h"
#include "pool.h"
#include "routine.h"

enum { HUGE_PAGE = 2 << 20 };

typedef struct {
  wick_exec exec;
  const wick_cpu_unit *unit;
  wick_pool *pool;
  uint8_t *memory; /* the arena, then scratch of each thread */
} cpu_context;

/* ---- units ----------------------------------------------------------------------------------- */

/* ---- routines -------------------------------------------------------------------------------- */

/* Their names; NULL: the unit calls none. */
static const wick_device_section *routine_names(const wick_device_unit *unit) {
  for (uint32_t i = 0; i < unit->section_count; i++) {
    const wick_device_section *s = &unit->sections[i];
    if (s->kind >= WICK_SECTION_OWN && strcmp(s->name, WICK_SECTION_ROUTINES) == 0) return s;
  }
  return NULL;
}

static size_t next_name(const wick_device_section *s, size_t at) {
  while (s->data[at]) at++;
  return at + 1;
}

/* Each has its end. */
static wick_status check(const wick_device_unit *unit, wick_error_detail *error) {
  const wick_device_section *s = routine_names(unit);
  if (!s || (s->size > 0 && s->data[s->size - 1] == '\0')) return WICK_OK;
  return wick_fail(error, WICK_CORRUPT, "the names of routines have no end");
}

static wick_status find_routines(wick_cpu_unit *u, wick_error_detail *error) {
  const wick_device_section *s = routine_names(u->unit);
  size_t n = 0;
  for (size_t at = 0; s && at < s->size; at = next_name(s, at)) n++;
  u->routines = wick_list(n, sizeof *u->routines);
  if (!u->routines) return wick_fail(error, WICK_NO_MEMORY, "out of memory");
  n = 0;
  for (size_t at = 0; s && at < s->size; at = next_name(s, at))
    u->routines[n++] = wick_routine_find((const char *)s->data + at)->run;
  return WICK_OK;
}

static wick_status probe_routines(const wick_device_unit *unit, wick_error_detail *error) {
  const wick_device_section *s = routine_names(unit);
  wick_status status = check(unit, error);
  if (status != WICK_OK) return status;
  for (size_t at = 0; s && at < s->size; at = next_name(s, at))
    if (!wick_routine_find((const char *)s->data + at))
      return wick_fail(error, WICK_NO_ROUTINE, "'%s': load or link what has it",
                       (const char *)s->data + at);
  return WICK_OK;
}

static wick_status probe(const wick_device_unit *unit, wick_error_detail *error) {
  char missing[192];
  if (unit->machine != wick_machine_host())
    return wick_fail(error, WICK_BAD_MACHINE, "made for %s (%u), this is %s", unit->info->machine,
                     unit->machine, wick_machine_name(wick_machine_host()));
  if (!wick_cpu_require(unit->info->features, missing, sizeof missing))
    return wick_fail(error, WICK_BAD_MACHINE, "this processor lacks %s", missing);
  return probe_routines(unit, error);
}

static bool execute_in_place(wick_cpu_unit *u, const wick_device_section *code) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uintptr_t begin = (uintptr_t)code->data / page * page;
  uintptr_t end = wick_align_up((uintptr_t)code->data + code->size, page);
  if (mprotect((void *)begin, end - begin, PROT_READ | PROT_EXEC) != 0) return false;
  u->code = code->data;
  return true;
}

static wick_status copy_code(wick_cpu_unit *u, const wick_device_section *code,
                             wick_error_detail *error) {
  void *map = mmap(NULL, code->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return wick_fail(error, WICK_NO_MEMORY, "out of memory");
  u->code_map = map;
  memcpy(map, code->data, code->size);
  if (mprotect(map, code->size, PROT_READ | PROT_EXEC) != 0)
    return wick_fail(error, WICK_CANNOT_READ, "the system refuses executable memory: %s",
                     strerror(errno));
  __builtin___clear_cache((char *)map, (char *)map + code->size);
  u->code = map;
  return WICK_OK;
}

static void unload(void *loaded) {
  wick_cpu_unit *u = loaded;
  wick_gdb_unregister(u->gdb);
  if (u->code_map) munmap(u->code_map, u->code_size);
  free(u->has_steps);
  free(u->routines);
  free(u);
}

static wick_status place_code(wick_cpu_unit *u, const wick_device_section *code,
                              wick_error_detail *error) {
  const wick_device_unit *unit = u->unit;
  bool perf = unit->flags & WICK_LOAD_PERF_MAP;
  wick_status status = WICK_OK;
  u->code_size = code->size;
  if (perf || !unit->is_mapped || !execute_in_place(u, code)) status = copy_code(u, code, error);
  if (status == WICK_OK && perf) status = wick_perf_map_write(unit, u->code, error);
  if (status == WICK_OK && unit->flags & WICK_LOAD_GDB)
    status = wick_gdb_register(unit, u->code, u->code_size, &u->gdb);
  return status;
}

static bool find_steps(wick_cpu_unit *u) {
  u->has_steps = wick_list(u->unit->part_count, sizeof *u->has_steps);
  for (uint32_t i = 0; u->has_steps && i < u->unit->part_count; i++) {
    const wick_device_part *part = &u->unit->parts[i];
    u->has_steps[i] = part->info->step_count > 0;
    for (uint32_t k = 0; k < part->info->step_count; k++)
      if (part->step_code[k] == WICK_NO_CODE) u->has_steps[i] = false;
  }
  return u->has_steps != NULL;
}

static wick_status load(const wick_device_unit *unit, void **loaded, wick_error_detail *error) {
  const wick_device_section *code = NULL, *consts = NULL;
  for (uint32_t i = 0; i < unit->section_count; i++) {
    if (unit->sections[i].kind == WICK_SECTION_CODE) code = &unit->sections[i];
    if (unit->sections[i].kind == WICK_SECTION_CONST) consts = &unit->sections[i];
  }
  if (!code || code->size == 0) return wick_fail(error, WICK_CORRUPT, "there is no code");
  wick_cpu_unit *u = calloc(1, sizeof *u);
  if (!u) return wick_fail(error, WICK_NO_MEMORY, "out of memory");
  u->unit = unit;
  u->consts = consts ? consts->data : NULL;
  wick_status status = find_steps(u) ? find_routines(u, error)
                                     : wick_fail(error, WICK_NO_MEMORY, "out of memory");
  if (status == WICK_OK) status = place_code(u, code, error);
  if (status == WICK_OK) *loaded = u;
  else unload(u);
  return status;
}

/* ---- contexts -------------------------------------------------------------------------------- */

static void parallel_for(wick_exec *exec, wick_task_fn fn, void *ctx, int64_t n, int64_t grain) {
  wick_pool_run(exec->owner, fn, ctx, n, grain);
}

/* The arena comes first where large pages are worth it, so that it starts on one. Sizes are below
 * 2^47 and threads below 2^9: no sum here overflows. */
static wick_status allocate_memory(cpu_context *c, size_t arena, size_t scratch, uint32_t threads) {
  size_t size = wick_align_up(arena, WICK_PAGE) + threads * scratch;
  bool large = size >= HUGE_PAGE;
  if (size == 0) size = WICK_ALIGN;
  size = wick_align_up(size, large ? HUGE_PAGE : WICK_PAGE);
  c->memory = aligned_alloc(large ? HUGE_PAGE : WICK_PAGE, size);
  if (!c->memory) return WICK_NO_MEMORY;
  if (large) madvise(c->memory, size, MADV_HUGEPAGE);
  c->exec.scratch = c->memory + wick_align_up(arena, WICK_PAGE);
  return WICK_OK;
}

static void close_context(void *context) {
  cpu_context *c = context;
  wick_pool_free(c->pool);
  free(c->memory);
  free(c);
}

static wick_status open_context(void *loaded, const uint32_t *parts, uint32_t part_count,
                                uint32_t threads, void **context, wick_error_detail *error) {
  cpu_context *c = calloc(1, sizeof *c);
  (void)error; /* the status says it all */
  if (!c) return WICK_NO_MEMORY;
  size_t arena = 0, scratch = 0;
  c->unit = loaded;
  for (uint32_t i = 0; i < part_count; i++) {
    const wick_part_info *part = c->unit->unit->parts[parts[i]].info;
    if (part->arena_bytes > arena) arena = part->arena_bytes;
    if (part->scratch_bytes > scratch) scratch = part->scratch_bytes;
  }
  scratch = wick_align_up(scratch, WICK_PAGE);
  wick_status status = allocate_memory(c, arena, scratch, threads);
  if (status == WICK_OK && threads > 1)
    status = wick_pool_create(threads, c->exec.scratch, scratch, &c->pool);
  if (status != WICK_OK) {
    close_context(c);
    return status;
  }
  c->exec.threads = threads;
  c->exec.owner = c->pool;
  c->exec.routines = c->unit->routines;
  c->exec.parallel_for = c->pool ? parallel_for : NULL;
  *context = c;
  return WICK_OK;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Generated code as a function; a data pointer cannot be cast to one in ISO C. */
static wick_entry_fn entry_function(const wick_cpu_unit *u, uint64_t code) {
  const uint8_t *address = u->code + code;
  wick_entry_fn fn;
  memcpy(&fn, &address, sizeof fn);
  return fn;
}

static wick_step_fn step_function(const wick_cpu_unit *u, uint64_t code) {
  const uint8_t *address = u->code + code;
  wick_step_fn fn;
  memcpy(&fn, &address, sizeof fn);
  return fn;
}

static wick_status run_step(void *context, const wick_device_job *job, uint32_t step,
                            wick_error_detail *error) {
  cpu_context *c = context;
  const wick_device_part *part = &c->unit->unit->parts[job->part];
  c->exec.work = job->work ? &job->work[step].rows : NULL;
  step_function(c->unit, part->step_code[step])(&c->exec, c->unit->consts, job->io, c->memory);
  c->exec.work = NULL;
  if (c->exec.error == 0) return WICK_OK;
  bool is_index = c->exec.error == WICK_ERROR_INDEX;
  if ((uint32_t)c->exec.error == WICK_ERROR_ROUTINE)
    return wick_fail(error, WICK_RUN_FAILED, "its routine failed with %d",
                     (int)(c->exec.error >> 32));
  if (is_index && wick_index_fault(part->info, job, c->memory, step, error)) return WICK_RUN_FAILED;
  return wick_fail(error, WICK_RUN_FAILED, "%s", is_index ? "an index is out of range" : "");
}

static wick_status run_steps(cpu_context *c, const wick_device_job *job,
                             wick_error_detail *error) {
  _Static_assert(sizeof(wick_step_work) == 3 * sizeof(uint64_t), "the layout of exec.work");
  return wick_device_run_steps(c->unit->unit, job, c->memory, run_step, c, error);
}

/* Step by step, which is what the entry does: so it is known which one failed, and none goes on
 * from there. */
static wick_status submit(void *context, const wick_device_job *job, uint64_t *ticket,
                          wick_error_detail *error) {
  cpu_context *c = context;
  const wick_device_part *part = &c->unit->unit->parts[job->part];
  *ticket = 0;
  c->exec.error = 0;
  c->exec.state = job->state;
  c->exec.output_dims = job->output_dims;
  if (c->unit->has_steps[job->part]) return run_steps(c, job, error);
  wick_entry_fn run = entry_function(c->unit, part->code);
  return run(&c->exec, c->unit->consts, job->io, c->memory) == 0 ? WICK_OK : WICK_RUN_FAILED;
}

static wick_status read_tensor(void *context, const wick_device_job *job, uint32_t step,
                               uint32_t tensor, void *dense, wick_error_detail *error) {
  const cpu_context *c = context;
  (void)error;
  wick_device_gather(c->unit->unit, job, c->memory, step, tensor, dense);
  return WICK_OK;
}

const wick_device wick_device_cpu = {.size = sizeof(wick_device),
                                     .version = WICK_DEVICE_VERSION,
                                     .target = "cpu",
                                     .doc = "this machine's processors",
                                     .runs_code = 1,
                                     .check = check,
                                     .probe = probe,
                                     .load = load,
                                     .unload = unload,
                                     .open = open_context,
                                     .close = close_context,
                                     .submit = submit,
                                     .read = read_tensor};
