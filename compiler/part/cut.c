/* SPDX-License-Identifier: Apache-2.0
 * Groups of nodes become parts, each with a module of its own, and rows of the plan that run
 * them. */
#include "compiler/part/cut.h"

#include <stdlib.h>

uint32_t wk_cut_edge(wk_cut *c, const char *name, const wk_type *t, const wk_edge_layout *layout) {
  wk_cut_tensor known = {*t, layout ? *layout : wk_cut_row_major_layout, WK_NONE};
  wk_part_tensor x = {.name = wk_arena_strdup(c->p->arena, name),
                      .type = wk_cut_laid_type(t, &known.layout), .of = *t,
                      .layout = known.layout, .alias = WK_NONE};
  x.bytes = wk_type_bytes(&x.type);
  wk_vec_push(&c->tensors, known);
  wk_vec_push(&c->p->tensors, x);
  return (uint32_t)c->p->tensors.n - 1;
}

bool wk_cut_can_alias(const wk_cut *c, uint32_t tensor, const wk_edge_layout *layout) {
  const wk_cut_tensor *x = &c->tensors.data[tensor];
  return tensor >= c->p->n_in + c->p->n_out && wk_cut_same_bytes(&x->type, &x->layout, layout);
}

uint32_t wk_cut_alias(wk_cut *c, uint32_t tensor, const wk_edge_layout *layout) {
  const wk_type t = c->tensors.data[tensor].type;
  const wk_part_tensor of = c->p->tensors.data[tensor];
  uint32_t alias = wk_cut_edge(c, of.name, &t, layout);
  c->p->tensors.data[alias].alias = of.alias == WK_NONE ? tensor : of.alias;
  c->p->tensors.data[alias].variable = of.variable;
  c->tensors.data[alias].writer = c->tensors.data[tensor].writer;
  return alias;
}

/* ---- one part -------------------------------------------------------------------------------- */

/* in: what rows give it, then its variables; out: what rows get, then updates. */
typedef struct {
  WK_VEC(wk_node_id) nodes;
  WK_VEC(wk_value_id) in, out, updates; /* updates: parallel to out */
  size_t n_in, n_out;                   /* of in and out, those of rows */
  bool is_host;
} piece;

static void piece_free(piece *x) {
  wk_vec_free(&x->nodes);
  wk_vec_free(&x->in);
  wk_vec_free(&x->out);
  wk_vec_free(&x->updates);
}

static bool comes_from(const wk_graph *g, const wk_cut_groups *groups, wk_value_id v,
                       uint32_t group) {
  const wk_value *x = wk_val(g, v);
  return x->kind == WK_VALUE_NODE && groups->of[x->node] == group;
}

/* Everything that the group reads of the rows, or of its own variables. `taken` holds group + 1 for
 * values that are inputs of it. */
static void take_inputs(const wk_cut *c, const wk_graph *g, const wk_cut_groups *groups,
                        uint32_t group, const wk_node *n, bool variables, uint32_t *taken,
                        piece *x) {
  for (uint32_t k = 0; k <= n->n_in; k++) {
    wk_value_id v = k < n->n_in ? n->in[k] : n->predicate;
    if (v == WK_NONE || wk_is_const(g, v) || comes_from(g, groups, v, group)) continue;
    if (taken[v] == group + 1 || wk_cut_is_own_variable(c, g, groups, group, v) != variables)
      continue;
    taken[v] = group + 1;
    wk_vec_push(&x->in, v);
  }
}

/* Another row reads it, or the caller. Who reads an update finds it in the state. */
static bool leaves(const wk_graph *g, const wk_uses *uses,
                   const wk_cut_groups *groups, wk_value_id v, uint32_t group) {
  if (wk_is_update(g, v)) return wk_is_plain_output(g, v);
  for (uint32_t k = uses->first[v]; k < uses->first[v + 1]; k++) {
    wk_node_id user = uses->uses[k].node;
    if (user == WK_NONE || groups->of[user] != group) return true;
  }
  return false;
}

