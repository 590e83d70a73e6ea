#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Networks compiled for the accelerator: settings, outputs, what does not fit, and what is refused.
nets=$(realpath "$(dirname "$0")/../nets")
machines=$(realpath "$(dirname "$0")/../../targets/accel/machines")
source "$(dirname "$0")/lib.bash" "$@"
net=$nets/int8/cnn_qdq/model.onnx

# ---- settings
gives 'settings are listed' '^--prefetch +accel +off, serial, double, auto \(default\) ' \
  "$wick" targets
"$wick" run "$net" --target eval --output-dir want >/dev/null 2>&1
for mode in off serial double auto; do
  check "--prefetch=$mode" \
    "$wick" compile "$net" --target accel:tiny --prefetch=$mode -q -o $mode.wick
  check "$mode: run" "$wick" run $mode.wick --output-dir $mode
  check "$mode: the evaluator's results" diff -r want $mode
  "$wick" sim $mode.wick --model timing --json $mode.json >/dev/null 2>&1
done
check 'each mode is no slower than the one before' python3 - <<'EOS'
import json
c = {m: json.load(open(m + ".json"))["cycles"] for m in ("off", "serial", "double", "auto")}
assert c["auto"] < c["serial"] and c["auto"] <= c["double"] <= c["off"], c
EOS
for mode in serial auto; do
  "$wick" compile "$net" --target accel:tiny --prefetch=$mode --emit stream -q -o $mode
  "$wick" disasm $mode.wcs | sed -E 's/^[a-z0-9]+_[0-9]+: //; s/ wait .*//' >$mode.commands
done
check 'serial has the commands of auto, in its order' cmp serial.commands auto.commands
for idea in early-issue cross-layer residency fusion stagger stacks local-search \
  early-issue,cross-layer,residency,fusion,stagger,stacks,local-search; do
  check "--without $idea" "$wick" compile "$net" --target accel:tiny --effort 3 \
    --without "$idea" -q -o left.wick
  check "--without $idea: run" "$wick" run left.wick --output-dir left
  check "--without $idea: the evaluator's results" diff -r want left
  rm -r left
done
gives 'what is left out is recorded' ' --effort=3 --without=early-issue,cross-layer,residency,fus' \
  "$wick" inspect left.wick
"$wick" sim left.wick --model timing --json left.json >/dev/null 2>&1
check 'without all ideas it is slower' python3 - <<'EOS'
import json
c = {m: json.load(open(m + ".json"))["cycles"] for m in ("left", "auto")}
assert c["auto"] < c["left"], c
EOS
for effort in 0 3; do
  check "--effort $effort" "$wick" test "$(dirname "$net")" --target accel:tiny --effort $effort
done
check 'a memory' "$wick" compile "$net" --target accel --dram latency=500,bytes=4 --effort=2 -q \
  -o d.wick
gives 'settings are recorded' '--target=accel --effort=2 --dram=latency=500,bytes=4$' \
  "$wick" inspect d.wick
gives 'the memory is the package'"'"'s' ', memory 4 B/cycle, latency 500$' \
  "$wick" sim d.wick --model timing
refuses 'a mode' 2 '^wick: --prefetch: there are off, serial, double and auto, not .Auto.$' \
  "$wick" compile "$net" --target accel --prefetch=Auto
refuses 'an effort' 2 '^wick: --effort: must be 0, 1, 2 or 3, not .4.$' \
  "$wick" run "$net" --target accel --effort 4
refuses 'an idea' 2 '^wick: --without: there are early-issue, .* and local-search, not .fuse.$' \
  "$wick" compile "$net" --target accel --without residency,fuse
refuses 'no idea' 2 '^wick: --without: there are .*, not ..$' \
  "$wick" compile "$net" --target accel --without residency,
refuses 'a key of the memory' 2 "unknown key 'latncy'; did you mean 'latency'" \
  "$wick" test "$(dirname "$net")" --target accel --dram latncy=5
refuses 'a target without settings' 2 \
  '^wick: --effort: target cpu has no such setting \(--target accel has it\)$' \
  "$wick" compile "$net" --effort 1
refuses 'the evaluator' 2 '--prefetch: the evaluator has no such setting$' \
  "$wick" run "$net" --target eval --prefetch off
