/* SPDX-License-Identifier: Apache-2.0
 * A file that holds one TensorProto. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/importer.h"

static wk_status read_tensor(const wk_file *f, wk_arena *arena, wk_tensor *out, char **name) {
  ProtobufCMessage *message;
  bool borrowed;
  WK_TRY(wk_wire_unpack(&onnx__tensor_proto__descriptor, f->data, f->size, arena, &message));
  const Onnx__TensorProto *t = (const Onnx__TensorProto *)message;
  WK_TRY(wk_onnx_tensor_read(t, out, &borrowed));
  if (borrowed) {
    const wk_tensor in_file = *out;
    WK_TRY(wk_tensor_alloc(&in_file.type, out));
    size_t bytes = (size_t)wk_type_bytes(&in_file.type);
    if (bytes > 0) memcpy(out->data, in_file.data, bytes);
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
  wk_status s = f.size == 0 ? wk_error(WK_INPUT, "is empty") : read_tensor(&f, arena, out, name);
  wk_arena_free(arena);
  wk_file_unmap(&f);
  return wk_status_place(s, path);
}
