/* SPDX-License-Identifier: Apache-2.0 */
/* A task is one group, one panel of columns, a range of positions and one of images. Per block of k
 * it packs the panel, then for each position writes the pointers of the block, which all tiles of
 * images there share; sums of blocks wait in scratch. */
#include "targets/cpu/kernels/window.h"
#include "targets/cpu/kernels/depthwise.h"
#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/kernels/rows.h"

#include <stdio.h>
#include <string.h>

enum {
  K_STEP = 64,       /* k of a block: its panel and pixels stay in level 1, … */
  BLOCK_STEPS = 1536, /* … but a tile has so many multiply-adds to do, … */
  K_WHOLE = 512,     /* … and so many k are one block */
  TASK_TILES = 64,   /* tiles whose sums wait */
  FEW_TILES = 24,    /* worth packing a panel for */
  WANTED_TASKS = 8,  /* to share out, where they are large enough */
  TASK_FLOPS = 3000000,
  POINTERS = 8,
  LINE = 64
};

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- which kernels --------------------------------------------------------------------------- */

/* Costs are multiply-adds of a full tile: what an element costs to be copied into another order,
 * and in strips few planes at a time or one by one; a pointer of a position, for each k and panel;
 * in steps along k, what reading the pointers of a tap and calling a tile are worth, and in rows,
 * what reading a panel is. */
enum { COST_COPY = 24, COST_LINE = 8, COST_ACROSS = 64, COST_POINTER = 32 };
enum { COST_TAP = 2, COST_CALL = 3, COST_ROW = 2, FEW_PLANES = 4 };
enum { COST_DEPTHWISE = 4, COLUMNS = 16 }; /* no element is used twice; of a tile at least */
#define COST_WINDOW 1.1 /* pixels come from further away than weights */

/* Columns of tiles for each output channel: a group of few channels leaves some empty. */
static double emptiness(const wk_cpu_conv_desc *d) {
  int64_t width = d->cout / d->group;
  return (double)(wk_ceil_div(width, COLUMNS) * COLUMNS) / (double)width;
}

static double cost_of_rows(const wk_cpu_conv_desc *d, double macs, double x) {
  int64_t cin = d->cin / d->group, run = d->dil_w == 1 ? cin * d->kw : cin; /* k of a tap */
  /* strips that have a line */
  double again = (double)min64(d->oh, wk_ceil_div(d->kh, d->stride_h));
  if (wk_depthwise_fits(d)) return macs * COST_DEPTHWISE;
  double cost = macs * (1 + (double)COST_TAP / (double)run) * emptiness(d);
  if (cin == 1 ? d->x_stride[2] <= 1 : d->x_stride[3] == 1) return cost;
  bool is_quick = d->x_stride[2] == 1 && cin <= FEW_PLANES; /* rows.c interleaves those */
  return cost + (is_quick ? COST_LINE : COST_ACROSS) * x * again;
}

/* Of the convolution: multiply-adds, elements of x. */
typedef struct {
  double macs, x;
} amount;

static amount amount_of(const wk_cpu_conv_desc *d) {
  double depth = (double)(d->cin / d->group) * (double)d->kh * (double)d->kw;
  double pixels = (double)d->n * (double)d->oh * (double)d->ow;
  double x = (double)d->n * (double)d->h * (double)d->w * (double)d->cin;
  return (amount){pixels * (double)d->cout * depth, x};
}

double wk_cpu_window_cost(const wk_cpu_conv_desc *d, int64_t copied) {
  enum { PANEL = 64 };
  double macs = amount_of(d).macs, n = (double)d->n, positions = (double)d->oh * (double)d->ow;
  double depth = macs / (n * positions * (double)d->cout);
  double panels = (double)d->group * (double)wk_ceil_div(d->cout / d->group, PANEL);
  double cost = macs * (COST_WINDOW + COST_ROW / n + COST_CALL / depth) * emptiness(d);
  return cost + COST_POINTER * panels * positions * depth + COST_COPY * (double)copied;
}

static double cost_of_window(const wk_cpu_conv_desc *d) {
  bool is_copied = d->n > 1 && d->x_stride[0] != 1;
  return wk_cpu_window_cost(d, is_copied ? d->n * d->h * d->w * d->cin : 0);
}

