/* SPDX-License-Identifier: Apache-2.0
 * All forms of all operators (import_forms.h) once more, with operands of other ranks and without
 * elements, with attributes and optional operands left out: whatever comes of it, nothing crashes,
 * and what is taken can be computed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "compiler/onnx/onnx.h"
#include "onnx.pb-c.h"
#include "tests/hostile/model_text.h"
#include "tests/unit/import_forms.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

typedef struct {
  int rank; /* -1: as it is, but for its last axis, which is empty */
  int64_t size;
} shape;

static void free_dims(Onnx__TensorShapeProto *s) {
  for (size_t i = 0; i < s->n_dim; i++)
    protobuf_c_message_free_unpacked(&s->dim[i]->base, NULL);
  free(s->dim);
  s->dim = NULL;
  s->n_dim = 0;
}

static void set_size(Onnx__TensorShapeProto__Dimension *d, int64_t size) {
  if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM) free(d->dim_param);
  d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
  d->dim_value = size;
}

static void reshape_input(Onnx__ValueInfoProto *v, const shape *to) {
  bool is_tensor = v->type && v->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  Onnx__TensorShapeProto *s = is_tensor ? v->type->tensor_type->shape : NULL;
  if (!s) return;
  if (to->rank < 0) {
    if (s->n_dim) set_size(s->dim[s->n_dim - 1], to->size);
    return;
  }
  free_dims(s);
  if (to->rank == 0) return;
  s->dim = calloc(1, sizeof *s->dim);
  s->dim[0] = malloc(sizeof *s->dim[0]);
  onnx__tensor_shape_proto__dimension__init(s->dim[0]);
  set_size(s->dim[0], to->size);
  s->n_dim = 1;
}

static void reshape_initialiser(Onnx__TensorProto *t, const shape *to) {
  int64_t before = 1, after = 1;
  for (size_t i = 0; i < t->n_dims; i++) before *= t->dims[i];
  if (to->rank < 0 && t->n_dims) t->dims[t->n_dims - 1] = to->size;
  if (to->rank == 0 || (to->rank == 1 && t->n_dims)) t->n_dims = (size_t)to->rank;
  if (to->rank == 1 && t->n_dims) t->dims[0] = to->size;
  for (size_t i = 0; i < t->n_dims; i++) after *= t->dims[i];
  if (t->has_raw_data && before > 0 && after <= before)
    t->raw_data.len = t->raw_data.len / (size_t)before * (size_t)after;
}

/* ---- models ---------------------------------------------------------------------------------- */

static Onnx__ModelProto *model_of(size_t form) {
  wk_str bytes = {0};
  model_text(import_forms[form], &bytes);
  Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, bytes.n, (const uint8_t *)bytes.s);
  wk_str_free(&bytes);
  return m;
}

/* which: a bit for each operand, the inputs first. */
static void reshape(Onnx__ModelProto *m, const shape *to, uint32_t which) {
  Onnx__GraphProto *g = m->graph;
  for (size_t i = 0; i < g->n_input; i++)
    if (which >> i % 32 & 1) reshape_input(g->input[i], to);
  for (size_t i = 0; i < g->n_initializer; i++)
    if (which >> (g->n_input + i) % 32 & 1) reshape_initialiser(g->initializer[i], to);
}

static void leave_out_attributes(Onnx__ModelProto *m) {
  for (size_t i = 0; i < m->graph->n_node; i++) {
    Onnx__NodeProto *n = m->graph->node[i];
    for (size_t k = 0; k < n->n_attribute; k++)
      onnx__attribute_proto__free_unpacked(n->attribute[k], NULL);
    n->n_attribute = 0;
  }
}

static void leave_out_input(Onnx__ModelProto *m) {
  for (size_t i = 0; i < m->graph->n_node; i++) {
    Onnx__NodeProto *n = m->graph->node[i];
    if (n->n_input > 1) free(n->input[--n->n_input]);
  }
}

static void evaluate(const wk_module *m) {
  const wk_graph *g = m->main;
  wk_tensor *in = calloc(g->inputs.n + 1, sizeof *in), *out = calloc(g->outputs.n + 1, sizeof *out);
  bool fits = true;
  for (size_t i = 0; i < g->inputs.n; i++) {
    const wk_type *t = &wk_val(g, g->inputs.data[i])->type;
    bool is_small = wk_type_bytes(t) < 1 << 20;
    wk_status s = is_small ? wk_tensor_alloc(t, &in[i]) : wk_error(WK_INPUT, "large");
    fits = fits && !s;
    wk_status_free(s);
  }
  wk_status s = fits ? wk_eval_graph(g, in, out, NULL, NULL) : NULL;
  if (s) assert_int_not_equal(s->code, WK_INTERNAL);
  wk_status_free(s);
  for (size_t i = 0; i < g->inputs.n; i++) wk_tensor_free(&in[i]);
  for (size_t i = 0; i < g->outputs.n; i++) wk_tensor_free(&out[i]);
  free(in);
  free(out);
}

/* Imports the model, evaluates it if that is asked for, and frees it; 1 when it is taken. */
static int feed(Onnx__ModelProto *m, size_t form, bool is_evaluated) {
  size_t n = onnx__model_proto__get_packed_size(m);
  uint8_t *bytes = malloc(n + 1);
  wk_module *module = NULL;
  onnx__model_proto__pack(m, bytes);
  onnx__model_proto__free_unpacked(m, NULL);
  wk_status s = wk_import_onnx_memory(bytes, n, NULL, NULL, &module);
  int is_taken = !s;
  if (s && s->code == WK_INTERNAL) fail_msg("%s: %s", import_forms[form], s->message);
  if (module && is_evaluated) evaluate(module);
  wk_status_free(s);
  wk_module_free(module);
  free(bytes);
  return is_taken;
}

static void other_ranks(void **state) {
  (void)state;
  static const shape shapes[] = {{0, 0}, {1, 3}, {1, 1}, {1, 0}, {-1, 0}};
  static const uint32_t which[] = {UINT32_MAX, 1, 2, UINT32_MAX - 1};
  int taken = 0;
  for (size_t form = 0; form < WK_COUNTOF(import_forms); form++)
    for (size_t i = 0; i < WK_COUNTOF(shapes); i++)
      for (size_t k = 0; k < WK_COUNTOF(which); k++)
        for (int bare = 0; bare < 2; bare++) {
          Onnx__ModelProto *m = model_of(form);
          reshape(m, &shapes[i], which[k]);
          if (bare) leave_out_attributes(m);
          taken += feed(m, form, k == 0);
        }
  assert_true(taken > 2000);
}

static void fewer_operands(void **state) {
  (void)state;
  static const shape shapes[] = {{1, 0}, {0, 0}};
  int taken = 0;
  for (size_t form = 0; form < WK_COUNTOF(import_forms); form++)
    for (size_t i = 0; i <= WK_COUNTOF(shapes); i++)
      for (int bare = 0; bare < 2; bare++) {
        Onnx__ModelProto *m = model_of(form);
        leave_out_input(m);
        if (bare) leave_out_attributes(m);
        if (i < WK_COUNTOF(shapes)) reshape(m, &shapes[i], UINT32_MAX);
        taken += feed(m, form, false);
      }
  assert_true(taken > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(other_ranks),
                                     cmocka_unit_test(fewer_operands)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
