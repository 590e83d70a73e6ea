/* SPDX-License-Identifier: Apache-2.0
 * wick compile: every binding of the model through the pipeline, then one output from all. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/compile.h"
#include "cli/model_paths.h"
#include "cli/paths.h"
#include "cli/text.h"
#include "compiler/calibrate/quantize.h"
#include "compiler/pipeline/runner.h"

typedef struct {
  wk_binding_args binding;
  wk_target_args target;
  const char *emit, *output, *print_after, *stop_after, *report, *convert, *budget;
  int64_t quantize; /* seed; 0: no */
  bool weights, time_passes, print_integer, print_parts, quiet, verbose;
} compile_opts;

/* ---- what can be written --------------------------------------------------------------------- */

typedef enum { FROM_PARTS, FROM_MODULE, FROM_PROGRAM, FROM_TARGET } source;

/* What the driver writes itself; the rest are outputs of targets. */
typedef struct {
  const char *name;
  source from;
  const char *suffix; /* of the default output; NULL: standard output */
  wk_status (*write)(const compile_opts *o, const wk_compiled *bound, const char *path);
  const wk_target_output *output; /* FROM_TARGET */
  const wk_instance *instance;    /* whose output it is */
} emission;

static wk_status write_graph(const compile_opts *o, const wk_compiled *bound, const char *path);
static wk_status write_program(const compile_opts *o, const wk_compiled *bound, const char *path);
static wk_status write_dot(const compile_opts *o, const wk_compiled *bound, const char *path);
static wk_status write_onnx(const compile_opts *o, const wk_compiled *bound, const char *path);

static const emission emissions[] = {
    {.name = "package", .from = FROM_PARTS, .suffix = ".wick"},
    {.name = "graph", .from = FROM_MODULE, .write = write_graph},
    {.name = "program", .from = FROM_PROGRAM, .write = write_program},
    {.name = "dot", .from = FROM_MODULE, .write = write_dot},
    {.name = "onnx", .from = FROM_MODULE, .suffix = ".optimised.onnx", .write = write_onnx}};
enum { EMIT_PACKAGE, EMIT_GRAPH, EMIT_PROGRAM, MAX_EMISSIONS = 64 };

/* "; accel: stream; cpu: bundle, object" */
static void list_outputs(wk_str *out) {
  const wk_target *t;
  for (size_t i = 0; (t = wk_target_at(i)); i++)
    for (const wk_target_output *x = t->outputs; x && x->name; x++)
      if (x == t->outputs) wk_str_printf(out, "; %s: %s", t->name, x->name);
      else wk_str_printf(out, ", %s", x->name);
}

