/* SPDX-License-Identifier: Apache-2.0
 * Program generation. Every value gets a storage: a view of a buffer. Movement operators cost
 * nothing when storages can be chosen so that source and destination coincide:
 *
 *   backwards  from a value whose storage is fixed (an output, a piece of a concat, the inside of a
 *              pad) to the value it is made of: the producer then writes straight into place;
 *   forwards   from a value to what reshape, transpose, slice, split and expand show of it.
 *
 * Where both ends are fixed or strides cannot express the change, a copy is emitted. The update of
 * a variable is one, behind everything else; where nothing reads the variable behind the producer
 * of its new value, the instruction pass `sink-copies` has that written in place. Copies are
 * counted against what a compiler without this step would make: one per movement operator (and per
 * operand of a concat and result of a split), per graph output that no node makes or that repeats
 * another, per update, and in a loop two per state and one per slice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/expr/narrow.h"
#include "compiler/lower/generate.h"

/* ---- buffers and copies ---------------------------------------------------------------------- */

uint32_t wk_gen_buffer(wk_gen *c, const char *name, int64_t bytes) {
  wk_buffer b = {.name = name, .region = WK_REGION_ACT, .size = bytes, .align = 64, .offset = -1};
  return wk_program_buffer(c->p, &b);
}

static uint32_t const_buffer(wk_gen *c, const wk_value *v) {
  char key[48];
  snprintf(key, sizeof key, "%p:%lld", v->data, (long long)wk_type_bytes(&v->type));
  uint32_t found;
  if (wk_map_get(c->const_index, key, &found)) return found;
  wk_buffer b = {.name = v->name, .region = WK_REGION_CONST, .size = wk_type_bytes(&v->type),
                 .align = 64, .offset = -1, .data = v->data};
  uint32_t id = wk_program_buffer(c->p, &b);
  wk_map_put(c->const_index, wk_arena_strdup(c->scratch, key), id);
  return id;
}

void wk_gen_count_copy(wk_gen *c, const wk_type *t) {
  c->p->copies_before++;
  c->p->copy_bytes_before += wk_type_bytes(t);
}

wk_inst *wk_gen_emit_copy(wk_gen *c, wk_block *b, wk_view dst, wk_view src, const char *name) {
  wk_inst *i = wk_inst_new(c->p, WK_OP_COPY, name, 1, 2);
  dst.role = WK_ROLE_OUT;
  src.role = WK_ROLE_IN;
  i->operands[0] = dst;
  i->operands[1] = src;
  wk_block_append(b, i);
  c->p->copies_after++;
  c->p->copy_bytes_after += wk_view_count(&dst) * wk_dtype_size(dst.dtype);
  return i;
}

wk_inst *wk_gen_copy(wk_gen *c, wk_block *b, const wk_view *dst, const wk_view *src,
                     const char *name) {
  if (wk_view_count(dst) == 0) return NULL;
  wk_view d, s;
  int rank;
  int64_t dims[WK_MAX_RANK];
  if (wk_view_reshape(src, dst->rank, dst->dims, &s)) {
    if (!wk_view_same(dst, &s)) return wk_gen_emit_copy(c, b, *dst, s, name);
  } else if (wk_view_reshape(dst, src->rank, src->dims, &d)) {
    if (!wk_view_same(&d, src)) return wk_gen_emit_copy(c, b, d, *src, name);
  } else if (wk_dims_refine(dst, src, &rank, dims) && wk_view_reshape(src, rank, dims, &s) &&
             wk_view_reshape(dst, rank, dims, &d)) {
    return wk_gen_emit_copy(c, b, d, s, name);
  } else {
    wk_type t = wk_type_make(src->dtype, src->rank, src->dims);
    wk_view tmp = wk_view_dense(wk_gen_buffer(c, "reshape", wk_type_bytes(&t)), &t, WK_ROLE_OUT);
    wk_gen_emit_copy(c, b, tmp, *src, name);
    if (!wk_view_reshape(&tmp, dst->rank, dst->dims, &s)) WK_BUG("a dense view is not reshaped");
    wk_gen_emit_copy(c, b, *dst, s, name);
  }
  return NULL;
}

