/* SPDX-License-Identifier: Apache-2.0
 * Random ONNX models, imported with sizes that a run decides, against the same ones imported for
 * each choice of sizes. A failure prints the seed and the shrunk model.
 *   test_random_extents [-v] [FIRST_SEED [COUNT [TARGET]]]
 * -v: what was refused, and why; TARGET: what runs the open model in place of the evaluator. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/pipeline/runner.h"
#include "tests/random_graph.h"
#include "tests/unit/random_onnx.h"

enum { MOST_REFUSED = 25 }; /* percent of the graphs */

static uint64_t first_seed = 1, n_seeds = RANDOM_COUNT(2000);
static bool is_verbose;
static const char *target_name = "eval";
static volatile uint64_t current_seed;

typedef struct { char text[160]; int64_t n; } reason;

static struct {
  int64_t graphs, graphs_cut, steps, refused, invalid, runs;
  WK_VEC(reason) reasons;
} tally;

/* ---- a model --------------------------------------------------------------------------------- */

/* What a model has of what was drawn: the first nodes, of these what an output needs. */
typedef struct {
  size_t nodes;
  int only;                  /* the output; -1: all that nothing reads */
  bool is_cut[ONNX_VALUES];  /* an input instead */
  bool is_input[ONNX_VALUES], is_kept[ONNX_VALUES]; /* once it is packed: values, nodes */
} part;

static int value_named(const char *name) { return *name ? atoi(name + 1) : -1; }

static void add_result(onnx_draw *d, int v) {
  Onnx__ValueInfoProto *p = value(&d->b, d->v[v].name, ELEM_F32, NULL);
  p->type = NULL; /* whatever it is */
  ADD(&d->b, d->b.g->output, d->b.g->n_output, p);
}

/* Outputs: the values that are needed. */
static void add_results(onnx_draw *d, const part *p, bool *is_needed) {
  bool is_read[ONNX_VALUES] = {false}, is_made[ONNX_VALUES] = {false};
  for (size_t i = 0; i < p->nodes; i++) {
    const Onnx__NodeProto *n = d->b.g->node[i];
    for (size_t k = 0; k < n->n_output; k++) is_made[value_named(n->output[k])] = true;
    for (size_t k = 0; k < n->n_input; k++)
      if (*n->input[k]) is_read[value_named(n->input[k])] = true;
  }
  d->b.g->n_output = 0;
  for (int v = 0; v < d->values; v++) {
    if (p->only >= 0 ? v != p->only : !is_made[v] || is_read[v]) continue;
    add_result(d, v);
    is_needed[v] = true;
  }
}

/* False: an input has sizes that cannot be said. */
static bool add_inputs(onnx_draw *d, part *p, const bool *is_needed) {
  d->b.g->n_input = 0;
  for (int v = 0; v < d->values; v++) {
    p->is_input[v] = v < d->inputs ? p->only < 0 || is_needed[v] : p->is_cut[v] && is_needed[v];
    if (!p->is_input[v]) continue;
    Onnx__ValueInfoProto *declared = onnx_draw_declare(d, v);
    if (!declared) return false;
    ADD(&d->b, d->b.g->input, d->b.g->n_input, declared);
  }
  return true;
}

static bool keeps_node(const part *p, const Onnx__NodeProto *n, bool *is_needed) {
  bool keeps = p->only < 0;
  for (size_t k = 0; k < n->n_output; k++) {
    int v = value_named(n->output[k]);
    keeps = keeps || (is_needed[v] && !p->is_cut[v]);
  }
  for (size_t k = 0; keeps && k < n->n_input; k++)
    if (*n->input[k]) is_needed[value_named(n->input[k])] = true;
  return keeps;
}

