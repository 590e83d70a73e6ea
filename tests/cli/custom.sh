#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples/custom is built against an installed Wick: an operator of its own is compiled, compared,
# and run by the command, by a C program and in a bundle; and what is wrong with such plugins.
tests=$(realpath "$(dirname "$0")/..")
source "$(dirname "$0")/lib.bash" "$@"
example=$tests/../examples/custom
sanitize=
is_sanitized && sanitize=-fsanitize=address,undefined
check 'install' cmake --install "$(dirname "$wick")" --prefix "$tmp/prefix"
wick=$tmp/prefix/bin/wick
check 'configure' cmake -S "$example" -B out -DCMAKE_PREFIX_PATH="$tmp/prefix" \
  -DCMAKE_C_FLAGS="-Wall -Werror $sanitize"
check 'build' cmake --build out
both=(--plugin out/snake.so --plugin out/snake_routine.so)
net=$example/model.onnxtxt

# ---- without the plugin
gives 'without the plugin' '^  com.example.Snake-1: this operator is not known \(2 nodes' bash -c \
  "'$wick' compile '$net' -q -o none.wick 2>&1; true"
gives 'what a plugin would bring' '^  com.example.Snake\(alpha=0.5\): f32\[4,4\] -> \?$' bash -c \
  "'$wick' ops --model '$net'; true"
gives 'the same in JSON' '"call": "\(alpha=0.5\): f32\[4,4\] -> \?"' bash -c \
  "'$wick' ops --model '$net' --json -v; true"

# ---- with it
gives 'ops' '^com.example.Snake +1 +2 ' "$wick" ops --model "$net" "${both[@]}"
gives 'run' '^y f32\[4,4\] min -3.1' "$wick" run "$net" "${both[@]}" --random 1
gives 'evaluated' '^y f32\[4,4\] min -3.1' \
  "$wick" run "$net" --plugin out/snake.so --target eval --random 1
gives 'compare' '^all 4 instructions agree' "$wick" compare "$net" "${both[@]}"
gives 'compare --passes' '^the result is the same after all' \
  "$wick" compare "$net" "${both[@]}" --passes
gives 'by the environment' '^y ' env WICK_PLUGINS=out/snake.so:out/snake_routine.so \
  "$wick" run "$net" --random 1
gives 'an instruction' '  custom\(@out %s.*\{domain="com.example", op="Snake", counts=\[1\], v' \
  "$wick" compile "$net" --plugin out/snake.so --emit program -o -
check 'in 16 bits it stays f32' "$wick" compile "$net" "${both[@]}" --convert f16 -q -o half.wick
check 'quantize' "$wick" quantize "$net" "${both[@]}" --random 2 -o int8.onnx
gives 'it stays what it was' '^opsets .*com.example 1' "$wick" inspect int8.onnx
gives 'quantised, compared' ' agree' "$wick" compare int8.onnx "${both[@]}"

# ---- packages
check 'compile' "$wick" compile "$net" --plugin out/snake.so -q -o snakes.wick
check 'the same bytes' bash -c "'$wick' compile '$net' --plugin out/snake.so -q -o again.wick &&
  cmp snakes.wick again.wick"
gives 'its section' '^section routines of unit 0 ' "$wick" inspect snakes.wick
check 'verify' "$wick" verify snakes.wick
gives 'run a package' '^y f32\[4,4\] min -3.1' \
  "$wick" run snakes.wick --plugin out/snake_routine.so --random 1
gives 'on two threads' '^y f32\[4,4\] min -3.1' \
  "$wick" run snakes.wick --plugin out/snake_routine.so --random 1 --threads 2
refuses 'without the routine' 4 \
  "snakes.wick: a custom operator's routine is not registered: 'com_example_snake': load or link" \
  "$wick" run snakes.wick --random 1
gives 'a C program' '^0.0000 -0.7712 -2.0066 -2.6238$' \
  env LD_LIBRARY_PATH="$tmp/prefix/lib" out/main snakes.wick

# ---- a bundle
check 'bundle' "$wick" compile "$net" --plugin out/snake.so --emit bundle -q -o snakes
gives 'its header declares it' '^int32_t com_example_snake\(const struct wick_call \*call\);' \
  cat snakes.h
cat >bundle.c <<'C'
#include <stdio.h>
#include "snakes.h"
int main(void) {
  static _Alignas(4096) char weights[SNAKES_WEIGHTS_BYTES], arena[SNAKES_ARENA_BYTES];
  FILE *f = fopen("snakes.weights", "rb");
  float x[12], y[16];
  if (!f || fread(weights, 1, sizeof weights, f) != sizeof weights) return 9;
  for (int i = 0; i < 12; i++) x[i] = (float)(i - 6) / 4;
  const void *in[] = {x};
  void *out[] = {y};
  int status = snakes_run(weights, in, out, arena);
  printf("%d %.4f %.4f\n", status, y[1], y[2]);
  return 0;
}
C
link() { ${CC:-cc} $sanitize -I prefix/include/wick bundle.c "$@" snakes.o -o bundle -lm; }
check 'link a bundle' link "$example/routine.c"
gives 'run a bundle' '^0 -0.7712 -2.0066$' ./bundle
cat >fails.c <<'C'
#include <stdint.h>
struct wick_call;
int32_t com_example_snake(const struct wick_call *call) { return call ? 7 : 8; }
C
check 'with a routine that fails' link fails.c
gives 'its code' '^4 ' ./bundle
check 'the same as a plugin' ${CC:-cc} $sanitize -I prefix/include/wick -fPIC -shared -o fails.so \
  -x c - <<'C'
