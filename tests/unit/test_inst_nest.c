/* SPDX-License-Identifier: Apache-2.0
 * Which neighbouring folds and maps become one nest, which nearly do, and what of their buffers
 * becomes scratch of one position. What programs compute stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/lower/inst.h"
#include "tests/random_graph.h"
#include "tests/unit/middle.h"

#define HEAD                                                                                   \
  "program \"p\" { buffer input 0 %x : f32[3,4]  buffer input 1 %c : bool[]\n"                 \
  "buffer output 0 %y : f32[3,4]  buffer output 1 %z : f32[3]\n"                               \
  "buffer act %m : 12 buffer act %n : 16 buffer act %r : 8 buffer act %e : 48\n"               \
  "buffer act %f : 48 buffer act %i : 24\n"

#define Z "copy(@out %z[3]:f32; @in %x[3]:f32)\n" /* where it is not what matters */
#define FULL(b) "%" b "[3,4]:f32"
#define ROWS(b) "%" b "[3,4]:f32 *(1,0)"
#define TURNED(b) "%" b "[3,4]:f32 *(1,3)"
#define SUM(out, in) "reduce(@out " ROWS(out) "; @in " FULL(in) "){axes=[1]}\n"
#define EXP(out, in) "map(@out " FULL(out) "; @in " FULL(in) "){body=\"exp(%0)\"}\n"
#define SUB(out, in, row) \
  "map(@out " FULL(out) "; @in " FULL(in) ", @in " ROWS(row) "){body=\"sub(%0, %1)\"}\n"

/* left: instructions with the buffers that they write and read; nests with their outer axes and the
 * dims that they run over; what is scratch then, with its bytes. */
typedef struct { const char *body, *left; } nest_case;

