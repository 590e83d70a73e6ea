/* SPDX-License-Identifier: Apache-2.0
 * Can a whole part be compiled? Everything but the stream is made of it, and the plan is kept. And
 * what can be told of the stream from the plan. */
#include "targets/accel/compile/compile.h"

typedef struct {
  const wk_sched_net *net;
  const wk_sched_steps *steps;
  wk_sched_prefetch mode;
} scheduling;

static bool has_room(void *ctx, int64_t scratchpad) {
  const scheduling *x = ctx;
  wk_sched_times t;
  wk_arena *a = wk_arena_new();
  bool fits = wk_sched_simulate(x->net, x->steps, scratchpad, x->mode, a, &t);
  wk_arena_free(a);
  return fits;
}

/* The layer with the most steps. */
static uint32_t longest_layer(const wk_accel_net *net, const wk_sched_steps *s) {
  uint32_t *count = wk_arena_alloc(net->arena, (net->layers.n + 1) * sizeof *count), most = 1;
  for (size_t i = 0; i < s->list.n; i++) count[s->list.data[i].layer]++;
  for (uint32_t l = 2; l <= net->layers.n; l++)
    if (count[l] > count[most]) most = l;
  return most - 1;
}

/* All groups together, with what stays between them. */
static bool is_schedule_fine(const wk_accel_net *net, const scheduling *x, wk_accel_refused *why) {
  wk_sched_times t;
  const wk_sched_machine *m = x->net->machine;
  size_t n = x->steps->list.n;
  if (n + 1 >= m->most_commands) {
    why->node = net->nodes.data[longest_layer(net, x->steps)];
    why->reason = wk_arena_printf(net->arena, "its part has %zu commands, of at most %u; it has "
                                              "most of them", n, m->most_commands);
    return false;
  }
  if (wk_sched_simulate(x->net, x->steps, m->scratchpad, x->mode, net->arena, &t)) return true;
  int64_t fits = wk_sched_least_scratchpad(m, has_room, (void *)(uintptr_t)x);
  why->node = net->nodes.data[x->steps->list.data[t.failed].layer - 1];
  why->reason = fits ? wk_sched_room_reason(m, net->arena, fits, "the schedule of its part", fits)
                     : "the schedule of its part has no room for it in any scratchpad";
  return false;
}

/* Steps of the plan; the plan and they are to be freed in any case. */
static wk_status plan_steps(const wk_accel_net *net, const wk_sched_options *o, wk_sched_net *sched,
                            wk_sched_plan *plan, wk_sched_steps *steps) {
  *plan = (wk_sched_plan){0};
  *steps = (wk_sched_steps){0};
  wk_accel_sched_net(net, net->arena, sched);
  wk_sched_use *uses = wk_sched_uses(sched, net->arena);
  WK_TRY(wk_sched_find_plan(sched, uses, o, plan));
  wk_sched_build(sched, plan, uses, 0, plan->groups.n, steps);
  return NULL;
}

static bool can_plan(const wk_accel_net *net, const wk_sched_options *o, wk_accel_refused *why) {
  wk_sched_plan plan;
  wk_sched_steps steps;
  wk_sched_net sched;
  wk_status s = plan_steps(net, o, &sched, &plan, &steps);
  bool fine = !s;
  if (fine) {
    wk_sched_prefetch mode = wk_sched_mode_of(&plan, o->prefetch);
    wk_sched_depend(&sched, mode, o->without, &steps);
    fine = is_schedule_fine(net, &(scheduling){&sched, &steps, mode}, why);
  } else {
    why->node = net->nodes.data[net->ops.data[plan.misfit].layer];
    why->reason = wk_arena_strdup(net->arena, s->message);
  }
  wk_status_free(s);
  wk_sched_steps_free(&steps);
  wk_sched_plan_free(&plan);
  return fine;
}

bool wk_accel_admits(const wk_machine *m, const wk_sched_options *o, const wk_graph *g, wk_arena *a,
                     wk_node_id *node, const char **reason) {
  wk_accel_net net;
  wk_arena *own = wk_arena_new();
  wk_accel_refused why = {0};
  wk_sched_options quiet = *o;
  quiet.explain = NULL;
  wk_accel_net_init(&net, m, own);
  bool fine = wk_accel_net_make(g, &net, &why) && can_plan(&net, &quiet, &why);
  if (!fine) {
    *node = why.node ? (wk_node_id)(why.node - g->nodes.data) : WK_NONE;
    *reason = wk_arena_strdup(a, why.reason);
  }
  wk_accel_net_free(&net);
  wk_arena_free(own);
  return fine;
}

/* Of the steps' schedule; INT64_MAX: they do not fit. */
static int64_t cycles_of(const wk_accel_net *net, const wk_sched_net *sched,
                         const wk_sched_options *o, const wk_sched_plan *plan,
                         wk_sched_steps *steps) {
  wk_sched_times t;
  wk_sched_prefetch mode = wk_sched_mode_of(plan, o->prefetch);
  wk_sched_depend(sched, mode, o->without, steps);
  bool fits = wk_sched_simulate(sched, steps, sched->machine->scratchpad, mode, net->arena, &t);
  return fits ? t.cycles : INT64_MAX;
}

wk_accel_outlook wk_accel_foresee(const wk_machine *m, const wk_sched_options *o,
                                  const wk_graph *g, bool times) {
  wk_accel_net net;
  wk_arena *own = wk_arena_new();
  wk_accel_refused why = {0};
  wk_sched_plan plan = {0};
  wk_sched_steps steps = {0};
  wk_sched_net sched;
  wk_accel_outlook y = {.cycles = INT64_MAX};
  wk_accel_net_init(&net, m, own);
  if (wk_accel_net_make(g, &net, &why)) {
    wk_status s = plan_steps(&net, o, &sched, &plan, &steps);
    y.commands = (int64_t)steps.list.n;
    if (!s && times) y.cycles = cycles_of(&net, &sched, o, &plan, &steps);
    wk_status_free(s);
  }
  wk_sched_steps_free(&steps);
  wk_sched_plan_free(&plan);
  wk_accel_net_free(&net);
  wk_arena_free(own);
  return y;
}
