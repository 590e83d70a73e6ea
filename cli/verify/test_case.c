/* SPDX-License-Identifier: Apache-2.0
 * One model folder. The model is imported with the shapes of the first data set's inputs. Inputs
 * whose values decide shapes are found by asking: the importer refuses and names them, their values
 * from the data set go into the next attempt. Later data sets use the same compiled model when
 * shapes and those values agree. */
#include "cli/verify/test_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "compiler/pipeline/weights.h"

#define BF16_ULP \
  0x1p-7 /* the last place of a bf16, relative to its value: more than the usual rtol */

typedef struct {
  const wk_test_options *o;
  const char *model;
  wk_import_options files; /* of a net */
  const wk_test_data *d;
  WK_VEC(wk_bind_shape) shapes;
  WK_VEC(wk_bind_length) lengths;
  WK_VEC(wk_bind_value) data; /* borrowed from the data set */
  WK_VEC(bool) fixed;         /* per data: a constant of the compiled model */
  const wk_test_set *compiled_for; /* NULL: nothing compiled yet */
  wk_runner *runner;
  wk_runner *reference; /* evaluator, where its results are what is wanted */
  wk_test_output *kind; /* per output of the runner */
  bool is_quantised;
  char *note;                         /* as in wk_test_case */
  const wk_test_set *unexplained; /* whose outputs differ though the layers may agree, NULL: none */
} test;

/* ---- import ---------------------------------------------------------------------------------- */

static const wk_onnx_io *input_of(const test *t, const wk_test_tensor *x) {
  return &t->d->info.inputs.data[x->target];
}

/* Its name among the compiled model's inputs. */
static const char *name_of(const test *t, const wk_test_tensor *x) {
  return x->part ? x->part : input_of(t, x)->name;
}

static const wk_test_tensor *data_for_input(const test *t, const wk_test_set *s, const char *name) {
  for (size_t i = 0; i < s->in.n; i++)
    if (!strcmp(name_of(t, &s->in.data[i]), name)) return &s->in.data[i];
  return NULL;
}

/* Shapes of all inputs and lengths of sequences; inputs that have a default are given by value. */
static void bind(test *t, const wk_test_set *s) {
  t->shapes.n = t->data.n = t->fixed.n = t->lengths.n = 0;
  for (size_t i = 0; i < s->in_lengths.n; i++) {
    const wk_test_length *l = &s->in_lengths.data[i];
    const wk_bind_length b = {.input = t->d->info.inputs.data[l->target].name, .n = l->n};
    wk_vec_push(&t->lengths, b);
  }
  for (size_t i = 0; i < s->in.n; i++) {
    const wk_test_tensor *x = &s->in.data[i];
    if (x->error) continue;
    wk_bind_value v = {.input = name_of(t, x), .value = x->t};
    wk_bind_shape b = {.input = v.input, .rank = x->t.type.rank};
    memcpy(b.dims, x->t.type.dims, sizeof b.dims);
    wk_vec_push(&t->data, v);
    wk_vec_push(&t->fixed, input_of(t, x)->has_default);
    if (!input_of(t, x)->has_default) wk_vec_push(&t->shapes, b);
  }
}

static bool is_fixed(const test *t, const char *name) {
  for (size_t i = 0; i < t->data.n; i++)
    if (t->fixed.data[i] && !strcmp(t->data.data[i].input, name)) return true;
  return false;
}

/* A refusal as one line without node names, so that equal reasons can be counted. */
static wk_status refusal(wk_status s, const wk_import_report *r) {
  if (s->code != WK_UNSUPPORTED || r->unsupported.n == 0) return s;
  const wk_unsupported *u = &r->unsupported.data[0];
  wk_status_free(s);
  return wk_error(WK_UNSUPPORTED, "%s%s%s: %s", u->domain, *u->domain ? "." : "", u->op, u->reason);
}

