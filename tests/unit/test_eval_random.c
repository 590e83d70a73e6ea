/* SPDX-License-Identifier: Apache-2.0
 * Random numbers: philox4x32-10 as its paper has it, checked against its published answers, and
 * what tensors get of it, for seeds and elements of any size. */
#include "tests/unit/case_text.h"

#include "compiler/eval/eval.h"

typedef struct { uint32_t v[4]; } block;

/* One round mixes both halves with a product each; the key grows from round to round. */
static block philox(block c, uint32_t k0, uint32_t k1) {
  for (uint32_t r = 0; r < 10; r++) {
    uint64_t a = (uint64_t)c.v[0] * 0xD2511F53u, b = (uint64_t)c.v[2] * 0xCD9E8D57u;
    block next = {{(uint32_t)(b >> 32) ^ c.v[1] ^ (k0 + r * 0x9E3779B9u), (uint32_t)b,
                   (uint32_t)(a >> 32) ^ c.v[3] ^ (k1 + r * 0xBB67AE85u), (uint32_t)a}};
    c = next;
  }
  return c;
}

static uint32_t word(uint64_t seed, uint64_t i) {
  const block c = {{(uint32_t)(i / 4), (uint32_t)(i / 4 >> 32), 0, 0}};
  return philox(c, (uint32_t)seed, (uint32_t)(seed >> 32)).v[i % 4];
}

static double unit(uint64_t seed, uint64_t i) { return (word(seed, i) >> 8) / 16777216.0; }

/* The known answers of Random123. */
static void test_published(void **state) {
  (void)state;
  static const struct { block counter; uint32_t key[2]; block want; } rows[] = {
      {{{0, 0, 0, 0}}, {0, 0}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
      {{{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}}, {UINT32_MAX, UINT32_MAX},
       {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
      {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {0xa4093822, 0x299f31d0},
       {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    block got = philox(rows[i].counter, rows[i].key[0], rows[i].key[1]);
    assert_memory_equal(got.v, rows[i].want.v, sizeof got.v);
  }
}

static void test_words(void **state) {
  (void)state;
  wk_rng r = {9};
  for (int i = 0; i < 20000; i++) {
    uint64_t seed = wk_rng_next(&r) >> (wk_rng_next(&r) % 64);
    uint64_t at = wk_rng_next(&r) >> (wk_rng_next(&r) % 64);
    assert_int_equal(wk_philox(seed, at), word(seed, at));
  }
}

static void fill(wk_op op, wk_dtype t, int64_t seed, double a, double b, wk_tensor *out) {
  wk_module *m = wk_module_new("random");
  wk_graph *g = wk_graph_new(m, "main");
  static const int64_t dims[] = {3, 5};
  void *attrs = wk_attrs_new(m->arena, op);
  if (op == WK_OP_RANDOM_UNIFORM)
    *(wk_attr_random_uniform *)attrs = (wk_attr_random_uniform){
        .to = t, .seed = seed, .low = a, .high = b, .shape = wk_ints_dup(m->arena, dims, 2)};
  else
    *(wk_attr_random_normal *)attrs = (wk_attr_random_normal){
        .to = t, .seed = seed, .mean = a, .scale = b, .shape = wk_ints_dup(m->arena, dims, 2)};
  wk_graph_output(g, "y", wk_build(g, op, attrs, 0));
  assert_null(wk_eval_graph(g, NULL, out, NULL, NULL));
  wk_module_free(m);
}

static void test_tensors(void **state) {
  (void)state;
  static const wk_dtype types[] = {WK_F64, WK_F32, WK_F16, WK_BF16};
  static const int64_t seeds[] = {0, 1, -5, 77, INT64_MIN, INT64_C(1) << 40};
  for (size_t s = 0; s < WK_COUNTOF(seeds); s++)
    for (size_t k = 0; k < WK_COUNTOF(types); k++) {
      uint64_t seed = (uint64_t)seeds[s];
      wk_tensor u, n;
      fill(WK_OP_RANDOM_UNIFORM, types[k], seeds[s], -1.5, 3, &u);
      fill(WK_OP_RANDOM_NORMAL, types[k], seeds[s], 2, 0.25, &n);
      double off = types[k] == WK_F64 ? 1e-12 : types[k] == WK_F32 ? 1e-6 : 2e-2;
      for (uint64_t i = 0; i < 15; i++) {
        double size = sqrt(-2 * log(unit(seed, 2 * i) + 0x1p-24));
        double z = size * cos(2 * acos(-1) * unit(seed, 2 * i + 1));
        double a = wk_load_f64(u.data, types[k], (int64_t)i) - (-1.5 + 4.5 * unit(seed, i));
        double b = wk_load_f64(n.data, types[k], (int64_t)i) - (2 + 0.25 * z);
        if (fabs(a) > off || fabs(b) > off)
          fail_msg("seed %lld, element %d: off by %g and %g", (long long)seeds[s], (int)i, a, b);
      }
      wk_tensor_free(&u);
      wk_tensor_free(&n);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_published),
                                     cmocka_unit_test(test_words), cmocka_unit_test(test_tensors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
