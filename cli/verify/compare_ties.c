/* SPDX-License-Identifier: Apache-2.0
 * Quantisations behind operators in floats. What these compute differs between targets in the last
 * bits (sums in another order, another exp), and next to a tie such a bit decides between two steps
 * of the quantisation. Operators that have an integer form know no such ties: their results round
 * by `rescale` alone, and nothing here applies to them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verify/compare.h"

/* ---- expressions ----------------------------------------------------------------------------- */

/* From a result back through the scale, zero point and limits of a quantisation. */
typedef struct {
  double scale;       /* a step of what is rounded, in the result */
  bool is_integer;    /* on the way: what is rounded is quantised, not rounded alone */
  bool is_rounded;    /* `at` is what is rounded; else where the way ends */
  uint16_t at;
} way;

/* An operation: an instruction, or a node of a graph, where constants are inputs. */
typedef struct {
  wk_op op;
  const void *attrs;
  uint32_t n_out;
  const wk_graph *g; /* NULL: of an instruction */
  const wk_node *node;
} operation;

/* The number, where it is one for all elements: a literal, or a scalar of the graph. */
static bool is_constant(const operation *o, const wk_expr *e, uint16_t k, double *out) {
  const wk_expr_node *n = &e->nodes[k];
  if (n->op == WK_EX_CAST) n = &e->nodes[n->arg[0]];
  if (n->op == WK_EX_CONST)
    return *out = wk_dtype_is_float(n->dtype) ? n->imm.f : (double)n->imm.i, true;
  if (n->op != WK_EX_INPUT || !o->g || n->imm.i >= o->node->n_in) return false;
  wk_value_id v = o->node->in[n->imm.i];
  if (v == WK_NONE || !wk_is_const(o->g, v)) return false;
  const wk_value *c = wk_val(o->g, v);
  if (wk_type_count(&c->type) != 1) return false;
  return *out = wk_load_f64(c->data, c->type.dtype, 0), true;
}

/* The operand that varies, of an operation with a constant, and what scale it gives the result;
 * WK_EXPR_MAX_NODES: both vary. */
static uint16_t varying(const operation *o, const wk_expr *e, const wk_expr_node *n,
                        double *scale) {
  double c;
  bool second = is_constant(o, e, n->arg[1], &c);
  *scale = 1;
  if (!second && !is_constant(o, e, n->arg[0], &c)) return WK_EXPR_MAX_NODES;
  if (n->op == WK_EX_MUL) *scale = fabs(c);
  if (n->op == WK_EX_DIV) *scale = second && c != 0 ? 1 / fabs(c) : 0;
  return n->arg[!second];
}

static way way_back(const operation *o, const wk_expr *e, uint16_t from) {
  way w = {.scale = 1, .at = from};
  for (;;) {
    const wk_expr_node *n = &e->nodes[w.at];
    uint16_t next = WK_EXPR_MAX_NODES;
    double scale = 1;
    if (n->op == WK_EX_ROUND) w.is_rounded = true;
    if (n->op == WK_EX_ROUND || n->op == WK_EX_CAST || n->op == WK_EX_SAT) next = n->arg[0];
    else if (n->op == WK_EX_MUL || n->op == WK_EX_DIV || n->op == WK_EX_ADD || n->op == WK_EX_SUB ||
             n->op == WK_EX_MIN || n->op == WK_EX_MAX)
      next = varying(o, e, n, &scale);
    if (next == WK_EXPR_MAX_NODES) return w;
    w.scale *= scale;
    w.is_integer |= !wk_dtype_is_float(n->dtype);
    w.at = next;
    if (w.is_rounded) return w;
  }
}

static bool is_quantised(const way *w) { return w->is_rounded && w->is_integer && w->scale > 0; }

/* Is it an input, scaled or not? Every executor rounds that alike. */
static bool is_input(const operation *o, const wk_expr *e, uint16_t at) {
  const wk_expr_node *n = &e->nodes[at];
  double scale;
  if (n->op == WK_EX_DIV || n->op == WK_EX_MUL) {
    at = varying(o, e, n, &scale);
    if (at == WK_EXPR_MAX_NODES) return false;
    n = &e->nodes[at];
  }
  if (n->op == WK_EX_CAST) n = &e->nodes[n->arg[0]];
  return n->op == WK_EX_INPUT;
}

/* ---- operations ------------------------------------------------------------------------------ */

static const wk_expr *result_expr(const operation *i) {
  switch (i->op) {
    case WK_OP_MAP: return WK_ATTR(i, map)->body;
    case WK_OP_CONV: return WK_ATTR(i, conv)->epilogue;
    case WK_OP_CONV_TRANSPOSE: return WK_ATTR(i, conv_transpose)->epilogue;
    case WK_OP_MATMUL: return WK_ATTR(i, matmul)->epilogue;
    case WK_OP_REDUCE: return WK_ATTR(i, reduce)->post;
    default: return NULL;
  }
}

