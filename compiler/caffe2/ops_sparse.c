/* SPDX-License-Identifier: Apache-2.0
 * Sparse features: rows of a table, folded by segments, packed in rows, and what goes with lengths.
 *
 * Folds become segment_reduce of the domain "wick" (docs/ops.md says what it computes), whose
 * segments are bounded by offsets: lengths l become 0, l0, l0 + l1, … The last one is the number of
 * rows; lengths that do not add up to it give -1 there, which no offset may be. */
#include <math.h>
#include <string.h>

#include "compiler/caffe2/translate.h"
#include "compiler/onnx/export/export.h"

/* ---- offsets ------------------------------------------------------------------------------- */

static const char *cast(wk_c2_op *o, const char *x, Onnx__TensorProto__DataType to) {
  const char *y = wk_c2_make(o, "Cast", NULL, x, NULL, NULL);
  wk_c2_attr_int(o, "to", to);
  return y;
}

/* The sizes of x's axes from `first` to before `end`: an i64 list. */
static const char *sizes(wk_c2_op *o, const char *x, int64_t first, int64_t end) {
  const char *shape = wk_c2_make(o, "Shape", NULL, x, NULL, NULL);
  return wk_c2_make(o, "Slice", NULL, shape, wk_c2_i64s(o, &first, 1), wk_c2_i64s(o, &end, 1));
}

static const char *join(wk_c2_op *o, const char *out, const char *a, const char *b, int64_t axis) {
  const char *y = wk_c2_make(o, "Concat", out, a, b, NULL);
  wk_c2_attr_int(o, "axis", axis);
  return y;
}

/* Where the segments of these lengths begin. */
static const char *starts_of(wk_c2_op *o, const char *lengths) {
  const char *y = wk_c2_make(o, "CumSum", NULL, lengths, wk_c2_i64(o, 0), NULL);
  wk_c2_attr_int(o, "exclusive", 1);
  return y;
}

/* The offsets of segments of these lengths among the rows of x. */
static const char *offsets_of(wk_c2_op *o, const char *lengths, const char *x) {
  const char *l = cast(o, lengths, ONNX__TENSOR_PROTO__DATA_TYPE__INT64);
  const char *total = wk_c2_make(o, "ReduceSum", NULL, l, NULL, NULL);
  const char *fits = wk_c2_make(o, "Equal", NULL, total, sizes(o, x, 0, 1), NULL);
  const char *none = wk_c2_i64s(o, &(int64_t){-1}, 1);
  return join(o, NULL, starts_of(o, l), wk_c2_make(o, "Where", NULL, fits, total, none), 0);
}

/* ---- folds --------------------------------------------------------------------------------- */

enum { DATA, OFFSETS, INDICES, WEIGHTS, SCALE, BIAS, OPERANDS };

typedef struct {
  char kind[8], rows[16];
  const char *in[OPERANDS];
  bool is_matrix; /* data have two axes for sure */
} fold;

/* args of the table: KIND ROWS, and "weighted"; of ROWS "split" scale and bias are an input. */
static fold begin(wk_c2_op *o, bool *is_weighted) {
  fold f = {.in = {"", "", "", "", "", ""}};
  char word[16] = "";
  sscanf(o->row->args, "%7s %15s %15s", f.kind, f.rows, word);
  const Onnx__TensorProto *t = o->in[0].constant;
  f.in[DATA] = wk_c2_in(o, 0);
  f.is_matrix = (t && t->n_dims == 2) || strcmp(f.rows, "plain") != 0;
  *is_weighted = *word != 0;
  return f;
}

