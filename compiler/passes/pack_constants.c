/* SPDX-License-Identifier: Apache-2.0
 * Constants of few values, several to a byte: a constant of 2 or 4 bits, or one of bytes that all
 * lie in so small a range, that one map reads whole. The map takes the bytes apart: along one axis
 * of n entries, byte i holds the entries i, i + n/k, i + 2n/k ..., so the map gets an axis of size
 * k more, along which only the shift changes, and the elements that lie side by side stay so. */
#include "compiler/passes/fuse.h"
#include "compiler/passes/pack.h"
#include "compiler/passes/rewrite.h"

static bool is_byte_input(const wk_expr *e, uint16_t i) {
  return e->nodes[i].op == WK_EX_INPUT && e->nodes[i].dtype == WK_U8;
}

bool wk_takes_apart(const wk_expr *e) {
  for (uint32_t i = 0; i < e->n; i++) {
    const uint16_t *arg = e->nodes[i].arg;
    if (e->nodes[i].op == WK_EX_SHR && is_byte_input(e, arg[0]) && is_byte_input(e, arg[1]))
      return true;
  }
  return false;
}

typedef struct {
  wk_rewrite *r;
  const wk_node *n;
  wk_type space; /* of the map */
  int axis, per; /* the axis of the space that becomes [per, size / per] */
} packer;

/* Bytes in ascending order as unsigned ones. */
static void find_range(const uint8_t *bytes, int64_t n, uint8_t sign, uint8_t *low,
                       uint8_t *high) {
  *low = *high = bytes[0] ^ sign;
  for (int64_t i = 1; i < n && *high - *low < 16; i++) {
    uint8_t value = bytes[i] ^ sign;
    if (value < *low) *low = value;
    if (value > *high) *high = value;
  }
}

typedef struct {
  int per;       /* elements in a byte; 0: it is not packed */
  int64_t least; /* of a constant of bytes: its smallest value, held as 0; else 0 */
} packing;

static packing packing_of(const wk_type *t, const void *bytes) {
  packing p = {0};
  int64_t n = wk_type_count(t);
  uint8_t sign = t->dtype == WK_I8 ? 0x80 : 0, low, high;
  if (!bytes || n == 0) return p;
  if (wk_dtype_is_narrow(t->dtype) && wk_dtype_bits(t->dtype) <= 4)
    p.per = 8 / wk_dtype_bits(t->dtype);
  if (t->dtype != WK_I8 && t->dtype != WK_U8) return p;
  find_range(bytes, n, sign, &low, &high);
  p.per = high - low < 4 ? 4 : high - low < 16 ? 2 : 0;
  p.least = low - sign;
  return p;
}

bool wk_is_worth_packing(const wk_value *v) {
  return v->kind == WK_VALUE_CONSTANT && wk_type_count(&v->type) >= WK_PACK_LEAST &&
         packing_of(&v->type, v->data).per;
}

