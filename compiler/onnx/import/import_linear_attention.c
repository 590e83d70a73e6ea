/* SPDX-License-Identifier: Apache-2.0
 * LinearAttention: a state [batch, heads, d, e] to which each token adds the product of its key and
 * its value, and from which its queries read; and CausalConvWithState, which stands before it. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import/attention.h"
#include "compiler/onnx/import/handlers.h"

enum { QUERY, KEY, VALUE, DECAY, BETA, OPERANDS };

/* Operands [batch, tokens, heads, rows, columns], f32; one token's without the axis of tokens.
 * decay and beta may be WK_NONE and broadcast. */
typedef struct {
  int64_t batch, tokens, heads, group, d, e;
  double scale;
  wk_value_id in[OPERANDS];
} linear;

/* ---- one token ------------------------------------------------------------------------------- */

/* [.., a, b] -> [.., b, a] where one of them is 1. */
static wk_value_id turned(wk_onnx_node *c, wk_value_id x) {
  wk_type t = *wk_onnx_type(c, x);
  int64_t last = t.dims[t.rank - 1];
  t.dims[t.rank - 1] = t.dims[t.rank - 2];
  t.dims[t.rank - 2] = last;
  return wk_make_reshape(c, x, t.rank, t.dims);
}

/* *state moves on; what the queries [batch, heads, group, d] read, [batch, heads, group, e]. */
static wk_value_id step(wk_onnx_node *c, const linear *l, const wk_value_id *in,
                        wk_value_id *state) {
  if (c->status) return WK_NONE;
  wk_value_id s = *state, v = in[VALUE];
  if (in[DECAY] != WK_NONE)
    s = wk_make_2(c, WK_OP_MUL, s, wk_make_1(c, WK_OP_EXP, turned(c, in[DECAY])));
  if (in[BETA] != WK_NONE) {
    v = wk_make_2(c, WK_OP_SUB, v, wk_make_2(c, WK_OP_MATMUL, in[KEY], s));
    v = wk_make_2(c, WK_OP_MUL, in[BETA], v);
  }
  s = wk_make_2(c, WK_OP_ADD, s, wk_make_2(c, WK_OP_MUL, turned(c, in[KEY]), v));
  *state = s;
  return wk_make_mul_f(c, wk_make_2(c, WK_OP_MATMUL, in[QUERY], s), l->scale);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static wk_value_id single_token(wk_onnx_node *c, const linear *l, wk_value_id *state) {
  wk_value_id in[OPERANDS];
  for (int i = 0; i < OPERANDS; i++) {
    bool has = l->in[i] != WK_NONE;
    in[i] = has ? wk_make_squeeze(c, l->in[i], (wk_ints){1, (const int64_t[]){1}}) : WK_NONE;
  }
  return step(c, l, in, state);
}

/* The body of the loop: the state, then a token of each operand that there is. */
static wk_graph *loop_body(wk_onnx_node *c, const linear *l, const wk_type *state) {
  wk_module *m = c->im->m;
  wk_onnx_node inner = *c;
  inner.g = wk_graph_new(m, wk_arena_printf(m->arena, "%s.%zu", c->name, m->graphs.n));
  const wk_type i64 = wk_type_make(WK_I64, 0, NULL);
  wk_graph_input(inner.g, NULL, &i64);
  wk_value_id s = wk_graph_input(inner.g, "state", state), in[OPERANDS];
  for (int i = 0; i < OPERANDS; i++) {
    in[i] = WK_NONE;
    if (l->in[i] == WK_NONE) continue;
    wk_type t = *wk_onnx_type(c, l->in[i]);
    memmove(t.dims + 1, t.dims + 2, 3 * sizeof *t.dims);
    t.dims[--t.rank] = 0;
    in[i] = wk_graph_input(inner.g, NULL, &t);
  }
  wk_value_id y = step(&inner, l, in, &s);
  wk_onnx_latch(c, inner.status);
  if (c->status) return NULL;
  wk_graph_output(inner.g, "next", s);
  wk_graph_output(inner.g, "read", y);
  return inner.g;
}

static wk_value_id loop_over_tokens(wk_onnx_node *c, const linear *l, wk_value_id *state) {
  if (c->status || !wk_onnx_need(c, c->scope->depth + 1 < WK_GRAPH_MAX_DEPTH,
                                 "graphs are nested more than %d deep", WK_GRAPH_MAX_DEPTH))
    return WK_NONE;
  wk_arena *a = c->im->m->arena;
  wk_graph *body = loop_body(c, l, wk_onnx_type(c, *state));
  if (!body) return WK_NONE;
  wk_value_id in[OPERANDS + 2] = {WK_NONE, *state}, out[2];
  uint32_t n = 2;
  for (int i = 0; i < OPERANDS; i++) {
    if (l->in[i] != WK_NONE) in[n++] = l->in[i];
  }
  WK_MAKE_ATTRS(c, attr, LOOP, loop);
  attr->trip = l->tokens;
  attr->n_state = 1;
  attr->n_scan = n - 2;
  attr->scan_axes = wk_ints_fill(a, n - 2, 1);
  attr->scan_reverse = wk_ints_fill(a, n - 2, 0);
  attr->out_axes = wk_ints_fill(a, 1, 1);
  attr->out_reverse = wk_ints_fill(a, 1, 0);
  const wk_node_desc d = {.op = WK_OP_LOOP, .name = c->name, .attrs = attr, .in = in, .n_in = n,
                          .n_out = 2, .bodies = &body, .n_bodies = 1};
  wk_onnx_latch(c, wk_graph_add(c->g, &d, out));
  if (c->status) return WK_NONE;
  *state = out[0];
  return out[1];
}

/* ---- operands -------------------------------------------------------------------------------- */

/* [batch, tokens, heads * rows * columns] taken apart, in f32. */
static wk_value_id unpacked(wk_onnx_node *c, const linear *l, int i, int64_t heads, int64_t rows,
                            int64_t columns) {
  if (c->status) return WK_NONE;
  const int64_t dims[] = {l->batch, l->tokens, heads, rows, columns};
  const wk_type *t = wk_onnx_type(c, c->in[i]);
  bool fits = t->rank == 3 && t->dims[0] == l->batch && t->dims[1] == l->tokens &&
              t->dims[2] == heads * rows * columns;
  if (!wk_onnx_valid(c, fits, "input %d is not [%lld,%lld,%lld]", i, (long long)l->batch,
                     (long long)l->tokens, (long long)(heads * rows * columns)))
    return WK_NONE;
  return wk_make_cast(c, wk_make_reshape(c, c->in[i], 5, dims), WK_F32);
}

/* Heads from the attributes, sizes from the inputs. */
static void measure(wk_onnx_node *c, linear *l) {
  const wk_type *q = wk_onnx_type(c, c->in[0]), *v = wk_onnx_type(c, c->in[2]);
  int64_t queries = wk_onnx_int(c, "q_num_heads", 0);
  l->heads = wk_onnx_int(c, "kv_num_heads", 0);
  if (!wk_onnx_valid(c, queries > 0 && l->heads > 0 && queries % l->heads == 0,
                     "q_num_heads %lld is no multiple of kv_num_heads %lld", (long long)queries,
                     (long long)l->heads))
    return;
  bool fits = q->rank == 3 && v->rank == 3 && q->dims[2] % queries == 0 &&
              v->dims[2] % l->heads == 0 && q->dims[2] > 0;
  if (!wk_onnx_valid(c, fits, "the heads do not divide the operands' last axis")) return;
  l->batch = q->dims[0];
  l->tokens = q->dims[1];
  l->group = queries / l->heads;
  l->d = q->dims[2] / queries;
  l->e = v->dims[2] / l->heads;
  l->scale = wk_onnx_float(c, "scale", 0);
  if (l->scale == 0) l->scale = 1 / sqrt((double)l->d);
}

/* decay (input 4) and beta (input 5) as the update rule wants them. */
static void read_gates(wk_onnx_node *c, linear *l) {
  static const struct { const char *name; bool decay, beta; } rules[] = {
      {"linear", false, false}, {"gated", true, false}, {"delta", false, true},
      {"gated_delta", true, true}};
  const char *name = wk_onnx_text(c, "update_rule", "gated_delta");
  size_t r = 0;
  while (r < WK_COUNTOF(rules) && strcmp(rules[r].name, name) != 0) r++;
  if (!wk_onnx_valid(c, r < WK_COUNTOF(rules), "update_rule '%s' is not defined", name)) return;
  wk_onnx_valid(c, wk_onnx_has(c, 4) == rules[r].decay, "update_rule '%s' %s a decay", name,
                rules[r].decay ? "needs" : "has not");
  wk_onnx_valid(c, wk_onnx_has(c, 5) == rules[r].beta, "update_rule '%s' %s a beta", name,
                rules[r].beta ? "needs" : "has not");
  if (c->status) return;
  const wk_type *decay = wk_onnx_type(c, c->in[4]), *beta = wk_onnx_type(c, c->in[5]);
  bool per_head = decay->rank == 3 && decay->dims[2] == l->heads;
  bool shared = beta->rank == 3 && beta->dims[2] == 1;
  if (rules[r].decay) l->in[DECAY] = unpacked(c, l, 4, l->heads, 1, per_head ? 1 : l->d);
  if (rules[r].beta) l->in[BETA] = unpacked(c, l, 5, shared ? 1 : l->heads, 1, 1);
}

static wk_value_id start_state(wk_onnx_node *c, const linear *l) {
  const int64_t dims[] = {l->batch, l->heads, l->d, l->e};
  if (c->status) return WK_NONE;
  if (!wk_onnx_has(c, 3)) return wk_make_expand(c, wk_make_scalar(c, WK_F32, 0), 4, dims);
  const wk_type *t = wk_onnx_type(c, c->in[3]);
  bool fits = t->rank == 4;
  for (int i = 0; fits && i < 4; i++) fits = t->dims[i] == dims[i];
  wk_onnx_valid(c, fits, "the past state is not [%lld,%lld,%lld,%lld]", (long long)dims[0],
                (long long)dims[1], (long long)dims[2], (long long)dims[3]);
  return wk_make_cast(c, c->in[3], WK_F32);
}

wk_status wk_onnx_linear_attention(wk_onnx_node *c) {
  wk_dtype t = wk_onnx_type(c, c->in[0])->dtype;
  linear l = {.in = {WK_NONE, WK_NONE, WK_NONE, WK_NONE, WK_NONE}};
  measure(c, &l);
  l.in[QUERY] = unpacked(c, &l, 0, l.heads, l.group, l.d);
  l.in[KEY] = unpacked(c, &l, 1, l.heads, 1, l.d);
  l.in[VALUE] = unpacked(c, &l, 2, l.heads, 1, l.e);
  if (wk_onnx_ok(c)) read_gates(c, &l);
  wk_value_id state = start_state(c, &l);
  wk_value_id y = l.tokens == 1 ? single_token(c, &l, &state) : loop_over_tokens(c, &l, &state);
  const int64_t dims[] = {l.batch, l.tokens, l.heads * l.group * l.e};
  if (c->status) return c->status;
  wk_onnx_result(c, 0, wk_make_cast(c, wk_make_reshape(c, y, 3, dims), t));
  t = wk_onnx_has(c, 3) ? wk_onnx_type(c, c->in[3])->dtype : t;
  wk_onnx_result(c, 1, wk_make_cast(c, state, t));
  return c->status;
}

/* ---- CausalConvWithState --------------------------------------------------------------------- */

wk_status wk_onnx_causal_conv(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]), w = *wk_onnx_type(c, c->in[1]);
  bool fits = x.rank == 3 && w.rank == 3 && w.dims[0] == x.dims[1] && w.dims[1] == 1 &&
              w.dims[2] > 0;
  const char *activation = wk_onnx_text(c, "activation", "none");
  bool silu = strcmp(activation, "silu") == 0 || strcmp(activation, "swish") == 0;
  wk_onnx_valid(c, fits,
                "the operand is not [n,channels,length] or the weights not [channels,1,k]");
  wk_onnx_valid(c, silu || strcmp(activation, "none") == 0, "activation '%s' is not defined",
                activation);
  if (c->status) return c->status;
  int64_t past = w.dims[2] - 1;
  const int64_t dims[] = {x.dims[0], x.dims[1], past};
  const wk_type state = wk_type_make(x.dtype, 3, dims);
  wk_value_id parts[] = {c->in[3], c->in[0]};
  if (!wk_onnx_has(c, 3)) parts[0] = wk_make_expand(c, wk_make_scalar(c, x.dtype, 0), 3, dims);
  wk_onnx_valid(c, wk_type_equal(wk_onnx_type(c, parts[0]), &state),
                "the past state is not [%lld,%lld,%lld] of the operand's type", (long long)dims[0],
                (long long)dims[1], (long long)dims[2]);
  wk_value_id all = past ? wk_make_concat(c, parts, 2, 2) : c->in[0];
  wk_arena *m = c->im->m->arena;
  WK_MAKE_ATTRS(c, a, CONV, conv);
  a->strides = wk_ints_fill(m, 1, 1);
  a->dilations = wk_ints_fill(m, 1, 1);
  a->pads = wk_ints_fill(m, 2, 0);
  a->group = x.dims[1];
  wk_value_id y = wk_make(c, WK_OP_CONV, a, wk_onnx_has(c, 2) ? 3 : 2, all, c->in[1], c->in[2]);
  wk_onnx_result(c, 0, silu ? wk_make_1(c, WK_OP_SILU, y) : y);
  wk_onnx_result(c, 1, wk_make_slice(c, all, 2, x.dims[2], past, 1));
  return c->status;
}
