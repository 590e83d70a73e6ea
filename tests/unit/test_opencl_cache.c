/* SPDX-License-Identifier: Apache-2.0
 * The cache of compiled OpenCL programs: files that are damaged, of something else or nowhere, and
 * processes that use it at the same time; and programs that do not compile. */
#include <sys/stat.h>
#include <sys/wait.h>

#include "runtime/opencl/cache.h"
#include "runtime/wick.h"
#include "tests/unit/opencl_fixture.h"

/* ---- a model that works ---------------------------------------------------------------------- */

static bool computes(const wick_model *m) {
  static _Alignas(64) float a[OCL_N], b[OCL_N], y[OCL_N];
  const void *inputs[] = {a, b};
  void *outputs[] = {y};
  wick_session *s;
  if (wick_session_create(m, OCL_SUM, 1, &s) != WICK_OK) return false;
  for (int i = 0; i < OCL_N; i++) a[i] = (float)i, b[i] = 1, y[i] = -1;
  bool ok = wick_session_run(s, inputs, outputs) == WICK_OK;
  for (int i = 0; i < OCL_N; i++) ok = ok && y[i] == (float)(i + 1 + (i < 24 ? i : 0));
  wick_session_free(s);
  return ok;
}

static void expect_works(void) {
  static ocl_plan plan;
  fixture f;
  ocl_fill(&plan);
  expect_load(&plan, &f);
  assert_true(computes(f.model));
  unload(&f);
}

/* ---- its file -------------------------------------------------------------------------------- */

/* The only file of the cache that ends so. */
static void find_file(const char *suffix, char *path, size_t size) {
  char folder[300];
  int n = 0;
  struct dirent *e;
  snprintf(folder, sizeof folder, "%s/opencl", own_cache);
  DIR *d = opendir(folder);
  assert_non_null(d);
  while ((e = readdir(d))) {
    size_t length = strlen(e->d_name), end = strlen(suffix);
    if (length < end || strcmp(e->d_name + length - end, suffix)) continue;
    assert_true(snprintf(path, size, "%s/%s", folder, e->d_name) < (int)size);
    n++;
  }
  closedir(d);
  assert_int_equal(n, 1);
}

static ino_t inode_of(const char *path) {
  struct stat s;
  assert_int_equal(stat(path, &s), 0);
  return s.st_ino;
}

static uint8_t *read_all(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  uint8_t *data = malloc(*size + 1);
  assert_int_equal(fread(data, 1, *size, f), *size);
  fclose(f);
  return data;
}

/* A new file in its place, so that what replaces this one is another one again. */
static void write_all(const char *path, const uint8_t *data, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, size, f), size);
  assert_int_equal(fclose(f), 0);
}

static void good_files_are_used(void **state) {
  char path[600];
  need_device(state);
  find_file(".bin", path, sizeof path);
  ino_t before = inode_of(path);
  expect_works();
  assert_true(inode_of(path) == before);
}

/* With these contents the file is not used, and there is a good one afterwards. */
static void expect_replaced(const char *path, const uint8_t *data, size_t size) {
  write_all(path, data, size);
  ino_t bad = inode_of(path);
  expect_works();
  ino_t good = inode_of(path);
  assert_true(good != bad);
  expect_works();
  assert_true(inode_of(path) == good);
}

static void bad_files_are_replaced(void **state) {
  char path[600];
  size_t size;
  need_device(state);
  find_file(".bin", path, sizeof path);
  uint8_t *data = read_all(path, &size);
  const size_t at[] = {0, offsetof(wick_cl_cache_header, key),
                       offsetof(wick_cl_cache_header, source_size),
                       offsetof(wick_cl_cache_header, binary_size) + 7,
                       offsetof(wick_cl_cache_header, source_crc),
                       offsetof(wick_cl_cache_header, binary_crc),
                       sizeof(wick_cl_cache_header), size - 1};
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    data[at[i]] ^= 0x40;
    expect_replaced(path, data, size);
    data[at[i]] ^= 0x40;
  }
  expect_replaced(path, data, 0);
  expect_replaced(path, data, sizeof(wick_cl_cache_header) - 1);
  expect_replaced(path, data, sizeof(wick_cl_cache_header));
  expect_replaced(path, data, size - 1);
  data[size] = 0;
  expect_replaced(path, data, size + 1);
  free(data);
}

/* Whole, but of another version of the driver; and one that the driver does not take. */
static void stale_files_are_replaced(void **state) {
  char path[600];
  size_t size;
  wick_cl_cache_header h;
  need_device(state);
  find_file(".bin", path, sizeof path);
  uint8_t *data = read_all(path, &size);
  memcpy(&h, data, sizeof h);
  h.key[strlen(h.key) - 1] ^= 1;
  memcpy(data, &h, sizeof h);
  expect_replaced(path, data, size);
  h.key[strlen(h.key) - 1] ^= 1;
  memset(data + sizeof h, 0x5a, size - sizeof h);
  h.binary_crc = wick_crc32c(0, data + sizeof h, size - sizeof h);
  memcpy(data, &h, sizeof h);
  expect_replaced(path, data, size);
  free(data);
}

