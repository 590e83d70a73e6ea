# SPDX-License-Identifier: Apache-2.0
# A model with external data; behind lib.bash. Its bytes may be 0, so they are written in digits.

# external FOLDER NAME: a model FOLDER/m.onnx, y = x W, whose weights are in FOLDER/NAME.
hex_field() { printf '%02x%02x%s' $(($1 << 3 | 2)) $((${#2} / 2)) "$2"; }
hex_string() { hex_field "$1" "$(printf %s "$2" | od -An -tx1 | tr -d ' \n')"; }
hex_number() { printf '%02x%02x' $(($1 << 3)) "$2"; }
hex_typed() { # hex_typed NAME COLUMNS: f32[N,COLUMNS]
  local dims
  dims=$(hex_field 1 "$(hex_string 2 N)")$(hex_field 1 "$(hex_number 1 "$2")")
  hex_string 1 "$1"
  hex_field 2 "$(hex_field 1 "$(hex_number 1 1)$(hex_field 2 "$dims")")"
}
external() {
  local w n model
  w=$(hex_number 1 4)$(hex_number 1 3)$(hex_number 2 1)$(hex_string 8 W)
  w+=$(hex_field 13 "$(hex_string 1 location)$(hex_string 2 "$2")")$(hex_number 14 1)
  n=$(hex_string 1 x)$(hex_string 1 W)$(hex_string 2 y)$(hex_string 4 MatMul)
  model=$(hex_field 1 "$n")$(hex_field 5 "$w")
  model+=$(hex_field 11 "$(hex_typed x 4)")$(hex_field 12 "$(hex_typed y 3)")
  mkdir -p "$1"
  model=$(hex_number 1 8)$(hex_field 7 "$model")$(hex_field 8 "$(hex_number 2 17)")
  printf '%b' "$(sed 's/../\\x&/g' <<<"$model")" >"$1/m.onnx"
  printf '\1\0\0\0%.0s' {1..12} >"$1/$2"
}
