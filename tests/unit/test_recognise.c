/* SPDX-License-Identifier: Apache-2.0
 * Which forms of operators written out are recognised, and which that look nearly so are not. */
#include "tests/unit/rewrite_case.h"

/* ---- softmax --------------------------------------------------------------------------------- */

#define SHIFTED(axes) "%m = reduce_max(%x) {axes=[" axes "]}\n%d = sub(%x, %m)\n"
#define EXP_SUM(axes) "%e = exp(%d)\n%s = reduce_sum(%e) {axes=[" axes "]}\n"
#define Y "output %y\n"

static const rewrite_case softmax[] = {
    {"%x: f32[3,3], %z: f32[3,3]", SHIFTED("1") EXP_SUM("1") "%y = div(%e, %s)\n" Y, "softmax"},
    {NULL, SHIFTED("0") EXP_SUM("0") "%y = div(%e, %s)\n" Y, "softmax"},
    {NULL, SHIFTED("0") EXP_SUM("0") "%r = reciprocal(%s)\n%y = mul(%e, %r)\n" Y, "softmax"},
    {NULL, SHIFTED("1") EXP_SUM("1") "%r = reciprocal(%s)\n%y = mul(%r, %e)\n" Y, "softmax"},
    /* the sum over the values */
    {NULL, SHIFTED("1") EXP_SUM("1") "%y = div(%s, %e)\n" Y, "reduce_max sub exp reduce_sum div"},
    {NULL, SHIFTED("1") EXP_SUM("1") "%y = mul(%e, %s)\n" Y, "reduce_max sub exp reduce_sum mul"},
    /* other axes, several axes, axes that go */
    {NULL, SHIFTED("0") EXP_SUM("1") "%y = div(%e, %s)\n" Y, "reduce_max sub exp reduce_sum div"},
    {NULL, SHIFTED("1") EXP_SUM("0") "%y = div(%e, %s)\n" Y, "reduce_max sub exp reduce_sum div"},
    {NULL, SHIFTED("0,1") EXP_SUM("1") "%y = div(%e, %s)\n" Y,
     "reduce_max sub exp reduce_sum div"},
    {NULL, SHIFTED("0") EXP_SUM("0,1") "%y = div(%e, %s)\n" Y,
     "reduce_max sub exp reduce_sum div"},
    {NULL, SHIFTED("1") "%e = exp(%d)\n%s = reduce_sum(%e) {axes=[1], keepdims=0}\n"
     "%y = div(%e, %s)\n" Y, "reduce_max sub exp reduce_sum div"},
    {NULL, "%m = reduce_max(%x) {axes=[1], keepdims=0}\n%d = sub(%x, %m)\n" EXP_SUM("1")
     "%y = div(%e, %s)\n" Y, "reduce_max sub exp reduce_sum div"},
    /* the maximum, the sum of something else; another fold, another order */
    {NULL, "%m = reduce_max(%z) {axes=[1]}\n%d = sub(%x, %m)\n" EXP_SUM("1")
     "%y = div(%e, %s)\n" Y, "reduce_max sub exp reduce_sum div"},
    {NULL, "%m = reduce_min(%x) {axes=[1]}\n%d = sub(%x, %m)\n" EXP_SUM("1")
     "%y = div(%e, %s)\n" Y, "reduce_min sub exp reduce_sum div"},
    {NULL, "%m = reduce_max(%x) {axes=[1]}\n%d = sub(%m, %x)\n" EXP_SUM("1")
     "%y = div(%e, %s)\n" Y, "reduce_max sub exp reduce_sum div"},
    {NULL, SHIFTED("1") "%e = exp(%d)\n%f = exp(%z)\n%s = reduce_sum(%f) {axes=[1]}\n"
     "%y = div(%e, %s)\n" Y, "reduce_max sub exp exp reduce_sum div"},
    {NULL, SHIFTED("1") "%e = tanh(%d)\n%s = reduce_sum(%e) {axes=[1]}\n%y = div(%e, %s)\n" Y,
     "reduce_max sub tanh reduce_sum div"},
    {NULL, SHIFTED("1") "%e = exp(%d)\n%s = reduce_mean(%e) {axes=[1]}\n%y = div(%e, %s)\n" Y,
     "reduce_max sub exp reduce_mean div"},
    {NULL, "%e = exp(%x)\n%s = reduce_sum(%e) {axes=[1]}\n%y = div(%e, %s)\n" Y,
     "exp reduce_sum div"},
    /* what others read as well */
    {NULL, SHIFTED("1") EXP_SUM("1") "%y = div(%e, %s)\noutput %e\n" Y,
     "reduce_max sub exp reduce_sum div"},
    {NULL, SHIFTED("1") EXP_SUM("1") "%y = div(%e, %s)\noutput %s\n" Y,
     "reduce_max sub exp reduce_sum div"},
    {NULL, SHIFTED("1") EXP_SUM("1") "%y = div(%e, %s)\noutput %d\n" Y,
     "reduce_max sub exp reduce_sum div"},
    {NULL, SHIFTED("1") EXP_SUM("1") "%y = div(%e, %s)\noutput %m\n" Y,
     "reduce_max sub exp reduce_sum div"},
    {NULL, SHIFTED("1") EXP_SUM("1") "%r = reciprocal(%s)\n%y = mul(%e, %r)\noutput %r\n" Y,
     "reduce_max sub exp reduce_sum reciprocal mul"}};

#define LOG_SUM(axes) EXP_SUM(axes) "%l = log(%s)\n"

