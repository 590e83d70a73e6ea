/* SPDX-License-Identifier: Apache-2.0
 * The tables as data, and the code that walks them. Positions come from structs in which a field
 * of n bits is an array of n chars. */
#include "targets/accel/isa/isa.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "targets/accel/isa/internal.h"

/* ---- positions ------------------------------------------------------------------------------- */

struct header_bits {
#define HEADER(name, bits, doc) char name[bits];
#include "targets/accel/isa.def"
};

struct bits_none {
  char nothing;
#define COMMAND(NAME, ...)        \
  };                              \
  struct bits_##NAME {            \
    char header_[sizeof(struct header_bits)];
#define FIELD(NAME, name, bits, ...) char name[bits];
#include "targets/accel/isa.def"
};

struct count_none {
  char nothing;
#define COMMAND(NAME, ...) \
  };                       \
  struct count_##NAME {    \
    char command_;
#define FIELD(NAME, name, ...) char name;
#include "targets/accel/isa.def"
};

#define COMMAND(NAME, ...)                                                                    \
  _Static_assert(sizeof(struct bits_##NAME) <= 8 * WK_COMMAND_BYTES, "the fields fit in");    \
  _Static_assert(sizeof(struct count_##NAME) - 1 <= WK_FIELDS_MAX, "WK_FIELDS_MAX is enough");
#include "targets/accel/isa.def"
_Static_assert(WK_KEY_MAX_scratchpad <= WK_MAX(LD, spm) + 1, "an address reaches every byte");
_Static_assert(WK_KEY_MAX_array <= WK_MAX(CONV, n), "a command has as many lanes as there are");
_Static_assert(sizeof(((wk_isa_command *)0)->threshold) == 4 * WK_QUEUE_COUNT, "one a queue");
_Static_assert(WK_HEADER_threshold_ex == 5 && WK_HEADER_reserved == WK_HEADER_COUNT - 1 &&
                   offsetof(wk_isa_command, reserved) == 4 * WK_HEADER_reserved,
               "wk_isa_command has the header in the order of the table");
_Static_assert(8 * WK_COUNTER_COUNT <= WK_MARK_BYTES, "a row of the mark area holds them");

/* ---- rows ------------------------------------------------------------------------------------ */

static const wk_isa_field all_fields[] = {
#define FIELD(NAME, name, bits, kind, def, doc) \
  {#name, offsetof(struct bits_##NAME, name), bits, WK_KIND_##kind, #def, doc},
#include "targets/accel/isa.def"
};

enum { /* the first of each command in all_fields */
#define COMMAND(NAME, ...) FIRST_##NAME, FIRST_##NAME##_BEFORE = FIRST_##NAME - 1,
#define FIELD(NAME, name, ...) AT_##NAME##_##name,
#include "targets/accel/isa.def"
};

#define QUEUES_LOADS (1u << WK_QUEUE_ld0 | 1u << WK_QUEUE_ld1 | 1u << WK_QUEUE_ld2)
#define QUEUES_EX (1u << WK_QUEUE_ex)
#define QUEUES_VE (1u << WK_QUEUE_ve)
#define QUEUES_ST (1u << WK_QUEUE_st)
#define QUEUES_NONE 0u

const wk_isa_command_info wk_isa_commands[] = {
#define COMMAND(NAME, opcode, queues, doc)                               \
  {#NAME, opcode, QUEUES_##queues, doc, all_fields + FIRST_##NAME,       \
   (int)sizeof(struct count_##NAME) - 1},
#include "targets/accel/isa.def"
};
const size_t wk_isa_commands_count = WK_COUNTOF(wk_isa_commands);

const wk_isa_field wk_isa_header[WK_HEADER_COUNT] = {
#define HEADER(name, bits, doc) \
  {#name, offsetof(struct header_bits, name), bits, WK_KIND_UNSIGNED, "0", doc},
#include "targets/accel/isa.def"
};

const wk_isa_choice wk_isa_choices[] = {
#define CHOICE(kind, name, value, doc) {WK_KIND_##kind, #name, value, doc},
#include "targets/accel/isa.def"
};
const size_t wk_isa_choices_count = WK_COUNTOF(wk_isa_choices);

static const wk_isa_row queues[WK_QUEUE_COUNT] = {
#define QUEUE(name, number, doc) [number] = {#name, number, doc},
#include "targets/accel/isa.def"
};
const wk_isa_register wk_isa_registers[] = {
#define REG(NAME, offset, access, doc) {#NAME, offset, #access, doc},
#include "targets/accel/regs.def"
};
const size_t wk_isa_registers_count = WK_COUNTOF(wk_isa_registers);
const wk_isa_row wk_isa_errors[] = {
#define ERROR(name, code, doc) {#name, code, doc},
#include "targets/accel/regs.def"
};
const size_t wk_isa_errors_count = WK_COUNTOF(wk_isa_errors);
const wk_isa_row wk_isa_states[] = {
#define STATE(name, doc) {#name, WK_STATE_##name, doc},
#include "targets/accel/regs.def"
};
const wk_isa_row wk_isa_counters[] = {
#define COUNTER(name, doc) {#name, WK_COUNTER_##name, doc},
#include "targets/accel/regs.def"
};
const size_t wk_isa_counters_count = WK_COUNTOF(wk_isa_counters);
const wk_isa_row wk_isa_costs[] = {
#define COST(name, cycles, doc) {#name, cycles, doc},
#include "targets/accel/isa.def"
    {NULL, 0, NULL}};
const size_t wk_isa_costs_count = WK_COUNTOF(wk_isa_costs) - 1;

/* ---- look-up --------------------------------------------------------------------------------- */

const wk_isa_command_info *wk_isa_command_of(int opcode) {
  for (size_t i = 0; i < wk_isa_commands_count; i++)
    if (wk_isa_commands[i].opcode == opcode) return &wk_isa_commands[i];
  return NULL;
}

const wk_isa_command_info *wk_isa_command_named(const char *text) {
  for (size_t i = 0; i < wk_isa_commands_count; i++)
    if (strcmp(wk_isa_command_text(&wk_isa_commands[i]).s, text) == 0) return &wk_isa_commands[i];
  return NULL;
}

wk_text24 wk_isa_command_text(const wk_isa_command_info *info) {
  wk_text24 t = {""};
  for (size_t i = 0; info->name[i] && i + 1 < sizeof t.s; i++)
    t.s[i] = (char)tolower((unsigned char)info->name[i]);
  return t;
}

const char *wk_isa_queue_name(int queue) {
  return queue >= 0 && queue < WK_QUEUE_COUNT ? queues[queue].name : "?";
}

const wk_isa_choice *wk_isa_choice_of(wk_isa_kind kind, int64_t value) {
  for (size_t i = 0; i < wk_isa_choices_count; i++)
    if (wk_isa_choices[i].kind == kind && wk_isa_choices[i].value == value)
      return &wk_isa_choices[i];
  return NULL;
}

const char *wk_isa_kind_text(wk_isa_kind kind) {
  static const char *const texts[] = {
      [WK_KIND_UNSIGNED] = "unsigned", [WK_KIND_SIGNED] = "signed", [WK_KIND_FLAG] = "flag",
      [WK_KIND_COUNT] = "count", [WK_KIND_SPM] = "scratchpad", [WK_KIND_DRAM] = "memory",
      [WK_KIND_ACC] = "accumulators", [WK_KIND_CHOICE_TAPS] = "taps", [WK_KIND_CHOICE_MAP] = "map",
      [WK_KIND_CHOICE_POOL] = "pool", [WK_KIND_CHOICE_ROW] = "row"};
  return texts[kind];
}

int wk_isa_choice_bits(wk_isa_kind kind) {
  for (size_t i = 0; i < WK_COUNTOF(all_fields); i++)
    if (all_fields[i].kind == kind) return all_fields[i].bits;
  return 1;
}

wk_text24 wk_isa_counter_name(int counter) {
  wk_text24 t = {""};
  if (counter < 0 || counter >= WK_COUNTER_COUNT) return t;
  if (counter < WK_COUNTER_QUEUES) {
    snprintf(t.s, sizeof t.s, "%s", wk_isa_counters[counter].name);
    return t;
  }
  int queue = (counter - WK_COUNTER_QUEUES) / WK_QUEUE_COUNTERS;
  int state = (counter - WK_COUNTER_QUEUES) % WK_QUEUE_COUNTERS, waited = state - WK_STATE_wait;
  const char *q = wk_isa_queue_name(queue);
  if (waited < 0) snprintf(t.s, sizeof t.s, "%s.%s", q, wk_isa_states[state].name);
  else snprintf(t.s, sizeof t.s, "%s.%s.%s", q, wk_isa_states[WK_STATE_wait].name,
                wk_isa_queue_name(waited));
  return t;
}

/* ---- what is hashed -------------------------------------------------------------------------- */

void wk_isa_hash(wk_hasher *h) {
#define ADD(text) wk_hash_add(h, text, sizeof text - 1)
#define QUEUE(name, number, doc) ADD("queue " #name " " #number "\n");
#define HEADER(name, bits, doc) ADD("header " #name " " #bits "\n");
#define COMMAND(NAME, opcode, queues, doc) ADD("command " #NAME " " #opcode " " #queues "\n");
#define FIELD(NAME, name, bits, kind, def, doc) ADD("field " #name " " #bits " " #kind "\n");
#define CHOICE(kind, name, value, doc) ADD("choice " #kind " " #name " " #value "\n");
#include "targets/accel/isa.def"
#define REG(NAME, offset, access, doc) ADD("register " #NAME " " #offset " " #access "\n");
#define ERROR(name, code, doc) ADD("error " #name " " #code "\n");
#define STATE(name, doc) ADD("state " #name "\n");
#define COUNTER(name, doc) ADD("counter " #name "\n");
#include "targets/accel/regs.def"
#undef ADD
}

/* ---- commands -------------------------------------------------------------------------------- */

bool wk_isa_is_needed(const wk_isa_field *f) { return strcmp(f->def, "NEEDED") == 0; }

int64_t wk_isa_field_default(const wk_isa_field *f, const wk_machine *m) {
  if (wk_isa_is_needed(f)) return 0;
  if (strcmp(f->def, "N") == 0) return m->array;
  if (!wk_isa_is_choice(f->kind)) return strtoll(f->def, NULL, 10);
  for (size_t i = 0; i < wk_isa_choices_count; i++)
    if (wk_isa_choices[i].kind == f->kind && strcmp(wk_isa_choices[i].name, f->def) == 0)
      return wk_isa_choices[i].value;
  return 0;
}

wk_isa_command wk_isa_command_default(const wk_machine *m, int opcode) {
  wk_isa_command c = {.opcode = (uint32_t)opcode};
  const wk_isa_command_info *info = wk_isa_command_of(opcode);
  for (int i = 0; info && i < info->n_fields; i++)
    c.v[i] = wk_isa_field_default(&info->fields[i], m);
  return c;
}

/* Fields have at most 32 bits: with the 7 bits before them they are in five bytes. */
static void put_bits(uint8_t *bytes, int lsb, int n, uint64_t value) {
  value &= (UINT64_C(1) << n) - 1;
  value <<= lsb % 8;
  for (int i = lsb / 8; value; i++, value >>= 8) bytes[i] |= (uint8_t)value;
}

static uint64_t get_bits(const uint8_t *bytes, int lsb, int n) {
  uint64_t value = 0;
  int first = lsb / 8, last = (lsb + n - 1) / 8;
  for (int i = last; i >= first; i--) value = value << 8 | bytes[i];
  return value >> lsb % 8 & ((UINT64_C(1) << n) - 1);
}

void wk_isa_encode(const wk_isa_command *c, uint8_t out[WK_COMMAND_BYTES]) {
  const wk_isa_command_info *info = wk_isa_command_of((int)c->opcode);
  memset(out, 0, WK_COMMAND_BYTES);
  for (int i = 0; i < WK_HEADER_COUNT; i++)
    put_bits(out, wk_isa_header[i].lsb, wk_isa_header[i].bits, c->header[i]);
  for (int i = 0; info && i < info->n_fields; i++)
    put_bits(out, info->fields[i].lsb, info->fields[i].bits, (uint64_t)c->v[i]);
}

static int64_t extended(uint64_t value, const wk_isa_field *f) {
  uint64_t sign = UINT64_C(1) << (f->bits - 1);
  return f->kind == WK_KIND_SIGNED ? (int64_t)(value ^ sign) - (int64_t)sign : (int64_t)value;
}

bool wk_isa_decode(const uint8_t bytes[WK_COMMAND_BYTES], wk_isa_command *out) {
  uint8_t again[WK_COMMAND_BYTES];
  *out = (wk_isa_command){0};
  for (int i = 0; i < WK_HEADER_COUNT; i++)
    out->header[i] = (uint32_t)get_bits(bytes, wk_isa_header[i].lsb, wk_isa_header[i].bits);
  const wk_isa_command_info *info = wk_isa_command_of((int)out->opcode);
  for (int i = 0; info && i < info->n_fields; i++) {
    const wk_isa_field *f = &info->fields[i];
    out->v[i] = extended(get_bits(bytes, f->lsb, f->bits), f);
  }
  wk_isa_encode(out, again);
  out->has_stray = memcmp(bytes, again, sizeof again) != 0;
  return info != NULL;
}
