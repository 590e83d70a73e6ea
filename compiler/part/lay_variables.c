/* SPDX-License-Identifier: Apache-2.0
 * Variables that lie as those wish who read them. A part of the host that writes into a variable,
 *
 *   update v = scatter_nd(v, i, x)      between transpositions that undo each other
 *
 * writes them where they are in the layout L of another target instead, which then reads the state
 * as it is:
 *
 *   update v' = scatter_nd(v', i', x')  where v' is v in layout L
 *
 * Along the axis that L has in blocks, an index i becomes i / block and i mod block, and rows x are
 * taken apart. What the last block has too much is zero and stays so. */
#include <stdlib.h>
#include <string.h>

#include "compiler/part/nodes.h"

/* How a graph changes a variable: axis k of scatter_nd's data is axis[k] of the variable. */
typedef struct {
  wk_graph *g;
  wk_value_id variable;
  size_t output; /* its update's number */
  wk_node_id scatter;
  int axis[WK_MAX_RANK];
  int depth; /* axes of the data that an index names */
} change;

static const wk_node *made_by(const wk_graph *g, wk_value_id v, wk_op op) {
  const wk_node *n = wk_def(g, v);
  return n && n->op == op && n->predicate == WK_NONE ? n : NULL;
}

/* Who reads v, as its first operand, and nobody else; NULL: there is no such node. */
static const wk_node *only_reader(const wk_graph *g, const wk_uses *uses, wk_value_id v) {
  if (wk_use_count(uses, v) != 1) return NULL;
  wk_use u = uses->uses[uses->first[v]];
  return u.node == WK_NONE || u.index != 0 ? NULL : wk_nod(g, u.node);
}

/* axis[k] of what is transposed. */
static void follow_transpose(const wk_node *n, int rank, int *axis) {
  int before[WK_MAX_RANK];
  memcpy(before, axis, sizeof before);
  for (int k = 0; k < rank; k++) axis[k] = before[WK_ATTR(n, transpose)->perm.v[k]];
}

/* From the variable to scatter_nd. */
static bool find_scatter(change *x, wk_arena *scratch) {
  const wk_uses uses = wk_graph_uses(x->g, scratch);
  const int rank = wk_val(x->g, x->variable)->type.rank;
  const wk_node *n = only_reader(x->g, &uses, x->variable);
  for (int k = 0; k < rank; k++) x->axis[k] = k;
  while (n && n->op == WK_OP_TRANSPOSE && n->predicate == WK_NONE) {
    follow_transpose(n, rank, x->axis);
    n = only_reader(x->g, &uses, n->out[0]);
  }
  if (!n || n->op != WK_OP_SCATTER_ND || n->predicate != WK_NONE ||
      strcmp(WK_ATTR(n, scatter_nd)->reduction, "none") != 0)
    return false;
  const wk_type *i = &wk_val(x->g, n->in[1])->type;
  x->scatter = (wk_node_id)(n - x->g->nodes.data);
  x->depth = i->rank ? (int)i->dims[i->rank - 1] : 0;
  return i->rank > 0 && x->depth <= rank;
}

/* And back: the update has the axes of the variable. */
static bool comes_back(const change *x) {
  const wk_node *n;
  const int rank = wk_val(x->g, x->variable)->type.rank;
  int axis[WK_MAX_RANK];
  wk_value_id v = x->g->outputs.data[x->output];
  for (int k = 0; k < rank; k++) axis[k] = k;
  for (; (n = made_by(x->g, v, WK_OP_TRANSPOSE)); v = n->in[0]) {
    int perm[WK_MAX_RANK]; /* axis k of the result, in what is transposed */
    for (int k = 0; k < rank; k++) perm[k] = (int)WK_ATTR(n, transpose)->perm.v[axis[k]];
    memcpy(axis, perm, sizeof axis);
  }
  bool is = v == wk_nod(x->g, x->scatter)->out[0];
  for (int k = 0; k < rank && is; k++) is = x->axis[axis[k]] == k;
  return is;
}

