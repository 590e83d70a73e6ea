/* SPDX-License-Identifier: Apache-2.0
 * Detection: proposals, what is kept of overlapping boxes, and regions spread over the levels of a
 * pyramid of features. How many there are is what a run decides. */
#include <math.h>
#include <string.h>

#include "compiler/caffe2/translate.h"

enum { I32 = ONNX__TENSOR_PROTO__DATA_TYPE__INT32, I64 = ONNX__TENSOR_PROTO__DATA_TYPE__INT64 };

/* ---- boxes --------------------------------------------------------------------------------- */

/* A number of boxes; any number unless it is positive. */
static int64_t limit_of(wk_c2_op *o, const char *name, int64_t def) {
  int64_t v = wk_c2_int(o, name, def);
  return v > 0 && v < INT32_MAX ? v : INT32_MAX;
}

/* How boxes overlap that have a pixel more than their corners are apart, or not. */
static bool has_pixels(wk_c2_op *o) { return wk_c2_int(o, "legacy_plus_one", 1) != 0; }

static void write_overlap(wk_c2_op *o, bool is_pixels) {
  wk_c2_attr_text(o, "overlap", is_pixels ? "pixels" : "corners");
}

/* Boxes are upright: what turns others has no effect. */
static void pass_over_angles(wk_c2_op *o) {
  static const char *const names[] = {"angle_bound_on", "angle_bound_lo", "angle_bound_hi",
                                      "clip_angle_thresh"};
  for (size_t i = 0; i < WK_COUNTOF(names); i++) wk_c2_arg(o, names[i]);
}

void wk_c2_generate_proposals(wk_c2_op *o) {
  bool is_pixels = has_pixels(o);
  float scale = wk_c2_float(o, "spatial_scale", 1.0f / 16), plus = is_pixels ? 1 : 0;
  int64_t pre = limit_of(o, "pre_nms_topN", 6000), post = limit_of(o, "post_nms_topN", 300);
  float minus = (float)wk_c2_int(o, "correct_transform_coords", is_pixels);
  pass_over_angles(o);
  if (!wk_c2_valid(o, scale > 0, "spatial_scale is %g", (double)scale)) return;
  o->row = wk_c2_row_find("GenerateProposals"); /* which has an older name, too */
  wk_c2_function(o);
  wk_c2_attr_ints(o, "pre", &pre, 1);
  wk_c2_attr_int(o, "post", post);
  wk_c2_attr_float(o, "stride", (float)(1.0 / (double)scale));
  wk_c2_attr_float(o, "plus", plus);
  wk_c2_attr_float(o, "minus", minus);
  write_overlap(o, is_pixels);
}

/* Which scores and boxes are those of the classes behind the background. */
static void write_classes(wk_c2_op *o) {
  bool is_one = wk_c2_int(o, "cls_agnostic_bbox_reg", 0) != 0;
  bool has_background = wk_c2_int(o, "input_boxes_include_bg_cls", 1) != 0;
  int64_t from = has_background, to = has_background ? INT32_MAX : -1;
  int64_t each = !is_one, more = is_one ? 1 : has_background ? 0 : -1;
  int64_t skip = !is_one && has_background;
  wk_c2_attr_ints(o, "from", &from, 1);
  wk_c2_attr_ints(o, "to", &to, 1);
  wk_c2_attr_ints(o, "each", &each, 1);
  wk_c2_attr_ints(o, "more", &more, 1);
  wk_c2_attr_ints(o, "skip", &skip, 1);
  wk_c2_attr_int(o, "first", wk_c2_int(o, "output_classes_include_bg_cls", 1) != 0);
}

/* Without the third input all boxes are of one image. */
void wk_c2_box_with_nms_limit(wk_c2_op *o) {
  int64_t limit = limit_of(o, "detections_per_im", 100);
  bool is_pixels = has_pixels(o);
  wk_c2_need(o, !wk_c2_int(o, "soft_nms_enabled", 0), "soft_nms_enabled is not supported");
  wk_c2_need(o, !wk_c2_int(o, "rotated", 0), "rotated boxes are not supported");
  static const char *const soft[] = {"soft_nms_method", "soft_nms_sigma",
                                     "soft_nms_min_score_thres"};
  for (size_t i = 0; i < WK_COUNTOF(soft); i++) wk_c2_arg(o, soft[i]);
  if (o->n_in < 3) {
    const char *shape = wk_c2_make(o, "Shape", NULL, wk_c2_in(o, 0), NULL, NULL);
    const char *all = wk_c2_make(o, "Slice", NULL, shape, wk_c2_i64s(o, &(int64_t){0}, 1),
                                 wk_c2_i64s(o, &(int64_t){1}, 1));
    wk_c2_set_in(o, (const char *[]){wk_c2_in(o, 0), wk_c2_in(o, 1), all}, 3);
  }
  wk_c2_function(o);
  wk_c2_attr_ints(o, "limit", &limit, 1);
  write_classes(o);
  write_overlap(o, is_pixels);
}

