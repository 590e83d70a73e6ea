/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions over whole operands. The iteration space is simplified first (axes that all operands
 * step through without a gap become one, the longest axis becomes the inner one), then evaluated
 * block by block. An expression that asks for positions keeps its axes as they are. */
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/handler.h"

typedef struct {
  const wk_expr *e;
  uint32_t n_in, n_out, n; /* n: operands, inputs first */
  wk_operand *op;
  int rank;
  int64_t dims[WK_MAX_RANK], origin[WK_MAX_RANK];
  bool indexed;
  wk_scalar *scratch;
  int64_t *index; /* WK_MAX_RANK columns of WK_EXPR_BLOCK */
  const void **inputs;
  void **results;
  int64_t *steps; /* inner strides, per operand */
} mapping;

static bool uses_index(const wk_expr *e) {
  for (uint32_t i = 0; i < e->n; i++)
    if (e->nodes[i].op == WK_EX_INDEX) return true;
  return false;
}

static void move_axis(mapping *m, int from, int to) {
  m->dims[to] = m->dims[from];
  for (uint32_t k = 0; k < m->n; k++) m->op[k].strides[to] = m->op[k].strides[from];
}

static bool joins(const mapping *m, int outer, int inner) {
  for (uint32_t k = 0; k < m->n; k++)
    if (m->op[k].strides[outer] != m->op[k].strides[inner] * m->dims[inner]) return false;
  return true;
}

static void swap_axes(mapping *m, int a, int b) {
  int64_t d = m->dims[a];
  m->dims[a] = m->dims[b];
  m->dims[b] = d;
  for (uint32_t k = 0; k < m->n; k++) {
    int64_t s = m->op[k].strides[a];
    m->op[k].strides[a] = m->op[k].strides[b];
    m->op[k].strides[b] = s;
  }
}

static void simplify(mapping *m) {
  int n = 0;
  for (int i = 0; i < m->rank; i++) {
    if (m->dims[i] == 1) continue;
    if (n && joins(m, n - 1, i)) {
      int64_t count = m->dims[n - 1] * m->dims[i];
      move_axis(m, i, n - 1);
      m->dims[n - 1] = count;
    } else {
      move_axis(m, i, n++);
    }
  }
  m->rank = n;
  int longest = n - 1;
  for (int i = 0; i < n; i++)
    if (m->dims[i] > m->dims[longest]) longest = i;
  if (n > 1 && m->dims[n - 1] < 32 && longest != n - 1) swap_axes(m, longest, n - 1);
}

static void run_block(mapping *m, const int64_t *pos, int inner, int64_t from, int count) {
  const int64_t *index[WK_MAX_RANK];
  for (uint32_t k = 0; k < m->n; k++) {
    const wk_operand *o = &m->op[k];
    int64_t at = wk_walk_dot(inner, pos, o->strides) + from * m->steps[k];
    char *p = o->base ? o->base + at * wk_dtype_size(o->dtype) : NULL;
    if (k < m->n_in) m->inputs[k] = p;
    else m->results[k - m->n_in] = p;
  }
  for (int a = 0; m->indexed && a < m->rank; a++) {
    int64_t *column = m->index + a * WK_EXPR_BLOCK;
    index[a] = column;
    for (int j = 0; j < count; j++) column[j] = m->origin[a] + (a == inner ? from + j : pos[a]);
  }
  wk_expr_eval_block(m->e, m->inputs, m->steps, m->indexed ? index : NULL, count, m->scratch,
                     m->results, m->steps + m->n_in);
}

static void run_all(mapping *m) {
  if (m->rank == 0) m->dims[m->rank++] = 1;
  int inner = m->rank - 1;
  int64_t pos[WK_MAX_RANK] = {0}, length = m->dims[inner];
  for (uint32_t k = 0; k < m->n; k++) m->steps[k] = m->op[k].strides[inner];
  do {
    for (int64_t from = 0; from < length; from += WK_EXPR_BLOCK) {
      int64_t left = length - from;
      run_block(m, pos, inner, from, (int)(left < WK_EXPR_BLOCK ? left : WK_EXPR_BLOCK));
    }
  } while (wk_walk_next(inner, m->dims, pos));
}

