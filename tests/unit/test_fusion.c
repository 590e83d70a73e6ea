/* SPDX-License-Identifier: Apache-2.0
 * Fusion of primitives, constants in small ranges, equal nodes, constants and what nobody reads:
 * when, and when not. Graphs are lowered first; numbers in parentheses count operands. */
#include "tests/unit/rewrite_case.h"

#define Y "output %y\n"

/* ---- maps ------------------------------------------------------------------------------------ */

#define INDEX(name, of) "%" name " = map(%" of ") {body=\"add(%0, f32(index<0>()))\"}\n"

static const rewrite_case maps[] = {
    {"%x: f32[2,3], %z: f32[2,3], %v: f32[3], %o: f32[1,2,3], %t: f32[4,2,3], %c: bool[2,3]",
     "%a = exp(%x)\n%y = neg(%a)\n" Y, "map(1)"},
    {NULL, "%a = exp(%x)\n%b = neg(%a)\n%d = abs(%b)\n%y = add(%d, %z)\n" Y, "map(2)"},
    {NULL, "%a = exp(%x)\n%y = mul(%a, %a)\n" Y, "map(1)"},
    {NULL, "%a = exp(%x)\n%y = mul(%a, %x)\n" Y, "map(1)"},
    {NULL, "%a = exp(%x)\n%b = exp(%z)\n%y = sub(%b, %a)\n" Y, "map(2)"},
    {NULL, "%a = exp(%x)\n%y = neg(%a)\noutput %a\n" Y, "map(1) map(1)"},
    {NULL, "%a = exp(%x)\n%b = neg(%a)\n%d = abs(%a)\n%y = add(%b, %d)\n" Y, "map(1)"},
    {NULL, "%a = exp(%x)\n%b = neg(%a)\n%d = abs(%a)\noutput %b\noutput %d\n",
     "map(1) map(1) map(1)"},
    /* what would be computed many times */
    {NULL, "%a = exp(%v)\n%y = add(%x, %a)\n" Y, "map(1) map(2)"},
    {NULL, "%a = exp(%x)\n%y = add(%a, %t)\n" Y, "map(1) map(2)"},
    {NULL, "%a = exp(%x)\n%y = add(%a, %o)\n" Y, "map(2)"},
    {NULL, "%a = exp(%o)\n%y = add(%x, %a)\n" Y, "map(2)"},
    {NULL, INDEX("a", "x") "%y = neg(%a)\n" Y, "map(1)"},
    {NULL, INDEX("a", "x") "%y = add(%a, %o)\n" Y, "map(1) map(2)"},
    {NULL, "%a = exp(%x)\n%b = reshape(%a) {shape=[6]}\n%y = neg(%b)\n" Y,
     "map(1) reshape(1) map(1)"},
    /* folds */
    {NULL, "%a = exp(%x)\n%y = reduce_sum(%a) {axes=[1]}\n" Y, "reduce(1)"},
    {NULL, "%a = mul(%x, %z)\n%y = reduce_sum(%a) {axes=[1]}\n" Y, "reduce(2)"},
    {NULL, "%a = mul(%x, %v)\n%y = reduce_max(%a) {axes=[0]}\n" Y, "reduce(2)"},
    {NULL, "%a = exp(%x)\n%y = reduce_l2(%a) {axes=[1]}\n" Y, "reduce(1)"},
    {NULL, "%a = exp(%x)\n%y = reduce_sum(%a) {axes=[1]}\noutput %a\n" Y, "map(1) reduce(1)"},
    {NULL, "%a = exp(%v)\n%b = expand(%a) {shape=[2,3]}\n%y = reduce_sum(%b) {axes=[1]}\n" Y,
     "map(1) expand(1) reduce(1)"},
    {NULL, "%a = reduce_sum(%x) {axes=[1]}\n%y = sqrt(%a)\n" Y, "reduce(1)"},
    {NULL, "%a = reduce_sum(%x) {axes=[1]}\n%b = mul(%a, %k2)\n%y = neg(%b)\n" Y, "reduce(1)"},
    {NULL, "%a = reduce_sum(%x) {axes=[1]}\n%y = mul(%a, %a)\n" Y, "reduce(1) map(2)"},
    {NULL, "%a = reduce_sum(%x) {axes=[1]}\n%y = sqrt(%a)\noutput %a\n" Y, "reduce(1) map(1)"},
    {NULL, "%a = reduce_sum(%x) {axes=[0], keepdims=0}\n%y = mul(%a, %v)\n" Y,
     "reduce(1) map(2)"},
    {NULL, "%a = reduce_sum(%x) {axes=[1]}\n%y = cast(%a) {to=i32}\n" Y, "reduce(1) map(1)"},
    {NULL, "%a = reduce_sum(%x) {axes=[1]}\n" INDEX("y", "a") Y, "reduce(1) map(1)"},
    {NULL, "%a = reduce_sum(%x) {axes=[1]}\n%b = reshape(%a) {shape=[2]}\n%y = sqrt(%b)\n" Y,
     "reduce(1) reshape(1) map(1)"}};

