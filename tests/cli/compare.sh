#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick compare, whole, of models with branches and loops, on the host and in parts of a target that
# computes something else: what runs, how often, on which values, and what is said of it.
root=$(realpath "$(dirname "$0")/../..")
source "$(dirname "$0")/lib.bash" "$@"
small_models

# ---- a target that adds one, whatever it should compute ------------------------------------------

# It takes operators named own…, as they are; GRAPH: as one that takes graphs, STEPS: with a step
# that can be observed, ALONE: it has no code for an instruction that stands alone, ADMITS: it
# cannot have own_second and own_fourth when it has them.
cat >plus.c <<'C'
#include <string.h>
#include "compiler/package/program.h"
#include "compiler/target/plugin.h"
#include "runtime/device.h"
static bool supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                     const char **reason) {
  *reason = "it is not its own";
  return n->op == WK_OP_MAP && n->name && !strncmp(n->name, "own", 3);
}
static bool fuses(const wk_instance *t, const wk_graph *g, const wk_node *fused) { return false; }
static bool admits(const wk_instance *t, const wk_graph *part, wk_arena *a, wk_node_id *node,
                   const char **reason) {
  for (wk_node_id i = 0; i < part->nodes.n; i++)
    if (part->nodes.data[i].name && (!strcmp(part->nodes.data[i].name, "own_second") ||
                                     !strcmp(part->nodes.data[i].name, "own_fourth")))
      return *node = i, *reason = "it has no room for it", false;
  return true;
}
static wk_status compile(const wk_instance *t, const wk_target_part *parts, size_t n,
                         const wk_emit_options *o, wk_package *pkg, uint32_t *row,
                         wk_emit_result *result) {
  uint32_t unit = wk_package_add_unit(pkg, &(wk_package_unit){.target = t->target->name});
  wk_arena *a = wk_arena_new();
  wk_status s = NULL;
  for (size_t k = 0; k < n && !s; k++) {
    wk_package_part part = wk_package_part_of(parts[k].program, parts[k].name, unit, a);
#ifdef ALONE
    if (parts[k].program->inputs.data[0].type.dtype == WK_U8)
      s = wk_error(WK_UNSUPPORTED, "nothing stands alone");
#endif
#ifdef STEPS
    wk_package_tensor *left = wk_arena_memdup(a, part.outputs, part.n_outputs * sizeof *left);
    for (uint32_t i = 0; i < part.n_outputs; i++)
      left[i].place = WICK_PLACE_OUTPUT, left[i].index = i;
    part.steps = &(wk_package_step){.node = "one", .op = "map", .text = "", .tensors = left,
                                    .n_tensors = part.n_outputs};
    part.n_steps = 1;
#endif
    row[k] = wk_package_add_part(pkg, &part);
  }
  wk_arena_free(a);
  return s;
}
static const wk_target target;
static wk_instance instance = {.target = &target, .is_here = true};
static wk_status open_plus(const char *spec, wk_instance **out) { return *out = &instance, NULL; }
static void close_plus(wk_instance *t) {}
static const wk_target target = {.name = "plus", .doc = "adds one", .open = open_plus,
#ifdef GRAPH
                                 .takes_graph = true,
#endif
#ifdef ADMITS
                                 .admits = admits,
#endif
                                 .close = close_plus, .supports = supports, .fuses = fuses,
                                 .compile = compile};
WK_TARGET_PLUGIN(target)

static wick_status probe(const wick_device_unit *u, wick_error_detail *e) { return WICK_OK; }
static wick_status load(const wick_device_unit *u, void **out, wick_error_detail *e) {
  return *out = (void *)u, WICK_OK;
}
static void nothing(void *x) {}
static wick_status open_context(void *loaded, const uint32_t *parts, uint32_t n, uint32_t threads,
                                void **context, wick_error_detail *e) {
  return *context = loaded, WICK_OK;
}
static wick_status run(void *context, const wick_device_job *job, uint32_t step,
                       wick_error_detail *e) {
  const wick_part_info *p = ((const wick_device_unit *)context)->parts[job->part].info;
  const float *x = job->io[0];
  for (uint32_t k = 0; k < p->output_count; k++)
    for (size_t i = 0; i < p->outputs[k].bytes / 4; i++)
      ((float *)job->io[p->input_count + k])[i] = x[i] + 1;
  return WICK_OK;
}
static wick_status submit(void *context, const wick_device_job *job, uint64_t *ticket,
                          wick_error_detail *e) {
  *ticket = 0;
#ifdef STEPS
  return wick_device_run_steps(context, job, NULL, run, context, e);
#endif
  return run(context, job, 0, e);
}
static wick_status read_tensor(void *context, const wick_device_job *job, uint32_t step,
                               uint32_t tensor, void *dense, wick_error_detail *error) {
  return wick_device_gather(context, job, NULL, step, tensor, dense), WICK_OK;
}
static const wick_device device = {.size = sizeof device, .version = WICK_DEVICE_VERSION,
                                   .target = "plus", .doc = "", .probe = probe, .load = load,
                                   .unload = nothing, .open = open_context, .close = nothing,
                                   .submit = submit, .read = read_tensor};
