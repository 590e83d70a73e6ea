/* SPDX-License-Identifier: Apache-2.0
 * Layouts of edges: which are the same, and where every element lies, against the description in
 * target.h element by element. */
#include "tests/unit/case_text.h"

#include "compiler/eval/eval.h"
#include "compiler/part/cut.h"
#include "tests/unit/maps_target.h"

/* ---- which are the same ---------------------------------------------------------------------- */

/* No two are the same for a tensor of rank 2. */
static const wk_edge_layout different[] = {
    {-1, 0, {0, 1}},    {-1, 0, {1, 0}},    {0, 1, {0, 1, 2}}, {0, 2, {0, 1, 2}},
    {0, 4, {0, 1, 2}},  {0, 2, {0, 2, 1}},  {0, 2, {2, 1, 0}}, {0, 4, {2, 1, 0}},
    {1, 1, {0, 1, 2}},  {1, 2, {0, 1, 2}},  {1, 4, {0, 1, 2}}, {1, 2, {1, 0, 2}}};

static void test_same(void **state) {
  (void)state;
  const wk_type t = case_type("f32[4,4]");
  for (size_t i = 0; i < WK_COUNTOF(different); i++)
    for (size_t k = 0; k < WK_COUNTOF(different); k++) {
      wk_edge_layout other = different[k];
      int rank = t.rank + (other.split >= 0);
      for (int j = rank; j < WK_MAX_RANK; j++) other.order[j] = (uint8_t)(j + 1); /* of no axis */
      if (other.split < 0) other.block = 7;                                       /* of no blocks */
      if (wk_cut_same_layout(&t, &different[i], &other) != (i == k))
        fail_msg("layouts %zu and %zu are %s", i, k, i == k ? "different" : "the same");
    }
}

/* Supports one operator and wishes every edge in one layout. */
typedef struct {
  wk_instance base;
  wk_op op;
  const wk_edge_layout *layout;
} fixed;

static bool supports_one(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                         const char **reason) {
  (void)g, (void)a;
  *reason = "it is another operator";
  return n->op == ((const fixed *)t)->op;
}

static bool own_edge(const wk_instance *t, const wk_graph *g, wk_value_id v, bool is_output,
                     wk_edge_layout *out) {
  (void)g, (void)v, (void)is_output;
  *out = *((const fixed *)t)->layout;
  return true;
}

/* Says that it wishes nothing, having written what it thought of. */
static bool no_edge(const wk_instance *t, const wk_graph *g, wk_value_id v, bool is_output,
                    wk_edge_layout *out) {
  (void)own_edge(t, g, v, is_output, out);
  return false;
}

static const wk_target wishing = {.name = "one", .supports = supports_one, .wish = plain_wish,
                                  .edge = own_edge};
static const wk_target content = {.name = "one", .supports = supports_one, .wish = plain_wish,
                                  .edge = no_edge};

/* How many rows run something. */
static size_t rows_that_run(const wk_target *target, const wk_edge_layout *first,
                            const wk_edge_layout *second) {
  fixed a = {{target, NULL, true}, WK_OP_MATMUL, first};
  fixed b = {{target, NULL, true}, WK_OP_CUM_SUM, second};
  wk_instance *const list[] = {&a.base, &b.base, &dear_instance};
  wk_module *m = lowered("graph @main(%x: f32[4,4]) {\n%y = matmul(%x, %x) : f32[4,4]\n"
                         "%z = cum_sum(%y) {axis=0} : f32[4,4]\noutput %z\n}\n");
  wk_parts *p;
  size_t n = 0;
  wk_status s = partition_for(m, &(wk_targets){.list = list, .n = 3, .has_host = true}, NULL, &p);
  if (s) fail_msg("%s", s->message);
  for (size_t i = 0; i < p->rows.n; i++) n += p->rows.data[i].kind == WICK_ROW_RUN;
  wk_parts_free(p);
  wk_module_free(m);
  return n;
}

/* What the first writes is laid anew for the second only where it must be: beside the two nodes a
 * row for every tensor that lies otherwise than who takes it wishes, with other bytes if it is an
 * edge. The model's are row-major. */
static void test_conversions(void **state) {
  (void)state;
  const wk_type t = case_type("f32[4,4]");
  for (size_t i = 0; i < WK_COUNTOF(different); i++)
    for (size_t k = 0; k < WK_COUNTOF(different); k++) {
      size_t want = 2 + (i != 0) + !wk_cut_same_bytes(&t, &different[i], &different[k]) + (k != 0);
      size_t n = rows_that_run(&wishing, &different[i], &different[k]);
      if (n != want) fail_msg("layouts %zu and %zu: %zu rows, want %zu", i, k, n, want);
      assert_int_equal(rows_that_run(&content, &different[i], &different[k]), 2);
    }
}

