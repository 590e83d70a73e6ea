/* SPDX-License-Identifier: Apache-2.0
 * Control flow in programs: bodies work on the storage of the values around them.
 *
 * A loop keeps each state in one buffer S: it is initialised before the loop, the body reads it,
 * and the body's new value N is copied back at the end of the body. (The instruction pass
 * `sink-copies` lets the producer of N write S where no later reader of the old state is left.)
 * Slices of scanned inputs and collected outputs are views that step with the iteration. */
#include <string.h>

#include "compiler/lower/generate.h"

static bool is_used(const wk_graph *g, wk_value_id v) {
  for (size_t i = 0; i < g->outputs.n; i++)
    if (g->outputs.data[i] == v) return true;
  for (size_t i = 0; i < g->nodes.n; i++)
    for (uint32_t k = 0; k < g->nodes.data[i].n_in; k++)
      if (g->nodes.data[i].in[k] == v) return true;
  return false;
}

/* A step belongs to the loop around; inside an inner loop the value must stand in plain memory. */
static wk_view without_step(wk_gen *c, wk_block *b, const wk_view *v, const char *name) {
  if (v->step == 0) return *v;
  wk_type t = wk_type_make(v->dtype, v->rank, v->dims);
  wk_view tmp = wk_view_dense(wk_gen_buffer(c, name, wk_type_bytes(&t)), &t, WK_ROLE_IN);
  wk_gen_copy(c, b, &tmp, v, name);
  return tmp;
}

void wk_gen_if(wk_gen *c, wk_gen_graph *gg, const wk_node *n) {
  wk_inst *inst = wk_inst_new(c->p, WK_OP_IF, n->name, 0, 1);
  inst->attrs = wk_attrs_clone(c->p->arena, n->op, n->attrs);
  inst->operands[0] = *wk_gen_storage(c, gg, n->in[0]);
  inst->operands[0].role = WK_ROLE_IN;
  inst->n_bodies = n->n_bodies;
  inst->bodies = wk_arena_alloc(c->p->arena, n->n_bodies * sizeof *inst->bodies);
  wk_view *in = wk_arena_alloc(c->scratch, (n->n_in - 1) * sizeof *in);
  wk_view *out = wk_arena_alloc(c->scratch, n->n_out * sizeof *out);
  for (uint32_t i = 1; i < n->n_in; i++) in[i - 1] = *wk_gen_storage(c, gg, n->in[i]);
  for (uint32_t b = 0; b < n->n_bodies; b++) {
    for (uint32_t k = 0; k < n->n_out; k++) {
      const wk_graph *body = n->bodies[b];
      const wk_value *v = wk_val(body, body->outputs.data[k]);
      out[k] = n->out[k] != WK_NONE
                   ? *wk_gen_storage(c, gg, n->out[k])
                   : wk_view_dense(wk_gen_buffer(c, v->name, wk_type_bytes(&v->type)), &v->type,
                                   WK_ROLE_OUT);
    }
    wk_gen_body(c, n->bodies[b], in, out, &inst->bodies[b]);
  }
  wk_block_append(gg->block, inst);
}

typedef struct {
  const wk_node *n;
  const wk_attr_loop *a;
  const wk_graph *body;
  wk_view *in, *out;     /* storage of the body's inputs and outputs */
  wk_view *state;        /* S of each state */
  wk_view *result;       /* where the node's outputs are collected */
  wk_view cond;
} loop_gen;

/* The state keeps its value: the body hands its input through. */
static bool is_unchanged(const loop_gen *l, uint32_t k, uint32_t first) {
  return l->body->outputs.data[first + k] == l->body->inputs.data[1 + k];
}

static wk_view buffer_for(wk_gen *c, const wk_value *v) {
  return wk_view_dense(wk_gen_buffer(c, v->name, wk_type_bytes(&v->type)), &v->type, WK_ROLE_OUT);
}

/* One slice per iteration of a tensor along axis. */
static wk_view slice_per_iteration(const wk_view *whole, int64_t axis, bool reverse) {
  wk_view w = *whole;
  int64_t bytes = whole->strides[axis] * wk_dtype_size(whole->dtype);
  w.offset += reverse ? (whole->dims[axis] - 1) * bytes : 0;
  w.step = reverse ? -bytes : bytes;
  for (int i = (int)axis; i + 1 < whole->rank; i++) {
    w.dims[i] = whole->dims[i + 1];
    w.strides[i] = whole->strides[i + 1];
  }
  w.rank--;
  w.dims[w.rank] = w.strides[w.rank] = 0;
  return w;
}

static void loop_inputs(wk_gen *c, wk_gen_graph *gg, loop_gen *l) {
  const wk_node *n = l->n;
  uint32_t n_state = (uint32_t)l->a->n_state, n_scan = (uint32_t)l->a->n_scan;
  for (uint32_t i = 1; i < n->n_in; i++) {
    wk_view v = without_step(c, gg->block, wk_gen_storage(c, gg, n->in[i]), n->name);
    uint32_t k = i - 1;
    if (k < n_state) {
      wk_gen_copy(c, gg->block, &l->state[k], &v, n->name);
      l->in[1 + k] = l->state[k];
    } else if (k < n_state + n_scan) {
      uint32_t s = k - n_state;
      wk_gen_count_copy(c, &wk_val(l->body, l->body->inputs.data[1 + k])->type);
      l->in[1 + k] = slice_per_iteration(&v, l->a->scan_axes.v[s], l->a->scan_reverse.v[s] != 0);
    } else {
      l->in[1 + k] = v;
    }
  }
}

