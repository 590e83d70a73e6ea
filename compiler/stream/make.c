/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/search.h"

wk_status wk_sched_make(const wk_sched_net *net, const wk_sched_options *o, wk_arena *a,
                        wk_sched_made *out) {
  *out = (wk_sched_made){0};
  WK_TRY(wk_sched_check(net, o->marks));
  out->uses = wk_sched_uses(net, a);
  WK_TRY(wk_sched_find_plan(net, out->uses, o, &out->plan));
  if (o->explain) wk_sched_explain_text(o->explain, net, &out->plan);
  wk_sched_build(net, &out->plan, out->uses, 0, out->plan.groups.n, &out->steps);
  wk_sched_prefetch mode = wk_sched_mode_of(&out->plan, o->prefetch);
  wk_sched_depend(net, mode, o->without, &out->steps);
  return wk_sched_schedule_steps(net, &out->steps, mode, a, &out->schedule);
}

void wk_sched_made_free(wk_sched_made *x) {
  wk_sched_steps_free(&x->steps);
  wk_sched_plan_free(&x->plan);
}

/* Of a step: the first operator of its layer. */
static int op_of(const wk_sched_net *net, uint32_t layer) {
  for (size_t i = 0; i < net->n_ops; i++)
    if (net->ops[i].layer + 1 == layer) return (int)i;
  return 0;
}

int wk_sched_misfit(const wk_sched_net *net, const wk_sched_options *o, wk_arena *a,
                    const char **reason) {
  wk_sched_options quiet = *o;
  wk_sched_made m;
  int op = -1;
  quiet.explain = NULL;
  wk_status s = wk_sched_make(net, &quiet, a, &m);
  if (s) {
    bool is_planned = m.steps.list.n;
    size_t failed = m.schedule.times.failed;
    op = !is_planned ? m.plan.misfit
                     : op_of(net, m.steps.list.data[failed < m.steps.list.n ? failed : 0].layer);
    *reason = wk_arena_strdup(a, s->message);
  }
  wk_status_free(s);
  wk_sched_made_free(&m);
  return op;
}
