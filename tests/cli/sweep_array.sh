#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick sweep --slurm without Slurm: the job script and the options that it hands on, tasks that are
# lost, arrays that end with points left, and what sbatch and squeue say. Of sbatch and squeue there
# are two small ones here, which run the tasks of an array one after another. sweep_slurm.sh is the
# same with Slurm itself, where that is installed.
here=$(realpath "$(dirname "$0")") nets=$(realpath "$(dirname "$0")/../nets/int8")
source "$here/lib.bash" "$@"
source "$here/sweep.bash"

# ---- two programs of Slurm -----------------------------------------------------------------------

# What they do is in the environment: LOST="ARRAY TASK POINTS" kills that task of that array when
# POINTS points are done, or before it begins; LATE is how long an array waits for a node; MUTE: no
# controller answers squeue; TERSE: it says nothing of arrays that it does not know. In $CLUSTER are
# `asked`, what sbatch was called with, and `queue`, a line for each array that is there.
mkdir slurm
cat >slurm/sbatch <<'END'
#!/bin/bash
n=$(($(wc -l <"$CLUSTER/asked") + 1))
echo "$*" >>"$CLUSTER/asked"
script=${!#} last=$(sed -n 's/.*--array=0-\([0-9]*\) .*/\1/p' <<<"$*")
log=$(sed -n 's/^#SBATCH.* --output=\([^ ]*\)$/\1/p' "$script")
run() {
  local task name pid
  sleep "${LATE:-0}"
  for ((task = 0; task <= last; task++)); do
    name=${log//%A/$n} name=${name//%a/$task}
    [[ "$n $task 0" == "${LOST-}" ]] && echo lost >"$name" && continue
    SLURM_ARRAY_TASK_ID=$task setsid "./$script" >"$name" 2>&1 &
    pid=$!
    while [[ "$n $task" == "${LOST% *}" ]] && kill -0 $pid; do
      (($(grep -c done ../log) >= ${LOST##* })) && kill -9 -- -$pid
    done
    wait $pid
  done
  sed -i "/^$n\$/d" "$CLUSTER/queue"
}
chmod +x "$script"
echo $n >>"$CLUSTER/queue"
run </dev/null >/dev/null 2>&1 &
echo "$n;cluster"
END
cat >slurm/squeue <<'END'
#!/bin/bash
[[ ${MUTE-} ]] && echo 'slurm_load_jobs error: Unable to contact slurm controller' && exit 1
id=${!#}
grep -x "${id#--jobs=}" "$CLUSTER/queue" && exit
[[ ${TERSE-} ]] && exit
echo 'slurm_load_jobs error: Invalid job id specified'
exit 1
END
chmod +x slurm/*
export CLUSTER=$tmp PATH=$tmp/slurm:$PATH
arrays() { wc -l <"$CLUSTER/asked"; }
# submits NAME LINES COMMAND…: `gives`, on a cluster that nobody has used.
submits() {
  truncate --size=0 "$CLUSTER/asked" "$CLUSTER/queue"
  gives "$@"
}

# ---- one array -----------------------------------------------------------------------------------

cnn=$nets/cnn_qdq/model.onnx
space=("$cnn" "$nets/gru_qdq/model.onnx"
  --set dram_latency=50,100,200 --set scratchpad=65536,131072)
all='^12 points, 0 failed; 12 computed now$'
gives 'here' "$all" "$wick" sweep "${space[@]}" -o here
submits 'two tasks' "$all" "$wick" sweep "${space[@]}" --slurm -j 2 -o two
same 'the same rows' here two
once 'two tasks: nothing twice' two
check 'one array, of so many tasks' test "$(cat asked)" = '--parsable --array=0-1 job.sh'
check 'what the tasks say is kept' test -f two/slurm/1_0.log -a -f two/slurm/1_1.log
submits 'nothing left to submit' '^12 points, 0 failed; 0 computed now$' "$wick" sweep \
  "${space[@]}" --slurm -o two
check 'nothing is' test "$(arrays)" = 0
submits 'as many tasks as are wanted, but no more than points' '^3 points, 0 failed; 2 computed' \
  "$wick" sweep "$cnn" --set dram_latency=50,55,60 --set scratchpad=65536 --slurm -o two
check 'two points, two tasks' test "$(cat asked)" = '--parsable --array=0-1 job.sh'
submits 'sixteen tasks, if nobody says how many' '^20 points, 0 failed; 20 computed now$' "$wick" \
  sweep "$cnn" --model schedule --slurm -o many \
  --set dram_latency="$(seq -s, 50 69)"
check 'sixteen' test "$(cat asked)" = '--parsable --array=0-15 job.sh'

# ---- the job script ------------------------------------------------------------------------------

mkdir "it's here"
cp "$cnn" "it's here/a'b.onnx"
cd "it's here" || exit
submits 'names with quotes' '^2 points, 0 failed; 2 computed now$' "$wick" sweep "a'b.onnx" \
  -o "o'o" --set dram_latency=50 --set scratchpad=65536 --prefetch auto,off --model schedule \
  --timeout 70 --strict-opset --slurm -j 1
cat >want <<END
#!/bin/sh
#SBATCH --job-name=wick-sweep --no-requeue --output=%A_%a.log
cd '$tmp/it'\\''s here' || exit
exec '$wick' sweep --set 'dram_latency=50' --set 'scratchpad=65536' --prefetch 'auto,off'\
 --model 'schedule' --strict-opset --output 'o'\\''o' --timeout '70' --jobs 1\
 --task "\$SLURM_ARRAY_TASK_ID/1" -- 'a'\\''b.onnx'
END
check 'the script' cmp want "o'o/slurm/job.sh"
cd "$tmp" || exit

# ---- what is lost --------------------------------------------------------------------------------

LOST='1 0 2' submits 'the only task is lost' "$all" "$wick" sweep "${space[@]}" --slurm -j 1 -o lost
same 'the same rows in spite of it' here lost
once 'nothing twice in spite of it' lost
check 'there was a second array' test "$(arrays)" = 2
check 'one point was begun twice' test "$(sort lost/log | uniq -d | wc -l)" -le 1
LOST='1 0 0' submits 'the other task takes its points' "$all" "$wick" sweep "${space[@]}" --slurm \
  -j 2 -o other
check 'without another array' test "$(arrays)" = 1
same 'the same rows from the other' here other

# Points that no task computes: three arrays, then no more. A machine that cannot be is no point.
mkdir idle
cat >idle/sbatch <<'END'
#!/bin/sh
sed -i '$d' job.sh
exec "$CLUSTER/slurm/sbatch" "$@"
END
chmod +x idle/sbatch
vain() {
  PATH=$tmp/idle:$PATH TERSE=1 "$wick" sweep "$cnn" --set dram_latency=50,51,52 \
    --set scratchpad=1,65536 --slurm -o here | tee vain
}
submits 'tasks that do nothing' '^6 points, 5 failed; 0 computed now$' vain
check 'and why' grep -qx " *2  lost by 3 arrays of Slurm jobs; $tmp/here/slurm has what they said" \
  vain
check 'three arrays' test "$(arrays)" = 3
# ---- what Slurm says -----------------------------------------------------------------------------

one=("$cnn" --set dram_latency=70 --slurm -j 1)
LATE=4 MUTE=1 submits 'a controller that does not answer has the array' \
  '^1 point, 0 failed; 1 computed now$' timeout 60 "$wick" sweep "${one[@]}" -o late
check 'which is the only one' test "$(arrays)" = 1
# says NAME CODE TEXT PATTERN: what comes of an sbatch that prints TEXT and ends with CODE.
says() {
  mkdir -p said
  printf '#!/bin/sh\n%s\nexit %d\n' "$3" "$2" >said/sbatch
  chmod +x said/sbatch
  PATH=$tmp/said:$PATH "$wick" sweep "${one[@]}" -o said >said.out 2>said.err
  check "$1: ends" test $? = 6 -a ! -s said.out
  check "$1: says so" grep -qx "wick: --slurm: cannot submit: $4" said.err
}
ended='sbatch ended with exit status'
says 'no partition' 1 'echo "error: no partition" >&2; echo more' \
  "$ended 1: error: no partition; more"
says 'a failure without a word' 3 '' "$ended 3, and it said nothing"
says 'a failure with empty lines' 4 'echo; echo' "$ended 4, and it said nothing"
says 'an answer that is no number' 0 'echo later' 'sbatch named no job: later'
says 'a number in spite of a failure' 1 'echo 7' "$ended 1: 7"
says 'a number that is none' 0 'echo 7 jobs' 'sbatch named no job: 7 jobs'
says 'no answer' 0 '' 'sbatch named no job, and it said nothing'
says 'a death' 0 'kill -9 $$' 'sbatch ended with exit status 137.*'
says 'what is not there' 127 'echo "sh: sbatch: not found"' 'there is no sbatch: sh: .*'
mv slurm/sbatch slurm/real
printf '#!/bin/sh\necho "sbatch: warning: late" >&2\necho "$("${0%%sbatch}real" "$@");cluster"\n' \
  >slurm/sbatch && chmod +x slurm/sbatch
submits 'a warning before the number, a cluster behind it' \
  '^1 point, 0 failed; 1 computed now$' timeout 60 "$wick" sweep "${one[@]}" -o warned
mv slurm/real slurm/sbatch
rm -r said/slurm && touch said/slurm
refuses 'no folder for the job script' 5 "^wick: $tmp/said/slurm/job.sh: .*: Not a directory$" \
  "$wick" sweep "${one[@]}" -o said
refuses 'a task that would submit' 2 \
  '^wick: --task is for the processes that --slurm starts: give one of them$' "$wick" sweep \
  "${one[@]}" -o late --task 0/1

# ---- explore -------------------------------------------------------------------------------------

printf '%s\n' 'array = [32, 8, 16];' 'bus = [16, 32];' >space.cfg
search=(explore "$cnn" --space space.cfg --confirm 0)
"$wick" "${search[@]}" -o found >/dev/null
submits 'a search' '^6 machines: .*; [1-9][0-9]* points computed now$' "$wick" "${search[@]}" \
  --slurm -j 2 -o array
check 'its array has the tasks that are wanted, in all stages' \
  test "$(cat asked)" = '--parsable --array=0-1 job.sh'
check 'it finds the same' cmp found/explore.json array/explore.json
check 'its script' grep -q "^exec '$wick' explore --space 'space.cfg' --confirm '0' " \
  array/slurm/job.sh
finish