/* The bytes of the model, malloc'ed; NULL: there is no such model. */
static uint8_t *pack(onnx_draw *d, part *p, size_t *size) {
  Onnx__GraphProto *g = d->b.g;
  Onnx__NodeProto **all = g->node, *kept[ONNX_VALUES];
  size_t n_all = g->n_node, n = 0;
  bool is_needed[ONNX_VALUES] = {false};
  uint8_t *bytes = NULL;
  add_results(d, p, is_needed);
  for (size_t i = p->nodes; i-- > 0;) p->is_kept[i] = keeps_node(p, all[i], is_needed);
  for (size_t i = 0; i < p->nodes; i++)
    if (p->is_kept[i]) kept[n++] = all[i];
  g->node = kept, g->n_node = n;
  if (add_inputs(d, p, is_needed)) {
    *size = onnx__model_proto__get_packed_size(&d->b.model);
    bytes = wk_xmalloc(*size + 1);
    onnx__model_proto__pack(&d->b.model, bytes);
  }
  g->node = all, g->n_node = n_all;
  return bytes;
}

/* Some input of the model has it. */
static bool has_symbol(const onnx_draw *d, const char *symbol) {
  for (size_t i = 0; i < d->b.g->n_input; i++) {
    const Onnx__TensorShapeProto *t = d->b.g->input[i]->type->tensor_type->shape;
    for (size_t k = 0; k < t->n_dim; k++)
      if (t->dim[k]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
          !strcmp(t->dim[k]->dim_param, symbol)) return true;
  }
  return false;
}

/* run: sizes of these; -1: open ones. */
static wk_status import(onnx_draw *d, part *p, int run, wk_import_report *report,
                        wk_module **out) {
  size_t size = 0, n = 0;
  wk_bind binds[ONNX_SYMBOLS];
  uint8_t *bytes = pack(d, p, &size);
  if (!bytes) return wk_error(WK_INPUT, "no such model");
  for (int s = 0; s < d->symbols; s++) {
    if (!has_symbol(d, onnx_symbols[s])) continue;
    binds[n++] = (wk_bind){.symbol = onnx_symbols[s], .is_open = run < 0, .least = d->least[s],
                           .value = run < 0 ? d->most[s] : d->sizes[run][s]};
  }
  const wk_import_options o = {.binds = binds, .n_binds = n};
  wk_status s = wk_import_onnx_memory(bytes, size, &o, report, out);
  free(bytes);
  return s;
}

/* ---- a run ----------------------------------------------------------------------------------- */

typedef struct { size_t n; wk_tensor *t; } results;

static void free_results(results *r) {
  for (size_t i = 0; i < r->n; i++) wk_tensor_free(&r->t[i]);
  free(r->t);
  *r = (results){0};
}

static wk_status start(onnx_draw *d, part *p, int run, wk_runner **out) {
  wk_module *m = NULL;
  const wk_runner_options o = {.target = {.target = run < 0 ? target_name : "eval"}, .threads = 1,
                               .model_name = "random"};
  WK_TRY(import(d, p, run, NULL, &m));
  return wk_runner_of_module(m, &o, out);
}

static wk_status run_with(const onnx_draw *d, wk_runner *r, int run, results *out) {
  wk_tensor in[ONNX_VALUES] = {{.data = NULL}};
  size_t n = wk_runner_inputs(r);
  *out = (results){wk_runner_outputs(r), NULL};
  out->t = wk_xcalloc(out->n + 1, sizeof *out->t);
  for (size_t i = 0; i < n; i++)
    in[i] = onnx_draw_data(d, value_named(wk_runner_input_name(r, i)), run);
  wk_status s = wk_runner_run(r, in, out->t);
  for (size_t i = 0; i < n; i++) wk_tensor_free(&in[i]);
  return s;
}

static bool same_number(double a, double b, bool is_float) {
  if (a == b || (isnan(a) && isnan(b))) return true;
  return is_float && fabs(a - b) <= 1e-4 * fabs(b) + 1e-5;
}

