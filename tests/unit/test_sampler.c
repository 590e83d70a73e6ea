/* SPDX-License-Identifier: Apache-2.0
 * Tokens from logits: which one is the largest, who is drawn from, and how often. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/generate/sampler.h"

enum { WORDS = 9, DRAWS = 40000 };

static int64_t choose(wk_sampler *s, const float *logits) {
  int64_t id = -1;
  wk_status failed = wk_sampler_choose(s, logits, &id);
  if (failed) fail_msg("%s", failed->message);
  return id;
}

static int64_t chosen_once(wk_sampling how, int64_t seed, const float *logits, int64_t n) {
  wk_sampler s;
  wk_sampler_open(&how, seed, n, &s);
  int64_t id = choose(&s, logits);
  wk_sampler_close(&s);
  return id;
}

/* ---- one token ------------------------------------------------------------------------------- */

static void takes_the_largest(void **state) {
  (void)state;
  static const wk_sampling greedy = {.top_p = 1};
  static const float ties[] = {-1, 3, 2, 3, 3}, least[] = {-INFINITY, -8, -INFINITY};
  assert_int_equal(chosen_once(greedy, 1, ties, 5), 1);
  assert_int_equal(chosen_once(greedy, 1, least, 3), 1);
  assert_int_equal(chosen_once(greedy, 1, least, 2), 1);
  assert_int_equal(chosen_once(greedy, 1, ties, 1), 0);
}

static void top_one_is_greedy(void **state) {
  (void)state;
  wk_rng rng = {.s = 5};
  for (int i = 0; i < 2000; i++) {
    float logits[WORDS];
    for (int k = 0; k < WORDS; k++) logits[k] = (float)wk_rng_range(&rng, -3, 3);
    int64_t largest = chosen_once((wk_sampling){.top_p = 1}, i, logits, WORDS);
    const wk_sampling one = {.temperature = 0.1 + wk_rng_unit(&rng), .top_k = 1, .top_p = 1};
    assert_int_equal(chosen_once(one, i, logits, WORDS), largest);
    const wk_sampling narrow = {.temperature = 1, .top_p = 1e-9};
    assert_int_equal(chosen_once(narrow, i, logits, WORDS), largest);
  }
}

static void refuses(void **state) {
  (void)state;
  static const float nan_[] = {1, 2, NAN}, high[] = {1, INFINITY, 0},
                     none[] = {-INFINITY, -INFINITY, -INFINITY};
  static const struct {
    const float *logits;
    const char *says;
  } cases[] = {{nan_, "the logit of token 2 is NaN: no token can be chosen"},
               {high, "the logit of token 1 is infinite: no token can be chosen"},
               {none, "no token has a finite logit: none can be chosen"}};
  for (size_t i = 0; i < 2 * WK_COUNTOF(cases); i++) {
    wk_sampler s;
    int64_t id;
    wk_sampler_open(&(wk_sampling){.temperature = (double)(i % 2), .top_p = 1}, 1, 3, &s);
    wk_status failed = wk_sampler_choose(&s, cases[i / 2].logits, &id);
    assert_non_null(failed);
    assert_string_equal(failed->message, cases[i / 2].says);
    wk_status_free(failed);
    wk_sampler_close(&s);
  }
}

/* ---- many ------------------------------------------------------------------------------------ */

static const float words[WORDS] = {0.5f, 2, -INFINITY, 1.25f, 2, -1, 0, 1.25f, -30};

/* The probability of each word by its definition, with sorting by hand. */
static void expect(const wk_sampling *how, double p[WORDS]) {
  bool taken[WORDS] = {false};
  double sum = 0, kept = 0, reached = 0;
  for (int k = 0; k < WORDS; k++) sum += exp(words[k] / how->temperature);
  for (int pass = 0; pass < 2; pass++) { /* 0: what the top_k have together, 1: top_p of it */
    memset(taken, 0, sizeof taken);
    memset(p, 0, WORDS * sizeof *p);
    for (int64_t n = 0; n < (how->top_k ? how->top_k : WORDS); n++) {
      int best = -1;
      for (int k = 0; k < WORDS; k++)
        if (!taken[k] && (best < 0 || words[k] > words[best])) best = k;
      if (best < 0 || (pass && reached >= how->top_p * kept)) break;
      taken[best] = true;
      p[best] = exp(words[best] / how->temperature) / sum;
      if (pass) reached += p[best];
      else kept += p[best];
    }
  }
  for (int k = 0; k < WORDS; k++) p[k] /= reached;
}

/* How often each word is drawn is within five deviations of what it should be. */
static void draws_by_probability(void **state) {
  (void)state;
  static const wk_sampling hows[] = {{1, 0, 1},   {0.5, 0, 1},   {3, 0, 1},     {1, 4, 1},
                                     {1, 3, 1},   {1, 0, 0.8},   {1, 0, 0.3},   {1, 5, 0.6},
                                     {2, 9, 0.9}, {0.7, 100, 1}, {1.5, 2, 0.99}};
  for (size_t i = 0; i < WK_COUNTOF(hows); i++) {
    int64_t count[WORDS] = {0};
    double p[WORDS];
    wk_sampler s;
    expect(&hows[i], p);
    wk_sampler_open(&hows[i], (int64_t)i + 3, WORDS, &s);
    for (int d = 0; d < DRAWS; d++) count[choose(&s, words)]++;
    wk_sampler_close(&s);
    for (int k = 0; k < WORDS; k++) {
      double deviation = sqrt(DRAWS * p[k] * (1 - p[k]));
      if (fabs((double)count[k] - DRAWS * p[k]) > 5 * deviation + 1e-6)
        fail_msg("settings %zu: word %d is drawn %lld times instead of %.1f", i, k,
                 (long long)count[k], DRAWS * p[k]);
    }
  }
}

static void follows_the_seed(void **state) {
  (void)state;
  int64_t first[2][64];
  int same = 0;
  for (int round = 0; round < 2; round++) {
    wk_sampler a, b;
    const wk_sampling how = {.temperature = 1.5, .top_k = 6, .top_p = 0.95};
    wk_sampler_open(&how, 11, WORDS, &a);
    wk_sampler_open(&how, 12, WORDS, &b);
    for (int i = 0; i < 64; i++) {
      first[round][i] = choose(&a, words);
      same += first[round][i] == choose(&b, words);
    }
    wk_sampler_close(&a);
    wk_sampler_close(&b);
  }
  assert_memory_equal(first[0], first[1], sizeof first[0]);
  assert_true(same < 2 * 64);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_the_largest),    cmocka_unit_test(top_one_is_greedy),
      cmocka_unit_test(refuses),              cmocka_unit_test(draws_by_probability),
      cmocka_unit_test(follows_the_seed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
