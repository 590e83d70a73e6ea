/* SPDX-License-Identifier: Apache-2.0
 * proof: that a stream of commands runs to its end and always gives the same memory, whatever the
 * depth of the queues and however long its commands take:
 *
 *   - waits are for earlier commands only, so the oldest command that has not retired can go on;
 *   - two accesses to a byte, one of them a write, are ordered: the later command starts after the
 *     earlier one has retired;
 *   - nothing is read that no command wrote, but for what a space holds before the first one;
 *   - every access lies within its space.
 *
 * It knows of commands what they wait for and which bytes they use, and nothing of whatever made
 * them. wk_sched_prove takes a whole stream; whoever makes what commands use on the way, or has
 * rules of its own, takes a wk_sched_proof through it, command by command. */
#ifndef WICK_STREAM_PROOF_H
#define WICK_STREAM_PROOF_H

#include "compiler/stream/queues.h"
#include "compiler/stream/shadow.h"

/* ---- streams --------------------------------------------------------------------------------- */

/* A memory. Its unit is a byte here; it may be any other one. */
typedef struct {
  const char *name;  /* of its units in messages: "scratchpad bytes" */
  uint64_t size;
  bool has_content;  /* before the first command; what no command wrote may be read */
} wk_sched_space;

/* What streams run on. */
typedef struct {
  wk_sched_queues queues;
  const wk_sched_space *spaces;
  int n_spaces;
} wk_sched_hardware;

/* Bytes from .. from + length - 1 of a space that a command reads or writes. */
typedef struct {
  int space;
  bool writes;
  bool apart;        /* a write that must not lie where the command itself reads */
  const char *field; /* of the command, for messages; or NULL */
  uint64_t from, length;
} wk_sched_bytes;

/* It starts when so many of the first commands of each queue have retired; 0: it does not wait. */
typedef struct {
  int queue;
  wk_sched_counts waits;
  const wk_sched_bytes *runs;
  size_t n_runs;
} wk_sched_proof_command;

/* ---- faults ---------------------------------------------------------------------------------- */

typedef enum {
  WK_SCHED_GOOD,
  WK_SCHED_AHEAD,     /* it waits for what is no earlier command */
  WK_SCHED_OUTSIDE,   /* the run leaves its space */
  WK_SCHED_RACE,      /* the run needs what another command does, which may not have retired */
  WK_SCHED_UNWRITTEN, /* the run reads what no command has written */
  WK_SCHED_OWN        /* the run writes what the command reads, and must lie apart */
} wk_sched_fault_kind;

typedef struct {
  wk_sched_fault_kind kind;
  uint32_t command;
  int queue;          /* of the command */
  wk_sched_bytes run;   /* not of AHEAD */
  uint64_t address;   /* UNWRITTEN: the first */
  uint32_t other;     /* RACE: the other command, */
  bool other_writes;  /* what it does there, */
  int wait_queue;     /* the wait that is missing; AHEAD: the one that is wrong */
  uint32_t wait_count;
} wk_sched_fault;

/* Says which command that is: "command 3 (ADD on ve)". */
typedef void wk_sched_describe_fn(const void *context, uint32_t command, wk_str *out);

/* What is wrong, without the command and the field: "reads … 0x0 to 0x7, which command 3 (on ve)
 * writes and which may not have retired: a wait for ve:2 is missing". describe may be NULL. */
void wk_sched_fault_says(const wk_sched_fault *f, const wk_sched_hardware *on,
                         wk_sched_describe_fn *describe, const void *context, wk_str *out);
/* The same behind "command 5 (on ex): field 'in': ". */
void wk_sched_fault_text(const wk_sched_fault *f, const wk_sched_hardware *on,
                         wk_sched_describe_fn *describe, const void *context, wk_str *out);

/* ---- the proof ------------------------------------------------------------------------------- */

/* Of n commands in stream order; the order of a command's runs is of no account. False: *fault
 * becomes the fault of the first command that has one. */
bool wk_sched_prove(const wk_sched_hardware *on, const wk_sched_proof_command *c, uint32_t n,
                    wk_sched_fault *fault) WK_MUST_CHECK;

/* When a command starts. */
typedef struct {
  int queue;
  uint32_t ordinal;       /* in its queue */
  wk_sched_counts before; /* of each queue, how many commands have retired then for certain */
} wk_sched_start;

typedef struct {
  const wk_sched_hardware *on;
  wk_sched_shadow *shadows; /* of each space */
  WK_VEC(wk_sched_start) starts;
  WK_VEC(uint32_t) of_queue[WK_SCHED_QUEUES]; /* ordinal -> command */
  wk_sched_fault fault;                       /* the last answer's that was false */
} wk_sched_proof;

/* Shadows, one a space, have cells of whatever some command writes; where a space has no cell,
 * none does. Both stay the caller's. */
void wk_sched_proof_init(wk_sched_proof *p, const wk_sched_hardware *on, wk_sched_shadow *shadows);
void wk_sched_proof_free(wk_sched_proof *p);
/* Goes on to the next command, the first at first. False: AHEAD. */
bool wk_sched_proof_next(wk_sched_proof *p, int queue, const wk_sched_counts waits) WK_MUST_CHECK;
/* Whether a run of the present command lies within its space. False: OUTSIDE. */
bool wk_sched_proof_fits(wk_sched_proof *p, const wk_sched_bytes *r) WK_MUST_CHECK;
/* The same, and whether what it conflicts with is over. False: OUTSIDE, RACE, UNWRITTEN. */
bool wk_sched_proof_look(wk_sched_proof *p, const wk_sched_bytes *r) WK_MUST_CHECK;
/* Notes a run, when all of the command's have been looked at, since what it uses itself must not
 * hide earlier uses: first what it reads, then what it writes apart from that. False: OWN. */
bool wk_sched_proof_note(wk_sched_proof *p, const wk_sched_bytes *r) WK_MUST_CHECK;
/* All of these for a whole command. */
bool wk_sched_proof_take(wk_sched_proof *p, const wk_sched_proof_command *c) WK_MUST_CHECK;

/* For rules of one's own. Whether an earlier command has retired when the present one starts. */
bool wk_sched_proof_is_over(const wk_sched_proof *p, uint32_t command);
/* The fault of a run that needs what another command does. */
void wk_sched_proof_race(wk_sched_proof *p, const wk_sched_bytes *r, uint32_t other, bool writes);

#endif
