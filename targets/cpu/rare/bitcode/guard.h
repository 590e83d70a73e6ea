/* SPDX-License-Identifier: Apache-2.0
 * guard: what an object asks before its code runs: whether the processor has the instructions that
 * are in it, and whether the weights are its own. Weights end with a seal, behind a multiple of its
 * size; it says what the bytes in front of it should add up to. */
#ifndef WICK_CPU_GUARD_H
#define WICK_CPU_GUARD_H

#include <stdint.h>

/* What functions of a bundle return. */
enum { GUARD_OK = 0, GUARD_BAD_INPUT = 1, GUARD_BAD_WEIGHTS = 2, GUARD_BAD_CPU = 3 };

#define GUARD_MAGIC UINT64_C(0x5354574b43495701) /* "\1WICKWTS", little-endian */

typedef struct {
  uint64_t magic; /* GUARD_MAGIC */
  uint64_t sum;
} guard_seal;

/* Bits that all must be set of a register (0: eax .. 3: edx) of what cpuid gives. */
typedef struct {
  uint32_t leaf, subleaf, reg, bits;
} guard_question;

enum { GUARD_MOST = 12 };

/* Constant, in the object. */
typedef struct {
  uint64_t bytes; /* of weights in front of the seal: a multiple of its size */
  uint64_t sum;
  uint32_t align; /* of weights: a power of two */
  uint32_t state; /* bits of XCR0 that all must be set; 0: it is not asked */
  uint64_t count;
  guard_question questions[GUARD_MOST]; /* one for each register */
} wk_guard;

/* At the beginning of each run: the processor, and the seal. NULL are weights of no bytes. */
int wk_rare_guard_run(const wk_guard *g, const char *weights);
/* When weights have been loaded: besides, each byte of them. */
int wk_rare_guard_check(const wk_guard *g, const char *weights);

/* ---- sums ------------------------------------------------------------------------------------ */

typedef struct {
  uint64_t a, b;
} guard_sum;

#define GUARD_BEGIN {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f)}

/* One word that differs, however it does, makes another sum. */
static inline uint64_t guard_mix(uint64_t sum, uint64_t word) {
  sum = (sum ^ word) * UINT64_C(0xd6e8feb86659fd93);
  return sum ^ sum >> 32;
}

static inline void guard_add(guard_sum *s, const uint64_t *words, uint64_t pairs) {
  for (uint64_t i = 0; i < pairs; i++) {
    s->a = guard_mix(s->a, words[2 * i]);
    s->b = guard_mix(s->b, words[2 * i + 1]);
  }
}

static inline uint64_t guard_end(const guard_sum *s, uint64_t bytes) {
  return guard_mix(guard_mix(s->a, bytes), s->b);
}

#endif
