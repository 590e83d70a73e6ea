/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised models as floats that round where they do: the same numbers, and what is written. */
#include "tests/unit/case_text.h"

#include "compiler/eval/eval.h"
#include "compiler/train/quantised.h"
#include "compiler/train/quantised_path.h"

/* The body of a graph of x, s scale 0.5, z zero point 3 (u8), r scale 0.25; w are the initialisers
 * that training keeps. fakes: roundings in the end, of activations alone in `activations`. */
typedef struct {
  const char *name, *x, *body, *w;
  int fakes, activations, quantisers;
} form;

/* A scale and a zero point of each of two rows. */
#define PER_ROW "%k = constant f32[2,1] {0.5, 2}\n%m = constant u8[2,1] {3, 200}\n"

static const form forms[] = {
    {"a pair", "f32[2,3]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n"
     "%y = dequantize(%q, %s, %z) : f32[2,3]", "", 1, 1,
     0},
    {"two scales", "f32[2,3]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n"
     "%y = dequantize(%q, %r, %z) : f32[2,3]", "", 0, 0,
     1},
    {"moved", "f32[2,3]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n"
     "%t = transpose(%q) {perm=[1,0]} : u8[3,2]\n%c = concat(%t, %t) {axis=0} : u8[6,2]\n"
     "%l = slice(%c) {starts=[1,0], sizes=[4,2], steps=[1,1]} : u8[4,2]\n"
     "%f = reshape(%l) {shape=[8]} : u8[8]\n%y = dequantize(%f, %s, %z) : f32[8]", "", 1, 1, 0},
    {"pooled", "f32[1,1,4,6]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[1,1,4,6]\n"
     "%p = max_pool(%q) {kernel=[2,3], strides=[2,3], pads=[0,0,0,0], dilations=[1,1]} : "
     "u8[1,1,2,2]\n%y = dequantize(%p, %s, %z) : f32[1,1,2,2]", "", 1, 1, 0},
    {"four bits", "f32[2,3]",
     "%n = constant i8[] {0}\n%lo = constant i8[] {-8}\n%hi = constant i8[] {7}\n"
     "%q = quantize(%x, %s, %n) {to=i8} : i8[2,3]\n%a = max(%q, %lo) : i8[2,3]\n"
     "%b = min(%a, %hi) : i8[2,3]\n%c = cast(%b) {to=i4} : i4[2,3]\n"
     "%d = cast(%c) {to=i8} : i8[2,3]\n%y = dequantize(%d, %s, %n) : f32[2,3]", "", 1, 1, 0},
    {"channels", "f32[2,3]",
     PER_ROW
     "%q = quantize(%x, %k, %m) {to=u8} : u8[2,3]\n%y = dequantize(%q, %k, %m) : f32[2,3]", "", 1,
     1, 0},
    {"channels, transposed", "f32[2,2]",
     PER_ROW
     "%q = quantize(%x, %k, %m) {to=u8} : u8[2,2]\n%t = transpose(%q) {perm=[1,0]} : u8[2,2]\n"
     "%y = dequantize(%t, %k, %m) : f32[2,2]", "", 0, 0, 1},
    {"channels of other axes", "f32[2,2]",
     PER_ROW
     "%l = constant f32[1,2] {0.5, 2}\n%o = constant u8[1,2] {3, 200}\n"
     "%q = quantize(%x, %k, %m) {to=u8} : u8[2,2]\n%y = dequantize(%q, %l, %o) : f32[2,2]", "", 0,
     0, 1},
    {"channels, reshaped", "f32[2,3]",
     PER_ROW
     "%l = constant f32[1,2] {0.5, 2}\n%o = constant u8[1,2] {3, 200}\n"
     "%q = quantize(%x, %k, %m) {to=u8} : u8[2,3]\n%t = reshape(%q) {shape=[3,2]} : u8[3,2]\n"
     "%y = dequantize(%t, %l, %o) : f32[3,2]", "", 0, 0, 1},
    {"blocks, there and back", "f32[2,2,2]",
     "%k = constant f32[2,2,1] {0.5, 2, 1, 3}\n%m = constant u8[2,2,1] {3, 200, 0, 255}\n"
     "%q = quantize(%x, %k, %m) {to=u8} : u8[2,2,2]\n%t = reshape(%q) {shape=[2,4]} : u8[2,4]\n"
     "%u = reshape(%t) {shape=[2,2,2]} : u8[2,2,2]\n%y = dequantize(%u, %k, %m) : f32[2,2,2]", "",
     1, 1, 0},
    {"a limit of one branch", "f32[2,3]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n%a = max(%q, %z) : u8[2,3]\n"
     "%c = concat(%a, %q) {axis=0} : u8[4,3]\n%y = dequantize(%c, %s, %z) : f32[4,3]", "", 0, 0,
     1},
    {"a limit that is computed", "f32[2,3]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n%o = reshape(%q) {shape=[3,2]} : u8[3,2]\n"
     "%i = reshape(%o) {shape=[2,3]} : u8[2,3]\n%a = max(%q, %i) : u8[2,3]\n"
     "%y = dequantize(%a, %s, %z) : f32[2,3]", "", 0, 0, 1},
    {"a limit of each column", "f32[2,3]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n%hi = constant u8[3] {100, 5, 9}\n"
     "%a = min(%q, %hi) : u8[2,3]\n%y = dequantize(%a, %s, %z) : f32[2,3]", "", 0, 0, 1},
    {"limits that leave two numbers", "f32[2,3]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n%lo = constant u8[] {4}\n"
     "%hi = constant u8[] {5}\n%a = min(%q, %hi) : u8[2,3]\n%b = max(%a, %lo) : u8[2,3]\n"
     "%y = dequantize(%b, %s, %z) : f32[2,3]", "", 1, 1, 0},
    {"a type that holds them all", "f32[2,3]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n%hi = constant u8[] {127}\n"
     "%a = min(%q, %hi) : u8[2,3]\n%c = cast(%a) {to=i8} : i8[2,3]\n"
     "%n = constant i8[] {3}\n%y = dequantize(%c, %s, %n) : f32[2,3]", "", 1, 1, 0},
    {"a type that holds all but one", "f32[2,3]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n%hi = constant u8[] {128}\n"
     "%a = min(%q, %hi) : u8[2,3]\n%c = cast(%a) {to=i8} : i8[2,3]\n"
     "%n = constant i8[] {3}\n%y = dequantize(%c, %s, %n) : f32[2,3]", "", 0, 0, 1},
    {"by way of what rounds not", "f32[2,3]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n%a = add(%q, %q) : u8[2,3]\n"
     "%y = dequantize(%a, %s, %z) : f32[2,3]", "", 0, 0, 1},
    {"pooled, and where from", "f32[1,1,4,6]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[1,1,4,6]\n"
     "%p, %i = max_pool(%q) {kernel=[2,3], strides=[2,3], pads=[0,0,0,0], dilations=[1,1]} : "
     "u8[1,1,2,2], i64[1,1,2,2]\n%y = dequantize(%p, %s, %z) : f32[1,1,2,2]", "", 0, 0, 1},
    {"another type's zero point", "f32[2,3]",
     "%n = constant u8[] {4}\n%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n"
     "%y = dequantize(%q, %s, %n) : f32[2,3]", "", 0, 0, 1},
    {"the last of three branches differs", "f32[2,3]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n%p = quantize(%x, %r, %z) {to=u8} : u8[2,3]\n"
     "%c = concat(%q, %q, %p) {axis=0} : u8[6,3]\n%y = dequantize(%c, %s, %z) : f32[6,3]", "", 0,
     0, 2},
    {"the second of three branches differs", "f32[2,3]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n%p = quantize(%x, %r, %z) {to=u8} : u8[2,3]\n"
     "%c = concat(%q, %p, %q) {axis=0} : u8[6,3]\n%y = dequantize(%c, %s, %z) : f32[6,3]", "", 0,
     0, 2},
    {"one scale beside one of each row", "f32[2,3]",
     PER_ROW
     "%l = constant f32[2,1] {0.5, 0.5}\n%o = constant u8[2,1] {3, 3}\n"
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n%y = dequantize(%q, %l, %o) : f32[2,3]", "", 0,
     0, 1},
    {"limits that leave one number", "f32[2,3]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n%lo = constant u8[] {10}\n"
     "%hi = constant u8[] {50}\n%a = min(%q, %lo) : u8[2,3]\n%b = max(%a, %hi) : u8[2,3]\n"
     "%y = dequantize(%b, %s, %z) : f32[2,3]", "", 0, 0, 1},
    {"limits that leave one number to all", "f32[2,3]",
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n%l = constant u8[] {10}\n"
     "%a = min(%q, %l) : u8[2,3]\n%b = max(%a, %l) : u8[2,3]\n"
     "%y = dequantize(%b, %s, %z) : f32[2,3]", "", 1, 1, 0},
    {"one scale, zero points of rows, transposed", "f32[2,2]",
     PER_ROW
     "%q = quantize(%x, %s, %m) {to=u8} : u8[2,2]\n%t = transpose(%q) {perm=[1,0]} : u8[2,2]\n"
     "%y = dequantize(%t, %s, %m) : f32[2,2]", "", 0, 0, 1},
    {"a scale that is computed", "f32[2,3]",
     "%k = reduce_max(%x) {axes=[0,1], keepdims=0} : f32[]\n"
     "%q = quantize(%x, %k, %z) {to=u8} : u8[2,3]\n%y = dequantize(%q, %k, %z) : f32[2,3]", "", 0,
     0, 1},
    {"a scale that is computed on the way back", "f32[2,3]",
     "%k = reduce_max(%x) {axes=[0,1], keepdims=0} : f32[]\n"
     "%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n%y = dequantize(%q, %k, %z) : f32[2,3]", "", 0,
     0, 1},
    {"a zero point that is computed on the way back", "f32[2,3]",
     "%k = reduce_max(%x) {axes=[0,1], keepdims=0} : f32[]\n%c = clip(%k) {lo=0.0, hi=9.0}\n"
     "%o = cast(%c) {to=u8}\n%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n"
     "%y = dequantize(%q, %s, %o) : f32[2,3]", "", 0, 0, 1},
    {"to another type of floats", "f32[2,3]",
     "%h = constant f16[] {0.5}\n%q = quantize(%x, %s, %z) {to=u8} : u8[2,3]\n"
     "%y = dequantize(%q, %h, %z) : f16[2,3]", "", 1, 1, 0},
    {"numbers that nobody trains", "f32[3]",
     "%w = constant u8[3] {0, 255, 77}\n%d = dequantize(%w, %s, %z) : f32[3]\n"
     "%y = add(%x, %d) : f32[3]", "", 0, 0, 0},
    {"a weight, once cut off", "f32[3]",
     "%w = constant u8[3] {0, 255, 77}\n%hi = constant u8[] {100}\n%a = min(%w, %hi) : u8[3]\n"
     "%d = dequantize(%a, %s, %z) : f32[3]\n%e = dequantize(%w, %s, %z) : f32[3]\n"
     "%f = add(%d, %e) : f32[3]\n%y = add(%x, %f) : f32[3]", "w", 2, 0, 0},
    {"a weight of integers that are no floats", "f32[3]",
     "%w = constant i32[3] {16777217, -33554435, 3}\n%n = constant i32[] {0}\n"
     "%d = dequantize(%w, %r, %n) : f32[3]\n%y = add(%x, %d) : f32[3]", "w", 1, 0, 0},
    {"a weight", "f32[2,3]",
     "%w = constant i8[2,3] {-128, 127, 0, 1, -1, 55}\n%n = constant i8[] {0}\n"
     "%d = dequantize(%w, %r, %n) : f32[2,3]\n%y = mul(%x, %d) : f32[2,3]", "w", 1, 0, 0},
    {"a bias", "f32[2,3]",
     "%w = constant i32[3] {-70000, 12345678, 3}\n%n = constant i32[] {0}\n"
     "%d = dequantize(%w, %r, %n) : f32[3]\n%y = add(%x, %d) : f32[2,3]", "w", 1, 0, 0},
    {"blocks of four bits", "f32[2,4]",
     "%w = constant i4[2,4] {-8, 7, 0, 1, -1, 5, 6, -7}\n%k = constant f32[2,2,1] {0.5, 1, 2, 3}\n"
     "%n = constant i8[2,2,1] {0, 1, 2, -1}\n%c = cast(%w) {to=i8} : i8[2,4]\n"
     "%b = reshape(%c) {shape=[2,2,2]} : i8[2,2,2]\n%d = dequantize(%b, %k, %n) : f32[2,2,2]\n"
     "%e = reshape(%d) {shape=[2,4]} : f32[2,4]\n%y = mul(%x, %e) : f32[2,4]", "w", 1, 0, 0},
    {"twice the same weight", "f32[3,3]",
     "%w = constant u8[3,3] {0, 255, 3, 4, 5, 6, 7, 8, 9}\n"
     "%d = dequantize(%w, %s, %z) : f32[3,3]\n%t = transpose(%w) {perm=[1,0]} : u8[3,3]\n"
     "%e = dequantize(%t, %s, %z) : f32[3,3]\n%a = add(%d, %e) : f32[3,3]\n"
     "%y = add(%x, %a) : f32[3,3]", "w", 2, 0, 0},
    {"a weight behind itself", "f32[6]",
     "%w = constant u8[3] {0, 255, 77}\n%c = concat(%w, %w) {axis=0} : u8[6]\n"
     "%d = dequantize(%c, %s, %z) : f32[6]\n%y = add(%x, %d) : f32[6]", "w", 0, 0, 0},
    {"a weight behind other numbers", "f32[6]",
     "%w = constant u8[3] {0, 255, 77}\n%v = constant u8[3] {1, 2, 3}\n"
     "%c = concat(%v, %w) {axis=0} : u8[6]\n%d = dequantize(%c, %s, %z) : f32[6]\n"
     "%y = add(%x, %d) : f32[6]", "w", 0, 0, 0},
    {"a part of a weight", "f32[1,3]",
     "%w = constant u8[2,3] {0, 255, 3, 4, 5, 6}\n"
     "%l = slice(%w) {starts=[1,0], sizes=[1,3], steps=[1,1]} : u8[1,3]\n"
     "%d = dequantize(%l, %s, %z) : f32[1,3]\n%y = add(%x, %d) : f32[1,3]", "w", 0, 0, 0},
};

