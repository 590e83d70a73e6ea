/* SPDX-License-Identifier: Apache-2.0
 * wick isa: the accelerator's commands, machines and registers, from the tables. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/text.h"
#include "targets/accel/isa/isa.h"

typedef struct {
  const char *machine;
  bool sv, markdown, machine_markdown, registers;
} isa_opts;

static const isa_opts defaults = {.machine = "base"};

static const wk_option options[] = {
    {"machine", 0, "FILE", "machine file, or base, tiny, wide (default: base)",
     .kind = WK_OPTION_STRING, .offset = offsetof(isa_opts, machine)},
    {.kind = WK_OPTION_GROUP, .help = "What to print (default: the commands and their fields)"},
    {"sv", 0, NULL, "the SystemVerilog package wick_pkg of the machine", .kind = WK_OPTION_FLAG,
     .offset = offsetof(isa_opts, sv)},
    {"c-registers", 0, NULL, "a C header with registers, errors and counters",
     .kind = WK_OPTION_FLAG, .offset = offsetof(isa_opts, registers)},
    {"markdown", 0, NULL, "the commands as Markdown: docs/isa.md", .kind = WK_OPTION_FLAG,
     .offset = offsetof(isa_opts, markdown)},
    {"machine-markdown", 0, NULL, "keys, registers, counters as Markdown: docs/machine.md",
     .kind = WK_OPTION_FLAG, .offset = offsetof(isa_opts, machine_markdown)},
    {0}};

static void print_machine(const wk_machine *m) {
  wk_table t = {0};
  wk_str b = {0};
  printf("machine %s, hash %016" PRIx64 "\n\n", m->name, wk_machine_hash(m));
  wk_table_row(&t, "KEY\tVALUE\tUNIT\tMEANING");
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    b.n = 0;
    wk_machine_key_text(&b, m, &wk_machine_keys[i]);
    wk_table_row(&t, "%s\t%s\t%s\t%s", wk_machine_keys[i].name, b.s, wk_machine_keys[i].unit,
                 wk_machine_keys[i].doc);
  }
  wk_table_print(stdout, &t, "lrll");
  wk_str_free(&b);
}

static void print_commands(void) {
  wk_table t = {0};
  wk_table_row(&t, "\nCOMMAND\tFIELD\tBITS\tDEFAULT\tMEANING");
  for (size_t i = 0; i < wk_isa_commands_count; i++) {
    const wk_isa_command_info *c = &wk_isa_commands[i];
    wk_table_row(&t, "%s\t\t\t\t%s", wk_isa_command_text(c).s, c->doc);
    for (int k = 0; k < c->n_fields; k++) {
      const wk_isa_field *f = &c->fields[k];
      wk_table_row(&t, "\t%s\t%d\t%s\t%s", f->name, f->bits, wk_isa_is_needed(f) ? "" : f->def,
                   f->doc);
    }
  }
  wk_table_print(stdout, &t, "llrll");
}

static wk_status run(const void *options_, const wk_strings *args) {
  const isa_opts *o = options_;
  wk_machine m;
  wk_str b = {0};
  (void)args;
  WK_TRY(wk_machine_read(o->machine, &m));
  if (o->sv) wk_isa_systemverilog(&b, &m);
  if (o->registers) wk_isa_registers_c(&b);
  if (o->markdown) wk_isa_markdown(&b);
  if (o->machine_markdown) wk_machine_markdown(&b);
  if (b.n) fputs(b.s, stdout);
  if (!b.n) {
    print_machine(&m);
    print_commands();
  }
  wk_str_free(&b);
  return NULL;
}

const wk_cmd wk_cmd_isa = {
    .command = {.name = "isa", .synopsis = "",
                .summary = "print the accelerator's commands, machines and registers",
                .description = "Everything comes from the tables in targets/accel. A machine file "
                               "holds KEY = NUMBER; lines; docs/machine.md explains the keys.\n"
                               "\n"
                               "  wick isa --machine tiny\n"
                               "  wick isa --sv --machine my.cfg > wick_pkg.sv",
                .options = options},
    .size = sizeof(isa_opts), .defaults = &defaults, .run = run};
