/* SPDX-License-Identifier: Apache-2.0
 * What is quantised, and how: the whole plan of small graphs, and what names keep. */
#include "tests/unit/case_text.h"

#include "compiler/quantize/quantize.h"

#define CONV "{strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}"
#define HEAD                                                                               \
  "module \"m\" {\ngraph @main(%x: f32[1,2,4,4], %z: f32[1,2,4,4], %h: f16[1,2,4,4]) {\n" \
  "%w = constant f32[2,2,1,1] {0.25, 0.75, -1.125, -2.0}\n"                                \
  "%k = constant f32[2,1,1] {0.5, 1}\n"                                                    \
  "%a = conv(%x, %w) " CONV " \"first\"\n"

/* x over the root of the mean of x^2, by a constant; `root` and `by` are on the way. */
#define RMS(x, root, by)                                                    \
  "%q = mul(" x ", " x ")\n%m = reduce_mean(%q) {axes=[3]}\n"               \
  "%e0 = constant f32[] {0.5}\n%e = add(%m, %e0)\n%s = sqrt(%e)\n"         \
  "%r = " root "(%s)\n%y = " by "(" x ", %r)\n"                            \
  "%g = constant f32[4] {1, 2, 3, 4}\n%b = mul(%y, %g)\n"

static wk_module *parse(const char *body) {
  wk_module *m = NULL;
  wk_str text = {0};
  wk_str_printf(&text, "%s%s\n}\n}\n", HEAD, body);
  wk_status s = wk_module_parse(text.s, "case", &m);
  if (!s) s = wk_module_normalise(m);
  if (s) fail_msg("%s: %s\n%s", s->place ? s->place : "", s->message, text.s);
  wk_str_free(&text);
  return m;
}

static const char *name_of(const wk_graph *g, wk_value_id v) { return wk_val(g, v)->name; }

/* "VALUE KIND [to ACTIVATION] [float]", then who sees what: VALUE! all, VALUE? those quantised,
 * =OTHER like whom; then whose ranges are needed, and along which axis sums. */
static void describe(const wk_quantize_plan *p, wk_str *b) {
  static const char *const kind[] = {"leads", "follows", "joins", "carries"};
  const wk_graph *g = p->g;
  for (size_t i = 0; i < p->layers.n; i++) {
    const wk_quantize_layer *l = &p->layers.data[i];
    wk_value_id core = wk_nod(g, l->core)->out[0], last = wk_nod(g, l->last)->out[0];
    wk_str_printf(b, "%s%s %s", i ? ", " : "", name_of(g, core), kind[l->kind]);
    if (last != core) wk_str_printf(b, " to %s", name_of(g, last));
    if (!l->quantised) wk_str_add(b, " float");
    assert_true(p->layer_of[l->core] == i && p->layer_of[l->last] == i);
  }
  wk_str_add(b, ";");
  for (wk_value_id v = 0; v < g->values.n; v++) {
    if (p->seen[v]) wk_str_printf(b, " %s%s", name_of(g, v), p->seen[v] == 2 ? "!" : "?");
    if (p->seen[v] && p->like[v] != v) wk_str_printf(b, "=%s", name_of(g, p->like[v]));
  }
  wk_str_add(b, ";");
}

static void add_values(const wk_quantize_plan *p, wk_str *b) {
  size_t n;
  const wk_value_id *v = wk_quantize_values(p, &n);
  for (size_t i = 0; i < n; i++) {
    int axis = wk_quantize_sum_axis(p, v[i]);
    wk_str_printf(b, axis < 0 ? " %s" : " %s:%d", name_of(p->g, v[i]), axis);
  }
}

