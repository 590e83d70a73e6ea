# SPDX-License-Identifier: Apache-2.0
# What commands leave, for tests of it; behind lib.bash. Where sanitizers look for leaks themselves,
# there is nothing to do.
counter=$(dirname "$wick")/libleak_counter.so
if [[ ! -e $counter ]]; then
  echo 'note: sanitizers look for leaks themselves'
  finish
fi

# tidy NAME STATUS COMMAND...: the command ends with this status and leaves nothing.
tidy() {
  local name=$1 want=$2 status
  shift 2
  rm -f "$tmp/left"
  WICK_LEAKS=$tmp/left LD_PRELOAD=$counter "$wick" "$@" >out 2>err
  status=$?
  [[ $status == "$want" ]] || bad "$name: exit status $status: $(head -2 err)"
  if [[ -e $tmp/left && ! -s $tmp/left ]]; then good; else
    bad "$name leaves (addr2line says of what): $(head -3 "$tmp/left" | tr '\n' ' ')"
  fi
}
# all_tidy: lines of standard input are a status and the words of a command.
all_tidy() {
  local status line words
  while read -r status line; do
    eval "words=($line)"
    tidy "${words[*]}" "$status" "${words[@]}"
  done
}
