/* SPDX-License-Identifier: Apache-2.0 */
/* Liveness, order, placement and its checker on programs and graphs. */
#include "tests/unit/case_text.h"

#include "tests/random_middle.h"
#include "tests/unit/middle.h"

static void must(wk_status s) {
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
}

/* ---- liveness -------------------------------------------------------------------------------- */

typedef struct {
  const char *what, *body, *live; /* live: "name first last" of every buffer that matters */
} live_case;

#define BUFFERS                                            \
  "  buffer input 0 %x : f32[4,4] align 64\n"              \
  "  buffer output 0 %y : f32[4,4] align 64\n"             \
  "  buffer act %a : 64 align 64\n  buffer act %b : 64 align 64\n" \
  "  buffer act %c : 64 align 64\n  buffer act %n : 1 align 64\n"
#define COPY(to, from) "  copy(@out %" to "[4,4]:f32; @in %" from "[4,4]:f32)\n"
#define ROW_OUT(to, from) "  copy(@out %" to "[4]:f32 step 16; @in %" from "[4]:f32)\n"

static const live_case live_cases[] = {
    {"from the first to the last mention",
     COPY("a", "x") COPY("b", "a") COPY("c", "a") COPY("y", "c"),
     "a 0 2 b 1 1 c 2 3"},
    {"not mentioned", COPY("y", "x"), "a 1 0"},
    {"what a loop reads from outside lives through it",
     COPY("a", "x") "  loop(; -, -) {trip=2} do {\n" COPY("b", "a") COPY("y", "b") "  }\n",
     "a 0 3 b 2 3"},
    {"written in the loop, read behind it",
     "  loop(; -, -) {trip=2} do {\n" COPY("a", "x") COPY("b", "x") "  }\n" COPY("y", "a"),
     "a 0 3 b 2 2"},
    {"read before it is written: carried around",
     COPY("a", "x") "  loop(; -, -) {trip=2} do {\n" COPY("b", "a") COPY("a", "b") "  }\n",
     "a 0 3 b 2 3"},
    {"rows are collected over all iterations",
     "  loop(; -, -) {trip=4} do {\n" ROW_OUT("a", "x") COPY("b", "x") COPY("c", "b") "  }\n"
     COPY("y", "a"),
     "a 0 4 b 2 3 c 3 3"},
    {"the first mention writes a part only: carried",
     "  loop(; -, -) {trip=2} do {\n  fill(@out %a[2,4]:f32) {value=1.0}\n"
     "  fill(@out %a[2,4]:f32 +32) {value=1.0}\n" COPY("y", "a") COPY("b", "x") "  }\n",
     "a 0 4 b 4 4"},
    {"an inner loop within one iteration of the outer one",
     "  loop(; -, -) {trip=2} do {\n" COPY("a", "x") "  loop(; -, -) {trip=2} do {\n" COPY("b", "a")
     COPY("c", "b") "  }\n" COPY("y", "c") "  }\n",
     "a 1 4 b 3 4 c 2 5"},
    {"branches", "  if(; @in %n[]:bool) then {\n" COPY("a", "x") COPY("b", "a") "  } else {\n"
     COPY("b", "x") "  }\n" COPY("y", "b"), "a 1 2 b 2 4 n 0 0"},
    {"the condition of a loop lives through it",
     "  fill(@out %n[]:bool) {value=1.0}\n"
     "  loop(; @inout %n[]:bool, -) {trip=2} do {\n" COPY("a", "x")
     COPY("y", "a") "  }\n",
     "n 0 3 a 2 3"},
    {"a nest interleaves what it does",
     COPY("a", "x") "  nest() do {\n"
     "    map(@out %b[4,4]:f32; @in %a[4,4]:f32) {body=\"neg(%0)\"}\n"
     "    map(@out %c[4,4]:f32; @in %b[4,4]:f32) {body=\"neg(%0)\"}\n  }\n" COPY("y", "c"),
     "a 0 3 b 1 3 c 1 4"},
};

static uint32_t buffer_named(const wk_program *p, const char *name, size_t n) {
  for (uint32_t b = 0; b < p->buffers.n; b++)
    if (strlen(p->buffers.data[b].name) == n && !memcmp(p->buffers.data[b].name, name, n)) return b;
  fail_msg("no buffer %.*s", (int)n, name);
  return 0;
}

