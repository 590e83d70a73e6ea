# SPDX-License-Identifier: Apache-2.0
# What the scripts of this folder share: `source lib.bash "$@"`, checks, `finish`. The argument is
# the wick executable. Everything happens in a folder of its own, which is removed at the end.
set -uo pipefail
export LC_ALL=C
wick=$(realpath "${1:?usage: SCRIPT WICK}")
wanted=$(realpath "$(dirname "${BASH_SOURCE[0]}")")/printed
tmp=$(mktemp -d)
clean_up() { rm -rf "$tmp" "$tmp".sanitizer.*; }
trap clean_up EXIT
cd "$tmp" || exit 1
passed=0 failed=0
# Memory that nobody has written holds no zeros: whoever reads past the end of a list does not find
# one that ends it.
export MALLOC_PERTURB_=165
# What sanitizers say, of whichever process and wherever its output goes.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}log_path=$tmp.sanitizer
export UBSAN_OPTIONS=${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}log_path=$tmp.sanitizer
export TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}log_path=$tmp.sanitizer
# Under pipefail, what `grep -q` ends early has failed: -c reads to the end.
has_device() { (($("$wick" devices 2>/dev/null | grep -c "^$1"))); }
has_thread_sanitizer() { (($(nm "$wick" | grep -c __tsan_init))); }
is_sanitized() { (($(nm "$wick" | grep -c __asan_init))); }
has_loader() { (($(ldconfig -p 2>/dev/null | grep -c 'libOpenCL\.so\.1'))); } # OpenCL's

good() { passed=$((passed + 1)); }
bad() {
  failed=$((failed + 1))
  echo "FAILED $*"
}
finish() {
  local report
  for report in "$tmp".sanitizer.*; do
    [[ ! -e $report ]] || { bad 'a sanitizer says:' && head -30 "$report"; }
  done
  echo "$passed passed, $failed failed"
  exit $((failed > 0))
}

# check NAME COMMAND...: the command succeeds.
check() {
  local name=$1
  shift
  if "$@" >"$tmp.log" 2>&1; then good; else
    bad "$name: $*"
    head -5 "$tmp.log"
  fi
  rm -f "$tmp.log"
}

# on_terminal FILE COMMAND: runs a shell command on a pseudo-terminal and keeps what it shows there.
# False where there are none, as in some chroots; a note says so.
on_terminal() {
  if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    script -qec "$2" /dev/null </dev/null >"$1" 2>&1 || true
  else
    echo 'note: there are no pseudo-terminals: what terminals show is not tested'
    return 1
  fi
}

# A stream for machine tiny: four copies, each a load, a move and a store.
stream_of_copies() {
  cat <<'EOF'
.machine tiny
.memory x 0x1000 4096
.memory y 0x4000 4096
.random x 1
.for i 0 4
x{i}: ld.ld0 dram=x+i*1024 n0=1024 spm=i*1024 c0=1024 op=i
m{i}: map fn=move a=i*1024 out=0x2000+i*1024 n0=128 op=i  wait x{i}
y{i}: st dram=y+i*1024 n0=1024 spm=0x2000+i*1024 c0=1024 op=i  wait m{i}
.end
end
EOF
}

# gives NAME PATTERN COMMAND...: the command succeeds and a line of its stdout matches.
gives() {
  local name=$1 pattern=$2 out
  shift 2
  if out=$("$@" 2>"$tmp.log") && grep -qE -- "$pattern" <<<"$out"; then good; else
    bad "$name: $* gives"
    head -5 <<<"$out"
    head -5 "$tmp.log"
  fi
  rm -f "$tmp.log"
}

# refuses NAME CODE PATTERN COMMAND...: exit status CODE, nothing on stdout, one line on stderr that
# begins with "wick: " and matches, and no file left behind.
refuses() {
  local name=$1 code=$2 pattern=$3 out err status before after
  shift 3
  before=$(find . | sort)
  out=$("$@" 2>"$tmp.err")
  status=$?
  err=$(cat "$tmp.err")
  rm -f "$tmp.err"
  after=$(find . | sort)
  if [[ $status != "$code" ]]; then bad "$name: exit status $status instead of $code: $err"
  elif [[ -n $out ]]; then bad "$name: prints $out"
  elif [[ $(wc -l <<<"$err") != 1 || $err != "wick: "* ]]; then bad "$name: says $err"
  elif ! grep -qE -- "$pattern" <<<"$err"; then bad "$name: says $err instead of $pattern"
  elif [[ $before != "$after" ]]; then
    bad "$name: leaves $(comm -13 <(echo "$before") <(echo "$after"))"
  else good; fi
}

