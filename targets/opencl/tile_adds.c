/* SPDX-License-Identifier: Apache-2.0
 * The launch that adds up the parts of a sum, each element's in the order of the parts, so that the
 * result is the same in every run, and applies the epilogue. */
#include "compiler/cgen/expr_c.h"
#include "targets/opencl/tile.h"

enum { GROUP = 128 };

/* z, row and column of the output, from the item's number; no more rows than there are. */
static void add_place(const wk_cl_tile *t, wk_str *b) {
  int64_t n = t->batch * t->m_rows * t->columns;
  const char *type = n >> 31 ? "long" : "int";
  wk_str_printf(b, "const %s e = get_global_id(0);\n", type);
  if (n % GROUP) wk_str_printf(b, "if (e >= %lld) return;\n", (long long)n);
  wk_str_printf(b, "const %s column = e %% %lld, z = e / %lld, row = e / %lld %% %lld;\n", type,
                (long long)t->columns, (long long)(t->columns * t->m_rows), (long long)t->columns,
                (long long)t->m_rows);
  if (t->live_rows) wk_str_printf(b, "if (row >= %s) return;\n", t->live_rows);
  wk_str_add(b, "const int m0 = 0, n0 = 0;\n");
}

static void add_sum(const wk_cl_tile *t, wk_str *b, uint32_t parts) {
  int64_t pitch = wk_cl_tile_parts_pitch(t), rows = t->batch * t->m_rows;
  const char *word = t->sum == WK_F32 ? "float" : "uint", *type = wk_expr_c_type(t->sum);
  wk_str_printf(b, "__global const %s *parts = (__global const %s *)(g%u + o%u) + (z * %lldl + "
                "row) * %lldl + column;\n", word, word, parts, parts, (long long)t->m_rows,
                (long long)pitch);
  wk_str_printf(b, "%s all = parts[0];\n", word);
  wk_str_printf(b, "WK_UNROLL for (int n = 1; n < %d; n++) all += parts[n * %lldl];\n",
                t->size.split, (long long)(rows * pitch));
  wk_str_printf(b, "const %s sum = (%s)all;\n", type, type);
}

static bool add_up(const wk_cl_tile *t, const char *position, const char *column) {
  wk_cl_kernel k = {.what = "sums", .node = t->m->inst->name};
  wk_cl_tile of = *t;
  of.k = &k;
  of.live_rows = of.live_columns = of.live_depth = of.list = NULL;
  if (!wk_cl_loops_open(&of.x, t->m->a, &k, t->m->p, t->m->inst, 2, false)) return false;
  if (t->limits) t->limits(t->limits_ctx, &of);
  uint32_t parts = wk_cl_add_parts(&k, wk_cl_tile_parts_bytes(t, t->size.split));
  k.local[0] = GROUP;
  k.global[0] = (uint64_t)(t->batch * t->m_rows * t->columns);
  add_place(&of, of.x.b);
  add_sum(&of, of.x.b, parts);
  wk_str_printf(of.x.b, "%sconst long i%d = %s + column;\n", position, t->column_axis, column);
  wk_cl_end(&of.x, (const char *const[]){"sum", NULL});
  wk_cl_add_launch(t->m->unit, &k);
  return true;
}

bool wk_cl_tile_launch(const wk_cl_tile *t, const char *position, const char *column) {
  wk_cl_add_launch(t->m->unit, t->k);
  return !wk_cl_tile_is_gpu(t) || t->size.split == 1 || add_up(t, position, column);
}
