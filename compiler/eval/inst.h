/* SPDX-License-Identifier: Apache-2.0
 * Private to eval/: where an instruction runs. */
#ifndef WICK_EVAL_INST_H
#define WICK_EVAL_INST_H

#include "compiler/eval/handler.h"

typedef struct {
  const wk_program *p;
  void *const *bases;      /* address of each buffer */
  int64_t iteration;       /* of the innermost enclosing loop */
  int outer;               /* axes fixed by enclosing nests */
  int64_t pos[WK_MAX_RANK];
  int depth;
  wk_eval_inst_hook hook;  /* NULL inside loops and nests */
  void *ctx;
  bool poisons;            /* what limits leave out */
} wk_frame;

/* Fills what the limits of an instruction, which has run, leave out. */
void wk_frame_poison(const wk_frame *f, const wk_inst *inst);

wk_status wk_frame_run(const wk_frame *f, const wk_block *b) WK_MUST_CHECK;

#endif
