/* SPDX-License-Identifier: Apache-2.0
 * What is known of the scratchpad before a stream runs: bytes that an LD brought from the stream's
 * images, where no command writes, and that nothing has replaced since. */
#ifndef WICK_ACCEL_CONSTANTS_H
#define WICK_ACCEL_CONSTANTS_H

#include "compiler/stream/shadow.h"
#include "targets/accel/isa/stream.h"

typedef struct {
  const wk_stream *s;
  const wk_sched_shadow *written; /* memory that some command writes */
  uint8_t *bytes;           /* of the scratchpad */
  bool *is_known;           /* each of them */
} wk_constants;

wk_constants wk_constants_new(const wk_stream *s, const wk_machine *m,
                              const wk_sched_shadow *written);
void wk_constants_free(wk_constants *k);
/* A command writes these bytes of the scratchpad. */
void wk_constants_forget(wk_constants *k, uint64_t from, uint64_t length);
/* An LD has run. */
void wk_constants_load(wk_constants *k, const wk_isa_command *c);
/* A wk_isa_read_fn; context: the wk_constants. */
bool wk_constants_read(void *context, uint64_t from, int bytes, uint8_t *out);

#endif
