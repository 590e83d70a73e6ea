/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of models whose statistics move: where each input and output stands, whatever else there
 * is, what becomes of statistics and weights in a run, and which initialisers are weights. */
#include <math.h>

#include "tests/unit/case_text.h"

#include "compiler/eval/eval.h"
#include "compiler/train/step.h"

/* -z = h - m0 - m1 - m2, as many of them as move, where h is x w + v; m[k] moves to 0.9 m[k] +
 * 0.1 (k + 1) mean(h). */
static wk_module *model(int moved, bool key) {
  wk_str b = {0};
  wk_module *m = NULL;
  wk_str_printf(&b, "module \"m\" {\n  graph @main(%%x: f32[2,3]%s) {\n",
                key ? ", %key: i64[]" : "");
  wk_str_add(&b, "    %w = constant f32[3] {0.5, -1, 2}\n    %v = constant f32[3] {1, 2, 3}\n"
             "    %xw = mul(%x, %w)\n    %h = add(%xw, %v)\n"
             "    %mean = reduce_mean(%h) {axes=[0], keepdims=0}\n"
             "    %old = constant f32[] {0.9}\n    %y0 = identity(%h)\n");
  if (key) wk_str_add(&b, "    %k = cast(%key) {to=f32}\n    %y = sub(%y0, %k)\n");
  for (int k = 0; k < moved; k++)
    wk_str_printf(&b, "    %%m%d = constant f32[3] {%d, 0, 4}\n    %%g%d = constant f32[] {0.%d}\n"
                  "    %%y%d = sub(%%y%d, %%m%d)\n    %%a%d = mul(%%m%d, %%old)\n"
                  "    %%b%d = mul(%%mean, %%g%d)\n    %%next%d = add(%%a%d, %%b%d)\n",
                  k, k + 1, k, k + 1, k + 1, k, k, k, k, k, k, k, k, k);
  wk_str_printf(&b, "    %%z = neg(%%y%d)\n    output %%z\n", moved);
  for (int k = moved; k-- > 0;) wk_str_printf(&b, "    output %%next%d\n", k);
  wk_str_add(&b, "    output %x\n  }\n}\n");
  wk_status s = wk_module_parse(b.s, "m", &m);
  if (s) fail_msg("%s: %s\n%s", s->place ? s->place : "", s->message, b.s);
  wk_str_free(&b);
  return m;
}

typedef struct {
  wk_module *m;
  wk_import_report r;
  wk_step s;
} fixture;

static void build(fixture *f, int moved, bool key, const wk_step_options *o) {
  static const char *const weights[] = {"v", "w"};
  static const wk_statistic statistics[] = {{"m0", "next0"}, {"m1", "next1"}, {"m2", "next2"}};
  *f = (fixture){.m = model(moved, key)};
  for (int k = 0; k < moved; k++) wk_vec_push(&f->r.moved, statistics[k]);
  if (key) f->r.key = "key";
  wk_status s = wk_step_build(f->m, &f->r, o, weights, 2, &f->s);
  if (s) fail_msg("%s", s->message);
}

static void drop(fixture *f) {
  wk_step_free(&f->s);
  assert_true(!f->s.arena && f->s.variables.n == 0);
  wk_vec_free(&f->r.moved);
  wk_module_free(f->m);
}

/* ---- where things stand ---------------------------------------------------------------------- */

static void add_place(wk_str *b, const char *name, size_t at) {
  if (at != WK_STEP_NONE) wk_str_printf(b, " %s=%d", name, (int)at);
}

/* Inputs, those with a ~ variables, ! trained; outputs, or <- and the variable that each updates;
 * what the step says of their places; its variables, ! trained, ~ statistics. */
static void describe(const fixture *f, wk_str *b) {
  const wk_graph *g = f->m->main;
  for (size_t i = 0; i < g->inputs.n; i++) {
    const wk_value *v = wk_val(g, g->inputs.data[i]);
    wk_str_printf(b, "%s%s%s", i ? " " : "", v->name,
                  v->is_trainable ? "!" : wk_is_variable(g, g->inputs.data[i]) ? "~" : "");
  }
  wk_str_add(b, " |");
  for (size_t i = 0; i < g->outputs.n; i++) {
    wk_value_id to = g->updates.data[i];
    if (to == WK_NONE) wk_str_printf(b, " %s", g->output_names.data[i]);
    else wk_str_printf(b, " <-%s", wk_val(g, to)->name);
  }
  wk_str_add(b, " |");
  add_place(b, "labels", f->s.labels);
  add_place(b, "rate", f->s.rate);
  add_place(b, "step", f->s.step);
  add_place(b, "key", f->s.key);
  add_place(b, "apply", f->s.apply);
  wk_str_add(b, " |");
  add_place(b, "loss", f->s.loss);
  add_place(b, "metric", f->s.metric);
  add_place(b, "valid", f->s.valid);
  add_place(b, "norm", f->s.norm);
  wk_str_add(b, f->s.waits ? " waits |" : " |");
  for (size_t i = 0; i < f->s.variables.n; i++) {
    const wk_step_variable *v = &f->s.variables.data[i];
    wk_str_printf(b, " %s%s%s", v->name, v->is_weight ? "!" : "", v->is_statistic ? "~" : "");
  }
}

