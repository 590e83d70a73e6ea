/* SPDX-License-Identifier: Apache-2.0
 * Loops of segment_reduce: an output element goes through the rows of its segment, whose bounds are
 * data. The accumulators are the sum (or maximum) and how many rows counted. */
#include <string.h>

#include "compiler/cgen/inst_c_make.h"

enum { DATA, OFFSETS, INDICES, WEIGHTS, SCALE, BIAS };

typedef struct {
  const wk_loops *m;
  const wk_attr_segment_reduce *a;
  wk_segment_rows rows;
  wk_dtype sum; /* the accumulator's type */
  bool is_max;
  wk_expr_builder *b; /* of the step */
} segment;

static bool has(const segment *s, uint32_t k) {
  return k < wk_cgen_inputs(s->m) && wk_cgen_input(s->m, k)->buffer != WK_NONE;
}

/* One more read of the step, as an input of its expression of the accumulator's type. */
static uint16_t read(const segment *s, wk_inst_c_read r) {
  wk_inst_c *y = s->m->out;
  wk_dtype t = r.packed ? r.packed : s->m->i->operands[r.operand].dtype;
  y->step_reads[y->n_step] = r;
  return wk_expr_cast(s->b, s->sum, wk_expr_input(s->b, 2 + (int64_t)y->n_step++, t));
}

static wk_inst_c_read one(const segment *s, uint32_t k, const char *at) {
  return (wk_inst_c_read){.operand = s->m->i->n_out + k, .at = {at}};
}

/* Element i1 of a row of narrow ones: some bits of its byte. */
static uint16_t unpacked(const segment *s, const char *row) {
  wk_inst_c *y = s->m->out;
  int each = 8 / s->rows.bits;
  wk_inst_c_read r = one(s, DATA, row);
  r.at[1] = wk_arena_printf(s->m->a, "i1 / %d", each);
  y->step_reads[y->n_step] = r;
  uint16_t x = wk_expr_input(s->b, 2 + (int64_t)y->n_step++, WK_U8);
  x = wk_expr_cast(s->b, WK_I64, x);
  uint16_t place = wk_expr_2(s->b, WK_EX_MOD, wk_expr_index(s->b, 1),
                             wk_expr_i(s->b, WK_I64, each));
  place = wk_expr_2(s->b, WK_EX_MUL, place, wk_expr_i(s->b, WK_I64, s->rows.bits));
  x = wk_expr_2(s->b, WK_EX_SHR, x, place);
  x = wk_expr_2(s->b, WK_EX_AND, x, wk_expr_i(s->b, WK_I64, (1 << s->rows.bits) - 1));
  return wk_expr_cast(s->b, s->sum, x);
}

/* The element as a number. */
static uint16_t value(const segment *s, const char *row) {
  wk_inst_c_read r = one(s, DATA, row);
  r.at[1] = wk_inst_c_i[1];
  if (!s->rows.bits) {
    uint16_t x = read(s, r);
    if (has(s, SCALE)) x = wk_expr_2(s->b, WK_EX_MUL, x, read(s, one(s, SCALE, row)));
    if (has(s, BIAS)) x = wk_expr_2(s->b, WK_EX_ADD, x, read(s, one(s, BIAS, row)));
    return x;
  }
  uint16_t x = unpacked(s, row);
  int64_t behind = wk_cgen_input(s->m, DATA)->dims[1] - 2 * s->rows.tail;
  r.packed = s->rows.tail == 4 ? WK_F32 : WK_F16;
  r.at[1] = wk_arena_printf(s->m->a, "%lld", (long long)behind);
  x = wk_expr_2(s->b, WK_EX_MUL, x, read(s, r));
  r.at[1] = wk_arena_printf(s->m->a, "%lld", (long long)behind + s->rows.tail);
  return wk_expr_2(s->b, WK_EX_ADD, x, read(s, r));
}

static void make_step(segment *s, const char *row) {
  wk_inst_c *y = s->m->out;
  s->b = wk_expr_begin(s->m->a);
  y->step_reads = wk_cgen_reads(s->m, 4);
  uint16_t acc = wk_expr_input(s->b, 0, s->sum), x = value(s, row);
  uint16_t count = wk_expr_2(s->b, WK_EX_ADD, wk_expr_input(s->b, 1, WK_I64),
                             wk_expr_i(s->b, WK_I64, 1));
  if (has(s, WEIGHTS))
    x = wk_expr_2(s->b, WK_EX_MUL, read(s, one(s, WEIGHTS, wk_inst_c_k[0])), x);
  uint16_t next[] = {wk_expr_2(s->b, s->is_max ? WK_EX_MAX : WK_EX_ADD, acc, x), count};
  y->step = wk_expr_finish(s->b, next, 2);
}

static void make_end(const segment *s) {
  wk_expr_builder *b = wk_expr_begin(s->m->a);
  uint16_t y = wk_expr_input(b, 0, s->sum), count = wk_expr_input(b, 1, WK_I64);
  if (!strcmp(s->a->kind, "mean")) {
    uint16_t rows = wk_expr_2(b, WK_EX_MAX, count, wk_expr_i(b, WK_I64, 1));
    y = wk_expr_2(b, WK_EX_DIV, y, wk_expr_cast(b, s->sum, rows));
  }
  if (s->is_max) {
    uint16_t is_empty = wk_expr_2(b, WK_EX_EQ, count, wk_expr_i(b, WK_I64, 0));
    y = wk_expr_3(b, WK_EX_SELECT, is_empty, wk_expr_f(b, s->sum, s->a->empty), y);
  }
  s->m->out->end = wk_expr_done(b, wk_expr_cast(b, s->a->to, y));
}

static void make_begin(const segment *s) {
  wk_expr_builder *b = wk_expr_begin(s->m->a);
  wk_scalar neutral = wk_fold_neutral(s->is_max ? "max" : "sum", s->sum);
  uint16_t first[] = {wk_expr_f(b, s->sum, neutral.f), wk_expr_i(b, WK_I64, 0)};
  s->m->out->begin = wk_expr_finish(b, first, 2);
}

bool wk_cgen_segment_reduce(const wk_loops *m) {
  segment s = {.m = m, .a = m->i->attrs};
  wk_inst_c *y = m->out;
  wk_inst_c_read *range = wk_cgen_reads(m, 2);
  const char *row = wk_inst_c_k[0];
  s.rows = wk_segment_rows_of(s.a->rows);
  s.sum = wk_compute_dtype(s.a->to);
  s.is_max = !strcmp(s.a->kind, "max");
  range[0] = one(&s, OFFSETS, wk_inst_c_i[0]);
  range[1] = one(&s, OFFSETS, "i0 + 1");
  y->range = range;
  y->inner_rank = 1;
  y->inner_dims[0] = wk_cgen_input(m, has(&s, INDICES) ? INDICES : DATA)->dims[0];
  if (has(&s, INDICES)) {
    row = wk_inst_c_p[0];
    *wk_cgen_positions(m, 1) =
        (wk_inst_c_position){one(&s, INDICES, wk_inst_c_k[0]), wk_cgen_input(m, DATA)->dims[0]};
  }
  if (s.a->padding >= 0)
    y->counts = wk_arena_printf(m->a, "%s != %lld", row, (long long)s.a->padding);
  make_begin(&s);
  make_step(&s, row);
  make_end(&s);
  return true;
}
