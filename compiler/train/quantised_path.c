/* SPDX-License-Identifier: Apache-2.0
 * From a DEQUANTIZE back to what was quantised. */
#include "compiler/train/quantised_path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 500 };

/* ---- parameters ------------------------------------------------------------------------------ */

bool wk_integer_limits(wk_dtype t, double *lo, double *hi) {
  int bits = wk_dtype_bits(t);
  if (!wk_dtype_is_int(t) || bits > 32) return false;
  *lo = wk_dtype_is_signed(t) ? -ldexp(1, bits - 1) : 0;
  *hi = *lo + ldexp(1, bits) - 1;
  return true;
}

/* Where a parameter that broadcasts against `whole` has what is for its element i. */
static int64_t place(const wk_type *parameter, const wk_type *whole, int64_t i) {
  int64_t at = 0, stride = 1;
  for (int d = 1; d <= whole->rank && d <= parameter->rank; d++) {
    int64_t size = whole->dims[whole->rank - d], own = parameter->dims[parameter->rank - d];
    if (own > 1) at += i % size * stride;
    stride *= own;
    i /= size;
  }
  return at;
}

bool wk_same_spread(const wk_tensor *a, const wk_type *of_a, const wk_tensor *b,
                    const wk_type *of_b) {
  bool is_one = wk_type_count(&a->type) == 1 && wk_type_count(&b->type) == 1;
  bool is_plain = is_one || (wk_shape_equal(of_a, of_b) && wk_shape_equal(&a->type, &b->type));
  int64_t n = is_plain ? wk_type_count(&a->type) : wk_type_count(of_a);
  if (!is_plain && n != wk_type_count(of_b)) return false;
  for (int64_t i = 0; i < n; i++) {
    int64_t x = is_plain ? i : place(&a->type, of_a, i);
    int64_t y = is_plain ? i : place(&b->type, of_b, i);
    if (wk_load_f64(a->data, a->type.dtype, x) != wk_load_f64(b->data, b->type.dtype, y))
      return false;
  }
  return true;
}

static bool has_one_scale(const wk_graph *g, const wk_node *n) {
  return wk_type_count(&wk_val(g, n->in[1])->type) == 1 &&
         wk_type_count(&wk_val(g, n->in[2])->type) == 1;
}

/* Those of a QUANTIZE, where only reshapes are between unless there is one for all. */
static bool same_parameters(const wk_quantised_path *p, const wk_node *n) {
  const wk_type *made = &wk_val(p->g, n->out[0])->type;
  const wk_type *read = &wk_val(p->g, p->node->in[0])->type;
  for (int k = 1; k <= 2; k++) {
    if (!wk_is_const(p->g, n->in[k])) return false;
    wk_tensor a = wk_constant_of(p->g, n->in[k]), b = wk_constant_of(p->g, p->node->in[k]);
    if (!wk_same_spread(&a, made, &b, read)) return false;
  }
  return has_one_scale(p->g, n) == has_one_scale(p->g, p->node);
}

/* ---- looking --------------------------------------------------------------------------------- */

static const wk_behind closed = {.codes = WK_NONE};

static wk_behind look(wk_quantised_path *p, wk_value_id v, int depth);

static wk_behind within(wk_dtype t, bool rounds, wk_value_id codes) {
  wk_behind b = {.is_open = true, .rounds = rounds, .codes = codes};
  b.is_open = wk_integer_limits(t, &b.lo, &b.hi);
  return b;
}

static wk_behind look_quantize(wk_quantised_path *p, const wk_node *n, int depth) {
  (void)depth;
  return same_parameters(p, n) ? within(wk_val(p->g, n->out[0])->type.dtype, true, WK_NONE)
                               : closed;
}

/* Integers are cut off below or above, but not all of them are the same then. */
static wk_behind look_limit(wk_quantised_path *p, const wk_node *n, int depth) {
  const wk_value *c = wk_val(p->g, n->in[1]);
  if (!wk_is_const(p->g, n->in[1]) || wk_type_count(&c->type) != 1) return closed;
  double limit = wk_load_f64(c->data, c->type.dtype, 0);
  wk_behind b = look(p, n->in[0], depth);
  if (n->op == WK_OP_MAX) b.lo = fmax(b.lo, limit);
  else b.hi = fmin(b.hi, limit);
  return b.lo <= b.hi ? b : closed;
}

/* To a type that holds them. */
static wk_behind look_cast(wk_quantised_path *p, const wk_node *n, int depth) {
  double lo, hi;
  wk_behind b = look(p, n->in[0], depth);
  bool fits = wk_integer_limits(wk_val(p->g, n->out[0])->type.dtype, &lo, &hi);
  return fits && b.lo >= lo && b.hi <= hi ? b : closed;
}

