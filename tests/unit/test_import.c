/* SPDX-License-Identifier: Apache-2.0
 * ONNX import: names, shapes, constants, subgraphs, functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "compiler/onnx/wire/wire.h"
#include "tests/hostile/model_text.h"
#include "tests/unit/model_builder.h"

static wk_module *must_import(builder *b, const wk_import_options *o) {
  wk_module *m = NULL;
  wk_status s = import_model(b, o, NULL, &m);
  if (s) wk_status_print(stderr, s);
  assert_null(s);
  return m;
}

/* Imports, expects a failure with this code whose text has `part`; returns nothing. */
static void must_fail(builder *b, const wk_import_options *o, wk_code code, const char *part) {
  wk_module *m = NULL;
  wk_status s = import_model(b, o, NULL, &m);
  assert_non_null(s);
  assert_int_equal(s->code, code);
  wk_str all = {0};
  wk_str_printf(&all, "%s %s %s", s->place ? s->place : "", s->message, s->notes ? s->notes : "");
  if (!strstr(all.s, part)) fail_msg("'%s' lacks '%s'", all.s, part);
  wk_str_free(&all);
  wk_status_free(s);
}

/* Evaluates with f32 inputs; returns output 0, to be freed. */
static wk_tensor run(const wk_module *m, wk_tensor *in) {
  wk_tensor out[8];
  wk_status s = wk_eval_graph(m->main, in, out, NULL, NULL);
  if (s) wk_status_print(stderr, s);
  assert_null(s);
  for (size_t i = 1; i < m->main->outputs.n; i++) wk_tensor_free(&out[i]);
  return out[0];
}

static void expect_f32(const wk_tensor *t, const float *want, int64_t n) {
  assert_int_equal(t->type.dtype, WK_F32);
  assert_int_equal(wk_type_count(&t->type), n);
  for (int64_t i = 0; i < n; i++) assert_float_equal(((float *)t->data)[i], want[i], 1e-6);
}

/* Shape -> Gather -> Concat -> Reshape becomes static, whatever the batch. */
static void shape_arithmetic(void **state) {
  (void)state;
  builder b = new_model(13);
  add_input(&b, b.g, "x", ELEM_F32, "batch 4 6");
  add_i64s(&b, b.g, "zero", (const int64_t[]){0}, 1);
  add_i64s(&b, b.g, "rest", (const int64_t[]){-1}, 1);
  add_node(&b, b.g, "Shape", "x", "shape");
  add_node(&b, b.g, "Gather", "shape zero", "n");
  set_int(&b, add_node(&b, b.g, "Concat", "n rest", "want"), "axis", 0);
  add_node(&b, b.g, "Reshape", "x want", "y");
  add_output(&b, b.g, "y", ELEM_F32);
  const wk_bind bind = {.symbol = "batch", .value = 3};
  const wk_import_options o = {.binds = &bind, .n_binds = 1};
  wk_module *m = must_import(&b, &o);
  assert_int_equal(m->main->nodes.n, 1);
  const wk_type *y = &wk_val(m->main, m->main->outputs.data[0])->type;
  assert_int_equal(y->rank, 2);
  assert_int_equal(y->dims[0], 3);
  assert_int_equal(y->dims[1], 24);
  assert_string_equal(wk_val(m->main, m->main->outputs.data[0])->name, "y");
  wk_module_free(m);
}

static builder two_symbols(void) {
  builder b = new_model(13);
  add_input(&b, b.g, "x", ELEM_F32, "batch seq 2");
  add_input(&b, b.g, "z", ELEM_F32, "batch 1 ?");
  add_node(&b, b.g, "Add", "x z", "y");
  add_output(&b, b.g, "y", ELEM_F32);
  return b;
}

/* Everything that is unbound is asked for at once. */
static void unbound_sizes(void **state) {
  (void)state;
  builder b = two_symbols();
  wk_import_report r;
  wk_module *m;
  wk_status s = import_model(&b, NULL, &r, &m);
  assert_non_null(s);
  assert_int_equal(s->code, WK_USAGE);
  assert_int_equal(r.need_bind.n, 3);
  assert_string_equal(r.need_bind.data[0], "--bind batch=N");
  assert_string_equal(r.need_bind.data[1], "--bind seq=N");
  assert_string_equal(r.need_bind.data[2], "--shape z=Nx1xN");
  wk_status_free(s);
  wk_import_report_free(&r);
}

