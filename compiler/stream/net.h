/* SPDX-License-Identifier: Apache-2.0
 * net: what the scheduler knows of a part: tensors in memory, and operators in an order in which
 * they can be computed, row by row of their results. What an operator computes only the machine
 * knows (machine.h). */
#ifndef WICK_STREAM_NET_H
#define WICK_STREAM_NET_H

#include "compiler/stream/queues.h"

typedef struct wk_sched_machine wk_sched_machine;

typedef enum {
  WK_SCHED_CONST, /* comes with the program; nobody writes it */
  WK_SCHED_WORK,  /* goes from operator to operator; the schedule places it */
  WK_SCHED_IO     /* enters or leaves the part */
} wk_sched_home;

/* bytes = planes * rows * row: a strip of a tensor is the same rows of all its planes. */
typedef struct {
  int64_t bytes, planes, rows, row;
  wk_sched_home home;
  int64_t at;     /* of WORK: its address there, once it is placed; else the machine's own */
  int port;       /* of IO: which one; the machine's own */
  bool is_shaped; /* the machine's own function loads it, otherwise than it lies in memory */
} wk_sched_tensor;

/* What an operator has of a tensor. Its row y is row first + y * step (>= 0) of the tensor, and
 * `extra` rows behind it, of a result fewer than `step`, also where there is one row
 * alone; without rows (is_whole) it has all of them at once. */
typedef struct {
  int tensor; /* -1: none */
  int64_t planes[2];
  int64_t stack; /* planes from one stack of the operator to the next; 0: all have the same ones */
  int64_t stack_rows; /* of operands, whose stacks have the same planes: rows to the next; or 0 */
  bool is_whole;
  int64_t rows, first, step, extra;
  int64_t columns[2]; /* bytes [0], [1) of each row of the tensor hold all of it; [1] 0: the row
                         does */
  /* Of operands: rows [y0, y1) of the result need rows [y0 * stride - pad,
   * (y1 - 1) * stride - pad + span), as far as there are such; without a window those rows. */
  bool has_window;
  int64_t stride, pad, span;
  /* Instead of that: row y needs rows [needs[2y], needs[2y + 1]), both of which grow with y; NULL:
   * not so. */
  const int64_t *needs;
  bool takes_all; /* of operands: each row needs all rows that the view has */
} wk_sched_view;

enum { WK_SCHED_OPERANDS = 2 };

/* An operator. It stands behind all that write what it reads, and so reads nothing that it writes.
 * Its constants, all of `consts`, are const_bytes for each of its pieces, in their order. */
typedef struct {
  const char *name, *kind; /* for texts */
  uint32_t layer;          /* in the net's layers */
  wk_sched_view out, in[WK_SCHED_OPERANDS];
  int queue;           /* of the engine that computes it, mostly */
  size_t pieces;       /* at least 1 */
  int consts;          /* tensor; -1: none */
  int64_t const_bytes;
  bool one_const;      /* the same for all pieces */
  bool by_pieces;      /* pieces are computed one after the other, with constants that come then;
                          otherwise all of them at once, with those of the first */
  bool rides;          /* any pieces may be computed apart, with the constants of the first: a plane
                          of the result each, of the same planes of its operands */
  bool same_pitch;     /* rows of operand 1 and of the result must be equally far apart in the
                          scratchpad */
  bool replaces;       /* each number of the result may lie where that of operand 0 does, which lies
                          in as many planes and rows, as long ones */
  bool loads_itself;   /* pieces are computed by what loads their constants in parts */
  bool takes_parts;    /* or all of them at once, by what loads operand 0 in parts, some planes
                          after the others, with the constants of these */
  int64_t plane;       /* >= 0: piece i computes plane plane + i of the result, whole, of the first
                          stack; -1: not so */
  int64_t stacks;      /* computations of the same kind, of a batch or of heads, none of which needs
                          what another one computes; they have the same constants. 0 is 1 */
  bool shares_pieces;  /* but that each stack has as many of the pieces, which are planes, and their
                          constants: those of the first come first */
  const void *own;     /* what the machine knows of it */
} wk_sched_op;

typedef struct {
  const wk_sched_machine *machine;
  const void *context; /* the machine's own net */
  wk_arena *arena;     /* for texts of errors */
  wk_sched_tensor *tensors;
  size_t n_tensors;
  wk_sched_op *ops;
  size_t n_ops;
  const char **layers; /* their names */
  size_t n_layers;
} wk_sched_net;

/* For nets that are made one by one: arrays grow in the net's arena. Each returns the number. */
int wk_sched_add_tensor(wk_sched_net *net, const wk_sched_tensor *t);
/* The operator is a layer of its own, of its name. */
int wk_sched_add_op(wk_sched_net *net, const wk_sched_op *op);

static inline int64_t wk_sched_stacks(const wk_sched_op *op) {
  return op->stacks > 1 ? op->stacks : 1;
}
/* Pieces of stacks [stacks[0], stacks[1]) of an operator. */
void wk_sched_pieces_of(const wk_sched_op *op, const int64_t stacks[2], size_t pieces[2]);
/* Planes that stacks [stacks[0], stacks[1]) of an operator have in a view of its own. */
void wk_sched_planes_of(const wk_sched_op *op, const wk_sched_view *x, const int64_t stacks[2],
                        int64_t planes[2]);
/* Bytes of a row of its tensor that a view has. */
void wk_sched_columns_of(const wk_sched_tensor *t, const wk_sched_view *x, int64_t columns[2]);
/* Joins them to [columns[0], columns[1]); {INT64_MAX, 0}: none. */
void wk_sched_join_columns(const wk_sched_tensor *t, const wk_sched_view *x, int64_t columns[2]);
static inline bool wk_sched_overlap(const int64_t a[2], const int64_t b[2]) {
  return a[0] < b[1] && b[0] < a[1];
}
/* Rows of the tensor that rows [y0, y1) of the view are. */
void wk_sched_rows_of(const wk_sched_tensor *t, const wk_sched_view *x, int64_t y0, int64_t y1,
                      int64_t rows[2]);
/* How many of the view's rows lie below row `end` of its tensor: the first ones. */
int64_t wk_sched_rows_below(const wk_sched_tensor *t, const wk_sched_view *x, int64_t end);
/* Rows of the operand's tensor that rows [y0, y1) of the result need, in these stacks. */
void wk_sched_needed_rows(const wk_sched_tensor *t, const wk_sched_view *x,
                          const int64_t stacks[2], int64_t y0, int64_t y1, int64_t rows[2]);

/* Who writes and reads a tensor: first and last operator; -1: none. */
typedef struct {
  int first_writer, last_writer, first_reader, last_reader;
} wk_sched_use;
wk_sched_use *wk_sched_uses(const wk_sched_net *net, wk_arena *a);

#endif
