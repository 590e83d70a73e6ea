/* SPDX-License-Identifier: Apache-2.0
 * wick grad: the derivatives of a model as a graph, and their proof. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/fit/grad.h"
#include "cli/model_paths.h"
#include "cli/text.h"
#include "compiler/grad/grad.h"

typedef enum { SUMMARY, GRAPH, ONNX, DOT } emission;

static const wk_grad_opts defaults = {.seed = 1, .elements = 8, .tolerance = 1e-6};

static const char *const emissions[] = {"summary", "graph", "onnx", "dot", NULL};

static const wk_option options[] = {
    {"of", 0, "OUTPUT", "the output that is differentiated, the sum of its elements (default: the "
     "sum of all outputs of floats)", .kind = WK_OPTION_STRING,
     .offset = offsetof(wk_grad_opts, of)},
    {"wrt", 0, "GLOB", "with respect to inputs and weights with such names (default: all of "
     "floats)", .kind = WK_OPTION_LIST, .offset = offsetof(wk_grad_opts, wrt)},
    {"emit", 0, "WHAT", "summary (default), graph, onnx or dot: the model with an output "
     "'grad(NAME)' for each of them", .kind = WK_OPTION_CHOICE,
     .offset = offsetof(wk_grad_opts, emit), .choices = emissions},
    {"output", 'o', "FILE", "where to (default: standard output; --emit onnx needs a file)",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_grad_opts, output)},
    {"weights", 0, NULL, "write out constants of more than 16 elements", .kind = WK_OPTION_FLAG,
     .offset = offsetof(wk_grad_opts, weights)},
    {"input", 'i', "NAME=FILE", "a .npy or .pb file for an input; without NAME= for the next "
     "one; its shape is the input's (default: random numbers)", .kind = WK_OPTION_LIST,
     .offset = offsetof(wk_grad_opts, input)},
    {.kind = WK_OPTION_GROUP, .help = "Proof"},
    {"check", 0, NULL, "compare with central differences, everything in f64",
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_grad_opts, check)},
    {"elements", 0, "N", "how many elements of each tensor are tried (default 8); each takes four "
     "evaluations or more", .kind = WK_OPTION_INT, .offset = offsetof(wk_grad_opts, elements),
     .min = 1, .max = INT32_MAX},
    {"seed", 0, "N", "of random inputs, of the outputs' weights and of the choice of elements "
     "(default 1)", .kind = WK_OPTION_INT, .offset = offsetof(wk_grad_opts, seed), .min = 0,
     .max = INT64_MAX},
    {"tolerance", 0, "R", "largest relative error (default 1e-6)", .kind = WK_OPTION_DOUBLE,
     .offset = offsetof(wk_grad_opts, tolerance), .max = 1},
    {"verbose", 'v', NULL, "every tensor, and not only those that differ; " WK_LIST_ALL_HELP,
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_grad_opts, verbose)},
    WK_BINDING_OPTIONS(wk_grad_opts, binding),
    {0}};

/* ---- what is differentiated ------------------------------------------------------------------ */

static bool is_float(const wk_graph *g, wk_value_id v) {
  return wk_dtype_is_float(wk_val(g, v)->type.dtype);
}

static wk_status no_output(const wk_graph *g, const char *name, wk_arena *a) {
  const char **names = wk_arena_alloc(a, g->outputs.n * sizeof *names);
  for (size_t i = 0; i < g->outputs.n; i++) names[i] = g->output_names.data[i];
  const char *near = wk_nearest(name, names, g->outputs.n);
  return near ? wk_error(WK_USAGE, "--of: no output '%s'; did you mean '%s'?", name, near)
              : wk_error(WK_USAGE, "--of: the model has no output '%s'", name);
}

