/* SPDX-License-Identifier: Apache-2.0
 * Which axis of a value lies in blocks of lanes, and its rows. [n,h,w,c] may lie as the image
 * [n,c,h,w] does, which is what a transposition of one is: then its pixels are rows of rows, and
 * strips of both are the same bytes. So do [h,w,c] and [1,h,w,c] that only products with matrices
 * and the like read: all of their rows lie one after the other. */
#include <stdlib.h>
#include <string.h>

#include "targets/accel/compile/net.h"

/* ---- which axis has the lanes ---------------------------------------------------------------- */

static wk_value_id largest_operand(const wk_graph *g, const wk_node *n) {
  wk_value_id best = WK_NONE;
  const wk_type *y = &wk_val(g, n->out[0])->type;
  for (uint32_t i = 0; i < n->n_in; i++) {
    const wk_value *x = wk_val(g, n->in[i]);
    if (x->kind != WK_VALUE_CONSTANT && wk_shape_equal(&x->type, y)) return n->in[i];
    if (x->kind != WK_VALUE_CONSTANT && x->type.rank == y->rank) best = n->in[i];
  }
  return best;
}

/* A trial within what is being made: where movement puts its operand. */
static wk_accel_operand place_of_movement(const wk_accel_making *made, wk_value_id v,
                                          bool asks_readers) {
  wk_accel_net net;
  wk_arena *a = wk_arena_new();
  wk_accel_net_init(&net, made->net->machine, a);
  wk_accel_making k = {.net = &net, .g = made->g, .at = made->at, .is_trial = true,
                       .asks_no_reader = !asks_readers};
  wk_accel_operand x;
  if (!wk_accel_operand_of(&k, v, &x)) x = (wk_accel_operand){.lane = -1};
  wk_accel_net_free(&net);
  wk_arena_free(a);
  return x;
}

static wk_accel_lanes lanes_of(const wk_accel_making *k, wk_value_id v, bool asks_readers);

/* No operator of the part makes it: an input of the graph, or of other numbers than bytes, or what
 * the host has written somewhere, or keeps. */
static bool is_from_outside(const wk_graph *g, wk_value_id v) {
  if (wk_val(g, v)->kind != WK_VALUE_NODE || wk_is_update(g, v)) return true;
  const wk_node *n = wk_nod(g, wk_val(g, v)->node);
  if (n->op == WK_OP_MAP) return !wk_accel_is_8_bit(wk_val(g, n->in[0])->type.dtype);
  return !wk_accel_is_movement(n) && !wk_accel_has_maker(n->op);
}

/* What lies beside v in an operator of several tensors; WK_NONE: nothing that the part makes. */
static wk_value_id partner(const wk_graph *g, const wk_node *n, wk_value_id v) {
  for (uint32_t i = 0; n->op == WK_OP_MAP && i < n->n_in; i++) {
    wk_value_id x = n->in[i];
    if (x != v && !wk_is_const(g, x) && !is_from_outside(g, x) &&
        wk_shape_equal(&wk_val(g, x)->type, &wk_val(g, n->out[0])->type))
      return x;
  }
  return WK_NONE;
}

static int wanted_lane(const wk_accel_making *k, wk_value_id v);

/* A map of one tensor and of constants lies as that does. */
static bool is_map_of_one(const wk_graph *g, const wk_node *n) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n->n_in; i++) count += !wk_is_const(g, n->in[i]);
  return n->op == WK_OP_MAP && count == 1;
}

/* The same axis of an operand that is broadcast, which has fewer in front; -1: it has none. */
static int lane_of_operand(const wk_graph *g, wk_value_id v, wk_value_id result, int lane) {
  int more = wk_val(g, result)->type.rank - wk_val(g, v)->type.rank;
  return lane < more ? -1 : lane - more;
}

/* Of what is reshaped, from the axis of the result: the same one, counted from the last, if all are
 * the same up to there. */
static int lane_before_reshape(const wk_type *x, const wk_type *y, int lane) {
  int from_last = y->rank - lane;
  if (lane < 0 || from_last > x->rank) return -1;
  for (int i = 1; i <= from_last; i++)
    if (x->dims[x->rank - i] != y->dims[y->rank - i]) return -1;
  return x->rank - from_last;
}

/* What comes first along every axis, which lies as the whole does. */
static bool takes_first(const wk_attr_slice *a) {
  bool is = true;
  for (int64_t i = 0; i < a->starts.n; i++) is = is && !a->starts.v[i] && a->steps.v[i] == 1;
  return is;
}

