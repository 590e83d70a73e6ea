#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whose packages are run: wick verify, wick sign, what wick run refuses, and folders of built models
# that are not ours alone. Programs against an installed Wick do the same.
source "$(dirname "$0")/lib.bash" "$@"
build=$(dirname "$wick")
umask 022

"$wick" zoo ds_cnn -o net.onnx
check 'a package' "$wick" compile net.onnx --cpu x86-64-v2 -o net.wick
check 'another one' "$wick" compile net.onnx --cpu x86-64-v3 -o other.wick
check 'one without native code' "$build/accel_package" accel.wick
head -c 5000 net.wick >cut.wick
cp net.wick changed.wick
printf 'X' | dd of=changed.wick bs=1 seek=9000 conv=notrunc status=none

# ---- verify: nothing is run, and packages of other machines are looked at
gives 'verify: sound' '^structure +sound$' "$wick" verify net.wick
gives 'verify: who says so' '^compiler +wick [0-9.]+, as the file says$' "$wick" verify net.wick
gives 'verify: native code' '^native code +yes: it is not verified$' "$wick" verify net.wick
gives 'verify: none' '^native code +none$' "$wick" verify accel.wick
gives 'verify: sections' '^CODE +0 +[0-9]+ +[0-9a-f]{8}' "$wick" verify net.wick
gives 'verify: as JSON' '^  "native_code": true,$' "$wick" verify net.wick --json
gives 'verify: sections as JSON' '^      "name": "commands",$' "$wick" verify accel.wick --json
refuses 'verify: cut' 3 '^wick: cut.wick: package is damaged: ' "$wick" verify cut.wick
refuses 'verify: changed' 3 'checksum of section [0-9]+ \([A-Z]+\) differs$' \
  "$wick" verify changed.wick
refuses 'verify: a model' 3 '^wick: net.onnx: not a package$' "$wick" verify net.onnx
truncate -s 64G sparse.wick
refuses 'verify: a large file of something else' 3 '^wick: sparse.wick: not a package$' \
  "$wick" verify sparse.wick
cp net.wick long.wick
truncate -s 64G long.wick
refuses 'verify: longer than its header says' 3 \
  '^wick: long.wick: package is damaged: 68719476736 bytes long, should be [0-9]+$' \
  "$wick" verify long.wick --memory-limit 1MiB
check 'verify: enough memory' "$wick" verify net.wick --memory-limit 64MiB
refuses 'verify: too much memory' 6 'asks for [0-9]+ bytes of memory; 10240 are the most' \
  "$wick" verify net.wick --memory-limit 10KiB
refuses 'verify: no size' 2 "--memory-limit zebra: a size is expected" \
  "$wick" verify net.wick --memory-limit zebra
refuses 'verify: nothing' 5 'No such file' "$wick" verify nothing.wick
refuses 'verify: a folder' 5 'not a regular file' "$wick" verify .

# ---- run: what a package may do
check 'run: without native code' "$wick" run accel.wick --no-native-code
refuses 'run: native code' 1 "unit 0, target 'cpu', brings native code" \
  "$wick" run net.wick --no-native-code
check 'run: enough memory' "$wick" run net.wick --memory-limit 64MiB
refuses 'run: too much memory' 6 'asks for [0-9]+ bytes of memory; 10240 are the most' \
  "$wick" run net.wick --memory-limit 10KiB
model "$(field 1 "$(node Relu x y)")" "$(field 11 "$(value x 1 n)")" \
  "$(field 12 "$(value y 1 n)")" >relu.onnx
check 'large inputs' "$wick" compile relu.onnx --cpu x86-64-v2 --bind n=1048576 -o large.wick
check 'larger ones' "$wick" compile relu.onnx --cpu x86-64-v2 --bind n=$((1 << 40)) -o huge.wick
check 'run: inputs and outputs' "$wick" run large.wick --memory-limit 8MiB
refuses 'run: too much of them' 6 \
  'large.wick: out of memory: inputs and outputs ask for 8388608 bytes of memory; 8388607 are' \
  "$wick" run large.wick --memory-limit 8388607
