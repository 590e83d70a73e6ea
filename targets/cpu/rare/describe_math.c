/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "targets/cpu/rare/rare_call.h"

void wk_describe_random_uniform(wk_rare_call *r) {
  const wk_attr_random_uniform *a = r->i->attrs;
  wk_rare_plain_views(r);
  r->attr[RARE_SEED] = a->seed;
  r->attr[RARE_LOW] = wk_rare_bits(a->low);
  r->attr[RARE_HIGH] = wk_rare_bits(a->high);
  r->function = "wk_rare_random_uniform";
  r->n_tasks = wk_view_count(wk_rare_operand(r, 0));
  r->ns = 20 * (double)r->n_tasks;
}

void wk_describe_random_normal(wk_rare_call *r) {
  const wk_attr_random_normal *a = r->i->attrs;
  wk_rare_plain_views(r);
  r->attr[RARE_SEED] = a->seed;
  r->attr[RARE_LOW] = wk_rare_bits(a->mean);
  r->attr[RARE_HIGH] = wk_rare_bits(a->scale);
  r->function = "wk_rare_random_normal";
  r->n_tasks = wk_view_count(wk_rare_operand(r, 0));
  r->ns = 100 * (double)r->n_tasks;
}

void wk_describe_roi_align(wk_rare_call *r) {
  const wk_attr_roi_align *a = r->i->attrs;
  wk_rare_plain_views(r);
  r->attr[RARE_IS_MAX] = strcmp(a->mode, "max") == 0;
  r->attr[RARE_SAMPLES] = a->samples;
  r->attr[RARE_SCALE] = wk_rare_bits(a->scale);
  r->attr[RARE_HALF_PIXEL] = a->half_pixel;
  r->function = "wk_rare_roi_align";
  r->n_tasks = wk_rare_product(wk_rare_operand(r, 0)->dims, 0, 2);
  r->ns = 100 * (double)wk_view_count(wk_rare_operand(r, 0));
}

void wk_describe_det(wk_rare_call *r) {
  const wk_view *x = wk_rare_operand(r, 1);
  int64_t n = x->dims[x->rank - 1];
  wk_rare_plain_views(r);
  r->function = "wk_rare_det";
  r->n_tasks = wk_view_count(wk_rare_operand(r, 0));
  r->scratch_bytes = 8 * n * n;
  r->ns = (double)r->n_tasks * (double)n * (double)n * (double)n;
}

void wk_describe_non_max_suppression(wk_rare_call *r) {
  wk_rare_plain_views(r);
  const wk_attr_non_max_suppression *a = r->i->attrs;
  r->attr[RARE_CENTER_POINT] = a->center_point;
  r->attr[RARE_OVERLAP] = !strcmp(a->overlap, "corners")  ? RARE_CORNERS
                          : !strcmp(a->overlap, "pixels") ? RARE_PIXELS : RARE_AREA;
  r->function = "wk_rare_non_max_suppression";
  r->n_tasks = 1;
  r->scratch_bytes = (32 + 32 + 16) * wk_rare_operand(r, 1)->dims[1];
}
