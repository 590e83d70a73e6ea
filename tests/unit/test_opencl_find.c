/* SPDX-License-Identifier: Apache-2.0
 * Which OpenCL device is meant, and what is measured on it: devices that a list gives which is the
 * test's, asked for in another process, whatever that does and whatever the system says. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "targets/opencl/description.h"
#include "targets/opencl/device.h"
#include "targets/opencl/query.h"

/* ---- the system and the drivers (tests.cmake: --wrap) ---------------------------------------- */

typedef enum { LISTS, CRASHES, ENDS, HANGS, HAS_NONE } driver;
typedef enum { PIPE, FORK, POLL, READ, WRITE, WAIT, CALLS } call;

static struct {
  driver driver;
  int code[CALLS]; /* errno of the next call, 0: it works */
  size_t most;     /* bytes of the next read and write, twice as many of each later; 0: any */
  size_t left;     /* of what is read or written in pieces; 0: nobody knows yet */
  bool is_silent;  /* nothing comes in time */
  int forks;
  pid_t child; /* of the last one */
} fake;

static const wick_opencl_info devices[] = {
    {.name = "Red 2", .platform = "First", .driver = "1", .type = WICK_OPENCL_CPU},
    {.name = "Green 1", .platform = "First", .driver = "1", .type = WICK_OPENCL_GPU},
    {.name = "Green 1", .platform = "Second", .driver = "2", .type = WICK_OPENCL_GPU},
    {.name = "No. 123456", .platform = "Second", .type = WICK_OPENCL_ACCELERATOR}};

static pid_t own; /* the test's process */

static bool fails(call c) {
  if (!fake.code[c]) return false;
  errno = fake.code[c];
  fake.code[c] = 0;
  return true;
}

/* How many of n bytes go this time; 0: there are not so many left. */
static size_t piece(size_t n) {
  if (fake.left && n != fake.left) return 0;
  size_t goes = fake.most && n > fake.most ? fake.most : n;
  fake.most *= 2;
  fake.left = n - goes;
  return goes;
}

wick_status __wrap_wick_opencl_list(const wick_opencl_info **list, uint32_t *n,
                                    wick_error_detail *error);
wick_status __wrap_wick_opencl_list(const wick_opencl_info **list, uint32_t *n,
                                    wick_error_detail *error) {
  switch (fake.driver) {
    case CRASHES: signal(SIGSEGV, SIG_DFL), raise(SIGSEGV); break;
    case ENDS: _exit(0);
    case HANGS: pause(); break;
    case HAS_NONE:
      snprintf(error->text, sizeof error->text, "there is no device");
      return WICK_NO_DEVICE;
    case LISTS: break;
  }
  *list = devices;
  *n = WK_COUNTOF(devices);
  return WICK_OK;
}

int __real_pipe2(int ends[2], int flags);
int __wrap_pipe2(int ends[2], int flags);
int __wrap_pipe2(int ends[2], int flags) { return fails(PIPE) ? -1 : __real_pipe2(ends, flags); }

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void) {
  fake.forks++;
  return fake.child = fails(FORK) ? -1 : __real_fork();
}

/* Only the other process may end in the middle of it. */
void __real__exit(int code) __attribute__((noreturn));
void __wrap__exit(int code) __attribute__((noreturn));
void __wrap__exit(int code) {
  if (getpid() == own) abort();
  __real__exit(code);
}

int __real_poll(struct pollfd *list, nfds_t n, int ms);
int __wrap_poll(struct pollfd *list, nfds_t n, int ms);
int __wrap_poll(struct pollfd *list, nfds_t n, int ms) {
  if (fails(POLL)) return -1;
  if (n != 1 || list->events != POLLIN || ms != 60000) return 0;
  return fake.is_silent ? 0 : __real_poll(list, n, ms);
}

ssize_t __real_read(int fd, void *to, size_t n);
ssize_t __wrap_read(int fd, void *to, size_t n);
ssize_t __wrap_read(int fd, void *to, size_t n) {
  return fails(READ) ? -1 : __real_read(fd, to, piece(n));
}

ssize_t __real_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n) {
  size_t goes = fails(WRITE) ? 0 : piece(n);
  return goes ? __real_write(fd, from, goes) : -1;
}

/* Of the one child alone: a wrong number would be a group of processes, or all of them. */
int __real_kill(pid_t p, int number);
int __wrap_kill(pid_t p, int number);
int __wrap_kill(pid_t p, int number) {
  if (p <= 1 || p != fake.child) fail_msg("process %d is not the test's", (int)p);
  return __real_kill(p, number);
}

