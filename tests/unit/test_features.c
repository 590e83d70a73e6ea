/* SPDX-License-Identifier: Apache-2.0
 * Features of processors that nobody has at hand: each by the one bit of Intel's and AMD's manuals
 * that says so, with what the system must save for it, and lists of them; and how many processors
 * a process may use. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/internal.h"

#if defined(__x86_64__)

enum { A, B, C, D };                       /* registers */
enum { NOTHING, AVX, AVX512, AMX, STATES }; /* what the system must save */
static const uint32_t saved[STATES] = {0, 1 << 1 | 1 << 2, 1 << 1 | 1 << 2 | 7 << 5, 3 << 17};

typedef struct {
  const char *name;
  uint32_t leaf, subleaf;
  int reg;
  uint32_t mask;
  int needs;
} feature;

#define BIT(n) (UINT32_C(1) << (n))
static const feature features[] = {
    {"sse3", 1, 0, C, BIT(0), NOTHING}, {"pclmul", 1, 0, C, BIT(1), NOTHING},
    {"ssse3", 1, 0, C, BIT(9), NOTHING}, {"fma", 1, 0, C, BIT(12), AVX},
    {"cx16", 1, 0, C, BIT(13), NOTHING}, {"sse4.1", 1, 0, C, BIT(19), NOTHING},
    {"sse4.2", 1, 0, C, BIT(20), NOTHING}, {"crc32", 1, 0, C, BIT(20), NOTHING},
    {"movbe", 1, 0, C, BIT(22), NOTHING}, {"popcnt", 1, 0, C, BIT(23), NOTHING},
    {"aes", 1, 0, C, BIT(25), NOTHING}, {"xsave", 1, 0, C, BIT(26), NOTHING},
    {"avx", 1, 0, C, BIT(28), AVX}, {"f16c", 1, 0, C, BIT(29), AVX},
    {"rdrnd", 1, 0, C, BIT(30), NOTHING}, {"cx8", 1, 0, D, BIT(8), NOTHING},
    {"cmov", 1, 0, D, BIT(15), NOTHING}, {"mmx", 1, 0, D, BIT(23), NOTHING},
    {"fxsr", 1, 0, D, BIT(24), NOTHING}, {"sse", 1, 0, D, BIT(25), NOTHING},
    {"sse2", 1, 0, D, BIT(26), NOTHING}, {"bmi", 7, 0, B, BIT(3), NOTHING},
    {"avx2", 7, 0, B, BIT(5), AVX}, {"bmi2", 7, 0, B, BIT(8), NOTHING},
    {"avx512f", 7, 0, B, BIT(16), AVX512}, {"evex512", 7, 0, B, BIT(16), AVX512},
    {"avx512dq", 7, 0, B, BIT(17), AVX512}, {"rdseed", 7, 0, B, BIT(18), NOTHING},
    {"adx", 7, 0, B, BIT(19), NOTHING}, {"avx512ifma", 7, 0, B, BIT(21), AVX512},
    {"clflushopt", 7, 0, B, BIT(23), NOTHING}, {"clwb", 7, 0, B, BIT(24), NOTHING},
    {"avx512cd", 7, 0, B, BIT(28), AVX512}, {"sha", 7, 0, B, BIT(29), NOTHING},
    {"avx512bw", 7, 0, B, BIT(30), AVX512}, {"avx512vl", 7, 0, B, BIT(31), AVX512},
    {"avx512vbmi", 7, 0, C, BIT(1), AVX512}, {"avx512vbmi2", 7, 0, C, BIT(6), AVX512},
    {"gfni", 7, 0, C, BIT(8), NOTHING}, {"vaes", 7, 0, C, BIT(9), AVX},
    {"vpclmulqdq", 7, 0, C, BIT(10), AVX}, {"avx512vnni", 7, 0, C, BIT(11), AVX512},
    {"avx512bitalg", 7, 0, C, BIT(12), AVX512}, {"avx512vpopcntdq", 7, 0, C, BIT(14), AVX512},
    {"amx-bf16", 7, 0, D, BIT(22), AMX}, {"avx512fp16", 7, 0, D, BIT(23), AVX512},
    {"amx-tile", 7, 0, D, BIT(24), AMX}, {"amx-int8", 7, 0, D, BIT(25), AMX},
    {"avxvnni", 7, 1, A, BIT(4), AVX}, {"avx512bf16", 7, 1, A, BIT(5), AVX512},
    {"avxifma", 7, 1, A, BIT(23), AVX}, {"avxvnniint8", 7, 1, D, BIT(4), AVX},
    {"avxneconvert", 7, 1, D, BIT(5), AVX}, {"sahf", 0x80000001, 0, C, BIT(0), NOTHING},
    {"lzcnt", 0x80000001, 0, C, BIT(5), NOTHING}, {"64bit", 0x80000001, 0, D, BIT(29), NOTHING},
};

