/* SPDX-License-Identifier: Apache-2.0
 * Movement of data: what is merged, what moves are passed on to, and which nearly alike stay. */
#include "tests/unit/rewrite_case.h"

#define Y "output %y\n"

/* ---- two in a row ---------------------------------------------------------------------------- */

static const rewrite_case chains[] = {
    {"%x: f32[2,3,4], %o: f32[1,3,1,4], %s: f32[4]",
     "%a = reshape(%x) {shape=[6,4]}\n%y = reshape(%a) {shape=[24]}\n" Y, "reshape"},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%y = reshape(%a) {shape=[2,3,4]}\n" Y, ""},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%y = reshape(%a) {shape=[24]}\noutput %a\n" Y,
     "reshape reshape"},
    {NULL, "%a = relu(%x)\n%y = reshape(%a) {shape=[24]}\n" Y, "relu reshape"},
    {NULL, "%a = transpose(%x) {perm=[1,2,0]}\n%y = transpose(%a) {perm=[1,2,0]}\n" Y,
     "transpose"},
    {NULL, "%a = transpose(%x) {perm=[1,2,0]}\n%y = transpose(%a) {perm=[2,0,1]}\n" Y, ""},
    {NULL, "%a = transpose(%x) {perm=[1,2,0]}\n%y = reshape(%a) {shape=[24]}\n" Y,
     "transpose reshape"},
    {NULL, "%y = transpose(%o) {perm=[1,0,2,3]}\n" Y, "reshape"},
    {NULL, "%y = transpose(%o) {perm=[2,1,3,0]}\n" Y, "reshape"},
    {NULL, "%y = transpose(%o) {perm=[0,3,2,1]}\n" Y, "transpose"},
    {NULL, "%y = transpose(%o) {perm=[3,1,0,2]}\n" Y, "transpose"},
    {NULL, "%a = expand(%s) {shape=[3,4]}\n%y = expand(%a) {shape=[2,3,4]}\n" Y, "expand"},
    {NULL, "%a = reshape(%s) {shape=[1,4]}\n%y = expand(%a) {shape=[3,4]}\n" Y, "expand"},
    {NULL, "%a = reshape(%s) {shape=[1,1,4]}\n%y = expand(%a) {shape=[2,3,4]}\n" Y, "expand"},
    {NULL, "%a = reshape(%s) {shape=[4,1]}\n%y = expand(%a) {shape=[4,3]}\n" Y, "reshape expand"},
    {NULL, "%a = reshape(%s) {shape=[1,2,2]}\n%y = expand(%a) {shape=[3,2,2]}\n" Y,
     "reshape expand"},
    {"%o: f32[1,1,4]", "%a = reshape(%o) {shape=[1,4]}\n%y = expand(%a) {shape=[3,4]}\n" Y,
     "reshape expand"}};

#define PADS(b, a) "before=[" b "], after=[" a "]}\n"
#define INNER "%a = pad(%x) {" PADS("1,2", "0,3")

