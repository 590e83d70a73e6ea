/* SPDX-License-Identifier: Apache-2.0
 * TensorProto: element types, and data in its many storages (raw, typed arrays, other files). */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/importer.h"

/* Indexed by TensorProto.DataType, which has more numbers than our onnx.proto. */
static const struct { const char *name; wk_dtype t; } elems[] = {
  { "UNDEFINED", WK_DTYPE_NONE }, { "FLOAT", WK_F32 }, { "UINT8", WK_U8 }, { "INT8", WK_I8 },
  { "UINT16", WK_U16 }, { "INT16", WK_I16 }, { "INT32", WK_I32 }, { "INT64", WK_I64 },
  { "STRING", WK_DTYPE_NONE }, { "BOOL", WK_BOOL }, { "FLOAT16", WK_F16 }, { "DOUBLE", WK_F64 },
  { "UINT32", WK_U32 }, { "UINT64", WK_U64 }, { "COMPLEX64", WK_DTYPE_NONE },
  { "COMPLEX128", WK_DTYPE_NONE }, { "BFLOAT16", WK_BF16 }, { "FLOAT8E4M3FN", WK_F8E4M3FN },
  { "FLOAT8E4M3FNUZ", WK_F8E4M3FNUZ }, { "FLOAT8E5M2", WK_F8E5M2 },
  { "FLOAT8E5M2FNUZ", WK_F8E5M2FNUZ }, { "UINT4", WK_U4 }, { "INT4", WK_I4 },
  { "FLOAT4E2M1", WK_F4E2M1FN }, { "FLOAT8E8M0", WK_F8E8M0FNU }, { "UINT2", WK_U2 },
  { "INT2", WK_I2 }, { "FLOAT6E2M3", WK_F6E2M3FN }, { "FLOAT6E3M2", WK_F6E3M2FN },
};

wk_dtype wk_onnx_elem_type(int32_t data_type) {
  bool known = data_type >= 0 && (size_t)data_type < WK_COUNTOF(elems);
  return known ? elems[data_type].t : WK_DTYPE_NONE;
}

const char *wk_onnx_elem_name(int32_t data_type) {
  bool known = data_type >= 0 && (size_t)data_type < WK_COUNTOF(elems);
  return known ? elems[data_type].name : "of unknown number";
}

const char *wk_onnx_elem_refusal(wk_arena *a, int32_t data_type) {
  static const char *const kinds[][2] = {
      {"STRING", "strings"}, {"COMPLEX", "complex numbers"}};
  const char *name = wk_onnx_elem_name(data_type), *kind = NULL;
  for (size_t i = 0; i < WK_COUNTOF(kinds); i++)
    if (strncmp(name, kinds[i][0], strlen(kinds[i][0])) == 0) kind = kinds[i][1];
  if (data_type == 0) return "no element type is declared";
  if (!kind) return wk_arena_printf(a, "element type number %d is not supported", data_type);
  return wk_arena_printf(a, "%s (%s) are not supported", kind, name);
}

int32_t wk_onnx_elem_number(wk_dtype t) {
  for (int32_t i = 1; i < (int32_t)WK_COUNTOF(elems); i++) {
    if (elems[i].t == t) return i;
  }
  return 0;
}

wk_status wk_onnx_tensor_type(const Onnx__TensorProto *t, wk_type *out) {
  wk_dtype dtype = wk_onnx_elem_type(t->data_type);
  if (dtype == WK_DTYPE_NONE) {
    wk_arena *a = wk_arena_new();
    wk_status s = wk_error(WK_UNSUPPORTED, "%s", wk_onnx_elem_refusal(a, t->data_type));
    wk_arena_free(a);
    return s;
  }
  if (t->n_dims > WK_MAX_RANK) {
    return wk_error(WK_UNSUPPORTED, "rank %zu exceeds %d", t->n_dims, WK_MAX_RANK);
  }
  *out = wk_type_make(dtype, (int)t->n_dims, t->dims);
  return wk_type_check(out);
}

