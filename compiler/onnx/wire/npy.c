/* SPDX-License-Identifier: Apache-2.0
 * numpy's .npy: magic, version, a header that is a Python dictionary literal with the keys descr,
 * fortran_order and shape, then the elements. bfloat16, which numpy lacks, is written as '<V2' and
 * read back as such; narrow types, as ml_dtypes holds them: integers as i1 and u1, floats as V1. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/onnx.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE 6
#define DATA_ALIGN 64

static const struct { const char *descr; wk_dtype t; } types[] = {
  { "f4", WK_F32 }, { "f2", WK_F16 }, { "V2", WK_BF16 }, { "f8", WK_F64 }, { "i1", WK_I8 },
  { "i2", WK_I16 }, { "i4", WK_I32 }, { "i8", WK_I64 },  { "u1", WK_U8 },  { "u2", WK_U16 },
  { "u4", WK_U32 }, { "u8", WK_U64 }, { "b1", WK_BOOL }, { "V1", WK_U8 },
};

/* ---- the header ---------------------------------------------------------------------------- */

typedef struct { const char *p, *end; } cursor;

static void skip_space(cursor *c) {
  while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\t')) c->p++;
}

static bool take(cursor *c, char ch) {
  skip_space(c);
  if (c->p == c->end || *c->p != ch) return false;
  c->p++;
  return true;
}

static bool take_text(cursor *c, const char **s, size_t *n) {
  skip_space(c);
  if (c->p == c->end || (*c->p != '\'' && *c->p != '"')) return false;
  char quote = *c->p++;
  *s = c->p;
  while (c->p < c->end && *c->p != quote) c->p++;
  *n = (size_t)(c->p - *s);
  return c->p++ < c->end;
}

static bool take_word(cursor *c, const char *word) {
  size_t n = strlen(word);
  skip_space(c);
  if ((size_t)(c->end - c->p) < n || strncmp(c->p, word, n) != 0) return false;
  c->p += n;
  return true;
}

static bool take_number(cursor *c, int64_t *out) {
  skip_space(c);
  const char *first = c->p;
  for (*out = 0; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++) {
    if (!wk_mul_ok(*out, 10, out) || !wk_add_ok(*out, *c->p - '0', out)) return false;
  }
  return c->p > first;
}

static bool take_shape(cursor *c, wk_type *t) {
  if (!take(c, '(')) return false;
  while (!take(c, ')')) {
    if (t->rank == WK_MAX_RANK || !take_number(c, &t->dims[t->rank])) return false;
    t->rank++;
    if (!take(c, ',')) return take(c, ')');
  }
  return true;
}

static bool parse_descr(const char *s, size_t n, wk_dtype *out, bool *is_big_endian) {
  if (n != 3 || !s[0] || !strchr("<>|=", s[0])) return false;
  *is_big_endian = s[0] == '>';
  for (size_t i = 0; i < WK_COUNTOF(types); i++) {
    if (strncmp(types[i].descr, s + 1, 2) == 0) {
      *out = types[i].t;
      return true;
    }
  }
  return false;
}

static bool is_key(const char *s, size_t n, const char *key) {
  return n == strlen(key) && strncmp(s, key, n) == 0;
}

typedef struct { wk_type type; bool is_fortran, is_big_endian; } header;

static wk_status parse_header(cursor c, header *h) {
  wk_type *t = &h->type;
  *h = (header){0};
  bool has_shape = false;
  const char *s;
  size_t n;
  if (!take(&c, '{')) return wk_error(WK_INPUT, "has a malformed .npy header");
  while (!take(&c, '}')) {
    if (!take_text(&c, &s, &n) || !take(&c, ':'))
      return wk_error(WK_INPUT, "has a malformed .npy header");
    bool ok = false;
    if (is_key(s, n, "descr")) {
      if (!take_text(&c, &s, &n))
        return wk_error(WK_UNSUPPORTED, "holds records, which are not supported");
      if (!parse_descr(s, n, &t->dtype, &h->is_big_endian)) {
        return wk_error(WK_UNSUPPORTED, "has elements of type '%.*s', which is not supported: "
                        "numbers and booleans are",
                        n < 20 ? (int)n : 20, s);
      }
      ok = true;
    } else if (is_key(s, n, "fortran_order")) {
      h->is_fortran = take_word(&c, "True");
      ok = h->is_fortran || take_word(&c, "False");
    } else if (is_key(s, n, "shape")) {
      ok = has_shape = take_shape(&c, t);
    }
    if (!ok) return wk_error(WK_INPUT, "has a malformed .npy header");
    take(&c, ',');
  }
  if (!has_shape || t->dtype == WK_DTYPE_NONE)
    return wk_error(WK_INPUT, "has a malformed .npy header");
  return wk_type_check(t);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Column-major elements into row-major order. */
static void from_fortran(const uint8_t *src, wk_tensor *out) {
  int64_t n = wk_type_count(&out->type), size = wk_dtype_size(out->type.dtype);
  int64_t strides[WK_MAX_RANK], pos[WK_MAX_RANK] = {0};
  wk_type_strides(&out->type, strides);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = 0;
    for (int k = 0; k < out->type.rank; k++) at += pos[k] * strides[k];
    memcpy((uint8_t *)out->data + at * size, src + i * size, (size_t)size);
    for (int k = 0; k < out->type.rank && ++pos[k] == out->type.dims[k]; k++) pos[k] = 0;
  }
}

