/* SPDX-License-Identifier: Apache-2.0
 * ONNX export: what is written imports again and computes the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/lower/lower.h"
#include "compiler/onnx/onnx.h"
#include "compiler/passes/passes.h"
#include "tests/random_control.h"
#include "tests/random_graph.h"

static char dir[64], path[96];

static int make_folder(void **state) {
  (void)state;
  bool has_memory = access("/dev/shm", W_OK) == 0;
  snprintf(dir, sizeof dir, "%s/wick-export-XXXXXX", has_memory ? "/dev/shm" : "/tmp");
  if (!mkdtemp(dir)) return 1;
  snprintf(path, sizeof path, "%s/m.onnx", dir);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(dir);
}

static void fill(wk_tensor *t, uint64_t seed) {
  wk_rng rng = {seed};
  for (int64_t i = 0; i < wk_type_count(&t->type); i++) {
    if (t->type.dtype == WK_BOOL) wk_store_i64(t->data, WK_BOOL, i, wk_rng_next(&rng) & 1);
    else wk_store_f64(t->data, t->type.dtype, i, (double)wk_rng_normal(&rng));
  }
}

static wk_tensor eval_first(const wk_module *m, wk_tensor *in) {
  wk_tensor out[4];
  wk_status s = wk_eval_graph(m->main, in, out, NULL, NULL);
  if (s) wk_status_print(stderr, s);
  assert_null(s);
  for (size_t i = 1; i < m->main->outputs.n; i++) wk_tensor_free(&out[i]);
  return out[0];
}

/* Exports, imports, evaluates both on the same random inputs; frees m. */
static void survives(wk_module *m) {
  wk_module *back = NULL;
  wk_tensor in[4];
  assert_null(wk_module_normalise(m));
  wk_status s = wk_export_onnx(m, path);
  if (!s) s = wk_import_onnx(path, NULL, NULL, &back);
  if (s) wk_status_print(stderr, s);
  assert_null(s);
  assert_int_equal(back->main->inputs.n, m->main->inputs.n);
  for (size_t i = 0; i < m->main->inputs.n; i++) {
    const wk_value *v = wk_val(m->main, m->main->inputs.data[i]);
    assert_string_equal(wk_val(back->main, back->main->inputs.data[i])->name, v->name);
    assert_null(wk_tensor_alloc(&v->type, &in[i]));
    fill(&in[i], i + 1);
  }
  wk_tensor want = eval_first(m, in), got = eval_first(back, in);
  const wk_tolerance tolerance = {1e-5, 1e-6, 1e-6};
  assert_true(wk_type_equal(&got.type, &want.type));
  assert_true(wk_tensor_diff(&got, &want, &tolerance).equal);
  for (size_t i = 0; i < m->main->inputs.n; i++) wk_tensor_free(&in[i]);
  wk_tensor_free(&want);
  wk_tensor_free(&got);
  wk_module_free(back);
  wk_module_free(m);
}

static wk_value_id input(wk_graph *g, const char *name, wk_dtype t, int rank, const int64_t *dims) {
  wk_type type = wk_type_make(t, rank, dims);
  return wk_graph_input(g, name, &type);
}

static wk_expr *parse(wk_module *m, const char *text, int n) {
  const wk_dtype dtypes[4] = {WK_F32, WK_F32, WK_F32, WK_F32};
  wk_expr *e = NULL;
  wk_status s = wk_expr_parse(m->arena, text, dtypes, n, &e);
  if (s) wk_status_print(stderr, s);
  assert_null(s);
  return e;
}

/* Convolution whose epilogue adds a residual and clamps. */
static void fused_convolution(void **state) {
  (void)state;
  wk_module *m = wk_module_new("m");
  wk_graph *g = wk_graph_new(m, "main");
  wk_value_id x = input(g, "x", WK_F32, 4, (const int64_t[]){1, 2, 5, 5});
  wk_value_id r = input(g, "r", WK_F32, 4, (const int64_t[]){1, 3, 5, 5});
  wk_type wt = wk_type_make(WK_F32, 4, (const int64_t[]){3, 2, 3, 3}),
          bt = wk_type_make(WK_F32, 1, (const int64_t[]){3});
  wk_tensor w = {.type = wt}, b = {.type = bt};
  wk_value_id wv, bv;
  assert_null(wk_graph_constant_alloc(g, "w", &wt, &wv, &w.data));
  assert_null(wk_graph_constant_alloc(g, "b", &bt, &bv, &b.data));
  fill(&w, 5);
  fill(&b, 6);
  wk_attr_conv *a = wk_attrs_new(m->arena, WK_OP_CONV);
  a->strides = wk_ints_fill(m->arena, 2, 1);
  a->dilations = wk_ints_fill(m->arena, 2, 1);
  a->pads = wk_ints_fill(m->arena, 4, 1);
  a->epilogue = parse(m, "max(add(%0, %1), 0.0f32)", 2);
  wk_graph_output(g, "y", wk_build(g, WK_OP_CONV, a, 4, x, wv, bv, r));
  survives(m);
}

