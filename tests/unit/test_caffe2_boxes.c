/* SPDX-License-Identifier: Apache-2.0
 * Operators of Caffe2 that find boxes: packages for all sizes against what the operators are
 * defined to do, at drawn sizes and values, which are such that there are equal scores, ratios at
 * the threshold and boxes without area; and small cases by hand. */
#include "tests/unit/caffe2_run.h"

enum { ROOM = 300, DRAWS = 30 };

typedef struct {
  float v[4]; /* left, top, right, bottom */
} box;

static const char *const targets[] = {"eval", "cpu"};

/* ---- suppression ----------------------------------------------------------------------------- */

static float at_least(float a, float b) { return a > b ? a : b; }
static float at_most(float a, float b) { return a < b ? a : b; }

static float area(const box *b, float plus) {
  return (b->v[2] - b->v[0] + plus) * (b->v[3] - b->v[1] + plus);
}

static float ratio(const box *a, const box *b, float plus) {
  float w = at_most(a->v[2], b->v[2]) - at_least(a->v[0], b->v[0]) + plus;
  float h = at_most(a->v[3], b->v[3]) - at_least(a->v[1], b->v[1]) + plus;
  float both = at_least(w, 0) * at_least(h, 0);
  return both / (area(a, plus) + area(b, plus) - both);
}

/* Positions of those that are kept, of those that `there` says, best first. */
static int suppress(const box *b, const float *scores, int n, const bool *there, float threshold,
                    int most, float plus, int *kept) {
  bool left[ROOM];
  int count = 0;
  memcpy(left, there, (size_t)n);
  while (count < most) {
    int best = -1;
    for (int i = 0; i < n; i++)
      if (left[i] && (best < 0 || scores[i] > scores[best])) best = i;
    if (best < 0) break;
    kept[count++] = best;
    left[best] = false;
    for (int i = 0; i < n; i++)
      left[i] = left[i] && ratio(&b[best], &b[i], plus) <= threshold;
  }
  return count;
}

static float tenth(wk_rng *r, int most) { return (float)wk_rng_range(r, 0, most) / 10; }

/* Corners are whole, and sides may have no length. */
static box draw_box(wk_rng *r, int size) {
  box b;
  for (int k = 0; k < 2; k++) {
    b.v[k] = (float)wk_rng_range(r, 0, size);
    b.v[k + 2] = b.v[k] + (float)wk_rng_range(r, 0, size / 2);
  }
  return b;
}

/* ---- GenerateProposals ----------------------------------------------------------------------- */

enum { A = 2, IMAGES = 2, H = 3, W = 4 };

typedef struct {
  int64_t n, h, w;
  float scores[IMAGES * A * H * W], deltas[IMAGES * 4 * A * H * W], infos[IMAGES][3];
  box anchors[A];
} images;

typedef struct {
  const char *args;
  float stride, threshold, least, plus;
  int pre, post;
} proposal_case;

static images draw_images(wk_rng *r) {
  images s = {.n = wk_rng_range(r, 1, IMAGES), .h = wk_rng_range(r, 1, H),
              .w = wk_rng_range(r, 1, W)};
  bool is_still = wk_rng_range(r, 0, 1);
  for (int i = 0; i < s.n * A * s.h * s.w; i++) s.scores[i] = tenth(r, 10);
  for (int i = 0; i < s.n * 4 * A * s.h * s.w; i++)
    s.deltas[i] = is_still ? 0 : (float)wk_rng_range(r, -100, 100) / 128;
  for (int i = 0; i < s.n; i++) {
    s.infos[i][0] = (float)(s.h * 8) - tenth(r, 30);
    s.infos[i][1] = (float)(s.w * 8) - tenth(r, 30);
    s.infos[i][2] = 1 + tenth(r, 5);
  }
  for (int a = 0; a < A; a++)
    for (int k = 0; k < 4; k++)
      s.anchors[a].v[k] = 4 + (float)wk_rng_range(r, 2, 9) * (k < 2 ? -1.0f : 1.0f);
  return s;
}

