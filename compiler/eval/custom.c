/* SPDX-License-Identifier: Apache-2.0 */
/* Custom operators: the reference of the plugin's row. */
#include "compiler/eval/handler.h"
#include "compiler/ir/custom.h"

static wick_call_tensor tensor_of(const wk_tensor *t) {
  return (wick_call_tensor){.data = t->data, .dims = t->type.dims, .dtype = (uint32_t)t->type.dtype,
                            .rank = (uint32_t)t->type.rank};
}

wk_status wk_eval_custom(const wk_eval_call *c) {
  const wk_attr_custom *a = c->a.node->attrs;
  const wk_custom_op *op = wk_custom_find(a->domain, a->op);
  if (!op)
    return wk_error_at(WK_UNSUPPORTED, wk_eval_place(c), "no plugin that is loaded has %s.%s",
                       a->domain, a->op);
  wk_arena *arena = wk_arena_new();
  wick_call_tensor *in = wk_arena_alloc(arena, c->n_in * sizeof *in);
  wick_call_tensor *out = wk_arena_alloc(arena, c->n_out * sizeof *out);
  for (uint32_t k = 0; k < c->n_in; k++) in[k] = tensor_of(&c->a.in[k]);
  for (uint32_t k = 0; k < c->n_out; k++) out[k] = tensor_of(&c->a.out[k]);
  const wick_call call = {.inputs = in, .outputs = out,
                          .attributes = wk_custom_attributes(a, arena), .input_count = c->n_in,
                          .output_count = c->n_out, .attribute_count = (uint32_t)a->counts.n};
  int32_t failed = op->reference(&call);
  wk_arena_free(arena);
  if (!failed) return NULL;
  return EVAL_BAD(c, "the reference of %s.%s failed with %d", op->domain, op->name, (int)failed);
}
