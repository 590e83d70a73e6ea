/* SPDX-License-Identifier: Apache-2.0
 * Layouts of edges as ordinary nodes: pad, reshape and transpose before the tensor is written,
 * transpose, reshape and slice behind where it is read. */
#include "compiler/part/nodes.h"

#include <string.h>

static int rank_of(const wk_type *t, const wk_edge_layout *l) { return t->rank + (l->split >= 0); }

/* Every axis once, blocks of something. */
static bool is_possible(const wk_type *t, const wk_edge_layout *l) {
  unsigned seen = 0;
  int rank = rank_of(t, l);
  if (l->split >= t->rank || rank > WK_MAX_RANK || (l->split >= 0 && l->block < 1)) return false;
  for (int i = 0; i < rank; i++) {
    if (l->order[i] >= rank) return false;
    seen |= 1u << l->order[i];
  }
  return seen == (1u << rank) - 1;
}

static void set_row_major(wk_edge_layout *l) {
  *l = (wk_edge_layout){.split = -1};
  for (int i = 0; i < WK_MAX_RANK; i++) l->order[i] = (uint8_t)i;
}

bool wk_cut_layout_of(wk_cut *c, uint32_t target, const wk_graph *g, wk_value_id v,
                      bool is_output, wk_edge_layout *out) {
  const wk_instance *t = c->targets->list[target];
  set_row_major(out);
  if (wk_cut_is_host(c, target) || !t->target->edge) return false;
  if (!t->target->edge(t, g, v, is_output, out)) {
    set_row_major(out);
    return false;
  }
  if (is_possible(&wk_val(g, v)->type, out)) return true;
  set_row_major(out);
  if (!c->unsupported)
    c->unsupported = wk_error_at(WK_INTERNAL, wk_val(g, v)->name,
                                 "target %s wishes an edge layout that is none: its order names an "
                                 "axis twice or not at all, or its blocks are empty",
                                 t->target->name);
  return false;
}

bool wk_cut_same_layout(const wk_type *t, const wk_edge_layout *a, const wk_edge_layout *b) {
  if (a->split != b->split || (a->split >= 0 && a->block != b->block)) return false;
  return !memcmp(a->order, b->order, (size_t)rank_of(t, a));
}

static int64_t blocks(const wk_type *t, const wk_edge_layout *l) {
  return wk_ceil_div(t->dims[l->split], l->block);
}

/* An axis of memory with more than one element: one of the tensor, or the number of its block, or
 * that within a block. */
typedef struct {
  int axis;
  enum { WHOLE, BLOCK, WITHIN } what;
  int64_t size;
} memory_axis;

static int memory_axes(const wk_type *t, const wk_edge_layout *l, memory_axis *out) {
  int n = 0;
  for (int i = 0; i < rank_of(t, l); i++) {
    bool is_within = l->split >= 0 && l->order[i] == t->rank;
    int axis = is_within ? l->split : l->order[i];
    memory_axis x = {axis, is_within ? WITHIN : axis == l->split ? BLOCK : WHOLE,
                     is_within ? l->block : axis == l->split ? blocks(t, l) : t->dims[axis]};
    bool goes_on = is_within && n && out[n - 1].axis == axis; /* block after block */
    if (is_within && (goes_on || blocks(t, l) == 1)) x.what = WHOLE;
    if (axis == l->split && l->block == 1) x.what = WHOLE;
    if (goes_on) x.size *= out[--n].size;
    if (x.size != 1) out[n++] = x;
  }
  return n;
}

bool wk_cut_same_bytes(const wk_type *t, const wk_edge_layout *a, const wk_edge_layout *b) {
  memory_axis x[WK_MAX_RANK], y[WK_MAX_RANK];
  int n = memory_axes(t, a, x);
  if (n != memory_axes(t, b, y)) return false;
  for (int i = 0; i < n; i++)
    if (x[i].axis != y[i].axis || x[i].what != y[i].what || x[i].size != y[i].size) return false;
  return true;
}

/* Dims with the blocks as an axis at the end, in the tensor's order of axes. */
static wk_type split_type(const wk_type *t, const wk_edge_layout *l) {
  wk_type s = *t;
  s.quant = NULL;
  if (l->split < 0) return s;
  s.dims[l->split] = blocks(t, l);
  s.dims[s.rank++] = l->block;
  return s;
}

