/* SPDX-License-Identifier: Apache-2.0
 * wick asm: a stream of the accelerator from text. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/paths.h"
#include "targets/accel/isa/stream.h"

typedef struct {
  const char *machine, *output;
  bool unchecked, quiet;
} asm_opts;

static const wk_option options[] = {
    {"machine", 0, "FILE", "machine file, or base, tiny, wide (default: what the text says)",
     .kind = WK_OPTION_STRING, .offset = offsetof(asm_opts, machine)},
    {"output", 'o', "FILE.wcs", "where the result goes (default: the text's name with .wcs)",
     .kind = WK_OPTION_STRING, .offset = offsetof(asm_opts, output)},
    {"unchecked", 0, NULL, "write commands that the machine will refuse", .kind = WK_OPTION_FLAG,
     .offset = offsetof(asm_opts, unchecked)},
    {"quiet", 'q', NULL, "no summary", .kind = WK_OPTION_FLAG, .offset = offsetof(asm_opts, quiet)},
    {0}};

static void print_summary(const wk_stream *s) {
  FILE *f = stdout;
  uint64_t data = 0;
  for (size_t i = 0; i < s->regions.n; i++)
    if (s->regions.data[i].data) data += s->regions.data[i].size;
  fprintf(f, "machine   %s, hash %016" PRIx64 "\n", s->machine.name, wk_machine_hash(&s->machine));
  fprintf(f, "commands  %" PRIu32 " at 0x%" PRIx64, s->n, s->address);
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (s->issued[q]) fprintf(f, ", %s %" PRIu32, wk_isa_queue_name(q), s->issued[q]);
  fprintf(f, "\nimages    %s in %zu memories\n", wk_bytes_text(data).s, s->regions.n);
}

/* "dir/a.s" -> "dir/a.wcs" */
static char *default_output(const char *path) {
  const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
  size_t n = dot && (!slash || dot > slash + 1) && dot > path ? (size_t)(dot - path) : strlen(path);
  wk_str b = {0};
  wk_str_addn(&b, path, n);
  wk_str_add(&b, ".wcs");
  return b.s;
}

static wk_status write_stream(const wk_stream *s, const char *path) {
  wk_out *out;
  WK_TRY(wk_out_open(path, &out));
  wk_stream_write(s, out);
  return wk_out_commit(out);
}

static wk_status run(const void *options_, const wk_strings *args) {
  const asm_opts *o = options_;
  wk_asm_options a = {.unchecked = o->unchecked};
  wk_machine m;
  wk_stream *s;
  if (o->machine) {
    WK_TRY(wk_machine_read(o->machine, &m));
    a.machine = &m;
  }
  char *output = o->output ? wk_xstrdup(o->output) : default_output(args->data[0]);
  wk_paths paths = {0};
  wk_paths_read(&paths, "the stream", args->data[0]);
  wk_paths_read(&paths, "--machine", o->machine);
  wk_paths_write(&paths, o->output ? "--output" : "the output", output);
  wk_status status = wk_paths_check(&paths);
  if (!status) status = wk_stream_load(args->data[0], &a, &s);
  if (!status) {
    status = write_stream(s, output);
    if (!status && !o->quiet && strcmp(output, "-") != 0) print_summary(s);
    wk_stream_free(s);
  }
  free(output);
  return status;
}

const wk_cmd wk_cmd_asm = {
    .command = {.name = "asm", .synopsis = "STREAM.s",
                .summary = "assemble a stream of accelerator commands",
                .description =
                    "A text with one command a line becomes a file of encoded commands and memory "
                    "images, with the hash of its machine. Every command is checked: fields, "
                    "footprints, waits. docs/streams.md describes the text.\n"
                    "\n"
                    "  wick asm conv.s -o conv.wcs\n"
                    "  wick asm conv.s --machine tiny",
                .options = options, .min_args = 1, .max_args = 1},
    .size = sizeof(asm_opts), .run = run};