static const rewrite_case pads[] = {
    {"%x: f32[2,3], %d: f32[]", INNER "%y = pad(%a) {" PADS("4,0", "5,6") Y, "pad"},
    {NULL, INNER "%y = pad(%a, %k0) {" PADS("4,0", "5,6") Y, "pad"},
    {NULL, "%a = pad(%x, %k2) {" PADS("1,2", "0,3") "%y = pad(%a, %k2) {" PADS("4,0", "5,6") Y,
     "pad"},
    {NULL, "%a = pad(%x, %k2) {" PADS("1,2", "0,3") "%y = pad(%a, %k3) {" PADS("4,0", "5,6") Y,
     "pad pad"},
    {NULL, "%a = pad(%x, %k2) {" PADS("1,2", "0,3") "%y = pad(%a) {" PADS("4,0", "5,6") Y,
     "pad pad"},
    {NULL, INNER "%y = pad(%a, %k2) {" PADS("4,0", "5,6") Y, "pad pad"},
    {NULL, "%a = pad(%x, %d) {" PADS("1,2", "0,3") "%y = pad(%a, %d) {" PADS("4,0", "5,6") Y,
     "pad pad"},
    {NULL, INNER "%y = pad(%a, %d) {" PADS("4,0", "5,6") Y, "pad pad"},
    {NULL, "%n = constant f32[] {-0.0}\n" INNER "%y = pad(%a, %n) {" PADS("4,0", "5,6") Y,
     "pad pad"},
    {NULL, INNER "%y = pad(%a) {mode=\"edge\", " PADS("4,0", "5,6") Y, "pad pad"},
    {NULL, "%a = pad(%x) {mode=\"edge\", " PADS("1,2", "0,3") "%y = pad(%a) {" PADS("4,0", "5,6")
     Y, "pad pad"},
    {NULL, INNER "%y = pad(%a) {" PADS("-1,0", "0,0") Y, "pad pad"},
    {NULL, INNER "%y = pad(%a) {" PADS("1,0", "0,-1") Y, "pad pad"},
    {NULL, "%a = pad(%x) {" PADS("0,-1", "0,0") "%y = pad(%a) {" PADS("1,1", "0,0") Y, "pad pad"},
    {NULL, "%a = pad(%x) {" PADS("0,0", "-1,0") "%y = pad(%a) {" PADS("1,1", "0,0") Y, "pad pad"},
    {NULL, INNER "%y = pad(%a) {" PADS("4,0", "5,6") "output %a\n" Y, "pad pad"}};

#define W "%w = constant f32[4,2] {1,2,3,4,5,6,7,8}\n%b = constant f32[2] {5, 7}\n"

static const rewrite_case products[] = {
    {"%x: f32[1,3,4], %y: f32[3,4], %z: f32[2,3,4], %v: f32[4], %u: f32[2,4,2]",
     W "%a = reshape(%x) {shape=[3,4]}\n%p = matmul(%a, %w)\n"
     "%q = reshape(%p) {shape=[1,3,2]}\noutput %q\n", "matmul"},
    {NULL, W "%a = reshape(%x) {shape=[3,4]}\n%p = matmul(%a, %w, %b)\n"
     "%q = reshape(%p) {shape=[1,3,2]}\noutput %q\n", "matmul"},
    {NULL, W "%a = reshape(%y) {shape=[1,3,4]}\n%p = matmul(%a, %w)\n"
     "%q = reshape(%p) {shape=[3,2]}\noutput %q\n", "matmul"},
    {NULL, W "%a = reshape(%x) {shape=[3,4]}\n%p = matmul(%a, %w)\n"
     "%q = reshape(%p) {shape=[1,3,2]}\noutput %a\noutput %q\n", "reshape matmul"},
    {NULL, W "%a = reshape(%x) {shape=[3,4]}\n%p = matmul(%a, %w)\n"
     "%q = reshape(%p) {shape=[1,3,2]}\noutput %p\noutput %q\n", "reshape matmul reshape"},
    {NULL, W "%a = reshape(%x) {shape=[3,4]}\n%p = matmul(%a, %w)\n"
     "%q = reshape(%p) {shape=[1,1,3,2]}\noutput %q\n", "reshape matmul reshape"},
    {NULL, W "%a = reshape(%x) {shape=[3,4]}\n%p = matmul(%a, %w)\n"
     "%q = reshape(%p) {shape=[3,1,2]}\noutput %q\n", "reshape matmul reshape"},
    {NULL, W "%a = reshape(%z) {shape=[6,4]}\n%p = matmul(%a, %w)\n"
     "%q = reshape(%p) {shape=[2,3,2]}\noutput %q\n", "reshape matmul reshape"},
    {NULL, W "%a = reshape(%v) {shape=[1,4]}\n%p = matmul(%a, %w)\n"
     "%q = reshape(%p) {shape=[2]}\noutput %q\n", "reshape matmul reshape"},
    {NULL, "%a = reshape(%x) {shape=[3,4]}\n%p = matmul(%a, %u)\n"
     "%q = reshape(%p) {shape=[12]}\noutput %q\n", "reshape matmul reshape"},
    {NULL, "%a = reshape(%z) {shape=[1,2,3,4]}\n%p = matmul(%a, %u)\n"
     "%q = reshape(%p) {shape=[2,3,2]}\noutput %q\n", "reshape matmul reshape"}};

