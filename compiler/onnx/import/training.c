/* SPDX-License-Identifier: Apache-2.0
 * Import for training: initialisers that stay apart, statistics that move, Dropout by the step's
 * key. */
#include <math.h>
#include <string.h>

#include "compiler/ir/graph_names.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/make.h"

/* ---- weights --------------------------------------------------------------------------------- */

bool wk_training_keeps(const wk_importer *im, const wk_graph *g, wk_value_id v) {
  uint32_t ignored;
  return im->weights && g == im->m->main && wk_is_const(g, v) &&
         wk_map_get(im->weights, wk_val(g, v)->name, &ignored);
}

bool wk_training_reads(const wk_importer *im, const wk_graph *g, const wk_node *n) {
  bool found = false;
  for (uint32_t i = 0; im->weights && i < n->n_in && !found; i++)
    found = wk_training_keeps(im, g, n->in[i]);
  return found;
}

/* What the inputs of quantised operators are: c integers that stand for numbers, p their scales and
 * zero points. */
static const struct { const char *op, *roles; } quantised[] = {
    {"QuantizeLinear", "-pp"},         {"DequantizeLinear", "cpp"},
    {"QLinearConv", "cppcppppc"},      {"QLinearMatMul", "cppcpppp"},
    {"QGemm", "cppcppcpp"},            {"QLinearAdd", "cppcpppp"},
    {"QLinearMul", "cppcpppp"}};

static void find_quantised(wk_importer *im) {
  const Onnx__GraphProto *g = im->model->graph;
  im->quantised = wk_map_new();
  for (size_t i = 0; i < g->n_node; i++) {
    const Onnx__NodeProto *n = g->node[i];
    size_t row = 0;
    while (row < WK_COUNTOF(quantised) && strcmp(n->op_type, quantised[row].op)) row++;
    if (row == WK_COUNTOF(quantised)) continue;
    for (size_t k = 0; k < n->n_input && quantised[row].roles[k]; k++)
      wk_map_put(im->quantised, n->input[k], (uint32_t)quantised[row].roles[k]);
  }
}

/* Floats, and codes where these are asked for, but no scales unless for derivatives. */
static bool is_weight(wk_importer *im, const wk_value *w) {
  uint32_t role = 0;
  wk_dtype t = w->type.dtype;
  if (!im->quantised) find_quantised(im);
  if (!wk_map_get(im->quantised, w->name, &role)) role = 0;
  if (role == 'c' && wk_dtype_is_int(t)) return im->opt->codes;
  return (role != 'p' || im->opt->purpose == WK_FOR_DERIVATIVES) && wk_dtype_is_float(t) &&
         !wk_dtype_is_narrow(t);
}

void wk_training_weight(wk_importer *im, const wk_graph *g, wk_value_id v, bool is_node) {
  const wk_value *w = wk_val(g, v);
  if (!im->weights || !is_weight(im, w)) return;
  const wk_import_weight one = {.name = wk_arena_strdup(im->rep->arena, w->name), .type = w->type,
                                .is_node = is_node};
  wk_map_put(im->weights, w->name, (uint32_t)im->rep->weights.n);
  wk_vec_push(&im->rep->weights, one);
}

void wk_training_read(wk_importer *im, const char *name) {
  uint32_t at;
  if (im->weights && wk_map_get(im->weights, name, &at)) im->rep->weights.data[at].is_read = true;
}

bool wk_training_hoist(wk_importer *im, wk_scope *s, const Onnx__TensorProto *t, wk_bound *out,
                       wk_status *status) {
  wk_scope *top = s;
  wk_graph *g = im->m->main;
  uint32_t ignored;
  wk_value_id v;
  while (top->parent) top = top->parent;
  if (im->opt->purpose != WK_FOR_DERIVATIVES || top == s || top->g != g ||
      !wk_dtype_is_float(wk_onnx_elem_type(t->data_type)))
    return false;
  /* no name that a file can have; a body that is imported twice has the tensor once */
  const char *key = wk_arena_printf(im->arena, "\1%p", (const void *)t);
  *status = NULL;
  if (!wk_scope_has(top, key)) {
    bool is_taken = wk_map_get(g->names, t->name, &ignored);
    const char *name = is_taken ? wk_graph_unique_name(g, t->name) : t->name;
    *status = wk_onnx_tensor_constant(im, g, name, t, &v);
    if (*status) return true;
    wk_training_weight(im, g, v, false);
    wk_scope_bind(top, key, wk_bound_tensor(v));
  }
  return wk_scope_find(im, s, key, out);
}

