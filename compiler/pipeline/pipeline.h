/* SPDX-License-Identifier: Apache-2.0
 * pipeline: the whole compiler, step by step (rank 5). */
#ifndef WICK_PIPELINE_PIPELINE_H
#define WICK_PIPELINE_PIPELINE_H

#include "compiler/integer/integer.h"
#include "compiler/lower/lower.h"
#include "compiler/part/part.h"
#include "compiler/passes/passes.h"

/* What a step works on: graphs as imported, graphs of primitives, the graph of each part, the
 * program of each part, everything at once. Steps of a later kind never come before one of an
 * earlier kind. */
typedef enum {
  WK_ON_GRAPHS, WK_ON_PRIMITIVES, WK_ON_PARTS, WK_ON_PROGRAMS, WK_ON_OUTPUT
} wk_step_kind;

/* One step that ran. */
typedef struct {
  const char *name; /* as wk_pipeline_steps lists it */
  wk_step_kind kind;
  const char *part; /* name of the part; NULL: all of the module */
  bool is_pass;     /* rewrites what needs it; the others rewrite everything */
  bool is_portable_end; /* the last step on this program whose result the evaluator can run */
  int64_t changes;
  double seconds;
} wk_step_record;

typedef struct {
  WK_VEC(wk_step_record) steps;
  double seconds;
  int64_t nodes, macs;               /* of the graph in integers, bodies included once */
  int64_t float_macs;                /* those of floats */
  int64_t weights;                   /* bytes of distinct constants then */
  int64_t instructions;              /* of the programs, bodies not counted */
  int64_t peak_in_model_order, peak_ordered; /* estimates of the largest part, bytes */
  wk_adaptation adapted; /* of the first target that says why; its name */
  const char *adapted_by;
  wk_remat_report remat; /* peak 0: there was no budget */
  wk_block_report blocks; /* weights that became whole numbers */
  wk_arena *arena;
  wk_integer_row *integer;           /* per operator of a quantised model */
  size_t n_integer;
} wk_pipeline_report;
void wk_pipeline_report_free(wk_pipeline_report *r);

/* Seen after each step: either m (before generation) or p is not NULL. A status ends the pipeline.
 */
typedef wk_status (*wk_step_hook)(void *ctx, const wk_step_record *step, const wk_module *m,
                                  const wk_program *p);

/* The first step and the last, which are whoever runs the pipeline's. */
typedef struct {
  wk_status (*import)(void *ctx, wk_module **out); /* not asked for a module that is given */
  /* When all others ran, or those until where it was to stop: parts is what wk_pipeline_run gives,
   * the report is complete. */
  wk_status (*emit)(void *ctx, wk_parts *parts);
  void *ctx;
} wk_pipeline_ends;

typedef struct {
  const wk_targets *targets;
  wk_pipeline_ends ends;        /* functions may be NULL: the module is given, nothing is written */
  const char *stop_after;       /* step name, NULL: run to the end */
  wk_dtype convert;             /* F16 or BF16: what floats are stored in; I4 or I8: weights alone;
                                   NONE: as they are */
  int64_t convert_block;        /* of I4 and I8: weights with one scale */
  int64_t memory_budget;        /* bytes of activations, by the estimate; 0: as it comes */
  bool graph_only;              /* stop before lowering, when the graph passes are through */
  bool portable;                /* leave out what the evaluator cannot run */
  bool unplaced;                /* leave out the last step */
  bool shares_variables;        /* with other programs: they keep their types and layouts */
  wk_step_hook hook;
  void *ctx;
} wk_pipeline_options;

/* Rewrites m, or what is imported when it is NULL. *out is NULL when the run ended before the
 * partition, and its programs are NULL when it ended before generation. They use constant data of
 * the module: keep it alive. */
wk_status wk_pipeline_run(wk_module *m, const wk_pipeline_options *o, wk_pipeline_report *report,
                          wk_parts **out) WK_MUST_CHECK;
/* The same where o->memory_budget is for the placed activations of every part: tried until they
 * fit, which is when something is written. *m, which is imported when it is NULL, then is another
 * module that keeps the one that it was. *report is zero before. WK_RESOURCE says the least that
 * was found. */
wk_status wk_pipeline_fit(wk_module **m, const wk_pipeline_options *o, wk_pipeline_report *report,
                          wk_parts **out) WK_MUST_CHECK;
/* The last steps alone, for a program that was made portable: the target's passes that are not, and
 * placement. */
wk_status wk_pipeline_finish(wk_program *p, const wk_instance *t) WK_MUST_CHECK;

/* All steps in order; a pass that runs before and after lowering is listed before. */
typedef struct {
  const char *name;
  wk_step_kind kind;
  const char *on, *doc; /* on: "graphs", "primitives", "parts", "programs", … */
  const char *target;   /* whose pass it is; NULL: nobody's in particular */
} wk_pipeline_step;
typedef WK_VEC(wk_pipeline_step) wk_pipeline_step_list;
/* Free it with wk_vec_free. */
wk_pipeline_step_list wk_pipeline_steps(void);
/* WK_USAGE with the nearest name unless it is a step; `option` begins the message. kind may be
 * NULL. */
wk_status wk_pipeline_find_step(const char *option, const char *name,
                                wk_step_kind *kind) WK_MUST_CHECK;
/* Nodes of all graphs of a module. */
int64_t wk_module_nodes(const wk_module *m);

#endif
