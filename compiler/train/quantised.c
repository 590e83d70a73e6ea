/* SPDX-License-Identifier: Apache-2.0
 * Conversions to integers and back become roundings of floats. */
#include "compiler/train/quantised.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/lower/build.h"

/* One DEQUANTIZE. */
typedef struct {
  wk_low l; /* its status is the builder's */
  wk_graph *g;
  const wk_import_report *report;
  wk_quantised *out;
  const wk_node *n;
  wk_value_id scale, zero; /* constants */
  double lo, hi;           /* of the integers that reach it */
  wk_value_id codes;       /* an initialiser that is among what it reads; WK_NONE */
  bool rounds;             /* a QUANTIZE is */
} pair;

/* ---- constants ------------------------------------------------------------------------------- */

static bool same_constant(const wk_graph *g, wk_value_id a, wk_value_id b) {
  const wk_value *x = wk_val(g, a), *y = wk_val(g, b);
  int64_t n = wk_type_count(&x->type);
  if (!wk_is_const(g, a) || !wk_is_const(g, b) || n != wk_type_count(&y->type)) return false;
  for (int64_t i = 0; i < n; i++)
    if (wk_load_f64(x->data, x->type.dtype, i) != wk_load_f64(y->data, y->type.dtype, i))
      return false;
  return true;
}

/* The number that all elements of a constant are. */
static bool is_number(const wk_graph *g, wk_value_id v, double *number) {
  const wk_value *c = wk_val(g, v);
  if (!wk_is_const(g, v) || wk_type_count(&c->type) != 1) return false;
  *number = wk_load_f64(c->data, c->type.dtype, 0);
  return true;
}

static wk_value_id floats_of(pair *k, wk_value_id v, wk_dtype t) {
  const wk_value c = *wk_val(k->g, v);
  wk_type type = c.type;
  wk_value_id out = WK_NONE;
  void *data;
  type.dtype = t;
  if (k->l.status) return WK_NONE;
  k->l.status = wk_graph_constant_alloc(k->g, NULL, &type, &out, &data);
  for (int64_t i = 0; !k->l.status && i < wk_type_count(&type); i++)
    wk_store_f64(data, t, i, wk_load_f64(c.data, c.type.dtype, i));
  return out;
}

static bool limits_of(wk_dtype t, double *lo, double *hi) {
  int bits = wk_dtype_bits(t);
  if (!wk_dtype_is_int(t) || bits > 32) return false;
  *lo = wk_dtype_is_signed(t) ? -ldexp(1, bits - 1) : 0;
  *hi = *lo + ldexp(1, bits) - 1;
  return true;
}

static bool narrow(pair *k, double lo, double hi) {
  k->lo = lo > k->lo ? lo : k->lo;
  k->hi = hi < k->hi ? hi : k->hi;
  return true;
}

/* ---- what is behind integers ----------------------------------------------------------------- */

static bool is_kept(const pair *k, const char *name) {
  for (size_t i = 0; i < k->report->weights.n; i++)
    if (!strcmp(k->report->weights.data[i], name)) return true;
  return false;
}

/* NULL: none of this name has been opened. */
static const wk_quantised_weight *weight_of(const pair *k, const char *name) {
  for (size_t i = 0; i < k->out->weights.n; i++)
    if (!strcmp(k->out->weights.data[i].name, name)) return &k->out->weights.data[i];
  return NULL;
}

static bool is_open(pair *k, wk_value_id v);

static bool is_open_quantize(pair *k, const wk_node *n) {
  double lo, hi;
  k->rounds = true;
  return same_constant(k->g, n->in[1], k->scale) && same_constant(k->g, n->in[2], k->zero) &&
         limits_of(wk_val(k->g, n->out[0])->type.dtype, &lo, &hi) && narrow(k, lo, hi);
}

/* Integers are cut off below or above. */
static bool is_open_limit(pair *k, const wk_node *n) {
  double number;
  if (!is_number(k->g, n->in[1], &number)) return false;
  narrow(k, n->op == WK_OP_MAX ? number : -INFINITY, n->op == WK_OP_MIN ? number : INFINITY);
  return is_open(k, n->in[0]);
}

/* Between integer types that hold them; the limits of the narrower one are known by then. */
static bool is_open_cast(pair *k, const wk_node *n) {
  double lo, hi;
  return limits_of(wk_val(k->g, n->out[0])->type.dtype, &lo, &hi) && is_open(k, n->in[0]) &&
         k->lo >= lo && k->hi <= hi;
}

