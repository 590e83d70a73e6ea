/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/model/functional.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/support/support.h"

bool wk_functional_init(wk_functional *f, const wk_machine *machine, uint8_t *memory,
                        uint64_t memory_size) {
  *f = (wk_functional){.machine = machine, .n = (int)machine->array, .memory = memory,
                       .memory_size = memory_size};
  f->scratchpad = calloc(1, (size_t)machine->scratchpad);
  f->accumulators = calloc(1, (size_t)machine->accumulators);
  f->tables = calloc(256, (size_t)machine->tables ? (size_t)machine->tables : 1);
  if (f->scratchpad && f->accumulators && f->tables) return true;
  wk_functional_free(f);
  return false;
}

void wk_functional_free(wk_functional *f) {
  free(f->scratchpad);
  free(f->accumulators);
  free(f->tables);
  *f = (wk_functional){0};
}

bool wk_functional_execute(wk_functional *f, const wk_isa_command *c) {
  switch (c->opcode) {
    case WK_CMD_LD:
    case WK_CMD_ST: return wk_functional_transfer(f, c);
    case WK_CMD_FILL: wk_functional_fill(f, c); break;
    case WK_CMD_CONV: wk_functional_conv(f, c); break;
    case WK_CMD_DWC: wk_functional_dwc(f, c); break;
    case WK_CMD_MM: wk_functional_mm(f, c); break;
    case WK_CMD_MAP: wk_functional_map(f, c); break;
    case WK_CMD_POOL: wk_functional_pool(f, c); break;
    case WK_CMD_ROW: return wk_functional_row(f, c);
    case WK_CMD_TRN: wk_functional_trn(f, c); break;
    case WK_CMD_TAB: wk_functional_tab(f, c); break;
    default: break; /* MARK, END */
  }
  return true;
}

/* ---- arithmetic: targets/accel/isa.md.in, compiler/expr/quant.h ------------------------------ */

static int32_t i16_at(const uint8_t *p) { return (int16_t)(p[0] | p[1] << 8); }
static uint32_t u32_at(const uint8_t *p) {
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

wk_record wk_functional_record(const wk_functional *f, uint64_t par) {
  const uint8_t *p = f->scratchpad + par;
  return (wk_record){.zero = i16_at(p), .lo = i16_at(p + 2), .hi = i16_at(p + 4),
                     .ma = (int32_t)u32_at(p + 8), .mb = (int32_t)u32_at(p + 12),
                     .shift = p[16], .residual_is_u8 = p[17] & 1,
                     .za = i16_at(p + 18), .zb = i16_at(p + 20), .zy = i16_at(p + 22),
                     .lo2 = i16_at(p + 24), .hi2 = i16_at(p + 26)};
}

wk_record_entry wk_functional_entry(const wk_functional *f, uint64_t par, int i) {
  const uint8_t *p = f->scratchpad + par + 32 + 8 * (size_t)i;
  uint32_t word = u32_at(p + 4);
  return (wk_record_entry){.bias = (int32_t)u32_at(p), .mult = word & 0xffffff,
                           .shift = (int)(word >> 24)};
}

wk_record_column wk_functional_column(const wk_functional *f, uint64_t par, int i) {
  const uint8_t *p = f->scratchpad + par + 32 + 8 * (size_t)i;
  uint32_t gain = u32_at(p + 4) & 0x1ffffff; /* 25 bits, signed */
  return (wk_record_column){.bias = (int32_t)u32_at(p),
                            .gain = (int32_t)gain - (gain >> 24 ? 1 << 25 : 0)};
}

uint64_t wk_functional_epsilon(const wk_functional *f, uint64_t par) {
  const uint8_t *p = f->scratchpad + par + 8;
  return u32_at(p) | (uint64_t)u32_at(p + 4) << 32;
}

int32_t wk_functional_clamp(int64_t v, int32_t lo, int32_t hi) {
  return v > hi ? hi : v < lo ? lo : (int32_t)v;
}

/* A shift that no record may have gives an undefined result, and no more than that. */
static int legal_shift(int s, int least) { return s < least ? least : s > 62 ? 62 : s; }

/* v / 2^s to nearest, ties to even; |v| < 2^62. */
static int64_t shr_round(int64_t v, int s) {
  s = legal_shift(s, 0);
  if (s == 0) return v;
  int64_t q = v >> s, rest = v - q * (INT64_C(1) << s), half = INT64_C(1) << (s - 1);
  return q + (rest > half || (rest == half && (q & 1)));
}

int64_t wk_functional_fraction(int64_t p) {
  return shr_round(p < INT32_MIN ? INT32_MIN : p > INT32_MAX ? INT32_MAX : p, 16);
}

int64_t wk_functional_rescale(int64_t a, uint32_t mult, int shift) {
  shift = legal_shift(shift, 1);
  return wk_functional_fraction((a * (int64_t)mult + (INT64_C(1) << (shift - 1))) >> shift);
}

int32_t wk_functional_requantise(int32_t sum, const wk_record *r, const wk_record_entry *e) {
  int32_t biased = (int32_t)((uint32_t)sum + (uint32_t)e->bias);
  return wk_functional_clamp(wk_functional_rescale(biased, e->mult, e->shift) + r->zero,
                             r->lo, r->hi);
}

int32_t wk_functional_add(int32_t a, int32_t b, const wk_record *r) {
  int64_t v = (int64_t)(a - r->za) * r->ma + (int64_t)(b - r->zb) * r->mb; /* does not wrap */
  return wk_functional_clamp(shr_round(v, r->shift) + r->zy, r->lo2, r->hi2);
}