/* ---- the change ------------------------------------------------------------------------------ */

/* The axis in blocks, as the data has it, and how many there are; at -1: there is none. */
typedef struct {
  int at;
  int64_t size, block, blocks;
} split;

static split split_of(const change *x, const wk_type *t, const wk_edge_layout *l) {
  split s = {.at = -1};
  for (int k = 0; l->split >= 0 && k < t->rank; k++)
    if (x->axis[k] == l->split)
      s = (split){k, t->dims[l->split], l->block, wk_ceil_div(t->dims[l->split], l->block)};
  return s;
}

/* Of the variable as it lies, the axes of the data, those in blocks beside each other. */
static int axes_of_data(const change *x, const wk_type *t, const wk_edge_layout *l,
                        int64_t *perm) {
  int n = 0, rank = t->rank + (l->split >= 0);
  for (int k = 0; k < t->rank; k++)
    for (int within = 0; within <= (x->axis[k] == l->split); within++) {
      int want = within ? t->rank : x->axis[k];
      for (int i = 0; i < rank; i++)
        if (l->order[i] == want) perm[n] = i;
      n++;
    }
  return n;
}

static wk_value_id choose(wk_cut_nodes *b, wk_value_id c, wk_value_id x, wk_value_id y) {
  return wk_cut_node(b, WK_OP_WHERE, NULL, (wk_value_id[]){c, x, y}, 3);
}

/* An index that is outside stays outside. */
static void split_index(wk_cut_nodes *b, wk_value_id i, const split *s, wk_value_id *out) {
  const wk_dtype t = b->status ? WK_I64 : wk_val(b->g, i)->type.dtype;
  const wk_value_id zero = wk_graph_scalar(b->g, t, 0);
  const wk_value_id size = wk_graph_scalar(b->g, t, (double)s->size);
  const wk_value_id end = wk_graph_scalar(b->g, t, (double)(s->blocks * s->block));
  const wk_value_id block = wk_graph_scalar(b->g, t, (double)s->block);
  i = choose(b, wk_cut_node_2(b, WK_OP_LESS, i, zero), wk_cut_node_2(b, WK_OP_ADD, i, size), i);
  wk_value_id outside = wk_cut_node_2(b, WK_OP_OR, wk_cut_node_2(b, WK_OP_LESS, i, zero),
                                      wk_cut_node_2(b, WK_OP_LESS_EQUAL, size, i));
  i = choose(b, outside, end, i);
  out[0] = wk_cut_node_2(b, WK_OP_DIV, i, block);
  out[1] = wk_cut_node_2(b, WK_OP_SUB, i, wk_cut_node_2(b, WK_OP_MUL, out[0], block));
}

static wk_value_id split_indices(wk_cut_nodes *b, wk_value_id indices, const split *s) {
  const wk_type t = wk_val(b->g, indices)->type;
  const int last = t.rank - 1;
  const int64_t n = t.dims[last];
  wk_value_id in[4];
  uint32_t count = 0;
  if (s->at > 0) in[count++] = wk_cut_node_slice(b, indices, last, 0, s->at);
  split_index(b, wk_cut_node_slice(b, indices, last, s->at, 1), s, in + count);
  count += 2;
  if (s->at + 1 < n) in[count++] = wk_cut_node_slice(b, indices, last, s->at + 1, n - s->at - 1);
  wk_attr_concat *a = wk_attrs_new(b->g->module->arena, WK_OP_CONCAT);
  a->axis = last;
  return wk_cut_node(b, WK_OP_CONCAT, a, in, count);
}

