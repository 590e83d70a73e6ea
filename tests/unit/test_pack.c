/* SPDX-License-Identifier: Apache-2.0
 * Constants of few values: into how many bits they go, and which stay as they are. */
#include "tests/unit/rewrite_case.h"

#define Y "output %y\n"

/* Bytes of the constants that nodes read. */
static int64_t bytes_read(const wk_graph *g) {
  int64_t bytes = 0;
  for (size_t v = 0; v < g->values.n; v++) {
    bool is_read = false;
    for (size_t i = 0; i < g->nodes.n; i++)
      for (uint32_t k = 0; k < g->nodes.data[i].n_in; k++)
        is_read |= g->nodes.data[i].in[k] == v;
    if (is_read && wk_is_const(g, (wk_value_id)v))
      bytes += wk_type_bytes(&wk_val(g, (wk_value_id)v)->type);
  }
  return bytes;
}

/* The pass on a graph, compared with what that computes before. Returns the bytes it reads. */
static int64_t pack(const char *args, const char *body, int64_t want_changes) {
  const rewrite_case c = {args, body, NULL};
  int64_t changes = 0;
  wk_str why = {0};
  wk_module *m = rewrite_module(&c, args);
  wk_tensor *want = rewrite_outputs(&c, m), *got;
  rewrite_must(wk_pass_run_one(m, wk_pass_find("pack-constants"), NULL, &changes), "pack", &c);
  if (changes != want_changes) fail_msg("%.200s\n%lld changes", body, (long long)changes);
  got = rewrite_outputs(&c, m);
  if (!random_same(m->main, got, want, &why)) fail_msg("%.200s\n%s", body, why.s);
  int64_t bytes = bytes_read(m->main);
  random_tensors_free(got, m->main->outputs.n);
  random_tensors_free(want, m->main->outputs.n);
  wk_module_free(m);
  return bytes;
}

/* A constant of n elements: all of them low but the one at `at`, which is high. */
static void add_constant(wk_str *b, const char *name, const char *type, int n, int low, int high,
                         int at) {
  wk_str_printf(b, "%%%s = constant %s {", name, type);
  for (int i = 0; i < n; i++) wk_str_printf(b, "%s%d", i ? "," : "", i == at ? high : low);
  wk_str_add(b, "}\n");
}

/* How many bits do they get? 8 and more: as before. */
static void takes(const char *dtype, int low, int high, int bits) {
  static const int places[] = {0, 1, 511, 1022, 1023};
  for (size_t i = 0; i < WK_COUNTOF(places); i++) {
    wk_str b = {0}, type = {0};
    wk_str_printf(&type, "%s[1024]", dtype);
    add_constant(&b, "k", type.s, 1024, low, high, places[i]);
    wk_str_add(&b, "%y = map(%x, %k) {body=\"mul(%0, f32(%1))\"}\n" Y);
    int64_t bytes = pack("%x: f32[1024]", b.s, bits < 8);
    int64_t want = 1024 * bits / 8 + (bits < 8 ? 8 / bits : 0); /* a shift for each place */
    if (bytes != want) fail_msg("%s %d and %d: %lld bytes", dtype, low, high, (long long)bytes);
    wk_str_free(&b);
    wk_str_free(&type);
  }
}