#define SPLAT(n) "%k = constant f32[" n "] splat(3.0)\n%y = mul(%x, %k)\n" Y

static const rewrite_case splats[] = {
    {"%x: f32[2,3], %v: f32[3], %b: bool[2,3], %i: i64[2,3]", SPLAT("2,3"), "map(1)"},
    {NULL, SPLAT("3"), "map(1)"},
    {NULL, SPLAT("1,1"), "map(1)"},
    {NULL, SPLAT("2,2,3"), "map(2)"},
    {NULL, SPLAT("1,2,3"), "map(2)"},
    {NULL, "%k = constant f32[2,3] splat(3.0)\n%y = mul(%v, %k)\n" Y, "map(2)"},
    {NULL, "%k = constant f32[3] {3.0, 3.0, 2.0}\n%y = mul(%x, %k)\n" Y, "map(2)"},
    {NULL, "%k = constant f32[3] {2.0, 3.0, 3.0}\n%y = mul(%x, %k)\n" Y, "map(2)"},
    {NULL, "public %k = constant f32[3] splat(3.0)\n%y = mul(%x, %k)\n" Y, "map(2)"},
    {NULL, "%k = constant f32[3] splat(3.0)\n%y = mul(%k, %k)\n" Y, "map(2)"},
    {NULL, "%k = constant f32[3] splat(3.0)\n%h = constant f32[3] splat(2.0)\n%y = mul(%h, %k)\n"
     Y, "map(1)"},
    {NULL, "%y = where(%b, %k2, %x)\n" Y, "map(2)"},
    {NULL, "%k = constant i64[] {9007199254740993}\n%y = add(%i, %k)\n" Y, "map(1)"},
    {"%x: f32[65536]", SPLAT("65536"), "map(1)"},
    {"%x: f32[65537]", SPLAT("65537"), "map(2)"}};

/* ---- epilogues ------------------------------------------------------------------------------- */

#define PADS "{strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}\n"
#define PRODUCT "%w = constant f32[3,3] {1,2,3,4,5,6,7,8,9}\n%a = matmul(%x, %w)\n"
#define SEVEN "%b, %d, %e, %f, %g, %h, %x"
#define SUM7 "%a, " SEVEN ") {body=\"add(%0, add(%1, add(%2, add(%3, add(%4, add(%5, " \
  "add(%6, %7)))))))\"}\n"

