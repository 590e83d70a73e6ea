/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/lanes.h"

#include <string.h>

#include "compiler/cgen/expr_c.h"

enum { LEAST_GROUP = 64, MOST_GROUP = 256 };

const char *wk_cl_scalar_type(wk_dtype t) {
  static const char *const names[WK_DTYPE_COUNT] = {
      [WK_F32] = "float", [WK_F16] = "ushort", [WK_BF16] = "ushort", [WK_F64] = "double",
      [WK_I8] = "char",   [WK_I16] = "short",  [WK_I32] = "int",     [WK_I64] = "long",
      [WK_U8] = "uchar",  [WK_U16] = "ushort", [WK_U32] = "uint",    [WK_U64] = "ulong",
      [WK_BOOL] = "uchar"};
  return names[t];
}

/* ---- how many -------------------------------------------------------------------------------- */

int wk_cl_lanes_for(const wk_opencl *d, int64_t elements, int64_t row) {
  int lanes = 4;
  while (lanes > 1 && (row % lanes || elements / lanes < (int64_t)d->info.units * WK_CL_BUSY))
    lanes /= 2;
  return lanes;
}

uint32_t wk_cl_group_for(const wk_opencl *d, int64_t items) {
  uint32_t group = MOST_GROUP;
  while (group > LEAST_GROUP && (group > d->info.max_group || group > d->info.max_items[0] ||
                                 items < (int64_t)d->info.units * 2 * group))
    group /= 2;
  return group;
}

/* ---- proofs ---------------------------------------------------------------------------------- */

bool wk_cl_begins_at(const wk_program *p, const wk_view *v, int axis, int64_t n) {
  int64_t bytes = n * wk_dtype_size(v->dtype);
  const wk_buffer *b = &p->buffers.data[v->buffer];
  if (v->offset % bytes || v->step % bytes || bytes > WICK_ALIGN) return false;
  for (int d = 0; d < v->rank; d++)
    if (d != axis && v->dims[d] > 1 && v->strides[d] % n) return false;
  return b->offset < 0 || b->offset % bytes == 0;
}

bool wk_cl_is_vector(const wk_program *p, const wk_view *v, int axis, int lanes) {
  return v->strides[axis] == 1 && v->dims[axis] % lanes == 0 &&
         p->buffers.data[v->buffer].region != WK_REGION_SCRATCH &&
         wk_cl_begins_at(p, v, axis, lanes);
}

/* ---- reads ----------------------------------------------------------------------------------- */

typedef enum { EACH, SAME, VECTOR } how;

typedef struct {
  const wk_cl_loops *x;
  const wk_program *p;
  int axis, lanes;
} lanes_of;

/* The view's axis that goes with the instruction's; -1: none does; -2: it is not that simple. */
static int axis_of(const lanes_of *l, const wk_inst_c_read *r) {
  const wk_view *v = &l->x->inst->operands[r->operand];
  int found = -1;
  if (r->inside || r->packed) return -2;
  for (int d = 0; d < v->rank; d++) {
    if (v->dims[d] == 1 || v->strides[d] == 0) continue; /* the position is not looked at */
    bool is_axis = strcmp(r->at[d], wk_inst_c_i[l->axis]) == 0;
    if (!is_axis && strstr(r->at[d], wk_inst_c_i[l->axis])) return -2;
    if (is_axis && found >= 0) return -2;
    if (is_axis) found = d;
  }
  return found;
}

static how how_to(const lanes_of *l, const wk_inst_c_read *r, int *axis) {
  const wk_view *v = &l->x->inst->operands[r->operand];
  *axis = axis_of(l, r);
  if (*axis == -1) return SAME;
  if (*axis < 0 || l->lanes == 1) return EACH;
  return wk_cl_is_vector(l->p, v, *axis, l->lanes) ? VECTOR : EACH;
}

