/* SPDX-License-Identifier: Apache-2.0
 * Random networks over images whose rows are long beside a small scratchpad: convolutions of all
 * kinds and pools, what is added to them, also of what they read, images that are cut, and those
 * that several of them and the outside see. */
#ifndef WICK_TESTS_RANDOM_WIDE_H
#define WICK_TESTS_RANDOM_WIDE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "compiler/ir/ir.h"

/* As sums of quantised images are. */
#define WIDE_SUM                                                                                 \
  "sat<u8>(add(shr_round(add(mul(sub(i32(%%0), 129i32), 3607626i32), mul(sub(i32(%%1), 117i32), " \
  "3407711i32)), 22i32), 123i32))"

typedef struct {
  wk_rng rng;
  wk_str text;
  int n;               /* values */
  int64_t dims[12][3]; /* channels, rows, columns of each */
  bool is_read[12];
} random_wide_net;

static inline int64_t wide_pick(random_wide_net *x, int64_t low, int64_t high) {
  return wk_rng_range(&x->rng, low, high);
}

/* One that has been made, mostly the last. */
static inline int wide_value(random_wide_net *x) {
  int v = wide_pick(x, 0, 3) ? x->n - 1 : (int)wide_pick(x, 0, x->n - 1);
  x->is_read[v] = true;
  return v;
}

static inline void wide_keep(random_wide_net *x, int64_t c, int64_t h, int64_t w) {
  wk_str_printf(&x->text, " : u8[1,%lld,%lld,%lld]\n", (long long)c, (long long)h, (long long)w);
  x->dims[x->n][0] = c, x->dims[x->n][1] = h, x->dims[x->n][2] = w;
  x->n++;
}

static inline void wide_window(random_wide_net *x) {
  static const int64_t kernels[] = {1, 3, 3, 3, 5};
  const int v = wide_value(x);
  const int64_t *d = x->dims[v];
  const int64_t k = kernels[wide_pick(x, 0, 4)], s = wide_pick(x, 0, 2) ? 1 : 2;
  const int64_t l = wide_pick(x, 0, k / 2), r = wide_pick(x, 0, k / 2);
  const int64_t dilation = wide_pick(x, 0, 5) || k > 3 ? 1 : 2, span = (k - 1) * dilation + 1;
  const int64_t h = (d[1] + 2 * (span / 2) - span) / s + 1, w = (d[2] + l + r - span) / s + 1;
  const bool is_pool = !wide_pick(x, 0, 5) && k > 1, is_depthwise = wide_pick(x, 0, 1);
  const int64_t out = is_pool || is_depthwise ? d[0] : wide_pick(x, 1, 40);
  if (!is_pool)
    wk_str_printf(&x->text, "  %%w%d = constant i8[%lld,%lld,%lld,%lld] splat(1)\n", x->n,
                  (long long)out, (long long)(is_depthwise ? 1 : d[0]), (long long)k, (long long)k);
  wk_str_printf(&x->text, "  %%v%d%s = %s(%%v%d", x->n, is_pool ? ", -" : "",
                is_pool ? "max_pool" : "conv", v);
  if (!is_pool) wk_str_printf(&x->text, ", %%w%d", x->n);
  wk_str_printf(&x->text,
                ") {strides=[%lld,%lld], pads=[%lld,%lld,%lld,%lld], dilations=[%lld,%lld]",
                (long long)s, (long long)s, (long long)(span / 2), (long long)l,
                (long long)(span / 2), (long long)r, (long long)dilation, (long long)dilation);
  if (is_pool) wk_str_printf(&x->text, ", kernel=[%lld,%lld]}", (long long)k, (long long)k);
  else
    wk_str_printf(&x->text, ", group=%lld, pad_value=%d, epilogue=\"sat<u8>(add(rescale(%%0, "
                  "9000000i64, %di64), 100i32))\"}", (long long)(is_depthwise ? d[0] : 1),
                  (int)wide_pick(x, 0, 200), is_depthwise ? 25 : 28);
  wide_keep(x, out, h, w);
}

/* Some rows and columns of one. */
static inline void wide_crop(random_wide_net *x) {
  const int v = wide_value(x);
  const int64_t *d = x->dims[v];
  const int64_t y0 = wide_pick(x, 0, d[1] > 4 ? 2 : 0), x0 = wide_pick(x, 0, d[2] / 4);
  const int64_t h = d[1] - y0 - wide_pick(x, 0, d[1] - y0 > 2 ? 1 : 0);
  const int64_t w = d[2] - x0 - wide_pick(x, 0, d[2] / 4);
  wk_str_printf(&x->text, "  %%v%d = slice(%%v%d) {starts=[0,0,%lld,%lld], sizes=[1,%lld,%lld,"
                "%lld], steps=[1,1,1,1]}", x->n, v, (long long)y0, (long long)x0, (long long)d[0],
                (long long)h, (long long)w);
  wide_keep(x, d[0], h, w);
}

