/* SPDX-License-Identifier: Apache-2.0
 * wick test: model folders with recorded inputs and outputs. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/sim_model.h"
#include "cli/text.h"
#include "cli/verify/test_case.h"
#include "compiler/pipeline/model.h"

typedef struct {
  wk_target_args target;
  const char *filter, *junit;
  int64_t threads, jobs, timeout, random_weights, max_skipped;
  double rtol, atol; /* negative: not given */
  double mean_steps, max_steps;
  int model; /* wk_sim_kind */
  bool verbose, strict_opset;
} test_opts;

static const test_opts defaults = {.threads = 1, .jobs = 2, .timeout = 600,
                                   .random_weights = -1, .max_skipped = INT64_MAX, .rtol = -1,
                                   .atol = -1, .mean_steps = 1.5, .max_steps = 8};

static const wk_option options[] = {
    {.kind = WK_OPTION_GROUP, .help = "What runs"},
    WK_TARGET_OPTIONS(test_opts, target, "what runs the models: eval, the evaluator, or targets"),
    WK_MODEL_OPTION(test_opts, model),
    {"threads", 0, "N", "threads of each run (default 1; 0: all processors)", .kind = WK_OPTION_INT,
     .offset = offsetof(test_opts, threads), .min = 0, .max = WICK_MAX_THREADS},
    {"filter", 0, "GLOB", "only cases whose name matches", .kind = WK_OPTION_STRING,
     .offset = offsetof(test_opts, filter)},
    {"random-weights", 0, "SEED",
     "replace weights that are all equal by random ones and compare with the evaluator instead of "
     "with the stored outputs",
     .kind = WK_OPTION_INT, .offset = offsetof(test_opts, random_weights), .min = 0,
     .max = INT64_MAX},
    {"jobs", 'j', "N",
     "cases at a time, each in a process of its own (default 2); 0: one after the "
     "other in this process",
     .kind = WK_OPTION_INT, .offset = offsetof(test_opts, jobs), .min = 0, .max = 64},
    {"timeout", 0, "SECONDS",
     "abandon a case after this time (default 600); a failure of a quantised model is looked into "
     "for at most as long again",
     .kind = WK_OPTION_INT, .offset = offsetof(test_opts, timeout), .min = 1, .max = 86400},
    WK_STRICT_OPSET_OPTION(test_opts, strict_opset),
    {"max-skipped", 0, "N", "fail when more cases are skipped (default: any number may be)",
     .kind = WK_OPTION_INT, .offset = offsetof(test_opts, max_skipped), .max = INT64_MAX},
    {.kind = WK_OPTION_GROUP, .help = "Tolerance"},
    {"rtol", 0, "R", "relative part (default 1e-3)", .kind = WK_OPTION_DOUBLE,
     .offset = offsetof(test_opts, rtol), .max = INT64_MAX},
    {"atol", 0, "A", "absolute part (default max(1e-7, 1e-5 * largest |want| of the tensor))",
     .kind = WK_OPTION_DOUBLE, .offset = offsetof(test_opts, atol), .max = INT64_MAX},
    {"mean-steps", 0, "N",
     "unless --rtol or --atol is given, outputs of quantised tensors are compared in their steps: "
     "largest mean difference (default 1.5)",
     .kind = WK_OPTION_DOUBLE, .offset = offsetof(test_opts, mean_steps), .max = INT64_MAX},
    {"max-steps", 0, "N", "largest difference of one element, in steps (default 8)",
     .kind = WK_OPTION_DOUBLE, .offset = offsetof(test_opts, max_steps), .max = INT64_MAX},
    {.kind = WK_OPTION_GROUP, .help = "Output"},
    {"verbose", 'v', NULL, "also a line for each case that passed or was skipped",
     .kind = WK_OPTION_FLAG, .offset = offsetof(test_opts, verbose)},
    {"junit", 0, "FILE", "write the results as JUnit XML", .kind = WK_OPTION_STRING,
     .offset = offsetof(test_opts, junit)},
    {0}};

/* ---- finding cases --------------------------------------------------------------------------- */

typedef WK_VEC(wk_test_case) case_list;

static const char *base_name(wk_arena *a, const char *path) {
  char *real = realpath(path, NULL);
  const char *slash = real ? strrchr(real, '/') : NULL;
  const char *name = wk_arena_strdup(a, slash && slash[1] ? slash + 1 : path);
  free(real);
  return name;
}