static bool is_open_move(pair *k, const wk_node *n) {
  bool is_one = wk_type_count(&wk_val(k->g, k->scale)->type) == 1;
  if (!is_one && n->op != WK_OP_RESHAPE) return false;
  for (uint32_t i = 0; i < n->n_in; i++)
    if (!is_open(k, n->in[i])) return false;
  return true;
}

/* What lets real numbers through where integers go, at one scale and zero point. */
static const struct {
  wk_op op;
  bool (*is_open)(pair *k, const wk_node *n);
  bool stays; /* and is done with them as well */
} ways[] = {{WK_OP_QUANTIZE, is_open_quantize, false}, {WK_OP_CAST, is_open_cast, false},
            {WK_OP_MAX, is_open_limit, false},         {WK_OP_MIN, is_open_limit, false},
            {WK_OP_RESHAPE, is_open_move, true},       {WK_OP_TRANSPOSE, is_open_move, true},
            {WK_OP_SLICE, is_open_move, true},         {WK_OP_CONCAT, is_open_move, true},
            {WK_OP_MAX_POOL, is_open_move, true}};

static size_t way_of(wk_op op) {
  size_t i = 0;
  while (i < WK_COUNTOF(ways) && ways[i].op != op) i++;
  return i;
}

static bool is_open(pair *k, wk_value_id v) {
  const wk_value *x = wk_val(k->g, v);
  double lo, hi;
  if (x->kind == WK_VALUE_CONSTANT && k->codes == WK_NONE && is_kept(k, x->name)) {
    const wk_quantised_weight *w = weight_of(k, x->name);
    k->codes = v;
    return limits_of(w ? w->stored.dtype : x->type.dtype, &lo, &hi) && narrow(k, lo, hi);
  }
  if (x->kind != WK_VALUE_NODE) return false;
  const wk_node *n = wk_nod(k->g, x->node);
  size_t way = way_of(n->op);
  return way < WK_COUNTOF(ways) && n->n_out == 1 && ways[way].is_open(k, n);
}

/* ---- weights --------------------------------------------------------------------------------- */

static wk_tensor copy_of(wk_arena *a, const wk_value *v) {
  size_t bytes = (size_t)wk_type_bytes(&v->type);
  wk_tensor out = {v->type, wk_arena_alloc(a, bytes + 1)};
  memcpy(out.data, v->data, bytes);
  return out;
}

/* Evaluates the one node of g, made by op from x, scale and zero. */
static wk_status compute(wk_op op, const wk_tensor *x, const wk_tensor *scale,
                         const wk_tensor *zero, wk_tensor *out) {
  wk_module *m = wk_module_new("rounding");
  wk_graph *g = wk_graph_new(m, "main");
  wk_value_id in[] = {wk_graph_input(g, "x", &x->type),
                      wk_graph_constant(g, "scale", &scale->type, scale->data),
                      wk_graph_constant(g, "zero", &zero->type, zero->data)}, y = WK_NONE;
  wk_node_desc d = {.op = op, .attrs = wk_attrs_new(m->arena, op), .in = in, .n_in = 3, .n_out = 1};
  if (op == WK_OP_QUANTIZE) ((wk_attr_quantize *)d.attrs)->to = zero->type.dtype;
  wk_status s = wk_graph_add(g, &d, &y);
  if (!s) {
    wk_graph_output(g, "y", y);
    s = wk_eval_graph(g, x, out, NULL, NULL);
  }
  wk_module_free(m);
  return s;
}

/* The integers that reach the DEQUANTIZE, which are the initialiser's, one behind the other. */
static wk_status values_of(const pair *k, void *floats, const wk_type *t) {
  const wk_value codes = *wk_val(k->g, k->codes), *scale = wk_val(k->g, k->scale);
  const wk_value *zero = wk_val(k->g, k->zero);
  const wk_tensor s = {scale->type, (void *)scale->data}, z = {zero->type, (void *)zero->data};
  wk_tensor x, y = {.data = NULL};
  WK_TRY(wk_tensor_alloc(&wk_val(k->g, k->n->in[0])->type, &x));
  int64_t n = wk_type_count(&x.type);
  for (int64_t i = 0; i < n; i++)
    wk_store_f64(x.data, x.type.dtype, i, wk_load_f64(codes.data, codes.type.dtype, i));
  wk_status st = compute(WK_OP_DEQUANTIZE, &x, &s, &z, &y);
  for (int64_t i = 0; !st && i < n; i++)
    wk_store_f64(floats, t->dtype, i, wk_load_f64(y.data, y.type.dtype, i));
  wk_tensor_free(&x);
  wk_tensor_free(&y);
  return st;
}