static void shapes_bind_symbols(void **state) {
  (void)state;
  const wk_bind_shape shapes[] = {{.input = "x", .rank = 3, .dims = {5, 7, 2}},
                                  {.input = "z", .rank = 3, .dims = {5, 1, 2}}};
  builder b = two_symbols();
  wk_import_options o = {.shapes = shapes, .n_shapes = 2};
  wk_module *m = must_import(&b, &o);
  assert_int_equal(wk_val(m->main, m->main->outputs.data[0])->type.dims[1], 7);
  wk_module_free(m);
  const wk_bind_shape differ[] = {{.input = "x", .rank = 3, .dims = {5, 7, 2}},
                                  {.input = "z", .rank = 3, .dims = {4, 1, 2}}};
  o.shapes = differ;
  b = two_symbols();
  must_fail(&b, &o, WK_INPUT, "is 'batch', which is 5 already; 4 is given");
  const wk_bind_shape wrong[] = {{.input = "x", .rank = 3, .dims = {5, 7, 3}}};
  o = (wk_import_options){.shapes = wrong, .n_shapes = 1};
  b = two_symbols();
  must_fail(&b, &o, WK_INPUT, "axis 2 of input x has size 2 in the model, 3 is given");
  const wk_bind_shape negative[] = {{.input = "x", .rank = 3, .dims = {5, -7, 2}}};
  o.shapes = negative;
  b = two_symbols();
  must_fail(&b, &o, WK_INPUT, "axis 1 of input x has the negative size -7");
  const wk_bind_shape deep[] = {{.input = "x", .rank = WK_MAX_RANK + 1}};
  o.shapes = deep;
  b = two_symbols();
  must_fail(&b, &o, WK_USAGE, "rank 9 is not supported");
  const wk_bind_shape misspelt[] = {{.input = "xx", .rank = 3, .dims = {5, 7, 3}}};
  o.shapes = misspelt;
  b = two_symbols();
  must_fail(&b, &o, WK_USAGE, "did you mean");
}

static void negative_symbol(void **state) {
  (void)state;
  const wk_bind bind = {.symbol = "batch", .value = -1};
  const wk_import_options o = {.binds = &bind, .n_binds = 1};
  builder b = two_symbols();
  must_fail(&b, &o, WK_USAGE, "--bind batch: the size is negative");
}

/* An input with an initialiser is a constant unless a value is given. */
static void default_inputs(void **state) {
  (void)state;
  const float two = 2, five = 5;
  float x = 10;
  for (int given = 0; given < 2; given++) {
    builder b = new_model(13);
    add_input(&b, b.g, "x", ELEM_F32, "1");
    add_input(&b, b.g, "w", ELEM_F32, "1");
    Onnx__TensorProto *w = raw_tensor(&b, "w", ELEM_F32, 1, (const int64_t[]){1}, &two, 4);
    ADD(&b, b.g->initializer, b.g->n_initializer, w);
    add_node(&b, b.g, "Mul", "x w", "y");
    add_output(&b, b.g, "y", ELEM_F32);
    const wk_type t = wk_type_make(WK_F32, 1, (const int64_t[]){1});
    const wk_bind_value v = {.input = "w", .value = {t, (void *)(uintptr_t)&five}};
    const wk_import_options o = {.values = &v, .n_values = (size_t)given};
    wk_module *m = must_import(&b, &o);
    assert_int_equal(m->main->inputs.n, 1);
    wk_tensor in = {t, &x}, y = run(m, &in);
    expect_f32(&y, given ? (const float[]){50} : (const float[]){20}, 1);
    wk_tensor_free(&y);
    wk_module_free(m);
  }
}

/* Nodes out of order are sorted. */
static void unsorted_nodes(void **state) {
  (void)state;
  builder b = new_model(13);
  add_input(&b, b.g, "x", ELEM_F32, "2");
  add_node(&b, b.g, "Neg", "b", "y");
  add_node(&b, b.g, "Abs", "a", "b");
  add_node(&b, b.g, "Neg", "x", "a");
  add_output(&b, b.g, "y", ELEM_F32);
  wk_module *m = must_import(&b, NULL);
  float x[2] = {3, -4};
  wk_tensor in = {wk_type_make(WK_F32, 1, (const int64_t[]){2}), x}, y = run(m, &in);
  expect_f32(&y, (const float[]){-3, -4}, 2);
  wk_tensor_free(&y);
  wk_module_free(m);
}