/* ---- where elements lie ---------------------------------------------------------------------- */

/* A tensor of up to `most` axes. */
static wk_type draw_type(wk_rng *rng, int most) {
  int64_t dims[WK_MAX_RANK];
  int rank = (int)wk_rng_range(rng, 0, most);
  for (int i = 0; i < rank; i++) dims[i] = wk_rng_range(rng, 1, 5);
  return wk_type_make(WK_F32, rank, dims);
}

/* Any layout for it, with an axis in blocks or without. */
static wk_edge_layout draw_layout(wk_rng *rng, const wk_type *t) {
  wk_edge_layout l = {.split = -1};
  int rank = t->rank;
  if (rank > 0 && wk_rng_next(rng) % 3) {
    l.split = (int)wk_rng_range(rng, 0, rank++ - 1);
    l.block = wk_rng_range(rng, 1, 6);
  }
  for (int i = 0; i < rank; i++) l.order[i] = (uint8_t)i;
  for (int i = 0; i < rank; i++) {
    int k = (int)wk_rng_range(rng, i, rank - 1);
    uint8_t axis = l.order[i];
    l.order[i] = l.order[k];
    l.order[k] = axis;
  }
  return l;
}

/* Number `at` of the laid tensor: which of the elements from 1 that is, 0 behind the last block. */
static double laid_element(const wk_type *t, const wk_type *laid, const wk_edge_layout *l,
                           int64_t at) {
  int64_t c[WK_MAX_RANK] = {0}, element = 0;
  for (int i = laid->rank - 1; i >= 0; i--) {
    c[l->order[i]] = at % laid->dims[i];
    at /= laid->dims[i];
  }
  if (l->split >= 0) c[l->split] = c[l->split] * l->block + c[t->rank];
  for (int i = 0; i < t->rank; i++) {
    if (c[i] >= t->dims[i]) return 0;
    element = element * t->dims[i] + c[i];
  }
  return (double)(element + 1);
}

static void test_elements(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    wk_rng rng = {seed};
    const wk_type t = draw_type(&rng, 5);
    const wk_edge_layout l = draw_layout(&rng, &t);
    wk_module *m = wk_module_new("m");
    wk_graph *g = wk_graph_new(m, "main");
    wk_value_id x = wk_graph_input(g, "x", &t), y, z;
    wk_tensor in, out[2];
    int64_t n = wk_type_count(&t), blocks = 1;
    assert_null(wk_cut_lay(g, x, &l, &y));
    assert_null(wk_cut_unlay(g, y, &t, &l, &z));
    wk_graph_output(g, "laid", y);
    wk_graph_output(g, "back", z);
    assert_null(wk_module_verify(m));
    assert_null(wk_tensor_alloc(&t, &in));
    for (int64_t i = 0; i < n; i++) ((float *)in.data)[i] = (float)(i + 1);
    wk_status s = wk_eval_graph(g, &in, out, NULL, NULL);
    if (s) fail_msg("%s", s->message);
    const wk_type laid = wk_cut_laid_type(&t, &l);
    assert_true(wk_type_equal(&out[0].type, &laid));
    if (l.split >= 0) blocks = (t.dims[l.split] + l.block - 1) / l.block;
    assert_int_equal(wk_type_count(&laid),
                     l.split < 0 ? n : n / t.dims[l.split] * blocks * l.block);
    for (int64_t i = 0; i < wk_type_count(&laid); i++)
      if ((double)((float *)out[0].data)[i] != laid_element(&t, &laid, &l, i))
        fail_msg("seed %llu: element %lld", (unsigned long long)seed, (long long)i);
    assert_true(wk_type_equal(&out[1].type, &t));
    assert_memory_equal(out[1].data, in.data, (size_t)wk_type_bytes(&t));
    for (int i = 0; i < 2; i++) wk_tensor_free(&out[i]);
    wk_tensor_free(&in);
    wk_module_free(m);
  }
}

/* Two layouts have the same bytes where they have every element, and zeros, at the same place.
 * Where there are zeros they may be said to differ. */