/* ---- cut and join ---------------------------------------------------------------------------- */

#define CUT(name, of, start, size, step)                                                   \
  "%" name " = slice(%" of ") {starts=[0," start "], sizes=[2," size "], steps=[1," step "]}\n"

static const rewrite_case cuts[] = {
    {"%x: f32[2,8], %z: f32[2,3]", CUT("a", "x", "1", "6", "1") CUT("y", "a", "2", "3", "1") Y,
     "slice"},
    {NULL, CUT("a", "x", "1", "3", "2") CUT("y", "a", "1", "2", "1") Y, "slice"},
    {NULL, CUT("a", "x", "7", "4", "-2") CUT("y", "a", "3", "2", "-2") Y, "slice"},
    {NULL, CUT("a", "x", "7", "4", "-2") CUT("y", "a", "1", "0", "1") Y, "slice"},
    {NULL, "%a = concat(%z, %x, %z) {axis=1}\n" CUT("y", "a", "3", "8", "1") Y, ""},
    {NULL, "%a = concat(%z, %x, %z) {axis=1}\n" CUT("y", "a", "11", "3", "1") Y, ""},
    {NULL, "%a = concat(%z, %x, %z) {axis=1}\n" CUT("y", "a", "4", "7", "1") Y, "slice"},
    {NULL, "%a = concat(%z, %x, %z) {axis=1}\n" CUT("y", "a", "4", "8", "1") Y, "concat slice"},
    {NULL, "%a = concat(%z, %x, %z) {axis=1}\n" CUT("y", "a", "2", "8", "1") Y, "concat slice"},
    {NULL, "%a = concat(%z, %x, %z) {axis=1}\n" CUT("y", "a", "4", "2", "2") Y, "concat slice"},
    {NULL, "%a = concat(%z, %x, %z) {axis=1}\n" CUT("y", "a", "4", "1", "3") Y, "slice"},
    {NULL, "%a = concat(%z, %x, %z) {axis=1}\n" CUT("y", "a", "4", "0", "1") Y, "concat slice"},
    {NULL, "%a = concat(%x, %x) {axis=0}\n%y = slice(%a) {starts=[2,3], sizes=[2,2], "
     "steps=[1,2]}\n" Y, "slice"},
    {NULL, "%a = concat(%x, %x) {axis=0}\n%y = slice(%a) {starts=[1,3], sizes=[2,2], "
     "steps=[1,2]}\n" Y, "concat slice"},
    {NULL, "%a, %b, %c = split(%x) {axis=1, sizes=[1,4,3]}\n"
     "%y = slice(%b) {starts=[0,1], sizes=[2,2], steps=[1,2]}\n" Y, "slice"},
    {NULL, "%a, %b, %c = split(%x) {axis=1, sizes=[1,4,3]}\n"
     "%y = slice(%c) {starts=[1,1], sizes=[1,2], steps=[1,1]}\n" Y, "slice"},
    {NULL, "%t = concat(%z, %x) {axis=1}\n%a, %b = split(%t) {axis=1, sizes=[3,8]}\n"
     "%y = sub(%x, %b)\noutput %a\n" Y, "sub"},
    {NULL, "%t = concat(%z, %x) {axis=1}\n%a, %b, %c = split(%t) {axis=1, sizes=[2,4,5]}\n"
     "output %a\noutput %b\noutput %c\n", "concat split slice slice"},
    {NULL, "%t = concat(%x, %x) {axis=0}\n%a, %b = split(%t) {axis=1, sizes=[3,5]}\n"
     "output %a\noutput %b\n", "concat split"}};

