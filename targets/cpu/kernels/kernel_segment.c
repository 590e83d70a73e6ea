/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a table, summed up by segments. Tables are larger than caches and indices are random, so
 * what counts is how many rows are on their way from memory at a time: the rows of indices some way
 * ahead are prefetched, across the ends of segments as well, and a row is read once, into
 * accumulators that stay in registers. Prefetches go to level 2, which has more lines under way
 * than level 1 (on a Zen 4 core 1.3 to 1.8 times as many bytes a second, bench_lookups).
 *
 * A row is cut into blocks of as many vectors as there are registers for; what is left of it at the
 * end goes in vectors of half the lanes, a quarter, …, so that nothing is masked. Numbers of fewer
 * than 8 bits are taken from a vector of bytes by their place in the byte, an accumulator for each,
 * and put in order when a segment is done.
 *
 * Quantised rows are summed as q * (w * scale), and the w * bias of all rows in a scalar beside
 * them. */
#include <stdlib.h>
#include <string.h>

#include "targets/cpu/kernels/kernels.h"

enum { MAX_PIECES = 16, MAX_LANES = 32, LINE = 64, LINES_AHEAD = 96, ROWS_AHEAD = 64 };

/* Elements column + part + k * each of a row, where a byte holds `each`, else column + k. */
typedef struct {
  int64_t column;
  int part;
  wk_lanes v;
} piece;

typedef struct {
  wk_llvm *e;
  const wk_cpu_segment_desc *d;
  wk_ssa y, data, offsets, indices, weights, scale, bias, error;
  wk_ssa segment, first, end;
  bool is_quantised; /* rows have a scale or a bias */
  int64_t width;
  int each;
  piece pieces[MAX_PIECES]; /* of the block at hand */
  int n;
} emitter;

/* ---- scalars --------------------------------------------------------------------------------- */

/* A number at any address, as wide as floats are in registers. */
static wk_ssa load_scalar(wk_llvm *e, wk_dtype t, wk_ssa at) {
  wk_ssa v = wk_llvm_load_packed(e, wk_vector_type(wk_memory_element(e, t), 1), at);
  return LLVMBuildExtractElement(e->b, wk_from_memory(e, t, 1, v), LLVMConstInt(e->i32, 0, 0), "");
}

static wk_ssa load_index(wk_llvm *e, wk_dtype t, wk_ssa base, wk_ssa k, int64_t step) {
  wk_ssa at = wk_llvm_at(e, base, wk_llvm_mul(e, k, step));
  if (t == WK_I64) return wk_llvm_load(e, e->i64, at);
  return LLVMBuildSExt(e->b, wk_llvm_load(e, e->i32, at), e->i64, "");
}

static void report_unless(const emitter *m, wk_ssa ok) {
  wk_llvm_branch branch;
  wk_llvm_if(m->e, &branch, LLVMBuildNot(m->e->b, ok, ""));
  wk_llvm_store(m->e, wk_llvm_int(m->e, 1), m->error);
  wk_llvm_endif(m->e, &branch);
}

