/* SPDX-License-Identifier: Apache-2.0
 * Derivatives of expressions, in reverse, by the last column of expr.def. */
#include <string.h>

#include "compiler/expr/expr.h"

/* Pieces inside of pieces are taken apart one by one, which is exponential in their depth. Deeper
 * ones hand zeros down instead. */
enum { MAX_DEPTH = 6, SPARE_NODES = 64, NOTHING = UINT16_MAX };

typedef struct {
  const char *text[3]; /* D: per argument, "" or NULL: none */
  const char *pieces;  /* P */
} derivative;

static const derivative derivatives[WK_EX_COUNT] = {
#define D0 {{NULL}, NULL}
#define D(...) {{__VA_ARGS__}, NULL}
#define P(t) {{NULL}, t}
#define EXPR(e, name, arity, result, doc, derivative) [WK_EX_##e] = derivative,
#include "compiler/expr/expr.def"
#undef EXPR
#undef D0
#undef D
#undef P
};

typedef struct {
  wk_arena *arena;
  wk_expr_builder *b;
  const wk_expr *e;
  uint16_t *copy; /* nodes of e in b */
  int n_inputs;
  wk_status status;
} sweep_state;

static wk_dtype wide(wk_dtype t) { return wk_compute_dtype(t); }

static uint16_t widened(sweep_state *s, uint16_t x) {
  wk_dtype t = wk_expr_dtype(s->b, x);
  return wk_dtype_is_float(t) ? wk_expr_cast(s->b, wide(t), x) : x;
}

static uint16_t sum(sweep_state *s, uint16_t x, uint16_t y) {
  return x == NOTHING ? y : y == NOTHING ? x : wk_expr_2(s->b, WK_EX_ADD, x, y);
}

/* A template over the arguments of node k, y, and two more. */
static uint16_t instance(sweep_state *s, const char *text, uint32_t k, const char *names,
                         uint16_t first, uint16_t second) {
  const wk_expr_node *x = &s->e->nodes[k];
  wk_dtype dtypes[6] = {WK_DTYPE_NONE};
  uint16_t in[6] = {0};
  int arity = wk_expr_op_arity(x->op);
  for (int i = 0; i < arity; i++) in[i] = widened(s, s->copy[x->arg[i]]);
  in[3] = widened(s, s->copy[k]);
  in[4] = first;
  in[5] = second;
  for (int i = 0; i < 6; i++)
    if (i < arity || (i >= 3 && in[i] != NOTHING)) dtypes[i] = wk_expr_dtype(s->b, in[i]);
  wk_expr *e = NULL;
  if (!s->status)
    s->status = wk_expr_template(s->arena, text, names, dtypes, 6, dtypes[4], NULL, NULL, &e);
  if (!s->status && wk_expr_count(s->b) + e->n + SPARE_NODES > WK_EXPR_MAX_NODES)
    s->status = wk_error(WK_RESOURCE, "the derivative is too long for an expression");
  return s->status ? first : wk_expr_inline(s->b, e, in, 0);
}

static void sweep(sweep_state *s, uint32_t root, uint16_t g, int depth, uint16_t *total);

/* Both pieces with all of the adjoint, then the choice between what comes of it. */
static void sweep_pieces(sweep_state *s, uint32_t k, uint16_t g, int depth, uint16_t *total) {
  const wk_expr_node *x = &s->e->nodes[k];
  int arity = wk_expr_op_arity(x->op);
  size_t bytes = ((size_t)s->n_inputs + 1) * sizeof(uint16_t);
  uint16_t *got[2];
  for (int i = 0; i < 2; i++) {
    got[i] = wk_arena_alloc(s->arena, bytes);
    memset(got[i], 0xFF, bytes);
    sweep(s, x->arg[arity - 2 + i], g, depth + 1, got[i]);
  }
  for (int i = 0; i < s->n_inputs && !s->status; i++) {
    uint16_t p = got[0][i], q = got[1][i];
    if (p == NOTHING && q == NOTHING) continue;
    wk_dtype t = wk_expr_dtype(s->b, p == NOTHING ? q : p);
    uint16_t zero = wk_expr_f(s->b, t, 0);
    uint16_t either = instance(s, derivatives[x->op].pieces, k, "a b c y p q",
                               p == NOTHING ? zero : p, q == NOTHING ? zero : q);
    total[i] = sum(s, total[i], either);
  }
}

/* The same with what each piece gets handed down to it. */
static void hand_down(sweep_state *s, uint32_t k, uint16_t g, uint16_t *adjoint) {
  const wk_expr_node *x = &s->e->nodes[k];
  int arity = wk_expr_op_arity(x->op);
  uint16_t zero = wk_expr_f(s->b, wk_expr_dtype(s->b, g), 0);
  for (int i = 0; i < 2; i++) {
    uint16_t part = instance(s, derivatives[x->op].pieces, k, "a b c y p q", i ? zero : g,
                             i ? g : zero);
    uint16_t *at = &adjoint[x->arg[arity - 2 + i]];
    *at = sum(s, *at, part);
  }
}

static void hand_on(sweep_state *s, uint32_t k, uint16_t g, uint16_t *adjoint) {
  const wk_expr_node *x = &s->e->nodes[k];
  for (int i = 0; i < wk_expr_op_arity(x->op); i++) {
    const char *text = derivatives[x->op].text[i];
    wk_dtype t = s->e->nodes[x->arg[i]].dtype;
    if (!text || !*text || !wk_dtype_is_float(t)) continue;
    uint16_t part = wk_expr_cast(s->b, wide(t), instance(s, text, k, "a b c y g h", g, NOTHING));
    adjoint[x->arg[i]] = sum(s, adjoint[x->arg[i]], part);
  }
}

