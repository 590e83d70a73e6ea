/* SPDX-License-Identifier: Apache-2.0
 * Load and store channels (wick_load.sv, wick_store.sv and what they are made of). */
#include <string.h>

#include "targets/accel/model/timing.h"

/* ---- commands -------------------------------------------------------------------------------- */

/* Joins runs that continue each other (wick_dma_setup.sv). */
static void join_runs(wk_transfer *x, uint32_t n0, const uint32_t *n, const uint32_t *s) {
  uint32_t length = n0;
  bool joined = true;
  x->run = n0;
  for (int k = 0; k < 3; k++) {
    joined = joined && (n[k] == 1 || s[k] == length);
    length *= n[k];
    x->n[k] = joined ? 1 : n[k];
    x->s[k] = s[k];
    if (joined) x->run = length;
  }
  x->total = length;
}

static wk_transfer transfer_of(const wk_isa_command *c) {
  wk_transfer x = {.priority = (int)c->priority, .fill = c->opcode == WK_CMD_FILL,
                   .operator = c->operator};
  if (x.fill) {
    x.spm = (uint32_t)WK_V(c, FILL, spm);
    x.c0 = (uint32_t)WK_V(c, FILL, c0);
    x.c1 = (uint32_t)WK_V(c, FILL, c1);
    x.c2 = (uint32_t)WK_V(c, FILL, c2);
    x.p1 = (uint32_t)WK_V(c, FILL, p1);
    x.p2 = (uint32_t)WK_V(c, FILL, p2);
    return x;
  }
  const uint32_t n[3] = {(uint32_t)WK_V(c, LD, n1), (uint32_t)WK_V(c, LD, n2),
                         (uint32_t)WK_V(c, LD, n3)};
  const uint32_t s[3] = {(uint32_t)WK_V(c, LD, s1), (uint32_t)WK_V(c, LD, s2),
                         (uint32_t)WK_V(c, LD, s3)};
  x.dram = (uint32_t)WK_V(c, LD, dram);
  x.spm = (uint32_t)WK_V(c, LD, spm);
  x.c0 = (uint32_t)WK_V(c, LD, c0);
  x.c1 = (uint32_t)WK_V(c, LD, c1);
  x.p1 = (uint32_t)WK_V(c, LD, p1);
  x.p2 = (uint32_t)WK_V(c, LD, p2);
  join_runs(&x, (uint32_t)WK_V(c, LD, n0), n, s);
  return x;
}

/* ---- memory side: bursts --------------------------------------------------------------------- */

static void walker_load(wk_walker *w, const wk_transfer *x) {
  *w = (wk_walker){.valid = true, .t = *x, .address = x->dram, .rest = x->run};
  for (int k = 0; k < 3; k++) {
    w->base[k] = x->dram;
    w->left[k] = x->n[k] - 1;
  }
}

static uint32_t walker_bytes(const wk_timing *t, const wk_walker *w) {
  uint32_t room = (uint32_t)t->burst - w->address % (uint32_t)t->burst;
  return w->rest < room ? w->rest : room;
}

static bool walker_is_last(const wk_timing *t, const wk_walker *w) {
  return walker_bytes(t, w) == w->rest && !w->left[0] && !w->left[1] && !w->left[2];
}

static void walker_step(const wk_timing *t, wk_walker *w) {
  uint32_t bytes = walker_bytes(t, w);
  int level = 0;
  if (walker_is_last(t, w)) {
    w->valid = false;
    return;
  }
  if (bytes < w->rest) {
    w->address += bytes;
    w->rest -= bytes;
    return;
  }
  while (!w->left[level]) level++;
  w->left[level]--;
  w->base[level] += w->t.s[level];
  w->address = w->base[level];
  for (int k = 0; k < level; k++) {
    w->left[k] = w->t.n[k] - 1;
    w->base[k] = w->address;
  }
  w->rest = w->t.run;
}

/* ---- scratchpad side: chunks ----------------------------------------------------------------- */

static void pattern_load(wk_pattern *p, const wk_transfer *x) {
  *p = (wk_pattern){.t = *x, .address = x->spm, .chunk = x->spm, .line = x->spm, .rest = x->c0,
                    .chunks_left = x->c1 - 1, .lines_left = x->c2 - 1};
}

static uint32_t pattern_bytes(const wk_timing *t, const wk_pattern *p) {
  return p->rest < (uint32_t)t->n ? p->rest : (uint32_t)t->n;
}

