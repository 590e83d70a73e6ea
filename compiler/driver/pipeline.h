/* SPDX-License-Identifier: Apache-2.0
 * pipeline: the whole compiler from an imported module to a placed program (rank 5). */
#ifndef WICK_DRIVER_PIPELINE_H
#define WICK_DRIVER_PIPELINE_H

#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"

/* One step that ran: a graph pass, "lower", "layout", "order", "generate", an instruction pass,
 * "prepare" or "place". */
typedef struct {
  const char *name;
  int64_t changes;
  double seconds;
} wk_step_record;

typedef struct {
  WK_VEC(wk_step_record) steps;
  double seconds;
  int64_t nodes, macs;               /* of the imported graph, bodies included once */
  int64_t weights;                   /* bytes of distinct constants after import */
  int64_t instructions;              /* of the program, bodies not counted */
  int64_t peak_in_model_order, peak_ordered; /* estimates of the ordering step, bytes */
} wk_pipeline_report;
void wk_pipeline_report_free(wk_pipeline_report *r);

/* Seen after each step: either m (before generation) or p is not NULL. A status ends the pipeline.
 */
typedef wk_status (*wk_step_hook)(void *ctx, const wk_step_record *step, const wk_module *m,
                                  const wk_program *p);

typedef struct {
  const wk_target *target;
  const wk_emit_options *emit;  /* handed to the target's preparation */
  const char *stop_after;       /* step name, NULL: run to the end */
  bool portable;                /* leave out the target's preparation: the evaluator can run it */
  bool graph_only;              /* stop before lowering, when the graph passes are through */
  wk_step_hook hook;
  void *ctx;
} wk_pipeline_options;

/* Rewrites m. *out is NULL when stop_after ended the run before generation. The program uses
 * constant data of m: keep m alive. */
wk_status wk_pipeline_run(wk_module *m, const wk_pipeline_options *o, wk_pipeline_report *report,
                          wk_program **out) WK_MUST_CHECK;
/* The last steps alone: support is checked, the target prepares, buffers are placed. */
wk_status wk_pipeline_finish(wk_program *p, const wk_target *t,
                             const wk_emit_options *emit) WK_MUST_CHECK;
/* All steps in order; a pass that runs before and after lowering is listed before. Returns the
 * count, at most max. */
typedef struct {
  const char *name, *on, *doc; /* on: "graphs", "primitives" or "programs" */
} wk_pipeline_step;
#define WK_PIPELINE_MAX_STEPS 64
size_t wk_pipeline_steps(wk_pipeline_step *steps, size_t max);
/* WK_USAGE with the nearest name unless it is a step; `option` begins the message. */
wk_status wk_pipeline_check_step(const char *option, const char *name) WK_MUST_CHECK;
/* Nodes of all graphs of a module. */
int64_t wk_module_nodes(const wk_module *m);

#endif