static wk_module *parse(const char *x, const char *body) {
  char text[4096];
  wk_module *m = NULL;
  snprintf(text, sizeof text,
           "module \"form\" {\n  graph @main(%%x: %s) {\n    %%s = constant f32[] {0.5}\n"
           "    %%r = constant f32[] {0.25}\n    %%z = constant u8[] {3}\n    %s\n"
           "    output %%y\n  }\n}\n", x, body);
  wk_status s = wk_module_parse(text, "form", &m);
  if (s) fail_msg("%s\n%s", text, s->message);
  return m;
}

static wk_status open_form(wk_module *m, const char *w, wk_quantised *q) {
  wk_import_report r = {0};
  const wk_import_weight one = {.name = w};
  if (*w) wk_vec_push(&r.weights, one);
  wk_status s = wk_quantised_open(m, &r, q);
  wk_vec_free(&r.weights);
  return s;
}

/* Ties, both ends of the range, and past them. */
static wk_tensor numbers(const wk_type *t) {
  static const float v[] = {0.25f, -0.25f, 0.75f, -1.5f, -1.75f, -1.76f, 125.9f, 126.2f, 1e6f,
                            -1e6f, 3.3f, 0.1f, -400, 110, 111, -4, -4.3f, 3.5f, 3.8f};
  wk_tensor x;
  assert_null(wk_tensor_alloc(t, &x));
  for (int64_t i = 0; i < wk_type_count(t); i++) ((float *)x.data)[i] = v[i % WK_COUNTOF(v)];
  return x;
}