static bool pattern_is_last(const wk_timing *t, const wk_pattern *p) {
  return p->rest <= (uint32_t)t->n && !p->chunks_left && !p->lines_left;
}

static void pattern_step(const wk_timing *t, wk_pattern *p) {
  uint32_t bytes = pattern_bytes(t, p);
  if (bytes < p->rest) {
    p->address += bytes;
    p->rest -= bytes;
    return;
  }
  p->rest = p->t.c0;
  if (p->chunks_left) {
    p->chunks_left--;
    p->address = p->chunk += p->t.p1;
    return;
  }
  p->chunks_left = p->t.c1 - 1;
  p->lines_left--;
  p->address = p->chunk = p->line += p->t.p2;
}

/* ---- pieces: what was asked of memory -------------------------------------------------------- */

static uint32_t piece_limit(const wk_timing *t) { return (uint32_t)t->m->bursts; }

bool wk_timing_channel_request(const wk_timing *t, const wk_channel *c, uint32_t *address,
                               uint32_t *beats) {
  uint32_t bus = (uint32_t)t->bus, lane = c->walker.address % bus;
  if (!c->walker.valid || c->pieces_n == piece_limit(t)) return false;
  if (c->is_store && c->answers_n == piece_limit(t)) return false;
  *address = c->walker.address - lane;
  *beats = wk_ceil_div(lane + walker_bytes(t, &c->walker), bus);
  return true;
}

static wk_piece *piece(wk_channel *c) { return &c->pieces[c->pieces_head]; }

static void push_piece(const wk_timing *t, wk_channel *c) {
  wk_piece p = {.lane = (uint16_t)(c->walker.address % (uint32_t)t->bus),
                .bytes = (uint16_t)walker_bytes(t, &c->walker),
                .last = walker_is_last(t, &c->walker)};
  c->pieces[(c->pieces_head + c->pieces_n++) % WK_PIECES] = p;
  if (c->is_store)
    c->answers[(c->answers_head + c->answers_n++) % (2 * WK_PIECES)] = p.last;
}

/* Bytes of the present beat of the first piece; whether it is the piece's last. */
static uint32_t beat_bytes(const wk_timing *t, wk_channel *c, bool *last) {
  uint32_t lane = c->first ? piece(c)->lane : 0, room = (uint32_t)t->bus - lane;
  uint32_t rest = c->first ? piece(c)->bytes : c->piece_rest;
  *last = rest <= room;
  return *last ? rest : room;
}

static void pass_beat(wk_channel *c, uint32_t used, bool last) {
  uint32_t rest = c->first ? piece(c)->bytes : c->piece_rest;
  c->first = last;
  c->piece_rest = rest - used;
  if (!last) return;
  if (!c->is_store && piece(c)->last) c->open--;
  c->pieces_head = (c->pieces_head + 1) % WK_PIECES;
  c->pieces_n--;
}

bool wk_timing_store_has_beat(const wk_timing *t, const wk_channel *c, bool *last) {
  if (!c->pieces_n) return false;
  return c->count >= beat_bytes(t, (wk_channel *)c, last);
}

/* ---- a cycle --------------------------------------------------------------------------------- */

static bool can_move(const wk_timing *t, const wk_channel *c) {
  uint32_t bytes = pattern_bytes(t, &c->pattern);
  if (!c->busy) return false;
  if (c->is_store) return c->count + c->put + bytes <= 3 * (uint32_t)t->bus + (uint32_t)t->n;
  return c->pattern.t.fill || c->count >= bytes;
}

void wk_timing_channel_ask(wk_timing *t, wk_channel *c) {
  c->asked = can_move(t, c);
  if (c->asked)
    wk_timing_want(t, c->port, c->pattern.t.operator, c->pattern.address,
                   pattern_bytes(t, &c->pattern), !c->is_store);
}

/* The setup stage; true: the offered command is taken. */
static bool step_setup(wk_timing *t, wk_channel *c, const wk_isa_command *offered, bool rec_room,
                       bool walk_room) {
  bool passes = c->setup == 3 && rec_room && (c->next.fill || walk_room);
  if (passes) {
    c->waiting[(c->waiting_head + c->waiting_n++) % WK_TRANSFERS] = c->next;
    if (!c->next.fill) {
      walker_load(&c->walker, &c->next);
      c->open++;
    }
    c->setup = 0;
    t->moved = true;
  }
  if (c->setup == 0) {
    if (!offered) return false;
    c->next = transfer_of(offered);
    c->setup = 1;
    t->moved = true;
    return true;
  }
  if (c->setup < 3) {
    c->setup++;
    t->moved = true;
  }
  return false;
}