/* The box of position p among the scores of an image. */
static box proposal(const images *s, const proposal_case *c, int image, int p) {
  int plane = (int)(s->h * s->w), a = p / plane, at = p % plane;
  const float *d = s->deltas + (image * A + a) * 4 * plane + at;
  float shift[2] = {(float)(at % (int)s->w) * c->stride, (float)(at / (int)s->w) * c->stride};
  box b;
  for (int k = 0; k < 2; k++) {
    float low = s->anchors[a].v[k] + shift[k], high = s->anchors[a].v[k + 2] + shift[k];
    float side = high - low + c->plus, limit = floorf(s->infos[image][1 - k]) - c->plus;
    float middle = d[k * plane] * side + (low + 0.5f * side);
    float half = 0.5f * (expf(at_most(d[(k + 2) * plane], 4.13516656f)) * side);
    b.v[k] = at_least(at_most(middle - half, limit), 0);
    b.v[k + 2] = at_least(at_most(middle + half - c->plus, limit), 0);
  }
  return b;
}

static bool is_kept(const images *s, const proposal_case *c, int image, const box *b) {
  for (int k = 0; k < 2; k++) {
    float side = b->v[k + 2] - b->v[k] + c->plus;
    if (!(side >= c->least * s->infos[image][2])) return false;
    if (!(b->v[k] + side / 2 < s->infos[image][1 - k])) return false;
  }
  return true;
}

/* Of the best `pre` scores. */
static void among_best(const float *scores, int n, int pre, bool *is_there) {
  memset(is_there, 0, (size_t)n);
  for (; pre > 0; pre--) {
    int best = -1;
    for (int i = 0; i < n; i++)
      if (!is_there[i] && (best < 0 || scores[i] > scores[best])) best = i;
    if (best < 0) return;
    is_there[best] = true;
  }
}

static int propose(const images *s, const proposal_case *c, int image, double *rois,
                   double *probs) {
  int n = (int)(A * s->h * s->w), kept[ROOM];
  const float *scores = s->scores + image * n;
  box boxes[ROOM];
  bool is_there[ROOM];
  among_best(scores, n, c->pre, is_there);
  for (int i = 0; i < n; i++) {
    boxes[i] = proposal(s, c, image, i);
    is_there[i] = is_there[i] && is_kept(s, c, image, &boxes[i]);
  }
  int count = suppress(boxes, scores, n, is_there, c->threshold, c->post, c->plus, kept);
  for (int i = 0; i < count; i++) {
    rois[i * 5] = image;
    for (int k = 0; k < 4; k++) rois[i * 5 + 1 + k] = (double)boxes[kept[i]].v[k];
    probs[i] = (double)scores[kept[i]];
  }
  return count;
}

static void put_images(caffe2_data *d, const images *s) {
  caffe2_put(d, "s", WK_F32, 4, (const int64_t[]){s->n, A, s->h, s->w}, s->scores);
  caffe2_put(d, "d", WK_F32, 4, (const int64_t[]){s->n, 4 * A, s->h, s->w}, s->deltas);
  caffe2_put(d, "i", WK_F32, 2, (const int64_t[]){s->n, 3}, s->infos);
  caffe2_put(d, "a", WK_F32, 2, (const int64_t[]){A, 4}, s->anchors);
}

static const proposal_case proposal_cases[] = {
    {"spatial_scale=0.125 min_size=3.0 nms_thresh=0.5 pre_nms_topN=17 post_nms_topN=4", 8, 0.5f, 3,
     1, 17, 4},
    {"spatial_scale=0.125 min_size=0.0 legacy_plus_one=0 pre_nms_topN=0 post_nms_topN=-1", 8, 0.7f,
     0, 0, ROOM, ROOM},
};

static void proposals(void **state) {
  (void)state;
  for (size_t i = 0; i < 2 * WK_COUNTOF(proposal_cases); i++) {
    const proposal_case *c = &proposal_cases[i / 2];
    wk_rng r = {i / 2 + 1};
    caffe2_run x;
    int64_t found = 0;
    wk_status s = caffe2_open(i / 2 ? "GenerateProposalsCPP" : "GenerateProposals",
                              "s=1..2x2x1..3x1..4 d=1..2x8x1..3x1..4 i=1..2x3 a=2x4", "rois probs",
                              c->args, targets[i % 2], &x);
    if (s) fail_msg("%s", s->message);
    for (int k = 0; k < DRAWS; k++) {
      const images some = draw_images(&r);
      double rois[5 * ROOM], probs[ROOM];
      caffe2_data d = {.n = 0};
      int64_t n = 0;
      for (int image = 0; image < some.n; image++)
        n += propose(&some, c, image, rois + 5 * n, probs + n);
      put_images(&d, &some);
      caffe2_must(&x, caffe2_go(&x, &d));
      caffe2_expect(&x, &d, 0, WK_F32, 2, (const int64_t[]){n, 5}, rois);
      caffe2_expect(&x, &d, 1, WK_F32, 1, &n, probs);
      caffe2_drop(&d);
      found += n;
    }
    assert_true(found > 2 * DRAWS);
    wk_runner_free(x.r);
  }
}

