#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The commands of docs/opencl.md for OpenCL devices, on the first one that there is.
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/tests/cli/lib.bash" "$@"
net=$root/tests/nets/int8/residual_qlinear/model.onnx
export WICK_CACHE=$tmp.caches/wick POCL_CACHE_DIR=$tmp.caches/pocl
mkdir -p "$POCL_CACHE_DIR"
trap 'clean_up; rm -rf "$tmp.caches"' EXIT

# ---- without a device: compiling for one that is elsewhere

any='compile net.onnx --target opencl:any -o net.wick -q'
cp "$net" net.onnx
check 'any device' env WICK_OPENCL=/nonexistent "$wick" $any
refuses 'a package without a device' 4 'there is no OpenCL \(/nonexistent' \
  env WICK_OPENCL=/nonexistent "$wick" run net.wick
check 'kernels as text' env WICK_OPENCL=/nonexistent "$wick" compile net.onnx --target opencl:any \
  --emit opencl-c -o net.cl -q
gives 'kernels' '^void k0\(__global char \*g0' cat net.cl
refuses 'a device twice' 2 'opencl:any stands there twice' \
  "$wick" compile net.onnx --target opencl:any,opencl:any

if ! "$wick" devices | grep '^opencl:0 ' >device.txt; then
  echo 'note: there is no OpenCL device: packages for one are not run'
  finish
fi

# ---- with one

check 'a package' "$wick" compile net.onnx --target opencl -o net.wick -q
check 'the processor' "$wick" run net.onnx --target cpu --output-dir cpu
gives 'first start' '^start [0-9.]+ m?s: load ' \
  "$wick" run net.wick -v --repeat 2 --output-dir first
check 'second start' "$wick" run net.wick --device 0 --output-dir second
check 'as on the processor' diff -r cpu first
check 'the same again' diff -r cpu second
gives 'profile' '^times of opencl are by the device.s own clock$' "$wick" run net.wick --profile
check 'trace' "$wick" run net.wick --trace net.json
gives 'runs ahead' '^time .* a run, .* runs a second, of 9 runs with 2 ahead$' \
  "$wick" run net.wick --repeat 9 --ahead 2 --output-dir ahead
check 'the same ahead' diff -r cpu ahead
gives 'launches of a trace' 'opencl .by its own clock.' cat net.json
refuses 'no such device' 4 'none of the OpenCL devices' "$wick" run net.wick --device nn
"$wick" devices --json --device opencl:0 >gpu.json
for device in gpu.json 0; do
  check "kernels for $device" \
    "$wick" compile net.onnx --target opencl:$device --emit opencl-c -o $device.cl -q
done
check 'a description says all of it' cmp gpu.json.cl 0.cl
check 'tuned' "$wick" compile net.onnx --target opencl --tune=1 -o tuned.wick -q
check 'tiles are kept' bash -c "grep -q '\"tiles\"' '$WICK_CACHE'/opencl/tiles-*.json"
check 'tuned, run' "$wick" run tuned.wick --output-dir tuned
check 'tuned, as on the processor' diff -r cpu tuned
sed 's/"name": ".*"/"name": "elsewhere"/' gpu.json >elsewhere.json
refuses 'tuning for a device elsewhere' 2 'elsewhere is not here' \
  "$wick" compile net.onnx --target opencl:elsewhere.json --tune
check 'beside the accelerator' "$wick" compile net.onnx --target accel,opencl -o both.wick -q
check 'beside it, run' "$wick" run both.wick --output-dir both
check 'beside it, as on the processor' diff -r cpu both
# ---- two devices of one name, which PoCL makes of a processor

export POCL_DEVICES='pthread pthread'
if has_device 'opencl:1 .*Portable Computing'; then
  check 'the second device' "$wick" compile net.onnx --target opencl:1 -o second.wick -q
  gives 'its name' '^unit 0 +opencl, .*#2$' "$wick" inspect second.wick
  check 'on the second device' "$wick" run second.wick --output-dir other
  check 'on it, as on the processor' diff -r cpu other
  gives 'both' '^target +opencl:([^,]*),opencl:\1#2,cpu:' \
    "$wick" compile net.onnx --target opencl:0,opencl:1 -o two.wick
  check 'both, run' "$wick" run two.wick --output-dir two
  check 'both, as on the processor' diff -r cpu two
fi
finish