refuses 'a package' 2 'd.wick: is a compiled package: --effort is for models$' \
  "$wick" run d.wick --effort 1

# ---- layers are steps
gives 'layers are timed' '^ *[0-9.]+ +[0-9.]+ +[0-9.-]+ +conv +[^ ]+ +conv u8.* in group 0$' \
  "$wick" run auto.wick --profile
gives 'by the machine'"'"'s clock with a model that has one' \
  '^ *[0-9.]+ +[0-9.]+ +[0-9.-]+ +conv +[^ ]+ +conv u8.* in group 0$' \
  "$wick" run auto.wick --profile --model timing
"$wick" run auto.wick --profile 2>/dev/null | awk '
  $1 ~ /^[0-9.]+$/ { ms += $1 } END { exit !(ms > 0 && ms < 1e6) }' && good ||
  bad 'layers take no time, or more than a quarter of an hour'
refuses 'tensors of other models' 4 'the timing model does not show tensors of layers; the func' \
  "$wick" run auto.wick --dump-tensors no --model timing
check '--marks' "$wick" compile "$net" --target accel:tiny --marks yes -q -o marks.wick
gives 'groups are timed' '^ +0 +[0-9,]+ +[0-9.]+ ' "$wick" sim marks.wick --model rtl
check 'marks change no result' "$wick" run marks.wick --output-dir marks
check 'marks: the evaluator'"'"'s results' diff -r want marks
refuses 'marks' 2 '^wick: --marks: must be yes or no, not .maybe.$' \
  "$wick" compile "$net" --target accel --marks maybe
gives 'they are listed' ' +conv u8\[[0-9,]+\] in group 0$' "$wick" inspect --steps auto.wick
for mode in off serial double auto; do
  gives "$mode: every layer is the evaluator's" '^all [1-9][0-9]* steps agree( .*)?$' \
    "$wick" compare "$net" --package $mode.wick
done
gives 'part by part, each as a whole' '^all 3 parts agree ' "$wick" compare "$net" --target accel
"$wick" run auto.wick --dump-tensors dump >/dev/null 2>&1
"$wick" run "$net" --target cpu --dump-tensors dump.cpu >/dev/null 2>&1
check 'whole tensors from strips' python3 - <<'EOS'
import pathlib
both = [p for p in pathlib.Path("dump").iterdir() if pathlib.Path("dump.cpu", p.name).exists()]
assert len(both) >= 4, both
for p in both:
    assert p.read_bytes() == pathlib.Path("dump.cpu", p.name).read_bytes(), p
EOS
cat >damage.py <<'EOS'
# A byte of the constants, K twentieths from their start, is another one; checksums are right.
import struct, sys
def crc32c(data, crc=0xffffffff):
    for byte in data:
        crc ^= byte
        for _ in range(8): crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff
