/* SPDX-License-Identifier: Apache-2.0
 * Which rows and planes of tensors views have, and where their pixels lie in places that hold a
 * part of a tensor, against a loop over the pixels of views that are drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "targets/accel/compile/views.h"

enum { LANES = 8, ROUNDS = 4000 };

static int64_t draw(wk_rng *r, int64_t low, int64_t high) { return wk_rng_range(r, low, high); }

typedef struct {
  wk_accel_tensor tensor;
  wk_accel_net net;
  wk_accel_view view;
} subject;

static void draw_tensor(wk_rng *r, subject *s) {
  *s = (subject){.net = {.n = LANES}};
  wk_accel_tensor *t = &s->tensor;
  t->planes = draw(r, 1, 6), t->rows = draw(r, 1, 7), t->row = LANES * draw(r, 1, 6);
  t->bytes = t->planes * t->rows * t->row;
  s->net.tensors.data = t;
  s->net.tensors.n = 1;
}

/* A picture of some planes and rows, in steps; of one row at times, whatever its stride is. */
static void draw_picture(wk_rng *r, subject *s) {
  draw_tensor(r, s);
  const wk_accel_tensor *t = &s->tensor;
  int64_t plane = t->rows * t->row, first = draw(r, 0, t->rows - 1), step = draw(r, 1, 2);
  int64_t low = draw(r, 0, t->planes - 1), blocks = draw(r, 1, t->planes - low);
  int64_t column = draw(r, 0, t->row / LANES - 1), left = t->row / LANES - column;
  wk_accel_view *x = &s->view;
  x->h = draw(r, 1, (t->rows - 1 - first) / step + 1);
  x->w = draw(r, 1, left);
  x->sx = LANES, x->sy = step * t->row, x->sb = plane;
  x->first = (int)draw(r, 0, LANES - 1);
  x->c = blocks * LANES - x->first - draw(r, 0, LANES - 1 - x->first);
  int64_t most = (t->planes - low) / blocks;
  x->o = draw(r, 1, most), x->so = blocks * plane;
  x->offset = low * plane + first * t->row + column * LANES;
  if (x->h == 1 && draw(r, 0, 1)) x->sy = draw(r, 0, 3) * LANES;
}

/* Goes on by bytes that are no rows. */
static void draw_other(wk_rng *r, subject *s) {
  do draw_picture(r, s);
  while (s->tensor.rows * s->tensor.row == LANES || s->view.h < 2 || s->tensor.row == LANES);
  s->view.sy -= draw(r, 1, s->tensor.row / LANES - 1) * LANES;
}

static int64_t blocks_of(const wk_accel_view *x) { return (x->first + x->c + LANES - 1) / LANES; }

static int64_t address_of(const wk_accel_view *x, int64_t o, int64_t b, int64_t y, int64_t px) {
  return x->offset + o * x->so + b * x->sb + y * x->sy + px * x->sx;
}

static int64_t row_of(const subject *s, int64_t y) {
  return address_of(&s->view, 0, 0, y, 0) / s->tensor.row % s->tensor.rows;
}

/* As the scheduler sees a view. */
static wk_sched_view seen(const subject *s, const wk_accel_view *x) {
  return wk_accel_sched_view(&s->net, &(wk_accel_op){.out = *x}, -1);
}

static void rows_of(const subject *s, const wk_accel_view *x, int64_t y0, int64_t y1,
                    int64_t rows[2]) {
  const wk_sched_tensor t = wk_accel_sched_tensor(&s->tensor);
  const wk_sched_view v = seen(s, x);
  wk_sched_rows_of(&t, &v, y0, y1, rows);
}

static int64_t rows_below(const subject *s, const wk_accel_view *x, int64_t end) {
  const wk_sched_tensor t = wk_accel_sched_tensor(&s->tensor);
  const wk_sched_view v = seen(s, x);
  return wk_sched_rows_below(&t, &v, end);
}

static void needed_rows(const subject *s, const wk_accel_op *op, int operand, int64_t y0,
                        int64_t y1, int64_t rows[2]) {
  const wk_sched_tensor t = wk_accel_sched_tensor(&s->tensor);
  const wk_sched_view v = wk_accel_sched_view(&s->net, op, operand);
  wk_sched_needed_rows(&t, &v, (int64_t[]){0, 1}, y0, y1, rows);
}

