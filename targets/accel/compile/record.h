/* SPDX-License-Identifier: Apache-2.0
 * Requantisation as the machine has it: parameter records (docs/isa.md) from expressions. */
#ifndef WICK_ACCEL_RECORD_H
#define WICK_ACCEL_RECORD_H

#include "targets/accel/compile/net.h"

typedef struct {
  wk_requant q;
  const wk_accel_making *k;
  uint32_t first_extra; /* input i >= 1 of the expression is the node's in[first_extra + i - 1] */
  int channel_axis;     /* of the result, from its last axis: 0 of products, 2 of images */
  wk_value_id bias;     /* WK_NONE */
  int residual;         /* input of the expression; WK_REQUANT_NONE */
} wk_accel_requant;

/* The epilogue of a contraction, on sums of i32; false with a reason. */
bool wk_accel_requant_of(wk_accel_making *k, const wk_expr *e, uint32_t first_extra,
                         int channel_axis, wk_value_id bias, wk_accel_requant *out);
/* A multiplier of the second stage, ma or mb. */
bool wk_accel_is_mult_fine(int64_t m);
/* Bytes of a record with this many entries, a multiple of N. */
int64_t wk_accel_record_bytes(int n, int64_t entries);
/* Record of channels [c, c + n), and what the machine needs behind them up to N. more: what is
 * added to the bias of each; NULL: nothing. */
void wk_accel_record_sums(const wk_accel_requant *r, int64_t c, int n, int lanes,
                          const int64_t *more, uint8_t *out);
/* The second stage alone, or the product's, of MAP. */
void wk_accel_record_map(const wk_requant *q, uint8_t *out);
void wk_accel_put16(uint8_t *p, int64_t v);
void wk_accel_put32(uint8_t *p, int64_t v);
/* Entry i: bias (or m, gain), multiplier and shift. */
void wk_accel_put_entry(uint8_t *record, int64_t i, int64_t bias, int64_t mult, int64_t shift);
/* Of a mean: zero point of the operand; zero, lo, hi of the result. */
void wk_accel_put_mean(uint8_t *record, int64_t za, int64_t zero, int64_t lo, int64_t hi);
/* zero, lo, hi of the first stage. */
void wk_accel_put_range(uint8_t *record, int64_t zero, int64_t lo, int64_t hi);

#endif