static wk_program *parse(const char *buffers, const char *body) {
  wk_str text = {0};
  wk_program *p = NULL;
  wk_str_printf(&text, "program \"t\" {\n%s%s}\n", buffers, body);
  must(wk_program_parse(text.s, "case", &p));
  wk_str_free(&text);
  return p;
}

static void test_liveness(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(live_cases); i++) {
    wk_program *p = parse(BUFFERS, live_cases[i].body);
    wk_arena *scratch = wk_arena_new();
    wk_live *live = wk_liveness(p, scratch);
    const char *s = live_cases[i].live;
    while (*s) {
      size_t n = strcspn(s, " ");
      uint32_t b = buffer_named(p, s, n);
      long long first = strtoll(s + n, (char **)&s, 10), last = strtoll(s, (char **)&s, 10);
      if (live[b].first != first || live[b].last != last)
        fail_msg("%s: %s lives in [%lld, %lld], not [%lld, %lld]", live_cases[i].what,
                 p->buffers.data[b].name, (long long)live[b].first, (long long)live[b].last, first,
                 last);
      s += strspn(s, " ");
    }
    wk_arena_free(scratch);
    wk_program_free(p);
  }
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Bytes of the largest moment of this order, from the definition: a value lives from its node to
 * its last user; a map takes over an operand of its size that dies with it. Inputs and outputs are
 * free. */
static int64_t peak_of(const wk_graph *g, const uint32_t *order) {
  int64_t live = 0, peak = 0;
  uint32_t n = (uint32_t)g->nodes.n;
  for (uint32_t at = 0; at < n; at++) {
    const wk_node *node = wk_nod(g, order[at]);
    int64_t dead = 0, reuse = 0, born = 0;
    for (uint32_t v = 0; v < g->values.n; v++) {
      const wk_value *val = wk_val(g, v);
      if (val->kind != WK_VALUE_NODE) continue;
      bool is_output = false, read_here = false, read_later = false;
      for (size_t o = 0; o < g->outputs.n; o++) is_output |= g->outputs.data[o] == v;
      if (is_output) continue;
      for (uint32_t later = at; later < n; later++)
        for (uint32_t k = 0; k < wk_nod(g, order[later])->n_in; k++)
          if (wk_nod(g, order[later])->in[k] == v) {
            read_here |= later == at;
            read_later |= later > at;
          }
      int64_t bytes = wk_type_bytes(&val->type);
      bool made_here = val->node == order[at];
      if (made_here) born += bytes;
      if ((read_here || made_here) && !read_later) dead += bytes;
    }
    const wk_value *y = wk_val(g, node->out[0]);
    bool y_counts = born > 0;
    for (uint32_t k = 0; k < node->n_in && y_counts && node->op == WK_OP_MAP; k++) {
      const wk_value *x = wk_val(g, node->in[k]);
      bool later = false, is_output = false;
      for (uint32_t l = at + 1; l < n; l++)
        for (uint32_t j = 0; j < wk_nod(g, order[l])->n_in; j++)
          later |= wk_nod(g, order[l])->in[j] == node->in[k];
      for (size_t o = 0; o < g->outputs.n; o++) is_output |= g->outputs.data[o] == node->in[k];
      if (x->kind == WK_VALUE_NODE && !later && !is_output &&
          wk_type_bytes(&x->type) == wk_type_bytes(&y->type))
        reuse = wk_type_bytes(&y->type);
    }
    if (live + born - reuse > peak) peak = live + born - reuse;
    live += born - dead;
  }
  return peak;
}

/* The best over all topological orders, by plain enumeration with an explicit stack. */
static int64_t best_peak(const wk_graph *g) {
  uint32_t n = (uint32_t)g->nodes.n, order[8], next[9] = {0}, depth = 0;
  bool used[8] = {false};
  int64_t best = INT64_MAX;
  for (;;) {
    if (depth == n) {
      int64_t p = peak_of(g, order);
      if (p < best) best = p;
    }
    uint32_t i = depth == n ? n : next[depth];
    for (; i < n; i++) {
      bool ready = !used[i];
      for (uint32_t k = 0; ready && k < wk_nod(g, i)->n_in; k++) {
        const wk_value *v = wk_val(g, wk_nod(g, i)->in[k]);
        ready = v->kind != WK_VALUE_NODE || used[v->node];
      }
      if (ready) break;
    }
    if (i < n) {
      next[depth] = i + 1;
      order[depth++] = i;
      used[i] = true;
      next[depth] = 0;
    } else {
      if (depth == 0) return best;
      used[order[--depth]] = false;
    }
  }
}