pid_t __real_waitpid(pid_t p, int *status, int options);
pid_t __wrap_waitpid(pid_t p, int *status, int options);
pid_t __wrap_waitpid(pid_t p, int *status, int options) {
  return fails(WAIT) ? -1 : __real_waitpid(p, status, options);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void expect_error(wk_status s, wk_code code, const char *message, const char *notes) {
  assert_non_null(s);
  assert_string_equal(s->message, message);
  assert_int_equal(s->code, code);
  if (notes) assert_string_equal(s->notes, notes);
  else assert_null(s->notes);
  wk_status_free(s);
}

#define ENDED "opencl: a driver hangs, or ended the process, while it listed its devices"
#define CRASHED "opencl: a driver crashed while it listed its devices: Segmentation fault"

/* Nothing is kept of what failed: the next query asks anew. No process is left behind. */
static void failures(void **state) {
  static const struct {
    driver driver;
    call call;
    int code;
    bool is_silent;
    wk_code status;
    const char *message;
  } cases[] = {{LISTS, PIPE, EMFILE, 0, WK_RESOURCE, "opencl: Too many open files"},
               {LISTS, FORK, ENOMEM, 0, WK_RESOURCE, "opencl: Cannot allocate memory"},
               {CRASHES, CALLS, 0, 0, WK_UNSUPPORTED, CRASHED},
               {ENDS, CALLS, 0, 0, WK_UNSUPPORTED, ENDED},
               {HANGS, CALLS, 0, true, WK_UNSUPPORTED, ENDED},
               {HANGS, POLL, EINVAL, 0, WK_UNSUPPORTED, ENDED},
               {LISTS, READ, EIO, 0, WK_UNSUPPORTED, ENDED},
               {LISTS, WRITE, EPIPE, 0, WK_UNSUPPORTED, ENDED}};
  (void)state;
  const wick_opencl_info *list;
  uint32_t n;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    memset(&fake, 0, sizeof fake);
    fake.driver = cases[i].driver;
    fake.is_silent = cases[i].is_silent;
    if (cases[i].call < CALLS) fake.code[cases[i].call] = cases[i].code;
    expect_error(wk_cl_query(&list, &n), cases[i].status, cases[i].message, NULL);
    assert_int_equal(__real_waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
  }
}

/* That there is none is known for as long as a process lives: another one tells it here. */
static void no_device(void **state) {
  (void)state;
  int ended;
  pid_t child = __real_fork();
  if (child == 0) {
    memset(&fake, 0, sizeof fake);
    fake.driver = HAS_NONE;
    for (int k = 0; k < 2; k++) {
      wk_opencl d;
      wk_status s = wk_cl_find_device(NULL, &d);
      if (!s || s->code != WK_UNSUPPORTED || strcmp(s->message, "opencl: there is no device") ||
          strcmp(s->notes, "opencl:any and opencl:FILE compile for devices that are not here\n"))
        _exit(1);
      wk_status_free(s);
    }
    _exit(fake.forks == 1 ? 0 : 2);
  }
  assert_int_equal(__real_waitpid(child, &ended, 0), child);
  assert_int_equal(ended, 0);
}

/* Signals interrupt what waits, and pipes take a little at a time. */
static void one_query(void **state) {
  (void)state;
  const wick_opencl_info *list = NULL;
  uint32_t n = 0;
  memset(&fake, 0, sizeof fake);
  fake.most = 1;
  for (int k = POLL; k < CALLS; k++) fake.code[k] = EINTR;
  for (int k = 0; k < 2; k++) {
    assert_null(wk_cl_query(&list, &n));
    assert_int_equal(n, WK_COUNTOF(devices));
    assert_memory_equal(list, devices, sizeof devices);
    assert_int_equal(fake.forks, 1);
  }
  assert_int_equal(__real_waitpid(-1, NULL, 0), -1);
}

/* ---- which is meant -------------------------------------------------------------------------- */

#define LIST                                                                                   \
  "opencl:0  Red 2 (First)\nopencl:1  Green 1 (First)\nopencl:2  Green 1 (Second)\n"           \
  "opencl:3  No. 123456 (Second)\n"

static void specs(void **state) {
  static const struct {
    const char *asked;
    int device; /* -1: none */
    const char *spec;
  } cases[] = {{NULL, 0, "Red 2"},          {"0", 0, "Red 2"},      {"1", 1, "Green 1"},
               {"2", 2, "Green 1#2"},       {"3", 3, "No. 123456"}, {"4", -1, NULL},
               {"00002", 2, "Green 1#2"},   {"000002", -1, NULL},   {"12345", -1, NULL},
               {"123456", 3, "No. 123456"}, {"red", 0, "Red 2"},    {"GREEN", 1, "Green 1"},
               {"n 1", 1, "Green 1"},       {"2 ", -1, NULL},       {"Green 1#2", -1, NULL},
               {"", 0, "Red 2"},            {".json", -1, NULL},    {"1a", -1, NULL}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_opencl d = {0};
    wk_status s = wk_cl_find_device(cases[i].asked, &d);
    if (cases[i].device < 0) {
      char want[128];
      snprintf(want, sizeof want, "there is no OpenCL device '%s' here:", cases[i].asked);
      expect_error(s, WK_USAGE, want, LIST);
      continue;
    }
    assert_null(s);
    assert_memory_equal(&d.info, &devices[cases[i].device], sizeof d.info);
    assert_string_equal(d.spec, cases[i].spec);
    assert_true(d.base.is_here);
  }
}

static void any_device(void **state) {
  (void)state;
  wk_opencl d = {0};
  assert_null(wk_cl_find_device("any", &d));
  assert_string_equal(d.spec, "any");
  assert_string_equal(d.info.name, "any");
  assert_true(d.base.is_here && d.info.type == WICK_OPENCL_GPU && !*d.info.driver);
  assert_int_equal(d.info.units, 1);
  assert_int_equal(d.info.max_group, 64);
  for (int k = 0; k < 3; k++) assert_int_equal(d.info.max_items[k], 64);
  assert_int_equal(d.info.base_align, 128);
  assert_int_equal(d.info.float_width, 4);
  assert_int_equal(d.info.local_memory, 32768);
  assert_true(d.info.memory == UINT64_MAX && d.info.max_alloc == UINT64_MAX);
}

/* A description in a file of the folder that the test works in. */
static void describe(const char *file, const char *name) {
  wick_opencl_info info = {.vendor = "v", .platform = "p", .driver = "d", .version = "OpenCL 3.0",
                           .type = WICK_OPENCL_CPU, .units = 3, .max_group = 64,
                           .max_items = {64, 64, 64}, .base_align = 128, .float_width = 4,
                           .memory = 1 << 20, .max_alloc = 1 << 20, .local_memory = 1 << 10};
  snprintf(info.name, sizeof info.name, "%s", name);
  json_t *o = wk_opencl_describe_json(&info);
  assert_int_equal(json_dump_file(o, file, 0), 0);
  json_decref(o);
}

/* A device of a file is here when one of that name is. */
static void files(void **state) {
  static const struct {
    const char *path, *name;
    bool is_here;
  } cases[] = {{"a.json", "Red 2", true},   {"./b", "Green 1", true}, {"c.json", "Red", false},
               {"./d", "red 2", false}, {"e.json", "No. 123456", true}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_opencl d = {0};
    describe(cases[i].path, cases[i].name);
    assert_null(wk_cl_find_device(cases[i].path, &d));
    assert_string_equal(d.spec, cases[i].name);
    assert_int_equal(d.info.units, 3);
    assert_int_equal(d.base.is_here, cases[i].is_here);
  }
  wk_opencl d = {0};
  wk_status s = wk_cl_find_device("x.json", &d);
  assert_non_null(s);
  assert_string_equal(s->place, "x.json");
  wk_status_free(s);
}

/* ---- what is measured ------------------------------------------------------------------------ */

#define NUMBER(text) "'" text "' is no number of seconds"
#define AWAY(name) "tiles are measured on the device, and " name " is not here"

static void seconds(void **state) {
  static const struct {
    const char *value;
    double seconds;
    const char *why; /* NULL: it is set */
  } cases[] = {{"", 60, NULL},
               {"0", 0, NULL},
               {"0.5", 0.5, NULL},
               {"1e6", 1e6, NULL},
               {"1000001", 0, NUMBER("1000001")},
               {"-1", 0, NUMBER("-1")},
               {"nan", 0, NUMBER("nan")},
               {"2x", 0, NUMBER("2x")},
               {"x", 0, NUMBER("x")}};
  (void)state;
  describe("near.json", "Red 2");
  describe("far.json", "Red 3");
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    static const char *const specs[] = {"0", "near.json", "far.json", "any"};
    static const char *const away[] = {NULL, NULL, AWAY("Red 3"), AWAY("any")};
    for (size_t k = 0; k < WK_COUNTOF(specs); k++) {
      wk_instance *t;
      assert_null(wk_target_opencl.open(specs[k], &t));
      assert_true(t->target == &wk_target_opencl && ((wk_opencl *)t)->tune_seconds < 0);
      assert_string_equal(wk_target_opencl.settings[0].name, "tune");
      wk_status s = wk_target_opencl.settings[0].set(t, cases[i].value);
      const char *why = cases[i].why ? cases[i].why : away[k];
      if (why) expect_error(s, WK_USAGE, why, NULL);
      else assert_null(s);
      if (!why) assert_true(((wk_opencl *)t)->tune_seconds == cases[i].seconds);
      wk_target_opencl.close(t);
    }
  }
}

static void families(void **state) {
  static const char *const specs[] = {"Green", "Red", "No.", "any"};
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(specs); k++) {
    wk_instance *t;
    assert_null(wk_target_opencl.open(specs[k], &t));
    assert_int_equal(((wk_opencl *)t)->family, k == 1 ? WK_CL_CPU : WK_CL_GPU);
    wk_target_opencl.close(t);
  }
  wk_instance *t;
  expect_error(wk_target_opencl.open("blue", &t), WK_USAGE,
               "there is no OpenCL device 'blue' here:", LIST);
}

static char folder[32] = "/tmp/wick-find-XXXXXX";

static int begin(void **state) {
  (void)state;
  own = getpid();
  return mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

static int end(void **state) {
  char command[64];
  (void)state;
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(failures),   cmocka_unit_test(no_device), cmocka_unit_test(one_query),
      cmocka_unit_test(specs),      cmocka_unit_test(any_device), cmocka_unit_test(files),
      cmocka_unit_test(seconds),    cmocka_unit_test(families),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
