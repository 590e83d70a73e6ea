/* SPDX-License-Identifier: Apache-2.0
 * Functions of one byte as one table: which are composed, and every byte gives what it gave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/integer/rules.h"
#include "compiler/passes/passes.h"

enum { BYTES = 256 };

static const wk_pass step = {.name = "compose", .run = wk_integer_compose_graph};

/* Tables %t of i8 and %u of u8 that are no functions one could write down. */
static void add_table(wk_str *b, const char *name, int least, int factor) {
  wk_str_printf(b, "%%%s = constant %s[256] {", name, least ? "i8" : "u8");
  for (int i = 0; i < BYTES; i++)
    wk_str_printf(b, "%s%d", i ? "," : "", least + (i * factor + i * i / 7) % BYTES);
  wk_str_add(b, "}\n");
}

static wk_module *module_of(const char *inputs, const char *body) {
  wk_module *m = NULL;
  wk_str text = {0};
  wk_str_printf(&text, "module \"t\" {\ngraph @main(%s) {\n", inputs);
  add_table(&text, "t", -128, 37);
  add_table(&text, "u", 0, 91);
  wk_str_printf(&text, "%%k = constant i32[] {3}\n%s}\n}\n", body);
  wk_status s = wk_module_parse(text.s, "t", &m);
  if (!s) s = wk_module_normalise(m);
  if (s) fail_msg("%s: %s: %s", s->place ? s->place : "", s->message, text.s);
  wk_str_free(&text);
  return m;
}

#define U "%x: u8[256], %z: u8[256]"
#define S "%x: i8[256], %z: i8[256]"
#define LOOK(y, table, x) "%" y " = gather(%" table ", %" x ") {axis=0}\n"
#define MAP(y, body, ...) "%" y " = map(" __VA_ARGS__ ") {body=\"" body "\"}\n"
#define PRODUCT "sat<u8>(shr_round(mul(sub(i32(%0), 9i32), sub(i32(%1), 5i32)), 6i32))"
#define SCALED "sat<u8>(shr_round(mul(sub(i32(%0), 9i32), 3i32), 2i32))"

static const struct {
  int gathers, maps; /* that are left */
  const char *inputs, *body;
} cases[] = {
    /* one behind the other: signs of bytes, maps before and behind, numbers of their own */
    {1, 0, U, LOOK("a", "u", "x") LOOK("b", "u", "a") "output %b\n"},
    {1, 0, U, LOOK("a", "t", "x") LOOK("b", "u", "a") LOOK("c", "t", "b") "output %c\n"},
    {1, 0, S, LOOK("a", "t", "x") LOOK("b", "t", "a") "output %b\n"},
    {1, 0, U, MAP("a", SCALED, "%x") LOOK("b", "t", "a") "output %b\n"},
    {1, 0, S, LOOK("a", "t", "x") MAP("b", SCALED, "%a") "output %b\n"},
    {1, 0, U, LOOK("a", "u", "x") MAP("b", "sat<i8>(mul(i32(%0), %1))", "%a, %k") "output %b\n"},
    /* meeting again */
    {1, 0, U, LOOK("a", "u", "x") MAP("b", PRODUCT, "%x, %a") "output %b\n"},
    {1, 0, U, LOOK("a", "u", "x") MAP("b", PRODUCT, "%a, %x") "output %b\n"},
    {1, 0, S, LOOK("a", "t", "x") MAP("b", PRODUCT, "%a, %x") LOOK("c", "u", "b") "output %c\n"},
    {1, 0, U, LOOK("a", "u", "x") LOOK("b", "t", "x") MAP("c", PRODUCT, "%a, %b") "output %c\n"},
    {1, 0, U, MAP("a", SCALED, "%x") MAP("b", PRODUCT, "%x, %a") "output %b\n"},
    {1, 0, U, MAP("b", PRODUCT, "%x, %x") LOOK("c", "t", "b") "output %c\n"},
    {1, 0, U, LOOK("a", "u", "x") MAP("b", PRODUCT, "%x, %a") MAP("c", PRODUCT, "%b, %x")
              "output %c\n"},
    /* what others read stays */
    {2, 0, U, LOOK("a", "u", "x") MAP("b", PRODUCT, "%x, %a") "output %b\noutput %a\n"},
    {2, 0, U, LOOK("a", "u", "x") LOOK("b", "u", "a") "output %b\noutput %a\n"},
    /* two tensors, maps alone, other shapes, reals, positions, a table that is none */
    {1, 1, U, LOOK("a", "u", "x") MAP("b", PRODUCT, "%z, %a") "output %b\n"},
    {0, 2, U, MAP("a", SCALED, "%x") MAP("b", SCALED, "%a") "output %b\n"},
    {0, 1, U, MAP("b", PRODUCT, "%x, %x") "output %b\n"},
    {1, 1, "%x: u8[256], %z: u8[2,256]",
     LOOK("a", "u", "x") "%y = expand(%x) {shape=[2,256]}\n" MAP("b", PRODUCT, "%y, %a")
     "output %b\n"},
    {1, 1, U, LOOK("a", "u", "x") MAP("b", "u8(f32(%0))", "%a") "output %b\n"},
    {1, 1, U, LOOK("a", "u", "x") MAP("b", "u8(add(i64(%0), index<0>()))", "%a") "output %b\n"},
    {2, 0, U, "%w = constant u8[300] splat(7)\n" LOOK("a", "w", "x") LOOK("b", "u", "a")
              "output %b\n"},
};

