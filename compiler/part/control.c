/* SPDX-License-Identifier: Apache-2.0
 * Branches and loops as rows of the plan. What a body gets and leaves are tensors of the plan:
 * captures are those of the outside, results of a branch are written where the node's are, a loop's
 * states live in the node's results from its beginning to its end. */
#include <stdlib.h>

#include "compiler/part/cut.h"

/* ---- what can be ----------------------------------------------------------------------------- */

static bool all_zero(wk_ints x) {
  for (int64_t i = 0; i < x.n; i++)
    if (x.v[i]) return false;
  return true;
}

static bool is_shared(const wk_graph *g, const wk_graph *body) {
  int users = 0;
  for (size_t k = 0; k < g->module->graphs.n; k++) {
    const wk_graph *x = g->module->graphs.data[k];
    for (size_t i = 0; i < x->nodes.n; i++)
      for (uint32_t b = 0; b < x->nodes.data[i].n_bodies; b++)
        users += x->nodes.data[i].bodies[b] == body;
  }
  return users > 1;
}

bool wk_cut_can_control(const wk_graph *g, const wk_node *n) {
  for (uint32_t b = 0; b < n->n_bodies; b++)
    if (is_shared(g, n->bodies[b])) return false;
  if (n->predicate != WK_NONE) return false;
  if (n->op == WK_OP_IF) return true;
  if (n->op != WK_OP_LOOP) return false;
  const wk_attr_loop *a = n->attrs;
  return all_zero(a->scan_axes) && all_zero(a->out_axes);
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct {
  wk_cut *c;
  wk_graph *g;
  const wk_node *n;
  uint32_t *outer; /* tensors of g's values */
  uint32_t *result; /* tensors of n's results */
  wk_graph *body;
  uint32_t *inner; /* tensors of the body's */
} control;

static uint32_t *no_tensors(wk_cut *c, const wk_graph *g) {
  uint32_t *t = wk_arena_alloc(c->scratch, g->values.n * sizeof *t);
  for (size_t v = 0; v < g->values.n; v++) t[v] = WK_NONE;
  return t;
}

/* A constant of the outside becomes one of the body while it is cut; everything else is handed
 * in. */
static void hand_in(control *x, wk_value_id from, wk_value_id to) {
  if (wk_is_const(x->g, from)) {
    wk_cut_constant_input c = {x->body, to};
    wk_vec_push(&x->c->constant_inputs, c);
    wk_owners_forget(x->c->owners);
    wk_val(x->body, to)->kind = WK_VALUE_CONSTANT;
    wk_val(x->body, to)->data = wk_val(x->g, from)->data;
  } else {
    x->inner[to] = x->outer[from];
  }
}

void wk_cut_restore_inputs(wk_cut *c) {
  if (c->constant_inputs.n) wk_owners_forget(c->owners);
  for (size_t i = 0; i < c->constant_inputs.n; i++) {
    wk_value *v = wk_val(c->constant_inputs.data[i].body, c->constant_inputs.data[i].input);
    v->kind = WK_VALUE_INPUT;
    v->data = NULL;
  }
  wk_vec_free(&c->constant_inputs);
}

/* A row-major tensor that holds v of graph g. */
static wk_status need_tensor(wk_cut *c, const wk_graph *g, uint32_t *tensor, wk_value_id v,
                             uint32_t *out) {
  *out = tensor[v];
  if (*out != WK_NONE) return wk_cut_in_layout(c, &wk_cut_row_major_layout, WK_NONE, out);
  *out = wk_cut_edge(c, wk_val(g, v)->name, &wk_val(g, v)->type, NULL);
  return wk_cut_constant(c, g, v, *out);
}

/* v of graph g goes to tensor `to`, wherever it comes from. */
static wk_status deliver(wk_cut *c, const wk_graph *g, const uint32_t *tensor, wk_value_id v,
                         uint32_t to) {
  if (wk_is_const(g, v)) return wk_cut_constant(c, g, v, to);
  return tensor[v] == to ? NULL : wk_cut_copy(c, tensor[v], to, WK_NONE);
}

/* Tensors for the results, also for those that nobody wants. */
static void make_results(control *x) {
  const wk_graph *body = x->n->bodies[0];
  size_t skipped = body->outputs.n - x->n->n_out; /* a loop's condition */
  x->result = wk_arena_alloc(x->c->scratch, x->n->n_out * sizeof *x->result);
  for (uint32_t k = 0; k < x->n->n_out; k++) {
    wk_value_id v = x->n->out[k];
    if (v == WK_NONE) { /* of slices: one is room enough, as none is copied */
      const wk_value *unused = wk_val(body, body->outputs.data[skipped + k]);
      x->result[k] = wk_cut_edge(x->c, unused->name, &unused->type, NULL);
      continue;
    }
    if (x->outer[v] == WK_NONE)
      x->outer[v] = wk_cut_edge(x->c, wk_val(x->g, v)->name, &wk_val(x->g, v)->type, NULL);
    x->result[k] = x->outer[v];
  }
}

static uint32_t rows_since(const wk_cut *c, size_t first) {
  return (uint32_t)(c->p->rows.n - first);
}

static wk_status branch(control *x, uint32_t b, uint32_t *count) {
  size_t first = x->c->p->rows.n, entered = wk_cut_enter(x->c);
  x->body = x->n->bodies[b];
  x->inner = no_tensors(x->c, x->body);
  for (uint32_t k = 1; k < x->n->n_in; k++)
    hand_in(x, x->n->in[k], x->body->inputs.data[k - 1]);
  for (uint32_t k = 0; k < x->n->n_out; k++) {
    wk_value_id v = x->body->outputs.data[k];
    if (wk_val(x->body, v)->kind == WK_VALUE_NODE && x->inner[v] == WK_NONE)
      x->inner[v] = x->result[k];
  }
  WK_TRY(wk_cut_graph(x->c, x->body, x->inner));
  for (uint32_t k = 0; k < x->n->n_out && !x->c->unsupported; k++)
    WK_TRY(deliver(x->c, x->body, x->inner, x->body->outputs.data[k], x->result[k]));
  *count = rows_since(x->c, first);
  wk_cut_leave(x->c, entered);
  return NULL;
}

static wk_status if_rows(control *x) {
  wk_part_row r = {.kind = WICK_ROW_IF};
  uint32_t cond;
  WK_TRY(need_tensor(x->c, x->g, x->outer, x->n->in[0], &cond));
  wk_vec_push(&r.tensors, cond);
  size_t owner = x->c->p->rows.n;
  wk_vec_push(&x->c->p->rows, r);
  uint32_t then_count, else_count;
  WK_TRY(branch(x, 0, &then_count));
  WK_TRY(branch(x, 1, &else_count));
  x->c->p->rows.data[owner].body_count = then_count;
  x->c->p->rows.data[owner].else_count = else_count;
  return NULL;
}

/* ---- loops ----------------------------------------------------------------------------------- */
/* Inputs of the node: condition (may be left out), states, scans, captures; of the body: number of
 * the iteration, states, slices, captures. Outputs of the body: condition where there is one,
 * states, slices; of the node: states, collected slices. */

static int64_t slice_bytes(const wk_graph *g, wk_value_id v) {
  return wk_type_bytes(&wk_val(g, v)->type);
}

/* One slice per iteration, forwards or backwards. */
static void copy_slice(wk_cut *c, uint32_t from, uint32_t to, int64_t bytes, int64_t trip,
                       bool reverse, bool gathers) {
  wk_part_row r = {.kind = WICK_ROW_COPY, .bytes = bytes};
  int64_t offset = reverse ? (trip - 1) * bytes : 0, step = reverse ? -bytes : bytes;
  if (bytes == 0 || trip == 0) return;
  *(gathers ? &r.destination_offset : &r.source_offset) = offset;
  *(gathers ? &r.destination_step : &r.source_step) = step;
  wk_vec_push(&r.tensors, from);
  wk_vec_push(&r.tensors, to);
  wk_vec_push(&c->p->rows, r);
}

static bool reversed(wk_ints x, int64_t k) { return k < x.n && x.v[k]; }

typedef struct {
  uint32_t states, scans, outs, has_cond; /* counts; 0 or 1 */
  uint32_t cond;                          /* tensor */
} loop;

static wk_status before_loop(control *x, loop *l) {
  wk_cut *c = x->c;
  const wk_value_id cond = x->n->in[0], *in = x->n->in + 1;
  if (l->has_cond) {
    wk_type t = wk_type_make(WK_BOOL, 0, NULL);
    l->cond = wk_cut_edge(c, "condition", &t, NULL);
    WK_TRY(cond == WK_NONE ? wk_cut_true(c, l->cond) : deliver(c, x->g, x->outer, cond, l->cond));
  }
  for (uint32_t k = 0; k < l->states; k++)
    WK_TRY(deliver(c, x->g, x->outer, in[k], x->result[k]));
  for (uint32_t k = 0; k < l->scans; k++) {
    wk_value_id v = in[l->states + k];
    WK_TRY(need_tensor(c, x->g, x->outer, v, &x->outer[v]));
  }
  return NULL;
}

static void begin_iteration(control *x, const loop *l) {
  const wk_attr_loop *a = x->n->attrs;
  const wk_value_id *given = x->body->inputs.data + 1;
  for (uint32_t k = 0; k < l->states; k++) x->inner[given[k]] = x->result[k];
  for (uint32_t k = 0; k < l->scans; k++) {
    wk_value_id slice = given[l->states + k];
    x->inner[slice] =
        wk_cut_edge(x->c, wk_val(x->body, slice)->name, &wk_val(x->body, slice)->type,
                                  NULL);
    copy_slice(x->c, x->outer[x->n->in[1 + l->states + k]], x->inner[slice],
               slice_bytes(x->body, slice), a->trip, reversed(a->scan_reverse, k), false);
  }
  for (uint32_t k = 1 + l->states + l->scans; k < x->n->n_in; k++)
    hand_in(x, x->n->in[k], given[k - 1]);
}

/* All new states, and the condition, are there before the first old one goes: they may be old
 * values. */
static wk_status end_iteration(control *x, const loop *l) {
  const wk_attr_loop *a = x->n->attrs;
  wk_cut *c = x->c;
  const wk_value_id *made = x->body->outputs.data + l->has_cond;
  uint32_t *fresh = wk_arena_alloc(c->scratch, l->states * sizeof *fresh), slice;
  for (uint32_t k = 0; k < l->states; k++) {
    fresh[k] = x->inner[made[k]];
    if (wk_val(x->body, made[k])->kind == WK_VALUE_NODE) continue;
    fresh[k] = wk_cut_edge(c, "state", &wk_val(x->body, made[k])->type, NULL);
    WK_TRY(deliver(c, x->body, x->inner, made[k], fresh[k]));
  }
  for (uint32_t k = 0; k < l->outs; k++) {
    wk_value_id v = made[l->states + k];
    if (x->n->out[l->states + k] == WK_NONE) continue;
    WK_TRY(need_tensor(c, x->body, x->inner, v, &slice));
    copy_slice(c, slice, x->result[l->states + k], slice_bytes(x->body, v), a->trip,
               reversed(a->out_reverse, k), true);
  }
  if (l->has_cond)
    WK_TRY(deliver(c, x->body, x->inner, x->body->outputs.data[0], l->cond));
  for (uint32_t k = 0; k < l->states; k++) WK_TRY(wk_cut_copy(c, fresh[k], x->result[k], WK_NONE));
  return NULL;
}

static wk_status loop_rows(control *x) {
  const wk_attr_loop *a = x->n->attrs;
  wk_cut *c = x->c;
  loop l = {.states = (uint32_t)a->n_state, .scans = (uint32_t)a->n_scan,
            .outs = x->n->n_out - (uint32_t)a->n_state, .has_cond = (uint32_t)a->has_cond,
            .cond = WK_NONE};
  wk_part_row r = {.kind = WICK_ROW_LOOP, .trip = a->trip};
  x->body = x->n->bodies[0];
  x->inner = no_tensors(c, x->body);
  WK_TRY(before_loop(x, &l));
  wk_value_id number = x->body->inputs.data[0];
  x->inner[number] = wk_cut_edge(c, "iteration", &wk_val(x->body, number)->type, NULL);
  wk_vec_push(&r.tensors, l.cond);
  wk_vec_push(&r.tensors, x->inner[number]);
  size_t owner = c->p->rows.n, entered = wk_cut_enter(c);
  wk_vec_push(&c->p->rows, r);
  begin_iteration(x, &l);
  WK_TRY(wk_cut_graph(c, x->body, x->inner));
  if (!c->unsupported) WK_TRY(end_iteration(x, &l));
  wk_cut_leave(c, entered);
  c->p->rows.data[owner].body_count = rows_since(c, owner + 1);
  return NULL;
}

wk_status wk_cut_control_rows(wk_cut *c, wk_graph *g, wk_node_id id, uint32_t *tensor) {
  control x = {.c = c, .g = g, .n = wk_nod(g, id), .outer = tensor};
  for (uint32_t k = 0; k < x.n->n_in; k++) /* before rows of bodies are added */
    if (x.n->in[k] != WK_NONE && !wk_is_const(g, x.n->in[k]))
      WK_TRY(wk_cut_find_tensor(c, g, tensor, x.n->in[k]));
  make_results(&x);
  return x.n->op == WK_OP_IF ? if_rows(&x) : loop_rows(&x);
}
