/* SPDX-License-Identifier: Apache-2.0
 * Protobuf text, for any message that has a descriptor. It becomes bytes of the wire format, so
 * that everything behind it is what reads binary files, with the same budgets. They are those that
 * the libraries write: shortest lengths, packed fields packed. */
#include "compiler/onnx/wire/text.h"

#include <stdlib.h>
#include <string.h>

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5, LENGTH_BYTES = 5 };

typedef struct {
  wk_text t;
  WK_VEC(uint8_t) out;
  wk_str string; /* of the field being read */
  const ProtobufCFieldDescriptor *packed; /* the field whose values end `out`; NULL: none */
  size_t packed_at;                       /* its length */
} writer;

/* ---- bytes --------------------------------------------------------------------------------- */

static void put(writer *w, const void *p, size_t n) {
  wk_vec_reserve(&w->out, w->out.n + n);
  if (n > 0) memcpy(w->out.data + w->out.n, p, n);
  w->out.n += n;
}

static void put_varint(writer *w, uint64_t v) {
  uint8_t b[10];
  size_t n = 0;
  for (; v > 0x7f; v >>= 7) b[n++] = (uint8_t)(v | 0x80);
  b[n++] = (uint8_t)v;
  put(w, b, n);
}

static void put_tag(writer *w, uint32_t number, int wire) {
  put_varint(w, (uint64_t)number << 3 | (uint64_t)wire);
}

/* Room for a length that is known when what it counts has been written. */
static size_t begin_length(writer *w) {
  size_t at = w->out.n;
  put(w, (uint8_t[LENGTH_BYTES]){0}, LENGTH_BYTES);
  return at;
}

static wk_status end_length(writer *w, size_t at) {
  size_t n = w->out.n - at - LENGTH_BYTES, k = 0;
  uint8_t *p = w->out.data + at;
  if ((uint64_t)n >> (7 * LENGTH_BYTES)) return wk_text_error(&w->t, "the message is too large");
  for (size_t left = n; left || k == 0; left >>= 7)
    p[k++] = (uint8_t)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
  memmove(p + k, p + LENGTH_BYTES, n);
  w->out.n = at + k + n;
  return NULL;
}

/* Before the value of a scalar. Those of a packed field that follow each other share a tag. */
static void begin_value(writer *w, const ProtobufCFieldDescriptor *f, int wire) {
  bool is_packed = f->flags & PROTOBUF_C_FIELD_FLAG_PACKED;
  if (is_packed && w->packed == f) return;
  put_tag(w, f->id, is_packed ? BYTES : wire);
  if (!is_packed) return;
  w->packed = f;
  w->packed_at = begin_length(w);
}

/* Before another field, and at the end of a message. */
static wk_status end_packed(writer *w) {
  if (!w->packed) return NULL;
  w->packed = NULL;
  return end_length(w, w->packed_at);
}

/* ---- scalars ------------------------------------------------------------------------------- */

static wk_status read_bool(wk_text *t, uint64_t *out) {
  static const char *const words[] = {"false", "False", "f", "true", "True", "t"};
  for (size_t i = 0; i < WK_COUNTOF(words); i++)
    if (wk_text_is_word(t, words[i])) {
      *out = i >= 3;
      return wk_text_next(t);
    }
  bool negative;
  const wk_text_token at = t->tok;
  if (t->tok.kind != WK_TEXT_NUMBER) return wk_text_unexpected(t, "true or false");
  WK_TRY(wk_text_integer(t, &negative, out));
  return *out < 2 ? NULL : wk_text_error_at(t, &at, "true or false is expected");
}

static wk_status read_enum(wk_text *t, const ProtobufCEnumDescriptor *d, uint64_t *out) {
  int64_t v;
  if (t->tok.kind != WK_TEXT_WORD) {
    WK_TRY(wk_text_i64(t, &v));
    *out = (uint64_t)v;
    return NULL;
  }
  char name[64] = "";
  if (t->tok.n < sizeof name) memcpy(name, t->tok.p, t->tok.n);
  const ProtobufCEnumValue *e = protobuf_c_enum_descriptor_get_value_by_name(d, name);
  if (!e)
    return wk_text_error(t, "'%.*s' is no value of %s", (int)t->tok.n, t->tok.p, d->short_name);
  *out = (uint64_t)(int64_t)e->value;
  return wk_text_next(t);
}

