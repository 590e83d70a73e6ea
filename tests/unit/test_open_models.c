/* SPDX-License-Identifier: Apache-2.0
 * Models whose sizes a run decides, as exporters write them: one import for all sizes gives what an
 * import for each size does, in the evaluator, with NaN and 0xAA beyond all sizes, and compiled. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/pipeline/runner.h"

enum { DRAWS = 6 };

enum { SYMBOLS = 4 };

typedef struct {
  const char *name, *symbols[SYMBOLS]; /* "=total": the sum of the two before it; "_past": no symbol
                                        * of the model; "*height": in steps of 16; "!v": bounds
                                        * of a value */
  int64_t least[SYMBOLS], most[SYMBOLS];
  int64_t largest; /* integer in an input */
} model;

/* The sizes that have no symbol depend on values. */
static const model models[] = {
    {"bert", {"batch", "seq"}, {1, 1}, {3, 24}, 1},
    {"llama", {"batch", "seq"}, {1, 1}, {3, 20}, 1},
    {"t5_bias", {"batch", "seq"}, {1, 1}, {3, 20}, 1},
    {"seq2seq_mask", {"batch", "seq"}, {1, 1}, {3, 20}, 1},
    {"reshape_mix", {"batch", "seq"}, {1, 1}, {4, 20}, 1},
    {"quant", {"batch", "seq"}, {1, 1}, {4, 20}, 1},
    {"lstm", {"batch", "seq"}, {1, 1}, {4, 12}, 1},
    {"flip", {"batch", "seq"}, {1, 3}, {5, 12}, 1},
    {"wav", {"batch", "samples"}, {1, 400}, {2, 900}, 1},
    {"fcn", {"height", "width"}, {16, 16}, {30, 30}, 1},
    {"topk", {"batch", "n"}, {1, 10}, {4, 40}, 1},
    {"concat_dyn", {"seq", "other"}, {1, 1}, {12, 9}, 1},
    {"cache", {"seq", "past"}, {1, 0}, {4, 9}, 1},
    {"gru_lengths", {"seq"}, {1}, {12}, 1},
    {"masked_scatter", {"rows"}, {1}, {9}, 1},
    {"roi", {"num"}, {1}, {9}, 1},
    {"gqa", {"seq", "past", "=total"}, {1, 0, 1}, {6, 9, 15}, 1},
    {"gqa_packed", {"batch", "seq", "past", "=total"}, {1, 1, 0, 1}, {3, 1, 8, 9}, 1},
    {"gqa_buffer", {"seq", "_past", "=total"}, {1, 0, 1}, {6, 14, 20}, 1},
    {"mha", {"batch", "seq", "memory"}, {1, 1, 1}, {3, 9, 7}, 1},
    {"mha_cache", {"batch", "seq", "past"}, {1, 1, 0}, {3, 6, 7}, 1},
    {"bert_merged", {"batch", "seq"}, {1, 1}, {3, 12}, 1},
    {"gpt2_merged", {"batch", "seq", "past", "=total"}, {1, 1, 0, 1}, {3, 6, 9, 15}, 1},
    {"onnx_attention", {"batch", "seq", "past"}, {1, 1, 0}, {3, 6, 7}, 1},
    {"onnx_masked", {"batch", "seq", "memory"}, {1, 1, 1}, {3, 9, 7}, 1},
    {"rotary_ms", {"batch", "seq"}, {1, 1}, {3, 9}, 1},
    {"merged", {"batch", "seq", "past"}, {1, 1, 0}, {3, 6, 9}, 1},
    {"boxes_or_none", {"boxes"}, {1}, {9}, 1},
    {"loops", {"batch", "steps", "width"}, {1, 1, 1}, {3, 7, 5}, 1},
    {"pyramid", {"height", "width"}, {9, 9}, {20, 17}, 1},
    {"strided", {"height", "width"}, {7, 7}, {20, 17}, 1},
    {"yolo", {"*height", "*width"}, {32, 32}, {80, 80}, 1},
    {"yolo_end", {"*height", "*width"}, {32, 32}, {80, 80}, 1},
    {"ssdlite", {"height", "width"}, {32, 32}, {80, 80}, 1},
    {"faster_rcnn", {"height", "width"}, {24, 24}, {60, 60}, 1},
    {"paste", {"num", "height", "width", "!v40"}, {0, 6, 6, -200}, {3, 20, 20, 200}, 1},
    {"vits", {"batch", "phonemes", "!v332"}, {1, 1, 1}, {2, 9, 40}, 1},
    {"t5_decoder", {"batch", "seq", "past", "memory"}, {1, 1, 0, 1}, {3, 6, 9, 7}, 1},
    {"whisper_decoder", {"batch", "seq", "past"}, {1, 1, 0}, {3, 6, 9}, 1},
    {"llama_past", {"batch", "seq", "past", "=total"}, {1, 1, 0, 1}, {3, 6, 9, 15}, 1},
    {"qwen_dynamo", {"batch", "seq", "past", "=total"}, {1, 1, 0, 1}, {3, 6, 9, 15}, 1},
    {"nms", {NULL}, {0}, {0}, 1},
    {"nonzero", {NULL}, {0}, {0}, 1},
    {"unique", {NULL}, {0}, {0}, 5},
};