const wk_view *wk_gen_storage(wk_gen *c, wk_gen_graph *gg, wk_value_id v) {
  wk_storage *s = &gg->st[v];
  if (!s->set) {
    const wk_value *val = wk_val(gg->g, v);
    if (val->kind == WK_VALUE_CONSTANT)
      s->view = wk_view_dense(const_buffer(c, val), &val->type, WK_ROLE_IN);
    else
      s->view = wk_view_ordered(wk_gen_buffer(c, val->name, wk_type_bytes(&val->type)), val);
    s->set = true;
  }
  return &s->view;
}

/* ---- computing nodes ------------------------------------------------------------------------- */

/* Iteration dims of a reduce: its inputs broadcast together. */
static wk_type reduce_space(const wk_gen_graph *gg, const wk_node *n) {
  wk_type t = wk_val(gg->g, n->in[0])->type;
  for (uint32_t i = 1; i < n->n_in; i++) {
    wk_type both;
    wk_status s = wk_type_broadcast(&t, &wk_val(gg->g, n->in[i])->type, &both);
    if (s) WK_BUG("verified shapes do not broadcast");
    t = both;
  }
  return t;
}

static wk_view reduce_out(const wk_node *n, const wk_type *space, const wk_view *y) {
  const wk_attr_reduce *a = WK_ATTR(n, reduce);
  wk_view w = *y;
  w.rank = space->rank;
  int next = 0, k = 0;
  for (int i = 0; i < space->rank; i++) {
    bool reduced = k < a->axes.n && a->axes.v[k] == i;
    w.dims[i] = space->dims[i];
    w.strides[i] = reduced ? 0 : y->strides[a->keepdims ? i : next];
    if (reduced) k++;
    else next++;
  }
  return w;
}

static wk_view matmul_operand(const wk_view *x, const wk_type *y, int64_t rows, int64_t cols) {
  int64_t dims[WK_MAX_RANK];
  memcpy(dims, y->dims, sizeof dims);
  dims[y->rank - 2] = rows;
  dims[y->rank - 1] = cols;
  return wk_view_broadcast(x, y->rank, dims);
}

/* Operand i of a computing node as the instruction wants it (program.h). */
static wk_view operand_view(const wk_gen_graph *gg, const wk_node *n, uint32_t i,
                            const wk_view *x) {
  const wk_type *y = n->n_out ? &wk_val(gg->g, n->out[0])->type : NULL;
  switch (n->op) {
  case WK_OP_MAP: return wk_view_broadcast(x, y->rank, y->dims);
  case WK_OP_REDUCE: {
    wk_type space = reduce_space(gg, n);
    return wk_view_broadcast(x, space.rank, space.dims);
  }
  case WK_OP_MATMUL: {
    const wk_type *a = &wk_val(gg->g, n->in[0])->type, *b = &wk_val(gg->g, n->in[1])->type;
    if (i == 0) return matmul_operand(x, y, y->dims[y->rank - 2], a->dims[a->rank - 1]);
    if (i == 1) return matmul_operand(x, y, b->dims[b->rank - 2], y->dims[y->rank - 1]);
    return i == 2 ? *x : wk_view_broadcast(x, y->rank, y->dims);
  }
  default:
    return i < wk_op_first_elementwise(n->op) ? *x : wk_view_broadcast(x, y->rank, y->dims);
  }
}

static uint32_t wanted_outputs(const wk_node *n) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < n->n_out; k++) count += n->out[k] != WK_NONE;
  return count;
}

/* A copy whose expressions compute with the storage of narrow types, as the views show it. */
static void *storage_attrs(wk_arena *a, wk_op op, const void *attrs) {
  const wk_op_info *info = wk_op_get(op);
  char *copy = wk_attrs_clone(a, op, attrs);
  for (int f = 0; f < info->n_fields; f++) {
    const wk_expr **e = (const wk_expr **)(copy + info->fields[f].offset);
    if (info->fields[f].kind == WK_FIELD_EXPR && *e) *e = wk_expr_storage(a, *e);
  }
  return copy;
}

