/* SPDX-License-Identifier: Apache-2.0
 * Graph operators as ONNX nodes. Three tables: operators that only need their name and attributes
 * of the same names; operators with a function of their own; elementwise operators in neither are
 * written out from their definition. The rest keeps its name in the own domain. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/export/export.h"
#include "compiler/onnx/export/export_ops.h"

static const struct { wk_op op; const char *onnx; } plain[] = {
  { WK_OP_IDENTITY, "Identity" }, { WK_OP_ABS, "Abs" }, { WK_OP_NEG, "Neg" },
  { WK_OP_SIGN, "Sign" }, { WK_OP_FLOOR, "Floor" }, { WK_OP_CEIL, "Ceil" },
  { WK_OP_ROUND, "Round" }, { WK_OP_SQRT, "Sqrt" }, { WK_OP_RECIPROCAL, "Reciprocal" },
  { WK_OP_EXP, "Exp" }, { WK_OP_LOG, "Log" }, { WK_OP_SIN, "Sin" }, { WK_OP_COS, "Cos" },
  { WK_OP_TAN, "Tan" }, { WK_OP_ASIN, "Asin" }, { WK_OP_ACOS, "Acos" }, { WK_OP_ATAN, "Atan" },
  { WK_OP_SINH, "Sinh" }, { WK_OP_COSH, "Cosh" }, { WK_OP_ASINH, "Asinh" },
  { WK_OP_ACOSH, "Acosh" }, { WK_OP_ATANH, "Atanh" }, { WK_OP_TANH, "Tanh" },
  { WK_OP_ERF, "Erf" }, { WK_OP_SIGMOID, "Sigmoid" }, { WK_OP_RELU, "Relu" },
  { WK_OP_LEAKY_RELU, "LeakyRelu" }, { WK_OP_THRESHOLDED_RELU, "ThresholdedRelu" },
  { WK_OP_ELU, "Elu" }, { WK_OP_SELU, "Selu" }, { WK_OP_CELU, "Celu" },
  { WK_OP_SOFTPLUS, "Softplus" }, { WK_OP_SOFTSIGN, "Softsign" },
  { WK_OP_HARD_SIGMOID, "HardSigmoid" }, { WK_OP_HARD_SWISH, "HardSwish" },
  { WK_OP_SHRINK, "Shrink" }, { WK_OP_NOT, "Not" }, { WK_OP_IS_NAN, "IsNaN" },
  { WK_OP_ADD, "Add" }, { WK_OP_SUB, "Sub" }, { WK_OP_MUL, "Mul" }, { WK_OP_DIV, "Div" },
  { WK_OP_MIN, "Min" }, { WK_OP_MAX, "Max" }, { WK_OP_AND, "And" }, { WK_OP_OR, "Or" },
  { WK_OP_XOR, "Xor" }, { WK_OP_POW, "Pow" }, { WK_OP_EQUAL, "Equal" }, { WK_OP_LESS, "Less" },
  { WK_OP_LESS_EQUAL, "LessOrEqual" }, { WK_OP_GREATER, "Greater" },
  { WK_OP_GREATER_EQUAL, "GreaterOrEqual" }, { WK_OP_PRELU, "PRelu" }, { WK_OP_WHERE, "Where" },
  { WK_OP_TRANSPOSE, "Transpose" }, { WK_OP_CONCAT, "Concat" }, { WK_OP_LRN, "LRN" },
  { WK_OP_ARG_MAX, "ArgMax" }, { WK_OP_ARG_MIN, "ArgMin" }, { WK_OP_SOFTMAX, "Softmax" },
  { WK_OP_LOG_SOFTMAX, "LogSoftmax" }, { WK_OP_HARDMAX, "Hardmax" },
  { WK_OP_LAYER_NORM, "LayerNormalization" }, { WK_OP_BATCH_NORM, "BatchNormalization" },
  { WK_OP_INSTANCE_NORM, "InstanceNormalization" }, { WK_OP_LP_NORM, "LpNormalization" },
  { WK_OP_GATHER, "Gather" }, { WK_OP_GATHER_ELEMENTS, "GatherElements" },
  { WK_OP_GATHER_ND, "GatherND" }, { WK_OP_REVERSE_SEQUENCE, "ReverseSequence" },
  { WK_OP_TRILU, "Trilu" }, { WK_OP_DET, "Det" },
};

/* ONNX spells these attributes differently. */
static const struct { wk_op op; const char *ours, *onnx; } spelling[] = {
  { WK_OP_ARG_MAX, "select_last", "select_last_index" },
  { WK_OP_ARG_MIN, "select_last", "select_last_index" },
};

static const char *attribute_name(wk_op op, const char *ours) {
  for (size_t i = 0; i < WK_COUNTOF(spelling); i++) {
    if (spelling[i].op == op && strcmp(spelling[i].ours, ours) == 0) return spelling[i].onnx;
  }
  return ours;
}

static void write_attributes(wk_export_graph *x) {
  const wk_op_info *info = wk_op_get(x->node->op);
  const char *attrs = x->node->attrs;
  for (int i = 0; i < info->n_fields; i++) {
    const wk_field *f = &info->fields[i];
    const void *v = attrs + f->offset;
    const char *name = attribute_name(x->node->op, f->name);
    switch (f->kind) {
      case WK_FIELD_INT: wk_export_int(x, name, *(const int64_t *)v); break;
      case WK_FIELD_FLOAT: wk_export_float(x, name, *(const double *)v); break;
      case WK_FIELD_INTS: wk_export_ints(x, name, *(const wk_ints *)v); break;
      default: break; /* no operator of the table has others */
    }
  }
}

