/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/cgen/inst_c.h"

#include <string.h>

#include "compiler/cgen/expr_c.h"
#include "compiler/cgen/inst_c_make.h"

const char *const wk_inst_c_i[WK_MAX_RANK] = {"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};

/* ---- text ------------------------------------------------------------------------------------ */

void wk_inst_c_for(wk_str *b, char letter, int rank, const int64_t *dims) {
  wk_cgen_for(b, letter, 0, rank, dims);
}

const char *wk_inst_c_element(wk_arena *a, const wk_view *v, const char *base,
                              const wk_inst_c_read *r) {
  wk_str b = {0};
  const char *type = wk_expr_c_type(v->dtype);
  if (r->inside) wk_str_printf(&b, "(%s ? ", r->inside);
  if (r->packed) wk_str_printf(&b, "wk_bytes_%s(&", wk_dtype_name(r->packed));
  if (base) wk_str_printf(&b, "((%s %s *)(%s + %lld))[0", r->space ? r->space : "WK_GLOBAL", type,
                          base, (long long)v->offset);
  else wk_str_printf(&b, "((%s *)((char *)t%u + %lld))[0", type, v->buffer, (long long)v->offset);
  for (int k = 0; k < v->rank; k++)
    if (v->dims[k] != 1 && v->strides[k] != 0)
      wk_str_printf(&b, " + %lld * (%s)", (long long)v->strides[k], r->at[k]);
  wk_str_add(&b, r->packed ? "])" : "]");
  if (r->inside) wk_str_printf(&b, " : %lld)", (long long)r->outside);
  const char *text = wk_arena_strdup(a, b.s);
  wk_str_free(&b);
  return text;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

static const struct {
  wk_op op;
  bool (*make)(const wk_loops *m);
  const char *(*refuse)(const wk_graph *g, const wk_node *n); /* NULL: never */
  const char *limit;                                          /* what it refuses */
} rows[] = {
    {WK_OP_MAP, wk_cgen_map, NULL, ""},
    {WK_OP_COPY, wk_cgen_copy, NULL, ""},
    {WK_OP_FILL, wk_cgen_fill, NULL, ""},
    {WK_OP_REDUCE, wk_cgen_reduce, NULL, ""},
    {WK_OP_MATMUL, wk_cgen_matmul, NULL, ""},
    {WK_OP_CONV, wk_cgen_conv, NULL, ""},
    {WK_OP_CONV_TRANSPOSE, wk_cgen_conv_transpose, NULL, ""},
    {WK_OP_MAX_POOL, wk_cgen_max_pool, NULL, ""},
    {WK_OP_AVG_POOL, wk_cgen_avg_pool, NULL, ""},
    {WK_OP_LP_POOL, wk_cgen_lp_pool, NULL, ""},
    {WK_OP_UNPOOL, wk_cgen_unpool, NULL, ""},
    {WK_OP_GATHER, wk_cgen_gather, NULL, ""},
    {WK_OP_GATHER_ELEMENTS, wk_cgen_gather_elements, NULL, ""},
    {WK_OP_GATHER_ND, wk_cgen_gather_nd, NULL, ""},
    {WK_OP_SCATTER_ELEMENTS, wk_cgen_scatter_elements, NULL, ""},
    {WK_OP_SCATTER_ND, wk_cgen_scatter_nd, NULL, ""},
    {WK_OP_CUM_SUM, wk_cgen_cum_sum, NULL, ""},
    {WK_OP_TOP_K, wk_cgen_top_k, wk_cgen_refuse_top_k, "not a large k of a long line"},
    {WK_OP_SEGMENT_REDUCE, wk_cgen_segment_reduce, NULL, ""},
    {WK_OP_NEST, wk_cgen_nest, NULL, ""},
};

static const char none[] = "there are no loops for this operator";

const char *wk_inst_c_refusal(const wk_graph *g, const wk_node *n) {
  if (wk_op_get(n->op)->cls == WK_CLASS_MOVEMENT) return NULL;
  for (size_t k = 0; k < WK_COUNTOF(rows); k++)
    if (rows[k].op == n->op) return rows[k].refuse ? rows[k].refuse(g, n) : NULL;
  return none;
}

bool wk_inst_c_covers(wk_op op, const char **note) {
  bool is_lowered = wk_op_get(op)->kind == WK_KIND_GRAPH;
  *note = is_lowered ? "" : none;
  for (size_t k = 0; k < WK_COUNTOF(rows); k++)
    if (rows[k].op == op) *note = rows[k].limit;
  return *note != none;
}

/* The first output that is wanted has the dims of all of them. */
static const wk_view *wanted_output(const wk_inst *i) {
  for (uint32_t k = 0; k < i->n_out; k++)
    if (i->operands[k].buffer != WK_NONE) return &i->operands[k];
  return NULL;
}

bool wk_inst_c_loops(const wk_inst *i, wk_arena *a, wk_inst_c *out) {
  const wk_view *y = wanted_output(i);
  *out = (wk_inst_c){.rank = y ? y->rank : 0};
  if (y) memcpy(out->dims, y->dims, sizeof out->dims);
  memcpy(out->index, wk_inst_c_i, sizeof out->index);
  memcpy(out->at, wk_inst_c_i, sizeof out->at);
  for (size_t k = 0; k < WK_COUNTOF(rows); k++)
    if (rows[k].op == i->op) return rows[k].make(&(wk_loops){i, a, out});
  return false;
}

/* ---- bases ----------------------------------------------------------------------------------- */

static const char *base_of(const wk_program *p, const wk_buffer *x, uint64_t const_at,
                           wk_arena *a) {
  switch (x->region) {
    case WK_REGION_INPUT: return wk_arena_printf(a, "io[%u]", x->io);
    case WK_REGION_OUTPUT: return wk_arena_printf(a, "io[%zu]", p->inputs.n + x->io);
    case WK_REGION_ACT: return wk_arena_printf(a, "arena + %lld", (long long)x->offset);
    case WK_REGION_CONST:
      return wk_arena_printf(a, "consts + %llu", (unsigned long long)const_at);
    default: return NULL;
  }
}

const char *const *wk_inst_c_bases(const wk_program *p, const uint64_t *const_at, wk_arena *a) {
  const char **base = wk_arena_alloc(a, p->buffers.n * sizeof *base);
  for (size_t k = 0; k < p->buffers.n; k++)
    base[k] = base_of(p, &p->buffers.data[k], const_at[k], a);
  return base;
}
