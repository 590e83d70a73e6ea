#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No memory, no space: one line and a documented exit status, and nothing half written.
source "$(dirname "$0")/lib.bash" "$@"
check 'a network' "$wick" zoo ds_cnn -o net.onnx

# ---- files ---------------------------------------------------------------------------------------

# limited COMMAND...: no file of it grows past 1 KiB.
limited() { (ulimit -f 1 && exec "$@"); }
for kind in package onnx; do
  refuses "a $kind that grows too large" 5 'out: cannot write: File too large$' \
    limited "$wick" compile net.onnx -q --emit $kind -o out
done
refuses 'a model' 5 'out.onnx: cannot write: File too large$' \
  limited "$wick" zoo ds_cnn -o out.onnx
refuses 'tensors' 5 'File too large$' limited "$wick" run net.onnx --output-dir . --dump-tensors t

# A build of a cycle model: Verilator, which writes what it has room for.
mkdir fake
cat >fake/verilator <<'EOF'
#!/bin/sh
[ "$1" = --version ] && echo 'Verilator 5.006' && exit 0
while [ "$1" != -Mdir ]; do shift; done
exec dd if=/dev/zero of="$2/m.cpp" bs=4k count=1024
EOF
chmod +x fake/verilator
# builds NAME WORDS COMMAND...: where there is no room, this is said in so many words.
builds() {
  "${@:3}" >/dev/null 2>err
  [[ $? == 5 ]] && grep -qE "^wick: .*: verilator failed: $2:$" err && good || bad "$1: $(cat err)"
}
build() { PATH=$PWD/fake:$PATH WICK_CACHE=$1 "$wick" sim --build --machine tiny; }
small_files() { (ulimit -f 256 && build "$PWD/cache"); }
builds 'the largest file' 'File too large' small_files
mkdir disk
on_small_disk() { mount -t tmpfs -o mode=700,size=512k none disk && build "$PWD/disk"; }
export -f on_small_disk build
export wick
if unshare -rm mount -t tmpfs none disk 2>/dev/null; then
  builds 'a full disk' 'No space left on device' unshare -rm bash -c on_small_disk
fi

# ---- memory --------------------------------------------------------------------------------------

if is_sanitized; then finish; fi # which need address space without end
# within KIB COMMAND...: in so much address space.
within() { (ulimit -v "$1" && exec "${@:2}"); }
base=100000
until within $base "$wick" --version >/dev/null 2>&1 || ((base > 4000000)); do
  base=$((base + 4000))
done
ran_out=0
for ((more = 0; more < 40000; more += 5600)); do
  for command in 'compile net.onnx -q -o out.wick' 'quantize net.onnx --random 1 -o out.onnx'; do
    within $((base + more)) "$wick" $command >/dev/null 2>err
    status=$?
    ((status == 0 || status == 6)) && good || bad "$command, $more KiB: status $status: $(cat err)"
    ((status == 0)) && rm -f out.wick out.onnx && continue
    ran_out=$((ran_out + 1))
    [[ $(wc -l <err) == 1 && $(cat err) == 'wick: '* ]] && good || bad "$command: $(cat err)"
    [[ ! -e out.wick && ! -e out.onnx && -z $(find . -name '*.tmp') ]] && good ||
      bad "$command leaves $(ls)"
  done
done
((ran_out)) && good || bad 'memory never ran out'
finish
