/* SPDX-License-Identifier: Apache-2.0
 * Programs of OpenCL packages on the driver of opencl_fake.h: what is said when they do not
 * compile, kernels that are not as the plan says, and the cache: what its files are named by, which
 * programs it keeps, and what is left when one cannot be kept. */
#include <errno.h>
#include <sched.h>
#include <sys/stat.h>

#include "runtime/internal.h"
#include "runtime/opencl/cache.h"
#include "tests/unit/opencl_entries.h"
#include "tests/unit/opencl_fake_program.h"
#include "tests/unit/opencl_fixture.h"

static int begin(void **state) {
  (void)state;
  fake_reset();
  setenv("WICK_OPENCL", "fake", 1);
  setenv("WICK_OPENCL_DEVICE", "0", 1);
  make_cache();
  return 0;
}

static int end(void **state) {
  (void)state;
  remove_cache();
  return 0;
}

static void expect_sum(const fixture *f) {
  wick_session *s;
  buffers o = make_buffers(0);
  assert_int_equal(wick_session_create(f->model, OCL_SUM, 1, &s), WICK_OK);
  expect_run(s, &o);
  check_sum(&o);
  wick_session_free(s);
  free(o.memory);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* How many files of the cache end so; the last one's path. */
static int count_files(const char *suffix, char *path, size_t size) {
  char folder[64];
  int n = 0;
  struct dirent *e;
  snprintf(folder, sizeof folder, "%s/opencl", own_cache);
  DIR *d = opendir(folder);
  while (d && (e = readdir(d))) {
    size_t length = strlen(e->d_name), end = strlen(suffix);
    if (e->d_name[0] == '.' || length < end || strcmp(e->d_name + length - end, suffix)) continue;
    if (path) assert_true(snprintf(path, size, "%s/%s", folder, e->d_name) < (int)size);
    n++;
  }
  if (d) closedir(d);
  return n;
}

static void empty_cache(void) {
  char path[400];
  while (count_files("", path, sizeof path))
    if (unlink(path) != 0) assert_int_equal(rmdir(path), 0);
}

static char *text_of(const char *path) {
  static char text[20000];
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  text[fread(text, 1, sizeof text - 1, f)] = '\0';
  fclose(f);
  return text;
}

/* ---- programs that do not compile ------------------------------------------------------------ */

/* The lines of the source: a comment of two kernels, one in front of the next, and none. */
static const char bad_source[] =
    "float zero;\n"
    "// nodes: add\n"
    "__kernel void k0() {\n"
    "  nonsense\n"
    "}\n"
    "  /* nodes: mul */\n"
    "// nodes: sub, with a name for which there is not enough space here\n"
    "\tkernel void k1() {\n"
    "}";

#define E40 "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
static const struct {
  const char *log, *text; /* in front of "; see PATH" */
} logs[] = {
    {"prog.cl:4:3: error: no nonsense", "line 4: error: no nonsense // nodes: add"},
    {"prog.cl:3:3: error: x\nprog.cl:9:1: error: y", "line 3: error: x // nodes: add"},
    {"prog.cl:2:3: error: x", "line 2: error: x"},
    {"prog.cl:1:3: error: x", "line 1: error: x"},
    {"prog.cl:7:3: error: x", "line 7: error: x // nodes: add"},
    {"prog.cl:8:3: error: x",
     "line 8: error: x // nodes: sub, with a name for which there is not enough spa"},
    {"prog.cl:900:3: error: x",
     "line 900: error: x // nodes: sub, with a name for which there is not enough spa"},
    {"prog.cl:0:3: error: x", "error: x"},
    {"prog.cl:4294967294:3: error: x",
     "line 4294967294: error: x // nodes: sub, with a name for which there is not enough spa"},
    {"prog.cl:4294967295:3: error: x", "error: x"},
    {"warning: w\n  prog.cl:4:3: error: x\nmore", "line 4: error: x // nodes: add"},
    {"one\ntwo", "one"},
    {"  alone ", "alone "},
    {"error: at 5: of a colon", "error: at 5: of a colon"},
    {"x:4", "line 4:  // nodes: add"},
    {"x:4:", "line 4:  // nodes: add"},
    {"x:", "x:"},
    {":4error", "line 4: error // nodes: add"},
    {"C:\\prog.cl:4:3: error: x", "line 4: error: x // nodes: add"},
    {E40 E40, E40 E40},
    {E40 E40 "f", E40 E40},
    {"error\n", "error"},
    {"the error\n", "the error"},
    {"\nerror", "error"},
};

static void errors_are_told(void **state) {
  static ocl_plan plan;
  char path[400], wanted[500];
  (void)state;
  ocl_fill(&plan);
  memcpy(plan.source, bad_source, sizeof bad_source);
  for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
    fixture f;
    fake.log = logs[i].log;
    assert_int_equal(load(&plan, &f), WICK_DEVICE_FAILED);
    assert_int_equal(count_files(".log", path, sizeof path), 1);
    snprintf(wanted, sizeof wanted, "%s; see %s", logs[i].text, path);
    assert_string_equal(f.detail.text, wanted);
    unload(&f);
    assert_int_equal(fake.live, 0);
  }
  static const char *const nothing[] = {"", NULL};
  for (int i = 0; i < 2; i++) {
    fixture f;
    fake.log = nothing[i];
    assert_int_equal(load(&plan, &f), WICK_DEVICE_FAILED);
    assert_string_equal(f.detail.text, "clBuildProgram: CL_BUILD_PROGRAM_FAILURE");
    unload(&f);
  }
  empty_cache();
}

