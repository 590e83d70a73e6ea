/* SPDX-License-Identifier: Apache-2.0
 * Passes on programs: which copies, stores and buffers go, and which nearly could. What programs
 * compute stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/lower/inst.h"
#include "tests/random_graph.h"
#include "tests/unit/middle.h"

#define HEAD                                                                                  \
  "program \"p\" { buffer input 0 %x : f32[4]  buffer input 1 %c : bool[]\n"                  \
  "buffer output 0 %y : f32[4]  buffer output 1 %z : f32[8]\n"                                \
  "buffer act %a : 16 buffer act %b : 16 buffer act %d : 16 buffer act %w : 32 buffer act %n : 8\n"

#define ON(name) "%" name "[4]:f32"
#define NEG(out, in) "map(@out " ON(out) "; @in " ON(in) "){body=\"neg(%0)\"}\n"
#define EXP(out, in) "map(@out " ON(out) "; @in " ON(in) "){body=\"exp(%0)\"}\n"
#define ADD(out, in, too)                                                                     \
  "map(@out " ON(out) "; @in " ON(in) ", @in " ON(too) "){body=\"add(%0, %1)\"}\n"
#define COPY(out, in) "copy(@out " ON(out) "; @in " ON(in) ")\n"
#define FIRST "copy(@out %z[4]:f32; @in %x[4]:f32)\n"
#define REST NEG("y", "x")
#define ALL FIRST "copy(@out %z[4]:f32 +16; @in %x[4]:f32)\n" /* of z */

/* left: instructions with the buffers that they write and read; bodies in braces. */
typedef struct { const char *body, *left; } pass_case;

