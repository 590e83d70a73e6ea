/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/skip_fills.h"

#include "compiler/lower/lower.h"
#include "targets/cpu/kernels/contract.h"

typedef struct {
  wk_program *p;
  wk_inst_pos *flat;
  size_t n;
  bool *gone; /* per position: a map that filled in place, for products alone */
} skipping;

static bool writes(const wk_inst *i, uint32_t buffer) {
  for (uint32_t k = 0; k < i->n_operands; k++)
    if (i->operands[k].buffer == buffer && i->operands[k].role != WK_ROLE_IN) return true;
  return false;
}

static bool is_written(const skipping *s, uint32_t buffer, size_t after, size_t before) {
  for (size_t i = after + 1; i < before; i++)
    if (writes(s->flat[i].inst, buffer)) return true;
  return false;
}

/* The last instruction before a position that writes the buffer, if it is a map outside of all
 * control flow with this one result; -1: there is none. */
static int64_t writer(const skipping *s, uint32_t buffer, size_t before) {
  for (size_t i = before; i-- > 0;) {
    const wk_inst *inst = s->flat[i].inst;
    if (s->gone[i] || !writes(inst, buffer)) continue;
    return s->flat[i].depth == 0 && inst->op == WK_OP_MAP && inst->n_out == 1 ? (int64_t)i : -1;
  }
  return -1;
}

/* ---- masks ----------------------------------------------------------------------------------- */

static bool is_number(const wk_limit *l, const wk_view *v) {
  for (int i = 0; i < v->rank; i++)
    if (v->dims[i] != 1 && v->strides[i] != 0) return false;
  return v->buffer == l->size.buffer && v->offset == l->size.offset && v->step == l->size.step &&
         v->dtype == WK_I64;
}

/* A constant that counts 0, 1 … along the axis, alike at all other positions. */
static bool counts(const skipping *s, const wk_view *v, int axis) {
  const wk_buffer *b = &s->p->buffers.data[v->buffer];
  if (b->region != WK_REGION_CONST || v->dtype != WK_I64 || !b->data || v->step) return false;
  for (int i = 0; i < v->rank; i++)
    if (i != axis && v->dims[i] != 1 && v->strides[i] != 0) return false;
  for (int64_t at = 0; at < v->dims[axis]; at++)
    if (wk_load_i64((const char *)b->data + v->offset, WK_I64, at * v->strides[axis]) != at)
      return false;
  return true;
}

static const wk_view *input_of(const wk_inst *i, const wk_expr *e, uint16_t node) {
  return e->nodes[node].op == WK_EX_INPUT ? &i->operands[i->n_out + e->nodes[node].imm.i] : NULL;
}

/* Node k of a map's expression is `position < limit` along the axis. */
static bool is_below(const skipping *s, const wk_inst *i, const wk_expr *e, uint16_t k, int axis,
                     const wk_limit *l) {
  const wk_expr_node *x = &e->nodes[k];
  if (x->op != WK_EX_LT) return false;
  const wk_view *at = input_of(i, e, x->arg[0]), *size = input_of(i, e, x->arg[1]);
  return at && size && is_number(l, size) && counts(s, at, axis);
}

/* Where axis `axis` of `of` runs along an axis of `in`, both of one buffer; -1: it does not, or
 * others run elsewhere. Axes that repeat are the same everywhere. */
static int same_axis(const wk_view *of, const wk_view *in, int axis) {
  for (int i = 0; i < in->rank; i++)
    if (in->strides[i] == of->strides[axis] && in->dims[i] == of->dims[axis] && in->dims[i] > 1)
      return i;
  return -1;
}

/* The operand of a map is `position < limit` along an axis of the map. */
static bool is_mask(const skipping *s, const wk_view *v, size_t before, int axis,
                    const wk_limit *l) {
  int64_t at = writer(s, v->buffer, before);
  if (at < 0 || v->dtype != WK_BOOL) return false;
  const wk_inst *made = s->flat[at].inst;
  const wk_view *out = &made->operands[0];
  const wk_expr *e = ((const wk_attr_map *)made->attrs)->body;
  int along = v->offset == out->offset && !v->step ? same_axis(v, out, axis) : -1;
  for (int i = 0; i < v->rank; i++)
    if (i != axis && v->dims[i] > 1 && v->strides[i] != 0) return false;
  return along >= 0 && e && is_below(s, made, e, e->results[0], along, l) &&
         !is_written(s, l->size.buffer, (size_t)at, before);
}

