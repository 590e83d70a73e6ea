/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/text.h"
#include "compiler/onnx/onnx.h"
#include "compiler/zoo/zoo.h"

typedef struct {
  const char *output;
  int64_t seed, batch;
  bool list;
} zoo_opts;

static const zoo_opts defaults = {.seed = 1};

static const wk_option options[] = {
    {"output", 'o', "FILE", "write the network to FILE as ONNX (default NAME.onnx)",
     .kind = WK_OPTION_STRING, .offset = offsetof(zoo_opts, output)},
    {"seed", 0, "N", "seed of the weights (default 1)", .kind = WK_OPTION_INT,
     .offset = offsetof(zoo_opts, seed), .min = 0, .max = INT64_MAX},
    {"batch", 0, "N", "samples in the input, of networks of images (default: one)",
     .kind = WK_OPTION_INT, .offset = offsetof(zoo_opts, batch), .min = 1, .max = INT32_MAX},
    {"list", 0, NULL, "list the networks, as 'wick zoo' alone does", .kind = WK_OPTION_FLAG,
     .offset = offsetof(zoo_opts, list)},
    {0}};

static wk_status unknown(const char *name) {
  const char **names = wk_xmalloc(wk_zoo_count * sizeof *names);
  for (size_t i = 0; i < wk_zoo_count; i++) names[i] = wk_zoo[i].name;
  const char *near = wk_nearest(name, names, wk_zoo_count);
  wk_status s = near ? wk_error(WK_USAGE, "no network '%s'; did you mean '%s'?", name, near)
                     : wk_error(WK_USAGE, "no network '%s'; 'wick zoo' lists them", name);
  free(names);
  return s;
}

static void list(void) {
  wk_table t = {0};
  for (size_t i = 0; i < wk_zoo_count; i++)
    wk_table_row(&t, "%s\t%s", wk_zoo[i].name, wk_zoo[i].doc);
  wk_table_print(stdout, &t, "ll");
}

static wk_status run(const void *options_, const wk_strings *args) {
  const zoo_opts *o = options_;
  wk_module *m;
  if (args->n == 0 || o->list) {
    list();
    return NULL;
  }
  const wk_zoo_entry *e = wk_zoo_find(args->data[0]);
  if (!e) return unknown(args->data[0]);
  wk_arena *a = wk_arena_new();
  const char *path = o->output ? o->output : wk_arena_printf(a, "%s.onnx", e->name);
  wk_status s = wk_out_check(path);
  if (!s) s = wk_zoo_build(e, (uint64_t)o->seed, o->batch, &m);
  if (!s) {
    s = wk_export_onnx(m, path);
    wk_module_free(m);
  }
  if (!s && !o->output) printf("%s\n", path);
  wk_arena_free(a);
  return s;
}

const wk_cmd wk_cmd_zoo = {
    .command = {.name = "zoo",
                .synopsis = "[NAME]",
                .summary = "list built-in architectures, or write one as an ONNX model",
                .description =
                    "Real architectures with random weights: the same name and seed give "
                    "the same file on every machine.\n"
                    "\n"
                    "  wick zoo resnet50 -o resnet50.onnx",
                .options = options,
                .max_args = 1},
    .size = sizeof(zoo_opts),
    .defaults = &defaults,
    .run = run};
