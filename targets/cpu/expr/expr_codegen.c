/* SPDX-License-Identifier: Apache-2.0 */
/* One emitter per kind of operation: floats, integers, bools, conversions. Values of f16 and bf16
 * are floats in registers; only casts round to them. */
#include "targets/cpu/expr/expr_codegen.h"

#include "compiler/integer/integer.h"
#include "targets/cpu/expr/expr_ops.h"
#include "targets/cpu/llvm/vmath.h"

#include <stdlib.h>

/* The value of a literal argument. */
static bool node_const(const wk_expr_at *at, int arg, double *value) {
  const wk_expr_node *n = &at->x->nodes[at->node->arg[arg]];
  if (n->op != WK_EX_CONST) return false;
  *value = wk_dtype_is_float(n->dtype) ? n->imm.f : (double)n->imm.i;
  return true;
}

/* ---- floats ---------------------------------------------------------------------------------- */

static wk_ssa call1(const wk_lanes *v, const char *name, wk_ssa a) {
  return wk_lanes_intrinsic(v->e, name, v->real, &a, 1);
}

/* p past q or p NaN: p, else q. When q is a number, one unordered comparison says that. */
static wk_ssa real_extreme(const wk_expr_at *at, const wk_lanes *v, bool max, wk_ssa p, wk_ssa q) {
  LLVMBuilderRef b = v->e->b;
  double c;
  if (node_const(at, 1, &c) && c == c) {
    wk_ssa takes_p = LLVMBuildFCmp(b, max ? LLVMRealUGT : LLVMRealULT, p, q, "");
    return LLVMBuildSelect(b, takes_p, p, q, "");
  }
  if (node_const(at, 0, &c) && c == c) {
    wk_ssa takes_q = LLVMBuildFCmp(b, max ? LLVMRealUGE : LLVMRealULE, q, p, "");
    return LLVMBuildSelect(b, takes_q, q, p, "");
  }
  wk_ssa past = LLVMBuildFCmp(b, max ? LLVMRealOGT : LLVMRealOLT, p, q, "");
  wk_ssa nan = LLVMBuildFCmp(b, LLVMRealUNO, p, p, "");
  return LLVMBuildSelect(b, LLVMBuildOr(b, past, nan, ""), p, q, "");
}

static wk_ssa real_sign(const wk_lanes *v, wk_ssa a) {
  LLVMBuilderRef b = v->e->b;
  wk_ssa zero = LLVMConstNull(v->real);
  wk_ssa rest = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, a, a, ""), a, zero, "");
  rest = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, a, zero, ""), wk_lanes_real(v, -1), rest,
                         "");
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGT, a, zero, ""), wk_lanes_real(v, 1), rest,
                         "");
}

/* Constant exponents that need no logarithm; NULL for all others. */
static wk_ssa easy_power(const wk_expr_at *at, const wk_lanes *v, wk_ssa a) {
  LLVMBuilderRef b = v->e->b;
  wk_ssa one = wk_lanes_real(v, 1), square = LLVMBuildFMul(b, a, a, "");
  double c;
  if (!node_const(at, 1, &c)) return NULL;
  if (c == 1) return a;
  if (c == 2) return square;
  if (c == 3) return LLVMBuildFMul(b, square, a, "");
  if (c == 4) return LLVMBuildFMul(b, square, square, "");
  if (c == -1) return LLVMBuildFDiv(b, one, a, "");
  if (c != 0.5) return NULL;
  wk_ssa root = call1(v, "llvm.sqrt", LLVMBuildFAdd(b, a, wk_lanes_real(v, 0), ""));
  wk_ssa inf = wk_lanes_real(v, (double)__builtin_inff());
  wk_ssa lowest = LLVMBuildFCmp(b, LLVMRealOEQ, a, LLVMBuildFNeg(b, inf, ""), "");
  return LLVMBuildSelect(b, lowest, inf, root, "");
}

