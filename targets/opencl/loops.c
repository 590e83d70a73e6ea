/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/loops.h"

#include <string.h>

#include "compiler/cgen/expr_c.h"

enum { BLOCK = 64 }; /* accumulators that are carried through a fold side by side */

/* ---- positions ------------------------------------------------------------------------------- */

/* Elements that the view reaches along its axes, each by itself; LARGE: more. */
enum { LARGE = 1 << 30, LARGE_STEP = 1 << 20 };

static bool is_small_view(const wk_view *v) {
  int64_t reach = 1, count = 1;
  for (int d = 0; d < v->rank; d++) {
    if (v->dims[d] >= LARGE || count >= LARGE) return false;
    count *= v->dims[d] ? v->dims[d] : 1;
    if (v->dims[d] > 1 && wk_cl_magnitude(v->strides[d]) >= LARGE) return false;
    if (v->dims[d] > 1) reach += (v->dims[d] - 1) * wk_cl_magnitude(v->strides[d]);
    if (reach >= LARGE) return false;
  }
  return count < LARGE;
}

/* Strides, dilations and pads; they are what positions are multiplied by and moved. */
static bool has_small_lists(const wk_inst *i) {
  const wk_op_info *op = wk_op_get(i->op);
  for (int k = 0; k < op->n_fields; k++) {
    if (op->fields[k].kind != WK_FIELD_INTS) continue;
    const wk_ints *list = (const void *)((const char *)i->attrs + op->fields[k].offset);
    for (int64_t n = 0; n < list->n; n++)
      if (wk_cl_magnitude(list->v[n]) >= LARGE_STEP) return false;
  }
  return true;
}

static bool is_small(const wk_inst *i, const wk_inst_c *l) {
  for (uint32_t o = 0; o < i->n_operands; o++)
    if (i->operands[o].buffer != WK_NONE && !is_small_view(&i->operands[o])) return false;
  return has_small_lists(i) && wk_cl_product(l->rank, l->dims, -1) < LARGE &&
         wk_cl_product(l->inner_rank, l->inner_dims, -1) < LARGE;
}

bool wk_cl_loops_open(wk_cl_loops *x, wk_arena *a, wk_cl_kernel *k, const wk_program *p,
                      const wk_inst *i, uint32_t left_out, bool is_wide) {
  *x = (wk_cl_loops){.b = &k->body, .a = a, .kernel = k, .inst = i, .is_wide = is_wide};
  if (!wk_inst_c_loops(i, a, &x->l) || k->n_args + i->n_operands > WK_CL_MAX_OPERANDS) return false;
  x->base = wk_arena_alloc(a, i->n_operands * sizeof *x->base);
  x->space = wk_arena_alloc(a, i->n_operands * sizeof *x->space);
  x->instead = wk_arena_alloc(a, i->n_operands * sizeof *x->instead);
  x->twin = wk_arena_alloc(a, i->n_operands * sizeof *x->twin);
  x->twin_base = wk_arena_alloc(a, i->n_operands * sizeof *x->twin_base);
  for (uint32_t o = 0; o < i->n_operands; o++) {
    const wk_view *v = &i->operands[o];
    if (v->buffer == WK_NONE || o == left_out) continue;
    if (p->buffers.data[v->buffer].region == WK_REGION_SCRATCH) continue;
    uint32_t at = wk_cl_add_operand(k, p, v);
    x->base[o] = wk_arena_printf(a, "g%u + o%u", at, at);
  }
  x->type = !is_wide && is_small(i, &x->l) ? "int" : "long";
  return true;
}

const char *wk_cl_element(const wk_cl_loops *x, const wk_inst_c_read *r) {
  wk_view v = x->inst->operands[r->operand];
  wk_inst_c_read read = *r;
  if (x->instead[r->operand]) return x->instead[r->operand];
  if (x->base[r->operand]) v.offset = 0; /* it is an argument */
  read.space = x->space[r->operand];
  return wk_inst_c_element(x->a, &v, x->base[r->operand], &read);
}

void wk_cl_positions(wk_str *b, char letter, int rank, const int64_t *dims, int skip,
                     const char *flat) {
  int64_t run = 1;
  for (int d = rank - 1; d >= 0; d--) {
    if (d == skip) continue;
    wk_str_printf(b, "const long %c%d = ", letter, d);
    if (dims[d] == 1) wk_str_add(b, "0;\n");
    else wk_str_printf(b, "(%s) / %lld %% %lld;\n", flat, (long long)run, (long long)dims[d]);
    run *= dims[d];
  }
}

const char *wk_cl_flat_type(const wk_cl_loops *x) { return *x->type == 'i' ? "uint" : "long"; }

