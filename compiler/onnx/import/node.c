/* SPDX-License-Identifier: Apache-2.0
 * What a handler reads: attributes and inputs of the node being imported. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/importer.h"

/* ---- errors -------------------------------------------------------------------------------- */

void wk_onnx_latch(wk_onnx_node *c, wk_status s) {
  if (!s) return;
  if (c->status) wk_status_free(s);
  else c->status = s;
}

static bool fail(wk_onnx_node *c, wk_code code, const char *fmt, va_list ap) WK_PRINTF(3, 0);
static bool fail(wk_onnx_node *c, wk_code code, const char *fmt, va_list ap) {
  if (c->status) return false;
  wk_str b = {0};
  wk_str_vprintf(&b, fmt, ap);
  c->status = wk_error(code, "%s", b.s);
  wk_str_free(&b);
  return false;
}

bool wk_onnx_fail(wk_onnx_node *c, wk_code code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  fail(c, code, fmt, ap);
  va_end(ap);
  return false;
}

bool wk_onnx_need(wk_onnx_node *c, bool ok, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  if (!ok) fail(c, WK_UNSUPPORTED, fmt, ap);
  va_end(ap);
  return ok;
}

bool wk_onnx_valid(wk_onnx_node *c, bool ok, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  if (!ok) fail(c, WK_INPUT, fmt, ap);
  va_end(ap);
  return ok;
}

/* ---- attributes ---------------------------------------------------------------------------- */

static const Onnx__AttributeProto *frame_attr(const wk_frame *f, const char *name) {
  for (size_t i = 0; i < f->n_attributes; i++) {
    if (strcmp(f->attributes[i].name, name) == 0) return f->attributes[i].value;
  }
  return NULL;
}

const Onnx__AttributeProto *wk_onnx_attr(const wk_onnx_node *c, const char *name) {
  for (size_t i = 0; i < c->proto->n_attribute; i++) {
    const Onnx__AttributeProto *a = c->proto->attribute[i];
    if (!a->name || strcmp(a->name, name) != 0) continue;
    bool is_reference = a->ref_attr_name && *a->ref_attr_name;
    return is_reference ? frame_attr(c->scope->frame, a->ref_attr_name) : a;
  }
  return NULL;
}

int64_t wk_onnx_int(const wk_onnx_node *c, const char *name, int64_t def) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, name);
  return a && a->has_i ? a->i : def;
}

double wk_onnx_float(const wk_onnx_node *c, const char *name, double def) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, name);
  if (!a) return def;
  return a->has_f ? (double)a->f : a->has_i ? (double)a->i : def;
}

static const char *bytes_text(wk_onnx_node *c, const ProtobufCBinaryData *b) {
  return wk_arena_strndup(c->im->m->arena, (const char *)b->data, b->len);
}

const char *wk_onnx_text(wk_onnx_node *c, const char *name, const char *def) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, name);
  return a && a->has_s ? bytes_text(c, &a->s) : def;
}

bool wk_onnx_text_is(wk_onnx_node *c, const char *name, const char *def, const char *want) {
  return strcmp(wk_onnx_text(c, name, def), want) == 0;
}

wk_ints wk_onnx_ints(wk_onnx_node *c, const char *name) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, name);
  if (!a) return (wk_ints){.n = -1};
  return wk_ints_dup(c->im->m->arena, a->ints, (int64_t)a->n_ints);
}

wk_floats wk_onnx_floats(wk_onnx_node *c, const char *name) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, name);
  if (!a) return (wk_floats){.n = -1};
  double *v = wk_arena_alloc(c->im->m->arena, a->n_floats * sizeof *v);
  for (size_t i = 0; i < a->n_floats; i++) v[i] = (double)a->floats[i];
  return (wk_floats){.n = (int64_t)a->n_floats, .v = v};
}

bool wk_onnx_has_list(wk_onnx_node *c, const char *name, int64_t n) {
  return wk_onnx_valid(c, n >= 0, "attribute '%s' is missing", name);
}

wk_texts wk_onnx_texts(wk_onnx_node *c, const char *name) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, name);
  if (!a) return (wk_texts){.n = -1};
  const char **v = wk_arena_alloc(c->im->m->arena, a->n_strings * sizeof *v);
  for (size_t i = 0; i < a->n_strings; i++) v[i] = bytes_text(c, &a->strings[i]);
  return (wk_texts){.n = (int64_t)a->n_strings, .v = v};
}

const Onnx__GraphProto *wk_onnx_graph(wk_onnx_node *c, const char *name) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, name);
  if (a && a->g) return a->g;
  wk_onnx_fail(c, WK_INPUT, "attribute '%s' (a graph) is missing", name);
  return NULL;
}

