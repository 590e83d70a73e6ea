/* SPDX-License-Identifier: Apache-2.0
 * What is needed where a run decides sizes: limits of instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/lower/lower.h"

#define OPEN                                         \
  "  open input \"x\" 1 \"n\" input \"n\" 2\n"       \
  "  open output \"y\" 1 \"n\" input \"n\" 0\n}}"
#define HEAD "module \"m\" { graph @main(%x: f32[1,8,4], %w: f32[4,4], %n: i64[]) {\n"
#define MASK                                                          \
  "  %i = constant i64[8] {0, 1, 2, 3, 4, 5, 6, 7}\n"                 \
  "  %m = map(%i, %n) {body=\"lt(%0, %1)\"} : bool[8]\n"              \
  "  %c = reshape(%m) {shape=[8,1]} : bool[8,1]\n"

#define ROWS "module \"m\" { graph @main(%x: f32[64,64], %w: f32[64,64], %p: bool[64]) {\n"
#define LIST "map", "map", "reduce", "cum_sum", "map", "scatter_elements"

/* Instructions as they are printed, from their attributes on; in order. */
static const struct {
  const char *text;
  const char *limits[14]; /* NULL: as many as there are instructions */
} cases[] = {
    /* element by element, row by row */
    {HEAD "  %p = matmul(%x, %w)\n  %y = map(%p) {body=\"exp(%0)\"}\n  output %y\n" OPEN,
     {"matmul below 1 %n", "map below 1 %n"}},
    /* all rows are asked for */
    {HEAD "  %y = matmul(%x, %w)\n  %s = reduce(%y) {axes=[1]}\n  output %y\n  output %s\n" OPEN,
     {"matmul", "reduce"}},
    /* some of the first rows, which are always there */
    {HEAD "  %y = matmul(%x, %w)\n  %f = slice(%y) {starts=[0,1,0], sizes=[1,1,4], steps=[1,1,1]}\n"
     "  %g = map(%f) {body=\"neg(%0)\"}\n  output %y\n  output %g\n" OPEN,
     {"matmul below 1 %n", "map"}},
    /* a row that need not be there */
    {HEAD "  %y = matmul(%x, %w)\n  %f = slice(%y) {starts=[0,2,0], sizes=[1,1,4], steps=[1,1,1]}\n"
     "  %g = map(%f) {body=\"neg(%0)\"}\n  output %y\n  output %g\n" OPEN,
     {"matmul", "map"}},
    /* what a select leaves out of a sum */
    {HEAD MASK "  %p = matmul(%x, %w)\n  %z = constant f32[] {0.0}\n"
     "  %s = map(%c, %p, %z) {body=\"select(%0, %1, %2)\"}\n  %r = reduce(%s) {axes=[1]}\n"
     "  %y = map(%x) {body=\"neg(%0)\"}\n  output %y\n  output %r\n" OPEN,
     {"map", "matmul below 1 %n", "map", "reduce", "map below 1 %n"}},
    /* rows by positions that are below a size of one at least; another bound is none */
    {HEAD "  %p = matmul(%x, %w)\n  %i = constant i64[8] {0, 1, 2, 3, 4, 5, 6, 7}\n"
     "  %k = map(%n) {body=\"add(%0, -1i64)\"}\n  %j = map(%i, %k) {body=\"min(%0, %1)\"}\n"
     "  %r = gather(%p, %j) {axis=1}\n  %y = map(%x) {body=\"neg(%0)\"}\n"
     "  output %y\n  output %r\n" OPEN,
     {"matmul below 1 %n", "map", "map", "gather", "map below 1 %n"}},
    {HEAD "  %p = matmul(%x, %w)\n  %i = constant i64[8] {0, 1, 2, 3, 4, 5, 6, 7}\n"
     "  %j = map(%i, %n) {body=\"min(%0, %1)\"}\n"
     "  %r = gather(%p, %j) {axis=1}\n  %y = map(%x) {body=\"neg(%0)\"}\n"
     "  output %y\n  output %r\n" OPEN,
     {"matmul", "map", "gather", "map below 1 %n"}},
    /* a size that is computed behind who needs it comes first */
    {HEAD "  %p = matmul(%x, %w)\n  %i = constant i64[8,1] {0, 1, 2, 3, 4, 5, 6, 7}\n"
     "  %t = map(%n) {body=\"add(%0, 1i64)\"}\n"
     "  %c = map(%i, %t) {body=\"lt(%0, %1)\"} : bool[8,1]\n  %z = constant f32[] {0.0}\n"
     "  %s = map(%c, %p, %z) {body=\"select(%0, %1, %2)\"}\n  %r = reduce(%s) {axes=[1]}\n"
     "  output %r\n}}",
     {"map", "matmul below 1 %t", "map", "map", "reduce"}},
    /* one that is computed before the other has no limit by it */
    {HEAD "  %b = map(%x) {body=\"exp(%0)\"}\n  %i = constant i64[8] {0, 1, 2, 3, 4, 5, 6, 7}\n"
     "  %t = map(%n) {body=\"add(%0, 1i64)\"}\n"
     "  %c = map(%i, %t) {body=\"lt(%0, %1)\"} : bool[8]\n  %d = reshape(%c) {shape=[8,1]}\n"
     "  %s = map(%d, %b) {body=\"select(%0, %1, 0.0f32)\"}\n"
     "  %q = reduce(%s) {axes=[0,1,2]}\n  %r = reshape(%q) {shape=[]}\n"
     "  %u = map(%r) {body=\"i64(%0)\"}\n"
     "  %e = map(%i, %u) {body=\"lt(%0, %1)\"} : bool[8]\n  %f = reshape(%e) {shape=[8,1]}\n"
     "  %g = map(%f, %x) {body=\"select(%0, %1, 0.0f32)\"}\n  %h = reduce(%g) {axes=[1]}\n"
     "  output %h\n}}",
     {"map", "map", "map below 0 %t", "map below 1 %t", "reduce below 1 %t", "map",
      "map below 0 %u", "map below 1 %u", "reduce below 1 %u"}},
    /* what a product sums over is zero from the size on */
    {HEAD MASK "  %s = map(%c, %x) {body=\"select(%0, %1, 0.0f32)\"}\n"
     "  %t = transpose(%s) {perm=[0,2,1]}\n  %g = matmul(%t, %s)\n"
     "  %y = map(%x) {body=\"neg(%0)\"}\n  output %y\n  output %g\n" OPEN,
     {"map", "map", "matmul below 3 %n", "map below 1 %n"}},
    /* what changes nothing in a sum, and in the largest */
    {HEAD MASK "  %s = map(%c, %x) {body=\"select(%0, %1, 0.0f32)\"}\n"
     "  %r = reduce(%s) {axes=[1]}\n"
     "  %l = map(%c, %x) {body=\"select(%0, %1, -inff32)\"}\n"
     "  %o = reduce(%l) {axes=[1], kind=\"max\"}\n  %q = reduce(%l) {axes=[1], kind=\"min\"}\n"
     "  %y = map(%x) {body=\"neg(%0)\"}\n  output %y\n  output %r\n  output %o\n"
     "  output %q\n" OPEN,
     {"map", "map below 1 %n", "reduce below 1 %n", "map", "reduce below 1 %n", "reduce",
      "map below 1 %n"}},
    /* softmax along an axis whose size is computed, below another mask */
    {"module \"m\" { graph @main(%x: f32[1,4,8], %n: i64[], %k: bool[4,8]) {\n"
     "  %i = constant i64[8] {0, 1, 2, 3, 4, 5, 6, 7}\n"
     "  %t = map(%n) {body=\"add(%0, 1i64)\"}\n"
     "  %m = map(%i, %t, %k) {body=\"and(%2, lt(%0, %1))\"} : bool[4,8]\n"
     "  %e = map(%x) {body=\"neg(%0)\"}\n"
     "  %s = map(%m, %e) {body=\"select(%0, %1, -inff32)\"}\n"
     "  %o = reduce(%s) {axes=[2], kind=\"max\", keepdims=1}\n"
     "  %p = map(%s, %o) {body=\"exp(sub(%0, %1))\"}\n"
     "  %r = reduce(%p) {axes=[2], keepdims=1}\n"
     "  %y = map(%m, %p, %r) {body=\"select(%0, div(%1, %2), 0.0f32)\"}\n  output %y\n}}",
     {"map", "map", "map below 2 %t", "map below 2 %t", "reduce below 2 %t", "map below 2 %t",
      "reduce below 2 %t", "map"}},
    /* rows where a predicate is true, of products that are large enough; as a list */
    {ROWS "  %c = reshape(%p) {shape=[64,1]}\n"
     "  %h = matmul(%x, %w)\n  %r = map(%h) {body=\"max(%0, 0.0f32)\"}\n  %q = matmul(%r, %w)\n"
     "  %y = map(%c, %q, %x) {body=\"select(%0, %1, %2)\"}\n  output %y\n}}",
     {LIST, "matmul below 0 %count of %rows", "map below 0 %count of %rows",
      "matmul below 0 %count of %rows", "map"}},
    {ROWS "  %c = reshape(%p) {shape=[64,1]}\n"
     "  %s = slice(%x) {starts=[0,0], sizes=[64,8], steps=[1,1]}\n"
     "  %v = slice(%w) {starts=[0,0], sizes=[8,64], steps=[1,1]}\n  %q = matmul(%s, %v)\n"
     "  %y = map(%c, %q, %x) {body=\"select(%0, %1, %2)\"}\n  output %y\n}}",
     {"matmul", "map"}},
    /* queries of tokens, through heads: two axes with another one between them */
    {"module \"m\" { graph @main(%x: f32[2,32,64], %w: f32[64,64], %k: f32[2,4,16,32], "
     "%v: f32[2,4,32,16], %p: bool[2,32]) {\n"
     "  %q = matmul(%x, %w)\n  %h = reshape(%q) {shape=[2,32,4,16]}\n"
     "  %t = transpose(%h) {perm=[0,2,1,3]}\n  %s = matmul(%t, %k)\n"
     "  %m = reduce(%s) {kind=\"max\", axes=[3]}\n"
     "  %e = map(%s, %m) {body=\"exp(sub(%0, %1))\"}\n  %z = matmul(%e, %v)\n"
     "  %b = transpose(%z) {perm=[0,2,1,3]}\n  %j = reshape(%b) {shape=[2,32,64]}\n"
     "  %c = reshape(%p) {shape=[2,32,1]}\n"
     "  %y = map(%c, %j) {body=\"select(%0, %1, 0.0f32)\"}\n  output %y\n}}",
     {LIST, "matmul below 0 %count of %rows", "matmul", "reduce", "map", "matmul", "map"}},
    /* keys of tokens are all needed, whatever is needed of queries */
    {"module \"m\" { graph @main(%x: f32[2,32,64], %w: f32[64,64], %q: f32[2,4,32,16], "
     "%p: bool[2,32]) {\n"
     "  %k = matmul(%x, %w)\n  %h = reshape(%k) {shape=[2,32,4,16]}\n"
     "  %t = transpose(%h) {perm=[0,2,3,1]}\n  %s = matmul(%q, %t)\n"
     "  %b = transpose(%s) {perm=[0,2,1,3]}\n  %c = reshape(%p) {shape=[2,32,1,1]}\n"
     "  %y = map(%c, %b) {body=\"select(%0, %1, 0.0f32)\"}\n  output %y\n}}",
     {"matmul", "matmul", "map"}},
    /* along two axes of a reshape; a predicate that is computed behind who needs it comes first */
    {ROWS "  %h = matmul(%x, %w)\n  %t = reshape(%h) {shape=[4,16,64]}\n"
     "  %n = map(%p) {body=\"not(%0)\"}\n  %c = reshape(%n) {shape=[4,16,1]}\n"
     "  %y = map(%c, %t) {body=\"select(%0, %1, 0.0f32)\"}\n  output %y\n}}",
     {"map", LIST, "matmul below 0 %count of %rows", "map"}},
    /* not where axes change places, nor where all are summed up */
    {ROWS "  %c = reshape(%p) {shape=[8,8,1]} \n  %h = matmul(%x, %w)\n"
     "  %t = reshape(%h) {shape=[8,8,64]}\n"
     "  %u = transpose(%t) {perm=[1,0,2]}\n"
     "  %y = map(%c, %u) {body=\"select(%0, %1, 0.0f32)\"}\n  output %y\n}}",
     {"matmul", "map"}},
    {ROWS "  %c = reshape(%p) {shape=[64,1]} : bool[64,1]\n  %h = matmul(%x, %w)\n"
     "  %r = reduce(%h) {axes=[0], keepdims=1}\n"
     "  %y = map(%c, %r) {body=\"select(%0, %1, 0.0f32)\"}\n  output %y\n}}",
     {"matmul", "reduce", "map"}},
    /* updates that lead to a spare row of which nobody reads */
    {"module \"m\" { graph @main(%x: f32[8,4], %w: f32[4,4], %d: f32[9,4], %a: i64[8,1], "
     "%n: i64[]) {\n  %i = constant i64[8,1] {0, 1, 2, 3, 4, 5, 6, 7}\n"
     "  %j = map(%i, %n, %a) {body=\"select(lt(%0, %1), %2, 8i64)\"}\n"
     "  %p = matmul(%x, %w)\n  %s = scatter_nd(%d, %j, %p) {reduction=\"add\"}\n"
     "  %y = slice(%s) {starts=[0,0], sizes=[8,4], steps=[1,1]}\n  output %y\n}}",
     {"map", "matmul below 0 %n", "scatter_nd"}},
    {"module \"m\" { graph @main(%x: f32[8,4], %w: f32[4,4], %d: f32[9,4], %a: i64[8,1], "
     "%n: i64[]) {\n  %i = constant i64[8,1] {0, 1, 2, 3, 4, 5, 6, 7}\n"
     "  %j = map(%i, %n, %a) {body=\"select(lt(%0, %1), %2, 8i64)\"}\n"
     "  %p = matmul(%x, %w)\n  %s = scatter_nd(%d, %j, %p) {reduction=\"add\"}\n"
     "  output %s\n}}",
     {"map", "matmul", "scatter_nd"}},
    /* what a gather reads, below a size; of a predicate there is no list for it */
    {"module \"m\" { graph @main(%t: f32[9,4], %j: i64[8], %w: f32[4,4], %n: i64[]) {\n"
     "  %i = constant i64[8,1] {0, 1, 2, 3, 4, 5, 6, 7}\n"
     "  %x = gather(%t, %j) {axis=0}\n  %h = matmul(%x, %w)\n"
     "  %y = map(%i, %n, %h) {body=\"select(lt(%0, %1), %2, 0.0f32)\"}\n  output %y\n}}",
     {"gather below 0 %n", "matmul below 0 %n", "map"}},
    {"module \"m\" { graph @main(%t: f32[9,64], %j: i64[64], %w: f32[64,64], %p: bool[64]) {\n"
     "  %x = gather(%t, %j) {axis=0}\n  %h = matmul(%x, %w)\n  %c = reshape(%p) {shape=[64,1]}\n"
     "  %y = map(%c, %h) {body=\"select(%0, %1, 0.0f32)\"}\n  output %y\n}}",
     {"gather", LIST, "matmul below 0 %count of %rows", "map"}},
    /* what is copied in other dims than the result has, along those that both have */
    {"module \"m\" { graph @main(%x: f32[2,8,4], %w: f32[4,4], %n: i64[]) {\n"
     "  %i = constant i64[8,1] {0, 1, 2, 3, 4, 5, 6, 7}\n"
     "  %h = matmul(%x, %w)\n  %t = transpose(%h) {perm=[1,0,2]}\n"
     "  %r = reshape(%t) {shape=[8,8]}\n"
     "  %y = map(%i, %n, %r) {body=\"select(lt(%0, %1), %2, 0.0f32)\"}\n  output %y\n}}",
     {"matmul below 1 %n", "copy below 0 %n", "map"}},
    /* what a loop scans beside a slice of a predicate */
    {"module \"m\" { graph @main(%x: f32[64,64], %w: f32[64,64], %p: bool[8,8], %s: f32[8,64]) {\n"
     "  %h = matmul(%x, %w)\n  %t = reshape(%h) {shape=[8,8,64]}\n"
     "  %y = loop(-, %s, %t, %p) {trip=8, n_state=1, n_scan=2, scan_reverse=[1,1], "
     "scan_axes=[0,0], out_reverse=[], out_axes=[]} do @step : f32[8,64]\n  output %y\n}\n"
     "graph @step(%i: i64[], %s: f32[8,64], %x: f32[8,64], %p: bool[8]) {\n"
     "  %c = reshape(%p) {shape=[8,1]}\n"
     "  %n = map(%c, %x, %s) {body=\"select(%0, add(%1, %2), %2)\"}\n  output %n\n}}",
     {LIST, "matmul below 0 %count of %rows", "loop"}},
    /* not where the predicate goes along axes that have another one between them */
    {"module \"m\" { graph @main(%x: f32[32,256], %w: f32[256,128], %p: bool[4,2,4], "
     "%s: f32[2,4,4,32]) {\n"
     "  %h = matmul(%x, %w)\n  %t = reshape(%h) {shape=[4,2,4,4,32]}\n"
     "  %y = loop(-, %s, %t, %p) {trip=4, n_state=1, n_scan=2, scan_reverse=[0,0], "
     "scan_axes=[0,0], out_reverse=[], out_axes=[]} do @step : f32[2,4,4,32]\n  output %y\n}\n"
     "graph @step(%i: i64[], %s: f32[2,4,4,32], %x: f32[2,4,4,32], %p: bool[2,4]) {\n"
     "  %t = transpose(%x) {perm=[0,2,1,3]}\n  %c = reshape(%p) {shape=[2,4,1,1]}\n"
     "  %n = map(%c, %t, %s) {body=\"select(%0, add(%1, %2), %2)\"}\n  output %n\n}}",
     {"matmul", "loop"}},
};

