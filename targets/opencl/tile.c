/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/tile.h"

#include <string.h>

#include "compiler/cgen/expr_c.h"
#include "targets/opencl/explain.h"
#include "targets/opencl/lanes.h"
#include "targets/opencl/tune.h"

enum {
  CACHE = 256 << 10, /* bytes of rows of a that tiles of neighbouring panels share */
  EXACT = 256,       /* 256 * 255 * 255 < 2^24 */
  MOST_ROWS = 16
};

static bool is_small_integer(wk_dtype t) {
  return t == WK_I8 || t == WK_U8 || t == WK_I16 || t == WK_U16;
}

bool wk_cl_tile_types(wk_dtype a, wk_dtype b) {
  bool is_real = a == WK_F32 || a == WK_F16 || a == WK_BF16;
  return (is_real && a == b) || (is_small_integer(a) && is_small_integer(b));
}

wk_dtype wk_cl_tile_sum(wk_dtype a) { return is_small_integer(a) ? WK_I32 : WK_F32; }

/* ---- size ------------------------------------------------------------------------------------ */

/* Register tiles by lanes of a vector: as many sums as fit beside what is being multiplied. */
static const struct {
  int lanes, vectors, most_rows;
} sizes[] = {{16, 2, 8}, {16, 1, 14}, {16, 4, 4}, {8, 2, 5}, {8, 1, 10}, {8, 4, 2},
             {4, 2, 5},  {4, 1, 10},  {4, 4, 2}};

/* Multiplications of vectors for all tiles, and loads of b and of a beside them. */
static double cost(const wk_cl_tile *t, int rows, int vectors) {
  int64_t width = (int64_t)vectors * t->lanes;
  double panels = (double)wk_ceil_div(t->columns, width);
  double tiles = (double)wk_ceil_div(t->m_rows, rows);
  return panels * tiles * (rows * vectors + 0.5 * rows + vectors);
}

static bool is_gpu(const wk_cl_tile *t) { return wk_cl_tile_is_gpu(t); }

int64_t wk_cl_tile_width(const wk_cl_tile *t) {
  return is_gpu(t) ? t->form->columns : (int64_t)t->size.vectors * t->lanes;
}

/* A file of the cache may say anything. */
static bool is_listed(const wk_cl_asked *asked, wk_cl_tile_size size) {
  for (int k = 0; k < asked->n; k++)
    if (asked->sizes[k].rows == size.rows && asked->sizes[k].vectors == size.vectors &&
        asked->sizes[k].split == size.split)
      return true;
  return false;
}

int64_t wk_cl_readable(const wk_program *p, const wk_view *v) {
  const wk_buffer *b = &p->buffers.data[v->buffer];
  int64_t left = (b->size - v->offset) / wk_dtype_size(v->dtype);
  for (int d = 0; d < v->rank - 1; d++) {
    if (v->strides[d] < 0) return v->dims[v->rank - 1];
    left -= (v->dims[d] - 1) * v->strides[d];
  }
  return v->step ? v->dims[v->rank - 1] : left;
}

/* Sizes for a CPU, the best first; which are not much worse than that. */
static int cpu_sizes(const wk_cl_tile *t, bool is_packed, wk_cl_tile_size *out) {
  double costs[WK_CL_MAX_SIZES];
  int n = 0;
  for (size_t k = 0; k < WK_COUNTOF(sizes); k++) {
    if (sizes[k].lanes != t->lanes) continue;
    int64_t width = (int64_t)sizes[k].vectors * t->lanes;
    if (!is_packed && wk_ceil_div(t->columns, width) * width > t->b_readable) continue;
    for (int rows = 1; rows <= sizes[k].most_rows; rows++) {
      double c = cost(t, rows, sizes[k].vectors);
      int at = n;
      while (at > 0 && costs[at - 1] > c) at--;
      if (at == WK_CL_MAX_SIZES) continue;
      n += n < WK_CL_MAX_SIZES;
      for (int j = n - 1; j > at; j--) costs[j] = costs[j - 1], out[j] = out[j - 1];
      costs[at] = c;
      out[at] = (wk_cl_tile_size){rows, sizes[k].vectors, 1};
    }
  }
  while (n > 1 && costs[n - 1] > 1.25 * costs[0]) n--;
  return n;
}

