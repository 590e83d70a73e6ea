/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "strict.h"

static struct {
  pthread_once_t once;
  void *object;
  strict_functions functions;
  bool is_found;
} real = {.once = PTHREAD_ONCE_INIT};

static bool symbol(const char *name, void *function) {
  void *address = dlsym(real.object, name);
  memcpy(function, &address, sizeof address);
  return address != NULL;
}

static bool find_all(void) {
#define STRICT_X(name) && symbol("cl" #name, &real.functions.name)
  return true STRICT_UNDER_FUNCTIONS(STRICT_X);
#undef STRICT_X
}

/* Without the loader there are no platforms, and tests have no device; who names a library is told
 * what is wrong with it. */
static void open_library(void) {
  const char *own = getenv("WICK_STRICT_UNDER");
  bool is_named = own && *own;
  real.object = dlopen(is_named ? own : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  real.is_found = real.object && find_all();
  if (!real.is_found && is_named)
    fprintf(stderr, "strict OpenCL: WICK_STRICT_UNDER: %s: %s\n", own,
            real.object ? "has not all functions of OpenCL 1.2" : dlerror());
}

const strict_functions *strict_under(void) {
  pthread_once(&real.once, open_library);
  return real.is_found ? &real.functions : NULL;
}