static void take_outputs(const wk_graph *g, const wk_uses *uses,
                         const wk_cut_groups *groups, uint32_t group, piece *x) {
  for (size_t i = 0; i < x->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[x->nodes.data[i]];
    for (uint32_t k = 0; k < n->n_out; k++) {
      if (n->out[k] == WK_NONE || !leaves(g, uses, groups, n->out[k], group)) continue;
      wk_vec_push(&x->out, n->out[k]);
      wk_vec_push(&x->updates, WK_NONE);
    }
  }
}

/* Variables that the group changes: it has them also if it does not read them. */
static void take_updates(const wk_cut *c, const wk_graph *g, const wk_cut_groups *groups,
                         uint32_t group, uint32_t *taken, piece *x) {
  if (g != g->module->main) return;
  for (size_t i = 0; i < c->variables.n; i++) {
    const wk_cut_variable *y = &c->variables.data[i];
    if (y->value == WK_NONE || !comes_from(g, groups, y->value, group)) continue;
    if (taken[y->variable] != group + 1) wk_vec_push(&x->in, y->variable);
    taken[y->variable] = group + 1;
    wk_vec_push(&x->out, y->value);
    wk_vec_push(&x->updates, y->variable);
  }
}

static piece piece_of(const wk_cut *c, const wk_graph *g, const wk_uses *uses,
                      const wk_cut_groups *groups, uint32_t group, uint32_t *taken) {
  piece x = {.is_host = wk_cut_is_host(c, groups->target[group])};
  for (size_t i = 0; i < g->nodes.n; i++)
    if (groups->of[i] == group) wk_vec_push(&x.nodes, (wk_node_id)i);
  for (size_t i = 0; i < x.nodes.n; i++)
    take_inputs(c, g, groups, group, wk_nod(g, x.nodes.data[i]), false, taken, &x);
  x.n_in = x.in.n;
  for (size_t i = 0; i < x.nodes.n; i++)
    take_inputs(c, g, groups, group, wk_nod(g, x.nodes.data[i]), true, taken, &x);
  take_outputs(g, uses, groups, group, &x);
  x.n_out = x.out.n;
  take_updates(c, g, groups, group, taken, &x);
  return x;
}

static void count(wk_part *part) {
  const wk_module *m = part->module;
  for (size_t k = 0; k < m->graphs.n; k++) {
    const wk_graph *g = m->graphs.data[k];
    part->nodes += (int64_t)g->nodes.n;
    for (size_t i = 0; i < g->nodes.n; i++) part->macs += wk_node_model_macs(g, &g->nodes.data[i]);
  }
  const wk_graph *g = m->main;
  for (size_t i = 0; i < wk_graph_plain_inputs(g); i++)
    part->edge_bytes += wk_type_bytes(&wk_val(g, g->inputs.data[i])->type);
  for (size_t i = 0; i < wk_graph_plain_outputs(g); i++)
    part->edge_bytes += wk_type_bytes(&wk_val(g, g->outputs.data[i])->type);
}

static uint32_t add_part(wk_cut *c, wk_module *m, uint32_t target, const wk_graph *from,
                         bool owns) {
  uint32_t number = (uint32_t)c->p->parts.n;
  wk_part part = {.target = target, .instance = c->targets->list[target], .module = m,
                  .from = from, .owns_module = owns,
                  .name = wk_arena_printf(c->p->arena, "%u", (unsigned)number)};
  count(&part);
  wk_vec_push(&c->p->parts, part);
  return number;
}

static wk_module *module_of(wk_cut *c, const wk_graph *g, const piece *x) {
  wk_module *m = wk_module_new(g->module->name);
  const char **names = wk_arena_alloc(c->scratch, x->out.n * sizeof *names);
  m->opset = g->module->opset;
  m->constant_bytes_left = g->module->constant_bytes_left;
  m->fold_work_left = g->module->fold_work_left;
  for (size_t k = 0; k < x->out.n; k++)
    names[k] = wk_val(g, k < x->n_out ? x->out.data[k] : x->updates.data[k])->name;
  wk_graph_extract(m, g, &(wk_graph_piece){.nodes = x->nodes.data, .n_nodes = x->nodes.n,
                                           .in = x->in.data, .n_in = x->in.n, .out = x->out.data,
                                           .n_out = x->out.n, .out_names = names,
                                           .updates = x->updates.data});
  for (size_t k = 0; k < x->n_in; k++) /* where a variable lies is a tensor for other targets */
    wk_val(m->main, m->main->inputs.data[k])->initial = NULL;
  return m;
}

