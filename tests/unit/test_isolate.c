/* SPDX-License-Identifier: Apache-2.0
 * One instruction of a program as a program of its own: what it reads comes in, what it writes goes
 * out and begins as what stood there, bodies and all.
 *   test_isolate print     all of them, as they would stand in isolate.def */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/verify/compare.h"
#include "tests/unit/printed_lines.h"

static const char text[] =
    "program \"p\" {\n"
    "  buffer input 0 %x : f32[2,3]\n"
    "  buffer input 1 %cond : bool[]\n"
    "  buffer input 2 %unread : f32[2]\n"
    "  buffer output 0 %y : f32[3,2]\n"
    "  buffer output 1 %m : f32[2,2]\n"
    "  buffer const %w : 24 = splat(63)\n"
    "  buffer const %unused : 8 = splat(1)\n"
    "  buffer act %a : 24 align 128\n"
    "  buffer act %b : 24\n"
    "  buffer act %none : 0\n"
    "  buffer act %go : 1\n"
    "  buffer act %i : 8\n"
    "  buffer scratch %s : 8\n"
    "  buffer state 0 %v : f32[6] = splat(0)\n"
    /* reads one, writes another */
    "  map(@out %a[6]:f32; @in %x[6]:f32) {body=\"neg(%0)\"} \"negate\"\n"
    /* a part of one, at an offset; the rest stays */
    "  copy(@out %b[3]:f32 +12; @in %a[3]:f32 +12) \"half\"\n"
    /* reads what it writes */
    "  map(@out %b[6]:f32; @in %b[6]:f32, @in %v[6]:f32) {body=\"add(%0, %1)\"} \"place\"\n"
    /* state, and the same input twice */
    "  map(@out %v[6]:f32; @in %x[6]:f32, @in %x[6]:f32) {body=\"mul(%0, %1)\"} \"state\"\n"
    /* a constant, an operand that is left out, outputs of the program */
    "  matmul(@out %m[2,2]:f32; @in %x[2,3]:f32, @in %w[3,2]:f32, -) \"product\"\n"
    /* nothing at all */
    "  map(@out %none[0]:f32; @in %x[0]:f32) {body=\"exp(%0)\"} \"nothing\"\n"
    /* two bodies, of which each touches what the other does not, one inside the other */
    "  if(; @in %cond[]:bool) \"branch\" then {\n"
    "    map(@out %y[6]:f32; @in %a[6]:f32) {body=\"abs(%0)\"} \"then\"\n"
    "    loop(; @inout %go[]:bool, @out %i[]:i64) {trip=3} \"inner\" do {\n"
    "      copy(@out %y[1]:f32 step 4; @in %w[1]:f32 step 8) \"first\"\n"
    "      copy(@out %go[]:bool; @in %cond[]:bool) \"second\"\n"
    "    }\n"
    "  } else {\n"
    "    nest() do {\n"
    "      reduce(@out %s[2,3]:f32 *(1,0); @in %b[2,3]:f32) {axes=[1]}\n"
    "      map(@out %y[2,3]:f32; @in %b[2,3]:f32, @in %s[2,3]:f32 *(1,0))"
    " {body=\"sub(%0, %1)\"}\n"
    "    }\n"
    "  }\n"
    "}\n";

static const char *const wanted[] = {
#include "tests/unit/isolate.def"
};

static void add_io(wk_str *b, const wk_program *p, const wk_isolated *x) {
  for (size_t i = 0; i < x->inputs.n; i++)
    wk_str_printf(b, "in %s%s\n", p->buffers.data[x->inputs.data[i].buffer].name,
                  x->inputs.data[i].before ? " before" : "");
  for (size_t i = 0; i < x->outputs.n; i++)
    wk_str_printf(b, "out %s\n", p->buffers.data[x->outputs.data[i]].name);
}

static void add_isolated(wk_str *b) {
  wk_program *p = NULL;
  wk_status s = wk_program_parse(text, "p", &p);
  if (s) fail_msg("%s: %s", s->place, s->message);
  assert_null(wk_program_verify(p));
  for (size_t i = 0; i < p->body.insts.n; i++) {
    wk_isolated x;
    assert_null(wk_isolate(p, p->body.insts.data[i], &x));
    wk_program_print(b, x.program, 0);
    add_io(b, p, &x);
    wk_isolated_free(&x);
    assert_null(x.program);
  }
  wk_program_free(p);
}

static void each_alone(void **state) {
  (void)state;
  wk_str b = {0};
  add_isolated(&b);
  expect_lines(&b, wanted, WK_COUNTOF(wanted));
}

int main(int argc, char **argv) {
  (void)argv;
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_alone)};
  if (argc < 2) return cmocka_run_group_tests(tests, NULL, NULL);
  wk_str b = {0};
  add_isolated(&b);
  return print_lines(&b, "the instructions of test_isolate.c are alone");
}
