#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The compiler as a library: examples/compile, built with an installed Wick, makes what the command
# makes and says what it says; two threads compile at once. With the command of a build with
# WICK_SANITIZE=thread, ThreadSanitizer watches them.
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/lib.bash" "$@"
build=$(dirname "$wick") nets=$root/tests/nets
flags=()
is_sanitized && flags=(-fsanitize=address,undefined)
has_thread_sanitizer && flags=(-fsanitize=thread)

check 'install' cmake --install "$build" --prefix "$tmp/prefix"
check 'configure' cmake -S "$root/examples/compile" -B example -DCMAKE_PREFIX_PATH="$tmp/prefix" \
  -DCMAKE_C_FLAGS="${flags[*]}"
check 'build' cmake --build example
export LD_LIBRARY_PATH=$tmp/prefix/lib TMPDIR=$tmp/temporary
mkdir temporary

cnn=$nets/int8/cnn_qdq/model.onnx
gives 'compile, load, run' '^cnn_qdq.wick: [0-9]+ bytes$' example/compile "$cnn"
gives 'an output' '^[^ ]+: [0-9]+ bytes, [0-9]+ of them not 0$' example/compile "$cnn" cpu=x86-64
# says NAME STATUS PATTERN COMMAND...
says() {
  local name=$1 want=$2 pattern=$3 status=0 out
  shift 3
  out=$("$@" 2>&1 >/dev/null) || status=$?
  [[ $status == "$want" ]] && grep -qE -- "$pattern" <<<"$out" && good || bad "$name: $status: $out"
}
says 'an option that is none' 2 "^there is no option 'targt'; did you mean 'target'\\?$" \
  example/compile "$cnn" targt=cpu
