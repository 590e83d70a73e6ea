/* SPDX-License-Identifier: Apache-2.0
 * Plans of the accelerator: what may be a group and what may stay, condition by condition, and
 * where the local search gets to from plans that are bad on purpose, so that each of its moves is
 * worth something. accel_plans.def has what comes out; rows that differ are printed as they would
 * stand there.
 *   test_accel_plan print     all rows */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/compile/emit.h"
#include "tests/unit/accel_edges.h"

/* ---- by hand --------------------------------------------------------------------------------- */

enum { MOST = 8 };

/* Operators that write and read tensors; -1: none. */
typedef struct {
  int out, a, b;
} op;

typedef struct {
  wk_machine machine;
  wk_sched_machine sched;
  wk_sched_net net;
  wk_sched_tensor tensors[MOST];
  wk_sched_op ops[MOST];
  wk_sched_use *uses;
  bool is_tied[MOST];
  wk_sched_options o;
  wk_sched_group groups[MOST];
  wk_sched_searching x;
  wk_arena *arena;
} hand;

static hand *hand_new(const op *ops, int n) {
  hand *h = wk_xcalloc(1, sizeof *h);
  assert_null(wk_machine_read("base", &h->machine));
  h->arena = wk_arena_new();
  wk_accel_sched_machine(&h->machine, &h->sched);
  h->net = (wk_sched_net){.machine = &h->sched, .tensors = h->tensors, .n_tensors = MOST,
                          .ops = h->ops, .n_ops = (size_t)n};
  for (int i = 0; i < n; i++) {
    h->ops[i].out.tensor = ops[i].out;
    h->ops[i].in[0].tensor = ops[i].a;
    h->ops[i].in[1].tensor = ops[i].b;
  }
  h->uses = wk_sched_uses(&h->net, h->arena);
  h->x = (wk_sched_searching){.net = &h->net, .uses = h->uses, .o = &h->o, .is_tied = h->is_tied};
  h->x.plan.groups.data = h->groups;
  return h;
}

static void hand_free(hand *h) {
  wk_arena_free(h->arena);
  free(h);
}

/* Of each first operator the last ones with which it is a group: "0: 0 1, 1: 1". */
static void print_groups(const hand *h, wk_str *b) {
  int n = (int)h->net.n_ops;
  for (int first = 0; first < n; first++) {
    wk_str_printf(b, "%s%d:", first ? ", " : "", first);
    for (int last = first; last < n; last++)
      if (wk_sched_is_group(&h->x, first, last)) wk_str_printf(b, " %d", last);
  }
}

/* Tensor 0 is the input. */
static const struct {
  op ops[MOST];
  int n, tied; /* operators; the tensor whose writers write the same planes, or -1 */
  const char *groups;
} runs[] = {
    /* a chain: any run */
    {{{1, 0, -1}, {2, 1, -1}, {3, 2, -1}}, 3, -1, "0: 0 1 2, 1: 1 2, 2: 2"},
    /* two writers of planes of their own that nobody here reads: any run; tied: both or none */
    {{{1, 0, -1}, {1, 0, -1}}, 2, -1, "0: 0 1, 1: 1"},
    {{{1, 0, -1}, {1, 0, -1}}, 2, 1, "0: 1, 1:"},
    {{{1, 0, -1}, {2, 0, -1}, {1, 0, -1}}, 3, 1, "0: 2, 1: 1, 2:"},
    {{{2, 0, -1}, {1, 0, -1}, {1, 0, -1}, {3, 0, -1}}, 4, 1, "0: 0 2 3, 1: 2 3, 2:, 3: 3"},
    /* who reads what two have written: with both of them or with neither, as a or as b */
    {{{1, 0, -1}, {1, 0, -1}, {2, 1, -1}}, 3, -1, "0: 0 1 2, 1: 1, 2: 2"},
    {{{1, 0, -1}, {1, 0, -1}, {2, 0, 1}}, 3, -1, "0: 0 1 2, 1: 1, 2: 2"},
    {{{1, 0, -1}, {1, 0, -1}, {2, 1, -1}}, 3, 1, "0: 1 2, 1:, 2: 2"},
    /* one that reads the first half before the second is written */
    {{{1, 0, -1}, {2, 1, -1}, {1, 2, -1}, {3, 1, -1}}, 4, -1, "0: 0 2 3, 1: 1, 2: 2, 3: 3"},
    /* two such tensors */
    {{{1, 0, -1}, {2, 0, -1}, {1, 0, -1}, {2, 0, -1}}, 4, 2, "0: 0 3, 1: 3, 2: 2, 3:"},
};

