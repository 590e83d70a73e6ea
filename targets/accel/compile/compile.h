/* SPDX-License-Identifier: Apache-2.0
 * compile: the compiler of target "accel" (docs/architecture.md, "The accelerator's compiler"). */
#ifndef WICK_ACCEL_COMPILE_H
#define WICK_ACCEL_COMPILE_H

#include "compiler/target/target.h"
#include "targets/accel/compile/explain.h"
#include "targets/accel/compile/schedule.h"

typedef struct {
  wk_accel_prefetch prefetch;
  int effort; /* 0 … 3: of the search */
  wk_accel_explain *explain; /* receives the candidates; NULL: nobody asks */
} wk_accel_options;

extern const wk_target wk_target_accel;

/* The best plan that the effort finds. WK_RESOURCE names the operator that does not fit. */
wk_status wk_accel_search(const wk_accel_net *net, const wk_accel_use *uses,
                          const wk_accel_options *o, wk_accel_plan *out) WK_MUST_CHECK;
void wk_accel_plan_free(wk_accel_plan *p);

#endif
