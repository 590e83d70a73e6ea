/* SPDX-License-Identifier: Apache-2.0
 * Convolution as tiles: rows are output pixels, columns output channels, a product over channels
 * for each tap of the window. Rows outside of the image come from a row of padding. Where channels
 * are few the last axis of the window and they are one run of memory. */
#include <string.h>

#include "targets/opencl/prepare.h"
#include "targets/opencl/tile.h"

typedef struct {
  wk_cl_tile t;
  const wk_view *y, *x, *w;
  const wk_attr_conv *c;
  int spatial, looped;   /* axes of the window; those that are loops of their own */
  int64_t channels;      /* of a group */
  bool clips[WK_MAX_RANK]; /* windows leave the image along this axis */
} conv;

/* ---- description ----------------------------------------------------------------------------- */

/* The taps along the last axis and the channels of each follow each other in memory. */
static bool is_one_run(const conv *v) {
  int last = v->spatial - 1;
  return last >= 0 && v->channels <= WK_CL_FEW_CHANNELS && v->c->group == 1 && !v->clips[last] &&
         v->c->dilations.v[last] == 1 && v->x->strides[1] == 1 &&
         v->x->strides[last + 2] == v->channels;
}

static bool describe(conv *v, const wk_cl_making *m) {
  wk_cl_tile *t = &v->t;
  if (m->inst->op != WK_OP_CONV) return false;
  v->y = &m->inst->operands[0];
  v->x = &m->inst->operands[1];
  v->w = &m->inst->operands[2];
  v->c = m->inst->attrs;
  v->spatial = v->y->rank - 2;
  v->channels = v->w->dims[1];
  if (!wk_cl_tile_types(v->x->dtype, v->w->dtype)) return false;
  if (m->p->buffers.data[v->w->buffer].region != WK_REGION_CONST || v->w->step) return false;
  t->m = m;
  t->a = v->x->dtype;
  t->b = v->w->dtype;
  t->sum = wk_cl_tile_sum(t->a);
  t->batch = v->c->group;
  t->columns = v->w->dims[0] / v->c->group;
  if (t->columns < 4 || v->x->strides[1] < 0) return false;
  t->m_rows = v->y->dims[0];
  for (int d = 0; d < v->spatial; d++) {
    t->m_rows *= v->y->dims[d + 2];
    v->clips[d] = wk_cl_clips(m->inst, d);
  }
  v->looped = v->spatial - is_one_run(v);
  t->taps = 1;
  for (int d = 0; d < v->looped; d++) t->taps *= v->w->dims[d + 2];
  t->depth = v->channels * (v->looped < v->spatial ? v->w->dims[v->spatial + 1] : 1);
  t->a_step = v->looped < v->spatial ? 1 : v->x->strides[1];
  t->column_axis = 1;
  return t->m_rows * t->taps * t->depth > 0;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* k runs over the window, then over channels. */
static int64_t weight_at(const void *ctx, int64_t group, int64_t k, int64_t column) {
  const conv *v = ctx;
  int64_t at = (group * v->t.columns + column) * v->w->strides[0];
  at += k % v->channels * v->w->strides[1];
  k /= v->channels;
  for (int d = v->spatial - 1; d >= 0; d--) {
    at += k % v->w->dims[d + 2] * v->w->strides[d + 2];
    k /= v->w->dims[d + 2];
  }
  return at;
}

static void add_weights(conv *v) {
  wk_cl_tile *t = &v->t;
  const char *data = (const char *)t->m->p->buffers.data[v->w->buffer].data + v->w->offset;
  uint64_t bytes;
  const void *panels = wk_cl_tile_pack(t, v->c->group, data, weight_at, v, &bytes);
  uint32_t arg = wk_cl_add_bytes(t->k, panels, bytes);
  const char *type = wk_cl_tile_type(t->b);
  t->b_row = wk_cl_tile_width(t);
  wk_str_printf(t->x.b, "__global const %s *w = (__global const %s *)(g%u + o%u)", type, type, arg,
                arg);
  if (v->c->group > 1)
    wk_str_printf(t->x.b, " + z * %lld",
                  (long long)(wk_cl_tile_panels(t) * t->taps * t->depth * t->b_row));
  wk_str_printf(t->x.b, " + n0 * %lld;\n", (long long)(t->taps * t->depth));
}

/* A run of what is outside of the image; NULL: nothing ever is. */
static const char *add_padding(conv *v) {
  bool any = false;
  for (int d = 0; d < v->looped; d++) any = any || v->clips[d];
  if (!any) return NULL;
  int64_t size = wk_dtype_size(v->t.a), n = (v->t.depth - 1) * v->t.a_step + 1;
  char *row = wk_arena_alloc(v->t.m->unit->arena, (size_t)(n * size));
  int16_t outside = (int16_t)(v->t.sum == WK_I32 ? v->c->pad_value : 0);
  for (int64_t k = 0; k < n && outside; k++) memcpy(row + k * size, &outside, (size_t)size);
  uint32_t arg = wk_cl_add_bytes(v->t.k, row, (uint64_t)(n * size));
  const char *type = wk_cl_tile_type(v->t.a);
  wk_str_printf(v->t.x.b, "__global const %s *outside = (__global const %s *)(g%u + o%u);\n", type,
                type, arg, arg);
  return "outside";
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* For each row of the tile: at_R, where its window begins in x, and y<d>_R, the position of that
 * along each axis that is clipped. */
static void add_rows(const conv *v) {
  const wk_cl_tile *t = &v->t;
  wk_str *b = t->x.b;
  for (int r = 0; r < t->pointers; r++) {
    wk_str_printf(b, "const long q%d = %s;\n", r, wk_cl_tile_row_of(t, r));
    int64_t run = 1;
    wk_str at = {0};
    for (int d = v->spatial - 1; d >= 0; d--) {
      wk_str_printf(b, "const int y%d_%d = (int)(q%d / %lld %% %lld) * %lld - %lld;\n", d, r, r,
                    (long long)run, (long long)v->y->dims[d + 2],
                    (long long)v->c->strides.v[d], (long long)v->c->pads.v[d]);
      wk_str_printf(&at, "y%d_%d * %lldl + ", d, r, (long long)v->x->strides[d + 2]);
      run *= v->y->dims[d + 2];
    }
    wk_str_printf(b, "const long at%d = %sq%d / %lld * %lldl;\n", r, at.s ? at.s : "", r,
                  (long long)run, (long long)v->x->strides[0]);
    wk_str_free(&at);
  }
}

/* Pointers to the rows at tap t0, t1, …. */
static void add_pointers(const conv *v, const char *outside) {
  const wk_cl_tile *t = &v->t;
  wk_str *b = t->x.b;
  const char *type = wk_cl_tile_type(t->a);
  wk_str_add(b, "const long tap = 0");
  for (int d = 0; d < v->looped; d++)
    wk_str_printf(b, " + t%d * %lldl", d,
                  (long long)(v->c->dilations.v[d] * v->x->strides[d + 2]));
  wk_str_add(b, ";\n");
  for (int r = 0; r < t->pointers; r++) {
    wk_str_printf(b, "__global const %s *p%d = ", type, r);
    for (int d = 0, n = 0; d < v->looped; d++)
      if (v->clips[d])
        wk_str_printf(b, "%s(uint)(y%d_%d + t%d * %lld) < %lld", n++ ? " && " : "", d, r, d,
                      (long long)v->c->dilations.v[d], (long long)v->x->dims[d + 2]);
    wk_str_printf(b, "%sx + at%d + tap%s%s;\n", outside ? " ? " : "", r, outside ? " : " : "",
                  outside ? outside : "");
  }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void add_taps(const conv *v, const char *outside) {
  wk_str *b = v->t.x.b;
  for (int d = 0; d < v->looped; d++)
    wk_str_printf(b, "for (int t%d = 0; t%d < %lld; t%d++) {\n", d, d,
                  (long long)v->w->dims[d + 2], d);
  if (v->looped == 0) wk_str_add(b, "{\n");
  add_pointers(v, outside);
  wk_cl_tile_products(&v->t);
  for (int d = 0; d < v->looped; d++) wk_str_add(b, "}\n");
  if (v->looped == 0) wk_str_add(b, "}\n");
}

bool wk_cl_make_conv(const wk_cl_making *m) {
  conv v = {0};
  wk_cl_tile *t = &v.t;
  wk_cl_kernel k = {.what = "conv", .node = m->inst->name};
  t->k = &k;
  if (!describe(&v, m) || !wk_cl_tile_choose(t, true)) return false;
  bool is_cpu = m->device->family == WK_CL_CPU;
  if (!wk_cl_loops_open(&t->x, m->a, &k, m->p, m->inst, 2, is_cpu)) return false;
  const char *type = wk_cl_tile_type(t->a);
  wk_cl_tile_begin(t);
  add_weights(&v);
  const char *outside = add_padding(&v);
  wk_str_printf(t->x.b, "__global const %s *x = (__global const %s *)(%s) + z * %lldl;\n", type,
                type, t->x.base[1], (long long)(v.channels * v.x->strides[1]));
  add_rows(&v);
  wk_cl_tile_sums(t);
  add_taps(&v, outside);
  wk_str position = {0};
  wk_str_add(&position, "const long at = m0 + row;\n");
  wk_cl_positions(&position, 'i', v.y->rank, v.y->dims, 1, "at");
  wk_cl_tile_end(t, position.s, wk_arena_printf(m->a, "z * %lld + n0", (long long)t->columns));
  wk_str_free(&position);
  wk_cl_add_launch(m->unit, &k);
  return true;
}
