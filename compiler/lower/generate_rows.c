/* SPDX-License-Identifier: Apache-2.0
 * Lists of the positions where a predicate is true, those where it is false behind them: what
 * instructions go by that compute rows of which some are not needed. A list is made once, where the
 * first of them stands, if a product with one matrix for all rows is large enough for it. */
#include "compiler/expr/expr.h"
#include "compiler/lower/generate.h"

wk_value_id wk_gen_needed_below(const wk_gen_graph *gg, const wk_node *n, int axis, int *span) {
  wk_value_id below = WK_NONE;
  *span = 0;
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (n->out[k] == WK_NONE) continue;
    const wk_need *need = &gg->demand[n->out[k]].need;
    bool differs = below != WK_NONE && (need->below[axis] != below || need->span[axis] != *span);
    bool is_apart = need->span[axis] == 2 && need->second[axis] != axis + 1;
    if (need->below[axis] == WK_NONE || differs || is_apart) return WK_NONE;
    below = need->below[axis];
    *span = need->span[axis];
  }
  return below;
}

/* Its right operand is one matrix. */
static bool has_one_matrix(const wk_graph *g, const wk_node *n) {
  const wk_type *b = &wk_val(g, n->in[1])->type;
  for (int i = 0; i + 2 < b->rank; i++)
    if (b->dims[i] != 1) return false;
  return true;
}

static void find_rows_of(const wk_gen *c, wk_gen_graph *gg, const wk_node *n) {
  const wk_type *a = &wk_val(gg->g, n->in[0])->type, *y = &wk_val(gg->g, n->out[0])->type;
  int64_t macs = a->rank ? a->dims[a->rank - 1] : 0;
  for (int i = 0; i < y->rank; i++)
    if (!wk_mul_ok(macs, y->dims[i], &macs)) macs = INT64_MAX;
  if (macs < c->rows_from || !has_one_matrix(gg->g, n)) return;
  for (int axis = 0, span; axis + 1 < y->rank; axis++) {
    wk_value_id below = wk_gen_needed_below(gg, n, axis, &span);
    if (below != WK_NONE && span && axis + span < y->rank) gg->rows[below].is_wanted = true;
  }
}

void wk_gen_find_rows(wk_gen *c, wk_gen_graph *gg) {
  if (!gg->demand) return;
  gg->rows = wk_arena_alloc(c->scratch, gg->g->values.n * sizeof *gg->rows);
  for (size_t i = 0; c->rows_from && i < gg->g->nodes.n; i++) {
    const wk_node *n = wk_nod(gg->g, (wk_node_id)i);
    if (!n->dead && n->op == WK_OP_MATMUL && n->out[0] != WK_NONE) find_rows_of(c, gg, n);
  }
}

/* ---- making one ------------------------------------------------------------------------------ */

static wk_view list_buffer(wk_gen *c, const char *name, int64_t n) {
  const wk_type t = wk_type_make(WK_I64, 1, &n);
  return wk_view_dense(wk_gen_buffer(c, name, wk_type_bytes(&t)), &t, WK_ROLE_OUT);
}

static const wk_expr *expression(wk_gen *c, const char *text, const wk_dtype *types, int n) {
  wk_expr *e = NULL;
  wk_status s = wk_expr_parse(c->p->arena, text, types, n, &e);
  if (s) WK_BUG("an expression of lists is no expression");
  return e;
}

/* operands: n_out results first. */
static wk_inst *add(wk_gen *c, wk_gen_graph *gg, wk_op op, uint32_t n_out, uint32_t n,
                    const wk_view *operands) {
  wk_inst *i = wk_inst_new(c->p, op, "rows", n_out, n);
  for (uint32_t k = 0; k < n; k++) {
    i->operands[k] = operands[k];
    i->operands[k].role = k < n_out ? WK_ROLE_OUT : WK_ROLE_IN;
  }
  wk_block_append(gg->block, i);
  return i;
}

/* Those that are true count from 0 on, the others from their number on. */
static void make(wk_gen *c, wk_gen_graph *gg, const wk_view *flags, wk_gen_rows *out) {
  static const wk_dtype types[] = {WK_BOOL, WK_I64, WK_I64};
  const int64_t n = flags->dims[0], zero[] = {0};
  const wk_type scalar = wk_type_make(WK_I64, 0, NULL);
  wk_view set = list_buffer(c, "set", n), sum = list_buffer(c, "sum", n);
  wk_view at = list_buffer(c, "positions", n), place = list_buffer(c, "places", n);
  out->rows = list_buffer(c, "rows", n);
  out->size = wk_view_dense(wk_gen_buffer(c, "count", 8), &scalar, WK_ROLE_IN);
  wk_view total = out->size;
  total.rank = 1;
  total.dims[0] = n;
  total.strides[0] = 0;
  wk_attr_map *map = add(c, gg, WK_OP_MAP, 1, 2, (wk_view[]){set, *flags})->attrs;
  map->body = expression(c, "i64(%0)", types, 1);
  map = add(c, gg, WK_OP_MAP, 1, 1, &at)->attrs;
  map->body = expression(c, "index<0>()", types, 0);
  wk_attr_reduce *fold = add(c, gg, WK_OP_REDUCE, 1, 2, (wk_view[]){total, set})->attrs;
  fold->axes = wk_ints_dup(c->p->arena, zero, 1);
  add(c, gg, WK_OP_CUM_SUM, 1, 2, (wk_view[]){sum, set});
  map = add(c, gg, WK_OP_MAP, 1, 4, (wk_view[]){place, *flags, sum, total})->attrs;
  map->body = expression(c, "select(%0, add(%1, -1i64), add(%2, sub(index<0>(), %1)))", types, 3);
  add(c, gg, WK_OP_SCATTER_ELEMENTS, 1, 4, (wk_view[]){out->rows, set, place, at});
}

const wk_gen_rows *wk_gen_rows_of(wk_gen *c, wk_gen_graph *gg, wk_value_id predicate) {
  wk_gen_rows *r = &gg->rows[predicate];
  const wk_value *v = wk_val(gg->g, predicate);
  if (!r->is_wanted || (v->kind == WK_VALUE_NODE && !gg->is_done[v->node])) return NULL;
  if (r->is_there) return r;
  const int64_t n = wk_type_count(&v->type);
  wk_view flags;
  if (!wk_view_reshape(wk_gen_storage(c, gg, predicate), 1, &n, &flags)) return NULL;
  make(c, gg, &flags, r);
  r->is_there = true;
  return r;
}
