/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/cpu.h"
#include "runtime/pool.h"
#include "tests/unit/gdb_interface.h"
#include "tests/unit/tiny_package.h"

/* ---- checksums and tables ---- */

static uint32_t crc_by_bits(const uint8_t *p, size_t n) {
  uint32_t crc = ~0u;
  while (n-- > 0) {
    crc ^= *p++;
    for (int k = 0; k < 8; k++) crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
  }
  return ~crc;
}

static void check_crc(uint32_t (*crc)(uint32_t, const void *, size_t)) {
  assert_int_equal(crc(0, "123456789", 9), 0xe3069283u);
  size_t size = 250000;
  uint8_t *data = malloc(size + 8);
  wk_rng rng = {1};
  for (size_t i = 0; i < size + 8; i++) data[i] = (uint8_t)wk_rng_next(&rng);
  for (size_t n = 0; n < 80; n++)
    assert_int_equal(crc(0, data + n % 7, n), crc_by_bits(data + n % 7, n));
  uint32_t whole = crc_by_bits(data + 3, size);
  assert_int_equal(crc(0, data + 3, size), whole);
  uint32_t pieces = crc(0, data + 3, 100001);
  assert_int_equal(crc(pieces, data + 3 + 100001, size - 100001), whole);
  free(data);
}

static void crc_agrees_with_the_definition(void **state) {
  (void)state;
  check_crc(wick_crc32c);
  check_crc(wick_crc32c_portable);
  size_t size = (33 << 20) + 5; /* several threads */
  uint8_t *data = malloc(size);
  for (size_t i = 0; i < size; i++) data[i] = (uint8_t)(i * 2654435761u >> 11);
  assert_int_equal(wick_crc32c_parallel(data, size), wick_crc32c(0, data, size));
  assert_int_equal(wick_crc32c_parallel(data, 5), wick_crc32c(0, data, 5));
  free(data);
}

static void every_status_and_dtype_has_a_text(void **state) {
  (void)state;
  for (int s = WICK_OK; s <= WICK_DEVICE_FAILED; s++)
    assert_string_not_equal(wick_status_text((wick_status)s), "unknown status");
  assert_string_equal(wick_status_text((wick_status)99), "unknown status");
  assert_string_equal(wick_status_text((wick_status)-1), "unknown status");
  for (int d = WICK_F32; d < WICK_DTYPE_COUNT; d++) {
    const char *name = wick_dtype_name((wick_dtype)d);
    int bits = atoi(name + strcspn(name, "0123456789")); /* "bool" has no number */
    assert_string_not_equal(name, "?");
    assert_int_equal(wick_dtype_bytes((wick_dtype)d), bits < 8 ? 1 : bits / 8);
  }
  assert_string_equal(wick_dtype_name((wick_dtype)0), "?");
  assert_string_equal(wick_dtype_name((wick_dtype)WICK_DTYPE_COUNT), "?");
  assert_int_equal(wick_dtype_bytes((wick_dtype)WICK_DTYPE_COUNT), 0);
}