static const rewrite_case epilogues[] = {
    {"%x: f32[2,3], %z: f32[2,3], %v: f32[3], %o: f32[1,2,3], %t: f32[4,2,3], %c: bool[2,3]",
     PRODUCT "%y = relu(%a)\n" Y, "matmul(2)"},
    {NULL, PRODUCT "%b = relu(%a)\n%y = tanh(%b)\n" Y, "matmul(2)"},
    {NULL, PRODUCT "%y = add(%a, %z)\n" Y, "matmul(4)"},
    {NULL, PRODUCT "%y = add(%v, %a)\n" Y, "matmul(4)"},
    {NULL, PRODUCT "%b = add(%a, %z)\n%d = relu(%b)\n%y = mul(%d, %z)\n" Y, "matmul(4)"},
    {NULL, PRODUCT "%b = add(%a, %z)\n%y = mul(%b, %v)\n" Y, "matmul(5)"},
    {NULL, "%w = constant f32[3,3] splat(2.0)\n%a = matmul(%x, %w, %v)\n%y = relu(%a)\n" Y,
     "matmul(3)"},
    {NULL, "%w = constant f32[3,3] splat(2.0)\n%a = matmul(%x, %w, %v)\n%y = add(%z, %a)\n" Y,
     "matmul(4)"},
    /* what others read, reads twice, enlarges, or knows where it is */
    {NULL, PRODUCT "%y = relu(%a)\noutput %a\n" Y, "matmul(2) map(1)"},
    {NULL, PRODUCT "%b = relu(%a)\n%d = neg(%a)\noutput %b\noutput %d\n",
     "matmul(2) map(1) map(1)"},
    {NULL, PRODUCT "%y = mul(%a, %a)\n" Y, "matmul(2) map(2)"},
    {NULL, PRODUCT "%y = add(%a, %t)\n" Y, "matmul(2) map(2)"},
    {NULL, PRODUCT "%y = add(%a, %o)\n" Y, "matmul(2) map(2)"},
    {NULL, PRODUCT INDEX("y", "a") Y, "matmul(2) map(1)"},
    {NULL, PRODUCT "%b = reshape(%a) {shape=[6]}\n%y = relu(%b)\n" Y,
     "matmul(2) reshape(1) map(1)"},
    /* other types; a constant is of the same */
    {NULL, PRODUCT "%y = where(%c, %a, %x)\n" Y, "matmul(2) map(3)"},
    {NULL, PRODUCT "%y = cast(%a) {to=f64}\n" Y, "matmul(2) map(1)"},
    {NULL, PRODUCT "%y = mul(%a, %k2)\n" Y, "matmul(4)"},
    {"%i: i8[2,3], %j: i8[2,3], %x: f32[2,3]",
     "%w = constant i8[3,3] splat(2)\n%a = matmul(%i, %w)\n%y = cast(%a) {to=i8}\n" Y,
     "matmul(2)"},
    {NULL, "%w = constant i8[3,3] splat(2)\n%a = matmul(%i, %w)\n"
     "%y = map(%a, %j) {body=\"add(%0, i32(%1))\"}\n" Y, "matmul(4)"},
    {NULL, "%w = constant i8[3,3] splat(2)\n%a = matmul(%i, %w)\n"
     "%y = map(%a, %x) {body=\"mul(f32(%0), %1)\"}\n" Y, "matmul(4)"},
    /* of every contraction */
    {"%x: f32[1,2,3,3], %z: f32[1,2,3,3], %m: f32[2,2]",
     "%w = constant f32[2,2,1,1] {1,2,3,4}\n%a = conv(%x, %w) " PADS "%y = add(%a, %z)\n" Y,
     "conv(4)"},
    {NULL, "%w = constant f32[2,2,1,1] {1,2,3,4}\n%a = conv_transpose(%x, %w) {strides=[1,1], "
     "pads=[0,0,0,0], dilations=[1,1], output_padding=[0,0]}\n%y = add(%a, %z)\n" Y,
     "conv_transpose(4)"},
    {NULL, "%w = constant f32[2,2,1,1] {1,2,3,4}\n%a = conv_transpose(%x, %w) {strides=[1,1], "
     "pads=[0,0,0,0], dilations=[1,1], output_padding=[0,0]}\n%b = add(%a, %z)\n%y = relu(%b)\n"
     Y, "conv_transpose(4)"},
    {NULL, "%w = constant f32[2,2,1,1] {1,2,3,4}\n%a = conv(%x, %w) " PADS "%b = add(%a, %z)\n"
     "%d = relu(%b)\n%y = mul(%d, %z)\n" Y, "conv(4)"},
    /* how many operands the two have together: ten */
    {"%x: f32[3,3], %b: f32[3,3], %d: f32[3,3], %e: f32[3,3], %f: f32[3,3], %g: f32[3,3], "
     "%h: f32[3,3], %i: f32[3,3], %v: f32[3]", PRODUCT "%y = map(" SUM7 Y, "matmul(10)"},
    {NULL, PRODUCT "%y = map(%a, %i, " SEVEN ") {body=\"add(%0, add(%1, add(%2, add(%3, add(%4, "
     "add(%5, add(%6, add(%7, %8))))))))\"}\n" Y, "matmul(2) map(9)"},
    {NULL, "%w = constant f32[3,3] splat(2.0)\n%a = matmul(%x, %w, %v)\n%y = map(" SUM7 Y,
     "matmul(3) map(8)"}};

