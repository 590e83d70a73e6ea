/* SPDX-License-Identifier: Apache-2.0
 * Movement operators in program generation: storages are chosen so that source and destination
 * coincide (the two directions are described in generate.c); what remains is copied. */
#include <math.h>
#include <string.h>

#include "compiler/lower/generate.h"
#include "compiler/memory/storage.h"

/* ---- backwards: producers write into place --------------------------------------------------- */

bool wk_gen_can_redirect(const wk_gen_graph *gg, wk_value_id v) {
  return wk_val(gg->g, v)->kind == WK_VALUE_NODE && !gg->st[v].set;
}

void wk_gen_redirect(wk_gen_graph *gg, wk_value_id v, wk_view view) {
  gg->st[v].set = true;
  gg->st[v].view = view;
}

static wk_view concat_piece(const wk_gen_graph *gg, const wk_node *n, const wk_view *whole,
                            uint32_t piece) {
  int64_t starts[WK_MAX_RANK] = {0};
  int64_t axis = WK_ATTR(n, concat)->axis;
  for (uint32_t i = 0; i < piece; i++) starts[axis] += wk_val(gg->g, n->in[i])->type.dims[axis];
  return wk_view_sliced(whole, starts, wk_val(gg->g, n->in[piece])->type.dims, NULL);
}

/* What a pad keeps of x: `sizes` elements per axis, from `from` in x to `to` in y. Inference
 * sees to it that crops never reach into the padding. */
typedef struct {
  int64_t from[WK_MAX_RANK], to[WK_MAX_RANK], sizes[WK_MAX_RANK];
} pad_box;

static pad_box pad_box_of(const wk_gen_graph *gg, const wk_node *n) {
  const wk_attr_pad *a = WK_ATTR(n, pad);
  const wk_type *x = &wk_val(gg->g, n->in[0])->type;
  pad_box p = {0};
  for (int i = 0; i < x->rank; i++) {
    int64_t b = a->before.v[i], e = a->after.v[i];
    p.from[i] = b < 0 ? -b : 0;
    p.to[i] = b > 0 ? b : 0;
    p.sizes[i] = x->dims[i] - p.from[i] + (e < 0 ? e : 0);
  }
  return p;
}

typedef struct {
  wk_gen *c;
  wk_gen_graph *gg;
} backwards;

static bool is_settled(void *ctx, wk_value_id v) { return ((backwards *)ctx)->gg->st[v].set; }

/* The place of operand k within the result of n; false when strides cannot express it. */
static bool place_in_result(wk_gen *c, wk_gen_graph *gg, const wk_node *n, uint32_t k,
                            wk_view *out) {
  const wk_type *x = &wk_val(gg->g, n->in[k])->type;
  const wk_view *y = wk_gen_storage(c, gg, n->out[0]);
  switch (n->op) {
  case WK_OP_CONCAT: *out = concat_piece(gg, n, y, k); return true;
  case WK_OP_PAD: {
    pad_box box = pad_box_of(gg, n);
    *out = wk_view_sliced(y, box.to, box.sizes, NULL);
    return true;
  }
  case WK_OP_RESHAPE:
  case WK_OP_IDENTITY: return wk_view_reshape(y, x->rank, x->dims, out);
  case WK_OP_TRANSPOSE: *out = wk_view_unpermuted(y, WK_ATTR(n, transpose)->perm.v); return true;
  default: WK_BUG("movement without a place in its result");
  }
}

static void settle_in_result(void *ctx, const wk_node *n, uint32_t k) {
  backwards *b = ctx;
  wk_view w;
  if (place_in_result(b->c, b->gg, n, k, &w)) wk_gen_redirect(b->gg, n->in[k], w);
}

void wk_gen_backwards(wk_gen *c, wk_gen_graph *gg) {
  backwards b = {c, gg};
  wk_storage_backwards(&(wk_storage_choice){gg->g, &b, is_settled, settle_in_result});
}

/* ---- forwards -------------------------------------------------------------------------------- */

/* The view of x that output k of a movement node shows; false when strides cannot express it. */
static bool shown_view(const wk_gen_graph *gg, const wk_node *n, const wk_view *x, uint32_t k,
                       wk_view *out) {
  const wk_type *y = &wk_val(gg->g, n->out[k])->type;
  int64_t starts[WK_MAX_RANK] = {0};
  switch (n->op) {
  case WK_OP_IDENTITY: *out = *x; return true;
  case WK_OP_RESHAPE: return wk_view_reshape(x, y->rank, y->dims, out);
  case WK_OP_TRANSPOSE: *out = wk_view_permuted(x, WK_ATTR(n, transpose)->perm.v); return true;
  case WK_OP_EXPAND: *out = wk_view_broadcast(x, y->rank, y->dims); return true;
  case WK_OP_SLICE: {
    const wk_attr_slice *a = WK_ATTR(n, slice);
    *out = wk_view_sliced(x, a->starts.v, a->sizes.v, a->steps.v);
    return true;
  }
  case WK_OP_SPLIT: {
    const wk_attr_split *a = WK_ATTR(n, split);
    for (uint32_t i = 0; i < k; i++) starts[a->axis] += a->sizes.v[i];
    *out = wk_view_sliced(x, starts, y->dims, NULL);
    return true;
  }
  default: WK_BUG("movement without a view of its operand");
  }
}