static wk_ssa real_compare(LLVMBuilderRef b, wk_expr_op op, wk_ssa p, wk_ssa q) {
  static const LLVMRealPredicate predicates[WK_EX_COUNT] = {
      [WK_EX_EQ] = LLVMRealOEQ, [WK_EX_NE] = LLVMRealUNE, [WK_EX_LT] = LLVMRealOLT,
      [WK_EX_LE] = LLVMRealOLE, [WK_EX_GT] = LLVMRealOGT, [WK_EX_GE] = LLVMRealOGE};
  return LLVMBuildFCmp(b, predicates[op], p, q, "");
}

static wk_ssa real_op(const wk_expr_at *at, wk_ssa p, wk_ssa q) {
  wk_lanes v = wk_lanes_make(at->e, at->lanes, at->from == WK_F64 ? 64 : 32);
  LLVMBuilderRef b = at->e->b;
  wk_ssa inf = wk_lanes_real(&v, (double)__builtin_inff()), y = NULL;
  switch (at->node->op) {
    case WK_EX_NEG: return LLVMBuildFNeg(b, p, "");
    case WK_EX_ABS: return call1(&v, "llvm.fabs", p);
    case WK_EX_SIGN: return real_sign(&v, p);
    case WK_EX_FLOOR: return wk_lanes_round(&v, WK_ROUND_FLOOR, p);
    case WK_EX_CEIL: return wk_lanes_round(&v, WK_ROUND_CEIL, p);
    case WK_EX_ROUND: return wk_lanes_round(&v, WK_ROUND_EVEN, p);
    case WK_EX_TRUNC: return wk_lanes_round(&v, WK_ROUND_TRUNC, p);
    case WK_EX_SQRT: return call1(&v, "llvm.sqrt", p);
    case WK_EX_IS_NAN: return LLVMBuildFCmp(b, LLVMRealUNO, p, p, "");
    case WK_EX_IS_INF: return LLVMBuildFCmp(b, LLVMRealOEQ, call1(&v, "llvm.fabs", p), inf, "");
    case WK_EX_ADD: return LLVMBuildFAdd(b, p, q, "");
    case WK_EX_SUB: return LLVMBuildFSub(b, p, q, "");
    case WK_EX_MUL: return LLVMBuildFMul(b, p, q, "");
    case WK_EX_DIV: return LLVMBuildFDiv(b, p, q, "");
    case WK_EX_MIN: return real_extreme(at, &v, false, p, q);
    case WK_EX_MAX: return real_extreme(at, &v, true, p, q);
    case WK_EX_POW: y = easy_power(at, &v, p); break;
    case WK_EX_EQ:
    case WK_EX_NE:
    case WK_EX_LT:
    case WK_EX_LE:
    case WK_EX_GT:
    case WK_EX_GE: return real_compare(b, at->node->op, p, q);
    default: break;
  }
  return y ? y : wk_vmath_codegen(&v, at->node->op, p, q);
}

/* ---- whole expressions ----------------------------------------------------------------------- */

static wk_ssa literal(const wk_expr_at *at) {
  const wk_expr_node *n = at->node;
  LLVMTypeRef t = wk_register_element(at->e, n->dtype);
  wk_ssa one = wk_dtype_is_float(n->dtype) ? LLVMConstReal(t, n->imm.f)
                                           : LLVMConstInt(t, (uint64_t)n->imm.i, 1);
  return wk_vector_splat(at->e, at->lanes, one);
}

/* An expression under emission: value of each node, i32 where the plan holds an i64 narrow. */
typedef struct {
  wk_llvm *e;
  const wk_expr *x;
  const wk_how *how;
  int lanes;
  const wk_ssa *inputs, *index;
  wk_ssa *values; /* NULL: not yet */
  uint8_t *fits;  /* wk_expr_fits */
  wk_quick *quick;
} walk;

