/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of loops. Kept dims come before reduced ones, each kind by falling stride; neighbours that
 * every operand steps through without a gap become one; then the dim along which vectors cost least
 * goes last of its kind. A single instruction is cut into positions of some thousand elements,
 * several of which make a task. */
#include <stdlib.h>

#include "targets/cpu/expr/expr_codegen.h"
#include "targets/cpu/nest/nest.h"

#define TASK_WORK (16 << 10) /* elements of a simple map that are worth a task */

static int64_t multiply(int64_t a, int64_t b) {
  int64_t y;
  return wk_mul_ok(a, b, &y) ? y : INT64_MAX;
}

/* ---- dims ------------------------------------------------------------------------------------ */

static void swap_dims(wk_nest_statement *s, int a, int b) {
  wk_nest_dim d = s->dim[a];
  s->dim[a] = s->dim[b];
  s->dim[b] = d;
  for (uint32_t k = 0; k < s->n_operands; k++) {
    int64_t stride = s->operands[k].stride[a];
    s->operands[k].stride[a] = s->operands[k].stride[b];
    s->operands[k].stride[b] = stride;
  }
}

static void remove_dim(wk_nest_statement *s, int d) {
  for (int i = d; i + 1 < s->rank; i++) swap_dims(s, i, i + 1);
  s->rank--;
}

static void drop_ones(wk_nest_statement *s, int outer) {
  for (int d = s->rank - 1; d >= outer; d--)
    if (s->dim[d].n == 1) remove_dim(s, d);
}

/* Distance that decides the order: of the first output along kept dims, else of the first input. */
static int64_t reach(const wk_nest_statement *s, int d) {
  uint32_t k = s->dim[d].reduced ? s->n_out : 0;
  while (k + 1 < s->n_operands && s->operands[k].dtype == WK_DTYPE_NONE) k++;
  return llabs(s->operands[k].stride[d]);
}

static bool precedes(const wk_nest_statement *s, int a, int b) {
  if (s->dim[a].reduced != s->dim[b].reduced) return s->dim[b].reduced;
  return reach(s, a) > reach(s, b);
}

static void order_dims(wk_nest_statement *s, int outer) {
  for (int i = outer + 1; i < s->rank; i++)
    for (int k = i; k > outer && precedes(s, k, k - 1); k--) swap_dims(s, k, k - 1);
}

static bool joins(const wk_nest_statement *s, int d) {
  if (s->dim[d].reduced != s->dim[d + 1].reduced) return false;
  if (s->dim[d].limit || s->dim[d + 1].limit) return false;
  for (uint32_t k = 0; k < s->n_operands; k++)
    if (s->operands[k].stride[d] != s->operands[k].stride[d + 1] * s->dim[d + 1].n) return false;
  return true;
}

static void merge_dims(wk_nest_statement *s, int outer) {
  for (int d = s->rank - 2; d >= outer && !s->is_indexed; d--) {
    if (!joins(s, d)) continue;
    s->dim[d + 1].n *= s->dim[d].n;
    remove_dim(s, d);
  }
}

/* ---- vectors --------------------------------------------------------------------------------- */

static int widest(const wk_nest_statement *s) {
  int size = 1;
  for (uint32_t i = 0; i < s->body->n; i++) {
    wk_dtype t = s->body->nodes[i].dtype;
    int bytes = t == WK_F16 || t == WK_BF16 ? 4 : wk_dtype_size(t);
    if (bytes > size) size = bytes;
  }
  return size > 4 ? 4 : size; /* what is wider takes two registers */
}

static bool is_arg(const wk_nest_statement *s) { return s->fold >= WK_FOLD_ARGMAX; }

/* Smooth along dim d, or the same everywhere. */
static bool is_smooth(const wk_nest_operand *o, int d) {
  return o->stride[d] == 0 || llabs(o->stride[d]) == wk_dtype_size(o->dtype);
}

