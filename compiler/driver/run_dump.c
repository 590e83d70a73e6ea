/* SPDX-License-Identifier: Apache-2.0
 * Intermediate tensors as .npy files. The evaluator has every tensor of the model. A compiled
 * program has the results of its instructions: what was fused away does not exist, and what several
 * instructions wrote into one buffer are parts that are named after the node instead. */
#include <stdlib.h>
#include <string.h>

#include "compiler/driver/run.h"
#include "compiler/driver/text.h"
#include "compiler/driver/view.h"

typedef struct {
  wk_run_folder folder;
  wk_arena *arena;
  wk_map *named; /* outputs have names of their own: what else is called so is left out */
  wk_status status;
  const wk_program *program;
  uint32_t *writers;    /* per buffer: instructions that write it */
  void *const *outputs;
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

static void *address(const dump *d, uint32_t buffer, void *arena) {
  const wk_buffer *b = &d->program->buffers.data[buffer];
  if (b->region == WK_REGION_OUTPUT) return d->outputs[b->io];
  return b->region == WK_REGION_ACT ? (char *)arena + b->offset : NULL;
}

static wk_status dump_operand(dump *d, const wk_inst *i, const wk_view *v, void *arena) {
  const char *base = address(d, v->buffer, arena);
  wk_tensor t;
  if (!base) return NULL;
  WK_TRY(wk_view_gather(v, base, &t));
  const wk_buffer *b = &d->program->buffers.data[v->buffer];
  bool whole = wk_type_bytes(&t.type) == b->size && d->writers[v->buffer] == 1;
  wk_status s = whole ? write_tensor(d, b->name, &t)
                      : wk_run_folder_write_part(&d->folder, i->name, &t);
  wk_tensor_free(&t);
  return s;
}

/* Bodies of branches and nests have run as a part of their owner's step. Loop bodies leave the last
 * iteration behind, which no tensor of the model is. */
static void after_step(void *ctx, uint32_t step, int after, void *arena) {
  dump *d = ctx;
  WK_VEC(const wk_inst *) todo = {0};
  if (after) wk_vec_push(&todo, d->program->body.insts.data[step]);
  for (size_t at = 0; at < todo.n && !d->status; at++) {
    const wk_inst *i = todo.data[at];
    for (uint32_t k = 0; k < i->n_operands && !d->status; k++)
      if (i->operands[k].buffer != WK_NONE && i->operands[k].role != WK_ROLE_IN)
        d->status = dump_operand(d, i, &i->operands[k], arena);
    for (uint32_t b = 0; b < i->n_bodies && i->op == WK_OP_NEST; b++)
      for (size_t k = 0; k < i->bodies[b].insts.n; k++)
        wk_vec_push(&todo, i->bodies[b].insts.data[k]);
  }
  wk_vec_free(&todo);
}

static void count_writers(dump *d) {
  wk_inst_pos *all;
  size_t n = wk_program_flatten(d->program, d->arena, &all);
  d->writers = wk_arena_alloc(d->arena, (d->program->buffers.n + 1) * sizeof *d->writers);
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < all[i].inst->n_operands; k++) {
      const wk_view *v = &all[i].inst->operands[k];
      if (v->buffer != WK_NONE && v->role != WK_ROLE_IN) d->writers[v->buffer]++;
    }
}

static wk_status dump_session(wk_run_job *job, wk_tensor *out, dump *d) {
  const void *inputs[WK_RUNNER_MAX_IO];
  void *outputs[WK_RUNNER_MAX_IO];
  d->program = wk_runner_program(job->runner);
  d->outputs = outputs;
  count_writers(d);
  WK_TRY(wk_runner_run(job->runner, job->in, out)); /* checked, outputs allocated */
  for (size_t i = 0; i < wk_runner_inputs(job->runner); i++) inputs[i] = job->in[i].data;
  for (size_t i = 0; i < wk_runner_outputs(job->runner); i++) outputs[i] = out[i].data;
  wick_status s = wick_session_run_observed(wk_runner_session(job->runner), inputs, outputs,
                                            after_step, d);
  WK_TRY(d->status);
  return wk_wick_error(s, NULL, NULL);
}

static wk_status dump_outputs(dump *d, const wk_run_job *job, const wk_tensor *out) {
  for (size_t i = 0; i < wk_runner_outputs(job->runner); i++)
    WK_TRY(wk_run_folder_write(&d->folder, wk_runner_output_name(job->runner, i), &out[i]));
  return NULL;
}

/* ---- which files there may be ---------------------------------------------------------------- */

static void add_file(const wk_run_opts *o, wk_run_job *job, const char *name, uint32_t part,
                     wk_paths *paths) {
  wk_paths_write(paths, "--dump-tensors", wk_run_folder_file(job->arena, o->dump, name, part));
}

static void add_program(const wk_run_opts *o, wk_run_job *job, wk_paths *paths) {
  const wk_program *p = wk_runner_program(job->runner);
  wk_map *parts = wk_map_new();
  wk_inst_pos *all;
  size_t n = wk_program_flatten(p, job->arena, &all);
  for (size_t b = 0; b < p->buffers.n; b++)
    if (p->buffers.data[b].name) add_file(o, job, p->buffers.data[b].name, 0, paths);
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < all[i].inst->n_operands; k++) {
      const wk_view *v = &all[i].inst->operands[k];
      const char *name = all[i].inst->name;
      uint32_t part = 0;
      if (!name || v->buffer == WK_NONE || v->role == WK_ROLE_IN) continue;
      wk_map_get(parts, name, &part);
      wk_map_put(parts, name, part + 1);
      add_file(o, job, name, part + 1, paths);
    }
  wk_map_free(parts);
}

void wk_run_dump_files(const wk_run_opts *o, wk_run_job *job, wk_paths *paths) {
  for (size_t i = 0; i < wk_runner_outputs(job->runner); i++)
    add_file(o, job, wk_runner_output_name(job->runner, i), 0, paths);
  if (wk_runner_session(job->runner)) {
    add_program(o, job, paths);
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
    for (size_t i = 0; i < wk_runner_outputs(job->runner); i++) wk_tensor_free(&out[i]);
    s = wk_eval_graph(wk_runner_module(job->runner)->main, job->in, out, after_node, &d);
  }
  if (!s) s = dump_outputs(&d, job, out);
  wk_map_free(d.named);
  if (!s)
    wk_str_printf(&job->notes, "wick: %zu %s in %s%s\n", d.folder.files.n,
                  d.folder.files.n == 1 ? "tensor" : "tensors", o->dump,
                  wk_runner_session(job->runner) ? " (results of instructions; --target eval has "
                                                   "every tensor of the model)" : "");
  return wk_run_folder_close(&d.folder, s);
}
