/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution, vectors over channels. A task is a range of output rows. For each output
 * row a table of input pointers is made, [kh][input column], borders included (pixels outside of
 * the image point at zeros), so one kernel serves borders and interior. The kernel computes `cols`
 * neighbouring output pixels for all channels: an input vector is loaded once and used by every
 * output pixel under whose window it lies; weights are loaded once per `cols` pixels. Blocks of
 * many channels of integers are joined to words together, laced (dot.h). */
#include "targets/cpu/kernels/depthwise.h"
#include "targets/cpu/kernels/finish.h"
#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/kernels/rows.h"

#include <stdio.h>
#include <string.h>

enum {
  MAX_UNROLLED = 64,
  COLS = 4,
  LACED_COLS = 5,
  MAX_COLS = 8,
  MAX_LACE = 4,
  TASK_BYTES = 256 << 10
};

bool wk_depthwise_fits(const wk_cpu_conv_desc *d) {
  return d->group > 1 && d->cin == d->group && d->cout == d->group && d->x_stride[3] == 1;
}

static int64_t channel_blocks(const wk_simd *simd, const wk_cpu_conv_desc *d) {
  return wk_ceil_div(d->cout, simd->lanes);
}

/* Rows of the window that share a word. */
static int taps_of(const wk_simd *simd, const wk_cpu_types *t, int64_t kh, int64_t kw) {
  return kh * kw <= MAX_UNROLLED ? wk_dot_taps(simd, t) : 1;
}

/* Words of a channel, heads first. */
static int64_t words_of(const wk_simd *simd, const wk_cpu_types *t, int64_t kh, int64_t kw) {
  return wk_dot_heads(simd, t) + wk_ceil_div(kh, taps_of(simd, t, kh, kw)) * kw;
}

int64_t wk_depthwise_packed_bytes(const wk_simd *simd, const wk_cpu_conv_desc *d) {
  return channel_blocks(simd, d) * words_of(simd, &d->types, d->kh, d->kw) * simd->lanes * 4;
}

/* Vectors of the block that starts with a channel: as many as are joined at once and are full. */
static int lace_at(const wk_simd *simd, const wk_cpu_types *t, int64_t left) {
  int lace = wk_dot_lace(simd, t);
  while (lace > 1 && left < lace * simd->lanes) lace /= 2;
  return lace;
}

/* A channel's words among the packed ones, `step` apart. */
static int64_t place_of(const wk_simd *simd, const wk_cpu_conv_desc *d, int64_t channel,
                        int64_t *step) {
  int64_t first = 0, width, words = words_of(simd, &d->types, d->kh, d->kw);
  int lace;
  for (;; first += width) {
    lace = lace_at(simd, &d->types, d->cout - first);
    width = lace * simd->lanes;
    if (lace == wk_dot_lace(simd, &d->types)) first = channel / width * width;
    lace = lace_at(simd, &d->types, d->cout - first);
    width = lace * simd->lanes;
    if (channel < first + width) break;
  }
  *step = width;
  return first * words + wk_dot_laced(simd, lace, channel - first);
}

/* One channel, words `step` apart. */
static void pack_channel(const wk_simd *simd, const wk_cpu_conv_desc *d, const char *w,
                         const int64_t s[4], int64_t step, uint32_t *out) {
  int size = wk_dtype_size(d->types.b), taps = taps_of(simd, &d->types, d->kh, d->kw);
  int heads = wk_dot_heads(simd, &d->types);
  for (int64_t r = 0; r < d->kh; r++)
    for (int64_t c = 0; c < d->kw; c++) {
      const char *tap = w + (r * s[2] + c * s[3]) * size;
      out[(heads + r / taps * d->kw + c) * step] |=
          wk_dot_weight(simd, &d->types, (int)(r % taps), tap);
      if (heads) out[0] -= 128u * (uint32_t) * (const int8_t *)tap;
    }
}

