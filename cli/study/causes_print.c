/* SPDX-License-Identifier: Apache-2.0
 * Causes as people read them. */
#include <inttypes.h>

#include "cli/study/causes.h"
#include "cli/text.h"

static double percent(uint64_t part, uint64_t whole) {
  return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* "weights of conv1 wait for scratchpad space", of what is exposed */
static const char *wait_text(const wk_sim_shown *x, const wk_sched_cause_row *r, wk_arena *a) {
  const char *name = x->part ? wk_text_shown(a, wk_sim_layer_name(x->part, r->operator))
                             : wk_arena_printf(a, "operator %u", r->operator);
  return wk_sched_wait_text(a, r, name);
}

static void print_largest(FILE *f, const wk_sim_shown *x, const wk_sched_causes *c, wk_arena *a) {
  wk_table t = {0};
  enum { MOST = 8 };
  int n = 0;
  for (size_t i = 0; i < c->rows.n && n < MOST; i++) {
    const wk_sched_cause_row *r = &c->rows.data[i];
    if (r->cause < WK_CAUSE_bandwidth || 200 * r->cycles < c->exposed) continue;
    wk_table_row(&t, "  %s\t%.1f %%\t%s", wk_sim_grouped(r->cycles).s,
                 percent(r->cycles, c->exposed), wait_text(x, r, a));
    n++;
  }
  if (n) fprintf(f, "\ncharged, of %s exposed cycles\n", wk_sim_grouped(c->exposed).s);
  wk_table_print(f, &t, "rrl");
}

/* Cycles that a run without the cause would win; "-": nobody has tried. */
static wk_text24 won_without(const wk_sim_shown *x, const wk_sim_why *w, wk_sched_cause cause) {
  const wk_sched_what_if *without = w->has_what_if ? wk_what_if_without(w->what_if, cause) : NULL;
  if (!without) return (wk_text24){"-"};
  return wk_sim_grouped(x->run->result.cycles - without->cycles);
}

/* The two columns answer two questions. */
static const char meaning[] =
    "\nCharged is where the run waited: each cycle once, to the nearest cause. It does not say\n"
    "what would be won without that cause. Won without does: cycles that the timing model saves\n"
    "on the same commands when that cause alone is gone. It is more where the next wait has the\n"
    "same cure, and less where another wait takes its place.\n";

static void print_causes(FILE *f, const wk_sim_shown *x, const wk_sim_why *w) {
  const wk_sched_causes *c = &w->causes;
  wk_arena *a = wk_arena_new();
  wk_table t = {0};
  wk_table_row(&t, "\ncritical path\tcharged\t%%\twon without\t");
  for (int i = 0; i < WK_CAUSE_COUNT; i++)
    if (c->cycles[i])
      wk_table_row(&t, "%s\t%s\t%.1f\t%s\t%s", wk_cause_infos[i].name,
                   wk_sim_grouped(c->cycles[i]).s, percent(c->cycles[i], x->run->result.cycles),
                   won_without(x, w, (wk_sched_cause)i).s, wk_cause_infos[i].doc);
  wk_table_print(f, &t, "lrrrl");
  fputs(meaning, f);
  print_largest(f, x, c, a);
  wk_arena_free(a);
}

static void print_what_ifs(FILE *f, const wk_sim_shown *x,
                           const wk_sched_what_if list[WK_WHAT_IFS]) {
  uint64_t now = x->run->result.cycles;
  wk_table t = {0};
  wk_table_row(&t, "\nwhat if\tcycles\twon\twon %%\t");
  for (int i = 0; i < WK_WHAT_IFS; i++)
    wk_table_row(&t, "%s\t%s\t%s\t%.1f\t%s", list[i].name, wk_sim_grouped(list[i].cycles).s,
                 wk_sim_grouped(now - list[i].cycles).s, percent(now - list[i].cycles, now),
                 list[i].doc);
  wk_table_print(f, &t, "lrrrl");
}

void wk_sim_print_why(FILE *f, const wk_sim_shown *x, const wk_sim_why *w) {
  print_causes(f, x, w);
  if (w->has_what_if) print_what_ifs(f, x, w->what_if);
}
