/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/accel_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/pipeline/runner.h"

/* ---- units ----------------------------------------------------------------------------------- */

static wk_status read_unit(const wick_model_info *m, uint32_t unit, const wk_file *f,
                           wk_accel_unit *out) {
  wk_accel_section *sections = wk_xcalloc(m->section_count, sizeof *sections);
  size_t n = 0;
  for (uint32_t i = 0; i < m->section_count; i++) {
    const wick_section_info *s = &m->sections[i];
    if (s->unit == unit)
      sections[n++] = (wk_accel_section){s->name, f->data + s->offset, (size_t)s->bytes};
  }
  wk_status s = wk_accel_unit_read(sections, n, m->units[unit].spec, out);
  free(sections);
  if (s || wk_machine_hash(&out->machine) == m->units[unit].machine_hash) return s;
  return wk_error(WK_UNSUPPORTED, "compiled for machine '%s' of another version of Wick (hash "
                  "%016" PRIx64 ", not %016" PRIx64 ")", out->machine.name,
                  m->units[unit].machine_hash, wk_machine_hash(&out->machine));
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bool is_known(const wk_accel_parts *p, const wick_part_info *info) {
  for (size_t i = 0; i < p->n_parts; i++)
    if (p->parts[i].info == info) return true;
  return false;
}

static wk_status add_part(wk_accel_parts *p, const wick_part_info *info) {
  wk_accel_package_part *x = &p->parts[p->n_parts];
  size_t n = (size_t)info->input_count + info->output_count;
  *x = (wk_accel_package_part){.info = info, .unit = &p->units[info->unit]};
  x->io = wk_arena_alloc(p->arena, n * sizeof *x->io);
  for (size_t i = 0; i < n; i++) {
    bool is_output = i >= info->input_count;
    const wick_tensor_info *t =
        is_output ? &info->outputs[i - info->input_count] : &info->inputs[i];
    x->io[i] = (wk_accel_io){t->name, t->bytes, is_output};
  }
  if (info->code >= x->unit->n_parts)
    return wk_error(WK_INPUT, "section %s: there is no part %" PRIu64, WK_ACCEL_PARTS, info->code);
  x->row = &x->unit->parts[info->code];
  p->n_parts++;
  return wk_accel_part_check(x->unit, (uint32_t)info->code, x->io, n);
}

static wk_status add_parts(wk_accel_parts *p, const wick_model *model) {
  uint32_t entries = wick_model_describe(model)->entry_count;
  size_t most = 0;
  for (uint32_t i = 0; i < entries; i++) most += wick_model_entry(model, i)->part_count;
  p->parts = wk_arena_alloc(p->arena, most * sizeof *p->parts);
  for (uint32_t i = 0; i < entries; i++) {
    const wick_entry_info *e = wick_model_entry(model, i);
    for (uint32_t k = 0; k < e->part_count; k++)
      if (!strcmp(e->parts[k]->target, WK_ACCEL_TARGET) && !is_known(p, e->parts[k]))
        WK_TRY(add_part(p, e->parts[k]));
  }
  return NULL;
}

wk_status wk_accel_parts_read(const wick_model *model, const wk_file *f, wk_accel_parts *out) {
  const wick_model_info *m = wick_model_describe(model);
  *out = (wk_accel_parts){.arena = wk_arena_new()};
  out->units = wk_arena_alloc(out->arena, m->unit_count * sizeof *out->units);
  for (uint32_t u = 0; u < m->unit_count; u++)
    if (!strcmp(m->units[u].target, WK_ACCEL_TARGET))
      WK_TRY(read_unit(m, u, f, &out->units[u]));
  return add_parts(out, model);
}

void wk_accel_parts_free(wk_accel_parts *p) {
  wk_arena_free(p->arena);
  *p = (wk_accel_parts){0};
}

/* ---- streams --------------------------------------------------------------------------------- */

static wk_status add_stream(const wk_accel_parts *p, size_t i, const char *path,
                            wk_accel_streams *out) {
  const wk_accel_package_part *x = &p->parts[i];
  const char *source = wk_arena_printf(p->arena, "%s:%s", path, x->info->name);
  WK_TRY(wk_accel_part_stream(x->unit, (uint32_t)x->info->code, x->io,
                              (size_t)x->info->input_count + x->info->output_count,
                              &(wk_accel_placement){.source = source}, &out->list[out->n], NULL));
  out->n++;
  return NULL;
}

static wk_status add_streams(const wk_accel_parts *p, int64_t part, const char *path,
                             const wk_machine *m, wk_accel_streams *out) {
  if (p->n_parts == 0) return wk_error(WK_INPUT, WK_NO_ACCEL_PART);
  if (part != WK_ACCEL_ALL_PARTS && (uint64_t)part >= p->n_parts)
    return wk_error(WK_USAGE, "--part %" PRId64 ": the package has %zu for the accelerator, "
                    "counted from 0", part, p->n_parts);
  out->list = wk_xcalloc(p->n_parts, sizeof(wk_stream *));
  for (size_t i = 0; i < p->n_parts; i++) {
    if (part != WK_ACCEL_ALL_PARTS && (uint64_t)part != i) continue;
    WK_TRY(add_stream(p, i, path, out));
    if (m) WK_TRY(wk_stream_fits(out->list[out->n - 1], m));
  }
  return NULL;
}

static wk_status load_package(const char *path, const wk_file *f, int64_t part,
                              const wk_machine *m, wk_accel_streams *out) {
  wick_model *model;
  wick_error_detail detail = {{0}};
  const wick_load_options o = {.size = sizeof o, .flags = WICK_LOAD_DESCRIBE, .detail = &detail};
  WK_TRY(wk_wick_error(wick_model_load(path, &o, &model), detail.text, path));
  wk_accel_parts parts;
  wk_status s = wk_accel_parts_read(model, f, &parts);
  if (!s) s = add_streams(&parts, part, path, m, out);
  wk_accel_parts_free(&parts);
  wick_model_free(model);
  return wk_status_place(s, path);
}

static wk_status load_stream(const char *path, int64_t part, const wk_asm_options *o,
                             wk_accel_streams *out) {
  if (part != WK_ACCEL_ALL_PARTS)
    return wk_error_at(WK_USAGE, path, "--part chooses from a package; this is a stream");
  out->list = wk_xcalloc(1, sizeof(wk_stream *));
  WK_TRY(wk_stream_load(path, o, &out->list[0]));
  out->n = 1;
  return NULL;
}

wk_status wk_accel_streams_load(const char *path, int64_t part, const wk_asm_options *o,
                                wk_accel_streams *out) {
  wk_file f;
  *out = (wk_accel_streams){0};
  WK_TRY(wk_file_map(path, &f));
  wk_status s = wk_is_package(&f) ? load_package(path, &f, part, o->machine, out)
                                  : load_stream(path, part, o, out);
  wk_file_unmap(&f);
  return s;
}

void wk_accel_streams_free(wk_accel_streams *s) {
  for (size_t i = 0; i < s->n; i++) wk_stream_free(s->list[i]);
  free(s->list);
  *s = (wk_accel_streams){0};
}
