/* SPDX-License-Identifier: Apache-2.0
 * The text of tiles in work-groups. A step brings `depth` words of each row of a and of each column
 * of b into one of two buffers in local memory, [k][row] and [k][column] (for matrix units as
 * tile_matrix.c has it), while the step before is multiplied from the other: what is loaded lies in
 * registers until then. */
#include "compiler/cgen/expr_c.h"
#include "targets/opencl/lanes.h"
#include "targets/opencl/tile.h"

enum { FOUR = 4 };

/* How operands are read: fours of neighbours along k, which go to rows of local memory; or
 * neighbouring items read neighbouring rows (columns), an element (fours of columns) each. */
static bool a_is_along_k(const wk_cl_tile *t) { return !t->element && t->a_step == 1; }
static bool b_is_along_k(const wk_cl_tile *t) {
  return !t->is_packed && t->b_row == 1 && t->b_column != 1;
}

/* Words from k to k in local memory: fours that become columns there would meet in few banks. */
static int a_pitch(const wk_cl_tile *t) { return t->form->rows + (a_is_along_k(t) ? FOUR : 0); }
static int b_pitch(const wk_cl_tile *t) { return t->form->columns + (b_is_along_k(t) ? FOUR : 0); }

/* Along k: rows (columns) that all items bring at once, of `side`. */
static int at_once(const wk_cl_tile *t) { return t->form->items * FOUR / t->form->depth; }
/* What an item brings in a step: fours, or elements. */
static int a_loads(const wk_cl_tile *t) {
  const wk_cl_gpu_form *f = t->form;
  return f->rows * f->depth / f->items / (a_is_along_k(t) ? FOUR : 1);
}
static int b_loads(const wk_cl_tile *t) {
  const wk_cl_gpu_form *f = t->form;
  return f->columns * f->depth / f->items / FOUR;
}

int wk_cl_tile_gpu_pointers(const wk_cl_tile *t) { return a_is_along_k(t) ? a_loads(t) : 1; }

const char *wk_cl_tile_sum_type(const wk_cl_tile *t) { return t->sum == WK_F32 ? "float" : "uint"; }
const char *wk_cl_tile_word(const wk_cl_tile *t) {
  return t->sum == WK_F32 && wk_cl_tile_unit(t) == 1 ? "float" : "uint";
}

/* ---- begin ----------------------------------------------------------------------------------- */

static void add_parts(wk_cl_tile *t) {
  int64_t rows = t->batch * t->m_rows;
  uint32_t at = wk_cl_add_parts(t->k, wk_cl_tile_parts_bytes(t, t->size.split));
  wk_str_printf(t->x.b, "__global %s *parts = (__global %s *)(g%u + o%u) + (part * %lldl + z * "
                "%lldl + m0) * %lldl + n0;\n", wk_cl_tile_sum_type(t), wk_cl_tile_sum_type(t), at,
                at,
                (long long)rows, (long long)t->m_rows, (long long)wk_cl_tile_parts_pitch(t));
}

/* Groups of neighbouring numbers have the same rows of a. */
static void add_group(wk_cl_tile *t) {
  int64_t panels = wk_cl_tile_panels(t), tiles = wk_ceil_div(t->m_rows, t->form->rows);
  t->k->local[0] = (uint32_t)t->form->items;
  t->k->local_bytes = wk_cl_gpu_local_bytes(t->form);
  t->k->global[0] = (uint64_t)(t->batch * t->size.split * panels * tiles) * t->k->local[0];
  wk_str_printf(t->x.b, "const int item = get_local_id(0), g = get_group_id(0);\n"
                "const long z = g / %lld;\n", (long long)(panels * tiles * t->size.split));
  wk_str_printf(t->x.b, "const long m0 = g / %lld %% %lld * %d, n0 = g %% %lld * %d;\n",
                (long long)panels, (long long)tiles, t->form->rows, (long long)panels,
                t->form->columns);
  if (t->size.split == 1) return;
  wk_str_printf(t->x.b, "const int part = g / %lld %% %d;\n", (long long)(panels * tiles),
                t->size.split);
  add_parts(t);
}

