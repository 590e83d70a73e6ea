/* SPDX-License-Identifier: Apache-2.0
 * A float model stored in 16 bits: values of f32 become f16 or bf16, constants with them, where the
 * operator takes that; the others keep f32 between conversions, as do inputs and outputs of every
 * graph. What an operator computes in and where it rounds is the same for all (wk_compute_dtype).
 *
 * No finite constant becomes infinite and none but zero becomes zero: masks stay something that can
 * be multiplied by 0, and the small number that keeps a divisor from 0 does so still. */
#include <math.h>
#include <string.h>

#include "compiler/passes/passes.h"

typedef struct {
  wk_graph *g;
  wk_dtype to;
  wk_arena *scratch;
  wk_value_id *same; /* per value of the graph: what it is now; WK_NONE: only `half` yet */
  wk_value_id *half; /* per value: the same in 16 bits; WK_NONE: not yet */
  bool *done;        /* per node: another one computes its results */
} job;

static bool is_f32(const job *s, wk_value_id v) {
  return v != WK_NONE && wk_val(s->g, v)->type.dtype == WK_F32;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* The least positive and the largest number of a type. */
static void limits(wk_dtype t, double *least, double *most) {
  *least = t == WK_F16 ? 0x1p-24 : 0x1p-133;
  *most = t == WK_F16 ? 65504 : 0x1.fep127;
}

static double kept(double v, double least, double most) {
  if (!isfinite(v) || v == 0) return v;
  return copysign(fmin(fmax(fabs(v), least), most), v);
}

static wk_status store_constant(job *s, wk_value_id v) {
  const wk_value *from = wk_val(s->g, v);
  const void *data = from->data;
  wk_type t = from->type;
  double least, most;
  void *out;
  t.dtype = s->to;
  limits(s->to, &least, &most);
  WK_TRY(wk_graph_constant_alloc(s->g, NULL, &t, &s->half[v], &out));
  for (int64_t i = 0, n = wk_type_count(&t); i < n; i++)
    wk_store_f64(out, s->to, i, kept(wk_load_f64(data, WK_F32, i), least, most));
  wk_graph_take_name(s->g, v, s->half[v]);
  return NULL;
}

/* ---- conversions ----------------------------------------------------------------------------- */

static wk_status convert(job *s, wk_value_id v, wk_dtype t, wk_value_id *out) {
  wk_attr_cast *a = wk_attrs_new(s->g->module->arena, WK_OP_CAST);
  a->to = t;
  wk_node_desc d = {.op = WK_OP_CAST, .name = wk_val(s->g, v)->name, .attrs = a, .in = &v,
                    .n_in = 1, .n_out = 1};
  return wk_graph_add(s->g, &d, out);
}

static wk_status as_half(job *s, wk_value_id v, wk_value_id *out) {
  if (s->half[v] == WK_NONE)
    WK_TRY(wk_is_const(s->g, v) ? store_constant(s, v)
                                : convert(s, s->same[v], s->to, &s->half[v]));
  *out = s->half[v];
  return NULL;
}

static wk_status as_before(job *s, wk_value_id v, wk_value_id *out) {
  if (s->same[v] == WK_NONE) WK_TRY(convert(s, s->half[v], WK_F32, &s->same[v]));
  *out = s->same[v];
  return NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool has_f32(const job *s, const wk_node *n) {
  bool found = false;
  for (uint32_t k = 0; k < n->n_in; k++) found = found || is_f32(s, n->in[k]);
  return found;
}

/* A conversion to f32 gives 16 bits; other attributes say nothing of f32. */
static void *attrs_of(const job *s, const wk_node *n) {
  void *attrs = wk_attrs_clone(s->g->module->arena, n->op, n->attrs);
  if (n->op == WK_OP_CAST && ((wk_attr_cast *)attrs)->to == WK_F32)
    ((wk_attr_cast *)attrs)->to = s->to;
  return attrs;
}

/* Each result has 16 bits in place of f32, or is what it was. */
static bool gives(const job *s, const wk_node *n, const wk_value_id *out) {
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (n->out[k] == WK_NONE) continue;
    wk_dtype was = wk_val(s->g, n->out[k])->type.dtype, is = wk_val(s->g, out[k])->type.dtype;
    if (is != was && (was != WK_F32 || is != s->to)) return false;
  }
  return true;
}

static void take_results(job *s, wk_node_id id, const wk_value_id *out) {
  const wk_node *n = wk_nod(s->g, id);
  s->done[id] = true;
  for (uint32_t k = 0; k < n->n_out; k++) {
    wk_value_id v = n->out[k];
    if (v == WK_NONE) continue;
    bool is_half = wk_val(s->g, out[k])->type.dtype != wk_val(s->g, v)->type.dtype;
    s->same[v] = is_half ? WK_NONE : out[k];
    if (is_half) s->half[v] = out[k];
    wk_graph_take_name(s->g, v, out[k]);
  }
}

/* A node of the same kind on 16 bits; *ok is false when there is no such thing. */
static wk_status try_half(job *s, wk_node_id id, bool *ok) {
  wk_node n = *wk_nod(s->g, id);
  wk_value_id *in = wk_arena_alloc(s->scratch, n.n_in * sizeof *in);
  wk_value_id *out = wk_arena_alloc(s->scratch, n.n_out * sizeof *out);
  const char **names = wk_arena_alloc(s->scratch, n.n_out * sizeof *names);
  for (uint32_t k = 0; k < n.n_in; k++) {
    in[k] = n.in[k];
    if (is_f32(s, n.in[k])) WK_TRY(as_half(s, n.in[k], &in[k]));
    else if (n.in[k] != WK_NONE) in[k] = s->same[n.in[k]];
  }
  for (uint32_t k = 0; k < n.n_out; k++)
    names[k] = n.out[k] == WK_NONE ? "" : NULL;
  wk_node_desc d = {.op = n.op, .name = n.name, .attrs = attrs_of(s, &n), .in = in,
                    .n_in = n.n_in, .n_out = n.n_out, .out_names = names};
  wk_status refused = wk_graph_add(s->g, &d, out);
  wk_status_free(refused);
  *ok = !refused;
  if (refused) return NULL;
  wk_node_id made = (wk_node_id)s->g->nodes.n - 1;
  *ok = gives(s, &n, out);
  if (!*ok) wk_node_remove(s->g, made);
  else take_results(s, id, out);
  if (*ok && n.predicate != WK_NONE) wk_nod(s->g, made)->predicate = s->same[n.predicate];
  return NULL;
}

/* The node stays, on what its inputs are now. */
static wk_status keep(job *s, wk_node_id id) {
  for (uint32_t k = 0; k < wk_nod(s->g, id)->n_in; k++) {
    wk_value_id v = wk_nod(s->g, id)->in[k];
    if (v != WK_NONE) WK_TRY(as_before(s, v, &v)); /* may move the array of nodes */
    wk_nod(s->g, id)->in[k] = v;
  }
  wk_node *n = wk_nod(s->g, id);
  if (n->predicate != WK_NONE) n->predicate = s->same[n->predicate];
  return NULL;
}

static wk_status outputs(job *s) {
  for (size_t i = 0; i < s->g->outputs.n; i++) {
    wk_value_id v = s->g->outputs.data[i], now;
    WK_TRY(as_before(s, v, &now));
    s->g->outputs.data[i] = now;
    if (now == v || wk_val(s->g, now)->is_public) continue;
    if (s->half[v] != WK_NONE) wk_graph_take_name(s->g, s->half[v], now);
    wk_val(s->g, now)->is_public = wk_val(s->g, v)->is_public;
  }
  return NULL;
}

static wk_status convert_graph(job *s, int64_t *changes) {
  size_t nodes = s->g->nodes.n;
  for (wk_node_id id = 0; id < nodes; id++) {
    const wk_node *n = wk_nod(s->g, id);
    bool ok = false;
    if (n->dead) continue;
    bool may_change = n->n_bodies == 0 && n->op != WK_OP_CUSTOM; /* its routine knows its types */
    if (may_change && has_f32(s, n)) WK_TRY(try_half(s, id, &ok));
    else if (n->op == WK_OP_CAST && WK_ATTR(n, cast)->to == WK_F32) WK_TRY(try_half(s, id, &ok));
    if (!ok) WK_TRY(keep(s, id));
    *changes += ok;
  }
  WK_TRY(outputs(s));
  for (wk_node_id id = (wk_node_id)nodes; id-- > 0;)
    if (s->done[id]) wk_node_remove(s->g, id);
  return wk_graph_normalise(s->g);
}

wk_status wk_convert_floats(wk_module *m, wk_dtype to, int64_t *changes) {
  wk_status status = NULL;
  for (size_t k = 0; k < m->graphs.n && !status; k++) {
    wk_graph *g = m->graphs.data[k];
    wk_arena *scratch = wk_arena_new();
    job s = {.g = g, .to = to, .scratch = scratch};
    s.same = wk_arena_alloc(scratch, g->values.n * sizeof *s.same);
    s.half = wk_arena_alloc(scratch, g->values.n * sizeof *s.half);
    s.done = wk_arena_alloc(scratch, g->nodes.n);
    for (size_t v = 0; v < g->values.n; v++) {
      s.same[v] = (wk_value_id)v;
      s.half[v] = WK_NONE;
    }
    status = convert_graph(&s, changes);
    wk_arena_free(scratch);
  }
  return status;
}
