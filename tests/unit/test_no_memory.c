/* SPDX-License-Identifier: Apache-2.0
 * Load, session and run where memory runs out, on every device: each allocation in turn fails, it
 * alone or with all that follow. That is a status or does not matter, nothing is left behind, and
 * the next try goes well. What ended the process would end this test. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/internal.h"

/* The C library's own, behind the names that are taken here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

/* What the driver allocates is the driver's. */
#define malloc __libc_malloc
#define calloc __libc_calloc
#define free __libc_free
#include "tests/unit/opencl_fake_program.h"
#undef malloc
#undef calloc
#undef free
#include "sim/device.h"
#include "tests/accel_package.h"
#include "tests/accel_streams.h"
#include "tests/unit/opencl_entries.h"
#include "tests/unit/opencl_fixture.h"
#include "tests/unit/tiny_package.h"

/* ---- memory that runs out -------------------------------------------------------------------- */

static atomic_long live;     /* blocks and mappings */
static atomic_long attempts; /* since `begin` */
static atomic_long fails_at; /* the attempt that fails; 0: none */
static atomic_bool stays;    /* and all after it */

static bool fails(void) {
  long n = atomic_fetch_add(&attempts, 1) + 1, at = atomic_load(&fails_at);
  if (at == 0 || n < at || (n > at && !atomic_load(&stays))) return false;
  errno = ENOMEM;
  return true;
}

static void *noted(void *p) {
  if (p) atomic_fetch_add(&live, 1);
  return p;
}

void *malloc(size_t size) { return fails() ? NULL : noted(__libc_malloc(size)); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : noted(__libc_calloc(n, size)); }

void *realloc(void *p, size_t size) {
  if (fails()) return NULL;
  void *q = __libc_realloc(p, size);
  return p ? q : noted(q);
}

void *aligned_alloc(size_t align, size_t size) {
  return fails() ? NULL : noted(__libc_memalign(align, size));
}