/* The axis that a reader wants; -1: it wants none. */
static int lane_of_reader(const wk_accel_making *k, const wk_node *n, wk_value_id v) {
  int turned;
  if (wk_accel_is_windowed(n->op)) return 1;
  switch (n->op) {
    case WK_OP_TRANSPOSE:
      turned = wanted_lane(k, n->out[0]);
      return turned < 0 ? -1 : (int)WK_ATTR(n, transpose)->perm.v[turned];
    case WK_OP_SLICE:
      return takes_first(WK_ATTR(n, slice)) ? wanted_lane(k, n->out[0]) : -1;
    case WK_OP_RESHAPE:
      return lane_before_reshape(&wk_val(k->g, v)->type, &wk_val(k->g, n->out[0])->type,
                                 wanted_lane(k, n->out[0]));
    case WK_OP_MATMUL:
    case WK_OP_INTEGER_MATMUL:
    case WK_OP_INTEGER_SOFTMAX:
    case WK_OP_INTEGER_NORM: return wk_val(k->g, v)->type.rank - 1;
    default: break;
  }
  if (is_map_of_one(k->g, n))
    return lane_of_operand(k->g, v, n->out[0], wanted_lane(k, n->out[0]));
  wk_value_id x = partner(k->g, n, v);
  return x == WK_NONE ? -1 : lane_of_operand(k->g, v, x, lanes_of(k, x, false).axis);
}

/* Of the first reader that wants one, of those that turn v around or of the others. */
static int lane_of_readers(const wk_accel_making *k, wk_value_id v, bool turns) {
  const wk_graph *g = k->g;
  int lane = -1;
  for (size_t i = 0; i < g->nodes.n && lane < 0; i++) {
    const wk_node *n = &g->nodes.data[i];
    for (uint32_t j = 0; !n->dead && j < n->n_in && lane < 0; j++)
      if (n->in[j] == v && (n->op == WK_OP_TRANSPOSE) == turns) lane = lane_of_reader(k, n, v);
  }
  return lane;
}

/* Of a line, and of an image for a window, the channels'; else that of the first reader that wants
 * one; -1: none does. */
static int wanted_lane(const wk_accel_making *k, wk_value_id v) {
  if (wk_accel_is_read_as_line(k->g, v)) return 1;
  if (k->asks_no_reader) return -1;
  int lane = lane_of_readers(k, v, false);
  return lane >= 0 ? lane : lane_of_readers(k, v, true);
}

int wk_accel_lane_of_input(const wk_accel_making *k, wk_value_id v) {
  int lane = wanted_lane(k, v);
  return lane >= 0 ? lane : wk_accel_default_lane(&wk_val(k->g, v)->type);
}

/* Axis h of [.., h, w, c] goes on within a block of channels. */
static bool is_image(const wk_accel_operand *x) {
  int h = x->rank - 3;
  return h >= 0 && x->lane == x->rank - 1 && x->dims[h] > 1 && x->dims[h + 1] > 1 &&
         x->strides[h] > 0 && (x->dims[h] - 1) * x->strides[h] < x->strides[x->lane];
}

/* All of its channels lie in one block: it may lie as an image or not. */
static bool is_block(const wk_accel_net *net, const wk_accel_operand *x) {
  return x->rank >= 3 && x->lane == x->rank - 1 && x->first + x->dims[x->lane] <= net->n;
}

wk_accel_lanes wk_accel_lanes_like(const wk_accel_operand *x) {
  return (wk_accel_lanes){x->lane, x->rank <= 4 && is_image(x)};
}

/* The operand that lies as a result with axes up to `last` does; WK_NONE: there is none. *axis: the
 * one of the lanes where the operator says so, else it stays. */
static wk_value_id like_whom(const wk_graph *g, const wk_node *n, int last, int *axis) {
  int own = last;
  switch (n->op) {
    case WK_OP_INTEGER_SOFTMAX: own = (int)WK_ATTR(n, integer_softmax)->axis; /* fallthrough */
    case WK_OP_MATMUL:
    case WK_OP_INTEGER_MATMUL:
    case WK_OP_INTEGER_NORM:
      if (*axis < 0) *axis = own;
      return (last == 2 || last == 3) && own == last && n->op != WK_OP_INTEGER_MATMUL
                 ? n->in[0] : WK_NONE;
    case WK_OP_REDUCE: /* of rows, and of columns of rows */
      if (*axis < 0 && WK_ATTR(n, reduce)->axes.n == 1 &&
          WK_ATTR(n, reduce)->axes.v[0] >= wk_val(g, n->in[0])->type.rank - 2)
        *axis = last;
      return WK_NONE;
    case WK_OP_MAP: return largest_operand(g, n);
    case WK_OP_GATHER: return n->in[1];
    case WK_OP_PAD:
    case WK_OP_INTEGER_RESIZE:
    case WK_OP_CONCAT: return n->in[0];
    default: return WK_NONE;
  }
}

