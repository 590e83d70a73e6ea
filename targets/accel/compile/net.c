/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/flatten.h"
#include "targets/accel/compile/rows.h"

#include <stdlib.h>
#include <string.h>

bool wk_accel_is_8_bit(wk_dtype t) { return t == WK_I8 || t == WK_U8; }

void wk_accel_net_init(wk_accel_net *net, const wk_machine *m, wk_arena *a) {
  *net = (wk_accel_net){.machine = m, .n = (int)m->array, .arena = a};
}

static void set_defaults(wk_accel_net *net) {
  for (size_t i = 0; i < wk_isa_commands_count; i++) {
    int opcode = wk_isa_commands[i].opcode;
    net->defaults[opcode] = wk_isa_command_default(net->machine, opcode);
  }
}

void wk_accel_net_free(wk_accel_net *net) {
  wk_vec_free(&net->tensors);
  wk_vec_free(&net->ops);
  wk_vec_free(&net->whole);
  wk_vec_free(&net->layers);
  wk_vec_free(&net->names);
  wk_vec_free(&net->left);
  wk_vec_free(&net->nodes);
}

bool wk_accel_refuse(wk_accel_making *k, const char *fmt, ...) {
  wk_str b = {0};
  va_list ap;
  va_start(ap, fmt);
  wk_str_vprintf(&b, fmt, ap);
  va_end(ap);
  k->reason = wk_arena_strdup(k->net->arena, b.s);
  k->refused = k->node;
  wk_str_free(&b);
  return false;
}

int wk_accel_add_tensor(wk_accel_net *net, const char *name, int64_t planes, int64_t rows,
                        int64_t row) {
  wk_accel_tensor t = {.name = name, .bytes = planes * rows * row, .planes = planes, .rows = rows,
                       .row = row, .segment = WK_SEGMENT_WORK};
  wk_vec_push(&net->tensors, t);
  return (int)net->tensors.n - 1;
}

/* ---- where values lie ------------------------------------------------------------------------ */

/* Rows of the tensor that a fresh operand covers: those along its last axis but one, or, of a line
 * of pixels, along the last one. */
static void set_rows(wk_accel_tensor *t, int n, const wk_type *x, int lane, bool is_line) {
  int y = x->rank - 2;
  t->rows = is_line ? x->dims[x->rank - 1] : y >= 0 && y != lane ? x->dims[y] : 1;
  t->row = is_line || lane == x->rank - 1 ? n : n * x->dims[x->rank - 1];
  t->planes = t->bytes / (t->rows * t->row);
}

/* [n,h,w,c] as the image [n,c,h,w] that it lies as, [h,w,c] as one of them. */
static wk_accel_operand fresh_image(wk_accel_making *k, const wk_type *t, int tensor) {
  const int64_t *pixels = t->dims + t->rank - 3;
  const int64_t dims[4] = {t->rank == 4 ? t->dims[0] : 1, pixels[2], pixels[0], pixels[1]};
  const wk_type image = wk_type_make(t->dtype, 4, dims);
  wk_accel_tensor *x = &k->net->tensors.data[tensor];
  wk_accel_operand y = wk_operand_new(k->net->n, tensor, &image, 1, &x->bytes);
  set_rows(x, k->net->n, &image, 1, false);
  wk_operand_transpose(&y, (const int64_t[]){0, 2, 3, 1}, &y);
  if (t->rank == 3) (void)wk_operand_reshape(k->net->n, &y, 3, t->dims, &y);
  return y;
}

static wk_accel_operand fresh(wk_accel_making *k, wk_value_id v, wk_accel_lanes lanes) {
  const wk_type *t = &wk_val(k->g, v)->type;
  int tensor = wk_accel_add_tensor(k->net, wk_val(k->g, v)->name, 1, 1, 1);
  if (lanes.is_image) return fresh_image(k, t, tensor);
  int64_t bytes;
  wk_accel_operand y = wk_operand_new(k->net->n, tensor, t, lanes.axis, &bytes);
  k->net->tensors.data[tensor].bytes = bytes;
  set_rows(&k->net->tensors.data[tensor], k->net->n, t, lanes.axis,
           lanes.axis == 1 && wk_accel_lies_as_line(k->g, v));
  return y;
}

