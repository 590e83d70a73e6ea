/* SPDX-License-Identifier: Apache-2.0
 * tune: register tiles by measurement. Each distinct product of the parts is compiled with a few
 * tiles and run on the device; the fastest is remembered, in this process and in the file
 * "tiles-<hash of the device>.json" of the folder of caches (runtime/opencl). Private to this
 * folder. */
#ifndef WICK_OPENCL_TUNE_H
#define WICK_OPENCL_TUNE_H

#include "targets/opencl/unit.h"

/* What is known of a device. */
typedef struct wk_cl_tiles wk_cl_tiles;

/* Reads the device's file; one that is damaged, or of another device, is as good as empty. */
wk_cl_tiles *wk_cl_tiles_open(const wk_opencl *d);
/* False: it is not known. */
bool wk_cl_tiles_get(const wk_cl_tiles *t, const char *key, wk_cl_tile_size *size);
void wk_cl_tiles_put(wk_cl_tiles *t, const char *key, wk_cl_tile_size size, double microseconds);
/* Writes what is known beside what others have written meanwhile, if there is a folder. NULL ok. */
void wk_cl_tiles_close(wk_cl_tiles *t);

/* Which of n numbers is the least; of equal ones the first. */
int wk_cl_least(const double *of, int n);

/* Measures products that are not known, those with most multiply-accumulates first, for so many
 * seconds at most; what is then left is chosen as without measurements. */
wk_status wk_cl_tune(const wk_opencl *d, wk_cl_tiles *t, const wk_target_part *parts, size_t n,
                     const wk_emit_options *o) WK_MUST_CHECK;

#endif
