/* SPDX-License-Identifier: Apache-2.0
 * Random networks of tokens, quantised: attention with masks, attention of a tensor with itself,
 * windows of an image of tokens. Each returns a module that the caller owns. */
#ifndef WICK_TESTS_RANDOM_TOKENS_H
#define WICK_TESTS_RANDOM_TOKENS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "compiler/integer/integer.h"

static inline wk_module *random_tokens_parsed(wk_str *text, const char *name) {
  wk_module *m;
  int64_t changes;
  wk_status s = wk_module_parse(text->s, name, &m);
  if (!s) s = wk_module_normalise(m);
  if (!s) s = wk_integer_convert(m, &changes);
  if (s) fail_msg("%s: %s: %s", s->place ? s->place : "", s->message, text->s);
  wk_str_free(text);
  return m;
}

/* softmax(q k^T, where the mask is) v of h heads; masks of bools as models have them, by keys, by
 * rows and keys, or causal, which is a constant. */
static inline wk_module *random_attention(uint64_t seed) {
  wk_rng random = {seed};
  wk_str b = {0};
  const char *x = seed % 2 ? "u8" : "i8";
  const int h = (int)wk_rng_range(&random, 1, 4), rows = (int)wk_rng_range(&random, 1, 40);
  const int keys = (int)wk_rng_range(&random, 1, 70), d = (int)wk_rng_range(&random, 1, 40);
  const int kind = (int)wk_rng_range(&random, 0, 2), zero = seed % 2 ? 0 : -128;
  wk_str_printf(&b, "module \"attention\" {\ngraph @main(%%q: %s[1,%d,%d,%d], %%k: %s[1,%d,%d,%d], "
                "%%v: %s[1,%d,%d,%d]", x, h, rows, d, x, h, d, keys, x, h, keys, d);
  if (kind < 2) wk_str_printf(&b, ", %%keep: bool[1,1,%d,%d]", kind ? rows : 1, keys);
  wk_str_printf(&b, ") {\n  %%s = constant f32[] {0.05}\n  %%z = constant %s[] {%d}\n"
                "  %%sp = constant f32[] {0.0039}\n  %%zp = constant %s[] {%d}\n"
                "  %%far = constant f32[] {-3e38}\n", x, zero + 128, x, zero);
  static const char *const inputs[] = {"q", "k", "v"};
  for (int i = 0; i < 3; i++)
    wk_str_printf(&b, "  %%r%s = dequantize(%%%s, %%s, %%z) : f32[1,%d,%d,%d]\n", inputs[i],
                  inputs[i], h, i == 0 ? rows : i == 1 ? d : keys, i == 1 ? keys : d);
  if (kind == 2) {
    wk_str_printf(&b, "  %%keep = constant bool[%d,%d] {", rows, keys);
    for (int i = 0; i < rows * keys; i++)
      wk_str_printf(&b, "%s%s", i ? ", " : "", i % keys <= i / keys ? "1" : "0");
    wk_str_add(&b, "}\n");
  }
  wk_str_printf(&b, "  %%a = matmul(%%rq, %%rk) : f32[1,%d,%d,%d]\n", h, rows, keys);
  wk_str_printf(&b, "  %%qa = quantize(%%a, %%s, %%z) {to=%s} : %s[1,%d,%d,%d]\n", x, x, h, rows,
                keys);
  wk_str_printf(&b, "  %%ra = dequantize(%%qa, %%s, %%z) : f32[1,%d,%d,%d]\n", h, rows, keys);
  wk_str_printf(&b, "  %%m = where(%%keep, %%ra, %%far) : f32[1,%d,%d,%d]\n", h, rows, keys);
  wk_str_printf(&b, "  %%p = softmax(%%m) {axis=3} : f32[1,%d,%d,%d]\n", h, rows, keys);
  wk_str_printf(&b, "  %%qp = quantize(%%p, %%sp, %%zp) {to=%s} : %s[1,%d,%d,%d]\n", x, x, h,
                rows, keys);
  wk_str_printf(&b, "  %%rp = dequantize(%%qp, %%sp, %%zp) : f32[1,%d,%d,%d]\n", h, rows, keys);
  wk_str_printf(&b, "  %%c = matmul(%%rp, %%rv) : f32[1,%d,%d,%d]\n", h, rows, d);
  wk_str_printf(&b, "  %%qc = quantize(%%c, %%s, %%z) {to=%s} : %s[1,%d,%d,%d]\n  output %%qc\n"
                "}\n}\n", x, x, h, rows, d);
  return random_tokens_parsed(&b, "attention");
}