/* The whole file; a path of just as many bytes as there is room for, and one that has one more. */
static void logs_are_whole(void **state) {
  static ocl_plan plan;
  static const char wanted[] =
      "Near, driver 1, options -cl-std=CL1.2 -w\n\nx:4: error\n\n"
      "     1  float zero;\n     2  // nodes: add\n     3  __kernel void k0() {\n"
      "     4    nonsense\n     5  }\n     6    /* nodes: mul */\n"
      "     7  // nodes: sub, with a name for which there is not enough space here\n"
      "     8  \tkernel void k1() {\n     9  }\n";
  char path[1100], told[200];
  (void)state;
  ocl_fill(&plan);
  memcpy(plan.source, bad_source, sizeof bad_source);
  fake.log = "x:4: error";
  for (size_t size = 1022; size <= 1024; size++) {
    fixture f;
    size_t n = (size_t)snprintf(path, sizeof path, "%s/opencl/", own_cache);
    while (n < size) n += (size_t)snprintf(path + n, sizeof path - n, "./");
    path[size - 4] = '/', path[size - 3] = 'l', path[size - 2] = 'o', path[size - 1] = 'g';
    path[size] = '\0';
    FILE *kept = stderr, *own = tmpfile();
    setenv("WICK_OPENCL_LOG", path, 1);
    stderr = own; /* where nothing comes */
    assert_int_equal(load(&plan, &f), WICK_DEVICE_FAILED);
    stderr = kept;
    unsetenv("WICK_OPENCL_LOG");
    snprintf(told, sizeof told, "line 4: error // nodes: add; see %.100s", path);
    assert_string_equal(f.detail.text, size < 1024 ? told : "line 4: error // nodes: add; "
                        "WICK_OPENCL_LOG=FILE keeps the whole log");
    char text[2000] = "";
    rewind(own);
    text[fread(text, 1, sizeof text - 1, own)] = '\0';
    fclose(own);
    assert_string_equal(text, "");
    if (size < 1024) assert_string_equal(text_of(path), wanted);
    assert_string_equal(size < 1024 ? text : "", "");
    unlink(path);
    unload(&f);
  }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void kernels_are_checked(void **state) {
  static const struct {
    size_t most, group[3];
    cl_ulong local;
    cl_uint args;
    wick_status status;
    const char *why;
  } cases[] = {
      {16, {16, 1, 1}, 4096, 0, WICK_OK, ""},
      {15, {16, 1, 1}, 0, 0, WICK_BAD_MACHINE,
       "'Near' runs kernel k0 in work-groups of 15 at most"},
      {16, {16, 1, 1}, 4097, 0, WICK_BAD_MACHINE,
       "'Near' has too little local memory for kernel k0"},
      {16, {0, 0, 0}, 0, 0, WICK_OK, ""},
      {16, {8, 1, 1}, 0, 0, WICK_CORRUPT,
       "section 'launches', row 0: kernel k0 has work-groups of 8 x 1 x 1"},
      {16, {16, 2, 1}, 0, 0, WICK_CORRUPT,
       "section 'launches', row 0: kernel k0 has work-groups of 16 x 2 x 1"},
      {16, {16, 1, 3}, 0, 0, WICK_CORRUPT,
       "section 'launches', row 0: kernel k0 has work-groups of 16 x 1 x 3"},
      {16, {16, 1, 1}, 0, 5, WICK_CORRUPT,
       "section 'launches', row 0: kernel k0 takes 5 arguments"},
      {16, {16, 1, 1}, 0, 6, WICK_CORRUPT,
       "section 'launches', row 2: kernel k1 takes 6 arguments"},
  };
  static ocl_plan plan;
  (void)state;
  setenv("WICK_OPENCL_CACHE", "no", 1);
  ocl_fill(&plan);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture f;
    fake_reset();
    fake.most = cases[i].most;
    memcpy(fake.group, cases[i].group, sizeof fake.group);
    fake.local = cases[i].local;
    fake.args = cases[i].args;
    assert_int_equal(load(&plan, &f), cases[i].status);
    assert_string_equal(f.detail.text, cases[i].why);
    unload(&f);
    assert_int_equal(fake.live, 0);
  }
  for (int k = 1; k < 3; k++) { /* a work-group is as large as its three sizes make it */
    fixture f;
    fake_reset();
    ocl_fill(&plan);
    plan.needs.max_group = 32;
    plan.needs.max_items[k] = 2;
    plan.launches[2].local[k] = 2;
    plan.launches[2].global[k] = 2;
    fake.most = 31;
    assert_int_equal(load(&plan, &f), WICK_BAD_MACHINE);
    assert_string_equal(f.detail.text, "'Near' runs kernel k1 in work-groups of 31 at most");
    unload(&f);
  }
  fake_reset();
}