static const rewrite_case log_softmax[] = {
    {"%x: f32[3,3], %z: f32[3,3]", SHIFTED("1") LOG_SUM("1") "%y = sub(%d, %l)\n" Y,
     "log_softmax"},
    {NULL, SHIFTED("0") LOG_SUM("0") "%y = sub(%d, %l)\n" Y, "log_softmax"},
    {NULL, SHIFTED("0") LOG_SUM("1") "%y = sub(%d, %l)\n" Y,
     "reduce_max sub exp reduce_sum log sub"},
    {NULL, SHIFTED("1") LOG_SUM("0,1") "%y = sub(%d, %l)\n" Y,
     "reduce_max sub exp reduce_sum log sub"},
    {NULL, SHIFTED("0,1") LOG_SUM("1") "%y = sub(%d, %l)\n" Y,
     "reduce_max sub exp reduce_sum log sub"},
    {NULL, SHIFTED("1") LOG_SUM("1") "%y = sub(%l, %d)\n" Y,
     "reduce_max sub exp reduce_sum log sub"},
    {NULL, SHIFTED("1") LOG_SUM("1") "%y = sub(%x, %l)\n" Y,
     "reduce_max sub exp reduce_sum log sub"},
    {NULL, SHIFTED("1") LOG_SUM("1") "%y = add(%d, %l)\n" Y,
     "reduce_max sub exp reduce_sum log add"},
    {NULL, SHIFTED("1") "%e = exp(%d)\n%s = reduce_sum(%e) {axes=[1], keepdims=0}\n"
     "%l = log(%s)\n%y = sub(%d, %l)\n" Y, "reduce_max sub exp reduce_sum log sub"},
    {NULL, SHIFTED("1") LOG_SUM("1") "%y = sub(%d, %l)\noutput %l\n" Y,
     "reduce_max sub exp reduce_sum log sub"},
    {NULL, SHIFTED("1") LOG_SUM("1") "%y = sub(%d, %l)\noutput %s\n" Y,
     "reduce_max sub exp reduce_sum log sub"},
    {NULL, SHIFTED("1") LOG_SUM("1") "%y = sub(%d, %l)\noutput %e\n" Y,
     "reduce_max sub exp reduce_sum log sub"},
    {NULL, SHIFTED("1") LOG_SUM("1") "%y = sub(%d, %l)\noutput %d\n" Y,
     "reduce_max sub exp reduce_sum log sub"},
    {NULL, SHIFTED("1") LOG_SUM("1") "%y = sub(%d, %l)\noutput %m\n" Y,
     "reduce_max sub exp reduce_sum log sub"}};

/* ---- layer norm ------------------------------------------------------------------------------ */

#define CENTRED(axes) "%m = reduce_mean(%x) {axes=[" axes "]}\n%c = sub(%x, %m)\n"
#define VARIANCE(axes) "%v = reduce_mean(%s) {axes=[" axes "]}\n%e = add(%v, %eps)\n"
#define STANDARD(axes) CENTRED(axes) "%s = mul(%c, %c)\n" VARIANCE(axes) "%d = sqrt(%e)\n"
#define NORM(axes) STANDARD(axes) "%n = div(%c, %d)\n"
#define PLAIN_NORM "reduce_mean sub mul reduce_mean add sqrt div"

static const rewrite_case layer_norm[] = {
    {"%x: f32[2,4,4], %g: f32[4], %h: f32[2,4,4]", NORM("2") "output %n\n", "layer_norm"},
    {NULL, NORM("1,2") "output %n\n", "layer_norm"},
    {NULL, NORM("0,1,2") "output %n\n", "layer_norm"},
    {NULL, CENTRED("2") "%s = pow(%c, %k2)\n" VARIANCE("2") "%d = sqrt(%e)\n%n = div(%c, %d)\n"
     "output %n\n", "layer_norm"},
    {NULL, STANDARD("2") "%r = reciprocal(%d)\n%n = mul(%c, %r)\noutput %n\n", "layer_norm"},
    {NULL, STANDARD("2") "%r = reciprocal(%d)\n%n = mul(%r, %c)\noutput %n\n", "layer_norm"},
    {NULL, STANDARD("2") "%r = div(%k1, %d)\n%n = mul(%c, %r)\noutput %n\n", "layer_norm"},
    {NULL, CENTRED("2") "%s = mul(%c, %c)\n" VARIANCE("2")
     "%p = constant f32[] {-0.5}\n%r = pow(%e, %p)\n%n = mul(%r, %c)\noutput %n\n", "layer_norm"},
    /* other powers, other numerators */
    {NULL, CENTRED("2") "%s = pow(%c, %k3)\n" VARIANCE("2") "%d = sqrt(%e)\n%n = div(%c, %d)\n"
     "output %n\n", "reduce_mean sub pow reduce_mean add sqrt div"},
    {NULL, CENTRED("2") "%s = mul(%c, %c)\n" VARIANCE("2") "%r = pow(%e, %kh)\n"
     "%n = mul(%r, %c)\noutput %n\n", "reduce_mean sub mul reduce_mean add pow mul"},
    {NULL, STANDARD("2") "%r = div(%k2, %d)\n%n = mul(%c, %r)\noutput %n\n",
     "reduce_mean sub mul reduce_mean add sqrt div mul"},
    {NULL, STANDARD("2") "%n = mul(%c, %d)\noutput %n\n",
     "reduce_mean sub mul reduce_mean add sqrt mul"},
    {NULL, STANDARD("2") "%n = div(%d, %c)\noutput %n\n", PLAIN_NORM},
    {NULL, STANDARD("2") "%n = div(%x, %d)\noutput %n\n", PLAIN_NORM},
    {NULL, CENTRED("2") "%s = mul(%c, %x)\n" VARIANCE("2") "%d = sqrt(%e)\n%n = div(%c, %d)\n"
     "output %n\n", PLAIN_NORM},
    {NULL, CENTRED("2") "%s = mul(%x, %c)\n" VARIANCE("2") "%d = sqrt(%e)\n%n = div(%c, %d)\n"
     "output %n\n", PLAIN_NORM},
    {NULL, CENTRED("2") "%s = pow(%x, %k2)\n" VARIANCE("2") "%d = sqrt(%e)\n%n = div(%c, %d)\n"
     "output %n\n", "reduce_mean sub pow reduce_mean add sqrt div"},
    {NULL, "%m = reduce_mean(%h) {axes=[2]}\n%c = sub(%x, %m)\n%s = mul(%c, %c)\n" VARIANCE("2")
     "%d = sqrt(%e)\n%n = div(%c, %d)\noutput %n\n", PLAIN_NORM},
    {NULL, "%m = reduce_max(%x) {axes=[2]}\n%c = sub(%x, %m)\n%s = mul(%c, %c)\n" VARIANCE("2")
     "%d = sqrt(%e)\n%n = div(%c, %d)\noutput %n\n",
     "reduce_max sub mul reduce_mean add sqrt div"},
    /* a negative number under the root: squares are never as small */
    {NULL, CENTRED("2") "%s = mul(%c, %c)\n%v = reduce_mean(%s) {axes=[2]}\n%e = sub(%v, %eps)\n"
     "%d = sqrt(%e)\n%n = div(%c, %d)\noutput %n\n",
     "reduce_mean sub mul reduce_mean sub sqrt div"},
    /* axes that are not the last, not the same, or go */
    {NULL, NORM("0") "output %n\n", PLAIN_NORM},
    {NULL, NORM("1") "output %n\n", PLAIN_NORM},
    {NULL, NORM("0,2") "output %n\n", PLAIN_NORM},
    {NULL, CENTRED("2") "%s = mul(%c, %c)\n" VARIANCE("1,2") "%d = sqrt(%e)\n%n = div(%c, %d)\n"
     "output %n\n", PLAIN_NORM},
    {NULL, CENTRED("1,2") "%s = mul(%c, %c)\n" VARIANCE("2") "%d = sqrt(%e)\n%n = div(%c, %d)\n"
     "output %n\n", PLAIN_NORM},
    {NULL, CENTRED("2") "%s = mul(%c, %c)\n%v = reduce_mean(%s) {axes=[1,2], keepdims=0}\n"
     "%w = reshape(%v) {shape=[2,1,1]}\n%e = add(%w, %eps)\n%d = sqrt(%e)\n%n = div(%c, %d)\n"
     "output %n\n", "reduce_mean sub mul reduce_mean reshape add sqrt div"},
    {"%x: f32[4,4], %g: f32[4], %h: f32[4,4]",
     CENTRED("1") "%s = mul(%c, %c)\n%v = reduce_mean(%s) {axes=[1], keepdims=0}\n"
     "%e = add(%v, %eps)\n%d = sqrt(%e)\n%n = div(%c, %d)\noutput %n\n", PLAIN_NORM},
    {NULL, "%m = reduce_mean(%x) {axes=[1], keepdims=0}\n%c = sub(%x, %m)\n%s = mul(%c, %c)\n"
     VARIANCE("1") "%d = sqrt(%e)\n%n = div(%c, %d)\noutput %n\n", PLAIN_NORM},
    /* what others read as well */
    {NULL, NORM("1") "output %n\noutput %c\n", PLAIN_NORM},
    {NULL, NORM("1") "output %n\noutput %s\n", PLAIN_NORM},
    {NULL, NORM("1") "output %n\noutput %v\n", PLAIN_NORM},
    {NULL, NORM("1") "output %n\noutput %e\n", PLAIN_NORM},
    {NULL, NORM("1") "output %n\noutput %d\n", PLAIN_NORM},
    {NULL, NORM("1") "output %n\noutput %m\n", PLAIN_NORM},
    {NULL, STANDARD("1") "%r = reciprocal(%d)\n%n = mul(%c, %r)\noutput %n\noutput %r\n",
     "reduce_mean sub mul reduce_mean add sqrt reciprocal mul"}};