static const struct {
  const char *body, *plan;
} plans[] = {
    {"output %a", "a leads; x? w? a!; x:1 a"},
    {"%b = relu(%a)\noutput %b", "a leads to b; x? w? b!; x:1 b"},
    {"%b = clip(%a) {lo=0.0, hi=6.0}\noutput %b", "a leads to b; x? w? b!; x:1 b"},
    {"%b = relu(%a)\n%c = relu(%b)\noutput %c", "a leads to b, c follows; x? w? b! c!; x:1 b c"},
    {"%b = relu(%a)\noutput %b\noutput %a", "a leads, b follows; x? w? a! b!; x:1 a b"},
    {"%b = relu(%a)\n%c = neg(%a)\noutput %b\noutput %c",
     "a leads, b follows; x? w? a! b!; x:1 a b"},
    {"%b = sigmoid(%a)\noutput %b", "a leads, b follows; x? w? a! b!; x:1 a b"},
    {"%n = constant f32[] {0.5}\n%b = mul(%n, %a)\n%c = relu(%b)\noutput %c",
     "a leads to c; x? w? c!; x:1 c"},
    {"%n = constant f32[1] {3}\n%b = div(%a, %n)\noutput %b", "a leads to b; x? w? b!; x:1 b"},
    {"%n = constant f32[] {-3}\n%b = mul(%a, %n)\noutput %b",
     "a leads, b follows; x? w? a! n? b!; x:1 a b"},
    {"%n = constant f32[] {3}\n%b = div(%n, %a)\noutput %b", "a leads; x? w? a!; x:1 a"},
    {"%n = constant f32[] {3}\n%b = mul(%a, %n)\noutput %a\noutput %b",
     "a leads, b follows; x? w? a! n? b!; x:1 a b"},
    {"%b = exp(%a)\n%c = relu(%b)\noutput %c", "a leads, c follows float; x? w? a!; x:1 a b c"},
    {"%b = add(%a, %z)\n%c = relu(%b)\noutput %c",
     "a leads, b follows to c; x? z? w? a! c!; x:1 z a c"},
    {"%b = add(%z, %a)\noutput %b", "a leads, b follows; x? z? w? a! b!; x:1 z a b"},
    {"%b = add(%z, %x)\noutput %a\noutput %b", "a leads, b follows float; x? w? a!; x:1 z a b"},
    {"%b = mul(%a, %k)\noutput %b", "a leads, b follows; x? w? k? a! b!; x:1 a b"},
    {"%b = sub(%k, %a)\noutput %b", "a leads, b follows; x? w? k? a! b!; x:1 a b"},
    {"%b = concat(%z, %x, %a) {axis=0}\noutput %b",
     "a leads, b follows; x? z?=b w? a!=b b!; x:1 z a b"},
    {"%b = concat(%z, %a) {axis=0}\noutput %a\noutput %b",
     "a leads, b follows; x? z?=b w? a! b!; x:1 z a b"},
    {"%b = concat(%z, %a) {axis=0}\n%c = concat(%b, %a) {axis=0}\n%d = relu(%c)\noutput %d",
     "a leads, b follows, c follows to d; x? z?=d w? a! b!=d d!; x:1 z a b d"},
    {"%b = conv_transpose(%x, %w) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], "
     "output_padding=[0,0]}\n%k2 = constant f32[2] {0.5, 1}\n"
     "%c = conv_transpose(%x, %w, %k2) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], "
     "output_padding=[0,0]}\noutput %a\noutput %b\noutput %c",
     "a leads, b leads, c leads; x? w? a! b! c!; x:1 a b c"},
    {"%b = conv_transpose(%x, %w) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], "
     "output_padding=[0,0], epilogue=\"max(%0, 0.0f32)\"}\noutput %a\noutput %b",
     "a leads; x? w? a!; x:1 a"},
    {"%b = max_pool(%a) {kernel=[2,2], strides=[2,2], pads=[0,0,0,0], dilations=[1,1]}\n%c = "
     "relu(%b)\noutput %c", "a leads, b carries, c follows; x? w? a! b!=a c!; x:1 a b c"},
    {"%b, %i = max_pool(%a) {kernel=[2,2], strides=[2,2], pads=[0,0,0,0], dilations=[1,1]}\n"
     "output %b\noutput %i", "a leads; x? w? a!; x:1 a"},
    {"%b = reshape(%a) {shape=[32]}\n%c = transpose(%a) {perm=[1,0,2,3]}\n"
     "%d = slice(%c) {starts=[0,0,0,0], sizes=[1,1,4,4], steps=[1,1,1,1]}\noutput %b\noutput %d",
     "a leads, b carries, c carries, d carries; x? w? a! b!=a c!=a d!=a; x:1 a b c d"},
    {"%b, %c = split(%a) {axis=1, sizes=[1,1]}\n%d = add(%b, %c)\noutput %d",
     "a leads, b carries, d follows; x? w? a! b!=a c!=a d!; x:1 a b c d"},
    {"%b = reshape(%z) {shape=[32]}\noutput %a\noutput %b",
     "a leads, b carries float; x? w? a!; x:1 z a b"},
    {"%b = avg_pool(%a) {kernel=[2,2], strides=[2,2], pads=[0,0,0,0], dilations=[1,1], "
     "real_pads=[0,0,0,0]}\n"
     "%c = reduce_mean(%b) {axes=[2,3]}\noutput %c",
     "a leads, b follows, c follows; x? w? a! b! c!; x:1 a b c"},
    {"%b = relu(%h)\n%c = add(%h, %h)\noutput %a\noutput %b\noutput %c",
     "a leads; x? w? a!; x:1 a"},
    {"%b = mish(%a)\n%c = softplus(%b)\n%d = add(%c, %z)\noutput %d",
     "a leads, b follows, c follows, d follows; x? z? w? a! b! c! d!; x:1 z a b c d"},
    {"%t = constant f32[] {2}\n%q = pow(%a, %t)\n%m = reduce_mean(%q) {axes=[3]}\n"
     "%r = sqrt(%m)\n%b = div(%a, %r)\noutput %b", "a leads, q joins to b; x? w? a! b!; x:1 a b"},
    {"%g = constant f32[4] {1, 2, 3, 4}\n%b = layer_norm(%a, %g, %g) {axis=3}\noutput %b",
     "a leads, b joins; x? w? a! b!; x:1 a b"},
    {"%g = constant f32[4] {1, 2, 3, 4}\n%b = layer_norm(%z, %g, %g) {axis=3}\n"
     "%c = conv(%b, %w) " CONV "\noutput %a\noutput %c",
     "a leads, b joins, c leads; x? z? w? a! b! c!; x:1 z a b:1 c"},
    {"%g = constant f32[4] {1, 2, 3, 4}\n%b = layer_norm(%z, %g, %g) {axis=3}\n"
     "%c = relu(%b)\noutput %a\noutput %c",
     "a leads, b joins float, c follows float; x? w? a!; x:1 z a b c"},
    {RMS("%a", "reciprocal", "mul") "output %b",
     "a leads, q joins to b; x? w? a! b!; x:1 a b"},
    {RMS("%z", "sqrt", "div") "%c = conv(%b, %w) " CONV "\noutput %a\noutput %c",
     "a leads, q joins to b, c leads; x? z? w? a! b! c!; x:1 z a b:1 c"},
    {RMS("%a", "exp", "mul") "%c = neg(%m)\noutput %b\noutput %c",
     "a leads, q follows, m follows, e follows, y follows, b follows; "
     "x? w? a! q! m! e0? e! r? y! g? b!; x:1 a q m e r y b"},
    {"%b = matmul(%a, %z)\noutput %b", "a leads, b leads; x? z? w? a! b!; x:1 z a:3 b"},
    {"%b = conv(%a, %w) " CONV "\n%c = conv(%x, %w) " CONV "\noutput %b\noutput %c",
     "a leads, b leads, c leads; x? w? a! b! c!; x:1 a:1 b c"},
    {"%b = reshape(%a) {shape=[8,4]}\n%q = reshape(%z) {shape=[4,8]}\n%c = matmul(%b, %q)\n"
     "output %c",
     "a leads, b carries, q carries float, c leads; x? w? a! b!=a q? c!; x:1 z a b:1 q c"},
};

