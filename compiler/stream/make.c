/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/search.h"

wk_status wk_sched_make(const wk_sched_net *net, const wk_sched_options *o, wk_arena *a,
                        wk_sched_made *out) {
  *out = (wk_sched_made){.uses = wk_sched_uses(net, a)};
  WK_TRY(wk_sched_find_plan(net, out->uses, o, &out->plan));
  if (o->explain) wk_sched_explain_text(o->explain, net, &out->plan);
  wk_sched_build(net, &out->plan, out->uses, 0, out->plan.groups.n, &out->steps);
  wk_sched_depend(net, o->prefetch, o->without, &out->steps);
  return wk_sched_schedule_steps(net, &out->steps, o->prefetch, a, &out->schedule);
}

void wk_sched_made_free(wk_sched_made *x) {
  wk_sched_steps_free(&x->steps);
  wk_sched_plan_free(&x->plan);
}
