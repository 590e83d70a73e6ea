/* SPDX-License-Identifier: Apache-2.0
 * What comes behind what: a queue is in order and knows up to which commands of other queues it has
 * waited; an event takes that along. Buffers know the last commands that read and wrote them. */
#include "strict.h"

static bool has_ended(strict_stamp s) { return s.at <= s.queue->queue.done; }

/* The list's entry for that queue; those that have ended are dropped. */
static strict_stamp *entry_of(strict_stamps *list, const strict_object *queue) {
  size_t kept = 0;
  strict_stamp *found = NULL;
  for (size_t i = 0; i < list->n; i++) {
    if (has_ended(list->data[i])) continue;
    list->data[kept] = list->data[i];
    if (list->data[kept].queue == queue) found = &list->data[kept];
    kept++;
  }
  list->n = kept;
  return found;
}

static void keep_later(strict_stamps *list, strict_stamp s) {
  strict_stamp *there = entry_of(list, s.queue);
  if (has_ended(s)) return;
  if (!there) STRICT_ADD(list, s);
  else if (there->at < s.at) there->at = s.at;
}

/* ---- commands -------------------------------------------------------------------------------- */

static void wait_for_event(const strict_call *c, strict_object *queue, const strict_object *e) {
  strict_stamp s = e->event.command;
  if (e->context != queue->context) strict_refuse(c, e, "it is of another context");
  if (s.queue == queue) return;
  if (s.at > s.queue->queue.flushed)
    strict_refuse(c, e, "a queue waits for it, and queue #%llu has not been flushed",
                  (unsigned long long)s.queue->number);
  keep_later(&queue->queue.waited, s);
  for (size_t i = 0; i < e->event.waited.n; i++)
    if (e->event.waited.data[i].queue != queue)
      keep_later(&queue->queue.waited, e->event.waited.data[i]);
}

static bool is_late(void) {
  const char *own = getenv("WICK_STRICT_LATE");
  return !own || strcmp(own, "no") != 0;
}

/* Commands from now on stay where they are. */
static void close_gate(const strict_call *c, strict_object *queue) {
  strict_queue *q = &queue->queue;
  if (q->gate || !is_late()) return;
  q->gate = c->under->CreateUserEvent(queue->context->real, NULL);
  if (q->gate) c->under->EnqueueBarrierWithWaitList(queue->real, 1, &q->gate, NULL);
}

static void open_gate(const strict_call *c, strict_queue *q) {
  if (!q->gate) return;
  c->under->SetUserEventStatus(q->gate, CL_COMPLETE);
  c->under->ReleaseEvent(q->gate);
  q->gate = NULL;
}

void strict_let_run(const strict_call *c, strict_object *queue) {
  open_gate(c, &queue->queue);
  for (size_t i = 0; i < queue->queue.waited.n; i++)
    open_gate(c, &queue->queue.waited.data[i].queue->queue);
}

strict_stamp strict_put(strict_call *c, strict_object *queue, cl_uint n, const cl_event *list,
                        cl_event **real) {
  *real = NULL;
  if ((n == 0) != (list == NULL))
    strict_refuse(c, NULL, "%u events to wait for, and the list is %p", n, (const void *)list);
  if (n > 0 && !(*real = malloc(n * sizeof **real))) abort();
  for (cl_uint i = 0; i < n; i++) {
    const strict_object *e = strict_check(c, list[i], STRICT_EVENT);
    (*real)[i] = e->real;
    wait_for_event(c, queue, e);
  }
  close_gate(c, queue);
  return (strict_stamp){queue, ++queue->queue.put};
}

void strict_put_done(strict_call *c, strict_stamp command, cl_event *event, cl_event real,
                     bool is_done) {
  strict_queue *q = &command.queue->queue;
  if (is_done) strict_wait_for(command, &q->waited);
  if (!event) return;
  strict_object *e = strict_make(c, STRICT_EVENT, command.queue->context, real);
  e->event.command = command;
  for (size_t i = 0; i < q->waited.n; i++) keep_later(&e->event.waited, q->waited.data[i]);
  *event = (cl_event)e;
}

static void end(strict_stamp s) {
  strict_queue *q = &s.queue->queue;
  if (q->done < s.at) q->done = s.at;
  if (q->flushed < s.at) q->flushed = s.at;
}

void strict_wait_for(strict_stamp command, const strict_stamps *waited) {
  end(command);
  for (size_t i = 0; i < waited->n; i++) end(waited->data[i]);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static bool comes_behind(strict_object *queue, strict_stamp s) {
  if (s.queue == queue || has_ended(s)) return true;
  const strict_stamp *there = entry_of(&queue->queue.waited, s.queue);
  return there && there->at >= s.at;
}

static void check_others(const strict_call *c, strict_stamp command, const strict_object *memory,
                         const strict_stamps *uses, const char *what) {
  for (size_t i = 0; i < uses->n; i++)
    if (!comes_behind(command.queue, uses->data[i]))
      strict_refuse(c, memory, "queue #%llu may still %s it, and queue #%llu does not wait for "
                    "that", (unsigned long long)uses->data[i].queue->number, what,
                    (unsigned long long)command.queue->number);
}

static void check_uses(const strict_call *c, strict_stamp command, const strict_object *memory,
                       bool writes) {
  check_others(c, command, memory, &memory->memory.writes, "write");
  if (writes) check_others(c, command, memory, &memory->memory.reads, "read");
}

void strict_touch(const strict_call *c, strict_stamp command, strict_object *memory, bool writes) {
  strict_memory *m = &memory->memory;
  strict_check_maps(c, memory, writes);
  check_uses(c, command, memory, writes);
  for (size_t i = 0; i < m->others.n; i++) check_uses(c, command, m->others.data[i], writes);
  keep_later(writes ? &m->writes : &m->reads, command);
}