/* ---- data inside the message --------------------------------------------------------------- */

typedef struct { size_t n; const void *v; wk_dtype stored; } typed_array;

/* Which of the typed arrays holds elements of this type, and how wide they are there. */
static typed_array typed_data(const Onnx__TensorProto *t, wk_dtype dtype) {
  switch (dtype) {
    case WK_F32: return (typed_array){t->n_float_data, t->float_data, WK_F32};
    case WK_F64: return (typed_array){t->n_double_data, t->double_data, WK_F64};
    case WK_I64: return (typed_array){t->n_int64_data, t->int64_data, WK_I64};
    case WK_U32: case WK_U64: return (typed_array){t->n_uint64_data, t->uint64_data, WK_U64};
    default: return (typed_array){t->n_int32_data, t->int32_data, WK_I32};
  }
}

static wk_status unpack_typed(const typed_array *a, wk_tensor *out) {
  uint8_t *bytes;
  WK_TRY(wk_try_malloc(a->n, (void **)&bytes));
  for (size_t i = 0; i < a->n; i++) bytes[i] = (uint8_t)wk_load_i64(a->v, a->stored, (int64_t)i);
  wk_unpack(&out->type, bytes, out->data);
  free(bytes);
  return NULL;
}

static wk_status read_typed(const Onnx__TensorProto *t, wk_tensor *out) {
  wk_dtype dtype = out->type.dtype;
  typed_array a = typed_data(t, dtype);
  bool is_packed = wk_dtype_bits(dtype) < 8; /* then an integer holds a byte of the raw data */
  int64_t n = is_packed ? wk_packed_bytes(&out->type) : wk_type_count(&out->type);
  if ((int64_t)a.n != n) {
    return wk_error(WK_INPUT, "tensor '%s' has %zu elements, its shape needs %lld",
                    t->name ? t->name : "", a.n, (long long)n);
  }
  const wk_type type = out->type;
  WK_TRY(wk_tensor_alloc(&type, out));
  if (is_packed) return unpack_typed(&a, out);
  bool is_bits = dtype == WK_F16 || dtype == WK_BF16; /* the bits are stored as integers */
  wk_dtype as = is_bits ? WK_U16 : wk_dtype_storage(dtype);
  for (int64_t i = 0; i < n; i++) {
    if (a.stored == dtype) break;
    int64_t v = wk_load_i64(a.v, a.stored, i);
    wk_store_i64(out->data, as, i, dtype == WK_BOOL ? v != 0 : v);
  }
  if (a.stored == dtype && n > 0) memcpy(out->data, a.v, (size_t)wk_type_bytes(&out->type));
  return NULL;
}

static bool is_usable_in_place(const uint8_t *data, const wk_type *t, int64_t bytes) {
  if ((uintptr_t)data % (uintptr_t)wk_dtype_size(t->dtype) != 0) return false;
  for (int64_t i = 0; t->dtype == WK_BOOL && i < bytes; i++) {
    if (data[i] > 1) return false;
  }
  return true;
}

/* `data` holds the elements of out->type, little endian, at any alignment. */
static wk_status read_raw(const uint8_t *data, bool may_borrow, wk_tensor *out, bool *borrowed) {
  int64_t bytes = wk_type_bytes(&out->type);
  bool is_packed = wk_dtype_bits(out->type.dtype) < 8;
  *borrowed = may_borrow && !is_packed && is_usable_in_place(data, &out->type, bytes);
  if (*borrowed) {
    out->data = (void *)(uintptr_t)data;
    return NULL;
  }
  const wk_type type = out->type;
  WK_TRY(wk_tensor_alloc(&type, out));
  wk_unpack(&type, data, out->data);
  for (int64_t i = 0; out->type.dtype == WK_BOOL && i < bytes; i++) {
    ((uint8_t *)out->data)[i] = data[i] != 0;
  }
  return NULL;
}