static void whole_plans(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(plans); i++) {
    wk_module *m = parse(plans[i].body);
    wk_quantize_plan p = wk_quantize_plan_make(m);
    wk_str b = {0};
    size_t n = wk_quantize_settle(&p), quantised = 0;
    describe(&p, &b);
    add_values(&p, &b);
    for (size_t k = 0; k < p.layers.n; k++) quantised += p.layers.data[k].quantised;
    assert_int_equal(n, quantised);
    if (strcmp(b.s, plans[i].plan)) {
      differ++;
      print_message("%s:\n%s\n%s\n", plans[i].body, b.s, plans[i].plan);
    }
    wk_str_free(&b);
    wk_quantize_plan_free(&p);
    wk_module_free(m);
  }
  assert_int_equal(differ, 0);
}

/* A convolution, its scale and a relu behind it, a sum, a product, a second relu. */
static const char *const named =
    "%two = constant f32[] {2}\n%t = mul(%a, %two) \"scaled\"\n%b = relu(%t) \"second\"\n"
    "%c = add(%b, %z) \"sum\"\n%d = matmul(%c, %z) \"product\"\n"
    "%e = avg_pool(%d) {kernel=[2,2], strides=[2,2], pads=[0,0,0,0], dilations=[1,1], "
    "real_pads=[0,0,0,0]} \"pool\"\n"
    "output %e";