/* Steps per element along dim d, in sixteenths of a simple vector operation. */
static int64_t vector_cost(const wk_simd *simd, const wk_nest_statement *s, int d, int lanes) {
  int64_t n = s->dim[d].n, strided = 0, smooth = 0;
  for (uint32_t k = 0; k < s->n_operands; k++) {
    const wk_nest_operand *o = &s->operands[k];
    if (o->dtype == WK_DTYPE_NONE || (s->dim[d].reduced && k < s->n_out)) continue;
    if (is_smooth(o, d)) smooth++;
    else strided++;
  }
  int64_t work = smooth + wk_expr_cost(s->body);
  int64_t steps = simd->has_masks && strided == 0 ? wk_ceil_div(n, lanes) : n / lanes + n % lanes;
  if (is_arg(s) && s->dim[d].reduced) steps = n;
  int64_t cost = multiply(steps, work) + multiply(strided, 2 * n);
  if (s->dim[d].reduced) cost += 16; /* across the lanes at the end */
  return multiply(cost, 4096) / n;
}

/* A longer dim wins among equals. */
static int best_vector_dim(const wk_simd *simd, const wk_nest_statement *s, int outer, int lanes) {
  int best = -1;
  int64_t least = INT64_MAX;
  for (int d = s->rank - 1; d >= outer; d--) {
    if (s->dim[d].n == 0) return s->rank - 1;
    if (s->dim[d].listed) continue;
    int64_t cost = vector_cost(simd, s, d, lanes);
    if (best >= 0 && cost >= least) continue;
    best = d;
    least = cost;
  }
  return best;
}

/* Operand k, or none that it would be read like, goes on from the end of dim `to` at the next step
 * of dim `from`. */
static bool runs_on(const wk_nest_statement *s, int from, int to) {
  for (uint32_t k = 0; k < s->n_operands; k++) {
    const wk_nest_operand *o = &s->operands[k];
    int64_t size = wk_dtype_size(o->dtype);
    bool is_across = size > 0 && o->stride[to] == size && !is_smooth(o, s->vector);
    if (is_across && o->stride[from] != s->dim[to].n * size) return false;
  }
  return true;
}

/* Two short dims that follow each other in an operand, as a window's taps and channels do, are the
 * rows of tiles together. */
static void plan_run(wk_nest_statement *s, int outer, int lanes) {
  for (uint32_t k = 0; k < s->n_operands; k++) {
    const wk_nest_operand *o = &s->operands[k];
    int64_t size = wk_dtype_size(o->dtype);
    if (size == 0 || is_smooth(o, s->vector)) continue;
    for (int from = outer; from < s->vector; from++)
      for (int to = outer; to < s->vector; to++) {
        if (s->dim[from].listed || s->dim[to].listed) continue;
        if (from == to || o->stride[to] != size || !runs_on(s, from, to)) continue;
        if (o->stride[from] != s->dim[to].n * size) continue;
        if (s->dim[from].n * s->dim[to].n < lanes) continue;
        for (; to < s->vector - 1; to++) {
          swap_dims(s, to, to + 1);
          from -= from == to + 1;
        }
        for (; from < s->vector - 2; from++) swap_dims(s, from, from + 1);
        s->tile = to;
        s->is_run = true;
        s->lanes = lanes;
        return;
      }
  }
}

/* A map of which an operand is contiguous along another dim than the vectors' goes by square tiles
 * that are transposed in registers. That dim is moved next to the vectors'. */
static void plan_tile(const wk_simd *simd, wk_nest_statement *s, int outer) {
  int lanes = s->lanes > simd->lanes ? simd->lanes : s->lanes, best = -1;
  if (s->fold != WK_FOLD_NONE || s->is_indexed || wk_expr_cost(s->body) > 8) return;
  if (lanes < simd->lanes || s->dim[s->vector].n < lanes) return;
  for (uint32_t k = 0; k < s->n_operands; k++) {
    const wk_nest_operand *o = &s->operands[k];
    int64_t size = wk_dtype_size(o->dtype);
    if (size > 4) return;
    if (size == 0 || is_smooth(o, s->vector)) continue;
    for (int d = outer; d < s->vector; d++)
      if (o->stride[d] == size && s->dim[d].n >= lanes && !s->dim[d].listed &&
          (best < 0 || s->dim[d].n > s->dim[best].n))
        best = d;
  }
  if (best < 0) {
    plan_run(s, outer, lanes);
    return;
  }
  for (; best < s->vector - 1; best++) swap_dims(s, best, best + 1);
  s->tile = best;
  s->lanes = lanes;
}

static void count_kept(wk_nest_statement *s) {
  s->kept = 0;
  while (s->kept < s->rank && !s->dim[s->kept].reduced) s->kept++;
}