static bool has_way(const operation *i, uint32_t result, const wk_expr **e, way *w) {
  *e = result_expr(i);
  if (!*e || result >= i->n_out || result >= (*e)->n_results) return false;
  *w = way_back(i, *e, (*e)->results[result]);
  return true;
}

/* Sums of floats come to an epilogue as its first input. */
static bool sums_floats(const operation *i, const wk_expr *e) {
  for (uint32_t k = 0; k < e->n && i->op != WK_OP_MAP; k++)
    if (e->nodes[k].op == WK_EX_INPUT && e->nodes[k].imm.i == 0)
      return wk_dtype_is_float(e->nodes[k].dtype);
  return false;
}

static double step_of(const operation *i, uint32_t result, bool is_alone) {
  const wk_expr *e;
  way w;
  if (!has_way(i, result, &e, &w) || !is_quantised(&w)) return 0;
  return is_alone && !sums_floats(i, e) && is_input(i, e, w.at) ? 0 : w.scale;
}

static bool is_move(wk_op op) {
  return op == WK_OP_COPY || op == WK_OP_FILL || op == WK_OP_GATHER ||
         wk_op_get(op)->cls == WK_CLASS_MOVEMENT;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static operation of_inst(const wk_inst *i) {
  return (operation){i->op, i->attrs, i->n_out, NULL, NULL};
}

double wk_compare_step(const wk_inst *i, uint32_t operand, bool is_alone) {
  const operation o = of_inst(i);
  return step_of(&o, operand, is_alone);
}

/* ---- programs -------------------------------------------------------------------------------- */

static const wk_inst *writer_of(const wk_program *p, uint32_t buffer, size_t before,
                                uint32_t *operand, size_t *at) {
  for (size_t i = before; i-- > 0;) {
    const wk_inst *inst = p->body.insts.data[i];
    for (uint32_t k = 0; k < inst->n_operands; k++)
      if (inst->operands[k].buffer == buffer && inst->operands[k].role != WK_ROLE_IN) {
        *operand = k;
        *at = i;
        return inst;
      }
  }
  return NULL;
}

static bool computes_floats(const wk_inst *i) {
  return i->n_operands > 0 && wk_dtype_is_float(i->operands[0].dtype) && !is_move(i->op) &&
         wk_compare_step(i, 0, false) <= 0;
}

/* Does the instruction quantise what an operator in floats has computed? */
static bool quantises_floats(const wk_program *p, size_t at) {
  const wk_inst *inst = p->body.insts.data[at];
  if (wk_compare_step(inst, 0, true) > 0) return true;
  if (wk_compare_step(inst, 0, false) <= 0) return false;
  for (uint32_t k = inst->n_out; k < inst->n_operands; k++) {
    uint32_t operand;
    size_t by_at;
    const wk_inst *by = writer_of(p, inst->operands[k].buffer, at, &operand, &by_at);
    if (by && computes_floats(by)) return true;
  }
  return false;
}

static bool leaves_needed(const wk_inst *i, const bool *needed) {
  for (uint32_t k = 0; k < i->n_operands; k++) {
    const wk_view *o = &i->operands[k];
    if (o->role != WK_ROLE_IN && o->buffer != WK_NONE && needed[o->buffer]) return true;
  }
  return false;
}

static void add_needs(const wk_inst *i, bool *needed) {
  for (uint32_t k = 0; k < i->n_operands; k++) {
    const wk_view *o = &i->operands[k];
    if (o->role != WK_ROLE_OUT && o->buffer != WK_NONE) needed[o->buffer] = true;
  }
}

/* Does one of the instructions that the buffer comes from do so? */
static bool is_fed_by_floats(const wk_program *p, uint32_t buffer) {
  bool *needed = wk_xcalloc(p->buffers.n, sizeof *needed), is_fed = false;
  needed[buffer] = true;
  for (size_t i = p->body.insts.n; i-- > 0 && !is_fed;) {
    const wk_inst *inst = p->body.insts.data[i];
    if (!leaves_needed(inst, needed)) continue;
    is_fed = quantises_floats(p, i);
    add_needs(inst, needed);
  }
  free(needed);
  return is_fed;
}

/* Where what the instruction moves or dequantises comes from. */
static uint32_t source_of(const wk_inst *i, const wk_expr *e, const way *w) {
  uint32_t from = i->n_out;
  if (!is_move(i->op)) {
    const wk_expr_node *n = &e->nodes[w->at];
    if (i->op != WK_OP_MAP || n->op != WK_EX_INPUT || wk_dtype_is_float(n->dtype)) return WK_NONE;
    from += (uint32_t)n->imm.i;
  }
  return from < i->n_operands ? i->operands[from].buffer : WK_NONE;
}

double wk_compare_output_step(const wk_program *p, uint32_t buffer) {
  uint32_t operand;
  size_t at = p->body.insts.n;
  double scale = 1;
  if (!is_fed_by_floats(p, buffer)) return 0;
  for (const wk_inst *i; (i = writer_of(p, buffer, at, &operand, &at));) {
    const operation o = of_inst(i);
    const wk_expr *e = NULL;
    way w = {.scale = 1};
    if (!is_move(i->op) && !has_way(&o, operand, &e, &w)) return 0;
    scale *= w.scale;
    if (w.is_rounded) return is_quantised(&w) ? scale : 0;
    buffer = source_of(i, e, &w);
    if (buffer == WK_NONE) return 0;
  }
  return 0;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static operation of_node(const wk_graph *g, const wk_node *n) {
  return (operation){n->op, n->attrs, n->n_out, g, n};
}

static bool is_computed_in_floats(const wk_graph *g, wk_value_id v) {
  if (v == WK_NONE || wk_val(g, v)->kind != WK_VALUE_NODE) return false;
  const wk_node *n = wk_nod(g, wk_val(g, v)->node);
  const operation o = of_node(g, n);
  return wk_dtype_is_float(wk_val(g, v)->type.dtype) && !is_move(n->op) &&
         step_of(&o, 0, false) <= 0;
}

static bool feeds_floats(const wk_graph *g, const wk_node *n) {
  const operation o = of_node(g, n);
  if (step_of(&o, 0, true) > 0) return true;
  for (uint32_t k = 0; k < n->n_in && step_of(&o, 0, false) > 0; k++)
    if (is_computed_in_floats(g, n->in[k])) return true;
  return false;
}

typedef struct {
  const wk_graph *g;
  bool *seen; /* of a node */
  WK_VEC(wk_node_id) left;
} ancestors;

static void add_ancestor(ancestors *a, wk_value_id v) {
  if (v == WK_NONE || wk_val(a->g, v)->kind != WK_VALUE_NODE) return;
  wk_node_id n = wk_val(a->g, v)->node;
  if (!a->seen[n]) wk_vec_push(&a->left, n);
  a->seen[n] = true;
}

/* Does one of the nodes that the value comes from quantise floats? */
static bool is_fed_graph(const wk_graph *g, wk_value_id v) {
  ancestors a = {.g = g, .seen = wk_xcalloc(g->nodes.n, sizeof *a.seen)};
  bool is_fed = false;
  add_ancestor(&a, v);
  while (a.left.n > 0 && !is_fed) {
    const wk_node *n = wk_nod(g, a.left.data[--a.left.n]);
    is_fed = feeds_floats(g, n);
    for (uint32_t k = 0; k < n->n_in; k++) add_ancestor(&a, n->in[k]);
  }
  wk_vec_free(&a.left);
  free(a.seen);
  return is_fed;
}

/* Where what the node moves or dequantises comes from. */
static wk_value_id node_source(const wk_node *n, const wk_expr *e, const way *w) {
  if (is_move(n->op)) return n->n_in > 0 ? n->in[0] : WK_NONE;
  const wk_expr_node *x = &e->nodes[w->at];
  bool is_it = n->op == WK_OP_MAP && x->op == WK_EX_INPUT && !wk_dtype_is_float(x->dtype);
  return is_it && x->imm.i < n->n_in ? n->in[x->imm.i] : WK_NONE;
}

double wk_compare_value_step(const wk_graph *g, wk_value_id v) {
  double scale = 1;
  while (v != WK_NONE && wk_val(g, v)->kind == WK_VALUE_NODE) {
    const wk_node *n = wk_nod(g, wk_val(g, v)->node);
    const operation o = of_node(g, n);
    const wk_expr *e = NULL;
    way w = {.scale = 1};
    if (!is_move(n->op) && !has_way(&o, wk_val(g, v)->index, &e, &w)) return 0;
    scale *= w.scale;
    if (w.is_rounded) return is_quantised(&w) && is_fed_graph(g, v) ? scale : 0;
    v = node_source(n, e, &w);
  }
  return 0;
}

/* ---- tensors --------------------------------------------------------------------------------- */

int64_t wk_compare_take_steps(wk_tensor *got, const wk_tensor *want, double step) {
  int64_t n = wk_type_count(&want->type), taken = 0;
  size_t size = (size_t)wk_dtype_size(want->type.dtype);
  if (!(step > 0)) return 0;
  for (int64_t i = 0; i < n; i++) {
    double g = wk_load_f64(got->data, got->type.dtype, i);
    double w = wk_load_f64(want->data, want->type.dtype, i), off = fabs(g - w);
    if (!(off > 0.5 * step && off <= 1.0001 * step)) continue;
    memcpy((char *)got->data + (size_t)i * size, (const char *)want->data + (size_t)i * size, size);
    taken++;
  }
  return taken;
}
