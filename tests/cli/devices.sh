#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick devices: the list, its JSON, descriptions of OpenCL devices, and machines without OpenCL.
source "$(dirname "$0")/lib.bash" "$@"

gives 'the processor' '^cpu +[^ ].* processors$' "$wick" devices
gives 'machines of the accelerator' '^accel:tiny +the accelerator' "$wick" devices
gives 'all of it' '^  instructions +[a-z0-9]' "$wick" devices -v
gives 'one' '^accel:base' "$wick" devices --device accel:base
gives 'one alone' '^1$' bash -c "'$wick' devices --device cpu | tail -n +2 | wc -l"
gives 'JSON' '^  "wick": "devices"' "$wick" devices --json
gives 'JSON of one' '^  "device": "accel:wide"' "$wick" devices --json --device accel:wide
refuses 'a device that is not there' 2 "there is no device 'tpu'" "$wick" devices --device tpu
refuses 'a number that is not there' 2 "there is no device 'opencl:99'" \
  "$wick" devices --device opencl:99

# What the system says of the processor, and how many of them this process may have.
name=$(sed -n '/^model name/{s/^[^:]*: *//p;q;}' /proc/cpuinfo)
gives 'its name' "^  \"name\": \"$(sed 's/[][()*+?.^$|\\]/\\&/g' <<<"${name:-processor}")\",?\$" \
  "$wick" devices --json --device cpu
gives 'all processors' "^  \"processors\": $(env -u OMP_NUM_THREADS nproc),?\$" \
  "$wick" devices --json --device cpu
first=$(taskset -cp $$ | sed -E 's/.*: ([0-9]+).*/\1/')
gives 'one of them' '^  "processors": 1,?$' \
  taskset -c "$first" "$wick" devices --json --device cpu
for name in cpu accel:tiny; do # the list with one alone, and the same fields
  check "$name in the list" diff <("$wick" devices --json --device $name | tr -d ' ,\n') \
    <("$wick" devices --json | tr -d '\n' | grep -o '{ *"device": "'$name'"[^}]*}' | tr -d ' ,\n')
done

# ---- without OpenCL, which is no error

without() { # NAME PATTERN VARIABLE=VALUE
  gives "$1" "^OpenCL: $2.*apt-get install" env "$3" "$wick" devices
  gives "$1, the rest" '^cpu ' env "$3" "$wick" devices
  gives "$1, all" "^OpenCL: $2" env "$3" "$wick" devices -v
  gives "$1, JSON" "^  \"no_opencl\": \"$2" env "$3" "$wick" devices --json
  refuses "$1, asked for" 2 "there is no device 'opencl:0': $2" \
    env "$3" "$wick" devices --device opencl:0
}
without 'no loader' 'there is no OpenCL \(/nonexistent' WICK_OPENCL=/nonexistent
without 'no library' 'there is no OpenCL' WICK_OPENCL="$0"
gives 'another library' '^OpenCL: libc.so.6 has not all functions' \
  env WICK_OPENCL=libc.so.6 "$wick" devices
if has_loader; then
  mkdir empty
  gives 'no driver' '^OpenCL: .* no OpenCL platform; on Debian: apt-get install' \
    env OCL_ICD_VENDORS="$tmp/empty/" WICK_OPENCL=libOpenCL.so.1 "$wick" devices
fi

# ---- what devices say

own=${WICK_OPENCL-}
export WICK_OPENCL=$(dirname "$wick")/libopencl_driver.so
said() {
  local i
  "$wick" devices | grep '^opencl:'
  for i in 0 1 2 3 4; do "$wick" devices -v --device opencl:$i; done
}
prints opencl-devices said
gives 'a platform without devices' '^OpenCL: no OpenCL platform has a device' \
  env WICK_TEST_DRIVER=none "$wick" devices
gives 'platforms that are gone' '^OpenCL: no OpenCL platform has a device' \
  env WICK_TEST_DRIVER=lost "$wick" devices
check 'a network' "$wick" zoo ds_cnn -o net.onnx
for device in 'Red 1' 3 2; do
  gives "kernels for $device" '__kernel' \
    "$wick" compile net.onnx -q --target "opencl:$device" --emit opencl-c -o -
done
refuses 'what makes no context' 5 'clCreateContext: CL_DEVICE_NOT_AVAILABLE' \
  "$wick" run net.onnx --target opencl:0
gives 'a name' "^wick: there is no OpenCL device '.json' here:$" \
  bash -c "'$wick' compile net.onnx --target opencl:.json 2>&1; [[ \$? == 2 ]]"
for file in d.json ./d .json/; do
  refuses "a file, $file" 5 "$file" "$wick" compile net.onnx --target "opencl:$file"
done
said >by_loader
export WICK_OPENCL=${WICK_OPENCL%.so}_alone.so
check 'a driver without the loader' diff by_loader <(said)
refuses 'its context' 5 'clCreateContext: CL_DEVICE_NOT_AVAILABLE' \
  "$wick" run net.onnx --target opencl:0
export WICK_OPENCL=$own

# ---- with it

if [[ -e /etc/OpenCL/vendors/pocl.icd && ! ${OCL_ICD_VENDORS-} ]]; then
  gives 'PoCL, which is installed' '^opencl:0 ' "$wick" devices
fi
if has_device 'opencl:0 '; then
  "$wick" devices --json --device opencl:0 >device.json
  gives 'a description' '^  "wick": "opencl-device"' cat device.json
  gives 'its units' '^  "units": [1-9]' cat device.json
  gives 'its name in the list' "$(sed -n 's/^  "name": "\(.*\)",/opencl:0 +\1/p' device.json)" \
    "$wick" devices
  gives 'no more than the list' '^  platform +[^ ]' "$wick" devices -v --device opencl:0
else
  echo 'note: there is no OpenCL device: descriptions are not tested'
fi
finish
