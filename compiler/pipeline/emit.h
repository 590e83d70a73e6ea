/* SPDX-License-Identifier: Apache-2.0
 * From compiled parts to what is written of them. */
#ifndef WICK_PIPELINE_EMIT_H
#define WICK_PIPELINE_EMIT_H

#include "compiler/part/part.h"

/* A binding of the model's shapes, compiled. */
typedef struct {
  const char *name; /* "batch=1" */
  wk_parts *parts;
} wk_emit_entry;

/* A package of them: a unit for each target that has a part. */
wk_status wk_emit_package(const wk_targets *t, const wk_emit_entry *entries, size_t n,
                          const wk_emit_options *o, const char *path,
                          wk_emit_result *result) WK_MUST_CHECK;
/* Something else that a target writes. WK_UNSUPPORTED names the parts that are another target's,
 * unless the output leaves them out. */
wk_status wk_emit_output(const wk_target_output *output, const wk_instance *t,
                         const wk_emit_entry *entries, size_t n, const wk_emit_options *o,
                         const char *path, wk_emit_result *result) WK_MUST_CHECK;
/* A package of the parts that are for these targets, each an entry of its own. entry[i] receives
 * that of part i; WK_NONE: it is for another target. */
wk_status wk_emit_parts(const wk_targets *t, wk_parts *p, const wk_emit_options *o,
                        const char *path, uint32_t *entry) WK_MUST_CHECK;
/* A package of programs for one target, each an entry of its own. */
wk_status wk_emit_programs(const wk_instance *t, wk_program *const *programs, size_t n,
                           const wk_emit_options *o, const char *path) WK_MUST_CHECK;

#endif