/* ---- equal nodes ----------------------------------------------------------------------------- */

#define TWO(type, a, b) "%a = constant " type " {" a "}\n%b = constant " type " {" b "}\n"
#define BOTH "%d = mul(%x, %a)\n%e = mul(%x, %b)\n%y = sub(%d, %e)\n" Y

static const rewrite_case equals[] = {
    {"%x: f32[2,3], %z: f32[2,3], %c: bool[], %i: i32[3]",
     "%d = exp(%x)\n%e = exp(%x)\n%y = sub(%d, %e)\n" Y, "exp sub"},
    {NULL, "%d = exp(%x)\n%e = exp(%z)\n%y = sub(%d, %e)\n" Y, "exp exp sub"},
    {NULL, "%d = exp(%x)\n%e = log(%x)\n%y = sub(%d, %e)\n" Y, "exp log sub"},
    {NULL, "%d = sub(%x, %z)\n%e = sub(%z, %x)\n%y = sub(%d, %e)\n" Y, "sub sub sub"},
    {NULL, "%d = exp(%x)\n%e = exp(%x)\n%f = neg(%d)\n%g = neg(%e)\n%y = sub(%f, %g)\n" Y,
     "exp neg sub"},
    {NULL, "%d = exp(%x)\n%e = exp(%x)\n%f = exp(%x)\n%g = sub(%d, %e)\n%y = sub(%g, %f)\n" Y,
     "exp sub sub"},
    {NULL, "%d = exp(%x)\n%e = exp(%x)\noutput %d\noutput %e\n", "exp"},
    /* constants: each byte of them, their type, their shape, who may set them */
    {NULL, TWO("f32[3]", "1,2,3", "1,2,3") BOTH, "mul sub"},
    {NULL, TWO("f32[3]", "1,2,3", "1,2,4") BOTH, "mul mul sub"},
    {NULL, TWO("f32[3]", "1,2,3", "4,2,3") BOTH, "mul mul sub"},
    {NULL, TWO("f32[3]", "1,2,0.0", "1,2,-0.0") BOTH, "mul mul sub"},
    {NULL, "%a = constant f32[3] {1,2,3}\n%b = constant f32[1,3] {1,2,3}\n" BOTH,
     "mul mul sub"},
    {NULL, "%a = constant f32[2,1] {1,2}\n%b = constant f32[2,1] {1,2}\n" BOTH, "mul sub"},
    {NULL, "%a = constant f32[2,1] {1,1}\n%b = constant f32[1,1] {1}\n" BOTH, "mul mul sub"},
    {NULL, "public %a = constant f32[3] {1,2,3}\n%b = constant f32[3] {1,2,3}\n" BOTH,
     "mul mul sub"},
    {NULL, "%a = constant f32[3] {1,2,3}\npublic %b = constant f32[3] {1,2,3}\n" BOTH,
     "mul mul sub"},
    {NULL, "%a = constant i32[3] {1,2,3}\n%b = constant u32[3] {1,2,3}\n%d = cast(%a) {to=f32}\n"
     "%e = cast(%b) {to=f32}\n%y = sub(%d, %e)\n" Y, "cast cast sub"},
    /* attributes of every kind, each element of lists */
    {NULL, "%d = cast(%i) {to=f32}\n%e = cast(%i) {to=f64}\noutput %d\noutput %e\n", "cast cast"},
    {NULL, "%d = cast(%i) {to=f64}\n%e = cast(%i) {to=f64}\noutput %d\noutput %e\n", "cast"},
    {NULL, "%d = softmax(%x) {axis=0}\n%e = softmax(%x) {axis=1}\n%y = sub(%d, %e)\n" Y,
     "softmax softmax sub"},
    {NULL, "%d = slice(%x) {starts=[0,1], sizes=[2,2], steps=[1,1]}\n"
     "%e = slice(%x) {starts=[0,0], sizes=[2,2], steps=[1,1]}\n%y = sub(%d, %e)\n" Y,
     "slice slice sub"},
    {NULL, "%d = slice(%x) {starts=[0,1], sizes=[2,1], steps=[1,1]}\n"
     "%e = slice(%x) {starts=[0,1], sizes=[2,1], steps=[1,1]}\n%y = sub(%d, %e)\n" Y,
     "slice sub"},
    {NULL, "%d = reduce_sum(%x) {axes=[0]}\n%e = reduce_sum(%x) {axes=[0,1]}\n%y = sub(%d, %e)\n"
     Y, "reduce_sum reduce_sum sub"},
    {NULL, "%d = pad(%x) {mode=\"edge\", before=[1,0], after=[0,0]}\n"
     "%e = pad(%x) {before=[1,0], after=[0,0]}\n%y = sub(%d, %e)\n" Y, "pad pad sub"},
    {NULL, "%d = pad(%x) {mode=\"edge\", before=[1,0], after=[0,0]}\n"
     "%e = pad(%x) {mode=\"edge\", before=[1,0], after=[0,0]}\n%y = sub(%d, %e)\n" Y, "pad sub"},
    {NULL, "%d = map(%x) {body=\"neg(%0)\"}\n%e = map(%x) {body=\"abs(%0)\"}\n%y = sub(%d, %e)\n"
     Y, "map map sub"},
    {NULL, "%d = map(%x) {body=\"neg(%0)\"}\n%e = map(%x) {body=\"neg(%0)\"}\n%y = sub(%d, %e)\n"
     Y, "map sub"},
    {NULL, "%d = map(%x) {body=\"add(%0, 0.0f32)\"}\n%e = map(%x) {body=\"add(%0, -0.0f32)\"}\n"
     "%y = sub(%d, %e)\n" Y, "map map sub"},
    /* operands and results that are there or not */
    {NULL, "%d = pad(%x, %k0) {before=[1,0], after=[0,0]}\n"
     "%e = pad(%x) {before=[1,0], after=[0,0]}\n%y = sub(%d, %e)\n" Y, "pad pad sub"},
    {NULL, "%d, %e = split(%x) {axis=1, sizes=[1,2]}\n%f, %g = split(%x) {axis=1, sizes=[1,2]}\n"
     "output %d\noutput %e\noutput %f\noutput %g\n", "split"},
    {NULL, "%d, %e = split(%x) {axis=1, sizes=[1,2]}\n%f, %g = split(%x) {axis=1, sizes=[2,1]}\n"
     "output %d\noutput %e\noutput %f\noutput %g\n", "split split"},
    {NULL, "%d, %e = split(%x) {axis=1, sizes=[1,2]}\n-, %g = split(%x) {axis=1, sizes=[1,2]}\n"
     "output %d\noutput %e\noutput %g\n", "split split"},
    {NULL, "%d, %e = split(%x) {axis=1, sizes=[1,2]}\n%f, - = split(%x) {axis=1, sizes=[1,2]}\n"
     "output %d\noutput %e\noutput %f\n", "split split"}};

