/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view.h"

#include <string.h>

wk_status wk_view_gather(const wk_view *v, const void *base, wk_tensor *out) {
  int64_t dims[WK_MAX_RANK] = {0}, pos[WK_MAX_RANK] = {0};
  for (int i = 0; i < v->rank; i++) dims[i] = v->strides[i] || v->dims[i] == 0 ? v->dims[i] : 1;
  wk_type t = wk_type_make(v->dtype, v->rank, dims);
  WK_TRY(wk_tensor_alloc(&t, out));
  size_t size = (size_t)wk_dtype_size(v->dtype);
  int64_t n = wk_type_count(&t);
  for (int64_t k = 0; k < n; k++) {
    int64_t at = 0;
    for (int i = 0; i < v->rank; i++) at += pos[i] * v->strides[i];
    const char *from = (const char *)base + v->offset + at * (int64_t)size;
    memcpy((char *)out->data + k * (int64_t)size, from, size);
    for (int i = v->rank - 1; i >= 0 && ++pos[i] == dims[i]; i--) pos[i] = 0;
  }
  return NULL;
}
