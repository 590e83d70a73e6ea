/* SPDX-License-Identifier: Apache-2.0 */
/* Measures segment_reduce on tables that are larger than the caches, with random indices, against
 * what memory gives: in order (`stream`: the table from end to end) and in rows of the same size at
 * the same random places (`rows`: a byte of every line is read, and lines are prefetched into level
 * 2 as many rows ahead as is best of a few distances, named at the end). All three run in turn in
 * the same windows, each of which reads other rows; figures are medians over the windows, shares
 * those of the ratios in a window. With two threads each has half of the bags, and the slower one
 * counts. Time is thread CPU time, so that neighbours on the machine disturb little.
 *
 * Bytes are those of rows, with the scale and bias behind quantised ones.
 * Usage: bench_lookups [--cpu NAME] [--table MiB] [--bag ROWS] [--windows N] [--pages small|huge]
 */
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "tests/kernel_harness.h"

enum { MAX_THREADS = 2, LINE = 64, WINDOW = 24 << 20, WORDS = 8 };

typedef struct {
  const wk_simd *simd;
  int64_t table, bag, windows;
  bool huge;
} options;

/* Rows of one form and size, and the kernel that reads them. */
typedef struct {
  const char *name;
  wk_cpu_segment_desc d;
  int64_t bags; /* of a window */
  kh_task task;
  char *data;
  int32_t *indices; /* of all windows */
  int64_t *offsets; /* of one */
  float *y;
} lookup;

typedef enum { STREAM, ROWS, REDUCE, WHATS } what;

typedef struct {
  const lookup *l;
  what what;
  int64_t window, first, end; /* bags, or bytes of the table */
  int ahead;
  double seconds;
  uint64_t sum;
} job;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what memory gives ----------------------------------------------------------------------- */

typedef uint64_t words __attribute__((vector_size(LINE)));

static uint64_t read_stream(const char *p, int64_t n) {
  words sum[4] = {{0}};
  for (int64_t i = 0; i + 4 * LINE <= n; i += 4 * LINE)
    for (int k = 0; k < 4; k++) sum[k] ^= *(const words *)(const void *)(p + i + k * LINE);
  sum[0] ^= sum[1] ^ sum[2] ^ sum[3];
  uint64_t all = 0;
  for (int k = 0; k < WORDS; k++) all ^= sum[0][k];
  return all;
}

static inline __attribute__((always_inline)) uint64_t read_rows_of(const job *j, const int32_t *at,
                                                                   const int64_t row) {
  const lookup *l = j->l;
  int64_t n = j->end - j->first;
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; i++) {
    const char *then = l->data + at[i + j->ahead < n ? i + j->ahead : n - 1] * row;
    const char *here = l->data + at[i] * row;
    for (int64_t k = 0; k < row; k += LINE) __builtin_prefetch(then + k, 0, 2);
    if (row % LINE) __builtin_prefetch(then + row - 1, 0, 2);
    for (int64_t k = 0; k < row; k += LINE) sum += (unsigned char)here[k];
    if (row % LINE) sum += (unsigned char)here[row - 1];
  }
  return sum;
}

/* As code for each size of a row, as the kernel is. */
static uint64_t read_rows(const job *j, const int32_t *at) {
  switch (j->l->d.data_row) {
#define SIZE(n) case n: return read_rows_of(j, at, n);
    SIZE(64) SIZE(68) SIZE(72) SIZE(128) SIZE(132) SIZE(136) SIZE(256) SIZE(264) SIZE(512)
#undef SIZE
    default: return read_rows_of(j, at, j->l->d.data_row);
  }
}

static void *work(void *arg) {
  job *j = arg;
  const lookup *l = j->l;
  const int32_t *at = l->indices + j->window * l->d.n;
  double t = now();
  if (j->what == STREAM) {
    j->sum += read_stream(l->data + j->first, j->end - j->first);
  } else if (j->what == ROWS) {
    at += j->first;
    j->sum += read_rows(j, at);
  } else {
    uint64_t error = 0;
    void *const args[] = {l->y, l->data, l->offsets, (void *)(uintptr_t)at, NULL, NULL, NULL,
                          &error};
    l->task(args, NULL, j->first, j->end);
    if (error) exit(1);
  }
  j->seconds = now() - t;
  return NULL;
}