says 'a model that is none' 5 '^none.onnx: cannot open: ' example/compile none.onnx
says 'a target that is none' 2 "^--target: no target 'gpu'" example/compile "$cnn" target=gpu
says 'a flag with a value' 2 "^option 'no-host' takes no value$" example/compile "$cnn" no-host=yes
says 'a model in memory that is none' 3 '^model.onnx: ' bash -c "cat >none.c <<<'
#include <stdio.h>
#include \"wick_compile.h\"
int main(void) {
  wick_compiler *c = wick_compiler_new_memory(\"model.onnx\", NULL, 0);
  int code = wick_compiler_run(c);
  const wick_compile_message *m = wick_compiler_message(c, 0);
  fprintf(stderr, \"%s: %s\\n\", m->place, m->text);
  wick_compiler_free(c);
  return code;
}'; cc ${flags[*]} none.c -I$tmp/prefix/include/wick/compiler/compile -L$tmp/prefix/lib -lwickc \
  -o none && ./none"
says 'a note' 0 '^.*cnn/model.onnx: is a float model, and accel computes in integers: ' \
  example/compile "$nets/float/cnn/model.onnx" target=accel

# ---- the same bytes, from a file and from memory, in two threads
cat >threads.c <<'EOS'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "wick_compile.h"
enum { TIMES = 3 };
static char *models[2]; /* target and path of each */
static void *data[2];
static size_t sizes[2];
static void put(const char *name, const wick_compile_output *y) {
  char path[64];
  snprintf(path, sizeof path, "%s.%s", name, y->name);
  FILE *f = fopen(path, "wb");
  fwrite(y->data, 1, y->bytes, f);
  fclose(f);
}
static void *compile(void *arg) {
  long k = (long)arg;
  for (int i = 0; i < TIMES; i++) {
    wick_compiler *c = i % 2 ? wick_compiler_new_memory("model.onnx", data[k], sizes[k])
                             : wick_compiler_new(models[k]);
    int code = wick_compiler_set(c, "cpu", "x86-64");
    if (!code && k) code = wick_compiler_set(c, "target", "accel:tiny");
    if (!code && k) code = wick_compiler_set(c, "quantize-random", "1");
    if (!code && i == 2) code = wick_compiler_set(c, "emit", k ? "graph" : "bundle");
    if (!code) code = wick_compiler_run(c);
    const wick_compile_message *m;
    for (size_t n = 0; (m = wick_compiler_message(c, n)); n++)
      if (m->code) fprintf(stderr, "%ld %d: %s: %s\n", k, i, m->place ? m->place : "", m->text);
    char name[16];
    snprintf(name, sizeof name, "%ld%d", k, i);
    const wick_compile_output *y;
    for (size_t n = 0; !code && (y = wick_compiler_output(c, n)); n++) put(name, y);
    if (!code && !strstr(wick_compiler_report(c), "\"bindings\"")) code = 1;
    wick_compiler_free(c);
    if (code) exit(code);
  }
  return NULL;
}
int main(int argc, char **argv) {
  pthread_t t[2];
  for (long k = 0; k < 2 && argc > 2; k++) {
    models[k] = argv[k + 1];
    FILE *f = fopen(models[k], "rb");
    fseek(f, 0, SEEK_END);
    sizes[k] = (size_t)ftell(f);
    rewind(f);
    data[k] = malloc(sizes[k]);
    if (fread(data[k], 1, sizes[k], f) != sizes[k]) return 9;
    fclose(f);
  }
  for (long k = 0; k < 2; k++) pthread_create(&t[k], NULL, compile, (void *)k);
  for (int k = 0; k < 2; k++) pthread_join(t[k], NULL);
  return 0;
}
EOS
float=$nets/float/cnn/model.onnx
check 'a program with threads' cc "${flags[@]}" -o threads threads.c \
  -I"$tmp/prefix/include/wick/compiler/compile" -L"$tmp/prefix/lib" -lwickc -lpthread
check 'two threads' ./threads "$cnn" "$float"
"$wick" compile "$cnn" --cpu x86-64 -q -o cnn.wick
"$wick" compile "$cnn" --cpu x86-64 --emit bundle -q -o cnn_qdq.o
"$wick" compile "$float" --cpu x86-64 --target accel:tiny --quantize-random 1 -q -o float.wick
"$wick" compile "$float" --cpu x86-64 --target accel:tiny --quantize-random 1 --emit graph -q \
  -o graph
check 'the bytes of the command, from a file' cmp 00.cnn_qdq.wick cnn.wick
check 'another target' cmp 10.cnn.wick float.wick
check 'a text' cmp 12.graph graph
for part in o h weights; do check "a bundle, .$part" cmp "02.cnn_qdq.$part" "cnn_qdq.$part"; done
for k in 0 1; do
  models=("$cnn" "$float")
  options=(--cpu x86-64)
  ((k)) && options+=(--target accel:tiny --quantize-random 1)
  cp "${models[k]}" model.onnx
  "$wick" compile model.onnx "${options[@]}" -q -o model.wick
  check "the same from memory, $k" cmp "${k}1.model.wick" model.wick
done

# ---- in a program whose numbers have commas: a locale of nothing else
{
  echo CHARMAP
  for ((i = 0; i < 128; i++)); do printf '<U%04X> \\x%02x -\n' $i $i; done
  echo 'END CHARMAP'
} >charmap
printf 'LC_NUMERIC\ndecimal_point "<U002C>"\nthousands_sep ""\ngrouping -1\nEND LC_NUMERIC\n' >comma
localedef -c -f ./charmap -i ./comma ./xx_XX >/dev/null 2>&1 # warns of what it lacks
cat >locale.c <<'EOS'
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include "wick_compile.h"
int main(int argc, char **argv) {
  if (!setlocale(LC_ALL, "") || *localeconv()->decimal_point != ',') return 9;
  wick_compiler *c = wick_compiler_new(argv[1]);
  for (int i = 2; i + 1 < argc; i += 2) wick_compiler_set(c, argv[i], argv[i + 1]);
  int code = wick_compiler_run(c);
  const wick_compile_output *y = wick_compiler_output(c, 0);
  if (y) fwrite(y->data, 1, y->bytes, stdout);
  fputs(code ? wick_compiler_message(c, 0)->text : wick_compiler_report(c), stderr);
  wick_compiler_free(c);
  return *localeconv()->decimal_point == ',' ? code : 9;
}
EOS
check 'a program with a locale' cc "${flags[@]}" -o locale locale.c \
  -I"$tmp/prefix/include/wick/compiler/compile" -L"$tmp/prefix/lib" -lwickc
cat >leaky.onnxtxt <<'EOS'
ir_version: 8 opset_import { version: 17 } graph { name: "g"
input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
node { op_type: "LeakyRelu" input: "x" output: "y"
       attribute { name: "alpha" type: FLOAT f: 0.3 } }
output { name: "y" type { tensor_type { elem_type: 1 } } } }
EOS
figures() { sed '1,/"output_bytes"/d; /[0-9]\.[0-9e-]*,*$/s/[0-9.e-]*,*$/TIME/' "$1"; }
with_commas() { # MODEL OPTION VALUE...
  local model=$1 words=()
  shift
  for ((i = 1; i <= $#; i += 2)); do words+=("--${!i}" "${@:i + 1:1}"); done
  "$wick" compile "$model" --cpu x86-64 "${words[@]}" -q -o want --report want.json
  LOCPATH=$tmp LC_ALL=xx_XX ./locale "$model" cpu x86-64 "$@" >got 2>got.json ||
    echo "status $?" >got
  check "with commas, $model $*" cmp got want
  check "a report with commas, $model $*" diff <(figures got.json) <(figures want.json)
}
with_commas leaky.onnxtxt emit graph
with_commas leaky.onnxtxt emit package
with_commas "$float" emit program
with_commas "$float" target accel:tiny quantize-random 1

# ---- targets in plugins
check 'configure a target' cmake -S "$root/examples/target" -B out \
  -DCMAKE_PREFIX_PATH="$tmp/prefix" -DCMAKE_C_FLAGS="${flags[*]}"
check 'build a target' cmake --build out
with_commas "$float" plugin out/plainc.so target plainc
says 'the environment names none' 2 "^--target: no target 'plainc'" \
  env WICK_PLUGINS=out/plainc.so example/compile "$cnn" target=plainc
says 'a plugin that is none' 5 '^plugin none.so: No such file' example/compile "$cnn" plugin=none.so

# ---- where memory runs out, which the sanitizers' allocators do not let happen
cat >memory.c <<'EOS'
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "wick_compile.h"
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
static long attempts, fails_at; /* this one and all after it; 0: none */
static int fails(void) {
  errno = ENOMEM;
  return ++attempts >= fails_at && fails_at;
}
void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return fails() ? NULL : __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return fails() ? NULL : __libc_realloc(p, n); }
void *aligned_alloc(size_t a, size_t n) { return fails() ? NULL : __libc_memalign(a, n); }
static jmp_buf out;
static const char *said;
static void end(void *ctx, const char *why) {
  fails_at = 0;
  said = why;
  longjmp(*(jmp_buf *)ctx, 1);
}
/* How many attempts there were, or that it ended as it should: 0; or not: -1. */
static long compile(const char *model, long at) {
  wick_compiler *c = wick_compiler_new(model);
  wick_compiler_on_end(c, end, &out);
  wick_compiler_set(c, "cpu", "x86-64");
  if (setjmp(out)) return strcmp(said, "out of memory") ? -1 : 0;
  attempts = 0;
  fails_at = at;
  int code = wick_compiler_run(c);
  long n = attempts;
  fails_at = 0;
  int good = at ? code == WICK_COMPILE_RESOURCE : !code && wick_compiler_output(c, 0);
  wick_compiler_free(c);
  return good ? n : -1;
}
int main(int argc, char **argv) {
  enum { TRIES = 40 };
  locale_t own = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
  uselocale(own);
  compile(argv[1], 0); /* what is made once for the process */
  long n = compile(argv[1], 0), bad = n < 0;
  for (long k = 0; k < TRIES; k++) {
    if (compile(argv[1], 1 + k * (n - 1) / TRIES) < 0) bad++;
    if (uselocale((locale_t)0) != own) bad++;
  }
  printf("%ld wrong\n", bad);
  return bad || compile(argv[1], 0) < 0;
}
EOS
if ((${#flags[@]} == 0)); then
  check 'a program without memory' cc -o memory memory.c \
    -I"$tmp/prefix/include/wick/compiler/compile" -L"$tmp/prefix/lib" -lwickc
  mkdir lost
  gives 'it ends where it says' '^0 wrong$' env TMPDIR="$tmp/lost" timeout 300 ./memory "$float"
fi
check 'nothing is left in TMPDIR' test -z "$(find "$TMPDIR" -maxdepth 1 -name 'wick-*')"
finish
