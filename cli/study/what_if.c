/* SPDX-License-Identifier: Apache-2.0
 * What a run would win if a cause were not, by the timing model. */
#include <stdlib.h>

#include "cli/study/what_if.h"
#include "cli/text.h"
#include "targets/accel/model/model.h"

typedef struct {
  const wk_sim_shown *x;
  wk_isa_command *commands; /* of the stream */
  uint32_t n;               /* of them before END */
  wk_flow flow;
} experiment;

static void open_experiment(const wk_sim_shown *x, experiment *e) {
  *e = (experiment){.x = x};
  e->commands = wk_stream_commands(x->stream, &e->n);
  wk_flow_of(x->machine, e->commands, e->n, &e->flow);
}

static void close_experiment(experiment *e) {
  wk_flow_free(&e->flow);
  free(e->commands);
}

/* The stream anew; returns how many commands, with END. */
static uint32_t make_anew(const experiment *e, const wk_machine *m, int assumed,
                          wk_isa_command *out) {
  wk_if_commands live;
  wk_if_commands_of(e->x, e->commands, &e->flow, assumed, &live);
  live.machine = m;
  uint32_t n = wk_if_order(&live, assumed, out);
  wk_if_commands_free(&live);
  out[n] = e->commands[e->n];
  return n + 1;
}

static wk_dram_params memory_if(const wk_machine *m, int assumed) {
  wk_dram_params dram = wk_dram_params_of(m);
  if (assumed & WK_IF_FAST) {
    dram.bytes_num = 1 << 20, dram.bytes_den = 1;
    dram.overhead = dram.refresh_cycles = dram.refresh_interval = dram.traffic_num = 0;
  }
  if (assumed & WK_IF_AT_ONCE) dram.latency = dram.write_latency = 1, dram.jitter = 0;
  return dram;
}

static uint64_t cycles_with(const experiment *e, int assumed, int64_t channels) {
  wk_machine m = *e->x->machine;
  wk_isa_command *made = NULL;
  wk_timing_job job = {.machine = &m, .dram = memory_if(&m, assumed), .commands = e->commands,
                       .n = e->x->stream->n, .address = (uint32_t)e->x->stream->address,
                       .free_banks = assumed & WK_IF_PORTS};
  m.load_channels = channels;
  if (wk_if_makes_anew(assumed)) {
    job.commands = made = wk_xcalloc(e->n + 1, sizeof *made);
    job.n = make_anew(e, &m, assumed, made);
  }
  wk_timing_result r;
  wk_timing_run(&job, &r);
  free(made);
  if (r.no_memory) wk_xcheck(wk_error(WK_RESOURCE, "out of memory"));
  return r.counters[WK_COUNTER_cycles];
}

/* Channels share the memory: a load that nobody waits for yet slows down one that is waited for.
 * So all that there can be are tried, and one, in which loads follow each other. */
static uint64_t cycles_if(const experiment *e, int assumed) {
  const int64_t most = WK_QUEUE_COUNT - WK_QUEUE_ld0;
  bool is_free = assumed & WK_IF_ANY_ORDER;
  uint64_t now = e->x->run->result.cycles;
  uint64_t cycles = cycles_with(e, assumed, is_free ? most : e->x->machine->load_channels);
  uint64_t one = is_free ? cycles_with(e, assumed, 1) : now;
  if (one < cycles) cycles = one;
  return cycles < now ? cycles : now; /* whoever has more can do as before */
}

const struct wk_what_if_info wk_what_if_infos[WK_WHAT_IFS] = {
#define WK_X(name, doc, assumed) {#name, doc, WK_CAUSE_##name, WK_IF_##assumed},
    WK_SCHED_IFS(WK_X)
#undef WK_X
    {"conflicts", "the banks of the scratchpad serve everybody at once", WK_CAUSE_conflicts,
     WK_IF_PORTS},
    {"all", "all of them", WK_CAUSE_COUNT,
     WK_IF_FAST | WK_IF_AT_ONCE | WK_IF_ROOM | WK_IF_ANY_ORDER | WK_IF_PORTS}};

void wk_what_ifs_of(const wk_sim_shown *x, wk_sched_what_if out[WK_WHAT_IFS]) {
  experiment e;
  open_experiment(x, &e);
  for (int i = 0; i < WK_WHAT_IFS; i++) {
    const struct wk_what_if_info *info = &wk_what_if_infos[i];
    wk_progress("what if: %s", info->doc);
    out[i] = (wk_sched_what_if){info->name, info->doc, cycles_if(&e, info->assumed)};
    for (int k = 0; k < i; k++) /* whoever has more can do as with less */
      if (!(wk_what_if_infos[k].assumed & ~info->assumed) && out[k].cycles < out[i].cycles)
        out[i].cycles = out[k].cycles;
  }
  wk_progress_end();
  close_experiment(&e);
}

const wk_sched_what_if *wk_what_if_without(const wk_sched_what_if list[WK_WHAT_IFS],
                                           wk_sched_cause cause) {
  for (int i = 0; i < WK_WHAT_IFS; i++)
    if (wk_what_if_infos[i].cause == cause) return &list[i];
  return NULL;
}

/* ---- both ------------------------------------------------------------------------------------ */

void wk_sim_why_of(const wk_sim_shown *x, bool what_if, wk_sim_why *out) {
  wk_causes_of(x, &out->causes);
  out->has_what_if = what_if;
  if (what_if) wk_what_ifs_of(x, out->what_if);
}

void wk_sim_why_free(wk_sim_why *w) { wk_sched_causes_free(&w->causes); }
