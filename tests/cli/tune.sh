#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tuned cycle models: which one runs, what happens when none can be made, two builds at once.
source "$(dirname "$0")/lib.bash" "$@"
build=$(dirname "$wick")

cat >marks.s <<'EOS'
.machine tiny
fill.ld0 value=3 spm=0 c0=64
mark row=0
end
EOS

refuses 'with a waveform' 2 '^wick: --tune now has no effect with --fst$' \
  "$wick" sim marks.s --tune now --fst 0:1
refuses 'with coverage' 2 '^wick: --tune now has no effect with --coverage$' \
  "$wick" sim marks.s --tune now --coverage c.dat
refuses 'of a model in C' 2 '^wick: --tune needs --model rtl$' \
  "$wick" sim marks.s --tune now --model timing
refuses 'at no time' 2 'soon' "$wick" sim marks.s --tune soon

if ! real=$(command -v verilator); then finish; fi
mkdir fake
# Verilator, which writes down that it was called; with FAIL set it makes no model that counts.
cat >fake/verilator <<EOS
#!/bin/sh
echo called >>'$PWD/calls'
case "\$FAIL \$*" in 1*-fprofile-generate*) echo 'no such thing today'; exit 1 ;; esac
exec '$real' "\$@"
EOS
chmod +x fake/verilator
fails() { ! "$@"; }
with_fake() { env PATH="$PWD/fake:$PATH" WICK_CACHE="$PWD/cache" "$@"; }

# Without the tools, or when one of them fails, the plain model runs.
with_fake "$wick" sim --build --machine tiny >built 2>/dev/null
check 'a plain model' grep -qx 'the plain RTL model of machine tiny is ready' built
with_fake env FAIL=1 "$wick" sim marks.s --tune now >out 2>err
check 'a failed tuning is no failure of the run' test $? = 0
gives 'which says why' 'no such thing today|needs .*llvm-profdata-19' cat err
gives 'and what runs' '^wick: the model is not tuned: the plain one runs$' cat err
gives 'in the report, too' '^model +rtl, plain$' cat out
check 'as JSON' \
  bash -c "WICK_CACHE='$PWD/cache' '$wick' sim marks.s --json - 2>/dev/null |
    grep -qx ' \"build\": \"plain\",'"
check 'a build that was to be tuned fails' \
  fails with_fake env FAIL=1 "$wick" sim --build --machine tiny --tune now
check 'a package of two parts' "$build/accel_package" two.wick
with_fake env FAIL=1 "$wick" sim two.wick --tune now >out 2>err
check 'nor is it one of a package' test $? = 0
check 'which is tried once' test "$(grep -c 'the plain one runs' err)" = 1
check 'and runs whole' test "$(grep -cx 'model  *rtl, plain' out)" = 2
check 'nothing is left of either' test "$(ls cache | wc -l)" = 1

# With them, a tuned one is made once, whoever asks, and taken from then on.
if ! command -v llvm-profdata-19 >/dev/null || ! echo 'int main() {}' |
  clang++-19 -fprofile-generate -x c++ - -o /dev/null 2>/dev/null; then
  finish
fi
rm calls
with_fake "$wick" sim --build --machine tiny --tune now >first 2>/dev/null &
with_fake "$wick" sim marks.s --tune now >second 2>/dev/null
check 'one at the same time' test $? = 0
wait $!
check 'the other' grep -qx 'the tuned RTL model of machine tiny is ready' first
gives 'both have it' '^model +rtl, tuned$' cat second
check 'made once, in two steps' test "$(wc -l <calls)" = 2
check 'and nothing is left but it' test "$(ls cache | wc -l)" = 2
gives 'taken without a word' '^model +rtl, tuned$' with_fake "$wick" sim marks.s
gives 'unless it is not wanted' '^model +rtl, plain$' with_fake "$wick" sim marks.s --tune never
with_fake "$wick" sim two.wick --json tuned.json --csv tuned.csv >out 2>/dev/null
check 'taken for a package' test "$(grep -cx 'model  *rtl, tuned' out)" = 2
check 'as its JSON says' test "$(grep -c '"build": "tuned"' tuned.json)" = 2
with_fake "$wick" sim two.wick --tune never --csv plain.csv >out 2>/dev/null
check 'or not for it' test "$(grep -cx 'model  *rtl, plain' out)" = 2
check 'with the same cycles' cmp tuned.csv plain.csv
check 'wick run takes it' with_fake "$wick" run two.wick --model rtl
check 'nothing was built for that' test "$(wc -l <calls)" = 2
finish