static const struct {
  const char *name, *plan; /* NULL: nobody is called so */
  const char *message;
} names[] = {
    {"first", "a leads to b float, c follows float, d leads, e follows; z? c? d! e!;", NULL},
    {"second", "a leads to b float, c follows float, d leads, e follows; z? c? d! e!;", NULL},
    {"scaled", "a leads to b float, c follows float, d leads, e follows; z? c? d! e!;", NULL},
    {"Mul", "a leads to b float, c follows float, d leads, e follows; z? c? d! e!;", NULL},
    {"Conv", "a leads to b float, c follows float, d leads, e follows; z? c? d! e!;", NULL},
    {"conv", "a leads to b float, c follows float, d leads, e follows; z? c? d! e!;", NULL},
    {"sum", "a leads to b, c follows float, d leads, e follows; x? z? w? b! c? d! e!;", NULL},
    {"ADD", "a leads to b, c follows float, d leads, e follows; x? z? w? b! c? d! e!;", NULL},
    {"gemm", "a leads to b, c follows, d leads float, e follows float; x? z? w? b! c!;", NULL},
    {"MatMul", "a leads to b, c follows, d leads float, e follows float; x? z? w? b! c!;", NULL},
    {"AveragePool", "a leads to b, c follows, d leads, e follows float; x? z? w? b! c! d!;", NULL},
    {"avg_pool", "a leads to b, c follows, d leads, e follows float; x? z? w? b! c! d!;", NULL},
    {"First", NULL, "--keep-float: no node or operator 'First'; did you mean 'first'?"},
    {"Relu", NULL, "--keep-float: the model has no node or operator 'Relu' to quantise"},
    {"AvgPool", NULL, "--keep-float: no node or operator 'AvgPool'; did you mean 'AveragePool'?"},
};

