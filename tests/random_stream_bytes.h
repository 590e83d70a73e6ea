/* SPDX-License-Identifier: Apache-2.0
 * The bytes that a command reads and writes, one after another as isa.md has it; shares nothing
 * with targets/accel/check. */
#ifndef WICK_TESTS_RANDOM_STREAM_BYTES_H
#define WICK_TESTS_RANDOM_STREAM_BYTES_H

#include "tests/random_stream.h"

/* Bits of a set: scratchpad bytes, tables, bytes of memory up to the end of the stream, which is
 * only read. */
typedef struct {
  size_t tables, memory, stream, end; /* first bits */
  size_t words;
} stream_cells;

typedef struct {
  uint64_t *reads, *writes;              /* words of them, owned */
  int64_t sums_from, sums_end, channels; /* accumulator entries, and how much of each */
  bool accumulates, drains, is_outside;
} stream_bytes;

stream_cells stream_cells_of(const wk_stream *s);
void stream_bytes_of(const wk_machine *m, const stream_cells *cells, const wk_isa_command *c,
                     stream_bytes *out);
void stream_bytes_free(stream_bytes *x);

/* Of the fields v of a CONV, DWC or POOL, which have these at the same places: is tap (ky, kx) of
 * output (oy, ox) padding, and where would it be read? */
bool stream_is_padding(const int64_t *v, int64_t oy, int64_t ox, int64_t ky, int64_t kx);
int64_t stream_tap(const int64_t *v, int64_t oy, int64_t ox, int64_t ky, int64_t kx);

#endif
