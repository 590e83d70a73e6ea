/* SPDX-License-Identifier: Apache-2.0 */
/* targets/cpu's loops and expressions against the evaluator: random shapes, strides, element types
 * and expressions of operations whose results are exact, compared bit for bit, on every instruction
 * set that this machine runs (for others the object is made and its symbols checked); long sums;
 * nests that reduce and map. test_cpu_math.c has the functions. */
#include "tests/unit/cpu_loop_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { CASES = 150 };

static wk_dtype any_dtype(wk_rng *r) {
  static const wk_dtype types[] = {WK_F32, WK_F32, WK_F32, WK_F16, WK_BF16, WK_F64, WK_I8,  WK_I16,
                                   WK_I32, WK_I64, WK_U8,  WK_U16, WK_U32,  WK_U64, WK_BOOL};
  return types[wk_rng_range(r, 0, (int64_t)WK_COUNTOF(types) - 1)];
}

/* Exact for every type: the functions of vmath.h and what rounds twice in f16 are left out. */
static bool is_exact(wk_expr_op op, wk_dtype t) {
  bool narrow = t == WK_F16 || t == WK_BF16;
  if (op == WK_EX_MOD && narrow) return false;
  if (op == WK_EX_POW && wk_dtype_is_float(t)) return false;
  return op < WK_EX_EXP || op > WK_EX_ERF;
}

static uint16_t pick(wk_rng *r, wk_expr_builder *b, wk_dtype t) {
  uint32_t n = wk_expr_count(b);
  for (int i = 0; i < 20; i++) {
    uint16_t k = (uint16_t)wk_rng_range(r, 0, n - 1);
    if (wk_expr_dtype(b, k) == t) return k;
  }
  if (wk_rng_range(r, 0, 1)) return wk_expr_f(b, t, (double)wk_rng_range(r, -3, 3));
  return wk_expr_cast(b, t, (uint16_t)wk_rng_range(r, 0, n - 1));
}

/* Nearly always one that means something. */
static uint16_t rescale_shift(wk_rng *r, wk_expr_builder *b) {
  if (wk_rng_range(r, 0, 3) == 0) return pick(r, b, WK_I64);
  return wk_expr_i(b, WK_I64, wk_rng_range(r, 1, 62));
}

static uint16_t grow(wk_rng *r, wk_expr_builder *b) {
  uint16_t x = (uint16_t)wk_rng_range(r, 0, wk_expr_count(b) - 1);
  wk_dtype t = wk_expr_dtype(b, x);
  if (wk_rng_range(r, 0, 3) == 0) return wk_expr_cast(b, any_dtype(r), x);
  char why[64];
  for (int i = 0; i < 50; i++) {
    wk_expr_op op = (wk_expr_op)wk_rng_range(r, WK_EX_SAT, WK_EX_RESCALE);
    wk_dtype args[] = {op == WK_EX_SELECT ? WK_BOOL : t, t, t};
    if (op == WK_EX_RESCALE) args[1] = args[2] = WK_I64;
    if (wk_expr_refusal(op, args, why) || !is_exact(op, t)) continue;
    if (op == WK_EX_SAT) {
      wk_dtype to = any_dtype(r);
      if (wk_dtype_is_int(to)) return wk_expr_sat(b, to, x);
      continue;
    }
    if (op == WK_EX_SELECT) return wk_expr_3(b, op, pick(r, b, WK_BOOL), x, pick(r, b, t));
    if (op == WK_EX_RESCALE) return wk_expr_3(b, op, x, pick(r, b, WK_I64), rescale_shift(r, b));
    if (wk_expr_op_arity(op) == 1) return wk_expr_1(b, op, x);
    return wk_expr_2(b, op, x, pick(r, b, t));
  }
  return x;
}

static wk_expr *random_expr(wk_rng *r, wk_arena *a, const wk_dtype *inputs, int n_in, int rank,
                            int size, int n_results) {
  wk_expr_builder *b = wk_expr_begin(a);
  uint16_t results[4];
  for (int k = 0; k < n_in; k++) wk_expr_input(b, k, inputs[k]);
  if (rank > 0 && wk_rng_range(r, 0, 4) == 0) wk_expr_index(b, wk_rng_range(r, 0, rank - 1));
  uint16_t last = 0;
  for (int i = 0; i < size; i++) last = grow(r, b);
  for (int k = 0; k < n_results; k++)
    results[k] = k ? (uint16_t)wk_rng_range(r, 0, wk_expr_count(b) - 1) : last;
  return wk_expr_finish(b, results, n_results);
}