static const wk_option options[] = {
    {.kind = WK_OPTION_GROUP, .help = "Output"},
    {"output", 'o', "FILE", "write to FILE (default: named after the model; text to standard "
     "output); a bundle is FILE.o, FILE.h and FILE.weights, its functions are named after FILE",
     .kind = WK_OPTION_STRING, .offset = offsetof(compile_opts, output)},
    {"emit", 0, "KIND", "what to write: package (default), graph, program, dot, onnx, or what a "
     "target writes besides ('wick targets' says what each is)",
     .kind = WK_OPTION_STRING, .offset = offsetof(compile_opts, emit), .more = list_outputs},
    WK_TARGET_OPTIONS(compile_opts, target, "what to compile for,"),
    {"memory-budget", 0, "SIZE", "compute values again instead of keeping them where activations "
     "would take more memory than that: 64MiB, 512KiB", .kind = WK_OPTION_STRING,
     .offset = offsetof(compile_opts, budget)},
    {"convert", 0, "TYPE", "store the floats of a model as f16 or bf16, weights and what goes "
     "between operators; each operator still computes in f32 and rounds once at its result, and "
     "inputs and outputs keep their types", .kind = WK_OPTION_STRING,
     .offset = offsetof(compile_opts, convert)},
    WK_QUANTIZE_RANDOM_OPTION(compile_opts, quantize),
    WK_BINDING_OPTIONS(compile_opts, binding),
    {.kind = WK_OPTION_GROUP, .help = "Looking inside"},
    {"print-after", 0, "PASS", "print the code after this pass to standard error; 'all': after "
     "every one, 'changed': after those that changed it", .kind = WK_OPTION_STRING,
     .offset = offsetof(compile_opts, print_after)},
    {"stop-after", 0, "PASS", "stop there; writes the graph or the program as text",
     .kind = WK_OPTION_STRING, .offset = offsetof(compile_opts, stop_after)},
    {"weights", 0, NULL, "write the contents of all constants in the text of a graph or a program; "
     "otherwise those of more than 16 elements are elided, and the text cannot be read back",
     .kind = WK_OPTION_FLAG, .offset = offsetof(compile_opts, weights)},
    {"print-integer", 0, NULL,
     "list the operators of a quantised model: which compute in integers, and why others do not",
     .kind = WK_OPTION_FLAG, .offset = offsetof(compile_opts, print_integer)},
    {"print-parts", 0, NULL,
     "list the parts of the model, one target's each, with what goes between them, and why "
     "operators are not where a target of higher preference would have them",
     .kind = WK_OPTION_FLAG, .offset = offsetof(compile_opts, print_parts)},
    {"explain", 0, "LAYER", "setting of a target: print how this layer could have been computed, "
     "and what each way would cost", .kind = WK_OPTION_STRING,
     .offset = offsetof(compile_opts, target.explain)},
    {"time-passes", 0, NULL, "print how long every step took", .kind = WK_OPTION_FLAG,
     .offset = offsetof(compile_opts, time_passes)},
    {"report", 0, "FILE", "write every figure as JSON", .kind = WK_OPTION_STRING,
     .offset = offsetof(compile_opts, report)},
    {"quiet", 'q', NULL, "no summary", .kind = WK_OPTION_FLAG,
     .offset = offsetof(compile_opts, quiet)},
    {"verbose", 'v', NULL, WK_LIST_ALL_HELP, .kind = WK_OPTION_FLAG,
     .offset = offsetof(compile_opts, verbose)},
    {0}};

/* ---- the steps of one binding ---------------------------------------------------------------- */

typedef struct {
  const compile_opts *o;
  const char *name;
  wk_compiled *bound;
  uint64_t last; /* hash of the text before the step, for --print-after=changed */
} watcher;

static void record_insts(wk_compiled *bound, const wk_program *p) {
  wk_inst_pos *all;
  wk_str text = {0};
  wk_arena *scratch = wk_arena_new();
  size_t n = wk_program_flatten(p, scratch, &all);
  for (size_t i = 0; i < n; i++) {
    const wk_inst *x = all[i].inst;
    wk_inst_record r = {.node = wk_arena_strdup(bound->arena, x->name),
                        .op = wk_op_get(x->op)->name, .macs = wk_inst_macs(x),
                        .depth = all[i].depth};
    for (uint32_t k = 0; k < x->n_operands; k++)
      if (x->operands[k].buffer != WK_NONE)
        r.bytes += wk_view_count(&x->operands[k]) * wk_dtype_size(x->operands[k].dtype);
    text.n = 0;
    wk_inst_text(&text, p, x);
    r.text = wk_arena_strdup(bound->arena, text.s);
    wk_vec_push(&bound->insts, r);
  }
  wk_str_free(&text);
  wk_arena_free(scratch);
}

static void print_code(wk_str *b, const compile_opts *o, const wk_module *m, const wk_program *p) {
  wk_print_flags how = o->weights ? WK_PRINT_FULL : WK_PRINT_SHORT;
  if (p) wk_program_print(b, p, how);
  else wk_module_print(b, m, how);
}

