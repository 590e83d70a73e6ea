/* SPDX-License-Identifier: Apache-2.0
 * What the checker says a command reads and writes, against what the RTL touches while it runs: on
 * the ports of the scratchpad, which a probe tells of, and on the bus, which the memory sees. No
 * two commands run at once, so what happens is the doing of the one that started last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "targets/accel/check/footprint.h"
#include "tests/unit/sim_streams.h"

enum { STREAMS = 150 };
enum { MAY_READ = 1, MAY_WRITE = 2, READ = 4, WRITTEN = 8 };

/* What is known of the command that runs. */
static struct {
  const wk_stream *s;
  uint32_t *of[WK_QUEUE_COUNT]; /* ordinal -> command */
  uint32_t command;
  bool runs;
  uint8_t scratchpad[1 << 16], memory[RANDOM_STREAM_MEMORY];
  struct {
    uint32_t address, beats;
    uint8_t id;
  } writes[SIM_BURSTS]; /* a ring: those that wait for data */
  uint32_t writes_head, writes_tail;
  wk_str text; /* the first difference */
  int compared[32], bytes; /* commands, by opcode */
} seen;

/* ---- the checker's say ----------------------------------------------------------------------- */

static void allow(void *context, wk_space space, wk_access access, const char *field,
                  uint64_t from, uint64_t length) {
  uint8_t *to = space == WK_SPACE_SCRATCHPAD ? seen.scratchpad + from
                : space == WK_SPACE_MEMORY   ? seen.memory + from
                                             : NULL;
  (void)context;
  (void)field;
  for (uint64_t i = 0; to && i < length; i++)
    to[i] |= access == WK_ACCESS_READ ? MAY_READ : MAY_WRITE;
}

/* ---- the RTL's doing ------------------------------------------------------------------------- */

static void access_scratchpad(void *context, int port, bool writes, uint32_t address,
                              uint64_t lanes) {
  (void)context;
  (void)port;
  for (uint32_t i = 0; lanes >> i; i++)
    if (lanes >> i & 1) seen.scratchpad[address + i] |= writes ? WRITTEN : READ;
}

static void read_memory(wk_dram *d, uint8_t id, uint32_t address, uint32_t beats) {
  uint32_t bytes = beats * sim_watch.bus;
  for (uint32_t i = 0; id && i < bytes; i++) seen.memory[address + i] |= READ; /* 0: commands */
  wk_dram_read(d, id, address, beats);
}

static void write_memory(wk_dram *d, uint8_t id, uint32_t address, uint32_t beats) {
  uint32_t at = seen.writes_tail++ % SIM_BURSTS;
  seen.writes[at].id = id;
  seen.writes[at].address = address;
  seen.writes[at].beats = beats;
  wk_dram_write(d, id, address, beats);
}

static bool write_beat(wk_dram *d, const uint8_t *data, uint64_t strobe) {
  uint32_t at = seen.writes_head % SIM_BURSTS;
  for (uint32_t i = 0; seen.writes[at].id == 0 && strobe >> i; i++) /* 1: rows of marks */
    if (strobe >> i & 1) seen.memory[seen.writes[at].address + i] |= WRITTEN;
  seen.writes[at].address += sim_watch.bus;
  if (--seen.writes[at].beats == 0) seen.writes_head++;
  return wk_dram_write_beat(d, data, strobe);
}

/* ---- both ------------------------------------------------------------------------------------ */

static void report(const char *space, size_t at, const char *what) {
  wk_isa_command c;
  if (seen.text.n) return;
  wk_stream_get(seen.s, seen.command, &c);
  wk_str_printf(&seen.text, "command %u ", seen.command);
  wk_disasm_command(&seen.text, &seen.s->machine, &c);
  wk_str_printf(&seen.text, ": byte 0x%zx of the %s is %s", at, space, what);
}

static void compare(const char *space, const uint8_t *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    bool may_read = x[i] & MAY_READ, may_write = x[i] & MAY_WRITE;
    if (!x[i]) continue;
    seen.bytes++;
    if (!(x[i] & WRITTEN) != !may_write)
      report(space, i, may_write ? "in the footprint and not written" : "written");
    if (!(x[i] & READ) != !may_read)
      report(space, i, may_read ? "in the footprint and not read" : "read");
  }
}

