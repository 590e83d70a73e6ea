#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --plugin and WICK_PLUGINS: what is loaded, and every way in which it is not.
root=$(realpath "$(dirname "$0")/../..")
source "$(dirname "$0")/lib.bash" "$@"
small_models

# plugin FILE.so OPTION...: a target that takes no operators, with -D options that spoil it.
cat >plugin.c <<'C'
#include "compiler/target/plugin.h"
#include "runtime/device.h"
#ifndef NAME
#define NAME "idle"
#endif
#ifndef COMPILE
#define COMPILE compile
#endif
#ifndef TARGET
#define TARGET target
#endif
wk_status wk_that_nobody_has(void);
static const wk_target target;
static wk_status open_idle(const char *spec, wk_instance **out) {
  static wk_instance instance = {.target = &target, .is_here = true};
  (void)spec;
  *out = &instance;
#ifdef UNRESOLVED
  return wk_that_nobody_has();
#endif
  return NULL;
}
static void close_idle(wk_instance *t) { (void)t; }
static bool supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                     const char **reason) {
  (void)t, (void)g, (void)n, (void)a;
  *reason = "it is idle";
  return false;
}
static wk_status change(const wk_instance *t, wk_program *p, wk_arena *scratch, int64_t *changes) {
  (void)t, (void)p, (void)scratch, (void)changes;
  return NULL;
}
static const wk_target_pass passes[] = {{"idle-pass", "changes nothing", true, change}, {0}};
static wk_status compile(const wk_instance *t, const wk_target_part *parts, size_t n,
                         const wk_emit_options *o, wk_package *pkg, uint32_t *row,
                         wk_emit_result *result) {
  (void)t, (void)parts, (void)n, (void)o, (void)pkg, (void)row, (void)result;
  return NULL;
}
static wk_status set(wk_instance *t, const char *value) {
  (void)t;
  return *value == 'y' ? NULL : wk_error(WK_USAGE, "is y, not '%s'", value);
}
#ifndef SETTING
#define SETTING "idle-time", "Y"
#endif
#ifndef SET
#define SET set
#endif
static const wk_target_setting settings[] = {
    {SETTING, .values = "y", .doc = "does nothing", .set = SET}, {0}};
static const wk_target target = {.name = NAME, .doc = "takes nothing", .passes = passes,
                                 .settings = settings,
                                 .open = open_idle, .close = close_idle, .supports = supports,
                                 .compile = COMPILE};
#ifdef DEVICE
#ifndef FUNCTIONS
#define FUNCTIONS
#endif
static int nothing() { return 0; }
static const wick_device device = {.size = sizeof device, .version = DEVICE, .target = NAME,
                                   FUNCTIONS};
const wick_device *wick_device_plugin(void) { return &device; }
#elif !defined(NONE)
#ifndef NO_ABI
const char *wk_target_abi(void) { return WICK_TARGET_ABI; }
#endif
const wk_target *wk_target_plugin(void) { return (void)compile, &TARGET; }
#endif
C
plugin() {
  local file=$1
  shift
  ${CC:-cc} -std=gnu11 -w -fPIC -shared -I"$root" -I"$(dirname "$wick")/generated" "$@" plugin.c \
    -o "$file" || bad "cannot compile $file"
}

# ---- what is loaded
plugin idle.so
plugin second.so '-DNAME="second"'
gives 'a target' '^idle +- +takes nothing' "$wick" targets --plugin idle.so
gives 'by a path' '^idle ' "$wick" targets --plugin "$tmp/idle.so"
gives 'by the environment' '^idle ' env WICK_PLUGINS=idle.so "$wick" targets
gives 'two' 'idle second cpu $' bash -c \
  "WICK_PLUGINS=./idle.so:second.so '$wick' targets | sed '1d;/^$/,\$d;s/ .*//' | tr '\n' ' '"
gives 'the same file twice' '^idle ' env WICK_PLUGINS=idle.so "$wick" targets --plugin ./idle.so
gives 'two that have a setting' '^target +idle,second,cpu' "$wick" compile relu.onnx \
  --plugin idle.so --plugin second.so --target idle,second --idle-time y
gives 'its option is there once' '^1$' bash -c \
  "'$wick' run --plugin idle.so --plugin second.so --help | grep -c -e --idle-time"
refuses 'its plugin is not there' 5 '^wick: plugin none.so: No such file' \
  "$wick" compile relu.onnx --plugin none.so --target idle --idle-time y
plugin input.so '-DNAME="input"' '-DSETTING="output","FILE"'
check "a command's own option of that name" "$wick" compile relu.onnx --plugin input.so -q \
  --target input --output relu2.wick
gives 'reasons' 'max|map on cpu, not idle: it is idle' \
  "$wick" compile relu.onnx --plugin idle.so --target idle --print-parts
gives 'the target is known' '^target +idle,cpu' \
  "$wick" compile relu.onnx --plugin idle.so --target idle
gives 'run' '^y f32\[2,3\]' "$wick" run relu.onnx --plugin idle.so --target idle
gives 'a package' '^y f32\[2,3\]' "$wick" run relu.wick --plugin idle.so
gives 'compare --passes' 'the result is the same after all' \
  bash -c "'$wick' compare --passes relu.onnx --plugin idle.so --target idle 2>&1"
check 'its passes have names' \
  "$wick" compile relu.onnx -q --plugin idle.so --target idle --print-after=idle-pass
gives 'they are listed' '^idle-pass +programs \(idle\) +changes nothing$' \
  "$wick" ops --passes --plugin idle.so
refuses 'its part of the host is wanted' 4 'it is idle' \
  "$wick" compile relu.onnx --plugin idle.so --target idle --no-host