/* Integers of 32 and 64 bits, with and without sign. */
static wk_status read_integer(wk_text *t, bool is_signed, int bits, uint64_t *out) {
  const wk_text_token at = t->tok;
  bool negative;
  uint64_t max = is_signed ? UINT64_MAX >> (65 - bits) : UINT64_MAX >> (64 - bits);
  WK_TRY(wk_text_integer(t, &negative, out));
  if (*out > max + (negative && is_signed) || (negative && !is_signed && *out))
    return wk_text_error_at(t, &at, "the integer does not fit %d bits%s", bits,
                            is_signed ? "" : " without sign");
  if (negative) *out = 0 - *out;
  return NULL;
}

/* Neither ONNX nor Caffe2 has integers of fixed width or in zigzag order. */
typedef struct { ProtobufCType type; int bits; bool is_signed; } integer_kind;
static const integer_kind integers[] = {
    {PROTOBUF_C_TYPE_INT32, 32, true},   {PROTOBUF_C_TYPE_INT64, 64, true},
    {PROTOBUF_C_TYPE_UINT32, 32, false}, {PROTOBUF_C_TYPE_UINT64, 64, false}};

static wk_status write_integer(writer *w, const ProtobufCFieldDescriptor *f) {
  const integer_kind *k = integers;
  uint64_t v;
  while (k->type != f->type) k++;
  WK_TRY(read_integer(&w->t, k->is_signed, k->bits, &v));
  begin_value(w, f, VARINT);
  put_varint(w, v);
  return NULL;
}

static wk_status write_varint(writer *w, const ProtobufCFieldDescriptor *f) {
  uint64_t v;
  WK_TRY(f->type == PROTOBUF_C_TYPE_BOOL ? read_bool(&w->t, &v)
                                         : read_enum(&w->t, f->descriptor, &v));
  begin_value(w, f, VARINT);
  put_varint(w, v);
  return NULL;
}

static wk_status write_real(writer *w, const ProtobufCFieldDescriptor *f) {
  float f32;
  double f64;
  bool is_f32 = f->type == PROTOBUF_C_TYPE_FLOAT;
  WK_TRY(is_f32 ? wk_text_f32(&w->t, &f32) : wk_text_f64(&w->t, &f64));
  begin_value(w, f, is_f32 ? FIXED32 : FIXED64);
  if (is_f32) put(w, &f32, sizeof f32);
  else put(w, &f64, sizeof f64);
  return NULL;
}

static wk_status write_string(writer *w, const ProtobufCFieldDescriptor *f) {
  w->string.n = 0;
  const wk_text_token at = w->t.tok;
  WK_TRY(wk_text_string(&w->t, &w->string));
  if (f->type == PROTOBUF_C_TYPE_STRING && w->string.n && memchr(w->string.s, 0, w->string.n))
    return wk_text_error_at(&w->t, &at, "this string holds a zero byte");
  put_tag(w, f->id, BYTES);
  put_varint(w, w->string.n);
  put(w, w->string.s, w->string.n);
  return NULL;
}

static wk_status write_scalar(writer *w, const ProtobufCFieldDescriptor *f) {
  switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES: return write_string(w, f);
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE: return write_real(w, f);
    case PROTOBUF_C_TYPE_BOOL:
    case PROTOBUF_C_TYPE_ENUM: return write_varint(w, f);
    default: return write_integer(w, f);
  }
}

/* ---- messages ------------------------------------------------------------------------------ */

