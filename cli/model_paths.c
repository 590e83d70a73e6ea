/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/model_paths.h"

void wk_binding_paths(wk_paths *p, const wk_binding_args *a) {
  wk_paths_read_named(p, "--value", &a->value);
  wk_paths_read(p, "--init-net", a->init_net);
  wk_paths_read(p, "--value-info", a->value_info);
}

void wk_model_paths(wk_paths *p, const char *path, const wk_onnx_info *info, wk_arena *a) {
  wk_onnx_info own;
  wk_paths_read(p, "the model", path);
  if (!info) {
    wk_status s = wk_net_inspect(path, NULL, &own);
    wk_status_free(s);
    if (s) return;
  }
  const wk_onnx_info *from = info ? info : &own;
  for (size_t i = 0; i < from->external.n; i++) {
    const char *file = wk_arena_strdup(a, from->external.data[i]);
    wk_paths_read(p, wk_arena_printf(a, "weights of the model, %s", file), file);
  }
  if (!info) wk_onnx_info_free(&own);
}