/* ---- pyramids ------------------------------------------------------------------------------ */

static const char *cast(wk_c2_op *o, const char *x, int64_t to, const char *out) {
  const char *y = wk_c2_make(o, "Cast", out, x, NULL, NULL);
  wk_c2_attr_int(o, "to", to);
  return y;
}

static const char *join(wk_c2_op *o, const char *const *in, int n) {
  const char *y = wk_c2_fresh(o, "Concat");
  wk_c2_node(o, "Concat", in, n, &y, 1);
  wk_c2_attr_int(o, "axis", 0);
  return y;
}

static const char *one(wk_c2_op *o, int64_t v) { return wk_c2_i64s(o, &v, 1); }

/* Positions of x, a list, from its largest element down, or the other way, and of these the first
 * `most`. */
static const char *order_of(wk_c2_op *o, const char *x, bool is_largest, int64_t most) {
  const char *out[] = {wk_c2_fresh(o, "sorted"), wk_c2_fresh(o, "order")};
  const char *k = wk_c2_make(o, "Shape", NULL, x, NULL, NULL);
  if (most < INT32_MAX) k = wk_c2_make(o, "Min", NULL, k, one(o, most), NULL);
  wk_c2_node(o, "TopK", (const char *[]){x, k}, 2, out, 2);
  wk_c2_attr_int(o, "axis", 0);
  wk_c2_attr_int(o, "largest", is_largest);
  return out[1];
}

/* The levels of the arguments PREFIX_min_level and PREFIX_max_level. */
typedef struct { int64_t min, n; } levels;

static levels read_levels(wk_c2_op *o, const char *prefix, int64_t max) {
  enum { MOST = 64 };
  const char *low = wk_arena_printf(o->c->arena, "%s_min_level", prefix);
  const char *high = wk_arena_printf(o->c->arena, "%s_max_level", prefix);
  levels l = {.min = wk_c2_int(o, low, 2)};
  int64_t last = wk_c2_int(o, high, max);
  wk_c2_valid(o, l.min >= 0 && last >= l.min && last < MOST, "%s is %lld and %s is %lld", low,
              (long long)l.min, high, (long long)last);
  l.n = last - l.min + 1;
  return l;
}

/* Inputs: regions of each level, then their scores. The regions with the best ones, best first. */
static const char *collect(wk_c2_op *o, const char *out) {
  levels l = read_levels(o, "rpn", 6);
  int64_t most = limit_of(o, "rpn_post_nms_topN", 2000);
  if (!wk_c2_valid(o, o->n_in == 2 * l.n, "has %d inputs for %lld levels, and takes %lld", o->n_in,
                   (long long)l.n, (long long)(2 * l.n)))
    return "";
  const char **in = wk_arena_alloc(o->c->arena, (size_t)o->n_in * sizeof *in);
  for (int i = 0; i < o->n_in; i++) {
    in[i] = wk_c2_in(o, i);
    if (i >= l.n) in[i] = wk_c2_make(o, "Reshape", NULL, in[i], one(o, -1), NULL);
  }
  const char *rois = join(o, in, (int)l.n), *scores = join(o, in + l.n, (int)l.n);
  return wk_c2_make(o, "Gather", out, rois, order_of(o, scores, true, most), NULL);
}

/* Columns from `first` to before `end` of the regions. */
static const char *columns(wk_c2_op *o, const char *rois, int64_t first, int64_t end) {
  const char *y = wk_c2_fresh(o, "columns");
  wk_c2_node(o, "Slice", (const char *[]){rois, one(o, first), one(o, end), one(o, 1)}, 4, &y, 1);
  return y;
}

