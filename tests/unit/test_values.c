/* SPDX-License-Identifier: Apache-2.0
 * What the evaluator gives for rows of the tables of operators, for rows that differ from those in
 * one number of an attribute or a shape, for the attributes of each on the inputs of all others,
 * and for drawn graphs of each operator: rare cases that nobody computed by hand. Other tests
 * compare what is common with other means; here all of it stays as it is, but for rounding. After a
 * change that is meant, read whose values or messages became others:
 *   test_values says OPERATOR   what is computed, before and after
 *   test_values rows >tests/unit/values.def */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/random_graph.h"
#include "tests/unit/figures_tables.h"

typedef struct {
  int64_t tried, refused, elements;
  uint32_t values; /* hash */
} value_row;

static const struct {
  wk_op op;
  value_row want;
} expected[] = {
#define ROW(op, tried, refused, elements, values) {WK_OP_##op, {tried, refused, elements, values}},
#include "tests/unit/values.def"
#undef ROW
};

static value_row found[WK_OP_COUNT];
static int lowered_wrong;
static const char *shown; /* of this operator all is printed */

/* 16 bits of it, nothing of what is so small that it may be the rounding of 0. */
static double rounded(double v) {
  int e;
  if (!isfinite(v) || fabs(v) < 1e-6) return isfinite(v) ? 0 : v;
  double m = rint(ldexp(frexp(v, &e), 16));
  return ldexp(m, e - 16);
}

static void add_value(value_row *x, const wk_tensor *t, int64_t i) {
  int64_t bits;
  if (wk_dtype_is_float(t->type.dtype)) {
    double v = rounded(wk_load_f64(t->data, t->type.dtype, i));
    if (isnan(v)) v = 12345; /* which NaN it is does not matter */
    memcpy(&bits, &v, sizeof bits);
  } else {
    bits = wk_load_i64(t->data, t->type.dtype, i);
  }
  x->values = (uint32_t)wk_hash64(&bits, sizeof bits, x->values);
  x->elements++;
}

static void show(wk_op op, const wk_module *m, const wk_tensor *out, const char *message) {
  wk_str text = {0};
  if (!shown || strcmp(shown, wk_op_get(op)->name) != 0) return;
  wk_module_print(&text, m, WK_PRINT_SHORT);
  printf("%s%s%s", text.s, message ? message : "", message ? "\n" : "");
  for (size_t k = 0; k < m->main->outputs.n && !message; k++, puts("")) {
    const wk_type *t = &out[k].type;
    for (int64_t i = 0; i < wk_type_count(t); i++)
      printf(" %.5g", wk_dtype_is_float(t->dtype) ? rounded(wk_load_f64(out[k].data, t->dtype, i))
                                                  : (double)wk_load_i64(out[k].data, t->dtype, i));
  }
  wk_str_free(&text);
}

static double tolerance_of(const wk_graph *g) {
  double rtol = 1e-4;
  for (size_t i = 0; i < g->values.n; i++) {
    wk_dtype t = g->values.data[i].type.dtype;
    if (t == WK_F16) rtol = fmax(rtol, 0x1.01p-9);
    if (t == WK_BF16) rtol = fmax(rtol, 0x1.01p-6);
  }
  return rtol;
}

/* What lowering makes of the graph computes the same. */
static void must_lower(wk_op op, const wk_module *m, const wk_tensor *in, const wk_tensor *want) {
  wk_module *low = wk_module_clone(m);
  size_t n = m->main->outputs.n;
  wk_tensor *got = wk_xcalloc(n + 1, sizeof *got);
  wk_str text = {0};
  double rtol = tolerance_of(m->main);
  wk_status s = wk_lower_nodes(low, NULL, NULL);
  if (!s) s = wk_eval_graph(low->main, in, got, NULL, NULL);
  if (s) wk_str_printf(&text, "%s", s->message);
  for (size_t k = 0; k < n && !s; k++) {
    bool is_cut = op == WK_OP_RESIZE && wk_dtype_is_int(want[k].type.dtype); /* to its integer */
    if (is_cut) continue;
    wk_diff d = wk_tensor_diff(&got[k], &want[k], &(wk_tolerance){rtol, rtol * 1e-2, rtol});
    if (!d.equal) wk_str_printf(&text, "output %zu is %.9g, want %.9g", k, d.got, d.want);
  }
  if (text.n) {
    wk_str_add(&text, "\n");
    wk_module_print(&text, m, WK_PRINT_SHORT);
    print_error("%s, lowered: %s\n", wk_op_get(op)->name, text.s);
    lowered_wrong++;
  }
  wk_status_free(s);
  wk_str_free(&text);
  random_tensors_free(got, n);
  wk_module_free(low);
}

