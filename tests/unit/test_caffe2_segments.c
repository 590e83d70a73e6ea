/* SPDX-License-Identifier: Apache-2.0
 * Operators of Caffe2 on segments whose results are as large as lengths say: packages for all sizes
 * against what the operators are defined to do, at drawn sizes and values; and lengths that are
 * none. */
#include "tests/unit/caffe2_run.h"

enum { N = 5, T = 12, W = 2, LONGEST = 6, DRAWS = 30, ROOM = 400 };

/* Segments of rows of W numbers: few values, so that there are equal ones. */
typedef struct {
  int64_t n, t, chosen; /* segments, rows, segments that are looked up */
  int32_t lengths[N];
  int64_t indices[N];
  float rows[T][W], packed[N][LONGEST][W];
} segments;

static segments draw_segments(wk_rng *r) {
  segments s = {.n = wk_rng_range(r, 1, N), .chosen = wk_rng_range(r, 0, N)};
  for (int i = 0; i < s.n; i++) {
    int64_t most = T - s.t < LONGEST ? T - s.t : LONGEST;
    s.lengths[i] = (int32_t)wk_rng_range(r, 0, wk_rng_range(r, 0, 2) ? most / 2 : most);
    s.t += s.lengths[i];
  }
  for (int i = 0; i < s.chosen; i++) s.indices[i] = wk_rng_range(r, 0, s.n - 1);
  for (int i = 0; i < T * W; i++) s.rows[i / W][i % W] = (float)wk_rng_range(r, -6, 6) / 2;
  for (int i = 0; i < N * LONGEST * W; i++)
    s.packed[i / W / LONGEST][i / W % LONGEST][i % W] = (float)wk_rng_range(r, -6, 6) / 2;
  return s;
}

static int64_t longest(const segments *s) {
  int64_t most = 0;
  for (int i = 0; i < s->n; i++) most = s->lengths[i] > most ? s->lengths[i] : most;
  return most;
}

static void put_lengths(caffe2_data *d, const segments *s) {
  caffe2_put(d, "l", WK_I32, 1, &s->n, s->lengths);
}

static void put_rows(caffe2_data *d, const segments *s) {
  caffe2_put(d, "x", WK_F32, 2, (const int64_t[]){s->t, W}, s->rows);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static void packs(const caffe2_run *x, const segments *s, int64_t places, double fill) {
  double y[ROOM], mask[ROOM];
  caffe2_data d = {.n = 0};
  int64_t row = 0, n = 0;
  put_lengths(&d, s);
  put_rows(&d, s);
  caffe2_must(x, caffe2_go(x, &d));
  for (int i = 0; i < s->n; row += s->lengths[i++])
    for (int64_t j = 0; j < places; j++, n++) {
      mask[n] = j < s->lengths[i];
      for (int k = 0; k < W; k++) y[n * W + k] = mask[n] ? (double)s->rows[row + j][k] : fill;
    }
  caffe2_expect(x, &d, 0, WK_F32, 3, (const int64_t[]){s->n, places, W}, y);
  caffe2_expect(x, &d, 1, WK_BOOL, 2, (const int64_t[]){s->n, places}, mask);
  caffe2_drop(&d);
}

static void pack(const caffe2_run *x, const segments *s) { packs(x, s, longest(s), 0); }
static void pack_wide(const caffe2_run *x, const segments *s) {
  packs(x, s, LONGEST, -(double)INFINITY);
}

/* Rows of LONGEST places; longer segments are cut where max_length says so. */
static void unpack(const caffe2_run *x, const segments *s) {
  double y[ROOM];
  caffe2_data d = {.n = 0};
  int64_t n = 0;
  put_lengths(&d, s);
  caffe2_put(&d, "x", WK_F32, 3, (const int64_t[]){s->n, LONGEST, W}, s->packed);
  caffe2_must(x, caffe2_go(x, &d));
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < s->lengths[i] && j < LONGEST; j++)
      for (int k = 0; k < W; k++) y[n++] = (double)s->packed[i][j][k];
  caffe2_expect(x, &d, 0, WK_F32, 2, (const int64_t[]){n / W, W}, y);
  caffe2_drop(&d);
}