/* Expressions with steps that ONNX does not have. */
/* Products with a bias or none, whose epilogues read operands that are not the same. */
static void fused_products(void **state) {
  static const char *const products[] = {
      "conv(%x, %w, BIAS%r, %s) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], ",
      "conv_transpose(%x, %w, BIAS%r, %s) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], "
      "output_padding=[0,0], ",
      "matmul(%x, %m, BIAS%r, %s) {",
  };
  (void)state;
  for (size_t i = 0; i < 2 * WK_COUNTOF(products); i++) {
    const char *product = products[i / 2], *bias = strstr(product, "BIAS");
    wk_str text = {0};
    wk_module *m = NULL;
    wk_str_printf(&text,
                  "module \"m\" {\ngraph @main(%%x: f32[1,3,3,3], %%r: f32[1,3,3,3], "
                  "%%s: f32[3,1,1]) {\n%%w = constant f32[3,3,1,1] {1,2,3,4,5,6,-7,8,9}\n"
                  "%%m = constant f32[3,3] {1,2,3,4,5,6,-7,8,9}\n"
                  "%%b = constant f32[3] {10,20,-30}\n"
                  "%%y = %.*s%s%sepilogue=\"sub(mul(%%0, %%1), %%2)\"}\noutput %%y\n}\n}\n",
                  (int)(bias - product), product, i % 2 ? "%b, " : "-, ", bias + 4);
    wk_status s = wk_module_parse(text.s, "m", &m);
    if (s) fail_msg("%s\n%s: %s", text.s, s->place, s->message);
    survives(m);
    wk_str_free(&text);
  }
}

static void expressions(void **state) {
  (void)state;
  static const char *const texts[] = {
      "add(mul(%0, %0), %1)",
      "trunc(mul(%0, 3.0f32))",
      "mod(%0, 0.7f32)",
      "mod(%0, -0.7f32)",
      "mod(%0, div(%1, 0.0f32))",
      "fmod(%0, 0.7f32)",
      "select(ne(%0, %1), f32(index<0>()), %1)",
      "add(f32(index<1>()), mul(%0, %1))",
      "sub(mul(f32(index<0>()), %1), f32(index<1>()))",
      "f32(sat<i8>(i32(mul(%0, 100.0f32))))",
      "f32(and(i32(mul(%0, 50.0f32)), 12i32))",
      "f32(shr(i32(mul(%0, 50.0f32)), 2i32))",
      "%1",
      "2.5f32",
      "select(or(lt(%0, 0.0f32), not(gt(%1, 0.0f32))), exp(%0), neg(%1))",
  };
  for (size_t i = 0; i < WK_COUNTOF(texts); i++) {
    wk_module *m = wk_module_new("m");
    wk_graph *g = wk_graph_new(m, "main");
    wk_value_id x = input(g, "x", WK_F32, 2, (const int64_t[]){3, 4});
    wk_value_id z = input(g, "z", WK_F32, 1, (const int64_t[]){4});
    wk_attr_map *a = wk_attrs_new(m->arena, WK_OP_MAP);
    a->body = parse(m, texts[i], 2);
    wk_graph_output(g, "y", wk_build(g, WK_OP_MAP, a, 2, x, z));
    survives(m);
  }
}

/* Scales of blocks along one axis, each with its own ones along two others. */
static void blocks(void **state) {
  (void)state;
  wk_module *m = wk_module_new("m");
  wk_graph *g = wk_graph_new(m, "main");
  wk_value_id x = input(g, "x", WK_U8, 4, (const int64_t[]){2, 2, 3, 2});
  wk_value_id s = input(g, "s", WK_F32, 4, (const int64_t[]){2, 1, 3, 2});
  wk_value_id z = input(g, "z", WK_U8, 4, (const int64_t[]){2, 1, 3, 2});
  wk_graph_output(g, "y", wk_build(g, WK_OP_DEQUANTIZE, NULL, 3, x, s, z));
  survives(m);
}

