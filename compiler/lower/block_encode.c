/* SPDX-License-Identifier: Apache-2.0
 * Floats as whole numbers in blocks with a scale each (blocks.h). Signed elements reach one further
 * below zero than above: the scale has the sign that puts the largest float there. With how many
 * steps it is there is tried, since what is cut off of one element may be won by the others. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "compiler/lower/blocks.h"

#define LANES 16 /* blocks that are encoded side by side */

/* Steps from zero to the largest float of a block. */
static const float steps_4[] = {8, 7.5f, 8.5f, 7, 9};
static const float steps_8[] = {128};

typedef struct {
  float x[LANES];
} lanes;

typedef struct {
  const wk_block_floats *from;
  const wk_blocks *w;
  const float *steps;
  int n_steps;
  float least, most; /* elements, as signed numbers */
  lanes *x;          /* a block of each lane */
  lanes scale;
  bool is_finite;
} encoder;

static float load(const wk_block_floats *from, int64_t n, int64_t k) {
  int64_t at = n * from->step_n + k * from->step_k;
  if (from->dtype == WK_F32) return ((const float *)from->data)[at];
  return (float)wk_load_f64(from->data, from->dtype, at);
}

/* Block `at` of LANES columns from n on; zeros where there is none. */
static void load_lanes(encoder *e, int64_t n, int64_t at) {
  const wk_blocks *w = e->w;
  int64_t columns = w->n - n < LANES ? w->n - n : LANES;
  for (int64_t i = 0; i < w->block; i++)
    for (int64_t j = 0; j < LANES; j++) {
      int64_t k = at * w->block + i;
      e->x[i].x[j] = k < w->k && j < columns ? load(e->from, n + j, k) : 0;
    }
}

/* What is stored of it is finite in its type, and so are the squares of what it loses. */
static float bound_of(const wk_block_floats *from) { return from->dtype == WK_F16 ? 6e4f : 1e18f; }

/* The float of each lane that is furthest from zero; the first one of several. */
static lanes largest(encoder *e) {
  const float bound = bound_of(e->from);
  lanes most = {{0}};
  for (int64_t i = 0; i < e->w->block; i++)
    for (int j = 0; j < LANES; j++) {
      float x = e->x[i].x[j];
      e->is_finite = e->is_finite && fabsf(x) <= bound;
      most.x[j] = fabsf(x) > fabsf(most.x[j]) ? x : most.x[j];
    }
  return most;
}

/* To nearest, ties to even. */
static float rounded(const encoder *e, float x) {
  const float unit = 0x1.8p23f; /* sums with it have no fraction */
  x = x < e->least ? e->least : x > e->most ? e->most : x;
  return x + unit - unit;
}

/* 0 where the scale is too small to be divided by: all is zero then. */
static float inverse(float scale) { return fabsf(scale) < FLT_MIN ? 0 : 1 / scale; }

static lanes errors(const encoder *e, const lanes *scale) {
  lanes sum = {{0}}, by;
  for (int j = 0; j < LANES; j++) by.x[j] = inverse(scale->x[j]);
  for (int64_t i = 0; i < e->w->block; i++)
    for (int j = 0; j < LANES; j++) {
      float x = e->x[i].x[j], d = rounded(e, x * by.x[j]) * scale->x[j] - x;
      sum.x[j] += d * d;
    }
  return sum;
}

/* Tries all steps: the first with the least error. */
static void choose_scales(encoder *e, wk_block_error *sums, int64_t columns) {
  lanes most = largest(e), least = {{0}};
  for (int t = 0; t < e->n_steps; t++) {
    lanes scale, error;
    for (int j = 0; j < LANES; j++)
      scale.x[j] = wk_bf16_to_f32(wk_f32_to_bf16(-most.x[j] / e->steps[t]));
    error = errors(e, &scale);
    for (int j = 0; j < LANES; j++) {
      if (t > 0 && !(error.x[j] < least.x[j])) continue;
      least.x[j] = error.x[j];
      e->scale.x[j] = scale.x[j];
    }
  }
  for (int64_t j = 0; j < columns; j++) sums->error += (double)least.x[j];
  for (int64_t i = 0; i < e->w->block; i++)
    for (int64_t j = 0; j < columns; j++)
      sums->all += (double)e->x[i].x[j] * (double)e->x[i].x[j];
}

/* Words and scales of block `at` of column n + j, which is lane j. */
static void write_lane(const encoder *e, int64_t n, int64_t at, int j, uint32_t *words,
                       uint16_t *scales) {
  const wk_blocks *w = e->w;
  int64_t tile = (n + j) / w->columns, column = (n + j) % w->columns;
  int64_t per = wk_block_per(w->bits), count = w->block / per;
  int64_t block = tile * wk_block_count(w) + at;
  float by = inverse(e->scale.x[j]);
  scales[block * w->columns + column] = by != 0 ? wk_f32_to_bf16(e->scale.x[j]) : 0;
  for (int64_t i = 0; i < count; i++) {
    uint32_t word = 0;
    for (int64_t k = 0; k < per; k++) {
      int32_t element = (int32_t)(rounded(e, e->x[i * per + k].x[j] * by) - e->least);
      word |= (uint32_t)element << (k * w->bits);
    }
    words[(block * count + i) * w->columns + column] = word;
  }
}

bool wk_block_encode(const wk_block_floats *from, const wk_blocks *w, void *words, uint16_t *scales,
                     wk_block_error *sums) {
  encoder e = {.from = from, .w = w, .steps = w->bits == 4 ? steps_4 : steps_8,
               .n_steps = w->bits == 4 ? WK_COUNTOF(steps_4) : WK_COUNTOF(steps_8),
               .least = -(float)(1 << (w->bits - 1)), .is_finite = true};
  e.most = -e.least - 1;
  e.x = wk_xcalloc((size_t)w->block, sizeof *e.x);
  for (int64_t n = 0; n < w->n && e.is_finite; n += LANES)
    for (int64_t at = 0; at < wk_block_count(w) && e.is_finite; at++) {
      int64_t columns = w->n - n < LANES ? w->n - n : LANES;
      load_lanes(&e, n, at);
      choose_scales(&e, sums, columns);
      for (int j = 0; j < columns; j++) write_lane(&e, n, at, j, words, scales);
    }
  free(e.x);
  return e.is_finite;
}
