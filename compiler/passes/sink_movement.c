/* SPDX-License-Identifier: Apache-2.0
 * Part of `merge-movement`: a transpose or reshape behind elementwise operators is moved in front
 * of them when fewer remain in all: it may meet its inverse there, and constants take it for free.
 *
 * Around a node a region is grown against the edges: operators that a move can pass, whose results
 * are used inside the region only. Then the moves that the region's operands would need are counted
 * against those that go. Every rewrite leaves fewer transposes and reshapes than before.
 *
 *   lift   y = move(region): the region computes what the move would have made
 *   join   region over several operands that come from the same kind of move: the region computes
 *          before it, one move of the result remains */
#include <string.h>

#include "compiler/passes/fuse.h"
#include "compiler/passes/movement.h"

#define MAX_REGION 48
#define MAX_FRONTIER 64

/* What happens to the region: values of shape `from` (or, for a transpose, of its rank) become
 * `to`. */
typedef struct {
  bool is_transpose;
  int64_t perm[WK_MAX_RANK];
  wk_type from, to;
} move;

typedef struct {
  wk_rewrite *r;
  move m;
  uint32_t n, n_frontier;
  struct { wk_node_id id; wk_value_id out, made; } node[MAX_REGION]; /* [0]: the last operator */
  struct { wk_value_id v, made; } frontier[MAX_FRONTIER];
} region;

/* ---- what a move can pass ------------------------------------------------------------------- */

/* Operators whose attributes name axes, which are renumbered. */
static bool has_axes(const wk_node *n) {
  switch (n->op) {
  case WK_OP_CONCAT:
  case WK_OP_SLICE:
  case WK_OP_PAD:
  case WK_OP_SOFTMAX:
  case WK_OP_LOG_SOFTMAX:
  case WK_OP_LP_NORM: return true;
  case WK_OP_REDUCE_SUM:
  case WK_OP_REDUCE_MEAN:
  case WK_OP_REDUCE_MAX:
  case WK_OP_REDUCE_MIN: return WK_ATTR(n, reduce_sum)->keepdims != 0;
  default: return false;
  }
}

/* What folds along the last axis, which a reshape leaves as it is. */
static bool folds_last(const region *g, const wk_node *n) {
  const move *m = &g->m;
  if (n->op != WK_OP_SOFTMAX && n->op != WK_OP_LOG_SOFTMAX) return false;
  const int64_t axis = n->op == WK_OP_SOFTMAX ? WK_ATTR(n, softmax)->axis
                                              : WK_ATTR(n, log_softmax)->axis;
  return axis == m->from.rank - 1 && m->to.rank > 0 &&
         m->from.dims[axis] == m->to.dims[m->to.rank - 1];
}

static bool passes(const region *g, const wk_node *n) {
  if (n->dead || n->n_out != 1 || n->predicate != WK_NONE) return false;
  const wk_type *t = wk_type_of(g->r, n->out[0]);
  if (t->quant) return false;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE && wk_type_of(g->r, n->in[k])->quant) return false;
  if (!g->m.is_transpose)
    return (wk_is_elementwise(n) || folds_last(g, n)) && wk_shape_equal(t, &g->m.from);
  return t->rank == g->m.from.rank && (wk_is_elementwise(n) || has_axes(n));
}

/* ---- the region ----------------------------------------------------------------------------- */

static int find_node(const region *g, wk_value_id v) {
  for (uint32_t i = 0; i < g->n; i++)
    if (g->node[i].out == v) return (int)i;
  return -1;
}

static void add_node(region *g, wk_node_id id, wk_value_id out) {
  g->node[g->n].id = id;
  g->node[g->n].made = WK_NONE;
  g->node[g->n++].out = out;
}

static uint32_t uses_inside(const region *g, wk_value_id v) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < g->n; i++) {
    const wk_node *n = wk_nod(g->r->g, g->node[i].id);
    for (uint32_t k = 0; k < n->n_in; k++) count += n->in[k] == v;
  }
  return count;
}

