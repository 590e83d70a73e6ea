/* SPDX-License-Identifier: Apache-2.0
 * Can a whole part be compiled? Everything but the stream is made of it, and the plan is kept. */
#include "targets/accel/compile/compile.h"

typedef struct {
  const wk_accel_net *net;
  const wk_accel_steps *steps;
  wk_accel_prefetch mode;
} scheduling;

static bool has_room(void *ctx, const wk_machine *m) {
  const scheduling *x = ctx;
  wk_accel_times t;
  wk_arena *a = wk_arena_new();
  bool fits = wk_accel_simulate(x->net, x->steps, m->scratchpad, x->mode, a, &t);
  wk_arena_free(a);
  return fits;
}

/* The layer with the most steps. */
static uint32_t longest_layer(const wk_accel_net *net, const wk_accel_steps *s) {
  uint32_t *count = wk_arena_alloc(net->arena, net->layers.n * sizeof *count), most = 0;
  for (size_t i = 0; i < s->list.n; i++) count[s->list.data[i].c.operator - 1]++;
  for (uint32_t l = 1; l < net->layers.n; l++)
    if (count[l] > count[most]) most = l;
  return most;
}

/* All groups together, with what stays between them. */
static bool is_schedule_fine(const wk_accel_net *net, const wk_accel_steps *s,
                             wk_accel_prefetch mode, wk_accel_refused *why) {
  wk_accel_times t;
  scheduling x = {net, s, mode};
  if (s->list.n + 1 >= WK_STREAM_COMMANDS) {
    why->node = net->nodes.data[longest_layer(net, s)];
    why->reason = wk_arena_printf(net->arena, "its part has %zu commands, of at most %u; it has "
                                              "most of them", s->list.n, WK_STREAM_COMMANDS);
    return false;
  }
  if (wk_accel_simulate(net, s, net->machine->scratchpad, mode, net->arena, &t)) return true;
  int64_t fits = wk_accel_least_scratchpad(net->machine, has_room, &x);
  why->node = net->nodes.data[s->list.data[t.failed].c.operator - 1];
  why->reason = fits ? wk_accel_room_reason(net, fits, "the schedule of its part", fits)
                     : "the schedule of its part has no room for it in any scratchpad";
  return false;
}

static bool can_plan(const wk_accel_net *net, const wk_accel_options *o, wk_accel_refused *why) {
  wk_accel_plan plan = {0};
  wk_accel_steps steps = {0};
  wk_accel_use *uses = wk_accel_uses(net, net->arena);
  wk_status s = wk_accel_find_plan(net, uses, o, &plan);
  bool fine = !s;
  if (fine) {
    wk_accel_build(net, &plan, uses, 0, plan.groups.n, &steps);
    wk_accel_depend(net, o->prefetch, o->without, &steps);
    fine = is_schedule_fine(net, &steps, o->prefetch, why);
  } else {
    why->node = net->nodes.data[net->ops.data[plan.misfit].layer];
    why->reason = wk_arena_strdup(net->arena, s->message);
  }
  wk_status_free(s);
  wk_accel_steps_free(&steps);
  wk_accel_plan_free(&plan);
  return fine;
}

bool wk_accel_admits(const wk_machine *m, const wk_accel_options *o, const wk_graph *g, wk_arena *a,
                     wk_node_id *node, const char **reason) {
  wk_accel_net net;
  wk_arena *own = wk_arena_new();
  wk_accel_refused why = {0};
  wk_accel_options quiet = *o;
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
