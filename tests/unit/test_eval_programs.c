/* SPDX-License-Identifier: Apache-2.0
 * Programs in the evaluator: how deep bodies may be, what becomes of states, what memory there is
 * before anything is written, and what is said of buffers that have none. */
#include "tests/unit/program_steps.h"

#include "compiler/eval/eval.h"

static const int64_t four[] = {4};

static uint32_t buffer(wk_program *p, const char *name, wk_region region, int64_t size,
                       int64_t offset, uint32_t io) {
  wk_buffer b = {.name = name, .region = region, .size = size, .align = 4, .offset = offset,
                 .io = io};
  return wk_program_buffer(p, &b);
}

static wk_view view(uint32_t id, int rank, const int64_t *dims) {
  wk_type type = wk_type_make(WK_F32, rank, dims);
  return wk_view_dense(id, &type, WK_ROLE_IN);
}

static void bind(wk_program_ios *ios, uint32_t id, wk_dtype t, int rank, const int64_t *dims) {
  wk_program_io io = {.name = "io", .buffer = id, .type = wk_type_make(t, rank, dims)};
  wk_vec_push(ios, io);
}

static void expect(wk_status s, const char *message, const char *place) {
  assert_string_equal(s ? s->message : "", message ? message : "");
  if (message && place) assert_string_equal(s->place ? s->place : "", place);
  wk_status_free(s);
}

/* ---- depth ----------------------------------------------------------------------------------- */

/* So many bodies in each other, of one kind, and what is done in the innermost. */
static wk_status run_nested(wk_op op, int depth, float *y) {
  wk_program *p = wk_program_new("deep");
  uint32_t x = buffer(p, "x", WK_REGION_INPUT, 16, -1, 0);
  uint32_t c = buffer(p, "c", WK_REGION_INPUT, 1, -1, 1);
  uint32_t to = buffer(p, "y", WK_REGION_OUTPUT, 16, -1, 0);
  bind(&p->inputs, x, WK_F32, 1, four);
  bind(&p->inputs, c, WK_BOOL, 0, NULL);
  bind(&p->outputs, to, WK_F32, 1, four);
  wk_view of[] = {view(to, 1, four), view(x, 1, four)}, flag = view(c, 0, NULL);
  flag.dtype = WK_BOOL;
  wk_block *b = &p->body;
  for (int k = 0; k < depth; k++) {
    wk_view none[2] = {{.buffer = WK_NONE}, {.buffer = WK_NONE}};
    wk_inst *i = op == WK_OP_IF     ? append(p, b, op, "", 0, 1, &flag)
                 : op == WK_OP_LOOP ? append(p, b, op, "trip=1", 0, 2, none)
                                    : append(p, b, op, "outer=1", 0, 0, NULL);
    b = &add_bodies(p, i, op == WK_OP_IF ? 2 : 1)[op == WK_OP_IF && k % 2];
    /* Nests look for operands in their bodies. */
    if (op == WK_OP_NEST) append(p, b, WK_OP_MAP, "body={f32:neg(%0)}", 1, 2, of);
  }
  append(p, b, WK_OP_MAP, "body={f32:add(%0,1f32)}", 1, 2, of);
  const float in[4] = {1, 2, 3, 4};
  const uint8_t one = 1;
  wk_status s = wk_eval_program(p, (const void *[]){in, &one}, (void *[]){y}, NULL, NULL);
  wk_program_free(p);
  return s;
}

/* 64 bodies in each other are run, 65 are not. */
static void test_depth(void **state) {
  (void)state;
  static const wk_op ops[] = {WK_OP_LOOP, WK_OP_NEST};
  const float want[4] = {2, 3, 4, 5};
  for (size_t i = 0; i < WK_COUNTOF(ops); i++) {
    float y[4] = {0};
    expect(run_nested(ops[i], 64, y), NULL, NULL);
    assert_memory_equal(y, want, sizeof want);
    expect(run_nested(ops[i], 65, y), "bodies are nested more than 64 deep", "step");
  }
  float y[4] = {0}, zeros[4] = {0};
  expect(run_nested(WK_OP_IF, 1, y), NULL, NULL);
  assert_memory_equal(y, want, sizeof want);
  memset(y, 0, sizeof y);
  expect(run_nested(WK_OP_IF, 2, y), NULL, NULL); /* in the arm that is not taken */
  assert_memory_equal(y, zeros, sizeof zeros);
}

