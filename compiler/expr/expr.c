/* SPDX-License-Identifier: Apache-2.0 */
/* Expression builder. Every node goes through fold (constants, identities) and a hash table (common
 * subexpressions) before it is appended, so an expression is in normal form at any time. Only
 * identities that hold for every value, NaN and -0.0 included, are used. */
#include "compiler/expr/expr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/expr/scalar.h"

typedef enum { ARG, SAME, BOOL, ARMS, I32 } result_rule;

static const struct {
  const char *name;
  int arity;
  result_rule result;
} ops[WK_EX_COUNT] = {
#define EXPR(e, name, arity, result, doc, derivative) {name, arity, result},
#include "compiler/expr/expr.def"
#undef EXPR
};

const char *wk_expr_op_name(wk_expr_op op) { return ops[op].name; }
int wk_expr_op_arity(wk_expr_op op) { return ops[op].arity; }

struct wk_expr_builder {
  wk_arena *arena;
  wk_expr_node *nodes;
  uint8_t *fits; /* per node: whose values it can only have, a set of wk_half_set */
  uint32_t n, cap;
  uint16_t *slots; /* node + 1, 0 = free; open addressing, at most half full */
  uint32_t n_slots;
};

wk_expr_builder *wk_expr_begin(wk_arena *a) {
  wk_expr_builder *b = wk_arena_alloc(a, sizeof *b);
  b->arena = a;
  b->cap = 16;
  b->n_slots = 64;
  b->nodes = wk_arena_alloc(a, b->cap * sizeof *b->nodes);
  b->fits = wk_arena_alloc(a, b->cap);
  b->slots = wk_arena_alloc(a, b->n_slots * sizeof *b->slots);
  return b;
}

wk_dtype wk_expr_dtype(const wk_expr_builder *b, uint16_t node) { return b->nodes[node].dtype; }
uint32_t wk_expr_count(const wk_expr_builder *b) { return b->n; }

/* ---- common subexpressions ------------------------------------------------------------------- */

static bool node_equal(const wk_expr_node *x, const wk_expr_node *y) {
  return x->op == y->op && x->dtype == y->dtype && x->arg[0] == y->arg[0] &&
         x->arg[1] == y->arg[1] && x->arg[2] == y->arg[2] &&
         memcmp(&x->imm, &y->imm, sizeof x->imm) == 0; /* tells -0.0 from 0.0 */
}

static uint64_t node_hash(const wk_expr_node *x, uint64_t seed) {
  uint64_t key[3] = {(uint64_t)x->op << 8 | (uint64_t)x->dtype,
                     (uint64_t)x->arg[0] << 32 | (uint64_t)x->arg[1] << 16 | x->arg[2], 0};
  memcpy(&key[2], &x->imm, sizeof key[2]);
  return wk_hash64(key, sizeof key, seed);
}

static uint16_t *find(wk_expr_builder *b, const wk_expr_node *x) {
  uint32_t mask = b->n_slots - 1, i = (uint32_t)node_hash(x, 0) & mask;
  while (b->slots[i] && !node_equal(&b->nodes[b->slots[i] - 1], x)) i = (i + 1) & mask;
  return &b->slots[i];
}

static void grow(wk_expr_builder *b) {
  wk_expr_node *nodes = wk_arena_alloc(b->arena, 2 * b->cap * sizeof *nodes);
  uint8_t *fits = wk_arena_alloc(b->arena, 2 * b->cap);
  memcpy(nodes, b->nodes, b->n * sizeof *nodes);
  memcpy(fits, b->fits, b->n);
  b->nodes = nodes;
  b->fits = fits;
  b->cap *= 2;
  b->n_slots = 4 * b->cap;
  b->slots = wk_arena_alloc(b->arena, b->n_slots * sizeof *b->slots);
  for (uint32_t i = 0; i < b->n; i++) *find(b, &nodes[i]) = (uint16_t)(i + 1);
}

static bool is_commutative(wk_expr_op op) {
  return op == WK_EX_ADD || op == WK_EX_MUL || op == WK_EX_AND || op == WK_EX_OR ||
         op == WK_EX_XOR || op == WK_EX_EQ || op == WK_EX_NE;
}

/* ---- values of 16-bit floats ----------------------------------------------------------------- */

