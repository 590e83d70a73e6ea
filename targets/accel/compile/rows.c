/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/rows.h"

#include <stdlib.h>

/* A view of one block has no use for the distance between blocks. */
static void tidy(int n, wk_accel_view *x) {
  if (x->first + x->c <= n) x->sb = 0;
  if (x->o == 1) x->so = 0;
}

/* What enters or leaves a part has the rows that its first picture has; where there is none, those
 * that a view steps by. */
static void learn_rows(wk_accel_net *net, const wk_accel_view *x, bool is_picture) {
  if (x->tensor < 0) return;
  wk_accel_tensor *t = &net->tensors.data[x->tensor];
  bool is_edge = t->segment >= WK_SEGMENT_IO;
  int64_t row = t->is_dense ? x->w * x->sx : x->w * net->n;
  int64_t pixel = t->is_dense ? x->sx : net->n;
  if (!is_picture && (x->w - 1) * x->sx + pixel <= x->sy) row = x->sy;
  if (!is_edge || t->rows != 1 || x->h < 2 || x->sy != row || x->offset % (x->h * row) ||
      t->bytes % (x->h * row) || (x->sb && x->sb != x->h * row))
    return;
  t->rows = x->h, t->row = row;
  t->planes = t->bytes / (x->h * row);
}

/* Else as many as there are from one block to the next, of which the view has some. */
static void learn_pitch(wk_accel_net *net, const wk_accel_view *x) {
  if (x->tensor < 0) return;
  wk_accel_tensor *t = &net->tensors.data[x->tensor];
  int64_t row = x->w * net->n;
  bool is_edge = t->segment >= WK_SEGMENT_IO && !t->is_dense;
  if (!is_edge || t->rows != 1 || x->h < 2 || x->sy != row || x->sb <= x->h * row ||
      x->sb % row || t->bytes % x->sb || x->offset % x->sb + x->h * row > x->sb)
    return;
  t->rows = x->sb / row, t->row = row;
  t->planes = t->bytes / x->sb;
}

/* Views of a tensor that go through it by rows, and all of them; of those that write it, too. */
typedef struct {
  int fine, all, written, writers;
  int columns; /* writers that have some columns of its rows alone */
} census;

static void count(const wk_accel_tensor *t, const wk_accel_view *x, bool writes, census *c) {
  bool is_fine = writes ? wk_accel_is_by_rows(t, x) : wk_accel_is_picture(t, x);
  c->all++, c->fine += is_fine;
  c->writers += writes, c->written += writes && is_fine;
  c->columns += writes && is_fine && x->h > 1 && x->w * x->sx < t->row;
}

/* As the tensors are, and as they would be with a row for each pixel. */
typedef struct {
  census now, then;
  wk_accel_tensor by_pixels;
} choice;

/* What is small can be there as a whole. */
static bool is_better(const wk_accel_net *net, const choice *c) {
  return c->by_pixels.bytes > net->machine->scratchpad / 4 && !c->now.columns &&
         c->now.fine < c->now.all &&
         c->then.written == c->then.writers && c->then.fine > c->now.fine;
}

static void count_views(const wk_accel_net *net, choice *all) {
  for (size_t i = 0; i < net->ops.n; i++) {
    const wk_accel_op *op = &net->ops.data[i];
    const wk_accel_view *views[3] = {&op->out, &op->a, &op->b};
    for (int v = 0; v < 3; v++) {
      if (views[v]->tensor < 0) continue;
      choice *c = &all[views[v]->tensor];
      count(&net->tensors.data[views[v]->tensor], views[v], !v, &c->now);
      count(&c->by_pixels, views[v], !v, &c->then);
    }
  }
}

static void choose_rows(wk_accel_net *net) {
  choice *all = wk_xcalloc(net->tensors.n, sizeof *all);
  for (size_t t = 0; t < net->tensors.n; t++) {
    wk_accel_tensor *x = &all[t].by_pixels;
    *x = net->tensors.data[t];
    if (x->is_dense || x->row % net->n) continue;
    x->rows *= x->row / net->n;
    x->row = net->n;
  }
  count_views(net, all);
  for (size_t t = 0; t < net->tensors.n; t++)
    if (is_better(net, &all[t])) net->tensors.data[t] = all[t].by_pixels;
  free(all);
}

void wk_accel_learn_rows(wk_accel_net *net) {
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < net->ops.n; i++) {
      wk_accel_op *op = &net->ops.data[i];
      wk_accel_view *views[3] = {&op->out, &op->a, &op->b};
      for (int v = 0; v < 3; v++) {
        tidy(net->n, views[v]);
        learn_rows(net, views[v], pass == 0);
      }
    }
  for (size_t i = 0; i < net->ops.n; i++) {
    learn_pitch(net, &net->ops.data[i].a);
    learn_pitch(net, &net->ops.data[i].b);
  }
  choose_rows(net);
  for (size_t i = 0; i < net->ops.n; i++) {
    const wk_accel_view *y = &net->ops.data[i].out;
    wk_accel_tensor *t = &net->tensors.data[y->tensor];
    if (!wk_accel_is_by_rows(t, y)) t->planes = t->rows = 1, t->row = t->bytes;
  }
}
