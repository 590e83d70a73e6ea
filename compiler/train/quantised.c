/* SPDX-License-Identifier: Apache-2.0
 * Conversions to integers and back become roundings of floats. */
#include "compiler/train/quantised.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/train/quantised_path.h"

/* One DEQUANTIZE. */
typedef struct {
  wk_low l; /* its status is the builder's */
  wk_graph *g;
  wk_quantised *out;
  wk_quantised_path *path;
  const wk_node *n;
  wk_behind behind;
} pair;

/* ---- weights --------------------------------------------------------------------------------- */

const wk_quantised_weight *wk_quantised_find(const wk_quantised *q, const char *name) {
  for (size_t i = 0; i < q->weights.n; i++)
    if (!strcmp(q->weights.data[i].name, name)) return &q->weights.data[i];
  return NULL;
}

static wk_tensor copy_of(wk_arena *a, const wk_value *v) {
  size_t bytes = (size_t)wk_type_bytes(&v->type);
  wk_tensor out = {v->type, wk_arena_alloc(a, bytes)};
  memcpy(out.data, v->data, bytes);
  return out;
}

/* op, QUANTIZE or DEQUANTIZE, of numbers that the scale and zero point of w broadcast against. */
static wk_status compute(const wk_quantised_weight *w, wk_op op, const wk_tensor *x,
                         wk_tensor *out) {
  wk_module *m = wk_module_new("rounding");
  wk_graph *g = wk_graph_new(m, "main");
  wk_value_id in[] = {wk_graph_input(g, "x", &x->type),
                      wk_graph_constant(g, "scale", &w->scale.type, w->scale.data),
                      wk_graph_constant(g, "zero", &w->zero.type, w->zero.data)}, y = WK_NONE;
  wk_node_desc d = {.op = op, .attrs = wk_attrs_new(m->arena, op), .in = in, .n_in = 3, .n_out = 1};
  if (op == WK_OP_QUANTIZE) ((wk_attr_quantize *)d.attrs)->to = w->zero.type.dtype;
  wk_status s = wk_graph_add(g, &d, &y);
  if (!s) {
    wk_graph_output(g, "y", y);
    s = wk_eval_graph(g, x, out, NULL, NULL);
  }
  wk_module_free(m);
  return s;
}

/* The numbers of `from`, one behind the other, as a tensor of type t. */
static wk_status as(const wk_type *t, wk_dtype d, const void *data, wk_dtype from, wk_tensor *out) {
  wk_type type = *t;
  type.dtype = d;
  WK_TRY(wk_tensor_alloc(&type, out));
  for (int64_t i = 0; i < wk_type_count(&type); i++)
    wk_store_f64(out->data, d, i, wk_load_f64(data, from, i));
  return NULL;
}

/* What the initialiser's integers stand for; floats: room for w->type. */
static wk_status initial_floats(const wk_quantised_weight *w, void *floats) {
  wk_tensor x, y = {.data = NULL};
  WK_TRY(as(&w->spread, w->zero.type.dtype, w->codes.data, w->codes.type.dtype, &x));
  wk_status s = compute(w, WK_OP_DEQUANTIZE, &x, &y);
  for (int64_t i = 0; !s && i < wk_type_count(&x.type); i++)
    wk_store_f64(floats, w->type.dtype, i, wk_load_f64(y.data, y.type.dtype, i));
  wk_tensor_free(&x);
  wk_tensor_free(&y);
  return s;
}

/* The initialiser becomes the floats. What reads it as integers is gone in the end. */
static wk_status open_weight(pair *k) {
  const wk_value *codes = wk_val(k->g, k->behind.codes);
  wk_arena *a = k->out->arena;
  void *data;
  wk_quantised_weight w = {.name = wk_arena_strdup(a, codes->name), .codes = copy_of(a, codes),
                           .type = codes->type, .spread = wk_val(k->g, k->n->in[0])->type,
                           .scale = copy_of(a, wk_val(k->g, k->n->in[1])),
                           .zero = copy_of(a, wk_val(k->g, k->n->in[2]))};
  w.type.dtype = wk_val(k->g, k->n->out[0])->type.dtype;
  WK_TRY(wk_graph_data_alloc(k->g, &w.type, &data));
  WK_TRY(initial_floats(&w, data));
  wk_val(k->g, k->behind.codes)->type = w.type;
  wk_val(k->g, k->behind.codes)->data = data;
  wk_vec_push(&k->out->weights, w);
  return NULL;
}

static wk_status refuse_weight(const char *name, const char *why) {
  return wk_error(WK_UNSUPPORTED, "the integers of '%s' cannot be trained: %s", name, why);
}

/* ---- a pair ---------------------------------------------------------------------------------- */

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

static wk_value_id round_all(pair *k, wk_value_id x) {
  if (k->l.status) return WK_NONE;
  wk_dtype t = wk_low_type(&k->l, x)->dtype;
  wk_attr_fake_quantize *a = wk_attrs_new(k->l.arena, WK_OP_FAKE_QUANTIZE);
  a->lo = k->behind.lo;
  a->hi = k->behind.hi;
  wk_value_id in[] = {x, floats_of(k, k->n->in[1], t), floats_of(k, k->n->in[2], t)};
  return wk_low_add(&k->l, WK_OP_FAKE_QUANTIZE, a, in, 3, 1, NULL);
}

