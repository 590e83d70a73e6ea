/* SPDX-License-Identifier: Apache-2.0
 * Pieces load their neighbours' columns again, and what goes from one region to the next goes
 * through memory, so whether they pay is asked of the whole part. */
#include "targets/accel/compile/widths.h"

#include "targets/accel/compile/adapt.h"

wk_status wk_accel_cut_width(const wk_machine *m, const wk_graph *g, wk_module **out) {
  wk_module *copy = wk_module_new("");
  const wk_pass step = {.name = "widths", .run = wk_accel_part_width, .data = m};
  int64_t changes = 0;
  copy->main = wk_graph_clone_into(copy, g);
  wk_status s = wk_pass_run_one(copy, &step, NULL, &changes);
  *out = NULL;
  if (s || !changes) wk_module_free(copy);
  else *out = copy;
  return s;
}

static int64_t cycles_of(const wk_machine *m, const wk_sched_options *o, const wk_graph *g) {
  wk_sched_options quiet = *o;
  quiet.explain = NULL;
  return wk_accel_foresee(m, &quiet, g, true).cycles;
}

wk_status wk_accel_choose_width(const wk_machine *m, const wk_sched_options *o, const wk_graph *g,
                                wk_module **out) {
  WK_TRY(wk_accel_cut_width(m, g, out));
  if (!*out || cycles_of(m, o, (*out)->main) < cycles_of(m, o, g)) return NULL;
  wk_module_free(*out);
  *out = NULL;
  return NULL;
}