/* Weights [from, to], by no pattern that heads have. */
static inline void put_weights(wk_str *b, const char *name, int from, int to) {
  wk_str_printf(b, "  %%%s8 = constant i8[%d,%d] {", name, from, to);
  for (int i = 0; i < from * to; i++) wk_str_printf(b, "%s%d", i ? ", " : "", i * 37 % 19 - 9);
  wk_str_printf(b, "}\n  %%%s = dequantize(%%%s8, %%s, %%i) : f32[%d,%d]\n", name, name, from, to);
}

static inline void put_rounded(wk_str *b, const char *name, const char *type) {
  wk_str_printf(b, "  %%q%s = quantize(%%%s, %%s, %%z) {to=u8} : u8[%s]\n"
                "  %%r%s = dequantize(%%q%s, %%s, %%z) : f32[%s]\n", name, name, type, name, name,
                type);
}

/* Heads [1, h, rows, d] of columns from `first` on, which the value has `width` of; of keys turned
 * over. */
static inline void put_heads(wk_str *b, const char *from, const char *name, int first, int width,
                             int h, int rows, int d) {
  if (width > h * d)
    wk_str_printf(b, "  %%c%s = slice(%%%s) {starts=[0,0,%d], sizes=[1,%d,%d], steps=[1,1,1]} : "
                  "f32[1,%d,%d]\n", name, from, first, rows, h * d, rows, h * d);
  bool is_key = *name == 'k';
  wk_str_printf(b, "  %%h%s = reshape(%%%s%s) {shape=[1,%d,%d,%d]} : f32[1,%d,%d,%d]\n", name,
                width > h * d ? "c" : "", width > h * d ? name : from, rows, h, d, rows, h, d);
  wk_str_printf(b, "  %%%s = transpose(%%h%s) {perm=[0,2,%s]} : f32[1,%d,%d,%d]\n", name, name,
                is_key ? "3,1" : "1,3", h, is_key ? d : rows, is_key ? rows : d);
}

/* Attention of a tensor with itself: queries, keys and values by three products or by one. */
static inline wk_module *random_projected(uint64_t seed) {
  wk_rng random = {seed};
  wk_str b = {0};
  static const char *const parts[] = {"q", "k", "v"};
  const int h = (int)wk_rng_range(&random, 1, 5), rows = (int)wk_rng_range(&random, 1, 60);
  const int d = 8 * (int)wk_rng_range(&random, 1, 5), in = 16 * (int)wk_rng_range(&random, 1, 4);
  const bool is_joint = wk_rng_range(&random, 0, 1);
  char type[64];
  wk_str_printf(&b, "module \"projected\" {\ngraph @main(%%x: u8[1,%d,%d]) {\n"
                "  %%s = constant f32[] {0.05}\n  %%z = constant u8[] {128}\n"
                "  %%i = constant i8[] {0}\n  %%sp = constant f32[] {0.0039}\n"
                "  %%zp = constant u8[] {0}\n  %%by = constant f32[] {0.25}\n"
                "  %%rx = dequantize(%%x, %%s, %%z) : f32[1,%d,%d]\n", rows, in, rows, in);
  for (int i = 0; i < (is_joint ? 1 : 3); i++) {
    const int width = (is_joint ? 3 : 1) * h * d;
    char w[8], y[8], made[8];
    snprintf(w, sizeof w, "w%d", i), snprintf(y, sizeof y, "y%d", i);
    snprintf(made, sizeof made, "ry%d", i), snprintf(type, sizeof type, "1,%d,%d", rows, width);
    put_weights(&b, w, in, width);
    wk_str_printf(&b, "  %%%s = matmul(%%rx, %%%s) : f32[%s]\n", y, w, type);
    put_rounded(&b, y, type);
    for (int k = is_joint ? 0 : i; k < (is_joint ? 3 : i + 1); k++)
      put_heads(&b, made, parts[k], k * h * d, width, h, rows, d);
  }
  snprintf(type, sizeof type, "1,%d,%d,%d", h, rows, rows);
  wk_str_printf(&b, "  %%t = matmul(%%q, %%k) : f32[%s]\n  %%a = mul(%%t, %%by) : f32[%s]\n", type,
                type);
  put_rounded(&b, "a", type);
  wk_str_printf(&b, "  %%p = softmax(%%ra) {axis=3} : f32[%s]\n"
                "  %%qp = quantize(%%p, %%sp, %%zp) {to=u8} : u8[%s]\n"
                "  %%rp = dequantize(%%qp, %%sp, %%zp) : f32[%s]\n"
                "  %%c = matmul(%%rp, %%v) : f32[1,%d,%d,%d]\n", type, type, type, h, rows, d);
  snprintf(type, sizeof type, "1,%d,%d,%d", h, rows, d);
  put_rounded(&b, "c", type);
  wk_str_printf(&b, "  output %%qc\n}\n}\n");
  return random_tokens_parsed(&b, "projected");
}

