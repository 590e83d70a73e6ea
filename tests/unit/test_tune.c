/* SPDX-License-Identifier: Apache-2.0 */
/* The tuned RTL model: its training stream suits every machine, and it does in every cycle what the
 * plain one does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/build.h"
#include "tests/random_stream.h"

/* ---- training -------------------------------------------------------------------------------- */

static void must(wk_status s) {
  if (s) fail_msg("%s", s->message);
}

static void check_training(const wk_machine *m) {
  const wk_asm_options o = {.machine = m};
  const wk_sim_run_options ro = {.machine = m};
  wk_str text = {0};
  wk_stream *s;
  wk_sim_run r;
  must(wk_sim_training_text(m, &text));
  must(wk_asm(text.s, text.n, "training.s", NULL, &o, &s));
  must(wk_check(s, m, NULL));
  must(wk_sim_run_stream(s, &wk_sim_functional, &ro, &r));
  must(wk_sim_verdict(s, m, &r));
  wk_sim_run_free(&r);
  wk_stream_free(s);
  wk_str_free(&text);
}

static void test_every_machine_can_train(void **state) {
  (void)state;
  int n = 0;
  for (int64_t array = 8; array <= 32; array *= 2)
    for (int64_t scratchpad = 16384; scratchpad <= 1048576; scratchpad *= 4)
      for (int64_t accumulators = 4096; accumulators <= 262144; accumulators *= 8)
        for (int64_t channels = 1; channels <= 3; channels++, n++) {
          wk_machine m;
          wk_machine_defaults(&m);
          m.array = array;
          m.bus = array < 16 ? 16 : array;
          m.scratchpad = scratchpad;
          m.accumulators = accumulators;
          m.load_channels = channels;
          m.tables = m.banks = 4;
          wk_status bad = wk_machine_check(&m);
          if (!bad) check_training(&m);
          wk_status_free(bad);
        }
  assert_int_equal(n, 3 * 4 * 3 * 3);
}

static void test_every_command_is_trained(void **state) {
  (void)state;
  wk_machine m;
  wk_str text = {0};
  wk_stream *s;
  uint32_t seen = 0;
  must(wk_machine_read("base", &m));
  const wk_asm_options o = {.machine = &m};
  must(wk_sim_training_text(&m, &text));
  must(wk_asm(text.s, text.n, "training.s", NULL, &o, &s));
  for (uint32_t i = 0; i < s->n; i++) {
    wk_isa_command c;
    assert_true(wk_stream_get(s, i, &c));
    seen |= 1u << c.opcode;
  }
  assert_int_equal(seen, (1u << (WK_CMD_END + 1)) - 2);
  wk_stream_free(s);
  wk_str_free(&text);
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool can_be_made(void) {
  return system("command -v llvm-profdata-19 >/dev/null && echo 'int main() {}' | "
                "clang++-19 -fprofile-generate -x c++ - -o /dev/null 2>/dev/null") == 0;
}

static void same_runs(const wk_stream *s, const wk_sim_run *a, const wk_sim_run *b) {
  assert_memory_equal(&a->result, &b->result, sizeof a->result);
  for (uint32_t i = 0; i < s->n; i++) {
    assert_int_equal(a->spans[i].start, b->spans[i].start);
    assert_int_equal(a->spans[i].retire, b->spans[i].retire);
  }
  assert_memory_equal(a->memory, b->memory, a->memory_size); /* counters of MARKs as well */
}

static void test_tuned_is_plain(void **state) {
  (void)state;
  const wk_sim_model *plain, *tuned, *cached;
  wk_machine m;
  if (!can_be_made()) skip();
  must(wk_machine_read("tiny", &m));
  wk_sim_build_options o = {.machine = &m, .tune = WK_SIM_TUNE_NEVER};
  must(wk_sim_model_of(WK_SIM_RTL, &o, &plain));
  o.tune = WK_SIM_TUNE_NOW;
  must(wk_sim_model_of(WK_SIM_RTL, &o, &tuned));
  o.tune = WK_SIM_TUNE_CACHED;
  must(wk_sim_model_of(WK_SIM_RTL, &o, &cached));
  assert_string_equal(plain->build, "plain");
  assert_string_equal(tuned->build, "tuned");
  assert_ptr_equal(cached, tuned);
  for (uint64_t seed = 1; seed <= 100; seed++) {
    random_stream_setting x = random_stream_draw_setting(plain, &m, seed);
    wk_stream *s = random_stream(&m, seed, NULL);
    const wk_sim_run_options ro = {.machine = &x.machine, .max_cycles = 8000000, .reset = x.reset,
                                   .seed = x.seed, .stalls = x.stalls};
    wk_sim_run a, b;
    must(wk_sim_run_stream(s, plain, &ro, &a));
    must(wk_sim_run_stream(s, tuned, &ro, &b));
    must(wk_sim_verdict(s, &x.machine, &a));
    same_runs(s, &a, &b);
    wk_sim_run_free(&a);
    wk_sim_run_free(&b);
    wk_stream_free(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_machine_can_train),
                                     cmocka_unit_test(test_every_command_is_trained),
                                     cmocka_unit_test(test_tuned_is_plain)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
