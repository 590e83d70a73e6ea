/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/package/tables.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t zeros[WICK_PAGE];

typedef struct {
  wk_out *out;    /* NULL: not to a file */
  uint8_t *bytes; /* NULL: not to memory */
  uint64_t at;
  uint32_t crc; /* since it was last set to 0 */
} sink;

static void put(sink *s, const void *data, uint64_t size) {
  if (size == 0) return;
  if (s->out) wk_out_write(s->out, data, size);
  if (s->bytes) memcpy(s->bytes + s->at, data, size);
  if (!s->out && !s->bytes) s->crc = wk_crc32c(s->crc, data, size);
  s->at += size;
}

static void put_zeros(sink *s, uint64_t size) {
  for (uint64_t n; size > 0; size -= n) {
    n = size < sizeof zeros ? size : sizeof zeros;
    put(s, zeros, n);
  }
}

static void put_gap(sink *s, uint64_t align) { put_zeros(s, wk_align_up(s->at, align) - s->at); }

/* The section starts on a page: the file's alignment is the section's. */
static void put_pieces(sink *s, const wk_package_piece *pieces, size_t n) {
  for (size_t i = 0; i < n; i++) {
    put_gap(s, WICK_ALIGN);
    if (pieces[i].data) put(s, pieces[i].data, pieces[i].size);
    else put_zeros(s, pieces[i].size);
  }
}

/* ---- sections -------------------------------------------------------------------------------- */

/* The file before and while it is written. */
typedef struct {
  const wk_package *p;
  wick_pkg_header header;
  WK_VEC(wick_pkg_section) sections;
  WK_VEC(wick_pkg_unit) units; /* as in p, with their sections */
  WK_VEC(wick_pkg_symbol) symbols;
} file_plan;

static void add_section(file_plan *f, uint32_t kind, uint32_t unit, uint32_t name,
                        uint32_t align) {
  wick_pkg_section row = {.kind = kind, .unit = unit, .name = name, .align = align};
  wk_vec_push(&f->sections, row);
}

static void add_unit(file_plan *f, uint32_t unit) {
  const wk_package_unit_data *u = &f->p->unit_data.data[unit];
  wick_pkg_unit row = f->p->units.data[unit];
  row.first_section = (uint32_t)f->sections.n;
  if (u->code.n) add_section(f, WICK_SECTION_CODE, unit, 0, WICK_PAGE);
  if (u->consts.n) add_section(f, WICK_SECTION_CONST, unit, 0, WICK_PAGE);
  for (size_t i = 0; i < u->own.n; i++)
    add_section(f, WICK_SECTION_OWN + (uint32_t)i, unit, u->own.data[i].name,
                u->own.data[i].align);
  row.section_count = (uint32_t)f->sections.n - row.first_section;
  wk_vec_push(&f->units, row);
  for (size_t i = 0; i < u->symbols.n; i++) wk_vec_push(&f->symbols, u->symbols.data[i]);
}

static void list_sections(file_plan *f) {
  for (uint32_t kind = 1; kind <= WICK_TABLE_COUNT; kind++)
    add_section(f, kind, WICK_NONE, 0, WICK_ALIGN);
  for (uint32_t unit = 0; unit < f->p->units.n; unit++) add_unit(f, unit);
  if (f->p->states.n) add_section(f, WICK_SECTION_STATE, WICK_NONE, 0, WICK_PAGE);
}