static wk_status import(test *t, wk_module **out) {
  wk_import_report report;
  wk_import_options o = t->files;
  o.shapes = t->shapes.data;
  o.n_shapes = t->shapes.n;
  o.lengths = t->lengths.data;
  o.n_lengths = t->lengths.n;
  o.strict_opset = t->o->strict_opset;
  wk_status s = wk_model_import_real(t->model, &o, t->data.data, t->fixed.data, t->data.n, &report,
                                     out);
  if (s) s = refusal(s, &report);
  if (!s && report.notes.n && !t->note) t->note = wk_xstrdup(report.notes.data[0]);
  wk_import_report_free(&report);
  WK_TRY(s);
  t->is_quantised = wk_test_is_quantised(*out);
  return wk_status_place(wk_model_convert(out), t->model);
}

/* ---- compile --------------------------------------------------------------------------------- */

static void drop(test *t) {
  wk_runner_free(t->runner);
  wk_runner_free(t->reference);
  free(t->kind);
  t->runner = t->reference = NULL;
  t->kind = NULL;
  t->compiled_for = NULL;
}

static bool same_tensor(const wk_tensor *a, const wk_tensor *b, bool values) {
  if (a->type.dtype != b->type.dtype || !wk_shape_equal(&a->type, &b->type)) return false;
  size_t n = (size_t)wk_type_bytes(&a->type);
  return !values || n == 0 || !memcmp(a->data, b->data, n);
}

static bool same_lengths(const wk_test_set *a, const wk_test_set *b) {
  bool same = a->in_lengths.n == b->in_lengths.n;
  for (size_t i = 0; same && i < a->in_lengths.n; i++) {
    bool found = false;
    for (size_t k = 0; k < b->in_lengths.n; k++)
      found = found || (a->in_lengths.data[i].target == b->in_lengths.data[k].target &&
                        a->in_lengths.data[i].n == b->in_lengths.data[k].n);
    same = found;
  }
  return same;
}

static bool fits(const test *t, const wk_test_set *s) {
  if (!t->compiled_for || t->compiled_for->in.n != s->in.n || !same_lengths(t->compiled_for, s))
    return false;
  for (size_t i = 0; i < s->in.n; i++) {
    const wk_test_tensor *a = &t->compiled_for->in.data[i], *b = &s->in.data[i];
    if (a->target != b->target || a->error || b->error) return false;
    if (!same_tensor(&a->t, &b->t, is_fixed(t, name_of(t, a)))) return false;
  }
  return true;
}

/* Both modules get the same weights: the replacement depends on the module and the seed alone. */
static wk_status build_reference(test *t, wk_module *m) {
  wk_module *copy;
  wk_runner_options o = {.target = {.target = WK_TARGET_EVAL}};
  int64_t replaced, again;
  WK_TRY(wk_weights_randomise(m, (uint64_t)t->o->random_weights, &replaced));
  if (replaced == 0) return wk_error(WK_UNSUPPORTED, "no constant weights to replace");
  WK_TRY(import(t, &copy));
  wk_status st = wk_weights_randomise(copy, (uint64_t)t->o->random_weights, &again);
  if (st) {
    wk_module_free(copy);
    return st;
  }
  return wk_runner_of_module(copy, &o, &t->reference);
}

static wk_status compile(test *t, const wk_test_set *s) {
  wk_module *m;
  wk_runner_options o = {.target = t->o->target, .threads = t->o->threads,
                         .model_name = "test"};
  drop(t);
  bind(t, s);
  WK_TRY(import(t, &m));
  t->kind = wk_test_outputs(m);
  wk_status st = t->o->random_weights >= 0 ? build_reference(t, m) : NULL;
  if (st) {
    wk_module_free(m);
    return st;
  }
  WK_TRY(wk_runner_of_module(m, &o, &t->runner));
  t->compiled_for = s;
  return NULL;
}

/* ---- compare --------------------------------------------------------------------------------- */

static wk_status differ(const wk_test_set *s, const char *name, const wk_tensor *got,
                        const wk_tensor *want, const wk_diff *d) {
  wk_str text = {0};
  wk_str_printf(&text, "%s: output %s: ", s->name, name);
  wk_text_diff(&text, got, want, d);
  wk_status st = wk_error(WK_FAILED, "%s", text.s);
  wk_str_free(&text);
  return st;
}

