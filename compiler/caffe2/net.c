/* SPDX-License-Identifier: Apache-2.0
 * NetDef files: recognised by what is in them, and read. */
#include "compiler/caffe2/net.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/importer.h"
#include "compiler/onnx/wire/text.h"

static const ProtobufCMessageDescriptor *const net_type = &caffe2__net_def__descriptor;

/* ---- kind ---------------------------------------------------------------------------------- */

/* Where the contents of the outermost field `number` lie; false when there is none. */
static bool find_field(const uint8_t *p, const uint8_t *end, uint32_t number,
                       const uint8_t **data, size_t *n) {
  while (p < end) {
    uint64_t value[2] = {0};
    for (int i = 0; i < 2; i++) { /* the tag, then a length */
      int shift = 0;
      do {
        if (p == end || shift > 63) return false;
        value[i] |= (uint64_t)(*p & 0x7f) << shift;
        shift += 7;
      } while (*p++ & 0x80);
      if (i == 0 && (value[0] & 7) != 2) return false;
    }
    if (value[1] > (uint64_t)(end - p)) return false;
    *data = p;
    *n = (size_t)value[1];
    if (value[0] >> 3 == number) return true;
    p += value[1];
  }
  return false;
}

/* All outermost fields of both kinds of message can be byte strings. Then a model without a version
 * has a graph where a net has the name of a blob. */
static bool is_binary_net(const uint8_t *p, size_t n) {
  enum { GRAPH = 7 };
  const uint8_t *graph;
  size_t size;
  if (!n || !wk_wire_is_plausible(net_type, p, n)) return false;
  if (!wk_wire_is_plausible(&onnx__model_proto__descriptor, p, n)) return true;
  return !find_field(p, p + n, GRAPH, &graph, &size) ||
         !wk_wire_is_plausible(&onnx__graph_proto__descriptor, graph, size);
}

/* NULL: it is no protobuf text. */
static wk_status text_type(const char *path, const wk_file *f,
                           const ProtobufCMessageDescriptor **out) {
  static const ProtobufCMessageDescriptor *const models[] = {&onnx__model_proto__descriptor,
                                                             &caffe2__net_def__descriptor};
  *out = NULL;
  if (!wk_onnx_is_text(f->data, f->size)) return NULL;
  return wk_text_message(path, (const char *)f->data, f->size, models, WK_COUNTOF(models), out);
}

static wk_status is_net(const char *path, const wk_file *f, bool *out) {
  const ProtobufCMessageDescriptor *type;
  *out = is_binary_net(f->data, f->size);
  if (*out) return NULL;
  WK_TRY(text_type(path, f, &type));
  *out = type == net_type;
  return NULL;
}

wk_status wk_net_is_net(const char *path, bool *out) {
  wk_file f;
  WK_TRY(wk_file_map(path, &f));
  wk_status s = is_net(path, &f, out);
  wk_file_unmap(&f);
  return s;
}

/* ---- reading ------------------------------------------------------------------------------- */

static wk_status read_wire(const uint8_t *data, size_t n, wk_net *out) {
  ProtobufCMessage *message;
  WK_TRY(wk_wire_unpack(net_type, data, n, out->arena, &message));
  out->def = (const Caffe2__NetDef *)message;
  out->size = n;
  return NULL;
}

static wk_status read_text(const char *path, const wk_file *f, wk_net *out) {
  uint8_t *bytes;
  size_t n;
  WK_TRY(wk_text_to_wire(path, (const char *)f->data, f->size, net_type, &bytes, &n));
  wk_status s = read_wire(bytes, n, out);
  free(bytes);
  return s;
}

