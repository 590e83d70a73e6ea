/* SPDX-License-Identifier: Apache-2.0 */
/* IF and LOOP over graphs. */
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/handler.h"

static bool is_true(const wk_tensor *t) { return wk_load_i64(t->data, t->type.dtype, 0) != 0; }

static void free_all(wk_tensor *t, size_t n) {
  for (size_t i = 0; i < n; i++) wk_tensor_free(&t[i]);
}

static void copy_out(wk_tensor *to, const wk_tensor *from) {
  if (to) memcpy(to->data, from->data, (size_t)wk_type_bytes(&to->type));
}

wk_status wk_eval_if(const wk_eval_call *c) {
  const wk_graph *body = c->a.node->bodies[is_true(&c->a.in[0]) ? 0 : 1];
  wk_tensor *out = wk_xcalloc(body->outputs.n, sizeof *out);
  wk_status s = wk_eval_graph_at(body, c->a.in + 1, out, c->hook, c->ctx, c->depth + 1);
  for (uint32_t k = 0; !s && k < c->n_out; k++) copy_out(wk_eval_out(c, k), &out[k]);
  free_all(out, body->outputs.n);
  free(out);
  return s;
}

/* ---- LOOP ------------------------------------------------------------------------------------ */

typedef struct {
  const wk_eval_call *c;
  const wk_attr_loop *a;
  const wk_graph *body;
  uint32_t n_state, n_scan, first; /* first: outputs of the body before the states */
  int64_t i;
  wk_tensor *in, *out;             /* of the body */
  wk_tensor *state;                /* what the loop owns of them; data NULL: still the caller's */
  wk_tensor *slice;
} loop;

/* Slice `at` of `whole` along the axis, as an operand with the dims of one slice. */
static wk_operand slice_of(const wk_tensor *whole, int64_t axis, int64_t at) {
  wk_operand w = wk_operand_dense(whole), s = w;
  s.base += at * w.strides[axis] * wk_dtype_size(w.dtype);
  for (int k = (int)axis; k + 1 < whole->type.rank; k++) s.strides[k] = w.strides[k + 1];
  return s;
}

static int64_t slice_index(const loop *l, bool reverse) {
  return reverse ? l->a->trip - 1 - l->i : l->i;
}

static wk_status loop_begin(loop *l) {
  const wk_eval_call *c = l->c;
  l->in[0] = (wk_tensor){wk_type_make(WK_I64, 0, NULL), &l->i};
  for (uint32_t k = 1; k < c->n_in; k++) l->in[k] = c->a.in[k];
  for (uint32_t k = 0; k < l->n_scan; k++) {
    uint32_t at = 1 + l->n_state + k;
    WK_TRY(wk_tensor_alloc(&wk_val(l->body, l->body->inputs.data[at])->type, &l->slice[k]));
    l->in[at] = l->slice[k];
  }
  return NULL;
}

static void read_slices(loop *l) {
  for (uint32_t k = 0; k < l->n_scan; k++) {
    const wk_tensor *whole = &l->c->a.in[1 + l->n_state + k], *slice = &l->slice[k];
    int64_t at = slice_index(l, l->a->scan_reverse.v[k] != 0);
    wk_operand from = slice_of(whole, l->a->scan_axes.v[k], at), to = wk_operand_dense(slice);
    wk_operand_copy(slice->type.rank, slice->type.dims, &to, &from);
  }
}

static void write_slices(loop *l) {
  for (uint32_t k = l->n_state; k < l->c->n_out; k++) {
    wk_tensor *whole = wk_eval_out(l->c, k), *slice = &l->out[l->first + k];
    uint32_t s = k - l->n_state;
    if (!whole) continue;
    int64_t at = slice_index(l, l->a->out_reverse.v[s] != 0);
    wk_operand from = wk_operand_dense(slice), to = slice_of(whole, l->a->out_axes.v[s], at);
    wk_operand_copy(slice->type.rank, slice->type.dims, &to, &from);
  }
}

/* The new states replace the old ones; everything else that the body gave is freed. */
static void next_states(loop *l) {
  for (uint32_t k = 0; k < l->n_state; k++) {
    wk_tensor_free(&l->state[k]);
    l->state[k] = l->in[1 + k] = l->out[l->first + k];
    l->out[l->first + k].data = NULL;
  }
  free_all(l->out, l->body->outputs.n);
}

static wk_status loop_run(loop *l) {
  const wk_eval_call *c = l->c;
  WK_TRY(loop_begin(l));
  bool more = !wk_eval_in(c, 0) || is_true(&c->a.in[0]);
  for (l->i = 0; more && l->i < l->a->trip; l->i++) {
    read_slices(l);
    WK_TRY(wk_eval_graph_at(l->body, l->in, l->out, c->hook, c->ctx, c->depth + 1));
    if (l->first) more = is_true(&l->out[0]);
    write_slices(l);
    next_states(l);
  }
  for (uint32_t k = 0; k < l->n_state; k++) copy_out(wk_eval_out(c, k), &l->in[1 + k]);
  return NULL;
}

wk_status wk_eval_loop(const wk_eval_call *c) {
  const wk_attr_loop *a = c->a.node->attrs;
  loop l = {.c = c, .a = a, .body = c->a.node->bodies[0], .n_state = (uint32_t)a->n_state,
            .n_scan = (uint32_t)a->n_scan, .first = a->has_cond ? 1 : 0};
  l.in = wk_xcalloc(l.body->inputs.n, sizeof *l.in);
  l.out = wk_xcalloc(l.body->outputs.n, sizeof *l.out);
  l.state = wk_xcalloc(l.n_state, sizeof *l.state);
  l.slice = wk_xcalloc(l.n_scan, sizeof *l.slice);
  wk_status s = loop_run(&l);
  free_all(l.state, l.n_state);
  free_all(l.slice, l.n_scan);
  free(l.in);
  free(l.out);
  free(l.state);
  free(l.slice);
  return s;
}
