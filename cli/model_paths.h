/* SPDX-License-Identifier: Apache-2.0
 * The files of a model, among those of a command. */
#ifndef WICK_CLI_MODEL_PATHS_H
#define WICK_CLI_MODEL_PATHS_H

#include "cli/paths.h"
#include "compiler/pipeline/model.h"

/* The files that the options name, among those that are read. */
void wk_binding_paths(wk_paths *p, const wk_binding_args *a);
/* The same for a model: its file and those of its external data, which info lists; texts are in the
 * arena. Without info the file is read; what is no model has no such files. */
void wk_model_paths(wk_paths *p, const char *path, const wk_onnx_info *info, wk_arena *a);

#endif