#include "runtime/routine.h"
static int32_t run(const wick_call *call) { return call->input_count == 1 ? -7 : 8; }
const wick_routine *wick_routine_plugin(void) {
  static const wick_routine r[] = {{"com_example_snake", run}, {0}};
  return r;
}
C
refuses 'a routine that fails' 3 \
  'Snake_s \(custom, step [0-9]+ of [0-9]+\): its routine failed with -7' \
  "$wick" run snakes.wick --plugin ./fails.so --random 1
refuses 'two of one name' 2 'there is a routine com_example_snake already' \
  "$wick" run snakes.wick --plugin ./fails.so --plugin out/snake_routine.so --random 1

# ---- with the routine's bitcode in the plugin
whole=out/snake_whole.so
gives 'compare, with bitcode' '^all 4 instructions agree' "$wick" compare "$net" --plugin $whole
check 'compile, with bitcode' "$wick" compile "$net" --plugin $whole -q -o whole.wick
gives 'nobody brings the routine' '^y f32\[4,4\] min -3.1494 max 6.24737 mean 0.644178$' \
  "$wick" run whole.wick --random 1
"$wick" inspect whole.wick | grep -q 'section routines' && bad 'it names a routine' || good
for cpu in x86-64 avx2; do
  check "for $cpu" "$wick" compile "$net" --plugin $whole --cpu $cpu -q -o "$cpu.wick"
  gives "on $cpu" '^y f32\[4,4\] min -3.1494' "$wick" run "$cpu.wick" --random 1
done
refuses 'for another processor' 3 "com.example.Snake: its bitcode is for 'x86_64" \
  "$wick" compile "$net" --plugin $whole --cpu aarch64 -q -o arm.wick
check 'a bundle of it' "$wick" compile "$net" --plugin $whole --emit bundle -q -o snakes
check 'link it' link
gives 'run it' '^0 -0.7712 -2.0066$' ./bundle
clang=$(sed -n 's/^CLANG:[A-Z]*=//p' out/CMakeCache.txt)
bitcode() { # NAME, C on standard input: a plugin with it
  check "bitcode $1" "$clang" -x c -O2 -I prefix/include/wick -emit-llvm -c - -o "$1.bc"
  plugin "$1"
}
plugin() { # NAME: with NAME.bc
  check "plugin $1" ${CC:-cc} -w -D_GNU_SOURCE -DSNAKE_BITCODE="\"$PWD/$1.bc\"" \
    -I prefix/include/wick -fPIC -shared "$example/operator.c" -o "$1.so"
}
of() { refuses "$1" 3 "com.example.Snake: its bitcode $2" "$wick" run "$net" --plugin "./$3.so"; }
head='#include "runtime/abi.h"
int32_t com_example_snake(const wick_call *c)'
bitcode calls <<<"#include <stdio.h>
$head { return puts((char *)c->inputs->data); }"
of 'a call that packages have not' "calls what code in a package cannot: 'puts'" calls
bitcode counts <<<"static int n;
$head { return c->attribute_count == 9 ? n++ : n; }
void more(void) { n++; }"
of 'a variable' "has a variable, for which packages have no place: 'n'" counts
bitcode other <<<'int other(void) { return 0; }'
of 'another function' "does not define 'com_example_snake'" other
printf 'BC garbage' >broken.bc && plugin broken
of 'no bitcode' 'cannot be read: ' broken

cat >all.c <<'C'
#include <math.h>
#include "runtime/abi.h"
#define EACH(X) X(exp) X(log) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) \
  X(asinh) X(atanh) X(tanh) X(erf) X(sqrt) X(floor) X(ceil) X(rint) X(trunc)
#define SUM(g) y += g##f(v) + (float)g((double)v * 0.9);
int32_t com_example_snake(const wick_call *c) {
  const wick_call_tensor *t = c->inputs;
  const float *x = t->data;
  float *out = c->outputs->data;
  int64_t n = 1;
  for (uint32_t i = 0; i < t->rank; i++) n *= t->dims[i];
  for (int64_t i = 0; i < n; i++) {
    float v = 0.1f + 0.8f / (1 + x[i] * x[i]), y = 0;
    EACH(SUM)
    y += acoshf(1 + v) + (float)acosh(1.5 + v) + powf(v, 1.7f) + (float)pow(v, 0.3);
    out[i] = y + fmodf(x[i], v) + (float)fmod(x[i], v);
  }
  return 0;
}
C
cat >whole.c <<'C'
#include "all.c"
#include "compiler/target/plugin.h"
__asm__(".section .rodata\ncode:\n.incbin \"" BITCODE "\"\ncode_end:\n.byte 0\n.previous\n");
extern const char code[] __attribute__((visibility("hidden")));
extern const char code_end[] __attribute__((visibility("hidden")));
static const wk_custom_attr attrs[] = {{.name = "alpha", .kind = WK_CUSTOM_FLOAT, .def = 1}, {0}};
static const wk_custom_op op = {
    .domain = "com.example", .name = "Snake", .doc = "all of them", .min_in = 1, .max_in = 1,
    .min_out = 1, .max_out = 1, .attrs = attrs, .reference = com_example_snake,
    .routine = "com_example_snake", .bitcode = code, .bitcode_end = code_end};