void wk_cl_tile_gpu_begin(wk_cl_tile *t) {
  const wk_cl_gpu_form *f = t->form;
  wk_str *b = t->x.b;
  const char *word = wk_cl_tile_word(t);
  if (f->sharing != WK_CL_ITEMS) {
    add_group(t);
    if (wk_cl_tile_is_few(t)) wk_cl_tile_few_begin(t);
    else wk_cl_matrix_begin(t);
    return;
  }
  int a = f->depth * a_pitch(t) / FOUR, w = f->depth * b_pitch(t) / FOUR, across;
  wk_str_printf(b, "__local %s4 la[%d], lb[%d];\n", word, 2 * a, 2 * w);
  add_group(t);
  across = f->columns / f->own_columns;
  wk_str_printf(b, "const int tx = item %% %d, ty = item / %d;\n", across, across);
}

const char *wk_cl_tile_gpu_row_of(const wk_cl_tile *t, int pointer) {
  if (wk_cl_tile_is_few(t)) return wk_cl_tile_few_row_of(t, pointer);
  const wk_cl_gpu_form *f = t->form;
  const char *row =
      a_is_along_k(t)
          ? wk_arena_printf(t->m->a, "item / %d + %d", f->depth / FOUR, pointer * at_once(t))
          : wk_arena_printf(t->m->a, "item %% %d", f->rows);
  row = wk_arena_printf(t->m->a, "min(m0 + %s, (long)%s - 1)", row, wk_cl_tile_rows(t));
  if (t->live_rows) row = wk_arena_printf(t->m->a, "max(%s, 0l)", row); /* there may be none */
  return wk_cl_tile_listed(t, row);
}

void wk_cl_tile_gpu_sums(const wk_cl_tile *t) {
  const wk_cl_gpu_form *f = t->form;
  if (wk_cl_tile_is_few(t)) {
    wk_cl_tile_few_sums(t);
    return;
  }
  bool is_matrix = wk_cl_tile_is_matrix(t);
  for (int r = 0; r < f->own_rows / (is_matrix ? WK_CL_MATRIX_ROWS : 1); r++)
    for (int v = 0; v < f->own_columns / (is_matrix ? WK_CL_MATRIX_COLUMNS : FOUR); v++)
      wk_str_printf(t->x.b, "%s4 c%d_%d = 0;\n", wk_cl_tile_sum_type(t), r, v);
}

/* ---- loads ----------------------------------------------------------------------------------- */

/* Where several elements are a word. */
static const char *packed_fours(const wk_cl_tile *t, int run, const char *pointer, const char *at) {
  wk_arena *a = t->m->a;
  int unit = wk_cl_tile_unit(t);
  if (run >= FOUR * unit)
    return wk_arena_printf(a, "*(__global const uint4 *)(%s + %s)", pointer, at);
  if (run >= unit)
    return wk_arena_printf(a, "vload4(0, (__global const uint *)(%s + %s))", pointer, at);
  return unit == WK_CL_DOT
             ? wk_arena_printf(a, "as_uint4(vload16(0, %s + %s))", pointer, at)
             : wk_arena_printf(a, "as_uint4(vload8(0, (__global const ushort *)(%s + %s)))",
                               pointer, at);
}

static const char *packed_one(const wk_cl_tile *t, int run, const char *pointer, const char *at) {
  wk_arena *a = t->m->a;
  if (run >= wk_cl_tile_unit(t))
    return wk_arena_printf(a, "((__global const uint *)%s)[%s]", pointer, at);
  return wk_cl_tile_unit(t) == WK_CL_DOT
             ? wk_arena_printf(a, "as_uint(vload4(%s, %s))", at, pointer)
             : wk_arena_printf(a, "as_uint(vload2(%s, (__global const ushort *)%s))", at, pointer);
}

const char *wk_cl_tile_fours(const wk_cl_tile *t, wk_dtype of, int run, const char *pointer,
                             const char *at) {
  wk_arena *a = t->m->a;
  bool is_aligned = run >= FOUR;
  if (wk_cl_tile_unit(t) > 1) return packed_fours(t, run, pointer, at);
  if (of == WK_F16)
    return wk_arena_printf(a, "vload%s_half4(0, %s + %s)", is_aligned ? "a" : "", pointer, at);
  const char *type = wk_cl_tile_type(of);
  const char *v = is_aligned
                      ? wk_arena_printf(a, "*(__global const %s4 *)(%s + %s)", type, pointer, at)
                      : wk_arena_printf(a, "vload4(0, %s + %s)", pointer, at);
  if (of == WK_F32) return v;
  if (of == WK_BF16) return wk_arena_printf(a, "as_float4(convert_uint4(%s) << 16)", v);
  return wk_arena_printf(a, "as_uint4(convert_int4(%s))", v);
}

