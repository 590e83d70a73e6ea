/* SPDX-License-Identifier: Apache-2.0
 * Graphs of test_figures.c that are not drawn: rows of the tables of operators, whose attributes
 * are rare ones, on both sides of each limit that a pass or a search has, and real networks. */
#ifndef WICK_TEST_FIGURES_TABLES_H
#define WICK_TEST_FIGURES_TABLES_H

#include "compiler/zoo/zoo.h"
#include "tests/unit/case_text.h"
#include "tests/unit/figures.h"

/* ---- tables ---------------------------------------------------------------------------------- */

typedef struct {
  wk_op op;
  const char *attrs, *in, *want; /* want: of the outputs only which there are counts */
  int n_out;
} table_row;

static const table_row table[] = {
#define ROW(op, attrs, in, n_out) {WK_OP_##op, attrs, in, NULL, n_out},
#include "tests/unit/lower_rows.def"
#undef ROW
#define CASE(op, attrs, in, want) {WK_OP_##op, attrs, in, want, 0},
#include "tests/unit/eval_cases.def"
#undef CASE
};

/* What is there in any case. */
static inline uint32_t wanted_outputs(const table_row *t, unsigned *unwanted) {
  uint32_t n = (uint32_t)t->n_out;
  *unwanted = 0;
  if (!t->want) return n;
  const char *w = t->want;
  for (size_t k; (k = case_word(&w)) > 0; w += k, n++) *unwanted |= (unsigned)(*w == '-') << n;
  return n;
}

/* Of the row alone, so that rows may be added. */
static inline uint64_t table_seed(const table_row *t) {
  return wk_hash64(t->attrs, strlen(t->attrs), wk_hash64(t->in, strlen(t->in), 1)) >> 1;
}

/* The first input is one; the others are constants in rows of tensors that have data. */
static inline wk_value_id table_input(wk_graph *g, const char *word, bool is_constant) {
  wk_type t = case_type(word);
  if (!is_constant) return wk_graph_input(g, NULL, &t);
  wk_tensor data = case_tensor(word);
  void *own = wk_arena_memdup(g->module->arena, data.data, (size_t)wk_type_bytes(&t));
  wk_tensor_free(&data);
  return wk_graph_constant(g, NULL, &t, own);
}

/* NULL: the row is one that is refused. */
static inline wk_module *table_try(const table_row *t, bool has_constants, wk_status *st) {
  enum { MOST = 16 };
  static const char *const names[] = {NULL, NULL, NULL};
  const char *out_names[3], *s = t->in;
  wk_value_id in[MOST], out[MOST];
  uint32_t n = 0;
  unsigned unwanted;
  if (t->want && *t->want == '!') return NULL;
  wk_module *m = wk_module_new("row");
  wk_graph *g = wk_graph_new(m, "main");
  for (size_t w; (w = case_word(&s)) > 0; s += w, n++)
    in[n] = *s == '-' ? WK_NONE : table_input(g, s, has_constants && n && t->want);
  uint32_t n_out = wanted_outputs(t, &unwanted);
  for (uint32_t k = 0; k < 3; k++) out_names[k] = unwanted >> k & 1 ? "" : names[k];
  wk_node_desc d = {.op = t->op, .name = "node", .in = in, .n_in = n, .n_out = n_out,
                    .attrs = case_attrs(m->arena, t->op, t->attrs),
                    .out_names = n_out <= 3 ? out_names : NULL};
  *st = wk_graph_add(g, &d, out);
  for (uint32_t k = 0; k < n_out && !*st; k++)
    if (out[k] != WK_NONE) wk_graph_output(g, NULL, out[k]);
  return m;
}

static inline wk_module *table_module(const table_row *t, bool has_constants) {
  wk_status st = NULL;
  wk_module *m = table_try(t, has_constants, &st);
  if (st) fail_msg("%s %s: %s", wk_op_get(t->op)->name, t->attrs, st->message);
  return m;
}

/* Without the types of results, which would refuse every change of a shape. */
static inline void drop_types(wk_str *text) {
  size_t to = 0;
  for (size_t i = 0; i < text->n; i++) {
    if (!strncmp(text->s + i, " : ", 3)) i += strcspn(text->s + i, "\n");
    text->s[to++] = text->s[i];
  }
  text->s[to] = '\0';
  text->n = to;
}

