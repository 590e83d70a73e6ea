/* SPDX-License-Identifier: Apache-2.0 */
/* Row pointers. A convolution's row is an output pixel; for each tap its pointer is the input pixel
 * under that tap, or a row of zeros outside of the image, so padding costs nothing later. Tables
 * are laid out as the tiles read them: [tile][tap][row].
 *
 * Strips. Where the input is not contiguous along channels (NCHW) or has few of them (first layer),
 * the input rows that the task needs are first copied into scratch as padded NHWC; a whole row of
 * the window (kw * cin values) is then one contiguous tap. */
#include "targets/cpu/kernels/cut.h"
#include "targets/cpu/kernels/rows.h"

#include <stdio.h>
#include <string.h>

enum { UNROLLED = 25 }; /* taps */

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

void wk_fill_codegen(wk_llvm *e, wk_ssa p, wk_ssa bytes, int32_t byte) {
  wk_llvm_loop l;
  int64_t word = (byte & 0xff) * INT64_C(0x01010101);
  wk_ssa value = wk_vector_int(e, wk_vector_type(e->i32, e->simd->lanes), word);
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), bytes, e->simd->lanes * 4, NULL, 0);
  wk_llvm_vstore(e, value, wk_llvm_at(e, p, l.i), NULL);
  wk_llvm_end(e, &l, NULL);
}

/* ---- strips ---------------------------------------------------------------------------------- */

static int64_t strip_columns(const wk_cpu_conv_desc *c) {
  return (c->ow - 1) * c->stride_w + (c->kw - 1) * c->dil_w + 1;
}

/* Bytes of an input row in a strip. */
static int64_t strip_pitch(const wk_gemm *g) { return strip_columns(&g->conv) * g->pixel; }

int64_t wk_strip_bytes(const wk_simd *simd, const wk_gemm *g, int64_t rows) {
  const wk_cpu_conv_desc *c = &g->conv;
  int64_t span = min64((rows + c->ow - 2) / c->ow + 1, c->oh);
  int64_t lines = (span - 1) * c->stride_h + (c->kh - 1) * c->dil_h + 1;
  return lines * strip_pitch(g) + simd->lanes * 4;
}

/* cin planes of contiguous columns -> one line of interleaved pixels, a vector of each at a time.
 * Returns the number of columns done. */
static wk_ssa interleave_floats(wk_llvm *e, const wk_gemm *g, wk_ssa src, wk_ssa dst,
                                int64_t columns) {
  int lanes = e->simd->lanes, planes = (int)g->cin;
  wk_ssa whole = wk_llvm_int(e, columns / lanes * lanes), mask[4 * 64];
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), whole, lanes, NULL, 0);
  wk_ssa at = wk_llvm_at(e, src, wk_llvm_mul(e, l.i, 4)), v[4];
  for (int c = 0; c < 4; c++)
    v[c] = c < planes ? wk_llvm_vload(e, wk_llvm_off(e, at, c * g->conv.x_stride[3] * 4), NULL)
                      : LLVMGetPoison(e->vec);
  for (int i = 0; i < 4 * lanes; i++) mask[i] = LLVMConstInt(e->i32, (unsigned)i, 0);
  wk_ssa both = LLVMConstVector(mask, (unsigned)(2 * lanes));
  wk_ssa lo = LLVMBuildShuffleVector(e->b, v[0], v[1], both, "");
  wk_ssa hi = LLVMBuildShuffleVector(e->b, v[2], v[3], both, "");
  for (int i = 0; i < planes * lanes; i++)
    mask[i] = LLVMConstInt(e->i32, (unsigned)(i % planes * lanes + i / planes), 0);
  wk_ssa out =
      LLVMBuildShuffleVector(e->b, lo, hi, LLVMConstVector(mask, (unsigned)(planes * lanes)), "");
  wk_ssa store = LLVMBuildStore(e->b, out, wk_llvm_at(e, dst, wk_llvm_mul(e, l.i, planes * 4)));
  LLVMSetAlignment(store, 4);
  wk_llvm_end(e, &l, NULL);
  return whole;
}

