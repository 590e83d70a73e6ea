/* SPDX-License-Identifier: Apache-2.0
 * description: what an OpenCL device says of itself, as JSON: `wick devices --json --device
 * opencl:0` writes such a file on one machine, `--target opencl:FILE` compiles for it on another.
 *
 *   {"wick": "opencl-device", "version": 1, "name": "…", …}
 *
 * with all of the keys that description.c lists, flags where they are true, and no others. */
#ifndef WICK_OPENCL_DESCRIPTION_H
#define WICK_OPENCL_DESCRIPTION_H

#include <jansson.h>

#include "compiler/support/support.h"
#include "runtime/opencl/devices.h"

#define WK_OPENCL_JSON_KIND "opencl-device"
#define WK_OPENCL_JSON_VERSION 1

/* The object of a device, a new reference. */
json_t *wk_opencl_describe_json(const wick_opencl_info *info);

/* From such a file. WK_INPUT names file and key; *out is set only when all is well. */
wk_status wk_opencl_read_json(const char *path, wick_opencl_info *out) WK_MUST_CHECK;

#endif
