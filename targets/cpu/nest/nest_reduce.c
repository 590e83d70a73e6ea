/* SPDX-License-Identifier: Apache-2.0 */
/* Folds. When vectors lie along a kept dim, each lane folds an element of the output. When they lie
 * along the last reduced dim, several accumulators fold in turn and are joined across lanes at the
 * end. The order is fixed by the shape alone. */
#include <stdlib.h>

#include "targets/cpu/expr/expr_codegen.h"
#include "targets/cpu/nest/nest.h"

#define LONG_CHAIN 1024     /* f32 additions in a row that still are accurate enough … */
#define LONG_CHAIN_SAMPLES 16 /* … for what is summed over samples: gradients of weights */
#define MAX_ACC 5           /* four vectors and one for single elements */

typedef struct {
  wk_llvm *e;
  const wk_nest_statement *s;
  bool wide; /* accumulate floats in f64 */
  bool is_arg;
  int width; /* values per accumulator: 2 for arg: value, position */
} folder;

/* value, position */
typedef struct {
  wk_ssa v[2];
} acc;

static LLVMTypeRef acc_element(const folder *f) {
  return f->wide ? LLVMDoubleTypeInContext(f->e->ctx) : wk_register_element(f->e, f->s->folded);
}

static int64_t reduced_count(const wk_nest_statement *s) {
  int64_t n = 1, y;
  for (int d = s->kept; d < s->rank; d++) n = wk_mul_ok(n, s->dim[d].n, &y) ? y : INT64_MAX;
  return n;
}

static bool folds_across(const wk_nest_statement *s) { return s->vector >= s->kept; }

static int unroll_across(const wk_nest_statement *s) {
  int n = 4;
  while (n > 1 && (int64_t)n * s->lanes > s->dim[s->vector].n) n /= 2;
  return s->fold >= WK_FOLD_ARGMAX ? 1 : n;
}

static folder make_folder(wk_llvm *e, const wk_nest_statement *s) {
  folder f = {.e = e, .s = s, .is_arg = s->fold >= WK_FOLD_ARGMAX};
  int64_t chain = reduced_count(s);
  if (folds_across(s)) chain /= (int64_t)s->lanes * unroll_across(s);
  bool adds = s->fold == WK_FOLD_SUM || s->fold == WK_FOLD_PROD;
  bool is_long = chain > (s->over_samples ? LONG_CHAIN_SAMPLES : LONG_CHAIN);
  f.wide = adds && wk_dtype_is_float(s->folded) && s->folded != WK_F64 && is_long;
  f.width = f.is_arg ? 2 : 1;
  return f;
}

static bool is_max(const folder *f) {
  return f->s->fold == WK_FOLD_MAX || f->s->fold == WK_FOLD_ARGMAX;
}

static wk_ssa neutral_element(const folder *f) {
  LLVMTypeRef t = acc_element(f);
  if (wk_dtype_is_float(f->s->folded)) return LLVMConstReal(t, f->s->start.f);
  return LLVMConstInt(t, (unsigned long long)f->s->start.i, true);
}

static acc neutral(const folder *f, int lanes) {
  acc a = {{wk_vector_splat(f->e, lanes, neutral_element(f)), NULL}};
  if (f->is_arg) a.v[1] = wk_vector_splat(f->e, lanes, wk_llvm_int(f->e, 0));
  return a;
}

/* v is past a; NaN is past every number. */
static wk_ssa is_past(const folder *f, wk_ssa v, wk_ssa a) {
  LLVMBuilderRef b = f->e->b;
  bool last = f->s->select_last && f->is_arg, max = is_max(f);
  if (!wk_dtype_is_float(f->s->folded)) {
    static const LLVMIntPredicate table[2][2][2] = {
        {{LLVMIntULT, LLVMIntULE}, {LLVMIntUGT, LLVMIntUGE}},
        {{LLVMIntSLT, LLVMIntSLE}, {LLVMIntSGT, LLVMIntSGE}}};
    bool is_signed = wk_dtype_is_signed(f->s->folded);
    return LLVMBuildICmp(b, table[is_signed][max][last], v, a, "");
  }
  LLVMRealPredicate p = max ? last ? LLVMRealOGE : LLVMRealOGT : last ? LLVMRealOLE : LLVMRealOLT;
  wk_ssa nan = LLVMBuildFCmp(b, LLVMRealUNO, v, v, "");
  if (f->is_arg && !last) nan = LLVMBuildAnd(b, nan, LLVMBuildFCmp(b, LLVMRealORD, a, a, ""), "");
  return LLVMBuildOr(b, LLVMBuildFCmp(b, p, v, a, ""), nan, "");
}