wk_accel_operand wk_accel_fresh(wk_accel_making *k, wk_value_id v, int lane) {
  return fresh(k, v, (wk_accel_lanes){lane, false});
}

static bool moved(wk_accel_making *k, const wk_node *n, uint32_t result, wk_accel_operand *y);

/* What is moved is made of bytes: by an operator for which there are commands, maybe. */
static bool comes_from_near(const wk_accel_making *k, wk_node_id node) {
  const wk_node *n = wk_nod(k->g, node);
  while (wk_accel_is_movement(n)) {
    const wk_value *x = wk_val(k->g, n->in[0]);
    if (x->kind != WK_VALUE_NODE) return false;
    n = wk_nod(k->g, x->node);
  }
  return n->n_in && wk_accel_is_8_bit(wk_val(k->g, n->in[0])->type.dtype);
}

/* In a trial every value that movement does not explain has a tensor of its own. */
static bool known(wk_accel_making *k, wk_value_id v, wk_accel_operand *out) {
  const wk_value *x = wk_val(k->g, v);
  if (k->at && k->at[v].tensor >= 0) return *out = k->at[v], true;
  if (x->type.rank < 1 || x->type.rank >= WK_MAX_RANK)
    return wk_accel_refuse(k, "a tensor of rank %d", x->type.rank);
  if (x->kind == WK_VALUE_NODE && wk_accel_is_movement(wk_nod(k->g, x->node)) &&
      wk_nod(k->g, x->node)->op != WK_OP_CONCAT && !wk_is_update(k->g, v) &&
      !(k->is_trial && wk_nod(k->g, x->node)->op == WK_OP_PAD)) {
    if (moved(k, wk_nod(k->g, x->node), x->index, out)) return true;
    if (!k->is_trial || comes_from_near(k, x->node)) return false;
    k->reason = NULL; /* whoever has the movement hands over what it makes */
    return *out = fresh(k, v, (wk_accel_lanes){wk_accel_lane_of_input(k, v), false}), true;
  }
  if (x->kind == WK_VALUE_CONSTANT)
    return wk_accel_constant(k, v, wk_accel_default_lane(&x->type), out);
  if (!k->is_trial) return wk_accel_refuse(k, "'%s' is not computed yet", x->name);
  *out = wk_accel_is_dense_edge(k->net->machine, k->g, v) ? wk_accel_fresh_dense(k, v)
                                                          : fresh(k, v, wk_accel_lanes_of(k, v));
  return true;
}

static bool slice_one(wk_accel_making *k, const wk_accel_operand *x, int axis, int64_t start,
                      int64_t size, wk_accel_operand *y) {
  int64_t starts[WK_MAX_RANK] = {0}, sizes[WK_MAX_RANK], steps[WK_MAX_RANK];
  memcpy(sizes, x->dims, sizeof sizes);
  for (int i = 0; i < x->rank; i++) steps[i] = 1;
  starts[axis] = start, sizes[axis] = size;
  return wk_operand_slice(k->net->n, x, starts, sizes, steps, y);
}

/* The model's own is refused, so that in a part there is only that of its edges: lanes behind the
 * last channel are there already. */
static bool pad(wk_accel_making *k, const wk_node *nd, const wk_accel_operand *x,
                wk_accel_operand *y) {
  const wk_attr_pad *a = WK_ATTR(nd, pad);
  int n = k->net->n;
  *y = *x;
  if (k->is_trial) return false;
  for (int i = 0; i < x->rank; i++) {
    if (a->before.v[i]) return false;
    if (!a->after.v[i]) continue;
    if (i != x->lane || x->first || x->is_cut_off ||
        wk_ceil_div(x->dims[i], n) * n < x->dims[i] + a->after.v[i])
      return false;
    y->dims[i] += a->after.v[i];
    k->net->tensors.data[x->tensor].is_padded = true;
  }
  return true;
}