/* The bytes of a constant, or of a reshaped one, that nobody else reads; NULL: v is none. */
static const uint8_t *own_contents(const wk_rewrite *r, wk_value_id v) {
  const wk_node *reshape = wk_made_by(r, v, WK_OP_RESHAPE);
  wk_value_id x = reshape ? reshape->in[0] : v;
  return wk_once(r, v) && wk_once(r, x) && wk_known(r, x) ? wk_val(r->g, x)->data : NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* The axis of t that lies under the packer's axis; negative: t has none there. */
static int axis_in(const packer *p, const wk_type *t) {
  return p->axis - (p->space.rank - t->rank);
}

/* The dims of t with its axis as [outer, inner]. */
static void split_axis(const packer *p, const wk_type *t, int64_t outer, int64_t inner,
                       int64_t dims[WK_MAX_RANK]) {
  int axis = axis_in(p, t);
  for (int i = 0; i < t->rank; i++) dims[i < axis ? i : i + 1] = t->dims[i];
  dims[axis] = outer;
  dims[axis + 1] = inner;
}

/* Operand v as the map over the split axis takes it. */
static wk_value_id split_operand(const packer *p, wk_value_id v) {
  const wk_type t = *wk_type_of(p->r, v);
  int axis = axis_in(p, &t);
  int64_t dims[WK_MAX_RANK];
  if (axis < 0) return v; /* it is repeated along the axis, and lines up at the end */
  bool is_along = t.dims[axis] != 1;
  split_axis(p, &t, is_along ? p->per : 1, is_along ? t.dims[axis] / p->per : 1, dims);
  return wk_rewrite_reshape(p->r, v, t.rank + 1, dims);
}

/* ---- contents -------------------------------------------------------------------------------- */

static wk_value_id packed(const packer *p, const packing *of, wk_value_id v) {
  const wk_type t = *wk_type_of(p->r, v);
  int axis = axis_in(p, &t);
  int64_t dims[WK_MAX_RANK], outer = 1, inner = 1, part = t.dims[axis] / p->per;
  split_axis(p, &t, 1, part, dims);
  for (int i = 0; i < axis; i++) outer *= t.dims[i];
  for (int i = axis + 1; i < t.rank; i++) inner *= t.dims[i];
  const wk_type bytes = wk_type_make(WK_U8, t.rank + 1, dims);
  void *data;
  wk_value_id y = wk_rewrite_constant(p->r, &bytes, &data);
  if (y == WK_NONE) return y;
  const uint8_t *from = own_contents(p->r, v);
  int bits = 8 / p->per, mask = (1 << bits) - 1;
  part *= inner;
  for (int64_t i = 0; i < outer; i++) {
    uint8_t *to = (uint8_t *)data + i * part;
    for (int k = 0; k < p->per; k++, from += part)
      for (int64_t j = 0; j < part; j++)
        to[j] |= (uint8_t)(((from[j] - of->least) & mask) << k * bits);
  }
  return y;
}

/* u8 [per, 1, 1 ...]: by how many bits to shift right. */
static wk_value_id shifts(const packer *p) {
  int64_t dims[WK_MAX_RANK] = {p->per};
  int rank = p->space.rank + 1 - p->axis;
  for (int i = 1; i < rank; i++) dims[i] = 1;
  const wk_type t = wk_type_make(WK_U8, rank, dims);
  void *data;
  wk_value_id y = wk_rewrite_constant(p->r, &t, &data);
  for (int k = 0; y != WK_NONE && k < p->per; k++) ((uint8_t *)data)[k] = (uint8_t)(k * 8 / p->per);
  return y;
}

/* The value of type t that lies in a byte. */
static uint16_t taken_out(wk_expr_builder *b, const packer *p, const packing *of, wk_dtype t,
                          uint16_t byte, uint16_t shift) {
  uint16_t mask = wk_expr_i(b, WK_U8, (1 << 8 / p->per) - 1);
  uint16_t x = wk_expr_2(b, WK_EX_AND, wk_expr_2(b, WK_EX_SHR, byte, shift), mask);
  if (wk_dtype_is_narrow(t))
    return wk_expr_bits(b, t, wk_expr_cast(b, p->per == 2 ? WK_U4 : WK_U2, x));
  x = wk_expr_bits(b, t, x);
  return of->least ? wk_expr_2(b, WK_EX_ADD, x, wk_expr_i(b, t, of->least)) : x;
}

/* ---- the rule -------------------------------------------------------------------------------- */

static bool is_packable(const packer *p, const packing *of, wk_value_id v) {
  const wk_type *t = wk_type_of(p->r, v);
  int axis = axis_in(p, t);
  return of->per == p->per && axis >= 0 &&
         t->dims[axis] == p->space.dims[p->axis];
}

/* The first axis that can be split, so that what lies side by side is long. */
static bool choose_axis(packer *p, const packing *of, const wk_type *t) {
  p->per = of->per;
  for (int i = 0; i < t->rank; i++) {
    p->axis = p->space.rank - t->rank + i;
    if (t->dims[i] > 0 && t->dims[i] % p->per == 0) return true;
  }
  return false;
}

static bool pack(packer *p, const packing *of) {
  const wk_node n = *p->n;
  wk_rewrite *r = p->r;
  wk_fuse f = {.b = wk_expr_begin(r->arena), .g = r->g};
  wk_value_id values[2 * WK_FUSE_MAX_INPUTS], by = shifts(p);
  uint16_t given[2 * WK_FUSE_MAX_INPUTS] = {0};
  if (by == WK_NONE) return false;
  for (uint32_t k = 0; k < n.n_in; k++) {
    bool is_packed = is_packable(p, &of[k], n.in[k]);
    wk_dtype t = wk_type_of(r, n.in[k])->dtype;
    values[k] = is_packed ? packed(p, &of[k], n.in[k]) : split_operand(p, n.in[k]);
    if (values[k] == WK_NONE) return false;
    if (!is_packed) continue;
    uint16_t byte = wk_fuse_input(&f, values[k]);
    given[k] = taken_out(f.b, p, &of[k], t, byte, wk_fuse_input(&f, by));
    values[k] = WK_NONE;
  }
  wk_attr_map *attrs = wk_attrs_clone(r->arena, WK_OP_MAP, n.attrs);
  uint16_t result = wk_fuse_inline(&f, attrs->body, values, n.n_in, given);
  attrs->body = wk_expr_finish(f.b, &result, 1);
  wk_value_id y = wk_rewrite_add(r, WK_OP_MAP, attrs, f.n, f.in);
  if (y == WK_NONE) return false;
  const wk_node *made = wk_def(r->g, y);
  if (!wk_fuse_allowed(r->c, r->g, &n, NULL, made)) return false;
  return wk_rewrite_replace(r, n.out[0], wk_rewrite_reshape(r, y, p->space.rank, p->space.dims));
}

static bool rule(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  if (n->op != WK_OP_MAP || n->n_out != 1 || n->predicate != WK_NONE ||
      n->n_in > WK_FUSE_MAX_INPUTS || WK_ATTR(n, map)->body->n > WK_FUSE_MAX_NODES ||
      wk_expr_uses_index(WK_ATTR(n, map)->body))
    return false;
  packer p = {.r = r, .n = n, .space = *wk_type_of(r, n->out[0])};
  if (p.space.rank >= WK_MAX_RANK) return false;
  packing of[WK_FUSE_MAX_INPUTS];
  bool chosen = false;
  for (uint32_t k = 0; k < n->n_in; k++)
    of[k] = packing_of(wk_type_of(r, n->in[k]), own_contents(r, n->in[k]));
  for (uint32_t k = 0; k < n->n_in && !chosen; k++) {
    const wk_type *t = wk_type_of(r, n->in[k]);
    chosen = of[k].per && wk_type_count(t) >= WK_PACK_LEAST &&
             wk_fuse_same_space(t, &p.space) && choose_axis(&p, &of[k], t);
  }
  return chosen && pack(&p, of);
}

wk_status wk_pass_pack_constants(wk_graph *g, wk_pass_ctx *c) { return wk_rewrite_run(g, c, rule); }
