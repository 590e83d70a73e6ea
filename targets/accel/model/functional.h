/* SPDX-License-Identifier: Apache-2.0
 * The parts of the functional model: isa.md.in as C. */
#ifndef WICK_ACCEL_MODEL_FUNCTIONAL_H
#define WICK_ACCEL_MODEL_FUNCTIONAL_H

#include "targets/accel/model/model.h"

/* The parameter record at an address of the scratchpad. */
typedef struct {
  int32_t zero, lo, hi;            /* of an accumulation */
  int32_t ma, mb, shift, za, zb, zy, lo2, hi2;
  bool residual_is_u8;
} wk_record;
typedef struct {
  int32_t bias;
  uint32_t mult; /* 24 bits */
  int shift;
} wk_record_entry;
/* Of normalisation: an entry is a column, and where ma and mb stand is the number e. */
typedef struct {
  int32_t bias, gain; /* |gain| < 2^24 */
} wk_record_column;
wk_record wk_functional_record(const wk_functional *f, uint64_t par);
wk_record_entry wk_functional_entry(const wk_functional *f, uint64_t par, int i);
wk_record_column wk_functional_column(const wk_functional *f, uint64_t par, int i);
uint64_t wk_functional_epsilon(const wk_functional *f, uint64_t par);

/* clamp(rescale(sum + bias) + zero; lo, hi) */
int32_t wk_functional_requantise(int32_t sum, const wk_record *r, const wk_record_entry *e);
/* clamp(shr_round((a - za) * ma + (b - zb) * mb, shift) + zy; lo2, hi2) */
int32_t wk_functional_add(int32_t a, int32_t b, const wk_record *r);
int64_t wk_functional_rescale(int64_t a, uint32_t mult, int shift);
/* shr_round(saturate_i32(p), 16) */
int64_t wk_functional_fraction(int64_t p);
int32_t wk_functional_clamp(int64_t v, int32_t lo, int32_t hi);
static inline int32_t wk_functional_byte(uint8_t b, bool is_u8) {
  return is_u8 ? (int32_t)b : (int32_t)(int8_t)b;
}

static inline void wk_functional_tell(const wk_functional *f, uint64_t at, uint64_t n) {
  if (f->written) f->written(f->context, at, n);
}

bool wk_functional_transfer(wk_functional *f, const wk_isa_command *c); /* LD, ST */
void wk_functional_fill(wk_functional *f, const wk_isa_command *c);
void wk_functional_conv(wk_functional *f, const wk_isa_command *c);
void wk_functional_dwc(wk_functional *f, const wk_isa_command *c);
void wk_functional_mm(wk_functional *f, const wk_isa_command *c);
void wk_functional_map(wk_functional *f, const wk_isa_command *c);
void wk_functional_pool(wk_functional *f, const wk_isa_command *c);
bool wk_functional_row(wk_functional *f, const wk_isa_command *c);
void wk_functional_trn(wk_functional *f, const wk_isa_command *c);
void wk_functional_tab(wk_functional *f, const wk_isa_command *c);

#endif
