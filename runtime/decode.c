/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns the rows of the tables into what wick.h hands out. Every number that is later used as an
 * offset, a count or a size is checked here and in decode_*.c, once; behind them they are
 * trusted. */
#include <stdlib.h>

#include "internal.h"

/* The text at `offset`, or NULL when there is none. STRINGS ends in NUL, so every one ends. */
const char *wick_decoder_text(const wick_decoder *d, uint32_t offset) {
  return offset < d->strings_size ? d->strings + offset : NULL;
}

wick_status wick_decoder_corrupt(const wick_decoder *d, const char *table, uint64_t row) {
  return wick_fail(d->detail, WICK_CORRUPT, "%s: row %llu contradicts itself", table,
                   (unsigned long long)row);
}

static const void *section(const wick_model *model, wick_section_kind kind, size_t row,
                           uint64_t *count) {
  const wick_pkg_section *s = &model->section_rows[kind - 1];
  *count = s->size / row;
  return model->tables + s->offset;
}

static void find_tables(wick_decoder *d) {
  const wick_model *m = d->model;
  d->strings = section(m, WICK_SECTION_STRINGS, 1, &d->strings_size);
  d->unit_rows = section(m, WICK_SECTION_UNITS, sizeof *d->unit_rows, &d->unit_count);
  d->part_rows = section(m, WICK_SECTION_PARTS, sizeof *d->part_rows, &d->part_count);
  d->entry_rows = section(m, WICK_SECTION_ENTRIES, sizeof *d->entry_rows, &d->entry_count);
  d->tensor_rows = section(m, WICK_SECTION_TENSORS, sizeof *d->tensor_rows, &d->tensor_count);
  d->rows = section(m, WICK_SECTION_PLAN, sizeof *d->rows, &d->row_count);
  d->refs = section(m, WICK_SECTION_REFS, sizeof *d->refs, &d->ref_count);
  d->step_rows = section(m, WICK_SECTION_STEPS, sizeof *d->step_rows, &d->step_count);
  d->state_rows = section(m, WICK_SECTION_STATES, sizeof *d->state_rows, &d->state_count);
  d->label_rows = section(m, WICK_SECTION_LABELS, sizeof *d->label_rows, &d->label_count);
  d->extent_rows = section(m, WICK_SECTION_EXTENTS, sizeof *d->extent_rows, &d->extent_count);
  d->symbol_rows = section(m, WICK_SECTION_SYMS, sizeof *d->symbol_rows, &d->symbol_count);
}

static wick_status decode_meta(wick_decoder *d) {
  uint64_t count;
  const wick_pkg_meta *meta =
      section(d->model, WICK_SECTION_META, sizeof(wick_pkg_meta), &count);
  wick_model_info *info = &d->model->info;
  if (count != 1) return wick_decoder_corrupt(d, "META", count);
  if (meta->abi != WICK_ABI_VERSION)
    return wick_fail(d->detail, WICK_BAD_VERSION, "ABI version %u, this runtime has %u", meta->abi,
                     WICK_ABI_VERSION);
  info->size = sizeof *info;
  info->name = wick_decoder_text(d, meta->model);
  info->compiler = wick_decoder_text(d, meta->compiler);
  info->flags = wick_decoder_text(d, meta->flags);
  info->input_hash = meta->input_hash;
  if (!info->name || !info->compiler || !info->flags) return wick_decoder_corrupt(d, "META", 0);
  return WICK_OK;
}

