# SPDX-License-Identifier: Apache-2.0
# Models and samples for tests of `wick train`; behind lib.bash.

# words COUNT SIZE MODULUS: little-endian integers of SIZE bytes, i * 7 % MODULUS.
words() {
  local i v k text=
  for ((i = 0; i < $1; i++)); do
    v=$((i * 7 % $3))
    for ((k = 0; k < $2; k++)); do
      text+="\\x$(printf %02x $((v & 255)))"
      v=$((v >> 8))
    done
  done
  printf '%b' "$text"
}
# ramp FILE DESCR SHAPE COUNT MODULUS: like npy, but the COUNT elements are words.
ramp() {
  npy "$1" "$2" 0
  npy whole "$2" "$3"
  local bytes=$((${2: -1} * $4))
  head -c -$bytes whole >"$1"
  words "$4" "${2: -1}" "$5" >>"$1"
  rm whole
}

# weight NAME ROWS COLUMNS: an initialiser of 1.1 everywhere.
weight() {
  local raw='' i
  for ((i = 0; i < $2 * $3; i++)); do raw+=$'\xcd\xcc\x8c\x3f'; done
  field 5 "$(number 1 "$2")$(number 1 "$3")$(number 2 1)$(field 8 "$1")$(field 9 "$raw")"
}
# fitted FILE NODES [INPUTS]: of x [n,4], h = x w of three columns and nodes that make y of h.
fitted() {
  model "$(field 1 "$(node MatMul 'x w' h)")$2$(weight w 4 3)" \
    "$(field 11 "$(value x 1 n 4)")${3:-}" "$(field 12 "$(value y 1 a b)")" >"$1"
}