static void swap_bytes(wk_tensor *t) {
  size_t size = (size_t)wk_dtype_size(t->type.dtype), bytes = (size_t)wk_type_bytes(&t->type);
  for (uint8_t *p = t->data, *end = p + bytes; p < end; p += size)
    for (size_t i = 0; i < size / 2; i++) {
      uint8_t low = p[i];
      p[i] = p[size - 1 - i];
      p[size - 1 - i] = low;
    }
}

/* The header, and where the elements are, all of them. */
static wk_status find_data(const wk_file *f, header *h, const uint8_t **data) {
  if (f->size < 10 || memcmp(f->data, MAGIC, MAGIC_SIZE) != 0) {
    const char *kind = wk_file_kind(f->data, f->size);
    return kind ? wk_error(WK_INPUT, "is not a .npy file, but %s", kind)
                : wk_error(WK_INPUT, "is not a .npy file");
  }
  int major = f->data[MAGIC_SIZE];
  size_t at = major == 1 ? 10 : 12, length = f->data[8] | (size_t)f->data[9] << 8;
  if (major < 1 || major > 3)
    return wk_error(WK_UNSUPPORTED, "is .npy version %d; versions 1 to 3 are supported", major);
  if (f->size < at) return wk_error(WK_INPUT, "is cut off");
  if (major > 1) length |= (size_t)f->data[10] << 16 | (size_t)f->data[11] << 24;
  if (length > f->size - at) return wk_error(WK_INPUT, "is cut off");
  const cursor c = {(const char *)f->data + at, (const char *)f->data + at + length};
  WK_TRY(parse_header(c, h));
  size_t bytes = (size_t)wk_type_bytes(&h->type);
  *data = f->data + at + length;
  if (f->size - at - length == bytes) return NULL;
  return wk_error(WK_INPUT, "has %zu bytes of data, its shape needs %zu", f->size - at - length,
                  bytes);
}

static wk_status read_file(const wk_file *f, wk_tensor *out) {
  header h;
  const uint8_t *data;
  WK_TRY(find_data(f, &h, &data));
  const wk_type t = h.type;
  size_t bytes = (size_t)wk_type_bytes(&t);
  WK_TRY(wk_tensor_alloc(&t, out));
  if (h.is_fortran && t.rank > 1) from_fortran(data, out);
  else if (bytes > 0) memcpy(out->data, data, bytes);
  if (h.is_big_endian) swap_bytes(out);
  for (size_t i = 0; t.dtype == WK_BOOL && i < bytes; i++) {
    ((uint8_t *)out->data)[i] = ((uint8_t *)out->data)[i] != 0;
  }
  return NULL;
}

wk_status wk_tensor_read_npy(const char *path, wk_tensor *out) {
  wk_file f;
  *out = (wk_tensor){0};
  WK_TRY(wk_file_map(path, &f));
  wk_status s = read_file(&f, out);
  wk_file_unmap(&f);
  return wk_status_place(s, path);
}

wk_status wk_tensor_map_npy(const char *path, wk_file *file, wk_tensor *out) {
  header h;
  const uint8_t *data;
  *out = (wk_tensor){0};
  WK_TRY(wk_file_map(path, file));
  wk_status s = find_data(file, &h, &data);
  bool as_is = !s && !(h.is_fortran && h.type.rank > 1) && !h.is_big_endian &&
               h.type.dtype != WK_BOOL &&
               (uintptr_t)data % (uintptr_t)wk_dtype_size(h.type.dtype) == 0;
  if (as_is) {
    *out = (wk_tensor){h.type, (void *)(uintptr_t)data};
    return NULL;
  }
  if (!s) s = read_file(file, out);
  wk_file_unmap(file);
  *file = (wk_file){0};
  return wk_status_place(s, path);
}

/* ---- writing ------------------------------------------------------------------------------- */

wk_status wk_tensor_write_npy(const char *path, const wk_tensor *t) {
  bool is_pattern = wk_dtype_is_narrow(t->type.dtype) && wk_dtype_is_float(t->type.dtype);
  const char *descr = is_pattern ? "V1" : NULL;
  for (size_t i = 0; i < WK_COUNTOF(types) && !descr; i++)
    if (types[i].t == wk_dtype_storage(t->type.dtype)) descr = types[i].descr;
  wk_str h = {0};
  const char *order = wk_dtype_size(t->type.dtype) == 1 ? "|" : "<";
  wk_str_printf(&h, "{'descr': '%s%s', 'fortran_order': False, 'shape': (", order, descr);
  for (int i = 0; i < t->type.rank; i++) {
    wk_str_printf(&h, i + 1 < t->type.rank ? "%lld, " : "%lld", (long long)t->type.dims[i]);
  }
  wk_str_add(&h, t->type.rank == 1 ? ",), }" : "), }");
  while ((10 + h.n + 1) % DATA_ALIGN != 0) wk_str_add(&h, " ");
  wk_str_add(&h, "\n");
  const uint8_t start[10] = {0x93, 'N', 'U', 'M',          'P',
                             'Y',  1,   0,   (uint8_t)h.n, (uint8_t)(h.n >> 8)};
  wk_out *o = NULL;
  wk_status s = wk_out_open(path, &o);
  if (!s) {
    wk_out_write(o, start, sizeof start);
    wk_out_write(o, h.s, h.n);
    wk_out_write(o, t->data, (size_t)wk_type_bytes(&t->type));
    s = wk_out_commit(o);
  }
  wk_str_free(&h);
  return s;
}