/* ---- the cache ------------------------------------------------------------------------------- */

/* The program is built from its source, from a file, or from both: how often each. */
static void expect_builds(const ocl_plan *plan, uint32_t sources, uint32_t binaries) {
  fixture f;
  uint32_t before = fake.calls[FAKE_CreateProgramWithSource],
           binary = fake.calls[FAKE_CreateProgramWithBinary];
  expect_load(plan, &f);
  assert_int_equal(fake.calls[FAKE_CreateProgramWithSource] - before, sources);
  assert_int_equal(fake.calls[FAKE_CreateProgramWithBinary] - binary, binaries);
  expect_sum(&f);
  unload(&f);
  assert_int_equal(fake.live, 0);
}

static void set(const char *name, const char *value) {
  if (value) setenv(name, value, 1);
  else unsetenv(name);
}

/* By three variables, of which empty ones do not count; made with the folders around it. */
static void folders_are_made_where_they_should_be(void **state) {
  static const struct {
    const char *own, *xdg, *home, *wanted; /* behind the folder of the test; NULL: nowhere */
  } cases[] = {
      {"/a", "/b", "/c", "/a/opencl"},  {"/a/d/e", NULL, NULL, "/a/d/e/opencl"},
      {"", "/b", "/c", "/b/wick/opencl"}, {NULL, "/b", "", "/b/wick/opencl"},
      {NULL, "", "/c", "/c/.cache/wick/opencl"}, {NULL, NULL, "/c", "/c/.cache/wick/opencl"},
      {"", "", "", NULL}, {NULL, NULL, NULL, NULL}, {NULL, NULL, "", NULL},
      {"/file", NULL, NULL, NULL}, {"/file/below", NULL, NULL, NULL},
      {"/a", NULL, NULL, "/a/opencl"}, /* is there already */
  };
  static const char *const names[] = {"WICK_CACHE", "XDG_CACHE_HOME", "HOME"};
  char *kept[3], folder[] = "/tmp/wick-opencl-XXXXXX", text[3][64], path[128], wanted[128];
  (void)state;
  mode_t mask = umask(022);
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/file", folder);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fclose(f);
  for (int k = 0; k < 3; k++) kept[k] = getenv(names[k]) ? strdup(getenv(names[k])) : NULL;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *const values[] = {cases[i].own, cases[i].xdg, cases[i].home};
    for (int k = 0; k < 3; k++) {
      bool is_set = values[k] && *values[k];
      snprintf(text[k], sizeof text[k], "%s%s", is_set ? folder : "", is_set ? values[k] : "");
      set(names[k], values[k] ? text[k] : NULL);
    }
    int found = wick_opencl_cache_folder(path, sizeof path);
    if (found != (cases[i].wanted != NULL)) fail_msg("case %zu: %d, %s", i, found, path);
    if (!found) continue;
    size_t n = (size_t)snprintf(wanted, sizeof wanted, "%s%s", folder, cases[i].wanted);
    struct stat st;
    assert_string_equal(path, wanted);
    assert_true(stat(path, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 07777) == 0700);
    *strrchr(path, '/') = '\0';
    assert_true(stat(path, &st) == 0 && (st.st_mode & 07777) == 0700);
    assert_true(wick_opencl_cache_folder(path, n + 1)); /* there is just room for it */
    assert_false(wick_opencl_cache_folder(path, n));
  }
  /* what is in it becomes code: a folder that others can write, or a link, is none */
  snprintf(path, sizeof path, "%s/shared", folder);
  set("WICK_CACHE", path);
  assert_true(wick_opencl_cache_folder(wanted, sizeof wanted));
  static const mode_t modes[] = {0720, 0702, 0777, 01777};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    assert_int_equal(chmod(wanted, modes[i]), 0);
    assert_false(wick_opencl_cache_folder(wanted, sizeof wanted));
  }
  assert_int_equal(chmod(wanted, 0750), 0); /* reading is no harm */
  assert_true(wick_opencl_cache_folder(wanted, sizeof wanted));
  assert_int_equal(rmdir(wanted), 0);
  assert_int_equal(symlink("..", wanted), 0);
  assert_false(wick_opencl_cache_folder(wanted, sizeof wanted));
  assert_int_equal(unlink(wanted), 0);
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) { /* nor one within such a folder */
    assert_int_equal(chmod(path, modes[i]), 0);
    assert_false(wick_opencl_cache_folder(wanted, sizeof wanted));
  }
  assert_int_equal(chmod(path, 0700), 0);
  assert_true(wick_opencl_cache_folder(wanted, sizeof wanted));
  char here[256]; /* names from here, of folders none of which is there */
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(folder), 0);
  set("WICK_CACHE", "o/f");
  errno = 0;
  assert_true(wick_opencl_cache_folder(path, sizeof path));
  assert_string_equal(path, "o/f/opencl");
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(chdir(here), 0);
  for (int k = 0; k < 3; k++) set(names[k], kept[k]), free(kept[k]);
  umask(mask);
  snprintf(path, sizeof path, "rm -r %s", folder);
  assert_int_equal(system(path), 0);
}

