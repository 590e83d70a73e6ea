#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick grad: what it writes, what it proves, what it refuses.
source "$(dirname "$0")/lib.bash" "$@"

tensor() { # TYPE
  printf 'type { tensor_type { elem_type: %s ' "$1"
  printf 'shape { dim { dim_value: 2 } dim { dim_value: 3 } } } }'
}
graph() { # INPUTS NODES OUTPUTS
  printf 'ir_version: 8 opset_import { version: 17 }\ngraph { name: "g"\n'
  for v in $1; do printf 'input { name: "%s" %s }\n' "${v%:*}" "$(tensor "${v#*:}")"; done
  printf '%s\n' "$2"
  for v in $3; do printf 'output { name: "%s" %s }\n' "${v%:*}" "$(tensor "${v#*:}")"; done
  echo '}'
}
node() { # OP INPUTS OUTPUT
  printf 'node { op_type: "%s" ' "$1"
  for v in $2; do printf 'input: "%s" ' "$v"; done
  printf 'output: "%s" }\n' "$3"
}
graph 'x:1 w:1' "$(node Mul 'x w' p)$(node Tanh p y)$(node Floor x z)" 'y:1 z:1' >net.onnxtxt
of() { # NAME TYPE DIM...
  printf 'input { name: "%s" type { tensor_type { elem_type: %s shape {' "$1" "$2"
  printf ' dim { dim_value: %s }' "${@:3}"
  echo ' } } } }'
}
{
  echo 'ir_version: 8 opset_import { version: 16 } graph { name: "g"'
  of x 1 1 1 4 4 && of r 1 2 4 && of b 7 2
  echo 'node { op_type: "RoiAlign" input: "x" input: "r" input: "b" output: "y" }'
  echo 'output { name: "y" type { tensor_type { elem_type: 1 } } } }'
} >rois.onnxtxt
pool() { # FILE KERNEL PADS
  {
    echo 'ir_version: 8 opset_import { version: 17 } graph { name: "g"'
    of x 1 2 3 9 8
    echo 'node { op_type: "MaxPool" input: "x" output: "y"'
    printf 'attribute { name: "kernel_shape" type: INTS ints: %s ints: %s }' "$2" "$2"
    printf 'attribute { name: "strides" type: INTS ints: 2 ints: 2 }'
    printf 'attribute { name: "pads" type: INTS ints: %s ints: %s ints: %s ints: %s } }\n' \
      "$3" "$3" "$3" "$3"
    echo 'output { name: "y" type { tensor_type { elem_type: 1 } } } }'
  } >"$1"
}
pool small.onnxtxt 3 1
pool large.onnxtxt 17 8
graph 'x:7' "$(node Neg x y)" 'y:7' >ints.onnxtxt

gives 'summary' '^2 of 2 tensors have a gradient$' "$wick" grad net.onnxtxt
gives 'only what was asked for' '^1 of 1 tensors have a gradient$' \
  "$wick" grad net.onnxtxt --wrt 'w*'
gives 'constant almost everywhere' '^x +f32\[2,3\] +0: no output depends on it$' \
  "$wick" grad net.onnxtxt --of z --wrt x
gives 'proof' '^12 elements of 2 tensors: 0 tensors differ, no difference is beyond' \
  "$wick" grad net.onnxtxt --check --of y
gives 'proof, every tensor' '^w +f64\[2,3\] +6 ' "$wick" grad net.onnxtxt --check --of y -v
gives 'a graph' '^    output .*grad\(w\)' "$wick" grad net.onnxtxt --emit graph
graph 'x:1 w:1' "$(node Mul 'x w' 'grad(x)')$(node Tanh 'grad(x)' 'grad(x)_2')$(
  node Neg x 'grad(w)')" 'grad(x):1 grad(x)_2:1 grad(w):1' >taken.onnxtxt
check 'names of gradients that outputs have' \
  "$wick" grad taken.onnxtxt --of 'grad(x)' --emit onnx -o taken.onnx
gives 'are others, and all are there' '^grad\(x\),grad\(x\)_2,grad\(w\),grad\(x\)_3,grad\(w\)_2,$' \
  bash -c "'$wick' run taken.onnx 2>/dev/null | awk '/ f32/ { printf \"%s,\", \$1 }'"
rm -f taken.onnx
gives 'maxima of small windows are kept as bytes' 'taps=1} : f32\[2,3,5,4\], u8\[2,3,5,4\]' \
  "$wick" grad small.onnxtxt --emit graph
gives 'of windows of more than 256 as two' 'taps=1} : f32\[2,3,5,4\], u16\[2,3,5,4\]' \
  "$wick" grad large.onnxtxt --emit graph
check 'windows as ONNX' "$wick" grad small.onnxtxt --emit onnx -o pool.onnx
check 'which runs too' "$wick" run pool.onnx --random 1
gives 'dot' '^digraph ' "$wick" grad net.onnxtxt --emit dot
check 'ONNX' "$wick" grad net.onnxtxt --emit onnx -o d.onnx
check 'which runs' "$wick" run d.onnx
check 'once more' "$wick" grad net.onnxtxt --emit onnx -o again.onnx
check 'the same bytes' cmp d.onnx again.onnx
gives 'how operators are differentiated' '^gelu +definition' "$wick" ops --gradients
gives 'which are constant' '^floor +constant$' "$wick" ops --gradients
gives 'which have no path' '^arg_max +no path$' "$wick" ops --gradients

refuses 'no such output' 2 "--of: no output 'yy'; did you mean 'y'\\?" \
  "$wick" grad net.onnxtxt --of yy
refuses 'no such weight' 2 '--wrt nothing: no input and no weight of floats has such a name' \
  "$wick" grad net.onnxtxt --wrt 'w*' --wrt nothing
refuses 'integers' 3 'no output is of floats' "$wick" grad ints.onnxtxt
refuses 'no derivative' 4 'how many samples there are depends on the regions' \
  "$wick" grad rois.onnxtxt
refuses 'ONNX without a file' 2 '--emit onnx needs --output FILE' \
  "$wick" grad net.onnxtxt --emit onnx
refuses 'proof and graph' 2 '--check writes no graph' "$wick" grad net.onnxtxt --check --emit dot
refuses 'an input that is none' 2 "--input q=x.npy: there is no input 'q'" \
  "$wick" grad net.onnxtxt --check --input q=x.npy

refuses 'an output of integers' 3 '^wick: y: is of i64, which has no derivative$' \
  "$wick" grad ints.onnxtxt --of y
refuses 'tensors of a proof' 2 ': --check tries all tensors: --wrt goes without it$' \
  "$wick" grad net.onnxtxt --check --wrt x
refuses 'two bindings' 2 ': one binding at a time: give --bind and --shape once$' \
  "$wick" grad net.onnxtxt --bind n=1 --bind n=2
graph 'x:7' "$(node Cast x y | sed 's/}$/attribute { name: "to" type: INT i: 1 } }/')" 'y:1' \
  >cast.onnxtxt
refuses 'nothing to differentiate by' 3 ': no input and no weight is of floats: there is ' \
  "$wick" grad cast.onnxtxt
npy wrong.npy '<f8' 3,2
refuses 'an input of another shape' 3 \
  '^wick: --input x=wrong.npy: axis 0 of input x has size 2 in the model, 3 is given$' \
  "$wick" grad net.onnxtxt --check --of y --input x=wrong.npy
finish
