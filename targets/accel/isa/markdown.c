/* SPDX-License-Identifier: Apache-2.0
 * docs/isa.md, a template whose @WORDS@ become tables, and docs/machine.md. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "targets/accel/isa/internal.h"

/* A text in a cell: '|' would end it. */
static void cell(wk_str *b, const char *s) {
  for (; *s; s++) {
    if (*s == '|') wk_str_add(b, "\\");
    wk_str_addn(b, s, 1);
  }
}

/* ---- commands -------------------------------------------------------------------------------- */

static void add_bits(wk_str *b, int lsb, int bits) {
  if (bits == 1) wk_str_printf(b, "%d", lsb);
  else wk_str_printf(b, "%d-%d", lsb, lsb + bits - 1);
}

static void add_queues(wk_str *b, unsigned queues) {
  int n = 0;
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (queues >> q & 1) wk_str_printf(b, "%s`%s`", n++ ? ", " : "", wk_isa_queue_name(q));
  if (!n) wk_str_add(b, "none: 0");
}

static void header(wk_str *b) {
  wk_str_add(b, "| bits | field | |\n|---|---|---|\n");
  for (int i = 0; i < WK_HEADER_COUNT; i++) {
    const wk_isa_field *f = &wk_isa_header[i];
    wk_str_add(b, "| ");
    add_bits(b, f->lsb, f->bits);
    wk_str_printf(b, " | %s | ", f->name);
    cell(b, f->doc);
    wk_str_add(b, " |\n");
  }
  wk_str_add(b, "\n| opcode | command | queue | |\n|---|---|---|---|\n");
  for (size_t i = 0; i < wk_isa_commands_count; i++) {
    const wk_isa_command_info *c = &wk_isa_commands[i];
    wk_str_printf(b, "| %d | %s | ", c->opcode, c->name);
    add_queues(b, c->queues);
    wk_str_add(b, " | ");
    cell(b, c->doc);
    wk_str_add(b, " |\n");
  }
  wk_str_add(b, "\nQueues by number:");
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    wk_str_printf(b, "%s %d `%s`", q ? "," : "", q, wk_isa_queue_name(q));
  wk_str_add(b, ". Bits behind a command's last field are zero.\n");
}

static void fields(wk_str *b, const wk_isa_command_info *c) {
  wk_str_add(b, "| bits | field | kind | default | |\n|---|---|---|---|---|\n");
  for (int i = 0; i < c->n_fields; i++) {
    const wk_isa_field *f = &c->fields[i];
    bool is_choice = wk_isa_is_choice(f->kind);
    wk_str_add(b, "| ");
    add_bits(b, f->lsb, f->bits);
    wk_str_printf(b, " | %s | %s | %s | ", f->name,
                  is_choice ? "choice" : wk_isa_kind_text(f->kind),
                  wk_isa_is_needed(f) ? "" : f->def);
    cell(b, f->doc);
    int n = 0;
    for (size_t k = 0; is_choice && k < wk_isa_choices_count; k++)
      if (wk_isa_choices[k].kind == f->kind)
        wk_str_printf(b, "%s %d %s", n++ ? "," : ":", wk_isa_choices[k].value,
                      wk_isa_choices[k].name);
    wk_str_add(b, " |\n");
  }
  if (c->n_fields == 0) wk_str_add(b, "| | | | | none |\n");
}

static void choices(wk_str *b, const char *name) {
  wk_str_add(b, "| value | name | |\n|---|---|---|\n");
  for (size_t i = 0; i < wk_isa_choices_count; i++) {
    const wk_isa_choice *c = &wk_isa_choices[i];
    if (strcasecmp(wk_isa_kind_text(c->kind), name) != 0) continue;
    wk_str_printf(b, "| %d | %s | ", c->value, c->name);
    cell(b, c->doc);
    wk_str_add(b, " |\n");
  }
}

