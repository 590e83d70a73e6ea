/* SPDX-License-Identifier: Apache-2.0
 * What runs the parts of target "plainc": their section is loaded from memory like any shared
 * object. It needs the runtime alone. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/device.h"

typedef struct {
  const wick_device_unit *unit;
  int file; /* stays open: objects of one name are one object */
  void *object;
  int (*run)(unsigned long step, void *const *io, void *arena, const void *consts);
  const void *consts;
  void *arena; /* of a context, which is a copy of what was loaded */
} plainc;

static wick_status probe(const wick_device_unit *unit, wick_error_detail *error) { return WICK_OK; }

static wick_status load(const wick_device_unit *unit, void **loaded, wick_error_detail *error) {
  plainc *u = calloc(1, sizeof *u);
  char path[40];
  if (!u || (u->file = memfd_create("plainc", MFD_CLOEXEC)) < 0) return free(u), WICK_NO_MEMORY;
  snprintf(path, sizeof path, "/proc/self/fd/%d", u->file);
  for (uint32_t i = 0; i < unit->section_count; i++) {
    const wick_device_section *s = &unit->sections[i];
    if (s->kind == WICK_SECTION_CONST) u->consts = s->data;
    else if (write(u->file, s->data, s->size) == (ssize_t)s->size)
      u->object = dlopen(path, RTLD_NOW);
  }
  if (u->object) *(void **)&u->run = dlsym(u->object, "run");
  if (u->run) return u->unit = unit, *loaded = u, WICK_OK;
  snprintf(error->text, sizeof error->text, "there is no object that can be loaded");
  return close(u->file), free(u), WICK_CORRUPT;
}

static void unload(void *loaded) {
  dlclose(((plainc *)loaded)->object);
  close(((plainc *)loaded)->file), free(loaded);
}

static wick_status open_context(void *loaded, const uint32_t *parts, uint32_t count,
                                uint32_t threads, void **context, wick_error_detail *error) {
  const plainc *u = loaded;
  size_t bytes = WICK_PAGE;
  for (uint32_t i = 0; i < count; i++)
    if (u->unit->parts[parts[i]].info->arena_bytes > bytes)
      bytes = u->unit->parts[parts[i]].info->arena_bytes;
  plainc *c = malloc(sizeof *c);
  void *arena = aligned_alloc(WICK_PAGE, (bytes + WICK_PAGE - 1) / WICK_PAGE * WICK_PAGE);
  if (!c || !arena) return free(c), free(arena), WICK_NO_MEMORY;
  *c = *u;
  return c->arena = arena, *context = c, WICK_OK;
}

static void close_context(void *context) {
  free(((plainc *)context)->arena), free(context);
}

static wick_status run_step(void *context, const wick_device_job *job, uint32_t step,
                            wick_error_detail *error) {
  const plainc *c = context;
  const wick_device_part *part = &c->unit->parts[job->part];
  if (c->run(part->code + part->step_code[step], job->io, c->arena, c->consts) == 0) return WICK_OK;
  snprintf(error->text, sizeof error->text, "an index is outside its axis");
  return WICK_RUN_FAILED;
}

static wick_status submit(void *context, const wick_device_job *job, uint64_t *ticket,
                          wick_error_detail *error) {
  const plainc *c = context;
  *ticket = 0;
  return wick_device_run_steps(c->unit, job, c->arena, run_step, context, error);
}

static wick_status read_tensor(void *context, const wick_device_job *job, uint32_t step,
                               uint32_t tensor, void *dense, wick_error_detail *error) {
  const plainc *c = context;
  wick_device_gather(c->unit, job, c->arena, step, tensor, dense);
  return WICK_OK;
}

static const wick_device device = {
    .size = sizeof device, .version = WICK_DEVICE_VERSION, .target = "plainc", .doc = "C, loaded",
    .runs_code = 1, .probe = probe, .load = load, .unload = unload, .open = open_context,
    .close = close_context, .submit = submit, .read = read_tensor};

const wick_device *wick_device_plugin(void) { return &device; }
