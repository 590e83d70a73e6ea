/* SPDX-License-Identifier: Apache-2.0
 * machine: what the scheduler asks of a machine with explicit memory: numbers, commands for what
 * the plan decides, and a model of how long they take. */
#ifndef WICK_STREAM_MACHINE_H
#define WICK_STREAM_MACHINE_H

#include "compiler/stream/plan.h"

#define WK_SCHED_NEVER INT64_MAX /* a time that is not known yet */

/* Between memory, n1 runs of n0 bytes, s1 bytes from one to the next, and a buffer, as many bytes
 * in chunks, `pitch` from one to the next. */
typedef struct {
  bool stores;
  int queue;
  uint32_t layer; /* of the net */
  int tensor;
  int64_t dram, n0, n1, s1; /* dram: from the start of the tensor */
  int buffer;
  int64_t at, chunk, chunks, pitch; /* at: from the start of the buffer */
  int64_t rows[2];                  /* of the tensor, first and end */
} wk_sched_transfer;

/* Steps that are being made of a plan. */
typedef struct {
  const wk_sched_net *net;
  wk_sched_steps *steps;
  const wk_sched_group *group; /* the one in hand */
  int64_t chunk;               /* of the plan: bytes of constants in one go, about */
  int state[24]; /* the machine's own, from command to command: which slot is next, say; zeros at
                   first */
} wk_sched_building;

/* Rows [y0, y1) of an operator that are to be computed, of some of its stacks. */
typedef struct {
  wk_sched_building *b;
  int op;
  int64_t stacks[2]; /* [0, 1) where it has none */
  int64_t y0, y1;
  wk_sched_place out, in[WK_SCHED_OPERANDS]; /* in: buffer -1 where there is no operand, or it
                                                is to be loaded in parts; out, then, where whoever
                                                computes pieces has places for them and stores
                                                them */
  size_t piece, end; /* pieces [piece, end) */
  int consts;        /* the buffer of their constants, one behind the other; -1: none */
} wk_sched_work;

/* ---- how long commands take ------------------------------------------------------------------ */

/* A command whose retirement has become known. */
typedef struct {
  uint32_t step;
  int64_t retire; /* cycle */
} wk_sched_done;

enum { WK_SCHED_DONE = 64 };

/* The machine's units while a schedule is simulated; a machine puts this first in a struct of its
 * own. */
typedef struct {
  int64_t now; /* of the last event of the units */
  wk_sched_done done[WK_SCHED_DONE]; /* since whoever reads them has set n_done to 0 */
  int n_done;
} wk_sched_units;

/* Time goes from event to event: a command starts, or something happens in a unit. */
typedef struct {
  /* For the steps of this run, from cycle 0. */
  wk_sched_units *(*open)(const wk_sched_net *net, const wk_sched_steps *s);
  void (*close)(wk_sched_units *u);
  /* When the nth command of all that start, counted from 0, can start at the earliest: it has been
   * fetched. NEVER: an event comes first. NULL: from the beginning. */
  int64_t (*fetched)(wk_sched_units *u, int64_t n);
  /* When the next command of a queue may start, by what is known; NEVER: an event comes first. A
   * time that has been told stays until that command starts. */
  int64_t (*free)(const wk_sched_units *u, int queue);
  /* Step number `step` starts: its retirement is added to `done`, now or by a later event; at most
   * WK_SCHED_DONE at once. */
  void (*start)(wk_sched_units *u, uint32_t step, int64_t at);
  /* Events before `until`, and retirements at it, up to the first that others may have waited for:
   * true, `now` is its time. False: there is none. NULL: `start` tells all. */
  bool (*run)(wk_sched_units *u, int64_t until);
} wk_sched_model;

/* For machines whose numbers say enough: an engine does one command after the other, in `cycles`;
 * memory serves one transfer after the other, behind `latency`. */
extern const wk_sched_model wk_sched_rates;

/* ---- machine --------------------------------------------------------------------------------- */

/* Where several threads search (wk_sched_options.threads) they call these functions at once: none
 * changes the net. */
struct wk_sched_machine {
  const char *name; /* in messages */
  wk_sched_queues queues;
  const char *units[WK_SCHED_QUEUES]; /* what an engine is called: "array" */
  int load_queue, const_queue, store_queue; /* that transfers go to */
  int64_t scratchpad, most_scratchpad; /* bytes; of the largest machine of the kind */
  int64_t align;                       /* of buffers in the scratchpad */
  int64_t memory_align;                /* of tensors in memory */
  int64_t bytes_num, bytes_den;        /* bytes num / den that memory moves in a cycle */
  int64_t most_run, most_runs;         /* of a transfer: bytes of a run, runs */
  int64_t most_consts;                 /* bytes of constants in one transfer */
  int64_t most_result;                 /* bytes that one command computes of a plane, at most */
  int pieces_together;                 /* that a command computes side by side; 0: one */
  uint32_t most_commands;
  size_t command_bytes;                /* sizeof of a command */
  int spm_field;                       /* of a transfer's command: its address in the scratchpad */
  const wk_sched_model *model;
  /* For wk_sched_rates: cycles from the start of a load to its first byte, from the last byte of a
   * store to its retirement; of a command that computes. */
  int64_t latency, write_latency;
  int64_t (*cycles)(const wk_sched_net *net, const void *command);