#define W "%w = constant f32[4] {1.0, 2.0, 3.0, 4.0}\n"
#define LAYER_NORM "%n = layer_norm(%x, %k1) {axis=1}\n"

/* Scale and bias behind one: what is known, or of a lower rank than the result. */
static const rewrite_case behind_norm[] = {
    {"%x: f32[2,4], %v: f32[4], %h: f32[2,4], %o: f32[1,2,4]",
     W LAYER_NORM "%y = mul(%n, %w)\n" Y, "layer_norm"},
    {NULL, W LAYER_NORM "%y = add(%w, %n)\n" Y, "layer_norm"},
    {NULL, LAYER_NORM "%y = mul(%v, %n)\n" Y, "layer_norm"},
    {NULL, LAYER_NORM "%y = add(%n, %v)\n" Y, "layer_norm"},
    {NULL, W LAYER_NORM "%a = mul(%n, %w)\n%y = add(%a, %v)\n" Y, "layer_norm"},
    {NULL, LAYER_NORM "%y = mul(%n, %kh)\n" Y, "layer_norm"},
    {NULL, LAYER_NORM "%k = constant f32[2,4] {1,2,3,4,5,6,7,8}\n%y = add(%n, %k)\n" Y,
     "layer_norm"},
    /* a residual, a gate, more than the result's rank; another norm's scale comes first */
    {NULL, LAYER_NORM "%y = add(%n, %h)\n" Y, "layer_norm add"},
    {NULL, LAYER_NORM "%y = mul(%n, %h)\n" Y, "layer_norm mul"},
    {NULL, LAYER_NORM "%y = add(%n, %o)\n" Y, "layer_norm add"},
    {NULL, LAYER_NORM "%k = constant f32[1,2,4] {1,2,3,4,5,6,7,8}\n%y = add(%n, %k)\n" Y,
     "layer_norm add"},
    {"%x: f32[1,4], %v: f32[4], %h: f32[2,4], %o: f32[1,2,4]",
     LAYER_NORM "%k = constant f32[2,4] {1,2,3,4,5,6,7,8}\n%y = add(%n, %k)\n" Y,
     "layer_norm add"},
    {NULL, LAYER_NORM "%k = constant f32[2,4] {1,2,3,4,5,6,7,8}\n%y = mul(%k, %n)\n" Y,
     "layer_norm mul"},
    {"%x: f32[2,4], %v: f32[4], %h: f32[2,4], %o: f32[1,2,4]",
     W LAYER_NORM "%a = add(%n, %w)\n%y = mul(%a, %v)\n" Y, "layer_norm mul"},
    {NULL, W LAYER_NORM "%a = add(%n, %w)\n%y = add(%a, %v)\n" Y, "layer_norm add"},
    {NULL, W "%n = layer_norm(%x, %w) {axis=1}\n%y = mul(%n, %v)\n" Y, "layer_norm mul"},
    {NULL, "%n = layer_norm(%x, %k2) {axis=1}\n%y = mul(%n, %v)\n" Y, "layer_norm mul"},
    {NULL, W "%n = layer_norm(%x, %w) {axis=1}\n%y = add(%n, %v)\n" Y, "layer_norm"},
    {NULL, W LAYER_NORM "%y = sub(%n, %w)\n" Y, "layer_norm sub"},
    {NULL, W LAYER_NORM "%y = mul(%n, %w)\noutput %n\n" Y, "layer_norm mul"},
    {NULL, W "%n, %mean, %inv = layer_norm(%x, %k1) {axis=1}\n%y = mul(%n, %w)\noutput %mean\n"
     "output %inv\n" Y, "layer_norm mul"}};