static const struct {
  int moved;
  bool key, is_loss;
  wk_loss_kind loss;
  wk_optimizer_kind optimizer;
  int accumulate;
  double clip;
  bool has_norm;
  const char *want;
} steps[] = {
    {0, false, false, WK_LOSS_MSE, WK_OPTIMIZER_SGD, 1, 0, false,
     "x labels rate step v! w! | loss metric valid <-v <-w | labels=1 rate=2 step=3 | "
     "loss=0 metric=1 valid=2 | v! w!"},
    {1, false, false, WK_LOSS_MSE, WK_OPTIMIZER_SGD, 1, 0, false,
     "x labels rate step v! w! m0~ | loss metric valid <-v <-w <-m0 | labels=1 rate=2 "
     "step=3 | loss=0 metric=1 valid=2 | v! w! m0~"},
    {1, false, false, WK_LOSS_L1, WK_OPTIMIZER_SGD, 1, 0, false,
     "x labels rate step v! w! m0~ | loss valid <-v <-w <-m0 | labels=1 rate=2 step=3 | "
     "loss=0 valid=1 | v! w! m0~"},
    {2, true, false, WK_LOSS_MSE, WK_OPTIMIZER_MOMENTUM, 1, 0, true,
     "x key labels rate step v.m~ v! w.m~ w! m0~ m1~ | loss metric valid norm <-v <-v.m "
     "<-w <-w.m <-m0 <-m1 | labels=2 rate=3 step=4 key=1 | loss=0 metric=1 valid=2 norm=3 "
     "| v.m v! w.m w! m0~ m1~"},
    {3, false, true, WK_LOSS_MSE, WK_OPTIMIZER_SGD, 1, 0.5, false,
     "x rate step v! w! m0~ m1~ m2~ | loss valid norm <-v <-w <-m0 <-m1 <-m2 | rate=1 "
     "step=2 | loss=0 valid=1 norm=2 waits | v! w! m0~ m1~ m2~"},
    {3, true, true, WK_LOSS_MSE, WK_OPTIMIZER_ADAM, 2, 0, true,
     "x key rate step apply v.sum~ w.sum~ v.m~ v.v~ v! w.m~ w.v~ w! m0~ m1~ m2~ | loss "
     "valid norm <-v.sum <-w.sum <-v <-v.m <-v.v <-w <-w.m <-w.v <-m0 <-m1 <-m2 | rate=2 "
     "step=3 key=1 apply=4 | loss=0 valid=1 norm=2 | v.sum w.sum v.m v.v v! w.m w.v w! "
     "m0~ m1~ m2~"},
    {2, false, false, WK_LOSS_BCE, WK_OPTIMIZER_ADAGRAD, 3, 2, true,
     "x labels rate step apply v.sum~ w.sum~ v.v~ v! w.v~ w! m0~ m1~ | loss metric valid "
     "norm <-v.sum <-w.sum <-v <-v.v <-w <-w.v <-m0 <-m1 | labels=1 rate=2 step=3 apply=4 "
     "| loss=0 metric=1 valid=2 norm=3 waits | v.sum w.sum v.v v! w.v w! m0~ m1~"},
};

static wk_step_options options_of(size_t i) {
  return (wk_step_options){.output = "z", .is_loss = steps[i].is_loss, .loss = steps[i].loss,
                           .optimizer = steps[i].optimizer,
                           .hypers = wk_optimizer_get(steps[i].optimizer)->defaults,
                           .clip_norm = steps[i].clip, .has_norm = steps[i].has_norm,
                           .accumulate = steps[i].accumulate};
}

static void test_places(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(steps); i++) {
    wk_step_options o = options_of(i);
    fixture f;
    wk_str b = {0};
    build(&f, steps[i].moved, steps[i].key, &o);
    describe(&f, &b);
    if (strcmp(b.s, steps[i].want)) {
      differ++;
      print_message("%zu:\n%s\n", i, b.s);
    }
    wk_str_free(&b);
    drop(&f);
  }
  assert_int_equal(differ, 0);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static const float x[2][3] = {{1, -2, 0.5f}, {3, 1, -1.5f}};

static void expect_values(const wk_tensor *got, const double *want, const char *name) {
  for (int e = 0; e < 3; e++) {
    double v = wk_load_f64(got->data, got->type.dtype, e);
    if (!(fabs(v - want[e]) <= 1e-5)) fail_msg("%s[%d] is %g, not %g", name, e, v, want[e]);
  }
}