void wk_depthwise_pack(const wk_simd *simd, const wk_cpu_conv_desc *d, const void *w,
                       const int64_t s[4], void *out) {
  int64_t size = wk_dtype_size(d->types.b);
  memset(out, 0, (size_t)wk_depthwise_packed_bytes(simd, d));
  for (int64_t o = 0; o < d->cout; o++) {
    int64_t step, at = place_of(simd, d, o, &step);
    pack_channel(simd, d, (const char *)w + o * s[0] * size, s, step, (uint32_t *)out + at);
  }
}

/* Blocks of channels are panels of one group. */
int wk_depthwise_pieces(const wk_simd *simd, const wk_cpu_conv_desc *d,
                        wk_cpu_conv_piece out[WK_CPU_CONV_PIECES]) {
  int64_t lanes = simd->lanes, taps = d->kh * d->kw, whole = d->cout / lanes, n = 0;
  int64_t left = d->cout % lanes;
  wk_cpu_conv_piece all = {.groups = 1, .panels = whole, .columns = lanes, .cin = 1,
                           .panel = lanes, .column = 1,
                           .to = {0, taps * lanes, 1, 0, d->kw * lanes, lanes}};
  if (whole > 0) out[n++] = all;
  all.panels = 1;
  all.columns = left;
  all.first = whole * lanes;
  all.at = whole * lanes * taps * 4;
  if (left > 0) out[n++] = all;
  all.columns = lanes - left;
  all.column = 0;
  all.first = d->cout - 1;
  all.at += left * 4;
  if (left > 0) out[n++] = all;
  return (int)n;
}

void wk_depthwise_reach(const wk_simd *simd, const wk_cpu_conv_desc *d, const void *packed,
                        int64_t (*reach)[2]) {
  int64_t words = words_of(simd, &d->types, d->kh, d->kw), heads = wk_dot_heads(simd, &d->types);
  for (int64_t c = 0; c < d->cout; c++) {
    int64_t step, place = place_of(simd, d, c, &step);
    const uint32_t *at = (const uint32_t *)packed + place;
    reach[c][0] = reach[c][1] = 0;
    for (int64_t w = heads; w < words; w++)
      for (int tap = 0; tap < taps_of(simd, &d->types, d->kh, d->kw); tap++) {
        int32_t v = wk_dot_weight_of(simd, &d->types, tap, at[w * step]);
        reach[c][v < 0] += v;
      }
  }
}

/* ---- kernel: `cols` output pixels, all channels ---------------------------------------------- */

typedef struct {
  int cols, kh, kw, stride, dil; /* along columns: stride and dilation */
  bool has_whole;                /* channel blocks of the largest size */
  int rest;                      /* channels beyond those */
  wk_cpu_types types;
  const wk_cpu_epilogue *epi;
} dw_key;

/* TABLE_LINE: bytes from a row's pointers to the next row's; AHEAD: bytes from an input row to the
 * one that the next output row needs instead; OUT_AHEAD: bytes to the next output row. Both are
 * fetched meanwhile. */
enum { TABLE, TABLE_LINE, WEIGHTS, CHANNELS, OUT, OUT_STEP, AHEAD, OUT_AHEAD, OPS };

static wk_ssa param(wk_llvm *e, int i) { return LLVMGetParam(e->fn, (unsigned)i); }

static wk_ssa scaled(wk_llvm *e, wk_ssa channel, wk_dtype t) {
  return wk_llvm_mul(e, channel, wk_dtype_size(t));
}

/* A block of channels under work: `lace` vectors from channel `at` on. */
typedef struct {
  wk_llvm *e;
  const dw_key *k;
  int lace;
  wk_ssa at, w, mask; /* first channel, its weights; mask of a single vector or NULL */
} dw_block;

static wk_ssa load_pixel(const dw_block *b, wk_ssa p) {
  wk_llvm *e = b->e;
  LLVMTypeRef element = wk_memory_element(e, b->k->types.a);
  if (b->lace == 1) {
    wk_ssa v = wk_llvm_vload_of(e, element, p, b->mask);
    return wk_from_memory(e, b->k->types.a, e->simd->lanes, v);
  }
  return wk_llvm_load_packed(e, wk_vector_type(element, b->lace * e->simd->lanes), p);
}