/* The vector that begins with the first lane. */
static const char *vector(const lanes_of *l, wk_inst_c_read r, int axis, const char *constant) {
  const char *type = wk_cl_scalar_type(l->x->inst->operands[r.operand].dtype);
  r.at[axis] = "first";
  return wk_arena_printf(l->x->a, "*(__global %s%s%d *)&%s", constant, type, l->lanes,
                         wk_cl_element(l->x, &r));
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Variables u<k> for what all lanes read together; *form: how a lane reads input k. */
static void load(const lanes_of *l, how *form) {
  const wk_cl_loops *x = l->x;
  for (size_t k = 0; k < x->l.n_end; k++) {
    const wk_inst_c_read *r = &x->l.end_reads[k];
    const char *type = wk_cl_scalar_type(x->inst->operands[r->operand].dtype);
    int axis;
    form[k] = how_to(l, r, &axis);
    if (form[k] == SAME)
      wk_str_printf(x->b, "const %s u%zu = %s;\n", type, k, wk_cl_element(x, r));
    if (form[k] == VECTOR)
      wk_str_printf(x->b, "const %s%d u%zu = %s;\n", type, l->lanes, k,
                    vector(l, *r, axis, "const "));
  }
}

static const char **inputs(const lanes_of *l, const how *form, const char *accumulator, int lane) {
  const wk_cl_loops *x = l->x;
  const char **in = wk_arena_alloc(x->a, (x->l.n_end + 1) * sizeof *in);
  size_t n = 0;
  if (accumulator) in[n++] = accumulator;
  for (size_t k = 0; k < x->l.n_end; k++)
    in[n++] = form[k] == EACH     ? wk_cl_element(x, &x->l.end_reads[k])
              : form[k] == SAME   ? wk_arena_printf(x->a, "u%zu", k)
                                  : wk_arena_printf(x->a, "u%zu.s%d", k, lane);
  return in;
}

/* How outputs are written; vectors are collected in z<k>. */
typedef struct {
  how form;
  int axis;
  wk_inst_c_read at;
} output;

static output *outputs(const lanes_of *l) {
  const wk_cl_loops *x = l->x;
  output *out = wk_arena_alloc(x->a, x->inst->n_out * sizeof *out);
  for (uint32_t k = 0; k < x->inst->n_out; k++) {
    const wk_view *v = &x->inst->operands[k];
    out[k].form = SAME;
    out[k].at.operand = k;
    memcpy(out[k].at.at, x->l.at, sizeof out[k].at.at);
    if (v->buffer != WK_NONE) out[k].form = how_to(l, &out[k].at, &out[k].axis);
    if (out[k].form == VECTOR)
      wk_str_printf(x->b, "%s%d z%u = 0;\n", wk_cl_scalar_type(v->dtype), l->lanes, k);
  }
  return out;
}

static void add_lane(const lanes_of *l, const how *form, const output *out, int lane,
                     const char *accumulator) {
  const wk_cl_loops *x = l->x;
  wk_str_printf(x->b, "{\nconst %s %s = first + %d;\n", x->type, wk_inst_c_i[l->axis], lane);
  const wk_expr_c c = {.name = "y", .index = wk_inst_c_i,
                       .inputs = inputs(l, form, accumulator, lane)};
  wk_expr_c_print(x->b, x->l.end, &c);
  for (uint32_t k = 0; k < x->inst->n_out; k++) {
    if (out[k].form == VECTOR) wk_str_printf(x->b, "z%u.s%d = y%u;\n", k, lane, k);
    else if (x->inst->operands[k].buffer != WK_NONE)
      wk_str_printf(x->b, "%s = y%u;\n", wk_cl_element(x, &out[k].at), k);
  }
  wk_str_add(x->b, "}\n");
}

void wk_cl_end_lanes(const wk_cl_loops *x, const wk_program *p, int axis, int lanes,
                     const char *const *accumulators) {
  const lanes_of l = {x, p, axis, lanes};
  how *form = wk_arena_alloc(x->a, (x->l.n_end + 1) * sizeof *form);
  load(&l, form);
  const output *out = outputs(&l);
  for (int lane = 0; lane < lanes; lane++)
    add_lane(&l, form, out, lane, accumulators ? accumulators[lane] : NULL);
  for (uint32_t k = 0; k < x->inst->n_out; k++)
    if (out[k].form == VECTOR)
      wk_str_printf(x->b, "%s = z%u;\n", vector(&l, out[k].at, out[k].axis, ""), k);
}
