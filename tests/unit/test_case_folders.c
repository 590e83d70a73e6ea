/* SPDX-License-Identifier: Apache-2.0
 * Folders in the layout of the ONNX tests: which file belongs to which input or output, which model
 * a set is run on, and what the verdict says. Models are texts, tensors a few numbers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/verify/test_case.h"

static char folder[] = "/tmp/wick-folders-XXXXXX";
static bool is_wrong;

/* ---- models ---------------------------------------------------------------------------------- */

#define OP(type, in, out) "node { op_type: \"" type "\" " in "output: \"" out "\" } "
#define I(name) "input: \"" name "\" "
#define VALUE(kind, name, type, dims) kind " { name: \"" name "\" type { tensor_type { " \
  "elem_type: " type " shape { " dims "} } } } "
#define DIM(n) "dim { dim_value: " #n " } "
#define ANY(n) "dim { dim_param: \"" n "\" } "
#define F32 "1"
#define I32 "6"
#define F64 "11"
#define NEG(type, dims) OP("Neg", I("x"), "y") VALUE("input", "x", type, dims) \
  VALUE("output", "y", type, dims)
#define SCALAR(name, type, field, v) "initializer { name: \"" name "\" data_type: " type " " field \
  ": " v " } "
#define SUB2 OP("Sub", I("a") I("b"), "y") VALUE("input", "a", F32, DIM(2)) \
  VALUE("input", "b", F32, DIM(2)) VALUE("output", "y", F32, DIM(2))
#define STEPS OP("QuantizeLinear", I("x") I("s"), "q") OP("DequantizeLinear", I("q") I("s"), "y") \
  SCALAR("s", "1", "float_data", "0.5") VALUE("input", "x", F32, DIM(4)) \
  VALUE("output", "y", F32, DIM(4))

#define MOVED_STEPS OP("QuantizeLinear", I("x") I("s"), "q") \
  OP("DequantizeLinear", I("q") I("s"), "d") OP("Transpose", I("d"), "y") \
  SCALAR("s", "1", "float_data", "0.5") VALUE("input", "x", F32, DIM(4)) \
  VALUE("output", "y", F32, DIM(4))
#define LIST_VALUE(kind, name) kind " { name: \"" name "\" type { sequence_type { elem_type { " \
  "tensor_type { elem_type: 1 shape { " ANY("n") "} } } } } } "
#define LISTED OP("SequenceConstruct", I("x") I("x"), "y") VALUE("input", "x", F32, DIM(2)) \
  LIST_VALUE("output", "y")
#define FROM_LIST "node { op_type: \"ConcatFromSequence\" input: \"x\" output: \"y\" attribute { " \
  "name: \"axis\" type: INT i: 0 } } " LIST_VALUE("input", "x") VALUE("output", "y", F32, ANY("m"))
#define DYNAMIC OP("DynamicQuantizeLinear", I("x") " output: \"q\" output: \"s\" ", "z") \
  OP("DequantizeLinear", I("q") I("s") I("z"), "y") VALUE("input", "x", F32, DIM(2)) \
  VALUE("output", "y", F32, DIM(2))

/* ---- files ----------------------------------------------------------------------------------- */

/* A tensor of a set: "input_0", numbers. type: as in ONNX; name: in the file; NULL: none. */
enum { MOST = 8, DIMS = 2, FILES = 6 };
typedef struct {
  const char *file, *name;
  int type;
  int64_t dims[DIMS + 1]; /* end with -1 */
  double v[MOST];
  int list; /* it stands in a list, one less times than this; 0: alone */
} tensor;

#define T1(file, n, ...) {file, NULL, 1, {n, -1}, {__VA_ARGS__}, 0}
#define NAMED(file, name, n, ...) {file, name, 1, {n, -1}, {__VA_ARGS__}, 0}
#define TYPED(file, type, n, ...) {file, NULL, type, {n, -1}, {__VA_ARGS__}, 0}
#define LIST(file, times, n, ...) {file, NULL, 1, {n, -1}, {__VA_ARGS__}, (times) + 1}