/* The pixels of rows r, r + 1, … under column c of the window, as words; fetches what the next
 * output row reads there instead. */
static void column(const dw_block *b, int c, int r, wk_ssa *words) {
  wk_llvm *e = b->e;
  const dw_key *k = b->k;
  int taps = taps_of(e->simd, &k->types, k->kh, k->kw), n = k->kh - r < taps ? k->kh - r : taps;
  bool is_float = wk_cpu_is_float(&k->types);
  wk_ssa x[4];
  for (int i = 0; i < n; i++) {
    wk_ssa line = wk_llvm_at(e, param(e, TABLE), wk_llvm_mul(e, param(e, TABLE_LINE), r + i));
    wk_ssa p = wk_llvm_load(e, e->ptr, wk_llvm_off(e, line, 8 * c));
    p = wk_llvm_at(e, p, scaled(e, b->at, k->types.a));
    x[i] = load_pixel(b, p);
    if (is_float && r + i >= k->kh - k->stride && c < k->cols * k->stride)
      wk_llvm_prefetch(e, wk_llvm_at(e, p, param(e, AHEAD)), 3);
  }
  wk_dot_join_laced(e, &k->types, b->lace, x, n, words);
}

/* Vector v of a word of weights. */
static wk_ssa weights(const dw_block *b, int64_t word, int v) {
  wk_llvm *e = b->e;
  wk_ssa p = wk_llvm_off(e, b->w, (word * b->lace + v) * e->simd->lanes * 4);
  return wk_llvm_vload_of(e, wk_cpu_is_float(&b->k->types) ? e->f32 : e->i32, p, NULL);
}

/* Sums of one channel block, every tap unrolled; accumulators pixel by pixel. */
static void sum_unrolled(const dw_block *b, int heads, wk_ssa *acc) {
  wk_llvm *e = b->e;
  const dw_key *k = b->k;
  int last = (k->cols - 1) * k->stride + (k->kw - 1) * k->dil;
  int taps = taps_of(e->simd, &k->types, k->kh, k->kw);
  for (int r = 0; r < k->kh; r += taps)
    for (int c = 0; c <= last; c++) {
      wk_ssa x[MAX_LACE] = {NULL};
      for (int o = 0; o < k->cols; o++) {
        int s = c - o * k->stride;
        if (s < 0 || s % k->dil != 0 || s / k->dil >= k->kw) continue;
        if (!x[0]) column(b, c, r, x);
        for (int v = 0; v < b->lace; v++) {
          wk_ssa *sum = &acc[o * b->lace + v];
          wk_ssa wv = weights(b, heads + r / taps * k->kw + s / k->dil, v);
          *sum = wk_dot_taps_codegen(e, &k->types, x[v], wv, *sum);
        }
      }
    }
}

/* One output pixel, any window: loops over taps. */
static void sum_looped(const dw_block *b, int heads, wk_ssa *acc) {
  wk_llvm *e = b->e;
  const dw_key *k = b->k;
  wk_llvm_loop lr, lc;
  int64_t width = b->lace * e->simd->lanes * 4;
  wk_ssa zero = wk_llvm_int(e, 0), x[MAX_LACE];
  dw_block at_tap = *b;
  wk_llvm_begin(e, &lr, zero, wk_llvm_int(e, k->kh), 1, acc, b->lace);
  wk_llvm_begin(e, &lc, zero, wk_llvm_int(e, k->kw), 1, lr.phi, b->lace);
  wk_ssa line = LLVMBuildMul(e->b, param(e, TABLE_LINE), lr.i, "");
  line = wk_llvm_at(e, param(e, TABLE), line);
  wk_ssa p = wk_llvm_load(e, e->ptr, wk_llvm_at(e, line, wk_llvm_mul(e, lc.i, 8 * k->dil)));
  wk_ssa tap = wk_llvm_add(e, wk_llvm_mul(e, lr.i, k->kw), lc.i);
  at_tap.w = wk_llvm_at(e, b->w, wk_llvm_mul(e, tap, width));
  x[0] = load_pixel(b, wk_llvm_at(e, p, scaled(e, b->at, k->types.a)));
  wk_dot_join_laced(e, &k->types, b->lace, x, 1, x);
  for (int v = 0; v < b->lace; v++)
    acc[v] = wk_dot_taps_codegen(e, &k->types, x[v], weights(&at_tap, heads, v), lc.phi[v]);
  wk_llvm_end(e, &lc, acc);
  wk_llvm_end(e, &lr, lc.phi);
  memcpy(acc, lr.phi, (size_t)b->lace * sizeof *acc);
}

