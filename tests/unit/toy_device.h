/* SPDX-License-Identifier: Apache-2.0
 * Two devices for the packages of toy_package.h. "async" does its jobs in a thread of each context;
 * "sync" does them within submit. Everything that they are given is checked, everything that is
 * open is counted. */
#ifndef WICK_TESTS_TOY_DEVICE_H
#define WICK_TESTS_TOY_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/device.h"
#include "tests/unit/toy_package.h"

static atomic_int toy_loaded, toy_open, toy_imported;
static atomic_int toy_refuses; /* "sync" opens no context: 1 says why, 2 does not */

/* TOY_MEET waits for TOY_TELL, some seconds at most. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool told;
} toy_meeting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};

static bool toy_meet(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 20;
  pthread_mutex_lock(&toy_meeting.lock);
  int late = 0;
  while (!toy_meeting.told && !late)
    late = pthread_cond_timedwait(&toy_meeting.changed, &toy_meeting.lock, &until);
  bool told = toy_meeting.told;
  toy_meeting.told = false;
  pthread_mutex_unlock(&toy_meeting.lock);
  return told;
}

static void toy_tell(void) {
  pthread_mutex_lock(&toy_meeting.lock);
  toy_meeting.told = true;
  pthread_cond_signal(&toy_meeting.changed);
  pthread_mutex_unlock(&toy_meeting.lock);
}

/* ---- units ----------------------------------------------------------------------------------- */

typedef struct {
  const wick_device_unit *unit;
  const toy_op *ops;
} toy_unit;

static wick_status toy_probe(const wick_device_unit *unit, wick_error_detail *error) {
  if (unit->info->machine_hash == 0x70f) return WICK_OK;
  snprintf(error->text, sizeof error->text, "made for machine %llx, this is 70f",
           (unsigned long long)unit->info->machine_hash);
  return WICK_BAD_MACHINE;
}

static wick_status toy_load(const wick_device_unit *unit, void **loaded,
                            wick_error_detail *error) {
  const wick_device_section *s = unit->sections;
  if (unit->section_count != 2 || strcmp(s[0].name, "ops") != 0 ||
      strcmp(s[1].name, "notes") != 0 || memcmp(s[1].data, "adds numbers", 12) != 0 ||
      (uintptr_t)s[0].data % 64 != 0) {
    snprintf(error->text, sizeof error->text, "these are not the sections of a toy");
    *loaded = error; /* whatever it is: it was not loaded, and is not unloaded */
    return WICK_CORRUPT;
  }
  toy_unit *u = calloc(1, sizeof *u);
  *u = (toy_unit){unit, (const toy_op *)s[0].data};
  atomic_fetch_add(&toy_loaded, 1);
  *loaded = u;
  return WICK_OK;
}