const char *wk_cl_tile_one(const wk_cl_tile *t, wk_dtype of, int run, const char *pointer,
                           const char *at) {
  if (wk_cl_tile_unit(t) > 1) return packed_one(t, run, pointer, at);
  return t->sum == WK_F32 ? wk_cl_tile_scalar(t->m->a, of, pointer, at)
                          : wk_arena_printf(t->m->a, "(uint)%s",
                                            wk_cl_tile_scalar(t->m->a, of, pointer, at));
}

/* "condition ? ": the words from k0 + `at` on, n of them, are in the sum; "": all always are. */
static const char *within(const wk_cl_tile *t, const char *at, int n) {
  int64_t words = wk_cl_tile_words(t);
  if (words % t->form->depth == 0) return "";
  return wk_arena_printf(t->m->a, "k0 + %s + %d <= %lld ? ", at, n, (long long)words);
}

static const char *zero(const wk_cl_tile *t, int n) {
  if (n == 1) return "0";
  return wk_arena_printf(t->m->a, "(%s4)(0)", wk_cl_tile_word(t));
}

/* The four words at k of pointer p<r> into x. */
static void load_along_k(const wk_cl_tile *t, wk_dtype of, int run, const char *pointer,
                         const char *into, const char *also) {
  wk_str *b = t->x.b;
  bool is_whole = wk_cl_tile_words(t) % FOUR == 0;
  const char *at = wk_arena_printf(t->m->a, "(k0 + lk) * %d", wk_cl_tile_unit(t));
  if (is_whole) {
    wk_str_printf(b, "%s = %s%s%s", into, also, within(t, "lk", FOUR),
                  wk_cl_tile_fours(t, of, run, pointer, at));
    if (*within(t, "lk", FOUR)) wk_str_printf(b, " : %s", zero(t, FOUR));
    return;
  }
  wk_str_printf(b, "%s = %s(%s4)(", into, also, wk_cl_tile_word(t));
  for (int e = 0; e < FOUR; e++) {
    at = wk_arena_printf(t->m->a, "k0 + lk + %d", e);
    wk_str_printf(b, "%s%s%s : 0", e ? ", " : "",
                  within(t, wk_arena_printf(t->m->a, "lk + %d", e), 1),
                  wk_cl_tile_one(t, of, run, pointer, at));
  }
  wk_str_add(b, ")");
}

static void load_a(const wk_cl_tile *t) {
  wk_str *b = t->x.b;
  int gap = t->form->items / t->form->rows;
  for (int r = 0; r < a_loads(t); r++) {
    const char *into = wk_arena_printf(t->m->a, "ra%d", r);
    int own = a_is_along_k(t) ? r : 0;
    const char *also = t->outside && !t->element ? wk_arena_printf(t->m->a, "ok%d ? ", own) : "";
    if (a_is_along_k(t)) {
      if (*also) also = wk_arena_printf(t->m->a, "!ok%d ? (%s4)(%s) : ", own, wk_cl_tile_word(t),
                                        t->outside);
      load_along_k(t, t->a, t->a_run, wk_arena_printf(t->m->a, "p%d", r), into, also);
      wk_str_add(b, ";\n");
      continue;
    }
    const char *k = wk_arena_printf(t->m->a, "ka + %d", r * gap), *at;
    if (t->element) {
      wk_str_printf(b, "%s = %s;\n", into,
                    t->element(t->element_ctx, wk_arena_printf(t->m->a, "k0 + %s", k)));
      continue;
    }
    at = wk_arena_printf(t->m->a, "(k0 + %s) * %lld%s", k, (long long)t->a_step,
                         t->depth * wk_cl_magnitude(t->a_step) >> 31 ? "l" : "");
    if (*also) also = wk_arena_printf(t->m->a, "!ok0 ? %s : ", t->outside);
    wk_str_printf(b, "%s = %s%s%s", into, also, within(t, k, 1),
                  wk_cl_tile_one(t, t->a, t->a_run, "p0", at));
    wk_str_add(b, *within(t, k, 1) ? " : 0;\n" : ";\n");
  }
}

