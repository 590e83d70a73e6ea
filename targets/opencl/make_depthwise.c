/* SPDX-License-Identifier: Apache-2.0
 * Convolution of each channel by itself: a work item computes some pixels of a row for a run of
 * channels, which are neighbours in memory. */
#include <string.h>

#include "compiler/cgen/expr_c.h"
#include "targets/opencl/tile.h"

enum { PIXELS = 8 }; /* of a work item, along the last axis */

typedef struct {
  const wk_cl_making *m;
  wk_cl_kernel *k;
  wk_cl_loops l;
  const wk_view *y, *x, *w;
  const wk_attr_conv *c;
  int spatial, lanes, vectors;
  int64_t taps;
  wk_dtype sum;
} depthwise;

static bool describe(depthwise *v, const wk_cl_making *m) {
  if (m->inst->op != WK_OP_CONV) return false;
  v->m = m;
  v->y = &m->inst->operands[0];
  v->x = &m->inst->operands[1];
  v->w = &m->inst->operands[2];
  v->c = m->inst->attrs;
  v->spatial = v->y->rank - 2;
  v->lanes = wk_cl_lanes(m->device);
  v->sum = wk_cl_tile_sum(v->x->dtype);
  v->taps = 1;
  for (int d = 0; d < v->spatial; d++) v->taps *= v->w->dims[d + 2];
  int64_t channels = v->x->dims[1];
  v->vectors = channels % (2 * v->lanes) == 0 ? 2 : 1;
  return v->c->group == channels && v->y->dims[1] == channels && channels % v->lanes == 0 &&
         v->spatial >= 1 && v->x->strides[1] == 1 && wk_cl_tile_types(v->x->dtype, v->w->dtype) &&
         m->p->buffers.data[v->w->buffer].region == WK_REGION_CONST && !v->w->step;
}

/* [tap][channel] */
static uint32_t add_weights(depthwise *v) {
  int64_t channels = v->x->dims[1], size = wk_dtype_size(v->w->dtype);
  const char *data = (const char *)v->m->p->buffers.data[v->w->buffer].data + v->w->offset;
  char *out = wk_arena_alloc(v->m->unit->arena, (size_t)(channels * v->taps * size));
  for (int64_t t = 0; t < v->taps; t++)
    for (int64_t c = 0; c < channels; c++) {
      int64_t at = c * v->w->strides[0], k = t;
      for (int d = v->spatial - 1; d >= 0; d--) {
        at += k % v->w->dims[d + 2] * v->w->strides[d + 2];
        k /= v->w->dims[d + 2];
      }
      memcpy(out + (t * channels + c) * size, data + at * size, (size_t)size);
    }
  return wk_cl_add_bytes(v->k, out, (uint64_t)(channels * v->taps * size));
}

/* The work item: z, channel c0, first pixel; positions of the axes before the last. */
static void add_item(depthwise *v) {
  wk_str *b = v->l.b;
  int last = v->spatial + 1;
  int64_t width = v->vectors * v->lanes, runs = v->x->dims[1] / width;
  int64_t row = v->y->dims[last], pieces = wk_ceil_div(row, PIXELS), rows = 1;
  for (int d = 0; d < last; d++) rows *= d == 1 ? 1 : v->y->dims[d];
  v->k->global[0] = (uint64_t)(runs * pieces * rows);
  wk_str_printf(b, "const long t = get_global_id(0);\nconst long c0 = t %% %lld * %lld;\n",
                (long long)runs, (long long)width);
  wk_str_printf(b, "const long lo = t / %lld %% %lld * %d, hi = min(lo + %d, (long)%lld);\n",
                (long long)runs, (long long)pieces, PIXELS, PIXELS, (long long)row);
  wk_str_printf(b, "const long rest = t / %lld;\n", (long long)(runs * pieces));
  int64_t dims[WK_MAX_RANK];
  memcpy(dims, v->y->dims, sizeof dims);
  wk_cl_positions(b, 'i', last, dims, 1, "rest");
}

