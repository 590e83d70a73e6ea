/* SPDX-License-Identifier: Apache-2.0
 * Plans that have been found, by the net that they are for: all of it that a search reads. */
#include <stdlib.h>
#include <string.h>

#include "compiler/stream/search.h"

typedef struct {
  char *key;
  size_t bytes;
  wk_sched_plan plan;
  size_t n_resident;
} known_plan;

struct wk_sched_plans {
  WK_VEC(known_plan) list;
  wk_sched_verdicts *verdicts;
};

wk_sched_plans *wk_sched_plans_new(void) {
  wk_sched_plans *p = wk_xcalloc(1, sizeof *p);
  p->verdicts = wk_sched_verdicts_new();
  return p;
}

void wk_sched_plans_free(wk_sched_plans *p) {
  if (!p) return;
  for (size_t i = 0; i < p->list.n; i++) {
    free(p->list.data[i].key);
    wk_sched_plan_free(&p->list.data[i].plan);
  }
  wk_vec_free(&p->list);
  wk_sched_verdicts_free(p->verdicts);
  free(p);
}

wk_sched_verdicts *wk_sched_verdicts_of(wk_sched_plans *p) { return p->verdicts; }

/* ---- keys ------------------------------------------------------------------------------------ */

void wk_sched_put(wk_str *out, const int64_t *numbers, size_t n) {
  wk_str_addn(out, (const char *)numbers, n * sizeof *numbers);
}

static void put_view(wk_str *b, const wk_sched_view *x) {
  WK_SCHED_PUT(b, x->tensor >= 0, x->planes[0], x->planes[1], x->stack, x->stack_rows, x->is_whole,
               x->rows, x->first, x->step, x->extra, x->columns[0], x->columns[1], x->has_window,
               x->stride, x->pad, x->span, x->needs != NULL, x->takes_all);
}

void wk_sched_put_op(wk_str *b, const wk_sched_op *op) {
  put_view(b, &op->out);
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) put_view(b, &op->in[k]);
  WK_SCHED_PUT(b, (int64_t)op->pieces, op->consts >= 0, op->const_bytes, op->one_const,
               op->by_pieces, op->rides, op->same_pitch, op->replaces, op->loads_itself,
               op->takes_parts, op->plane, wk_sched_stacks(op), op->shares_pieces, op->queue);
}

void wk_sched_put_tensor(wk_str *b, const wk_sched_tensor *t) {
  WK_SCHED_PUT(b, t->bytes, t->planes, t->rows, t->row, t->home, t->is_shaped);
}

static void put_net(wk_str *b, const wk_sched_net *net, const wk_sched_options *o) {
  WK_SCHED_PUT(b, o->prefetch, o->effort, o->marks, o->without, (int64_t)net->n_tensors,
               (int64_t)net->n_ops);
  for (size_t t = 0; t < net->n_tensors; t++) wk_sched_put_tensor(b, &net->tensors[t]);
  for (int i = 0; i < (int)net->n_ops; i++) {
    const wk_sched_op *op = &net->ops[i];
    wk_sched_put_op(b, op);
    WK_SCHED_PUT(b, op->out.tensor, op->in[0].tensor, op->in[1].tensor);
    if (net->machine->describe) net->machine->describe(net, i, b);
  }
}

/* ---- plans ----------------------------------------------------------------------------------- */

static wk_sched_plan copy_plan(const wk_sched_plan *p, size_t n_resident) {
  wk_sched_plan y = *p;
  y.resident = wk_xcalloc(n_resident, sizeof *y.resident);
  memset(&y.groups, 0, sizeof y.groups);
  memcpy(y.resident, p->resident, n_resident * sizeof *y.resident);
  for (size_t g = 0; g < p->groups.n; g++) wk_vec_push(&y.groups, p->groups.data[g]);
  return y;
}

static const known_plan *find(const wk_sched_plans *p, const wk_str *key) {
  for (size_t i = 0; i < p->list.n; i++) {
    const known_plan *x = &p->list.data[i];
    if (x->bytes == key->n && !memcmp(x->key, key->s, key->n)) return x;
  }
  return NULL;
}

wk_status wk_sched_find_plan(const wk_sched_net *net, const wk_sched_use *uses,
                             const wk_sched_options *o, wk_sched_plan *out) {
  wk_sched_options search = *o;
  wk_str key = {0};
  if (search.prefetch == WK_PREFETCH_SERIAL) search.prefetch = WK_PREFETCH_AUTO;
  put_net(&key, net, &search);
  const known_plan *x = o->plans && !o->explain ? find(o->plans, &key) : NULL;
  wk_status s = NULL;
  if (x) *out = copy_plan(&x->plan, x->n_resident);
  else s = wk_sched_search(net, uses, &search, out);
  if (!s && !x && o->plans && !o->explain) {
    known_plan y = {.key = wk_xmalloc(key.n), .bytes = key.n, .n_resident = net->n_tensors};
    memcpy(y.key, key.s, key.n);
    y.plan = copy_plan(out, y.n_resident);
    wk_vec_push(&o->plans->list, y);
  }
  wk_str_free(&key);
  return s;
}