const wick_device *wick_device_plugin(void) { return &device; }
C
plugin() { # FILE.so OPTION...
  ${CC:-cc} -std=gnu11 -w -fPIC -shared -I"$root" -I"$(dirname "$wick")/generated" "${@:2}" \
    plus.c -o "$1" || bad "cannot compile $1"
}
plugin plus.so
plugin alone.so -DALONE
plugin graph.so -DGRAPH
plugin steps.so -DGRAPH -DSTEPS
plugin stepped.so -DSTEPS
plugin admits.so -DADMITS
counter=$(dirname "$wick")/libleak_counter.so # sanitizers look for leaks themselves
[[ -e $counter ]] || counter=
on() { # PLUGIN OPTION...: on its target and the host; nothing is left behind
  rm -f "$tmp.left"
  WICK_LEAKS=$tmp.left LD_PRELOAD=$counter \
    "$wick" compare "${@:2}" --plugin "./$1.so" --target plus --cpu x86-64
  [[ ! $counter || -e $tmp.left ]] && [[ ! -s $tmp.left ]] || echo "leaves $(head -3 "$tmp.left")"
  rm -f "$tmp.left"
}

# ---- models --------------------------------------------------------------------------------------

v() { # input|output NAME TYPE SIZE...
  local d
  printf '%s { name: "%s" type { tensor_type { elem_type: %s shape {' "$1" "$2" "$3"
  for d in "${@:4}"; do printf ' dim { dim_value: %s }' "$d"; done
  echo ' } } } }'
}
n() { # OP INPUTS OUTPUTS NAME [ATTRIBUTES]; input - is none
  local x
  printf 'node { op_type: "%s" name: "%s"' "$1" "$4"
  for x in $2; do printf ' input: "%s"' "${x#-}"; done
  for x in $3; do printf ' output: "%s"' "$x"; done
  echo "${5-} }"
}
body() { echo " attribute { name: \"$1\" type: GRAPH g { name: \"$1\" ${*:2} } }"; }
int() { echo " attribute { name: \"$1\" type: INT i: $2 }"; }
f32() { # NAME SHAPE NUMBER...: of whole numbers from 1 to 6, - in front: of less than 0
  local name=$1 shape=$2 x
  local -A high=([1]='\x80\x3f' [2]='\x00\x40' [3]='\x40\x40' [4]='\x80\x40' [5]='\xa0\x40'
    [6]='\xc0\x40' [-1]='\x80\xbf' [-2]='\x00\xc0' [-3]='\x40\xc0' [-4]='\x80\xc0')
  shift 2
  npy "$name.npy" '<f4' "$shape"
  for x; do printf '\x00\x00%b' "${high[$x]}"; done |
    dd of="$name.npy" bs=1 seek=$(($(stat -c %s "$name.npy") - 4 * $#)) conv=notrunc status=none
}
begin='ir_version: 8 opset_import { version: 17 } graph { name: "g"'
f32 x 2,3 1 -2 3 4 -3 6
f32 pair 1,2 3 -2
f32 other 1,2 -4 5
for b in 0 1; do npy $b.npy '|b1' 1 && sed -i 's/(1,), }/(), }  /' $b.npy; done
printf '\x01' | dd of=1.npy bs=1 seek=$(($(stat -c %s 1.npy) - 1)) conv=notrunc status=none

# A branch in a branch; the arms have one instruction, two and none of a part's own.
within=$(n If d 'u' within "$(
  body then_branch "$(n Relu e u1 relu)$(n Neg u1 u2 own_neg)" "$(v output u2 1 2 3)")$(
  body else_branch "$(n Neg e u3 own_other)$(n Abs u3 u4 abs_other)$(n Neg u4 u5 own_second)" \
    "$(v output u5 1 2 3)")")
{
  echo "$begin" && v input x 1 2 3 && v input c 9 && v input d 9
  v output y 1 2 3 && v output z 1 2 3
  n Abs x a own_abs && n MatMul 'a w' e product && n If c y choose "$(
    body then_branch "$(n Neg e t1 own_first)$(n MatMul 't1 w' t2 again)$within$(
      n Add 't2 u' t3 sum)" "$(v output t3 1 2 3)")$(
    body else_branch "$(n Neg e e1 own_last)$(n MatMul 'e1 w' e2 more)" "$(v output e2 1 2 3)")"
  n Neg y y1 own_end && n MatMul 'y1 w' z behind
  echo 'initializer { name: "w" dims: 3 dims: 3 data_type: 1'
  printf ' float_data: %s' 1 2 0 0 1 2 2 0 1 && echo ' } }'
} >if.onnxtxt