/* Seconds of the slowest of so many threads. */
static double run(const job *like, int64_t n, int threads) {
  job jobs[MAX_THREADS];
  pthread_t ids[MAX_THREADS];
  double most = 0;
  for (int t = 0; t < threads; t++) {
    jobs[t] = *like;
    jobs[t].first = like->first + n * t / threads;
    jobs[t].end = like->first + n * (t + 1) / threads;
    if (threads > 1 && pthread_create(&ids[t], NULL, work, &jobs[t])) exit(1);
    if (threads == 1) work(&jobs[t]);
  }
  for (int t = 0; t < threads; t++) {
    if (threads > 1) pthread_join(ids[t], NULL);
    if (jobs[t].seconds > most) most = jobs[t].seconds;
  }
  return most;
}

/* ---- measuring ------------------------------------------------------------------------------- */

typedef struct {
  double rate[WHATS]; /* bytes a second */
} window;

static double rate_of(job *j, what w, int64_t first, int64_t n, double bytes, int threads) {
  j->what = w;
  j->first = first;
  double seconds = run(j, n, threads);
  return seconds > 0 ? bytes / seconds : 0;
}

/* The distance that reads rows fastest. */
static void choose_prefetch(const lookup *l, int threads, job *out) {
  static const int aheads[] = {12, 24, 64, 96};
  double most = 0, bytes = (double)l->d.n * (double)l->d.data_row;
  for (int k = 0; k < 8; k++) {
    job j = {.l = l, .window = k, .ahead = aheads[k % 4]};
    double rate = rate_of(&j, ROWS, 0, l->d.n, bytes, threads);
    if (rate > most) *out = j;
    if (rate > most) most = rate;
  }
}

static window measure_window(const lookup *l, const options *o, int64_t w, int threads,
                             const job *chosen) {
  window y;
  double bytes = (double)l->d.n * (double)l->d.data_row;
  job j = *chosen;
  j.window = w;
  y.rate[STREAM] = rate_of(&j, STREAM, w * WINDOW % (o->table - WINDOW), WINDOW, WINDOW, threads);
  y.rate[ROWS] = rate_of(&j, ROWS, 0, l->d.n, bytes, threads);
  j.window = (w + o->windows / 2) % o->windows;
  y.rate[REDUCE] = rate_of(&j, REDUCE, 0, l->bags, bytes, threads);
  return y;
}

