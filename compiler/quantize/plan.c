/* SPDX-License-Identifier: Apache-2.0
 * What is quantised. A layer is a node of the table below, the positive number that its sums are
 * multiplied or divided by, and the relu or clip behind that. Values
 * that a quantised layer makes are seen quantised by everybody; what else quantised layers read is
 * quantised for them alone. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compiler/quantize/rms_norm.h"
#include "compiler/quantize/quantize.h"

static const struct {
  wk_op op;
  wk_layer_kind kind;
  const char *onnx;
} kinds[] = {
    {WK_OP_CONV, WK_LAYER_LEADS, "Conv"},
    {WK_OP_CONV_TRANSPOSE, WK_LAYER_LEADS, "ConvTranspose"},
    {WK_OP_MATMUL, WK_LAYER_LEADS, "MatMul"},
    {WK_OP_ADD, WK_LAYER_FOLLOWS, "Add"},
    {WK_OP_SUB, WK_LAYER_FOLLOWS, "Sub"},
    {WK_OP_MUL, WK_LAYER_FOLLOWS, "Mul"},
    {WK_OP_CONCAT, WK_LAYER_FOLLOWS, "Concat"},
    {WK_OP_AVG_POOL, WK_LAYER_FOLLOWS, "AveragePool"},
    {WK_OP_REDUCE_MEAN, WK_LAYER_FOLLOWS, "ReduceMean"},
    {WK_OP_RESIZE, WK_LAYER_FOLLOWS, "Resize"},
    {WK_OP_RELU, WK_LAYER_FOLLOWS, "Relu"},
    {WK_OP_CLIP, WK_LAYER_FOLLOWS, "Clip"},
    {WK_OP_LEAKY_RELU, WK_LAYER_FOLLOWS, "LeakyRelu"},
    {WK_OP_ELU, WK_LAYER_FOLLOWS, "Elu"},
    {WK_OP_SIGMOID, WK_LAYER_FOLLOWS, "Sigmoid"},
    {WK_OP_HARD_SIGMOID, WK_LAYER_FOLLOWS, "HardSigmoid"},
    {WK_OP_HARD_SWISH, WK_LAYER_FOLLOWS, "HardSwish"},
    {WK_OP_SILU, WK_LAYER_FOLLOWS, "Silu"},
    {WK_OP_TANH, WK_LAYER_FOLLOWS, "Tanh"},
    {WK_OP_GELU, WK_LAYER_FOLLOWS, "Gelu"},
    {WK_OP_GELU_TANH, WK_LAYER_FOLLOWS, "GeluTanh"},
    {WK_OP_MISH, WK_LAYER_FOLLOWS, "Mish"},
    {WK_OP_SELU, WK_LAYER_FOLLOWS, "Selu"},
    {WK_OP_CELU, WK_LAYER_FOLLOWS, "Celu"},
    {WK_OP_SOFTPLUS, WK_LAYER_FOLLOWS, "Softplus"},
    {WK_OP_SOFTSIGN, WK_LAYER_FOLLOWS, "Softsign"},
    {WK_OP_LAYER_NORM, WK_LAYER_JOINS, "LayerNormalization"},
    {WK_OP_MAX_POOL, WK_LAYER_CARRIES, "MaxPool"},
    {WK_OP_RESHAPE, WK_LAYER_CARRIES, "Reshape"},
    {WK_OP_TRANSPOSE, WK_LAYER_CARRIES, "Transpose"},
    {WK_OP_SLICE, WK_LAYER_CARRIES, "Slice"},
    {WK_OP_SPLIT, WK_LAYER_CARRIES, "Split"},
    {WK_OP_EXPAND, WK_LAYER_CARRIES, "Expand"},
};

static int kind_of(wk_op op) {
  for (size_t i = 0; i < WK_COUNTOF(kinds); i++)
    if (kinds[i].op == op) return (int)i;
  return -1;
}

const char *wk_quantize_op_name(wk_op op) {
  int k = kind_of(op);
  return k >= 0 ? kinds[k].onnx : wk_op_get(op)->name;
}

static bool is_f32(const wk_graph *g, wk_value_id v) {
  return v != WK_NONE && wk_val(g, v)->type.dtype == WK_F32 && !wk_val(g, v)->type.quant;
}

/* Inputs of layers are activations, but for the bias of a product, scale and bias of a norm. */
static bool is_activation_at(int kind, uint32_t i) {
  switch (kinds[kind].kind) {
    case WK_LAYER_LEADS: return i < 2;
    case WK_LAYER_JOINS: return i < 1;
    default: return true;
  }
}

