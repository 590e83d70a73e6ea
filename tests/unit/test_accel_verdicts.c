/* SPDX-License-Identifier: Apache-2.0
 * Verdicts that are kept (compiler/stream/verdicts.c): of any groups of any plan they are what
 * judging anew gives, and layers that are alike share them; of long plans they are put together
 * (whole.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/compile/compile.h"

#define QUANTISED "sat<i8>(rescale(%%0, 9000000i64, 13i64))" /* in a format */

enum { BLOCKS = 6, MANY = 40, IMAGES = 2 };

typedef struct {
  wk_machine machine;
  wk_module *module;
  wk_arena *arena;
  wk_accel_net net;
  wk_sched_net sched;
  wk_sched_steps steps;
  wk_sched_options o;
  wk_sched_searching x;
  wk_rng rng;
  int misfits;
} subject;

/* Blocks of a convolution and a sum with its input, all alike but one, whose weights are fewer. */
static void write_graph(wk_str *b, int blocks) {
  wk_str_printf(b, "module \"t\" {\ngraph @main(%%i: i8[%d,2,12,12,16]) {\n"
                   "  %%t = transpose(%%i) {perm=[0,1,4,2,3]} : i8[%d,2,16,12,12]\n"
                   "  %%x0 = reshape(%%t) {shape=[%d,32,12,12]} : i8[%d,32,12,12]\n",
                IMAGES, IMAGES, IMAGES, IMAGES);
  for (int i = 0; i < blocks; i++) {
    int k = i == 3 ? 1 : 3, pad = k / 2;
    wk_str_printf(b, "  %%w%d = constant i8[32,32,%d,%d] splat(%d)\n", i, k, k, i + 1);
    wk_str_printf(b, "  %%c%d = conv(%%x%d, %%w%d) {strides=[1,1], pads=[%d,%d,%d,%d], "
                     "dilations=[1,1], epilogue=\"" QUANTISED "\"} : i8[%d,32,12,12]\n",
                  i, i, i, pad, pad, pad, pad, IMAGES);
    wk_str_printf(b, "  %%x%d = map(%%c%d, %%x%d) {body=\"sat<i8>(add(i32(%%0), i32(%%1)))\"} : "
                     "i8[%d,32,12,12]\n", i + 1, i, i, IMAGES);
  }
  wk_str_printf(b, "  %%r = reshape(%%x%d) {shape=[%d,2,16,12,12]} : i8[%d,2,16,12,12]\n"
                   "  %%y = transpose(%%r) {perm=[0,1,3,4,2]} : i8[%d,2,12,12,16]\n"
                   "  output %%y\n}\n}\n", blocks, IMAGES, IMAGES, IMAGES);
}

static void open(subject *s, int64_t scratchpad, int blocks) {
  wk_str text = {0};
  wk_accel_refused why;
  *s = (subject){.arena = wk_arena_new(), .o = {.prefetch = WK_PREFETCH_AUTO, .effort = 1},
                 .rng = {1}};
  assert_null(wk_machine_read("base", &s->machine));
  s->machine.scratchpad = scratchpad;
  write_graph(&text, blocks);
  wk_status bad = wk_module_parse(text.s, "t", &s->module);
  if (bad) fail_msg("%s: %s", bad->place, bad->message);
  wk_accel_net_init(&s->net, &s->machine, s->arena);
  if (!wk_accel_net_make(s->module->main, &s->net, &why)) fail_msg("%s", why.reason);
  for (size_t i = 0; i < s->net.ops.n; i++) /* operators need not stand in the order of layers */
    s->net.ops.data[i].layer = (uint32_t)s->net.layers.n - 1 - s->net.ops.data[i].layer;
  wk_accel_sched_net(&s->net, s->arena, &s->sched);
  s->x = (wk_sched_searching){.net = &s->sched, .uses = wk_sched_uses(&s->sched, s->arena),
                              .o = &s->o, .steps = &s->steps,
                              .verdicts = wk_sched_verdicts_new(),
                              .looks = wk_sched_looks_new(&s->sched)};
  s->x.is_tied = wk_arena_alloc(s->arena, s->sched.n_tensors * sizeof *s->x.is_tied);
  s->x.plan.resident = wk_xcalloc(s->sched.n_tensors, sizeof *s->x.plan.resident);
  wk_str_free(&text);
}

static void close(subject *s) {
  wk_sched_verdicts_free(s->x.verdicts);
  wk_sched_looks_free(s->x.looks);
  wk_sched_plan_free(&s->x.plan);
  wk_sched_steps_free(&s->steps);
  wk_accel_net_free(&s->net);
  wk_module_free(s->module);
  wk_arena_free(s->arena);
}

static int draw(subject *s, int lo, int hi) { return (int)wk_rng_range(&s->rng, lo, hi); }