/* ---- activations ----------------------------------------------------------------------------- */

#define LOGISTIC "%a = neg(%x)\n%e = exp(%a)\n%s = add(%e, %k1)\n"
#define PLAIN_LOGISTIC "neg exp add"

static const rewrite_case sigmoid[] = {
    {"%x: f32[2,4], %z: f32[2,4]", LOGISTIC "%y = reciprocal(%s)\n" Y, "sigmoid"},
    {NULL, LOGISTIC "%y = div(%k1, %s)\n" Y, "sigmoid"},
    {NULL, LOGISTIC "%y = div(%x, %s)\n" Y, "silu"},
    {NULL, LOGISTIC "%y = div(%k2, %s)\n" Y, PLAIN_LOGISTIC " div"},
    {NULL, LOGISTIC "%y = div(%s, %k1)\n" Y, PLAIN_LOGISTIC " div"},
    {NULL, LOGISTIC "%y = div(%z, %s)\n" Y, PLAIN_LOGISTIC " div"},
    {NULL, LOGISTIC "%y = div(%e, %s)\n" Y, PLAIN_LOGISTIC " div"},
    {NULL, "%e = exp(%x)\n%s = add(%k1, %e)\n%y = div(%k1, %s)\n" Y, "exp add div"},
    {NULL, "%a = neg(%x)\n%e = exp(%a)\n%s = add(%e, %k2)\n%y = div(%k1, %s)\n" Y,
     PLAIN_LOGISTIC " div"},
    {NULL, "%a = neg(%x)\n%e = exp(%a)\n%s = sub(%e, %k1)\n%y = div(%k1, %s)\n" Y,
     "neg exp sub div"},
    {NULL, "%a = neg(%x)\n%e = exp(%a)\n%k = constant f32[] {-1.0}\n%s = sub(%e, %k)\n"
     "%y = div(%k1, %s)\n" Y, "sigmoid"},
    {NULL, LOGISTIC "%y = reciprocal(%s)\noutput %s\n" Y, PLAIN_LOGISTIC " reciprocal"},
    {NULL, LOGISTIC "%y = reciprocal(%s)\noutput %e\n" Y, PLAIN_LOGISTIC " reciprocal"},
    {NULL, LOGISTIC "%y = reciprocal(%s)\noutput %a\n" Y, PLAIN_LOGISTIC " reciprocal"},
    {NULL, "%s = sigmoid(%x)\n%y = mul(%x, %s)\n" Y, "silu"},
    {NULL, "%s = sigmoid(%x)\n%y = mul(%s, %x)\n" Y, "silu"},
    {NULL, "%s = sigmoid(%x)\n%y = mul(%s, %z)\n" Y, "sigmoid mul"},
    {NULL, "%s = sigmoid(%x)\n%y = mul(%s, %s)\n" Y, "sigmoid mul"},
    {NULL, "%s = sigmoid(%x)\n%y = mul(%s, %x)\noutput %s\n" Y, "sigmoid mul"},
    {NULL, "%s = sigmoid(%x)\n%y = add(%s, %x)\n" Y, "sigmoid add"},
    {NULL, "%p = softplus(%x)\n%s = tanh(%p)\n%y = mul(%x, %s)\n" Y, "mish"},
    {NULL, "%p = softplus(%x)\n%s = tanh(%p)\n%y = mul(%s, %x)\n" Y, "mish"},
    {NULL, "%p = softplus(%x)\n%s = tanh(%p)\n%y = mul(%s, %z)\n" Y, "softplus tanh mul"},
    {NULL, "%p = softplus(%x)\n%s = tanh(%p)\n%y = mul(%s, %x)\noutput %p\n" Y,
     "softplus tanh mul"},
    {NULL, "%p = softplus(%x)\n%s = tanh(%p)\n%y = mul(%s, %x)\noutput %s\n" Y,
     "softplus tanh mul"},
    {NULL, "%s = tanh(%x)\n%y = mul(%s, %x)\n" Y, "tanh mul"}};

#define ROOT2 "%q = constant f32[] {1.4142135}\n"
#define ERF "%b = erf(%a)\n%d = add(%b, %k1)\n"