static void malformed_graphs(void **state) {
  (void)state;
  static const struct { const char *nodes[3][3]; const char *part; } cases[] = {
    {{{"Neg", "b", "a"}, {"Neg", "a", "b"}, {"Add", "a x", "y"}}, "cycle"},
    {{{"Add", "y x", "y"}}, "cycle"},
    {{{"Neg", "x", "y"}, {"Abs", "x", "y"}},
     "this name stands twice: a result of node 'Neg_y', and of node 'Abs_y'"},
    {{{"Add", "x nowhere", "y"}}, "'nowhere'"},
    {{{"Neg", "x", "x"}, {"Abs", "x", "y"}}, "this name stands twice: an input"},
    {{{"Neg", "b", "b"}, {"Abs", "b", "y"}}, "cycle"},
    {{{"Abs", "x", "z"}}, "no node produces this model output"},
    {{{"Add", "x", "y"}}, "inputs"},
  };
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    builder b = new_model(13);
    add_input(&b, b.g, "x", ELEM_F32, "2");
    for (int k = 0; k < 3 && cases[i].nodes[k][0]; k++) {
      add_node(&b, b.g, cases[i].nodes[k][0], cases[i].nodes[k][1], cases[i].nodes[k][2]);
    }
    add_output(&b, b.g, "y", ELEM_F32);
    must_fail(&b, NULL, WK_INPUT, cases[i].part);
  }
}

/* All unsupported nodes are reported, those that only depend on them are not. */
static void unsupported_nodes(void **state) {
  (void)state;
  builder b = new_model(13);
  add_input(&b, b.g, "x", ELEM_F32, "2");
  add_node(&b, b.g, "Teleport", "x", "a");
  add_node(&b, b.g, "Abs", "a", "b");
  Onnx__NodeProto *n = add_node(&b, b.g, "Warp", "b", "y");
  n->domain = text(&b, "com.example");
  add_output(&b, b.g, "y", ELEM_F32);
  wk_import_report r;
  wk_module *m;
  wk_status s = import_model(&b, NULL, &r, &m);
  assert_int_equal(s->code, WK_UNSUPPORTED);
  assert_int_equal(r.unsupported.n, 2);
  assert_string_equal(r.unsupported.data[0].op, "Teleport");
  assert_string_equal(r.unsupported.data[0].shapes, "f32[2]");
  assert_string_equal(r.unsupported.data[1].domain, "com.example");
  wk_status_free(s);
  wk_import_report_free(&r);
}

/* Nor are nodes with bodies, wherever the unknown value comes out of them: condition, state, slice,
 * element. */
static void unsupported_in_bodies(void **state) {
  (void)state;
#define BODY "in i i64[]; in c bool[]; in v"
#define LOOP(inputs, body) "in x f32[2]; init n i64[]={2}; SequenceConstruct x -> q; " \
  "Loop " inputs " -> y,z {body=(" body ")}; Abs z -> r; out r"
  static const char *const models[] = {
      LOOP("n,_,x", BODY " f32[2]; Teleport v -> w; Exp v -> e; out c; out w; out e"),
      LOOP("n,_,x", BODY " f32[2]; Teleport v -> w; Exp v -> e; out c; out e; out w"),
      LOOP("n,_,x", BODY " f32[2]; Teleport v -> w; Exp v -> e; out w; out v; out e"),
      LOOP("n,_,x", BODY " f32[2]; Teleport v -> w; Exp w -> e; out c; out v; out e"),
      LOOP("n,_,q", BODY "; Teleport x -> w; Exp x -> e; SequenceInsert v,w -> s; "
           "out c; out s; out e"),
      LOOP("n,_,q", BODY "; Teleport x -> w; out c; out v; out w"),
      LOOP("n,_,q", BODY "; Teleport x -> w; Exp x -> e; out w; out v; out e"),
      LOOP("n,_,x", BODY "; Concat v,x -> s {axis=0}; Teleport x -> w; out c; out s; out w"),
      "in x f32[2]; init n i64[]={2}; init two i64[]={2}; SequenceConstruct x -> q; "
      "Loop n,_,q -> y {body=(" BODY "; SequenceInsert v,x -> s; Teleport x -> w; out w; out s)}; "
      "SequenceAt y,two -> r; out r",
      "in x f32[2]; in c bool[]; If c -> z {then_branch=(Teleport x -> a; out a) "
      "else_branch=(Neg x -> a; out a)}; Abs z -> r; out r",
      "in x f32[2]; in c bool[]; If c -> y,z {then_branch=(Neg x -> a; out a; out a) "
      "else_branch=(Neg x -> a; Teleport a -> b; out a; out b)}; Abs z -> r; out r",
      "in x f32[3,2]; in s f32[2]; Scan s,x -> u,z {num_scan_inputs=1 body=(in a f32[2]; "
      "in b f32[2]; Add a,b -> d; Teleport b -> w; out d; out w)}; Abs z -> r; out r",
      "in x f32[2]; SequenceConstruct x,x -> q; SequenceMap q -> z {body=(in a f32[2]; "
      "Teleport a -> w; out w)}; SequenceLength z -> r; out r"};
#undef LOOP
#undef BODY
  for (size_t i = 0; i < WK_COUNTOF(models); i++) {
    wk_str model = {0};
    wk_import_report r;
    wk_module *m;
    model_text(models[i], &model);
    wk_status s = wk_import_onnx_memory(model.s, model.n, NULL, &r, &m);
    if (!s || s->code != WK_UNSUPPORTED || r.unsupported.n != 1 ||
        strcmp(r.unsupported.data[0].op, "Teleport") != 0)
      fail_msg("%s: %s, %zu nodes", models[i], s ? s->message : "taken", r.unsupported.n);
    wk_status_free(s);
    wk_import_report_free(&r);
    wk_str_free(&model);
  }
}

