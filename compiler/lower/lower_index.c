/* SPDX-License-Identifier: Apache-2.0
 * Movement and indexing operators as views, gathers and maps. */
#include <string.h>

#include "compiler/lower/build.h"

/* [.., d, ..] becomes [.., 1, d, ..], is expanded to [.., r, d, ..] and merged again; as many
 * axes at a time as the rank limit allows. A tensor of full rank first merges the axes outside
 * and inside of the one that is repeated. */
static wk_value_id tile_merged(wk_low *l, wk_value_id x, int axis, int64_t repeats) {
  const wk_type t = *wk_low_type(l, x);
  int64_t split[] = {1, 1, t.dims[axis]}, wide[] = {1, repeats, 1}, merged[WK_MAX_RANK];
  for (int i = 0; i < t.rank; i++) {
    merged[i] = t.dims[i] * (i == axis ? repeats : 1);
    if (i < axis) split[0] *= t.dims[i];
    if (i > axis) split[2] *= t.dims[i];
  }
  wide[0] = split[0];
  wide[2] = split[2];
  x = wk_low_expand(l, wk_low_reshape(l, x, 3, split), 3, wide);
  return wk_low_reshape(l, x, t.rank, merged);
}

static wk_value_id tile_some(wk_low *l, wk_value_id x, const int64_t *repeats, int *done) {
  const wk_type t = *wk_low_type(l, x);
  int64_t split[WK_MAX_RANK], wide[WK_MAX_RANK], merged[WK_MAX_RANK];
  int k = 0, spare = WK_MAX_RANK - t.rank;
  for (int i = 0; i < t.rank; i++) {
    bool now = i == *done && spare > 0;
    int64_t r = now ? repeats[i] : 1;
    *done += now;
    if (r != 1) {
      spare--;
      split[k] = 1;
      wide[k++] = r;
    }
    split[k] = wide[k] = t.dims[i];
    k++;
    merged[i] = t.dims[i] * r;
  }
  x = wk_low_expand(l, wk_low_reshape(l, x, k, split), k, wide);
  return wk_low_reshape(l, x, t.rank, merged);
}

void wk_lower_tile(wk_low *l, const wk_node *n, wk_value_id *out) {
  const int64_t *repeats = WK_ATTR(n, tile)->repeats.v;
  wk_value_id x = n->in[0];
  int rank = wk_low_type(l, x)->rank;
  for (int done = 0; done < rank && !l->status;) {
    if (repeats[done] == 1) done++;
    else if (rank == WK_MAX_RANK) x = tile_merged(l, x, done, repeats[done]), done++;
    else x = tile_some(l, x, repeats, &done);
  }
  out[0] = x;
}

static int64_t mod(int64_t a, int64_t b) { return ((a % b) + b) % b; }

/* Where position i of the padded axis reads, for an axis of d elements; i counts from -before. */
static int64_t padded_index(const char *mode, int64_t i, int64_t d) {
  if (!strcmp(mode, "edge")) return i < 0 ? 0 : i >= d ? d - 1 : i;
  if (!strcmp(mode, "wrap")) return mod(i, d);
  int64_t k = mod(i, 2 * (d - 1)); /* reflect */
  return k < d ? k : 2 * (d - 1) - k;
}

static wk_value_id index_vector(wk_low *l, const int64_t *index, int64_t n) {
  return wk_low_const_i64(l, 1, &n, index);
}

void wk_lower_pad(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_pad *a = WK_ATTR(n, pad);
  wk_value_id x = n->in[0];
  int rank = wk_low_type(l, x)->rank;
  for (int axis = 0; axis < rank && !l->status; axis++) {
    int64_t d = wk_low_type(l, x)->dims[axis], b = a->before.v[axis], e = a->after.v[axis];
    if (!b && !e) continue;
    int64_t count = d + b + e;
    int64_t *index = wk_low_table(l, count, sizeof *index);
    if (!index) return;
    for (int64_t i = 0; i < count; i++) index[i] = padded_index(a->mode, i - b, d);
    x = wk_low_gather(l, x, index_vector(l, index, count), axis);
  }
  out[0] = x;
}

