/* SPDX-License-Identifier: Apache-2.0
 * wick grad of small models: what it says of each tensor, the sums, what is tried and where, and
 * what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/command_output.h"

/* ---- models ---------------------------------------------------------------------------------- */

static void add_shape(wk_str *b, int type, int rows, int columns) {
  wk_str_printf(b, "type { tensor_type { elem_type: %d shape { dim { dim_value: %d } "
                "dim { dim_value: %d } } } }", type, rows, columns);
}

/* "kind NAME TYPE ROWSxCOLUMNS" or "OPERATOR OUTPUT INPUT...", one a line; TYPE as in ONNX. */
static void put_model(const char *path, const char *const *lines) {
  wk_str b = {0};
  wk_str_add(&b, "ir_version: 8 opset_import { version: 17 }\ngraph { name: \"g\"\n");
  for (; *lines; lines++) {
    char kind[16], words[4][32];
    int type, rows, columns;
    if (sscanf(*lines, "%15s %31s %d %dx%d", kind, words[0], &type, &rows, &columns) == 5) {
      bool is_weight = !strcmp(kind, "weight");
      wk_str_printf(&b, "%s { name: \"%s\" ", is_weight ? "initializer" : kind, words[0]);
      if (!is_weight) add_shape(&b, type, rows, columns);
      else wk_str_printf(&b, "dims: %d dims: %d data_type: %d ", rows, columns, type);
      for (int i = 0; is_weight && i < rows * columns; i++)
        wk_str_printf(&b, type == 1 ? "float_data: %d.5 " : "int64_data: %d ", i % 2);
      wk_str_add(&b, " }\n");
      continue;
    }
    int n = sscanf(*lines, "%15s %31s %31s %31s %31s", kind, words[0], words[1], words[2],
                   words[3]);
    wk_str_printf(&b, "node { op_type: \"%s\" name: \"%s\" output: \"%s\"", kind, words[0],
                  words[0]);
    for (int i = 1; i < n - 1; i++) wk_str_printf(&b, " input: \"%s\"", words[i]);
    wk_str_add(&b, " }\n");
  }
  wk_str_add(&b, "}\n");
  put_file(path, b.s);
  wk_str_free(&b);
}
#define MODEL(path, ...) put_model(path, (const char *const[]){__VA_ARGS__, NULL})
#define GRAD(...) &wk_cmd_grad, WORDS((char *)"grad", __VA_ARGS__)

/* A product whose weight is used twice, a gather by integers, and an output that is constant almost
 * everywhere. */
static int make_models(void **state) {
  if (enter_folder(state)) return -1;
  MODEL("net.onnxtxt", "input x 1 2x3", "input i 7 1x2", "weight w 1 3x4", "weight at 7 1x2",
        "MatMul p x w", "Add s w w", "MatMul q x s", "Add y p q", "Floor z x", "Add j i at",
        "output y 1 2x4", "output z 1 2x3", "output j 7 1x2");
  MODEL("relu.onnxtxt", "input x 1 2x3", "input x2 1 2x3", "Relu a x", "Mul y a x2",
        "output y 1 2x3");
  MODEL("log.onnxtxt", "input x 1 2x3", "Log y x", "output y 1 2x3");
  MODEL("ints.onnxtxt", "input x 7 2x3", "Neg y x", "output y 7 2x3");
  return 0;
}

/* ---- the summary ----------------------------------------------------------------------------- */