/* The value of an input decides a shape: it is asked for, and given it works. */
static void values_that_decide(void **state) {
  (void)state;
  int64_t want[2] = {3, 2};
  for (int given = 0; given < 2; given++) {
    builder b = new_model(13);
    add_input(&b, b.g, "x", ELEM_F32, "6");
    add_input(&b, b.g, "shape", ELEM_I64, "2");
    add_node(&b, b.g, "Identity", "shape", "s");
    add_node(&b, b.g, "Reshape", "x s", "y");
    add_output(&b, b.g, "y", ELEM_F32);
    const wk_bind_value v = {.input = "shape",
                             .value = {wk_type_make(WK_I64, 1, (const int64_t[]){2}), want}};
    const wk_import_options o = {.values = &v, .n_values = (size_t)given};
    wk_import_report r;
    wk_module *m = NULL;
    wk_status s = import_model(&b, &o, &r, &m);
    assert_int_equal(s == NULL, given);
    assert_int_equal(r.need_value.n, !given);
    if (!given) {
      assert_string_equal(r.need_value.data[0], "shape");
      assert_non_null(strstr(s->message, "--value shape=FILE"));
    }
    wk_status_free(s);
    wk_import_report_free(&r);
    wk_module_free(m);
  }
}

/* ---- graphs inside nodes ------------------------------------------------------------------- */

/* y = c ? x + w : x * x, with w a constant from outside. */
static builder branch_model(void) {
  const float w = 100;
  builder b = new_model(13);
  add_input(&b, b.g, "c", ELEM_BOOL, "");
  add_input(&b, b.g, "x", ELEM_F32, "2");
  Onnx__TensorProto *t = raw_tensor(&b, "w", ELEM_F32, 0, (const int64_t[]){0}, &w, 4);
  ADD(&b, b.g->initializer, b.g->n_initializer, t);
  Onnx__GraphProto *then_graph = new_graph(&b, "then"), *else_graph = new_graph(&b, "else");
  add_node(&b, then_graph, "Add", "x w", "sum");
  add_output(&b, then_graph, "sum", ELEM_F32);
  add_node(&b, else_graph, "Mul", "x x", "square");
  add_output(&b, else_graph, "square", ELEM_F32);
  Onnx__NodeProto *n = add_node(&b, b.g, "If", "c", "y");
  set_graph(&b, n, "then_branch", then_graph);
  set_graph(&b, n, "else_branch", else_graph);
  add_output(&b, b.g, "y", ELEM_F32);
  return b;
}

static void branch_at_run_time(void **state) {
  (void)state;
  builder b = branch_model();
  wk_module *m = must_import(&b, NULL);
  assert_int_equal(m->graphs.n, 3);
  for (uint8_t c = 0; c < 2; c++) {
    float x[2] = {3, 4};
    wk_tensor in[2] = {{wk_type_make(WK_BOOL, 0, NULL), &c},
                       {wk_type_make(WK_F32, 1, (const int64_t[]){2}), x}};
    wk_tensor y = run(m, in);
    expect_f32(&y, c ? (const float[]){103, 104} : (const float[]){9, 16}, 2);
    wk_tensor_free(&y);
  }
  wk_module_free(m);
}

