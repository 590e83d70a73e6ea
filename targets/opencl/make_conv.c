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
  bool is_gathered;      /* GPU: taps and channels are one sum, whose elements a table finds */
  bool clips[WK_MAX_RANK]; /* windows leave the image along this axis */
  const char *outside;   /* CPU: name of a run of what is outside of the image; NULL: nothing is */
} conv;

/* ---- description ----------------------------------------------------------------------------- */

/* The taps along the last axis and the channels of each follow each other in memory. */
static bool is_one_run(const conv *v) {
  int last = v->spatial - 1;
  return last >= 0 && v->channels <= WK_CL_FEW_CHANNELS && v->c->group == 1 && !v->clips[last] &&
         v->c->dilations.v[last] == 1 && v->x->strides[1] == 1 &&
         v->x->strides[last + 2] == v->channels;
}

enum { GATHER_AXES = 3 }; /* that a row of the table has room for */

/* On GPUs: a tap has so few channels that steps would be empty for the most part. */
static bool wants_table(const conv *v) {
  const wk_view *x = v->x;
  int64_t last = x->strides[1] * (v->channels - 1);
  for (int d = 0; d < v->spatial; d++)
    last += wk_cl_magnitude(v->c->dilations.v[d] * x->strides[d + 2]) * (v->w->dims[d + 2] - 1);
  return v->channels <= WK_CL_FEW_CHANNELS && v->spatial <= GATHER_AXES && last < INT32_MAX;
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
  v->is_gathered = m->device->family == WK_CL_GPU && wants_table(v);
  v->looped = v->is_gathered ? 0 : v->spatial - is_one_run(v);
  t->taps = 1;
  for (int d = 0; d < v->looped; d++) t->taps *= v->w->dims[d + 2];
  t->depth = v->channels;
  for (int d = v->looped; d < v->spatial; d++) t->depth *= v->w->dims[d + 2];
  t->a_step = v->looped < v->spatial ? 1 : v->x->strides[1];
  t->a_run = wk_cl_neighbours(m->p, v->x, 1);
  while (v->c->group > 1 && v->channels % t->a_run) t->a_run /= 2;
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
  wk_str_printf(t->x.b, "__global const %s *w = (__global const %s *)(g%u + o%u)", type, type, arg,
                arg);
  if (v->c->group > 1)
    wk_str_printf(t->x.b, " + z * %lld",
                  (long long)(wk_cl_tile_panels(t) * t->taps * wk_cl_tile_panel_depth(t) *
                              t->b_row));
  wk_str_printf(t->x.b, " + n0 * %lld;\n", (long long)(t->taps * wk_cl_tile_panel_depth(t)));
}