/* Rows with their axis number `axis` in blocks. */
static wk_value_id split_rows(wk_cut_nodes *b, wk_value_id rows, int axis, const split *s) {
  int64_t dims[WK_MAX_RANK];
  rows = wk_cut_node_pad_behind(b, rows, axis, s->blocks * s->block - s->size);
  if (b->status) return WK_NONE;
  const wk_type t = wk_val(b->g, rows)->type;
  for (int i = 0, n = 0; i < t.rank; i++) {
    dims[n++] = i == axis ? s->blocks : t.dims[i];
    if (i == axis) dims[n++] = s->block;
  }
  return wk_cut_node_reshape(b, rows, dims, t.rank + 1);
}

/* What was the result of scatter_nd, of the new one. */
static wk_value_id joined(wk_cut_nodes *b, wk_value_id v, const wk_type *was, const split *s) {
  int64_t dims[WK_MAX_RANK];
  if (s->at < 0) return v;
  memcpy(dims, was->dims, sizeof dims);
  dims[s->at] = s->blocks * s->block;
  v = wk_cut_node_reshape(b, v, dims, was->rank);
  return wk_cut_node_slice(b, v, s->at, 0, s->size);
}

static wk_status lay_initial(wk_graph *g, wk_value *v, const wk_edge_layout *l) {
  const wk_type t = v->type, laid = wk_cut_laid_type(&t, l);
  const size_t each = wk_dtype_size(t.dtype);
  uint8_t *data = calloc((size_t)wk_type_bytes(&laid) + 1, 1);
  if (!data) return wk_error(WK_RESOURCE, "out of memory for %s", v->name);
  wk_vec_push(&g->module->blobs, data);
  for (int64_t e = 0, count = wk_type_count(&t); e < count; e++) {
    int64_t at[WK_MAX_RANK + 1], rest = e, to = 0;
    const uint8_t *from = (const uint8_t *)v->initial + (size_t)e * each;
    for (int i = t.rank; i-- > 0; rest /= t.dims[i]) at[i] = rest % t.dims[i];
    if (l->split >= 0) at[t.rank] = at[l->split] % l->block, at[l->split] /= l->block;
    for (int i = 0; i < laid.rank; i++) to = to * laid.dims[i] + at[l->order[i]];
    memcpy(data + (size_t)to * each, from, each);
  }
  v->initial = data;
  v->type = laid;
  return NULL;
}

/* scatter_nd, and how the variable came to it. */
static void remove_old(wk_graph *g, wk_node_id scatter) {
  wk_value_id v = wk_nod(g, scatter)->in[0];
  wk_node_remove(g, scatter);
  for (const wk_node *n; (n = made_by(g, v, WK_OP_TRANSPOSE));) {
    v = n->in[0];
    wk_node_remove(g, (wk_node_id)(n - g->nodes.data));
  }
}

static wk_status lay(const change *x, const wk_edge_layout *l) {
  wk_cut_nodes b = {.g = x->g};
  wk_graph *g = x->g;
  const wk_type t = wk_val(g, x->variable)->type;
  const wk_node n = *wk_nod(g, x->scatter);
  const wk_value_id old = n.out[0];
  const wk_type was = wk_val(g, old)->type;
  const split s = split_of(x, &t, l);
  int64_t perm[WK_MAX_RANK], back[WK_MAX_RANK];
  const int rank = axes_of_data(x, &t, l, perm), q = wk_val(g, n.in[1])->type.rank;
  for (int i = 0; i < rank; i++) back[perm[i]] = i;
  WK_TRY(lay_initial(g, wk_val(g, x->variable), l));
  bool is_named = s.at >= 0 && s.at < x->depth, is_apart = s.at >= x->depth;
  const wk_value_id in[] = {
      wk_cut_node_transpose(&b, x->variable, perm, rank),
      is_named ? split_indices(&b, n.in[1], &s) : n.in[1],
      is_apart ? split_rows(&b, n.in[2], q - 1 + s.at - x->depth, &s) : n.in[2]};
  wk_attr_scatter_nd *a = wk_attrs_clone(g->module->arena, n.op, n.attrs);
  wk_value_id y = WK_NONE;
  if (!b.status)
    b.status = wk_graph_add(g, &(wk_node_desc){.op = n.op, .name = n.name, .attrs = a, .in = in,
                                               .n_in = 3}, &y);
  wk_value_id whole = joined(&b, y, &was, &s), updated = wk_cut_node_transpose(&b, y, back, rank);
  if (b.status) return b.status;
  g->outputs.data[x->output] = updated;
  wk_graph_replace_uses(g, old, whole);
  remove_old(g, x->scatter);
  return NULL;
}