static void branch_known(void **state) {
  (void)state;
  uint8_t c = 1;
  builder b = branch_model();
  const wk_bind_value v = {.input = "c", .value = {wk_type_make(WK_BOOL, 0, NULL), &c}};
  const wk_import_options o = {.values = &v, .n_values = 1};
  wk_module *m = must_import(&b, &o);
  assert_int_equal(m->graphs.n, 1);
  assert_int_equal(m->main->nodes.n, 1);
  wk_module_free(m);
}

/* The else branch multiplies matrices that do not fit: it would fail whenever it is taken. */
static void impossible_branch(void **state) {
  (void)state;
  builder b = new_model(13);
  add_input(&b, b.g, "c", ELEM_BOOL, "");
  add_input(&b, b.g, "x", ELEM_F32, "2 3");
  Onnx__GraphProto *then_graph = new_graph(&b, "then"), *else_graph = new_graph(&b, "else");
  add_node(&b, then_graph, "Neg", "x", "p");
  add_output(&b, then_graph, "p", ELEM_F32);
  add_node(&b, else_graph, "MatMul", "x x", "q");
  add_output(&b, else_graph, "q", ELEM_F32);
  Onnx__NodeProto *n = add_node(&b, b.g, "If", "c", "y");
  set_graph(&b, n, "then_branch", then_graph);
  set_graph(&b, n, "else_branch", else_graph);
  add_output(&b, b.g, "y", ELEM_F32);
  wk_import_report r;
  wk_module *m;
  assert_null(import_model(&b, NULL, &r, &m));
  assert_int_equal(r.notes.n, 1);
  assert_non_null(strstr(r.notes.data[0], "else branch cannot run"));
  wk_import_report_free(&r);
  for (uint8_t c = 0; c < 2; c++) {
    float x[6] = {1, 2, 3, 4, 5, 6};
    wk_tensor in[2] = {{wk_type_make(WK_BOOL, 0, NULL), &c},
                       {wk_type_make(WK_F32, 2, (const int64_t[]){2, 3}), x}};
    wk_tensor y = run(m, in);
    float first = *(float *)y.data;
    assert_true(c ? first == -1 : first != first);
    wk_tensor_free(&y);
  }
  wk_module_free(m);
}

/* x doubles `trip` times; every value is collected. With a state that grows the loop is unrolled.
 */
static wk_module *loop_model(bool grows) {
  int64_t trip = 3;
  builder b = new_model(13);
  add_input(&b, b.g, "x", ELEM_F32, "1");
  add_i64s(&b, b.g, "trip", &trip, 1);
  Onnx__GraphProto *g = new_graph(&b, "body");
  add_input(&b, g, "i", ELEM_I64, "");
  add_input(&b, g, "cond", ELEM_BOOL, "");
  add_input(&b, g, "v", ELEM_F32, NULL);
  add_node(&b, g, "Identity", "cond", "cond_out");
  if (grows) set_int(&b, add_node(&b, g, "Concat", "v x", "next"), "axis", 0);
  else add_node(&b, g, "Add", "v v", "next");
  add_node(&b, g, "ReduceSum", "next", "slice");
  add_output(&b, g, "cond_out", ELEM_BOOL);
  add_output(&b, g, "next", ELEM_F32);
  add_output(&b, g, "slice", ELEM_F32);
  Onnx__NodeProto *n = add_node(&b, b.g, "Loop", "trip - x", "last all");
  set_graph(&b, n, "body", g);
  add_output(&b, b.g, "all", ELEM_F32);
  add_output(&b, b.g, "last", ELEM_F32);
  return must_import(&b, NULL);
}

static void loops(void **state) {
  (void)state;
  float x = 5;
  wk_tensor in = {wk_type_make(WK_F32, 1, (const int64_t[]){1}), &x};
  wk_module *m = loop_model(false);
  assert_int_equal(m->graphs.n, 2);
  wk_tensor y = run(m, &in);
  expect_f32(&y, (const float[]){10, 20, 40}, 3);
  wk_tensor_free(&y);
  wk_module_free(m);
  m = loop_model(true);
  assert_int_equal(m->graphs.n, 1);
  y = run(m, &in);
  expect_f32(&y, (const float[]){10, 15, 20}, 3);
  wk_tensor_free(&y);
  wk_module_free(m);
}