static void grow(region *g, wk_node_id root) {
  g->n = 0;
  add_node(g, root, wk_nod(g->r->g, root)->out[0]);
  for (uint32_t i = 0; i < g->n; i++) {
    const wk_node *n = wk_nod(g->r->g, g->node[i].id);
    for (uint32_t k = 0; k < n->n_in && g->n < MAX_REGION; k++) {
      const wk_node *p = n->in[k] == WK_NONE ? NULL : wk_def(g->r->g, n->in[k]);
      if (p && find_node(g, n->in[k]) < 0 && passes(g, p))
        add_node(g, wk_val(g->r->g, n->in[k])->node, n->in[k]);
    }
  }
  for (bool changed = true; changed;) { /* what is used outside stays outside */
    changed = false;
    for (uint32_t i = g->n; i-- > 1;) {
      if (uses_inside(g, g->node[i].out) == g->r->uses[g->node[i].out]) continue;
      memmove(&g->node[i], &g->node[i + 1], (g->n - i - 1) * sizeof g->node[i]);
      g->n--;
      changed = true;
    }
  }
}

static bool collect_frontier(region *g) {
  g->n_frontier = 0;
  for (uint32_t i = 0; i < g->n; i++) {
    const wk_node *n = wk_nod(g->r->g, g->node[i].id);
    for (uint32_t k = 0; k < n->n_in; k++) {
      uint32_t f = 0;
      if (n->in[k] == WK_NONE || find_node(g, n->in[k]) >= 0) continue;
      while (f < g->n_frontier && g->frontier[f].v != n->in[k]) f++;
      if (f < g->n_frontier) continue;
      if (f == MAX_FRONTIER) return false;
      g->frontier[f].v = n->in[k];
      g->frontier[g->n_frontier++].made = WK_NONE;
    }
  }
  return true;
}

/* ---- operands of the region ----------------------------------------------------------------- */

static void identity_perm(int64_t perm[WK_MAX_RANK]) {
  for (int i = 0; i < WK_MAX_RANK; i++) perm[i] = i;
}

/* t with ones in front up to the rank of the move. */
static wk_type with_full_rank(const move *m, const wk_type *t) {
  int more = m->from.rank - t->rank;
  wk_type full = {.dtype = t->dtype, .rank = m->from.rank};
  for (int i = 0; i < full.rank; i++) full.dims[i] = i < more ? 1 : t->dims[i - more];
  return full;
}

/* The value before the transpose that made v, and the permutation that is left to do on it. */
static wk_value_id before_transpose(const region *g, wk_value_id v, int64_t perm[WK_MAX_RANK]) {
  const wk_node *p = wk_made_by(g->r, v, WK_OP_TRANSPOSE);
  memcpy(perm, g->m.perm, sizeof g->m.perm);
  if (!p) return WK_NONE;
  for (int i = 0; i < g->m.from.rank; i++) perm[i] = WK_ATTR(p, transpose)->perm.v[g->m.perm[i]];
  return p->in[0];
}

/* What is moved of a constant is one. */
static wk_value_id folded(region *g, wk_value_id v) {
  wk_value_id known = v == WK_NONE ? v : wk_rewrite_folded(g->r, v);
  return known == WK_NONE ? v : known;
}

static wk_value_id reshape(region *g, wk_value_id v, int rank, const int64_t *dims) {
  return folded(g, wk_rewrite_reshape(g->r, v, rank, dims));
}

static wk_value_id transposed(region *g, wk_value_id v) {
  const wk_type t = *wk_type_of(g->r, v);
  int64_t perm[WK_MAX_RANK], dims[WK_MAX_RANK];
  if (wk_type_count(&t) == 1) return v;
  wk_value_id x = t.rank == g->m.from.rank ? before_transpose(g, v, perm) : WK_NONE;
  if (x != WK_NONE) return wk_rewrite_transpose(g->r, x, perm);
  wk_type full = with_full_rank(&g->m, &t);
  for (int i = 0; i < full.rank; i++) dims[i] = full.dims[g->m.perm[i]];
  if (wk_perm_is_reshape(&full, g->m.perm)) return reshape(g, v, full.rank, dims);
  v = reshape(g, v, full.rank, full.dims);
  return folded(g, wk_rewrite_transpose(g->r, v, g->m.perm));
}

