/* SPDX-License-Identifier: Apache-2.0
 * Models that are broken or meant to hurt: an error, quickly, and no crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/pace.h"
#include "tests/unit/model_builder.h"

/* Imports bytes; only the status code matters. */
static wk_code import_bytes(const uint8_t *bytes, size_t n) {
  wk_module *m = NULL;
  wk_status s = wk_import_onnx_memory(bytes, n, NULL, NULL, &m);
  wk_code code = s ? s->code : WK_OK;
  wk_status_free(s);
  wk_module_free(m);
  assert_int_not_equal(code, WK_INTERNAL);
  return code;
}

/* Packs and imports under a time limit; frees the builder. */
static wk_code import_quickly(builder *b) {
  size_t n = onnx__model_proto__get_packed_size(&b->model);
  uint8_t *bytes = malloc(n + 1);
  onnx__model_proto__pack(&b->model, bytes);
  wk_arena_free(b->a);
  double start = pace_seconds();
  wk_code code = import_bytes(bytes, n);
  assert_true(pace_seconds() - start < machine_pace());
  free(bytes);
  return code;
}

/* A model with a bit of everything. */
static builder sample(void) {
  const float w[4] = {1, 2, 3, 4};
  builder b = new_model(17);
  add_input(&b, b.g, "x", ELEM_F32, "1 2 4");
  add_input(&b, b.g, "c", ELEM_BOOL, "");
  Onnx__TensorProto *t = raw_tensor(&b, "w", ELEM_F32, 3, (const int64_t[]){1, 2, 2}, w, sizeof w);
  ADD(&b, b.g->initializer, b.g->n_initializer, t);
  add_i64s(&b, b.g, "shape", (const int64_t[]){-1, 3}, 2);
  Onnx__NodeProto *n = add_node(&b, b.g, "Conv", "x w", "conv");
  set_int(&b, n, "group", 1);
  add_node(&b, b.g, "Shape", "conv", "dims");
  Onnx__GraphProto *then_graph = new_graph(&b, "t"), *else_graph = new_graph(&b, "e");
  add_node(&b, then_graph, "Reshape", "conv shape", "p");
  add_output(&b, then_graph, "p", ELEM_F32);
  add_node(&b, else_graph, "Squeeze", "conv", "r");
  add_node(&b, else_graph, "Reshape", "r shape", "q");
  add_output(&b, else_graph, "q", ELEM_F32);
  n = add_node(&b, b.g, "If", "c", "y");
  set_graph(&b, n, "then_branch", then_graph);
  set_graph(&b, n, "else_branch", else_graph);
  add_output(&b, b.g, "y", ELEM_F32);
  return b;
}

static uint8_t *pack_sample(size_t *n) {
  builder b = sample();
  *n = onnx__model_proto__get_packed_size(&b.model);
  uint8_t *bytes = malloc(*n);
  onnx__model_proto__pack(&b.model, bytes);
  wk_arena_free(b.a);
  return bytes;
}

static void truncated(void **state) {
  (void)state;
  size_t n;
  uint8_t *bytes = pack_sample(&n);
  assert_int_equal(import_bytes(bytes, n), WK_OK);
  for (size_t k = 0; k < n; k++) import_bytes(bytes, k);
  assert_int_equal(import_bytes(bytes, 0), WK_INPUT);
  assert_int_equal(import_bytes(bytes, n / 2), WK_INPUT);
  free(bytes);
}

static void flipped(void **state) {
  (void)state;
  size_t n;
  uint8_t *bytes = pack_sample(&n), *copy = malloc(n);
  wk_rng rng = {2024};
  for (int round = 0; round < 4000; round++) {
    memcpy(copy, bytes, n);
    for (uint64_t k = 1 + wk_rng_next(&rng) % 3; k > 0; k--) {
      size_t at = wk_rng_next(&rng) % n;
      bool replace = wk_rng_next(&rng) % 2;
      copy[at] =
          replace ? (uint8_t)wk_rng_next(&rng) : copy[at] ^ (uint8_t)(1u << wk_rng_next(&rng) % 8);
    }
    import_bytes(copy, n);
  }
  free(copy);
  free(bytes);
}

