/* SPDX-License-Identifier: Apache-2.0
 * Which loads bring weights. A part says where its constants lie. A bare stream does not: there it
 * is what commands use as weights or parameters, of memory that no command has written. */
#include <stdlib.h>
#include <string.h>

#include "cli/study/causes.h"
#include "targets/accel/check/flow.h"

static bool is_constant(const wk_image *constants, const wk_isa_command *c) {
  uint64_t at = WK_V(c, LD, dram);
  return c->opcode == WK_CMD_LD && constants && at >= constants->address &&
         at < constants->address + constants->size;
}

/* A unit without constants may have a tensor of that name. */
static void find_constants(const wk_sim_shown *x, const wk_isa_command *c, uint32_t n, bool *out) {
  const wk_image *constants =
      x->part->unit->const_bytes ? wk_stream_find(x->stream, WK_ACCEL_CONST_REGION) : NULL;
  for (uint32_t i = 0; i < n; i++) out[i] = is_constant(constants, &c[i]);
}

static bool is_weight(const wk_isa_command *user, const wk_flow_edge *e) {
  return !strcmp(e->field, "wt") || !strcmp(e->field, "par") || user->opcode == WK_CMD_TAB;
}

static void find_used(const wk_sim_shown *x, const wk_isa_command *c, uint32_t n, bool *out) {
  wk_flow flow;
  wk_flow_of(x->machine, c, n, &flow);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = flow.first[i]; k < flow.first[i + 1]; k++) {
      const wk_flow_edge *e = &flow.edges.data[k];
      if (e->is_data && c[e->from].opcode == WK_CMD_LD && is_weight(&c[i], e)) out[e->from] = true;
    }
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = flow.first[i]; k < flow.first[i + 1]; k++)
      if (flow.edges.data[k].is_data && flow.edges.data[k].space == WK_SPACE_MEMORY) out[i] = false;
  wk_flow_free(&flow);
}

bool *wk_weights_of(const wk_sim_shown *x) {
  bool *out = wk_xcalloc(x->stream->n, sizeof *out);
  uint32_t n;
  wk_isa_command *c = wk_stream_commands(x->stream, &n);
  (x->part ? find_constants : find_used)(x, c, n, out);
  free(c);
  return out;
}
