/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/control.h"
#include "compiler/onnx/import/extent.h"
#include "compiler/onnx/import/handlers.h"

/* A size of a result in each branch, of which the condition chooses. */
typedef struct {
  const wk_size *of[2];
} choice;

typedef struct {
  const Onnx__GraphProto *p[2];
  const char *why[2];           /* a branch does not fit the shapes: what is wrong */
  wk_body body[2];
  wk_bound *out[2];
  WK_VEC(wk_value_id) captures; /* values of the graph around, each once */
  choice (*sizes)[WK_MAX_RANK]; /* of the results */
  WK_VEC(choice) choices;       /* each once; outputs behind those of the node */
} branches;

static void union_captures(branches *b) {
  for (int k = 0; k < 2; k++) {
    const wk_scope *s = b->body[k].scope;
    for (size_t i = 0; i < s->captures.n; i++) {
      wk_value_id v = s->captures.data[i].outer;
      bool has = false;
      for (size_t j = 0; j < b->captures.n; j++) has = has || b->captures.data[j] == v;
      if (!has) wk_vec_push(&b->captures, v);
    }
  }
}

/* Both bodies get the same inputs in the same order. */
static void align_inputs(wk_onnx_node *c, branches *b, int k) {
  wk_scope *s = b->body[k].scope;
  wk_graph *g = b->body[k].g;
  WK_VEC(wk_value_id) inputs = {0};
  for (size_t i = 0; i < b->captures.n; i++) {
    wk_value_id inner = WK_NONE;
    for (size_t j = 0; j < s->captures.n && inner == WK_NONE; j++) {
      if (s->captures.data[j].outer == b->captures.data[i]) inner = s->captures.data[j].inner;
    }
    const wk_value *outer = wk_val(c->g, b->captures.data[i]);
    if (inner == WK_NONE) inner = wk_graph_input(g, outer->name, &outer->type);
    wk_vec_push(&inputs, inner);
  }
  for (size_t i = 0; i < inputs.n; i++) g->inputs.data[i] = inputs.data[i];
  wk_vec_free(&inputs);
}

/* ---- sizes that differ, or that a run decides ------------------------------------------------ */

static bool is_one_size(const wk_onnx_node *c, const choice *x) {
  return wk_size_equal(x->of[0], x->of[1]) && wk_size_is_known(c, x->of[0]);
}

static size_t choice_of(branches *b, const choice *x) {
  size_t i = 0;
  while (i < b->choices.n && !(wk_size_equal(b->choices.data[i].of[0], x->of[0]) &&
                               wk_size_equal(b->choices.data[i].of[1], x->of[1])))
    i++;
  if (i == b->choices.n) wk_vec_push(&b->choices, *x);
  return i;
}

static choice sizes_of(wk_onnx_node *c, branches *b, int output, int axis) {
  choice x;
  for (int k = 0; k < 2; k++) {
    wk_onnx_node inner = wk_body_node(c, &b->body[k]);
    x.of[k] = wk_extent_dim(&inner, b->out[k][output].value, axis);
  }
  return x;
}

/* Until the next value of the branch is made. */
static const wk_type *type_of_output(const branches *b, int branch, int output) {
  return &wk_val(b->body[branch].g, b->out[branch][output].value)->type;
}

/* Room for the larger of both, and a choice where the sizes differ. */
static void meet(wk_onnx_node *c, branches *b, int output) {
  int rank[2];
  for (int k = 0; k < 2; k++) rank[k] = type_of_output(b, k, output)->rank;
  for (int axis = 0; rank[0] == rank[1] && axis < rank[0] && wk_onnx_ok(c); axis++) {
    const choice x = b->sizes[output][axis] = sizes_of(c, b, output, axis);
    if (!is_one_size(c, &x)) choice_of(b, &x);
    int64_t room = 0;
    for (int k = 0; k < 2; k++) {
      int64_t own = type_of_output(b, k, output)->dims[axis];
      if (own > room) room = own;
    }
    for (int k = 0; k < 2; k++) {
      wk_onnx_node inner = wk_body_node(c, &b->body[k]);
      b->out[k][output].value = wk_extent_room(&inner, b->out[k][output].value, axis, room);
      c->status = inner.status;
    }
  }
}