static const wk_custom_op *const ops[] = {&op, 0};
WK_CUSTOM_PLUGIN(ops)
C
for flags in '-O1' '-O2 -fno-math-errno' '-O3 -ffast-math -mavx2'; do
  [[ $flags != *avx2* ]] || grep -q avx2 /proc/cpuinfo || continue
  # shellcheck disable=SC2086 # flags are several
  check "all of <math.h>, $flags" "$clang" $flags -I prefix/include/wick -emit-llvm -c all.c \
    -o all.bc
  check 'a plugin of it' ${CC:-cc} -w -D_GNU_SOURCE -DBITCODE="\"$PWD/all.bc\"" \
    -I prefix/include/wick -fPIC -shared whole.c -o whole.so -lm
  for cpu in x86-64 avx2 ''; do
    [[ $flags != *avx2* || $cpu != x86-64 ]] || continue
    gives "on ${cpu:-this}" '^all 4 instructions agree' \
      "$wick" compare "$net" --plugin ./whole.so ${cpu:+--cpu "$cpu"}
  done
done
bitcode powers <<<"#include <math.h>
$head { *(float *)c->outputs->data = exp2f(*(float *)c->inputs->data); return 0; }"
of 'what becomes a call' "(calls|does) what code in a package cannot:.*'exp2f'" powers
sed 's/"Snake"/"Other"/; s/snake_bitcode/other_bitcode/g' "$example/operator.c" >second.c
check 'another operator' ${CC:-cc} -w -D_GNU_SOURCE -DSNAKE_BITCODE="\"$PWD/calls.bc\"" \
  -I prefix/include/wick -fPIC -shared second.c -o second.so
refuses 'two codes of one routine' 2 'have other bitcode for one routine, com_example_snake' \
  "$wick" run "$net" --plugin $whole --plugin ./second.so --random 1

# ---- models that do not fit the row
changed() { # SED...: the network with something else in it
  sed -E "$@" "$net" >changed.onnxtxt
}
changed 's/name: "alpha" type: FLOAT f: 0.5/name: "beta" type: FLOAT f: 0.5/'
refuses 'another attribute' 4 "attribute 'beta' is not in the plugin's row" \
  "$wick" run changed.onnxtxt "${both[@]}" --random 1
changed 's/type: FLOAT f: 0.5/type: INT i: 1/'
refuses 'another kind' 4 "attribute 'alpha' is not a float, as the plugin's row says" \
  "$wick" run changed.onnxtxt "${both[@]}" --random 1
changed 's/type: FLOAT f: 0.5/type: FLOAT f: 0/'
refuses 'a value that inference refuses' 3 'com.example.Snake: alpha is 0' \
  "$wick" run changed.onnxtxt "${both[@]}" --random 1
changed 's/input: "h" output: "s"/input: "h" input: "x" output: "s"/'
refuses 'another number of inputs' 3 'com.example.Snake takes 1 to 1 inputs, not 2' \
  "$wick" run changed.onnxtxt "${both[@]}" --random 1

# ---- rows that are not whole
spoil() { # NAME SED: the row with something else in it
  sed -E "$2" "$example/operator.c" >"$1.c"
  check "compile $1" ${CC:-cc} -w -D_GNU_SOURCE -I prefix/include/wick -fPIC -shared "$1.c" \
    -o "$1.so"
}
spoil nameless 's/"com.example"/""/'
refuses 'no domain' 3 'nameless.so: custom operator Snake lacks a domain' \
  "$wick" run "$net" --plugin ./nameless.so
spoil undefined 's/ \.reference = reference,//'
refuses 'no reference' 3 'custom operator Snake lacks reference' \
  "$wick" run "$net" --plugin ./undefined.so
spoil dotted 's/com_example_snake/com.example.snake/'
refuses 'no name of C' 3 'custom operator Snake lacks routine, a name of C' \
  "$wick" run "$net" --plugin ./dotted.so
spoil known 's/"com.example"/"com.microsoft"/; s/"Snake"/"Gelu"/'
refuses 'an operator that is there' 2 'there is an operator com.microsoft.Gelu already' \
  "$wick" run "$net" --plugin ./known.so
spoil twice 's/SPDX/&/'
refuses 'two rows of one name' 2 'there is an operator com.example.Snake already' \
  "$wick" run "$net" --plugin out/snake.so --plugin ./twice.so
finish
