/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/tile.h"

#include "compiler/cgen/expr_c.h"

enum {
  SIDE = 8,   /* rows and columns of a work item */
  DEPTH = 16, /* k that are in local memory at a time */
  LOAD = 4    /* of a row of a that a work item brings there at once */
};

static int items(const wk_cl_tile *t) { return t->size.rows / SIDE * (t->size.rows / SIDE); }

static uint64_t local_bytes(int side) { return 2 * DEPTH * (uint64_t)side * 4; }

static bool fits(const wick_opencl_info *d, int side) {
  uint32_t n = (uint32_t)(side / SIDE * (side / SIDE));
  return d->max_group >= n && d->max_items[0] >= n && local_bytes(side) <= d->local_memory;
}

/* The larger tile first where there is enough work for all units. */
int wk_cl_tile_gpu_sizes(const wk_cl_tile *t, wk_cl_tile_size *out) {
  const wick_opencl_info *d = &t->m->device->info;
  int64_t tiles = t->batch * ((t->m_rows + 127) / 128) * ((t->columns + 127) / 128);
  int first = tiles >= (int64_t)d->units ? 128 : 64, n = 0;
  for (int k = 0; k < 2; k++) {
    int side = k ? 192 - first : first;
    if (fits(d, side)) out[n++] = (wk_cl_tile_size){side, side};
  }
  return n;
}

int wk_cl_tile_gpu_pointers(const wk_cl_tile *t) {
  return t->size.rows * DEPTH / LOAD / items(t);
}

void wk_cl_tile_gpu_begin(wk_cl_tile *t) {
  wk_str *b = t->x.b;
  int64_t panels = wk_cl_tile_panels(t), tiles = wk_ceil_div(t->m_rows, t->size.rows);
  t->k->local[0] = (uint32_t)items(t);
  t->k->global[0] = (uint64_t)(t->batch * panels * tiles) * t->k->local[0];
  t->k->local_bytes = local_bytes(t->size.rows);
  const char *type = t->sum == WK_F32 ? "float" : "int";
  int words = DEPTH * t->size.rows;
  wk_str_printf(b, "__local %s la[%d], lb[%d];\n", type, words, words);
  wk_str_printf(b, "const int item = get_local_id(0), tx = item %% %d * %d, ty = item / %d * %d;\n",
                t->size.rows / SIDE, SIDE, t->size.rows / SIDE, SIDE);
  wk_str_printf(b, "const int lr = item / %d, lk = item %% %d * %d;\n", DEPTH / LOAD, DEPTH / LOAD,
                LOAD);
  wk_str_printf(b, "const long g = get_group_id(0), z = g / %lld;\n"
                "const long m0 = g / %lld %% %lld * %d, n0 = g %% %lld * %d;\n",
                (long long)(panels * tiles), (long long)panels, (long long)tiles, t->size.rows,
                (long long)panels, t->size.rows);
}

const char *wk_cl_tile_gpu_row_of(const wk_cl_tile *t, int pointer) {
  const char *row = wk_arena_printf(t->m->a, "min(m0 + lr + %d, (long)%s - 1)",
                                    pointer * items(t) * LOAD / DEPTH, wk_cl_tile_rows(t));
  if (t->live_rows) row = wk_arena_printf(t->m->a, "max(%s, 0l)", row); /* there may be none */
  return wk_cl_tile_listed(t, row);
}

void wk_cl_tile_gpu_sums(const wk_cl_tile *t) {
  for (int r = 0; r < SIDE; r++)
    wk_str_printf(t->x.b, "%s%d c%d = 0;\n", t->sum == WK_F32 ? "float" : "uint", SIDE, r);
}

