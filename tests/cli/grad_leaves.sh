#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick grad: derivatives are with respect to the tensors of the file, whatever becomes of them.
source "$(dirname "$0")/lib.bash" "$@"

io() { # KIND NAME TYPE DIM...
  printf '%s { name: "%s" type { tensor_type { elem_type: %s shape {' "$1" "$2" "$3"
  (($# < 4)) || printf ' dim { dim_value: %s }' "${@:4}"
  echo ' } } } }'
}
tensor() { # NAME DIMS NUMBERS
  printf 'name: "%s" data_type: 1' "$1"
  [[ -z $2 ]] || printf ' dims: %s' $2
  printf ' float_data: %s' $3
}
weight() { echo "initializer { $(tensor "$@") }"; }
half() { # of numbers by their bits
  local t
  t=$(tensor "$@" | sed 's/data_type: 1/data_type: 10/; s/float_data/int32_data/g')
  echo "initializer { $t }"
}
node() { # OP INPUTS OUTPUT [ATTRIBUTES]
  printf 'node { op_type: "%s"' "$1"
  [[ -z $2 ]] || printf ' input: "%s"' $2
  echo " output: \"$3\" ${4-} }"
}
model() { # IR, with the graph as input
  echo "ir_version: ${1:-8} opset_import { version: 17 } graph { name: \"g\"" && cat && echo '}'
}
body() { echo "attribute { name: \"$1\" type: GRAPH g { name: \"$1\" ${*:2} } }"; }
to() { echo "attribute { name: \"to\" type: INT i: $1 }"; }
sums() { # MODEL WRT: the sum of the derivative, for inputs of 2
  "$wick" grad "$1" --wrt "$2" --emit onnx -o d.onnx &&
    "$wick" run d.onnx -i two.npy 2>&1 | sed -n 's/^grad(.* min \(.*\) max \(.*\) mean .*/\1 \2/p'
}
proves() { # NAME MODEL TENSORS
  gives "$1" "^[0-9]+ elements of $3 tensors: 0 tensors differ, no difference is beyond" \
    "$wick" grad "$2" --check
}
npy two.npy '<f4' 2 && truncate -s -8 two.npy && printf '\0\0\0\x40\0\0\0\x40' >>two.npy
x=$(io input x 1 2) y=$(io output y 1 2)

# Used twice, once by way of what could be computed now.
model >tied.onnxtxt <<<"$x $(weight w 2 '3 4') $(weight c 2 '5 5') $(node Mul 'w c' k) \
  $(node Mul 'x w' a) $(node Add 'a k' y) $y"
gives 'all uses count' '^w +f32\[2\] +yes$' "$wick" grad tied.onnxtxt
gives 'both' '^7 7$' sums tied.onnxtxt w
gives 'what is computed from constants alone has a derivative' '^3 4$' sums tied.onnxtxt c
proves 'all of it' tied.onnxtxt 3

# A layer written as PyTorch does, and a table that is the output's weight as well.
model >linear.onnxtxt <<<"$(io input x 1 2 3) $(weight f.weight '4 3' '1 2 3 4 5 6 7 8 9 1 2 3') \
  $(weight f.bias 4 '1 1 1 1') $(node Gemm 'x f.weight f.bias' y \
  'attribute { name: "transB" type: INT i: 1 }') $(io output y 1 2 4)"
gives 'a transposed weight' '^f.weight +f32\[4,3\] +yes$' "$wick" grad linear.onnxtxt --wrt 'f.*'
gives 'and its bias' '^2 of 2 tensors' "$wick" grad linear.onnxtxt --wrt 'f.*'
model >table.onnxtxt <<<"$(io input i 7 2) $(weight e '4 3' '1 2 3 4 5 6 7 8 9 1 2 3') \
  $(node Gather 'e i' h) $(node Transpose e t) $(node MatMul 'h t' y) $(io output y 1 2 4)"
gives 'a table' '^e +f32\[4,3\] +yes$' "$wick" grad table.onnxtxt
proves 'both uses of a table' table.onnxtxt 1

# Cast, of halves, with a default, in bodies, in a Constant.
model >cast.onnxtxt <<<"$x $(half w 2 '15360 16384') $(node Cast w f "$(to 1)") \
  $(node Cast x h "$(to 10)") $(node Mul 'x f' a) $(node Mul 'h w' b) $(node Cast b c "$(to 1)") \
  $(node Add 'a c' y) $y"
gives 'a cast weight' '^4 4$' sums cast.onnxtxt w
gives 'of halves' '^w +f16\[2\] +yes$' "$wick" grad cast.onnxtxt
model 3 >default.onnxtxt <<<"$x $(io input w 1 2) $(weight w 2 '3 4') $(node Mul 'w w' k) \
  $(node Mul 'x k' y) $y"
gives 'an initialiser that is an input, too' '^12 16$' sums default.onnxtxt w
gives 'with a value of its own' '^4 elements of 2 tensors: 0 tensors differ' \
  "$wick" grad default.onnxtxt --check -i w=two.npy
model >if.onnxtxt <<<"$x $(io input c 9) $(weight w 2 '3 4') $(node If c y \
  "$(body then_branch "$(weight v 2 '1 2') $(node Mul 'x v' p) $(node Mul 'p w' q) \
  output { name: \"q\" }") $(body else_branch "$(weight v 2 '5 6') $(node Sub 'x v' r) \
  output { name: \"r\" }")") $y"
gives "a branch's own" '^v\.1 +f32\[2\] +yes$' "$wick" grad if.onnxtxt --wrt 'v*'
proves 'those of branches' if.onnxtxt 4
scalar() { echo "input { name: \"$1\" type { tensor_type { elem_type: $2 shape { } } } }"; }
model >loop.onnxtxt <<<"$x initializer { name: \"n\" data_type: 7 int64_data: 3 } \
  node { op_type: \"Loop\" input: \"n\" input: \"\" input: \"x\" output: \"y\" \
  $(body body "$(scalar i 7) $(scalar c 9) $(io input s 1 2) $(weight v 2 '0.5 2') \
  $(node Mul 's v' t) $(node Identity c d) output { name: \"d\" } output { name: \"t\" }") } $y"
gives "a loop's own" '^1\.5 24$' sums loop.onnxtxt v
proves 'those of loops' loop.onnxtxt 2
model >held.onnxtxt <<<"$x $(weight b 2 '1 1') $(node Constant '' k \
  "attribute { name: \"value\" type: TENSOR t { $(tensor '' 2 '3 4') } }") $(node Mul 'k k' a) \
  $(node Mul 'x a' p) $(node Add 'p b' y) $y"
gives 'Constants beside initialisers are not listed' '^2 of 2 tensors' "$wick" grad held.onnxtxt
gives 'but have derivatives' '^12 16$' sums held.onnxtxt k
proves 'and are tried' held.onnxtxt 3

model >floats.onnxtxt <<<"$x $(weight b 2 '1 1') $(node Constant '' k \
  'attribute { name: "value_floats" type: FLOATS floats: 3 floats: 4 }') \
  $(node Mul 'k k' a) \
  $(node Mul 'x a' p) $(node Add 'p b' y) $y"
gives 'numbers in an attribute' '^12 16$' sums floats.onnxtxt k
model >sparse.onnxtxt <<<"$x sparse_initializer { values { $(tensor w 1 4) } \
  indices { data_type: 7 dims: 1 int64_data: 1 } dims: 2 } $(node Mul 'w w' k) \
  $(node Mul 'x k' y) $y"
gives 'a sparse initialiser' '^0 16$' sums sparse.onnxtxt w

# Those of a normalisation.
model >norm.onnxtxt <<<"$(io input x 1 1 2 3 3) $(weight w '2 2 1 1' '1 2 3 4') \
  $(weight s 2 '2 3') $(weight b 2 '0 1') $(weight m 2 '1 2') $(weight v 2 '1 4') \
  $(node Conv 'x w' c) $(node BatchNormalization 'c s b m v' y) $(io output y 1 1 2 3 3)"
proves 'a convolution and its normalisation' norm.onnxtxt 6
model >clip.onnxtxt <<<"$x $(weight lo '' 0.5) $(node Clip 'x lo' y) $y"
gives 'a bound that is part of the operator' '^lo +f32\[\] +none: its value is part of the ' \
  "$wick" grad clip.onnxtxt
gives 'is not tried' '^lo decides with its value what is computed' "$wick" grad clip.onnxtxt --check

# Sizes come from the files.
model >sizes.onnxtxt <<<"input { name: \"x\" type { tensor_type { elem_type: 1 shape { \
  dim { dim_param: \"N\" } } } } } $(node Relu x y) output { name: \"y\" }"
gives 'sizes of a file' '^x +f32\[2\] +yes$' "$wick" grad sizes.onnxtxt -i x=two.npy
gives 'without a name' '^x +f32\[2\] +yes$' "$wick" grad sizes.onnxtxt -i two.npy
gives 'in a proof' '^2 elements of 1 tensors: 0 tensors differ' \
  "$wick" grad sizes.onnxtxt --check -i two.npy
refuses 'sizes that nobody gives' 2 'sizes are not known .*: give --bind N=N' \
  "$wick" grad sizes.onnxtxt
refuses 'a pattern without a tensor' 2 "--wrt f.wieght: no input .* did you mean 'f.weight'\\?" \
  "$wick" grad linear.onnxtxt --wrt f.bias --wrt f.wieght
finish
