#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --target opencl on the first device that there is, and on Oclgrind, which checks every access:
# each primitive, control flow, steps, and what is no device. All operator tests, in half an hour:
#   wick test /usr/share/libonnx-testdata/data/node --target opencl
nets=$(realpath "$(dirname "$0")/../nets")
source "$(dirname "$0")/lib.bash" "$@"
node=/usr/share/libonnx-testdata/data/node
oclgrind=/usr/lib/oclgrind/liboclgrind-rt.so
caches=$(mktemp -d)
trap 'clean_up; rm -rf "$caches"' EXIT
export WICK_CACHE=$caches POCL_CACHE_DIR=$caches

# says NAME CODE PATTERN COMMAND...: exit status CODE, and the first line of stderr that begins
# with "wick: " matches.
says() {
  local name=$1 code=$2 pattern=$3 err status
  shift 3
  err=$("$@" 2>&1 >/dev/null </dev/null)
  status=$?
  if [[ $status != "$code" ]]; then bad "$name: exit status $status instead of $code: $err"
  elif ! grep '^wick: ' <<<"$err" | head -1 | grep -qE -- "$pattern"; then
    bad "$name: says $err instead of $pattern"
  else good; fi
}

# ---- without a device
cnn=$nets/float/cnn/model.onnx
nothing=/nonexistent
says 'no library' 4 "cnn/model.onnx: opencl: there is no OpenCL \\($nothing: .*apt-get install" \
  env WICK_OPENCL=$nothing "$wick" run "$cnn" --target opencl
mkdir empty
if has_loader; then
  says 'no driver' 4 'opencl: libOpenCL.so.1 has no OpenCL platform; .*apt-get install' \
    env OCL_ICD_VENDORS="$tmp/empty/" WICK_OPENCL=libOpenCL.so.1 "$wick" run "$cnn" --target opencl
fi
check 'compiled without a device' \
  env WICK_OPENCL=$nothing "$wick" compile "$cnn" --target opencl:any -q -o any.wick
refuses 'not run without one' 4 'any.wick: package needs a device .*there is no OpenCL' \
  env WICK_OPENCL=$nothing "$wick" run any.wick
refuses 'no machine' 2 'the machine behind the colon is missing' \
  "$wick" run "$cnn" --target opencl:
refuses 'no file' 5 'none.json: cannot open' "$wick" run "$cnn" --target opencl:none.json
refuses 'a folder' 5 'is a folder' "$wick" run "$cnn" --target opencl:./

# ---- on a device

# A folder of one operator test for each primitive. Convolutions of networks have constant weights,
# those of the operator tests have none.
primitives='add_bcast argmax_no_keepdims_random averagepool_2d_pads_count_include_pad
  concat_3d_axis_1 constantofshape_float_ones conv_with_strides_padding convtranspose_pads
  cumsum_2d_axis_1 gather_1 gather_elements_1 gathernd_example_int32 if
  layer_normalization_2d_axis1 loop11 lstm_with_peepholes matmul_3d
  maxpool_2d_pads maxpool_with_argmax_2d_precomputed_pads lppool_2d_pads qlinearconv
  qlinearmatmul_3D reduce_sum_default_axes_keepdims_random scan9_sum
  scatter_elements_with_duplicate_indices scatternd_add softmax_axis_1 top_k transpose_default'
mkdir subset
for name in $primitives; do
  [[ -d $node/test_$name ]] && cp -r "$node/test_$name" subset
done
has_subset=$(find subset -name model.onnx | head -1)
[[ $has_subset ]] || echo "note: $node is not here: operators are not tested"

