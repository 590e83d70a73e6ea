/* SPDX-License-Identifier: Apache-2.0
 * The models by kind: those in C, and the RTL model, a library that is built and loaded. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/trusted.h"
#include "sim/build.h"

/* The file that has been looked at is the one that is loaded, whatever becomes of its name. Its
 * descriptor stays open like the library: the loader takes two of the same name for one. */
static wk_status open_library(const char *path, void **library) {
  char by_number[40];
  const char *why;
  int fd = wick_open_trusted(path, O_RDONLY, &why);
  if (fd < 0)
    return wk_error_at(WK_IO, path, "cannot load: %s", why ? why : strerror(errno));
  *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (*library) {
    close(fd);
    return NULL;
  }
  snprintf(by_number, sizeof by_number, "/proc/self/fd/%d", fd);
  *library = dlopen(by_number, RTLD_NOW | RTLD_LOCAL);
  if (*library) return NULL;
  close(fd);
  return wk_error_at(WK_IO, path, "cannot load: %s", dlerror());
}

wk_status wk_sim_load(const char *path, const wk_sim_model **model) {
  void *library;
  WK_TRY(open_library(path, &library));
  *model = dlsym(library, WK_SIM_RTL_SYMBOL);
  if (!*model || (*model)->abi != WK_SIM_ABI)
    return wk_error_at(WK_INPUT, path, "this is no RTL model of this version of wick");
  return NULL;
}

wk_status wk_sim_find_rtl(void *options, const wk_machine *m, const wk_sim_model **model) {
  wk_sim_build_options o = {0};
  if (options) o = *(const wk_sim_build_options *)options;
  o.machine = m;
  return wk_sim_model_of(WK_SIM_RTL, &o, model);
}

wk_status wk_sim_model_of(wk_sim_kind kind, const wk_sim_build_options *o,
                          const wk_sim_model **model) {
  static const wk_sim_model *const in_c[] = {[WK_SIM_FUNCTIONAL] = &wk_sim_functional,
                                             [WK_SIM_TIMING] = &wk_sim_timing};
  char *path;
  if (kind != WK_SIM_RTL) {
    *model = in_c[kind];
    return NULL;
  }
  WK_TRY(wk_sim_build(o, &path));
  wk_status s = wk_sim_load(path, model);
  free(path);
  return s;
}
