/* SPDX-License-Identifier: Apache-2.0
 * ONNX Scan: a counted LOOP over slices. Opset 8 had a batch in front of everything; there the scan
 * runs once per sample. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/control.h"
#include "compiler/onnx/import/extent.h"
#include "compiler/onnx/import/handlers.h"

typedef struct {
  const Onnx__GraphProto *p;
  int n_state, n_scan, n_slices;
  int64_t trip;
  const wk_size *size; /* the number of steps */
  const int64_t *axes, *reverse, *out_axes, *out_reverse;
} scan;

static const int64_t *list(wk_onnx_node *c, const char *name, int64_t n) {
  wk_ints v = wk_onnx_ints(c, name);
  if (v.n < 0) return wk_ints_fill(c->im->m->arena, n, 0).v;
  wk_onnx_valid(c, v.n == n, "%s has %lld entries, not %lld", name, (long long)v.n, (long long)n);
  return wk_ints_dup(c->im->m->arena, v.v, v.n < 0 ? 0 : v.n).v; /* they are changed here */
}

static wk_bound slice_input(wk_onnx_node *c, const wk_body *b, const char *name, wk_value_id x,
                            int64_t axis) {
  const wk_size *dims[WK_MAX_RANK];
  wk_type t = *wk_onnx_type(c, x);
  wk_extent_dims(c, x, dims);
  for (int i = (int)axis; i + 1 < t.rank; i++) {
    t.dims[i] = t.dims[i + 1];
    dims[i] = dims[i + 1];
  }
  t.dims[--t.rank] = 0;
  wk_value_id v = wk_graph_input(b->g, name, &t);
  wk_onnx_node inner = wk_body_node(c, b);
  wk_extent_declare(&inner, v, dims);
  return wk_bound_tensor(v);
}

static bool has_open_size(const scan *s) {
  int64_t known;
  return !wk_size_is_const(s->size, &known);
}

static bool import_body(wk_onnx_node *c, const scan *s, wk_body *b, const wk_value_id *in,
                        wk_bound *out, bool *unknown) {
  if (!wk_body_open(c, s->p, b)) return false;
  size_t n_in = (size_t)(s->n_state + s->n_scan), n_out = (size_t)(s->n_state + s->n_slices);
  wk_bound *inner = wk_arena_alloc(c->im->arena, n_in * sizeof *inner);
  const wk_type i64 = wk_type_make(WK_I64, 0, NULL);
  wk_value_id step = wk_graph_input(b->g, NULL, &i64); /* which Scan does not show */
  for (size_t i = 0; i < n_in; i++) {
    const char *name = s->p->n_input == n_in ? s->p->input[i]->name : NULL;
    if (i < (size_t)s->n_state) {
      inner[i] = wk_bound_tensor(wk_graph_input(b->g, name, wk_onnx_type(c, in[i])));
      wk_body_sizes(c, b, inner[i].value, in[i]);
    } else inner[i] = slice_input(c, b, name, in[i], s->axes[i - (size_t)s->n_state]);
  }
  wk_body_import(c, b, inner, n_in, out, n_out);
  if (!wk_onnx_ok(c) || !wk_body_tensors(c, out, n_out, unknown)) return false;
  for (int k = 0; k < s->n_state && wk_onnx_ok(c); k++) {
    bool is_open = has_open_size(s) || wk_extent_has_open(c->im, c->g, in[k]) ||
                   wk_extent_has_open(c->im, b->g, out[k].value);
    if (!is_open) continue;
    wk_onnx_need(c, wk_body_keeps(c, b, in[k], &out[k].value),
                 "state %d changes its type or size from one step to the next", k);
    if (wk_onnx_ok(c) && has_open_size(s))
      out[k].value = wk_body_until(c, b, step, s->size, inner[k].value, out[k].value);
  }
  return wk_onnx_ok(c);
}

