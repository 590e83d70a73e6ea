/* SPDX-License-Identifier: Apache-2.0
 * The quantised module of small graphs, node by node: what is integer, its scales, zero points and
 * names; what comes before, attention in parts and even ranges of weights. */
#include <ctype.h>
#include <math.h>

#include "tests/unit/case_text.h"

#include "compiler/eval/eval.h"
#include "compiler/quantize/weights.h"

#define CONV "{strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}"
#define TRANSPOSED                                                                       \
  "{strides=[1,1], pads=[0,0,0,0], dilations=[1,1], output_padding=[0,0]}"
#define ARGUMENTS "%x: f32[1,2,2,2], %p: bool[], %v: f32[2]"
#define CONSTANTS                                                                        \
  "%w = constant f32[2,2,1,1] {127, 63.5, -12.7, 1.27}\n"                                \
  "%b = constant f32[2] {6, -3}\n"                                                       \
  "%k = constant f32[2,1,1] {250, -5}\n"                                                 \
  "%z = constant f32[2,2] {127, 0, 3, 0}\n"                                              \
  "%m = constant f32[2,2,2] {127, -12.7, 2, 3, 4, 5, 6, 7}\n"

static wk_module *parse(const char *arguments, const char *constants, const char *body) {
  wk_module *m = NULL;
  wk_str text = {0};
  wk_str_printf(&text, "module \"m\" {\ngraph @main(%s) {\n%s%s\n}\n}\n", arguments, constants,
                body);
  wk_status s = wk_module_parse(text.s, "case", &m);
  if (!s) s = wk_module_normalise(m);
  if (s) fail_msg("%s: %s\n%s", s->place ? s->place : "", s->message, text.s);
  wk_str_free(&text);
  return m;
}

/* ---- what comes out ------------------------------------------------------------------------- */

static const char *name_of(const wk_graph *g, wk_value_id v) {
  const char *name = v == WK_NONE ? "none" : wk_val(g, v)->name;
  return *name == '_' && isdigit((unsigned char)name[1]) ? "_" : name; /* it was given none */
}

static void add_numbers(wk_str *b, const wk_value *c) {
  for (int64_t i = 0; i < wk_type_count(&c->type); i++) {
    if (wk_dtype_is_int(c->type.dtype))
      wk_str_printf(b, "%s%lld", i ? "," : "",
                    (long long)wk_load_i64(c->data, c->type.dtype, i));
    else wk_str_printf(b, "%s%.6g", i ? "," : "", wk_load_f64(c->data, c->type.dtype, i));
  }
}

/* The names of scale and zero point follow from that of what is quantised: STEM_WHAT, or
 * STEM_WHAT.1 where there is one already. */
static void check_name(const wk_graph *g, wk_value_id v, const char *stem, const char *what) {
  char want[96];
  int n = snprintf(want, sizeof want, "%s_%s", stem, what);
  const char *name = name_of(g, v);
  if (strncmp(name, want, (size_t)n) || (name[n] && name[n] != '.'))
    fail_msg("%s is not called %s", name, want);
}

static void check_parameters(const wk_graph *g, const wk_node *n, const char *suffix) {
  char stem[64];
  snprintf(stem, sizeof stem, "%.*s", (int)(strlen(n->name) - strlen(suffix)), n->name);
  assert_string_equal(n->name + strlen(stem), suffix);
  check_name(g, n->in[1], stem, "scale");
  check_name(g, n->in[2], stem, "zero_point");
  if (n->op == WK_OP_QUANTIZE) check_name(g, n->out[0], stem, "quantized");
}

/* NAME=X*SCALE-ZERO is what pairs give, or a constant with its integers, and where the scales are a
 * tensor its dims; other nodes are as they are written. */
