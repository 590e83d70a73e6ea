/* SPDX-License-Identifier: Apache-2.0
 * What a group of a plan may be. */
#include "compiler/stream/search.h"

typedef wk_sched_searching searching;

static bool within(int i, int first, int last) { return i >= first && i <= last; }

/* What the operators write of the tensor, and no other one does, is a block of planes and columns
 * without gaps: as much is stored together. */
static bool write_a_block(const searching *x, int first, int last, int tensor) {
  const wk_sched_tensor *t = &x->net->tensors[tensor];
  int64_t all[2] = {INT64_MAX, 0}, bytes = 0;
  const wk_sched_view *one = NULL;
  bool same_columns = true, same_planes = true;
  for (int i = first; i <= last; i++) {
    const wk_sched_view *y = &x->net->ops[i].out;
    int64_t own[2];
    if (y->tensor != tensor) continue;
    wk_sched_columns_of(t, y, own);
    bytes += own[1] - own[0];
    same_columns = same_columns && (!one || (own[0] == all[0] && own[1] == all[1]));
    wk_sched_join_columns(t, y, all);
    if (!one) one = y;
    same_planes = same_planes && y->planes[0] == one->planes[0] && y->planes[1] == one->planes[1];
  }
  return same_columns || (same_planes && bytes >= all[1] - all[0]);
}

bool wk_sched_is_group(const searching *x, int first, int last) {
  for (size_t t = 0; t < x->net->n_tensors; t++) {
    const wk_sched_use *u = &x->uses[t];
    if (u->first_writer < 0 || u->first_writer == u->last_writer) continue;
    bool all = within(u->first_writer, first, last) && within(u->last_writer, first, last);
    bool is_written = false, is_read = false;
    for (int i = first; i <= last && !all; i++) {
      const wk_sched_op *op = &x->net->ops[i];
      is_written = is_written || op->out.tensor == (int)t;
      for (int k = 0; k < WK_SCHED_OPERANDS; k++)
        is_read = is_read || op->in[k].tensor == (int)t;
    }
    if (is_written && (is_read || x->is_tied[t] || !write_a_block(x, first, last, (int)t)))
      return false;
  }
  return true;
}

bool wk_sched_may_stagger(const searching *x, const wk_sched_group *g) {
  bool overlaps = g->strips > 1 || (g->rounds > 1 && x->plan.limit != 1);
  return overlaps && !wk_sched_leaves_out(x, WK_SCHED_STAGGER) &&
         wk_sched_stages(x->net, g) > 1;
}

bool wk_sched_may_go_by_first(const wk_sched_net *net, const wk_sched_group *g) {
  for (int i = g->first + 1; i <= g->last && g->strips > 1; i++)
    for (int k = 0; k < WK_SCHED_OPERANDS; k++)
      if (net->ops[i].in[k].has_window && net->ops[i].in[k].span > net->ops[i].in[k].stride)
        return true;
  return false;
}

int wk_sched_most_strips(const searching *x, int first, int last) {
  int64_t rows = 1;
  for (int i = first; i <= last; i++) {
    int64_t r = x->net->tensors[x->net->ops[i].out.tensor].rows;
    if (r > rows) rows = r;
  }
  return (int)rows;
}