static void groups_of_operators(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(runs); i++) {
    hand *h = hand_new(runs[i].ops, runs[i].n);
    wk_str got = {0};
    if (runs[i].tied >= 0) h->is_tied[runs[i].tied] = true;
    print_groups(h, &got);
    if (strcmp(got.s, runs[i].groups) != 0)
      fail_msg("case %zu: %s, not %s", i, got.s, runs[i].groups);
    wk_str_free(&got);
    hand_free(h);
  }
}

/* x -> 1 -> 2 -> 3, and 3 is made of 1 as well; 4 is written and not read. */
static const op chain[] = {{1, 0, -1}, {2, 1, -1}, {3, 2, 1}, {4, 3, 0}};

static void uses_of_tensors(void **state) {
  static const int want[MOST][4] = {{-1, -1, 0, 3}, {0, 0, 1, 2}, {1, 1, 2, 2}, {2, 2, 3, 3},
                                    {3, 3, -1, -1}, {-1, -1, -1, -1}, {-1, -1, -1, -1},
                                    {-1, -1, -1, -1}};
  hand *h = hand_new(chain, WK_COUNTOF(chain));
  (void)state;
  for (int t = 0; t < MOST; t++) {
    const wk_sched_use *u = &h->uses[t];
    const int got[] = {u->first_writer, u->last_writer, u->first_reader, u->last_reader};
    if (memcmp(got, want[t], sizeof got) != 0)
      fail_msg("tensor %d: %d %d %d %d", t, got[0], got[1], got[2], got[3]);
  }
  hand_free(h);
}

/* Groups end with these operators. */
static void cut(hand *h, const char *lasts) {
  int first = 0;
  for (h->x.plan.groups.n = 0; *lasts; lasts++) {
    int last = *lasts - '0';
    h->groups[h->x.plan.groups.n++] = (wk_sched_group){.first = first, .last = last,
                                                           .strips = 1};
    first = last + 1;
  }
}

static void groups_by_operator(void **state) {
  static const size_t want[] = {0, 1, 1, 2};
  hand *h = hand_new(chain, WK_COUNTOF(chain));
  (void)state;
  cut(h, "023");
  for (int i = 0; i < 4; i++) assert_int_equal(wk_sched_group_of(&h->x.plan, i), want[i]);
  hand_free(h);
}

/* Each row is the first but for one thing. `larger`: bytes beyond half of the scratchpad. */
static const struct {
  int tensor, last;
  bool stays;
  const char *groups;
  int64_t larger;
  bool is_dense;
  unsigned without;
} staying[] = {
    {1, 2, true, "0123", 0, false, 0},
    {1, 2, true, "0123", 0, false, WK_SCHED_FUSION},
    {1, 2, false, "0123", 0, false, WK_SCHED_RESIDENCY},
    {1, 2, false, "0123", 0, true, 0},
    {1, 2, false, "0123", 1, false, 0},
    {1, 2, true, "0123", -1, false, 0},
    {1, 1, true, "0123", 0, false, 0},
    {1, 1, false, "123", 0, false, 0}, /* in the group of its writer */
    {1, 2, true, "123", 0, false, 0},
    {1, 2, false, "23", 0, false, 0},
    {0, 3, true, "0123", 0, false, 0}, /* from its first reader on, since nobody writes it */
    {0, 3, true, "23", 0, false, 0},
    {0, 0, false, "0123", 0, false, 0},
    {0, 3, false, "3", 0, false, 0},
    {3, 3, true, "0123", 0, false, 0},
    {3, 1, false, "0123", 0, false, 0}, /* before it is written */
    {4, 3, false, "0123", 0, false, 0}, /* nobody reads it */
    {5, 3, false, "0123", 0, false, 0}, /* nobody has it */
};

