/* SPDX-License-Identifier: Apache-2.0
 * The timing model: when things happen, without data. Every engine is a small state machine that
 * does in a cycle what its RTL does (sim/rtl, the file named after it); addresses are real, so
 * banks conflict as they do there. A cycle has three parts:
 *   1. engines say what they want from the scratchpad (wk_timing_<engine>_ask)
 *   2. banks are given out (wk_timing_grant)
 *   3. engines move on (wk_timing_<engine>_step), looking at the state of others as it was before
 * Cycles in which nothing moves are skipped. */
#ifndef WICK_ACCEL_MODEL_TIMING_H
#define WICK_ACCEL_MODEL_TIMING_H

#include "targets/accel/isa/parts.h"
#include "targets/accel/model/model.h"

/* ---- scratchpad ------------------------------------------------------------------------------ */

enum { WK_PORT_IN, WK_PORT_DRAIN, WK_PORT_VE, WK_PORT_WEIGHTS, WK_PORT_ST, WK_PORT_LD, /* and on */
       WK_PORTS_MAX = WK_PORT_LD + 3 };

typedef struct {
  bool wants, granted, writes;
  uint32_t address, bytes, operator; /* operator: of the command */
  int age; /* cycles waited */
} wk_port;

/* ---- DMA ------------------------------------------------------------------------------------- */

typedef struct {
  uint32_t dram, run, n[3], s[3]; /* memory: joined runs */
  uint32_t total, spm, c0, c1, c2, p1, p2, operator;
  int priority;
  bool fill;
} wk_transfer;

/* Cuts runs into bursts. */
typedef struct {
  bool valid;
  wk_transfer t;
  uint32_t address, rest, base[3], left[3];
} wk_walker;

/* Chunks of the scratchpad. */
typedef struct {
  wk_transfer t;
  uint32_t address, chunk, line, rest, chunks_left, lines_left;
} wk_pattern;

typedef struct {
  uint16_t lane, bytes;
  bool last;
} wk_piece;

enum { WK_TRANSFERS = 8, WK_PIECES = 64, WK_BEATS = 4 };

/* A channel. Loads: pieces wait for their data; stores: for their data to be sent. */
typedef struct {
  bool is_store;
  int port;
  int setup; /* 0 idle, 1 to 3 */
  wk_transfer next;
  wk_walker walker;
  wk_piece pieces[WK_PIECES];
  uint32_t pieces_head, pieces_n;
  wk_transfer waiting[WK_TRANSFERS];
  uint32_t waiting_head, waiting_n;
  uint32_t open;        /* commands between their first request and their last beat or answer */
  uint32_t beats;       /* loads: taken from the bus, not yet in the gearbox */
  bool first;           /* the next beat is the first of its piece */
  uint32_t piece_rest;  /* bytes of the piece still to come */
  uint32_t count;       /* bytes in the gearbox or packer */
  uint32_t put;         /* stores: bytes read in the cycle before */
  bool answers[2 * WK_PIECES]; /* stores: the burst is the last of its command */
  uint32_t answers_head, answers_n;
  bool busy;
  uint32_t left;
  wk_pattern pattern;
  bool done, asked;
} wk_channel;

/* ---- ex -------------------------------------------------------------------------------------- */

/* A CONV, DWC or MM as the engine sees it (wick_exec_decode.sv). DWC with three taps and MM have a
 * window of their own here. */
typedef struct {
  wk_window v;
  wk_epilogue e;
  int64_t k_c;
  int taps, kc, lanes, tail;
  uint32_t wt, w_c, w_r, operator;
  bool three, two, dwc, transposed, by_block;
} wk_work;

typedef struct {
  bool valid;
  wk_work w;
  int c, ky, kx, y, x, entry; /* position */
  bool first;                 /* of its tile */
} wk_mac;

typedef struct {
  bool busy, full;
  wk_work w;
  int line, tx, ty, c;
  uint32_t tile;
} wk_loader;

enum { WK_MAC_DELAY = 5, WK_PIXEL_STAGES = 11 };

typedef struct {
  bool pending_valid;
  wk_work pending;
  wk_loader loader;
  wk_mac mac;
  struct { bool valid, reads, last; int bank; } words[WK_MAC_DELAY]; /* on their way, [0] latest */
  bool summed;     /* a command's last sum was written in the cycle before */
  int summed_n;    /* of commands that D has not taken yet */
  bool waits;      /* D: a command waits for the record stage */
  wk_work wait_work;
  bool record_busy, record_loaded;
  wk_work record;
  uint32_t record_at, record_left;
  bool buffer_used[2];
  int buffer;
  bool walk_valid;
  wk_work walk;
  int walk_buffer, py, px;
  struct {
    bool valid, last, residual;
    uint32_t out, res, n, operator;
    int buffer;
  } pixels[WK_PIXEL_STAGES];
  bool written;    /* the pixel in the last stage has been */
  bool done;
  bool asks_record;
  /* MARK: what was accepted before it, and behind it */
  bool mark_valid, mark_snapped, mark_done;
  int before[3], behind[3]; /* not yet summed, taken by D, retired */
  uint32_t mark_row;
} wk_ex;

