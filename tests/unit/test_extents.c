/* SPDX-License-Identifier: Apache-2.0
 * Sizes that a run decides, on the devices of toy_device.h: what goes into stages and what comes
 * out of outputs for every size that there may be, and what is refused. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "runtime/internal.h"
#include "tests/unit/toy_model.h"

typedef struct {
  void *data;
  wick_model *model;
  wick_session *session;
} opened_package;

static opened_package open_package(wk_package *p) {
  opened_package o;
  size_t size;
  wk_status s = wk_package_bytes(p, &o.data, &size);
  if (s) fail_msg("%s", s->message);
  wk_package_free(p);
  wick_error_detail why = {{0}};
  const wick_load_options options = {.size = sizeof options, .detail = &why};
  if (wick_model_load_memory(o.data, size, &options, &o.model) != WICK_OK) fail_msg("%s", why.text);
  assert_int_equal(wick_session_create(o.model, 0, 1, &o.session), WICK_OK);
  return o;
}

static void close_package(opened_package *o) {
  wick_session_free(o->session);
  wick_model_free(o->model);
  free(o->data);
}

static wk_package_tensor tensor_of(const char *name, int rank, const int64_t *dims,
                                   uint32_t flags) {
  return (wk_package_tensor){.name = name, .dtype = WICK_F32, .rank = rank, .dims = dims,
                             .flags = flags};
}

static wk_package_tensor edge_of(uint32_t dtype, int rank, const int64_t *dims, int64_t offset) {
  return (wk_package_tensor){.name = "", .dtype = dtype, .rank = rank, .dims = dims,
                             .place = WICK_PLACE_EDGE, .offset = offset};
}

static void refused(wick_session *s, wick_status status, const char *why) {
  assert_int_equal(status, WICK_BAD_ARGUMENT);
  assert_string_equal(wick_session_error(s), why);
}

/* ---- every size along every axis ------------------------------------------------------------- */

enum { CUBE = 3 * 4 * 2 };
static const int64_t most[] = {3, 4, 2};

/* y = x + 1, of [3, 4, 2] at most along the axes of `limited`. */
static wk_package *cube_package(int limited) {
  enum { X, Y, STAGE, SIZES };
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "cube"});
  uint32_t unit = toy_add_unit(p, "async", toy_async_ops, sizeof toy_async_ops);
  const wk_package_tensor plain = tensor_of("", 3, most, 0), io[] = {plain, plain};
  const wk_package_tensor x = tensor_of("x", 3, most, WICK_TENSOR_BOUND);
  const wk_package_tensor y = tensor_of("y", 3, most, WICK_TENSOR_BOUND);
  const wk_package_tensor edges[] = {
      edge_of(WICK_F32, 3, most, 0), edge_of(WICK_I64, 0, NULL, 128),
      edge_of(WICK_I64, 0, NULL, 136), edge_of(WICK_I64, 0, NULL, 144)};
  wk_package_extent extents[6];
  size_t n = 0;
  for (uint32_t output = 0; output < 2; output++)
    for (uint32_t k = 0; k < 3; k++)
      if (limited >> k & 1)
        extents[n++] = (wk_package_extent){.tensor = output, .axis = k, .size = SIZES + k,
                                           .stage = output ? WICK_NONE : STAGE, .name = "n"};
  const wk_package_row row = {.kind = WICK_ROW_RUN, TOY_ON(STAGE, Y),
                              .part = toy_add_part(p, "plus", unit, TOY_PLUS, io, 1, 1)};
  wk_package_add_entry(p, &(wk_package_entry){
      .inputs = &x, .n_inputs = 1, .outputs = &y, .n_outputs = 1, .edges = edges, .n_edges = 4,
      .edge_bytes = 152, .rows = &row, .n_rows = 1, .extents = extents, .n_extents = n});
  return p;
}

/* The sizes of run number `run`, which counts up along the limited axes; false: it has no such. */
static bool sizes_of(int limited, int run, int64_t *dims) {
  for (int k = 0; k < 3; k++) {
    int sizes = limited >> k & 1 ? (int)most[k] + 1 : 1;
    dims[k] = sizes > 1 ? run % sizes : most[k];
    run /= sizes;
  }
  return run == 0;
}

