/* SPDX-License-Identifier: Apache-2.0
 * compile: the compiler of target "accel" (docs/architecture.md, "The accelerator's compiler"). */
#ifndef WICK_ACCEL_COMPILE_H
#define WICK_ACCEL_COMPILE_H

#include "compiler/target/target.h"
#include "targets/accel/compile/explain.h"
#include "targets/accel/compile/schedule.h"

typedef struct wk_accel_plans wk_accel_plans;

typedef struct {
  wk_accel_prefetch prefetch;
  int effort; /* 0 … 3: of the search */
  bool marks; /* a MARK behind every group */
  unsigned without; /* ideas that are left out (ideas.h) */
  wk_accel_explain *explain; /* receives the candidates; NULL: nobody asks */
  wk_accel_plans *plans;     /* that were found before; NULL: none are kept */
} wk_accel_options;

extern const wk_target wk_target_accel;

/* The best plan that the effort finds, in any mode but SERIAL. WK_RESOURCE: plan->misfit does not
 * fit. */
wk_status wk_accel_search(const wk_accel_net *net, const wk_accel_use *uses,
                          const wk_accel_options *o, wk_accel_plan *out) WK_MUST_CHECK;
void wk_accel_plan_free(wk_accel_plan *p);

/* Plans of nets that have been searched: a part is judged before it is compiled, and most parts
 * come back as they were when another one has been refused. What is found in them is what a search
 * would find. */
wk_accel_plans *wk_accel_plans_new(void);
void wk_accel_plans_free(wk_accel_plans *p); /* NULL ok */
/* wk_accel_search, unless o->plans has it; for --explain it is searched again. The plan of SERIAL
 * is that of AUTO: what it shows is what running ahead is worth to that plan. */
wk_status wk_accel_find_plan(const wk_accel_net *net, const wk_accel_use *uses,
                             const wk_accel_options *o, wk_accel_plan *out) WK_MUST_CHECK;
/* wk_target.admits */
bool wk_accel_admits(const wk_machine *m, const wk_accel_options *o, const wk_graph *g, wk_arena *a,
                     wk_node_id *node, const char **reason);

#endif