static wk_tensor value_of(const wk_module *m) {
  wk_tensor x = numbers(&wk_val(m->main, m->main->inputs.data[0])->type), y = {.data = NULL};
  assert_null(wk_eval_graph(m->main, &x, &y, NULL, NULL));
  wk_tensor_free(&x);
  return y;
}

static int count(const wk_graph *g, wk_op op) {
  int n = 0;
  for (size_t i = 0; i < g->nodes.n; i++) n += !g->nodes.data[i].dead && g->nodes.data[i].op == op;
  return n;
}

static void test_forms(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(forms); i++) {
    const form *f = &forms[i];
    wk_quantised q;
    wk_module *m = parse(f->x, f->body);
    wk_tensor want = value_of(m);
    wk_status s = open_form(m, f->w, &q);
    if (s) fail_msg("%s: %s", f->name, s->message);
    wk_tensor got = value_of(m);
    if (memcmp(got.data, want.data, (size_t)wk_type_bytes(&want.type)))
      fail_msg("%s: other numbers", f->name);
    int fakes = count(m->main, WK_OP_FAKE_QUANTIZE), left = count(m->main, WK_OP_QUANTIZE);
    if (fakes != f->fakes || q.activations != f->activations || left != f->quantisers) {
      print_message("%s: %d roundings, %d of activations, %d quantisers left\n", f->name, fakes,
                    (int)q.activations, left);
      differ++;
    }
    wk_tensor_free(&got);
    wk_tensor_free(&want);
    wk_quantised_free(&q);
    wk_module_free(m);
  }
  assert_int_equal(differ, 0);
}