/* The choices become sizes of the graph around. */
static void add_sizes(wk_onnx_node *c, branches *b, const wk_value_id *out) {
  const wk_size **sizes = wk_arena_alloc(c->im->arena, (b->choices.n + 1) * sizeof *sizes);
  for (size_t i = 0; i < b->choices.n; i++) {
    const choice *x = &b->choices.data[i];
    wk_unknown u = {.g = c->g, .value = out[c->n_out + (int)i], .most = wk_size_most(c, x->of[0])};
    int64_t least = wk_size_least(c, x->of[0]), most = wk_size_most(c, x->of[1]);
    u.least = wk_size_least(c, x->of[1]) < least ? wk_size_least(c, x->of[1]) : least;
    if (most > u.most) u.most = most;
    u.text = wk_arena_printf(c->im->arena, "if(%s, %zu)", c->name, c->im->extents->unknowns.n);
    sizes[i] = wk_size_unknown(c, &u);
  }
  for (int i = 0; i < c->n_out && wk_onnx_ok(c); i++) {
    const wk_size *dims[WK_MAX_RANK];
    for (int axis = 0; axis < wk_onnx_type(c, out[i])->rank; axis++) {
      const choice x = b->sizes[i][axis];
      dims[axis] = is_one_size(c, &x) ? x.of[0] : sizes[choice_of(b, &x)];
    }
    wk_extent_declare(c, out[i], dims);
  }
}

/* ---- the node -------------------------------------------------------------------------------- */

static void add_outputs(wk_onnx_node *c, branches *b) {
  b->sizes = wk_arena_alloc(c->im->arena, (size_t)(c->n_out + 1) * sizeof *b->sizes);
  for (int i = 0; i < c->n_out; i++) {
    if (c->im->opt->purpose == WK_FOR_INFERENCE) meet(c, b, i);
    if (c->status) return;
    for (int k = 0; k < 2; k++) {
      wk_graph_output(b->body[k].g, b->body[k].p->output[i]->name, b->out[k][i].value);
    }
    const wk_type *then_type = type_of_output(b, 0, i), *else_type = type_of_output(b, 1, i);
    if (wk_type_equal(then_type, else_type)) continue;
    wk_str text = {0};
    wk_type_print(&text, then_type);
    wk_str_add(&text, " and ");
    wk_type_print(&text, else_type);
    wk_onnx_fail(c, WK_UNSUPPORTED, "output %d has different types in the branches: %s", i, text.s);
    wk_str_free(&text);
  }
}

static void emit_if(wk_onnx_node *c, wk_value_id cond, branches *b) {
  add_outputs(c, b);
  for (size_t i = 0; i < b->choices.n; i++)
    for (int k = 0; k < 2; k++) {
      wk_onnx_node inner = wk_body_node(c, &b->body[k]);
      const char *name = wk_arena_printf(c->im->m->arena, "size(%s, %zu)", c->name, i);
      wk_value_id v = wk_size_value(&inner, b->choices.data[i].of[k]);
      c->status = inner.status;
      if (wk_onnx_ok(c)) wk_graph_output(b->body[k].g, name, v);
    }
  if (c->status) return;
  union_captures(b);
  for (int k = 0; k < 2; k++) align_inputs(c, b, k);
  WK_VEC(wk_value_id) in = {0};
  wk_vec_push(&in, cond);
  for (size_t i = 0; i < b->captures.n; i++) wk_vec_push(&in, b->captures.data[i]);
  size_t n_out = (size_t)c->n_out + b->choices.n;
  wk_value_id *out = wk_arena_alloc(c->im->arena, n_out * sizeof *out);
  wk_graph *bodies[2] = {b->body[0].g, b->body[1].g};
  wk_node_desc d = {.op = WK_OP_IF, .name = c->name, .in = in.data, .n_in = (uint32_t)in.n,
                    .n_out = (uint32_t)n_out, .bodies = bodies, .n_bodies = 2};
  wk_onnx_latch(c, wk_graph_add(c->g, &d, out));
  if (wk_onnx_ok(c) && c->im->opt->purpose == WK_FOR_INFERENCE) add_sizes(c, b, out);
  for (int i = 0; i < c->n_out && wk_onnx_ok(c); i++) wk_onnx_result(c, i, out[i]);
  wk_vec_free(&in);
}

/* ---- branches that cannot run -------------------------------------------------------------- */

/* A branch whose nodes do not fit the shapes bound now would fail whenever it is taken (a model for
 * two sample rates, compiled for the frame size of one). It becomes a branch whose results are
 * NaN. */