/* Both as they are and as the scheduler sees them. */
static void planes_of(const subject *s, const wk_accel_view *x, int64_t planes[2]) {
  const wk_sched_view v = seen(s, x);
  wk_accel_planes_of(&s->net, x, planes);
  assert_memory_equal(v.planes, planes, sizeof v.planes);
}

/* ---- rows and planes ------------------------------------------------------------------------- */

static void rows_of_pictures(void **state) {
  wk_rng r = {1};
  (void)state;
  for (int i = 0; i < ROUNDS; i++) {
    subject s;
    draw_picture(&r, &s);
    const wk_accel_view *x = &s.view;
    int64_t y0 = draw(&r, 0, x->h - 1), y1 = draw(&r, y0 + 1, x->h), rows[2];
    rows_of(&s, x, y0, y1, rows);
    assert_int_equal(rows[0], row_of(&s, y0));
    assert_int_equal(rows[1], row_of(&s, y1 - 1) + 1);
    int64_t planes[2], plane = s.tensor.rows * s.tensor.row;
    planes_of(&s, x, planes);
    assert_int_equal(planes[0], x->offset / plane);
    assert_int_equal(planes[1],
                     address_of(x, x->o - 1, blocks_of(x) - 1, x->h - 1, x->w - 1) / plane + 1);
    for (int64_t end = 0; end <= s.tensor.rows; end++) {
      int64_t below = 0;
      while (below < x->h && row_of(&s, below) < end) below++;
      assert_int_equal(rows_below(&s, x, end), below);
    }
  }
}

/* Windows beside one another of an image, whose pixels are rows or not. */
static void draw_windows(wk_rng *r, subject *s) {
  *s = (subject){.net = {.n = LANES}};
  const int64_t windows = draw(r, 1, 4), w = draw(r, 1, 4), h = draw(r, 1, 4);
  const int64_t columns = windows * w + draw(r, 0, 2), above = draw(r, 0, 2);
  const int64_t rows = above + h + draw(r, 0, 2), planes = draw(r, 1, 3);
  const bool are_rows = draw(r, 0, 1);
  s->tensor = (wk_accel_tensor){.planes = planes, .rows = are_rows ? rows * columns : rows,
                                .row = LANES * (are_rows ? 1 : columns)};
  s->tensor.bytes = planes * rows * columns * LANES;
  s->net.tensors.data = &s->tensor;
  s->net.tensors.n = 1;
  s->view = (wk_accel_view){.offset = above * columns * LANES, .o = windows, .c = planes * LANES,
                            .h = h, .w = w, .so = w * LANES, .sb = rows * columns * LANES,
                            .sy = columns * LANES, .sx = LANES};
}

static void rows_of_stacks(void **state) {
  wk_rng r = {6};
  (void)state;
  for (int i = 0; i < ROUNDS; i++) {
    subject s;
    draw_windows(&r, &s);
    const wk_accel_view *x = &s.view;
    int64_t y0 = draw(&r, 0, x->h - 1), y1 = draw(&r, y0 + 1, x->h), rows[2], planes[2];
    rows_of(&s, x, y0, y1, rows);
    planes_of(&s, x, planes);
    assert_int_equal(rows[0], row_of(&s, y0));
    assert_int_equal(rows[1], address_of(x, x->o - 1, 0, y1 - 1, x->w - 1) / s.tensor.row + 1);
    assert_true(planes[0] == 0 && planes[1] == s.tensor.planes);
    assert_int_equal(wk_accel_stack_planes(&s.net, x), 0);
  }
}

/* Of what is no picture all rows are needed, and all are there or none. */
static void rows_of_others(void **state) {
  wk_rng r = {2};
  (void)state;
  for (int i = 0; i < ROUNDS / 4; i++) {
    subject s;
    draw_other(&r, &s);
    int64_t rows[2], planes[2];
    rows_of(&s, &s.view, 0, 1, rows);
    planes_of(&s, &s.view, planes);
    assert_int_equal(rows[0], 0);
    assert_int_equal(rows[1], s.tensor.rows);
    assert_int_equal(planes[0], 0);
    assert_int_equal(planes[1], s.tensor.planes);
    for (int64_t end = 0; end <= s.tensor.rows; end++)
      assert_int_equal(rows_below(&s, &s.view, end),
                       end < s.tensor.rows ? 0 : s.view.h);
  }
}