/* What the kernel calls a feature. Not rdseed, which it hides where it is broken. */
static const struct { const char *name, *flag; } kernel_names[] = {
    {"cx8", "cx8"}, {"cmov", "cmov"}, {"mmx", "mmx"}, {"fxsr", "fxsr"}, {"sse", "sse"},
    {"sse2", "sse2"}, {"sse3", "pni"}, {"pclmul", "pclmulqdq"}, {"ssse3", "ssse3"}, {"fma", "fma"},
    {"cx16", "cx16"}, {"sse4.1", "sse4_1"}, {"sse4.2", "sse4_2"}, {"crc32", "sse4_2"},
    {"movbe", "movbe"}, {"popcnt", "popcnt"}, {"aes", "aes"}, {"xsave", "xsave"}, {"avx", "avx"},
    {"f16c", "f16c"}, {"rdrnd", "rdrand"}, {"bmi", "bmi1"}, {"avx2", "avx2"}, {"bmi2", "bmi2"},
    {"avx512f", "avx512f"}, {"evex512", "avx512f"}, {"avx512dq", "avx512dq"},
    {"adx", "adx"}, {"avx512ifma", "avx512ifma"},
    {"clflushopt", "clflushopt"}, {"clwb", "clwb"}, {"avx512cd", "avx512cd"}, {"sha", "sha_ni"},
    {"avx512bw", "avx512bw"}, {"avx512vl", "avx512vl"}, {"avx512vbmi", "avx512vbmi"},
    {"avx512vbmi2", "avx512_vbmi2"}, {"gfni", "gfni"}, {"vaes", "vaes"},
    {"vpclmulqdq", "vpclmulqdq"}, {"avx512vnni", "avx512_vnni"}, {"avx512bitalg", "avx512_bitalg"},
    {"avx512vpopcntdq", "avx512_vpopcntdq"}, {"avx512fp16", "avx512_fp16"},
    {"avxvnni", "avx_vnni"}, {"avx512bf16", "avx512_bf16"}, {"sahf", "lahf_lm"}, {"lzcnt", "abm"},
    {"64bit", "lm"}};

/* Whether /proc/cpuinfo lists the flag; -1: no such line, as on other processors. */
static int kernel_has(const char *flag) {
  char line[8192], *next = NULL;
  int found = -1;
  FILE *f = fopen("/proc/cpuinfo", "r");
  while (f && found < 0 && fgets(line, sizeof line, f)) {
    if (strncmp(line, "flags", 5) != 0) continue;
    found = 0;
    for (char *word = strtok_r(line, " \t\n", &next); word; word = strtok_r(NULL, " \t\n", &next))
      found |= !strcmp(word, flag);
  }
  if (f) fclose(f);
  return found;
}

static void features_are_those_of_the_processor(void **state) {
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < sizeof kernel_names / sizeof *kernel_names; i++) {
    int got = wick_cpu_has(kernel_names[i].name), want = kernel_has(kernel_names[i].flag);
    if (want < 0 || got == want) continue;
    print_error("%s is %d, the kernel says %d\n", kernel_names[i].name, got, want);
    bad++;
  }
  assert_int_equal(bad, 0);
}

static void features_are_known_by_name(void **state) {
  (void)state;
  assert_int_equal(wick_cpu_has("no-such-feature"), -1);
  assert_int_equal(wick_cpu_has(NULL), -1);
#if defined(__x86_64__)
  assert_int_equal(wick_cpu_has("sse2"), 1);
  assert_int_equal(wick_cpu_has("avx2"), __builtin_cpu_supports("avx2") != 0);
  assert_int_equal(wick_cpu_has("fma"), __builtin_cpu_supports("fma") != 0);
  assert_int_equal(wick_cpu_has("avx512vl"), __builtin_cpu_supports("avx512vl") != 0);
  assert_int_equal(wick_cpu_has("avx512vnni"), __builtin_cpu_supports("avx512vnni") != 0);
  char missing[16];
  assert_true(wick_cpu_require("sse sse2", missing, sizeof missing));
  assert_false(wick_cpu_require("sse2 unheard-of-thing sse", missing, sizeof missing));
  assert_string_equal(missing, "unheard-of-thin");
#endif
}

/* ---- pool ---- */

enum { MAX_N = 10000 };

typedef struct {
  _Atomic uint32_t visits[MAX_N];
  _Atomic int64_t sum;
  _Atomic int overlaps;
  int64_t n, grain;
  uint32_t threads;
  char *scratch;
} pool_job;

/* The first word of a scratch tells whether its thread is at work in it. */
static void visit(void *ctx, int64_t begin, int64_t end, void *scratch) {
  pool_job *job = ctx;
  _Atomic uint32_t *in_use = scratch;
  if (atomic_exchange(in_use, 1)) atomic_fetch_add(&job->overlaps, 1);
  if (begin >= end || begin < 0 || end > job->n ||
      (end - begin > job->grain && end - begin != job->n))
    atomic_fetch_add(&job->overlaps, 1);
  int64_t sum = 0;
  for (int64_t i = begin; i < end; i++) {
    atomic_fetch_add_explicit(&job->visits[i], 1, memory_order_relaxed);
    sum += i;
  }
  atomic_fetch_add(&job->sum, sum);
  atomic_store(in_use, 0);
}