static wk_status find_outputs(wk_grad_job *d, const wk_grad_opts *o) {
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

static wk_status derive(wk_grad_job *d) {
  wk_grad_leaf *leaf = d->leaves.data;
  wk_value_id *ids = wk_arena_alloc(d->arena, 2 * d->leaves.n * sizeof *ids);
  wk_grad_request r = {.n_of = d->of.n, .of = d->of.data, .wrt = ids, .out = ids + d->leaves.n};
  for (size_t i = 0; i < d->leaves.n; i++)
    if (leaf[i].value != WK_NONE) ids[r.n_wrt++] = leaf[i].value;
  WK_TRY(wk_grad(d->m->main, &r));
  for (size_t i = 0, k = 0; i < d->leaves.n; i++)
    if (leaf[i].value != WK_NONE) leaf[i].out = r.out[k++];
  return NULL;
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
static void add_outputs(wk_grad_job *d) {
  wk_graph *g = d->m->main;
  for (size_t i = 0; i < d->leaves.n; i++) {
    const wk_grad_leaf *leaf = &d->leaves.data[i];
    if (leaf->out == WK_NONE) continue;
    const char *name = wk_arena_printf(d->m->arena, "grad(%s)", leaf->name);
    for (int k = 2; has_output(g, name); k++)
      name = wk_arena_printf(d->m->arena, "grad(%s)_%d", leaf->name, k);
    wk_graph_output(g, name, leaf->out);
  }
}

static const char *gradient_text(const wk_grad_leaf *leaf) {
  if (leaf->out != WK_NONE)
    return leaf->is_read ? "yes, but not by way of what its value decides" : "yes";
  return leaf->is_read ? "none: its value is part of the program"
                       : "0: no output depends on it";
}

static void summary(const wk_grad_job *d, const wk_grad_opts *o, int64_t nodes, int64_t macs) {
  const wk_graph *g = d->m->main;
  wk_table t = {0};
  size_t none = 0, shown = 0, n = d->leaves.n;
  wk_table_row(&t, "TENSOR\tTYPE\tGRADIENT");
  for (size_t i = 0; i < n; i++) {
    const wk_grad_leaf *leaf = &d->leaves.data[i];
    bool has = leaf->out != WK_NONE;
    none += !has;
    if (!o->verbose && has && !leaf->is_read && n > 24) continue;
    shown++;
    wk_table_row(&t, "%s\t%s\t%s", wk_text_shown(d->arena, leaf->name),
                 wk_type_text(d->arena, &leaf->type), gradient_text(leaf));
  }
  if (shown) wk_table_print(stdout, &t, "lll");
  else wk_str_free(&t.text);
  printf("%s%zu of %zu tensors have a gradient\n", shown ? "\n" : "", n - none, n);
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

static wk_status emit(wk_grad_job *d, const wk_grad_opts *o) {
  int64_t nodes = nodes_alive(d->m->main), macs = macs_of(d->m->main);
  wk_str b = {0};
  WK_TRY(derive(d));
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

static wk_status print_check(const wk_grad_check_report *r, const wk_grad_opts *o, wk_arena *a) {
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

/* Of those that the graph has; what the others are has been said. */
static const char **leaf_names(const wk_grad_job *d, size_t *n) {
  const char **names = wk_arena_alloc(d->arena, d->leaves.n * sizeof *names);
  *n = 0;
  for (size_t i = 0; i < d->leaves.n; i++)
    if (d->leaves.data[i].value != WK_NONE) names[(*n)++] = d->leaves.data[i].name;
  return names;
}

static void print_untried(const wk_grad_job *d) {
  for (size_t i = 0; i < d->leaves.n; i++)
    if (d->leaves.data[i].is_read)
      printf("%s decides with its value what is computed, which is not tried\n",
             wk_text_shown(d->arena, d->leaves.data[i].name));
}

static wk_status prove(wk_grad_job *d, const wk_grad_opts *o) {
  const wk_graph *g = d->m->main;
  wk_grad_check_report r = {0};
  wk_tensor *in = wk_xcalloc(g->inputs.n, sizeof *in);
  wk_grad_check_options c = {.of = o->of, .inputs = in, .seed = (uint64_t)o->seed,
                             .elements = (int)o->elements};
  c.wrt = leaf_names(d, &c.n_wrt);
  wk_status s = wk_grad_inputs(d, o, in);
  if (!s) {
    s = wk_grad_check(d->m, &c, &r);
    if (!s) print_untried(d);
    if (!s) s = print_check(&r, o, d->arena);
    wk_grad_check_free(&r);
  }
  for (size_t k = 0; k < g->inputs.n; k++) wk_tensor_free(&in[k]);
  free(in);
  return s;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* What is written overwrites nothing that is read. */
static wk_status check_paths(const wk_grad_opts *o, const char *model, wk_arena *a) {
  wk_paths paths = {0};
  if (!o->output) return NULL;
  wk_model_paths(&paths, model, NULL, a);
  wk_binding_paths(&paths, &o->binding);
  wk_paths_read_named(&paths, "--input", &o->input);
  wk_paths_write(&paths, "--output", o->output);
  return wk_paths_check(&paths);
}

static wk_status check_options(const wk_grad_opts *o) {
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
  const wk_grad_opts *o = options_;
  const char *path = args->data[0];
  wk_grad_job d = {.arena = wk_arena_new()};
  d.job.arena = d.arena;
  wk_status s = check_options(o);
  if (!s) s = check_paths(o, path, d.arena);
  if (!s) s = wk_grad_open(&d, o, path);
  if (!s) wk_text_notes(stderr, d.job.notes.data, d.job.notes.n);
  if (!s) s = find_outputs(&d, o);
  if (!s) s = wk_grad_choose(&d, o);
  if (!s) s = o->check ? prove(&d, o) : emit(&d, o);
  wk_grad_close(&d);
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
    .size = sizeof(wk_grad_opts), .defaults = &defaults, .run = run};