/* Steps that are no passes rewrite everything and count nothing. */
static void print_step(watcher *w, const wk_step_record *step, const wk_module *m,
                       const wk_program *p) {
  bool all = !strcmp(w->o->print_after, "all"), changed = !strcmp(w->o->print_after, "changed");
  if (!all && !changed && strcmp(w->o->print_after, step->name) != 0) return;
  wk_str b = {0};
  print_code(&b, w->o, m, p);
  uint64_t hash = wk_hash64(b.s, b.n, 0);
  if (!changed || hash != w->last) {
    fprintf(stderr, "// after %s%s%s", step->name, step->part ? ", part " : "",
            step->part ? step->part : "");
    if (step->changes || !changed) fprintf(stderr, ": %lld change%s", (long long)step->changes,
                                            step->changes == 1 ? "" : "s");
    fprintf(stderr, "\n%s\n", b.s);
  }
  w->last = hash;
  wk_str_free(&b);
}

static wk_status after_step(void *ctx, const wk_step_record *step, const wk_module *m,
                            const wk_program *p) {
  watcher *w = ctx;
  wk_progress("%s: %s", w->name, step->name);
  if (step->kind == WK_ON_GRAPHS) w->bound->nodes_after = wk_module_nodes(m);
  if (step->is_portable_end) record_insts(w->bound, p);
  if (w->o->print_after) print_step(w, step, m, p);
  return NULL;
}

/* NONE: floats stay what they are. */
static wk_dtype convert_type(const compile_opts *o) {
  static const wk_dtype types[] = {WK_F16, WK_BF16};
  for (size_t i = 0; o->convert && i < WK_COUNTOF(types); i++)
    if (!strcmp(o->convert, wk_dtype_name(types[i]))) return types[i];
  return WK_DTYPE_NONE;
}

static wk_status compile_binding(const compile_opts *o, const char *model, const emission *emit,
                              const wk_targets *targets, const char *name, wk_str *notes,
                              uint64_t *hash, wk_compiled *bound) {
  double started = wk_clock();
  watcher w = {.o = o, .name = name, .bound = bound};
  wk_pipeline_options po = {.targets = targets, .stop_after = o->stop_after, .hook = after_step,
                            .ctx = &w};
  po.convert = convert_type(o);
  if (o->budget) wk_bytes_parse(o->budget, &po.memory_budget);
  po.graph_only = emit->from == FROM_MODULE && !o->stop_after;
  po.portable = emit->from == FROM_PROGRAM && !o->stop_after;
  bound->arena = wk_arena_new();
  wk_progress("%s: import", name);
  WK_TRY(wk_model_import(model, &bound->binding, o->verbose, notes, hash, &bound->module));
  if (o->quantize) WK_TRY(wk_quantize_module(&bound->module, model, o->quantize));
  bound->import_seconds = wk_clock() - started;
  if (o->print_after) {
    wk_str b = {0};
    print_code(&b, o, bound->module, NULL);
    w.last = wk_hash64(b.s, b.n, 0);
    wk_str_free(&b);
  }
  wk_status s = wk_pipeline_fit(&bound->module, &po, &bound->report, &bound->parts);
  wk_model_target_notes(notes, model, &bound->report, targets, bound->parts, s);
  return wk_status_place(s, model);
}

static void free_binding(wk_compiled *bound) {
  wk_parts_free(bound->parts);
  wk_module_free(bound->module);
  wk_pipeline_report_free(&bound->report);
  wk_binding_set_free(&bound->binding);
  wk_vec_free(&bound->insts);
  wk_arena_free(bound->arena);
}

/* ---- output ---------------------------------------------------------------------------------- */

static wk_status write_str(wk_str *b, const char *path) {
  wk_status s = wk_write_file(path, b->s, b->n);
  wk_str_free(b);
  return s;
}