static bool is_word(const walk *w, uint16_t node) {
  return w->x->nodes[node].dtype == WK_I32 || w->how[node].how & WK_HOW_NARROW;
}

/* Arguments of one type: i32 when the result is, or when all are held so and it does not matter;
 * else those that are narrow are widened. Returns that type. */
static wk_dtype arguments(const walk *w, const wk_expr_node *n, uint8_t how, wk_ssa *a) {
  int arity = wk_expr_op_arity(n->op), first = n->op == WK_EX_SELECT;
  wk_dtype from = arity ? w->x->nodes[n->arg[0]].dtype : WK_DTYPE_NONE;
  bool words = (n->dtype != WK_I64 || how & WK_HOW_NARROW) && n->op != WK_EX_BITS;
  for (int i = 0; i < arity; i++) a[i] = w->values[n->arg[i]];
  for (int i = first; i < arity; i++) words = words && is_word(w, n->arg[i]);
  if (words) return first ? from : WK_I32;
  for (int i = first; i < arity; i++)
    if (w->how[n->arg[i]].how & WK_HOW_NARROW)
      a[i] = LLVMBuildSExt(w->e->b, a[i], wk_vector_type(w->e->i64, w->lanes), "");
  return from;
}

/* Shifted products, of arguments that are i32. */
static wk_ssa shifted_product(const walk *w, const wk_expr_at *at) {
  const wk_expr_node *mul = &w->x->nodes[at->how.product];
  wk_ssa a = w->values[mul->arg[at->how.first]], b = w->values[mul->arg[1 - at->how.first]];
  return wk_expr_high_codegen(at, a, b, w->values[at->node->arg[1]]);
}

static wk_ssa rescaled(const walk *w, const wk_expr_at *at, uint16_t k) {
  const wk_expr_node *n = at->node;
  uint16_t first = at->how.first;
  wk_ssa v[3], y;
  for (int i = 0; i < 3; i++) v[i] = w->values[n->arg[i]];
  if (at->how.how & WK_HOW_TWICE) {
    wk_expr_node word = {.op = WK_EX_CAST, .dtype = WK_I32};
    wk_expr_at cast = *at;
    cast.from = w->x->nodes[n->arg[0]].dtype;
    cast.node = &word;
    if (!is_word(w, n->arg[0])) v[0] = wk_expr_cast_codegen(&cast, v[0]);
    return wk_expr_twice_codegen(at, v[first], v[1 - first], v[2]);
  }
  wk_arena *a = wk_arena_new();
  const wk_expr *steps = wk_expr_rescale_plan(a, w->x, k);
  wk_how how[WK_RESCALE_STEPS] = {0};
  for (uint32_t i = 0; i < steps->n; i++) how[i].how = at->how.steps[i];
  wk_expr_codegen(w->e, steps, how, w->lanes, v, NULL, &y);
  wk_arena_free(a);
  return y;
}

/* A requantisation in its quick form, i32. */
static wk_ssa quick_value(const walk *w, const wk_expr_at *at) {
  const uint16_t *arg = w->x->nodes[at->how.product].arg;
  return wk_expr_quick_codegen(at, w->values[arg[0]], w->values[arg[1]], w->values[arg[2]],
                               w->quick);
}

static wk_ssa bits_value(const wk_expr_at *at, wk_ssa a) {
  wk_ssa memory = wk_to_memory(at->e, at->from, at->lanes, a);
  LLVMTypeRef type = wk_vector_type(wk_memory_element(at->e, at->node->dtype), at->lanes);
  memory = LLVMBuildBitCast(at->e->b, memory, type, "");
  return wk_from_memory(at->e, at->node->dtype, at->lanes, memory);
}

/* A cast of floats to 16 bits that they have already. */
static bool is_stored_as(const walk *w, const wk_expr_node *n) {
  uint8_t fits = w->fits[n->arg[0]];
  return w->x->nodes[n->arg[0]].dtype == WK_F32 &&
         ((n->dtype == WK_F16 && fits & WK_FITS_F16) ||
          (n->dtype == WK_BF16 && fits & WK_FITS_BF16));
}

