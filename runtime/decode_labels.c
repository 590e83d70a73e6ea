/* SPDX-License-Identifier: Apache-2.0
 * LABELS: what the numbers of outputs stand for. */
#include "internal.h"

static bool fits_its_output(const wick_pkg_labels *row, const wick_tensor_info *t) {
  if (row->count == 0 || row->flags > WICK_LABELS_NUMBERS) return false;
  if (row->kind == WICK_LABELS_ELEMENTS) return t->dtype == WICK_I64;
  return row->kind == WICK_LABELS_COLUMNS && t->rank > 0 &&
         t->dims[t->rank - 1] == (int64_t)row->count;
}

static wick_status decode_row(wick_decoder *d, uint64_t i, uint64_t entry, wick_labels *out) {
  const wick_entry_info *e = &d->model->entries[entry];
  const wick_pkg_labels *row = &d->label_rows[i];
  bool follows = i == 0 || row[-1].entry != row->entry || row[-1].output < row->output;
  if (!follows || row->output >= e->output_count ||
      !fits_its_output(row, &e->outputs[row->output]) || row->first_ref != d->next_ref ||
      row->count > d->ref_count - d->next_ref)
    return wick_decoder_corrupt(d, "LABELS", i);
  const char **texts = wick_model_alloc(d->model, row->count, sizeof *texts);
  if (!texts) return wick_fail(d->detail, WICK_NO_MEMORY, "out of memory");
  for (uint32_t k = 0; k < row->count; k++) {
    texts[k] = wick_decoder_text(d, d->refs[row->first_ref + k]);
    if (!texts[k]) return wick_decoder_corrupt(d, "LABELS", i);
  }
  *out = (wick_labels){.size = sizeof *out,
                       .output = row->output,
                       .kind = (wick_labels_kind)row->kind,
                       .are_numbers = (row->flags & WICK_LABELS_NUMBERS) != 0,
                       .count = row->count, .texts = texts};
  d->next_ref += row->count;
  return WICK_OK;
}

wick_status wick_decode_labels(wick_decoder *d, uint64_t entry) {
  wick_entry_info *e = &d->model->entries[entry];
  uint64_t first = d->next_label, n = 0;
  while (n < d->label_count - first && d->label_rows[first + n].entry == entry) n++;
  if (n == 0) return WICK_OK;
  wick_labels *labels = wick_model_alloc(d->model, n, sizeof *labels);
  if (!labels) return wick_fail(d->detail, WICK_NO_MEMORY, "out of memory");
  for (uint64_t i = 0; i < n; i++) {
    wick_status status = decode_row(d, first + i, entry, &labels[i]);
    if (status != WICK_OK) return status;
  }
  e->labels = labels;
  e->labels_count = (uint32_t)n;
  d->next_label += n;
  return WICK_OK;
}