static const rewrite_case joins[] = {
    {"%x: f32[2,8], %z: f32[2,8]",
     CUT("a", "x", "1", "3", "1") CUT("b", "x", "4", "2", "1") "%y = concat(%a, %b) {axis=1}\n" Y,
     "slice"},
    {NULL, CUT("a", "x", "0", "3", "1") CUT("b", "x", "3", "5", "1")
     "%y = concat(%a, %b) {axis=1}\n" Y, ""},
    {NULL, CUT("a", "x", "1", "3", "1") CUT("b", "x", "4", "2", "1")
     "%y = concat(%z, %a, %b, %z) {axis=1}\n" Y, "slice concat"},
    {NULL, "%a, %b, %c = split(%x) {axis=1, sizes=[1,4,3]}\n%y = concat(%b, %c) {axis=1}\n" Y,
     "slice"},
    {NULL, "%a, %b, %c = split(%x) {axis=1, sizes=[1,4,3]}\n%y = concat(%a, %b, %c) {axis=1}\n" Y,
     ""},
    {NULL, "%a, %b, %c = split(%x) {axis=1, sizes=[1,4,3]}\n%y = concat(%a, %c, %b) {axis=1}\n" Y,
     "split concat"},
    {NULL, "%a, %b, %c = split(%x) {axis=1, sizes=[1,4,3]}\n%y = concat(%b, %c, %a) {axis=1}\n" Y,
     "split slice concat"},
    /* pieces that do not meet, are of other values, other steps, other rows or another axis */
    {NULL, CUT("a", "x", "1", "3", "1") CUT("b", "x", "5", "2", "1")
     "%y = concat(%a, %b) {axis=1}\n" Y, "slice slice concat"},
    {NULL, CUT("a", "x", "1", "3", "1") CUT("b", "x", "3", "2", "1")
     "%y = concat(%a, %b) {axis=1}\n" Y, "slice slice concat"},
    {NULL, CUT("a", "x", "1", "3", "1") CUT("b", "z", "4", "2", "1")
     "%y = concat(%a, %b) {axis=1}\n" Y, "slice slice concat"},
    {NULL, CUT("a", "x", "1", "3", "1") CUT("b", "x", "4", "2", "2")
     "%y = concat(%a, %b) {axis=1}\n" Y, "slice slice concat"},
    {NULL, CUT("a", "x", "1", "3", "1") CUT("b", "x", "4", "1", "2")
     "%y = concat(%a, %b) {axis=1}\n" Y, "slice"},
    {NULL, CUT("a", "x", "1", "3", "1") CUT("b", "x", "4", "0", "1")
     "%y = concat(%a, %b) {axis=1}\n" Y, "slice slice concat"},
    {NULL, "%a = slice(%x) {starts=[0,1], sizes=[1,3], steps=[1,1]}\n"
     "%b = slice(%x) {starts=[1,4], sizes=[1,3], steps=[1,1]}\n%y = concat(%a, %b) {axis=1}\n" Y,
     "slice slice concat"},
    {NULL, "%a = slice(%x) {starts=[0,1], sizes=[1,3], steps=[1,1]}\n"
     "%b = slice(%x) {starts=[1,1], sizes=[1,3], steps=[1,1]}\n%y = concat(%a, %b) {axis=0}\n" Y,
     "slice"},
    {NULL, "%a = slice(%x) {starts=[0,1], sizes=[1,3], steps=[1,1]}\n"
     "%b = slice(%x) {starts=[1,2], sizes=[1,3], steps=[1,1]}\n%y = concat(%a, %b) {axis=0}\n" Y,
     "slice slice concat"},
    {NULL, CUT("a", "x", "1", "3", "1") CUT("b", "x", "4", "3", "1")
     "%y = concat(%a, %b) {axis=0}\n" Y, "slice slice concat"},
    /* concats in concats */
    {NULL, "%a = concat(%x, %z) {axis=1}\n%y = concat(%z, %a) {axis=1}\n" Y, "concat"},
    {NULL, "%a = concat(%x, %z) {axis=1}\n%b = concat(%z, %z) {axis=1}\n"
     "%y = concat(%a, %x, %b) {axis=1}\n" Y, "concat"},
    {NULL, "%a = concat(%x, %z) {axis=1}\n%y = concat(%a, %a) {axis=0}\n" Y, "concat concat"},
    {NULL, "%a = concat(%x, %z) {axis=1}\n%y = concat(%z, %a) {axis=1}\noutput %a\n" Y,
     "concat concat"}};

