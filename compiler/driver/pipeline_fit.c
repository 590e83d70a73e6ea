/* SPDX-License-Identifier: Apache-2.0
 * A memory budget is for what is placed, but what is computed again is chosen by an estimate before
 * there is a program: packed weights, say, are not in it. So the pipeline runs until the placed
 * peak fits, each time with an estimate that is lower by what there was too much. */
#include "compiler/driver/pipeline.h"

typedef struct {
  const wk_pipeline_options *o;
  wk_module *from;          /* as it came */
  int64_t estimate;         /* that is allowed next */
  int64_t placed;           /* peak of the last run */
  wk_module *module;        /* of the last run, sharing the constants of `from` */
  wk_parts *parts;
  wk_pipeline_report *report;
} fit;

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

static wk_status run(fit *f) {
  wk_pipeline_options o = *f->o;
  forget(f);
  wk_pipeline_report_free(f->report);
  *f->report = (wk_pipeline_report){0};
  f->module = wk_module_clone(f->from);
  o.memory_budget = f->estimate;
  wk_status s = wk_pipeline_run(f->module, &o, f->report, &f->parts);
  f->placed = s ? 0 : placed_peak(f->parts);
  return s;
}

/* Runs until the peak fits, or no lower estimate is left. */
static wk_status search(fit *f, int64_t budget) {
  int64_t last = INT64_MAX, least = INT64_MAX;
  for (bool is_least = false; f->estimate < last;) {
    wk_status s = run(f);
    const wk_remat_report *r = &f->report->remat;
    if (s && (is_least || r->least <= f->estimate)) return s; /* another reason */
    if (s && r->least >= last) {
      wk_status_free(s);
      break;
    }
    if (s) {
      wk_status_free(s);
      is_least = true;
      f->estimate = r->least;
      continue;
    }
    if (f->placed <= budget) return NULL;
    if (f->placed < least) least = f->placed;
    last = is_least ? 0 : f->estimate;
    f->estimate = r->peak - (f->placed - budget);
    if (f->estimate < 1) f->estimate = 1;
  }
  return wk_error(WK_RESOURCE, "the memory budget of %lld bytes is too small: activations need "
                  "%lld at least", (long long)budget, (long long)least);
}

wk_status wk_pipeline_fit(wk_module **m, const wk_pipeline_options *o, wk_pipeline_report *report,
                          wk_parts **out) {
  if (o->memory_budget == 0) return wk_pipeline_run(*m, o, report, out);
  fit f = {.o = o, .from = *m, .estimate = o->memory_budget, .report = report};
  wk_status s = search(&f, o->memory_budget);
  if (s) {
    forget(&f);
    return s;
  }
  f.module->source = *m;
  *m = f.module;
  *out = f.parts;
  return NULL;
}
