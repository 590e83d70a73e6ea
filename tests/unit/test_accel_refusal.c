/* SPDX-License-Identifier: Apache-2.0
 * What the accelerator does not have: operators that it refuses, and parts, each with the reason
 * that a user reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "targets/accel/compile/compile.h"
#include "tests/unit/accel_run.h"

/* The first output of the graph is what node `what` computes. */
typedef struct {
  const char *reason, *graph;
} refusal;

#define QUANTISED "sat<i8>(rescale(%0, 9000000i64, 13i64))"
#define CONV "strides=[1,1], pads=[0,0,0,0], dilations=[1,1]"
#define CHANNELS "i8[1,8,4,4]"

/* An input of u8 less its zero point, for weights that have lost theirs. */
#define WIDENED(type)                                                                              \
  "(%x: u8[" type "]) {\n  %wide = map(%x) {body=\"sub(i16(%0), 134i16)\"} : i16[" type "]\n"
#define WIDE_WEIGHTS                                                                               \
  "weights, less their zero point, have more than 8 bits: those of i8, or of u8 with zero point "  \
  "128, have not"
#define WIDE_INPUT                                                                                 \
  "its input, less its zero point, has more than 8 bits: with zero point 0 it has not"

/* Operators by themselves; each would be taken but for what the reason says. Without a reason it is
 * taken. */
