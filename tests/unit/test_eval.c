/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator: a table of small cases computed by hand; each operator that is also an
 * instruction runs a second time on views with gaps, permuted axes and negative strides and must
 * agree bit for bit. */
#include "compiler/eval/eval.h"
#include "tests/unit/program_steps.h"

typedef struct {
  wk_op op;
  const char *attrs, *in, *want;
} eval_case;

static const eval_case cases[] = {
#define CASE(op, attrs, in, want) {WK_OP_##op, attrs, in, want},
#include "tests/unit/eval_cases.def"
#include "tests/unit/wide_cases.def"
#undef CASE
};

enum { MAX_OPERANDS = 16 };

static const eval_case *at_case; /* for messages */

static const char *case_text(void) {
  static char text[256];
  snprintf(text, sizeof text, "%s %.60s %.160s", at_case ? wk_op_get(at_case->op)->name : "",
           at_case ? at_case->attrs : "", at_case ? at_case->in : "");
  return text;
}

static void must(wk_status s) {
  if (s) fail_msg("%s: %s: %s", case_text(), s->place ? s->place : "", s->message);
}

/* ---- one case as a graph --------------------------------------------------------------------- */

typedef struct {
  wk_module *m;
  wk_graph *g;
  wk_node_id node;
  uint32_t n_in, n_out, n_given;
  wk_tensor in[MAX_OPERANDS];    /* as the node has them */
  wk_tensor given[MAX_OPERANDS]; /* those that are present: inputs of the graph */
  wk_tensor want[MAX_OPERANDS];  /* data NULL: not asked for */
  wk_tensor out[MAX_OPERANDS];   /* outputs of the graph: those asked for */
} built;

static uint32_t read_tensors(const char *s, wk_tensor *t) {
  uint32_t k = 0;
  for (size_t n; (n = case_word(&s)) > 0; s += n) t[k++] = case_tensor(s);
  return k;
}

static void build(const eval_case *c, built *b) {
  *b = (built){.m = wk_module_new("test")};
  b->g = wk_graph_new(b->m, "main");
  b->n_in = read_tensors(c->in, b->in);
  b->n_out = *c->want == '!' ? (uint32_t)wk_op_get(c->op)->min_out : read_tensors(c->want, b->want);
  if (b->n_out == 0) b->n_out = 1;
  wk_value_id in[MAX_OPERANDS], out[MAX_OPERANDS];
  for (uint32_t k = 0; k < b->n_in; k++) {
    in[k] = WK_NONE;
    if (!b->in[k].data) continue;
    in[k] = wk_graph_input(b->g, NULL, &b->in[k].type);
    b->given[b->n_given++] = b->in[k];
  }
  wk_node_desc d = {.op = c->op,
                    .name = "the_node",
                    .attrs = case_attrs(b->m->arena, c->op, c->attrs),
                    .in = in,
                    .n_in = b->n_in,
                    .n_out = b->n_out};
  must(wk_graph_add(b->g, &d, out));
  b->node = (wk_node_id)b->g->nodes.n - 1;
  for (uint32_t k = 0; k < b->n_out; k++)
    if (*c->want == '!' || b->want[k].data) wk_graph_output(b->g, NULL, out[k]);
}

static void drop(built *b) {
  for (uint32_t k = 0; k < MAX_OPERANDS; k++) {
    wk_tensor_free(&b->in[k]);
    wk_tensor_free(&b->want[k]);
    wk_tensor_free(&b->out[k]);
  }
  wk_module_free(b->m);
}

static void expect_same(const char *what, const wk_tensor *got, const wk_tensor *want,
                        double rtol) {
  wk_tolerance tol = {rtol, rtol ? 1e-7 : 0, 0};
  if (got->type.dtype != want->type.dtype || !wk_shape_equal(&got->type, &want->type)) {
    wk_str g = {0}, w = {0};
    wk_type_print(&g, &got->type);
    wk_type_print(&w, &want->type);
    fail_msg("%s %s: got %s, want %s", case_text(), what, g.s, w.s);
  }
  wk_diff d = wk_tensor_diff(got, want, &tol);
  if (!d.equal)
    fail_msg("%s %s: element %lld is %.9g, want %.9g", case_text(), what, (long long)d.worst, d.got,
             d.want);
}