/* Fours of columns, neighbours or not; zero where there are none. */
static void load_columns(const wk_cl_tile *t, int r) {
  wk_str *b = t->x.b;
  const wk_cl_gpu_form *f = t->form;
  wk_str_printf(b, "{ const int e = item + %d, k = e / %d, j = e %% %d * 4;\n", r * f->items,
                f->columns / FOUR, f->columns / FOUR);
  const char *k = within(t, "k", 1);
  const char *row = wk_arena_printf(t->m->a, "(k0 + k) * %lld%s", (long long)t->b_row,
                                    t->depth * wk_cl_magnitude(t->b_row) >> 31 ? "l" : "");
  bool is_whole = t->columns % FOUR == 0 && t->b_column == 1;
  if (is_whole) {
    const char *inside =
        t->columns % f->columns
            ? wk_arena_printf(t->m->a, "n0 + j < %lld ? ", (long long)t->columns) : "";
    wk_str_printf(b, "rb%d = %s%s%s", r, k, inside,
                  wk_cl_tile_fours(t, t->b, t->b_run, "w",
                                   wk_arena_printf(t->m->a, "%s + j", row)));
    for (int n = !!*k + !!*inside; n; n--) wk_str_printf(b, " : %s", zero(t, FOUR));
  } else {
    wk_str_printf(b, "rb%d = (%s4)(", r, wk_cl_tile_word(t));
    for (int e = 0; e < FOUR; e++) {
      const char *at = wk_arena_printf(t->m->a, "%s + (j + %d) * %lldl", row, e,
                                       (long long)t->b_column);
      wk_str_printf(b, "%s%sn0 + j + %d < %lld ? %s : 0%s", e ? ",\n" : "", k, e,
                    (long long)t->columns, wk_cl_tile_one(t, t->b, t->b_run, "w", at),
                    *k ? " : 0" : "");
    }
    wk_str_add(b, ")");
  }
  wk_str_add(b, ";\n}\n");
}

static void load_b(const wk_cl_tile *t) {
  wk_str *b = t->x.b;
  for (int r = 0; r < b_loads(t); r++) {
    if (t->is_packed) {
      const char *at = wk_arena_printf(t->m->a, "(item + %d) * %d", r * t->form->items,
                                       FOUR * wk_cl_tile_unit(t));
      wk_str_printf(b, "rb%d = %s;\n", r, wk_cl_tile_fours(t, t->b, WK_CL_WHOLE, "w", at));
    } else if (b_is_along_k(t)) {
      load_along_k(t, t->b, t->b_run, wk_arena_printf(t->m->a, "w%d", r),
                   wk_arena_printf(t->m->a, "rb%d", r), "");
      wk_str_add(b, ";\n");
    } else if (wk_cl_tile_is_matrix(t)) {
      wk_cl_matrix_load_columns(t, r);
    } else {
      load_columns(t, r);
    }
  }
}

/* ---- local memory ---------------------------------------------------------------------------- */

/* Fours along k of one row. */
static void store_along_k(const wk_cl_tile *t, const char *to, const char *from, int pitch, int r) {
  for (int e = 0; e < FOUR; e++)
    wk_str_printf(t->x.b, "%s[(lk + %d) * %d + lr + %d] = %s%d.s%d;\n", to, e, pitch,
                  r * at_once(t), from, r, e);
}

static void store(const wk_cl_tile *t) {
  wk_str *b = t->x.b;
  const wk_cl_gpu_form *f = t->form;
  const char *word = wk_cl_tile_word(t);
  int a = f->depth * a_pitch(t) / FOUR, w = f->depth * b_pitch(t) / FOUR;
  if (wk_cl_tile_is_matrix(t)) {
    wk_cl_matrix_store(t, a_loads(t), b_loads(t), !t->is_packed && !b_is_along_k(t));
    return;
  }
  wk_str_printf(b, "__local %s *const to_a = (__local %s *)(la + (s & 1) * %d);\n", word, word, a);
  for (int r = 0; r < a_loads(t); r++)
    if (a_is_along_k(t)) store_along_k(t, "to_a", "ra", a_pitch(t), r);
    else wk_str_printf(b, "to_a[item + %d] = ra%d;\n", r * f->items, r);
  if (b_is_along_k(t)) {
    wk_str_printf(b, "__local %s *const to_b = (__local %s *)(lb + (s & 1) * %d);\n", word, word,
                  w);
    for (int r = 0; r < b_loads(t); r++) store_along_k(t, "to_b", "rb", b_pitch(t), r);
    return;
  }
  for (int r = 0; r < b_loads(t); r++)
    wk_str_printf(b, "lb[(s & 1) * %d + item + %d] = rb%d;\n", w, r * f->items, r);
}

