/* SPDX-License-Identifier: Apache-2.0
 * lanes: neighbours along an axis in one work item of a GPU, as vectors where memory allows it. A
 * pointer to a vector needs the alignment of the vector; it is proved here from offsets, steps and
 * strides, which stand in no text: another operand without the proof has another text. Private to
 * this folder. */
#ifndef WICK_OPENCL_LANES_H
#define WICK_OPENCL_LANES_H

#include "targets/opencl/make.h"

/* At each multiple of n along `axis` the view has an address that is a multiple of n elements. */
bool wk_cl_begins_at(const wk_program *p, const wk_view *v, int axis, int64_t n);

/* Elements of the view that follow each other from a multiple of `lanes` of the axis on are a
 * vector in memory, with the alignment of one. */
bool wk_cl_is_vector(const wk_program *p, const wk_view *v, int axis, int lanes);

/* OpenCL C's name: "ushort" for f16. */
const char *wk_cl_scalar_type(wk_dtype t);

/* Results at `lanes` neighbours of the axis, the first of them at the variable `first`, a multiple
 * of lanes; positions of the other axes are defined. accumulators: of each lane, C expressions, or
 * NULL: there are none. */
void wk_cl_end_lanes(const wk_cl_loops *x, const wk_program *p, int axis, int lanes,
                     const char *const *accumulators);

/* Lanes for so many elements in rows of `row`: 4, 2 or 1, as many as divide a row and leave work
 * items for all units. */
int wk_cl_lanes_for(const wk_opencl *d, int64_t elements, int64_t row);

/* Work items of a group: 64 to 256, fewer where groups would be too few for the units. */
uint32_t wk_cl_group_for(const wk_opencl *d, int64_t items);

#endif