/* The same for bytes: a pixel is one word. */
static wk_ssa interleave_bytes(wk_llvm *e, const wk_gemm *g, wk_ssa src, wk_ssa dst,
                               int64_t columns) {
  int lanes = e->simd->lanes;
  LLVMTypeRef words = wk_vector_type(e->i32, lanes);
  wk_ssa whole = wk_llvm_int(e, columns / lanes * lanes), out = LLVMConstNull(words);
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), whole, lanes, NULL, 0);
  wk_ssa at = wk_llvm_at(e, src, l.i);
  for (int c = 0; c < (int)g->cin; c++) {
    wk_ssa v = wk_llvm_vload_of(e, e->i8, wk_llvm_off(e, at, c * g->conv.x_stride[3]), NULL);
    v = LLVMBuildShl(e->b, LLVMBuildZExt(e->b, v, words, ""), wk_vector_int(e, words, 8 * c), "");
    out = LLVMBuildOr(e->b, out, v, "");
  }
  wk_llvm_vstore(e, out, wk_llvm_at(e, dst, wk_llvm_mul(e, l.i, 4)), NULL);
  wk_llvm_end(e, &l, NULL);
  return whole;
}

/* `count` values of one type, vectors first. */
static void copy_run(wk_llvm *e, LLVMTypeRef type, int size, wk_ssa src, wk_ssa dst,
                     int64_t count) {
  int64_t whole = count / e->simd->lanes * e->simd->lanes;
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), wk_llvm_int(e, whole * size), e->simd->lanes * size, NULL,
                0);
  wk_llvm_vstore(e, wk_llvm_vload_of(e, type, wk_llvm_at(e, src, l.i), NULL),
                 wk_llvm_at(e, dst, l.i), NULL);
  wk_llvm_end(e, &l, NULL);
  wk_llvm_begin(e, &l, wk_llvm_int(e, whole), wk_llvm_int(e, count), 1, NULL, 0);
  wk_ssa off = wk_llvm_mul(e, l.i, size);
  wk_llvm_store(e, wk_llvm_load(e, type, wk_llvm_at(e, src, off)), wk_llvm_at(e, dst, off));
  wk_llvm_end(e, &l, NULL);
}

/* The `columns` pixels that exist of one input line, to channels-last at dst. */
static void copy_line(wk_llvm *e, const wk_gemm *g, wk_ssa src, wk_ssa dst, int64_t columns) {
  const int64_t *s = g->conv.x_stride;
  int64_t cin = g->cin, size = wk_dtype_size(g->types.a);
  LLVMTypeRef type = wk_memory_element(e, g->types.a);
  bool is_run = (cin == 1 || s[3] == 1) && s[2] == cin && cin * size == g->pixel;
  bool is_planar = s[2] == 1 && cin <= 4;
  wk_ssa done = wk_llvm_int(e, 0);
  if (is_run) {
    copy_run(e, type, (int)size, src, dst, columns * cin);
    return;
  }
  if (is_planar)
    done = size == 1 ? interleave_bytes(e, g, src, dst, columns)
                     : interleave_floats(e, g, src, dst, columns);
  wk_llvm_loop lw, lc;
  wk_llvm_begin(e, &lw, done, wk_llvm_int(e, columns), 1, NULL, 0);
  wk_ssa from = wk_llvm_at(e, src, wk_llvm_mul(e, lw.i, s[2] * size));
  wk_ssa to = wk_llvm_at(e, dst, wk_llvm_mul(e, lw.i, g->pixel));
  wk_llvm_begin(e, &lc, wk_llvm_int(e, 0), wk_llvm_int(e, cin), 1, NULL, 0);
  wk_ssa x = wk_llvm_load(e, type, wk_llvm_at(e, from, wk_llvm_mul(e, lc.i, s[3] * size)));
  wk_llvm_store(e, x, wk_llvm_at(e, to, wk_llvm_mul(e, lc.i, size)));
  wk_llvm_end(e, &lc, NULL);
  wk_llvm_end(e, &lw, NULL);
}

/* Copies `rows` input rows from ih0 (may lie outside) into the strip. */
static void strip_codegen(wk_llvm *e, const wk_gemm *g, wk_ssa x, wk_ssa ih0, wk_ssa rows,
                          wk_ssa strip) {
  const wk_cpu_conv_desc *c = &g->conv;
  int64_t columns = min64(c->w, strip_columns(c) - c->pad_w), pitch = strip_pitch(g);
  int64_t size = wk_dtype_size(g->types.a);
  bool is_covered = c->pad_w == 0 && columns == strip_columns(c);
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), rows, 1, NULL, 0);
  wk_ssa ih = wk_llvm_add(e, ih0, l.i), line = wk_llvm_at(e, strip, wk_llvm_mul(e, l.i, pitch));
  wk_ssa exists = wk_llvm_in(e, ih, c->h);
  wk_llvm_branch s;
  if (!is_covered) wk_fill_codegen(e, line, wk_llvm_int(e, pitch), g->types.outside);
  wk_llvm_if(e, &s, exists);
  if (columns > 0)
    copy_line(e, g, wk_llvm_at(e, x, wk_llvm_mul(e, ih, c->x_stride[1] * size)),
              wk_llvm_off(e, line, c->pad_w * g->pixel), columns);
  if (is_covered) {
    wk_llvm_else(e, &s);
    wk_fill_codegen(e, line, wk_llvm_int(e, pitch), g->types.outside);
  }
  wk_llvm_endif(e, &s);
  wk_llvm_end(e, &l, NULL);
}