/* A processor: the feature's bit alone, or all but it; and OSXSAVE, as is said. */
static struct {
  const feature *f;
  bool has, others, osxsave;
  uint32_t state, most; /* the last leaf that there is */
  bool allows;
  int allowed;
} it;

static bool ask(uint32_t leaf, uint32_t subleaf, unsigned r[4]) {
  if (leaf > it.most) return false;
  memset(r, it.others ? 0xff : 0, 4 * sizeof *r);
  if (leaf == it.f->leaf && subleaf == it.f->subleaf)
    r[it.f->reg] = it.has ? r[it.f->reg] | it.f->mask : r[it.f->reg] & ~it.f->mask;
  if (leaf == 1) r[C] = it.osxsave ? r[C] | BIT(27) : r[C] & ~BIT(27);
  return true;
}

static uint32_t state_of(void) { return it.state; }

static bool allow(void) {
  it.allowed++;
  return it.allows;
}

static const wick_processor processor = {ask, state_of, allow};

static void expect(int want, const char *what) {
  int got = wick_processor_has(&processor, it.f->name);
  if (got != want) fail_msg("%s, %s: %d", it.f->name, what, got);
}

static void every_feature_has_its_bit(void **unused) {
  (void)unused;
  for (size_t i = 0; i < WICK_COUNTOF(features); i++) {
    const feature *f = &features[i];
    it.f = f, it.state = UINT32_MAX, it.most = UINT32_MAX, it.osxsave = it.allows = true;
    it.has = true, it.others = false, it.allowed = 0;
    expect(1, "its bit alone");
    assert_int_equal(it.allowed, f->needs == AMX);
    it.has = false, it.others = true;
    expect(0, "all others");
    it.has = true;
    it.most = f->leaf - 1;
    expect(0, "an old processor");
    it.most = UINT32_MAX;
    it.osxsave = false;
    expect(f->needs == NOTHING, "a system that saves nothing");
    it.osxsave = true;
    for (int bit = 0; bit < 32; bit++) {
      it.state = ~BIT(bit);
      expect(!(saved[f->needs] & BIT(bit)), "without one of the states");
    }
    it.state = saved[f->needs];
    expect(1, "just what it needs");
    it.allows = false;
    expect(f->needs != AMX, "a system that does not allow it");
  }
}

static void unknown_features_are_neither(void **unused) {
  (void)unused;
  static const char *const names[] = {"", "avx3", "AVX", "avx512", "sse4", "ss"};
  it.f = features, it.others = it.has = it.osxsave = true, it.most = UINT32_MAX;
  for (size_t i = 0; i < WICK_COUNTOF(names); i++)
    assert_int_equal(wick_processor_has(&processor, names[i]), -1);
}

/* Of this processor, which all that run this have. */
static void lists_name_what_is_missing(void **unused) {
  (void)unused;
  static const struct {
    const char *list;
    size_t size;
    const char *missing;
  } cases[] = {
      {"", 64, ""},
      {"sse2", 64, ""},
      {"sse2 64bit cmov", 64, ""},
      {"none", 64, "none"},
      {"sse2 none cx8", 64, "none"},
      {"none sse2 nor", 64, "none nor"},
      {"none nor such", 64, "none nor such"},
      {"none nor such", 9, "none nor"},
      {"none nor such", 10, "none nor "},
      {"none nor such", 8, "none no"},
      {"none nor such", 1, ""},
      {"a-name-of-thirty-one-characters", 64, "a-name-of-thirty-one-characters"},
      {"a-name-of-thirty-two-characters- sse2", 64, "a-name-of-thirty-two-characters-"},
      {"a-name-of-more-than-thirty-two-characters sse2 b", 64,
       "a-name-of-more-than-thirty-two-c b"},
  };
  for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
    char missing[64 + 1];
    memset(missing, '#', sizeof missing);
    bool all = !*cases[i].missing && cases[i].size > 1;
    assert_int_equal(wick_cpu_require(cases[i].list, missing, cases[i].size), all);
    assert_string_equal(missing, cases[i].missing);
    assert_int_equal(missing[cases[i].size], '#');
  }
  assert_int_equal(wick_cpu_has("sse2"), 1);
  assert_int_equal(wick_cpu_has("none"), -1);
  assert_int_equal(wick_cpu_has(NULL), -1);
}

/* Those that this process may run on, not those that there are. */
static void processors_are_counted(void **unused) {
  (void)unused;
  cpu_set_t all, one;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  assert_int_equal(wick_processors(),
                   CPU_COUNT(&all) > WICK_MAX_THREADS ? WICK_MAX_THREADS : CPU_COUNT(&all));
  int first = 0;
  while (!CPU_ISSET(first, &all)) first++;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(wick_processors(), 1);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_feature_has_its_bit),
                                     cmocka_unit_test(unknown_features_are_neither),
                                     cmocka_unit_test(processors_are_counted),
                                     cmocka_unit_test(lists_name_what_is_missing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
int main(void) { return 0; }
#endif
