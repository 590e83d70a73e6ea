/* SPDX-License-Identifier: Apache-2.0 */
/* Where the constants that integer operators need do not fit, layers stay as they are: wherever the
 * room ends, what comes out is whole and computes the same numbers, to a step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "compiler/integer/integer.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"

static void must(uint64_t seed, wk_status s) {
  if (s) fail_msg("seed %d: %s: %s", (int)seed, s->place ? s->place : "", s->message);
}

static wk_tensor *value_of(uint64_t seed, const wk_module *m, const wk_tensor *in) {
  wk_tensor *out = wk_xcalloc(m->main->outputs.n, sizeof *out);
  must(seed, wk_eval_graph(m->main, in, out, NULL, NULL));
  return out;
}

static int64_t most_off(const wk_tensor *a, const wk_tensor *b) {
  int64_t most = 0;
  assert_true(wk_type_equal(&a->type, &b->type));
  for (int64_t i = 0; i < wk_type_count(&a->type); i++) {
    int64_t d = wk_load_i64(a->data, a->type.dtype, i) - wk_load_i64(b->data, b->type.dtype, i);
    d = d < 0 ? -d : d;
    most = d > most ? d : most;
  }
  return most;
}

/* Conversion, then narrowing, each with so much room; what it took. */
static int64_t convert(uint64_t seed, wk_module *m, int64_t room, int64_t more, int64_t *changes) {
  int64_t narrowed = 0;
  m->constant_bytes_left = room;
  must(seed, wk_integer_convert(m, changes));
  must(seed, wk_module_verify(m));
  int64_t took = room - m->constant_bytes_left;
  assert_true(took >= 0 && took <= room);
  m->constant_bytes_left = more;
  must(seed, wk_integer_narrow(m, &narrowed));
  must(seed, wk_module_verify(m));
  return took + more - m->constant_bytes_left;
}

static void check(uint64_t seed, int64_t *fewer) {
  wk_module *m = random_integer_graph(seed, 1), *all = wk_module_clone(m);
  wk_tensor *in = random_integer_inputs(m->main, seed), *want = value_of(seed, m, in);
  size_t n = m->main->outputs.n;
  int64_t most, changes;
  int64_t took = convert(seed, all, 1 << 24, 1 << 24, &most);
  wk_module_free(all);
  for (int k = 0; k < 26; k++) {
    int64_t room = k < 13 ? took * k / 12 : k == 13 ? took - 1 : INT64_C(1) << (k - 14);
    wk_module *some = wk_module_clone(m);
    if (room < 0) room = 0;
    (void)convert(seed, some, k % 2 ? room : 1 << 24, room, &changes);
    *fewer += changes < most;
    assert_true(changes <= most);
    wk_tensor *got = value_of(seed, some, in);
    for (size_t i = 0; i < n; i++)
      if (most_off(&got[i], &want[i]) > 1)
        fail_msg("seed %d, %d bytes: off by %d", (int)seed, (int)room,
                 (int)most_off(&got[i], &want[i]));
    random_tensors_free(got, n);
    wk_module_free(some);
  }
  random_tensors_free(want, n);
  random_tensors_free(in, m->main->inputs.n);
  wk_module_free(m);
}

static void test_budgets(void **state) {
  (void)state;
  int64_t fewer = 0;
  for (uint64_t seed = 1; seed <= 400; seed++) check(seed, &fewer);
  print_message("%d times less than all\n", (int)fewer);
  assert_true(fewer > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_budgets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
