/* SPDX-License-Identifier: Apache-2.0
 * Descriptions of devices that the first OpenCL device here passes for, in a folder of the test's
 * own, which has its caches as well. */
#ifndef WICK_TESTS_OPENCL_PASSING_H
#define WICK_TESTS_OPENCL_PASSING_H

#include <stdio.h>
#include <stdlib.h>

#include "targets/opencl/description.h"
#include "targets/opencl/opencl.h"
#include "tests/unit/remove_folder.h"

static char folder[] = "/tmp/wick-opencl-passing-XXXXXX";
static bool has_device;
static wick_opencl_info here; /* where there is one */

static inline void write_passing(const char *name, const wick_opencl_info *info) {
  char path[80];
  snprintf(path, sizeof path, "%s/%s.json", folder, name);
  json_t *o = wk_opencl_describe_json(info);
  assert_int_equal(json_dump_file(o, path, 0), 0);
  json_decref(o);
}

/* Makes the folder; says why there is no device. False: there is no folder. */
static inline bool find_device_here(void) {
  wk_targets t;
  if (!mkdtemp(folder)) return false;
  setenv("WICK_CACHE", folder, 1);
  setenv("POCL_CACHE_DIR", folder, 1);
  wk_status s = wk_targets_open(&(wk_target_args){.target = "opencl"}, &t);
  has_device = !s;
  if (s) print_message("skipped: %s\n", s->message);
  else here = ((const wk_opencl *)t.list[0])->info;
  wk_status_free(s);
  wk_targets_close(&t);
  return true;
}

static inline int remove_passing(void **state) {
  (void)state;
  return remove_folder(folder);
}

#endif
