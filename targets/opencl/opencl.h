/* SPDX-License-Identifier: Apache-2.0
 * opencl: OpenCL C 1.2 for one device as a target (rank 4). A part's instructions become kernels,
 * specialised for their shapes, and launches; what runs them is runtime/opencl.
 *
 * Kernels are of one of two families, by the type of the device:
 *   CPU   a work item is a thread's piece of work: it computes a tile, or some rows, with wide
 *         vectors, in a work-group of its own
 *   GPU   a work item computes a few elements, or a small tile from local memory that its group
 *         shares
 */
#ifndef WICK_OPENCL_H
#define WICK_OPENCL_H

#include "compiler/package/package.h"
#include "compiler/target/target.h"
#include "runtime/opencl/devices.h"

typedef enum { WK_CL_CPU, WK_CL_GPU } wk_cl_family;

/* An opened device. */
typedef struct {
  wk_instance base;
  wick_opencl_info info;
  wk_cl_family family;
  char spec[144]; /* as wick_opencl_spec */
  bool explains;       /* --explain-kernel */
  char explain[256];   /* products of this node; "": all */
  double tune_seconds; /* negative: tiles are not measured, and what was measured is not asked */
} wk_opencl;

/* Operands of a kernel: two arguments of 8 bytes each, of the 1,024 bytes that every device has,
 * with room for weights, padding and a fault. */
enum { WK_CL_MAX_OPERANDS = 60 };

/* Floats of a vector that kernels use: 4, 8 or 16. */
int wk_cl_lanes(const wk_opencl *d);

/* It multiplies bytes by fours: by an extension, or, NVIDIA's, by inline PTX. */
bool wk_cl_has_dots(const wk_opencl *d);

/* Of buffers, bytes: what the device asks for, and at least WICK_ALIGN. */
int64_t wk_cl_align(const wk_opencl *d);

/* The target's pass: what kernels read otherwise than it lies is copied, images with few channels
 * are padded in memory. */
wk_status wk_cl_prepare(const wk_opencl *d, wk_program *p, wk_arena *scratch, int64_t *changes)
    WK_MUST_CHECK;

/* wk_target.compile */
wk_status wk_cl_compile(const wk_opencl *d, const wk_target_part *parts, size_t n,
                        const wk_emit_options *o, wk_package *pkg, uint32_t *row,
                        wk_emit_result *result) WK_MUST_CHECK;

/* wk_target_output.write: the text of the kernels. */
wk_status wk_cl_emit(const wk_opencl *d, const wk_target_part *parts, size_t n,
                     const wk_emit_options *o, const char *path,
                     wk_emit_result *result) WK_MUST_CHECK;

extern const wk_target wk_target_opencl;

#endif
