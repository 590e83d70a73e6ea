/* SPDX-License-Identifier: Apache-2.0
 * Sizes that a run decides. Parts work in the layout of the bounds; callers have what there is,
 * without gaps. */
#include <string.h>

#include "session.h"

/* ---- which there are ------------------------------------------------------------------------- */

static bool is_before(const wick_extent_info *x, uint32_t tensor, uint32_t axis) {
  return x->tensor < tensor || (x->tensor == tensor && x->axis < axis);
}

const wick_extent_info *wick_extent_from(const wick_entry_info *entry, uint32_t tensor,
                                         uint32_t axis) {
  uint32_t low = 0, high = entry->extent_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (is_before(&entry->extents[middle], tensor, axis)) low = middle + 1;
    else high = middle;
  }
  const wick_extent_info *x = low < entry->extent_count ? &entry->extents[low] : NULL;
  return x && x->tensor == tensor ? x : NULL;
}

const wick_extent_info *wick_extent_of(const wick_entry_info *entry, uint32_t tensor,
                                       uint32_t axis) {
  const wick_extent_info *x = wick_extent_from(entry, tensor, axis);
  return x && x->axis == axis ? x : NULL;
}

/* ---- dims of inputs -------------------------------------------------------------------------- */

static int64_t *dims_of(const wick_session *s, uint32_t input) {
  return s->input_dims + (size_t)input * WICK_MAX_RANK;
}

const int64_t *wick_session_input_dims(const wick_session *session, uint32_t input) {
  if (!session || input >= session->entry->input_count) return NULL;
  return dims_of(session, input);
}

static wick_status check_axis(wick_session *s, uint32_t input, uint32_t axis, int64_t n) {
  const wick_tensor_info *t = &s->entry->inputs[input];
  const wick_extent_info *x = wick_extent_of(s->entry, input, axis);
  long long most = t->dims[axis];
  if (n <= most && n >= (x ? x->least : most)) return WICK_OK;
  if (!x)
    return wick_fail(&s->error, WICK_BAD_ARGUMENT,
                     "input %s has %lld elements along axis %u, where %lld must be", t->name,
                     (long long)n, axis, most);
  return wick_fail(&s->error, WICK_BAD_ARGUMENT,
                   "input %s has %lld elements along axis %u, where %lld to %lld may be (%s)",
                   t->name, (long long)n, axis, (long long)x->least, most, x->name);
}

static wick_status set_dims(wick_session *s, uint32_t input, const int64_t *dims) {
  if (input >= s->entry->input_count)
    return wick_fail(&s->error, WICK_BAD_ARGUMENT, "there is no input %u", input);
  const wick_tensor_info *t = &s->entry->inputs[input];
  for (uint32_t k = 0; k < t->rank; k++) {
    wick_status status = check_axis(s, input, k, dims[k]);
    if (status != WICK_OK) return status;
  }
  memcpy(dims_of(s, input), dims, t->rank * sizeof *dims);
  return WICK_OK;
}

wick_status wick_session_set_input_dims(wick_session *session, uint32_t input,
                                        const int64_t *dims) {
  if (!session || !dims) return WICK_BAD_ARGUMENT;
  if (atomic_flag_test_and_set(&session->busy)) return WICK_BUSY;
  session->error.text[0] = '\0';
  wick_status status = set_dims(session, input, dims);
  atomic_flag_clear(&session->busy);
  return status;
}

/* ---- layouts --------------------------------------------------------------------------------- */

/* Elements of a run, and where they are among those of the bound: pieces without gaps in both,
 * around which axes go. */
typedef struct {
  const int64_t *dims;
  size_t steps[WICK_MAX_RANK]; /* of the bound, bytes */
  size_t piece;                /* bytes; 0: there are no elements */
  uint32_t axes;               /* around pieces */
} layout;

static layout layout_of(const wick_tensor_info *t, const int64_t *dims) {
  layout l = {.dims = dims, .axes = t->rank};
  size_t bytes = t->bits / 8, count = 1;
  for (uint32_t k = t->rank; k-- > 0; bytes *= (size_t)t->dims[k]) {
    l.steps[k] = bytes;
    count *= (size_t)dims[k];
  }
  while (l.axes > 0 && dims[l.axes - 1] == t->dims[l.axes - 1]) l.axes--;
  l.piece = bytes;
  if (l.axes > 0) l.axes--, l.piece = (size_t)dims[l.axes] * l.steps[l.axes];
  if (count == 0) l.piece = 0;
  return l;
}

