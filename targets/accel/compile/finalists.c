/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/finalists.h"

#include <stdio.h>

/* What differs from AUTO with all ideas, which is compared first. */
static const struct {
  wk_sched_prefetch prefetch;
  unsigned without;
} finalists[] = {
#define X(enumerator, name) {WK_PREFETCH_AUTO, WK_SCHED_##enumerator},
    WK_SCHED_IDEAS(X)
#undef X
    {WK_PREFETCH_DOUBLE, 0}};

enum { FEW = 2500, MORE = 4 }; /* commands; times so many with each effort */

typedef struct {
  wk_accel_time *time;
  void *ctx;
  uint32_t most;
  wk_sched_options best;
  uint64_t cycles; /* UINT64_MAX: none has fitted so far */
} choosing;

/* Into the scratchpad, or into memory. */
static bool has_no_room(const wk_status s) {
  return s && (s->code == WK_RESOURCE || s->code == WK_INPUT);
}

/* What does not fit that way is no finalist. */
static wk_status consider(choosing *c, const wk_sched_options *o) {
  uint64_t cycles;
  wk_status s = c->time(c->ctx, o, c->most, &cycles);
  if (s && !has_no_room(s)) return s;
  if (!s && cycles < c->cycles) c->best = *o, c->cycles = cycles;
  wk_status_free(s);
  return NULL;
}

static wk_status consider_others(choosing *c, const wk_sched_options *o, bool is_serial) {
  wk_sched_options other = *o;
  for (size_t i = 0; i < WK_COUNTOF(finalists); i++) {
    other.prefetch = finalists[i].prefetch;
    other.without = finalists[i].without;
    if (!is_serial || other.prefetch == WK_PREFETCH_AUTO) WK_TRY(consider(c, &other));
  }
  return NULL;
}

/* SERIAL shows what AUTO would be, one command at a time, so it takes the same plan. */
static bool has_finalists(const wk_sched_options *o) {
  return o->effort && !o->without &&
         (o->prefetch == WK_PREFETCH_AUTO || o->prefetch == WK_PREFETCH_SERIAL);
}

/* For --explain. */
static void note_choice(const choosing *c, const wk_sched_options *o, uint64_t asked,
                        wk_sched_explain *x) {
  enum { ROOM = sizeof x->instead.options };
  char *out = x->instead.options;
  const wk_sched_options *best = &c->best;
  size_t n = 0;
  out[0] = 0;
  x->instead.cycles = (int64_t)c->cycles;
  x->instead.asked = (int64_t)asked;
  if (best->effort != o->effort) n += (size_t)snprintf(out, ROOM, "--effort=%d ", best->effort);
  if (best->prefetch != WK_PREFETCH_AUTO)
    n += (size_t)snprintf(out + n, ROOM - n, "--prefetch=%s ",
                          wk_sched_prefetch_names[best->prefetch]);
  for (unsigned i = 0; best->without >> i; i++)
    if (best->without >> i & 1)
      n += (size_t)snprintf(out + n, ROOM - n, "--without=%s ", wk_sched_idea_names[i]);
  if (n) out[n - 1] = 0;
}

/* asked: cycles with the options themselves; UINT64_MAX: they do not fit. */
static wk_status compare(choosing *c, const wk_sched_options *o, uint64_t asked) {
  bool is_serial = o->prefetch == WK_PREFETCH_SERIAL;
  wk_sched_options each = c->best;
  c->cycles = asked;
  WK_TRY(consider_others(c, &each, is_serial));
  while (--each.effort) { /* a higher effort is not slower */
    WK_TRY(consider(c, &each));
    WK_TRY(consider_others(c, &each, is_serial));
  }
  return NULL;
}

wk_status wk_accel_choose(const wk_sched_options *o, wk_accel_time *time, void *ctx,
                          wk_sched_options *out) {
  *out = *o;
  if (!has_finalists(o)) return NULL;
  choosing c = {time, ctx, FEW, .best = *o};
  for (int i = 1; i < o->effort; i++) c.most *= MORE;
  c.best.explain = NULL;
  c.best.prefetch = WK_PREFETCH_AUTO;
  uint64_t asked;
  wk_status failed = time(ctx, &c.best, c.most, &asked);
  if (failed && !has_no_room(failed)) return failed;
  if (!failed && asked == UINT64_MAX) return NULL;
  if (failed) asked = UINT64_MAX;
  wk_status s = compare(&c, o, asked);
  if (!s && c.cycles == UINT64_MAX) return failed;
  wk_status_free(failed);
  if (s) return s;
  if (o->explain) note_choice(&c, o, asked, o->explain);
  out->without = c.best.without;
  out->effort = c.best.effort;
  if (o->prefetch == WK_PREFETCH_AUTO) out->prefetch = c.best.prefetch;
  return NULL;
}
