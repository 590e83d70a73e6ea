/* SPDX-License-Identifier: Apache-2.0
 * memory: order, liveness, placement, checker (rank 3). plan.h holds the placement algorithm on
 * plain intervals; this header applies it to graphs and programs. */
#ifndef WICK_MEMORY_H
#define WICK_MEMORY_H

#include "compiler/ir/ir.h"
#include "compiler/memory/plan.h"

/* Reorders the nodes of every graph of the module so that the largest sum of live bytes is
 * small: exact search on small regions, beam search above. Views cost nothing, in-place updates
 * are foreseen. Deterministic. Before/after peak estimates of the main graph in bytes. */
wk_status wk_order_nodes(wk_module *m, int64_t *peak_before, int64_t *peak_after) WK_MUST_CHECK;

/* Equal graphs without variables in the same order, however their nodes were ordered. */
void wk_order_by_results(wk_graph *g);

/* Values that live long are computed again where they are needed next, until the peak that
 * wk_order_nodes estimates of the main graph is at most `budget` bytes: each time the one that
 * takes the least computing per byte, of those that live where most do. What is computed is the
 * same to the bit. Leaves the graph as ordered. Deterministic. */
typedef struct {
  int64_t before, peak; /* estimates, bytes */
  int64_t least;        /* the smallest peak that computing again leads to */
  int64_t nodes, macs;  /* computed again */
} wk_remat_report;
/* WK_RESOURCE: no such order was found; the graph is ordered and otherwise as it was. */
wk_status wk_rematerialise(wk_module *m, int64_t budget, wk_remat_report *report) WK_MUST_CHECK;

/* Lifetimes in flattened instruction order: a buffer is live in [first, last]. A buffer that a
 * loop body reads before it writes it, or that is used outside the loop too, is live through the
 * whole loop. */
typedef struct { int64_t first, last; } wk_live; /* first > last: never used */
/* Live range of every buffer, allocated in scratch. */
wk_live *wk_liveness(const wk_program *p, wk_arena *scratch);

/* Offsets for all ACT and SCRATCH buffers; sets region_size and act_bound. Const and state buffers
 * are laid out in order with their alignment. SCRATCH buffers live only within one top-level
 * instruction. */
wk_status wk_place(wk_program *p, int64_t align) WK_MUST_CHECK;

/* A state of programs that share them: io is the first one's that has it. */
typedef struct {
  const wk_program_io *io;
  const void *initial;
  int64_t offset;
} wk_state;
/* Offsets for the STATE buffers of programs that share one memory, each at a multiple of 64 behind
 * the one before it; region_size of all. Those of the same name are the same and must have one type
 * and begin alike, else WK_INPUT. *states, in scratch, is in the order of the offsets; may be
 * NULL. */
wk_status wk_place_states(wk_program *const *programs, size_t n, wk_arena *scratch,
                          wk_state **states, size_t *n_states) WK_MUST_CHECK;
/* Independent of wk_place: no two live buffers overlap, all within bounds, every view in its
 * buffer. */
wk_status wk_place_check(const wk_program *p) WK_MUST_CHECK;

#endif
