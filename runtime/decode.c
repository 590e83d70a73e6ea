/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns the rows of the tables into what wick.h hands out. Every number that is later used as an
 * offset, a count or a size is checked here, once; behind this file they are trusted. */
#include <stdlib.h>

#include "internal.h"

enum { MAX_BYTES_LOG2 = 47 }; /* of one buffer: what a process can address */

typedef struct {
  wick_model *model;
  const wick_load_options *options;
  const char *strings;
  uint64_t strings_size, code_size;
  const wick_pkg_entry *entries;
  const wick_pkg_tensor *tensors;
  const wick_pkg_step *steps;
  uint64_t entry_count, tensor_count, step_count;
} decoder;

static const void *section(const wick_model *model, wick_section_kind kind, size_t row,
                           uint64_t *count) {
  const wick_section_info *s = &model->info.sections[kind - 1];
  *count = s->size / row;
  return model->tables + s->offset;
}

/* The text at `offset`, or NULL when there is none. STRINGS ends in NUL, so every one ends. */
static const char *text(const decoder *d, uint32_t offset) {
  return offset < d->strings_size ? d->strings + offset : NULL;
}

static bool is_alignment(uint64_t align, uint64_t least) {
  return align >= least && align <= WICK_PAGE && (align & (align - 1)) == 0;
}

static wick_status corrupt(const decoder *d, const char *table, uint64_t row) {
  return wick_fail(d->options, WICK_CORRUPT, "%s: row %llu contradicts itself", table,
                   (unsigned long long)row);
}

static wick_status decode_meta(decoder *d) {
  uint64_t count;
  const wick_pkg_meta *meta =
      section(d->model, WICK_SECTION_META, sizeof(wick_pkg_meta), &count);
  wick_model_info *info = &d->model->info;
  if (count != 1) return corrupt(d, "META", count);
  if (meta->abi != WICK_ABI_VERSION)
    return wick_fail(d->options, WICK_BAD_VERSION, "ABI version %u, this runtime has %u",
                     meta->abi, WICK_ABI_VERSION);
  info->name = text(d, meta->model);
  info->compiler = text(d, meta->compiler);
  info->flags = text(d, meta->flags);
  info->target = text(d, meta->target);
  info->features = text(d, meta->features);
  info->machine = wick_machine_name(meta->machine);
  info->input_hash = meta->input_hash;
  if (!info->name || !info->compiler || !info->flags || !info->target || !info->features ||
      meta->reserved != 0)
    return corrupt(d, "META", 0);
  d->model->describe_only = d->options && d->options->flags & WICK_LOAD_DESCRIBE;
  if (d->model->describe_only) return WICK_OK;
  if (meta->machine != wick_machine_host())
    return wick_fail(d->options, WICK_BAD_MACHINE, "made for %s (%u), this is %s", info->machine,
                     meta->machine, wick_machine_name(wick_machine_host()));
  char missing[192];
  if (!wick_cpu_require(info->features, missing, sizeof missing))
    return wick_fail(d->options, WICK_BAD_MACHINE, "this processor lacks %s", missing);
  return WICK_OK;
}

static bool decode_tensor(const decoder *d, const wick_pkg_tensor *row, wick_tensor_info *out) {
  uint64_t bytes = wick_dtype_bytes((wick_dtype)row->dtype);
  uint64_t element = bytes;
  if (element == 0 || row->rank > WICK_MAX_RANK || !is_alignment(row->align, element)) return false;
  for (uint32_t i = 0; i < WICK_MAX_RANK; i++) {
    int64_t dim = row->dims[i];
    if (dim < 0 || (i >= row->rank && dim != 0)) return false;
    if (i < row->rank && __builtin_mul_overflow(bytes, (uint64_t)dim, &bytes)) return false;
    out->dims[i] = dim;
  }
  if (bytes != row->bytes || bytes >> MAX_BYTES_LOG2) return false;
  out->name = text(d, row->name);
  out->dtype = (wick_dtype)row->dtype;
  out->rank = row->rank;
  out->bytes = bytes;
  out->align = row->align;
  return out->name != NULL;
}

static bool decode_step(const decoder *d, const wick_pkg_step *row, wick_step_info *out) {
  out->node = text(d, row->node);
  out->op = text(d, row->op);
  out->text = text(d, row->text);
  out->macs = row->macs;
  out->bytes = row->bytes;
  return out->node && out->op && out->text && row->reserved == 0 &&
         (row->code < d->code_size || row->code == WICK_NO_CODE);
}

