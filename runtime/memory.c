/* SPDX-License-Identifier: Apache-2.0
 * Memory of devices that runs name like memory of the host's. Where a device has none of its own,
 * it is the host's. */
#include <stdlib.h>
#include <string.h>

#include "session.h"

/* ---- whose a tensor is ----------------------------------------------------------------------- */

static bool names(const wick_session *s, const wick_pkg_row *row, uint32_t tensor) {
  const uint32_t *refs = s->plan->refs + row->first_ref;
  for (uint32_t i = 0; i < row->ref_count; i++)
    if (refs[i] == tensor) return true;
  return false;
}

static bool has_edges(const wick_session *s, uint32_t tensor) {
  const wick_entry_info *e = s->entry;
  bool is_input = tensor < e->input_count;
  for (uint32_t i = 0; i < e->edge_count; i++)
    if (e->edges[i].place == (is_input ? WICK_PLACE_INPUT : WICK_PLACE_OUTPUT) &&
        e->edges[i].index == (is_input ? tensor : tensor - e->input_count))
      return true;
  return false;
}

/* The one device that works with an input or output; NULL: none, several, or the host. */
static wick_queue *queue_of(const wick_session *s, uint32_t tensor) {
  wick_queue *queue = NULL;
  if (has_edges(s, tensor) || wick_extent_from(s->entry, tensor, 0)) return NULL;
  for (uint32_t i = 0; i < s->plan->row_count; i++) {
    const wick_pkg_row *row = &s->plan->rows[i];
    if (!names(s, row, tensor)) continue;
    if (row->kind != WICK_ROW_RUN) return NULL;
    wick_queue *other = s->runs[s->plan->parts[i]].queue;
    if (queue && queue != other) return NULL;
    queue = other;
  }
  return queue;
}

static const wick_tensor_info *tensor_of(const wick_entry_info *e, uint32_t tensor) {
  return tensor < e->input_count ? &e->inputs[tensor] : &e->outputs[tensor - e->input_count];
}

/* WICK_BAD_ARGUMENT, with the tensor in front: "output 1 (y) …". */
static wick_status refuse(wick_session *s, uint32_t tensor, const char *why) {
  bool is_input = tensor < s->entry->input_count;
  const char *name = tensor_of(s->entry, tensor)->name;
  return wick_fail(&s->error, WICK_BAD_ARGUMENT, "%s %u%s%s%s %s", is_input ? "input" : "output",
                   is_input ? tensor : tensor - s->entry->input_count, *name ? " (" : "", name,
                   *name ? ")" : "", why);
}

/* ---- before a run ---------------------------------------------------------------------------- */

static wick_memory *find(const wick_session *s, const void *address) {
  for (wick_memory *m = s->memories; m; m = m->next)
    if (m->address == address) return m;
  return NULL;
}

wick_status wick_memories_check(wick_session *s) {
  for (uint32_t i = 0; i < s->entry->input_count + s->entry->output_count; i++) {
    const wick_memory *m = s->tensors[i] ? find(s, s->tensors[i]) : NULL;
    const wick_tensor_info *t = tensor_of(s->entry, i);
    if (!m || m->is_host) continue;
    if (m->size < t->bytes || queue_of(s, i) != m->queue)
      return refuse(s, i, "cannot be in this device's memory");
  }
  return WICK_OK;
}

/* ---- making and filling ---------------------------------------------------------------------- */

static wick_status allocate_host(wick_session *s, wick_memory *m) {
  const wick_device *d = m->queue->device;
  wick_error_detail why = {{0}};
  m->is_host = true;
  m->address = aligned_alloc(WICK_PAGE, wick_align_up(m->size, WICK_PAGE));
  if (!m->address) return WICK_NO_MEMORY;
  if (!d->import) return WICK_OK;
  wick_status status = d->import(m->queue->context, m->address, m->size, &why);
  return status == WICK_OK ? status : wick_queue_fail(s, m->queue, NULL, status, &why);
}

static wick_status allocate(wick_session *s, wick_memory *m) {
  const wick_device *d = m->queue->device;
  wick_error_detail why = {{0}};
  if (!d->allocate) return allocate_host(s, m);
  wick_status status = d->allocate(m->queue->context, m->size, &m->address, &why);
  return status == WICK_OK ? status : wick_queue_fail(s, m->queue, NULL, status, &why);
}

static wick_status make(wick_session *s, uint32_t tensor, void **address) {
  const wick_tensor_info *t = tensor_of(s->entry, tensor);
  wick_queue *queue = queue_of(s, tensor);
  if (!queue) return refuse(s, tensor, "is not one device's alone");
  wick_memory *m = calloc(1, sizeof *m);
  if (!m) return WICK_NO_MEMORY;
  m->queue = queue;
  m->size = t->bytes ? t->bytes : 1;
  wick_status status = allocate(s, m);
  if (status != WICK_OK) {
    if (m->is_host) free(m->address);
    free(m);
    return status;
  }
  m->next = s->memories;
  s->memories = m;
  *address = m->address;
  return WICK_OK;
}

wick_status wick_session_allocate(wick_session *session, uint32_t tensor, void **address) {
  if (!session || !address ||
      tensor >= session->entry->input_count + session->entry->output_count)
    return WICK_BAD_ARGUMENT;
  if (atomic_flag_test_and_set(&session->busy)) return WICK_BUSY;
  session->error.text[0] = '\0';
  wick_status status = make(session, tensor, address);
  atomic_flag_clear(&session->busy);
  return status;
}

static wick_status copy(wick_session *s, void *address, void *host, size_t size, bool to_device) {
  const wick_memory *m = find(s, address);
  wick_error_detail why = {{0}};
  if (!m || size > m->size)
    return wick_fail(&s->error, WICK_BAD_ARGUMENT, "there is no such memory of a device");
  if (m->is_host) {
    memcpy(to_device ? address : host, to_device ? host : address, size);
    return WICK_OK;
  }
  const wick_device *d = m->queue->device;
  wick_status status = to_device ? d->upload(m->queue->context, address, host, size, &why)
                                 : d->download(m->queue->context, address, host, size, &why);
  return status == WICK_OK ? status : wick_queue_fail(s, m->queue, NULL, status, &why);
}

static wick_status copy_alone(wick_session *s, void *address, void *host, size_t size,
                              bool to_device) {
  if (!s || !address || (!host && size)) return WICK_BAD_ARGUMENT;
  if (size == 0) return WICK_OK;
  if (atomic_flag_test_and_set(&s->busy)) return WICK_BUSY;
  s->error.text[0] = '\0';
  wick_status status = copy(s, address, host, size, to_device);
  atomic_flag_clear(&s->busy);
  return status;
}

wick_status wick_session_upload(wick_session *session, void *address, const void *host,
                                size_t size) {
  return copy_alone(session, address, (void *)(uintptr_t)host, size, true);
}

wick_status wick_session_download(wick_session *session, const void *address, void *host,
                                  size_t size) {
  return copy_alone(session, (void *)(uintptr_t)address, host, size, false);
}

void wick_memories_free(wick_session *s) {
  while (s->memories) {
    wick_memory *m = s->memories;
    s->memories = m->next;
    if (m->is_host) free(m->address);
    free(m);
  }
}