static void must(const model *m, wk_status s) {
  if (s) fail_msg("%s: %s", m->name, s->message);
}

static bool is_sum(const model *m, int i) { return m->symbols[i] && m->symbols[i][0] == '='; }

static bool is_stepped(const model *m, int i) { return m->symbols[i][0] == '*'; }

static const char *symbol_of(const model *m, int i) {
  return m->symbols[i] + (is_sum(m, i) || is_stepped(m, i));
}

/* sizes NULL: open. */
static char *binding_of(wk_arena *a, const model *m, const int64_t *sizes) {
  wk_str b = {0};
  for (int i = 0; i < SYMBOLS && m->symbols[i]; i++) {
    if (m->symbols[i][0] == '_' || m->symbols[i][0] == '!') continue;
    wk_str_printf(&b, "%s%s=", i ? "," : "", symbol_of(m, i));
    if (sizes) wk_str_printf(&b, "%lld", (long long)sizes[i]);
    else wk_str_printf(&b, "%lld..%lld", (long long)m->least[i], (long long)m->most[i]);
  }
  char *text = wk_arena_strdup(a, b.s ? b.s : "");
  wk_str_free(&b);
  return text;
}

/* What decides sizes by its value is given, or left to the run. */
static wk_runner *runner_of(const model *m, const int64_t *sizes, const char *target,
                            const wk_bind_value *values, size_t n_values) {
  wk_arena *a = wk_arena_new();
  const char *path = wk_arena_printf(a, "%s/%s.onnx", WICK_TEST_OPEN, m->name);
  wk_binding_args args = {0};
  wk_binding_set set;
  size_t n;
  wk_module *module;
  wk_runner *r;
  wk_import_report report = {0};
  bool fixed[WK_RUNNER_MAX_IO] = {false};
  if (m->symbols[0]) wk_vec_push(&args.bind, binding_of(a, m, sizes));
  for (int i = 0; i < SYMBOLS && m->symbols[i]; i++)
    if (m->symbols[i][0] == '!')
      wk_vec_push(&args.bound, wk_arena_printf(a, "%s=%lld..%lld", m->symbols[i] + 1,
                                               (long long)m->least[i], (long long)m->most[i]));
  must(m, wk_binding_sets_parse(&args, &set, 1, &n));
  const wk_import_options o = wk_binding_import_options(&set, true);
  for (size_t i = 0; i < n_values; i++) fixed[i] = !m->symbols[0];
  must(m, wk_model_import_fed(path, &o, values, fixed, n_values, &report, &module));
  const wk_runner_options ro = {.target = {.target = target}, .threads = 1,
                                .model_name = m->name};
  must(m, wk_runner_of_module(module, &ro, &r));
  wk_import_report_free(&report);
  wk_binding_set_free(&set);
  wk_vec_free(&args.bind);
  wk_vec_free(&args.bound);
  wk_arena_free(a);
  return r;
}

static void draw(const model *m, const wk_type *t, wk_rng *rng, wk_tensor *out) {
  wk_status s = wk_tensor_random(t, rng, out);
  assert_null(s);
  for (int64_t i = 0; wk_dtype_is_int(t->dtype) && i < wk_type_count(t); i++)
    wk_store_i64(out->data, t->dtype, i, wk_rng_range(rng, 0, m->largest));
}

static void same(const model *m, const wk_runner *r, size_t output, const wk_tensor *want,
                 const wk_tensor *got, const char *where) {
  const char *name = wk_runner_output_name(r, output);
  if (!wk_shape_equal(&want->type, &got->type))
    fail_msg("%s: %s %s: rank %d, %lld elements instead of %lld", m->name, where, name,
             got->type.rank, (long long)wk_type_count(&got->type),
             (long long)wk_type_count(&want->type));
  for (int64_t i = 0; i < wk_type_count(&want->type); i++) {
    double a = wk_load_f64(want->data, want->type.dtype, i);
    double b = wk_load_f64(got->data, got->type.dtype, i);
    if (!(fabs(a - b) <= 1e-5 + 1e-4 * fabs(a)) && !(isnan(a) && isnan(b)))
      fail_msg("%s: %s %s: element %lld is %g, not %g", m->name, where, name, (long long)i, b, a);
  }
}