/* ---- BoxWithNMSLimit ------------------------------------------------------------------------- */

enum { BOXES = 12, CLASSES = 3, SPLITS = 3 };

typedef struct {
  int64_t n, images;
  float splits[SPLITS], scores[BOXES][CLASSES];
  box boxes[BOXES][CLASSES];
} detections;

typedef struct {
  const char *boxes, *args;
  float least, threshold, plus;
  int most, first, columns; /* the first class that boxes and scores have; classes of boxes */
  int background;           /* the class of the first that is none */
} limit_case;

static detections draw_detections(wk_rng *r) {
  detections s = {.images = wk_rng_range(r, 1, SPLITS)};
  for (int i = 0; i < s.images; i++) {
    s.splits[i] = (float)wk_rng_range(r, 0, BOXES / s.images);
    s.n += (int64_t)s.splits[i];
  }
  for (int i = 0; i < s.n; i++)
    for (int k = 0; k < CLASSES; k++) {
      s.scores[i][k] = tenth(r, 10);
      s.boxes[i][k] = draw_box(r, 8);
    }
  return s;
}

typedef struct {
  double scores[ROOM], boxes[ROOM], classes[ROOM], rows[ROOM];
  double splits[SPLITS], sizes[SPLITS * CLASSES];
  int64_t n;
} limited;

/* Those of one image from row `first` on, whose scores are among the `most` best. */
static void limit_image(const detections *s, const limit_case *c, int image, int first,
                        limited *y) {
  float scores[ROOM];
  int n = (int)s->splits[image], of[ROOM], at[ROOM], count = 0;
  bool is_best[ROOM];
  for (int j = 1; j < CLASSES; j++) {
    box boxes[BOXES];
    float here[BOXES];
    bool is_there[BOXES];
    int kept[BOXES], column = c->first ? j : j - 1;
    for (int i = 0; i < n; i++) {
      here[i] = s->scores[first + i][column];
      boxes[i] = s->boxes[first + i][c->columns == 1 ? 0 : column];
      is_there[i] = here[i] > c->least;
    }
    int k = suppress(boxes, here, n, is_there, c->threshold, c->most, c->plus, kept);
    for (int i = 0; i < k; i++, count++) {
      scores[count] = here[kept[i]];
      of[count] = j;
      at[count] = kept[i];
    }
  }
  among_best(scores, count, c->most, is_best);
  for (int i = 0; i < count; i++) {
    if (!is_best[i]) continue;
    int column = c->columns == 1 ? 0 : c->first ? of[i] : of[i] - 1;
    for (int k = 0; k < 4; k++)
      y->boxes[4 * y->n + k] = (double)s->boxes[first + at[i]][column].v[k];
    y->scores[y->n] = (double)scores[i];
    y->classes[y->n] = of[i] - 1 + c->background;
    y->rows[y->n++] = at[i];
    y->splits[image]++;
    y->sizes[image * CLASSES + of[i]]++;
  }
}

/* boxes: the columns of the classes that the operator is given. */
static void put_detections(caffe2_data *d, const detections *s, const limit_case *c) {
  float packed[BOXES * CLASSES * 4];
  for (int i = 0; i < s->n; i++)
    memcpy(packed + i * c->columns * 4, s->boxes[i], (size_t)c->columns * sizeof(box));
  caffe2_put(d, "s", WK_F32, 2, (const int64_t[]){s->n, CLASSES}, s->scores);
  caffe2_put(d, "b", WK_F32, 2, (const int64_t[]){s->n, c->columns * 4}, packed);
  caffe2_put(d, "n", WK_F32, 1, &s->images, s->splits);
}