/* ---- fills ----------------------------------------------------------------------------------- */

/* The operand that the map passes on below the limit, with zeros behind it; NULL: it does not. */
static const wk_view *filled(const skipping *s, size_t at, int axis, const wk_limit *l) {
  const wk_inst *i = s->flat[at].inst;
  const wk_expr *e = ((const wk_attr_map *)i->attrs)->body;
  const wk_expr_node *x = e ? &e->nodes[e->results[0]] : NULL;
  if (!x || x->op != WK_EX_SELECT) return NULL;
  const wk_expr_node *zero = &e->nodes[x->arg[2]];
  const wk_view *from = input_of(i, e, x->arg[1]), *mask = input_of(i, e, x->arg[0]);
  if (zero->op != WK_EX_CONST || !wk_dtype_is_float(zero->dtype) || zero->imm.f != 0) return NULL;
  if (!from || from->dtype != i->operands[0].dtype) return NULL;
  bool is = mask ? is_mask(s, mask, at, axis, l) : is_below(s, i, e, x->arg[0], axis, l);
  return is ? from : NULL;
}

/* `v`, a view of what the map writes, as a view of the operand that it passes on. */
static bool passed_on(const wk_view *v, const wk_view *out, const wk_view *from, wk_view *to) {
  if (v->offset != out->offset || v->step || out->step || from->step) return false;
  *to = *v;
  to->buffer = from->buffer;
  to->offset = from->offset;
  for (int i = 0; i < v->rank; i++) {
    if (v->dims[i] == 1 || v->strides[i] == 0) continue;
    int axis = same_axis(v, out, i);
    if (axis < 0) return false;
    to->strides[i] = from->strides[axis];
  }
  return true;
}

/* ---- products -------------------------------------------------------------------------------- */

/* The limit of what a kernel sums; NULL: there is none, or none that it keeps to. */
static const wk_limit *limit_of_sums(const wk_program *p, const wk_inst *i) {
  if (i->op != WK_OP_MATMUL || !i->n_limits) return NULL;
  const wk_contract c = wk_contract_of(p, i);
  if (c.kind != WK_CONTRACT_MATMUL || !c.matmul.fold_limit || !wk_cpu_is_float(&c.matmul.types))
    return NULL;
  return &i->limits[c.matmul.fold_limit - 1];
}

/* The axis of `out` that the product sums over in its operand k, a view of the same; -1: none. */
static int summed_axis(const wk_inst *i, uint32_t k, const wk_view *out) {
  const wk_view *v = &i->operands[k];
  int fold = k == WK_CONTRACT_A ? v->rank - 1 : v->rank - 2;
  return v->offset == out->offset && !v->step ? same_axis(v, out, fold) : -1;
}

/* Of the products that read what map `by` writes none sums it from the limit on, and nobody else
 * mentions it afterwards. */
static bool is_summed_below(const skipping *s, size_t by, int axis, const wk_limit *l) {
  const wk_view *out = &s->flat[by].inst->operands[0];
  if (s->p->buffers.data[out->buffer].region != WK_REGION_ACT) return false;
  for (size_t i = by + 1; i < s->n; i++) {
    wk_inst *inst = s->flat[i].inst;
    if (s->gone[i]) continue;
    const wk_limit *own = s->flat[i].depth == 0 ? limit_of_sums(s->p, inst) : NULL;
    for (uint32_t k = 0; k < wk_inst_views(inst); k++) {
      if (wk_inst_view(inst, k)->buffer != out->buffer) continue;
      bool is = own && (k == WK_CONTRACT_A || k == WK_CONTRACT_B) && is_number(l, &own->size) &&
                summed_axis(inst, k, out) == axis && !is_written(s, l->size.buffer, by, i);
      if (!is) return false;
    }
  }
  return true;
}

/* Map `by` fills what it reads, where it lies. */
static bool drop(const skipping *s, size_t by, int axis, const wk_limit *l, const wk_view *from) {
  const wk_view *out = &s->flat[by].inst->operands[0];
  for (int i = 0; i < out->rank; i++)
    if (out->dims[i] > 1 && out->strides[i] != from->strides[i]) return false;
  if (out->offset != from->offset || out->step != from->step) return false;
  s->gone[by] = is_summed_below(s, by, axis, l);
  return s->gone[by];
}

