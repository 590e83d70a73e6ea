/* SPDX-License-Identifier: Apache-2.0
 * Plans that have been found, by the net that they are for: all of it that a search reads. */
#include <stdlib.h>
#include <string.h>

#include "targets/accel/compile/compile.h"

typedef struct {
  char *key;
  size_t bytes;
  wk_accel_plan plan;
  size_t n_resident;
} known_plan;

struct wk_accel_plans {
  WK_VEC(known_plan) list;
};

wk_accel_plans *wk_accel_plans_new(void) { return wk_xcalloc(1, sizeof(wk_accel_plans)); }

void wk_accel_plans_free(wk_accel_plans *p) {
  if (!p) return;
  for (size_t i = 0; i < p->list.n; i++) {
    free(p->list.data[i].key);
    wk_accel_plan_free(&p->list.data[i].plan);
  }
  wk_vec_free(&p->list);
  free(p);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Numbers one by one: structs have padding, which is not always the same. */
static void put(wk_str *b, const int64_t *x, size_t n) {
  wk_str_addn(b, (const char *)x, n * sizeof *x);
}

#define PUT(b, ...)                               \
  do {                                            \
    const int64_t numbers[] = {__VA_ARGS__};      \
    put(b, numbers, sizeof numbers / sizeof *numbers); \
  } while (0)

static void put_view(wk_str *b, const wk_accel_view *x) {
  PUT(b, x->tensor, x->offset, x->o, x->c, x->h, x->w, x->so, x->sb, x->sy, x->sx, x->first);
}

static void put_op(wk_str *b, const wk_accel_op *op) {
  put_view(b, &op->out), put_view(b, &op->a), put_view(b, &op->b);
  PUT(b, op->kind, op->fn, op->a_u8, op->b_u8, op->a_zero, op->b_zero, op->ky, op->kx, op->sy,
      op->sx, op->dy, op->dx, op->pad_t, op->pad_l, op->has_window, op->is_packed, op->columns,
      op->is_flat, op->kc, op->k_tail, op->is_transposed, op->is_splat, op->const_tensor,
      op->const_bytes, op->record_bytes, op->one_const, op->tables, op->leaves_lanes,
      (int64_t)op->n_pieces);
  for (size_t i = 0; i < op->n_pieces; i++)
    PUT(b, op->pieces[i].c, op->pieces[i].n, op->pieces[i].width);
}

static void put_net(wk_str *b, const wk_accel_net *net, const wk_accel_options *o) {
  PUT(b, o->prefetch, o->effort, o->marks, o->without, (int64_t)net->tensors.n,
      (int64_t)net->ops.n);
  for (size_t t = 0; t < net->tensors.n; t++) {
    const wk_accel_tensor *x = &net->tensors.data[t];
    PUT(b, x->bytes, x->planes, x->rows, x->row, x->segment, x->is_dense);
  }
  for (size_t i = 0; i < net->ops.n; i++) put_op(b, &net->ops.data[i]);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static wk_accel_plan copy_plan(const wk_accel_plan *p, size_t n_resident) {
  wk_accel_plan y = *p;
  y.resident = wk_xcalloc(n_resident, sizeof *y.resident);
  memset(&y.groups, 0, sizeof y.groups);
  memcpy(y.resident, p->resident, n_resident * sizeof *y.resident);
  for (size_t g = 0; g < p->groups.n; g++) wk_vec_push(&y.groups, p->groups.data[g]);
  return y;
}

static const known_plan *find(const wk_accel_plans *p, const wk_str *key) {
  for (size_t i = 0; i < p->list.n; i++) {
    const known_plan *x = &p->list.data[i];
    if (x->bytes == key->n && !memcmp(x->key, key->s, key->n)) return x;
  }
  return NULL;
}

wk_status wk_accel_find_plan(const wk_accel_net *net, const wk_accel_use *uses,
                             const wk_accel_options *o, wk_accel_plan *out) {
  wk_accel_options search = *o;
  wk_str key = {0};
  if (search.prefetch == WK_PREFETCH_SERIAL) search.prefetch = WK_PREFETCH_AUTO;
  put_net(&key, net, &search);
  const known_plan *x = o->plans && !o->explain ? find(o->plans, &key) : NULL;
  wk_status s = NULL;
  if (x) *out = copy_plan(&x->plan, x->n_resident);
  else s = wk_accel_search(net, uses, &search, out);
  if (!s && !x && o->plans && !o->explain) {
    known_plan y = {.key = wk_xmalloc(key.n), .bytes = key.n, .n_resident = net->tensors.n};
    memcpy(y.key, key.s, key.n);
    y.plan = copy_plan(out, y.n_resident);
    wk_vec_push(&o->plans->list, y);
  }
  wk_str_free(&key);
  return s;
}