/* ---- moves across operators ------------------------------------------------------------------ */

#define THERE(name, of) "%" name " = transpose(%" of ") {perm=[1,2,0]}\n"
#define BACK(of) "%y = transpose(%" of ") {perm=[2,0,1]}\n" Y

static const rewrite_case lifts[] = {
    {"%x: f32[2,3,4], %u: f32[3,4,2], %w: f32[3,4,2], %v: f32[2], %c: bool[], %o: f32[3,1,1]",
     THERE("a", "x") "%b = relu(%a)\n" BACK("b"), "relu"},
    {NULL, THERE("a", "x") "%b = relu(%a)\noutput %b\n" BACK("b"), "transpose relu transpose"},
    {NULL, THERE("a", "x") "%b = relu(%a)\noutput %a\n" BACK("b"), "transpose relu"},
    {NULL, THERE("a", "x") "%b = add(%a, %u)\n" BACK("b"), "transpose add"},
    {NULL, THERE("a", "x") "%b = add(%a, %u)\n%d = mul(%b, %w)\n" BACK("d"),
     "transpose add mul transpose"},
    {NULL, THERE("a", "x") "%b = add(%a, %k2)\n" BACK("b"), "add"},
    {NULL, THERE("a", "x") "%b = where(%c, %a, %k2)\n" BACK("b"), "where"},
    {NULL, THERE("a", "x") "%b = add(%a, %v)\n" BACK("b"), "reshape add"},
    {NULL, THERE("a", "x") "%b = add(%a, %o)\n" BACK("b"), "reshape add"},
    {NULL, THERE("a", "x") "%k = constant f32[4,2] {1,2,3,4,5,6,7,8}\n%b = add(%k, %a)\n"
     BACK("b"), "add"},
    {NULL, THERE("a", "x") "%b = relu(%a)\n%d = tanh(%b)\n%e = mul(%b, %d)\n" BACK("e"),
     "relu tanh mul"},
    {NULL, THERE("a", "x") "%b = relu(%a)\n%d = tanh(%b)\n%e = mul(%b, %d)\noutput %b\n"
     BACK("e"), "transpose relu tanh mul transpose"},
    /* operators that name axes */
    {NULL, THERE("a", "x") "%b = softmax(%a) {axis=0}\n" BACK("b"), "softmax"},
    {NULL, THERE("a", "x") "%b = log_softmax(%a) {axis=1}\n" BACK("b"), "log_softmax"},
    {NULL, THERE("a", "x") "%b = lp_norm(%a) {axis=2}\n" BACK("b"), "lp_norm"},
    {NULL, THERE("a", "x") "%b = concat(%a, %a) {axis=2}\n" BACK("b"), "concat"},
    {NULL, THERE("a", "x") "%b = pad(%a) {before=[1,0,2], after=[0,3,0]}\n" BACK("b"), "pad"},
    {NULL, THERE("a", "x") "%b = slice(%a) {starts=[1,3,0], sizes=[2,2,2], steps=[1,-2,1]}\n"
     BACK("b"), "slice"},
    {NULL, THERE("a", "x") "%b = reduce_sum(%a) {axes=[0]}\n" BACK("b"), "reduce_sum"},
    {NULL, THERE("a", "x") "%b = reduce_mean(%a) {axes=[1]}\n" BACK("b"), "reduce_mean"},
    {NULL, THERE("a", "x") "%b = reduce_max(%a) {axes=[0]}\n" BACK("b"), "reduce_max"},
    {NULL, THERE("a", "x") "%b = reduce_min(%a) {axes=[1]}\n" BACK("b"), "reduce_min"},
    {NULL, THERE("a", "x") "%b = reduce_prod(%a) {axes=[1]}\n" BACK("b"),
     "transpose reduce_prod transpose"},
    {NULL, THERE("a", "x") "%b = hardmax(%a) {axis=1}\n" BACK("b"),
     "transpose hardmax transpose"},
    {NULL, THERE("a", "x") "%b = reduce_sum(%a) {axes=[1], keepdims=0}\n"
     "%y = transpose(%b) {perm=[1,0]}\n" Y, "transpose reduce_sum transpose"},
    {NULL, "%a = transpose(%x) {perm=[2,1,0]}\n%b = relu(%a)\n" BACK("b"), "transpose relu"},
    {"%x: f32[2,3,4,5]", "%a = transpose(%x) {perm=[1,2,3,0]}\n%b = reduce_sum(%a) {axes=[0,2]}\n"
     "%y = transpose(%b) {perm=[3,0,1,2]}\n" Y, "reduce_sum"},
    /* reshapes: operands follow that broadcast along the leading axes only */
    {"%x: f32[2,3,4], %v: f32[4], %o: f32[6,1], %u: f32[6,4], %w: f32[6,4], %s: f32[1,1,4]",
     "%a = reshape(%x) {shape=[6,4]}\n%b = relu(%a)\n%y = reshape(%b) {shape=[2,3,4]}\n" Y,
     "relu"},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%b = add(%a, %v)\n%y = reshape(%b) {shape=[2,3,4]}\n"
     Y, "add"},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%b = add(%a, %k2)\n%y = reshape(%b) {shape=[2,3,4]}\n"
     Y, "add"},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%b = add(%a, %o)\n%y = reshape(%b) {shape=[2,3,4]}\n"
     Y, "reshape add"},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%b = add(%a, %v)\n%y = reshape(%b) {shape=[24]}\n" Y,
     "reshape add reshape"},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%b = add(%a, %u)\n%y = reshape(%b) {shape=[2,3,4]}\n"
     Y, "reshape add"},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%b = add(%a, %u)\n%d = add(%b, %w)\n"
     "%y = reshape(%d) {shape=[2,3,4]}\n" Y, "reshape add add reshape"},
    {NULL, "%a = reshape(%x) {shape=[1,6,4]}\n%b = add(%a, %s)\n%y = reshape(%b) {shape=[6,4]}\n"
     Y, "reshape add reshape"},
    {NULL, "%a = reshape(%u) {shape=[1,6,4]}\n%b = add(%a, %s)\n%y = reshape(%b) {shape=[6,4]}\n"
     Y, "reshape add"},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%b = softmax(%a) {axis=1}\n"
     "%y = reshape(%b) {shape=[2,3,4]}\n" Y, "softmax"},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%b = log_softmax(%a) {axis=1}\n"
     "%y = reshape(%b) {shape=[2,3,4]}\n" Y, "log_softmax"},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%b = softmax(%a) {axis=0}\n"
     "%y = reshape(%b) {shape=[2,3,4]}\n" Y, "reshape softmax reshape"},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%b = softmax(%a) {axis=1}\n"
     "%y = reshape(%b) {shape=[2,12]}\n" Y, "reshape softmax reshape"}};

