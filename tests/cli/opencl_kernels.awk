# SPDX-License-Identifier: Apache-2.0
# Of each kernel of a program of PTX, a line: its name, in the block with most multiplications their
# number and instructions for each, and accesses of private memory that is no register.
function end_of_block() {
  if (products > best) { best = products; of = n }
  products = n = 0
}
/^\.visible \.entry|^\.entry/ {
  match($0, /k[0-9]+/)
  name = substr($0, RSTART, RLENGTH)
  best = of = private = products = n = 0
}
/^\$L|^\t@.*bra/ { end_of_block() }
/^\t[a-z@]/ { n++ }
/fma\.rn\.f32|dp4a|mma\.sync/ { products++ }
/(ld|st)\.local/ { private++ }
/^}/ {
  end_of_block()
  if (name) printf "%s %d %.2f %d\n", name, best, best ? of / best : 0, private
  name = ""
}