static wk_ssa node_value(const walk *w, wk_expr_at *at, uint16_t k) {
  const wk_expr_node *n = at->node;
  if (at->how.how & WK_HOW_QUICK) {
    at->from = WK_I32;
    return wk_expr_sat_codegen(at, quick_value(w, at));
  }
  if (n->op == WK_EX_INPUT) {
    wk_ssa v = w->inputs[n->imm.i];
    LLVMTypeRef word = wk_vector_type(w->e->i32, w->lanes);
    bool is_wide = at->how.how & WK_HOW_NARROW && v && LLVMTypeOf(v) != word;
    return is_wide ? LLVMBuildTrunc(w->e->b, v, word, "") : v;
  }
  if (n->op == WK_EX_INDEX) return w->index[n->imm.i];
  wk_ssa a[3] = {NULL, NULL, NULL};
  if (n->op == WK_EX_RESCALE) return rescaled(w, at, k);
  if (at->how.how & (WK_HOW_HIGH_UP | WK_HOW_HIGH_EVEN | WK_HOW_ONCE))
    return shifted_product(w, at);
  wk_expr_node word = *n;
  at->from = arguments(w, n, at->how.how, a);
  if (at->how.how & WK_HOW_NARROW) word.dtype = WK_I32;
  at->node = n = &word;
  if (n->op == WK_EX_CONST) return literal(at);
  if (n->op == WK_EX_SELECT) return LLVMBuildSelect(at->e->b, a[0], a[1], a[2], "");
  if (n->op == WK_EX_CAST && is_stored_as(w, n)) return a[0];
  if (n->op == WK_EX_CAST) return wk_expr_cast_codegen(at, a[0]);
  if (n->op == WK_EX_SAT) return wk_expr_sat_codegen(at, a[0]);
  if (n->op == WK_EX_BITS) return bits_value(at, a[0]);
  if (!wk_dtype_is_float(at->from)) return wk_expr_integer_codegen(at, a[0], a[1]);
  return real_op(at, a[0], a[1]);
}

/* Node k where it is wanted and no value is given. */
static void compute(walk *w, uint16_t k) {
  wk_expr_at at = {
      .e = w->e, .x = w->x, .node = &w->x->nodes[k], .lanes = w->lanes, .how = w->how[k]};
  if (!w->values[k]) w->values[k] = node_value(w, &at, k);
}

static wk_ssa result(const walk *w, uint32_t r) {
  wk_ssa v = w->values[w->x->results[r]];
  bool narrow = w->how[w->x->results[r]].how & WK_HOW_NARROW;
  return narrow ? LLVMBuildSExt(w->e->b, v, wk_vector_type(w->e->i64, w->lanes), "") : v;
}

void wk_expr_codegen(wk_llvm *e, const wk_expr *x, const wk_how *how, int lanes,
                     const wk_ssa *inputs, const wk_ssa *index, wk_ssa *results) {
  wk_how *own = wk_xcalloc(x->n, sizeof *own);
  if (!how) (void)wk_expr_plan(x, NULL, own, NULL);
  walk w = {.e = e,
            .x = x,
            .how = how ? how : own,
            .lanes = lanes,
            .inputs = inputs,
            .index = index,
            .values = wk_xcalloc(x->n, sizeof(wk_ssa)),
            .fits = wk_xcalloc(x->n, 1)};
  wk_expr_fits(x, w.fits);
  for (uint16_t i = 0; i < x->n; i++) compute(&w, i);
  for (uint32_t r = 0; r < x->n_results; r++) results[r] = result(&w, r);
  free(w.fits);
  free(w.values);
  free(own);
}

