#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The scripts: help and refusals come before anything is installed or built, and what scripts/demo
# suggests can be run as it stands. A copy of the tree, in which installing and building only leave
# a trace, takes the place of the repository.
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/tests/cli/lib.bash" "$@"

mkdir -p tree/compiler tree/build tree/tests
cp -r "$root"/{.ci,scripts,bench,tools,examples} tree
cp -r "$root/tests/make" tree/tests
ln -s "$root"/tests/{onnx,nets,hostile,count.awk} tree/tests
ln -s "$root/compiler/zoo" tree/compiler/zoo
ln -s "$wick" tree/build/wick
for script in install build; do
  printf '#!/bin/sh\necho %s "$@" >>%q\n' $script "$PWD/trace" >tree/scripts/$script
done
printf 'add_test(alpha true)\n' >tree/build/CTestTestfile.cmake

# tells NAME STATUS PATTERN COMMAND...: one line that matches and nothing installed or built.
tells() {
  local name=$1 want=$2 pattern=$3 out status
  shift 3
  rm -f trace
  out=$("$@" 2>&1 </dev/null)
  status=$?
  if [[ $status != "$want" ]]; then bad "$name: exit status $status instead of $want: $out"
  elif [[ $(wc -l <<<"$out") != 1 ]] || ! grep -qE -- "$pattern" <<<"$out"; then
    bad "$name: says $out"
  elif [[ -e trace ]]; then bad "$name: ran $(cat trace)"
  else good; fi
}

# helps SCRIPT: --help and -h print the same, naming the script, and do nothing else.
helps() {
  local option out
  for option in -h --help; do
    rm -f trace
    if out=$("tree/$1" $option 2>&1 </dev/null) && [[ ! -e trace ]] && ! grep -q '^#' <<<"$out" &&
      [[ $(head -n 1 <<<"$out") == *"$(basename "${1/real_/}")"* ]]; then good; else
      bad "$1 $option: $out $(cat trace 2>/dev/null)"
    fi
  done
}