static wick_status allocate(wick_decoder *d) {
  wick_model *m = d->model;
  if (d->entry_count == 0) return wick_decoder_corrupt(d, "ENTRIES", 0);
  if ((d->unit_count | d->part_count | d->entry_count | d->state_count | d->extent_count |
       d->symbol_count) >> 32)
    return wick_fail(d->detail, WICK_CORRUPT, "a table of more than 2^32 rows");
  m->unit_infos = wick_model_alloc(m, d->unit_count, sizeof *m->unit_infos);
  m->units = wick_model_alloc(m, d->unit_count, sizeof *m->units);
  m->parts = wick_model_alloc(m, d->part_count, sizeof *m->parts);
  m->part_in_unit = wick_model_alloc(m, d->part_count, sizeof *m->part_in_unit);
  m->entries = wick_model_alloc(m, d->entry_count, sizeof *m->entries);
  m->plans = wick_model_alloc(m, d->entry_count, sizeof *m->plans);
  m->tensors = wick_model_alloc(m, d->tensor_count, sizeof *m->tensors);
  m->steps = wick_model_alloc(m, d->step_count, sizeof *m->steps);
  m->step_code = wick_model_alloc(m, d->step_count, sizeof *m->step_code);
  m->states = wick_model_alloc(m, d->state_count, sizeof *m->states);
  if (!m->unit_infos || !m->units || !m->parts || !m->part_in_unit || !m->entries || !m->plans ||
      !m->tensors || !m->steps || !m->step_code || !m->states)
    return wick_fail(d->detail, WICK_NO_MEMORY, "out of memory");
  m->part_count = (uint32_t)d->part_count;
  m->part_rows = d->part_rows;
  m->unit_rows = d->unit_rows;
  m->info.unit_count = (uint32_t)d->unit_count;
  m->info.units = m->unit_infos;
  m->info.entry_count = (uint32_t)d->entry_count;
  m->info.state_count = (uint32_t)d->state_count;
  m->info.states = m->states;
  return WICK_OK;
}

/* ---- sections and units ---------------------------------------------------------------------- */

/* The state ends where the last of its tensors does; whether these are right is seen later. */
static bool measure_state(wick_decoder *d) {
  uint64_t end = 0;
  for (uint64_t i = 0; i < d->state_count; i++) {
    if (d->state_rows[i].tensor >= d->tensor_count) return false;
    const wick_pkg_tensor *t = &d->tensor_rows[d->state_rows[i].tensor];
    if (t->offset >> WICK_MAX_BYTES_LOG2 || t->bytes >> WICK_MAX_BYTES_LOG2) return false;
    if (end < t->offset + t->bytes) end = t->offset + t->bytes;
  }
  d->model->info.state_bytes = end;
  return end >> WICK_MAX_BYTES_LOG2 == 0;
}

/* Every section that belongs to a unit belongs to one that there is. */
static wick_status name_sections(wick_decoder *d) {
  wick_model *m = d->model;
  for (uint32_t i = WICK_TABLE_COUNT; i < m->info.section_count; i++) {
    const wick_pkg_section *s = &m->section_rows[i];
    if (s->kind >= WICK_SECTION_OWN) m->sections[i].name = wick_decoder_text(d, s->name);
    if (!m->sections[i].name || (s->unit != WICK_NONE && s->unit >= d->unit_count))
      return wick_fail(d->detail, WICK_CORRUPT, "section %u contradicts itself", i);
    if (s->kind == WICK_SECTION_STATE) m->state_image_bytes = s->size;
    if (s->kind == WICK_SECTION_STATE) m->state_image = m->file + s->offset;
  }
  if ((m->state_image != NULL) != (d->state_count > 0) || !measure_state(d) ||
      m->state_image_bytes > m->info.state_bytes)
    return wick_fail(d->detail, WICK_CORRUPT, "STATES and STATE contradict each other");
  return WICK_OK;
}

static bool has_its_sections(const wick_decoder *d, uint32_t unit) {
  const wick_pkg_unit *row = &d->unit_rows[unit];
  const wick_pkg_section *s = d->model->section_rows;
  uint32_t end, total = d->model->info.section_count;
  if (row->first_section < WICK_TABLE_COUNT ||
      !wick_is_range(row->first_section, row->section_count, total))
    return false;
  end = row->first_section + row->section_count;
  for (uint32_t i = row->first_section; i < end; i++)
    if (s[i].unit != unit) return false;
  return (end == total || s[end].unit != unit) && s[row->first_section - 1].unit != unit;
}

static wick_status decode_units(wick_decoder *d) {
  for (uint32_t i = 0; i < d->unit_count; i++) {
    const wick_pkg_unit *row = &d->unit_rows[i];
    wick_unit_info *info = &d->model->unit_infos[i];
    *info = (wick_unit_info){.size = sizeof *info,
                             .target = wick_decoder_text(d, row->target),
                             .spec = wick_decoder_text(d, row->spec),
                             .features = wick_decoder_text(d, row->features),
                             .machine = row->machine ? wick_machine_name(row->machine) : "",
                             .machine_hash = row->machine_hash};
    if (!info->target || !info->spec || !info->features || !has_its_sections(d, i))
      return wick_decoder_corrupt(d, "UNITS", i);
    d->model->units[i].unit =
        (wick_device_unit){.info = info, .machine = row->machine, .strings = d->strings,
                           .section_count = row->section_count};
  }
  return WICK_OK;
}