static bool fits(const wk_cpu_conv_desc *d) {
  enum { MAX_IMAGES = 1 << 14 }; /* a row of zeros is in scratch */
  return d->n <= MAX_IMAGES;
}

bool wk_cpu_window_pays(const wk_cpu_conv_desc *d) {
  amount all = amount_of(d);
  return fits(d) && cost_of_window(d) < cost_of_rows(d, all.macs, all.x);
}

double wk_cpu_conv_cost(const wk_cpu_conv_desc *d) {
  amount all = amount_of(d);
  return wk_cpu_window_pays(d) ? cost_of_window(d) : cost_of_rows(d, all.macs, all.x);
}

/* ---- plan ------------------------------------------------------------------------------------ */

/* Images go into tiles of equal height, the first `taller` of which have base + 1. */
typedef struct {
  wk_panels panels;
  int64_t rows, tiles, base, taller;
  int64_t depth, k_step, k_blocks;
  int64_t positions, position_step, position_blocks, tile_step, tile_blocks;
  int64_t count; /* panels, the last, narrower one included */
  int64_t zero_at, table_at, pack_at, part_at, scratch_bytes;
} plan;

/* Images are shared out before positions, which read the same pixels. */
static void plan_tasks(const wk_cpu_conv_desc *d, plan *p) {
  double flops = 2.0 * (double)(d->n * p->positions) * (double)d->cout * (double)p->depth;
  double large = flops / TASK_FLOPS;
  int64_t want = large < WANTED_TASKS ? (int64_t)large : WANTED_TASKS;
  want = wk_ceil_div(max64(1, want), d->group * p->count);
  want = min64(want, wk_ceil_div(p->tiles * p->positions, FEW_TILES));
  p->tile_blocks = min64(want, p->tiles);
  p->tile_step = min64(wk_ceil_div(p->tiles, p->tile_blocks), TASK_TILES);
  p->tile_blocks = wk_ceil_div(p->tiles, p->tile_step);
  p->position_blocks = min64(p->positions, wk_ceil_div(want, p->tile_blocks));
  p->position_step = wk_ceil_div(p->positions, p->position_blocks);
  p->position_step = max64(1, min64(p->position_step, TASK_TILES / p->tile_step));
  p->position_blocks = wk_ceil_div(p->positions, p->position_step);
}

static int64_t take(int64_t *at, int64_t bytes) {
  int64_t here = *at;
  *at = (int64_t)wk_align_up((uint64_t)(here + bytes), 64);
  return here;
}

static plan make_plan(const wk_simd *simd, const wk_cpu_conv_desc *d) {
  static const wk_cpu_types floats = {WK_F32, WK_F32, WK_F32, 0};
  plan p = {.panels = wk_panels_choose(simd, &floats, d->cout / d->group)};
  int64_t width = (int64_t)p.panels.nv * simd->lanes * 4, at = 0;
  p.count = p.panels.panels + (p.panels.nv_tail > 0);
  p.tiles = wk_ceil_div(d->n, wk_tile_rows(simd, &floats, p.panels.nv));
  p.base = d->n / p.tiles;
  p.taller = d->n % p.tiles;
  p.rows = p.base + (p.taller > 0);
  p.positions = d->oh * d->ow;
  p.depth = d->cin / d->group * d->kh * d->kw;
  int64_t step = max64(K_STEP, BLOCK_STEPS / (p.rows * p.panels.nv));
  p.k_blocks = p.depth <= K_WHOLE ? 1 : wk_ceil_div(p.depth, step);
  p.k_step = wk_ceil_div(p.depth, p.k_blocks);
  p.k_blocks = wk_ceil_div(p.depth, p.k_step);
  plan_tasks(d, &p);
  p.zero_at = take(&at, wk_ceil_div(d->n, simd->lanes) * simd->lanes * 4);
  p.table_at = take(&at, (p.k_step + POINTERS) * 8);
  p.pack_at = take(&at, (p.k_step + simd->lanes) * width);
  p.part_at = take(&at, p.k_blocks > 1 ? p.position_step * p.tile_step * p.rows * width : 0);
  p.scratch_bytes = at;
  return p;
}

