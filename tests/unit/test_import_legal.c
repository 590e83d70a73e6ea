/* SPDX-License-Identifier: Apache-2.0
 * Models that are legal though they look wrong: nodes that nothing uses and nobody knows, sizes of
 * 0, loops that do not run, scales of 0 or below, sizes whose names name nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/integer/integer.h"
#include "compiler/onnx/onnx.h"
#include "tests/hostile/model_text.h"

static wk_status import(const char *text, const wk_import_options *o, wk_import_report *r,
                        wk_module **m) {
  wk_str model = {0};
  model_text(text, &model);
  wk_status s = wk_import_onnx_memory(model.s, model.n, o, r, m);
  wk_str_free(&model);
  return s;
}

/* What the import says: its message, what it asks for, its notes, its outputs. */
static wk_str said_of(const char *text) {
  wk_import_report r;
  wk_module *m = NULL;
  wk_str b = {0};
  wk_status s = import(text, NULL, &r, &m);
  if (s) wk_str_printf(&b, "%s%s%s;", s->place ? s->place : "", s->place ? ": " : "", s->message);
  for (size_t i = 0; i < r.need_bind.n; i++) wk_str_printf(&b, " %s;", r.need_bind.data[i]);
  for (size_t i = 0; i < r.need_value.n; i++) wk_str_printf(&b, " value %s;", r.need_value.data[i]);
  for (size_t i = 0; i < r.notes.n; i++) wk_str_printf(&b, " note: %s;", r.notes.data[i]);
  for (size_t i = 0; m && i < m->main->outputs.n; i++) {
    wk_str_printf(&b, " %s ", m->main->output_names.data[i]);
    wk_type_print(&b, &wk_val(m->main, m->main->outputs.data[i])->type);
  }
  wk_str_add(&b, "");
  wk_status_free(s);
  wk_import_report_free(&r);
  wk_module_free(m);
  return b;
}

typedef struct {
  const char *text, *says; /* all of it, or what it begins with where that ends in "…" */
} row;

static void check_rows(const row *rows, size_t n) {
  int bad = 0;
  for (size_t i = 0; i < n; i++) {
    wk_str got = said_of(rows[i].text);
    size_t length = strlen(rows[i].says), dots = strlen("…");
    bool is_begun = length > dots && !strcmp(rows[i].says + length - dots, "…");
    bool good = is_begun ? !strncmp(got.s, rows[i].says, length - dots)
                         : !strcmp(got.s, rows[i].says);
    if (!good) print_error("%s\n  says '%s'\n  not  '%s'\n", rows[i].text, got.s, rows[i].says);
    bad += !good;
    wk_str_free(&got);
  }
  assert_int_equal(bad, 0);
}

/* ---- nodes that nothing uses ---------------------------------------------------------------- */

#define X "in x f32[2,3]; "
#define Y "Relu x -> y; out y"
#define ONE " note: 1 node is left out, since nothing uses its results: "
#define OUT "; y f32[2,3]"
#define IF(then, other) \
  X "in c bool[]; If c -> y {then_branch=(" then ") else_branch=(" other ")}; out y"

