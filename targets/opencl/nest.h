/* SPDX-License-Identifier: Apache-2.0
 * nest: chains of map and reduce, row by row. Private to this folder. */
#ifndef WICK_OPENCL_NEST_H
#define WICK_OPENCL_NEST_H

#include "targets/opencl/make.h"

/* Its rows fit into memory of a work item (CPU) or of a work-group (GPU), and are worth it. */
bool wk_cl_nest_fits(const wk_opencl *d, const wk_program *p, const wk_inst *nest);

/* A work-group does one row, or several short ones. */
bool wk_cl_nest_gpu(const wk_cl_making *m);

#endif