/* Times the prime 2^88 + 0x13b, in halves of 64 bits. */
static void fnv1a(uint64_t h[2], const void *data, size_t size) {
  for (size_t i = 0; i < size; i++) {
    uint64_t low = h[0] ^ ((const uint8_t *)data)[i], high = h[1];
    uint64_t below = (low & UINT32_MAX) * 0x13b, above = (low >> 32) * 0x13b + (below >> 32);
    h[0] = above << 32 | (below & UINT32_MAX);
    h[1] = high * 0x13b + (above >> 32) + (low << 24);
  }
}

/* The name is the FNV-1a hash of the key and the source: what is there is found by other versions
 * of this library. */
static void expect_name(const char *path, const wick_cl_cache_header *h, const char *source) {
  uint64_t hash[2] = {0x62b821756295c58d, 0x6c62272e07bb0142};
  char name[64];
  fnv1a(hash, h->key, sizeof h->key);
  fnv1a(hash, source, strlen(source));
  snprintf(name, sizeof name, "/%016llx%016llx.bin", (unsigned long long)hash[1],
           (unsigned long long)hash[0]);
  assert_string_equal(strrchr(path, '/'), name);
}

/* What a program depends on, each alone: another file. */
static void programs_have_files_of_their_own(void **state) {
  static ocl_plan plan;
  char path[400], number[8];
  wick_cl_cache_header h;
  (void)state;
  fake_reset();
  setenv("WICK_OPENCL_CACHE", "yes", 1);
  ocl_fill(&plan);
  int input = dup(0);
  close(0); /* then files have the number 0 */
  expect_builds(&plan, 1, 0);
  expect_builds(&plan, 0, 1);
  dup2(input, 0);
  close(input);
  assert_int_equal(count_files("", path, sizeof path), 1);
  memcpy(&h, text_of(path), sizeof h);
  assert_string_equal(h.key, "Fake\nOpenCL 1.2 fake 1\nNear\nOpenCL 1.2 device 1\n1\n"
                             "-cl-std=CL1.2 -w");
  expect_name(path, &h, plan.source);
  assert_int_equal(h.source_size, strlen(plan.source));
  assert_int_equal(h.binary_size, strlen(plan.source) + FAKE_BINARY_HEAD);
  assert_int_equal(h.source_crc, wick_crc32c(0, plan.source, strlen(plan.source)));
  assert_int_equal(h.binary_crc, wick_crc32c(0, text_of(path) + sizeof h, h.binary_size));
  int n = 1;
#define ANOTHER(change, back)                    \
  change;                                        \
  expect_builds(&plan, 1, 0);                    \
  expect_builds(&plan, 0, 1);                    \
  assert_int_equal(count_files(".bin", NULL, 0), ++n); \
  back;
  ANOTHER(fake.platform_version = "OpenCL 1.2 fake 2", fake.platform_version = "OpenCL 1.2 fake 1")
  ANOTHER(fake.platform_version = NULL, fake.platform_version = "OpenCL 1.2 fake 1")
  ANOTHER(fake.version = "OpenCL 1.2 device 2", fake.version = "OpenCL 1.2 device 1")
  ANOTHER(fake.config = CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, fake.config = 0)
  ANOTHER(plan.source[0] = ' ', plan.source[0] = '/')
  size_t end = strlen(plan.source);
  ANOTHER(plan.source[end] = '\n', plan.source[end] = '\0')
  for (int d = FAKE_FAR; d <= FAKE_OTHER; d++) {
    snprintf(number, sizeof number, "%d", d);
    ANOTHER(setenv("WICK_OPENCL_DEVICE", number, 1), setenv("WICK_OPENCL_DEVICE", "0", 1))
  }
  fake.version = NULL; /* then it is what the list has */
  expect_builds(&plan, 0, 1);
  fake_reset();
  assert_int_equal(count_files("", NULL, 0), n);
  empty_cache();
}

