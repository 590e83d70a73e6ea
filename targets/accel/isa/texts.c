/* SPDX-License-Identifier: Apache-2.0
 * The tables for whoever does not read C: a SystemVerilog package, a header for drivers. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "targets/accel/isa/internal.h"

/* in_y -> InY, CONFIG_LO -> ConfigLo */
typedef struct { char s[64]; } camel_text;
static camel_text camel(const char *name) {
  camel_text t = {""};
  bool is_start = true;
  size_t n = 0;
  for (; *name && n + 1 < sizeof t.s; name++) {
    if (*name == '_') is_start = true;
    else {
      int c = (unsigned char)*name;
      t.s[n++] = (char)(is_start ? toupper(c) : tolower(c));
      is_start = false;
    }
  }
  return t;
}

/* ---- SystemVerilog --------------------------------------------------------------------------- */

static void size_of(wk_str *b, const char *name, int64_t value) {
  wk_str_printf(b, "  localparam int unsigned %s = %lld;\n", name, (long long)value);
}

static void position_of(wk_str *b, const char *prefix, const wk_isa_field *f) {
  camel_text name = camel(f->name);
  wk_str_printf(b, "  localparam int unsigned %s%sLsb = %d;\n", prefix, name.s, f->lsb);
  wk_str_printf(b, "  localparam int unsigned %s%sW = %d;\n", prefix, name.s, f->bits);
}

static void number_of(wk_str *b, int bits, const char *prefix, const char *name, int value) {
  wk_str_printf(b, "  localparam logic [%d:0] %s%s = %d'd%d;\n", bits - 1, prefix, camel(name).s,
                bits, value);
}

static int bits_for(int64_t n) { /* clog2 */
  int bits = 0;
  while ((INT64_C(1) << bits) < n) bits++;
  return bits;
}

static void sizes(wk_str *b, const wk_machine *m) {
  wk_str_add(b, "\n  // The machine\n");
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    const wk_machine_key *k = &wk_machine_keys[i];
    if (k->kind == WK_KEY_HARDWARE)
      size_of(b, camel(k->name).s, *(const int64_t *)((const char *)m + k->offset));
  }
  wk_str_printf(b, "  localparam logic [63:0] ConfigHash = 64'h%016" PRIx64 ";\n",
                wk_machine_hash(m));
  size_of(b, "Queues", wk_machine_queues(m));
  size_of(b, "AccEntries", wk_machine_entries(m));
  size_of(b, "SpmAddrW", bits_for(m->scratchpad));
}

/* By opcode, for whoever dispatches. A command of no queue has queue 0 and waits for nothing. */
static void dispatch(wk_str *b) {
  enum { OPCODES = WK_OPCODES, QUEUES_W = WK_QUEUE_COUNT, BEHIND_W = 9 };
  wk_str known = {0}, queues = {0}, behind = {0};
  for (int opcode = OPCODES - 1; opcode >= 0; opcode--) { /* the last one is leftmost */
    const wk_isa_command_info *c = wk_isa_command_of(opcode);
    const wk_isa_field *last = c && c->n_fields ? &c->fields[c->n_fields - 1] : NULL;
    int end = last ? last->lsb + last->bits : wk_isa_header[WK_HEADER_wait].lsb;
    wk_str_printf(&known, "%d", c != NULL);
    wk_str_printf(&queues, "%s%d'd%u", queues.n ? ", " : "", QUEUES_W,
                  c && c->queues ? c->queues : 1);
    wk_str_printf(&behind, "%s%d'd%d", behind.n ? ", " : "", BEHIND_W, end);
  }
  wk_str_add(b, "\n  // By opcode: is it one; bit q: queue q can run it; the first bit behind its"
                " fields\n");
  wk_str_printf(b, "  localparam logic [%d:0] OpKnown = %d'b%s;\n", OPCODES - 1, OPCODES, known.s);
  wk_str_printf(b, "  localparam logic [%d:0] OpQueues = {%s};\n", QUEUES_W * OPCODES - 1,
                queues.s);
  wk_str_printf(b, "  localparam logic [%d:0] OpBehind = {%s};\n", BEHIND_W * OPCODES - 1,
                behind.s);
  wk_str_free(&known);
  wk_str_free(&queues);
  wk_str_free(&behind);
}

static void commands(wk_str *b) {
  wk_str_add(b, "\n  // Queues, opcodes, choices\n");
  for (int q = 0; q < WK_QUEUE_COUNT; q++) number_of(b, 3, "Q", wk_isa_queue_name(q), q);
  for (size_t i = 0; i < wk_isa_commands_count; i++)
    number_of(b, wk_isa_header[WK_HEADER_opcode].bits, "Op", wk_isa_commands[i].name,
              wk_isa_commands[i].opcode);
  for (size_t i = 0; i < wk_isa_choices_count; i++) {
    const wk_isa_choice *c = &wk_isa_choices[i];
    camel_text kind = camel(wk_isa_kind_text(c->kind));
    number_of(b, wk_isa_choice_bits(c->kind), kind.s, c->name, c->value);
  }
  wk_str_add(b, "\n  // Bits of a command and of a number of commands; positions in a command:\n"
                "  // FieldLsb +: FieldW\n");
  size_of(b, "CommandW", 8 * WK_COMMAND_BYTES);
  size_of(b, "CountW", WK_BITS_HEADER_threshold_ex);
  for (int i = 0; i < WK_HEADER_COUNT; i++) position_of(b, "Hdr", &wk_isa_header[i]);
  for (size_t i = 0; i < wk_isa_commands_count; i++) {
    const wk_isa_command_info *c = &wk_isa_commands[i];
    for (int k = 0; k < c->n_fields; k++) position_of(b, camel(c->name).s, &c->fields[k]);
  }
}