static void tensors_that_stay(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(staying); i++) {
    hand *h = hand_new(chain, WK_COUNTOF(chain));
    cut(h, staying[i].groups);
    h->tensors[staying[i].tensor] = wk_accel_sched_tensor(&(wk_accel_tensor){
        .bytes = h->machine.scratchpad / 2 + staying[i].larger, .is_dense = staying[i].is_dense});
    h->o.without = staying[i].without;
    bool stays = wk_sched_may_stay(&h->x, (size_t)staying[i].tensor, staying[i].last);
    if (stays != staying[i].stays) fail_msg("case %zu: %d", i, stays);
    hand_free(h);
  }
}

/* Of the results alone, and of these the largest. */
static void strips_of_groups(void **state) {
  static const struct {
    int first, last, strips;
  } want[] = {{0, 0, 7}, {0, 1, 9}, {1, 1, 9}, {1, 2, 9}, {2, 2, 1}, {2, 3, 3}, {0, 3, 9}};
  static const int64_t rows[] = {50, 7, 9, 1, 3};
  hand *h = hand_new(chain, WK_COUNTOF(chain));
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) h->tensors[i].rows = rows[i];
  for (size_t i = 0; i < WK_COUNTOF(want); i++)
    assert_int_equal(wk_sched_most_strips(&h->x, want[i].first, want[i].last), want[i].strips);
  hand_free(h);
}

/* ---- the local search ------------------------------------------------------------------------ */

#define Q "sat<i8>(rescale(%0, 9000000i64, 13i64))"
#define CONV(y, x, w, pads, group, type)                                                         \
  "  %w" y " = constant i8[" w "] splat(3)\n  %" y " = conv(%" x ", %w" y                        \
  ") {strides=[1,1], pads=[" pads "], dilations=[1,1], group=" group ", epilogue=\"" Q           \
  "\"} : i8[" type "]\n"
#define ADD(y, a, b, type)                                                                       \
  "  %" y " = map(%" a ", %" b ") {body=\"sat<i8>(add(i32(%0), i32(%1)))\"} : i8[" type "]\n"
#define PAD "1,1,1,1"
#define NONE "0,0,0,0"

static const struct {
  const char *name, *machine, *graph;
} graphs[] = {
    {"chain", "tiny",
     IN("2", "8", "16", "24,24")
     CONV("a", "x", "16,16,3,3", PAD, "1", "1,16,24,24")
     CONV("b", "a", "16,1,3,3", PAD, "16", "1,16,24,24")
     CONV("c", "b", "16,16,1,1", NONE, "1", "1,16,24,24") OUT("c", "2", "8", "24,24")},
    {"bottleneck", "tiny",
     IN("4", "8", "32", "12,12")
     CONV("a", "x", "16,32,1,1", NONE, "1", "1,16,12,12")
     CONV("b", "a", "16,16,3,3", PAD, "1", "1,16,12,12")
     CONV("c", "b", "32,16,1,1", NONE, "1", "1,32,12,12")
     ADD("d", "c", "x", "1,32,12,12")
     CONV("e", "d", "16,32,1,1", NONE, "1", "1,16,12,12")
     ADD("f", "e", "a", "1,16,12,12") OUT("f", "2", "8", "12,12")},
    {"weights", "tiny", /* that are loaded again and again, if nothing is done about it */
     IN("8", "8", "64", "8,8")
     CONV("a", "x", "64,64,1,1", NONE, "1", "1,64,8,8")
     CONV("b", "a", "32,64,3,3", PAD, "1", "1,32,8,8")
     CONV("c", "b", "64,32,1,1", NONE, "1", "1,64,8,8")
     ADD("d", "c", "a", "1,64,8,8") OUT("d", "8", "8", "8,8")},
    {"wide", "base",
     IN("3", "16", "48", "20,20")
     CONV("a", "x", "96,48,1,1", NONE, "1", "1,96,20,20")
     CONV("b", "a", "96,1,3,3", PAD, "96", "1,96,20,20")
     CONV("c", "b", "48,96,1,1", NONE, "1", "1,48,20,20")
     ADD("d", "c", "x", "1,48,20,20")
     CONV("e", "d", "32,48,1,1", NONE, "1", "1,32,20,20") OUT("e", "2", "16", "20,20")},
};

