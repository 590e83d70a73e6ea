/* SPDX-License-Identifier: Apache-2.0
 * The file of an assembled stream (.wcs), little endian:
 *
 *   header | META | MACHINE | COMMANDS | LINES | REGIONS | STRINGS | DATA
 *
 * Every section starts at the first multiple of 64 behind its predecessor (the first: behind the
 * header) and has a CRC32C; gaps are zero. MACHINE is the text of a machine file. Texts are offsets
 * into STRINGS, each NUL-terminated; DATA holds the images of the regions that have one, in their
 * order, one behind the other. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "targets/accel/isa/internal.h"
#include "targets/accel/isa/stream.h"

#define MAGIC "WICKWCS"
#define VERSION 1
#define ALIGN 64

enum { META, MACHINE, COMMANDS, LINES, REGIONS, STRINGS, DATA, SECTIONS };
static const char *const section_names[] = {"META",    "MACHINE", "COMMANDS", "LINES",
                                            "REGIONS", "STRINGS", "DATA"};

typedef struct {
  uint64_t offset, size;
  uint32_t crc, reserved;
} section;

typedef struct {
  char magic[8];
  uint32_t version, header_size;
  uint64_t file_size, machine_hash;
  uint32_t sections, crc; /* crc: of this header with this field 0 */
  section section[SECTIONS];
} header;

typedef struct {
  uint32_t machine, source; /* texts */
  uint64_t address, marks;
} meta_row;

enum { HAS_DATA = 1, IS_OUTPUT = 2 };

typedef struct {
  uint32_t name, flags, line, reserved;
  uint64_t address, size;
} region_row;

static const uint32_t row_bytes[SECTIONS] = {[META] = sizeof(meta_row), [MACHINE] = 1,
                                             [COMMANDS] = WK_COMMAND_BYTES, [LINES] = 4,
                                             [REGIONS] = sizeof(region_row), [STRINGS] = 1,
                                             [DATA] = 1};

/* ---- writing --------------------------------------------------------------------------------- */

static uint32_t add_text(wk_str *b, const char *s) {
  uint32_t at = (uint32_t)b->n;
  wk_str_addn(b, s, strlen(s) + 1);
  return at;
}

static void pad(wk_out *o, uint64_t *at) {
  static const uint8_t zeros[ALIGN];
  uint64_t to = wk_align_up(*at, ALIGN);
  wk_out_write(o, zeros, (size_t)(to - *at));
  *at = to;
}

static void write_data(const wk_stream *s, wk_out *o) {
  for (size_t i = 0; i < s->regions.n; i++)
    if (s->regions.data[i].data)
      wk_out_write(o, s->regions.data[i].data, (size_t)s->regions.data[i].size);
}

