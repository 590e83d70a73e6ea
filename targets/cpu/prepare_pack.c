/* SPDX-License-Identifier: Apache-2.0
 *
 * Right operands as panels. Constants are packed now. Weights of a convolution that are known at
 * run time only become copies into a buffer of activations, a few views of six axes, which are
 * placed, shared out and checked like any other instruction. */
#include <string.h>

#include "targets/cpu/prepare.h"

/* The view keeps its dims and its broadcast axes; what it shows is for the kernel alone. */
static void point_to_packed(wk_prepare *r, wk_view *v, int64_t bytes, const void *data) {
  wk_buffer b = {.name = wk_arena_printf(r->p->arena, "%s.packed",
                                         r->p->buffers.data[v->buffer].name),
                 .region = data ? WK_REGION_CONST : WK_REGION_ACT, .size = bytes, .align = 64,
                 .offset = -1, .data = data};
  int64_t run = 1;
  for (int k = v->rank - 1; k >= 0; k--) {
    bool broadcast = v->strides[k] == 0 && v->dims[k] > 1;
    v->strides[k] = broadcast ? 0 : run;
    if (!broadcast) run *= v->dims[k];
  }
  v->offset = v->step = 0;
  v->buffer = wk_program_buffer(r->p, &b);
}

wk_status wk_prepare_data(wk_prepare *r, int64_t bytes, float **out) {
  void *data;
  WK_TRY(wk_try_malloc((size_t)bytes, &data));
  wk_vec_push(&r->p->blobs, data);
  *out = data;
  return NULL;
}

static wk_status pack_now(wk_prepare *r, wk_inst *i, const wk_contract *c) {
  wk_view *v = &i->operands[c->b];
  const wk_buffer *b = &r->p->buffers.data[v->buffer];
  const char *w = (const char *)b->data + v->offset;
  bool is_conv = c->kind == WK_CONTRACT_CONV;
  int64_t bytes = is_conv ? wk_cpu_conv_packed_bytes(r->simd, &c->conv)
                          : wk_cpu_matmul_packed_bytes(r->simd, &c->matmul);
  float *data;
  WK_TRY(wk_prepare_data(r, bytes, &data));
  if (is_conv) {
    int64_t strides[4] = {v->strides[0], v->strides[1], v->rank == 4 ? v->strides[2] : 0,
                          v->strides[v->rank - 1]};
    wk_cpu_conv_pack(r->simd, &c->conv, w, strides, data);
  } else {
    wk_cpu_matmul_pack(r->simd, &c->matmul, w, data);
  }
  point_to_packed(r, v, bytes, data);
  return NULL;
}

/* ---- at run time ----------------------------------------------------------------------------- */

/* w as (group, panel, column, channel, taps…) of the piece; 1-d windows are one tap high. */
static wk_view piece_from(const wk_view *w, const wk_cpu_conv_piece *c) {
  wk_view v = *w;
  int last = w->rank - 1;
  const int64_t dims[] = {c->groups, c->panels, c->columns, c->cin, w->rank == 4 ? w->dims[2] : 1,
                          w->dims[last]};
  const int64_t strides[] = {c->group * w->strides[0], c->panel * w->strides[0],
                             c->column * w->strides[0], w->strides[1],
                             w->rank == 4 ? w->strides[2] : 0, w->strides[last]};
  v.rank = WK_COUNTOF(dims);
  memcpy(v.dims, dims, sizeof dims);
  memcpy(v.strides, strides, sizeof strides);
  v.offset += c->first * w->strides[0] * wk_dtype_size(w->dtype);
  v.role = WK_ROLE_IN;
  return v;
}

static void pack_later(wk_prepare *r, wk_inst *i, const wk_contract *c) {
  wk_view *w = &i->operands[c->b], from = *w;
  wk_cpu_conv_piece piece[WK_CPU_CONV_PIECES];
  wk_dtype type;
  int n = wk_cpu_conv_pieces(r->simd, &c->conv, &type, piece);
  point_to_packed(r, w, wk_cpu_conv_packed_bytes(r->simd, &c->conv), NULL);
  for (int k = 0; k < n; k++) {
    wk_view src = piece_from(&from, &piece[k]), dst = src;
    dst.buffer = w->buffer;
    dst.dtype = type;
    dst.offset = piece[k].at;
    dst.step = 0;
    memcpy(dst.strides, piece[k].to, sizeof piece[k].to);
    if (type == src.dtype) wk_prepare_copy(r, i, dst, src);
    else wk_block_append(r->out, wk_prepare_conversion(r, i, dst, src));
  }
}

/* Panels depend on the weights and, depthwise, on the layout of x, which the size tells. */
static bool is_packed_already(const wk_prepare *r, const wk_view *w, int64_t bytes) {
  return r->packed_bytes == bytes && wk_view_same(&r->packed_from, w);
}

wk_status wk_prepare_pack(wk_prepare *r, wk_inst *i, const wk_contract *c) {
  wk_view *v = &i->operands[c->b], from = *v;
  bool shares = r->shares_panels && c->kind == WK_CONTRACT_CONV;
  int64_t bytes = shares ? wk_cpu_conv_packed_bytes(r->simd, &c->conv) : 0;
  if (shares && is_packed_already(r, v, bytes)) {
    *v = r->packed;
    return NULL;
  }
  if (r->p->buffers.data[v->buffer].region == WK_REGION_CONST) WK_TRY(pack_now(r, i, c));
  else pack_later(r, i, c);
  r->packed_from = from;
  r->packed = *v;
  r->packed_bytes = bytes;
  return NULL;
}