/* Operand k is read as it was before it was filled. */
static bool skip(const skipping *s, size_t at, uint32_t k) {
  wk_inst *i = s->flat[at].inst;
  const wk_limit *l = limit_of_sums(s->p, i);
  wk_view *v = &i->operands[k], old = *v;
  int64_t by = l ? writer(s, v->buffer, at) : -1;
  if (by < 0) return false;
  const wk_view *out = &s->flat[by].inst->operands[0];
  int axis = summed_axis(i, k, out);
  const wk_view *from = axis < 0 ? NULL : filled(s, (size_t)by, axis, l);
  if (from && from->buffer == v->buffer) return drop(s, (size_t)by, axis, l, from);
  if (!from || is_written(s, from->buffer, (size_t)by, at) ||
      is_written(s, l->size.buffer, (size_t)by, at) || !passed_on(v, out, from, v)) {
    *v = old;
    return false;
  }
  v->role = WK_ROLE_IN;
  if (limit_of_sums(s->p, i)) return true;
  *v = old;
  return false;
}

/* ---- maps ------------------------------------------------------------------------------------ */

/* It is at top level, or in a nest there. */
static bool is_outside(const skipping *s, size_t at) {
  size_t owner = at;
  if (s->flat[at].depth == 0) return true;
  while (s->flat[owner].depth > 0) owner--;
  return s->flat[at].depth == 1 && s->flat[owner].inst->op == WK_OP_NEST;
}

/* The last instruction before a position that writes the buffer, if it is a map that ends may be
 * set for; -1: there is none. */
static int64_t last_map(const skipping *s, uint32_t buffer, size_t before) {
  for (size_t i = before; i-- > 0;) {
    const wk_inst *inst = s->flat[i].inst;
    if (s->gone[i] || !writes(inst, buffer)) continue;
    bool is_it = is_outside(s, i) && inst->op == WK_OP_MAP && inst->n_out == 1;
    return is_it && inst->n_limits < WK_MAX_LIMITS ? (int64_t)i : -1;
  }
  return -1;
}

/* The map that makes operand k goes no further than the product sums. */
static bool end_map(const skipping *s, size_t at, uint32_t k) {
  const wk_inst *i = s->flat[at].inst;
  const wk_limit *l = limit_of_sums(s->p, i);
  int64_t by = l ? last_map(s, i->operands[k].buffer, at) : -1;
  if (by < 0) return false;
  wk_inst *map = s->flat[by].inst;
  int axis = summed_axis(i, k, &map->operands[0]);
  for (uint32_t n = 0; n < map->n_limits; n++)
    if (map->limits[n].axis == axis) return false;
  if (axis < 0 || is_written(s, l->size.buffer, (size_t)by, at) ||
      !is_summed_below(s, (size_t)by, axis, l))
    return false;
  map->limits[map->n_limits++] = (wk_limit){axis, l->size, wk_view_none()};
  return true;
}

static void remove_gone(const skipping *s) {
  wk_block *b = &s->p->body;
  size_t kept = 0;
  for (size_t i = 0, at = 0; i < b->insts.n; i++) {
    while (s->flat[at].inst != b->insts.data[i]) at++;
    if (!s->gone[at]) b->insts.data[kept++] = b->insts.data[i];
  }
  b->insts.n = kept;
}

wk_status wk_cpu_skip_fills(wk_program *p, wk_arena *scratch, int64_t *changes) {
  skipping s = {.p = p};
  s.n = wk_program_flatten(p, scratch, &s.flat);
  s.gone = wk_arena_alloc(scratch, s.n * sizeof *s.gone);
  for (size_t i = 0; i < s.n; i++) {
    bool has_limit = s.flat[i].depth == 0 && limit_of_sums(p, s.flat[i].inst);
    for (uint32_t k = WK_CONTRACT_A; k <= WK_CONTRACT_B && has_limit; k++)
      *changes += skip(&s, i, k) + end_map(&s, i, k);
  }
  remove_gone(&s);
  int64_t removed = 0;
  return *changes ? wk_inst_dead_stores(p, scratch, &removed) : NULL;
}
