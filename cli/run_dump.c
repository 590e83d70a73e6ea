/* SPDX-License-Identifier: Apache-2.0
 * Intermediate tensors as .npy files. The evaluator has every tensor of the model. A package has
 * what its steps leave: what was fused away does not exist, and what several instructions wrote
 * into one buffer are pieces that are named after the node instead. */
#include <stdlib.h>
#include <string.h>

#include "cli/run.h"
#include "cli/text.h"

typedef struct {
  wk_run_folder folder;
  wk_arena *arena;
  wk_map *named; /* outputs have names of their own: what else is called so is left out */
  wk_status status;
  wick_session *session;
  bool *seen; /* per step: in a loop it comes again */
} dump;

static wk_status write_tensor(dump *d, const char *name, const wk_tensor *t) {
  if (wk_map_get(d->named, name, &(uint32_t){0})) return NULL;
  return wk_run_folder_write(&d->folder, name, t);
}

/* ---- evaluator ------------------------------------------------------------------------------- */

static wk_status after_node(void *ctx, const wk_graph *g, const wk_node *n, const wk_tensor *in,
                            const wk_tensor *out, int depth) {
  dump *d = ctx;
  (void)in;
  if (depth > 0) return NULL;
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != WK_NONE && out[k].data)
      WK_TRY(write_tensor(d, wk_val(g, n->out[k])->name, &out[k]));
  return NULL;
}

/* ---- compiled -------------------------------------------------------------------------------- */

static wk_status dump_tensor(dump *d, uint32_t step, uint32_t k) {
  const wick_step_info *info = &wick_session_entry(d->session)->steps[step];
  const wick_tensor_info *x = &info->tensors[k];
  wk_type type = wk_type_make((wk_dtype)x->dtype, (int)x->rank, x->dims);
  wk_tensor t;
  WK_TRY(wk_tensor_alloc(&type, &t));
  wk_status s = wk_wick_error(wick_session_read_tensor(d->session, step, k, t.data,
                                                       (size_t)wk_type_bytes(&type)),
                              wick_session_error(d->session), NULL);
  if (!s) s = *x->name ? write_tensor(d, x->name, &t)
                       : wk_run_folder_write_part(&d->folder, info->node, &t);
  wk_tensor_free(&t);
  return s;
}

static void after_step(void *ctx, uint32_t step, int after, void *arena) {
  dump *d = ctx;
  uint32_t n = wick_session_entry(d->session)->steps[step].tensor_count;
  (void)arena;
  for (uint32_t k = 0; k < n && after && !d->seen[step] && !d->status; k++)
    d->status = dump_tensor(d, step, k);
  d->seen[step] = d->seen[step] || after;
}

static wk_status dump_session(wk_run_job *job, wk_tensor *out, dump *d) {
  wk_run_buffers b;
  d->session = wk_runner_session(job->runner);
  d->seen = wk_arena_alloc(d->arena, wick_session_entry(d->session)->step_count);
  WK_TRY(wk_run_warm(job, out, &b));
  wk_runner_rewind(job->runner);
  wick_status s = wick_session_run_observed(d->session, b.inputs, b.outputs, after_step, d);
  WK_TRY(d->status);
  return wk_wick_error(s, wick_session_error(d->session), NULL);
}

static wk_status dump_outputs(dump *d, const wk_run_job *job, const wk_tensor *out) {
  for (size_t i = 0; i < wk_runner_outputs(job->runner); i++)
    WK_TRY(wk_run_folder_write(&d->folder, wk_runner_output_name(job->runner, i), &out[i]));
  return NULL;
}

/* ---- which files there may be ---------------------------------------------------------------- */

static void add_file(const wk_run_opts *o, wk_run_job *job, const char *name, uint32_t part,
                     wk_paths *paths) {
  wk_paths_write_in(paths, "--dump-tensors", wk_run_folder_file(job->arena, o->dump, name, part));
}

static void add_steps(const wk_run_opts *o, wk_run_job *job, wk_paths *paths) {
  const wick_entry_info *e = wick_session_entry(wk_runner_session(job->runner));
  wk_map *pieces = wk_map_new();
  for (uint32_t i = 0; i < e->step_count; i++)
    for (uint32_t k = 0; k < e->steps[i].tensor_count; k++) {
      const char *name = e->steps[i].tensors[k].name, *node = e->steps[i].node;
      uint32_t piece = 0;
      if (!*name) {
        wk_map_get(pieces, node, &piece);
        wk_map_put(pieces, node, ++piece);
      }
      add_file(o, job, *name ? name : node, piece, paths);
    }
  wk_map_free(pieces);
}

void wk_run_dump_files(const wk_run_opts *o, wk_run_job *job, wk_paths *paths) {
  for (size_t i = 0; i < wk_runner_outputs(job->runner); i++)
    add_file(o, job, wk_runner_output_name(job->runner, i), 0, paths);
  if (wk_runner_session(job->runner)) {
    add_steps(o, job, paths);
    return;
  }
  const wk_graph *g = wk_runner_module(job->runner)->main;
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    for (uint32_t k = 0; k < n->n_out; k++)
      if (n->out[k] != WK_NONE) add_file(o, job, wk_val(g, n->out[k])->name, 0, paths);
  }
}

/* ---- all ------------------------------------------------------------------------------------- */

wk_status wk_run_dump(const wk_run_opts *o, wk_run_job *job, wk_tensor *out) {
  dump d = {.arena = job->arena, .named = wk_map_new()};
  for (size_t i = 0; i < wk_runner_outputs(job->runner); i++)
    wk_map_put(d.named, wk_runner_output_name(job->runner, i), 1);
  wk_status s = wk_run_folder_open(o->dump, job->arena, &d.folder);
  if (!s && wk_runner_session(job->runner)) {
    s = dump_session(job, out, &d);
  } else if (!s) {
    s = wk_runner_evaluate(job->runner, job->in, out, after_node, &d);
  }
  if (!s) s = dump_outputs(&d, job, out);
  wk_map_free(d.named);
  if (!s)
    wk_notes_add(&job->notes, NULL, "%zu %s in %s%s", d.folder.files.n,
                 d.folder.files.n == 1 ? "tensor" : "tensors", o->dump,
                 wk_runner_session(job->runner) ? " (results of instructions; --target eval has "
                                                  "every tensor of the model)" : "");
  return wk_run_folder_close(&d.folder, s);
}