static bool decode_entry(const decoder *d, const wick_pkg_entry *row, wick_entry_info *out,
                         wick_entry_code *code) {
  uint64_t tensors = (uint64_t)row->input_count + row->output_count;
  if (row->first_tensor > d->tensor_count || tensors > d->tensor_count - row->first_tensor ||
      row->first_step > d->step_count || row->step_count > d->step_count - row->first_step)
    return false;
  if (row->code >= d->code_size || row->reserved != 0 || row->arena_bytes >> MAX_BYTES_LOG2 ||
      row->scratch_bytes >> MAX_BYTES_LOG2 || row->arena_bound > row->arena_bytes ||
      !is_alignment(row->arena_align, WICK_ALIGN))
    return false;
  *out = (wick_entry_info){
      .name = text(d, row->name),
      .input_count = row->input_count,
      .output_count = row->output_count,
      .step_count = row->step_count,
      .has_steps = row->step_count > 0,
      .inputs = d->model->tensors + row->first_tensor,
      .outputs = d->model->tensors + row->first_tensor + row->input_count,
      .steps = d->model->steps + row->first_step,
      .arena_bytes = row->arena_bytes,
      .arena_bound = row->arena_bound,
      .scratch_bytes = row->scratch_bytes,
  };
  for (uint32_t i = 0; i < row->step_count; i++)
    if (d->steps[row->first_step + i].code == WICK_NO_CODE) out->has_steps = 0;
  *code = (wick_entry_code){row->code, row->first_step, row->arena_align};
  return out->name != NULL;
}

static wick_status decode_symbols(decoder *d) {
  uint64_t count;
  const wick_pkg_symbol *rows =
      section(d->model, WICK_SECTION_SYMS, sizeof(wick_pkg_symbol), &count);
  for (uint64_t i = 0; i < count; i++)
    if (!text(d, rows[i].name) || rows[i].reserved != 0 || rows[i].offset > d->code_size ||
        rows[i].size > d->code_size - rows[i].offset)
      return corrupt(d, "SYMS", i);
  d->model->symbols = rows;
  d->model->symbol_count = (uint32_t)count;
  d->model->strings = d->strings;
  return WICK_OK;
}

static wick_status allocate(decoder *d) {
  wick_model *model = d->model;
  if (d->entry_count == 0 || d->entry_count > UINT32_MAX) return corrupt(d, "ENTRIES", 0);
  model->info.entry_count = (uint32_t)d->entry_count;
  model->entries = calloc(d->entry_count, sizeof *model->entries);
  model->entry_code = calloc(d->entry_count, sizeof *model->entry_code);
  model->tensors = calloc(d->tensor_count + 1, sizeof *model->tensors);
  model->steps = calloc(d->step_count + 1, sizeof *model->steps);
  model->step_code = calloc(d->step_count + 1, sizeof *model->step_code);
  if (!model->entries || !model->entry_code || !model->tensors || !model->steps ||
      !model->step_code)
    return wick_fail(d->options, WICK_NO_MEMORY, "out of memory");
  return WICK_OK;
}

static wick_status decode_rows(decoder *d) {
  wick_model *model = d->model;
  for (uint64_t i = 0; i < d->tensor_count; i++)
    if (!decode_tensor(d, &d->tensors[i], &model->tensors[i])) return corrupt(d, "TENSORS", i);
  for (uint64_t i = 0; i < d->step_count; i++) {
    if (!decode_step(d, &d->steps[i], &model->steps[i])) return corrupt(d, "STEPS", i);
    model->step_code[i] = d->steps[i].code;
  }
  for (uint64_t i = 0; i < d->entry_count; i++)
    if (!decode_entry(d, &d->entries[i], &model->entries[i], &model->entry_code[i]))
      return corrupt(d, "ENTRIES", i);
  return WICK_OK;
}

wick_status wick_model_decode(wick_model *model, const wick_load_options *options) {
  decoder d = {.model = model, .options = options};
  d.code_size = model->info.sections[WICK_SECTION_CODE - 1].size;
  d.strings = section(model, WICK_SECTION_STRINGS, 1, &d.strings_size);
  d.entries = section(model, WICK_SECTION_ENTRIES, sizeof *d.entries, &d.entry_count);
  d.tensors = section(model, WICK_SECTION_TENSORS, sizeof *d.tensors, &d.tensor_count);
  d.steps = section(model, WICK_SECTION_STEPS, sizeof *d.steps, &d.step_count);
  if (d.strings_size == 0 || d.strings[0] != '\0' || d.strings[d.strings_size - 1] != '\0')
    return wick_fail(options, WICK_CORRUPT, "STRINGS has no end");
  wick_status status = decode_meta(&d);
  if (status == WICK_OK) status = allocate(&d);
  if (status == WICK_OK) status = decode_rows(&d);
  if (status == WICK_OK) status = decode_symbols(&d);
  return status;
}
