#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is installed builds and runs the RTL model without the source tree, also when its prefix has
# been moved.
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/lib.bash" "$@"
build=$(dirname "$wick")

check 'install' cmake --install "$build" --prefix "$tmp/prefix"
mkdir elsewhere && mv prefix elsewhere/moved
prefix=$tmp/elsewhere/moved share=$tmp/elsewhere/moved/share/wick
check 'the licence' cmp "$root/LICENSE" "$share/LICENSE"

cat >one.s <<'EOS'
.machine tiny
.memory x 0x1000 64
.random x 1
ld.ld0 dram=x n0=64 spm=0x1000 c0=64
end
EOS

# ---- what a build is given: a Verilator that notes its arguments and fails
mkdir tools
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>%q\nexit 1\n' "$tmp/arguments" >tools/verilator
chmod +x tools/verilator
# builds_from FOLDER NAME COMMAND...: it fails, and all of its sources are below FOLDER.
builds_from() {
  local folder=$1 name=$2 sources
  shift 2
  rm -f arguments
  PATH=$tmp/tools:$PATH WICK_CACHE=$tmp/none "$@" >log 2>&1 && bad "$name: builds" || good
  sources=$(grep -E '\.(sv|cpp)$' arguments | grep -v "^$tmp/none/")
  [[ $(wc -l <<<"$sources") -gt 20 && -z $(grep -v "^$folder/" <<<"$sources") ]] && good ||
    bad "$name builds from $sources: $(cat log)"
  grep -qE -- "-I$folder( |\$)" arguments && good || bad "$name includes $(grep -e -I arguments)"
  [[ $folder == "$root" ]] || ! grep -qF "$root/" arguments && good || bad "$name names the tree"
}
builds_from "$share" 'the command' "$prefix/bin/wick" sim one.s
builds_from "$share" 'a tuned model' "$prefix/bin/wick" sim --build --machine tiny --tune now
ln -s "$prefix/bin/wick" linked
builds_from "$share" 'a link to it' ./linked sim one.s
builds_from "$share" 'a relative path' env -C elsewhere moved/bin/wick sim ../one.s
builds_from "$root" 'what is not installed' "$wick" sim one.s

# ---- what the bench includes is there
included=$("${CXX:-g++}" -MM -MG -I "$share" "$share/sim/verilated/bench.cpp" | tr -d '\\' |
  tr ' ' '\n' | grep -E '^(sim|targets|compiler|runtime)/')
[[ $included == sim/verilated/registers.h ]] && good || bad "the bench also needs $included"

# ---- it runs, with the tree hidden where that is possible
command -v verilator >/dev/null || finish
cache=${WICK_CACHE:-$HOME/.cache/wick}
mkdir -p "$cache" seen
cat >hidden <<'EOS'
mount --bind "$1" seen && mount -t tmpfs none "$2" || exit 77
shift 2
WICK_CACHE=$PWD/seen exec "$@"
EOS
# without_tree COMMAND...
without_tree() {
  if unshare -rm bash hidden "$cache" "$root" true 2>/dev/null; then
    unshare -rm bash hidden "$cache" "$root" "$@"
  else
    echo 'note: no mount namespaces: the tree is not hidden'
    WICK_CACHE=$cache "$@"
  fi
}
"$wick" sim one.s --tune never >/dev/null 2>&1 # the model is in the cache: its key has no paths
gives 'the RTL' '^cycles +[0-9]' without_tree "$prefix/bin/wick" sim one.s --tune never
finish