static void run_cube(wick_session *s, const int64_t *dims) {
  _Alignas(64) float x[CUBE], y[CUBE];
  int64_t n = dims[0] * dims[1] * dims[2];
  for (int i = 0; i < CUBE; i++) x[i] = i < n ? (float)(100 + i) : -1;
  assert_int_equal(wick_session_set_input_dims(s, 0, dims), WICK_OK);
  assert_memory_equal(wick_session_input_dims(s, 0), dims, 3 * sizeof *dims);
  const void *input = n ? x : NULL;
  assert_int_equal(wick_session_run(s, &input, (void *[]){y}), WICK_OK);
  assert_memory_equal(wick_session_output_dims(s, 0), dims, 3 * sizeof *dims);
  for (int i = 0; i < n; i++)
    if (y[i] != (float)(101 + i))
      fail_msg("%dx%dx%d: y[%d] is %g", (int)dims[0], (int)dims[1], (int)dims[2], i, (double)y[i]);
}

static void every_size_is_run(void **state) {
  (void)state;
  for (int limited = 1; limited < 8; limited++) {
    opened_package o = open_package(cube_package(limited));
    int64_t dims[3];
    int n = 0;
    run_cube(o.session, most);
    for (; sizes_of(limited, n, dims); n++) run_cube(o.session, dims);
    while (n-- > 0) assert_true(sizes_of(limited, n, dims)), run_cube(o.session, dims);
    close_package(&o);
  }
}

/* ---- two inputs of one size ------------------------------------------------------------------ */

/* ids [2, 1 <= seq <= 5, 3] and mask [2, seq]; y = ids + 1, and z the same of size seq + 1, beyond
 * which the stage has what it had; within that there is an edge of no bytes, which a row writes.
 * Entry 1 is y alone for seq = 7. */
static wk_package *pair_package(void) {
  enum { IDS, MASK, Y, Z, STAGE, STAGE_MASK, SEQ, K, EMPTY, PLACES };
  static const int64_t two_five_three[] = {2, 5, 3}, two_five[] = {2, 5}, seven[] = {2, 7, 3},
                       nothing[] = {0};
  static const toy_op ops[] = {{TOY_ADD_C, 1, 0, 0, 1}, {.kind = TOY_END},
                               {TOY_SHIFT, 1, 0, 0, 1}, {.kind = TOY_END}};
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "pair"});
  uint32_t unit = toy_add_unit(p, "async", ops, sizeof ops);
  const wk_package_tensor plain = tensor_of("", 3, two_five_three, 0), plus[] = {plain, plain};
  const wk_package_tensor size = {.name = "", .dtype = WICK_I64}, sizes[] = {size, size};
  const wk_package_tensor in[] = {tensor_of("ids", 3, two_five_three, WICK_TENSOR_BOUND),
                                  tensor_of("mask", 2, two_five, WICK_TENSOR_BOUND)};
  const wk_package_tensor out[] = {tensor_of("y", 3, two_five_three, WICK_TENSOR_BOUND),
                                   tensor_of("z", 3, two_five_three, WICK_TENSOR_BOUND)};
  const wk_package_tensor edges[] = {
      edge_of(WICK_F32, 3, two_five_three, 0), edge_of(WICK_F32, 2, two_five, 128),
      edge_of(WICK_I64, 0, NULL, 168), edge_of(WICK_I64, 0, NULL, 176),
      edge_of(WICK_F32, 1, nothing, 4)};
  uint32_t part = toy_add_part(p, "plus", unit, 0, plus, 1, 1);
  const wk_package_row rows[] = {
      {.kind = WICK_ROW_RUN, TOY_ON(STAGE, Y), .part = part},
      {.kind = WICK_ROW_RUN, TOY_ON(STAGE, Z), .part = part},
      {.kind = WICK_ROW_RUN, TOY_ON(SEQ, K), .part = toy_add_part(p, "k", unit, 2, sizes, 1, 1)},
      {.kind = WICK_ROW_COPY, TOY_ON(STAGE, EMPTY)}};
  const wk_package_extent extents[] = {{IDS, 1, SEQ, STAGE, "seq", 1},
                                       {MASK, 1, SEQ, STAGE_MASK, "seq", 0},
                                       {Y, 1, SEQ, WICK_NONE, "seq", 0},
                                       {Z, 1, K, WICK_NONE, "k", 0}};
  wk_package_add_entry(p, &(wk_package_entry){
      .name = "seq", .inputs = in, .n_inputs = 2, .outputs = out, .n_outputs = 2, .edges = edges,
      .n_edges = PLACES - STAGE, .edge_bytes = 184, .rows = rows, .n_rows = 4, .extents = extents,
      .n_extents = 4});
  const wk_package_tensor x = tensor_of("x", 3, seven, 0);
  const wk_package_row copy = {.kind = WICK_ROW_COPY, TOY_ON(0, 1), .bytes = 4};
  wk_package_add_entry(p, &(wk_package_entry){.name = "seven", .inputs = &x, .n_inputs = 1,
                                              .outputs = &x, .n_outputs = 1, .rows = &copy,
                                              .n_rows = 1});
  return p;
}