/* Steps of its definition; what literals alone decide is no step. */
static int rescale_cost(const wk_expr *x, const wk_expr_node *n) {
  bool has_half = x->nodes[n->arg[2]].op == WK_EX_CONST;
  return x->nodes[n->arg[0]].dtype == WK_I64 ? has_half ? 5 : 7 : has_half ? 6 : 8;
}

int wk_expr_cost(const wk_expr *x) {
  int cost = 0;
  for (uint32_t i = 0; i < x->n; i++) {
    const wk_expr_node *n = &x->nodes[i];
    if (wk_expr_op_arity(n->op) == 0) continue;
    if (n->op == WK_EX_RESCALE) {
      cost += rescale_cost(x, n);
      continue;
    }
    bool real = wk_dtype_is_float(x->nodes[n->arg[0]].dtype);
    bool divides = n->op == WK_EX_DIV || n->op == WK_EX_MOD || n->op == WK_EX_FMOD;
    cost += real && wk_vmath_has(n->op) ? 20 : !real && divides ? 20 : 1;
    if (n->op == WK_EX_CAST && wk_compute_dtype(n->dtype) != n->dtype) cost += 4;
  }
  return cost;
}

/* ---- epilogues ------------------------------------------------------------------------------- */

typedef struct {
  const wk_expr *x;
  wk_how *how, *quick;
  uint16_t start; /* the sum that the accumulator is; NONE */
} epilogue;

enum { NONE = UINT16_MAX };

/* acc + operand 0, where the former has no other use; i32. */
static uint16_t start_of(const wk_expr *x, const wk_cpu_operand *o, int n_operands) {
  uint16_t found = NONE;
  int uses = 0;
  if (n_operands < 1 || o->dtype != WK_I32 || !o->per_column) return NONE;
  if (o->stride[0] || o->stride[1] || o->stride[2]) return NONE;
  for (uint16_t k = 0; k < x->n; k++) {
    const wk_expr_node *n = &x->nodes[k];
    bool has_operand = false, has_acc = false;
    for (int i = 0; i < wk_expr_op_arity(n->op); i++) {
      const wk_expr_node *a = &x->nodes[n->arg[i]];
      if (a->op != WK_EX_INPUT || a->imm.i > 1) continue;
      *(a->imm.i ? &has_operand : &has_acc) = true;
      uses += a->imm.i == 0;
    }
    if (n->op == WK_EX_ADD && n->dtype == WK_I32 && has_acc && has_operand) found = k;
  }
  return uses == 1 && x->nodes[x->results[0]].op != WK_EX_INPUT ? found : NONE;
}

static walk walk_epilogue(const epilogue *epi, const wk_how *how, wk_llvm *e, wk_ssa acc,
                          const wk_ssa *operands, wk_ssa *inputs) {
  walk w = {.e = e, .x = epi->x, .how = how, .lanes = e->simd->lanes, .inputs = inputs};
  w.values = wk_xcalloc(epi->x->n, sizeof(wk_ssa));
  w.fits = wk_xcalloc(epi->x->n, 1);
  wk_expr_fits(epi->x, w.fits);
  inputs[0] = acc;
  for (int i = 1; i < wk_expr_inputs(epi->x); i++) inputs[i] = operands[i - 1];
  if (epi->start != NONE) w.values[epi->start] = acc;
  return w;
}

static wk_ssa emit_epilogue(void *ctx, wk_llvm *e, wk_ssa acc, const wk_ssa *operands) {
  wk_ssa inputs[1 + WK_CPU_MAX_OPERANDS];
  const epilogue *epi = ctx;
  walk w = walk_epilogue(epi, epi->how, e, acc, operands, inputs);
  for (uint16_t i = 0; i < epi->x->n; i++) compute(&w, i);
  wk_ssa y = result(&w, 0);
  free(w.fits);
  free(w.values);
  return y;
}