static uint8_t half_of(wk_dtype t) {
  return t == WK_F16 ? WK_FITS_F16 : t == WK_BF16 ? WK_FITS_BF16 : 0;
}

/* The value of a 16-bit float stays one through operations that need no rounding. */
static uint8_t fits_of(const uint8_t *fits, const wk_expr_node *x) {
  uint8_t both = fits[x->arg[0]] & fits[x->arg[1]];
  if (!wk_dtype_is_float(x->dtype) || wk_dtype_is_narrow(x->dtype)) return 0;
  if (half_of(x->dtype)) return half_of(x->dtype);
  switch (x->op) {
    case WK_EX_CONST:
      return (uint8_t)((wk_round_f16(x->imm.f) == x->imm.f ? WK_FITS_F16 : 0) |
                       (wk_round_bf16(x->imm.f) == x->imm.f ? WK_FITS_BF16 : 0));
    case WK_EX_CAST:
    case WK_EX_NEG:
    case WK_EX_ABS:
    case WK_EX_FLOOR:
    case WK_EX_CEIL:
    case WK_EX_ROUND:
    case WK_EX_TRUNC: return fits[x->arg[0]];
    case WK_EX_MIN:
    case WK_EX_MAX: return both;
    case WK_EX_SELECT: return fits[x->arg[1]] & fits[x->arg[2]];
    default: return 0;
  }
}

void wk_expr_fits(const wk_expr *e, uint8_t *fits) {
  for (uint32_t k = 0; k < e->n; k++) fits[k] = fits_of(fits, &e->nodes[k]);
}

static uint16_t intern(wk_expr_builder *b, const wk_expr_node *x) {
  uint16_t *slot = find(b, x);
  if (*slot) return (uint16_t)(*slot - 1);
  if (is_commutative(x->op)) {
    wk_expr_node swapped = *x;
    swapped.arg[0] = x->arg[1];
    swapped.arg[1] = x->arg[0];
    uint16_t *other = find(b, &swapped);
    if (*other) return (uint16_t)(*other - 1);
  }
  wk_assert(b->n < WK_EXPR_MAX_NODES);
  if (b->n == b->cap) {
    grow(b);
    slot = find(b, x);
  }
  b->fits[b->n] = fits_of(b->fits, x);
  b->nodes[b->n++] = *x;
  *slot = (uint16_t)b->n;
  return (uint16_t)(b->n - 1);
}

/* ---- folding --------------------------------------------------------------------------------- */

static uint16_t constant(wk_expr_builder *b, wk_dtype t, wk_scalar v) {
  wk_expr_node x = {.op = WK_EX_CONST, .dtype = t};
  if (wk_dtype_is_float(t)) x.imm.f = isnan(v.f) ? (double)NAN : v.f; /* one NaN, one text */
  else x.imm.i = v.i;
  return intern(b, &x);
}

static wk_scalar value_of(const wk_expr_node *x) {
  return wk_dtype_is_float(x->dtype) ? (wk_scalar){.f = x->imm.f} : (wk_scalar){.i = x->imm.i};
}

static bool is_constant(const wk_expr_node *x, double f, int64_t i) {
  if (x->op != WK_EX_CONST) return false;
  if (!wk_dtype_is_float(x->dtype)) return x->imm.i == i;
  return x->imm.f == f && !signbit(x->imm.f) == !signbit(f);
}

/* The constant q for which op(p, q) = p whatever p is. */
static bool is_neutral_right(wk_expr_op op, const wk_expr_node *q) {
  int64_t lo = 0, hi = 0;
  if (wk_dtype_is_int(q->dtype)) wk_int_range(q->dtype, &lo, &hi);
  if (q->dtype == WK_U64) hi = -1;
  bool is_bool = q->dtype == WK_BOOL;
  switch (op) {
    case WK_EX_ADD: return is_constant(q, -0.0, 0);
    case WK_EX_SUB: return is_constant(q, 0.0, 0);
    case WK_EX_MUL:
    case WK_EX_DIV: return is_constant(q, 1.0, 1);
    case WK_EX_MAX: return !is_bool && is_constant(q, -INFINITY, lo);
    case WK_EX_MIN: return !is_bool && is_constant(q, INFINITY, hi);
    case WK_EX_AND: return is_constant(q, NAN, is_bool ? 1 : wk_wrap_int(-1, q->dtype));
    case WK_EX_OR:
    case WK_EX_XOR: return is_constant(q, NAN, 0);
    default: return false;
  }
}