/* Floats that nobody has trained round to the integers that they come from. */
static void test_round(void **state) {
  (void)state;
  int weights = 0;
  for (size_t i = 0; i < WK_COUNTOF(forms); i++) {
    const form *f = &forms[i];
    wk_quantised q;
    uint32_t v;
    uint8_t want[64] = {0}, got[64];
    if (!*f->w || !f->fakes) continue;
    wk_module *m = parse(f->x, f->body);
    assert_true(wk_map_get(m->main->names, "w", &v));
    const wk_value codes = *wk_val(m->main, v);
    wk_pack(&codes.type, codes.data, want);
    assert_null(open_form(m, f->w, &q));
    assert_int_equal(q.weights.n, 1);
    assert_true(wk_map_get(m->main->names, "w", &v));
    assert_int_equal(wk_val(m->main, v)->type.dtype, WK_F32);
    assert_null(wk_quantised_round(&q.weights.data[0], wk_val(m->main, v)->data, got));
    if (memcmp(got, want, (size_t)wk_packed_bytes(&codes.type)))
      fail_msg("%s: other integers", f->name);
    weights++;
    wk_quantised_free(&q);
    wk_module_free(m);
  }
  assert_int_equal(weights, 6);
}

static void test_round_saturates(void **state) {
  (void)state;
  wk_quantised q;
  const float floats[6] = {1e9f, -1e9f, 0.124f, 0.126f, 0.375f, -33};
  const int8_t want[6] = {127, -128, 0, 1, 2, -128};
  int8_t got[6];
  wk_module *m = parse("f32[6]", "%w = constant i8[6] {-128, 127, 0, 1, -1, 55}\n"
                                 "%n = constant i8[] {0}\n%d = dequantize(%w, %r, %n) : f32[6]\n"
                                 "%y = mul(%x, %d) : f32[6]");
  assert_null(open_form(m, "w", &q));
  assert_null(wk_quantised_round(&q.weights.data[0], floats, got));
  assert_memory_equal(got, want, sizeof want);
  wk_quantised_free(&q);
  wk_module_free(m);
}