/* ---- which ----------------------------------------------------------------------------------- */

static bool wish_in(wk_cut *c, const wk_graph *g, const wk_uses *uses, wk_value_id v,
                    wk_edge_layout *out);

/* Of bodies that get v: of the first that somebody reads it in. */
static bool wish_in_bodies(wk_cut *c, const wk_node *n, uint32_t operand, wk_edge_layout *out) {
  if (n->op != WK_OP_IF || !operand) return false;
  for (uint32_t b = 0; b < n->n_bodies; b++) {
    const wk_graph *g = n->bodies[b];
    const wk_uses uses = wk_graph_uses(g, c->scratch);
    if (wish_in(c, g, &uses, g->inputs.data[operand - 1], out)) return true;
  }
  return false;
}

/* Of the first target but the host that takes a reader of v. */
static bool wish_in(wk_cut *c, const wk_graph *g, const wk_uses *uses, wk_value_id v,
                    wk_edge_layout *out) {
  for (uint32_t k = uses->first[v]; k < uses->first[v + 1]; k++) {
    if (uses->uses[k].node == WK_NONE) continue;
    const wk_node *n = wk_nod(g, uses->uses[k].node);
    if (n->n_bodies && wish_in_bodies(c, n, uses->uses[k].index, out)) return true;
    for (uint32_t t = 0; !n->n_bodies && t < wk_cut_host(c); t++)
      if (wk_cut_takes(c, t, g, n)) return wk_cut_layout_of(c, t, g, v, false, out);
  }
  return false;
}

/* Only who changes it reads it, and callers see neither it nor its update. */
static bool is_own(const wk_graph *g, const wk_uses *uses, const wk_cut_variable *v) {
  bool is_seen = wk_is_plain_output(g, v->variable) ||
                 (v->value != WK_NONE && wk_is_plain_output(g, v->value));
  return !is_seen && wk_use_count(uses, v->variable) == 1 && v->was == WK_NONE &&
         v->is == WK_NONE;
}

/* The variable of part, a graph, that is x of g, the model's. */
static bool find_change(const wk_graph *part, const char *name, change *out) {
  for (size_t i = wk_graph_plain_outputs(part); i < part->outputs.n; i++) {
    wk_value_id v = part->updates.data[i];
    if (strcmp(wk_val(part, v)->name, name) != 0) continue;
    *out = (change){.g = (wk_graph *)(uintptr_t)part, .variable = v, .output = i};
    return true;
  }
  return false;
}

wk_status wk_cut_lay_variables(wk_cut *c, const wk_graph *g, const wk_uses *uses,
                               wk_graph *part) {
  if (g != g->module->main || !c->lays_variables) return NULL;
  for (size_t i = 0; i < c->variables.n; i++) {
    wk_cut_variable *v = &c->variables.data[i];
    wk_edge_layout l;
    change x;
    if (!find_change(part, wk_val(g, v->variable)->name, &x) || !is_own(g, uses, v) ||
        !wish_in(c, g, uses, v->value, &l) ||
        wk_cut_same_bytes(&wk_val(g, v->variable)->type, &l, &wk_cut_row_major_layout) ||
        wk_val(g, v->variable)->type.rank + 1 >= WK_MAX_RANK ||
        !find_scatter(&x, c->scratch) || !comes_back(&x))
      continue;
    WK_TRY(lay(&x, &l));
    v->is = wk_cut_variable_in(c, g, v, &l);
  }
  return NULL;
}