typedef struct {
  _Alignas(64) float ids[30], mask[10], y[30], z[30];
  const void *inputs[2];
  void *outputs[2];
} buffers;

static void fill(buffers *b) {
  memset(b, 0, sizeof *b);
  for (int i = 0; i < 30; i++) b->ids[i] = (float)(i + 1);
  b->inputs[0] = b->ids, b->inputs[1] = b->mask;
  b->outputs[0] = b->y, b->outputs[1] = b->z;
}

static void set_seq(wick_session *s, int64_t ids, int64_t mask) {
  assert_int_equal(wick_session_set_input_dims(s, 0, (int64_t[]){2, ids, 3}), WICK_OK);
  assert_int_equal(wick_session_set_input_dims(s, 1, (int64_t[]){2, mask}), WICK_OK);
}

/* [2, n, 3] that begins with what `ids` has for seq. */
static void expect_ids(const float *got, int64_t n, int64_t seq, float beyond) {
  for (int64_t i = 0; i < 2 * n * 3; i++) {
    int64_t b = i / (3 * n), row = i / 3 % n, want = (b * seq + row) * 3 + i % 3 + 2;
    float w = row < seq ? (float)want : beyond;
    if (got[i] != w)
      fail_msg("[%d] of %d is %g, not %g", (int)i, (int)n, (double)got[i], (double)w);
  }
}

static void sizes_come_from_parts_too(void **state) {
  (void)state;
#ifdef M_PERTURB
  mallopt(M_PERTURB, 0x80); /* what is not zeroed is 3.4e38 */
#endif
  opened_package o = open_package(pair_package());
  wick_session *s = o.session;
  buffers b;
  for (int64_t seq = 1; seq < 5; seq++) { /* the row behind is still zeros */
    fill(&b);
    set_seq(s, seq, seq);
    assert_int_equal(wick_session_run(s, b.inputs, b.outputs), WICK_OK);
    assert_int_equal(wick_session_output_dims(s, 0)[1], seq);
    assert_int_equal(wick_session_output_dims(s, 1)[1], seq + 1);
    expect_ids(b.y, seq, seq, 0);
    expect_ids(b.z, seq + 1, seq, 1);
  }
  fill(&b);
  set_seq(s, 5, 5);
  assert_int_equal(wick_session_run(s, b.inputs, b.outputs), WICK_RUN_FAILED);
  assert_string_equal(wick_session_error(s), "output z is larger than it may be");
  set_seq(s, 2, 2);
  assert_int_equal(wick_session_run(s, b.inputs, b.outputs), WICK_OK);
  expect_ids(b.y, 2, 2, 0);
  close_package(&o);
}

