/* SPDX-License-Identifier: Apache-2.0
 * wick compile: options and what is shown; the work is compiler/compile's. */
#include <string.h>

#include "cli/command.h"
#include "cli/compile.h"
#include "cli/model_paths.h"
#include "cli/paths.h"
#include "cli/text.h"
#include "compiler/pipeline/runner.h"

typedef struct {
  wk_compile_options what;
  const char *output, *print_after, *report;
  bool time_passes, print_integer, print_parts, quiet;
} compile_opts;

static const wk_option options[] = {
    {.kind = WK_OPTION_GROUP, .help = "Output"},
    {"output", 'o', "FILE", "write to FILE (default: named after the model; text to standard "
     "output); a bundle is FILE.o, FILE.h and FILE.weights, its functions are named after FILE",
     .kind = WK_OPTION_STRING, .offset = offsetof(compile_opts, output)},
    WK_COMPILE_OUTPUT_OPTIONS(compile_opts, what.),
    {.kind = WK_OPTION_GROUP, .help = "Looking inside"},
    {"print-after", 0, "PASS", "print the code after this pass to standard error; 'all': after "
     "every one, 'changed': after those that changed it", .kind = WK_OPTION_STRING,
     .offset = offsetof(compile_opts, print_after)},
    WK_COMPILE_TEXT_OPTIONS(compile_opts, what.),
    {"print-integer", 0, NULL,
     "list the operators of a quantised model: which compute in integers, and why others do not",
     .kind = WK_OPTION_FLAG, .offset = offsetof(compile_opts, print_integer)},
    {"print-parts", 0, NULL,
     "list the parts of the model, one target's each, with what goes between them, and why "
     "operators are not where a target of higher preference would have them",
     .kind = WK_OPTION_FLAG, .offset = offsetof(compile_opts, print_parts)},
    {.kind = WK_OPTION_ROWS, .offset = offsetof(compile_opts, what.target.settings),
     .rows = wk_setting_explains_row},
    {"time-passes", 0, NULL, "print how long every step took", .kind = WK_OPTION_FLAG,
     .offset = offsetof(compile_opts, time_passes)},
    {"report", 0, "FILE", "write every figure as JSON", .kind = WK_OPTION_STRING,
     .offset = offsetof(compile_opts, report)},
    {"quiet", 'q', NULL, "no summary", .kind = WK_OPTION_FLAG,
     .offset = offsetof(compile_opts, quiet)},
    {"verbose", 'v', NULL, WK_LIST_ALL_HELP, .kind = WK_OPTION_FLAG,
     .offset = offsetof(compile_opts, what.list_all)},
    {0}};

/* ---- --print-after --------------------------------------------------------------------------- */

typedef struct {
  const compile_opts *o;
  wk_out *report; /* NULL: none is asked for */
  uint64_t last;  /* hash of the text before the step, for --print-after=changed */
} watcher;

/* Steps that are no passes rewrite everything and count nothing. */
static void print_step(watcher *w, const wk_step_record *step, const wk_module *m,
                       const wk_program *p) {
  bool all = !strcmp(w->o->print_after, "all"), changed = !strcmp(w->o->print_after, "changed");
  if (!all && !changed && strcmp(w->o->print_after, step->name) != 0) return;
  wk_str b = {0};
  wk_compile_print(&b, &w->o->what, m, p);
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
  print_step(ctx, step, m, p);
  return NULL;
}

static void keep_imported(void *ctx, const wk_module *m) {
  watcher *w = ctx;
  wk_str b = {0};
  wk_compile_print(&b, &w->o->what, m, NULL);
  w->last = wk_hash64(b.s, b.n, 0);
  wk_str_free(&b);
}

/* Room on the disk before the output replaces an older one. */
static wk_status reserve_report(void *ctx, const wk_compilation *c) {
  const watcher *w = ctx;
  return w->report ? wk_out_reserve(w->report, wk_compile_json_size(c)) : NULL;
}

static wk_status run_steps(const compile_opts *o, wk_out *report, wk_compilation *c) {
  watcher w = {.o = o, .report = report};
  wk_compile_watch watch = {.emitting = reserve_report, .ctx = &w};
  if (o->print_after) {
    watch.imported = keep_imported;
    watch.after = after_step;
  }
  return wk_compilation_run(c, &watch);
}

/* ---- options --------------------------------------------------------------------------------- */

static wk_status check_printed(const compile_opts *o) {
  wk_step_kind kind = WK_ON_GRAPHS;
  bool special =
      o->print_after && (!strcmp(o->print_after, "all") || !strcmp(o->print_after, "changed"));
  if (o->print_after && !special)
    WK_TRY(wk_pipeline_find_step("--print-after", o->print_after, &kind));
  if (kind == WK_ON_OUTPUT)
    return wk_error(WK_USAGE, "--print-after %s: after it there is only the output",
                    o->print_after);
  return NULL;
}

/* What is written overwrites neither the model nor something else that is written. */
static wk_status check_paths(const compile_opts *o, const wk_compilation *c) {
  const char *what = o->output ? "--output" : "the output";
  wk_paths paths = {0};
  wk_file f;
  WK_TRY(wk_file_map(c->model, &f));
  bool package = wk_is_package(&f);
  wk_file_unmap(&f);
  if (package) return wk_error_at(WK_INPUT, c->model, "is a Wick package, not an ONNX model");
  wk_model_paths(&paths, c->model, NULL, c->arena);
  wk_binding_paths(&paths, &o->what.binding);
  for (size_t i = 0; i < c->files.n; i++) wk_paths_write(&paths, what, c->files.path[i]);
  wk_paths_write(&paths, "--report", o->report);
  return wk_paths_check(&paths);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void show(const compile_opts *o, const wk_compilation *c) {
  FILE *f = strcmp(c->output, "-") ? stdout : stderr;
  if (o->print_integer) wk_compile_integers(f, c);
  if (o->print_integer && !o->quiet) fputc('\n', f);
  if (o->print_parts) wk_compile_parts(f, c);
  if (o->print_parts && !o->quiet) fputc('\n', f);
  if (o->time_passes) wk_compile_times(f, c);
  if (o->time_passes && !o->quiet) fputc('\n', f);
  if (!o->quiet) wk_compile_summary(f, c);
}

/* The report is opened first: what cannot be written shall not cost a compilation. */
static wk_status compile(const compile_opts *o, wk_compilation *c) {
  wk_out *report = NULL;
  if (o->report) WK_TRY(wk_out_open(o->report, &report));
  wk_status s = run_steps(o, report, c);
  wk_progress_end();
  if (c->told.n) fputs(c->told.s, stderr);
  wk_text_notes(stderr, c->notes.data, c->notes.n);
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

static wk_status run(const void *options_, const wk_strings *args) {
  const compile_opts *o = options_;
  wk_compilation c;
  wk_status s = wk_compilation_open(&o->what, args->data[0], &c);
  if (!s) s = check_printed(o);
  if (!s) s = wk_compilation_name_output(&c, o->output);
  if (!s) s = check_paths(o, &c);
  if (!s) s = compile(o, &c);
  wk_compilation_close(&c);
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
