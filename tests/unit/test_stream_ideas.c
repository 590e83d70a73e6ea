/* SPDX-License-Identifier: Apache-2.0
 * What --without leaves out: its names, and what loads then wait for, by steps made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/stream/ideas.h"

/* ---- names ----------------------------------------------------------------------------------- */

static const struct {
  const char *text;
  unsigned set;
  const char *refused; /* NULL: none is */
} texts[] = {
    {"early-issue", WK_SCHED_EARLY_ISSUE, NULL},
    {"cross-layer", WK_SCHED_CROSS_LAYER, NULL},
    {"residency", WK_SCHED_RESIDENCY, NULL},
    {"fusion", WK_SCHED_FUSION, NULL},
    {"stagger", WK_SCHED_STAGGER, NULL},
    {"stacks", WK_SCHED_STACKS, NULL},
    {"local-search", WK_SCHED_LOCAL_SEARCH, NULL},
    {"fusion,fusion", WK_SCHED_FUSION, NULL},
    {"local-search,early-issue", WK_SCHED_LOCAL_SEARCH | WK_SCHED_EARLY_ISSUE, NULL},
    {"early-issue,cross-layer,residency,fusion,stagger,stacks,local-search", 127, NULL},
    {"", 0, ""},
    {"fusio", 0, "fusio"},
    {"fusions", 0, "fusions"},
    {"Fusion", 0, "Fusion"},
    {"fusion,", 0, ""},
    {",fusion", 0, ""},
    {"fusion,early,residency", 0, "early"},
    {"fusion residency", 0, "fusion residency"},
};

static void names(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(texts); i++) {
    unsigned got = 99;
    wk_str want = {0};
    wk_status s = wk_sched_ideas_read(texts[i].text, &got);
    if (!texts[i].refused) {
      assert_null(s);
      assert_int_equal(got, texts[i].set);
      continue;
    }
    wk_str_printf(&want, "there are early-issue, cross-layer, residency, fusion, stagger, stacks "
                         "and local-search, not '%s'", texts[i].refused);
    assert_non_null(s);
    assert_string_equal(s->message, want.s);
    wk_status_free(s);
    wk_str_free(&want);
  }
}

/* ---- loads ----------------------------------------------------------------------------------- */

/* Steps by their queues, a letter each: e and v compute, s stores, a and b load. '|' begins a
 * group, ':' another round of it. What each load waits for as "ev" or "ev/sab": how many of e and
 * v, and of s, a and b. */
enum { E, V, S, A, B };
static const char queue_letters[] = "evsab";
static const wk_sched_queues queues = {.n = B + 1, .computes = 1u << E | 1u << V,
                                       .stores = 1u << S};

static void add_steps(wk_sched_steps *s, const char *text) {
  int group = 0, first = 0;
  wk_vec_push(&s->first, first);
  for (; *text; text++) {
    if (strchr("|:", *text)) {
      group++;
      first += *text == '|';
      wk_vec_push(&s->first, first);
      continue;
    }
    int queue = (int)(strchr(queue_letters, *text) - queue_letters);
    wk_sched_step x = {.queue = queue, .group = group, .ordinal = s->issued[queue]++};
    wk_vec_push(&s->list, x);
  }
}

static void print_needs(const wk_sched_steps *s, wk_str *b) {
  for (size_t i = 0; i < s->list.n; i++) {
    const wk_sched_step *x = &s->list.data[i];
    uint32_t sum = 0;
    for (int q = 0; q < WK_SCHED_QUEUES; q++) sum += x->needs[q];
    wk_str_printf(b, "%s%c", i ? " " : "", queue_letters[x->queue]);
    if (!sum) continue;
    wk_str_printf(b, "%u%u", x->needs[E], x->needs[V]);
    if (sum > x->needs[E] + x->needs[V])
      wk_str_printf(b, "/%u%u%u", x->needs[S], x->needs[A], x->needs[B]);
  }
}

static const struct {
  unsigned without;
  const char *steps, *needs;
} held[] = {
    /* nothing is left out, or nothing that is about time */
    {0, "aeaeae|aeve", "a e a e a e a e v e"},
    {WK_SCHED_RESIDENCY | WK_SCHED_FUSION | WK_SCHED_LOCAL_SEARCH, "aeae|ae", "a e a e a e"},
    /* two tiles may be there: the third waits for what the first one computes, all of it */
    {WK_SCHED_EARLY_ISSUE, "aeaeaeae", "a e a e a10 e a20 e"},
    {WK_SCHED_EARLY_ISSUE, "aeevaeaae", "a e e v a e a21 a21 e"},
    {WK_SCHED_EARLY_ISSUE, "abeabeabe", "a b e a b e a10 b10 e"},
    {WK_SCHED_EARLY_ISSUE, "avavav", "a v a v a01 v"},
    /* what is stored in between, or loaded before anything is computed, begins no tile */
    {WK_SCHED_EARLY_ISSUE, "aesaesaes", "a e s a e s a10 e s"},
    {WK_SCHED_EARLY_ISSUE, "aaaaeaea", "a a a a e a e a10"},
    {WK_SCHED_EARLY_ISSUE, "asasase", "a s a s a s e"},
    {WK_SCHED_EARLY_ISSUE, "aeae|aeae", "a e a e a10 e a20 e"},
    /* the groups before have ended: all of their steps */
    {WK_SCHED_CROSS_LAYER, "abes|aes|ae", "a b e s a10/111 e s a20/221 e"},
    {WK_SCHED_CROSS_LAYER, "ae|vs|a", "a e v s a11/110"},
    {WK_SCHED_CROSS_LAYER, "aeaeae", "a e a e a e"},
    {WK_SCHED_CROSS_LAYER, "ae:ae|ae:ae", "a e a e a20/020 e a20/020 e"},
    /* both */
    {WK_SCHED_CROSS_LAYER | WK_SCHED_EARLY_ISSUE, "ae|aeaeae",
     "a e a10/010 e a10/010 e a20/010 e"},
};

static void loads_wait(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(held); i++) {
    wk_sched_steps s = {0};
    wk_str got = {0};
    add_steps(&s, held[i].steps);
    wk_sched_hold_loads(&s, &queues, held[i].without);
    print_needs(&s, &got);
    if (strcmp(got.s, held[i].needs) != 0)
      fail_msg("%s: %s, not %s", held[i].steps, got.s, held[i].needs);
    wk_str_free(&got);
    wk_sched_steps_free(&s);
  }
}

/* Of what a load needs anyway the larger number counts. */
static void needs_stay(void **state) {
  wk_sched_steps s = {0};
  (void)state;
  add_steps(&s, "aeaeaeae");
  s.list.data[4].needs[E] = 2;
  s.list.data[6].needs[E] = 1;
  wk_sched_hold_loads(&s, &queues, WK_SCHED_EARLY_ISSUE);
  assert_int_equal(s.list.data[4].needs[E], 2);
  assert_int_equal(s.list.data[6].needs[E], 2);
  wk_sched_steps_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(loads_wait),
                                     cmocka_unit_test(needs_stay)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