typedef enum { APART, TOGETHER, STAYING, BEGINS } start;
static const char *const starts[] = {"apart", "together", "staying"};

static const struct {
  const char *graph, *start;
  int tries;
  const char *without, *plan;
} plans[] = {
#define PLAN(...) {__VA_ARGS__},
#include "tests/unit/accel_plans.def"
};

static const int tries[] = {1, 30, 200};
static const char *const left_out[] = {"", "fusion", "residency"};

typedef struct {
  wk_machine machine;
  wk_module *module;
  wk_arena *arena;
  wk_accel_net net;
  wk_sched_net sched;
  wk_sched_steps steps;
  wk_sched_options o;
  wk_sched_searching x;
} subject;

static void open(subject *s, size_t graph) {
  wk_str text = {0};
  wk_accel_refused why;
  *s = (subject){.arena = wk_arena_new(), .o = {.prefetch = WK_PREFETCH_AUTO, .effort = 2}};
  assert_null(wk_machine_read(graphs[graph].machine, &s->machine));
  wk_str_printf(&text, "module \"t\" {\ngraph @main%s  output %%y\n}\n}\n", graphs[graph].graph);
  wk_status bad = wk_module_parse(text.s, "t", &s->module);
  if (bad) fail_msg("%s: %s", bad->place, bad->message);
  wk_accel_net_init(&s->net, &s->machine, s->arena);
  if (!wk_accel_net_make(s->module->main, &s->net, &why)) fail_msg("%s", why.reason);
  wk_accel_sched_net(&s->net, s->arena, &s->sched);
  s->x = (wk_sched_searching){.net = &s->sched, .uses = wk_sched_uses(&s->sched, s->arena),
                              .o = &s->o, .steps = &s->steps};
  s->x.is_tied = wk_arena_alloc(s->arena, (s->net.tensors.n + 1) * sizeof *s->x.is_tied);
  s->x.plan.resident = wk_xcalloc(s->net.tensors.n + 1, sizeof *s->x.plan.resident);
  wk_str_free(&text);
}

static void close(subject *s) {
  wk_sched_plan_free(&s->x.plan);
  wk_sched_steps_free(&s->steps);
  wk_accel_net_free(&s->net);
  wk_module_free(s->module);
  wk_arena_free(s->arena);
}

static void begin(subject *s, start from) {
  wk_sched_plan *p = &s->x.plan;
  int n = (int)s->net.ops.n;
  p->lasting = from == STAYING ? 256 : 8;
  p->chunk = s->machine.scratchpad / (from == STAYING ? 8 : 128);
  for (int i = 0; i < n; i++) {
    wk_sched_group g = {.first = i, .last = i, .strips = 1};
    if (from == TOGETHER) g.last = i = n - 1;
    if (from != STAYING) g.strips = wk_sched_most_strips(&s->x, g.first, g.last);
    if (from == TOGETHER) g.first = 0;
    g.keeps = from == TOGETHER;
    g.alone = from == APART;
    wk_vec_push(&p->groups, g);
  }
  for (size_t t = 0; t < s->net.tensors.n; t++) {
    int last = s->x.uses[t].last_reader;
    p->resident[t] = from == STAYING && wk_sched_may_stay(&s->x, t, last) ? last : -1;
  }
}

