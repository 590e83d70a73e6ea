/* SPDX-License-Identifier: Apache-2.0
 * Images of few channels that lie dense where they enter a part. */
#include <string.h>

#include "targets/accel/compile/net.h"

int wk_accel_dense_lanes(int64_t channels) {
  int lanes = 1;
  while (lanes < channels) lanes *= 2;
  return lanes;
}

/* The only reader of [n,h,w,c] makes an image of it: that. */
static wk_value_id image_of_pixels(const wk_graph *g, wk_value_id v) {
  wk_value_id image = WK_NONE;
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    for (uint32_t j = 0; !n->dead && j < n->n_in; j++) {
      if (n->in[j] != v) continue;
      const int64_t *perm = n->op == WK_OP_TRANSPOSE ? WK_ATTR(n, transpose)->perm.v : NULL;
      bool is_turned = perm && wk_val(g, v)->type.rank == 4 && perm[0] == 0 && perm[1] == 3 &&
                       perm[2] == 1;
      if (!is_turned || image != WK_NONE) return WK_NONE;
      image = n->out[0];
    }
  }
  return image;
}

static bool is_output(const wk_graph *g, wk_value_id v) {
  for (size_t i = 0; i < g->outputs.n; i++)
    if (g->outputs.data[i] == v) return true;
  return false;
}

/* Some columns of an image. */
static bool is_piece_of_width(const wk_graph *g, const wk_node *n) {
  if (n->op != WK_OP_SLICE || n->predicate != WK_NONE) return false;
  const wk_type *x = &wk_val(g, n->in[0])->type, *y = &wk_val(g, n->out[0])->type;
  for (int k = 0; k < x->rank; k++)
    if (WK_ATTR(n, slice)->steps.v[k] != 1 || (k + 1 < x->rank && x->dims[k] != y->dims[k]))
      return false;
  return true;
}

/* Convolutions alone read the image, or pieces of its width, and all of them have the same value
 * outside: they share the columns of padding, which are at the edges of the image (at_edge: of v)
 * alone. */
static bool is_read_by_convolutions(const wk_graph *g, wk_value_id v, bool at_edge[2],
                                    int64_t *pad_value, bool *is_read) {
  if (is_output(g, v)) return false;
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    for (uint32_t j = 0; !n->dead && j < n->n_in; j++) {
      if (n->in[j] != v) continue;
      if (is_piece_of_width(g, n)) {
        const int64_t all = wk_val(g, v)->type.dims[3], from = WK_ATTR(n, slice)->starts.v[3];
        bool edge[2] = {at_edge[0] && !from,
                        at_edge[1] && from + wk_val(g, n->out[0])->type.dims[3] == all};
        if (!is_read_by_convolutions(g, n->out[0], edge, pad_value, is_read)) return false;
        continue;
      }
      const wk_attr_conv *a = WK_ATTR(n, conv);
      if (n->op != WK_OP_CONV || j != 0 || a->group != 1 || a->dilations.v[1] != 1) return false;
      if ((a->pads.v[1] > 0 && !at_edge[0]) || (a->pads.v[3] > 0 && !at_edge[1])) return false;
      if (*is_read && a->pad_value != *pad_value) return false;
      *pad_value = a->pad_value;
      *is_read = true;
    }
  }
  return true;
}

static bool is_dense_image(const wk_machine *m, const wk_graph *g, wk_value_id v) {
  const wk_type *t = &wk_val(g, v)->type;
  bool is_read = false;
  int64_t pad_value = 0;
  bool at_edge[2] = {true, true};
  if (t->rank != 4 || t->dims[1] * 2 > m->array || t->dims[2] < 2 || t->dims[3] < 2) return false;
  return is_read_by_convolutions(g, v, at_edge, &pad_value, &is_read) && is_read;
}

int wk_accel_dense_axis(const wk_machine *m, const wk_graph *g, wk_value_id v) {
  if (is_dense_image(m, g, v)) return 1;
  const wk_value_id image = is_output(g, v) ? WK_NONE : image_of_pixels(g, v);
  return image != WK_NONE && is_dense_image(m, g, image) ? 3 : -1;
}

/* [n,c,h,w] with the few channels of a pixel side by side. */
wk_accel_operand wk_accel_fresh_dense(wk_accel_making *k, wk_value_id v) {
  const wk_type *t = &wk_val(k->g, v)->type;
  const int64_t pixel = wk_accel_dense_lanes(t->dims[1]), row = t->dims[3] * pixel;
  int tensor = wk_accel_add_tensor(k->net, wk_val(k->g, v)->name, t->dims[0], t->dims[2], row);
  wk_accel_operand y = {.tensor = tensor, .rank = 4, .lane = -1,
                        .strides = {t->dims[2] * row, 1, row, pixel}};
  k->net->tensors.data[tensor].is_dense = true;
  memcpy(y.dims, t->dims, sizeof y.dims);
  return y;
}

/* Nothing of the accelerator makes the value. */
static bool comes_from_outside(const wk_graph *g, wk_value_id v) {
  const wk_value *x = wk_val(g, v);
  if (x->kind == WK_VALUE_INPUT) return true;
  if (x->kind != WK_VALUE_NODE || !wk_nod(g, x->node)->n_in) return false;
  return !wk_accel_is_8_bit(wk_val(g, wk_nod(g, x->node)->in[0])->type.dtype);
}

bool wk_accel_is_dense_edge(const wk_machine *m, const wk_graph *g, wk_value_id v) {
  return comes_from_outside(g, v) && wk_accel_dense_axis(m, g, v) == 1;
}