static void add_use(wk_graph *g, wk_rng *r, wk_value_id *v, int *n) {
  wk_value_id x = v[wk_rng_range(r, 0, *n - 1)], y = v[wk_rng_range(r, 0, *n - 1)];
  const wk_type *t = &wk_val(g, x)->type;
  wk_attr_reduce *fold = wk_attrs_new(g->module->arena, WK_OP_REDUCE);
  fold->axes = wk_ints_fill(g->module->arena, 1, 0);
  bool same = wk_shape_equal(t, &wk_val(g, y)->type);
  wk_attr_map *a = wk_attrs_new(g->module->arena, WK_OP_MAP);
  wk_dtype types[] = {WK_F32, WK_F32};
  wk_expr *e;
  must(wk_expr_parse(g->module->arena, "add(%0, %1)", types, 2, &e));
  a->body = e;
  wk_value_id in[] = {x, y};
  wk_node_desc d = {.op = WK_OP_MAP, .attrs = a, .in = in, .n_in = 2};
  if (!same || wk_rng_range(r, 0, 3) == 0) {
    d = (wk_node_desc){.op = WK_OP_REDUCE, .attrs = fold, .in = in, .n_in = 1};
    if (wk_rng_range(r, 0, 1)) { /* large from small: a sum over pairs of rows */
      d = (wk_node_desc){.op = WK_OP_MAP, .attrs = a, .in = in, .n_in = 2};
    }
  }
  must(wk_graph_add(g, &d, &v[(*n)++]));
}

static wk_module *random_order_graph(uint64_t seed) {
  wk_module *m = wk_module_new("order");
  wk_graph *g = wk_graph_new(m, "main");
  wk_rng r = {seed};
  wk_value_id v[16];
  int n = 0;
  for (int64_t rows = 1; rows <= 4; rows *= 4) {
    wk_type t = wk_type_make(WK_F32, 2, (int64_t[]){rows, 16});
    v[n++] = wk_graph_input(g, NULL, &t);
  }
  for (int64_t k = wk_rng_range(&r, 3, 8); k > 0; k--) add_use(g, &r, v, &n);
  wk_graph_output(g, NULL, v[n - 1]);
  must(wk_module_verify(m));
  return m;
}

static void test_order_is_optimal(void **state) {
  (void)state;
  int better = 0;
  for (uint64_t seed = 1; seed <= 150; seed++) {
    wk_module *m = random_order_graph(seed);
    uint32_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    int64_t present = peak_of(m->main, order), best = best_peak(m->main), before, after;
    must(wk_order_nodes(m, &before, &after));
    must(wk_module_verify(m));
    int64_t now = peak_of(m->main, order);
    if (before != present || after != best || now != best)
      fail_msg("seed %d: %d -> %d reported, %d -> %d found, %d possible", (int)seed, (int)before,
               (int)after, (int)present, (int)now, (int)best);
    better += best < present;
    wk_module_free(m);
  }
  assert_true(better > 10);
}

/* Three branches that swell and shrink, level by level: one after the other is better. */
static void test_branches_one_by_one(void **state) {
  (void)state;
  wk_module *m = wk_module_new("branches");
  wk_graph *g = wk_graph_new(m, "main");
  wk_type t = wk_type_make(WK_F32, 2, (int64_t[]){1, 16}),
      w = wk_type_make(WK_F32, 2, (int64_t[]){16, 16});
  wk_value_id x = wk_graph_input(g, "x", &t), big[3], small[3], y;
  wk_value_id column = wk_graph_input(g, "column", &w), row = wk_graph_input(g, "row", &w);
  wk_attr_concat *a = wk_attrs_new(m->arena, WK_OP_CONCAT);
  for (int k = 0; k < 3; k++) big[k] = wk_build(g, WK_OP_MATMUL, NULL, 2, column, row);
  for (int k = 0; k < 3; k++) small[k] = wk_build(g, WK_OP_MATMUL, NULL, 2, x, big[k]);
  y = wk_build(g, WK_OP_CONCAT, a, 3, small[0], small[1], small[2]);
  wk_graph_output(g, NULL, wk_build(g, WK_OP_MATMUL, NULL, 2, y, row));
  int64_t before, after;
  must(wk_order_nodes(m, &before, &after));
  assert_int_equal(before, 3 * 1024 + 3 * 64); /* small pieces lie in one block, the concat's */
  assert_int_equal(after, 1024 + 3 * 64);
  wk_module_free(m);
}