bool wk_quantize_is_operand(const wk_graph *g, const wk_node *n, uint32_t i) {
  int k = kind_of(n->op);
  return k >= 0 && i < n->n_in && is_activation_at(k, i) && is_f32(g, n->in[i]);
}

/* ---- layers ---------------------------------------------------------------------------------- */

static bool can_be_layer(const wk_graph *g, const wk_node *n) {
  int k = kind_of(n->op);
  if (k < 0 || n->dead || n->predicate != WK_NONE || wk_op_epilogue(n->op, n->attrs))
    return false;
  for (uint32_t i = 0; i < n->n_in; i++)
    if (is_activation_at(k, i) && !is_f32(g, n->in[i])) return false;
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] != WK_NONE && !is_f32(g, n->out[i])) return false; /* positions of a pool */
  if (kinds[k].kind == WK_LAYER_JOINS && n->n_out > 1) return false; /* mean and deviation */
  return n->out[0] != WK_NONE;
}

static bool is_activation(const wk_node *n) {
  return (n->op == WK_OP_RELU || n->op == WK_OP_CLIP) && n->predicate == WK_NONE;
}

/* x times or divided by a positive number, which the other operand is. */
static bool is_scaling(const wk_graph *g, const wk_node *n, wk_value_id x) {
  if ((n->op != WK_OP_MUL && n->op != WK_OP_DIV) || n->predicate != WK_NONE) return false;
  int other = n->in[0] == x;
  const wk_value *by = wk_val(g, n->in[other]);
  if (by->kind != WK_VALUE_CONSTANT || by->type.dtype != WK_F32 ||
      wk_type_count(&by->type) != 1 || (n->op == WK_OP_DIV && !other))
    return false;
  float number = *(const float *)by->data;
  return number > 0 && isfinite(number) &&
         wk_shape_equal(&wk_val(g, x)->type, &wk_val(g, n->out[0])->type);
}

static wk_node_id only_reader(const wk_uses *u, wk_value_id v) {
  return wk_use_count(u, v) == 1 ? u->uses[u->first[v]].node : WK_NONE;
}

/* The number that the sums of a layer that leads are scaled by. */
static wk_node_id scale_of(const wk_graph *g, const wk_uses *u, wk_node_id core) {
  const wk_node *n = wk_nod(g, core);
  if (kinds[kind_of(n->op)].kind != WK_LAYER_LEADS) return WK_NONE;
  wk_node_id next = only_reader(u, n->out[0]);
  return next != WK_NONE && is_scaling(g, wk_nod(g, next), n->out[0]) ? next : WK_NONE;
}

/* The relu or clip that alone reads the result of a layer that computes; `from` makes it. */
static wk_node_id activation_of(const wk_graph *g, const wk_uses *u, wk_node_id core,
                                wk_node_id from) {
  const wk_node *n = wk_nod(g, core);
  int k = kind_of(n->op);
  if (kinds[k].kind >= WK_LAYER_JOINS || is_activation(n)) return from;
  wk_node_id next = only_reader(u, wk_nod(g, from)->out[0]);
  return next != WK_NONE && is_activation(wk_nod(g, next)) ? next : from;
}

/* A norm that is written out and begins with node i. */
static bool add_norm(wk_quantize_plan *p, const wk_uses *u, wk_node_id i) {
  wk_quantize_norm o;
  if (!wk_quantize_norm_at(p->g, u, i, &o) || !is_f32(p->g, wk_nod(p->g, i)->in[0])) return false;
  wk_quantize_layer l = {.op = WK_OP_LAYER_NORM, .kind = WK_LAYER_JOINS, .core = i,
                         .scale = WK_NONE, .last = o.nodes[o.n - 1], .n_written = o.n,
                         .written = wk_arena_memdup(p->arena, o.nodes, o.n * sizeof *o.nodes)};
  l.name = wk_nod(p->g, l.last)->name;
  for (uint32_t k = 0; k < o.n; k++) p->layer_of[o.nodes[k]] = (uint32_t)p->layers.n;
  wk_vec_push(&p->layers, l);
  return true;
}

