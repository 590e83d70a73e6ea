/* SPDX-License-Identifier: Apache-2.0
 * wick grad: the derivatives of a model as a graph, and their proof. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/driver/command.h"
#include "compiler/driver/model.h"
#include "compiler/driver/text.h"
#include "compiler/grad/grad.h"

typedef enum { SUMMARY, GRAPH, ONNX, DOT } emission;

typedef struct {
  wk_binding_args binding;
  const char *of, *output;
  wk_strings wrt, input;
  int emit;
  int64_t seed, elements;
  double tolerance;
  bool check, weights, verbose;
} grad_opts;

static const grad_opts defaults = {.seed = 1, .elements = 8, .tolerance = 1e-6};

static const char *const emissions[] = {"summary", "graph", "onnx", "dot", NULL};

static const wk_option options[] = {
    {"of", 0, "OUTPUT", "the output that is differentiated, the sum of its elements (default: the "
     "sum of all outputs of floats)", .kind = WK_OPTION_STRING, .offset = offsetof(grad_opts, of)},
    {"wrt", 0, "GLOB", "with respect to inputs and weights with such names (default: all of "
     "floats)", .kind = WK_OPTION_LIST, .offset = offsetof(grad_opts, wrt)},
    {"emit", 0, "WHAT", "summary (default), graph, onnx or dot: the model with an output "
     "'grad(NAME)' for each of them", .kind = WK_OPTION_CHOICE,
     .offset = offsetof(grad_opts, emit), .choices = emissions},
    {"output", 'o', "FILE", "where to (default: standard output; --emit onnx needs a file)",
     .kind = WK_OPTION_STRING, .offset = offsetof(grad_opts, output)},
    {"weights", 0, NULL, "write out constants of more than 16 elements", .kind = WK_OPTION_FLAG,
     .offset = offsetof(grad_opts, weights)},
    {.kind = WK_OPTION_GROUP, .help = "Proof"},
    {"check", 0, NULL, "compare with central differences, everything in f64",
     .kind = WK_OPTION_FLAG, .offset = offsetof(grad_opts, check)},
    {"input", 'i', "NAME=FILE", "a .npy or .pb file for an input (default: random)",
     .kind = WK_OPTION_LIST, .offset = offsetof(grad_opts, input)},
    {"elements", 0, "N", "how many elements of each tensor are tried (default 8); each takes four "
     "evaluations or more", .kind = WK_OPTION_INT, .offset = offsetof(grad_opts, elements),
     .min = 1, .max = INT32_MAX},
    {"seed", 0, "N", "of random inputs, of the outputs' weights and of the choice of elements "
     "(default 1)", .kind = WK_OPTION_INT, .offset = offsetof(grad_opts, seed), .min = 0,
     .max = INT64_MAX},
    {"tolerance", 0, "R", "largest relative error (default 1e-6)", .kind = WK_OPTION_DOUBLE,
     .offset = offsetof(grad_opts, tolerance), .max = 1},
    {"verbose", 'v', NULL, "every tensor, and not only those that differ; " WK_LIST_ALL_HELP,
     .kind = WK_OPTION_FLAG, .offset = offsetof(grad_opts, verbose)},
    WK_BINDING_OPTIONS(grad_opts, binding),
    {0}};

/* ---- what is differentiated ------------------------------------------------------------------ */

typedef struct {
  wk_module *m;
  wk_arena *arena;
  WK_VEC(wk_value_id) of, wrt, out;
} derivation;

static bool is_float(const wk_graph *g, wk_value_id v) {
  return wk_dtype_is_float(wk_val(g, v)->type.dtype);
}

static bool is_chosen(const grad_opts *o, const char *name) {
  for (size_t i = 0; i < o->wrt.n; i++)
    if (!fnmatch(o->wrt.data[i], name, 0)) return true;
  return o->wrt.n == 0;
}

static void choose(derivation *d, const grad_opts *o, bool *seen, wk_value_id v) {
  const wk_graph *g = d->m->main;
  if (v == WK_NONE || seen[v] || !is_float(g, v) || !is_chosen(o, wk_val(g, v)->name)) return;
  seen[v] = true;
  wk_vec_push(&d->wrt, v);
}

static void choose_all(derivation *d, const grad_opts *o) {
  const wk_graph *g = d->m->main;
  bool *seen = wk_arena_alloc(d->arena, g->values.n);
  for (size_t i = 0; i < g->inputs.n; i++) choose(d, o, seen, g->inputs.data[i]);
  for (size_t i = 0; i < g->nodes.n; i++)
    for (uint32_t k = 0; k < g->nodes.data[i].n_in; k++) {
      wk_value_id v = g->nodes.data[i].in[k];
      if (wk_is_const(g, v)) choose(d, o, seen, v);
    }
}

