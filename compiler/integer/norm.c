/* SPDX-License-Identifier: Apache-2.0
 * Layer and RMS normalisation of a quantised tensor, whole or written out. */
#include <string.h>

#include "compiler/integer/rules.h"
#include "compiler/passes/recognise.h"

typedef struct {
  wk_standardised of;
  wk_value_id scale, bias; /* WK_NONE: there is none */
  wk_affine x;
  wk_type row; /* dims of the normalised axes */
  int64_t n;   /* its elements */
} norm;

/* ---- what is normalised ---------------------------------------------------------------------- */

static bool is_parameter(wk_rewrite *r, wk_value_id v) {
  return wk_is_constant_reals(r, v, WK_NORM_ROW);
}

/* v is x combined with a constant: x, and the constant in *parameter; else v. */
static wk_value_id without(wk_rewrite *r, wk_op op, wk_value_id v, wk_value_id *parameter) {
  const wk_node *n = wk_made_by(r, v, op);
  const wk_value_id in[2] = {n ? n->in[0] : v, n ? n->in[1] : v};
  *parameter = WK_NONE;
  for (int k = 0; n && k < 2; k++) {
    if (!wk_once(r, in[k]) || !wk_type_equal(wk_type_of(r, in[k]), wk_type_of(r, v))) continue;
    if (!is_parameter(r, in[1 - k])) continue;
    *parameter = in[1 - k];
    return in[k];
  }
  return v;
}

static bool find(wk_rewrite *r, const wk_node *def, wk_value_id v, norm *o) {
  if (def->op == WK_OP_LAYER_NORM) {
    const wk_attr_layer_norm *a = WK_ATTR(def, layer_norm);
    for (uint32_t k = 1; k < def->n_out; k++)
      if (def->out[k] != WK_NONE && r->uses[def->out[k]]) return false; /* mean, 1/deviation */
    o->of = (wk_standardised){def->in[0], a->axis, a->epsilon, true};
    o->scale = def->in[1];
    o->bias = def->n_in > 2 ? def->in[2] : WK_NONE;
    return true;
  }
  v = without(r, WK_OP_ADD, v, &o->bias);
  v = without(r, WK_OP_MUL, v, &o->scale);
  def = wk_def(r->g, v);
  return def && def->predicate == WK_NONE && wk_match_standardised(r, def, &o->of);
}

/* A constant along the row, or one number. */
static bool read_parameter(wk_rewrite *r, const norm *o, wk_value_id v, double without_it,
                           double *out) {
  wk_type t;
  const double *of = v == WK_NONE ? &without_it : wk_constant_reals(r, v, o->n, &t);
  int64_t n = v == WK_NONE || !of ? 1 : wk_type_count(&t);
  if (!of || (n != 1 && n != o->n)) return false;
  for (int k = 1; n != 1 && k <= o->row.rank; k++)
    if (k > t.rank ? o->row.dims[o->row.rank - k] != 1
                   : t.dims[t.rank - k] != o->row.dims[o->row.rank - k])
      return false;
  for (int64_t i = 0; i < o->n; i++) out[i] = of[n == 1 ? 0 : i];
  return true;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Numbers of the columns; a scalar when all are the same. */
static wk_value_id columns(wk_rewrite *r, const norm *o, const int32_t *v) {
  const wk_type one = wk_type_make(WK_I32, 0, NULL);
  void *data;
  bool same = true;
  for (int64_t i = 1; i < o->n; i++) same &= v[i] == v[0];
  wk_value_id id = wk_rewrite_constant(r, same ? &one : &o->row, &data);
  if (id != WK_NONE) memcpy(data, v, (same ? 1 : (size_t)o->n) * sizeof *v);
  return id;
}

static bool read_factors(wk_rewrite *r, const norm *o, double y_scale, int32_t *g, int *shift) {
  double *gamma = wk_arena_alloc(r->c->scratch, 2 * (size_t)o->n * sizeof *gamma);
  double *beta = gamma + o->n;
  return read_parameter(r, o, o->scale, 1, gamma) && read_parameter(r, o, o->bias, 0, beta) &&
         wk_norm_factors(gamma, beta, o->n, y_scale, g, g + o->n, shift);
}

/* ---- the rule -------------------------------------------------------------------------------- */

wk_value_id wk_integer_norm(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  norm o = {.scale = WK_NONE, .bias = WK_NONE, .n = 1};
  wk_attr_integer_norm *a = wk_attrs_new(r->arena, WK_OP_INTEGER_NORM);
  int shift;
  if (!find(r, def, y->from, &o) || !wk_affine_of(r, o.of.x, &o.x)) return WK_NONE;
  const wk_type t = *wk_type_of(r, o.x.q);
  if (!wk_shape_equal(&t, y->type)) return WK_NONE;
  o.row = wk_type_make(WK_I32, t.rank - (int)o.of.axis, t.dims + o.of.axis);
  o.n = wk_type_count(&o.row);
  if (!wk_norm_epsilon(o.n, o.of.epsilon, o.x.scale, &a->epsilon)) return WK_NONE;
  int32_t *g = wk_arena_alloc(r->c->scratch, 2 * (size_t)o.n * sizeof *g);
  if (!read_factors(r, &o, y->scale, g, &shift)) return WK_NONE;
  a->axis = o.of.axis;
  a->centred = o.of.is_centred;
  a->x_zero = o.x.zero;
  a->shift = shift;
  a->zero = y->zero;
  a->lo = y->lo;
  a->hi = y->hi;
  a->to = y->dtype;
  const wk_value_id in[] = {o.x.q, columns(r, &o, g), columns(r, &o, g + o.n)};
  if (in[1] == WK_NONE || in[2] == WK_NONE) return WK_NONE;
  return wk_rewrite_add(r, WK_OP_INTEGER_NORM, a, 3, in);
}