static void pool_visits_each_index_once(void **state) {
  (void)state;
  static const int64_t sizes[] = {1, 2, 7, 64, 1000, MAX_N}, grains[] = {0, 1, 3, 100, MAX_N};
  pool_job *job = calloc(1, sizeof *job);
  for (uint32_t threads = 1; threads <= 8; threads++) {
    char *scratch = calloc(threads, 64);
    wick_pool *pool;
    assert_int_equal(wick_pool_create(threads, scratch, 64, &pool), WICK_OK);
    for (size_t s = 0; s < WK_COUNTOF(sizes); s++)
      for (size_t g = 0; g < WK_COUNTOF(grains); g++) {
        memset(job, 0, sizeof *job);
        job->n = sizes[s];
        job->grain = grains[g] < 1 ? 1 : grains[g];
        wick_pool_run(pool, visit, job, job->n, grains[g]);
        assert_int_equal(job->sum, job->n * (job->n - 1) / 2);
        assert_int_equal(job->overlaps, 0);
        for (int64_t i = 0; i < job->n; i++) assert_int_equal(job->visits[i], 1);
      }
    wick_pool_run(pool, visit, job, 0, 1);
    wick_pool_run(pool, visit, job, -5, 1);
    wick_pool_free(pool);
    free(scratch);
  }
  free(job);
}

static void add_up(void *ctx, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  int64_t *cells = ctx;
  for (int64_t i = begin; i < end; i++) cells[i] += i;
}

/* Plain memory: the pool itself must order what one job writes and the next one reads. */
static void many_small_jobs_follow_each_other(void **state) {
  (void)state;
  enum { CELLS = 24, JOBS = 5000 };
  for (uint32_t threads = 2; threads <= 8; threads += 3) {
    int64_t cells[CELLS] = {0};
    wick_pool *pool;
    assert_int_equal(wick_pool_create(threads, NULL, 0, &pool), WICK_OK);
    for (int j = 0; j < JOBS; j++) {
      wick_pool_run(pool, add_up, cells, CELLS, 1 + j % 5);
      if (j % 1000 == 0) usleep(300); /* long enough for the workers to fall asleep */
    }
    wick_pool_free(pool);
    for (int i = 0; i < CELLS; i++) assert_int_equal(cells[i], (int64_t)i * JOBS);
  }
}

static void uneven(void *ctx, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  for (int64_t i = begin; i < end; i++) {
    if (i == 0) usleep(2000); /* the others take over what this thread leaves */
    atomic_fetch_add((_Atomic int64_t *)ctx, 1);
  }
}

static void pool_shares_out_uneven_work(void **state) {
  (void)state;
  wick_pool *pool;
  assert_int_equal(wick_pool_create(4, NULL, 0, &pool), WICK_OK);
  for (int j = 0; j < 20; j++) {
    _Atomic int64_t count = 0;
    wick_pool_run(pool, uneven, &count, 400, 1);
    assert_int_equal(count, 400);
  }
  wick_pool_free(pool);
}

/* Waits until the other task of the job has begun, too, for some seconds at most. */
static void meet(void *ctx, int64_t begin, int64_t end, void *scratch) {
  _Atomic int *arrived = ctx;
  struct timespec now, until;
  (void)begin, (void)end, (void)scratch;
  atomic_fetch_add(arrived, 1);
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += 20;
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while (atomic_load(arrived) < 2 && now.tv_sec < until.tv_sec);
  if (atomic_load(arrived) < 2) atomic_store(arrived, -10);
}

