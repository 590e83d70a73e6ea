/* SPDX-License-Identifier: Apache-2.0
 * train: a quantised model as one of floats that rounds where the model does, so that it can be
 * trained (quantisation-aware training), and what becomes of its weights. */
#ifndef WICK_TRAIN_QUANTISED_H
#define WICK_TRAIN_QUANTISED_H

#include "compiler/onnx/onnx.h"

/* A weight whose integers are dequantised: value = (integer - zero) scale. */
typedef struct {
  const char *name;      /* of the initialiser, and of the floats in its place */
  wk_tensor codes;       /* the initialiser */
  wk_type type;          /* of the floats; the same dims */
  wk_type spread;        /* dims that scale and zero point broadcast against; as many elements */
  wk_tensor scale, zero; /* f32, and an integer */
} wk_quantised_weight;

typedef struct {
  wk_arena *arena; /* owns what is below */
  WK_VEC(wk_quantised_weight) weights;
  int64_t activations; /* how many are rounded */
} wk_quantised;

/* m: imported with `codes`, not for inference. Every pair of quantisation and dequantisation by the
 * same constants becomes FAKE_QUANTIZE, reshapes and the like between them stay; so does what
 * dequantises an initialiser, which becomes the floats that it stands for. Other conversions stay,
 * and let no gradient through. */
wk_status wk_quantised_open(wk_module *m, const wk_import_report *r,
                            wk_quantised *out) WK_MUST_CHECK;
void wk_quantised_free(wk_quantised *q);

/* The integers that floats of w->type round to, packed as files hold them: wk_packed_bytes of
 * the initialiser's type. Floats that have not changed give the integers that they were. */
wk_status wk_quantised_round(const wk_quantised_weight *w, const void *floats,
                             void *packed) WK_MUST_CHECK;

#endif
