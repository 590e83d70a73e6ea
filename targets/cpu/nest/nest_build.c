/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions to statements. COPY and FILL become maps; copies move bits, whatever the type. */
#include <string.h>

#include "targets/cpu/nest/nest.h"

static bool uses_index(const wk_expr *x) {
  for (uint32_t i = 0; x && i < x->n; i++)
    if (x->nodes[i].op == WK_EX_INDEX) return true;
  return false;
}

static wk_dtype bits_type(wk_dtype t) {
  switch (wk_dtype_size(t)) {
    case 1: return WK_U8;
    case 2: return WK_U16;
    case 4: return WK_U32;
    default: return WK_U64;
  }
}

static void make_copy(wk_arena *a, wk_nest_statement *s) {
  wk_dtype bits = bits_type(s->operands[0].dtype);
  for (uint32_t k = 0; k < s->n_operands; k++) s->operands[k].dtype = bits;
  s->body = wk_expr_identity(a, bits);
}

static void make_fill(wk_arena *a, wk_nest_statement *s, double value) {
  wk_expr_builder *b = wk_expr_begin(a);
  uint16_t c = wk_expr_f(b, s->operands[0].dtype, value);
  s->body = wk_expr_finish(b, &c, 1);
}

static wk_fold fold_of(const char *kind) {
  static const char *const names[] = {"", "sum", "prod", "max", "min", "argmax", "argmin"};
  for (int i = WK_FOLD_SUM; i <= WK_FOLD_ARGMIN; i++)
    if (strcmp(kind, names[i]) == 0) return (wk_fold)i;
  return WK_FOLD_NONE;
}

static wk_status make_reduce(wk_arena *a, wk_nest_statement *s, const wk_attr_reduce *r) {
  if (s->n_out != 1 || s->n_operands < 2) return wk_error(WK_INTERNAL, "reduce without operands");
  s->fold = fold_of(r->kind);
  if (s->fold == WK_FOLD_NONE) return wk_error(WK_UNSUPPORTED, "reduce of kind %s", r->kind);
  s->select_last = r->select_last != 0;
  s->body = r->pre ? r->pre : wk_expr_identity(a, s->operands[1].dtype);
  s->folded = s->body->nodes[s->body->results[0]].dtype;
  bool is_arg = s->fold == WK_FOLD_ARGMAX || s->fold == WK_FOLD_ARGMIN;
  s->start = wk_fold_neutral(is_arg ? r->kind + strlen("arg") : r->kind, s->folded);
  s->post = r->post;
  for (int64_t k = 0; k < r->axes.n; k++) {
    int64_t axis = r->axes.v[k];
    if (axis < 0 || axis >= s->rank)
      return wk_error(WK_INTERNAL, "reduce along axis %lld", (long long)axis);
    s->dim[axis].reduced = true;
    s->over_samples |= axis == 0 && s->dim[0].n > 1;
  }
  return NULL;
}

static wk_status make_operand(const wk_program *p, const wk_view *v, wk_nest_statement *s,
                              wk_nest_operand *o) {
  *o = (wk_nest_operand){.dtype = v->dtype, .arg = o->arg};
  if (v->rank != s->rank) return wk_error(WK_INTERNAL, "operands of different ranks");
  for (int d = 0; d < s->rank; d++) o->stride[d] = v->strides[d] * wk_dtype_size(v->dtype);
  const wk_buffer *b = &p->buffers.data[v->buffer];
  if (b->region != WK_REGION_SCRATCH) return NULL;
  if (b->offset < 0) return wk_error(WK_INTERNAL, "scratch buffer %s is not placed", b->name);
  o->is_scratch = true;
  o->at = b->offset + v->offset;
  return NULL;
}