static bool is_one(const wk_expr_node *x) { return x->op == WK_EX_CONST && x->imm.f == 1; }

/* 1 / (1 + exp(-z)), the logistic function in so many words: its derivative by its value does
 * without what overflows on the way. */
static bool hand_to_logistic(sweep_state *s, uint32_t k, uint16_t g, uint16_t *adjoint) {
  const wk_expr_node *v = s->e->nodes, *x = &v[k];
  if (x->op != WK_EX_DIV || !is_one(&v[x->arg[0]])) return false;
  const wk_expr_node *below = &v[x->arg[1]];
  if (below->op != WK_EX_ADD || !is_one(&v[below->arg[0]])) return false;
  const wk_expr_node *e = &v[below->arg[1]];
  if (e->op != WK_EX_EXP || v[e->arg[0]].op != WK_EX_NEG) return false;
  uint16_t *at = &adjoint[v[e->arg[0]].arg[0]];
  *at = sum(s, *at, instance(s, "mul(g, mul(y, sub(1, y)))", k, "a b c y g h", g, NOTHING));
  return true;
}

/* Adds to total[i] what input i gets when node `root` has adjoint g. */
static void sweep(sweep_state *s, uint32_t root, uint16_t g, int depth, uint16_t *total) {
  size_t bytes = ((size_t)root + 1) * sizeof(uint16_t);
  uint16_t *adjoint = wk_arena_alloc(s->arena, bytes);
  memset(adjoint, 0xFF, bytes);
  adjoint[root] = g;
  for (uint32_t k = root + 1; k-- > 0 && !s->status;) {
    const wk_expr_node *x = &s->e->nodes[k];
    if (adjoint[k] == NOTHING || !wk_dtype_is_float(x->dtype)) continue;
    if (hand_to_logistic(s, k, adjoint[k], adjoint)) continue;
    if (x->op == WK_EX_INPUT) total[x->imm.i] = sum(s, total[x->imm.i], adjoint[k]);
    else if (!derivatives[x->op].pieces) hand_on(s, k, adjoint[k], adjoint);
    else if (depth < MAX_DEPTH) sweep_pieces(s, k, adjoint[k], depth, total);
    else hand_down(s, k, adjoint[k], adjoint);
  }
}

static void copy_nodes(sweep_state *s) {
  const wk_expr *e = s->e;
  uint16_t *inputs = wk_arena_alloc(s->arena, (size_t)s->n_inputs * sizeof *inputs);
  s->copy = wk_arena_alloc(s->arena, e->n * sizeof *s->copy);
  for (uint32_t k = 0; k < e->n; k++)
    if (e->nodes[k].op == WK_EX_INPUT)
      inputs[e->nodes[k].imm.i] = wk_expr_input(s->b, e->nodes[k].imm.i, e->nodes[k].dtype);
  for (uint32_t k = 0; k < e->n; k++) {
    uint16_t result = (uint16_t)k;
    wk_expr one = {.n = k + 1, .n_results = 1, .nodes = e->nodes, .results = &result};
    s->copy[k] = wk_expr_inline(s->b, &one, inputs, 0);
  }
}

static wk_dtype input_dtype(const wk_expr *e, int input) {
  for (uint32_t k = 0; k < e->n; k++)
    if (e->nodes[k].op == WK_EX_INPUT && e->nodes[k].imm.i == input) return e->nodes[k].dtype;
  return WK_DTYPE_NONE;
}

static bool is_zero(const wk_expr *e) {
  const wk_expr_node *x = &e->nodes[e->results[0]];
  return x->op == WK_EX_CONST && x->imm.f == 0;
}

wk_status wk_expr_adjoints(wk_arena *a, const wk_expr *e, int n_inputs, const bool *wanted,
                           wk_expr **out) {
  sweep_state s = {.arena = a, .b = wk_expr_begin(a), .e = e, .n_inputs = n_inputs};
  size_t bytes = ((size_t)n_inputs + 1) * sizeof(uint16_t);
  uint16_t *total = wk_arena_alloc(a, bytes);
  memset(total, 0xFF, bytes);
  if (2 * (size_t)e->n + SPARE_NODES > WK_EXPR_MAX_NODES)
    return wk_error(WK_RESOURCE, "the derivative is too long for an expression");
  copy_nodes(&s);
  for (uint32_t r = 0; r < e->n_results; r++) {
    wk_dtype t = e->nodes[e->results[r]].dtype;
    if (!wk_dtype_is_float(t)) continue;
    uint16_t g = widened(&s, wk_expr_input(s.b, n_inputs + (int64_t)r, t));
    sweep(&s, e->results[r], g, 0, total);
  }
  for (int i = 0; i < n_inputs && !s.status; i++) {
    wk_dtype t = input_dtype(e, i);
    out[i] = NULL;
    if (total[i] == NOTHING || !wanted[i] || !wk_dtype_is_float(t)) continue;
    uint16_t result = wk_expr_cast(s.b, t, total[i]);
    out[i] = wk_expr_finish(s.b, &result, 1);
    if (is_zero(out[i])) out[i] = NULL;
  }
  return s.status;
}
