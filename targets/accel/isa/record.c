/* SPDX-License-Identifier: Apache-2.0
 * What a parameter record may hold: the ranges of isa.md.in, of the fields that a command uses. */
#include <inttypes.h>
#include <string.h>

#include "targets/accel/isa/internal.h"

/* What a command takes from its record; entries: see below. */
typedef struct {
  bool range, range2;       /* lo, hi; lo2, hi2 */
  bool sum, scale, product; /* ma, mb and shift of add and residual; ma, shift; of mul */
  bool za, zb;              /* that lie in the operand's type */
  bool a_u8, b_u8;
  bool norm, softmax;       /* e, shift, gains; m */
  bool scales;              /* entries with mult and shift */
} use;

typedef struct {
  const wk_machine *m;
  const wk_isa_command *c;
  wk_isa_read_fn *read;
  void *context;
  uint64_t par;
  wk_isa_fault *f;
} record;

static int64_t known(const record *k, int at, int bytes, bool is_signed, bool *is_known) {
  uint8_t data[8];
  uint64_t v = 0;
  *is_known = k->read(k->context, k->par + (uint64_t)at, bytes, data);
  if (!*is_known) return 0;
  for (int i = 0; i < bytes; i++) v |= (uint64_t)data[i] << 8 * i;
  int unused = 64 - 8 * bytes;
  return is_signed ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

/* True: it is at fault. A name of something with a single good value is plural. */
static bool outside(record *k, const char *name, int64_t v, int64_t low, int64_t high) {
  if (v >= low && v <= high) return false;
  k->f->field = "par";
  snprintf(k->f->text, sizeof k->f->text,
           low == high ? "the record at 0x%" PRIx64 ": %s are %" PRId64 ", must be %" PRId64
                       : "the record at 0x%" PRIx64 ": %s is %" PRId64 ", not %" PRId64
                         " to %" PRId64, k->par, name, v, low, high);
  return true;
}

static bool is_outside(record *k, const char *name, int at, int bytes, bool is_signed, int64_t low,
                       int64_t high) {
  bool is_known;
  int64_t v = known(k, at, bytes, is_signed, &is_known);
  return is_known && outside(k, name, v, low, high);
}

static bool is_crossed(record *k, const char *low_name, const char *high_name, int at) {
  bool has_low, has_high;
  int64_t low = known(k, at, 2, true, &has_low), high = known(k, at + 2, 2, true, &has_high);
  if (!has_low || !has_high || low <= high) return false;
  k->f->field = "par";
  snprintf(k->f->text, sizeof k->f->text,
           "the record at 0x%" PRIx64 ": %s is %" PRId64 ", above %s, which is %" PRId64, k->par,
           low_name, low, high_name, high);
  return true;
}

static bool is_no_byte(record *k, const char *name, int at, bool is_u8) {
  return is_outside(k, name, at, 2, true, is_u8 ? 0 : -128, is_u8 ? 255 : 127);
}

static bool is_head_bad(record *k, const use *u) {
  const int64_t factor = WK_FACTOR_MAX;
  if ((u->sum || u->scale) && is_outside(k, "ma", 8, 4, true, -factor, factor)) return true;
  if (u->sum && is_outside(k, "mb", 12, 4, true, -factor, factor)) return true;
  if (u->product && is_outside(k, "ma", 8, 4, true, 0, WK_MULT_MAX)) return true;
  if (u->norm && is_outside(k, "e", 8, 8, false, 1, (INT64_C(1) << 62) - 1)) return true;
  if (u->product && is_outside(k, "shift", 16, 1, false, 1, WK_SHIFT_MAX)) return true;
  if ((u->sum || u->scale || u->norm) && is_outside(k, "shift", 16, 1, false, 0, WK_SHIFT_MAX))
    return true;
  if (is_outside(k, "bytes 6 and 7", 6, 2, false, 0, 0)) return true;
  if (is_outside(k, "bytes 28 to 31", 28, 4, false, 0, 0)) return true;
  if (is_outside(k, "flags", 17, 1, false, 0, 1)) return true;
  if (u->za && is_no_byte(k, "za", 18, u->a_u8)) return true;
  if (u->zb && is_no_byte(k, "zb", 20, u->b_u8)) return true;
  if (u->range && is_crossed(k, "lo", "hi", 2)) return true;
  return u->range2 && is_crossed(k, "lo2", "hi2", 24);
}

static bool is_entry_bad(record *k, const use *u, int i) {
  int at = WK_RECORD_BYTES + WK_ENTRY_BYTES * i;
  char name[32];
  if (u->norm) {
    snprintf(name, sizeof name, "gain_%d", i);
    return is_outside(k, name, at + 4, 4, true, -WK_MULT_MAX, WK_MULT_MAX);
  }
  if (u->softmax) { /* the machine refuses the row */
    k->f->error = WK_ERROR_field;
    if (is_outside(k, "bias_0", at, 4, true, INT64_C(1) << 30, INT32_MAX)) return true;
    k->f->error = WK_ERROR_none;
  }
  if (!u->scales) return false;
  snprintf(name, sizeof name, "shift_%d", i);
  return is_outside(k, name, at + 7, 1, false, 1, WK_SHIFT_MAX);
}

/* ---- what each command uses ------------------------------------------------------------------ */

/* How many taps of the kernel lie inside, for outputs of an axis: a set of numbers. */
static uint64_t taps_of_axis(int64_t n, int64_t k, int64_t stride, int64_t dilation, int64_t pad,
                             int64_t size) {
  uint64_t set = 0;
  for (int64_t o = 0; o < n; o++) {
    int taps = 0;
    for (int64_t t = 0; t < k; t++) {
      int64_t at = o * stride + t * dilation - pad;
      taps += size == 0 || (at >= 0 && at < size);
    }
    set |= UINT64_C(1) << taps; /* k has 6 bits */
  }
  return set;
}

/* The entries of valid_mean: one less than the taps of any window that has some. */
static bool is_mean_bad(record *k, const use *u) {
  const int64_t *v = k->c->v;
  uint64_t rows = taps_of_axis(v[WK_POOL_ny], v[WK_POOL_ky], v[WK_POOL_sy], v[WK_POOL_dy],
                               v[WK_POOL_pad_t], v[WK_POOL_h]);
  uint64_t columns = taps_of_axis(v[WK_POOL_nx], v[WK_POOL_kx], v[WK_POOL_sx], v[WK_POOL_dx],
                                  v[WK_POOL_pad_l], v[WK_POOL_w]);
  for (int y = 1; y < 64; y++)
    for (int x = 1; x < 64; x++)
      if (rows >> y & columns >> x & 1 && is_entry_bad(k, u, y * x - 1)) return true;
  return false;
}

static bool is_record_bad(record *k, const use *u, int64_t entries) {
  if (is_head_bad(k, u)) return true;
  if (entries < 0) return is_mean_bad(k, u);
  for (int i = 0; i < entries; i++)
    if (is_entry_bad(k, u, i)) return true;
  return false;
}

static bool is_drain_bad(record *k, bool drains, bool residual, int64_t par, int64_t n) {
  const use u = {.range = true, .range2 = residual, .sum = residual, .scales = true};
  k->par = (uint64_t)par;
  return drains && is_record_bad(k, &u, n);
}

static bool is_map_bad(record *k) {
  static const use of[] = {
      [WK_CHOICE_MAP_add] = {.range2 = true, .sum = true, .za = true, .zb = true},
      [WK_CHOICE_MAP_mul] = {.range2 = true, .product = true, .za = true, .zb = true},
      [WK_CHOICE_MAP_max] = {.range2 = true},
      [WK_CHOICE_MAP_min] = {.range2 = true},
      [WK_CHOICE_MAP_scale] = {.range2 = true, .scale = true, .za = true}};
  use u = of[WK_V(k->c, MAP, fn)];
  u.a_u8 = WK_V(k->c, MAP, a_u8);
  u.b_u8 = WK_V(k->c, MAP, b_u8);
  k->par = WK_V(k->c, MAP, par);
  return is_record_bad(k, &u, 0);
}

static bool is_pool_bad(record *k, wk_isa_entries entries) {
  const use u = {.range = true, .za = true, .a_u8 = WK_V(k->c, POOL, u8), .scales = true};
  k->par = WK_V(k->c, POOL, par);
  return is_record_bad(k, &u, entries == WK_USES_ENTRY_0 ? 1 : -1);
}

static bool is_row_bad(record *k) {
  static const use of[] = {[WK_CHOICE_ROW_softmax] = {.range = true, .softmax = true},
                           [WK_CHOICE_ROW_layernorm] = {.range = true, .norm = true},
                           [WK_CHOICE_ROW_mean] = {.range = true, .za = true, .scales = true},
                           [WK_CHOICE_ROW_rmsnorm] = {.range = true, .za = true, .norm = true}};
  use u = of[WK_V(k->c, ROW, fn)];
  u.a_u8 = WK_V(k->c, ROW, u8);
  k->par = WK_V(k->c, ROW, par);
  int64_t length = (WK_SV(k->c, ROW, kc) - 1) * k->m->array + WK_SV(k->c, ROW, k_tail);
  return is_record_bad(k, &u, u.norm ? length : 1);
}

bool wk_isa_find_record_fault(const wk_machine *m, const wk_isa_command *c, wk_isa_read_fn *read,
                              void *context, wk_isa_fault *out) {
  record k = {.m = m, .c = c, .read = read, .context = context, .f = out};
  wk_isa_uses uses = wk_isa_uses_of(c);
  *out = (wk_isa_fault){.error = WK_ERROR_none};
#define IS_DRAIN_BAD(C)                                                                     \
  is_drain_bad(&k, WK_V(c, C, drain), WK_V(c, C, residual), WK_SV(c, C, par), WK_SV(c, C, n))
  switch (c->opcode) {
    case WK_CMD_CONV: return IS_DRAIN_BAD(CONV);
    case WK_CMD_DWC: return IS_DRAIN_BAD(DWC);
    case WK_CMD_MM: return IS_DRAIN_BAD(MM);
    case WK_CMD_MAP: return uses.record && is_map_bad(&k);
    case WK_CMD_POOL: return uses.record && is_pool_bad(&k, uses.entries);
    case WK_CMD_ROW: return uses.record && is_row_bad(&k);
    default: return false;
  }
#undef IS_DRAIN_BAD
}