static void add_layer(wk_accel_making *k, const wk_node *n);

/* What begins within the block of another, or ends there and is padded, is copied to blocks of its
 * own. */
static bool align(wk_accel_making *k, const wk_node *n, wk_accel_operand *x) {
  wk_accel_operand from = *x;
  bool is_padded = from.is_cut_off && n->op == WK_OP_PAD;
  if (k->is_trial || (!from.first && !is_padded)) return false;
  const wk_node *node = k->node; /* which may be in the making */
  uint32_t layer = k->layer;
  *x = fresh(k, n->in[0], wk_accel_lanes_like(&from));
  add_layer(k, n);
  bool fine = wk_accel_make_move(k, &from, x);
  k->node = node, k->layer = layer;
  if (!fine) return false;
  k->at[n->in[0]] = *x;
  return true;
}

/* The last axes as one, of so many elements. */
static bool merged_last(const wk_accel_making *k, const wk_accel_operand *x, int64_t size,
                        wk_accel_operand *y) {
  int64_t dims[WK_MAX_RANK], last = 1;
  int rank = x->rank;
  do last *= x->dims[--rank];
  while (rank && last < size);
  memcpy(dims, x->dims, sizeof dims);
  dims[rank] = last;
  return last == size && wk_operand_reshape(k->net->n, x, rank + 1, dims, y) && y->lane == rank;
}

/* Rows of channels in other groups, as windows of an image are: copied to where they lie so. */
static bool regroup(wk_accel_making *k, const wk_node *n, const wk_accel_operand *x,
                    wk_accel_operand *y) {
  const wk_type *t = &wk_val(k->g, n->out[0])->type;
  const wk_node *node = k->node;
  uint32_t layer = k->layer;
  wk_accel_operand from, to;
  int last = t->rank - 1;
  if (!merged_last(k, x, t->dims[last], &from)) return false;
  *y = fresh(k, n->out[0], (wk_accel_lanes){last, t->rank == 4 && t->dims[1] > 1});
  if (!wk_operand_reshape(k->net->n, y, from.rank, from.dims, &to) || to.lane != from.lane)
    return false;
  if (k->is_trial && node != n) return true; /* whoever has it makes it */
  k->is_copied = true;
  if (!k->is_trial) add_layer(k, n);
  bool fine = wk_accel_make_move(k, &from, &to);
  k->node = node, k->layer = layer;
  if (fine && k->at) k->at[n->out[0]] = *y;
  return fine;
}

static bool refuse_movement(wk_accel_making *k, const wk_node *n, const char *why) {
  wk_accel_refuse(k, "%s", why);
  return k->refused = n, false;
}

static bool moved(wk_accel_making *k, const wk_node *n, uint32_t result, wk_accel_operand *y) {
  wk_accel_operand x;
  if (!known(k, n->in[0], &x)) return false;
  const wk_type *t = &wk_val(k->g, n->out[result])->type;
  switch (n->op) {
    case WK_OP_RESHAPE:
      return wk_operand_reshape(k->net->n, &x, t->rank, t->dims, y) ||
             (align(k, n, &x) && wk_operand_reshape(k->net->n, &x, t->rank, t->dims, y)) ||
             regroup(k, n, &x, y) ||
             refuse_movement(k, n, "a reshape that takes blocks of channels apart");
    case WK_OP_TRANSPOSE:
      wk_operand_transpose(&x, WK_ATTR(n, transpose)->perm.v, y);
      return true;
    case WK_OP_SLICE: {
      const wk_attr_slice *a = WK_ATTR(n, slice);
      return wk_operand_slice(k->net->n, &x, a->starts.v, a->sizes.v, a->steps.v, y) ||
             refuse_movement(k, n, "a slice that takes blocks of channels apart");
    }
    case WK_OP_SPLIT: {
      const wk_attr_split *a = WK_ATTR(n, split);
      int64_t at = 0;
      for (uint32_t i = 0; i < result; i++) at += a->sizes.v[i];
      return slice_one(k, &x, (int)a->axis, at, a->sizes.v[result], y);
    }
    case WK_OP_PAD:
      return pad(k, n, &x, y) || (align(k, n, &x) && pad(k, n, &x, y)) ||
             refuse_movement(k, n, "padding in memory");
    default:
      return refuse_movement(k, n, "it moves elements in a way that is no address");
  }
}