/* v doubles while i < trip, the condition holds, and it is below 100; what is not used is "-". */
static wk_module *run_time_loop(const char *inputs, bool has_limit) {
  builder b = new_model(13);
  const float hundred = 100;
  add_input(&b, b.g, "trip", ELEM_I64, "");
  add_input(&b, b.g, "cond", ELEM_BOOL, "");
  add_input(&b, b.g, "x", ELEM_F32, "1");
  Onnx__TensorProto *limit = raw_tensor(&b, "limit", ELEM_F32, 0, NULL, &hundred, 4);
  ADD(&b, b.g->initializer, b.g->n_initializer, limit);
  Onnx__GraphProto *g = new_graph(&b, "body");
  add_input(&b, g, "i", ELEM_I64, "");
  add_input(&b, g, "c", ELEM_BOOL, "");
  add_input(&b, g, "v", ELEM_F32, NULL);
  add_node(&b, g, "Add", "v v", "next");
  add_node(&b, g, has_limit ? "Less" : "Identity", has_limit ? "next limit" : "c", "more");
  add_output(&b, g, "more", ELEM_BOOL);
  add_output(&b, g, "next", ELEM_F32);
  set_graph(&b, add_node(&b, b.g, "Loop", inputs, "last"), "body", g);
  add_output(&b, b.g, "last", ELEM_F32);
  return must_import(&b, NULL);
}

static void run_time_loops(void **state) {
  (void)state;
  static const struct { const char *inputs; bool has_limit; } kinds[] = {
      {"trip - x", false}, {"trip - x", true},    {"trip cond x", false},
      {"- cond x", true},  {"trip cond x", true}, {"- - x", true}};
  for (size_t k = 0; k < WK_COUNTOF(kinds); k++) {
    wk_module *m = run_time_loop(kinds[k].inputs, kinds[k].has_limit);
    bool has_trip = kinds[k].inputs[0] == 't', has_cond = strstr(kinds[k].inputs, "cond");
    for (int64_t trip = 0; trip < 4; trip++)
      for (uint8_t cond = 0; cond < 2; cond++) {
        float x = 20, want = x;
        bool more = !has_cond || cond;
        for (int64_t i = 0; more && (!has_trip || i < trip); i++) {
          want += want;
          more = !kinds[k].has_limit || want < 100;
        }
        wk_tensor in[3];
        for (size_t i = 0; i < m->main->inputs.n; i++) {
          const wk_value *v = wk_val(m->main, m->main->inputs.data[i]);
          in[i] = (wk_tensor){v->type, v->type.dtype == WK_I64    ? (void *)&trip
                                       : v->type.dtype == WK_BOOL ? (void *)&cond : (void *)&x};
        }
        wk_tensor y = run(m, in);
        expect_f32(&y, &want, 1);
        wk_tensor_free(&y);
      }
    wk_module_free(m);
  }
}

/* ---- functions ----------------------------------------------------------------------------- */

static Onnx__FunctionProto *add_function(builder *b, const char *name, const char *in,
                                         const char *out) {
  Onnx__FunctionProto *f = wk_arena_alloc(b->a, sizeof *f);
  onnx__function_proto__init(f);
  f->name = text(b, name);
  f->domain = text(b, "local");
  add_names(b, &f->input, &f->n_input, in);
  add_names(b, &f->output, &f->n_output, out);
  ADD(b, b->model.functions, b->model.n_functions, f);
  return f;
}

static Onnx__NodeProto *function_node(builder *b, Onnx__FunctionProto *f, const char *op,
                                      const char *in, const char *out) {
  Onnx__NodeProto *n = new_node(b, op, in, out);
  ADD(b, f->node, f->n_node, n);
  return n;
}

/* Attributes reach through two calls by reference. */
static void nested_functions(void **state) {
  (void)state;
  builder b = new_model(17);
  add_opset(&b, "local", 1);
  add_input(&b, b.g, "x", ELEM_F32, "2 3");
  Onnx__FunctionProto *f = add_function(&b, "outer", "p", "q"),
                      *g = add_function(&b, "inner", "p", "q");
  Onnx__NodeProto *call = function_node(&b, f, "inner", "p", "q");
  call->domain = text(&b, "local");
  attribute(&b, call, "k")->ref_attr_name = text(&b, "axis");
  attribute(&b, function_node(&b, g, "Softmax", "p", "t"), "axis")->ref_attr_name = text(&b, "k");
  function_node(&b, g, "Neg", "t", "q");
  call = add_node(&b, b.g, "outer", "x", "y");
  call->domain = text(&b, "local");
  set_int(&b, call, "axis", 0);
  add_output(&b, b.g, "y", ELEM_F32);
  wk_module *m = must_import(&b, NULL);
  assert_int_equal(m->main->nodes.n, 2);
  assert_int_equal(WK_ATTR(wk_nod(m->main, 0), softmax)->axis, 0);
  wk_module_free(m);
}