static void add_loop(wk_onnx_node *c, const scan *s, const wk_body *b, const wk_value_id *in,
                     const wk_bound *inner, wk_value_id *out) {
  wk_arena *a = c->im->m->arena;
  WK_MAKE_ATTRS(c, attr, LOOP, loop);
  attr->trip = s->trip;
  attr->n_state = s->n_state;
  attr->n_scan = s->n_scan;
  attr->scan_axes = wk_ints_dup(a, s->axes, s->n_scan);
  attr->scan_reverse = wk_ints_dup(a, s->reverse, s->n_scan);
  attr->out_axes = wk_ints_dup(a, s->out_axes, s->n_slices);
  attr->out_reverse = wk_ints_dup(a, s->out_reverse, s->n_slices);
  WK_VEC(wk_value_id) all = {0};
  wk_vec_push(&all, WK_NONE); /* no condition */
  for (int i = 0; i < s->n_state + s->n_scan; i++) wk_vec_push(&all, in[i]);
  for (size_t i = 0; i < b->scope->captures.n; i++)
    wk_vec_push(&all, b->scope->captures.data[i].outer);
  int n_out = s->n_state + s->n_slices;
  for (int i = 0; i < n_out; i++) wk_graph_output(b->g, s->p->output[i]->name, inner[i].value);
  wk_graph *body = b->g;
  wk_node_desc d = {.op = WK_OP_LOOP,
                    .name = c->name,
                    .attrs = attr,
                    .in = all.data,
                    .n_in = (uint32_t)all.n,
                    .n_out = (uint32_t)n_out,
                    .bodies = &body,
                    .n_bodies = 1};
  wk_onnx_latch(c, wk_graph_add(c->g, &d, out));
  wk_vec_free(&all);
}

/* Results have the sizes of states, and of what is stacked up; reversed, it is at the end of its
 * room. */
static void size_results(wk_onnx_node *c, const scan *s, const wk_body *b, const wk_value_id *in,
                         const wk_bound *inner, wk_value_id *out) {
  for (int i = 0; i < s->n_state; i++) wk_body_result(c, out[i], in[i]);
  for (int i = s->n_state; i < s->n_state + s->n_slices && wk_onnx_ok(c); i++) {
    int axis = (int)s->out_axes[i - s->n_state];
    bool is_behind = s->out_reverse[i - s->n_state] && has_open_size(s);
    const wk_size *all = wk_size_const(c, s->trip);
    wk_body_rows(c, b, inner[i].value, out[i], axis, is_behind ? all : s->size);
    if (is_behind && wk_onnx_ok(c))
      out[i] = wk_extent_window(c, out[i], axis, wk_size_sub(c, all, s->size), 1, s->size);
  }
}

/* One scan over `in` (states, then scanned tensors); out has n_state + n_slices entries. */
static void run_scan(wk_onnx_node *c, scan *s, const wk_value_id *in, wk_value_id *out,
                     bool *unknown) {
  wk_bound *inner =
      wk_arena_alloc(c->im->arena, (size_t)(s->n_state + s->n_slices) * sizeof *inner);
  wk_body b = {0};
  if (import_body(c, s, &b, in, inner, unknown)) {
    for (int i = 0; i < s->n_slices; i++) { /* axes of the stacked result */
      int rank = wk_val(b.g, inner[s->n_state + i].value)->type.rank + 1;
      ((int64_t *)(uintptr_t)s->out_axes)[i] = wk_onnx_axis(c, s->out_axes[i], rank);
    }
    if (wk_onnx_ok(c)) add_loop(c, s, &b, in, inner, out);
    if (wk_onnx_ok(c)) size_results(c, s, &b, in, inner, out);
  }
  wk_body_close(c, &b);
}

/* Steps behind the last one see what it has seen. */
static wk_value_id repeated(wk_onnx_node *c, const scan *s, int i, wk_value_id x) {
  int64_t *reverse = (int64_t *)(uintptr_t)s->reverse;
  wk_value_id at = wk_extent_count(c, s->trip, s->size);
  if (reverse[i]) {
    wk_value_id last = wk_size_value(c, wk_size_plus(c, s->size, -1));
    at = wk_extent_within(c, wk_make_2(c, WK_OP_SUB, last, at), s->size);
    reverse[i] = 0;
  }
  return wk_extent_like(c, wk_make_gather(c, x, at, (int)s->axes[i]), x);
}

/* Axes of the scanned tensors and the number of steps, which tensors are given room for. */
static void measure(wk_onnx_node *c, scan *s, wk_value_id *scanned) {
  int64_t *axes = (int64_t *)(uintptr_t)s->axes;
  s->trip = -1;
  for (int i = 0; i < s->n_scan && wk_onnx_ok(c); i++) {
    const wk_type *t = wk_onnx_type(c, scanned[i]);
    axes[i] = wk_onnx_axis(c, axes[i], t->rank);
    if (!wk_onnx_ok(c)) return;
    const wk_size *size = wk_extent_dim(c, scanned[i], (int)axes[i]);
    int64_t n = t->dims[axes[i]], known;
    if (i > 0 && (has_open_size(s) || !wk_size_is_const(size, &known)))
      wk_extent_same(c, s->size, size);
    else wk_onnx_valid(c, s->trip < 0 || s->trip == n, "scanned inputs differ in length");
    if (i == 0 || n < s->trip) s->trip = n;
    s->size = size;
  }
  for (int i = 0; i < s->n_scan && wk_onnx_ok(c) && has_open_size(s); i++)
    scanned[i] = repeated(c, s, i, wk_extent_room(c, scanned[i], (int)axes[i], s->trip));
}