static wk_status check_bytes(const Onnx__TensorProto *t, const wk_type *type, uint64_t have) {
  if (have == (uint64_t)wk_packed_bytes(type)) return NULL;
  return wk_error(WK_INPUT, "tensor '%s' has %llu bytes of data, its shape needs %lld",
                  t->name ? t->name : "", (unsigned long long)have,
                  (long long)wk_packed_bytes(type));
}

wk_status wk_onnx_tensor_read(const Onnx__TensorProto *t, wk_tensor *out, bool *borrowed) {
  const uint8_t *data;
  size_t n;
  *borrowed = false;
  *out = (wk_tensor){0};
  WK_TRY(wk_onnx_tensor_type(t, &out->type));
  if (t->segment) return wk_error(WK_UNSUPPORTED, "tensors in segments are not supported");
  if (t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
    return wk_error(WK_UNSUPPORTED, "data in another file is not supported here");
  }
  if (!wk_wire_raw(t, &data, &n)) return read_typed(t, out);
  WK_TRY(check_bytes(t, &out->type, n));
  return read_raw(data, true, out, borrowed);
}

/* ---- data in other files ------------------------------------------------------------------- */

static const char *external_key(const Onnx__TensorProto *t, const char *key) {
  for (size_t i = 0; i < t->n_external_data; i++) {
    const Onnx__StringStringEntryProto *e = t->external_data[i];
    if (e->key && e->value && strcmp(e->key, key) == 0) return e->value;
  }
  return NULL;
}

static bool parse_size(const char *s, uint64_t def, uint64_t *out) {
  *out = def;
  if (!s) return true;
  uint64_t v = 0;
  if (!*s) return false;
  for (; *s; s++) {
    if (*s < '0' || *s > '9' || v > (UINT64_MAX >> 1) / 10) return false;
    v = v * 10 + (uint64_t)(*s - '0');
  }
  *out = v;
  return true;
}

static wk_status open_external(wk_importer *im, const char *location, wk_file *out) {
  uint32_t index;
  if (wk_map_get(im->external, location, &index)) {
    *out = im->m->files.data[index];
    return NULL;
  }
  if (!im->src.dir) return wk_error(WK_INPUT, "the data is in a file, but the model is not");
  WK_TRY(wk_file_map_beneath(im->src.dir, im->src.home, location, out));
  wk_map_put(im->external, location, (uint32_t)im->m->files.n);
  wk_vec_push(&im->m->files, *out);
  return NULL;
}

const char *wk_onnx_external_location(const Onnx__TensorProto *t) {
  return external_key(t, "location");
}

bool wk_onnx_external_span(const Onnx__TensorProto *t, const wk_type *type, uint64_t size,
                           uint64_t *offset, uint64_t *length) {
  uint64_t all = (uint64_t)wk_packed_bytes(type);
  if (!parse_size(external_key(t, "offset"), 0, offset) || *offset > size ||
      !parse_size(external_key(t, "length"), size - *offset, length) || *length > size - *offset)
    return false;
  if (!external_key(t, "length") && *length > all) *length = all;
  return true;
}

static wk_status read_external(wk_importer *im, const Onnx__TensorProto *t, wk_tensor *out,
                               bool *borrowed) {
  const char *location = wk_onnx_external_location(t);
  if (!location) return wk_error(WK_INPUT, "the external data has no location");
  WK_TRY(wk_onnx_tensor_type(t, &out->type));
  wk_file f;
  WK_TRY(open_external(im, location, &f));
  uint64_t offset, length;
  if (!wk_onnx_external_span(t, &out->type, f.size, &offset, &length))
    return wk_error_at(WK_INPUT, location, "offset and length lie outside the file");
  WK_TRY(check_bytes(t, &out->type, length));
  return read_raw(f.data + offset, true, out, borrowed);
}

/* ---- constants ----------------------------------------------------------------------------- */

static bool is_inside(const wk_onnx_source *src, const void *p) {
  const uint8_t *b = p;
  return (uintptr_t)b >= (uintptr_t)src->data && (uintptr_t)b < (uintptr_t)src->data + src->n;
}