static acc combine(const folder *f, acc a, acc v) {
  LLVMBuilderRef b = f->e->b;
  bool real = wk_dtype_is_float(f->s->folded);
  wk_ssa x = v.v[0], y = a.v[0];
  switch (f->s->fold) {
    case WK_FOLD_SUM:
      return (acc){{real ? LLVMBuildFAdd(b, y, x, "") : LLVMBuildAdd(b, y, x, ""), NULL}};
    case WK_FOLD_PROD:
      return (acc){{real ? LLVMBuildFMul(b, y, x, "") : LLVMBuildMul(b, y, x, ""), NULL}};
    default: break;
  }
  wk_ssa past = is_past(f, x, y);
  acc r = {{LLVMBuildSelect(b, past, x, y, ""), NULL}};
  if (f->is_arg) r.v[1] = LLVMBuildSelect(b, past, v.v[1], a.v[1], "");
  return r;
}

/* What is added up may be multiplied and added at once: sums have no one order anyway. Differences
 * are left alone: those of equal products must be 0. */
static void contract(const folder *f) {
  if (f->s->fold != WK_FOLD_SUM || !f->e->simd->has_fma) return;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(f->e->b);
  for (LLVMValueRef i = LLVMGetFirstInstruction(here); i; i = LLVMGetNextInstruction(i)) {
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    if (op == LLVMFMul || op == LLVMFAdd)
      LLVMSetFastMathFlags(i, LLVMFastMathAllowContract);
  }
}

/* The element(s) at a place; lanes that the mask turns off hold what changes nothing. `position` is
 * the scalar place along the reduced axis. */
static acc value_at(const folder *f, const wk_nest_at *at, const wk_nest_place *w,
                    wk_ssa position) {
  acc a = {{NULL, NULL}};
  wk_nest_body(at, w, &a.v[0]);
  if (f->wide)
    a.v[0] = LLVMBuildFPExt(f->e->b, a.v[0], wk_vector_type(acc_element(f), w->lanes), "");
  if (w->mask && folds_across(f->s))
    a.v[0] = LLVMBuildSelect(f->e->b, w->mask, a.v[0], neutral(f, w->lanes).v[0], "");
  if (f->is_arg)
    a.v[1] = wk_vector_splat(f->e, w->lanes, position ? position : wk_llvm_int(f->e, 0));
  return a;
}

/* Rounds to the folded type, applies post, stores. */
static void finish(const folder *f, const wk_nest_at *at, const wk_nest_place *w, acc a) {
  const wk_nest_statement *s = f->s;
  wk_ssa y = f->is_arg ? a.v[1] : a.v[0];
  if (f->wide && s->folded == WK_F32)
    y = LLVMBuildFPTrunc(f->e->b, y, wk_vector_type(f->e->f32, w->lanes), "");
  else if (f->wide) y = wk_narrow_odd(f->e, w->lanes, y);
  if (!f->is_arg) y = wk_round_narrow(f->e, s->folded, w->lanes, y);
  if (s->post) {
    wk_ssa index[WK_MAX_RANK], input = y;
    if (s->is_indexed) wk_nest_positions(at, w, index);
    wk_expr_codegen(f->e, s->post, NULL, w->lanes, &input, index, &y);
  }
  wk_nest_store(at, 0, w, y);
}

/* ---- accumulators through loops -------------------------------------------------------------- */

typedef struct {
  wk_llvm_loop loop[WK_NEST_RANK];
  wk_nest_at at; /* inside of all loops */
  int from, to;
} loops;

static int pack(const folder *f, const acc *a, int n, wk_ssa *out) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < f->width; k++) out[i * f->width + k] = a[i].v[k];
  return n * f->width;
}

static void unpack(const folder *f, acc *a, int n, const wk_ssa *in) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < f->width; k++) a[i].v[k] = in[i * f->width + k];
}

static void begin_loop(const folder *f, wk_llvm_loop *l, wk_ssa from, wk_ssa to, int64_t step,
                       acc *a, int n) {
  wk_ssa carry[2 * 16];
  int m = pack(f, a, n, carry);
  wk_llvm_begin(f->e, l, from, to, step, carry, m);
  unpack(f, a, n, l->phi);
}

static void end_loop(const folder *f, wk_llvm_loop *l, acc *a, int n) {
  wk_ssa carry[2 * 16];
  pack(f, a, n, carry);
  wk_llvm_end(f->e, l, carry);
  unpack(f, a, n, l->phi);
}

static loops *open_loops(const folder *f, const wk_nest_at *at, int from, int to, acc *a, int n) {
  loops *l = wk_xcalloc(1, sizeof *l);
  l->at = *at;
  l->from = from;
  l->to = to;
  for (int d = from; d < to; d++) {
    begin_loop(f, &l->loop[d], wk_llvm_int(f->e, 0), wk_nest_length(&l->at, d), 1, a, n);
    wk_nest_step(&l->at, d, l->loop[d].i);
  }
  return l;
}

static void close_loops(const folder *f, loops *l, acc *a, int n) {
  for (int d = l->to - 1; d >= l->from; d--) end_loop(f, &l->loop[d], a, n);
  free(l);
}

/* ---- vectors along a kept dim ---------------------------------------------------------------- */