static void draw_groups(subject *s) {
  wk_sched_plan *p = &s->x.plan;
  p->groups.n = 0;
  for (int first = 0, last; first < (int)s->sched.n_ops; first = last + 1) {
    last = first + draw(s, 0, 3);
    if (last >= (int)s->sched.n_ops) last = (int)s->sched.n_ops - 1;
    wk_sched_group g = {.first = first, .last = last, .alone = !draw(s, 0, 5)};
    int most = wk_sched_most_rounds(&s->x, first, last);
    g.strips = draw(s, 0, 1) ? draw(s, 1, 3) : 1;
    g.rounds = draw(s, 0, 1) ? most : 1;
    g.keeps = (g.strips > 1 || g.rounds > 1) && draw(s, 0, 1);
    g.is_brief = draw(s, 0, 1);
    g.staggers = draw(s, 0, 1) && wk_sched_may_stagger(&s->x, &g);
    g.by_first = draw(s, 0, 1) && wk_sched_may_go_by_first(&s->sched, &g);
    wk_vec_push(&p->groups, g);
    size_t i = p->groups.n - 1;
    p->groups.data[i].follows = i && draw(s, 0, 1) && wk_sched_can_follow(&s->x, p, i);
  }
}

static void draw_plan(subject *s) {
  wk_sched_plan *p = &s->x.plan;
  static const int limits[] = {0, 1, 2};
  p->limit = limits[draw(s, 0, 2)];
  p->lasting = draw(s, 0, 1) ? 48 : 8;
  p->chunk = s->machine.scratchpad / (draw(s, 0, 1) ? 32 : 16);
  p->marks = !draw(s, 0, 3);
  s->o.prefetch = draw(s, 0, 1) ? WK_PREFETCH_AUTO : WK_PREFETCH_DOUBLE;
  s->o.without = draw(s, 0, 3) ? 0 : WK_SCHED_CROSS_LAYER;
  draw_groups(s);
  for (size_t t = 0; t < s->sched.n_tensors; t++) p->resident[t] = -1;
  for (size_t t = 0; t < s->sched.n_tensors; t++) {
    int last = s->x.uses[t].last_reader;
    if (draw(s, 0, 1) && wk_sched_may_stay(&s->x, t, last))
      p->resident[t] = p->groups.data[wk_sched_group_of(p, last)].last;
  }
}

static void check(subject *s, size_t g0, size_t g1) {
  wk_sched_verdict kept = wk_sched_judge(&s->x, &s->x.plan, g0, g1);
  wk_sched_verdict anew = wk_sched_judge_anew(&s->x, &s->x.plan, g0, g1);
  assert_int_equal(kept.fits, anew.fits);
  assert_int_equal(kept.cycles, anew.cycles);
  assert_int_equal(kept.bytes, anew.bytes);
  assert_true(kept.most == anew.most && kept.bus == anew.bus);
  for (int q = 0; q < WK_SCHED_QUEUES; q++) assert_true(kept.busy[q] == anew.busy[q]);
}

/* The operator that has no room is one of theirs. */
static void check_misfit(const subject *s, const wk_sched_verdict *v, size_t g0, size_t g1) {
  const wk_sched_group *g = s->x.plan.groups.data;
  int op = g[g0].first + v->misfit;
  assert_in_range(op, g[g0].first, g[g1 - 1].last);
}

/* What is refused early does not fit, and what is not is judged as it would be. */
static void check_room(subject *s, size_t g0, size_t g1) {
  wk_sched_times t;
  wk_arena *a = wk_arena_new();
  wk_sched_verdict v = wk_sched_judge_anew(&s->x, &s->x.plan, g0, g1);
  wk_sched_steps_clear(&s->steps, &s->sched);
  wk_sched_build(&s->sched, &s->x.plan, s->x.uses, g0, g1, &s->steps);
  wk_sched_depend(&s->sched, s->o.prefetch, s->o.without, &s->steps);
  int64_t room = s->machine.scratchpad;
  assert_int_equal(v.fits, wk_sched_simulate(&s->sched, &s->steps, room, s->o.prefetch, a, &t));
  if (v.fits) assert_true(wk_sched_least_room(s->sched.machine, &s->steps) <= room);
  else check_misfit(s, &v, g0, g1), s->misfits++;
  wk_arena_free(a);
}

static void kept_are_those_found_anew(void **state) {
  static const int64_t scratchpads[] = {262144, 24576};
  (void)state;
  for (size_t m = 0; m < WK_COUNTOF(scratchpads); m++) {
    subject s;
    open(&s, scratchpads[m], BLOCKS);
    for (int i = 0; i < 150; i++) {
      draw_plan(&s);
      size_t n = s.x.plan.groups.n;
      for (size_t g = 0; g < n; g++) check(&s, g, g + 1), check_room(&s, g, g + 1);
      size_t from = (size_t)draw(&s, 0, (int)n - 1);
      check(&s, from, (size_t)draw(&s, (int)from + 1, (int)n));
    }
    if (m) assert_true(s.misfits > 100);
    close(&s);
  }
}

