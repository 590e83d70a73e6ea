/* SPDX-License-Identifier: Apache-2.0
 * Tensors of a part from what its commands leave in the scratchpad: windows that are drawn, beside
 * one that goes byte by byte, and values whose elements are found by their definition (unit.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/observe.h"

enum { SCRATCHPAD = 512, TENSORS = 256, N = 8, FIRST = 3, PLACES = 4 };

static uint8_t scratchpad[SCRATCHPAD];
static wk_functional f = {.n = N, .scratchpad = scratchpad};
static wk_accel_window places[PLACES];
static uint32_t pitches[PLACES];
/* The part's commands begin at FIRST, its layers at 2; what lies before is another part's. */
static uint32_t results[FIRST + 8] = {2, 2, 2, 0, 1, 3, 4, 0};
static wk_accel_layer layers[2 + 2];
static wk_accel_value values[8];
static const wk_accel_part parts[] = {
    {.first_command = FIRST, .commands = 5, .first_layer = 2, .layers = 2, .tensor_bytes = TENSORS},
    {.first_command = 0, .commands = 3, .layers = 2, .tensor_bytes = TENSORS / 2},
    {.tensor_bytes = 0}};
static const wk_accel_unit unit = {.machine.array = N, .results = results, .places = places,
                                   .layers = layers, .values = values, .parts = parts,
                                   .n_parts = 2};
static const wk_accel_unit pitched = {.machine.array = N, .results = results, .places = places,
                                      .pitches = pitches, .parts = parts, .n_parts = 2};

static void fill(wk_rng *rng) {
  for (int i = 0; i < SCRATCHPAD; i++) scratchpad[i] = (uint8_t)wk_rng_range(rng, 1, 255);
}