/* A program from a file is of no use, and there is no other one: it is released once. */
static void programs_are_released_once(void **state) {
  static ocl_plan plan;
  fixture f;
  (void)state;
  fake_reset();
  setenv("WICK_OPENCL_CACHE", "yes", 1);
  ocl_fill(&plan);
  expect_builds(&plan, 1, 0);
  fake.args = 5;
  fake.fails = FAKE_CreateProgramWithSource;
  fake.fails_at = fake.calls[FAKE_CreateProgramWithSource] + 1;
  fake.code = CL_INVALID_VALUE;
  assert_int_equal(load(&plan, &f), WICK_DEVICE_FAILED);
  assert_string_equal(f.detail.text, "clCreateProgramWithSource: CL_INVALID_VALUE");
  unload(&f);
  assert_int_equal(fake.live, 0);
  fake_reset();
  empty_cache();
}

/* Each field of the header, the binary, and a byte too few or too many: built anew, and kept. */
static void damaged_files_are_replaced(void **state) {
  static ocl_plan plan;
  static const size_t at[] = {0, offsetof(wick_cl_cache_header, key) + 5,
                              offsetof(wick_cl_cache_header, key) + WICK_CL_CACHE_KEY - 1,
                              offsetof(wick_cl_cache_header, source_size),
                              offsetof(wick_cl_cache_header, binary_size),
                              offsetof(wick_cl_cache_header, source_crc),
                              offsetof(wick_cl_cache_header, binary_crc),
                              sizeof(wick_cl_cache_header)};
  char path[400], kept[20000];
  (void)state;
  fake_reset();
  setenv("WICK_OPENCL_CACHE", "yes", 1);
  ocl_fill(&plan);
  expect_builds(&plan, 1, 0);
  assert_int_equal(count_files(".bin", path, sizeof path), 1);
  size_t n = sizeof(wick_cl_cache_header) + FAKE_BINARY_HEAD + strlen(plan.source);
  memcpy(kept, text_of(path), n);
  const size_t sizes[] = {n - 1, n + 1, sizeof(wick_cl_cache_header), 3, 0};
  for (size_t i = 0; i < sizeof at / sizeof *at + sizeof sizes / sizeof *sizes; i++) {
    bool is_flip = i < sizeof at / sizeof *at;
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    if (is_flip) kept[at[i]] ^= 1;
    kept[n] = 0;
    fwrite(kept, 1, is_flip ? n : sizes[i - sizeof at / sizeof *at], f);
    fclose(f);
    if (is_flip) kept[at[i]] ^= 1;
    expect_builds(&plan, 1, 0);
    expect_builds(&plan, 0, 1);
    assert_memory_equal(text_of(path), kept, n);
  }
  assert_int_equal(count_files("", NULL, 0), 1);
  empty_cache();
}