/* Outputs of a channel block: neighbouring pixels are rows. */
static wk_ssa pixel_address(void *ctx, int operand, wk_ssa pixel) {
  const dw_block *b = ctx;
  wk_llvm *e = b->e;
  const wk_cpu_operand *o = operand < 0 ? NULL : &b->k->epi->operands[operand];
  int pair = operand < 0 ? OUT : OPS + 2 * operand;
  wk_ssa step = param(e, pair + 1);
  step = LLVMIsAConstantInt(pixel) ? wk_llvm_mul(e, step, LLVMConstIntGetSExtValue(pixel))
                                   : LLVMBuildMul(e->b, step, pixel, "");
  wk_ssa p = wk_llvm_at(e, param(e, pair), step);
  if (o && !o->per_column) return p;
  return wk_llvm_at(e, p, scaled(e, b->at, o ? o->dtype : b->k->types.y));
}

static wk_finish finish_of(dw_block *b, wk_ssa *acc) {
  return (wk_finish){.e = b->e,
                     .epi = b->k->epi,
                     .type = b->k->types.y,
                     .n = b->k->cols * b->lace,
                     .nv = b->lace,
                     .is_laced = b->lace > 1,
                     .acc = acc,
                     .mask = b->mask,
                     .address = pixel_address,
                     .ctx = b};
}

static void start(dw_block *b, int heads, wk_ssa *acc) {
  wk_llvm *e = b->e;
  wk_finish f = finish_of(b, acc);
  for (int v = 0; v < b->lace; v++) acc[v] = LLVMConstNull(wk_dot_accumulator(e, &b->k->types));
  if (b->k->epi->has_start) wk_finish_start(&f, acc);
  for (int v = 0; v < b->lace && heads; v++)
    acc[v] = LLVMBuildAdd(e->b, acc[v], weights(b, 0, v), "");
  for (int k = b->lace; k < f.n; k++) acc[k] = acc[k % b->lace];
}

static void finish(dw_block *b, wk_ssa *acc) {
  wk_llvm *e = b->e;
  const dw_key *k = b->k;
  wk_finish f = finish_of(b, acc);
  wk_finish_codegen(&f);
  for (int o = 0; o < k->cols && wk_dtype_is_float(k->types.y); o++) {
    wk_ssa y = pixel_address(b, -1, wk_llvm_int(e, o));
    wk_llvm_prefetch(e, wk_llvm_at(e, y, param(e, OUT_AHEAD)), 3);
  }
}

static void channel_block(wk_llvm *e, const dw_key *k, int lace, wk_ssa at, wk_ssa mask) {
  wk_ssa acc[MAX_COLS * MAX_LACE];
  int64_t words = words_of(e->simd, &k->types, k->kh, k->kw);
  int heads = wk_dot_heads(e->simd, &k->types);
  wk_ssa w = wk_llvm_at(e, param(e, WEIGHTS), wk_llvm_mul(e, at, words * 4));
  dw_block b = {e, k, lace, at, w, mask};
  start(&b, heads, acc);
  if (k->kh * k->kw <= MAX_UNROLLED) sum_unrolled(&b, heads, acc);
  else sum_looped(&b, heads, acc);
  finish(&b, acc);
}

