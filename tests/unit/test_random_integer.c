/* SPDX-License-Identifier: Apache-2.0
 * Random quantised graphs: conversion leaves nothing real, each operator stays within a step of its
 * real definition, and the CPU computes what the evaluator computes, bit for bit, on every
 * instruction set that this machine runs, and reads nothing past the end of its inputs.
 *   test_random_integer [FIRST_SEED [COUNT]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/integer/integer.h"
#include "compiler/pipeline/runner.h"
#include "runtime/wick.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"

static uint64_t first_seed = 1, n_seeds = RANDOM_COUNT(240);

static void must(wk_status s) {
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
}

static void print(const wk_module *m) {
  wk_str text = {0};
  wk_module_print(&text, m, WK_PRINT_SHORT);
  print_error("%s\n", text.s);
  wk_str_free(&text);
}

static wk_tensor *evaluate(const wk_graph *g, const wk_tensor *in) {
  wk_tensor *out = wk_xcalloc(g->outputs.n + 1, sizeof *out);
  must(wk_eval_graph(g, in, out, NULL, NULL));
  return out;
}

static wk_module *converted(const wk_module *m) {
  int64_t changes;
  wk_module *y = wk_module_clone(m);
  must(wk_integer_convert(y, &changes));
  return y;
}

/* ---- conversion ------------------------------------------------------------------------------ */

static int count_real(const wk_graph *g) {
  int n = 0;
  for (size_t i = 0; i < g->nodes.n; i++)
    for (uint32_t k = 0; k < g->nodes.data[i].n_out; k++)
      n += wk_dtype_is_float(wk_val(g, g->nodes.data[i].out[k])->type.dtype);
  return n;
}

static void test_one_operator(void **state) {
  (void)state;
  for (uint64_t seed = first_seed; seed < first_seed + 2 * n_seeds; seed++) {
    wk_module *real = random_integer_graph(seed, 1), *whole = converted(real);
    wk_tensor *in = random_integer_inputs(real->main, seed);
    wk_tensor *want = evaluate(real->main, in), *got = evaluate(whole->main, in);
    bool bad = count_real(whole->main) > 0;
    for (size_t i = 0; i < real->main->outputs.n; i++) {
      const wk_type *t = &want[i].type;
      for (int64_t j = 0; j < wk_type_count(t); j++) {
        int64_t a = wk_load_i64(want[i].data, t->dtype, j),
                b = wk_load_i64(got[i].data, t->dtype, j);
        bad |= a - b > 1 || b - a > 1;
      }
    }
    if (bad) {
      print(real);
      print(whole);
      fail_msg("seed %d", (int)seed);
    }
    random_tensors_free(want, real->main->outputs.n);
    random_tensors_free(got, real->main->outputs.n);
    random_tensors_free(in, real->main->inputs.n);
    wk_module_free(whole);
    wk_module_free(real);
  }
}

/* ---- on the CPU ------------------------------------------------------------------------------ */

/* Whole pages for the tensor's bytes, without the one behind them that nobody may touch. */
static size_t pages_of(const wk_tensor *t) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return ((size_t)wk_type_bytes(&t->type) + page - 1) / page * page;
}

/* A copy that ends where memory ends. */
static wk_tensor guarded(const wk_tensor *t) {
  size_t n = pages_of(t), bytes = (size_t)wk_type_bytes(&t->type);
  size_t guard = (size_t)sysconf(_SC_PAGESIZE);
  char *p = mmap(NULL, n + guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(p + n, guard, PROT_NONE)) fail_msg("no memory");
  memcpy(p + n - bytes, t->data, bytes);
  return (wk_tensor){t->type, p + n - bytes};
}

static void release(const wk_tensor *t) {
  size_t n = pages_of(t);
  munmap((char *)t->data + wk_type_bytes(&t->type) - n, n + (size_t)sysconf(_SC_PAGESIZE));
}

static wk_status run_guarded(wk_runner *r, const wk_tensor *in, size_t n_in, wk_tensor *out) {
  wk_tensor *at_end = wk_xcalloc(n_in + 1, sizeof *at_end);
  for (size_t i = 0; i < n_in; i++) at_end[i] = guarded(&in[i]);
  wk_status s = wk_runner_run(r, at_end, out);
  for (size_t i = 0; i < n_in; i++) release(&at_end[i]);
  free(at_end);
  return s;
}

static void check_cpu(const wk_module *m, uint64_t seed, const char *cpu, const wk_tensor *in,
                      const wk_tensor *want) {
  const wk_runner_options o = {.target = {.cpu = cpu},
                               .threads = 1 + (int64_t)(seed % 2),
                               .model_name = "integers"};
  wk_runner *r = NULL;
  size_t n = m->main->outputs.n;
  wk_tensor *got = wk_xcalloc(n + 1, sizeof *got);
  wk_status s = wk_runner_of_module(wk_module_clone(m), &o, &r);
  if (!s) s = run_guarded(r, in, m->main->inputs.n, got);
  if (s) print(m);
  must(s);
  for (size_t i = 0; i < n; i++) {
    const uint8_t *a = got[i].data, *b = want[i].data;
    int64_t bytes = wk_type_bytes(&want[i].type), j = 0;
    while (j < bytes && a[j] == b[j]) j++;
    if (j == bytes) continue;
    print(m);
    fail_msg("seed %d, %s: output %s: element %d is %d, want %d", (int)seed, cpu ? cpu : "host",
             m->main->output_names.data[i], (int)j, a[j], b[j]);
  }
  random_tensors_free(got, n);
  wk_runner_free(r);
}

/* needs: what a machine must have, by the names of wick_cpu_has. */
static const struct {
  const char *cpu, *needs;
} cpus[] = {{"x86-64", "sse2"}, {"x86-64-v3", "avx2"}, {"x86-64-v4", "avx512vl"}};

/* Of those that this machine runs. */
static const char *cpu_of(uint64_t seed) {
  size_t n = 0;
  while (n < WK_COUNTOF(cpus) && wick_cpu_has(cpus[n].needs) == 1) n++;
  return cpus[seed % n].cpu;
}

static void test_cpu(void **state) {
  (void)state;
  print_message("seeds %d to %d\n", (int)first_seed, (int)(first_seed + n_seeds - 1));
  for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
    wk_module *real = random_integer_graph(seed, 1 + (int)(seed % 8)), *m = converted(real);
    wk_tensor *in = random_integer_inputs(m->main, seed), *want = evaluate(m->main, in);
    check_cpu(m, seed, NULL, in, want);
    check_cpu(m, seed, cpu_of(seed), in, want);
    random_tensors_free(want, m->main->outputs.n);
    random_tensors_free(in, m->main->inputs.n);
    wk_module_free(m);
    wk_module_free(real);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_operator),
                                     cmocka_unit_test(test_cpu)};
  if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
  if (argc > 2) n_seeds = strtoull(argv[2], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
