/* SPDX-License-Identifier: Apache-2.0
 * Many graphs in one package for OpenCL: drivers compile its kernels together, which is much less
 * work than one program after the other. Each graph is an entry. */
#ifndef WICK_TESTS_OPENCL_BATCH_H
#define WICK_TESTS_OPENCL_BATCH_H

#include <stdlib.h>

#include "compiler/pipeline/pipeline.h"
#include "compiler/pipeline/runner.h"

typedef struct {
  const wk_targets *targets;
  size_t n;
  wk_module **copies; /* of the modules; compiling changes them */
  wk_emit_entry *entries;
  wick_model *model;
  size_t nodes, device_nodes; /* nodes of all parts, and of those on the first target */
} opencl_batch;

static void opencl_batch_free(opencl_batch *b) {
  wick_model_free(b->model);
  for (size_t i = 0; i < b->n; i++) {
    wk_parts_free((wk_parts *)b->entries[i].parts);
    wk_module_free(b->copies[i]);
  }
  free(b->entries);
  free(b->copies);
}

static wk_status opencl_batch_add(opencl_batch *b, const wk_module *m) {
  static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                      "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"};
  const wk_pipeline_options o = {.targets = b->targets};
  wk_pipeline_report report = {0};
  wk_parts *parts = NULL;
  b->copies[b->n] = wk_module_clone(m);
  wk_status s = wk_pipeline_run(b->copies[b->n], &o, &report, &parts);
  b->entries[b->n] = (wk_emit_entry){names[b->n % 20], parts};
  b->n++;
  wk_pipeline_report_free(&report);
  for (size_t i = 0; !s && i < parts->parts.n; i++) {
    b->nodes += (size_t)parts->parts.data[i].nodes;
    if (parts->parts.data[i].target == 0) b->device_nodes += (size_t)parts->parts.data[i].nodes;
  }
  return s;
}

static wk_status opencl_batch_load(opencl_batch *b) {
  const wk_emit_options o = {.model_name = "batch", .command = ""};
  wk_emit_result result = {.scratch_bytes = -1};
  wick_error_detail detail = {{0}};
  const wick_load_options lo = {.size = sizeof lo, .detail = &detail};
  wk_nameless f;
  WK_TRY(wk_nameless_open(&f));
  wk_status s = wk_emit_package(b->targets, b->entries, b->n, &o, f.path, &result);
  if (!s) s = wk_wick_error(wick_model_load(f.path, &lo, &b->model), detail.text, NULL);
  wk_nameless_close(&f);
  return s;
}

/* At most 20. Free it also after an error. */
static wk_status opencl_batch_make(opencl_batch *b, const wk_targets *t, wk_module *const *modules,
                                   size_t n) {
  *b = (opencl_batch){.targets = t, .copies = wk_xcalloc(n + 1, sizeof *b->copies),
                      .entries = wk_xcalloc(n + 1, sizeof *b->entries)};
  for (size_t i = 0; i < n; i++) WK_TRY(opencl_batch_add(b, modules[i]));
  return opencl_batch_load(b);
}

/* Outputs are allocated. */
static wk_status opencl_batch_run(const opencl_batch *b, uint32_t entry, const wk_tensor *in,
                                  wk_tensor *out) {
  const void *inputs[WK_RUNNER_MAX_IO];
  void *outputs[WK_RUNNER_MAX_IO];
  const wick_entry_info *e = wick_model_entry(b->model, entry);
  wick_session *session = NULL;
  if (e->input_count > WK_RUNNER_MAX_IO || e->output_count > WK_RUNNER_MAX_IO)
    return wk_error(WK_UNSUPPORTED, "more than %d inputs or outputs", WK_RUNNER_MAX_IO);
  for (uint32_t i = 0; i < e->input_count; i++) inputs[i] = in[i].data;
  for (uint32_t i = 0; i < e->output_count; i++) {
    const wick_tensor_info *t = &e->outputs[i];
    wk_type type = wk_type_make((wk_dtype)t->dtype, (int)t->rank, t->dims);
    WK_TRY(wk_tensor_alloc(&type, &out[i]));
    outputs[i] = out[i].data;
  }
  WK_TRY(wk_open_session(b->model, entry, 1, NULL, &session));
  wk_status s = wk_wick_error(wick_session_run(session, inputs, outputs),
                              wick_session_error(session), NULL);
  wick_session_free(session);
  return s;
}

#endif