wk_status wk_cut_add_own(wk_cut *c, wk_module *m, uint32_t target, uint32_t from, uint32_t to) {
  wk_part_row r = {.kind = WICK_ROW_RUN, .part = add_part(c, m, target, NULL, true)};
  if (from != WK_NONE) wk_vec_push(&r.tensors, from);
  wk_vec_push(&r.tensors, to);
  wk_vec_push(&c->p->rows, r);
  c->tensors.data[to].writer = target;
  return wk_module_verify(m);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static bool is_row_major(const wk_type *t, const wk_edge_layout *l) {
  return wk_cut_same_layout(t, l, &wk_cut_row_major_layout);
}

/* Inputs come as the tensor lies where the host reads, else as the target wishes. */
static wk_status take_tensor(wk_cut *c, const wk_graph *g, wk_value_id v, uint32_t target,
                             wk_graph *part, size_t k, uint32_t *tensor, wk_part_row *r) {
  wk_edge_layout l;
  WK_TRY(wk_cut_find_tensor(c, g, tensor, v));
  uint32_t t = tensor[v];
  if (wk_cut_is_host(c, target)) l = c->tensors.data[t].layout;
  else wk_cut_layout_of(c, target, g, v, false, &l);
  WK_TRY(wk_cut_in_layout(c, &l, target, &t));
  wk_vec_push(&r->tensors, t);
  return is_row_major(&wk_val(g, v)->type, &l) ? NULL : wk_cut_lay_input(part, k, &l);
}

/* What the first target that reads v wishes, if there is one but the host. */
static void layout_of_user(wk_cut *c, const wk_graph *g, const wk_uses *uses,
                           const wk_cut_groups *groups, wk_value_id v, wk_edge_layout *out) {
  *out = wk_cut_row_major_layout;
  for (uint32_t k = uses->first[v]; k < uses->first[v + 1]; k++) {
    uint32_t user = uses->uses[k].node;
    if (user == WK_NONE) continue;
    uint32_t target = groups->target[groups->of[user]];
    if (target == wk_cut_control(c) || wk_cut_is_host(c, target)) continue;
    wk_cut_layout_of(c, target, g, v, false, out);
    return;
  }
}

/* Results are written as the target wishes, the host's as who reads them wishes; where a tensor is
 * there already, in row-major order, they are copied to it. */
static wk_status give_tensor(wk_cut *c, const wk_graph *g, const wk_uses *uses,
                             const wk_cut_groups *groups, wk_value_id v, uint32_t target,
                             wk_graph *part, size_t k, uint32_t *tensor, wk_part_row *r) {
  wk_edge_layout l;
  const wk_value *x = wk_val(g, v);
  if (!wk_cut_is_host(c, target))
    wk_cut_layout_of(c, target, g, v, true, &l);
  else if (tensor[v] == WK_NONE) layout_of_user(c, g, uses, groups, v, &l);
  else l = c->tensors.data[tensor[v]].layout;
  uint32_t t = tensor[v];
  if (t == WK_NONE) t = tensor[v] = wk_cut_edge(c, x->name, &x->type, &l);
  else if (!wk_cut_same_layout(&x->type, &c->tensors.data[t].layout, &l))
    t = wk_cut_can_alias(c, t, &l) ? wk_cut_alias(c, t, &l)
                                   : wk_cut_edge(c, x->name, &x->type, &l);
  c->tensors.data[t].writer = target;
  wk_vec_push(&r->tensors, t);
  return is_row_major(&x->type, &l) ? NULL : wk_cut_lay_output(part, k, &l);
}

static wk_status fill_row(wk_cut *c, const wk_graph *g, const wk_uses *uses,
                          const wk_cut_groups *groups, const piece *x, uint32_t target,
                          wk_module *m, uint32_t *tensor, wk_part_row *r) {
  for (size_t k = 0; k < x->n_in; k++)
    WK_TRY(take_tensor(c, g, x->in.data[k], target, m->main, k, tensor, r));
  for (size_t k = 0; k < x->n_out; k++)
    WK_TRY(give_tensor(c, g, uses, groups, x->out.data[k], target, m->main, k, tensor, r));
  if (x->is_host) WK_TRY(wk_cut_lay_variables(c, g, uses, m->main));
  WK_TRY(wk_module_normalise(m));
  return wk_module_verify(m);
}

static void note_nodes(wk_cut *c, const wk_graph *g, const piece *x, uint32_t part) {
  for (size_t k = 0; k < x->nodes.n; k++)
    wk_vec_push(&c->p->parts.data[part].origin, x->nodes.data[k]);
  if (g != g->module->main) return;
  for (size_t k = 0; k < x->nodes.n; k++) c->p->of.data[x->nodes.data[k]] = part;
}

static wk_status add_piece(wk_cut *c, const wk_graph *g, const wk_uses *uses,
                           const wk_cut_groups *groups, const piece *x, uint32_t target,
                           uint32_t *tensor) {
  wk_part_row r = {.kind = WICK_ROW_RUN};
  wk_module *m = module_of(c, g, x);
  wk_status s = fill_row(c, g, uses, groups, x, target, m, tensor, &r);
  if (s) {
    wk_vec_free(&r.tensors);
    wk_module_free(m);
    return s;
  }
  r.part = add_part(c, m, target, g, true);
  note_nodes(c, g, x, r.part);
  wk_vec_push(&c->p->rows, r);
  for (size_t k = 0; k < x->n_out; k++) {
    uint32_t written = r.tensors.data[x->n_in + k];
    uint32_t wanted = tensor[x->out.data[k]];
    bool is_there = written == wanted || c->p->tensors.data[written].alias == wanted;
    if (!is_there) WK_TRY(wk_cut_copy(c, written, wanted, WK_NONE));
  }
  return NULL;
}

wk_status wk_cut_constant(wk_cut *c, const wk_graph *g, wk_value_id v, uint32_t to) {
  piece x = {.n_out = 1};
  wk_vec_push(&x.out, v);
  wk_vec_push(&x.updates, WK_NONE);
  wk_module *m = module_of(c, g, &x);
  piece_free(&x);
  return wk_cut_add_own(c, m, wk_cut_host(c), WK_NONE, to);
}

wk_status wk_cut_true(wk_cut *c, uint32_t to) {
  wk_module *m = wk_module_new("true");
  wk_graph *g = wk_graph_new(m, "true");
  wk_graph_output(g, "true", wk_graph_scalar(g, WK_BOOL, 1));
  return wk_cut_add_own(c, m, wk_cut_host(c), WK_NONE, to);
}

/* ---- a graph --------------------------------------------------------------------------------- */

/* The host has a model with a variable that nothing makes anew. */
static void leave_to_host(wk_cut *c, const wk_graph *g, const char *name, uint32_t *target) {
  const char *why = wk_arena_printf(c->p->arena, "no part would change variable %%%s, so the model "
                                    "is the host's as a whole", name);
  uint32_t host = wk_cut_host(c);
  if (!c->targets->has_host) {
    c->unsupported = wk_error_at(WK_UNSUPPORTED, name, "a variable that only a host could have");
    return;
  }
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (target[i] < host)
      wk_vec_push(&c->p->reasons, ((wk_part_reason){
          .node = wk_arena_strdup(c->p->arena, n->name), .op = wk_op_get(n->op)->name,
          .refused = target[i], .target = host, .reason = why}));
    target[i] = host;
  }
}

