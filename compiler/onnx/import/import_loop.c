/* SPDX-License-Identifier: Apache-2.0
 * ONNX Loop. The body becomes a graph of its own and the node a LOOP, with these observations:
 *   - inside the body the condition is always true, so it is bound to a constant; when the body
 * then returns a constant the loop is counted, otherwise it runs while the condition holds
 *   - a trip count known only at run time is a condition on the iteration number
 * Where the body does not fit LOOP (a state that changes its shape, a shape that depends on the
 * iteration number, sequences) and the trip count is small, the loop is unrolled instead.
 * A loop over bags of embeddings becomes one node (import_bags.c). */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/control.h"
#include "compiler/onnx/import/extent.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/model.h"

#define UNROLL_MAX 256

typedef struct {
  const Onnx__GraphProto *p;
  int64_t trip;        /* INT64_MAX: unlimited */
  wk_value_id count;   /* WK_NONE: trip says it all; else i64[] computed at run time */
  const wk_size *size; /* the same, of at most `trip`, where there are as many slices; or NULL */
  wk_value_id cond;    /* WK_NONE: true */
  int n_state, n_slices;
  const wk_bound *state;
} loop;

/* ---- unrolled ------------------------------------------------------------------------------ */

static wk_value_id stack_slices(wk_onnx_node *c, const wk_value_id *slices, int64_t n, int stride) {
  wk_value_id *rows = wk_arena_alloc(c->im->arena, (size_t)n * sizeof *rows);
  for (int64_t i = 0; i < n && wk_onnx_ok(c); i++)
    rows[i] = wk_extent_unsqueezed(c, slices[i * stride], 0);
  return wk_onnx_ok(c) ? wk_extent_join(c, rows, (int)n, 0) : WK_NONE;
}

static wk_bound literal(wk_onnx_node *c, wk_dtype t, int64_t v) {
  return wk_bound_tensor(wk_make_scalar(c, t, (double)v));
}

/* True to go on with the next iteration. */
static bool goes_on(wk_onnx_node *c, const wk_bound *cond) {
  if (!wk_onnx_ok(c) || cond->kind != WK_BOUND_TENSOR) return false;
  return wk_onnx_const_int(c, cond->value, "the loop condition") != 0;
}

static void unroll(wk_onnx_node *c, const loop *l) {
  size_t n_in = (size_t)l->n_state + 2, n_out = (size_t)(1 + l->n_state + l->n_slices);
  wk_arena *a = c->im->arena;
  wk_bound *in = wk_arena_alloc(a, n_in * sizeof *in),
           *out = wk_arena_alloc(a, n_out * sizeof *out);
  WK_VEC(wk_value_id) slices = {0};
  int64_t n = 0;
  bool on = true, unknown = false;
  memcpy(in + 2, l->state, (size_t)l->n_state * sizeof *in);
  for (; n < l->trip && on && wk_onnx_ok(c); n++) {
    if (!wk_onnx_need(c, n < UNROLL_MAX, "more than %d iterations to unroll", UNROLL_MAX)) break;
    in[0] = literal(c, WK_I64, n);
    in[1] = literal(c, WK_BOOL, 1);
    wk_body_inline(c, l->p, in, n_in, out, n_out);
    if (!wk_onnx_ok(c)) break;
    for (size_t k = 0; k < n_out; k++) unknown = unknown || out[k].kind == WK_BOUND_UNKNOWN;
    if (unknown) break;
    on = goes_on(c, &out[0]);
    memcpy(in + 2, out + 1, (size_t)l->n_state * sizeof *in);
    for (int k = 0; k < l->n_slices; k++) {
      wk_onnx_need(c, out[1 + l->n_state + k].kind == WK_BOUND_TENSOR,
                   "a scan output is not a tensor");
      wk_vec_push(&slices, out[1 + l->n_state + k].value);
    }
  }
  for (int k = 0; k < c->n_out && !unknown && wk_onnx_ok(c); k++) {
    if (k < l->n_state) c->out[k] = in[2 + k];
    else
      wk_onnx_result(c, k, stack_slices(c, slices.data + (k - l->n_state), n, l->n_slices));
  }
  if (unknown) wk_body_results_unknown(c);
  wk_vec_free(&slices);
}

/* ---- as a LOOP ----------------------------------------------------------------------------- */

typedef struct {
  wk_body body;
  wk_bound *out;       /* condition, states, slices */
  const wk_bound *states; /* as they enter the body */
  wk_value_id iteration;
  bool has_cond;
  int64_t trip;
} attempt;