/* One that the driver does not take, or that has other kernels, is replaced. */
static void files_of_no_use_are_replaced(void **state) {
  static ocl_plan plan;
  (void)state;
  fake_reset();
  setenv("WICK_OPENCL_CACHE", "yes", 1);
  ocl_fill(&plan);
  expect_builds(&plan, 1, 0);
  fake.refuses_binaries = true;
  expect_builds(&plan, 1, 1);
  fake.refuses_binaries = false;
  for (int k = 0; k < 3; k++) {
    fake.fails = k == 0   ? FAKE_CreateProgramWithBinary
                 : k == 1 ? FAKE_BuildProgram
                          : FAKE_CreateKernel;
    fake.fails_at = fake.calls[fake.fails] + 1;
    fake.code = CL_INVALID_VALUE;
    expect_builds(&plan, 1, 1);
    expect_builds(&plan, 0, 1);
  }
  fake_reset();
  assert_int_equal(count_files("", NULL, 0), 1);
  empty_cache();
}

/* Without a word of the user's: what took a second and no less than a quarter of the first time. */
static void slow_programs_are_kept(void **state) {
  static const struct {
    uint32_t first, second;
    bool is_kept;
  } cases[] = {{5000, 1250, true},  {5000, 1249, false}, {5000, 5000, true}, {999, 999, false},
               {1000, 1000, true},  {999, 1000, true},   {1000, 999, false}, {0, 1000, true},
               {4003, 1000, true},  {4004, 1001, true},  {4004, 1000, false}};
  static ocl_plan plan;
  char path[400], wanted[16];
  (void)state;
  ocl_fill(&plan);
  unsetenv("WICK_OPENCL_CACHE");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fake_reset();
    fake.build_ms = cases[i].first;
    expect_builds(&plan, 1, 0);
    assert_int_equal(count_files("", path, sizeof path), 1);
    snprintf(wanted, sizeof wanted, "%u\n", cases[i].first);
    assert_string_equal(text_of(path), wanted);
    assert_string_equal(path + strlen(path) - 3, ".ms");
    fake.build_ms = cases[i].second;
    expect_builds(&plan, 1, 0);
    assert_int_equal(count_files(".bin", NULL, 0), cases[i].is_kept);
    assert_int_equal(count_files("", NULL, 0), 1 + cases[i].is_kept);
    expect_builds(&plan, !cases[i].is_kept, cases[i].is_kept);
    empty_cache();
  }
  setenv("WICK_OPENCL_DEVICE", "1", 1); /* no processor: at once */
  for (uint32_t ms = 999; ms <= 1000; ms++) {
    fake.build_ms = ms;
    expect_builds(&plan, 1, 0);
    assert_int_equal(count_files("", NULL, 0), ms == 1000);
  }
  setenv("WICK_OPENCL_DEVICE", "0", 1);
  empty_cache();
  setenv("WICK_OPENCL_CACHE", "sometimes", 1); /* is not a word */
  fake.build_ms = 0;
  expect_builds(&plan, 1, 0);
  assert_int_equal(count_files(".ms", NULL, 0), 1);
  empty_cache();
  fake_reset();
}