/* ---- products -------------------------------------------------------------------------------- */

const char *wk_cl_tile_multiplied(const wk_cl_tile *t, const char *x, const char *y,
                                  const char *sum) {
  wk_arena *a = t->m->a;
  if (t->sum == WK_F32) return wk_arena_printf(a, "fma((float4)(%s), %s, %s)", x, y, sum);
  if (!t->is_dots) return wk_arena_printf(a, "(uint4)(%s) * %s + %s", x, y, sum);
  const char *name = wk_arena_printf(a, "wk_dot_%c%c", t->a == WK_I8 ? 's' : 'u',
                                     t->b == WK_I8 ? 's' : 'u');
  return wk_arena_printf(a, "(uint4)(%s(%s, %s.s0, %s.s0), %s(%s, %s.s1, %s.s1), "
                         "%s(%s, %s.s2, %s.s2), %s(%s, %s.s3, %s.s3))", name, x, y, sum, name, x, y,
                         sum, name, x, y, sum, name, x, y, sum);
}

/* From the buffer of the step before. */
static void multiply(const wk_cl_tile *t) {
  wk_str *b = t->x.b;
  const wk_cl_gpu_form *f = t->form;
  const char *word = wk_cl_tile_word(t);
  int a = a_pitch(t) / FOUR, w = b_pitch(t) / FOUR;
  if (wk_cl_tile_is_matrix(t)) {
    wk_cl_matrix_multiply(t);
    return;
  }
  wk_str_printf(b, "__local const %s4 *const xa = la + (~s & 1) * %d + ty;\n", word, f->depth * a);
  wk_str_printf(b, "__local const %s4 *const xb = lb + (~s & 1) * %d + tx;\n", word, f->depth * w);
  wk_str_printf(b, "WK_UNROLL for (int k = 0; k < %d; k++) {\n", f->depth);
  for (int r = 0; r < f->own_rows / FOUR; r++)
    wk_str_printf(b, "const %s4 x%d = xa[k * %d + %d];\n", word, r, a,
                  r * f->rows / 2 / FOUR);
  for (int v = 0; v < f->own_columns / FOUR; v++)
    wk_str_printf(b, "const %s4 y%d = xb[k * %d + %d];\n", word, v, w,
                  v * f->columns / 2 / FOUR);
  for (int r = 0; r < f->own_rows; r++)
    for (int v = 0; v < f->own_columns / FOUR; v++) {
      const char *sum = wk_arena_printf(t->m->a, "c%d_%d", r, v);
      const char *x = wk_arena_printf(t->m->a, "x%d.s%d", r / FOUR, r % FOUR);
      const char *y = wk_arena_printf(t->m->a, "y%d", v);
      wk_str_printf(b, "%s = %s;\n", sum, wk_cl_tile_multiplied(t, x, y, sum));
    }
  wk_str_add(b, "}\n");
}

/* Words that are on their way. */
static void declare(const wk_cl_tile *t) {
  wk_str *b = t->x.b;
  const wk_cl_gpu_form *f = t->form;
  const char *word = wk_cl_tile_word(t);
  for (int r = 0; r < a_loads(t); r++)
    wk_str_printf(b, "%s%s ra%d = 0;\n", word, a_is_along_k(t) ? "4" : "", r);
  for (int r = 0; r < b_loads(t); r++) wk_str_printf(b, "%s4 rb%d = 0;\n", word, r);
  if (a_is_along_k(t) || b_is_along_k(t))
    wk_str_printf(b, "const int lr = item / %d, lk = item %% %d * 4;\n", f->depth / FOUR,
                  f->depth / FOUR);
  if (!a_is_along_k(t)) wk_str_printf(b, "const int ka = item / %d;\n", f->rows);
  if (!b_is_along_k(t)) return;
  for (int r = 0; r < b_loads(t); r++)
    wk_str_printf(b, "__global const %s *w%d = w + min(n0 + lr + %d, %lldl) * %lldl - n0 * "
                  "%lldl;\n", wk_cl_tile_type(t->b), r, r * at_once(t),
                  (long long)(t->columns - 1), (long long)t->b_column, (long long)t->b_column);
}