static wk_ssa dw_kernel(wk_llvm *e, const dw_key *k) {
  char name[160], epi[64], of[WK_TYPES_NAME];
  wk_epilogue_name(k->epi, epi);
  snprintf(name, sizeof name, "wk.dw.%s.%s.%d.%dx%ds%dd%d%s%d.%s", e->simd->name,
           wk_types_name(&k->types, of), k->cols, k->kh, k->kw, k->stride, k->dil,
           k->has_whole ? "w" : "r", k->rest, epi);
  wk_ssa fn = LLVMGetNamedFunction(e->mod, name);
  if (fn) return fn;
  wk_llvm_place place = wk_llvm_save(e);
  LLVMTypeRef types[OPS + 2 * WK_CPU_MAX_OPERANDS];
  int n = OPS + 2 * k->epi->n_operands;
  for (int i = 0; i < n; i++) types[i] = e->ptr;
  types[TABLE_LINE] = types[CHANNELS] = types[OUT_STEP] = types[AHEAD] = types[OUT_AHEAD] = e->i64;
  for (int i = OPS; i < n; i += 2) types[i + 1] = e->i64;
  fn = wk_llvm_function(e, name, types, n);
  int64_t lanes = e->simd->lanes, most = wk_dot_lace(e->simd, &k->types);
  wk_ssa left = wk_llvm_int(e, k->rest % lanes);
  wk_ssa at = wk_llvm_sub(e, param(e, CHANNELS), wk_llvm_int(e, k->rest));
  wk_llvm_loop l;
  if (k->has_whole) {
    wk_llvm_begin(e, &l, wk_llvm_int(e, 0), at, most * lanes, NULL, 0);
    channel_block(e, k, (int)most, l.i, NULL);
    wk_llvm_end(e, &l, NULL);
  }
  for (int64_t rest = k->rest, lace; rest > 0; rest -= lace * lanes) {
    lace = lace_at(e->simd, &k->types, rest);
    channel_block(e, k, (int)lace, at, rest < lanes ? wk_llvm_lanes(e, left) : NULL);
    at = wk_llvm_add(e, at, wk_llvm_int(e, lace * lanes));
  }
  wk_llvm_return(e);
  wk_llvm_restore(e, place);
  return fn;
}

/* ---- driver ---------------------------------------------------------------------------------- */

typedef struct {
  wk_llvm *e;
  const wk_cpu_conv_desc *d;
  const wk_cpu_epilogue *epi;
  int64_t cols, base, tiles, taller; /* tiles of a row: the first `taller` have base + 1 columns */
  wk_ssa args, zeros, table;
} dw_driver;

static int64_t table_columns(const wk_cpu_conv_desc *d) {
  return (d->ow - 1) * d->stride_w + (d->kw - 1) * d->dil_w + 1;
}

static wk_ssa operand_base(dw_driver *v, int i) {
  return wk_llvm_load(v->e, v->e->ptr, wk_llvm_off(v->e, v->args, 8 * i));
}

/* void(slot, line, zeros, exists, columns, first, w, step): pointers to the pixels of one input
 * line for `columns` columns from `first` (may be negative), zeros where there is none. Writes up
 * to POINTERS - 1 more. */
enum { SLOT, LINE, ZEROS, EXISTS, COLUMNS, FIRST, W, STEP, TABLE_ARGS, POINTERS = 8 };

static wk_ssa repeated(wk_llvm *e, wk_ssa x) { return wk_vector_splat(e, POINTERS, x); }

