/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator through the middle of the compiler: the node as it is, lowered, as a program,
 * after each instruction pass, and placed. The table holds shapes; numbers are random. The rows of
 * eval_cases.def, which were computed by hand, go the same way. */
#include <math.h>

#include "compiler/expr/quant.h"
#include "compiler/lower/build.h"
#include "tests/unit/case_text.h"
#include "tests/unit/middle.h"

typedef struct {
  wk_op op;
  const char *attrs, *in;
  int n_out;
} row;

/* in: types of the inputs; a value range may follow: f32[2,3]:0:1; "-" is left out. */
static const row rows[] = {
#define ROW(op, attrs, in, n_out) {WK_OP_##op, attrs, in, n_out},
#include "tests/unit/lower_rows.def"
#include "tests/unit/recurrent_rows.def"
    /* forms that are not drawn from there by other tests */
    ROW(TILE, "repeats=1,1,1,1,1,2,0", "f32[1,1,1,1,1,2,3]", 1)
    ROW(TILE, "repeats=2,0,1,1,1,0,2", "f32[1,1,1,1,1,2,3]", 1)
    ROW(TILE, "repeats=1,2,1,3,1,2,1", "f32[2,1,2,1,2,1,2]", 1)
    ROW(TILE, "repeats=2,1,2,2,2", "f32[2,1,1,2,3]", 1)
    ROW(TILE, "repeats=3,1,2,2,1,2,3,2", "f32[2,1,1,2,1,1,2,1]", 1)
    ROW(GRID_SAMPLE, "padding=reflection align_corners=1", "f32[1,2,1,1] f32[1,3,3,2]:-9:9", 1)
    ROW(GRID_SAMPLE, "mode=cubic padding=reflection align_corners=1",
        "f32[1,2,4,1] f32[1,3,3,2]:-9:9", 1)
    ROW(GRID_SAMPLE, "mode=nearest padding=reflection", "f32[1,2,1,3] f32[1,3,3,2]:-9:9", 1)
    ROW(GRID_SAMPLE, "mode=cubic padding=border", "f32[1,2,4,1] f32[1,3,3,2]:-9:9", 1)
    /* one position along an axis: what scales by their number does not */
    ROW(RESIZE, "sizes=1,3 scales=1,1 mode=linear coordinates=tf_crop_and_resize "
        "roi=0.1,0.2,0.7,0.9", "f32[4,5]", 1)
    ROW(RESIZE, "sizes=1,1 scales=1,1 mode=nearest coordinates=tf_crop_and_resize "
        "roi=0.4,-0.2,0.9,0.6 extrapolation=7", "f32[9,5]", 1)
    ROW(RESIZE, "sizes=1,3 scales=0.25,0.6 mode=linear coordinates=pytorch_half_pixel",
        "f32[4,5]", 1)
    ROW(RESIZE, "sizes=1,3 scales=0.25,0.6 mode=cubic coordinates=align_corners", "f32[4,5]", 1)
    ROW(RESIZE, "sizes=1,3 scales=0.25,0.6 mode=linear coordinates=half_pixel_symmetric",
        "f32[4,5]", 1)
#undef ROW
};

/* Rows of the evaluator's table. `want` tells which outputs there are. */
static const struct {
  wk_op op;
  const char *attrs, *in, *want;
} known[] = {
#define CASE(op, attrs, in, want) {WK_OP_##op, attrs, in, want},
#include "tests/unit/eval_cases.def"
#include "tests/unit/wide_cases.def"
#undef CASE
};

enum { MAX_OPERANDS = 16 };

static void fill(wk_tensor *t, const char *range, wk_rng *rng) {
  double lo = -2, hi = 2;
  char *end;
  if (range) {
    lo = strtod(range + 1, &end);
    hi = strtod(end + 1, NULL);
  } else if (t->type.dtype == WK_BOOL) {
    lo = 0, hi = 1;
  }
  for (int64_t i = 0; i < wk_type_count(&t->type); i++) {
    if (wk_dtype_is_float(t->type.dtype))
      wk_store_f64(t->data, t->type.dtype, i, lo + (hi - lo) * wk_rng_unit(rng));
    else
      wk_store_i64(t->data, t->type.dtype, i, wk_rng_range(rng, (int64_t)lo, (int64_t)hi));
  }
}