/* The axis of the result that axis d of the instruction is; -1: it is folded. */
static int axis_of_result(const wk_node *n, int d) {
  if (n->op != WK_OP_REDUCE) return d;
  const wk_attr_reduce *a = WK_ATTR(n, reduce);
  int before = 0;
  for (int64_t k = 0; k < a->axes.n; k++) {
    if (a->axes.v[k] == d) return -1;
    before += a->axes.v[k] < d;
  }
  return a->keepdims ? d : d - before;
}

/* From which on what a matmul sums over is zero. */
static wk_value_id summed_below(const wk_gen_graph *gg, const wk_node *n) {
  int a = wk_val(gg->g, n->in[0])->type.rank, b = wk_val(gg->g, n->in[1])->type.rank;
  wk_value_id below = gg->demand[n->in[0]].zero[a - 1];
  return below != WK_NONE ? below : gg->demand[n->in[1]].zero[b - 2];
}

/* It has been written when the next instructions begin. */
static bool is_there(const wk_gen_graph *gg, wk_value_id v) {
  const wk_value *x = wk_val(gg->g, v);
  return x->kind != WK_VALUE_NODE || gg->is_done[x->node];
}

static void add_limit(wk_gen *c, wk_gen_graph *gg, wk_inst *i, int axis, wk_value_id below) {
  if (below == WK_NONE || i->n_limits == WK_MAX_LIMITS || !is_there(gg, below)) return;
  wk_limit l = {axis, *wk_gen_storage(c, gg, below), wk_view_none()};
  l.size.rank = 0;
  if (wk_is_predicate(gg->g, below)) {
    const wk_gen_rows *r = wk_gen_rows_of(c, gg, below);
    if (!r) return;
    l.size = r->size;
    l.rows = r->rows;
  }
  l.size.role = l.rows.role = WK_ROLE_IN;
  if (l.size.step == 0) i->limits[i->n_limits++] = l;
}

/* Axis d of the instruction is `axis` of the node's results. Rows of several axes are for products
 * alone; none list what a gather reads. */
static void add_need(wk_gen *c, wk_gen_graph *gg, const wk_node *n, wk_inst *i, int d, int axis) {
  int span;
  wk_value_id below = wk_gen_needed_below(gg, n, axis, &span);
  bool is_product = n->op == WK_OP_MATMUL;
  const int most = n->op == WK_OP_GATHER ? 0 : 1;
  if (span > most && !is_product) return;
  if (is_product && d + span >= i->operands[0].rank && span) return;
  add_limit(c, gg, i, d, below);
}

static void set_limits(wk_gen *c, wk_gen_graph *gg, const wk_node *n, wk_inst *i) {
  bool is_plain = n->op == WK_OP_MAP || n->op == WK_OP_REDUCE || n->op == WK_OP_MATMUL ||
                  n->op == WK_OP_GATHER;
  int rank = i->operands[0].rank;
  if (!gg->demand || !is_plain) return;
  if (n->op == WK_OP_MATMUL) add_limit(c, gg, i, rank, summed_below(gg, n));
  for (int d = rank - 1; d >= 0; d--) {
    int axis = axis_of_result(n, d);
    if (axis < 0) add_limit(c, gg, i, d, gg->demand[n->out[0]].fold[d]);
    else add_need(c, gg, n, i, d, axis);
  }
}

void wk_gen_limit_copy(wk_gen *c, wk_gen_graph *gg, const wk_node *n, wk_inst *copy,
                       const wk_type *y, int axis) {
  if (!gg->demand || !copy) return;
  const wk_view *w = &copy->operands[0];
  int64_t before_d = 1, before_k = 1; /* positions of the axes before d and k */
  for (int d = 0, k = 0; d < w->rank && k < y->rank;) {
    bool meets = before_d == before_k, is_same = w->dims[d] == y->dims[k];
    bool d_next = before_d < before_k || (meets && (is_same || w->dims[d] == 1));
    bool k_next = before_k < before_d || (meets && (is_same || y->dims[k] == 1));
    if (meets && is_same && k != axis) add_need(c, gg, n, copy, d, k);
    if (meets && !d_next && !k_next) d_next = k_next = true;
    if (d_next) before_d *= w->dims[d++];
    if (k_next) before_k *= y->dims[k++];
  }
}