static const char *suffix(const wk_cl_loops *x) { return *x->type == 'i' ? "u" : ""; }

void wk_cl_split(const wk_cl_loops *x, char letter, int first, int rank, const int64_t *dims,
                 int skip, const char *flat) {
  int64_t run = 1, all = 1;
  for (int d = first; d < rank; d++) all *= d == skip ? 1 : dims[d];
  for (int d = rank - 1; d >= first; d--) {
    if (d == skip) continue;
    wk_str_printf(x->b, "const %s %c%d = ", x->type, letter, d);
    if (dims[d] == 1) wk_str_add(x->b, "0;\n");
    else {
      wk_str_add(x->b, flat);
      if (run > 1) wk_str_printf(x->b, " / %lld%s", (long long)run, suffix(x));
      if (run * dims[d] < all) wk_str_printf(x->b, " %% %lld%s", (long long)dims[d], suffix(x));
      wk_str_add(x->b, ";\n");
    }
    run *= dims[d];
  }
}

void wk_cl_split_fast(const wk_cl_loops *x, char letter, int first, int rank, const int64_t *dims,
                      int fast, const char *flat) {
  if (fast < first || fast == rank - 1) {
    wk_cl_split(x, letter, first, rank, dims, -1, flat);
    return;
  }
  wk_str_printf(x->b, "const %s %c%d = %s %% %lld%s;\n", x->type, letter, fast, flat,
                (long long)dims[fast], suffix(x));
  wk_cl_split(x, letter, first, rank, dims, fast,
              wk_arena_printf(x->a, "%s / %lld%s", flat, (long long)dims[fast], suffix(x)));
}

int64_t wk_cl_product(int rank, const int64_t *dims, int skip) {
  int64_t n = 1;
  for (int d = 0; d < rank; d++) n *= d == skip ? 1 : dims[d];
  return n;
}

int64_t wk_cl_magnitude(int64_t x) { return x < 0 ? -x : x; }