/* ---- constants ------------------------------------------------------------------------------- */

static const rewrite_case constants[] = {
    {"%x: f32[1]", "%y = add(%k2, %k3)\n" Y, ""},
    {NULL, "%a = add(%k2, %k3)\n%b = neg(%a)\n%y = mul(%b, %x)\n" Y, "mul"},
    {NULL, "%y = add(%k2, %x)\n" Y, "add"},
    /* views and parts, up to 64 KiB; others by what they replace */
    {NULL, "%y = expand(%k2) {shape=[16384]}\n" Y, ""},
    {NULL, "%y = expand(%k2) {shape=[16385]}\n" Y, "expand"},
    {NULL, "%k = constant f32[128,128] splat(2.0)\n%y = transpose(%k) {perm=[1,0]}\n" Y, ""},
    {NULL, "%k = constant f32[128,129] splat(2.0)\n%y = transpose(%k) {perm=[1,0]}\n" Y,
     "transpose"},
    {NULL, "%k = constant f32[128,128] splat(2.0)\n%y = reshape(%k) {shape=[16384]}\n" Y, ""},
    {NULL, "%k = constant f32[128,129] splat(2.0)\n%y = reshape(%k) {shape=[16512]}\n" Y,
     "reshape"},
    {NULL, "%k = constant f32[16386] splat(2.0)\n%y = slice(%k) {starts=[1], sizes=[16384], "
     "steps=[1]}\n" Y, ""},
    {NULL, "%k = constant f32[16386] splat(2.0)\n%y = slice(%k) {starts=[1], sizes=[16385], "
     "steps=[1]}\n" Y, "slice"},
    {NULL, "%k = constant f32[16384] splat(2.0)\n%a, %b = split(%k) {axis=0, sizes=[1,16383]}\n"
     "output %a\noutput %b\n", ""},
    {NULL, "%k = constant f32[16385] splat(2.0)\n%a, %b = split(%k) {axis=0, sizes=[1,16384]}\n"
     "output %a\noutput %b\n", "split"},
    {NULL, "%k = constant f32[1] {2.0}\n%y = tile(%k) {repeats=[16385]}\n" Y, ""},
    {NULL, "%k = constant f32[1] {2.0}\n%y = tile(%k) {repeats=[16386]}\n" Y, "tile"},
    {NULL, "%k = constant f32[2] {2.0, 3.0}\n%y = tile(%k) {repeats=[8193]}\n" Y, ""},
    {NULL, "%k = constant f32[2] {2.0, 3.0}\n%y = tile(%k) {repeats=[8194]}\n" Y, "tile"}};