/* ---- the same as an instruction on strided views --------------------------------------------- */

/* A view of the tensor's elements in fresh memory: axes in random order, gaps, some reversed. */
static wk_view scatter_view(wk_program *p, wk_rng *r, const wk_tensor *t, char **memory) {
  wk_view v = {.dtype = t->type.dtype, .rank = t->type.rank};
  int order[WK_MAX_RANK], size = wk_dtype_size(v.dtype);
  int64_t reach = 1, first = wk_rng_range(r, 0, 3);
  for (int i = 0; i < v.rank; i++) {
    int at = (int)wk_rng_range(r, 0, i);
    order[i] = order[at];
    order[at] = i;
  }
  for (int k = 0; k < v.rank; k++) {
    int i = order[k];
    v.dims[i] = t->type.dims[i];
    v.strides[i] = reach + wk_rng_range(r, 0, 2);
    reach = v.strides[i] * (v.dims[i] > 0 ? v.dims[i] : 1);
    if (wk_rng_range(r, 0, 3) == 0 && v.dims[i] > 0) {
      first += (v.dims[i] - 1) * v.strides[i];
      v.strides[i] = -v.strides[i];
    }
  }
  v.offset = first * size;
  wk_buffer b = {
      .region = WK_REGION_ACT, .size = (reach + first + 4) * size, .align = 64, .offset = -1};
  v.buffer = wk_program_buffer(p, &b);
  *memory = wk_xcalloc(1, (size_t)b.size);
  memset(*memory, 0xAA, (size_t)b.size);
  return v;
}

/* Copies between a dense tensor and the view of it. */
static void move_view(const wk_view *v, char *memory, wk_tensor *t, bool into_memory) {
  int64_t n = wk_type_count(&t->type), pos[WK_MAX_RANK] = {0}, size = wk_dtype_size(v->dtype);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = 0;
    for (int k = 0; k < v->rank; k++) at += pos[k] * v->strides[k];
    char *there = memory + v->offset + at * size, *here = (char *)t->data + i * size;
    memcpy(into_memory ? there : here, into_memory ? here : there, (size_t)size);
    for (int k = v->rank - 1; k >= 0 && ++pos[k] == v->dims[k]; k--) pos[k] = 0;
  }
}

/* Numpy broadcasting as strides of 0. */
static wk_view broadcast_view(const wk_view *v, int rank, const int64_t *dims) {
  wk_view w = *v;
  w.rank = rank;
  for (int i = 0; i < rank; i++) {
    int own = i - (rank - v->rank);
    w.dims[i] = dims[i];
    w.strides[i] = own >= 0 && v->dims[own] == dims[i] ? v->strides[own] : 0;
  }
  return w;
}

static wk_type space_of(const built *b) {
  wk_type t = b->in[0].type;
  for (uint32_t k = 1; k < b->n_in; k++) {
    wk_type both;
    must(wk_type_broadcast(&t, &b->in[k].type, &both));
    t = both;
  }
  return t;
}

/* Input k as the instruction wants it (program.h). */
static wk_view as_operand(const built *b, wk_op op, uint32_t k, const wk_view *v) {
  const wk_type *y = &b->want[0].type;
  int64_t dims[WK_MAX_RANK];
  memcpy(dims, y->dims, sizeof dims);
  if (op == WK_OP_MAP || op == WK_OP_REDUCE) {
    wk_type s = space_of(b);
    return broadcast_view(v, s.rank, s.dims);
  }
  if (op == WK_OP_MATMUL && k < 2) {
    dims[y->rank - 2] = v->dims[v->rank - 2];
    dims[y->rank - 1] = v->dims[v->rank - 1];
    return broadcast_view(v, y->rank, dims);
  }
  bool contraction = op == WK_OP_MATMUL || op == WK_OP_CONV || op == WK_OP_CONV_TRANSPOSE;
  return contraction && k > 2 ? broadcast_view(v, y->rank, dims) : *v;
}

