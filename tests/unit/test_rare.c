/* SPDX-License-Identifier: Apache-2.0
 * Rare instructions of the CPU, whose code is C (targets/cpu/rare/bitcode), compiled into this
 * program: what the compiler would call with what description, called in pieces and in any order,
 * against the evaluator. Memory is as large as what an instruction says that it touches, so that
 * sanitizers see what is read or written beside it. */
#include "compiler/ir/text.h"
#include "tests/unit/inst_c_index_cases.h"
#include "tests/unit/rare_case.h"

static void written_cases(void **state) {
  wk_rng r = {5};
  (void)state;
  for (int times = 0; times < 6; times++) {
    for (size_t k = 0; k < WK_COUNTOF(inst_c_cases); k++) run_case(&r, &inst_c_cases[k]);
    for (size_t k = 0; k < WK_COUNTOF(inst_c_index_cases); k++)
      run_case(&r, &inst_c_index_cases[k]);
  }
}

/* ---- drawn cases ----------------------------------------------------------------------------- */

typedef struct {
  wk_rng *r;
  wk_str buffers, inst; /* text */
  int n_in, n_out;
} text;

static int64_t pick(wk_rng *r, const int64_t *from, int n) {
  return from[wk_rng_range(r, 0, n - 1)];
}
#define PICK(r, ...)                                                   \
  pick(r, (const int64_t[]){__VA_ARGS__},                              \
       (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

/* An operand in a buffer of its own: channels last, dense, or with axes in any order and gaps. */
static void add(text *t, bool is_out, wk_dtype type, int rank, const int64_t *dims, int layout) {
  int order[WK_MAX_RANK];
  int64_t strides[WK_MAX_RANK], run = 1, reach = 1;
  for (int k = 0; k < rank; k++) order[k] = k;
  if (layout == 1) /* axis 1 is the fastest */
    for (int k = 1; k < rank; k++) order[k] = k + 1 < rank ? k + 1 : 1;
  for (int k = 0; layout == 3 && k < rank; k++) order[k] = (k + 1) % rank; /* axis 0 is */
  for (int k = rank - 1; layout == 2 && k > 0; k--) {
    int other = (int)wk_rng_range(t->r, 0, k), swap = order[k];
    order[k] = order[other];
    order[other] = swap;
  }
  for (int k = rank - 1; k >= 0; k--) {
    strides[order[k]] = run;
    run *= dims[order[k]];
    if (layout == 2) run += wk_rng_range(t->r, 0, 3) / 2;
  }
  for (int k = 0; k < rank; k++) reach += (dims[k] - 1) * strides[k];
  int number = t->n_in + t->n_out;
  wk_str_printf(&t->buffers, "buffer %s %d %%b%d : %s[%lld]\n", is_out ? "output" : "input",
                is_out ? t->n_out : t->n_in, number, wk_dtype_name(type), (long long)reach);
  wk_str_printf(&t->inst, "%s@%s %%b%d", number == 0 ? "" : t->n_in == 0 && !is_out ? "; " : ", ",
                is_out ? "out" : "in", number);
  wk_ints_print(&t->inst, dims, rank, '[', ']');
  wk_str_printf(&t->inst, ":%s *", wk_dtype_name(type));
  wk_ints_print(&t->inst, strides, rank, '(', ')');
  *(is_out ? &t->n_out : &t->n_in) += 1;
}

static void add_ints(wk_str *s, const char *key, const int64_t *v, int n) {
  wk_str_printf(s, "%s=", key);
  wk_ints_print(s, v, n, '[', ']');
  wk_str_add(s, ", ");
}

static void finish(text *t, const char *op, const wk_str *attrs, inst_c_case c) {
  wk_str all = {0};
  wk_str_printf(&all, "%s%s(%s) {%s}", t->buffers.s, op, t->inst.s, attrs->s ? attrs->s : "");
  char *end = strstr(all.s, ", }");
  if (end) strcpy(end, "}");
  c.text = all.s;
  run_case(t->r, &c);
  wk_str_free(&all);
  wk_str_free(&t->buffers);
  wk_str_free(&t->inst);
}

/* Windows over 1 to 3 axes that all hold one element of the input at least. */
typedef struct {
  int n;
  int64_t kernel[3], stride[3], pads[6], dilation[3], x[5], y[5];
} windows;

static windows draw_windows(wk_rng *r, int64_t most) {
  windows w = {.n = (int)wk_rng_range(r, 1, 3)};
  w.x[0] = w.y[0] = wk_rng_range(r, 1, 2);
  w.x[1] = w.y[1] = PICK(r, 1, 2, 3, 4, 7, 8, 15, 16, 17, 24, 33, 64, 83);
  for (int k = 0; k < w.n; k++) {
    w.kernel[k] = wk_rng_range(r, 1, 3);
    w.stride[k] = wk_rng_range(r, 1, 3);
    w.dilation[k] = wk_rng_range(r, 1, 2);
    int64_t span = (w.kernel[k] - 1) * w.dilation[k] + 1;
    w.pads[k] = wk_rng_range(r, 0, w.kernel[k] - 1);
    w.pads[w.n + k] = wk_rng_range(r, 0, w.kernel[k] - 1);
    w.x[2 + k] = span + wk_rng_range(r, 0, k + 1 == w.n ? most : 4);
    w.y[2 + k] = (w.x[2 + k] + w.pads[k] + w.pads[w.n + k] - span) / w.stride[k] + 1;
  }
  return w;
}

static void add_windows(wk_str *attrs, const windows *w, bool has_kernel) {
  if (has_kernel) add_ints(attrs, "kernel", w->kernel, w->n);
  add_ints(attrs, "strides", w->stride, w->n);
  add_ints(attrs, "pads", w->pads, 2 * w->n);
  add_ints(attrs, "dilations", w->dilation, w->n);
}

static int layout_of(wk_rng *r) { return (int)PICK(r, 0, 0, 1, 1, 1, 2); }

static void pools(void **state) {
  static const wk_dtype floats[] = {WK_F32, WK_F32, WK_F32, WK_F16, WK_BF16, WK_F64},
                        all[] = {WK_F32, WK_F32, WK_F16, WK_U8, WK_I8, WK_I32, WK_U64};
  wk_rng r = {17};
  (void)state;
  for (int times = 0; times < 240; times++) {
    static const char *const names[] = {"max_pool", "avg_pool", "lp_pool", "max_pool"};
    int kind = times % 4, layout = layout_of(&r);
    windows w = draw_windows(&r, PICK(&r, 3, 20, 40));
    text t = {.r = &r};
    wk_str attrs = {0};
    wk_dtype type = kind % 3 ? floats[wk_rng_range(&r, 0, 5)] : all[wk_rng_range(&r, 0, 6)];
    add(&t, true, type, 2 + w.n, w.y, layout);
    add_windows(&attrs, &w, true);
    if (kind == 1) {
      int64_t real[6];
      for (int k = 0; k < 2 * w.n; k++) real[k] = wk_rng_range(&r, 0, w.pads[k]);
      add_ints(&attrs, "real_pads", real, 2 * w.n);
    } else if (kind == 2) {
      wk_str_printf(&attrs, "p=%d", (int)wk_rng_range(&r, 1, 4));
    } else if (kind == 3 && wk_rng_range(&r, 0, 1)) {
      add(&t, true, WK_U8, 2 + w.n, w.y, layout);
      wk_str_add(&attrs, "taps=1");
    } else if (kind == 3) {
      add(&t, true, WK_I64, 2 + w.n, w.y, layout);
      wk_str_printf(&attrs, "column_major=%d", (int)wk_rng_range(&r, 0, 1));
    }
    add(&t, false, type, 2 + w.n, w.x, wk_rng_range(&r, 0, 5) ? layout : layout_of(&r));
    finish(&t, names[kind], &attrs,
           (inst_c_case){.nans = kind == 0 && times % 5 == 0 ? 0.1 : 0, .is_rounded = kind == 2});
    wk_str_free(&attrs);
  }
}

static void unpools(void **state) {
  wk_rng r = {18};
  (void)state;
  for (int times = 0; times < 120; times++) {
    windows w = draw_windows(&r, 12);
    int layout = times % 3 ? 1 : 2;
    int64_t taps = 1;
    text t = {.r = &r};
    wk_str attrs = {0};
    wk_dtype type = times % 4 ? WK_F32 : WK_F16;
    add(&t, true, type, 2 + w.n, w.x, layout);
    add(&t, false, type, 2 + w.n, w.y, layout);
    add(&t, false, WK_U8, 2 + w.n, w.y, layout);
    add_windows(&attrs, &w, true);
    add_ints(&attrs, "size", w.x + 2, w.n);
    for (int k = 0; k < w.n; k++) taps *= w.kernel[k];
    finish(&t, "unpool", &attrs, (inst_c_case){.most = taps});
    wk_str_free(&attrs);
  }
}

static void gathers(void **state) {
  static const wk_dtype types[] = {WK_F32, WK_U8, WK_F16, WK_I64}, at[] = {WK_I64, WK_I32, WK_I8};
  wk_rng r = {19};
  (void)state;
  for (int times = 0; times < 160; times++) {
    int rank = (int)wk_rng_range(&r, 1, 4), axis = (int)wk_rng_range(&r, 0, rank - 1);
    int own = times % 2 ? rank : (int)wk_rng_range(&r, 0, 2), n = 0;
    int64_t data[4], index[4], y[8];
    for (int k = 0; k < rank; k++) data[k] = wk_rng_range(&r, 1, 6);
    for (int k = 0; k < own; k++) index[k] = wk_rng_range(&r, 1, 5);
    if (times % 2) {
      for (int k = 0; k < rank; k++) y[k] = index[k] = k == axis ? index[k] : data[k];
      n = rank;
    } else {
      for (int k = 0; k < axis; k++) y[n++] = data[k];
      for (int k = 0; k < own; k++) y[n++] = index[k];
      for (int k = axis + 1; k < rank; k++) y[n++] = data[k];
    }
    text t = {.r = &r};
    wk_str attrs = {0};
    wk_dtype type = types[wk_rng_range(&r, 0, 3)];
    int layout = (int)PICK(&r, 0, 0, 2);
    add(&t, true, type, n, y, layout);
    add(&t, false, type, rank, data, (int)PICK(&r, 0, 2));
    add(&t, false, at[wk_rng_range(&r, 0, times % 2 ? 1 : 2)], own, index, (int)PICK(&r, 0, 2));
    wk_str_printf(&attrs, "axis=%d", axis);
    bool is_out = times % 10 == 9;
    finish(&t, times % 2 ? "gather_elements" : "gather", &attrs,
           (inst_c_case){.least = -data[axis], .most = data[axis] - !is_out});
    wk_str_free(&attrs);
  }
}

/* Bytes through a table of 256, in runs of about a task's elements. */
static void tables(void **state) {
  wk_rng r = {20};
  (void)state;
  for (int times = 0; times < 24; times++) {
    const int64_t entries = 256, runs[] = {1, 7, 64, 8191, 8192, 8193, 16384, 16385};
    int64_t y[] = {wk_rng_range(&r, 1, 3), runs[times % 8]};
    text t = {.r = &r};
    wk_str attrs = {0};
    wk_dtype type = times % 3 == 0 ? WK_F32 : times % 3 == 1 ? WK_U8 : WK_F64;
    add(&t, true, type, 2, y, 0);
    add(&t, false, type, 1, &entries, 0);
    add(&t, false, times % 2 ? WK_U8 : WK_I8, 2, y, times % 5 == 4 ? 2 : 0);
    wk_str_add(&attrs, "axis=0");
    finish(&t, "gather", &attrs,
           (inst_c_case){.least = times % 2 ? 0 : -128, .most = times % 2 ? 255 : 127});
    wk_str_free(&attrs);
  }
}

static void lines(void **state) {
  static const wk_dtype types[] = {WK_F32, WK_F16, WK_F64, WK_I32, WK_U8, WK_I64};
  wk_rng r = {21};
  (void)state;
  for (int times = 0; times < 160; times++) {
    int rank = (int)wk_rng_range(&r, 1, 4), axis = (int)wk_rng_range(&r, 0, rank - 1);
    int64_t x[4], y[4];
    text t = {.r = &r};
    wk_str attrs = {0};
    wk_dtype type = types[wk_rng_range(&r, 0, 5)];
    for (int k = 0; k < rank; k++) x[k] = y[k] = wk_rng_range(&r, 1, k == axis ? 30 : 4);
    if (times % 2) y[axis] = wk_rng_range(&r, 1, x[axis]);
    add(&t, true, type, rank, y, (int)PICK(&r, 0, 2));
    if (times % 2) add(&t, true, WK_I64, rank, y, (int)PICK(&r, 0, 2));
    add(&t, false, type, rank, x, (int)PICK(&r, 0, 2));
    if (times % 2)
      wk_str_printf(&attrs, "axis=%d, k=%d, largest=%d", axis, (int)y[axis],
                    (int)wk_rng_range(&r, 0, 1));
    else
      wk_str_printf(&attrs, "axis=%d, exclusive=%d, reverse=%d", axis, (int)wk_rng_range(&r, 0, 1),
                    (int)wk_rng_range(&r, 0, 1));
    finish(&t, times % 2 ? "top_k" : "cum_sum", &attrs,
           (inst_c_case){.nans = times % 4 == 1 ? 0.2 : 0, .least = times % 3 ? 0 : -3,
                         .most = times % 3 ? 0 : 3});
    wk_str_free(&attrs);
  }
}

static void products(void **state) {
  static const struct {
    wk_dtype a, b, y;
  } types[] = {{WK_F32, WK_F32, WK_F32}, {WK_F64, WK_F64, WK_F64}, {WK_U8, WK_I8, WK_I32},
               {WK_I32, WK_I32, WK_I32}};
  wk_rng r = {22};
  (void)state;
  for (int times = 0; times < 120; times++) {
    int type = (int)wk_rng_range(&r, 0, 3);
    int64_t group = wk_rng_range(&r, 1, 3), in = wk_rng_range(&r, 1, 3);
    windows w = draw_windows(&r, 5);
    text t = {.r = &r};
    wk_str attrs = {0};
    int64_t k[5] = {group * wk_rng_range(&r, 1, 3), in};
    for (int d = 0; d < w.n; d++) k[2 + d] = w.kernel[d];
    w.x[1] = group * in, w.y[1] = k[0];
    add(&t, true, types[type].y, 2 + w.n, w.y, layout_of(&r));
    add(&t, false, types[type].a, 2 + w.n, w.x, layout_of(&r));
    add(&t, false, types[type].b, 2 + w.n, k, layout_of(&r));
    add_windows(&attrs, &w, false);
    wk_str_printf(&attrs, "group=%d", (int)group);
    finish(&t, "conv", &attrs, (inst_c_case){.least = -9, .most = 9});
    wk_str_free(&attrs);
  }
}

static void matrices(void **state) {
  static const struct {
    wk_dtype a, b, y;
  } types[] = {{WK_F32, WK_F32, WK_F32}, {WK_F64, WK_F64, WK_F64}, {WK_U8, WK_I8, WK_I32},
               {WK_I64, WK_I64, WK_I64}};
  wk_rng r = {23};
  (void)state;
  for (int times = 0; times < 40; times++) {
    int type = times % 4;
    int64_t m = wk_rng_range(&r, 1, 4), n = PICK(&r, 1, 5, 63, 64, 65, 130);
    int64_t k = wk_rng_range(&r, 1, 9), batch = wk_rng_range(&r, 1, 3);
    int64_t y[] = {batch, m, n}, a[] = {batch, m, k}, b[] = {batch, k, n};
    text t = {.r = &r};
    add(&t, true, types[type].y, 3, y, (int)PICK(&r, 0, 2));
    add(&t, false, types[type].a, 3, a, (int)PICK(&r, 0, 2));
    add(&t, false, types[type].b, 3, b, (int)PICK(&r, 0, 2));
    finish(&t, "matmul", &(wk_str){0}, (inst_c_case){.least = -9, .most = 9});
  }
}

/* Weights of depthwise convolutions: few sums of many terms. */
static void correlations(void **state) {
  wk_rng r = {24};
  (void)state;
  for (int times = 0; times < 100; times++) {
    windows w = {.n = 1 + times % 3};
    text t = {.r = &r};
    wk_str attrs = {0};
    int64_t k[5] = {PICK(&r, 2, 3, 4, 5, 8, 9, 16, 31, 32, 33, 64, 70), 1}, outputs = 1, taps = 1;
    w.x[0] = w.y[0] = 1, w.x[1] = w.y[1] = k[0];
    for (int d = 0; d < w.n; d++) {
      w.stride[d] = wk_rng_range(&r, 1, 2), w.dilation[d] = wk_rng_range(&r, 1, 2);
      w.kernel[d] = k[2 + d] = wk_rng_range(&r, 2, 7);
      w.pads[d] = wk_rng_range(&r, 0, 2), w.pads[w.n + d] = wk_rng_range(&r, 0, 2);
      int64_t span = (w.kernel[d] - 1) * w.dilation[d] + 1;
      w.x[2 + d] = span + wk_rng_range(&r, 0, 5) - w.pads[d] - w.pads[w.n + d];
      if (w.x[2 + d] < 1) w.x[2 + d] = span;
      w.y[2 + d] = (w.x[2 + d] + w.pads[d] + w.pads[w.n + d] - span) / w.stride[d] + 1;
      outputs *= w.y[2 + d], taps *= w.kernel[d];
    }
    add(&t, true, WK_F32, 2 + w.n, w.y, layout_of(&r));
    add(&t, false, WK_F32, 2 + w.n, w.x, 1);
    add(&t, false, WK_F32, 2 + w.n, k, 3);
    add_windows(&attrs, &w, false);
    wk_str_printf(&attrs, "group=%d", (int)k[0]);
    int before = used[WK_COUNTOF(functions) - 1];
    finish(&t, "conv", &attrs, (inst_c_case){0});
    assert_int_equal(used[WK_COUNTOF(functions) - 1] > before, outputs < taps && outputs <= 128);
    wk_str_free(&attrs);
  }
}

static void transposed(void **state) {
  static const struct {
    wk_dtype a, b, y;
  } types[] = {{WK_F32, WK_F32, WK_F32}, {WK_F64, WK_F64, WK_F64}, {WK_U8, WK_I8, WK_I32}};
  wk_rng r = {25};
  (void)state;
  for (int times = 0; times < 120; times++) {
    int n = (int)wk_rng_range(&r, 1, 3), type = times % 3;
    int64_t group = wk_rng_range(&r, 1, 3), x[5], y[5], k[5], more[3];
    windows w = {.n = n};
    text t = {.r = &r};
    wk_str attrs = {0};
    x[0] = y[0] = wk_rng_range(&r, 1, 2);
    x[1] = k[0] = group * wk_rng_range(&r, 1, 3);
    k[1] = wk_rng_range(&r, 1, 3);
    y[1] = group * k[1];
    for (int d = 0; d < n; d++) {
      w.stride[d] = wk_rng_range(&r, 1, 3), w.dilation[d] = wk_rng_range(&r, 1, 2);
      k[2 + d] = wk_rng_range(&r, 1, 4), x[2 + d] = wk_rng_range(&r, 1, 6);
      more[d] = wk_rng_range(&r, 0, w.stride[d] - 1);
      y[2 + d] = (x[2 + d] - 1) * w.stride[d] + w.dilation[d] * (k[2 + d] - 1) + 1 + more[d];
      w.pads[d] = wk_rng_range(&r, 0, 2), w.pads[n + d] = wk_rng_range(&r, 0, 2);
      if (y[2 + d] <= w.pads[d] + w.pads[n + d]) w.pads[d] = w.pads[n + d] = 0;
      y[2 + d] -= w.pads[d] + w.pads[n + d];
    }
    add(&t, true, types[type].y, 2 + n, y, layout_of(&r));
    add(&t, false, types[type].a, 2 + n, x, layout_of(&r));
    add(&t, false, types[type].b, 2 + n, k, layout_of(&r));
    add_windows(&attrs, &w, false);
    add_ints(&attrs, "output_padding", more, n);
    wk_str_printf(&attrs, "group=%d", (int)group);
    finish(&t, "conv_transpose", &attrs, (inst_c_case){.least = -9, .most = 9});
    wk_str_free(&attrs);
  }
}

/* Along an axis, and by rows of coordinates that name slices, or single elements. */
static void scatters(void **state) {
  static const char *const kinds[] = {"none", "add", "mul", "min", "max"};
  static const wk_dtype types[] = {WK_F32, WK_F64, WK_I32, WK_U8, WK_F16, WK_I64};
  wk_rng r = {26};
  (void)state;
  for (int times = 0; times < 200; times++) {
    int rank = (int)wk_rng_range(&r, 1, 4), axis = (int)wk_rng_range(&r, 0, rank - 1), n = 0;
    int64_t y[4], index[8], updates[8], least = INT64_MAX;
    text t = {.r = &r};
    wk_str attrs = {0};
    wk_dtype type = types[wk_rng_range(&r, 0, 5)];
    for (int k = 0; k < rank; k++) y[k] = wk_rng_range(&r, 1, 5);
    if (times % 3 == 1) y[rank - 1] = PICK(&r, 63, 64, 65, 129);
    add(&t, true, type, rank, y, (int)PICK(&r, 0, 2));
    add(&t, false, type, rank, y, (int)PICK(&r, 0, 2));
    if (times % 2) {
      for (int k = 0; k < rank; k++) index[n++] = wk_rng_range(&r, 1, y[k] + (k == axis));
      memcpy(updates, index, sizeof updates);
      least = y[axis];
      wk_str_printf(&attrs, "axis=%d, ", axis);
    } else {
      int depth = axis + 1, leading = (int)wk_rng_range(&r, 0, 2), m = 0;
      for (int k = 0; k < leading; k++) updates[m++] = index[n++] = wk_rng_range(&r, 1, 4);
      index[n++] = depth;
      for (int k = depth; k < rank; k++) updates[m++] = y[k];
      for (int k = 0; k < depth; k++) least = y[k] < least ? y[k] : least;
    }
    add(&t, false, times % 5 ? WK_I64 : WK_I32, n, index, (int)PICK(&r, 0, 2));
    add(&t, false, type, times % 2 ? n : n - 1 + rank - (axis + 1), updates, (int)PICK(&r, 0, 2));
    wk_str_printf(&attrs, "reduction=\"%s\"", kinds[times / 2 % 5]);
    bool is_ranged = wk_dtype_is_float(type);
    finish(&t, times % 2 ? "scatter_elements" : "scatter_nd", &attrs,
           (inst_c_case){.least = -least, .most = least - 1, .nans = is_ranged ? 0.03 : 0});
    wk_str_free(&attrs);
  }
}

static void gathers_nd(void **state) {
  static const wk_dtype types[] = {WK_F32, WK_U8, WK_F16, WK_I64};
  wk_rng r = {27};
  (void)state;
  for (int times = 0; times < 80; times++) {
    int rank = (int)wk_rng_range(&r, 1, 4), batch = (int)wk_rng_range(&r, 0, rank - 1), n = 0;
    int depth = (int)wk_rng_range(&r, 1, rank - batch), m = 0;
    int64_t data[4], index[8], y[8], least = INT64_MAX;
    text t = {.r = &r};
    wk_str attrs = {0};
    wk_dtype type = types[times % 4];
    for (int k = 0; k < rank; k++) data[k] = wk_rng_range(&r, 1, 5);
    for (int k = 0; k < batch; k++) y[m++] = index[n++] = data[k];
    if (wk_rng_range(&r, 0, 2)) y[m++] = index[n++] = wk_rng_range(&r, 1, 4);
    index[n++] = depth;
    for (int k = 0; k < depth; k++) least = data[batch + k] < least ? data[batch + k] : least;
    for (int k = batch + depth; k < rank; k++) y[m++] = data[k];
    add(&t, true, type, m, y, (int)PICK(&r, 0, 2));
    add(&t, false, type, rank, data, (int)PICK(&r, 0, 2));
    add(&t, false, times % 3 ? WK_I64 : WK_I32, n, index, (int)PICK(&r, 0, 2));
    wk_str_printf(&attrs, "batch_dims=%d", batch);
    finish(&t, "gather_nd", &attrs,
           (inst_c_case){.least = -least, .most = least - (times % 8 != 7)});
    wk_str_free(&attrs);
  }
}

static void others(void **state) {
  static const inst_c_case cases[] = {
      {.text = "buffer output 0 %y : f32[3,50]\nrandom_uniform(@out %y[3,50]:f32) {to=f32, "
       "shape=[3,50], low=-1.5, high=2.5, seed=77}"},
      {.text = "buffer output 0 %y : f16[50]\nrandom_uniform(@out %y[50]:f16) {to=f16, shape=[50], "
       "seed=5}"},
      {.text = "buffer output 0 %y : f64[3,51]\nrandom_normal(@out %y[3,51]:f64) {to=f64, "
       "shape=[3,51], mean=-1.5, scale=2.5, seed=77}", .is_rounded = true},
      {.text = "buffer output 0 %y : f32[3,50]\nrandom_normal(@out %y[3,50]:f32 *(1,3)) {to=f32, "
       "shape=[3,50], mean=3.0, scale=0.5, seed=1}", .is_rounded = true},
      {.text = "buffer input 0 %x : f32[3,4,4]\nbuffer output 0 %y : f32[3]\ndet(@out %y[3]:f32; "
       "@in %x[3,4,4]:f32)", .is_rounded = true},
      {.text = "buffer input 0 %x : f64[3,5,5]\nbuffer output 0 %y : f64[3]\ndet(@out %y[3]:f64; "
       "@in %x[3,5,5]:f64 *(1,15,3))", .is_rounded = true},
      {.text = "buffer input 0 %x : f32[2,2]\nbuffer output 0 %y : f32[]\ndet(@out %y[]:f32; "
       "@in %x[2,2]:f32)", .is_rounded = true},
#define ROI(attrs)                                                                               \
  {.text = "buffer input 0 %x : f32[2,3,6,7]\nbuffer input 1 %r : f32[5,4]\nbuffer input 2 %b : "  \
   "i64[5]\nbuffer output 0 %y : f32[5,3,2,3]\nroi_align(@out %y[5,3,2,3]:f32; @in "               \
   "%x[2,3,6,7]:f32, @in %r[5,4]:f32, @in %b[5]:i64) {height=2, width=3, " attrs "}",            \
   .least = -2, .most = 1, .is_rounded = true}
      ROI("samples=2, scale=2.0, half_pixel=1"),
      ROI("samples=0, scale=3.0, half_pixel=0"),
      ROI("samples=3, scale=1.0, half_pixel=0, mode=\"max\""),
      ROI("samples=0, scale=1.5, half_pixel=1, mode=\"max\""),
  };
  wk_rng r = {28};
  (void)state;
  for (int times = 0; times < 8; times++)
    for (size_t k = 0; k < WK_COUNTOF(cases); k++) run_case(&r, &cases[k]);
}

/* Boxes on a grid, so that many overlap by the same and by nothing. */
static void boxes(void **state) {
  wk_rng r = {29};
  (void)state;
  for (int times = 0; times < 300; times++) {
    char form[700];
    int n = (int)wk_rng_range(&r, 1, 25), classes = (int)wk_rng_range(&r, 1, 3);
    snprintf(form, sizeof form,
             "buffer input 0 %%b : f32[2,%d,4]\nbuffer input 1 %%s : f32[2,%d,%d]\n"
             "buffer const %%m : 8 = {%d, 0, 0, 0, 0, 0, 0, 0}\n"
             "buffer const %%i : 4 = {0, 0, %d, 62}\nbuffer const %%t : 4 = {0, 0, %d, 191}\n"
             "buffer output 0 %%y : i64[30,3]\n"
             "non_max_suppression(@out %%y[30,3]:i64; @in %%b[2,%d,4]:f32, @in %%s[2,%d,%d]:f32, "
             "@in %%m[1]:i64, @in %%i[1]:f32, @in %%t[1]:f32) {center_point=%d, rows=30, "
             "overlap=\"%s\"}",
             n, classes, n, (int)PICK(&r, 0, 1, 3, 10), (int)PICK(&r, 0, 128, 230),
             (int)PICK(&r, 0, 128), n, classes, n, times % 2,
             (const char *const[]){"area", "corners", "pixels"}[times % 3]);
    run_case(&r, &(inst_c_case){.text = form});
  }
}

/* None that is listed is left out. */
static void all_functions(void **state) {
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(functions); k++)
    if (!used[k]) fail_msg("%s was never called", functions[k].name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(written_cases), cmocka_unit_test(pools),    cmocka_unit_test(unpools),
      cmocka_unit_test(gathers),       cmocka_unit_test(tables),   cmocka_unit_test(lines),
      cmocka_unit_test(products),      cmocka_unit_test(matrices), cmocka_unit_test(transposed),
      cmocka_unit_test(correlations),  cmocka_unit_test(scatters), cmocka_unit_test(gathers_nd),
      cmocka_unit_test(others),        cmocka_unit_test(boxes),
      cmocka_unit_test(all_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