/* ---- ve -------------------------------------------------------------------------------------- */

enum { WK_VE_DEPTH = 6 };

typedef struct {
  bool reads, writes, completes; /* a slot: its access, and whether a result follows */
  uint32_t address, bytes, result, result_bytes;
} wk_slot;

typedef struct {
  bool busy, finished;
  wk_isa_command c;
  wk_isa_uses uses;
  wk_window window;                 /* of POOL */
  uint32_t record_words, record_at; /* slots of the record: all, done */
  bool record_entry;
  int state, i[6];                  /* of the unit; what they count is its business */
  uint64_t divided;                 /* cycle in which the divider is done */
  bool dividing, held;
  struct { uint32_t address, bytes; uint64_t ready; } results[WK_VE_DEPTH];
  uint32_t results_head, results_n;
  wk_slot slot;
  bool has_slot, is_result, is_record;
} wk_ve;

/* ---- all ------------------------------------------------------------------------------------- */

enum { WK_PREFETCH = 32, WK_BUS_DEPTH = 2 };

typedef struct {
  uint32_t index[32], head, n; /* commands in the stream */
} wk_command_queue;

/* Requests that wait for the bus, the oldest first. */
typedef struct {
  struct { uint8_t id; uint32_t address, beats; } at[WK_BUS_DEPTH];
  int n;
} wk_requests;

typedef struct wk_timing {
  const wk_timing_job *job;
  const wk_machine *m;
  wk_dram *dram;
  int n, banks, queues, loads, bus, burst;
  uint64_t now; /* cycles since the first of the run */
  bool moved;   /* something changed in this cycle */
  wk_port ports[WK_PORTS_MAX];
  /* front end */
  uint64_t fetch_address;
  uint32_t fetch_left, fetch_room, fetch_beats, fetched_n, dispatched;
  bool ended, held; /* held: by a DMA queue without room */
  wk_command_queue waiting[WK_QUEUE_COUNT];
  uint32_t retired[WK_QUEUE_COUNT], started[WK_QUEUE_COUNT], issued[WK_QUEUE_COUNT];
  wk_requests ar, aw; /* behind the arbiters */
  int ar_turn, ar_lost[4], ar_granted; /* -1: nobody */
  int w_n; /* beats behind the arbiter */
  bool w_taken;
  bool order[32]; /* whose data comes: true: the marks' */
  uint32_t order_head, order_n;
  bool beat_valid, answer_valid, answer_mark;
  int beat_id;
  struct { int state; uint32_t words, beats, rest, slot, address; } mark;
  bool mark_taken, aw_granted, aw_mark;
  wk_channel channels[4]; /* st, ld0 ... */
  wk_ex ex;
  wk_ve ve;
  bool retire[WK_QUEUE_COUNT];
  wk_timing_result *r;
} wk_timing;

void wk_timing_grant(wk_timing *t);

void wk_timing_channel_ask(wk_timing *t, wk_channel *c);
/* offered: the command at the head of its queue, NULL when it must wait. True: it was taken. */
bool wk_timing_channel_step(wk_timing *t, wk_channel *c, int id, const wk_isa_command *offered);
bool wk_timing_channel_request(const wk_timing *t, const wk_channel *c, uint32_t *address,
                               uint32_t *beats);
bool wk_timing_store_has_beat(const wk_timing *t, const wk_channel *c, bool *last);

void wk_timing_ex_ask(wk_timing *t);
bool wk_timing_ex_step(wk_timing *t, const wk_isa_command *offered);
void wk_timing_ve_ask(wk_timing *t);
bool wk_timing_ve_step(wk_timing *t, const wk_isa_command *offered);

/* WK_STATE_busy, _memory, _bank of an engine that holds a command; _empty when it holds none. */
int wk_timing_channel_state(const wk_timing *t, const wk_channel *c);
int wk_timing_ex_state(const wk_timing *t);
int wk_timing_ve_state(const wk_timing *t);

static inline void wk_timing_want(wk_timing *t, int port, uint32_t operator, uint32_t address,
                                  uint32_t bytes, bool writes) {
  t->ports[port].wants = true;
  t->ports[port].operator = operator;
  t->ports[port].writes = writes;
  t->ports[port].address = address;
  t->ports[port].bytes = bytes;
}
static inline void wk_timing_count_sums(wk_timing *t, uint32_t operator, uint64_t n) {
  if (t->job->accesses) t->job->accesses[operator].sums += n;
}
static inline bool wk_timing_got(const wk_timing *t, int port) { return t->ports[port].granted; }

#endif