static wk_ssa table_function(wk_llvm *e) {
  wk_ssa fn = LLVMGetNamedFunction(e->mod, "wk.dw.table");
  if (fn) return fn;
  wk_llvm_place place = wk_llvm_save(e);
  LLVMTypeRef types[] = {e->ptr, e->ptr, e->ptr, e->i1, e->i64, e->i64, e->i64, e->i64};
  fn = wk_llvm_function(e, "wk.dw.table", types, TABLE_ARGS);
  wk_llvm_keep_apart(e, fn);
  LLVMBuilderRef b = e->b;
  wk_ssa counting[POINTERS];
  for (int i = 0; i < POINTERS; i++) counting[i] = wk_llvm_int(e, i);
  wk_ssa column =
      LLVMBuildAdd(b, LLVMConstVector(counting, POINTERS), repeated(e, param(e, FIRST)), "");
  wk_ssa p = LLVMBuildMul(b, column, repeated(e, param(e, STEP)), "");
  p = LLVMBuildAdd(b, p, repeated(e, LLVMBuildPtrToInt(b, param(e, LINE), e->i64, "")), "");
  wk_ssa zeros = repeated(e, LLVMBuildPtrToInt(b, param(e, ZEROS), e->i64, ""));
  wk_ssa w = repeated(e, param(e, W)), exists = repeated(e, param(e, EXISTS));
  wk_ssa init[] = {column, p};
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), param(e, COLUMNS), POINTERS, init, 2);
  wk_ssa in = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntULT, l.phi[0], w, ""), exists, "");
  wk_llvm_vstore(e, LLVMBuildSelect(b, in, l.phi[1], zeros, ""),
                 wk_llvm_at(e, param(e, SLOT), wk_llvm_mul(e, l.i, 8)), NULL);
  wk_ssa next[] = {
      LLVMBuildAdd(b, l.phi[0], repeated(e, wk_llvm_int(e, POINTERS)), ""),
      LLVMBuildAdd(b, l.phi[1], repeated(e, wk_llvm_mul(e, param(e, STEP), POINTERS)), "")};
  wk_llvm_end(e, &l, next);
  wk_llvm_return(e);
  wk_llvm_restore(e, place);
  return fn;
}

/* Bytes of one row's pointers. */
static int64_t table_line(const wk_cpu_conv_desc *d) {
  return wk_ceil_div(table_columns(d), POINTERS) * POINTERS * 8;
}

/* Pointers to the input pixels under one output row: [kh][column]. */
static void make_table(dw_driver *v, wk_ssa n, wk_ssa oh) {
  wk_llvm *e = v->e;
  const wk_cpu_conv_desc *d = v->d;
  const int64_t *s = d->x_stride, size = wk_dtype_size(d->types.a);
  wk_llvm_loop l;
  wk_ssa image = wk_llvm_at(e, operand_base(v, 1), wk_llvm_mul(e, n, s[0] * size));
  wk_ssa ih0 = wk_llvm_add(e, wk_llvm_mul(e, oh, d->stride_h), wk_llvm_int(e, -d->pad_h));
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), wk_llvm_int(e, d->kh), 1, NULL, 0);
  wk_ssa ih = wk_llvm_add(e, ih0, wk_llvm_mul(e, l.i, d->dil_h));
  const wk_ssa args[] = {wk_llvm_at(e, v->table, wk_llvm_mul(e, l.i, table_line(d))),
                         wk_llvm_at(e, image, wk_llvm_mul(e, ih, s[1] * size)),
                         v->zeros,
                         wk_llvm_in(e, ih, d->h),
                         wk_llvm_int(e, table_columns(d)),
                         wk_llvm_int(e, -d->pad_w),
                         wk_llvm_int(e, d->w),
                         wk_llvm_int(e, s[2] * size)};
  wk_llvm_call(e, table_function(e), args, TABLE_ARGS);
  wk_llvm_end(e, &l, NULL);
}

static wk_ssa row_base(dw_driver *v, int i, const int64_t s[3], wk_dtype t, wk_ssa n, wk_ssa oh) {
  wk_llvm *e = v->e;
  wk_ssa at = wk_llvm_add(e, wk_llvm_mul(e, n, s[0]), wk_llvm_mul(e, oh, s[1]));
  return wk_llvm_at(e, operand_base(v, i), scaled(e, at, t));
}