/* The output of a fold over the iteration space: stride 0 on what is reduced. */
static wk_view reduce_view(const built *b, const wk_view *y) {
  const wk_attr_reduce *a = wk_nod(b->g, b->node)->attrs;
  wk_type space = space_of(b);
  wk_view v = *y;
  int next = 0;
  v.rank = space.rank;
  for (int i = 0, k = 0; i < space.rank; i++) {
    bool reduced = k < a->axes.n && a->axes.v[k] == i;
    v.dims[i] = space.dims[i];
    v.strides[i] = reduced ? 0 : y->strides[a->keepdims ? i : next];
    if (reduced) k++;
    else next++;
  }
  return v;
}

static void run_as_instruction(const built *b, wk_op op, uint64_t seed) {
  wk_rng r = {seed};
  wk_program *p = wk_program_new("test");
  char *memory[MAX_OPERANDS] = {0};
  wk_view dense_out[MAX_OPERANDS];
  wk_inst *inst = wk_inst_new(p, op, "the_node", b->n_out, b->n_out + b->n_in);
  inst->attrs = wk_nod(b->g, b->node)->attrs;
  uint32_t used = 0;
  for (uint32_t k = 0; k < b->n_out; k++) {
    if (!b->want[k].data) continue;
    dense_out[k] = scatter_view(p, &r, &b->want[k], &memory[used++]);
    inst->operands[k] = op == WK_OP_REDUCE ? reduce_view(b, &dense_out[k]) : dense_out[k];
  }
  for (uint32_t k = 0; k < b->n_in; k++) {
    if (!b->in[k].data) continue;
    wk_view v = scatter_view(p, &r, &b->in[k], &memory[used]);
    move_view(&v, memory[used++], (wk_tensor *)(uintptr_t)&b->in[k], true);
    inst->operands[b->n_out + k] = as_operand(b, op, k, &v);
  }
  must(wk_eval_inst(p, inst, (void *const *)memory, 0));
  for (uint32_t k = 0, o = 0; k < b->n_out; k++) {
    if (!b->want[k].data) continue;
    wk_tensor got;
    must(wk_tensor_alloc(&b->want[k].type, &got));
    move_view(&dense_out[k], memory[dense_out[k].buffer], &got, false);
    expect_same("as an instruction", &got, &b->out[o++], 0);
    wk_tensor_free(&got);
  }
  for (uint32_t k = 0; k < used; k++) free(memory[k]);
  wk_program_free(p);
}

static void run_case(const eval_case *c) {
  built b;
  build(c, &b);
  wk_status s = wk_eval_graph(b.g, b.given, b.out, NULL, NULL);
  if (*c->want == '!') {
    if (!s) fail_msg("%s: no error, want: %s", case_text(), c->want + 1);
    if (!strstr(s->message, c->want + 1)) fail_msg("error: %s, want: %s", s->message, c->want + 1);
    assert_int_equal(s->code, WK_INPUT);
    assert_string_equal(s->place, "the_node");
    wk_status_free(s);
  } else {
    must(s);
    for (uint32_t k = 0, o = 0; k < b.n_out; k++)
      if (b.want[k].data) expect_same("as a node", &b.out[o++], &b.want[k], 1e-5);
    for (uint64_t seed = 1; seed <= 4 && wk_op_get(c->op)->kind == WK_KIND_BOTH; seed++)
      run_as_instruction(&b, c->op, seed);
  }
  drop(&b);
}

static void test_cases(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    at_case = &cases[i];
    run_case(at_case);
  }
  at_case = NULL;
}

/* ---- control flow ---------------------------------------------------------------------------- */

static const wk_type i64_scalar = {.dtype = WK_I64}, bool_scalar = {.dtype = WK_BOOL};

static wk_value_id i64_constant(wk_graph *g, int64_t v) {
  return wk_graph_scalar(g, WK_I64, (double)v);
}

static int64_t i64_of(const wk_tensor *t) { return wk_load_i64(t->data, t->type.dtype, 0); }