static const refusal nodes[] = {
    /* convolutions */
    {"weights of u8 above 127",
     "(%x: " CHANNELS ") {\n  %w = constant u8[1,8,1,1] {1, 2, 3, 4, 5, 6, 7, 128}\n"
     "  %y = conv(%x, %w) {" CONV ", epilogue=\"" QUANTISED "\"} : i8[1,1,4,4]\n"},
    {"the second operand of its epilogue lies in other lanes",
     "(%x: i8[1,1,4,4], %z: " CHANNELS ") {\n  %w = constant i8[4,1,1,1] {1, 2, 3, 4}\n"
     "  %s = slice(%z) {starts=[0,4,0,0], sizes=[1,4,4,4], steps=[1,1,1,1]} : i8[1,4,4,4]\n"
     "  %y = conv(%x, %w, -, %s) {" CONV ", epilogue=\"sat<i8>(shr_round(add(mul(i32(" QUANTISED
     "), 5i32), mul(i32(%1), 3i32)), 4i32))\"} : i8[1,4,4,4]\n"},
    {"a product with a stack of constant matrices",
     "(%x: i8[2,3,2]) {\n  %w = constant i8[2,2,2] {1, 2, 3, 4, 5, 6, 7, 8}\n"
     "  %y = matmul(%x, %w) {epilogue=\"" QUANTISED "\"} : i8[2,3,2]\n"},
    {WIDE_WEIGHTS, WIDENED("1,2,4,4") "  %w = constant i16[2,1,1,1] {3, 128}\n"
     "  %y = conv(%wide, %w) {" CONV ", group=2, epilogue=\"" QUANTISED "\"} : i8[1,2,4,4]\n"},
    {WIDE_INPUT, WIDENED("1,2,4,4") "  %w = constant i16[2,1,1,1] {127, -128}\n"
     "  %y = conv(%wide, %w) {" CONV ", group=2, epilogue=\"" QUANTISED "\"} : i8[1,2,4,4]\n"},
    {WIDE_WEIGHTS, WIDENED("1,1,4,4") "  %w = constant i16[1,1,1,1] {-129}\n"
     "  %y = conv_transpose(%wide, %w) {" CONV ", output_padding=[0,0], epilogue=\"" QUANTISED
     "\"} : i8[1,1,4,4]\n"},
    {WIDE_INPUT, WIDENED("1,1,4,4") "  %w = constant i16[1,1,1,1] {-128}\n"
     "  %y = conv_transpose(%wide, %w) {" CONV ", output_padding=[0,0], epilogue=\"" QUANTISED
     "\"} : i8[1,1,4,4]\n"},
    {WIDE_WEIGHTS, WIDENED("2,3,2") "  %w = constant i16[2,2,2] {1, 2, 3, 4, 5, 6, 7, 200}\n"
     "  %y = matmul(%wide, %w) {epilogue=\"" QUANTISED "\"} : i8[2,3,2]\n"},
    {WIDE_INPUT, WIDENED("2,3,2") "  %w = constant i16[2,2,2] {1, 2, 3, 4, 5, 6, 7, 8}\n"
     "  %y = matmul(%wide, %w) {epilogue=\"" QUANTISED "\"} : i8[2,3,2]\n"},
    {"it computes on i16, the accelerator on i8 and u8",
     "(%x: i16[2,2], %w: i16[2,2]) {\n  %y = matmul(%x, %w) : i32[2,2]\n"},
    {"a multiplier or shift that the drain does not have",
     "(%x: i8[1,1,4,4]) {\n  %w = constant i8[1,1,1,1] {3}\n"
     "  %y = conv(%x, %w) {" CONV ", epilogue=\"sat<i8>(rescale(%0, 16777216i64, 13i64))\"} : "
     "i8[1,1,4,4]\n"},
    {"the bias is no constant",
     "(%x: i8[1,1,4,4], %b: i32[1]) {\n  %w = constant i8[1,1,1,1] {3}\n"
     "  %y = conv(%x, %w, %b) {" CONV ", epilogue=\"" QUANTISED "\"} : i8[1,1,4,4]\n"},
    {"a multiplier that the drain does not have",
     "(%x: i8[1,1,4,4], %z: i8[1,1,4,4]) {\n  %w = constant i8[1,1,1,1] {3}\n"
     "  %y = conv(%x, %w, -, %z) {" CONV ", epilogue=\"sat<i8>(shr_round(add(mul(i32(" QUANTISED
     "), 5i32), mul(i32(%1), 8388608i32)), 24i32))\"} : i8[1,1,4,4]\n"},
    {"results every 480 bytes",
     "(%x: i8[1,1,4,4]) {\n  %w = constant i8[1,1,1,1] {3}\n  %y = conv_transpose(%x, %w) "
     "{strides=[1,15], pads=[0,0,0,0], dilations=[1,1], output_padding=[0,0], epilogue=\"" QUANTISED
     "\"} : i8[1,1,4,46]\n"},
    /* elementwise */
    {"operands lie in different lanes",
     "(%x: " CHANNELS ", %z: i8[1,4,4,4]) {\n"
     "  %s = slice(%x) {starts=[0,4,0,0], sizes=[1,4,4,4], steps=[1,1,1,1]} : i8[1,4,4,4]\n"
     "  %y = map(%s, %z) {body=\"sat<i8>(add(i32(%0), i32(%1)))\"} : i8[1,4,4,4]\n"},
    {"a function of positions",
     "(%x: " CHANNELS ") {\n"
     "  %y = map(%x) {body=\"min(%0, i8(index<1>()))\"} : " CHANNELS "\n"},
    {"a multiplier that the vector unit does not have",
     "(%x: " CHANNELS ", %z: " CHANNELS ") {\n  %y = map(%x, %z) {body=\"sat<i8>(shr_round(add("
     "mul(i32(%0), 8388608i32), i32(%1)), 24i32))\"} : " CHANNELS "\n"},
    {"a product with a second rounding",
     "(%x: " CHANNELS ", %z: " CHANNELS ") {\n  %y = map(%x, %z) {body=\"sat<i8>(shr_round(add("
     "mul(i32(sat<i8>(rescale(mul(i32(%0), i32(%1)), 9000000i64, 13i64))), 5i32), i32(%1)), "
     "4i32))\"} : " CHANNELS "\n"},
    {"a multiplier that the vector unit does not have",
     "(%x: " CHANNELS ", %z: " CHANNELS ") {\n  %y = map(%x, %z) {body=\"sat<i8>(rescale("
     "mul(i32(%0), i32(%1)), 16777216i64, 13i64))\"} : " CHANNELS "\n"},
    {"both operands are broadcast",
     "(%x: i8[1,8,1,4], %z: i8[1,8,4,1]) {\n"
     "  %y = map(%x, %z) {body=\"sat<i8>(add(i32(%0), i32(%1)))\"} : " CHANNELS "\n"},
    /* windows */
    {"a window that the vector unit does not have",
     "(%x: i8[1,1,64,1]) {\n  %y = max_pool(%x) {kernel=[64,1], " CONV "} : i8[1,1,1,1]\n"},
    {"windows with nothing but padding",
     "(%x: i8[1,1,2,2]) {\n  %y = max_pool(%x) {kernel=[1,1], strides=[1,1], pads=[0,0,1,0], "
     "dilations=[1,1]} : i8[1,1,3,2]\n"},
    {"the maximum of f32",
     "(%x: f32[1,1,2,2]) {\n  %y = max_pool(%x) {kernel=[1,1], " CONV "} : f32[1,1,2,2]\n"},
    {"positions of maxima",
     "(%x: i8[1,1,2,2]) {\n"
     "  %y, %i = max_pool(%x) {kernel=[1,1], " CONV "} : i8[1,1,2,2], i64[1,1,2,2]\n"},
    {"a mean over padding and the outside of it",
     "(%x: i8[1,1,4,4]) {\n  %y = integer_avg_pool(%x) {kernel=[3,1], strides=[1,1], "
     "pads=[1,0,2,0], dilations=[1,1], real_pads=[1,0,1,0], lo=-128, hi=127, to=i8} : "
     "i8[1,1,5,4]\n"},
    {"a factor that is out of range",
     "(%x: i8[1,1,4,4]) {\n  %y = integer_avg_pool(%x) {kernel=[1,1], " CONV
     ", real_pads=[0,0,0,0], factor=200.0, lo=-128, hi=127, to=i8} : i8[1,1,4,4]\n"},
    {"the result of the fold is no requantised sum of 8 bits",
     "(%x: " CHANNELS ") {\n  %y = reduce(%x) {axes=[2,3], keepdims=0, pre=\"i32(%0)\", "
     "post=\"sat<i8>(%0)\"} : i8[1,8]\n"},
    /* rows and products */
    {"rows that begin within a block",
     "(%x: i8[3,8]) {\n  %s = slice(%x) {starts=[0,4], sizes=[3,4], steps=[1,1]} : i8[3,4]\n"
     "  %y = integer_softmax(%s) {axis=1, mult=1073741824, shift=30, lo=-128, hi=127, to=i8} : "
     "i8[3,4]\n"},
    {"a softmax along another than the last axis",
     "(%x: i8[3,8]) {\n  %y = integer_softmax(%x) {axis=0, mult=1073741824, shift=30, lo=-128, "
     "hi=127, to=i8} : i8[3,8]\n"},
    {"gain and bias are no constants",
     "(%x: i8[3,8], %g: i32[8]) {\n  %b = constant i32[] {0}\n"
     "  %y = integer_norm(%x, %g, %b) {axis=1, shift=20, lo=-128, hi=127, to=i8} : i8[3,8]\n"},
    {"a stack of matrices that is broadcast",
     "(%x: i8[2,2,2,2,2,4,8], %z: i8[2,1,2,1,2,8,2]) {\n"
     "  %y = integer_matmul(%x, %z) {epilogue=\"" QUANTISED "\"} : i8[2,2,2,2,2,4,2]\n"},
    {"the result is i32",
     "(%x: i8[4,8], %z: i8[8,2]) {\n  %y = integer_matmul(%x, %z) : i32[4,2]\n"},
    /* movement and types */
    {"a tensor of rank 8",
     "(%x: i8[1,1,1,1,1,1,1,8]) {\n"
     "  %y = map(%x) {body=\"min(%0, 7i8)\"} : i8[1,1,1,1,1,1,1,8]\n"},
    {"it moves elements in a way that is no address",
     "(%x: i8[1,8]) {\n  %y = expand(%x) {shape=[3,8]} : i8[3,8]\n"},
#define REFUSED(reason, graph) {reason, graph},
#define TAKEN(graph) {NULL, graph},
#include "tests/unit/accel_refusals.def"
#include "tests/unit/accel_refusals_vec.def"
};

