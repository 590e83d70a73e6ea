/* SPDX-License-Identifier: Apache-2.0
 * The models by kind: those in C, and the RTL model, a library that is built and loaded. */
#include <dlfcn.h>
#include <stdlib.h>

#include "sim/build.h"

wk_status wk_sim_load(const char *path, const wk_sim_model **model) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return wk_error_at(WK_IO, path, "cannot load: %s", dlerror());
  *model = dlsym(library, WK_SIM_RTL_SYMBOL);
  if (!*model || (*model)->abi != WK_SIM_ABI)
    return wk_error_at(WK_INPUT, path, "this is no RTL model of this version of wick");
  return NULL;
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