/* x in a run that fails unless all of `holds` do. */
static const char *checked(wk_c2_op *o, const char *x, const char *holds) {
  const char *all = wk_c2_make(o, "ReduceMin", NULL, cast(o, holds, I32, NULL), NULL, NULL);
  wk_c2_attr_int(o, "keepdims", 0);
  const char *fails = wk_c2_make(o, "Less", NULL, all, cast(o, wk_c2_i64(o, 1), I32, NULL), NULL);
  const char *boxed = wk_c2_make(o, "Unsqueeze", NULL, x, NULL, NULL);
  wk_c2_attr_ints(o, "axes", &(int64_t){0}, 1);
  return wk_c2_make(o, "Gather", NULL, boxed, cast(o, fails, I64, NULL), NULL);
}

/* The level of each region by its area: [n, 1]. *rois in a run that fails where one has none. */
static const char *level_of(wk_c2_op *o, const char **rois, const levels *l) {
  float canon = (float)wk_c2_int(o, "roi_canonical_scale", 224);
  float level = (float)wk_c2_int(o, "roi_canonical_level", 4), plus = has_pixels(o) ? 1 : 0;
  const char *sides = wk_c2_make(o, "Sub", NULL, columns(o, *rois, 3, 5), columns(o, *rois, 1, 3),
                                 NULL);
  sides = wk_c2_make(o, "Add", NULL, sides, wk_c2_f32(o, plus), NULL);
  const char *area = wk_c2_make(o, "ReduceProd", NULL, sides, NULL, NULL);
  wk_c2_attr_ints(o, "axes", &(int64_t){1}, 1);
  *rois = checked(o, *rois, wk_c2_make(o, "GreaterOrEqual", NULL, area, wk_c2_f32(o, 0), NULL));
  const char *x = wk_c2_make(o, "Sqrt", NULL, area, NULL, NULL);
  x = wk_c2_make(o, "Div", NULL, x, wk_c2_f32(o, canon), NULL);
  x = wk_c2_make(o, "Log", NULL, wk_c2_make(o, "Add", NULL, x, wk_c2_f32(o, 1e-6f), NULL), NULL,
                 NULL);
  x = wk_c2_make(o, "Div", NULL, x, wk_c2_f32(o, (float)M_LN2), NULL);
  x = wk_c2_make(o, "Add", NULL, x, wk_c2_f32(o, level), NULL);
  x = wk_c2_make(o, "Floor", NULL, x, NULL, NULL);
  return wk_c2_make(o, "Clip", NULL, x, wk_c2_f32(o, (float)l->min),
                    wk_c2_f32(o, (float)(l->min + l->n - 1)));
}

/* Outputs from `first` on: the regions of each level, in their order, and where each region is
 * among those of all levels. */
static void distribute(wk_c2_op *o, const char *rois, int first) {
  levels l = read_levels(o, "roi", 5);
  if (!wk_c2_valid(o, o->n_out == first + l.n + 1, "has %d outputs for %lld levels, and makes %lld",
                   o->n_out, (long long)l.n, (long long)(first + l.n + 1)))
    return;
  const char **at = wk_arena_alloc(o->c->arena, (size_t)l.n * sizeof *at);
  const char *level = wk_c2_make(o, "Reshape", NULL, level_of(o, &rois, &l), one(o, -1), NULL);
  for (int i = 0; i < l.n; i++) {
    const char *is_there = wk_c2_make(o, "Equal", NULL, level,
                                      wk_c2_f32(o, (float)(l.min + i)), NULL);
    at[i] = wk_c2_make(o, "Squeeze", NULL, wk_c2_make(o, "NonZero", NULL, is_there, NULL, NULL),
                       NULL, NULL);
    wk_c2_attr_ints(o, "axes", &(int64_t){0}, 1);
    wk_c2_make(o, "Gather", wk_c2_out(o, first + i), rois, at[i], NULL);
  }
  cast(o, order_of(o, join(o, at, (int)l.n), false, INT32_MAX), I32, wk_c2_out(o, o->n_out - 1));
}

void wk_c2_collect_proposals(wk_c2_op *o) { collect(o, wk_c2_out(o, 0)); }

void wk_c2_distribute_proposals(wk_c2_op *o) { distribute(o, wk_c2_in(o, 0), 0); }

void wk_c2_collect_and_distribute(wk_c2_op *o) { distribute(o, collect(o, wk_c2_out(o, 0)), 1); }