static wk_status no_output(const wk_graph *g, const char *name, wk_arena *a) {
  const char **names = wk_arena_alloc(a, g->outputs.n * sizeof *names);
  for (size_t i = 0; i < g->outputs.n; i++) names[i] = g->output_names.data[i];
  const char *near = wk_nearest(name, names, g->outputs.n);
  return near ? wk_error(WK_USAGE, "--of: no output '%s'; did you mean '%s'?", name, near)
              : wk_error(WK_USAGE, "--of: the model has no output '%s'", name);
}

static wk_status find_outputs(derivation *d, const grad_opts *o) {
  const wk_graph *g = d->m->main;
  bool found = false;
  for (size_t i = 0; i < g->outputs.n; i++) {
    if (o->of && strcmp(o->of, g->output_names.data[i])) continue;
    found = true;
    if (is_float(g, g->outputs.data[i])) wk_vec_push(&d->of, g->outputs.data[i]);
    else if (o->of)
      return wk_error_at(WK_INPUT, o->of, "is of %s, which has no derivative",
                         wk_dtype_name(wk_val(g, g->outputs.data[i])->type.dtype));
  }
  if (!found) return no_output(g, o->of, d->arena);
  return d->of.n ? NULL : wk_error(WK_INPUT, "no output is of floats");
}

static wk_status derive(derivation *d, const grad_opts *o) {
  WK_TRY(find_outputs(d, o));
  choose_all(d, o);
  if (d->wrt.n == 0 && !o->wrt.n)
    return wk_error(WK_INPUT, "no input and no weight is of floats: there is nothing to "
                    "differentiate with respect to");
  if (d->wrt.n == 0)
    return wk_error(WK_USAGE, "--wrt: no input and no weight of floats has such a name");
  for (size_t i = 0; i < d->wrt.n; i++) wk_vec_push(&d->out, WK_NONE);
  const wk_grad_request r = {d->of.n, d->wrt.n, d->of.data, NULL, d->wrt.data, d->out.data};
  return wk_grad(d->m->main, &r);
}

/* ---- output ---------------------------------------------------------------------------------- */

static int64_t nodes_alive(const wk_graph *g) {
  int64_t n = 0;
  for (size_t i = 0; i < g->nodes.n; i++) n += !g->nodes.data[i].dead;
  return n;
}

static int64_t macs_of(const wk_graph *g) {
  int64_t n = 0;
  for (size_t i = 0; i < g->nodes.n; i++)
    if (!g->nodes.data[i].dead) n += wk_node_macs(g, &g->nodes.data[i]);
  return n;
}

static bool has_output(const wk_graph *g, const char *name) {
  for (size_t i = 0; i < g->outputs.n; i++)
    if (!strcmp(g->output_names.data[i], name)) return true;
  return false;
}

/* The model may have an output of that name itself. */
static void add_outputs(derivation *d) {
  wk_graph *g = d->m->main;
  for (size_t i = 0; i < d->wrt.n; i++) {
    if (d->out.data[i] == WK_NONE) continue;
    const char *of = wk_val(g, d->wrt.data[i])->name;
    const char *name = wk_arena_printf(d->m->arena, "grad(%s)", of);
    for (int k = 2; has_output(g, name); k++)
      name = wk_arena_printf(d->m->arena, "grad(%s)_%d", of, k);
    wk_graph_output(g, name, d->out.data[i]);
  }
}

static void summary(const derivation *d, const grad_opts *o, int64_t nodes, int64_t macs) {
  const wk_graph *g = d->m->main;
  wk_table t = {0};
  size_t none = 0, shown = 0;
  for (size_t i = 0; i < d->wrt.n; i++) none += d->out.data[i] == WK_NONE;
  wk_table_row(&t, "TENSOR\tTYPE\tGRADIENT");
  for (size_t i = 0; i < d->wrt.n; i++) {
    const wk_value *v = wk_val(g, d->wrt.data[i]);
    bool has = d->out.data[i] != WK_NONE;
    if (!o->verbose && has && d->wrt.n > 24) continue;
    shown++;
    wk_table_row(&t, "%s\t%s\t%s", wk_text_shown(d->arena, v->name),
                 wk_type_text(d->arena, &v->type), has ? "yes" : "0: no output depends on it");
  }
  if (shown) wk_table_print(stdout, &t, "lll");
  else wk_str_free(&t.text);
  printf("%s%zu of %zu tensors have a gradient\n", shown ? "\n" : "", d->wrt.n - none, d->wrt.n);
  printf("forward   %lld nodes, %s MACs\n", (long long)nodes, wk_text_count(macs).s);
  printf("backward  %lld nodes, %s MACs\n", (long long)(nodes_alive(g) - nodes),
         wk_text_count(macs_of(g) - macs).s);
}