static int transpose_cost(const region *g, wk_value_id v) {
  const wk_type *t = wk_type_of(g->r, v);
  int64_t perm[WK_MAX_RANK], none[WK_MAX_RANK];
  if (wk_known(g->r, v) || wk_type_count(t) == 1) return 0;
  if (t->rank == g->m.from.rank && before_transpose(g, v, perm) != WK_NONE) {
    identity_perm(none);
    return memcmp(perm, none, (size_t)t->rank * sizeof *perm) != 0;
  }
  wk_type full = with_full_rank(&g->m, t);
  return !wk_perm_is_reshape(&full, g->m.perm);
}

/* Rank of t without its leading ones. */
static int core_rank(const wk_type *t) {
  int k = 0;
  while (k < t->rank && t->dims[k] == 1) k++;
  return t->rank - k;
}

/* t broadcasts along the leading axes only, and `from` and `to` agree in the others. */
static bool broadcasts_alike(const move *m, const wk_type *t) {
  int n = core_rank(t);
  if (n > m->to.rank) return false;
  for (int i = 1; i <= n; i++)
    if (m->from.dims[m->from.rank - i] != m->to.dims[m->to.rank - i]) return false;
  return true;
}

/* Axes of `from` and `to` that hold the same elements, from i and k on: their numbers. False: there
 * are no more. */
static bool next_group(const move *m, int i, int k, int *ni, int *nk) {
  int64_t a = 1, b = 1;
  *ni = *nk = 0;
  while (i + *ni < m->from.rank || k + *nk < m->to.rank) {
    if (a <= b && i + *ni < m->from.rank) a *= m->from.dims[i + (*ni)++];
    else if (k + *nk < m->to.rank) b *= m->to.dims[k + (*nk)++];
    else return false;
    if (a == b && *ni && *nk) return true;
  }
  return false;
}

/* The shape of t, which broadcasts to `from`, in `to`: each group of axes is there as a whole, or
 * has one element. */
static bool broadcast_shape(const move *m, const wk_type *t, wk_type *out) {
  const wk_type full = with_full_rank(m, t);
  *out = m->to;
  out->dtype = t->dtype;
  int i = 0, k = 0, ni, nk;
  for (; next_group(m, i, k, &ni, &nk); i += ni, k += nk) {
    bool is_one = true, is_whole = true;
    for (int a = i; a < i + ni; a++) {
      is_one &= full.dims[a] == 1;
      is_whole &= full.dims[a] == m->from.dims[a];
    }
    if (!is_one && !is_whole) return false;
    for (int a = k; a < k + nk && !is_whole; a++) out->dims[a] = 1;
  }
  for (; i < m->from.rank; i++)
    if (m->from.dims[i] != 1) return false;
  for (; k < m->to.rank; k++)
    if (m->to.dims[k] != 1) return false;
  return true;
}

static wk_value_id reshaped(region *g, wk_value_id v) {
  const wk_type t = *wk_type_of(g->r, v);
  const wk_node *p = wk_made_by(g->r, v, WK_OP_RESHAPE);
  if (wk_shape_equal(&t, &g->m.from))
    return reshape(g, p ? p->in[0] : v, g->m.to.rank, g->m.to.dims);
  wk_type other;
  if (!broadcasts_alike(&g->m, &t) && broadcast_shape(&g->m, &t, &other))
    return reshape(g, v, other.rank, other.dims);
  if (t.rank <= g->m.to.rank) return v;
  int n = core_rank(&t);
  return reshape(g, v, n, t.dims + t.rank - n);
}