static int by_number(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median over the windows of the rate p, or of its share of the rate q. */
static double median(const window *w, int64_t n, what p, int q) {
  double *v = wk_xmalloc((size_t)n * sizeof *v);
  for (int64_t k = 0; k < n; k++) v[k] = q < 0 ? w[k].rate[p] / 1e9 : w[k].rate[p] / w[k].rate[q];
  qsort(v, (size_t)n, sizeof *v, by_number);
  double y = v[n / 2];
  free(v);
  return y;
}

static void measure(const lookup *l, const options *o) {
  window *w = wk_xmalloc((size_t)o->windows * sizeof *w);
  for (int threads = 1; threads <= MAX_THREADS; threads++) {
    job chosen = {0};
    choose_prefetch(l, threads, &chosen);
    for (int64_t k = 0; k < o->windows; k++) w[k] = measure_window(l, o, k, threads, &chosen);
    printf("%-6s %6lld %8d", l->name, (long long)l->d.data_row, threads);
    for (int k = 0; k < WHATS; k++) printf(" %9.2f", median(w, o->windows, WHATS - 1 - k, -1));
    for (int k = ROWS; k >= STREAM; k--) printf(" %9.2f", median(w, o->windows, REDUCE, k));
    printf("   %d rows ahead\n", chosen.ahead);
    fflush(stdout);
  }
  free(w);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Numbers of a row and the bytes behind them that make it `bytes` long. */
static void describe(lookup *l, const options *o, const char *form, int64_t bytes) {
  wk_cpu_segment_desc *d = &l->d;
  memset(d, 0, sizeof *d);
  d->rows = wk_segment_rows_of(form);
  d->data = d->rows.bits ? WK_U8 : WK_F32;
  d->offset = WK_I64;
  d->index = WK_I32;
  d->to = WK_F32;
  d->data_row = bytes + 2 * d->rows.tail;
  d->columns = d->data_row / wk_dtype_size(d->data);
  d->n_rows = o->table / d->data_row;
  l->bags = WINDOW / d->data_row / o->bag;
  d->segments = l->bags;
  d->n = l->bags * o->bag;
  d->padding = -1;
  d->y_row = wk_segment_width(&d->rows, d->columns) * 4;
  d->offset_step = 8;
  d->index_step = 4;
}

static void fill(lookup *l, const options *o, char *data) {
  wk_rng r = {1};
  int64_t n = l->d.n * o->windows;
  l->data = data;
  l->indices = kh_alloc(n * 4);
  l->offsets = kh_alloc((l->bags + 1) * 8);
  l->y = kh_alloc(l->bags * l->d.y_row);
  for (int64_t i = 0; i < n; i++) l->indices[i] = (int32_t)wk_rng_range(&r, 0, l->d.n_rows - 1);
  for (int64_t i = 0; i <= l->bags; i++) l->offsets[i] = i * o->bag;
  memset(l->y, 0, (size_t)(l->bags * l->d.y_row));
}

static void measure_form(const options *o, char *data, const char *name, const char *form,
                         int64_t bytes) {
  lookup l = {.name = name};
  kh_module m;
  wk_cpu_kernel kernel;
  size_t length;
  void *p;
  LLVMMemoryBufferRef object;
  describe(&l, o, form, bytes);
  kh_module_init(&m, o->simd);
  wk_cpu_segment_codegen(&m.e, &l.d, &kernel);
  LLVMSetLinkage(kernel.task, LLVMExternalLinkage);
  kh_check(wk_object_emit(m.e.simd, m.e.mod, LLVMObjectFile, &object));
  kh_check(wk_jit_load(object, &m.jit));
  kh_check(wk_jit_find(m.jit, LLVMGetValueName2(kernel.task, &length), &p));
  memcpy(&l.task, &p, sizeof p);
  fill(&l, o, data);
  measure(&l, o);
  kh_free(l.indices, l.d.n * o->windows * 4);
  kh_free(l.offsets, (l.bags + 1) * 8);
  kh_free(l.y, l.bags * l.d.y_row);
  kh_module_free(&m);
}

/* Memory of small or huge pages. Every byte is 3c: about 1 as a float of 16 bits, 0.01 of 32. */
static char *make_table(const options *o) {
  const int access = PROT_READ | PROT_WRITE;
  char *p = mmap(NULL, (size_t)o->table, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) exit(1);
  madvise(p, (size_t)o->table, o->huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  memset(p, 0x3c, (size_t)o->table);
  return p;
}

int main(int argc, char **argv) {
  options o = {.table = 1024, .bag = 32, .windows = 24, .huge = true};
  const char *cpu = "native";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--cpu")) cpu = argv[i + 1];
    if (!strcmp(argv[i], "--table")) o.table = atoll(argv[i + 1]);
    if (!strcmp(argv[i], "--bag")) o.bag = atoll(argv[i + 1]);
    if (!strcmp(argv[i], "--windows")) o.windows = atoll(argv[i + 1]);
    if (!strcmp(argv[i], "--pages")) o.huge = !strcmp(argv[i + 1], "huge");
  }
  if (o.windows < 8) o.windows = 8;
  if (o.bag < 1 || o.bag > 1000) o.bag = 32;
  o.table = (o.table < 64 ? 64 : o.table) << 20;
  kh_check(wk_simd_find(cpu, &o.simd));
  char *data = make_table(&o);
  printf("a table of %lld MiB in %s pages, bags of %lld rows, %s; GB/s\n", (long long)o.table >> 20,
         o.huge ? "huge" : "small", (long long)o.bag, o.simd->name);
  printf("%-6s %6s %8s %9s %9s %9s %9s %9s\n", "rows", "bytes", "threads", "reduce", "rows",
         "stream", "of rows", "of stream");
  for (int64_t bytes = 64; bytes <= 512; bytes *= 2) measure_form(&o, data, "f32", "plain", bytes);
  for (int64_t bytes = 64; bytes <= 256; bytes *= 2)
    measure_form(&o, data, "8-bit", "fused8", bytes);
  for (int64_t bytes = 64; bytes <= 128; bytes *= 2)
    measure_form(&o, data, "4-bit", "fused4", bytes);
  munmap(data, (size_t)o.table);
  return 0;
}
