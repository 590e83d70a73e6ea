/* SPDX-License-Identifier: Apache-2.0 */
/* Walking strided memory: positions in row-major order, copies, conversion of whole lines. */
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/handler.h"

int64_t wk_dims_count(const int64_t *dims, int first, int last) {
  int64_t n = 1;
  for (int i = first; i < last; i++) n *= dims[i];
  return n;
}

bool wk_walk_next(int rank, const int64_t *dims, int64_t *pos) {
  for (int i = rank - 1; i >= 0; i--) {
    if (++pos[i] < dims[i]) return true;
    pos[i] = 0;
  }
  return false;
}

int64_t wk_walk_dot(int rank, const int64_t *pos, const int64_t *strides) {
  int64_t at = 0;
  for (int i = 0; i < rank; i++) at += pos[i] * strides[i];
  return at;
}

wk_operand wk_operand_dense(const wk_tensor *t) {
  wk_operand o = {.base = t->data, .dtype = t->type.dtype};
  wk_type_strides(&t->type, o.strides);
  return o;
}

wk_operand wk_operand_broadcast(const wk_tensor *t, int rank) {
  wk_operand o = {.base = t->data, .dtype = t->type.dtype};
  int64_t strides[WK_MAX_RANK];
  wk_type_strides(&t->type, strides);
  int shift = rank - t->type.rank;
  for (int i = 0; i < t->type.rank; i++)
    o.strides[shift + i] = t->type.dims[i] == 1 ? 0 : strides[i];
  return o;
}

/* ---- copies ---------------------------------------------------------------------------------- */

#define COPY_AS(ctype)                                                          \
  for (int64_t i = 0; i < n; i++) ((ctype *)dst)[i * ds] = ((const ctype *)src)[i * ss]

static void copy_line(char *dst, int64_t ds, const char *src, int64_t ss, int64_t n, int size) {
  if (ds == 1 && ss == 1) {
    memcpy(dst, src, (size_t)(n * size));
    return;
  }
  switch (size) {
    case 1: COPY_AS(uint8_t); break;
    case 2: COPY_AS(uint16_t); break;
    case 4: COPY_AS(uint32_t); break;
    default: COPY_AS(uint64_t); break;
  }
}

/* Axes that both operands step through without a gap are walked as one. */
void wk_operand_copy(int rank, const int64_t *dims, const wk_operand *dst, const wk_operand *src) {
  int64_t d[WK_MAX_RANK] = {1}, ds[WK_MAX_RANK] = {0}, ss[WK_MAX_RANK] = {0},
          pos[WK_MAX_RANK] = {0};
  int n = 0, size = wk_dtype_size(dst->dtype);
  for (int i = 0; i < rank; i++) {
    if (dims[i] == 0) return;
    if (dims[i] == 1) continue;
    bool joins =
        n && ds[n - 1] == dst->strides[i] * dims[i] && ss[n - 1] == src->strides[i] * dims[i];
    int at = joins ? n - 1 : n++;
    d[at] = joins ? d[at] * dims[i] : dims[i];
    ds[at] = dst->strides[i];
    ss[at] = src->strides[i];
  }
  if (n == 0) n = 1;
  do {
    copy_line(dst->base + size * wk_walk_dot(n - 1, pos, ds), ds[n - 1],
              src->base + size * wk_walk_dot(n - 1, pos, ss), ss[n - 1], d[n - 1], size);
  } while (wk_walk_next(n - 1, d, pos));
}

/* ---- conversions ----------------------------------------------------------------------------- */

#define READ_AS(ctype, member) \
  for (int64_t i = 0; i < n; i++) dst[i].member = ((const ctype *)data)[first + i * stride]

void wk_scalars_read(wk_scalar *dst, const void *data, wk_dtype t, int64_t first, int64_t stride,
                     int64_t n) {
  switch (t) {
    case WK_F32: READ_AS(float, f); break;
    case WK_F64: READ_AS(double, f); break;
    case WK_I8: READ_AS(int8_t, i); break;
    case WK_U8: READ_AS(uint8_t, i); break;
    case WK_I32: READ_AS(int32_t, i); break;
    case WK_I64: READ_AS(int64_t, i); break;
    default:
      for (int64_t i = 0; i < n; i++)
        dst[i] = wk_scalar_load((const char *)data + (first + i * stride) * wk_dtype_size(t), t);
  }
}

void wk_scalars_write(const wk_scalar *src, void *data, wk_dtype t, int64_t first, int64_t stride,
                      int64_t n) {
  if (t == WK_F32) {
    for (int64_t i = 0; i < n; i++) ((float *)data)[first + i * stride] = (float)src[i].f;
    return;
  }
  for (int64_t i = 0; i < n; i++)
    wk_scalar_store((char *)data + (first + i * stride) * wk_dtype_size(t), t, src[i]);
}

void wk_reals_read(double *dst, const wk_tensor *t, int64_t first, int64_t stride, int64_t n) {
  if (t->type.dtype == WK_F32) {
    for (int64_t i = 0; i < n; i++) dst[i] = (double)((const float *)t->data)[first + i * stride];
    return;
  }
  for (int64_t i = 0; i < n; i++) dst[i] = wk_load_f64(t->data, t->type.dtype, first + i * stride);
}

void wk_reals_write(const double *src, wk_tensor *t, int64_t first, int64_t stride, int64_t n) {
  if (t->type.dtype == WK_F32) {
    for (int64_t i = 0; i < n; i++) ((float *)t->data)[first + i * stride] = (float)src[i];
    return;
  }
  for (int64_t i = 0; i < n; i++) wk_store_f64(t->data, t->type.dtype, first + i * stride, src[i]);
}

static wk_status alloc_words(int64_t n, void **out) {
  *out = NULL;
  int64_t bytes;
  if (n < 0 || !wk_mul_ok(n, 8, &bytes)) return wk_error(WK_RESOURCE, "out of memory");
  return wk_try_malloc((size_t)bytes, out);
}

wk_status wk_scalars_alloc(int64_t n, wk_scalar **out) {
  void *p;
  wk_status s = alloc_words(n, &p);
  *out = p;
  return s;
}

wk_status wk_reals_alloc(int64_t n, double **out) {
  void *p;
  wk_status s = alloc_words(n, &p);
  *out = p;
  return s;
}

wk_status wk_reals_of(const wk_tensor *t, double **out) {
  int64_t n = wk_type_count(&t->type);
  WK_TRY(wk_reals_alloc(n, out));
  wk_reals_read(*out, t, 0, 1, n);
  return NULL;
}
