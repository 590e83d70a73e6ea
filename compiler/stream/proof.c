/* SPDX-License-Identifier: Apache-2.0
 * One pass in stream order. What has retired for certain when a command starts: what its waits
 * say, what held for the commands it waits for when they started, and what held for the command
 * before it in its queue, which started earlier. An access that conflicts with one of an earlier
 * command is ordered when that is among them.
 *
 * Per cell it is enough to remember the last writer and, per queue, the last reader since: whoever
 * came before them conflicts with them, or is of the same queue and retires before. */
#include "compiler/stream/proof.h"

#include <stdlib.h>

typedef wk_sched_proof proof;
typedef wk_sched_bytes run;
typedef wk_sched_start start;
typedef wk_sched_cell cell;

void wk_sched_proof_init(proof *p, const wk_sched_hardware *on, wk_sched_shadow *shadows) {
  *p = (proof){.on = on, .shadows = shadows};
}

void wk_sched_proof_free(proof *p) {
  wk_vec_free(&p->starts);
  for (int q = 0; q < WK_SCHED_QUEUES; q++) wk_vec_free(&p->of_queue[q]);
}

static uint32_t now(const proof *p) { return (uint32_t)p->starts.n - 1; }

static bool refuse(proof *p, wk_sched_fault_kind kind, const run *r) {
  p->fault = (wk_sched_fault){.kind = kind, .command = now(p),
                              .queue = p->starts.data[now(p)].queue};
  if (r) p->fault.run = *r;
  return false;
}

/* ---- order ----------------------------------------------------------------------------------- */

static void join(start *into, const start *from) {
  for (int q = 0; q < WK_SCHED_QUEUES; q++)
    if (from->before[q] > into->before[q]) into->before[q] = from->before[q];
}

/* The first `count` commands of a queue have. */
static void retired(const proof *p, start *into, int q, uint32_t count) {
  if (!count) return;
  if (count > into->before[q]) into->before[q] = count;
  join(into, &p->starts.data[p->of_queue[q].data[count - 1]]);
}

static bool refuse_wait(proof *p, int queue, uint32_t count) {
  refuse(p, WK_SCHED_AHEAD, NULL);
  p->fault.wait_queue = queue;
  p->fault.wait_count = count;
  return false;
}

bool wk_sched_proof_next(proof *p, int queue, const wk_sched_counts waits) {
  uint32_t ordinal = (uint32_t)p->of_queue[queue].n;
  start x = {.queue = queue, .ordinal = ordinal};
  wk_vec_push(&p->starts, x);
  for (int q = 0; q < p->on->queues.n; q++) {
    if (waits[q] > p->of_queue[q].n) return refuse_wait(p, q, waits[q]);
    retired(p, &x, q, waits[q]);
  }
  if (ordinal) join(&x, &p->starts.data[p->of_queue[queue].data[ordinal - 1]]);
  if (wk_sched_in(p->on->queues.serial, queue)) retired(p, &x, queue, ordinal);
  p->starts.data[now(p)] = x;
  wk_vec_push(&p->of_queue[queue], now(p));
  return true;
}

bool wk_sched_proof_is_over(const proof *p, uint32_t command) {
  const start *x = &p->starts.data[command];
  return p->starts.data[now(p)].before[x->queue] > x->ordinal;
}

/* ---- looking --------------------------------------------------------------------------------- */

bool wk_sched_proof_fits(proof *p, const run *r) {
  uint64_t size = p->on->spaces[r->space].size;
  if (!r->length || (r->from < size && r->length <= size - r->from)) return true;
  return refuse(p, WK_SCHED_OUTSIDE, r);
}

void wk_sched_proof_race(proof *p, const run *r, uint32_t other, bool writes) {
  const start *x = &p->starts.data[other];
  refuse(p, WK_SCHED_RACE, r);
  p->fault.other = other;
  p->fault.other_writes = writes;
  p->fault.wait_queue = x->queue;
  p->fault.wait_count = x->ordinal + 1;
}

/* Whom a run conflicts with of those that used a cell before; WK_SCHED_NOBODY: with nobody. */
static uint32_t conflict(const proof *p, const cell *x, bool writes, bool *other_writes) {
  *other_writes = true;
  if (x->writer != WK_SCHED_NOBODY && !wk_sched_proof_is_over(p, x->writer)) return x->writer;
  *other_writes = false;
  for (int q = 0; writes && q < p->on->queues.n; q++)
    if (x->reader[q] != WK_SCHED_NOBODY && !wk_sched_proof_is_over(p, x->reader[q]))
      return x->reader[q];
  return WK_SCHED_NOBODY;
}

