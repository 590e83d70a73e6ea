/* SPDX-License-Identifier: Apache-2.0
 * The same commands on another memory, or with another scratchpad, by the timing model. */
#include <stdlib.h>
#include <string.h>

#include "compiler/driver/causes.h"
#include "compiler/driver/text.h"
#include "targets/accel/compile/schedule.h"
#include "targets/accel/isa/duration.h"
#include "targets/accel/isa/parts.h"

enum { FAST = 1, AT_ONCE = 2, ROOM = 4 };

/* Number in its queue, from 1, of the last store before a load that it reads back; 0: none. */
static uint32_t store_read_back(const wk_isa_command *c, uint32_t load, const uint32_t *stores,
                                size_t n) {
  for (size_t k = n; k-- > 0;)
    if (wk_reads_back(&c[load], &c[stores[k]])) return (uint32_t)k + 1;
  return 0;
}

static void give_room(const wk_sim_shown *x, wk_isa_command *c) {
  WK_VEC(uint32_t) stores = {0};
  for (uint32_t i = 0; i < x->stream->n; i++) {
    if (c[i].queue == WK_QUEUE_st) wk_vec_push(&stores, i);
    bool is_load = c[i].opcode == WK_CMD_LD;
    if (!is_load && c[i].opcode != WK_CMD_FILL) continue;
    uint32_t store = is_load && !wk_loads_weights(x, &c[i])
                         ? store_read_back(c, i, stores.data, stores.n) : 0;
    c[i].wait = 0;
    memset(c[i].threshold, 0, sizeof c[i].threshold);
    if (store) wk_isa_wait(&c[i], WK_QUEUE_st, store);
  }
  wk_vec_free(&stores);
}

/* When each command would start, about: loads as fast as memory brings them. */
typedef struct {
  uint64_t start, retire;
  uint32_t index;
} expected;

static uint64_t least_cycles(const wk_machine *m, const wk_isa_command *c, int assumed) {
  if (assumed & FAST && (c->opcode == WK_CMD_LD || c->opcode == WK_CMD_ST))
    return (wk_transfer_bytes(c) + (uint64_t)m->bus - 1) / (uint64_t)m->bus;
  if (c->opcode == WK_CMD_LD || c->opcode == WK_CMD_ST)
    return (wk_transfer_bytes(c) * (uint64_t)m->dram_bytes.den) / (uint64_t)m->dram_bytes.num + 1;
  if (c->queue != WK_QUEUE_ex || c->opcode == WK_CMD_MARK) return wk_isa_duration(m, c) + 1;
  wk_accel_bound b = wk_accel_bound_of(m, c);
  return (uint64_t)(b.array > b.drain ? b.array : b.drain) + 1;
}

static void expect(const wk_sim_shown *x, const wk_isa_command *c, uint32_t n, int assumed,
                   expected *e) {
  enum { TAIL = 64 }; /* until what an engine has made is there for others */
  uint32_t *ordinal = wk_xcalloc(WK_QUEUE_COUNT * (size_t)(n + 1), sizeof *ordinal);
  uint32_t count[WK_QUEUE_COUNT] = {0};
  uint64_t free_at[WK_QUEUE_COUNT] = {0}, memory = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t start = free_at[c[i].queue], cycles = least_cycles(x->machine, &c[i], assumed);
    bool moves = c[i].opcode == WK_CMD_LD || c[i].opcode == WK_CMD_ST;
    for (int q = 0; q < WK_QUEUE_COUNT; q++) {
      uint32_t k = c[i].threshold[q];
      if (!(c[i].wait >> q & 1) || !k || k > count[q]) continue;
      uint64_t retire = e[ordinal[(size_t)q * (n + 1) + k - 1]].retire;
      if (retire > start) start = retire;
    }
    if (moves && memory > start) start = memory;
    e[i] = (expected){start, start + cycles + TAIL, i};
    free_at[c[i].queue] = start + cycles;
    if (moves) memory = start + cycles;
    ordinal[(size_t)c[i].queue * (n + 1) + count[c[i].queue]++] = i;
  }
  free(ordinal);
}

