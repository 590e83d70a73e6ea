/* SPDX-License-Identifier: Apache-2.0
 * query: wick_opencl_list, and whether matrix units are what devices say (probe.h), in a process of
 * its own, so that this one has none of a driver's threads: what it forks later (wick test) could
 * not use OpenCL otherwise, and a driver that crashes is a message. Private to this folder. */
#ifndef WICK_OPENCL_QUERY_H
#define WICK_OPENCL_QUERY_H

#include "compiler/support/support.h"
#include "runtime/opencl/devices.h"

/* The list stays as it is; any thread may ask. WK_UNSUPPORTED: there is none, and why. */
wk_status wk_cl_query(const wick_opencl_info **list, uint32_t *n) WK_MUST_CHECK;

#endif