static const pass_case sinking[] = {
    {NEG("a", "x") COPY("y", "a") ALL, "neg y x, copy z x, copy z x"},
    {NEG("a", "x") EXP("b", "a") COPY("y", "a") "copy(@out %z[4]:f32; @in %b[4]:f32)\n"
     "copy(@out %z[4]:f32 +16; @in %x[4]:f32)\n",
     "neg y x, exp z y, copy z x"},
    {"map(@out %a[4]:f32; @in %x[4]:f32){body=\"neg(%0)\"}\n"
     "copy(@out %z[4]:f32 *(2); @in %a[4]:f32)\ncopy(@out %z[4]:f32 +4 *(2); @in %x[4]:f32)\n"
     REST, "neg z x, copy z x, neg y x"},
    /* read by another shape, where all of it lies as it does there */
    {NEG("a", "x") "map(@out %b[2]:f32; @in %a[2]:f32){body=\"exp(%0)\"}\n" COPY("y", "a")
     "copy(@out %z[2]:f32; @in %b[2]:f32)\ncopy(@out %z[6]:f32 +8; @in %w[6]:f32)\n",
     "neg y x, exp z y, copy z w"},
    /* read behind the copy; by another shape; no producer, two, one that is the caller's */
    {NEG("a", "x") COPY("y", "a") EXP("b", "a") "copy(@out %z[4]:f32; @in %b[4]:f32)\n"
     "copy(@out %z[4]:f32 +16; @in %x[4]:f32)\n", "neg a x, copy y a, exp z a, copy z x"},
    {NEG("a", "x") "map(@out %b[2]:f32; @in %a[2]:f32){body=\"exp(%0)\"}\n"
     "copy(@out %z[4]:f32 *(2); @in %a[4]:f32)\ncopy(@out %z[4]:f32 +4 *(2); @in %x[4]:f32)\n"
     "copy(@out %y[2]:f32; @in %b[2]:f32)\ncopy(@out %y[2]:f32 +8; @in %b[2]:f32)\n",
     "neg a x, exp b a, copy z a, copy z x, copy y b, copy y b"},
    {NEG("a", "x") "copy(@out %y[3]:f32; @in %a[3]:f32)\n"
     "copy(@out %y[1]:f32 +12; @in %x[1]:f32)\n" ALL,
     "neg a x, copy y a, copy y x, copy z x, copy z x"},
    {NEG("a", "x") EXP("a", "x") COPY("y", "a") ALL,
     "neg a x, exp a x, copy y a, copy z x, copy z x"},
    {COPY("y", "x") ALL, "copy y x, copy z x, copy z x"},
    /* the destination touched in between: read or written */
    {NEG("a", "x") FIRST "copy(@out %z[4]:f32; @in %a[4]:f32)\n"
     "copy(@out %z[4]:f32 +16; @in %x[4]:f32)\n" REST,
     "neg a x, copy z x, copy z a, copy z x, neg y x"},
    {NEG("b", "x") NEG("a", "x") ADD("y", "b", "a") COPY("b", "a") EXP("d", "b") ALL,
     "neg b x, neg a x, add y b a, copy b a, exp d b, copy z x, copy z x"},
    /* the producer reads the destination: element by element, at the same place, or not */
    {NEG("b", "x") ADD("a", "x", "b") COPY("b", "a") EXP("y", "b") ALL,
     "neg b x, add b x b, exp y b, copy z x, copy z x"},
    {NEG("b", "x") "map(@out %a[4]:f32; @in %x[4]:f32, @in %b[4]:f32 +12 *(-1))"
     "{body=\"add(%0, %1)\"}\n" COPY("b", "a") EXP("y", "b") ALL,
     "neg b x, add a x b, copy b a, exp y b, copy z x, copy z x"},
    {NEG("b", "x") "cum_sum(@out %a[4]:f32; @in %b[4]:f32){axis=0}\n" COPY("b", "a") EXP("y", "b")
     ALL, "neg b x, cum_sum a b, copy b a, exp y b, copy z x, copy z x"},
    /* the copy repeats what it reads */
    {"map(@out %n[1]:f32; @in %x[1]:f32){body=\"neg(%0)\"}\n"
     "copy(@out %y[4]:f32; @in %n[4]:f32 *(0))\n" ALL,
     "neg n x, copy y n, copy z x, copy z x"},
    /* in loops: within one body, not across its border, not with a step of another depth */
    {"loop(; -, -){trip=2, n_state=0} do {\n" NEG("a", "x") COPY("y", "a") "}\n" ALL,
     "loop {neg y x}, copy z x, copy z x"},
    {NEG("a", "x") "loop(; -, -){trip=2, n_state=0} do {\n" COPY("y", "a") "}\n" ALL,
     "neg a x, loop {copy y a}, copy z x, copy z x"},
    {"loop(; -, -){trip=2, n_state=0} do {\n" NEG("a", "x")
     "copy(@out %z[4]:f32 step 16; @in %a[4]:f32)\n}\n" REST, "loop {neg z x}, neg y x"},
    {"if(; @in %c[]:bool) then {\n" NEG("a", "x") COPY("y", "a") "} else {\n" EXP("b", "x")
     COPY("y", "b") "}\n" ALL, "if c {neg y x} {exp y x}, copy z x, copy z x"},
    {"if(; @in %c[]:bool) then {\n" NEG("a", "x") "} else {\n" COPY("y", "a") "}\n" ALL,
     "if c {neg a x} {copy y a}, copy z x, copy z x"}};

