/* SPDX-License-Identifier: Apache-2.0 */
/* The driver around the register tile, with the shape as immediate constants.
 *
 * Rows are cut into tiles of equal height (differing by at most one), tiles into blocks, columns
 * into panels, panels into groups; a task is one (batch, group, block), blocks running fastest so
 * that a group's panels stay in level 2. Inside a task: row pointers once, then for each panel and
 * each block of k all tiles. k is cut so that the panel block in use and the one being prefetched
 * fit level 2 together; partial sums wait in scratch. */
#include "targets/cpu/kernels/cut.h"
#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/kernels/rows.h"

#include <stdio.h>
#include <string.h>

enum {
  TASK_FLOPS = 3000000,
  MAX_TASKS = 64,
  FEW_TASKS = 4,
  K_BLOCK_BYTES = 132 << 10,
  TABLE_BYTES = 32 << 10,
  SCRATCH_BYTES = 56 << 10,
  LINE = 64
};

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

/* What tiles read. */
static wk_cpu_types tile_types(const wk_gemm *g) {
  wk_cpu_types t = g->types;
  if (wk_cpu_is_float(&t)) t.a = WK_F32;
  if (wk_cpu_is_float(&t) && g->b == WK_B_TO_PACK) t.b = WK_F32;
  return t;
}

/* Bytes of a word of B's panels. */
static int64_t b_word(const wk_gemm *g) {
  wk_cpu_types t = tile_types(g);
  return wk_dot_b_bytes(&t);
}

/* ---- plan ------------------------------------------------------------------------------------ */

/* Cuts the columns into groups and the rows into blocks: first what the caches want, then finer
 * until there are tasks enough to share out. */
static void plan_tasks(const wk_simd *simd, const wk_gemm *g, wk_gemm_plan *p) {
  int64_t depth = g->taps * g->kc, panel_bytes = depth * g->panels.nv * simd->lanes * b_word(g);
  int64_t count = g->panels.panels + (g->panels.nv_tail > 0);
  p->groups = wk_ceil_div(count, max64(1, min64(count, simd->l2_bytes / 2 / panel_bytes)));
  int64_t reach = g->rows == WK_ROWS_PLAIN ? 1 : g->conv.stride_h * g->conv.stride_w;
  int64_t row_bytes = g->rows == WK_ROWS_PLAIN ? g->kc * 4 : g->pixel * reach;
  int64_t rows = min64(simd->l2_bytes / 4 / row_bytes, TABLE_BYTES / (8 * g->taps));
  if (g->b == WK_B_TO_PACK)
    rows = p->wide_row ? min64(simd->l2_bytes / 2 / row_bytes, TABLE_BYTES / 8) : TABLE_BYTES / 8;
  rows = max64(rows, p->wide_row ? p->rows : 4 * p->rows);
  p->blocks = wk_ceil_div(p->tiles, max64(1, rows / p->rows));
  double flops = 2.0 * (double)g->m * (double)g->n * (double)depth;
  double want = flops * (double)(g->batch[0] * g->batch[1]) / TASK_FLOPS;
  int64_t tasks = want < MAX_TASKS ? (int64_t)want : MAX_TASKS;
  int64_t each = wk_ceil_div(tasks, g->batch[0] * g->batch[1]);
  if (p->k_blocks > 1 || p->tiles < 16 || g->b == WK_B_TO_PACK)
    p->groups = max64(p->groups, min64(count, wk_ceil_div(each, p->blocks)));
  if (p->k_blocks > 1) each = min64(each, FEW_TASKS); /* a block of k wants many tiles */
  if (g->b != WK_B_TO_PACK)
    p->blocks = max64(p->blocks, min64(wk_ceil_div(p->tiles, 8), wk_ceil_div(each, p->groups)));
  p->block_tiles = wk_ceil_div(p->tiles, p->blocks);
  p->blocks = wk_ceil_div(p->tiles, p->block_tiles);
  p->group_panels = wk_ceil_div(count, p->groups);
  p->groups = wk_ceil_div(count, p->group_panels);
}

static int64_t heads(const wk_simd *simd, const wk_gemm *g) {
  return wk_dot_heads(simd, &g->types);
}