static wk_status make_operands(wk_arena *a, const wk_program *p, const wk_inst *i,
                               uint32_t first_arg, wk_nest_statement *s) {
  const wk_view *shape = NULL;
  for (uint32_t k = 0; k < i->n_operands; k++) { /* reduce: the inputs have the iteration's dims */
    bool counts = i->op != WK_OP_REDUCE || k >= i->n_out;
    if (counts && !shape && i->operands[k].buffer != WK_NONE) shape = &i->operands[k];
  }
  if (!shape) return wk_error(WK_INTERNAL, "an instruction without operands");
  s->rank = shape->rank;
  for (int d = 0; d < s->rank; d++)
    s->dim[d] = (wk_nest_dim){.n = shape->dims[d], .axis = d, .scale = 1};
  s->n_out = i->n_out;
  s->n_operands = i->n_operands;
  s->operands = wk_arena_alloc(a, i->n_operands * sizeof *s->operands);
  for (uint32_t k = 0; k < i->n_operands; k++) {
    s->operands[k].arg = first_arg + k;
    if (i->operands[k].buffer == WK_NONE) continue; /* dtype none */
    WK_TRY(make_operand(p, &i->operands[k], s, &s->operands[k]));
  }
  return NULL;
}

static wk_status make_statement(wk_arena *a, const wk_program *p, const wk_inst *i,
                                uint32_t first_arg, wk_nest_statement *s) {
  *s = (wk_nest_statement){.vector = -1, .tile = -1, .clip = -1, .lanes = 1};
  WK_TRY(make_operands(a, p, i, first_arg, s));
  switch (i->op) {
    case WK_OP_MAP: {
      const wk_attr_map *m = i->attrs;
      s->body = m->body ? m->body : wk_expr_identity(a, s->operands[i->n_out].dtype);
      bool plain = wk_expr_is_identity(s->body) && s->n_operands == 2 &&
                   s->operands[0].dtype == s->operands[1].dtype;
      if (plain) make_copy(a, s);
      break;
    }
    case WK_OP_COPY: make_copy(a, s); break;
    case WK_OP_FILL: make_fill(a, s, ((const wk_attr_fill *)i->attrs)->value); break;
    case WK_OP_REDUCE: WK_TRY(make_reduce(a, s, i->attrs)); break;
    default:
      return wk_error(WK_UNSUPPORTED, "%s is not a loop of scalar expressions",
                      wk_op_get(i->op)->name);
  }
  s->is_indexed = uses_index(s->body) || uses_index(s->post);
  return NULL;
}

static int64_t scratch_size(const wk_program *p, const wk_inst *i) {
  int64_t size = 0;
  for (uint32_t k = 0; k < i->n_operands; k++) {
    if (i->operands[k].buffer == WK_NONE) continue;
    const wk_buffer *b = &p->buffers.data[i->operands[k].buffer];
    if (b->region == WK_REGION_SCRATCH && b->offset + b->size > size) size = b->offset + b->size;
  }
  return size;
}

static wk_status check_outer(const wk_nest_statement *first, const wk_nest_statement *s,
                             int outer) {
  if (outer < 0 || s->rank < outer)
    return wk_error(WK_INTERNAL, "a nest deeper than its statements");
  for (int d = 0; d < outer; d++)
    if (s->dim[d].n != first->dim[d].n || s->dim[d].reduced)
      return wk_error(WK_INTERNAL, "statements of a nest that do not share its dims");
  return NULL;
}

static wk_status build_body(wk_arena *a, const wk_program *p, const wk_block *block, wk_nest *out) {
  for (size_t k = 0; k < block->insts.n; k++) {
    const wk_inst *i = block->insts.data[k];
    WK_TRY(make_statement(a, p, i, out->n_args, &out->statements[k]));
    WK_TRY(check_outer(&out->statements[0], &out->statements[k], out->outer));
    out->n_args += i->n_operands;
    int64_t size = scratch_size(p, i);
    if (size > out->scratch_bytes) out->scratch_bytes = size;
  }
  return NULL;
}

/* The limit of this axis; NULL: there is none. */
static const wk_limit *limit_of(const wk_inst *i, int axis) {
  for (uint32_t k = 0; k < i->n_limits; k++)
    if (i->limits[k].axis == axis) return &i->limits[k];
  return NULL;
}

