/* SPDX-License-Identifier: Apache-2.0
 * Modules compiled for the accelerator, with the processor as the host, and run: for tests. */
#ifndef WICK_TEST_ACCEL_RUN_H
#define WICK_TEST_ACCEL_RUN_H

#include <stdlib.h>
#include <string.h>

#include "cli/verify/compare.h"
#include "compiler/eval/eval.h"
#include "compiler/pipeline/emit.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/pipeline/targets.h"
#include "runtime/wick.h"
#include "sim/device.h"

/* Called with the parts of what has been compiled. */
typedef void accel_count(const wk_parts *parts);

/* m, which is rewritten, as a package. count: NULL ok. */
static inline wk_status accel_compile(wk_module *m, const wk_target_args *args, const char *path,
                                      accel_count *count) {
  wk_targets t;
  wk_parts *parts = NULL;
  wk_pipeline_report report = {0};
  wk_emit_result result = {.scratch_bytes = -1};
  wk_status s = wk_targets_open(args, &t);
  const wk_pipeline_options po = {.targets = &t};
  if (!s) s = wk_pipeline_run(m, &po, &report, &parts);
  if (!s) {
    const wk_emit_entry entry = {"", parts};
    const wk_emit_options o = {.model_name = "random", .command = ""};
    s = wk_emit_package(&t, &entry, 1, &o, path, &result);
  }
  if (!s && count) count(parts);
  wk_parts_free(parts);
  wk_pipeline_report_free(&report);
  wk_targets_close(&t);
  return s;
}

static inline wk_status accel_load(const char *path, wick_model **model, wick_session **session) {
  wick_error_detail why = {{0}};
  const wick_load_options lo = {.size = sizeof lo, .detail = &why};
  wick_status s = wick_model_load(path, &lo, model);
  *session = NULL;
  if (s != WICK_OK) return wk_error(WK_INTERNAL, "%s: %s", wick_status_text(s), why.text);
  const wick_session_options so = {.size = sizeof so, .threads = 1, .detail = &why};
  s = wick_session_create_with(*model, 0, &so, session);
  if (s == WICK_OK) return NULL;
  wick_model_free(*model);
  return wk_error(WK_INTERNAL, "%s: %s", wick_status_text(s), why.text);
}

/* A run of the package of g; `out` gets its memory here. */
static inline wk_status accel_run(const char *path, const wk_graph *g, const wk_tensor *in,
                                  wk_tensor *out) {
  enum { MOST = 128 };
  const void *inputs[MOST];
  void *outputs[MOST];
  wick_model *model;
  wick_session *session;
  if (g->inputs.n > MOST || g->outputs.n > MOST)
    return wk_error(WK_UNSUPPORTED, "more than %d inputs or outputs", MOST);
  WK_TRY(accel_load(path, &model, &session));
  for (size_t i = 0; i < g->inputs.n; i++) inputs[i] = in[i].data;
  for (size_t i = 0; i < g->outputs.n; i++) {
    wk_status_free(wk_tensor_alloc(&wk_val(g, g->outputs.data[i])->type, &out[i]));
    outputs[i] = out[i].data;
  }
  wick_status s = wick_session_run(session, inputs, outputs);
  wk_status y = NULL;
  if (s != WICK_OK)
    y = wk_error(WK_INTERNAL, "%s: %s", wick_status_text(s), wick_session_error(session));
  wick_session_free(session);
  wick_model_free(model);
  return y;
}

/* What the steps of the package leave, on the functional model, is what the evaluator computes of
 * the same name. *steps: how many were compared, *different: not equal; the first ones are
 * printed. */
static inline wk_status accel_compare_steps(const char *path, const wk_graph *g,
                                            const wk_tensor *in, size_t *steps,
                                            size_t *different) {
  const wk_compare_opts o = {.rtol = -1, .atol = -1};
  wk_comparison c = {.o = &o, .arena = wk_arena_new(), .indent = ""};
  const void *inputs[WK_RUNNER_MAX_IO];
  wick_model *model = NULL;
  wick_session *session = NULL;
  for (size_t i = 0; i < g->inputs.n; i++) inputs[i] = in[i].data;
  wk_status s = accel_load(path, &model, &session);
  if (!s) {
    s = wk_compare_steps(&c, session, g, "", inputs);
    wick_session_free(session);
    wick_model_free(model);
  }
  *steps = c.count.layers;
  *different = c.count.different;
  wk_arena_free(c.arena);
  return s;
}

#endif
