/* SPDX-License-Identifier: Apache-2.0
 * What random streams find in memory: data, parameter records, tables of exponentials. */
#include <math.h>

#include "tests/random_stream_draw.h"

static void put(uint8_t *p, int bytes, int64_t v) {
  for (int i = 0; i < bytes; i++) p[i] = (uint8_t)((uint64_t)v >> (8 * i));
}

/* ---- records --------------------------------------------------------------------------------- */

/* Zero points of results are any number, those of operands bytes of their type, which the command
 * takes from them. */
static int64_t draw_zero(drawing *d, bool is_result) {
  if (stream_chance(d, 40)) return 0;
  if (is_result && stream_chance(d, 5)) return stream_int(d, -32768, 32767);
  return stream_chance(d, 50) ? stream_int(d, -128, 127) : stream_int(d, 0, 255);
}

static void put_zeros(drawing *d, uint8_t *p, int image) {
  d->za[image] = (int16_t)draw_zero(d, false);
  d->zb[image] = (int16_t)draw_zero(d, false);
  put(p + 18, 2, d->za[image]);
  put(p + 20, 2, d->zb[image]);
}

int64_t stream_type_of_zero(drawing *d, int64_t zero) {
  return zero < 0 ? 0 : zero > 127 ? 1 : stream_int(d, 0, 1);
}

static void put_range(drawing *d, uint8_t *low, uint8_t *high) {
  static const int16_t ranges[][2] = {
      {-128, 127}, {0, 255}, {-128, 127}, {0, 127}, {-32768, 32767}};
  const int16_t *r = ranges[stream_int(d, 0, 4)];
  int64_t lo = r[0], hi = r[1];
  if (stream_chance(d, 25)) {
    lo = stream_int(d, -128, 200);
    hi = stream_int(d, lo, 255);
  }
  put(low, 2, lo);
  put(high, 2, hi);
}

/* A factor of about 2^exponent after `shift`. */
static int64_t draw_factor(drawing *d, int bits, int64_t shift, int exponent) {
  int64_t top = shift + exponent < bits ? shift + exponent : bits;
  if (stream_chance(d, 10)) return stream_int(d, 0, (INT64_C(1) << bits) - 1);
  if (top < 1) return stream_int(d, 0, 1);
  return stream_int(d, INT64_C(1) << (top - 1), (INT64_C(1) << top) - 1);
}

static void draw_entry(drawing *d, uint8_t *p) {
  int64_t shift = stream_chance(d, 85) ? stream_int(d, 10, 26) : stream_int(d, 1, 62);
  int64_t bias = stream_int(d, -20000, 20000);
  if (stream_chance(d, 5)) bias = stream_chance(d, 50) ? INT32_MAX : INT32_MIN;
  if (stream_chance(d, 5)) bias = (int32_t)wk_rng_next(&d->rng);
  put(p, 4, bias);
  put(p + 4, 3, stream_chance(d, 3) ? 0 : draw_factor(d, 24, 40, 0));
  put(p + 7, 1, shift);
}

static void draw_softmax_entry(drawing *d, uint8_t *p) {
  put(p, 4, stream_int(d, INT64_C(1) << 30, INT32_MAX));
  put(p + 4, 3, 0);
  put(p + 7, 1, stream_chance(d, 80) ? stream_int(d, 21, 25) : stream_int(d, 1, 40));
}

/* v is below 2^62 for rows of up to 64 bytes, whatever e is. */
static void draw_norm(drawing *d, uint8_t *p) {
  int64_t most = INT64_C(1) << stream_int(d, 10, 24);
  put(p + 8, 8, stream_chance(d, 30) ? 1 : stream_int(d, 1, INT64_C(1) << stream_int(d, 1, 60)));
  put(p + 16, 1, stream_chance(d, 90) ? stream_int(d, 19, 45) : stream_int(d, 0, 62));
  for (int i = 0; i < STREAM_IMAGE_ENTRIES; i++) {
    uint8_t *e = p + WK_RECORD_BYTES + WK_ENTRY_BYTES * i;
    bool is_large = stream_chance(d, 5);
    put(e, 4, is_large ? (int32_t)wk_rng_next(&d->rng) : stream_int(d, -(20 << 16), 20 << 16));
    put(e + 4, 4, stream_chance(d, 10) ? most - 1 : stream_int(d, 1 - most, most - 1));
  }
}

