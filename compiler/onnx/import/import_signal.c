/* SPDX-License-Identifier: Apache-2.0
 * Signal processing: windows and tables are constants, Fourier transforms are products with
 * constant matrices. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/matmul.h"

#define TABLE_MAX ((int64_t)1 << 23) /* elements of a transform matrix */

/* ---- windows ------------------------------------------------------------------------------- */

static wk_status window(wk_onnx_node *c, double a0, double a1, double a2) {
  int64_t n = wk_onnx_const_int(c, c->in[0], "the size of the window");
  bool periodic = wk_onnx_int(c, "periodic", 1) != 0;
  if (!wk_onnx_ok(c) || !wk_onnx_valid(c, n >= 0 && n <= TABLE_MAX, "size %lld is not valid",
                                       (long long)n))
    return c->status;
  void *data;
  wk_type t = wk_type_make(wk_onnx_dtype(c, "output_datatype", WK_F32), 1, &n);
  wk_value_id v = wk_make_constant(c, &t, &data);
  double period = periodic ? (double)n : (double)(n - 1);
  for (int64_t i = 0; data && i < n; i++) {
    double x = n == 1 ? 0 : 2 * M_PI * (double)i / period;
    wk_store_f64(data, t.dtype, i, a0 - a1 * cos(x) + a2 * cos(2 * x));
  }
  return wk_onnx_return(c, v);
}

wk_status wk_onnx_hann_window(wk_onnx_node *c) { return window(c, 0.5, 0.5, 0); }
wk_status wk_onnx_hamming_window(wk_onnx_node *c) { return window(c, 25.0 / 46, 21.0 / 46, 0); }
wk_status wk_onnx_blackman_window(wk_onnx_node *c) { return window(c, 0.42, 0.5, 0.08); }

/* ---- mel filters --------------------------------------------------------------------------- */

static void mel_column(double *m, int64_t bins, int64_t columns, int64_t k, const int64_t *edge) {
  int64_t low = edge[k], center = edge[k + 1], high = edge[k + 2];
  if (low == center && center >= 0 && center < bins) m[center * columns + k] = 1;
  for (int64_t j = low; low != center && j <= center; j++) {
    if (j >= 0 && j < bins) m[j * columns + k] = (double)(j - low) / (double)(center - low);
  }
  for (int64_t j = center; center < high && j < high; j++) {
    if (j >= 0 && j < bins) m[j * columns + k] = (double)(high - j) / (double)(high - center);
  }
}

wk_status wk_onnx_mel_weights(wk_onnx_node *c) {
  int64_t columns = wk_onnx_const_int(c, c->in[0], "the number of mel bins");
  int64_t length = wk_onnx_const_int(c, c->in[1], "the length of the transform");
  int64_t rate = wk_onnx_const_int(c, c->in[2], "the sample rate");
  double low = wk_onnx_const_float(c, c->in[3], "the lower edge");
  double high = wk_onnx_const_float(c, c->in[4], "the upper edge");
  bool ok = columns > 0 && columns < 65536 && length > 0 && length < 1 << 24 && rate > 0 &&
            low >= 0 && high >= low && high < 1e9 && (length / 2 + 1) * columns <= TABLE_MAX;
  wk_onnx_need(c, ok, "mel filters of these sizes and edges are not supported");
  if (!wk_onnx_ok(c)) return c->status;
  int64_t bins = length / 2 + 1;
  double mel_low = 2595 * log10(1 + low / 700), mel_high = 2595 * log10(1 + high / 700);
  double step = (mel_high - mel_low) / (double)(columns + 2);
  int64_t *edge = wk_arena_alloc(c->im->arena, (size_t)(columns + 2) * sizeof *edge);
  for (int64_t i = 0; i < columns + 2; i++) {
    double hz = 700 * (pow(10, ((double)i * step + mel_low) / 2595) - 1);
    edge[i] = (int64_t)floor((double)(length + 1) * hz / (double)rate);
    if (edge[i] > bins) edge[i] = bins;
  }
  double *m = wk_arena_alloc(c->im->arena, (size_t)(bins * columns) * sizeof *m);
  for (int64_t k = 0; k < columns; k++) mel_column(m, bins, columns, k, edge);
  wk_dtype t = wk_onnx_dtype(c, "output_datatype", WK_F32);
  return wk_onnx_return(c, wk_make_f64s(c, t, m, 2, (const int64_t[]){bins, columns}));
}

