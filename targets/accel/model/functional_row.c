/* SPDX-License-Identifier: Apache-2.0
 * ROW: softmax, layer normalisation, mean and maximum of whole rows. */
#include "targets/accel/model/functional.h"

typedef struct {
  uint64_t in, in_c, out, out_c;
  int length, n;
  bool is_u8;
} row;

static int32_t element(const wk_functional *f, const row *r, int i) {
  uint64_t at = r->in + (uint64_t)(i / r->n) * r->in_c + (uint64_t)(i % r->n);
  return wk_functional_byte(f->scratchpad[at], r->is_u8);
}

static void put(wk_functional *f, const row *r, int i, int32_t v) {
  uint64_t at = r->out + (uint64_t)(i / r->n) * r->out_c + (uint64_t)(i % r->n);
  f->scratchpad[at] = (uint8_t)v;
  wk_functional_tell(f, at, 1);
}

static int32_t largest(const wk_functional *f, const row *r) {
  int32_t most = element(f, r, 0);
  for (int i = 1; i < r->length; i++)
    if (element(f, r, i) > most) most = element(f, r, i);
  return most;
}

/* ---- softmax: isa.md.in ---------------------------------------------------------------------- */

static int64_t exponential(const wk_functional *f, uint64_t table, int d) {
  const uint8_t *t = f->tables + table * 256 + d;
  return t[0] | (int64_t)t[256] << 8 | (int64_t)t[512] << 16;
}

/* 1 / (2^s * sum / m) as a multiplier of 24 bits and the shift of `rescale`; false: there is
 * none. */
static bool reciprocal(uint64_t m, int s, uint64_t sum, uint32_t *mult, int *shift) {
  if (!sum || m >> 30 != 1) return false;
  int bits = 64 - __builtin_clzll(sum); /* at most 40 */
  uint64_t q = (m << 33) / (sum << (40 - bits)); /* floor(m * 2^(bits - 7) / sum) */
  *shift = s + bits - 7 - 16;
  if (q >> 24) {
    q >>= 1;
    --*shift;
  }
  *mult = (uint32_t)q;
  return *shift >= 1 && *shift <= 62;
}

static bool softmax(wk_functional *f, const wk_isa_command *c, const row *r, const wk_record *p) {
  uint64_t table = WK_V(c, ROW, table);
  wk_record_entry e = wk_functional_entry(f, WK_V(c, ROW, par), 0);
  int32_t most = largest(f, r);
  uint64_t sum = 0;
  uint32_t mult;
  int shift;
  for (int i = 0; i < r->length; i++)
    sum += (uint64_t)exponential(f, table, most - element(f, r, i));
  if (!reciprocal((uint32_t)e.bias, e.shift, sum, &mult, &shift)) return false;
  for (int i = 0; i < r->length; i++) {
    int64_t y = wk_functional_rescale(exponential(f, table, most - element(f, r, i)), mult, shift);
    put(f, r, i, wk_functional_clamp(y + p->zero, p->lo, p->hi));
  }
  return true;
}

/* ---- normalisation: compiler/expr/quant.h ---------------------------------------------------- */

/* 2^45 / sqrt(w), nearly: what the three steps give, 2^30 <= w < 2^32. */
static int64_t inverse_root(uint64_t w) {
  uint64_t u = w >> 16;
  uint64_t r = u < 32768 ? (UINT64_C(20711) << 16) - u * 18768 : (UINT64_C(14645) << 16) - u * 6635;
  for (int i = 0; i < 3; i++) {
    uint64_t p = (w * ((r * r) >> 29)) >> 32;
    r = (r * ((UINT64_C(3) << 29) - p)) >> 30;
  }
  return (int64_t)r;
}