wk_type wk_cut_laid_type(const wk_type *t, const wk_edge_layout *l) {
  wk_type s = split_type(t, l), y = s;
  for (int i = 0; i < s.rank; i++) y.dims[i] = s.dims[l->order[i]];
  return y;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* [.., blocks, block, ..]: the block's axis stands behind the split one before it moves. */
static int beside_split(const wk_type *t, const wk_edge_layout *l, int64_t *dims, int64_t *perm) {
  wk_type s = split_type(t, l);
  int n = 0;
  for (int i = 0; i < t->rank; i++) {
    perm[i] = n;
    dims[n++] = s.dims[i];
    if (i != l->split) continue;
    perm[t->rank] = n;
    dims[n++] = l->block;
  }
  return n;
}

wk_status wk_cut_lay(wk_graph *g, wk_value_id v, const wk_edge_layout *l, wk_value_id *out) {
  const wk_type t = wk_val(g, v)->type;
  int64_t dims[WK_MAX_RANK], axes[WK_MAX_RANK], perm[WK_MAX_RANK];
  wk_cut_nodes b = {.g = g};
  int rank = rank_of(&t, l);
  for (int i = 0; i < rank; i++) axes[i] = i;
  if (l->split >= 0) {
    v = wk_cut_node_pad_behind(&b, v, l->split, blocks(&t, l) * l->block - t.dims[l->split]);
    beside_split(&t, l, dims, axes);
    v = wk_cut_node_reshape(&b, v, dims, rank);
  }
  for (int i = 0; i < rank; i++) perm[i] = axes[l->order[i]];
  *out = wk_cut_node_transpose(&b, v, perm, rank);
  return b.status;
}

wk_status wk_cut_unlay(wk_graph *g, wk_value_id v, const wk_type *t, const wk_edge_layout *l,
                       wk_value_id *out) {
  int64_t dims[WK_MAX_RANK], axes[WK_MAX_RANK], perm[WK_MAX_RANK], whole[WK_MAX_RANK];
  wk_cut_nodes b = {.g = g};
  int rank = rank_of(t, l);
  for (int i = 0; i < rank; i++) axes[i] = i;
  if (l->split >= 0) beside_split(t, l, dims, axes);
  for (int i = 0; i < rank; i++) perm[axes[l->order[i]]] = i;
  *out = wk_cut_node_transpose(&b, v, perm, rank);
  if (l->split < 0) return b.status;
  memcpy(whole, t->dims, sizeof whole);
  whole[l->split] = blocks(t, l) * l->block;
  *out = wk_cut_node_reshape(&b, *out, whole, t->rank);
  *out = wk_cut_node_slice(&b, *out, l->split, 0, t->dims[l->split]);
  return b.status;
}

/* ---- edges of a part ------------------------------------------------------------------------- */

wk_status wk_cut_lay_input(wk_graph *g, size_t k, const wk_edge_layout *l) {
  wk_value_id old = g->inputs.data[k], logical;
  const wk_type t = wk_val(g, old)->type, laid = wk_cut_laid_type(&t, l);
  wk_value_id fresh = wk_graph_input(g, NULL, &laid);
  size_t at = wk_val(g, fresh)->index; /* it takes the place of the old one */
  memmove(&g->inputs.data[at], &g->inputs.data[at + 1],
          (g->inputs.n - at - 1) * sizeof *g->inputs.data);
  g->inputs.n--;
  g->inputs.data[k] = fresh;
  for (size_t i = 0; i < g->inputs.n; i++) wk_val(g, g->inputs.data[i])->index = (uint32_t)i;
  WK_TRY(wk_cut_unlay(g, fresh, &t, l, &logical));
  wk_graph_replace_uses(g, old, logical);
  wk_graph_take_name(g, old, fresh);
  wk_val(g, old)->kind = WK_VALUE_DEAD;
  return NULL;
}

wk_status wk_cut_lay_output(wk_graph *g, size_t k, const wk_edge_layout *l) {
  return wk_cut_lay(g, g->outputs.data[k], l, &g->outputs.data[k]);
}
