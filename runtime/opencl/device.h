/* SPDX-License-Identifier: Apache-2.0
 * The OpenCL devices of this machine as a device. Private to runtime. */
#ifndef WICK_OPENCL_DEVICE_H
#define WICK_OPENCL_DEVICE_H

#include "runtime/device.h"

extern const wick_device wick_device_opencl;

#endif
