/* SPDX-License-Identifier: Apache-2.0
 * ONNX export: messages are built in an arena and packed straight into the output file; weights are
 * not copied. */
#include "compiler/onnx/export/export.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/wire/message.h"

/* ---- names --------------------------------------------------------------------------------- */

const char *wk_export_fresh(wk_export_graph *x) {
  return wk_arena_printf(x->arena, "wick/%llu", (unsigned long long)(*x->fresh)++);
}

const char *wk_export_in(const wk_export_graph *x, uint32_t i) {
  return i < x->node->n_in ? wk_export_name(x, x->node->in[i]) : "";
}

const char *wk_export_out(const wk_export_graph *x, uint32_t i) {
  return i < x->node->n_out ? wk_export_name(x, x->node->out[i]) : "";
}

const wk_type *wk_export_type(const wk_export_graph *x, uint32_t i) {
  return &wk_val(x->g, x->node->in[i])->type;
}

/* ---- messages ------------------------------------------------------------------------------ */

static char *own_text(wk_export_graph *x, const char *s) { return wk_arena_strdup(x->arena, s); }

static char **own_texts(wk_export_graph *x, const char *const *v, size_t n) {
  char **out = wk_arena_alloc(x->arena, n * sizeof *out);
  for (size_t i = 0; i < n; i++) out[i] = own_text(x, v[i]);
  return out;
}

/* Other tools refuse two nodes of one name in a graph; an operator may become several nodes. */
static char *node_name(wk_export_graph *x) {
  const char *base = x->node ? x->node->name : "", *name = base;
  bool taken = *base != 0;
  for (unsigned k = 2; taken; k++) {
    taken = false;
    for (size_t i = 0; i < x->nodes.n && !taken; i++) taken = !strcmp(x->nodes.data[i]->name, name);
    if (taken) name = wk_arena_printf(x->arena, "%s_%u", base, k);
  }
  return own_text(x, name);
}

Onnx__NodeProto *wk_export_add(wk_export_graph *x, const char *op, const char *const *in,
                               size_t n_in, const char *const *out, size_t n_out) {
  Onnx__NodeProto *n = wk_arena_alloc(x->arena, sizeof *n);
  onnx__node_proto__init(n);
  while (n_in > 0 && !*in[n_in - 1]) n_in--;
  while (n_out > 1 && !*out[n_out - 1]) n_out--;
  n->op_type = own_text(x, op);
  n->name = node_name(x);
  n->input = own_texts(x, in, n_in);
  n->n_input = n_in;
  n->output = own_texts(x, out, n_out);
  n->n_output = n_out;
  wk_vec_push(&x->nodes, n);
  return n;
}

Onnx__NodeProto *wk_export_detached(wk_export_graph *x, const char *op, const char *const *in,
                                    size_t n_in, const char *out) {
  Onnx__NodeProto *n = wk_export_add(x, op, in, n_in, &out, 1);
  x->nodes.n--;
  return n;
}

const char *wk_export_3(wk_export_graph *x, const char *op, const char *a, const char *b,
                        const char *c, const char *out) {
  if (!out) out = wk_export_fresh(x);
  wk_export_add(x, op, (const char *const[]){a, b, c}, 3, &out, 1);
  return out;
}

const char *wk_export_2(wk_export_graph *x, const char *op, const char *a, const char *b,
                        const char *out) {
  return wk_export_3(x, op, a, b, "", out);
}

const char *wk_export_1(wk_export_graph *x, const char *op, const char *a, const char *out) {
  return wk_export_3(x, op, a, "", "", out);
}

Onnx__NodeProto *wk_export_last(wk_export_graph *x) { return x->nodes.data[x->nodes.n - 1]; }

static Onnx__AttributeProto *add_attribute(wk_export_graph *x, const char *name,
                                           Onnx__AttributeProto__AttributeType type) {
  return wk_message_attribute(x->arena, wk_export_last(x), name, type);
}

