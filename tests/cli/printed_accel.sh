#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What commands print of the accelerator, whole: reports, causes, comparisons, sweeps, searches.
# Pages and long JSON are kept as checksums of their numbers and words.
nets=$(realpath "$(dirname "$0")/../nets")
examples=$(realpath "$(dirname "$0")/../../examples/accel")
source "$(dirname "$0")/lib.bash" "$@"
cp "$nets/int8/cnn_qdq/model.onnx" cnn.onnx
cp "$nets/int8/gru_qdq/model.onnx" gru.onnx
cp "$nets/int8/unet_qdq/model.onnx" unet.onnx
cp "$nets/int8/residual_qlinear/model.onnx" integers.onnx
cp "$nets/float/residual/model.onnx" residual.onnx
tiny=(--target accel:tiny --cpu x86-64)

lines() { # of files, each with the checksum of what does not depend on time or place
  local file
  for file in "$@"; do
    printf '%s %s %s\n' "$file" "$(wc -l <"$file")" \
      "$(sed -E 's/("wick": *")[0-9.]+"/\1"/; s/wick [0-9.]+/wick/
        /seconds|"output_bytes"|"key"/d' "$file" | sha256sum | cut -c 1-16)"
  done
}

# ---- compiled

prints accel-compile "$wick" compile cnn.onnx "${tiny[@]}" --print-parts
prints accel-refused "$wick" compile residual.onnx "${tiny[@]}" --print-parts -o residual.wick
prints accel-explain "$wick" compile cnn.onnx "${tiny[@]}" --explain Conv_38 --effort 2 -o e.wick
explained() { # which goes to standard error; the last search is not always the better one
  local of net layer effort
  for of in cnn:Conv_38:2 cnn:Conv_3:3 unet:Conv_7:3 integers:Gemm_26_quant:3; do
    IFS=: read -r net layer effort <<<"$of"
    "$wick" compile "$net.onnx" --target accel --cpu x86-64 --explain "$layer" \
      --effort "$effort" -q -o e.wick 2>&1 || return
  done
}
prints accel-explained explained
prints accel-inspect "$wick" inspect cnn.wick
prints accel-check "$wick" check cnn.wick
prints accel-settings "$wick" targets

# ---- run

run=(--model timing --random 7)
prints accel-sim "$wick" sim gru.onnx --machine tiny "${run[@]}" --csv gru.csv --html gru.html
prints accel-causes "$wick" sim cnn.onnx --machine tiny "${run[@]}" --causes --json a.json
prints accel-modes "$wick" sim cnn.onnx --dram latency=400 "${run[@]}" --with-modes --json m.json
quantised() { # results depend on ranges, which processors round differently
  "$wick" sim residual.onnx "${run[@]}" --quantize-random 3 | sed '/^result/,$d'
}
prints accel-quantised quantised
"$wick" sim cnn.onnx --machine tiny --dram latency=300 "${run[@]}" --causes --json b.json >/dev/null
prints accel-diff "$wick" diff a.json b.json --json d.json
prints accel-diff-most "$wick" diff b.json a.json --most 3
streams() { # by hand: operators have numbers, not names
  local file
  cp "$examples"/[1-5]-*.s .
  for file in [1-5]-*.s; do
    "$wick" sim "$file" --model timing --causes --commands --json "$file.json" \
      --html "$file.html" --trace "$file.trace" >"$file.txt"
  done
  sed -n '/^critical path/,/^all /p' 1-serial.s.txt 2-double-buffer.s.txt
  lines [1-5]-*.{txt,json,html,trace}
}
prints accel-streams streams
prints accel-files lines gru.csv gru.html a.json b.json m.json d.json

# ---- many machines

prints accel-sweep "$wick" sweep cnn.onnx gru.onnx -o s --set dram_latency=50,400 \
  --set scratchpad=32768,100 --prefetch auto,off
points() { # without keys, which are the compiler's, and seconds
  awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /key|seconds/) out[i] = 1 }
    { for (i in out) $i = ""; print }' s/points.csv
}
prints accel-sweep-points points
cat >space.cfg <<'EOF'
array = [8, 16];
scratchpad = [65536, 131072, 262144];
dram_bytes = [4, 8];
EOF
prints accel-explore "$wick" explore cnn.onnx --space space.cfg --confirm 0 --budget 8 -o x
prints accel-many-files lines s/points.json s/index.html x/explore.json x/index.html x/front.svg
finish
