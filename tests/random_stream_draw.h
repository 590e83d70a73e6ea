/* SPDX-License-Identifier: Apache-2.0
 * Private to the random streams: the state that commands are drawn with. */
#ifndef WICK_TESTS_RANDOM_STREAM_DRAW_H
#define WICK_TESTS_RANDOM_STREAM_DRAW_H

#include "tests/random_stream.h"

/* A box around what a command uses: from .. end - 1 of a space. */
typedef enum { BOX_SPM, BOX_ACC, BOX_TABLE, BOX_DRAM } stream_space;
typedef struct {
  stream_space space;
  bool writes;
  int64_t from, end;
} stream_box;

enum { STREAM_BOXES = 8, STREAM_SLOTS = 32, STREAM_ENTRIES = 8192 };

typedef struct {
  wk_isa_command c;
  stream_box boxes[STREAM_BOXES];
  int n_boxes;
  uint32_t ordinal;
  uint32_t before[WK_QUEUE_COUNT]; /* retired for certain when it starts */
  bool drains;
} stream_command;

/* The scratchpad that the stream uses is cut into slots. Records and tables of exponentials must
 * hold what makes sense; data is whatever is there. */
typedef enum { SLOT_DATA, SLOT_RECORD, SLOT_SOFTMAX, SLOT_NORM, SLOT_EXP } slot_kind;
typedef struct {
  int64_t from, end;
  slot_kind kind;
  int image; /* of records: what was loaded */
} stream_slot;

enum { STREAM_IMAGES = 12, STREAM_IMAGE_ENTRIES = 64, EXP_BYTES = 768 };
enum { TABLE_UNWRITTEN, TABLE_ANY, TABLE_EXP }; /* EXP + i: bytes i of the exponentials */

typedef struct {
  const wk_machine *m;
  int64_t n; /* array */
  wk_rng rng;
  int work;
  int wait_style; /* 0 all that conflict, 1 as few as possible, 2 more than needed, 3 by chance */
  WK_VEC(stream_command) done;
  uint32_t issued[WK_QUEUE_COUNT];
  int64_t arena, arena_end;
  stream_slot slots[STREAM_SLOTS];
  int n_slots;
  uint8_t sums[STREAM_ENTRIES];       /* of how many channels an accumulator entry holds a sum */
  int64_t open_acc, open_ny, open_nx; /* the last sums that were not drained; open_ny 0: none */
  int tables[16];
  int16_t za[STREAM_IMAGES], zb[STREAM_IMAGES]; /* zero points in the records */
  int64_t data, data_size, images, exps, out, out_size, dump; /* addresses in memory */
} drawing;

/* ---- numbers --------------------------------------------------------------------------------- */
int64_t stream_int(drawing *d, int64_t low, int64_t high); /* inclusive */
bool stream_chance(drawing *d, int percent);
int64_t stream_small(drawing *d, int64_t high); /* 1 .. high, mostly small */
int64_t stream_gap(drawing *d);                 /* often 0 */

/* ---- commands -------------------------------------------------------------------------------- */
stream_command stream_begin(drawing *d, int opcode);
void stream_uses(stream_command *x, stream_space space, bool writes, int64_t from, int64_t bytes);
/* Waits, priority, operator; it is part of the stream. */
void stream_emit(drawing *d, stream_command *x);

/* ---- places: false when there is none -------------------------------------------------------- */
bool stream_place_read(drawing *d, int64_t bytes, int64_t align, int64_t *at);
/* Beside everything that x reads in the scratchpad so far. */
bool stream_place_write(drawing *d, const stream_command *x, int64_t bytes, int64_t *at);
bool stream_overlaps(const stream_command *x, int64_t from, int64_t bytes);
/* A record with so many entries; what its factors must suit: `mul`, or sums of two products. */
typedef enum { FACTORS_ANY, FACTORS_MUL, FACTORS_SUM } stream_factors;
bool stream_find_record(drawing *d, slot_kind kind, int64_t entries, stream_factors use,
                        int64_t *at);

/* ---- memory images: random_stream_data.c ----------------------------------------------------- */
wk_status stream_fill_memory(drawing *d, wk_stream *s) WK_MUST_CHECK;
int64_t stream_image_address(const drawing *d, int image);
int64_t stream_type_of_zero(drawing *d, int64_t zero); /* u8 of an operand with this zero point */
int stream_image_at(const drawing *d, int64_t record); /* what was loaded there */
static inline bool stream_image_is_mul(int image) { return image % 2 == 0; }  /* ma >= 0 */
static inline bool stream_image_is_wide(int image) { return image % 4 == 0; } /* ma < 2^24 */
static inline slot_kind stream_image_kind(int image) {
  return image % 4 == 3 ? SLOT_SOFTMAX : image % 4 == 1 && image > 1 ? SLOT_NORM : SLOT_RECORD;
}

/* ---- one draw each; false: it did not fit ---------------------------------------------------- */
bool stream_draw_conv(drawing *d);
bool stream_draw_dwc(drawing *d);
bool stream_draw_mm(drawing *d);
bool stream_draw_map(drawing *d);
bool stream_draw_pool(drawing *d);
bool stream_draw_row(drawing *d);
bool stream_draw_trn(drawing *d);
bool stream_draw_tab(drawing *d);
bool stream_draw_mark(drawing *d);
bool stream_draw_ld(drawing *d);
bool stream_draw_st(drawing *d);
bool stream_draw_fill(drawing *d);
/* Fills [from, end) of the scratchpad with data by whatever commands. */
void stream_fill_bytes(drawing *d, int64_t from, int64_t end);
void stream_load_slot(drawing *d, stream_slot *slot); /* of a record or of exponentials */
void stream_dump(drawing *d);

/* ---- windows: random_stream_window.c --------------------------------------------------------- */
/* The window's fields of CONV, DWC and POOL, but `in`; ny, nx, ky and kx are set before. */
void stream_draw_window(drawing *d, int64_t *v, int64_t pixel);
/* Places the input: blocks of `bytes` bytes from every tap. */
bool stream_place_window(drawing *d, stream_command *x, int64_t bytes);
int64_t stream_most_taps(const int64_t *v); /* that a window has outside the padding */

#endif