static wk_module *module_of(const refusal *x) {
  wk_module *m;
  wk_str text = {0};
  wk_str_printf(&text, "module \"t\" {\ngraph @main%s  output %%y\n}\n}\n", x->graph);
  wk_status s = wk_module_parse(text.s, "t", &m);
  if (s) fail_msg("%s: %s: %s: %s", x->reason ? x->reason : "taken", s->place, s->message, text.s);
  wk_str_free(&text);
  return m;
}

static wk_machine machine_of(const char *name) {
  wk_machine m;
  assert_null(wk_machine_read(name, &m));
  return m;
}

static void operators(void **state) {
  (void)state;
  const wk_machine wide = machine_of("wide");
  int wrong = 0;
  for (size_t i = 0; i < WK_COUNTOF(nodes); i++) {
    wk_arena *a = wk_arena_new();
    wk_module *m = module_of(&nodes[i]);
    const wk_graph *g = m->main;
    const wk_node *n = wk_nod(g, wk_val(g, g->outputs.data[0])->node);
    const char *reason = wk_accel_refusal(&wide, g, n, a);
    if (strcmp(reason ? reason : "taken", nodes[i].reason ? nodes[i].reason : "taken")) {
      print_error("%s, not: %s, of %s", reason ? reason : "taken",
                  nodes[i].reason ? nodes[i].reason : "taken", nodes[i].graph);
      wrong++;
    }
    wk_module_free(m);
    wk_arena_free(a);
  }
  assert_int_equal(wrong, 0);
}