static void plan_scratch(const wk_simd *simd, const wk_gemm *g, wk_gemm_plan *p) {
  int64_t width = simd->lanes * 4, at = 0, rows = p->block_tiles * p->rows;
  p->zero_at = at;
  if (g->rows == WK_ROWS_CONV) at += wk_ceil_div(g->kc * 4, width) * width;
  p->atab_at = at = (int64_t)wk_align_up((uint64_t)at, 64);
  at += (p->block_tiles + 1) * g->taps * p->rows * 8; /* prefetching reads one tile too far */
  p->rowtab_at = at = (int64_t)wk_align_up((uint64_t)at, 64);
  if (g->row_table) at += rows * 8 * (1 + g->epi->n_operands);
  p->part_at = at = (int64_t)wk_align_up((uint64_t)at, 64);
  if (p->k_blocks > 1) at += rows * g->panels.nv * width;
  p->pack_at = at = (int64_t)wk_align_up((uint64_t)at, 64);
  int64_t depth = p->k_blocks > 1 ? p->k_step : g->kc;
  if (g->b == WK_B_TO_PACK) at += (heads(simd, g) + depth + simd->lanes) * g->panels.nv * width;
  p->strip_at = at = (int64_t)wk_align_up((uint64_t)at, 64);
  if (g->rows == WK_ROWS_STRIP) at += wk_strip_bytes(simd, g, rows);
  p->wide_at = at = (int64_t)wk_align_up((uint64_t)at, 64);
  if (p->wide_row) at += rows * p->wide_row;
  p->scratch_bytes = (int64_t)wk_align_up((uint64_t)at, 64);
}

static void make_plan(const wk_simd *simd, const wk_gemm *g, wk_gemm_plan *p) {
  *p = (wk_gemm_plan){0};
  int64_t mr = min64(wk_tile_rows(simd, &g->types, g->panels.nv), g->m);
  p->tiles = wk_ceil_div(g->m, mr);
  p->base = g->m / p->tiles;
  p->taller = g->m % p->tiles;
  p->rows = p->base + (p->taller > 0);
  bool widens = wk_cpu_is_float(&g->types) && g->types.a != WK_F32;
  if (widens) p->wide_row = (int64_t)wk_align_up((uint64_t)g->kc * 4, LINE) + LINE;
  int64_t k_bytes = g->panels.nv * simd->lanes * b_word(g);
  bool packs = g->b == WK_B_TO_PACK;
  int64_t limit = packs ? 64 << 10 : min64(K_BLOCK_BYTES, simd->l2_bytes / 4);
  int64_t unit = g->taps > 1 ? g->kc : 4, units = wk_ceil_div(g->taps * g->kc, unit);
  int64_t blocks = p->tiles > 1 || packs ? wk_ceil_div(units * unit * k_bytes, limit) : 1;
  p->k_step = wk_ceil_div(units, min64(blocks, units)); /* in units: taps, or 4 elements */
  p->k_blocks = wk_ceil_div(units, p->k_step);
  if (g->taps == 1) p->k_step *= unit;
  plan_tasks(simd, g, p);
  plan_scratch(simd, g, p);
  int64_t most = SCRATCH_BYTES + (p->wide_row ? simd->l2_bytes / 4 : 0);
  while (p->scratch_bytes > most && p->block_tiles > 1 && g->b != WK_B_TO_PACK) {
    p->block_tiles -= wk_ceil_div(p->block_tiles, 8);
    p->blocks = wk_ceil_div(p->tiles, p->block_tiles);
    plan_scratch(simd, g, p);
  }
}

/* ---- emission -------------------------------------------------------------------------------- */

typedef struct {
  wk_llvm *e;
  const wk_gemm *g;
  const wk_gemm_plan *p;
  const char *id;                        /* names this product's functions */
  wk_ssa y, b, ops[WK_CPU_MAX_OPERANDS]; /* of the task's batch */
  wk_ssa scratch, tile0, tile1, row0;
  wk_ssa units, k_blocks; /* of k that are summed up: elements of one tap, or taps; blocks */
  wk_ssa columns;         /* NULL: all */
  wk_cut cut;             /* of the rows into tiles */
} driver;