wk_quantize_plan wk_quantize_plan_make(const wk_module *m) {
  const wk_graph *g = m->main;
  wk_quantize_plan p = {.g = g, .arena = wk_arena_new()};
  p.uses = wk_graph_uses(g, p.arena);
  p.layer_of = wk_arena_alloc(p.arena, g->nodes.n * sizeof *p.layer_of);
  p.seen = wk_arena_alloc(p.arena, g->values.n);
  p.like = wk_arena_alloc(p.arena, g->values.n * sizeof *p.like);
  memset(p.layer_of, 0xff, g->nodes.n * sizeof *p.layer_of);
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (p.layer_of[i] != WK_NONE || add_norm(&p, &p.uses, (wk_node_id)i)) continue;
    if (!can_be_layer(g, n)) continue;
    wk_quantize_layer l = {.name = n->name, .op = n->op, .kind = kinds[kind_of(n->op)].kind,
                           .core = (wk_node_id)i};
    l.scale = scale_of(g, &p.uses, l.core);
    l.last = activation_of(g, &p.uses, l.core, l.scale == WK_NONE ? l.core : l.scale);
    p.layer_of[l.core] = p.layer_of[l.last] = (uint32_t)p.layers.n;
    if (l.scale != WK_NONE) p.layer_of[l.scale] = (uint32_t)p.layers.n;
    wk_vec_push(&p.layers, l);
  }
  return p;
}

void wk_quantize_plan_free(wk_quantize_plan *p) {
  wk_vec_free(&p->layers);
  wk_arena_free(p->arena);
  *p = (wk_quantize_plan){0};
}

/* ---- what is quantised ----------------------------------------------------------------------- */

/* Operand i of what layer l begins with; of a norm that is written out, what it squares. */
static bool is_operand(const wk_quantize_plan *p, const wk_quantize_layer *l, uint32_t i) {
  const wk_node *core = wk_nod(p->g, l->core);
  return l->written ? core->in[i] == core->in[0] : wk_quantize_is_operand(p->g, core, i);
}

static bool is_fed(const wk_quantize_plan *p, const wk_quantize_layer *l) {
  const wk_node *n = wk_nod(p->g, l->core);
  for (uint32_t i = 0; i < n->n_in; i++)
    if (is_operand(p, l, i) && p->seen[n->in[i]] == WK_SEEN_BY_ALL) return true;
  return false;
}

/* Does a layer that leads read what l makes? */
static bool feeds_leader(const wk_quantize_plan *p, const wk_quantize_layer *l) {
  wk_value_id v = wk_nod(p->g, l->last)->out[0];
  for (uint32_t i = p->uses.first[v]; i < p->uses.first[v + 1]; i++) {
    wk_node_id id = p->uses.uses[i].node;
    uint32_t k = id == WK_NONE ? WK_NONE : p->layer_of[id];
    if (k == WK_NONE) continue;
    const wk_quantize_layer *reader = &p->layers.data[k];
    if (reader->kind == WK_LAYER_LEADS && !reader->keep) return true;
  }
  return false;
}

static bool is_quantised(const wk_quantize_plan *p, const wk_quantize_layer *l) {
  if (l->keep) return false;
  return l->kind == WK_LAYER_LEADS || is_fed(p, l) ||
         (l->kind == WK_LAYER_JOINS && feeds_leader(p, l));
}

static void quantise_results(wk_quantize_plan *p, const wk_quantize_layer *l) {
  const wk_node *last = wk_nod(p->g, l->last), *core = wk_nod(p->g, l->core);
  for (uint32_t k = 0; k < last->n_out; k++) {
    wk_value_id v = last->out[k];
    if (v == WK_NONE) continue;
    p->seen[v] = WK_SEEN_BY_ALL;
    if (l->kind == WK_LAYER_CARRIES) p->like[v] = p->like[core->in[0]];
  }
}

/* What only a concatenation reads has the scale of its result: it is rounded to that in any case,
 * and need not be rounded twice. */