/* sum and r * 2^-s of a row; false: the machine refuses it. */
static bool moments(const wk_functional *f, const row *r, int32_t zero, bool is_centred,
                    uint64_t epsilon, int64_t *sum, int64_t *root, int *s) {
  int64_t squares = 0, n = r->length;
  *sum = 0;
  for (int i = 0; i < r->length; i++) {
    int32_t q = element(f, r, i) - zero;
    squares += q * q;
    if (!is_centred) *sum += q;
  }
  int64_t spread = n * squares - *sum * *sum; /* < 2^46 */
  if (epsilon >> 62) return false;
  uint64_t v = ((uint64_t)spread << 16) + epsilon;
  if (v == 0 || v >> 62) return false;
  int h = 0;
  while ((v << (2 * h)) >> 60 == 0) h++;
  *s = 30 - h;
  *root = inverse_root((v << (2 * h)) >> 30);
  return true;
}

static bool normalise(wk_functional *f, const wk_isa_command *c, const row *r, const wk_record *p,
                      bool is_centred) {
  uint64_t par = WK_V(c, ROW, par);
  int32_t zero = is_centred ? (int32_t)((p->za & 511) ^ 256) - 256 : 0; /* 9 bits */
  int64_t sum, root;
  int s;
  uint64_t epsilon = wk_functional_epsilon(f, par);
  if (p->shift > 62 || !moments(f, r, zero, is_centred, epsilon, &sum, &root, &s)) return false;
  for (int i = 0; i < r->length; i++) {
    wk_record_column e = wk_functional_column(f, par, i);
    int64_t d = (int64_t)r->length * (element(f, r, i) - zero) - sum;
    int32_t x = (int32_t)((d * root + (INT64_C(1) << s) / 2) >> s);
    int64_t half = p->shift ? INT64_C(1) << (p->shift - 1) : 0;
    int64_t y = (((int64_t)x * e.gain + half) >> p->shift) + e.bias;
    put(f, r, i, wk_functional_clamp(wk_functional_fraction(y) + p->zero, p->lo, p->hi));
  }
  return true;
}

static bool layernorm(wk_functional *f, const wk_isa_command *c, const row *r, const wk_record *p) {
  return normalise(f, c, r, p, false);
}

static bool rmsnorm(wk_functional *f, const wk_isa_command *c, const row *r, const wk_record *p) {
  return normalise(f, c, r, p, true);
}

/* ---- others ---------------------------------------------------------------------------------- */

static bool mean(wk_functional *f, const wk_isa_command *c, const row *r, const wk_record *p) {
  wk_record_entry e = wk_functional_entry(f, WK_V(c, ROW, par), 0);
  int32_t sum = 0;
  for (int i = 0; i < r->length; i++) sum += element(f, r, i) - p->za;
  e.bias = 0;
  put(f, r, 0, wk_functional_requantise(sum, p, &e));
  return true;
}

static bool maximum(wk_functional *f, const wk_isa_command *c, const row *r, const wk_record *p) {
  (void)c;
  (void)p;
  put(f, r, 0, largest(f, r));
  return true;
}

typedef bool row_function(wk_functional *f, const wk_isa_command *c, const row *r,
                          const wk_record *p);
static row_function *const functions[] = {
    [WK_CHOICE_ROW_softmax] = softmax,   [WK_CHOICE_ROW_layernorm] = layernorm,
    [WK_CHOICE_ROW_mean] = mean,         [WK_CHOICE_ROW_max] = maximum,
    [WK_CHOICE_ROW_rmsnorm] = rmsnorm};

bool wk_functional_row(wk_functional *f, const wk_isa_command *c) {
  wk_record p = {0};
  if (WK_V(c, ROW, fn) != WK_CHOICE_ROW_max) p = wk_functional_record(f, WK_V(c, ROW, par));
  row r = {.in = WK_V(c, ROW, in), .in_c = WK_V(c, ROW, in_c), .out = WK_V(c, ROW, out),
           .out_c = WK_V(c, ROW, out_c), .n = f->n, .is_u8 = WK_V(c, ROW, u8),
           .length = (int)((WK_V(c, ROW, kc) - 1) * (uint64_t)f->n + WK_V(c, ROW, k_tail))};
  row_function *const function = functions[WK_V(c, ROW, fn)];
  for (uint64_t y = 0; y < WK_V(c, ROW, ny); y++) {
    if (!function(f, c, &r, &p)) return false;
    r.in += WK_V(c, ROW, in_y);
    r.out += WK_V(c, ROW, out_y);
  }
  return true;
}