static void evaluate(wk_op op, const wk_module *m, const wk_tensor *in) {
  value_row *x = &found[op];
  size_t n = m->main->outputs.n;
  wk_tensor *out = wk_xcalloc(n + 1, sizeof *out);
  wk_status s = wk_eval_graph(m->main, in, out, NULL, NULL);
  show(op, m, out, s ? s->message : NULL);
  x->tried++;
  x->refused += s != NULL;
  if (s) x->values = (uint32_t)wk_hash64(s->message, strlen(s->message), x->values);
  for (size_t k = 0; k < n && !s; k++) {
    x->values = x->values * 31 + (uint32_t)out[k].type.dtype;
    for (int64_t i = 0; i < wk_type_count(&out[k].type); i++) add_value(x, &out[k], i);
  }
  if (!s) must_lower(op, m, in, out);
  wk_status_free(s);
  random_tensors_free(out, n);
}

/* ---- rows and what is beside them ------------------------------------------------------------ */

/* The numbers that the table has for an input (lo:hi behind its type), or -2 to 2; ties are common
 * where `ties`. */
static void fill(wk_tensor *t, const char *range, bool ties, wk_rng *rng) {
  double lo = t->type.dtype == WK_BOOL ? 0 : -2, hi = t->type.dtype == WK_BOOL ? 1 : 2;
  char *end;
  if (range) {
    lo = strtod(range + 1, &end);
    hi = strtod(end + 1, NULL);
  } else if (!wk_dtype_is_float(t->type.dtype) && t->type.dtype != WK_BOOL) {
    lo = 0;
  }
  for (int64_t i = 0; i < wk_type_count(&t->type); i++) {
    double v = lo + (hi - lo) * wk_rng_unit(rng);
    int64_t k = wk_rng_range(rng, (int64_t)lo, (int64_t)hi);
    if (!wk_dtype_is_float(t->type.dtype)) wk_store_i64(t->data, t->type.dtype, i, k);
    else wk_store_f64(t->data, t->type.dtype, i, ties && hi - lo >= 3 ? (double)k : v);
  }
}

/* The ranges of the row's inputs, in order. */
static void evaluate_filled(const table_row *r, const wk_module *m, uint64_t seed) {
  size_t n = m->main->inputs.n, k = 0;
  wk_tensor *in = wk_xcalloc(n + 1, sizeof *in);
  wk_rng rng = {seed};
  const char *s = r->in;
  for (size_t w; (w = case_word(&s)) > 0 && k < n; s += w) {
    const wk_type *t = &wk_val(m->main, m->main->inputs.data[k])->type;
    const char *range = memchr(s, ':', w);
    if (*s == '-') continue;
    assert_null(wk_tensor_alloc(t, &in[k]));
    fill(&in[k++], range, seed % 2, &rng);
  }
  if (k == n) evaluate(r->op, m, in);
  random_tensors_free(in, n);
}

static int64_t size_of(const wk_module *m) {
  int64_t most = 0;
  for (size_t i = 0; i < m->main->values.n; i++) {
    int64_t n = wk_type_count(&m->main->values.data[i].type);
    if (n > most) most = n;
  }
  return most;
}

/* The number at `at` becomes another one; what is then no graph is none. */
static void evaluate_beside(const table_row *r, const char *text, const char *at, int64_t v,
                            uint64_t seed) {
  wk_str b = {0};
  wk_module *m = NULL;
  wk_str_printf(&b, "%.*s%lld%s", (int)(at - text), text, (long long)v,
                at + strspn(at, "0123456789"));
  wk_status s = wk_module_parse(b.s, "text", &m);
  if (!s) s = wk_module_verify(m);
  if (!s && size_of(m) < 5000) evaluate_filled(r, m, seed);
  wk_status_free(s);
  wk_module_free(m);
  wk_str_free(&b);
}