static inline wk_module *draw_row(record *r) { return table_module(&table[r->seed - 1], false); }
static inline wk_module *draw_constants(record *r) {
  return table_module(&table[r->seed - 1], true);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static inline wk_value_id input_of(wk_graph *g, int64_t n) {
  return wk_graph_input(g, NULL, &(wk_type){.dtype = WK_F32, .rank = 2, .dims = {1, n}});
}

static inline wk_value_id numbers(wk_graph *g, wk_dtype t, int64_t n, int64_t modulus) {
  wk_type type = {.dtype = t, .rank = 1, .dims = {n}};
  char *data = wk_arena_alloc(g->module->arena, (size_t)wk_type_bytes(&type));
  for (int64_t i = 0; i < n; i++)
    if (t == WK_I64) wk_store_i64(data, t, i, i % modulus);
    else wk_store_f64(data, t, i, (double)(i % modulus) + 0.5);
  return wk_graph_constant(g, NULL, &type, data);
}

/* A chain of functions of one tensor: how much becomes one map. */
static inline void chain(wk_graph *g, int64_t n) {
  wk_value_id x = input_of(g, 8);
  for (int64_t i = 0; i < n; i++) x = wk_build(g, i % 2 ? WK_OP_TANH : WK_OP_SIN, NULL, 1, x);
  wk_graph_output(g, NULL, x);
}

/* A sum of so many inputs. */
static inline void sum(wk_graph *g, int64_t n) {
  wk_value_id x = input_of(g, 8);
  for (int64_t i = 1; i < n; i++) x = wk_build(g, WK_OP_ADD, NULL, 2, x, input_of(g, 8));
  wk_graph_output(g, NULL, x);
}

/* A product and what is added to it. */
static inline void epilogue(wk_graph *g, int64_t n) {
  wk_type t = {.dtype = WK_F32, .rank = 2, .dims = {4, 8}};
  wk_value_id x = wk_build(g, WK_OP_MATMUL, NULL, 2, input_of(g, 4), wk_graph_input(g, NULL, &t));
  for (int64_t i = 0; i < n; i++) x = wk_build(g, WK_OP_MUL, NULL, 2, x, input_of(g, 8));
  wk_graph_output(g, NULL, x);
}

/* Equal constants that lie apart. */
static inline void equal(wk_graph *g, int64_t n) {
  wk_value_id x = input_of(g, n);
  for (int k = 0; k < 2; k++) {
    wk_value_id y = wk_build(g, WK_OP_ADD, NULL, 2, x, numbers(g, WK_F32, n, 1000));
    wk_graph_output(g, NULL, wk_build(g, WK_OP_TANH, NULL, 1, y));
  }
}

/* A constant that is computed of a smaller one. */
static inline void grown(wk_graph *g, int64_t n) {
  wk_attr_expand *a = wk_attrs_new(g->module->arena, WK_OP_EXPAND);
  a->shape = wk_ints_dup(g->module->arena, (const int64_t[]){n / 4, 4}, 2);
  wk_value_id c = wk_build(g, WK_OP_EXPAND, a, 1, numbers(g, WK_F32, 4, 3));
  wk_value_id x = wk_build(g, WK_OP_MUL, NULL, 2, input_of(g, 4), c);
  wk_graph_output(g, NULL, wk_build(g, WK_OP_ADD, NULL, 2, x, c));
}

/* A constant of few values. */
static inline void few(wk_graph *g, int64_t n) {
  wk_value_id c = numbers(g, WK_F32, n / 100, n % 100);
  wk_graph_output(g, NULL, wk_build(g, WK_OP_MUL, NULL, 2, input_of(g, n / 100), c));
}

/* All elements in their order. */
static inline void gathered(wk_graph *g, int64_t n) {
  wk_attr_gather *a = wk_attrs_new(g->module->arena, WK_OP_GATHER);
  a->axis = 1;
  wk_value_id x = wk_build(g, WK_OP_GATHER, a, 2, input_of(g, n), numbers(g, WK_I64, n, n));
  wk_graph_output(g, NULL, wk_build(g, WK_OP_TANH, NULL, 1, x));
}

/* Movement that may sink below what follows, to meet its inverse. */
static inline void sunk(wk_graph *g, int64_t n) {
  wk_attr_transpose *a = wk_attrs_new(g->module->arena, WK_OP_TRANSPOSE);
  a->perm = wk_ints_dup(g->module->arena, (const int64_t[]){1, 0}, 2);
  wk_type t = {.dtype = WK_F32, .rank = 2, .dims = {5, 8}};
  wk_value_id x = wk_build(g, WK_OP_TRANSPOSE, a, 1, wk_graph_input(g, NULL, &t));
  for (int64_t i = 0; i < n; i++) x = wk_build(g, i % 2 ? WK_OP_TANH : WK_OP_SIN, NULL, 1, x);
  wk_graph_output(g, NULL, wk_build(g, WK_OP_TRANSPOSE, a, 1, x));
}

/* n updates of 2048 elements. */
static inline void scattered(wk_graph *g, int64_t n) {
  wk_attr_scatter_elements *a = wk_attrs_new(g->module->arena, WK_OP_SCATTER_ELEMENTS);
  a->axis = 1;
  a->reduction = "add";
  wk_type at = {.dtype = WK_I64, .rank = 2, .dims = {1, n}};
  wk_value_id x = input_of(g, 2048), i = wk_graph_input(g, NULL, &at);
  wk_graph_output(g, NULL, wk_build(g, WK_OP_SCATTER_ELEMENTS, a, 3, x, i, input_of(g, n)));
}

static inline void ranked(wk_graph *g, int64_t n) {
  wk_attr_top_k *a = wk_attrs_new(g->module->arena, WK_OP_TOP_K);
  a->axis = 1;
  a->k = 7;
  wk_value_id in[] = {input_of(g, n)}, out[2];
  wk_node_desc d = {.op = WK_OP_TOP_K, .in = in, .n_in = 1, .n_out = 2, .attrs = a};
  assert_null(wk_graph_add(g, &d, out));
  for (int k = 0; k < 2; k++) wk_graph_output(g, NULL, out[k]);
}

/* Rows that are folded and changed n times: one nest, or more. */
static inline void rows_of(wk_graph *g, int64_t n) {
  wk_type t = {.dtype = WK_F32, .rank = 2, .dims = {6, 32}};
  wk_attr_softmax *a = wk_attrs_new(g->module->arena, WK_OP_SOFTMAX);
  a->axis = 1;
  wk_value_id x = wk_graph_input(g, NULL, &t);
  for (int64_t i = 0; i < n; i++) x = wk_build(g, WK_OP_SOFTMAX, a, 1, x);
  wk_graph_output(g, NULL, x);
}

/* n branches of different sizes, a product each, all of which are there at the end. */
static inline void branches(wk_graph *g, int64_t n) {
  wk_value_id x = input_of(g, 8), all = WK_NONE;
  for (int64_t i = 0; i < n; i++) {
    int64_t width = 16 + i * 37 % 50;
    wk_type up = {.dtype = WK_F32, .rank = 2, .dims = {8, width}};
    wk_type down = {.dtype = WK_F32, .rank = 2, .dims = {width, 8}};
    wk_value_id y = wk_build(g, WK_OP_MATMUL, NULL, 2, x, wk_graph_input(g, NULL, &up));
    y = wk_build(g, WK_OP_MATMUL, NULL, 2, y, wk_graph_input(g, NULL, &down));
    all = all == WK_NONE ? y : wk_build(g, WK_OP_ADD, NULL, 2, i % 3 ? all : y, i % 3 ? y : all);
  }
  wk_graph_output(g, NULL, all);
}

static const struct {
  void (*build)(wk_graph *g, int64_t n);
  int64_t n[8];
} limits[] = {
    {chain, {1, 2, 52, 53, 54, 79, 80, 81}},
    {chain, {158, 159, 160, 161, 162, 163}},
    {sum, {2, 10, 11, 12, 13, 14, 25}},
    {epilogue, {1, 4, 5, 6, 7, 8, 9, 10}},
    {equal, {4, 1 << 18, (1 << 18) + 1}},
    {grown, {8, (1 << 14) - 4, 1 << 14, (1 << 14) + 4}},
    {few, {102302, 102402, 102502, 102403, 102404, 102405, 102416, 102417}},
    {few, {102408, 102409, 102432, 102433, 102464, 102465, 102301}},
    {gathered, {5, 65536, 65537}},
    {sunk, {0, 1, 46, 47, 48, 49, 50}},
    {scattered, {1, 3, 2047, 2048, 2049}},
    {ranked, {7, 8, 4095, 4096, 4097, 1 << 21}},
    {rows_of, {1, 2, 3, 4, 5, 6, 7, 8}},
    {branches, {2, 3, 5, 9, 17, 40}},
};

static inline wk_module *draw_limit(record *r) {
  size_t k = (r->seed - 1) / 8, i = (r->seed - 1) % 8;
  if (i && !limits[k].n[i]) return NULL;
  wk_module *m = wk_module_new("limit");
  limits[k].build(wk_graph_new(m, "main"), limits[k].n[i]);
  return m;
}

/* ---- networks -------------------------------------------------------------------------------- */

static const char *const networks[] = {"ds_cnn", "digits_cnn", "lstm", "dlrm", "squeezenet"};

static inline wk_module *draw_network(record *r) {
  wk_module *m;
  must(r, wk_zoo_build(wk_zoo_find(networks[r->seed - 1]), 1, 0, &m));
  return m;
}

#endif