static void costs(wk_str *b) {
  if (wk_isa_costs_count == 0) return;
  wk_str_add(b, "| constant | cycles | |\n|---|---|---|\n");
  for (size_t i = 0; i < wk_isa_costs_count; i++) {
    wk_str_printf(b, "| %s | %d | ", wk_isa_costs[i].name, wk_isa_costs[i].number);
    cell(b, wk_isa_costs[i].doc);
    wk_str_add(b, " |\n");
  }
}

/* The table that @word@ stands for; false when there is none. */
static bool expand(wk_str *b, const char *word) {
  char name[32];
  if (!strcmp(word, "HEADER")) header(b);
  else if (!strcmp(word, "COSTS")) costs(b);
  else if (!strncmp(word, "CHOICE_", 7)) choices(b, word + 7);
  else if (sscanf(word, "FIELDS %31s", name) == 1) {
    for (size_t i = 0; i < wk_isa_commands_count; i++)
      if (!strcmp(wk_isa_commands[i].name, name)) {
        fields(b, &wk_isa_commands[i]);
        return true;
      }
    return false;
  } else {
    return false;
  }
  return true;
}

/* Only a line that is nothing but @WORD@ is replaced. */
void wk_isa_markdown(wk_str *b) {
  const char *at = (const char *)wk_accel_isa_page;
  while (*at) {
    size_t n = strcspn(at, "\n");
    char word[64] = "";
    if (n > 2 && n < sizeof word && *at == '@' && at[n - 1] == '@')
      memcpy(word, at + 1, n - 2);
    if (!*word || !expand(b, word)) {
      wk_str_addn(b, at, n);
      wk_str_add(b, "\n");
    }
    at += n + (at[n] == '\n');
  }
}

/* ---- machines -------------------------------------------------------------------------------- */

static void key_rows(wk_str *b, bool is_hardware) {
  wk_str_add(b, "| key | default | range | unit | |\n|---|---|---|---|---|\n");
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    const wk_machine_key *k = &wk_machine_keys[i];
    if ((k->kind == WK_KEY_HARDWARE) != is_hardware) continue;
    wk_str_printf(b, "| `%s` | %s | %s to %s%s | %s | ", k->name, k->def, k->min, k->max,
                  k->is_pow2 ? ", a power of two" : k->kind == WK_KEY_FRACTION ? ", decimals" : "",
                  k->unit);
    cell(b, k->doc);
    wk_str_add(b, " |\n");
  }
}

static void presets(wk_str *b) {
  size_t n = wk_machine_preset_count();
  wk_machine *m = wk_xcalloc(n, sizeof *m);
  wk_str_add(b, "| key |");
  for (size_t i = 0; i < n; i++) {
    wk_status s = wk_machine_read(wk_machine_preset_name(i), &m[i]);
    if (s) abort(); /* they are built in, and tested */
    wk_str_printf(b, " %s |", m[i].name);
  }
  wk_str_add(b, "\n|---|");
  for (size_t i = 0; i < n; i++) wk_str_add(b, "---|");
  wk_str_add(b, "\n");
  for (size_t k = 0; k < WK_KEY_COUNT; k++) {
    wk_str row = {0};
    bool differs = false;
    for (size_t i = 0; i < n; i++) {
      wk_str text = {0}, first = {0};
      wk_machine_key_text(&text, &m[i], &wk_machine_keys[k]);
      wk_machine_key_text(&first, &m[0], &wk_machine_keys[k]);
      differs = differs || strcmp(text.s, first.s) != 0;
      wk_str_printf(&row, " %s |", text.s);
      wk_str_free(&text);
      wk_str_free(&first);
    }
    if (differs) wk_str_printf(b, "| `%s` |%s\n", wk_machine_keys[k].name, row.s);
    wk_str_free(&row);
  }
  wk_str_add(b, "| hash |");
  for (size_t i = 0; i < n; i++) wk_str_printf(b, " %016" PRIx64 " |", wk_machine_hash(&m[i]));
  wk_str_add(b, "\n");
  free(m);
}

