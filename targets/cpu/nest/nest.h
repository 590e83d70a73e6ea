/* SPDX-License-Identifier: Apache-2.0
 * nest: private to the loop emitters (nest_*.c, loops.c). A nest is a list of statements that share
 * their first `outer` dims; a single instruction is a nest of one. All strides are in bytes. */
#ifndef WICK_CPU_NEST_H
#define WICK_CPU_NEST_H

#include "targets/cpu/nest/loops.h"
#include "targets/cpu/llvm/vector.h"

#define WK_NEST_RANK (WK_MAX_RANK + 1) /* one dim may be cut in two */

typedef enum {
  WK_FOLD_NONE,
  WK_FOLD_SUM,
  WK_FOLD_PROD,
  WK_FOLD_MAX,
  WK_FOLD_MIN,
  WK_FOLD_ARGMAX,
  WK_FOLD_ARGMIN
} wk_fold;

typedef struct {
  int64_t n;
  int axis;      /* of the instruction, for INDEX */
  int64_t scale; /* positions along the axis per step */
  bool reduced;
  int limit;     /* 0: none; else 1 + which of the nest's limits says how many positions count */
  bool listed;   /* which ones its list says */
} wk_nest_dim;

typedef struct {
  wk_dtype dtype;
  bool is_scratch;
  int64_t at;   /* is_scratch: byte offset in the scratch memory */
  uint32_t arg; /* else: entry of args */
  int64_t stride[WK_NEST_RANK];
} wk_nest_operand;

typedef struct {
  const wk_expr *body; /* FOLD_NONE: results to the outputs; else one result: what is folded */
  const wk_expr *post; /* NULL: none */
  wk_fold fold;
  bool select_last, is_indexed;
  bool over_samples; /* axis 0 is folded, and has several elements */
  wk_dtype folded; /* dtype of what is folded */
  wk_scalar start; /* what folding starts from */
  int rank;
  wk_nest_dim dim[WK_NEST_RANK]; /* kept ones first */
  int kept;                      /* dims that are not reduced */
  uint32_t n_out, n_operands;
  wk_nest_operand *operands; /* outputs first */
  /* chosen by wk_nest_plan */
  int lanes;
  int vector; /* dim along which vectors lie: last kept or last reduced one; -1: none */
  int tile;   /* map: tiles of lanes x lanes over dim[tile] and dim[vector]; -1: none */
  bool is_run; /* rows of tiles are dim[tile - 1] and dim[tile], one behind the other */
  int clip;   /* this dim is a piece of a longer one (-1: none): dim[clip - 1] counts pieces … */
  int64_t clip_of; /* … of this length */
} wk_nest_statement;

typedef struct {
  wk_arena *arena;
  uint32_t n, n_args; /* behind the arguments come addresses of limits */
  wk_nest_statement *statements;
  int outer;
  int64_t positions, group; /* of the outer dims: in all, per task */
  int64_t scratch_bytes;
  int n_limits;
  bool has_rows[WK_MAX_LIMITS]; /* of each limit */
} wk_nest;

/* The first dim that tiles or vectors lie in. */
static inline int wk_nest_inner(const wk_nest_statement *s) {
  if (s->tile >= 0) return s->tile - s->is_run;
  return s->vector >= 0 ? s->vector : s->rank;
}

/* nest_build.c: from an instruction. The nest lives in its arena. */
wk_status wk_nest_build(wk_arena *a, const wk_program *p, const wk_inst *i,
                        wk_nest *out) WK_MUST_CHECK;
/* nest_plan.c: merges and orders dims, chooses vectors and tasks. */
void wk_nest_plan(const wk_simd *simd, wk_nest *n);

/* ---- emission -------------------------------------------------------------------------------- */

/* A statement at a position of some of its dims. */
typedef struct {
  wk_llvm *e;
  wk_arena *arena; /* for arrays of addresses */
  const wk_nest_statement *s;
  wk_ssa *base;            /* address per operand, NULL: not there */
  wk_ssa pos[WK_MAX_RANK]; /* along the instruction's axes (statements with INDEX only) */
  wk_ssa clip;             /* length of dim[s->clip] here */
  const wk_ssa *limits;    /* i64 */
  const wk_ssa *rows;      /* ptr: the list of each, where it has one */
} wk_nest_at;

/* Moves to step i of a dim. */
void wk_nest_step(wk_nest_at *at, int dim, wk_ssa i);
/* Its limit says where its loop ends; that of pieces, which ones there are. */
static inline bool wk_nest_is_limited(const wk_nest_statement *s, int dim) {
  return s->dim[dim].limit && dim != s->clip && dim + 1 != s->clip;
}
wk_ssa wk_nest_length(const wk_nest_at *at, int dim); /* i64 */
wk_ssa wk_nest_rounded_down(wk_llvm *e, wk_ssa n, int64_t step);

/* `lanes` elements from element i + more of the vector dim on; mask NULL: all. */
typedef struct {
  wk_ssa i; /* i64; NULL: 0 */
  int64_t more;
  int lanes;
  wk_ssa mask;
} wk_nest_place;
wk_ssa wk_nest_load(const wk_nest_at *at, uint32_t operand, const wk_nest_place *w);
void wk_nest_store(const wk_nest_at *at, uint32_t operand, const wk_nest_place *w, wk_ssa value);
/* Values of the body at the place. */
void wk_nest_body(const wk_nest_at *at, const wk_nest_place *w, wk_ssa *results);
void wk_nest_positions(const wk_nest_at *at, const wk_nest_place *w, wk_ssa *index);
/* Whether places may be masked. */
bool wk_nest_can_mask(const wk_llvm *e, const wk_nest_statement *s);
wk_ssa wk_nest_first_lanes(wk_llvm *e, int lanes, wk_ssa n); /* mask of the first n lanes */

/* Walks the vector dim: `emit` is called with groups of vectors, then single ones, then the rest
 * under a mask or one by one. */
typedef void (*wk_nest_group)(wk_nest_at *at, const wk_nest_place *places, int n, void *ctx);
void wk_nest_walk(wk_nest_at *at, wk_nest_group emit, void *ctx);
/* Elements from..to of the vector dim, in groups of `n` vectors; nothing else is walked. */
void wk_nest_walk_range(wk_nest_at *at, wk_ssa from, wk_ssa to, int lanes, int n,
                        wk_nest_group emit, void *ctx);

void wk_nest_map_codegen(wk_nest_at *at, int outer); /* nest_map.c */
void wk_nest_map_group(wk_nest_at *at, const wk_nest_place *places, int n, void *ctx);
void wk_nest_tile_codegen(wk_nest_at *at);              /* nest_tile.c: dims tile and vector */
void wk_nest_reduce_codegen(wk_nest_at *at, int outer); /* nest_reduce.c */

#endif