static void call_kernel(dw_driver *v, int64_t cols, const wk_ssa *args) {
  const wk_cpu_conv_desc *d = v->d;
  dw_key key = {.cols = (int)cols,
                .kh = (int)d->kh,
                .kw = (int)d->kw,
                .stride = (int)d->stride_w,
                .dil = (int)d->dil_w,
                .has_whole = d->cout >= v->e->simd->lanes * wk_dot_lace(v->e->simd, &d->types),
                .rest = (int)(d->cout % (v->e->simd->lanes * wk_dot_lace(v->e->simd, &d->types))),
                .types = d->types,
                .epi = v->epi};
  wk_llvm_call(v->e, dw_kernel(v->e, &key), args, OPS + 2 * v->epi->n_operands);
}

static void output_row(dw_driver *v, wk_ssa n, wk_ssa oh) {
  wk_llvm *e = v->e;
  const wk_cpu_conv_desc *d = v->d;
  int n_ops = v->epi->n_operands;
  wk_ssa args[OPS + 2 * WK_CPU_MAX_OPERANDS], base[1 + WK_CPU_MAX_OPERANDS];
  make_table(v, n, oh);
  int64_t size = wk_dtype_size(d->types.y);
  base[0] = row_base(v, 0, d->y_stride, d->types.y, n, oh);
  for (int i = 0; i < n_ops; i++) {
    const wk_cpu_operand *o = &v->epi->operands[i];
    base[1 + i] = row_base(v, 3 + i, o->stride, o->dtype, n, oh);
  }
  args[TABLE_LINE] = wk_llvm_int(e, table_line(d));
  args[WEIGHTS] = operand_base(v, 2);
  args[CHANNELS] = wk_llvm_int(e, d->cout);
  args[OUT_AHEAD] = wk_llvm_int(e, d->y_stride[1] * size);
  args[AHEAD] = wk_llvm_int(e, d->stride_h * d->x_stride[1] * wk_dtype_size(d->types.a));
  wk_llvm_loop l;
  wk_ssa ow0 = wk_llvm_int(e, 0), tall = wk_llvm_int(e, v->taller);
  wk_llvm_begin(e, &l, ow0, wk_llvm_int(e, v->tiles), 1, &ow0, 1);
  wk_ssa ow = l.phi[0];
  args[TABLE] = wk_llvm_at(e, v->table, wk_llvm_mul(e, ow, d->stride_w * 8));
  args[OUT] = wk_llvm_at(e, base[0], wk_llvm_mul(e, ow, d->y_stride[2] * size));
  args[OUT_STEP] = wk_llvm_int(e, d->y_stride[2] * size);
  for (int i = 0; i < n_ops; i++) {
    const wk_cpu_operand *o = &v->epi->operands[i];
    int64_t step = o->stride[2] * wk_dtype_size(o->dtype);
    args[OPS + 2 * i] = wk_llvm_at(e, base[1 + i], wk_llvm_mul(e, ow, step));
    args[OPS + 2 * i + 1] = wk_llvm_int(e, step);
  }
  wk_ssa is_tall = wk_llvm_lt(e, l.i, tall);
  if (v->taller > 0) {
    wk_llvm_branch s;
    wk_llvm_if(e, &s, is_tall);
    call_kernel(v, v->base + 1, args);
    wk_llvm_else(e, &s);
    call_kernel(v, v->base, args);
    wk_llvm_endif(e, &s);
  } else {
    call_kernel(v, v->base, args);
  }
  wk_ssa step = wk_llvm_add(e, wk_llvm_int(e, v->base), LLVMBuildZExt(e->b, is_tall, e->i64, ""));
  wk_ssa next = wk_llvm_add(e, ow, step);
  wk_llvm_end(e, &l, &next);
}