static void must(const char *text, wk_status s) {
  if (s) fail_msg("%s\n%s", text, s->message);
}

/* An instruction's name and limits. */
static void summary(const wk_program *p, const wk_inst *i, wk_str *b) {
  wk_str_printf(b, "%s", wk_op_get(i->op)->name);
  for (uint32_t k = 0; k < i->n_limits; k++) {
    const wk_limit *l = &i->limits[k];
    wk_str_printf(b, " below %d %%%s", l->axis, p->buffers.data[l->size.buffer].name);
    if (wk_limit_has_rows(l)) wk_str_printf(b, " of %%%s", p->buffers.data[l->rows.buffer].name);
  }
}

static void check_program(const char *text, const wk_program *p, const char *const *want) {
  size_t n = 0;
  for (size_t i = 0; i < p->body.insts.n; i++) {
    wk_str got = {0};
    if (p->body.insts.data[i]->op == WK_OP_COPY && !p->body.insts.data[i]->n_limits) continue;
    summary(p, p->body.insts.data[i], &got);
    if (!want[n] || strcmp(got.s, want[n]) != 0)
      fail_msg("%s\ninstruction %zu is '%s', not '%s'", text, n, got.s, want[n] ? want[n] : "");
    n++;
    wk_str_free(&got);
  }
  if (want[n]) fail_msg("%s\nthere is no '%s'", text, want[n]);
}

static void limits_are_found(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_module *m;
    wk_program *p, *again;
    wk_str printed = {0}, reprinted = {0};
    must(cases[i].text, wk_module_parse(cases[i].text, "case", &m));
    must(cases[i].text, wk_generate(m, 1 << 18, &p));
    check_program(cases[i].text, p, cases[i].limits);
    wk_program_print(&printed, p, WK_PRINT_FULL);
    must(printed.s, wk_program_parse(printed.s, "case", &again));
    wk_program_print(&reprinted, again, WK_PRINT_FULL);
    assert_string_equal(printed.s, reprinted.s);
    wk_str_free(&printed);
    wk_str_free(&reprinted);
    wk_program_free(p);
    wk_program_free(again);
    wk_module_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(limits_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