static void random_zeros(wk_rng *r, int rank, bool *zero) {
  bool some = wk_rng_range(r, 0, 2) == 0;
  for (int d = 0; d < rank; d++) zero[d] = some && wk_rng_range(r, 0, 1);
}

static void map_case(wk_rng *r, lc_case *c) {
  int64_t dims[WK_MAX_RANK];
  int rank, n_in = (int)wk_rng_range(r, 1, 3), n_out = wk_rng_range(r, 0, 3) ? 1 : 2;
  *c = (lc_case){.p = wk_program_new("map")};
  lc_shape(r, &rank, dims);
  bool none[WK_MAX_RANK] = {false}, zero[WK_MAX_RANK];
  wk_dtype types[3] = {any_dtype(r), any_dtype(r), any_dtype(r)};
  int kind = (int)wk_rng_range(r, 0, 7);
  wk_op op = kind == 0 ? WK_OP_COPY : kind == 1 ? WK_OP_FILL : WK_OP_MAP;
  if (op != WK_OP_MAP) n_out = 1, n_in = op == WK_OP_COPY;
  c->inst = wk_inst_new(c->p, op, "test", (uint32_t)n_out, (uint32_t)(n_out + n_in));
  wk_expr *body = op != WK_OP_MAP ? NULL
                                  : random_expr(r, c->p->arena, types, n_in, rank,
                                                (int)wk_rng_range(r, 1, 8), n_out);
  for (int k = 0; k < n_out; k++) {
    wk_dtype t = body ? body->nodes[body->results[k]].dtype : types[0];
    c->inst->operands[k] = lc_view(r, c->p, t, rank, dims, none);
    c->inst->operands[k].role = WK_ROLE_OUT;
  }
  for (int k = 0; k < n_in; k++) {
    random_zeros(r, rank, zero);
    c->inst->operands[n_out + k] = lc_view(r, c->p, types[k], rank, dims, zero);
  }
  bool in_place =
      op == WK_OP_MAP && wk_rng_range(r, 0, 3) == 0 && types[0] == c->inst->operands[0].dtype;
  if (in_place) {
    c->inst->operands[n_out] = c->inst->operands[0];
    c->inst->operands[n_out].role = WK_ROLE_IN;
  }
  if (op == WK_OP_MAP) ((wk_attr_map *)c->inst->attrs)->body = body;
  if (op == WK_OP_FILL)
    ((wk_attr_fill *)c->inst->attrs)->value = (double)wk_rng_range(r, -300, 300);
  lc_memory(r, c, true);
}

/* x to a power of integers: a constant one becomes multiplications, one of a tensor a loop. */
static void power_case(wk_rng *r, lc_case *c) {
  static const wk_dtype types[] = {WK_I8, WK_U8, WK_I16, WK_U16, WK_I32, WK_U32, WK_I64, WK_U64};
  static const int64_t exponents[] = {0, 1, 2, 3, 5, 8, 63, 64, 127, -1, -2};
  int64_t dims[WK_MAX_RANK];
  bool none[WK_MAX_RANK] = {false};
  int rank, which = (int)wk_rng_range(r, 0, (int64_t)WK_COUNTOF(exponents));
  wk_dtype t = types[wk_rng_range(r, 0, (int64_t)WK_COUNTOF(types) - 1)];
  if (!wk_dtype_is_signed(t) && which > 8) which = (int)WK_COUNTOF(exponents);
  *c = (lc_case){.p = wk_program_new("power")};
  lc_shape(r, &rank, dims);
  wk_expr_builder *b = wk_expr_begin(c->p->arena);
  uint16_t x = wk_expr_input(b, 0, t), n = wk_expr_input(b, 1, t);
  if (which < (int)WK_COUNTOF(exponents)) n = wk_expr_i(b, t, exponents[which]);
  uint16_t y = wk_expr_2(b, WK_EX_POW, x, n);
  c->inst = wk_inst_new(c->p, WK_OP_MAP, "test", 1, 3);
  for (int k = 0; k < 3; k++) c->inst->operands[k] = lc_view(r, c->p, t, rank, dims, none);
  c->inst->operands[0].role = WK_ROLE_OUT;
  ((wk_attr_map *)c->inst->attrs)->body = wk_expr_finish(b, &y, 1);
  lc_memory(r, c, true);
}

