/* SPDX-License-Identifier: Apache-2.0
 * Weights of a float model in few bits: constants that products and lookups read become blocks
 * (blocks.h). Other readers of such a constant keep the floats. */
#include <math.h>
#include <stdlib.h>

#include "compiler/lower/blocks.h"

/* Fewer weights are in a cache near the core when they are read, where floats cost no more time
 * than what goes on around blocks. */
#define LEAST_WEIGHTS (1 << 14)
/* Narrower rows are not those of words: sines of positions and the like, which must stay exact. */
#define LEAST_ROW 256

/* Constants that are blocks by now, by what they were made of. */
typedef struct {
  const void *data;
  int64_t step_n;
  int64_t columns;
  wk_type words_type, scales_type;
  const void *words, *scales; /* NULL: they stay floats */
} encoded;

typedef struct {
  wk_graph *g;
  int bits;
  int64_t block;
  wk_block_report *report;
  wk_block_error error;
  WK_VEC(encoded) done;
} job;

void wk_block_report_free(wk_block_report *r) { wk_vec_free(&r->rows); }

/* ---- what is converted ----------------------------------------------------------------------- */

/* A matrix that a node reads: v, or the constant that v is the transpose of. */
typedef struct {
  wk_value_id v;
  wk_block_floats floats;
  wk_blocks w;
  bool is_table;
} matrix;

static int64_t bytes_of(const wk_blocks *w) {
  const wk_type words = wk_block_words_type(w), scales = wk_block_scales_type(w, WK_BF16);
  return wk_type_bytes(&words) + wk_type_bytes(&scales);
}

/* A quarter less than the floats are, at least. */
static bool gains(const job *s, const matrix *x) {
  const wk_type *t = &wk_val(s->g, x->v)->type;
  return wk_type_count(t) >= LEAST_WEIGHTS && bytes_of(&x->w) <= wk_type_bytes(t) / 4 * 3;
}

static bool is_real(wk_dtype t) { return t == WK_F32 || t == WK_F16 || t == WK_BF16; }

/* The constant that v is, or is the transpose of, as [n, k], k being axis `k_axis` of v. */
static bool find_matrix(const job *s, wk_value_id v, int k_axis, matrix *x) {
  const wk_value *val = wk_val(s->g, v);
  const wk_node *turn = wk_def(s->g, v);
  if (val->type.rank != 2) return false;
  if (turn && turn->op == WK_OP_TRANSPOSE && WK_ATTR(turn, transpose)->perm.v[0] == 1) {
    v = turn->in[0];
    k_axis = 1 - k_axis;
  }
  const wk_type t = wk_val(s->g, v)->type;
  if (!wk_is_const(s->g, v) || !is_real(t.dtype)) return false;
  x->v = v;
  x->floats = (wk_block_floats){.data = wk_val(s->g, v)->data, .dtype = t.dtype,
                                .step_n = k_axis == 1 ? t.dims[1] : 1,
                                .step_k = k_axis == 1 ? 1 : t.dims[1]};
  x->w = (wk_blocks){.n = t.dims[1 - k_axis], .k = t.dims[k_axis], .block = s->block,
                     .bits = s->bits, .columns = x->is_table ? 1 : WK_BLOCK_COLUMNS,
                     .zeros = WK_NONE};
  return gains(s, x);
}

static bool find_weights(const job *s, const wk_node *n, matrix *x) {
  *x = (matrix){.is_table = n->op == WK_OP_GATHER};
  if (n->dead || n->predicate != WK_NONE) return false;
  if (n->op == WK_OP_GATHER)
    return WK_ATTR(n, gather)->axis == 0 && find_matrix(s, n->in[0], 1, x) &&
           x->w.k >= LEAST_ROW;
  if (n->op != WK_OP_MATMUL || n->n_in > 3 || WK_ATTR(n, matmul)->epilogue) return false;
  wk_dtype t = wk_val(s->g, n->out[0])->type.dtype;
  return is_real(wk_val(s->g, n->in[0])->type.dtype) && is_real(t) &&
         find_matrix(s, n->in[1], 0, x);
}

/* ---- constants ------------------------------------------------------------------------------- */

static const encoded *find_encoded(const job *s, const matrix *x) {
  for (size_t i = 0; i < s->done.n; i++) {
    const encoded *e = &s->done.data[i];
    if (e->data == x->floats.data && e->step_n == x->floats.step_n && e->columns == x->w.columns)
      return e;
  }
  return NULL;
}