static bool is_same_size(const wk_limit *a, const wk_limit *b) {
  return a && b && wk_view_same(&a->size, &b->size) && wk_view_same(&a->rows, &b->rows);
}

/* All statements of a nest go along an outer axis together. */
static bool in_all(const wk_inst *i, const wk_limit *l) {
  if (i->op != WK_OP_NEST || l->axis >= ((const wk_attr_nest *)i->attrs)->outer) return true;
  for (size_t j = 0; j < i->bodies[0].insts.n; j++)
    if (!is_same_size(limit_of(i->bodies[0].insts.data[j], l->axis), l)) return false;
  return true;
}

/* Its number among those that are there, where it is added if there is room; 0: there is none. */
static uint32_t number_of(wk_limit out[WK_MAX_LIMITS], uint32_t *n, const wk_limit *l) {
  for (uint32_t k = 0; k < *n; k++)
    if (is_same_size(&out[k], l)) return 1 + k;
  if (*n == WK_MAX_LIMITS) return 0;
  out[*n] = *l;
  return ++*n;
}

/* Limits of statement `k` that loops act on; n: NULL when nobody sets them. */
static void take_limits(const wk_inst *i, const wk_inst *statement, wk_nest_statement *s,
                        wk_limit out[WK_MAX_LIMITS], uint32_t *n) {
  for (uint32_t k = 0; k < statement->n_limits; k++) {
    const wk_limit *l = &statement->limits[k];
    bool is_one = wk_limit_last_axis(statement, l) == l->axis; /* lists of several: for products */
    uint32_t number = is_one && in_all(i, l) ? number_of(out, n, l) : 0;
    if (!s || !is_one) continue;
    s->dim[l->axis].limit = (int)number;
    s->dim[l->axis].listed = number && wk_limit_has_rows(l);
  }
}

static uint32_t all_limits(const wk_inst *i, wk_nest *nest, wk_limit out[WK_MAX_LIMITS]) {
  uint32_t n = 0;
  if (i->op != WK_OP_NEST) take_limits(i, i, nest ? nest->statements : NULL, out, &n);
  for (size_t k = 0; i->op == WK_OP_NEST && k < i->bodies[0].insts.n; k++)
    take_limits(i, i->bodies[0].insts.data[k], nest ? &nest->statements[k] : NULL, out, &n);
  return n;
}

uint32_t wk_cpu_loop_limits(const wk_inst *i, wk_limit out[WK_MAX_LIMITS]) {
  return all_limits(i, NULL, out);
}

static wk_status build(wk_arena *a, const wk_program *p, const wk_inst *i, wk_nest *out) {
  bool nested = i->op == WK_OP_NEST;
  *out = (wk_nest){.arena = a, .n = nested ? 0 : 1};
  if (nested) {
    if (i->n_bodies != 1 || i->bodies[0].insts.n == 0)
      return wk_error(WK_INTERNAL, "an empty nest");
    out->n = (uint32_t)i->bodies[0].insts.n;
    out->outer = (int)((const wk_attr_nest *)i->attrs)->outer;
  }
  out->statements = wk_arena_alloc(a, out->n * sizeof *out->statements);
  if (nested) return build_body(a, p, &i->bodies[0], out);
  out->n_args = i->n_operands;
  out->scratch_bytes = scratch_size(p, i);
  return make_statement(a, p, i, 0, &out->statements[0]);
}

wk_status wk_nest_build(wk_arena *a, const wk_program *p, const wk_inst *i, wk_nest *out) {
  WK_TRY(build(a, p, i, out));
  wk_limit limits[WK_MAX_LIMITS];
  out->n_limits = (int)all_limits(i, out, limits);
  for (int k = 0; k < out->n_limits; k++) out->has_rows[k] = wk_limit_has_rows(&limits[k]);
  return NULL;
}