/* ONNX's Gather has no types of 4 bits. */
static void narrow_rows(void **state) {
  (void)state;
  wk_module *m = wk_module_new("m");
  wk_graph *g = wk_graph_new(m, "main");
  wk_value_id x = input(g, "x", WK_F32, 2, (const int64_t[]){5, 3});
  wk_value_id i = input(g, "i", WK_I64, 1, (const int64_t[]){4});
  wk_attr_cast *to_narrow = wk_attrs_new(m->arena, WK_OP_CAST);
  to_narrow->to = WK_I4;
  wk_attr_cast *back = wk_attrs_new(m->arena, WK_OP_CAST);
  back->to = WK_F32;
  wk_value_id v = wk_build(g, WK_OP_CAST, to_narrow, 1, x);
  v = wk_build(g, WK_OP_GATHER, wk_attrs_new(m->arena, WK_OP_GATHER), 2, v, i);
  wk_graph_output(g, "y", wk_build(g, WK_OP_CAST, back, 1, v));
  survives(m);
}

/* A branch with captures, inside a graph that returns an input as well. */
static void branches(void **state) {
  (void)state;
  wk_module *m = wk_module_new("m");
  wk_graph *g = wk_graph_new(m, "main");
  wk_value_id c = input(g, "c", WK_BOOL, 0, NULL),
              x = input(g, "x", WK_F32, 1, (const int64_t[]){3});
  wk_graph *bodies[2];
  for (int k = 0; k < 2; k++) {
    bodies[k] = wk_graph_new(m, k ? "else" : "then");
    wk_value_id v = input(bodies[k], "v", WK_F32, 1, (const int64_t[]){3});
    wk_graph_output(bodies[k], "r", wk_build(bodies[k], k ? WK_OP_NEG : WK_OP_EXP, NULL, 1, v));
    wk_graph_output(bodies[k], "same", v);
  }
  const wk_value_id in[2] = {c, x};
  wk_value_id out[2];
  const wk_node_desc d = {.op = WK_OP_IF, .name = "branch", .in = in, .n_in = 2, .n_out = 2,
                          .bodies = bodies, .n_bodies = 2};
  assert_null(wk_graph_add(g, &d, out));
  wk_graph_output(g, "y", wk_build(g, WK_OP_ADD, NULL, 2, out[0], out[1]));
  wk_graph_output(g, "through", x);
  survives(m);
}

static wk_module *parsed(const char *text) {
  wk_module *m = NULL;
  wk_status s = wk_module_parse(text, "text", &m);
  if (s) wk_status_print(stderr, s);
  assert_null(s);
  return m;
}

/* Functions with parameters, which are lists of those that have them. */
static void recurrent_activations(void **state) {
  (void)state;
  survives(parsed("module \"m\" {\n"
                  "  graph @main(%x: f32[4,1,2], %w: f32[2,3,2], %r: f32[2,3,3]) {\n"
                  "    %y, %h = rnn(%x, %w, %r) {direction=\"bidirectional\", "
                  "activations=[\"Affine\",\"LeakyRelu\"], alpha=[0.5, 0.25], beta=[0.125], "
                  "clip=1.5}\n    output %y\n    output %h\n  }\n}\n"));
}

/* A scale of rank 1 is a scalar of ONNX's; sizes of 0 are copied by Reshape unless it says so. */
static void shapes_of_operands(void **state) {
  (void)state;
  survives(parsed("module \"m\" {\n  graph @main(%x: f32[3], %s: f32[1], %z: f32[1]) {\n"
                  "    %t = abs(%s)\n    %k = cast(%z) {to=u8}\n"
                  "    %y = quantize(%x, %t, %k) {to=u8}\n    output %y\n  }\n}\n"));
  survives(parsed("module \"m\" {\n  graph @main(%x: f32[3,2]) {\n"
                  "    %y = slice(%x) {starts=[0,0], sizes=[3,0], steps=[1,1]}\n"
                  "    %z = reshape(%y) {shape=[0,5]}\n"
                  "    %c = reduce_sum(%z) {axes=[0], keepdims=0}\n    output %c\n  }\n}\n"));
}

/* Of a tensor without axes, of which ONNX's Slice has none. */
static void no_axes(void **state) {
  static const char *const nodes[] = {
      "slice(%a) {starts=[], sizes=[], steps=[]}", "tile(%a) {repeats=[]}",
      "transpose(%a) {perm=[]}", "pad(%a) {before=[], after=[]}", "expand(%a) {shape=[]}",
      "reshape(%a) {shape=[]}", "reshape(%a) {shape=[1,1]}",
      "reduce_sum(%a) {axes=[], keepdims=0}"};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(nodes); i++) {
    char text[256];
    snprintf(text, sizeof text, "module \"m\" {\n  graph @main(%%x: f32[]) {\n    %%a = abs(%%x)\n"
             "    %%b = %s\n    %%y = neg(%%b)\n    output %%y\n  }\n}\n", nodes[i]);
    survives(parsed(text));
  }
}

