/* SPDX-License-Identifier: Apache-2.0
 * export: how graph nodes are written as ONNX nodes (opset 17). What ONNX cannot say exactly
 * becomes a node of the domain "wick" with the operator's own name and attributes, which the
 * importer reads. */
#ifndef WICK_ONNX_EXPORT_EXPORT_H
#define WICK_ONNX_EXPORT_EXPORT_H

#include "compiler/onnx/import/importer.h"

#define WK_EXPORT_OPSET 17
#define WK_EXPORT_ML_DOMAIN "ai.onnx.ml"
#define WK_EXPORT_ML_OPSET 3

typedef struct wk_export_graph {
  wk_arena *arena;              /* holds every message */
  const wk_graph *g;
  const char *prefix;           /* in front of the names of this graph's values; "" for the model */
  const char **names;           /* by value id */
  WK_VEC(Onnx__NodeProto *) nodes;
  WK_VEC(Onnx__TensorProto *) constants;
  uint64_t *fresh;              /* counter of invented names, shared by all graphs of a model */
  const wk_node *node;          /* being written */
  bool *uses_own_domain, *uses_ml_domain;
  wk_onnx_names *custom_domains; /* those of plugins, each once */
} wk_export_graph;

/* Names. */
const char *wk_export_fresh(wk_export_graph *x);
static inline const char *wk_export_name(const wk_export_graph *x, wk_value_id v) {
  return v == WK_NONE ? "" : x->names[v];
}
const char *wk_export_in(const wk_export_graph *x, uint32_t i);  /* "" when absent */
const char *wk_export_out(const wk_export_graph *x, uint32_t i);
const wk_type *wk_export_type(const wk_export_graph *x, uint32_t i); /* of input i */

/* Nodes: outputs default to those of x->node. `in` are names; trailing "" are dropped. */
Onnx__NodeProto *wk_export_add(wk_export_graph *x, const char *op, const char *const *in,
                               size_t n_in, const char *const *out, size_t n_out);
/* One result under a fresh name (out NULL) or the given one; returns its name. */
const char *wk_export_1(wk_export_graph *x, const char *op, const char *a, const char *out);
const char *wk_export_2(wk_export_graph *x, const char *op, const char *a, const char *b,
                        const char *out);
const char *wk_export_3(wk_export_graph *x, const char *op, const char *a, const char *b,
                        const char *c, const char *out);
Onnx__NodeProto *wk_export_last(wk_export_graph *x);
void wk_export_int(wk_export_graph *x, const char *name,
                   int64_t v); /* attributes of the last node */
void wk_export_float(wk_export_graph *x, const char *name, double v);
void wk_export_text(wk_export_graph *x, const char *name, const char *v);
void wk_export_ints(wk_export_graph *x, const char *name, wk_ints v);
void wk_export_floats(wk_export_graph *x, const char *name, wk_floats v);
void wk_export_texts(wk_export_graph *x, const char *name, wk_texts v);
void wk_export_doubles(wk_export_graph *x, const char *name, const double *v, int64_t n, int rank);
void wk_export_subgraph(wk_export_graph *x, const char *name, Onnx__GraphProto *g);

ProtobufCBinaryData wk_export_bytes(wk_export_graph *x, const char *text);

/* Writes value `name` of type t as the strings or maps that its labels say, under their output's
 * name. */
Onnx__ValueInfoProto *wk_export_labelled(wk_export_graph *x, const wk_labels *l, const char *name,
                                         const wk_type *t);

/* A node that is not in the graph yet, and a typed name. */
Onnx__NodeProto *wk_export_detached(wk_export_graph *x, const char *op, const char *const *in,
                                    size_t n_in, const char *out);
Onnx__ValueInfoProto *wk_export_value_info(wk_export_graph *x, const char *name, const wk_type *t);

/* Constants; return the name. */
const char *wk_export_i64s(wk_export_graph *x, const int64_t *v, int64_t n);
const char *wk_export_i64(wk_export_graph *x, int64_t v); /* rank 0 */
const char *wk_export_scalar(wk_export_graph *x, wk_dtype t, wk_scalar v);
const char *wk_export_constant(wk_export_graph *x, const wk_type *t, const void *data);

/* Expression e over named operands, into result names. rank and dims: iteration space (for
 * indices). */
void wk_export_expr(wk_export_graph *x, const wk_expr *e, const char *const *in,
                    const char *const *out, const wk_type *space);
/* One node of x->g. */
wk_status wk_export_node(wk_export_graph *x, const wk_node *n) WK_MUST_CHECK;
/* Body b of x->node: its inputs from `first` on stand for the outer names given. */
Onnx__GraphProto *wk_export_body(wk_export_graph *x, const wk_graph *b, size_t first,
                                 const char *const *captures, wk_status *status);
/* A custom operator, as the model had it. */
wk_status wk_export_custom(wk_export_graph *x) WK_MUST_CHECK;
/* The node as an operator of the own domain. */
wk_status wk_export_own(wk_export_graph *x) WK_MUST_CHECK;

#endif