wk_status wk_onnx_tensor_constant(wk_importer *im, wk_graph *g, const char *name,
                                  const Onnx__TensorProto *t, wk_value_id *out) {
  wk_tensor v = {0};
  bool borrowed = false, external = t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  WK_TRY(external ? read_external(im, t, &v, &borrowed) : wk_onnx_tensor_read(t, &v, &borrowed));
  if (borrowed && !external && !is_inside(&im->src, v.data)) { /* lies in memory of this import */
    wk_tensor copy;
    WK_TRY(wk_tensor_alloc(&v.type, &copy));
    if (wk_type_bytes(&v.type) > 0) memcpy(copy.data, v.data, (size_t)wk_type_bytes(&v.type));
    v = copy;
    borrowed = false;
  }
  if (!borrowed) wk_vec_push(&im->m->blobs, v.data);
  *out = wk_graph_constant(g, name, &v.type, v.data);
  return NULL;
}

/* Positions are either flat or one coordinate per axis. */
static wk_status scatter_sparse(const wk_tensor *values, const wk_tensor *at, wk_tensor *out) {
  int rank = out->type.rank;
  int64_t strides[WK_MAX_RANK], nnz = wk_type_count(&values->type);
  int64_t n = wk_type_count(&out->type), size = wk_dtype_size(out->type.dtype);
  bool is_flat = at->type.rank == 1 && at->type.dims[0] == nnz;
  bool is_coordinates = at->type.rank == 2 && at->type.dims[0] == nnz && at->type.dims[1] == rank;
  if (at->type.dtype != WK_I64 || values->type.rank != 1 || !(is_flat || is_coordinates)) {
    return wk_error(WK_INPUT, "the sparse tensor is malformed");
  }
  wk_type_strides(&out->type, strides);
  for (int64_t i = 0; i < nnz; i++) {
    const int64_t *p = (const int64_t *)at->data + (is_flat ? i : i * rank);
    int64_t flat = is_flat ? p[0] : 0;
    for (int k = 0; !is_flat && k < rank; k++) {
      if (p[k] < 0 || p[k] >= out->type.dims[k])
        return wk_error(WK_INPUT, "an index of the sparse tensor is out of range");
      flat += p[k] * strides[k];
    }
    if (flat < 0 || flat >= n)
      return wk_error(WK_INPUT, "an index of the sparse tensor is out of range");
    memcpy((char *)out->data + flat * size, (const char *)values->data + i * size, (size_t)size);
  }
  return NULL;
}

wk_status wk_onnx_sparse_constant(wk_importer *im, wk_graph *g, const char *name,
                                  const Onnx__SparseTensorProto *t, wk_value_id *out) {
  wk_tensor values = {0}, at = {0}, dense = {0};
  bool borrowed_values = true, borrowed_at = true;
  if (!t->values || !t->indices) return wk_error(WK_INPUT, "the sparse tensor is malformed");
  if (t->n_dims > WK_MAX_RANK)
    return wk_error(WK_UNSUPPORTED, "rank %zu exceeds %d", t->n_dims, WK_MAX_RANK);
  wk_status s = wk_onnx_tensor_read(t->values, &values, &borrowed_values);
  if (!s) s = wk_onnx_tensor_read(t->indices, &at, &borrowed_at);
  wk_type type = wk_type_make(values.type.dtype, (int)t->n_dims, t->dims);
  if (!s) s = wk_type_check(&type);
  if (!s && wk_type_bytes(&type) > im->splat_left)
    s = wk_error(WK_RESOURCE, "the sparse tensor is too large");
  if (!s) s = wk_tensor_alloc(&type, &dense);
  if (!s) s = scatter_sparse(&values, &at, &dense);
  if (!s) {
    im->splat_left -= wk_type_bytes(&type);
    wk_vec_push(&im->m->blobs, dense.data);
    *out = wk_graph_constant(g, name, &type, dense.data);
  } else {
    wk_tensor_free(&dense);
  }
  if (!borrowed_values) wk_tensor_free(&values);
  if (!borrowed_at) wk_tensor_free(&at);
  return s;
}
