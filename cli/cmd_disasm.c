/* SPDX-License-Identifier: Apache-2.0
 * wick disasm: a stream of the accelerator as text. */
#include <stdlib.h>

#include "cli/accel_parts.h"
#include "cli/command.h"
#include "cli/paths.h"

typedef struct {
  const char *output;
  int64_t part;
  bool no_data;
} disasm_opts;

static const disasm_opts defaults = {.part = WK_ACCEL_ALL_PARTS};

static const wk_option options[] = {
    {"output", 'o', "FILE.s", "where the text goes (default: standard output)",
     .kind = WK_OPTION_STRING, .offset = offsetof(disasm_opts, output)},
    {"no-data", 0, NULL, "leave the bytes of the memory images out", .kind = WK_OPTION_FLAG,
     .offset = offsetof(disasm_opts, no_data)},
    WK_PART_OPTION(disasm_opts, part, "which part for the accelerator, of a package with several"),
    {0}};

static wk_status print(const disasm_opts *o, const wk_accel_streams *streams, const char *path) {
  wk_str b = {0};
  if (streams->n > 1)
    return wk_error_at(WK_USAGE, path, "has %zu parts for the accelerator: choose one with --part",
                       streams->n);
  wk_disasm(&b, streams->list[0], o->no_data ? WK_DISASM_NO_DATA : WK_DISASM_ALL);
  wk_status s = wk_write_file(o->output ? o->output : "-", b.s, b.n);
  wk_str_free(&b);
  return s;
}

static wk_status run(const void *options_, const wk_strings *args) {
  const disasm_opts *o = options_;
  const wk_asm_options a = {.unchecked = true}; /* what is wrong shall be seen */
  wk_accel_streams streams;
  wk_paths paths = {0};
  wk_paths_read(&paths, "the stream", args->data[0]);
  wk_paths_write(&paths, "--output", o->output);
  WK_TRY(wk_paths_check(&paths));
  wk_status s = wk_accel_streams_load(args->data[0], o->part, &a, &streams);
  if (!s) s = print(o, &streams, args->data[0]);
  wk_accel_streams_free(&streams);
  return s;
}

const wk_cmd wk_cmd_disasm = {
    .command = {.name = "disasm", .synopsis = "STREAM.wcs|PACKAGE",
                .summary = "show a stream of accelerator commands as text",
                .description =
                    "Prints text that assembles to the same commands, addresses and images; "
                    "labels stand where commands wait for others. A stream that is text itself is "
                    "shown with its loops unrolled; a part of a package, with its segments one "
                    "behind the other.\n"
                    "\n"
                    "  wick disasm conv.wcs --no-data",
                .options = options, .min_args = 1, .max_args = 1},
    .size = sizeof(disasm_opts), .defaults = &defaults, .run = run};
