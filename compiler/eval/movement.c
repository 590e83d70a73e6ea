/* SPDX-License-Identifier: Apache-2.0 */
/* Shape and movement: strided copies where strides can say it, else one table of source positions
 * per axis. */
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/handler.h"

wk_status wk_eval_reshape(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  memcpy(c->a.out[0].data, c->a.in[0].data, (size_t)wk_type_bytes(&c->a.out[0].type));
  return NULL;
}

static void copy_to_output(const wk_eval_call *c, const wk_operand *src) {
  wk_operand dst = wk_operand_dense(&c->a.out[0]);
  wk_operand_copy(c->a.out[0].type.rank, c->a.out[0].type.dims, &dst, src);
}

wk_status wk_eval_transpose(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_transpose *a = c->a.node->attrs;
  wk_operand x = wk_operand_dense(&c->a.in[0]), src = x;
  for (int i = 0; i < c->a.in[0].type.rank; i++) src.strides[i] = x.strides[a->perm.v[i]];
  copy_to_output(c, &src);
  return NULL;
}

wk_status wk_eval_slice(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0) || wk_type_count(&c->a.out[0].type) == 0) return NULL;
  const wk_attr_slice *a = c->a.node->attrs;
  wk_operand src = wk_operand_dense(&c->a.in[0]);
  int size = wk_dtype_size(src.dtype);
  for (int i = 0; i < c->a.in[0].type.rank; i++) {
    src.base += a->starts.v[i] * src.strides[i] * size;
    src.strides[i] *= c->a.out[0].type.dims[i] > 1 ? a->steps.v[i] : 1;
  }
  copy_to_output(c, &src);
  return NULL;
}

wk_status wk_eval_expand(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  wk_operand src = wk_operand_broadcast(&c->a.in[0], c->a.out[0].type.rank);
  copy_to_output(c, &src);
  return NULL;
}

/* Copies between `piece` and the part of `whole` that starts at `from` along the axis. */
static void copy_piece(const wk_tensor *whole, const wk_tensor *piece, int64_t axis, int64_t from,
                       bool into_whole) {
  wk_operand w = wk_operand_dense(whole), p = wk_operand_dense(piece);
  w.base += from * w.strides[axis] * wk_dtype_size(w.dtype);
  wk_operand_copy(piece->type.rank, piece->type.dims, into_whole ? &w : &p, into_whole ? &p : &w);
}

wk_status wk_eval_concat(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  int64_t axis = ((const wk_attr_concat *)c->a.node->attrs)->axis, from = 0;
  for (uint32_t k = 0; k < c->n_in; k++) {
    if (wk_type_count(&c->a.in[k].type))
      copy_piece(&c->a.out[0], &c->a.in[k], axis, from, true);
    from += c->a.in[k].type.dims[axis];
  }
  return NULL;
}

wk_status wk_eval_split(const wk_eval_call *c) {
  int64_t axis = ((const wk_attr_split *)c->a.node->attrs)->axis, from = 0;
  for (uint32_t k = 0; k < c->n_out; k++) {
    if (wk_eval_out(c, k) && wk_type_count(&c->a.out[k].type))
      copy_piece(&c->a.in[0], &c->a.out[k], axis, from, false);
    from += c->a.out[k].type.dims[axis];
  }
  return NULL;
}

/* ---- by tables ------------------------------------------------------------------------------- */

void wk_tensor_remap(const wk_tensor *x, const wk_tensor *y, int64_t *const *from,
                     const void *fill) {
  int64_t xs[WK_MAX_RANK], pos[WK_MAX_RANK] = {0};
  int rank = y->type.rank, inner = rank - 1, size = wk_dtype_size(x->type.dtype);
  char *out = y->data;
  if (wk_type_count(&y->type) == 0) return;
  wk_type_strides(&x->type, xs);
  do {
    int64_t base = 0;
    bool outside = false;
    for (int i = 0; i < inner; i++) {
      outside |= from[i][pos[i]] < 0;
      base += from[i][pos[i]] * xs[i];
    }
    for (int64_t j = 0; j < (rank ? y->type.dims[inner] : 1); j++, out += size) {
      int64_t at = rank ? from[inner][j] : 0;
      memcpy(out, outside || at < 0 ? fill : wk_at(x, base + at), (size_t)size);
    }
  } while (wk_walk_next(inner, y->type.dims, pos));
}

void wk_remap_new(const wk_type *y, int64_t *from[WK_MAX_RANK]) {
  for (int i = 0; i < y->rank; i++)
    from[i] = wk_xcalloc((size_t)y->dims[i], sizeof **from);
}

void wk_remap_free(const wk_type *y, int64_t *from[WK_MAX_RANK]) {
  for (int i = 0; i < y->rank; i++) free(from[i]);
}

static int64_t floor_mod(int64_t a, int64_t n) {
  int64_t r = a % n;
  return r < 0 ? r + n : r;
}

/* Where position p (relative to x, possibly outside) takes its value from; -1: the fill. */
static int64_t pad_source(const char *mode, int64_t p, int64_t n) {
  if (n == 0) return -1;
  if (p >= 0 && p < n) return p;
  switch (mode[0]) {
    case 'e': return p < 0 ? 0 : n - 1;
    case 'w': return floor_mod(p, n);
    case 'r': {
      if (n == 1) return 0;
      int64_t r = floor_mod(p, 2 * (n - 1));
      return r < n ? r : 2 * (n - 1) - r;
    }
    default: return -1;
  }
}

wk_status wk_eval_pad(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_pad *a = c->a.node->attrs;
  const wk_tensor *x = &c->a.in[0], *y = &c->a.out[0], *fill = wk_eval_in(c, 1);
  static const char zero[8];
  int64_t *from[WK_MAX_RANK];
  wk_remap_new(&y->type, from);
  for (int i = 0; i < y->type.rank; i++)
    for (int64_t p = 0; p < y->type.dims[i]; p++)
      from[i][p] = pad_source(a->mode, p - a->before.v[i], x->type.dims[i]);
  wk_tensor_remap(x, y, from, fill ? fill->data : zero);
  wk_remap_free(&y->type, from);
  return NULL;
}

wk_status wk_eval_tile(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_tensor *x = &c->a.in[0], *y = &c->a.out[0];
  int64_t *from[WK_MAX_RANK];
  wk_remap_new(&y->type, from);
  for (int i = 0; i < y->type.rank; i++)
    for (int64_t p = 0; p < y->type.dims[i]; p++) from[i][p] = p % x->type.dims[i];
  wk_tensor_remap(x, y, from, NULL);
  wk_remap_free(&y->type, from);
  return NULL;
}