  /* Adds a transfer as a step, for x->layer + 1; the caller says what it touches. */
  wk_sched_step *(*transfer)(wk_sched_building *b, const wk_sched_transfer *x);
  /* Adds steps that compute the pieces of a work, each with what it touches: operands, constants
   * and result (wk_sched_touch_rows), WK_SCHED_ACCESSES at most. */
  void (*compute)(const wk_sched_work *w);
  /* Before the first of the pieces [piece, end), which have a place together, and before constants
   * are loaded. NULL: nothing. */
  void (*prepare)(const wk_sched_work *w);
  /* Adds steps that bring rows [r0, r1) of planes [planes[0], planes[1]) of a tensor from one place
   * to another: a strip needs what the one before has computed. */
  void (*carry)(wk_sched_building *b, uint32_t layer, int tensor, const int64_t planes[2],
                int64_t r0, int64_t r1, const wk_sched_place *from, const wk_sched_place *to);
  /* Loads rows [r0, r1) of planes [planes[0], planes[1]) of an `is_shaped` tensor. NULL: there are
   * none. */
  wk_sched_place (*load)(wk_sched_building *b, int tensor, const int64_t planes[2], int64_t r0,
                         int64_t r1);
  /* A command that marks the end of group `row`, for plans with marks. NULL: there are none. */
  void (*mark)(wk_sched_building *b, size_t row);
  /* The same net, tensors and operators with the same numbers, on a machine with so much
   * scratchpad, in the arena. NULL: its operators do not depend on it. */
  void (*resize)(const wk_sched_net *net, int64_t scratchpad, wk_arena *a, wk_sched_net *out);
  /* Adds what the steps of an operator depend on and the net does not say (wk_sched_op.own), but
   * for its place in the net and values of which no time depends: equal texts, steps that are
   * alike. Needed where plans are kept (search.h). */
  void (*describe)(const wk_sched_net *net, int op, wk_str *out);
};

/* WK_INTERNAL: a number or a function that is needed is missing or cannot be, or the net is
 * none. */
wk_status wk_sched_check(const wk_sched_net *net, bool marks) WK_MUST_CHECK;

/* ---- for the machine's functions ------------------------------------------------------------- */

/* Adds numbers to what `describe` says. One by one: structs have padding, which is not always the
 * same. */
void wk_sched_put(wk_str *out, const int64_t *numbers, size_t n);
#define WK_SCHED_PUT(out, ...)                                    \
  wk_sched_put(out, (const int64_t[]){__VA_ARGS__},               \
               sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* The step uses the rows of its operands that the work needs, operand k by field first + k. */
void wk_sched_touch_operands(wk_sched_step *s, const wk_sched_work *w, int first);
/* Room for bytes [columns[0], columns[1]) of rows [row, row + rows) of planes
 * [plane, plane + planes) of a tensor. */
wk_sched_place wk_sched_place_new(wk_sched_building *b, const int64_t columns[2], int64_t row,
                                  int64_t rows, int64_t plane, int64_t planes);
/* Adds transfers of all columns that a place holds of rows [r0, r1) of planes [p0, p1) between
 * memory and it. */
void wk_sched_move_rows(wk_sched_building *b, bool stores, uint32_t layer, int tensor,
                        const wk_sched_place *p, int64_t r0, int64_t r1, int64_t p0, int64_t p1);
/* As much of a place as holds columns [columns[0], columns[1]). */
wk_sched_place wk_sched_place_part(const wk_sched_place *p, const int64_t columns[2]);
/* Adds a load of n runs of `bytes` of an operator's constants, each of a piece's, from byte `from`
 * of those of piece 0 on: their buffer, one behind the other. A run is at most most_consts. */
int wk_sched_load_each(wk_sched_building *b, const wk_sched_op *op, int64_t from, int64_t bytes,
                       int64_t n);
/* Adds a load of `bytes` of an operator's constants, from byte `from` on: their buffer. */
int wk_sched_load_consts(wk_sched_building *b, const wk_sched_op *op, int64_t from, int64_t bytes);

#endif
