/* SPDX-License-Identifier: Apache-2.0
 *
 * First look at a package: is it one, is it whole, do its sections lie where the format says, do
 * the checksums agree. The tables are copied before they are checked, so that what was checked is
 * what is used even when someone writes to the file. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

static const struct {
  const char *name;
  uint64_t alignment;
  size_t row;
} kinds[WICK_SECTION_COUNT] = {
#define WICK_X(kind, number, alignment, row) [number - 1] = {#kind, alignment, row},
    WICK_SECTIONS(WICK_X)
#undef WICK_X
};

static wick_status check_header(const wick_pkg_header *h, const wick_model *model,
                                const wick_load_options *options) {
  if (h->version != WICK_FORMAT_VERSION)
    return wick_fail(options, WICK_BAD_VERSION, "format version %u, this runtime reads %u",
                     h->version, WICK_FORMAT_VERSION);
  if (h->header_size != sizeof *h || h->section_count != WICK_SECTION_COUNT)
    return wick_fail(options, WICK_CORRUPT, "header of %u bytes with %u sections", h->header_size,
                     h->section_count);
  if (h->file_size != model->file_size)
    return wick_fail(options, WICK_CORRUPT, "%zu bytes long, should be %llu", model->file_size,
                     (unsigned long long)h->file_size);
  return WICK_OK;
}

static wick_status check_sections(const wick_pkg_header *h, const wick_load_options *options) {
  uint64_t end = h->header_size;
  for (uint32_t i = 0; i < WICK_SECTION_COUNT; i++) {
    const wick_pkg_section *s = &h->sections[i];
    uint64_t start = (end + kinds[i].alignment - 1) / kinds[i].alignment * kinds[i].alignment;
    if (s->kind != i + 1 || s->offset != start || s->offset > h->file_size ||
        s->size > h->file_size - s->offset)
      return wick_fail(options, WICK_CORRUPT, "section %s is not where it belongs", kinds[i].name);
    if (s->size % kinds[i].row != 0)
      return wick_fail(options, WICK_CORRUPT, "section %s ends within a row", kinds[i].name);
    end = s->offset + s->size;
  }
  if (end != h->file_size)
    return wick_fail(options, WICK_CORRUPT, "bytes behind the last section");
  return WICK_OK;
}

static wick_status check_sums(const wick_model *model, const wick_load_options *options) {
  wick_pkg_header h;
  memcpy(&h, model->tables, sizeof h);
  uint32_t crc = h.crc;
  h.crc = 0;
  if (wick_crc32c(0, &h, sizeof h) != crc)
    return wick_fail(options, WICK_CORRUPT, "checksum of the header differs");
  uint64_t tables_size = h.sections[WICK_SECTION_CODE - 1].offset, end = sizeof h;
  for (uint32_t i = 0; i < WICK_SECTION_COUNT; i++) {
    const wick_pkg_section *s = &h.sections[i];
    const uint8_t *bytes = s->offset < tables_size ? model->tables : model->file;
    for (; end < s->offset; end++)
      if (bytes[end] != 0)
        return wick_fail(options, WICK_CORRUPT, "the gap before section %s is not zero",
                         kinds[i].name);
    if (wick_crc32c_parallel(bytes + s->offset, s->size) != s->crc)
      return wick_fail(options, WICK_CORRUPT, "checksum of section %s differs", kinds[i].name);
    end = s->offset + s->size;
  }
  return WICK_OK;
}

wick_status wick_model_verify(wick_model *model, const wick_load_options *options) {
  wick_pkg_header h;
  if (model->file_size < sizeof h.magic || memcmp(model->file, WICK_MAGIC, sizeof h.magic) != 0)
    return wick_fail(options, WICK_NOT_PACKAGE, "not a package");
  if (model->file_size < sizeof h)
    return wick_fail(options, WICK_CORRUPT, "%zu bytes long, its header alone has %zu",
                     model->file_size, sizeof h);
  memcpy(&h, model->file, sizeof h);
  wick_status status = check_header(&h, model, options);
  if (status == WICK_OK) status = check_sections(&h, options);
  if (status != WICK_OK) return status;

  const wick_pkg_section *strings = &h.sections[WICK_SECTION_STRINGS - 1];
  size_t tables_size = strings->offset + strings->size;
  size_t padded_size = (tables_size + WICK_ALIGN - 1) / WICK_ALIGN * WICK_ALIGN;
  model->tables = aligned_alloc(WICK_ALIGN, padded_size);
  if (!model->tables) return wick_fail(options, WICK_NO_MEMORY, "out of memory");
  memcpy(model->tables, model->file, tables_size);
  memcpy(model->tables, &h, sizeof h);

  model->info.file_bytes = h.file_size;
  model->info.format_version = h.version;
  for (uint32_t i = 0; i < WICK_SECTION_COUNT; i++)
    model->info.sections[i] = (wick_section_info){kinds[i].name, h.sections[i].offset,
                                                  h.sections[i].size, h.sections[i].crc};
  if (options && options->flags & WICK_LOAD_UNCHECKED) return WICK_OK;
#ifdef MADV_POPULATE_READ /* one call instead of a page fault for every 64 KiB; only a hint */
  if (model->file_map) (void)madvise(model->file_map, model->file_size, MADV_POPULATE_READ);
#endif
  return check_sums(model, options);
}
