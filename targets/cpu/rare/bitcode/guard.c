/* SPDX-License-Identifier: Apache-2.0
 * What is asked before code runs (guard.h). It is linked as code for the least processor of the
 * machine, whatever the code behind it needs. */
#include "targets/cpu/rare/bitcode/guard.h"

/* ---- the processor --------------------------------------------------------------------------- */

#if defined(__x86_64__)
#ifndef GUARD_ASK /* tests have a processor of their own */
#define GUARD_ASK ask
#define GUARD_STATE saved_state

static void ask(uint32_t leaf, uint32_t subleaf, uint32_t r[4]) {
  uint64_t b; /* rbx may be somebody's */
  __asm__ volatile("xchgq %%rbx, %q1\n\tcpuid\n\txchgq %%rbx, %q1"
                   : "=a"(r[0]), "=&r"(b), "=c"(r[2]), "=d"(r[3])
                   : "0"(leaf), "2"(subleaf));
  r[1] = (uint32_t)b;
}

static uint32_t saved_state(void) {
  uint32_t low, high;
  __asm__ volatile(".byte 0x0f, 0x01, 0xd0" /* xgetbv */ : "=a"(low), "=d"(high) : "c"(0));
  return low;
}
#endif

static int answers(const guard_question *q) {
  uint32_t r[4];
  GUARD_ASK(q->leaf & UINT32_C(0x80000000), 0, r); /* the last leaf that there is */
  if (r[0] < q->leaf) return 0;
  GUARD_ASK(q->leaf, q->subleaf, r);
  return (r[q->reg] & q->bits) == q->bits;
}

static int saves(uint32_t state) {
  const guard_question osxsave = {1, 0, 2, UINT32_C(1) << 27};
  return state == 0 || (answers(&osxsave) && (GUARD_STATE() & state) == state);
}

static int has_processor(const wk_guard *g) {
  for (uint64_t i = 0; i < g->count; i++)
    if (!answers(&g->questions[i])) return 0;
  return saves(g->state);
}

#else
static int has_processor(const wk_guard *g) {
  (void)g; /* the least processor has all that is used */
  return 1;
}
#endif

/* Asking takes long where a hypervisor answers. Threads that ask at once get the same answer. */
enum { UNKNOWN, YES, NO };
static int answer;

static int admits_processor(const wk_guard *g) {
  int known = __atomic_load_n(&answer, __ATOMIC_RELAXED);
  if (known == UNKNOWN) {
    known = has_processor(g) ? YES : NO;
    __atomic_store_n(&answer, known, __ATOMIC_RELAXED);
  }
  return known == YES;
}

/* ---- weights --------------------------------------------------------------------------------- */

static int is_sealed(const wk_guard *g, const char *weights) {
  if (!weights) return g->bytes == 0;
  if ((uintptr_t)weights & (g->align - 1)) return 0;
  const guard_seal *seal = (const guard_seal *)(const void *)(weights + g->bytes);
  return seal->magic == GUARD_MAGIC && seal->sum == g->sum;
}

int wk_rare_guard_run(const wk_guard *g, const char *weights) {
  if (!admits_processor(g)) return GUARD_BAD_CPU;
  return is_sealed(g, weights) ? GUARD_OK : GUARD_BAD_WEIGHTS;
}

int wk_rare_guard_check(const wk_guard *g, const char *weights) {
  guard_sum sum = GUARD_BEGIN;
  int code = wk_rare_guard_run(g, weights);
  if (code != GUARD_OK) return code;
  guard_add(&sum, (const uint64_t *)(const void *)weights, g->bytes / sizeof(guard_seal));
  return guard_end(&sum, g->bytes) == g->sum ? GUARD_OK : GUARD_BAD_WEIGHTS;
}
