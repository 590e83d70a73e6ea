/* SPDX-License-Identifier: Apache-2.0
 * Commands, registers and counters of the accelerator as C, from isa.def and regs.def.
 *
 * Enumerators are made of the names in the tables:
 *   WK_CMD_CONV        opcode              WK_CONV_in        index of a field in wk_isa_command.v
 *   WK_QUEUE_ex        queue number        WK_HEADER_opcode  index of a header field
 *   WK_CHOICE_MAP_add  value of a choice   WK_ERROR_range    value of the ERROR register
 *   WK_REG_STATUS      offset of a register          WK_BITS_CONV_in  width of a field
 *   WK_COUNTER_cycles  index of a counter; those of queues: wk_isa_counter */
#ifndef WICK_ACCEL_ISA_H
#define WICK_ACCEL_ISA_H

#include "targets/accel/isa/machine.h"

#define WK_COMMAND_BYTES 64
#define WK_MARK_BYTES 1024            /* a row of the mark area: counter i is the u64 at 8 * i */
#define WK_RECORD_BYTES 32            /* a parameter record before its entries */
#define WK_ENTRY_BYTES 8
#define WK_TABLE_BYTES 256
#define WK_TRANSFER_BYTES (1 << 20)   /* LD and ST move fewer */
#define WK_MULT_MAX ((1 << 24) - 1)   /* of a multiplier in a record that has no sign */
#define WK_FACTOR_MAX ((1 << 23) - 1) /* of one that has, and its negative */
#define WK_SHIFT_MAX 62               /* of a record */

/* ---- numbers --------------------------------------------------------------------------------- */

enum {
#define QUEUE(name, number, doc) WK_QUEUE_##name = number,
#include "targets/accel/isa.def"
};
enum {
#define QUEUE(name, number, doc) WK_QUEUE_INDEX_##name,
#include "targets/accel/isa.def"
  WK_QUEUE_COUNT /* of the largest machine */
};
enum {
#define HEADER(name, ...) WK_HEADER_##name,
#include "targets/accel/isa.def"
  WK_HEADER_COUNT
};
enum {
#define COMMAND(NAME, opcode, queues, doc) WK_CMD_##NAME = opcode,
#include "targets/accel/isa.def"
};
enum { /* fields are counted from 0 in each command */
#define COMMAND(NAME, ...) WK_##NAME##_BEFORE_ = -1,
#define FIELD(NAME, name, ...) WK_##NAME##_##name,
#include "targets/accel/isa.def"
};
enum {
#define CHOICE(kind, name, value, doc) WK_##kind##_##name = value,
#include "targets/accel/isa.def"
};
enum {
#define COST(name, cycles, doc) WK_COST_##name = cycles,
#include "targets/accel/isa.def"
  WK_COST_END_
};
enum {
#define REG(NAME, offset, access, doc) WK_REG_##NAME = offset,
#include "targets/accel/regs.def"
};
enum {
#define ERROR(name, code, doc) WK_ERROR_##name = code,
#include "targets/accel/regs.def"
};
enum {
#define STATE(name, doc) WK_STATE_##name,
#include "targets/accel/regs.def"
  WK_STATE_COUNT
};
/* The rows of regs.def, then for every queue of the largest machine, in order of their numbers:
 * its states, `wait` as one counter for each of the queues. */
enum {
#define COUNTER(name, doc) WK_COUNTER_##name,
#include "targets/accel/regs.def"
  WK_COUNTER_QUEUES, /* the first of queue 0 */
  WK_QUEUE_COUNTERS = WK_STATE_COUNT - 1 + WK_QUEUE_COUNT, /* of a queue */
  WK_COUNTER_COUNT = WK_COUNTER_QUEUES + WK_QUEUE_COUNT * WK_QUEUE_COUNTERS
};
#define WK_COUNTER_BITS 48

static inline int wk_isa_counter(int queue, int state, int waited) { /* waited: of WK_STATE_wait */
  return WK_COUNTER_QUEUES + queue * WK_QUEUE_COUNTERS + state +
         (state == WK_STATE_wait ? waited : 0);
}
/* "cycles", "ex.busy", "ld0.wait.ve" */
wk_text24 wk_isa_counter_name(int counter);

