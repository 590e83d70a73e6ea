/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading. Each unit goes to the device of its target; all are asked before the first one is
 * loaded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* ---- units ----------------------------------------------------------------------------------- */

static bool asked(const wick_load_options *options, uint32_t flag, const char *variable) {
  const char *value = getenv(variable);
  return (options->flags & flag) || (value && strcmp(value, "1") == 0);
}

const wick_part_info *wick_unit_first_part(const wick_model *model, const wick_unit_info *info) {
  uint32_t unit = (uint32_t)(info - model->unit_infos);
  for (uint32_t i = 0; i < model->part_count; i++)
    if (model->parts[i].unit == unit) return &model->parts[i];
  return NULL;
}

/* Its name, or its number if it has none. */
typedef struct {
  char text[64];
} part_text;

static part_text text_of(const wick_model *model, const wick_part_info *part) {
  part_text t;
  if (*part->name) snprintf(t.text, sizeof t.text, "%s", part->name);
  else snprintf(t.text, sizeof t.text, "%u", (unsigned)(part - model->parts));
  return t;
}

wick_status wick_fail_unit(const wick_model *model, const wick_unit_info *unit,
                           const wick_part_info *part, wick_status status,
                           const wick_error_detail *why, wick_error_detail *detail) {
  const char *colon = why->text[0] ? ": " : "";
  if (model->info.unit_count == 1) return wick_fail(detail, status, "%s", why->text);
  if (!part) return wick_fail(detail, status, "target '%s'%s%s", unit->target, colon, why->text);
  return wick_fail(detail, status, "part %s, target '%s'%s%s", text_of(model, part).text,
                   unit->target, colon, why->text);
}

static wick_status fail_without_device(const wick_model *model, const wick_unit_info *unit,
                                       wick_error_detail *detail) {
  const wick_part_info *part = wick_unit_first_part(model, unit);
  return wick_fail(detail, WICK_NO_DEVICE,
                   "%s%s needs target '%s', which this program does not provide: link or load "
                   "its device", part ? "part " : "a unit", part ? text_of(model, part).text : "",
                   unit->target);
}

/* Of probe and load. */
static wick_status fail_loading(const wick_model *model, const wick_unit_info *unit,
                                wick_status status, const wick_error_detail *why,
                                wick_error_detail *detail) {
  return wick_fail_unit(model, unit, wick_unit_first_part(model, unit), status, why, detail);
}

/* Machine code, or what a device makes such of. */
static bool has_native_code(const wick_model *model, uint32_t u) {
  const wick_pkg_unit *row = &model->unit_rows[u];
  const wick_device *device = wick_device_find(model->unit_infos[u].target);
  for (uint32_t i = 0; i < row->section_count; i++)
    if (model->section_rows[row->first_section + i].kind == WICK_SECTION_CODE) return true;
  return device && device->runs_code;
}

static wick_status look_for_code(wick_model *model, const wick_load_options *options) {
  for (uint32_t u = 0; u < model->info.unit_count; u++) {
    if (!has_native_code(model, u)) continue;
    model->info.has_native_code = 1;
    if (options->flags & WICK_LOAD_NO_NATIVE_CODE)
      return wick_fail(options->detail, WICK_REFUSED, "unit %u, target '%s', brings native code, "
                       "which this program does not run", u, model->unit_infos[u].target);
  }
  return WICK_OK;
}

/* What devices know of sections of their own. */
static wick_status check_units(wick_model *model, wick_error_detail *detail) {
  for (uint32_t u = 0; u < model->info.unit_count; u++) {
    const wick_unit_info *info = model->units[u].unit.info;
    const wick_device *device = wick_device_find(info->target);
    wick_error_detail why = {{0}};
    if (!device) return fail_without_device(model, info, detail);
    if (!device->check) continue;
    wick_status status = device->check(&model->units[u].unit, &why);
    if (status != WICK_OK) return fail_loading(model, info, status, &why, detail);
  }
  return WICK_OK;
}

static wick_status probe_units(wick_model *model, wick_error_detail *detail) {
  for (uint32_t u = 0; u < model->info.unit_count; u++) {
    wick_loaded_unit *unit = &model->units[u];
    const wick_unit_info *info = unit->unit.info;
    wick_error_detail why = {{0}};
    unit->device = wick_device_find(info->target);
    if (!unit->device) return fail_without_device(model, info, detail);
    wick_status status = unit->device->probe(&unit->unit, &why);
    if (status != WICK_OK) return fail_loading(model, info, status, &why, detail);
  }
  return WICK_OK;
}

/* What a device is given of a unit. False: no memory. */
static bool describe_unit(wick_model *model, uint32_t u, uint32_t flags) {
  wick_device_unit *unit = &model->units[u].unit;
  const wick_pkg_unit *row = &model->unit_rows[u];
  wick_device_section *sections = wick_model_alloc(model, row->section_count, sizeof *sections);
  wick_device_part *parts = wick_model_alloc(model, unit->info->part_count, sizeof *parts);
  if (!sections || !parts) return false;
  for (uint32_t i = 0; i < row->section_count; i++) {
    const wick_pkg_section *s = &model->section_rows[row->first_section + i];
    sections[i] = (wick_device_section){.kind = s->kind, .align = s->align, .size = s->size,
                                        .name = model->sections[row->first_section + i].name,
                                        .data = model->file + s->offset};
  }
  for (uint32_t i = 0; i < model->part_count; i++) {
    const wick_part_info *info = &model->parts[i];
    if (info->unit != u) continue;
    const wick_pkg_part *part = &model->part_rows[i];
    parts[model->part_in_unit[i]] =
        (wick_device_part){.info = info, .code = part->code, .arena_align = part->arena_align,
                           .step_code = model->step_code + (info->steps - model->steps)};
  }
  unit->sections = sections;
  unit->parts = parts;
  unit->part_count = unit->info->part_count;
  unit->flags = flags;
  unit->is_mapped = model->file_map != NULL;
  unit->memory_limit = model->memory_limit;
  return true;
}

