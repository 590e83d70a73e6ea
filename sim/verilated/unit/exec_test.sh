#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds exec_test for an array of N lanes in folder OUT: exec_test.sh N WICK_PKG_SV OUT [verilator options]
# WICK_PKG_SV comes from `wick isa --sv --machine FILE`. For a figure of speed: --x-assign fast
# --noassert -MAKEFLAGS 'OPT_FAST=-O3\ -march=native', then exec_test --speed.
set -e
n=$1 pkg=$2 out=$3
shift 3
root=$(cd "$(dirname "$0")/../../.." && pwd)
case $n in
8) acc=512 spm=65536 ;;
16) acc=1024 spm=262144 ;;
32) acc=2048 spm=1048576 ;;
esac
cd "$root/sim/rtl"
verilator --cc --exe --build -j 2 -Wall --top-module wick_exec -GN="$n" -GAccEntries=$acc -GScratchpadBytes=$spm \
  -y . --Mdir "$out" -o exec_test -CFLAGS -DN=$n -CFLAGS -DACC=$acc -CFLAGS -DSPM=$spm -CFLAGS -I$root -CFLAGS -I$root/sim/verilated/unit -CFLAGS -O2 "$@" \
  "$pkg" wick_exec_pkg.sv wick_exec.sv "$root/sim/verilated/unit/exec_test.cpp"