/* ---- emission -------------------------------------------------------------------------------- */

typedef struct {
  wk_llvm *e;
  const wk_cpu_conv_desc *d;
  const wk_cpu_epilogue *epi;
  const plan *p;
  int64_t step; /* of w */
  wk_ssa scratch, x, w, y, ops[WK_CPU_MAX_OPERANDS]; /* of the task's group */
  wk_ssa pointers; /* the function that writes them */
  wk_ssa position0, position1, tile0, tile1;
} driver;

/* A panel of the task, and the block of k at hand. */
typedef struct {
  int nv;
  bool masked;
  wk_ssa column, k0, k1, flags;
} panel;

static wk_ssa scaled(wk_llvm *e, wk_ssa i, int64_t scale, int64_t add) {
  return wk_llvm_add(e, wk_llvm_mul(e, i, scale), wk_llvm_int(e, add));
}

static wk_ssa repeated(wk_llvm *e, wk_ssa x) { return wk_vector_splat(e, POINTERS, x); }

/* A vector of so many steps from `first`. */
static wk_ssa counted(wk_llvm *e, wk_ssa first, int64_t step) {
  wk_ssa counting[POINTERS];
  for (int i = 0; i < POINTERS; i++) counting[i] = wk_llvm_int(e, i * step);
  return LLVMBuildAdd(e->b, LLVMConstVector(counting, POINTERS), repeated(e, first), "");
}

/* A function that fills the table of pointers for k0 <= k < k1 at position (oh, ow). k counts
 * (channel, r, s); a line of x is a (channel, r). Writes up to POINTERS - 1 more. */
enum { SCRATCH, X, K0, K1, OH, OW, POINTERS_ARGS };

/* `count` pixels of one line, from column `first` (may lie outside) on. */
static void line_pointers(driver *v, wk_ssa slot, wk_ssa line, wk_ssa exists, wk_ssa first,
                          wk_ssa count) {
  wk_llvm *e = v->e;
  LLVMBuilderRef b = e->b;
  int64_t pixel = v->d->x_stride[2] * 4, step = v->d->dil_w;
  wk_ssa at = wk_llvm_add(e, LLVMBuildPtrToInt(b, line, e->i64, ""), wk_llvm_mul(e, first, pixel));
  wk_ssa zeros = wk_llvm_off(e, LLVMGetParam(e->fn, SCRATCH), v->p->zero_at);
  zeros = repeated(e, LLVMBuildPtrToInt(b, zeros, e->i64, ""));
  wk_ssa width = repeated(e, wk_llvm_int(e, v->d->w)), here = repeated(e, exists);
  wk_ssa init[] = {counted(e, first, step), counted(e, at, step * pixel)};
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), count, POINTERS, init, 2);
  wk_ssa in = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntULT, l.phi[0], width, ""), here, "");
  wk_llvm_vstore(e, LLVMBuildSelect(b, in, l.phi[1], zeros, ""),
                 wk_llvm_at(e, slot, wk_llvm_mul(e, l.i, 8)), NULL);
  wk_ssa next[] = {
      LLVMBuildAdd(b, l.phi[0], repeated(e, wk_llvm_int(e, POINTERS * step)), ""),
      LLVMBuildAdd(b, l.phi[1], repeated(e, wk_llvm_int(e, POINTERS * step * pixel)), "")};
  wk_llvm_end(e, &l, next);
}