refuses 'run: more than the machine has' 6 'inputs and outputs ask for 8796093022208 bytes' \
  "$wick" run huge.wick
refuses 'run: and of a model' 6 'inputs and outputs ask for 8796093022208 bytes' \
  "$wick" run relu.onnx --bind n=$((1 << 40))
refuses 'run: and when it is evaluated' 6 'inputs and outputs ask for 8796093022208 bytes' \
  "$wick" run relu.onnx --bind n=$((1 << 40)) --target eval
refuses 'run: no size' 2 "--memory-limit zebra: a size is expected" \
  "$wick" run net.wick --memory-limit zebra
refuses 'run: a model' 2 'is a model: --no-native-code is for packages$' \
  "$wick" run net.onnx --no-native-code

# ---- keys and signatures
if ! "$wick" sign --make-key maker 2>sign.err; then
  check 'sign: built without libsodium' grep -q 'built without libsodium' sign.err
  refuses 'verify: built without libsodium' 4 'built without libsodium' \
    "$wick" verify net.wick --key maker.pub
  echo 'note: signatures are not tested: there is no libsodium'
else
  has_keys=1
  gives 'the secret key is ours alone' '^600$' stat -c %a maker.key
  refuses 'a key is not written over' 5 'maker.key: cannot write: File exists' \
    "$wick" sign --make-key maker
  check 'sign' "$wick" sign net.wick --key maker.key
  gives 'the signature is a line' '^wick-signature ed25519 [0-9a-f]{128}$' cat net.wick.sig
  gives 'verify: it is good' '^signature +good$' "$wick" verify net.wick --key maker.pub
  gives 'verify: as JSON' '^  "signature": "good",$' "$wick" verify net.wick --key maker.pub --json
  check 'run: it is good' "$wick" run net.wick --key maker.pub
  for name in other changed; do
    refuses "verify: $name" 1 'the signature is of another package, or made with another key$' \
      "$wick" verify $name.wick --key maker.pub --signature net.wick.sig
    refuses "run: $name" 1 'the signature is of another package, or made with another key$' \
      "$wick" run $name.wick --key maker.pub --signature net.wick.sig
  done
  check 'another key' "$wick" sign --make-key thief
  refuses 'verify: with another key' 1 'made with another key$' \
    "$wick" verify net.wick --key thief.pub
  cat thief.pub maker.pub >both.pub
  gives 'verify: any of several keys' '^signature +good$' "$wick" verify net.wick --key both.pub
  check 'sign: the accelerator' "$wick" sign accel.wick --key maker.key -o here.sig
  check 'run: the accelerator' "$wick" run accel.wick --key maker.pub --signature here.sig \
    --no-native-code
  refuses 'sign: damaged' 3 'package is damaged' "$wick" sign changed.wick --key maker.key
  cat >nowhere.s <<'EOS'
.machine tiny
.memory x 0x1000 64
.memory y 0x2000 64
.output y
a: ld.ld0 dram=0x9000 n0=64 spm=0 c0=64 op=1
   st dram=y n0=64 spm=0 c0=64 op=1 wait a
