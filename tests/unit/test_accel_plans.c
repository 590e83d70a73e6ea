/* SPDX-License-Identifier: Apache-2.0
 * Plans that are kept (compiler/stream/plans.c): found again for the same net, and for no net that
 * differs in anything that a search reads. Whether one was found is seen by the machine, which is
 * always the instance's and no part of the key: with a smaller scratchpad, a search would find
 * another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/compile/compile.h"

#define QUANTISED "sat<i8>(rescale(%0, 9000000i64, 13i64))"

/* A convolution, a sum with its input and a maximum of what that gives. */
static const char graph[] =
    "module \"t\" {\ngraph @main(%i: i8[1,2,24,24,16]) {\n"
    "  %t = transpose(%i) {perm=[0,1,4,2,3]} : i8[1,2,16,24,24]\n"
    "  %x = reshape(%t) {shape=[1,32,24,24]} : i8[1,32,24,24]\n"
    "  %w = constant i8[32,32,3,3] splat(3)\n"
    "  %c = conv(%x, %w) {strides=[1,1], pads=[1,1,1,1], dilations=[1,1], epilogue=\"" QUANTISED
    "\"} : i8[1,32,24,24]\n"
    "  %s = map(%c, %x) {body=\"sat<i8>(add(i32(%0), i32(%1)))\"} : i8[1,32,24,24]\n"
    "  %p = max_pool(%s) {kernel=[2,2], strides=[2,2], pads=[0,0,0,0], dilations=[1,1]} : "
    "i8[1,32,12,12]\n"
    "  %r = reshape(%p) {shape=[1,2,16,12,12]} : i8[1,2,16,12,12]\n"
    "  %y = transpose(%r) {perm=[0,1,3,4,2]} : i8[1,2,12,12,16]\n"
    "  output %y\n}\n}\n";

typedef struct {
  wk_machine large, small;
  wk_module *module;
  wk_arena *arena;
  wk_accel_net net;
  wk_sched_options o;
} subject;

static void open(subject *s) {
  wk_accel_refused why;
  *s = (subject){.arena = wk_arena_new(), .o = {.prefetch = WK_PREFETCH_AUTO}};
  assert_null(wk_machine_read("base", &s->large));
  s->small = s->large;
  s->small.scratchpad = 32768;
  assert_null(wk_module_parse(graph, "t", &s->module));
  wk_accel_net_init(&s->net, &s->large, s->arena);
  if (!wk_accel_net_make(s->module->main, &s->net, &why)) fail_msg("%s", why.reason);
  s->o.plans = wk_sched_plans_new();
}

static void close(subject *s) {
  wk_sched_plans_free(s->o.plans);
  wk_accel_net_free(&s->net);
  wk_module_free(s->module);
  wk_arena_free(s->arena);
}

static void print_plan(const subject *s, const wk_sched_plan *p, wk_str *b) {
  for (size_t i = 0; i < p->groups.n; i++) {
    const wk_sched_group *g = &p->groups.data[i];
    wk_str_printf(b, "%d-%d/%d%d%d ", g->first, g->last, g->strips, g->keeps, g->alone);
  }
  for (size_t t = 0; t < s->net.tensors.n; t++) wk_str_printf(b, "%d ", p->resident[t]);
  wk_str_printf(b, "%d %lld", p->lasting, (long long)p->chunk);
}

/* The plan on a machine, as text; "" when there is none. */
static void plan(subject *s, const wk_machine *m, wk_str *b) {
  wk_sched_plan p = {0};
  wk_sched_net sched;
  s->net.machine = m;
  wk_accel_sched_net(&s->net, s->arena, &sched);
  wk_status bad = wk_sched_find_plan(&sched, wk_sched_uses(&sched, s->arena), &s->o, &p);
  b->n = 0;
  wk_str_add(b, "");
  if (!bad) print_plan(s, &p, b);
  wk_status_free(bad);
  wk_sched_plan_free(&p);
}