static const struct { const char *body, *message; } refused[] = {
    {"%w = constant u8[3] {1, 2, 3}\n%d = dequantize(%w, %s, %z) : f32[3]\n"
     "%e = dequantize(%w, %r, %z) : f32[3]\n%a = add(%d, %e) : f32[3]\n%y = add(%x, %a) : f32[3]",
     "the integers of 'w' cannot be trained: they are dequantised with two scales"},
    {"%w = constant u8[3,3] {1, 2, 3, 4, 5, 6, 7, 8, 9}\n%k = constant f32[3,1] {1, 2, 3}\n"
     "%l = constant f32[1,3] {1, 2, 3}\n%d = dequantize(%w, %k, %z) : f32[3,3]\n"
     "%e = dequantize(%w, %l, %z) : f32[3,3]\n%a = add(%d, %e) : f32[3,3]\n"
     "%y = add(%x, %a) : f32[3,3]",
     "the integers of 'w' cannot be trained: they are dequantised with two scales"},
    {"%w = constant u8[3] {1, 2, 3}\n%d = dequantize(%w, %s, %z) : f32[3]\n"
     "%e = cast(%w) {to=f32} : f32[3]\n%a = add(%d, %e) : f32[3]\n%y = add(%x, %a) : f32[3]",
     "the integers of 'w' cannot be trained: they are also read as integers"},
    {"%w = constant u8[3] {1, 2, 3}\n%q = quantize(%x, %s, %z) {to=u8} : u8[3]\n"
     "%c = concat(%w, %q) {axis=0} : u8[6]\n%y = dequantize(%c, %s, %z) : f32[6]",
     "the integers of 'w' cannot be trained: they are joined with what is computed"},
    {"%w = constant u8[3] {1, 2, 3}\n%q = quantize(%x, %s, %z) {to=u8} : u8[3]\n"
     "%c = concat(%q, %w) {axis=0} : u8[6]\n%y = dequantize(%c, %s, %z) : f32[6]",
     "the integers of 'w' cannot be trained: they are joined with what is computed"},
};

