/* SPDX-License-Identifier: Apache-2.0
 * Data sets of a model folder in the layout of the ONNX tests, matched with the model's inputs and
 * outputs. */
#ifndef WICK_CLI_TEST_DATA_H
#define WICK_CLI_TEST_DATA_H

#include "compiler/pipeline/model.h"

typedef struct {
  int64_t number;  /* K of input_K.pb */
  const char *path;
  const char *name; /* in the file; never NULL */
  wk_tensor t;
  wk_status error; /* why there is no tensor */
  int target;      /* which input or output of the model, -1: none */
  int64_t element; /* of a sequence, -1: the whole */
  const char *part; /* name of an element in the compiled model, NULL: that of the whole */
} wk_test_tensor;

/* How many tensors a file for a sequence or optional holds. */
typedef struct {
  int target;
  int64_t n; /* or WK_NO_ELEMENT */
} wk_test_length;

typedef struct {
  const char *name; /* "test_data_set_0" */
  WK_VEC(wk_test_tensor) in, out; /* by number */
  WK_VEC(wk_test_length) in_lengths, out_lengths;
  bool has_bits; /* bf16 that is stored as u16 */
} wk_test_set;

typedef struct {
  wk_arena *arena;
  wk_onnx_info info;
  WK_VEC(wk_test_set) sets; /* by number */
} wk_test_data;

/* Everything in the folder, and what the model declares. Tensors that cannot be read carry their
 * error; that of one which the model declares to be an ordinary tensor is the function's. */
wk_status wk_test_data_read(const char *dir, const char *model, const wk_import_options *files,
                            wk_test_data *out) WK_MUST_CHECK;
void wk_test_data_free(wk_test_data *d);

#endif