gives 'compare' 'agree' \
  bash -c "'$wick' compare relu.onnx --plugin idle.so --target cpu 2>&1"

# ---- what is not
refuses 'a missing file' 5 '^wick: plugin none.so: No such file or directory$' \
  "$wick" targets --plugin none.so
refuses 'a missing file of the environment' 5 '^wick: plugin ./none.so: No such file' \
  env WICK_PLUGINS=idle.so:./none.so "$wick" targets
refuses 'an empty name' 2 'the name of a file is missing' "$wick" targets --plugin=
refuses 'no shared object' 3 '^wick: plugin relu.onnx: ' "$wick" targets --plugin relu.onnx
refuses 'a folder' 3 '^wick: plugin .: ' "$wick" targets --plugin .
plugin none.so -DNONE
refuses 'no plugin' 3 '^wick: plugin none.so: is none: it exports neither wk_target_plugin nor' \
  "$wick" targets --plugin none.so
sed 's/WICK_TARGET_ABI/"0123456789abcdef"/' plugin.c >keep.c && cp plugin.c whole.c &&
  cp keep.c plugin.c && plugin bad.so -DUNRESOLVED && cp whole.c plugin.c
refuses 'one of another Wick' 3 \
  '^wick: plugin bad.so: built for another Wick, whose targets are 0123456789abcdef; here' \
  "$wick" targets --plugin bad.so
plugin bad.so -DNO_ABI
refuses 'one that does not say of which' 3 'bad.so: does not say which Wick' \
  "$wick" targets --plugin bad.so
plugin bad.so -DUNRESOLVED
refuses 'what it needs is not there' 3 'bad.so: .*wk_that_nobody_has' \
  "$wick" targets --plugin bad.so
for name in 'a:b' 'A' '' 'a,b'; do
  plugin bad.so "-DNAME=\"$name\""
  refuses "name '$name'" 3 "bad.so: '$name' is no name for a target" "$wick" targets --plugin bad.so
done
plugin bad.so -DCOMPILE=NULL
refuses 'a target without code' 3 'bad.so: target idle lacks compile$' \
  "$wick" targets --plugin bad.so
plugin bad.so '-DTARGET=*(wk_target *)0'
refuses 'no target' 3 'bad.so: gives no target$' "$wick" targets --plugin bad.so
for name in 'a b' A '' help; do
  plugin bad.so "-DSETTING=\"$name\",\"Y\""
  refuses "setting '$name'" 3 "bad.so: '$name' is no name for a setting" \
    "$wick" targets --plugin bad.so
done
plugin bad.so -DSET=NULL
refuses 'a setting without a setter' 3 'bad.so: setting idle-time of target idle lacks set$' \
  "$wick" targets --plugin bad.so
plugin bad.so '-DSETTING="idle-time",NULL'
refuses 'a setting without texts' 3 'setting idle-time of target idle lacks its texts$' \
  "$wick" targets --plugin bad.so
for name in cpu eval idle; do
  plugin bad.so "-DNAME=\"$name\""
  refuses "another $name" 2 "bad.so: there is a target $name already" \
    "$wick" targets --plugin idle.so --plugin bad.so
done
current=-DDEVICE=WICK_DEVICE_VERSION
plugin bad.so -DDEVICE=1
refuses 'a device without functions' 3 \
  'bad.so: its device is not one of version [0-9]+, or incomplete' \
  "$wick" run relu.wick --plugin bad.so
functions='-DFUNCTIONS=.doc="",.probe=(void*)nothing,.load=(void*)nothing,.unload=(void*)nothing,'
functions+='.open=(void*)nothing,.close=(void*)nothing,.submit=(void*)nothing'
for name in cpu idle; do
  plugin one.so "$current" "$functions" && plugin bad.so "$current" "$functions" "-DNAME=\"$name\""
  refuses "another device of $name" 2 \
    "^wick: plugin bad.so: there is a device for target $name already\$" \
    "$wick" run relu.wick --plugin one.so --plugin bad.so
done
check 'the same device twice' "$wick" run relu.wick --plugin one.so --plugin ./one.so
refuses 'a target that is not loaded' 2 "no target 'idle'" "$wick" compile relu.onnx --target idle
sed 's/{"idle-pass", "changes nothing", true, change},/PASSES/' whole.c >plugin.c
plugin many.so "-DPASSES=$(printf '{"idle-pass-%d","changes nothing",true,change},' {0..199})"
cp whole.c plugin.c
many=()
for ((i = 0; i < 17; i++)); do
  plugin "t$i.so" "-DNAME=\"t$i\"" && many+=(--plugin "t$i.so")
done
gives 'a plugin with many passes' '^idle-pass-199 ' "$wick" ops --passes --plugin many.so
check 'the last of them has a name' "$wick" compile relu.onnx -q --plugin many.so --target idle \
  --print-after=idle-pass-199
gives 'as many as there may be' '^16$' bash -c \
  "'$wick' targets ${many[*]:0:32} | grep -c '^t[0-9]* '"
refuses 'too many' 6 't16.so: more than 16 plugins' "$wick" targets "${many[@]}"
many=() # devices are as many, but some are there already
for ((i = 0; i < 16; i++)); do
  plugin "t$i.so" "$current" "$functions" "-DNAME=\"t$i\"" && many+=(--plugin "t$i.so")
done
refuses 'too many devices' 6 'plugin t1[3-5].so: more than 16 devices$' \
  "$wick" run relu.wick "${many[@]}"
check 'that many devices' "$wick" run relu.wick "${many[@]:0:26}"
finish