static void unpack_cut(const caffe2_run *x, const segments *s) {
  segments longer = *s;
  for (int i = 0; i < s->n; i++) longer.lengths[i] *= 2;
  unpack(x, &longer);
}

static void gather(const caffe2_run *x, const segments *s) {
  double y[ROOM];
  caffe2_data d = {.n = 0};
  int64_t n = 0;
  put_lengths(&d, s);
  put_rows(&d, s);
  caffe2_put(&d, "i", WK_I64, 1, &s->chosen, s->indices);
  caffe2_must(x, caffe2_go(x, &d));
  for (int i = 0; i < s->chosen; i++) {
    int64_t row = 0;
    for (int k = 0; k < s->indices[i]; k++) row += s->lengths[k];
    for (int j = 0; j < s->lengths[s->indices[i]]; j++, row++)
      for (int k = 0; k < W; k++) y[n++] = (double)s->rows[row][k];
  }
  caffe2_expect(x, &d, 0, WK_F32, 2, (const int64_t[]){n / W, W}, y);
  caffe2_drop(&d);
}

/* The next one of a segment by falling value, the first of equals first; -1: none is left. */
static int next_of(const float *v, int n, const bool *is_taken) {
  int best = -1;
  for (int i = 0; i < n; i++)
    if (!is_taken[i] && (best < 0 || v[i] > v[best])) best = i;
  return best;
}

static void top_k(const caffe2_run *x, const segments *s) {
  enum { K = 3 };
  double y[ROOM], at[ROOM];
  const float *v = s->rows[0];
  caffe2_data d = {.n = 0};
  int64_t n = 0;
  put_lengths(&d, s);
  caffe2_put(&d, "x", WK_F32, 1, &s->t, v);
  caffe2_must(x, caffe2_go(x, &d));
  for (int i = 0; i < s->n; v += s->lengths[i++]) {
    bool is_taken[T] = {false};
    for (int k = 0; k < K; k++, n++) {
      int best = next_of(v, s->lengths[i], is_taken);
      y[n] = best < 0 ? 0 : (double)v[best];
      at[n] = best;
      if (best >= 0) is_taken[best] = true;
    }
  }
  caffe2_expect(x, &d, 0, WK_F32, 2, (const int64_t[]){s->n, K}, y);
  caffe2_expect(x, &d, 1, WK_I32, 2, (const int64_t[]){s->n, K}, at);
  caffe2_drop(&d);
}

/* ---- draws ----------------------------------------------------------------------------------- */

static const struct {
  const char *type, *in, *out, *args;
  void (*run)(const caffe2_run *x, const segments *s);
} cases[] = {
    {"PackSegments", "l=1..5 x=0..12x2", "y m", "return_presence_mask=1", pack},
    {"PackSegments", "l=1..5 x=0..12x2", "y m", "return_presence_mask=1 max_length=6 pad_minf=1",
     pack_wide},
    {"UnpackSegments", "l=1..5 x=1..5x6x2", "y", "", unpack},
    {"UnpackSegments", "l=1..5 x=1..5x6x2", "y", "max_length=6", unpack_cut},
    {"LengthsGather", "x=0..12x2 l=1..5 i=0..5", "y", "", gather},
    {"LengthsTopK", "x=0..12 l=1..5", "y i", "k=3", top_k},
};

static const char *const targets[] = {"eval", "cpu"};