# description DEVICE.json TYPE [KEY VALUE]...: of the first device, with other values.
description() {
  local file=$1 edits="s/\"type\": \"[a-z]*\"/\"type\": \"$2\"/"
  shift 2
  for (( ; $# > 1; )); do
    edits+=";s/\"$1\": [0-9]*/\"$1\": $2/"
    shift 2
  done
  "$wick" devices --json --device opencl:0 2>/dev/null | sed "$edits" >"$file"
}

# Everything that the networks and operator tests do, for CPUs and for GPUs, on oclgrind: results,
# and no access that it has something to say about. What a comparison of vectors gives it takes
# for -1, so loops stay scalar; and it gives each kernel the local memory of all.
on_oclgrind() {
  local OCLGRIND_LOG=$tmp/accesses type
  export WICK_OPENCL=$oclgrind OCLGRIND_LOG OCLGRIND_DATA_RACES=1 OCLGRIND_UNINITIALIZED=1
  export OCLGRIND_BUILD_OPTIONS=-cl-opt-disable OCLGRIND_LOCAL_MEM_SIZE=67108864
  for type in cpu gpu; do
    description $type.json $type units 1 float_width 8 local_memory 32768
    local target=opencl:$tmp/$type.json
    [[ $has_subset ]] && gives "operators on oclgrind, $type" ' 0 failed, 0 skipped$' \
      "$wick" test subset --target "$target"
    gives "networks on oclgrind, $type" ' 0 failed, 0 skipped$' \
      "$wick" test "$nets/float" --filter '[clt]*' --target "$target"
    gives "a quantised network on oclgrind, $type" ' 0 failed, 0 skipped$' \
      "$wick" test "$nets/int8" --filter cnn_qdq --target "$target"
  done
  if grep -qE 'Invalid|race|error|ninitialized' accesses 2>/dev/null; then
    bad "accesses: $(grep -vm1 '^$' accesses)"
    head -20 accesses
  else good; fi
  check 'compiled for large local memory' "$wick" compile "$cnn" --target opencl:gpu.json -q -o \
    gpu.wick
  refuses 'smaller local memory' 4 "' lacks [0-9]{4,5} bytes of local memory" \
    env OCLGRIND_LOCAL_MEM_SIZE=4096 "$wick" run gpu.wick
}
if [[ -f $oclgrind ]] && ! is_sanitized; then
  (
    on_oclgrind
    echo "$passed $failed" >counts
  )
  read -r passed failed <counts
else echo 'note: oclgrind is not here: accesses are not checked'; fi

if ! has_device 'opencl:0 '; then
  echo 'note: there is no OpenCL device: nothing more is tested'
  finish
fi
[[ $has_subset ]] && gives 'operators' ' 0 failed, 0 skipped$' \
  "$wick" test subset --target opencl
gives 'control flow on the device' '^0 parts on the host$' bash -c "
  for name in if loop11 scan9_sum; do
    '$wick' compile subset/test_\$name/model.onnx --target opencl --print-parts -o none.wick
  done | grep -c 'on cpu' | sed 's/$/ parts on the host/'"

gives 'transposed convolutions' '^1 passed, 0 failed' \
  "$wick" test "$nets/float/unet" --target opencl

# ---- steps

for net in float/cnn int8/cnn_qdq; do
  model=$nets/$net/model.onnx name=${net#*/}
  gives "$net, test" '^1 passed, 0 failed' "$wick" test "$nets/$net" --target opencl
  gives "$net, compare" 'agrees?$' "$wick" compare "$model" --target opencl
  gives "$net, profile" '^ *[0-9.]+ +[0-9.]+ +[0-9.]+ +conv +all$' \
    "$wick" run "$model" --target opencl --profile
  check "$net, compile" "$wick" compile "$model" --target opencl -q -o "$name.wick"
  gives "$net, steps" ' conv\(@out %' "$wick" inspect "$name.wick" --steps
  check "$net, tensors" "$wick" run "$name.wick" --dump-tensors "$name-opencl"
  check "$net, tensors of the evaluator" \
    "$wick" run "$model" --target eval --dump-tensors "$name-eval"
done
same=0
for file in cnn_qdq-opencl/[^_]*; do
  [[ -f cnn_qdq-eval/${file#*/} ]] && cmp -s "$file" "cnn_qdq-eval/${file#*/}" && same=$((same + 1))
done
((same >= 4)) && good || bad "$same tensors of cnn_qdq are the evaluator's"

# ---- what is no device, or another one

says 'a name' 2 "there is no OpenCL device 'nonsense' here" "$wick" run "$cnn" \
  --target opencl:nonsense
says 'a number' 2 "there is no OpenCL device '99' here" "$wick" run "$cnn" --target opencl:99
refuses 'another device' 4 'package needs another machine: WICK_OPENCL_DEVICE=toaster is none of' \
  env WICK_OPENCL_DEVICE=toaster "$wick" run any.wick
description here.json cpu
head -c 100 here.json >cut.json
refuses 'half a description' 3 'cut.json: line [0-9]+: is no JSON' \
  "$wick" run "$cnn" --target opencl:cut.json
description odd.json cpu base_align 3
refuses 'a bad description' 3 "odd.json: key 'base_align': is no power of two" \
  "$wick" run "$cnn" --target opencl:odd.json
description fine.json cpu base_align 1
gives 'a device that aligns less' '^1 passed, 0 failed' \
  "$wick" test "$nets/float/cnn" --target "opencl:$tmp/fine.json"
sed 's/"name": ".*"/"name": "Nobody"/' here.json >nobody.json
refuses 'the device of another machine' 4 'opencl:Nobody: code for it cannot run on this machine' \
  "$wick" run "$cnn" --target opencl:nobody.json
finish