static wk_ssa batch_base(driver *d, wk_ssa args, int i, wk_ssa b0, wk_ssa b1,
                         const int64_t stride[2]) {
  wk_llvm *e = d->e;
  wk_ssa base = wk_llvm_load(e, e->ptr, wk_llvm_off(e, args, 8 * i));
  wk_ssa off = wk_llvm_add(e, wk_llvm_mul(e, b0, stride[0]), wk_llvm_mul(e, b1, stride[1]));
  return wk_llvm_at(e, base, off);
}

/* One panel of a kind: the full ones, or the last one (narrower, or with columns masked off). */
typedef struct {
  int nv;
  bool masked;
  wk_ssa column;  /* first column */
  wk_ssa b_bytes; /* offset of the panel in the packed B */
  wk_ssa k_at;    /* first k unit of the block, in elements (one tap) or taps */
} panel;

static void fill_pair(driver *d, wk_ssa *pair, wk_ssa base, int table, int64_t ld, wk_ssa row) {
  wk_llvm *e = d->e;
  if (d->g->row_table) {
    int64_t rows = d->p->block_tiles * d->p->rows;
    wk_ssa local = wk_llvm_mul(e, wk_llvm_sub(e, row, d->row0), 8);
    pair[0] = base;
    pair[1] = wk_llvm_at(e, wk_llvm_off(e, d->scratch, d->p->rowtab_at + table * rows * 8), local);
    return;
  }
  pair[0] = wk_llvm_at(e, base, wk_llvm_mul(e, row, ld));
  pair[1] = wk_llvm_int(e, ld);
}

static void epilogue_args(driver *d, const panel *pn, wk_ssa row, wk_ssa *args) {
  wk_llvm *e = d->e;
  wk_ssa bytes = wk_llvm_mul(e, pn->column, wk_dtype_size(d->g->types.y));
  fill_pair(d, args + WK_TILE_Y, wk_llvm_at(e, d->y, bytes), 0, d->g->y_row, row);
  for (int i = 0; i < d->g->epi->n_operands; i++) {
    const wk_cpu_operand *o = &d->g->epi->operands[i];
    bytes = wk_llvm_mul(e, pn->column, wk_dtype_size(o->dtype));
    wk_ssa base = o->per_column ? wk_llvm_at(e, d->ops[i], bytes) : d->ops[i];
    fill_pair(d, args + WK_TILE_OPS + 2 * i, base, 1 + i, d->g->op_row[i], row);
  }
}

/* What a tile brings into level 2, 32 bytes per k: the first tiles share out the bytes that follow
 * this block of k in B (unless all of B stays there anyway), the others fetch the next tile's rows
 * of A where these follow each other. */
static wk_ssa prefetch_at(driver *d, const panel *pn, wk_ssa b, wk_ssa depth, wk_ssa tile) {
  wk_llvm *e = d->e;
  bool is_run = d->g->rows == WK_ROWS_PLAIN && d->p->k_blocks == 1 && !d->p->wide_row &&
                d->g->a_row == d->g->kc * 4; /* a window's taps overlap: little is new */
  wk_ssa rows_of_a = is_run ? LLVMConstNull(e->ptr) : b; /* b: nothing to fetch */
  int64_t k_bytes = pn->nv * e->simd->lanes * b_word(d->g);
  int64_t b_bytes = d->g->panels.columns * d->g->taps * d->g->kc * b_word(d->g);
  bool b_stays = d->p->groups == 1 && d->p->blocks > 1 && b_bytes <= e->simd->l2_bytes / 4;
  if (d->g->b != WK_B_PANELS || b_stays) return rows_of_a;
  wk_ssa step = wk_llvm_mul(e, depth, k_bytes);
  wk_ssa next = wk_llvm_at(e, b, step);
  wk_ssa share = LLVMBuildMul(e->b, wk_llvm_sub(e, tile, d->tile0), wk_llvm_mul(e, depth, 32), "");
  wk_ssa is_b = wk_llvm_lt(e, share, wk_llvm_mul(e, depth, k_bytes));
  return wk_llvm_select(e, is_b, wk_llvm_at(e, next, share), rows_of_a);
}