static wk_status read_net(const char *path, const wk_file *f, wk_net *out) {
  if (!f->size) return wk_error(WK_INPUT, "is empty");
  if (is_binary_net(f->data, f->size)) return read_wire(f->data, f->size, out);
  const char *kind = wk_file_kind(f->data, f->size);
  const ProtobufCMessageDescriptor *type;
  WK_TRY(text_type(path, f, &type));
  if (type == net_type) return read_text(path, f, out);
  if (type || wk_wire_is_plausible(&onnx__model_proto__descriptor, f->data, f->size))
    return wk_error(WK_INPUT, "is an ONNX model, not a Caffe2 net");
  if (kind) return wk_error(WK_INPUT, "is %s, not a Caffe2 net", kind);
  return wk_error(WK_INPUT, "is not a valid Caffe2 net: damaged, cut off, or another format");
}

wk_status wk_net_read(const char *path, wk_net *out) {
  wk_file f;
  *out = (wk_net){0};
  WK_TRY(wk_file_map(path, &f));
  out->arena = wk_arena_new();
  wk_status s = wk_status_place(read_net(path, &f, out), path);
  wk_file_unmap(&f);
  if (s) wk_net_free(out);
  return s;
}

void wk_net_free(wk_net *n) {
  wk_arena_free(n->arena);
  *n = (wk_net){0};
}

/* ---- value_info.json ------------------------------------------------------------------------ */

static wk_status read_shape(const json_t *pair, wk_value_info *v) {
  const json_t *type = json_array_get(pair, 0), *dims = json_array_get(pair, 1);
  if (json_array_size(pair) != 2 || !json_is_integer(type) || !json_is_array(dims))
    return wk_error(WK_INPUT, "'%s' must be [TYPE, [SIZE, ...]], such as [1, [1, 3, 224, 224]]",
                    v->name);
  json_int_t number = json_integer_value(type);
  bool is_known = number > 0 && number < INT32_MAX;
  v->elem_type = is_known ? (int32_t)number : 0;
  if (wk_onnx_elem_type(v->elem_type) == WK_DTYPE_NONE)
    return wk_error(WK_INPUT, "'%s' has the element type %lld, which is not supported; 1 is f32",
                    v->name, (long long)number);
  if (json_array_size(dims) > WK_MAX_RANK)
    return wk_error(WK_INPUT, "'%s' has more than %d dimensions", v->name, WK_MAX_RANK);
  v->rank = (int)json_array_size(dims);
  for (int i = 0; i < v->rank; i++) {
    const json_t *size = json_array_get(dims, (size_t)i);
    if (!json_is_integer(size) || json_integer_value(size) < 0)
      return wk_error(WK_INPUT, "'%s': sizes are integers of at least 0", v->name);
    v->dims[i] = json_integer_value(size);
  }
  return NULL;
}

static wk_status read_infos(const json_t *root, wk_arena *a, wk_value_infos *out) {
  void *i;
  if (!json_is_object(root)) return wk_error(WK_INPUT, "is not an object of inputs");
  for (i = json_object_iter((json_t *)(uintptr_t)root); i;
       i = json_object_iter_next((json_t *)(uintptr_t)root, i)) {
    wk_value_info v = {.name = wk_arena_strdup(a, json_object_iter_key(i))};
    WK_TRY(read_shape(json_object_iter_value(i), &v));
    wk_vec_push(out, v);
  }
  return NULL;
}

wk_status wk_value_info_read(const char *path, wk_arena *a, wk_value_infos *out) {
  wk_file f;
  json_error_t e;
  WK_TRY(wk_file_map(path, &f));
  json_t *root = json_loadb((const char *)f.data, f.size, JSON_REJECT_DUPLICATES, &e);
  wk_file_unmap(&f);
  if (!root) {
    wk_str place = {0};
    wk_str_printf(&place, "%s:%d:%d", path, e.line, e.column);
    wk_status bad = wk_error_at(WK_INPUT, place.s, "%s", e.text);
    wk_str_free(&place);
    return bad;
  }
  wk_status s = read_infos(root, a, out);
  json_decref(root);
  return wk_status_place(s, path);
}