/* What the best size depends on. */
static void set_key(const wk_cl_tile *t, bool is_packed, char *key, size_t size) {
  snprintf(key, size, "%s %s %s %lldx%lldx%lld taps %lld depth %lld step %lld %s",
           t->k->what, wk_dtype_name(t->a), wk_dtype_name(t->b), (long long)t->batch,
           (long long)t->m_rows, (long long)t->columns, (long long)t->taps, (long long)t->depth,
           (long long)t->a_step, is_packed ? "packed" : "as it lies");
}

/* Words of four bytes for dot products. */
static bool wants_dots(const wk_cl_tile *t, bool is_packed) {
  return wk_cl_has_dots(t->m->device) && is_packed && t->a_step == 1 && !t->element &&
         wk_dtype_size(t->a) == 1 && wk_dtype_size(t->b) == 1 && t->depth % WK_CL_DOT == 0;
}

bool wk_cl_tile_choose(wk_cl_tile *t, bool is_packed) {
  wk_cl_unit *u = t->m->unit;
  wk_cl_asked *asked = &u->asked;
  t->is_packed = is_packed;
  if (is_packed) t->b_column = 1;
  t->lanes = wk_cl_lanes(t->m->device);
  t->is_dots = is_gpu(t) && wants_dots(t, is_packed);
  t->is_matrix = is_gpu(t) && wk_cl_tile_suits_matrix(t, is_packed);
  set_key(t, is_packed, asked->key, sizeof asked->key);
  asked->n = is_gpu(t) ? wk_cl_tile_gpu_sizes(t, is_packed, asked->sizes)
                       : cpu_sizes(t, is_packed, asked->sizes);
  if (!asked->n) return false;
  t->size = asked->sizes[0];
  wk_cl_tile_size known;
  if (u->forced.rows) t->size = u->forced;
  else if (u->tiles && wk_cl_tiles_get(u->tiles, asked->key, &known) && is_listed(asked, known))
    t->size = known;
  if (is_gpu(t)) t->form = wk_cl_gpu_form_of(t, t->size);
  if (is_packed) t->b_row = wk_cl_tile_width(t);
  t->pointers = !is_gpu(t)              ? t->size.rows
                : wk_cl_tile_is_few(t) ? wk_cl_tile_few_pointers(t)
                                       : wk_cl_tile_gpu_pointers(t);
  if (u->explained && is_gpu(t)) wk_cl_explain_product(u->explained, t, asked);
  return true;
}

int wk_cl_neighbours(const wk_program *p, const wk_view *v, int along) {
  int n = v->strides[along] == 1 ? WK_CL_WHOLE : 1;
  while (n > 1 && !wk_cl_begins_at(p, v, along, n)) n /= 2;
  return n;
}

/* ---- panels ---------------------------------------------------------------------------------- */

/* Of an element in its panel. */
static int64_t place(const wk_cl_tile *t, int64_t k, int64_t column) {
  int64_t width = wk_cl_tile_width(t);
  k = k / t->depth * wk_cl_tile_panel_depth(t) + k % t->depth;
  if (is_gpu(t) && wk_cl_tile_is_matrix(t)) {
    int64_t step = t->form->depth * wk_cl_tile_unit(t);
    return (k / step * width + column) * step + k % step;
  }
  if (!t->is_dots) return k * width + column;
  return (k / WK_CL_DOT * width + column) * WK_CL_DOT + k % WK_CL_DOT;
}

const void *wk_cl_tile_pack(const wk_cl_tile *t, int64_t batches, const void *data,
                            wk_cl_tile_at at, const void *ctx, uint64_t *bytes) {
  int64_t width = wk_cl_tile_width(t), panels = wk_cl_tile_panels(t), depth = t->taps * t->depth;
  int64_t panel = t->taps * wk_cl_tile_panel_depth(t) * width;
  size_t size = (size_t)wk_dtype_size(t->b);
  *bytes = (uint64_t)(batches * panels * panel) * size;
  char *out = wk_arena_alloc(t->m->unit->arena, *bytes), *to = out;
  for (int64_t z = 0; z < batches; z++)
    for (int64_t n = 0; n < panels; n++, to += (size_t)panel * size)
      for (int64_t k = 0; k < depth; k++)
        for (int64_t j = 0; j < width && n * width + j < t->columns; j++)
          memcpy(to + (size_t)place(t, k, j) * size,
                 (const char *)data + (size_t)at(ctx, z, k, n * width + j) * size, size);
  return out;
}