static bool is_neutral_left(wk_expr_op op, const wk_expr_node *p) {
  bool either = is_commutative(op) || op == WK_EX_MIN || op == WK_EX_MAX;
  return either && is_neutral_right(op, p);
}

static bool is_idempotent(wk_expr_op op) {
  return op == WK_EX_MIN || op == WK_EX_MAX || op == WK_EX_AND || op == WK_EX_OR;
}

/* A cast to what the argument was before a cast that loses nothing: there and back. */
static bool undoes_cast(const wk_expr_builder *b, const wk_expr_node *x) {
  const wk_expr_node *p = &b->nodes[x->arg[0]];
  if (x->op != WK_EX_CAST || p->op != WK_EX_CAST || b->nodes[p->arg[0]].dtype != x->dtype)
    return false;
  if (!wk_dtype_is_float(x->dtype) || !wk_dtype_is_float(p->dtype)) return false;
  if (wk_dtype_is_narrow(x->dtype) || wk_dtype_is_narrow(p->dtype)) return false;
  if (half_of(p->dtype)) return b->fits[p->arg[0]] & half_of(p->dtype);
  return p->dtype == WK_F64 || half_of(x->dtype);
}

/* The existing node that x is equal to by an identity. */
static bool simplify(const wk_expr_builder *b, const wk_expr_node *x, uint16_t *out) {
  const wk_expr_node *p = &b->nodes[x->arg[0]], *q = &b->nodes[x->arg[1]];
  int arity = ops[x->op].arity;
  *out = x->arg[0];
  bool converts = x->op == WK_EX_CAST || x->op == WK_EX_SAT || x->op == WK_EX_BITS;
  if (converts && p->dtype == x->dtype) return true;
  if (x->op == WK_EX_BITS && p->op == WK_EX_BITS && b->nodes[p->arg[0]].dtype == x->dtype) {
    *out = p->arg[0];
    return true;
  }
  if (((x->op == WK_EX_NOT || x->op == WK_EX_NEG) && p->op == x->op) || undoes_cast(b, x)) {
    *out = p->arg[0];
    return true;
  }
  if (x->op == WK_EX_SELECT) {
    bool known = p->op == WK_EX_CONST;
    *out = known && !p->imm.i ? x->arg[2] : x->arg[1];
    return known || x->arg[1] == x->arg[2];
  }
  if (arity != 2) return false;
  if (is_neutral_right(x->op, q) || (is_idempotent(x->op) && x->arg[0] == x->arg[1])) return true;
  *out = x->arg[1];
  return is_neutral_left(x->op, p);
}

static uint16_t add(wk_expr_builder *b, const wk_expr_node *x) {
  uint16_t same;
  if (simplify(b, x, &same)) return same;
  const wk_expr_node *arg[3];
  bool known = true;
  for (int i = 0; i < 3; i++) {
    arg[i] = &b->nodes[x->arg[i]];
    if (i < ops[x->op].arity) known = known && arg[i]->op == WK_EX_CONST;
  }
  if (!known) return intern(b, x);
  wk_scalar v = wk_expr_apply(x->op, arg[0]->dtype, x->dtype, value_of(arg[0]), value_of(arg[1]),
                              value_of(arg[2]));
  bool has_bits_of_nan = x->op == WK_EX_BITS && wk_dtype_is_float(x->dtype) && isnan(v.f);
  return has_bits_of_nan ? intern(b, x) : constant(b, x->dtype, v);
}

/* ---- adding ---------------------------------------------------------------------------------- */

uint16_t wk_expr_input(wk_expr_builder *b, int64_t k, wk_dtype t) {
  wk_assert(k >= 0 && t != WK_DTYPE_NONE);
  wk_expr_node x = {.op = WK_EX_INPUT, .dtype = t};
  x.imm.i = k;
  return intern(b, &x);
}

uint16_t wk_expr_index(wk_expr_builder *b, int64_t axis) {
  wk_assert(axis >= 0 && axis < WK_MAX_RANK);
  wk_expr_node x = {.op = WK_EX_INDEX, .dtype = WK_I64};
  x.imm.i = axis;
  return intern(b, &x);
}

