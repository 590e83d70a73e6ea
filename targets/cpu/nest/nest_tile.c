/* SPDX-License-Identifier: Apache-2.0 */
/* Maps between different memory orders: square tiles over two dims. Operands contiguous along the
 * tile dim are loaded along it and transposed in registers (or transposed and stored along it); the
 * expression runs on rows along the vector dim. What is left over at two edges goes element by
 * element. */
#include <stdlib.h>

#include "targets/cpu/expr/expr_codegen.h"
#include "targets/cpu/nest/nest.h"

#define MAX_LANES 16

typedef struct {
  wk_ssa row[MAX_LANES];
} tile;

/* Interleaving rows i and i + n/2 rotates the bits of (row, column) by one: log2 n times swaps
 * them. */
static wk_ssa interleave(wk_llvm *e, wk_ssa a, wk_ssa b, int n, bool high) {
  wk_ssa order[MAX_LANES];
  for (int i = 0; i < n; i++) {
    int from = (high ? n / 2 : 0) + i / 2 + (i % 2 ? n : 0);
    order[i] = LLVMConstInt(e->i32, (unsigned)from, 0);
  }
  return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(order, (unsigned)n), "");
}

static tile transposed(wk_llvm *e, tile t, int n) {
  for (int stage = 1; stage < n; stage *= 2) {
    tile next;
    for (int i = 0; i < n / 2; i++) {
      next.row[2 * i] = interleave(e, t.row[i], t.row[i + n / 2], n, false);
      next.row[2 * i + 1] = interleave(e, t.row[i], t.row[i + n / 2], n, true);
    }
    t = next;
  }
  return t;
}

/* Row i of the tiles. */
static void step_to_row(wk_nest_at *at, wk_ssa i) {
  const wk_nest_statement *s = at->s;
  if (!s->is_run) {
    wk_nest_step(at, s->tile, i);
    return;
  }
  wk_nest_step(at, s->tile - 1, wk_llvm_div(at->e, i, s->dim[s->tile].n));
  wk_nest_step(at, s->tile, wk_llvm_mod(at->e, i, s->dim[s->tile].n));
}

static wk_ssa row_count(const wk_nest_at *at) {
  const wk_nest_statement *s = at->s;
  wk_ssa n = wk_nest_length(at, s->tile - s->is_run);
  return s->is_run ? wk_llvm_mul(at->e, n, s->dim[s->tile].n) : n;
}

/* Whether tiles of n rows leave none over, in any piece. */
static bool has_whole_tiles(const wk_nest_statement *s, int n) {
  int64_t width = s->is_run ? s->dim[s->tile].n : 1;
  int first = wk_nest_inner(s);
  if (s->dim[first].n * width % n) return false;
  return s->clip != first || s->clip_of * width % n == 0;
}

static bool lies_across(const wk_nest_statement *s, const wk_nest_operand *o) {
  int64_t size = wk_dtype_size(o->dtype), stride = o->stride[s->vector];
  return o->stride[s->tile] == size && stride != size && stride != -size && stride != 0;
}

static wk_ssa column_address(const wk_nest_at *at, uint32_t k, wk_ssa v, int i) {
  int64_t stride = at->s->operands[k].stride[at->s->vector];
  return wk_llvm_off(at->e, wk_llvm_at(at->e, at->base[k], wk_llvm_mul(at->e, v, stride)),
                     i * stride);
}

static tile load_across(const wk_nest_at *at, uint32_t k, wk_ssa v, int n) {
  wk_dtype t = at->s->operands[k].dtype;
  LLVMTypeRef type = wk_vector_type(wk_memory_element(at->e, t), n);
  tile y;
  for (int i = 0; i < n; i++) {
    y.row[i] = LLVMBuildLoad2(at->e->b, type, column_address(at, k, v, i), "");
    LLVMSetAlignment(y.row[i], (unsigned)wk_dtype_size(t));
  }
  y = transposed(at->e, y, n);
  for (int i = 0; i < n; i++) y.row[i] = wk_from_memory(at->e, t, n, y.row[i]);
  return y;
}

static void store_across(const wk_nest_at *at, uint32_t k, wk_ssa v, int n, tile y) {
  wk_dtype t = at->s->operands[k].dtype;
  for (int i = 0; i < n; i++) y.row[i] = wk_to_memory(at->e, t, n, y.row[i]);
  y = transposed(at->e, y, n);
  for (int i = 0; i < n; i++)
    LLVMSetAlignment(LLVMBuildStore(at->e->b, y.row[i], column_address(at, k, v, i)),
                     (unsigned)wk_dtype_size(t));
}

