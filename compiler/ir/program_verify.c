/* SPDX-License-Identifier: Apache-2.0 */
/* The program verifier: buffers and bindings, then every instruction in program order with its
 * views, roles, operands (program_operands.c) and overlaps (view_overlap.c). */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/program_check.h"

wk_status wk_inst_bad(const wk_inst *i, const char *file, int line, const char *fmt, ...) {
  wk_str text = {0};
  va_list ap;
  va_start(ap, fmt);
  wk_str_vprintf(&text, fmt, ap);
  va_end(ap);
  const char *op = (unsigned)i->op < WK_OP_COUNT ? wk_op_get(i->op)->name : "unknown operator";
  const char *name = i->name && *i->name ? i->name : NULL;
  wk_status s = wk_status_make(WK_INTERNAL, file, line, name, "%s: %s", op, text.s);
  wk_str_free(&text);
  return s;
}

/* ---- buffers and bindings ------------------------------------------------------------------ */

static wk_status check_buffer(const wk_program *p, uint32_t id, wk_map *names) {
  const wk_buffer *b = &p->buffers.data[id];
  uint32_t other;
  if (!b->name || !*b->name) return wk_error(WK_INTERNAL, "buffer %u has no name", id);
  if (wk_map_get(names, b->name, &other))
    return wk_error(WK_INTERNAL, "two buffers are called %%%s", b->name);
  wk_map_put(names, b->name, id);
  if ((unsigned)b->region >= WK_REGION_COUNT)
    return wk_error(WK_INTERNAL, "buffer %%%s is in region %d", b->name, (int)b->region);
  if (b->size < 0 || b->size >= INT64_C(1) << 46)
    return wk_error(WK_INTERNAL, "buffer %%%s has size %lld", b->name, (long long)b->size);
  if (b->align < 1 || b->align > 4096 || (b->align & (b->align - 1)) != 0)
    return wk_error(WK_INTERNAL, "buffer %%%s has alignment %lld", b->name, (long long)b->align);
  if (b->offset < -1 || b->offset >= INT64_C(1) << 46 ||
      (b->offset > 0 && b->offset % b->align != 0))
    return wk_error(WK_INTERNAL, "buffer %%%s lies at %lld", b->name, (long long)b->offset);
  if ((b->region == WK_REGION_CONST || b->region == WK_REGION_STATE) && !b->data && b->size > 0)
    return wk_error(WK_INTERNAL, "%s buffer %%%s has no contents",
                    b->region == WK_REGION_CONST ? "constant" : "state", b->name);
  const wk_program_ios *bound = wk_program_bound(p, b->region);
  if (bound && (b->io >= bound->n || bound->data[b->io].buffer != id))
    return wk_error(WK_INTERNAL, "buffer %%%s is not bound to %s %u", b->name,
                    wk_region_name(b->region), b->io);
  return NULL;
}

static wk_status check_binding(const wk_program *p, const wk_program_io *b, uint32_t position,
                               wk_region region) {
  if (!b->name || !*b->name) return wk_error(WK_INTERNAL, "binding %u has no name", position);
  WK_TRY(wk_type_check(&b->type));
  const wk_buffer *x = b->buffer < p->buffers.n ? &p->buffers.data[b->buffer] : NULL;
  if (!x || x->region != region || x->io != position)
    return wk_error(WK_INTERNAL, "%s %u (%s) has no buffer of its own", wk_region_name(region),
                    position, b->name);
  if (x->size != wk_type_bytes(&b->type))
    return wk_error(WK_INTERNAL, "%s %s needs %lld bytes, its buffer has %lld",
                    wk_region_name(region), b->name, (long long)wk_type_bytes(&b->type),
                    (long long)x->size);
  return NULL;
}

static wk_status check_state_names(const wk_program *p) {
  wk_map *seen = wk_map_new();
  wk_status s = NULL;
  uint32_t other;
  for (uint32_t i = 0; i < p->states.n && !s; i++) {
    const char *name = p->states.data[i].name;
    if (wk_map_get(seen, name, &other))
      s = wk_error(WK_INTERNAL, "two states are called %s", name);
    wk_map_put(seen, name, i);
  }
  wk_map_free(seen);
  return s;
}

static wk_status check_buffers(const wk_program *p, wk_map *names) {
  for (uint32_t i = 0; i < p->buffers.n; i++) WK_TRY(check_buffer(p, i, names));
  for (int r = 0; r < WK_REGION_COUNT; r++) {
    const wk_program_ios *bound = wk_program_bound(p, (wk_region)r);
    for (uint32_t i = 0; bound && i < bound->n; i++)
      WK_TRY(check_binding(p, &bound->data[i], i, (wk_region)r));
  }
  return check_state_names(p);
}

