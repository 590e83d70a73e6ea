/* SPDX-License-Identifier: Apache-2.0
 * model: the parts of one import around the nodes. */
#ifndef WICK_ONNX_IMPORT_MODEL_H
#define WICK_ONNX_IMPORT_MODEL_H

#include "compiler/onnx/import/importer.h"

/* Parses a model file's bytes into the arena and checks that it has a graph. */
wk_status wk_model_parse(const uint8_t *data, size_t n, wk_arena *arena,
                         const Onnx__ModelProto **out) WK_MUST_CHECK;
/* The same check of a model that has been read otherwise. */
wk_status wk_model_check(const Onnx__ModelProto *m) WK_MUST_CHECK;
/* Declared type of a graph input or output: rank -1 when not declared; WK_UNSUPPORTED when it is
 * made of anything but tensors. Sizes that are symbolic, absent or negative become -1; symbols[i]
 * is the symbol or NULL: "?" and the like name nothing. Of sequences and optionals it is the type
 * of an element: no symbol is bound by one, and no axes means that nothing is declared. */
typedef struct {
  bool is_sequence, is_optional;
  int32_t elem_type; /* TensorProto.DataType, 0: not declared */
  wk_dtype dtype;
  int rank;
  int64_t dims[WK_MAX_RANK];
  const char *symbols[WK_MAX_RANK];
} wk_declared;
wk_status wk_model_declared(const Onnx__ValueInfoProto *v, wk_declared *out) WK_MUST_CHECK;

/* Takes nodes whose results nothing uses out of the graphs and functions of the model; a note names
 * them (dead.c). */
void wk_model_leave_unused(wk_importer *im);

/* Makes the inputs of the model, their sizes bound by the options; what is missing goes into the
 * report (need_bind). Inputs with an initialiser become constants later unless a value is given. */
wk_status wk_model_inputs(wk_importer *im, wk_scope *s) WK_MUST_CHECK;

/* Has the model end where the options say, `cut`; what it does not depend on then leaves the
 * message: nodes of the main graph, inputs, initialisers. WK_USAGE: a tensor that the main graph
 * has not, or one that is named twice, or no node is left. What is new lies in the arena. */
wk_status wk_model_cut(const Onnx__ModelProto *m, const wk_import_options *o,
                       wk_arena *a) WK_MUST_CHECK;
/* Puts into the report where the model would have to end for nothing to be refused, unless sizes
 * or values are to be given first; s is the scope of the main graph, all of whose nodes have been
 * imported. */
void wk_model_find_cut(wk_importer *im, wk_scope *s);

/* What stands in the report's lists as an error; list_all as in wk_import_options. */
wk_status wk_model_refusal(const wk_import_report *rep, bool list_all) WK_MUST_CHECK;

#endif
