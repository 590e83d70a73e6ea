/* SPDX-License-Identifier: Apache-2.0
 *
 * First look at a package: is it one, is it whole, do its sections lie where the format says, do
 * the checksums agree. The tables are copied before they are checked, so that what was checked is
 * what is used even when someone writes to the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

static const struct {
  const char *name;
  size_t row;
} tables[WICK_TABLE_COUNT] = {
#define WICK_X(kind, number, row) [number - 1] = {#kind, row},
    WICK_TABLES(WICK_X)
#undef WICK_X
};

static const char *kind_name(uint32_t kind) {
  return kind >= 1 && kind <= WICK_TABLE_COUNT ? tables[kind - 1].name
         : kind == WICK_SECTION_CODE           ? "CODE"
         : kind == WICK_SECTION_CONST          ? "CONST"
         : kind == WICK_SECTION_STATE          ? "STATE"
                                               : "of a target";
}

typedef struct {
  const wick_model *model;
  wick_error_detail *detail;
  wick_pkg_header header;
  wick_pkg_section *rows;
} file_head;

static wick_status check_header(const wick_pkg_header *h, size_t size, wick_error_detail *detail) {
  if (h->version < WICK_FORMAT_VERSION)
    return wick_fail(detail, WICK_BAD_VERSION,
                     "format version %u, this runtime reads %u; compile the model again: wick "
                     "compile MODEL.onnx", h->version, WICK_FORMAT_VERSION);
  if (h->version != WICK_FORMAT_VERSION)
    return wick_fail(detail, WICK_BAD_VERSION, "format version %u, this runtime reads %u",
                     h->version, WICK_FORMAT_VERSION);
  if (h->header_size != sizeof *h)
    return wick_fail(detail, WICK_CORRUPT, "header of %u bytes", h->header_size);
  if (h->file_size != size)
    return wick_fail(detail, WICK_CORRUPT, "%zu bytes long, should be %llu", size,
                     (unsigned long long)h->file_size);
  if (h->section_count < WICK_TABLE_COUNT ||
      h->section_count > (h->file_size - sizeof *h) / sizeof(wick_pkg_section))
    return wick_fail(detail, WICK_CORRUPT, "%u sections", h->section_count);
  return WICK_OK;
}

wick_status wick_header_read(const void *start, size_t size, wick_pkg_header *out,
                             wick_error_detail *detail) {
  if (size < sizeof out->magic || memcmp(start, WICK_MAGIC, sizeof out->magic) != 0)
    return wick_fail(detail, WICK_NOT_PACKAGE, "not a package");
  if (size < sizeof *out)
    return wick_fail(detail, WICK_CORRUPT, "%zu bytes long, its header alone has %zu", size,
                     sizeof *out);
  memcpy(out, start, sizeof *out);
  return check_header(out, size, detail);
}

/* Tables first, then units one after the other, then STATE. */
static bool is_in_order(const wick_pkg_section *s, uint32_t i, const wick_pkg_section *before) {
  bool is_own = s->kind >= WICK_SECTION_OWN;
  if ((s->name != 0) != is_own || s->reserved != 0 || s->align < WICK_ALIGN ||
      s->align > WICK_PAGE || (s->align & (s->align - 1)) != 0)
    return false;
  if (i < WICK_TABLE_COUNT)
    return s->kind == i + 1 && s->unit == WICK_NONE && s->align == WICK_ALIGN;
  bool after_units = before->unit != WICK_NONE || before->kind <= WICK_TABLE_COUNT;
  if (s->kind == WICK_SECTION_STATE)
    return s->unit == WICK_NONE && s->align == WICK_PAGE && after_units;
  bool is_first = before->unit != s->unit;
  if (s->unit == WICK_NONE || !after_units ||
      (before->unit != WICK_NONE && s->unit < before->unit))
    return false;
  if (is_own)
    return s->kind == (is_first || before->kind < WICK_SECTION_OWN ? (uint32_t)WICK_SECTION_OWN
                                                                   : before->kind + 1);
  if (s->kind != WICK_SECTION_CODE && s->kind != WICK_SECTION_CONST) return false;
  return s->align == WICK_PAGE && (is_first || before->kind < s->kind);
}