/* A thousand independent chains take no more than a moment. */
static void test_wide_graph(void **state) {
  (void)state;
  wk_module *m = wk_module_new("wide");
  wk_graph *g = wk_graph_new(m, "main");
  wk_type t = wk_type_make(WK_F32, 1, (int64_t[]){16});
  wk_value_id x = wk_graph_input(g, "x", &t), v[1000];
  for (int k = 0; k < 1000; k++) v[k] = wk_build(g, WK_OP_TANH, NULL, 1, x);
  for (int k = 0; k < 1000; k++) v[k] = wk_build(g, WK_OP_ABS, NULL, 1, v[k]);
  for (int k = 1; k < 1000; k++) v[0] = wk_build(g, WK_OP_ADD, NULL, 2, v[0], v[k]);
  wk_graph_output(g, NULL, v[0]);
  must(wk_lower_nodes(m, NULL, NULL));
  int64_t before, after;
  must(wk_order_nodes(m, &before, &after));
  assert_int_equal(before, 1000 * 64);
  assert_true(after <= 3 * 64);
  wk_module_free(m);
}

/* What a body needs counts where its node runs. */
static void test_bodies_count(void **state) {
  (void)state;
  wk_module *m = NULL;
  must(wk_module_parse("module \"t\" {\n"
                       "graph @main(%x: f32[1,16], %c: bool[]) {\n"
                       "%y = if(%c, %x) then @big else @same : f32[1,16]\noutput %y\n}\n"
                       "graph @big(%x: f32[1,16]) {\n%t = transpose(%x) {perm=[1,0]} : f32[16,1]\n"
                       "%b = matmul(%t, %x) : f32[16,16]\n%y = matmul(%x, %b) : f32[1,16]\n"
                       "output %y\n}\n"
                       "graph @same(%x: f32[1,16]) {\noutput %x\n}\n}\n",
                       "case", &m));
  int64_t before, after;
  must(wk_order_nodes(m, &before, &after));
  assert_int_equal(after, 1024 + 64);
  wk_module_free(m);
}

/* ---- the checker ----------------------------------------------------------------------------- */

static wk_program *placed(const wk_tensor *in, wk_module *m, wk_tensor **want) {
  middle_options o = {.order = true, .rtol = 1e30};
  wk_str why = {0};
  wk_program *p = NULL;
  if (!middle_agrees(m, in, &o, &p, &why)) fail_msg("%s", why.s);
  *want = middle_eval_program(p, in, "placed", &why);
  return p;
}

static bool refused(const wk_program *p) {
  wk_status s = wk_place_check(p);
  wk_status_free(s);
  return s != NULL;
}

/* Moves one buffer. What the checker lets pass must still give the right results. */
static bool try_mutant(wk_program *p, wk_rng *r, const wk_tensor *in, const wk_tensor *want) {
  wk_buffer *b = &p->buffers.data[wk_rng_range(r, 0, (int64_t)p->buffers.n - 1)];
  int64_t old = b->offset, last = p->region_size[WK_REGION_ACT] - b->size;
  if (b->region != WK_REGION_ACT || b->size == 0 || last < 0) return false;
  b->offset = wk_rng_range(r, 0, last) / 64 * 64;
  bool moved = b->offset != old, caught = refused(p);
  if (moved && !caught) {
    wk_str why = {0};
    if (!middle_same(middle_eval_program(p, in, "mutant", &why), want, p->outputs.n, 0, "mutant",
                     &why))
      fail_msg("%s moved from %d to %d is not noticed: %s", b->name, (int)old, (int)b->offset,
               why.s);
  }
  b->offset = old;
  return moved && caught;
}