static void emit_pointers(driver *v) {
  wk_llvm *e = v->e;
  const wk_cpu_conv_desc *d = v->d;
  wk_ssa arg[POINTERS_ARGS], zero = wk_llvm_int(e, 0);
  LLVMGetParams(e->fn, arg);
  wk_ssa table = wk_llvm_off(e, arg[SCRATCH], v->p->table_at);
  wk_ssa ih0 = scaled(e, arg[OH], d->stride_h, -d->pad_h);
  wk_ssa iw0 = scaled(e, arg[OW], d->stride_w, -d->pad_w);
  wk_ssa last = wk_llvm_div(e, wk_llvm_add(e, arg[K1], wk_llvm_int(e, d->kw - 1)), d->kw);
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_div(e, arg[K0], d->kw), last, 1, NULL, 0);
  wk_ssa k = wk_llvm_mul(e, l.i, d->kw), whole = wk_llvm_int(e, d->kw);
  wk_ssa channel = wk_llvm_div(e, l.i, d->kh), r = wk_llvm_mod(e, l.i, d->kh);
  wk_ssa s0 = wk_llvm_sub(e, arg[K0], k), s1 = wk_llvm_min(e, wk_llvm_sub(e, arg[K1], k), whole);
  s0 = wk_llvm_select(e, wk_llvm_lt(e, s0, zero), zero, s0);
  wk_ssa ih = wk_llvm_add(e, ih0, wk_llvm_mul(e, r, d->dil_h));
  wk_ssa line = wk_llvm_add(e, wk_llvm_mul(e, channel, d->x_stride[3] * 4),
                            wk_llvm_mul(e, ih, d->x_stride[1] * 4));
  wk_ssa slot = wk_llvm_mul(e, wk_llvm_sub(e, wk_llvm_add(e, k, s0), arg[K0]), 8);
  line_pointers(v, wk_llvm_at(e, table, slot), wk_llvm_at(e, arg[X], line),
                wk_llvm_in(e, ih, d->h), wk_llvm_add(e, iw0, wk_llvm_mul(e, s0, d->dil_w)),
                wk_llvm_sub(e, s1, s0));
  wk_llvm_end(e, &l, NULL);
}

static wk_ssa pointers_function(driver *v, const char *id) {
  wk_llvm *e = v->e;
  char name[200];
  snprintf(name, sizeof name, "%s.pointers", id);
  wk_llvm_place place = wk_llvm_save(e);
  const LLVMTypeRef types[] = {e->ptr, e->ptr, e->i64, e->i64, e->i64, e->i64};
  wk_ssa fn = wk_llvm_function(e, name, types, POINTERS_ARGS);
  wk_llvm_keep_apart(e, fn);
  emit_pointers(v);
  wk_llvm_return(e);
  wk_llvm_restore(e, place);
  return fn;
}

static void pack_block(driver *v, const panel *pn) {
  wk_llvm *e = v->e;
  const wk_cpu_conv_desc *d = v->d;
  int64_t size = wk_dtype_size(d->types.b);
  wk_ssa from = wk_llvm_add(e, wk_llvm_mul(e, pn->k0, v->step * size),
                            wk_llvm_mul(e, pn->column, size));
  wk_ssa depth = wk_llvm_sub(e, pn->k1, pn->k0);
  wk_ssa left = wk_llvm_sub(e, wk_llvm_int(e, d->cout / d->group), pn->column);
  wk_ssa args[] = {wk_llvm_at(e, v->w, from), wk_llvm_off(e, v->scratch, v->p->pack_at), depth,
                   wk_llvm_int(e, v->step * size), left, depth};
  wk_llvm_call(e, wk_pack_codegen(e, &d->types, pn->nv, pn->masked, false), args, 6);
}

/* Address of an operand, or of y, at a position, an image and a column. */
static wk_ssa place(driver *v, wk_ssa base, const int64_t s[3], wk_dtype t, wk_ssa oh, wk_ssa ow,
                    wk_ssa image, wk_ssa column) {
  wk_llvm *e = v->e;
  wk_ssa at = wk_llvm_add(e, wk_llvm_mul(e, oh, s[1]), wk_llvm_mul(e, ow, s[2]));
  at = wk_llvm_add(e, at, wk_llvm_mul(e, image, s[0]));
  if (column) at = wk_llvm_add(e, at, column);
  return wk_llvm_at(e, base, wk_llvm_mul(e, at, wk_dtype_size(t)));
}

static void call_tile(driver *v, const panel *pn, int64_t rows, const wk_ssa *args) {
  wk_tile_key key = {.rows = (int)rows,
                     .nv = pn->nv,
                     .blocked = v->p->k_blocks > 1,
                     .masked = pn->masked,
                     .by_k = true,
                     .types = {WK_F32, WK_F32, v->d->types.y, 0},
                     .epi = v->epi};
  wk_llvm_call(v->e, wk_tile_codegen(v->e, &key), args, WK_TILE_OPS + 2 * v->epi->n_operands);
}

