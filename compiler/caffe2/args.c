/* SPDX-License-Identifier: Apache-2.0
 * Arguments of an operator. Caffe2 stores a number where its writer put it: an integer may stand
 * for a float. */
#include <string.h>
#include <strings.h>

#include "compiler/caffe2/translate.h"

/* The first error counts. */
static bool latch(wk_c2_op *o, wk_code code, const char *fmt, va_list ap) {
  if (o->status) return false;
  wk_str b = {0};
  wk_str_vprintf(&b, fmt, ap);
  o->status = wk_error(code, "%s", b.s);
  wk_str_free(&b);
  return false;
}

#define LATCH(code)      \
  va_list ap;            \
  va_start(ap, fmt);     \
  latch(o, code, fmt, ap); \
  va_end(ap);            \
  return false

bool wk_c2_fail(wk_c2_op *o, wk_code code, const char *fmt, ...) {
  LATCH(code);
}

bool wk_c2_need(wk_c2_op *o, bool ok, const char *fmt, ...) {
  if (ok) return !o->status;
  LATCH(WK_UNSUPPORTED);
}

bool wk_c2_valid(wk_c2_op *o, bool ok, const char *fmt, ...) {
  if (ok) return !o->status;
  LATCH(WK_INPUT);
}

void wk_c2_note(wk_c2 *c, const char *fmt, ...) {
  wk_str b = {0};
  va_list ap;
  uint32_t ignored;
  va_start(ap, fmt);
  wk_str_vprintf(&b, fmt, ap);
  va_end(ap);
  const char *text = wk_arena_strdup(c->rep->arena, b.s);
  wk_str_free(&b);
  if (wk_map_get(c->noted, text, &ignored)) return;
  wk_map_put(c->noted, text, 1);
  wk_vec_push(&c->rep->notes, text);
}

static int find(const wk_c2_op *o, const char *name) {
  for (size_t i = 0; i < o->def->n_arg; i++)
    if (o->def->arg[i]->name && strcmp(o->def->arg[i]->name, name) == 0) return (int)i;
  return -1;
}

bool wk_c2_has(wk_c2_op *o, const char *name) { return find(o, name) >= 0; }

const Caffe2__Argument *wk_c2_arg(wk_c2_op *o, const char *name) {
  int i = find(o, name);
  if (i < 0) return NULL;
  if (i < 64) o->args_read |= (uint64_t)1 << i;
  return o->def->arg[i];
}

int64_t wk_c2_int(wk_c2_op *o, const char *name, int64_t def) {
  const Caffe2__Argument *a = wk_c2_arg(o, name);
  if (!a) return def;
  wk_c2_valid(o, a->has_i, "argument '%s' is no integer", name);
  return a->i;
}

float wk_c2_float(wk_c2_op *o, const char *name, float def) {
  const Caffe2__Argument *a = wk_c2_arg(o, name);
  if (!a) return def;
  wk_c2_valid(o, a->has_f || a->has_i, "argument '%s' is no number", name);
  return a->has_f ? a->f : (float)a->i;
}

const char *wk_c2_text(wk_c2_op *o, const char *name, const char *def) {
  const Caffe2__Argument *a = wk_c2_arg(o, name);
  if (!a) return def;
  if (!wk_c2_valid(o, a->has_s, "argument '%s' is no string", name)) return def;
  return wk_arena_strndup(o->c->arena, (const char *)a->s.data, a->s.len);
}

wk_ints wk_c2_ints(wk_c2_op *o, const char *name) {
  const Caffe2__Argument *a = wk_c2_arg(o, name);
  if (!a) return (wk_ints){.n = -1};
  wk_c2_valid(o, !a->n_floats && !a->n_strings, "argument '%s' is no list of integers", name);
  if (a->n_ints == 0 && a->has_i) return (wk_ints){1, &a->i};
  return (wk_ints){(int64_t)a->n_ints, a->ints};
}

wk_c2_float_list wk_c2_floats(wk_c2_op *o, const char *name) {
  const Caffe2__Argument *a = wk_c2_arg(o, name);
  if (!a) return (wk_c2_float_list){.n = -1};
  wk_c2_valid(o, !a->n_strings, "argument '%s' is no list of numbers", name);
  if (a->n_floats == 0 && a->has_f) return (wk_c2_float_list){1, &a->f};
  if (a->n_floats || !a->n_ints) return (wk_c2_float_list){(int64_t)a->n_floats, a->floats};
  float *list = wk_arena_alloc(o->c->arena, a->n_ints * sizeof *list);
  for (size_t i = 0; i < a->n_ints; i++) list[i] = (float)a->ints[i];
  return (wk_c2_float_list){(int64_t)a->n_ints, list};
}

/* By Caffe2's TensorProto.DataType. */
static const struct { const char *name; int32_t onnx; } types[] = {
    [1] = {"FLOAT", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT},
    [2] = {"INT32", ONNX__TENSOR_PROTO__DATA_TYPE__INT32},
    [3] = {"BYTE", ONNX__TENSOR_PROTO__DATA_TYPE__UINT8},
    [5] = {"BOOL", ONNX__TENSOR_PROTO__DATA_TYPE__BOOL},
    [6] = {"UINT8", ONNX__TENSOR_PROTO__DATA_TYPE__UINT8},
    [7] = {"INT8", ONNX__TENSOR_PROTO__DATA_TYPE__INT8},
    [8] = {"UINT16", ONNX__TENSOR_PROTO__DATA_TYPE__UINT16},
    [9] = {"INT16", ONNX__TENSOR_PROTO__DATA_TYPE__INT16},
    [10] = {"INT64", ONNX__TENSOR_PROTO__DATA_TYPE__INT64},
    [12] = {"FLOAT16", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16},
    [13] = {"DOUBLE", ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE}};

int32_t wk_c2_elem_type(wk_c2_op *o, const char *name, int32_t def) {
  const Caffe2__Argument *a = wk_c2_arg(o, name);
  if (!a) return def;
  const char *text = a->has_s ? wk_c2_text(o, name, "") : "";
  for (int64_t i = 0; i < (int64_t)WK_COUNTOF(types); i++) {
    bool is_it = a->has_s ? types[i].name && !strcasecmp(text, types[i].name) : a->i == i;
    if (is_it && types[i].name) return types[i].onnx;
  }
  if (!a->has_s) text = wk_arena_printf(o->c->arena, "%lld", (long long)a->i);
  wk_c2_need(o, false, "element type %s of argument '%s' is not supported", text, name);
  return def;
}

wk_ints wk_c2_const_ints(wk_c2_op *o, int i) {
  const Onnx__TensorProto *t = i < o->n_in ? o->in[i].constant : NULL;
  if (t && t->n_int64_data) return (wk_ints){(int64_t)t->n_int64_data, t->int64_data};
  if (!t || !t->n_int32_data) return (wk_ints){.n = -1};
  int64_t *wide = wk_arena_alloc(o->c->arena, t->n_int32_data * sizeof *wide);
  for (size_t k = 0; k < t->n_int32_data; k++) wide[k] = t->int32_data[k];
  return (wk_ints){(int64_t)t->n_int32_data, wide};
}

bool wk_c2_is_nhwc(wk_c2_op *o) {
  const char *order = wk_c2_text(o, "order", "NCHW");
  bool is_nhwc = strcmp(order, "NHWC") == 0;
  wk_c2_valid(o, is_nhwc || strcmp(order, "NCHW") == 0, "order '%s' is neither NCHW nor NHWC",
              order);
  return is_nhwc;
}
