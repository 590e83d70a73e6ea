/* SPDX-License-Identifier: Apache-2.0
 * cl: OpenCL's functions, found in a library when they are first asked for, so that programs start
 * where there is none. Private to runtime/opencl. */
#ifndef WICK_OPENCL_CL_H
#define WICK_OPENCL_CL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "runtime/internal.h"

/* All are of OpenCL 1.2. */
#define WICK_CL_FUNCTIONS(X)                                                                 \
  X(GetPlatformIDs) X(GetPlatformInfo) X(GetDeviceIDs) X(GetDeviceInfo)                      \
  X(CreateContext) X(ReleaseContext) X(CreateCommandQueue) X(ReleaseCommandQueue)            \
  X(CreateBuffer) X(ReleaseMemObject)                                                        \
  X(CreateProgramWithSource) X(CreateProgramWithBinary) X(BuildProgram) X(ReleaseProgram)    \
  X(GetProgramInfo) X(GetProgramBuildInfo) X(CreateKernel) X(ReleaseKernel) X(GetKernelInfo) \
  X(GetKernelWorkGroupInfo) X(SetKernelArg) X(EnqueueNDRangeKernel) X(EnqueueReadBuffer)     \
  X(EnqueueWriteBuffer) X(EnqueueFillBuffer) X(EnqueueMapBuffer) X(EnqueueUnmapMemObject)    \
  X(EnqueueMarkerWithWaitList) X(WaitForEvents) X(ReleaseEvent) X(GetEventProfilingInfo)     \
  X(Flush) X(Finish)

typedef struct wick_cl {
#define WICK_X(name) __typeof__(&cl##name) name;
  WICK_CL_FUNCTIONS(WICK_X)
#undef WICK_X
} wick_cl;

/* The functions, and platforms behind them, as long as the process runs. NULL: there are none, and
 * `why` says what is missing. Threads may call it at the same time. */
const wick_cl *wick_cl_get(wick_error_detail *why);

/* A process that was forked after the functions were found has not the drivers' threads, and some
 * calls would wait for these for ever: none is made there. */
bool wick_cl_is_forked(void);
/* WICK_DEVICE_FAILED there. */
wick_status wick_cl_check_process(wick_error_detail *error);
/* NULL is fine; in a process that was forked the memory stays the other's. */
void wick_cl_release_memory(const wick_cl *cl, cl_mem memory);

/* WICK_DEVICE_FAILED, or WICK_NO_MEMORY where the code says so: "clFinish: CL_INVALID_VALUE". */
wick_status wick_cl_fail(wick_error_detail *error, const char *function, cl_int code);

#endif