int wk_cl_fastest(const wk_view *v) {
  int best = -1;
  for (int k = 0; k < v->rank; k++)
    if (v->dims[k] > 1 && v->strides[k] != 0 &&
        (best < 0 || wk_cl_magnitude(v->strides[k]) <= wk_cl_magnitude(v->strides[best])))
      best = k;
  return best < 0 ? 0 : best;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static void print(const wk_cl_loops *x, const char *name, const wk_expr *e,
                  const char *const *accumulators, const wk_inst_c_read *reads, size_t n,
                  const char *const *index) {
  size_t first = 0;
  while (accumulators && accumulators[first]) first++;
  const char **in = wk_arena_alloc(x->a, (first + n) * sizeof *in);
  for (size_t k = 0; k < first; k++) in[k] = accumulators[k];
  for (size_t k = 0; k < n; k++) in[first + k] = wk_cl_element(x, &reads[k]);
  wk_expr_c_print(x->b, e, &(wk_expr_c){.name = name, .inputs = in, .index = index});
}

void wk_cl_end(const wk_cl_loops *x, const char *const *accumulators) {
  print(x, "y", x->l.end, accumulators, x->l.end_reads, x->l.n_end, wk_inst_c_i);
  for (uint32_t k = 0; k < x->inst->n_out; k++) {
    wk_inst_c_read y = {.operand = k};
    memcpy(y.at, x->l.at, sizeof y.at);
    if (x->inst->operands[k].buffer != WK_NONE)
      wk_str_printf(x->b, "%s = y%u;\n", wk_cl_element(x, &y), k);
    y.space = "__local";
    if (x->twin[k])
      wk_str_printf(x->b, "%s = y%u;\n",
                    wk_inst_c_element(x->a, x->twin[k], x->twin_base[k], &y), k);
  }
}

/* ---- folds ----------------------------------------------------------------------------------- */

static const char *type_of(const wk_expr *e, uint32_t result) {
  return wk_expr_c_type(e->nodes[e->results[result]].dtype);
}

/* "a0[j]", "a1[j]", … for as many accumulators as there are, then NULL. */
static const char *const *accumulators(const wk_cl_loops *x, const char *form) {
  uint32_t n = x->l.begin->n_results;
  const char **text = wk_arena_alloc(x->a, (n + 1) * sizeof *text);
  for (uint32_t k = 0; k < n; k++) text[k] = wk_arena_printf(x->a, form, k);
  text[n] = NULL;
  return text;
}

static void declare(const wk_cl_loops *x, const char *size) {
  print(x, "b", x->l.begin, NULL, NULL, 0, NULL);
  for (uint32_t k = 0; k < x->l.begin->n_results; k++)
    wk_str_printf(x->b, "%s a%u%s;\n", type_of(x->l.begin, k), k, size);
}

void wk_cl_begin(const wk_cl_loops *x) {
  declare(x, "");
  for (uint32_t k = 0; k < x->l.begin->n_results; k++) wk_str_printf(x->b, "a%u = b%u;\n", k, k);
}

static void assign(const wk_cl_loops *x, const char *const *to, const char *from) {
  for (uint32_t k = 0; to[k]; k++) wk_str_printf(x->b, "%s = %s%u;\n", to[k], from, k);
}

void wk_cl_step(const wk_cl_loops *x, const char *const *acc) {
  print(x, "s", x->l.step, acc, x->l.step_reads, x->l.n_step, x->l.index);
  assign(x, acc, "s");
}

void wk_cl_step_with(const wk_cl_loops *x, const char *const *acc, const char *element,
                     const char *const *index) {
  uint32_t n = x->l.begin->n_results;
  const char **in = wk_arena_alloc(x->a, (n + 1) * sizeof *in);
  memcpy(in, acc, n * sizeof *in);
  in[n] = element;
  wk_expr_c_print(x->b, x->l.step, &(wk_expr_c){.name = "s", .inputs = in, .index = index});
  assign(x, acc, "s");
}

static void for_inner(const wk_cl_loops *x, int skip) {
  for (int d = 0; d < x->l.inner_rank; d++) {
    if (d == skip) continue;
    if (x->l.inner_dims[d] == 1) wk_str_printf(x->b, "const %s k%d = 0;\n", x->type, d);
    else
      wk_str_printf(x->b, "for (%s k%d = 0; k%d < %lld; k%d++) {\n", x->type, d, d,
                    (long long)x->l.inner_dims[d], d);
  }
}

static void end_inner(const wk_cl_loops *x, int skip) {
  for (int d = 0; d < x->l.inner_rank; d++)
    if (d != skip && x->l.inner_dims[d] != 1) wk_str_add(x->b, "}\n");
}

static bool mentions(const char *text, const char *name) { return text && strstr(text, name); }

/* A block of outputs along the axis goes through the fold together. */
static void run_blocks(const wk_cl_loops *x, int axis, const char *lo, const char *hi) {
  const char *i = wk_inst_c_i[axis], *const *acc = accumulators(x, "a%u[j]");
  bool by_output = mentions(x->l.counts, i);
  const char *counts = x->l.counts ? x->l.counts : "1";
  char size[16];
  snprintf(size, sizeof size, "[%d]", BLOCK);
  wk_str_printf(x->b, "for (long from = %s; from < %s; from += %d) {\n", lo, hi, BLOCK);
  wk_str_printf(x->b, "const int n = (int)min((long)%d, (long)(%s) - from);\n", BLOCK, hi);
  declare(x, size);
  wk_str_printf(x->b, "for (int j = 0; j < %d; j++) {\n", BLOCK);
  assign(x, acc, "b");
  wk_str_add(x->b, "}\n");
  for_inner(x, -1);
  if (!by_output) wk_str_printf(x->b, "if (%s)\n", counts);
  wk_str_printf(x->b, "WK_VECTOR for (int j = 0; j < n; j++) {\nconst long %s = from + j;\n", i);
  if (by_output) wk_str_printf(x->b, "if (%s) {\n", counts);
  wk_cl_step(x, acc);
  wk_str_add(x->b, by_output ? "}\n}\n" : "}\n");
  end_inner(x, -1);
  wk_str_printf(x->b, "WK_VECTOR for (int j = 0; j < n; j++) {\nconst long %s = from + j;\n", i);
  wk_cl_end(x, acc);
  wk_str_add(x->b, "}\n}\n");
}

/* One output. */
static void fold_one(const wk_cl_loops *x) {
  const char *const *acc = accumulators(x, "a%u");
  wk_cl_begin(x);
  for_inner(x, -1);
  wk_str_printf(x->b, "if (%s) {\n", x->l.counts ? x->l.counts : "1");
  wk_cl_step(x, acc);
  wk_str_add(x->b, "}\n");
  end_inner(x, -1);
  wk_cl_end(x, acc);
}

/* ---- folds of neighbours --------------------------------------------------------------------- */

/* op(a, b) of the fold that a reduce does. */
static const wk_expr *joining(const wk_cl_loops *x) {
  const wk_expr *s = x->l.step;
  const wk_expr_node *last = &s->nodes[s->results[0]];
  wk_expr_builder *b = wk_expr_begin(x->a);
  uint16_t p = wk_expr_input(b, 0, last->dtype), q = wk_expr_input(b, 1, last->dtype);
  uint16_t y = wk_expr_2(b, last->op, p, q);
  return wk_expr_finish(b, &y, 1);
}

bool wk_cl_is_joinable(const wk_cl_loops *x) {
  return x->inst->op == WK_OP_REDUCE && x->l.begin->n_results == 1 && !x->l.counts &&
         !x->l.n_begin && !x->l.n_positions;
}

void wk_cl_join(const wk_cl_loops *x, const char *const *pair) {
  print(x, "s", joining(x), pair, NULL, 0, NULL);
  wk_str_printf(x->b, "%s = s0;\n", pair[0]);
}

/* The axis of a reduce along which its first input lies closest and which it folds; -1: none. */
static int folded_axis(const wk_cl_loops *x) {
  if (!wk_cl_is_joinable(x)) return -1;
  int axis = wk_cl_fastest(&x->inst->operands[x->inst->n_out]);
  return axis < x->l.inner_rank && x->l.inner_dims[axis] >= 32 ? axis : -1;
}

/* Partial results side by side, joined in pairs at the end. */
static void run_lanes(const wk_cl_loops *x, int axis, const char *lo, const char *hi, int folded,
                      int lanes) {
  const char *i = wk_inst_c_i[axis], *const *part = accumulators(x, "a%u[j]");
  int64_t n = x->l.inner_dims[folded], whole = n / lanes * lanes;
  char size[16];
  snprintf(size, sizeof size, "[%d]", lanes);
  wk_str_printf(x->b, "for (long %s = %s; %s < %s; %s++) {\n", i, lo, i, hi, i);
  declare(x, size);
  wk_str_printf(x->b, "for (int j = 0; j < %d; j++) a0[j] = b0;\n", lanes);
  for_inner(x, folded);
  wk_str_printf(x->b, "for (long k = 0; k < %lld; k += %d)\n", (long long)whole, lanes);
  wk_str_printf(x->b, "WK_VECTOR for (int j = 0; j < %d; j++) {\nconst long k%d = k + j;\n", lanes,
                folded);
  wk_cl_step(x, part);
  wk_str_add(x->b, "}\n");
  if (whole < n) {
    wk_str_printf(x->b, "for (int j = 0; j < %lld; j++) {\nconst long k%d = %lld + j;\n",
                  (long long)(n - whole), folded, (long long)whole);
    wk_cl_step(x, part);
    wk_str_add(x->b, "}\n");
  }
  end_inner(x, folded);
  for (int half = lanes / 2; half; half /= 2) {
    wk_str_printf(x->b, "for (int j = 0; j < %d; j++) {\n", half);
    const char *const pair[] = {"a0[j]", wk_arena_printf(x->a, "a0[j + %d]", half), NULL};
    wk_cl_join(x, pair);
    wk_str_add(x->b, "}\n");
  }
  wk_cl_end(x, (const char *const[]){"a0[0]", NULL});
  wk_str_add(x->b, "}\n");
}

/* What has positions, a range or stores of its own, as it stands. */
static bool is_plain(const wk_cl_loops *x) {
  return x->l.n_positions || x->l.range || x->l.stores || x->l.n_begin;
}

static void add_plain(const wk_cl_loops *x) {
  wk_inst inst = *x->inst;
  inst.operands = wk_arena_alloc(x->a, inst.n_operands * sizeof *inst.operands);
  for (uint32_t k = 0; k < inst.n_operands; k++) {
    inst.operands[k] = x->inst->operands[k];
    inst.operands[k].offset = 0;
    if (inst.operands[k].buffer != WK_NONE) inst.operands[k].buffer = k;
  }
  wk_inst_c_body(x->b, x->a, &inst, &x->l, x->base);
}

void wk_cl_at(const wk_cl_loops *x) {
  if (is_plain(x)) add_plain(x);
  else if (x->l.begin) fold_one(x);
  else wk_cl_end(x, NULL);
}

void wk_cl_run(const wk_cl_loops *x, int axis, const char *lo, const char *hi) {
  const char *i = wk_inst_c_i[axis];
  bool is_wide = x->is_wide && x->l.begin && !is_plain(x);
  int folded = is_wide ? folded_axis(x) : -1;
  if (folded >= 0) run_lanes(x, axis, lo, hi, folded, 16);
  else if (is_wide && x->l.dims[axis] > 1) run_blocks(x, axis, lo, hi);
  else {
    wk_str_printf(x->b, "%sfor (%s %s = %s; %s < %s; %s++) {\n",
                  x->l.begin || is_plain(x) ? "" : "WK_VECTOR ", x->type, i, lo, i, hi, i);
    wk_cl_at(x);
    wk_str_add(x->b, "}\n");
  }
}