static const nest_case cases[] = {
    {Z SUM("m", "x") SUB("y", "x", "m"), "copy z x, nest 1 [3,4] {reduce m x, sub y x m} m 4"},
    {Z EXP("e", "x") SUM("m", "e") SUB("y", "e", "m"),
     "copy z x, nest 1 [3,4] {exp e x, reduce m e, sub y e m} e 16 m 4"},
    {SUM("m", "x") SUB("y", "x", "m")
     "reduce(@out %z[3,4]:f32 *(1,0); @in %y[3,4]:f32){axes=[1]}\n",
     "nest 1 [3,4] {reduce m x, sub y x m, reduce z y} m 4"},
    /* the caller's; read behind the nest; written before it */
    {"reduce(@out %z[3,4]:f32 *(1,0); @in %x[3,4]:f32){axes=[1]}\n" SUB("y", "x", "z"),
     "nest 1 [3,4] {reduce z x, sub y x z}"},
    {SUM("m", "x") SUB("y", "x", "m") "copy(@out %z[3]:f32; @in %m[3]:f32)\n",
     "nest 1 [3,4] {reduce m x, sub y x m}, copy z m"},
    {Z "fill(@out %m[3]:f32){value=1}\n" SUM("m", "x") SUB("y", "x", "m"),
     "copy z x, fill m, nest 1 [3,4] {reduce m x, sub y x m}"},
    {Z SUM("m", "x") SUB("e", "x", "m") SUM("m", "e") SUB("y", "e", "m"),
     "copy z x, nest 1 [3,4] {reduce m x, sub e x m, reduce m e, sub y e m} m 4 e 16"},
    /* nothing that is folded; nothing beside it; nothing handed on; something in between */
    {Z EXP("e", "x") EXP("y", "e"), "copy z x, exp e x, exp y e"},
    {EXP("y", "x") "copy(@out %n[1]:f32; @in %x[1]:f32)\n"
     "reduce(@out %z[3,4]:f32 *(1,0); @in %x[3,4]:f32){axes=[1]}\n",
     "exp y x, copy n x, reduce z x"},
    {"reduce(@out %z[3,4]:f32 *(1,0); @in %x[3,4]:f32){axes=[1]}\n" EXP("y", "x"),
     "reduce z x, exp y x"},
    {EXP("y", "x") "reduce(@out %z[3,4]:f32 *(1,0); @in %x[3,4]:f32){axes=[1]}\n",
     "exp y x, reduce z x"},
    {SUM("m", "x") SUB("e", "x", "m") EXP("y", "x")
     "reduce(@out %z[3,4]:f32 *(1,0); @in %e[3,4]:f32){axes=[1]}\n",
     "nest 1 [3,4] {reduce m x, sub e x m} m 4, exp y x, reduce z e"},
    {Z EXP("f", "x") EXP("e", "x") SUM("m", "e") SUB("y", "e", "m") SUM("m", "f"),
     "copy z x, exp f x, nest 1 [3,4] {exp e x, reduce m e, sub y e m} e 16, reduce m f"},
    {SUM("m", "x") Z SUB("y", "x", "m"), "reduce m x, copy z x, sub y x m"},
    /* where an element was found is no fold of a nest */
    {Z "reduce(@out %i[3,4]:i64 *(1,0); @in %x[3,4]:f32){kind=\"argmax\", axes=[1]}\n"
     "map(@out %y[3,4]:f32; @in %x[3,4]:f32, @in %i[3,4]:i64 *(1,0)){body=\"add(%0, f32(%1))\"}\n",
     "copy z x, reduce i x, map y x i"},
    {Z EXP("e", "x")
     "reduce(@out %i[3,4]:i64 *(1,0); @in %e[3,4]:f32){kind=\"argmin\", axes=[1]}\n"
     "map(@out %y[3,4]:f32; @in %x[3,4]:f32, @in %i[3,4]:i64 *(1,0)){body=\"add(%0, f32(%1))\"}\n",
     "copy z x, exp e x, reduce i e, map y x i"},
    /* one position, because of the dims or because everything is folded; two are enough */
    {Z "reduce(@out %m[1,4]:f32 *(1,0); @in %x[1,4]:f32){axes=[1]}\n"
     "map(@out %y[1,4]:f32; @in %x[1,4]:f32, @in %m[1,4]:f32 *(1,0)){body=\"sub(%0, %1)\"}\n"
     "copy(@out %y[8]:f32 +16; @in %x[8]:f32)\n",
     "copy z x, reduce m x, sub y x m, copy y x"},
    {Z "reduce(@out %m[2,4]:f32 *(1,0); @in %x[2,4]:f32){axes=[1]}\n"
     "map(@out %y[2,4]:f32; @in %x[2,4]:f32, @in %m[2,4]:f32 *(1,0)){body=\"sub(%0, %1)\"}\n"
     "copy(@out %y[4]:f32 +32; @in %x[4]:f32)\n",
     "copy z x, nest 1 [2,4] {reduce m x, sub y x m} m 4, copy y x"},
    {Z "reduce(@out %m[3,4]:f32 *(0,0); @in %x[3,4]:f32){axes=[0, 1]}\n"
     "map(@out %y[3,4]:f32; @in %x[3,4]:f32, @in %m[3,4]:f32 *(0,0)){body=\"sub(%0, %1)\"}\n",
     "copy z x, reduce m x, sub y x m"},
    /* other dims, other rank */
    {Z SUM("m", "x") "map(@out %y[3,3]:f32 *(4,1); @in %x[3,3]:f32 *(4,1), @in %m[3,3]:f32 *(1,0))"
     "{body=\"sub(%0, %1)\"}\ncopy(@out %y[3]:f32 +12 *(4); @in %x[3]:f32)\n",
     "copy z x, reduce m x, sub y x m, copy y x"},
    {Z SUM("m", "x") "map(@out %y[1,3,4]:f32; @in %x[1,3,4]:f32, @in %m[1,3,4]:f32 *(0,1,0))"
     "{body=\"sub(%0, %1)\"}\n", "copy z x, reduce m x, sub y x m"},
    {"map(@out %z[3]:f32; @in %x[3]:f32){body=\"exp(%0)\"}\n" SUM("m", "x") SUB("y", "x", "m"),
     "exp z x, nest 1 [3,4] {reduce m x, sub y x m} m 4"},
    /* what is written is mentioned by one view; what is read by any */
    {EXP("y", "x") "reduce(@out %z[3,4]:f32 *(1,0); @in %y[3,4]:f32 +12 *(4,-1)){axes=[1]}\n",
     "exp y x, reduce z y"},
    {EXP("y", "x") "reduce(@out %z[3,4]:f32 *(1,0); @in %y[3,4]:f32 *(4,0)){axes=[1]}\n",
     "exp y x, reduce z y"},
    {Z SUM("m", "x") "map(@out %y[3,4]:f32; @in %x[3,4]:f32 +12 *(4,-1), @in %m[3,4]:f32 *(1,0))"
     "{body=\"sub(%0, %1)\"}\n", "copy z x, nest 1 [3,4] {reduce m x, sub y x m} m 4"},
    {Z SUM("m", "x") "map(@out %y[3,4]:f32; @in %x[3,4]:f32, @in %m[3,4]:f32 +8 *(-1,0))"
     "{body=\"sub(%0, %1)\"}\n", "copy z x, reduce m x, sub y x m"},
    /* rows of what is read lie together: along the axis that is folded, in any direction */
    {Z "reduce(@out %n[3,4]:f32 *(0,1); @in %x[3,4]:f32){axes=[0]}\n"
     "map(@out %y[3,4]:f32; @in %x[3,4]:f32, @in %n[3,4]:f32 *(0,1)){body=\"sub(%0, %1)\"}\n",
     "copy z x, reduce n x, sub y x n"},
    {Z "reduce(@out %m[3,4]:f32 *(1,0); @in " TURNED("x") "){axes=[1]}\n"
     "map(@out %y[3,4]:f32; @in " TURNED("x") ", @in %m[3,4]:f32 *(1,0)){body=\"sub(%0, %1)\"}\n",
     "copy z x, reduce m x, sub y x m"},
    {Z SUM("m", "x") "map(@out %y[3,4]:f32; @in " TURNED("x") ", @in %m[3,4]:f32 *(1,0))"
     "{body=\"sub(%0, %1)\"}\n", "copy z x, reduce m x, sub y x m"},
    {Z "reduce(@out %m[3,4]:f32 *(1,0); @in %x[3,4]:f32 +44 *(-4,-1)){axes=[1]}\n"
     SUB("y", "x", "m"), "copy z x, nest 1 [3,4] {reduce m x, sub y x m} m 4"},
    {Z "reduce(@out %m[3,4]:f32 *(1,0); @in %x[3,4]:f32 +36 *(1,-3)){axes=[1]}\n"
     SUB("y", "x", "m"), "copy z x, reduce m x, sub y x m"},
    {Z "reduce(@out %m[3,4]:f32 *(1,0); @in %x[3,4]:f32 *(1,1)){axes=[1]}\n" SUB("y", "x", "m"),
     "copy z x, nest 1 [3,4] {reduce m x, sub y x m} m 4"},
    {Z "reduce(@out %m[3,4]:f32 *(1,0); @in %x[3,4]:f32 *(0,1)){axes=[1]}\n" SUB("y", "x", "m"),
     "copy z x, nest 1 [3,4] {reduce m x, sub y x m} m 4"},
    /* … whatever the distance along axes of one element is */
    {Z "reduce(@out %n[4,3,1]:f32 *(1,0,0); @in %x[4,3,1]:f32 *(1,4,1)){axes=[1, 2]}\n"
     "map(@out %y[4,3,1]:f32; @in %x[4,3,1]:f32, @in %n[4,3,1]:f32 *(1,0,0))"
     "{body=\"sub(%0, %1)\"}\n", "copy z x, reduce n x, sub y x n"},
    {Z "reduce(@out %r[1,2,3]:f32 *(1,1,0); @in %x[1,2,3]:f32 *(1,6,2)){axes=[2]}\n"
     "map(@out %y[1,2,3]:f32; @in %x[1,2,3]:f32, @in %r[1,2,3]:f32 *(1,1,0))"
     "{body=\"sub(%0, %1)\"}\ncopy(@out %y[6]:f32 +24; @in %x[6]:f32)\n",
     "copy z x, nest 2 [1,2,3] {reduce r x, sub y x r} r 4, copy y x"},
    /* folded axes go behind the others; not where an index is asked for */
    {Z "reduce(@out %n[3,4]:f32 *(0,1); @in " TURNED("x") "){axes=[0]}\n"
     "map(@out " TURNED("y") "; @in " TURNED("x") ", @in %n[3,4]:f32 *(0,1))"
     "{body=\"sub(%0, %1)\"}\n",
     "copy z x, nest 1 [4,3] {reduce n x, sub y x n} n 4"},
    {Z "reduce(@out %n[3,4]:f32 *(0,1); @in " TURNED("x") "){axes=[0]}\n"
     "map(@out " TURNED("y") "; @in " TURNED("x") ", @in %n[3,4]:f32 *(0,1))"
     "{body=\"sub(%0, mul(%1, f32(index<1>())))\"}\n", "copy z x, reduce n x, sub y x n"},
    {Z "reduce(@out %n[3,4]:f32 *(0,1); @in " TURNED("x")
     "){axes=[0], pre=\"mul(%0, f32(index<0>()))\"}\n"
     "map(@out " TURNED("y") "; @in " TURNED("x") ", @in %n[3,4]:f32 *(0,1))"
     "{body=\"sub(%0, %1)\"}\n", "copy z x, reduce n x, sub y x n"},
    {Z "reduce(@out %n[3,4]:f32 *(0,1); @in " TURNED("x")
     "){axes=[0], post=\"mul(%0, f32(index<1>()))\"}\n"
     "map(@out " TURNED("y") "; @in " TURNED("x") ", @in %n[3,4]:f32 *(0,1))"
     "{body=\"sub(%0, %1)\"}\n", "copy z x, reduce n x, sub y x n"},
    {Z "reduce(@out %m[3,4]:f32 *(1,0); @in %x[3,4]:f32){axes=[1], "
     "pre=\"mul(%0, f32(index<1>()))\"}\n"
     "map(@out %y[3,4]:f32; @in %x[3,4]:f32, @in %m[3,4]:f32 *(1,0))"
     "{body=\"sub(%0, mul(%1, f32(index<0>())))\"}\n",
     "copy z x, nest 1 [3,4] {reduce m x, sub y x m} m 4"},
    /* three axes: folds over some of them and over more; a middle axis goes to the end */
    {Z "reduce(@out %n[2,2,3]:f32 *(2,1,0); @in %x[2,2,3]:f32){axes=[2]}\n"
     "map(@out %y[2,2,3]:f32; @in %x[2,2,3]:f32, @in %n[2,2,3]:f32 *(2,1,0))"
     "{body=\"sub(%0, %1)\"}\n",
     "copy z x, nest 2 [2,2,3] {reduce n x, sub y x n} n 4"},
    {Z "reduce(@out %n[2,2,3]:f32 *(2,1,0); @in %x[2,2,3]:f32){axes=[2]}\n"
     "reduce(@out %r[2,2,3]:f32 *(1,0,0); @in %x[2,2,3]:f32, @in %n[2,2,3]:f32 *(2,1,0))"
     "{axes=[1, 2], pre=\"mul(%0, %1)\"}\n"
     "map(@out %y[2,2,3]:f32; @in %n[2,2,3]:f32 *(2,1,0), @in %r[2,2,3]:f32 *(1,0,0))"
     "{body=\"sub(%0, %1)\"}\n",
     "copy z x, nest 1 [2,2,3] {reduce n x, reduce r x n, sub y n r} n 8 r 4"},
    {Z "reduce(@out %n[2,3,2]:f32 *(2,0,1); @in %x[2,3,2]:f32 *(6,1,3)){axes=[1]}\n"
     "map(@out %y[2,3,2]:f32 *(6,1,3); @in %x[2,3,2]:f32 *(6,1,3), @in %n[2,3,2]:f32 *(2,0,1))"
     "{body=\"sub(%0, %1)\"}\n",
     "copy z x, nest 2 [2,2,3] {reduce n x, sub y x n} n 4"},
    {Z "reduce(@out %n[3,2,2]:f32 *(0,2,0); @in %x[3,2,2]:f32 *(2,6,1)){axes=[0, 2]}\n"
     "map(@out %y[3,2,2]:f32 *(2,6,1); @in %x[3,2,2]:f32 *(2,6,1), @in %n[3,2,2]:f32 *(0,2,0))"
     "{body=\"sub(%0, %1)\"}\n",
     "copy z x, nest 1 [2,3,2] {reduce n x, sub y x n} n 4"},
    /* a nest has the names of what it holds, each once where they are beside each other */
    {Z "map(@out %e[3,4]:f32; @in %x[3,4]:f32){body=\"exp(%0)\"} \"a\"\n"
     "reduce(@out %m[3,4]:f32 *(1,0); @in %e[3,4]:f32){axes=[1]} \"a\"\n"
     "map(@out %y[3,4]:f32; @in %e[3,4]:f32, @in %m[3,4]:f32 *(1,0))"
     "{body=\"sub(%0, %1)\"} \"b\"\n",
     "copy z x, nest 1 [3,4] \"a+b\" {exp e x, reduce m e, sub y e m} e 16 m 4"},
    {Z "reduce(@out %m[3,4]:f32 *(1,0); @in %x[3,4]:f32){axes=[1]} \"a\"\n"
     "map(@out %f[3,4]:f32; @in %x[3,4]:f32, @in %m[3,4]:f32 *(1,0))"
     "{body=\"sub(%0, %1)\"} \"b\"\n"
     "map(@out %y[3,4]:f32; @in %f[3,4]:f32){body=\"neg(%0)\"} \"a\"\n",
     "copy z x, nest 1 [3,4] \"a+b+a\" {reduce m x, sub f x m, neg y f} m 4 f 16"},
    /* in bodies, and behind them */
    {Z "loop(; -, -){trip=2, n_state=0} do {\n" SUM("m", "x") SUB("y", "x", "m") "}\n",
     "copy z x, loop {nest 1 [3,4] {reduce m x, sub y x m} m 4}"},
    {"loop(; -, -){trip=2, n_state=0} do {\n" Z EXP("e", "x") "}\n" SUM("m", "e")
     SUB("y", "e", "m"),
     "loop {copy z x, exp e x}, nest 1 [3,4] {reduce m e, sub y e m} m 4"},
    {Z "if(; @in %c[]:bool) then {\n" SUM("m", "x") SUB("y", "x", "m") "} else {\n" EXP("e", "x")
     SUM("m", "e") SUB("y", "x", "m") "}\n" SUM("m", "y") SUB("y", "x", "m"),
     "copy z x, if c {nest 1 [3,4] {reduce m x, sub y x m}} {nest 1 [3,4] {exp e x, reduce m e, "
     "sub y x m} e 16}, nest 1 [3,4] {reduce m y, sub y x m}"},
    {Z "if(; @in %c[]:bool) then {\n" EXP("y", "x") "} else {\n" SUM("m", "x") SUB("y", "x", "m")
     "}\n" EXP("e", "y") SUM("n", "e") SUB("y", "e", "n"),
     "copy z x, if c {exp y x} {nest 1 [3,4] {reduce m x, sub y x m} m 4}, "
     "nest 1 [3,4] {exp e y, reduce n e, sub y e n} e 16 n 4"},
};