static const pass_case dead[] = {
    {NEG("a", "x") REST ALL, "neg y x, copy z x, copy z x"},
    {NEG("a", "x") EXP("b", "a") REST ALL, "neg y x, copy z x, copy z x"},
    {NEG("a", "x") EXP("y", "a") ALL, "neg a x, exp y a, copy z x, copy z x"},
    {"map(@out %a[4]:f32, @out %b[4]:f32; @in %x[4]:f32){body=\"neg(%0), exp(%0)\"}\n"
     EXP("y", "b") ALL, "map a b x, exp y b, copy z x, copy z x"},
    {"map(@out %a[4]:f32, @out %b[4]:f32; @in %x[4]:f32){body=\"neg(%0), exp(%0)\"}\n" REST ALL,
     "neg y x, copy z x, copy z x"},
    {"loop(; -, -){trip=2, n_state=0} do {\n" NEG("a", "x") "}\n" REST ALL,
     "neg y x, copy z x, copy z x"},
    {"loop(; -, -){trip=2, n_state=0} do {\n" NEG("a", "x") EXP("b", "x") "}\n" EXP("y", "a") ALL,
     "loop {neg a x}, exp y a, copy z x, copy z x"},
    {"if(; @in %c[]:bool) then {\n" NEG("a", "x") "} else {\n" EXP("a", "x") "}\n" REST ALL,
     "neg y x, copy z x, copy z x"},
    {"if(; @in %c[]:bool) then {\n" NEG("y", "x") "} else {\n" EXP("a", "x") "}\n" ALL,
     "if c {neg y x} {}, copy z x, copy z x"},
    {"if(; @in %c[]:bool) then {\n" EXP("a", "x") "} else {\n" NEG("y", "x") "}\n" ALL,
     "if c {} {neg y x}, copy z x, copy z x"}};

static const pass_case in_place[] = {
    {NEG("a", "x") EXP("b", "a") EXP("y", "b") ALL,
     "neg a x, exp a a, exp y a, copy z x, copy z x"},
    {NEG("a", "x") NEG("b", "x") ADD("d", "a", "b") EXP("y", "d") ALL,
     "neg a x, neg b x, add a a b, exp y a, copy z x, copy z x"},
    {NEG("a", "x") ADD("b", "a", "a") EXP("y", "b") ALL,
     "neg a x, add a a a, exp y a, copy z x, copy z x"},
    {NEG("a", "x") ADD("b", "x", "a") EXP("y", "b") ALL,
     "neg a x, add a x a, exp y a, copy z x, copy z x"},
    /* read again later; the caller's; elsewhere in the buffer; of another size; in a fold */
    {NEG("a", "x") EXP("b", "a") ADD("y", "b", "a") ALL,
     "neg a x, exp b a, add y b a, copy z x, copy z x"},
    {EXP("b", "x") EXP("y", "b") ALL, "exp b x, exp y b, copy z x, copy z x"},
    {NEG("a", "x") "map(@out %b[4]:f32; @in %a[4]:f32 +12 *(-1)){body=\"exp(%0)\"}\n" EXP("y", "b")
     ALL, "neg a x, exp b a, exp y b, copy z x, copy z x"},
    {NEG("a", "x") "map(@out %b[4]:f32; @in %a[4]:f32, @in %a[4]:f32 +12 *(-1))"
     "{body=\"add(%0, %1)\"}\n" EXP("y", "b") ALL,
     "neg a x, add b a a, exp y b, copy z x, copy z x"},
    {NEG("a", "x") "map(@out %n[2]:f32; @in %a[2]:f32){body=\"exp(%0)\"}\n"
     "copy(@out %y[2]:f32; @in %n[2]:f32)\ncopy(@out %y[2]:f32 +8; @in %x[2]:f32)\n" ALL,
     "neg a x, exp n a, copy y n, copy y x, copy z x, copy z x"},
    {NEG("a", "x") "map(@out %w[4]:f32; @in %a[4]:f32){body=\"exp(%0)\"}\n"
     "copy(@out %y[4]:f32; @in %w[4]:f32)\n" ALL,
     "neg a x, exp w a, copy y w, copy z x, copy z x"},
    {NEG("a", "x") "cum_sum(@out %b[4]:f32; @in %a[4]:f32){axis=0}\n" EXP("y", "b") ALL,
     "neg a x, cum_sum b a, exp y b, copy z x, copy z x"},
    /* what a loop reads each time is not dead after the first; what is made within it may be */
    {NEG("a", "x") "loop(; -, -){trip=2, n_state=0} do {\n" EXP("b", "a") COPY("y", "b") "}\n" ALL,
     "neg a x, loop {exp b a, copy y b}, copy z x, copy z x"},
    {"loop(; -, -){trip=2, n_state=0} do {\n" NEG("a", "x") EXP("b", "a") COPY("y", "b") "}\n" ALL,
     "loop {neg a x, exp a a, copy y a}, copy z x, copy z x"}};

