/* SPDX-License-Identifier: Apache-2.0
 * The machine: every size of the accelerator and of the memory that it is simulated with, from
 * machine.def; its files, and the hash that says which machine and which commands are meant. */
#ifndef WICK_ACCEL_MACHINE_H
#define WICK_ACCEL_MACHINE_H

#include "compiler/support/support.h"

/* num / den in lowest terms, den a divisor of WK_FRACTION_DEN. */
typedef struct { int64_t num, den; } wk_fraction;
#define WK_FRACTION_DEN 1000000 /* six decimals */

typedef struct {
  char name[64]; /* of a preset, or of the file without folder and ".cfg"; for messages */
#define KEY(name, ...) int64_t name;
#define RUN(name, ...) int64_t name;
#define FRACTION(name, ...) wk_fraction name;
#include "targets/accel/machine.def"
} wk_machine;

/* ---- keys ------------------------------------------------------------------------------------ */

typedef enum { WK_KEY_HARDWARE, WK_KEY_RUN, WK_KEY_FRACTION } wk_key_kind;

typedef struct {
  const char *name;
  wk_key_kind kind;
  bool is_pow2;
  size_t offset;                           /* of the int64_t or wk_fraction in wk_machine */
  const char *def, *min, *max, *unit, *doc; /* the numbers in text */
} wk_machine_key;

enum {
#define KEY(name, ...) WK_KEY_##name,
#define RUN KEY
#include "targets/accel/machine.def"
  WK_KEY_COUNT
};
extern const wk_machine_key wk_machine_keys[WK_KEY_COUNT];
enum {
#define KEY(name, def, min, max, ...) WK_KEY_MAX_##name = max,
#include "targets/accel/machine.def"
};

/* The value of a key as text: "256", "0.0625". */
void wk_machine_key_text(wk_str *b, const wk_machine *m, const wk_machine_key *k);

#define WK_TRAFFIC_BYTES 256 /* of a burst of others (targets/accel/model/dram.h) */

/* ---- machines -------------------------------------------------------------------------------- */

/* Every key its default; no name. */
void wk_machine_defaults(wk_machine *m);
/* base, tiny, wide are built in; anything else is a path. Keys that a file leaves out have their
 * defaults. Every error is one line with FILE:LINE where there is one; WK_USAGE: a word that is
 * neither a machine nor a file. */
wk_status wk_machine_read(const char *name_or_path, wk_machine *out) WK_MUST_CHECK;
/* Text of such a file; `name` is what messages call it. */
wk_status wk_machine_parse(const char *text, size_t n, const char *name,
                           wk_machine *out) WK_MUST_CHECK;
/* Text as wk_machine_text makes it, one "KEY = NUMBER;" a line: what packages hold. Messages name
 * `place`. It is read without libconfig, which ends the process where there is no memory. */
wk_status wk_machine_read_rows(const char *text, size_t n, const char *place,
                               wk_machine *out) WK_MUST_CHECK;
/* Such a text, with every key. */
void wk_machine_text(wk_str *b, const wk_machine *m);
/* "latency=500,bytes=8": RUN keys, the prefix dram_ may be left out. */
wk_status wk_machine_override(wk_machine *m, const char *text) WK_MUST_CHECK;
/* What relates several keys; in particular, that the memory has time left besides refresh and the
 * traffic of others, so that every burst is served some day. */
wk_status wk_machine_check(const wk_machine *m) WK_MUST_CHECK;

/* Values of a key, of those that a space of machines has. */
typedef struct {
  const wk_machine_key *key;
  WK_VEC(const char *) values; /* as wk_machine_key_text has them; none twice */
} wk_machine_choice;
typedef WK_VEC(wk_machine_choice) wk_machine_choices;

/* A file as of a machine, in which a key may have several values: "array = [8, 16, 32];", in
 * round brackets where some have decimals. Errors are as of a machine's file; free the result also
 * after one. */
wk_status wk_machine_space_read(const char *path, wk_arena *a,
                                wk_machine_choices *out) WK_MUST_CHECK;
void wk_machine_choices_free(wk_machine_choices *c);

size_t wk_machine_preset_count(void);
const char *wk_machine_preset_name(size_t i);
/* The file, NUL-terminated; NULL: there is none of that name. */
const char *wk_machine_preset_text(const char *name);

/* Over the rows of isa.def and regs.def that hardware sees, and the hardware keys. */
uint64_t wk_machine_hash(const wk_machine *m);
/* One line that says in what `got` differs from `want` ("array is 8, not 16"), for whoever refuses
 * because of the hashes; "" when it is not in a key. */
typedef struct { char s[1024]; } wk_difference_text;
wk_difference_text wk_machine_difference(const wk_machine *got, const wk_machine *want);

/* ---- derived --------------------------------------------------------------------------------- */

static inline int wk_machine_queues(const wk_machine *m) { return 3 + (int)m->load_channels; }
static inline int64_t wk_machine_entries(const wk_machine *m) { /* of the accumulators */
  return m->accumulators / (4 * m->array);
}

#endif