static void add_impossible(wk_onnx_node *c, branches *b, int k) {
  wk_body *body = &b->body[k];
  if (!wk_body_open(c, b->p[k], body)) return;
  for (int i = 0; i < c->n_out; i++) {
    const wk_value *like = wk_val(b->body[1 - k].g, b->out[1 - k][i].value);
    const wk_type type = like->type;
    wk_onnx_need(c, wk_dtype_is_float(type.dtype), "a branch cannot run with these shapes");
    wk_value_id v = wk_graph_scalar(body->g, type.dtype, NAN);
    WK_MAKE_ATTRS(c, a, EXPAND, expand);
    a->shape = wk_ints_dup(c->im->m->arena, type.dims, type.rank);
    wk_node_desc d = {
        .op = WK_OP_EXPAND, .name = c->name, .attrs = a, .in = &v, .n_in = 1, .n_out = 1};
    if (wk_onnx_ok(c)) wk_onnx_latch(c, wk_graph_add(body->g, &d, &v));
    b->out[k][i] = wk_bound_tensor(v);
  }
  wk_import_report *r = c->im->rep;
  wk_vec_push(&r->notes, wk_arena_printf(r->arena,
                                         "%s: the %s branch cannot run with these shapes (%s); "
                                         "its results are NaN",
                                         c->name, k ? "else" : "then", b->why[k]));
}

/* False when the branch does not fit; *unknown when the reason is on record already. */
static bool import_branch(wk_onnx_node *c, wk_value_id cond, branches *b, int k, bool *unknown) {
  wk_import_mark mark = wk_import_mark_take(c->im);
  size_t n_out = (size_t)c->n_out;
  b->out[k] = wk_arena_alloc(c->im->arena, n_out * sizeof *b->out[k]);
  if (!wk_body_open(c, b->p[k], &b->body[k])) return false;
  c->im->is_misshapen = false;
  wk_body_import(c, &b->body[k], NULL, 0, b->out[k], n_out);
  for (size_t i = 0; i < n_out && wk_onnx_ok(c); i++) {
    bool is_list = b->out[k][i].kind == WK_BOUND_SEQUENCE || b->out[k][i].kind == WK_BOUND_NOTHING;
    if (is_list && !wk_onnx_const(c, cond, "the condition that chooses a sequence or optional"))
      return false;
  }
  if (wk_onnx_ok(c)) return wk_body_tensors(c, b->out[k], n_out, unknown);
  if (c->status->code != WK_INPUT || !c->im->is_misshapen) return false;
  b->why[k] = wk_arena_strdup(c->im->arena, c->status->message);
  wk_body_close(c, &b->body[k]);
  wk_import_mark_return(c->im, &mark);
  return false;
}

static void import_branches(wk_onnx_node *c, wk_value_id cond, branches *b) {
  bool unknown[2] = {false, false}, ok[2];
  ok[0] = import_branch(c, cond, b, 0, &unknown[0]);
  if (!ok[0] && b->why[0]) { /* the other one may fit */
    wk_status_free(c->status);
    c->status = NULL;
  }
  ok[1] = wk_onnx_ok(c) && import_branch(c, cond, b, 1, &unknown[1]);
  if (ok[0] && !ok[1] && b->why[1]) {
    wk_status_free(c->status);
    c->status = NULL;
  }
  for (int k = 0; k < 2; k++) {
    if (ok[1 - k] && !ok[k] && b->why[k]) {
      add_impossible(c, b, k);
      ok[k] = true;
    }
  }
  if (wk_onnx_ok(c) && ok[0] && ok[1]) emit_if(c, cond, b);
  else if (unknown[0] || unknown[1]) wk_body_results_unknown(c);
  for (int k = 0; k < 2; k++) wk_body_close(c, &b->body[k]);
  wk_vec_free(&b->captures);
  wk_vec_free(&b->choices);
}

wk_status wk_onnx_if(wk_onnx_node *c) {
  branches b = {.p = {wk_onnx_graph(c, "then_branch"), wk_onnx_graph(c, "else_branch")}};
  if (c->status) return c->status;
  wk_value_id cond = c->in[0];
  if (wk_onnx_type(c, cond)->rank > 0) cond = wk_make_reshape(c, cond, 0, NULL);
  if (cond != WK_NONE && wk_is_const(c->g, cond)) {
    bool taken = wk_onnx_const_int(c, cond, "the condition") != 0;
    wk_body_inline(c, b.p[taken ? 0 : 1], NULL, 0, c->out, (size_t)c->n_out);
  } else if (wk_onnx_ok(c)) {
    import_branches(c, cond, &b);
  }
  return c->status;
}
