/* SPDX-License-Identifier: Apache-2.0
 * dma: the schedule model's memory, and the channels that use it (isa.md, Durations: LD, ST, FILL;
 * sim/rtl/wick_load.sv, wick_store.sv). Requests are asked in any order of their times; who asks
 * first has the bandwidth. */
#ifndef WICK_ACCEL_DMA_H
#define WICK_ACCEL_DMA_H

#include "targets/accel/compile/steps.h"

/* Bandwidth in slots of a fixed number of cycles; transfers take what is left from their start
 * on. A slot without anything left points behind itself. */
typedef struct {
  double *left;
  uint32_t *next;
  size_t n, cap;
  double rate; /* bytes/cycle */
} wk_accel_bus;

enum { WK_ACCEL_DMA_OPEN = 10 }; /* commands of a load channel that are under way */

/* What a command of a channel asked for last: bursts, first and last data, when it retired. */
typedef struct {
  int64_t bursts, begin, end, retire;
} wk_accel_transfer;

typedef struct {
  wk_accel_transfer last[WK_ACCEL_DMA_OPEN]; /* the latest first */
  int64_t asked;   /* when all bursts of the last command were */
  int64_t moved;   /* when its last byte was read from or written to the scratchpad */
  int64_t free_at; /* when the next command may start */
} wk_accel_channel;

typedef struct {
  const wk_machine *machine;
  wk_accel_bus bus;
  wk_accel_channel channels[WK_QUEUE_COUNT];
} wk_accel_dma;

void wk_accel_dma_init(wk_accel_dma *d, const wk_machine *m);
void wk_accel_dma_free(wk_accel_dma *d);

/* LD, ST or FILL that starts at `start`, not before free_at of its channel: when it retires. */
int64_t wk_accel_dma_run(wk_accel_dma *d, const wk_accel_step *s, int64_t start);
/* The front end asks for a command. */
void wk_accel_dma_fetch(wk_accel_dma *d, int64_t start);

#endif
