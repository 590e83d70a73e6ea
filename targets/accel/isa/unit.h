/* SPDX-License-Identifier: Apache-2.0
 * unit: what a package holds of parts for the accelerator. The compiler writes it, devices and
 * tools read it. Beside CONST (weights, records, tables; one segment of memory, read only) these
 * sections, all little-endian:
 *
 *   "machine"   text of a machine file with every key: what the parts were compiled for
 *   "commands"  of all parts, one after the other, 64 bytes each, END at the end of each part.
 *               The `dram` field of LD and ST counts from the start of a segment
 *   "segments"  a byte for every command: wk_accel_segment; what its `dram` counts from
 *   "parts"     wk_accel_part, one per part; wk_package_part.code is the number of the row
 *   "layers"    wk_accel_layer, those of a part one after the other; they are the part's steps
 *   "least"     wk_accel_least, one per row of "layers"; of older packages: none
 *   "cuts"      wk_accel_cuts, one per row of "layers"; of older packages: none
 *   "places"    wk_accel_window: where results lie in the scratchpad when they are computed
 *   "pitches"   a u32 for every row of "places": bytes from one row to the next in the tensor; none
 *               where those of all places follow one another, and in older packages
 *   "results"   a u32 for every command: 1 + the row of "places" for what it computes, 0: none
 *   "values"    wk_accel_value: the tensors that layers leave, those of a layer one after the other
 *   "texts"     strings, each ends with a zero byte; rows hold offsets of their first byte
 *
 * A machine loads a part by adding, to the `dram` of every LD and ST, the address at which it has
 * put the segment: sessions share commands and constants and have memory of their own. */
#ifndef WICK_ACCEL_UNIT_H
#define WICK_ACCEL_UNIT_H

#include "targets/accel/isa/isa.h"

/* Cycles that a port of the scratchpad waits before it goes before all others. */
#define WK_PORT_PATIENCE 15

#define WK_ACCEL_MACHINE "machine"
#define WK_ACCEL_COMMANDS "commands"
#define WK_ACCEL_SEGMENTS "segments"
#define WK_ACCEL_PARTS "parts"
#define WK_ACCEL_LAYERS "layers"
#define WK_ACCEL_LEAST "least"
#define WK_ACCEL_CUTS "cuts"
#define WK_ACCEL_PLACES "places"
#define WK_ACCEL_PITCHES "pitches"
#define WK_ACCEL_RESULTS "results"
#define WK_ACCEL_VALUES "values"
#define WK_ACCEL_TEXTS "texts"

/* Segments start at multiples of this. */
#define WK_ACCEL_SEGMENT_ALIGN 1024

typedef enum {
  WK_SEGMENT_NONE,  /* the command does not use memory */
  WK_SEGMENT_CONST, /* the unit's CONST */
  WK_SEGMENT_WORK,  /* activations of the part: `work_bytes`, undefined at the start */
  WK_SEGMENT_IO     /* + i: the part's input i, then its outputs; as the part's tensors lie */
} wk_accel_segment;

typedef struct {
  uint32_t first_command, commands; /* with END */
  uint32_t first_layer, layers;
  uint64_t work_bytes;
  uint64_t tensor_bytes; /* of what its commands compute, all tensors one behind the other */
  uint32_t marks;    /* rows of the mark area that the part writes: 0 .. marks - 1 */
  uint32_t reserved; /* 0 */
  uint64_t predicted; /* cycles, by the schedule model */
} wk_accel_part;

/* Tensors exist in strips, here and there; who wants to see one puts it together. Byte q of
 * `planes` * `rows` * `row` from `scratchpad` on is, of the part's tensors, byte
 *   at + q / (rows * row) * plane + q % (rows * row) / row * pitch + q % row
 * pitch: of "pitches", or `row`. */
typedef struct {
  uint64_t at, plane;
  uint32_t scratchpad, planes, rows, row;
} wk_accel_window;

/* Element p of a tensor is byte at + sum p[k] * strides[k] of the part's tensors, but for axis
 * `lane`: element q of it is byte (first + q) / N * strides[lane] + (first + q) % N there. */
typedef struct {
  uint64_t at;
  uint32_t lane, first; /* lane WK_ACCEL_NO_LANE: there is none */
  int64_t strides[8];   /* bytes */
} wk_accel_value;

#define WK_ACCEL_NO_LANE UINT32_MAX

/* What commands of the same `operator` compute: row `operator - 1` of the part's layers. Commands
 * with operator 0 belong to none. */
typedef struct {
  uint32_t name, op;     /* texts: the model's node, "conv" */
  uint32_t group, mark;  /* layers that run in turns have the same group; the row of the MARK behind
                            the group, UINT32_MAX: none */
  uint64_t macs;         /* of the model: what padding and tails add does not count */
  uint64_t ex, drain, ve; /* cycles: the least that the array, its drain, the vector unit need for
                             the layer's commands */
  uint64_t loaded, stored; /* bytes that its commands move */
  uint64_t predicted;    /* of the part's: charged to the layer (charge.h) */
  uint64_t compulsory;   /* bytes that any schedule moves: weights, the part's inputs and outputs */
  uint32_t first_value, values; /* row of "values" for each tensor of the step */
} wk_accel_layer;

/* What a layer takes at least, whatever commands compute it: cycles of the array, its drain and the
 * vector unit, and bytes. */
typedef struct {
  uint64_t ex, drain, ve;
  uint64_t weights, in, out; /* of the layer; inputs of the part, and constants of several layers,
                                that it is the first to read; outputs that it writes */
} wk_accel_least;

/* Between which cuts of its part a layer's work is, whatever the stream. A cut is the moment when a
 * layer has been computed, and with it all that it depends on; they have numbers from 1 on, in the
 * order of time. */
#define WK_ACCEL_NO_CUT UINT32_MAX
typedef struct {
  uint32_t after, before; /* it begins behind one, 0: the start, and ends before another,
                             WK_ACCEL_NO_CUT: the end */
  uint32_t late;          /* and behind this one, `after` or a later one, it uses `weights` */
  uint32_t reserved;      /* 0 */
  uint64_t weights;       /* bytes; those that layers share are the first one's */
} wk_accel_cuts;

#endif