b = bytearray(open("auto.wick", "rb").read())
count, = struct.unpack_from("<I", b, 24)
for row in range(32, 32 + 40 * count, 40):
    kind, unit, name, align, offset, size, crc, _ = struct.unpack_from("<4I2Q2I", b, row)
    if kind == 33:
        b[offset + size * int(sys.argv[1]) // 20] ^= 0x40
        struct.pack_into("<I", b, row + 32, crc32c(b[offset:offset + size]))
        break
struct.pack_into("<I", b, 28, 0)
struct.pack_into("<I", b, 28, crc32c(b[:32 + 40 * count]))
open("wrong.wick", "wb").write(b)
EOS
for k in {10..19}; do # it may be padding, or a record that is refused
  python3 damage.py $k
  "$wick" compare "$net" --package wrong.wick -v >wrong.txt 2>&1 || test $? != 1 || break
done
check 'a wrong weight: the first layer that differs is named' python3 - <<'EOS'
lines = [l for l in open("wrong.txt") if l.startswith(("ok", "first", "also"))]
kinds = [l.split()[0] for l in lines]
assert kinds.count("first") == 1 and kinds.index("first") >= 2, lines
assert "also" not in kinds[:kinds.index("first")], lines
assert "of" in lines[kinds.index("first")] and "elements differ" in lines[kinds.index("first")]
EOS
refuses 'a package of other shapes' 3 'no binding of the package has the inputs' \
  "$wick" compare "$(dirname "$net")/../unet_qdq/model.onnx" --package auto.wick
refuses 'what is no package' 3 '^wick: .*model.onnx: not a package$' \
  "$wick" compare "$net" --package "$net"
refuses 'a setting' 2 '--package has been compiled: --effort is of no use with it$' \
  "$wick" compare "$net" --package auto.wick --effort 1
refuses 'two ways' 2 '--package has been compiled: --passes is of no use with it$' \
  "$wick" compare "$net" --package auto.wick --passes

# slices of channels, and what is joined, leave with zeros behind their last channel
python3 - >lanes.onnxtxt <<'EOS'
def value(kind, name, dims):
    shape = " ".join(f"dim {{ dim_value: {d} }}" for d in dims)
    return f'{kind} {{ name: "{name}" type {{ tensor_type {{ elem_type: 1 shape {{ {shape} }} }} ' \
        '} }'

def constant(name, kind, data, dims=""):
    return f'initializer {{ name: "{name}" data_type: {kind} {dims} {data} }}'

def node(op, y, *x, more=""):
    inputs = " ".join(f'input: "{v}"' for v in x)
    return f'node {{ name: "{y}" op_type: "{op}" output: "{y}" {inputs} {more} }}'

print('ir_version: 8 opset_import { version: 18 } graph { name: "g"')
print(constant("s", 1, "float_data: 0.05"), constant("z", 3, "int32_data: 37"))
for name, k in ("0", 0), ("40", 40), ("80", 80), ("120", 120), ("axis", 1):
    print(constant(name, 7, f"int64_data: {k}", "dims: 1"))
print(node("QuantizeLinear", "q", "x", "s", "z"), node("DequantizeLinear", "d", "q", "s", "z"))
print(node("Sigmoid", "m", "d"), node("QuantizeLinear", "p", "m", "s", "z"))
print(node("DequantizeLinear", "r", "p", "s", "z"))
print(node("Slice", "a", "r", "0", "40", "axis"), node("Slice", "b", "r", "80", "120", "axis"))
print(node("Concat", "c", "b", "a", more='attribute { name: "axis" type: INT i: 1 }'))
print(value("input", "x", [1, 120, 5, 5]), value("output", "a", [1, 40, 5, 5]))
print(value("output", "b", [1, 40, 5, 5]), value("output", "c", [1, 80, 5, 5]), "}")
EOS
gives 'lanes of others' '^all 3 parts agree ' "$wick" compare lanes.onnxtxt --target accel

# ---- why it took as long
gives 'causes' '^compute +[0-9,]+ +[0-9.]+ +-  the array multiplies$' \
  "$wick" sim auto.wick --model timing --causes
for model in timing rtl; do
  check "causes: $model" "$wick" sim auto.wick --model $model --causes --json causes.$model.json
done
check 'every cycle has one cause, the same on both models' python3 - <<'EOS'
import json
runs = [json.load(open(f"causes.{m}.json"))["parts"] for m in ("timing", "rtl")]
for part, same in zip(*runs):
    assert sum(part["causes"].values()) == part["cycles"], part["causes"]
    assert sum(r["cycles"] for r in part["causes_of_layers"]) == part["cycles"]
    assert part["causes"] == same["causes"] and part["what_if"] == same["what_if"]
    assert part["what_if"]["all"] <= part["cycles"]
    assert [(l["words"], l["sums"], l["energy_pj"]) for l in part["layers"]] == [
        (l["words"], l["sums"], l["energy_pj"]) for l in same["layers"]]
EOS
refuses 'without time' 2 '^wick: --causes: the functional model has no time; ' \
  "$wick" sim auto.wick --model functional --causes

# ---- --emit stream
check 'a stream' "$wick" compile "$net" --target accel:tiny --emit stream -o net -q
check 'all files' test -s net.wcs -a -s net.bin -a -s net.map
gives 'check takes it' ' commands, .*; no deadlock, no hazard, within bounds$' "$wick" check net.wcs
gives 'disasm takes it' '^end' "$wick" disasm net.wcs
for model in timing rtl; do
  check "sim --model $model" "$wick" sim net.wcs --model $model --json net.$model.json
done
check 'the image lies where the map says, and is the stream'"'"'s' python3 - <<'EOS'
import json, re
rows = [l.split() for l in open("net.map") if not l.startswith("#")]
places = {r[1] if r[1] != "-" else r[0]: [int(x, 0) for x in r[2:4]] for r in rows}
image, wcs = open("net.bin", "rb").read(), open("net.wcs", "rb").read()
begin, size = places["image"]
assert size == len(image)
for name in ("constants", "commands"):
    at, n = places[name]
    assert begin <= at and at + n <= begin + size
    assert wcs.find(image[at - begin:at - begin + n]) > 0
assert places["BASE"] == [places["commands"][0]]
assert places["COUNT"][0] * 64 == places["commands"][1]
a, b, c = (json.load(open(f))["cycles"] for f in ("net.timing.json", "net.rtl.json", "auto.json"))
assert a == b == c, (a, b, c)
EOS
check 'again' "$wick" compile "$net" --target accel:tiny --emit stream -o again.wcs -q
check 'the same bytes' bash -c 'for x in wcs bin map; do cmp net.$x again.$x || exit 1; done'
refuses 'standard output' 2 'a stream is several files here: give it a name with -o$' \
  "$wick" compile "$net" --target accel --emit stream -o -
refuses 'the target is missing' 2 \
  '^wick: --emit stream is what target accel writes: add --target accel$' \
  "$wick" compile "$net" --emit stream
refuses 'another target' 2 \
  '^wick: --emit opencl-c is what target opencl writes: it needs --target opencl$' \
  "$wick" compile "$net" --emit opencl-c --target accel
refuses 'no host' 2 '^wick: --emit asm is what target cpu writes: it needs --target cpu$' \
  "$wick" compile "$net" --emit asm --target accel --no-host
refuses 'nearly another target' 2 "^wick: --emit: no kind 'streem'; did you mean 'stream'\\?$" \
  "$wick" compile "$net" --emit streem
help=$("$wick" compile --help | tr -s ' \n' ' ')
for kinds in 'accel: stream' 'opencl: opencl-c' 'cpu: bundle, object, asm, llvm-ir'; do
  [[ $help == *"; $kinds"* ]] && good || bad "--help does not have $kinds"
done

# ---- --explain
layer=$("$wick" inspect d.wick --steps | awk '$1 == "0.1" { print $2 }')
shortest=(--target accel --without local-search) # which may take a group that costs more by itself
"$wick" compile "$net" "${shortest[@]}" --explain "$layer" -q -o e.wick 2>explained
check 'candidates of a layer' grep -Eq "^> +[0-9]+ $layer \\(conv\\)" explained
check 'one group is chosen' test "$(grep -c '^\* ' explained)" = 1
check 'it costs least' python3 - <<'EOS'
rows = [l for l in open("explained") if l.rstrip()[-1:].isdigit() and l[:2] in ("  ", "* ")]
rows = [l for l in rows if len(l.split()) > 12]
totals = [(float(l.split()[-1]), l[0] == "*") for l in rows]
assert len(rows) > 3 and [t for t, chosen in totals if chosen] == [min(t for t, _ in totals)], rows
EOS
"$wick" compile "$net" "${shortest[@]}" -q -o plain.wick
check 'nothing else changes' cmp e.wick plain.wick
refuses 'no such layer' 2 "^wick: --explain: no layer 'nope' on the accelerator; 'wick inspect " \
  "$wick" compile "$net" --target accel --explain nope

# ---- machines that do not fit
cp "$machines/tiny.cfg" mine.cfg
check 'a machine file' "$wick" compile "$net" --target accel:mine.cfg -q -o mine.wick
sed 's/^scratchpad .*/scratchpad = 131072;/' mine.cfg >other.cfg
refuses 'its hardware has changed' 3 \
  "mine.wick: is for machine 'mine.cfg', not 'other': scratchpad is 65536, " \
  "$wick" sim mine.wick --machine other.cfg --model timing
refuses 'it is not the one of the package' 3 "mine.wick: is for machine 'mine.cfg', not 'base': a" \
  "$wick" sim mine.wick --machine base --model timing
sed 's/^dram_latency .*/dram_latency = 321;/' mine.cfg >slow.cfg
gives 'its memory has changed' '^scheduled for +dram_latency 100, not 321$' \
  "$wick" sim mine.wick --machine slow.cfg --model timing
"$wick" zoo mobilenet_v2 -o mobile.onnx
refuses 'a memory too small for the network' 3 \
  'the part needs [0-9]+ bytes of memory; machine base has 65536 \(dram_size\)' \
  "$wick" compile mobile.onnx --target accel --dram size=65536 --quantize-random 1 --effort 0

# A layer that does not fit goes to the host, or is named.
printf 'array = 32;\nbus = 32;\nscratchpad = 16384;\n' >small.cfg
"$wick" zoo digits_cnn -o cnn.onnx
layer='matmul: it needs [0-9]+ bytes of scratchpad for one row of its result; machine .small. has '\
'16384, scratchpad=65536 fits$'
"$wick" compile cnn.onnx --target accel:small.cfg --quantize-random 1 --no-host -o none.wick 2>why
check 'nobody else has them' test $? = 4 -a ! -e none.wick
check 'a scratchpad too small for a layer' grep -Eq "^  [a-z/0-9_]+: $layer" why
gives 'it goes to the host' '^on accel +[0-9]+ parts?, ' \
  "$wick" compile cnn.onnx --target accel:small.cfg --quantize-random 1 -o small.wick
"$wick" compile cnn.onnx --target accel:small.cfg --quantize-random 1 --print-parts -q \
  -o small.wick >parts
check 'with its reason' grep -Eq "^  matmul on cpu, not accel: ${layer#matmul: }" parts
for target in cpu accel:small.cfg; do
  "$wick" run cnn.onnx --quantize-random 1 --target "$target" --output-dir "small.${target%:*}" \
    >/dev/null 2>&1
done
check 'and the results are the same' diff -r small.cpu small.accel
refuses 'a full disk' 5 '^wick: /dev/full: cannot write: No space left on device$' \
  "$wick" compile "$net" --target accel -o /dev/full
refuses 'a stream is several files' 2 '^wick: /dev/full: is no regular file, and a stream is ' \
  "$wick" compile "$net" --target accel --emit stream -o /dev/full

# ---- several images
# Weights of a product are read once for all of them.
python3 "$nets/../../bench/symbolic_batch.py" "$net" --out batch.onnx
for n in 1 6; do
  check "$n images" "$wick" compile batch.onnx --target accel --bind batch=$n -q -o images$n.wick
  "$wick" sim images$n.wick --model timing --json images$n.json >images$n.txt 2>/dev/null
done
gives 'what only more images hide' '^Memory-bound: [0-9]+ layers?, [0-9,]+ cycles, ' \
  cat images1.txt
check 'weights are read once' python3 - <<'EOS'
import json
def layer(n):
    part = json.load(open(f"images{n}.json"))
    return next(l for p in part.get("parts", [part]) for l in p["layers"] if l["op"] == "matmul")
one, six = layer(1), layer(6)
assert one["limit"] == "memory" and six["macs"] == 6 * one["macs"] > 0, (one, six)
assert six["read"] < 2 * one["read"], (one, six)
EOS
"$wick" run batch.onnx --bind batch=6 --target eval --output-dir six.want >/dev/null 2>&1
"$wick" run images6.wick --output-dir six >/dev/null 2>&1
check 'six images: the evaluator'"'"'s results' diff -r six.want six

# ---- weights of u8 that are far from their zero point
# conv_of TYPE ZERO GROUPS: y = QLinearConv(x), 4 channels; weights of TYPE (2: u8, 3: i8), all 0 or
# 127, or 255 if they are u8.
conv_of() {
  local type=$1 zero=$2 groups=$3 most=127 i
  ((type == 3)) || most=255
  cat <<END
ir_version: 8 opset_import { version: 17 }
graph { name: "g"
  node { op_type: "QLinearConv" name: "conv" output: "y" input: "x" input: "s" input: "z" input: "w"
    input: "s" input: "wz" input: "s" input: "z" attribute { name: "group" type: INT i: $groups } }
  initializer { name: "s" data_type: 1 float_data: 0.1 }
  initializer { name: "z" data_type: 2 int32_data: 3 }
  initializer { name: "wz" data_type: $type int32_data: $zero }
  initializer { name: "w" data_type: $type dims: 4 dims: $((4 / groups)) dims: 1 dims: 1
END
  for ((i = 0; i < 16 / groups; i++)); do echo "    int32_data: $((i % 2 * most))"; done
  echo '  }'
  for i in input:x output:y; do
    echo "  ${i%:*} { name: \"${i#*:}\" type { tensor_type { elem_type: 2 shape {"
    echo '    dim { dim_value: 1 } dim { dim_value: 4 } dim { dim_value: 5 } dim { dim_value: 5 }'
    echo '  } } } }'
  done
  echo '}'
}
# twice NAME NOTE ARGUMENT...: what compile, sim and ops say of such a model; NOTE '': nothing
twice() {
  local name=$1 pattern=$2 command
  shift 2
  conv_of "$@" >w.onnxtxt
  for command in 'compile w.onnxtxt --target accel -q -o w.wick' 'sim w.onnxtxt --model timing' \
    'ops --model w.onnxtxt --target accel'; do
    "$wick" $command 2>&1 >/dev/null | grep -v random >note
    if [[ $pattern ]]; then gives "$name, ${command%% *}" "$pattern" cat note; else
      check "$name, ${command%% *}" test ! -s note
    fi
  done
}
more='^wick: w.onnxtxt: accel multiplies [23].00 times as much .* weights of i8, or of u8 with zero'
twice 'zero point 120' "$more" 2 120 1
twice 'zero point 0' "$more" 2 0 1
twice 'zero point 129' "$more" 2 129 1
twice 'zero point 128' '' 2 128 1
twice 'i8' '' 3 0 1
conv_of 2 120 4 >w.onnxtxt
gives 'depthwise' 'conv: weights, less their zero point, have more than 8 bits: ' \
  "$wick" ops --model w.onnxtxt --target accel
"$wick" compile "$nets/int8/shuffled_qdq_u8/model.onnx" --target accel -q -o w.wick 2>note
gives 'of a network' 'model.onnx: accel multiplies [0-9.]+ times as much as the model: ' cat note

# ---- float models
cat >ints.onnxtxt <<'END'
ir_version: 8
opset_import { version: 18 }
graph {
  name: "g"
  node { input: "x" output: "z" op_type: "BitwiseNot" }
  input { name: "x" type { tensor_type { elem_type: 6 shape { dim { dim_value: 4 } } } } }
  output { name: "z" type { tensor_type { elem_type: 6 shape { dim { dim_value: 4 } } } } }
}
END
"$wick" zoo ds_cnn -o float.onnx
"$wick" compile float.onnx --target accel -q -o float.wick 2>note
check 'what to do about them' grep -qx "wick: float.onnx: is a float model, and accel computes in \
integers: first 'wick quantize float.onnx --calibration DIR -o float.int8.onnx', or to explore \
--quantize-random 1" note
head -1 note >float.note
"$wick" compile float.onnx --target accel --no-host -o none.wick 2>note
check 'nobody else has them' test $? = 4 -a ! -e none.wick
check 'what is refused' grep -q 'target accel: conv: it computes on f32, ' note
check 'and what to do about it' grep -qxFf float.note note
refuses 'sim' 3 'float.wick: no part of the package .* needs .wick quantize. first$' \
  "$wick" sim float.wick
for model in timing functional; do
  refuses "sim, $model" 4 "^wick: float.onnx: is a float model, .* first 'wick quantize " \
    "$wick" sim float.onnx --model $model
done
refuses 'sim, all modes' 4 '^wick: float.onnx: is a float model' \
  "$wick" sim float.onnx --model timing --with-modes --html page.html
"$wick" sweep float.onnx --set dram_latency=50 -o swept >said 2>&1
check 'sweep' test $? = 1
gives 'the row of a sweep' "is a float model, and .* first 'wick quantize " cat swept/points.csv
small_models
"$wick" compile relu.onnx --target accel -q -o relu.wick 2>note
gives 'without a product' '^wick: relu.onnx: is a float model' cat note
refuses 'integers that it lacks' 4 \
  '^wick: ints.onnxtxt: nothing of it runs on accel: BitwiseNot_z: the result is i32$' \
  "$wick" sim ints.onnxtxt --model timing
"$wick" compile ints.onnxtxt --target accel -q -o ints.wick 2>note
check 'no float model' test ! -s note
# product_of TYPE: of integers, beside a cast to floats
product_of() {
  local kind name type i
  cat <<END
ir_version: 8 opset_import { version: 18 }
graph { name: "g"
  node { name: "mm" input: "x" input: "x" output: "y" op_type: "MatMul" }
  node { name: "cast" input: "x" output: "f" op_type: "Cast"
    attribute { name: "to" type: INT i: 1 } }
END
  for i in "input x $1" "output y $1" 'output f 1'; do
    read -r kind name type <<<"$i"
    echo "  $kind { name: \"$name\" type { tensor_type { elem_type: $type shape {"
    echo '    dim { dim_value: 4 } dim { dim_value: 4 } } } } }'
  done
  echo '}'
}
for type in 'i32 6' 'i64 7'; do
  read -r name code <<<"$type"
  product_of "$code" >mm.onnxtxt
  refuses "a product of $name" 4 "^wick: mm.onnxtxt: nothing of it runs on accel: mm: it computes \
on $name, the accelerator on i8 and u8$" "$wick" sim mm.onnxtxt --model timing
  "$wick" compile mm.onnxtxt --target accel -q -o mm.wick 2>note
  check "no float model, $name" test ! -s note
  "$wick" compile mm.onnxtxt --target accel --no-host -q -o mm.wick 2>note
  check "nobody has $name" grep -q "matmul: it computes on $name" note
  check "which is no float" test "$(grep -c 'float model' note)" = 0
done
cat >stride.onnxtxt <<'END'
ir_version: 8 opset_import { version: 18 }
graph { name: "g"
  node { name: "far" input: "x" input: "w" output: "y" op_type: "Conv"
    attribute { name: "strides" type: INTS ints: 16 ints: 16 } }
  initializer { name: "w" data_type: 1 dims: 1 dims: 1 dims: 1 dims: 1 float_data: 0.5 }
  input { name: "x" type { tensor_type { elem_type: 1 shape {
    dim { dim_value: 1 } dim { dim_value: 1 } dim { dim_value: 17 } dim { dim_value: 17 } } } } }
  output { name: "y" type { tensor_type { elem_type: 1 shape {
    dim { dim_value: 1 } dim { dim_value: 1 } dim { dim_value: 2 } dim { dim_value: 2 } } } } }
}
END
refuses 'integers that it does not take' 4 \
  '^wick: stride.onnxtxt: nothing of it runs on accel: far: a stride of 16 is more than 15$' \
  "$wick" sim stride.onnxtxt --model timing --quantize-random 1
rest='% of the multiply-accumulates are in floats, which accel leaves to others'
for name in 'lstm_dynamic 82.7 LSTM_3' 'gru_qdq 78.2 GRU_3' 'unet_qlinear 5.2 ConvTranspose_13'; do
  read -r name share operator <<<"$name"
  "$wick" compile "$nets/int8/$name/model.onnx" --target accel:tiny -q -o rest.wick 2>note
  gives "$name" "model.onnx: $share $rest: $operator; 'wick quantize' makes " cat note
done
"$wick" compile "$net" --target accel -q -o rest.wick 2>note
check 'no rest' test ! -s note
gives 'on the fly' '^on accel +1 part, [0-9]+ operators, 2.55 M multiply-accumulates$' \
  "$wick" compile float.onnx --target accel --quantize-random 3 -o fly.wick
gives 'it is recorded' '--quantize-random=3$' "$wick" inspect fly.wick
for target in cpu accel; do
  "$wick" run float.onnx --quantize-random 3 --target $target --output-dir fly.$target \
    >/dev/null 2>&1
done
"$wick" run fly.wick --output-dir fly.package >/dev/null 2>&1
check 'the same on both targets' diff -r fly.cpu fly.accel
check 'and in a package' diff -r fly.cpu fly.package
"$wick" quantize float.onnx --random 1 --seed 3 --method minmax -o file.onnx >/dev/null
"$wick" run file.onnx --target accel --output-dir fly.file >/dev/null 2>&1
check 'and through a file' diff -r fly.cpu fly.file
refuses 'what is quantised' 3 'is already quantised: it has [A-Za-z]+ nodes$' \
  "$wick" compile "$net" --target accel --quantize-random 1
refuses 'a package is compiled' 2 'is a compiled package: --quantize-random is for models$' \
  "$wick" run fly.wick --quantize-random 1

finish