/* A constant of bytes in blocks, brought like any tensor. */
bool wk_accel_constant(wk_accel_making *k, wk_value_id v, int lane, wk_accel_operand *out) {
  const wk_value *x = wk_val(k->g, v);
  int n = k->net->n;
  if (x->type.rank < 1 || lane < 0) return wk_accel_refuse(k, "a constant without channels");
  *out = fresh(k, v, (wk_accel_lanes){lane, false});
  wk_accel_tensor *t = &k->net->tensors.data[out->tensor];
  t->segment = WK_SEGMENT_CONST;
  if (k->is_trial) return true;
  uint8_t *data = wk_arena_alloc(k->net->arena, (size_t)t->bytes);
  t->data = data;
  for (int64_t i = 0, count = wk_type_count(&x->type); i < count; i++) {
    int64_t rest = i, at = out->offset;
    for (int a = x->type.rank; a-- > 0; rest /= x->type.dims[a]) {
      int64_t q = rest % x->type.dims[a];
      at += a == out->lane ? q / n * out->strides[a] + q % n : q * out->strides[a];
    }
    data[at] = ((const uint8_t *)x->data)[i];
  }
  return true;
}

bool wk_accel_operand_of(wk_accel_making *k, wk_value_id v, wk_accel_operand *out) {
  if (!wk_accel_is_8_bit(wk_val(k->g, v)->type.dtype))
    return wk_accel_refuse(k, "an operand is %s", wk_dtype_name(wk_val(k->g, v)->type.dtype));
  if (wk_is_const(k->g, v))
    return wk_accel_constant(k, v, wk_accel_default_lane(&wk_val(k->g, v)->type), out);
  return known(k, v, out);
}

wk_accel_operand wk_accel_result(wk_accel_making *k, wk_value_id v) {
  if (k->at && k->at[v].tensor >= 0) return k->at[v];
  wk_accel_operand y = fresh(k, v, wk_accel_lanes_of(k, v));
  if (k->at) k->at[v] = y;
  return y;
}

bool wk_accel_is_result_fine(wk_accel_making *k) {
  wk_dtype t = wk_val(k->g, k->node->out[0])->type.dtype;
  return k->is_first || wk_accel_is_8_bit(t) ||
         wk_accel_refuse(k, "the result is %s", wk_dtype_name(t));
}

/* ---- views ----------------------------------------------------------------------------------- */

static bool image_of(wk_accel_making *k, const wk_accel_operand *x, bool is_line,
                     wk_accel_view *out) {
  if (x->lane != 1 || x->rank < 3 || x->rank > 4)
    return wk_accel_refuse(k, "an image that does not lie in blocks of channels");
  int last = x->rank - 1, y = is_line ? last : 2;
  *out = (wk_accel_view){.tensor = x->tensor, .offset = x->offset, .o = x->dims[0],
                         .c = x->dims[1], .h = x->dims[y], .w = is_line ? 1 : x->dims[last],
                         .so = x->strides[0], .sb = x->strides[1], .sy = x->strides[y],
                         .sx = is_line ? k->net->n : x->strides[last], .first = x->first};
  return true;
}