/* The sum of a window of an image and what it is about, cut out of that: a residual. */
static inline void wide_residual(random_wide_net *x) {
  const int v = wide_value(x);
  const int64_t *d = x->dims[v];
  const int64_t c = d[0], h = d[1] - 2, w = d[2] - 2;
  if (h < 1 || w < 1 || x->n + 3 > 11) return;
  wk_str_printf(&x->text, "  %%w%d = constant i8[%lld,%lld,3,3] splat(1)\n"
                "  %%v%d = conv(%%v%d, %%w%d) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], "
                "epilogue=\"sat<u8>(add(rescale(%%0, 9000000i64, 28i64), 100i32))\"}",
                x->n, (long long)c, (long long)c, x->n, v, x->n);
  wide_keep(x, c, h, w);
  wk_str_printf(&x->text, "  %%v%d = slice(%%v%d) {starts=[0,0,1,1], sizes=[1,%lld,%lld,%lld], "
                "steps=[1,1,1,1]}", x->n, v, (long long)c, (long long)h, (long long)w);
  wide_keep(x, c, h, w);
  wk_str_printf(&x->text, "  %%v%d = map(%%v%d, %%v%d) {body=\"" WIDE_SUM "\"}", x->n, x->n - 2,
                x->n - 1);
  x->is_read[x->n - 1] = x->is_read[x->n - 2] = true;
  wide_keep(x, c, h, w);
}

/* The sum or the greater of two of the same size, or of one and itself. */
static inline void wide_map(random_wide_net *x) {
  const int a = wide_value(x);
  int b = (int)wide_pick(x, 0, x->n - 1);
  while (memcmp(x->dims[a], x->dims[b], sizeof x->dims[a]) != 0) b = (b + 1) % x->n;
  x->is_read[b] = true;
  wk_str_printf(&x->text, "  %%v%d = map(%%v%d, %%v%d) {body=\"", x->n, a, b);
  if (wide_pick(x, 0, 2)) wk_str_printf(&x->text, WIDE_SUM "\"}");
  else wk_str_printf(&x->text, "max(%%0, %%1)\"}");
  wide_keep(x, x->dims[a][0], x->dims[a][1], x->dims[a][2]);
}

/* Weights of ones become numbers that differ. */
static inline void wide_vary(random_wide_net *x, wk_graph *g) {
  for (size_t v = 0; v < g->values.n; v++) {
    const wk_value *y = wk_val(g, (wk_value_id)v);
    if (y->kind != WK_VALUE_CONSTANT || y->type.dtype != WK_I8) continue;
    for (int64_t i = 0; i < wk_type_count(&y->type); i++)
      wk_store_i64((void *)(uintptr_t)y->data, WK_I8, i, wide_pick(x, -127, 127));
  }
}

static inline wk_module *random_wide(uint64_t seed) {
  random_wide_net x = {.rng = {seed}, .text = {0}};
  wk_module *m;
  const int64_t c = wide_pick(&x, 0, 2) ? wide_pick(&x, 5, 40) : wide_pick(&x, 1, 4);
  const int64_t h = wide_pick(&x, 5, 14), w = wide_pick(&x, 60, 260);
  const int ops = (int)wide_pick(&x, 1, 8);
  wk_str_printf(&x.text, "module \"wide\" {\ngraph @main(%%v0");
  wide_keep(&x, c, h, w);
  x.text.n--; /* the end of the line */
  wk_str_add(&x.text, ") {\n");
  for (int i = 0; i < ops && x.n < 11; i++)
    switch (wide_pick(&x, 0, 9)) {
    case 0: wide_crop(&x); break;
    case 1: wide_residual(&x); break;
    case 2:
    case 3: wide_map(&x); break;
    default: wide_window(&x);
    }
  for (int v = 1; v < x.n; v++)
    if (!x.is_read[v] || !wide_pick(&x, 0, 7)) wk_str_printf(&x.text, "  output %%v%d\n", v);
  wk_str_add(&x.text, "}\n}\n");
  wk_status s = wk_module_parse(x.text.s, "wide", &m);
  if (s) fail_msg("%s: %s: %s", s->place ? s->place : "", s->message, x.text.s);
  wide_vary(&x, m->main);
  wk_str_free(&x.text);
  return m;
}

#endif
