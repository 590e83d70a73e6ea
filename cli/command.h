/* SPDX-License-Identifier: Apache-2.0
 * A command of `wick` is a row of this kind, listed in main.c and defined in
 * cmd_<name>.c. */
#ifndef WICK_CLI_COMMAND_H
#define WICK_CLI_COMMAND_H

#include "compiler/support/options.h"
#include "wick_version.h"

typedef struct {
  wk_command command;
  size_t size;          /* of the struct that the option table fills */
  const void *defaults; /* of that struct; NULL: zeros */
  /* Results go to stdout, everything else to stderr. A status with an empty message sets the exit
   * code alone: what there is to say has been said. */
  wk_status (*run)(const void *options, const wk_strings *args);
} wk_cmd;

#define WK_COMMANDS(X) X(compile) X(run) X(generate) X(test) X(compare) X(inspect) X(ops) X(plan) \
  X(quantize) X(train) X(grad) X(zoo) X(targets) X(devices) X(asm) X(disasm) X(isa) \
  X(check) X(sim) X(diff) X(sweep) X(explore) X(verify) X(sign)
#define WK_COMMAND_X(name) extern const wk_cmd wk_cmd_##name;
WK_COMMANDS(WK_COMMAND_X)
#undef WK_COMMAND_X

static inline wk_status wk_exit_with(wk_code code) { return wk_error(code, "%s", ""); }

#endif