static wick_status describe_units(wick_model *model, uint32_t flags, wick_error_detail *detail) {
  for (uint32_t u = 0; u < model->info.unit_count; u++)
    if (!describe_unit(model, u, flags)) return wick_fail(detail, WICK_NO_MEMORY, "out of memory");
  return WICK_OK;
}

static wick_status load_units(wick_model *model, wick_error_detail *detail) {
  for (uint32_t u = 0; u < model->info.unit_count; u++) {
    wick_loaded_unit *unit = &model->units[u];
    wick_error_detail why = {{0}};
    wick_status status = unit->device->load(&unit->unit, &unit->loaded, &why);
    if (status != WICK_OK) {
      unit->loaded = NULL;
      return fail_loading(model, unit->unit.info, status, &why, detail);
    }
  }
  return WICK_OK;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Sections are as aligned in memory as in the file, up to WICK_ALIGN. */
static wick_status align_file(wick_model *model, wick_error_detail *detail) {
  if ((uintptr_t)model->file % WICK_ALIGN == 0) return WICK_OK;
  if (model->file_size > model->memory_limit)
    return wick_fail_memory(detail, model->file_size, model->memory_limit);
  model->file_copy = aligned_alloc(WICK_ALIGN, wick_align_up(model->file_size, WICK_ALIGN));
  if (!model->file_copy) return wick_fail(detail, WICK_NO_MEMORY, "out of memory");
  memcpy(model->file_copy, model->file, model->file_size);
  if (model->state_image)
    model->state_image = (uint8_t *)model->file_copy + (model->state_image - model->file);
  model->file = model->file_copy;
  return WICK_OK;
}

static wick_status load(wick_model *model, const wick_load_options *options) {
  wick_error_detail *detail = options->detail;
  uint32_t flags = 0;
  if (asked(options, WICK_LOAD_PERF_MAP, "WICK_PERF_MAP")) flags |= WICK_LOAD_PERF_MAP;
  if (asked(options, WICK_LOAD_GDB, "WICK_GDB")) flags |= WICK_LOAD_GDB;
  bool verify = options->flags & WICK_LOAD_VERIFY;
  wick_status status = wick_model_verify(model, options);
  if (status == WICK_OK) status = wick_model_decode(model, options);
  if (status == WICK_OK) status = look_for_code(model, options);
  if (status != WICK_OK || (model->describe_only && !verify)) return status;
  status = align_file(model, detail);
  if (status == WICK_OK) status = describe_units(model, flags, detail);
  if (verify) return status == WICK_OK ? check_units(model, detail) : status;
  if (status == WICK_OK) status = probe_units(model, detail);
  if (status == WICK_OK) status = load_units(model, detail);
  return status;
}

static wick_status read_options(const wick_load_options *from, wick_load_options *to) {
  size_t least = offsetof(wick_load_options, memory_limit) + sizeof to->memory_limit;
  bool is_known = wick_options_read(to, sizeof *to, least, from);
  if (to->detail) to->detail->text[0] = '\0';
  if (is_known) return WICK_OK;
  return wick_fail(to->detail, WICK_BAD_ARGUMENT, "options that this version does not know");
}

static wick_status start(const wick_load_options *options, wick_model **out) {
  *out = calloc(1, sizeof **out);
  if (!*out) return wick_fail(options->detail, WICK_NO_MEMORY, "out of memory");
  uint64_t limit = options->memory_limit, there = wick_machine_memory();
  (*out)->memory_limit = limit && limit < there ? limit : there;
  return WICK_OK;
}

static wick_status finish(wick_model *model, wick_status status, wick_model **out) {
  if (status == WICK_OK)
    *out = model;
  else
    wick_model_free(model);
  return status;
}

wick_status wick_model_load(const char *path, const wick_load_options *options, wick_model **out) {
  wick_load_options o;
  wick_model *model;
  wick_status status = read_options(options, &o);
  if (status == WICK_OK && (!path || !out))
    status = wick_fail(o.detail, WICK_BAD_ARGUMENT, "no path or no place for it");
  if (status == WICK_OK) status = start(&o, &model);
  if (status != WICK_OK) return status;
  status = wick_file_open(model, path, &o);
  if (status == WICK_OK) status = load(model, &o);
  return finish(model, status, out);
}

wick_status wick_model_load_memory(const void *data, size_t size, const wick_load_options *options,
                                   wick_model **out) {
  wick_load_options o;
  wick_model *model;
  wick_status status = read_options(options, &o);
  if (status == WICK_OK && (!data || !out))
    status = wick_fail(o.detail, WICK_BAD_ARGUMENT, "no data or no place for it");
  if (status == WICK_OK) status = start(&o, &model);
  if (status != WICK_OK) return status;
  status = wick_file_of_memory(model, data, size, &o);
  if (status == WICK_OK) status = load(model, &o);
  return finish(model, status, out);
}

void wick_model_free(wick_model *model) {
  if (!model) return;
  for (uint32_t u = 0; u < model->info.unit_count; u++)
    if (model->units[u].loaded) model->units[u].device->unload(model->units[u].loaded);
  wick_file_close(model);
  free(model->tables);
  wick_model_release(model);
  free(model);
}