static void describe_node(wk_str *b, const wk_graph *g, const wk_node *n) {
  const wk_node *from;
  switch (n->op) {
  case WK_OP_QUANTIZE: check_parameters(g, n, "_QuantizeLinear"); return;
  case WK_OP_DEQUANTIZE:
    check_parameters(g, n, "_DequantizeLinear");
    wk_str_printf(b, "%s=", name_of(g, n->out[0]));
    if (wk_is_const(g, n->in[0])) {
      wk_str_printf(b, "%s{", wk_dtype_name(wk_val(g, n->in[0])->type.dtype));
      add_numbers(b, wk_val(g, n->in[0]));
      wk_str_add(b, "}");
    } else {
      from = wk_nod(g, wk_val(g, n->in[0])->node);
      assert_int_equal(from->op, WK_OP_QUANTIZE);
      assert_int_equal(WK_ATTR(from, quantize)->to, wk_val(g, n->in[2])->type.dtype);
      wk_str_add(b, name_of(g, from->in[0]));
    }
    wk_str_add(b, "*");
    add_numbers(b, wk_val(g, n->in[1]));
    wk_str_add(b, "-");
    add_numbers(b, wk_val(g, n->in[2]));
    for (int i = 0; i < wk_val(g, n->in[1])->type.rank; i++)
      wk_str_printf(b, "%c%lld", i ? 'x' : ':', (long long)wk_val(g, n->in[1])->type.dims[i]);
    break;
  default:
    for (uint32_t i = 0; i < n->n_out; i++)
      wk_str_printf(b, "%s%s", i ? "," : "", name_of(g, n->out[i]));
    wk_str_printf(b, "=%s(", wk_op_get(n->op)->name);
    for (uint32_t i = 0; i < n->n_in; i++) {
      wk_str_printf(b, "%s%s", i ? " " : "", name_of(g, n->in[i]));
      if (!wk_is_const(g, n->in[i])) continue;
      wk_str_add(b, "{");
      add_numbers(b, wk_val(g, n->in[i]));
      wk_str_add(b, "}");
    }
    wk_str_add(b, n->predicate == WK_NONE ? ")" : ") when ");
    if (n->predicate != WK_NONE) wk_str_add(b, name_of(g, n->predicate));
  }
  wk_str_add(b, "\n");
}

/* Whose ranges are what: x by 1, a by 2 from -256 on, others by 4; y is small. */
static wk_range range_of(const char *name) {
  wk_range r = {.axis = -1, .count = 1, .max = 255};
  if (*name == 'a') r = (wk_range){.axis = -1, .count = 1, .min = -256, .max = 254};
  else if (*name == 'y') r.max = 255e-12;
  else if (*name != 'x') r.max = 4 * 255;
  return r;
}

typedef enum { FULL, ISOLATED, SIMULATED } build_form;
typedef enum { UNSIGNED, SIGNED, WHOLE, CORRECTED } build_options;
static const wk_quantize_options all_options[] = {
    [UNSIGNED] = {.activation = WK_U8, .per_channel = true},
    [SIGNED] = {.activation = WK_I8, .per_channel = true},
    [WHOLE] = {.activation = WK_U8},
    [CORRECTED] = {.activation = WK_U8, .per_channel = true, .bias_correction = true},
};

typedef struct {
  build_options options;
  build_form form;
  const char *body, *want;
} build_row;

static void add_at(wk_str *b, const wk_graph *g, const wk_graph *q, const wk_value_id *at,
                   const char *mark) {
  wk_str_add(b, mark);
  for (size_t v = 0; v < g->values.n; v++)
    if (at[v] != WK_NONE && !wk_is_const(g, (wk_value_id)v))
      wk_str_printf(b, " %s:%s", name_of(g, (wk_value_id)v), name_of(q, at[v]));
}

static wk_str build(const build_row *row) {
  wk_str b = {0};
  wk_module *m = parse(ARGUMENTS, CONSTANTS, row->body), *q;
  wk_quantize_plan p = wk_quantize_plan_make(m);
  size_t n = m->main->values.n;
  wk_range *r = wk_xcalloc(n, sizeof *r);
  wk_value_id *at = wk_xcalloc(n, sizeof *at), *raw = wk_xcalloc(n, sizeof *raw);
  double sums[] = {4, 12};
  for (size_t v = 0; v < n; v++) r[v] = range_of(name_of(m->main, (wk_value_id)v));
  wk_range *x = &r[m->main->inputs.data[0]];
  x->sums = sums;
  x->channels = 2;
  x->per_channel = 4;
  wk_quantize_settle(&p);
  wk_quantize_build_args a = {.plan = &p, .options = &all_options[row->options], .ranges = r,
                              .isolated = row->form == ISOLATED,
                              .simulated = row->form == SIMULATED};
  wk_status s = wk_quantize_build(&a, at, raw, &q);
  if (s) fail_msg("%s: %s", row->body, s->message);
  for (size_t i = 0; i < q->main->nodes.n; i++)
    describe_node(&b, q->main, &q->main->nodes.data[i]);
  for (size_t i = 0; i < q->main->outputs.n; i++)
    wk_str_printf(&b, "%s%s", i ? " " : "", name_of(q->main, q->main->outputs.data[i]));
  add_at(&b, m->main, q->main, at, ";");
  add_at(&b, m->main, q->main, raw, ";");
  wk_module_free(q);
  wk_quantize_plan_free(&p);
  wk_module_free(m);
  free(r);
  free(at);
  free(raw);
  return b;
}