static void check_limited(const caffe2_run *x, const detections *s, const limit_case *c,
                          int64_t *found) {
  limited y = {.n = 0};
  caffe2_data d = {.n = 0};
  int first = 0;
  for (int i = 0; i < s->images; first += (int)s->splits[i++]) limit_image(s, c, i, first, &y);
  put_detections(&d, s, c);
  caffe2_must(x, caffe2_go(x, &d));
  caffe2_expect(x, &d, 0, WK_F32, 1, &y.n, y.scores);
  caffe2_expect(x, &d, 1, WK_F32, 2, (const int64_t[]){y.n, 4}, y.boxes);
  caffe2_expect(x, &d, 2, WK_F32, 1, &y.n, y.classes);
  caffe2_expect(x, &d, 3, WK_F32, 1, &s->images, y.splits);
  caffe2_expect(x, &d, 4, WK_I32, 1, &y.n, y.rows);
  caffe2_expect(x, &d, 5, WK_I32, 2, (const int64_t[]){s->images, CLASSES}, y.sizes);
  caffe2_drop(&d);
  *found += y.n;
}

static const limit_case limit_cases[] = {
    {"b=0..12x12", "score_thresh=0.2 nms=0.5 detections_per_im=3", 0.2f, 0.5f, 1, 3, 1, 3, 1},
    {"b=0..12x12", "detections_per_im=0 legacy_plus_one=0", 0.05f, 0.3f, 0, ROOM, 1, 3, 1},
    {"b=0..12x8",
     "nms=0.4 detections_per_im=4 input_boxes_include_bg_cls=0 output_classes_include_bg_cls=0",
     0.05f, 0.4f, 1, 4, 0, 2, 0},
    {"b=0..12x4", "nms=0.25 cls_agnostic_bbox_reg=1 detections_per_im=5", 0.05f, 0.25f, 1, 5, 1, 1,
     1},
};

static void limits(void **state) {
  (void)state;
  for (size_t i = 0; i < 2 * WK_COUNTOF(limit_cases); i++) {
    const limit_case *c = &limit_cases[i / 2];
    wk_rng r = {i / 2 + 1};
    caffe2_run x;
    int64_t found = 0;
    char in[64];
    snprintf(in, sizeof in, "s=0..12x3 %s n=1..3", c->boxes);
    wk_status s = caffe2_open("BoxWithNMSLimit", in, "s2 b2 c n2 k z", c->args, targets[i % 2], &x);
    if (s) fail_msg("%s", s->message);
    for (int k = 0; k < DRAWS; k++) {
      const detections some = draw_detections(&r);
      check_limited(&x, &some, c, &found);
    }
    assert_true(found > 2 * DRAWS);
    wk_runner_free(x.r);
  }
}

/* ---- pyramids -------------------------------------------------------------------------------- */

enum { LEVELS = 2, REGIONS = 6, BEST = 7, OUT_LEVELS = 3 };

typedef struct {
  int64_t n[LEVELS], all;
  float rois[LEVELS][REGIONS][5], scores[LEVELS][REGIONS];
} pyramid;

static pyramid draw_pyramid(wk_rng *r) {
  pyramid s = {.all = 0};
  for (int l = 0; l < LEVELS; l++) {
    s.n[l] = wk_rng_range(r, 0, REGIONS);
    s.all += s.n[l];
    for (int i = 0; i < s.n[l]; i++) {
      box b = draw_box(r, (int)wk_rng_range(r, 10, 900));
      s.rois[l][i][0] = (float)wk_rng_range(r, 0, 1);
      memcpy(s.rois[l][i] + 1, b.v, sizeof b.v);
      s.scores[l][i] = tenth(r, 9);
    }
  }
  return s;
}

static int level_of(const float *roi) {
  const box b = {{roi[1], roi[2], roi[3], roi[4]}};
  float l = floorf(4 + logf(sqrtf(area(&b, 1)) / 224 + 1e-6f) / 0.693147182f);
  return (int)at_least(at_most(l, 4), 2);
}