static void put_number(FILE *f, int type, double v) {
  float single = (float)v;
  int32_t i32 = (int32_t)v;
  uint16_t u16 = (uint16_t)v;
  if (type == 1) fwrite(&single, sizeof single, 1, f);
  else if (type == 4) fwrite(&u16, sizeof u16, 1, f);
  else if (type == 6) fwrite(&i32, sizeof i32, 1, f);
  else fwrite(&v, sizeof v, 1, f);
}

static void put_tensor(FILE *f, const tensor *t) {
  int64_t n = 1, size = t->type == 11 ? 8 : t->type == 4 ? 2 : 4;
  for (int i = 0; t->dims[i] >= 0; i++) {
    n *= t->dims[i];
    fputc(1 << 3, f);
    fputc((int)t->dims[i], f);
  }
  fputc(2 << 3, f);
  fputc(t->type, f);
  if (t->name) fprintf(f, "%c%c%s", 8 << 3 | 2, (int)strlen(t->name), t->name);
  fputc(9 << 3 | 2, f);
  fputc((int)(n * size), f);
  for (int64_t i = 0; i < n; i++) put_number(f, t->type, t->v[i]);
}

static void write_tensor(const char *set, const tensor *t) {
  static char *bytes;
  static size_t n;
  char path[200];
  snprintf(path, sizeof path, "%s/%s/%s.pb", folder, set, t->file);
  FILE *f = fopen(path, "wb"), *one = open_memstream(&bytes, &n);
  assert_true(f && one);
  put_tensor(one, t);
  fclose(one);
  if (t->list) fprintf(f, "%c%c", 2 << 3, 1);
  else fwrite(bytes, 1, n, f);
  for (int i = 1; i < t->list; i++) {
    fprintf(f, "%c%c", 3 << 3 | 2, (int)n);
    fwrite(bytes, 1, n, f);
  }
  fclose(f);
  free(bytes);
}

static void make_folder(const char *graph) {
  char text[400];
  snprintf(text, sizeof text, "rm -rf %s && mkdir %s", folder, folder);
  assert_int_equal(system(text), 0);
  snprintf(text, sizeof text, "%s/model.textproto", folder);
  FILE *f = fopen(text, "w");
  assert_non_null(f);
  fprintf(f, "ir_version: 8 opset_import { version: 13 } opset_import { domain: \"my\" "
             "version: 1 } graph { name: \"g\" %s}\n", graph);
  fclose(f);
}