/* "0-2/4fk 3-3/1a; 2:3; 1024, 48; 900 cycles, 700 bytes": groups with their strips, f for those by
 * rows of the first operator, k for constants that are kept, a for those that begin alone; tensors
 * that stay until an operator; sizes of loads, lasting. */
static void print_plan(const subject *s, wk_str *b) {
  const wk_sched_plan *p = &s->x.plan;
  for (size_t i = 0; i < p->groups.n; i++) {
    const wk_sched_group *g = &p->groups.data[i];
    wk_str_printf(b, "%s%d-%d/%d%s%s%s", i ? " " : "", g->first, g->last, g->strips,
                  g->by_first ? "f" : "", g->keeps ? "k" : "", g->alone ? "a" : "");
  }
  wk_str_add(b, ";");
  for (size_t t = 0; t < s->net.tensors.n; t++)
    if (p->resident[t] >= 0) wk_str_printf(b, " %zu:%d", t, p->resident[t]);
  wk_sched_verdict v = wk_sched_judge(&s->x, p, 0, p->groups.n);
  wk_str_printf(b, "; %lld, %d; ", (long long)p->chunk, p->lasting);
  if (v.fits) wk_str_printf(b, "%lld cycles, %lld bytes", (long long)v.cycles, (long long)v.bytes);
  else wk_str_add(b, "no room");
}

static void improve(size_t graph, start from, int n, const char *without, wk_str *b) {
  subject s;
  open(&s, graph);
  if (*without) assert_null(wk_sched_ideas_read(without, &s.o.without));
  begin(&s, from);
  if (n) wk_sched_improve(&s.x, n, INT64_MAX);
  print_plan(&s, b);
  close(&s);
}

static bool is_printing;

static void print_row(const char *graph, const char *from, int n, const char *without,
                      const char *plan) {
  int groups = (int)strcspn(plan, ";");
  printf("PLAN(\"%s\", \"%s\", %d, \"%s\",\n     \"%.*s\"\n     \"%s\")\n", graph, from, n,
         without, groups, plan, plan + groups);
}

static void local_search(void **state) {
  size_t i = 0, wrong = 0;
  (void)state;
  for (size_t g = 0; g < WK_COUNTOF(graphs); g++)
    for (int from = 0; from < BEGINS; from++)
      for (size_t k = 0; k < WK_COUNTOF(tries); k++)
        for (size_t w = 0; w < WK_COUNTOF(left_out); w++, i++) {
          wk_str got = {0};
          improve(g, (start)from, tries[k], left_out[w], &got);
          bool is_same = i < WK_COUNTOF(plans) && !strcmp(plans[i].graph, graphs[g].name) &&
                         !strcmp(plans[i].start, starts[from]) && plans[i].tries == tries[k] &&
                         !strcmp(plans[i].without, left_out[w]) && !strcmp(plans[i].plan, got.s);
          if (!is_same || is_printing)
            print_row(graphs[g].name, starts[from], tries[k], left_out[w], got.s);
          wrong += !is_same;
          wk_str_free(&got);
        }
  if (is_printing) return;
  assert_int_equal(i, WK_COUNTOF(plans));
  assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(local_search),      cmocka_unit_test(groups_of_operators),
      cmocka_unit_test(uses_of_tensors),   cmocka_unit_test(groups_by_operator),
      cmocka_unit_test(tensors_that_stay), cmocka_unit_test(strips_of_groups)};
  is_printing = argc > 1 && !strcmp(argv[1], "print");
  return is_printing ? cmocka_run_group_tests(((const struct CMUnitTest[]){tests[0]}), NULL, NULL)
                     : cmocka_run_group_tests(tests, NULL, NULL);
}