static void counter_of(wk_str *b, const char *prefix, const char *name, int index) {
  wk_str_printf(b, "  localparam int unsigned %s%s = %d;\n", prefix, camel(name).s, index);
}

static void registers(wk_str *b) {
  wk_str_add(b, "\n  // Registers (byte offsets), errors\n");
  for (size_t i = 0; i < wk_isa_registers_count; i++)
    number_of(b, 8, "Reg", wk_isa_registers[i].name, wk_isa_registers[i].offset);
  for (size_t i = 0; i < wk_isa_errors_count; i++)
    number_of(b, 8, "Err", wk_isa_errors[i].name, wk_isa_errors[i].number);
  wk_str_add(b, "\n  // Counters: those of queue q begin at CntQueues + q * QueueCounters; in it\n"
                "  // State..., StateWait + r for a wait on queue r\n");
  for (size_t i = 0; i < wk_isa_counters_count; i++)
    counter_of(b, "Cnt", wk_isa_counters[i].name, wk_isa_counters[i].number);
  size_of(b, "CntQueues", WK_COUNTER_QUEUES);
  size_of(b, "QueueCounters", WK_QUEUE_COUNTERS);
  size_of(b, "NumCounters", WK_COUNTER_COUNT);
  size_of(b, "CounterW", WK_COUNTER_BITS);
  for (int i = 0; i < WK_STATE_COUNT; i++) counter_of(b, "State", wk_isa_states[i].name, i);
}

void wk_isa_systemverilog(wk_str *b, const wk_machine *m) {
  wk_str_printf(b, "// SPDX-License-Identifier: Apache-2.0\n"
                   "// Machine '%s', generated by 'wick isa --sv'. Not every constant is used.\n"
                   "/* verilator lint_off UNUSEDPARAM */\n"
                   "package wick_pkg;\n", m->name);
  sizes(b, m);
  commands(b);
  dispatch(b);
  registers(b);
  wk_str_add(b, "\nendpackage\n/* verilator lint_on UNUSEDPARAM */\n");
}

/* ---- C --------------------------------------------------------------------------------------- */

static void define(wk_str *b, const char *prefix, const char *name, int value, const char *doc) {
  wk_str upper = {0};
  wk_str_printf(&upper, "WICK_ACCEL_%s%s", prefix, name);
  for (size_t i = 0; i < upper.n; i++)
    upper.s[i] = upper.s[i] == '.' ? '_' : (char)toupper((unsigned char)upper.s[i]);
  wk_str_printf(b, "#define %-34s 0x%02x", upper.s, (unsigned)value);
  if (doc) wk_str_printf(b, " /* %s */", doc);
  wk_str_add(b, "\n");
  wk_str_free(&upper);
}

void wk_isa_registers_c(wk_str *b) {
  wk_str_add(b, "/* SPDX-License-Identifier: Apache-2.0\n"
                " * Registers, errors and counters of the accelerator; generated by\n"
                " * 'wick isa --c-registers'. */\n"
                "#ifndef WICK_ACCEL_REGISTERS_H\n#define WICK_ACCEL_REGISTERS_H\n"
                "\n/* Registers: byte offsets, 32-bit accesses. */\n");
  for (size_t i = 0; i < wk_isa_registers_count; i++) {
    wk_str doc = {0};
    wk_str_printf(&doc, "%s: %s", wk_isa_registers[i].access, wk_isa_registers[i].doc);
    define(b, "REG_", wk_isa_registers[i].name, wk_isa_registers[i].offset, doc.s);
    wk_str_free(&doc);
  }
  wk_str_add(b, "\n/* Codes of the register ERROR. */\n");
  for (size_t i = 0; i < wk_isa_errors_count; i++)
    define(b, "ERROR_", wk_isa_errors[i].name, wk_isa_errors[i].number, wk_isa_errors[i].doc);
  wk_str_add(b, "\n/* Counters: values of COUNTER_SELECT; a row of the mark area holds counter i\n"
                " * in the 8 bytes from 8 * i. */\n");
  for (int i = 0; i < WK_COUNTER_COUNT; i++)
    define(b, "COUNTER_", wk_isa_counter_name(i).s, i,
           i < WK_COUNTER_QUEUES ? wk_isa_counters[i].doc : NULL);
  wk_str_printf(b, "#define %-34s %d\n", "WICK_ACCEL_COUNTERS", WK_COUNTER_COUNT);
  wk_str_add(b, "\n#endif\n");
}
