/* SPDX-License-Identifier: Apache-2.0
 * Private to grad/: a rule builds the adjoint of one node out of what lower/build.h offers. */
#ifndef WICK_GRAD_ADJOINT_H
#define WICK_GRAD_ADJOINT_H

#include "compiler/grad/grad.h"
#include "compiler/lower/build.h"

/* dy[i]: adjoint of output i, of its type; WK_NONE: it is 0. One at least is not.
 * wants[k]: input k's adjoint is asked for. dx[k] receives it, of the input's type; WK_NONE as it
 * is at first means 0. Input k and output i are a->n->in[k] and a->n->out[i].
 * out[i]: WK_NONE as it is at first, or the value that takes the place of output i, of a node that
 * also gives what the adjoint needs; then one does of every output, and the old node goes. */
typedef struct {
  wk_low l;
  const wk_node *n; /* a copy */
  const wk_value_id *dy;
  const bool *wants;
  wk_value_id *dx;
  wk_value_id *out;
  bool lower; /* set: this form has no rule; what was built in place of its outputs, or, where that
                 is nothing, its primitives are differentiated */
} wk_adjoint;

typedef void (*wk_adjoint_fn)(wk_adjoint *a);

/* elementwise.c */
void wk_adjoint_elementwise(wk_adjoint *a);                        /* also of MAP */
void wk_adjoint_by(wk_adjoint *a, const char *const *texts);       /* per input, in order */
/* v, whose dims the type t broadcasts to, summed to t's dims and converted to its dtype. */
wk_value_id wk_adjoint_sum_to(wk_low *l, wk_value_id v, const wk_type *t);

/* What input k of e(in...) gets when e has the adjoint g, as a map; WK_NONE: 0. At most 8
 * inputs. */
wk_value_id wk_adjoint_through(wk_adjoint *a, const wk_expr *e, const wk_value_id *in, int n_in,
                               int k, wk_value_id g);
wk_value_id wk_adjoint_zeros(wk_low *l, const wk_type *t);
/* With the last two axes exchanged. */
wk_value_id wk_adjoint_swapped(wk_low *l, wk_value_id v);
/* x^T g of type t, by way of the smaller one's transpose. */
wk_value_id wk_adjoint_product(wk_low *l, wk_dtype t, wk_value_id x, wk_value_id g);
wk_value_id wk_adjoint_cast(wk_low *l, wk_value_id v, wk_dtype t);
/* True: the rule is to give input k. */
static inline bool wk_adjoint_wants(const wk_adjoint *a, uint32_t k) {
  return k < a->n->n_in && a->wants[k];
}

#define WK_ADJOINT_RULES(X)                                                                        \
  X(reshape) X(transpose) X(slice) X(expand) X(concat) X(split) X(pad)                             \
  X(conv) X(conv_transpose) X(matmul)                                                              \
  X(max_pool) X(unpool) X(avg_pool) X(lp_pool)                                                     \
  X(reduce) X(reduce_l2) X(log_sum_exp)                                                            \
  X(softmax) X(log_softmax) X(layer_norm) X(batch_norm)                                            \
  X(gather) X(gather_elements) X(gather_nd) X(scatter_elements) X(scatter_nd) X(one_hot)           \
  X(reverse_sequence) X(trilu) X(cum_sum) X(top_k) X(max_unpool)                                   \
  X(attention) X(segment_reduce) X(roi_align) X(det) X(if) X(loop)                                \
  X(elementwise)
#define X(name) void wk_adjoint_##name(wk_adjoint *a);
WK_ADJOINT_RULES(X)
#undef X

#endif