/* The first step of the group, and one behind its last. */
static void add_range(const wk_cl_tile *t, const wk_cl_taps *taps) {
  wk_str *b = t->x.b;
  int64_t of_tap = wk_ceil_div(wk_cl_tile_words(t), t->form->depth);
  int64_t part = wk_cl_tile_part_steps(t);
  const char *all = wk_arena_printf(t->m->a, "%lld", (long long)wk_cl_tile_steps(t));
  int64_t step = t->form->depth * wk_cl_tile_unit(t);
  if (t->live_depth) /* of one tap */
    all = wk_arena_printf(t->m->a, "(int)((%s + %lld) / %lld)", t->live_depth, (long long)step - 1,
                          (long long)step);
  if (t->size.split > 1)
    wk_str_printf(b, "const int first = part * %lld, last = min(first + %lld, %s);\n",
                  (long long)part, (long long)part, all);
  else wk_str_printf(b, "const int first = 0, last = %s;\n", all);
  wk_str_printf(b, "int k0 = first %% %lld * %d;\n", (long long)of_tap, t->form->depth);
  if (t->is_packed)
    wk_str_printf(b, "w += (long)first * %lld;\n",
                  (long long)(t->form->depth * wk_cl_tile_unit(t) * t->b_row));
  for (int d = taps->n - 1, run = 1; d >= 0; d--) {
    wk_str_printf(b, "int t%d = first / %lld %% %lld;\n", d, (long long)(of_tap * run),
                  (long long)taps->counts[d]);
    run *= (int)taps->counts[d];
  }
  if (taps->point) taps->point(taps->ctx);
}

/* To the next step: the next tap, behind the last k. */
static void advance(const wk_cl_tile *t, const wk_cl_taps *taps) {
  wk_str *b = t->x.b;
  int64_t of_tap = wk_ceil_div(wk_cl_tile_words(t), t->form->depth);
  wk_str_printf(b, "k0 += %d;\n", t->form->depth);
  if (t->is_packed)
    wk_str_printf(b, "w += %lld;\n", (long long)(t->form->depth * wk_cl_tile_unit(t) * t->b_row));
  if (!taps->point) return;
  wk_str_printf(b, "if (k0 == %lld) {\nk0 = 0;\n", (long long)(of_tap * t->form->depth));
  for (int d = taps->n - 1; d >= 0; d--)
    wk_str_printf(b, d ? "if (++t%d == %lld) {\nt%d = 0;\n" : "++t%d;\n", d,
                  (long long)taps->counts[d], d);
  for (int d = taps->n - 1; d > 0; d--) wk_str_add(b, "}\n");
  taps->point(taps->ctx);
  wk_str_add(b, "}\n");
}

void wk_cl_tile_gpu_products(const wk_cl_tile *t, const wk_cl_taps *taps) {
  wk_str *b = t->x.b;
  if (wk_cl_tile_is_few(t)) {
    wk_cl_tile_few_products(t, taps);
    return;
  }
  declare(t);
  add_range(t, taps);
  wk_str_add(b, "for (int s = first; s <= last; s++) {\nconst bool more = s < last;\n");
  wk_str_add(b, "if (more) {\n");
  load_a(t);
  load_b(t);
  wk_str_add(b, "}\nif (s > first) {\n");
  multiply(t);
  wk_str_add(b, "}\nif (more) {\n");
  store(t);
  advance(t, taps);
  wk_str_add(b, "}\nbarrier(CLK_LOCAL_MEM_FENCE);\n}\n");
}

/* ---- results --------------------------------------------------------------------------------- */

int wk_cl_tile_gpu_lanes(const wk_cl_tile *t, int most) {
  return t->size.split > 1 || t->columns % most == 0 ? most : 1; /* parts are padded */
}