/* Scratchpad side; true: the command's last byte moved. */
static bool step_bytes(wk_timing *t, wk_channel *c, bool has_waiting) {
  bool moves = c->asked && wk_timing_got(t, c->port), ends = false;
  uint32_t bytes = moves ? pattern_bytes(t, &c->pattern) : 0;
  if (moves) {
    ends = c->pattern.t.fill ? pattern_is_last(t, &c->pattern) : c->left == bytes;
    if (!c->pattern.t.fill && !c->is_store) c->count -= bytes;
    c->left -= bytes;
    if (!ends) pattern_step(t, &c->pattern);
    if (!c->pattern.t.fill)
      t->r->counters[c->is_store ? WK_COUNTER_bytes_st
                                 : WK_COUNTER_bytes_ld0 + (c->port - WK_PORT_LD)] += bytes;
  }
  t->moved |= moves || c->put;
  if (c->is_store) {
    c->count += c->put;
    c->put = bytes;
  }
  if (ends) c->busy = false;
  if (!c->busy && has_waiting) {
    const wk_transfer *x = &c->waiting[c->waiting_head];
    pattern_load(&c->pattern, x);
    c->left = x->total;
    c->busy = true;
    c->waiting_head = (c->waiting_head + 1) % WK_TRANSFERS;
    c->waiting_n--;
    t->moved = true;
  }
  return ends;
}

/* Loads: a beat from the bus into the FIFO, one from it into the gearbox, where there is room
 * behind what goes to the scratchpad in the same cycle. */
static void step_beats(wk_timing *t, wk_channel *c, bool arrives) {
  bool last, takes = c->asked && !c->pattern.t.fill && wk_timing_got(t, c->port);
  uint32_t kept = c->count - (takes ? pattern_bytes(t, &c->pattern) : 0);
  if (c->beats && c->pieces_n && kept <= (uint32_t)t->bus) {
    uint32_t used = beat_bytes(t, c, &last);
    c->count += used;
    c->beats--;
    pass_beat(c, used, last);
    t->moved = true;
  }
  if (arrives) c->beats++;
}

static void step_sends(wk_timing *t, wk_channel *c, bool had_beat) {
  bool last;
  if (!t->w_taken || !had_beat) return;
  uint32_t used = beat_bytes(t, c, &last);
  c->count -= used;
  pass_beat(c, used, last);
}

bool wk_timing_channel_step(wk_timing *t, wk_channel *c, int id, const wk_isa_command *offered) {
  bool last, had_beat = c->is_store && wk_timing_store_has_beat(t, c, &last);
  bool granted = c->is_store ? t->aw_granted && !t->aw_mark : t->ar_granted == id;
  bool answered = c->is_store && t->answer_valid && !t->answer_mark && c->answers[c->answers_head];
  bool arrives = !c->is_store && t->beat_valid && t->beat_id == id;
  bool rec_room = c->waiting_n < WK_TRANSFERS && c->open < (c->is_store ? 16u : 10u);
  bool walk_room = !c->walker.valid || (granted && walker_is_last(t, &c->walker));
  bool has_waiting = c->waiting_n > 0;
  uint32_t pieces = c->pieces_n;

  if (c->is_store) step_sends(t, c, had_beat);
  else if (pieces || arrives || c->beats) step_beats(t, c, arrives);
  if (c->is_store && t->answer_valid && !t->answer_mark) {
    c->answers_head = (c->answers_head + 1) % (2 * WK_PIECES);
    c->answers_n--;
    if (answered) c->open--;
  }
  if (granted) {
    push_piece(t, c);
    walker_step(t, &c->walker);
  }
  bool ended = step_bytes(t, c, has_waiting);
  bool taken = step_setup(t, c, offered, rec_room, walk_room);
  if (c->done) t->moved = true;
  c->done = c->is_store ? answered : ended;
  if (c->done) t->moved = true;
  return taken;
}

int wk_timing_channel_state(const wk_timing *t, const wk_channel *c) {
  bool active = c->setup || c->done ||
                (c->is_store ? c->open > 0 : c->waiting_n > 0 || c->busy);
  if (!active) return WK_STATE_empty;
  if (c->asked && !wk_timing_got(t, c->port)) return WK_STATE_bank;
  bool memory = c->is_store ? c->open && !c->asked : c->busy && !c->asked;
  return memory ? WK_STATE_memory : WK_STATE_busy;
}