static void add_case(case_list *list, const test_opts *o, const char *dir, const char *name) {
  wk_test_case c = {.dir = dir, .name = name};
  if (!o->filter || fnmatch(o->filter, name, 0) == 0) wk_vec_push(list, c);
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static wk_status find_in(case_list *list, const test_opts *o, const char *dir, wk_arena *a) {
  WK_VEC(const char *) names = {0};
  wk_import_options files;
  if (wk_model_in_folder(a, dir, &files)) {
    add_case(list, o, wk_arena_strdup(a, dir), base_name(a, dir));
    return NULL;
  }
  DIR *f = opendir(dir);
  if (!f) return wk_error_at(WK_IO, dir, "cannot read the folder: %s", strerror(errno));
  for (const struct dirent *e; (e = readdir(f));)
    if (e->d_name[0] != '.' &&
        wk_model_in_folder(a, wk_arena_printf(a, "%s/%s", dir, e->d_name), &files))
      wk_vec_push(&names, wk_arena_strdup(a, e->d_name));
  closedir(f);
  bool found = names.n > 0;
  if (found) qsort(names.data, names.n, sizeof *names.data, by_name);
  for (size_t i = 0; i < names.n; i++)
    add_case(list, o, wk_arena_printf(a, "%s/%s", dir, names.data[i]), names.data[i]);
  wk_vec_free(&names);
  return found ? NULL : wk_error_at(WK_INPUT, dir,
                                    "no model.onnx in this folder or in those directly below it");
}

/* ---- results --------------------------------------------------------------------------------- */

typedef struct {
  const test_opts *o;
  size_t total, done, count[3];
} tally;

static void show(void *ctx, const wk_test_case *c) {
  static const char *const words[] = {"ok", "FAIL", "skip"};
  tally *t = ctx;
  t->count[c->verdict]++;
  t->done++;
  if (c->verdict == WK_TEST_FAILED || t->o->verbose) {
    wk_progress_end();
    printf("%-4s %s", words[c->verdict], c->name);
    if (c->text) printf(": %s", c->text);
    if (t->o->verbose) printf(" (%s)", wk_text_seconds(c->seconds).s);
    putchar('\n');
    fflush(stdout);
  }
  wk_progress("%zu of %zu, %zu failed", t->done, t->total, t->count[WK_TEST_FAILED]);
}

typedef struct {
  const char *text;
  size_t count;
} reason;

static int by_count(const void *a, const void *b) {
  const reason *x = a, *y = b;
  if (x->count != y->count) return x->count < y->count ? 1 : -1;
  return strcmp(x->text, y->text);
}

static const char *reason_to_skip(const wk_test_case *c) {
  return c->verdict == WK_TEST_SKIPPED ? c->text : NULL;
}

static const char *note_of(const wk_test_case *c) {
  return c->note ? c->note : c->verdict == WK_TEST_PASSED ? c->text : NULL;
}

/* What cases tell (NULL: nothing), each text once, with how many say so. */
static void print_counted(const case_list *list, const char *heading,
                          const char *(*told)(const wk_test_case *c)) {
  WK_VEC(reason) reasons = {0};
  for (size_t i = 0; i < list->n; i++) {
    const char *text = told(&list->data[i]);
    size_t k = 0;
    if (!text) continue;
    while (k < reasons.n && strcmp(reasons.data[k].text, text) != 0) k++;
    reason fresh = {text, 0};
    if (k == reasons.n) wk_vec_push(&reasons, fresh);
    reasons.data[k].count++;
  }
  if (reasons.n) {
    qsort(reasons.data, reasons.n, sizeof *reasons.data, by_count);
    puts(heading);
  }
  for (size_t i = 0; i < reasons.n; i++)
    printf("%6zu  %s\n", reasons.data[i].count, reasons.data[i].text);
  wk_vec_free(&reasons);
}

static wk_tolerance tolerance(const test_opts *o) {
  return (wk_tolerance){.rtol = o->rtol < 0 ? 1e-3 : o->rtol, .atol = o->atol < 0 ? 1e-7 : o->atol,
                        .scale = o->atol < 0 ? 1e-5 : 0};
}

static wk_status run_cases(const test_opts *o, case_list *list) {
  tally t = {.o = o, .total = list->n};
  wk_test_options to = {.target = o->target, .threads = o->threads,
                        .tolerance = tolerance(o),
                        .is_default = o->rtol < 0 && o->atol < 0,
                        .mean_steps = o->mean_steps, .max_steps = o->max_steps,
                        .random_weights = o->random_weights,
                        .jobs = o->jobs, .timeout = o->timeout,
                        .strict_opset = o->strict_opset};
  wk_out *junit = NULL; /* opened first: by its descriptor it can be written at the end */
  if (o->junit) WK_TRY(wk_out_open(o->junit, &junit));
  wk_status s = wk_test_jobs_run(&to, list->data, list->n, show, &t);
  wk_progress_end();
  if (s) {
    wk_out_abort(junit);
    return s;
  }
  print_counted(list, "notes:", note_of);
  print_counted(list, "skipped, by reason:", reason_to_skip);
  if (junit) {
    wk_test_junit_write(wk_out_stdio(junit), list->data, list->n);
    WK_TRY(wk_out_commit(junit));
  }
  bool skips_more = t.count[WK_TEST_SKIPPED] > (uint64_t)o->max_skipped;
  if (skips_more)
    printf("%zu cases were skipped; --max-skipped allows %lld\n", t.count[WK_TEST_SKIPPED],
           (long long)o->max_skipped);
  printf("%zu passed, %zu failed, %zu skipped\n", t.count[WK_TEST_PASSED], t.count[WK_TEST_FAILED],
         t.count[WK_TEST_SKIPPED]);
  bool good = t.count[WK_TEST_FAILED] == 0 && t.count[WK_TEST_PASSED] > 0 && !skips_more;
  return good ? NULL : wk_exit_with(WK_FAILED);
}

static wk_status check_targets(const test_opts *o) {
  wk_targets t;
  if (wk_target_is_eval(&o->target)) return NULL;
  wk_status s = wk_targets_open(&o->target, &t);
  if (!s) s = wk_targets_check_here(&t, &o->target);
  wk_targets_close(&t);
  return s;
}

static wk_status run(const void *options_, const wk_strings *args) {
  const test_opts *o = options_;
  wk_arena *a = wk_arena_new();
  case_list list = {0};
  wk_status s = o->junit ? wk_out_check(o->junit) : NULL;
  wk_sim_progress_line line = {.tenth = 0};
  wk_sim_choose_model(o->model, &line);
  if (!s && o->random_weights >= 0 && wk_target_is_eval(&o->target))
    s = wk_error(WK_USAGE, "--random-weights compares a target with the evaluator: choose another "
                           "--target than eval");
  if (!s) s = check_targets(o);
  for (size_t i = 0; !s && i < args->n; i++) s = find_in(&list, o, args->data[i], a);
  if (!s && list.n == 0) s = wk_error(WK_USAGE, "--filter %s matches no case", o->filter);
  if (!s) s = run_cases(o, &list);
  for (size_t i = 0; i < list.n; i++) {
    free(list.data[i].text);
    free(list.data[i].note);
  }
  wk_vec_free(&list);
  wk_arena_free(a);
  return s;
}

const wk_cmd wk_cmd_test = {
    .command =
        {.name = "test",
         .synopsis = "DIR…",
         .summary = "run models on recorded inputs and compare with recorded outputs",
         .description =
             "DIR holds model.onnx and test_data_set_N/{input,output}_K.pb, or is a folder of "
             "such folders (the layout of the ONNX suites). Dimensions are bound from the "
             "inputs, and so are inputs whose values decide shapes; the line of the case names "
             "them.\n"
             "\n"
             "A case is one model folder and passes when all of its data sets do. A result is "
             "right when |got - want| <= rtol * |want| + atol; integers and bools are exact, "
             "NaN equals NaN, a bf16 may be off by one in its last place, what depends on a random "
             "operator is compared by type alone. "
             "Models that are refused count as skipped. Of a quantised model that fails, the line "
             "also tells how far its layers agree when each is fed alike: an output can be far "
             "off although every layer is right to the step. Data that is missing, or contradicts "
             "the types that the model declares, fails; only sets that store bf16 as u16, for want "
             "of a bf16 in numpy, are skipped when their shapes are not the model's.\n"
             "\n"
             "Succeeds only when nothing failed, something passed, and no more than --max-skipped "
             "was skipped.\n"
             "\n"
             "  wick test models/ --target eval --filter 'light_*'",
         .options = options,
         .min_args = 1,
         .max_args = -1},
    .size = sizeof(test_opts),
    .defaults = &defaults,
    .run = run};
