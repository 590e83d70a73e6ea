/* SPDX-License-Identifier: Apache-2.0
 * Generated C, compiled and loaded, and what clang says of it as OpenCL C. WICK_CLANG is clang. */
#ifndef WICK_TESTS_COMPILED_H
#define WICK_TESTS_COMPILED_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiler/support/support.h"

/* A shared object of the C compiler's. */
static void *compiled_load(const wk_str *source, wk_arena *a) {
  char folder[] = "/tmp/wick-c-XXXXXX";
  assert_non_null(mkdtemp(folder));
  char *c = wk_arena_printf(a, "%s/e.c", folder), *so = wk_arena_printf(a, "%s/e.so", folder);
  FILE *f = fopen(c, "w");
  assert_non_null(f);
  assert_int_equal(fwrite(source->s, 1, source->n, f), source->n);
  assert_int_equal(fclose(f), 0);
  char *command = wk_arena_printf(a, "cc -std=c11 -O1 -Wall -Werror -ffp-contract=off -fPIC "
                                     "-shared -o %s %s -lm", so, c);
  assert_int_equal(system(command), 0);
  void *library = dlopen(so, RTLD_NOW);
  if (!library) fprintf(stderr, "%s\n", dlerror());
  assert_non_null(library);
  unlink(c);
  unlink(so);
  rmdir(folder);
  return library;
}

/* What is called `letter` and a number. */
static void *compiled_symbol(void *library, char letter, size_t number) {
  char name[32];
  snprintf(name, sizeof name, "%c%zu", letter, number);
  void *symbol = dlsym(library, name);
  assert_non_null(symbol);
  return symbol;
}

/* clang takes it as OpenCL C 1.2; `options` are more of clang's. */
static void compiled_opencl(const wk_str *source, const char *options) {
  char command[400];
  snprintf(command, sizeof command,
           WICK_CLANG " -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -target spir64 "
           "-Wno-tautological-compare -Werror -fsyntax-only %s -", options);
  FILE *f = popen(command, "w");
  assert_non_null(f);
  assert_int_equal(fwrite(source->s, 1, source->n, f), source->n);
  assert_int_equal(pclose(f), 0);
}

#endif
