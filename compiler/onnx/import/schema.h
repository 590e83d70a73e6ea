/* SPDX-License-Identifier: Apache-2.0
 * schema: what the standard says of a node's attributes and arity, for every opset. */
#ifndef WICK_ONNX_IMPORT_SCHEMA_H
#define WICK_ONNX_IMPORT_SCHEMA_H

#include "compiler/onnx/import/importer.h"

/* Checks the node's attributes and its numbers of inputs and outputs against the definition in
 * force at its opset, for a newer one than is known the newest; operators of which no definition is
 * known pass. What does not fit is latched: WK_INPUT, or WK_UNSUPPORTED where a newer opset may
 * have it. Names that begin with "__" are anybody's. */
bool wk_onnx_check_schema(wk_onnx_node *c);

/* Whether the attribute's name is anybody's. */
bool wk_onnx_attr_is_free(const Onnx__AttributeProto *a);

/* The node's attribute is of the kind that these n bytes name ("int", "tensor"…), or does not say
 * of which it is; what does not fit is latched. */
bool wk_onnx_attr_is(wk_onnx_node *c, const char *name, const char *kind, int n);

#endif