/* Results that nobody wants have no value; ONNX wants a name of each part and of both of TopK. */
static void unwanted_results(void **state) {
  (void)state;
  for (int wanted = 1; wanted < 8; wanted++) {
    static const char *const names[] = {"p0", "p1", "p2"};
    wk_module *m = wk_module_new("m");
    wk_graph *g = wk_graph_new(m, "main");
    wk_value_id x = input(g, "x", WK_F32, 1, (const int64_t[]){6}), out[3];
    const char *called[3];
    for (int k = 0; k < 3; k++) called[k] = wanted >> k & 1 ? names[k] : "";
    wk_attr_split *a = wk_attrs_new(m->arena, WK_OP_SPLIT);
    a->sizes = wk_ints_dup(m->arena, (const int64_t[]){1, 2, 3}, 3);
    const wk_node_desc split = {.op = WK_OP_SPLIT, .attrs = a, .in = &x, .n_in = 1, .n_out = 3,
                                .out_names = called};
    assert_null(wk_graph_add(g, &split, out));
    for (int k = 0; k < 3; k++) {
      assert_int_equal(out[k] != WK_NONE, wanted >> k & 1);
      if (out[k] != WK_NONE) wk_graph_output(g, names[k], out[k]);
    }
    survives(m);
  }
  for (int wanted = 1; wanted < 4; wanted++) {
    wk_module *m = wk_module_new("m");
    wk_graph *g = wk_graph_new(m, "main");
    wk_value_id x = input(g, "x", WK_F32, 1, (const int64_t[]){6}), out[2];
    const char *const called[2] = {wanted & 1 ? "v" : "", wanted & 2 ? "i" : ""};
    wk_attr_top_k *a = wk_attrs_new(m->arena, WK_OP_TOP_K);
    a->k = 3;
    const wk_node_desc top = {.op = WK_OP_TOP_K, .attrs = a, .in = &x, .n_in = 1, .n_out = 2,
                              .out_names = called};
    assert_null(wk_graph_add(g, &top, out));
    for (int k = 0; k < 2; k++)
      if (out[k] != WK_NONE) wk_graph_output(g, called[k], out[k]);
    survives(m);
  }
}

/* ---- every operator -------------------------------------------------------------------------- */

static wk_tensor *outputs_of(const wk_graph *g, const wk_tensor *in, wk_status *s) {
  wk_tensor *out = wk_xcalloc(g->outputs.n + 1, sizeof *out);
  *s = wk_eval_graph(g, in, out, NULL, NULL);
  return out;
}

/* A size of 0 in a model is one that is not known: it is given. */
static wk_status import_with_shapes(const wk_module *m, wk_module **out) {
  size_t n = m->main->inputs.n;
  wk_bind_shape *shapes = wk_xcalloc(n + 1, sizeof *shapes);
  for (size_t i = 0; i < n; i++) {
    const wk_value *v = wk_val(m->main, m->main->inputs.data[i]);
    shapes[i] = (wk_bind_shape){.input = v->name, .rank = v->type.rank};
    memcpy(shapes[i].dims, v->type.dims, sizeof shapes[i].dims);
  }
  wk_import_options o = {.shapes = shapes, .n_shapes = n};
  wk_status s = wk_import_onnx(path, &o, NULL, out);
  free(shapes);
  return s;
}

/* Exported and imported again, m computes the same; what has no ONNX form is refused as that. Frees
 * the inputs. */
static bool round_trip(const wk_module *m, wk_tensor *in, bool *is_written, wk_str *why) {
  wk_module *back = NULL;
  wk_status s = wk_export_onnx(m, path);
  *is_written = !(s && s->code == WK_UNSUPPORTED);
  if (!*is_written) {
    wk_status_free(s);
    random_tensors_free(in, m->main->inputs.n);
    return true;
  }
  if (!s) s = import_with_shapes(m, &back);
  wk_tensor *want = NULL, *got = NULL;
  if (!s) want = outputs_of(m->main, in, &s);
  if (!s) got = outputs_of(back->main, in, &s);
  bool same = !s && random_same(m->main, got, want, why);
  if (s) wk_str_printf(why, "%s: %s", s->place ? s->place : "", s->message);
  wk_status_free(s);
  if (got) random_tensors_free(got, m->main->outputs.n);
  if (want) random_tensors_free(want, m->main->outputs.n);
  random_tensors_free(in, m->main->inputs.n);
  wk_module_free(back);
  return same;
}

