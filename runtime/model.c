/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <stdlib.h>

struct wick_block {
  wick_block *next;
  max_align_t data[];
};

void *wick_model_alloc(wick_model *model, uint64_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) ||
      __builtin_add_overflow(bytes, sizeof(wick_block), &bytes))
    return NULL;
  wick_block *block = calloc(1, bytes);
  if (!block) return NULL;
  block->next = model->blocks;
  model->blocks = block;
  return block->data;
}

void wick_model_release(wick_model *model) {
  while (model->blocks) {
    wick_block *next = model->blocks->next;
    free(model->blocks);
    model->blocks = next;
  }
}

const wick_model_info *wick_model_describe(const wick_model *model) { return &model->info; }

const wick_entry_info *wick_model_entry(const wick_model *model, uint32_t index) {
  return index < model->info.entry_count ? &model->entries[index] : NULL;
}

const wick_labels *wick_output_labels(const wick_entry_info *entry, uint32_t output) {
  for (uint32_t i = 0; entry && i < entry->labels_count; i++)
    if (entry->labels[i].output == output) return &entry->labels[i];
  return NULL;
}

const char *wick_output_label(const wick_entry_info *entry, uint32_t output, int64_t number) {
  const wick_labels *l = wick_output_labels(entry, output);
  return l && number >= 0 && number < (int64_t)l->count ? l->texts[number] : NULL;
}

/* Along each axis as many elements as the entry says, or as a run may have. */
static bool takes_shape(const wick_entry_info *entry, uint32_t input, const wick_shape *shape) {
  const wick_tensor_info *t = &entry->inputs[input];
  if (t->rank != shape->rank) return false;
  for (uint32_t i = 0; i < t->rank; i++) {
    const wick_extent_info *x = t->is_bound ? wick_extent_of(entry, input, i) : NULL;
    if (shape->dims[i] > t->dims[i] || shape->dims[i] < (x ? x->least : t->dims[i])) return false;
  }
  return true;
}

wick_status wick_model_find_entry(const wick_model *model, const wick_shape *inputs, uint32_t count,
                                  uint32_t *index) {
  if (!model || (!inputs && count) || !index) return WICK_BAD_ARGUMENT;
  for (uint32_t e = 0; e < model->info.entry_count; e++) {
    const wick_entry_info *entry = &model->entries[e];
    uint32_t taken = 0;
    if (entry->input_count != count) continue;
    while (taken < count && takes_shape(entry, taken, &inputs[taken])) taken++;
    if (taken < count) continue;
    *index = e;
    return WICK_OK;
  }
  return WICK_NO_ENTRY;
}