void wk_operands_map(const wk_expr *e, int rank, const int64_t *dims, const int64_t *origin,
                     const wk_operand *in, uint32_t n_in, const wk_operand *out) {
  if (wk_dims_count(dims, 0, rank) == 0) return;
  mapping m = {.e = e, .n_in = n_in, .n_out = e->n_results, .n = n_in + e->n_results, .rank = rank,
               .indexed = uses_index(e)};
  memcpy(m.dims, dims, (size_t)rank * sizeof *dims);
  if (origin) memcpy(m.origin, origin, (size_t)rank * sizeof *origin);
  m.op = wk_xcalloc(m.n, sizeof *m.op);
  if (n_in) memcpy(m.op, in, n_in * sizeof *in);
  memcpy(m.op + n_in, out, m.n_out * sizeof *out);
  m.inputs = wk_xcalloc(n_in, sizeof *m.inputs);
  m.results = wk_xcalloc(m.n_out, sizeof *m.results);
  m.steps = wk_xcalloc(m.n, sizeof *m.steps);
  m.scratch = wk_xcalloc(wk_expr_block_scratch(e), sizeof *m.scratch);
  if (m.indexed) m.index = wk_xcalloc(WK_MAX_RANK * WK_EXPR_BLOCK, sizeof *m.index);
  else simplify(&m);
  wk_expr_block_begin(e, m.scratch);
  run_all(&m);
  free(m.op);
  free(m.inputs);
  free(m.results);
  free(m.steps);
  free(m.scratch);
  free(m.index);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void map_node(const wk_eval_call *c, const wk_expr *e, const wk_type *y) {
  wk_operand *in = wk_xcalloc(c->n_in, sizeof *in),
             *out = wk_xcalloc(c->n_out, sizeof *out);
  for (uint32_t k = 0; k < c->n_in; k++) in[k] = wk_operand_broadcast(&c->a.in[k], y->rank);
  for (uint32_t k = 0; k < c->n_out; k++) out[k] = wk_operand_dense(&c->a.out[k]);
  wk_operands_map(e, y->rank, y->dims, c->origin, in, c->n_in, out);
  free(in);
  free(out);
}

wk_status wk_eval_elementwise(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  wk_arena *arena = wk_arena_new();
  wk_expr *e;
  wk_status s = wk_node_expr(c->a.graph, c->a.node, arena, &e);
  if (!s) map_node(c, e, &c->a.out[0].type);
  wk_arena_free(arena);
  return s;
}

wk_status wk_eval_map(const wk_eval_call *c) {
  const wk_attr_map *a = c->a.node->attrs;
  map_node(c, a->body, &c->a.out[0].type);
  return NULL;
}

/* ---- epilogues ------------------------------------------------------------------------------- */

wk_status wk_epilogue_begin(const wk_eval_call *c, const wk_expr *e, wk_epilogue *out) {
  *out = (wk_epilogue){.acc = c->a.out[0]};
  if (!e || wk_expr_is_identity(e)) return NULL; /* what is stored in y is rounded to its type */
  wk_type t = wk_type_make(wk_accumulator_dtype(c->a.in[0].type.dtype), out->acc.type.rank,
                           out->acc.type.dims);
  out->own = true;
  return wk_tensor_alloc(&t, &out->acc);
}

void wk_epilogue_end(const wk_eval_call *c, const wk_expr *e, wk_epilogue *p) {
  if (!p->own) return;
  wk_tensor *y = &c->a.out[0];
  uint32_t extras = c->n_in > 3 ? c->n_in - 3 : 0;
  wk_operand *in = wk_xcalloc(extras + 1, sizeof *in), out = wk_operand_dense(y);
  in[0] = wk_operand_dense(&p->acc);
  for (uint32_t k = 0; k < extras; k++)
    in[k + 1] = wk_operand_broadcast(&c->a.in[k + 3], y->type.rank);
  wk_operands_map(e, y->type.rank, y->type.dims, NULL, in, extras + 1, &out);
  free(in);
  wk_tensor_free(&p->acc);
}
