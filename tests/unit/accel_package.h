/* SPDX-License-Identifier: Apache-2.0
 * A package for the accelerator that a test writes again and again: its file, and setup and
 * teardown of cmocka. */
#ifndef WICK_TEST_ACCEL_PACKAGE_H
#define WICK_TEST_ACCEL_PACKAGE_H

#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/accel_run.h"

static char package_file[] = "/tmp/wick-accel-XXXXXX";

/* The file is there, empty, and packages can be run. */
static int open_package_file(void **state) {
  (void)state;
  int fd = mkstemp(package_file);
  return fd < 0 || close(fd) || wick_device_register(wk_sim_device()) != WICK_OK;
}

static int remove_package_file(void **state) {
  (void)state;
  return unlink(package_file);
}

#endif
