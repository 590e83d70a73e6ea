/* SPDX-License-Identifier: Apache-2.0
 * EXTENTS: sizes that a run decides. */
#include <string.h>

#include "internal.h"

/* The edge of that number, in edge memory; NULL: it is no such one. */
static const wick_tensor_info *edge_of(const wick_entry_info *e, const wick_plan *plan,
                                       uint32_t tensor) {
  if (tensor < e->input_count + e->output_count || tensor >= plan->tensor_count) return NULL;
  return plan->tensors[tensor].place == WICK_PLACE_EDGE ? &plan->tensors[tensor] : NULL;
}

static bool is_size(const wick_tensor_info *edge) {
  return edge && edge->dtype == WICK_I64 && edge->rank == 0;
}

static bool is_stage(const wick_tensor_info *edge, const wick_tensor_info *input) {
  return edge && edge->dtype == input->dtype && edge->rank == input->rank &&
         memcmp(edge->dims, input->dims, sizeof edge->dims) == 0 && wick_tensor_is_dense(edge);
}

static bool fits(const wick_entry_info *e, const wick_plan *plan, const wick_pkg_extent *row) {
  if (row->tensor >= e->input_count + e->output_count) return false;
  const wick_tensor_info *t = &plan->tensors[row->tensor];
  if (!t->is_bound || row->axis >= t->rank || !is_size(edge_of(e, plan, row->size))) return false;
  if (row->tensor >= e->input_count) return row->stage == WICK_NONE && row->least == 0;
  return row->least >= 0 && row->least <= t->dims[row->axis] &&
         is_stage(edge_of(e, plan, row->stage), t);
}

/* Behind the row before it in the entry; rows of one input have one stage. */
static bool follows(const wick_pkg_extent *before, const wick_pkg_extent *row) {
  if (before->tensor != row->tensor) return before->tensor < row->tensor;
  return before->axis < row->axis && before->stage == row->stage;
}

static wick_status decode_row(wick_decoder *d, uint64_t i, uint64_t entry, bool is_first,
                              wick_extent_info *out) {
  const wick_pkg_extent *row = &d->extent_rows[i];
  *out = (wick_extent_info){.size = sizeof *out, .tensor = row->tensor, .axis = row->axis,
                            .name = wick_decoder_text(d, row->name), .least = row->least};
  if (!out->name || (!is_first && !follows(row - 1, row)) ||
      !fits(&d->model->entries[entry], &d->model->plans[entry], row))
    return wick_decoder_corrupt(d, "EXTENTS", i);
  return WICK_OK;
}

static wick_status decode_rows(wick_decoder *d, uint64_t entry, uint32_t n) {
  wick_entry_info *e = &d->model->entries[entry];
  wick_extent_info *extents = wick_model_alloc(d->model, n, sizeof *extents);
  if (!extents) return wick_fail(d->detail, WICK_NO_MEMORY, "out of memory");
  for (uint32_t i = 0; i < n; i++) {
    wick_status status = decode_row(d, d->next_extent + i, entry, i == 0, &extents[i]);
    if (status != WICK_OK) return status;
  }
  e->extents = extents;
  e->extent_count = n;
  d->model->plans[entry].extents = d->extent_rows + d->next_extent;
  d->model->plans[entry].extent_count = n;
  d->next_extent += n;
  return WICK_OK;
}

/* ---- what the session writes ----------------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
  const wick_span *x = a, *y = b;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

static void add_span(const wick_plan *plan, uint32_t tensor, wick_span *spans, uint32_t *n) {
  const wick_tensor_info *t = &plan->tensors[tensor];
  if (t->bytes) spans[(*n)++] = (wick_span){t->offset, t->offset + (int64_t)t->bytes, tensor};
}

static uint32_t list_spans(const wick_entry_info *e, const wick_plan *plan, wick_span *spans) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < plan->extent_count; i++) {
    const wick_pkg_extent *row = &plan->extents[i];
    if (row->tensor >= e->input_count) break;
    add_span(plan, row->size, spans, &n);
    if (i == 0 || row[-1].tensor != row->tensor) add_span(plan, row->stage, spans, &n);
  }
  return n;
}

/* Sorted, each once; false: two overlap. Several inputs may have a size, none another's stage. */
static bool are_apart(const wick_plan *plan, wick_span *spans, uint32_t *n) {
  uint32_t kept = 0;
  qsort(spans, *n, sizeof *spans, by_place);
  for (uint32_t i = 0; i < *n; i++) {
    const wick_span *last = kept ? &spans[kept - 1] : NULL;
    bool overlaps = last && last->end > spans[i].first;
    bool is_same_size = overlaps && last->tensor == spans[i].tensor &&
                        is_size(&plan->tensors[last->tensor]);
    if (overlaps && !is_same_size) return false;
    if (!overlaps) spans[kept++] = spans[i];
  }
  *n = kept;
  return true;
}

bool wick_plan_is_given(const wick_plan *plan, const wick_tensor_info *edge) {
  uint32_t low = 0, high = plan->given_count;
  if (edge->place != WICK_PLACE_EDGE || edge->bytes == 0) return false;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (plan->given[middle].end <= edge->offset) low = middle + 1;
    else high = middle;
  }
  return low < plan->given_count && plan->given[low].first < edge->offset + (int64_t)edge->bytes;
}

static bool has_its_extents(const wick_entry_info *e) {
  for (uint32_t i = 0; i < e->input_count; i++)
    if (e->inputs[i].is_bound && !wick_extent_from(e, i, 0)) return false;
  return true;
}

wick_status wick_decode_extents(wick_decoder *d, uint64_t entry) {
  const wick_entry_info *e = &d->model->entries[entry];
  wick_plan *plan = &d->model->plans[entry];
  uint64_t left = d->extent_count - d->next_extent;
  uint32_t n = 0;
  while (n < left && d->extent_rows[d->next_extent + n].entry == entry) n++;
  wick_status status = n ? decode_rows(d, entry, n) : WICK_OK;
  if (status != WICK_OK) return status;
  if (!has_its_extents(e)) return wick_decoder_corrupt(d, "ENTRIES", entry);
  if (n == 0) return WICK_OK;
  wick_span *spans = wick_model_alloc(d->model, 2 * (uint64_t)n, sizeof *spans);
  if (!spans) return wick_fail(d->detail, WICK_NO_MEMORY, "out of memory");
  plan->given_count = list_spans(e, plan, spans);
  plan->given = spans;
  return are_apart(plan, spans, &plan->given_count) ? WICK_OK
                                                    : wick_decoder_corrupt(d, "ENTRIES", entry);
}