/* What code numbers in the unit are below: the size of its CODE, or anything. */
static uint64_t code_limit(const wick_decoder *d, uint32_t unit) {
  const wick_pkg_unit *row = &d->unit_rows[unit];
  const wick_pkg_section *first = &d->model->section_rows[row->first_section];
  return row->section_count && first->kind == WICK_SECTION_CODE ? first->size : WICK_NO_CODE;
}

static wick_status decode_symbols(wick_decoder *d) {
  uint32_t unit = 0;
  for (uint64_t i = 0; i < d->symbol_count; i++) {
    const wick_pkg_symbol *s = &d->symbol_rows[i];
    if (s->unit < unit || s->unit >= d->unit_count || !wick_decoder_text(d, s->name) ||
        !wick_is_range(s->offset, s->size, code_limit(d, s->unit)))
      return wick_decoder_corrupt(d, "SYMS", i);
    wick_device_unit *u = &d->model->units[s->unit].unit;
    if (!u->symbols) u->symbols = s;
    u->symbol_count++;
    unit = s->unit;
  }
  return WICK_OK;
}

/* ---- steps and parts ------------------------------------------------------------------------- */

static bool decode_step(const wick_decoder *d, const wick_pkg_step *row, wick_step_info *out) {
  *out = (wick_step_info){.size = sizeof *out,
                          .node = wick_decoder_text(d, row->node),
                          .op = wick_decoder_text(d, row->op),
                          .text = wick_decoder_text(d, row->text),
                          .macs = row->macs,
                          .bytes = row->bytes,
                          .tensors = d->model->tensors + row->first_tensor,
                          .tensor_count = row->tensor_count};
  return out->node && out->op && out->text && row->reserved == 0 &&
         wick_is_range(row->first_tensor, row->tensor_count, d->tensor_count);
}

static bool is_left_by(const wick_decoder *d, const wick_part_info *part, bool has_code,
                       const wick_tensor_info *t) {
  if (t->is_bound) return false;
  switch (t->place) {
    case WICK_PLACE_ARENA: return wick_tensor_is_within(t, part->arena_bytes);
    case WICK_PLACE_STATE: return wick_tensor_is_within(t, d->model->info.state_bytes);
    case WICK_PLACE_OUTPUT:
      return t->index < part->output_count &&
             wick_tensor_is_within(t, part->outputs[t->index].bytes);
    case WICK_PLACE_DEVICE: return !has_code && wick_tensor_is_dense(t);
    default: return false;
  }
}

static bool has_its_steps(const wick_decoder *d, const wick_pkg_part *row,
                          const wick_part_info *part) {
  uint64_t limit = code_limit(d, row->unit);
  for (uint32_t i = 0; i < part->step_count; i++) {
    uint64_t code = d->model->step_code[row->first_step + i];
    if (code >= limit && code != WICK_NO_CODE) return false;
    for (uint32_t k = 0; k < part->steps[i].tensor_count; k++)
      if (!is_left_by(d, part, limit != WICK_NO_CODE, &part->steps[i].tensors[k])) return false;
  }
  return true;
}

static bool has_its_tensors(const wick_part_info *part) {
  for (uint32_t i = 0; i < part->input_count + part->output_count; i++) {
    const wick_tensor_info *t = &part->inputs[i];
    if (t->place != WICK_PLACE_CALLER || !wick_tensor_is_forward(t) ||
        t->align < (t->bits + 7) / 8 || (t->is_bound && i < part->input_count))
      return false;
  }
  return true;
}

static bool decode_part(const wick_decoder *d, const wick_pkg_part *row, wick_part_info *out) {
  wick_model *m = d->model;
  uint64_t tensors = (uint64_t)row->input_count + row->output_count;
  if (tensors > UINT32_MAX || row->unit >= d->unit_count ||
      !wick_is_range(row->first_tensor, tensors, d->tensor_count) ||
      !wick_is_range(row->first_step, row->step_count, d->step_count))
    return false;
  if (row->code >= code_limit(d, row->unit) || row->arena_bytes >> WICK_MAX_BYTES_LOG2 ||
      row->scratch_bytes >> WICK_MAX_BYTES_LOG2 || row->arena_bound > row->arena_bytes ||
      !wick_is_alignment(row->arena_align, WICK_ALIGN))
    return false;
  *out = (wick_part_info){
      .size = sizeof *out,
      .name = wick_decoder_text(d, row->name),
      .target = m->unit_infos[row->unit].target,
      .unit = row->unit,
      .input_count = row->input_count,
      .output_count = row->output_count,
      .step_count = row->step_count,
      .inputs = m->tensors + row->first_tensor,
      .outputs = m->tensors + row->first_tensor + row->input_count,
      .steps = m->steps + row->first_step,
      .arena_bytes = row->arena_bytes,
      .arena_bound = row->arena_bound,
      .scratch_bytes = row->scratch_bytes,
      .code = row->code,
  };
  return out->name && has_its_tensors(out) && has_its_steps(d, row, out);
}