/* The initialiser becomes the floats. What reads it as integers is gone in the end. */
static wk_status open_weight(pair *k) {
  wk_value codes = *wk_val(k->g, k->codes);
  wk_arena *a = k->out->arena;
  void *data;
  wk_quantised_weight w = {.name = wk_arena_strdup(a, codes.name), .stored = codes.type,
                           .type = codes.type, .spread = wk_val(k->g, k->n->in[0])->type,
                           .scale = copy_of(a, wk_val(k->g, k->scale)),
                           .zero = copy_of(a, wk_val(k->g, k->zero)), .lo = k->lo, .hi = k->hi};
  w.type.dtype = wk_val(k->g, k->n->out[0])->type.dtype;
  WK_TRY(wk_graph_data_alloc(k->g, &w.type, &data));
  WK_TRY(values_of(k, data, &w.type));
  wk_val(k->g, k->codes)->type = w.type;
  wk_val(k->g, k->codes)->data = data;
  wk_vec_push(&k->out->weights, w);
  return NULL;
}

static wk_status refuse_weight(const char *name, const char *why) {
  return wk_error(WK_UNSUPPORTED, "the integers of '%s' cannot be trained: %s", name, why);
}

/* ---- a pair ---------------------------------------------------------------------------------- */

static wk_value_id real(pair *k, wk_value_id v);

static wk_value_id move(pair *k, const wk_node *n) {
  wk_value_id *in = wk_arena_alloc(k->l.arena, (n->n_in + 1) * sizeof *in);
  const wk_node was = *n; /* nodes move when others are added */
  for (uint32_t i = 0; i < was.n_in; i++) in[i] = real(k, was.in[i]);
  if (k->l.status) return WK_NONE;
  void *attrs = wk_attrs_clone(k->l.arena, was.op, was.attrs);
  return wk_low_add(&k->l, was.op, attrs, in, was.n_in, 1, NULL);
}

/* What the integers of v stand for, not yet rounded. */
static wk_value_id real(pair *k, wk_value_id v) {
  if (k->l.status) return WK_NONE;
  if (v == k->codes) return v;
  const wk_node *n = wk_nod(k->g, wk_val(k->g, v)->node);
  if (ways[way_of(n->op)].stays) return move(k, n);
  return n->op == WK_OP_QUANTIZE ? n->in[0] : real(k, n->in[0]);
}

static wk_value_id round_all(pair *k, wk_value_id x) {
  if (k->l.status) return WK_NONE;
  wk_dtype t = wk_low_type(&k->l, x)->dtype;
  wk_attr_fake_quantize *a = wk_attrs_new(k->l.arena, WK_OP_FAKE_QUANTIZE);
  a->lo = k->lo;
  a->hi = k->hi;
  wk_value_id in[] = {x, floats_of(k, k->scale, t), floats_of(k, k->zero, t)};
  return wk_low_add(&k->l, WK_OP_FAKE_QUANTIZE, a, in, 3, 1, NULL);
}

static wk_status convert(pair *k) {
  const wk_value_id y = k->n->out[0];
  wk_dtype t = wk_val(k->g, y)->type.dtype;
  wk_value_id x = real(k, k->n->in[0]);
  x = round_all(k, x);
  WK_TRY(k->l.status);
  if (wk_low_type(&k->l, x)->dtype != t) x = wk_low_map(&k->l, t, "out(a)", 1, x);
  WK_TRY(k->l.status);
  wk_graph_replace(k->g, y, x);
  return NULL;
}

static bool is_of(const pair *k, const wk_quantised_weight *w) {
  const wk_value *s = wk_val(k->g, k->scale), *z = wk_val(k->g, k->zero);
  return wk_type_count(&s->type) == wk_type_count(&w->scale.type) &&
         wk_type_count(&z->type) == wk_type_count(&w->zero.type) &&
         !memcmp(s->data, w->scale.data, (size_t)wk_type_bytes(&s->type)) &&
         !memcmp(z->data, w->zero.data, (size_t)wk_type_bytes(&z->type));
}

static wk_status convert_weight(pair *k) {
  const char *name = wk_val(k->g, k->codes)->name;
  const wk_quantised_weight *w = weight_of(k, name);
  int64_t read = wk_type_count(&wk_val(k->g, k->n->in[0])->type);
  if (k->rounds) return refuse_weight(name, "they are joined with what is computed");
  if (read != wk_type_count(&wk_val(k->g, k->codes)->type)) return NULL; /* others stay integers */
  if (!w) WK_TRY(open_weight(k));
  else if (!is_of(k, w)) return refuse_weight(name, "they are dequantised with two scales");
  return convert(k);
}

