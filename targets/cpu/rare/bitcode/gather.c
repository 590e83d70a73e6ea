/* SPDX-License-Identifier: Apache-2.0
 * Reading by index. Views: y, data, indices. */
#include "targets/cpu/rare/bitcode/scalar.h"

/* There is nothing that an index could name. */
RARE bool is_empty(const wk_rare_view *data, int64_t *error) {
  if (rare_product(data->dims, 0, data->rank) > 0) return false;
  __atomic_store_n(error, RARE_BAD_INDEX, __ATOMIC_RELAXED);
  return true;
}

/* Copies the first `rank` dims of a slice between two layouts, innermost axis at a stretch. */
RARE void copy_slice(char *to, const int64_t *to_strides, const char *from,
                     const int64_t *from_strides, const int64_t *dims, int64_t rank, int64_t size) {
  if (rank == 0) {
    rare_move(to, from, size);
    return;
  }
  int64_t last = rank - 1, n = dims[last], lines = rare_product(dims, 0, last);
  bool dense = to_strides[last] == 1 && from_strides[last] == 1;
  for (int64_t l = 0; l < lines; l++) {
    char *d = to + rare_offset(l, dims, to_strides, 0, last) * size;
    const char *s = from + rare_offset(l, dims, from_strides, 0, last) * size;
    if (dense)
      for (int64_t b = 0; b < n * size; b++) d[b] = s[b];
    else
      for (int64_t k = 0; k < n; k++)
        rare_move(d + k * to_strides[last] * size, s + k * from_strides[last] * size, size);
  }
}

/* y [outer..., indices..., inner...] and data [outer..., axis, inner...]; the caller has put the
 * axes that lie close together in memory inside. A task is one index of one outer position. */
void wk_rare_gather(void *const *args, void *scratch, int64_t begin, int64_t end,
                    const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *y = &d->view[0], *data = &d->view[1], *at = &d->view[2];
  int64_t axis = d->attr[RARE_AXIS], n = rare_product(at->dims, 0, at->rank);
  int64_t size = rare_size(y->dtype), first = axis + at->rank, inner = data->rank - axis - 1;
  if (is_empty(data, args[3])) return;
  while (begin < end) {
    int64_t outer = begin / n, k = begin % n, stop = rare_min(n, k + end - begin);
    const char *from = args[1];
    char *to = rare_at(args[0], y, rare_offset(outer, y->dims, y->strides, 0, axis));
    from += rare_offset(outer, data->dims, data->strides, 0, axis) * size;
    begin += stop - k;
    for (; k < stop; k++) {
      int64_t entry = k * at->strides[0], place = k * y->strides[axis];
      if (at->rank != 1) {
        entry = rare_offset(k, at->dims, at->strides, 0, at->rank);
        place = rare_offset(k, y->dims, y->strides, axis, first);
      }
      int64_t index = rare_index(rare_at(args[2], at, entry), at->dtype, data->dims[axis], args[3]);
      copy_slice(to + place * size, y->strides + first, from + index * data->strides[axis] * size,
                 data->strides + axis + 1, data->dims + axis + 1, inner, size);
    }
  }
}

#define TABLE(T)                                                    \
  {                                                                 \
    const T *table = (const T *)args[1];                            \
    T *to = (T *)args[0] + y_at;                                    \
    for (int64_t k = 0; k < n; k++) to[k] = table[from[k]];         \
  }

/* Entries of a table of 256 by bytes. A task is a stretch of the innermost axis, which is dense. */
void wk_rare_table(void *const *args, void *scratch, int64_t begin, int64_t end,
                   const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *y = &d->view[0], *at = &d->view[2];
  int64_t last = y->rank - 1, run = y->dims[last], size = rare_size(y->dtype);
  int64_t pieces = (run + RARE_TABLE_RUN - 1) / RARE_TABLE_RUN;
  for (int64_t t = begin; t < end; t++) {
    int64_t first = t % pieces * RARE_TABLE_RUN, n = rare_min(RARE_TABLE_RUN, run - first);
    int64_t y_at = rare_offset(t / pieces, y->dims, y->strides, 0, last) + first;
    const uint8_t *from = (const uint8_t *)args[2] + first;
    from += rare_offset(t / pieces, at->dims, at->strides, 0, last);
    if (size == 1) TABLE(uint8_t)
    else if (size == 2) TABLE(uint16_t)
    else if (size == 4) TABLE(uint32_t)
    else TABLE(uint64_t)
  }
}