/* A graph of one node; the node's present inputs are the graph's. */
typedef struct {
  wk_module *m;
  wk_tensor in[MAX_OPERANDS];
  uint32_t n_in;
} case_graph;

static void drop(case_graph *c) {
  for (uint32_t k = 0; k < c->n_in; k++) wk_tensor_free(&c->in[k]);
  wk_module_free(c->m);
}

/* as_constants: inputs whose bit is set are constants. unwanted: outputs that are not asked for. */
static bool build(case_graph *c, wk_op op, const char *attrs, const wk_tensor *in, uint32_t n_in,
                  uint32_t n_out, unsigned as_constants, unsigned unwanted) {
  static const char *const names[] = {NULL, NULL, NULL};
  static const char *const none[] = {"", "", ""};
  const char *out_names[3];
  wk_value_id v[MAX_OPERANDS], y[MAX_OPERANDS];
  *c = (case_graph){.m = wk_module_new("test")};
  wk_graph *g = wk_graph_new(c->m, "main");
  for (uint32_t k = 0; k < n_in; k++) {
    v[k] = WK_NONE;
    if (!in[k].data) continue;
    if (as_constants >> k & 1) {
      v[k] = wk_graph_constant(g, NULL, &in[k].type, in[k].data);
      continue;
    }
    v[k] = wk_graph_input(g, NULL, &in[k].type);
    assert_null(wk_tensor_alloc(&in[k].type, &c->in[c->n_in]));
    memcpy(c->in[c->n_in++].data, in[k].data, (size_t)wk_type_bytes(&in[k].type));
  }
  for (uint32_t k = 0; k < 3; k++) out_names[k] = unwanted >> k & 1 ? none[k] : names[k];
  wk_node_desc d = {.op = op, .name = "the_node", .in = v, .n_in = n_in, .n_out = n_out,
                    .attrs = case_attrs(c->m->arena, op, attrs),
                    .out_names = n_out <= 3 ? out_names : NULL};
  wk_status s = wk_graph_add(g, &d, y);
  if (s) fail_msg("%s %s: %s", wk_op_get(op)->name, attrs, s->message);
  for (uint32_t k = 0; k < n_out; k++)
    if (y[k] != WK_NONE) wk_graph_output(g, NULL, y[k]);
  return g->outputs.n > 0;
}

static void check(wk_op op, const char *attrs, const char *text, const wk_tensor *in, uint32_t n_in,
                  uint32_t n_out, unsigned as_constants, unsigned unwanted, double rtol) {
  for (int variant = 0; variant < 3; variant++) {
    case_graph c;
    wk_str why = {0};
    middle_options o = {.channels_last = variant == 1, .order = variant > 0,
                        .no_inst_passes = variant == 2, .rtol = rtol};
    if (build(&c, op, attrs, in, n_in, n_out, as_constants, unwanted) &&
        !middle_agrees(c.m, c.in, &o, NULL, &why))
      fail_msg("%s %s on %s: %s", wk_op_get(op)->name, attrs, text, why.s);
    drop(&c);
    wk_str_free(&why);
  }
}

/* Floats of 16 bits are rounded once, so that what is computed in another order gives the same
 * number or the one beside it. */
static double rtol_of(const wk_tensor *t, uint32_t n) {
  double rtol = 0;
  for (uint32_t k = 0; k < n; k++)
    if (t[k].type.dtype == WK_F16) rtol = fmax(rtol, 0x1.01p-10);
    else if (t[k].type.dtype == WK_BF16) rtol = fmax(rtol, 0x1.01p-7);
  return rtol;
}

/* Row i; f32 inputs have the type `real`. Returns whether there are any. */
static bool check_row(size_t i, wk_dtype real) {
  wk_tensor in[MAX_OPERANDS] = {0};
  wk_rng rng = {i + 1};
  uint32_t n = 0;
  bool has_real = false;
  const char *s = rows[i].in;
  for (size_t w; (w = case_word(&s)) > 0; s += w, n++) {
    char word[96];
    bool is_real = !strncmp(s, "f32", 3);
    snprintf(word, sizeof word, "%s%.*s", is_real ? wk_dtype_name(real) : "",
             (int)w - 3 * is_real, s + 3 * is_real);
    has_real = has_real || is_real;
    in[n] = case_tensor(word);
    if (in[n].data) fill(&in[n], strchr(word, ':'), &rng);
  }
  double rtol = rtol_of(in, n);
  uint32_t n_out = (uint32_t)rows[i].n_out;
  if (real == WK_F32 || has_real) {
    check(rows[i].op, rows[i].attrs, rows[i].in, in, n, n_out, 0, 0, rtol);
    check(rows[i].op, rows[i].attrs, rows[i].in, in, n, n_out, ~0u, 0, rtol);
    if (n_out > 1) check(rows[i].op, rows[i].attrs, rows[i].in, in, n, n_out, 0, 1, rtol);
  }
  for (uint32_t k = 0; k < n; k++) wk_tensor_free(&in[k]);
  return has_real;
}

