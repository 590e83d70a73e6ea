/* SPDX-License-Identifier: Apache-2.0
 * wick disasm: a stream of the accelerator as text. */
#include <stdlib.h>

#include "compiler/driver/command.h"
#include "compiler/driver/paths.h"
#include "targets/accel/isa/stream.h"

typedef struct {
  const char *output;
  bool no_data;
} disasm_opts;

static const wk_option options[] = {
    {"output", 'o', "FILE.s", "where the text goes (default: standard output)",
     .kind = WK_OPTION_STRING, .offset = offsetof(disasm_opts, output)},
    {"no-data", 0, NULL, "leave the bytes of the memory images out", .kind = WK_OPTION_FLAG,
     .offset = offsetof(disasm_opts, no_data)},
    {0}};

static wk_status run(const void *options_, const wk_strings *args) {
  const disasm_opts *o = options_;
  const wk_asm_options a = {.unchecked = true}; /* what is wrong shall be seen */
  wk_stream *s;
  wk_str b = {0};
  wk_paths paths = {0};
  wk_paths_read(&paths, "the stream", args->data[0]);
  wk_paths_write(&paths, "--output", o->output);
  WK_TRY(wk_paths_check(&paths));
  WK_TRY(wk_stream_load(args->data[0], &a, &s));
  wk_disasm(&b, s, o->no_data ? WK_DISASM_NO_DATA : WK_DISASM_ALL);
  wk_status status = wk_write_file(o->output ? o->output : "-", b.s, b.n);
  wk_str_free(&b);
  wk_stream_free(s);
  return status;
}

const wk_cmd wk_cmd_disasm = {
    .command = {.name = "disasm", .synopsis = "STREAM.wcs",
                .summary = "show a stream of accelerator commands as text",
                .description =
                    "Prints text that assembles to the same commands, addresses and images; "
                    "labels stand where commands wait for others. A stream that is text itself is "
                    "shown with its loops unrolled.\n"
                    "\n"
                    "  wick disasm conv.wcs --no-data",
                .options = options, .min_args = 1, .max_args = 1},
    .size = sizeof(disasm_opts), .run = run};
