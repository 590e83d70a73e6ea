/* SPDX-License-Identifier: Apache-2.0
 * Random small ONNX models whose inputs have symbolic sizes, from a seed. Of every value it is
 * known what sizes it has for each choice of sizes for the symbols (a run), so that what is drawn
 * is valid for all of them. */
#ifndef WICK_TESTS_RANDOM_ONNX_H
#define WICK_TESTS_RANDOM_ONNX_H

#include "tests/unit/import_node.h"

enum { ONNX_RUNS = 25, ONNX_VALUES = 240, ONNX_INPUTS = 3, ONNX_SYMBOLS = 2 };

/* A size in each run. */
typedef struct {
  int64_t n[ONNX_RUNS];
  int data; /* not 0: at most that, values decide; equal sizes have the same number */
} onnx_dim;

typedef struct {
  char name[12];
  wk_dtype type;
  int rank;
  onnx_dim dims[WK_MAX_RANK];
  double most;     /* of floats: their absolute value, about */
  bool is_index;   /* whole numbers from 0 (from -below, where is_signed) to below - 1 */
  bool is_signed;
  onnx_dim below;
  bool is_hidden;  /* no operand of what is drawn later, and no output of the model */
  bool is_constant;
} onnx_value;

typedef struct {
  builder b;
  wk_rng rng;
  uint64_t seed;
  int64_t opset;
  int symbols;
  int64_t least[ONNX_SYMBOLS], most[ONNX_SYMBOLS];
  int runs;
  int64_t sizes[ONNX_RUNS][ONNX_SYMBOLS];
  int inputs, values; /* inputs are the first values */
  onnx_value v[ONNX_VALUES];
  int data;              /* sizes that values decide */
  Onnx__NodeProto *node; /* the last one, for attributes */
} onnx_draw;

extern const char *const onnx_symbols[ONNX_SYMBOLS];
extern bool onnx_avoids_ties; /* rounding does not decide which element is the largest */

/* A model without nodes. */
onnx_draw *onnx_draw_new(uint64_t seed);
void onnx_draw_free(onnx_draw *d);
/* One more random operator, with what it needs; its name. NULL: nothing fits. */
const char *onnx_draw_step(onnx_draw *d);

/* What to go back to. */
typedef struct { size_t nodes, constants; int values; } onnx_mark;
onnx_mark onnx_draw_mark(const onnx_draw *d);
void onnx_draw_back(onnx_draw *d, onnx_mark m);

/* Any value of numbers as an input of the model; NULL: its sizes are no symbols or numbers. */
Onnx__ValueInfoProto *onnx_draw_declare(onnx_draw *d, int v);
/* Its data in a run. */
wk_tensor onnx_draw_data(const onnx_draw *d, int id, int run);

/* ---- for what draws -------------------------------------------------------------------------- */

int64_t onnx_int(onnx_draw *d, int64_t lo, int64_t hi); /* inclusive */
bool onnx_chance(onnx_draw *d, int percent);

onnx_dim onnx_fixed(int64_t n);
bool onnx_is_fixed(const onnx_draw *d, const onnx_dim *a);
bool onnx_same(const onnx_draw *d, const onnx_dim *a, const onnx_dim *b);
int64_t onnx_least(const onnx_draw *d, const onnx_dim *a); /* 0 where values decide */
int64_t onnx_most(const onnx_draw *d, const onnx_dim *a);
onnx_dim onnx_plus(onnx_draw *d, const onnx_dim *a, const onnx_dim *b);
onnx_dim onnx_times(onnx_draw *d, const onnx_dim *a, const onnx_dim *b);
onnx_dim onnx_by_data(onnx_draw *d, const onnx_dim *most); /* another one that values decide */
static inline bool onnx_is_one(const onnx_draw *d, const onnx_dim *a) {
  return onnx_is_fixed(d, a) && a->n[0] == 1;
}

/* A random value; -1: there is none. */
int onnx_pick(onnx_draw *d, wk_dtype type, int least, int most);
typedef bool (*onnx_fits)(const onnx_draw *d, const onnx_value *y, const onnx_value *x);
int onnx_pick_for(onnx_draw *d, const onnx_value *x, onnx_fits fits);
bool onnx_fits_alike(const onnx_draw *d, const onnx_value *y, const onnx_value *x);
bool onnx_fits_into(const onnx_draw *d, const onnx_value *y, const onnx_value *x);

/* Operands end with -1; ONNX_NONE: absent. The result is like r. */
#define ONNX_NONE (-2)
#define ONNX_IN(...) (const int[]){__VA_ARGS__, -1}
int onnx_op(onnx_draw *d, const char *op, const int *in, const onnx_value *r);
int onnx_more(onnx_draw *d, const onnx_value *r); /* one more result of the last node */
onnx_value onnx_like(wk_dtype type, int rank, const onnx_dim *dims);
int onnx_hide(onnx_draw *d, int x);

int onnx_floats(onnx_draw *d, int rank, const int64_t *dims, double lo, double hi);
int onnx_number(onnx_draw *d, double v);
int onnx_list(onnx_draw *d, int n, const int64_t *v);
int onnx_scalar(onnx_draw *d, int64_t v);
/* A list of the sizes of axes [from, to) of x. */
int onnx_shape_of(onnx_draw *d, int x, int from, int to);
int onnx_concat_lists(onnx_draw *d, int n, const int *lists);
int onnx_binary_list(onnx_draw *d, const char *op, int a, int b); /* of one element each */
/* Some value of the pool has this size: a list of it. -1: none */
int onnx_size_list(onnx_draw *d, const onnx_dim *a);
int onnx_to_scalar(onnx_draw *d, int list); /* of one element */
/* |x| + 1/2 */
int onnx_positive(onnx_draw *d, int x);
/* x, where ties do not matter, or a little more along the axis. */
int onnx_untied(onnx_draw *d, int x, int axis);
int onnx_transpose_last(onnx_draw *d, int x);
int onnx_unsqueeze(onnx_draw *d, int x, int axis);
/* The axes, as an operand since that opset or as an attribute. */
int onnx_reduce(onnx_draw *d, const char *op, int x, uint32_t axes, bool keeps, double most);

typedef struct {
  const char *name;
  bool (*draw)(onnx_draw *d); /* false: nothing fits */
  int weight;
} onnx_step;
extern const onnx_step onnx_math_steps[], onnx_move_steps[]; /* up to one without a name */

#endif
