/* SPDX-License-Identifier: Apache-2.0
 * ONNX messages of a translation, in its arena. */
#include <string.h>

#include "compiler/caffe2/translate.h"
#include "compiler/onnx/wire/message.h"

/* ---- names --------------------------------------------------------------------------------- */

static const char *take(wk_c2 *c, const char *want) {
  const char *name = want;
  uint32_t ignored;
  for (int k = 1; wk_map_get(c->taken, name, &ignored); k++)
    name = wk_arena_printf(c->arena, "%s/%d", want, k);
  wk_map_put(c->taken, name, 1);
  return name;
}

const char *wk_c2_fresh(wk_c2_op *o, const char *hint) {
  const char *of = o->def->n_output ? o->def->output[0] : o->row->type;
  return take(o->c, wk_arena_printf(o->c->arena, "%s/%s", of, hint));
}

static wk_c2_slot *slot_of(const wk_c2_op *o, const char *blob) {
  uint32_t i;
  return wk_map_get(o->c->slots, blob, &i) ? &o->c->slot.data[i] : NULL;
}

const char *wk_c2_in(wk_c2_op *o, int i) {
  return i < o->n_in && o->in[i].value ? o->in[i].value : "";
}

void wk_c2_set_in(wk_c2_op *o, const char *const *in, int n) {
  o->in = wk_arena_alloc(o->c->arena, (size_t)n * sizeof *o->in);
  for (int i = 0; i < n; i++) o->in[i] = (wk_c2_blob){.value = in[i]};
  o->n_in = n;
}

/* A blob may be written more than once. What it is at last has its name, unless an input of the
 * model has it. */
const char *wk_c2_out(wk_c2_op *o, int i) {
  if (i >= o->n_out || o->status) return "";
  if (i == 0 && o->inner) return o->inner;
  wk_c2_slot *s = slot_of(o, o->def->output[i]);
  bool is_last = s->written == s->writes && !s->is_external_in;
  const char *name = s->name;
  if (!is_last) name = take(o->c, wk_arena_printf(o->c->arena, "%s/%u", s->name, s->written));
  s->now = (wk_c2_blob){.value = name};
  return name;
}

/* ---- nodes --------------------------------------------------------------------------------- */

static char *own(wk_c2_op *o, const char *s) { return wk_arena_strdup(o->c->arena, s); }

static char **own_all(wk_c2_op *o, const char *const *s, int n) {
  char **list = wk_arena_alloc(o->c->arena, (size_t)n * sizeof *list);
  for (int i = 0; i < n; i++) list[i] = own(o, s[i]);
  return list;
}

Onnx__NodeProto *wk_c2_node(wk_c2_op *o, const char *op, const char *const *in, int n_in,
                            const char *const *out, int n_out) {
  Onnx__NodeProto *n = wk_arena_alloc(o->c->arena, sizeof *n);
  onnx__node_proto__init(n);
  while (n_in > 0 && !*in[n_in - 1]) n_in--;
  n->op_type = own(o, op);
  n->input = own_all(o, in, n_in);
  n->n_input = (size_t)n_in;
  n->output = own_all(o, out, n_out);
  n->n_output = (size_t)n_out;
  if (o->name && o->def->type)
    n->name = wk_arena_printf(o->c->arena, "%s %s", o->def->type, o->name);
  else if (o->name) n->name = own(o, n_out ? out[0] : op);
  if (!o->status) wk_vec_push(&o->c->nodes, n);
  return n;
}

const char *wk_c2_make(wk_c2_op *o, const char *op, const char *out, const char *a, const char *b,
                       const char *d) {
  const char *in[] = {a ? a : "", b ? b : "", d ? d : ""};
  if (!out) out = wk_c2_fresh(o, op);
  wk_c2_node(o, op, in, 3, &out, 1);
  return out;
}

/* Of the node made last; after an error, of none. */
static Onnx__AttributeProto *attribute(wk_c2_op *o, const char *name,
                                       Onnx__AttributeProto__AttributeType type) {
  Onnx__NodeProto none = ONNX__NODE_PROTO__INIT;
  bool has_node = !o->status;
  Onnx__NodeProto *n = has_node ? o->c->nodes.data[o->c->nodes.n - 1] : &none;
  return wk_message_attribute(o->c->arena, n, name, type);
}