void wk_lower_one_hot(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_one_hot *a = WK_ATTR(n, one_hot);
  const wk_type y = wk_val(l->g, n->out[0])->type;
  int axis = (int)a->axis;
  int64_t dims[WK_MAX_RANK];
  memcpy(dims, y.dims, sizeof dims);
  dims[axis] = 1;
  wk_value_id i = wk_low_map(l, WK_I64, "i64(a)", 1, n->in[0]);
  i = wk_low_expand(l, wk_low_reshape(l, i, y.rank, dims), y.rank, y.dims);
  wk_value_id off = wk_low_reshape(l, wk_low_slice(l, n->in[1], 0, 0, 1, 1), 0, NULL);
  wk_value_id on = wk_low_reshape(l, wk_low_slice(l, n->in[1], 0, 1, 1, 1), 0, NULL);
  char text[160];
  snprintf(text, sizeof text, "select(eq(select(lt(a, 0), add(a, %lld), a), index<%d>()), b, c)",
           (long long)a->depth, axis);
  out[0] = wk_low_map(l, y.dtype, text, 3, i, on, off);
}

void wk_lower_trilu(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_type x = *wk_low_type(l, n->in[0]);
  wk_value_id k = n->n_in > 1 && n->in[1] != WK_NONE ? wk_low_reshape(l, n->in[1], 0, NULL)
                                                     : wk_low_scalar(l, WK_I64, 0);
  char text[96];
  snprintf(text, sizeof text, "select(%s(sub(index<%d>(), index<%d>()), b), a, 0)",
           WK_ATTR(n, trilu)->upper ? "ge" : "le", x.rank - 1, x.rank - 2);
  out[0] = wk_low_map(l, x.dtype, text, 2, n->in[0], k);
}

void wk_lower_reverse_sequence(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_reverse_sequence *a = WK_ATTR(n, reverse_sequence);
  const wk_type x = *wk_low_type(l, n->in[0]);
  int64_t dims[WK_MAX_RANK];
  for (int i = 0; i < x.rank; i++) dims[i] = i == a->batch_axis ? x.dims[i] : 1;
  wk_value_id len = wk_low_lengths(l, n->in[1], x.dims[a->time_axis]);
  len = wk_low_expand(l, wk_low_reshape(l, len, x.rank, dims), x.rank, x.dims);
  char text[160];
  int t = (int)a->time_axis;
  snprintf(text, sizeof text,
           "select(lt(index<%d>(), a), sub(sub(a, 1), index<%d>()), index<%d>())", t, t, t);
  wk_value_id in[] = {n->in[0], wk_low_map(l, WK_I64, text, 1, len)};
  if (l->status) return;
  wk_attr_gather_elements *g = wk_attrs_new(l->arena, WK_OP_GATHER_ELEMENTS);
  g->axis = a->time_axis;
  out[0] = wk_low_add(l, WK_OP_GATHER_ELEMENTS, g, in, 2, 1, NULL);
}

void wk_lower_max_unpool(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_type x = *wk_low_type(l, n->in[0]), y = wk_val(l->g, n->out[0])->type;
  int64_t from = wk_type_count(&x), to = wk_type_count(&y);
  char text[64]; /* no index counts from the end here */
  snprintf(text, sizeof text, "select(lt(a, 0), %lld, a)", (long long)to);
  wk_value_id at = wk_low_map(l, WK_I64, text, 1, n->in[1]);
  wk_value_id in[] = {wk_low_expand(l, wk_low_scalar(l, x.dtype, 0), 1, &to),
                      wk_low_reshape(l, at, 1, &from), wk_low_reshape(l, n->in[0], 1, &from)};
  if (l->status) return;
  wk_attr_scatter_elements *s = wk_attrs_new(l->arena, WK_OP_SCATTER_ELEMENTS);
  s->axis = 0;
  wk_value_id flat = wk_low_add(l, WK_OP_SCATTER_ELEMENTS, s, in, 3, 1, NULL);
  out[0] = wk_low_reshape(l, flat, y.rank, y.dims);
}