/* A convolution alone, that of each block: the first begins the part, the fourth is smaller. */
static void alike_are_judged_once(void **state) {
  subject s;
  size_t known[BLOCKS];
  (void)state;
  open(&s, 262144, BLOCKS);
  s.x.plan.lasting = 48;
  s.x.plan.chunk = s.machine.scratchpad / 32;
  for (size_t t = 0; t < s.sched.n_tensors; t++) s.x.plan.resident[t] = -1;
  for (int i = 0; i < BLOCKS; i++) {
    wk_sched_group g = {.first = 2 * i, .last = 2 * i, .strips = 2, .rounds = 1};
    s.x.plan.groups.n = 0;
    wk_vec_push(&s.x.plan.groups, g);
    check(&s, 0, 1);
    known[i] = wk_sched_verdicts_known(s.x.verdicts);
  }
  for (int i = 0; i < BLOCKS; i++) assert_int_equal(known[i], i == 0 ? 1 : i < 3 ? 2 : 3);
  close(&s);
}

/* A block is a group. */
static void take_blocks(subject *s) {
  wk_sched_plan *p = &s->x.plan;
  p->lasting = 48;
  p->chunk = s->machine.scratchpad / 32;
  for (int i = 0; i + 1 < (int)s->sched.n_ops; i += 2) {
    wk_sched_group g = {.first = i, .last = i + 1, .strips = 2, .rounds = 1, .keeps = true};
    wk_vec_push(&p->groups, g);
  }
  for (size_t t = 0; t < s->sched.n_tensors; t++) p->resident[t] = -1;
}

/* Near the whole, of the steps of some layers; where a group is another one, of those near it. */
static void long_plans_are_put_together(void **state) {
  subject s;
  (void)state;
  open(&s, 262144, MANY);
  take_blocks(&s);
  for (int strips = 2; strips < 6; strips++) {
    s.x.plan.groups.data[MANY / 2].strips = strips;
    size_t before = wk_sched_verdicts_known(s.x.verdicts);
    wk_sched_verdict near = wk_sched_judge_whole(&s.x, &s.x.plan);
    size_t found = wk_sched_verdicts_known(s.x.verdicts) - before;
    wk_sched_verdict v = wk_sched_judge_anew(&s.x, &s.x.plan, 0, s.x.plan.groups.n);
    assert_true(v.fits && near.fits);
    assert_int_equal(near.bytes, v.bytes);
    assert_true(llabs(near.cycles - v.cycles) <= v.cycles / 50);
    assert_in_range(found, 1, strips == 2 ? 10 : 6);
  }
  close(&s);
}

static void short_plans_are_judged_as_they_are(void **state) {
  subject s;
  (void)state;
  open(&s, 262144, BLOCKS);
  take_blocks(&s);
  wk_sched_verdict near = wk_sched_judge_whole(&s.x, &s.x.plan);
  wk_sched_verdict v = wk_sched_judge_anew(&s.x, &s.x.plan, 0, s.x.plan.groups.n);
  assert_int_equal(near.cycles, v.cycles);
  close(&s);
}

/* Layers that are alike, whose verdicts threads look for at the same time. */
static void long_plans_do_not_depend_on_threads(void **state) {
  subject s;
  wk_sched_plan first = {0};
  (void)state;
  open(&s, 24576, MANY);
  for (int threads = 1; threads <= 3; threads++) {
    wk_sched_plan p = {0};
    s.o.threads = threads;
    assert_null(wk_sched_search(&s.sched, s.x.uses, &s.o, threads == 1 ? &first : &p));
    if (threads == 1) continue;
    assert_true(p.groups.n == first.groups.n && wk_sched_is_long(&p));
    for (size_t g = 0; g < p.groups.n; g++) {
      const wk_sched_group *a = &p.groups.data[g], *b = &first.groups.data[g];
      assert_true(wk_sched_is_same_way(a, b));
      assert_true(a->alone == b->alone && a->follows == b->follows);
    }
    assert_memory_equal(p.resident, first.resident, s.sched.n_tensors * sizeof *p.resident);
    assert_true(p.lasting == first.lasting && p.chunk == first.chunk);
    wk_sched_plan_free(&p);
  }
  wk_sched_plan_free(&first);
  close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kept_are_those_found_anew),
                                     cmocka_unit_test(alike_are_judged_once),
                                     cmocka_unit_test(long_plans_are_put_together),
                                     cmocka_unit_test(long_plans_do_not_depend_on_threads),
                                     cmocka_unit_test(short_plans_are_judged_as_they_are)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