static void test_ranges(void **state) {
  (void)state;
  takes("u8", 0, 0, 2);
  takes("u8", 0, 3, 2);
  takes("u8", 0, 4, 4);
  takes("u8", 0, 15, 4);
  takes("u8", 0, 16, 8);
  takes("u8", 15, 0, 4);
  takes("u8", 16, 0, 8);
  takes("u8", 255, 252, 2);
  takes("u8", 255, 251, 4);
  takes("u8", 240, 255, 4);
  takes("u8", 239, 255, 8);
  takes("u8", 126, 129, 2);
  takes("i8", -128, -125, 2);
  takes("i8", -128, -124, 4);
  takes("i8", -128, -113, 4);
  takes("i8", -128, -112, 8);
  takes("i8", 127, 124, 2);
  takes("i8", 127, 112, 4);
  takes("i8", 127, 111, 8);
  takes("i8", -2, 1, 2);
  takes("i8", -8, 7, 4);
  takes("i8", -8, 8, 8);
  takes("i8", -1, -1, 2);
  takes("i16", 0, 1, 16);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

typedef struct {
  const char *args, *body;
  int64_t changes, bytes; /* read afterwards */
} shape_case;

#define K(type) "%k = constant " type " splat(3)\n"
#define MUL "%y = map(%x, %k) {body=\"mul(%0, f32(%1))\"}\n" Y
#define AS(type, of) {"%x: f32" of, K(type of) MUL

static const shape_case shapes[] = {
    AS("u8", "[1024]"), 1, 256 + 4},
    AS("u8", "[1023]"), 0, 1023},
    AS("u8", "[1025]"), 0, 1025},
    AS("u8", "[1026]"), 0, 1026},
    AS("u8", "[33,32]"), 1, 264 + 4},
    AS("u8", "[3,4,87]"), 1, 261 + 4},
    AS("u8", "[1,1,1,1,1,1,1028]"), 1, 257 + 4},
    AS("u8", "[1,1,1,1,1,1,1,1028]"), 0, 1028}, /* there is no rank of nine */
    AS("i4", "[1026]"), 1, 513 + 2},
    AS("u4", "[1027]"), 0, 1027},
    {"%x: f32[1028]", "%k = constant i2[1028] splat(-2)\n" MUL, 1, 257 + 4},
    AS("u2", "[1026]"), 0, 1026},
    AS("f4e2m1fn", "[1026]"), 1, 513 + 2},
    AS("f8e4m3fn", "[1024]"), 0, 1024},
    {"%x: f32[1024]", "%k = constant bool[1024] splat(1)\n" MUL, 0, 1024},
    /* the map repeats it; other operands repeat along it, or are as wide */
    {"%x: f32[2,1024]", K("u8[1024]") MUL, 0, 1024},
    {"%x: f32[1,1024]", K("u8[1024]") MUL, 1, 256 + 4},
    {"%x: f32[32]", K("u8[32,32]") MUL, 1, 256 + 4},
    {"%x: f32[32,1]", K("u8[32,32]") MUL, 1, 256 + 4},
    {"%x: f32[]", K("u8[32,32]") MUL, 1, 256 + 4},
    {"%x: f32[32,32], %z: f32[1,32]", K("u8[32,32]")
     "%y = map(%x, %k, %z) {body=\"add(mul(%0, f32(%1)), %2)\"}\n" Y, 1, 256 + 4},
    {"%x: f32[32,32]", K("u8[32,32]") "%h = constant i8[32,1] splat(9)\n"
     "%y = map(%x, %k, %h) {body=\"add(mul(%0, f32(%1)), f32(%2))\"}\n" Y, 1, 256 + 4 + 8},
    {"%x: f32[32,32]", K("u8[32,32]") "%h = constant i4[32,1] splat(5)\n"
     "%y = map(%x, %k, %h) {body=\"add(mul(%0, f32(%1)), f32(%2))\"}\n" Y, 1, 256 + 4 + 32},
    {"%x: f32[32,32]", K("u8[32,32]") "%h = constant u8[1,32] splat(9)\n"
     "%y = map(%x, %k, %h) {body=\"add(mul(%0, f32(%1)), f32(%2))\"}\n" Y, 1, 256 + 4 + 32},
    /* others read it; what it is reshaped from; where it is; maps with a place in them */
    {"%x: f32[1024]", K("u8[1024]") MUL "output %k\n", 0, 1024},
    {"%x: f32[1024]", K("u8[1024]") "%a = map(%k) {body=\"not(%0)\"}\noutput %a\n" MUL, 0, 1024},
    {"%x: f32[1024]", "public " K("u8[1024]") MUL, 0, 1024},
    {"%x: f32[32,32]", "%h = constant u8[1024] splat(3)\n%k = reshape(%h) {shape=[32,32]}\n" MUL, 1,
     256 + 4},
    {"%x: f32[32,32]", "%h = constant u8[1024] splat(3)\n%k = reshape(%h) {shape=[32,32]}\n" MUL
     "output %h\n", 0, 1024},
    {"%x: f32[32,32]", "%h = constant u8[1024] splat(3)\n%k = reshape(%h) {shape=[32,32]}\n" MUL
     "output %k\n", 0, 1024},
    {"%x: f32[1024]", K("u8[1024]")
     "%y = map(%x, %k) {body=\"add(mul(%0, f32(%1)), f32(index<0>()))\"}\n" Y, 0, 1024},
    {"%x: f32[1024]", K("u8[1024]") "%y = map(%k, %x) {body=\"mul(%1, f32(%0))\"}\n" Y, 1,
     256 + 4},
    {"%x: f32[1024], %p: bool[1024]", K("u8[1024]")
     "%y = map(%x, %k) {body=\"mul(%0, f32(%1))\"} when %p\n" Y, 0, 1024}};