/* Outputs of quantised tensors, in their steps: another runtime rounds at other places. */
static wk_status compare_steps(const test *t, const wk_test_set *s, const char *name,
                               const wk_tensor *got, const wk_tensor *want, double step) {
  int64_t n = wk_type_count(&want->type), worst = 0;
  double sum = 0, most = 0;
  for (int64_t i = 0; i < n; i++) {
    double g = wk_load_f64(got->data, got->type.dtype, i);
    double w = wk_load_f64(want->data, want->type.dtype, i), off = fabs(g - w) / step;
    if (g == w || (isnan(g) && isnan(w))) continue;
    sum += off;
    if (!(off > most)) continue;
    most = off;
    worst = i;
  }
  double mean = n ? sum / (double)n : 0;
  if (mean <= t->o->mean_steps && most <= t->o->max_steps) return NULL;
  return wk_error(WK_FAILED,
                  "%s: output %s is off by %.3g quantisation steps of %g in the mean, %.3g at "
                  "element %lld; allowed are %g and %g",
                  s->name, name, mean, step, most, (long long)worst, t->o->mean_steps,
                  t->o->max_steps);
}

static wk_status compare(const test *t, const wk_test_set *s, size_t k, const wk_tensor *got,
                         const wk_tensor *want) {
  static const wk_tolerance dynamic = {0, 1e-7, 1e-2};
  const char *name = wk_runner_output_name(t->runner, k);
  const wk_labels *labels = wk_runner_output_labels(t->runner, k);
  const wk_test_output *kind = &t->kind[k];
  if (!same_tensor(got, want, false)) {
    wk_arena *a = wk_arena_new();
    wk_status st = wk_error(WK_FAILED, "%s: output %s is %s, want %s", s->name, name,
                            wk_type_text(a, &got->type), wk_type_text(a, &want->type));
    wk_arena_free(a);
    return st;
  }
  if (kind->is_random) return NULL;
  if (labels && labels->kind == WK_LABELS_ELEMENTS) return wk_test_labelled(s, labels, got, want);
  wk_tolerance tolerance = t->o->tolerance;
  if (t->o->is_default && kind->step > 0)
    return compare_steps(t, s, name, got, want, kind->step);
  if (t->o->is_default && kind->is_dynamic && wk_dtype_is_float(want->type.dtype))
    tolerance = dynamic;
  if (t->o->is_default && want->type.dtype == WK_BF16 && tolerance.rtol < BF16_ULP)
    tolerance.rtol = BF16_ULP;
  wk_diff d = wk_tensor_diff(got, want, &tolerance);
  return d.equal ? NULL : differ(s, name, got, want, &d);
}

static wk_status check_complete(const test *t, const wk_test_set *s) {
  const wk_onnx_info *info = &t->d->info;
  for (size_t o = 0; o < info->outputs.n; o++) {
    bool has = false;
    for (size_t i = 0; i < s->out.n; i++) has = has || s->out.data[i].target == (int)o;
    for (size_t i = 0; i < s->out_lengths.n; i++)
      has = has || s->out_lengths.data[i].target == (int)o;
    if (!has)
      return wk_error(WK_INPUT, "%s: no data for output %s", s->name, info->outputs.data[o].name);
  }
  return NULL;
}

/* The elements of an output that is a sequence, or an optional without: no more than are stored. */
static wk_status check_length(const test *t, const wk_test_set *s, const wk_test_length *l) {
  const wk_onnx_io *io = &t->d->info.outputs.data[l->target];
  size_t n = strlen(io->name);
  int64_t count = 0;
  for (size_t k = 0; k < wk_runner_outputs(t->runner); k++) {
    const char *name = wk_runner_output_name(t->runner, k);
    count += !strncmp(name, io->name, n) && (io->is_sequence ? name[n] == '[' : !name[n]);
  }
  int64_t want = l->n == WK_NO_ELEMENT ? 0 : l->n;
  if (count == want) return NULL;
  return wk_error(WK_FAILED, "%s: output %s has %lld elements, want %lld", s->name, io->name,
                  (long long)count, (long long)want);
}

