/* SPDX-License-Identifier: Apache-2.0
 * What each command needs of those before it, whatever it waits for and whatever order its queue
 * keeps: from the bytes that they use (footprint.h). */
#ifndef WICK_ACCEL_FLOW_H
#define WICK_ACCEL_FLOW_H

#include "targets/accel/check/footprint.h"

/* Data: it reads what `from` was the last to write. Otherwise it writes where `from` has read or
 * written: another place would do as well; a load has read all of memory between its first and last
 * byte, a store writes it. Sums of ex are added in its own order: only their drain is an edge. */
typedef struct {
  uint32_t from; /* an earlier command */
  uint8_t space; /* wk_space */
  bool is_data;
  const char *field; /* of the later command: where it uses the bytes */
} wk_flow_edge;

/* Edges of command i: edges.data[first[i] .. first[i + 1] - 1], each once. */
typedef struct {
  uint32_t n;
  uint32_t *first; /* n + 1 */
  WK_VEC(wk_flow_edge) edges;
} wk_flow;

/* c: n commands that wk_isa_validate accepts, without END. What lies outside of the machine's
 * memories is left out. */
void wk_flow_of(const wk_machine *m, const wk_isa_command *c, uint32_t n, wk_flow *out);
void wk_flow_free(wk_flow *f);

#endif