static wk_status run_graphs(wk_op op, int depth, float *y) {
  wk_module *m = wk_module_new("deep");
  wk_graph *g = wk_graph_new(m, "main");
  const wk_type t = wk_type_make(WK_F32, 1, four), flag = wk_type_make(WK_BOOL, 0, NULL);
  const wk_type number = wk_type_make(WK_I64, 0, NULL);
  float in[4] = {1, 2, 3, 4};
  uint8_t one = 1;
  wk_graph *body = NULL;
  for (int k = 0; k <= depth; k++) {
    wk_graph *at = k < depth ? wk_graph_new(m, "body") : g;
    wk_value_id c = WK_NONE, x;
    if (op == WK_OP_LOOP && k < depth) (void)wk_graph_input(at, "i", &number);
    else c = wk_graph_input(at, "c", &flag);
    x = wk_graph_input(at, "x", &t);
    wk_value_id v = WK_NONE;
    if (!body) {
      v = wk_build(at, WK_OP_RELU, NULL, 1, x);
    } else if (op == WK_OP_IF) {
      wk_graph *arms[] = {body, body};
      const wk_value_id ins[] = {c, c, x};
      wk_node_desc d = {.op = op, .name = "node", .in = ins, .n_in = 3, .n_out = 1, .bodies = arms,
                        .n_bodies = 2};
      assert_null(wk_graph_add(at, &d, &v));
    } else {
      wk_attr_loop *a = wk_attrs_new(m->arena, op);
      a->trip = a->n_state = 1;
      const wk_value_id ins[] = {WK_NONE, x};
      wk_node_desc d = {.op = op, .name = "node", .attrs = a, .in = ins, .n_in = 2, .n_out = 1,
                        .bodies = &body, .n_bodies = 1};
      assert_null(wk_graph_add(at, &d, &v));
    }
    wk_graph_output(at, "y", v);
    body = at;
  }
  wk_tensor ins[] = {{flag, &one}, {t, in}}, out = {.data = NULL};
  wk_status s = wk_eval_graph(g, ins, &out, NULL, NULL);
  if (!s) memcpy(y, out.data, sizeof in);
  wk_tensor_free(&out);
  wk_module_free(m);
  return s;
}

static void test_graph_depth(void **state) {
  (void)state;
  static const wk_op ops[] = {WK_OP_IF, WK_OP_LOOP};
  const float want[4] = {1, 2, 3, 4};
  for (size_t i = 0; i < WK_COUNTOF(ops); i++) {
    float y[4] = {0};
    expect(run_graphs(ops[i], 64, y), NULL, NULL);
    assert_memory_equal(y, want, sizeof want);
    expect(run_graphs(ops[i], 65, y), "bodies are nested more than 64 deep", "node");
  }
}

/* ---- states ---------------------------------------------------------------------------------- */

/* Three states s, of which two begin with numbers; each becomes s + its number. */
static wk_program *counters(const float *begin) {
  static const char *const bodies[] = {"body={f32:add(%0,1f32)}", "body={f32:add(%0,2f32)}",
                                       "body={f32:add(%0,3f32)}"};
  wk_program *p = wk_program_new("states");
  for (uint32_t k = 0; k < 3; k++) {
    wk_buffer b = {.name = k == 0 ? "a" : k == 1 ? "b" : "c", .region = WK_REGION_STATE,
                   .size = 16, .align = 4, .offset = -1, .io = k, .data = k ? begin + 4 * k : NULL};
    uint32_t s = wk_program_buffer(p, &b);
    bind(&p->states, s, WK_F32, 1, four);
    wk_view of[] = {view(s, 1, four), view(s, 1, four)};
    append(p, &p->body, WK_OP_MAP, bodies[k], 1, 2, of);
  }
  uint32_t y = buffer(p, "y", WK_REGION_OUTPUT, 16, -1, 0);
  bind(&p->outputs, y, WK_F32, 1, four);
  wk_view of[] = {view(y, 1, four), view(p->states.data[1].buffer, 1, four)};
  append(p, &p->body, WK_OP_MAP, "body={f32:neg(%0)}", 1, 2, of);
  return p;
}