/* ---- as text --------------------------------------------------------------------------------- */

static void add_block(wk_str *b, const wk_program *p, const wk_block *block) {
  for (size_t i = 0; i < block->insts.n; i++) {
    const wk_inst *inst = block->insts.data[i];
    const wk_expr *e = inst->op == WK_OP_MAP ? ((const wk_attr_map *)inst->attrs)->body : NULL;
    const char *name = e && e->n_results == 1 ? wk_expr_op_name(e->nodes[e->results[0]].op)
                                              : wk_op_get(inst->op)->name;
    wk_str_printf(b, "%s%s", i ? ", " : "", name);
    for (uint32_t k = 0; k < inst->n_operands; k++)
      if (inst->operands[k].buffer != WK_NONE)
        wk_str_printf(b, " %s", p->buffers.data[inst->operands[k].buffer].name);
    for (uint32_t k = 0; k < inst->n_bodies; k++) {
      wk_str_add(b, " {");
      add_block(b, p, &inst->bodies[k]);
      wk_str_add(b, "}");
    }
  }
}

static wk_tensor *outputs(const wk_program *p, const char *step, wk_str *why) {
  wk_tensor *in = wk_xcalloc(p->inputs.n + 1, sizeof *in);
  for (size_t i = 0; i < p->inputs.n; i++) {
    assert_null(wk_tensor_alloc(&p->inputs.data[i].type, &in[i]));
    for (int64_t k = 0; k < wk_type_count(&in[i].type); k++)
      wk_store_i64(in[i].data, in[i].type.dtype, k, k + 1 - 2 * (int64_t)i);
  }
  wk_tensor *out = middle_eval_program(p, in, step, why);
  middle_free(in, p->inputs.n);
  return out;
}

static void check(const char *pass, const pass_case *c, size_t n) {
  int bad = 0;
  for (size_t i = 0; i < n; i++) {
    wk_str text = {0}, got = {0}, why = {0};
    wk_program *p;
    int64_t changes = 0;
    wk_arena *scratch = wk_arena_new();
    wk_str_printf(&text, "%s%s}", HEAD, c[i].body);
    wk_status s = wk_program_parse(text.s, "t", &p);
    if (s) fail_msg("%s: %s: %s", c[i].body, s->place ? s->place : "", s->message);
    bool reads_all = !strstr(c[i].body, "@in %w[6]"); /* what nobody has written */
    wk_tensor *want = reads_all ? outputs(p, "before", &why) : NULL;
    for (size_t k = 0; k < wk_inst_passes_count; k++)
      if (!strcmp(wk_inst_passes[k].name, pass))
        assert_null(wk_inst_passes[k].run(p, scratch, &changes));
    s = wk_program_verify(p);
    if (s) fail_msg("%s: %s", c[i].body, s->message);
    add_block(&got, p, &p->body);
    bool same = !reads_all ||
                middle_same(outputs(p, pass, &why), want, p->outputs.n, 0, pass, &why);
    if (!same || strcmp(got.s, c[i].left)) {
      print_error("%s, case %zu: %s  left: %s\n  want: %s\n  %s\n", pass, i, c[i].body, got.s,
                  c[i].left, why.n ? why.s : "");
      bad++;
    }
    middle_free(want, p->outputs.n);
    wk_program_free(p);
    wk_arena_free(scratch);
    wk_str_free(&text);
    wk_str_free(&got);
    wk_str_free(&why);
  }
  assert_int_equal(bad, 0);
}

static void test_sinking(void **state) {
  (void)state;
  check("sink-copies", sinking, WK_COUNTOF(sinking));
}

static void test_dead(void **state) {
  (void)state;
  check("dead-stores", dead, WK_COUNTOF(dead));
}

static void test_in_place(void **state) {
  (void)state;
  check("in-place", in_place, WK_COUNTOF(in_place));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sinking), cmocka_unit_test(test_dead),
                                     cmocka_unit_test(test_in_place)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