static wk_cut_groups groups_of(wk_cut *c, wk_graph *g) {
  uint32_t *target = wk_cut_assign(c, g);
  wk_cut_groups groups = wk_cut_group(c, g, target);
  while (!c->unsupported && wk_cut_move_islands(c, g, &groups, target))
    groups = wk_cut_group(c, g, target);
  const char *unchanged = c->unsupported ? NULL : wk_cut_unchanged(c, g, &groups);
  if (!unchanged) return groups;
  leave_to_host(c, g, unchanged, target);
  return wk_cut_group(c, g, target);
}

static wk_status cut_groups(wk_cut *c, wk_graph *g, const wk_cut_groups *groups,
                            uint32_t *tensor) {
  WK_TRY(wk_cut_save_variables(c, g, groups));
  wk_uses uses = wk_graph_uses(g, c->scratch);
  uint32_t *taken = wk_arena_alloc(c->scratch, g->values.n * sizeof *taken);
  for (uint32_t k = 0; k < groups->n; k++) {
    wk_status s;
    piece x = piece_of(c, g, &uses, groups, k, taken);
    if (groups->target[k] == wk_cut_control(c))
      s = wk_cut_control_rows(c, g, x.nodes.data[0], tensor);
    else s = add_piece(c, g, &uses, groups, &x, groups->target[k], tensor);
    piece_free(&x);
    WK_TRY(s);
  }
  return NULL;
}