static void add_with_operands(wk_export_graph *x, const char *op) {
  const wk_node *n = x->node;
  const char **in = wk_arena_alloc(x->arena, n->n_in * sizeof *in);
  const char **out = wk_arena_alloc(x->arena, n->n_out * sizeof *out);
  for (uint32_t i = 0; i < n->n_in; i++) in[i] = wk_export_in(x, i);
  for (uint32_t i = 0; i < n->n_out; i++) out[i] = wk_export_out(x, i);
  wk_export_add(x, op, in, n->n_in, out, n->n_out);
}

/* ---- the own domain ------------------------------------------------------------------------ */

wk_status wk_export_own(wk_export_graph *x) {
  const wk_node *n = x->node;
  const wk_op_info *info = wk_op_get(n->op);
  const char *attrs = n->attrs;
  if (n->n_bodies > 0) {
    return wk_error(WK_UNSUPPORTED, "this %s node has no ONNX form", info->name);
  }
  add_with_operands(x, info->name);
  wk_export_last(x)->domain = wk_arena_strdup(x->arena, WK_ONNX_OWN_DOMAIN);
  *x->uses_own_domain = true;
  for (int i = 0; i < info->n_fields; i++) {
    const wk_field *f = &info->fields[i];
    const void *v = attrs + f->offset;
    const wk_floats *fs = v;
    const wk_expr *e = f->kind == WK_FIELD_EXPR ? *(const wk_expr *const *)v : NULL;
    wk_str text = {0};
    switch (f->kind) {
      case WK_FIELD_INT: wk_export_int(x, f->name, *(const int64_t *)v); break;
      case WK_FIELD_DTYPE:
        wk_export_text(x, f->name, wk_dtype_name((wk_dtype)((const int64_t *)v)[0]));
        break;
      case WK_FIELD_FLOAT: wk_export_doubles(x, f->name, v, 1, 0); break;
      case WK_FIELD_INTS: wk_export_ints(x, f->name, *(const wk_ints *)v); break;
      case WK_FIELD_FLOATS: wk_export_doubles(x, f->name, fs->v, fs->n, 1); break;
      case WK_FIELD_TEXT: wk_export_text(x, f->name, *(const char *const *)v); break;
      case WK_FIELD_TEXTS: wk_export_texts(x, f->name, *(const wk_texts *)v); break;
      case WK_FIELD_EXPR:
        if (!e) break;
        wk_expr_print(&text, e);
        wk_export_text(x, f->name, text.s);
        wk_str_free(&text);
        break;
    }
  }
  return NULL;
}

/* ---- elementwise operators by their definition --------------------------------------------- */

/* Inputs that the expression reads broadcast to the result's shape? */
static bool covers(const wk_export_graph *x, const wk_expr *e, const wk_type *y) {
  wk_type all = {.dtype = y->dtype};
  for (uint32_t i = 0; i < e->n; i++) {
    if (e->nodes[i].op != WK_EX_INPUT) continue;
    wk_type t = *wk_export_type(x, (uint32_t)e->nodes[i].imm.i), joined;
    t.dtype = y->dtype;
    wk_status s = wk_type_broadcast(&all, &t, &joined);
    if (s) wk_status_free(s);
    else all = joined;
  }
  return wk_shape_equal(&all, y);
}

static wk_status by_definition(wk_export_graph *x) {
  const wk_node *n = x->node;
  wk_expr *e;
  WK_TRY(wk_node_expr(x->g, n, x->arena, &e));
  const char **in = wk_arena_alloc(x->arena, n->n_in * sizeof *in);
  const char **out = wk_arena_alloc(x->arena, n->n_out * sizeof *out);
  const wk_type *y = &wk_val(x->g, n->out[0])->type;
  bool whole = covers(x, e, y);
  for (uint32_t i = 0; i < n->n_in; i++) in[i] = wk_export_in(x, i);
  for (uint32_t i = 0; i < n->n_out; i++) out[i] = whole ? wk_export_out(x, i) : wk_export_fresh(x);
  wk_export_expr(x, e, in, out, y);
  for (uint32_t i = 0; i < n->n_out && !whole; i++) {
    wk_export_2(x, "Expand", out[i], wk_export_i64s(x, y->dims, y->rank), wk_export_out(x, i));
  }
  return NULL;
}

static bool is_narrow(const wk_export_graph *x, const wk_node *n) {
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != WK_NONE && wk_dtype_is_narrow(wk_val(x->g, n->in[i])->type.dtype)) return true;
  return false;
}

wk_status wk_export_node(wk_export_graph *x, const wk_node *n) {
  for (size_t i = 0; i < WK_COUNTOF(plain); i++) {
    if (plain[i].op != n->op) continue;
    if (is_narrow(x, n)) return wk_export_own(x); /* younger than the opset written */
    add_with_operands(x, plain[i].onnx);
    write_attributes(x);
    return NULL;
  }
  if (n->op == WK_OP_CUSTOM) return wk_export_custom(x);
  wk_export_fn fn = wk_export_function(n->op);
  if (fn) return fn(x);
  wk_op_class cls = wk_op_get(n->op)->cls;
  return cls == WK_CLASS_ELEMENTWISE || n->op == WK_OP_MAP ? by_definition(x) : wk_export_own(x);
}