/* The tiles of a block bring in what the next one reads, a line of each k at a time: first the
 * panel's part of w, then the task's part of x, where the window's lines follow each other. */
static void prefetch_at(driver *v, const panel *pn, wk_ssa unit, wk_ssa *args) {
  wk_llvm *e = v->e;
  const wk_cpu_conv_desc *d = v->d;
  int64_t size = wk_dtype_size(d->types.b), row = v->step * size;
  int64_t pixel = d->dil_w * d->x_stride[2] * 4;
  int64_t lines = wk_ceil_div((int64_t)pn->nv * e->simd->lanes * size, LINE);
  wk_ssa w = wk_llvm_at(e, v->w, wk_llvm_add(e, wk_llvm_mul(e, pn->k1, row),
                                             wk_llvm_mul(e, pn->column, size)));
  wk_ssa x = wk_llvm_load(e, e->ptr, wk_llvm_off(e, v->scratch, v->p->table_at));
  wk_ssa ahead = wk_llvm_mul(e, wk_llvm_sub(e, pn->k1, pn->k0), pixel);
  ahead = wk_llvm_add(e, ahead, wk_llvm_mul(e, v->tile0, v->p->rows * 4));
  wk_ssa is_w = wk_llvm_lt(e, unit, wk_llvm_int(e, lines));
  wk_ssa other = wk_llvm_sub(e, unit, wk_llvm_int(e, lines));
  args[WK_TILE_PF] = wk_llvm_select(e, is_w, wk_llvm_at(e, w, wk_llvm_mul(e, unit, LINE)),
                                    wk_llvm_at(e, wk_llvm_at(e, x, ahead),
                                               wk_llvm_mul(e, other, LINE)));
  args[WK_TILE_ANEXT] = wk_llvm_select(e, is_w, wk_llvm_int(e, row), wk_llvm_int(e, pixel));
}

static void tile_at(driver *v, const panel *pn, wk_ssa position, wk_ssa oh, wk_ssa ow,
                    wk_ssa tile) {
  wk_llvm *e = v->e;
  const plan *p = v->p;
  wk_ssa args[WK_TILE_MAX_ARGS], zero = wk_llvm_int(e, 0);
  wk_ssa tall = wk_llvm_min(e, tile, wk_llvm_int(e, p->taller));
  wk_ssa image = wk_llvm_add(e, wk_llvm_mul(e, tile, p->base), tall);
  for (int i = 0; i < WK_TILE_OPS; i++) args[i] = zero;
  args[WK_TILE_ATAB] = wk_llvm_off(e, v->scratch, p->table_at);
  args[WK_TILE_AOFF] = wk_llvm_mul(e, image, 4);
  args[WK_TILE_KC] = wk_llvm_sub(e, pn->k1, pn->k0);
  args[WK_TILE_B] = wk_llvm_off(e, v->scratch, p->pack_at);
  wk_ssa local = wk_llvm_mul(e, wk_llvm_sub(e, position, v->position0), p->tile_step);
  local = wk_llvm_add(e, local, wk_llvm_sub(e, tile, v->tile0));
  prefetch_at(v, pn, local, args);
  local = wk_llvm_mul(e, local, p->rows * p->panels.nv * e->simd->lanes * 4);
  args[WK_TILE_PART] = wk_llvm_at(e, wk_llvm_off(e, v->scratch, p->part_at), local);
  args[WK_TILE_FLAGS] = pn->flags;
  args[WK_TILE_LANES] = wk_llvm_int(e, (v->d->cout / v->d->group - 1) % e->simd->lanes + 1);
  const int64_t *s = v->d->y_stride;
  args[WK_TILE_Y] = place(v, v->y, s, v->d->types.y, oh, ow, image, pn->column);
  args[WK_TILE_LDY] = wk_llvm_int(e, s[0] * wk_dtype_size(v->d->types.y));
  for (int i = 0; i < v->epi->n_operands; i++) {
    const wk_cpu_operand *o = &v->epi->operands[i];
    wk_ssa column = o->per_column ? pn->column : NULL;
    args[WK_TILE_OPS + 2 * i] =
        place(v, v->ops[i], o->stride, o->dtype, oh, ow, image, column);
    args[WK_TILE_OPS + 2 * i + 1] = wk_llvm_int(e, o->stride[0] * wk_dtype_size(o->dtype));
  }
  if (p->taller == 0) {
    call_tile(v, pn, p->base, args);
    return;
  }
  wk_llvm_branch b;
  wk_llvm_if(e, &b, wk_llvm_lt(e, tile, wk_llvm_int(e, p->taller)));
  call_tile(v, pn, p->base + 1, args);
  wk_llvm_else(e, &b);
  call_tile(v, pn, p->base, args);
  wk_llvm_endif(e, &b);
}