/* ---- as text --------------------------------------------------------------------------------- */

static void add_scratch(wk_str *b, const wk_program *p, const wk_block *block) {
  bool seen[64] = {0};
  for (size_t i = 0; i < block->insts.n; i++)
    for (uint32_t k = 0; k < block->insts.data[i]->n_operands; k++) {
      uint32_t v = block->insts.data[i]->operands[k].buffer;
      if (v == WK_NONE || p->buffers.data[v].region != WK_REGION_SCRATCH || seen[v]) continue;
      seen[v] = true;
      wk_str_printf(b, " %.1s %lld", p->buffers.data[v].name, (long long)p->buffers.data[v].size);
    }
}

static void add_block(wk_str *b, const wk_program *p, const wk_block *block) {
  for (size_t i = 0; i < block->insts.n; i++) {
    const wk_inst *inst = block->insts.data[i];
    const wk_expr *e = inst->op == WK_OP_MAP ? ((const wk_attr_map *)inst->attrs)->body : NULL;
    const char *name = wk_op_get(inst->op)->name;
    if (e && strncmp(wk_expr_op_name(e->nodes[e->results[0]].op), "add", 3))
      name = wk_expr_op_name(e->nodes[e->results[0]].op);
    wk_str_printf(b, "%s%s", i ? ", " : "", name);
    if (inst->op == WK_OP_NEST) {
      const wk_view *v = &inst->bodies[0].insts.data[0]->operands[0];
      wk_str_printf(b, " %lld [", (long long)((const wk_attr_nest *)inst->attrs)->outer);
      for (int d = 0; d < v->rank; d++)
        wk_str_printf(b, "%s%lld", d ? "," : "", (long long)v->dims[d]);
      wk_str_add(b, "]");
      if (*inst->name) wk_str_printf(b, " \"%s\"", inst->name);
    }
    for (uint32_t k = 0; k < inst->n_operands; k++)
      if (inst->operands[k].buffer != WK_NONE)
        wk_str_printf(b, " %.1s", p->buffers.data[inst->operands[k].buffer].name);
    for (uint32_t k = 0; k < inst->n_bodies; k++) {
      wk_str_add(b, " {");
      add_block(b, p, &inst->bodies[k]);
      wk_str_add(b, "}");
      if (inst->op == WK_OP_NEST) add_scratch(b, p, &inst->bodies[k]);
    }
  }
}