static void draw_record(drawing *d, uint8_t *p, int image) {
  int64_t shift = stream_chance(d, 85) ? stream_int(d, 1, 24) : stream_int(d, 1, 62);
  bool is_wide = stream_image_is_wide(image);
  int64_t ma = draw_factor(d, is_wide ? 24 : 23, shift, is_wide ? 10 : 0);
  int64_t mb = draw_factor(d, 23, shift, 0);
  put(p, 2, draw_zero(d, true));
  put_range(d, p + 2, p + 4);
  put(p + 8, 4, !stream_image_is_mul(image) && stream_chance(d, 30) ? -ma : ma);
  put(p + 12, 4, stream_chance(d, 30) ? -mb : mb);
  put(p + 16, 1, shift);
  put(p + 17, 1, stream_int(d, 0, 1));
  put_zeros(d, p, image);
  put(p + 22, 2, draw_zero(d, true));
  put_range(d, p + 24, p + 26);
  for (int i = 0; i < STREAM_IMAGE_ENTRIES; i++)
    draw_entry(d, p + WK_RECORD_BYTES + WK_ENTRY_BYTES * i);
  if (stream_image_kind(image) == SLOT_SOFTMAX) draw_softmax_entry(d, p + WK_RECORD_BYTES);
  if (stream_image_kind(image) == SLOT_NORM) draw_norm(d, p);
}

enum { IMAGE_BYTES = WK_RECORD_BYTES + WK_ENTRY_BYTES * STREAM_IMAGE_ENTRIES };

int64_t stream_image_address(const drawing *d, int image) {
  return d->images + (int64_t)image * IMAGE_BYTES;
}

/* ---- data ------------------------------------------------------------------------------------ */

static void draw_exponentials(drawing *d, uint8_t *p) {
  double steep = (double)stream_int(d, 1, 300) / 1000;
  for (int i = 0; i < 256; i++) {
    int64_t e = (int64_t)(8388608 * exp(-i * steep));
    if (stream_chance(d, 2) && i) e = stream_int(d, 0, 16777215);
    for (int b = 0; b < 3; b++) p[256 * b + i] = (uint8_t)(e >> (8 * b));
  }
}

static void draw_data(drawing *d, uint8_t *p, int64_t bytes) {
  static const uint8_t corners[] = {0, 127, 128, 255};
  for (int64_t i = 0; i < bytes;) {
    int64_t end = i + stream_int(d, 1, 2000), style = stream_int(d, 0, 5);
    for (; i < end && i < bytes; i++) {
      uint8_t any = (uint8_t)wk_rng_next(&d->rng);
      p[i] = style == 0 ? corners[any & 3] : style == 1 ? (uint8_t)((any & 15) - 8) : any;
    }
  }
}

static wk_status add(drawing *d, wk_stream *s, const char *name, int64_t size, int64_t *end,
                     int64_t *address, uint8_t **data) {
  wk_image *image;
  *address = *end + stream_int(d, 0, 300);
  *end = *address + size;
  WK_TRY(wk_stream_region(s, name, (uint64_t)*address, (uint64_t)size, &image));
  return wk_region_fill(image, data);
}

wk_status stream_fill_memory(drawing *d, wk_stream *s) {
  uint8_t *data;
  int64_t end = 0;
  d->data_size = 16384;
  d->out_size = 32768;
  WK_TRY(add(d, s, "data", d->data_size, &end, &d->data, &data));
  draw_data(d, data, d->data_size);
  WK_TRY(add(d, s, "records", STREAM_IMAGES * IMAGE_BYTES, &end, &d->images, &data));
  for (int i = 0; i < STREAM_IMAGES; i++) draw_record(d, data + i * IMAGE_BYTES, i);
  WK_TRY(add(d, s, "exponentials", EXP_BYTES, &end, &d->exps, &data));
  draw_exponentials(d, data);
  WK_TRY(add(d, s, "out", d->out_size, &end, &d->out, &data));
  return add(d, s, "dump", d->arena_end - d->arena, &end, &d->dump, &data);
}
