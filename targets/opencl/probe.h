/* SPDX-License-Identifier: Apache-2.0
 * probe: whether matrix units of a device here do what kernels ask of them: products of each kind
 * of operands are compiled, run and compared. Private to this folder. */
#ifndef WICK_OPENCL_PROBE_H
#define WICK_OPENCL_PROBE_H

#include "runtime/opencl/devices.h"
#include "targets/opencl/opencl.h"

/* Of device `index` of the list, as if it had such units. False: it refuses the kernels, or what
 * they compute is wrong. It opens the device in this process. */
bool wk_cl_probe_matrix(const wick_opencl_info *list, uint32_t index);

#endif