/* ---- Fourier transforms -------------------------------------------------------------------- */

typedef struct {
  int64_t n;                   /* length of the transform */
  int64_t samples, components; /* that are read, each real (1) or complex (2) */
  int64_t bins, parts;         /* that are written, likewise */
  bool inverse;
} transform;

/* Forward or back; one side of a spectrum that is mirrored comes from, or becomes, real samples. */
static transform transform_of(int64_t n, int64_t components, bool inverse, bool one_sided) {
  int64_t side = n / 2 + 1;
  transform f = {n, n, components, one_sided ? side : n, 2, inverse};
  if (!inverse || !one_sided) return f;
  return (transform){n, side, components, n, 1, inverse};
}

/* [samples * components, bins * parts]: row (j, part), column (k, part). In one side of a spectrum
 * every sample stands for its mirror image too, but the first and, of an even length, the last. */
static wk_value_id transform_matrix(wk_onnx_node *c, const transform *f, wk_dtype t) {
  int64_t rows = f->samples * f->components, columns = f->bins * f->parts;
  if (!wk_onnx_need(c, f->n <= 1 << 20 && rows * columns <= TABLE_MAX,
                    "a transform of length %lld is not supported",
                    (long long)f->n)) return WK_NONE;
  void *data;
  wk_type type = wk_type_make(t, 2, (const int64_t[]){rows, columns});
  wk_value_id v = wk_make_constant(c, &type, &data);
  double sign = f->inverse ? 1 : -1, scale = f->inverse ? 1.0 / (double)f->n : 1;
  for (int64_t j = 0; data && j < f->samples; j++) {
    bool mirrored = f->samples < f->n && j > 0 && 2 * j < f->n;
    for (int64_t k = 0; k < f->bins; k++) {
      double angle = 2 * M_PI * (double)(j * k % f->n) / (double)f->n;
      double times = mirrored ? 2 * scale : scale;
      double re = times * cos(angle), im = times * sign * sin(angle);
      const double entry[2][2] = {{re, im}, {-im, re}};
      for (int64_t row = 0; row < f->components; row++)
        for (int64_t part = 0; part < f->parts; part++)
          wk_store_f64(data, t, (j * f->components + row) * columns + k * f->parts + part,
                       entry[row][part]);
    }
  }
  return v;
}

/* x [..., samples, components] -> [..., bins, parts]. */
static wk_value_id transform_last(wk_onnx_node *c, wk_value_id x, const transform *f) {
  wk_type t = *wk_onnx_type(c, x);
  wk_value_id m = transform_matrix(c, f, t.dtype);
  if (!wk_onnx_ok(c)) return WK_NONE;
  t.dims[t.rank - 2] = f->samples * f->components;
  x = wk_make_reshape(c, x, t.rank - 1, t.dims);
  x = wk_matmul_emit(c, x, m);
  t.dims[t.rank - 2] = f->bins;
  t.dims[t.rank - 1] = f->parts;
  return wk_make_reshape(c, x, t.rank, t.dims);
}

static wk_value_id fit_length(wk_onnx_node *c, wk_value_id x, int axis, int64_t n) {
  const wk_type t = *wk_onnx_type(c, x);
  if (t.dims[axis] >= n) return wk_make_slice(c, x, axis, 0, n, 1);
  int64_t after[WK_MAX_RANK] = {0};
  after[axis] = n - t.dims[axis];
  WK_MAKE_ATTRS(c, a, PAD, pad);
  a->before = wk_ints_fill(c->im->m->arena, t.rank, 0);
  a->after = wk_ints_dup(c->im->m->arena, after, t.rank);
  return wk_make(c, WK_OP_PAD, a, 1, x);
}