/* Below the number of iterations: those behind repeat the last one, and change no state. */
static wk_value_id shown_iteration(wk_onnx_node *c, const loop *l, attempt *t) {
  wk_onnx_node inner = wk_body_node(c, &t->body);
  wk_value_id at = l->size ? wk_extent_within(&inner, t->iteration, l->size) : t->iteration;
  c->status = inner.status;
  return at;
}

/* Imports the body with states of the types and sizes that they have at the start. */
static bool import_body(wk_onnx_node *c, const loop *l, attempt *t, bool *unknown) {
  if (!wk_body_open(c, l->p, &t->body)) return false;
  wk_graph *g = t->body.g;
  wk_arena *a = c->im->arena;
  size_t n_in = (size_t)l->n_state + 2, n_out = (size_t)(1 + l->n_state + l->n_slices);
  wk_bound *in = wk_arena_alloc(a, n_in * sizeof *in);
  t->out = wk_arena_alloc(a, n_out * sizeof *t->out);
  const wk_type i64 = wk_type_make(WK_I64, 0, NULL);
  t->iteration = wk_graph_input(g, n_in == l->p->n_input ? l->p->input[0]->name : NULL, &i64);
  in[1] = wk_bound_tensor(wk_graph_scalar(g, WK_BOOL, 1));
  for (int k = 0; k < l->n_state; k++) {
    const char *name = n_in == l->p->n_input ? l->p->input[2 + k]->name : NULL;
    in[2 + k] = wk_bound_tensor(wk_graph_input(g, name, wk_onnx_type(c, l->state[k].value)));
    wk_body_sizes(c, &t->body, in[2 + k].value, l->state[k].value);
  }
  in[0] = wk_bound_tensor(shown_iteration(c, l, t)); /* captures are behind states */
  t->states = in + 2;
  wk_body_import(c, &t->body, in, n_in, t->out, n_out);
  return wk_onnx_ok(c) && wk_body_tensors(c, t->out, n_out, unknown);
}

/* States keep their types and sizes? They have the same room then. */
static bool check_states(wk_onnx_node *c, const loop *l, attempt *t) {
  for (int k = 0; k < l->n_state; k++)
    if (!wk_body_keeps(c, &t->body, l->state[k].value, &t->out[1 + k].value)) return false;
  return true;
}

/* Adds `iteration + 1 < count` to the condition that the body returns. */
static void count_in_body(wk_onnx_node *c, const loop *l, attempt *t) {
  wk_onnx_node inner = wk_body_node(c, &t->body);
  wk_value_id count = wk_scope_capture(t->body.scope, c->g, l->count);
  wk_value_id next = wk_make_add_f(&inner, t->iteration, 1);
  wk_value_id more = wk_make_2(&inner, WK_OP_LESS, next, count);
  wk_value_id cond = t->out[0].value;
  bool is_true = wk_is_const(t->body.g, cond) && !t->has_cond;
  t->out[0].value = is_true ? more : wk_make_2(&inner, WK_OP_AND, cond, more);
  t->has_cond = true;
  wk_onnx_latch(c, inner.status);
}

static void settle_condition(wk_onnx_node *c, const loop *l, attempt *t) {
  wk_onnx_node inner = wk_body_node(c, &t->body);
  wk_value_id cond = wk_make_reshape(&inner, t->out[0].value, 0, NULL);
  wk_onnx_latch(c, inner.status);
  if (c->status) return;
  t->out[0].value = cond;
  t->trip = l->trip;
  t->has_cond = !wk_is_const(t->body.g, cond);
  if (!t->has_cond && !*(const uint8_t *)wk_val(t->body.g, cond)->data && t->trip > 1) t->trip = 1;
  if (l->count != WK_NONE && !l->size) count_in_body(c, l, t);
  t->has_cond = t->has_cond || l->cond != WK_NONE;
  wk_onnx_need(c, t->has_cond || t->trip < INT64_MAX, "the loop never ends");
}

static wk_value_id start_condition(wk_onnx_node *c, const loop *l) {
  wk_value_id cond = l->cond;
  if (l->count != WK_NONE) {
    wk_value_id any = wk_make_2(c, WK_OP_LESS, wk_make_scalar(c, WK_I64, 0), l->count);
    cond = cond == WK_NONE ? any : wk_make_2(c, WK_OP_AND, cond, any);
  }
  return cond == WK_NONE ? wk_make_scalar(c, WK_BOOL, 1) : cond;
}

/* Results of the whole: states as they were, slices along a new axis. */
static void size_results(wk_onnx_node *c, const loop *l, attempt *t, const wk_value_id *out) {
  const wk_size *n = l->size ? l->size : wk_size_const(c, t->trip);
  for (int k = 0; k < l->n_state; k++) wk_body_result(c, out[k], l->state[k].value);
  for (int k = l->n_state; k < l->n_state + l->n_slices && wk_onnx_ok(c); k++)
    wk_body_rows(c, &t->body, t->out[1 + k].value, out[k], 0, n);
}

