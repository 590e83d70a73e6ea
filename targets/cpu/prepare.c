/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/prepare.h"

#include <stdlib.h>
#include <string.h>

#include "targets/cpu/kernels/contract.h"

/* ---- temporaries ---------------------------------------------------------------------------- */

enum { WORD_SLACK = 3 }; /* kernels read rows of bytes by words (contract.c) */

wk_view wk_prepare_temporary(wk_prepare *r, const wk_view *like, wk_dtype t, const int *order) {
  wk_view v = *like;
  int64_t run = 1;
  for (int k = v.rank - 1; k >= 0; k--) {
    v.strides[order[k]] = run;
    run *= v.dims[order[k]];
  }
  wk_buffer b = {.name = "cpu.temporary", .region = WK_REGION_ACT,
                 .size = run * wk_dtype_size(t) + (wk_dtype_size(t) == 1 ? WORD_SLACK : 0),
                 .align = 64, .offset = -1};
  v.buffer = wk_program_buffer(r->p, &b);
  v.dtype = t;
  v.offset = v.step = 0;
  v.role = WK_ROLE_OUT;
  return v;
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* Axes from slowest to fastest as they lie in memory. */
static void memory_order(const wk_view *v, int *order) {
  for (int k = 0; k < v->rank; k++) {
    int at = k;
    while (at > 0 && magnitude(v->strides[order[at - 1]]) < magnitude(v->strides[k])) {
      order[at] = order[at - 1];
      at--;
    }
    order[at] = k;
  }
}

/* The order that the kernels write: columns fastest. */
static void kernel_order(const wk_inst *i, int *order) {
  int rank = i->operands[WK_CONTRACT_Y].rank, n = 0;
  int column = i->op == WK_OP_MATMUL ? rank - 1 : 1;
  for (int k = 0; k < rank; k++)
    if (k != column) order[n++] = k;
  order[n] = column;
}

void wk_prepare_copy(wk_prepare *r, const wk_inst *of, wk_view dst, wk_view src) {
  wk_inst *c = wk_inst_new(r->p, WK_OP_COPY, of->name, 1, 2);
  dst.role = WK_ROLE_OUT;
  src.role = WK_ROLE_IN;
  c->operands[0] = dst;
  c->operands[1] = src;
  wk_block_append(r->out, c);
}

/* Replaces an input by a copy that is contiguous along the axis that the kernels read element by
 * element, of convolutions the first one; the other broadcast axes stay broadcast, but for weights,
 * which lie evenly. */
static void copy_in(wk_prepare *r, wk_inst *i, uint32_t k) {
  wk_view *x = &i->operands[k], small = *x;
  int order[WK_MAX_RANK], fastest = k == WK_CONTRACT_A ? x->rank - 1 : x->rank - 2, n = 0;
  bool is_conv = i->op == WK_OP_CONV, is_dense = is_conv && k == WK_CONTRACT_B;
  if (is_conv) fastest = 0;
  for (int d = 0; d < x->rank; d++) {
    if (d == fastest) continue;
    order[n++] = d;
    if (x->strides[d] == 0 && !is_dense) small.dims[d] = 1;
  }
  order[n] = fastest;
  wk_view tmp = wk_prepare_temporary(r, &small, x->dtype, order);
  wk_prepare_copy(r, i, tmp, small);
  for (int d = 0; d < x->rank; d++) {
    tmp.strides[d] = small.dims[d] == x->dims[d] ? tmp.strides[d] : 0;
    tmp.dims[d] = x->dims[d];
  }
  tmp.role = WK_ROLE_IN;
  *x = tmp;
}

/* ---- epilogues as maps ---------------------------------------------------------------------- */

static wk_view bias_view(const wk_inst *i) {
  wk_view v = i->operands[WK_CONTRACT_Y];
  const wk_view *bias = &i->operands[WK_CONTRACT_BIAS];
  memset(v.strides, 0, sizeof v.strides);
  v.strides[wk_contract_bias_axis(i)] = bias->strides[0];
  v.buffer = bias->buffer;
  v.offset = bias->offset;
  v.step = bias->step;
  v.dtype = bias->dtype;
  v.role = WK_ROLE_IN;
  return v;
}

static wk_inst *epilogue_map(wk_prepare *r, const wk_inst *i, const wk_expr *e, wk_view acc) {
  bool has_bias = wk_contract_has_bias(i);
  uint32_t extras = i->n_operands > WK_CONTRACT_EXTRA ? i->n_operands - WK_CONTRACT_EXTRA : 0;
  wk_inst *map = wk_inst_new(r->p, WK_OP_MAP, i->name, 1, 2 + has_bias + extras);
  ((wk_attr_map *)map->attrs)->body = e;
  uint32_t n = 0;
  map->operands[n++] = i->operands[WK_CONTRACT_Y];
  acc.role = WK_ROLE_IN;
  map->operands[n++] = acc;
  if (has_bias) map->operands[n++] = bias_view(i);
  for (uint32_t k = 0; k < extras; k++) map->operands[n++] = i->operands[WK_CONTRACT_EXTRA + k];
  return map;
}

wk_status wk_prepare_zero(wk_prepare *r, const wk_inst *i) {
  const wk_expr *e = wk_contract_epilogue(i, r->p->arena);
  wk_view sum = i->operands[WK_CONTRACT_Y];
  if (!e) {
    wk_inst *fill = wk_inst_new(r->p, WK_OP_FILL, i->name, 1, 1);
    fill->operands[0] = sum;
    wk_block_append(r->out, fill);
    return NULL;
  }
  float *zero;
  wk_dtype acc = wk_accumulator_dtype(i->operands[WK_CONTRACT_A].dtype);
  WK_TRY(wk_prepare_data(r, wk_dtype_size(acc), &zero));
  wk_buffer b = {.name = "cpu.zero", .region = WK_REGION_CONST, .size = wk_dtype_size(acc),
                 .align = 64, .offset = -1, .data = zero};
  sum.buffer = wk_program_buffer(r->p, &b);
  sum.dtype = acc;
  sum.offset = sum.step = 0;
  memset(sum.strides, 0, sizeof sum.strides);
  wk_block_append(r->out, epilogue_map(r, i, e, sum));
  return NULL;
}

static bool reads_output(const wk_inst *i) {
  for (uint32_t k = WK_CONTRACT_BIAS; k < i->n_operands; k++)
    if (i->operands[k].buffer == i->operands[WK_CONTRACT_Y].buffer) return true;
  return false;
}

wk_inst *wk_prepare_epilogue(wk_prepare *r, wk_inst *i, const int *order, bool direct) {
  wk_view *y = &i->operands[WK_CONTRACT_Y];
  const wk_expr *e = wk_contract_epilogue(i, r->p->arena);
  wk_dtype acc = wk_accumulator_dtype(i->operands[WK_CONTRACT_A].dtype);
  bool same = direct && y->dtype == acc;
  if (!e && same) return NULL;
  if (!e) e = wk_expr_identity(r->p->arena, acc);
  wk_view sum = same && !reads_output(i) ? *y : wk_prepare_temporary(r, y, acc, order);
  wk_inst *map = epilogue_map(r, i, e, sum);
  *y = sum;
  y->role = WK_ROLE_OUT;
  i->n_operands = WK_CONTRACT_BIAS;
  *wk_contract_attr(i) = NULL;
  if (wk_contraction_dtype(NULL, i->operands[WK_CONTRACT_A].dtype) != acc)
    *wk_contract_attr(i) = wk_expr_identity(r->p->arena, acc);
  return map;
}

/* ---- f16 and bf16 ---------------------------------------------------------------------------- */

wk_inst *wk_prepare_conversion(wk_prepare *r, const wk_inst *of, wk_view dst, wk_view src) {
  wk_inst *map = wk_inst_new(r->p, WK_OP_MAP, of->name, 1, 2);
  wk_expr_builder *b = wk_expr_begin(r->p->arena);
  uint16_t y = wk_expr_cast(b, dst.dtype, wk_expr_input(b, 0, src.dtype));
  ((wk_attr_map *)map->attrs)->body = wk_expr_finish(b, &y, 1);
  dst.role = WK_ROLE_OUT;
  src.role = WK_ROLE_IN;
  map->operands[0] = dst;
  map->operands[1] = src;
  return map;
}

static bool is_half(const wk_view *v) {
  return v->buffer != WK_NONE && wk_compute_dtype(v->dtype) != v->dtype;
}

/* Input k as f32. */
static void widen(wk_prepare *r, wk_inst *i, uint32_t k) {
  wk_view *x = &i->operands[k], small = *x;
  int order[WK_MAX_RANK];
  if (!is_half(x)) return;
  for (int d = 0; d < x->rank; d++)
    if (x->strides[d] == 0) small.dims[d] = 1;
  memory_order(&small, order);
  wk_view tmp = wk_prepare_temporary(r, &small, WK_F32, order);
  wk_block_append(r->out, wk_prepare_conversion(r, i, tmp, small));
  for (int d = 0; d < x->rank; d++)
    if (x->strides[d] == 0) tmp.strides[d] = 0;
  memcpy(tmp.dims, x->dims, sizeof tmp.dims);
  tmp.role = WK_ROLE_IN;
  *x = tmp;
}

/* Operand k of a product, whose result keeps its type. */
static void widen_contract(wk_prepare *r, wk_inst *i, uint32_t k) {
  const wk_expr **epilogue = wk_contract_attr(i);
  wk_expr_builder *b = wk_expr_begin(r->p->arena);
  uint16_t y = wk_expr_cast(b, i->operands[WK_CONTRACT_Y].dtype, wk_expr_input(b, 0, WK_F32));
  if (!*epilogue) *epilogue = wk_expr_finish(b, &y, 1);
  widen(r, i, k);
}

/* Pools compute in f32. */
static void prepare_pool(wk_prepare *r, wk_inst *i) {
  wk_view *y = &i->operands[0], to = *y;
  int order[WK_MAX_RANK];
  widen(r, i, i->n_out);
  if (is_half(y)) {
    memory_order(y, order);
    *y = wk_prepare_temporary(r, y, WK_F32, order);
  }
  wk_block_append(r->out, i);
  if (is_half(&to)) wk_block_append(r->out, wk_prepare_conversion(r, i, to, *y));
}

/* ---- instructions --------------------------------------------------------------------------- */

/* Inputs come last: a product may turn round when its result lies elsewhere. */
static wk_status prepare_fitting(wk_prepare *r, wk_inst *i, wk_contract c) {
  int order[WK_MAX_RANK];
  wk_inst *after = NULL;
  wk_view y = i->operands[WK_CONTRACT_Y];
  kernel_order(i, order);
  if (c.fix & WK_FIX_EPILOGUE) {
    after = wk_prepare_epilogue(r, i, order, !(c.fix & WK_FIX_Y));
  } else if (c.fix & WK_FIX_Y) {
    i->operands[WK_CONTRACT_Y] = wk_prepare_temporary(r, &y, y.dtype, order);
    after = wk_inst_new(r->p, WK_OP_COPY, i->name, 1, 2);
    after->operands[0] = y;
    after->operands[1] = i->operands[WK_CONTRACT_Y];
    after->operands[1].role = WK_ROLE_IN;
  }
  if (c.fix) c = wk_contract_of(r->p, i);
  if (c.fix & WK_FIX_WIDE) {
    widen_contract(r, i, c.a);
    c = wk_contract_of(r->p, i); /* x may lie better now */
  }
  if (c.fix & WK_FIX_A) copy_in(r, i, c.a);
  if (c.fix & WK_FIX_B) copy_in(r, i, c.b);
  if (c.fix) c = wk_contract_of(r->p, i);
  if (c.kind == WK_CONTRACT_GENERIC || c.fix)
    return wk_error_at(WK_INTERNAL, i->name, "%s does not fit after preparation (%u)",
                       wk_op_get(i->op)->name, c.fix);
  if (c.is_packed) WK_TRY(wk_prepare_pack(r, i, &c));
  wk_block_append(r->out, i);
  if (after) wk_block_append(r->out, after);
  return NULL;
}

wk_status wk_prepare_contract(wk_prepare *r, wk_inst *i) {
  bool done = false;
  if (!wk_contract_is_correlation(r->p, i)) WK_TRY(wk_prepare_volume(r, i, &done));
  if (!done) WK_TRY(wk_prepare_columns(r, i, &done));
  if (done) return NULL;
  wk_contract c = wk_contract_of(r->p, i);
  if (c.kind != WK_CONTRACT_GENERIC) return prepare_fitting(r, i, c);
  int order[WK_MAX_RANK];
  memory_order(&i->operands[WK_CONTRACT_Y], order);
  wk_inst *after = wk_prepare_epilogue(r, i, order, true);
  widen(r, i, WK_CONTRACT_A);
  widen(r, i, WK_CONTRACT_B);
  wk_block_append(r->out, i);
  if (after) wk_block_append(r->out, after);
  return NULL;
}

/* Rows of the table and of the result lie in memory element by element. */
static void prepare_segments(wk_prepare *r, wk_inst *i) {
  static const int by_rows[] = {0, 1};
  wk_view *y = &i->operands[0], *data = &i->operands[1], to = *y, from = *data;
  if (data->strides[1] != 1 && data->dims[1] > 1) {
    *data = wk_prepare_temporary(r, data, data->dtype, by_rows);
    wk_prepare_copy(r, i, *data, from);
    data->role = WK_ROLE_IN;
  }
  if (y->strides[1] != 1 && y->dims[1] > 1) *y = wk_prepare_temporary(r, y, y->dtype, by_rows);
  wk_block_append(r->out, i);
  if (to.buffer != y->buffer) wk_prepare_copy(r, i, to, *y);
}

/* Routines of the program see tensors without gaps. */
static void prepare_custom(wk_prepare *r, wk_inst *i) {
  static const int rows[] = {0, 1, 2, 3, 4, 5, 6, 7};
  wk_view *old = wk_arena_memdup(r->p->arena, i->operands, i->n_operands * sizeof *old);
  for (uint32_t k = 0; k < i->n_operands; k++) {
    wk_view *v = &i->operands[k];
    if (v->buffer == WK_NONE || wk_view_is_dense(v)) continue;
    *v = wk_prepare_temporary(r, v, v->dtype, rows);
    v->role = old[k].role;
    if (k >= i->n_out) wk_prepare_copy(r, i, *v, old[k]);
  }
  wk_block_append(r->out, i);
  for (uint32_t k = 0; k < i->n_out; k++)
    if (i->operands[k].buffer != old[k].buffer) wk_prepare_copy(r, i, old[k], i->operands[k]);
}

static wk_status prepare_inst(wk_prepare *r, wk_inst *i) {
  bool done = false;
  switch (i->op) {
    case WK_OP_CONV:
    case WK_OP_MATMUL: return wk_prepare_contract(r, i);
    case WK_OP_CONV_TRANSPOSE:
      WK_TRY(wk_prepare_transpose(r, i, &done));
      return done ? NULL : wk_prepare_contract(r, i);
    case WK_OP_MAX_POOL:
    case WK_OP_AVG_POOL:
    case WK_OP_LP_POOL:
    case WK_OP_UNPOOL: prepare_pool(r, i); return NULL;
    case WK_OP_SEGMENT_REDUCE: prepare_segments(r, i); return NULL;
    case WK_OP_CUSTOM: prepare_custom(r, i); return NULL;
    default: wk_block_append(r->out, i); return NULL;
  }
}

/* Contents of nests are left alone: they run strip by strip. */
static wk_status prepare_blocks(wk_prepare *r) {
  WK_VEC(wk_block *) todo = {0};
  wk_status s = NULL;
  wk_vec_push(&todo, &r->p->body);
  while (todo.n > 0 && !s) {
    wk_block *b = todo.data[--todo.n], old = *b;
    memset(b, 0, sizeof *b);
    r->out = b;
    for (size_t k = 0; k < old.insts.n && !s; k++) {
      wk_inst *i = old.insts.data[k];
      s = prepare_inst(r, i);
      for (uint32_t n = 0; i->op != WK_OP_NEST && n < i->n_bodies; n++)
        wk_vec_push(&todo, &i->bodies[n]);
    }
    wk_vec_free(&old.insts);
  }
  wk_vec_free(&todo);
  return s;
}

static void drop_unused_constants(wk_program *p) {
  wk_arena *scratch = wk_arena_new();
  wk_inst_pos *all;
  size_t n = wk_program_flatten(p, scratch, &all);
  bool *used = wk_arena_alloc(scratch, p->buffers.n);
  for (size_t k = 0; k < n; k++)
    for (uint32_t o = 0; o < all[k].inst->n_operands; o++)
      if (all[k].inst->operands[o].buffer != WK_NONE) used[all[k].inst->operands[o].buffer] = true;
  for (size_t b = 0; b < p->buffers.n; b++)
    if (p->buffers.data[b].region == WK_REGION_CONST && !used[b]) p->buffers.data[b].size = 0;
  wk_arena_free(scratch);
}

wk_status wk_prepare_program(wk_program *p, const wk_simd *simd) {
  wk_prepare r = {.p = p, .simd = simd};
  WK_TRY(prepare_blocks(&r));
  drop_unused_constants(p);
  return NULL;
}