/* What is computed of few bits stays so, unless a convolution needs it. */
#define FEW(n) "%k = constant i8[" n "] splat(3)\n"

static const rewrite_case few_bits[] = {
    {"%x: f32[1024], %c: f32[1,4,1,16]",
     FEW("1023") "%y = cast(%k) {to=f32}\n" Y, ""},
    {NULL, FEW("1024") "%y = cast(%k) {to=f32}\n" Y, "cast"},
    {NULL, FEW("1024") "%y = neg(%k)\n" Y, ""},
    {NULL, FEW("1024") "%y = reduce_sum(%k) {axes=[0]}\n" Y, ""},
    {NULL, "%k = constant i32[1024] splat(3)\n%y = cast(%k) {to=f32}\n" Y, ""},
    {NULL, FEW("16,4,1,16") "%w = cast(%k) {to=f32}\n%y = conv(%c, %w) {strides=[1,1], "
     "pads=[0,0,0,0], dilations=[1,1]}\n" Y, "conv"},
    {NULL, FEW("16,64") "%a = cast(%k) {to=f32}\n%b = neg(%a)\n%w = reshape(%b) "
     "{shape=[16,4,1,16]}\n%y = conv(%c, %w) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}\n"
     Y, "conv"},
    {NULL, FEW("1,4,16,16") "%a = cast(%k) {to=f32}\n%w = constant f32[1,4,1,1] {1,2,3,4}\n"
     "%y = conv(%a, %w) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}\n" Y, "cast conv"},
    {NULL, FEW("1024") "%a = cast(%k) {to=f32}\n%y = mul(%x, %a)\n" Y, "cast mul"}};