static bool is_signal(wk_onnx_node *c, const wk_type *t) {
  bool ok = t->rank >= 2 && (t->dims[t->rank - 1] == 1 || t->dims[t->rank - 1] == 2);
  return wk_onnx_valid(c, ok, "the last axis must hold 1 or 2 components");
}

wk_status wk_onnx_dft(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  int64_t axis = wk_onnx_int(c, "axis", 1);
  if (c->opset >= 20) axis = wk_onnx_has(c, 2) ? wk_onnx_const_int(c, c->in[2], "the axis") : -2;
  if (!is_signal(c, &x)) return c->status;
  axis = wk_onnx_axis(c, axis, x.rank);
  bool one_sided = wk_onnx_int(c, "onesided", 0) != 0, inverse = wk_onnx_int(c, "inverse", 0) != 0;
  int64_t n = one_sided && inverse ? 2 * (x.dims[axis] - 1) : x.dims[axis];
  if (wk_onnx_has(c, 1)) n = wk_onnx_const_int(c, c->in[1], "the length");
  if (!wk_onnx_valid(c, n > 0 && axis < x.rank - 1, "length %lld is not valid", (long long)n))
    return c->status;
  transform f = transform_of(n, x.dims[x.rank - 1], inverse, one_sided);
  wk_value_id v = fit_length(c, c->in[0], (int)axis, f.samples);
  v = transform_last(c, wk_make_move_axis(c, v, (int)axis, x.rank - 2), &f);
  return wk_onnx_return(c, wk_make_move_axis(c, v, x.rank - 2, (int)axis));
}

/* Exporters write a real signal as [batch, samples], which is one component. */
static wk_value_id with_components(wk_onnx_node *c, wk_value_id x) {
  const wk_type t = *wk_onnx_type(c, x);
  if (t.rank != 2) return x;
  return wk_make_reshape(c, x, 3, (const int64_t[]){t.dims[0], t.dims[1], 1});
}

/* [batch, samples, components] -> [batch, frames, length, components]. */
static wk_value_id cut_frames(wk_onnx_node *c, wk_value_id x, int64_t step, int64_t length) {
  int64_t frames = (wk_onnx_type(c, x)->dims[1] - length) / step + 1;
  void *data;
  wk_type t = wk_type_make(WK_I64, 2, (const int64_t[]){frames, length});
  wk_value_id at = wk_make_constant(c, &t, &data);
  for (int64_t i = 0; data && i < frames * length; i++) {
    ((int64_t *)data)[i] = i / length * step + i % length;
  }
  return wk_make_gather(c, x, at, 1);
}

wk_status wk_onnx_stft(wk_onnx_node *c) {
  wk_value_id signal = with_components(c, c->in[0]);
  const wk_type x = *wk_onnx_type(c, signal);
  int64_t step = wk_onnx_const_int(c, c->in[1], "the frame step"), length = 0;
  if (wk_onnx_has(c, 2)) length = wk_type_count(wk_onnx_type(c, c->in[2]));
  if (wk_onnx_has(c, 3)) length = wk_onnx_const_int(c, c->in[3], "the frame length");
  if (!wk_onnx_valid(c, x.rank == 3, "the signal has rank %d, not 2 or 3", x.rank) ||
      !is_signal(c, &x))
    return c->status;
  if (!wk_onnx_valid(c, step > 0 && length > 0 && length <= x.dims[1],
                     "frames of %lld with a step of %lld do not fit the signal",
                     (long long)length, (long long)step)) return c->status;
  bool one_sided = wk_onnx_int(c, "onesided", 1) != 0 && x.dims[2] == 1;
  transform f = transform_of(length, x.dims[2], false, one_sided);
  wk_value_id v = cut_frames(c, signal, step, length);
  if (wk_onnx_has(c, 2)) {
    wk_value_id w = wk_make_reshape(c, c->in[2], 2, (const int64_t[]){length, 1});
    v = wk_make_2(c, WK_OP_MUL, v, w);
  }
  return wk_onnx_return(c, transform_last(c, v, &f));
}