static void inputs_agree(void **state) {
  (void)state;
  opened_package o = open_package(pair_package());
  wick_session *s = o.session;
  wick_step_profile profile[3] = {{0, 0}};
  buffers b;
  fill(&b);
  set_seq(s, 3, 4);
  const char *why = "input mask has 4 elements along axis 1, where input ids has 3 (seq)";
  refused(s, wick_session_run(s, b.inputs, b.outputs), why);
  refused(s, wick_session_run_profiled(s, b.inputs, b.outputs, profile), why);
  assert_int_equal(profile[0].calls, 0);
  assert_int_equal(wick_session_set_input_dims(s, 1, (int64_t[]){2, 3}), WICK_OK);
  assert_string_equal(wick_session_error(s), "");
  assert_int_equal(wick_session_run(s, b.inputs, b.outputs), WICK_OK);
  close_package(&o);
}

static void dims_are_checked(void **state) {
  (void)state;
  opened_package o = open_package(pair_package());
  wick_session *s = o.session;
  refused(s, wick_session_set_input_dims(s, 0, (int64_t[]){2, 6, 3}),
          "input ids has 6 elements along axis 1, where 1 to 5 may be (seq)");
  refused(s, wick_session_set_input_dims(s, 0, (int64_t[]){2, 0, 3}),
          "input ids has 0 elements along axis 1, where 1 to 5 may be (seq)");
  refused(s, wick_session_set_input_dims(s, 1, (int64_t[]){2, -1}),
          "input mask has -1 elements along axis 1, where 0 to 5 may be (seq)");
  refused(s, wick_session_set_input_dims(s, 0, (int64_t[]){2, 4, 2}),
          "input ids has 2 elements along axis 2, where 3 must be");
  refused(s, wick_session_set_input_dims(s, 0, (int64_t[]){3, 4, 3}),
          "input ids has 3 elements along axis 0, where 2 must be");
  refused(s, wick_session_set_input_dims(s, 2, (int64_t[]){2, 4, 3}), "there is no input 2");
  assert_int_equal(wick_session_set_input_dims(s, 0, NULL), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_set_input_dims(NULL, 0, (int64_t[]){2, 4, 3}), WICK_BAD_ARGUMENT);
  assert_null(wick_session_input_dims(NULL, 0));
  assert_null(wick_session_input_dims(s, 2));
  assert_memory_equal(wick_session_input_dims(s, 0), ((int64_t[]){2, 5, 3}), 24);
  assert_memory_equal(wick_session_input_dims(s, 1), ((int64_t[]){2, 5}), 16);
  close_package(&o);
}

/* Dims of an input that is no bound are the entry's, and may be said. */
static void fixed_inputs_have_dims(void **state) {
  wick_session *s;
  assert_int_equal(wick_session_create(*state, TOY_PLAN, 1, &s), WICK_OK);
  assert_int_equal(wick_session_input_dims(s, 0)[0], 4);
  assert_int_equal(wick_session_set_input_dims(s, 0, (int64_t[]){4}), WICK_OK);
  refused(s, wick_session_set_input_dims(s, 0, (int64_t[]){3}),
          "input x has 3 elements along axis 0, where 4 must be");
  wick_session_free(s);
}

static void missing_buffers_are_refused(void **state) {
  (void)state;
  opened_package o = open_package(pair_package());
  buffers b;
  for (int k = 0; k < 4; k++) {
    fill(&b);
    set_seq(o.session, 1, 1);
    if (k < 2) b.inputs[k] = NULL;
    else b.outputs[k - 2] = NULL;
    refused(o.session, wick_session_run(o.session, b.inputs, b.outputs), "");
  }
  close_package(&o);
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* Inputs a and b of [2, 2] at most, whose rows name these stages: of a axis 0, axis 1, of b. */
static void try_stages(const uint32_t *stages, const char *why) {
  enum { A, B, S, T, N };
  static const int64_t two_two[] = {2, 2};
  const wk_package_tensor in[] = {tensor_of("a", 2, two_two, WICK_TENSOR_BOUND),
                                  tensor_of("b", 2, two_two, WICK_TENSOR_BOUND)};
  const wk_package_tensor edges[] = {edge_of(WICK_F32, 2, two_two, 0),
                                     edge_of(WICK_F32, 2, two_two, 16),
                                     edge_of(WICK_I64, 0, NULL, 32)};
  const wk_package_extent extents[] = {{A, 0, N, S + stages[0], "n", 0},
                                       {A, 1, N, S + stages[1], "n", 0},
                                       {B, 1, N, S + stages[2], "n", 0}};
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "stages"});
  wk_package_add_entry(p, &(wk_package_entry){.inputs = in, .n_inputs = 2, .edges = edges,
                                              .n_edges = 3, .edge_bytes = 40, .extents = extents,
                                              .n_extents = 3});
  void *data;
  size_t size;
  wick_model *model = NULL;
  wick_error_detail detail = {{0}};
  const wick_load_options options = {.size = sizeof options, .detail = &detail};
  assert_null(wk_package_bytes(p, &data, &size));
  assert_int_equal(wick_model_load_memory(data, size, &options, &model),
                   *why ? WICK_CORRUPT : WICK_OK);
  assert_string_equal(detail.text, why);
  wick_model_free(model);
  free(data);
  wk_package_free(p);
}