/* Tokens of an image of a x b windows of k x l, rolled before they are cut apart, or not, products
 * with constants, of all windows together or not, maybe of windows with themselves, where some
 * pairs count for less, and all of it back, added to what it was, or to its mirror image. */
typedef struct {
  int a, b, k, l, c;
} windows_of;

static inline void put_product(wk_str *b, const char *y, const char *x, const char *w,
                               const char *type) {
  wk_str_printf(b, "  %%%s = matmul(%%%s, %%%s) : f32[%s]\n", y, x, w, type);
  put_rounded(b, y, type);
}

/* One behind the other, by rows or by columns. */
static inline void put_roll(wk_str *b, const windows_of *x, const char *y, const char *from,
                            int axis) {
  const int h = x->a * x->k, w = x->b * x->l, n = axis == 1 ? h : w, by = n / 2;
  for (int i = 0; i < 2; i++) {
    const int at = i ? 0 : by, size = i ? by : n - by;
    const int sizes[2] = {axis == 1 ? size : h, axis == 1 ? w : size};
    wk_str_printf(b, "  %%%s%d = slice(%%%s) {starts=[0,%d,%d,0], sizes=[1,%d,%d,%d], "
                  "steps=[1,1,1,1]} : f32[1,%d,%d,%d]\n", y, i, from, axis == 1 ? at : 0,
                  axis == 1 ? 0 : at, sizes[0], sizes[1], x->c, sizes[0], sizes[1], x->c);
  }
  wk_str_printf(b, "  %%%s = concat(%%%s0, %%%s1) {axis=%d} : f32[1,%d,%d,%d]\n", y, y, y, axis, h,
                w, x->c);
}

static inline void put_windows(wk_str *b, const windows_of *x, const char *y, const char *from) {
  wk_str_printf(b, "  %%%sa = reshape(%%%s) {shape=[1,%d,%d,%d,%d,%d]} : f32[1,%d,%d,%d,%d,%d]\n",
                y, from, x->a, x->k, x->b, x->l, x->c, x->a, x->k, x->b, x->l, x->c);
  wk_str_printf(b, "  %%%sb = transpose(%%%sa) {perm=[0,1,3,2,4,5]} : f32[1,%d,%d,%d,%d,%d]\n"
                "  %%%s = reshape(%%%sb) {shape=[%d,%d,%d]} : f32[%d,%d,%d]\n", y, y, x->a, x->b,
                x->k, x->l, x->c, y, y, x->a * x->b, x->k * x->l, x->c, x->a * x->b, x->k * x->l,
                x->c);
}

static inline void put_image(wk_str *b, const windows_of *x, const char *y, const char *from) {
  wk_str_printf(b, "  %%%sa = reshape(%%%s) {shape=[1,%d,%d,%d,%d,%d]} : f32[1,%d,%d,%d,%d,%d]\n",
                y, from, x->a, x->b, x->k, x->l, x->c, x->a, x->b, x->k, x->l, x->c);
  wk_str_printf(b, "  %%%sb = transpose(%%%sa) {perm=[0,1,3,2,4,5]} : f32[1,%d,%d,%d,%d,%d]\n"
                "  %%%s = reshape(%%%sb) {shape=[1,%d,%d]} : f32[1,%d,%d]\n", y, y, x->a, x->k,
                x->b, x->l, x->c, y, y, x->a * x->k * x->b * x->l, x->c,
                x->a * x->k * x->b * x->l, x->c);
}

/* Some pairs of each window count for less. */
static inline void put_mask(wk_str *b, int n, int each) {
  char five[60], three[40];
  snprintf(five, sizeof five, "1,%d,1,%d,%d", n, each, each);
  snprintf(three, sizeof three, "%d,%d,%d", n, each, each);
  wk_str_printf(b, "  %%mask8 = constant i8[%s] {", five);
  for (int i = 0; i < n * each * each; i++)
    wk_str_printf(b, "%s%d", i ? ", " : "", i % 7 ? 0 : -50);
  wk_str_printf(b, "}\n  %%mask = dequantize(%%mask8, %%s, %%i) : f32[%s]\n"
                "  %%pairs = reshape(%%rp) {shape=[%s]} : f32[%s]\n"
                "  %%less = add(%%pairs, %%mask) : f32[%s]\n", five, five, five, five);
  put_rounded(b, "less", five);
  wk_str_printf(b, "  %%rfar = reshape(%%rless) {shape=[%s]} : f32[%s]\n", three, three);
}

