/* SPDX-License-Identifier: Apache-2.0
 * Private to the random graphs: the generator that operators and motifs draw with. */
#ifndef WICK_TESTS_RANDOM_DRAW_H
#define WICK_TESTS_RANDOM_DRAW_H

#include "tests/random_graph.h"

/* What is known of a value: its data, how far off a right program may be (relative to the largest
 * element; 0: exact), whether it has been used. */
typedef struct {
  wk_tensor t;
  double error;
  bool is_open; /* may be drawn as an operand */
  bool used;
} drawn;

typedef struct {
  wk_graph *g;
  wk_arena *a;
  wk_rng rng;
  uint64_t seed;
  const random_options *o;
  WK_VEC(drawn) v; /* per value */
} draw;

/* ---- numbers --------------------------------------------------------------------------------- */
int64_t draw_int(draw *d, int64_t lo, int64_t hi); /* inclusive */
bool draw_chance(draw *d, int percent);
int64_t draw_dim(draw *d); /* a small size */

/* ---- operands: never WK_NONE ----------------------------------------------------------------- */
typedef struct {
  uint32_t dtypes;  /* bit set of 1 << wk_dtype */
  int least, most;  /* rank */
  bool exact;
} draw_want;
#define DRAW_FLOATS ((1u << WK_F32) | (1u << WK_F64) | (1u << WK_F16) | (1u << WK_BF16))
#define DRAW_INTS ((1u << WK_I32) | (1u << WK_I64) | (1u << WK_I8) | (1u << WK_U8))
#define DRAW_BOOLS (1u << WK_BOOL)
wk_value_id draw_operand(draw *d, draw_want want);
wk_value_id draw_real(draw *d, int least, int most);
/* An operand of exactly this type: an existing value, an input or a constant. */
wk_value_id draw_of_type(draw *d, wk_dtype t, int rank, const int64_t *dims);
/* One that broadcasts against x without enlarging it. */
wk_value_id draw_beside(draw *d, wk_value_id x, bool exact);
/* New constant or input with numbers in lo..hi. Constants when `constant`. */
wk_value_id draw_fresh(draw *d, wk_dtype t, int rank, const int64_t *dims, bool constant, double lo,
                       double hi);
wk_value_id draw_number(draw *d, wk_dtype t, double v); /* scalar constant */

/* ---- nodes ----------------------------------------------------------------------------------- */
const wk_type *draw_type(const draw *d, wk_value_id v);
/* Adds a node with n_out outputs (0: the least); its first output, or WK_NONE when inference or the
 * numbers refuse it (or an operand is WK_NONE where one is needed). */
wk_value_id draw_node(draw *d, wk_op op, void *attrs, uint32_t n_in, const wk_value_id *in,
                      uint32_t n_out);
/* The same of a description, which may have bodies. */
wk_value_id draw_desc(draw *d, const wk_node_desc *desc);
wk_value_id draw_1(draw *d, wk_op op, void *attrs, wk_value_id x);
wk_value_id draw_2(draw *d, wk_op op, void *attrs, wk_value_id x, wk_value_id y);

/* random_draw_ops.c: one draw of an operator; false when it was refused. */
bool draw_operator(draw *d, wk_op op);
/* Sizes of 1 to `most` parts of an axis, each of 1 or more; of an empty axis one of 0. Returns how
 * many. */
int64_t draw_parts(draw *d, int64_t size, int64_t *parts, int64_t most);
/* random_draw_attention.c: what importing transformers makes. */
void draw_cached_attention(draw *d);
void draw_rms_norm(draw *d);
void draw_packed_product(draw *d);
/* random_draw_motifs.c: one pattern of several nodes. */
void draw_motif(draw *d);

#endif
