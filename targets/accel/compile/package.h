/* SPDX-License-Identifier: Apache-2.0
 * From the parts of a model to a unit of a package, or to a stream alone. */
#ifndef WICK_ACCEL_PACKAGE_H
#define WICK_ACCEL_PACKAGE_H

#include "targets/accel/compile/compile.h"
#include "compiler/package/package.h"
#include "targets/accel/isa/duration.h"

/* Adds a unit with these parts (targets/accel/isa/unit.h). Every stream has passed the checker.
 * *predicted: cycles of all, by the schedule model.
 * WK_INPUT: the machine's memory (dram_size) is too small for one. */
wk_status wk_accel_compile(const wk_machine *m, const char *spec, const wk_sched_options *o,
                           const wk_target_part *parts, size_t n, wk_package *pkg,
                           uint32_t *row, int64_t *predicted) WK_MUST_CHECK;
/* Parts as files: wk_accel_emit_streams. part: the number of one, -1: all. WK_USAGE lists the parts
 * where there is none of the number. */
wk_status wk_accel_write_streams(const wk_machine *m, const wk_sched_options *o,
                                 const wk_target_part *parts, size_t n, int64_t part,
                                 const char *path, const wk_emit_options *eo,
                                 int64_t *predicted) WK_MUST_CHECK;

#endif