static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) check_row(i, WK_F32);
}

/* Expressions in the attributes name the types of what they take. */
static bool takes_narrow(const row *r) {
  return r->op != WK_OP_NON_MAX_SUPPRESSION && r->op != WK_OP_ROI_ALIGN &&
         r->op != WK_OP_SEGMENT_REDUCE && !strstr(r->attrs, "f32");
}

static void test_narrow_rows(void **state) {
  (void)state;
  int n = 0;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    for (wk_dtype t = WK_F16; takes_narrow(&rows[i]) && t <= WK_BF16; t++) n += check_row(i, t);
  assert_true(n > 100);
}

static void test_known(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(known); i++) {
    wk_tensor in[MAX_OPERANDS] = {0};
    uint32_t n = 0, n_out = 0;
    unsigned unwanted = 0;
    const char *s = known[i].in, *w = known[i].want;
    if (*w == '!') continue;
    for (size_t k; (k = case_word(&s)) > 0; s += k) in[n++] = case_tensor(s);
    for (size_t k; (k = case_word(&w)) > 0; w += k, n_out++) unwanted |= (*w == '-') << n_out;
    check(known[i].op, known[i].attrs, known[i].in, in, n, n_out, 0, unwanted,
          rtol_of(in, n));
    for (uint32_t k = 0; k < n; k++) wk_tensor_free(&in[k]);
  }
}

/* What the evaluator refuses, its lowered form refuses too. */
static void test_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(known); i++) {
    wk_tensor in[MAX_OPERANDS] = {0}, out[3] = {0};
    uint32_t n = 0, n_out = (uint32_t)wk_op_get(known[i].op)->min_out;
    case_graph c;
    const char *s = known[i].in;
    if (*known[i].want != '!') continue;
    for (size_t k; (k = case_word(&s)) > 0; s += k) in[n++] = case_tensor(s);
    build(&c, known[i].op, known[i].attrs, in, n, n_out ? n_out : 1, 0, 0);
    wk_status st = wk_lower_nodes(c.m, NULL, NULL);
    if (!st) st = wk_eval_graph(c.m->main, c.in, out, NULL, NULL);
    if (!st)
      fail_msg("%s %s on %s is taken", wk_op_get(known[i].op)->name, known[i].attrs, known[i].in);
    wk_status_free(st);
    for (uint32_t k = 0; k < n; k++) wk_tensor_free(&in[k]);
    drop(&c);
  }
}

/* Every operator that has a lowering of its own has a row in one of the tables. */
static void test_complete(void **state) {
  (void)state;
  for (int op = 0; op < WK_OP_COUNT; op++) {
    bool found = false;
    for (size_t i = 0; i < WK_COUNTOF(rows); i++) found |= (int)rows[i].op == op;
    for (size_t i = 0; i < WK_COUNTOF(known); i++) found |= (int)known[i].op == op;
    const wk_op_info *info = wk_op_get((wk_op)op);
    if (info->kind == WK_KIND_GRAPH && info->cls != WK_CLASS_ELEMENTWISE && !found)
      fail_msg("no case for %s", info->name);
  }
}

