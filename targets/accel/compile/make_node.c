/* SPDX-License-Identifier: Apache-2.0
 * Which operators there are commands for. */
#include "targets/accel/compile/net.h"

/* Texts that say how many blocks there may be: constants, so digit by digit. */
#define DIGIT(place) '0' + (char)(WK_ACCEL_MOST_BLOCKS / (place) % 10)
typedef struct {
  char before[21], most[4], after[40];
} blocks_text;
#define BLOCKS_TEXT(after) {"the last axis, up to ", {DIGIT(100), DIGIT(10), DIGIT(1), ' '}, after}
static const blocks_text of_softmax = BLOCKS_TEXT("blocks long");
static const blocks_text of_norm = BLOCKS_TEXT("blocks long; constant scale and bias");
_Static_assert(WK_ACCEL_MOST_BLOCKS >= 100 && WK_ACCEL_MOST_BLOCKS < 1000, "three digits");

/* Who makes the commands of an operator: of it alone, or with its expression. */
static const struct {
  wk_op op;
  bool (*make)(wk_accel_making *k);
  bool (*make_with)(wk_accel_making *k, const wk_expr *e);
  const char *asks; /* beside operands and results of i8 or u8 */
} makers[] = {
    {WK_OP_CONV, NULL, wk_accel_make_conv, "constant weights, 1 or 2 spatial axes"},
    {WK_OP_CONV_TRANSPOSE, NULL, wk_accel_make_conv_transpose,
     "constant weights, 2 spatial axes, no groups, dilations or output padding"},
    {WK_OP_MATMUL, NULL, wk_accel_make_matmul, "one constant matrix; of two tensors see "
     "`integer_matmul`"},
    {WK_OP_INTEGER_MATMUL, NULL, wk_accel_make_integer_matmul,
     "stacks of the same size, or that share right matrices"},
    {WK_OP_MAP, NULL, wk_accel_make_map,
     "a change of scale; a sum, a product, the greater or the lesser of two tensors"},
    {WK_OP_REDUCE, NULL, wk_accel_make_reduce,
     "means and maxima of images, over both spatial axes, and of rows, over the last axis, or the "
     "last but one"},
    {WK_OP_GATHER, wk_accel_make_table, NULL, "functions of one tensor: tables of 256 entries"},
    {WK_OP_MAX_POOL, wk_accel_make_max_pool, NULL, "1 or 2 spatial axes, no indices"},
    {WK_OP_INTEGER_AVG_POOL, wk_accel_make_avg_pool, NULL, "1 or 2 spatial axes"},
    {WK_OP_INTEGER_SOFTMAX, wk_accel_make_softmax, NULL, (const char *)&of_softmax},
    {WK_OP_INTEGER_NORM, wk_accel_make_norm, NULL, (const char *)&of_norm},
    {WK_OP_INTEGER_RESIZE, wk_accel_make_resize, NULL, "linear and nearest; rows and columns"},
    {WK_OP_DEPTH_TO_SPACE, wk_accel_make_depth_to_space, NULL, "images"},
};

bool wk_accel_has_maker(wk_op op) {
  bool has = false;
  for (size_t i = 0; i < WK_COUNTOF(makers); i++) has = has || makers[i].op == op;
  return has;
}

bool wk_accel_make_node(wk_accel_making *k, const wk_expr *e) {
  for (size_t i = 0; i < WK_COUNTOF(makers); i++)
    if (makers[i].op == k->node->op)
      return makers[i].make ? makers[i].make(k) : makers[i].make_with(k, e);
  return wk_accel_refuse(k, "there is no command for %s", wk_op_get(k->node->op)->name);
}

const wk_expr *wk_accel_first_result(const wk_expr *e, wk_arena *a) {
  uint32_t first = 0;
  while (e && first < e->n && (e->nodes[first].op == WK_EX_INPUT ||
                               e->nodes[first].op == WK_EX_CONST ||
                               !wk_accel_is_8_bit(e->nodes[first].dtype)))
    first++;
  if (!e || first >= e->n || e->n_results != 1 || first == e->results[0]) return NULL;
  uint16_t result = (uint16_t)first;
  const wk_expr cut = {.n = first + 1, .n_results = 1, .nodes = e->nodes, .results = &result};
  wk_expr_builder *b = wk_expr_begin(a);
  int n = wk_expr_inputs(&cut);
  uint16_t *inputs = wk_arena_alloc(a, ((size_t)n + 1) * sizeof *inputs);
  for (uint32_t i = 0; i <= first; i++)
    if (e->nodes[i].op == WK_EX_INPUT)
      inputs[e->nodes[i].imm.i] = wk_expr_input(b, e->nodes[i].imm.i, e->nodes[i].dtype);
  result = wk_expr_inline(b, &cut, inputs, 0);
  return wk_expr_finish(b, &result, 1);
}

static bool is_address(wk_op op) {
  return op == WK_OP_RESHAPE || op == WK_OP_TRANSPOSE || op == WK_OP_SLICE || op == WK_OP_SPLIT ||
         op == WK_OP_PAD || op == WK_OP_CONCAT || op == WK_OP_IDENTITY;
}

bool wk_accel_covers(wk_op op, const char **note) {
  wk_op form = wk_integer_form_of(op);
  if (form == WK_OP_REDUCE_MAX) form = WK_OP_REDUCE;
  *note = "it has no integer form";
  if (form == WK_OP_COUNT) return false;
  *note = "it reads by index";
  if (op == WK_OP_GATHER) return false;
  *note = "whole blocks of channels";
  if (is_address(form)) return true;
  for (size_t i = 0; i < WK_COUNTOF(makers); i++) {
    *note = makers[i].asks;
    if (makers[i].op == form) return true;
  }
  *note = "there is no command for it";
  return false;
}