/* Lists of short rows are not worth it: all are computed. */
static void keep_lists(const wk_simd *simd, wk_nest_statement *s, int outer) {
  int64_t row = 1;
  for (int d = 0; d < s->rank; d++)
    if (!s->dim[d].listed) row = multiply(row, s->dim[d].n);
  for (int d = outer; d < s->rank && row < 2 * simd->lanes; d++)
    if (s->dim[d].listed) s->dim[d].limit = 0, s->dim[d].listed = false;
}

static void plan_statement(const wk_simd *simd, wk_nest_statement *s, int outer) {
  keep_lists(simd, s, outer);
  drop_ones(s, outer);
  order_dims(s, outer);
  merge_dims(s, outer);
  count_kept(s);
  int lanes = simd->lanes * 4 / widest(s), d = best_vector_dim(simd, s, outer, lanes);
  if (d < 0) return;
  int last = s->dim[d].reduced ? s->rank - 1 : s->kept - 1;
  for (; d < last; d++) swap_dims(s, d, d + 1);
  merge_dims(s, outer);
  count_kept(s);
  s->vector = s->dim[s->rank - 1].reduced && last == s->kept - 1 ? s->kept - 1 : s->rank - 1;
  if (is_arg(s) && s->dim[s->vector].reduced) return;
  while (lanes > 1 && !simd->has_masks && lanes > s->dim[s->vector].n) lanes /= 2;
  s->lanes = lanes;
  plan_tile(simd, s, outer);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static int64_t weight(const wk_nest_statement *s) { return 1 + wk_expr_cost(s->body) / 16; }

/* Dim d becomes pieces of c. */
static void cut_dim(wk_nest_statement *s, int d, int64_t c) {
  s->rank++;
  if (s->dim[d].listed) s->dim[d].limit = 0, s->dim[d].listed = false;
  for (int i = s->rank - 1; i > d; i--) {
    s->dim[i] = s->dim[i - 1];
    for (uint32_t k = 0; k < s->n_operands; k++)
      s->operands[k].stride[i] = s->operands[k].stride[i - 1];
  }
  s->clip = d + 1;
  s->clip_of = s->dim[d].n;
  s->dim[d].n = wk_ceil_div(s->clip_of, c);
  s->dim[d].scale *= c;
  s->dim[d + 1].n = c;
  for (uint32_t k = 0; k < s->n_operands; k++) s->operands[k].stride[d] *= c;
  if (s->vector >= d) s->vector++;
  if (s->tile >= d) s->tile++;
  s->kept++;
}

/* Number of outer dims of an instruction of its own. The dims that vectors and tiles lie in stay
 * inside: the first of them may be cut, not moved out. */
static int plan_outer(wk_nest_statement *s) {
  int64_t inner = weight(s), target = TASK_WORK;
  int need = wk_nest_inner(s), k = 0;
  int limit = need < s->kept ? need + 1 : s->kept;
  for (int d = 0; d < s->rank; d++) inner = multiply(inner, s->dim[d].n);
  while (k < limit && inner > 2 * target) inner /= s->dim[k++].n;
  bool must_cut = k > need;
  if (k == 0 || (inner >= target / 4 && !must_cut)) return k;
  int64_t c = wk_ceil_div(target, inner), n = s->dim[k - 1].n;
  if (must_cut) c = wk_ceil_div(c, s->lanes) * s->lanes;
  if (c >= n) return k - 1;
  cut_dim(s, k - 1, c);
  return k;
}

void wk_nest_plan(const wk_simd *simd, wk_nest *n) {
  for (uint32_t k = 0; k < n->n; k++) plan_statement(simd, &n->statements[k], n->outer);
  if (n->n == 1 && n->outer == 0) n->outer = plan_outer(&n->statements[0]);
  n->positions = 1;
  for (int d = 0; d < n->outer; d++)
    n->positions = multiply(n->positions, n->statements[0].dim[d].n);
  int64_t work = 1;
  for (uint32_t k = 0; k < n->n; k++) {
    const wk_nest_statement *s = &n->statements[k];
    int64_t inner = weight(s);
    for (int d = n->outer; d < s->rank; d++) inner = multiply(inner, s->dim[d].n);
    work = inner > INT64_MAX - work ? INT64_MAX : work + inner;
  }
  n->group = work >= TASK_WORK ? 1 : TASK_WORK / work;
}