/* Not the same: says where. */
static bool tensors_differ(const wk_tensor *got, const wk_tensor *want, wk_str *why) {
  if (!wk_type_equal(&got->type, &want->type)) {
    wk_str_printf(why, "rank %d [", got->type.rank);
    for (int i = 0; i < got->type.rank; i++) wk_str_printf(why, "%d ", (int)got->type.dims[i]);
    wk_str_printf(why, "], not [");
    for (int i = 0; i < want->type.rank; i++) wk_str_printf(why, "%d ", (int)want->type.dims[i]);
    wk_str_printf(why, "]");
    return true;
  }
  wk_dtype t = want->type.dtype;
  for (int64_t i = 0; i < wk_type_count(&want->type); i++) {
    double a = wk_load_f64(got->data, t, i), b = wk_load_f64(want->data, t, i);
    if (same_number(a, b, wk_dtype_is_float(t))) continue;
    wk_str_printf(why, "element %d is %g, not %g", (int)i, a, b);
    return true;
  }
  return false;
}

/* The open model gives other results in this run; *output: which, or -1. */
static bool differs(onnx_draw *d, part *p, int run, wk_str *why, int *output) {
  wk_runner *open = NULL, *exact = NULL;
  results got = {0}, want = {0};
  *output = -1;
  wk_str_free(why);
  *why = (wk_str){0};
  wk_status s = start(d, p, run, &exact);
  if (!s) s = run_with(d, exact, run, &want);
  bool is_bad = false;
  if (!s) {
    s = start(d, p, -1, &open);
    if (!s) s = run_with(d, open, run, &got);
    is_bad = s && s->code != WK_UNSUPPORTED;
    if (is_bad) wk_str_printf(why, "%s: %s", s->place ? s->place : "", s->message);
  }
  for (size_t i = 0; !s && i < want.n && !is_bad; i++) {
    is_bad = tensors_differ(&got.t[i], &want.t[i], why);
    if (is_bad) *output = value_named(wk_runner_output_name(exact, i));
  }
  wk_status_free(s);
  free_results(&got);
  free_results(&want);
  wk_runner_free(open);
  wk_runner_free(exact);
  return is_bad;
}

/* ---- failures -------------------------------------------------------------------------------- */

/* As few nodes as still differ. */
static void shrink(onnx_draw *d, part *p, int run, wk_str *why) {
  int output;
  size_t all = p->nodes;
  for (p->nodes = 1; p->nodes < all && !differs(d, p, run, why, &output);) p->nodes++;
  differs(d, p, run, why, &output);
  if (output < 0) output = value_named(d->b.g->node[p->nodes - 1]->output[0]);
  part one = *p;
  int ignored;
  one.only = output;
  if (!differs(d, &one, run, why, &ignored)) return;
  *p = one;
  for (int v = d->values - 1; v >= d->inputs; v--) {
    if (v == p->only || d->v[v].is_constant) continue;
    p->is_cut[v] = true;
    p->is_cut[v] = differs(d, p, run, why, &ignored);
  }
}

static void print_value(const onnx_draw *d, int v, int run) {
  const onnx_value *x = &d->v[v];
  printf("%s[", x->name);
  for (int i = 0; i < x->rank; i++) {
    if (i) printf(",");
    if (x->dims[i].data) printf("?");
    else if (onnx_is_fixed(d, &x->dims[i])) printf("%d", (int)x->dims[i].n[run]);
    else printf("%d<=%d", (int)x->dims[i].n[run], (int)onnx_most(d, &x->dims[i]));
  }
  printf("]");
}

static void print_constant(const onnx_draw *d, const char *name) {
  for (size_t i = 0; i < d->b.g->n_initializer; i++) {
    const Onnx__TensorProto *t = d->b.g->initializer[i];
    if (strcmp(t->name, name) != 0) continue;
    size_t size = t->data_type == ELEM_I64 ? 8 : 4, n = t->raw_data.len / size;
    printf("={");
    for (size_t k = 0; k < n && k < 8; k++) {
      const uint8_t *at = t->raw_data.data + k * size;
      double v = t->data_type == ELEM_I64 ? (double)*(const int64_t *)at : *(const float *)at;
      printf("%s%g", k ? "," : "", v);
    }
    printf("%s}", n > 8 ? ",..." : "");
  }
}