/* Tensors of 4 planes of 5 rows of 32 bytes; a plane has 160. */
static const struct {
  bool is_picture, is_by_rows;
  wk_accel_view view;
} views[] = {
#define VIEW(is, start, height, width, ...) \
  {is, is, {.offset = start, .o = 1, .c = 8, .h = height, .w = width, __VA_ARGS__}}
#define STACKS(is, by_rows, start, stacks, height, width, ...) \
  {is, by_rows, {.offset = start, .o = stacks, .c = 8, .h = height, .w = width, __VA_ARGS__}}
    /* all rows, all columns, and one more */
    VIEW(true, 0, 5, 4, .sb = 160, .sy = 32, .sx = 8),
    VIEW(false, 0, 6, 4, .sb = 160, .sy = 32, .sx = 8),
    VIEW(false, 0, 5, 5, .sb = 160, .sy = 32, .sx = 8),
    VIEW(true, 160, 5, 2, .sb = 160, .sy = 32, .sx = 16),
    VIEW(false, 160, 5, 3, .sb = 160, .sy = 32, .sx = 16),
    /* from a later row on, in steps of two rows */
    VIEW(true, 32, 4, 4, .sb = 160, .sy = 32, .sx = 8),
    VIEW(false, 32, 5, 4, .sb = 160, .sy = 32, .sx = 8),
    VIEW(true, 0, 3, 4, .sb = 160, .sy = 64, .sx = 8),
    VIEW(false, 32, 3, 4, .sb = 160, .sy = 64, .sx = 8),
    VIEW(true, 32 + 320, 2, 4, .sb = 160, .sy = 64, .sx = 8),
    /* steps that are no rows, or go back, where any pixel goes by them */
    VIEW(false, 0, 2, 4, .sb = 160, .sy = 40, .sx = 8),
    VIEW(true, 0, 1, 4, .sb = 160, .sy = 40, .sx = 8),
    VIEW(false, 64, 2, 4, .sb = 160, .sy = -32, .sx = 8),
    VIEW(true, 128, 1, 4, .sb = 160, .sy = -32, .sx = 8),
    VIEW(true, 128, 1, 4, .sb = 160, .sy = 320, .sx = 8),
    VIEW(true, 64, 5, 1, .sb = 160, .sy = 0, .sx = 8),
    /* planes */
    VIEW(false, 0, 5, 4, .sb = 168, .sy = 32, .sx = 8),
    VIEW(true, 0, 5, 4, .sb = 160, .so = 8, .sy = 32, .sx = 8),
    VIEW(true, 0, 5, 4, .sb = 320, .so = 160, .sy = 32, .sx = 8),
    /* pixels that are rows */
    VIEW(true, 0, 1, 5, .sb = 160, .sx = 32),
    VIEW(false, 0, 1, 6, .sb = 160, .sx = 32),
    VIEW(false, 0, 1, 4, .sb = 160, .sx = 40),
    VIEW(true, 0, 2, 2, .sb = 160, .sy = 64, .sx = 32),
    VIEW(true, 32, 2, 2, .sb = 160, .sy = 64, .sx = 32),
    VIEW(false, 64, 2, 2, .sb = 160, .sy = 64, .sx = 32),
    VIEW(false, 128, 1, 4, .sb = 160, .sx = -32),
    /* from a later pixel on, forwards or backwards */
    VIEW(true, 16, 5, 2, .sb = 160, .sy = 32, .sx = 8),
    VIEW(false, 16, 5, 3, .sb = 160, .sy = 32, .sx = 8),
    VIEW(true, 24, 5, 4, .sb = 160, .sy = 32, .sx = -8),
    VIEW(false, 16, 5, 4, .sb = 160, .sy = 32, .sx = -8),
    /* stacks beside or below one another */
    STACKS(true, true, 16, 2, 5, 1, .sb = 160, .so = 8, .sy = 32, .sx = 8),
    STACKS(false, false, 24, 2, 5, 1, .sb = 160, .so = 8, .sy = 32, .sx = 8),
    STACKS(true, true, 0, 2, 5, 2, .sb = 160, .so = 16, .sy = 32, .sx = 8),
    STACKS(false, false, 0, 2, 5, 3, .sb = 160, .so = 16, .sy = 32, .sx = 8),
    STACKS(true, true, 0, 5, 1, 4, .sb = 160, .so = 32, .sx = 8),
    STACKS(false, false, 0, 6, 1, 4, .sb = 160, .so = 32, .sx = 8),
    STACKS(true, true, 0, 2, 2, 4, .sb = 160, .so = 32, .sy = 64, .sx = 8),
    STACKS(false, false, 32, 2, 4, 4, .sb = 160, .so = -32, .sy = 32, .sx = 8),
    /* rows that begin before the one above has ended */
    STACKS(true, false, 0, 2, 2, 4, .sb = 160, .so = 64, .sy = 32, .sx = 8),
    STACKS(true, false, 0, 1, 2, 3, .sb = 160, .sy = 64, .sx = 32),
    STACKS(true, false, 0, 1, 3, 2, .sb = 160, .sy = 32, .sx = 32),
};