static wk_status write_graph(const compile_opts *o, const wk_compiled *bound, const char *path) {
  wk_str b = {0};
  bool parts = bound->parts && bound->parts->parts.n > 1;
  if (!parts) print_code(&b, o, bound->module, NULL);
  for (size_t i = 0; parts && i < bound->parts->parts.n; i++) {
    const wk_part *p = &bound->parts->parts.data[i];
    wk_str_printf(&b, "// part %s, %s\n", p->name, p->instance->target->name);
    print_code(&b, o, p->module, NULL);
  }
  return write_str(&b, path);
}

static wk_status write_program(const compile_opts *o, const wk_compiled *bound, const char *path) {
  wk_str b = {0};
  if (!bound->parts || !bound->parts->parts.data[0].program)
    return wk_error(WK_USAGE, "--stop-after ends before there is a program to write");
  for (size_t i = 0; i < bound->parts->parts.n; i++) {
    const wk_part *p = &bound->parts->parts.data[i];
    if (bound->parts->parts.n > 1)
      wk_str_printf(&b, "// part %s, %s\n", p->name, p->instance->target->name);
    print_code(&b, o, NULL, p->program);
  }
  return write_str(&b, path);
}

static wk_status write_dot(const compile_opts *o, const wk_compiled *bound, const char *path) {
  wk_str b = {0};
  const wk_parts *p = bound->parts;
  (void)o;
  wk_module_dot(&b, bound->module, p && p->parts.n > 1 ? wk_parts_colours(p, bound->arena) : NULL);
  return write_str(&b, path);
}

static wk_status write_onnx(const compile_opts *o, const wk_compiled *bound, const char *path) {
  (void)o;
  return wk_export_onnx(bound->module, path);
}

static wk_status write_code(wk_compilation *c, const emission *emit, const wk_targets *targets,
                            const wk_emit_options *eo, const char *path, wk_emit_result *result) {
  wk_emit_entry entries[WK_MAX_BINDINGS];
  for (size_t i = 0; i < c->n; i++) {
    entries[i] = (wk_emit_entry){c->bound[i].binding.name, c->bound[i].parts};
    for (size_t k = 0; k < c->bound[i].parts->parts.n; k++) {
      wk_program *p = c->bound[i].parts->parts.data[k].program;
      p->name = wk_arena_strdup(p->arena, c->bound[i].binding.name);
    }
  }
  wk_progress("%s: code", c->name);
  if (emit->from == FROM_PARTS) return wk_emit_package(targets, entries, c->n, eo, path, result);
  return wk_emit_output(emit->output, emit->instance, entries, c->n, eo, path, result);
}

