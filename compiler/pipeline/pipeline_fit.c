/* SPDX-License-Identifier: Apache-2.0
 * A memory budget is for what is placed, but what is computed again is chosen by an estimate before
 * there is a program: packed weights, say, are not in it, nor what computing again takes when
 * nothing of it can be fused. So the pipeline runs until the placed peak fits, each time with an
 * estimate that is lower by what there was too much. Where that leads nowhere, estimates over the
 * whole range are tried, and what is placed for the best of them is the least that is known. */
#include "compiler/pipeline/pipeline.h"

enum { SWEEP = 8, REFINE = 4 };

typedef struct {
  const wk_pipeline_options *o;
  wk_module **given;        /* whose module it is */
  wk_module *from;          /* as it came */
  int64_t estimate;         /* that is allowed next */
  int64_t placed;           /* peak of the last run; INT64_MAX: no order is within the estimate */
  int64_t least, best;      /* the smallest of these, and its estimate */
  int64_t lowest, highest;  /* estimates of orders that are known */
  wk_module *module;        /* of a run, sharing the constants of `from`; NULL: it is handed over */
  wk_parts *parts;
  wk_pipeline_report *report;
} fit;

static bool fits(const fit *f) {
  return f->o->memory_budget == 0 || f->placed <= f->o->memory_budget;
}


static int64_t placed_peak(const wk_parts *p) {
  int64_t most = 0;
  for (size_t i = 0; p && i < p->parts.n; i++) {
    const wk_program *x = p->parts.data[i].program;
    if (x && x->region_size[WK_REGION_ACT] > most) most = x->region_size[WK_REGION_ACT];
  }
  return most;
}

static void forget(fit *f) {
  wk_parts_free(f->parts);
  wk_module_free(f->module);
  f->parts = NULL;
  f->module = NULL;
}

/* Once for all runs, each of which has a copy. */
static wk_status import(void *ctx, wk_module **out) {
  fit *f = ctx;
  if (!*f->given) WK_TRY(f->o->ends.import(f->o->ends.ctx, f->given));
  f->from = *f->given;
  if (f->o->memory_budget) f->module = wk_module_clone(f->from);
  *out = f->module ? f->module : f->from;
  return NULL;
}

static wk_status emit(void *ctx, wk_parts *parts) {
  fit *f = ctx;
  f->placed = placed_peak(parts);
  if (!fits(f)) return NULL;
  if (f->module) {
    f->module->source = f->from;
    *f->given = f->module;
    f->module = NULL;
  }
  return f->o->ends.emit ? f->o->ends.emit(f->o->ends.ctx, parts) : NULL;
}

static wk_status run(fit *f) {
  wk_pipeline_options o = *f->o;
  forget(f);
  wk_pipeline_report_free(f->report);
  *f->report = (wk_pipeline_report){0};
  f->placed = 0;
  o.ends = (wk_pipeline_ends){import, emit, f};
  o.memory_budget = f->estimate;
  return wk_pipeline_run(NULL, &o, f->report, &f->parts);
}

/* A run with this estimate, unless it is too low for any order. */
static wk_status try(fit *f, int64_t estimate) {
  f->estimate = estimate;
  wk_status s = run(f);
  f->lowest = f->report->remat.least;
  f->highest = f->report->remat.before;
  if (s && f->lowest > estimate) {
    wk_status_free(s);
    f->placed = INT64_MAX;
    return NULL;
  }
  if (s || f->placed >= f->least) return s;
  f->least = f->placed;
  f->best = estimate;
  return NULL;
}

/* Estimates from the budget down, each lower by what the one before it was too high. */
static wk_status step_down(fit *f) {
  int64_t estimate = f->o->memory_budget, last = INT64_MAX;
  while (estimate > 0 && estimate < last) {
    WK_TRY(try(f, estimate));
    if (fits(f)) return NULL;
    last = estimate;
    if (f->placed == INT64_MAX) return NULL;
    estimate = f->report->remat.peak - (f->placed - f->o->memory_budget);
  }
  return NULL;
}

/* Estimates over the range, from the one with the least computing on; then between the best one and
 * the one below it. */
static wk_status sweep(fit *f) {
  const int64_t low = f->lowest, high = f->highest, step = (high - low) / SWEEP;
  for (int i = step ? SWEEP : 0; i >= 0; i--) {
    WK_TRY(try(f, low + step * i));
    if (fits(f)) return NULL;
  }
  int64_t above = f->best, below = above - step < low ? low : above - step;
  for (int i = 0; i < REFINE && above - below > 1; i++) {
    int64_t middle = below + (above - below) / 2, before = f->least;
    WK_TRY(try(f, middle));
    if (fits(f)) return NULL;
    if (f->least < before) above = middle;
    else below = middle;
  }
  return NULL;
}

static wk_status search(fit *f) {
  if (f->o->memory_budget == 0) return run(f);
  WK_TRY(step_down(f));
  if (!fits(f)) WK_TRY(sweep(f));
  if (fits(f)) return NULL;
  return wk_error(WK_RESOURCE, "the memory budget of %s is too small: %lld bytes (%s) are the "
                  "least that was found", wk_bytes_text((uint64_t)f->o->memory_budget).s,
                  (long long)f->least, wk_bytes_text((uint64_t)f->least).s);
}

wk_status wk_pipeline_fit(wk_module **m, const wk_pipeline_options *o, wk_pipeline_report *report,
                          wk_parts **out) {
  fit f = {.o = o, .given = m, .least = INT64_MAX, .report = report};
  wk_status s = search(&f);
  if (s) forget(&f);
  *out = f.parts;
  return s;
}
