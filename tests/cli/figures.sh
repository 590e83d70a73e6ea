#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The figures of examples/accel and docs that come from the RTL.
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/lib.bash" "$@"
if ! command -v verilator >/dev/null; then finish; fi
"$wick" sim --build >build.log 2>&1 || cat build.log
check 'figures on pages' python3 "$root/tests/figures.py" "$wick"
finish
