/* SPDX-License-Identifier: Apache-2.0
 * list: the devices of devices.h by their OpenCL names. Private to runtime/opencl. */
#ifndef WICK_OPENCL_LIST_H
#define WICK_OPENCL_LIST_H

#include "cl.h"
#include "devices.h"

typedef struct {
  const wick_cl *cl;
  cl_platform_id platform;
  cl_device_id device;
  const wick_opencl_info *info;
} wick_cl_device;

/* Device `index` of wick_opencl_list, which has been called. */
wick_cl_device wick_cl_device_of(uint32_t index);

#endif