/* Blocks of channels after one another, where there is room for one; sums go at once. */
#define TALL(c, n, kernel, h)                                                                    \
  "(%x: i8[" n "," c ",16,500]) {\n  %y = max_pool(%x) {kernel=[" kernel ",1], " CONV "} : i8[" n  \
  "," c "," h ",500]\n"
#define NEEDS(bytes, fits)                                                                       \
  "it needs " bytes " bytes of scratchpad for one row of its result; machine 'tiny' has 65536, "  \
  "scratchpad=" fits " fits"
static const refusal rooms[] = {
    {NULL, TALL("24", "1", "4", "13")},
    {NULL, TALL("8", "1", "11", "6")},
    {NULL, TALL("16", "1", "11", "6")},
    {NULL, TALL("24", "1", "11", "6")},
    {NULL, TALL("24", "2", "11", "6")},
    {NEEDS("77715", "131072"), TALL("24", "2", "16", "1")},
    {NEEDS("157952", "262144"),
     "(%x: i8[1,24,16,500]) {\n  %w = constant i8[8,24,11,1] splat(3)\n"
     "  %y = conv(%x, %w) {" CONV ", epilogue=\"" QUANTISED "\"} : i8[1,8,6,500]\n"},
};

static void what_would_fit(void **state) {
  (void)state;
  const wk_machine tiny = machine_of("tiny");
  for (size_t i = 0; i < WK_COUNTOF(rooms); i++) {
    wk_arena *a = wk_arena_new();
    wk_module *m = module_of(&rooms[i]);
    const wk_graph *g = m->main;
    const wk_node *n = wk_nod(g, wk_val(g, g->outputs.data[0])->node);
    const char *reason = wk_accel_refusal(&tiny, g, n, a);
    assert_string_equal(reason ? reason : "taken", rooms[i].reason ? rooms[i].reason : "taken");
    wk_module_free(m);
    wk_arena_free(a);
  }
}