static void emit_loop(wk_onnx_node *c, const loop *l, attempt *t) {
  wk_arena *a = c->im->m->arena;
  wk_graph *g = t->body.g;
  for (int k = 0; k < l->n_state && l->size && wk_onnx_ok(c); k++)
    t->out[1 + k].value = wk_body_until(c, &t->body, t->iteration, l->size, t->states[k].value,
                                        t->out[1 + k].value);
  WK_MAKE_ATTRS(c, attr, LOOP, loop);
  attr->trip = t->trip;
  attr->n_state = l->n_state;
  attr->has_cond = t->has_cond;
  attr->out_reverse = wk_ints_fill(a, l->n_slices, 0);
  attr->out_axes = wk_ints_fill(a, l->n_slices, 0);
  WK_VEC(wk_value_id) in = {0};
  wk_vec_push(&in, t->has_cond ? start_condition(c, l) : WK_NONE);
  for (int k = 0; k < l->n_state; k++) wk_vec_push(&in, l->state[k].value);
  for (size_t i = 0; i < t->body.scope->captures.n; i++) {
    wk_vec_push(&in, t->body.scope->captures.data[i].outer);
  }
  for (int k = t->has_cond ? 0 : 1; k < 1 + l->n_state + l->n_slices; k++) {
    wk_graph_output(g, l->p->output[k]->name, t->out[k].value);
  }
  int n_out = l->n_state + l->n_slices;
  wk_value_id *out = wk_arena_alloc(c->im->arena, (size_t)n_out * sizeof *out);
  wk_node_desc d = {.op = WK_OP_LOOP, .name = c->name, .attrs = attr, .in = in.data,
                    .n_in = (uint32_t)in.n, .n_out = (uint32_t)n_out, .bodies = &g, .n_bodies = 1};
  if (!c->status) wk_onnx_latch(c, wk_graph_add(c->g, &d, out));
  if (!c->status) size_results(c, l, t, out);
  for (int i = 0; i < c->n_out && !c->status; i++) wk_onnx_result(c, i, out[i]);
  wk_vec_free(&in);
}

/* ---- the choice ---------------------------------------------------------------------------- */

static bool states_are_tensors(const loop *l) {
  for (int k = 0; k < l->n_state; k++) {
    if (l->state[k].kind != WK_BOUND_TENSOR) return false;
  }
  return true;
}

/* What keeps the loop from being unrolled: a count or condition that is only known at run time. The
 * inputs behind both go into the report. */
static void ask_for_count(wk_onnx_node *c, const loop *l) {
  wk_status first = NULL;
  const wk_value_id needed[2] = {l->count, l->cond};
  for (int i = 0; i < 2; i++) {
    if (needed[i] == WK_NONE) continue;
    wk_onnx_const(c, needed[i], i ? "the loop condition" : "the trip count");
    if (first) wk_status_free(c->status);
    else first = c->status;
    c->status = NULL;
  }
  c->status = first;
}

static void import_loop(wk_onnx_node *c, const loop *l) {
  wk_import_mark mark = wk_import_mark_take(c->im);
  int64_t undecided = c->im->undecided;
  bool unknown = false, fits = states_are_tensors(l);
  attempt t = {0};
  if (fits && import_body(c, l, &t, &unknown)) {
    fits = check_states(c, l, &t);
    if (fits) settle_condition(c, l, &t);
    fits = fits && !(t.has_cond && l->n_slices > 0);
    if (fits && wk_onnx_ok(c)) emit_loop(c, l, &t);
  }
  wk_body_close(c, &t.body);
  bool refused = unknown || (c->status && c->status->code == WK_UNSUPPORTED);
  if (!fits || (refused && c->im->undecided > undecided)) {
    wk_status_free(c->status);
    c->status = NULL;
    wk_import_mark_return(c->im, &mark);
    ask_for_count(c, l);
    if (wk_onnx_ok(c)) unroll(c, l);
  } else if (unknown) {
    wk_body_results_unknown(c);
  }
}

/* ---- no iterations ------------------------------------------------------------------------- */

/* The type of scan output k of the body, as an iteration would make it or, where the body cannot be
 * imported, as it is declared; there, sizes that are not known are 0. */