/* -1: the value cannot follow. */
static int reshape_cost(const region *g, wk_value_id v) {
  const wk_type *t = wk_type_of(g->r, v);
  const wk_node *p = wk_made_by(g->r, v, WK_OP_RESHAPE);
  if (wk_shape_equal(t, &g->m.from)) {
    if (p) return !wk_shape_equal(wk_type_of(g->r, p->in[0]), &g->m.to);
    return !wk_known(g->r, v);
  }
  wk_type other;
  if (!broadcasts_alike(&g->m, t))
    return broadcast_shape(&g->m, t, &other) ? !wk_known(g->r, v) : -1;
  return t->rank > g->m.to.rank && !wk_known(g->r, v);
}

/* Moves that go because only the region uses them, less those that come; moves of constants are
 * folded and do not count. False: impossible. */
static bool count_gain(const region *g, int *gain) {
  *gain = 0;
  for (uint32_t f = 0; f < g->n_frontier; f++) {
    wk_value_id v = g->frontier[f].v;
    const wk_node *p = wk_made_by(g->r, v, g->m.is_transpose ? WK_OP_TRANSPOSE : WK_OP_RESHAPE);
    int cost = g->m.is_transpose ? transpose_cost(g, v) : reshape_cost(g, v);
    if (cost < 0) return false;
    bool follows = g->m.is_transpose || wk_shape_equal(wk_type_of(g->r, v), &g->m.from);
    bool goes = p && follows && uses_inside(g, v) == g->r->uses[v];
    if (!p || !wk_known(g->r, p->in[0])) *gain += goes - cost;
  }
  return true;
}

/* ---- building ------------------------------------------------------------------------------- */

static void permute(wk_arena *a, wk_ints *list, const move *m) {
  int64_t v[WK_MAX_RANK];
  for (int64_t i = 0; i < list->n; i++) v[i] = list->v[m->perm[i]];
  *list = wk_ints_dup(a, v, list->n);
}

static void rename_axes(wk_arena *a, wk_ints *axes, const move *m) {
  int64_t v[WK_MAX_RANK], n = 0;
  for (int i = 0; i < m->from.rank; i++)
    for (int64_t k = 0; k < axes->n; k++)
      if (axes->v[k] == m->perm[i]) v[n++] = i;
  *axes = wk_ints_dup(a, v, n);
}

static void *moved_attrs(region *g, const wk_node *n) {
  void *attrs = wk_attrs_clone(g->r->arena, n->op, n->attrs);
  const wk_op_info *info = wk_op_get(n->op);
  if (!g->m.is_transpose && n->op == WK_OP_SOFTMAX)
    ((wk_attr_softmax *)attrs)->axis = g->m.to.rank - 1;
  if (!g->m.is_transpose && n->op == WK_OP_LOG_SOFTMAX)
    ((wk_attr_log_softmax *)attrs)->axis = g->m.to.rank - 1;
  for (int k = 0; k < info->n_fields && g->m.is_transpose && has_axes(n); k++) {
    const wk_field *f = &info->fields[k];
    void *at = (char *)attrs + f->offset;
    if (f->kind == WK_FIELD_INTS && !strcmp(f->name, "axes")) {
      rename_axes(g->r->arena, at, &g->m);
    } else if (f->kind == WK_FIELD_INTS) {
      permute(g->r->arena, at, &g->m);
    } else if (!strcmp(f->name, "axis")) {
      int64_t *axis = at, to = 0;
      while (g->m.perm[to] != *axis) to++;
      *axis = to;
    }
  }
  return attrs;
}

static wk_value_id moved_operand(const region *g, wk_value_id v) {
  int i = v == WK_NONE ? -1 : find_node(g, v);
  if (i >= 0) return g->node[i].made;
  for (uint32_t f = 0; f < g->n_frontier; f++)
    if (g->frontier[f].v == v) return g->frontier[f].made;
  return WK_NONE;
}

/* Builds node i when its operands are there. */
static void build_node(region *g, uint32_t i) {
  wk_node n = *wk_nod(g->r->g, g->node[i].id);
  wk_value_id *in = wk_arena_alloc(g->r->c->scratch, n.n_in * sizeof *in);
  for (uint32_t k = 0; k < n.n_in; k++) {
    in[k] = moved_operand(g, n.in[k]);
    if (in[k] == WK_NONE && n.in[k] != WK_NONE) return;
  }
  g->r->name = n.name;
  g->node[i].made = wk_rewrite_like(g->r, &n, moved_attrs(g, &n), n.n_in, in);
}