static int64_t file_bytes(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

static wk_status name_files(wk_compilation *c, const emission *emit, const char *path,
                            wk_arena *a) {
  if (emit->output && emit->output->files) return emit->output->files(path, a, &c->files);
  if (c->output) c->files.path[c->files.n++] = c->output;
  return NULL;
}

static void measure_output(wk_compilation *c) {
  for (size_t i = 0; i < c->files.n; i++) {
    int64_t bytes = file_bytes(c->files.path[i]);
    if (bytes >= 0) c->output_bytes = bytes + (c->output_bytes < 0 ? 0 : c->output_bytes);
  }
}

static wk_status write_output(const compile_opts *o, wk_compilation *c, const emission *emit,
                              const wk_targets *targets, const wk_emit_options *eo,
                              const char *path, wk_emit_result *result) {
  double started = wk_clock();
  wk_status s = emit->write ? emit->write(o, &c->bound[0], path)
                            : write_code(c, emit, targets, eo, path, result);
  c->emit_seconds = wk_clock() - started;
  if (!s) measure_output(c);
  return s;
}

/* ---- options --------------------------------------------------------------------------------- */

/* What the output depends on, without paths: the same input gives the same bytes in any folder. */
static const char *command_text(const compile_opts *o, wk_arena *a) {
  wk_str b = {0};
  if (o->target.target) wk_str_printf(&b, " --target=%s", o->target.target);
  if (o->target.cpu) wk_str_printf(&b, " --cpu=%s", o->target.cpu);
  if (o->target.no_host) wk_str_add(&b, " --no-host");
  wk_target_settings_text(&b, &o->target);
  if (o->convert) wk_str_printf(&b, " --convert=%s", o->convert);
  if (o->budget) wk_str_printf(&b, " --memory-budget=%s", o->budget);
  if (o->quantize) wk_str_printf(&b, " --quantize-random=%" PRId64, o->quantize);
  for (size_t i = 0; i < o->binding.bind.n; i++)
    wk_str_printf(&b, " --bind=%s", o->binding.bind.data[i]);
  for (size_t i = 0; i < o->binding.shape.n; i++)
    wk_str_printf(&b, " --shape=%s", o->binding.shape.data[i]);
  for (size_t i = 0; i < o->binding.length.n; i++)
    wk_str_printf(&b, " --length=%s", o->binding.length.data[i]);
  for (size_t i = 0; i < o->binding.value.n; i++) {
    const char *v = o->binding.value.data[i], *slash = strrchr(v, '/');
    wk_str_printf(&b, " --value=%.*s=%s", (int)strcspn(v, "="), v,
                  slash ? slash + 1 : v + strcspn(v, "=") + 1);
  }
  const char *text = wk_arena_strdup(a, b.n ? b.s + 1 : "");
  wk_str_free(&b);
  return text;
}

static bool is_code(const emission *e) { return e->from == FROM_PARTS || e->from == FROM_TARGET; }

static wk_status check_options(const compile_opts *o, const emission *emit, size_t bindings) {
  int64_t budget;
  if (o->budget && !wk_bytes_parse(o->budget, &budget))
    return wk_error(WK_USAGE, "--memory-budget %s: a size is expected: 64MiB, 512KiB", o->budget);
  if (o->convert && convert_type(o) == WK_DTYPE_NONE)
    return wk_error(WK_USAGE, "--convert %s: floats are stored as f16 or bf16", o->convert);
  bool special =
      o->print_after && (!strcmp(o->print_after, "all") || !strcmp(o->print_after, "changed"));
  wk_step_kind printed = WK_ON_GRAPHS;
  if (o->print_after && !special)
    WK_TRY(wk_pipeline_find_step("--print-after", o->print_after, &printed));
  if (printed == WK_ON_OUTPUT)
    return wk_error(WK_USAGE, "--print-after %s: after it there is only the output",
                    o->print_after);
  wk_step_kind last = WK_ON_OUTPUT;
  if (o->stop_after) WK_TRY(wk_pipeline_find_step("--stop-after", o->stop_after, &last));
  if (last != WK_ON_OUTPUT && is_code(emit))
    return wk_error(WK_USAGE, "--emit %s needs all passes: leave out --stop-after", emit->name);
  if (bindings > 1 && !is_code(emit))
    return wk_error(WK_USAGE, "--emit %s writes one binding: give --bind and --shape only once",
                    emit->name);
  return NULL;
}

/* With --stop-after alone, what there is then is shown as text. */
static wk_status default_emission(const compile_opts *o, emission *out) {
  wk_step_kind kind = WK_ON_OUTPUT;
  if (o->stop_after) WK_TRY(wk_pipeline_find_step("--stop-after", o->stop_after, &kind));
  *out = emissions[kind == WK_ON_OUTPUT     ? EMIT_PACKAGE
                   : kind == WK_ON_PROGRAMS ? EMIT_PROGRAM
                                            : EMIT_GRAPH];
  return NULL;
}

/* names[0 .. n) is added to. */
static const wk_target_output *find_output(const wk_target *t, const char *name,
                                           const char **names, size_t *n) {
  for (const wk_target_output *x = t->outputs; x && x->name && *n < MAX_EMISSIONS; x++) {
    names[(*n)++] = x->name;
    if (!strcmp(x->name, name)) return x;
  }
  return NULL;
}

/* Why there is none: it is another target's, or nobody's. */
static wk_status refuse_emission(const compile_opts *o, const char **names, size_t n) {
  const wk_target *t;
  for (size_t i = 0; (t = wk_target_at(i)); i++)
    if (find_output(t, o->emit, names, &n))
      return wk_error(WK_USAGE, "--emit %s is what target %s writes: %s --target %s", o->emit,
                      t->name, o->target.target ? "it needs" : "add", t->name);
  const char *near = wk_nearest(o->emit, names, n);
  if (near)
    return wk_error(WK_USAGE, "--emit: no kind '%s'; did you mean '%s'?", o->emit, near);
  return wk_error(WK_USAGE, "--emit: no kind '%s'; --help says what there is", o->emit);
}

/* What --emit names: the driver's own, or an output of one of the targets. */
static wk_status find_emission(const compile_opts *o, const wk_targets *t, emission *out) {
  const char *names[MAX_EMISSIONS];
  size_t n = 0;
  if (!o->emit) return default_emission(o, out);
  for (size_t i = 0; i < WK_COUNTOF(emissions); i++) {
    names[n++] = emissions[i].name;
    if (strcmp(emissions[i].name, o->emit) != 0) continue;
    *out = emissions[i];
    return NULL;
  }
  for (size_t i = 0; i < t->n; i++) {
    const wk_target_output *x = find_output(t->list[i]->target, o->emit, names, &n);
    if (!x) continue;
    *out = (emission){x->name, FROM_TARGET, x->suffix, NULL, x, t->list[i]};
    return NULL;
  }
  return refuse_emission(o, names, n);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void show(const compile_opts *o, const wk_compilation *c) {
  FILE *f = c->output ? stdout : stderr;
  if (o->print_integer) wk_compile_integers(f, c);
  if (o->print_integer && !o->quiet) fputc('\n', f);
  if (o->print_parts) wk_compile_parts(f, c);
  if (o->print_parts && !o->quiet) fputc('\n', f);
  if (o->time_passes) wk_compile_times(f, c);
  if (o->time_passes && !o->quiet) fputc('\n', f);
  if (!o->quiet) wk_compile_summary(f, c);
}

static wk_status measure_input(wk_compilation *c) {
  const char *files[] = {c->model, c->bound[0].binding.init_net};
  c->input_bytes = 0;
  for (size_t i = 0; i < WK_COUNTOF(files); i++) {
    wk_file f;
    if (!files[i]) continue;
    WK_TRY(wk_file_map(files[i], &f));
    c->input_bytes += (int64_t)f.size;
    wk_file_unmap(&f);
  }
  return NULL;
}

static void show_progress(const char *what) { wk_progress("%s", what); }

/* The report is opened first: what cannot be written shall not cost a compilation. It has its room
 * on the disk before the output replaces an older one. */
static wk_status compile(const compile_opts *o, wk_compilation *c, const emission *emit,
                         const wk_targets *targets, const char *path) {
  wk_out *report = NULL;
  double started = wk_clock();
  wk_emit_result result = {.scratch_bytes = -1};
  wk_str notes = {0}, told = {0};
  wk_emit_options eo = {.model_name = c->name, .command = c->command, .progress = show_progress,
                        .text = &told};
  if (o->report) WK_TRY(wk_out_open(o->report, &report));
  wk_status s = NULL;
  for (size_t i = 0; !s && i < c->n; i++)
    s = compile_binding(o, c->model, emit, targets, c->name, &notes, i ? NULL : &c->input_hash,
                        &c->bound[i]);
  if (!s) s = measure_input(c);
  eo.input_hash = c->input_hash;
  if (!s && report) s = wk_out_reserve(report, wk_compile_json_size(c));
  if (!s) s = write_output(o, c, emit, targets, &eo, path, &result);
  c->scratch_bytes = result.scratch_bytes;
  c->predicted_cycles = result.predicted_cycles;
  c->seconds = wk_clock() - started;
  wk_progress_end();
  if (told.n) fputs(told.s, stderr);
  if (notes.n) fputs(notes.s, stderr);
  wk_str_free(&told);
  wk_str_free(&notes);
  if (s) {
    wk_out_abort(report);
    return s;
  }
  if (report) {
    wk_compile_json(report, c);
    WK_TRY(wk_out_commit(report));
  }
  show(o, c);
  return NULL;
}

/* What is written overwrites neither the model nor something else that is written. */
static wk_status check_paths(const compile_opts *o, const wk_compilation *c, wk_arena *a) {
  const char *what = o->output ? "--output" : "the output";
  wk_paths paths = {0};
  wk_file f;
  WK_TRY(wk_file_map(c->model, &f));
  bool package = wk_is_package(&f);
  wk_file_unmap(&f);
  if (package) return wk_error_at(WK_INPUT, c->model, "is a Wick package, not an ONNX model");
  wk_model_paths(&paths, c->model, NULL, a);
  wk_binding_paths(&paths, &o->binding);
  for (size_t i = 0; i < c->files.n; i++) wk_paths_write(&paths, what, c->files.path[i]);
  wk_paths_write(&paths, "--report", o->report);
  return wk_paths_check(&paths);
}

static wk_status start(const compile_opts *o, wk_compilation *c, const wk_targets *targets,
                       wk_arena *a) {
  wk_binding_set sets[WK_MAX_BINDINGS];
  emission emit = {0};
  WK_TRY(find_emission(o, targets, &emit));
  WK_TRY(wk_binding_sets_parse(&o->binding, sets, WK_MAX_BINDINGS, &c->n));
  for (size_t i = 0; i < c->n; i++) c->bound[i].binding = sets[i];
  WK_TRY(check_options(o, &emit, c->n));
  const char *path = o->output;
  if (!path) path = emit.suffix ? wk_arena_printf(a, "%s%s", c->name, emit.suffix) : "-";
  c->output = strcmp(path, "-") ? path : NULL;
  c->emit = emit.name;
  c->target = wk_targets_text(targets, a);
  WK_TRY(name_files(c, &emit, path, a));
  WK_TRY(check_paths(o, c, a));
  return compile(o, c, &emit, targets, path);
}

static wk_status run(const void *options_, const wk_strings *args) {
  const compile_opts *o = options_;
  wk_arena *a = wk_arena_new();
  wk_compilation c = {.model = args->data[0], .name = wk_model_name(a, args->data[0]),
                      .command = command_text(o, a), .output_bytes = -1, .scratch_bytes = -1};
  c.bound = wk_xcalloc(WK_MAX_BINDINGS, sizeof *c.bound);
  wk_targets targets;
  wk_status s = wk_targets_open(&o->target, &targets);
  if (!s) s = start(o, &c, &targets, a);
  for (size_t i = 0; i < c.n; i++) free_binding(&c.bound[i]);
  free(c.bound);
  wk_targets_close(&targets);
  wk_arena_free(a);
  return s;
}

const wk_cmd wk_cmd_compile = {
    .command =
        {.name = "compile", .synopsis = "MODEL.onnx",
         .summary = "compile an ONNX model",
         .description =
             "Writes a package that 'wick run' and the runtime load, or what --emit names. "
             "Every dimension must be known: give symbolic ones with --bind or --shape. Several "
             "bindings go into one package and share their weights.\n"
             "\n"
             "  wick compile bert.onnx --bind batch=1,seq=128 --bind batch=8,seq=128\n"
             "  wick compile net.onnx --emit bundle -o build/net --cpu x86-64\n"
             "  wick compile net.onnx --emit graph --stop-after fold-constants",
         .options = options, .min_args = 1, .max_args = 1},
    .size = sizeof(compile_opts), .run = run};