bool wk_accel_line(wk_accel_making *k, const wk_accel_operand *x, wk_accel_view *out) {
  bool is_line = x->rank < 4 || x->dims[2] == 1; /* what is copied on its way to one may be none */
  return image_of(k, x, is_line, out);
}

bool wk_accel_image(wk_accel_making *k, const wk_accel_operand *x, wk_accel_view *out) {
  return image_of(k, x, x->rank == 3, out);
}

/* ---- operators ------------------------------------------------------------------------------- */

wk_accel_op wk_accel_op_new(wk_accel_making *k, wk_accel_kind kind) {
  bool u8 = k->node->n_in && wk_val(k->g, k->node->in[0])->type.dtype == WK_U8;
  return (wk_accel_op){.kind = kind, .a_u8 = u8, .a = {.tensor = -1}, .b = {.tensor = -1},
                       .out = {.tensor = -1}, .ky = 1, .kx = 1, .sy = 1, .sx = 1, .dy = 1,
                       .dx = 1, .own = k->node->counted.own, .all = k->node->counted.all};
}

wk_accel_op *wk_accel_add(wk_accel_making *k, const wk_accel_op *op) {
  wk_vec_push(&k->net->ops, *op);
  wk_accel_op *y = &k->net->ops.data[k->net->ops.n - 1];
  y->name = k->node->name ? k->node->name : "";
  y->op = wk_op_get(k->node->op)->name;
  y->layer = k->layer;
  return y;
}

void wk_accel_cut_pieces(wk_accel_making *k, wk_accel_op *op, const wk_accel_view *aligned) {
  int n = k->net->n;
  int64_t most = 2 * wk_ceil_div(op->out.c, n) + 2;
  wk_accel_piece *p = wk_arena_alloc(k->net->arena, (size_t)most * sizeof *p);
  op->pieces = p;
  op->n_pieces = 0;
  op->leaves_lanes = false;
  for (int64_t c = 0; c < op->out.c;) {
    int lane = (int)((op->out.first + c) % n), room = n - lane, width = room;
    if (aligned && aligned->c == op->out.c) {
      int other = n - (int)((aligned->first + c) % n);
      if (other < room) room = other;
      if (other < width) width = other;
    }
    int used = op->out.c - c < room ? (int)(op->out.c - c) : room;
    p[op->n_pieces++] = (wk_accel_piece){c, used, width};
    c += used;
    if (c == op->out.c && lane + width < n) op->leaves_lanes = true;
  }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool try_concat(wk_accel_making *k) {
  wk_accel_operand y = wk_accel_result(k, k->node->out[0]), x, part;
  int64_t at = 0;
  int axis = (int)WK_ATTR(k->node, concat)->axis;
  for (uint32_t i = 0; i < k->node->n_in; i++) {
    int64_t size = wk_val(k->g, k->node->in[i])->type.dims[axis];
    if (!wk_accel_operand_of(k, k->node->in[i], &x) || !slice_one(k, &y, axis, at, size, &part) ||
        !wk_accel_make_move(k, &x, &part))
      return false;
    at += size;
  }
  return true;
}

/* What is flattened for products with constant matrices alone is summed where it lies. */
static bool is_flattened_for_products(wk_accel_making *k) {
  bool is_read = false;
  const wk_graph *g = k->g;
  wk_value_id v = k->node->out[0];
  if (k->node->op != WK_OP_RESHAPE) return false;
  for (size_t i = 0; i < g->outputs.n; i++)
    if (g->outputs.data[i] == v) return false;
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    for (uint32_t j = 0; !n->dead && j < n->n_in; j++) {
      if (n->in[j] != v) continue;
      wk_accel_making m = *k;
      m.node = n;
      const wk_expr *e = wk_op_epilogue(n->op, n->attrs);
      if (n->op != WK_OP_MATMUL || j || !wk_accel_make_matmul(&m, e)) return false;
      is_read = true;
    }
  }
  return is_read;
}

