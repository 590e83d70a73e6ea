/* SPDX-License-Identifier: Apache-2.0
 * LD, ST, FILL. */
#include <string.h>

#include "targets/accel/model/functional.h"

/* The scratchpad address of byte i of a transfer; chunks and lines. */
static uint64_t spm_address(const wk_isa_command *c, uint64_t i) {
  uint64_t c0 = WK_V(c, LD, c0), c1 = WK_V(c, LD, c1), chunk = i / c0;
  return WK_V(c, LD, spm) + chunk / c1 * WK_V(c, LD, p2) + chunk % c1 * WK_V(c, LD, p1) + i % c0;
}

static void move_run(wk_functional *f, const wk_isa_command *c, uint64_t dram, uint64_t first) {
  uint64_t n0 = WK_V(c, LD, n0), c0 = WK_V(c, LD, c0);
  for (uint64_t i = 0; i < n0;) {
    uint64_t rest = c0 - (first + i) % c0, n = rest < n0 - i ? rest : n0 - i;
    uint8_t *inside = f->scratchpad + spm_address(c, first + i), *outside = f->memory + dram + i;
    if (c->opcode == WK_CMD_LD) memcpy(inside, outside, n);
    else memcpy(outside, inside, n);
    i += n;
  }
}

bool wk_functional_transfer(wk_functional *f, const wk_isa_command *c) {
  /* LD and ST have the same fields in the same places */
  uint64_t n0 = WK_V(c, LD, n0), done = 0;
  for (uint64_t i3 = 0; i3 < WK_V(c, LD, n3); i3++)
    for (uint64_t i2 = 0; i2 < WK_V(c, LD, n2); i2++)
      for (uint64_t i1 = 0; i1 < WK_V(c, LD, n1); i1++, done += n0) {
        /* modulo 2^32; a run that goes on there is outside before, memory is smaller */
        uint64_t dram = (uint32_t)(WK_V(c, LD, dram) + i3 * WK_V(c, LD, s3) +
                                   i2 * WK_V(c, LD, s2) + i1 * WK_V(c, LD, s1));
        if (dram + n0 > f->memory_size) return false;
        move_run(f, c, dram, done);
      }
  return true;
}

void wk_functional_fill(wk_functional *f, const wk_isa_command *c) {
  for (uint64_t i = 0; i < WK_V(c, FILL, c2); i++)
    for (uint64_t k = 0; k < WK_V(c, FILL, c1); k++) {
      uint64_t at = WK_V(c, FILL, spm) + i * WK_V(c, FILL, p2) + k * WK_V(c, FILL, p1);
      memset(f->scratchpad + at, (int)WK_V(c, FILL, value), WK_V(c, FILL, c0));
      wk_functional_tell(f, at, WK_V(c, FILL, c0));
    }
}