static void names_keep(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(names); i++) {
    wk_module *m = parse(named);
    wk_quantize_plan p = wk_quantize_plan_make(m);
    wk_str b = {0};
    wk_status s = wk_quantize_keep(&p, names[i].name);
    wk_quantize_settle(&p);
    describe(&p, &b);
    if (names[i].plan && s) fail_msg("%s: %s", names[i].name, s->message);
    if (names[i].plan) {
      size_t kept = 0;
      if (strcmp(b.s, names[i].plan)) fail_msg("%s: %s", names[i].name, b.s);
      for (size_t k = 0; k < p.layers.n; k++) {
        if (!p.layers.data[k].keep) continue;
        kept++;
        assert_string_equal(p.layers.data[k].why, "--keep-float");
      }
      assert_int_equal(kept, 1);
    }
    wk_str_free(&b);
    if (!names[i].plan) assert_string_equal(s ? s->message : "", names[i].message);
    wk_status_free(s);
    wk_quantize_plan_free(&p);
    wk_module_free(m);
  }
}

/* Every operator that can be quantised has the name that ONNX has for it; others have their own. */
static void operators(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"conv", "Conv"}, {"conv_transpose", "ConvTranspose"}, {"matmul", "MatMul"}, {"add", "Add"},
      {"sub", "Sub"}, {"mul", "Mul"}, {"concat", "Concat"}, {"avg_pool", "AveragePool"},
      {"reduce_mean", "ReduceMean"}, {"resize", "Resize"}, {"relu", "Relu"}, {"clip", "Clip"},
      {"leaky_relu", "LeakyRelu"}, {"elu", "Elu"}, {"sigmoid", "Sigmoid"},
      {"hard_sigmoid", "HardSigmoid"}, {"hard_swish", "HardSwish"}, {"silu", "Silu"},
      {"tanh", "Tanh"}, {"gelu", "Gelu"}, {"gelu_tanh", "GeluTanh"}, {"max_pool", "MaxPool"},
      {"reshape", "Reshape"}, {"transpose", "Transpose"}, {"slice", "Slice"}, {"split", "Split"},
      {"expand", "Expand"}, {"div", "div"}, {"exp", "exp"}, {"softmax", "softmax"}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    size_t found = 0;
    for (int op = 0; op < WK_OP_COUNT; op++) {
      if (strcmp(wk_op_get((wk_op)op)->name, rows[i][0]) != 0) continue;
      found++;
      assert_string_equal(wk_quantize_op_name((wk_op)op), rows[i][1]);
    }
    if (found != 1) fail_msg("%s", rows[i][0]);
  }
}

/* Which sums would swallow an operand: both sides of each condition. */
static void sums_that_swallow(void **state) {
  (void)state;
  static const wk_quantize_options o = {.activation = WK_U8};
  static const struct {
    const char *body;
    double small, result; /* ranges 0..that of z and of the sum; a has 0..8 */
    size_t spared;
  } rows[] = {
      {"%b = add(%a, %z)\noutput %b", 0.9, 255.0 / 4, 1},
      {"%b = add(%z, %a)\noutput %b", 0.9, 255.0 / 4, 1},
      {"%b = sub(%a, %z)\noutput %b", 0.9, 255.0 / 4, 1},
      {"%b = sub(%a, %z)\n%c = relu(%b)\noutput %c", 0.9, 255.0 / 4, 1},
      {"%b = mul(%a, %z)\noutput %b", 0.9, 255.0 / 4, 0},
      {"%b = add(%a, %z)\noutput %b", 1.1, 255.0 / 4, 0},
      {"%b = add(%a, %z)\noutput %b", 4, 255, 0}, /* four steps, just as many as it takes */
      {"%b = add(%a, %z)\noutput %b", 3.999, 255, 1},
      {"%b = add(%a, %z)\noutput %b", 0, 255.0 / 4, 0}, /* always the same number */
      {"%b = add(%a, %k)\noutput %b", 0.9, 255.0 / 4, 0},
      {"%b = add(%a, %z)\noutput %b", 8, 255 * 2.1, 1},
      {"%b = add(%a, %z)\noutput %b", 8, 255 * 1.9, 0},
      {"%b = add(%x, %z)\noutput %b\noutput %a", 0.9, 255.0 / 4, 0}, /* float as it is */
  };
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_module *m = parse(rows[i].body);
    wk_quantize_plan p = wk_quantize_plan_make(m);
    wk_range *r = wk_xcalloc(m->main->values.n, sizeof *r);
    for (size_t v = 0; v < m->main->values.n; v++) {
      char name = wk_val(m->main, (wk_value_id)v)->name[0];
      r[v].max = name == 'z' ? rows[i].small : name == 'b' || name == 'c' ? rows[i].result : 8;
    }
    wk_quantize_settle(&p);
    size_t n = wk_quantize_spare(&p, r, &o);
    if (n != rows[i].spared) fail_msg("row %zu: %zu spared", i, n);
    for (size_t k = 0; k < p.layers.n; k++)
      if (p.layers.data[k].keep)
        assert_string_equal(p.layers.data[k].why, "an operand would vanish");
    assert_int_equal(wk_quantize_settle(&p), p.layers.n - n - (i + 1 == WK_COUNTOF(rows)));
    assert_int_equal(wk_quantize_spare(&p, r, &o), 0);
    free(r);
    wk_quantize_plan_free(&p);
    wk_module_free(m);
  }
}