/* x NULL: nobody writes there. */
static bool look_at(proof *p, const run *r, uint64_t address, const cell *x) {
  bool other_writes;
  uint32_t other = x ? conflict(p, x, r->writes, &other_writes) : WK_SCHED_NOBODY;
  if (other != WK_SCHED_NOBODY) {
    wk_sched_proof_race(p, r, other, other_writes);
    return false;
  }
  if (r->writes || p->on->spaces[r->space].has_content || (x && x->writer != WK_SCHED_NOBODY))
    return true;
  refuse(p, WK_SCHED_UNWRITTEN, r);
  p->fault.address = address;
  return false;
}

bool wk_sched_proof_look(proof *p, const run *r) {
  uint64_t end;
  if (!wk_sched_proof_fits(p, r)) return false;
  for (uint64_t a = r->from; a < r->from + r->length; a = end) {
    end = r->from + r->length;
    const cell *x = wk_sched_shadow_find(&p->shadows[r->space], a, &end);
    if (!look_at(p, r, a, x)) return false;
  }
  return true;
}

/* ---- noting ---------------------------------------------------------------------------------- */

static void note_read(proof *p, const run *r) {
  int queue = p->starts.data[now(p)].queue;
  uint64_t end;
  for (uint64_t a = r->from; a < r->from + r->length; a = end) {
    end = r->from + r->length;
    cell *x = wk_sched_shadow_cut(&p->shadows[r->space], a, &end);
    if (x) x->reader[queue] = now(p);
  }
}

static void note_write(proof *p, const run *r) {
  uint64_t end;
  for (uint64_t a = r->from; a < r->from + r->length; a = end) {
    end = r->from + r->length;
    cell *x = wk_sched_shadow_join(&p->shadows[r->space], a, &end);
    if (x) x->writer = now(p);
  }
}

/* Does the present command read there? */
static bool is_own_input(proof *p, const run *r) {
  int queue = p->starts.data[now(p)].queue;
  uint64_t end;
  for (uint64_t a = r->from; a < r->from + r->length; a = end) {
    end = r->from + r->length;
    const cell *x = wk_sched_shadow_find(&p->shadows[r->space], a, &end);
    if (x && x->reader[queue] == now(p)) return true;
  }
  return false;
}

bool wk_sched_proof_note(proof *p, const run *r) {
  if (r->apart && is_own_input(p, r)) return refuse(p, WK_SCHED_OWN, r);
  if (r->writes) note_write(p, r);
  else note_read(p, r);
  return true;
}

/* ---- whole commands -------------------------------------------------------------------------- */

static bool note_all(proof *p, const wk_sched_proof_command *c, bool writes, bool apart) {
  for (size_t i = 0; i < c->n_runs; i++) {
    const run *r = &c->runs[i];
    if (r->writes == writes && r->apart == apart && !wk_sched_proof_note(p, r)) return false;
  }
  return true;
}

bool wk_sched_proof_take(proof *p, const wk_sched_proof_command *c) {
  if (!wk_sched_proof_next(p, c->queue, c->waits)) return false;
  for (size_t i = 0; i < c->n_runs; i++)
    if (!wk_sched_proof_look(p, &c->runs[i])) return false;
  return note_all(p, c, false, false) && note_all(p, c, true, true) && note_all(p, c, true, false);
}

/* What the commands write of a space. */
static void prepare(wk_sched_shadow *s, const wk_sched_hardware *on, int space,
                    const wk_sched_proof_command *c, uint32_t n) {
  wk_sched_shadow_begin(s, on->spaces[space].size);
  for (uint32_t i = 0; i < n; i++)
    for (size_t k = 0; k < c[i].n_runs; k++) {
      const run *r = &c[i].runs[k];
      if (r->writes && r->space == space) wk_sched_shadow_note(s, r->from, r->length);
    }
  wk_sched_shadow_end(s);
}

bool wk_sched_prove(const wk_sched_hardware *on, const wk_sched_proof_command *c, uint32_t n,
                    wk_sched_fault *fault) {
  proof p;
  bool good = true;
  wk_sched_shadow *shadows = wk_xcalloc((size_t)on->n_spaces, sizeof *shadows);
  for (int i = 0; i < on->n_spaces; i++) prepare(&shadows[i], on, i, c, n);
  wk_sched_proof_init(&p, on, shadows);
  for (uint32_t i = 0; i < n && good; i++) good = wk_sched_proof_take(&p, &c[i]);
  *fault = p.fault;
  wk_sched_proof_free(&p);
  for (int i = 0; i < on->n_spaces; i++) wk_sched_shadow_free(&shadows[i]);
  free(shadows);
  return good;
}