static wk_status write_text(const char *path, wk_str *b) {
  wk_out *out;
  wk_status s = wk_out_open(path ? path : "-", &out);
  if (!s) {
    wk_out_write(out, b->s, b->n);
    s = wk_out_commit(out);
  }
  wk_str_free(b);
  return s;
}

static wk_status emit(derivation *d, const grad_opts *o) {
  int64_t nodes = nodes_alive(d->m->main), macs = macs_of(d->m->main);
  wk_str b = {0};
  WK_TRY(derive(d, o));
  if (o->emit == SUMMARY) summary(d, o, nodes, macs);
  if (o->emit == SUMMARY) return NULL;
  add_outputs(d);
  WK_TRY(wk_module_normalise(d->m));
  WK_TRY(wk_module_verify(d->m));
  if (o->emit == ONNX) return wk_export_onnx(d->m, o->output);
  if (o->emit == DOT) wk_module_dot(&b, d->m, NULL);
  else wk_module_print(&b, d->m, o->weights ? WK_PRINT_FULL : WK_PRINT_SHORT);
  return write_text(o->output, &b);
}

/* ---- proof ----------------------------------------------------------------------------------- */

static wk_status read_input(const wk_graph *g, const char *arg, wk_tensor *in) {
  for (size_t k = 0; k < g->inputs.n; k++) {
    const wk_value *v = wk_val(g, g->inputs.data[k]);
    size_t n = strlen(v->name);
    if (strncmp(arg, v->name, n) || arg[n] != '=') continue;
    wk_tensor_free(&in[k]);
    WK_TRY(wk_tensor_read(arg + n + 1, &in[k], NULL));
    wk_tensor_adopt(&in[k], v->type.dtype);
    if (wk_type_equal(&in[k].type, &v->type)) return NULL;
    wk_arena *a = wk_arena_new();
    wk_status s = wk_error_at(WK_INPUT, arg, "is %s; the model wants %s",
                              wk_type_text(a, &in[k].type), wk_type_text(a, &v->type));
    wk_arena_free(a);
    return s;
  }
  return wk_error(WK_USAGE, "--input %s: NAME=FILE with the name of an input is expected", arg);
}

static wk_status make_inputs(const wk_graph *g, const grad_opts *o, wk_tensor *in) {
  wk_rng rng = {(uint64_t)o->seed};
  for (size_t k = 0; k < g->inputs.n; k++)
    WK_TRY(wk_tensor_random(&wk_val(g, g->inputs.data[k])->type, &rng, &in[k]));
  for (size_t i = 0; i < o->input.n; i++) WK_TRY(read_input(g, o->input.data[i], in));
  return NULL;
}

static wk_status print_check(const wk_grad_check_report *r, const grad_opts *o, wk_arena *a) {
  wk_table t = {0};
  size_t bad = 0;
  int64_t tried = 0, kinks = 0;
  wk_table_row(&t, "TENSOR\tTYPE\tTRIED\tERROR\tADJOINT\tDIFFERENCE\tWHERE");
  for (size_t i = 0; i < r->rows.n; i++) {
    const wk_grad_check_row *row = &r->rows.data[i];
    bool is_bad = !(row->error <= o->tolerance);
    tried += row->tried;
    kinks += row->kinks;
    bad += is_bad;
    if (!is_bad && !o->verbose) continue;
    wk_str at = {0};
    if (row->at >= 0) wk_text_position(&at, &row->type, row->at);
    wk_table_row(&t, "%s\t%s\t%lld\t%.2g\t%.9g\t%.9g\t%s", wk_text_shown(a, row->name),
                 wk_type_text(a, &row->type), (long long)row->tried, row->error, row->adjoint,
                 row->difference, at.s ? at.s : "");
    wk_str_free(&at);
  }
  if (tried && kinks == tried) {
    wk_str_free(&t.text);
    return wk_error(WK_FAILED, "none of %lld elements can be compared: the outputs are no finite "
                    "numbers there, or have a kink: give other inputs with --input or --seed",
                    (long long)tried);
  }
  if (bad || o->verbose) wk_table_print(stdout, &t, "llrrrrl");
  else wk_str_free(&t.text);
  printf("%lld elements of %zu tensors: %zu tensors differ, ", (long long)tried, r->rows.n, bad);
  if (r->worst == 0) printf("no difference is beyond that of rounding");
  else printf("largest relative error beyond rounding %.2g", r->worst);
  printf(kinks ? "; %lld at kinks, without a stable difference\n" : "\n", (long long)kinks);
  return bad ? wk_exit_with(WK_FAILED) : NULL;
}

