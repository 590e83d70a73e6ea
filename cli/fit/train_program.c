/* SPDX-License-Identifier: Apache-2.0
 * Steps, evaluation and the model itself become entries of one package. */
#include <stdlib.h>
#include <string.h>

#include "cli/fit/train.h"

/* ---- compiling ------------------------------------------------------------------------------- */

static wk_status compile_all(wk_train_entry *entries, size_t n, const wk_targets *t,
                             const wk_train_compiling *o, const char *path, wk_train_cost *cost) {
  wk_emit_entry *made = wk_xcalloc(n, sizeof *made);
  const wk_emit_options emit = {.model_name = o->model_name, .command = o->command,
                                .input_hash = o->input_hash};
  const wk_pipeline_options po = {.targets = t, .memory_budget = o->memory_budget};
  wk_emit_result result = {.scratch_bytes = -1};
  wk_status s = wk_targets_check_here(t, &o->target);
  for (size_t i = 0; i < n && !s; i++) {
    wk_pipeline_report report = {0};
    made[i].name = entries[i].name;
    s = wk_pipeline_fit(&entries[i].module, &po, &report, &made[i].parts);
    if (i == 0 && cost) *cost = (wk_train_cost){report.macs, report.remat};
    wk_pipeline_report_free(&report);
    for (size_t k = 0; !s && k < made[i].parts->parts.n; k++) {
      wk_program *p = made[i].parts->parts.data[k].program;
      p->name = wk_arena_strdup(p->arena, entries[i].name);
    }
  }
  if (!s && o->output) s = wk_emit_output(o->output, t->list[0], made, n, &emit, path, &result);
  else if (!s) s = wk_emit_package(t, made, n, &emit, path, &result);
  for (size_t i = 0; i < n; i++) wk_parts_free(made[i].parts);
  free(made);
  return s;
}

wk_status wk_train_compile(wk_train_entry *entries, size_t n, const wk_train_compiling *o,
                           const char *path, wk_train_cost *cost) {
  wk_targets t;
  wk_status s = wk_targets_open(&o->target, &t);
  if (!s) s = compile_all(entries, n, &t, o, path, cost);
  wk_targets_close(&t);
  return s;
}

/* ---- running --------------------------------------------------------------------------------- */

static wk_status make_room(const wick_tensor_info *t, size_t n, void ***out) {
  *out = wk_xcalloc(n, sizeof **out);
  for (size_t i = 0; i < n; i++) WK_TRY(wk_try_malloc(t[i].bytes ? t[i].bytes : 1, &(*out)[i]));
  return NULL;
}

wk_status wk_train_program_open(const wick_model *m, uint32_t entry, wick_state *state,
                                int64_t threads, wk_train_program *out) {
  *out = (wk_train_program){0};
  WK_TRY(wk_open_session(m, entry, threads, NULL, &out->session));
  out->entry = wick_session_entry(out->session);
  WK_TRY(make_room(out->entry->inputs, out->entry->input_count, &out->in));
  WK_TRY(make_room(out->entry->outputs, out->entry->output_count, &out->out));
  return wk_wick_error(wick_session_bind_state(out->session, state), NULL, NULL);
}

static void free_list(void **list, size_t n) {
  for (size_t i = 0; list && i < n; i++) free(list[i]);
  free(list);
}

void wk_train_program_close(wk_train_program *p) {
  if (p->entry) {
    free_list(p->in, p->entry->input_count);
    free_list(p->out, p->entry->output_count);
  }
  wick_session_free(p->session);
  *p = (wk_train_program){0};
}

wk_status wk_train_program_run(wk_train_program *p) {
  wick_status s = wick_session_run(p->session, (const void *const *)p->in, p->out);
  return wk_wick_error(s, wick_session_error(p->session), NULL);
}