static void gen_compute(wk_gen *c, wk_gen_graph *gg, const wk_node *n, const void *attrs) {
  wk_inst *inst = wk_inst_new(c->p, n->op, n->name, n->n_out, n->n_out + n->n_in);
  inst->attrs = storage_attrs(c->p->arena, n->op, attrs);
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (n->out[k] == WK_NONE) continue;
    wk_view w = *wk_gen_storage(c, gg, n->out[k]);
    if (n->op == WK_OP_REDUCE) {
      wk_type space = reduce_space(gg, n);
      w = reduce_out(n, &space, &w);
    }
    w.role = WK_ROLE_OUT;
    inst->operands[k] = w;
  }
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == WK_NONE) continue;
    wk_view w = operand_view(gg, n, i, wk_gen_storage(c, gg, n->in[i]));
    w.role = WK_ROLE_IN;
    inst->operands[n->n_out + i] = w;
  }
  set_limits(c, gg, n, inst);
  wk_block_append(gg->block, inst);
}

/* The instruction writes all its results: those that nobody wants leave the expression. */
static void gen_map(wk_gen *c, wk_gen_graph *gg, const wk_node *n) {
  uint32_t wanted = wanted_outputs(n), k = 0;
  if (wanted == n->n_out) {
    gen_compute(c, gg, n, n->attrs);
    return;
  }
  const wk_expr *body = WK_ATTR(n, map)->body;
  wk_expr_builder *b = wk_expr_begin(c->scratch);
  uint16_t *in = wk_arena_alloc(c->scratch, n->n_in * sizeof *in);
  uint16_t *results = wk_arena_alloc(c->scratch, wanted * sizeof *results);
  wk_value_id *out = wk_arena_alloc(c->scratch, wanted * sizeof *out);
  for (uint32_t i = 0; i < n->n_in; i++)
    in[i] = wk_expr_input(b, i, wk_val(gg->g, n->in[i])->type.dtype);
  for (uint32_t i = 0; i < n->n_out; i++) {
    if (n->out[i] == WK_NONE) continue;
    results[k] = wk_expr_inline(b, body, in, (int)i);
    out[k++] = n->out[i];
  }
  wk_node narrow = *n;
  wk_attr_map attrs = {.body = wk_expr_finish(b, results, (int)wanted)};
  narrow.out = out;
  narrow.n_out = wanted;
  gen_compute(c, gg, &narrow, &attrs);
}

/* Results of a fold over nothing: a map, for the views of a reduce have no positions then. */
static void gen_empty_reduce(wk_gen *c, wk_gen_graph *gg, const wk_node *n, const wk_type *space) {
  const wk_attr_reduce *a = WK_ATTR(n, reduce);
  wk_view y = reduce_out(n, space, wk_gen_storage(c, gg, n->out[0]));
  y.role = WK_ROLE_OUT;
  for (int64_t k = 0; k < a->axes.n; k++) y.dims[a->axes.v[k]] = 1;
  wk_dtype t = wk_folded_dtype(a->kind, a->pre, wk_val(gg->g, n->in[0])->type.dtype);
  wk_scalar v = wk_fold_neutral(a->kind, t);
  wk_expr_builder *b = wk_expr_begin(c->scratch);
  uint16_t r = wk_dtype_is_float(t) ? wk_expr_f(b, t, v.f) : wk_expr_i(b, t, v.i);
  if (a->post) r = wk_expr_inline(b, a->post, &r, 0);
  const wk_attr_map map = {.body = wk_expr_finish(b, &r, 1)};
  wk_inst *inst = wk_inst_new(c->p, WK_OP_MAP, n->name, 1, 1);
  inst->attrs = storage_attrs(c->p->arena, WK_OP_MAP, &map);
  inst->operands[0] = y;
  wk_block_append(gg->block, inst);
}