/* Asks for the plan on the large machine, changes something, asks on the small one: is it kept? */
static bool is_kept(subject *s, const wk_str *first) {
  wk_str again = {0};
  plan(s, &s->small, &again);
  bool same = !strcmp(first->s, again.s);
  wk_str_free(&again);
  return same;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void the_same_is_kept(void **state) {
  subject s;
  wk_str large = {0}, small = {0};
  (void)state;
  open(&s);
  plan(&s, &s.large, &large);
  assert_true(is_kept(&s, &large));
  /* names, layers, counts of multiplications, zero points and which of the edges a tensor is are
   * nothing that a search reads */
  s.net.ops.data[0].name = "other";
  s.net.ops.data[0].a_zero ^= 3;
  s.net.ops.data[1].b_zero ^= 3;
  s.net.ops.data[1].layer++;
  s.net.ops.data[0].macs++;
  s.net.ops.data[0].consts = NULL;
  s.net.tensors.data[0].name = "other";
  assert_true(s.net.tensors.data[0].segment >= WK_SEGMENT_IO);
  s.net.tensors.data[0].segment++;
  assert_true(is_kept(&s, &large));
  /* serial is auto but for its waits; for who wants to see candidates it is searched again */
  s.o.prefetch = WK_PREFETCH_SERIAL;
  assert_true(is_kept(&s, &large));
  wk_sched_explain seen = {.layer = ""};
  s.o.explain = &seen;
  assert_false(is_kept(&s, &large));
  assert_true(seen.list.n > 3);
  wk_vec_free(&seen.list);
  s.o.explain = NULL;
  assert_true(is_kept(&s, &large));
  /* without a place to keep them there is none */
  wk_sched_plans *kept = s.o.plans;
  s.o.plans = NULL;
  assert_false(is_kept(&s, &large));
  plan(&s, &s.small, &small);
  s.o.plans = kept;
  assert_true(is_kept(&s, &large));
  assert_string_not_equal(large.s, small.s);
  wk_str_free(&large);
  wk_str_free(&small);
  close(&s);
}

static void options_are_told_apart(void **state) {
  (void)state;
  for (int i = 0; i < 5; i++) {
    subject s;
    wk_str first = {0};
    open(&s);
    plan(&s, &s.large, &first);
    if (i == 0) s.o.prefetch = WK_PREFETCH_OFF;
    if (i == 1) s.o.prefetch = WK_PREFETCH_DOUBLE;
    if (i == 2) s.o.effort = 1;
    if (i == 3) s.o.marks = true;
    if (i == 4) s.o.without = 1;
    if (is_kept(&s, &first)) fail_msg("option %d is not looked at", i);
    wk_str_free(&first);
    close(&s);
  }
}

/* ---- nets that differ in one number ---------------------------------------------------------- */

/* Some of those that a search reads, such that it can still go through the net. */
typedef enum { OUT, A, B, A_U8, B_U8, FN, PIECE_0, PIECE_1, SEGMENT, BYTES, CHANGES } change;

static void make_change(subject *s, change what, size_t i) {
  wk_accel_op *op = &s->net.ops.data[what < SEGMENT ? i : 0];
  wk_accel_tensor *t = &s->net.tensors.data[i];
  wk_accel_piece *pieces = (wk_accel_piece *)(uintptr_t)op->pieces;
  switch (what) {
    case OUT: op->out.so += op->out.sb; break;
    case A: op->a.so += op->out.sb; break;
    case B: op->b.so += op->out.sb; break;
    case A_U8: op->a_u8 = !op->a_u8; break;
    case B_U8: op->b_u8 = !op->b_u8; break;
    case FN: op->fn ^= 1; break;
    case PIECE_0: pieces[0].width--; break;
    case PIECE_1: pieces[1].width--; break;
    case SEGMENT: /* const, work, io: another of the three */
      t->segment = t->segment < WK_SEGMENT_IO ? t->segment + 1 : WK_SEGMENT_WORK;
      break;
    case BYTES: t->bytes += t->row; break;
    case CHANGES: break;
  }
}

static void nets_are_told_apart(void **state) {
  (void)state;
  for (int what = 0; what < CHANGES; what++)
    for (size_t i = 0; i < (what < SEGMENT ? 3 : 6); i++) {
      subject s;
      wk_str first = {0};
      open(&s);
      assert_int_equal(s.net.ops.n, 3);
      assert_int_equal(s.net.ops.data[i % 3].n_pieces, 2);
      assert_int_equal(s.net.tensors.n, 6);
      plan(&s, &s.large, &first);
      make_change(&s, (change)what, i);
      if (is_kept(&s, &first)) fail_msg("change %d of %zu is not looked at", what, i);
      wk_str_free(&first);
      close(&s);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_is_kept),
                                     cmocka_unit_test(options_are_told_apart),
                                     cmocka_unit_test(nets_are_told_apart)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
