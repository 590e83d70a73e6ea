/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of weights of every rank and type: the loss is what the model makes, its mean is over all
 * axes; the norm is over all elements of all gradients, in the wider of their types. Every number
 * is known: y = w x, so that the gradient of its mean is x over the number of its elements. */
#include <math.h>

#include "tests/unit/case_text.h"

#include "compiler/eval/eval.h"
#include "compiler/train/step.h"

enum { MOST = 1024 };

static double x_at(int64_t i) { return (double)(i % 7) - 2.5; }
static double w_at(int64_t i) { return (double)(i % 5) / 4 - 0.5; }

/* Of ones but for three axes, so that none is like another: "[2,1,3,1,4]". */
static void shape_of(int rank, wk_str *b) {
  static const int sizes[WK_MAX_RANK] = {2, 3, 2, 3, 2, 1, 2, 3};
  wk_str_add(b, "[");
  for (int i = 0; i < rank; i++) wk_str_printf(b, i ? ",%d" : "%d", sizes[i]);
  wk_str_add(b, "]");
}

/* Weights w0, w1, ... of these types, one output each; the loss is the output `y` of the last, or
 * of all of them as one sum. */
static wk_module *model(const char *const *types, int n, int rank) {
  wk_str b = {0}, shape = {0};
  wk_module *m = NULL;
  shape_of(rank, &shape);
  wk_str_printf(&b, "module \"m\" {\n  graph @main(%%x: f64%s) {\n", shape.s);
  for (int k = 0; k < n; k++)
    wk_str_printf(&b, "    %%w%d = constant %s%s splat(1)\n    %%p%d = cast(%%w%d) {to=f64}\n"
                  "    %%y%d = mul(%%x, %%p%d)\n", k, types[k], shape.s, k, k, k, k);
  for (int k = 1; k < n; k++)
    wk_str_printf(&b, "    %%s%d = add(%%%s%d, %%y%d)\n", k, k > 1 ? "s" : "y", k - 1, k);
  wk_str_printf(&b, "    %%y = identity(%%%s%d)\n    output %%y\n  }\n}\n", n > 1 ? "s" : "y",
                n - 1);
  wk_status s = wk_module_parse(b.s, "m", &m);
  if (s) fail_msg("%s\n%s", b.s, s->message);
  wk_str_free(&b);
  wk_str_free(&shape);
  return m;
}

typedef struct {
  double loss, norm, w[3][MOST];
  wk_dtype norm_type;
} outcome;

/* One step at rate 1 from w_at. */
static void step_once(wk_module *m, const wk_step *s, outcome *o) {
  wk_tensor in[16] = {{.data = NULL}}, out[16];
  double rate = 1;
  int64_t step = 1;
  const wk_graph *g = m->main;
  for (size_t i = 0; i < g->inputs.n; i++) {
    const wk_value *v = wk_val(g, g->inputs.data[i]);
    assert_null(wk_tensor_alloc(&v->type, &in[i]));
    for (int64_t e = 0; e < wk_type_count(&v->type); e++)
      wk_store_f64(in[i].data, v->type.dtype, e, v->initial ? w_at(e) : x_at(e));
    if (i == s->rate) memcpy(in[i].data, &rate, sizeof rate);
    if (i == s->step) memcpy(in[i].data, &step, sizeof step);
  }
  wk_status st = wk_eval_graph(g, in, out, NULL, NULL);
  if (st) fail_msg("%s", st->message);
  o->loss = wk_load_f64(out[s->loss].data, out[s->loss].type.dtype, 0);
  o->norm = NAN;
  if (s->norm != WK_STEP_NONE) {
    o->norm_type = out[s->norm].type.dtype;
    o->norm = wk_load_f64(out[s->norm].data, o->norm_type, 0);
  }
  for (size_t i = 0; i < g->outputs.n; i++) {
    if (g->updates.data[i] != WK_NONE) {
      int k = wk_val(g, g->updates.data[i])->name[1] - '0';
      for (int64_t e = 0; e < wk_type_count(&out[i].type); e++)
        o->w[k][e] = wk_load_f64(out[i].data, out[i].type.dtype, e);
    }
    wk_tensor_free(&out[i]);
  }
  for (size_t i = 0; i < g->inputs.n; i++) wk_tensor_free(&in[i]);
}

/* What a step may lose where gradients or weights have this type. */
static double rounding_of(const char *type) {
  return type[1] == '6' ? 1e-12 : type[1] == '3' ? 1e-6 : 6e-3;
}

static bool is_near(double got, double want, double by) {
  return fabs(got - want) <= by * (1 + fabs(want));
}