/* Job after job, both threads are at work at the same time. */
static void pool_works_in_parallel(void **state) {
  (void)state;
  wick_pool *pool;
  assert_int_equal(wick_pool_create(2, NULL, 0, &pool), WICK_OK);
  for (int j = 0; j < 5; j++) {
    _Atomic int arrived = 0;
    wick_pool_run(pool, meet, &arrived, 2, 1);
    assert_int_equal(arrived, 2);
  }
  wick_pool_free(pool);
}

static void pool_refuses_silly_sizes_and_dies_unused(void **state) {
  (void)state;
  wick_pool *pool;
  assert_int_equal(wick_pool_create(0, NULL, 0, &pool), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_pool_create(WICK_MAX_THREADS + 1, NULL, 0, &pool), WICK_BAD_ARGUMENT);
  for (int i = 0; i < 20; i++) {
    assert_int_equal(wick_pool_create(3, NULL, 0, &pool), WICK_OK);
    wick_pool_free(pool);
  }
  wick_pool_free(NULL);
}

/* ---- a model ---- */

typedef struct {
  void *data;
  size_t size;
  wick_model *model;
} fixture;

static int load_tiny(void **state) {
  fixture *f = calloc(1, sizeof *f);
  wk_package *p = tiny_package("");
  wk_status s = wk_package_bytes(p, &f->data, &f->size);
  wk_package_free(p);
  *state = f;
  return s || wick_model_load_memory(f->data, f->size, NULL, &f->model) != WICK_OK;
}

static int free_tiny(void **state) {
  fixture *f = *state;
  wick_model_free(f->model);
  free(f->data);
  free(f);
  return 0;
}

static void model_says_what_it_is(void **state) {
  const wick_model *model = ((fixture *)*state)->model;
  const wick_model_info *info = wick_model_describe(model);
  assert_string_equal(info->name, "tiny");
  assert_string_equal(info->compiler, "wick test");
  assert_string_equal(info->flags, "--target cpu");
  assert_int_equal(info->unit_count, 1);
  assert_string_equal(info->units[0].target, "cpu");
  assert_string_equal(info->units[0].spec, "any");
  assert_string_equal(info->units[0].features, "");
  assert_int_equal(info->units[0].part_count, 3);
  assert_true(info->input_hash == 0x0123456789abcdef);
  assert_int_equal(info->file_bytes, ((fixture *)*state)->size);
  assert_int_equal(info->section_count, WICK_TABLE_COUNT + 2);
  assert_string_equal(info->sections[WICK_TABLE_COUNT].name, "CODE");
  assert_int_equal(info->sections[WICK_TABLE_COUNT].unit, 0);
  assert_int_equal(info->sections[WICK_TABLE_COUNT].bytes, sizeof tiny_code);
  assert_int_equal(info->state_count, 0);
  assert_int_equal(info->entry_count, 3);
  assert_null(wick_model_entry(model, 3));
  const wick_entry_info *e = wick_model_entry(model, 0);
  assert_int_equal(e->input_count, 1);
  assert_string_equal(e->inputs[0].name, "x");
  assert_int_equal(e->inputs[0].dtype, WICK_F32);
  assert_int_equal(e->inputs[0].rank, 1);
  assert_int_equal(e->inputs[0].dims[0], 4);
  assert_int_equal(e->output_count, 2);
  assert_string_equal(e->outputs[1].name, "i");
  assert_int_equal(e->outputs[1].bytes, 4 * TINY_N);
  assert_int_equal(e->step_count, 3);
  assert_string_equal(e->steps[1].node, "node_mul");
  assert_string_equal(e->steps[1].op, "map");
  assert_int_equal(e->steps[1].macs, 4);
  assert_int_equal(e->arena_bytes, 16);
  assert_int_equal(e->part_count, 1);
  assert_string_equal(e->parts[0]->target, "cpu");
  assert_string_equal(e->parts[0]->name, "all");
  assert_ptr_equal(e->parts[0]->steps, e->steps);
  assert_int_equal(e->steps[0].tensor_count, 1);
  assert_string_equal(e->steps[0].tensors[0].name, "a");
  assert_int_equal(e->edge_count, 0);
}

