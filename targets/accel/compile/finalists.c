/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/finalists.h"

#include <stdio.h>

/* What differs from AUTO with all ideas, which is the first. */
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
  uint64_t cycles;
} choosing;

/* What does not fit that way is no finalist. */
static void consider(choosing *c, const wk_sched_options *o) {
  uint64_t cycles;
  wk_status s = c->time(c->ctx, o, c->most, &cycles);
  if (!s && cycles < c->cycles) c->best = *o, c->cycles = cycles;
  wk_status_free(s);
}

static void consider_others(choosing *c, wk_sched_options o) {
  for (size_t i = 0; i < WK_COUNTOF(finalists); i++) {
    o.prefetch = finalists[i].prefetch;
    o.without = finalists[i].without;
    consider(c, &o);
  }
}

/* SERIAL shows what AUTO would be, one command at a time, so it takes the same. */
static bool has_finalists(const wk_sched_options *o) {
  return o->effort && !o->without &&
         (o->prefetch == WK_PREFETCH_AUTO || o->prefetch == WK_PREFETCH_SERIAL);
}

/* For --explain. */
static void note_options(const wk_sched_options *o, const wk_sched_options *taken, char out[64]) {
  size_t n = 0;
  out[0] = 0;
  if (taken->effort != o->effort) n += (size_t)snprintf(out, 64, "--effort=%d ", taken->effort);
  if (taken->prefetch != WK_PREFETCH_AUTO)
    n += (size_t)snprintf(out + n, 64 - n, "--prefetch=%s ",
                          wk_sched_prefetch_names[taken->prefetch]);
  for (unsigned i = 0; taken->without >> i; i++)
    if (taken->without >> i & 1)
      n += (size_t)snprintf(out + n, 64 - n, "--without=%s ", wk_sched_idea_names[i]);
  if (n) out[n - 1] = 0;
}

wk_status wk_accel_choose(const wk_sched_options *o, wk_accel_time *time, void *ctx,
                          wk_sched_options *out) {
  *out = *o;
  if (!has_finalists(o)) return NULL;
  choosing c = {time, ctx, FEW, .best = *o};
  for (int i = 1; i < o->effort; i++) c.most *= MORE;
  c.best.explain = NULL;
  c.best.prefetch = WK_PREFETCH_AUTO;
  wk_sched_options each = c.best;
  WK_TRY(time(ctx, &each, c.most, &c.cycles));
  if (c.cycles == UINT64_MAX) return NULL;
  const uint64_t asked = c.cycles;
  consider_others(&c, each);
  while (--each.effort) { /* a higher effort is not slower */
    consider(&c, &each);
    consider_others(&c, each);
  }
  if (o->explain) {
    note_options(o, &c.best, o->explain->instead.options);
    o->explain->instead.cycles = (int64_t)c.cycles;
    o->explain->instead.asked = (int64_t)asked;
  }
  out->without = c.best.without;
  out->effort = c.best.effort;
  if (o->prefetch == WK_PREFETCH_AUTO) out->prefetch = c.best.prefetch;
  return NULL;
}