/* ---- views --------------------------------------------------------------------------------- */

static wk_status check_view(const wk_program *p, const wk_inst_pos *at, uint32_t k) {
  const wk_inst *i = at->inst;
  const wk_view *v = &i->operands[k];
  if (v->buffer == WK_NONE) return NULL;
  if (v->buffer >= p->buffers.n) return BAD_INST(i, "operand %u has no buffer", k);
  if (v->rank < 0 || v->rank > WK_MAX_RANK)
    return BAD_INST(i, "operand %u has rank %d", k, v->rank);
  wk_type t = wk_type_make(v->dtype, v->rank, v->dims);
  wk_status s = wk_type_check(&t);
  if (s) {
    wk_status y = BAD_INST(i, "operand %u: %s", k, s->message);
    if (s->code == WK_RESOURCE) y->code = s->code; /* what lowering widened may be too large */
    wk_status_free(s);
    return y;
  }
  const wk_buffer *b = &p->buffers.data[v->buffer];
  int64_t lo, hi;
  wk_view_extent(v, at->trip, &lo, &hi);
  if (wk_type_count(&t) > 0 && at->trip > 0 && (lo < 0 || hi > b->size))
    return BAD_INST(i, "operand %u touches bytes [%lld, %lld) of buffer %%%s of %lld", k,
                    (long long)lo, (long long)hi, b->name, (long long)b->size);
  int64_t size = wk_dtype_size(v->dtype);
  if (v->offset % size || v->step % size || b->align % size)
    return BAD_INST(i, "operand %u: %s elements do not lie on multiples of %lld bytes", k,
                    wk_dtype_name(v->dtype), (long long)size);
  if (v->role != WK_ROLE_IN && (b->region == WK_REGION_CONST || b->region == WK_REGION_INPUT))
    return BAD_INST(i, "operand %u writes the %s buffer %%%s", k, wk_region_name(b->region),
                    b->name);
  return NULL;
}

static wk_role wanted_role(const wk_inst *i, uint32_t k) {
  if (i->op == WK_OP_LOOP) return k == 0 ? WK_ROLE_INOUT : WK_ROLE_OUT;
  return k < i->n_out ? WK_ROLE_OUT : WK_ROLE_IN;
}

static wk_status check_role(const wk_inst *i, uint32_t k) {
  if (i->operands[k].buffer == WK_NONE) return NULL;
  wk_role want = wanted_role(i, k), have = i->operands[k].role;
  bool ok = have == want || (want == WK_ROLE_OUT && have == WK_ROLE_INOUT && i->op != WK_OP_LOOP);
  return ok ? NULL : BAD_INST(i, "operand %u has the wrong role", k);
}

/* A written view that stands still along an axis writes an element several times. A reduce does so
 * along the axes that it reduces, a nest along its own for scratch of one position. */
static wk_status check_repeats(const wk_inst *i, uint32_t k, int64_t outer) {
  const wk_view *v = &i->operands[k];
  const wk_ints none = {0};
  if (wk_view_count(v) == 0) return NULL;
  const wk_ints *axes = i->op == WK_OP_REDUCE ? &((const wk_attr_reduce *)i->attrs)->axes : &none;
  int64_t next = 0;
  for (int d = 0; d < v->rank; d++) {
    bool reduced = next < axes->n && axes->v[next] == d;
    next += reduced;
    if (v->dims[d] > 1 && v->strides[d] == 0 && !reduced && d >= outer)
      return BAD_INST(i, "operand %u is written but stands still along axis %d", k, d);
  }
  return NULL;
}

/* ---- overlaps ------------------------------------------------------------------------------ */

static bool coincide(const wk_view *a, const wk_view *b) {
  wk_view c = *b;
  c.dtype = a->dtype;
  return wk_dtype_size(a->dtype) == wk_dtype_size(b->dtype) && wk_view_same(a, &c);
}

static wk_status check_overlaps(const wk_program *p, const wk_inst_pos *at) {
  const wk_inst *i = at->inst;
  for (uint32_t w = 0; w < i->n_operands; w++) {
    const wk_view *x = &i->operands[w];
    if (x->buffer == WK_NONE || x->role == WK_ROLE_IN) continue;
    for (uint32_t k = 0; k < i->n_operands; k++) {
      const wk_view *y = &i->operands[k];
      if (k == w || y->buffer != x->buffer || (k < w && y->role != WK_ROLE_IN)) continue;
      if (wk_inst_is_elementwise(i, k) && coincide(x, y)) continue;
      if (!wk_view_disjoint_in_loop(x, y, at->trip))
        return BAD_INST(i, "operand %u overlaps operand %u, which is written, in buffer %%%s", k, w,
                        p->buffers.data[x->buffer].name);
    }
  }
  return NULL;
}