static void what_is_a_picture(void **state) {
  subject s = {.tensor = {.planes = 4, .rows = 5, .row = 32, .bytes = 640}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(views); i++)
    if (wk_accel_is_picture(&s.tensor, &views[i].view) != views[i].is_picture ||
        wk_accel_is_by_rows(&s.tensor, &views[i].view) != views[i].is_by_rows)
      fail_msg("view %zu", i);
}

/* Of those that go back from plane to plane all planes are needed. */
static void planes_that_go_back(void **state) {
  subject s = {.tensor = {.planes = 4, .rows = 5, .row = 32, .bytes = 640}};
  const wk_accel_view back = {.offset = 320, .o = 2, .c = 8, .h = 5, .w = 4, .so = -160,
                              .sb = 160, .sy = 32, .sx = 8};
  wk_accel_view blocks = back, still = back;
  int64_t planes[2];
  (void)state;
  s.net = (wk_accel_net){.n = LANES, .tensors = {.data = &s.tensor, .n = 1}};
  planes_of(&s, &back, planes);
  assert_true(planes[0] == 0 && planes[1] == 4);
  blocks.so = 160, blocks.sb = -160;
  planes_of(&s, &blocks, planes);
  assert_true(planes[0] == 0 && planes[1] == 4);
  still.so = still.sb = 0;
  planes_of(&s, &still, planes);
  assert_true(planes[0] == 2 && planes[1] == 3);
}

/* ---- windows --------------------------------------------------------------------------------- */

static void draw_window(wk_rng *r, wk_accel_op *op, const subject *s) {
  static const wk_accel_kind kinds[] = {WK_ACCEL_CONV, WK_ACCEL_DWC, WK_ACCEL_POOL};
  *op = (wk_accel_op){.kind = kinds[draw(r, 0, 2)], .a = s->view, .b = {.tensor = -1},
                      .ky = draw(r, 1, 3), .sy = draw(r, 1, 3), .dy = draw(r, 0, 2) ? 1 : 2,
                      .pad_t = draw(r, 0, 4)};
}

/* Rows [from, to) of the input, by the taps that are no padding; false: there are none. */
static bool looped_window(const wk_accel_op *op, int64_t y0, int64_t y1, int64_t *from,
                          int64_t *to) {
  *from = INT64_MAX, *to = 0;
  for (int64_t y = y0; y < y1; y++)
    for (int64_t k = 0; k < op->ky; k++) {
      int64_t at = y * op->sy + k * op->dy - op->pad_t;
      if (at < 0 || at >= op->a.h) continue;
      if (at < *from) *from = at;
      if (at + 1 > *to) *to = at + 1;
    }
  return *to > 0;
}

/* A window that goes over rows without a tap on them may have these as well; one of nothing but
 * padding has some row of the input. */
static void rows_of_windows(void **state) {
  wk_rng r = {3};
  int none = 0, same = 0;
  (void)state;
  for (int i = 0; i < ROUNDS; i++) {
    subject s;
    wk_accel_op op;
    int64_t from, to, rows[2];
    draw_picture(&r, &s);
    draw_window(&r, &op, &s);
    int64_t y0 = draw(&r, 0, 5), y1 = y0 + draw(&r, 1, 3);
    bool has_any = looped_window(&op, y0, y1, &from, &to);
    needed_rows(&s, &op, 0, y0, y1, rows);
    assert_true(rows[0] >= row_of(&s, 0) && rows[0] < rows[1]);
    assert_true(rows[1] <= row_of(&s, s.view.h - 1) + 1);
    bool is_even = op.dy == 1 && (op.sy <= op.ky || y1 == y0 + 1);
    none += is_even && !has_any, same += is_even && has_any;
    if (!has_any) {
      if (is_even) assert_int_equal(rows[1] - rows[0], 1);
      continue;
    }
    assert_true(rows[0] <= row_of(&s, from) && rows[1] > row_of(&s, to - 1));
    if (!is_even) continue;
    assert_int_equal(rows[0], row_of(&s, from));
    assert_int_equal(rows[1], row_of(&s, to - 1) + 1);
  }
  assert_in_range(none, ROUNDS / 20, ROUNDS);
  assert_in_range(same, ROUNDS / 20, ROUNDS);
}