/* Which nodes have to be computed for node k, which is one of them. */
static void mark(const wk_expr *x, const wk_how *how, uint16_t k, bool *wanted) {
  const wk_expr_node *n = &x->nodes[k];
  if (wanted[k]) return;
  wanted[k] = true;
  if (how[k].how & WK_HOW_QUICK) n = &x->nodes[how[k].product];
  for (int i = 0; i < wk_expr_op_arity(n->op); i++) mark(x, how, n->arg[i], wanted);
}

static wk_ssa limited(wk_llvm *e, const wk_requant_range *y, wk_ssa v) {
  int64_t least = y->dtype == WK_I8 ? -128 : 0;
  wk_ssa lo[] = {v, wk_vector_int(e, LLVMTypeOf(v), y->lo)};
  if (y->lo > least) v = wk_lanes_intrinsic(e, "llvm.smax", LLVMTypeOf(v), lo, 2);
  wk_ssa hi[] = {v, wk_vector_int(e, LLVMTypeOf(v), y->hi)};
  if (y->hi < least + 255) v = wk_lanes_intrinsic(e, "llvm.smin", LLVMTypeOf(v), hi, 2);
  return v;
}

static wk_ssa quick_epilogue(void *ctx, wk_llvm *e, wk_ssa acc, const wk_ssa *operands,
                             wk_quick *quick) {
  wk_ssa inputs[1 + WK_CPU_MAX_OPERANDS];
  const epilogue *epi = ctx;
  const wk_expr *x = epi->x;
  wk_requant_range y;
  (void)wk_requant_range_at(x, x->results[0], &y);
  uint16_t end = y.saturation;
  walk w = walk_epilogue(epi, epi->quick, e, acc, operands, inputs);
  bool *wanted = wk_xcalloc(x->n, sizeof *wanted);
  w.quick = quick;
  mark(x, epi->quick, end, wanted);
  for (uint16_t i = 0; i < end; i++)
    if (wanted[i]) compute(&w, i);
  wk_expr_at at = {.e = e, .x = x, .node = &x->nodes[end], .lanes = w.lanes, .how = w.how[end]};
  bool is_quick = at.how.how & WK_HOW_QUICK;
  wk_ssa v = is_quick ? quick_value(&w, &at) : w.values[x->nodes[end].arg[0]];
  free(w.fits);
  free(w.values);
  free(wanted);
  return limited(e, &y, v);
}

wk_status wk_expr_epilogue(wk_arena *a, const wk_expr *x, const wk_facts *facts,
                           const wk_cpu_operand *operands, int n_operands, wk_cpu_epilogue *out) {
  *out = (wk_cpu_epilogue){0};
  if (n_operands > WK_CPU_MAX_OPERANDS || wk_expr_inputs(x) > n_operands + 1)
    return wk_error(WK_UNSUPPORTED, "an epilogue with %d operands", n_operands);
  for (uint32_t i = 0; i < x->n; i++) {
    const wk_expr_node *n = &x->nodes[i];
    if (n->op == WK_EX_INDEX) return wk_error(WK_UNSUPPORTED, "an epilogue that asks where it is");
  }
  out->emit = emit_epilogue;
  epilogue *ctx = wk_arena_alloc(a, sizeof *ctx);
  size_t size = x->n * sizeof(wk_how);
  *ctx = (epilogue){x, wk_arena_alloc(a, size), wk_arena_alloc(a, size),
                    start_of(x, operands, n_operands)};
  out->has_start = ctx->start != NONE;
  out->ctx = ctx;
  wk_requant_range y;
  bool has_quick =
      wk_expr_plan(x, facts, ctx->how, ctx->quick) && wk_requant_range_at(x, x->results[0], &y);
  if (has_quick) out->quick = quick_epilogue;
  out->key = wk_hash64(ctx->how, size, wk_expr_hash(x, 0));
  if (has_quick) out->key = wk_hash64(ctx->quick, size, out->key);
  out->n_operands = n_operands;
  for (int i = 0; i < n_operands; i++) out->operands[i] = operands[i];
  return NULL;
}