/* ---- walking the rows ------------------------------------------------------------------------ */

typedef struct {
  wk_llvm *e;
  const wk_gemm *g;
  const wk_gemm_plan *p;
  wk_ssa a, scratch, tile0, tile1, row0, row1;
  wk_cut cut;
  wk_ssa strip, strip_ih; /* WK_ROWS_STRIP: its address, the input row that it starts with */
} walk;

static wk_ssa scaled(wk_llvm *e, wk_ssa i, int64_t scale, int64_t add) {
  return wk_llvm_add(e, wk_llvm_mul(e, i, scale), wk_llvm_int(e, add));
}

/* Pointers of one pixel's taps, stored astep bytes apart from `dst`. */
static void conv_row(walk *w, wk_ssa n, wk_ssa oh, wk_ssa ow, wk_ssa dst) {
  wk_llvm *e = w->e;
  const wk_cpu_conv_desc *c = &w->g->conv;
  int64_t size = wk_dtype_size(w->g->types.a), astep = w->p->rows * 8;
  int64_t sh = c->x_stride[1] * size, sw = c->x_stride[2] * size;
  bool may_leave_h = c->pad_h > 0 || (c->oh - 1) * c->stride_h + (c->kh - 1) * c->dil_h >= c->h;
  bool may_leave_w = c->pad_w > 0 || (c->ow - 1) * c->stride_w + (c->kw - 1) * c->dil_w >= c->w;
  wk_ssa zeros = wk_llvm_off(e, w->scratch, w->p->zero_at);
  wk_ssa ih0 = scaled(e, oh, c->stride_h, -c->pad_h), iw0 = scaled(e, ow, c->stride_w, -c->pad_w);
  wk_ssa image = wk_llvm_at(e, w->a, wk_llvm_mul(e, n, c->x_stride[0] * size));
  wk_ssa base =
      wk_llvm_at(e, image, wk_llvm_add(e, wk_llvm_mul(e, ih0, sh), wk_llvm_mul(e, iw0, sw)));
  wk_llvm_loop lh, lw;
  bool unrolled = c->kh * c->kw <= UNROLLED;
  wk_ssa in_w[UNROLLED];
  for (int64_t s = 0; unrolled && may_leave_w && s < c->kw; s++)
    in_w[s] = wk_llvm_in(e, scaled(e, iw0, 1, s * c->dil_w), c->w);
  for (int64_t r = 0; unrolled && r < c->kh; r++) {
    wk_ssa in_h = may_leave_h ? wk_llvm_in(e, scaled(e, ih0, 1, r * c->dil_h), c->h) : NULL;
    for (int64_t s = 0; s < c->kw; s++) {
      wk_ssa p = wk_llvm_off(e, base, r * c->dil_h * sh + s * c->dil_w * sw), in = in_h;
      if (may_leave_w) in = in_h ? LLVMBuildAnd(e->b, in_h, in_w[s], "") : in_w[s];
      if (in) p = wk_llvm_select(e, in, p, zeros);
      wk_llvm_store(e, p, wk_llvm_off(e, dst, (r * c->kw + s) * astep));
    }
  }
  if (unrolled) return;
  wk_llvm_begin(e, &lh, wk_llvm_int(e, 0), wk_llvm_int(e, c->kh), 1, NULL, 0);
  wk_ssa in_h = wk_llvm_in(e, wk_llvm_add(e, ih0, wk_llvm_mul(e, lh.i, c->dil_h)), c->h);
  wk_llvm_begin(e, &lw, wk_llvm_int(e, 0), wk_llvm_int(e, c->kw), 1, NULL, 0);
  wk_ssa in = wk_llvm_in(e, wk_llvm_add(e, iw0, wk_llvm_mul(e, lw.i, c->dil_w)), c->w);
  wk_ssa off =
      wk_llvm_add(e, wk_llvm_mul(e, lh.i, c->dil_h * sh), wk_llvm_mul(e, lw.i, c->dil_w * sw));
  wk_ssa p = wk_llvm_select(e, LLVMBuildAnd(e->b, in_h, in, ""), wk_llvm_at(e, base, off), zeros);
  wk_ssa tap = wk_llvm_add(e, wk_llvm_mul(e, lh.i, c->kw), lw.i);
  wk_llvm_store(e, p, wk_llvm_at(e, dst, wk_llvm_mul(e, tap, astep)));
  wk_llvm_end(e, &lw, NULL);
  wk_llvm_end(e, &lh, NULL);
}