static void inputs_have_one_stage_each(void **state) {
  (void)state;
  try_stages((const uint32_t[]){0, 0, 1}, "");
  try_stages((const uint32_t[]){1, 1, 0}, "");
  try_stages((const uint32_t[]){0, 1, 1}, "EXTENTS: row 1 contradicts itself");
  try_stages((const uint32_t[]){1, 1, 1}, "ENTRIES: row 0 contradicts itself");
}

/* ---- what the entry says --------------------------------------------------------------------- */

static void entry_tells_extents(void **state) {
  (void)state;
  opened_package o = open_package(pair_package());
  const wick_entry_info *e = wick_session_entry(o.session);
  static const struct {
    uint32_t tensor, axis;
    int64_t least;
    const char *name;
  } wanted[] = {{0, 1, 1, "seq"}, {1, 1, 0, "seq"}, {2, 1, 0, "seq"}, {3, 1, 0, "k"}};
  assert_int_equal(e->extent_count, 4);
  for (uint32_t i = 0; i < 4; i++) {
    assert_int_equal(e->extents[i].size, sizeof *e->extents);
    assert_int_equal(e->extents[i].tensor, wanted[i].tensor);
    assert_int_equal(e->extents[i].axis, wanted[i].axis);
    assert_int_equal(e->extents[i].least, wanted[i].least);
    assert_string_equal(e->extents[i].name, wanted[i].name);
    assert_true((i < 2 ? e->inputs[i] : e->outputs[i - 2]).is_bound);
  }
  assert_int_equal(wick_model_entry(o.model, 1)->extent_count, 0);
  close_package(&o);
}

static void entries_are_found(void **state) {
  (void)state;
  opened_package o = open_package(pair_package());
  uint32_t entry = 9;
  for (int64_t n = -1; n < 9; n++) {
    const wick_shape shapes[] = {{3, {2, n, 3}}, {2, {2, n}}};
    wick_status status = wick_model_find_entry(o.model, shapes, 2, &entry);
    assert_int_equal(status, n >= 1 && n <= 5 ? WICK_OK : WICK_NO_ENTRY);
    if (status == WICK_OK) assert_int_equal(entry, 0);
    status = wick_model_find_entry(o.model, shapes, 1, &entry);
    assert_int_equal(status, n == 7 ? WICK_OK : WICK_NO_ENTRY);
    if (status == WICK_OK) assert_int_equal(entry, 1);
  }
  const wick_shape other[] = {{3, {3, 4, 3}}, {2, {2, 4}}}, flat[] = {{2, {2, 4}}, {2, {2, 4}}};
  assert_int_equal(wick_model_find_entry(o.model, other, 2, &entry), WICK_NO_ENTRY);
  assert_int_equal(wick_model_find_entry(o.model, flat, 2, &entry), WICK_NO_ENTRY);
  close_package(&o);
}

/* ---- other ways to run ----------------------------------------------------------------------- */

