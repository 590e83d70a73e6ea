/* SPDX-License-Identifier: Apache-2.0
 * attention: what the operators of the attention family share. A handler brings its operands to
 * heads, says which positions a query sees, and has the rest written by wk_attend. Batches and
 * lengths may have sizes that are only known at run time (extent.h); handlers refuse others. */
#ifndef WICK_ONNX_IMPORT_ATTENTION_H
#define WICK_ONNX_IMPORT_ATTENTION_H

#include "compiler/onnx/import/extent.h"

/* [batch, length, heads * d] <-> [batch, heads, length, d] */
wk_value_id wk_heads_split(wk_onnx_node *c, wk_value_id x, int64_t heads);
wk_value_id wk_heads_merge(wk_onnx_node *c, wk_value_id x);
/* past and x along the axis of positions; x alone when there is no past. */
wk_value_id wk_heads_append(wk_onnx_node *c, wk_value_id past, wk_value_id x);

/* The cache with the update, of at least one row, written along the axis (behind the first) from
 * starts, i64[batch], on; round its end when circular. */
wk_value_id wk_cache_write(wk_onnx_node *c, wk_value_id cache, wk_value_id update,
                           wk_value_id starts, int axis, bool circular);
/* The same at positions i64[batch, 1 …, length, 1]. */
wk_value_id wk_cache_write_at(wk_onnx_node *c, wk_value_id cache, wk_value_id update,
                              wk_value_id at, int axis);

/* ---- what a query sees ----------------------------------------------------------------------- */

/* Conditions and terms for scores [batch, heads, m, n]; everything broadcasts to them. */
typedef struct {
  wk_dtype dtype;            /* of the scores */
  int64_t batch, heads, m, n; /* rooms */
  const wk_size *sizes[4];    /* of the same */
  wk_value_id allowed, bias; /* WK_NONE: everything, nothing */
  wk_value_id count;         /* i64[]: no key from here on is allowed; WK_NONE: not known */
  bool has_empty_rows;       /* perhaps */
} wk_mask;

wk_mask wk_mask_for(wk_onnx_node *c, wk_value_id q, wk_value_id k);
/* Booleans say what is allowed, numbers are added to the scores. */
void wk_mask_apply(wk_onnx_node *c, wk_mask *m, wk_value_id mask);
/* Only the first `lengths` keys count: i64[batch]. */
void wk_mask_lengths(wk_onnx_node *c, wk_mask *m, wk_value_id lengths);
/* Keys p - left .. p + right of a query at position p = first + its index; a negative bound is
 * none. Either `first` is a size or `firsts` is i64[batch]. */
void wk_mask_window(wk_onnx_node *c, wk_mask *m, const wk_size *first, wk_value_id firsts,
                    int64_t left, int64_t right);
/* x, whose axis is axis `of` of the scores, in the size and the room of that, which the run
 * checks. */
wk_value_id wk_mask_axis(wk_onnx_node *c, const wk_mask *m, wk_value_id x, int axis, int of);

/* ---- rotation -------------------------------------------------------------------------------- */

/* Tables that broadcast to the pairs of x: [batch or 1, .., .., pairs]. */
typedef struct {
  wk_value_id cos, sin;
  bool interleaved; /* pairs are neighbours, else an element of each half */
} wk_rotation;

/* Turns the first 2 * pairs elements of the last axis of x, which has rank 4. */
wk_value_id wk_rotate(wk_onnx_node *c, wk_value_id x, const wk_rotation *r);
/* Rows of a table [positions, pairs] for positions [batch, length], or a table [batch, length,
 * pairs] when positions is WK_NONE, to broadcast along the heads of [batch, heads, length, ..]
 * (heads_first) or [batch, length, heads, ..]. */
wk_value_id wk_rotation_rows(wk_onnx_node *c, wk_value_id cache, wk_value_id positions,
                             bool heads_first);

/* ---- attention ------------------------------------------------------------------------------- */

typedef enum { WK_SCORES_RAW, WK_SCORES_CAPPED, WK_SCORES_MASKED, WK_SCORES_SOFTMAX } wk_scores;

/* softmax(softcap(scale q k^T) + mask) v for q [batch, heads, m, d], k [batch, kv heads, n, d],
 * v [batch, kv heads, n, e] of one type, f32 or f64; query head h uses head h / (heads / kv heads)
 * of k and v. A query that sees nothing gives zeros. */
typedef struct {
  wk_value_id q, k, v;
  double scale, softcap;     /* softcap 0: none */
  bool has_sink;
  wk_value_id sink;          /* [heads]: the score of one more key, whose value is 0 */
  const wk_mask *mask;       /* NULL: none */
  wk_dtype softmax;          /* WK_DTYPE_NONE: the type of q */
  const Onnx__GraphProto *score_mod, *prob_mod; /* NULL: none; applied before and after softmax */
  wk_scores kind;            /* what wk_attend returns in *scores */
} wk_attention;

/* [batch, heads, m, e]. scores: NULL when nobody wants them. */
wk_value_id wk_attend(wk_onnx_node *c, const wk_attention *a, wk_value_id *scores);

#endif