static const row unused[] = {
    {X "local.Foo x -> t; " Y, ONE "Foo_t (local.Foo)" OUT},
    {X "Nonesuch x -> t; " Y, ONE "Nonesuch_t (Nonesuch)" OUT},
    {X "Nonesuch x,nowhere -> t; " Y, ONE "Nonesuch_t (Nonesuch)" OUT},
    {X "Nonesuch t -> t; " Y, ONE "Nonesuch_t (Nonesuch)" OUT},
    {X "Relu x -> t {alpha=1.5}; " Y, ONE "Relu_t (Relu)" OUT},
    /* a chain, one that reads what is used, a whole group in a circle */
    {X "Foo x -> a; Exp a -> b; Bar b,x -> d; Qux d -> e; " Y,
     " note: 4 nodes are left out, since nothing uses their results: Foo_a (Foo), Exp_b (Exp)…"},
    {X Y "; Foo y -> t", ONE "Foo_t (Foo)" OUT},
    {X "Foo b -> a; Bar a -> b; " Y, " note: 2 nodes are left out, since nothing uses their …"},
    /* an unused output is no use, one that is makes the node used */
    {X "Dropout x -> y,m; Foo m -> t; out y", ONE "Foo_t (Foo)" OUT},
    {X "Foo x -> y,t; out y", "Foo_y: Foo-17 (f32[2,3]): this operator is not known…"},
    /* tensors that nothing else reads */
    {X "init s string[0]; StringNormalizer s -> t; " Y,
     ONE "StringNormalizer_t (StringNormalizer)" OUT},
    {X "in s string[2]; StringNormalizer s -> t; " Y,
     ONE "StringNormalizer_t (StringNormalizer); note: input s is left out, since nothing uses it: "
     "strings (STRING) are not supported" OUT},
    {X "in s string[2]; " Y,
     " note: input s is left out, since nothing uses it: strings (STRING) are not supported" OUT},
    {X "in s string[2]; Foo s -> t; Relu x -> y; out y; out t", "Foo_t: Foo-17 (strings): …"},
    /* graphs within nodes, functions */
    {IF("Foo x -> t; Neg x -> a; out a", "Exp x -> b; out b"), ONE "Foo_t (Foo)" OUT},
    {IF("Neg x -> a; out a", "Foo x -> t; Bar t -> u; Exp x -> b; out b"),
     " note: 2 nodes are left out, since nothing uses their results: Foo_t (Foo), Bar_u (Bar)" OUT},
    {X "Foo x -> v; in c bool[]; If c -> y {then_branch=(Bar v -> t; Neg x -> a; out a) "
     "else_branch=(Exp x -> b; out b)}; out y",
     " note: 2 nodes are left out, since nothing uses their results: Foo_v (Foo), Bar_t (Bar)" OUT},
    {X "Foo x -> v; in c bool[]; If c -> y {then_branch=(Bar v -> a; out a) "
     "else_branch=(Exp x -> b; out b)}; out y", "2 nodes of 2 operators are not supported…"},
    {X "in c bool[]; If c -> t {then_branch=(Foo x -> a; Bar x -> u; out a) "
     "else_branch=(Exp x -> b; out b)}; " Y, ONE "If_t (If)" OUT},
    {X "fun F a -> c (Foo a -> t; Neg a -> c); local.F x -> y; out y", ONE "Foo_t (Foo)" OUT},
    {X "fun F a -> c (Foo a -> c); local.F x -> t; " Y, ONE "F_t (local.F)" OUT}};

