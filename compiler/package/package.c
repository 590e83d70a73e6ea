/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables are kept in the file's own row format from the start. Writing runs over the sections
 * twice: once into a sink that only counts and sums, which gives the header, and once for real. */
#include "compiler/package/package.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const void *data;
  uint64_t offset, size;
} piece;

struct wk_package {
  wk_arena *texts;
  wk_map *text_offsets;
  wk_map *const_pieces; /* by contents */
  wick_pkg_meta meta;
  WK_VEC(wick_pkg_entry) entries;
  WK_VEC(wick_pkg_tensor) tensors;
  WK_VEC(wick_pkg_step) steps;
  WK_VEC(wick_pkg_symbol) symbols;
  WK_VEC(char) strings;
  WK_VEC(uint8_t) code;
  WK_VEC(piece) consts;
  uint64_t const_size;
};

static const uint8_t zeros[WICK_PAGE];

static void append_string(wk_package *p, const char *s, size_t n) {
  wk_vec_reserve(&p->strings, p->strings.n + n);
  memcpy(p->strings.data + p->strings.n, s, n);
  p->strings.n += n;
}

/* Offset of the text in STRINGS; equal texts share theirs. */
static uint32_t intern(wk_package *p, const char *s) {
  uint32_t offset;
  if (!s || !*s) return 0;
  if (wk_map_get(p->text_offsets, s, &offset)) return offset;
  offset = (uint32_t)p->strings.n; /* write refuses tables beyond 32 bits */
  wk_map_put(p->text_offsets, wk_arena_strdup(p->texts, s), offset);
  append_string(p, s, strlen(s) + 1);
  return offset;
}

wk_package *wk_package_new(const wk_package_meta *meta) {
  wk_package *p = wk_xcalloc(1, sizeof *p);
  p->texts = wk_arena_new();
  p->text_offsets = wk_map_new();
  p->const_pieces = wk_map_new();
  append_string(p, "", 1);
  p->meta = (wick_pkg_meta){
      .abi = WICK_ABI_VERSION,
      .machine = meta->machine,
      .model = intern(p, meta->model),
      .compiler = intern(p, meta->compiler),
      .flags = intern(p, meta->flags),
      .target = intern(p, meta->target),
      .features = intern(p, meta->features),
      .input_hash = meta->input_hash,
  };
  return p;
}

void wk_package_free(wk_package *p) {
  if (!p) return;
  wk_vec_free(&p->entries);
  wk_vec_free(&p->tensors);
  wk_vec_free(&p->steps);
  wk_vec_free(&p->symbols);
  wk_vec_free(&p->strings);
  wk_vec_free(&p->code);
  wk_vec_free(&p->consts);
  wk_map_free(p->const_pieces);
  wk_map_free(p->text_offsets);
  wk_arena_free(p->texts);
  free(p);
}

uint64_t wk_package_add_const(wk_package *p, const void *data, uint64_t size) {
  const char *key = wk_arena_printf(p->texts, "%016llx %llx",
                                    (unsigned long long)wk_hash64(data, size, 0),
                                    (unsigned long long)size);
  uint32_t index;
  bool known = wk_map_get(p->const_pieces, key, &index);
  if (known && (size == 0 || memcmp(p->consts.data[index].data, data, size) == 0))
    return p->consts.data[index].offset;
  piece c = {data, wk_align_up(p->const_size, WICK_ALIGN), size};
  if (!known) wk_map_put(p->const_pieces, key, (uint32_t)p->consts.n);
  wk_vec_push(&p->consts, c);
  p->const_size = c.offset + size;
  return c.offset;
}

uint64_t wk_package_add_code(wk_package *p, const void *blob, uint64_t size) {
  uint64_t start = wk_align_up(p->code.n, WICK_PAGE);
  wk_vec_reserve(&p->code, start + size);
  memset(p->code.data + p->code.n, 0, start - p->code.n);
  memcpy(p->code.data + start, blob, size);
  p->code.n = start + size;
  return start;
}