static void toy_unload(void *loaded) {
  atomic_fetch_sub(&toy_loaded, 1);
  free(loaded);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

typedef struct {
  const toy_unit *unit;
  bool is_async;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  const wick_device_job *jobs[8];
  uint64_t submitted, finished;
  wick_status failed; /* since the last wait */
  char why[64];
  bool stop;
} toy_context;

static int64_t toy_count(const wick_tensor_info *t) {
  int64_t n = 1;
  for (uint32_t i = 0; i < t->rank; i++) n *= t->dims[i];
  return n;
}

/* The k-th element of tensor number t; only along its last axis there may be gaps. */
static float *toy_at(const wick_part_info *part, const wick_device_job *job, uint32_t t,
                     int64_t k) {
  const wick_tensor_info *x = &part->inputs[t];
  return (float *)job->io[t] + (x->rank ? k * x->strides[x->rank - 1] : 0);
}

static wick_status toy_do(const toy_op *op, const wick_part_info *part,
                          const wick_device_job *job, char *why) {
  int64_t n = toy_count(&part->inputs[op->out]);
  float *w = job->state ? (float *)((char *)job->state + 64) : NULL; /* behind "zeros" */
  for (int64_t k = 0; k < n; k++) switch (op->kind) {
    case TOY_ADD:
      *toy_at(part, job, op->out, k) = *toy_at(part, job, op->a, k) + *toy_at(part, job, op->b, k);
      break;
    case TOY_ADD_C: *toy_at(part, job, op->out, k) = *toy_at(part, job, op->a, k) + op->c; break;
    case TOY_LESS: *(uint8_t *)job->io[op->out] = *toy_at(part, job, op->a, 0) < op->c; break;
    case TOY_KEEP: *toy_at(part, job, op->out, k) = w[k] += *toy_at(part, job, op->a, k); break;
    case TOY_COUNT:
      if (k < (int64_t)op->c) ((int64_t *)job->io[op->out])[k] = k;
      job->output_dims[(op->out - part->input_count) * WICK_MAX_RANK] = (int64_t)op->c;
      break;
    case TOY_SHIFT:
      *(int64_t *)job->io[op->out] = *(int64_t *)job->io[op->a] + (int64_t)op->c;
      break;
    default: break;
  }
  if (op->kind == TOY_TELL) toy_tell();
  bool worked = op->kind == TOY_MEET ? toy_meet() : op->kind != TOY_FAIL;
  if (!worked) snprintf(why, 64, "part '%s' does not work", part->name);
  return worked ? WICK_OK : WICK_DEVICE_FAILED;
}

/* Whether the part's job has a place for dims just where one of its outputs wants it. */
static bool toy_dims_are_wanted(const wick_part_info *part, const wick_device_job *job) {
  bool is_bound = false;
  for (uint32_t i = 0; i < part->output_count; i++) is_bound |= part->outputs[i].is_bound;
  return is_bound == (job->output_dims != NULL);
}

/* A part is one step. */
static wick_status toy_run(const toy_context *c, const wick_device_job *job, char *why) {
  const wick_device_part *part = &c->unit->unit->parts[job->part];
  wick_status status = WICK_OK;
  if (!toy_dims_are_wanted(part->info, job)) {
    snprintf(why, 64, "part '%s' has dims that nobody wants, or none", part->info->name);
    return WICK_DEVICE_FAILED;
  }
  if (job->observer) job->observer(job->user, 0, 0, NULL);
  for (const toy_op *op = c->unit->ops + part->code; op->kind != TOY_END && status == WICK_OK; op++)
    status = toy_do(op, part->info, job, why);
  if (job->profile) {
    job->profile->nanoseconds += 1000;
    job->profile->calls++;
  }
  if (job->observer) job->observer(job->user, 0, 1, NULL);
  return status;
}

static void *toy_work(void *context) {
  toy_context *c = context;
  pthread_mutex_lock(&c->lock);
  for (;;) {
    while (c->finished == c->submitted && !c->stop) pthread_cond_wait(&c->changed, &c->lock);
    if (c->stop) break;
    const wick_device_job *job = c->jobs[c->finished % 8];
    bool broken = c->failed != WICK_OK; /* what comes after a failure is not done */
    pthread_mutex_unlock(&c->lock);
    char why[64] = "";
    wick_status status = broken ? WICK_OK : toy_run(c, job, why);
    pthread_mutex_lock(&c->lock);
    if (status != WICK_OK) {
      c->failed = status;
      memcpy(c->why, why, sizeof why);
    }
    c->finished++;
    pthread_cond_broadcast(&c->changed);
  }
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

static wick_status toy_wait(void *context, uint64_t ticket, wick_error_detail *error) {
  toy_context *c = context;
  pthread_mutex_lock(&c->lock);
  while (c->finished < ticket) pthread_cond_wait(&c->changed, &c->lock);
  if (c->failed != WICK_OK) /* the rest is dropped */
    while (c->finished < c->submitted) pthread_cond_wait(&c->changed, &c->lock);
  wick_status status = c->failed;
  if (status != WICK_OK) snprintf(error->text, sizeof error->text, "%s", c->why);
  c->failed = WICK_OK;
  pthread_mutex_unlock(&c->lock);
  return status;
}

/* Whoever watches does so from the caller's thread. */
static wick_status toy_submit(void *context, const wick_device_job *job, uint64_t *ticket,
                              wick_error_detail *error) {
  toy_context *c = context;
  *ticket = 0;
  if (!c->is_async || job->observer || job->profile) {
    wick_status status = c->is_async ? toy_wait(c, c->submitted, error) : WICK_OK;
    return status == WICK_OK ? toy_run(c, job, error->text) : status;
  }
  pthread_mutex_lock(&c->lock);
  while (c->submitted - c->finished == 8) pthread_cond_wait(&c->changed, &c->lock);
  c->jobs[c->submitted++ % 8] = job;
  *ticket = c->submitted;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
  return WICK_OK;
}

static wick_status toy_read(void *context, const wick_device_job *job, uint32_t step,
                            uint32_t tensor, void *dense, wick_error_detail *error) {
  const toy_context *c = context;
  const wick_part_info *part = c->unit->unit->parts[job->part].info;
  const wick_tensor_info *t = &part->steps[step].tensors[tensor];
  if (t->bits == 8) {
    snprintf(error->text, sizeof error->text, "bytes cannot be fetched");
    return WICK_DEVICE_FAILED;
  }
  for (int64_t k = 0; k < toy_count(t) && t->bits == 32; k++)
    ((float *)dense)[k] = *toy_at(part, job, part->input_count + t->index, k);
  return WICK_OK;
}

/* ---- contexts -------------------------------------------------------------------------------- */

static wick_status toy_make(void *loaded, const uint32_t *parts, uint32_t n, bool is_async,
                            void **context) {
  toy_context *c = calloc(1, sizeof *c);
  c->unit = loaded;
  c->is_async = is_async;
  for (uint32_t i = 0; i < n; i++)
    if (parts[i] >= c->unit->unit->part_count) abort();
  pthread_mutex_init(&c->lock, NULL);
  pthread_cond_init(&c->changed, NULL);
  if (is_async && pthread_create(&c->thread, NULL, toy_work, c) != 0) abort();
  atomic_fetch_add(&toy_open, 1);
  *context = c;
  return WICK_OK;
}

static wick_status toy_open_async(void *loaded, const uint32_t *parts, uint32_t n,
                                  uint32_t threads, void **context, wick_error_detail *error) {
  (void)threads, (void)error;
  return toy_make(loaded, parts, n, true, context);
}

static wick_status toy_open_sync(void *loaded, const uint32_t *parts, uint32_t n,
                                 uint32_t threads, void **context, wick_error_detail *error) {
  (void)threads;
  int refuses = atomic_load(&toy_refuses);
  if (refuses == 1) snprintf(error->text, sizeof error->text, "all %d rooms are taken", 3);
  return refuses ? WICK_DEVICE_FAILED : toy_make(loaded, parts, n, false, context);
}

static void toy_close(void *context) {
  toy_context *c = context;
  if (c->submitted != c->finished) abort();
  pthread_mutex_lock(&c->lock);
  c->stop = true;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
  if (c->is_async) pthread_join(c->thread, NULL);
  pthread_mutex_destroy(&c->lock);
  pthread_cond_destroy(&c->changed);
  atomic_fetch_sub(&toy_open, 1);
  free(c);
}

static wick_status toy_import(void *context, void *memory, size_t size,
                              wick_error_detail *error) {
  (void)context, (void)memory;
  atomic_fetch_add(&toy_imported, (int)size);
  if (size != 7) return WICK_OK;
  snprintf(error->text, sizeof error->text, "seven bytes are too odd");
  return WICK_BAD_ARGUMENT;
}

static const wick_device toy_async = {
    .size = sizeof(wick_device), .version = WICK_DEVICE_VERSION, .target = "async",
    .doc = "adds in a thread of its own", .probe = toy_probe, .load = toy_load,
    .unload = toy_unload, .open = toy_open_async, .close = toy_close, .import = toy_import,
    .submit = toy_submit, .wait = toy_wait, .read = toy_read};
static const wick_device toy_sync = {
    .size = sizeof(wick_device), .version = WICK_DEVICE_VERSION, .target = "sync",
    .doc = "adds at once", .probe = toy_probe, .load = toy_load, .unload = toy_unload,
    .open = toy_open_sync, .close = toy_close, .submit = toy_submit, .read = toy_read};

#endif