# A loop in a loop. What both collect is weighed, so that the result tells which ran with what. To
# add one is right.
inner=$(body body "$(v input j 7)" "$(v input c2 9)" "$(v input b 1 1 2)" \
  "$(n Neg b b1 own_inner)" "$(n Cast j jf cast_j "$(int to 1)")" \
  "$(n Sub 'b1 jf' b2 sub)" "$(n Identity c2 c3 same)" "$(n Abs b2 b4 size)" \
  "$(v output c3 9)" "$(v output b2 1 1 2)" "$(v output b4 1 1 2)")
outer=$(body body "$(v input i 7)" "$(v input c 9)" "$(v input a 1 1 2)" \
  "$(n Loop 'two - a' 'a1 s1' inner "$inner")" "$(n Cast i if cast_i "$(int to 1)")" \
  "$(n Mul 's1 v' s2 weigh_sizes)" "$(n ReduceSum s2 s3 sizes "$(int keepdims 0)")" \
  "$(n Add 'a1 if' a3 add)" "$(n Add 'a3 s3' a2 add_sizes)" "$(n Identity c more same_too)" \
  "$(n Neg a2 s own_scan)" "$(v output more 9)" "$(v output a2 1 1 2)" "$(v output s 1 1 2)")
{
  echo "$begin" && v input x 1 1 2 && v output y 1 1 2 && v output z 1 1 2 && v output n 1
  v output p 1 1 2 && echo 'initializer { name: "one" data_type: 1 float_data: 1 }'
  echo 'initializer { name: "three" data_type: 7 int64_data: 3 }'
  echo 'initializer { name: "two" data_type: 7 int64_data: 2 }'
  echo 'initializer { name: "w" dims: 3 dims: 1 dims: 2 data_type: 1'
  printf ' float_data: %s' 1 2 4 8 16 32 && echo ' }'
  echo 'initializer { name: "v" dims: 2 dims: 1 dims: 2 data_type: 1'
  printf ' float_data: %s' 1 3 5 7 && echo ' }'
  n Abs x x0 own_first && n Loop 'three - x0' 'r q' outer "$outer" && n Neg r y own_y
  n Mul 'q w' qw weigh && n ReduceSum qw z0 sums "$(int keepdims 0)" && n Neg z0 n own_n
  n Abs y z last && n Add 'z one' p own_right && echo '}'
} >loop.onnxtxt

# What a loop takes apart and puts together again, of which every piece counts another way.
{
  echo "$begin" && v input x 1 2 3 && v output z 1 3 && v output s 1 2 3
  n Abs x a own_first && n Sub 'zero a' b minus && n Scan 'zero b' 'z r' scan "$(
    body body "$(v input h 1 3)" "$(v input p 1 3)" "$(n Mul 'h ten' h1 shift)" \
      "$(n Add 'h1 p' h2 add)" "$(n Neg p q own_piece)" "$(n Sub 'q h' r1 sub)" \
      "$(v output h2 1 3)" "$(v output r1 1 3)")$(int num_scan_inputs 1)"
  n Neg z y own_sum && n Neg r s own_pieces && v output y 1 3
  echo 'initializer { name: "ten" data_type: 1 float_data: 10 }'
  echo 'initializer { name: "zero" dims: 3 data_type: 1'
  printf ' float_data: %s' 0 0 0 && echo ' } }'
} >scan.onnxtxt