static void test_moved_buffers(void **state) {
  (void)state;
  int caught = 0;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    wk_module *m = random_middle_graph(seed, 8);
    wk_tensor *in = random_middle_inputs(m->main, seed), *want;
    size_t n_in = m->main->inputs.n;
    wk_program *p = placed(in, m, &want);
    wk_rng r = {seed};
    for (int k = 0; k < 20; k++) caught += try_mutant(p, &r, in, want);
    middle_free(want, p->outputs.n);
    middle_free(in, n_in);
    wk_program_free(p);
    wk_module_free(m);
  }
  if (caught <= 100) fail_msg("%d wrong offsets noticed", caught);
}

/* Regions and alignment. */
static void test_bounds(void **state) {
  (void)state;
  wk_program *p = parse(BUFFERS "  buffer const %k : 64 align 64 = splat(1)\n"
                                "  buffer const %l : 64 align 64 = splat(1)\n",
                        COPY("a", "k") COPY("b", "l") COPY("c", "a") COPY("y", "b"));
  must(wk_place(p, 64));
  must(wk_place_check(p));
  assert_int_equal(p->region_size[WK_REGION_ACT], p->act_bound);
  p->region_size[WK_REGION_ACT]--;
  assert_true(refused(p));
  p->region_size[WK_REGION_ACT]++;
  wk_buffer *b = &p->buffers.data[buffer_named(p, "b", 1)],
      *l = &p->buffers.data[buffer_named(p, "l", 1)];
  p->region_size[WK_REGION_ACT] += 64;
  int64_t old = b->offset;
  b->offset += 4;
  assert_true(refused(p));
  b->offset = -1;
  assert_true(refused(p));
  b->offset = old;
  must(wk_place_check(p));
  old = l->offset;
  l->offset = p->buffers.data[buffer_named(p, "k", 1)].offset; /* constants share */
  assert_true(refused(p));
  l->offset = old;
  l->size = 32; /* a view leaves it */
  assert_true(refused(p));
  wk_program_free(p);
}

/* Each is wrong in a way that only shows when the program runs more than straight through. */
static const struct { const char *what, *body; } wrong[] = {
    {"never written", COPY("y", "a")},
    {"an invariant is overwritten after its last mention in the loop's text",
     COPY("a", "x") "  loop(; -, -) {trip=2} do {\n"
     COPY("y", "a") COPY("b", "x") COPY("y", "b") "  }\n"},
    {"a condition is overwritten in the loop",
     "  fill(@out %n[]:bool) {value=1.0}\n"
     "  loop(; @inout %n[]:bool, -) {trip=2} do {\n" COPY("b", "x")
     COPY("y", "b") "  }\n"},
    {"a half is overwritten before the other half is written",
     "  fill(@out %a[2,4]:f32) {value=1.0}\n" COPY("b", "x") COPY("y", "b")
     "  fill(@out %a[2,4]:f32 +32) {value=1.0}\n" COPY("y", "a")},
    {"rows of a nest are interleaved",
     COPY("a", "x") "  nest() do {\n"
     "    map(@out %c[4,4]:f32; @in %a[4,4]:f32) {body=\"neg(%0)\"}\n"
     "    map(@out %b[4,4]:f32; @in %c[4,4]:f32) {body=\"neg(%0)\"}\n  }\n" COPY("y", "b")},
};

static void test_wrong_placements(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(wrong); i++) {
    wk_program *p = parse(BUFFERS, wrong[i].body);
    must(wk_place(p, 64));
    int64_t at = 0;
    for (size_t b = 0; b < p->buffers.n; b++)
      if (p->buffers.data[b].region == WK_REGION_ACT) {
        char name = p->buffers.data[b].name[0];
        p->buffers.data[b].offset = name == 'c' ? at + 64 : at; /* a, b and n share */
      }
    p->region_size[WK_REGION_ACT] = 128;
    if (!refused(p)) fail_msg("%s: not noticed", wrong[i].what);
    wk_program_free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_liveness),          cmocka_unit_test(test_order_is_optimal),
      cmocka_unit_test(test_branches_one_by_one), cmocka_unit_test(test_wide_graph),
      cmocka_unit_test(test_bodies_count),      cmocka_unit_test(test_moved_buffers),
      cmocka_unit_test(test_bounds),            cmocka_unit_test(test_wrong_placements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
