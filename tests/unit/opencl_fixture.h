/* SPDX-License-Identifier: Apache-2.0
 * What the tests of OpenCL packages share: loading them, into a cache of the test's own. */
#ifndef WICK_TESTS_OPENCL_FIXTURE_H
#define WICK_TESTS_OPENCL_FIXTURE_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/opencl/devices.h"
#include "runtime/wick.h"
#include "tests/unit/opencl_package.h"

typedef struct {
  void *data;
  size_t size;
  wick_model *model;
  wick_error_detail detail;
} fixture;

static inline wick_status load(const ocl_plan *plan, fixture *f) {
  wk_package *p = ocl_package(plan);
  f->model = NULL;
  assert_null(wk_package_bytes(p, &f->data, &f->size));
  wk_package_free(p);
  const wick_load_options o = {.size = sizeof o, .detail = &f->detail};
  return wick_model_load_memory(f->data, f->size, &o, &f->model);
}

static inline void unload(fixture *f) {
  wick_model_free(f->model);
  free(f->data);
}

static inline void expect_load(const ocl_plan *plan, fixture *f) {
  wick_status status = load(plan, f);
  if (status != WICK_OK) fail_msg("%s: %s", wick_status_text(status), f->detail.text);
}

static char own_cache[32];

/* A cache that is empty, for the whole program. */
static inline void make_cache(void) {
  snprintf(own_cache, sizeof own_cache, "/tmp/wick-opencl-XXXXXX");
  if (!mkdtemp(own_cache)) abort();
  setenv("WICK_CACHE", own_cache, 1);
  setenv("WICK_OPENCL_CACHE", "yes", 1);
}

static inline void remove_cache(void) {
  char path[600];
  snprintf(path, sizeof path, "%s/opencl", own_cache);
  struct dirent *e;
  for (DIR *d = opendir(path); d; d = NULL) {
    while ((e = readdir(d)))
      if (e->d_name[0] != '.') unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
  }
  rmdir(path);
  rmdir(own_cache);
}

static inline int load_plain(void **state) {
  fixture *f = calloc(1, sizeof *f);
  static ocl_plan plan;
  const wick_opencl_info *list;
  uint32_t n;
  *state = f;
  make_cache();
  if (wick_opencl_list(&list, &n, &f->detail) != WICK_OK) return 0;
  ocl_fill(&plan);
  expect_load(&plan, f);
  return 0;
}

static inline int free_plain(void **state) {
  fixture *f = *state;
  unload(f);
  remove_cache();
  free(f);
  return 0;
}

static inline void need_device(void **state) {
  const fixture *f = *state;
  if (f->model) return;
  print_message("skipped: %s\n", f->detail.text);
  skip();
}

#endif