static void entries_are_found_by_shape(void **state) {
  const wick_model *model = ((fixture *)*state)->model;
  uint32_t index = 99;
  assert_int_equal(wick_model_find_entry(model, &(wick_shape){1, {4}}, 1, &index), WICK_OK);
  assert_int_equal(index, 0);
  assert_int_equal(wick_model_find_entry(model, &(wick_shape){2, {2, 2}}, 1, &index), WICK_OK);
  assert_int_equal(index, 1);
  assert_int_equal(wick_model_find_entry(model, NULL, 0, &index), WICK_OK);
  assert_int_equal(index, 2);
  assert_int_equal(wick_model_find_entry(model, &(wick_shape){2, {2, 3}}, 1, &index),
                   WICK_NO_ENTRY);
  assert_int_equal(wick_model_find_entry(model, &(wick_shape){9, {4}}, 1, &index), WICK_NO_ENTRY);
  assert_int_equal(wick_model_find_entry(model, NULL, 1, &index), WICK_BAD_ARGUMENT);
}

static void bad_arguments_are_refused(void **state) {
  const wick_model *model = ((fixture *)*state)->model;
  wick_model *other;
  wick_session *s;
  wick_error_detail detail;
  const wick_load_options options = {.size = sizeof options, .detail = &detail};
  assert_int_equal(wick_model_load(NULL, NULL, &other), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_model_load_memory(NULL, 5, NULL, &other), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_model_load("/nonexistent/x", &options, &other), WICK_CANNOT_READ);
  assert_string_equal(detail.text, "/nonexistent/x: No such file or directory");
  assert_int_equal(wick_model_load("/tmp", &options, &other), WICK_CANNOT_READ);
  assert_string_equal(detail.text, "/tmp: not a regular file");
  assert_int_equal(wick_session_create(NULL, 0, 1, &s), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_create(model, 3, 1, &s), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_create(model, 0, WICK_MAX_THREADS + 1, &s), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_create(model, 0, 1, &s), WICK_OK);
  float x[5] = {0}, y[4];
  int32_t i[TINY_N];
  const void *inputs[] = {x}, *unaligned[] = {(const char *)x + 1}, *absent[] = {NULL};
  void *outputs[] = {y, i}, *no_output[] = {y, NULL};
  assert_int_equal(wick_session_run(NULL, inputs, outputs), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run(s, NULL, outputs), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run(s, unaligned, outputs), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run(s, absent, outputs), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run(s, inputs, no_output), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run_profiled(s, inputs, outputs, NULL), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run_observed(s, inputs, outputs, NULL, NULL), WICK_BAD_ARGUMENT);
  wick_session_free(s);
  wick_session_free(NULL);
  wick_model_free(NULL);
}

/* ---- running it: the code in the package is x86-64 ---- */

#if defined(__x86_64__)

static void check_results(const float *x, const float *y, const int32_t *i) {
  for (int k = 0; k < 4; k++) {
    float sum = x[k] + tiny_consts[k];
    assert_true(y[k] == sum * sum);
  }
  for (int k = 0; k < TINY_N; k++) assert_int_equal(i[k], k);
}

static void run_once(const wick_model *model, uint32_t entry, uint32_t threads) {
  wick_session *s;
  float x[4] = {1, 2, 3, (float)threads}, y[4] = {0};
  int32_t i[TINY_N] = {0};
  const void *inputs[] = {x};
  void *outputs[] = {y, i};
  assert_int_equal(wick_session_create(model, entry, threads, &s), WICK_OK);
  if (threads) assert_int_equal(wick_session_threads(s), threads);
  assert_true(wick_session_threads(s) >= 1);
  assert_ptr_equal(wick_session_entry(s), wick_model_entry(model, entry));
  for (int repeat = 0; repeat < 3; repeat++) {
    memset(i, 0, sizeof i);
    assert_int_equal(wick_session_run(s, inputs, outputs), WICK_OK);
    check_results(x, y, i);
  }
  wick_session_free(s);
}