static const build_row build_rows[] = {
#define ROW(options, form, body, want) {options, form, body, want},
#include "tests/unit/quantize_build.def"
#undef ROW
};

static void modules(void **state) {
  int differ = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(build_rows); i++) {
    wk_str got = build(&build_rows[i]);
    if (strcmp(got.s, build_rows[i].want)) {
      differ++;
      print_error("%s\n  becomes\n%s\n  not\n%s\n", build_rows[i].body, got.s,
                  build_rows[i].want);
    }
    wk_str_free(&got);
  }
  assert_int_equal(differ, 0);
}

/* ---- before --------------------------------------------------------------------------------- */

static wk_tensor *random_inputs(const wk_graph *g, float spread) {
  wk_tensor *in = wk_xcalloc(g->inputs.n, sizeof *in);
  wk_rng rng = {5};
  for (size_t i = 0; i < g->inputs.n; i++) {
    const wk_type *t = &wk_val(g, g->inputs.data[i])->type;
    wk_status s = wk_tensor_alloc(t, &in[i]);
    assert_null(s);
    for (int64_t k = 0; k < wk_type_count(t); k++)
      wk_store_f64(in[i].data, t->dtype, k, (double)(spread * wk_rng_normal(&rng)));
  }
  return in;
}

static wk_tensor evaluate(const wk_graph *g, const wk_tensor *in) {
  wk_tensor out;
  wk_status s = wk_eval_graph(g, in, &out, NULL, NULL);
  if (s) fail_msg("%s", s->message);
  return out;
}

/* Changes m in place by `edit`, and compares what it computes. */
static int64_t same_results(wk_module *m, wk_status (*edit)(wk_module *m, int64_t *count)) {
  int64_t count = -1;
  wk_tensor *in = random_inputs(m->main, 1), want = evaluate(m->main, in);
  wk_status s = edit(m, &count);
  if (s) fail_msg("%s", s->message);
  wk_tensor got = evaluate(m->main, in);
  assert_true(wk_tensor_diff(&got, &want, &(wk_tolerance){1e-4, 1e-5, 1e-5}).equal);
  for (size_t i = 0; i < m->main->inputs.n; i++) wk_tensor_free(&in[i]);
  free(in);
  wk_tensor_free(&want);
  wk_tensor_free(&got);
  return count;
}

static void expect_nodes(const wk_graph *g, const char *want) {
  wk_str nodes = {0};
  for (size_t k = 0; k < g->nodes.n; k++) {
    const wk_node *n = &g->nodes.data[k];
    assert_false(n->dead);
    wk_str_printf(&nodes, "%s%s %s", k ? ", " : "", n->name, wk_op_get(n->op)->name);
  }
  assert_string_equal(nodes.s, want);
  wk_str_free(&nodes);
}

#define NODES(scores, mask)                                                               \
  "s_kt transpose, s_scores matmul, s_scale mul" mask ", s_softmax softmax, s matmul" scores