/* True: it has an ONNX form. */
static bool must_round_trip(const wk_module *m, wk_tensor *in, const char *what, uint64_t seed) {
  wk_str why = {0};
  bool is_written;
  if (!round_trip(m, in, &is_written, &why)) {
    wk_module_print(&why, m, WK_PRINT_SHORT);
    fail_msg("%s, seed %llu: %s", what, (unsigned long long)seed, why.s);
  }
  wk_str_free(&why);
  return is_written;
}

/* Graphs of one operator each, as they are and as the passes and lowering leave them. */
static void every_operator(void **state) {
  enum { SEEDS = 16 };
  (void)state;
  for (int op = 0; op < WK_OP_COUNT; op++)
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
      random_options o = {.nodes = 4, .only = (wk_op)op, .no_motifs = true};
      const char *name = wk_op_get((wk_op)op)->name;
      wk_module *m = random_graph(seed, &o);
      assert_null(wk_module_normalise(m));
      if (m->main->outputs.n == 0) { /* nothing was drawn: no model */
        wk_module_free(m);
        continue;
      }
      must_round_trip(m, random_inputs(m->main), name, seed);
      if (seed % 2) assert_null(wk_passes_run(m, WK_STAGE_GRAPH, NULL, NULL, NULL));
      assert_null(wk_lower_nodes(m, NULL, NULL));
      if (seed % 2) assert_null(wk_passes_run(m, WK_STAGE_PRIMITIVE, NULL, NULL, NULL));
      must_round_trip(m, random_inputs(m->main), name, seed);
      wk_module_free(m);
    }
}

/* Branches and loops within each other. A loop that may end early and reads slices is no Scan. */
static void control_within_control(void **state) {
  enum { SEEDS = 60 };
  (void)state;
  int written = 0;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    wk_module *m = random_control(seed);
    written += must_round_trip(m, random_control_inputs(m->main, seed), "control", seed);
    wk_module_free(m);
  }
  print_message("%d of %d have an ONNX form\n", written, SEEDS);
  assert_true(written > SEEDS / 2);
}

/* Doubles while it is below 50, however often: Loop without its first input. */
static void loop_without_trip(void **state) {
  (void)state;
  wk_module *m = wk_module_new("m");
  wk_graph *g = wk_graph_new(m, "main"), *b = wk_graph_new(m, "body");
  wk_value_id x = input(g, "x", WK_F32, 1, (const int64_t[]){1});
  input(b, "i", WK_I64, 0, NULL);
  wk_value_id v = input(b, "v", WK_F32, 1, (const int64_t[]){1});
  v = wk_build(b, WK_OP_ADD, NULL, 2, v, wk_build(b, WK_OP_ABS, NULL, 1, v));
  wk_value_id below = wk_build(b, WK_OP_LESS, NULL, 2, v, wk_graph_scalar(b, WK_F32, 50));
  wk_graph_output(b, "more", below);
  wk_graph_output(b, "w", v);
  wk_attr_loop *a = wk_attrs_new(m->arena, WK_OP_LOOP);
  a->trip = INT64_MAX;
  a->has_cond = 1;
  a->n_state = 1;
  const wk_value_id in[2] = {WK_NONE, wk_build(g, WK_OP_EXP, NULL, 1, x)};
  wk_value_id out;
  const wk_node_desc d = {.op = WK_OP_LOOP, .name = "double", .attrs = a, .in = in, .n_in = 2,
                          .n_out = 1, .bodies = &b, .n_bodies = 1};
  assert_null(wk_graph_add(g, &d, &out));
  wk_graph_output(g, "y", out);
  survives(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(fused_convolution),
    cmocka_unit_test(fused_products), cmocka_unit_test(expressions),
    cmocka_unit_test(blocks),
    cmocka_unit_test(narrow_rows),
    cmocka_unit_test(branches),
    cmocka_unit_test(recurrent_activations),
    cmocka_unit_test(shapes_of_operands),
    cmocka_unit_test(no_axes),
    cmocka_unit_test(unwanted_results),
    cmocka_unit_test(every_operator),
    cmocka_unit_test(loop_without_trip),
    cmocka_unit_test(control_within_control),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
