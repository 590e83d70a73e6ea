/* SPDX-License-Identifier: Apache-2.0
 * A rare instruction of the CPU as code of a test (test_rare.c): what the compiler would call, with
 * what description, in pieces, against the evaluator. */
#ifndef WICK_TESTS_RARE_CASE_H
#define WICK_TESTS_RARE_CASE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "targets/cpu/rare/rare_call.h"
#include "tests/unit/inst_c_cases.h"

typedef void task_fn(void *const *args, void *scratch, int64_t begin, int64_t end,
                     const wk_rare *d);

/* ---- the functions --------------------------------------------------------------------------- */

#define FUNCTIONS(X)                                                                              \
  X(max_pool) X(max_pool_rows) X(max_pool_lines) X(max_pool_u8_rows) X(max_pool_i8_rows)          \
  X(max_pool_rows_places) X(avg_pool) X(avg_pool_rows) X(avg_pool_lines) X(lp_pool) X(unpool)     \
  X(unpool_rows) X(gather) X(table) X(pick) X(gather_nd) X(scatter_elements) X(scatter_nd)        \
  X(cum_sum) X(top_k) X(random_uniform) X(random_normal) X(roi_align) X(det)                      \
  X(non_max_suppression) X(conv_f32_f32) X(conv_f64_f64) X(conv_u8_i8) X(conv_i32_i32)            \
  X(conv_transpose_f32_f32) X(conv_transpose_f64_f64) X(conv_transpose_u8_i8)                     \
  X(matmul_f32_f32) X(matmul_f64_f64) X(matmul_u8_i8) X(matmul_i64_i64) X(correlate)

#define X(name) extern task_fn wk_rare_##name;
FUNCTIONS(X)
#undef X

static const struct {
  const char *name;
  task_fn *run;
} functions[] = {
#define X(name) {"wk_rare_" #name, wk_rare_##name},
    FUNCTIONS(X)
#undef X
};

static const struct {
  wk_op op;
  void (*describe)(wk_rare_call *r);
} rows[] = {
#define X(op, file, types, describe) {WK_OP_##op, wk_describe_##describe},
    WK_RARE_ROWS(X)
#undef X
};

static int used[WK_COUNTOF(functions)];

/* ---- one instruction ------------------------------------------------------------------------- */

/* False: the compiler gives it other code, or prepares it first. */
static bool is_rare(const wk_inst *i) {
  const wk_view *x = &i->operands[i->n_operands > i->n_out ? i->n_out : 0];
  bool is_window = i->op == WK_OP_CONV || i->op == WK_OP_CONV_TRANSPOSE;
  if (is_window || i->op == WK_OP_MATMUL) /* bias, epilogue and halves are others' work */
    if (i->n_operands > 3 || x->dtype == WK_F16 || x->dtype == WK_BF16) return false;
  for (size_t k = 0; k < WK_COUNTOF(rows); k++)
    if (rows[k].op == i->op) return !wk_codegen_rare_refusal(i->op, x->dtype, x->rank);
  return false;
}

static char *address(char *const *data, const wk_view *v) {
  return v->buffer == WK_NONE ? NULL : data[v->buffer] + v->offset;
}

/* Scatters write into a copy of their data. */
static void copy_first(const wk_inst *i, char *const *data) {
  const wk_view *to = &i->operands[0], *from = &i->operands[1];
  size_t size = (size_t)wk_dtype_size(to->dtype);
  if (i->op != WK_OP_SCATTER_ELEMENTS && i->op != WK_OP_SCATTER_ND) return;
  for (int64_t k = 0; k < wk_view_count(to); k++) {
    int64_t rest = k, a = 0, b = 0;
    for (int d = to->rank - 1; d >= 0; rest /= to->dims[d--]) {
      a += rest % to->dims[d] * to->strides[d];
      b += rest % to->dims[d] * from->strides[d];
    }
    memcpy(address(data, to) + (size_t)a * size, address(data, from) + (size_t)b * size, size);
  }
}

/* As arguments() of codegen_rare.c: a pool has its indices in view 1, or none there. */
static void set_arguments(const wk_rare_call *r, char *const *data, int64_t *error, void **args) {
  bool is_pool = wk_op_get(r->i->op)->cls == WK_CLASS_POOL && r->i->op != WK_OP_UNPOOL;
  for (uint32_t k = 0; k < r->n_views; k++) {
    bool is_absent = is_pool && k == 1 && r->i->n_out < 2;
    uint32_t from = is_pool && k == 2 ? r->i->n_out : k;
    args[k] = is_absent ? NULL : address(data, &r->i->operands[from]);
  }
  args[r->n_views] = error;
}

static task_fn *find(const char *name) {
  for (size_t k = 0; k < WK_COUNTOF(functions); k++)
    if (!strcmp(functions[k].name, name)) {
      used[k]++;
      return functions[k].run;
    }
  fail_msg("%s is not listed", name);
  return NULL;
}