static void compare(const model *m, wk_runner *open, const char *where, const wk_tensor *in,
                    const wk_runner *exact, const wk_tensor *want) {
  wk_tensor got[WK_RUNNER_MAX_IO] = {{{0}, NULL}};
  must(m, wk_runner_run(open, in, got));
  for (size_t i = 0; i < wk_runner_outputs(open); i++) {
    same(m, exact, i, &want[i], &got[i], where);
    wk_tensor_free(&got[i]);
  }
}

/* In the order of `open`: an exact model may lack inputs that are given as values. */
static void run_exact(const model *m, const wk_runner *open, const int64_t *sizes,
                      const wk_tensor *in, const wk_runner **exact, wk_tensor *want) {
  wk_bind_value values[WK_RUNNER_MAX_IO];
  wk_tensor left[WK_RUNNER_MAX_IO];
  size_t n = m->symbols[0] ? 0 : wk_runner_inputs(open), n_left = 0;
  for (size_t i = 0; i < n; i++)
    values[i] = (wk_bind_value){.input = wk_runner_input_name(open, i), .value = in[i]};
  wk_runner *r = runner_of(m, sizes, "eval", values, n);
  for (size_t i = 0; i < wk_runner_inputs(open) && !n; i++) left[n_left++] = in[i];
  must(m, wk_runner_run(r, left, want));
  *exact = r;
}

/* The type of input i in these sizes. */
static wk_type sized(const model *m, const wk_runner *eval, size_t i, const int64_t *sizes) {
  const wk_module *module = wk_runner_module(eval);
  wk_type t = *wk_runner_input_type(eval, i);
  for (size_t k = 0; k < module->open_axes.n; k++) {
    const wk_open_axis *a = &module->open_axes.data[k];
    if (a->is_output || strcmp(a->tensor, wk_runner_input_name(eval, i)) != 0) continue;
    for (int s = 0; s < SYMBOLS && m->symbols[s]; s++)
      if (!strcmp(a->symbol, symbol_of(m, s))) t.dims[a->axis] = sizes[s];
  }
  return t;
}

static void compare_at(const model *m, wk_runner *eval, wk_runner *cpu, const int64_t *sizes,
                       wk_rng *rng) {
  const wk_runner *exact;
  wk_tensor in[WK_RUNNER_MAX_IO] = {{{0}, NULL}}, want[WK_RUNNER_MAX_IO] = {{{0}, NULL}};
  for (size_t i = 0; i < wk_runner_inputs(eval); i++) {
    const wk_type t = sized(m, eval, i, sizes);
    draw(m, &t, rng, &in[i]);
  }
  run_exact(m, eval, sizes, in, &exact, want);
  compare(m, eval, "evaluated", in, exact, want);
  compare(m, cpu, "compiled", in, exact, want);
  for (size_t i = 0; i < wk_runner_inputs(eval); i++) wk_tensor_free(&in[i]);
  for (size_t i = 0; i < wk_runner_outputs(exact); i++) wk_tensor_free(&want[i]);
  wk_runner_free((wk_runner *)(uintptr_t)exact);
}

static int64_t drawn_size(const model *m, int i, wk_rng *rng) {
  int64_t step = m->symbols[i] && is_stepped(m, i) ? 16 : 1;
  return m->least[i] + step * wk_rng_range(rng, 0, (m->most[i] - m->least[i]) / step);
}

static void one_import_for_all_sizes(void **state) {
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(models); k++) {
    const model *m = &models[k];
    wk_rng rng = {.s = 7 + k};
    wk_runner *eval = runner_of(m, NULL, "eval", NULL, 0);
    wk_runner *cpu = runner_of(m, NULL, "cpu", NULL, 0);
    for (int d = 0; d < DRAWS; d++) {
      int64_t sizes[SYMBOLS];
      for (int i = 0; i < SYMBOLS; i++)
        sizes[i] = d < 2          ? (d ? m->most[i] : m->least[i])
                   : is_sum(m, i) ? sizes[i - 2] + sizes[i - 1]
                                  : drawn_size(m, i, &rng);
      compare_at(m, eval, cpu, sizes, &rng);
    }
    wk_runner_free(eval);
    wk_runner_free(cpu);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_import_for_all_sizes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
