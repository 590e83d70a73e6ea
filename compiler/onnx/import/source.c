/* SPDX-License-Identifier: Apache-2.0
 * Reading model files, whatever form of ONNX they have. */
#include "compiler/onnx/import/source.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/model.h"
#include "compiler/onnx/wire/text.h"

void wk_onnx_model_start(wk_onnx_model *m, const char *path) {
  const char *slash = strrchr(path, '/');
  wk_arena *a = wk_arena_new();
  *m = (wk_onnx_model){.arena = a,
                       .name = wk_arena_strdup(a, slash ? slash + 1 : path),
                       .path = wk_arena_strdup(a, path),
                       .dir = slash ? wk_arena_strndup(a, path, (size_t)(slash - path) + 1) : "."};
  char *real = realpath(path, NULL), *end = real ? strrchr(real, '/') : NULL;
  if (end) m->home = wk_arena_strndup(a, real, (size_t)(end - real) + (end == real));
  free(real);
}

void wk_onnx_model_close(wk_onnx_model *m) {
  if (m->file.map) wk_file_unmap(&m->file);
  free(m->bytes);
  wk_arena_free(m->arena);
  wk_arena_free(m->nets[0]);
  wk_arena_free(m->nets[1]);
  *m = (wk_onnx_model){0};
}

static bool has_control(const uint8_t *p, size_t n) {
  bool found = false;
  for (size_t i = 0; i < n && i < 512; i++)
    found = found || (p[i] < 0x20 && !memchr("\n\r\t", p[i], 3));
  return found;
}

/* A word, then what stands between a field's name and its value. Much of protobuf text can be
 * escapes and digits, which do not look like text. */
static bool begins_with_field(const char *text, size_t n) {
  wk_text t;
  wk_status s = wk_text_start(&t, "", text, n);
  bool found = !s && t.tok.kind == WK_TEXT_WORD;
  if (found) s = wk_text_next(&t);
  found = found && !s && (wk_text_is(&t, ':') || wk_text_is(&t, '{') || wk_text_is(&t, '<'));
  wk_status_free(s);
  return found;
}

bool wk_onnx_is_text(const uint8_t *data, size_t n) {
  const char *kind = wk_file_kind(data, n);
  if (kind) return strcmp(kind, "text") == 0;
  return !has_control(data, n) && begins_with_field((const char *)data, n);
}

static wk_status read_wire(wk_onnx_model *m, const uint8_t *data, size_t n) {
  m->size = n;
  return wk_model_parse(data, n, m->arena, &m->model);
}

static wk_status read_protobuf_text(wk_onnx_model *m, const char *text, size_t n) {
  uint8_t *bytes;
  size_t size;
  WK_TRY(wk_text_to_wire(m->path, text, n, &onnx__model_proto__descriptor, &bytes, &size));
  m->bytes = bytes;
  return read_wire(m, bytes, size);
}

/* What onnx.printer writes begins with properties of the model: <ir_version: 10, …>. */
static bool is_onnx_syntax(const char *text, size_t n) {
  wk_text t;
  wk_status s = wk_text_start(&t, "", text, n);
  bool found = !s && wk_text_is(&t, '<');
  if (found) s = wk_text_next(&t);
  found = found && !s && (wk_text_is_word(&t, "ir_version") || wk_text_is_word(&t, "opset_import"));
  wk_status_free(s);
  return found;
}

/* Text that is neither form is what it was before: no model. */
static wk_status read_text(wk_onnx_model *m, const char *text, size_t n) {
  static const ProtobufCMessageDescriptor *const model = &onnx__model_proto__descriptor;
  const ProtobufCMessageDescriptor *found;
  WK_TRY(wk_text_message(m->path, text, n, &model, 1, &found));
  if (found) return read_protobuf_text(m, text, n);
  if (is_onnx_syntax(text, n))
    return wk_error(WK_INPUT, "is in ONNX's own text syntax, which is not read: write the model as "
                    "protobuf or as protobuf text");
  return read_wire(m, (const uint8_t *)text, n);
}

static wk_status read_file(wk_onnx_model *m) {
  WK_TRY(wk_file_map(m->path, &m->file));
  const uint8_t *data = m->file.data;
  if (!wk_onnx_is_text(data, m->file.size)) return read_wire(m, data, m->file.size);
  wk_status s = read_text(m, (const char *)data, m->file.size);
  wk_file_unmap(&m->file);
  m->file = (wk_file){0};
  return s;
}

wk_status wk_onnx_model_open(const char *path, wk_onnx_model *out) {
  wk_onnx_model_start(out, path);
  wk_status s = wk_status_place(read_file(out), path);
  if (s) wk_onnx_model_close(out);
  return s;
}