/* Other operands: row by row, all of an image, all of a right matrix. */
static void rows_of_operands(void **state) {
  wk_rng r = {4};
  (void)state;
  for (int i = 0; i < ROUNDS / 4; i++) {
    subject s;
    int64_t rows[2], whole[2] = {0};
    draw_picture(&r, &s);
    whole[0] = row_of(&s, 0), whole[1] = row_of(&s, s.view.h - 1) + 1;
    int64_t y0 = draw(&r, 0, s.view.h - 1), y1 = draw(&r, y0 + 1, s.view.h);
    const int64_t own[2] = {row_of(&s, y0), row_of(&s, y1 - 1) + 1};
    for (int kind = WK_ACCEL_CONV; kind <= (int)WK_ACCEL_ROW; kind++)
      for (int flat = 0; flat < 2; flat++)
        for (int operand = 0; operand < 2; operand++) {
          bool is_window = kind == WK_ACCEL_CONV || kind == WK_ACCEL_DWC || kind == WK_ACCEL_POOL;
          bool is_whole = operand ? kind == WK_ACCEL_MM : flat;
          if (is_window && !operand && !flat) continue;
          const wk_accel_op op = {.kind = (wk_accel_kind)kind, .a = s.view, .b = s.view,
                                  .is_flat = flat, .ky = 9, .sy = 9, .dy = 9, .pad_t = 9};
          needed_rows(&s, &op, operand, y0, y1, rows);
          assert_memory_equal(rows, is_whole ? whole : own, sizeof rows);
        }
  }
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Pixels of a view in a place with all that it has, and rows, planes and columns around that. */
static void pixels_in_places(void **state) {
  wk_rng r = {5};
  (void)state;
  for (int i = 0; i < ROUNDS; i++) {
    subject s;
    int64_t rows[2], planes[2];
    (i % 4 ? draw_picture : draw_windows)(&r, &s);
    const wk_accel_view *x = &s.view;
    const wk_accel_tensor *t = &s.tensor;
    if (x->h == 1) s.view.sy = 0; /* which no pixel goes by */
    rows_of(&s, x, 0, x->h, rows);
    planes_of(&s, x, planes);
    int64_t columns[2];
    const wk_sched_tensor of = wk_accel_sched_tensor(t);
    const wk_sched_view v = seen(&s, x);
    wk_sched_columns_of(&of, &v, columns);
    wk_sched_place p = {.buffer = 7, .offset = draw(&r, 0, 3) * LANES,
                        .column = draw(&r, 0, columns[0] / LANES) * LANES,
                        .row = draw(&r, 0, rows[0]), .plane = draw(&r, 0, planes[0])};
    p.width = draw(&r, columns[1] / LANES, t->row / LANES) * LANES - p.column;
    p.pitch = p.width + draw(&r, 0, 2) * LANES;
    p.rows = draw(&r, rows[1], t->rows) - p.row;
    p.planes = draw(&r, planes[1], t->planes) - p.plane;
    p.lead = p.pitch > p.width ? LANES : 0;
    const wk_accel_spot y = wk_accel_spot_of(&s.net, x, &p);
    assert_int_equal(y.buffer, 7);
    for (int64_t o = 0; o < x->o; o++)
      for (int64_t b = 0; b < blocks_of(x); b++)
        for (int64_t h = 0; h < x->h; h++)
          for (int64_t w = 0; w < x->w; w++) {
            int64_t at = address_of(x, o, b, h, w), plane = at / (t->rows * t->row);
            int64_t row = at / t->row % t->rows, column = at % t->row;
            assert_in_range(column, columns[0], columns[1] - LANES);
            assert_int_equal(y.offset + o * y.so + b * y.sb + h * y.sy + w * y.sx,
                             p.offset + (plane - p.plane) * p.rows * p.pitch +
                                 (row - p.row) * p.pitch + p.lead + column - p.column);
          }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_pictures), cmocka_unit_test(rows_of_stacks),
      cmocka_unit_test(rows_of_others),
      cmocka_unit_test(what_is_a_picture), cmocka_unit_test(planes_that_go_back),
      cmocka_unit_test(rows_of_windows), cmocka_unit_test(rows_of_operands),
      cmocka_unit_test(pixels_in_places)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