/* What is moved may have to leave the part: then it is copied. */
static bool try_copy(wk_accel_making *k, wk_value_id v, const wk_accel_operand *x) {
  wk_accel_operand y = fresh(k, v, wk_accel_lanes_like(x));
  bool is_there = !x->offset && !x->first;
  for (int i = 0; i < y.rank; i++)
    is_there = is_there && (y.dims[i] == 1 || x->strides[i] == y.strides[i]);
  return is_there || wk_accel_make_move(k, x, &y);
}

static bool try_movement(wk_accel_making *k) {
  wk_accel_operand y;
  wk_dtype t = wk_val(k->g, k->node->out[0])->type.dtype;
  if (!wk_accel_is_8_bit(t)) return wk_accel_refuse(k, "it moves %s", wk_dtype_name(t));
  if (k->node->op == WK_OP_CONCAT) return try_concat(k);
  for (uint32_t i = 0; i < k->node->n_out; i++) {
    if (k->node->out[i] == WK_NONE) continue;
    if (moved(k, k->node, i, &y) && y.lane >= 0 && try_copy(k, k->node->out[i], &y)) continue;
    const char *why = k->reason ? k->reason : "elements that do not lie in blocks";
    if (is_flattened_for_products(k)) return true;
    return k->reason = why, false;
  }
  return true;
}

static bool have_elements(wk_accel_making *k, uint32_t n, const wk_value_id *values) {
  for (uint32_t i = 0; i < n; i++)
    if (values[i] != WK_NONE && !wk_type_count(&wk_val(k->g, values[i])->type))
      return wk_accel_refuse(k, "a tensor without elements");
  return true;
}

static const char *try_node(const wk_machine *m, const wk_graph *g, const wk_node *n,
                            const wk_expr *e, bool is_first, wk_arena *a) {
  wk_accel_net net;
  wk_accel_net_init(&net, m, a);
  wk_accel_making k = {.net = &net, .g = g, .is_first = is_first, .is_trial = true, .node = n};
  bool fine = n->n_out && n->out[0] != WK_NONE && have_elements(&k, n->n_in, n->in) &&
              have_elements(&k, n->n_out, n->out) &&
              (wk_accel_is_movement(n) ? try_movement(&k) : wk_accel_make_node(&k, e));
  if (fine) wk_accel_learn_rows(&net);
  bool is_address = wk_accel_is_movement(n) && n->op != WK_OP_CONCAT && !k.is_copied;
  fine = fine && (is_address || wk_accel_fit(&k)); /* a copy is only made where a part ends */
  wk_accel_net_free(&net);
  return fine ? NULL : k.reason ? k.reason : "no reason given";
}

/* What was not taken by itself has been fused with what follows it, which is none of the reasons
 * why. */
const char *wk_accel_refusal(const wk_machine *m, const wk_graph *g, const wk_node *n,
                             wk_arena *a) {
  const wk_expr *e = wk_op_epilogue(n->op, n->attrs);
  const char *reason = try_node(m, g, n, e, false, a);
  const wk_expr *first = reason ? wk_accel_first_result(e, a) : NULL;
  const char *why = first ? try_node(m, g, n, first, true, a) : NULL;
  return why ? why : reason;
}

/* ---- whole parts ----------------------------------------------------------------------------- */

static void add_layer(wk_accel_making *k, const wk_node *n) {
  wk_accel_layer l = {.mark = UINT32_MAX};
  k->node = n;
  k->layer = (uint32_t)k->net->layers.n;
  wk_vec_push(&k->net->layers, l);
  wk_vec_push(&k->net->names, n->name ? n->name : "");
  wk_vec_push(&k->net->nodes, n);
}

static bool is_computed(const wk_graph *g, wk_value_id v) {
  const wk_value *x = wk_val(g, v);
  return x->kind == WK_VALUE_NODE &&
         (!wk_accel_is_movement(wk_nod(g, x->node)) || wk_nod(g, x->node)->op == WK_OP_CONCAT);
}