static wk_status prove(derivation *d, const grad_opts *o) {
  const wk_graph *g = d->m->main;
  wk_grad_check_report r = {0};
  wk_tensor *in = wk_xcalloc(g->inputs.n, sizeof *in);
  wk_status s = find_outputs(d, o);
  if (!s) s = make_inputs(g, o, in);
  const wk_grad_check_options c = {.of = o->of, .inputs = in, .seed = (uint64_t)o->seed,
                                   .elements = (int)o->elements};
  if (!s) {
    s = wk_grad_check(d->m, &c, &r);
    if (!s) s = print_check(&r, o, d->arena);
    wk_grad_check_free(&r);
  }
  for (size_t k = 0; k < g->inputs.n; k++) wk_tensor_free(&in[k]);
  free(in);
  return s;
}

/* ---- the command ----------------------------------------------------------------------------- */

static wk_status import(const grad_opts *o, const char *path, derivation *d) {
  wk_binding_set sets[WK_MAX_BINDINGS];
  wk_import_report report;
  size_t n;
  WK_TRY(wk_binding_sets_parse(&o->binding, sets, WK_MAX_BINDINGS, &n));
  const wk_import_options io = wk_binding_import_options(&sets[0], o->verbose);
  wk_status s = n > 1 ? wk_error(WK_USAGE, "one binding at a time: give --bind and --shape once")
                      : wk_model_import_real(path, &io, NULL, NULL, 0, &report, &d->m);
  if (n == 1) wk_import_report_free(&report);
  for (size_t i = 0; i < n; i++) wk_binding_set_free(&sets[i]);
  return s;
}

/* What is written overwrites nothing that is read. */
static wk_status check_paths(const grad_opts *o, const char *model, wk_arena *a) {
  wk_paths paths = {0};
  if (!o->output) return NULL;
  wk_model_paths(&paths, model, NULL, a);
  wk_binding_paths(&paths, &o->binding);
  wk_paths_read_named(&paths, "--input", &o->input);
  wk_paths_write(&paths, "--output", o->output);
  return wk_paths_check(&paths);
}

static wk_status check_options(const grad_opts *o) {
  if (o->check && o->emit != SUMMARY)
    return wk_error(WK_USAGE, "--check writes no graph: --emit goes without it");
  if (o->check && o->wrt.n)
    return wk_error(WK_USAGE, "--check tries all tensors: --wrt goes without it");
  if (o->emit == ONNX && !o->output)
    return wk_error(WK_USAGE, "--emit onnx needs --output FILE");
  if (o->emit == SUMMARY && o->output)
    return wk_error(WK_USAGE, "--output %s: only graphs are written there: give --emit graph, onnx "
                    "or dot", o->output);
  return NULL;
}

static wk_status run(const void *options_, const wk_strings *args) {
  const grad_opts *o = options_;
  const char *path = args->data[0];
  derivation d = {.arena = wk_arena_new()};
  wk_status s = check_options(o);
  if (!s) s = check_paths(o, path, d.arena);
  if (!s) s = import(o, path, &d);
  if (!s) s = o->check ? prove(&d, o) : emit(&d, o);
  wk_vec_free(&d.of);
  wk_vec_free(&d.wrt);
  wk_vec_free(&d.out);
  wk_module_free(d.m);
  wk_arena_free(d.arena);
  return wk_status_place(s, path);
}

const wk_cmd wk_cmd_grad = {
    .command = {.name = "grad", .synopsis = "MODEL.onnx",
                .summary = "differentiate a model, and prove the derivatives",
                .description =
                    "Adds to the graph what computes the derivatives of an output with respect to "
                    "inputs and weights, in reverse mode, and says what there is or writes the "
                    "graph. With --check, compares them with central differences: model and "
                    "derivatives are evaluated in f64, with random weights on the outputs.\n"
                    "'wick ops --gradients' says how each operator is differentiated.\n"
                    "\n"
                    "  wick grad net.onnx\n"
                    "  wick grad net.onnx --check\n"
                    "  wick grad net.onnx --of logits --wrt 'fc.*' --emit onnx -o grad.onnx",
                .options = options, .min_args = 1, .max_args = 1},
    .size = sizeof(grad_opts), .defaults = &defaults, .run = run};