wk_status wk_cut_graph(wk_cut *c, wk_graph *g, uint32_t *tensor) {
  wk_cut_groups groups = groups_of(c, g);
  return c->unsupported ? NULL : cut_groups(c, g, &groups, tensor);
}

/* ---- the model ------------------------------------------------------------------------------- */

static void add_ports(wk_cut *c, const wk_graph *g, uint32_t *tensor) {
  c->p->n_in = (uint32_t)wk_graph_plain_inputs(g);
  c->p->n_out = (uint32_t)wk_graph_plain_outputs(g);
  for (size_t i = 0; i < c->p->n_in; i++) {
    const wk_value *v = wk_val(g, g->inputs.data[i]);
    tensor[g->inputs.data[i]] = wk_cut_edge(c, v->name, &v->type, NULL);
  }
  for (size_t i = 0; i < c->p->n_out; i++) {
    wk_value_id v = g->outputs.data[i];
    uint32_t t = wk_cut_edge(c, g->output_names.data[i], &wk_val(g, v)->type, NULL);
    c->p->tensors.data[t].labels = wk_module_labels(g->module, g->output_names.data[i]);
    if (wk_val(g, v)->kind == WK_VALUE_NODE && tensor[v] == WK_NONE) tensor[v] = t;
  }
}

/* Outputs that no part writes: inputs, outputs that are there twice, constants. */
static wk_status copy_outputs(wk_cut *c, const wk_graph *g, uint32_t *tensor) {
  for (size_t i = 0; i < c->p->n_out; i++) {
    uint32_t to = c->p->n_in + (uint32_t)i;
    wk_value_id v = g->outputs.data[i];
    if (!wk_is_const(g, v)) WK_TRY(wk_cut_find_tensor(c, g, tensor, v));
    if (wk_is_const(g, v)) WK_TRY(wk_cut_constant(c, g, v, to));
    else if (tensor[v] != to) WK_TRY(wk_cut_copy(c, tensor[v], to, WK_NONE));
  }
  return NULL;
}

/* One part is enough: the module stays what it is. */
static void keep_whole(wk_cut *c, wk_module *m, uint32_t target) {
  wk_part_row r = {.kind = WICK_ROW_RUN, .part = add_part(c, m, target, m->main, false)};
  for (uint32_t t = 0; t < c->p->n_in + c->p->n_out; t++) wk_vec_push(&r.tensors, t);
  for (size_t i = 0; i < c->p->of.n; i++) {
    c->p->of.data[i] = r.part;
    wk_vec_push(&c->p->parts.data[r.part].origin, (uint32_t)i);
  }
  wk_vec_push(&c->p->rows, r);
}

/* Inputs and outputs of the model are row-major. */
static bool wishes_layouts(const wk_cut *c, uint32_t target) {
  return c->targets->list[target]->target->edge != NULL;
}

/* Each by a node of its own, as those that take graphs want them. */
static bool are_outputs_plain(const wk_graph *g) {
  for (size_t i = 0; i < g->outputs.n; i++) {
    if (wk_val(g, g->outputs.data[i])->kind != WK_VALUE_NODE) return false;
    for (size_t k = 0; k < i; k++)
      if (g->outputs.data[k] == g->outputs.data[i]) return false;
  }
  return true;
}