static void test_states(void **state) {
  (void)state;
  static const float begin[12] = {0, 0, 0, 0, 10, 20, 30, 40, 5, 6, 7, 8};
  const float given[4] = {1, 2, 3, 4};
  wk_program *p = counters(begin);
  float y[4], s[3][4];
  for (int mask = 0; mask < 64; mask++) { /* which are given, which are wanted */
    const void *in[3];
    void *out[4] = {y};
    memset(s, 0, sizeof s);
    for (int k = 0; k < 3; k++) {
      in[k] = mask >> k & 1 ? given : NULL;
      out[1 + k] = mask >> (3 + k) & 1 ? s[k] : NULL;
    }
    expect(wk_eval_program(p, in, out, NULL, NULL), NULL, NULL);
    for (int k = 0; k < 3; k++)
      for (int e = 0; e < 4; e++) {
        float want = (in[k] ? given[e] : begin[4 * k + e]) + (float)(k + 1);
        assert_true(s[k][e] == (out[1 + k] ? want : 0));
        if (k == 1) assert_true(y[e] == -want);
      }
  }
  assert_true(given[0] == 1 && begin[4] == 10);
  wk_program_free(p);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* What nobody has written is full of 0xAA, placed or not, and regions have memory of their own. */
static void test_unwritten(void **state) {
  (void)state;
  static const struct { wk_region region; int64_t offset; } rows[] = {
      {WK_REGION_ACT, -1}, {WK_REGION_ACT, 0}, {WK_REGION_ACT, 48}, {WK_REGION_SCRATCH, -1},
      {WK_REGION_SCRATCH, 16}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_program *p = wk_program_new("unwritten");
    uint32_t a = buffer(p, "a", rows[i].region, 16, rows[i].offset, 0);
    uint32_t y = buffer(p, "y", WK_REGION_OUTPUT, 16, -1, 0);
    bind(&p->outputs, y, WK_F32, 1, four);
    append(p, &p->body, WK_OP_COPY, "", 1, 2, (wk_view[]){view(y, 1, four), view(a, 1, four)});
    uint8_t got[16] = {0};
    expect(wk_eval_program(p, NULL, (void *[]){got}, NULL, NULL), NULL, NULL);
    for (int e = 0; e < 16; e++) assert_int_equal(got[e], 0xAA);
    wk_program_free(p);
  }
}

/* The buffers of a program that copies x to y by way of a; the second of three is at fault. */
static const struct {
  int64_t size, offset; /* of a */
  bool has_x, has_y, other_io;
  const char *message, *place;
} places[] = {
    {16, -1, true, true, false, NULL, NULL},
    {16, 1 << 20, true, true, false, NULL, NULL},
    {16, INT64_MAX - 15, true, true, false, "buffer has no valid place", "a"},
    {-1, 0, true, true, false, "buffer has no valid place", "a"},
    {16, -1, false, true, false, "buffer has no memory", "x"},
    {16, -1, true, false, false, "buffer has no memory", "y"},
    {16, -1, true, true, true, "buffer has no memory", "x"}, /* an input that there is not */
};

/* What has no bytes is there all the same: no address means that an operand is left out. */
static wk_status see_all(void *ctx, const wk_program *p, const wk_inst *i, void *const *bases) {
  (void)i;
  for (size_t b = 0; b < p->buffers.n; b++) assert_non_null(bases[b]);
  ++*(int *)ctx;
  return NULL;
}

static void test_places(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(places); i++) {
    wk_program *p = wk_program_new("places");
    uint32_t x = buffer(p, "x", WK_REGION_INPUT, 16, -1, places[i].other_io);
    uint32_t a = buffer(p, "a", WK_REGION_ACT, places[i].size, places[i].offset, 0);
    uint32_t b = buffer(p, "b", WK_REGION_ACT, 16, -1, 0);
    uint32_t y = buffer(p, "y", WK_REGION_OUTPUT, 16, -1, 0);
    uint32_t none = buffer(p, "none", WK_REGION_OUTPUT, 0, -1, 1); /* of no bytes: needs none */
    bind(&p->inputs, x, WK_F32, 1, four);
    bind(&p->outputs, y, WK_F32, 1, four);
    (void)buffer(p, "spare", WK_REGION_ACT, 0, 0, 0);
    (void)buffer(p, "void", WK_REGION_INPUT, 0, -1, 1);
    bind(&p->outputs, none, WK_F32, 1, (const int64_t[]){0});
    uint32_t way[] = {x, a, b, y};
    for (int k = 0; k < 3; k++)
      append(p, &p->body, WK_OP_COPY, "", 1, 2,
             (wk_view[]){view(way[k + 1], 1, four), view(way[k], 1, four)});
    const float in[4] = {1, 2, 3, 4};
    float out[4] = {0};
    int seen = 0;
    expect(wk_eval_program(p, (const void *[]){places[i].has_x ? in : NULL, NULL},
                           (void *[]){places[i].has_y ? out : NULL, NULL}, see_all, &seen),
           places[i].message, places[i].place);
    assert_int_equal(seen, places[i].message ? 0 : 3);
    if (!places[i].message) assert_memory_equal(out, in, sizeof in);
    wk_program_free(p);
  }
}

