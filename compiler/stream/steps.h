/* SPDX-License-Identifier: Apache-2.0
 * steps: the commands of a part before they have a time and a place. A step names the buffers of
 * the scratchpad that it uses; loads stand right before the first step that needs them. Each queue
 * runs its steps in this order; when they start, and how far loads run ahead, is the schedule's. */
#ifndef WICK_STREAM_STEPS_H
#define WICK_STREAM_STEPS_H

#include "compiler/stream/net.h"

/* Bytes [column, column + width) of rows [row, row + rows) of planes [plane, plane + planes) of a
 * tensor in the scratchpad. */
typedef struct {
  int buffer; /* -1: nowhere */
  int64_t offset, column, width, row, rows, plane, planes;
  int64_t pitch, lead; /* bytes from row to row; of a row before its first pixel */
} wk_sched_place;

/* Where commands leave what they compute of a tensor. */
typedef struct {
  int tensor;
  wk_sched_place place; /* without lead */
} wk_sched_computed;

/* The command's field `field` (-1: none; the machine's own number) is the address `at` of the
 * buffer; what is used are n1 * n0 runs of `run` bytes, s1 and s0 apart, from `from` on. */
typedef struct {
  int buffer, field;
  bool writes;
  int64_t at, from, run, s0, s1;
  int64_t n0, n1;
} wk_sched_access;

enum { WK_SCHED_ACCESSES = 5, WK_SCHED_SLOTS = 4 };

typedef struct {
  int queue;
  uint32_t layer;      /* 1 + the net's; 0: none */
  wk_sched_access access[WK_SCHED_ACCESSES];
  int n_access;
  int tensor;          /* that it loads or stores; -1: none */
  int64_t mem_rows[2]; /* rows of the tensor that are read or written: [0], [1) */
  int64_t mem_at, mem_run, mem_runs, mem_stride; /* their bytes: runs, from the tensor's start */
  int64_t bytes;       /* that it loads or stores */
  int slot;            /* of what its queue keeps from command to command, accumulators say: those
                          that use a slot wait for the last that has ended its use; -1: none */
  bool ends_slot;
  int group;           /* of the plan, or a round of one: counted */
  int result;          /* what of the results it computes; -1: none */
  uint32_t ordinal;    /* in its queue */
  wk_sched_counts needs; /* commands of each queue that must have retired */
} wk_sched_step;

typedef struct {
  int64_t bytes, cell; /* cell: what hazards are told apart by */
  int first, last;     /* steps that use it */
  int64_t at;          /* in the scratchpad */
} wk_sched_buffer;

/* Of groups that go round by round together: steps, and bytes that these load and store, from the
 * first of all to the end of the first round, and of the second. */
typedef struct {
  size_t end[2];
  int64_t bytes[2];
  int more; /* rounds behind the second one, which are like it */
} wk_sched_round_steps;

typedef struct {
  char *data;
  size_t bytes;
} wk_sched_chunk;

typedef struct {
  size_t command_bytes; /* of a command of the machine */
  WK_VEC(char) commands;
  WK_VEC(wk_sched_step) list;
  WK_VEC(wk_sched_buffer) buffers;
  wk_sched_counts issued;
  WK_VEC(wk_sched_computed) results;
  bool by_planes;     /* groups have rounds: hazards in memory are told apart by planes, too */
  bool is_begin;      /* the part's: the first commands are yet to be fetched */
  int lasting;        /* as the plan has it */
  WK_VEC(bool) alone; /* of each group: as the plan has it */
  WK_VEC(int) same;   /* of each group: the same number where rounds are alike */
  WK_VEC(int) first;  /* of each group: the first operator of the plan's, which rounds share */
  int group, groups;  /* that steps are added for; one more than the last */
  int result;         /* that steps are added for */
  int64_t loaded, stored;
  WK_VEC(wk_sched_round_steps) rounds; /* where not all are built */
  WK_VEC(wk_sched_chunk) room;         /* that wk_sched_depend works in, for the next plan */
} wk_sched_steps;

void wk_sched_steps_free(wk_sched_steps *s);
/* Its room stays, for steps of another plan. */
void wk_sched_steps_clear(wk_sched_steps *s, const wk_sched_net *net);
/* Steps that are added from now on compute rows of the tensor there; tensor -1: none. */
void wk_sched_steps_compute(wk_sched_steps *s, int tensor, const wk_sched_place *place);
/* cell 0: the whole buffer. */
int wk_sched_buffer_add(wk_sched_steps *s, int64_t bytes, int64_t cell);
/* command: of the machine, command_bytes of it; copied. Valid until the next one is added. */
wk_sched_step *wk_sched_step_add(wk_sched_steps *s, int queue, uint32_t layer,
                                 const void *command);
void wk_sched_touch(wk_sched_step *s, const wk_sched_access *a);
/* The step uses rows [r0, r1) of planes [p0, p1) of a place, whose address is the command's field
 * `field`. */
void wk_sched_touch_rows(wk_sched_step *s, const wk_sched_place *p, int field, bool writes,
                         const int64_t planes[2], const int64_t rows[2]);
/* Of step i. */
static inline const void *wk_sched_command(const wk_sched_steps *s, size_t i) {
  return &s->commands.data[i * s->command_bytes];
}
static inline void *wk_sched_last_command(wk_sched_steps *s) {
  return &s->commands.data[s->commands.n - s->command_bytes];
}
/* The step waits for that many commands of each queue, if not for more. */
void wk_sched_wait_for(wk_sched_step *s, const wk_sched_counts c);

#endif