typedef enum {
  WK_KIND_UNSIGNED, WK_KIND_SIGNED, WK_KIND_FLAG, WK_KIND_COUNT, WK_KIND_SPM, WK_KIND_DRAM,
  WK_KIND_ACC,
  WK_KIND_CHOICE_TAPS, WK_KIND_CHOICE_MAP, WK_KIND_CHOICE_POOL, WK_KIND_CHOICE_ROW
} wk_isa_kind;
static inline bool wk_isa_is_choice(wk_isa_kind k) { return k >= WK_KIND_CHOICE_TAPS; }

/* ---- limits ---------------------------------------------------------------------------------- */

enum {
#define HEADER(name, bits, doc) WK_BITS_HEADER_##name = bits, WK_SIGN_HEADER_##name = 0,
#define FIELD(C, name, bits, kind, ...) \
  WK_BITS_##C##_##name = bits, WK_SIGN_##C##_##name = WK_KIND_##kind == WK_KIND_SIGNED,
#include "targets/accel/isa.def"
};

/* The largest value of a field: WK_MAX(CONV, ny). Nothing else says how much a field holds
 * (tests/lint/fields). */
#define WK_MAX(C, field) \
  ((INT64_C(1) << (WK_BITS_##C##_##field - WK_SIGN_##C##_##field)) - 1)
#define WK_LEAST(a, b) ((a) < (b) ? (a) : (b))
/* Of a field that CONV, DWC and POOL have. */
#define WK_MAX_WINDOW(field) \
  WK_LEAST(WK_MAX(CONV, field), WK_LEAST(WK_MAX(DWC, field), WK_MAX(POOL, field)))

/* A stream holds fewer: thresholds count up to here. */
#define WK_STREAM_COMMANDS (1u << WK_BITS_HEADER_threshold_ex)
#define WK_OPCODES (1 << WK_BITS_HEADER_opcode) /* with those that are no command */

/* ---- tables ---------------------------------------------------------------------------------- */

typedef struct {
  const char *name;
  int lsb, bits; /* in the command, header included */
  wk_isa_kind kind;
  const char *def; /* a number, "N", the name of a choice, or "NEEDED" */
  const char *doc;
} wk_isa_field;

typedef struct {
  const char *name; /* "CONV" */
  int opcode;
  unsigned queues; /* bit q: queue q of the largest machine can run it; 0: END */
  const char *doc;
  const wk_isa_field *fields;
  int n_fields;
} wk_isa_command_info;

typedef struct {
  wk_isa_kind kind;
  const char *name;
  int value;
  const char *doc;
} wk_isa_choice;

typedef struct { const char *name; int number; const char *doc; } wk_isa_row;
typedef struct { const char *name; int offset; const char *access, *doc; } wk_isa_register;

extern const wk_isa_command_info wk_isa_commands[];
extern const size_t wk_isa_commands_count;
extern const wk_isa_field wk_isa_header[WK_HEADER_COUNT];
extern const wk_isa_choice wk_isa_choices[];
extern const size_t wk_isa_choices_count;
extern const wk_isa_register wk_isa_registers[];
extern const size_t wk_isa_registers_count;
extern const wk_isa_row wk_isa_errors[], wk_isa_states[], wk_isa_counters[];
extern const size_t wk_isa_errors_count, wk_isa_counters_count;
extern const wk_isa_row wk_isa_costs[];
extern const size_t wk_isa_costs_count;

const wk_isa_command_info *wk_isa_command_of(int opcode);          /* NULL: there is none */
const wk_isa_command_info *wk_isa_command_named(const char *text); /* "conv"; NULL: there is none */
wk_text24 wk_isa_command_text(const wk_isa_command_info *info);    /* "conv": as streams name it */
bool wk_isa_is_needed(const wk_isa_field *f);                      /* has no default */
const char *wk_isa_queue_name(int queue);                          /* "ex" */
/* NULL when the value stands for nothing. */
const wk_isa_choice *wk_isa_choice_of(wk_isa_kind kind, int64_t value);

/* ---- commands -------------------------------------------------------------------------------- */

#define WK_FIELDS_MAX 40

typedef struct {
  union {
    struct {
      uint32_t opcode, queue, priority, operator, wait; /* wait: a bit for every queue */
      uint32_t threshold[6];
      uint32_t reserved;
    };
    uint32_t header[WK_HEADER_COUNT];
  };
  bool has_stray; /* a bit that is no field's was set */
  int64_t v[WK_FIELDS_MAX];
} wk_isa_command;

/* Zeros and defaults; fields that must be given are 0. */
wk_isa_command wk_isa_command_default(const wk_machine *m, int opcode);
/* Takes the low bits of every value; whether they fit is wk_isa_validate's business. */
void wk_isa_encode(const wk_isa_command *c, uint8_t out[WK_COMMAND_BYTES]);
/* False when the opcode is unknown: then only the header is set. */
bool wk_isa_decode(const uint8_t bytes[WK_COMMAND_BYTES], wk_isa_command *out);
int64_t wk_isa_field_default(const wk_isa_field *f, const wk_machine *m); /* 0 when it has none */

/* A field by name: WK_V(c, CONV, ny); WK_SV(c, CONV, in) where it may be negative. */
#define WK_SV(c, C, field) ((c)->v[WK_##C##_##field])
#define WK_V(c, C, field) ((uint64_t)WK_SV(c, C, field))

/* Which entries of its parameter record a function uses. */
typedef enum {
  WK_USES_NO_ENTRY,
  WK_USES_ENTRY_0,
  WK_USES_ENTRY_OF_TAPS,  /* entry t - 1 for a window of t taps that are no padding */
  WK_USES_ENTRY_OF_COLUMN /* entry i for element i of a row */
} wk_isa_entries;

/* What a function of MAP, POOL or ROW works on besides its (first) operand, and its result. */
typedef struct {
  bool second; /* the operand b */
  bool record; /* the first WK_RECORD_BYTES of the parameter record */
  wk_isa_entries entries;
  int tables;   /* how many from `table` on */
  bool reduces; /* the result of a row is one byte */
} wk_isa_uses;
/* All zero for other commands and for functions that there are not. */
wk_isa_uses wk_isa_uses_of(const wk_isa_command *c);

static inline void wk_isa_wait(wk_isa_command *c, int queue, uint32_t threshold) {
  if (!(c->wait >> queue & 1) || c->threshold[queue] < threshold) c->threshold[queue] = threshold;
  c->wait |= 1u << queue;
}

/* ---- validation ------------------------------------------------------------------------------ */

/* What is wrong with one command, without looking at the others. */
typedef struct {
  int error;         /* what the machine reports: WK_ERROR_…; WK_ERROR_none: it does not look */
  const char *field; /* NULL: of the whole command */
  char text[160];    /* one line; "": nothing is wrong */
} wk_isa_fault;

/* before: how many commands of each queue come earlier in the stream; NULL: any number. */
bool wk_isa_find_fault(const wk_machine *m, const wk_isa_command *c, const uint32_t *before,
                      wk_isa_fault *out);

/* The same as a status: "stream.s:17: command 12 (CONV): field 'n': 17 is more than the array's 16
 * lanes". place may be NULL. */
wk_status wk_isa_validate(const wk_machine *m, const wk_isa_command *c, const uint32_t *before,
                           uint32_t index, const char *place) WK_MUST_CHECK;

/* Reads bytes of the scratchpad; false: not all of them are known. */
typedef bool wk_isa_read_fn(void *context, uint64_t from, int bytes, uint8_t *out);
/* Is a value in the parameter record of a command, as far as its bytes are known, one that may not
 * be there? What the machine then computes is undefined (error none), or it refuses the record. The
 * command has no fault of its own. */
bool wk_isa_find_record_fault(const wk_machine *m, const wk_isa_command *c, wk_isa_read_fn *read,
                              void *context, wk_isa_fault *out);

/* ---- generated texts ------------------------------------------------------------------------- */

void wk_isa_systemverilog(wk_str *b, const wk_machine *m); /* package wick_pkg */
void wk_isa_registers_c(wk_str *b);                        /* a C header, self-contained */
void wk_isa_markdown(wk_str *b);                           /* docs/isa.md */
void wk_machine_markdown(wk_str *b);                       /* docs/machine.md */

#endif