static const rewrite_case meetings[] = {
    {"%x: f32[2,3,4], %z: f32[2,3,4], %q: f32[4,2,3], %u: f32[3,4,2]",
     THERE("a", "x") THERE("b", "z") "%y = add(%a, %b)\n" Y, "add transpose"},
    {NULL, THERE("a", "x") "%b = transpose(%q) {perm=[2,0,1]}\n%y = add(%a, %b)\n" Y,
     "transpose transpose add"},
    {NULL, THERE("a", "x") "%y = add(%a, %u)\n" Y, "transpose add"},
    {NULL, THERE("a", "x") "%y = add(%a, %k2)\n" Y, "transpose add"},
    {NULL, THERE("a", "x") THERE("b", "z") "%d = mul(%a, %b)\n%y = add(%d, %a)\n" Y,
     "mul add transpose"},
    {NULL, THERE("a", "x") THERE("b", "z") "%y = add(%a, %b)\noutput %a\n" Y,
     "transpose transpose add"},
    {NULL, THERE("a", "x") THERE("b", "z") "%d = relu(%b)\n%y = sub(%a, %d)\n" Y,
     "relu sub transpose"},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%b = reshape(%z) {shape=[6,4]}\n%y = sub(%a, %b)\n" Y,
     "sub reshape"},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%b = reshape(%q) {shape=[6,4]}\n%y = sub(%a, %b)\n" Y,
     "reshape reshape sub"},
    {NULL, "%a = reshape(%x) {shape=[6,4]}\n%y = sub(%a, %k2)\n" Y, "reshape sub"}};