/* A rescaling by what is computed in i64, though it may fit i32. */
static void rescale_case(wk_rng *r, lc_case *c) {
  static const wk_dtype types[] = {WK_I8, WK_U8, WK_I16, WK_I32, WK_I32, WK_I64};
  int64_t dims[WK_MAX_RANK];
  bool none[WK_MAX_RANK] = {false};
  int rank;
  const wk_dtype of[] = {WK_I32, types[wk_rng_range(r, 0, (int64_t)WK_COUNTOF(types) - 1)], WK_I8};
  *c = (lc_case){.p = wk_program_new("rescale")};
  lc_shape(r, &rank, dims);
  wk_expr_builder *b = wk_expr_begin(c->p->arena);
  uint16_t x = wk_expr_input(b, 0, of[1]), m = wk_expr_cast(b, WK_I64, wk_expr_input(b, 1, of[2]));
  m = wk_expr_2(b, WK_EX_SHL, m, wk_expr_i(b, WK_I64, wk_rng_range(r, 1, 25)));
  uint16_t y = wk_expr_3(b, WK_EX_RESCALE, x, m, wk_expr_i(b, WK_I64, wk_rng_range(r, 1, 35)));
  c->inst = wk_inst_new(c->p, WK_OP_MAP, "test", 1, 3);
  for (int k = 0; k < 3; k++) c->inst->operands[k] = lc_view(r, c->p, of[k], rank, dims, none);
  c->inst->operands[0].role = WK_ROLE_OUT;
  ((wk_attr_map *)c->inst->attrs)->body = wk_expr_finish(b, &y, 1);
  lc_memory(r, c, true);
}

static void reduce_case(wk_rng *r, lc_case *c) {
  static const char *const kinds[] = {"sum", "prod", "max", "min", "argmax", "argmin"};
  int64_t dims[WK_MAX_RANK], axes[WK_MAX_RANK];
  int rank, n_axes = 0, kind = (int)wk_rng_range(r, 0, 5);
  bool none[WK_MAX_RANK] = {false}, zero[WK_MAX_RANK];
  *c = (lc_case){.p = wk_program_new("reduce")};
  do lc_shape(r, &rank, dims);
  while (rank == 0);
  c->inst = wk_inst_new(c->p, WK_OP_REDUCE, "test", 1, 2);
  for (int d = 0; d < rank; d++) {
    none[d] = wk_rng_range(r, 0, 1) && !(kind >= 4 && n_axes);
    if (none[d]) axes[n_axes++] = d;
  }
  if (kind >= 4 && n_axes == 0) none[0] = true, axes[n_axes++] = 0;
  wk_dtype in = any_dtype(r), t = in;
  if (t == WK_BOOL && kind < 2) in = t = WK_I32;
  if (kind == 1 && wk_dtype_is_float(in)) kind = 0; /* products of fractions depend on the order */
  wk_attr_reduce *a = c->inst->attrs;
  a->kind = kinds[kind];
  a->axes = wk_ints_dup(c->p->arena, axes, n_axes);
  a->select_last = wk_rng_range(r, 0, 1);
  if (kind >= 2 && wk_rng_range(r, 0, 1)) {
    a->pre = random_expr(r, c->p->arena, &in, 1, rank, 3, 1);
    t = a->pre->nodes[a->pre->results[0]].dtype;
  }
  if (kind >= 4) t = WK_I64;
  if (wk_rng_range(r, 0, 2) == 0) {
    a->post = random_expr(r, c->p->arena, &t, 1, rank, 2, 1);
    t = a->post->nodes[a->post->results[0]].dtype;
  }
  int64_t out_dims[WK_MAX_RANK];
  for (int d = 0; d < rank; d++) out_dims[d] = dims[d];
  c->inst->operands[0] = lc_view(r, c->p, t, rank, out_dims, none);
  c->inst->operands[0].role = WK_ROLE_OUT;
  random_zeros(r, rank, zero);
  c->inst->operands[1] = lc_view(r, c->p, in, rank, dims, zero);
  lc_memory(r, c, kind >= 2);
}

static int run_cases(const wk_simd *simd, uint64_t seed, void (*make)(wk_rng *r, lc_case *c),
                     wk_status (*emit)(wk_llvm *, const wk_program *, const wk_inst *,
                                       wk_cpu_kernel *)) {
  static lc_case cases[CASES];
  wk_rng r = {seed};
  lc_module m;
  int wrong = 0;
  lc_begin(&m, simd);
  for (int i = 0; i < CASES; i++) {
    make(&r, &cases[i]);
    lc_check(emit(&m.e, cases[i].p, cases[i].inst, &cases[i].kernel));
    lc_export(&m, &cases[i].kernel, i);
  }
  bool runs = wk_simd_runs_here(simd);
  wrong += runs ? lc_load(&m) : lc_emit_only(&m);
  for (int i = 0; i < CASES; i++) {
    if (runs) wrong += lc_run(&cases[i], lc_find(&m, i)) != 0;
    lc_free(&cases[i]);
  }
  lc_end(&m);
  return wrong;
}