static const rewrite_case gelu[] = {
    {"%x: f32[2,4], %z: f32[2,4]",
     ROOT2 "%a = div(%x, %q)\n" ERF "%e = mul(%x, %d)\n%y = mul(%e, %kh)\n" Y, "gelu"},
    {NULL, ROOT2 "%a = div(%x, %q)\n" ERF "%e = mul(%d, %kh)\n%y = mul(%e, %x)\n" Y, "gelu"},
    {NULL, ROOT2 "%a = div(%x, %q)\n" ERF "%e = mul(%x, %kh)\n%y = mul(%e, %d)\n" Y, "gelu"},
    {NULL, ROOT2 "%a = div(%x, %q)\n" ERF "%e = mul(%x, %d)\n%y = div(%e, %k2)\n" Y, "gelu"},
    {NULL, "%q = constant f32[] {0.70710677}\n%a = mul(%x, %q)\n" ERF
     "%e = mul(%x, %d)\n%y = mul(%e, %kh)\n" Y, "gelu"},
    /* numbers nearly right: within four millionths or not */
    {NULL, "%q = constant f32[] {0.7071094}\n%a = mul(%x, %q)\n" ERF
     "%e = mul(%x, %d)\n%y = mul(%e, %kh)\n" Y, "gelu"},
    {NULL, "%q = constant f32[] {0.7071103}\n%a = mul(%x, %q)\n" ERF
     "%e = mul(%x, %d)\n%y = mul(%e, %kh)\n" Y, "mul erf add mul mul"},
    {NULL, "%q = constant f32[] {0.7071041}\n%a = mul(%x, %q)\n" ERF
     "%e = mul(%x, %d)\n%y = mul(%e, %kh)\n" Y, "gelu"},
    {NULL, "%q = constant f32[] {0.7071032}\n%a = mul(%x, %q)\n" ERF
     "%e = mul(%x, %d)\n%y = mul(%e, %kh)\n" Y, "mul erf add mul mul"},
    {NULL, ROOT2 "%a = mul(%x, %q)\n" ERF "%e = mul(%x, %d)\n%y = mul(%e, %kh)\n" Y,
     "mul erf add mul mul"},
    {NULL, ROOT2 "%a = div(%x, %q)\n" ERF "%e = mul(%x, %d)\n%y = div(%e, %kh)\n" Y,
     "div erf add mul div"},
    {NULL, ROOT2 "%a = div(%x, %q)\n" ERF "%e = mul(%x, %d)\n%y = mul(%e, %k1)\n" Y,
     "div erf add mul mul"},
    {NULL, ROOT2 "%a = div(%x, %q)\n%b = erf(%a)\n%d = add(%b, %k2)\n%e = mul(%x, %d)\n"
     "%y = mul(%e, %kh)\n" Y, "div erf add mul mul"},
    /* other values */
    {NULL, ROOT2 "%a = div(%z, %q)\n" ERF "%e = mul(%x, %d)\n%y = mul(%e, %kh)\n" Y,
     "div erf add mul mul"},
    {NULL, ROOT2 "%a = div(%x, %q)\n" ERF "%e = mul(%z, %d)\n%y = mul(%e, %kh)\n" Y,
     "div erf add mul mul"},
    {NULL, ROOT2 "%a = div(%x, %q)\n" ERF "%e = mul(%d, %d)\n%y = mul(%e, %kh)\n" Y,
     "div erf add mul mul"},
    {NULL, ROOT2 "%s = mul(%x, %x)\n%a = div(%s, %q)\n" ERF "%e = mul(%x, %d)\n"
     "%y = mul(%e, %kh)\n" Y, "mul div erf add mul mul"},
    {NULL, ROOT2 "%a = div(%x, %q)\n" ERF "%e = mul(%x, %d)\n%f = mul(%e, %x)\n"
     "%y = mul(%f, %kh)\n" Y, "div erf add mul mul mul"},
    /* what others read as well; a scaled x may be */
    {NULL, ROOT2 "%a = div(%x, %q)\n" ERF "%e = mul(%x, %d)\n%y = mul(%e, %kh)\noutput %b\n" Y,
     "div erf add mul mul"},
    {NULL, ROOT2 "%a = div(%x, %q)\n" ERF "%e = mul(%x, %d)\n%y = mul(%e, %kh)\noutput %d\n" Y,
     "div erf add mul mul"},
    {NULL, ROOT2 "%a = div(%x, %q)\n" ERF "%e = mul(%x, %d)\n%y = mul(%e, %kh)\noutput %e\n" Y,
     "div erf add mul mul"}};

#define CUBED "%u = pow(%x, %k3)\n"
#define TANH_OF(v) "%t = tanh(" v ")\n%h = add(%t, %k1)\n%i = mul(%x, %h)\n%y = mul(%i, %kh)\n" Y
#define NUMBERS "%c = constant f32[] {0.044715}\n%r = constant f32[] {0.7978846}\n"

static const rewrite_case gelu_tanh[] = {
    {"%x: f32[2,4], %z: f32[2,4]", NUMBERS CUBED
     "%v = mul(%u, %c)\n%w = add(%x, %v)\n%a = mul(%w, %r)\n" TANH_OF("%a"), "gelu_tanh"},
    {NULL, NUMBERS CUBED "%v = mul(%c, %u)\n%w = add(%v, %x)\n%a = mul(%r, %w)\n" TANH_OF("%a"),
     "gelu_tanh"},
    {NULL, NUMBERS "%s = mul(%x, %x)\n%u = mul(%s, %x)\n%v = mul(%c, %u)\n%w = add(%v, %x)\n"
     "%a = mul(%r, %w)\n" TANH_OF("%a"), "gelu_tanh"},
    {NULL, NUMBERS "%s = pow(%x, %k2)\n%v = mul(%c, %s)\n%w = add(%k1, %v)\n%u = mul(%x, %w)\n"
     "%a = mul(%r, %u)\n" TANH_OF("%a"), "gelu_tanh"},
    {NULL, NUMBERS "%s = pow(%x, %k2)\n%v = mul(%c, %s)\n%w = add(%k1, %v)\n%u = mul(%w, %r)\n"
     "%a = mul(%u, %x)\n" TANH_OF("%a"), "gelu_tanh"},
    /* other powers, numbers and values */
    {NULL, NUMBERS "%s = pow(%x, %k2)\n%v = mul(%s, %c)\n%w = add(%x, %v)\n%a = mul(%w, %r)\n"
     TANH_OF("%a"), "pow mul add mul tanh add mul mul"},
    {NULL, NUMBERS CUBED "%v = mul(%c, %u)\n%w = add(%k1, %v)\n%p = mul(%x, %w)\n"
     "%a = mul(%r, %p)\n" TANH_OF("%a"), "pow mul add mul mul tanh add mul mul"},
    {NULL, NUMBERS CUBED "%v = mul(%u, %c)\n%w = add(%x, %v)\n%a = mul(%w, %kh)\n" TANH_OF("%a"),
     "pow mul add mul tanh add mul mul"},
    {NULL, NUMBERS CUBED "%v = mul(%u, %kh)\n%w = add(%x, %v)\n%a = mul(%w, %r)\n" TANH_OF("%a"),
     "pow mul add mul tanh add mul mul"},
    {NULL, NUMBERS CUBED "%v = mul(%u, %c)\n%w = add(%z, %v)\n%a = mul(%w, %r)\n" TANH_OF("%a"),
     "pow mul add mul tanh add mul mul"},
    {NULL, NUMBERS "%u = pow(%z, %k3)\n%v = mul(%u, %c)\n%w = add(%x, %v)\n%a = mul(%w, %r)\n"
     TANH_OF("%a"), "pow mul add mul tanh add mul mul"},
    {NULL, NUMBERS "%s = pow(%x, %k2)\n%v = mul(%c, %s)\n%w = add(%k1, %v)\n%u = mul(%z, %w)\n"
     "%a = mul(%r, %u)\n" TANH_OF("%a"), "pow mul add mul mul tanh add mul mul"},
    {NULL, NUMBERS "%s = pow(%x, %k2)\n%v = mul(%c, %s)\n%w = add(%k2, %v)\n%u = mul(%x, %w)\n"
     "%a = mul(%r, %u)\n" TANH_OF("%a"), "pow mul add mul mul tanh add mul mul"},
    {NULL, NUMBERS CUBED "%v = mul(%u, %c)\n%w = sub(%x, %v)\n%a = mul(%w, %r)\n" TANH_OF("%a"),
     "pow mul sub mul tanh add mul mul"},
    {NULL, NUMBERS CUBED "%v = mul(%u, %c)\n%w = add(%x, %v)\n%a = mul(%w, %r)\noutput %w\n"
     TANH_OF("%a"), "pow mul add mul tanh add mul mul"}};