static void call_tile(driver *d, const panel *pn, int64_t rows, const wk_ssa *args) {
  wk_tile_key key = {.rows = (int)rows,
                     .nv = pn->nv,
                     .blocked = d->p->k_blocks > 1,
                     .masked = pn->masked,
                     .row_table = d->g->row_table,
                     .b = d->g->b,
                     .b_step = d->g->b == WK_B_ROWS      ? d->g->b_k
                               : d->g->b == WK_B_COLUMNS ? d->g->b_n
                                                         : 0,
                     .k = d->g->b == WK_B_COLUMNS ? d->g->k : 0,
                     .own_heads = d->g->b == WK_B_TO_PACK && heads(d->e->simd, d->g) > 0,
                     .types = tile_types(d->g),
                     .epi = d->g->epi};
  wk_llvm_call(d->e, wk_tile_codegen(d->e, &key), args, WK_TILE_OPS + 2 * d->g->epi->n_operands);
}

/* `rows`: that the tile has; the next height that there is does, as rows behind them may be
 * anything. */
static void call_tile_of(driver *d, const panel *pn, wk_ssa rows, const wk_ssa *args) {
  wk_llvm *e = d->e;
  wk_llvm_branch s[WK_CUT_HEIGHTS];
  int64_t heights[WK_CUT_HEIGHTS];
  int n = wk_cut_heights(d->p, heights);
  for (int i = 0; i + 1 < n; i++) {
    wk_llvm_if(e, &s[i], wk_llvm_lt(e, rows, wk_llvm_int(e, heights[i] + 1)));
    call_tile(d, pn, heights[i], args);
    wk_llvm_else(e, &s[i]);
  }
  call_tile(d, pn, heights[n - 1], args);
  for (int i = n - 1; i-- > 0;) wk_llvm_endif(e, &s[i]);
}

static void tile_loop(driver *d, const panel *pn, wk_ssa b, wk_ssa flags) {
  wk_llvm *e = d->e;
  const wk_gemm *g = d->g;
  const wk_gemm_plan *p = d->p;
  int64_t astep = p->rows * 8;
  bool by_tap = g->taps > 1, is_cut = p->k_blocks > 1;
  wk_ssa extent =
      is_cut ? wk_llvm_min(e, wk_llvm_int(e, p->k_step), wk_llvm_sub(e, d->units, pn->k_at))
             : d->units;
  wk_ssa zero = wk_llvm_int(e, 0), args[WK_TILE_MAX_ARGS];
  wk_ssa depth = by_tap ? wk_llvm_mul(e, extent, g->kc) : extent;
  args[WK_TILE_TAPS] = by_tap ? extent : wk_llvm_int(e, 1);
  args[WK_TILE_KC] = by_tap ? wk_llvm_int(e, g->kc) : extent;
  args[WK_TILE_ASTEP] = wk_llvm_int(e, astep);
  args[WK_TILE_ANEXT] = wk_llvm_int(e, g->taps * astep);
  args[WK_TILE_AOFF] = by_tap ? zero : wk_llvm_mul(e, pn->k_at, 4);
  args[WK_TILE_B] = b;
  args[WK_TILE_FLAGS] = flags;
  args[WK_TILE_LANES] = wk_llvm_int(e, (g->n - 1) % e->simd->lanes + 1);
  wk_ssa table = wk_llvm_off(e, d->scratch, p->atab_at);
  if (by_tap) table = wk_llvm_at(e, table, wk_llvm_mul(e, pn->k_at, astep));
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, d->tile0, d->tile1, 1, NULL, 0);
  wk_ssa local = wk_llvm_sub(e, l.i, d->tile0), row = wk_cut_first(e, &d->cut, l.i);
  args[WK_TILE_ATAB] = wk_llvm_at(e, table, wk_llvm_mul(e, local, g->taps * astep));
  args[WK_TILE_PF] = prefetch_at(d, pn, b, depth, l.i);
  wk_ssa part = wk_llvm_mul(e, local, p->rows * pn->nv * e->simd->lanes * 4);
  args[WK_TILE_PART] = wk_llvm_at(e, wk_llvm_off(e, d->scratch, p->part_at), part);
  epilogue_args(d, pn, row, args);
  if (g->row_limit) {
    call_tile_of(d, pn, wk_cut_live(e, &d->cut, l.i), args);
  } else if (p->taller > 0) {
    wk_llvm_branch s;
    wk_llvm_if(e, &s, wk_llvm_lt(e, l.i, wk_llvm_int(e, p->taller)));
    call_tile(d, pn, p->rows, args);
    wk_llvm_else(e, &s);
    call_tile(d, pn, p->base, args);
    wk_llvm_endif(e, &s);
  } else {
    call_tile(d, pn, p->base, args);
  }
  wk_llvm_end(e, &l, NULL);
}