static void count_movement(wk_gen *c, const wk_gen_graph *gg, const wk_node *n) {
  bool joins = wk_node_view(n) == WK_VIEW_PIECES;
  for (uint32_t i = 0; i < (joins ? n->n_in : n->n_out); i++) {
    wk_value_id v = joins ? n->in[i] : n->out[i];
    if (v == WK_NONE) continue;
    wk_gen_count_copy(c, &wk_val(gg->g, v)->type);
  }
}

static void gen_shown(wk_gen *c, wk_gen_graph *gg, const wk_node *n) {
  const wk_view *x = wk_gen_storage(c, gg, n->in[0]);
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (n->out[k] == WK_NONE) continue;
    wk_storage *y = &gg->st[n->out[k]];
    wk_view w;
    bool shown = shown_view(gg, n, x, k, &w);
    if (shown && !y->set) {
      y->set = true;
      y->view = w;
      continue;
    }
    const wk_view *dst = wk_gen_storage(c, gg, n->out[k]);
    int axis = n->op == WK_OP_SPLIT ? (int)WK_ATTR(n, split)->axis : -1;
    wk_inst *copy = wk_gen_copy(c, gg->block, dst, shown ? &w : x, n->name);
    wk_gen_limit_copy(c, gg, n, copy, &wk_val(gg->g, n->out[k])->type, axis);
  }
}

static void gen_concat(wk_gen *c, wk_gen_graph *gg, const wk_node *n) {
  wk_view whole = *wk_gen_storage(c, gg, n->out[0]);
  for (uint32_t i = 0; i < n->n_in; i++) {
    wk_view piece = concat_piece(gg, n, &whole, i);
    wk_inst *copy =
        wk_gen_copy(c, gg->block, &piece, wk_gen_storage(c, gg, n->in[i]), n->name);
    const wk_type *piece_type = &wk_val(gg->g, n->in[i])->type;
    wk_gen_limit_copy(c, gg, n, copy, piece_type, (int)WK_ATTR(n, concat)->axis);
  }
}

/* The number that a pad writes, when it is known now and a FILL can hold it. */
static bool fill_value(const wk_gen_graph *gg, const wk_node *n, double *value) {
  *value = 0;
  if (n->n_in < 2 || n->in[1] == WK_NONE) return true;
  const wk_value *v = wk_val(gg->g, n->in[1]);
  if (v->kind != WK_VALUE_CONSTANT) return false;
  wk_dtype t = wk_dtype_storage(v->type.dtype);
  *value = wk_load_f64(v->data, t, 0);
  return wk_dtype_is_float(t) || fabs(*value) < 9007199254740992.0; /* 2^53 */
}

static void fill_border(wk_gen *c, wk_gen_graph *gg, const wk_node *n, wk_view dst) {
  dst.role = WK_ROLE_OUT;
  if (wk_view_count(&dst) == 0) return;
  double value;
  if (!fill_value(gg, n, &value)) {
    wk_view fill = wk_view_broadcast(wk_gen_storage(c, gg, n->in[1]), dst.rank, dst.dims);
    wk_gen_emit_copy(c, gg->block, dst, fill, n->name);
    return;
  }
  wk_inst *i = wk_inst_new(c->p, WK_OP_FILL, n->name, 1, 1);
  ((wk_attr_fill *)i->attrs)->value = value;
  i->operands[0] = dst;
  wk_block_append(gg->block, i);
}

/* The border: for each axis the slabs before and after, inside what earlier axes left over, so that
 * no element is written twice. Then the inside. */
static void gen_pad(wk_gen *c, wk_gen_graph *gg, const wk_node *n) {
  pad_box box = pad_box_of(gg, n);
  wk_view whole = *wk_gen_storage(c, gg, n->out[0]);
  int64_t starts[WK_MAX_RANK] = {0}, sizes[WK_MAX_RANK];
  memcpy(sizes, whole.dims, sizeof sizes);
  for (int axis = 0; axis < whole.rank; axis++) {
    int64_t end = box.to[axis] + box.sizes[axis];
    sizes[axis] = box.to[axis];
    fill_border(c, gg, n, wk_view_sliced(&whole, starts, sizes, NULL));
    starts[axis] = end;
    sizes[axis] = whole.dims[axis] - end;
    fill_border(c, gg, n, wk_view_sliced(&whole, starts, sizes, NULL));
    starts[axis] = box.to[axis];
    sizes[axis] = box.sizes[axis];
  }
  wk_view src = wk_view_sliced(wk_gen_storage(c, gg, n->in[0]), box.from, box.sizes, NULL);
  wk_view dst = wk_view_sliced(&whole, box.to, box.sizes, NULL);
  wk_gen_copy(c, gg->block, &dst, &src, n->name);
}

bool wk_gen_movement(wk_gen *c, wk_gen_graph *gg, const wk_node *n) {
  switch (wk_node_view(n)) {
  case WK_VIEW_NONE: return false;
  case WK_VIEW_WHOLE:
  case WK_VIEW_PART: gen_shown(c, gg, n); break;
  case WK_VIEW_PIECES: gen_concat(c, gg, n); break;
  case WK_VIEW_INSIDE: gen_pad(c, gg, n); break;
  }
  count_movement(c, gg, n);
  return true;
}