/* A beat is read whole if any byte of it is. */
static void widen_reads(void) {
  for (size_t at = 0; at < sizeof seen.memory; at += sim_watch.bus) {
    uint8_t all = 0;
    for (uint32_t i = 0; i < sim_watch.bus; i++) all |= seen.memory[at + i];
    for (uint32_t i = 0; all & MAY_READ && i < sim_watch.bus; i++) seen.memory[at + i] |= MAY_READ;
  }
}

static void end_command(void) {
  wk_isa_command c;
  if (!seen.runs) return;
  wk_stream_get(seen.s, seen.command, &c);
  wk_footprint(&seen.s->machine, &c, allow, NULL);
  widen_reads();
  compare("scratchpad", seen.scratchpad, sizeof seen.scratchpad);
  compare("memory", seen.memory, sizeof seen.memory);
  seen.compared[c.opcode]++;
  memset(seen.scratchpad, 0, sizeof seen.scratchpad);
  memset(seen.memory, 0, sizeof seen.memory);
}

static void on_event(void *context, uint64_t cycle, int queue, uint32_t ordinal, bool retired) {
  (void)context;
  (void)cycle;
  if (retired) return;
  end_command();
  seen.command = seen.of[queue][ordinal];
  seen.runs = true;
}

/* ---- streams --------------------------------------------------------------------------------- */

static void run(const wk_sim_model *rtl, const wk_machine *m, const wk_stream *s) {
  static const wk_dram_api api = {wk_dram_new,         wk_dram_free, wk_dram_reset,
                                  wk_dram_can_request, read_memory,  write_memory,
                                  write_beat,          wk_dram_read_beat, wk_dram_pop_read,
                                  wk_dram_response,    wk_dram_pop_response, wk_dram_tick};
  uint8_t *memory = random_stream_memory(s);
  const wk_sim_options o = {.machine = m, .dram = wk_dram_params_of(m), .dram_api = &api,
                            .memory = memory, .event = on_event, .access = access_scratchpad};
  const wk_sim_job job = {.base = (uint32_t)s->address, .count = s->n,
                          .mark_base = (uint32_t)s->marks, .max_cycles = 4000000};
  wk_sim_result r;
  void *state = rtl->open(&o);
  rtl->run(state, &job, &r);
  rtl->close(state);
  free(memory);
  assert_int_equal(r.status, 2);
}

static void try_stream(const wk_sim_model *rtl, const wk_machine *m, uint64_t seed) {
  wk_stream *s = random_stream(m, seed, NULL);
  uint32_t n[WK_QUEUE_COUNT] = {0};
  wk_isa_command c;
  random_stream_serialise(s);
  seen.s = s;
  seen.runs = false;
  seen.writes_head = seen.writes_tail = 0;
  for (int q = 0; q < WK_QUEUE_COUNT; q++) seen.of[q] = wk_xcalloc(s->n, sizeof(uint32_t));
  for (uint32_t i = 0; i + 1 < s->n; i++) {
    wk_stream_get(s, i, &c);
    seen.of[c.queue][n[c.queue]++] = i;
  }
  run(rtl, m, s);
  end_command();
  for (int q = 0; q < WK_QUEUE_COUNT; q++) free(seen.of[q]);
  if (seen.text.n) fail_msg("seed %llu: %s", (unsigned long long)seed, seen.text.s);
  wk_stream_free(s);
}

static void test_streams(void **state) {
  wk_machine m;
  const wk_sim_model *rtl;
  const wk_sim_build_options o = {.machine = &m, .probe = true};
  (void)state;
  assert_null(wk_machine_read("tiny", &m));
  assert_null(wk_sim_model_of(WK_SIM_RTL, &o, &rtl));
  m.dram_size = RANDOM_STREAM_MEMORY;
  sim_watch.bus = (uint32_t)m.bus;
  assert_int_equal(m.scratchpad, sizeof seen.scratchpad);
  for (uint64_t seed = 1; seed <= STREAMS; seed++) try_stream(rtl, &m, seed);
  print_message("%d bytes of commands:", seen.bytes);
  for (size_t i = 0; i < wk_isa_commands_count; i++) {
    const wk_isa_command_info *info = &wk_isa_commands[i];
    if (info->opcode == WK_CMD_END) continue;
    print_message(" %d %s", seen.compared[info->opcode], info->name);
    assert_true(seen.compared[info->opcode] > 0);
  }
  print_message("\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_streams)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