void free(void *p) {
  if (p) atomic_fetch_sub(&live, 1);
  __libc_free(p);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
  if (fails()) return MAP_FAILED;
  void *p = (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
  if (p != MAP_FAILED) atomic_fetch_add(&live, 1);
  return p;
}

int munmap(void *p, size_t size) {
  atomic_fetch_sub(&live, 1);
  return (int)syscall(SYS_munmap, p, size);
}

static void begin(long at) {
  atomic_store(&attempts, 0);
  atomic_store(&fails_at, at);
}

/* ---- from the file to the result ------------------------------------------------------------- */

enum { MOST_IO = 4, MOST_STEPS = 16, BYTES = 8192 };

typedef struct {
  const char *name, *path; /* path NULL: from memory */
  const void *data;
  size_t size;
  uint32_t threads;
  bool is_verified, keeps_nothing;
  uint8_t *in[MOST_IO], *out[MOST_IO], *want[MOST_IO];
  uint32_t n_in, n_out;
} scenario;

static wick_status agree(void *user, const wick_piece *pieces, uint32_t count,
                         wick_error_detail *detail) {
  (void)user, (void)pieces, (void)count, (void)detail;
  return WICK_OK;
}

typedef struct {
  wick_session *session;
  wick_status status;
} looking;

static void look(void *user, uint32_t step, int after, void *arena) {
  looking *x = user;
  uint8_t dense[BYTES];
  const wick_entry_info *e = wick_session_entry(x->session);
  (void)arena;
  if (!after || x->status != WICK_OK || !e->steps[step].tensor_count) return;
  size_t size = wick_tensor_dense_bytes(&e->steps[step].tensors[0]);
  if (size <= sizeof dense)
    x->status = wick_session_read_tensor(x->session, step, 0, dense, size);
}

static wick_status run_all(scenario *s, wick_session *session) {
  wick_step_profile profile[MOST_STEPS] = {{0}};
  const wick_entry_info *e = wick_session_entry(session);
  looking x = {.session = session};
  wick_status status = wick_session_run(session, (const void *const *)s->in, (void **)s->out);
  if (!e->has_steps || e->step_count > MOST_STEPS) return status;
  if (status == WICK_OK)
    status = wick_session_run_profiled(session, (const void *const *)s->in, (void **)s->out,
                                       profile);
  if (status == WICK_OK)
    status = wick_session_run_observed(session, (const void *const *)s->in, (void **)s->out, look,
                                       &x);
  if (status == WICK_NO_STEPS) status = WICK_OK; /* this model shows none */
  return status == WICK_OK ? x.status : status;
}

static wick_status attempt(scenario *s) {
  wick_error_detail why;
  wick_model *model;
  wick_session *session;
  const wick_load_options lo = {.size = sizeof lo, .detail = &why,
                                .verifier = s->is_verified ? agree : NULL};
  wick_status status = s->path ? wick_model_load(s->path, &lo, &model)
                               : wick_model_load_memory(s->data, s->size, &lo, &model);
  if (status != WICK_OK) return status;
  const wick_session_options so = {.size = sizeof so, .threads = s->threads, .detail = &why};
  status = wick_session_create_with(model, 0, &so, &session);
  if (status == WICK_OK) {
    status = run_all(s, session);
    wick_session_free(session);
  }
  wick_model_free(model);
  return status;
}

static void expect_results(const scenario *s, const char *when, long k) {
  for (uint32_t i = 0; i < s->n_out; i++)
    if (memcmp(s->out[i], s->want[i], BYTES))
      fail_msg("%s, %s %ld: output %u is another", s->name, when, k, i);
}

static void clear(const scenario *s) {
  for (uint32_t i = 0; i < s->n_out; i++) memset(s->out[i], 0, BYTES);
}

static bool is_told(wick_status status) {
  return status == WICK_OK || status == WICK_NO_MEMORY || status == WICK_NO_THREAD;
}

/* Until none is left to fail; how many there were. */
static long fail_each(scenario *s) {
  for (long k = 1;; k++) {
    long before = atomic_load(&live);
    clear(s);
    begin(k);
    wick_status status = attempt(s);
    atomic_store(&fails_at, 0);
    if (!is_told(status))
      fail_msg("%s, allocation %ld fails: %s", s->name, k, wick_status_text(status));
    if (s->keeps_nothing && atomic_load(&live) != before)
      fail_msg("%s, allocation %ld fails: %ld are left", s->name, k, atomic_load(&live) - before);
    if (status == WICK_OK) expect_results(s, "allocation", k);
    if (atomic_load(&attempts) < k) return k - 1;
    clear(s);
    if (attempt(s) != WICK_OK) fail_msg("%s: not even after allocation %ld", s->name, k);
    expect_results(s, "after", k);
  }
}

static void open_scenario(scenario *s) {
  for (uint32_t i = 0; i < MOST_IO; i++) {
    s->in[i] = aligned_alloc(4096, BYTES);
    s->out[i] = aligned_alloc(4096, BYTES);
    s->want[i] = aligned_alloc(4096, BYTES);
    for (int k = 0; k < BYTES; k++) s->in[i][k] = (uint8_t)(k * 7 + k / 256);
    memset(s->in[i], 0, 256);
  }
  clear(s);
}

static void close_scenario(scenario *s) {
  for (uint32_t i = 0; i < MOST_IO; i++) free(s->in[i]), free(s->out[i]), free(s->want[i]);
}

/* Until somebody has asked for them, devices are not known; they stay for the whole process. */
static void check_scenario(scenario *s, long least) {
  open_scenario(s);
  wick_status first;
  for (long k = 1; (begin(k), first = attempt(s)) != WICK_OK; k++)
    if (!is_told(first)) fail_msg("%s, first allocation %ld fails: %d", s->name, k, (int)first);
  begin(0);
  assert_int_equal(attempt(s), WICK_OK);
  for (uint32_t i = 0; i < s->n_out; i++) memcpy(s->want[i], s->out[i], BYTES);
  s->keeps_nothing = true;
  for (int k = 0; k < 2; k++) {
    atomic_store(&stays, k == 1);
    long n = fail_each(s);
    if (n < least) fail_msg("%s: %ld allocations", s->name, n);
  }
  atomic_store(&stays, false);
  close_scenario(s);
}

/* ---- devices --------------------------------------------------------------------------------- */

static void processor(void **state) {
  void *data;
  size_t size;
  char path[] = "/tmp/wick-no-memory-XXXXXX";
  wk_package *p = tiny_package("");
  (void)state;
  assert_null(wk_package_bytes(p, &data, &size));
  wk_package_free(p);
  int fd = mkstemp(path);
  assert_true(fd >= 0 && write(fd, data, size) == (ssize_t)size);
  close(fd);
  for (uint32_t k = 0; k < 8; k++) {
    scenario s = {.name = "processor", .path = k & 1 ? path : NULL, .data = data, .size = size,
                  .threads = k & 2 ? 3 : 1, .is_verified = k & 4, .n_in = 1, .n_out = 2};
    check_scenario(&s, 20);
  }
  unlink(path);
  free(data);
}

static void accelerator(void **state) {
  static const char *const texts[] = {accel_product, accel_copy};
  accel_unit_data unit = {.has_steps = true};
  wk_stream *streams[2];
  void *data;
  size_t size;
  (void)state;
  for (int i = 0; i < 2; i++)
    assert_null(wk_asm(texts[i], strlen(texts[i]), "test.s", NULL, NULL, &streams[i]));
  assert_null(accel_package_bytes(&unit, streams, 2, &data, &size));
  assert_int_equal(wick_device_register(wk_sim_device()), WICK_OK);
  for (int k = 0; k < 3; k++) {
    scenario s = {.name = k ? "timing" : "functional", .data = data, .size = size, .threads = 1,
                  .n_in = 1, .n_out = 1};
    wk_sim_device_configure(&(wk_sim_device_options){
        .model = k ? WK_SIM_TIMING : WK_SIM_FUNCTIONAL,
        .memory = k == 2 ? "traffic=1,latency=20" : NULL});
    check_scenario(&s, k ? 60 : 30);
  }
  wk_sim_device_configure(&(wk_sim_device_options){0});
  free(data);
  accel_unit_free(&unit);
  for (int i = 0; i < 2; i++) wk_stream_free(streams[i]);
}

static void opencl(void **state) {
  static ocl_plan plan;
  void *data;
  size_t size;
  (void)state;
  fake_reset();
  setenv("WICK_OPENCL", "fake", 1);
  make_cache();
  ocl_fill(&plan);
  wk_package *p = ocl_package(&plan);
  assert_null(wk_package_bytes(p, &data, &size));
  wk_package_free(p);
  for (int k = 0; k < 4; k++) { /* in the host's memory or not; with a cache or not */
    scenario s = {.name = "opencl", .data = data, .size = size, .threads = 1, .n_in = 2,
                  .n_out = 1};
    setenv("WICK_OPENCL_DEVICE", k & 1 ? "1" : "0", 1);
    setenv("WICK_OPENCL_CACHE", k & 2 ? "yes" : "no", 1);
    check_scenario(&s, 20);
    assert_int_equal(fake.live, 0);
  }
  remove_cache();
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(processor), cmocka_unit_test(accelerator),
                                     cmocka_unit_test(opencl)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