static wick_status decode_rows(wick_decoder *d) {
  wick_model *m = d->model;
  for (uint64_t i = 0; i < d->tensor_count; i++)
    if (!wick_decode_tensor(d, &d->tensor_rows[i], &m->tensors[i]))
      return wick_decoder_corrupt(d, "TENSORS", i);
  for (uint64_t i = 0; i < d->step_count; i++) {
    if (!decode_step(d, &d->step_rows[i], &m->steps[i])) return wick_decoder_corrupt(d, "STEPS", i);
    m->step_code[i] = d->step_rows[i].code;
  }
  for (uint64_t i = 0; i < d->part_count; i++) {
    if (!decode_part(d, &d->part_rows[i], &m->parts[i])) return wick_decoder_corrupt(d, "PARTS", i);
    m->part_in_unit[i] = m->unit_infos[m->parts[i].unit].part_count++;
  }
  return WICK_OK;
}

/* ---- states ---------------------------------------------------------------------------------- */

static int by_offset(const void *a, const void *b) {
  const wick_state_info *x = a, *y = b;
  int64_t p = x->tensor->offset, q = y->tensor->offset;
  return (p > q) - (p < q);
}

/* No two overlap. They are few: sorting a copy costs nothing. */
static bool are_apart(const wick_decoder *d) {
  wick_state_info *s = wick_model_alloc(d->model, d->state_count, sizeof *s);
  if (!s) return false;
  for (uint64_t i = 0; i < d->state_count; i++) s[i] = d->model->states[i];
  qsort(s, d->state_count, sizeof *s, by_offset);
  for (uint64_t i = 1; i < d->state_count; i++)
    if (s[i - 1].tensor->offset + (int64_t)s[i - 1].tensor->bytes > s[i].tensor->offset)
      return false;
  return true;
}

static wick_status decode_states(wick_decoder *d) {
  for (uint64_t i = 0; i < d->state_count; i++) {
    const wick_pkg_state *row = &d->state_rows[i];
    if (row->tensor >= d->tensor_count || row->flags > WICK_STATE_PUBLIC)
      return wick_decoder_corrupt(d, "STATES", i);
    const wick_tensor_info *t = &d->model->tensors[row->tensor];
    if (t->place != WICK_PLACE_STATE || t->is_bound || !wick_tensor_is_dense(t) ||
        t->offset % (int64_t)t->align != 0 ||
        !wick_tensor_is_within(t, d->model->info.state_bytes))
      return wick_decoder_corrupt(d, "STATES", i);
    d->model->states[i] =
        (wick_state_info){sizeof(wick_state_info), t, (row->flags & WICK_STATE_PUBLIC) != 0};
  }
  if (d->state_count > 1 && !are_apart(d)) return wick_decoder_corrupt(d, "STATES", 0);
  return WICK_OK;
}

wick_status wick_model_decode(wick_model *model, const wick_load_options *options) {
  wick_decoder d = {.model = model, .detail = options->detail};
  find_tables(&d);
  if (d.strings_size == 0 || d.strings[0] != '\0' || d.strings[d.strings_size - 1] != '\0')
    return wick_fail(d.detail, WICK_CORRUPT, "STRINGS has no end");
  model->describe_only = options->flags & (WICK_LOAD_DESCRIBE | WICK_LOAD_VERIFY);
  wick_status status = decode_meta(&d);
  if (status == WICK_OK) status = allocate(&d);
  if (status == WICK_OK) status = name_sections(&d);
  if (status == WICK_OK) status = decode_units(&d);
  if (status == WICK_OK) status = decode_rows(&d);
  if (status == WICK_OK) status = decode_symbols(&d);
  if (status == WICK_OK) status = decode_states(&d);
  if (status == WICK_OK) status = wick_decode_entries(&d);
  return status;
}