/* Fields that are newer than the onnx.proto of which the descriptors were made. */
typedef struct {
  const ProtobufCMessageDescriptor *message;
  ProtobufCFieldDescriptor field;
} newer_field;
#define LIST(name_, id_, of)                                                    \
  {.name = name_, .id = id_, .label = PROTOBUF_C_LABEL_REPEATED,                \
   .type = PROTOBUF_C_TYPE_MESSAGE, .descriptor = &onnx__##of##__descriptor}
#define TEXT(name_, id_)                                                        \
  {.name = name_, .id = id_, .label = PROTOBUF_C_LABEL_OPTIONAL, .type = PROTOBUF_C_TYPE_STRING}
static const newer_field newer_fields[] = {
    {&onnx__function_proto__descriptor, LIST("attribute_proto", 11, attribute_proto)},
    {&onnx__function_proto__descriptor, LIST("value_info", 12, value_info_proto)},
    {&onnx__function_proto__descriptor, TEXT("overload", 13)},
    {&onnx__function_proto__descriptor,
     LIST("metadata_props", 14, string_string_entry_proto)},
    {&onnx__node_proto__descriptor, TEXT("overload", 8)},
    {&onnx__node_proto__descriptor, LIST("metadata_props", 9, string_string_entry_proto)},
    {&onnx__graph_proto__descriptor, LIST("metadata_props", 16, string_string_entry_proto)},
    {&onnx__tensor_proto__descriptor, LIST("metadata_props", 16, string_string_entry_proto)},
    {&onnx__value_info_proto__descriptor, LIST("metadata_props", 4, string_string_entry_proto)}};

static const ProtobufCFieldDescriptor *field_of(const ProtobufCMessageDescriptor *d,
                                                const char *name) {
  const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field_by_name(d, name);
  for (size_t i = 0; i < WK_COUNTOF(newer_fields) && !f; i++)
    if (newer_fields[i].message == d && strcmp(newer_fields[i].field.name, name) == 0)
      f = &newer_fields[i].field;
  return f;
}

/* NULL: none is near. */
static const char *nearest_field(const ProtobufCMessageDescriptor *d, const char *name) {
  const char **names = wk_xmalloc(d->n_fields * sizeof *names);
  for (unsigned i = 0; i < d->n_fields; i++) names[i] = d->fields[i].name;
  const char *near = *name ? wk_nearest(name, names, d->n_fields) : NULL;
  free(names);
  return near;
}

static wk_status find_field(const wk_text *t, const ProtobufCMessageDescriptor *d,
                            const ProtobufCFieldDescriptor **out) {
  char name[64] = "";
  if (t->tok.kind != WK_TEXT_WORD) return wk_text_unexpected(t, "the name of a field");
  if (t->tok.n < sizeof name) memcpy(name, t->tok.p, t->tok.n);
  *out = field_of(d, name);
  if (*out) return NULL;
  const char *near = nearest_field(d, name);
  return near ? wk_text_error(t, "%s has no field '%.*s'; did you mean '%s'?", d->short_name,
                              (int)t->tok.n, t->tok.p, near)
              : wk_text_error(t, "%s has no field '%.*s'", d->short_name,
                              t->tok.n < 40 ? (int)t->tok.n : 40, t->tok.p);
}

static wk_status write_fields(writer *w, const ProtobufCMessageDescriptor *d, char close,
                              int depth);

static wk_status write_message(writer *w, const ProtobufCFieldDescriptor *f, int depth) {
  const wk_text_token at = w->t.tok;
  bool is_brace = wk_text_is(&w->t, '{');
  if (!is_brace && !wk_text_is(&w->t, '<')) return wk_text_unexpected(&w->t, "'{'");
  if (depth == WK_WIRE_MAX_DEPTH)
    return wk_status_place(wk_error(WK_RESOURCE, "is nested more than %d messages deep",
                                    WK_WIRE_MAX_DEPTH), w->t.file);
  put_tag(w, f->id, BYTES);
  size_t place = begin_length(w);
  WK_TRY(wk_text_next(&w->t));
  WK_TRY(write_fields(w, f->descriptor, is_brace ? '}' : '>', depth + 1));
  if (w->t.tok.kind == WK_TEXT_END)
    return wk_text_error(&w->t, "the text ends within '%s', which began in line %lld", f->name,
                         (long long)at.line);
  WK_TRY(wk_text_next(&w->t));
  return end_length(w, place);
}

static wk_status write_value(writer *w, const ProtobufCFieldDescriptor *f, int depth) {
  if (f->type == PROTOBUF_C_TYPE_MESSAGE) return write_message(w, f, depth);
  return write_scalar(w, f);
}

static wk_status write_list(writer *w, const ProtobufCFieldDescriptor *f, int depth) {
  bool more;
  WK_TRY(wk_text_expect(&w->t, '['));
  WK_TRY(wk_text_accept(&w->t, ']', &more));
  if (more) return NULL;
  do {
    WK_TRY(write_value(w, f, depth));
    WK_TRY(wk_text_accept(&w->t, ',', &more));
  } while (more);
  return wk_text_expect(&w->t, ']');
}

static wk_status write_field(writer *w, const ProtobufCMessageDescriptor *d, uint64_t *seen,
                             int depth) {
  const ProtobufCFieldDescriptor *f;
  bool found;
  const wk_text_token at = w->t.tok;
  WK_TRY(find_field(&w->t, d, &f));
  if (f != w->packed) WK_TRY(end_packed(w));
  bool is_repeated = f->label == PROTOBUF_C_LABEL_REPEATED;
  if (!is_repeated && f->id < 64) {
    if (*seen >> f->id & 1)
      return wk_text_error_at(&w->t, &at, "'%s' is given twice", f->name);
    *seen |= (uint64_t)1 << f->id;
  }
  WK_TRY(wk_text_next(&w->t));
  WK_TRY(wk_text_accept(&w->t, ':', &found));
  if (!found && f->type != PROTOBUF_C_TYPE_MESSAGE) return wk_text_unexpected(&w->t, "':'");
  bool is_list = is_repeated && wk_text_is(&w->t, '[');
  WK_TRY(is_list ? write_list(w, f, depth) : write_value(w, f, depth));
  if (wk_text_is(&w->t, ',') || wk_text_is(&w->t, ';')) return wk_text_next(&w->t);
  return NULL;
}

static wk_status write_fields(writer *w, const ProtobufCMessageDescriptor *d, char close,
                              int depth) {
  uint64_t seen = 0;
  while (w->t.tok.kind != WK_TEXT_END && !(close && wk_text_is(&w->t, close)))
    WK_TRY(write_field(w, d, &seen, depth));
  return end_packed(w);
}

wk_status wk_text_to_wire(const char *file, const char *text, size_t n,
                          const ProtobufCMessageDescriptor *d, uint8_t **out, size_t *out_n) {
  writer w = {0};
  wk_status s = wk_text_start(&w.t, file, text, n);
  if (!s) s = write_fields(&w, d, 0, 1);
  wk_str_free(&w.string);
  if (s) wk_vec_free(&w.out);
  *out = w.out.data;
  *out_n = w.out.n;
  return s;
}

static wk_status unknown_message(const wk_text *t, const wk_text_token *at,
                                 const ProtobufCMessageDescriptor *const *d, size_t n_d,
                                 const char *name) {
  wk_str kinds = {0};
  wk_status s;
  const char *near = NULL;
  for (size_t i = 0; i < n_d; i++) {
    wk_str_printf(&kinds, "%s%s", i ? " or " : "", d[i]->short_name);
    near = near ? near : nearest_field(d[i], name);
  }
  if (near) s = wk_text_error_at(t, at, "'%s' is no field of %s; did you mean '%s'?", name,
                                 kinds.s, near);
  else s = wk_text_error_at(t, at, "'%s' is no field of %s", name, kinds.s);
  wk_str_free(&kinds);
  return s;
}

wk_status wk_text_message(const char *file, const char *text, size_t n,
                          const ProtobufCMessageDescriptor *const *d, size_t n_d,
                          const ProtobufCMessageDescriptor **out) {
  wk_text t;
  char name[64] = "";
  *out = NULL;
  wk_status s = wk_text_start(&t, file, text, n);
  const wk_text_token at = t.tok;
  if (!s && at.kind == WK_TEXT_WORD && at.n < sizeof name) {
    memcpy(name, at.p, at.n);
    s = wk_text_next(&t);
  }
  bool is_field = !s && *name && (wk_text_is(&t, ':') || wk_text_is(&t, '{') ||
                                  wk_text_is(&t, '<'));
  wk_status_free(s);
  for (size_t i = 0; is_field && i < n_d && !*out; i++)
    if (field_of(d[i], name)) *out = d[i];
  return !is_field || *out ? NULL : unknown_message(&t, &at, d, n_d, name);
}