uint16_t wk_expr_f(wk_expr_builder *b, wk_dtype t, double v) {
  return constant(b, t, wk_scalar_cast((wk_scalar){.f = v}, WK_F64, t));
}

uint16_t wk_expr_i(wk_expr_builder *b, wk_dtype t, int64_t v) {
  return constant(b, t, wk_scalar_cast((wk_scalar){.i = v}, WK_I64, t));
}

uint16_t wk_expr_cast(wk_expr_builder *b, wk_dtype t, uint16_t x) {
  wk_expr_node node = {.op = WK_EX_CAST, .dtype = t, .arg = {x, 0, 0}};
  return add(b, &node);
}

uint16_t wk_expr_sat(wk_expr_builder *b, wk_dtype t, uint16_t x) {
  wk_assert(wk_dtype_is_int(t) && wk_dtype_is_int(b->nodes[x].dtype) && !wk_dtype_is_narrow(t));
  wk_expr_node node = {.op = WK_EX_SAT, .dtype = t, .arg = {x, 0, 0}};
  return add(b, &node);
}

uint16_t wk_expr_bits(wk_expr_builder *b, wk_dtype t, uint16_t x) {
  wk_assert(wk_dtype_bits(t) == wk_dtype_bits(b->nodes[x].dtype));
  wk_expr_node node = {.op = WK_EX_BITS, .dtype = t, .arg = {x, 0, 0}};
  return add(b, &node);
}

static uint16_t add_op(wk_expr_builder *b, wk_expr_op op, uint16_t x, uint16_t y, uint16_t z) {
  wk_expr_node node = {.op = op, .arg = {x, y, z}};
  wk_dtype args[3] = {b->nodes[x].dtype, b->nodes[y].dtype, b->nodes[z].dtype};
  char why[64];
  const char *refusal = wk_expr_refusal(op, args, why);
  wk_assert(!refusal && ops[op].result != ARG);
  (void)refusal;
  switch (ops[op].result) {
    case SAME: node.dtype = args[0]; break;
    case ARMS: node.dtype = args[1]; break;
    case I32: node.dtype = WK_I32; break;
    default: node.dtype = WK_BOOL; break;
  }
  return add(b, &node);
}

uint16_t wk_expr_1(wk_expr_builder *b, wk_expr_op op, uint16_t x) {
  wk_assert(ops[op].arity == 1);
  return add_op(b, op, x, 0, 0);
}

uint16_t wk_expr_2(wk_expr_builder *b, wk_expr_op op, uint16_t x, uint16_t y) {
  wk_assert(ops[op].arity == 2);
  return add_op(b, op, x, y, 0);
}

uint16_t wk_expr_3(wk_expr_builder *b, wk_expr_op op, uint16_t x, uint16_t y, uint16_t z) {
  wk_assert(ops[op].arity == 3);
  return add_op(b, op, x, y, z);
}

/* Adds a node whose arguments are already nodes of b. */
static uint16_t add_copy(wk_expr_builder *b, const wk_expr_node *x, const uint16_t arg[3]) {
  switch (x->op) {
    case WK_EX_INPUT: return wk_expr_input(b, x->imm.i, x->dtype);
    case WK_EX_INDEX: return wk_expr_index(b, x->imm.i);
    case WK_EX_CONST: return constant(b, x->dtype, value_of(x));
    case WK_EX_CAST: return wk_expr_cast(b, x->dtype, arg[0]);
    case WK_EX_SAT: return wk_expr_sat(b, x->dtype, arg[0]);
    case WK_EX_BITS: return wk_expr_bits(b, x->dtype, arg[0]);
    default: return add_op(b, x->op, arg[0], arg[1], arg[2]);
  }
}

uint16_t wk_expr_inline(wk_expr_builder *b, const wk_expr *e, const uint16_t *inputs, int r) {
  bool *needed = wk_xcalloc(e->n, sizeof *needed);
  uint16_t *map = wk_xcalloc(e->n, sizeof *map);
  needed[e->results[r]] = true;
  for (uint32_t i = e->n; i-- > 0;)
    for (int k = 0; needed[i] && k < ops[e->nodes[i].op].arity; k++)
      needed[e->nodes[i].arg[k]] = true;
  for (uint32_t i = 0; i < e->n; i++) {
    const wk_expr_node *x = &e->nodes[i];
    if (!needed[i]) continue;
    if (x->op == WK_EX_INPUT) {
      map[i] = inputs[x->imm.i];
      continue;
    }
    uint16_t arg[3] = {0, 0, 0};
    for (int k = 0; k < ops[x->op].arity; k++) arg[k] = map[x->arg[k]];
    map[i] = add_copy(b, x, arg);
  }
  uint16_t result = map[e->results[r]];
  free(map);
  free(needed);
  return result;
}