/* ---- text ------------------------------------------------------------------------------------ */

const char *wk_cl_tile_type(wk_dtype t) {
  static const char *const names[] = {[WK_F32] = "float", [WK_I8] = "char", [WK_U8] = "uchar",
                                      [WK_I16] = "short", [WK_U16] = "ushort",
                                      [WK_F16] = "half",  [WK_BF16] = "ushort"};
  return names[t];
}

const char *wk_cl_tile_scalar(wk_arena *a, wk_dtype t, const char *pointer, const char *at) {
  switch (t) {
    case WK_F32: return wk_arena_printf(a, "%s[%s]", pointer, at);
    case WK_F16: return wk_arena_printf(a, "vload_half(%s, %s)", at, pointer);
    case WK_BF16: return wk_arena_printf(a, "as_float((uint)%s[%s] << 16)", pointer, at);
    default: return wk_arena_printf(a, "(int)%s[%s]", pointer, at);
  }
}

const char *wk_cl_tile_vector(wk_arena *a, wk_dtype t, int n, int at, const char *pointer) {
  switch (t) {
    case WK_F32: return wk_arena_printf(a, "vload%d(%d, %s)", n, at, pointer);
    case WK_F16: return wk_arena_printf(a, "vload_half%d(%d, %s)", n, at, pointer);
    case WK_BF16:
      return wk_arena_printf(a, "as_float%d(convert_uint%d(vload%d(%d, %s)) << 16)", n, n, n, at,
                             pointer);
    default:
      return wk_arena_printf(a, "as_uint%d(convert_int%d(vload%d(%d, %s)))", n, n, n, at, pointer);
  }
}

const char *wk_cl_tile_listed(const wk_cl_tile *t, const char *at) {
  return t->list ? wk_arena_printf(t->m->a, "%s[%s]", t->list, at) : at;
}

const char *wk_cl_tile_rows(const wk_cl_tile *t) {
  return t->live_rows ? t->live_rows : wk_arena_printf(t->m->a, "%lld", (long long)t->m_rows);
}

const char *wk_cl_tile_depth(const wk_cl_tile *t) {
  return t->live_depth ? t->live_depth : wk_arena_printf(t->m->a, "%lld", (long long)t->depth);
}

/* Nobody needs the tile at m0, n0. A work-group sums nothing then, as all of it must come to the
 * barriers. */
static void leave(wk_cl_tile *t) {
  const char *depth = wk_cl_tile_depth(t);
  if (is_gpu(t) && (t->live_rows || t->live_columns)) {
    wk_str_printf(t->x.b, "const long depth = m0 < %s && n0 < %s ? %s : 0l;\n",
                  wk_cl_tile_rows(t), t->live_columns ? t->live_columns : "LONG_MAX", depth);
    t->live_depth = "depth";
  }
  if (is_gpu(t)) return;
  if (t->live_rows) wk_str_printf(t->x.b, "if (m0 >= %s) return;\n", t->live_rows);
  if (t->live_columns) wk_str_printf(t->x.b, "if (n0 >= %s) return;\n", t->live_columns);
}