static void must(wk_status s) {
  if (s) fail_msg("%s", s->message);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Byte by byte, as unit.h says. */
static void keep_slowly(const wk_accel_window *w, uint64_t pitch, uint64_t at, uint64_t n,
                        uint8_t *want) {
  uint64_t plane = (uint64_t)w->rows * w->row;
  if (at < w->scratchpad) return; /* of something else: writes are not cut in front */
  for (uint64_t i = at; i < at + n; i++) {
    uint64_t q = i - w->scratchpad;
    if (q < w->planes * plane)
      want[w->at + q / plane * w->plane + q % plane / w->row * pitch + q % w->row] = scratchpad[i];
  }
}

/* pitch: where one row follows the other, if that is not drawn. */
static wk_accel_window draw_window(wk_rng *rng, bool is_pitched, uint32_t *pitch) {
  wk_accel_window w = {.planes = (uint32_t)wk_rng_range(rng, 1, 4),
                       .rows = (uint32_t)wk_rng_range(rng, 1, 4),
                       .row = (uint32_t)wk_rng_range(rng, 1, 12)};
  *pitch = w.row + (is_pitched ? (uint32_t)wk_rng_range(rng, 0, 3) : 0);
  uint64_t plane = (uint64_t)w.rows * w.row, reach = (uint64_t)(w.rows - 1) * *pitch + w.row;
  w.plane = reach + (uint64_t)wk_rng_range(rng, 0, 6);
  w.at = (uint64_t)wk_rng_range(rng, 0, (int64_t)(TENSORS - (w.planes - 1) * w.plane - reach));
  w.scratchpad = (uint32_t)wk_rng_range(rng, 0, (int64_t)(SCRATCHPAD - w.planes * plane));
  return w;
}

static void windows_are_kept(void **state) {
  (void)state;
  wk_rng rng = {11};
  for (int k = 0; k < 400; k++) {
    wk_observation o = {0};
    uint8_t want[TENSORS] = {0};
    uint32_t command = (uint32_t)wk_rng_range(&rng, 0, 4);
    for (int i = 0; i < PLACES; i++) places[i] = draw_window(&rng, k % 2, &pitches[i]);
    must(wk_observe(&o, k % 2 ? &pitched : &unit, &parts[0], &f));
    assert_non_null(f.written);
    wk_observe_command(&o, command);
    static const int place_of[] = {-1, 0, 2, 3, -1};
    for (int i = 0; i < 6; i++) {
      fill(&rng); /* so that what was not written is seen */
      const wk_accel_window *w = &places[command % 4 ? place_of[command] : 0];
      uint64_t bytes = (uint64_t)w->planes * w->rows * w->row;
      uint64_t at = (uint64_t)wk_rng_range(&rng, w->scratchpad > 4 ? w->scratchpad - 4 : 0,
                                           (int64_t)(w->scratchpad + bytes - 1));
      uint64_t n = (uint64_t)wk_rng_range(&rng, 1, (int64_t)(2 * bytes));
      if (i == 3) at = w->scratchpad, n = bytes; /* all of it, and no more */
      if (at + n > SCRATCHPAD) n = SCRATCHPAD - at;
      if (place_of[command] >= 0) keep_slowly(w, pitches[w - places], at, n, want);
      f.written(f.context, at, n);
    }
    assert_memory_equal(o.tensors, want, TENSORS);
    wk_observe_end(&f);
    assert_true(!f.written && !f.context);
    wk_observation_free(&o);
    assert_true(!o.tensors && o.size == 0 && !o.unit);
  }
}

/* Every part begins with zeros, in memory that is large enough for it. */
static void parts_begin_anew(void **state) {
  (void)state;
  static const int order[] = {2, 1, 0, 1, 0, 2, 0};
  wk_observation o = {0};
  uint8_t zeros[TENSORS] = {0};
  memset(scratchpad, 7, sizeof scratchpad);
  for (int i = 0; i < PLACES; i++)
    places[i] = (wk_accel_window){.planes = 1, .rows = 1, .row = (uint32_t)(8 + i)};
  for (size_t i = 0; i < WK_COUNTOF(order); i++) {
    const wk_accel_part *p = &parts[order[i]];
    const uint8_t *before = o.size >= p->tensor_bytes ? o.tensors : NULL;
    must(wk_observe(&o, &unit, p, &f));
    assert_non_null(o.tensors);
    if (before) assert_ptr_equal(o.tensors, before);
    assert_true(o.size >= p->tensor_bytes);
    assert_memory_equal(o.tensors, zeros, p->tensor_bytes);
    f.written(f.context, 0, SCRATCHPAD); /* before the first command: it belongs to none */
    assert_memory_equal(o.tensors, zeros, p->tensor_bytes);
    if (p->commands) wk_observe_command(&o, 1);
    f.written(f.context, 0, SCRATCHPAD);
    if (p->commands)
      for (int b = 0; b < TENSORS / 2; b++)
        assert_int_equal(o.tensors[b], b < (p == &parts[0] ? 8 : 9) ? 7 : 0);
    wk_observe_end(&f);
  }
  wk_observation_free(&o);
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t place_of_element(const wk_accel_value *v, const int64_t *p, uint32_t rank) {
  uint64_t at = v->at;
  for (uint32_t k = 0; k < rank; k++) {
    uint64_t q = v->first + (uint64_t)p[k];
    if (k == v->lane) at += q / N * (uint64_t)v->strides[k] + q % N;
    else at += (uint64_t)(p[k] * v->strides[k]);
  }
  return at;
}

static void values_are_gathered(void **state) {
  (void)state;
  wk_rng rng = {12};
  wk_observation o = {0};
  int inside = 0, outside = 0;
  must(wk_observe(&o, &unit, &parts[0], &f));
  for (int i = 0; i < TENSORS; i++) o.tensors[i] = (uint8_t)(i * 7 + 1);
  layers[3] = (wk_accel_layer){.first_value = 5, .values = 3};
  for (int k = 0; k < 600; k++) {
    wick_tensor_info t = {.bits = 8, .rank = (uint32_t)wk_rng_range(&rng, 0, 3)};
    wk_accel_value *v = &values[5 + k % 3];
    uint8_t got[1024], want[1024];
    int64_t p[3] = {0};
    size_t n = 1, at = 0;
    bool fits = true;
    memset(got, 0, sizeof got);
    *v = (wk_accel_value){.at = (uint64_t)wk_rng_range(&rng, 0, 200),
                          .lane = k % 4 ? (uint32_t)wk_rng_range(&rng, 0, 2) : WK_ACCEL_NO_LANE,
                          .first = (uint32_t)wk_rng_range(&rng, 0, N - 1)};
    for (uint32_t i = 0; i < t.rank; i++) {
      t.dims[i] = wk_rng_range(&rng, 1, 10);
      v->strides[i] = wk_rng_range(&rng, 0, i ? 14 : 30);
      n *= (size_t)t.dims[i];
    }
    for (size_t i = 0; i < n; i++) {
      uint64_t place = place_of_element(v, p, t.rank);
      fits = fits && place < TENSORS;
      if (fits) want[at++] = o.tensors[place];
      for (int d = (int)t.rank - 1; d >= 0 && ++p[d] == t.dims[d]; d--) p[d] = 0;
    }
    wk_status s = wk_observed(&o, 1, (uint32_t)(k % 3), &t, got);
    assert_int_equal(!s, fits);
    if (s) {
      char message[100];
      snprintf(message, sizeof message, "section values: row %d lies outside of the part's tensors",
               5 + k % 3);
      assert_string_equal(s->message, message);
      wk_status_free(s);
    } else {
      assert_memory_equal(got, want, n);
      assert_int_equal(got[n], 0);
    }
    inside += fits, outside += !fits;
  }
  if (inside < 300 || outside < 60) fail_msg("%d lie inside, %d do not", inside, outside);
  wk_observation_free(&o);
}

static void values_that_are_none_are_refused(void **state) {
  (void)state;
  static const struct {
    uint32_t layer, number, bits;
    int good;
  } cases[] = {{0, 0, 8, 1}, {1, 2, 8, 1}, {2, 0, 8, 0}, {1, 3, 8, 0}, {0, 1, 8, 0}, {0, 0, 7, 0},
               {0, 0, 9, 0}, {0, 0, 16, 0}};
  wk_observation o = {0};
  uint8_t got[2] = {0};
  must(wk_observe(&o, &unit, &parts[0], &f));
  o.tensors[TENSORS - 1] = 55, o.tensors[3] = 66;
  layers[2] = (wk_accel_layer){.first_value = 1, .values = 1};
  layers[3] = (wk_accel_layer){.first_value = 4, .values = 3};
  values[1] = (wk_accel_value){.at = 3};
  values[6] = (wk_accel_value){.at = TENSORS - 1};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wick_tensor_info t = {.bits = cases[i].bits};
    wk_status s = wk_observed(&o, cases[i].layer, cases[i].number, &t, got);
    assert_int_equal(!s, cases[i].good);
    if (!s) assert_int_equal(got[0], cases[i].layer ? 55 : 66);
    else {
      char want[100];
      snprintf(want, sizeof want, "section layers: layer %u does not leave tensor %u",
               cases[i].layer, cases[i].number);
      assert_string_equal(s->message, want);
      assert_int_equal(s->code, WK_INPUT);
    }
    wk_status_free(s);
  }
  wk_observation_free(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_are_kept), cmocka_unit_test(parts_begin_anew),
      cmocka_unit_test(values_are_gathered), cmocka_unit_test(values_that_are_none_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
