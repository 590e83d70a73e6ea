/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/record.h"

#include <stdlib.h>

void wk_accel_put16(uint8_t *p, int64_t v) {
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
}

void wk_accel_put32(uint8_t *p, int64_t v) {
  wk_accel_put16(p, v);
  wk_accel_put16(p + 2, v >> 16);
}

void wk_accel_put_entry(uint8_t *record, int64_t i, int64_t bias, int64_t mult, int64_t shift) {
  uint8_t *e = record + WK_RECORD_BYTES + i * WK_ENTRY_BYTES;
  wk_accel_put32(e, bias);
  wk_accel_put32(e + 4, (mult & WK_MULT_MAX) | shift << 24);
}

void wk_accel_put_range(uint8_t *record, int64_t zero, int64_t lo, int64_t hi) {
  wk_accel_put16(record, zero);
  wk_accel_put16(record + 2, lo);
  wk_accel_put16(record + 4, hi);
}

void wk_accel_put_mean(uint8_t *record, int64_t za, int64_t zero, int64_t lo, int64_t hi) {
  wk_accel_put_range(record, zero, lo, hi);
  wk_accel_put16(record + 18, za);
}

int64_t wk_accel_record_bytes(int n, int64_t entries) {
  return wk_ceil_div(WK_RECORD_BYTES + entries * WK_ENTRY_BYTES, n) * n;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static wk_value_id extra(const wk_accel_requant *r, int input) {
  return r->k->node->in[r->first_extra + (uint32_t)input - 1];
}

/* A constant that differs at most along the channels. */
static bool is_per_channel(const wk_accel_requant *r, wk_value_id v, int channel_axis) {
  if (!wk_is_const(r->k->g, v)) return false;
  const wk_type *t = &wk_val(r->k->g, v)->type;
  int channel = t->rank - 1 - channel_axis;
  for (int i = 0; i < t->rank; i++)
    if (i != channel && t->dims[i] != 1) return false;
  return true;
}

static int64_t element(const wk_accel_requant *r, wk_value_id v, int64_t c) {
  const wk_value *x = wk_val(r->k->g, v);
  return wk_load_i64(x->data, x->type.dtype, wk_type_count(&x->type) == 1 ? 0 : c);
}

static bool is_number_fine(const wk_accel_requant *r, const wk_requant_number *x, int64_t least,
                           int64_t most) {
  if (x->input == WK_REQUANT_NONE) return x->value >= least && x->value <= most;
  wk_value_id v = extra(r, x->input);
  if (!is_per_channel(r, v, r->channel_axis)) return false;
  int64_t count = wk_type_count(&wk_val(r->k->g, v)->type);
  for (int64_t c = 0; c < count; c++)
    if (element(r, v, c) < least || element(r, v, c) > most) return false;
  return true;
}

static int64_t number(const wk_accel_requant *r, const wk_requant_number *x, int64_t c) {
  return x->input == WK_REQUANT_NONE ? x->value : element(r, extra(r, x->input), c);
}

bool wk_accel_is_mult_fine(int64_t m) { return llabs(m) <= WK_FACTOR_MAX; }

bool wk_accel_requant_of(wk_accel_making *k, const wk_expr *e, uint32_t first_extra,
                         int channel_axis, wk_value_id bias, wk_accel_requant *out) {
  *out = (wk_accel_requant){.k = k, .first_extra = first_extra, .channel_axis = channel_axis,
                            .bias = bias, .residual = WK_REQUANT_NONE};
  wk_requant *q = &out->q;
  if (!e || !wk_requant_of(e, q) || q->kind != WK_REQUANT_SUM)
    return wk_accel_refuse(k, "the result is no requantised sum of 8 bits");
  if (q->n_terms) return wk_accel_refuse(k, "sums are corrected by tensors");
  if (!is_number_fine(out, &q->mult, 0, WK_MULT_MAX) ||
      !is_number_fine(out, &q->shift, 1, WK_SHIFT_MAX))
    return wk_accel_refuse(k, "a multiplier or shift that the drain does not have");
  if (bias != WK_NONE && !is_per_channel(out, bias, 0))
    return wk_accel_refuse(k, "the bias is no constant");
  if (!q->has_second) return true;
  if (q->b.dtype == WK_DTYPE_NONE) /* a is the first rounding's result */
    return wk_accel_refuse(k, "two roundings without a second operand");
  if (!wk_accel_is_mult_fine(q->a.mult) || !wk_accel_is_mult_fine(q->b.mult))
    return wk_accel_refuse(k, "a multiplier that the drain does not have");
  out->residual = q->b.input;
  return true;
}

void wk_accel_record_sums(const wk_accel_requant *r, int64_t c, int n, int lanes,
                          const int64_t *more, uint8_t *out) {
  const wk_requant *q = &r->q;
  wk_accel_put_range(out, q->y.zero, q->y.lo, q->y.hi);
  if (q->has_second) {
    wk_accel_put32(out + 8, q->a.mult);
    wk_accel_put32(out + 12, q->b.mult);
    out[16] = (uint8_t)q->shift2;
    out[17] = q->b.dtype == WK_U8;
    wk_accel_put16(out + 18, q->a.zero);
    wk_accel_put16(out + 20, q->b.zero);
    wk_accel_put16(out + 22, q->y2.zero);
    wk_accel_put16(out + 24, q->y2.lo);
    wk_accel_put16(out + 26, q->y2.hi);
  }
  for (int i = 0; i < lanes; i++) {
    if (i >= n) {
      wk_accel_put_entry(out, i, 0, 0, 1);
      continue;
    }
    int64_t bias = q->bias + (more ? more[i] : 0);
    if (r->bias != WK_NONE) bias += element(r, r->bias, c + i);
    wk_accel_put_entry(out, i, (int32_t)(uint32_t)bias, number(r, &q->mult, c + i),
                       number(r, &q->shift, c + i));
  }
}

/* ---- elementwise ----------------------------------------------------------------------------- */

void wk_accel_record_map(const wk_requant *q, uint8_t *out) {
  if (q->kind == WK_REQUANT_PRODUCT) {
    wk_accel_put32(out + 8, q->mult.value);
    out[16] = (uint8_t)q->shift.value;
    wk_accel_put16(out + 18, q->factors[0].zero);
    wk_accel_put16(out + 20, q->factors[1].zero);
    wk_accel_put16(out + 22, q->y.zero);
    wk_accel_put16(out + 24, q->y.lo);
    wk_accel_put16(out + 26, q->y.hi);
    return;
  }
  wk_accel_put32(out + 8, q->a.mult);
  wk_accel_put32(out + 12, q->b.mult);
  out[16] = (uint8_t)q->shift2;
  wk_accel_put16(out + 18, q->a.zero);
  wk_accel_put16(out + 20, q->b.zero);
  wk_accel_put16(out + 22, q->y2.zero);
  wk_accel_put16(out + 24, q->y2.lo);
  wk_accel_put16(out + 26, q->y2.hi);
}