void wk_stream_write(const wk_stream *s, wk_out *o) {
  wk_str strings = {0}, machine = {0};
  WK_VEC(region_row) rows = {0};
  header h = {.magic = MAGIC, .version = VERSION, .header_size = sizeof h, .sections = SECTIONS,
              .machine_hash = wk_machine_hash(&s->machine)};
  const meta_row meta = {add_text(&strings, s->machine.name), add_text(&strings, s->source),
                         s->address, s->marks};
  uint32_t data_crc = 0;
  uint64_t data_size = 0, at = sizeof h;
  wk_machine_text(&machine, &s->machine);
  for (size_t i = 0; i < s->regions.n; i++) {
    const wk_image *r = &s->regions.data[i];
    const region_row row = {add_text(&strings, r->name),
                            (r->data ? HAS_DATA : 0) | (r->is_output ? IS_OUTPUT : 0), r->line, 0,
                            r->address, r->size};
    wk_vec_push(&rows, row);
    if (!r->data) continue;
    data_crc = wk_crc32c(data_crc, r->data, (size_t)r->size);
    data_size += r->size;
  }
  const struct { const void *data; uint64_t size; } parts[SECTIONS] = {
      [META] = {&meta, sizeof meta}, [MACHINE] = {machine.s, machine.n},
      [COMMANDS] = {s->bytes.data, s->bytes.n}, [LINES] = {s->lines.data, s->lines.n * 4},
      [REGIONS] = {rows.data, rows.n * sizeof *rows.data}, [STRINGS] = {strings.s, strings.n},
      [DATA] = {NULL, data_size}};
  for (int i = 0; i < SECTIONS; i++) {
    at = wk_align_up(at, ALIGN);
    h.section[i] = (section){at, parts[i].size, data_crc, 0};
    if (i != DATA) h.section[i].crc = wk_crc32c(0, parts[i].data, (size_t)parts[i].size);
    at += parts[i].size;
  }
  h.file_size = at;
  h.crc = wk_crc32c(0, &h, sizeof h);
  wk_out_write(o, &h, sizeof h);
  at = sizeof h;
  for (int i = 0; i < SECTIONS; i++) {
    pad(o, &at);
    if (i == DATA) write_data(s, o);
    else if (parts[i].size) wk_out_write(o, parts[i].data, (size_t)parts[i].size);
    at += parts[i].size;
  }
  wk_str_free(&strings);
  wk_str_free(&machine);
  wk_vec_free(&rows);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct {
  const uint8_t *data;
  size_t size;
  header h;
} reader;

static wk_status check_header(reader *r) {
  if (r->size < sizeof r->h || memcmp(r->data, MAGIC, sizeof MAGIC) != 0)
    return wk_error(WK_INPUT, "is no assembled stream");
  memcpy(&r->h, r->data, sizeof r->h);
  header copy = r->h;
  if (r->h.version != VERSION || r->h.header_size != sizeof r->h || r->h.sections != SECTIONS)
    return wk_error(WK_UNSUPPORTED, "is of version %u; this version reads %d", r->h.version,
                    VERSION);
  copy.crc = 0;
  if (wk_crc32c(0, &copy, sizeof copy) != r->h.crc)
    return wk_error(WK_INPUT, "is damaged: the checksum of its header is wrong");
  if (r->h.file_size != r->size)
    return wk_error(WK_INPUT, "has %zu bytes instead of %" PRIu64, r->size, r->h.file_size);
  return NULL;
}

static wk_status check_sections(const reader *r) {
  uint64_t at = sizeof r->h;
  for (int i = 0; i < SECTIONS; i++) {
    const section *s = &r->h.section[i];
    uint64_t start = wk_align_up(at, ALIGN);
    if (s->offset != start || start > r->size || s->size > r->size - start ||
        s->size % row_bytes[i] || s->reserved)
      return wk_error(WK_INPUT, "is damaged: section %s does not fit in", section_names[i]);
    for (; at < start; at++)
      if (r->data[at]) return wk_error(WK_INPUT, "is damaged: a gap is not zero");
    if (wk_crc32c(0, r->data + start, (size_t)s->size) != s->crc)
      return wk_error(WK_INPUT, "is damaged: the checksum of section %s is wrong",
                      section_names[i]);
    at = start + s->size;
  }
  const section *strings = &r->h.section[STRINGS];
  if (at != r->size || r->h.section[META].size != sizeof(meta_row) || strings->size == 0 ||
      r->data[strings->offset + strings->size - 1])
    return wk_error(WK_INPUT, "is damaged: its sections do not fit together");
  return NULL;
}

static const char *text_at(const reader *r, uint32_t at) {
  const section *s = &r->h.section[STRINGS];
  return at < s->size ? (const char *)r->data + s->offset + at : NULL;
}

static const uint8_t *row_at(const reader *r, int which, uint64_t i) {
  return r->data + r->h.section[which].offset + i * row_bytes[which];
}

static uint64_t rows_of(const reader *r, int which) {
  return r->h.section[which].size / row_bytes[which];
}

static bool is_name(const char *s) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  size_t n = s ? strlen(s) : 0;
  return n > 0 && n < 64 && strspn(s, letters) == n && !(*s >= '0' && *s <= '9');
}