/* Layers that no scale suits, by what was seen of z, of its constants and of what it makes. */
static void unfit(void **state) {
  (void)state;
  static const wk_quantize_options o = {.activation = WK_U8};
  static const char sum[] = "%b = add(%a, %z)\noutput %b", factor[] = "%b = mul(%a, %z)\noutput %b";
  static const char cut[] = "%b = add(%a, %z)\n%c = relu(%b)\noutput %c";
  static const char constant[] =
      "%i = constant f32[1] {-inf}\n%b = add(%a, %i)\n%c = relu(%b)\noutput %c";
  static const char product[] =
      "%v = constant f32[4,4] splat(0.5)\n%b = matmul(%z, %v)\noutput %b\noutput %a";
  static const wk_range fine = {.nan = 0}, some = {.infinite = 1}, none = {.nan = 1};
  static const wk_range far = {.exponents = {0, 1, UINT64_C(1) << 12, 0}};
  static const char inf[] = "infinite values", nan[] = "NaN among its values";
  static const char apart[] = "values too far apart for one scale";
  const struct {
    const char *body, *why;
    const wk_range *z, *result;
  } rows[] = {
      {sum, NULL, &fine, &fine},    {sum, inf, &some, &fine},      {sum, inf, &fine, &some},
      {sum, nan, &none, &fine},     {factor, apart, &far, &fine},  {cut, inf, &some, &fine},
      {cut, inf, &fine, &some},     {constant, inf, &fine, &fine}, {product, inf, &some, &fine},
      {product, nan, &fine, &none}, {product, NULL, &far, &far}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_module *m = parse(rows[i].body);
    wk_quantize_plan p = wk_quantize_plan_make(m);
    wk_range *r = wk_xcalloc(m->main->values.n, sizeof *r);
    for (size_t v = 0; v < m->main->values.n; v++) {
      char name = wk_val(m->main, (wk_value_id)v)->name[0];
      if (name == 'z') r[v] = *rows[i].z;
      else if (name == 'b' || name == 'c') r[v] = *rows[i].result;
      r[v].max = 8;
    }
    wk_quantize_settle(&p);
    if (wk_quantize_spare(&p, r, &o) != (rows[i].why != NULL)) fail_msg("row %zu", i);
    for (size_t k = 0; k < p.layers.n; k++)
      if (p.layers.data[k].keep) assert_string_equal(p.layers.data[k].why, rows[i].why);
    free(r);
    wk_quantize_plan_free(&p);
    wk_module_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(whole_plans), cmocka_unit_test(names_keep),
                                     cmocka_unit_test(operators),
                                     cmocka_unit_test(sums_that_swallow),
                                     cmocka_unit_test(unfit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