static wk_behind look_move(wk_quantised_path *p, const wk_node *n, int depth) {
  if (n->op != WK_OP_RESHAPE && !has_one_scale(p->g, p->node)) return closed;
  wk_behind all = look(p, n->in[0], depth);
  for (uint32_t i = 1; i < n->n_in && all.is_open; i++) {
    wk_behind b = look(p, n->in[i], depth);
    bool agree = b.is_open && b.lo == all.lo && b.hi == all.hi &&
                 (b.codes == all.codes || b.codes == WK_NONE || all.codes == WK_NONE);
    if (!agree) return closed;
    if (all.codes == WK_NONE) all.codes = b.codes;
    all.rounds = all.rounds || b.rounds;
  }
  return all;
}

/* What lets real numbers through where integers go, at one scale and zero point. */
static const struct {
  wk_op op;
  wk_behind (*look)(wk_quantised_path *p, const wk_node *n, int depth);
  bool stays; /* and is done with them as well */
} ways[] = {{WK_OP_QUANTIZE, look_quantize, false}, {WK_OP_CAST, look_cast, false},
            {WK_OP_MAX, look_limit, false},         {WK_OP_MIN, look_limit, false},
            {WK_OP_RESHAPE, look_move, true},       {WK_OP_TRANSPOSE, look_move, true},
            {WK_OP_SLICE, look_move, true},         {WK_OP_CONCAT, look_move, true},
            {WK_OP_MAX_POOL, look_move, true}};

static size_t way_of(wk_op op) {
  size_t i = 0;
  while (i < WK_COUNTOF(ways) && ways[i].op != op) i++;
  return i;
}

static bool is_kept(const wk_quantised_path *p, const char *name) {
  for (size_t i = 0; i < p->report->weights.n; i++)
    if (!strcmp(p->report->weights.data[i].name, name)) return true;
  return false;
}

static wk_behind look_anew(wk_quantised_path *p, wk_value_id v, int depth) {
  const wk_value *x = wk_val(p->g, v);
  if (x->kind == WK_VALUE_CONSTANT && is_kept(p, x->name)) {
    const wk_quantised_weight *w = wk_quantised_find(p->found, x->name);
    return within(w ? w->codes.type.dtype : x->type.dtype, false, v);
  }
  if (x->kind != WK_VALUE_NODE) return closed;
  const wk_node *n = wk_nod(p->g, x->node);
  size_t way = way_of(n->op);
  return way < WK_COUNTOF(ways) && n->n_out == 1 ? ways[way].look(p, n, depth + 1) : closed;
}

static wk_behind look(wk_quantised_path *p, wk_value_id v, int depth) {
  if (v >= p->n_values || depth > MAX_DEPTH) return closed;
  if (p->seen[v] != p->stamp) {
    p->behind[v] = look_anew(p, v, depth);
    p->seen[v] = p->stamp;
  }
  return p->behind[v];
}

/* ---- reals ----------------------------------------------------------------------------------- */

static wk_value_id real_of(wk_quantised_path *p, wk_low *l, wk_value_id v);

static wk_value_id move(wk_quantised_path *p, wk_low *l, const wk_node *n) {
  const wk_node was = *n; /* nodes move when others are added */
  wk_value_id *in = wk_arena_alloc(l->arena, was.n_in * sizeof *in);
  for (uint32_t i = 0; i < was.n_in; i++) in[i] = real_of(p, l, was.in[i]);
  if (l->status) return WK_NONE;
  void *attrs = wk_attrs_clone(l->arena, was.op, was.attrs);
  return wk_low_add(l, was.op, attrs, in, was.n_in, 1, NULL);
}

static wk_value_id real_anew(wk_quantised_path *p, wk_low *l, wk_value_id v) {
  if (wk_val(p->g, v)->kind == WK_VALUE_CONSTANT) return v;
  const wk_node *n = wk_nod(p->g, wk_val(p->g, v)->node);
  if (ways[way_of(n->op)].stays) return move(p, l, n);
  return n->op == WK_OP_QUANTIZE ? n->in[0] : real_of(p, l, n->in[0]);
}

static wk_value_id real_of(wk_quantised_path *p, wk_low *l, wk_value_id v) {
  if (l->status) return WK_NONE;
  if (p->made[v] != p->stamp) {
    p->real[v] = real_anew(p, l, v);
    p->made[v] = p->stamp;
  }
  return p->real[v];
}

wk_value_id wk_path_real(wk_quantised_path *p, wk_low *l) {
  return real_of(p, l, p->node->in[0]);
}

/* ---- the whole ------------------------------------------------------------------------------- */

wk_behind wk_path_behind(wk_quantised_path *p, const wk_node *dequantize) {
  p->node = dequantize;
  p->stamp++;
  return look(p, dequantize->in[0], 0);
}

void wk_path_open(wk_graph *g, const wk_import_report *r, const wk_quantised *found,
                  wk_quantised_path *out) {
  size_t n = g->values.n;
  *out = (wk_quantised_path){.g = g, .report = r, .found = found, .n_values = n};
  out->seen = wk_xcalloc(n, sizeof *out->seen);
  out->made = wk_xcalloc(n, sizeof *out->made);
  out->behind = wk_xcalloc(n, sizeof *out->behind);
  out->real = wk_xcalloc(n, sizeof *out->real);
}

void wk_path_free(wk_quantised_path *p) {
  free(p->seen);
  free(p->made);
  free(p->behind);
  free(p->real);
}