/* LOAD neighbours of one row of a, which become neighbours of columns. */
static void load_row(const wk_cl_tile *t, int r, bool ends) {
  wk_str *b = t->x.b;
  int column = r * items(t) * LOAD / DEPTH;
  if (t->a == WK_F32 && t->a_step == 1 && t->depth % LOAD == 0) {
    wk_str_add(b, "{ const float4 v = ");
    if (ends) wk_str_printf(b, "k0 + lk >= %lld ? (float4)(0) : ", (long long)t->depth);
    wk_str_printf(b, "vload4(0, p%d + k0 + lk);\n", r);
    for (int e = 0; e < LOAD; e++)
      wk_str_printf(b, "la[(lk + %d) * %d + lr + %d] = v.s%d;\n", e, t->size.rows, column, e);
    wk_str_add(b, "}\n");
    return;
  }
  for (int e = 0; e < LOAD; e++) {
    const char *at = wk_arena_printf(t->m->a, "(k0 + lk + %d) * %lldl", e, (long long)t->a_step);
    const char *pointer = wk_arena_printf(t->m->a, "p%d", r);
    wk_str_printf(b, "la[(lk + %d) * %d + lr + %d] = ", e, t->size.rows, column);
    if (ends) wk_str_printf(b, "k0 + lk + %d >= %lld ? 0 : ", e, (long long)t->depth);
    wk_str_printf(b, "%s;\n", wk_cl_tile_scalar(t->m->a, t->a, pointer, at));
  }
}

/* Columns of b; zero where there is none. */
static void load_columns(const wk_cl_tile *t, bool ends) {
  wk_str *b = t->x.b;
  bool is_panel = t->b_row == t->size.rows && t->b_column == 1;
  int wide = is_panel && t->b == WK_F32 ? LOAD : 1;
  wk_str_printf(b, "for (int e = item * %d; e < %d; e += %d) {\n", wide, DEPTH * t->size.rows,
                items(t) * wide);
  wk_str_printf(b, "const int k = k0 + e / %d, j = e %% %d;\n", t->size.rows, t->size.rows);
  wk_str_add(b, wide == 1 ? "lb[e] = " : "const float4 v = ");
  if (ends)
    wk_str_printf(b, "k >= %lld ? %s : ", (long long)t->depth, wide == 1 ? "0" : "(float4)(0)");
  if (!is_panel && t->columns % t->size.rows)
    wk_str_printf(b, "n0 + j >= %lld ? 0 : ", (long long)t->columns);
  const char *at = wk_arena_printf(t->m->a, "k * %lldl + j * %lldl", (long long)t->b_row,
                                   (long long)t->b_column);
  if (wide == 1) wk_str_printf(b, "%s;\n}\n", wk_cl_tile_scalar(t->m->a, t->b, "w", at));
  else wk_str_printf(b, "vload4(0, w + k * %d + j);\nvstore4(v, 0, lb + e);\n}\n", t->size.rows);
}

/* Words of four bytes along k take the places of single elements. */
static void add_dots(const wk_cl_tile *t) {
  wk_str *b = t->x.b;
  int side = t->size.rows, step = DEPTH * WK_CL_DOT;
  bool ends = t->depth % step != 0;
  wk_str_printf(b, "for (int k0 = 0; k0 < %s; k0 += %d) {\n", wk_cl_tile_depth(t), step);
  for (int r = 0; r < t->pointers; r++)
    for (int e = 0; e < LOAD; e++) {
      wk_str_printf(b, "la[(lk + %d) * %d + lr + %d] = ", e, side, r * items(t) * LOAD / DEPTH);
      if (ends)
        wk_str_printf(b, "k0 + (lk + %d) * 4 >= %lld ? 0 : ", e, (long long)t->depth);
      wk_str_printf(b, "as_int(vload4(0, p%d + k0 + (lk + %d) * 4));\n", r, e);
    }
  wk_str_printf(b, "for (int e = item; e < %d; e += %d)\nlb[e] = ", DEPTH * side, items(t));
  if (ends) wk_str_printf(b, "k0 + e / %d * 4 >= %lld ? 0 : ", side, (long long)t->depth);
  wk_str_printf(b, "as_int(vload4(k0 / 4 * %d + e, w));\n", side);
  wk_str_add(b, "barrier(CLK_LOCAL_MEM_FENCE);\n");
  wk_str_printf(b, "for (int k = 0; k < %d; k++) {\n", DEPTH);
  wk_str_printf(b, "const uint8 x = as_uint8(vload8(0, la + k * %d + ty)), y = as_uint8(vload8(0, "
                "lb + k * %d + tx));\n", side, side);
  const char *name = wk_arena_printf(t->m->a, "wk_dot_%c%c", t->a == WK_I8 ? 's' : 'u',
                                     t->b == WK_I8 ? 's' : 'u');
  for (int r = 0; r < SIDE; r++) {
    wk_str_printf(b, "c%d += (uint8)(", r);
    for (int j = 0; j < SIDE; j++)
      wk_str_printf(b, "%s%s(x.s%d, y.s%d)", j ? ", " : "", name, r, j);
    wk_str_add(b, ");\n");
  }
  wk_str_add(b, "}\nbarrier(CLK_LOCAL_MEM_FENCE);\n}\n");
  wk_str_printf(b, "w += %lld;\n", (long long)(t->depth * t->b_row));
}