/* All tasks: one of them, then some of those before and behind it. Scratch is as large as said. */
static void run_tasks(wk_rng *r, task_fn *run, const wk_rare_call *call, void **args) {
  size_t bytes = WK_RARE_ATTRS * 8 + call->n_views * sizeof(wk_rare_view);
  wk_rare *d = malloc(bytes);
  int64_t middle = wk_rng_range(r, 0, call->n_tasks);
  const int64_t cuts[][2] = {{middle, middle + 1}, {0, middle}, {middle + 1, call->n_tasks}};
  memcpy(d->attr, call->attr, sizeof call->attr);
  memcpy(d->view, call->view, call->n_views * sizeof(wk_rare_view));
  for (size_t k = 0; k < 3; k++) {
    void *scratch = malloc((size_t)call->scratch_bytes + 1);
    memset(scratch, 0x55, (size_t)call->scratch_bytes + 1);
    if (cuts[k][0] < cuts[k][1] && cuts[k][1] <= call->n_tasks)
      run(args, scratch, cuts[k][0], cuts[k][1], d);
    free(scratch);
  }
  free(d);
}

/* The instruction's error. */
static int64_t call(wk_rng *r, const wk_program *p, const wk_inst *i, char *const *data) {
  wk_codegen c = {.arena = wk_arena_new(), .p = p};
  wk_rare_call x = {.c = &c, .i = i};
  int64_t error = 0;
  void *args[WK_RARE_MAX_VIEWS + 1];
  for (size_t k = 0; k < WK_COUNTOF(rows); k++)
    if (rows[k].op == i->op) rows[k].describe(&x);
  copy_first(i, data);
  set_arguments(&x, data, &error, args);
  if (x.n_tasks > 0) run_tasks(r, find(x.function), &x, args);
  wk_arena_free(c.arena);
  return error;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Floats are multiples of a half, so that their sums are exact in any order. */
static void draw(wk_rng *r, const inst_c_case *c, wk_dtype d, void *to, int64_t n) {
  bool is_ranged = c->least || c->most, is_real = wk_dtype_is_float(d);
  for (int64_t k = 0; k < n; k++) {
    if (is_real && wk_rng_unit(r) < c->nans) wk_store_f64(to, d, k, NAN);
    else if (is_real) wk_store_f64(to, d, k, (double)wk_rng_range(r, -6, 6) / 2);
    else
      wk_store_i64(to, d, k, wk_rng_range(r, is_ranged ? c->least : -100,
                                          is_ranged ? c->most : 100));
  }
}

static void run_case(wk_rng *r, const inst_c_case *c) {
  wk_arena *a = wk_arena_new();
  wk_program *p = NULL;
  const char *text = wk_arena_printf(a, "program \"p\" {\n%s\n}\n", c->text);
  wk_status s = wk_program_parse(text, "case", &p);
  if (s) fail_msg("%s\n%s", s->message, c->text);
  const wk_inst *i = p->body.insts.data[0];
  bool is_one = p->body.insts.n == 1 && is_rare(i);
  char **data = wk_arena_alloc(a, p->buffers.n * sizeof *data);
  const void **in = wk_arena_alloc(a, (p->inputs.n + 1) * sizeof *in);
  void **want = wk_arena_alloc(a, (p->outputs.n + 1) * sizeof *want);
  for (size_t k = 0; k < p->buffers.n && is_one; k++) {
    const wk_buffer *b = &p->buffers.data[k];
    size_t bytes = (size_t)b->size;
    data[k] = memset(malloc(bytes + !bytes), 0x55, bytes);
    if (b->region == WK_REGION_CONST) memcpy(data[k], b->data, bytes);
    if (b->region == WK_REGION_INPUT) {
      const wk_type *t = &p->inputs.data[b->io].type;
      draw(r, c, t->dtype, data[k], wk_type_count(t));
      in[b->io] = data[k];
    } else if (b->region == WK_REGION_OUTPUT) {
      want[b->io] = memset(wk_arena_alloc(a, bytes + 1), 0x55, bytes);
    }
  }
  if (is_one) {
    int64_t error = call(r, p, i, data);
    s = wk_eval_program(p, in, want, NULL, NULL);
    if ((error != 0) != (s != NULL)) fail_msg("error %d\n%s", (int)error, c->text);
    const wk_tolerance near = {c->is_rounded ? 1e-3 : 0, c->is_rounded ? 1e-5 : 0, 0};
    for (size_t k = 0; k < p->outputs.n && !s; k++) {
      const wk_type t = p->outputs.data[k].type;
      const wk_tensor g = {t, data[p->outputs.data[k].buffer]}, w = {t, want[k]};
      wk_diff d = wk_tensor_diff(&g, &w, &near);
      if (!d.equal)
        fail_msg("output %zu: element %lld is %g, not %g\n%s", k, (long long)d.worst, d.got, d.want,
                 c->text);
    }
    wk_status_free(s);
    for (size_t k = 0; k < p->buffers.n; k++) free(data[k]);
  }
  wk_program_free(p);
  wk_arena_free(a);
}

#endif