static wk_tensor *outputs(const wk_program *p, const char *step, wk_str *why) {
  wk_tensor *in = wk_xcalloc(p->inputs.n, sizeof *in);
  for (size_t i = 0; i < p->inputs.n; i++) {
    assert_null(wk_tensor_alloc(&p->inputs.data[i].type, &in[i]));
    for (int64_t k = 0; k < wk_type_count(&in[i].type); k++)
      wk_store_i64(in[i].data, in[i].type.dtype, k, (k * 5 + 3) % 7 % (i ? 2 : 7));
  }
  wk_tensor *out = middle_eval_program(p, in, step, why);
  middle_free(in, p->inputs.n);
  return out;
}

static wk_program *fused(const char *body, int64_t *changes, wk_tensor **want, wk_str *why) {
  wk_str text = {0};
  wk_program *p;
  wk_arena *scratch = wk_arena_new();
  wk_str_printf(&text, "%s%s}", HEAD, body);
  wk_status s = wk_program_parse(text.s, "t", &p);
  if (s) fail_msg("%s: %s: %s", body, s->place ? s->place : "", s->message);
  *want = outputs(p, "before", why);
  assert_null(wk_inst_fuse_nests(p, scratch, changes));
  s = wk_program_verify(p);
  if (s) fail_msg("%s: %s", body, s->message);
  wk_arena_free(scratch);
  wk_str_free(&text);
  return p;
}