static void strip_row(walk *w, wk_ssa oh, wk_ssa ow, wk_ssa dst) {
  wk_llvm *e = w->e;
  const wk_cpu_conv_desc *c = &w->g->conv;
  int64_t pitch = strip_pitch(w->g), astep = w->p->rows * 8;
  int64_t row_taps = w->g->taps / c->kh; /* 1, or kw when dilated */
  wk_ssa ih = wk_llvm_sub(e, scaled(e, oh, c->stride_h, -c->pad_h), w->strip_ih);
  wk_ssa base = wk_llvm_at(
      e, w->strip,
      wk_llvm_add(e, wk_llvm_mul(e, ih, pitch), wk_llvm_mul(e, ow, c->stride_w * w->g->pixel)));
  bool unrolled = c->kh * row_taps <= UNROLLED;
  for (int64_t t = 0; unrolled && t < c->kh * row_taps; t++) {
    int64_t off = t / row_taps * c->dil_h * pitch + t % row_taps * c->dil_w * w->g->pixel;
    wk_llvm_store(e, wk_llvm_off(e, base, off), wk_llvm_off(e, dst, t * astep));
  }
  if (unrolled) return;
  wk_llvm_loop lh, lw;
  wk_llvm_begin(e, &lh, wk_llvm_int(e, 0), wk_llvm_int(e, c->kh), 1, NULL, 0);
  wk_ssa p = wk_llvm_at(e, base, wk_llvm_mul(e, lh.i, c->dil_h * pitch));
  wk_llvm_begin(e, &lw, wk_llvm_int(e, 0), wk_llvm_int(e, row_taps), 1, NULL, 0);
  wk_ssa tap = wk_llvm_add(e, wk_llvm_mul(e, lh.i, row_taps), lw.i);
  wk_llvm_store(e, wk_llvm_at(e, p, wk_llvm_mul(e, lw.i, c->dil_w * w->g->pixel)),
                wk_llvm_at(e, dst, wk_llvm_mul(e, tap, astep)));
  wk_llvm_end(e, &lw, NULL);
  wk_llvm_end(e, &lh, NULL);
}

/* Byte offsets of output row `row` in y and in the operands that vary by row. */
static void output_row(walk *w, wk_ssa row, wk_ssa n, wk_ssa oh, wk_ssa ow) {
  wk_llvm *e = w->e;
  int64_t table = w->p->block_tiles * w->p->rows * 8;
  wk_ssa at = wk_llvm_at(e, wk_llvm_off(e, w->scratch, w->p->rowtab_at),
                         wk_llvm_mul(e, wk_llvm_sub(e, row, w->row0), 8));
  for (int i = -1; i < w->g->epi->n_operands; i++) {
    const int64_t *s = i < 0 ? w->g->conv.y_stride : w->g->epi->operands[i].stride;
    if (i >= 0 && wk_operand_is_row_invariant(&w->g->epi->operands[i])) continue;
    wk_ssa off = wk_llvm_add(e, wk_llvm_mul(e, n, s[0]),
                             wk_llvm_add(e, wk_llvm_mul(e, oh, s[1]), wk_llvm_mul(e, ow, s[2])));
    off = wk_llvm_mul(e, off, wk_dtype_size(i < 0 ? w->g->types.y : w->g->epi->operands[i].dtype));
    wk_llvm_store(e, off, wk_llvm_off(e, at, (1 + i) * table));
  }
}

static wk_ssa is_equal(wk_llvm *e, wk_ssa a, int64_t b) {
  return LLVMBuildICmp(e->b, LLVMIntEQ, a, wk_llvm_int(e, b), "");
}