/* Adds a node with bodies and makes its outputs those of the graph. */
static void add_control(wk_graph *g, wk_op op, void *attrs, const wk_value_id *in, uint32_t n_in,
                        uint32_t n_out, wk_graph *const *bodies, uint32_t n_bodies) {
  wk_value_id out[4];
  wk_node_desc d = {.op = op, .name = "control", .attrs = attrs, .in = in, .n_in = n_in,
                    .n_out = n_out, .bodies = bodies, .n_bodies = n_bodies};
  must(wk_graph_add(g, &d, out));
  for (uint32_t k = 0; k < n_out; k++) wk_graph_output(g, NULL, out[k]);
}

/* y = cond ? x + 10 : x */
static wk_graph *build_if(wk_module *m) {
  wk_graph *g = wk_graph_new(m, "main"), *bodies[2];
  for (int b = 0; b < 2; b++) {
    bodies[b] = wk_graph_new(m, NULL);
    wk_value_id x = wk_graph_input(bodies[b], "x", &i64_scalar);
    if (b == 0) x = wk_build(bodies[b], WK_OP_ADD, NULL, 2, x, i64_constant(bodies[b], 10));
    wk_graph_output(bodies[b], "y", x);
  }
  wk_value_id in[] = {wk_graph_input(g, "cond", &bool_scalar), wk_graph_input(g, "x", &i64_scalar)};
  add_control(g, WK_OP_IF, NULL, in, 2, 1, bodies, 2);
  return g;
}

static void test_if(void **state) {
  (void)state;
  wk_module *m = wk_module_new("test");
  wk_graph *g = build_if(m);
  for (int cond = 0; cond < 2; cond++) {
    wk_tensor in[] = {case_tensor(cond ? "bool[]{1}" : "bool[]{0}"), case_tensor("i64[]{5}")}, out;
    must(wk_eval_graph(g, in, &out, NULL, NULL));
    assert_int_equal(i64_of(&out), cond ? 15 : 5);
    wk_tensor_free(&in[0]);
    wk_tensor_free(&in[1]);
    wk_tensor_free(&out);
  }
  wk_module_free(m);
}

/* state' = state + slice + i + capture; collects the states, last one first. */
static wk_graph *scan_body(wk_module *m) {
  wk_graph *b = wk_graph_new(m, "body");
  wk_type row = wk_type_make(WK_I64, 1, (const int64_t[]){2});
  wk_value_id i = wk_graph_input(b, "i", &i64_scalar), state = wk_graph_input(b, "state", &row);
  wk_value_id slice = wk_graph_input(b, "slice", &row);
  wk_value_id capture = wk_graph_input(b, "capture", &i64_scalar);
  wk_value_id sum = wk_build(b, WK_OP_ADD, NULL, 2, state, slice);
  sum = wk_build(b, WK_OP_ADD, NULL, 2, sum, wk_build(b, WK_OP_ADD, NULL, 2, i, capture));
  wk_graph_output(b, "next", sum);
  wk_graph_output(b, "collected", sum);
  return b;
}

static void test_scan(void **state) {
  (void)state;
  wk_module *m = wk_module_new("test");
  wk_graph *g = wk_graph_new(m, "main"), *body = scan_body(m);
  wk_tensor in[] = {case_tensor("i64[2]{0,100}"), case_tensor("i64[2,3]{1,2,3,10,20,30}"),
                    case_tensor("i64[]{1000}")}, out[2];
  wk_value_id v[] = {WK_NONE, 0, 0, 0};
  for (int k = 0; k < 3; k++) v[k + 1] = wk_graph_input(g, NULL, &in[k].type);
  wk_attr_loop *a = wk_attrs_new(m->arena, WK_OP_LOOP);
  a->trip = 3;
  a->n_state = a->n_scan = 1;
  a->scan_axes = a->scan_reverse = wk_ints_fill(m->arena, 1, 1); /* slices from the last one on */
  a->out_axes = wk_ints_fill(m->arena, 1, 0);
  a->out_reverse = wk_ints_fill(m->arena, 1, 1);
  add_control(g, WK_OP_LOOP, a, v, 4, 2, &body, 1);
  must(wk_eval_graph(g, in, out, NULL, NULL));
  wk_tensor last = case_tensor("i64[2]{3009,3163}");
  wk_tensor all = case_tensor("i64[3,2]{3009,3163,2006,2151,1003,1130}");
  expect_same("state", &out[0], &last, 0);
  expect_same("collected", &out[1], &all, 0);
  for (int k = 0; k < 3; k++) wk_tensor_free(&in[k]);
  wk_tensor_free(&out[0]);
  wk_tensor_free(&out[1]);
  wk_tensor_free(&last);
  wk_tensor_free(&all);
  wk_module_free(m);
}