/* ---- finished expressions -------------------------------------------------------------------- */

/* Depth first from the results by an explicit stack; order[i] is node i's new number plus 1. */
static uint32_t renumber(const wk_expr_builder *b, const uint16_t *results, int n, uint16_t *order,
                         wk_expr_node *out) {
  struct frame {
    uint16_t node;
    uint8_t next;
  } *stack = wk_xmalloc(b->n * sizeof *stack);
  uint32_t count = 0;
  for (int r = 0; r < n; r++) {
    size_t depth = 0;
    if (!order[results[r]]) stack[depth++] = (struct frame){results[r], 0};
    while (depth) {
      struct frame *top = &stack[depth - 1];
      const wk_expr_node *x = &b->nodes[top->node];
      if (top->next < ops[x->op].arity) {
        uint16_t arg = x->arg[top->next++];
        if (!order[arg]) stack[depth++] = (struct frame){arg, 0};
        continue;
      }
      wk_expr_node y = *x;
      for (int k = 0; k < 3; k++)
        y.arg[k] = k < ops[x->op].arity ? (uint16_t)(order[x->arg[k]] - 1) : 0;
      out[count++] = y;
      order[top->node] = (uint16_t)count;
      depth--;
    }
  }
  free(stack);
  return count;
}

wk_expr *wk_expr_finish(wk_expr_builder *b, const uint16_t *results, int n) {
  wk_expr *e = wk_arena_alloc(b->arena, sizeof *e);
  wk_expr_node *nodes = wk_xcalloc(b->n, sizeof *nodes);
  uint16_t *order = wk_xcalloc(b->n, sizeof *order);
  e->n = renumber(b, results, n, order, nodes);
  e->n_results = (uint32_t)n;
  e->nodes = wk_arena_memdup(b->arena, nodes, e->n * sizeof *nodes);
  e->results = wk_arena_alloc(b->arena, (size_t)n * sizeof *e->results);
  for (int r = 0; r < n; r++) e->results[r] = (uint16_t)(order[results[r]] - 1);
  free(order);
  free(nodes);
  return e;
}

wk_expr *wk_expr_identity(wk_arena *a, wk_dtype t) {
  wk_expr_builder *b = wk_expr_begin(a);
  uint16_t x = wk_expr_input(b, 0, t);
  return wk_expr_finish(b, &x, 1);
}

bool wk_expr_is_identity(const wk_expr *e) {
  if (!e) return true;
  const wk_expr_node *x = e->n_results == 1 ? &e->nodes[e->results[0]] : NULL;
  return x && x->op == WK_EX_INPUT && x->imm.i == 0;
}

wk_expr *wk_expr_clone(wk_arena *a, const wk_expr *e) {
  wk_expr *y = wk_arena_memdup(a, e, sizeof *e);
  y->nodes = wk_arena_memdup(a, e->nodes, e->n * sizeof *e->nodes);
  y->results = wk_arena_memdup(a, e->results, e->n_results * sizeof *e->results);
  return y;
}

bool wk_expr_equal(const wk_expr *x, const wk_expr *y) {
  if (x->n != y->n || x->n_results != y->n_results) return false;
  for (uint32_t i = 0; i < x->n; i++)
    if (!node_equal(&x->nodes[i], &y->nodes[i])) return false;
  return memcmp(x->results, y->results, x->n_results * sizeof *x->results) == 0;
}

uint64_t wk_expr_hash(const wk_expr *e, uint64_t seed) {
  for (uint32_t i = 0; i < e->n; i++) seed = node_hash(&e->nodes[i], seed);
  return wk_hash64(e->results, e->n_results * sizeof *e->results, seed);
}

int wk_expr_inputs(const wk_expr *e) {
  int64_t n = 0;
  for (uint32_t i = 0; i < e->n; i++)
    if (e->nodes[i].op == WK_EX_INPUT && e->nodes[i].imm.i >= n) n = e->nodes[i].imm.i + 1;
  return (int)n;
}