void wk_package_add_symbol(wk_package *p, const char *name, uint64_t offset, uint64_t size) {
  wick_pkg_symbol row = {.name = intern(p, name), .offset = offset, .size = size};
  wk_vec_push(&p->symbols, row);
}

static void add_tensors(wk_package *p, const wk_package_tensor *tensors, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const wk_package_tensor *t = &tensors[i];
    wick_pkg_tensor row = {.name = intern(p, t->name), .dtype = t->dtype,
                           .rank = (uint32_t)t->rank, .align = t->align, .bytes = t->bytes};
    for (int k = 0; k < t->rank && k < WICK_MAX_RANK; k++) row.dims[k] = t->dims[k];
    wk_vec_push(&p->tensors, row);
  }
}

void wk_package_add_entry(wk_package *p, const wk_package_entry *e) {
  wick_pkg_entry row = {
      .name = intern(p, e->name),
      .first_tensor = (uint32_t)p->tensors.n,
      .input_count = (uint32_t)e->n_inputs,
      .output_count = (uint32_t)e->n_outputs,
      .first_step = (uint32_t)p->steps.n,
      .step_count = (uint32_t)e->n_steps,
      .code = e->code,
      .arena_bytes = e->arena_bytes,
      .arena_bound = e->arena_bound,
      .scratch_bytes = e->scratch_bytes,
      .arena_align = e->arena_align,
  };
  add_tensors(p, e->inputs, e->n_inputs);
  add_tensors(p, e->outputs, e->n_outputs);
  for (size_t i = 0; i < e->n_steps; i++) {
    const wk_package_step *s = &e->steps[i];
    wick_pkg_step step = {.node = intern(p, s->node), .op = intern(p, s->op),
                          .text = intern(p, s->text), .code = s->code, .macs = s->macs,
                          .bytes = s->bytes};
    wk_vec_push(&p->steps, step);
  }
  wk_vec_push(&p->entries, row);
}

/* ---- checks ---- */

static bool is_alignment(uint32_t align, uint32_t least) {
  return align >= least && align <= WICK_PAGE && (align & (align - 1)) == 0;
}

static wk_status check_entry(const wk_package *p, const wick_pkg_entry *e) {
  const char *name = p->strings.data + e->name;
  if (e->code >= p->code.n) return wk_error(WK_INTERNAL, "package: entry %s has no code", name);
  if (!is_alignment(e->arena_align, WICK_ALIGN) || e->arena_bound > e->arena_bytes)
    return wk_error(WK_INTERNAL, "package: entry %s: arena of %llu bytes, bound %llu, alignment %u",
                    name, (unsigned long long)e->arena_bytes, (unsigned long long)e->arena_bound,
                    e->arena_align);
  return NULL;
}

static wk_status check(const wk_package *p) {
  if (p->entries.n == 0) return wk_error(WK_INTERNAL, "package: no entry");
  if (p->strings.n > UINT32_MAX || p->tensors.n > UINT32_MAX || p->steps.n > UINT32_MAX)
    return wk_error(WK_RESOURCE, "package: its tables exceed 4 GiB");
  for (size_t i = 0; i < p->entries.n; i++) WK_TRY(check_entry(p, &p->entries.data[i]));
  for (size_t i = 0; i < p->tensors.n; i++) {
    const wick_pkg_tensor *t = &p->tensors.data[i];
    if (t->dtype == 0 || t->dtype >= WICK_DTYPE_COUNT || t->rank > WICK_MAX_RANK ||
        !is_alignment(t->align, 1))
      return wk_error(WK_INTERNAL, "package: tensor %s: dtype %u, rank %u, alignment %u",
                      p->strings.data + t->name, t->dtype, t->rank, t->align);
  }
  for (size_t i = 0; i < p->steps.n; i++)
    if (p->steps.data[i].code >= p->code.n && p->steps.data[i].code != WICK_NO_CODE)
      return wk_error(WK_INTERNAL, "package: step %zu has no code", i);
  for (size_t i = 0; i < p->symbols.n; i++) {
    const wick_pkg_symbol *s = &p->symbols.data[i];
    if (s->offset > p->code.n || s->size > p->code.n - s->offset)
      return wk_error(WK_INTERNAL, "package: symbol %s is outside the code",
                      p->strings.data + s->name);
  }
  return NULL;
}

