/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers, counter based: element i of a tensor depends on the seed and on i alone.
 *
 *   word(k)  word k mod 4 of philox4x32-10 with key = seed (low word first) and counter = k / 4
 *   uniform  u = (word(i) >> 8) * 2^-24;  y = low + (high - low) * u
 *   normal   u = ((word(2i) >> 8) + 1) * 2^-24, v = (word(2i + 1) >> 8) * 2^-24;
 *            y = mean + scale * sqrt(-2 ln u) * cos(2 pi v)
 *
 * computed in double and rounded to the dtype once. */
#include <math.h>

#include "compiler/eval/handler.h"

uint32_t wk_philox(uint64_t seed, uint64_t index) {
  uint64_t block = index / 4;
  uint32_t x[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
  uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  for (int round = 0; round < 10; round++) {
    uint64_t p = (uint64_t)0xD2511F53u * x[0], q = (uint64_t)0xCD9E8D57u * x[2];
    uint32_t y[4] = {(uint32_t)(q >> 32) ^ x[1] ^ key[0], (uint32_t)q,
                     (uint32_t)(p >> 32) ^ x[3] ^ key[1], (uint32_t)p};
    for (int i = 0; i < 4; i++) x[i] = y[i];
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return x[index % 4];
}

static double unit(uint64_t seed, uint64_t index) {
  return (wk_philox(seed, index) >> 8) * 0x1p-24;
}

wk_status wk_eval_random_uniform(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_random_uniform *a = c->a.node->attrs;
  wk_tensor *y = &c->a.out[0];
  int64_t n = wk_type_count(&y->type);
  for (int64_t i = 0; i < n; i++)
    wk_store_f64(y->data, y->type.dtype, i,
                 a->low + (a->high - a->low) * unit((uint64_t)a->seed, (uint64_t)i));
  return NULL;
}

wk_status wk_eval_random_normal(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_random_normal *a = c->a.node->attrs;
  wk_tensor *y = &c->a.out[0];
  int64_t n = wk_type_count(&y->type);
  for (int64_t i = 0; i < n; i++) {
    double u = unit((uint64_t)a->seed, 2 * (uint64_t)i) + 0x1p-24;
    double v = unit((uint64_t)a->seed, 2 * (uint64_t)i + 1);
    double z = sqrt(-2 * log(u)) * cos(6.283185307179586477 * v);
    wk_store_f64(y->data, y->type.dtype, i, a->mean + a->scale * z);
  }
  return NULL;
}