static void check(const char *const *types, int n, int rank, wk_dtype norm_type, double limit) {
  static const char *const names[] = {"w0", "w1", "w2"};
  static outcome o;
  wk_module *m = model(types, n, rank);
  wk_import_report r = {0};
  wk_step s;
  wk_step_options options = {.output = "y", .is_loss = true, .optimizer = WK_OPTIMIZER_SGD,
                             .accumulate = 1, .has_norm = true, .clip_norm = limit};
  int64_t count = wk_type_count(&wk_val(m->main, m->main->inputs.data[0])->type);
  assert_in_range(count, 1, MOST);
  wk_status st = wk_step_build(m, &r, &options, names, (size_t)n, &s);
  if (st) fail_msg("rank %d: %s", rank, st->message);
  step_once(m, &s, &o);
  double loss = 0, norm = 0, by = 1;
  for (int64_t i = 0; i < count; i++) {
    loss += n * x_at(i) * w_at(i) / (double)count;
    norm += n * x_at(i) * x_at(i) / (double)count / (double)count;
  }
  norm = sqrt(norm);
  if (limit > 0) by = fmin(1, limit / (norm + 1e-6));
  if (!is_near(o.loss, loss, 1e-12)) fail_msg("rank %d: loss %g, not %g", rank, o.loss, loss);
  double most = 0;
  for (int k = 0; k < n; k++) most = fmax(most, rounding_of(types[k]));
  if (!is_near(o.norm, norm, most))
    fail_msg("rank %d: norm %g, not %g", rank, o.norm, norm);
  assert_int_equal(o.norm_type, norm_type);
  for (int k = 0; k < n; k++)
    for (int64_t i = 0; i < count; i++) {
      double want = w_at(i) - by * x_at(i) / (double)count;
      if (!is_near(o.w[k][i], want, limit > 0 ? most : rounding_of(types[k])))
        fail_msg("rank %d: w%d[%d] is %g, not %g", rank, k, (int)i, o.w[k][i], want);
    }
  wk_step_free(&s);
  wk_module_free(m);
}

static void test_ranks(void **state) {
  (void)state;
  static const char *const f32[] = {"f32"}, *const f64[] = {"f64"};
  for (int rank = 1; rank <= WK_MAX_RANK; rank++) {
    check(f32, 1, rank, WK_F32, 0);
    check(f64, 1, rank, WK_F64, 0);
    check(f64, 1, rank, WK_F64, 0.01);
  }
}

/* The norm is in f64 where one gradient is, wherever that stands. */
static void test_types(void **state) {
  (void)state;
  static const struct { const char *types[3]; wk_dtype norm; } rows[] = {
      {{"f32", "f32", "f32"}, WK_F32}, {{"f64", "f32", "f32"}, WK_F64},
      {{"f32", "f64", "f32"}, WK_F64}, {{"f32", "f32", "f64"}, WK_F64},
      {{"f16", "f16", "bf16"}, WK_F32}, {{"f16", "f32", "f64"}, WK_F64}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    for (int limited = 0; limited < 2; limited++)
      check(rows[i].types, 3, 2, rows[i].norm, limited ? 0.125 : 0);
}

/* Where states and sums do not fit, it is said so, wherever the room ends; nothing is lost. */
static void test_room(void **state) {
  (void)state;
  static const char *const types[] = {"f32", "f16"}, *const names[] = {"w0", "w1"};
  int refused = 0;
  for (int i = 0; i < 4 * WK_OPTIMIZER_COUNT; i++) {
    wk_optimizer_kind kind = (wk_optimizer_kind)(i / 4);
    wk_step_options options = {.output = "y", .loss = WK_LOSS_MSE, .optimizer = kind,
                               .hypers = wk_optimizer_get(kind)->defaults,
                               .accumulate = i % 2 ? 3 : 1, .clip_norm = i & 2 ? 0.5 : 0};
    bool fits = false;
    for (int64_t room = 0; room <= 512; room += 8) {
      wk_module *m = model(types, 2, 2);
      wk_import_report r = {0};
      wk_step s;
      m->constant_bytes_left = room;
      wk_status st = wk_step_build(m, &r, &options, names, 2, &s);
      if (st) assert_int_equal(st->code, WK_RESOURCE);
      if (st && fits) fail_msg("%d bytes: %s", (int)room, st->message);
      fits = !st;
      refused += !fits;
      wk_status_free(st);
      wk_step_free(&s);
      wk_module_free(m);
    }
    assert_true(fits);
  }
  print_message("%d times refused\n", refused);
  assert_true(refused > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranks), cmocka_unit_test(test_types),
                                     cmocka_unit_test(test_room)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