/* Taps of one pixel; those outside add the products of the padding. */
static void add_taps(depthwise *v, const char *x_type, const char *outside) {
  wk_str *b = v->l.b;
  bool is_real = v->sum == WK_F32;
  int64_t channels = v->x->dims[1], stride = 1;
  for (int d = 0; d < v->spatial; d++)
    wk_str_printf(b, "for (int t%d = 0; t%d < %lld; t%d++) {\n"
                  "const long h%d = i%d * %lld + t%d * %lld - %lld;\n", d, d,
                  (long long)v->w->dims[d + 2], d, d, d + 2, (long long)v->c->strides.v[d], d,
                  (long long)v->c->dilations.v[d], (long long)v->c->pads.v[d]);
  wk_str_add(b, "if (");
  for (int d = 0; d < v->spatial; d++)
    wk_str_printf(b, "%s(ulong)h%d < %lld", d ? " && " : "", d, (long long)v->x->dims[d + 2]);
  wk_str_printf(b, ") {\n__global const %s *p = x", x_type);
  for (int d = 0; d < v->spatial; d++)
    wk_str_printf(b, " + h%d * %lldl", d, (long long)v->x->strides[d + 2]);
  wk_str_add(b, ";\n");
  wk_str at = {0};
  for (int d = v->spatial - 1; d >= 0; d--) {
    wk_str_printf(&at, "%st%d * %lld", at.n ? " + " : "", d, (long long)(stride * channels));
    stride *= v->w->dims[d + 2];
  }
  const char *weights = wk_arena_printf(v->m->a, "w + %s", at.s);
  for (int pass = 0; pass < 2; pass++) {
    if (pass && !outside) break;
    if (pass) wk_str_add(b, "} else {\n");
    for (int k = 0; k < v->vectors; k++) {
      const char *w = wk_cl_tile_vector(v->m->a, v->w->dtype, v->lanes, k, weights);
      const char *a = pass ? outside : wk_cl_tile_vector(v->m->a, v->x->dtype, v->lanes, k, "p");
      wk_str_printf(b, is_real ? "v%d = fma(%s, %s, v%d);\n" : "v%d += %s * %s;\n", k, a, w, k);
    }
  }
  wk_str_add(b, "}\n");
  for (int d = 0; d < v->spatial; d++) wk_str_add(b, "}\n");
  wk_str_free(&at);
}

static void add_pixels(depthwise *v, const char *x_type) {
  wk_str *b = v->l.b;
  bool is_real = v->sum == WK_F32;
  const char *outside = !is_real && v->c->pad_value
                            ? wk_arena_printf(v->m->a, "(uint%d)(uint)(%lld)", v->lanes,
                                              (long long)v->c->pad_value)
                            : NULL;
  const char *scalar = is_real ? "float" : "uint";
  const char *type = wk_expr_c_type(v->sum);
  int last = v->spatial + 1;
  wk_str_printf(b, "for (long i%d = lo; i%d < hi; i%d++) {\n", last, last, last);
  for (int k = 0; k < v->vectors; k++)
    wk_str_printf(b, "%s%d v%d = 0;\n", scalar, v->lanes, k);
  add_taps(v, x_type, outside);
  wk_str_printf(b, "%s sums[%d];\n", scalar, v->vectors * v->lanes);
  for (int k = 0; k < v->vectors; k++)
    wk_str_printf(b, "vstore%d(v%d, %d, sums);\n", v->lanes, k, k);
  wk_str_printf(b, "WK_VECTOR for (int j = 0; j < %d; j++) {\nconst long i1 = c0 + j;\n"
                "const %s sum = (%s)sums[j];\n", v->vectors * v->lanes, type, type);
  wk_cl_end(&v->l, (const char *const[]){"sum", NULL});
  wk_str_add(b, "}\n}\n");
}

bool wk_cl_make_depthwise(const wk_cl_making *m) {
  depthwise v = {0};
  wk_cl_kernel k = {.what = "depthwise conv", .node = m->inst->name};
  if (m->device->family != WK_CL_CPU || !describe(&v, m)) return false;
  v.k = &k;
  if (!wk_cl_loops_open(&v.l, m->a, &k, m->p, m->inst, 2, true)) return false;
  const char *x_type = wk_cl_tile_type(v.x->dtype), *w_type = wk_cl_tile_type(v.w->dtype);
  uint32_t weights = add_weights(&v);
  add_item(&v);
  wk_str_printf(v.l.b, "__global const %s *w = (__global const %s *)(g%u + o%u) + c0;\n", w_type,
                w_type, weights, weights);
  wk_str_printf(v.l.b, "__global const %s *x = (__global const %s *)(%s) + i0 * %lldl + c0;\n",
                x_type, x_type, v.l.base[1], (long long)v.x->strides[0]);
  add_pixels(&v, x_type);
  wk_cl_add_launch(m->unit, &k);
  return true;
}