static void each_tensor_is_said(void **state) {
  (void)state;
  expect_printed(GRAD(W("net.onnxtxt")),
                 "TENSOR  TYPE      GRADIENT\n"
                 "x       f32[2,3]  yes\n"
                 "w       f32[3,4]  yes\n"
                 "\n2 of 2 tensors have a gradient\n"
                 "forward   6 nodes, 48 MACs\n"
                 "backward  13 nodes, 96 MACs\n");
  expect_printed(GRAD(W("net.onnxtxt"), W("--of=z")),
                 "TENSOR  TYPE      GRADIENT\n"
                 "x       f32[2,3]  0: no output depends on it\n"
                 "w       f32[3,4]  0: no output depends on it\n"
                 "\n0 of 2 tensors have a gradient\n"
                 "forward   6 nodes, 48 MACs\n"
                 "backward  1 nodes, 0 MACs\n");
  expect_printed(GRAD(W("net.onnxtxt"), W("--of=y"), W("--wrt=w")),
                 "TENSOR  TYPE      GRADIENT\n"
                 "w       f32[3,4]  yes\n"
                 "\n1 of 1 tensors have a gradient\n"
                 "forward   6 nodes, 48 MACs\n"
                 "backward  7 nodes, 48 MACs\n");
  expect_printed(GRAD(W("net.onnxtxt"), W("--wrt=w"), W("--wrt=?")),
                 "TENSOR  TYPE      GRADIENT\n"
                 "x       f32[2,3]  yes\n"
                 "w       f32[3,4]  yes\n"
                 "\n2 of 2 tensors have a gradient\n"
                 "forward   6 nodes, 48 MACs\n"
                 "backward  13 nodes, 96 MACs\n");
}

/* n inputs whose sum is one output, and one that nothing reads. */
static void put_many(const char *path, int n) {
  wk_str b = {0};
  wk_str_add(&b, "ir_version: 8 opset_import { version: 17 }\ngraph { name: \"g\"\n");
  for (int i = 0; i < n; i++) {
    wk_str_printf(&b, "input { name: \"x%d\" ", i);
    add_shape(&b, 1, 1, 1);
    wk_str_add(&b, " }\n");
  }
  wk_str_add(&b, "node { op_type: \"Sum\" output: \"y\"");
  for (int i = 1; i < n; i++) wk_str_printf(&b, " input: \"x%d\"", i);
  wk_str_add(&b, " }\noutput { name: \"y\" ");
  add_shape(&b, 1, 1, 1);
  wk_str_add(&b, " } }\n");
  put_file(path, b.s);
  wk_str_free(&b);
}

/* Of many, those without a gradient alone. */
static void many_tensors(void **state) {
  (void)state;
  wk_str all = {0};
  put_many("many.onnxtxt", 24);
  assert_null(run_words(GRAD(W("many.onnxtxt")), &all));
  assert_non_null(strstr(all.s, "x23     f32[1,1]  yes\n"));
  put_many("many.onnxtxt", 25);
  expect_printed(GRAD(W("many.onnxtxt")),
                 "TENSOR  TYPE      GRADIENT\n"
                 "x0      f32[1,1]  0: no output depends on it\n"
                 "\n24 of 25 tensors have a gradient\n"
                 "forward   23 nodes, 0 MACs\n"
                 "backward  1 nodes, 0 MACs\n");
  expect_printed(GRAD(W("many.onnxtxt"), W("--wrt=x?*"), W("--wrt=x1")),
                 "TENSOR  TYPE      GRADIENT\n"
                 "x0      f32[1,1]  0: no output depends on it\n"
                 "\n24 of 25 tensors have a gradient\n"
                 "forward   23 nodes, 0 MACs\n"
                 "backward  1 nodes, 0 MACs\n");
  all.n = 0;
  assert_null(run_words(GRAD(W("many.onnxtxt"), W("-v")), &all));
  assert_non_null(strstr(all.s, "x24     f32[1,1]  yes\n\n24 of 25 tensors"));
  put_many("many.onnxtxt", 26);
  expect_printed(GRAD(W("many.onnxtxt"), W("--wrt=x[1-9]*")),
                 "25 of 25 tensors have a gradient\n"
                 "forward   24 nodes, 0 MACs\n"
                 "backward  1 nodes, 0 MACs\n");
  wk_str_free(&all);
}

/* ---- the proof ------------------------------------------------------------------------------- */

