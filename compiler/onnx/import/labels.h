/* SPDX-License-Identifier: Apache-2.0
 * labels: strings. There are no tensors of strings: what ONNX has as such is a tensor of numbers
 * (i64) and a table that says what each number stands for, a bound of kind WK_BOUND_LABELLED. Some
 * operators move such numbers, some make numbers of strings, and an output of the model keeps its
 * table (wk_module_label). The same holds for lists of maps, whose tables name columns. */
#ifndef WICK_ONNX_IMPORT_LABELS_H
#define WICK_ONNX_IMPORT_LABELS_H

#include "compiler/onnx/import/importer.h"

/* The texts, which stay where they are, must live as long as the module. */
wk_bound wk_label_bound(wk_importer *im, wk_value_id v, const wk_labels *labels);
/* Strings in a tensor of this shape. */
wk_status wk_label_constant(wk_importer *im, wk_graph *g, const char *name, const wk_type *shape,
                            wk_texts texts, wk_bound *out) WK_MUST_CHECK;
/* A TensorProto of strings. */
wk_status wk_label_tensor(wk_importer *im, wk_graph *g, const char *name,
                          const Onnx__TensorProto *t, wk_bound *out) WK_MUST_CHECK;

/* Before the handler: an operator that moves elements gets the numbers in c->in[0]; one that looks
 * into labels finds them in c->bound[0]; any other is refused. Behind it: results get the labels of
 * what was moved. */
bool wk_label_inputs(wk_onnx_node *c);
void wk_label_results(wk_onnx_node *c);

/* A labelled output of the model, with its table and a note. */
wk_status wk_label_output(wk_importer *im, wk_graph *g, const Onnx__ValueInfoProto *v,
                          const wk_bound *b) WK_MUST_CHECK;

#endif
