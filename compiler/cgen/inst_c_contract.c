/* SPDX-License-Identifier: Apache-2.0
 * Loops of contractions: sums of products of the two elements that are read in each step, then
 * bias, then the epilogue. */
#include <string.h>

#include "compiler/cgen/inst_c_make.h"

typedef struct {
  const wk_loops *m;
  wk_dtype sum; /* of the accumulator and of what the epilogue gets */
  const wk_expr *epilogue;
  const char *channel; /* position in the bias */
} contraction;

static const wk_expr *multiplied(const contraction *c) {
  wk_expr_builder *b = wk_expr_begin(c->m->a);
  uint16_t acc = wk_expr_input(b, 0, c->sum),
           p = wk_expr_cast(b, c->sum, wk_expr_input(b, 1, wk_cgen_input(c->m, 0)->dtype)),
           q = wk_expr_cast(b, c->sum, wk_expr_input(b, 2, wk_cgen_input(c->m, 1)->dtype));
  return wk_expr_done(b, wk_expr_2(b, WK_EX_ADD, acc, wk_expr_2(b, WK_EX_MUL, p, q)));
}

static const wk_expr *ended(const contraction *c) {
  wk_inst_c *y = c->m->out;
  uint32_t n = wk_cgen_inputs(c->m);
  uint16_t *in = wk_arena_alloc(c->m->a, (n > 2 ? n - 2 : 1) * sizeof *in);
  wk_expr_builder *b = wk_expr_begin(c->m->a);
  in[0] = wk_expr_input(b, 0, c->sum);
  if (n > 2 && wk_cgen_input(c->m, 2)->buffer != WK_NONE) {
    uint16_t bias = wk_expr_cast(b, c->sum, wk_expr_input(b, 1, wk_cgen_input(c->m, 2)->dtype));
    in[0] = wk_expr_2(b, WK_EX_ADD, in[0], bias);
    y->end_reads[y->n_end++] =
        (wk_inst_c_read){.operand = c->m->i->n_out + 2, .at = {c->channel}};
  }
  for (uint32_t k = 3; k < n; k++) {
    y->end_reads[y->n_end++] = wk_cgen_read(c->m, k);
    in[k - 2] = wk_expr_input(b, (int64_t)y->n_end, wk_cgen_input(c->m, k)->dtype);
  }
  if (c->epilogue) return wk_expr_done(b, wk_expr_inline(b, c->epilogue, in, 0));
  return wk_expr_done(b, wk_expr_cast(b, c->m->i->operands[0].dtype, in[0]));
}

static bool contract(const wk_loops *m, const wk_expr *epilogue, wk_inst_c_read x, wk_inst_c_read w,
                     const char *channel) {
  wk_inst_c *y = m->out;
  wk_dtype sum = wk_accumulator_dtype(wk_cgen_input(m, 0)->dtype);
  const contraction c = {m, sum, epilogue, channel};
  y->begin = wk_cgen_neutral(m, "sum", c.sum);
  y->n_step = 2;
  y->step_reads = wk_cgen_reads(m, 2);
  y->step_reads[0] = x;
  y->step_reads[1] = w;
  y->step = multiplied(&c);
  y->end_reads = wk_cgen_reads(m, wk_cgen_inputs(m));
  y->end = ended(&c);
  return true;
}

bool wk_cgen_matmul(const wk_loops *m) {
  int ra = wk_cgen_input(m, 0)->rank, rb = wk_cgen_input(m, 1)->rank;
  wk_inst_c_read a = wk_cgen_read(m, 0), b = wk_cgen_read(m, 1);
  m->out->inner_rank = 1;
  m->out->inner_dims[0] = wk_cgen_input(m, 0)->dims[ra - 1];
  a.at[ra - 1] = b.at[rb - 2] = wk_inst_c_k[0];
  return contract(m, ((const wk_attr_matmul *)m->i->attrs)->epilogue, a, b,
                  wk_inst_c_i[m->out->rank - 1]);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

bool wk_cgen_conv(const wk_loops *m) {
  const wk_attr_conv *c = m->i->attrs;
  const wk_view *w = wk_cgen_input(m, 1);
  wk_inst_c_read x = {.operand = m->i->n_out, .at = {wk_inst_c_i[0]}, .outside = c->pad_value},
                 weight = {.operand = m->i->n_out + 1, .at = {wk_inst_c_i[1]}};
  x.at[1] = wk_arena_printf(m->a, "i1 / %lld * %lld + k1",
                            (long long)(m->out->dims[1] / c->group), (long long)w->dims[1]);
  x.inside = wk_cgen_in_window(m, &(wk_cgen_window){&c->strides, &c->dilations, &c->pads}, NULL,
                                x.at);
  m->out->inner_rank = w->rank;
  memcpy(m->out->inner_dims, w->dims, sizeof w->dims);
  m->out->inner_dims[0] = 1;
  memcpy(weight.at + 1, wk_inst_c_k + 1, (WK_MAX_RANK - 1) * sizeof *wk_inst_c_k);
  return contract(m, c->epilogue, x, weight, wk_inst_c_i[1]);
}

bool wk_cgen_conv_transpose(const wk_loops *m) {
  const wk_attr_conv_transpose *c = m->i->attrs;
  const wk_view *w = wk_cgen_input(m, 1);
  long long each = (long long)(w->dims[0] / c->group), made = (long long)w->dims[1];
  wk_inst_c_read x = {.operand = m->i->n_out, .at = {wk_inst_c_i[0]}},
                 weight = {.operand = m->i->n_out + 1};
  m->out->inner_rank = w->rank;
  memcpy(m->out->inner_dims, w->dims, sizeof w->dims);
  m->out->inner_dims[0] = each;
  m->out->inner_dims[1] = 1;
  memcpy(weight.at, wk_inst_c_k, sizeof weight.at);
  x.at[1] = weight.at[0] = wk_arena_printf(m->a, "i1 / %lld * %lld + k0", made, each);
  weight.at[1] = wk_arena_printf(m->a, "i1 %% %lld", made);
  x.inside = wk_cgen_reached(
      m, &(wk_cgen_window){&c->strides, &c->dilations, &c->pads}, x.at);
  return contract(m, c->epilogue, x, weight, wk_inst_c_i[1]);
}