static wk_ssa as_int(wk_llvm *e, wk_ssa cond) { return LLVMBuildZExt(e->b, cond, e->i64, ""); }

static void k_block(driver *v, panel *pn, wk_ssa index) {
  wk_llvm *e = v->e;
  const plan *p = v->p;
  wk_ssa zero = wk_llvm_int(e, 0);
  pn->k0 = wk_llvm_mul(e, index, p->k_step);
  pn->k1 = wk_llvm_min(e, wk_llvm_add(e, pn->k0, wk_llvm_int(e, p->k_step)),
                       wk_llvm_int(e, p->depth));
  wk_ssa more = as_int(e, wk_llvm_lt(e, index, wk_llvm_int(e, p->k_blocks - 1)));
  pn->flags = wk_llvm_add(e, as_int(e, wk_llvm_lt(e, zero, index)), wk_llvm_mul(e, more, 2));
  pack_block(v, pn);
  wk_llvm_loop lp, lt;
  wk_llvm_begin(e, &lp, v->position0, v->position1, 1, NULL, 0);
  wk_ssa oh = wk_llvm_div(e, lp.i, v->d->ow), ow = wk_llvm_mod(e, lp.i, v->d->ow);
  const wk_ssa args[] = {v->scratch, v->x, pn->k0, pn->k1, oh, ow};
  wk_llvm_call(e, v->pointers, args, POINTERS_ARGS);
  wk_llvm_begin(e, &lt, v->tile0, v->tile1, 1, NULL, 0);
  tile_at(v, pn, lp.i, oh, ow, lt.i);
  wk_llvm_end(e, &lt, NULL);
  wk_llvm_end(e, &lp, NULL);
}

static void panel_body(driver *v, panel *pn) {
  wk_llvm_loop l;
  wk_llvm_begin(v->e, &l, wk_llvm_int(v->e, 0), wk_llvm_int(v->e, v->p->k_blocks), 1, NULL, 0);
  k_block(v, pn, l.i);
  wk_llvm_end(v->e, &l, NULL);
}

/* The last panel may be narrower or have columns masked off. */
static void panel_at(driver *v, wk_ssa index) {
  wk_llvm *e = v->e;
  const wk_panels *ps = &v->p->panels;
  bool has_ragged = v->d->cout / v->d->group % e->simd->lanes != 0;
  int64_t width = (int64_t)ps->nv * e->simd->lanes, plain = ps->panels;
  if (has_ragged && ps->nv_tail == 0) plain--;
  panel full = {.nv = ps->nv, .column = wk_llvm_mul(e, index, width)};
  panel last = {.nv = ps->nv_tail ? ps->nv_tail : ps->nv,
                .masked = has_ragged,
                .column = wk_llvm_int(e, plain * width)};
  if (plain == v->p->count) {
    panel_body(v, &full);
  } else if (plain == 0) {
    panel_body(v, &last);
  } else {
    wk_llvm_branch b;
    wk_llvm_if(e, &b, wk_llvm_lt(e, index, wk_llvm_int(e, plain)));
    panel_body(v, &full);
    wk_llvm_else(e, &b);
    panel_body(v, &last);
    wk_llvm_endif(e, &b);
  }
}

static wk_ssa base_at(driver *v, wk_ssa args, int i, wk_ssa group, int64_t bytes) {
  wk_llvm *e = v->e;
  wk_ssa base = wk_llvm_load(e, e->ptr, wk_llvm_off(e, args, 8 * i));
  return wk_llvm_at(e, base, wk_llvm_mul(e, group, bytes));
}

