#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds vec_test for N lanes in folder OUT: vec_test.sh N WICK_PKG_SV OUT [verilator options]
set -e
n=$1 pkg=$2 out=$3
shift 3
root=$(cd "$(dirname "$0")/../../.." && pwd)
case $n in
8) tables=4 spm=65536 ;;
16) tables=8 spm=262144 ;;
32) tables=8 spm=1048576 ;;
esac
cd "$root/sim/rtl"
verilator --cc --exe --build -j 2 -Wall --assert --x-assign unique --x-initial unique --top-module wick_vec \
  -GN="$n" -GTables=$tables -GScratchpadBytes=$spm -y . --Mdir "$out" -o vec_test \
  -CFLAGS "-std=c++17 -O2 -I$root -DVEC_N=$n -DVEC_TABLES=$tables -DVEC_SPM=$spm" "$@" \
  "$pkg" wick_vec_pkg.sv wick_vec.sv "$root/sim/verilated/unit/vec_test.cpp"