/* ---- programs ------------------------------------------------------------------------------ */

typedef struct {
  const wk_program *p;
  uint32_t *scratch_owner; /* buffer -> 1 + top-level instruction that uses it */
  uint32_t top;            /* top-level instructions so far */
  int64_t outer;           /* of the nest around, 0 outside */
  int nest_depth;          /* depth of that nest, -1 outside */
} checker;

static wk_status check_scratch(checker *c, const wk_inst *i) {
  for (uint32_t k = 0; k < i->n_operands; k++) {
    uint32_t b = i->operands[k].buffer;
    if (b == WK_NONE || c->p->buffers.data[b].region != WK_REGION_SCRATCH) continue;
    if (c->scratch_owner[b] && c->scratch_owner[b] != c->top)
      return BAD_INST(i, "scratch %%%s is used by several instructions",
                      c->p->buffers.data[b].name);
    c->scratch_owner[b] = c->top;
  }
  return NULL;
}

/* Along axes of the instruction, and within its buffer. */
static bool are_rows(const wk_program *p, const wk_inst *i, const wk_limit *l) {
  const wk_view *v = &l->rows;
  bool is_list = v->buffer < p->buffers.n && v->dtype == WK_I64 && v->rank == 1 && v->dims[0] >= 0;
  return is_list && v->dims[0] <= p->buffers.data[v->buffer].size / 8 && wk_view_is_dense(v) &&
         v->offset == 0 && v->step == 0 && wk_limit_last_axis(i, l) >= 0;
}

static wk_status check_limits(const wk_program *p, const wk_inst *i) {
  int rank = i->n_operands ? i->operands[0].rank : 0;
  for (uint32_t k = 0; k < i->n_limits; k++) {
    const wk_limit *l = &i->limits[k];
    bool is_there = l->size.buffer < p->buffers.n;
    const wk_buffer *b = is_there ? &p->buffers.data[l->size.buffer] : NULL;
    if (!b || b->size < 8 || l->size.dtype != WK_I64 || l->size.rank != 0 || l->axis < 0 ||
        l->axis >= rank + (i->op == WK_OP_MATMUL))
      return BAD_INST(i, "limit %u is no size, or of no axis", k);
    if (wk_limit_has_rows(l) && (l->axis >= rank || !are_rows(p, i, l)))
      return BAD_INST(i, "limit %u has rows that are not those of its axes", k);
  }
  return NULL;
}

static wk_status check_inst(checker *c, const wk_inst_pos *at) {
  const wk_inst *i = at->inst;
  if ((unsigned)i->op >= WK_OP_COUNT || wk_op_get(i->op)->kind == WK_KIND_GRAPH)
    return BAD_INST(i, "not an instruction");
  if (!i->attrs) return BAD_INST(i, "attributes are missing");
  if (i->n_out > i->n_operands) return BAD_INST(i, "more outputs than operands");
  if (at->depth == 0) c->top++;
  if (at->depth <= c->nest_depth) c->nest_depth = -1, c->outer = 0;
  for (uint32_t k = 0; k < i->n_operands; k++) WK_TRY(check_view(c->p, at, k));
  wk_status s = wk_inst_check_operands(i);
  if (s) {
    if (s->code != WK_RESOURCE) s = wk_status_as(s, WK_INTERNAL);
    return wk_status_place(s, i->name && *i->name ? i->name : NULL);
  }
  for (uint32_t k = 0; k < i->n_operands; k++) {
    WK_TRY(check_role(i, k));
    if (i->operands[k].buffer != WK_NONE && i->operands[k].role != WK_ROLE_IN)
      WK_TRY(check_repeats(i, k, c->outer));
  }
  WK_TRY(check_limits(c->p, i));
  WK_TRY(check_overlaps(c->p, at));
  if (i->op == WK_OP_NEST) {
    c->outer = ((const wk_attr_nest *)i->attrs)->outer;
    c->nest_depth = at->depth;
  }
  return check_scratch(c, i);
}

wk_status wk_program_verify(const wk_program *p) {
  wk_arena *scratch = wk_arena_new();
  wk_map *names = wk_map_new();
  checker c = {.p = p, .nest_depth = -1};
  c.scratch_owner = wk_arena_alloc(scratch, p->buffers.n * sizeof *c.scratch_owner);
  wk_inst_pos *all;
  wk_status s = check_buffers(p, names);
  size_t n = s ? 0 : wk_program_flatten(p, scratch, &all);
  for (size_t k = 0; k < n && !s; k++) s = check_inst(&c, &all[k]);
  wk_map_free(names);
  wk_arena_free(scratch);
  return s;
}