static void gen_reduce(wk_gen *c, wk_gen_graph *gg, const wk_node *n) {
  wk_type space = reduce_space(gg, n);
  bool is_empty = wk_type_count(&space) == 0 && wk_type_count(&wk_val(gg->g, n->out[0])->type) > 0;
  if (is_empty) gen_empty_reduce(c, gg, n, &space);
  else gen_compute(c, gg, n, n->attrs);
}

static void gen_instructions(wk_gen *c, wk_gen_graph *gg, const wk_node *n) {
  bool is_control = n->op == WK_OP_IF || n->op == WK_OP_LOOP;
  if (!is_control && wanted_outputs(n) == 0) return;
  if (wk_gen_movement(c, gg, n)) return;
  switch (n->op) {
  case WK_OP_IF: wk_gen_if(c, gg, n); break;
  case WK_OP_LOOP: wk_gen_loop(c, gg, n); break;
  case WK_OP_MAP: gen_map(c, gg, n); break;
  case WK_OP_REDUCE: gen_reduce(c, gg, n); break;
  default: gen_compute(c, gg, n, n->attrs); break;
  }
}

/* ---- predicates before who goes by them ------------------------------------------------------ */

/* Marks the nodes that v waits for, operands of which come before them; false: n is one. */
static bool mark_missing(const wk_gen_graph *gg, wk_value_id v, const wk_node *n, bool *marked) {
  marked[wk_val(gg->g, v)->node] = true;
  for (size_t i = wk_val(gg->g, v)->node + 1; i-- > 0;) {
    const wk_node *maker = wk_nod(gg->g, (wk_node_id)i);
    if (!marked[i]) continue;
    if (maker == n) return false;
    for (uint32_t k = 0; k <= maker->n_in; k++) {
      wk_value_id from = k < maker->n_in ? maker->in[k] : maker->predicate;
      if (from != WK_NONE && !is_there(gg, from)) marked[wk_val(gg->g, from)->node] = true;
    }
  }
  return true;
}

static void gen_done(wk_gen *c, wk_gen_graph *gg, wk_node_id id) {
  gen_instructions(c, gg, wk_nod(gg->g, id));
  gg->is_done[id] = true;
}

/* What sizes and wanted predicates of the node's results are computed by, unless that needs the
 * node. */
static void gen_predicates(wk_gen *c, wk_gen_graph *gg, const wk_node *n) {
  const size_t nodes = gg->g->nodes.n;
  bool *marked = NULL;
  int rank = n->n_out && n->out[0] != WK_NONE ? wk_val(gg->g, n->out[0])->type.rank : 0;
  if (!gg->demand || n->op != WK_OP_MATMUL) return;
  for (int axis = 0, span; axis < rank; axis++) {
    wk_value_id p = wk_gen_needed_below(gg, n, axis, &span);
    if (p == WK_NONE || is_there(gg, p) || (span && !gg->rows[p].is_wanted)) continue;
    marked = wk_arena_alloc(c->scratch, nodes);
    if (!mark_missing(gg, p, n, marked)) continue;
    for (size_t i = 0; i < nodes; i++)
      if (marked[i]) gen_done(c, gg, (wk_node_id)i);
  }
}

static void gen_node(wk_gen *c, wk_gen_graph *gg, wk_node_id id) {
  if (gg->is_done[id]) return;
  gen_predicates(c, gg, wk_nod(gg->g, id));
  gen_done(c, gg, id);
}

/* ---- sizes first ----------------------------------------------------------------------------- */

enum { MOST_EARLY = 1 << 16 }; /* elements of what a size is computed from */

static bool may_be_early(const wk_graph *g, const wk_node *n, const bool *can) {
  if (n->dead || n->predicate != WK_NONE || n->n_bodies) return false;
  if (n->op != WK_OP_MAP && n->op != WK_OP_REDUCE && n->op != WK_OP_GATHER &&
      wk_op_get(n->op)->cls != WK_CLASS_MOVEMENT)
    return false;
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != WK_NONE && wk_type_count(&wk_val(g, n->out[k])->type) > MOST_EARLY)
      return false;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE && wk_val(g, n->in[k])->kind == WK_VALUE_NODE &&
        !can[wk_val(g, n->in[k])->node])
      return false;
  return true;
}