static void put_table(sink *s, const file_plan *f, uint32_t kind) {
  const wk_package *p = f->p;
  const struct {
    const void *data;
    uint64_t size;
  } tables[WICK_TABLE_COUNT + 1] = {
      [WICK_SECTION_META] = {&p->meta, sizeof p->meta},
      [WICK_SECTION_UNITS] = {f->units.data, f->units.n * sizeof *f->units.data},
      [WICK_SECTION_PARTS] = {p->parts.data, p->parts.n * sizeof *p->parts.data},
      [WICK_SECTION_ENTRIES] = {p->entries.data, p->entries.n * sizeof *p->entries.data},
      [WICK_SECTION_TENSORS] = {p->tensors.data, p->tensors.n * sizeof *p->tensors.data},
      [WICK_SECTION_PLAN] = {p->rows.data, p->rows.n * sizeof *p->rows.data},
      [WICK_SECTION_REFS] = {p->refs.data, p->refs.n * sizeof *p->refs.data},
      [WICK_SECTION_STEPS] = {p->steps.data, p->steps.n * sizeof *p->steps.data},
      [WICK_SECTION_STATES] = {p->states.data, p->states.n * sizeof *p->states.data},
      [WICK_SECTION_LABELS] = {p->labels.data, p->labels.n * sizeof *p->labels.data},
      [WICK_SECTION_EXTENTS] = {p->extents.data, p->extents.n * sizeof *p->extents.data},
      [WICK_SECTION_SYMS] = {f->symbols.data, f->symbols.n * sizeof *f->symbols.data},
      [WICK_SECTION_STRINGS] = {p->strings.data, p->strings.n},
  };
  put(s, tables[kind].data, tables[kind].size);
}

/* States behind the last that is not all zeros need not be there. */
static void put_state(sink *s, const wk_package *p) {
  size_t n = p->initial.n;
  while (n && !p->initial.data[n - 1].data) n--;
  put_pieces(s, p->initial.data, n);
}

static void put_section(sink *s, const file_plan *f, const wick_pkg_section *row) {
  const wk_package_unit_data *u =
      row->unit == WICK_NONE ? NULL : &f->p->unit_data.data[row->unit];
  if (row->kind == WICK_SECTION_CODE) put(s, u->code.data, u->code.n);
  else if (row->kind == WICK_SECTION_CONST) put_pieces(s, u->consts.data, u->consts.n);
  else if (row->kind == WICK_SECTION_STATE) put_state(s, f->p);
  else if (row->kind >= WICK_SECTION_OWN)
    put(s, u->own.data[row->kind - WICK_SECTION_OWN].data,
        u->own.data[row->kind - WICK_SECTION_OWN].size);
  else put_table(s, f, row->kind);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void make_header(file_plan *f) {
  wick_pkg_header *h = &f->header;
  uint64_t table_size = f->sections.n * sizeof *f->sections.data;
  sink s = {.at = sizeof *h + table_size};
  memcpy(h->magic, WICK_MAGIC, sizeof h->magic);
  h->version = WICK_FORMAT_VERSION;
  h->header_size = sizeof *h;
  h->section_count = (uint32_t)f->sections.n;
  for (size_t i = 0; i < f->sections.n; i++) {
    wick_pkg_section *row = &f->sections.data[i];
    put_gap(&s, row->align);
    row->offset = s.at;
    s.crc = 0;
    put_section(&s, f, row);
    row->size = s.at - row->offset;
    row->crc = s.crc;
  }
  h->file_size = s.at;
  h->crc = wk_crc32c(wk_crc32c(0, h, sizeof *h), f->sections.data, table_size);
}

static void put_file(sink *s, const file_plan *f) {
  put(s, &f->header, sizeof f->header);
  put(s, f->sections.data, f->sections.n * sizeof *f->sections.data);
  for (size_t i = 0; i < f->sections.n; i++) {
    put_gap(s, f->sections.data[i].align);
    put_section(s, f, &f->sections.data[i]);
  }
}

static void finish(file_plan *f) {
  wk_vec_free(&f->sections);
  wk_vec_free(&f->units);
  wk_vec_free(&f->symbols);
}

wk_status wk_package_write(const wk_package *p, wk_out *out) {
  file_plan f = {.p = p};
  WK_TRY(wk_package_check(p));
  list_sections(&f);
  make_header(&f);
  put_file(&(sink){.out = out}, &f);
  finish(&f);
  return NULL;
}

wk_status wk_package_bytes(const wk_package *p, void **data, size_t *size) {
  file_plan f = {.p = p};
  WK_TRY(wk_package_check(p));
  list_sections(&f);
  make_header(&f);
  wk_status s = wk_try_malloc(f.header.file_size, data);
  if (!s) {
    *size = f.header.file_size;
    put_file(&(sink){.bytes = *data}, &f);
  }
  finish(&f);
  return s;
}
