/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/report.h"

#include <stdio.h>
#include <stdlib.h>

/* What is not hidden behind what computes. */
static wk_sched_causes causes_of(const wk_sched_net *net, const wk_sched_made *m, wk_arena *a,
                                 wk_sched_run *run) {
  const wk_sched_span *spans = wk_sched_spans_of(net, &m->steps, &m->schedule, a);
  wk_sched_causes causes = {0};
  *run = wk_sched_run_of(net, &m->steps, &m->schedule, spans, a);
  wk_sched_causes_of(run, &causes);
  return causes;
}

/* off: the exposed cycles of that mode; 0: none, or not known. */
static uint64_t print_mode(wk_str *out, const wk_sched_net *net, wk_sched_prefetch mode,
                           const wk_sched_made *m, bool is_this, uint64_t off) {
  wk_arena *a = wk_arena_new();
  wk_sched_run run;
  wk_sched_causes causes = causes_of(net, m, a, &run);
  uint64_t exposed = causes.exposed;
  char hides[24] = "-";
  if (mode == WK_PREFETCH_OFF) off = exposed;
  if (off) snprintf(hides, sizeof hides, "%.1f", 100 * (1 - (double)exposed / (double)off));
  wk_str_printf(out, "%c %-7s %12lld %12llu %8s %12lld\n", is_this ? '*' : ' ',
                wk_sched_prefetch_names[mode], (long long)m->schedule.times.cycles,
                (unsigned long long)exposed, hides, (long long)(m->steps.loaded + m->steps.stored));
  wk_sched_causes_free(&causes);
  wk_arena_free(a);
  return exposed;
}

static void print_modes(wk_str *out, const wk_sched_net *net, const wk_sched_options *o,
                        const wk_sched_made *made) {
  uint64_t off = 0;
  wk_str_add(out, "  mode          cycles      exposed  hides %        bytes\n");
  for (int mode = 0; mode < WK_PREFETCH_COUNT; mode++) {
    wk_sched_options other = *o;
    wk_arena *a = wk_arena_new();
    wk_sched_net own = *net; /* whose tensors lie where this mode has them */
    own.tensors = wk_arena_memdup(a, net->tensors, net->n_tensors * sizeof *own.tensors);
    wk_sched_made m = {0};
    bool is_this = mode == (int)o->prefetch;
    other.prefetch = (wk_sched_prefetch)mode, other.explain = NULL;
    wk_status s = is_this ? NULL : wk_sched_make(&own, &other, a, &m);
    if (s) wk_str_printf(out, "  %-7s does not fit\n", wk_sched_prefetch_names[mode]);
    else {
      uint64_t exposed = print_mode(out, net, other.prefetch, is_this ? made : &m, is_this, off);
      if (mode == WK_PREFETCH_OFF) off = exposed;
    }
    wk_status_free(s);
    wk_sched_made_free(&m);
    wk_arena_free(a);
  }
}

static void print_what_ifs(wk_str *out, const wk_sched_run *run, const wk_sched_made *m) {
  wk_sched_what_if list[WK_SCHED_WHAT_IFS];
  wk_sched_needs needs = {0};
  wk_sched_needs_of(run, &m->steps, &m->schedule, &needs);
  const wk_sched_what_if_job job = {.run = run, .needs = needs.data, .n_needs = needs.n};
  wk_sched_what_ifs_print(out, wk_sched_what_ifs(&job, list), list);
  wk_vec_free(&needs);
}

void wk_sched_report(wk_str *out, const char *part, const wk_sched_net *net,
                     const wk_sched_options *o, const wk_sched_made *made) {
  wk_arena *a = wk_arena_new();
  wk_sched_run run;
  wk_sched_causes causes = causes_of(net, made, a, &run);
  wk_str_printf(out, "schedule of part %s on %s, by the schedule model:\n", part,
                net->machine->name);
  print_modes(out, net, o, made);
  wk_str_add(out, "\n");
  wk_sched_causes_print(out, &causes, net->layers, (uint32_t)net->n_layers);
  wk_str_add(out, "\n");
  print_what_ifs(out, &run, made);
  wk_sched_causes_free(&causes);
  wk_arena_free(a);
}