static void join_operands(wk_quantize_plan *p, const wk_quantize_layer *l) {
  const wk_node *n = wk_nod(p->g, l->core);
  wk_value_id result = wk_nod(p->g, l->last)->out[0];
  for (uint32_t i = 0; n->op == WK_OP_CONCAT && l->quantised && i < n->n_in; i++) {
    wk_value_id v = n->in[i];
    bool is_own = !wk_is_const(p->g, v) && p->like[v] == v && wk_use_count(&p->uses, v) == 1;
    if (is_own && is_operand(p, l, i)) p->like[v] = p->like[result];
  }
}

size_t wk_quantize_settle(wk_quantize_plan *p) {
  size_t count = 0;
  memset(p->seen, WK_SEEN_BY_NONE, p->g->values.n);
  for (size_t v = 0; v < p->g->values.n; v++) p->like[v] = (wk_value_id)v;
  for (size_t i = 0; i < p->layers.n; i++) {
    wk_quantize_layer *l = &p->layers.data[i];
    l->quantised = is_quantised(p, l);
    if (l->quantised) quantise_results(p, l);
    count += l->quantised;
  }
  for (size_t i = p->layers.n; i-- > 0;) join_operands(p, &p->layers.data[i]);
  for (size_t i = 0; i < p->layers.n; i++) {
    const wk_node *core = wk_nod(p->g, p->layers.data[i].core);
    for (uint32_t k = 0; p->layers.data[i].quantised && k < core->n_in; k++)
      if (is_operand(p, &p->layers.data[i], k) && !p->seen[core->in[k]])
        p->seen[core->in[k]] = WK_SEEN_BY_QUANTISED;
  }
  return count;
}

wk_value_id *wk_quantize_values(const wk_quantize_plan *p, size_t *n) {
  bool *wanted = wk_xcalloc(p->g->values.n, 1);
  for (size_t i = 0; i < p->layers.n; i++) {
    const wk_node *core = wk_nod(p->g, p->layers.data[i].core);
    const wk_node *last = wk_nod(p->g, p->layers.data[i].last);
    for (uint32_t k = 0; k < core->n_in; k++)
      if (is_operand(p, &p->layers.data[i], k) && !wk_is_const(p->g, core->in[k]))
        wanted[core->in[k]] = true;
    for (uint32_t k = 0; k < last->n_out; k++)
      if (last->out[k] != WK_NONE) wanted[last->out[k]] = true;
  }
  wk_value_id *ids = wk_arena_alloc(p->arena, p->g->values.n * sizeof *ids);
  *n = 0;
  for (size_t v = 0; v < p->g->values.n; v++)
    if (wanted[v]) ids[(*n)++] = (wk_value_id)v;
  free(wanted);
  return ids;
}

int wk_quantize_sum_axis(const wk_quantize_plan *p, wk_value_id v) {
  for (size_t i = 0; i < p->layers.n; i++) {
    const wk_node *n = wk_nod(p->g, p->layers.data[i].core);
    if (p->layers.data[i].kind != WK_LAYER_LEADS || n->in[0] != v) continue;
    return n->op == WK_OP_MATMUL ? wk_val(p->g, v)->type.rank - 1 : 1;
  }
  return -1;
}

/* Of the range as it was seen: a method may cut off a mask of few values. */
static double widest_step(const wk_range *r, const wk_quantize_options *o) {
  double all = (double)wk_quantize_params_of(r->min, r->max, o).scale;
  double chosen = (double)wk_range_choose(r, o).scale;
  return all > chosen ? all : chosen;
}

static bool swallows(const wk_quantize_plan *p, const wk_quantize_layer *l, const wk_range *ranges,
                     const wk_quantize_options *o) {
  const wk_node *core = wk_nod(p->g, l->core);
  if (l->op != WK_OP_ADD && l->op != WK_OP_SUB) return false;
  double step = widest_step(&ranges[wk_nod(p->g, l->last)->out[0]], o);
  for (uint32_t i = 0; i < core->n_in; i++) {
    if (wk_is_const(p->g, core->in[i])) continue;
    const wk_range *r = &ranges[core->in[i]];
    if (r->max > r->min && r->max - r->min < 4 * step) return true;
  }
  return false;
}