#define GATE "%a = add(%x, %k3)\n%b = clip(%a) {lo=0.0, hi=6.0}\n"

static const rewrite_case hard_gates[] = {
    {"%x: f32[2,4], %z: f32[2,4], %u: f32[4]", GATE "%y = div(%b, %k6)\n" Y, "hard_sigmoid"},
    {NULL, GATE "%c = mul(%x, %b)\n%y = div(%c, %k6)\n" Y, "hard_swish"},
    {NULL, GATE "%c = div(%b, %k6)\n%y = mul(%c, %x)\n" Y, "hard_swish"},
    {NULL, "%s = hard_sigmoid(%x) {alpha=0.16666667, beta=0.5}\n%y = mul(%x, %s)\n" Y,
     "hard_swish"},
    {NULL, "%a = mul(%x, %kh)\n%b = add(%a, %kh)\n%y = clip(%b) {lo=0.0, hi=1.0}\n" Y,
     "hard_sigmoid"},
    {NULL, "%b = add(%x, %kh)\n%y = clip(%b) {lo=0.0, hi=1.0}\n" Y, "hard_sigmoid"},
    {NULL, "%b = mul(%x, %kh)\n%y = clip(%b) {lo=0.0, hi=1.0}\n" Y, "hard_sigmoid"},
    {NULL, "%a = mul(%x, %kh)\n%b = sub(%a, %kh)\n%y = clip(%b) {lo=0.0, hi=1.0}\noutput %a\n" Y,
     "mul hard_sigmoid"},
    /* a clip alone; other limits; a falling line; a product of two values */
    {NULL, "%y = clip(%x) {lo=0.0, hi=1.0}\n" Y, "clip"},
    {NULL, "%b = add(%x, %kh)\n%y = clip(%b) {lo=0.0, hi=2.0}\n" Y, "add clip"},
    {NULL, "%b = add(%x, %kh)\n%y = clip(%b) {lo=-1.0, hi=1.0}\n" Y, "add clip"},
    {NULL, "%b = add(%x, %kh)\n%y = clip(%b) {lo=0.5, hi=1.0}\n" Y, "add clip"},
    {NULL, "%k = constant f32[] {-0.5}\n%a = mul(%x, %k)\n%b = add(%a, %kh)\n"
     "%y = clip(%b) {lo=0.0, hi=1.0}\n" Y, "mul add clip"},
    {NULL, "%a = mul(%x, %k0)\n%b = add(%a, %kh)\n%y = clip(%b) {lo=0.0, hi=1.0}\n" Y,
     "mul add clip"},
    {NULL, "%a = mul(%x, %z)\n%y = clip(%a) {lo=0.0, hi=1.0}\n" Y, "mul clip"},
    {NULL, "%a = mul(%x, %z)\n%b = add(%a, %kh)\n%y = clip(%b) {lo=0.0, hi=1.0}\n" Y,
     "mul hard_sigmoid"},
    {NULL, "%k = constant f32[2,4] splat(0.5)\n%b = add(%u, %k)\n%y = clip(%b) {lo=0.0, hi=1.0}\n"
     Y, "add clip"},
    {NULL, "%k = constant f32[2,4] splat(0.5)\n%b = mul(%u, %k)\n%y = clip(%b) {lo=0.0, hi=1.0}\n"
     Y, "mul clip"},
    /* a height that does not become 1; another slope, another offset, another x */
    {NULL, GATE "%y = div(%b, %k3)\n" Y, "add clip div"},
    {NULL, GATE "%y = mul(%b, %k6)\n" Y, "add clip mul"},
    {NULL, GATE "%c = mul(%x, %b)\n%y = div(%c, %k3)\n" Y, "add clip mul div"},
    {NULL, GATE "%c = mul(%z, %b)\n%y = div(%c, %k6)\n" Y, "add clip mul div"},
    {NULL, "%a = add(%x, %k2)\n%b = clip(%a) {lo=0.0, hi=6.0}\n%c = mul(%x, %b)\n"
     "%y = div(%c, %k6)\n" Y, "add clip mul div"},
    {NULL, "%m = mul(%x, %k2)\n%a = add(%m, %k3)\n%b = clip(%a) {lo=0.0, hi=6.0}\n"
     "%c = mul(%x, %b)\n%y = div(%c, %k6)\n" Y, "mul add clip mul div"},
    {NULL, "%a = add(%x, %k3)\n%b = clip(%a) {lo=0.0, hi=3.0}\n%c = mul(%x, %b)\n"
     "%y = div(%c, %k3)\n" Y, "add clip mul div"},
    {NULL, "%s = hard_sigmoid(%x) {alpha=0.2, beta=0.5}\n%y = mul(%x, %s)\n" Y,
     "hard_sigmoid mul"},
    {NULL, "%s = hard_sigmoid(%x) {alpha=0.16666667, beta=0.25}\n%y = mul(%x, %s)\n" Y,
     "hard_sigmoid mul"},
    {NULL, "%s = hard_sigmoid(%x) {alpha=0.16666667, beta=0.5}\n%y = mul(%z, %s)\n" Y,
     "hard_sigmoid mul"},
    {NULL, "%s = hard_sigmoid(%x) {alpha=0.16666667, beta=0.5}\n%y = mul(%s, %k1)\n" Y,
     "hard_sigmoid mul"},
    /* what others read as well */
    {NULL, GATE "%c = mul(%x, %b)\n%y = div(%c, %k6)\noutput %b\n" Y, "add clip mul div"},
    {NULL, GATE "%c = mul(%x, %b)\n%y = div(%c, %k6)\noutput %c\n" Y, "add clip mul div"},
    {NULL, GATE "%y = div(%b, %k6)\noutput %b\n" Y, "add clip div"},
    {NULL, GATE "%y = div(%b, %k6)\noutput %a\n" Y, "add clip div"}};

