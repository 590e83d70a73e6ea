/* SPDX-License-Identifier: Apache-2.0
 * dma: the schedule model's memory, and the channels and the front end that use it, burst by burst
 * (isa.md, Durations: LD, ST, FILL; sim/rtl/wick_load.sv, wick_store.sv, wick_fetch.sv;
 * machine.md, Memory). Memory serves bursts one after the other in the order in which they are
 * ready: those of loads and of the front end their latency after they were asked for, those of a
 * store when their data has come. So a burst waits behind all that others have asked for before,
 * `bursts` of every channel at most. Bursts of a command are taken for equally long; where a
 * channel may have many of them in flight, a few that follow one another are a *pack*, which is
 * asked for, sent and served as one: FEWEST of these may be. Packs of a channel end where its
 * bursts, counted from the first, are a multiple of so many. Not there: jitter, refresh, traffic,
 * dram_outstanding.
 *
 * Time goes on from event to event: whoever starts a command does it when no event is earlier. */
#ifndef WICK_ACCEL_DMA_H
#define WICK_ACCEL_DMA_H

#include "compiler/stream/machine.h"
#include "targets/accel/compile/commands.h"
#include "targets/accel/compile/ports.h"

/* A command of a channel: what it moves, and how far it is. */
typedef struct {
  uint32_t step;
  bool is_fill;
  int64_t start, passes;           /* passes: it leaves the setup stage */
  int64_t bursts, beats, accesses; /* accesses: to the scratchpad */
  int64_t burst_beats, burst_accesses; /* of each burst; 0: that is no whole number */
  int64_t asked, sent, served;     /* bursts; sent: of stores, with their data */
  int64_t served_beats, served_accesses; /* of the bursts that are served; these: of loads */
  int64_t per_beat;                /* loads: accesses, rounded up */
  int64_t from;                    /* stores: the cycle of the first access */
  int banks;                       /* that an access needs */
  double slow;                     /* stores: cycles of an access */
} wk_accel_transfer;

enum { WK_ACCEL_OPEN = 16, WK_ACCEL_WINDOW = 128 };

/* Commands wait in `next` until the one before has asked for all of its bursts, then they are
 * `open` until they are done. */
typedef struct {
  bool is_store, has_next;
  wk_accel_transfer next, open[WK_ACCEL_OPEN];
  uint32_t done, passed;          /* commands so far */
  uint32_t asking, sending;       /* the first that has bursts to ask for; to send */
  uint32_t limit;                 /* commands that may be open */
  int64_t retired[WK_ACCEL_OPEN]; /* the last ones */
  int64_t walked;                 /* when the last one asked for its last burst */
  int64_t asked, sent, served;    /* packs so far; of each the bursts, when it was asked for, when
                                     the place of its last burst is free: */
  int64_t size[WK_ACCEL_WINDOW], asked_at[WK_ACCEL_WINDOW], free_at[WK_ACCEL_WINDOW];
  int64_t taken[WK_ACCEL_WINDOW]; /* bursts of all packs up to this one */
  int64_t places, last_free;      /* bursts so far; a pack whose places the last one got */
  int64_t last_ask, last_sent;
  int64_t moved;   /* when the last byte was read from or written to the scratchpad */
  double waited;   /* a part of a cycle, that is not in `moved` yet */
  int64_t next_at; /* loads: the next request; stores: when the next pack has its data */
  int64_t free;    /* when the next command may start */
} wk_accel_channel;

typedef struct {
  int64_t ready;
  int source; /* a queue; of the front end, WK_QUEUE_COUNT */
} wk_accel_burst;

enum { WK_ACCEL_BURSTS = 512, WK_ACCEL_BATCHES = 64 }; /* powers of two, more than there can be */

/* Packs that wait for memory, by the cycle in which they are ready. */
typedef struct {
  wk_accel_burst at[WK_ACCEL_BURSTS];
  uint32_t head, n;
} wk_accel_waiting;

typedef struct {
  const wk_machine *machine;
  int64_t together; /* bursts of a pack, at most */
  const wk_accel_ports *ports; /* the array's */
  double vector;               /* cycles in which the vector unit has a certain bank, of each */
  wk_accel_channel channels[WK_QUEUE_COUNT];
  wk_accel_waiting reads, writes;
  int shift;             /* 1 << shift is dram_bytes.num; -1: that is no power of two */
  int64_t free_at, free; /* of memory: in 1 / dram_bytes.num cycles; in cycles, rounded down */
  int64_t delivered; /* the last beat on the bus */
  int64_t last_ask;  /* of all loads: one a cycle */
  int turn, queues;  /* turn: who asked last */
  /* front end: batches of commands that are fetched with one burst */
  int64_t commands, per_batch, batches, fetched, batch_at[WK_ACCEL_BATCHES];
  bool has_news;
  int64_t now; /* of the last event */
  /* what was found to retire since `n_done` was last set to 0 */
  wk_sched_done done[4 * WK_ACCEL_OPEN];
  int n_done;
} wk_accel_dma;

/* commands: so many are fetched in all. is_begin: none of them is there yet. */
void wk_accel_dma_init(wk_accel_dma *d, const wk_machine *m, const wk_accel_ports *ports,
                       int64_t commands, bool is_begin);

/* When a command of this channel may start, by what is known; NEVER: an event comes first. */
static inline int64_t wk_accel_dma_free(const wk_accel_dma *d, uint32_t queue) {
  return d->channels[queue].has_next ? WK_SCHED_NEVER : d->channels[queue].free;
}
/* LD, ST or FILL, number `index` of the steps. */
void wk_accel_dma_start(wk_accel_dma *d, const wk_sched_steps *s, uint32_t index, int64_t start);

/* Events before `until`, up to the first that others may have waited for: a command is done, the
 * next one may start, commands are fetched. True: there was such a one. */
bool wk_accel_dma_run(wk_accel_dma *d, int64_t until);

/* The vector unit accesses the scratchpad in that share of its cycles from now on. */
static inline void wk_accel_dma_vector(wk_accel_dma *d, double share) {
  d->vector = share / (double)d->machine->banks;
}

/* So many commands have started; the last one `now`: others are fetched. */
void wk_accel_dma_fetch(wk_accel_dma *d, int64_t started, int64_t now);
/* When command number n can start; NEVER: an event comes first. */
int64_t wk_accel_dma_fetched(const wk_accel_dma *d, int64_t n);

#endif