static void any_thread_count_gives_the_result(void **state) {
  for (uint32_t threads = 0; threads <= 8; threads++)
    run_once(((fixture *)*state)->model, threads % 2, threads);
}

static void *run_often(void *arg) {
  wick_session *s;
  float x[4] = {1, 2, 3, 4}, y[4];
  int32_t i[TINY_N];
  const void *inputs[] = {x};
  void *outputs[] = {y, i};
  if (wick_session_create(arg, 0, 2, &s) != WICK_OK) return "cannot create";
  const char *error = NULL;
  for (int k = 0; k < 200 && !error; k++) {
    x[0] = (float)k;
    if (wick_session_run(s, inputs, outputs) != WICK_OK) error = "cannot run";
    if (y[0] != (x[0] + tiny_consts[0]) * (x[0] + tiny_consts[0]) || i[TINY_N - 1] != TINY_N - 1)
      error = "wrong result";
  }
  wick_session_free(s);
  return (void *)(uintptr_t)error;
}

static void sessions_of_a_model_run_at_the_same_time(void **state) {
  pthread_t threads[4];
  for (int t = 0; t < 4; t++)
    assert_int_equal(pthread_create(&threads[t], NULL, run_often, ((fixture *)*state)->model), 0);
  for (int t = 0; t < 4; t++) {
    void *error;
    pthread_join(threads[t], &error);
    if (error) fail_msg("%s", (const char *)error);
  }
}

static void profile_counts_every_step(void **state) {
  wick_session *s;
  float x[4] = {1, 2, 3, 4}, y[4];
  int32_t i[TINY_N];
  const void *inputs[] = {x};
  void *outputs[] = {y, i};
  wick_step_profile profile[3] = {{0, 0}};
  assert_int_equal(wick_session_create(((fixture *)*state)->model, 0, 2, &s), WICK_OK);
  for (int k = 0; k < 5; k++)
    assert_int_equal(wick_session_run_profiled(s, inputs, outputs, profile), WICK_OK);
  check_results(x, y, i);
  assert_int_equal(wick_session_run(s, inputs, outputs), WICK_OK); /* which nobody counts */
  for (int k = 0; k < 3; k++) assert_int_equal(profile[k].calls, 5);
  assert_true(profile[2].nanoseconds > 0);
  wick_session_free(s);
}

/* After step 0 the arena holds x + c; the observer replaces it. */
static void replace(void *user, uint32_t step, int after, void *arena) {
  int *calls = user;
  assert_int_equal(*calls, 2 * (int)step + after);
  ++*calls;
  if (step != 0 || !after) return;
  const float seen[4] = {1.5f, 1, 5, 104}, other[4] = {10, 20, 30, 40};
  assert_memory_equal(arena, seen, sizeof seen);
  memcpy(arena, other, sizeof other);
}

static void observer_sees_and_changes_the_arena(void **state) {
  wick_session *s;
  float x[4] = {1, 2, 3, 4}, y[4];
  int32_t i[TINY_N];
  const void *inputs[] = {x};
  void *outputs[] = {y, i};
  int calls = 0;
  assert_int_equal(wick_session_create(((fixture *)*state)->model, 0, 1, &s), WICK_OK);
  assert_int_equal(wick_session_run_observed(s, inputs, outputs, replace, &calls), WICK_OK);
  assert_int_equal(calls, 6);
  for (int k = 0; k < 4; k++) assert_true(y[k] == (float)(100 * (k + 1) * (k + 1)));
  assert_int_equal(wick_session_run(s, inputs, outputs), WICK_OK); /* nobody looks any more */
  assert_int_equal(calls, 6);
  check_results(x, y, i);
  wick_session_free(s);
}

