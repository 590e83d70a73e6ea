/* SPDX-License-Identifier: Apache-2.0
 * Private to targets/accel/isa. */
#ifndef WICK_ACCEL_INTERNAL_H
#define WICK_ACCEL_INTERNAL_H

#include "targets/accel/isa/isa.h"
#include "targets/accel/isa/machine.h"

/* ---- files built in (isa.cmake) -------------------------------------------------------------- */

typedef struct {
  const char *name;
  const unsigned char *text; /* NUL-terminated */
} wk_accel_file;
extern const wk_accel_file wk_accel_presets[];
extern const size_t wk_accel_presets_count;
extern const unsigned char *const wk_accel_isa_page;     /* isa.md.in */
extern const unsigned char *const wk_accel_machine_page; /* machine.md.in */

/* ---- machine keys ---------------------------------------------------------------------------- */

#define WK_ENTRIES_MAX (1 << WK_BITS_CONV_acc) /* of the accumulators: what that field reaches */

/* "8", "-1", "0.0625"; false when it is something else or has more than six decimals. */
bool wk_fraction_parse(const char *s, wk_fraction *out);
const wk_machine_key *wk_machine_key_find(const char *name);
/* Checks type, range and power of two; `place` is the user's. */
wk_status wk_machine_set(wk_machine *m, const wk_machine_key *k, wk_fraction v,
                         const char *place) WK_MUST_CHECK;
/* wk_machine_check; *key is the key that the message is about. */
wk_status wk_machine_relations(const wk_machine *m, int *key) WK_MUST_CHECK;

/* ---- durations ------------------------------------------------------------------------------- */

uint64_t wk_isa_duration_load(const wk_machine *m, const wk_isa_command *c);
uint64_t wk_isa_duration_store(const wk_machine *m, const wk_isa_command *c);

/* ---- tables ---------------------------------------------------------------------------------- */

/* The rows that hardware sees, one a line, without texts: what is hashed. */
void wk_isa_hash(wk_hasher *h);
const char *wk_isa_kind_text(wk_isa_kind kind); /* "unsigned", "flag"; of a choice "map" */
void wk_isa_field_range(const wk_isa_field *f, int64_t *low, int64_t *high); /* of its bits */
int wk_isa_choice_bits(wk_isa_kind kind);       /* of the field that holds it */

#endif