static void make_set(const char *set, const tensor *t) {
  char path[100];
  snprintf(path, sizeof path, "%s/%s", folder, set);
  (void)mkdir(path, 0700);
  for (size_t i = 0; i < FILES && t[i].file; i++) write_tensor(set, &t[i]);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

enum { SETS = 5 };
typedef struct {
  const char *what, *graph;
  struct {
    const char *name;
    tensor t[FILES];
  } set[SETS];
  const char *text; /* "VERDICT: TEXT" */
  wk_test_options o;
} folder_case;

#define SET(k) "test_data_set_" #k

static const folder_case cases[] = {
    {"right", NEG(F32, DIM(3)),
     {{SET(0), {T1("input_0", 3, 1, 2, 3), T1("output_0", 3, -1, -2, -3)}}},
     .text = "passed: "},
    {"a number is wrong", NEG(F32, DIM(3)),
     {{SET(0), {T1("input_0", 3, 1, 2, 3), T1("output_0", 3, -1, -2, -4)}}},
     .text = "FAILED: test_data_set_0: output y: 1 of 3 elements differ, worst at [2]: got -3, "
             "want -4"},
    {"as far as is allowed", NEG(F32, DIM(3)),
     {{SET(0), {T1("input_0", 3, 1, 2, 3), T1("output_0", 3, -1, -2, -4)}}},
     .text = "passed: ",
     .o = {.tolerance = {0, 1.5, 0}}},
    {"an output of another shape", NEG(F32, ANY("n")),
     {{SET(0), {T1("input_0", 3, 1, 2, 3), T1("output_0", 2, -1, -2)}}},
     .text = "FAILED: test_data_set_0: output y is f32[3], want f32[2]"},
    {"an output of another type", NEG(F32, DIM(2)),
     {{SET(0), {T1("input_0", 2, 1, 2), TYPED("output_0", 11, 2, -1, -2)}}},
     .text = "FAILED: test_data_set_0: output y is f32[2], want f64[2]"},
    {"an input of another type", NEG(F32, DIM(2)),
     {{SET(0), {TYPED("input_0", 11, 2, 1, 2), T1("output_0", 2, -1, -2)}}},
     .text = "FAILED: test_data_set_0: input_0.pb is f64[2], the model declares x f32[2]"},
    {"an input of another shape", NEG(F32, DIM(2)),
     {{SET(0), {T1("input_0", 3, 1, 2, 3), T1("output_0", 3, -1, -2, -3)}}},
     .text = "FAILED: test_data_set_0: input_0.pb is f32[3], the model declares x f32[2]"},
    {"an input of another rank", NEG(F32, DIM(2) DIM(1)),
     {{SET(0), {T1("input_0", 2, 1, 2), T1("output_0", 2, -1, -2)}}},
     .text = "FAILED: test_data_set_0: input_0.pb is f32[2], the model declares x f32[2,1]"},
    {"no input", NEG(F32, DIM(2)), {{SET(0), {T1("output_0", 2, -1, -2)}}},
     .text = "FAILED: test_data_set_0: no data for input x"},
    {"no output", NEG(F32, DIM(2)), {{SET(0), {T1("input_0", 2, 1, 2)}}},
     .text = "FAILED: test_data_set_0: no data for output y"},
    {"an input too many", NEG(F32, DIM(2)),
     {{SET(0), {T1("input_0", 2, 1, 2), T1("input_1", 2, 1, 2), T1("output_0", 2, -1, -2)}}},
     .text = "FAILED: test_data_set_0: input_1.pb belongs to none of the model's inputs"},
    {"an output too many", NEG(F32, DIM(2)),
     {{SET(0), {T1("input_0", 2, 1, 2), T1("output_0", 2, -1, -2), T1("output_7", 2, 1, 2)}}},
     .text = "FAILED: test_data_set_0: output_7.pb belongs to none of the model's outputs"},
    {"no sets", NEG(F32, DIM(2)), {{NULL, {{0}}}},
     .text = "skipped: no test data"},
    {"names of other folders", NEG(F32, DIM(2)),
     {{"test_data_set_", {T1("input_0", 2, 1, 2)}}, {"test_data_set_0x", {T1("input_0", 2, 1, 2)}},
      {"set_0", {T1("input_0", 2, 1, 2)}}},
     .text = "skipped: no test data"},
    {"names of other files", NEG(F32, DIM(2)),
     {{SET(0), {T1("input_0", 2, 1, 2), T1("output_0", 2, -1, -2), T1("input_", 2, 9, 9),
                T1("input_1x", 2, 9, 9), T1("output_-1", 2, 9, 9), T1("inputs_1", 2, 9, 9)}}},
     .text = "passed: "},
    /* by place, or by name */
    {"by place", SUB2,
     {{SET(0), {T1("input_1", 2, 1, 2), T1("input_0", 2, 5, 9), T1("output_0", 2, 4, 7)}}},
     .text = "passed: "},
    {"by name", SUB2,
     {{SET(0), {NAMED("input_1", "a", 2, 5, 9), NAMED("input_0", "b", 2, 1, 2),
                NAMED("output_3", "y", 2, 4, 7)}}},
     .text = "passed: "},
    {"names of nobody", SUB2,
     {{SET(0), {NAMED("input_0", "c", 2, 5, 9), NAMED("input_1", "d", 2, 1, 2),
                NAMED("output_0", "z", 2, 4, 7)}}},
     .text = "passed: "},
    {"two of a name", SUB2,
     {{SET(0), {NAMED("input_0", "a", 2, 5, 9), NAMED("input_1", "a", 2, 1, 2),
                T1("output_0", 2, 4, 7)}}},
     .text = "FAILED: test_data_set_0: two files for input 'a'"},
    {"a place behind a name", SUB2,
     {{SET(0), {NAMED("input_0", "b", 2, 5, 9), T1("input_1", 2, 1, 2),
                T1("output_0", 2, 4, 7)}}},
     .text = "FAILED: test_data_set_0: two files for input 'b'"},
    {"a default is no place", SCALAR("a", "1", "dims: 2 float_data", "10 float_data: 20") SUB2,
     {{SET(0), {T1("input_0", 2, 1, 2), T1("output_0", 2, 9, 18)}}},
     .text = "passed: "},
    {"a default by name", SCALAR("a", "1", "dims: 2 float_data", "10 float_data: 20") SUB2,
     {{SET(0), {T1("input_0", 2, 1, 2), NAMED("input_1", "a", 2, 5, 9),
                T1("output_0", 2, 4, 7)}},
      {SET(1), {T1("input_0", 2, 1, 2), NAMED("input_1", "a", 2, 6, 9),
                T1("output_0", 2, 5, 7)}},
      {SET(2), {T1("input_0", 2, 1, 2), NAMED("input_1", "a", 2, 6, 9),
                T1("output_0", 2, 5, 8)}}},
     .text = "FAILED: test_data_set_2: output y: 1 of 2 elements differ, worst at [1]: got 7, "
             "want 8"},
    {"another value of the first", SCALAR("a", "1", "dims: 2 float_data", "10 float_data: 20") SUB2,
     {{SET(0), {NAMED("input_0", "a", 2, 5, 9), NAMED("input_1", "b", 2, 1, 2),
                T1("output_0", 2, 4, 7)}},
      {SET(1), {NAMED("input_0", "a", 2, 6, 9), NAMED("input_1", "b", 2, 1, 2),
                T1("output_0", 2, 5, 7)}}},
     .text = "passed: "},
    {"the first of those that are nobody's", SUB2,
     {{SET(0), {T1("input_12", 2, 1, 2), T1("input_3", 2, 1, 2), T1("input_7", 2, 1, 2),
                T1("input_0", 2, 5, 9), T1("input_1", 2, 5, 9)}}},
     .text = "FAILED: test_data_set_0: input_3.pb belongs to none of the model's inputs"},
    /* several sets */
    {"other shapes", NEG(F32, ANY("n")),
     {{SET(0), {T1("input_0", 2, 1, 2), T1("output_0", 2, -1, -2)}},
      {SET(1), {T1("input_0", 3, 1, 2, 3), T1("output_0", 3, -1, -2, -3)}},
      {SET(2), {T1("input_0", 3, 1, 2, 4), T1("output_0", 3, -1, -2, -4)}}},
     .text = "passed: "},
    {"in the order of their numbers", NEG(F32, DIM(1)),
     {{SET(100), {T1("input_0", 1, 1), T1("output_0", 1, 4)}},
      {SET(10), {T1("input_0", 1, 1), T1("output_0", 1, 3)}},
      {SET(9), {T1("input_0", 1, 1), T1("output_0", 1, 2)}},
      {SET(2), {T1("input_0", 1, 1), T1("output_0", 1, -1)}},
      {SET(11), {T1("input_0", 1, 1), T1("output_0", 1, 5)}}},
     .text = "FAILED: test_data_set_9: output y: 1 of 1 elements differ, worst at [0]: got -1, "
             "want 2"},
    /* lists of tensors */
    {"a list", LISTED, {{SET(0), {T1("input_0", 2, 1, 2), LIST("output_0", 2, 2, 1, 2)}}},
     .text = "passed: "},
    {"a list that is too short", LISTED,
     {{SET(0), {T1("input_0", 2, 1, 2), LIST("output_0", 1, 2, 1, 2)}}},
     .text = "FAILED: test_data_set_0: output y has 2 elements, want 1"},
    {"a list that is too long", LISTED,
     {{SET(0), {T1("input_0", 2, 1, 2), LIST("output_0", 3, 2, 1, 2)}}},
     .text = "FAILED: test_data_set_0: output y has 2 elements, want 3"},
    {"a list of other numbers", LISTED,
     {{SET(0), {T1("input_0", 2, 1, 2), LIST("output_0", 2, 2, 1, 3)}}},
     .text = "FAILED: test_data_set_0: output y[0]: 1 of 2 elements differ, worst at [1]: got "
             "2, want 3"},
    {"lists as inputs", FROM_LIST,
     {{SET(0), {LIST("input_0", 3, 2, 1, 2), T1("output_0", 6, 1, 2, 1, 2, 1, 2)}},
      {SET(1), {LIST("input_0", 2, 2, 1, 2), T1("output_0", 4, 1, 2, 1, 2)}},
      {SET(2), {LIST("input_0", 2, 2, 3, 2), T1("output_0", 4, 3, 2, 3, 2)}},
      {SET(3), {LIST("input_0", 1, 4, 1, 2, 1, 2), T1("output_0", 4, 1, 2, 1, 2)}},
      {SET(4), {LIST("input_0", 1, 4, 1, 2, 1, 2), T1("output_0", 4, 1, 2, 1, 3)}}},
     .text = "FAILED: test_data_set_4: output y: 1 of 4 elements differ, worst at [3]: got 2, "
             "want 3"},
    /* bf16, written as its bits by what knew none */
    {"bits", NEG("16", DIM(2)),
     {{SET(0), {TYPED("input_0", 4, 2, 0x3f80, 0x4000), TYPED("output_0", 4, 2, 0xbf80, 0xc000)}}},
     .text = "passed: "},
    {"other bits", NEG("16", DIM(2)),
     {{SET(0), {TYPED("input_0", 4, 2, 0x3f80, 0x4000), TYPED("output_0", 4, 2, 0xbf80, 0xc080)}}},
     .text = "FAILED: test_data_set_0: output y: 1 of 2 elements differ, worst at [1]: got -2, "
             "want -4"},
    {"bits of another shape", NEG("16", DIM(2)),
     {{SET(0), {TYPED("input_0", 4, 1, 0x3f80), TYPED("output_0", 4, 1, 0xbf80)}}},
     .text = "skipped: bf16 stored as u16, with other shapes than the model's"},
    {"a name that nobody makes", OP("Neg", I("nobody"), "y") VALUE("input", "x", F32, DIM(2))
     VALUE("output", "y", F32, DIM(2)), {{SET(0), {T1("input_0", 2, 1, 2)}}},
     .text = "FAILED: Neg_y: reads tensor 'nobody', which no node produces"},
    /* outputs of quantised tensors, whose step is 1 / 2 */
    {"a step beside", STEPS,
     {{SET(0), {T1("input_0", 4, 1, 2, 3, 4), T1("output_0", 4, 1, 2, 3.5, 4)}}},
     .text = "passed: ",
     .o = {.is_default = true, .mean_steps = 0.25, .max_steps = 1}},
    {"a step beside what was moved", MOVED_STEPS,
     {{SET(0), {T1("input_0", 4, 1, 2, 3, 4), T1("output_0", 4, 1, 2, 3.5, 4)}}},
     .text = "passed: ",
     .o = {.is_default = true, .mean_steps = 0.25, .max_steps = 1}},
    {"too many steps", STEPS,
     {{SET(0), {T1("input_0", 4, 1, 2, 3, 4), T1("output_0", 4, 1, 2.5, 4, 4)}}},
     .text = "FAILED: test_data_set_0: output y is off by 0.75 quantisation steps of 0.5 in the "
             "mean, 2 at element 2; allowed are 1 and 1.5 (each fed alike, 1 of 1 quantised "
             "layers match float arithmetic)",
     .o = {.is_default = true, .mean_steps = 1, .max_steps = 1.5}},
    {"too many in the mean", STEPS,
     {{SET(0), {T1("input_0", 4, 1, 2, 3, 4), T1("output_0", 4, 0.5, 1.5, 3, 4)}}},
     .text = "FAILED: test_data_set_0: output y is off by 0.5 quantisation steps of 0.5 in the "
             "mean, 1 at element 0; allowed are 0.375 and 1.5 (each fed alike, 1 of 1 quantised "
             "layers match float arithmetic)",
     .o = {.is_default = true, .mean_steps = 0.375, .max_steps = 1.5}},
    {"steps that were not asked for", STEPS,
     {{SET(0), {T1("input_0", 4, 1, 2, 3, 4), T1("output_0", 4, 1, 2, 3.5, 4)}}},
     .text = "FAILED: test_data_set_0: output y: 1 of 4 elements differ, worst at [2]: got 3, "
             "want 3.5 (each fed alike, 1 of 1 quantised layers match float arithmetic)",
     .o = {.mean_steps = 0.25, .max_steps = 1}},
    /* outputs behind a scale that is computed: one part in a hundred */
    {"nearly", DYNAMIC,
     {{SET(0), {T1("input_0", 2, 0, 255), T1("output_0", 2, 0, 257.5)}}},
     .text = "passed: ",
     .o = {.is_default = true}},
    {"not nearly", DYNAMIC,
     {{SET(0), {T1("input_0", 2, 0, 255), T1("output_0", 2, 0, 257.6)}}},
     .text = "FAILED: test_data_set_0: output y: 1 of 2 elements differ, worst at [1]: got 255, "
             "want 257.600006 (each fed alike, 2 of 2 quantised layers match float arithmetic)",
     .o = {.is_default = true}},
    {"nearly, but a tolerance was asked for", DYNAMIC,
     {{SET(0), {T1("input_0", 2, 0, 255), T1("output_0", 2, 0, 256)}}},
     .text = "FAILED: test_data_set_0: output y: 1 of 2 elements differ, worst at [1]: got 255, "
             "want 256 (each fed alike, 2 of 2 quantised layers match float arithmetic)"},
    /* weights that are replaced */
    {"no weights", NEG(F32, DIM(2)),
     {{SET(0), {T1("input_0", 2, 1, 2), T1("output_0", 2, 0, 0)}}},
     .text = "skipped: no constant weights to replace", {.random_weights = 4}},
    {"random weights", OP("Add", I("x") I("w"), "y") VALUE("input", "x", F32, DIM(2))
     VALUE("output", "y", F32, DIM(2)) SCALAR("w", "1", "dims: 2 float_data", "7 float_data: 7"),
     {{SET(0), {T1("input_0", 2, 1, 2), T1("output_0", 2, 0, 0)}}},
     .text = "passed: ", {.random_weights = 1}},
    {"equal results", OP("Add", I("x") I("w"), "z") OP("Sub", I("z") I("z"), "y")
     VALUE("input", "x", F32, DIM(2)) VALUE("output", "y", F32, DIM(2))
     SCALAR("w", "1", "dims: 2 float_data", "7 float_data: 7"),
     {{SET(0), {T1("input_0", 2, 1, 2), T1("output_0", 2, 0, 0)}}},
     .text = "FAILED: all elements of output y are equal with seed 3", {.random_weights = 4}},
    {"a single result", OP("Add", I("x") I("w"), "z") OP("Sub", I("z") I("z"), "d")
     OP("ReduceSum", I("d"), "y") VALUE("input", "x", F32, DIM(2)) VALUE("output", "y", F32, "")
     SCALAR("w", "1", "dims: 2 float_data", "7 float_data: 7"),
     {{SET(0), {T1("input_0", 2, 1, 2), T1("output_0", 2, 0, 0)}}},
     .text = "passed: ", {.random_weights = 4}},
    {"results that are no numbers", OP("Add", I("x") I("w"), "z") OP("Log", I("z"), "y")
     VALUE("input", "x", F32, DIM(2)) VALUE("output", "y", F32, DIM(2))
     SCALAR("w", "1", "dims: 2 float_data", "7 float_data: 7"),
     {{SET(0), {T1("input_0", 2, -100, -200), T1("output_0", 2, 0, 0)}}},
     .text = "FAILED: output y is not finite with seed 3",
     .o = {.random_weights = 4}},
    /* what cannot be tested */
    {"an operator that is not known", OP("Foo\" domain: \"my", I("x"), "y")
     VALUE("input", "x", F32, DIM(2)) VALUE("output", "y", F32, DIM(2)),
     {{SET(0), {T1("input_0", 2, 1, 2), T1("output_0", 2, 0, 0)}}},
     .text = "skipped: my.Foo: this operator is not known"},
    {"a random output", OP("RandomUniformLike", I("x"), "y") OP("Neg", I("x"), "z")
     VALUE("input", "x", F32, DIM(2)) VALUE("output", "y", F32, DIM(2))
     VALUE("output", "z", F32, DIM(2)),
     {{SET(0), {T1("input_0", 2, 1, 2), T1("output_0", 2, 8, 9), T1("output_1", 2, -1, -2)}}},
     .text = "passed: "},
    {"a random output of another shape", OP("RandomUniformLike", I("x"), "y")
     VALUE("input", "x", F32, DIM(2)) VALUE("output", "y", F32, DIM(2)),
     {{SET(0), {T1("input_0", 2, 1, 2), T1("output_0", 1, 8)}}},
     .text = "FAILED: test_data_set_0: output y is f32[2], want f32[1]"},
};

static void count(void *context, const wk_test_case *c) {
  ++*(int *)context;
  assert_int_equal(c->verdict, WK_TEST_FAILED);
  assert_non_null(c->text);
  assert_null(strstr(c->text, "each fed alike"));
}

/* Who waits is told of a quantised model before its layers are looked at. */
static void folders_have_verdicts(void **state) {
  (void)state;
  static const char *const names[] = {"passed", "FAILED", "skipped"};
  is_wrong = false;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    const folder_case *x = &cases[i];
    make_folder(x->graph);
    for (int k = 0; k < SETS && x->set[k].name; k++) make_set(x->set[k].name, x->set[k].t);
    wk_test_options o = x->o;
    o.target.target = WK_TARGET_EVAL;
    o.random_weights--; /* -1: the model's own */
    wk_test_case c = {.dir = folder, .name = "case"};
    int told = 0;
    double began = wk_clock();
    wk_test_case_run(&o, &c, count, &told);
    assert_true(c.seconds > 0 && c.seconds <= wk_clock() - began);
    assert_int_equal(told, strstr(x->text, "each fed alike") != NULL);
    char got[600];
    snprintf(got, sizeof got, "%s: %s", names[c.verdict], c.text ? c.text : "");
    if (strcmp(got, x->text) != 0) {
      fprintf(stderr, "@@ %s\n%s@@ end\n", x->what, got);
      is_wrong = true;
    }
    free(c.text);
    free(c.note);
  }
  assert_false(is_wrong);
}

int main(void) {
  if (!mkdtemp(folder)) return 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(folders_have_verdicts)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  char command[80];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) || failed;
}