/* attribute_proto of a function: what the call does not give. */
static void function_defaults(void **state) {
  (void)state;
  for (int given = 0; given < 2; given++) {
    builder b = new_model(17);
    add_opset(&b, "local", 1);
    add_input(&b, b.g, "x", ELEM_F32, "2 3");
    Onnx__FunctionProto *f = add_function(&b, "f", "p", "q");
    attribute(&b, function_node(&b, f, "Softmax", "p", "q"), "axis")->ref_attr_name =
        text(&b, "k");
    Onnx__AttributeProto a;
    onnx__attribute_proto__init(&a);
    a.name = text(&b, "k");
    a.has_i = true;
    a.has_type = true;
    a.type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    uint8_t packed[64], other[64], number[] = {5}, nothing[] = {0}, long_nothing[] = {0x80, 0};
    packed[0] = (uint8_t)onnx__attribute_proto__pack(&a, packed + 1);
    a.i = 1; /* of another field, which says nothing of attributes */
    other[0] = (uint8_t)onnx__attribute_proto__pack(&a, other + 1);
    const ProtobufCWireType varint = PROTOBUF_C_WIRE_TYPE_VARINT,
                            bytes = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
    ProtobufCMessageUnknownField fields[] = {{15, bytes, other[0] + 1u, other},
                                             {11, varint, 1, number},
                                             {11, bytes, 1, nothing},
                                             {11, bytes, 2, long_nothing},
                                             {11, bytes, packed[0] + 1u, packed}};
    f->base.n_unknown_fields = WK_COUNTOF(fields);
    f->base.unknown_fields = fields;
    Onnx__NodeProto *call = add_node(&b, b.g, "f", "x", "y");
    call->domain = text(&b, "local");
    if (given) set_int(&b, call, "k", 1);
    add_output(&b, b.g, "y", ELEM_F32);
    wk_module *m = must_import(&b, NULL);
    assert_int_equal(WK_ATTR(wk_nod(m->main, 0), softmax)->axis, given);
    wk_module_free(m);
  }
}

static void recursive_function(void **state) {
  (void)state;
  builder b = new_model(17);
  add_opset(&b, "local", 1);
  add_input(&b, b.g, "x", ELEM_F32, "2 3");
  Onnx__FunctionProto *f = add_function(&b, "f", "p", "q");
  function_node(&b, f, "f", "p", "q")->domain = text(&b, "local");
  add_node(&b, b.g, "f", "x", "y")->domain = text(&b, "local");
  add_output(&b, b.g, "y", ELEM_F32);
  must_fail(&b, NULL, WK_INPUT, "calls itself");
}

/* Each function calls the next one. */
static void deep_functions(void **state) {
  (void)state;
  builder b = new_model(17);
  add_opset(&b, "local", 1);
  add_input(&b, b.g, "x", ELEM_F32, "2");
  for (int i = 0; i < WK_GRAPH_MAX_DEPTH; i++) {
    Onnx__FunctionProto *f = add_function(&b, wk_arena_printf(b.a, "f%d", i), "p", "q");
    const char *next = wk_arena_printf(b.a, "f%d", i + 1);
    bool is_last = i == WK_GRAPH_MAX_DEPTH - 1;
    Onnx__NodeProto *n = function_node(&b, f, is_last ? "Neg" : next, "p", "q");
    if (!is_last) n->domain = text(&b, "local");
  }
  add_node(&b, b.g, "f0", "x", "y")->domain = text(&b, "local");
  add_output(&b, b.g, "y", ELEM_F32);
  must_fail(&b, NULL, WK_RESOURCE, "functions are nested more than");
}

/* Each function calls the next one twice: 2^24 nodes are not built. */
static void exploding_functions(void **state) {
  (void)state;
  builder b = new_model(17);
  add_opset(&b, "local", 1);
  add_input(&b, b.g, "x", ELEM_F32, "2");
  for (int i = 0; i < 24; i++) {
    Onnx__FunctionProto *f = add_function(&b, wk_arena_printf(b.a, "f%d", i), "p", "q");
    const char *next = wk_arena_printf(b.a, "f%d", i + 1), *domain = i < 23 ? "local" : "";
    if (i == 23) next = "Neg";
    function_node(&b, f, next, "p", "t")->domain = text(&b, domain);
    function_node(&b, f, next, "t", "q")->domain = text(&b, domain);
  }
  add_node(&b, b.g, "f0", "x", "y")->domain = text(&b, "local");
  add_output(&b, b.g, "y", ELEM_F32);
  must_fail(&b, NULL, WK_RESOURCE, "too many nodes");
}