static const char *unfit(const wk_range *r, bool parts) {
  if (r->nan) return "NaN among its values";
  if (r->infinite) return "infinite values";
  return parts && wk_range_is_parted(r) ? "values too far apart for one scale" : NULL;
}

static const char *unfit_constant(const wk_value *c) {
  const wk_tensor t = {c->type, (void *)c->data};
  wk_range r = {.axis = -1};
  if (c->type.dtype == WK_F32) wk_range_scan(&r, &t);
  return unfit(&r, false);
}

/* What a convolution or product makes has one scale whatever its values are, but for a mask that is
 * added as its bias. */
static const char *why_unfit(const wk_quantize_plan *p, const wk_quantize_layer *l,
                             const wk_range *ranges) {
  const wk_node *core = wk_nod(p->g, l->core), *last = wk_nod(p->g, l->last);
  bool leads = l->kind == WK_LAYER_LEADS, biased = core->n_in > 2 && core->in[2] != WK_NONE;
  const char *why = NULL;
  for (uint32_t i = 0; i < core->n_in && !why; i++) {
    if (core->in[i] == WK_NONE) continue;
    if (wk_is_const(p->g, core->in[i])) why = unfit_constant(wk_val(p->g, core->in[i]));
    else if (is_operand(p, l, i)) why = unfit(&ranges[core->in[i]], !leads);
  }
  for (uint32_t k = 0; k < last->n_out && !why; k++)
    if (last->out[k] != WK_NONE) why = unfit(&ranges[last->out[k]], !leads || biased);
  return why;
}

size_t wk_quantize_spare(wk_quantize_plan *p, const wk_range *ranges,
                         const wk_quantize_options *o) {
  size_t n = 0;
  for (size_t i = 0; i < p->layers.n; i++) {
    wk_quantize_layer *l = &p->layers.data[i];
    if (!l->quantised || l->keep) continue;
    const char *why = why_unfit(p, l, ranges);
    if (!why && swallows(p, l, ranges, o)) why = "an operand would vanish";
    if (!why) continue;
    l->keep = true;
    l->why = why;
    n++;
  }
  return n;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_operator(wk_op op, const char *name) {
  return !strcasecmp(wk_op_get(op)->name, name) || !strcasecmp(wk_quantize_op_name(op), name);
}

static bool is_named(const wk_quantize_plan *p, const wk_quantize_layer *l, const char *name) {
  const wk_node *scale = l->scale == WK_NONE ? NULL : wk_nod(p->g, l->scale);
  return !strcmp(l->name, name) || !strcmp(wk_nod(p->g, l->last)->name, name) ||
         (scale && (!strcmp(scale->name, name) || is_operator(scale->op, name))) ||
         is_operator(l->op, name) ||
         (l->op == WK_OP_MATMUL && !strcasecmp(name, "Gemm"));
}

/* A recurrent layer that was left whole is real anyway. */
static bool is_real(const wk_quantize_plan *p, const char *name) {
  for (size_t i = 0; i < p->g->nodes.n; i++) {
    const wk_node *n = &p->g->nodes.data[i];
    const wk_op_info *op = wk_op_get(n->op);
    if (!n->dead && op->cls == WK_CLASS_RECURRENT &&
        (!strcasecmp(op->name, name) || (n->name && !strcmp(n->name, name))))
      return true;
  }
  return false;
}

wk_status wk_quantize_keep(wk_quantize_plan *p, const char *name) {
  WK_VEC(const char *) names = {0};
  bool any = is_real(p, name);
  for (size_t i = 0; i < p->layers.n; i++) {
    wk_quantize_layer *l = &p->layers.data[i];
    if (is_named(p, l, name)) {
      any = l->keep = true;
      l->why = "--keep-float";
    }
    wk_vec_push(&names, l->name);
    wk_vec_push(&names, wk_quantize_op_name(l->op));
  }
  const char *near = wk_nearest(name, names.data, names.n);
  wk_vec_free(&names);
  if (any) return NULL;
  if (near)
    return wk_error(WK_USAGE, "--keep-float: no node or operator '%s'; did you mean '%s'?", name,
                    near);
  return wk_error(WK_USAGE, "--keep-float: the model has no node or operator '%s' to quantise",
                  name);
}