static void test_shapes(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(shapes); i++) {
    const shape_case *c = &shapes[i];
    int64_t bytes = pack(c->args, c->body, c->changes);
    if (bytes != c->bytes) fail_msg("case %zu: %lld bytes\n%s", i, (long long)bytes, c->body);
  }
}

/* Every element comes out where it was: contents that differ, along an axis with others before and
 * behind it. */
static void test_contents(void **state) {
  static const struct { const char *type, *of; int n, low, count; } rows[] = {
      {"u8", "[1024]", 1024, 3, 4},      {"u8", "[33,32]", 1056, 250, 4},
      {"u8", "[32,33]", 1056, 0, 4},     {"u8", "[3,4,87]", 1044, 100, 4},
      {"i8", "[5,2,3,36]", 1080, -9, 4}, {"i8", "[32,33]", 1056, -128, 16},
      {"u8", "[3,2,175]", 1050, 17, 16}, {"i4", "[3,2,175]", 1050, -8, 16},
      {"u4", "[32,33]", 1056, 0, 16},    {"u2", "[3,4,87]", 1044, 0, 4}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_str b = {0}, args = {0};
    wk_rng g = {i + 1};
    wk_str_printf(&args, "%%x: f32%s", rows[i].of);
    wk_str_printf(&b, "%%k = constant %s%s {", rows[i].type, rows[i].of);
    for (int k = 0; k < rows[i].n; k++)
      wk_str_printf(&b, "%s%d", k ? "," : "",
                    rows[i].low + (int)wk_rng_range(&g, 0, rows[i].count - 1));
    wk_str_add(&b, "}\n" MUL);
    pack(args.s, b.s, 1);
    wk_str_free(&b);
    wk_str_free(&args);
  }
}

/* Twelve operands may be looked at, and 160 nodes of an expression. */
static void widths(int operands, int nodes, int64_t changes) {
  wk_str args = {0}, b = {0};
  for (int i = 0; i < operands - 1; i++)
    wk_str_printf(&args, "%s%%x%d: f32[1024]", i ? ", " : "", i);
  wk_str_add(&b, K("u8[1024]") "%y = map(%k");
  for (int i = 0; i < operands - 1; i++) wk_str_printf(&b, ", %%x%d", i);
  wk_str_add(&b, ") {body=\"");
  int left = nodes - operands - 1 - (operands - 1); /* of each operand: itself and a sum */
  for (int i = 0; i < left; i++) wk_str_add(&b, "sin(");
  for (int i = 1; i < operands; i++) wk_str_add(&b, "add(");
  wk_str_add(&b, "f32(%0)");
  for (int i = 1; i < operands; i++) wk_str_printf(&b, ", %%%d)", i);
  for (int i = 0; i < left; i++) wk_str_add(&b, ")");
  wk_str_add(&b, "\"}\n" Y);
  pack(args.s, b.s, changes);
  wk_str_free(&args);
  wk_str_free(&b);
}

static void test_widths(void **state) {
  (void)state;
  widths(12, 40, 1);
  widths(13, 40, 0);
  widths(2, 160, 1);
  widths(2, 161, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges), cmocka_unit_test(test_shapes),
                                     cmocka_unit_test(test_contents),
                                     cmocka_unit_test(test_widths)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