/* Identity of a task function: geometry, operand strides, rows of a task. */
static uint64_t identity(const wk_cpu_conv_desc *d, const wk_cpu_epilogue *epi, int64_t per_task) {
  int64_t strides[WK_CPU_MAX_OPERANDS][3] = {{0}};
  for (int i = 0; i < epi->n_operands; i++)
    memcpy(strides[i], epi->operands[i].stride, sizeof strides[i]);
  uint64_t hash = wk_hash64(strides, sizeof strides, (uint64_t)per_task);
  return wk_hash64(d, sizeof *d, hash); /* int64 fields only: no padding */
}

/* Output pixels of a kernel. Integers are fewer bytes and more arithmetic: it pays to share the
 * joined words among more of them. */
static int64_t columns_of(const wk_simd *simd, const wk_cpu_conv_desc *d) {
  if (d->kh * d->kw > MAX_UNROLLED) return 1;
  if (lace_at(simd, &d->types, d->cout) == MAX_LACE) return LACED_COLS;
  return !wk_cpu_is_float(&d->types) && simd->registers >= 32 ? MAX_COLS : COLS;
}

static void task_body(dw_driver *v, int64_t per_task, int64_t zero_bytes) {
  wk_llvm *e = v->e;
  const wk_cpu_conv_desc *d = v->d;
  int64_t cols = columns_of(e->simd, d), rows = d->n * d->oh;
  v->args = param(e, 0);
  v->zeros = param(e, 1);
  v->table = wk_llvm_off(e, v->zeros, zero_bytes);
  v->tiles = wk_ceil_div(d->ow, cols);
  v->base = d->ow / v->tiles;
  v->taller = d->ow % v->tiles;
  wk_fill_codegen(e, v->zeros, wk_llvm_int(e, zero_bytes), d->types.outside);
  wk_llvm_loop l;
  wk_ssa first = wk_llvm_mul(e, param(e, 2), per_task);
  wk_ssa last = wk_llvm_min(e, wk_llvm_mul(e, param(e, 3), per_task), wk_llvm_int(e, rows));
  wk_llvm_begin(e, &l, first, last, 1, NULL, 0);
  output_row(v, wk_llvm_div(e, l.i, d->oh), wk_llvm_mod(e, l.i, d->oh));
  wk_llvm_end(e, &l, NULL);
}

wk_status wk_depthwise_codegen(wk_llvm *e, const wk_cpu_conv_desc *d, const wk_cpu_epilogue *epi,
                               wk_cpu_kernel *out) {
  int64_t width = e->simd->lanes * 4, rows = d->n * d->oh, size = wk_dtype_size(d->types.a);
  int64_t line = wk_ceil_div(d->cout * size, width) * width;
  int64_t zero_bytes = (int64_t)wk_align_up((uint64_t)line, 64);
  int64_t table_bytes = table_line(d) * d->kh;
  int64_t row_bytes = d->ow * d->cout * size * (1 + d->stride_h * d->stride_w);
  int64_t per_task = TASK_BYTES / row_bytes > 0 ? TASK_BYTES / row_bytes : 1;
  per_task = wk_ceil_div(rows, wk_ceil_div(rows, per_task));
  *out = (wk_cpu_kernel){.n_tasks = wk_ceil_div(rows, per_task),
                         .scratch_bytes = zero_bytes + table_bytes};
  char name[160], epi_name[64];
  wk_epilogue_name(epi, epi_name);
  snprintf(name, sizeof name, "wk.dwconv.%s.%016llx.%s", e->simd->name,
           (unsigned long long)identity(d, epi, per_task), epi_name);
  out->task = LLVMGetNamedFunction(e->mod, name);
  if (out->task) return NULL;
  wk_llvm_place place = wk_llvm_save(e);
  LLVMTypeRef types[] = {e->ptr, e->ptr, e->i64, e->i64};
  out->task = wk_llvm_function(e, name, types, 4);
  wk_llvm_keep_simple(e, out->task);
  dw_driver v = {.e = e, .d = d, .epi = epi};
  task_body(&v, per_task, zero_bytes);
  wk_llvm_return(e);
  wk_llvm_restore(e, place);
  return NULL;
}
