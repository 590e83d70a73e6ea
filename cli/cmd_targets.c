/* SPDX-License-Identifier: Apache-2.0
 * wick targets: what models can be compiled for, and what each target writes. */
#include "cli/command.h"
#include "cli/text.h"
#include "compiler/pipeline/targets.h"

typedef struct {
  wk_strings plugins;
} targets_opts;

static const wk_option options[] = {WK_PLUGIN_ROW(targets_opts, plugins), {0}};

static wk_status run(const void *options_, const wk_strings *args) {
  const wk_target *t;
  wk_table table = {0};
  (void)options_;
  (void)args;
  wk_table_row(&table, "TARGET\tMACHINE\tWHAT IT IS");
  for (size_t i = 0; (t = wk_target_at(i)); i++)
    wk_table_row(&table, "%s\t%s\t%s", t->name, t->spec_doc ? t->spec_doc : "-", t->doc);
  wk_table_print(stdout, &table, "lll");
  table = (wk_table){0};
  wk_table_row(&table, "SETTING\tTARGET\tVALUES\tWHAT IT IS");
  for (size_t i = 0; (t = wk_target_at(i)); i++)
    for (const wk_target_setting *s = t->settings; s && s->name; s++)
      wk_table_row(&table, "--%s\t%s\t%s\t%s", s->name, t->name, s->values, s->doc);
  putchar('\n');
  wk_table_print(stdout, &table, "llll");
  table = (wk_table){0};
  wk_table_row(&table, "OUTPUT\tTARGET\tWHAT IT IS");
  wk_table_row(&table, "package\tall\tone file for 'wick run' and the runtime, with parts of "
                       "all targets");
  for (size_t i = 0; (t = wk_target_at(i)); i++)
    for (const wk_target_output *o = t->outputs; o && o->name; o++)
      wk_table_row(&table, "%s\t%s\t%s", o->name, t->name, o->doc);
  putchar('\n');
  wk_table_print(stdout, &table, "lll");
  return NULL;
}

const wk_cmd wk_cmd_targets = {
    .command = {.name = "targets", .synopsis = "",
                .summary = "list what models can be compiled for",
                .description = "Lists the targets with the machines that may follow their names, "
                               "the settings that the commands which compile take for each, and "
                               "what --emit can write.\n"
                               "\n"
                               "  wick compile net.onnx --target cpu:x86-64-v3",
                .options = options},
    .size = sizeof(targets_opts), .run = run};