/* To the next piece of the bound, `offset` bytes from its first element; false: that was the
 * last. */
static bool advance(const layout *l, int64_t *at, size_t *offset) {
  for (uint32_t k = l->axes; k-- > 0;) {
    *offset += l->steps[k];
    if (++at[k] < l->dims[k]) return true;
    *offset -= l->steps[k] * (size_t)l->dims[k];
    at[k] = 0;
  }
  return false;
}

static void spread(const layout *l, const uint8_t *dense, uint8_t *bound) {
  int64_t at[WICK_MAX_RANK] = {0};
  size_t offset = 0;
  if (l->piece == 0) return;
  do {
    memcpy(bound + offset, dense, l->piece);
    dense += l->piece;
  } while (advance(l, at, &offset));
}

/* In place: no piece has been moved over by one before it. */
static void pack(const layout *l, uint8_t *data) {
  int64_t at[WICK_MAX_RANK] = {0};
  size_t offset = 0;
  if (l->piece == 0) return;
  for (uint8_t *dense = data + l->piece; advance(l, at, &offset); dense += l->piece)
    memmove(dense, data + offset, l->piece);
}

/* ---- around a run ---------------------------------------------------------------------------- */

/* Rows of inputs; those of outputs are behind. */
static uint32_t count_of_inputs(const wick_session *s) {
  uint32_t n = 0;
  while (n < s->plan->extent_count && s->plan->extents[n].tensor < s->entry->input_count) n++;
  return n;
}

static wick_status fail_differing(wick_session *s, const wick_pkg_extent *row) {
  const wick_pkg_extent *first = s->plan->extents;
  const wick_tensor_info *inputs = s->entry->inputs;
  while (first->size != row->size) first++;
  return wick_fail(&s->error, WICK_BAD_ARGUMENT,
                   "input %s has %lld elements along axis %u, where input %s has %lld (%s)",
                   inputs[row->tensor].name, (long long)dims_of(s, row->tensor)[row->axis],
                   row->axis, inputs[first->tensor].name,
                   (long long)dims_of(s, first->tensor)[first->axis],
                   s->entry->extents[row - s->plan->extents].name);
}

/* Backwards: each is in the end that of the first input that has it. */
static void write_sizes(const wick_session *s, uint32_t count) {
  for (uint32_t i = count; i-- > 0;) {
    const wick_pkg_extent *row = &s->plan->extents[i];
    memcpy(s->tensors[row->size], dims_of(s, row->tensor) + row->axis, sizeof(int64_t));
  }
}

static bool is_first_of_tensor(const wick_pkg_extent *rows, uint32_t i) {
  return i == 0 || rows[i - 1].tensor != rows[i].tensor;
}

wick_status wick_extents_give(wick_session *s) {
  const wick_pkg_extent *rows = s->plan->extents;
  uint32_t count = count_of_inputs(s);
  write_sizes(s, count);
  for (uint32_t i = 0; i < count; i++)
    if (memcmp(s->tensors[rows[i].size], dims_of(s, rows[i].tensor) + rows[i].axis,
               sizeof(int64_t)) != 0)
      return fail_differing(s, &rows[i]);
  for (uint32_t i = 0; i < count; i++) {
    if (!is_first_of_tensor(rows, i)) continue;
    layout l = layout_of(&s->entry->inputs[rows[i].tensor], dims_of(s, rows[i].tensor));
    spread(&l, s->tensors[rows[i].tensor], s->tensors[rows[i].stage]);
  }
  return WICK_OK;
}

void wick_extents_take(wick_session *s) {
  for (uint32_t i = count_of_inputs(s); i < s->plan->extent_count; i++) {
    const wick_pkg_extent *row = &s->plan->extents[i];
    size_t output = row->tensor - s->entry->input_count;
    memcpy(s->dims + output * WICK_MAX_RANK + row->axis, s->tensors[row->size], sizeof(int64_t));
  }
}

void wick_extents_pack(wick_session *s) {
  for (uint32_t i = count_of_inputs(s); i < s->plan->extent_count; i++) {
    uint32_t tensor = s->plan->extents[i].tensor, output = tensor - s->entry->input_count;
    if (!is_first_of_tensor(s->plan->extents, i)) continue;
    layout l = layout_of(&s->entry->outputs[output], s->dims + (size_t)output * WICK_MAX_RANK);
    pack(&l, s->tensors[tensor]);
  }
}