/* Regions by falling score, the first of equals first. */
static int64_t collect(const pyramid *s, float best[LEVELS * REGIONS][5]) {
  bool is_taken[LEVELS][REGIONS] = {{false}};
  int64_t n = 0;
  for (; n < s->all && n < BEST; n++) {
    int level = -1, at = 0;
    for (int l = 0; l < LEVELS; l++)
      for (int i = 0; i < s->n[l]; i++)
        if (!is_taken[l][i] && (level < 0 || s->scores[l][i] > s->scores[level][at]))
          level = l, at = i;
    is_taken[level][at] = true;
    memcpy(best[n], s->rois[level][at], sizeof best[n]);
  }
  return n;
}

static void widen(double *y, const float *x, int n) {
  for (int i = 0; i < n; i++) y[i] = (double)x[i];
}

static void check_pyramid(const caffe2_run *x, const pyramid *s) {
  static const char *const names[] = {"r0", "r1", "p0", "p1"};
  float best[LEVELS * REGIONS][5];
  double rois[ROOM], restore[ROOM];
  caffe2_data d = {.n = 0};
  for (int l = 0; l < LEVELS; l++)
    caffe2_put(&d, names[l], WK_F32, 2, (const int64_t[]){s->n[l], 5}, s->rois[l]);
  for (int l = 0; l < LEVELS; l++)
    caffe2_put(&d, names[LEVELS + l], WK_F32, 1, &s->n[l], s->scores[l]);
  caffe2_must(x, caffe2_go(x, &d));
  int64_t n = collect(s, best), place = 0;
  for (int i = 0; i < n; i++) widen(rois + 5 * i, best[i], 5);
  caffe2_expect(x, &d, 0, WK_F32, 2, (const int64_t[]){n, 5}, rois);
  for (int l = 0; l < OUT_LEVELS; l++) {
    int64_t count = 0;
    for (int i = 0; i < n; i++) {
      if (level_of(best[i]) != 2 + l) continue;
      widen(rois + 5 * count++, best[i], 5);
      restore[i] = (double)place++;
    }
    caffe2_expect(x, &d, 1 + l, WK_F32, 2, (const int64_t[]){count, 5}, rois);
  }
  caffe2_expect(x, &d, 1 + OUT_LEVELS, WK_I32, 1, &n, restore);
  caffe2_drop(&d);
}

static void pyramids(void **state) {
  (void)state;
  for (int t = 0; t < 2; t++) {
    wk_rng r = {5};
    caffe2_run x;
    wk_status s = caffe2_open("CollectAndDistributeFpnRpnProposals",
                              "r0=0..6x5 r1=0..6x5 p0=0..6 p1=0..6", "y y2 y3 y4 order",
                              "rpn_min_level=2 rpn_max_level=3 rpn_post_nms_topN=7 roi_max_level=4",
                              targets[t], &x);
    if (s) fail_msg("%s", s->message);
    for (int k = 0; k < DRAWS; k++) {
      const pyramid some = draw_pyramid(&r);
      check_pyramid(&x, &some);
    }
    wk_runner_free(x.r);
  }
}

/* ---- by hand --------------------------------------------------------------------------------- */

/* One place, anchors of 10 pixels and of 10 by 7, whose ratio is 0.7: both stay at the threshold
 * 0.7, and one below it. The image has 9.5 columns, of which 9 count. */
static void at_the_threshold(void **state) {
  (void)state;
  static const struct {
    const char *args;
    int64_t n;
  } cases[] = {{"nms_thresh=0.7 min_size=1.0", 2}, {"nms_thresh=0.69 min_size=1.0", 1},
               {"nms_thresh=0.7 min_size=8.0", 1}, {"nms_thresh=0.7 min_size=11.0", 0},
               {"nms_thresh=0.7 min_size=1.0 post_nms_topN=1", 1}};
  const float scores[] = {0.25f, 0.5f}, zeros[8] = {0}, infos[] = {10, 10.5f, 1};
  const float anchors[] = {0, 0, 9, 6, 0, 0, 9, 9};
  const double rois[] = {0, 0, 0, 9, 9, 0, 0, 0, 9, 6}, probs[] = {0.5, 0.25};
  for (size_t i = 0; i < 2 * WK_COUNTOF(cases); i++) {
    int64_t n = cases[i / 2].n;
    caffe2_run x;
    caffe2_data d = {.n = 0};
    assert_null(caffe2_open("GenerateProposals", "s=1x2x1x1 d=1x8x1x1 i=1x3 a=2x4", "rois probs",
                            cases[i / 2].args, targets[i % 2], &x));
    caffe2_put(&d, "s", WK_F32, 4, (const int64_t[]){1, 2, 1, 1}, scores);
    caffe2_put(&d, "d", WK_F32, 4, (const int64_t[]){1, 8, 1, 1}, zeros);
    caffe2_put(&d, "i", WK_F32, 2, (const int64_t[]){1, 3}, infos);
    caffe2_put(&d, "a", WK_F32, 2, (const int64_t[]){2, 4}, anchors);
    caffe2_must(&x, caffe2_go(&x, &d));
    caffe2_expect(&x, &d, 0, WK_F32, 2, (const int64_t[]){n, 5}, rois);
    caffe2_expect(&x, &d, 1, WK_F32, 1, &n, probs);
    caffe2_drop(&d);
    wk_runner_free(x.r);
  }
}

