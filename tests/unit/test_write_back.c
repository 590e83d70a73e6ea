/* SPDX-License-Identifier: Apache-2.0 */
/* Trained tensors written back into a model file: which bytes differ, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/model_builder.h"

/* In memory where there is such a folder: every write is synchronised to the disk. */
static char dir[64], in[96], out[96], weights[96], copy[96];

static int make_folder(void **state) {
  (void)state;
  bool has_memory = access("/dev/shm", W_OK) == 0;
  snprintf(dir, sizeof dir, "%s/wick-back-XXXXXX", has_memory ? "/dev/shm" : "/tmp");
  if (!mkdtemp(dir)) return 1;
  snprintf(in, sizeof in, "%s/in.onnx", dir);
  snprintf(out, sizeof out, "%s/new/out.onnx", dir);
  snprintf(weights, sizeof weights, "%s/w/w.bin", dir);
  snprintf(copy, sizeof copy, "%s/new/w/w.bin", dir);
  char path[96];
  snprintf(path, sizeof path, "%s/new", dir);
  if (access(path, F_OK) && mkdir(path, 0777)) return 1;
  snprintf(path, sizeof path, "%s/w", dir);
  return mkdir(path, 0777);
}

static int remove_folder(void **state) {
  (void)state;
  char command[96];
  snprintf(command, sizeof command, "rm -r '%s'", dir);
  return system(command);
}

