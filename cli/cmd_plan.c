/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/paths.h"
#include "compiler/memory/plan.h"

typedef struct {
  const char *output;
  int64_t capacity;
} plan_opts;

static const wk_option options[] = {
    {"capacity", 0, "N", "bytes that there are (default: make the peak as low as possible)",
     .kind = WK_OPTION_INT, .offset = offsetof(plan_opts, capacity), .min = 1, .max = INT64_MAX},
    {"output", 'o', "FILE.csv", "write the table with an offset column", .kind = WK_OPTION_STRING,
     .offset = offsetof(plan_opts, output)},
    {0}};

static wk_status run(const void *options_, const wk_strings *args) {
  const plan_opts *o = options_;
  wk_str summary = {0};
  wk_paths paths = {0};
  wk_paths_read(&paths, "the table", args->data[0]);
  wk_paths_write(&paths, "--output", o->output);
  WK_TRY(wk_paths_check(&paths));
  wk_status s = wk_plan_file(args->data[0], o->capacity, &summary, o->output);
  /* a table that goes to standard output stays alone there */
  FILE *f = o->output && o->output[0] == '-' && !o->output[1] ? stderr : stdout;
  if (summary.n) fputs(summary.s, f);
  wk_str_free(&summary);
  return s;
}

const wk_cmd wk_cmd_plan = {
    .command = {.name = "plan", .synopsis = "FILE.csv",
                .summary = "place buffers with known lifetimes in memory",
                .description =
                    "The file has a header line and one buffer per line: id,lower,upper,size and "
                    "optionally alignment. A buffer is live from lower up to, but not including, "
                    "upper. Two buffers that are live at the same time never overlap.",
                .options = options, .min_args = 1, .max_args = 1},
    .size = sizeof(plan_opts), .run = run};