static void drawn(void **state) {
  (void)state;
  for (size_t i = 0; i < 2 * WK_COUNTOF(cases); i++) {
    const char *target = targets[i % 2];
    wk_rng r = {i / 2 + 1};
    caffe2_run x;
    wk_status s = caffe2_open(cases[i / 2].type, cases[i / 2].in, cases[i / 2].out,
                              cases[i / 2].args, target, &x);
    if (s) fail_msg("%s: %s", cases[i / 2].type, s->message);
    for (int k = 0; k < DRAWS; k++) {
      const segments some = draw_segments(&r);
      cases[i / 2].run(&x, &some);
    }
    wk_runner_free(x.r);
  }
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void equal_and_odd_numbers(void **state) {
  (void)state;
  const float v[] = {1, 3, 3, 1, 3, -INFINITY, 0};
  const int32_t lengths[] = {5, 0, 2};
  const double y[] = {3, 3, 3, 1, 0, 0, 0, 0, 0, -(double)INFINITY, 0, 0};
  const double at[] = {1, 2, 4, 0, -1, -1, -1, -1, 1, 0, -1, -1};
  for (int t = 0; t < 2; t++) {
    caffe2_run x;
    caffe2_data d = {.n = 0};
    assert_null(caffe2_open("LengthsTopK", "x=7 l=3", "y i", "k=4", targets[t], &x));
    caffe2_put(&d, "x", WK_F32, 1, (const int64_t[]){7}, v);
    caffe2_put(&d, "l", WK_I32, 1, (const int64_t[]){3}, lengths);
    caffe2_must(&x, caffe2_go(&x, &d));
    caffe2_expect(&x, &d, 0, WK_F32, 2, (const int64_t[]){3, 4}, y);
    caffe2_expect(&x, &d, 1, WK_I32, 2, (const int64_t[]){3, 4}, at);
    caffe2_drop(&d);
    wk_runner_free(x.r);
  }
}

/* ---- what fails ------------------------------------------------------------------------------ */

static const struct {
  const char *type, *in, *args;
  int32_t lengths[4];
  int64_t indices[2];
} bad[] = {
    {"PackSegments", "l=3 x=4x2", "", {1, 1, 1}, {0}},
    {"PackSegments", "l=3 x=4x2", "", {5, -1, 0}, {0}},
    {"PackSegments", "l=3 x=4x2", "max_length=2", {3, 1, 0}, {0}},
    {"PackSegments", "l=3 x=0..4x2", "", {0, 0, 0}, {0}},
    {"UnpackSegments", "l=3 x=3x4x2", "", {5, 0, 0}, {0}},
    {"UnpackSegments", "l=3 x=3x4x2", "max_length=4", {4, -1, 0}, {0}},
    {"UnpackSegments", "l=3 x=1..5x4x2", "", {1, 1, 1}, {0}},
    {"LengthsGather", "x=4x2 l=3 i=2", "", {2, 2, 1}, {0}},
    {"LengthsGather", "x=4x2 l=3 i=2", "", {2, 2, 0}, {0, 3}},
    {"LengthsGather", "x=4x2 l=3 i=2", "", {2, 2, 0}, {0, -1}},
    {"LengthsTopK", "x=4 l=3", "k=2", {2, 2, 1}, {0}},
    {"LengthsTopK", "x=4 l=3", "k=2", {-1, 2, 1}, {0}},
    {"GatherRanges", "x=4 l=1x2x2", "", {0, 4, 3, 2}, {0}},
    {"GatherRanges", "x=4 l=1x2x2", "", {0, 4, -1, 1}, {0}},
    {"GatherRanges", "x=4 l=1x2x2", "", {0, 4, 3, -1}, {0}},
};

/* The largest tensors that the inputs may be. */
static void put_bad(const caffe2_run *x, caffe2_data *d, size_t i) {
  static const float zeros[ROOM];
  for (size_t k = 0; k < wk_runner_inputs(x->r); k++) {
    const char *name = wk_runner_input_name(x->r, k);
    const wk_type *t = wk_runner_input_type(x->r, k);
    const void *data = *name == 'l' ? (const void *)bad[i].lengths
                       : *name == 'i' ? (const void *)bad[i].indices : zeros;
    caffe2_put(d, name, t->dtype, t->rank, t->dims, data);
  }
}

static void bad_lengths(void **state) {
  (void)state;
  for (size_t i = 0; i < 2 * WK_COUNTOF(bad); i++) {
    caffe2_run x;
    caffe2_data d = {.n = 0};
    const char *type = bad[i / 2].type;
    assert_null(caffe2_open(type, bad[i / 2].in, "y", bad[i / 2].args, targets[i % 2], &x));
    put_bad(&x, &d, i / 2);
    wk_status s = caffe2_go(&x, &d);
    if (!s) fail_msg("%s, row %d: taken", type, (int)i / 2);
    bool names_it = strstr(s->message, type) || (s->place && strstr(s->place, type));
    if (!names_it || s->code != WK_INPUT) fail_msg("%s: %s", type, s->message);
    wk_status_free(s);
    caffe2_drop(&d);
    wk_runner_free(x.r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(drawn),
      cmocka_unit_test(equal_and_odd_numbers),
      cmocka_unit_test(bad_lengths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
