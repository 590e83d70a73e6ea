/* SPDX-License-Identifier: Apache-2.0
 * build_log: what is said of a program that the driver does not compile. Private to
 * runtime/opencl. */
#ifndef WICK_OPENCL_BUILD_LOG_H
#define WICK_OPENCL_BUILD_LOG_H

#include "unit.h"

/* The first error of the log and what its kernel is for (the comment above it) go to `error`, with
 * the name of a file that has the whole log and the source's lines with their numbers: that of
 * WICK_OPENCL_LOG, else one in the cache's folder. What can be written nowhere goes to stderr. */
void wick_cl_tell_log(const wick_cl_unit *u, const char *log, wick_error_detail *error);

#endif
