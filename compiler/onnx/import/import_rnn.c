/* SPDX-License-Identifier: Apache-2.0
 * LSTM, GRU and RNN: the operators keep ONNX's gates and layouts; only `layout` (batch first) is
 * resolved here, by transposes around the operator. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"

enum { X, W, R, B, LENGTHS, H0, C0, P, N_OPERANDS };

static void set_common(wk_onnx_node *c, const char **direction, wk_texts *activations,
                       wk_floats *alpha, wk_floats *beta, double *clip) {
  wk_texts names = wk_onnx_texts(c, "activations");
  wk_floats a = wk_onnx_floats(c, "activation_alpha"), b = wk_onnx_floats(c, "activation_beta");
  *direction = wk_onnx_text(c, "direction", "forward");
  if (names.n > 0) *activations = names;
  if (a.n > 0) *alpha = a;
  if (b.n > 0) *beta = b;
  *clip = wk_onnx_float(c, "clip", INFINITY);
}

static void *lstm_attrs(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, LSTM, lstm);
  set_common(c, &a->direction, &a->activations, &a->alpha, &a->beta, &a->clip);
  a->input_forget = wk_onnx_int(c, "input_forget", 0) != 0;
  return a;
}

static void *gru_attrs(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, GRU, gru);
  set_common(c, &a->direction, &a->activations, &a->alpha, &a->beta, &a->clip);
  a->linear_before_reset = wk_onnx_int(c, "linear_before_reset", 0) != 0;
  return a;
}

static void *rnn_attrs(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, RNN, rnn);
  set_common(c, &a->direction, &a->activations, &a->alpha, &a->beta, &a->clip);
  return a;
}

static wk_value_id swap_first_axes(wk_onnx_node *c, wk_value_id v) {
  return v == WK_NONE ? v : wk_make_move_axis(c, v, 1, 0);
}

wk_status wk_onnx_rnn(wk_onnx_node *c) {
  wk_op op = c->row->op;
  bool is_lstm = op == WK_OP_LSTM, batch_first = wk_onnx_int(c, "layout", 0) != 0;
  int n_out = is_lstm ? 3 : 2, n_in = is_lstm ? N_OPERANDS : C0;
  void *attrs = is_lstm ? lstm_attrs(c) : op == WK_OP_GRU ? gru_attrs(c) : rnn_attrs(c);
  wk_value_id in[N_OPERANDS], out[3] = {WK_NONE, WK_NONE, WK_NONE};
  for (int i = 0; i < N_OPERANDS; i++) in[i] = i < c->n_in ? c->in[i] : WK_NONE;
  wk_onnx_valid(c, wk_onnx_type(c, in[X])->rank == 3, "the input must have rank 3");
  int64_t hidden = wk_onnx_type(c, in[R])->dims[2],
          declared = wk_onnx_int(c, "hidden_size", hidden);
  wk_onnx_valid(c, declared == hidden, "hidden_size is %lld, the recurrent weights are for %lld",
                (long long)declared, (long long)hidden);
  for (int i = H0; i <= C0; i++) {
    wk_onnx_valid(c, in[i] == WK_NONE || wk_onnx_type(c, in[i])->rank == 3,
                  "a state must have rank 3");
  }
  if (batch_first) {
    in[X] = swap_first_axes(c, in[X]);
    in[H0] = swap_first_axes(c, in[H0]);
    in[C0] = swap_first_axes(c, in[C0]);
  }
  while (n_in > R + 1 && in[n_in - 1] == WK_NONE) n_in--;
  wk_make_n(c, op, attrs, in, n_in, out, n_out);
  if (batch_first && wk_onnx_ok(c)) {
    const int64_t perm[4] = {2, 0, 1, 3}; /* [t,d,n,h] -> [n,t,d,h] */
    out[0] = wk_make_transpose(c, out[0], perm);
    out[1] = swap_first_axes(c, out[1]);
    out[2] = swap_first_axes(c, out[2]);
  }
  for (int i = 0; i < n_out; i++) wk_onnx_result(c, i, out[i]);
  return c->status;
}
