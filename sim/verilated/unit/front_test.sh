#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds front_test in folder OUT, with stubs for the execute and the vector engine:
#   front_test.sh WICK_PKG_SV OUT [verilator options]
# WICK_PKG_SV comes from `wick isa --sv --machine MACHINE.cfg`; then OUT/front_test MACHINE.cfg [STREAMS].
set -e
pkg=$1 out=$2
shift 2
root=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$root/sim/rtl"
verilator --cc --exe --build -j 2 -Wall --assert --x-assign unique --x-initial unique \
  --top-module wick_accel -y "$root/sim/verilated/unit/front_stubs" -y . --Mdir "$out" \
  -o front_test -CFLAGS "-std=c++17 -O2 -I$root" -MAKEFLAGS "OPT_FAST=-O2 OPT_SLOW=-O0" "$@" \
  "$pkg" wick_accel.sv "$root/sim/verilated/unit/front_test.cpp"