static const rewrite_case leaky_relu[] = {
    {"%x: f32[2,4], %z: f32[2,4]", "%a = mul(%x, %kh)\n%y = max(%x, %a)\n" Y, "leaky_relu"},
    {NULL, "%a = mul(%kh, %x)\n%y = max(%a, %x)\n" Y, "leaky_relu"},
    {NULL, "%a = mul(%x, %k1)\n%y = max(%a, %x)\n" Y, "leaky_relu"},
    {NULL, "%a = mul(%x, %k2)\n%y = max(%a, %x)\n" Y, "mul max"},
    {NULL, "%a = mul(%x, %k0)\n%y = max(%a, %x)\n" Y, "mul max"},
    {NULL, "%k = constant f32[] {-0.5}\n%a = mul(%x, %k)\n%y = max(%a, %x)\n" Y, "mul max"},
    {NULL, "%a = mul(%x, %kh)\n%y = max(%a, %z)\n" Y, "mul max"},
    {NULL, "%a = mul(%x, %z)\n%y = max(%a, %x)\n" Y, "mul max"},
    {NULL, "%a = mul(%x, %x)\n%y = max(%a, %x)\n" Y, "mul max"},
    {NULL, "%a = div(%x, %k2)\n%y = max(%a, %x)\n" Y, "div max"},
    {NULL, "%a = mul(%x, %kh)\n%y = min(%a, %x)\n" Y, "mul min"},
    {NULL, "public %k = constant f32[] {0.5}\n%a = mul(%x, %k)\n%y = max(%a, %x)\n" Y,
     "mul max"},
    {NULL, "%k = constant f32[2,4] splat(0.5)\n%a = mul(%x, %k)\n%y = max(%a, %x)\n" Y,
     "leaky_relu"},
    {NULL, "%k = constant f32[4] {0.5, 0.5, 0.5, 0.25}\n%a = mul(%x, %k)\n%y = max(%a, %x)\n" Y,
     "mul max"},
    {NULL, "%a = mul(%x, %kh)\n%y = max(%a, %x)\noutput %a\n" Y, "mul max"}};

/* ---- attention and bags ---------------------------------------------------------------------- */

#define KEYS "%t = transpose(%k) {perm=[0,2,1]}\n"
#define ATTEND "%p = softmax(%s) {axis=2}\n%y = matmul(%p, %v)\n" Y
#define PLAIN_ATTENTION "transpose matmul softmax matmul"

static const rewrite_case attention[] = {
    {"%q: f32[2,3,3], %k: f32[2,3,3], %v: f32[2,3,3], %m: f32[3,3], %u: f32[1,2,3,3], %b: f32[3]",
     KEYS "%s = matmul(%q, %t)\n" ATTEND, "attention"},
    {NULL, KEYS "%a = matmul(%q, %t)\n%s = mul(%a, %kh)\n" ATTEND, "attention"},
    {NULL, KEYS "%g = div(%q, %k2)\n%s = matmul(%g, %t)\n" ATTEND, "attention"},
    {NULL, KEYS "%g = mul(%t, %kh)\n%s = matmul(%q, %g)\n" ATTEND, "attention"},
    {NULL, "%g = mul(%k, %kh)\n%t = transpose(%g) {perm=[0,2,1]}\n%s = matmul(%q, %t)\n" ATTEND,
     "attention"},
    {NULL, KEYS "%a = matmul(%q, %t)\n%s = add(%a, %m)\n" ATTEND, "attention"},
    {NULL, KEYS "%a = matmul(%q, %t)\n%c = mul(%a, %kh)\n%s = add(%m, %c)\n" ATTEND, "attention"},
    {NULL, "%t = transpose(%k) {perm=[1,0,2]}\n%w = reshape(%t) {shape=[2,3,3]}\n"
     "%s = matmul(%q, %w)\n" ATTEND, "transpose reshape matmul softmax matmul"},
    /* rows are not what is normalised; something is left between; a bias, a larger mask */
    {NULL, KEYS "%s = matmul(%q, %t)\n%p = softmax(%s) {axis=1}\n%y = matmul(%p, %v)\n" Y,
     PLAIN_ATTENTION},
    {NULL, KEYS "%s = matmul(%q, %t)\n%p = log_softmax(%s) {axis=2}\n%y = matmul(%p, %v)\n" Y,
     "transpose matmul log_softmax matmul"},
    {NULL, KEYS "%s = matmul(%q, %t)\n%p = softmax(%s) {axis=2}\n%y = matmul(%v, %p)\n" Y,
     PLAIN_ATTENTION},
    {NULL, KEYS "%s = matmul(%q, %t)\n%p = softmax(%s) {axis=2}\n%y = matmul(%p, %v, %b)\n" Y,
     PLAIN_ATTENTION},
    {NULL, KEYS "%s = matmul(%q, %t, %b)\n" ATTEND, PLAIN_ATTENTION},
    {NULL, KEYS "%a = matmul(%q, %t)\n%s = sub(%a, %m)\n" ATTEND,
     "transpose matmul sub softmax matmul"},
    {NULL, KEYS "%a = matmul(%q, %t)\n%s = add(%a, %u)\n%p = softmax(%s) {axis=3}\n"
     "%y = matmul(%p, %v)\n" Y, "transpose matmul add softmax matmul"},
    {NULL, KEYS "%a = matmul(%q, %t)\n%c = tanh(%a)\n%s = add(%c, %m)\n" ATTEND,
     "transpose matmul tanh add softmax matmul"},
    /* what others read as well */
    {NULL, KEYS "%s = matmul(%q, %t)\noutput %s\n" ATTEND, PLAIN_ATTENTION},
    {NULL, KEYS "%s = matmul(%q, %t)\n" ATTEND "output %p\n", PLAIN_ATTENTION},
    {NULL, KEYS "%s = matmul(%q, %t)\noutput %t\n" ATTEND, PLAIN_ATTENTION},
    {NULL, KEYS "%a = matmul(%q, %t)\n%s = mul(%a, %kh)\noutput %s\n" ATTEND,
     "transpose matmul mul softmax matmul"},
    {NULL, KEYS "%a = matmul(%q, %t)\n%s = mul(%a, %kh)\noutput %a\n" ATTEND,
     "transpose matmul mul softmax matmul"},
    {NULL, KEYS "%a = matmul(%q, %t)\n%s = add(%a, %m)\noutput %s\n" ATTEND,
     "transpose matmul add softmax matmul"},
    {NULL, KEYS "%a = matmul(%q, %t)\n%s = add(%a, %m)\noutput %a\n" ATTEND,
     "transpose matmul add softmax matmul"},
    {NULL, KEYS "%g = div(%q, %k2)\n%s = matmul(%g, %t)\noutput %g\n" ATTEND, "div attention"}};