/* Folds rows under the name `out`. Data of another rank than 2 are a matrix of rows first. */
static void finish(wk_c2_op *o, const fold *f) {
  const char *in[OPERANDS], *out = wk_c2_out(o, 0);
  const char *y = f->is_matrix ? out : wk_c2_fresh(o, "rows");
  bool is_split = strcmp(f->rows, "split") == 0;
  memcpy(in, f->in, sizeof in);
  if (!f->is_matrix) {
    in[DATA] = wk_c2_make(o, "Flatten", NULL, f->in[DATA], NULL, NULL);
    wk_c2_attr_int(o, "axis", 1);
  }
  Onnx__NodeProto *n = wk_c2_node(o, wk_op_get(WK_OP_SEGMENT_REDUCE)->name, in, OPERANDS, &y, 1);
  n->domain = wk_arena_strdup(o->c->arena, WK_ONNX_OWN_DOMAIN);
  wk_c2_attr_text(o, "kind", f->kind);
  wk_c2_attr_text(o, "rows", is_split ? "plain" : f->rows);
  wk_c2_attr_text(o, "to", wk_dtype_name(WK_F32));
  if (f->is_matrix) return;
  const char *last = wk_c2_i64s(o, &(int64_t){-1}, 1);
  const char *segments = wk_c2_make(o, "Add", NULL, sizes(o, f->in[OFFSETS], 0, 1), last, NULL);
  const char *shape = join(o, NULL, segments, sizes(o, f->in[DATA], 1, INT64_MAX), 0);
  wk_c2_make(o, "Reshape", out, y, shape, NULL);
}

/* DATA, WEIGHTS if any, LENGTHS. */
void wk_c2_lengths(wk_c2_op *o) {
  bool is_weighted;
  fold f = begin(o, &is_weighted);
  if (is_weighted) f.in[WEIGHTS] = wk_c2_in(o, 1);
  f.in[OFFSETS] = offsets_of(o, wk_c2_in(o, 1 + is_weighted), f.in[DATA]);
  finish(o, &f);
}

/* Column k of scales and biases. */
static const char *column(wk_c2_op *o, const char *x, int64_t k) {
  const char *y = wk_c2_make(o, "Gather", NULL, x, wk_c2_i64(o, k), NULL);
  wk_c2_attr_int(o, "axis", 1);
  return y;
}

/* DATA, WEIGHTS if any, INDICES, LENGTHS; a scale and a bias for each row where they are apart. */
void wk_c2_sparse_lengths(wk_c2_op *o) {
  bool is_weighted;
  fold f = begin(o, &is_weighted);
  if (is_weighted) f.in[WEIGHTS] = wk_c2_in(o, 1);
  f.in[INDICES] = wk_c2_in(o, 1 + is_weighted);
  f.in[OFFSETS] = offsets_of(o, wk_c2_in(o, 2 + is_weighted), f.in[INDICES]);
  if (strcmp(f.rows, "split") == 0) {
    const char *both = wk_c2_in(o, 3 + is_weighted);
    f.in[SCALE] = column(o, both, 0);
    f.in[BIAS] = column(o, both, 1);
  }
  finish(o, &f);
}

/* DATA, WEIGHTS, INDICES, OFFSETS. */
void wk_c2_embedding_bag(wk_c2_op *o) {
  bool is_weighted;
  fold f = begin(o, &is_weighted);
  f.in[WEIGHTS] = wk_c2_in(o, 1);
  f.in[INDICES] = wk_c2_in(o, 2);
  f.in[OFFSETS] = cast(o, wk_c2_in(o, 3), ONNX__TENSOR_PROTO__DATA_TYPE__INT64);
  if (!wk_c2_int(o, "hasEndOffset", 0))
    f.in[OFFSETS] = join(o, NULL, f.in[OFFSETS], sizes(o, f.in[INDICES], 0, 1), 0);
  finish(o, &f);
}

/* ---- lengths ------------------------------------------------------------------------------- */

/* [n] to [n, 2]: where each segment begins, and its length. */
void wk_c2_lengths_to_ranges(wk_c2_op *o) {
  const char *columns[2] = {starts_of(o, wk_c2_in(o, 0)), wk_c2_in(o, 0)};
  for (int k = 0; k < 2; k++) {
    columns[k] = wk_c2_make(o, "Unsqueeze", NULL, columns[k], NULL, NULL);
    wk_c2_attr_ints(o, "axes", &(int64_t){1}, 1);
  }
  join(o, wk_c2_out(o, 0), columns[0], columns[1], 1);
}