void wk_c2_attr_int(wk_c2_op *o, const char *name, int64_t v) {
  Onnx__AttributeProto *a = attribute(o, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
  a->has_i = true;
  a->i = v;
}

void wk_c2_attr_float(wk_c2_op *o, const char *name, float v) {
  Onnx__AttributeProto *a = attribute(o, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
  a->has_f = true;
  a->f = v;
}

void wk_c2_attr_text(wk_c2_op *o, const char *name, const char *v) {
  Onnx__AttributeProto *a = attribute(o, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
  a->has_s = true;
  a->s = (ProtobufCBinaryData){.len = strlen(v), .data = (uint8_t *)own(o, v)};
}

void wk_c2_attr_ints(wk_c2_op *o, const char *name, const int64_t *v, int64_t n) {
  Onnx__AttributeProto *a = attribute(o, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
  a->n_ints = (size_t)n;
  a->ints = wk_arena_alloc(o->c->arena, (size_t)n * sizeof *v);
  if (n > 0) memcpy(a->ints, v, (size_t)n * sizeof *v);
}

void wk_c2_attr_floats(wk_c2_op *o, const char *name, const float *v, int64_t n) {
  Onnx__AttributeProto *a = attribute(o, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
  a->n_floats = (size_t)n;
  a->floats = wk_arena_alloc(o->c->arena, (size_t)n * sizeof *v);
  if (n > 0) memcpy(a->floats, v, (size_t)n * sizeof *v);
}

void wk_c2_attr_tensor(wk_c2_op *o, const char *name, Onnx__TensorProto *t) {
  attribute(o, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR)->t = t;
}

/* ---- constants ----------------------------------------------------------------------------- */

Onnx__TensorProto *wk_c2_tensor(wk_c2 *c, const char *name, int32_t elem_type, int64_t rank,
                                const int64_t *dims) {
  Onnx__TensorProto *t = wk_arena_alloc(c->arena, sizeof *t);
  onnx__tensor_proto__init(t);
  t->name = wk_arena_strdup(c->arena, name);
  t->has_data_type = true;
  t->data_type = elem_type;
  t->n_dims = (size_t)rank;
  t->dims = wk_arena_alloc(c->arena, (size_t)rank * sizeof *dims);
  if (rank > 0) memcpy(t->dims, dims, (size_t)rank * sizeof *dims);
  wk_vec_push(&c->constants, t);
  return t;
}

static const char *integers(wk_c2_op *o, const int64_t *v, int64_t n, int rank) {
  if (o->status) return "";
  Onnx__TensorProto *t = wk_c2_tensor(o->c, wk_c2_fresh(o, "const"),
                                      ONNX__TENSOR_PROTO__DATA_TYPE__INT64, rank, &n);
  t->n_int64_data = (size_t)n;
  t->int64_data = wk_arena_alloc(o->c->arena, (size_t)n * sizeof *v);
  if (n > 0) memcpy(t->int64_data, v, (size_t)n * sizeof *v);
  return t->name;
}

const char *wk_c2_i64s(wk_c2_op *o, const int64_t *v, int64_t n) { return integers(o, v, n, 1); }
const char *wk_c2_i64(wk_c2_op *o, int64_t v) { return integers(o, &v, 1, 0); }

const char *wk_c2_f32(wk_c2_op *o, float v) {
  if (o->status) return "";
  Onnx__TensorProto *t = wk_c2_tensor(o->c, wk_c2_fresh(o, "const"),
                                      ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, 0, NULL);
  t->n_float_data = 1;
  t->float_data = wk_arena_memdup(o->c->arena, &v, sizeof v);
  return t->name;
}

const char *wk_c2_f32s(wk_c2_op *o, const float *v, int64_t n) {
  if (o->status) return "";
  Onnx__TensorProto *t = wk_c2_tensor(o->c, wk_c2_fresh(o, "const"),
                                      ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, 1, &n);
  t->n_float_data = (size_t)n;
  t->float_data = wk_arena_memdup(o->c->arena, v, (size_t)n * sizeof *v);
  return t->name;
}

const char *wk_c2_u8(wk_c2_op *o, uint8_t v) {
  if (o->status) return "";
  Onnx__TensorProto *t = wk_c2_tensor(o->c, wk_c2_fresh(o, "const"),
                                      ONNX__TENSOR_PROTO__DATA_TYPE__UINT8, 0, NULL);
  const int32_t wide = v;
  t->n_int32_data = 1;
  t->int32_data = wk_arena_memdup(o->c->arena, &wide, sizeof wide);
  return t->name;
}

/* ---- order of axes ------------------------------------------------------------------------- */

const char *wk_c2_to_nchw(wk_c2_op *o, const char *x, int spatial, bool is_nhwc) {
  int64_t perm[WK_MAX_RANK] = {0, spatial + 1};
  if (!is_nhwc || !*x) return x;
  for (int i = 0; i < spatial; i++) perm[i + 2] = i + 1;
  const char *y = wk_c2_make(o, "Transpose", NULL, x, NULL, NULL);
  wk_c2_attr_ints(o, "perm", perm, spatial + 2);
  return y;
}

const char *wk_c2_to_nhwc(wk_c2_op *o, const char *x, int spatial, const char *out) {
  int64_t perm[WK_MAX_RANK] = {0};
  for (int i = 0; i < spatial; i++) perm[i + 1] = i + 2;
  perm[spatial + 1] = 1;
  const char *y = wk_c2_make(o, "Transpose", out, x, NULL, NULL);
  wk_c2_attr_ints(o, "perm", perm, spatial + 2);
  return y;
}