/* ---- hooks ----------------------------------------------------------------------------------- */

typedef struct { wk_op seen[16]; int n, stop; } watch;

static wk_status see(void *ctx, const wk_program *p, const wk_inst *i, void *const *bases) {
  watch *w = ctx;
  assert_true(bases[0] && p->buffers.n == 4);
  w->seen[w->n++] = i->op;
  return w->n == w->stop ? wk_error(WK_FAILED, "enough") : NULL;
}

/* One who watches sees each instruction once it has run, in arms that are taken too; loops and
 * nests as one. What it says ends the run. */
static void test_hooks(void **state) {
  (void)state;
  static const wk_op want[] = {WK_OP_COPY, WK_OP_LOOP, WK_OP_FILL, WK_OP_IF, WK_OP_NEST};
  for (int stop = 0; stop <= 5; stop++) {
    wk_program *p = wk_program_new("hooks");
    uint32_t x = buffer(p, "x", WK_REGION_INPUT, 16, -1, 0);
    uint32_t c = buffer(p, "c", WK_REGION_INPUT, 1, -1, 1);
    uint32_t a = buffer(p, "a", WK_REGION_ACT, 16, -1, 0);
    uint32_t y = buffer(p, "y", WK_REGION_OUTPUT, 16, -1, 0);
    bind(&p->inputs, x, WK_F32, 1, four);
    bind(&p->inputs, c, WK_BOOL, 0, NULL);
    bind(&p->outputs, y, WK_F32, 1, four);
    wk_view flag = view(c, 0, NULL), va = view(a, 1, four), vy = view(y, 1, four);
    wk_view none[2] = {{.buffer = WK_NONE}, {.buffer = WK_NONE}};
    flag.dtype = WK_BOOL;
    append(p, &p->body, WK_OP_COPY, "", 1, 2, (wk_view[]){va, view(x, 1, four)});
    wk_block *b = add_bodies(p, append(p, &p->body, WK_OP_LOOP, "trip=3", 0, 2, none), 1);
    append(p, b, WK_OP_MAP, "body={f32:add(%0,1f32)}", 1, 2, (wk_view[]){va, va});
    wk_block *arms = add_bodies(p, append(p, &p->body, WK_OP_IF, "", 0, 1, &flag), 2);
    append(p, &arms[0], WK_OP_FILL, "value=1", 1, 1, &vy);
    append(p, &arms[1], WK_OP_COPY, "", 1, 2, (wk_view[]){vy, va});
    wk_block *nest = add_bodies(p, append(p, &p->body, WK_OP_NEST, "outer=1", 0, 0, NULL), 1);
    append(p, nest, WK_OP_MAP, "body={f32,f32:add(%0,%1)}", 1, 3, (wk_view[]){vy, vy, va});
    const float in[4] = {1, 2, 3, 4}, sums[4] = {5, 6, 7, 8};
    const uint8_t one = 1;
    float out[4];
    watch w = {.stop = stop};
    expect(wk_eval_program(p, (const void *[]){in, &one}, (void *[]){out}, see, &w),
           stop ? "enough" : NULL, NULL);
    assert_int_equal(w.n, stop ? stop : 5);
    assert_memory_equal(w.seen, want, (size_t)w.n * sizeof *want);
    if (!stop) assert_memory_equal(out, sums, sizeof sums);
    wk_program_free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_depth),  cmocka_unit_test(test_graph_depth),
      cmocka_unit_test(test_states), cmocka_unit_test(test_unwritten),
      cmocka_unit_test(test_places), cmocka_unit_test(test_hooks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