# Several of its operators one behind the other, before products, which have weights.
{
  echo "$begin" && v input x 1 2 3 && v output y 1 2 3
  n Abs x a own_first && n Sqrt a b own_second && n Neg b c own_third
  n Floor c d own_fourth && n MatMul 'd w' e product && n MatMul 'e w' y last
  echo 'initializer { name: "w" dims: 3 dims: 3 data_type: 1'
  printf ' float_data: %s' 1 2 0 0 1 2 2 0 1 && echo ' } }'
} >chain.onnxtxt

{
  echo "$begin" && v input x 1 2 3 && v output y 1 2 3
  n Sqrt x a own_second && n MatMul 'a w' b product && n MatMul 'b w' y last
  echo 'initializer { name: "w" dims: 3 dims: 3 data_type: 1'
  printf ' float_data: %s' 1 2 0 0 1 2 2 0 1 && echo ' } }'
} >alone.onnxtxt

# ---- on the host ---------------------------------------------------------------------------------

arms() { # COMMAND...: with each answer to both questions
  local c
  for c in 0,0 1,0 1,1; do
    echo "---- $c"
    "$@" if.onnxtxt -i x.npy -i c=${c%,*}.npy -i d=${c#*,}.npy
  done
}
prints compare-if arms "$wick" compare --cpu x86-64 -v
prints compare-if-passes arms "$wick" compare --cpu x86-64 -v --passes
for x in pair other; do
  prints compare-loop-$x "$wick" compare loop.onnxtxt --cpu x86-64 -i $x.npy -v
done

# ---- in parts ------------------------------------------------------------------------------------

prints compare-parts-if arms on plus -v
parts_loop() {
  local x
  for x in pair other; do on plus loop.onnxtxt -i $x.npy -v; done
}
prints compare-parts-loop parts_loop
prints compare-parts-scan on plus scan.onnxtxt -i x.npy
# A part that its target cannot have is cut again, until it can; what the model has is counted once.
chain() {
  local how
  for how in plus admits; do
    echo "---- $how"
    "$wick" compile chain.onnxtxt --plugin ./$how.so --target plus --cpu x86-64 -o chain.wick \
      --print-parts --time-passes | sed -E 's/ +[0-9.]+ +[0-9.]+$//; /^$/d
        /^[a-z-]+ +[0-9]+ +[0-9]+$/{/^(partition|expand|layout|admit|generate|place) /!d}
        /^(STEP|compile time|output|scratch) /d'
    on $how chain.onnxtxt -i x.npy -v
  done
}
prints compare-parts-chain chain
# Where the host gets everything in the end, all figures are as if it had been asked alone.
figures_of() {
  "$wick" compile alone.onnxtxt -q --cpu x86-64 -o alone.wick --report alone.json "$@"
  sed -n '/"memory"/,/}/p; /"\(instructions\|macs\|weight_bytes\|operators[a-z_]*\)"/p' alone.json
}
figures_of >host.txt
figures_of --plugin ./admits.so --target plus >again.txt
(($(wc -l <host.txt) > 12)) && good || bad "figures: $(cat host.txt)"
check 'figures of what is cut again' diff host.txt again.txt
{
  echo "$begin" && v input x 1 2 3 && v output y 1 2 3 && n Sqrt x a own_first && n Neg a y own_end
  echo '}'
} >own.onnxtxt
check 'a target alone' "$wick" compile own.onnxtxt -q --plugin ./plus.so --target plus --no-host \
  -o own.wick --report own.json
gives 'that it was' '^options +--target=plus --no-host$' "$wick" inspect own.wick
gives 'in the report, too' '"options": "--target=plus --no-host"' cat own.json
# What cannot be looked into, and why; a target's own steps.
inside() {
  local how
  for how in alone graph steps; do
    echo "---- $how"
    on $how loop.onnxtxt -i pair.npy
  done
}
prints compare-parts-inside inside
# Tolerances: what is off by 7 of -4 and by 1 of 0, ...
tolerances() {
  local t
  for t in '--rtol 0 --atol 0' '--rtol 0 --atol 9' '--rtol 2 --atol 0' '--rtol 2.5' \
    '--rtol 0 --atol 1000'; do
    echo "---- $t"
    on plus loop.onnxtxt -i pair.npy $t
  done
}
prints compare-tolerances tolerances

# ---- steps of a package --------------------------------------------------------------------------

# Of all that differ the first is to be looked at: here errors go on.
packages() {
  local how
  for how in plus stepped; do
    "$wick" compile loop.onnxtxt -q --plugin ./$how.so --target plus --cpu x86-64 -o $how.wick
    echo "---- $how"
    "$wick" compare loop.onnxtxt --plugin ./$how.so --package $how.wick -i pair.npy -v 2>&1
  done
  "$wick" compile symbolic.onnx -q --cpu x86-64 --bind n=1 --bind n=4 --bind n=3 -o three.wick
  for how in 1 4 3 2; do
    echo "---- n=$how"
    "$wick" compare symbolic.onnx --package three.wick --bind n=$how -v 2>&1
  done
}
prints compare-package packages
# As many inputs of as many elements, of another name, type, size or rank.
like() { # FILE NAME TYPE SIZE...
  {
    echo "$begin" && v input "$2" "$3" "${@:4}" && v output "y$2" "$3" "${@:4}"
    n Neg "$2" "y$2" the_only && echo '}'
  } >"$1.onnxtxt"
  "$wick" compile "$1.onnxtxt" -q --cpu x86-64 -o "$1.wick"
}
like float x 1 2 3
like name z 1 2 3
like type x 6 2 3
like size x 1 3 2
like rank x 1 6
refuses 'steps of other names' 3 \
  '^wick: name.wick: no step of the package leaves a tensor of the model.s$' \
  "$wick" compare float.onnxtxt --package name.wick
for how in type size rank; do
  refuses "inputs of another $how" 3 'no binding of the package has the inputs' \
    "$wick" compare float.onnxtxt --package $how.wick
done

# ---- ties of quantisations -----------------------------------------------------------------------

# Weights of a half that are not quantised: many sums lie in the middle between two steps.
ties() { # OP ATTRIBUTES SCALE LAST
  cat <<EOF
ir_version: 8 opset_import { version: 20 } graph { name: "g"
node { op_type: "QuantizeLinear" name: "n1" input: "x" input: "s" input: "z" output: "q" }
node { op_type: "DequantizeLinear" name: "n2" input: "q" input: "s" input: "z" output: "d" }
node { op_type: "$1" name: "float_one" input: "d" $4 output: "o" $2 }
node { op_type: "QuantizeLinear" name: "n3" input: "o" input: "t" input: "z" output: "r" }
node { op_type: "DequantizeLinear" name: "n4" input: "r" input: "t" input: "z" output: "y" }
initializer { name: "s" data_type: 1 float_data: [0.02] }
initializer { name: "t" data_type: 1 float_data: [$3] }
initializer { name: "z" data_type: 3 int32_data: [3] }
initializer { name: "w" data_type: 1 dims: 3 dims: 4 dims: 1 dims: 1
  float_data: [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5] }
initializer { name: "m" data_type: 1 dims: 8 dims: 2
  float_data: [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5] }
input { name: "x" type { tensor_type { elem_type: 1 shape {
  dim { dim_value: 1 } dim { dim_value: 4 } dim { dim_value: 8 } dim { dim_value: 8 } } } } }
output { name: "y" type { tensor_type { elem_type: 1 } } } }
EOF
}
kernel='attribute { name: "kernel_shape" type: INTS ints: 2 ints: 2 }'
norm='attribute { name: "p" type: INT i: 1 }'
ties Conv '' 0.02 'input: "w"' >conv.textproto
ties MatMul '' 0.02 'input: "m"' >product.textproto
ties LpPool "$kernel $norm" 0.04 '' >lp.textproto
ties Softplus '' 0.02 '' >function.textproto
ties ReduceL1 'attribute { name: "keepdims" type: INT i: 1 }' 0.04 '' >norm.textproto
for name in conv product lp function norm; do
  for seed in 1 2; do
    check "$name, seed $seed" "$wick" compare $name.textproto --random $seed
  done
done
took='^[1-9][0-9]* elements are one step of the quantisation off, behind operators that have no int'
gives 'how many are a step off' "$took" "$wick" compare conv.textproto
check 'a package with ties' "$wick" compile conv.textproto -q -o conv.wick
gives 'steps of it' "$took" "$wick" compare conv.textproto --package conv.wick
! "$wick" compare conv.textproto --rtol 1e-3 >out 2>/dev/null && good ||
  bad "given tolerances: $(cat out)"
finish