void wk_export_int(wk_export_graph *x, const char *name, int64_t v) {
  Onnx__AttributeProto *a = add_attribute(x, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
  a->has_i = true;
  a->i = v;
}

void wk_export_float(wk_export_graph *x, const char *name, double v) {
  Onnx__AttributeProto *a = add_attribute(x, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
  a->has_f = true;
  a->f = (float)v;
}

ProtobufCBinaryData wk_export_bytes(wk_export_graph *x, const char *s) {
  return (ProtobufCBinaryData){.len = strlen(s), .data = (uint8_t *)own_text(x, s)};
}

void wk_export_text(wk_export_graph *x, const char *name, const char *v) {
  Onnx__AttributeProto *a = add_attribute(x, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
  a->has_s = true;
  a->s = wk_export_bytes(x, v);
}

void wk_export_ints(wk_export_graph *x, const char *name, wk_ints v) {
  Onnx__AttributeProto *a = add_attribute(x, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
  a->n_ints = (size_t)v.n;
  a->ints = (int64_t *)(uintptr_t)v.v;
}

void wk_export_floats(wk_export_graph *x, const char *name, wk_floats v) {
  Onnx__AttributeProto *a = add_attribute(x, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
  a->n_floats = (size_t)v.n;
  a->floats = wk_arena_alloc(x->arena, (size_t)v.n * sizeof *a->floats);
  for (int64_t i = 0; i < v.n; i++) a->floats[i] = (float)v.v[i];
}

void wk_export_texts(wk_export_graph *x, const char *name, wk_texts v) {
  Onnx__AttributeProto *a = add_attribute(x, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS);
  a->n_strings = (size_t)v.n;
  a->strings = wk_arena_alloc(x->arena, (size_t)v.n * sizeof *a->strings);
  for (int64_t i = 0; i < v.n; i++) a->strings[i] = wk_export_bytes(x, v.v[i]);
}

void wk_export_subgraph(wk_export_graph *x, const char *name, Onnx__GraphProto *g) {
  add_attribute(x, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g = g;
}

/* ---- constants ----------------------------------------------------------------------------- */

static Onnx__TensorProto *tensor_message(wk_export_graph *x, const wk_type *t, const void *data) {
  Onnx__TensorProto *m = wk_arena_alloc(x->arena, sizeof *m);
  onnx__tensor_proto__init(m);
  m->n_dims = (size_t)t->rank;
  m->dims = wk_arena_memdup(x->arena, t->dims, sizeof t->dims);
  m->has_data_type = true;
  m->data_type = wk_onnx_elem_number(t->dtype);
  m->has_raw_data = true;
  m->raw_data.len = (size_t)wk_packed_bytes(t);
  m->raw_data.data = (uint8_t *)(uintptr_t)data;
  if (wk_dtype_bits(t->dtype) < 8) {
    m->raw_data.data = wk_arena_alloc(x->arena, m->raw_data.len);
    wk_pack(t, data, m->raw_data.data);
  }
  return m;
}

void wk_export_doubles(wk_export_graph *x, const char *name, const double *v, int64_t n, int rank) {
  wk_type t = wk_type_make(WK_F64, rank, &n);
  const void *copy = wk_arena_memdup(x->arena, v, (size_t)n * sizeof *v);
  Onnx__AttributeProto *a = add_attribute(x, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);
  a->t = tensor_message(x, &t, copy);
}

static void add_constant(wk_export_graph *x, const char *name, const wk_type *t, const void *data) {
  Onnx__TensorProto *m = tensor_message(x, t, data);
  m->name = own_text(x, name);
  wk_vec_push(&x->constants, m);
}

const char *wk_export_constant(wk_export_graph *x, const wk_type *t, const void *data) {
  const char *name = wk_export_fresh(x);
  add_constant(x, name, t, wk_arena_memdup(x->arena, data, (size_t)wk_type_bytes(t)));
  return name;
}

const char *wk_export_i64s(wk_export_graph *x, const int64_t *v, int64_t n) {
  wk_type t = wk_type_make(WK_I64, 1, &n);
  return wk_export_constant(x, &t, v);
}

const char *wk_export_i64(wk_export_graph *x, int64_t v) {
  wk_type t = wk_type_make(WK_I64, 0, NULL);
  return wk_export_constant(x, &t, &v);
}

const char *wk_export_scalar(wk_export_graph *x, wk_dtype dtype, wk_scalar v) {
  wk_type t = wk_type_make(dtype, 0, NULL);
  uint8_t element[8] = {0};
  wk_scalar_store(element, dtype, v);
  return wk_export_constant(x, &t, element);
}

/* ---- graphs -------------------------------------------------------------------------------- */

Onnx__ValueInfoProto *wk_export_value_info(wk_export_graph *x, const char *name, const wk_type *t) {
  Onnx__ValueInfoProto *v = wk_message_value(x->arena, name, wk_onnx_elem_number(t->dtype));
  wk_message_shape(x->arena, v, t->rank, t->dims);
  return v;
}

/* What an output of the model's has as labels. */
static const wk_labels *labels_of(const wk_export_graph *x, const char *output) {
  return *x->prefix ? NULL : wk_module_labels(x->g->module, output);
}

/* Values have names of their own, but an output of the graph may be called as another value is. */
static void name_values(wk_export_graph *x, size_t first_capture, const char *const *captures) {
  const wk_graph *g = x->g;
  wk_map *outputs = wk_map_new();
  uint32_t of;
  x->names = wk_arena_alloc(x->arena, g->values.n * sizeof *x->names);
  for (size_t i = 0; i < wk_graph_plain_outputs(g); i++)
    wk_map_put(outputs, g->output_names.data[i], g->outputs.data[i]);
  for (size_t i = 0; i < g->values.n; i++) {
    const wk_value *v = &g->values.data[i];
    bool is_public = v->kind == WK_VALUE_INPUT && !*x->prefix;
    bool taken = !is_public && wk_map_get(outputs, v->name, &of) &&
                 (of != i || labels_of(x, v->name));
    x->names[i] = taken ? wk_export_fresh(x)
                        : wk_arena_printf(x->arena, "%s%s", x->prefix, v->name);
  }
  wk_map_free(outputs);
  for (size_t i = first_capture; i < g->inputs.n; i++) {
    x->names[g->inputs.data[i]] = captures[i - first_capture];
  }
  for (size_t i = 0; i < g->values.n; i++) {
    const wk_value *v = &g->values.data[i];
    if (v->kind == WK_VALUE_CONSTANT) add_constant(x, x->names[i], &v->type, v->data);
    if (wk_is_variable(g, (wk_value_id)i)) add_constant(x, x->names[i], &v->type, v->initial);
  }
}

/* A variable is an input with a default; what it becomes is the output NAME.updated. */
static const char *update_name(wk_export_graph *x, wk_value_id variable) {
  const wk_graph *g = x->g;
  const char *name = wk_arena_printf(x->arena, "%s.updated", x->names[variable]);
  bool taken = wk_map_get(g->names, name, &(uint32_t){0});
  for (size_t i = 0; i < wk_graph_plain_outputs(g) && !taken; i++)
    taken = !strcmp(g->output_names.data[i], name);
  return taken ? wk_export_fresh(x) : name;
}

/* Of an output, among the first n. */
static bool is_taken(const Onnx__GraphProto *p, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(p->output[i]->name, name)) return true;
  return false;
}

/* A graph output needs a name of its own: an input, a constant or a repeated value is copied. Those
 * of a body may be called alike: they are told apart by their places. */
static void write_outputs(wk_export_graph *x, Onnx__GraphProto *p) {
  const wk_graph *g = x->g;
  p->n_output = g->outputs.n;
  p->output = wk_arena_alloc(x->arena, g->outputs.n * sizeof *p->output);
  x->node = NULL;
  for (size_t i = 0; i < g->outputs.n; i++) {
    wk_value_id v = g->outputs.data[i];
    const char *name = x->names[v], *want = g->output_names.data[i];
    bool is_update = g->updates.data[i] != WK_NONE;
    const wk_labels *labels = is_update ? NULL : labels_of(x, want);
    if (is_update) want = update_name(x, g->updates.data[i]);
    if (labels) {
      p->output[i] = wk_export_labelled(x, labels, name, &wk_val(g, v)->type);
      continue;
    }
    if (*x->prefix) want = wk_arena_printf(x->arena, "%s%s", x->prefix, want);
    if (*x->prefix && is_taken(p, i, want)) want = wk_export_fresh(x);
    if (strcmp(name, want) != 0) name = wk_export_1(x, "Identity", name, want);
    p->output[i] = wk_export_value_info(x, name, &wk_val(g, v)->type);
  }
}

static void mark_used(wk_map *used, const Onnx__GraphProto *g) {
  for (size_t i = 0; i < g->n_output; i++) wk_map_put(used, g->output[i]->name, 1);
  for (size_t i = 0; i < g->n_node; i++) {
    const Onnx__NodeProto *n = g->node[i];
    for (size_t k = 0; k < n->n_input; k++) wk_map_put(used, n->input[k], 1);
    for (size_t k = 0; k < n->n_attribute; k++)
      if (n->attribute[k]->g) mark_used(used, n->attribute[k]->g);
  }
}

/* Constants that were written in another shape are left over. */
static void drop_unused_constants(Onnx__GraphProto *p) {
  wk_map *used = wk_map_new();
  size_t kept = 0;
  mark_used(used, p);
  for (size_t i = 0; i < p->n_input; i++) wk_map_put(used, p->input[i]->name, 1);
  for (size_t i = 0; i < p->n_initializer; i++)
    if (wk_map_get(used, p->initializer[i]->name, &(uint32_t){0}))
      p->initializer[kept++] = p->initializer[i];
  p->n_initializer = kept;
  wk_map_free(used);
}

static Onnx__GraphProto *write_graph(wk_export_graph *x, size_t n_inputs, wk_status *status) {
  const wk_graph *g = x->g;
  Onnx__GraphProto *p = wk_arena_alloc(x->arena, sizeof *p);
  onnx__graph_proto__init(p);
  p->name = own_text(x, g->name);
  p->n_input = n_inputs;
  p->input = wk_arena_alloc(x->arena, n_inputs * sizeof *p->input);
  for (size_t i = 0; i < n_inputs; i++) {
    wk_value_id v = g->inputs.data[i];
    p->input[i] = wk_export_value_info(x, x->names[v], &wk_val(g, v)->type);
  }
  for (size_t i = 0; i < g->nodes.n && !*status; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (n->dead) continue;
    x->node = n;
    *status = wk_node_no_predicate(g, n, "ONNX");
    if (!*status) *status = wk_status_place(wk_export_node(x, n), n->name);
  }
  write_outputs(x, p);
  p->node = wk_arena_memdup(x->arena, x->nodes.data, x->nodes.n * sizeof *p->node);
  p->n_node = x->nodes.n;
  p->initializer =
      wk_arena_memdup(x->arena, x->constants.data, x->constants.n * sizeof *p->initializer);
  p->n_initializer = x->constants.n;
  drop_unused_constants(p);
  wk_vec_free(&x->nodes);
  wk_vec_free(&x->constants);
  return p;
}

Onnx__GraphProto *wk_export_body(wk_export_graph *x, const wk_graph *b, size_t first,
                                 const char *const *captures, wk_status *status) {
  wk_export_graph inner = {.arena = x->arena, .g = b, .fresh = x->fresh,
                           .uses_own_domain = x->uses_own_domain,
                           .uses_ml_domain = x->uses_ml_domain,
                           .custom_domains = x->custom_domains};
  inner.prefix = wk_arena_printf(x->arena, "%s/", wk_export_fresh(x));
  name_values(&inner, first, captures);
  return write_graph(&inner, first, status);
}

/* ---- the model ----------------------------------------------------------------------------- */

static Onnx__OperatorSetIdProto *opset(wk_arena *a, const char *domain, int64_t version) {
  Onnx__OperatorSetIdProto *o = wk_arena_alloc(a, sizeof *o);
  onnx__operator_set_id_proto__init(o);
  o->domain = wk_arena_strdup(a, domain);
  o->has_version = true;
  o->version = version;
  return o;
}

typedef struct { ProtobufCBuffer base; wk_out *out; } out_buffer;

static void append(ProtobufCBuffer *b, size_t n, const uint8_t *data) {
  wk_out_write(((out_buffer *)(void *)b)->out, data, n);
}

static wk_status write_model(const Onnx__ModelProto *m, const char *path) {
  size_t size = onnx__model_proto__get_packed_size(m);
  if (size >= (size_t)1 << 31) {
    return wk_error_at(WK_UNSUPPORTED, path, "models of 2 GiB and more cannot be written as ONNX");
  }
  out_buffer b = {.base = {.append = append}};
  WK_TRY(wk_out_open(path, &b.out));
  onnx__model_proto__pack_to_buffer(m, &b.base);
  return wk_out_commit(b.out);
}

static size_t add_opsets(const wk_export_graph *x, Onnx__OperatorSetIdProto **out) {
  wk_arena *a = x->arena;
  size_t n = 0;
  out[n++] = opset(a, "", WK_EXPORT_OPSET);
  if (*x->uses_own_domain) out[n++] = opset(a, WK_ONNX_OWN_DOMAIN, 1);
  if (*x->uses_ml_domain) out[n++] = opset(a, WK_EXPORT_ML_DOMAIN, WK_EXPORT_ML_OPSET);
  for (size_t i = 0; i < x->custom_domains->n; i++)
    out[n++] = opset(a, x->custom_domains->data[i], 1);
  return n;
}

static wk_status build_and_write(const wk_module *m, const char *path, wk_arena *a) {
  uint64_t fresh = 0;
  bool own_domain = false, ml_domain = false;
  wk_onnx_names custom = {0};
  wk_status s = NULL;
  if (!m->main->outputs.n)
    return wk_error_at(WK_UNSUPPORTED, path, "the graph has no outputs, and a model of ONNX has "
                                             "at least one");
  wk_export_graph x = {.arena = a, .g = m->main, .prefix = "", .fresh = &fresh,
                       .uses_own_domain = &own_domain, .uses_ml_domain = &ml_domain,
                       .custom_domains = &custom};
  name_values(&x, m->main->inputs.n, NULL);
  Onnx__ModelProto model;
  onnx__model_proto__init(&model);
  model.graph = write_graph(&x, m->main->inputs.n, &s);
  model.opset_import = wk_arena_alloc(a, (3 + custom.n) * sizeof(void *));
  model.n_opset_import = add_opsets(&x, model.opset_import);
  wk_vec_free(&custom);
  if (s) return s;
  model.has_ir_version = true;
  model.ir_version = 8;
  model.producer_name = wk_arena_strdup(a, "wick");
  return write_model(&model, path);
}

wk_status wk_export_onnx(const wk_module *m, const char *path) {
  wk_arena *a = wk_arena_new();
  wk_status s = build_and_write(m, path, a);
  wk_arena_free(a);
  return s;
}
