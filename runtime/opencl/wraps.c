/* SPDX-License-Identifier: Apache-2.0
 * What OpenCL does with two buffers around the same bytes of the host's is undefined: of all that
 * are live in the process no two share any. A context keeps its buffers as long as slots use them;
 * slots whose memory lies within that of a buffer share it. */
#include <pthread.h>
#include <stdlib.h>

#include "context.h"

static bool meet(const wick_cl_range *r, const void *memory, size_t size) {
  uintptr_t a = (uintptr_t)r->memory, b = (uintptr_t)memory;
  return a < b + size && b < a + r->size;
}

/* ---- of the process -------------------------------------------------------------------------- */

static struct {
  pthread_mutex_t lock;
  wick_cl_range *first;
} taken = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool wick_cl_take_range(wick_cl_range *r, const void *memory, size_t size) {
  pthread_mutex_lock(&taken.lock);
  const wick_cl_range *other = taken.first;
  while (other && !meet(other, memory, size)) other = other->next;
  if (!other) {
    *r = (wick_cl_range){taken.first, memory, size};
    taken.first = r;
  }
  pthread_mutex_unlock(&taken.lock);
  return !other;
}

/* Where a process was forked another thread may have had the lock, and nobody asks any more. */
void wick_cl_give_range(wick_cl_range *r) {
  if (!r->memory || wick_cl_is_forked()) return;
  pthread_mutex_lock(&taken.lock);
  wick_cl_range **at = &taken.first;
  while (*at != r) at = &(*at)->next;
  *at = r->next;
  r->memory = NULL;
  pthread_mutex_unlock(&taken.lock);
}

/* ---- of a context ---------------------------------------------------------------------------- */

static void release(wick_cl_context *c, wick_cl_wrap *w) {
  wick_cl_release_memory(c->cl, w->buffer);
  w->buffer = NULL;
  wick_cl_give_range(&w->range);
}

/* What a command still uses is not released: the next buffer may be around the same bytes. */
static wick_status drop_unused(wick_cl_context *c, wick_error_detail *error) {
  for (wick_cl_wrap **at = &c->wraps; *at;) {
    wick_cl_wrap *w = *at;
    if (w->uses > 0 || w->stays) {
      at = &w->next;
      continue;
    }
    wick_status status = c->is_busy ? wick_cl_finish(c, error) : WICK_OK;
    if (status != WICK_OK) return status;
    *at = w->next;
    release(c, w);
    w->next = c->spare_wraps;
    c->spare_wraps = w;
  }
  return WICK_OK;
}

static bool is_within(const wick_cl_context *c, const wick_cl_wrap *w, uint32_t part) {
  if (part == WICK_NONE) return false;
  for (uint32_t i = c->u->first_io[part]; i < c->u->first_io[part + 1]; i++)
    if (c->slots[i].wrap == w) return true;
  return false;
}

static void forget(wick_cl_context *c, const wick_cl_wrap *w) {
  for (uint32_t i = 0; i < c->u->first_io[c->u->unit->part_count]; i++)
    if (c->slots[i].wrap == w) wick_cl_unwrap(&c->slots[i]);
}

/* Takes memory from slots of other parts than `part`. *there: there is room now. */
static wick_status make_room(wick_cl_context *c, uint32_t part, const void *memory, size_t size,
                             bool *there, wick_error_detail *error) {
  *there = true;
  for (const wick_cl_wrap *w = c->wraps; w; w = w->next) {
    if (!meet(&w->range, memory, size)) continue;
    if (w->stays || is_within(c, w, part)) *there = false;
    else forget(c, w);
  }
  return drop_unused(c, error);
}

static wick_cl_wrap *find(const wick_cl_context *c, const void *memory, size_t size, bool writes) {
  uintptr_t at = (uintptr_t)memory;
  for (wick_cl_wrap *w = c->wraps; w; w = w->next) {
    uintptr_t from = (uintptr_t)w->range.memory;
    if (at >= from && at + size <= from + w->range.size && (w->is_written || !writes)) return w;
  }
  return NULL;
}

/* Puts w around the memory, if no other buffer of the process is around a piece of it. */
static wick_status make(wick_cl_context *c, wick_cl_wrap *w, void *memory, size_t size,
                        bool writes, wick_error_detail *error) {
  cl_mem_flags flags = CL_MEM_USE_HOST_PTR | (writes ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY);
  cl_int code;
  if (!wick_cl_take_range(&w->range, memory, size)) return WICK_OK;
  w->buffer = c->cl->CreateBuffer(c->u->context, flags, size, memory, &code);
  w->is_written = writes;
  if (code == CL_SUCCESS) {
    w->next = c->wraps;
    c->wraps = w;
    return WICK_OK;
  }
  w->buffer = NULL;
  wick_cl_give_range(&w->range);
  return wick_cl_fail(error, "clCreateBuffer", code);
}

void wick_cl_unwrap(wick_cl_slot *s) {
  if (s->wrap) s->wrap->uses--;
  s->wrap = NULL;
  s->bound = NULL;
}

wick_status wick_cl_wrap_slot(wick_cl_context *c, uint32_t part, wick_cl_slot *s, void *memory,
                              size_t size, bool writes, wick_error_detail *error) {
  wick_cl_wrap *w = find(c, memory, size, writes);
  bool is_free = true;
  if (!w) {
    wick_status status = make_room(c, part, memory, size, &is_free, error);
    if (status != WICK_OK || !is_free || !(w = c->spare_wraps)) return status;
    wick_cl_wrap *next = w->next;
    status = make(c, w, memory, size, writes, error);
    if (!w->buffer) return status;
    c->spare_wraps = next;
    w->uses = 0;
  }
  w->uses++;
  s->wrap = w;
  s->memory = memory;
  return WICK_OK;
}

wick_status wick_cl_import(void *context, void *memory, size_t size, wick_error_detail *error) {
  wick_cl_context *c = context;
  bool is_free;
  wick_status status = wick_cl_check_process(error);
  if (status != WICK_OK) return status;
  if (!c->u->shares_memory || (uintptr_t)memory % WICK_ALIGN || size == 0 ||
      size > c->u->device.info->max_alloc)
    return WICK_OK;
  status = make_room(c, WICK_NONE, memory, size, &is_free, error);
  if (status != WICK_OK || !is_free) return status;
  wick_cl_wrap *w = calloc(1, sizeof *w);
  if (!w) return WICK_NO_MEMORY;
  w->stays = true;
  status = make(c, w, memory, size, true, error);
  if (!w->buffer) free(w);
  return status;
}

wick_status wick_cl_open_wraps(wick_cl_context *c) {
  uint32_t n = c->u->first_io[c->u->unit->part_count];
  c->wrap_pool = wick_list(n, sizeof *c->wrap_pool);
  if (!c->wrap_pool) return WICK_NO_MEMORY;
  for (uint32_t i = 0; i < n; i++) {
    c->wrap_pool[i].next = c->spare_wraps;
    c->spare_wraps = &c->wrap_pool[i];
  }
  return WICK_OK;
}

void wick_cl_close_wraps(wick_cl_context *c) {
  while (c->wraps) {
    wick_cl_wrap *w = c->wraps;
    c->wraps = w->next;
    release(c, w);
    if (w->stays) free(w);
  }
  free(c->wrap_pool);
}