/* sim/dram.h, sim/dram.c: exactly enough to write it anew. */
static const char memory[] =
    "\n`dram_traffic` is below `dram_bytes`, `dram_refresh_cycles` below `dram_refresh_interval`, "
    "and "
    "the memory has time left for the machine:\n"
    "\n"
    "    dram_refresh_cycles / dram_refresh_interval + dram_traffic * (dram_overhead / 256 + 1 / "
    "dram_bytes) < 1\n"
    "\n"
    "## Memory\n"
    "\n"
    "What stands behind the bus in all simulations (`sim/dram.c`): one channel whose bursts one "
    "*pipe* "
    "moves, one after the other, reads and writes alike. Times are cycles and may be fractions; R "
    "is "
    "`dram_bytes`, B the bytes of a beat (`bus`), and a beat costs the pipe B / R.\n"
    "\n"
    "* **Requests.** It takes a request of each kind a cycle while fewer than `dram_outstanding` "
    "bursts "
    "are inside; a burst leaves with its last read beat, or its write response, on the bus. Data "
    "beats "
    "of writes belong to the write requests in their order; one is taken in a cycle, once its "
    "request "
    "was taken in an earlier one.\n"
    "* **Ready.** A read burst whose request is taken in cycle t is ready in t + `dram_latency` + "
    "j; a "
    "write burst in t + j, t the cycle of its last data beat. j is drawn for each burst, uniform "
    "from 0 "
    "to `dram_jitter`.\n"
    "* **Order.** The pipe takes the burst that was ready first, of equals the one whose request "
    "came "
    "first; but of each AXI id, reads and writes apart, always the oldest.\n"
    "* **The pipe.** A burst of n beats that it takes with `ready` begins in "
    "s = max(end of the burst before, ready) + `dram_overhead` and ends in s + n * B / R. Beat k "
    "of a "
    "read (from 0) is on the bus from cycle ceil(s + (k + 1) * B / R), one beat a cycle in the "
    "order in "
    "which the pipe moved them. The response of a write comes in cycle ceil(s + n * B / R) + "
    "`dram_write_latency`, one a cycle. In cycle t it takes bursts as long as one is ready at t "
    "and the "
    "one before ends before t + 1. There are no rows and no cost of turning from reads to writes: "
    "`dram_overhead` stands for both.\n"
    "* **Data** is read, or written with its strobes, at the time at which the pipe takes the "
    "burst.\n"
    "* **Refresh.** With `dram_refresh_interval` I > 0: in the cycles I, 2 I, 3 I ... the end of "
    "the "
    "burst before becomes max(it, the cycle) + `dram_refresh_cycles`.\n"
    "* **Traffic.** In every cycle, with one chance in two, 2 * `dram_traffic` bytes are added to "
    "a sum; "
    "when it has reached 256, 256 are taken off and a burst of 256 bytes of an id of its own is "
    "ready at "
    "once. Nothing of it is on the bus, and it does not count as inside.\n"
    "* **Errors.** Read beats and write responses are counted together, from 0, in the order in "
    "which "
    "the pipe moves them; number `dram_error` is answered with SLVERR. A beat that does not lie "
    "whole "
    "below `dram_size` is answered with DECERR, a write burst by its last beat; a write that is "
    "not "
    "answered with OKAY leaves memory as it is.\n"
    "* **Random numbers** are those of SplitMix64 with `dram_seed`. A cycle draws in this order: "
    "jitter "
    "of the read taken, of the write whose last beat is taken, then (one draw, its top bit) "
    "traffic. A "
    "number from 0 to n - 1 is the draw mod n; draws below 2^64 mod n are thrown away.\n"
    "\n"
    "In a cycle the machine first sees the beat and the response that are on the bus; it may take "
    "them, "
    "and its requests and data beats are taken; then come traffic, refresh and the pipe. At every "
    "start "
    "of a stream the memory is idle, and the random numbers begin again; its time 0 is "
    "cycle 0 of the stream, the one before its first request is on the bus.\n";