end
EOS
  check 'a package that reads elsewhere' "$build/accel_package" nowhere.wick nowhere.s
  refuses 'verify: it' 3 'section segments: of command 0' "$wick" verify nowhere.wick
  refuses 'sign: it' 3 'section segments: of command 0' "$wick" sign nowhere.wick --key maker.key
  check 'sign: nothing is written' test ! -e nowhere.wick.sig
  refuses 'sign: with a public key' 3 "maker.pub: line 1: no 'wick-secret-key" \
    "$wick" sign net.wick --key maker.pub
  refuses 'no signature' 5 'other.wick.sig: No such file' "$wick" run other.wick --key maker.pub
  refuses 'no key' 5 'gone.pub: No such file' "$wick" run net.wick --key gone.pub
  sed 's/.$//' maker.pub >short.pub
  refuses 'half a key' 3 "short.pub: line 1: no 'wick-public-key ed25519 …' with 64 digits" \
    "$wick" run net.wick --key short.pub
  # Files as people and editors of other systems make them.
  { printf '# who makes it\r\n\r\n' && sed 's/$/\r/' thief.pub && printf '\n# and\n' &&
    tr -d '\n' <maker.pub; } >edited.pub
  sed 's/$/  \r/' net.wick.sig >edited.sig
  gives 'verify: an edited file of keys' '^signature +good$' \
    "$wick" verify net.wick --key edited.pub --signature edited.sig
  (for i in {1..15}; do cat thief.pub; done && cat maker.pub) >most.pub
  gives 'verify: sixteen keys' '^signature +good$' "$wick" verify net.wick --key most.pub
  cat most.pub maker.pub >many.pub
  refuses 'verify: seventeen' 3 "many.pub: line 17: more than 16 'wick-public-key'$" \
    "$wick" verify net.wick --key many.pub
  (cat both.pub && echo what) >wrong.pub
  refuses 'a line of something else' 3 "wrong.pub: line 3: no 'wick-public-key" \
    "$wick" verify net.wick --key wrong.pub
  echo '# none' >none.pub
  refuses 'no keys' 3 "none.pub: no line 'wick-public-key" "$wick" verify net.wick --key none.pub
  (cat maker.pub && printf '\0') >binary.pub
  refuses 'no text' 3 'binary.pub: not a text$' "$wick" verify net.wick --key binary.pub
  (cat maker.pub && yes '#' | head -n 9000) >long.pub
  refuses 'too long' 3 'long.pub: too long for a file of keys$' \
    "$wick" verify net.wick --key long.pub
  refuses 'a signature without a key' 2 'goes with --key' \
    "$wick" run net.wick --signature net.wick.sig
  refuses 'sign: with what' 2 "'wick sign --make-key NAME' makes one" "$wick" sign net.wick
  refuses 'sign: what' 2 'a package to sign, or --make-key' "$wick" sign --key maker.key
  refuses 'sign: both' 2 'goes with nothing else' "$wick" sign net.wick --make-key x
fi

# ---- built models: the folder is ours alone
stream_of_copies >copies.s
mkdir shared ours others
chmod 777 shared
ln -s ours link
cannot() { # NAME FOLDER PATTERN
  refuses "$1" 5 "$2: the folder of built models is not used: $3; set WICK_CACHE" \
    env WICK_CACHE="$PWD/$2" "$wick" sim copies.s --model rtl
}
cannot 'everybody writes it' shared 'others may write it'
chmod 770 shared
cannot 'a group writes it' shared 'others may write it'
cannot 'a link' link 'it is a symbolic link'
if ((EUID == 0)); then
  chown 12345 others
  cannot "somebody else's" others 'it belongs to another user'
fi

# ---- programs against an installed Wick
if is_sanitized; then
  echo 'note: C programs with libraries are tried without sanitizers'
  finish
fi
check 'install' cmake --install "$build" --prefix "$tmp/prefix"
mkdir program
cat >program/CMakeLists.txt <<'EOS'
cmake_minimum_required(VERSION 3.16)
project(program LANGUAGES C)
find_package(Wick REQUIRED)
add_executable(models models.c)
target_link_libraries(models Wick::accel)
if(TARGET Wick::verify)
  add_executable(keys keys.c)
  target_link_libraries(keys Wick::verify)