static wk_tensor *all_bytes(const wk_graph *g) {
  wk_tensor *in = wk_xcalloc(g->inputs.n, sizeof *in);
  for (size_t k = 0; k < g->inputs.n; k++) {
    const wk_type *t = &wk_val(g, g->inputs.data[k])->type;
    assert_null(wk_tensor_alloc(t, &in[k]));
    for (int64_t i = 0; i < wk_type_count(t); i++)
      ((uint8_t *)in[k].data)[i] = (uint8_t)(k ? 37 * i + 11 : i);
  }
  return in;
}

static int count(const wk_graph *g, wk_op op) {
  int n = 0;
  for (size_t i = 0; i < g->nodes.n; i++)
    n += !g->nodes.data[i].dead && g->nodes.data[i].op == op;
  return n;
}

static void same_outputs(const wk_graph *was, const wk_graph *is, const char *body) {
  wk_tensor *in = all_bytes(was), want[2], got[2];
  memset(want, 0, sizeof want);
  memset(got, 0, sizeof got);
  assert_null(wk_eval_graph(was, in, want, NULL, NULL));
  assert_null(wk_eval_graph(is, in, got, NULL, NULL));
  for (size_t i = 0; i < was->outputs.n; i++) {
    if (!wk_type_equal(&want[i].type, &got[i].type) ||
        memcmp(want[i].data, got[i].data, (size_t)wk_type_bytes(&want[i].type)))
      fail_msg("output %zu differs: %s", i, body);
    wk_tensor_free(&want[i]);
    wk_tensor_free(&got[i]);
  }
  for (size_t k = 0; k < was->inputs.n; k++) wk_tensor_free(&in[k]);
  free(in);
}

static void one_table(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_module *m = module_of(cases[i].inputs, cases[i].body), *was = wk_module_clone(m);
    int64_t changes = 0;
    assert_null(wk_pass_run_one(m, &step, NULL, &changes));
    int gathers = count(m->main, WK_OP_GATHER), maps = count(m->main, WK_OP_MAP);
    if (gathers != cases[i].gathers || maps != cases[i].maps)
      fail_msg("%d tables, %d maps: %s", gathers, maps, cases[i].body);
    same_outputs(was->main, m->main, cases[i].body);
    wk_module_free(was);
    wk_module_free(m);
  }
}

/* x times what is quantised of its sigmoid, as quantisers leave SiLU: as much as SiLU itself. */
static void gates_in_pieces(void **state) {
  static const char *const body =
      "%s = constant f32[] {0.05}\n%z0 = constant u8[] {100}\n%p = constant f32[] {0.00392}\n"
      "%o = constant u8[] {0}\n%r = dequantize(%x, %s, %z0)\n%g = sigmoid(%r)\n"
      "%h = quantize(%g, %p, %o) {to=u8}\n%i = dequantize(%h, %p, %o)\n%m = mul(%r, %i)\n"
      "%y = quantize(%m, %s, %z0) {to=u8}\noutput %y\n";
  (void)state;
  wk_module *m = module_of(U, body);
  int64_t changes = 0;
  assert_null(wk_integer_convert(m, &changes));
  assert_int_equal(count(m->main, WK_OP_GATHER), 1);
  assert_int_equal(count(m->main, WK_OP_MAP), 0);
  wk_module_free(m);
}

/* The last of n tables, one in the middle and x meet: far from x, they stay as they are. */
static void long_chains(void **state) {
  (void)state;
  for (int n = 6; n <= 38; n += 4) {
    wk_str b = {0};
    wk_str_add(&b, "%p = constant f32[] {0.0078125}\n%o = constant u8[] {0}\n"
                   "%r0 = dequantize(%x, %p, %o)\n");
    for (int i = 1; i <= n; i++)
      wk_str_printf(&b, "%%g%d = sigmoid(%%r%d)\n%%q%d = quantize(%%g%d, %%p, %%o) {to=u8}\n"
                        "%%r%d = dequantize(%%q%d, %%p, %%o)\n", i, i - 1, i, i, i, i);
    wk_str_printf(&b, "%%m = mul(%%r%d, %%r%d)\n%%s = add(%%m, %%r0)\n"
                      "%%y = quantize(%%s, %%p, %%o) {to=u8}\noutput %%y\n", n, n / 2);
    wk_module *m = module_of(U, b.s), *was = wk_module_clone(m);
    int64_t changes = 0;
    assert_null(wk_integer_convert(m, &changes));
    if (n < 12) assert_int_equal(count(m->main, WK_OP_GATHER), 1);
    same_outputs(was->main, m->main, b.s);
    wk_module_free(was);
    wk_module_free(m);
    wk_str_free(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_table),
                                     cmocka_unit_test(gates_in_pieces),
                                     cmocka_unit_test(long_chains)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
