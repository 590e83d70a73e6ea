/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "compiler/stream/proof.h"

typedef struct {
  const wk_sched_hardware *on;
  wk_sched_describe_fn *describe;
  const void *context;
  wk_str *out;
} writer;

static void command(const writer *w, uint32_t i, int queue) {
  if (w->describe) w->describe(w->context, i, w->out);
  else wk_str_printf(w->out, "command %" PRIu32 " (on %s)", i, w->on->queues.names[queue]);
}

static void access(const writer *w, const char *does, const wk_sched_bytes *r) {
  wk_str_printf(w->out, "%s %s 0x%" PRIx64 " to 0x%" PRIx64, does, w->on->spaces[r->space].name,
                r->from, r->from + r->length - 1);
}

static void race(const writer *w, const wk_sched_fault *f) {
  access(w, f->run.writes ? "writes" : "reads", &f->run);
  wk_str_add(w->out, ", which ");
  command(w, f->other, f->wait_queue);
  wk_str_printf(w->out, " %s and which may not have retired: a wait for %s:%" PRIu32 " is missing",
                f->other_writes ? "writes" : "reads", w->on->queues.names[f->wait_queue],
                f->wait_count);
}

static void says(const writer *w, const wk_sched_fault *f) {
  switch (f->kind) {
    case WK_SCHED_GOOD: break;
    case WK_SCHED_AHEAD:
      wk_str_printf(w->out, "waits for %s:%" PRIu32 ", which is no earlier command",
                    w->on->queues.names[f->wait_queue], f->wait_count);
      break;
    case WK_SCHED_OUTSIDE:
      access(w, "uses", &f->run);
      wk_str_printf(w->out, "; there are 0x%" PRIx64, w->on->spaces[f->run.space].size);
      break;
    case WK_SCHED_RACE: race(w, f); break;
    case WK_SCHED_UNWRITTEN:
      access(w, "reads", &f->run);
      wk_str_printf(w->out, "; 0x%" PRIx64 " is one that no command has written", f->address);
      break;
    case WK_SCHED_OWN:
      access(w, "writes", &f->run);
      wk_str_add(w->out, ", which the command also reads");
      break;
  }
}

void wk_sched_fault_says(const wk_sched_fault *f, const wk_sched_hardware *on,
                         wk_sched_describe_fn *describe, const void *context, wk_str *out) {
  const writer w = {on, describe, context, out};
  says(&w, f);
}

void wk_sched_fault_text(const wk_sched_fault *f, const wk_sched_hardware *on,
                         wk_sched_describe_fn *describe, const void *context, wk_str *out) {
  const writer w = {on, describe, context, out};
  command(&w, f->command, f->queue);
  wk_str_add(out, ": ");
  if (f->run.field) wk_str_printf(out, "field '%s': ", f->run.field);
  says(&w, f);
}