static int by_start(const void *a, const void *b) {
  const expected *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Handed out in the order in which they could start: those of a queue stay in theirs. END, which
 * comes last, is not among them. */
static void order_by_start(const wk_sim_shown *x, wk_isa_command *c, uint32_t n, int assumed) {
  expected *e = wk_xcalloc(n + 1, sizeof *e);
  wk_isa_command *from = wk_xcalloc(n + 1, sizeof *from);
  if (n) memcpy(from, c, n * sizeof *c);
  expect(x, c, n, assumed, e);
  if (n) qsort(e, n, sizeof *e, by_start);
  for (uint32_t i = 0; i < n; i++) c[i] = from[e[i].index];
  free(from);
  free(e);
}

static wk_isa_command *commands_of(const wk_sim_shown *x, int assumed) {
  wk_isa_command *c = wk_xcalloc(x->stream->n + 1, sizeof *c);
  uint32_t n = 0;
  for (uint32_t i = 0; i < x->stream->n; i++) {
    (void)wk_stream_get(x->stream, i, &c[i]);
    if (n == i && c[i].opcode != WK_CMD_END) n++;
  }
  if (!(assumed & ROOM)) return c;
  give_room(x, c);
  order_by_start(x, c, n, assumed);
  return c;
}

static uint64_t cycles_if(const wk_sim_shown *x, int assumed) {
  wk_isa_command *commands = commands_of(x, assumed);
  wk_dram_params dram = wk_dram_params_of(x->machine);
  wk_timing_result r;
  if (assumed & FAST) {
    dram.bytes_num = 1 << 20, dram.bytes_den = 1;
    dram.overhead = dram.refresh_cycles = dram.refresh_interval = dram.traffic_num = 0;
  }
  if (assumed & AT_ONCE) dram.latency = dram.write_latency = 1, dram.jitter = 0;
  wk_timing_run(&(wk_timing_job){.machine = x->machine, .dram = dram, .commands = commands,
                                 .n = x->stream->n, .address = (uint32_t)x->stream->address}, &r);
  free(commands);
  uint64_t cycles = r.counters[WK_COUNTER_cycles], now = x->run->result.cycles;
  return cycles < now ? cycles : now; /* whoever has more can do as before */
}

const struct wk_what_if_info wk_what_if_infos[WK_WHAT_IFS] = {
    {"bandwidth", "memory moves bytes in no time", FAST},
    {"latency", "memory answers at once", AT_ONCE},
    {"space", "loads wait for no place in the scratchpad", ROOM},
    {"all", "all three", FAST | AT_ONCE | ROOM}};

void wk_what_ifs_of(const wk_sim_shown *x, wk_what_if out[WK_WHAT_IFS]) {
  for (int i = 0; i < WK_WHAT_IFS; i++) {
    const struct wk_what_if_info *info = &wk_what_if_infos[i];
    wk_progress("what if: %s", info->doc);
    out[i] = (wk_what_if){info->name, info->doc, cycles_if(x, info->assumed)};
    for (int k = 0; k < i; k++) /* whoever has more can do as with less */
      if (!(wk_what_if_infos[k].assumed & ~info->assumed) && out[k].cycles < out[i].cycles)
        out[i].cycles = out[k].cycles;
  }
  wk_progress_end();
}

/* ---- both ------------------------------------------------------------------------------------ */

void wk_sim_why_of(const wk_sim_shown *x, bool what_if, wk_sim_why *out) {
  wk_causes_of(x, &out->causes);
  out->has_what_if = what_if;
  if (what_if) wk_what_ifs_of(x, out->what_if);
}

void wk_sim_why_free(wk_sim_why *w) { wk_causes_free(&w->causes); }