static wk_status convert(pair *k) {
  const wk_value_id y = k->n->out[0];
  wk_dtype t = wk_val(k->g, y)->type.dtype;
  wk_value_id x = round_all(k, wk_path_real(k->path, &k->l));
  WK_TRY(k->l.status);
  if (wk_low_type(&k->l, x)->dtype != t) x = wk_low_map(&k->l, t, "out(a)", 1, x);
  WK_TRY(k->l.status);
  wk_graph_replace(k->g, y, x);
  return NULL;
}

static bool is_of(const pair *k, const wk_quantised_weight *w) {
  const wk_type *read = &wk_val(k->g, k->n->in[0])->type;
  wk_tensor scale = wk_constant_of(k->g, k->n->in[1]), zero = wk_constant_of(k->g, k->n->in[2]);
  return wk_same_spread(&w->scale, &w->spread, &scale, read) &&
         wk_same_spread(&w->zero, &w->spread, &zero, read);
}

static wk_status convert_weight(pair *k) {
  const char *name = wk_val(k->g, k->behind.codes)->name;
  const wk_quantised_weight *w = wk_quantised_find(k->out, name);
  int64_t read = wk_type_count(&wk_val(k->g, k->n->in[0])->type);
  if (k->behind.rounds) return refuse_weight(name, "they are joined with what is computed");
  if (read != wk_type_count(&wk_val(k->g, k->behind.codes)->type)) return NULL; /* stays */
  if (!w) WK_TRY(open_weight(k));
  else if (!is_of(k, w)) return refuse_weight(name, "they are dequantised with two scales");
  return convert(k);
}

static wk_status convert_node(wk_quantised_path *path, wk_node_id id, wk_quantised *out) {
  wk_graph *g = path->g;
  const wk_node n = *wk_nod(g, id);
  if (n.dead || n.op != WK_OP_DEQUANTIZE) return NULL;
  if (!wk_is_const(g, n.in[1]) || !wk_is_const(g, n.in[2])) return NULL;
  pair k = {.l = {.g = g, .arena = g->module->arena, .name = n.name}, .g = g, .out = out,
            .path = path, .n = &n, .behind = wk_path_behind(path, &n)};
  if (!k.behind.is_open) return NULL;
  if (k.behind.codes != WK_NONE) return convert_weight(&k);
  out->activations++;
  return convert(&k);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The first n nodes, in order, as far as nobody reads what they make. */
static void drop_unused(wk_graph *g, size_t n) {
  wk_arena *scratch = wk_arena_new();
  wk_uses u = wk_graph_uses(g, scratch);
  uint32_t *left = wk_arena_alloc(scratch, g->values.n * sizeof *left);
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
  wk_quantised_path path;
  wk_status s = NULL;
  *out = (wk_quantised){.arena = wk_arena_new()};
  size_t n = m->main->nodes.n;
  wk_path_open(m->main, r, out, &path);
  for (size_t i = 0; i < n && !s; i++) s = convert_node(&path, (wk_node_id)i, out);
  wk_path_free(&path);
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

/* Floats as they began are the integers that they were: not each of 32 bits is a float. */
static wk_status round_to(const wk_quantised_weight *w, const void *floats, const void *initial,
                          wk_tensor *codes) {
  wk_tensor x, y = {.data = NULL};
  wk_dtype t = w->type.dtype;
  double lo, hi;
  wk_integer_limits(codes->type.dtype, &lo, &hi);
  WK_TRY(as(&w->spread, WK_F32, floats, t, &x));
  wk_status s = compute(w, WK_OP_QUANTIZE, &x, &y);
  for (int64_t i = 0; !s && i < wk_type_count(&x.type); i++) {
    double v = fmin(fmax(wk_load_f64(y.data, y.type.dtype, i), lo), hi);
    if (wk_load_f64(floats, t, i) == wk_load_f64(initial, t, i))
      v = wk_load_f64(w->codes.data, w->codes.type.dtype, i);
    wk_store_f64(codes->data, codes->type.dtype, i, v);
  }
  wk_tensor_free(&x);
  wk_tensor_free(&y);
  return s;
}

wk_status wk_quantised_round(const wk_quantised_weight *w, const void *floats, void *packed) {
  wk_tensor initial, codes = {.data = NULL};
  WK_TRY(wk_tensor_alloc(&w->type, &initial));
  wk_status s = initial_floats(w, initial.data);
  if (!s) s = wk_tensor_alloc(&w->codes.type, &codes);
  if (!s) s = round_to(w, floats, initial.data, &codes);
  if (!s) {
    memset(packed, 0, (size_t)wk_packed_bytes(&codes.type));
    wk_pack(&codes.type, codes.data, packed);
  }
  wk_tensor_free(&initial);
  wk_tensor_free(&codes);
  return s;
}
