/* SPDX-License-Identifier: Apache-2.0
 * What lies in memory: named regions and the bytes in them. */
#include "compiler/expr/quant.h"
#include "targets/accel/isa/asm.h"

/* .memory NAME ADDRESS SIZE */
wk_status wk_asm_memory(wk_asm_state *a) {
  wk_asm_name name;
  int64_t address, size;
  wk_image *r;
  WK_TRY(wk_asm_start(a));
  const char *at = (wk_asm_at_end(a), a->at);
  WK_TRY(wk_asm_need_word(a, "a name", &name));
  if (wk_asm_find(a, name.s)) return wk_asm_error(a, at, "the name '%s' is taken", name.s);
  WK_TRY(wk_asm_number(a, "address", 0, UINT32_MAX, &address));
  WK_TRY(wk_asm_number(a, "size", 1, UINT32_MAX, &size));
  wk_status s = wk_stream_region(a->s, name.s, (uint64_t)address, (uint64_t)size, &r);
  WK_TRY(wk_asm_place(a, at, s));
  r->line = a->line + 1;
  uint32_t row = wk_asm_symbol_row(a, name.s); /* may move the rows */
  wk_asm_symbol *symbol = &a->symbols.data[row];
  *symbol = (wk_asm_symbol){symbol->name, WK_ASM_REGION, true, address};
  return NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static wk_status region(wk_asm_state *a, wk_image **out) {
  wk_asm_name name;
  WK_TRY(wk_asm_start(a));
  const char *at = (wk_asm_at_end(a), a->at);
  WK_TRY(wk_asm_need_word(a, "the name of a memory", &name));
  *out = wk_stream_find(a->s, name.s);
  if (*out) return NULL;
  const char *names[256];
  size_t n = 0;
  for (; n < a->s->regions.n && n < WK_COUNTOF(names); n++) names[n] = a->s->regions.data[n].name;
  return wk_asm_unknown(a, at, "memory", name.s, names, n);
}

/* The bytes of the region, which from now on are known. */
static wk_status data_of(wk_asm_state *a, const char *at, wk_image *r, uint8_t **data) {
  if (!r->data && (r->size > a->o.max_bytes || a->image_bytes > a->o.max_bytes - r->size))
    return wk_asm_error_at(a, WK_RESOURCE, at, __FILE__, __LINE__,
                           "the memory images have more than %llu bytes",
                           (unsigned long long)a->o.max_bytes);
  if (!r->data) a->image_bytes += r->size;
  return wk_asm_place(a, at, wk_region_fill(r, data));
}

/* NAME OFFSET */
typedef struct {
  wk_image *r;
  uint8_t *data;
  uint64_t at;
} target;

static wk_status offset_in(wk_asm_state *a, target *t) {
  int64_t offset;
  WK_TRY(region(a, &t->r));
  const char *at = (wk_asm_at_end(a), a->at);
  WK_TRY(wk_asm_number(a, "offset", 0, (int64_t)t->r->size - 1, &offset));
  t->at = (uint64_t)offset;
  return data_of(a, at, t->r, &t->data);
}

static wk_status put(wk_asm_state *a, const char *at, target *t, int64_t v, int bytes) {
  if (t->at + (uint64_t)bytes > t->r->size)
    return wk_asm_error(a, at, "this is behind the end of '%s', which has %llu bytes", t->r->name,
                        (unsigned long long)t->r->size);
  for (int i = 0; i < bytes; i++) t->data[t->at++] = (uint8_t)(v >> 8 * i);
  return NULL;
}

static wk_status list(wk_asm_state *a, const char *what, int64_t low, int64_t high, int bytes) {
  target t;
  int64_t v;
  WK_TRY(offset_in(a, &t));
  if (wk_asm_at_end(a)) return wk_asm_error(a, a->at, "values are missing");
  while (!wk_asm_at_end(a)) {
    const char *at = a->at;
    WK_TRY(wk_asm_number(a, what, low, high, &v));
    WK_TRY(put(a, at, &t, v, bytes));
  }
  return NULL;
}

/* .bytes NAME OFFSET v … */
wk_status wk_asm_bytes(wk_asm_state *a) { return list(a, "byte", -128, 255, 1); }
/* .words NAME OFFSET v …: i32 */
wk_status wk_asm_words(wk_asm_state *a) { return list(a, "word", INT32_MIN, UINT32_MAX, 4); }

/* .random NAME SEED [LO HI] */
wk_status wk_asm_random(wk_asm_state *a) {
  int64_t seed, low = -128, high = 127;
  wk_image *r;
  uint8_t *data;
  WK_TRY(region(a, &r));
  const char *at = (wk_asm_at_end(a), a->at);
  WK_TRY(wk_asm_expr(a, &seed));
  if (!wk_asm_at_end(a)) {
    WK_TRY(wk_asm_number(a, "lowest byte", -128, 255, &low));
    WK_TRY(wk_asm_number(a, "highest byte", low, 255, &high));
  }
  WK_TRY(data_of(a, at, r, &data));
  wk_rng rng = {(uint64_t)seed};
  for (uint64_t i = 0; i < r->size; i++) data[i] = (uint8_t)wk_rng_range(&rng, low, high);
  return NULL;
}

/* .output NAME */
wk_status wk_asm_output(wk_asm_state *a) {
  wk_image *r;
  WK_TRY(region(a, &r));
  r->is_output = true;
  return NULL;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool contains(const uint8_t *data, size_t n, const char *text) {
  return memmem(data, n, text, strlen(text)) != NULL;
}

/* The elements of an .npy file of bytes; any other file is raw. */
static wk_status strip_npy(const wk_file *f, const uint8_t **data, size_t *n) {
  *data = f->data;
  *n = f->size;
  if (f->size < 12 || memcmp(f->data, "\x93NUMPY", 6) != 0) return NULL;
  size_t at = f->data[6] == 1 ? 10 : 12, head = f->data[8] | (size_t)f->data[9] << 8;
  if (f->data[6] > 1) head |= (size_t)f->data[10] << 16 | (size_t)f->data[11] << 24;
  if (head > f->size - at) return wk_error(WK_INPUT, "is cut off");
  const uint8_t *text = f->data + at;
  if (!contains(text, head, "'|i1'") && !contains(text, head, "'|u1'"))
    return wk_error(WK_INPUT, "has elements that are neither int8 nor uint8");
  if (!contains(text, head, "'fortran_order': False"))
    return wk_error(WK_INPUT, "is in Fortran order");
  *data = text + head;
  *n = f->size - at - head;
  return NULL;
}

/* .file NAME "path" */
wk_status wk_asm_file(wk_asm_state *a) {
  const char *path;
  const uint8_t *bytes;
  uint8_t *data;
  size_t n;
  wk_image *r;
  wk_file f;
  WK_TRY(region(a, &r));
  const char *at = (wk_asm_at_end(a), a->at);
  WK_TRY(wk_asm_string(a, &path));
  if (!a->folder) return wk_asm_error(a, at, "this stream may name no files");
  WK_TRY(wk_status_note(wk_file_map_beneath(a->folder, NULL, path, &f), "%s:%u", a->file,
                        a->line + 1));
  wk_status s = wk_status_place(strip_npy(&f, &bytes, &n), path);
  if (!s && n > r->size)
    s = wk_asm_error(a, at, "%s has %zu bytes, '%s' only %llu", path, n, r->name,
                     (unsigned long long)r->size);
  if (!s) s = data_of(a, at, r, &data);
  if (!s && n) memcpy(data, bytes, n);
  wk_file_unmap(&f);
  return s;
}

/* ---- parameter records ----------------------------------------------------------------------- */

/* Those of normalisation lie over others, and are not there unless they are given. */
typedef struct {
  const char *name;
  int at, bytes; /* in the record */
  int64_t low, high, def;
  uint32_t over; /* bit i: part i lies there, too */
} part;
#define ABSENT INT64_MIN
enum { PART_MA = 3, PART_MB = 4, PART_SHIFT = 5, PART_MULT = 1, PART_ENTRY_SHIFT = 2 };

static const part record_parts[] = {
    {"zero", 0, 2, INT16_MIN, INT16_MAX, 0, 0},   {"lo", 2, 2, INT16_MIN, INT16_MAX, -128, 0},
    {"hi", 4, 2, INT16_MIN, INT16_MAX, 127, 0},   {"ma", 8, 4, -0xffffff, 0xffffff, 0, 0},
    {"mb", 12, 4, -0x7fffff, 0x7fffff, 0, 0},     {"shift", 16, 1, 0, 62, 0, 0},
    {"flags", 17, 1, 0, 1, 0, 0},                 {"za", 18, 2, INT16_MIN, INT16_MAX, 0, 0},
    {"zb", 20, 2, INT16_MIN, INT16_MAX, 0, 0},    {"zy", 22, 2, INT16_MIN, INT16_MAX, 0, 0},
    {"lo2", 24, 2, INT16_MIN, INT16_MAX, -128, 0}, {"hi2", 26, 2, INT16_MIN, INT16_MAX, 127, 0},
    {"e", 8, 8, 1, (INT64_C(1) << 62) - 1, ABSENT, 1u << PART_MA | 1u << PART_MB}};
enum { PARTS = WK_COUNTOF(record_parts) };

static const part entry_parts[] = {
    {"bias", 0, 4, INT32_MIN, UINT32_MAX, 0, 0},
    {"mult", 4, 3, 0, 0xffffff, 0, 0},
    {"shift", 7, 1, 1, 62, 1, 0},
    {"gain", 4, 4, -0xffffff, 0xffffff, ABSENT, 1u << PART_MULT | 1u << PART_ENTRY_SHIFT}};

typedef struct { double scale, a, b; } factors; /* 0: not given */

/* NAME=value …; the names of `reals` take decimal numbers. */
static wk_status parts(wk_asm_state *a, const part *p, size_t n, int64_t *v, factors *f,
                       bool is_record) {
  uint32_t given = 0;
  const char *start = a->at;
  for (size_t i = 0; i < n; i++) v[i] = p[i].def;
  while (!wk_asm_at_end(a)) {
    wk_asm_name name;
    const char *at = a->at;
    size_t i = 0;
    WK_TRY(wk_asm_need_word(a, "a name", &name));
    if (!wk_asm_accept(a, '=')) return wk_asm_error(a, a->at, "'=' expected after '%s'", name.s);
    double *real = !strcmp(name.s, "scale") ? &f->scale
                   : is_record && !strcmp(name.s, "scale_a") ? &f->a
                   : is_record && !strcmp(name.s, "scale_b") ? &f->b : NULL;
    if (real) {
      WK_TRY(wk_asm_real(a, real));
      continue;
    }
    while (i < n && strcmp(p[i].name, name.s) != 0) i++;
    if (i == n) {
      const char *names[PARTS + 3] = {"scale", "scale_a", "scale_b"};
      size_t first = is_record ? 3 : 1;
      for (size_t k = 0; k < n; k++) names[first + k] = p[k].name;
      return wk_asm_unknown(a, at, is_record ? "part of a record" : "part of an entry", name.s,
                            names, first + n);
    }
    if (given >> i & 1) return wk_asm_error(a, at, "'%s' is given twice", name.s);
    for (size_t k = 0; k < n; k++)
      if (given >> k & 1 && (p[i].over >> k & 1 || p[k].over >> i & 1))
        return wk_asm_error(a, at, "'%s' lies where '%s' does", name.s, p[k].name);
    given |= 1u << i;
    WK_TRY(wk_asm_number(a, p[i].name, p[i].low, p[i].high, &v[i]));
  }
  for (size_t i = 0; i < n; i++)
    if (given >> i & 1 && p[i].over && (f->scale > 0 || f->a > 0 || f->b > 0))
      return wk_asm_error(a, start, "'%s' lies where a scale does", p[i].name);
  return NULL;
}

static wk_status rescale_of(const wk_asm_state *a, const char *at, double scale, int64_t *mult,
                            int64_t *shift) {
  wk_rescale r;
  if (!wk_rescale_of(scale, &r))
    return wk_asm_error(a, at, "a scale is above 0 and below 128, and no smaller than f32 holds");
  *mult = r.mult;
  *shift = r.shift;
  return NULL;
}

static wk_status put_parts(wk_asm_state *a, const char *at, const target *t, const part *p,
                           size_t n, const int64_t *v) {
  for (size_t i = 0; i < n; i++) {
    target one = *t;
    if (v[i] == ABSENT) continue;
    one.at += (uint64_t)p[i].at;
    WK_TRY(put(a, at, &one, v[i], p[i].bytes));
  }
  return NULL;
}

/* .record NAME OFFSET zero= lo= hi= ma= mb= shift= za= zb= zy= lo2= hi2= flags= e=
 * scale=: ma and shift of mul; scale_a= scale_b=: ma, mb, shift of a sum */
wk_status wk_asm_record(wk_asm_state *a) {
  int64_t v[PARTS], mults[2];
  factors f = {0, 0, 0};
  target t;
  int shift;
  WK_TRY(offset_in(a, &t));
  const char *at = (wk_asm_at_end(a), a->at);
  WK_TRY(parts(a, record_parts, PARTS, v, &f, true));
  if (f.scale > 0) WK_TRY(rescale_of(a, at, f.scale, &v[PART_MA], &v[PART_SHIFT]));
  if (f.a > 0 || f.b > 0) {
    const double both[2] = {f.a, f.b};
    if (!wk_rescale_common(both, 2, WK_RESCALE_BITS_8, mults, &shift))
      return wk_asm_error(a, at, "scale_a and scale_b are too large");
    v[PART_MA] = mults[0];
    v[PART_MB] = mults[1];
    v[PART_SHIFT] = shift;
  }
  target last = {t.r, t.data, t.at + WK_RECORD_BYTES - 4}; /* all 32 bytes exist */
  WK_TRY(put(a, at, &last, 0, 4));
  return put_parts(a, at, &t, record_parts, PARTS, v);
}

/* .entry NAME OFFSET INDEX bias= mult= shift= | scale= | gain=; OFFSET is that of the record */
wk_status wk_asm_entry(wk_asm_state *a) {
  int64_t v[WK_COUNTOF(entry_parts)], index;
  factors f = {0, 0, 0};
  target t;
  WK_TRY(offset_in(a, &t));
  WK_TRY(wk_asm_number(a, "index", 0, 65535, &index));
  const char *at = (wk_asm_at_end(a), a->at);
  WK_TRY(parts(a, entry_parts, WK_COUNTOF(entry_parts), v, &f, false));
  if (f.scale > 0) WK_TRY(rescale_of(a, at, f.scale, &v[PART_MULT], &v[PART_ENTRY_SHIFT]));
  t.at += WK_RECORD_BYTES + (uint64_t)index * WK_ENTRY_BYTES;
  return put_parts(a, at, &t, entry_parts, WK_COUNTOF(entry_parts), v);
}