/* ---- how much is looked at ------------------------------------------------------------------- */

/* A transpose, n operators, the transpose back. The first `choices` of them have two operands more,
 * the others none; `one` adds one operand. */
static size_t nodes_left(int n, int choices, bool one) {
  wk_str body = {0}, text = {0};
  wk_module *m;
  int64_t changes;
  wk_str_printf(&body, "%%v0 = transpose(%%x) {perm=[1,0]}\n");
  for (int i = 0; i < n; i++) {
    if (i < choices)
      wk_str_printf(&body, "%%c%d = constant bool[] {%d}\n%%k%d = constant f32[] {%d}\n"
                    "%%v%d = where(%%c%d, %%v%d, %%k%d)\n", i, i % 2, i, i, i + 1, i, i, i);
    else wk_str_printf(&body, "%%v%d = neg(%%v%d)\n", i + 1, i);
  }
  if (one) wk_str_printf(&body, "%%k = constant f32[] {3}\n%%v = add(%%v%d, %%k)\n", n);
  else wk_str_printf(&body, "%%v = neg(%%v%d)\n", n);
  wk_str_printf(&text, "module \"t\" {\ngraph @main(%%x: f32[2,3]) {\n%s"
                "%%y = transpose(%%v) {perm=[1,0]}\noutput %%y\n}\n}\n", body.s);
  assert_null(wk_module_parse(text.s, "t", &m));
  assert_null(wk_pass_run_one(m, wk_pass_find("merge-movement"), NULL, &changes));
  size_t left = m->main->nodes.n;
  wk_module_free(m);
  wk_str_free(&text);
  wk_str_free(&body);
  return left;
}

/* 48 operators and 64 operands. */
static void test_limits(void **state) {
  (void)state;
  assert_int_equal(nodes_left(46, 0, false), 47);
  assert_int_equal(nodes_left(47, 0, false), 48);
  assert_int_equal(nodes_left(48, 0, false), 51);
  assert_int_equal(nodes_left(31, 31, false), 32);
  assert_int_equal(nodes_left(31, 31, true), 32);
  assert_int_equal(nodes_left(32, 32, false), 35);
}

#define TEST(table)                                                                        \
  static void test_##table(void **state) {                                                 \
    (void)state;                                                                           \
    assert_int_equal(rewrite_check("merge-movement", false, table, WK_COUNTOF(table)), 0); \
  }
TEST(chains)
TEST(pads)
TEST(products)
TEST(cuts)
TEST(joins)
TEST(lifts)
TEST(meetings)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chains), cmocka_unit_test(test_pads), cmocka_unit_test(test_products),
      cmocka_unit_test(test_cuts),   cmocka_unit_test(test_joins), cmocka_unit_test(test_lifts),
      cmocka_unit_test(test_meetings), cmocka_unit_test(test_limits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
