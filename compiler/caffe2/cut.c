/* SPDX-License-Identifier: Apache-2.0
 * A net that ends at blobs: they are its outputs, as the last operators leave them that make them,
 * and operators that they do not depend on leave both nets. A blob may be made anew in its place,
 * so that operators are looked at from the last one on. */
#include "compiler/caffe2/translate.h"

#include <stdlib.h>
#include <string.h>

typedef enum { NOT_NEEDED, NEEDED } need;

static bool is_needed(const wk_map *blobs, const char *name) {
  uint32_t found = NOT_NEEDED;
  return wk_map_get(blobs, name, &found) && found == NEEDED;
}

/* Operators that make needed blobs stay, and need what they read in turn. */
static void keep_needed(wk_map *blobs, const Caffe2__NetDef *net) {
  Caffe2__NetDef *own = (Caffe2__NetDef *)(uintptr_t)net; /* the translation's */
  size_t first = own->n_op;
  for (size_t i = own->n_op; i-- > 0;) {
    Caffe2__OperatorDef *op = own->op[i];
    bool is_kept = false;
    for (size_t k = 0; k < op->n_output; k++) is_kept |= is_needed(blobs, op->output[k]);
    if (!is_kept) continue;
    for (size_t k = 0; k < op->n_output; k++) wk_map_put(blobs, op->output[k], NOT_NEEDED);
    for (size_t k = 0; k < op->n_input; k++) wk_map_put(blobs, op->input[k], NEEDED);
    own->op[--first] = op;
  }
  own->n_op -= first;
  own->op += first;
}

static wk_status check_name(wk_map *blobs, const Caffe2__NetDef *net, const char *name) {
  WK_VEC(const char *) names = {0};
  bool is_made = false;
  for (size_t i = 0; i < net->n_op; i++)
    for (size_t k = 0; k < net->op[i]->n_output; k++) {
      wk_vec_push(&names, net->op[i]->output[k]);
      is_made = is_made || !strcmp(name, net->op[i]->output[k]);
    }
  const char *near = is_made ? NULL : wk_nearest(name, names.data, names.n);
  wk_vec_free(&names);
  if (is_needed(blobs, name)) return wk_error(WK_USAGE, "--cut %s: is named twice", name);
  if (is_made) return NULL;
  if (!near) return wk_error(WK_USAGE, "--cut %s: no operator of the net makes such a blob", name);
  return wk_error(WK_USAGE, "--cut %s: no operator of the net makes such a blob; did you mean "
                  "'%s'?", name, near);
}

wk_status wk_c2_cut(wk_c2 *c, const Caffe2__NetDef *predict, const Caffe2__NetDef *init) {
  const wk_import_options *o = c->opt;
  if (!o->n_cut) return NULL;
  wk_map *blobs = wk_map_new();
  wk_status s = NULL;
  for (size_t i = 0; !s && i < o->n_cut; i++) {
    s = check_name(blobs, predict, o->cut[i]);
    wk_map_put(blobs, o->cut[i], NEEDED);
  }
  if (!s) {
    Caffe2__NetDef *own = (Caffe2__NetDef *)(uintptr_t)predict;
    keep_needed(blobs, predict);
    if (init) keep_needed(blobs, init);
    own->n_external_output = o->n_cut;
    own->external_output = wk_arena_memdup(c->arena, o->cut, o->n_cut * sizeof *o->cut);
  }
  wk_map_free(blobs);
  return s;
}

/* ---- where to cut -------------------------------------------------------------------------- */

typedef enum { MADE, LOST } fate; /* of what a blob holds so far */

typedef struct {
  wk_map *blobs;             /* name -> fate, of those that operators of the net make */
  wk_map *ends;              /* names in the report's list */
  WK_VEC(const char *) list; /* the same */
  size_t next;               /* of those that are refused */
} walk;

/* Of operators in the order in which they have been translated. */
static bool is_refused(walk *w, const wk_c2 *c, const Caffe2__OperatorDef *op) {
  bool found = w->next < c->refused.n && c->refused.data[w->next] == op;
  w->next += found;
  return found;
}

static void add_end(walk *w, const char *name) {
  uint32_t found;
  if (!wk_map_get(w->blobs, name, &found) || found == LOST) return;
  if (wk_map_get(w->ends, name, &found)) return;
  wk_map_put(w->ends, name, 1);
  wk_vec_push(&w->list, name);
}

/* A weight that is refused is lost, others are none that a net would end at. */
static void walk_filler(walk *w, const wk_c2 *c, const Caffe2__OperatorDef *op) {
  bool is_lost = is_refused(w, c, op);
  for (size_t k = 0; k < op->n_output && is_lost; k++) wk_map_put(w->blobs, op->output[k], LOST);
}

/* False: what the cut would need is a blob that is made anew later on, which no name stands for. */
static bool walk_op(walk *w, const wk_c2 *c, const Caffe2__OperatorDef *op) {
  uint32_t found;
  bool is_lost = is_refused(w, c, op);
  for (size_t k = 0; k < op->n_input && !is_lost; k++)
    is_lost = wk_map_get(w->blobs, op->input[k], &found) && found == LOST;
  for (size_t k = 0; k < op->n_input && is_lost; k++) add_end(w, op->input[k]);
  for (size_t k = 0; k < op->n_output; k++) {
    if (wk_map_get(w->ends, op->output[k], &found)) return false;
    wk_map_put(w->blobs, op->output[k], is_lost ? LOST : MADE);
  }
  return true;
}

void wk_c2_find_cut(wk_c2 *c, const Caffe2__NetDef *net, const Caffe2__NetDef *init) {
  walk w = {.blobs = wk_map_new(), .ends = wk_map_new()};
  bool ok = c->refused.n > 0;
  for (size_t i = 0; ok && init && i < init->n_op; i++) walk_filler(&w, c, init->op[i]);
  for (size_t i = 0; ok && i < net->n_op; i++) ok = walk_op(&w, c, net->op[i]);
  for (size_t i = 0; ok && i < net->n_external_output; i++) add_end(&w, net->external_output[i]);
  for (size_t i = 0; ok && i < w.list.n; i++)
    wk_vec_push(&c->rep->cut, wk_arena_strdup(c->rep->arena, w.list.data[i]));
  wk_map_free(w.blobs);
  wk_map_free(w.ends);
  wk_vec_free(&w.list);
}
