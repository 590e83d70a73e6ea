/* SPDX-License-Identifier: Apache-2.0
 * The package of toy_package.h, loaded on both devices of toy_device.h: the state of a group of
 * cmocka tests, cmocka_run_group_tests(tests, load_toy, free_toy). */
#ifndef WICK_TESTS_TOY_MODEL_H
#define WICK_TESTS_TOY_MODEL_H

#include "tests/unit/toy_device.h"

static void *toy_bytes; /* of the package; the model reads them in place */

static int load_toy(void **state) {
  size_t size;
  wick_model *model = NULL;
  wk_package *p = toy_package();
  wk_status s = wk_package_bytes(p, &toy_bytes, &size);
  wk_package_free(p);
  if (s || wick_device_register(&toy_async) != WICK_OK ||
      wick_device_register(&toy_sync) != WICK_OK)
    return 1;
  wick_status status = wick_model_load_memory(toy_bytes, size, NULL, &model);
  *state = model;
  return status != WICK_OK;
}

static int free_toy(void **state) {
  wick_model_free(*state);
  free(toy_bytes);
  return 0;
}

#endif