cp "$root/scripts/install" tree/scripts/real_install
cp "$root/scripts/build" tree/scripts/real_build
# What other programs import.
apart='/(cli|peers|runtime|caffe2_net|extents_[a-rt-z].*|extents_speech|decoder_models).py$'
for script in .ci/run scripts/{demo,test,real_install,real_build,compare_rtl,synthesise,timeline} \
  scripts/{fuzz,coverage,threads} bench/{setup,coverage,same_code,opencl} tools/{mutants,unused} \
  tools/draw_folders bench/accel_{ablation,causes,choices,speed,peak} \
  $(cd tree && ls bench/*.py tests/make/*.py tools/*.py |
    grep -vE "$apart"); do
  helps $script
  tells "$script, unknown option" 2 "^${script/real_/}: .*--frob" tree/$script --frob x
done
tells 'demo, unknown network' 2 "^scripts/demo: unknown network 'nn'; there are: .* resnet50 " \
  tree/scripts/demo nn
tells 'demo, two networks' 2 'takes one network$' tree/scripts/demo lstm unet
tells 'test, a word' 2 "^scripts/test: unknown option 'x'$" tree/scripts/test x
for n in 0 x ''; do
  tells "fuzz, --seconds '$n'" 2 "^scripts/fuzz: --seconds needs a number$" \
    tree/scripts/fuzz --seconds "$n"
done
tells 'fuzz, an unknown reader' 2 "^scripts/fuzz: no reader 'nn'; there are: .* package " \
  tree/scripts/fuzz nn
# -S: Python without its packages
for bench in bench/compare_onnxruntime.py bench/compare_quantisers.py bench/quantised_classes.py \
  'bench/integer_fidelity.py model.onnx' 'tests/make/make_caffe2_weights.py net' \
  bench/accel_quantisers.py bench/caffe2_proof.py; do
  tells "$bench without the peers" 1 \
    "^${bench%/*}/.*: needs the Python packages .*: run bench/setup$" python3 -S tree/$bench
done
tells 'compare_torch.py without PyTorch' 1 \
  "needs the Python packages .*: install Debian's python3-torch and python3-onnx and use " \
  python3 -S tree/bench/compare_torch.py
tells 'compare_torch.py, a net' 2 "^bench/.*: argument --nets: 'nn' is none of digits_cnn, mlp," \
  python3 -S tree/bench/compare_torch.py --nets mlp,nn
for bench in accel_ablation accel_causes accel_speed accel_peak opencl compile_scaling.py; do
  tells "$bench, no wick" 1 '^bench/.*: there is no /nonexist: ' tree/bench/$bench --wick /nonexist
  tells "$bench, no wick named" 1 '^bench/.*: there is no /nonexist: ' \
    env WICK=/nonexist tree/bench/$bench
  tells "$bench, a folder" 1 '^bench/.*: there is no /usr: ' tree/bench/$bench --wick /usr
done
tells 'a wick that fails' 1 '^bench/accel_speed: wick isa fails: exit status 1$' \
  tree/bench/accel_speed --wick "$(type -P false)"
for bench in accel_ablation accel_causes; do
  tells "$bench, a latency" 2 "^bench/$bench: .*'x' is no whole number" \
    tree/bench/$bench --latency 100,x
  tells "$bench, no model" 1 "^bench/$bench: there is no /nonexist$" \
    tree/bench/$bench --wick "$(type -P true)" /nonexist
done
for n in 0 -1 x 99999999999999999999; do
  tells "accel_speed, --repeat $n" 2 "^bench/accel_speed: .*--repeat: '$n' is no whole number" \
    tree/bench/accel_speed --repeat=$n
done

# scripts/install with an apt-get that does as Debian's: status lines go to the descriptor that it
# is told, which the scripts of packages do not inherit; these print, and fail where they cannot.
mkdir -p system
cat >system/apt-get <<'END'
#!/bin/bash
[[ $* != *update ]] || exit 0
fd=$(grep -oP 'APT::Status-Fd=\K\d+' <<<"$*")
echo "pmstatus:it:50:Configuring it" >&"$fd"
bash -c 'echo Setting up it' {fd}>&- || { echo 'postinst failed' && exit 100; }
[[ ! -e $(dirname "$0")/refused ]] || { echo 'E: held back' && exit 100; }
END
printf '#!/bin/sh\n' >system/dpkg-query
printf '#!/bin/bash\n[[ $1 == -n ]] && shift\nexec 3>&-\nexec "$@"\n' >system/sudo
chmod +x system/*
gives 'install, progress' '^  \[ 75%\] Configuring it$' \
  bash -c 'PATH=$PWD/system:$PATH tree/scripts/real_install 2>&1'
touch system/refused
out=$(PATH="$PWD/system:$PATH" tree/scripts/real_install 2>&1 </dev/null)
[[ $? == 1 && $out == *$'\nE: held back\n'*'apt-get could not install: build-essential '* &&
  $out != *'postinst failed'* ]] && good || bad "install, refused: $out"

# bench/opencl: refusals; what it measures, in table and JSON, where there is a device.
for n in 0 x 1,; do
  tells "opencl, --threads $n" 2 '^bench/opencl: .*--threads: .* is no whole number' \
    tree/bench/opencl --threads "$n"
done
tells 'opencl, no target' 2 "^bench/opencl: .*--targets: 'opencl,' has an empty name$" \
  tree/bench/opencl --targets opencl,
tells 'opencl, no model' 1 '^bench/opencl: there is no nn.onnx$' \
  tree/bench/opencl --targets cpu --models nn.onnx
tells 'opencl, no OpenCL' 1 '^bench/opencl: OpenCL: there is no OpenCL' \
  env WICK_OPENCL=/nonexistent tree/bench/opencl
measured=cpu opencl=
if has_device 'opencl:0 '; then measured=opencl opencl=opencl; else
  echo 'note: there is no OpenCL device: bench/opencl and the demo run without one'
fi
net=$root/tests/nets/int8/residual_qlinear/model.onnx
gives "bench/opencl, $measured" "^residual_qlinear $measured +1( +[0-9]+\\.[0-9]+){5}$" \
  tree/bench/opencl --models "$net" --targets $measured --threads 1 --rounds 1 --quick \
  --json figures.json
gives 'bench/opencl, JSON' '^    "first_start_ms": [0-9.]+,' cat figures.json
gives 'all of the help of accel_speed' '^scratchpad, so that the array never rests' \
  tree/bench/accel_speed --help
gives 'all of the help of accel_peak' '^with the functional model\. Exit status' \
  tree/bench/accel_peak --help

# bench/same_code: a build with itself, with one whose avx2 is avx512 and with one whose packages
# have another format around the same sections, or around others.
as_other() { # as_other FILE FORMAT CODE: a wick that differs so
  printf '#!/bin/bash\nformat=%q code=%q wick=%q\n' "$2" "$3" "$wick" >"$1"
  cat >>"$1" <<'END'
"$wick" "${@/#avx2/$code}" || exit 1
[[ $format && -f net.wick ]] || exit 0
(printf 'WICKPKG\0\07\0\0\0' && cat net.wick) >other && mv other net.wick
END
  chmod +x "$1"
}
same() { tree/bench/same_code "$wick" "$@" ds_cnn --cpu avx2; }
equal='^2 bundles and packages compared: all equal$'
gives 'same_code' "$equal" same "$wick"
as_other format 7 avx2
gives 'same_code, another format' "$equal" same ./format
as_other code '' avx512
as_other both 7 avx512
for other in code both; do
  if out=$(same ./$other) || ! grep -q '^ds_cnn  *avx2  *object .text ' <<<"$out" ||
    ! grep -q '^ds_cnn  *avx2  *package CODE ' <<<"$out"; then bad "same_code, $other: $out"
  else good; fi
done
gives 'same_code --time' '^ds_cnn  *avx2( *[0-9.]+){3}$' same "$wick" --time --rounds 1
tells 'same_code, one wick' 2 '^bench/same_code: needs OLD_WICK and NEW_WICK$' \
  tree/bench/same_code "$wick"
tells 'same_code, no model' 2 '^bench/same_code: nn is no file, no folder' \
  tree/bench/same_code "$wick" "$wick" nn

# tools/mutants: what it says when it does not run; lint/equivalent checks its list.
for option in --only --tests; do
  tells "mutants $option" 2 "^tools/mutants: .*$option: '\\(' is no regular expression: " \
    tree/tools/mutants $option '('
done
tells 'mutants, a number' 2 "--jobs: '0' is no whole number of 1 or more$" \
  tree/tools/mutants --jobs 0
for option in --report --list '--show 0' '--show 3'; do # with the sources, which it reads
  tells "mutants $option, nothing tried" 2 '^tools/mutants: nothing was tried yet in /' \
    "$root/tools/mutants" $option --work "$tmp/none"
  [[ ! -e none ]] && good || bad "mutants $option makes a folder"
done
survivor() { # a work folder in which the first fault that a run would try has survived
  python3 - "$root" <<'EOF'
import json, sys
sys.path.insert(0, sys.argv[1] + "/tools")
import pathlib
from mutate import faults
root = pathlib.Path(sys.argv[1])
pathlib.Path("work").mkdir()
with open("work/results.jsonl", "w") as out:
    for area in faults.AREAS:
        fault = next(faults.draw(root, area, "1"))
        print(json.dumps({"key": fault.key(root), "result": "survived", "old": "none", "new": "no",
                          "reach": 0, "left": []}), file=out)
EOF
}
check 'survivors' survivor
gives 'mutants --show 1' '^1\. .*no test reaches it$' \
  bash -c "'$root/tools/mutants' --limit 0 --work work --show 1"
for n in 0 -1 6; do
  tells "mutants --show $n" 2 "^tools/mutants: there is no survivor $n: 5 survived$" \
    "$root/tools/mutants" --work work --show $n
done
tells 'test, no expression' 2 '^scripts/test: -R needs a regular expression$' tree/scripts/test -R
rm -f trace
gives 'networks of the demo' "^Networks: $("$wick" zoo | awk '{print $1}' | xargs)$" \
  tree/scripts/demo --help
gives 'test' '^1 passed, 0 failed$' tree/scripts/test -R alpha
[[ $(cat trace) == $'install\nbuild' ]] && good || bad "test runs $(cat trace)"
for expression in beta '('; do
  out=$(tree/scripts/test -R "$expression" 2>&1)
  [[ $? == 2 && $out == "scripts/test: "*"'$expression'"* && $(wc -l <<<"$out") == 1 ]] && good ||
    bad "test -R $expression: $out"
done

tells 'build, no target' 2 '^scripts/build: --only needs a target$' tree/scripts/real_build --only
# Standard input closed, output into a file: no escape sequences; every suggestion runs.
rm -f trace
if (cd / && env TERM=xterm "$tmp/tree/scripts/demo" ds_cnn) >demo.log 2>&1 <&-; then good; else
  bad "demo: $(tail -5 demo.log)"
fi
[[ $(cat trace) == $'install\nbuild --only wick' ]] && good || bad "the demo runs $(cat trace)"
grep -q $'\e' demo.log && bad 'demo: escape sequences in a file' || good
sed -n '/^== What next/,$p' demo.log | sed -n 's/^    //p' >suggested
[[ $(wc -l <suggested) -ge 5 ]] && good || bad "demo suggests $(cat suggested)"
grep -q "^(in $tmp/tree)$" demo.log && good || bad 'demo does not say where its suggestions run'
while IFS= read -r line; do
  check 'suggestion of the demo' bash -c "cd tree && $line"
done <suggested
[[ -z $(cd tree && ls | grep -vE \
  '^(bench|build|compiler|examples|scripts|tests|tools)$') ]] && good ||
  bad "the demo and its suggestions leave $(ls tree)"
# The demo's integers are the same everywhere, and without OpenCL one line says so.
gives 'targets of the demo' \
  "^same outputs, bit for bit: cpu accel${opencl:+ $opencl} \\([0-9a-f]{64}\\)$" \
  cat demo.log
if (WICK_OPENCL=/nonexistent tree/scripts/demo ds_cnn) >none.log 2>&1 &&
  [[ $(grep -c '^OpenCL: there is no OpenCL' none.log) == 1 ]] &&
  grep -q '^same outputs, bit for bit: cpu accel (' none.log; then good; else
  bad "demo without OpenCL: $(tail -5 none.log)"
fi
# On a terminal, headings are bold unless NO_COLOR says otherwise.
for setting in '' 1; do
  on_terminal tty.log "env NO_COLOR=$setting TERM=xterm tree/scripts/demo lstm" || continue
  grep -q $'\e\\[1m== ' tty.log && found=bold || found=plain
  [[ $found == $([[ $setting ]] && echo plain || echo bold) ]] && good || bad "headings: $found"
done

# .ci/run adds up what two runs of scripts/test end with.
ci() { # NAME STATUS LAST-LINE FIRST-RUN SECOND-RUN
  local out status=0
  printf '%s\n' '#!/bin/sh' 'echo noise' "case \$* in '') $4 ;; --sanitize*) $5 ;; esac" \
    >tree/scripts/test
  tree/.ci/run >ci.log 2>&1 </dev/null || status=$?
  out=$(cat ci.log)
  [[ $(grep -c '^noise$' ci.log) == 2 ]] && good || bad "ci, $1: the log is $out"
  [[ $status == "$2" && ${out##*$'\n'} == "$3" ]] && good || bad "ci, $1: status $status, $out"
}
ci good 0 '10 passed, 0 failed, 3 skipped' 'echo 7 passed, 0 failed, 3 skipped' \
  'echo 3 passed, 0 failed'
ci 'failed tests' 1 '9 passed, 1 failed, 5 skipped' 'echo 7 passed, 0 failed, 3 skipped' \
  'echo 2 passed, 1 failed, 2 skipped; exit 1'
ci 'no summary' 1 '3 passed, 1 failed, 0 skipped' 'echo out of memory' 'echo 3 passed, 0 failed'
ci 'a bad status' 1 '5 passed, 1 failed, 0 skipped' 'echo 2 passed, 0 failed; exit 9' \
  'echo 3 passed, 0 failed'
finish