/* ---- writing ---- */

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

static void put_gap(sink *s, uint64_t align) {
  put(s, zeros, wk_align_up(s->at, align) - s->at);
}

static void put_consts(sink *s, const wk_package *p) {
  for (size_t i = 0; i < p->consts.n; i++) {
    put_gap(s, WICK_ALIGN); /* CONST starts on a page: the file's alignment is the section's */
    put(s, p->consts.data[i].data, p->consts.data[i].size);
  }
}

static void put_section(sink *s, const wk_package *p, uint32_t kind) {
  const struct {
    const void *data;
    uint64_t size;
  } tables[WICK_SECTION_COUNT + 1] = {
      [WICK_SECTION_META] = {&p->meta, sizeof p->meta},
      [WICK_SECTION_ENTRIES] = {p->entries.data, p->entries.n * sizeof *p->entries.data},
      [WICK_SECTION_TENSORS] = {p->tensors.data, p->tensors.n * sizeof *p->tensors.data},
      [WICK_SECTION_STEPS] = {p->steps.data, p->steps.n * sizeof *p->steps.data},
      [WICK_SECTION_SYMS] = {p->symbols.data, p->symbols.n * sizeof *p->symbols.data},
      [WICK_SECTION_STRINGS] = {p->strings.data, p->strings.n},
      [WICK_SECTION_CODE] = {p->code.data, p->code.n},
  };
  if (kind == WICK_SECTION_CONST)
    put_consts(s, p);
  else
    put(s, tables[kind].data, tables[kind].size);
}

static const uint32_t alignments[WICK_SECTION_COUNT + 1] = {
#define WICK_X(kind, number, alignment, row) [number] = alignment,
    WICK_SECTIONS(WICK_X)
#undef WICK_X
};

static void make_header(const wk_package *p, wick_pkg_header *h) {
  sink s = {.at = sizeof *h};
  memset(h, 0, sizeof *h);
  memcpy(h->magic, WICK_MAGIC, sizeof h->magic);
  h->version = WICK_FORMAT_VERSION;
  h->header_size = sizeof *h;
  h->section_count = WICK_SECTION_COUNT;
  for (uint32_t kind = 1; kind <= WICK_SECTION_COUNT; kind++) {
    put_gap(&s, alignments[kind]);
    wick_pkg_section *section = &h->sections[kind - 1];
    section->kind = kind;
    section->offset = s.at;
    s.crc = 0;
    put_section(&s, p, kind);
    section->size = s.at - section->offset;
    section->crc = s.crc;
  }
  h->file_size = s.at;
  h->crc = wk_crc32c(0, h, sizeof *h);
}

static void put_file(sink *s, const wk_package *p, const wick_pkg_header *h) {
  put(s, h, sizeof *h);
  for (uint32_t kind = 1; kind <= WICK_SECTION_COUNT; kind++) {
    put_gap(s, alignments[kind]);
    put_section(s, p, kind);
  }
}

wk_status wk_package_write(const wk_package *p, wk_out *out) {
  WK_TRY(check(p));
  wick_pkg_header header;
  make_header(p, &header);
  put_file(&(sink){.out = out}, p, &header);
  return NULL;
}

wk_status wk_package_bytes(const wk_package *p, void **data, size_t *size) {
  WK_TRY(check(p));
  wick_pkg_header header;
  make_header(p, &header);
  WK_TRY(wk_try_malloc(header.file_size, data));
  *size = header.file_size;
  put_file(&(sink){.bytes = *data}, p, &header);
  return NULL;
}