static bool has_weights(const wk_onnx_node *c) {
  const Onnx__GraphProto *g = c->im->model->graph;
  bool found = false;
  for (size_t i = 0; i < g->n_initializer && !found; i++)
    found = wk_dtype_is_float(wk_onnx_elem_type(g->initializer[i]->data_type));
  return found;
}

const char *wk_training_constant(const wk_onnx_node *c, bool *is_node) {
  uint32_t ignored;
  const char *name = c->proto->output[0];
  bool is_main = c->im->weights && c->g == c->im->m->main && !c->scope->parent &&
                 !c->scope->frame->function;
  if (!is_main || wk_map_get(c->g->names, name, &ignored)) return NULL;
  *is_node = has_weights(c);
  return *is_node && c->im->opt->purpose != WK_FOR_DERIVATIVES ? NULL : name;
}

/* ---- statistics ------------------------------------------------------------------------------ */

wk_value_id wk_training_now(const wk_onnx_node *c, wk_value_id v) {
  for (size_t i = 0; i < c->im->moved.n; i++)
    if (c->g == c->im->m->main && c->im->moved.data[i].from == v) return c->im->moved.data[i].to;
  return v;
}

void wk_training_move(wk_onnx_node *c, wk_value_id v, wk_value_id to) {
  if (c->status || c->im->opt->purpose != WK_FOR_TRAINING || !wk_training_keeps(c->im, c->g, v))
    return;
  for (size_t i = 0; i < c->im->moved.n; i++)
    if (c->im->moved.data[i].from == v) {
      c->im->moved.data[i].to = to;
      return;
    }
  const wk_onnx_moved m = {v, to};
  wk_vec_push(&c->im->moved, m);
}

#define KEY "\1key" /* no name that a file can have */

/* In graphs it is called so, too, until all names of the model are known. */
static void name_key(wk_module *m) {
  for (size_t i = 0; i < m->graphs.n; i++) {
    wk_graph *g = m->graphs.data[i];
    for (size_t k = 0; k < g->inputs.n; k++)
      if (!strcmp(wk_val(g, g->inputs.data[k])->name, KEY))
        wk_graph_set_name(g, g->inputs.data[k], wk_graph_unique_name(g, "key"));
  }
}

void wk_training_finish(wk_importer *im, wk_graph *g) {
  wk_arena *a = im->rep->arena;
  for (size_t i = 0; i < im->moved.n; i++) {
    const wk_onnx_moved *m = &im->moved.data[i];
    const char *name = wk_val(g, m->from)->name;
    const wk_statistic out = {wk_arena_strdup(a, name), wk_arena_printf(a, "next(%s)", name)};
    wk_graph_output(g, out.output, m->to);
    wk_vec_push(&im->rep->moved, out);
  }
  name_key(im->m);
  if (im->key != WK_NONE) im->rep->key = wk_arena_strdup(a, wk_val(g, im->key)->name);
}

/* ---- the step's key -------------------------------------------------------------------------- */

/* A scalar of i64, in c's graph. */
static wk_value_id step_key(wk_onnx_node *c) {
  const wk_type scalar = wk_type_make(WK_I64, 0, NULL);
  wk_importer *im = c->im;
  wk_scope *top = c->scope; /* of the model, or of the function whose nodes are imported */
  wk_bound b;
  while (top->parent) top = top->parent;
  if (!wk_onnx_need(c, top->g == im->m->main,
                    "random numbers in a function that a body calls have no key"))
    return WK_NONE;
  if (im->key == WK_NONE) im->key = wk_graph_input(im->m->main, KEY, &scalar);
  if (!wk_scope_has(top, KEY)) wk_scope_bind(top, KEY, wk_bound_tensor(im->key));
  return wk_scope_find(im, c->scope, KEY, &b) ? b.value : WK_NONE;
}

/* ---- Dropout --------------------------------------------------------------------------------- */

typedef struct {
  wk_expr_builder *b;
  uint16_t low; /* the mask of 32 bits */
} philox;

static uint16_t u64(philox *p, uint64_t v) { return wk_expr_i(p->b, WK_U64, (int64_t)v); }

static uint16_t high(philox *p, uint16_t x) {
  return wk_expr_2(p->b, WK_EX_SHR, x, u64(p, 32));
}

static uint16_t low(philox *p, uint16_t x) { return wk_expr_2(p->b, WK_EX_AND, x, p->low); }