/* Where it is, is known at the end. */
static void note_left(wk_accel_making *k) {
  for (uint32_t i = 0; i < k->node->n_out; i++) {
    wk_accel_left left = {.layer = k->layer, .value = k->node->out[i]};
    if (left.value != WK_NONE) wk_vec_push(&k->net->left, left);
  }
}

/* Pieces of the width of an image, which are computed row by row. */
static bool are_columns(const wk_graph *g, wk_value_id v, const wk_accel_operand *y) {
  const wk_op op = wk_nod(g, wk_val(g, v)->node)->op;
  return y->rank == 4 && y->lane == 1 && (wk_accel_is_windowed(op) || op == WK_OP_MAP);
}

/* Operands of a concatenation are computed in their place where they begin with a block, and where
 * their rows lie one after the other as those of other tensors do, or are parts of its rows. */
static void place_concat(wk_accel_making *k, const wk_node *n) {
  wk_accel_operand y = wk_accel_result(k, n->out[0]), part;
  int axis = (int)WK_ATTR(n, concat)->axis;
  int64_t at = 0;
  for (uint32_t i = 0; i < n->n_in; i++) {
    wk_value_id v = n->in[i];
    int64_t size = wk_val(k->g, v)->type.dims[axis];
    if (is_computed(k->g, v) && k->at[v].tensor < 0 &&
        (axis < y.rank - 1 || axis == y.lane || are_columns(k->g, v, &y)) &&
        wk_accel_lanes_of(k, v).axis == y.lane && slice_one(k, &y, axis, at, size, &part) &&
        !part.first)
      k->at[v] = part;
    at += size;
  }
}

static bool same_place(const wk_accel_operand *a, const wk_accel_operand *b) {
  return a->tensor == b->tensor && a->offset == b->offset && a->first == b->first;
}

static bool make_concat(wk_accel_making *k) {
  wk_accel_operand y = wk_accel_result(k, k->node->out[0]), x, part;
  int axis = (int)WK_ATTR(k->node, concat)->axis;
  int64_t at = 0;
  for (uint32_t i = 0; i < k->node->n_in; i++) {
    int64_t size = wk_val(k->g, k->node->in[i])->type.dims[axis];
    if (!wk_accel_operand_of(k, k->node->in[i], &x) || !slice_one(k, &y, axis, at, size, &part))
      return false;
    at += size;
    if (!same_place(&x, &part) && !wk_accel_make_move(k, &x, &part)) return false;
  }
  return true;
}

static void take_input(wk_accel_making *k, size_t i) {
  wk_value_id v = k->g->inputs.data[i];
  const wk_value *x = wk_val(k->g, v);
  int tensor = wk_accel_add_tensor(k->net, x->name, 1, 1, wk_type_bytes(&x->type));
  wk_accel_tensor *t = &k->net->tensors.data[tensor];
  t->segment = WK_SEGMENT_IO + (int)i;
  k->at[v] = wk_operand_laid(k->net->n, tensor, &x->type);
  t->is_dense = k->at[v].lane < 0;
}

/* A result of the part lies alone, as its edge says; else it is copied there. */
static bool give_output(wk_accel_making *k, size_t i) {
  wk_value_id v = k->g->outputs.data[i];
  wk_accel_operand x, y;
  const wk_value *out = wk_val(k->g, v);
  k->node = wk_def(k->g, v);
  if (!known(k, v, &x)) return false;
  wk_accel_tensor *t = &k->net->tensors.data[x.tensor];
  if (t->segment == WK_SEGMENT_WORK && wk_operand_is_laid(k->net->n, &x, t->bytes)) {
    t->segment = WK_SEGMENT_IO + (int)(k->net->n_inputs + i);
    return true;
  }
  int tensor = wk_accel_add_tensor(k->net, out->name, 1, 1, wk_type_bytes(&out->type));
  y = wk_operand_laid(k->net->n, tensor, &out->type);
  k->net->tensors.data[tensor].segment = WK_SEGMENT_IO + (int)(k->net->n_inputs + i);
  if (!k->node) return wk_accel_refuse(k, "an input that is a result");
  add_layer(k, k->node);
  if (y.lane < 0) return wk_accel_refuse(k, "a result that does not lie in blocks");
  return wk_accel_make_move(k, &x, &y);
}