/* The panel's B for the block of k at pn->k_at: where it lies, or packed into scratch now. */
static wk_ssa panel_block(driver *d, const panel *pn) {
  wk_llvm *e = d->e;
  const wk_gemm *g = d->g;
  int64_t k_bytes = pn->nv * e->simd->lanes * b_word(g), unit = g->taps > 1 ? g->kc : 1;
  int64_t word = wk_dot_unit(&g->types), element = wk_dtype_size(g->types.b);
  int64_t first = heads(e->simd, g) * k_bytes;
  if (g->b == WK_B_ROWS || g->b == WK_B_COLUMNS)
    return wk_llvm_at(e, d->b, wk_llvm_mul(e, pn->column, g->b_n));
  if (g->b != WK_B_TO_PACK) {
    wk_ssa at = wk_llvm_off(e, wk_llvm_at(e, d->b, pn->b_bytes), first);
    return wk_llvm_at(e, at, wk_llvm_mul(e, pn->k_at, k_bytes * unit));
  }
  wk_ssa src = wk_llvm_at(
      e, d->b,
      wk_llvm_add(e, wk_llvm_mul(e, pn->k_at, word * g->b_k), wk_llvm_mul(e, pn->column, g->b_n)));
  wk_ssa dst = wk_llvm_off(e, d->scratch, d->p->pack_at + first);
  wk_ssa depth = wk_llvm_min(e, wk_llvm_int(e, d->p->k_step), wk_llvm_sub(e, d->units, pn->k_at));
  if (d->p->k_blocks == 1) depth = d->units;
  wk_ssa left = wk_llvm_sub(e, wk_llvm_int(e, g->n), pn->column);
  bool is_straight = g->b_n == element;
  wk_ssa elements = wk_llvm_sub(e, wk_llvm_int(e, g->k), wk_llvm_mul(e, pn->k_at, word));
  elements = wk_llvm_min(e, wk_llvm_mul(e, depth, word), elements);
  wk_ssa args[] = {src, dst, depth, wk_llvm_int(e, is_straight ? g->b_k : g->b_n), left, elements};
  wk_llvm_call(e, wk_pack_codegen(e, &g->types, pn->nv, pn->masked, !is_straight), args, 6);
  return dst;
}

static wk_ssa as_int(wk_llvm *e, wk_ssa cond) { return LLVMBuildZExt(e->b, cond, e->i64, ""); }

/* Block `index` of k of one panel (NULL: there is only one). Flags tell the tile: not the first
 * block, not the last. */
static void k_block(driver *d, panel *pn, wk_ssa index) {
  wk_llvm *e = d->e;
  wk_ssa zero = wk_llvm_int(e, 0), flags = zero;
  pn->k_at = zero;
  if (d->p->k_blocks > 1) {
    pn->k_at = wk_llvm_mul(e, index, d->p->k_step);
    wk_ssa last = wk_llvm_sub(e, d->k_blocks, wk_llvm_int(e, 1));
    wk_ssa more = as_int(e, wk_llvm_lt(e, index, last));
    flags = wk_llvm_add(e, as_int(e, wk_llvm_lt(e, zero, index)), wk_llvm_mul(e, more, 2));
  }
  tile_loop(d, pn, panel_block(d, pn), flags);
}

static void panel_body(driver *d, panel *pn) {
  wk_llvm *e = d->e;
  if (d->p->k_blocks == 1) {
    k_block(d, pn, NULL);
    return;
  }
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), d->k_blocks, 1, NULL, 0);
  k_block(d, pn, l.i);
  wk_llvm_end(e, &l, NULL);
}