/* Good ones, that somebody else may have written. */
static void files_of_others_are_replaced(void **state) {
  char path[600], elsewhere[620];
  struct stat st;
  need_device(state);
  find_file(".bin", path, sizeof path);
  snprintf(elsewhere, sizeof elsewhere, "%s.moved", path);
  static const mode_t modes[] = {0620, 0602, 0666};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    ino_t bad = inode_of(path);
    assert_int_equal(chmod(path, modes[i]), 0);
    expect_works();
    assert_true(inode_of(path) != bad);
  }
  assert_int_equal(rename(path, elsewhere), 0);
  assert_int_equal(symlink(elsewhere, path), 0);
  expect_works();
  assert_true(lstat(path, &st) == 0 && S_ISREG(st.st_mode));
  assert_int_equal(unlink(elsewhere), 0);
  if (geteuid() != 0) return;
  assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
  expect_works();
  assert_true(stat(path, &st) == 0 && st.st_uid == 0);
}

static void cache_may_be_nowhere(void **state) {
  need_device(state);
  setenv("WICK_CACHE", "/proc/nowhere", 1);
  expect_works();
  setenv("WICK_CACHE", "/dev/null", 1);
  expect_works();
  setenv("WICK_CACHE", own_cache, 1);
}

/* Nothing is kept unasked that is built in less than a second; its time is. */
static void fast_programs_are_not_kept(void **state) {
  char path[600];
  need_device(state);
  find_file(".bin", path, sizeof path);
  assert_int_equal(unlink(path), 0);
  setenv("WICK_OPENCL_CACHE", "no", 1);
  expect_works();
  assert_int_equal(access(path, F_OK), -1);
  unsetenv("WICK_OPENCL_CACHE");
  expect_works();
  memcpy(path + strlen(path) - 4, ".ms", 4);
  assert_int_equal(access(path, F_OK), 0);
  setenv("WICK_OPENCL_CACHE", "yes", 1);
  expect_works();
  find_file(".bin", path, sizeof path);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* OpenCL does not survive fork: the children start this program anew, to load and run once. */
static void processes_share_it(void **state) {
  enum { CHILDREN = 4 };
  pid_t children[CHILDREN];
  char path[600];
  int status;
  need_device(state);
  find_file(".bin", path, sizeof path);
  assert_int_equal(unlink(path), 0);
  for (int i = 0; i < CHILDREN; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      execl("/proc/self/exe", "test_opencl_cache", "once", (char *)NULL);
      _exit(127);
    }
    assert_true(children[i] > 0);
  }
  for (int i = 0; i < CHILDREN; i++) {
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_int_equal(status, 0);
  }
  good_files_are_used(state);
}

static int run_once(void) {
  static ocl_plan plan;
  fixture f;
  ocl_fill(&plan);
  bool ok = load(&plan, &f) == WICK_OK && computes(f.model);
  unload(&f);
  return ok ? 0 : 1;
}

/* ---- programs that do not compile ------------------------------------------------------------ */

static void expect_log(const char *path) {
  size_t size;
  char *log = (char *)read_all(path, &size);
  log[size] = '\0';
  assert_non_null(strstr(log, "options -cl-std=CL1.2"));
  assert_non_null(strstr(log, "nonsense"));
  assert_non_null(strstr(log, "     1  // nodes: add\n"));
  free(log);
}

static void errors_name_nodes_and_log(void **state) {
  static ocl_plan plan;
  fixture f;
  char path[600], named[600];
  need_device(state);
  ocl_fill(&plan);
  char *at = strstr(plan.source, OCL_F("a", "oa") "[i] += n");
  memmove(at + 9, at, strlen(at) + 1);
  memcpy(at, "nonsense;", 9);
  assert_int_equal(load(&plan, &f), WICK_DEVICE_FAILED);
  assert_non_null(strstr(f.detail.text, "nonsense"));
  assert_non_null(strstr(f.detail.text, "// nodes: plus; see /"));
  assert_true(!strncmp(f.detail.text, "line 2", 6));
  find_file(".log", path, sizeof path);
  assert_non_null(strstr(f.detail.text, path));
  expect_log(path);
  unload(&f);
  snprintf(named, sizeof named, "%s/opencl/named", own_cache);
  setenv("WICK_OPENCL_LOG", named, 1);
  assert_int_equal(load(&plan, &f), WICK_DEVICE_FAILED);
  unsetenv("WICK_OPENCL_LOG");
  assert_non_null(strstr(f.detail.text, named));
  expect_log(named);
  unload(&f);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(good_files_are_used),
      cmocka_unit_test(bad_files_are_replaced),
      cmocka_unit_test(stale_files_are_replaced),
      cmocka_unit_test(files_of_others_are_replaced), cmocka_unit_test(cache_may_be_nowhere),
      cmocka_unit_test(fast_programs_are_not_kept),
      cmocka_unit_test(processes_share_it),
      cmocka_unit_test(errors_name_nodes_and_log),
  };
  if (argc > 1 && !strcmp(argv[1], "once")) return run_once();
  return cmocka_run_group_tests(tests, load_plain, free_plain);
}