/* Rows at..at + n of the tile dim, elements v..v + n of the vector dim. */
static void emit_tile(const wk_nest_at *at, const wk_nest_at *rows, wk_ssa v, int n) {
  const wk_nest_statement *s = at->s;
  wk_nest_place place = {.i = v, .lanes = n};
  uint32_t n_in = s->n_operands - s->n_out, n_results = s->body->n_results;
  tile *in = wk_xcalloc(n_in, sizeof *in), *out = wk_xcalloc(n_results, sizeof *out);
  wk_ssa *inputs = wk_xcalloc(n_in, sizeof *inputs);
  wk_ssa *results = wk_xcalloc(n_results, sizeof *results);
  for (uint32_t k = 0; k < n_in; k++) {
    if (!at->base[s->n_out + k]) continue;
    if (lies_across(s, &s->operands[s->n_out + k])) {
      in[k] = load_across(at, s->n_out + k, v, n);
    } else {
      for (int r = 0; r < n; r++) in[k].row[r] = wk_nest_load(&rows[r], s->n_out + k, &place);
    }
  }
  for (int r = 0; r < n; r++) {
    for (uint32_t k = 0; k < n_in; k++) inputs[k] = in[k].row[r];
    wk_expr_codegen(at->e, s->body, NULL, n, inputs, NULL, results);
    for (uint32_t k = 0; k < n_results; k++) out[k].row[r] = results[k];
  }
  for (uint32_t k = 0; k < n_results && k < s->n_out; k++) {
    if (!at->base[k]) continue;
    if (lies_across(s, &s->operands[k])) store_across(at, k, v, n, out[k]);
    else
      for (int r = 0; r < n; r++) wk_nest_store(&rows[r], k, &place, out[k].row[r]);
  }
  free(in);
  free(out);
  free(inputs);
  free(results);
}

/* Elements `from` on of the vector dim in rows first..last of the tile dim. */
static void emit_rest(const wk_nest_at *at, wk_ssa first, wk_ssa last, int64_t from) {
  const wk_nest_statement *s = at->s;
  wk_nest_at row = *at;
  wk_llvm_loop *rows = wk_xcalloc(1, sizeof *rows);
  wk_llvm_begin(at->e, rows, first, last, 1, NULL, 0);
  step_to_row(&row, rows->i);
  if (from == 0) wk_nest_walk(&row, wk_nest_map_group, NULL);
  else
    wk_nest_walk_range(&row, wk_llvm_int(at->e, from), wk_nest_length(at, s->vector), 1, 1,
                       wk_nest_map_group, NULL);
  wk_llvm_end(at->e, rows, NULL);
  free(rows);
}

void wk_nest_tile_codegen(wk_nest_at *at) {
  const wk_nest_statement *s = at->s;
  wk_llvm *e = at->e;
  int n = s->lanes;
  int64_t width = s->dim[s->vector].n, even = width / n * n;
  wk_ssa height = row_count(at), zero = wk_llvm_int(e, 0);
  wk_ssa full = wk_llvm_mul(e, wk_llvm_div(e, height, n), n);
  wk_llvm_loop *rows = wk_xcalloc(2, sizeof *rows), *columns = rows + 1;
  wk_nest_at base = *at, row[MAX_LANES];
  wk_llvm_begin(e, rows, zero, full, n, NULL, 0);
  wk_nest_step(&base, s->tile, rows->i); /* what lies across goes straight on */
  wk_llvm_begin(e, columns, zero, wk_llvm_int(e, even), n, NULL, 0);
  for (int r = 0; r < n; r++) {
    row[r] = s->is_run ? *at : base;
    if (s->is_run) step_to_row(&row[r], wk_llvm_add(e, rows->i, wk_llvm_int(e, r)));
    else wk_nest_step(&row[r], s->tile, wk_llvm_int(e, r));
  }
  emit_tile(&base, row, columns->i, n);
  wk_llvm_end(e, columns, NULL);
  wk_llvm_end(e, rows, NULL);
  free(rows);
  if (even < width) emit_rest(at, zero, full, even);
  if (!has_whole_tiles(s, n)) emit_rest(at, full, height, 0);
}