static void panel_loops(driver *d, wk_ssa group) {
  wk_llvm *e = d->e;
  const wk_gemm *g = d->g;
  const wk_panels *ps = &g->panels;
  bool has_ragged = g->n % e->simd->lanes != 0;
  /* Only the very last panel can need a mask; it is then emitted apart, as is a narrower one. */
  int64_t plain = ps->panels - (has_ragged && ps->nv_tail == 0);
  int64_t width = ps->nv * e->simd->lanes;
  int64_t bytes = (heads(e->simd, g) + g->taps * g->kc) * width * b_word(g);
  wk_ssa p0 = wk_llvm_mul(e, group, d->p->group_panels);
  wk_ssa p1 = wk_llvm_add(e, p0, wk_llvm_int(e, d->p->group_panels));
  if (plain > 0) {
    wk_llvm_loop l;
    wk_ssa end = wk_llvm_min(e, p1, wk_llvm_int(e, plain));
    if (d->columns) end = wk_llvm_min(e, end, wk_cut_up(e, d->columns, width));
    wk_llvm_begin(e, &l, p0, end, 1, NULL, 0);
    panel pn = {
        .nv = ps->nv, .column = wk_llvm_mul(e, l.i, width), .b_bytes = wk_llvm_mul(e, l.i, bytes)};
    panel_body(d, &pn);
    wk_llvm_end(e, &l, NULL);
  }
  if (!has_ragged && ps->nv_tail == 0) return;
  panel pn = {.nv = ps->nv_tail ? ps->nv_tail : ps->nv,
              .masked = has_ragged,
              .column = wk_llvm_int(e, plain * width),
              .b_bytes = wk_llvm_int(e, plain * bytes)};
  wk_llvm_branch s;
  wk_llvm_if(e, &s, LLVMBuildICmp(e->b, LLVMIntEQ, group, wk_llvm_int(e, d->p->groups - 1), ""));
  panel_body(d, &pn);
  wk_llvm_endif(e, &s);
}

static wk_ssa limit(const driver *d, wk_ssa args, int which) {
  wk_llvm *e = d->e;
  int64_t arg = 3 + d->g->epi->n_operands + which - 1;
  wk_ssa at = wk_llvm_load(e, e->ptr, wk_llvm_off(e, args, 8 * arg)), zero = wk_llvm_int(e, 0);
  wk_ssa given = wk_llvm_load(e, e->i64, at);
  return wk_llvm_select(e, wk_llvm_lt(e, given, zero), zero, given);
}

/* Behind the limits. */
static wk_ssa list_of(const driver *d, wk_ssa args) {
  const wk_gemm *g = d->g;
  int64_t n = (g->row_limit != 0) + (g->column_limit != 0) + (g->fold_limit != 0);
  return wk_llvm_load(d->e, d->e->ptr, wk_llvm_off(d->e, args, 8 * (3 + g->epi->n_operands + n)));
}

/* What is summed up; of its blocks there is one at least, which writes the result. */
static void set_depth(driver *d, wk_ssa args) {
  wk_llvm *e = d->e;
  const wk_gemm *g = d->g;
  d->units = wk_llvm_int(e, g->taps > 1 ? g->taps : g->kc);
  d->k_blocks = wk_llvm_int(e, d->p->k_blocks);
  d->columns = g->column_limit ? limit(d, args, g->column_limit) : NULL;
  if (!g->fold_limit) return;
  d->units = wk_llvm_min(e, d->units, limit(d, args, g->fold_limit));
  wk_ssa one = wk_llvm_int(e, 1), blocks = wk_cut_up(e, d->units, d->p->k_step);
  d->k_blocks = wk_llvm_select(e, wk_llvm_lt(e, blocks, one), one, blocks);
}

static void set_cut(driver *d, wk_ssa args) {
  const wk_gemm *g = d->g;
  d->cut = wk_cut_whole(d->e, d->p);
  if (!g->row_limit) return;
  wk_ssa most = wk_llvm_int(d->e, g->m / g->limit_rows); /* the size may be any number */
  wk_ssa live = wk_llvm_min(d->e, limit(d, args, g->row_limit), most);
  d->cut = wk_cut_of(d->e, d->p, wk_llvm_mul(d->e, live, g->limit_rows));
}