/* Word 0 of block `counter` of wk_philox with this key, both u64: the text of wk_philox. */
static uint16_t random_word(philox *p, uint16_t counter, uint16_t key) {
  static const uint64_t factors[2] = {0xD2511F53u, 0xCD9E8D57u}, steps[2] = {0x9E3779B9u,
                                                                            0xBB67AE85u};
  uint16_t x[4] = {low(p, counter), high(p, counter), u64(p, 0), u64(p, 0)};
  uint16_t k[2] = {low(p, key), high(p, key)};
  for (int round = 0; round < 10; round++) {
    uint16_t m = wk_expr_2(p->b, WK_EX_MUL, u64(p, factors[0]), x[0]);
    uint16_t q = wk_expr_2(p->b, WK_EX_MUL, u64(p, factors[1]), x[2]);
    uint16_t a = wk_expr_2(p->b, WK_EX_XOR, high(p, q), x[1]);
    uint16_t b = wk_expr_2(p->b, WK_EX_XOR, high(p, m), x[3]);
    x[0] = wk_expr_2(p->b, WK_EX_XOR, a, k[0]);
    x[1] = low(p, q);
    x[2] = wk_expr_2(p->b, WK_EX_XOR, b, k[1]);
    x[3] = low(p, m);
    for (int i = 0; i < 2; i++)
      k[i] = low(p, wk_expr_2(p->b, WK_EX_ADD, k[i], u64(p, steps[i])));
  }
  return x[0];
}

/* The position of an element in a row-major tensor. */
static uint16_t position(philox *p, const wk_type *t) {
  int64_t strides[WK_MAX_RANK];
  uint16_t at = wk_expr_i(p->b, WK_I64, 0);
  wk_type_strides(t, strides);
  for (int i = 0; i < t->rank; i++) {
    uint16_t stride = wk_expr_i(p->b, WK_I64, strides[i]);
    at = wk_expr_2(p->b, WK_EX_ADD, at,
                   wk_expr_2(p->b, WK_EX_MUL, wk_expr_index(p->b, i), stride));
  }
  return wk_expr_cast(p->b, WK_U64, at);
}

/* Over x and the key: x / (1 - ratio) where (word >> 8) 2^-24 >= ratio, else 0; and whether. The
 * word is that of the element's position, the key that of the step and of this node. */
static const wk_expr *dropout_expr(wk_onnx_node *c, const wk_type *t, double ratio, int64_t seed) {
  wk_expr_builder *b = wk_expr_begin(c->im->m->arena);
  philox p = {.b = b};
  p.low = u64(&p, 0xFFFFFFFFu);
  wk_dtype wide = wk_compute_dtype(t->dtype);
  uint16_t x = wk_expr_cast(b, wide, wk_expr_input(b, 0, t->dtype));
  uint16_t key = wk_expr_cast(b, WK_U64, wk_expr_input(b, 1, WK_I64));
  key = wk_expr_2(b, WK_EX_ADD, key, u64(&p, (uint64_t)seed * 0x9E3779B97F4A7C15u));
  uint16_t word = random_word(&p, position(&p, t), key);
  uint16_t least = u64(&p, (uint64_t)ceil(ratio * 0x1p24));
  uint16_t kept = wk_expr_2(b, WK_EX_GE, wk_expr_2(b, WK_EX_SHR, word, u64(&p, 8)), least);
  uint16_t y = wk_expr_2(b, WK_EX_MUL, x, wk_expr_f(b, wide, 1 / (1 - ratio)));
  y = wk_expr_3(b, WK_EX_SELECT, kept, y, wk_expr_f(b, wide, 0));
  const uint16_t results[] = {wk_expr_cast(b, t->dtype, y), kept};
  return wk_expr_finish(b, results, wk_onnx_wants(c, 1) ? 2 : 1);
}

wk_status wk_onnx_dropout_step(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  double ratio = wk_onnx_float(c, "ratio", 0.5); /* before opset 12 */
  if (wk_onnx_has(c, 1)) ratio = wk_onnx_const_float(c, c->in[1], "the ratio");
  wk_onnx_valid(c, ratio >= 0 && ratio < 1, "the ratio %g is not in 0..1", ratio);
  int64_t seed = wk_make_seed(c);
  wk_value_id in[] = {c->in[0], step_key(c)}, out[2];
  if (!wk_onnx_ok(c)) return c->status;
  WK_MAKE_ATTRS(c, a, MAP, map);
  a->body = dropout_expr(c, &x, ratio, seed);
  wk_make_n(c, WK_OP_MAP, a, in, 2, out, (int)a->body->n_results);
  wk_onnx_result(c, 0, out[0]);
  if (a->body->n_results == 2) wk_onnx_result(c, 1, out[1]);
  return c->status;
}