/* [n,h,w,c] that is read as an image, turned. */
static bool is_read_as_image(const wk_accel_making *k, wk_value_id v) {
  const wk_graph *g = k->g;
  if (wk_val(g, v)->type.rank != 4) return false;
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (n->dead || n->op != WK_OP_TRANSPOSE || n->in[0] != v) continue;
    const int64_t *perm = WK_ATTR(n, transpose)->perm.v;
    if (perm[0] == 0 && perm[1] == 3 && perm[2] == 1 && wanted_lane(k, n->out[0]) == 1) return true;
  }
  return false;
}

/* The node takes v row by row, along its last axis. */
static bool takes_rows(const wk_graph *g, const wk_node *n, wk_value_id v) {
  const wk_type *t = &wk_val(g, v)->type, *y = n->n_out ? &wk_val(g, n->out[0])->type : t;
  switch (n->op) {
    case WK_OP_MATMUL: return n->in[0] == v || wk_shape_equal(t, y);
    case WK_OP_INTEGER_NORM: return n->in[0] == v && WK_ATTR(n, integer_norm)->axis == t->rank - 1;
    case WK_OP_INTEGER_SOFTMAX: return WK_ATTR(n, integer_softmax)->axis == t->rank - 1;
    case WK_OP_MAP:
    case WK_OP_GATHER: return wk_shape_equal(t, y);
    case WK_OP_RESHAPE: return y->rank > 0 && y->dims[y->rank - 1] == t->dims[t->rank - 1];
    default: return false;
  }
}

/* How a result of the part lies (wk_target.edge). */
static bool is_edge(const wk_node *n) { return n->name && !strcmp(n->name, WK_LAYOUT_NODE); }

/* So does all that comes of it: of nodes in the order of execution. */
static bool is_for_rows(const wk_graph *g, wk_value_id v) {
  const wk_value *made = wk_val(g, v);
  bool *comes = wk_xcalloc(g->values.n, sizeof *comes), fine = true;
  comes[v] = true;
  for (size_t i = made->kind == WK_VALUE_NODE ? made->node + 1 : 0; i < g->nodes.n && fine; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (n->dead || is_edge(n)) continue;
    for (uint32_t j = 0; j < n->n_in && fine; j++) {
      if (n->in[j] == WK_NONE || !comes[n->in[j]]) continue;
      fine = takes_rows(g, n, n->in[j]);
      if (fine && n->out[0] != WK_NONE) comes[n->out[0]] = true;
    }
  }
  free(comes);
  return fine;
}

/* [h,w,c] or [1,h,w,c] of which nobody sees more than rows. */
static bool are_rows_of_rows(const wk_graph *g, wk_value_id v) {
  const wk_type *t = &wk_val(g, v)->type;
  int h = t->rank - 3;
  return (h == 0 || (h == 1 && t->dims[0] == 1)) && t->dims[h] > 1 && t->dims[h + 1] > 1 &&
         is_for_rows(g, v);
}

static wk_accel_lanes lanes_of(const wk_accel_making *k, wk_value_id v, bool asks_readers) {
  const wk_graph *g = k->g;
  const wk_type *t = &wk_val(g, v)->type;
  int axis = -1, instead = -1;
  bool is_turned = false;
  wk_accel_operand x = {.lane = -1};
  for (int depth = 0; depth < 100 && v != WK_NONE && wk_val(g, v)->type.rank == t->rank; depth++) {
    bool is_known = k->at && k->at[v].tensor >= 0 && k->at[v].lane >= 0;
    if (is_known) x = k->at[v], is_turned = is_block(k->net, &x) && are_rows_of_rows(g, v);
    if (!is_known && is_from_outside(g, v) && asks_readers) {
      instead = wk_accel_lane_of_input(k, v);
      is_turned = instead == t->rank - 1 && (is_read_as_image(k, v) || are_rows_of_rows(g, v));
    }
    if (is_known || is_from_outside(g, v)) break;
    const wk_node *n = wk_nod(g, wk_val(g, v)->node);
    if (wk_accel_is_windowed(n->op)) instead = 1;
    if (wk_accel_is_movement(n) && n->op != WK_OP_PAD && n->op != WK_OP_CONCAT) {
      x = place_of_movement(k, v, asks_readers);
      is_turned = is_block(k->net, &x) && are_rows_of_rows(g, v);
    }
    v = like_whom(g, n, t->rank - 1, &axis);
    if (instead >= 0 || x.lane >= 0) break;
  }
  if (x.lane >= 0) instead = x.lane;
  if (axis < 0) axis = instead >= 0 ? instead : wk_accel_default_lane(t);
  bool is_image = is_turned || (x.lane >= 0 && wk_accel_lanes_like(&x).is_image);
  return (wk_accel_lanes){axis, is_image && (x.lane >= 0 ? x.lane : t->rank - 1) == axis};
}