/* ---- what nobody reads ----------------------------------------------------------------------- */

static const rewrite_case dead[] = {
    {"%x: f32[2,3], %i: i64[]", "%a = exp(%x)\n%b = log(%a)\n%y = neg(%x)\n" Y, "neg"},
    {NULL, "%a = exp(%x)\n%b = log(%a)\n%y = neg(%a)\n" Y, "exp neg"},
    {NULL, "%a, %b = split(%x) {axis=1, sizes=[1,2]}\noutput %b\n", "split"},
    {NULL, "%a, %b = split(%x) {axis=1, sizes=[1,2]}\n%y = neg(%x)\n" Y, "neg"},
    {NULL, "%a = exp(%x)\noutput %x\n", ""}};

/* ---- the limit of an expression -------------------------------------------------------------- */

static void add_exponentials(wk_str *b, const char *name, const char *of, int n) {
  wk_str_printf(b, "%%%s = map(%%%s) {body=\"", name, of);
  for (int i = 0; i < n; i++) wk_str_add(b, "exp(");
  wk_str_add(b, "%0");
  for (int i = 0; i < n; i++) wk_str_add(b, ")");
  wk_str_add(b, "\"}\n");
}

/* Two maps of n and m exponentials, the second a fold of its operand where m is 0. */
static size_t nodes_left(int n, int m) {
  wk_str body = {0};
  int64_t changes;
  add_exponentials(&body, "a", "x", n);
  if (m) add_exponentials(&body, "y", "a", m);
  else wk_str_add(&body, "%y = reduce_sum(%a) {axes=[0]}\n");
  wk_str_add(&body, Y);
  const rewrite_case c = {NULL, body.s, NULL};
  wk_module *g = rewrite_module(&c, "%x: f32[2]");
  assert_null(wk_lower_nodes(g, NULL, NULL));
  assert_null(wk_pass_run_one(g, wk_pass_find("fuse-map"), NULL, &changes));
  size_t left = g->main->nodes.n;
  wk_module_free(g);
  wk_str_free(&body);
  return left;
}

/* 160 nodes, operands among them. */
static void test_sizes(void **state) {
  (void)state;
  assert_int_equal(nodes_left(79, 79), 1);
  assert_int_equal(nodes_left(79, 80), 2);
  assert_int_equal(nodes_left(80, 79), 2);
  assert_int_equal(nodes_left(158, 0), 1);
  assert_int_equal(nodes_left(159, 0), 2);
}

#define TEST(table, pass, lowered)                                                          \
  static void test_##table(void **state) {                                                  \
    (void)state;                                                                            \
    assert_int_equal(rewrite_check(pass, lowered, table, WK_COUNTOF(table)), 0);            \
  }
TEST(maps, "fuse-map", true)
TEST(splats, "fuse-map", true)
TEST(epilogues, "fuse-epilogue", true)
TEST(equals, "common-subexpressions", false)
TEST(constants, "fold-constants", false)
TEST(few_bits, "fold-constants", false)
TEST(dead, "dead-code", false)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_maps),      cmocka_unit_test(test_splats),
      cmocka_unit_test(test_epilogues), cmocka_unit_test(test_equals),
      cmocka_unit_test(test_constants), cmocka_unit_test(test_few_bits),
      cmocka_unit_test(test_dead),      cmocka_unit_test(test_sizes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
