/* SPDX-License-Identifier: Apache-2.0
 * Files that hold one TensorProto, or a SequenceProto or OptionalProto of them. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/importer.h"
#include "values.pb-c.h"

/* bytes outlive nothing: data is copied. */
static wk_status read_tensor(const uint8_t *bytes, size_t size, wk_arena *arena, wk_tensor *out,
                             char **name) {
  ProtobufCMessage *message;
  bool borrowed;
  WK_TRY(wk_wire_unpack(&onnx__tensor_proto__descriptor, bytes, size, arena, &message));
  const Onnx__TensorProto *t = (const Onnx__TensorProto *)message;
  WK_TRY(wk_onnx_tensor_read(t, out, &borrowed));
  if (borrowed) {
    const wk_tensor in_file = *out;
    WK_TRY(wk_tensor_alloc(&in_file.type, out));
    size_t n = (size_t)wk_type_bytes(&in_file.type);
    if (n > 0) memcpy(out->data, in_file.data, n);
  }
  if (name) *name = wk_xstrdup(t->name ? t->name : "");
  return NULL;
}

wk_status wk_tensor_read_pb(const char *path, wk_tensor *out, char **name) {
  wk_file f;
  *out = (wk_tensor){0};
  if (name) *name = NULL;
  WK_TRY(wk_file_map(path, &f));
  wk_arena *arena = wk_arena_new();
  wk_status s = f.size == 0 ? wk_error(WK_INPUT, "is empty")
                            : read_tensor(f.data, f.size, arena, out, name);
  wk_arena_free(arena);
  wk_file_unmap(&f);
  return wk_status_place(s, path);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* The list grows by one, which is there also after an error. */
static wk_status add_item(const ProtobufCBinaryData *b, wk_arena *arena, wk_tensor_list *out) {
  wk_tensor *t = &out->items[out->n++];
  *t = (wk_tensor){0};
  wk_status s = read_tensor(b->data, b->len, arena, t, NULL);
  if (s) *t = (wk_tensor){0};
  return s;
}

static wk_status read_sequence(const uint8_t *bytes, size_t size, wk_arena *arena,
                               wk_tensor_list *out) {
  ProtobufCMessage *message;
  if (size == 0) return NULL;
  WK_TRY(wk_wire_unpack(&wick__sequence_value__descriptor, bytes, size, arena, &message));
  const Wick__SequenceValue *v = (const Wick__SequenceValue *)message;
  if (v->has_elem_type && v->elem_type > WICK__VALUE_KIND__TENSOR)
    return wk_error(WK_UNSUPPORTED, "is a sequence whose elements are no tensors");
  out->items = wk_xcalloc(v->n_tensors, sizeof *out->items);
  for (size_t i = 0; i < v->n_tensors; i++) WK_TRY(add_item(&v->tensors[i], arena, out));
  return NULL;
}

static wk_status read_optional(const uint8_t *bytes, size_t size, wk_arena *arena,
                               wk_tensor_list *out) {
  ProtobufCMessage *message;
  out->n = WK_NO_ELEMENT;
  if (size == 0) return NULL;
  WK_TRY(wk_wire_unpack(&wick__optional_value__descriptor, bytes, size, arena, &message));
  const Wick__OptionalValue *v = (const Wick__OptionalValue *)message;
  int32_t kind = v->has_elem_type ? v->elem_type : WICK__VALUE_KIND__NONE;
  if (kind == WICK__VALUE_KIND__NONE) return NULL;
  out->n = 0;
  if (kind == WICK__VALUE_KIND__SEQUENCE && v->has_sequence)
    return read_sequence(v->sequence.data, v->sequence.len, arena, out);
  if (kind == WICK__VALUE_KIND__TENSOR && v->has_tensor) {
    out->items = wk_xcalloc(1, sizeof *out->items);
    return add_item(&v->tensor, arena, out);
  }
  return wk_error(WK_UNSUPPORTED, "is an optional of neither a tensor nor a sequence");
}

wk_status wk_tensor_list_read_pb(const char *path, const wk_onnx_io *io, wk_tensor_list *out) {
  wk_file f;
  *out = (wk_tensor_list){0};
  WK_TRY(wk_file_map(path, &f));
  wk_arena *arena = wk_arena_new();
  wk_status s = io->is_optional ? read_optional(f.data, f.size, arena, out)
                                : read_sequence(f.data, f.size, arena, out);
  if (s) wk_tensor_list_free(out);
  wk_arena_free(arena);
  wk_file_unmap(&f);
  return wk_status_place(s, path);
}

void wk_tensor_list_free(wk_tensor_list *l) {
  for (int64_t i = 0; i < l->n; i++) wk_tensor_free(&l->items[i]);
  free(l->items);
  *l = (wk_tensor_list){0};
}