static const struct {
  const char *arguments, *body, *nodes;
  int64_t count;
} attention_rows[] = {
    {"%q: f32[2,3,4], %k: f32[2,5,4], %v: f32[2,5,6]",
     "%y = attention(%q, %k, %v) {scale=0.25} \"s\"\noutput %y", NODES("", ""), 1},
    {"%q: f32[3,4], %k: f32[5,4], %v: f32[5,6], %m: f32[3,5]",
     "%y = attention(%q, %k, %v, %m) {scale=1.5} \"s\"\noutput %y",
     NODES("", ", s_mask add"), 1},
    {"%q: f32[2,2,3,4], %k: f32[2,2,5,4], %v: f32[2,2,5,5], %m: f32[5]",
     "%y = attention(%q, %k, %v, %m) \"s\"\n%n = neg(%y) \"n\"\noutput %n",
     NODES(", n neg", ", s_mask add"), 1},
    {"%q: f32[3,3]",
     "%y = attention(%q, %q, %q) \"s\"\n%z = attention(%y, %q, %y) \"t\"\noutput %z",
     NODES(", t_kt transpose, t_scores matmul, t_scale mul, t_softmax softmax, t matmul", ""), 2},
    {"%q: f32[3,3], %p: bool[]", "%y = attention(%q, %q, %q) when %p \"s\"\noutput %y",
     "s attention", 0},
    {"%q: f32[3,3]", "%y = matmul(%q, %q) \"s\"\noutput %y", "s matmul", 0},
};

static void attention(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(attention_rows); i++) {
    wk_module *m = parse(attention_rows[i].arguments, "", attention_rows[i].body);
    int64_t count = same_results(m, wk_quantize_split_attention);
    assert_int_equal(count, attention_rows[i].count);
    expect_nodes(m->main, attention_rows[i].nodes);
    wk_module_free(m);
  }
}

#define FIRST "%u = constant f32[4,2,1,2] {9,-1,.5,2, 0,0,0,0, .01,.02,-.03,.04, 1,2,3,400}\n"
#define SECOND "%w = constant f32[6,2,1,1] {1,-1, 8,2, .5,.25, 3,3, -7,1, 2,900}\n"
#define MATRICES                                                                          \
  "%u = constant f32[3,2] {1,-200, 3,4, 5,6}\n%w = constant f32[2,2] {.01,-.02, 30,4}\n"
#define BIASES "%a = constant f32[4] {1,2,3,-4}\n%b = constant f32[2] {6,-7}\n"
static const struct {
  const char *arguments, *constants, *body;
  int64_t pairs;
  bool is_even;
} even_rows[] = {
    {"%x: f32[1,2,3,3]", FIRST SECOND BIASES,
     "%c = conv(%x, %u, %a) " CONV "\n%d = relu(%c)\n%y = conv(%d, %w) "
     "{strides=[1,1], pads=[0,0,0,0], dilations=[1,1], group=2}\noutput %y", 1, true},
    {"%x: f32[1,2,3,3]", FIRST SECOND,
     "%c = conv(%x, %u) " CONV "\n%y = conv(%c, %w) "
     "{strides=[1,1], pads=[0,0,0,0], dilations=[1,1], group=2}\noutput %y", 1, true},
    {"%x: f32[4,3]", MATRICES BIASES,
     "%c = matmul(%x, %u, %b)\n%d = leaky_relu(%c)\n%y = matmul(%d, %w)\noutput %y", 1, true},
    {"%x: f32[2,4,3]", MATRICES, "%c = matmul(%x, %u)\n%y = matmul(%c, %w)\noutput %y", 1, true},
    /* Not the second's first operand, another reader, not by constants, another function. */
    {"%x: f32[2,3]", MATRICES, "%c = matmul(%x, %u)\n%y = matmul(%w, %c)\noutput %y", 0, false},
    {"%x: f32[4,3]", MATRICES, "%c = matmul(%x, %u)\n%y = matmul(%c, %w)\noutput %y\noutput %c",
     0, false},
    {"%x: f32[4,3], %t: f32[2,2]", MATRICES,
     "%c = matmul(%x, %u)\n%y = matmul(%c, %t)\noutput %y", 0, false},
    {"%x: f32[4,3], %t: f32[2]", MATRICES,
     "%c = matmul(%x, %u, %t)\n%y = matmul(%c, %w)\noutput %y", 0, false},
    {"%x: f32[4,3]", MATRICES,
     "%c = matmul(%x, %u)\n%d = sigmoid(%c)\n%y = matmul(%d, %w)\noutput %y", 0, false},
};

