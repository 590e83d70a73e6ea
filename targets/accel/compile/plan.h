/* SPDX-License-Identifier: Apache-2.0
 * plan: what a schedule decides before commands exist. Operators are computed in their order, in
 * groups; a group goes through its tensors in strips of rows, each operator computing the rows that
 * the next ones need, so that what is made and used within a group never exists whole. Tensors may
 * stay in the scratchpad from one group to a later one. */
#ifndef WICK_ACCEL_PLAN_H
#define WICK_ACCEL_PLAN_H

#include "targets/accel/compile/prefetch.h"

typedef struct {
  int first, last; /* operators */
  int strips;
  bool keeps; /* constants are loaded once, not for every strip */
  bool alone; /* it begins when what groups before have in the scratchpad has gone, so that its own
                 buffers lie as if it were the first; but for what is resident */
} wk_accel_group;

typedef struct {
  WK_VEC(wk_accel_group) groups;
  int *resident; /* of each tensor: the last operator that finds it in the scratchpad; -1: none */
  int lasting;   /* steps: a buffer that is used for longer lies where those do that last */
  int64_t chunk; /* bytes of constants that are loaded in one go, about */
  bool marks;    /* a MARK behind every group */
  int misfit;    /* no plan was found: the operator that no group with it has room for */
} wk_accel_plan;

/* Who writes and reads a tensor: first and last operator; -1: none. */
typedef struct {
  int first_writer, last_writer, first_reader, last_reader;
} wk_accel_use;
wk_accel_use *wk_accel_uses(const wk_accel_net *net, wk_arena *a);

/* Steps of groups [g0, g1). Tensors that come from before or go on after them are in memory unless
 * they are resident. */
void wk_accel_build(const wk_accel_net *net, const wk_accel_plan *p, const wk_accel_use *uses,
                    size_t g0, size_t g1, wk_accel_steps *out);
/* What each step must wait for, whatever is where, and what the mode has it wait for besides;
 * without: ideas that are left out (ideas.h). */
void wk_accel_depend(const wk_accel_net *net, wk_accel_prefetch mode, unsigned without,
                     wk_accel_steps *s);

/* Constants too large to be in the scratchpad twice, or for a command: sums go part by part. */
bool wk_accel_is_split(const wk_accel_net *net, const wk_accel_op *op);
/* Bytes of constants that are then loaded at once, about. */
int64_t wk_accel_split_bytes(const wk_accel_net *net);

/* ---- what does not fit ----------------------------------------------------------------------- */

/* The least scratchpad, larger than the machine's, with which `fits` is true; 0: there is none. */
typedef bool wk_accel_fits(void *ctx, const wk_machine *larger);
int64_t wk_accel_least_scratchpad(const wk_machine *m, wk_accel_fits *fits, void *ctx);
/* "it needs 40000 bytes of scratchpad for one row of its result; machine 'tiny' has 16384,
 * scratchpad=65536 fits", in the net's arena. */
const char *wk_accel_room_reason(const wk_accel_net *net, int64_t need, const char *what,
                                 int64_t fits);

#endif