static void on_every_isa(uint64_t seed, void (*make)(wk_rng *r, lc_case *c),
                         wk_status (*emit)(wk_llvm *, const wk_program *, const wk_inst *,
                                           wk_cpu_kernel *)) {
  for (int i = 0; wk_simd_row(i); i++) {
    const wk_simd *simd = wk_simd_row(i);
    for (uint64_t k = 0; k < 2; k++) {
      int wrong = run_cases(simd, seed + 100 * k, make, emit);
      if (wrong)
        fail_msg("%s, seed %llu: %d of %d cases differ", simd->name,
                 (unsigned long long)(seed + 100 * k), wrong, CASES);
    }
  }
}

static void test_maps(void **state) {
  (void)state;
  on_every_isa(1, map_case, wk_cpu_map_codegen);
}

static void test_powers(void **state) {
  (void)state;
  on_every_isa(3, power_case, wk_cpu_map_codegen);
}

static void test_rescaling(void **state) {
  (void)state;
  const wk_simd *simd;
  lc_check(wk_simd_find("native", &simd));
  assert_int_equal(run_cases(simd, 4, rescale_case, wk_cpu_map_codegen), 0);
}

static void test_reductions(void **state) {
  (void)state;
  on_every_isa(2, reduce_case, wk_cpu_reduce_codegen);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* A sum along axis 0, within `limit` of what the evaluator makes of it. */
static void long_sum(const wk_simd *simd, const int64_t *shape, double limit) {
  lc_module m;
  wk_rng r = {5};
  bool none[] = {false, false}, zero[] = {true, false};
  lc_case c = {.p = wk_program_new("sum")};
  c.inst = wk_inst_new(c.p, WK_OP_REDUCE, "sum", 1, 2);
  wk_attr_reduce *a = c.inst->attrs;
  int64_t axis = 0;
  a->kind = "sum";
  a->axes = wk_ints_dup(c.p->arena, &axis, 1);
  c.inst->operands[0] = lc_view(&r, c.p, WK_F32, 2, shape, zero);
  c.inst->operands[1] = lc_view(&r, c.p, WK_F32, 2, shape, none);
  const wk_view *x = &c.inst->operands[1], *y = &c.inst->operands[0];
  lc_memory(&r, &c, false);
  float *data = (float *)c.ours[x->buffer];
  int64_t n = c.p->buffers.data[x->buffer].size / 4;
  for (int64_t i = 0; i < n; i++) data[i] = (float)wk_rng_unit(&r);
  memcpy(c.theirs[x->buffer], data, (size_t)n * 4);
  lc_begin(&m, simd);
  lc_check(wk_cpu_reduce_codegen(&m.e, c.p, c.inst, &c.kernel));
  lc_export(&m, &c.kernel, 0);
  assert_int_equal(lc_load(&m), 0);
  void *args[] = {c.ours[y->buffer] + y->offset, c.ours[x->buffer] + x->offset};
  void *bases[] = {c.theirs[0], c.theirs[1]};
  lc_find(&m, 0)(args, NULL, 0, c.kernel.n_tasks);
  lc_check(wk_eval_inst(c.p, c.inst, bases, 0));
  for (int64_t i = 0; i < c.p->buffers.data[y->buffer].size / 4; i++) {
    double got = wk_load_f64(c.ours[y->buffer], WK_F32, i);
    double want = wk_load_f64(c.theirs[y->buffer], WK_F32, i);
    assert_true(fabs(got - want) <= limit * fabs(want));
  }
  lc_end(&m);
  lc_free(&c);
}

/* Sums of a million numbers, the four ways that reductions run, and those that the gradient of a
 * bias is, over few hundred samples: these are rounded once. */
static void test_long_sums(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{1000000, 1}, {1, 1000000}, {62500, 16}, {16, 62500}};
  static const int64_t samples[][2] = {{256, 128}, {1000, 3}, {2048, 1}};
  for (int k = 0; wk_simd_row(k); k++) {
    const wk_simd *simd = wk_simd_row(k);
    if (!wk_simd_runs_here(simd)) continue;
    for (size_t j = 0; j < WK_COUNTOF(shapes); j++) long_sum(simd, shapes[j], 1e-6);
    for (size_t j = 0; j < WK_COUNTOF(samples); j++) long_sum(simd, samples[j], 0x1p-24);
  }
}

