/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WICK_OPENCL_DESCRIPTION_H
#define WICK_OPENCL_DESCRIPTION_H
#include "compiler/support/support.h"
#include "runtime/opencl/devices.h"
wk_status wk_opencl_read_json(const char *path, wick_opencl_info *out) WK_MUST_CHECK;
#endif