static void print_attributes(const Onnx__NodeProto *n) {
  for (size_t i = 0; i < n->n_attribute; i++) {
    const Onnx__AttributeProto *a = n->attribute[i];
    printf(" %s=", a->name);
    if (a->has_i) printf("%lld", (long long)a->i);
    if (a->has_f) printf("%g", (double)a->f);
    if (a->has_s) printf("%.*s", (int)a->s.len, (const char *)a->s.data);
    for (size_t k = 0; k < a->n_ints; k++) printf("%s%lld", k ? "," : "", (long long)a->ints[k]);
  }
}

static void print_model(const onnx_draw *d, const part *p, int run) {
  printf("  opset %d, sizes", (int)d->opset);
  for (int s = 0; s < d->symbols; s++)
    printf(" %s=%d of %d..%d", onnx_symbols[s], (int)d->sizes[run][s], (int)d->least[s],
           (int)d->most[s]);
  printf("\n");
  for (int v = 0; v < d->values; v++) {
    if (!p->is_input[v]) continue;
    printf("  input "), print_value(d, v, run), printf("\n");
  }
  for (size_t i = 0; i < p->nodes; i++) {
    const Onnx__NodeProto *n = d->b.g->node[i];
    if (!p->is_kept[i]) continue;
    printf("  ");
    for (size_t k = 0; k < n->n_output; k++) print_value(d, value_named(n->output[k]), run);
    printf(" = %s", n->op_type);
    print_attributes(n);
    for (size_t k = 0; k < n->n_input; k++) {
      printf(" %s", *n->input[k] ? n->input[k] : "-");
      print_constant(d, n->input[k]);
    }
    printf("\n");
  }
}