/* Nothing is left of a program that cannot be kept, and it works. */
static void nothing_is_left_of_what_is_not_kept(void **state) {
  static ocl_plan plan;
  char path[400];
  (void)state;
  fake_reset();
  setenv("WICK_OPENCL_CACHE", "yes", 1);
  ocl_fill(&plan);
  fake.binary_size = 1; /* none */
  expect_builds(&plan, 1, 0);
  fake.binary_size = ((size_t)1 << 30) + 2; /* more than is taken */
  expect_builds(&plan, 1, 0);
  fake.binary_size = 101; /* and then it does not give it */
  expect_builds(&plan, 1, 0);
  fake.binary_size = 0;
  fake.code = CL_OUT_OF_RESOURCES;
  for (uint32_t k = 1; k <= 2; k++) {
    fake.fails = FAKE_GetProgramInfo;
    fake.fails_at = fake.calls[FAKE_GetProgramInfo] + k;
    expect_builds(&plan, 1, 0);
  }
  assert_int_equal(count_files("", NULL, 0), 0);
  expect_builds(&plan, 1, 0);
  assert_int_equal(count_files("", path, sizeof path), 1);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0777), 0);
  expect_builds(&plan, 1, 0);
  assert_int_equal(count_files("", NULL, 0), 1);
  empty_cache();
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Eleven kernels behind a line that all of them need. `from`, in the last one, becomes `to`. */
static void fill_long(ocl_plan *plan, const char *from, const char *to) {
  ocl_fill(plan);
  char *at = plan->source + sprintf(plan->source, "float all;\n%s", ocl_source);
  for (int k = 5; k < 11; k++)
    at += sprintf(at, "\n/* nodes: n%d */\n__kernel\nvoid k%d() {\n  float x;\n}\n", k, k);
  plan->needs.kernel_count = 11;
  char *found = from ? strstr(strstr(plan->source, "nodes: n10"), from) : NULL;
  if (found) memcpy(found, to, strlen(to));
}

static void set_processors(int n) {
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &set) && n-- <= 0) CPU_CLR(i, &set);
  assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
}

