/* SPDX-License-Identifier: Apache-2.0
 * Random legal command streams for the accelerator, from a seed: every command with fields over
 * their corner cases, on buffers in a part of the scratchpad that the stream itself has written,
 * with waits from a dependence analysis that knows nothing of wk_check. All that was written to the
 * scratchpad is stored to memory at the end. A failing stream is shrunk by random_stream_reduce. */
#ifndef WICK_TESTS_RANDOM_STREAM_H
#define WICK_TESTS_RANDOM_STREAM_H

#include "sim/run.h"
#include "targets/accel/check/check.h"
#include "targets/accel/isa/stream.h"

#define RANDOM_STREAM_MEMORY (INT64_C(1) << 20) /* bytes of memory that streams are drawn for */

typedef struct {
  int commands; /* about this many between the first loads and the last stores; 0: by the seed */
  int work;     /* cycles of the largest command, roughly; 0: by the seed */
} random_stream_options;

/* The same machine, seed and options (may be NULL) give the same stream. It is finished; its
 * machine is m with a memory of RANDOM_STREAM_MEMORY bytes. Its commands have no more in common
 * with each other than their buffers: any order that the waits allow gives the same memory. */
wk_stream *random_stream(const wk_machine *m, uint64_t seed, const random_stream_options *o);

wk_stream *random_stream_copy(const wk_stream *s);
/* Command i replaced by another one. */
void random_stream_put(wk_stream *s, uint32_t i, const wk_isa_command *c);
/* Every command waits for the one before it. */
void random_stream_serialise(wk_stream *s);

/* ---- shrinking: random_stream_reduce.c ------------------------------------------------------- */

/* Without command i (not END): later thresholds count one less, and whoever relied on its waits has
 * them. */
wk_stream *random_stream_without(const wk_stream *s, uint32_t i);
typedef bool random_stream_fails(void *context, const wk_stream *s);
/* Takes away what can go while wk_check accepts the stream and it fails. */
wk_stream *random_stream_reduce(const wk_stream *s, random_stream_fails *fails, void *context);
/* Prints stream and line to stderr. */
void random_stream_print(const wk_stream *s, const char *reproducer);

/* ---- comparison with the functional model: random_stream_run.c ------------------------------- */

typedef struct {
  const wk_sim_model *rtl;
  wk_machine machine; /* RUN keys: the memory */
  bool stalls;
  wk_sim_reset reset;
  uint64_t seed;   /* of stalls, reset state */
  uint64_t cycles; /* out: of the run */
} random_stream_setting;

/* The machine with memory timing drawn from a seed; 0: as the machine has it. */
random_stream_setting random_stream_draw_setting(const wk_sim_model *rtl, const wk_machine *m,
                                                 uint64_t seed);
/* Runs on both models; false: `text` says what differs. Memory (all but the mark area), status,
 * events against waits, counters, and the commands once more in the order in which they started. */
bool random_stream_agrees(const wk_stream *s, random_stream_setting *setting, wk_str *text);
/* Shrinks a stream that does not agree, and prints what is left of it to stderr, with what differs
 * then and the line that draws it again. */
void random_stream_show(const wk_stream *s, random_stream_setting *setting, const char *machine,
                        uint64_t seed);

/* The parts, for tests that run by themselves. r: on the RTL. */
bool random_stream_same_memory(const wk_stream *s, const uint8_t *got, const uint8_t *want,
                               wk_str *text);
bool random_stream_events_are_right(const wk_stream *s, const wk_sim_run *r, wk_str *text);
/* Everything that the commands alone decide; random_stream_counters.c. Of any model with time. */
bool random_stream_counters_are_right(const wk_stream *s, const wk_sim_run *r, wk_str *text);
/* A memory as it is before the stream runs; free(). */
uint8_t *random_stream_memory(const wk_stream *s);
/* Executes the commands in this order (n - 1 indices, without END) on `memory`. */
void random_stream_execute(const wk_stream *s, const uint32_t *order, uint8_t *memory);

/* ---- what a stream really depends on: random_stream_oracle.c --------------------------------- */

typedef struct random_stream_oracle random_stream_oracle;
/* Byte by byte, from the text of isa.md; streams of a few dozen commands. */
random_stream_oracle *random_stream_oracle_new(const wk_stream *s);
void random_stream_oracle_free(random_stream_oracle *o);
/* Every two accesses that conflict are ordered by the waits that s has now (its commands must
 * otherwise be those that the oracle was made from) and nothing unwritten is read. */
bool random_stream_oracle_allows(const random_stream_oracle *o, const wk_stream *s);
/* An order of starts that the waits allow, by chance. */
void random_stream_oracle_order(const wk_stream *s, wk_rng *r, uint32_t *order);

#endif
