/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/accel_parts.h"
#include "cli/command.h"
#include "targets/accel/check/check.h"

typedef struct {
  const char *machine;
  int64_t part;
} check_opts;

static const check_opts defaults = {.part = WK_ACCEL_ALL_PARTS};

static const wk_option options[] = {
    {"machine", 'm', "NAME|FILE.cfg", "machine to check for (default: what the stream says)",
     .kind = WK_OPTION_STRING, .offset = offsetof(check_opts, machine)},
    WK_PART_OPTION(check_opts, part, "of a package, only this part for the accelerator"),
    {0}};

static wk_status check(const wk_stream *s) {
  uint64_t waits;
  WK_TRY(wk_check(s, &s->machine, &waits));
  printf("%s: %" PRIu32 " commands, %" PRIu64 " waits (%.2f a command); no deadlock, no hazard, "
         "within bounds\n", s->source, s->n, waits, (double)waits / s->n);
  return NULL;
}

static wk_status run(const void *options_, const wk_strings *args) {
  const check_opts *o = options_;
  wk_machine m;
  wk_accel_streams streams;
  if (o->machine) WK_TRY(wk_machine_read(o->machine, &m));
  const wk_asm_options a = {.unchecked = true, .machine = o->machine ? &m : NULL};
  wk_status s = wk_accel_streams_load(args->data[0], o->part, &a, &streams);
  for (size_t i = 0; !s && i < streams.n; i++) s = check(streams.list[i]);
  wk_accel_streams_free(&streams);
  return s;
}

const wk_cmd wk_cmd_check = {
    .command = {.name = "check", .synopsis = "STREAM.s|STREAM.wcs|PACKAGE",
                .summary = "prove that a command stream can neither deadlock nor race",
                .description =
                    "Works on the encoded commands: waits refer to earlier commands only, every "
                    "two conflicting accesses to a byte of scratchpad, accumulators, tables or "
                    "memory are ordered by waits, nothing is read from scratchpad, accumulators or "
                    "tables that no command wrote (memory may hold anything: images, results, or "
                    "what was there), parameter records from the stream's images are valid, and "
                    "all addresses are within the machine. What passes gives the same results for "
                    "every latency and every depth of the queues. Of a package "
                    "every part for the accelerator is checked, with segments one behind the "
                    "other.",
                .options = options, .min_args = 1, .max_args = 1},
    .size = sizeof(check_opts), .defaults = &defaults, .run = run};