/* Dense, whatever the strides: the second tensor is y[2], y[0]. */
static void read_steps(void *user, uint32_t step, int after, void *arena) {
  wick_session *s = user;
  float got[4] = {0};
  (void)arena;
  wick_status outside = wick_session_read_tensor(s, 2, 0, got, 16);
  assert_int_equal(outside, WICK_BAD_ARGUMENT);
  if (!after) assert_int_equal(wick_session_read_tensor(s, step, 0, got, 16), WICK_BAD_ARGUMENT);
  if (!after || step == 2) return;
  assert_int_equal(wick_session_read_tensor(s, step, 1, got, 16), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_read_tensor(s, step, 0, got, step ? 8 : 16), WICK_OK);
  if (step == 0) assert_memory_equal(got, ((float[]){1.5f, 1, 5, 104}), 16);
  else assert_memory_equal(got, ((float[]){25, 2.25f}), 8);
}

static void tensors_of_steps_are_read(void **state) {
  wick_session *s;
  float x[4] = {1, 2, 3, 4}, y[4];
  int32_t i[TINY_N];
  const void *inputs[] = {x};
  void *outputs[] = {y, i};
  assert_int_equal(wick_session_create(((fixture *)*state)->model, 0, 1, &s), WICK_OK);
  assert_int_equal(wick_session_read_tensor(s, 0, 0, y, 16), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run_observed(s, inputs, outputs, read_steps, s), WICK_OK);
  wick_session_free(s);
}

static void failing_entry_is_reported(void **state) {
  wick_session *s;
  wick_step_profile profile;
  assert_int_equal(wick_session_create(((fixture *)*state)->model, 2, 1, &s), WICK_OK);
  for (int k = 0; k < 2; k++) assert_int_equal(wick_session_run(s, NULL, NULL), WICK_RUN_FAILED);
  assert_int_equal(wick_session_entry(s)->has_steps, 0);
  assert_int_equal(wick_session_run_profiled(s, NULL, NULL, &profile), WICK_NO_STEPS);
  wick_session_free(s);
}

static void reenter(void *user, uint32_t step, int after, void *arena) {
  (void)step, (void)after, (void)arena;
  assert_int_equal(wick_session_run(user, (const void *const[]){NULL}, (void *[]){NULL, NULL}),
                   WICK_BUSY);
}

static void session_in_use_is_refused(void **state) {
  wick_session *s;
  float x[4] = {0}, y[4];
  int32_t i[TINY_N];
  assert_int_equal(wick_session_create(((fixture *)*state)->model, 0, 1, &s), WICK_OK);
  assert_int_equal(wick_session_run_observed(s, (const void *const[]){x}, (void *[]){y, i},
                                             reenter, s), WICK_OK);
  wick_session_free(s);
}

/* Weights that lie askew in memory are moved. */
static void unaligned_memory_is_fine(void **state) {
  const fixture *f = *state;
  for (size_t shift = 1; shift < 64; shift += 21) {
    uint8_t *shifted = malloc(f->size + shift);
    memcpy(shifted + shift, f->data, f->size);
    wick_model *model;
    assert_int_equal(wick_model_load_memory(shifted + shift, f->size, NULL, &model), WICK_OK);
    run_once(model, 0, 2);
    wick_model_free(model);
    free(shifted);
  }
}

static wick_model *load_from_file(const fixture *f, uint32_t flags, wick_error_detail *detail) {
  char path[] = "/tmp/wick-test-XXXXXX";
  wick_model *model = NULL;
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, f->data, f->size), f->size);
  close(fd);
  const wick_load_options options = {.size = sizeof options, .flags = flags, .detail = detail};
  assert_int_equal(wick_model_load(path, &options, &model), WICK_OK);
  unlink(path);
  return model;
}

static const uint8_t *code_of(const wick_model *model) {
  return ((const wick_cpu_unit *)model->units[0].loaded)->code;
}

static void file_is_run_where_it_is_mapped(void **state) {
  wick_error_detail detail;
  for (uint32_t flags = 0; flags <= WICK_LOAD_UNCHECKED; flags++) {
    wick_model *model = load_from_file(*state, flags, &detail);
    assert_string_equal(detail.text, "");
    assert_ptr_equal(code_of(model), (uint8_t *)model->file_map +
                                         model->info.sections[WICK_TABLE_COUNT].offset);
    run_once(model, 0, 2);
    wick_model_free(model);
  }
}