static inline wk_module *random_windowed(uint64_t seed) {
  wk_rng r = {seed};
  wk_str b = {0};
  char tokens[40], apart[40], pairs[40];
  const windows_of x = {(int)wk_rng_range(&r, 1, 5), (int)wk_rng_range(&r, 1, 5),
                        (int)wk_rng_range(&r, 2, 8), (int)wk_rng_range(&r, 2, 8),
                        8 * (int)wk_rng_range(&r, 1, 5) - (int)(seed % 2)};
  const int h = x.a * x.k, w = x.b * x.l, n = x.a * x.b, each = x.k * x.l;
  const bool is_rolled = wk_rng_range(&r, 0, 1), meets_itself = wk_rng_range(&r, 0, 1);
  const bool is_joined = wk_rng_range(&r, 0, 1), is_masked = wk_rng_range(&r, 0, 1);
  const bool is_mirrored = wk_rng_range(&r, 0, 2) == 0;
  snprintf(tokens, sizeof tokens, "1,%d,%d", h * w, x.c);
  snprintf(apart, sizeof apart, "%d,%d,%d", n, each, x.c);
  snprintf(pairs, sizeof pairs, "%d,%d,%d", n, each, each);
  wk_str_printf(&b, "module \"windowed\" {\ngraph @main(%%x: u8[%s]) {\n"
                "  %%s = constant f32[] {0.05}\n  %%z = constant u8[] {128}\n"
                "  %%i = constant i8[] {0}\n  %%rx = dequantize(%%x, %%s, %%z) : f32[%s]\n", tokens,
                tokens);
  for (int i = 0; i < 3; i++) put_weights(&b, (const char *[]){"w0", "w1", "w2"}[i], x.c, x.c);
  put_product(&b, "t", "rx", "w0", tokens);
  wk_str_printf(&b, "  %%g = reshape(%%rt) {shape=[1,%d,%d,%d]} : f32[1,%d,%d,%d]\n", h, w, x.c,
                h, w, x.c);
  if (is_rolled) put_roll(&b, &x, "down", "g", 1), put_roll(&b, &x, "right", "down", 2);
  put_windows(&b, &x, "v", is_rolled ? "right" : "g");
  if (is_joined) {
    char joined[40];
    snprintf(joined, sizeof joined, "%d,%d", n * each, x.c);
    wk_str_printf(&b, "  %%all = reshape(%%v) {shape=[%s]} : f32[%s]\n", joined, joined);
    put_product(&b, "t1", "all", "w1", joined);
    wk_str_printf(&b, "  %%ru = reshape(%%rt1) {shape=[%s]} : f32[%s]\n", apart, apart);
  } else put_product(&b, "u", "v", "w1", apart);
  if (meets_itself) {
    wk_str_printf(&b, "  %%k = transpose(%%ru) {perm=[0,2,1]} : f32[%d,%d,%d]\n", n, x.c, each);
    put_product(&b, "p", "ru", "k", pairs);
    if (is_masked) put_mask(&b, n, each);
    put_product(&b, "o", is_masked ? "rfar" : "rp", "ru", apart);
  }
  put_image(&b, &x, "back", meets_itself ? "ro" : "ru");
  if (is_mirrored)
    wk_str_printf(&b, "  %%mirror = slice(%%g) {starts=[0,0,%d,0], sizes=[1,%d,%d,%d], "
                  "steps=[1,1,-1,1]} : f32[1,%d,%d,%d]\n"
                  "  %%other = reshape(%%mirror) {shape=[%s]} : f32[%s]\n", w - 1, h, w, x.c, h, w,
                  x.c, tokens, tokens);
  wk_str_printf(&b, "  %%sum = add(%%back, %%%s) : f32[%s]\n", is_mirrored ? "other" : "rt",
                tokens);
  put_rounded(&b, "sum", tokens);
  put_product(&b, "y", "rsum", "w2", tokens);
  wk_str_printf(&b, "  output %%qy\n}\n}\n");
  return random_tokens_parsed(&b, "windowed");
}

#endif
