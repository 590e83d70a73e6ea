/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions as text: prefix calls, where a node that is used more than once is named first. Works
 * with an explicit stack, because an expression may be one chain of thousands of nodes. */
#include <stdlib.h>

#include "compiler/expr/expr.h"

/* a … z, a1 … z1, a2 …, without the names of element types, which also name casts. */
static uint32_t print_name(wk_str *b, uint32_t number) {
  char name[16];
  wk_dtype t;
  do {
    int n = snprintf(name, sizeof name, "%c", (char)('a' + number % 26));
    if (number >= 26) n += snprintf(name + n, sizeof name - (size_t)n, "%u", number / 26);
    number++;
    if (!wk_dtype_from_name(name, (size_t)n, &t)) break;
  } while (true);
  wk_str_add(b, name);
  return number;
}

static void print_literal(wk_str *b, const wk_expr_node *x) {
  if (!wk_dtype_is_float(x->dtype)) {
    if (x->dtype == WK_U64) wk_str_printf(b, "%llu", (unsigned long long)x->imm.i);
    else wk_str_printf(b, "%lld", (long long)x->imm.i);
  } else {
    wk_print_float(b, x->dtype, x->imm.f);
  }
  wk_str_add(b, wk_dtype_name(x->dtype));
}

/* The text before the arguments; complete for nodes without any. */
static void open_node(wk_str *b, const wk_expr_node *x) {
  switch (x->op) {
    case WK_EX_INPUT: wk_str_printf(b, "%%%lld", (long long)x->imm.i); break;
    case WK_EX_INDEX: wk_str_printf(b, "index<%lld>()", (long long)x->imm.i); break;
    case WK_EX_CONST: print_literal(b, x); break;
    case WK_EX_CAST: wk_str_printf(b, "%s(", wk_dtype_name(x->dtype)); break;
    case WK_EX_BITS: wk_str_printf(b, "bits<%s>(", wk_dtype_name(x->dtype)); break;
    case WK_EX_SAT: wk_str_printf(b, "sat<%s>(", wk_dtype_name(x->dtype)); break;
    default: wk_str_printf(b, "%s(", wk_expr_op_name(x->op));
  }
}

typedef struct {
  uint16_t node;
  uint8_t next;
} frame;

/* names[i]: offset of node i's name in `pool` plus 1, 0 when it has none yet. */
typedef struct {
  const wk_expr *e;
  uint32_t *names;
  wk_str pool;
  frame *stack;
} printer;

static void print_tree(wk_str *b, const printer *p, uint16_t root) {
  size_t depth = 0;
  p->stack[depth++] = (frame){root, 0};
  while (depth) {
    frame *top = &p->stack[depth - 1];
    const wk_expr_node *x = &p->e->nodes[top->node];
    int arity = wk_expr_op_arity(x->op);
    if (top->next == 0) {
      if (p->names[top->node]) {
        wk_str_add(b, p->pool.s + p->names[top->node] - 1);
        depth--;
        continue;
      }
      open_node(b, x);
    }
    if (top->next < arity) {
      if (top->next) wk_str_add(b, ", ");
      p->stack[depth++] = (frame){x->arg[top->next++], 0};
      continue;
    }
    if (arity) wk_str_add(b, ")");
    depth--;
  }
}

void wk_expr_print(wk_str *b, const wk_expr *e) {
  uint32_t *uses = wk_xcalloc(e->n, sizeof *uses);
  for (uint32_t i = 0; i < e->n; i++)
    for (int k = 0; k < wk_expr_op_arity(e->nodes[i].op); k++) uses[e->nodes[i].arg[k]]++;
  for (uint32_t r = 0; r < e->n_results; r++) uses[e->results[r]]++;

  printer p = {.e = e};
  p.names = wk_xcalloc(e->n, sizeof *p.names);
  p.stack = wk_xmalloc(e->n * sizeof *p.stack);
  uint32_t number = 0;
  for (uint32_t i = 0; i < e->n; i++) {
    if (uses[i] < 2 || wk_expr_op_arity(e->nodes[i].op) == 0) continue;
    size_t at = p.pool.n;
    number = print_name(&p.pool, number);
    wk_str_add(b, p.pool.s + at);
    wk_str_add(b, " = ");
    print_tree(b, &p, (uint16_t)i);
    wk_str_add(b, "; ");
    wk_str_addn(&p.pool, "", 1); /* ends the name */
    p.names[i] = (uint32_t)at + 1;
  }
  for (uint32_t r = 0; r < e->n_results; r++) {
    if (r) wk_str_add(b, ", ");
    print_tree(b, &p, e->results[r]);
  }
  wk_str_free(&p.pool);
  free(p.stack);
  free(p.names);
  free(uses);
}