static void add_products(const wk_cl_tile *t) {
  wk_str *b = t->x.b;
  const char *type = t->sum == WK_F32 ? "float" : "uint";
  const char *as = t->sum == WK_F32 ? "" : "as_uint8";
  wk_str_printf(b, "for (int k0 = 0; k0 < %s; k0 += %d) {\n", wk_cl_tile_depth(t), DEPTH);
  bool ends = t->depth % DEPTH != 0;
  for (int r = 0; r < t->pointers; r++) load_row(t, r, ends);
  load_columns(t, ends);
  wk_str_add(b, "barrier(CLK_LOCAL_MEM_FENCE);\n");
  wk_str_printf(b, "for (int k = 0; k < %d; k++) {\n", DEPTH);
  wk_str_printf(b, "const %s8 x = %s(vload8(0, la + k * %d + ty)), y = %s(vload8(0, lb + k * %d + "
                "tx));\n", type, as, t->size.rows, as, t->size.rows);
  for (int r = 0; r < SIDE; r++)
    wk_str_printf(b, t->sum == WK_F32 ? "c%d = fma((float8)(x.s%d), y, c%d);\n"
                                      : "c%d = (uint8)(x.s%d) * y + c%d;\n", r, r, r);
  wk_str_add(b, "}\nbarrier(CLK_LOCAL_MEM_FENCE);\n}\n");
  wk_str_printf(b, "w += %lld;\n", (long long)(t->depth * t->b_row));
}

void wk_cl_tile_gpu_products(const wk_cl_tile *t) {
  if (t->is_dots) add_dots(t);
  else add_products(t);
}

void wk_cl_tile_gpu_end(const wk_cl_tile *t, const char *position, const char *column) {
  wk_str *b = t->x.b;
  const char *type = wk_expr_c_type(t->sum), *scalar = t->sum == WK_F32 ? "float" : "uint";
  wk_str_printf(b, "%s sums[%d];\n", scalar, SIDE * SIDE);
  for (int r = 0; r < SIDE; r++) wk_str_printf(b, "vstore8(c%d, %d, sums);\n", r, r);
  wk_str_printf(b, "WK_UNROLL for (int r = 0; r < %d; r++) {\nconst int row = ty + r;\n", SIDE);
  wk_str_printf(b, "if (m0 + row < %s) {\n%s", wk_cl_tile_rows(t), position);
  wk_str_printf(b, "WK_UNROLL for (int j = 0; j < %d; j++) {\n", SIDE);
  wk_str_printf(b, "const long i%d = %s + tx + j;\n", t->column_axis, column);
  bool ends = t->columns % t->size.rows != 0;
  if (ends) wk_str_printf(b, "if (n0 + tx + j < %lld) {\n", (long long)t->columns);
  wk_str_printf(b, "const %s sum = (%s)sums[r * %d + j];\n", type, type, SIDE);
  wk_cl_end(&t->x, (const char *const[]){"sum", NULL});
  if (ends) wk_str_add(b, "}\n");
  wk_str_add(b, "}\n}\n}\n");
}