static void no_model(void **state) {
  (void)state;
  static const uint8_t png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\10\2\0\0\0";
  assert_int_equal(import_bytes(png, sizeof png), WK_INPUT);
  uint8_t random[512];
  wk_rng rng = {7};
  for (int round = 0; round < 500; round++) {
    for (size_t i = 0; i < sizeof random; i++) random[i] = (uint8_t)wk_rng_next(&rng);
    assert_int_not_equal(import_bytes(random, sizeof random), WK_OK);
  }
}

/* Branches within branches, far beyond the limit. */
static void depth_bomb(void **state) {
  (void)state;
  for (int depth = 60; depth <= 2000; depth += 970) {
    builder b = new_model(17);
    add_input(&b, b.g, "c", ELEM_BOOL, "");
    add_input(&b, b.g, "x", ELEM_F32, "1");
    Onnx__GraphProto *inner = new_graph(&b, "leaf");
    add_node(&b, inner, "Neg", "x", "y0");
    add_output(&b, inner, "y0", ELEM_F32);
    for (int i = 1; i <= depth; i++) {
      const char *name = wk_arena_printf(b.a, "y%d", i);
      Onnx__GraphProto *g = i == depth ? b.g : new_graph(&b, "g");
      Onnx__NodeProto *n = add_node(&b, g, "If", "c", name);
      set_graph(&b, n, "then_branch", inner);
      set_graph(&b, n, "else_branch", new_graph(&b, "e"));
      add_output(&b, g, name, ELEM_F32);
      inner = g;
    }
    assert_int_not_equal(import_quickly(&b), WK_OK);
  }
}

/* Messages nested by hand, deeper than any stack: field 7 of ModelProto, then 1, 5, 6 again and
 * again. */
static void wire_bomb(void **state) {
  (void)state;
  enum { LEVELS = 30000 };
  uint8_t *bytes = malloc(LEVELS * 6), *p = bytes + LEVELS * 6;
  static const uint8_t cycle[] = {7 << 3 | 2, 1 << 3 | 2, 5 << 3 | 2, 6 << 3 | 2};
  size_t n = 0;
  for (int i = LEVELS; i-- > 0;) {
    uint8_t head[6];
    size_t k = 0;
    head[k++] = i == 0 ? cycle[0] : cycle[1 + (i - 1) % 3];
    for (uint64_t v = n; ; v >>= 7) {
      head[k++] = (uint8_t)(v & 0x7f) | (v > 0x7f ? 0x80 : 0);
      if (v <= 0x7f) break;
    }
    p -= k;
    memcpy(p, head, k);
    n += k;
  }
  double start = pace_seconds();
  assert_int_equal(import_bytes(p, n), WK_RESOURCE);
  assert_true(pace_seconds() - start < machine_pace());
  free(bytes);
}

/* Small files that ask for much: sizes, counts and trips from constants. */
static void huge_results(void **state) {
  (void)state;
  static const struct { const char *op, *in; int64_t v[3]; int n; } cases[] = {
    {"ConstantOfShape", "v", {(int64_t)1 << 40}, 1},
    {"ConstantOfShape", "v", {1 << 20, 1 << 20, 1 << 20}, 3},
    {"ConstantOfShape", "v", {-5}, 1},
    {"Expand", "x v", {(int64_t)1 << 38}, 1},
    {"Expand", "x v", {INT64_MAX, INT64_MAX}, 2},
    {"Tile", "x v", {(int64_t)1 << 45}, 1},
    {"Reshape", "x v", {INT64_MAX, -1}, 2},
    {"Pad", "x v", {INT64_MAX, INT64_MAX}, 2},
    {"Pad", "x v", {INT64_MIN, 0}, 2},
    {"Slice", "x v v", {INT64_MIN}, 1},
    {"Slice", "x v v v v", {0}, 1},
    {"Unsqueeze", "x v", {INT64_MIN}, 1},
    {"TopK", "x v", {INT64_MAX}, 1},
    {"HannWindow", "v", {INT64_MAX}, 1},
    {"Split", "x v", {INT64_MAX, 3}, 2},
  };
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    builder b = new_model(17);
    add_input(&b, b.g, "x", ELEM_F32, "1");
    add_i64s(&b, b.g, "v", cases[i].v, cases[i].n);
    add_node(&b, b.g, cases[i].op, cases[i].in, "y z");
    add_output(&b, b.g, "y", ELEM_F32);
    import_quickly(&b);
  }
}

