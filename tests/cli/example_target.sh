#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples/target is built against an installed Wick and runs networks, by the command and from C.
tests=$(realpath "$(dirname "$0")/..")
source "$(dirname "$0")/lib.bash" "$@"
example=$tests/../examples/target
sanitize=
is_sanitized && sanitize=-fsanitize=address,undefined

# ---- how long it is: lines of C without comments and blank ones
lines=$(for file in "$example"/*.c; do
  ${CC:-cc} -fpreprocessed -dD -E -P "$file" 2>/dev/null
done | grep -c '[^[:space:]]')
((lines > 0 && lines <= 150)) && good || bad "the example has $lines lines"

# ---- installation, and the example against it
check 'install' cmake --install "$(dirname "$wick")" --prefix "$tmp/prefix"
wick=$tmp/prefix/bin/wick
check 'configure' cmake -S "$example" -B out -DCMAKE_PREFIX_PATH="$tmp/prefix" \
  -DCMAKE_C_FLAGS=-Wall\ -Werror
check 'build' cmake --build out
gives 'headers are those that are installed' "^$tmp/prefix/include/wick/compiler/ir/ops.def" \
  bash -c "${CC:-cc} -M -I '$tmp/prefix/include/wick' '$example/target.c' | tr ' ' '\n'"
gives 'it evaluates nothing' '^0$' \
  bash -c "nm -D -u out/plainc.so out/plainc_device.so | grep -cE 'wk_(expr_)?(eval|apply)' || true"
plugins=(--plugin out/plainc.so --plugin out/plainc_device.so)
target=("${plugins[@]}" --target plainc)
gives 'the target is listed' '^plainc +- +plain loops in C' "$wick" targets "${plugins[@]}"

# ---- networks
gives 'float networks' ' 0 failed, 0 skipped' "$wick" test "$tests/nets/float" "${target[@]}"
gives 'quantised networks' ' 0 failed, 0 skipped' "$wick" test "$tests/nets/int8" "${target[@]}"
shared=$tests/../../shared/models
for name in mnist bert_tiny mobilenet_v2_qdq mobilenet_v3_small mnist_qlinear kws_lstm; do
  [[ -d $shared/$name ]] || { echo "note: ../shared/models/$name is not here" && continue; }
  gives "$name" '^1 passed, 0 failed, 0 skipped' "$wick" test "$shared/$name" "${target[@]}"
done

# close_to GOT.npy WANT.npy: as many floats, near each other.
close_to() {
  paste <(od -An -v -tf4 -w4 -j128 "$1") <(od -An -v -tf4 -w4 -j128 "$2") | awk '
    { d = $1 - $2; bad += NF != 2 || (d < 0 ? -d : d) > 1e-4 + 1e-3 * ($2 < 0 ? -$2 : $2) }
    END { exit bad || !NR }'
}
for name in ds_cnn mobilenet_v2; do
  "$wick" zoo $name -o $name.onnx
  for how in eval plainc; do
    check "$name on $how" \
      "$wick" run $name.onnx "${plugins[@]}" --target $how --output-dir $name-$how
  done
  check "$name as the evaluator says" close_to $name-plainc/output.npy $name-eval/output.npy
done
gives 'all of it' 'part 0 on plainc: ' "$wick" compile ds_cnn.onnx "${target[@]}" --print-parts \
  --no-host

refuses 'no C compiler' 5 'the C compiler did not compile what was generated' \
  env CC=false "$wick" compile ds_cnn.onnx "${target[@]}" -o none.wick

net=$tests/nets/float/transformer
npy ids.npy '<i8' 2,11
check 'gathers' "$wick" run "$net/model.onnx" "${target[@]}" --no-host --input ids=ids.npy
flip ids.npy 128
refuses 'an index outside its axis' 3 \
  'cannot handle: Gather_3 \(gather, step 0 of [0-9]+\): an index is outside its axis$' \
  "$wick" run "$net/model.onnx" "${target[@]}" --input ids=ids.npy

# ---- its setting: by name, wherever it stands
cat >level <<'SH'
#!/bin/sh
echo "$1" >>levels
exec cc "$@"
SH
chmod +x level
setting=(env CC=./level "$wick")
check 'as the target has it' "${setting[@]}" compile ds_cnn.onnx "${target[@]}" -o plain.wick
check 'a setting' "${setting[@]}" compile ds_cnn.onnx "${target[@]}" --cc-level 3 -o level.wick
check 'before its plugin' "${setting[@]}" run --cc-level=2 ds_cnn.onnx "${target[@]}"
check 'shortened' "${setting[@]}" compile ds_cnn.onnx --cc 0 "${target[@]}" -o none.wick
check 'by the environment' env WICK_PLUGINS=out/plainc.so:out/plainc_device.so \
  "${setting[@]}" test "$tests/nets/float/cnn" --target plainc --cc-level 3
gives 'they reach the plugin' '^-O1 -O3 -O2 -O0 -O3 $' bash -c "tr '\n' ' ' <levels"
gives 'the package records it' 'target=plainc --cc-level=3$' "$wick" inspect level.wick
refuses 'a value that it has not' 2 "^wick: --cc-level: must be 0, 1, 2 or 3, not 'high'\$" \
  "$wick" compile ds_cnn.onnx "${target[@]}" --cc-level high
refuses 'no value' 2 "^wick: option '--cc-level' needs an argument: N\$" \
  "$wick" compile ds_cnn.onnx "${target[@]}" --cc-level
refuses 'another target' 2 \
  '^wick: --cc-level: target cpu has no such setting \(--target plainc has it\)$' \
  "$wick" compile ds_cnn.onnx "${plugins[@]}" --cc-level 3
refuses 'without the plugin' 2 "^wick: unknown option '--cc-level'" \
  "$wick" compile ds_cnn.onnx --cc-level 3
gives 'it is listed' '^--cc-level +plainc +0 to 3 \(default 1\) +how much the C compiler ' \
  "$wick" targets "${plugins[@]}"
gives 'in the help' '^ +--cc-level=N +how much the C compiler optimises$' \
  "$wick" compile "${plugins[@]}" --help
for text in 'help compile' 'man compile' 'completion bash'; do
  gives "in $text" 'cc.*level' env WICK_PLUGINS=out/plainc.so "$wick" $text
done
gives 'help without a plugin that is not there' '^Usage: ' \
  env WICK_PLUGINS=none.so "$wick" compile --help

compile_plugin() { # FILE.c
  check "compile $1" ${CC:-cc} -w -D_GNU_SOURCE -I prefix/include/wick -fPIC -shared "$1" \
    -o "${1%.c}.so"
}

# ---- one package with parts on two targets: plainc as one that does not gather
no_gather='n->op == WK_OP_GATHER ? "it does not gather" : '
sed "s/reason = wk_inst_c_refusal/reason = $no_gather wk_inst_c_refusal/" \
  "$example/target.c" >half.c
compile_plugin half.c
plugins=(--plugin ./half.so --plugin out/plainc_device.so)
target=("${plugins[@]}" --target plainc)
check 'compile' "$wick" compile "$net/model.onnx" "${target[@]}" -q -o net.wick
check 'the same bytes' bash -c "'$wick' compile '$net/model.onnx' ${target[*]} -q -o again.wick &&
  cmp net.wick again.wick"
gives 'two units' '^unit 1 ' "$wick" inspect net.wick
gives 'without its device' 'device +none here; --plugin' "$wick" inspect net.wick
gives 'its device' '^  device +C, loaded$' "$wick" inspect net.wick --plugin out/plainc_device.so
gives 'its parts' '^  part 1 +plainc, unit 0' "$wick" inspect net.wick
gives 'why' 'gather on cpu, not plainc: it does not gather' \
  "$wick" compile "$net/model.onnx" "${target[@]}" --print-parts
# two parts that share nothing
model "$(field 1 "$(node Relu a y)")$(field 1 "$(node Gather 'd i' z)")" \
  "$(field 11 "$(value a 1 1 4)")$(field 11 "$(value d 1 4)")$(field 11 "$(value i 7 2)")" \
  "$(field 12 "$(value y 1 1 4)")$(field 12 "$(value z 1 2)")" >apart.onnx
check 'parts without edges' "$wick" compile apart.onnx "${target[@]}" -q -o apart.wick
gives 'are listed' '^1 1 0$' bash -c "'$wick' inspect apart.wick | awk '
  /^  part [0-9] +plainc/ { p++ } /^  part [0-9] +cpu/ { c++ } /^  edges/ { e++ }
  END { print p + 0, c + 0, e + 0 }'"
gives 'run' '^v75 f32' "$wick" run net.wick --plugin out/plainc_device.so
gives 'by the environment' '^v75 f32' env WICK_PLUGINS=out/plainc_device.so "$wick" run net.wick
gives 'its steps' '^ *[0-9]+ +Add_75 +2.64 k +.*matmul\(@out %v75\[2,11,5\]:f32' \
  "$wick" inspect net.wick --steps
refuses 'no device' 4 "net.wick: .*part 1 needs target 'plainc'" "$wick" run net.wick
refuses 'no device, a model' 4 "target 'plainc'" \
  "$wick" run "$net/model.onnx" --plugin ./half.so --target plainc
refuses 'no target' 2 "no target 'plainc'" \
  "$wick" run "$net/model.onnx" --plugin out/plainc_device.so --target plainc
at=$("$wick" inspect net.wick | sed -n 's/^section object of unit 0 .* at \([0-9]*\),.*/\1/p')
cp net.wick flipped.wick
flip flipped.wick $((at + 5000))
refuses 'a flipped byte' 3 'flipped.wick: .*checksum of section [0-9]+ \(object of unit 0\)' \
  "$wick" run flipped.wick --plugin out/plainc_device.so

no_room='snprintf(error->text, 99, "no room"); return WICK_DEVICE_FAILED;'
sed "s/^  const plainc \*u = loaded;/&\n  $no_room/" "$example/device.c" >full.c
check 'a device without room' ${CC:-cc} -w -D_GNU_SOURCE -I prefix/include/wick -fPIC -shared \
  full.c -o full.so
refuses 'it is not opened' 5 "net.wick: the device failed: part 1, target 'plainc': no room\$" \
  "$wick" run net.wick --plugin ./full.so
sed "s/^  if (c->run(.*/  ${no_room/room/power}/" "$example/device.c" >weak.c
check 'a device without power' ${CC:-cc} -w -D_GNU_SOURCE -I prefix/include/wick -fPIC -shared \
  weak.c -o weak.so
refuses 'it does not run' 5 "the device failed: part 1, target 'plainc': no power\$" \
  "$wick" run net.wick --plugin ./weak.so

# ---- steps: times of them, and what they leave
gives 'the profile of a package' '^[0-9.]+ +[0-9.]+ +[0-9.]+ +matmul +Add_75 +matmul\(' \
  "$wick" run net.wick --plugin out/plainc_device.so --profile
gives 'of both targets' '^[0-9.]+ +[0-9.]+ +- +gather +Gather_3 ' \
  "$wick" run net.wick --plugin out/plainc_device.so --profile
gives 'the profile of a model' ' conv +all$' \
  "$wick" run ds_cnn.onnx "${target[@]}" --no-host --profile
# dumps NET HOW LEAST: tensors of the model that are left on plainc are the evaluator's, LEAST of
# them at least; HOW says whether two files are the same. Names of the compiler's own begin with _.
dumps() {
  local net=$1 how=$2 least=$3 common=0 file
  mkdir -p "$net"
  check "dump of $net" \
    "$wick" run "$tests/nets/$net/model.onnx" "${target[@]}" --dump-tensors "$net/plainc"
  check "dump of $net, evaluator" \
    "$wick" run "$tests/nets/$net/model.onnx" --target eval --dump-tensors "$net/eval"
  for file in "$net"/plainc/[^_]*; do
    [[ -f $net/eval/${file##*/} ]] || continue
    ((++common))
    $how "$file" "$net/eval/${file##*/}" && good || bad "$net: ${file##*/} differs"
  done
  ((common >= least)) && good || bad "$net: $common tensors are the evaluator's"
}
dumps float/cnn close_to 10
dumps float/transformer close_to 10
dumps int8/cnn_qlinear 'cmp -s' 30
dumps int8/transformer_qdq 'cmp -s' 20

# ---- compare: part by part, with a C compiler that takes one function for another
sed_cc() {
  printf '#!/bin/sh\nsed "s/%s/%s/g" | %s "$@"\n' "$1" "$2" "${CC:-cc}" >wrong && chmod +x wrong
}
gives 'parts agree' '^all 2 parts agree' "$wick" compare "$net/model.onnx" "${target[@]}"
gives 'each of them' '^ok   part 1 on plainc: output v75' \
  "$wick" compare "$net/model.onnx" "${target[@]}" -v
gives 'the host by instructions' '^ok   Gather_3 \(part 0 on cpu, instruction 0, gather\)' \
  "$wick" compare "$net/model.onnx" "${target[@]}" -v
for name in float/lstm int8/unet_qdq; do
  gives "parts of $name" '^all [0-9]+ parts agree' \
    "$wick" compare "$tests/nets/$name/model.onnx" "${target[@]}"
done
gives 'without a host' '^the one part agrees$' \
  "$wick" compare "$tests/nets/float/cnn/model.onnx" "${target[@]}" --no-host
sed_cc 'WK_F32(erf)(' 'WK_F32(tanh)('
refuses_to_agree() { # what standard output says; status 1
  local what=$1 pattern=$2 out
  shift 2
  out=$("$@" 2>/dev/null)
  (($? == 1)) && grep -qE "$pattern" <<<"$out" && good || bad "$what: $out"
}
refuses_to_agree 'a wrong part' '^first part 1 on plainc: output v75: ' \
  env CC=./wrong "$wick" compare "$net/model.onnx" "${target[@]}"
refuses_to_agree 'its first wrong instruction' \
  '^     first Add_30 \(part 1 on plainc, instruction 20, matmul\)' \
  env CC=./wrong "$wick" compare "$net/model.onnx" "${target[@]}"
refuses_to_agree 'how many' '^1 of 2 parts differ$' \
  env CC=./wrong "$wick" compare "$net/model.onnx" "${target[@]}"
sed_cc 'arena + 2112 ' 'arena + 0 '
refuses_to_agree 'wrong memory' '^     its instructions agree one by one, but not together$' \
  env CC=./wrong "$wick" compare "$net/model.onnx" "${target[@]}"
sed_cc '(wk_u64)m + half' '(wk_u64)(m + m \/ 8) + half'
refuses_to_agree 'a wrong quantised network' '; 0 of 11 parts for plainc and 10 of 10 for cpu' \
  env CC=./wrong "$wick" test "$tests/nets/int8/cnn_qdq" "${target[@]}"

# ---- three targets: one that leaves products to another one, and the host
no_products='n->op == WK_OP_MATMUL ? "it multiplies no matrices" : '
sed "s/reason = $no_gather/&$no_products/" half.c >first.c
sed 's/"plainc"/"other"/' half.c >other.c
sed 's/"plainc"/"other"/' "$example/device.c" >other_device.c
for file in first.c other.c other_device.c; do compile_plugin $file; done
three=(--plugin ./first.so --plugin ./other.so --plugin out/plainc_device.so
       --plugin ./other_device.so --target plainc,other)
gives 'who has products' 'matmul on other, not plainc: it multiplies no matrices' \
  "$wick" compile "$net/model.onnx" "${three[@]}" --print-parts
gives 'three targets' '^1 passed, 0 failed' "$wick" test "$net" "${three[@]}"
gives 'they agree' '^all [0-9]+ parts agree' "$wick" compare "$net/model.onnx" "${three[@]}"
for on in plainc other cpu; do
  gives "parts on $on" "^ok .*part [0-9]+ on $on" \
    "$wick" compare "$net/model.onnx" "${three[@]}" -v
done
sed_cc 'WK_F32(sqrt)(' 'WK_F32(cbrt)('
refuses_to_agree 'the wrong one of three' '^first part [0-9]+ on plainc: output ' \
  env CC=./wrong "$wick" compare "$net/model.onnx" "${three[@]}"

# ---- from C: two sessions at once, in two threads, against a third one
cat >main.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/device.h"
enum { RUNS = 50 };
static wick_model *model;
static void *buffer(size_t bytes) { return calloc(1, bytes + 1); }
static void *run(void *seed) {
  wick_session *s;
  if (wick_session_create(model, 0, 1, &s)) return NULL;
  const wick_entry_info *e = wick_session_entry(s);
  int64_t *ids = buffer(e->inputs[0].bytes);
  float *mask = buffer(e->inputs[1].bytes), *y = buffer(e->outputs[0].bytes);
  for (int k = 0; k < 22; k++) ids[k] = (k + *(int *)seed) % 4, mask[k] = 1;
  for (int k = 0; k < RUNS; k++)
    if (wick_session_run(s, (const void *[]){ids, mask}, (void *[]){y})) return NULL;
  wick_session_free(s);
  free(ids), free(mask);
  return y;
}
int main(int argc, char **argv) {
  int seeds[] = {1, 2};
  wick_error_detail why = {""};
  float *got[2], *want[2];
  pthread_t thread[2];
  wick_status s = argc > 2 ? 0 : wick_device_register(wick_device_plugin());
  const wick_load_options options = {.size = sizeof options, .detail = &why};
  if (!s) s = wick_model_load(argv[1], &options, &model);
  if (s) return printf("%s: %s\n", wick_status_text(s), why.text), 1;
  size_t bytes = wick_model_entry(model, 0)->outputs[0].bytes;
  for (int k = 0; k < 2; k++) want[k] = run(&seeds[k]);
  for (int k = 0; k < 2; k++) pthread_create(&thread[k], NULL, run, &seeds[k]);
  for (int k = 0; k < 2; k++) pthread_join(thread[k], (void **)&got[k]);
  for (int k = 0; k < 2; k++)
    if (!got[k] || !want[k] || memcmp(got[k], want[k], bytes)) return puts("differ"), 1;
  puts(memcmp(got[0], got[1], bytes) ? "same" : "no input was looked at");
  for (int k = 0; k < 2; k++) free(got[k]), free(want[k]);
  wick_model_free(model);
  return 0;
}
C
pc=$(find prefix -name wick.pc -printf '%h')
export PKG_CONFIG_PATH=$tmp/$pc LD_LIBRARY_PATH=$tmp/$(dirname "$pc"):$tmp/out
flags=$(pkg-config --cflags --libs wick)
check 'a program' ${CC:-cc} $sanitize main.c out/plainc_device.so $flags -lpthread -o main
gives 'two sessions at once' '^same$' ./main net.wick
cat >models.c <<'C'
#include <stdio.h>
#include <string.h>
#include "runtime/device.h"
int main(int argc, char **argv) {
  _Alignas(64) static float x[1 << 12], got[2][1 << 12], want[2][1 << 12];
  wick_model *model[2];
  wick_session *session;
  size_t bytes[2];
  if (argc != 3 || wick_device_register(wick_device_plugin())) return 1;
  for (int together = 0; together < 2; together++) {
    for (int k = 0; k < 2; k++) {
      if (wick_model_load(argv[1 + k], NULL, &model[k])) return puts("not loaded"), 1;
      if (k == 0 && together) continue;
      for (int j = together ? 0 : k; j <= k; j++) {
        bytes[j] = wick_model_entry(model[j], 0)->outputs[0].bytes;
        if (bytes[j] > sizeof *got || wick_session_create(model[j], 0, 1, &session)) return 1;
        if (wick_session_run(session, (const void *[]){x}, (void *[]){together ? got[j] : want[j]}))
          return 1;
        wick_session_free(session);
      }
      if (!together) wick_model_free(model[k]);
    }
  }
  puts(memcmp(got[0], want[0], bytes[0]) || memcmp(got[1], want[1], bytes[1]) ? "differ" : "same");
  for (int k = 0; k < 2; k++) wick_model_free(model[k]);
  return 0;
}
C
for name in cnn residual; do
  check "compile $name" \
    "$wick" compile "$tests/nets/float/$name/model.onnx" "${target[@]}" -q -o $name.wick
done
check 'another program' ${CC:-cc} $sanitize models.c out/plainc_device.so $flags -o models
gives 'two models at once' '^same$' ./models cnn.wick residual.wick
gives 'the static library' '^same$' bash -c "${CC:-cc} $sanitize main.c $example/device.c \
  -D_GNU_SOURCE ${flags/-lwick/-l:libwick.a} -lpthread -lm -ldl -o static && ./static net.wick"
gives 'without its device' "needs target 'plainc'" bash -c './main net.wick none || true'
gives 'a flipped byte' 'checksum' bash -c './main flipped.wick || true'
finish