/* ---- tensors ------------------------------------------------------------------------------- */

static void tensor_storage(void **state) {
  (void)state;
  builder b = new_model(13);
  Onnx__TensorProto *t = raw_tensor(&b, "h", 10, 1, (const int64_t[]){2}, "", 0); /* f16 as bits */
  int32_t bits[2] = {0x3c00, 0xc000};
  t->has_raw_data = false;
  t->n_int32_data = 2;
  t->int32_data = bits;
  ADD(&b, b.g->initializer, b.g->n_initializer, t);
  set_int(&b, add_node(&b, b.g, "Cast", "h", "y"), "to", ELEM_F32);
  add_output(&b, b.g, "y", ELEM_F32);
  wk_module *m = must_import(&b, NULL);
  wk_tensor y = run(m, NULL);
  expect_f32(&y, (const float[]){1, -2}, 2);
  wk_tensor_free(&y);
  wk_module_free(m);
}

static void wrong_sizes(void **state) {
  (void)state;
  static const struct { int64_t dims[2]; size_t bytes; wk_code code; } cases[] = {
    {{2, 2}, 15, WK_INPUT}, {{2, 2}, 20, WK_INPUT}, {{-1, 2}, 8, WK_INPUT},
    {{(int64_t)1 << 40, (int64_t)1 << 40}, 8, WK_RESOURCE}, {{INT64_MAX, 2}, 8, WK_RESOURCE},
  };
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    const char zeros[32] = {0};
    builder b = new_model(13);
    Onnx__TensorProto *t = raw_tensor(&b, "w", ELEM_F32, 2, cases[i].dims, zeros, cases[i].bytes);
    ADD(&b, b.g->initializer, b.g->n_initializer, t);
    add_node(&b, b.g, "Neg", "w", "y");
    add_output(&b, b.g, "y", ELEM_F32);
    must_fail(&b, NULL, cases[i].code, "w");
  }
}

static builder model_of_opset(int64_t opset) {
  builder b = new_model(opset);
  add_opset(&b, "ai.onnx.preview.training", 99); /* which no node uses */
  add_input(&b, b.g, "x", ELEM_F32, "2");
  add_node(&b, b.g, "Relu", "x", "a");
  add_node(&b, b.g, "Neg", "a", "y");
  add_output(&b, b.g, "y", ELEM_F32);
  return b;
}

/* Newer operator sets are read by what is known: one note, or refused. */
static void newer_opset(void **state) {
  (void)state;
  int64_t newest = wk_onnx_newest_opset("");
  for (int by = 0; by < 2; by++) {
    builder b = model_of_opset(newest + by);
    wk_import_report r;
    wk_module *m = NULL;
    assert_null(import_model(&b, NULL, &r, &m));
    assert_int_equal(r.notes.n, by);
    wk_str want = {0};
    wk_str_printf(&want, "opset %lld is newer than %lld, the newest that is known: ",
                  (long long)newest + 1, (long long)newest);
    if (by) assert_int_equal(strncmp(r.notes.data[0], want.s, want.n), 0);
    wk_str_free(&want);
    wk_import_report_free(&r);
    wk_module_free(m);
    const wk_import_options strict = {.strict_opset = true};
    b = model_of_opset(newest + by);
    if (by) must_fail(&b, &strict, WK_UNSUPPORTED, "the newest that is known: 2 nodes");
    else wk_module_free(must_import(&b, &strict));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(shape_arithmetic),    cmocka_unit_test(unbound_sizes),
    cmocka_unit_test(shapes_bind_symbols), cmocka_unit_test(default_inputs),
    cmocka_unit_test(unsorted_nodes),      cmocka_unit_test(malformed_graphs),
    cmocka_unit_test(unsupported_in_bodies),
    cmocka_unit_test(unsupported_nodes),   cmocka_unit_test(values_that_decide),
    cmocka_unit_test(branch_at_run_time),  cmocka_unit_test(branch_known),
    cmocka_unit_test(loops),               cmocka_unit_test(negative_symbol),
    cmocka_unit_test(deep_functions),
    cmocka_unit_test(run_time_loops),
    cmocka_unit_test(function_defaults),               cmocka_unit_test(nested_functions),
    cmocka_unit_test(impossible_branch),   cmocka_unit_test(newer_opset),
    cmocka_unit_test(recursive_function),  cmocka_unit_test(exploding_functions),
    cmocka_unit_test(tensor_storage),      cmocka_unit_test(wrong_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