/* CPU: the name of a run of what is outside of the image. */
static const char *add_padding(conv *v) {
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
  const char *type = wk_cl_tile_is_gpu(t) && t->m_rows >> 31 == 0 ? "int" : "long";
  for (int r = 0; r < t->pointers; r++) {
    wk_str_printf(b, "const %s q%d = %s;\n", type, r, wk_cl_tile_row_of(t, r));
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

/* "(uint)(y0_1 + …) < 14 && …": the row's tap is in the image, where windows may leave it; "":
 * all are. */
static const char *condition(const conv *v, int row) {
  const char *text = "";
  for (int d = 0; d < v->looped; d++)
    if (v->clips[d])
      text = wk_arena_printf(v->t.m->a, "%s%s(uint)(y%d_%d + t%d * %lld) < %lld", text,
                             *text ? " && " : "", d, row, d, (long long)v->c->dilations.v[d],
                             (long long)v->x->dims[d + 2]);
  return text;
}

static void add_tap(const conv *v) {
  wk_str *b = v->t.x.b;
  wk_str_add(b, "const long tap = 0");
  for (int d = 0; d < v->looped; d++)
    wk_str_printf(b, " + t%d * %lldl", d,
                  (long long)(v->c->dilations.v[d] * v->x->strides[d + 2]));
  wk_str_add(b, ";\n");
}

/* Pointers to the rows at tap t0, t1, …. */
static void add_pointers(const void *ctx) {
  const conv *v = ctx;
  const wk_cl_tile *t = &v->t;
  const char *outside = v->outside;
  add_tap(v);
  for (int r = 0; r < t->pointers; r++)
    wk_str_printf(t->x.b, "__global const %s *p%d = %s%sx + at%d + tap%s%s;\n",
                  wk_cl_tile_type(t->a), r, condition(v, r), outside ? " ? " : "", r,
                  outside ? " : " : "", outside ? outside : "");
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

/* Whether they are in the image, too. */
static void set_pointers(const void *ctx) {
  const conv *v = ctx;
  const wk_cl_tile *t = &v->t;
  wk_str_add(t->x.b, "{\n");
  add_tap(v);
  for (int r = 0; r < t->pointers; r++) {
    if (t->outside) wk_str_printf(t->x.b, "ok%d = %s;\n", r, condition(v, r));
    wk_str_printf(t->x.b, "p%d = x + at%d + tap;\n", r, r);
  }
  wk_str_add(t->x.b, "}\n");
}

static void declare_pointers(const conv *v) {
  const wk_cl_tile *t = &v->t;
  for (int r = 0; r < t->pointers; r++) {
    wk_str_printf(t->x.b, "__global const %s *p%d = x;\n", wk_cl_tile_type(t->a), r);
    if (t->outside) wk_str_printf(t->x.b, "bool ok%d = true;\n", r);
  }
}

/* What is read outside of the image. */
static const char *outside_value(const conv *v) {
  if (v->t.sum == WK_F32) return "0";
  if (v->t.is_dots)
    return wk_arena_printf(v->t.m->a, "%uu * 0x01010101u", (unsigned)v->c->pad_value & 255);
  return wk_arena_printf(v->t.m->a, "(uint)%lld", (long long)v->c->pad_value);
}

/* A row for each k: where its element is, from the window's first, and its position in the window
 * along each axis, OUTSIDE behind the last k. */
enum { ROW = 4, OUTSIDE = INT32_MIN / 2 };

static void add_table(conv *v) {
  wk_cl_tile *t = &v->t;
  int64_t n = wk_cl_tile_panel_depth(t);
  int32_t *table = wk_arena_alloc(t->m->unit->arena, (size_t)n * ROW * sizeof *table);
  for (int64_t k = 0; k < n; k++) {
    int64_t tap = k / v->channels, offset = k % v->channels * v->x->strides[1];
    int32_t *row = table + k * ROW;
    row[1] = row[2] = row[3] = 0;
    for (int d = v->spatial - 1; d >= 0; d--) {
      int64_t at = tap % v->w->dims[d + 2] * v->c->dilations.v[d];
      tap /= v->w->dims[d + 2];
      offset += at * v->x->strides[d + 2];
      row[d + 1] = (int32_t)at;
    }
    row[0] = (int32_t)offset;
    if (k >= t->depth) row[1] = OUTSIDE;
  }
  uint32_t arg = wk_cl_add_bytes(t->k, table, (uint64_t)n * ROW * sizeof *table);
  wk_str_printf(t->x.b, "__global const int4 *taps = (__global const int4 *)(g%u + o%u);\n", arg,
                arg);
}

/* Element k of the item's row, as the table has it. */
static const char *gathered(const void *ctx, const char *k) {
  const conv *v = ctx;
  wk_arena *a = v->t.m->a;
  const char *inside = "", *row = wk_arena_printf(a, "taps[%s]", k);
  for (int d = 0; d < v->spatial; d++)
    inside = wk_arena_printf(a, "%s%s(uint)(y%d_0 + %s.s%d) < %lld", inside, d ? " && " : "", d,
                             row, d + 1, (long long)v->x->dims[d + 2]);
  return wk_arena_printf(a, "%s ? %s : %s", inside,
                         wk_cl_tile_one(&v->t, v->t.a, 1, "(x + at0)",
                                        wk_arena_printf(a, "%s.s0", row)),
                         outside_value(v));
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* After the rows. */
static void add_products(conv *v) {
  wk_cl_tile *t = &v->t;
  bool is_gpu = wk_cl_tile_is_gpu(t);
  wk_cl_taps taps = {.n = v->looped, .counts = v->w->dims + 2, .ctx = v,
                     .point = is_gpu ? set_pointers : add_pointers};
  if (t->element) taps.point = NULL;
  else if (is_gpu) declare_pointers(v);
  wk_cl_tile_sums(t);
  wk_cl_tile_products(t, &taps);
}

static void find_outside(conv *v) {
  bool any = false;
  for (int d = 0; d < v->looped; d++) any = any || v->clips[d];
  if (!any) return;
  if (wk_cl_tile_is_gpu(&v->t)) v->t.outside = outside_value(v);
  else v->outside = add_padding(v);
}

bool wk_cl_make_conv(const wk_cl_making *m) {
  conv v = {0};
  wk_cl_tile *t = &v.t;
  wk_cl_kernel k = {.what = "conv", .node = m->inst->name};
  t->k = &k;
  if (!describe(&v, m)) return false;
  if (v.is_gathered) t->element = gathered, t->element_ctx = &v;
  if (!wk_cl_tile_choose(t, true)) return false;
  bool is_cpu = m->device->family == WK_CL_CPU;
  if (!wk_cl_loops_open(&t->x, m->a, &k, m->p, m->inst, 2, is_cpu)) return false;
  const char *type = wk_cl_tile_type(t->a);
  wk_cl_tile_begin(t);
  add_weights(&v);
  find_outside(&v);
  if (v.is_gathered) add_table(&v);
  wk_str_printf(t->x.b, "__global const %s *x = (__global const %s *)(%s) + z * %lldl;\n", type,
                type, t->x.base[1], (long long)(v.channels * v.x->strides[1]));
  add_rows(&v);
  add_products(&v);
  wk_str position = {0};
  wk_str_printf(&position, "const %s at = m0 + row;\n", is_cpu || t->m_rows >> 31 ? "long" : "int");
  wk_cl_positions(&position, 'i', v.y->rank, v.y->dims, 1, "at");
  const char *column = wk_arena_printf(m->a, "z * %lld + n0", (long long)t->columns);
  wk_cl_tile_end(t, position.s, column);
  bool ok = wk_cl_tile_launch(t, position.s, column);
  wk_str_free(&position);
  return ok;
}
