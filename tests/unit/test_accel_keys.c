/* SPDX-License-Identifier: Apache-2.0
 * Which attention over a cache is there for every so many keys: what is not filled must have no
 * part in anything that is computed along the keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/compile/adapt.h"

static void must(const char *text, wk_status s) {
  if (s) fail_msg("%s\n%s", s->message, text);
}

/* One head of depth 8 over a cache of 24 keys, of which `at` and those before it are filled. */
#define ZEROS                                                                                   \
  "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, " \
  "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0"
#define HEAD                                                                                    \
  "module \"m\" { graph @main(%q: u8[1,8], %new: u8[1,8], %at: i64[1,1]) {\n"                   \
  "  variable %k: u8[24,8] = {" ZEROS ", " ZEROS ", " ZEROS ", " ZEROS "}\n"                     \
  "  %pos = constant i64[1,24] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, " \
  "18, 19, 20, 21, 22, 23}\n"                                                                   \
  "  %c = scatter_nd(%k, %at, %new)\n  %t = transpose(%c) {perm=[1,0]}\n"                       \
  "  %un = greater(%pos, %at)\n  %far = map(%un) {body=\"select(%0, 0u8, 255u8)\"}\n"
#define SCORES(queries)                                                       \
  "  %s = integer_matmul(" queries ", %t) {a_zero=124, b_zero=105, epilogue=" \
  "\"sat<u8>(add(rescale(%0, 13633645i64, 15i64), 166i32))\"}\n"
#define SOFTMAX(scores)                                                                         \
  "  %m = map(" scores ", %far) {body=\"min(%0, %1)\"}\n"                                       \
  "  %g = reduce_max(%m) {axes=[1]}\n"                                                          \
  "  %d = map(%m, %g) {body=\"max(sat<u8>(add(sub(i32(%0), i32(%1)), 255i32)), 1u8)\"}\n"       \
  "  %e = map(%d, %far) {body=\"min(%0, %1)\"}\n"                                               \
  "  %f = integer_softmax(%e) {axis=1, scale=0.012, far=255, mult=2139094913, shift=23, hi=255" \
  ", to=u8}\n  %p = map(%f, %far) {body=\"min(%0, %1)\"}\n"                                     \
  "  %y = integer_matmul(%p, %c) {b_zero=156, epilogue="                                        \
  "\"sat<u8>(add(rescale(%0, 8579952i64, 15i64), 159i32))\"}\n  output %y\n  update %k = %c\n}}"

static const struct {
  const char *what, *text;
  int64_t found;
} cases[] = {
    {"plain", HEAD SCORES("%q") SOFTMAX("%s"), 1},
    {"a maximum over all scores", HEAD SCORES("%q")
     "  %all = reduce_max(%s) {axes=[1]}\n"
     "  %l = map(%s, %all) {body=\"sat<u8>(add(sub(i32(%0), i32(%1)), 255i32))\"}\n"
     SOFTMAX("%l"), 0},
    {"a maximum over those that are filled", HEAD SCORES("%q")
     "  %v = map(%s, %far) {body=\"min(%0, %1)\"}\n  %all = reduce_max(%v) {axes=[1]}\n"
     "  %l = map(%v, %all) {body=\"sat<u8>(add(sub(i32(%0), i32(%1)), 255i32))\"}\n"
     SOFTMAX("%l"), 1},
    {"the cache as queries, too", HEAD SCORES("%c") SOFTMAX("%s"), 0},
};

static void filled_keys_are_found(void **state) {
  static const int64_t step = 8;
  static const wk_pass pass = {.name = "keys", .run = wk_accel_take_filled, .data = &step};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_module *m;
    int64_t changes = 0;
    must(cases[i].text, wk_module_parse(cases[i].text, cases[i].what, &m));
    must(cases[i].text, wk_module_verify(m));
    must(cases[i].text, wk_pass_run_one(m, &pass, NULL, &changes));
    if (changes != cases[i].found)
      fail_msg("%s: %lld found, not %lld", cases[i].what, (long long)changes,
               (long long)cases[i].found);
    wk_module_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(filled_keys_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
