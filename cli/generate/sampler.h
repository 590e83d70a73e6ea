/* SPDX-License-Identifier: Apache-2.0
 * Chooses the next token from logits. The same logits, settings and seed give the same tokens. */
#ifndef WICK_GENERATE_SAMPLER_H
#define WICK_GENERATE_SAMPLER_H

#include "compiler/support/support.h"

typedef struct {
  double temperature; /* logits are divided by it; 0: always the largest one */
  int64_t top_k;      /* only the K largest are drawn from; 0: all */
  double top_p;       /* of those only the largest that together have a probability of P; 1: all */
} wk_sampling;

typedef struct {
  float logit;
  int32_t id;
} wk_candidate;

typedef struct {
  wk_sampling how;
  wk_rng rng;
  int64_t n;             /* logits */
  wk_candidate *ordered; /* n of them, owned; contents only while a token is chosen */
} wk_sampler;

void wk_sampler_open(const wk_sampling *how, int64_t seed, int64_t n, wk_sampler *out);
void wk_sampler_close(wk_sampler *s);

/* The index of one of the n logits; of equal ones the lowest comes first. Draws one random number
 * unless the temperature is 0 or top_k 1. WK_FAILED: a logit is NaN or infinite upwards, or all are
 * infinite downwards. Allocates nothing. */
wk_status wk_sampler_choose(wk_sampler *s, const float *logits, int64_t *id) WK_MUST_CHECK;

#endif
