/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

/* Elements from the lowest to the highest; false when a number overflows. */
static bool measure(const wick_tensor_info *t, int64_t *low, int64_t *high) {
  *low = *high = 0;
  for (uint32_t i = 0; i < t->rank; i++) {
    int64_t span, *end = t->strides[i] < 0 ? low : high;
    if (__builtin_mul_overflow(t->dims[i] - 1, t->strides[i], &span) ||
        __builtin_add_overflow(*end, span, end))
      return false;
  }
  int64_t most = INT64_C(1) << WICK_MAX_BYTES_LOG2;
  return *low > -most && *high < most;
}

static bool has_dim_of_zero(const wick_tensor_info *t) {
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->dims[i] == 0) return true;
  return false;
}

static bool decode_shape(const wick_pkg_tensor *row, wick_tensor_info *out) {
  uint64_t bits = row->bits;
  for (uint32_t i = 0; i < WICK_MAX_RANK; i++) {
    int64_t dim = row->dims[i];
    if (dim < 0 || (i >= row->rank && (dim != 0 || row->strides[i] != 0))) return false;
    if (i < row->rank && __builtin_mul_overflow(bits, (uint64_t)dim, &bits)) return false;
    out->dims[i] = dim;
    out->strides[i] = row->strides[i];
  }
  return bits >> (WICK_MAX_BYTES_LOG2 + 3) == 0;
}

static bool decode_size(const wick_pkg_tensor *row, wick_tensor_info *out) {
  int64_t low, high;
  uint64_t bytes = 0;
  if (!has_dim_of_zero(out)) {
    if (!measure(out, &low, &high)) return false;
    bytes = ((uint64_t)(high - low + 1) * row->bits + 7) / 8;
  }
  out->bytes = bytes;
  return bytes == row->bytes && bytes >> WICK_MAX_BYTES_LOG2 == 0 &&
         row->offset >> WICK_MAX_BYTES_LOG2 == 0;
}

bool wick_decode_tensor(const wick_decoder *d, const wick_pkg_tensor *row, wick_tensor_info *out) {
  uint64_t element = wick_dtype_bytes((wick_dtype)row->dtype);
  bool is_held = row->place == WICK_PLACE_INPUT || row->place == WICK_PLACE_OUTPUT;
  if (element == 0 || row->bits != 8 * element || row->rank > WICK_MAX_RANK ||
      row->flags > WICK_TENSOR_BOUND || !wick_is_alignment(row->align, 1) ||
      row->place > WICK_PLACE_DEVICE || (row->index != 0 && !is_held) ||
      ((row->place == WICK_PLACE_CALLER || row->place == WICK_PLACE_DEVICE) && row->offset != 0))
    return false;
  out->size = sizeof *out;
  out->rank = row->rank;
  out->bits = row->bits;
  if (!decode_shape(row, out) || !decode_size(row, out)) return false;
  out->name = wick_decoder_text(d, row->name);
  out->dtype = (wick_dtype)row->dtype;
  out->align = row->align;
  out->is_bound = (row->flags & WICK_TENSOR_BOUND) != 0;
  out->place = (wick_place)row->place;
  out->index = row->index;
  out->offset = (int64_t)row->offset;
  return out->name != NULL;
}

int64_t wick_tensor_first_byte(const wick_tensor_info *t) {
  int64_t low = 0, high = 0;
  if (t->bytes) (void)measure(t, &low, &high);
  return t->offset + low * (int64_t)t->bits / 8;
}

bool wick_tensor_is_within(const wick_tensor_info *t, uint64_t size) {
  int64_t first = wick_tensor_first_byte(t);
  return first >= 0 && wick_is_range((uint64_t)first, t->bytes, size);
}

bool wick_tensor_is_forward(const wick_tensor_info *t) {
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->strides[i] < 0) return false;
  return true;
}