static void report_failure(onnx_draw *d, part *p, int run) {
  wk_str why = {0};
  part small = *p;
  int output;
  shrink(d, &small, run, &why);
  if (!differs(d, &small, run, &why, &output)) small = *p, differs(d, p, run, &why, &output);
  printf("seed %llu: %s: %s\n", (unsigned long long)d->seed,
         output >= 0 ? d->v[output].name : "", why.s ? why.s : "");
  print_model(d, &small, run);
  fflush(stdout);
  wk_str_free(&why);
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Numbers do not tell reasons apart. */
static void count_reason(const char *step, const wk_import_report *r, const wk_status s) {
  char text_[160];
  size_t n = 0;
  wk_str all = {0};
  tally.refused++;
  if (r->unsupported.n)
    wk_str_printf(&all, "%s (%s): %s", step, r->unsupported.data[0].op,
                  r->unsupported.data[0].reason);
  else wk_str_printf(&all, "%s: %s", step, s->message);
  for (const char *c = all.s; *c && n + 1 < sizeof text_; c++) {
    bool is_digit = *c >= '0' && *c <= '9';
    if (is_digit && n && text_[n - 1] == '#') continue;
    text_[n++] = is_digit ? '#' : *c;
  }
  text_[n] = 0;
  wk_str_free(&all);
  for (size_t i = 0; i < tally.reasons.n; i++)
    if (!strcmp(tally.reasons.data[i].text, text_)) {
      tally.reasons.data[i].n++;
      return;
    }
  reason row = {.n = 1};
  memcpy(row.text, text_, n + 1);
  wk_vec_push(&tally.reasons, row);
}

static int by_count(const void *a, const void *b) {
  int64_t x = ((const reason *)a)->n, y = ((const reason *)b)->n;
  return (x < y) - (x > y);
}

static void print_tally(void) {
  printf("%lld graphs, %lld runs, %lld steps, %lld refused where sizes are open, in %lld graphs, "
         "%lld refused in any case\n", (long long)tally.graphs, (long long)tally.runs,
         (long long)tally.steps, (long long)tally.refused, (long long)tally.graphs_cut,
         (long long)tally.invalid);
  if (tally.reasons.n) qsort(tally.reasons.data, tally.reasons.n, sizeof(reason), by_count);
  for (size_t i = 0; i < tally.reasons.n; i++)
    printf("%6lld  %s\n", (long long)tally.reasons.data[i].n, tally.reasons.data[i].text);
}

/* The last step can be imported, with sizes that are open. Otherwise *is_bad, or it is refused. */
static bool accepts(onnx_draw *d, const char *step, bool *is_bad) {
  part p = {.nodes = d->b.g->n_node, .only = -1};
  wk_import_report report = {0};
  wk_module *m = NULL;
  wk_status s = import(d, &p, -1, &report, &m), exact = NULL;
  bool is_fine = !s;
  wk_module_free(m);
  m = NULL;
  if (s) exact = import(d, &p, d->runs - 1, NULL, &m);
  if (exact && exact->code == WK_UNSUPPORTED) tally.invalid++;
  else if (s && !exact && s->code == WK_UNSUPPORTED) count_reason(step, &report, s);
  else if (s) {
    *is_bad = true;
    printf("seed %llu, %s: %s%s%s\n", (unsigned long long)d->seed, step, s->message,
           exact ? "; with exact sizes: " : "", exact ? exact->message : "");
    if (s->notes) printf("%s\n", s->notes);
    if (!exact) report_failure(d, &p, d->runs - 1);
    else print_model(d, &p, d->runs - 1);
  }
  wk_module_free(m);
  wk_import_report_free(&report);
  wk_status_free(s);
  wk_status_free(exact);
  return is_fine;
}

/* ---- the test -------------------------------------------------------------------------------- */

/* Draws operators; those that are refused are taken back. */
static bool grow(onnx_draw *d) {
  int64_t steps = onnx_int(d, 3, 10), refused = tally.refused;
  bool is_bad = false;
  for (int64_t i = 0; i < steps && !is_bad && d->values < ONNX_VALUES - 60; i++) {
    const onnx_mark m = onnx_draw_mark(d);
    const char *step = onnx_draw_step(d);
    if (!step) break;
    tally.steps++;
    if (!accepts(d, step, &is_bad)) onnx_draw_back(d, m);
  }
  tally.graphs_cut += tally.refused > refused;
  return !is_bad;
}

static bool check(uint64_t seed) {
  onnx_draw *d = onnx_draw_new(seed);
  bool is_fine = grow(d);
  tally.graphs++;
  const int runs[] = {0, d->runs - 1, (int)onnx_int(d, 0, d->runs - 1)};
  part p = {.nodes = d->b.g->n_node, .only = -1};
  for (size_t i = 0; i < WK_COUNTOF(runs) && is_fine && p.nodes; i++) {
    wk_str why = {0};
    int output;
    is_fine = !differs(d, &p, runs[i], &why, &output);
    tally.runs++;
    wk_str_free(&why);
    if (!is_fine) report_failure(d, &p, runs[i]);
  }
  onnx_draw_free(d);
  return is_fine;
}

static void crashed(int signal_) {
  char text_[80];
  int n = snprintf(text_, sizeof text_, "seed %llu: signal %d\n", (unsigned long long)current_seed,
                   signal_);
  if (write(STDOUT_FILENO, text_, (size_t)n) < 0) _exit(2);
  _exit(1);
}

static void random_models(void **state) {
  int64_t bad = 0;
  (void)state;
  signal(SIGSEGV, crashed);
  signal(SIGABRT, crashed);
  signal(SIGFPE, crashed);
  for (current_seed = first_seed; current_seed < first_seed + n_seeds; current_seed++)
    bad += !check(current_seed);
  if (is_verbose) print_tally();
  wk_vec_free(&tally.reasons);
  assert_int_equal(bad, 0);
  assert_true(tally.graphs_cut * 100 <= tally.graphs * MOST_REFUSED);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_models)};
  if (argc > 1 && !strcmp(argv[1], "-v")) is_verbose = true, argc--, argv++;
  if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
  if (argc > 2) n_seeds = strtoull(argv[2], NULL, 10);
  if (argc > 3) target_name = argv[3];
  onnx_avoids_ties = strcmp(target_name, "eval") != 0;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
