/* SPDX-License-Identifier: Apache-2.0
 * Counter-based random numbers: philox4x32-10 with the seed as its key; element i depends on the
 * seed and on i alone (compiler/eval/random.c has the definition). A task is one element. */
#include "targets/cpu/rare/bitcode/math.h"

RARE uint32_t philox(uint64_t seed, uint64_t index) {
  uint64_t block = index / 4;
  uint32_t a = (uint32_t)block, b = (uint32_t)(block >> 32), c = 0, e = 0;
  uint32_t low = (uint32_t)seed, high = (uint32_t)(seed >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t p = (uint64_t)0xD2511F53u * a, q = (uint64_t)0xCD9E8D57u * c;
    uint32_t next_c = (uint32_t)(p >> 32) ^ e ^ high;
    a = (uint32_t)(q >> 32) ^ b ^ low;
    b = (uint32_t)q;
    c = next_c;
    e = (uint32_t)p;
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
  int64_t word = index % 4;
  return word == 0 ? a : word == 1 ? b : word == 2 ? c : e;
}

RARE double unit(int64_t seed, int64_t index) {
  return (philox((uint64_t)seed, (uint64_t)index) >> 8) * 0x1p-24;
}

void wk_rare_random_uniform(void *const *args, void *scratch, int64_t begin, int64_t end,
                            const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *y = &d->view[0];
  double low = rare_double(d->attr[RARE_LOW]), high = rare_double(d->attr[RARE_HIGH]);
  for (int64_t t = begin; t < end; t++)
    rare_put_f(rare_at(args[0], y, rare_offset(t, y->dims, y->strides, 0, y->rank)), y->dtype,
               low + (high - low) * unit(d->attr[RARE_SEED], t));
}

void wk_rare_random_normal(void *const *args, void *scratch, int64_t begin, int64_t end,
                           const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *y = &d->view[0];
  double mean = rare_double(d->attr[RARE_LOW]), scale = rare_double(d->attr[RARE_HIGH]);
  for (int64_t t = begin; t < end; t++) {
    double u = unit(d->attr[RARE_SEED], 2 * t) + 0x1p-24;
    double z = rare_sqrt(-2 * rare_log(u)) * rare_cos_turn(unit(d->attr[RARE_SEED], 2 * t + 1));
    rare_put_f(rare_at(args[0], y, rare_offset(t, y->dims, y->strides, 0, y->rank)), y->dtype,
               mean + scale * z);
  }
}
