/* SPDX-License-Identifier: Apache-2.0
 * The tensors of a file that derivatives are asked for. They are chosen from what the file has,
 * before anything is computed from them: a tensor that is used twice is one. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fit/grad.h"

wk_status wk_grad_open(wk_grad_job *d, const wk_grad_opts *o, const char *path) {
  d->job = (wk_run_job){.arena = d->arena, .list_all = o->verbose};
  return wk_run_import(&d->job, path, &o->binding, &o->input, WK_FOR_DERIVATIVES, &d->report,
                       &d->m);
}

void wk_grad_close(wk_grad_job *d) {
  wk_vec_free(&d->of);
  wk_vec_free(&d->leaves);
  wk_module_free(d->m);
  wk_import_report_free(&d->report);
  wk_run_job_free(&d->job); /* and the arena */
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static bool matches(const wk_strings *globs, const char *name) {
  for (size_t i = 0; i < globs->n; i++)
    if (!fnmatch(globs->data[i], name, 0)) return true;
  return false;
}

static wk_value_id find_constant(const wk_graph *g, const char *name) {
  uint32_t v;
  return wk_map_get(g->names, name, &v) && wk_is_const(g, v) ? v : WK_NONE;
}

static void add_leaf(wk_grad_job *d, const char *name, const wk_type *t, wk_value_id v,
                     bool is_read) {
  const wk_grad_leaf leaf = {name, *t, v, WK_NONE, is_read};
  if (wk_dtype_is_float(t->dtype)) wk_vec_push(&d->leaves, leaf);
}

static void choose(wk_grad_job *d, const wk_grad_opts *o) {
  const wk_strings *wrt = &o->wrt;
  const wk_graph *g = d->m->main;
  for (size_t i = 0; i < g->inputs.n; i++) {
    const wk_value *v = wk_val(g, g->inputs.data[i]);
    if (!wrt->n || matches(wrt, v->name)) add_leaf(d, v->name, &v->type, g->inputs.data[i], false);
  }
  for (size_t i = 0; i < d->report.weights.n; i++) {
    const wk_import_weight *w = &d->report.weights.data[i];
    if (wrt->n ? matches(wrt, w->name) : !w->is_node || o->check)
      add_leaf(d, w->name, &w->type, find_constant(g, w->name), w->is_read);
  }
}

static wk_status no_leaf(const wk_grad_job *d, const char *glob) {
  const wk_graph *g = d->m->main;
  size_t n = 0;
  const char **names =
      wk_arena_alloc(d->arena, (g->inputs.n + d->report.weights.n) * sizeof *names);
  for (size_t i = 0; i < g->inputs.n; i++)
    if (wk_dtype_is_float(wk_val(g, g->inputs.data[i])->type.dtype))
      names[n++] = wk_val(g, g->inputs.data[i])->name;
  for (size_t i = 0; i < d->report.weights.n; i++) names[n++] = d->report.weights.data[i].name;
  const char *near = wk_nearest(glob, names, n);
  return wk_error(WK_USAGE, "--wrt %s: no input and no weight of floats has such a name%s%s%s",
                  glob, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

wk_status wk_grad_choose(wk_grad_job *d, const wk_grad_opts *o) {
  choose(d, o);
  for (size_t i = 0; i < o->wrt.n; i++) {
    bool found = false;
    for (size_t k = 0; k < d->leaves.n; k++)
      found = found || !fnmatch(o->wrt.data[i], d->leaves.data[k].name, 0);
    if (!found) return no_leaf(d, o->wrt.data[i]);
  }
  return d->leaves.n ? NULL
                     : wk_error(WK_INPUT, "no input and no weight is of floats: there is nothing "
                                "to differentiate with respect to");
}

/* ---- inputs ---------------------------------------------------------------------------------- */

wk_status wk_grad_inputs(wk_grad_job *d, const wk_grad_opts *o, wk_tensor *in) {
  const wk_graph *g = d->m->main;
  wk_rng rng = {(uint64_t)o->seed};
  for (size_t k = 0; k < g->inputs.n; k++) {
    const wk_value *v = wk_val(g, g->inputs.data[k]);
    const wk_tensor *given;
    WK_TRY(wk_tensor_random(&v->type, &rng, &in[k]));
    WK_TRY(wk_run_given(&d->job, v->name, &v->type, &given));
    if (given) memcpy(in[k].data, given->data, (size_t)wk_type_bytes(&v->type));
  }
  return NULL;
}