/* ---- in general ------------------------------------------------------------------------------ */

/* What is had of each operator, and why others are not. */
static const struct {
  const char *note, *ops; /* in their order; a note behind "!": they are not had */
} covered[] = {
    {"!it reads by index",
     "gather"},
    {"!there is no command for it",
     "expand tile reduce_min"},
    {"functions of one tensor: tables of 256 entries",
     "abs neg sign floor ceil round sqrt reciprocal exp log sin cos tan asin acos atan sinh "
     "cosh asinh acosh atanh tanh erf sigmoid relu leaky_relu thresholded_relu elu selu celu "
     "softplus softsign hard_sigmoid hard_swish silu gelu gelu_tanh mish shrink clip div mod "
     "fmod min max pow prelu fake_quantize"},
    {"linear and nearest; rows and columns",
     "resize"},
    {"constant weights, 1 or 2 spatial axes",
     "conv"},
    {"constant weights, 2 spatial axes, no groups, dilations or output padding",
     "conv_transpose"},
    {"1 or 2 spatial axes, no indices",
     "max_pool"},
    {"one constant matrix; of two tensors see `integer_matmul`",
     "matmul"},
    {"whole blocks of channels",
     "identity reshape transpose slice concat split pad"},
    {"the last axis, up to 511 blocks long",
     "softmax"},
    {"1 or 2 spatial axes",
     "avg_pool"},
    {"the last axis, up to 511 blocks long; constant scale and bias",
     "layer_norm"},
    {"means and maxima of images, over both spatial axes, and of rows, over the last axis, or "
     "the last but one",
     "reduce_mean reduce_max"},
    {"a change of scale; a sum, a product, the greater or the lesser of two tensors",
     "add sub mul where quantize dequantize"},
};

/* A list of those that have the note. */
static void add_ops(wk_str *b, const char *note) {
  wk_str_add(b, "");
  for (int op = 0; op < WK_OP_COUNT; op++) {
    const char *said;
    char all[200];
    bool has_it = wk_accel_covers((wk_op)op, &said);
    snprintf(all, sizeof all, "%s%s", has_it ? "" : "!", said);
    if (!strcmp(all, note)) wk_str_printf(b, "%s%s", b->n ? " " : "", wk_op_get((wk_op)op)->name);
  }
}

static void operators_in_general(void **state) {
  const char *note;
  (void)state;
  assert_false(wk_accel_covers(WK_OP_LSTM, &note));
  assert_string_equal(note, "it has no integer form");
  for (size_t i = 0; i < WK_COUNTOF(covered); i++) {
    wk_str got = {0};
    add_ops(&got, covered[i].note);
    assert_string_equal(got.s, covered[i].ops);
    wk_str_free(&got);
  }
}

/* ---- parts ----------------------------------------------------------------------------------- */

static char folder[] = "/tmp/wick-refusal-XXXXXX", machine[64], package[64], why[256];
static size_t reasons;

static int setup(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return 1;
  snprintf(machine, sizeof machine, "accel:%s/small.cfg", folder);
  snprintf(package, sizeof package, "%s/package", folder);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  return unlink(strchr(machine, '/')) || unlink(package) || rmdir(folder);
}

static void keep_reason(const wk_parts *p) {
  reasons = p->reasons.n;
  if (reasons) snprintf(why, sizeof why, "%s", p->reasons.data[0].reason);
}

/* Three operators, all of which write one tensor or need what is in it: its first half goes through
 * two windows of eight rows into the second. */
