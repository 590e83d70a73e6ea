/* SPDX-License-Identifier: Apache-2.0
 *
 * Few images leave the tiles of a large window low (kernels/window.h), as the few channels of an
 * image do in the gradient of the first layer's weights. Where windows at neighbouring columns see
 * pixels that lie one behind the other, the columns are images as well: x is copied with its
 * padding to [channel, h, w, n], and the rows are n images at all of the `ow` columns. */
#include <string.h>

#include "targets/cpu/kernels/window.h"
#include "targets/cpu/prepare.h"

enum { H = 2, W = 3 };

/* The same sums with columns as images. */
static wk_cpu_conv_desc joined(const wk_cpu_conv_desc *d, const wk_attr_conv *a) {
  wk_cpu_conv_desc j = *d;
  int64_t w = d->w + a->pads.v[1] + a->pads.v[3];
  j.h = d->h + a->pads.v[0] + a->pads.v[2];
  j.w = w - (d->ow - 1);
  j.n = d->n * d->ow;
  j.ow = 1;
  j.pad_h = j.pad_w = 0;
  const int64_t strides[] = {1, w * d->n, d->n, j.h * w * d->n};
  memcpy(j.x_stride, strides, sizeof strides);
  return j;
}

static bool pays(const wk_prepare *r, const wk_inst *i) {
  const wk_attr_conv *a = i->attrs;
  const wk_view *x = &i->operands[WK_CONTRACT_A];
  if (i->op != WK_OP_CONV || x->rank != 4 || a->strides.v[1] != 1) return false;
  if (a->epilogue || i->n_operands > WK_CONTRACT_EXTRA || wk_contract_has_bias(i)) return false;
  wk_contract c = wk_contract_of(r->p, i);
  bool is_const =
      r->p->buffers.data[i->operands[WK_CONTRACT_B].buffer].region == WK_REGION_CONST;
  if ((c.kind != WK_CONTRACT_CONV && c.kind != WK_CONTRACT_WINDOW) || is_const || c.conv.ow == 1)
    return false;
  if (!wk_dtype_is_float(x->dtype)) return false;
  wk_cpu_conv_desc j = joined(&c.conv, a);
  int64_t copied = j.cin * j.x_stride[3] + wk_view_count(&i->operands[WK_CONTRACT_Y]);
  return wk_cpu_window_cost(&j, copied) < wk_cpu_conv_cost(&c.conv);
}

/* x with its padding, [n, c, h, w] in a memory order of c, h, w, n. */
static wk_view padded(wk_prepare *r, const wk_inst *i) {
  static const int order[] = {1, H, W, 0};
  const wk_attr_conv *a = i->attrs;
  wk_view x = i->operands[WK_CONTRACT_A], big = x;
  bool has_padding = false;
  for (int d = 0; d < 2; d++) {
    big.dims[H + d] += a->pads.v[d] + a->pads.v[2 + d];
    has_padding = has_padding || big.dims[H + d] != x.dims[H + d];
  }
  big = wk_prepare_temporary(r, &big, x.dtype, order);
  if (has_padding) {
    wk_inst *fill = wk_inst_new(r->p, WK_OP_FILL, i->name, 1, 1);
    fill->operands[0] = big;
    wk_block_append(r->out, fill);
  }
  wk_view inner = big;
  for (int d = 0; d < 2; d++) {
    inner.offset += a->pads.v[d] * big.strides[H + d] * wk_dtype_size(x.dtype);
    inner.dims[H + d] = x.dims[H + d];
  }
  wk_prepare_copy(r, i, inner, x);
  return big;
}

wk_status wk_prepare_columns(wk_prepare *r, wk_inst *i, bool *done) {
  static const int order[] = {H, W, 0, 1};
  *done = pays(r, i);
  if (!*done) return NULL;
  const wk_attr_conv *a = i->attrs;
  wk_view y = i->operands[WK_CONTRACT_Y], x = padded(r, i);
  wk_view sum = wk_prepare_temporary(r, &y, y.dtype, order), rows = sum;
  int64_t n = y.dims[0], columns = y.dims[W];
  x.dims[W] -= columns - 1;
  x.dims[0] = rows.dims[0] = n * columns;
  x.strides[0] = 1;
  rows.dims[W] = 1;
  rows.strides[0] = y.dims[1];
  x.role = WK_ROLE_IN;
  wk_inst *c = wk_inst_new(r->p, WK_OP_CONV, i->name, 1, WK_CONTRACT_BIAS);
  c->operands[WK_CONTRACT_Y] = rows;
  c->operands[WK_CONTRACT_A] = x;
  c->operands[WK_CONTRACT_B] = i->operands[WK_CONTRACT_B];
  wk_attr_conv *b = c->attrs;
  *b = *a;
  b->pads = wk_ints_fill(r->p->arena, 4, 0);
  WK_TRY(wk_prepare_contract(r, c));
  wk_prepare_copy(r, i, y, sum);
  return NULL;
}