#define PICK(name, I, T)                                                                      \
  RARE bool name(T *to, const T *from, const I *at, const int64_t *shape, int64_t n) {          \
    int64_t size = shape[0], stride = shape[1], step = shape[2];                                \
    bool ok = true;                                                                             \
    for (int64_t k = 0; k < n; k++) {                                                           \
      int64_t i = at[k] < 0 ? at[k] + size : at[k];                                             \
      bool fits = (uint64_t)i < (uint64_t)size;                                                 \
      ok = ok && fits;                                                                          \
      to[k] = from[k * step + (fits ? i * stride : 0)];                                         \
    }                                                                                           \
    return ok;                                                                                  \
  }
PICK(pick_4_by_4, int32_t, uint32_t)
PICK(pick_8_by_4, int32_t, uint64_t)
PICK(pick_4_by_8, int64_t, uint32_t)
PICK(pick_8_by_8, int64_t, uint64_t)

/* One line of wk_rare_pick: n elements; shape is the axis' size, its stride, and the step of what
 * lies beside it. */
RARE void pick_line(char *to, const char *from, const char *at, const wk_rare *d,
                    const int64_t *shape, int64_t n, int64_t *error) {
  const wk_rare_view *y = &d->view[0], *indices = &d->view[2];
  int64_t size = rare_size(y->dtype), width = rare_size(indices->dtype);
  int64_t y_step = y->strides[y->rank - 1], at_step = indices->strides[y->rank - 1];
  bool is_signed = indices->dtype == WICK_I32 || indices->dtype == WICK_I64;
  bool ok = true;
  if (y_step != 1 || at_step != 1 || size < 4 || !is_signed) {
    for (int64_t k = 0; k < n; k++) {
      int64_t i = rare_index(at + k * at_step * width, indices->dtype, shape[0], error);
      rare_move(to + k * y_step * size, from + (k * shape[2] + i * shape[1]) * size, size);
    }
  } else if (size == 4) {
    ok = width == 4 ? pick_4_by_4((void *)to, (const void *)from, (const void *)at, shape, n)
                    : pick_4_by_8((void *)to, (const void *)from, (const void *)at, shape, n);
  } else {
    ok = width == 4 ? pick_8_by_4((void *)to, (const void *)from, (const void *)at, shape, n)
                    : pick_8_by_8((void *)to, (const void *)from, (const void *)at, shape, n);
  }
  if (!ok) __atomic_store_n(error, RARE_BAD_INDEX, __ATOMIC_RELAXED);
}

/* Single elements by index: y[p] = data[p, moved by indices[p] along an axis]. The views have the
 * same dims. A task is one element. */
void wk_rare_pick(void *const *args, void *scratch, int64_t begin, int64_t end,
                  const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *y = &d->view[0], *data = &d->view[1], *at = &d->view[2];
  int64_t last = y->rank - 1, run = y->dims[last];
  int64_t *error = args[3];
  const int64_t shape[] = {d->attr[RARE_AXIS_SIZE], d->attr[RARE_AXIS_STRIDE],
                           data->strides[last]};
  if (shape[0] == 0) {
    __atomic_store_n(error, RARE_BAD_INDEX, __ATOMIC_RELAXED);
    return;
  }
  while (begin < end) {
    int64_t line = begin / run, k = begin % run, n = rare_min(run - k, end - begin);
    int64_t to = rare_offset(line, y->dims, y->strides, 0, last) + k * y->strides[last];
    int64_t from = rare_offset(line, data->dims, data->strides, 0, last) + k * shape[2];
    int64_t index = rare_offset(line, at->dims, at->strides, 0, last) + k * at->strides[last];
    pick_line(rare_at(args[0], y, to), rare_at(args[1], data, from), rare_at(args[2], at, index),
              d, shape, n, error);
    begin += n;
  }
}

/* A task is one row of coordinates. */
void wk_rare_gather_nd(void *const *args, void *scratch, int64_t begin, int64_t end,
                       const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *y = &d->view[0], *data = &d->view[1], *at = &d->view[2];
  int64_t batch = d->attr[RARE_BATCH_DIMS], last = at->rank - 1, depth = at->dims[last];
  int64_t per_batch = rare_product(at->dims, batch, last), size = rare_size(y->dtype);
  int64_t first = batch + depth;
  if (is_empty(data, args[3])) return;
  for (int64_t t = begin; t < end; t++) {
    int64_t row = rare_offset(t, at->dims, at->strides, 0, last);
    int64_t from = rare_offset(t / per_batch, data->dims, data->strides, 0, batch);
    for (int64_t k = 0; k < depth; k++)
      from += rare_index(rare_at(args[2], at, row + k * at->strides[last]), at->dtype,
                         data->dims[batch + k], args[3]) *
              data->strides[batch + k];
    int64_t to = rare_offset(t, y->dims, y->strides, 0, last);
    copy_slice(rare_at(args[0], y, to), y->strides + last, rare_at(args[1], data, from),
               data->strides + first, data->dims + first, data->rank - first, size);
  }
}