/* Strings and lists of maps are compared as the numbers that the model has for them. */
static wk_status compare_one(const test *t, const wk_test_set *s, size_t k, const wk_tensor *got,
                             const wk_test_tensor *want) {
  const wk_labels *labels = wk_runner_output_labels(t->runner, k);
  wk_tensor numbers = {0};
  bool found = false;
  if (labels) WK_TRY(wk_labelled_read_pb(want->path, labels, &numbers, &found));
  if (!found && want->error && labels)
    return wk_error_at(want->error->code, s->name, "output_%lld.pb: %s", (long long)want->number,
                       want->error->message);
  if (!found && want->error) return wk_error(WK_UNSUPPORTED, "%s", want->error->message);
  wk_status st = compare(t, s, k, got, found ? &numbers : &want->t);
  wk_tensor_free(&numbers);
  return st;
}

static wk_status compare_stored(const test *t, const wk_test_set *s, const wk_tensor *got) {
  WK_TRY(check_complete(t, s));
  for (size_t i = 0; i < s->out_lengths.n; i++) WK_TRY(check_length(t, s, &s->out_lengths.data[i]));
  for (size_t i = 0; i < s->out.n; i++) {
    const wk_test_tensor *want = &s->out.data[i];
    const char *name = want->part ? want->part : t->d->info.outputs.data[want->target].name;
    size_t k = 0, n = wk_runner_outputs(t->runner);
    while (k < n && strcmp(wk_runner_output_name(t->runner, k), name) != 0) k++;
    if (k == n) return wk_error(WK_FAILED, "%s: the model has no output %s", s->name, name);
    WK_TRY(compare_one(t, s, k, &got[k], want));
  }
  return NULL;
}

/* NaN equals NaN and one number equals itself: results like these would hide every mistake. */
static wk_status check_telling(const test *t, const wk_tensor *want, const char *name) {
  int64_t n = wk_type_count(&want->type);
  bool varies = n < 2;
  for (int64_t i = 0; i < n; i++) {
    double v = wk_load_f64(want->data, want->type.dtype, i);
    if (!isfinite(v))
      return wk_error(WK_FAILED, "output %s is not finite with seed %lld", name,
                      (long long)t->o->random_weights);
    varies = varies || v != wk_load_f64(want->data, want->type.dtype, 0);
  }
  if (varies) return NULL;
  return wk_error(WK_FAILED, "all elements of output %s are equal with seed %lld", name,
                  (long long)t->o->random_weights);
}

static wk_status compare_reference(const test *t, const wk_test_set *s, const wk_tensor *in,
                                   const wk_tensor *got) {
  size_t n = wk_runner_outputs(t->runner);
  wk_tensor *want = wk_xcalloc(n, sizeof *want);
  wk_status st = wk_runner_run(t->reference, in, want);
  for (size_t k = 0; !st && k < n; k++) {
    const char *name = wk_runner_output_name(t->runner, k);
    st = check_telling(t, &want[k], name);
    if (!st) st = compare(t, s, k, &got[k], &want[k]);
  }
  for (size_t k = 0; k < n; k++) wk_tensor_free(&want[k]);
  free(want);
  return st;
}

static wk_status collect_inputs(const test *t, const wk_test_set *s, wk_tensor *in) {
  for (size_t i = 0; i < wk_runner_inputs(t->runner); i++) {
    const char *name = wk_runner_input_name(t->runner, i);
    const wk_test_tensor *x = data_for_input(t, s, name);
    if (!x) return wk_error(WK_INPUT, "%s: no data for input %s", s->name, name);
    in[i] = x->t;
  }
  return NULL;
}

static wk_status run_set(test *t, const wk_test_set *s) {
  if (!fits(t, s)) WK_TRY(compile(t, s));
  size_t n_in = wk_runner_inputs(t->runner), n_out = wk_runner_outputs(t->runner);
  wk_tensor *in = wk_xcalloc(n_in, sizeof *in), *got = wk_xcalloc(n_out, sizeof *got);
  wk_status st = collect_inputs(t, s, in);
  if (!st) st = wk_runner_run(t->runner, in, got);
  if (!st) st = t->reference ? compare_reference(t, s, in, got) : compare_stored(t, s, got);
  if (st && st->code == WK_FAILED && !t->reference && t->is_quantised) t->unexplained = s;
  for (size_t i = 0; i < n_out; i++) wk_tensor_free(&got[i]);
  free(in);
  free(got);
  return st;
}

