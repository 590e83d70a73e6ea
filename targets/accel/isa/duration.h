/* SPDX-License-Identifier: Apache-2.0
 * How long a command takes alone, in cycles from its start to its retirement, when no port waits:
 * docs/isa.md, "Durations". LD and ST also depend on the memory, whose RUN keys are those of the
 * machine, without jitter, refresh and traffic. Takes a step for every burst of LD and ST, and none
 * for beats, accesses, words and tiles. */
#ifndef WICK_ACCEL_DURATION_H
#define WICK_ACCEL_DURATION_H

#include "targets/accel/isa/isa.h"

/* The command must be one that wk_isa_validate accepts; counts of MAP, POOL and ROW may be more
 * than their fields hold. */
uint64_t wk_isa_duration(const wk_machine *m, const wk_isa_command *c);

/* What the array does in a CONV, DWC or MM. Its tiles begin one after the other, each behind the
 * words of the one before and its own weights. */
typedef struct {
  int64_t tiles, words;  /* words: of all tiles */
  int64_t first, last;   /* cycles from the first line of weights to the first word: of the first
                            tile, of the last one */
  int64_t span;          /* from the first word to the end of the last one */
  int64_t last_words;    /* words of the last tile */
  int64_t last_step;     /* from the last tile but one to the last; 0: there is one tile */
} wk_isa_tiles;
wk_isa_tiles wk_isa_tiles_of(const wk_machine *m, const wk_isa_command *c);

/* What a CONV, DWC or MM needs at least, neighbours overlapped: cycles of the array, from the last
 * word of the command before it to its own last one, and of the drain. No run has less. */
typedef struct {
  int64_t array, drain;
} wk_isa_bound;
/* Zeros of other commands. *words: of the last tile of the CONV, DWC or MM before it, 0: there is
 * none; becomes its own. */
wk_isa_bound wk_isa_bound_of(const wk_machine *m, const wk_isa_command *c, int64_t *words);

#endif