static bool begins_number(const char *text, const char *at) {
  return isdigit((unsigned char)*at) && at > text && strchr("[,= -", at[-1]) &&
         at[strspn(at, "0123456789")] != '.';
}

static void evaluate_row(size_t i) {
  wk_str text = {0};
  wk_module *m = table_module(&table[i], false);
  if (!m) return;
  for (uint64_t k = 0; k < 2; k++) evaluate_filled(&table[i], m, 2 * table_seed(&table[i]) + k);
  wk_module_print(&text, m, WK_PRINT_SHORT);
  drop_types(&text);
  for (const char *at = text.s; *at; at++) {
    if (!begins_number(text.s, at)) continue;
    int64_t v = strtoll(at, NULL, 10);
    for (int64_t k = -1; k <= 2; k++)
      if (k && v + k >= 0) evaluate_beside(&table[i], text.s, at, v + k, table_seed(&table[i]));
  }
  wk_str_free(&text);
  wk_module_free(m);
}

/* The attributes of one row on the inputs of another one of the operator, where they fit. */
static void evaluate_pairs(void) {
  for (size_t i = 0; i < WK_COUNTOF(table); i++)
    for (size_t k = 0; k < WK_COUNTOF(table); k++) {
      table_row r = table[i];
      wk_status st = NULL;
      if (i == k || table[k].op != r.op || (table[k].want && *table[k].want == '!')) continue;
      r.in = table[k].in;
      wk_module *m = table_try(&r, false, &st);
      if (m && !st) evaluate_filled(&r, m, table_seed(&r));
      wk_status_free(st);
      wk_module_free(m);
    }
}

/* ---- drawn ----------------------------------------------------------------------------------- */

static void evaluate_drawn(wk_op op) {
  const wk_op_info *info = wk_op_get(op);
  if (info->kind == WK_KIND_INST || info->cls == WK_CLASS_CONTROL) return;
  for (uint64_t seed = 101; seed <= 130; seed++) {
    const random_options o = {.nodes = 1, .only = op, .no_motifs = true};
    wk_module *m = random_graph(seed, &o);
    wk_tensor *in = random_inputs(m->main);
    evaluate(op, m, in);
    random_tensors_free(in, m->main->inputs.n);
    wk_module_free(m);
  }
}

static void evaluate_all(void) {
  memset(found, 0, sizeof found);
  for (size_t i = 0; i < WK_COUNTOF(table); i++) evaluate_row(i);
  evaluate_pairs();
  for (int op = 0; op < WK_OP_COUNT; op++) evaluate_drawn((wk_op)op);
}

/* ---- the test -------------------------------------------------------------------------------- */

static void print_row(wk_op op) {
  const value_row *x = &found[op];
  printf("ROW(");
  for (const char *s = wk_op_get(op)->name; *s; s++) putchar(toupper((unsigned char)*s));
  printf(", %lld, %lld, %lld, 0x%08x)\n", (long long)x->tried, (long long)x->refused,
         (long long)x->elements, x->values);
}

static void values(void **state) {
  (void)state;
  int differ = 0;
  size_t k = 0;
  evaluate_all();
  for (int op = 0; op < WK_OP_COUNT; op++) {
    if (!found[op].tried) continue;
    bool same = k < WK_COUNTOF(expected) && (int)expected[k].op == op &&
                expected[k].want.tried == found[op].tried &&
                expected[k].want.refused == found[op].refused &&
                expected[k].want.elements == found[op].elements &&
                expected[k].want.values == found[op].values;
    k++;
    differ += !same;
    if (!same) print_row((wk_op)op);
  }
  assert_int_equal(differ, 0);
  assert_int_equal(lowered_wrong, 0);
  assert_int_equal(k, WK_COUNTOF(expected));
}

static int print_rows(void) {
  evaluate_all();
  printf("/* SPDX-License-Identifier: Apache-2.0\n"
         " * What test_values.c computes: operator, graphs, refused ones, elements, hash. */\n");
  for (int op = 0; op < WK_OP_COUNT; op++)
    if (found[op].tried) print_row((wk_op)op);
  return 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values)};
  if (argc == 2 && !strcmp(argv[1], "rows")) return print_rows();
  shown = argc == 3 && !strcmp(argv[1], "says") ? argv[2] : NULL;
  if (shown) evaluate_all();
  return shown ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