static wick_status check_sections(const file_head *f) {
  const wick_pkg_header *h = &f->header;
  uint64_t end = h->header_size + h->section_count * (uint64_t)sizeof *f->rows;
  for (uint32_t i = 0; i < h->section_count; i++) {
    const wick_pkg_section *s = &f->rows[i];
    bool fits = is_in_order(s, i, i ? s - 1 : s);
    uint64_t start = fits ? wick_align_up(end, s->align) : 0;
    if (!fits || s->offset != start || s->offset > h->file_size ||
        s->size > h->file_size - s->offset)
      return wick_fail(f->detail, WICK_CORRUPT, "section %u (%s) is not where it belongs", i,
                       kind_name(s->kind));
    if (i < WICK_TABLE_COUNT && s->size % tables[i].row != 0)
      return wick_fail(f->detail, WICK_CORRUPT, "section %s ends within a row", tables[i].name);
    end = s->offset + s->size;
  }
  if (end != h->file_size)
    return wick_fail(f->detail, WICK_CORRUPT, "bytes behind the last section");
  return WICK_OK;
}

static bool is_zero(const uint8_t *bytes, size_t n) {
  static const uint8_t zeros[WICK_PAGE]; /* a gap is less than an alignment */
  return memcmp(bytes, zeros, n) == 0;
}

/* A target's own sections have their names in STRINGS, whose checksum has been found right when
 * they are looked at. */
static const char *section_name(const file_head *f, const wick_pkg_section *s) {
  const wick_pkg_section *strings = &f->rows[WICK_SECTION_STRINGS - 1];
  const char *text = (const char *)f->model->tables + strings->offset;
  if (s->kind < WICK_SECTION_OWN || s->name >= strings->size || text[strings->size - 1] != '\0')
    return kind_name(s->kind);
  return text + s->name;
}

/* "CODE of unit 0"; tables are nobody's. */
static wick_status fail_section(const file_head *f, const char *what, uint32_t i,
                                const char *how) {
  const wick_pkg_section *s = &f->rows[i];
  const char *name = section_name(f, s);
  if (s->unit == WICK_NONE)
    return wick_fail(f->detail, WICK_CORRUPT, "%s section %u (%s) %s", what, i, name, how);
  return wick_fail(f->detail, WICK_CORRUPT, "%s section %u (%s of unit %u) %s", what, i, name,
                   s->unit, how);
}

static wick_status check_sums(const file_head *f) {
  wick_pkg_header h = f->header;
  size_t table_size = h.section_count * sizeof *f->rows;
  uint64_t end = sizeof h + table_size;
  h.crc = 0;
  if (wick_crc32c(wick_crc32c(0, &h, sizeof h), f->rows, table_size) != f->header.crc)
    return wick_fail(f->detail, WICK_CORRUPT, "checksum of the header differs");
  for (uint32_t i = 0; i < h.section_count; i++) {
    const wick_pkg_section *s = &f->rows[i];
    const uint8_t *bytes = i < WICK_TABLE_COUNT ? f->model->tables : f->model->file;
    if (!is_zero(bytes + end, s->offset - end))
      return fail_section(f, "the gap before", i, "is not zero");
    if (wick_crc32c_parallel(bytes + s->offset, s->size) != s->crc)
      return fail_section(f, "checksum of", i, "differs");
    end = s->offset + s->size;
  }
  return WICK_OK;
}

static wick_status copy_tables(wick_model *model, const file_head *f) {
  const wick_pkg_section *strings = &f->rows[WICK_TABLE_COUNT - 1];
  model->tables_size = strings->offset + strings->size;
  model->tables = aligned_alloc(WICK_ALIGN, wick_align_up(model->tables_size, WICK_ALIGN));
  if (!model->tables) return wick_fail(f->detail, WICK_NO_MEMORY, "out of memory");
  memcpy(model->tables, model->file, model->tables_size);
  memcpy(model->tables, &f->header, sizeof f->header);
  memcpy(model->tables + sizeof f->header, f->rows, f->header.section_count * sizeof *f->rows);
  model->section_rows = (const wick_pkg_section *)(model->tables + sizeof f->header);
  return WICK_OK;
}