static void compile_windows(int columns, int scratchpad) {
  wk_str g = {0}, small = {0};
  wk_str_printf(&small, "array = 32;\nbus = 32;\nscratchpad = %d;\n", scratchpad);
  assert_null(wk_write_file(strchr(machine, '/'), small.s, small.n));
  wk_str_printf(&g, "(%%x: i8[1,32,16,%d]) {\n  %%w = constant i8[32,1,8,1] {", columns);
  for (int i = 0; i < 256; i++) wk_str_printf(&g, "%s%d", i ? ", " : "", i * 37 % 255 - 127);
  wk_str_printf(&g, "}\n  %%a = max_pool(%%x) {kernel=[2,1], strides=[1,1], pads=[1,0,0,0], "
                    "dilations=[1,1]} : i8[1,32,16,%d]\n", columns);
  for (int i = 0; i < 2; i++)
    wk_str_printf(&g, "  %%%c = conv(%%%c, %%w) {strides=[1,1], pads=[4,0,3,0], dilations=[1,1], "
                      "group=32, epilogue=\"%s\"} : i8[1,32,16,%d]\n", "qb"[i], "aq"[i], QUANTISED,
                  columns);
  wk_str_printf(&g, "  %%y = concat(%%a, %%b) {axis=2} : i8[1,32,32,%d]\n", columns);
  wk_module *m = module_of(&(refusal){"a part", g.s});
  assert_null(accel_compile(m, &(wk_target_args){.target = machine}, package, keep_reason));
  wk_module_free(m);
  wk_str_free(&g);
  wk_str_free(&small);
}

/* Each of them fits. The message names what fits, to a sixteenth of what it needs. */
static void rows_of_several_operators(void **state) {
  static const struct {
    int columns, needs, fits;
  } cases[] = {{16, 26609, 32768}, {28, 45914, 65536}, {40, 65536, 65536}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    int needs, fits, end = 0;
    compile_windows(cases[i].columns, 16384);
    assert_int_equal(reasons, 1);
    sscanf(why, "it needs %d bytes of scratchpad for rows of what is computed with it; machine "
                "'small' has 16384, scratchpad=%d fits%n", &needs, &fits, &end);
    if (!end || why[end]) fail_msg("%s", why);
    assert_int_equal(fits, cases[i].fits);
    assert_in_range(needs, fits / 2 + 1, fits);
    assert_int_equal(needs, cases[i].needs);
    compile_windows(cases[i].columns, fits);
    assert_int_equal(reasons, 0);
    compile_windows(cases[i].columns, fits / 2);
    assert_int_equal(reasons, 1);
  }
}

/* What edges bring and take as it lies in memory: pixels of four bytes, one after the other, or
 * blocks of 16 elements. */
#define IMAGE "(%x: i8[1,8,8,4]) {\n  %t = transpose(%x) {perm=[0,3,1,2]} : i8[1,4,8,8]\n"
#define RESULT(h, w)                                                                             \
  "  %r = reshape(%c) {shape=[1,1,16," h "," w "]} : i8[1,1,16," h "," w "]\n"                   \
  "  %y = transpose(%r) {perm=[0,1,3,4,2]} : i8[1,1," h "," w ",16]\n"
#define DENSE(weights, strides, dilations, more, h, w)                                           \
  IMAGE "  %w = constant " weights " splat(3)\n  %c = conv(%t, %w) {strides=[" strides           \
  "], pads=[0,0,0,0], dilations=[" dilations "]" more ", epilogue=\"" QUANTISED                  \
  "\"} : i8[1,16," h "," w "]\n" RESULT(h, w)
#define ROWS "(%x: i8[2,16]) {\n  %m = map(%x) {body=\"min(%0, 7i8)\"} : i8[2,16]\n"
#define PADDED(size, before, after, to)                                                          \
  ROWS "  %f = constant i8[] {0}\n  %s = slice(%m) {starts=[0,0], sizes=[" size                  \
  "], steps=[1,1]} : i8[" size "]\n  %p = pad(%s, %f) {before=[" before "], after=[" after       \
  "]} : i8[" to "]\n  %y = map(%p) {body=\"max(%0, 3i8)\"} : i8[" to "]\n"

