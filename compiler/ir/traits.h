/* SPDX-License-Identifier: Apache-2.0
 * Traits: what code asks of an operator beside its definition, as the column of ops.def says it.
 * Whoever asks switches over all values of a trait and has no default, so that a new value does
 * not compile where it has no answer; a row without an order or an estimate of its work does not
 * compile either (traits.c). */
#ifndef WICK_IR_TRAITS_H
#define WICK_IR_TRAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* T_VIEW: movement that a choice of storage can make free. */
typedef enum {
  WK_VIEW_NONE,
  WK_VIEW_WHOLE,  /* the result shows all of x: either may be a view of the other */
  WK_VIEW_PART,   /* results show some of x, or show it more than once: views of x */
  WK_VIEW_PIECES, /* all operands are pieces of the result */
  WK_VIEW_INSIDE  /* operand 0 is the inside of the result, which has a border */
} wk_view_trait;

/* T_WINDOW: attributes strides, pads and dilations, kernel but for convolutions. What a window that
 * slides over x sees outside of it; or it slides over the result. T_WINDOW_OUTSIDE(a): ATTRIBUTE,
 * which is a. */
typedef enum {
  WK_WINDOW_NONE, WK_WINDOW_ZERO, WK_WINDOW_LEAST, WK_WINDOW_ATTRIBUTE, WK_WINDOW_BACK
} wk_window_trait;

/* T_MACS: what is multiplied and summed up. */
typedef enum {
  WK_MACS_NONE,
  WK_MACS_PRODUCT,  /* rows of a with columns of b */
  WK_MACS_CONV,     /* each element of y reads a kernel */
  WK_MACS_SPREAD,   /* each element of x is spread by a kernel */
  WK_MACS_STEPS,    /* x and the state with w and r, in each step */
  WK_MACS_ATTENTION /* q with k, and that with v */
} wk_macs_trait;

/* T_ORDER: the memory order of results. */
typedef enum {
  WK_ORDER_ROWS, /* row-major */
  WK_ORDER_CHANNELS_LAST, /* where the target prefers it, else row-major */
  WK_ORDER_FIRST, /* that of operand 0, if of the same rank */
  WK_ORDER_MAIN,  /* that of the operand most like the result */
  WK_ORDER_RESHAPE, WK_ORDER_TRANSPOSE, WK_ORDER_REDUCE, WK_ORDER_GATHER /* as they move axes */
} wk_order_trait;

/* T_WORK: what the evaluator takes for an element of the result (compiler/eval/work.c). */
typedef enum {
  WK_WORK_ONE, WK_WORK_FEW, WK_WORK_SCALAR, WK_WORK_MANY, /* 1, 4, 8 and 16 elements read */
  WK_WORK_EXPRESSION, /* that of the epilogue */
  WK_WORK_FOLD,       /* that of the epilogue; and before it what is folded */
  WK_WORK_WINDOW,     /* a kernel */
  WK_WORK_CHANNELS,   /* attribute size */
  WK_WORK_SAMPLES,    /* attribute samples, squared; 0: at most x */
  WK_WORK_SEGMENTS,   /* rows that segments name, beside it */
  WK_WORK_PAIRS,      /* each element read with each of x */
  WK_WORK_MATRIX      /* each element read with a row of x */
} wk_work_trait;

typedef struct {
  wk_view_trait view;
  wk_window_trait window;
  wk_macs_trait macs;
  wk_order_trait order;
  wk_work_trait work;
  bool any_order;       /* T_ANY_ORDER: takes no longer to write its result in another order */
  bool narrow;          /* T_NARROW: takes elements of narrow types as they are */
  bool has_epilogue;    /* T_EPILOGUE(a), T_EPILOGUE_OF(a, first): attribute a is an expression that
                           makes each element of the result, and reads the inputs from `first` on at
                           its position; without `first` none */
  size_t epilogue, outside; /* of the attributes, in their struct */
  uint32_t elementwise; /* `first`; UINT32_MAX: none */
  bool begins_as_first; /* T_BEGINS_AS_FIRST: the result is its first input, some of whose elements
                           are changed; that is read at the position that is written alone */
} wk_op_traits;

#endif