static void test_bytes(void **state) {
  (void)state;
  int same = 0;
  for (uint64_t seed = 1; seed <= 4000; seed++) {
    wk_rng rng = {seed};
    const wk_type t = draw_type(&rng, 3);
    const wk_edge_layout a = draw_layout(&rng, &t), b = draw_layout(&rng, &t);
    const wk_type x = wk_cut_laid_type(&t, &a), y = wk_cut_laid_type(&t, &b);
    bool are = wk_type_count(&x) == wk_type_count(&y);
    for (int64_t i = 0; i < wk_type_count(&x) && are; i++)
      are = laid_element(&t, &x, &a, i) == laid_element(&t, &y, &b, i);
    bool is_padded = wk_type_count(&x) > wk_type_count(&t);
    if (wk_cut_same_bytes(&t, &a, &b) != are && (!are || !is_padded))
      fail_msg("seed %llu: %s", (unsigned long long)seed, are ? "they are" : "they are not");
    same += are;
  }
  assert_in_range(same, 400, 2000);
}

/* ---- which can be ---------------------------------------------------------------------------- */

static void test_possible(void **state) {
  (void)state;
  static const struct {
    wk_edge_layout layout;
    bool is_possible;
  } rows[] = {
      {{-1, 0, {0, 1}}, true},     {{-1, -3, {1, 0}}, true},    {{-1, 0, {0, 0}}, false},
      {{-1, 0, {1, 1}}, false},    {{-1, 0, {0, 2}}, false},    {{0, 1, {0, 1, 2}}, true},
      {{0, 0, {0, 1, 2}}, false},  {{1, 0, {0, 1, 2}}, false},  {{1, -1, {0, 1, 2}}, false},
      {{1, 9, {2, 1, 0}}, true},   {{2, 1, {0, 1, 2}}, false},  {{1, 2, {0, 1, 1}}, false},
      {{1, 2, {0, 1, 3}}, false},  {{0, 2, {0, 1, 8}}, false},  {{1, 2, {1, 1, 2}}, false}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    static const wk_target target = {.name = "one", .supports = supports_one, .wish = plain_wish,
                                     .edge = own_edge};
    fixed a = {{&target, NULL, true}, WK_OP_CUM_SUM, &rows[i].layout};
    wk_instance *const list[] = {&a.base, &dear_instance};
    wk_module *m = lowered("graph @main(%x: f32[4,4]) {\n%y = cum_sum(%x) {axis=0} : f32[4,4]\n"
                           "output %y\n}\n");
    wk_parts *p = NULL;
    wk_status s = partition_for(m, &(wk_targets){.list = list, .n = 2, .has_host = true}, NULL, &p);
    if (!s != rows[i].is_possible) fail_msg("row %zu: %s", i, s ? s->message : "is possible");
    if (s) assert_int_equal(s->code, WK_INTERNAL);
    wk_status_free(s);
    wk_parts_free(p);
    wk_module_free(m);
  }
}

/* ---- where many edges lie -------------------------------------------------------------------- */

/* More edges are live together than the planner looks at in pairs: they lie one behind the other,
 * each where the next may begin, which is right behind one that ends there. */
static void test_many_edges(void **state) {
  (void)state;
  enum { EDGES = 5800 };
  static const int bytes[] = {1, 64, 65, 63, 128};
  wk_str text = {0};
  wk_str_add(&text, "graph @main(");
  for (size_t k = 0; k < WK_COUNTOF(bytes); k++)
    wk_str_printf(&text, "%s%%x%d: i8[%d]", k ? ", " : "", bytes[k], bytes[k]);
  wk_str_add(&text, ") {\n");
  for (size_t i = 0; i < EDGES; i++) {
    int n = bytes[i % WK_COUNTOF(bytes)];
    wk_str_printf(&text, "%%r%zu = abs(%%x%d) : i8[%d]\n", i, n, n);
  }
  for (size_t i = 0; i < EDGES; i++)
    wk_str_printf(&text, "%%s%zu = cum_sum(%%r%zu) {axis=0} : i8[%d]\noutput %%s%zu\n", i, i,
                  bytes[i % WK_COUNTOF(bytes)], i);
  wk_str_add(&text, "}\n");
  wk_module *m = lowered(text.s);
  wk_parts *p;
  assert_null(partition_for(m, &maps_targets, NULL, &p));
  size_t n_io = p->n_in + p->n_out;
  assert_int_equal(p->tensors.n - n_io, EDGES);
  int64_t at = 0;
  for (size_t i = 0; i < EDGES; i++) {
    assert_int_equal(p->tensors.data[n_io + i].offset, at);
    for (int64_t end = at + bytes[i % WK_COUNTOF(bytes)]; at < end;) at += WICK_ALIGN;
  }
  assert_int_equal(p->edge_bytes, at);
  wk_parts_free(p);
  wk_module_free(m);
  wk_str_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same), cmocka_unit_test(test_conversions),
      cmocka_unit_test(test_elements),
      cmocka_unit_test(test_bytes), cmocka_unit_test(test_possible),
      cmocka_unit_test(test_many_edges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