#define WIDE "%t = constant f32[2,4] {1,2,3,4,5,6,7,8}\n"
#define TABLE "%t = constant f32[4,2] {1,2,3,4,5,6,7,8}\n"

static const rewrite_case bags[] = {
    {"%i: i64[3,4], %k: i64[2,3,4], %o: i64[4], %s: i64[], %v: i64[3,1]",
     TABLE "%g = gather(%t, %i)\n%y = reduce_sum(%g) {axes=[1], keepdims=0}\n" Y,
     "reshape segment_reduce"},
    {NULL, TABLE "%g = gather(%t, %i)\n%y = reduce_mean(%g) {axes=[1]}\n" Y,
     "reshape segment_reduce reshape"},
    {NULL, TABLE "%g = gather(%t, %k)\n%y = reduce_max(%g) {axes=[2], keepdims=0}\n" Y,
     "reshape segment_reduce reshape"},
    {NULL, TABLE "%g = gather(%t, %o)\n%y = reduce_sum(%g) {axes=[0], keepdims=0}\n" Y,
     "segment_reduce reshape"},
    {NULL, TABLE "%g = gather(%t, %v)\n%y = reduce_sum(%g) {axes=[1], keepdims=0}\n" Y,
     "reshape segment_reduce"},
    /* another fold; other axes of indices or table; more than a row; others read the rows */
    {NULL, TABLE "%g = gather(%t, %i)\n%y = reduce_min(%g) {axes=[1]}\n" Y, "gather reduce_min"},
    {NULL, TABLE "%g = gather(%t, %i)\n%y = reduce_sum(%g) {axes=[0]}\n" Y, "gather reduce_sum"},
    {NULL, TABLE "%g = gather(%t, %i)\n%y = reduce_sum(%g) {axes=[2]}\n" Y, "gather reduce_sum"},
    {NULL, TABLE "%g = gather(%t, %i)\n%y = reduce_sum(%g) {axes=[0,1]}\n" Y,
     "gather reduce_sum"},
    {NULL, TABLE "%g = gather(%t, %i)\n%y = reduce_sum(%g) {axes=[1,2]}\n" Y,
     "gather reduce_sum"},
    {NULL, TABLE "%g = gather(%t, %s)\n%y = reduce_sum(%g) {axes=[0]}\n" Y, "gather reduce_sum"},
    {NULL, WIDE "%g = gather(%t, %i) {axis=1}\n%y = reduce_sum(%g) {axes=[1]}\n" Y,
     "gather reduce_sum"},
    {NULL, WIDE "%g = gather(%t, %i) {axis=1}\n%y = reduce_sum(%g) {axes=[2]}\n" Y,
     "gather reduce_sum"},
    {NULL, "%t = constant f32[4] {1,2,3,4}\n%g = gather(%t, %i)\n%y = reduce_sum(%g) {axes=[1]}\n"
     Y, "gather reduce_sum"},
    {NULL, "%t = constant f32[4,1,2] {1,2,3,4,5,6,7,8}\n%g = gather(%t, %i)\n"
     "%y = reduce_sum(%g) {axes=[1]}\n" Y, "gather reduce_sum"},
    {NULL, TABLE "%g = gather(%t, %i)\n%y = reduce_sum(%g) {axes=[1]}\noutput %g\n" Y,
     "gather reduce_sum"}};

/* ---- types ----------------------------------------------------------------------------------- */

/* Floats of 16 bits are rounded by each operator; f64 is as good as f32. */
static const rewrite_case types[] = {
    {"%x: f64[2,4]", "%s = sigmoid(%x)\n%y = mul(%x, %s)\n" Y, "silu"},
    {"%x: f16[2,4]", "%s = sigmoid(%x)\n%y = mul(%x, %s)\n" Y, "sigmoid mul"},
    {"%x: bf16[2,4]", "%s = sigmoid(%x)\n%y = mul(%x, %s)\n" Y, "sigmoid mul"},
    {"%x: f16[3,3]", SHIFTED("1") EXP_SUM("1") "%y = div(%e, %s)\n" Y,
     "reduce_max sub exp reduce_sum div"}};

#define TEST(table)                                                                      \
  static void test_##table(void **state) {                                               \
    (void)state;                                                                         \
    assert_int_equal(rewrite_check("recognise", false, table, WK_COUNTOF(table)), 0);    \
  }
TEST(softmax)
TEST(log_softmax)
TEST(layer_norm)
TEST(behind_norm)
TEST(sigmoid)
TEST(gelu)
TEST(gelu_tanh)
TEST(hard_gates)
TEST(leaky_relu)
TEST(attention)
TEST(bags)
TEST(types)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_softmax),     cmocka_unit_test(test_log_softmax),
      cmocka_unit_test(test_layer_norm),  cmocka_unit_test(test_behind_norm),
      cmocka_unit_test(test_sigmoid),     cmocka_unit_test(test_gelu),
      cmocka_unit_test(test_gelu_tanh),   cmocka_unit_test(test_hard_gates),
      cmocka_unit_test(test_leaky_relu),  cmocka_unit_test(test_attention),
      cmocka_unit_test(test_bags),        cmocka_unit_test(test_types)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
