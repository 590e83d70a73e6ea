/* SPDX-License-Identifier: Apache-2.0
 * attention_ms: what the attention operators of com.microsoft share. */
#ifndef WICK_ONNX_DOMAINS_ATTENTION_MS_H
#define WICK_ONNX_DOMAINS_ATTENTION_MS_H

#include "compiler/onnx/import/attention.h"

/* The attribute `scale`; 0 or none: 1 / sqrt(depth). */
double wk_ms_scale(wk_onnx_node *c, int64_t depth);
/* softmax(q k^T) v with heads, merged again and of type t. scores: as those of
 * wk_attend. */
wk_value_id wk_ms_attend(wk_onnx_node *c, wk_attention *a, wk_mask *mask, wk_dtype t,
                         wk_value_id *scores);
/* What input i adds to the scores: what it has for more than n keys is cut off. */
void wk_ms_bias(wk_onnx_node *c, wk_mask *m, int i);
/* Keys that input i, a mask_index, hides lose mask_filter_value: the lengths [batch] of the keys
 * (also before what packed batches have, [3 * batch + 2]), their ends and then their starts
 * [2 * batch], or what is positive where a key is seen [batch, n], [batch, m, n], or
 * [batch, 1, longest, longest] for queries from `past` on. */
void wk_ms_mask(wk_onnx_node *c, wk_mask *m, int i, const wk_size *past);

#endif