static void task_body(driver *v, wk_ssa args, wk_ssa index) {
  wk_llvm *e = v->e;
  const wk_cpu_conv_desc *d = v->d;
  const plan *p = v->p;
  int64_t cin = d->cin / d->group, columns = d->cout / d->group;
  wk_ssa tile = wk_llvm_mod(e, index, p->tile_blocks), rest = wk_llvm_div(e, index, p->tile_blocks);
  wk_ssa position = wk_llvm_mod(e, rest, p->position_blocks);
  rest = wk_llvm_div(e, rest, p->position_blocks);
  wk_ssa at = wk_llvm_mod(e, rest, p->count), group = wk_llvm_div(e, rest, p->count);
  v->y = base_at(v, args, 0, group, columns * wk_dtype_size(d->types.y));
  v->x = base_at(v, args, 1, group, cin * d->x_stride[3] * 4);
  v->w = base_at(v, args, 2, group, columns * wk_dtype_size(d->types.b));
  for (int i = 0; i < v->epi->n_operands; i++) {
    const wk_cpu_operand *o = &v->epi->operands[i];
    int64_t bytes = o->per_column ? columns * wk_dtype_size(o->dtype) : 0;
    v->ops[i] = base_at(v, args, 3 + i, group, bytes);
  }
  v->position0 = wk_llvm_mul(e, position, p->position_step);
  v->position1 = wk_llvm_min(e, wk_llvm_add(e, v->position0, wk_llvm_int(e, p->position_step)),
                             wk_llvm_int(e, p->positions));
  v->tile0 = wk_llvm_mul(e, tile, p->tile_step);
  v->tile1 = wk_llvm_min(e, wk_llvm_add(e, v->tile0, wk_llvm_int(e, p->tile_step)),
                         wk_llvm_int(e, p->tiles));
  panel_at(v, at);
}

/* int64 fields only: no padding. */
static uint64_t identity(const wk_cpu_conv_desc *d, int64_t step, const wk_cpu_epilogue *epi) {
  int64_t strides[WK_CPU_MAX_OPERANDS][3] = {{0}};
  for (int i = 0; i < epi->n_operands; i++)
    memcpy(strides[i], epi->operands[i].stride, sizeof strides[i]);
  return wk_hash64(strides, sizeof strides, wk_hash64(d, sizeof *d, (uint64_t)step));
}

wk_status wk_cpu_window_codegen(wk_llvm *e, const wk_cpu_conv_desc *d, int64_t step,
                                const wk_cpu_epilogue *epi, wk_cpu_kernel *out) {
  plan p = make_plan(e->simd, d);
  *out = (wk_cpu_kernel){.n_tasks = d->group * p.count * p.position_blocks * p.tile_blocks,
                         .scratch_bytes = p.scratch_bytes};
  char name[160], epi_name[64];
  wk_epilogue_name(epi, epi_name);
  snprintf(name, sizeof name, "wk.window.%s.%016llx.%s", e->simd->name,
           (unsigned long long)identity(d, step, epi), epi_name);
  out->task = LLVMGetNamedFunction(e->mod, name);
  if (out->task) return NULL;
  wk_llvm_place at = wk_llvm_save(e);
  LLVMTypeRef types[] = {e->ptr, e->ptr, e->i64, e->i64};
  out->task = wk_llvm_function(e, name, types, 4);
  wk_llvm_keep_simple(e, out->task);
  driver v = {.e = e, .d = d, .epi = epi, .p = &p, .step = step};
  v.pointers = pointers_function(&v, name);
  v.scratch = LLVMGetParam(out->task, 1);
  wk_fill_codegen(e, wk_llvm_off(e, v.scratch, p.zero_at), wk_llvm_int(e, d->n * 4), 0);
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, LLVMGetParam(out->task, 2), LLVMGetParam(out->task, 3), 1, NULL, 0);
  task_body(&v, LLVMGetParam(out->task, 0), l.i);
  wk_llvm_end(e, &l, NULL);
  wk_llvm_return(e);
  wk_llvm_restore(e, at);
  return NULL;
}