/* Many large constants cost address space, not memory; their number is limited too. */
static void many_splats(void **state) {
  (void)state;
  builder b = new_model(17);
  add_i64s(&b, b.g, "v", (const int64_t[]){1 << 12, 1 << 12}, 2);
  for (int i = 0; i < 1000; i++) {
    add_node(&b, b.g, "ConstantOfShape", "v", wk_arena_printf(b.a, "c%d", i));
  }
  add_output(&b, b.g, "c999", ELEM_F32);
  assert_int_equal(import_quickly(&b), WK_OK);
}

/* Attribute values that would divide by zero or index outside. */
static void hostile_attributes(void **state) {
  (void)state;
  static const struct { const char *op, *in, *attribute; int64_t v; } cases[] = {
    {"Conv", "x x", "group", 0},         {"Conv", "x x", "group", -1},
    {"Conv", "x x", "group", INT64_MIN}, {"DepthToSpace", "x", "blocksize", 0},
    {"SpaceToDepth", "x", "blocksize", INT64_MAX}, {"Concat", "x x", "axis", 9},
    {"Softmax", "x", "axis", INT64_MIN}, {"Gather", "x x", "axis", 77},
    {"Flatten", "x", "axis", -77},       {"ArgMax", "x", "axis", INT64_MAX},
    {"LpPool", "x", "p", 0},             {"LRN", "x", "size", 0},
    {"EyeLike", "x", "k", INT64_MIN},    {"Split", "x", "axis", 4},
    {"LayerNormalization", "x x", "axis", -9}, {"Shape", "x", "start", INT64_MIN},
    {"Shape", "x", "end", INT64_MIN},    {"Cast", "x", "to", INT64_MAX},
    {"Cast", "x", "to", -1},             {"ReduceSum", "x", "keepdims", INT64_MIN},
    {"Trilu", "x", "upper", 5},          {"DFT", "x", "axis", INT64_MIN},
    {"Compress", "x x", "axis", 99},     {"GatherND", "x x", "batch_dims", INT64_MAX},
  };
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    builder b = new_model(17);
    add_input(&b, b.g, "x", ELEM_F32, "1 1 2 2");
    set_int(&b, add_node(&b, b.g, cases[i].op, cases[i].in, "y"), cases[i].attribute, cases[i].v);
    add_output(&b, b.g, "y", ELEM_F32);
    import_quickly(&b);
  }
}

/* External data stays beneath the model's folder, and a model in memory has none. */
static void external_data(void **state) {
  (void)state;
  builder b = new_model(17);
  Onnx__TensorProto *t = raw_tensor(&b, "w", ELEM_F32, 1, (const int64_t[]){1}, "", 0);
  t->has_raw_data = false;
  t->has_data_location = true;
  t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  Onnx__StringStringEntryProto *e = wk_arena_alloc(b.a, sizeof *e);
  onnx__string_string_entry_proto__init(e);
  e->key = text(&b, "location");
  e->value = text(&b, "../../etc/passwd");
  ADD(&b, t->external_data, t->n_external_data, e);
  ADD(&b, b.g->initializer, b.g->n_initializer, t);
  add_node(&b, b.g, "Neg", "w", "y");
  add_output(&b, b.g, "y", ELEM_F32);
  assert_int_equal(import_quickly(&b), WK_INPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(truncated),     cmocka_unit_test(flipped),
    cmocka_unit_test(no_model),      cmocka_unit_test(depth_bomb),
    cmocka_unit_test(wire_bomb),     cmocka_unit_test(huge_results),
    cmocka_unit_test(many_splats),   cmocka_unit_test(hostile_attributes),
    cmocka_unit_test(external_data),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