/* Scores and deltas that are no numbers propose nothing; the others are as if they were not. */
static void no_numbers(void **state) {
  (void)state;
  const float scores[] = {NAN, 0.5f, 0.25f}, anchors[] = {0, 0, 9, 9, 0, 0, 9, 4, 0, 0, 4, 9};
  float deltas[12] = {0};
  const float infos[] = {10, 10, 1};
  const double rois[] = {0, 0, 0, 4, 9}, probs[] = {0.25};
  deltas[5] = NAN;
  for (int t = 0; t < 2; t++) {
    caffe2_run x;
    caffe2_data d = {.n = 0};
    assert_null(caffe2_open("GenerateProposals", "s=1x3x1x1 d=1x12x1x1 i=1x3 a=3x4", "rois probs",
                            "min_size=1.0", targets[t], &x));
    caffe2_put(&d, "s", WK_F32, 4, (const int64_t[]){1, 3, 1, 1}, scores);
    caffe2_put(&d, "d", WK_F32, 4, (const int64_t[]){1, 12, 1, 1}, deltas);
    caffe2_put(&d, "i", WK_F32, 2, (const int64_t[]){1, 3}, infos);
    caffe2_put(&d, "a", WK_F32, 2, (const int64_t[]){3, 4}, anchors);
    caffe2_must(&x, caffe2_go(&x, &d));
    caffe2_expect(&x, &d, 0, WK_F32, 2, (const int64_t[]){1, 5}, rois);
    caffe2_expect(&x, &d, 1, WK_F32, 1, (const int64_t[]){1}, probs);
    caffe2_drop(&d);
    wk_runner_free(x.r);
  }
}

/* ---- what fails ------------------------------------------------------------------------------ */

static void fails(const char *type, const char *in, const char *out, const char *args,
                  const float *special) {
  static const float zeros[ROOM];
  for (int t = 0; t < 2; t++) {
    caffe2_run x;
    caffe2_data d = {.n = 0};
    assert_null(caffe2_open(type, in, out, args, targets[t], &x));
    for (size_t k = 0; k < wk_runner_inputs(x.r); k++) {
      const char *name = wk_runner_input_name(x.r, k);
      const wk_type *of = wk_runner_input_type(x.r, k);
      caffe2_put(&d, name, of->dtype, of->rank, of->dims, *name == 'n' ? special : zeros);
    }
    wk_status s = caffe2_go(&x, &d);
    if (!s) fail_msg("%s: taken", type);
    if (!strstr(s->message, type) && !(s->place && strstr(s->place, type)))
      fail_msg("%s: %s", type, s->message);
    wk_status_free(s);
    caffe2_drop(&d);
    wk_runner_free(x.r);
  }
}

static void bad_values(void **state) {
  (void)state;
  const float short_of[] = {2, 1}, negative[] = {5, -1}, inverted[] = {0, 5, 5, 1, 9};
  const char *in = "s=4x2 b=4x8 n=2", *levels = "roi_min_level=2 roi_max_level=2";
  fails("BoxWithNMSLimit", in, "y z c", "", short_of);
  fails("BoxWithNMSLimit", in, "y z c", "", negative);
  fails("DistributeFpnProposals", "n=1x5", "y order", levels, inverted);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(proposals),
      cmocka_unit_test(limits),
      cmocka_unit_test(pyramids),
      cmocka_unit_test(at_the_threshold),
      cmocka_unit_test(no_numbers),
      cmocka_unit_test(bad_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