wk_accel_lanes wk_accel_lanes_of(const wk_accel_making *k, wk_value_id v) {
  return lanes_of(k, v, !k->asks_no_reader);
}

wk_accel_lanes wk_accel_edge_lanes(const wk_machine *m, const wk_graph *g, wk_value_id v) {
  wk_accel_net net = {.machine = m, .n = (int)m->array};
  return wk_accel_lanes_of(&(wk_accel_making){.net = &net, .g = g}, v);
}

/* ---- rows ------------------------------------------------------------------------------------ */

bool wk_accel_rows(wk_accel_making *k, const wk_accel_operand *x, wk_accel_view *out) {
  int last = x->rank - 1;
  if (x->lane != last) return wk_accel_refuse(k, "rows that do not lie in blocks of elements");
  *out = (wk_accel_view){.tensor = x->tensor, .offset = x->offset, .o = 1, .c = x->dims[last],
                         .h = 1, .w = 1, .sb = x->strides[last], .sx = k->net->n,
                         .sy = k->net->n, .first = x->first};
  if (last > 0) out->h = x->dims[last - 1], out->sy = x->strides[last - 1];
  if (out->h == 1) out->sy = k->net->n;
  for (int i = last - 1; i-- > 0;) {
    if (x->dims[i] == 1) continue;
    if (out->o == 1) out->so = x->strides[i];
    else if (x->strides[i] != out->so * out->o)
      return wk_accel_refuse(k, "a stack of matrices that lies apart");
    out->o *= x->dims[i];
  }
  return true;
}

bool wk_accel_pixels(wk_accel_making *k, const wk_accel_operand *x, wk_accel_view *out) {
  int h = x->rank - 3;
  wk_accel_operand first = *x;
  first.dims[h] = 1;
  if (!wk_accel_rows(k, &first, out)) return false;
  out->w = out->h, out->sx = out->sy;
  out->h = x->dims[h], out->sy = x->strides[h];
  return true;
}

/* Nothing of it differs along h and w. */
static bool is_pixel(const wk_accel_operand *x) {
  int h = x->rank - 3;
  return h >= 1 && x->lane == x->rank - 1 && x->dims[h] == 1 && x->dims[h + 1] == 1;
}

static bool any(wk_accel_making *k, const wk_accel_operand *x, wk_accel_view *out) {
  return x->lane == x->rank - 1 ? wk_accel_rows(k, x, out) : wk_accel_image(k, x, out);
}

static bool any_line(wk_accel_making *k, const wk_accel_operand *x, wk_accel_view *out) {
  return x->lane == x->rank - 1 ? wk_accel_rows(k, x, out) : wk_accel_line(k, x, out);
}

wk_accel_view_of *wk_accel_view_for(const wk_accel_operand *const x[], int n, bool is_line) {
  bool are_images = is_image(x[0]);
  for (int i = 1; i < n; i++) are_images = are_images && (is_image(x[i]) || is_pixel(x[i]));
  return are_images ? wk_accel_pixels : is_line ? any_line : any;
}

wk_accel_view_of *wk_accel_rows_of(wk_accel_making *k, const wk_accel_operand *y) {
  const wk_node *n = k->node;
  const char *reason = k->reason;
  bool are_images = is_image(y);
  for (uint32_t i = 0; i < n->n_in && are_images; i++) {
    wk_accel_operand x;
    if (n->in[i] == WK_NONE || wk_is_const(k->g, n->in[i])) continue;
    are_images = wk_accel_operand_of(k, n->in[i], &x) && (is_image(&x) || is_block(k->net, &x));
  }
  k->reason = reason;
  return are_images ? wk_accel_pixels : wk_accel_rows;
}