/* What is read twice, again and again, is looked at once. */
static void test_shared(void **state) {
  (void)state;
  enum { LEVELS = 20 };
  char body[3072];
  int n = snprintf(body, sizeof body, "%%q0 = quantize(%%x, %%s, %%z) {to=u8} : u8[3]\n");
  for (int i = 0; i < LEVELS; i++)
    n += snprintf(body + n, sizeof body - (size_t)n,
                  "%%c%d = concat(%%q%d, %%q%d) {axis=0} : u8[6]\n%%q%d = slice(%%c%d) "
                  "{starts=[0], sizes=[3], steps=[1]} : u8[3]\n", i, i, i, i + 1, i);
  snprintf(body + n, sizeof body - (size_t)n, "%%y = dequantize(%%q%d, %%s, %%z) : f32[3]", LEVELS);
  wk_quantised q;
  wk_module *m = parse("f32[3]", body);
  assert_null(open_form(m, "", &q));
  assert_int_equal(q.activations, 1);
  assert_int_equal(m->main->nodes.n, 2 * LEVELS + 1);
  wk_quantised_free(&q);
  wk_module_free(m);
}

/* As far as 500 moves back. */
static void test_far(void **state) {
  (void)state;
  for (int moves = 499; moves <= 501; moves++) {
    wk_str text = {0};
    wk_module *m;
    wk_quantised q;
    wk_str_add(&text, "module \"far\" {\n  graph @main(%x: f32[3]) {\n%s = constant f32[] {0.5}\n"
                      "%z = constant u8[] {3}\n%q0 = quantize(%x, %s, %z) {to=u8}\n");
    for (int i = 0; i < moves; i++)
      wk_str_printf(&text, "%%q%d = reshape(%%q%d) {shape=[%s]}\n", i + 1, i, i % 2 ? "3" : "3,1");
    wk_str_printf(&text, "%%y = dequantize(%%q%d, %%s, %%z)\noutput %%y\n}\n}\n", moves);
    assert_null(wk_module_parse(text.s, "far", &m));
    assert_null(open_form(m, "", &q));
    assert_int_equal(q.activations, moves <= 500);
    wk_quantised_free(&q);
    wk_module_free(m);
    wk_str_free(&text);
  }
}

static void test_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(refused); i++) {
    wk_quantised q;
    wk_module *m = parse(strstr(refused[i].body, "[3,3]") ? "f32[3,3]" : "f32[3]", refused[i].body);
    wk_status s = open_form(m, "w", &q);
    assert_non_null(s);
    assert_int_equal(s->code, WK_UNSUPPORTED);
    assert_string_equal(s->message, refused[i].message);
    wk_status_free(s);
    wk_quantised_free(&q);
    wk_module_free(m);
  }
}

/* Parameters of tensors of two shapes of the same elements: do all have the same? */
static const struct {
  const char *of_a, *a, *of_b, *b;
  bool same;
} spreads[] = {
    {"u8[2,3]", "f32[2,1]{1,2}", "u8[6]", "f32[6]{1,1,1,2,2,2}", true},
    {"u8[2,3]", "f32[2,1]{1,2}", "u8[6]", "f32[6]{1,1,1,2,2,1}", false},
    {"u8[2,3]", "f32[2,1]{1,2}", "u8[6]", "f32[6]{1,1,1,1,2,2}", false},
    {"u8[2,3]", "f32[2,1]{1,2}", "u8[6]", "f32[6]{1,1,1,1,1,1}", false},
    {"u8[2,3]", "f32[3]{1,2,3}", "u8[6]", "f32[6]{1,2,3,1,2,3}", true},
    {"u8[2,3]", "f32[1,3]{1,2,3}", "u8[6]", "f32[6]{1,2,3,1,2,4}", false},
    {"u8[2,3]", "f32[2,3]{1,2,3,4,5,6}", "u8[3,2]", "f32[3,2]{1,2,3,4,5,6}", true},
    {"u8[2,3]", "f32[2,3]{1,2,3,4,5,6}", "u8[3,2]", "f32[3,2]{1,2,3,4,5,7}", false},
    {"u8[2,3]", "f32[2,1]{1,2}", "u8[2,3,1]", "f32[2,1,1]{1,2}", true},
    {"u8[2,2]", "f32[2,1]{1,2}", "u8[2,2]", "f32[1,2]{1,2}", false},
    {"u8[2,2]", "f32[2,1]{1,1}", "u8[2,2]", "f32[1,2]{1,1}", true},
    {"u8[2,2,3]", "f32[2,1,3]{1,2,3,4,5,6}", "u8[12]", "f32[12]{1,2,3,1,2,3,4,5,6,4,5,6}", true},
    {"u8[2,2,3]", "f32[2,1,3]{1,2,3,4,5,6}", "u8[12]", "f32[12]{1,2,3,4,5,6,1,2,3,4,5,6}", false},
    {"u8[2,2,3]", "f32[2,1]{1,2}", "u8[4,3]", "f32[4,1]{1,2,1,2}", true},
    {"u8[2,2,3]", "f32[2,1]{1,2}", "u8[4,3]", "f32[4,1]{1,1,2,2}", false},
    {"u8[4]", "u8[]{5}", "u8[4]", "u8[4]{5,5,5,5}", true},
    {"u8[4]", "u8[]{5}", "u8[4]", "u8[4]{5,5,5,6}", false},
    {"u8[4]", "u8[]{5}", "u8[4]", "u8[4]{6,5,5,5}", false},
    {"u8[4]", "u8[]{5}", "u8[9]", "u8[1,1]{5}", true}, /* one for all */
    {"u8[4]", "u8[]{5}", "u8[9]", "u8[1,1]{6}", false},
    {"u8[4]", "u8[4]{5,5,5,5}", "u8[2]", "u8[2]{5,5}", false}, /* not the same elements */
};