static void fold_group(wk_nest_at *at, const wk_nest_place *places, int n, void *ctx) {
  const folder *f = ctx;
  acc a[16];
  for (int u = 0; u < n; u++) a[u] = neutral(f, places[u].lanes);
  loops *l = open_loops(f, at, f->s->kept, f->s->rank, a, n);
  wk_ssa position = f->s->rank > f->s->kept ? l->loop[f->s->kept].i : NULL;
  for (int u = 0; u < n; u++) a[u] = combine(f, a[u], value_at(f, &l->at, &places[u], position));
  contract(f);
  close_loops(f, l, a, n);
  for (int u = 0; u < n; u++) finish(f, at, &places[u], a[u]);
}

/* ---- vectors along a reduced dim ------------------------------------------------------------- */

static void fold_run(const folder *f, const wk_nest_at *at, wk_ssa from, wk_ssa to, int lanes,
                     int n, acc *a) {
  wk_llvm_loop l;
  begin_loop(f, &l, from, to, (int64_t)lanes * n, a, n);
  for (int u = 0; u < n; u++) {
    wk_nest_place w = {.i = l.i, .more = (int64_t)u * lanes, .lanes = lanes};
    a[u] = combine(f, a[u], value_at(f, at, &w, l.i));
  }
  contract(f);
  end_loop(f, &l, a, n);
}

static wk_ssa part(wk_llvm *e, wk_ssa v, int from, int lanes) {
  wk_ssa order[256];
  if (!v) return NULL;
  for (int i = 0; i < lanes; i++) order[i] = LLVMConstInt(e->i32, (unsigned)(from + i), 0);
  wk_ssa mask = LLVMConstVector(order, (unsigned)lanes);
  return LLVMBuildShuffleVector(e->b, v, LLVMGetPoison(LLVMTypeOf(v)), mask, "");
}

static acc join_lanes(const folder *f, acc a, int lanes) {
  for (; lanes > 1; lanes /= 2) {
    acc low = {{part(f->e, a.v[0], 0, lanes / 2), part(f->e, a.v[1], 0, lanes / 2)}};
    acc high = {
        {part(f->e, a.v[0], lanes / 2, lanes / 2), part(f->e, a.v[1], lanes / 2, lanes / 2)}};
    a = combine(f, low, high);
  }
  return a;
}

/* What is left behind whole vectors: one with a mask, or single elements. */
static void fold_rest(const folder *f, const wk_nest_at *at, wk_ssa even, wk_ssa length, int n,
                      acc *a) {
  const wk_nest_statement *s = f->s;
  if (!wk_nest_can_mask(f->e, s)) {
    fold_run(f, at, even, length, 1, 1, &a[n]);
    return;
  }
  wk_ssa rest = wk_llvm_sub(f->e, length, even);
  wk_nest_place w = {.i = even, .lanes = s->lanes,
                     .mask = wk_nest_first_lanes(f->e, s->lanes, rest)};
  a[n - 1] = combine(f, a[n - 1], value_at(f, at, &w, NULL));
}

static void fold_across(const folder *f, wk_nest_at *at) {
  const wk_nest_statement *s = f->s;
  int n = unroll_across(s);
  bool is_limited = wk_nest_is_limited(s, s->vector);
  int64_t most = s->dim[s->vector].n, step = (int64_t)s->lanes * n;
  bool has_rest = is_limited ? s->lanes > 1 : most % s->lanes != 0;
  acc a[MAX_ACC];
  for (int u = 0; u < n; u++) a[u] = neutral(f, s->lanes);
  a[n] = neutral(f, 1);
  loops *l = open_loops(f, at, s->kept, s->vector, a, n + 1);
  wk_ssa length = wk_nest_length(&l->at, s->vector);
  wk_ssa full = wk_nest_rounded_down(f->e, length, step);
  wk_ssa even = wk_nest_rounded_down(f->e, length, s->lanes);
  if (most >= step) fold_run(f, &l->at, wk_llvm_int(f->e, 0), full, s->lanes, n, a);
  bool has_even = is_limited || most / s->lanes * s->lanes > most / step * step;
  if (has_even) fold_run(f, &l->at, full, even, s->lanes, 1, a);
  if (has_rest) fold_rest(f, &l->at, even, length, n, a);
  close_loops(f, l, a, n + 1);
  for (int u = 1; u < n; u++) a[0] = combine(f, a[0], a[u]);
  acc y = join_lanes(f, a[0], s->lanes);
  if (has_rest && !wk_nest_can_mask(f->e, s)) y = combine(f, y, a[n]);
  wk_nest_place one = {.lanes = 1};
  finish(f, at, &one, y);
}

void wk_nest_reduce_codegen(wk_nest_at *at, int outer) {
  const wk_nest_statement *s = at->s;
  folder f = make_folder(at->e, s);
  int last = folds_across(s) || s->vector < 0 ? s->kept : s->kept - 1;
  loops *l = open_loops(&f, at, outer, last, NULL, 0);
  if (s->vector >= 0 && folds_across(s)) fold_across(&f, &l->at);
  else wk_nest_walk(&l->at, fold_group, &f);
  close_loops(&f, l, NULL, 0);
}