static void store_parts(const wk_cl_tile *t, int lanes, const char *const *sums) {
  wk_str *b = t->x.b;
  const char *type = wk_cl_tile_sum_type(t);
  const char *at = wk_arena_printf(t->m->a, "parts + row * %lldl + column",
                                   (long long)wk_cl_tile_parts_pitch(t));
  if (lanes == 1) {
    wk_str_printf(b, "*(%s) = %s;\n", at, sums[0]);
    return;
  }
  wk_str_printf(b, "*(__global %s%d *)(%s) = (%s%d)(", type, lanes, at, type, lanes);
  for (int n = 0; n < lanes; n++) wk_str_printf(b, "%s%s", n ? ", " : "", sums[n]);
  wk_str_add(b, ");\n");
}

void wk_cl_tile_gpu_result(const wk_cl_tile *t, const char *position, const char *column, int lanes,
                           const char *const *sums) {
  wk_str *b = t->x.b;
  const char *type = wk_expr_c_type(t->sum), *named[FOUR];
  wk_str_printf(b, "if (m0 + row < %s && n0 + column < %lld) {\n", wk_cl_tile_rows(t),
                (long long)t->columns);
  if (t->size.split > 1) {
    store_parts(t, lanes, sums);
    wk_str_add(b, "}\n");
    return;
  }
  wk_str_add(b, position);
  for (int n = 0; n < lanes; n++) {
    named[n] = wk_arena_printf(t->m->a, "sum%d", n);
    wk_str_printf(b, "const %s sum%d = (%s)%s;\n", type, n, type, sums[n]);
  }
  if (lanes == 1) {
    wk_str_printf(b, "const long i%d = %s + column;\n", t->column_axis, column);
    wk_cl_end(&t->x, (const char *const[]){named[0], NULL});
  } else {
    wk_str_printf(b, "const long first = %s + column;\n", column);
    wk_cl_end_lanes(&t->x, t->m->p, t->column_axis, lanes, named);
  }
  wk_str_add(b, "}\n");
}

/* Row of the tile of an item's row r, column of its vector v. */
static const char *row_of(const wk_cl_tile *t, const char *r) {
  if (t->form->own_rows == FOUR) return wk_arena_printf(t->m->a, "ty * 4 + %s", r);
  return wk_arena_printf(t->m->a, "%s / 4 * %d + ty * 4 + %s %% 4", r, t->form->rows / 2, r);
}

static const char *column_of(const wk_cl_tile *t, const char *j) {
  if (t->form->own_columns == FOUR) return wk_arena_printf(t->m->a, "tx * 4 + %s", j);
  return wk_arena_printf(t->m->a, "%s / 4 * %d + tx * 4 + %s %% 4", j, t->form->columns / 2, j);
}

void wk_cl_tile_gpu_end(const wk_cl_tile *t, const char *position, const char *column) {
  wk_str *b = t->x.b;
  const wk_cl_gpu_form *f = t->form;
  if (wk_cl_tile_is_few(t)) {
    wk_cl_tile_few_end(t, position, column);
    return;
  }
  if (wk_cl_tile_is_matrix(t)) {
    wk_cl_matrix_end(t, position, column);
    return;
  }
  int vectors = f->own_columns / FOUR;
  wk_str_printf(b, "%s sums[%d];\n", wk_cl_tile_sum_type(t), f->own_rows * f->own_columns);
  for (int r = 0; r < f->own_rows; r++)
    for (int v = 0; v < vectors; v++)
      wk_str_printf(b, "vstore4(c%d_%d, %d, sums);\n", r, v, r * vectors + v);
  wk_str_printf(b, "WK_UNROLL for (int r = 0; r < %d; r++) {\nconst int row = %s;\n", f->own_rows,
                row_of(t, "r"));
  int lanes = wk_cl_tile_gpu_lanes(t, FOUR);
  const char *all[FOUR];
  for (int n = 0; n < lanes; n++)
    all[n] = wk_arena_printf(t->m->a, "sums[r * %d + j + %d]", f->own_columns, n);
  wk_str_printf(b, "WK_UNROLL for (int j = 0; j < %d; j += %d) {\nconst int column = %s;\n",
                f->own_columns, lanes, column_of(t, "j"));
  wk_cl_tile_gpu_result(t, position, column, lanes, all);
  wk_str_add(b, "}\n}\n");
}
