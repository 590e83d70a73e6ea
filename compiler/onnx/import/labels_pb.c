/* SPDX-License-Identifier: Apache-2.0
 * Files of strings or of lists of maps, as the tensors that stand for them. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/importer.h"
#include "values.pb-c.h"

static int64_t number_of(const wk_labels *l, const char *text, size_t n) {
  for (int64_t i = 0; i < l->texts.n; i++)
    if (strlen(l->texts.v[i]) == n && (n == 0 || memcmp(l->texts.v[i], text, n) == 0)) return i;
  return -1;
}

static wk_status read_strings(const Onnx__TensorProto *t, const wk_labels *l, wk_tensor *out) {
  if (t->n_dims > WK_MAX_RANK)
    return wk_error(WK_UNSUPPORTED, "rank %zu exceeds %d", t->n_dims, WK_MAX_RANK);
  const wk_type type = wk_type_make(WK_I64, (int)t->n_dims, t->dims);
  WK_TRY(wk_type_check(&type));
  if (wk_type_count(&type) != (int64_t)t->n_string_data)
    return wk_error(WK_INPUT, "%zu strings for %lld elements", t->n_string_data,
                    (long long)wk_type_count(&type));
  WK_TRY(wk_tensor_alloc(&type, out));
  for (size_t i = 0; i < t->n_string_data; i++) {
    const ProtobufCBinaryData *s = &t->string_data[i];
    wk_store_i64(out->data, WK_I64, (int64_t)i, number_of(l, (const char *)s->data, s->len));
  }
  return NULL;
}

/* The column of entry k; -1: none. */
static int64_t column_of(const Wick__MapValue *m, size_t k, const wk_labels *l) {
  if (!l->are_numbers)
    return k < m->n_string_keys
               ? number_of(l, (const char *)m->string_keys[k].data, m->string_keys[k].len) : -1;
  for (int64_t i = 0; k < m->n_keys && i < l->texts.n; i++)
    if (strtoll(l->texts.v[i], NULL, 10) == m->keys[k]) return i;
  return -1;
}

static wk_status read_number(const ProtobufCBinaryData *b, wk_arena *a, double *out) {
  ProtobufCMessage *message;
  wk_tensor v;
  bool borrowed;
  WK_TRY(wk_wire_unpack(&onnx__tensor_proto__descriptor, b->data, b->len, a, &message));
  WK_TRY(wk_onnx_tensor_read((const Onnx__TensorProto *)message, &v, &borrowed));
  bool is_one = wk_type_count(&v.type) == 1;
  if (is_one) *out = wk_load_f64(v.data, v.type.dtype, 0);
  if (!borrowed) wk_tensor_free(&v);
  return is_one ? NULL : wk_error(WK_INPUT, "a map has values that are not numbers");
}

static wk_status read_map(const Wick__MapValue *m, const wk_labels *l, int64_t row,
                          wk_arena *a, wk_tensor *out) {
  size_t n = m->values ? m->values->n_tensors : 0;
  bool *seen = wk_xcalloc((size_t)l->texts.n, sizeof *seen);
  wk_status s = n == (size_t)l->texts.n ? NULL
                : wk_error(WK_INPUT, "map %lld has %zu entries, the model has %lld labels",
                           (long long)row, n, (long long)l->texts.n);
  for (size_t k = 0; !s && k < n; k++) {
    int64_t column = column_of(m, k, l);
    double v = 0;
    if (column < 0 || seen[column])
      s = wk_error(WK_INPUT, "entry %zu of map %lld is for none of the model's labels", k,
                   (long long)row);
    else s = read_number(&m->values->tensors[k], a, &v);
    if (s) break;
    seen[column] = true;
    wk_store_f64(out->data, WK_F32, row * l->texts.n + column, v);
  }
  free(seen);
  return s;
}

static wk_status read_maps(const Wick__SequenceValue *q, const wk_labels *l, wk_arena *a,
                           wk_tensor *out) {
  const int64_t rows = (int64_t)q->n_maps;
  const wk_type type = wk_type_make(WK_F32, 2, (const int64_t[]){rows, l->texts.n});
  WK_TRY(wk_type_check(&type));
  WK_TRY(wk_tensor_alloc(&type, out));
  for (int64_t i = 0; i < rows; i++) WK_TRY(read_map(q->maps[i], l, i, a, out));
  return NULL;
}

static wk_status read_file(const wk_file *f, const wk_labels *l, wk_arena *a, wk_tensor *out,
                           bool *found) {
  const ProtobufCMessageDescriptor *maps = &wick__sequence_value__descriptor;
  const ProtobufCMessageDescriptor *tensor = &onnx__tensor_proto__descriptor;
  ProtobufCMessage *message;
  if (l->kind == WK_LABELS_COLUMNS && wk_wire_is_plausible(maps, f->data, f->size)) {
    WK_TRY(wk_wire_unpack(maps, f->data, f->size, a, &message));
    const Wick__SequenceValue *q = (const Wick__SequenceValue *)message;
    *found = q->n_maps > 0;
    return *found ? read_maps(q, l, a, out) : NULL;
  }
  if (l->kind != WK_LABELS_ELEMENTS || !wk_wire_is_plausible(tensor, f->data, f->size)) return NULL;
  WK_TRY(wk_wire_unpack(tensor, f->data, f->size, a, &message));
  const Onnx__TensorProto *t = (const Onnx__TensorProto *)message;
  *found = t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
  return *found ? read_strings(t, l, out) : NULL;
}

wk_status wk_labelled_read_pb(const char *path, const wk_labels *l, wk_tensor *out, bool *found) {
  wk_file f;
  *out = (wk_tensor){0};
  *found = false;
  WK_TRY(wk_file_map(path, &f));
  wk_arena *a = wk_arena_new();
  wk_status s = f.size == 0 ? wk_error(WK_INPUT, "is empty") : read_file(&f, l, a, out, found);
  if (s) wk_tensor_free(out);
  wk_arena_free(a);
  wk_file_unmap(&f);
  return wk_status_place(s, path);
}