wk_dtype wk_onnx_dtype(wk_onnx_node *c, const char *name, wk_dtype def) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, name);
  if (!a) return def;
  int64_t number = a->has_i ? a->i : 0;
  bool in_range = number > 0 && number < INT32_MAX;
  wk_dtype t = in_range ? wk_onnx_elem_type((int32_t)number) : WK_DTYPE_NONE;
  if (a->has_s) { /* opset < 6 named the types */
    const char *s = bytes_text(c, &a->s);
    for (int32_t i = 1; i <= 16 && t == WK_DTYPE_NONE; i++) {
      if (strcmp(s, wk_onnx_elem_name(i)) == 0) t = wk_onnx_elem_type(i);
    }
  }
  wk_onnx_need(c, number != ONNX__TENSOR_PROTO__DATA_TYPE__STRING, WK_ONNX_NO_STRINGS);
  wk_onnx_need(c, t != WK_DTYPE_NONE, "%s",
               wk_onnx_elem_refusal(c->im->arena, in_range ? (int32_t)number : -1));
  return t == WK_DTYPE_NONE ? WK_F32 : t;
}

/* ---- inputs -------------------------------------------------------------------------------- */

const wk_type *wk_onnx_type(const wk_onnx_node *c, wk_value_id v) {
  static const wk_type neutral = {.dtype = WK_F32};
  return v == WK_NONE ? &neutral : &wk_val(c->g, v)->type;
}

bool wk_onnx_wants(const wk_onnx_node *c, int i) {
  uint32_t ignored;
  if (i >= c->n_out) return false;
  const char *name = c->proto->output[i];
  return *name && wk_map_get(c->im->used, name, &ignored);
}

wk_ints wk_onnx_const_ints(wk_onnx_node *c, wk_value_id v, const char *what) {
  const void *data = wk_onnx_const(c, v, what);
  if (!data) return (wk_ints){0};
  const wk_type *t = wk_onnx_type(c, v);
  if (!wk_onnx_valid(c, wk_dtype_is_int(t->dtype), "%s must be integers", what))
    return (wk_ints){0};
  int64_t n = wk_type_count(t);
  int64_t *out = wk_arena_alloc(c->im->m->arena, (size_t)n * sizeof *out);
  for (int64_t i = 0; i < n; i++) out[i] = wk_load_i64(data, t->dtype, i);
  return (wk_ints){.n = n, .v = out};
}

wk_floats wk_onnx_const_floats(wk_onnx_node *c, wk_value_id v, const char *what) {
  const void *data = wk_onnx_const(c, v, what);
  if (!data) return (wk_floats){0};
  const wk_type *t = wk_onnx_type(c, v);
  int64_t n = wk_type_count(t);
  double *out = wk_arena_alloc(c->im->m->arena, (size_t)n * sizeof *out);
  for (int64_t i = 0; i < n; i++) out[i] = wk_load_f64(data, t->dtype, i);
  return (wk_floats){.n = n, .v = out};
}

int64_t wk_onnx_const_int(wk_onnx_node *c, wk_value_id v, const char *what) {
  const void *data = wk_onnx_const(c, v, what);
  if (!data) return 0;
  const wk_type *t = wk_onnx_type(c, v);
  return wk_onnx_valid(c, wk_type_count(t) == 1, "%s must be a scalar", what)
             ? wk_load_i64(data, t->dtype, 0) : 0;
}

double wk_onnx_const_float(wk_onnx_node *c, wk_value_id v, const char *what) {
  const void *data = wk_onnx_const(c, v, what);
  if (!data) return 0;
  const wk_type *t = wk_onnx_type(c, v);
  return wk_onnx_valid(c, wk_type_count(t) == 1, "%s must be a scalar", what)
             ? wk_load_f64(data, t->dtype, 0) : 0;
}

wk_ints wk_onnx_ints_input(wk_onnx_node *c, int64_t input_since, int i, const char *name) {
  if (c->opset < input_since) return wk_onnx_ints(c, name);
  return wk_onnx_has(c, i) ? wk_onnx_const_ints(c, c->in[i], name) : (wk_ints){.n = -1};
}

int64_t wk_onnx_axis(wk_onnx_node *c, int64_t axis, int rank) {
  bool ok = axis >= -rank && axis < rank;
  wk_onnx_valid(c, ok, "axis %lld is outside a tensor of rank %d", (long long)axis, rank);
  return !ok ? 0 : axis < 0 ? axis + rank : axis;
}

wk_ints wk_onnx_axes(wk_onnx_node *c, wk_ints axes, int rank) {
  bool has[WK_MAX_RANK] = {0};
  int64_t v[WK_MAX_RANK], n = 0;
  if (rank > WK_MAX_RANK) {
    wk_onnx_fail(c, WK_UNSUPPORTED, "rank %d exceeds %d", rank, WK_MAX_RANK);
    return (wk_ints){0};
  }
  for (int64_t i = 0; i < axes.n && !c->status; i++) {
    int64_t axis = wk_onnx_axis(c, axes.v[i], rank);
    if (c->status) break;
    wk_onnx_valid(c, !has[axis], "axis %lld is given twice", (long long)axis);
    has[axis] = true;
  }
  for (int i = 0; i < rank; i++) {
    if (has[i]) v[n++] = i;
  }
  return wk_ints_dup(c->im->m->arena, v, c->status ? 0 : n);
}