/* All rows of the task's tiles, as pixels counted (n, oh, ow). */
static void pixel_rows(walk *w) {
  wk_llvm *e = w->e;
  const wk_cpu_conv_desc *c = &w->g->conv;
  wk_ssa zero = wk_llvm_int(e, 0), one = wk_llvm_int(e, 1), row0 = w->row0;
  wk_ssa ow0 = wk_llvm_mod(e, row0, c->ow), high = wk_llvm_div(e, row0, c->ow);
  wk_ssa pixel[] = {row0, wk_llvm_div(e, high, c->oh), wk_llvm_mod(e, high, c->oh), ow0};
  wk_llvm_loop lt, lr;
  wk_llvm_begin(e, &lt, w->tile0, w->tile1, 1, pixel, 4);
  wk_ssa rows = wk_cut_rows(e, &w->cut, lt.i);
  wk_ssa table = wk_llvm_off(e, w->scratch, w->p->atab_at);
  table = wk_llvm_at(e, table,
                     wk_llvm_mul(e, wk_llvm_sub(e, lt.i, w->tile0), w->g->taps * w->p->rows * 8));
  wk_llvm_begin(e, &lr, zero, rows, 1, lt.phi, 4);
  wk_ssa row = lr.phi[0], n = lr.phi[1], oh = lr.phi[2], ow = lr.phi[3];
  wk_ssa dst = wk_llvm_at(e, table, wk_llvm_mul(e, lr.i, 8));
  if (w->g->rows == WK_ROWS_CONV) conv_row(w, n, oh, ow, dst);
  if (w->g->rows == WK_ROWS_STRIP) strip_row(w, oh, ow, dst);
  if (w->g->row_table) output_row(w, row, n, oh, ow);
  wk_ssa ow1 = wk_llvm_add(e, ow, one), ends_row = is_equal(e, ow1, c->ow);
  wk_ssa oh1 = wk_llvm_add(e, oh, LLVMBuildZExt(e->b, ends_row, e->i64, ""));
  wk_ssa ends_image = is_equal(e, oh1, c->oh);
  wk_ssa n1 = wk_llvm_add(e, n, LLVMBuildZExt(e->b, ends_image, e->i64, ""));
  wk_ssa next[] = {wk_llvm_add(e, row, one), n1, wk_llvm_select(e, ends_image, zero, oh1),
                   wk_llvm_select(e, ends_row, zero, ow1)};
  wk_llvm_end(e, &lr, next);
  wk_llvm_end(e, &lt, lr.phi);
}

/* The rows of the task as floats. */
static wk_ssa wide_rows(walk *w) {
  wk_llvm *e = w->e;
  wk_ssa from = wk_llvm_at(e, w->a, wk_llvm_mul(e, w->row0, w->g->a_row));
  wk_ssa to = wk_llvm_off(e, w->scratch, w->p->wide_at);
  const wk_ssa args[] = {from, to, wk_llvm_sub(e, w->row1, w->row0), wk_llvm_int(e, w->g->a_row),
                         wk_llvm_int(e, w->p->wide_row)};
  wk_llvm_call(e, wk_widen_codegen(e, w->g->types.a, w->g->kc), args, WK_COUNTOF(args));
  return to;
}

static void plain_rows(walk *w) {
  wk_llvm *e = w->e;
  const wk_gemm_plan *p = w->p;
  int64_t step = p->wide_row ? p->wide_row : w->g->a_row;
  wk_ssa table = wk_llvm_off(e, w->scratch, p->atab_at);
  wk_ssa a = p->wide_row ? wide_rows(w) : wk_llvm_at(e, w->a, wk_llvm_mul(e, w->row0, w->g->a_row));
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, w->tile0, w->tile1, 1, &a, 1);
  wk_ssa dst = wk_llvm_at(e, table, wk_llvm_mul(e, wk_llvm_sub(e, l.i, w->tile0), p->rows * 8));
  for (int64_t r = 0; r < p->rows; r++)
    wk_llvm_store(e, wk_llvm_off(e, l.phi[0], r * step), wk_llvm_off(e, dst, r * 8));
  wk_ssa rows = wk_cut_rows(e, &w->cut, l.i);
  wk_ssa next = wk_llvm_at(e, l.phi[0], wk_llvm_mul(e, rows, step));
  wk_llvm_end(e, &l, &next);
}

