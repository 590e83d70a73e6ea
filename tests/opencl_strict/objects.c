/* SPDX-License-Identifier: Apache-2.0
 * Objects lie in blocks that stay until the library is closed: a handle is one if it points to one
 * of them, and what has been released is told from what lives. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "strict.h"

enum { FIRST_BLOCK = 256, BLOCKS = 24, LINE = 512 };

static struct {
  pthread_mutex_t lock;
  pid_t process; /* whose objects these are; 0: there have been none */
  strict_object *blocks[BLOCKS]; /* each twice as large as the one before */
  uint64_t count;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const kinds[] = {
    [STRICT_CONTEXT] = "context", [STRICT_QUEUE] = "queue",   [STRICT_MEMORY] = "buffer",
    [STRICT_PROGRAM] = "program", [STRICT_KERNEL] = "kernel", [STRICT_EVENT] = "event"};

/* ---- refusals -------------------------------------------------------------------------------- */

_Noreturn static void end_with(char *line, size_t n) {
  if (n > LINE - 2) n = LINE - 2;
  line[n++] = '\n';
  if (write(STDERR_FILENO, line, n) < 0) abort();
  abort();
}

static size_t add(char *line, size_t n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static size_t add(char *line, size_t n, const char *format, ...) {
  va_list list;
  if (n >= LINE) return n;
  va_start(list, format);
  n += (size_t)vsnprintf(line + n, LINE - n, format, list);
  va_end(list);
  return n;
}

static size_t add_name(char *line, size_t n, const strict_object *o) {
  n = add(line, n, "%s #%llu", kinds[o->kind], (unsigned long long)o->number);
  if (o->kind == STRICT_KERNEL) n = add(line, n, " '%s'", o->kernel.name);
  if (o->kind == STRICT_MEMORY) n = add(line, n, " of %zu bytes", o->memory.size);
  return add(line, n, " (%s): ", o->maker);
}

void strict_refuse(const strict_call *c, const strict_object *o, const char *format, ...) {
  char line[LINE];
  va_list list;
  size_t n = add(line, 0, "strict OpenCL: %s: ", c->function);
  if (o) n = add_name(line, n, o);
  va_start(list, format);
  if (n < LINE) n += (size_t)vsnprintf(line + n, LINE - n, format, list);
  va_end(list);
  end_with(line, n);
}

void *strict_grow(void *data, size_t n, size_t *room, size_t size) {
  if (n < *room) return data;
  *room = *room ? 2 * *room : 4;
  data = realloc(data, *room * size);
  if (!data) abort();
  return data;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A child has not the driver's threads, and the lock as it was: nothing else is asked first. */
void strict_begin(strict_call *c, const char *function) {
  *c = (strict_call){.function = function, .under = strict_under()};
  pid_t process = __atomic_load_n(&all.process, __ATOMIC_ACQUIRE);
  if (process != 0 && process != getpid())
    strict_refuse(c, NULL, "this process was forked after OpenCL had been opened");
  pthread_mutex_lock(&all.lock);
  __atomic_store_n(&all.process, getpid(), __ATOMIC_RELEASE);
}

void strict_forward(strict_call *c) {
  (void)c;
  pthread_mutex_unlock(&all.lock);
}

void strict_resume(strict_call *c) {
  (void)c;
  pthread_mutex_lock(&all.lock);
}

void strict_end(strict_call *c) {
  for (size_t i = 0; i < c->used_count; i++) c->used[i]->pins--;
  pthread_mutex_unlock(&all.lock);
}

/* ---- objects --------------------------------------------------------------------------------- */

strict_object *strict_find(const void *handle) {
  uint64_t first = 0;
  for (size_t b = 0; b < BLOCKS && all.blocks[b]; first += (uint64_t)FIRST_BLOCK << b++) {
    uintptr_t from = (uintptr_t)all.blocks[b], at = (uintptr_t)handle;
    size_t used = all.count - first < (uint64_t)FIRST_BLOCK << b ? (size_t)(all.count - first)
                                                               : (size_t)FIRST_BLOCK << b;
    if (at >= from && at - from < used * sizeof(strict_object))
      return (at - from) % sizeof(strict_object) == 0 ? &all.blocks[b][(at - from) /
                                                                    sizeof(strict_object)]
                                                   : NULL;
  }
  return NULL;
}

strict_object *strict_check(const strict_call *c, const void *handle, strict_kind kind) {
  strict_object *o = strict_find(handle);
  if (!o) strict_refuse(c, NULL, "%p is no %s", handle, kinds[kind]);
  if (o->kind != kind) strict_refuse(c, o, "it is no %s", kinds[kind]);
  if (o->refs == 0) strict_refuse(c, o, "it has been released");
  return o;
}

strict_object *strict_use(strict_call *c, const void *handle, strict_kind kind) {
  strict_object *o = strict_check(c, handle, kind);
  if (kind == STRICT_KERNEL && o->kernel.is_setting)
    strict_refuse(c, o, "another thread sets an argument at the same time");
  o->pins++;
  c->used[c->used_count++] = o;
  return o;
}

static strict_object *next_object(void) {
  uint64_t first = 0;
  size_t b = 0;
  while (all.count - first >= (uint64_t)FIRST_BLOCK << b) first += (uint64_t)FIRST_BLOCK << b++;
  if (b == BLOCKS) abort();
  if (!all.blocks[b]) all.blocks[b] = calloc((size_t)FIRST_BLOCK << b, sizeof(strict_object));
  if (!all.blocks[b]) abort();
  return &all.blocks[b][all.count - first];
}

strict_object *strict_make(strict_call *c, strict_kind kind, strict_object *context, void *real) {
  if (!real) return NULL;
  strict_object *o = next_object();
  o->kind = kind;
  o->refs = 1;
  o->number = ++all.count;
  o->maker = c->function;
  o->context = kind == STRICT_CONTEXT ? o : context;
  o->real = real;
  return o;
}

static void die(const strict_call *c, strict_object *o) {
  switch (o->kind) {
    case STRICT_CONTEXT: STRICT_EMPTY(&o->of.devices); break;
    case STRICT_QUEUE:
      strict_let_run(c, o); /* nobody can wait for it any more */
      STRICT_EMPTY(&o->queue.waited);
      break;
    case STRICT_MEMORY: strict_forget_memory(c, o); break;
    case STRICT_PROGRAM: break;
    case STRICT_KERNEL:
      o->kernel.program->program.kernels--;
      free(o->kernel.args);
      o->kernel.args = NULL;
      break;
    case STRICT_EVENT: STRICT_EMPTY(&o->event.waited); break;
  }
}

void *strict_release(strict_call *c, const void *handle, strict_kind kind) {
  strict_object *o = strict_check(c, handle, kind);
  if (o->refs == 1) {
    if (o->pins) strict_refuse(c, o, "another thread uses it at the same time");
    die(c, o);
  }
  o->refs--;
  return o->real;
}

void *strict_retain(strict_call *c, const void *handle, strict_kind kind) {
  strict_object *o = strict_check(c, handle, kind);
  o->refs++;
  return o->real;
}

/* ---- the end --------------------------------------------------------------------------------- */

enum { MAKERS = 16 };

typedef struct {
  const char *makers[MAKERS];
  uint64_t counts[MAKERS];
  uint64_t total, orphans; /* orphans: their context has been released */
  size_t n;
} leaks;

static void count(leaks *l, const strict_object *o) {
  size_t i = 0;
  while (i < l->n && l->makers[i] != o->maker) i++;
  if (i == MAKERS) i--;
  if (i == l->n) l->makers[l->n++] = o->maker;
  l->counts[i]++;
  l->total++;
  l->orphans += o->context->refs == 0;
}

static void count_all(leaks *l) {
  uint64_t left = all.count;
  for (size_t b = 0; left > 0; b++)
    for (size_t i = 0; i < (size_t)FIRST_BLOCK << b && left > 0; i++, left--)
      if (all.blocks[b][i].refs > 0) count(l, &all.blocks[b][i]);
}

/* At exit, or as the library is closed. Without the lock: other threads may stand in a call. */
__attribute__((destructor)) static void check_end(void) {
  leaks l = {.n = 0};
  char line[LINE];
  if (all.process != getpid()) return;
  count_all(&l);
  if (l.total > 0) {
    size_t n = add(line, 0, "strict OpenCL: at exit: %llu objects are not released:",
                   (unsigned long long)l.total);
    for (size_t i = 0; i < l.n; i++)
      n = add(line, n, "%s %llu of %s", i ? "," : "", (unsigned long long)l.counts[i],
              l.makers[i]);
    if (l.orphans)
      n = add(line, n, "; the context of %llu has been", (unsigned long long)l.orphans);
    end_with(line, n);
  }
  for (size_t b = 0; b < BLOCKS; b++) free(all.blocks[b]);
  memset(all.blocks, 0, sizeof all.blocks);
  all.count = 0;
}