static void test_spreads(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(spreads); i++) {
    wk_tensor a = case_tensor(spreads[i].a), b = case_tensor(spreads[i].b);
    const wk_type of_a = case_type(spreads[i].of_a), of_b = case_type(spreads[i].of_b);
    if (wk_same_spread(&a, &of_a, &b, &of_b) != spreads[i].same ||
        wk_same_spread(&b, &of_b, &a, &of_a) != spreads[i].same)
      fail_msg("row %zu: %s and %s", i, spreads[i].a, spreads[i].b);
    wk_tensor_free(&a);
    wk_tensor_free(&b);
  }
}

/* What integers of at most 32 bits hold; others are no codes. */
static void test_integers(void **state) {
  (void)state;
  static const struct { wk_dtype t; double lo, hi; } rows[] = {
      {WK_I2, -2, 1}, {WK_U2, 0, 3}, {WK_I4, -8, 7}, {WK_U4, 0, 15}, {WK_I8, -128, 127},
      {WK_U8, 0, 255}, {WK_I16, -32768, 32767}, {WK_U16, 0, 65535},
      {WK_I32, -2147483648.0, 2147483647.0}, {WK_U32, 0, 4294967295.0}};
  for (int t = 1; t < WK_DTYPE_COUNT; t++) {
    double lo = 5, hi = 5;
    const double *want = NULL;
    for (size_t i = 0; i < WK_COUNTOF(rows); i++)
      if ((int)rows[i].t == t) want = &rows[i].lo;
    if (wk_integer_limits((wk_dtype)t, &lo, &hi) != (want != NULL))
      fail_msg("%s", wk_dtype_name((wk_dtype)t));
    if (want) assert_true(lo == want[0] && hi == want[1]);
  }
}

/* Where the floats of weights do not fit, it is said so, wherever the room ends. */
static void test_room(void **state) {
  (void)state;
  int refusals = 0;
  for (size_t i = 0; i < WK_COUNTOF(forms); i++) {
    bool fits = false;
    for (int64_t room = 0; room <= 128; room += 2) {
      wk_quantised q;
      wk_module *m = parse(forms[i].x, forms[i].body);
      m->constant_bytes_left = room;
      wk_status s = open_form(m, forms[i].w, &q);
      if (s) assert_int_equal(s->code, WK_RESOURCE);
      if (s && fits) fail_msg("%s, %d bytes: %s", forms[i].name, (int)room, s->message);
      fits = !s;
      refusals += !fits;
      wk_status_free(s);
      wk_quantised_free(&q);
      wk_module_free(m);
    }
    assert_true(fits);
  }
  assert_true(refusals > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forms), cmocka_unit_test(test_round),
      cmocka_unit_test(test_round_saturates), cmocka_unit_test(test_shared),
      cmocka_unit_test(test_far),
      cmocka_unit_test(test_refused), cmocka_unit_test(test_spreads),
      cmocka_unit_test(test_room), cmocka_unit_test(test_integers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