static wk_ssa real(const emitter *m, double x) {
  return LLVMConstReal(wk_register_element(m->e, m->d->to), x);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* What the pieces of one column share: floats, or integers as wide as they. */
static wk_ssa load_words(const emitter *m, const piece *p, wk_ssa row) {
  wk_llvm *e = m->e;
  wk_dtype t = m->d->data;
  if (wk_dtype_is_float(t)) {
    wk_ssa at = wk_llvm_off(e, row, p->column * wk_dtype_size(t));
    wk_ssa x = LLVMBuildLoad2(e->b, wk_vector_type(wk_memory_element(e, t), p->v.lanes), at, "");
    LLVMSetAlignment(x, (unsigned)wk_dtype_size(t));
    return wk_from_memory(e, t, p->v.lanes, x);
  }
  wk_ssa x = wk_llvm_load_packed(e, wk_vector_type(e->i8, p->v.lanes),
                                 wk_llvm_off(e, row, p->column / m->each));
  return t == WK_I8 ? LLVMBuildSExt(e->b, x, p->v.word, "") : LLVMBuildZExt(e->b, x, p->v.word, "");
}

/* The elements of a piece as floats, before scale and bias. */
static wk_ssa numbers(const emitter *m, const piece *p, wk_ssa words) {
  wk_llvm *e = m->e;
  int bits = m->d->rows.bits;
  if (wk_dtype_is_float(m->d->data)) return words;
  if (p->part) words = LLVMBuildLShr(e->b, words, wk_vector_int(e, p->v.word, p->part * bits), "");
  if (m->each > 1)
    words = LLVMBuildAnd(e->b, words, wk_vector_int(e, p->v.word, (1 << bits) - 1), "");
  return LLVMBuildSIToFP(e->b, words, p->v.real, "");
}

typedef struct {
  wk_ssa at, weight, scale, bias; /* NULL: none */
} row_ref;

static row_ref read_row(const emitter *m, wk_ssa k, wk_ssa index) {
  wk_llvm *e = m->e;
  const wk_cpu_segment_desc *d = m->d;
  row_ref r = {.at = wk_llvm_at(e, m->data, wk_llvm_mul(e, index, d->data_row))};
  if (d->has_weights)
    r.weight =
        load_scalar(e, d->to, wk_llvm_at(e, m->weights, wk_llvm_mul(e, k, d->weight_step)));
  if (d->has_scale)
    r.scale = load_scalar(e, WK_F32, wk_llvm_at(e, m->scale, wk_llvm_mul(e, index, d->scale_step)));
  if (d->has_bias)
    r.bias = load_scalar(e, WK_F32, wk_llvm_at(e, m->bias, wk_llvm_mul(e, index, d->bias_step)));
  if (d->rows.bits) {
    wk_dtype t = d->rows.tail == 4 ? WK_F32 : WK_F16;
    wk_ssa behind = wk_llvm_off(e, r.at, d->columns - 2 * d->rows.tail);
    r.scale = load_scalar(e, t, behind);
    r.bias = load_scalar(e, t, wk_llvm_off(e, behind, d->rows.tail));
  }
  return r;
}

/* Index k as a row, 0 where there is no such row, which *ok says. */
static wk_ssa row_of(const emitter *m, wk_ssa k, wk_ssa *ok) {
  wk_llvm *e = m->e;
  wk_ssa x = load_index(e, m->d->index, m->indices, k, m->d->index_step);
  wk_ssa wrapped = wk_llvm_add(e, x, wk_llvm_int(e, m->d->n_rows));
  x = wk_llvm_select(e, wk_llvm_lt(e, x, wk_llvm_int(e, 0)), wrapped, x);
  *ok = wk_llvm_in(e, x, m->d->n_rows);
  return wk_llvm_select(e, *ok, x, wk_llvm_int(e, 0));
}

/* Bytes of a row that the block reads, from *first on. */
static int64_t block_bytes(const emitter *m, int64_t *first) {
  const piece *last = &m->pieces[m->n - 1];
  int64_t from = m->pieces[0].column, to = last->column + last->v.lanes * m->each;
  int bits = m->d->rows.bits ? m->d->rows.bits : 8 * wk_dtype_size(m->d->data);
  *first = from * bits / 8;
  if (m->d->rows.bits && to == m->width) return m->d->columns - *first;
  return (to - from) * bits / 8;
}

static void fetch(const emitter *m, wk_ssa at, int64_t offset) {
  wk_llvm_prefetch(m->e, wk_llvm_off(m->e, at, offset), 2);
}

/* The block of a row further on, and its scale and bias. Its index may be out of range: prefetches
 * don't fault. */
static void prefetch(const emitter *m, wk_ssa k) {
  wk_llvm *e = m->e;
  const wk_cpu_segment_desc *d = m->d;
  int64_t first, bytes = block_bytes(m, &first), lines = wk_ceil_div(bytes, LINE);
  int64_t rows = LINES_AHEAD / lines;
  rows = rows < 8 ? 8 : rows > ROWS_AHEAD ? ROWS_AHEAD : rows;
  wk_ssa then = wk_llvm_min(e, wk_llvm_add(e, k, wk_llvm_int(e, rows)), wk_llvm_int(e, d->n - 1));
  wk_ssa index = load_index(e, d->index, m->indices, then, d->index_step);
  wk_ssa at = wk_llvm_at(e, m->data, wk_llvm_mul(e, index, d->data_row));
  for (int64_t line = 0; line < lines; line++) fetch(m, at, first + line * LINE);
  if (d->data_row % LINE) fetch(m, at, first + bytes - 1);
  if (d->rows.bits && first + bytes < d->columns) fetch(m, at, d->columns - 2 * d->rows.tail);
  if (d->has_scale) fetch(m, wk_llvm_at(e, m->scale, wk_llvm_mul(e, index, d->scale_step)), 0);
  if (d->has_bias) fetch(m, wk_llvm_at(e, m->bias, wk_llvm_mul(e, index, d->bias_step)), 0);
}

/* ---- folds ----------------------------------------------------------------------------------- */

/* NaN if either is NaN. */
static wk_ssa larger(const emitter *m, wk_ssa p, wk_ssa q) {
  LLVMBuilderRef b = m->e->b;
  wk_ssa past = LLVMBuildFCmp(b, LLVMRealOGT, p, q, "");
  wk_ssa nan = LLVMBuildFCmp(b, LLVMRealUNO, p, p, "");
  return LLVMBuildSelect(b, LLVMBuildOr(b, past, nan, ""), p, q, "");
}

static wk_ssa splat(const emitter *m, const piece *p, wk_ssa x) {
  return wk_vector_splat(m->e, p->v.lanes, x);
}

static wk_ssa add_piece(const emitter *m, const piece *p, const row_ref *r, wk_ssa factor,
                        wk_ssa words, wk_ssa acc) {
  LLVMBuilderRef b = m->e->b;
  wk_ssa x = numbers(m, p, words);
  if (!m->d->is_max)
    return factor ? wk_lanes_fma(&p->v, x, splat(m, p, factor), acc) : LLVMBuildFAdd(b, acc, x, "");
  if (r->scale) x = LLVMBuildFMul(b, x, splat(m, p, r->scale), "");
  if (r->bias) x = LLVMBuildFAdd(b, x, splat(m, p, r->bias), "");
  if (r->weight) x = LLVMBuildFMul(b, x, splat(m, p, r->weight), "");
  return larger(m, acc, x);
}

static wk_ssa product(const emitter *m, wk_ssa a, wk_ssa b) {
  return a && b ? LLVMBuildFMul(m->e->b, a, b, "") : a ? a : b;
}

/* What a block carries through the rows behind its pieces. */
enum { OFFSET, COUNT, BAD, CARRIED };

/* One row into next[], the accumulators and what is carried. */
static void step(const emitter *m, wk_ssa k, const wk_ssa *now, wk_ssa *next) {
  wk_llvm *e = m->e;
  const wk_ssa *carried = now + m->n;
  wk_ssa index = k, ok = NULL;
  if (m->d->index) {
    index = row_of(m, k, &ok);
    prefetch(m, k);
  }
  row_ref r = read_row(m, k, index);
  wk_ssa factor = product(m, r.weight, r.scale), words = NULL;
  for (int p = 0; p < m->n; p++) {
    if (!m->pieces[p].part) words = load_words(m, &m->pieces[p], r.at);
    next[p] = add_piece(m, &m->pieces[p], &r, factor, words, now[p]);
  }
  wk_ssa *out = next + m->n;
  memcpy(out, carried, CARRIED * sizeof *out);
  if (r.bias && !m->d->is_max)
    out[OFFSET] = LLVMBuildFAdd(e->b, carried[OFFSET], product(m, r.weight, r.bias), "");
  out[COUNT] = wk_llvm_add(e, carried[COUNT], wk_llvm_int(e, 1));
  if (m->d->padding >= 0) {
    wk_ssa skip = LLVMBuildICmp(e->b, LLVMIntEQ, index, wk_llvm_int(e, m->d->padding), "");
    for (int p = 0; p < m->n + BAD; p++) next[p] = wk_llvm_select(e, skip, now[p], next[p]);
  }
  if (ok) out[BAD] = LLVMBuildOr(e->b, carried[BAD], LLVMBuildNot(e->b, ok, ""), "");
}

/* What becomes of a sum or maximum at the end of its segment. */
static wk_ssa finish_piece(const emitter *m, const piece *p, wk_ssa y, const wk_ssa *carried) {
  wk_llvm *e = m->e;
  const wk_cpu_segment_desc *d = m->d;
  if (m->is_quantised && !d->is_max)
    y = LLVMBuildFAdd(e->b, y, splat(m, p, carried[OFFSET]), "");
  wk_ssa none = LLVMBuildICmp(e->b, LLVMIntEQ, carried[COUNT], wk_llvm_int(e, 0), "");
  if (d->is_mean) {
    wk_ssa rows = wk_llvm_select(e, none, wk_llvm_int(e, 1), carried[COUNT]);
    rows = LLVMBuildSIToFP(e->b, rows, wk_register_element(e, d->to), "");
    y = LLVMBuildFDiv(e->b, y, splat(m, p, rows), "");
  }
  return d->is_max ? wk_llvm_select(e, none, splat(m, p, real(m, d->empty)), y) : y;
}

/* x0 y0 x1 y1 … */
static wk_ssa interleave(const emitter *m, wk_ssa x, wk_ssa y, int lanes) {
  wk_ssa order[2 * MAX_LANES];
  for (int k = 0; k < 2 * lanes; k++)
    order[k] = LLVMConstInt(m->e->i32, (unsigned)(k / 2 + k % 2 * lanes), 0);
  return LLVMBuildShuffleVector(m->e->b, x, y, LLVMConstVector(order, (unsigned)(2 * lanes)), "");
}

/* Stores the pieces of one column, of which y are the ends. */
static void store_column(const emitter *m, const piece *p, const wk_ssa *y) {
  wk_llvm *e = m->e;
  wk_dtype t = m->d->to;
  int lanes = p->v.lanes;
  wk_ssa all = y[0];
  if (m->each == 2) all = interleave(m, y[0], y[1], lanes);
  if (m->each == 4)
    all = interleave(m, interleave(m, y[0], y[2], lanes), interleave(m, y[1], y[3], lanes),
                     2 * lanes);
  lanes *= m->each;
  all = wk_to_memory(e, t, lanes, wk_round_narrow(e, t, lanes, all));
  wk_ssa at = wk_llvm_at(e, m->y, wk_llvm_mul(e, m->segment, m->d->y_row));
  wk_ssa s = LLVMBuildStore(e->b, all, wk_llvm_off(e, at, p->column * wk_dtype_size(t)));
  LLVMSetAlignment(s, (unsigned)wk_dtype_size(t));
}

static void block(const emitter *m) {
  wk_llvm *e = m->e;
  wk_ssa init[MAX_PIECES + CARRIED], next[MAX_PIECES + CARRIED];
  for (int p = 0; p < m->n; p++)
    init[p] = splat(m, &m->pieces[p], real(m, m->d->is_max ? -(double)__builtin_inff() : 0));
  init[m->n + OFFSET] = real(m, 0);
  init[m->n + COUNT] = wk_llvm_int(e, 0);
  init[m->n + BAD] = LLVMConstInt(e->i1, 0, 0);
  wk_llvm_loop rows;
  wk_llvm_begin(e, &rows, m->first, m->end, 1, init, m->n + CARRIED);
  step(m, rows.i, rows.phi, next);
  wk_llvm_end(e, &rows, next);
  wk_ssa y[MAX_PIECES];
  for (int p = 0; p < m->n; p++)
    y[p] = finish_piece(m, &m->pieces[p], rows.phi[p], rows.phi + m->n);
  for (int p = 0; p < m->n; p += m->each) store_column(m, &m->pieces[p], y + p);
  if (m->d->index) report_unless(m, LLVMBuildNot(e->b, rows.phi[m->n + BAD], ""));
}

/* The pieces from `column` on; returns where the next block begins. */
static int64_t cut(emitter *m, int64_t column) {
  int bits = m->d->to == WK_F64 ? 64 : 32, lanes = m->e->simd->lanes * 32 / bits;
  int most = m->e->simd->registers >= 32 ? MAX_PIECES : MAX_PIECES / 2;
  for (m->n = 0; m->n < most && column < m->width; column += lanes * m->each) {
    while (lanes * m->each > m->width - column) lanes /= 2;
    for (int k = 0; k < m->each; k++)
      m->pieces[m->n++] = (piece){column, k, wk_lanes_make(m->e, lanes, bits)};
  }
  return column;
}

static wk_ssa emit_task(wk_llvm *e, const wk_cpu_segment_desc *d, const char *name) {
  emitter m = {.e = e, .d = d, .is_quantised = d->rows.bits || d->has_bias,
               .width = wk_segment_width(&d->rows, d->columns),
               .each = d->rows.bits ? 8 / d->rows.bits : 1};
  LLVMTypeRef params[] = {e->ptr, e->ptr, e->i64, e->i64};
  wk_llvm_place place = wk_llvm_save(e);
  wk_ssa task = wk_llvm_function(e, name, params, 4), args = LLVMGetParam(task, 0);
  wk_ssa *pointers[] = {&m.y, &m.data, &m.offsets, &m.indices, &m.weights, &m.scale, &m.bias,
                        &m.error};
  for (size_t k = 0; k < WK_COUNTOF(pointers); k++)
    *pointers[k] = wk_llvm_load(e, e->ptr, wk_llvm_off(e, args, (int64_t)k * 8));
  wk_llvm_loop segments;
  wk_llvm_begin(e, &segments, LLVMGetParam(task, 2), LLVMGetParam(task, 3), 1, NULL, 0);
  m.segment = segments.i;
  m.first = load_index(e, d->offset, m.offsets, m.segment, d->offset_step);
  m.end = load_index(e, d->offset, m.offsets, wk_llvm_add(e, m.segment, wk_llvm_int(e, 1)),
                     d->offset_step);
  wk_ssa ok = LLVMBuildAnd(e->b, wk_llvm_in(e, m.end, d->n + 1),
                           LLVMBuildICmp(e->b, LLVMIntULE, m.first, m.end, ""), "");
  report_unless(&m, ok);
  m.end = wk_llvm_select(e, ok, m.end, m.first);
  for (int64_t column = 0; column < m.width;) {
    column = cut(&m, column);
    block(&m);
  }
  wk_llvm_end(e, &segments, NULL);
  wk_llvm_return(e);
  wk_llvm_restore(e, place);
  return task;
}

void wk_cpu_segment_codegen(wk_llvm *e, const wk_cpu_segment_desc *d, wk_cpu_kernel *out) {
  char name[40];
  snprintf(name, sizeof name, "wk.segment.%016llx",
           (unsigned long long)wk_hash64(d, sizeof *d, sizeof *d));
  wk_ssa task = LLVMGetNamedFunction(e->mod, name);
  if (!task) task = emit_task(e, d, name);
  *out = (wk_cpu_kernel){.task = task, .n_tasks = d->segments};
}
