/* SPDX-License-Identifier: Apache-2.0
 * "pixel": an accelerator of bf16 images. It has one engine, one load queue, one store queue and a
 * scratchpad, and no accumulators: a command computes whole rows of whole channels, 16 pixels of 8
 * channels at a time, sums in f32, and rounds them once. Memory holds images as [c][h][w]. */
#ifndef PIXEL_MACHINE_H
#define PIXEL_MACHINE_H

#include <stdint.h>

enum { ENGINE, LOAD, STORE, QUEUES };
enum { OP_CONV, OP_MAX_POOL, OP_RELU, OP_ADD, OP_COPY, OP_MOVE };
enum { RESULT, FIRST, SECOND, CONSTS, PLACES }; /* what a command names in the scratchpad */
enum { IN_CONSTS, IN_WORK, IN_PORTS };          /* memories; of the ports which one */
enum { PIXELS = 16, CHANNELS = 8, OVERHEAD = 16, SCRATCHPAD = 1 << 18, LATENCY = 120 };

/* Rows [row, row + rows) of channels from `channel` on, `width` elements each. */
typedef struct { uint32_t at; int32_t row, rows, channel, width; } picture;

typedef struct {
  uint64_t work; /* bytes of memory that the part works in */
  uint16_t op, queue;
  uint32_t wait[QUEUES]; /* so many commands of each queue have retired when it starts */
  picture p[PLACES];     /* OP_MOVE: RESULT.at is where the chunks lie */
  /* OP_MOVE: n1 runs of n0 bytes, s1 apart, and as many bytes in chunks, `pitch` apart */
  uint32_t memory, port;
  int64_t dram, n0, n1, s1, chunk, pitch;
  /* rows [y0, y1) of channels [c0, c1) of the result */
  int32_t y0, y1, c0, c1;
  int32_t height, depth, group; /* of the operand: rows; CONV: channels of a sum, results of one */
  int32_t kernel[2], stride[2], pad[2], step[2];
  uint32_t layer; /* 1 + the part's */
} command;

#endif