/* Positions 0 … n - 1 of the rows of x: i64[n]. */
static const char *rows_of(wk_c2_op *o, const char *x) {
  const char *n = wk_c2_make(o, "Squeeze", NULL, sizes(o, x, 0, 1), NULL, NULL);
  return wk_c2_make(o, "Range", NULL, wk_c2_i64(o, 0), n, wk_c2_i64(o, 1));
}

/* The places of a row: as many as max_length says, or the longest segment has. */
static const char *places(wk_c2_op *o, const char *lengths, const char *x, int64_t max) {
  if (max >= 0)
    return wk_c2_make(o, "Range", NULL, wk_c2_i64(o, 0), wk_c2_i64(o, max), wk_c2_i64(o, 1));
  const char *l = cast(o, lengths, ONNX__TENSOR_PROTO__DATA_TYPE__INT64);
  const char *longest = wk_c2_make(o, "ReduceMax", NULL, l, NULL, NULL);
  const char *is_there = wk_c2_make(o, "Less", NULL, rows_of(o, x), longest, NULL);
  const char *y = wk_c2_make(o, "NonZero", NULL, is_there, NULL, NULL);
  y = wk_c2_make(o, "Squeeze", NULL, y, NULL, NULL);
  wk_c2_attr_ints(o, "axes", &(int64_t){0}, 1);
  return y;
}

static int64_t max_length(wk_c2_op *o) {
  int64_t max = wk_c2_int(o, "max_length", -1);
  wk_c2_valid(o, max >= -1 && max <= INT32_MAX, "max_length is %lld", (long long)max);
  return max;
}

/* LENGTHS, DATA: a row of places for each segment. The body's third input is the places. */
void wk_c2_pack_segments(wk_c2_op *o) {
  int64_t max = max_length(o);
  bool has_mask = wk_c2_int(o, "return_presence_mask", 0) != 0;
  float pad = wk_c2_int(o, "pad_minf", 0) ? -INFINITY : 0;
  if (!wk_c2_valid(o, o->n_out < 2 || has_mask, "has 2 outputs, and return_presence_mask is 0"))
    return;
  const char *in[] = {wk_c2_in(o, 0), wk_c2_in(o, 1), NULL};
  in[2] = places(o, in[0], in[1], max);
  wk_c2_set_in(o, in, 3);
  wk_c2_function(o);
  wk_c2_attr_float(o, "pad", pad);
}

void wk_c2_unpack_segments(wk_c2_op *o) {
  max_length(o);
  wk_c2_function(o);
}

void wk_c2_lengths_top_k(wk_c2_op *o) {
  int64_t k = wk_c2_int(o, "k", -1);
  if (wk_c2_valid(o, k >= 1 && k <= INT32_MAX, "k is %lld", (long long)k)) wk_c2_function(o);
}

/* Row k of the values is added to row indices[k] of zeros, of which there are as many as the third
 * input has, or up to the largest index. */
void wk_c2_sparse_to_dense(wk_c2_op *o) {
  const char *indices = cast(o, wk_c2_in(o, 0), ONNX__TENSOR_PROTO__DATA_TYPE__INT64);
  const char *values = wk_c2_in(o, 1), *like = wk_c2_in(o, 2);
  const char *rows = *like ? sizes(o, like, 0, 1)
                           : wk_c2_make(o, "Add", NULL,
                                        wk_c2_make(o, "ReduceMax", NULL, indices, NULL, NULL),
                                        wk_c2_i64s(o, &(int64_t){1}, 1), NULL);
  const char *shape = join(o, NULL, rows, sizes(o, values, 1, INT64_MAX), 0);
  const char *at = wk_c2_make(o, "Unsqueeze", NULL, indices, NULL, NULL);
  wk_c2_attr_ints(o, "axes", &(int64_t){1}, 1);
  const char *in[] = {wk_c2_make(o, "ConstantOfShape", NULL, shape, NULL, NULL), at, values};
  const char *out = wk_c2_out(o, 0);
  Onnx__NodeProto *n = wk_c2_node(o, wk_op_get(WK_OP_SCATTER_ND)->name, in, 3, &out, 1);
  n->domain = wk_arena_strdup(o->c->arena, WK_ONNX_OWN_DOMAIN);
  wk_c2_attr_text(o, "reduction", "add");
}