# prints NAME COMMAND...: standard output is tests/cli/printed/NAME.txt, whole. BLESS=1 writes these
# files anew. Times, checksums and the sizes of generated code are left out; of ranges three
# digits stay, of signal to noise one, so that processors that round otherwise do not matter.
prints() {
  local name=$1 status
  shift
  "$@" 2>/dev/null | sed -E "s,${examples:-/none}/,,g
    /^((compile time|section|size|time) |output  )|\"(([a-z]+_)?seconds|output_bytes)\":/d
    s/(_db\": -?[0-9]+\.[0-9])[0-9]*/\1/
    s/(\"(min|max|scale)\": -?[0-9]*\.0*[1-9][0-9]{2})[0-9]+/\1/
    s/\"wick [0-9.]+\"/\"wick\"/
    s/^(compiler +wick) [0-9.]+$/\1/" >printed
  status=${PIPESTATUS[0]}
  ((status <= 7)) || bad "$name: exit status $status"
  [[ ${BLESS-} ]] && cp printed "$wanted/$name.txt"
  if cmp -s printed "$wanted/$name.txt"; then good; else
    bad "$name: $*"
    diff "$wanted/$name.txt" printed | head -6
  fi
}

# ---- files: ONNX is protobuf; texts and small numbers need no more than this. No byte may be 0. --

byte() { printf '%b' "\\x$(printf %02x "$1")"; }
# field NUMBER TEXT: a length-delimited field of up to 16383 bytes.
field() {
  byte $(($1 * 8 + 2))
  if ((${#2} > 127)); then byte $((${#2} % 128 + 128)) && byte $((${#2} / 128)); else byte ${#2}; fi
  printf '%s' "$2"
}
# number FIELD VALUE: 1 to 127.
number() { byte $(($1 * 8)) && byte "$2"; }
# value NAME ELEMENT_TYPE DIM...: a ValueInfoProto. A DIM that is no number is a symbol.
value() {
  local name=$1 type=$2 dims='' d
  shift 2
  for d; do
    if [[ $d =~ ^[0-9]+$ ]]; then dims+=$(field 1 "$(number 1 "$d")")
    else dims+=$(field 1 "$(field 2 "$d")"); fi
  done
  field 1 "$name"
  field 2 "$(field 1 "$(number 1 "$type")$(field 2 "$dims")")"
}
# node OP INPUTS OUTPUT: a NodeProto.
node() {
  local x
  for x in $2; do field 1 "$x"; done
  field 2 "$3"
  field 3 "the_$3"
  field 4 "$1"
}
# model NODES INPUTS OUTPUTS: each is a list of encoded messages, already fields of the graph.
model() {
  number 1 8
  field 7 "$1$(field 2 graph)$2$3"
  field 8 "$(number 2 13)"
}
# npy FILE DESCR SHAPE: zeros.
npy() {
  local head count=1 d size=${2: -1}
  for d in ${3//,/ }; do count=$((count * d)); done
  head=$(printf "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" "$2" "$3")
  while (((11 + ${#head}) % 64)); do head+=' '; done
  printf '\x93NUMPY\x01\x00%b\x00%s\n' "\\x$(printf %02x $((${#head} + 1)))" "$head" >"$1"
  head -c $((count * size)) /dev/zero >>"$1"
}
# flip FILE OFFSET: inverts a byte.
flip() {
  local b
  b=$(od -An -tu1 -j "$2" -N 1 "$1")
  byte $((255 - b)) >"$tmp.byte"
  ((b == 255)) && printf '\x00' >"$tmp.byte"
  dd if="$tmp.byte" of="$1" bs=1 seek="$2" conv=notrunc status=none
  rm "$tmp.byte"
}
# relu.onnx: y = relu(x), x f32[2,3]. symbolic.onnx: x f32[n,3].
small_models() {
  model "$(field 1 "$(node Relu x y)")" "$(field 11 "$(value x 1 2 3)")" \
    "$(field 12 "$(value y 1 2 3)")" >relu.onnx
  model "$(field 1 "$(node Relu x y)")" "$(field 11 "$(value x 1 n 3)")" \
    "$(field 12 "$(value y 1 n 3)")" >symbolic.onnx
}