/* All nodes that v is computed by. */
static void mark_early(wk_gen_graph *gg, wk_value_id v) {
  if (v == WK_NONE || wk_val(gg->g, v)->kind != WK_VALUE_NODE) return;
  const wk_node_id id = wk_val(gg->g, v)->node;
  const wk_node *n = wk_nod(gg->g, id);
  if (gg->is_early[id]) return;
  gg->is_early[id] = true;
  for (uint32_t k = 0; k < n->n_in; k++) mark_early(gg, n->in[k]);
}

static void add_early(wk_gen_graph *gg, wk_value_id size, const bool *can) {
  if (size == WK_NONE || wk_is_predicate(gg->g, size) ||
      wk_val(gg->g, size)->kind != WK_VALUE_NODE || !can[wk_val(gg->g, size)->node])
    return;
  mark_early(gg, size);
}

/* Sizes that instructions may end at are computed before all else, so that each finds them. */
static void find_early(wk_gen *c, wk_gen_graph *gg) {
  const size_t n = gg->g->nodes.n;
  bool *can = wk_arena_alloc(c->scratch, n);
  gg->is_early = wk_arena_alloc(c->scratch, n);
  gg->is_done = wk_arena_alloc(c->scratch, n);
  for (size_t i = 0; gg->demand && i < n; i++) /* nodes stand behind what they read */
    can[i] = may_be_early(gg->g, wk_nod(gg->g, (wk_node_id)i), can);
  for (size_t v = 0; gg->demand && v < gg->g->values.n; v++)
    for (int i = 0; i < wk_val(gg->g, (wk_value_id)v)->type.rank; i++) {
      add_early(gg, gg->demand[v].need.below[i], can);
      add_early(gg, gg->demand[v].zero[i], can);
      add_early(gg, gg->demand[v].fold[i], can);
    }
}

static void gen_nodes(wk_gen *c, wk_gen_graph *gg) {
  find_early(c, gg);
  for (int early = 1; early >= 0; early--)
    for (size_t i = 0; i < gg->g->nodes.n; i++)
      if (gg->is_early[i] == early) gen_node(c, gg, (wk_node_id)i);
}

/* What updates write may be shown of variables: then it is put aside before the first of them
 * changes. */
static void gen_updates(wk_gen *c, wk_gen_graph *gg, const wk_view *outputs) {
  const wk_graph *g = gg->g;
  size_t first = wk_graph_plain_outputs(g);
  wk_view *from = wk_arena_alloc(c->scratch, g->outputs.n * sizeof *from);
  for (size_t i = first; i < g->outputs.n; i++) {
    const wk_value *v = wk_val(g, g->outputs.data[i]);
    from[i] = *wk_gen_storage(c, gg, g->outputs.data[i]);
    wk_gen_count_copy(c, &v->type);
    if (c->p->buffers.data[from[i].buffer].region != WK_REGION_STATE ||
        wk_view_same(&from[i], &outputs[i]))
      continue;
    wk_view aside = wk_view_dense(wk_gen_buffer(c, v->name, wk_type_bytes(&v->type)), &v->type,
                                  WK_ROLE_OUT);
    wk_gen_copy(c, gg->block, &aside, &from[i], "update");
    from[i] = aside;
  }
  for (size_t i = first; i < g->outputs.n; i++)
    wk_gen_copy(c, gg->block, &outputs[i], &from[i], "update");
}

/* Backward placement must see a control node's outputs too: they get their storage when their
 * node is generated, unless an output or a concat has fixed it before. */