static wick_status describe_sections(wick_model *model, const file_head *f) {
  uint32_t n = f->header.section_count;
  model->sections = wick_model_alloc(model, n, sizeof *model->sections);
  if (!model->sections) return wick_fail(f->detail, WICK_NO_MEMORY, "out of memory");
  for (uint32_t i = 0; i < n; i++) {
    const wick_pkg_section *s = &f->rows[i];
    model->sections[i] = (wick_section_info){
        sizeof(wick_section_info), kind_name(s->kind), s->unit, s->offset, s->size, s->crc};
  }
  model->info.sections = model->sections;
  model->info.section_count = n;
  model->info.file_bytes = f->header.file_size;
  model->info.format_version = f->header.version;
  return WICK_OK;
}

/* Tables are used where they were copied to, everything else where it lies. */
static wick_status ask_verifier(const wick_model *model, const file_head *f,
                                const wick_load_options *options) {
  uint32_t n = f->header.section_count;
  char(*names)[16] = wick_list(n, sizeof *names);
  wick_piece *pieces = wick_list((size_t)n + 1, sizeof *pieces);
  wick_error_detail why = {{0}};
  wick_status status = WICK_NO_MEMORY;
  if (names && pieces) {
    pieces[0] = (wick_piece){"HEADER", WICK_NONE, 0, model->tables,
                             sizeof f->header + n * sizeof *f->rows};
    for (uint32_t i = 0; i < n; i++) {
      const wick_pkg_section *s = &f->rows[i];
      const uint8_t *bytes = i < WICK_TABLE_COUNT ? model->tables : model->file;
      if (s->kind < WICK_SECTION_OWN) snprintf(names[i], sizeof names[i], "%s", kind_name(s->kind));
      else snprintf(names[i], sizeof names[i], "%u", (unsigned)s->kind);
      pieces[i + 1] = (wick_piece){names[i], s->unit, s->offset, bytes + s->offset, s->size};
    }
    status = options->verifier(options->user, pieces, n + 1, &why);
  }
  free(names);
  free(pieces);
  return status == WICK_OK ? status : wick_fail(f->detail, status, "%s", why.text);
}

static wick_status verify(wick_model *model, file_head *f, const wick_load_options *options) {
  size_t table_size = f->header.section_count * sizeof *f->rows;
  f->rows = malloc(table_size);
  if (!f->rows) return wick_fail(f->detail, WICK_NO_MEMORY, "out of memory");
  memcpy(f->rows, model->file + sizeof f->header, table_size);
  wick_status status = check_sections(f);
  if (status == WICK_OK) status = copy_tables(model, f);
  if (status == WICK_OK) status = describe_sections(model, f);
  bool asks = options->verifier;
  uint32_t flags = options->flags;
  bool unchecked = flags & WICK_LOAD_UNCHECKED && !(flags & WICK_LOAD_VERIFY);
  if (status == WICK_OK && asks) status = ask_verifier(model, f, options);
  if (status != WICK_OK || (!asks && unchecked)) return status;
  /* the bytes between what a verifier has seen are zeros */
#ifdef MADV_POPULATE_READ /* one call instead of a page fault for every 64 KiB; only a hint */
  if (model->file_map) (void)madvise(model->file_map, model->file_size, MADV_POPULATE_READ);
#endif
  return check_sums(f);
}

wick_status wick_model_verify(wick_model *model, const wick_load_options *options) {
  file_head f = {.model = model, .detail = options->detail};
  wick_status status = wick_header_read(model->file, model->file_size, &f.header, f.detail);
  if (status == WICK_OK) status = verify(model, &f, options);
  free(f.rows);
  return status;
}