/* Of several kernels each, for devices that are no processors: a file for each, and one that is
 * damaged is the only one that is made anew. */
static void long_programs_are_cut(void **state) {
  static ocl_plan plan;
  char path[400];
  (void)state;
  fake_reset();
  setenv("WICK_OPENCL_CACHE", "yes", 1);
  fill_long(&plan, NULL, NULL);
  expect_builds(&plan, 1, 0);
  assert_int_equal(count_files(".bin", NULL, 0), 1);
  empty_cache();
  setenv("WICK_OPENCL_DEVICE", "1", 1);
  expect_builds(&plan, 2, 0);
  expect_builds(&plan, 0, 2);
  assert_int_equal(count_files("", path, sizeof path), 2);
  unsetenv("WICK_OPENCL_CACHE"); /* however quickly it is built */
  assert_int_equal(unlink(path), 0);
  expect_builds(&plan, 1, 1);
  expect_builds(&plan, 0, 2);
  fake.fails = FAKE_CreateKernel; /* files are of something else: all is made anew */
  fake.fails_at = fake.calls[FAKE_CreateKernel] + 1;
  fake.code = CL_INVALID_VALUE;
  expect_builds(&plan, 2, 2);
  setenv("WICK_OPENCL_CACHE", "no", 1);
  fill_long(&plan, "void k10", "void k11"); /* not in the order of numbers: one program */
  expect_builds(&plan, 1, 0);
  setenv("WICK_OPENCL_DEVICE", "0", 1);
  empty_cache();
  fake_reset();
}

/* Lines have the numbers that they have in the source. */
static void errors_in_pieces_are_told(void **state) {
  static ocl_plan plan;
  fixture f;
  (void)state;
  fake_reset();
  setenv("WICK_OPENCL_CACHE", "no", 1);
  setenv("WICK_OPENCL_DEVICE", "1", 1);
  fill_long(&plan, "float x;", "nonsense");
  uint32_t line = 1, at = 0;
  for (const char *c = plan.source; c < strstr(plan.source, "nonsense"); c++) line += *c == '\n';
  char log[64], told[80];
  snprintf(log, sizeof log, "x:%u:3: error: no nonsense", line);
  snprintf(told, sizeof told, "line %u: error: no nonsense /* nodes: n10 */; see ", line);
  fake.log = log;
  assert_int_equal(load(&plan, &f), WICK_DEVICE_FAILED);
  if (strncmp(f.detail.text, told, strlen(told))) fail_msg("%s", f.detail.text);
  unload(&f);
  assert_int_equal(fake.live, 0);
  const char *directive = strstr(fake.wrong, "#line ");
  assert_non_null(directive);
  assert_int_equal(strncmp(fake.wrong, "float all;\n#line ", 17), 0);
  assert_int_equal(sscanf(directive, "#line %u", &at), 1);
  at--;
  for (const char *c = directive; c < strstr(directive, "nonsense"); c++) at += *c == '\n';
  assert_int_equal(at, line);
  setenv("WICK_OPENCL_DEVICE", "0", 1);
  empty_cache();
  fake_reset();
}

int main(void) {
  set_processors(1); /* the driver of the test is for one thread */

  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_are_told),
      cmocka_unit_test(logs_are_whole),
      cmocka_unit_test(kernels_are_checked),
      cmocka_unit_test(folders_are_made_where_they_should_be),
      cmocka_unit_test(programs_have_files_of_their_own),
      cmocka_unit_test(programs_are_released_once),
      cmocka_unit_test(damaged_files_are_replaced),
      cmocka_unit_test(files_of_no_use_are_replaced),
      cmocka_unit_test(slow_programs_are_kept),
      cmocka_unit_test(nothing_is_left_of_what_is_not_kept),
      cmocka_unit_test(long_programs_are_cut),
      cmocka_unit_test(errors_in_pieces_are_told),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