static void loop_outputs(wk_gen *c, wk_gen_graph *gg, loop_gen *l) {
  uint32_t n_state = (uint32_t)l->a->n_state, first = l->a->has_cond ? 1 : 0;
  if (first) l->out[0] = buffer_for(c, wk_val(l->body, l->body->outputs.data[0]));
  for (uint32_t k = 0; k < l->n->n_out; k++) {
    const wk_value *inner = wk_val(l->body, l->body->outputs.data[first + k]);
    const wk_view *outer = l->n->out[k] == WK_NONE ? NULL : wk_gen_storage(c, gg, l->n->out[k]);
    if (k < n_state) {
      l->state[k] = outer && outer->step == 0 ? *outer : buffer_for(c, inner);
      l->out[first + k] = is_unchanged(l, k, first) ? l->state[k] : buffer_for(c, inner);
      l->result[k] = l->state[k];
      wk_gen_count_copy(c, &inner->type);
      wk_gen_count_copy(c, &inner->type);
      continue;
    }
    wk_gen_count_copy(c, &inner->type);
    if (outer) {
      wk_type t = wk_type_make(outer->dtype, outer->rank, outer->dims);
      l->result[k] = *outer;
      if (outer->step != 0)
        l->result[k] = wk_view_dense(wk_gen_buffer(c, inner->name, wk_type_bytes(&t)), &t,
                                     WK_ROLE_OUT);
      uint32_t s = k - n_state;
      l->out[first + k] =
          slice_per_iteration(&l->result[k], l->a->out_axes.v[s], l->a->out_reverse.v[s] != 0);
    } else {
      l->out[first + k] = buffer_for(c, inner);
    }
  }
}

static void loop_condition(wk_gen *c, wk_gen_graph *gg, loop_gen *l) {
  l->cond = wk_view_none();
  bool given = l->n->in[0] != WK_NONE;
  if (!l->a->has_cond) return;
  wk_type t = wk_type_make(WK_BOOL, 0, NULL);
  wk_gen_count_copy(c, &t);
  if (given) wk_gen_count_copy(c, &t);
  l->cond = wk_view_dense(wk_gen_buffer(c, "condition", 1), &t, WK_ROLE_INOUT);
  if (given) {
    const wk_view *v = wk_gen_storage(c, gg, l->n->in[0]);
    wk_gen_copy(c, gg->block, &l->cond, v, l->n->name);
    return;
  }
  wk_inst *fill = wk_inst_new(c->p, WK_OP_FILL, l->n->name, 1, 1);
  ((wk_attr_fill *)fill->attrs)->value = 1;
  fill->operands[0] = l->cond;
  fill->operands[0].role = WK_ROLE_OUT;
  wk_block_append(gg->block, fill);
}

static wk_view loop_counter(wk_gen *c, const loop_gen *l) {
  const wk_value *v = wk_val(l->body, l->body->inputs.data[0]);
  return is_used(l->body, l->body->inputs.data[0]) ? buffer_for(c, v) : wk_view_none();
}

static wk_inst *loop_inst(wk_gen *c, wk_gen_graph *gg, loop_gen *l) {
  uint32_t first = l->a->has_cond ? 1 : 0;
  wk_inst *inst = wk_inst_new(c->p, WK_OP_LOOP, l->n->name, 0, 2);
  inst->attrs = wk_attrs_clone(c->p->arena, l->n->op, l->n->attrs);
  loop_condition(c, gg, l);
  l->in[0] = loop_counter(c, l);
  inst->operands[0] = l->cond;
  inst->operands[1] = l->in[0];
  inst->operands[1].role = WK_ROLE_OUT;
  inst->n_bodies = 1;
  inst->bodies = wk_arena_alloc(c->p->arena, sizeof *inst->bodies);
  wk_gen_body(c, l->body, l->in, l->out, &inst->bodies[0]);
  if (first) wk_gen_copy(c, &inst->bodies[0], &l->cond, &l->out[0], l->n->name);
  for (uint32_t k = 0; k < (uint32_t)l->a->n_state; k++)
    wk_gen_copy(c, &inst->bodies[0], &l->state[k], &l->out[first + k], l->n->name);
  return inst;
}

/* A loop that never runs leaves its states as they begin. */
void wk_gen_loop(wk_gen *c, wk_gen_graph *gg, const wk_node *n) {
  loop_gen l = {.n = n, .a = WK_ATTR(n, loop), .body = n->bodies[0]};
  size_t n_in = l.body->inputs.n + 1, n_out = l.body->outputs.n + 1;
  l.in = wk_arena_alloc(c->scratch, n_in * sizeof *l.in);
  l.out = wk_arena_alloc(c->scratch, n_out * sizeof *l.out);
  l.state = wk_arena_alloc(c->scratch, n_out * sizeof *l.state);
  l.result = wk_arena_alloc(c->scratch, n_out * sizeof *l.result);
  loop_outputs(c, gg, &l);
  loop_inputs(c, gg, &l);
  if (l.a->trip > 0) wk_block_append(gg->block, loop_inst(c, gg, &l));
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != WK_NONE)
      wk_gen_copy(c, gg->block, wk_gen_storage(c, gg, n->out[k]), &l.result[k], n->name);
}