static void store(const char *path, const void *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static void save(builder *b) {
  size_t n = onnx__model_proto__get_packed_size(&b->model);
  uint8_t *bytes = wk_arena_alloc(b->a, n);
  onnx__model_proto__pack(&b->model, bytes);
  store(in, bytes, n);
}

static const float old_values[4] = {1, 2, 3, 4};
static float new_values[4] = {-1, 0.5f, 7, 1e-8f};
static const int64_t dims[1] = {4};

static wk_rewrite rewrite(const char *name) {
  return (wk_rewrite){name, {wk_type_make(WK_F32, 1, dims), new_values}};
}

static void add_tensor(builder *b, Onnx__TensorProto *t) {
  ADD(b, b->g->initializer, b->g->n_initializer, t);
}

static Onnx__TensorProto *typed(builder *b, const char *name, int32_t elem) {
  Onnx__TensorProto *t = raw_tensor(b, name, elem, 1, dims, old_values, sizeof old_values);
  t->has_raw_data = false;
  return t;
}

static void add_entry(builder *b, Onnx__TensorProto *t, const char *key, const char *v) {
  Onnx__StringStringEntryProto *e = wk_arena_alloc(b->a, sizeof *e);
  onnx__string_string_entry_proto__init(e);
  e->key = text(b, key);
  e->value = text(b, v);
  ADD(b, t->external_data, t->n_external_data, e);
}

/* The weights a (raw), b (an array), c (a constant), d (in another file); before c a constant of
 * another form. */
static builder model(void) {
  builder b = new_model(13);
  b.model.producer_name = text(&b, "test");
  add_tensor(&b, raw_tensor(&b, "a", ELEM_F32, 1, dims, old_values, sizeof old_values));
  Onnx__TensorProto *t = typed(&b, "b", ELEM_F32);
  t->n_float_data = 4;
  t->float_data = wk_arena_memdup(b.a, old_values, sizeof old_values);
  add_tensor(&b, t);
  t = typed(&b, "d", ELEM_F32);
  t->has_data_location = true;
  t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  add_entry(&b, t, "location", "w/w.bin");
  add_entry(&b, t, "offset", "8");
  add_entry(&b, t, "length", "16");
  add_tensor(&b, t);
  Onnx__NodeProto *n = add_node(&b, b.g, "Constant", "", "k");
  Onnx__AttributeProto *list = attribute(&b, n, "value_floats");
  list->n_floats = 4;
  list->floats = wk_arena_memdup(b.a, old_values, sizeof old_values);
  n = add_node(&b, b.g, "Constant", "", "c");
  attribute(&b, n, "value")->t =
      raw_tensor(&b, "", ELEM_F32, 1, dims, old_values, sizeof old_values);
  n->attribute[0]->has_type = true;
  n->attribute[0]->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
  add_node(&b, b.g, "Sum", "a b c d", "y");
  add_output(&b, b.g, "y", ELEM_F32);
  const float file[8] = {9, 9, 1, 2, 3, 4, 9, 9};
  store(weights, file, sizeof file);
  return b;
}

/* Bytes in which two files of one size differ. */
static size_t differing(const char *a, const char *b) {
  wk_file x, y;
  size_t n = 0;
  assert_null(wk_file_map(a, &x));
  assert_null(wk_file_map(b, &y));
  assert_int_equal(x.size, y.size);
  for (size_t i = 0; i < x.size; i++) n += x.data[i] != y.data[i];
  wk_file_unmap(&x);
  wk_file_unmap(&y);
  return n;
}

static void expect_values(const char *name, const float *want) {
  wk_module *m;
  wk_import_report report;
  assert_null(wk_import_onnx(out, &(wk_import_options){0}, &report, &m));
  /* Sum of constants is folded at import: one changed of four equal ones. */
  const wk_value *y = wk_val(m->main, m->main->outputs.data[0]);
  assert_int_equal(y->kind, WK_VALUE_CONSTANT);
  for (int i = 0; i < 4; i++) {
    float sum = want[i] + 3 * old_values[i];
    if (fabsf(((const float *)y->data)[i] - sum) > 1e-6f * fabsf(sum))
      fail_msg("%s: got %g, want %g", name, (double)((const float *)y->data)[i], (double)sum);
  }
  wk_import_report_free(&report);
  wk_module_free(m);
}

static wk_status write_back(const char *to, const wk_rewrite *r, size_t n) {
  wk_write_back *w;
  wk_status s = wk_onnx_write_back_open(in, to, r, n, &w);
  if (!s) s = wk_onnx_write_back_commit(w);
  wk_onnx_write_back_free(w);
  return s;
}

static size_t byte_diff(const void *a, const void *b, size_t n) {
  size_t d = 0;
  for (size_t i = 0; i < n; i++) d += ((const uint8_t *)a)[i] != ((const uint8_t *)b)[i];
  return d;
}

static void test_bytes(void **state) {
  (void)state;
  static const char *const names[] = {"a", "b", "c", "d"};
  size_t all = byte_diff(old_values, new_values, sizeof old_values);
  builder b = model();
  save(&b);
  for (size_t i = 0; i < WK_COUNTOF(names); i++) {
    wk_rewrite r = rewrite(names[i]);
    wk_status s = write_back(out, &r, 1);
    if (s) fail_msg("%s", s->message);
    bool is_external = i == 3;
    assert_int_equal(differing(in, out), is_external ? 0 : all);
    assert_int_equal(differing(weights, copy), is_external ? all : 0);
    expect_values(names[i], new_values);
  }
  assert_null(write_back(out, NULL, 0));
  assert_int_equal(differing(in, out), 0);
  wk_arena_free(b.a);
}

/* Opening says it already. */
static void expect_errors(const char *to, const wk_rewrite *r, size_t n, wk_code code,
                          const char *message) {
  wk_write_back *w;
  wk_status s = wk_onnx_write_back_open(in, to, r, n, &w);
  assert_null(w);
  assert_non_null(s);
  if (!strstr(s->message, message)) fail_msg("%s", s->message);
  assert_int_equal(s->code, code);
  wk_status_free(s);
}

static void expect_error(const char *to, const wk_rewrite *r, wk_code code, const char *message) {
  expect_errors(to, r, 1, code, message);
}

/* The files that are named, nothing written before the commit, and values that come later. */
static void test_late_values(void **state) {
  (void)state;
  float values[4] = {0};
  wk_rewrite r = {"d", {wk_type_make(WK_F32, 1, dims), values}};
  wk_write_back *w;
  builder b = model();
  save(&b);
  assert_null(wk_onnx_write_back_open(in, out, &r, 1, &w));
  assert_int_equal(wk_onnx_write_back_count(w), 2);
  wk_write_back_file model_file = wk_onnx_write_back_file(w, 0);
  wk_write_back_file data_file = wk_onnx_write_back_file(w, 1);
  assert_null(model_file.location);
  assert_string_equal(model_file.from, in);
  assert_string_equal(model_file.to, out);
  assert_string_equal(data_file.location, "w/w.bin");
  assert_string_equal(data_file.from, weights);
  assert_string_equal(data_file.to, copy);
  assert_int_equal(access(out, F_OK), -1);
  assert_int_equal(access(copy, F_OK), -1);
  memcpy(values, new_values, sizeof values);
  assert_null(wk_onnx_write_back_commit(w));
  wk_onnx_write_back_free(w);
  expect_values("d", new_values);
  wk_arena_free(b.a);
}

static void test_refusals(void **state) {
  (void)state;
  builder b = model();
  Onnx__TensorProto *half = typed(&b, "h", 10);
  half->n_int32_data = 4;
  half->int32_data = wk_arena_alloc(b.a, 4 * sizeof(int32_t));
  add_tensor(&b, half);
  Onnx__TensorProto *overlap = typed(&b, "e", ELEM_F32);
  overlap->has_data_location = true;
  overlap->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  add_entry(&b, overlap, "location", "w/w.bin");
  add_entry(&b, overlap, "offset", "12");
  add_entry(&b, overlap, "length", "16");
  add_tensor(&b, overlap);
  save(&b);
  unlink(copy);
  char beside[96];
  snprintf(beside, sizeof beside, "%s/beside.onnx", dir);
  wk_rewrite r = rewrite("nobody");
  expect_error(out, &r, WK_UNSUPPORTED, "'nobody' is no initialiser");
  r = rewrite("h");
  r.value.type.dtype = WK_F16;
  expect_error(out, &r, WK_UNSUPPORTED, "varying lengths");
  r = rewrite("d");
  r.value.type.dtype = WK_I32;
  expect_error(out, &r, WK_INTERNAL, "'d' has another type than its new value");
  r = rewrite("d");
  expect_error(beside, &r, WK_USAGE, "write to another folder");
  assert_int_equal(access(beside, F_OK), -1);
  assert_int_equal(access(copy, F_OK), -1);
  expect_error("-", &r, WK_USAGE, "standard output");
  const wk_rewrite both[] = {rewrite("d"), rewrite("e")};
  expect_errors(out, both, 2, WK_UNSUPPORTED, "share their bytes");
  store(in, "ir_version: 8 graph { name: \"g\" }", 33);
  expect_error(out, &r, WK_UNSUPPORTED, "no binary ONNX file");
  wk_arena_free(b.a);
}

static void add_unknown(builder *b, ProtobufCMessage *m, uint32_t number, int bytes) {
  ProtobufCMessageUnknownField *f = wk_arena_alloc(b->a, 2 * sizeof *f);
  f->tag = number;
  f->wire_type = bytes == 8 ? PROTOBUF_C_WIRE_TYPE_64BIT : PROTOBUF_C_WIRE_TYPE_32BIT;
  f->len = (size_t)bytes;
  f->data = wk_arena_memdup(b->a, "\x29\x2a\x2d\x32\x01\x02\x03\x04", 8);
  m->n_unknown_fields = 1;
  m->unknown_fields = f;
}

/* The tensor's numbers, as field `number`, behind what add_unknown has added. */
static void put_behind(builder *b, Onnx__TensorProto *t, uint32_t number) {
  ProtobufCMessageUnknownField *f = &t->base.unknown_fields[t->base.n_unknown_fields++];
  uint8_t bytes[1 + sizeof old_values] = {sizeof old_values};
  memcpy(bytes + 1, old_values, sizeof old_values);
  *f = (ProtobufCMessageUnknownField){number, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, sizeof bytes,
                                      wk_arena_memdup(b->a, bytes, sizeof bytes)};
  t->has_raw_data = false;
  t->n_float_data = 0;
}

/* Fields of fixed width that ONNX does not have are passed over. */
static void test_unknown_fields(void **state) {
  (void)state;
  enum { FLOATS = 4, RAW = 9 };
  for (int round = 0; round < 4; round++) {
    bool is_behind = round & 1, is_wide = round & 2;
    builder b = model();
    for (size_t i = 0; i < b.g->n_initializer; i++)
      add_unknown(&b, &b.g->initializer[i]->base, 200, (i % 2 == 0) == is_wide ? 8 : 4);
    add_unknown(&b, &b.g->base, 201, 8);
    add_unknown(&b, &b.model.base, 202, 4);
    if (is_behind) {
      put_behind(&b, b.g->initializer[0], RAW);
      put_behind(&b, b.g->initializer[1], FLOATS);
    }
    save(&b);
    for (size_t i = 0; i < 2; i++) {
      wk_rewrite r = rewrite(i ? "b" : "a");
      assert_null(write_back(out, &r, 1));
      assert_int_equal(differing(in, out), byte_diff(old_values, new_values, sizeof old_values));
      expect_values(r.name, new_values);
    }
    wk_arena_free(b.a);
  }
}

/* Arrays and parts of files that are shorter or longer than the shape says. */
static void test_other_sizes(void **state) {
  static const char *const names[] = {"b", "b", "d", "d"};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(names); i++) {
    builder b = model();
    Onnx__TensorProto *array = b.g->initializer[1], *external = b.g->initializer[2];
    if (i < 2) {
      array->n_float_data = i ? 5 : 3;
      array->float_data = wk_arena_alloc(b.a, 5 * sizeof(float));
    } else {
      external->external_data[2]->value = text(&b, i == 2 ? "12" : "20");
    }
    save(&b);
    wk_rewrite r = rewrite(names[i]);
    expect_error(out, &r, WK_INPUT, "is not what was read before");
    wk_arena_free(b.a);
  }
}

static void test_folders(void **state) {
  (void)state;
  builder b = model();
  char nowhere[96];
  save(&b);
  snprintf(nowhere, sizeof nowhere, "%s/none/out.onnx", dir);
  wk_rewrite r = rewrite("d");
  expect_error(nowhere, &r, WK_IO, "cannot make the folder");
  unlink(in);
  expect_error(out, &r, WK_IO, "No such file");
  wk_arena_free(b.a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_bytes, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_late_values, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_refusals, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_unknown_fields, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_other_sizes, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_folders, make_folder, remove_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
