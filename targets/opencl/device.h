/* SPDX-License-Identifier: Apache-2.0
 * device: which device `--target opencl:SPEC` means. Private to this folder. */
#ifndef WICK_OPENCL_DEVICE_H
#define WICK_OPENCL_DEVICE_H

#include "targets/opencl/opencl.h"

/* Sets info, spec and is_here (it is a device of this machine). spec: NULL the first device; a
 * number, its place in the list; "any": the least that OpenCL 1.2 promises, which every device has;
 * a file that `wick devices` wrote, told by its '/' or ".json"; else a part of a name, in any case.
 * WK_USAGE lists the devices that there are. */
wk_status wk_cl_find_device(const char *spec, wk_opencl *out) WK_MUST_CHECK;

#endif