static wk_status run_sets(test *t) {
  const wk_test_data *d = t->d;
  wk_status s = d->sets.n ? NULL : wk_error(WK_UNSUPPORTED, "no test data");
  for (size_t i = 0; !s && i < d->sets.n; i++) s = run_set(t, &d->sets.data[i]);
  return s;
}

/* ---- verdict --------------------------------------------------------------------------------- */

/* Inputs whose values decide sizes, so that the model was compiled for these values. */
static void add_decisive(const test *t, wk_str *text) {
  for (size_t i = 0; i < t->data.n; i++) {
    const char *name = t->data.data[i].input;
    bool is_decisive = t->fixed.data[i];
    for (size_t k = 0; k < t->d->info.inputs.n; k++)
      if (!strcmp(t->d->info.inputs.data[k].name, name))
        is_decisive = is_decisive && !t->d->info.inputs.data[k].has_default;
    if (is_decisive)
      wk_str_printf(text, "%s%s", text->n ? ", " : "sizes depend on the values of ", name);
  }
}

static void conclude(const test *t, wk_test_case *c, const char *model, wk_status s) {
  wk_str text = {0};
  c->verdict = !s ? WK_TEST_PASSED : s->code == WK_UNSUPPORTED ? WK_TEST_SKIPPED : WK_TEST_FAILED;
  if (s) {
    bool has_place = s->place && c->verdict == WK_TEST_FAILED && strcmp(s->place, model) != 0;
    wk_str_printf(&text, "%s%s%s", has_place ? s->place : "", has_place ? ": " : "", s->message);
    if (s->notes && c->verdict == WK_TEST_FAILED)
      wk_str_printf(&text, " (%.*s)", (int)strcspn(s->notes, "\n"), s->notes);
  }
  if (c->verdict == WK_TEST_PASSED) add_decisive(t, &text);
  c->text = text.s;
}

static wk_status compare_layers(test *t, wk_str *text) {
  wk_import_options o = t->files;
  o.shapes = t->shapes.data;
  o.n_shapes = t->shapes.n;
  o.lengths = t->lengths.data;
  o.n_lengths = t->lengths.n;
  o.strict_opset = t->o->strict_opset;
  wk_import_report report = {0};
  wk_module *real = NULL, *m = NULL;
  wk_tensor *in = wk_xcalloc(wk_runner_inputs(t->runner), sizeof *in);
  wk_status s = collect_inputs(t, t->unexplained, in);
  if (!s)
    s = wk_model_import_real(t->model, &o, t->data.data, t->fixed.data, t->data.n, &report, &real);
  wk_import_report_free(&report);
  if (!s) s = import(t, &m);
  if (!s) s = wk_test_layers(t->o, real, m, in, text);
  wk_module_free(real);
  wk_module_free(m);
  free(in);
  return s;
}

/* Says of a quantised model that failed how far its layers agree, where that can be found out. */
static void explain(test *t, wk_test_case *c) {
  wk_str layers = {0}, text = {0};
  wk_status s = compare_layers(t, &layers);
  if (!s && layers.n) {
    wk_str_printf(&text, "%s (%s)", c->text, layers.s);
    free(c->text);
    c->text = text.s;
  }
  wk_status_free(s);
  wk_str_free(&layers);
}

void wk_test_case_run(const wk_test_options *o, wk_test_case *c, wk_test_done found, void *ctx) {
  wk_test_data d = {0};
  wk_arena *a = wk_arena_new();
  double started = wk_clock();
  test t = {.o = o, .d = &d};
  t.model = wk_model_in_folder(a, c->dir, &t.files);
  if (!t.model) t.model = wk_arena_printf(a, "%s/model.onnx", c->dir);
  wk_status s = wk_test_data_read(c->dir, t.model, &t.files, &d);
  if (!s) s = run_sets(&t);
  c->seconds = wk_clock() - started;
  conclude(&t, c, t.model, s);
  c->note = t.note;
  if (t.unexplained && found) found(ctx, c);
  if (t.unexplained) explain(&t, c);
  drop(&t);
  wk_vec_free(&t.shapes);
  wk_vec_free(&t.lengths);
  wk_vec_free(&t.data);
  wk_vec_free(&t.fixed);
  wk_status_free(s);
  wk_arena_free(a);
  wk_test_data_free(&d);
}