/* Rows as they are listed. */
static void listed_rows(walk *w, wk_ssa list) {
  wk_llvm *e = w->e;
  const wk_gemm_plan *p = w->p;
  const wk_cpu_epilogue *epi = w->g->epi;
  int64_t table = p->block_tiles * p->rows * 8;
  wk_ssa zero = wk_llvm_int(e, 0), row0 = w->row0;
  wk_llvm_loop lt, lr;
  wk_llvm_begin(e, &lt, w->tile0, w->tile1, 1, &row0, 1);
  wk_ssa local = wk_llvm_mul(e, wk_llvm_sub(e, lt.i, w->tile0), p->rows * 8);
  wk_ssa to = wk_llvm_at(e, wk_llvm_off(e, w->scratch, p->atab_at), local);
  wk_ssa rows = wk_cut_rows(e, &w->cut, lt.i);
  wk_llvm_begin(e, &lr, zero, rows, 1, lt.phi, 1);
  wk_ssa row = lr.phi[0], at = wk_llvm_load(e, e->i64, wk_llvm_at(e, list, wk_llvm_mul(e, row, 8)));
  wk_ssa off = wk_llvm_off(e, w->scratch, p->rowtab_at);
  off = wk_llvm_at(e, off, wk_llvm_mul(e, wk_llvm_sub(e, row, w->row0), 8));
  wk_llvm_store(e, wk_llvm_at(e, w->a, wk_llvm_mul(e, at, w->g->a_row)),
                wk_llvm_at(e, to, wk_llvm_mul(e, lr.i, 8)));
  wk_llvm_store(e, wk_llvm_mul(e, at, w->g->y_row), off);
  for (int i = 0; i < epi->n_operands; i++)
    if (!wk_operand_is_row_invariant(&epi->operands[i]))
      wk_llvm_store(e, wk_llvm_mul(e, at, w->g->op_row[i]), wk_llvm_off(e, off, (1 + i) * table));
  wk_ssa next = wk_llvm_add(e, row, wk_llvm_int(e, 1));
  wk_llvm_end(e, &lr, &next);
  wk_llvm_end(e, &lt, lr.phi);
}

static void make_strip(walk *w) {
  wk_llvm *e = w->e;
  const wk_cpu_conv_desc *c = &w->g->conv;
  wk_ssa oh0 = wk_llvm_div(e, w->row0, c->ow);
  wk_ssa oh1 = wk_llvm_div(e, wk_llvm_sub(e, w->row1, wk_llvm_int(e, 1)), c->ow);
  w->strip = wk_llvm_off(e, w->scratch, w->p->strip_at);
  w->strip_ih = scaled(e, oh0, c->stride_h, -c->pad_h);
  wk_ssa rows = scaled(e, wk_llvm_sub(e, oh1, oh0), c->stride_h, (c->kh - 1) * c->dil_h + 1);
  strip_codegen(e, w->g, w->a, w->strip_ih, rows, w->strip);
}

wk_ssa wk_rows_codegen(wk_llvm *e, const wk_gemm *g, const wk_gemm_plan *p, const char *id) {
  char name[160];
  snprintf(name, sizeof name, "wk.rows.%s", id);
  wk_llvm_place place = wk_llvm_save(e);
  const LLVMTypeRef types[] = {e->ptr, e->ptr, e->i64, e->i64, e->i64,
                               e->i64, e->i64, e->i64, e->ptr};
  wk_ssa fn = wk_llvm_function(e, name, types, wk_rows_args(g)), v[WK_ROWS_ARGS];
  if (g->rows == WK_ROWS_PLAIN) wk_llvm_keep_simple(e, fn);
  LLVMGetParams(fn, v);
  walk w = {.e = e,
            .g = g,
            .p = p,
            .a = v[WK_ROWS_A],
            .scratch = v[WK_ROWS_SCRATCH],
            .tile0 = v[WK_ROWS_TILE0],
            .tile1 = v[WK_ROWS_TILE1],
            .row0 = v[WK_ROWS_ROW0],
            .row1 = v[WK_ROWS_ROW1],
            .cut = wk_cut_whole(e, p)};
  if (g->row_limit) {
    w.cut.base = v[WK_ROWS_BASE];
    w.cut.taller = v[WK_ROWS_TALLER];
  }
  if (g->has_list) listed_rows(&w, v[WK_ROWS_LIST]);
  else if (g->rows == WK_ROWS_PLAIN) plain_rows(&w);
  if (g->rows == WK_ROWS_STRIP) make_strip(&w);
  if (g->rows != WK_ROWS_PLAIN || (g->row_table && !g->has_list)) pixel_rows(&w);
  wk_llvm_return(e);
  wk_llvm_restore(e, place);
  return fn;
}
