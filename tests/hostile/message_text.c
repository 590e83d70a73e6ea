/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "tests/hostile/fields.h"

static void quote(wk_str *b, const uint8_t *s, size_t n) {
  wk_str_add(b, "\"");
  for (size_t i = 0; i < n; i++) {
    bool is_plain = s[i] >= ' ' && s[i] != '"' && s[i] != '\\' && s[i] != 0x7f;
    if (is_plain) wk_str_printf(b, "%c", s[i]);
    else wk_str_printf(b, "\\%03o", s[i]);
  }
  wk_str_add(b, "\"");
}

static void real(wk_str *b, double v, int digits) {
  if (isnan(v)) wk_str_add(b, "nan");
  else if (isinf(v)) wk_str_add(b, v < 0 ? "-inf" : "inf");
  else wk_str_printf(b, "%.*g", digits, v);
}

static void scalar(wk_str *b, const ProtobufCFieldDescriptor *f, const void *p) {
  const ProtobufCBinaryData *bytes = p;
  const ProtobufCEnumValue *e = NULL;
  int32_t i32;
  uint64_t u64;
  switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
      quote(b, *(uint8_t *const *)p, strlen(*(const char *const *)p));
      return;
    case PROTOBUF_C_TYPE_BYTES: quote(b, bytes->data, bytes->len); return;
    case PROTOBUF_C_TYPE_FLOAT: real(b, (double)*(const float *)p, 9); return;
    case PROTOBUF_C_TYPE_DOUBLE: real(b, *(const double *)p, 17); return;
    case PROTOBUF_C_TYPE_BOOL:
      wk_str_add(b, *(const protobuf_c_boolean *)p ? "true" : "false");
      return;
    default: break;
  }
  memcpy(&i32, p, sizeof i32);
  if (f->type == PROTOBUF_C_TYPE_ENUM)
    e = protobuf_c_enum_descriptor_get_value(f->descriptor, i32);
  if (e) wk_str_add(b, e->name);
  else if (element_size(f->type) == 4)
    wk_str_printf(b, f->type == PROTOBUF_C_TYPE_UINT32 ? "%u" : "%d", i32);
  else {
    memcpy(&u64, p, sizeof u64);
    wk_str_printf(b, f->type == PROTOBUF_C_TYPE_UINT64 ? "%llu" : "%lld", (unsigned long long)u64);
  }
}

void message_text(wk_str *out, ProtobufCMessage *m) {
  for (unsigned k = 0; k < m->descriptor->n_fields; k++) {
    const field x = {m, &m->descriptor->fields[k]};
    if (!is_set(&x)) continue;
    size_t n = is_repeated(&x) ? *count_of(&x) : 1, size = element_size(x.f->type);
    const char *data = is_repeated(&x) ? *(char **)member_of(&x) : member_of(&x);
    for (size_t i = 0; i < n; i++) {
      wk_str_add(out, x.f->name);
      if (x.f->type == PROTOBUF_C_TYPE_MESSAGE) {
        wk_str_add(out, " {\n");
        message_text(out, *(ProtobufCMessage *const *)(const void *)(data + i * size));
        wk_str_add(out, "}\n");
        continue;
      }
      wk_str_add(out, ": ");
      scalar(out, x.f, data + i * size);
      wk_str_add(out, "\n");
    }
  }
}