/* Greatest absolute value of each channel that is between two products. */
static void channel_ranges(const wk_graph *g, bool is_second, double *out) {
  const wk_node *n = NULL;
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *k = &g->nodes.data[i];
    bool is_product = k->op == WK_OP_CONV || k->op == WK_OP_MATMUL;
    if (is_product && (!n || is_second)) n = k;
  }
  assert_non_null(n);
  const wk_value *w = wk_val(g, n->in[1]);
  const int64_t rows = w->type.dims[0], columns = w->type.dims[1];
  const int64_t inner = wk_type_count(&w->type) / rows / columns;
  const int64_t group = n->op == WK_OP_CONV ? WK_ATTR(n, conv)->group : 1;
  for (int64_t i = 0; i < wk_type_count(&w->type); i++) {
    int64_t row = i / inner / columns, column = i / inner % columns;
    int64_t to = n->op == WK_OP_CONV ? row : column;
    int64_t from = n->op == WK_OP_CONV ? row / (rows / group) * columns + column : row;
    double *c = &out[is_second ? from : to];
    *c = fmax(*c, fabs((double)((const float *)w->data)[i]));
  }
}

/* Ranges of both sides of a channel are the same, their product is what it was. */
static void even_ranges(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(even_rows); i++) {
    wk_module *m = parse(even_rows[i].arguments, even_rows[i].constants, even_rows[i].body);
    double before[2][8] = {{0}}, after[2][8] = {{0}};
    for (int k = 0; k < 2 && even_rows[i].is_even; k++) channel_ranges(m->main, k, before[k]);
    int64_t pairs = m->main->outputs.n > 1 ? 0 : same_results(m, wk_quantize_equalise);
    if (m->main->outputs.n > 1) assert_null(wk_quantize_equalise(m, &pairs));
    assert_int_equal(pairs, even_rows[i].pairs);
    for (int k = 0; k < 2 && even_rows[i].is_even; k++) channel_ranges(m->main, k, after[k]);
    for (int c = 0; c < 8; c++) {
      double product = before[0][c] * before[1][c];
      if (product == 0) continue;
      assert_float_equal(after[0][c] / sqrt(product), 1, 1e-5);
      assert_float_equal(after[1][c] / sqrt(product), 1, 1e-5);
    }
    for (int c = 0; c < 8; c++)
      if (before[0][c] == 0) assert_float_equal(after[1][c], before[1][c], 0);
    wk_module_free(m);
  }
}

#define NORM                                                                              \
  "%s = constant f32[3] {1,-2,.5}\n%b = constant f32[3] {0,3,-.25}\n"                     \
  "%m = constant f32[3] {.5,0,9}\n%v = constant f32[3] {4,1,.01}\n"
static const struct {
  const char *arguments, *body, *nodes;
  int64_t count;
} norm_rows[] = {
    {"%x: f32[2,3,4]", "%y = batch_norm(%x, %s, %b, %m, %v) \"n\"\noutput %y", "n conv", 1},
    {"%x: f32[1,3,2,5]",
     "%n = batch_norm(%x, %s, %b, %m, %v) \"n\"\n%r = relu(%n) \"r\"\n"
     "%y = batch_norm(%r, %s, %b, %m, %v) \"k\"\noutput %y",
     "n conv, r relu, k conv", 2},
    {"%x: f32[5,3]", "%y = batch_norm(%x, %s, %b, %m, %v) \"n\"\noutput %y", "n batch_norm", 0},
    {"%x: f32[1,3,4], %o: f32[3]", "%y = batch_norm(%x, %s, %o, %m, %v) \"n\"\noutput %y",
     "n batch_norm", 0},
};

/* Convolutions with one weight a channel. */
static void norms(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(norm_rows); i++) {
    wk_module *m = parse(norm_rows[i].arguments, NORM, norm_rows[i].body);
    assert_int_equal(same_results(m, wk_quantize_norms), norm_rows[i].count);
    expect_nodes(m->main, norm_rows[i].nodes);
    for (size_t k = 0; k < m->main->nodes.n; k++) {
      const wk_node *n = &m->main->nodes.data[k];
      assert_int_equal(wk_quantize_is_scale(m->main, n), n->op == WK_OP_CONV);
    }
    wk_module_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(modules),
      cmocka_unit_test(attention),
      cmocka_unit_test(norms),
      cmocka_unit_test(even_ranges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