static void report(job *s, const wk_node *n, const matrix *x, const wk_block_error *e) {
  wk_block_report *r = s->report;
  wk_block_row row = {.node = wk_node_called(s->g, n), .weights = wk_val(s->g, x->v)->name,
                      .is_table = x->is_table, .error = e->all > 0 ? sqrt(e->error / e->all) : 0,
                      .was = wk_type_bytes(&wk_val(s->g, x->v)->type), .bytes = bytes_of(&x->w)};
  wk_vec_push(&r->rows, row);
  r->was += row.was;
  r->bytes += row.bytes;
  s->error.error += e->error;
  s->error.all += e->all;
  r->error = s->error.all > 0 ? sqrt(s->error.error / s->error.all) : 0;
}

static wk_status encode(job *s, const wk_node *n, const matrix *x, encoded *out) {
  void *words, *scales;
  wk_block_error e = {0};
  *out = (encoded){.data = x->floats.data, .step_n = x->floats.step_n, .columns = x->w.columns,
                   .words_type = wk_block_words_type(&x->w),
                   .scales_type = wk_block_scales_type(&x->w, WK_BF16)};
  WK_TRY(wk_graph_data_alloc(s->g, &out->words_type, &words));
  WK_TRY(wk_graph_data_alloc(s->g, &out->scales_type, &scales));
  if (wk_block_encode(&x->floats, &x->w, words, scales, &e)) {
    out->words = words;
    out->scales = scales;
    report(s, n, x, &e);
  }
  wk_vec_push(&s->done, *out);
  return NULL;
}

/* Constants of this graph; *ok is false when the floats stay. */
static wk_status make_blocks(job *s, const wk_node *n, matrix *x, bool *ok) {
  const encoded *found = find_encoded(s, x);
  encoded e;
  if (found) e = *found;
  else WK_TRY(encode(s, n, x, &e));
  *ok = e.words != NULL;
  if (!*ok) return NULL;
  x->w.words = wk_graph_constant(s->g, NULL, &e.words_type, e.words);
  x->w.scales = wk_graph_constant(s->g, NULL, &e.scales_type, e.scales);
  return NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static wk_value_id product(wk_low *l, const wk_node *n, const matrix *x) {
  const wk_type t = *wk_low_type(l, n->out[0]), a = *wk_low_type(l, n->in[0]);
  const int64_t flat[] = {wk_type_count(&a) / x->w.k, x->w.k};
  wk_value_id y = wk_low_reshape(l, n->in[0], 2, flat);
  if (a.dtype != WK_F32) y = wk_low_map(l, WK_F32, "f32(a)", 1, y);
  y = wk_low_block_product(l, y, &x->w);
  y = wk_low_reshape(l, y, t.rank, t.dims);
  if (n->n_in == 3 && n->in[2] != WK_NONE)
    return wk_low_map(l, t.dtype, "add(a, f32(b))", 2, y, n->in[2]);
  return t.dtype == WK_F32 ? y : wk_low_map(l, t.dtype, "a", 1, y);
}

static wk_value_id rows(wk_low *l, const wk_node *n, const matrix *x) {
  wk_value_id y = wk_low_block_rows(l, &x->w, n->in[1]);
  return x->floats.dtype == WK_F32 ? y : wk_low_map(l, x->floats.dtype, "a", 1, y);
}

static wk_status convert_node(job *s, wk_node_id id, int64_t *changes) {
  const wk_node n = *wk_nod(s->g, id); /* a copy: adding nodes moves the array */
  matrix x;
  bool ok;
  if (!find_weights(s, &n, &x)) return NULL;
  WK_TRY(make_blocks(s, &n, &x, &ok));
  if (!ok) return NULL;
  wk_low l = {.g = s->g, .arena = s->g->module->arena, .name = n.name};
  wk_value_id y = x.is_table ? rows(&l, &n, &x) : product(&l, &n, &x);
  WK_TRY(wk_status_place(l.status, n.name));
  wk_graph_replace(s->g, n.out[0], y);
  wk_node_remove(s->g, id);
  *(x.is_table ? &s->report->tables : &s->report->products) += 1;
  (*changes)++;
  return NULL;
}

wk_status wk_convert_blocks(wk_module *m, int bits, int64_t block, wk_block_report *r,
                            int64_t *changes) {
  job s = {.bits = bits, .block = block, .report = r};
  wk_status status = NULL;
  for (size_t k = 0; k < m->graphs.n && !status; k++) {
    s.g = m->graphs.data[k];
    for (size_t i = 0, n = s.g->nodes.n; i < n && !status; i++)
      status = convert_node(&s, (wk_node_id)i, changes);
    if (!status) status = wk_graph_normalise(s.g);
  }
  wk_vec_free(&s.done);
  return status;
}