static wk_status convert_node(wk_module *m, const wk_import_report *r, wk_node_id id,
                              wk_quantised *out) {
  wk_graph *g = m->main;
  const wk_node n = *wk_nod(g, id);
  if (n.dead || n.op != WK_OP_DEQUANTIZE) return NULL;
  pair k = {.l = {.g = g, .arena = m->arena, .name = n.name}, .g = g, .report = r, .out = out,
            .n = &n, .scale = n.in[1], .zero = n.in[2], .lo = -INFINITY, .hi = INFINITY,
            .codes = WK_NONE};
  if (!wk_is_const(g, k.scale) || !wk_is_const(g, k.zero) || !is_open(&k, n.in[0])) return NULL;
  if (k.codes != WK_NONE) return convert_weight(&k);
  out->activations++;
  return convert(&k);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The first n nodes, in order, as far as nobody reads what they make. */
static void drop_unused(wk_graph *g, size_t n) {
  wk_arena *scratch = wk_arena_new();
  wk_uses u = wk_graph_uses(g, scratch);
  uint32_t *left = wk_arena_alloc(scratch, (g->values.n + 1) * sizeof *left);
  for (size_t v = 0; v < g->values.n; v++) left[v] = wk_use_count(&u, (wk_value_id)v);
  for (size_t i = n; i-- > 0;) {
    const wk_node *x = wk_nod(g, (wk_node_id)i);
    bool is_used = x->dead;
    for (uint32_t k = 0; k < x->n_out; k++)
      is_used = is_used || (x->out[k] != WK_NONE && left[x->out[k]]);
    for (uint32_t k = 0; !is_used && k < x->n_in; k++)
      if (x->in[k] != WK_NONE) left[x->in[k]]--;
    if (!is_used) wk_node_remove(g, (wk_node_id)i);
  }
  wk_arena_free(scratch);
}

/* None of the first n nodes reads as integers what are floats now. */
static wk_status check_readers(const wk_graph *g, const wk_quantised *q, size_t n) {
  for (size_t i = 0; i < q->weights.n; i++) {
    uint32_t v;
    if (!wk_map_get(g->names, q->weights.data[i].name, &v)) continue;
    for (size_t k = 0; k < n; k++)
      for (uint32_t j = 0; !g->nodes.data[k].dead && j < g->nodes.data[k].n_in; j++)
        if (g->nodes.data[k].in[j] == v)
          return refuse_weight(q->weights.data[i].name, "they are also read as integers");
  }
  return NULL;
}

wk_status wk_quantised_open(wk_module *m, const wk_import_report *r, wk_quantised *out) {
  wk_status s = NULL;
  *out = (wk_quantised){.arena = wk_arena_new()};
  size_t n = m->main->nodes.n;
  for (size_t i = 0; i < n && !s; i++) s = convert_node(m, r, (wk_node_id)i, out);
  if (!s) drop_unused(m->main, n);
  if (!s) s = check_readers(m->main, out, n);
  if (!s) s = wk_module_normalise(m);
  if (!s) s = wk_module_verify(m);
  return s;
}

void wk_quantised_free(wk_quantised *q) {
  wk_vec_free(&q->weights);
  wk_arena_free(q->arena);
  *q = (wk_quantised){0};
}

wk_status wk_quantised_round(const wk_quantised_weight *w, const void *floats, void *packed) {
  wk_type t = w->spread;
  wk_tensor x, y = {.data = NULL}, stored = {.data = NULL};
  int64_t n = wk_type_count(&t);
  t.dtype = WK_F32;
  WK_TRY(wk_tensor_alloc(&t, &x));
  for (int64_t i = 0; i < n; i++)
    wk_store_f64(x.data, WK_F32, i, wk_load_f64(floats, w->type.dtype, i));
  wk_status s = wk_tensor_alloc(&w->stored, &stored);
  if (!s) s = compute(WK_OP_QUANTIZE, &x, &w->scale, &w->zero, &y);
  for (int64_t i = 0; !s && i < n; i++) {
    double v = wk_load_f64(y.data, y.type.dtype, i);
    wk_store_f64(stored.data, w->stored.dtype, i, fmin(fmax(v, w->lo), w->hi));
  }
  if (!s) {
    memset(packed, 0, (size_t)wk_packed_bytes(&w->stored));
    wk_pack(&w->stored, stored.data, packed);
  }
  wk_tensor_free(&stored);
  wk_tensor_free(&x);
  wk_tensor_free(&y);
  return s;
}