/* The value that takes the place of the region's result, in the moved shape. */
static wk_value_id build(region *g) {
  for (uint32_t f = 0; f < g->n_frontier; f++)
    g->frontier[f].made = g->m.is_transpose ? transposed(g, g->frontier[f].v)
                                            : reshaped(g, g->frontier[f].v);
  for (uint32_t round = 0; round < g->n && !g->r->status; round++)
    for (uint32_t i = g->n; i-- > 0;)
      if (g->node[i].made == WK_NONE) build_node(g, i);
  return g->r->status ? WK_NONE : g->node[0].made;
}

/* ---- rules ---------------------------------------------------------------------------------- */

static bool lift(region *g, const wk_node *n) {
  wk_rewrite *r = g->r;
  int gain;
  if (!wk_once(r, n->in[0])) return false;
  g->m = (move){.is_transpose = n->op == WK_OP_TRANSPOSE, .from = *wk_type_of(r, n->in[0]),
                .to = *wk_type_of(r, n->out[0])};
  for (int i = 0; g->m.is_transpose && i < g->m.from.rank; i++)
    g->m.perm[i] = WK_ATTR(n, transpose)->perm.v[i];
  const wk_node *p = wk_def(r->g, n->in[0]);
  if (!p || !passes(g, p)) return false;
  grow(g, wk_val(r->g, n->in[0])->node);
  if (!collect_frontier(g) || !count_gain(g, &gain) || gain + 1 <= 0) return false;
  return wk_rewrite_replace(r, n->out[0], build(g));
}

/* The move that undoes the one that made operand v of an operator with result y. */
static bool undoing(const region *g, wk_value_id v, wk_value_id y, move *m) {
  const wk_node *t = wk_made_by(g->r, v, WK_OP_TRANSPOSE), *s = wk_made_by(g->r, v, WK_OP_RESHAPE);
  const wk_node *p = t ? t : s;
  *m = (move){.is_transpose = t != NULL, .from = *wk_type_of(g->r, y)};
  if (!p || wk_type_of(g->r, v)->rank != m->from.rank) return false;
  m->to = *wk_type_of(g->r, p->in[0]);
  for (int i = 0; t && i < m->from.rank; i++) m->perm[WK_ATTR(t, transpose)->perm.v[i]] = i;
  return t || wk_shape_equal(wk_type_of(g->r, v), &m->from);
}

static bool join(region *g, wk_node_id id, const wk_node *n) {
  wk_rewrite *r = g->r;
  int gain;
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (n->in[k] == WK_NONE || !undoing(g, n->in[k], n->out[0], &g->m) || !passes(g, n)) continue;
    grow(g, id);
    if (!collect_frontier(g) || !count_gain(g, &gain) || gain - 1 <= 0) continue;
    int64_t back[WK_MAX_RANK];
    move m = g->m;
    wk_value_id y = build(g);
    for (int i = 0; m.is_transpose && i < m.from.rank; i++) back[m.perm[i]] = i;
    y = m.is_transpose ? wk_rewrite_transpose(r, y, back)
                       : wk_rewrite_reshape(r, y, m.from.rank, m.from.dims);
    return wk_rewrite_replace(r, n->out[0], y);
  }
  return false;
}

static bool sink(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  if (n->n_out != 1 || n->out[0] == WK_NONE || n->n_in < 1) return false;
  region g = {.r = r};
  if (n->op == WK_OP_TRANSPOSE || n->op == WK_OP_RESHAPE) return lift(&g, n);
  return n->n_in > 1 && wk_is_elementwise(n) && join(&g, id, n);
}

wk_status wk_sink_movement(wk_graph *g, wk_pass_ctx *c) { return wk_rewrite_run(g, c, sink); }