static bool can_be_whole(const wk_cut *c, const wk_graph *g, uint32_t target) {
  bool takes_graph = c->targets->list[target]->target->takes_graph;
  return !wishes_layouts(c, target) && (!takes_graph || are_outputs_plain(g));
}

static wk_status cut_module(wk_cut *c, wk_module *m) {
  wk_graph *g = m->main;
  uint32_t *tensor = wk_arena_alloc(c->scratch, g->values.n * sizeof *tensor);
  for (size_t v = 0; v < g->values.n; v++) tensor[v] = WK_NONE;
  for (size_t i = 0; i < g->nodes.n; i++) wk_vec_push(&c->p->of, WK_NONE);
  add_ports(c, g, tensor);
  wk_cut_find_variables(c, g);
  wk_cut_groups groups = groups_of(c, g);
  if (c->unsupported) return NULL;
  bool one = groups.n == 1 && groups.target[0] != wk_cut_control(c);
  if (groups.n == 0 || (one && can_be_whole(c, g, groups.target[0]))) {
    keep_whole(c, m, groups.n ? groups.target[0] : wk_cut_host(c));
    return NULL;
  }
  WK_TRY(cut_groups(c, g, &groups, tensor));
  return copy_outputs(c, g, tensor);
}

wk_status wk_partition(wk_module *m, wk_owners *owners, const wk_part_refusals *refused,
                       bool lays_variables, wk_parts **out) {
  const wk_targets *t = wk_owners_targets(owners);
  wk_arena *a = wk_arena_new();
  wk_parts *p = wk_arena_alloc(a, sizeof *p);
  *p = (wk_parts){.arena = a, .targets = t, .model = m};
  wk_cut c = {.p = p, .owners = owners, .targets = t, .refused = refused,
              .lays_variables = lays_variables,
              .scratch = wk_arena_new()};
  wk_status s = cut_module(&c, m);
  if (c.n_unsupported > WK_CUT_NAMED)
    c.unsupported = wk_status_item(c.unsupported, "and %zu other%s",
                                   c.n_unsupported - WK_CUT_NAMED,
                                   c.n_unsupported == WK_CUT_NAMED + 1 ? "" : "s");
  if (t->host_name && !t->has_host && c.n_unsupported == c.n_at_ends)
    c.unsupported = wk_status_item(c.unsupported, "%s at the ends of the model: --place %s=%s "
                                   "leaves these to the host",
                                   c.n_at_ends == 1 ? "it stands" : "all of them stand",
                                   WK_TARGET_ENDS, t->host_name);
  if (!s) s = c.unsupported;
  else wk_status_free(c.unsupported);
  if (!s) s = wk_cut_plan(p);
  for (size_t i = 0; i < p->tensors.n; i++)
    p->tensors.data[i].quantised = wk_module_quantised(m, p->tensors.data[i].name);
  wk_cut_restore_inputs(&c);
  wk_arena_free(c.scratch);
  wk_vec_free(&c.tensors);
  wk_vec_free(&c.converted);
  wk_vec_free(&c.variables);
  if (s) wk_parts_free(p);
  else *out = p;
  return s;
}

void wk_parts_free(wk_parts *p) {
  if (!p) return;
  for (size_t i = 0; i < p->parts.n; i++) {
    wk_program_free(p->parts.data[i].program);
    wk_vec_free(&p->parts.data[i].origin);
    if (p->parts.data[i].owns_module) wk_module_free(p->parts.data[i].module);
  }
  for (size_t i = 0; i < p->rows.n; i++) {
    wk_vec_free(&p->rows.data[i].tensors);
    wk_vec_free(&p->rows.data[i].waits);
  }
  wk_vec_free(&p->parts);
  wk_vec_free(&p->tensors);
  wk_vec_free(&p->rows);
  wk_vec_free(&p->reasons);
  wk_vec_free(&p->of);
  wk_arena_free(p->arena);
}