static void registers(wk_str *b) {
  wk_str_add(b, "| offset | register | access | |\n|---|---|---|---|\n");
  for (size_t i = 0; i < wk_isa_registers_count; i++) {
    wk_str_printf(b, "| 0x%02x | %s | %s | ", (unsigned)wk_isa_registers[i].offset,
                  wk_isa_registers[i].name, wk_isa_registers[i].access);
    cell(b, wk_isa_registers[i].doc);
    wk_str_add(b, " |\n");
  }
  wk_str_add(b, "\n## Errors\n\nWhat the register ERROR holds in its low 8 bits.\n\n"
                "| code | error | |\n|---|---|---|\n");
  for (size_t i = 0; i < wk_isa_errors_count; i++) {
    wk_str_printf(b, "| %d | %s | ", wk_isa_errors[i].number, wk_isa_errors[i].name);
    cell(b, wk_isa_errors[i].doc);
    wk_str_add(b, " |\n");
  }
}

static void counters(wk_str *b) {
  wk_str_add(b, "| counter | name | |\n|---|---|---|\n");
  for (size_t i = 0; i < wk_isa_counters_count; i++) {
    wk_str_printf(b, "| %d | `%s` | ", wk_isa_counters[i].number, wk_isa_counters[i].name);
    cell(b, wk_isa_counters[i].doc);
    wk_str_add(b, " |\n");
  }
  wk_str_printf(b, "\nFrom counter %d on every queue has %d, also those that the machine lacks "
                   "(theirs are zero): what the queue does in a cycle, exactly one of\n\n"
                   "| in the queue | name | |\n|---|---|---|\n",
                WK_COUNTER_QUEUES, WK_QUEUE_COUNTERS);
  for (int i = 0; i < WK_STATE_COUNT; i++) {
    bool is_wait = i == WK_STATE_wait;
    if (is_wait) wk_str_printf(b, "| %d + r | `QUEUE.wait.R` | ", i);
    else wk_str_printf(b, "| %d | `QUEUE.%s` | ", i, wk_isa_states[i].name);
    cell(b, wk_isa_states[i].doc);
    wk_str_add(b, " |\n");
  }
  int example = wk_isa_counter(WK_QUEUE_ld0, WK_STATE_wait, WK_QUEUE_ve);
  wk_str_printf(b, "\nQueue q begins at %d + %d q; `%s` is counter %d. There are %d counters.\n",
                WK_COUNTER_QUEUES, WK_QUEUE_COUNTERS, wk_isa_counter_name(example).s, example,
                WK_COUNTER_COUNT);
}

void wk_machine_markdown(wk_str *b) {
  wk_str_add(b, "# The machine\n\n"
                "Generated from `targets/accel/machine.def` and `regs.def`; "
                "`wick isa --machine-markdown` prints it.\n\n"
                "A machine file holds `KEY = NUMBER;` lines, with `//` and `#` comments; a key "
                "that it leaves out has its default. `base`, `tiny` and `wide` are built in "
                "(`targets/accel/machines`); everywhere else a machine is named by its path.\n\n"
                "## Hardware\n\n"
                "Parameters of the RTL. A hash over these and the tables of commands and registers "
                "is in the registers CONFIG_LO and CONFIG_HI, in every assembled stream, and in "
                "every report; a stream for other hardware is refused.\n\n");
  key_rows(b, true);
  wk_str_printf(b, "\n`bus` is at least `array`; the accumulators have at most %d entries of "
                   "`array` sums.\n\n## Simulation\n\n"
                   "Of the memory that the machine is simulated with; nothing is built again when "
                   "they change. `--dram latency=500,bytes=12.5` sets them on the command line, "
                   "without their prefix.\n\n", WK_ENTRIES_MAX);
  key_rows(b, false);
  wk_str_add(b, memory);
  wk_str_add(b, "\n## Presets\n\nWhere they differ:\n\n");
  presets(b);
  wk_str_add(b, "\n## Registers\n\nOn the AXI-Lite port; accesses have 32 bits.\n\n");
  registers(b);
  wk_str_printf(b, "\n## Counters\n\n"
                   "%d bits each. The registers COUNTER_SELECT, COUNTER_LO and COUNTER_HI show one "
                   "of them. MARK writes a row of %d bytes: counter i is the 64-bit number at byte "
                   "8 i, the rest is not touched.\n\n", WK_COUNTER_BITS, WK_MARK_BYTES);
  counters(b);
}
