/* SPDX-License-Identifier: Apache-2.0
 * A folder with a cache of cycle models, a tree of RTL and tools that build nothing, for tests of
 * sim/build.c. */
#ifndef WICK_TEST_SIM_BUILD_H
#define WICK_TEST_SIM_BUILD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/build.h"

static char folder[] = "/tmp/wick-sim-build-XXXXXX";
static char rtl[64]; /* a tree of files for scripts that look at none */
static wk_machine tiny, base;

/* Good for seven more. */
static inline const char *in_folder(const char *name) {
  static char text[8][256];
  static int next;
  char *y = text[next++ % 8];
  snprintf(y, sizeof *text, "%s/%s", folder, name);
  return y;
}

static inline void write_file(const char *name, const char *text) {
  assert_null(wk_write_file(in_folder(name), text, strlen(text)));
}

static inline void tool(const char *name, const char *script) {
  char path[64];
  snprintf(path, sizeof path, "bin/%s", name);
  write_file(path, script);
  assert_int_equal(chmod(in_folder(path), 0755), 0);
}

static inline void run(const char *command) {
  char text[1000];
  snprintf(text, sizeof text, "cd %s && PATH=/usr/bin:/bin && %s", folder, command);
  assert_int_equal(system(text), 0);
}

/* It writes down how it was called, and leaves a library that none can load. */
#define VERILATOR                                                                                \
  "#!/bin/sh\nprintf '%%s\\n' \"$@\" >%s/args\n"                                                 \
  "while [ \"$1\" != -Mdir ]; do shift; done\n[ -d \"$2\" ] || /bin/mkdir \"$2\"\n"              \
  "echo built >\"$2/model.so\"\n"

static inline int setup(void **state) {
  char script[400];
  (void)state;
  if (!mkdtemp(folder)) return 1;
  run("mkdir bin rtl cache && ln -s $(command -v find) $(command -v rm) bin/");
  snprintf(script, sizeof script, VERILATOR, folder);
  tool("verilator", script);
  tool("clang++-19", "#!/bin/sh\n");
  tool("clang++", "#!/bin/sh\n");
  tool("g++", "#!/bin/sh\n");
  tool("llvm-profdata-19", "#!/bin/sh\n");
  write_file("rtl/b.sv", "b");
  write_file("rtl/a.sv", "a");
  write_file("rtl/z_pkg.sv", "z");
  write_file("rtl/c_pkg.sv", "c");
  write_file("rtl/_pkg.sv", "no package");
  write_file("rtl/notes.txt", "notes");
  write_file("rtl/.sv", "hidden");
  snprintf(rtl, sizeof rtl, "%s", in_folder("rtl"));
  setenv("PATH", in_folder("bin"), 1);
  setenv("WICK_CACHE", in_folder("cache"), 1);
  wk_status s = wk_machine_read("tiny", &tiny);
  if (!s) s = wk_machine_read("base", &base);
  return s != NULL;
}

static inline int teardown(void **state) {
  char command[64];
  (void)state;
  snprintf(command, sizeof command, "/bin/rm -rf %s", folder);
  return system(command);
}

/* The library; whether it was built for this. */
static inline char *library(wk_sim_build_options o, bool *built) {
  char *path;
  unlink(in_folder("args"));
  if (!o.rtl) o.rtl = rtl;
  wk_status s = wk_sim_build(&o, &path);
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
  *built = access(in_folder("args"), F_OK) == 0;
  assert_int_equal(access(path, R_OK), 0);
  return path;
}

#endif
