/* SPDX-License-Identifier: Apache-2.0
 * Random commands of the accelerator for its unit tests: small ones, most of them legal. */
#ifndef WICK_TEST_ACCEL_COMMANDS_H
#define WICK_TEST_ACCEL_COMMANDS_H

#include <string.h>

#include "targets/accel/isa/isa.h"

static inline int64_t draw(wk_rng *r, int64_t low, int64_t high) {
  return wk_rng_range(r, low, high);
}

static inline wk_machine draw_machine(wk_rng *r) {
  wk_machine m;
  wk_status s = wk_machine_read(wk_machine_preset_name((size_t)draw(r, 0, 2)), &m);
  wk_status_free(s);
  return m;
}

static inline int64_t draw_field(wk_rng *r, const wk_machine *m, const wk_isa_field *f) {
  int64_t n = m->array, most = (INT64_C(1) << f->bits) - 1;
  bool is_lanes = !strcmp(f->name, "n") || !strcmp(f->name, "k_tail") || !strcmp(f->name, "rows");
  bool is_aligned = !strcmp(f->name, "par") || !strcmp(f->name, "wt");
  int64_t v;
  if (is_lanes) return draw(r, 1, n);
  switch (f->kind) {
    case WK_KIND_COUNT: v = draw(r, 1, 5); break;
    case WK_KIND_FLAG: v = draw(r, 0, 1); break;
    case WK_KIND_SPM: v = draw(r, 0, m->scratchpad - 1); break;
    case WK_KIND_DRAM: v = draw(r, 0, 1 << 20); break;
    case WK_KIND_ACC: v = draw(r, 0, wk_machine_entries(m) - 1); break;
    case WK_KIND_SIGNED: v = draw(r, -200, m->scratchpad - 1); break;
    case WK_KIND_UNSIGNED: v = draw(r, 0, draw(r, 0, 3) ? 6 : 300); break;
    default: v = draw(r, 0, most); break; /* a choice */
  }
  if (is_aligned && draw(r, 0, 9)) v -= v % n;
  return v > most && f->kind != WK_KIND_SIGNED ? most : v;
}

/* What random fields would seldom hit. */
static inline void fit_fields(wk_rng *r, const wk_machine *m, wk_isa_command *c) {
  int64_t n = m->array, *v = c->v;
  if (c->opcode == WK_CMD_DWC && v[WK_DWC_taps] == WK_CHOICE_TAPS_three) {
    v[WK_DWC_dx] = 1;
    v[WK_DWC_k_x] = n;
    v[WK_DWC_sx] = draw(r, 1, 2);
    v[WK_DWC_in_x] = v[WK_DWC_sx] * n;
  }
  if (c->opcode == WK_CMD_TAB) v[WK_TAB_in] -= v[WK_TAB_in] % n;
  if (c->opcode == WK_CMD_LD || c->opcode == WK_CMD_ST) {
    int64_t bytes = v[WK_LD_n0] * v[WK_LD_n1] * v[WK_LD_n2] * v[WK_LD_n3];
    while (bytes % v[WK_LD_c0]) v[WK_LD_c0]--;
    v[WK_LD_p1] += v[WK_LD_c0] * draw(r, 0, 1);
    v[WK_LD_p2] += v[WK_LD_p1] * v[WK_LD_c1] * draw(r, 0, 1);
    v[WK_LD_s1] += v[WK_LD_n0] * draw(r, 0, 1);
    v[WK_LD_s2] += v[WK_LD_s1] * v[WK_LD_n1] * draw(r, 0, 1);
    v[WK_LD_s3] += v[WK_LD_s2] * v[WK_LD_n2] * draw(r, 0, 1);
  }
}

/* Queue, fields, operator, priority; no waits. */
static inline wk_isa_command draw_command(wk_rng *r, const wk_machine *m, int opcode) {
  const wk_isa_command_info *info = wk_isa_command_of(opcode);
  wk_isa_command c = wk_isa_command_default(m, opcode);
  for (int i = 0; i < info->n_fields; i++)
    if (wk_isa_is_needed(&info->fields[i]) || draw(r, 0, 3))
      c.v[i] = draw_field(r, m, &info->fields[i]);
  fit_fields(r, m, &c);
  while (info->queues && !(info->queues >> c.queue & 1))
    c.queue = (uint32_t)draw(r, 0, wk_machine_queues(m) - 1);
  if (info->queues && draw(r, 0, 1)) c.operator = (uint32_t)draw(r, 0, 65535);
  if (info->queues && draw(r, 0, 1)) c.priority = (uint32_t)draw(r, 0, 7);
  return c;
}

#endif