static void nodes_that_nothing_uses(void **state) {
  (void)state;
  check_rows(unused, WK_COUNTOF(unused));
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static const row sizes[] = {
    {"in x f32[0,3]; " Y, " y f32[0,3]"},
    {"in x f32[2,0]; ReduceSum x -> y; out y", " y f32[1,1]"},
    {"in x f32[0,3]; in w f32[2,3]; Concat x,w -> y {axis=0}; out y", " y f32[2,3]"},
    {"in x f32[0,2,5,5]; init w f32[3,2,3,3]; Conv x,w -> y; out y", " y f32[0,3,3,3]"},
    {"in x f32[N,3]; in z f32[N,3]; Add x,z -> y; out y",
     "sizes are not known (ranges such as 1..512 will do): give --bind N=N; --bind N=N;"},
    {"in x f32[1,3,_,_]; " Y,
     "sizes are not known (ranges such as 1..512 will do): give --shape x=1x3xNxN; "
     "--shape x=1x3xNxN;"}};

static void sizes_of_zero(void **state) {
  (void)state;
  check_rows(sizes, WK_COUNTOF(sizes));
}

/* ---- loops that do not run ------------------------------------------------------------------ */

#define LOOP(n, states, in, out, body, outs) \
  X "init n i64[]={" n "}; Loop n,_" states " -> " out " {body=(in i i64[]; in c bool[]" in \
  "; " body "; out c" outs ")}; "

static const row loops[] = {
    {LOOP("0", ",x", "; in v f32[2,3]", "y,z", "Exp v -> w", "; out w; out w") "out y; out z",
     " y f32[2,3] z f32[0,2,3]"},
    {LOOP("-3", ",x", "; in v f32[2,3]", "y,z", "ReduceSum v -> w {keepdims=0}", "; out v; out w")
     "Relu z -> r; out y; out r", " y f32[2,3] r f32[0]"},
    {LOOP("0", "", "", "z", "Cast i -> w {to=1}", "; out w") "out z", " z f32[0]"},
    /* scans of two results, within a condition, in a loop that runs */
    {LOOP("0", "", "", "y,z", "Shape x -> s", "; out s; out i") "out y; out z",
     " y i64[0,2] z i64[0]"},
    {X "init n i64[]={5}; init go bool[]={0}; Loop n,go,x -> y,z {body=(in i i64[]; in c bool[]; "
     "in v f32[2,3]; Exp v -> w; out c; out w; out w)}; out z", " z f32[0,2,3]"},
    /* by its declaration where nothing else is known */
    {LOOP("0", "", "", "z", "Foo x -> w", "; out w f32[4,N]") "out z", " z f32[0,4,0]"},
    {LOOP("0", "", "", "z", "Foo x -> w", "; out w") "out z",
     "Loop_z: Loop-17 (i64[]): a loop without iterations has scan outputs whose type is neither "
     "known nor declared;"},
    {"in x f32[0,3]; in s f32[3]; Scan s,x -> e,y {num_scan_inputs=1 body=(in a f32[3]; "
     "in b f32[3]; Add a,b -> d; Mul a,b -> o; out d; out o)}; out e; out y",
     " e f32[3] y f32[0,3]"}};

static void loops_that_do_not_run(void **state) {
  (void)state;
  check_rows(loops, WK_COUNTOF(loops));
}

/* ---- scales --------------------------------------------------------------------------------- */

/* Evaluates on numbers of both signs; is_integer: once quantised operators have become integers. */
static void results_of(const char *text, bool is_integer, wk_tensor *out, size_t *n) {
  wk_module *m = NULL;
  int64_t changes;
  wk_tensor in[4] = {0};
  wk_status s = import(text, NULL, NULL, &m);
  if (!s && is_integer) s = wk_integer_convert(m, &changes);
  for (size_t i = 0; !s && i < m->main->inputs.n; i++) {
    const wk_type *t = &wk_val(m->main, m->main->inputs.data[i])->type;
    s = wk_tensor_alloc(t, &in[i]);
    for (int64_t k = 0; !s && k < wk_type_count(t); k++)
      wk_store_f64(in[i].data, t->dtype, k, wk_dtype_is_float(t->dtype) ? (k * 37 % 23 - 11) * 0.3
                                                                       : k * 37 % 120);
  }
  if (!s) s = wk_eval_graph(m->main, in, out, NULL, NULL);
  if (s) fail_msg("%s: %s", text, s->message);
  *n = m->main->outputs.n;
  for (size_t i = 0; i < m->main->inputs.n; i++) wk_tensor_free(&in[i]);
  wk_module_free(m);
}

#define OPSET "opset 21; in x f32[2,3]; "
#define WEIGHTS(w, scales) OPSET "init q i8[3,4]={" w "}; init s f32[4]={" scales "}; " \
  "DequantizeLinear q,s -> d {axis=1}; MatMul x,d -> y; out y"
#define WHOLE(w, s, b) OPSET "init xs f32[]={0.02}; init xz i8[]={3}; init w i8[3,4]={" w "}; " \
  "init s f32[4]={" s "}; init b f32[4]={" b "}; init ys f32[]={0.05}; init yz i8[]={-4}; " \
  "QuantizeLinear x,xs,xz -> a; DequantizeLinear a,xs,xz -> d; " \
  "DequantizeLinear w,s -> e {axis=1}; MatMul d,e -> m; Add m,b -> r; " \
  "QuantizeLinear r,ys,yz -> y; out y"
#define QLINEAR(w, s) "in x u8[1,1,3,3]; init a f32[]={0.02}; init b u8[]={7}; " \
  "init w i8[2,1,2,2]={" w "}; init s f32[2]={" s "}; init z i8[2]; init c f32[]={0.1}; " \
  "init d u8[]={100}; QLinearConv x,a,b,w,s,z,c,d -> y; out y"

/* Pairs that compute the same: scales of 0 or below, and the same without them. */
static const char *const pairs[][2] = {
    {WEIGHTS("1,2,3,4,5,-6", "0.5,0,0.25,0"),
     WEIGHTS("1,0,3,0,5,0,-6,0,-6,0,-6,0", "0.5,1,0.25,1")},
    {OPSET "init q i8[2,3]={1,-128,3}; init s f32[]={-0.5}; DequantizeLinear q,s -> d; "
     "Add x,d -> y; out y",
     OPSET "init d f32[2,3]={-0.5,64,-1.5}; Add x,d -> y; out y"},
    {OPSET "init q i32[3]={100,-7,5}; init s f32[]={0}; DequantizeLinear q,s -> d; Add x,d -> y; "
     "out y", OPSET "Add x,d -> y; init d f32[3]={0}; out y"},
    {OPSET "init q i8[2,4]={9,-8,7,6}; init s f32[2,2]={0.5,0,-2,0.25}; DequantizeLinear q,s -> y "
     "{axis=1 block_size=2}; out y",
     OPSET "init y0 f32[2,4]={4.5,-4,0,0,-12,-12,1.5,1.5}; Identity y0 -> y; out y"},
    {OPSET "init q i4[2,3]={7,-8,3,1,2,5}; init s f32[]={0}; DequantizeLinear q,s -> d; "
     "Add x,d -> y; out y", OPSET "Add x,d -> y; init d f32[3]={0}; out y"},
    {WHOLE("1,-2,127,4,5,6,-127,8,9,1,2,3", "0.01,0,-0.02,0.003", "0.5,0.25,0,-1"),
     WHOLE("1,0,-127,4,5,0,127,8,9,0,-2,3", "0.01,1,0.02,0.003", "0.5,0.25,0,-1")},
    {QLINEAR("9,8,-7,6,1,2,3,4", "0.01,0"), QLINEAR("9,8,-7,6,0", "0.01,0.5")},
    {QLINEAR("9,8,-7,6,1,2,3,4", "-0.01,0.02"), QLINEAR("-9,-8,7,-6,1,2,3,4", "0.01,0.02")},
    /* x / 0 saturates, 0 / 0 is NaN, which becomes 0; a negative scale turns the order around */
    {OPSET "init s f32[]={0}; init z i8[]={5}; init k f32[2,3]={1,-1,0,0.5,inf,-3}; "
     "QuantizeLinear k,s,z -> y; out y",
     OPSET "init y0 i8[2,3]={127,-128,0,127,127,-128}; Identity y0 -> y; out y"},
    {OPSET "init s f32[]={-0.5}; init z u8[]={10}; init k f32[2,3]={1,-1,0,0.75,inf,200}; "
     "QuantizeLinear k,s,z -> y; out y",
     OPSET "init y0 u8[2,3]={8,12,10,8,0,0}; Identity y0 -> y; out y"}};

static void scales_of_zero_or_below(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(pairs); i++)
    for (int is_integer = 0; is_integer < 2; is_integer++) {
      wk_tensor got[4] = {0}, want[4] = {0};
      size_t n, n_want;
      results_of(pairs[i][0], is_integer, got, &n);
      results_of(pairs[i][1], is_integer, want, &n_want);
      assert_int_equal(n, n_want);
      for (size_t k = 0; k < n; k++) {
        assert_true(wk_type_equal(&got[k].type, &want[k].type));
        for (int64_t e = 0; e < wk_type_count(&got[k].type); e++) {
          double a = wk_load_f64(got[k].data, got[k].type.dtype, e),
                 b = wk_load_f64(want[k].data, want[k].type.dtype, e);
          double room = wk_dtype_is_float(got[k].type.dtype) ? 1e-5 * (1 + fabs(b)) : 0;
          if (!(fabs(a - b) <= room)) fail_msg("%s: %lld is %g, not %g", pairs[i][0], (long long)e,
                                               a, b);
        }
        wk_tensor_free(&got[k]);
        wk_tensor_free(&want[k]);
      }
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_that_nothing_uses),
                                     cmocka_unit_test(sizes_of_zero),
                                     cmocka_unit_test(loops_that_do_not_run),
                                     cmocka_unit_test(scales_of_zero_or_below)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