/* op: of the node that is in the way; NULL: none is. */
static const struct {
  const char *reason, *op, *graph;
} whole_parts[] = {
    {NULL, NULL, DENSE("i8[16,4,3,3]", "1,1", "1,1", "", "6", "6")},
    {NULL, NULL, DENSE("i8[16,4,3,3]", "2,2", "1,1", "", "3", "3")},
    {NULL, NULL, DENSE("i8[16,4,2,3]", "1,1", "2,1", "", "6", "6")},
    {"a dense image that this operator does not read", "conv",
     DENSE("i8[16,4,3,2]", "1,1", "1,2", "", "6", "6")},
    {"groups of a dense image", "conv", DENSE("i8[16,2,3,3]", "1,1", "1,1", ", group=2", "6", "6")},
    {"a dense image that this operator does not read", "conv", /* channels apart */
     "(%x: i8[1,4,8,8]) {\n  %w = constant i8[16,4,1,1] splat(3)\n  %c = conv(%x, %w) {" CONV
     ", epilogue=\"" QUANTISED "\"} : i8[1,16,8,8]\n" RESULT("8", "8")},
    {"a dense image that this operator does not read", "conv", /* pixels too near */
     "(%x: i8[1,8,4,1]) {\n  %t = transpose(%x) {perm=[0,2,1,3]} : i8[1,4,8,1]\n"
     "  %w = constant i8[16,4,1,1] splat(3)\n  %c = conv(%t, %w) {" CONV ", epilogue=\"" QUANTISED
     "\"} : i8[1,16,8,1]\n" RESULT("8", "1")},
    {"an image that does not lie in blocks of channels", "max_pool",
     IMAGE "  %c = max_pool(%t) {kernel=[1,1], " CONV "} : i8[1,4,8,8]\n"
     "  %y = reshape(%c) {shape=[16,16]} : i8[16,16]\n"},
    {"an input that is a result", NULL, "(%y: i8[2,16]) {\n"},
    {NULL, NULL, ROWS "  %y = map(%m) {body=\"max(%0, 3i8)\"} : i8[2,16]\n"},
    {"a result that does not lie in blocks", "slice",
     ROWS "  %y = slice(%m) {starts=[0,0], sizes=[2,8], steps=[1,1]} : i8[2,8]\n"},
    {NULL, NULL, PADDED("2,9", "0,0", "0,7", "2,16")},
    {"padding in memory", "pad", PADDED("2,9", "0,1", "0,6", "2,16")},
    {"padding in memory", "pad", PADDED("1,16", "0,0", "1,0", "2,16")},
    {"padding in memory", "pad", PADDED("2,16", "0,0", "0,16", "2,32")},
};

static void parts(void **state) {
  (void)state;
  const wk_machine base = machine_of("base");
  const wk_sched_options o = {.prefetch = WK_PREFETCH_AUTO};
  int wrong = 0;
  for (size_t i = 0; i < WK_COUNTOF(whole_parts); i++) {
    const refusal x = {whole_parts[i].reason, whole_parts[i].graph};
    wk_arena *a = wk_arena_new();
    wk_module *m = module_of(&x);
    wk_node_id node = WK_NONE;
    const char *reason = "taken", *want = x.reason ? x.reason : "taken", *op = "none";
    bool fine = wk_accel_admits(&base, &o, m->main, a, &node, &reason);
    if (node != WK_NONE) op = wk_op_get(wk_nod(m->main, node)->op)->name;
    if (fine != !x.reason || strcmp(reason, want) ||
        strcmp(op, whole_parts[i].op ? whole_parts[i].op : "none")) {
      print_error("%s (%s), not: %s, of %s", reason, op, want, x.graph);
      wrong++;
    }
    wk_module_free(m);
    wk_arena_free(a);
  }
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(operators),
                                     cmocka_unit_test(what_would_fit),
                                     cmocka_unit_test(operators_in_general),
                                     cmocka_unit_test(parts),
                                     cmocka_unit_test(rows_of_several_operators)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