static void perf_map_names_every_function(void **state) {
  char path[64], line[128], name[64];
  snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
  unlink(path);
  wick_model *model = load_from_file(*state, WICK_LOAD_PERF_MAP, NULL);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  unsigned long address, size;
  int lines = 0;
  for (; fgets(line, sizeof line, file); lines++) {
    assert_int_equal(sscanf(line, "%lx %lx %63s", &address, &size, name), 3);
    if (strcmp(name, "tiny/square") != 0) continue;
    assert_int_equal(address, (uintptr_t)code_of(model) + TINY_SQUARE);
    assert_int_equal(size, TINY_COUNT - TINY_SQUARE);
  }
  assert_int_equal(lines, 4);
  fclose(file);
  unlink(path);
  run_once(model, 0, 1);
  wick_model_free(model);

  assert_int_equal(symlink("/tmp/elsewhere", path), 0);
  wick_error_detail detail;
  const fixture *f = *state;
  const wick_load_options options = {.size = sizeof options, .flags = WICK_LOAD_PERF_MAP,
                                     .detail = &detail};
  assert_int_equal(wick_model_load_memory(f->data, f->size, &options, &model), WICK_CANNOT_WRITE);
  unlink(path);
}

/* What gdb would read: the image's symbol table. */
static void gdb_image_names_every_function(void **state) {
  wick_model *a = load_from_file(*state, WICK_LOAD_GDB, NULL);
  wick_model *b = load_from_file(*state, WICK_LOAD_GDB, NULL);
  assert_int_equal(__jit_debug_descriptor.version, 1);
  const char *image = __jit_debug_descriptor.first->image;
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + header->e_shoff);
  assert_memory_equal(header->e_ident, ELFMAG, SELFMAG);
  assert_true(sections[1].sh_addr == (uintptr_t)code_of(b));
  assert_int_equal(sections[2].sh_type, SHT_SYMTAB);
  assert_int_equal(sections[2].sh_size / sections[2].sh_entsize, 5);
  const Elf64_Sym *symbol = (const Elf64_Sym *)(image + sections[2].sh_offset) + 2;
  assert_string_equal(image + sections[sections[2].sh_link].sh_offset + symbol->st_name,
                      "tiny/add");
  assert_int_equal(symbol->st_value, TINY_ADD);
  wick_model_free(a);
  assert_non_null(__jit_debug_descriptor.first);
  wick_model_free(b);
  assert_null(__jit_debug_descriptor.first);
}

#endif

#define MODEL_TEST(f) cmocka_unit_test_setup_teardown(f, load_tiny, free_tiny)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(crc_agrees_with_the_definition),
      cmocka_unit_test(every_status_and_dtype_has_a_text),
      cmocka_unit_test(features_are_known_by_name),
      cmocka_unit_test(features_are_those_of_the_processor),
      cmocka_unit_test(pool_visits_each_index_once),
      cmocka_unit_test(many_small_jobs_follow_each_other),
      cmocka_unit_test(pool_shares_out_uneven_work),
      cmocka_unit_test(pool_works_in_parallel),
      cmocka_unit_test(pool_refuses_silly_sizes_and_dies_unused),
      MODEL_TEST(model_says_what_it_is),
      MODEL_TEST(entries_are_found_by_shape),
      MODEL_TEST(bad_arguments_are_refused),
#if defined(__x86_64__)
      MODEL_TEST(any_thread_count_gives_the_result),
      MODEL_TEST(sessions_of_a_model_run_at_the_same_time),
      MODEL_TEST(profile_counts_every_step),
      MODEL_TEST(observer_sees_and_changes_the_arena),
      MODEL_TEST(tensors_of_steps_are_read),
      MODEL_TEST(failing_entry_is_reported),
      MODEL_TEST(session_in_use_is_refused),
      MODEL_TEST(unaligned_memory_is_fine),
      MODEL_TEST(file_is_run_where_it_is_mapped),
      MODEL_TEST(perf_map_names_every_function),
      MODEL_TEST(gdb_image_names_every_function),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
