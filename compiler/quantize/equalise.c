/* SPDX-License-Identifier: Apache-2.0
 * Cross-layer equalisation: y = B relu(A x) does not change when channel i between A and B is
 * divided by s[i] in A and multiplied by it in B. With s = sqrt(range of A's row / range of B's
 * column) both have the same range, so that one scale for all channels wastes less of either. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/quantize/quantize.h"

typedef struct {
  wk_node_id first, second;
  int64_t channels;
} pair;

typedef struct {
  wk_graph *g;
  wk_uses uses;
  bool *own; /* by value: the constant's data is a copy that may be written */
} equaliser;

static bool is_only_use(const equaliser *e, wk_value_id v) {
  return v != WK_NONE && wk_use_count(&e->uses, v) == 1;
}

static bool is_f32_constant(const equaliser *e, wk_value_id v) {
  return wk_is_const(e->g, v) && wk_val(e->g, v)->type.dtype == WK_F32 && is_only_use(e, v);
}

/* Convolution or product of matrices with weights of its own. */
static bool is_scalable(const equaliser *e, const wk_node *n) {
  bool conv = n->op == WK_OP_CONV, matmul = n->op == WK_OP_MATMUL;
  if (n->dead || (!conv && !matmul) || !is_f32_constant(e, n->in[1])) return false;
  if (conv ? WK_ATTR(n, conv)->epilogue != NULL : WK_ATTR(n, matmul)->epilogue != NULL)
    return false;
  if (matmul && wk_val(e->g, n->in[1])->type.rank != 2) return false;
  return n->n_in < 3 || n->in[2] == WK_NONE || is_f32_constant(e, n->in[2]);
}

static wk_node_id only_reader(const equaliser *e, wk_value_id v) {
  return is_only_use(e, v) ? e->uses.uses[e->uses.first[v]].node : WK_NONE;
}

static bool find_pair(const equaliser *e, wk_node_id id, pair *p) {
  const wk_node *a = wk_nod(e->g, id);
  if (!is_scalable(e, a)) return false;
  wk_value_id v = a->out[0];
  wk_node_id next = only_reader(e, v);
  wk_op op = next == WK_NONE ? WK_OP_IDENTITY : wk_nod(e->g, next)->op;
  if (op == WK_OP_RELU || op == WK_OP_LEAKY_RELU) {
    v = wk_nod(e->g, next)->out[0];
    next = only_reader(e, v);
  }
  if (next == WK_NONE) return false;
  const wk_node *b = wk_nod(e->g, next);
  if (b->op != a->op || !is_scalable(e, b) || b->in[0] != v) return false;
  const wk_type *y = &wk_val(e->g, a->out[0])->type;
  *p = (pair){id, next, y->dims[a->op == WK_OP_MATMUL ? y->rank - 1 : 1]};
  return true;
}

/* ---- channels of weights --------------------------------------------------------------------- */

typedef struct {
  int64_t columns, inner, per_group; /* weights are [rows, columns, inner] */
  bool matmul;
} weight_map;

static weight_map map_of(const equaliser *e, const wk_node *n) {
  const wk_type *t = &wk_val(e->g, n->in[1])->type;
  weight_map m = {.columns = t->dims[1], .inner = 1, .matmul = n->op == WK_OP_MATMUL};
  for (int i = 2; i < t->rank; i++) m.inner *= t->dims[i];
  m.per_group = m.matmul ? 1 : t->dims[0] / WK_ATTR(n, conv)->group;
  return m;
}

static int64_t output_channel(const weight_map *m, int64_t i) {
  return m->matmul ? i % m->columns : i / m->inner / m->columns;
}

static int64_t input_channel(const weight_map *m, int64_t i) {
  int64_t row = i / m->inner / m->columns, column = i / m->inner % m->columns;
  return m->matmul ? row : row / m->per_group * m->columns + column;
}

typedef int64_t (*channel_fn)(const weight_map *m, int64_t i);

static void ranges(const equaliser *e, const wk_node *n, channel_fn channel, double *out) {
  const wk_value *w = wk_val(e->g, n->in[1]);
  weight_map m = map_of(e, n);
  int64_t count = wk_type_count(&w->type);
  for (int64_t i = 0; i < count; i++) {
    double x = fabs((double)((const float *)w->data)[i]);
    int64_t c = channel(&m, i);
    out[c] = x > out[c] ? x : out[c];
  }
}

/* The constant's data as memory that may be written. */
static wk_status writable(equaliser *e, wk_value_id v, float **out) {
  wk_value *c = wk_val(e->g, v);
  if (!e->own[v]) {
    void *copy;
    size_t n = (size_t)wk_type_bytes(&c->type);
    WK_TRY(wk_try_malloc(n, &copy));
    memcpy(copy, c->data, n);
    wk_vec_push(&e->g->module->blobs, copy);
    c->data = copy;
    e->own[v] = true;
  }
  *out = (float *)(uintptr_t)c->data;
  return NULL;
}

static wk_status scale_weights(equaliser *e, const wk_node *n, channel_fn channel,
                               const double *factor) {
  float *w;
  weight_map m = map_of(e, n);
  int64_t count = wk_type_count(&wk_val(e->g, n->in[1])->type);
  WK_TRY(writable(e, n->in[1], &w));
  for (int64_t i = 0; i < count; i++) w[i] = (float)((double)w[i] * factor[channel(&m, i)]);
  return NULL;
}

static wk_status scale_bias(equaliser *e, const wk_node *n, int64_t channels,
                            const double *factor) {
  float *b;
  if (n->n_in < 3 || n->in[2] == WK_NONE) return NULL;
  int64_t count = wk_type_count(&wk_val(e->g, n->in[2])->type);
  WK_TRY(writable(e, n->in[2], &b));
  for (int64_t i = 0; i < count; i++) b[i] = (float)((double)b[i] * factor[i % channels]);
  return NULL;
}

static wk_status even_out(equaliser *e, const pair *p) {
  const wk_node *a = wk_nod(e->g, p->first), *b = wk_nod(e->g, p->second);
  double *s = wk_xcalloc(3 * (size_t)p->channels, sizeof *s), *r1 = s + p->channels;
  double *r2 = r1 + p->channels;
  ranges(e, a, output_channel, r1);
  ranges(e, b, input_channel, r2);
  for (int64_t i = 0; i < p->channels; i++) {
    s[i] = r1[i] > 0 && r2[i] > 0 ? sqrt(r1[i] / r2[i]) : 1;
    s[i] = s[i] < 1e-3 ? 1e-3 : s[i] > 1e3 ? 1e3 : s[i];
  }
  wk_status st = scale_weights(e, b, input_channel, s);
  for (int64_t i = 0; i < p->channels; i++) s[i] = 1 / s[i];
  if (!st) st = scale_weights(e, a, output_channel, s);
  if (!st) st = scale_bias(e, a, p->channels, s);
  free(s);
  return st;
}

wk_status wk_quantize_equalise(wk_module *m, int64_t *pairs) {
  enum { ROUNDS = 4 };
  wk_arena *a = wk_arena_new();
  equaliser e = {.g = m->main, .uses = wk_graph_uses(m->main, a)};
  e.own = wk_arena_alloc(a, m->main->values.n);
  wk_status s = NULL;
  *pairs = 0;
  for (int round = 0; round < ROUNDS && !s; round++)
    for (size_t i = 0; i < e.g->nodes.n && !s; i++) {
      pair p;
      if (!find_pair(&e, (wk_node_id)i, &p)) continue;
      s = even_out(&e, &p);
      *pairs += round == 0;
    }
  wk_arena_free(a);
  return s;
}
