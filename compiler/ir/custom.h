/* SPDX-License-Identifier: Apache-2.0
 * custom: operators that plugins bring, of domains of their own. A row says what the compiler has
 * to know of one: its attributes, the types of its results, what it computes, and what the program
 * calls that runs the model. In a graph it is a CUSTOM node, in a program a `custom` instruction;
 * nobody looks behind it: it is neither folded nor merged with another one, and its operands are
 * tensors without gaps. */
#ifndef WICK_IR_CUSTOM_H
#define WICK_IR_CUSTOM_H

#include "compiler/ir/graph.h"
#include "runtime/abi.h"

typedef enum {
  WK_CUSTOM_INT, WK_CUSTOM_FLOAT, /* one number */
  WK_CUSTOM_INTS, WK_CUSTOM_FLOATS, /* any number of them */
  WK_CUSTOM_WORD /* one of some texts, which its position among them stands for */
} wk_custom_kind;

/* The last row of a table is {0}. */
typedef struct {
  const char *name;
  wk_custom_kind kind;
  bool is_required; /* otherwise, where a node lacks it: `def`, or an empty list */
  double def;
  const char *words; /* WORD: "nearest linear", a blank between two */
} wk_custom_attr;

typedef struct wk_custom_op wk_custom_op;

/* A node whose results are asked for. */
typedef struct {
  const wk_custom_op *op;
  const wk_type *const *in; /* n_in types, none missing */
  uint32_t n_in, n_out;
  const wick_call_attribute *attributes; /* in the order of the row */
} wk_custom_query;

struct wk_custom_op {
  const char *domain, *name; /* as models have them; domain is not empty */
  const char *doc;           /* one line */
  uint32_t min_in, max_in, min_out, max_out; /* max_in UINT32_MAX: any number */
  const wk_custom_attr *attrs;               /* NULL: none */
  /* Fills n_out types, or says what does not fit (WK_INPUT, WK_UNSUPPORTED). NULL: one result, of
   * the type of the first input. */
  wk_status (*infer)(const wk_custom_query *q, wk_type *out);
  /* The definition, slow and right: what `wick compare` and the evaluator take. 0: done. */
  wick_routine_fn reference;
  const char *routine; /* name of the function that the processor's code calls (routine.h); a name
                          of C */
  /* LLVM bitcode that defines the routine: the code of packages and bundles has it, and nobody
   * registers it. What it may call: targets/cpu/custom_link.h. NULL: the program brings it. */
  const char *bitcode, *bitcode_end; /* end: behind the last byte */
};

/* The types of a node: only queries of a loaded plugin have rows. */
const wk_custom_op *wk_custom_find(const char *domain, const char *name);
/* Row i of those that are registered; NULL past the last. */
const wk_custom_op *wk_custom_at(size_t i);
/* For the whole process; the row stays as it is. By one thread at a time, while others may read.
 * WK_INPUT: something is missing in it; WK_USAGE: there is such an operator; WK_RESOURCE: too
 * many. */
wk_status wk_custom_register(const wk_custom_op *op) WK_MUST_CHECK;

/* The attributes of a CUSTOM node or instruction as routines see them: one for each of the row's,
 * in the arena, pointing into `a`. */
const wick_call_attribute *wk_custom_attributes(const wk_attr_custom *a, wk_arena *arena);
/* How many the row has. */
uint32_t wk_custom_attr_count(const wk_custom_op *op);

#endif