/* The session copies what is in them: they are the host's. */
static void memory_is_the_hosts(void **state) {
  (void)state;
  static const char *const why[] = {
      "input 0 (ids) is not one device's alone", "input 1 (mask) is not one device's alone",
      "output 0 (y) is not one device's alone", "output 1 (z) is not one device's alone"};
  opened_package o = open_package(pair_package());
  void *memory;
  for (uint32_t i = 0; i < 4; i++)
    refused(o.session, wick_session_allocate(o.session, i, &memory), why[i]);
  close_package(&o);
}

typedef struct {
  wick_session *session;
  uint32_t calls;
} watcher;

static void look(void *user, uint32_t step, int after, void *arena) {
  watcher *w = user;
  float left[30];
  (void)arena;
  w->calls++;
  assert_int_equal(wick_session_set_input_dims(w->session, 0, (int64_t[]){2, 4, 3}), WICK_BUSY);
  if (!after || step > 1) return;
  assert_int_equal(wick_session_read_tensor(w->session, step, 0, left, sizeof left), WICK_OK);
  expect_ids(left, 5, 3, 1); /* of the bound */
}

static void watched_runs_are_the_same(void **state) {
  (void)state;
  opened_package o = open_package(pair_package());
  wick_session *s = o.session;
  wick_step_profile profile[3] = {{0, 0}};
  watcher w = {s, 0};
  buffers b;
  for (int k = 0; k < 2; k++) {
    fill(&b);
    set_seq(s, 3, 3);
    assert_int_equal(k ? wick_session_run_profiled(s, b.inputs, b.outputs, profile)
                       : wick_session_run_observed(s, b.inputs, b.outputs, look, &w), WICK_OK);
    assert_int_equal(wick_session_output_dims(s, 1)[1], 4);
    expect_ids(b.y, 3, 3, 0);
    expect_ids(b.z, 4, 3, 1);
  }
  assert_int_equal(w.calls, 6);
  assert_int_equal(profile[2].calls, 1);
  close_package(&o);
}

/* Whose z has none left in the end. */
static void toy_is_ragged(void **state) {
  wick_session *s;
  assert_int_equal(wick_session_create(*state, TOY_RAGGED, 1, &s), WICK_OK);
  _Alignas(64) float x[12], m[3], y[12], z[3];
  for (int64_t n = 3; n > 0; n--) {
    for (int i = 0; i < 12; i++) x[i] = (float)i;
    for (int i = 0; i < 3; i++) m[i] = (float)(i + 7);
    assert_int_equal(wick_session_set_input_dims(s, 0, (int64_t[]){2, n, 2}), WICK_OK);
    assert_int_equal(wick_session_set_input_dims(s, 1, &n), WICK_OK);
    assert_int_equal(wick_session_run(s, (const void *[]){x, m}, (void *[]){y, z}), WICK_OK);
    assert_int_equal(wick_session_output_dims(s, 1)[0], n - 1);
    for (int i = 0; i < 4 * n; i++) assert_true(y[i] == (float)(i + 1));
    for (int i = 0; i < n - 1; i++) assert_true(z[i] == (float)(i + 7));
  }
  int64_t none = 0; /* of m, which may have none; x may not */
  assert_int_equal(wick_session_set_input_dims(s, 1, &none), WICK_OK);
  refused(s, wick_session_run(s, (const void *[]){x, NULL}, (void *[]){y, z}),
          "input m has 0 elements along axis 0, where input x has 1 (n)");
  wick_session_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_size_is_run),
      cmocka_unit_test(sizes_come_from_parts_too),
      cmocka_unit_test(inputs_agree),
      cmocka_unit_test(dims_are_checked),
      cmocka_unit_test(fixed_inputs_have_dims),
      cmocka_unit_test(missing_buffers_are_refused),
      cmocka_unit_test(inputs_have_one_stage_each),
      cmocka_unit_test(entry_tells_extents),
      cmocka_unit_test(entries_are_found),
      cmocka_unit_test(memory_is_the_hosts),
      cmocka_unit_test(watched_runs_are_the_same),
      cmocka_unit_test(toy_is_ragged),
  };
  return cmocka_run_group_tests(tests, load_toy, free_toy);
}