/* What replaces a node takes its place: the order of the model is kept. */
static void test_order_is_kept(void **state) {
  (void)state;
  wk_module *m = wk_module_new("test");
  wk_graph *g = wk_graph_new(m, "main");
  wk_type t = wk_type_make(WK_F32, 2, (const int64_t[]){4, 4});
  wk_value_id x = wk_graph_input(g, "x", &t), parts[3];
  wk_attr_softmax *a = wk_attrs_new(m->arena, WK_OP_SOFTMAX);
  for (int k = 0; k < 3; k++) /* three branches, one after the other */
    parts[k] = wk_build(g, WK_OP_MATMUL, NULL, 2, wk_build(g, WK_OP_SOFTMAX, a, 1, x), x);
  for (int k = 0; k < 3; k++) wk_graph_output(g, NULL, parts[k]);
  assert_null(wk_lower_nodes(m, NULL, NULL));
  int products = 0;
  for (size_t i = 0; i < g->nodes.n; i++)
    if (wk_nod(g, (wk_node_id)i)->op == WK_OP_MATMUL) {
      products++;
      assert_int_equal(i + 1, (size_t)products * g->nodes.n / 3);
    }
  assert_int_equal(products, 3);
  wk_module_free(m);
}

/* Asked about every node that would be replaced; keeps those of one operator. */
typedef struct {
  wk_op op;
  int asked, kept;
} keeper;

static bool keeps(void *ctx, const wk_graph *g, const wk_node *n) {
  keeper *k = ctx;
  assert_ptr_equal(n, wk_nod(g, wk_val(g, n->out[0])->node));
  assert_true(wk_op_get(n->op)->kind == WK_KIND_GRAPH);
  k->asked++;
  k->kept += n->op == k->op;
  return n->op == k->op;
}

static int count(const wk_graph *g, wk_op op) {
  int n = 0;
  for (size_t i = 0; i < g->nodes.n; i++) n += g->nodes.data[i].op == op;
  return n;
}

/* What is claimed stays, with its operands and results; the rest around it is lowered. */
static void test_claims(void **state) {
  (void)state;
  wk_module *m = wk_module_new("test");
  wk_graph *g = wk_graph_new(m, "main");
  wk_type t = wk_type_make(WK_I8, 2, (const int64_t[]){4, 4});
  wk_attr_integer_softmax *a = wk_attrs_new(m->arena, WK_OP_INTEGER_SOFTMAX);
  *a = (wk_attr_integer_softmax){.axis = 1, .scale = 0.1, .far = WK_SOFTMAX_FAR, .mult = 1 << 30,
                                 .shift = 22, .hi = 127, .to = WK_I8};
  wk_value_id x = wk_build(g, WK_OP_RELU, NULL, 1, wk_graph_input(g, "x", &t));
  wk_value_id y = wk_build(g, WK_OP_INTEGER_SOFTMAX, a, 1, x);
  wk_graph_output(g, "y", wk_build(g, WK_OP_ADD, NULL, 2, y, x));
  wk_tensor in = case_tensor("i8[4,4]{1..}"), want, got;
  assert_null(wk_eval_graph(g, &in, &want, NULL, NULL));
  keeper k = {.op = WK_OP_INTEGER_SOFTMAX};
  assert_null(wk_lower_nodes(m, keeps, &k));
  assert_int_equal(k.asked, 3);
  assert_int_equal(k.kept, 1);
  assert_int_equal(count(g, WK_OP_MAP), 2);
  assert_int_equal(count(g, WK_OP_INTEGER_SOFTMAX), 1);
  assert_null(wk_eval_graph(g, &in, &got, NULL, NULL));
  assert_memory_equal(got.data, want.data, 16);
  wk_tensor_free(&got);
  assert_null(wk_lower_nodes(m, NULL, NULL)); /* nobody claims it any more */
  assert_int_equal(count(g, WK_OP_INTEGER_SOFTMAX), 0);
  assert_null(wk_eval_graph(g, &in, &got, NULL, NULL));
  assert_memory_equal(got.data, want.data, 16);
  wk_tensor_free(&got);
  wk_tensor_free(&want);
  wk_tensor_free(&in);
  wk_module_free(m);
}

/* Sums of halves are taken in f32: 4096 times 32 is more than an f16 holds, its mean is not. */
static void test_narrow_sums(void **state) {
  (void)state;
  case_graph c;
  wk_tensor in = case_tensor("f16[4096]{32}");
  build(&c, WK_OP_REDUCE_MEAN, "axes=0 keepdims=0", &in, 1, 1, 0, 0);
  assert_null(wk_lower_nodes(c.m, NULL, NULL));
  wk_tensor out;
  assert_null(wk_eval_graph(c.m->main, c.in, &out, NULL, NULL));
  assert_float_equal(wk_load_f64(out.data, WK_F16, 0), 32, 0);
  wk_tensor_free(&out);
  wk_tensor_free(&in);
  drop(&c);
}