/* Tiles of some rows go through all panels before the next rows: these stay in the cache. */
void wk_cl_tile_begin(wk_cl_tile *t) {
  if (is_gpu(t)) {
    wk_cl_tile_gpu_begin(t);
    leave(t);
    return;
  }
  wk_str *b = t->x.b;
  int64_t width = wk_cl_tile_width(t), panels = wk_cl_tile_panels(t);
  int64_t tiles = wk_ceil_div(t->m_rows, t->size.rows);
  int64_t row_bytes = t->taps * t->depth * wk_dtype_size(t->a);
  int64_t block = CACHE / (row_bytes * t->size.rows);
  block = block < 1 ? 1 : block > tiles ? tiles : block;
  int64_t blocks = wk_ceil_div(tiles, block);
  block = wk_ceil_div(tiles, blocks);
  int64_t per_batch = blocks * block * panels;
  t->k->global[0] = (uint64_t)(per_batch * t->batch);
  wk_str_printf(b, "const long t = get_global_id(0);\n");
  wk_str_printf(b, "const long z = t / %lld, u = t %% %lld;\n", (long long)per_batch,
                (long long)per_batch);
  wk_str_printf(b, "const long tile = u / %lld * %lld + u %% %lld;\n", (long long)(block * panels),
                (long long)block, (long long)block);
  if (tiles % block) wk_str_printf(b, "if (tile >= %lld) return;\n", (long long)tiles);
  wk_str_printf(b, "const long m0 = tile * %d, n0 = u / %lld %% %lld * %lld;\n", t->size.rows,
                (long long)block, (long long)panels, (long long)width);
  leave(t);
  if (t->live_rows || t->m_rows % t->size.rows)
    wk_str_printf(b, "const int rows = (int)min((long)%d, %s - m0);\n", t->size.rows,
                  wk_cl_tile_rows(t));
  else wk_str_printf(b, "const int rows = %d;\n", t->size.rows);
  if (t->columns % width)
    wk_str_printf(b, "const int cols = (int)min((long)%lld, %lld - n0);\n", (long long)width,
                  (long long)t->columns);
  else wk_str_printf(b, "const int cols = %lld;\n", (long long)width);
}

const char *wk_cl_tile_row_of(const wk_cl_tile *t, int pointer) {
  if (is_gpu(t)) return wk_cl_tile_gpu_row_of(t, pointer);
  const char *at = wk_arena_printf(t->m->a, "m0 + %d", pointer);
  if (t->live_rows || t->m_rows % t->size.rows)
    at = wk_arena_printf(t->m->a, "min(%s, (long)%s - 1)", at, wk_cl_tile_rows(t));
  return wk_cl_tile_listed(t, at);
}

void wk_cl_tile_sums(const wk_cl_tile *t) {
  if (is_gpu(t)) {
    wk_cl_tile_gpu_sums(t);
    return;
  }
  const char *type = t->sum == WK_F32 ? "float" : "uint";
  for (int r = 0; r < t->size.rows; r++)
    for (int v = 0; v < t->size.vectors; v++)
      wk_str_printf(t->x.b, "%s%d c%d_%d = 0;\n", type, t->lanes, r, v);
}

/* One k: the rows' elements, as C expressions, times vectors of b, to sums named `sum`R_V. */
static void add_step(const wk_cl_tile *t, const char *type, const char *const *x,
                     const char *sum) {
  wk_str *b = t->x.b;
  wk_str_printf(b, "w += %lld;\n", (long long)t->b_row);
  for (int r = 0; r < t->size.rows; r++) {
    wk_str_printf(b, "{ const %s%d x = (%s%d)(%s);\n", type, t->lanes, type, t->lanes, x[r]);
    for (int v = 0; v < t->size.vectors; v++)
      wk_str_printf(b, *type == 'f' ? "%s%d_%d = fma(x, w%d, %s%d_%d); "
                                    : "%s%d_%d = x * w%d + %s%d_%d; ", sum, r, v, v, sum, r, v);
    wk_str_add(b, "}\n");
  }
}

static void add_plain_products(const wk_cl_tile *t) {
  wk_str *b = t->x.b;
  const char *type = t->sum == WK_F32 ? "float" : "uint", *x[MOST_ROWS];
  const char *at = wk_arena_printf(t->m->a, "k * %lldl", (long long)t->a_step);
  for (int r = 0; r < t->size.rows; r++)
    x[r] = wk_cl_tile_scalar(t->m->a, t->a, wk_arena_printf(t->m->a, "p%d", r), at);
  wk_str_printf(b, "for (int k = 0; k < %s; k++) {\n", wk_cl_tile_depth(t));
  for (int v = 0; v < t->size.vectors; v++)
    wk_str_printf(b, "const %s%d w%d = %s;\n", type, t->lanes, v,
                  wk_cl_tile_vector(t->m->a, t->b, t->lanes, v, "w"));
  add_step(t, type, x, "c");
  wk_str_add(b, "}\n");
}