void wk_gen_body(wk_gen *c, const wk_graph *g, const wk_view *inputs, const wk_view *outputs,
                 wk_block *block) {
  wk_gen_graph gg = {.g = g, .block = block};
  gg.st = wk_arena_alloc(c->scratch, g->values.n * sizeof *gg.st);
  gg.demand = wk_demand_find(g, c->scratch);
  wk_gen_find_rows(c, &gg);
  for (size_t i = 0; i < g->inputs.n; i++) wk_gen_redirect(&gg, g->inputs.data[i], inputs[i]);
  size_t plain = wk_graph_plain_outputs(g);
  for (size_t i = 0; i < plain; i++) {
    wk_value_id v = g->outputs.data[i];
    if (wk_gen_can_redirect(&gg, v)) wk_gen_redirect(&gg, v, outputs[i]);
    else wk_gen_count_copy(c, &wk_val(g, v)->type);
  }
  wk_gen_backwards(c, &gg);
  gen_nodes(c, &gg);
  for (size_t i = 0; i < plain; i++)
    wk_gen_copy(c, block, &outputs[i], wk_gen_storage(c, &gg, g->outputs.data[i]), "output");
  gen_updates(c, &gg, outputs);
}

/* ---- whole programs -------------------------------------------------------------------------- */

static wk_view bind(wk_program *p, wk_region region, const char *name, const wk_type *t,
                    uint32_t io) {
  wk_buffer b = {.name = name, .region = region, .size = wk_type_bytes(t), .align = 64, .offset = 0,
                 .io = io};
  wk_program_io binding = {
      .name = wk_arena_strdup(p->arena, name), .type = *t, .buffer = wk_program_buffer(p, &b)};
  wk_vec_push(wk_program_bound(p, region), binding);
  return wk_view_dense(binding.buffer, t, WK_ROLE_IN);
}

/* Inputs and outputs of the program; a variable and its update are the same state. */
static void bind_all(wk_program *p, const wk_graph *g, wk_view *in, wk_view *out) {
  size_t n_in = wk_graph_plain_inputs(g);
  for (size_t i = 0; i < g->inputs.n; i++) {
    const wk_value *v = wk_val(g, g->inputs.data[i]);
    bool is_state = i >= n_in;
    in[i] = bind(p, is_state ? WK_REGION_STATE : WK_REGION_INPUT, v->name, &v->type,
                 (uint32_t)(is_state ? i - n_in : i));
    if (!is_state) continue;
    p->buffers.data[in[i].buffer].offset = -1;
    p->buffers.data[in[i].buffer].data = v->initial;
    p->states.data[i - n_in].is_public = v->is_public;
  }
  for (size_t i = 0; i < g->outputs.n; i++) {
    size_t k = n_in;
    while (k < g->inputs.n && g->inputs.data[k] != g->updates.data[i]) k++;
    out[i] = k < g->inputs.n ? in[k]
                             : bind(p, WK_REGION_OUTPUT, g->output_names.data[i],
                                    &wk_val(g, g->outputs.data[i])->type, (uint32_t)i);
  }
}

static wk_status generate(const wk_module *m, bool has_body, int64_t rows_from,
                          wk_program **out) {
  const wk_graph *g = m->main;
  wk_gen c = {.p = wk_program_new(m->name), .scratch = wk_arena_new(), .const_index = wk_map_new(),
              .rows_from = rows_from};
  wk_view *in = wk_arena_alloc(c.scratch, g->inputs.n * sizeof *in);
  wk_view *outs = wk_arena_alloc(c.scratch, g->outputs.n * sizeof *outs);
  bind_all(c.p, g, in, outs);
  if (has_body) wk_gen_body(&c, g, in, outs, &c.p->body);
  wk_map_free(c.const_index);
  wk_arena_free(c.scratch);
  wk_status s = wk_program_verify(c.p);
  if (s) {
    wk_program_free(c.p);
    return wk_status_note(s, "while generating the program of %s", m->name);
  }
  *out = c.p;
  return NULL;
}

wk_status wk_generate(const wk_module *m, int64_t rows_from, wk_program **out) {
  WK_TRY(wk_module_no_predicates(m, "a program"));
  return generate(m, true, rows_from, out);
}
wk_status wk_generate_frame(const wk_module *m, wk_program **out) {
  return generate(m, false, 0, out);
}
