#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What commands print, whole, of models that come in several: parts on two targets, bindings,
# inputs, outputs, files.
nets=$(realpath "$(dirname "$0")/../nets")
onnx=$(realpath "$(dirname "$0")/../onnx")
source "$(dirname "$0")/lib.bash" "$@"
cp "$nets/int8/unet_qdq/model.onnx" unet.onnx
cp "$nets/int8/transformer_qdq/model.onnx" transformer.onnx
cp "$nets/float/gru/model.onnx" gru.onnx
small_models
pair=(--target accel:tiny --cpu x86-64)

digest() { # of files: their lines, and a checksum of what does not depend on the version
  local file
  for file in "$@"; do
    printf '%s %s %s\n' "$file" "$(wc -l <"$file")" "$(sed -E '/"wick": *"[0-9.]+"/d
      /seconds|"output_bytes"/d' "$file" | sha256sum | cut -c 1-16)"
  done
}

# ---- parts of one model --------------------------------------------------------------------------

prints parts-compile "$wick" compile unet.onnx "${pair[@]}" --print-parts --report report.json
inspected() { # without what depends on the generated code
  "$wick" inspect "$@" | sed -E '/^(section|size|compiler) /d'
}
prints parts-inspect inspected unet.wick
texts() { # of every part, at three stages
  local stage
  for stage in partition layout; do
    "$wick" compile unet.onnx -q "${pair[@]}" --stop-after $stage --emit graph -o $stage.txt
  done
  "$wick" compile unet.onnx -q "${pair[@]}" --emit program -o program.txt
  grep '^// part' {partition,layout,program}.txt
  digest {partition,layout,program}.txt
}
prints parts-texts texts
prints parts-check "$wick" check unet.wick
prints parts-check-one "$wick" check unet.wick --part 2 # numbered as the accelerator's
prints parts-disasm "$wick" disasm unet.wick --no-data --part 0
time=(--model timing --random 3)
prints parts-sim "$wick" sim unet.wick "${time[@]}" --causes --csv u.csv --json u.json --html u.html
prints parts-sim-one "$wick" sim unet.wick "${time[@]}" --part 1 --json one.json
prints parts-csv cat u.csv
prints parts-sim-modes "$wick" sim unet.onnx --machine tiny "${time[@]}" --with-modes --json m.json
"$wick" sim unet.wick "${time[@]}" --causes --dram latency=250,bytes=2 --json slow.json >/dev/null
prints parts-diff "$wick" diff u.json slow.json --json d.json
prints parts-compare "$wick" compare unet.onnx "${pair[@]}" -v
prints parts-compare-package "$wick" compare unet.onnx --package unet.wick -v
cp unet.onnx wrong.onnx && flip wrong.onnx 17000 # a weight
check 'a package of another weight' "$wick" compile wrong.onnx -q "${pair[@]}" -o wrong.wick
prints parts-compare-wrong "$wick" compare unet.onnx --package wrong.wick
prints parts-compare-all "$wick" compare unet.onnx --package wrong.wick -v
prints parts-functional "$wick" sim unet.wick --model functional --random 3
commands() { # of all parts, and the timelines; on a machine with three queues of loads, too
  "$wick" sim unet.wick "${time[@]}" --commands --trace tiny.trace >tiny.commands
  "$wick" compile unet.onnx -q --target accel:wide --cpu x86-64 -o wide.wick
  "$wick" sim wide.wick "${time[@]}" --commands --trace wide.trace --html wide.html >wide.commands
  "$wick" sim wide.wick "${time[@]}" --causes --csv wide.csv --json wide.json >wide.causes
  digest {tiny,wide}.commands {tiny,wide}.trace wide.html wide.csv wide.json wide.causes
}
prints parts-commands commands
machines() {
  local machine
  "$wick" isa --c-registers >registers.h
  digest registers.h
  for machine in base tiny wide; do
    "$wick" isa --machine $machine >$machine.txt
    "$wick" isa --machine $machine --sv >$machine.sv
    digest $machine.txt $machine.sv
  done
}
prints isa-files machines
parts_dump() {
  "$wick" run unet.wick --dump-tensors dump --random 5 | sed 's/ (.*//' && (cd dump && wc -c -- *)
}
prints parts-dump parts_dump
prints parts-files digest u.json one.json u.html m.json d.json report.json

# ---- who would run what --------------------------------------------------------------------------

survey() { "$wick" ops --model "$@"; }
prints ops-parts survey unet.onnx --target accel:tiny,cpu:x86-64 --parts
prints ops-nodes survey unet.onnx --target accel:tiny,cpu:x86-64 -v
prints ops-transformer survey transformer.onnx --target accel:wide,cpu:x86-64
prints ops-recurrent survey gru.onnx --target accel:base,cpu:haswell
survey unet.onnx --target accel:tiny,cpu:x86-64 --json -v >unet-ops.json
survey transformer.onnx --target accel:wide,cpu:x86-64 --json >transformer-ops.json
survey gru.onnx --target cpu:haswell --json --parts >gru-ops.json
prints ops-files digest unet-ops.json transformer-ops.json gru-ops.json
prints ops-json survey relu.onnx --target cpu:x86-64 --json -v

# ---- several bindings, inputs and outputs --------------------------------------------------------

model "$(field 1 "$(node Add 'x w' s)")$(field 1 "$(node Mul 's w' p)")$(
  field 1 "$(node Relu p y)")" "$(field 11 "$(value x 1 n 3)")$(field 11 "$(value w 1 n 3)")" \
  "$(field 12 "$(value s 1 n 3)")$(field 12 "$(value p 1 n 3)")$(
    field 12 "$(value y 1 n 3)")" >three.onnx
prints several-compile "$wick" compile three.onnx --bind n=1 --bind n=5 --bind n=2 --cpu x86-64
prints several-inspect inspected three.wick
npy five.npy '<f4' 5,3
npy two.npy '<f4' 2,3
several() {
  "$wick" run three.wick -i five.npy -i w=five.npy # the entry that fits
  "$wick" run three.wick -i w=two.npy --random 2
  "$wick" run three.wick --entry 2 --random 9
  "$wick" run three.wick --random 9
  "$wick" run three.onnx --target eval --bind n=4 --random 9
  "$wick" run three.onnx --cpu x86-64 --shape x=2x3 --random 9 --output-dir results
  (cd results && sha256sum -- * | cut -c 1-16,65-)
}
prints several-run several
prints several-compare "$wick" compare three.onnx --cpu x86-64 --bind n=3 -v
finish