endif()
EOS
cat >program/models.c <<'EOS'
#include <stdio.h>
#include <string.h>
#include "sim/accel.h"
static _Alignas(64) char in[8192], out[8192];
/* What the layers of the accelerator take, in the model's time. */
static int run(const char *path) {
  wick_error_detail why;
  wick_model *model;
  wick_session *session;
  wick_step_profile profile[256] = {{0}};
  unsigned long long sum = 0;
  const wick_load_options options = {.size = sizeof options, .detail = &why};
  if (wick_model_load(path, &options, &model) != WICK_OK) return puts(why.text), 2;
  if (wick_session_create(model, 0, 1, &session) != WICK_OK) return 3;
  const wick_entry_info *e = wick_session_entry(session);
  if (e->inputs[0].bytes > sizeof in || e->outputs[0].bytes > sizeof out) return 4;
  if (e->step_count > 256) return 5;
  if (wick_session_run_profiled(session, (const void *[]){in}, (void *[]){out}, profile)) return 6;
  for (uint32_t i = 0, step = 0; i < e->part_count; step += e->parts[i++]->step_count)
    for (uint32_t k = 0; k < e->parts[i]->step_count; k++)
      if (!strcmp(e->parts[i]->target, "accel")) sum += profile[step + k].nanoseconds;
  printf("%llu ns\n", sum);
  wick_session_free(session);
  wick_model_free(model);
  return 0;
}
int main(int argc, char **argv) {
  const wick_accel_options slow = {sizeof slow, WICK_ACCEL_TIMING, "latency=5000"};
  const wick_accel_options fast = {sizeof fast, WICK_ACCEL_TIMING, NULL},
                           wrong = {sizeof wrong, WICK_ACCEL_TIMING, "size=a"};
  wick_error_detail why;
  if (argc < 2 || wick_device_register(wick_device_plugin()) != WICK_OK) return 1;
  if (wick_accel_configure(&slow, &why) != WICK_OK || run(argv[1])) return 1;
  if (wick_accel_configure(&fast, NULL) != WICK_OK || run(argv[1]) || run(argv[1])) return 1;
  if (wick_accel_configure(&wrong, &why) != WICK_BAD_ARGUMENT) return 1;
  puts(why.text);
  const struct { wick_accel_options known; long more; } newer = {{sizeof newer}, 1};
  const wick_accel_options forgotten = {.model = WICK_ACCEL_TIMING};
  if (wick_accel_configure(&newer.known, NULL) != WICK_BAD_ARGUMENT) return 1;
  if (wick_accel_configure(&forgotten, &why) != WICK_BAD_ARGUMENT) return 1;
  puts(why.text);
  return wick_accel_configure(NULL, NULL);
}
EOS
cat >program/keys.c <<'EOS'
#include <stdio.h>
#include "runtime/trust/wick_verify.h"
int main(int argc, char **argv) {
  wick_trust trust = {.size = sizeof trust}, forgotten = {0};
  wick_error_detail why = {{0}};
  wick_model *model;
  const wick_load_options options = {.size = sizeof options, .verifier = wick_verify_signature,
                                     .user = &trust, .detail = &why, .flags = WICK_LOAD_DESCRIBE};
  if (argc < 4 || wick_trust_read(argv[2], argv[3], &trust, &why)) return puts(why.text), 1;
  if (wick_trust_read(argv[2], argv[3], &forgotten, &why) != WICK_BAD_ARGUMENT ||
      wick_verify_signature(&forgotten, NULL, 0, &why) != WICK_BAD_ARGUMENT)
    return puts("a size that was forgotten"), 1;
  wick_status status = wick_model_load(argv[1], &options, &model);
  printf("%s: %s\n", wick_status_text(status), why.text);
  if (status == WICK_OK) wick_model_free(model);
  return 0;
}
EOS
check 'configure' cmake -S program -B out -DCMAKE_PREFIX_PATH="$tmp/prefix" \
  -DCMAKE_C_FLAGS=-Wall\ -Werror
check 'build' cmake --build out
check 'a package for the accelerator' "$wick" compile net.onnx --target accel:tiny \
  --quantize-random=1 --effort 1 -o int8.wick
out/models int8.wick >models.txt 2>&1 || bad "models: $(cat models.txt)"
ns=($(sed -n 's/^\([0-9]*\) ns$/\1/p' models.txt))
((${#ns[@]} == 3 && ns[0] > ns[1] && ns[1] == ns[2] && ns[1])) && good ||
  bad "times of the models: $(cat models.txt)" # the same again, more with a slow memory
check 'what is wrong is told' grep -q "^size=a: 'a' is no number" models.txt
check 'a size that was forgotten' grep -q '^options that this version does not know$' models.txt
if [[ ${has_keys-} ]]; then
  gives 'a program trusts a key' '^ok: $' out/keys net.wick maker.pub net.wick.sig
  gives 'and no other' '^the package is refused: the signature is of another package' \
    out/keys net.wick thief.pub net.wick.sig
  gives 'or no other package' '^the package is refused: the signature is of another package' \
    out/keys other.wick maker.pub net.wick.sig
fi

finish