static void task_body(driver *d, wk_ssa args, wk_ssa index) {
  wk_llvm *e = d->e;
  const wk_gemm *g = d->g;
  const wk_gemm_plan *p = d->p;
  wk_ssa block = wk_llvm_mod(e, index, p->blocks), rest = wk_llvm_div(e, index, p->blocks);
  wk_ssa group = wk_llvm_mod(e, rest, p->groups), batch = wk_llvm_div(e, rest, p->groups);
  wk_ssa b0 = wk_llvm_div(e, batch, g->batch[1]), b1 = wk_llvm_mod(e, batch, g->batch[1]);
  d->y = batch_base(d, args, 0, b0, b1, g->y_batch);
  wk_ssa a = batch_base(d, args, 1, b0, b1, g->a_batch);
  d->b = batch_base(d, args, 2, b0, b1, g->b_batch);
  for (int i = 0; i < g->epi->n_operands; i++)
    d->ops[i] = batch_base(d, args, 3 + i, b0, b1, g->op_batch[i]);
  d->tile0 = wk_llvm_mul(e, block, p->block_tiles);
  d->tile1 = wk_llvm_min(e, wk_llvm_add(e, d->tile0, wk_llvm_int(e, p->block_tiles)),
                         wk_llvm_int(e, p->tiles));
  wk_llvm_branch some;
  set_depth(d, args);
  set_cut(d, args);
  if (g->row_limit) {
    d->tile1 = wk_llvm_min(e, d->tile1, d->cut.tiles);
    wk_llvm_if(e, &some, wk_llvm_lt(e, d->tile0, d->tile1));
  }
  d->row0 = wk_cut_first(e, &d->cut, d->tile0);
  const wk_ssa rows_args[] = {[WK_ROWS_SCRATCH] = d->scratch,
                              [WK_ROWS_A] = a,
                              [WK_ROWS_TILE0] = d->tile0,
                              [WK_ROWS_TILE1] = d->tile1,
                              [WK_ROWS_ROW0] = d->row0,
                              [WK_ROWS_ROW1] = wk_cut_first(e, &d->cut, d->tile1),
                              [WK_ROWS_BASE] = d->cut.base,
                              [WK_ROWS_TALLER] = d->cut.taller,
                              [WK_ROWS_LIST] = g->has_list ? list_of(d, args) : NULL};
  wk_llvm_call(e, wk_rows_codegen(e, g, p, d->id), rows_args, wk_rows_args(g));
  panel_loops(d, group);
  if (g->row_limit) wk_llvm_endif(e, &some);
}

static uint64_t identity(const wk_gemm *g) {
  wk_gemm copy; /* bytes, padding included: builders zero the whole struct */
  memcpy(&copy, g, sizeof copy);
  copy.epi = NULL;
  int64_t strides[WK_CPU_MAX_OPERANDS][3] = {{0}};
  for (int i = 0; i < g->epi->n_operands; i++)
    memcpy(strides[i], g->epi->operands[i].stride, sizeof strides[i]);
  return wk_hash64(strides, sizeof strides, wk_hash64(&copy, sizeof copy, 0));
}

wk_status wk_gemm_codegen(wk_llvm *e, const wk_gemm *g, wk_cpu_kernel *out) {
  wk_gemm_plan p;
  make_plan(e->simd, g, &p);
  *out = (wk_cpu_kernel){.n_tasks = g->batch[0] * g->batch[1] * p.groups * p.blocks,
                         .scratch_bytes = p.scratch_bytes};
  char name[160], id[128], epi[64];
  wk_epilogue_name(g->epi, epi);
  snprintf(id, sizeof id, "%s.%016llx.%s", e->simd->name, (unsigned long long)identity(g), epi);
  snprintf(name, sizeof name, "wk.gemm.%s", id);
  out->task = LLVMGetNamedFunction(e->mod, name);
  if (out->task) return NULL;
  wk_llvm_place place = wk_llvm_save(e);
  LLVMTypeRef types[] = {e->ptr, e->ptr, e->i64, e->i64};
  out->task = wk_llvm_function(e, name, types, 4);
  wk_llvm_keep_simple(e, out->task); /* runs once per tile: not worth the compile time */
  driver d = {.e = e, .g = g, .p = &p, .id = id, .scratch = LLVMGetParam(out->task, 1)};
  if (g->rows == WK_ROWS_CONV)
    wk_fill_codegen(e, wk_llvm_off(e, d.scratch, p.zero_at), wk_llvm_int(e, g->kc * 4),
                    g->types.outside);
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, LLVMGetParam(out->task, 2), LLVMGetParam(out->task, 3), 1, NULL, 0);
  task_body(&d, LLVMGetParam(out->task, 0), l.i);
  wk_llvm_end(e, &l, NULL);
  wk_llvm_return(e);
  wk_llvm_restore(e, place);
  return NULL;
}