static int64_t nests_in(const char *text) {
  int64_t n = 0;
  for (; (text = strstr(text, "nest")); text++) n++;
  return n;
}

static void test_nests(void **state) {
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str got = {0}, why = {0};
    wk_tensor *want;
    int64_t changes = 0;
    wk_program *p = fused(cases[i].body, &changes, &want, &why);
    add_block(&got, p, &p->body);
    bool same = middle_same(outputs(p, "fused", &why), want, p->outputs.n, 0, "fused", &why);
    if (!same || strcmp(got.s, cases[i].left) || changes != nests_in(got.s)) {
      print_error("case %zu: %s  left: %s\n  want: %s\n  %s\n", i, cases[i].body, got.s,
                  cases[i].left, why.n ? why.s : "");
      bad++;
    }
    middle_free(want, p->outputs.n);
    wk_program_free(p);
    wk_str_free(&got);
    wk_str_free(&why);
  }
  assert_int_equal(bad, 0);
}

/* A nest has 16 instructions at most: the others stay behind it. */
static void test_longest(void **state) {
  (void)state;
  for (int n = 15; n <= 18; n++) {
    wk_str text = {0}, why = {0};
    wk_tensor *want;
    int64_t changes = 0;
    wk_str_add(&text, Z SUM("m", "x") SUB("e", "x", "m"));
    for (int k = 2; k < n - 1; k++) wk_str_add(&text, k % 2 ? EXP("e", "f") : EXP("f", "e"));
    wk_str_add(&text, n % 2 ? EXP("y", "e") : EXP("y", "f"));
    wk_program *p = fused(text.s, &changes, &want, &why);
    assert_int_equal(changes, 1);
    assert_int_equal(p->body.insts.n, n <= 16 ? 2 : 2 + n - 16);
    assert_int_equal(p->body.insts.data[1]->bodies[0].insts.n, n < 16 ? n : 16);
    middle_free(want, p->outputs.n);
    wk_program_free(p);
    wk_str_free(&text);
    wk_str_free(&why);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_nests), cmocka_unit_test(test_longest)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