/* Opset 8: every operand has the batch in front. */
static void scan_batch(wk_onnx_node *c, scan *s, bool *unknown) {
  int n_in = s->n_state + s->n_scan, n_out = s->n_state + s->n_slices;
  wk_arena *a = c->im->arena;
  int64_t batch = wk_onnx_type(c, c->in[1])->rank > 0 ? wk_onnx_type(c, c->in[1])->dims[0] : 0;
  if (!wk_onnx_need(c, batch > 0 && batch <= 64, "a batch of %lld is not supported",
                    (long long)batch))
    return;
  wk_onnx_need(c, !wk_onnx_has(c, 0), "sequence lengths are not supported");
  for (int i = 0; i <= n_in; i++) wk_extent_allow(c, i, 0);
  wk_value_id *in = wk_arena_alloc(a, (size_t)n_in * sizeof *in);
  wk_value_id *out = wk_arena_alloc(a, (size_t)(batch * n_out) * sizeof *out);
  const wk_ints front = {1, (const int64_t[]){0}};
  for (int64_t k = 0; k < batch && wk_onnx_ok(c) && !*unknown; k++) {
    for (int i = 0; i < n_in; i++) {
      const wk_type *t = wk_onnx_type(c, c->in[i + 1]);
      wk_onnx_valid(c, t->rank > 0 && t->dims[0] == batch, "operands differ in their batch");
      in[i] = wk_make_squeeze(c, wk_make_slice(c, c->in[i + 1], 0, k, 1, 1), front);
    }
    if (k == 0) measure(c, s, in + s->n_state);
    if (wk_onnx_ok(c)) run_scan(c, s, in, out + k * n_out, unknown);
  }
  for (int i = 0; i < c->n_out && wk_onnx_ok(c) && !*unknown; i++) {
    wk_value_id *rows = wk_arena_alloc(a, (size_t)batch * sizeof *rows);
    for (int64_t k = 0; k < batch; k++) rows[k] = wk_make_unsqueeze(c, out[k * n_out + i], front);
    wk_onnx_result(c, i, wk_make_concat(c, rows, (int)batch, 0));
  }
}

wk_status wk_onnx_scan(wk_onnx_node *c) {
  bool has_batch = c->opset < 9, unknown = false;
  scan s = {.p = wk_onnx_graph(c, "body"), .n_scan = (int)wk_onnx_int(c, "num_scan_inputs", 0)};
  if (c->status) return c->status;
  int n_in = (int)c->proto->n_input - has_batch;
  if (!wk_onnx_valid(c, s.n_scan > 0 && s.n_scan <= n_in, "%d scan inputs do not fit %d inputs",
                     s.n_scan, n_in)) {
    return c->status;
  }
  s.n_state = n_in - s.n_scan;
  s.n_slices = (int)s.p->n_output - s.n_state;
  for (int i = 0; i < n_in; i++) {
    wk_onnx_valid(c, wk_onnx_has(c, i + has_batch), "input %d is missing", i + has_batch);
  }
  if (!wk_onnx_valid(c, s.n_slices >= 0 && c->n_out <= (int)s.p->n_output,
                     "the body has %zu outputs", s.p->n_output))
    return c->status;
  s.reverse = list(c, has_batch ? "directions" : "scan_input_directions", s.n_scan);
  s.axes = list(c, "scan_input_axes", s.n_scan);
  s.out_axes = list(c, "scan_output_axes", s.n_slices);
  s.out_reverse = list(c, "scan_output_directions", s.n_slices);
  if (!wk_onnx_ok(c)) return c->status;
  if (has_batch) {
    scan_batch(c, &s, &unknown);
  } else {
    wk_value_id *out = wk_arena_alloc(c->im->arena, s.p->n_output * sizeof *out);
    measure(c, &s, c->in + s.n_state);
    if (wk_onnx_ok(c)) run_scan(c, &s, c->in, out, &unknown);
    for (int i = 0; i < c->n_out && wk_onnx_ok(c) && !unknown; i++) wk_onnx_result(c, i, out[i]);
  }
  if (unknown) wk_body_results_unknown(c);
  return c->status;
}