/* One step of SGD at rate 0.5: by the formulas, or not at all where a label is infinite. */
static void check_run(int moved, bool has_norm, bool is_finite) {
  wk_step_options o = {.output = "z", .loss = WK_LOSS_MSE, .optimizer = WK_OPTIMIZER_SGD,
                       .accumulate = 1, .has_norm = has_norm};
  fixture f;
  build(&f, moved, false, &o);
  const wk_graph *g = f.m->main;
  const double w[3] = {0.5, -1, 2}, v[3] = {1, 2, 3}, rate = 0.5;
  double dw[3] = {0}, dv[3] = {0}, mean[3] = {0}, loss = 0, next[3];
  float labels[6] = {1, 2, 3, 4, 5, is_finite ? 6 : INFINITY};
  for (int e = 0; e < 6; e++) {
    int c = e % 3;
    double h = (double)x[e / 3][c] * w[c] + v[c], z = -h;
    for (int k = 0; k < moved; k++) z += c == 0 ? k + 1 : c == 1 ? 0 : 4;
    double d = z - (double)labels[e];
    mean[c] += h / 2;
    loss += d * d / 6;
    dw[c] -= 2 * d / 6 * (double)x[e / 3][c];
    dv[c] -= 2 * d / 6;
  }
  wk_tensor in[16], out[16];
  int64_t step = 1;
  for (size_t i = 0; i < g->inputs.n; i++)
    in[i] = (wk_tensor){wk_val(g, g->inputs.data[i])->type, NULL};
  in[0].data = (void *)(uintptr_t)x;
  in[f.s.labels].data = labels;
  in[f.s.rate].data = (void *)(uintptr_t)&rate;
  in[f.s.step].data = &step;
  wk_status st = wk_eval_graph(g, in, out, NULL, NULL);
  if (st) fail_msg("%s", st->message);
  assert_int_equal(*(const bool *)out[f.s.valid].data, is_finite);
  if (is_finite) assert_true(fabs(wk_load_f64(out[f.s.loss].data, WK_F32, 0) - loss) < 1e-5);
  for (size_t i = 0; i < g->outputs.n; i++) {
    if (g->updates.data[i] == WK_NONE) continue;
    const char *name = wk_val(g, g->updates.data[i])->name;
    for (int c = 0; c < 3; c++) {
      int k = name[1] - '0';
      double old = c == 0 ? k + 1 : c == 1 ? 0 : 4;
      if (name[0] == 'w') next[c] = is_finite ? w[c] - rate * dw[c] : w[c];
      else if (name[0] == 'v') next[c] = is_finite ? v[c] - rate * dv[c] : v[c];
      else next[c] = is_finite ? 0.9 * old + 0.1 * (k + 1) * mean[c] : old;
    }
    expect_values(&out[i], next, name);
  }
  for (size_t i = 0; i < g->outputs.n; i++) wk_tensor_free(&out[i]);
  drop(&f);
}

static void test_runs(void **state) {
  (void)state;
  for (int moved = 0; moved <= 3; moved++)
    for (int k = 0; k < 4; k++) check_run(moved, k & 1, k & 2);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Floats of rank 1 and more that no normalisation and no step moves, in the order of the report. */
static void test_weights(void **state) {
  (void)state;
  static const char *const names[] = {"var", "half", "scalar", "nobody", "numbers", "scale",
                                      "moved", "x", "bias", "mean", "wide", "spare"};
  static const char *const want[] = {"half", "scale", "bias", "wide", "spare"};
  wk_module *m = NULL;
  wk_status s = wk_module_parse(
      "module \"m\" {\ngraph @main(%x: f32[2,3]) {\n%var = constant f32[3] {1, 2, 3}\n"
      "%half = constant f16[3] {1, 2, 3}\n%scalar = constant f32[] {1}\n"
      "%numbers = constant i32[3] {1, 2, 3}\n%scale = constant f32[3] {1, 2, 3}\n"
      "%moved = constant f32[3] {1, 2, 3}\n%bias = constant f32[3] {1, 2, 3}\n"
      "%mean = constant f32[3] {1, 2, 3}\n%wide = constant f64[3] {1, 2, 3}\n"
      "%spare = constant f32[1] {1}\n"
      "%y = batch_norm(%x, %scale, %bias, %mean, %var)\n%a = add(%y, %moved)\n"
      "%b = cast(%half) {to=f32}\n%c = cast(%wide) {to=f32}\n%d = add(%a, %b)\n%e = add(%d, %c)\n"
      "%f = mul(%e, %scalar)\n%g = mul(%f, %spare)\noutput %g\noutput %numbers\n}\n}\n",
      "m", &m);
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
  wk_import_report r = {0};
  for (size_t i = 0; i < WK_COUNTOF(names); i++)
    wk_vec_push(&r.weights, ((wk_import_weight){.name = names[i]}));
  wk_vec_push(&r.moved, ((wk_statistic){"moved", "y"}));
  wk_weight_names got = {0};
  wk_step_weights(m, &r, &got);
  assert_int_equal(got.n, WK_COUNTOF(want));
  for (size_t i = 0; i < got.n; i++) assert_string_equal(got.data[i], want[i]);
  wk_vec_free(&got);
  wk_vec_free(&r.weights);
  wk_vec_free(&r.moved);
  wk_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_places), cmocka_unit_test(test_runs),
                                     cmocka_unit_test(test_weights)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