static wk_status read_regions(const reader *r, wk_stream *s) {
  uint64_t at = 0, total = r->h.section[DATA].size;
  for (uint64_t i = 0; i < rows_of(r, REGIONS); i++) {
    region_row row;
    wk_image *region;
    uint8_t *data;
    memcpy(&row, row_at(r, REGIONS, i), sizeof row);
    const char *name = text_at(r, row.name);
    if (!is_name(name) || row.reserved || row.flags > (HAS_DATA | IS_OUTPUT))
      return wk_error(WK_INPUT, "is damaged: memory %" PRIu64, i);
    WK_TRY(wk_stream_region(s, name, row.address, row.size, &region));
    region->is_output = (row.flags & IS_OUTPUT) != 0;
    region->line = row.line;
    if (!(row.flags & HAS_DATA)) continue;
    if (row.size > total - at)
      return wk_error(WK_INPUT, "is damaged: the image of '%s' is cut off", name);
    WK_TRY(wk_region_fill(region, &data));
    memcpy(data, row_at(r, DATA, at), (size_t)row.size);
    at += row.size;
  }
  if (at != total) return wk_error(WK_INPUT, "is damaged: bytes behind the images");
  return NULL;
}

static wk_status read_commands(const reader *r, wk_stream *s) {
  uint64_t n = rows_of(r, COMMANDS);
  if (rows_of(r, LINES) != n)
    return wk_error(WK_INPUT, "is damaged: LINES has another length than COMMANDS");
  for (uint64_t i = 0; i < n; i++) {
    uint32_t line;
    memcpy(&line, row_at(r, LINES, i), sizeof line);
    WK_TRY(wk_stream_add_bytes(s, row_at(r, COMMANDS, i), line));
  }
  return NULL;
}

static wk_status read_all(const reader *r, const meta_row *meta, wk_stream *s) {
  if (wk_machine_hash(&s->machine) != r->h.machine_hash)
    return wk_error(WK_INPUT, "is of another version of Wick: its machine '%s' has hash %016" PRIx64
                    ", here %016" PRIx64, s->machine.name, r->h.machine_hash,
                    wk_machine_hash(&s->machine));
  WK_TRY(read_regions(r, s));
  WK_TRY(read_commands(r, s));
  if (meta->address > UINT32_MAX || meta->marks > UINT32_MAX)
    return wk_error(WK_INPUT, "is damaged: an address beyond 32 bits");
  s->address = meta->address;
  s->marks = meta->marks;
  s->is_address_given = s->is_marks_given = true;
  return wk_stream_finish(s);
}

wk_status wk_stream_read_memory(const void *data, size_t n, wk_stream **out) {
  reader r = {.data = data, .size = n};
  wk_machine m;
  meta_row meta;
  WK_TRY(check_header(&r));
  WK_TRY(check_sections(&r));
  memcpy(&meta, row_at(&r, META, 0), sizeof meta);
  const char *name = text_at(&r, meta.machine), *source = text_at(&r, meta.source);
  if (!name || !source) return wk_error(WK_INPUT, "is damaged: a text is missing");
  const char *text = (const char *)row_at(&r, MACHINE, 0);
  WK_TRY(wk_machine_parse(text, (size_t)r.h.section[MACHINE].size, name, &m));
  wk_stream *s = wk_stream_new(&m, source);
  wk_status status = s ? read_all(&r, &meta, s) : wk_error(WK_RESOURCE, "out of memory");
  if (status) wk_stream_free(s);
  else *out = s;
  return status;
}

/* ---- either ---------------------------------------------------------------------------------- */

static wk_status read_assembled(const wk_file *f, const wk_asm_options *o, wk_stream **out) {
  wk_stream *s;
  WK_TRY(wk_stream_read_memory(f->data, f->size, &s));
  wk_status status = NULL;
  if (o && o->machine) {
    status = wk_stream_fits(s, o->machine);
    s->machine = *o->machine;
  }
  if (!status && !(o && o->unchecked)) status = wk_stream_validate(s);
  if (status) wk_stream_free(s);
  else *out = s;
  return status;
}

wk_status wk_stream_load(const char *path, const wk_asm_options *o, wk_stream **out) {
  wk_file f;
  WK_TRY(wk_file_map(path, &f));
  wk_status s;
  if (f.size >= sizeof MAGIC && memcmp(f.data, MAGIC, sizeof MAGIC) == 0) {
    s = wk_status_place(read_assembled(&f, o, out), path);
  } else {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : wk_xstrdup(".");
    s = wk_asm((const char *)f.data, f.size, path, folder, o, out);
    free(folder);
  }
  wk_file_unmap(&f);
  return s;
}
