/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "internal.h"

size_t wick_tensor_dense_bytes(const wick_tensor_info *t) {
  size_t count = 1;
  for (uint32_t i = 0; i < t->rank; i++) count *= (size_t)t->dims[i];
  return (count * t->bits + 7) / 8;
}

bool wick_tensor_is_dense(const wick_tensor_info *t) {
  int64_t stride = 1;
  if (t->bytes == 0) return true;
  for (uint32_t i = t->rank; i-- > 0; stride *= t->dims[i])
    if (t->dims[i] != 1 && t->strides[i] != stride) return false;
  return true;
}

void wick_tensor_gather(const wick_tensor_info *t, const uint8_t *first, uint8_t *dense) {
  size_t size = t->bits / 8, left = wick_tensor_dense_bytes(t);
  int64_t at[WICK_MAX_RANK] = {0}, offset = 0;
  if (wick_tensor_is_dense(t)) {
    if (left) memcpy(dense, first, left);
    return;
  }
  for (; left > 0; left -= size, dense += size) {
    memcpy(dense, first + offset * (int64_t)size, size);
    for (uint32_t i = t->rank; i-- > 0;) {
      offset += t->strides[i];
      if (++at[i] < t->dims[i]) break;
      offset -= t->strides[i] * t->dims[i];
      at[i] = 0;
    }
  }
}
