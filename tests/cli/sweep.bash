# SPDX-License-Identifier: Apache-2.0
# What tests of `wick sweep` share; behind lib.bash.

# table DIR: its rows, but for how long they took.
table() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) keep[i] = $i !~ /_seconds$/ }
    { for (i = 1; i <= NF; i++) if (keep[i]) printf "%s,", $i; print "" }' "$1/points.csv"
}
# same NAME A B: two folders have the same table.
same() { check "$1" diff <(table "$2") <(table "$3"); }
# once NAME DIR: no point was computed a second time after its row was there.
once() {
  check "$1" awk '$1 == "done" { if (done[$2]++) bad = 1 } $1 == "start" && done[$2] { bad = 1 }
    END { exit bad }' "$2/log"
}