/* ---- nests ----------------------------------------------------------------------------------- */

typedef struct {
  wk_program *p;
  wk_inst *nest;
  int64_t dims[3]; /* outer, outer, inner */
  int64_t scratch;
} nest_case;

static uint32_t nest_buffer(nest_case *c, wk_region region, int64_t size) {
  wk_buffer b = {.name = "b", .region = region, .align = 64, .size = size, .offset = -1};
  if (region == WK_REGION_SCRATCH) {
    b.offset = c->scratch;
    c->scratch += (int64_t)wk_align_up((uint64_t)size, 64);
  }
  return wk_program_buffer(c->p, &b);
}

static wk_view nest_view(const nest_case *c, uint32_t buffer, int64_t s0, int64_t s1, int64_t s2) {
  wk_view v = {.buffer = buffer, .dtype = WK_F32, .rank = 3, .strides = {s0, s1, s2}};
  memcpy(v.dims, c->dims, sizeof c->dims);
  return v;
}

static wk_inst *nest_map(nest_case *c, const char *text, int n, const wk_view *operands) {
  wk_inst *i = wk_inst_new(c->p, WK_OP_MAP, "map", 1, (uint32_t)n);
  memcpy(i->operands, operands, (size_t)n * sizeof *operands);
  i->operands[0].role = WK_ROLE_OUT;
  wk_dtype types[] = {WK_F32, WK_F32, WK_F32, WK_F32};
  wk_expr *x;
  lc_check(wk_expr_parse(c->p->arena, text, types, n - 1, &x));
  ((wk_attr_map *)i->attrs)->body = x;
  wk_block_append(&c->nest->bodies[0], i);
  return i;
}

static void nest_reduce(nest_case *c, const char *kind, const char *pre, const char *post,
                        wk_view y, wk_view x) {
  wk_inst *i = wk_inst_new(c->p, WK_OP_REDUCE, "reduce", 1, 2);
  int64_t axis = 2;
  wk_dtype type = WK_F32;
  wk_expr *e;
  i->operands[0] = y;
  i->operands[0].role = WK_ROLE_OUT;
  i->operands[1] = x;
  wk_attr_reduce *a = i->attrs;
  a->kind = kind;
  a->axes = wk_ints_dup(c->p->arena, &axis, 1);
  if (pre) {
    lc_check(wk_expr_parse(c->p->arena, pre, &type, 1, &e));
    a->pre = e;
  }
  if (post) {
    lc_check(wk_expr_parse(c->p->arena, post, &type, 1, &e));
    a->post = e;
  }
  wk_block_append(&c->nest->bodies[0], i);
}

static nest_case nest_begin(int64_t a, int64_t b, int64_t n) {
  nest_case c = {.p = wk_program_new("nest"), .dims = {a, b, n}};
  c.nest = wk_inst_new(c.p, WK_OP_NEST, "nest", 0, 0);
  ((wk_attr_nest *)c.nest->attrs)->outer = 2;
  c.nest->n_bodies = 1;
  c.nest->bodies = wk_arena_alloc(c.p->arena, sizeof(wk_block));
  wk_block_append(&c.p->body, c.nest);
  return c;
}

static nest_case softmax(int64_t a, int64_t b, int64_t n) {
  nest_case c = nest_begin(a, b, n);
  wk_view x = nest_view(&c, nest_buffer(&c, WK_REGION_ACT, a * b * n * 4), b * n, n, 1);
  wk_view y = nest_view(&c, nest_buffer(&c, WK_REGION_ACT, a * b * n * 4), b * n, n, 1);
  wk_view m = nest_view(&c, nest_buffer(&c, WK_REGION_SCRATCH, 4), 0, 0, 0);
  wk_view s = nest_view(&c, nest_buffer(&c, WK_REGION_SCRATCH, 4), 0, 0, 0);
  wk_view t = nest_view(&c, nest_buffer(&c, WK_REGION_SCRATCH, n * 4), 0, 0, 1);
  nest_reduce(&c, "max", NULL, NULL, m, x);
  nest_map(&c, "exp(sub(%0, %1))", 3, (wk_view[]){t, x, m});
  nest_reduce(&c, "sum", NULL, NULL, s, t);
  nest_map(&c, "div(%0, %1)", 3, (wk_view[]){y, t, s});
  return c;
}