static bool slice_type(wk_onnx_node *c, const loop *l, const attempt *t, int k, wk_type *out) {
  wk_declared d;
  if (t) {
    *out = wk_val(t->body.g, t->out[1 + l->n_state + k].value)->type;
    return true;
  }
  wk_status s = wk_model_declared(l->p->output[1 + l->n_state + k], &d);
  bool is_known = !s && !d.is_sequence && !d.is_optional && d.rank >= 0 && d.dtype;
  wk_status_free(s);
  if (!wk_onnx_need(c, is_known, "a loop without iterations has scan outputs whose type is neither "
                    "known nor declared")) return false;
  *out = wk_type_make(d.dtype, d.rank, d.dims);
  for (int i = 0; i < d.rank; i++) out->dims[i] = d.dims[i] < 0 ? 0 : d.dims[i];
  return true;
}

static void add_empty_slices(wk_onnx_node *c, const loop *l, const attempt *t) {
  for (int k = l->n_state; k < c->n_out && wk_onnx_ok(c); k++) {
    wk_type slice;
    void *data;
    if (!slice_type(c, l, t, k - l->n_state, &slice)) return;
    if (!wk_onnx_need(c, slice.rank < WK_MAX_RANK, "a scan output of rank %d", slice.rank + 1))
      return;
    int64_t dims[WK_MAX_RANK] = {0};
    for (int i = 0; i < slice.rank; i++) dims[i + 1] = slice.dims[i];
    const wk_type empty = wk_type_make(slice.dtype, slice.rank + 1, dims);
    wk_onnx_result(c, k, wk_make_constant(c, &empty, &data));
  }
}

/* The initial states as results, and scan outputs of no slices: a loop that does not run. The body
 * is imported to see what an iteration would make, and dropped. */
static void skip_loop(wk_onnx_node *c, const loop *l) {
  for (int k = 0; k < c->n_out && k < l->n_state; k++) c->out[k] = l->state[k];
  if (c->n_out <= l->n_state) return;
  wk_import_mark mark = wk_import_mark_take(c->im);
  size_t surveyed = c->im->rep->nodes.n;
  attempt t = {0};
  bool unknown = false, fits = states_are_tensors(l) && import_body(c, l, &t, &unknown);
  if (c->status && c->status->code == WK_UNSUPPORTED) {
    wk_status_free(c->status);
    c->status = NULL;
  }
  if (wk_onnx_ok(c)) add_empty_slices(c, l, fits ? &t : NULL);
  wk_body_close(c, &t.body);
  wk_import_mark_return(c->im, &mark);
  wk_survey_forget(c->im, surveyed);
}

/* Slices as many as the size that the count is: the loop goes on to the most that it can be. */
static void find_size(wk_onnx_node *c, loop *l) {
  int64_t n;
  const wk_size *const *size = wk_extent_elements(c, c->in[0], &n);
  if (!size || c->im->opt->purpose != WK_FOR_INFERENCE) return;
  l->size = wk_size_max(c, size[0], wk_size_const(c, 0));
  l->trip = wk_size_most(c, l->size);
}

/* ---- the whole ----------------------------------------------------------------------------- */

wk_status wk_onnx_loop(wk_onnx_node *c) {
  loop l = {.p = wk_onnx_graph(c, "body"), .trip = INT64_MAX, .count = WK_NONE, .cond = WK_NONE};
  if (c->status) return c->status;
  l.n_state = c->proto->n_input > 2 ? (int)c->proto->n_input - 2 : 0;
  l.state = c->bound + 2;
  l.n_slices = (int)l.p->n_output - 1 - l.n_state;
  if (!wk_onnx_valid(c, l.n_slices >= 0 && c->n_out <= l.n_state + l.n_slices,
                     "the body has %zu outputs", l.p->n_output)) return c->status;
  if (wk_onnx_has(c, 0)) {
    l.count = wk_make_reshape(c, wk_make_cast(c, c->in[0], WK_I64), 0, NULL);
    if (l.count != WK_NONE && wk_is_const(c->g, l.count)) {
      l.trip = wk_onnx_const_int(c, l.count, "the trip count");
      l.count = WK_NONE;
    } else if (l.n_slices > 0 && wk_onnx_ok(c)) {
      find_size(c, &l);
    }
  }
  if (wk_onnx_has(c, 1)) {
    l.cond = wk_make_reshape(c, c->in[1], 0, NULL);
    if (l.cond != WK_NONE && wk_is_const(c->g, l.cond)) {
      if (!*(const uint8_t *)wk_val(c->g, l.cond)->data) l.trip = 0;
      l.cond = WK_NONE;
    }
  }
  if (!wk_onnx_ok(c)) return c->status;
  bool is_counted = l.count == WK_NONE && l.cond == WK_NONE && l.trip < INT64_MAX;
  if (l.trip <= 0) skip_loop(c, &l);
  else if (!is_counted || !wk_onnx_loop_of_bags(c, l.p, l.trip)) import_loop(c, &l);
  return c->status;
}