/* A table may have 64 MiB, and what is left to constants of the module. */
static void test_tables(void **state) {
  (void)state;
  static const struct { int64_t n; size_t entry; int64_t left; bool fits; } cases[] = {
      {0, 8, 0, true},
      {1, 8, 8, true},
      {1, 8, 7, false},
      {8 << 20, 8, INT64_MAX, true},
      {(8 << 20) + 1, 8, INT64_MAX, false},
      {INT64_C(1) << 61, 8, INT64_MAX, false},       /* as a product of 64 bits: 0 */
      {(INT64_C(1) << 61) + 1, 8, INT64_MAX, false}, /* 8 */
      {INT64_MAX, 2, INT64_MAX, false}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_module *m = wk_module_new("t");
    wk_low l = {.g = wk_graph_new(m, "main"), .arena = m->arena, .name = "it"};
    m->constant_bytes_left = cases[i].left;
    char *data = wk_low_table(&l, cases[i].n, cases[i].entry);
    int64_t bytes = cases[i].fits ? cases[i].n * (int64_t)cases[i].entry : 0;
    if ((data != NULL) != cases[i].fits || (l.status == NULL) != cases[i].fits)
      fail_msg("case %zu", i);
    if (l.status) assert_int_equal(l.status->code, WK_RESOURCE);
    assert_int_equal(m->constant_bytes_left, cases[i].left - bytes);
    for (int64_t k = 0; k < bytes; k += bytes / 7 + 1) assert_int_equal(data[k], 0);
    if (bytes) data[bytes - 1] = 1;
    if (l.status) assert_null(wk_low_table(&l, 1, 1));
    wk_status_free(l.status);
    wk_module_free(m);
  }
}

/* Constants hold what the caller's arrays do, to the last element and no further. */
static void test_constants(void **state) {
  (void)state;
  wk_module *m = wk_module_new("t");
  wk_low l = {.g = wk_graph_new(m, "main"), .arena = m->arena, .name = "it"};
  for (int64_t n = 0; n < 4; n++) {
    double *reals = wk_xcalloc((size_t)n + 1, sizeof *reals);
    int32_t *small = wk_xcalloc((size_t)n + 1, sizeof *small);
    int64_t *large = wk_xcalloc((size_t)n + 1, sizeof *large);
    reals = realloc(reals, (size_t)n * sizeof *reals + (n == 0));
    small = realloc(small, (size_t)n * sizeof *small + (n == 0));
    large = realloc(large, (size_t)n * sizeof *large + (n == 0));
    assert_true(reals && small && large);
    for (int64_t i = 0; i < n; i++) {
      reals[i] = 0.5 + (double)i;
      small[i] = -7 * (int32_t)(i + 1);
      large[i] = INT64_MAX - i;
    }
    wk_value_id half = wk_low_const_real(&l, WK_F16, 1, &n, reals);
    wk_value_id real = wk_low_const_real(&l, WK_F64, 1, &n, reals);
    wk_value_id i32 = wk_low_const_i32(&l, 1, &n, small);
    wk_value_id i64 = wk_low_const_i64(&l, 1, &n, large);
    wk_value_id ones = wk_low_ones(&l, WK_I8, 1, &n);
    assert_null(l.status);
    for (int64_t i = 0; i < n; i++) {
      assert_true(wk_load_f64(wk_val(l.g, half)->data, WK_F16, i) == reals[i]);
      assert_true(wk_load_f64(wk_val(l.g, real)->data, WK_F64, i) == reals[i]);
      assert_int_equal(wk_load_i64(wk_val(l.g, i32)->data, WK_I32, i), small[i]);
      assert_int_equal(wk_load_i64(wk_val(l.g, i64)->data, WK_I64, i), large[i]);
      assert_int_equal(wk_load_i64(wk_val(l.g, ones)->data, WK_I8, i), 1);
    }
    free(reals);
    free(small);
    free(large);
  }
  wk_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows), cmocka_unit_test(test_narrow_rows),
      cmocka_unit_test(test_known), cmocka_unit_test(test_refused),
      cmocka_unit_test(test_complete), cmocka_unit_test(test_order_is_kept),
      cmocka_unit_test(test_claims),
      cmocka_unit_test(test_narrow_sums), cmocka_unit_test(test_tables),
      cmocka_unit_test(test_constants)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