/* Memory order [outer][n][outer]: what is reduced is strided. */
static nest_case layer_norm(int64_t a, int64_t b, int64_t n) {
  nest_case c = nest_begin(a, b, n);
  char mean[64], root[96];
  snprintf(mean, sizeof mean, "div(%%0, %lld.0f32)", (long long)n);
  snprintf(root, sizeof root, "div(1.0f32, sqrt(add(div(%%0, %lld.0f32), 0.00001f32)))",
           (long long)n);
  wk_view x = nest_view(&c, nest_buffer(&c, WK_REGION_ACT, a * b * n * 4), b * n, 1, b);
  wk_view y = nest_view(&c, nest_buffer(&c, WK_REGION_ACT, a * b * n * 4), b * n, n, 1);
  wk_view m = nest_view(&c, nest_buffer(&c, WK_REGION_SCRATCH, 4), 0, 0, 0);
  wk_view s = nest_view(&c, nest_buffer(&c, WK_REGION_SCRATCH, 4), 0, 0, 0);
  wk_view t = nest_view(&c, nest_buffer(&c, WK_REGION_SCRATCH, n * 4), 0, 0, 1);
  nest_reduce(&c, "sum", NULL, mean, m, x);
  nest_map(&c, "sub(%0, %1)", 3, (wk_view[]){t, x, m});
  nest_reduce(&c, "sum", "mul(%0, %0)", root, s, t);
  nest_map(&c, "mul(%0, %1)", 3, (wk_view[]){y, t, s});
  return c;
}

static void run_nest(const wk_simd *simd, nest_case c) {
  void *args[16] = {0}, *ours[5], *theirs[5], *scratch;
  wk_rng r = {3};
  lc_module m;
  wk_cpu_kernel k;
  int64_t n = c.dims[0] * c.dims[1] * c.dims[2];
  lc_begin(&m, simd);
  lc_check(wk_cpu_nest_codegen(&m.e, c.p, c.nest, &k));
  lc_export(&m, &k, 0);
  assert_int_equal(lc_load(&m), 0);
  for (uint32_t i = 0; i < 5; i++) {
    size_t size = (size_t)c.p->buffers.data[i].size;
    ours[i] = calloc(1, size);
    theirs[i] = calloc(1, size);
    for (size_t j = 0; i == 0 && j < size / 4; j++) ((float *)ours[0])[j] = wk_rng_normal(&r) * 4;
    memcpy(theirs[i], ours[i], size);
  }
  assert_true(k.scratch_bytes >= c.scratch - 63);
  lc_check(wk_try_malloc((size_t)k.scratch_bytes, &scratch));
  uint32_t at = 0;
  for (size_t i = 0; i < c.nest->bodies[0].insts.n; i++)
    for (uint32_t j = 0; j < c.nest->bodies[0].insts.data[i]->n_operands; j++)
      args[at++] = ours[c.nest->bodies[0].insts.data[i]->operands[j].buffer];
  for (int64_t i = k.n_tasks; i > 0; i--) lc_find(&m, 0)(args, scratch, i - 1, i);
  lc_check(wk_eval_inst(c.p, c.nest, theirs, 0));
  for (int64_t i = 0; i < n; i++) {
    double got = (double)((float *)ours[1])[i], want = (double)((float *)theirs[1])[i];
    assert_true(fabs(got - want) <= 1e-6 + 1e-5 * fabs(want));
  }
  for (int i = 0; i < 5; i++) free(ours[i]), free(theirs[i]);
  free(scratch);
  lc_end(&m);
  wk_program_free(c.p);
}

static void test_nests(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{2, 3, 128}, {1, 1, 5}, {7, 1, 1}, {3, 50, 37}, {40, 2, 768}};
  for (int k = 0; wk_simd_row(k); k++) {
    const wk_simd *simd = wk_simd_row(k);
    if (!wk_simd_runs_here(simd)) continue;
    for (size_t i = 0; i < WK_COUNTOF(shapes); i++) {
      run_nest(simd, softmax(shapes[i][0], shapes[i][1], shapes[i][2]));
      run_nest(simd, layer_norm(shapes[i][0], shapes[i][1], shapes[i][2]));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_maps),
      cmocka_unit_test(test_powers),
      cmocka_unit_test(test_rescaling),
      cmocka_unit_test(test_reductions),
      cmocka_unit_test(test_long_sums),
      cmocka_unit_test(test_nests),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