/* Bytes as floats, EXACT of them at a time: no sum of so few products has more than 24 bits. */
static void add_exact_products(const wk_cl_tile *t) {
  wk_str *b = t->x.b;
  const char *x[MOST_ROWS];
  int n = t->lanes;
  wk_str_printf(b, "for (int from = 0; from < %s; from += %d) {\n", wk_cl_tile_depth(t), EXACT);
  wk_str_printf(b, "const int count = min(%d, (int)(%s - from));\nfloat rows_of_a[%d];\n", EXACT,
                wk_cl_tile_depth(t), t->size.rows * EXACT);
  for (int r = 0; r < t->size.rows; r++) {
    wk_str_printf(b, "WK_VECTOR for (int k = 0; k < count; k++)\n"
                  "rows_of_a[%d + k] = (float)p%d[(from + k) * %lldl];\n", r * EXACT, r,
                  (long long)t->a_step);
    x[r] = wk_arena_printf(t->m->a, "rows_of_a[%d + k]", r * EXACT);
  }
  for (int r = 0; r < t->size.rows; r++)
    for (int v = 0; v < t->size.vectors; v++) wk_str_printf(b, "float%d f%d_%d = 0;\n", n, r, v);
  wk_str_add(b, "for (int k = 0; k < count; k++) {\n");
  for (int v = 0; v < t->size.vectors; v++)
    wk_str_printf(b, "const float%d w%d = convert_float%d(vload%d(%d, w));\n", n, v, n, n, v);
  add_step(t, "float", x, "f");
  wk_str_add(b, "}\n");
  for (int r = 0; r < t->size.rows; r++)
    for (int v = 0; v < t->size.vectors; v++)
      wk_str_printf(b, "c%d_%d += as_uint%d(convert_int%d(f%d_%d));\n", r, v, n, n, r, v);
  wk_str_add(b, "}\n");
}

static void add_products(const wk_cl_tile *t) {
  if (wk_dtype_size(t->a) == 1 && wk_dtype_size(t->b) == 1) add_exact_products(t);
  else add_plain_products(t);
}

void wk_cl_tile_products(const wk_cl_tile *t, const wk_cl_taps *taps) {
  wk_str *b = t->x.b;
  if (is_gpu(t)) {
    wk_cl_tile_gpu_products(t, taps);
    return;
  }
  for (int d = 0; d < taps->n; d++)
    wk_str_printf(b, "for (int t%d = 0; t%d < %lld; t%d++) {\n", d, d, (long long)taps->counts[d],
                  d);
  if (taps->point && taps->n == 0) wk_str_add(b, "{\n");
  if (taps->point) taps->point(taps->ctx);
  add_products(t);
  for (int d = 0; d < taps->n; d++) wk_str_add(b, "}\n");
  if (taps->point && taps->n == 0) wk_str_add(b, "}\n");
}

void wk_cl_tile_end(const wk_cl_tile *t, const char *position, const char *column) {
  if (is_gpu(t)) {
    wk_cl_tile_gpu_end(t, position, column);
    return;
  }
  wk_str *b = t->x.b;
  int64_t width = wk_cl_tile_width(t);
  const char *type = wk_expr_c_type(t->sum), *scalar = t->sum == WK_F32 ? "float" : "uint";
  wk_str_printf(b, "%s sums[%lld];\n", scalar, (long long)(t->size.rows * width));
  for (int r = 0; r < t->size.rows; r++)
    for (int v = 0; v < t->size.vectors; v++)
      wk_str_printf(b, "vstore%d(c%d_%d, %lld, sums);\n", t->lanes, r, v,
                    (long long)(r * t->size.vectors + v));
  wk_str_printf(b, "for (int row = 0; row < rows; row++) {\n%s", position);
  wk_str_printf(b, "WK_VECTOR for (int j = 0; j < cols; j++) {\nconst long i%d = %s + j;\n",
                t->column_axis, column);
  wk_str_printf(b, "const %s sum = (%s)sums[row * %lld + j];\n", type, type, (long long)width);
  wk_cl_end(&t->x, (const char *const[]){"sum", NULL});
  wk_str_add(b, "}\n}\n");
}
