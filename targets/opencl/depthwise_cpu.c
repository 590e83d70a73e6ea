/* SPDX-License-Identifier: Apache-2.0
 * Depthwise convolution on CPUs: a work item computes some pixels of a row for one or two vectors
 * of channels. */
#include <string.h>

#include "compiler/cgen/expr_c.h"
#include "targets/opencl/depthwise.h"
#include "targets/opencl/tile.h"

enum { PIXELS = 8 }; /* of a work item, along the last axis */

/* The work item: z, channel c0, first pixel; positions of the axes before the last. */
static void add_item(wk_cl_depthwise *v) {
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
static void add_taps(wk_cl_depthwise *v, const char *x_type, const char *outside) {
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

static void add_pixels(wk_cl_depthwise *v, const char *x_type) {
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

bool wk_cl_depthwise_cpu(wk_cl_depthwise *v) {
  int64_t channels = v->x->dims[1];
  v->lanes = wk_cl_lanes(v->m->device);
  v->vectors = channels % (2 * v->lanes) == 0 ? 2 : 1;
  if (channels % v->lanes || !wk_cl_loops_open(&v->l, v->m->a, v->k, v->m->p, v->m->inst, 2, true))
    return false;
  const char *x_type = wk_cl_tile_type(v->x->dtype), *w_type = wk_cl_tile_type(v->w->dtype);
  uint32_t weights = wk_cl_depthwise_weights(v);
  add_item(v);
  wk_str_printf(v->l.b, "__global const %s *w = (__global const %s *)(g%u + o%u) + c0;\n", w_type,
                w_type, weights, weights);
  wk_str_printf(v->l.b, "__global const %s *x = (__global const %s *)(%s) + i0 * %lldl + c0;\n",
                x_type, x_type, v->l.base[1], (long long)v->x->strides[0]);
  add_pixels(v, x_type);
  return true;
}