static bool make_nodes(wk_accel_making *k) {
  const wk_graph *g = k->g;
  for (size_t i = g->nodes.n; i-- > 0;)
    if (g->nodes.data[i].op == WK_OP_CONCAT && !g->nodes.data[i].dead)
      place_concat(k, &g->nodes.data[i]);
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    bool is_concat = n->op == WK_OP_CONCAT;
    if (n->dead || (wk_accel_is_movement(n) && !is_concat)) continue;
    add_layer(k, n);
    const wk_expr *e = wk_op_epilogue(n->op, n->attrs);
    if (is_concat ? !make_concat(k) : !wk_accel_make_node(k, e)) return false;
    note_left(k);
  }
  return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* What leaves a part, and what is copied there, has zeros behind its last channel: they are filled
 * and left alone. */
static void clear_lanes(wk_accel_net *net) {
  for (size_t i = 0; i < net->ops.n; i++) {
    wk_accel_op *op = &net->ops.data[i];
    const wk_accel_tensor *t = &net->tensors.data[op->out.tensor];
    if ((t->segment < WK_SEGMENT_IO && !t->is_padded) || !op->n_pieces) continue;
    wk_accel_piece *last = (wk_accel_piece *)(uintptr_t)&op->pieces[op->n_pieces - 1];
    if (op->kind == WK_ACCEL_ROW || last->width == last->n) continue;
    last->width = last->n;
    op->leaves_lanes = true;
  }
}

static void add_constants(wk_accel_net *net) {
  for (size_t i = 0; i < net->ops.n; i++) {
    wk_accel_op *op = &net->ops.data[i];
    op->const_tensor = -1;
    if (!op->const_bytes) continue;
    op->const_tensor = wk_accel_add_tensor(net, op->name, 1, 1, wk_accel_const_bytes(op));
    net->tensors.data[op->const_tensor].segment = WK_SEGMENT_CONST;
    net->tensors.data[op->const_tensor].data = op->consts;
  }
}

bool wk_accel_net_make(const wk_graph *g, wk_accel_net *net, wk_accel_refused *why) {
  wk_accel_making k = {.net = net, .g = g};
  set_defaults(net);
  net->n_inputs = g->inputs.n, net->n_outputs = g->outputs.n;
  k.at = wk_xcalloc(g->values.n, sizeof *k.at);
  for (size_t v = 0; v < g->values.n; v++) k.at[v].tensor = -1;
  for (size_t i = 0; i < g->inputs.n; i++) take_input(&k, i);
  bool fine = make_nodes(&k);
  for (size_t i = 0; i < g->outputs.n && fine; i++) fine = give_output(&k, i);
  for (size_t i = 0; i < net->left.n && fine; i++)
    net->left.data[i].at = k.at[net->left.data[i].value];
  free(k.at);
  if (fine) {
    wk_accel_flatten(net);
    wk_accel_learn_rows(net);
    clear_lanes(net);
    for (size_t i = 0; i < net->ops.n; i++) wk_vec_push(&net->whole, net->ops.data[i]);
    fine = wk_accel_fit(&k);
  }
  if (fine) wk_accel_find_heads(net);
  if (fine) wk_accel_find_channels(net);
  if (fine) add_constants(net);
  else *why = (wk_accel_refused){k.refused, k.reason ? k.reason : "no reason given"};
  return fine;
}