/* Doubles the state while it is below 100. */
static void test_while(void **state) {
  (void)state;
  wk_module *m = wk_module_new("test");
  wk_graph *g = wk_graph_new(m, "main"), *b = wk_graph_new(m, "body");
  wk_graph_input(b, "i", &i64_scalar);
  wk_value_id s = wk_graph_input(b, "state", &i64_scalar);
  wk_value_id twice = wk_build(b, WK_OP_ADD, NULL, 2, s, s);
  wk_graph_output(b, "more", wk_build(b, WK_OP_LESS, NULL, 2, twice, i64_constant(b, 100)));
  wk_graph_output(b, "state", twice);
  wk_attr_loop *a = wk_attrs_new(m->arena, WK_OP_LOOP);
  a->trip = INT64_MAX;
  a->n_state = 1;
  a->has_cond = 1;
  wk_value_id in[] = {wk_graph_input(g, "cond", &bool_scalar), wk_graph_input(g, "x", &i64_scalar)};
  add_control(g, WK_OP_LOOP, a, in, 2, 1, &b, 1);
  for (int cond = 0; cond < 2; cond++) {
    wk_tensor t[] = {case_tensor(cond ? "bool[]{1}" : "bool[]{0}"), case_tensor("i64[]{3}")}, out;
    must(wk_eval_graph(g, t, &out, NULL, NULL));
    assert_int_equal(i64_of(&out), cond ? 192 : 3);
    wk_tensor_free(&t[0]);
    wk_tensor_free(&t[1]);
    wk_tensor_free(&out);
  }
  wk_module_free(m);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

typedef struct { int calls, stop_at, depths[8]; const char *names[8]; } seen;

static wk_status record(void *ctx, const wk_graph *g, const wk_node *n, const wk_tensor *in,
                        const wk_tensor *out, int depth) {
  seen *s = ctx;
  (void)g;
  assert_non_null(in[0].data);
  assert_non_null(out[0].data);
  s->depths[s->calls] = depth;
  s->names[s->calls++] = wk_op_get(n->op)->name;
  return s->calls == s->stop_at ? wk_error(WK_FAILED, "enough") : NULL;
}

static void test_hook(void **state) {
  (void)state;
  wk_module *m = wk_module_new("test");
  wk_graph *g = build_if(m);
  wk_tensor in[] = {case_tensor("bool[]{1}"), case_tensor("i64[]{5}")}, out;
  seen s = {0};
  must(wk_eval_graph(g, in, &out, record, &s));
  assert_int_equal(s.calls, 2);
  assert_string_equal(s.names[0], "add");
  assert_int_equal(s.depths[0], 1);
  assert_string_equal(s.names[1], "if");
  assert_int_equal(s.depths[1], 0);
  wk_tensor_free(&out);
  s = (seen){.stop_at = 1};
  wk_status st = wk_eval_graph(g, in, &out, record, &s);
  assert_non_null(st);
  assert_int_equal(st->code, WK_FAILED);
  assert_null(out.data);
  wk_status_free(st);
  wk_tensor wrong = case_tensor("f32[]{1}"), bad[] = {in[0], wrong};
  st = wk_eval_graph(g, bad, &out, NULL, NULL);
  assert_int_equal(st->code, WK_INPUT);
  assert_string_equal(st->message, "input is f32[], the graph wants i64[]");
  wk_status_free(st);
  wk_tensor_free(&wrong);
  wk_tensor_free(&in[0]);
  wk_tensor_free(&in[1]);
  wk_module_free(m);
}

/* Outputs that repeat, that are inputs and that are constants. */
static void test_outputs(void **state) {
  (void)state;
  wk_module *m = wk_module_new("test");
  wk_graph *g = wk_graph_new(m, "main");
  wk_value_id x = wk_graph_input(g, "x", &i64_scalar), c = i64_constant(g, 7);
  wk_value_id y = wk_build(g, WK_OP_ADD, NULL, 2, x, c);
  const wk_value_id outs[] = {y, x, c, y};
  for (size_t k = 0; k < 4; k++) wk_graph_output(g, NULL, outs[k]);
  wk_tensor in = case_tensor("i64[]{5}"), out[4];
  must(wk_eval_graph(g, &in, out, NULL, NULL));
  const int64_t want[] = {12, 5, 7, 12};
  for (size_t k = 0; k < 4; k++) {
    assert_int_equal(i64_of(&out[k]), want[k]);
    assert_ptr_not_equal(out[k].data, in.data);
    wk_tensor_free(&out[k]);
  }
  wk_tensor_free(&in);
  wk_module_free(m);
}

static void test_fold(void **state) {
  (void)state;
  wk_module *m = wk_module_new("test");
  wk_graph *g = wk_graph_new(m, "main");
  wk_value_id x = wk_graph_input(g, "x", &i64_scalar);
  wk_value_id two = wk_build(g, WK_OP_ADD, NULL, 2, i64_constant(g, 1), i64_constant(g, 1));
  wk_value_id y = wk_build(g, WK_OP_MUL, NULL, 2, x, two);
  wk_graph_output(g, "y", y);
  assert_true(wk_eval_is_foldable(g, wk_nod(g, 0)));
  assert_false(wk_eval_is_foldable(g, wk_nod(g, 1)));
  bool folded;
  must(wk_eval_fold(g, 0, 7, &folded));
  assert_false(folded); /* over budget */
  must(wk_eval_fold(g, 1, 1000, &folded));
  assert_false(folded); /* x is no constant */
  must(wk_eval_fold(g, 0, 8, &folded));
  assert_true(folded);
  wk_value_id now = wk_nod(g, 1)->in[1];
  assert_int_equal(wk_val(g, now)->kind, WK_VALUE_CONSTANT);
  assert_int_equal(*(const int64_t *)wk_val(g, now)->data, 2);
  must(wk_graph_normalise(g));
  assert_int_equal(g->nodes.n, 1);
  wk_module_free(m);
}

static void test_fold_random(void **state) {
  (void)state;
  wk_module *m = wk_module_new("test");
  wk_graph *g = wk_graph_new(m, "main");
  wk_attr_random_uniform *a = wk_attrs_new(m->arena, WK_OP_RANDOM_UNIFORM);
  a->to = WK_F32;
  wk_graph_output(g, "y", wk_build(g, WK_OP_RANDOM_UNIFORM, a, 0));
  assert_false(wk_eval_is_foldable(g, wk_nod(g, 0)));
  wk_module_free(m);
}

/* ---- programs -------------------------------------------------------------------------------- */

static uint32_t buffer(wk_program *p, wk_region region, int64_t size, int64_t offset, uint32_t io) {
  wk_buffer b = {.region = region, .size = size, .align = 4, .offset = offset, .io = io};
  return wk_program_buffer(p, &b);
}

static wk_view view(uint32_t buffer_id, wk_dtype t, int rank, const int64_t *dims) {
  wk_type type = wk_type_make(t, rank, dims);
  return wk_view_dense(buffer_id, &type, WK_ROLE_IN);
}

/* One binding per caller's buffer, so that the program knows how many there are. */
static void bind_io(wk_program *p, uint32_t in, uint32_t out) {
  wk_program_io bi = {.name = "x", .buffer = in}, bo = {.name = "y", .buffer = out};
  wk_vec_push(&p->inputs, bi);
  wk_vec_push(&p->outputs, bo);
}

static void run_program(const wk_program *p, const float *x, float *y) {
  const void *in[] = {x};
  void *out[] = {y};
  must(wk_eval_program(p, in, out, NULL, NULL));
}

/* y = transpose(x) + 0.5 by way of placed memory that two values share in turn. */
static void test_program(void **state) {
  (void)state;
  wk_program *p = wk_program_new("test");
  uint32_t x = buffer(p, WK_REGION_INPUT, 24, -1, 0), y = buffer(p, WK_REGION_OUTPUT, 24, -1, 0);
  uint32_t a = buffer(p, WK_REGION_ACT, 24, 0, 0), h = buffer(p, WK_REGION_ACT, 4, 24, 0);
  bind_io(p, x, y);
  wk_view vx = view(x, WK_F32, 2, (const int64_t[]){2, 3}),
          va = view(a, WK_F32, 2, (const int64_t[]){3, 2});
  wk_view vy = view(y, WK_F32, 2, (const int64_t[]){3, 2}),
          vh = view(h, WK_F32, 2, (const int64_t[]){3, 2});
  wk_view vt = va;
  vt.dims[0] = vx.dims[0], vt.dims[1] = vx.dims[1];
  vt.strides[0] = 1, vt.strides[1] = 2;
  vh.strides[0] = vh.strides[1] = 0;
  wk_view one = view(h, WK_F32, 0, NULL);
  append(p, &p->body, WK_OP_COPY, "", 1, 2, (const wk_view[]){vt, vx});
  append(p, &p->body, WK_OP_FILL, "value=0.5", 1, 1, &one);
  append(p, &p->body, WK_OP_MAP, "body={f32,f32:add(%0,%1)}", 1, 3, (const wk_view[]){vy, va, vh});
  const float in[] = {1, 2, 3, 4, 5, 6}, want[] = {1.5f, 4.5f, 2.5f, 5.5f, 3.5f, 6.5f};
  float out[6];
  run_program(p, in, out);
  assert_memory_equal(out, want, sizeof want);
  wk_program_free(p);
}

/* Softmax of rows as a nest: scratch holds one position, index counts along the whole axis. */
static void test_nest(void **state) {
  (void)state;
  wk_program *p = wk_program_new("test");
  const int64_t dims[] = {3, 2};
  uint32_t x = buffer(p, WK_REGION_INPUT, 24, -1, 0), y = buffer(p, WK_REGION_OUTPUT, 24, -1, 0);
  uint32_t s = buffer(p, WK_REGION_SCRATCH, 4, 0, 0);
  bind_io(p, x, y);
  wk_view vx = view(x, WK_F32, 2, dims), vy = view(y, WK_F32, 2, dims),
          vs = view(s, WK_F32, 2, dims);
  vs.strides[0] = vs.strides[1] = 0;
  (void)add_bodies(p, append(p, &p->body, WK_OP_NEST, "outer=1", 0, 0, NULL), 1); /* of nothing */
  wk_inst *nest = append(p, &p->body, WK_OP_NEST, "outer=1", 0, 0, NULL);
  wk_block *b = add_bodies(p, nest, 1);
  append(p, b, WK_OP_REDUCE, "kind=sum axes=1", 1, 2, (const wk_view[]){vs, vx});
  append(p, b, WK_OP_MAP, "body={f32,f32:add(div(%0,%1),f32(index<0>()))}", 1, 3,
         (const wk_view[]){vy, vx, vs});
  const float in[] = {1, 3, 4, 4, 0, 5}, want[] = {0.25f, 0.75f, 1.5f, 1.5f, 2, 3};
  float out[6];
  run_program(p, in, out);
  assert_memory_equal(out, want, sizeof want);
  wk_program_free(p);
}

/* A loop walks the rows by the views' step; IF picks what it does; the loop stops when the flag
 * clears. */
static void test_program_control(void **state) {
  (void)state;
  wk_program *p = wk_program_new("test");
  const int64_t two[] = {2};
  uint32_t x = buffer(p, WK_REGION_INPUT, 32, -1, 0), y = buffer(p, WK_REGION_OUTPUT, 32, -1, 0);
  uint32_t i = buffer(p, WK_REGION_ACT, 8, -1, 0), c = buffer(p, WK_REGION_ACT, 2, -1, 0);
  bind_io(p, x, y);
  wk_view row = view(x, WK_F32, 1, two), out_row = view(y, WK_F32, 1, two);
  wk_view whole = view(y, WK_F32, 1, (const int64_t[]){8});
  wk_view more = view(c, WK_BOOL, 0, NULL), odd = more, count = view(i, WK_I64, 0, NULL);
  row.step = out_row.step = 8;
  odd.offset = 1;
  append(p, &p->body, WK_OP_FILL, "value=1", 1, 1, &more);
  append(p, &p->body, WK_OP_FILL, "value=9", 1, 1, &whole);
  wk_inst *loop = append(p, &p->body, WK_OP_LOOP, "trip=4", 0, 2, (const wk_view[]){more, count});
  wk_block *b = add_bodies(p, loop, 1);
  append(p, b, WK_OP_MAP, "body={i64:lt(%0,2i64)}", 1, 2, (const wk_view[]){more, count});
  append(p, b, WK_OP_MAP, "body={i64:eq(mod(%0,2i64),1i64)}", 1, 2, (const wk_view[]){odd, count});
  wk_inst *pick = append(p, b, WK_OP_IF, "", 0, 1, &odd);
  wk_block *arms = add_bodies(p, pick, 2);
  append(p, &arms[0], WK_OP_MAP, "body={f32:neg(%0)}", 1, 2, (const wk_view[]){out_row, row});
  append(p, &arms[1], WK_OP_COPY, "", 1, 2, (const wk_view[]){out_row, row});
  const float in[] = {1, 2, 3, 4, 5, 6, 7, 8}, want[] = {1, 2, -3, -4, 5, 6, 9, 9};
  float out[8];
  run_program(p, in, out);
  assert_memory_equal(out, want, sizeof want);
  wk_program_free(p);
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* Known answers of philox4x32-10: all zero, and all ones in key and counter words that are used. */
static void test_random(void **state) {
  (void)state;
  const uint32_t zero[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  for (uint64_t i = 0; i < 4; i++) assert_int_equal(wk_philox(0, i), zero[i]);
  wk_module *m = wk_module_new("test");
  wk_graph *g = wk_graph_new(m, "main");
  const int64_t n = 20000;
  wk_attr_random_uniform *u = wk_attrs_new(m->arena, WK_OP_RANDOM_UNIFORM);
  wk_attr_random_normal *v = wk_attrs_new(m->arena, WK_OP_RANDOM_NORMAL);
  u->to = WK_F32, u->low = -1, u->high = 3, u->seed = 5, u->shape = wk_ints_dup(m->arena, &n, 1);
  v->to = WK_F64, v->mean = 2, v->scale = 3, v->seed = -5, v->shape = wk_ints_dup(m->arena, &n, 1);
  wk_graph_output(g, "u", wk_build(g, WK_OP_RANDOM_UNIFORM, u, 0));
  wk_graph_output(g, "v", wk_build(g, WK_OP_RANDOM_NORMAL, v, 0));
  wk_tensor out[2];
  must(wk_eval_graph(g, NULL, out, NULL, NULL));
  double mean[2] = {0}, square[2] = {0};
  for (int64_t i = 0; i < n; i++) {
    for (int k = 0; k < 2; k++) {
      double x = wk_load_f64(out[k].data, out[k].type.dtype, i);
      assert_true(k == 1 || (x >= -1 && x < 3));
      mean[k] += x / (double)n;
      square[k] += x * x / (double)n;
    }
  }
  assert_true(fabs(mean[0] - 1) < 0.05 && fabs(mean[1] - 2) < 0.1);
  assert_true(fabs(square[0] - mean[0] * mean[0] - 4.0 / 3) < 0.05);
  assert_true(fabs(square[1] - mean[1] * mean[1] - 9) < 0.3);
  wk_tensor_free(&out[0]);
  wk_tensor_free(&out[1]);
  wk_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cases),   cmocka_unit_test(test_if),
      cmocka_unit_test(test_scan),    cmocka_unit_test(test_while),
      cmocka_unit_test(test_hook),    cmocka_unit_test(test_outputs),
      cmocka_unit_test(test_fold),    cmocka_unit_test(test_fold_random),
      cmocka_unit_test(test_program), cmocka_unit_test(test_nest),
      cmocka_unit_test(test_program_control), cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