static void what_was_tried(void **state) {
  (void)state;
  static const float some[] = {0, 1, -2, 0, 3, 0}, none[6] = {0};
  put_npy("some.npy", 2, 3, some);
  put_npy("none.npy", 2, 3, none);
  put_npy("wide.npy", 3, 2, none);
  expect_printed(GRAD(W("net.onnxtxt"), W("--check"), W("--of=y"), W("--tolerance=0")),
                 "14 elements of 2 tensors: 0 tensors differ, no difference is beyond that of ro"
                 "unding\n");
  expect_printed(GRAD(W("relu.onnxtxt"), W("--check"), W("-v"), W("--input=x=some.npy"),
                      W("--input=x2=some.npy")),
                 "TENSOR  TYPE      TRIED  ERROR  ADJOINT  DIFFERENCE  WHERE\n"
                 "x       f64[2,3]      6      0        0           0  [0,0]\n"
                 "x2      f64[2,3]      6      0        0           0  [0,0]\n"
                 "12 elements of 2 tensors: 0 tensors differ, no difference is beyond that of ro"
                 "unding\n");
  expect_printed(GRAD(W("relu.onnxtxt"), W("--check"), W("--input=x=some.npy")),
                 "12 elements of 2 tensors: 0 tensors differ, no difference is beyond that of ro"
                 "unding; 3 at kinks, without a stable difference\n");
  expect_printed(GRAD(W("relu.onnxtxt"), W("--check"), W("--input=x2=some.npy")),
                 "12 elements of 2 tensors: 0 tensors differ, no difference is beyond that of ro"
                 "unding\n");
  expect_refused(GRAD(W("log.onnxtxt"), W("--check"), W("--input=x=none.npy")),
       WK_FAILED, "log.onnxtxt",
       "none of 6 elements can be compared: the outputs are no fini"
       "te numbers there, or have a kink: give other inputs with --input or --seed");
  expect_refused(GRAD(W("relu.onnxtxt"), W("--check"), W("--input=x2=wide.npy")),
       WK_INPUT, "--input x2=wide.npy",
       "axis 0 of input x2 has size 2 in the model, 3 is given");
  expect_refused(GRAD(W("relu.onnxtxt"), W("--check"), W("--input=x3=some.npy")),
       WK_USAGE, "relu.onnxtxt",
       "--input x3=some.npy: there is no input 'x3'; did you mean 'x'?");
  expect_refused(GRAD(W("relu.onnxtxt"), W("--check"), W("--input=x")),
       WK_IO, "x",
       "cannot open: No such file or directory");
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Gradients are outputs with names that the model has not. */
static void graphs_are_written(void **state) {
  (void)state;
  MODEL("taken.onnxtxt", "input x 1 1x2", "input w 1 1x2", "input v 1 1x2", "Mul grad(w) x w",
        "Neg grad(w)_2 v", "output grad(w) 1 1x2", "output grad(w)_2 1 1x2");
  expect_printed(GRAD(W("taken.onnxtxt"), W("--of=grad(w)"), W("--emit=graph")),
                 "module \"taken.onnxtxt\" opset 17 {\n"
                 "  graph @g(%x: f32[1,2], %w: f32[1,2], %v: f32[1,2]) {\n"
                 "    %_5 = constant f32[] {1.0}\n"
                 "    %\"grad(w)\" = mul(%x, %w) : f32[1,2] \"grad(w)\"\n"
                 "    %\"grad(w)_2\" = neg(%v) : f32[1,2] \"grad(w)_2\"\n"
                 "    %_6 = expand(%_5) {shape=[1,2]} : f32[1,2] \"grad\"\n"
                 "    %_7, %_8 = map(%x, %w, %_6) {body=\"mul(%2, %1), mul(%2, %0)\"} : f32[1,2]"
                 ", f32[1,2] \"grad(grad(w))\"\n"
                 "    output %\"grad(w)\"\n"
                 "    output %\"grad(w)_2\"\n"
                 "    output %_7 as \"grad(x)\"\n"
                 "    output %_8 as \"grad(w)_3\"\n"
                 "  }\n"
                 "}\n");
  expect_printed(GRAD(W("taken.onnxtxt"), W("--emit=graph"), W("--output=graph.txt")), "");
  expect_printed(GRAD(W("taken.onnxtxt"), W("--emit=dot"), W("--output=graph.dot")), "");
  expect_printed(GRAD(W("taken.onnxtxt"), W("--emit=onnx"), W("--output=graph.onnx")), "");
  char *text = file_text("graph.txt"), *dot = file_text("graph.dot");
  assert_non_null(strstr(text, "grad(v)"));
  assert_int_equal(strncmp(dot, "digraph ", 8), 0);
  wk_str again = {0};
  assert_null(run_words(GRAD(W("graph.onnx")), &again));
  assert_non_null(strstr(again.s, " tensors have a gradient\n"));
  wk_str_free(&again);
  free(text);
  free(dot);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void what_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *words[5];
    wk_code code;
    const char *place, *message;
  } cases[] = {
      {{"ints.onnxtxt", "--emit=graph", "-o", "ints.onnxtxt"}, WK_USAGE, "ints.onnxtxt",
       "--output would overwrite the model"},
      {{"net.onnxtxt", "--of=q"}, WK_USAGE, "net.onnxtxt",
       "--of: the model has no output 'q'"},
      {{"net.onnxtxt", "--of=yy"}, WK_USAGE, "net.onnxtxt",
       "--of: no output 'yy'; did you mean 'y'?"},
      {{"net.onnxtxt", "--of=j"}, WK_INPUT, "j",
       "is of i64, which has no derivative"},
      {{"ints.onnxtxt"}, WK_INPUT, "ints.onnxtxt",
       "no output is of floats"},
      {{"net.onnxtxt", "--check", "--emit=dot"}, WK_USAGE, "net.onnxtxt",
       "--check writes no graph: --emit goes without it"},
      {{"net.onnxtxt", "--check", "--wrt=x"}, WK_USAGE, "net.onnxtxt",
       "--check tries all tensors: --wrt goes without it"},
      {{"net.onnxtxt", "--emit=onnx"}, WK_USAGE, "net.onnxtxt",
       "--emit onnx needs --output FILE"},
      {{"net.onnxtxt", "-o", "x"}, WK_USAGE, "net.onnxtxt",
       "--output x: only graphs are written there: give --emit grap"
       "h, onnx or dot"},
      {{"net.onnxtxt", "--bind=n=1", "--bind=n=2"}, WK_USAGE, "net.onnxtxt",
       "one binding at a time: give --bind and --shape once"},
      {{"net.onnxtxt", "--check", "--input=x=net.onnxtxt"}, WK_INPUT, "net.onnxtxt",
       "is text, not a tensor file (.npy or .pb)"},
      {{"net.onnxtxt", "--emit=dot", "--output=some.npy", "--input=x=some.npy"},
       WK_USAGE, "some.npy",
       "--output would overwrite the file of --input"},
      {{"net.onnxtxt", "--emit=dot", "-o", "some.npy", "--value=x=some.npy"}, WK_USAGE, "some.npy",
       "--output would overwrite the file of --value"},
      {{"none.onnx"}, WK_IO, "none.onnx",
       "cannot open: No such file or directory"},
  };
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    char *words[8] = {W("grad")};
    for (int k = 0; k < 5 && cases[i].words[k]; k++) words[k + 1] = W(cases[i].words[k]);
    expect_refused(&wk_cmd_grad, words, cases[i].code, cases[i].place, cases[i].message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_tensor_is_said), cmocka_unit_test(many_tensors),
      cmocka_unit_test(what_was_tried), cmocka_unit_test(graphs_are_written),
      cmocka_unit_test(what_is_refused)};
  return cmocka_run_group_tests(tests, make_models, leave_folder);
}
