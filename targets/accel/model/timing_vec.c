/* SPDX-License-Identifier: Apache-2.0
 * The vector engine (wick_vec.sv): a slot a cycle, of the parameter record, then of the unit
 * that the command belongs to; results are written when WK_VE_DEPTH of them are on their way or
 * no other slots are left. */
#include <string.h>

#include "targets/accel/model/timing.h"
#include "targets/accel/isa/parts.h"

/* A unit says what its next slot is and moves past it; idle cycles are slots without access.
 * False: it has no slot in this cycle. */
typedef struct {
  bool (*slot)(const wk_timing *t, wk_ve *v, wk_slot *s);
  void (*pass)(const wk_timing *t, wk_ve *v);
  void (*idle)(const wk_timing *t, wk_ve *v); /* cycles without a slot; NULL: there are none */
} unit;

/* ---- MAP ------------------------------------------------------------------------------------- */

enum { I0, I1, I2 };

#define MAP_AT(v, base, s0, s1, s2)                                                     \
  ((uint32_t)(WK_V(&(v)->c, MAP, base) + (uint64_t)(v)->i[I0] * WK_V(&(v)->c, MAP, s0) + \
              (uint64_t)(v)->i[I1] * WK_V(&(v)->c, MAP, s1) +                            \
              (uint64_t)(v)->i[I2] * WK_V(&(v)->c, MAP, s2)))

static bool map_slot(const wk_timing *t, wk_ve *v, wk_slot *s) {
  uint32_t n = (uint32_t)WK_V(&v->c, MAP, n);
  (void)t;
  s->reads = true;
  s->bytes = n;
  if (v->uses.second && !v->held) {
    s->address = MAP_AT(v, b, b0, b1, b2);
    if (WK_V(&v->c, MAP, splat)) s->bytes = 1;
    return true;
  }
  s->address = MAP_AT(v, a, a0, a1, a2);
  s->completes = true;
  s->result = MAP_AT(v, out, y0, y1, y2);
  s->result_bytes = n;
  return true;
}

static void map_pass(const wk_timing *t, wk_ve *v) {
  const wk_isa_command *c = &v->c;
  (void)t;
  if (v->uses.second && !v->held) {
    v->held = true;
    return;
  }
  bool last = v->i[I0] == WK_SV(c, MAP, n0) - 1;
  v->held = WK_V(c, MAP, b0) == 0 && !last;
  if (!last) {
    v->i[I0]++;
    return;
  }
  v->i[I0] = 0;
  if (++v->i[I1] < WK_SV(c, MAP, n1)) return;
  v->i[I1] = 0;
  if (++v->i[I2] == WK_SV(c, MAP, n2)) v->finished = true;
}

/* ---- POOL ------------------------------------------------------------------------------------ */

enum { OY, OX, KY, KX, TAPS, ENTRY };

/* Behind the taps of a window comes a slot for the entry of their number. */
static bool has_entry_slot(const wk_ve *v) { return v->uses.entries == WK_USES_ENTRY_OF_TAPS; }

static bool pool_slot(const wk_timing *t, wk_ve *v, wk_slot *s) {
  const wk_window *w = &v->window;
  bool last_tap = v->i[KX] == w->kx - 1 && v->i[KY] == w->ky - 1;
  (void)t;
  s->completes = has_entry_slot(v) ? v->i[ENTRY] : last_tap;
  s->result = (uint32_t)(WK_V(&v->c, POOL, out) + (uint64_t)v->i[OY] * WK_V(&v->c, POOL, out_y) +
                         (uint64_t)v->i[OX] * WK_V(&v->c, POOL, out_x));
  s->result_bytes = (uint32_t)WK_V(&v->c, POOL, n);
  if (v->i[ENTRY]) {
    s->reads = v->i[TAPS] > 0;
    s->bytes = WK_ENTRY_BYTES;
    s->address = (uint32_t)WK_V(&v->c, POOL, par) + WK_RECORD_BYTES +
                 WK_ENTRY_BYTES * (uint32_t)(v->i[TAPS] - 1);
    return true;
  }
  s->reads = wk_window_is_inside(w, v->i[OY], v->i[OX], v->i[KY], v->i[KX]);
  s->bytes = s->result_bytes;
  s->address = (uint32_t)wk_window_address(w, v->i[OY], v->i[OX], v->i[KY], v->i[KX]);
  return true;
}

static void pool_pass(const wk_timing *t, wk_ve *v) {
  const wk_window *w = &v->window;
  (void)t;
  if (!v->i[ENTRY]) {
    if (wk_window_is_inside(w, v->i[OY], v->i[OX], v->i[KY], v->i[KX])) v->i[TAPS]++;
    if (++v->i[KX] < w->kx) return;
    v->i[KX] = 0;
    if (++v->i[KY] < w->ky) return;
    v->i[KY] = 0;
    if (has_entry_slot(v)) {
      v->i[ENTRY] = 1;
      return;
    }
  }
  v->i[ENTRY] = v->i[TAPS] = 0;
  if (++v->i[OX] < w->nx) return;
  v->i[OX] = 0;
  if (++v->i[OY] == w->ny) v->finished = true;
}

/* ---- ROW ------------------------------------------------------------------------------------- */

enum {
  MAXIMUM,
  MAXIMUM_FOLD,
  GAP,
  EXPONENTIAL,
  EXPONENTIAL_IDLE,
  EXPONENTIAL_FOLD,
  DIVIDE,
  OUTPUT
};
enum { WORD, COUNT, MAX_ROW, OUT_ROW };
enum { GAP_CYCLES = 2 };

static int folds(const wk_timing *t) { return __builtin_ctz((unsigned)t->n); }

static bool row_slot(const wk_timing *t, wk_ve *v, wk_slot *s) {
  const wk_isa_command *c = &v->c;
  bool softmax = WK_V(c, ROW, fn) == WK_CHOICE_ROW_softmax;
  bool last_word = v->i[WORD] == WK_SV(c, ROW, kc) - 1;
  int row = v->state == MAXIMUM || v->state == MAXIMUM_FOLD ? v->i[MAX_ROW] : v->i[OUT_ROW];
  if (v->state == GAP || v->state == DIVIDE) return false;
  s->reads = v->state == MAXIMUM || v->state == EXPONENTIAL || v->state == OUTPUT;
  s->bytes = (uint32_t)(last_word ? WK_SV(c, ROW, k_tail) : t->n);
  s->address = (uint32_t)(WK_V(c, ROW, in) + (uint64_t)row * WK_V(c, ROW, in_y) +
                          (uint64_t)v->i[WORD] * WK_V(c, ROW, in_c));
  s->completes = v->state == OUTPUT ||
                 (v->state == MAXIMUM_FOLD && !softmax && v->i[COUNT] == folds(t) - 1);
  s->result_bytes = softmax ? s->bytes : 1;
  s->result = (uint32_t)(WK_V(c, ROW, out) + (uint64_t)row * WK_V(c, ROW, out_y) +
                         (softmax ? (uint64_t)v->i[WORD] * WK_V(c, ROW, out_c) : 0));
  return true;
}

/* The state behind the last word, or the last fold, of the present one. */
static void row_next(const wk_timing *t, wk_ve *v) {
  const wk_isa_command *c = &v->c;
  bool softmax = WK_V(c, ROW, fn) == WK_CHOICE_ROW_softmax;
  int rows = (int)WK_SV(c, ROW, ny);
  switch (v->state) {
    case MAXIMUM: v->state = MAXIMUM_FOLD; break;
    case MAXIMUM_FOLD:
      v->i[MAX_ROW]++;
      if (softmax) v->state = GAP;
      else if (v->i[MAX_ROW] == rows) v->finished = true;
      else v->state = MAXIMUM;
      break;
    case EXPONENTIAL: v->state = EXPONENTIAL_IDLE; break;
    case EXPONENTIAL_IDLE: v->state = EXPONENTIAL_FOLD; break;
    case EXPONENTIAL_FOLD:
      v->dividing = true;
      v->divided = t->now + WK_COST_ve_divide;
      v->state = v->i[MAX_ROW] == rows ? DIVIDE : MAXIMUM;
      break;
    default:
      v->state = EXPONENTIAL;
      if (++v->i[OUT_ROW] == rows) v->finished = true;
  }
}

static void row_pass(const wk_timing *t, wk_ve *v) {
  bool fold = v->state == MAXIMUM_FOLD || v->state == EXPONENTIAL_FOLD;
  int *i = fold ? &v->i[COUNT] : &v->i[WORD];
  int end = v->state == EXPONENTIAL_IDLE ? 1 : fold ? folds(t) : (int)WK_SV(&v->c, ROW, kc);
  if (v->state != EXPONENTIAL_IDLE && ++*i < end) return;
  *i = 0;
  row_next(t, v);
}

static void row_idle(const wk_timing *t, wk_ve *v) {
  bool divided = !v->dividing || t->now >= v->divided;
  if (v->state == GAP && ++v->i[COUNT] == GAP_CYCLES) {
    v->i[COUNT] = 0;
    v->state = v->i[MAX_ROW] == 1 ? EXPONENTIAL : divided ? OUTPUT : DIVIDE;
  } else if (v->state == DIVIDE && divided) {
    v->state = OUTPUT;
  }
  if (divided) v->dividing = false;
}

/* ---- ROW layernorm, rmsnorm (wick_vec_norm_slots.sv) ----------------------------------------- */

enum { STATISTICS, ROOT_WAIT, WORD_IN, ENTRIES };
enum { PART = COUNT, STAT_ROW = MAX_ROW, SINCE = OUT_ROW + 1 };
enum { PARTS = 8 };

static bool is_norm(const wk_ve *v) { return v->uses.entries == WK_USES_ENTRY_OF_COLUMN; }

static int norm_parts(const wk_timing *t, const wk_ve *v, bool last_word) {
  int bytes = WK_ENTRY_BYTES * (int)WK_SV(&v->c, ROW, k_tail);
  return last_word ? wk_ceil_div(bytes, t->n) : PARTS;
}

static bool norm_slot(const wk_timing *t, wk_ve *v, wk_slot *s) {
  const wk_isa_command *c = &v->c;
  uint64_t word = (uint64_t)v->i[WORD];
  bool last_word = v->i[WORD] == WK_SV(c, ROW, kc) - 1;
  uint32_t lanes = (uint32_t)(last_word ? WK_SV(c, ROW, k_tail) : t->n);
  uint64_t row = (uint64_t)(v->state == STATISTICS ? v->i[STAT_ROW] : v->i[OUT_ROW]);
  s->reads = v->state != ROOT_WAIT;
  if (v->state != ENTRIES) {
    s->bytes = lanes;
    s->address =
        (uint32_t)(WK_V(c, ROW, in) + row * WK_V(c, ROW, in_y) + word * WK_V(c, ROW, in_c));
    return true;
  }
  uint32_t from = (uint32_t)(v->i[PART] * t->n), rest = WK_ENTRY_BYTES * lanes - from;
  s->bytes = rest < (uint32_t)t->n ? rest : (uint32_t)t->n;
  s->address = (uint32_t)WK_V(c, ROW, par) + WK_RECORD_BYTES +
               (uint32_t)word * (uint32_t)(PARTS * t->n) + from;
  s->completes = v->i[PART] == norm_parts(t, v, last_word) - 1;
  s->result_bytes = lanes;
  s->result =
      (uint32_t)(WK_V(c, ROW, out) + row * WK_V(c, ROW, out_y) + word * WK_V(c, ROW, out_c));
  return true;
}

static void norm_pass(const wk_timing *t, wk_ve *v) {
  int rows = (int)WK_SV(&v->c, ROW, ny), words = (int)WK_SV(&v->c, ROW, kc);
  bool last_word = v->i[WORD] == words - 1;
  v->i[SINCE]++;
  switch (v->state) {
    case STATISTICS:
      v->i[WORD] = last_word ? 0 : v->i[WORD] + 1;
      if (!last_word) return;
      v->i[SINCE] = 0;
      v->state = v->i[STAT_ROW]++ == 0 ? ROOT_WAIT : WORD_IN;
      return;
    case ROOT_WAIT:
      if (v->i[SINCE] >= WK_COST_ve_root) v->state = v->i[STAT_ROW] == rows ? WORD_IN : STATISTICS;
      return;
    case WORD_IN: v->state = ENTRIES; return;
    default:
      if (++v->i[PART] < norm_parts(t, v, last_word)) return;
      v->i[PART] = 0;
      v->i[WORD] = last_word ? 0 : v->i[WORD] + 1;
      v->state = WORD_IN;
      if (!last_word) return;
      v->state = ROOT_WAIT;
      if (++v->i[OUT_ROW] == rows) v->finished = true;
  }
}

/* ---- TRN, TAB -------------------------------------------------------------------------------- */

enum { READ, PAUSE, WRITE };
enum { LINE, TX, TY };

static bool trn_slot(const wk_timing *t, wk_ve *v, wk_slot *s) {
  const wk_isa_command *c = &v->c;
  uint64_t line = (uint64_t)v->i[LINE], tx = (uint64_t)v->i[TX], ty = (uint64_t)v->i[TY];
  (void)t;
  if (v->state == PAUSE) return false;
  s->reads = v->state == READ;
  s->writes = v->state == WRITE;
  s->bytes = (uint32_t)(s->reads ? WK_V(c, TRN, n) : WK_V(c, TRN, rows));
  s->address =
      (uint32_t)(s->reads ? WK_V(c, TRN, in) + ty * WK_V(c, TRN, in_y) + tx * WK_V(c, TRN, in_x) +
                                line * WK_V(c, TRN, in_r)
                          : WK_V(c, TRN, out) + ty * WK_V(c, TRN, out_y) +
                                tx * WK_V(c, TRN, out_x) + line * WK_V(c, TRN, out_r));
  return true;
}

static void trn_pass(const wk_timing *t, wk_ve *v) {
  const wk_isa_command *c = &v->c;
  int lines = (int)(v->state == READ ? WK_SV(c, TRN, rows) : WK_SV(c, TRN, n));
  (void)t;
  if (++v->i[LINE] < lines) return;
  v->i[LINE] = 0;
  if (v->state == READ) {
    v->state = PAUSE;
    return;
  }
  v->state = READ;
  if (++v->i[TX] < WK_SV(c, TRN, nx)) return;
  v->i[TX] = 0;
  if (++v->i[TY] == WK_SV(c, TRN, ny)) v->finished = true;
}

static void trn_idle(const wk_timing *t, wk_ve *v) {
  (void)t;
  v->state = WRITE;
}

static bool tab_slot(const wk_timing *t, wk_ve *v, wk_slot *s) {
  s->reads = true;
  s->bytes = (uint32_t)t->n;
  s->address = (uint32_t)(WK_V(&v->c, TAB, in) + (uint64_t)(v->i[LINE] * t->n));
  return true;
}

static void tab_pass(const wk_timing *t, wk_ve *v) {
  if (++v->i[LINE] == (int)WK_SV(&v->c, TAB, count) * WK_TABLE_BYTES / t->n) v->finished = true;
}

/* ---- the engine ------------------------------------------------------------------------------ */

static const unit units[32] = {[WK_CMD_MAP] = {map_slot, map_pass, NULL},
                               [WK_CMD_POOL] = {pool_slot, pool_pass, NULL},
                               [WK_CMD_ROW] = {row_slot, row_pass, row_idle},
                               [WK_CMD_TRN] = {trn_slot, trn_pass, trn_idle},
                               [WK_CMD_TAB] = {tab_slot, tab_pass, NULL}};

static const unit norm_unit = {norm_slot, norm_pass, NULL};

static const unit *unit_of(const wk_ve *v) {
  return is_norm(v) ? &norm_unit : &units[v->c.opcode];
}

static uint32_t record_address(const wk_isa_command *c) {
  switch (c->opcode) {
    case WK_CMD_MAP: return (uint32_t)WK_V(c, MAP, par);
    case WK_CMD_POOL: return (uint32_t)WK_V(c, POOL, par);
    default: return (uint32_t)WK_V(c, ROW, par);
  }
}

static void start(wk_timing *t, const wk_isa_command *c) {
  wk_ve *v = &t->ve;
  uint32_t n = (uint32_t)t->n;
  *v = (wk_ve){.busy = true, .c = *c, .uses = wk_isa_uses_of(c)};
  if (c->opcode == WK_CMD_POOL) v->window = wk_window_of(c);
  if (!v->uses.record) return;
  v->record_entry = v->uses.entries == WK_USES_ENTRY_0;
  v->record_words = WK_RECORD_BYTES / n + v->record_entry;
}

static bool ask_record(wk_timing *t) {
  wk_ve *v = &t->ve;
  if (v->record_at == v->record_words) return false;
  bool entry = v->record_entry && v->record_at == v->record_words - 1;
  v->slot = (wk_slot){.reads = true,
                      .bytes = entry ? WK_ENTRY_BYTES : (uint32_t)t->n,
                      .address = record_address(&v->c) + v->record_at * (uint32_t)t->n};
  return true;
}

static bool ask_result(const wk_timing *t, wk_ve *v) {
  bool turn = v->results_n == WK_VE_DEPTH || (v->finished && v->results_n);
  if (!turn) return false;
  v->slot = (wk_slot){.writes = v->results[v->results_head].ready <= t->now,
                      .address = v->results[v->results_head].address,
                      .bytes = v->results[v->results_head].bytes};
  return true;
}

void wk_timing_ve_ask(wk_timing *t) {
  wk_ve *v = &t->ve;
  v->is_record = v->is_result = v->has_slot = false;
  v->slot = (wk_slot){0};
  if (!v->busy) return;
  v->is_record = ask_record(t);
  if (!v->is_record) v->is_result = ask_result(t, v);
  if (!v->is_record && !v->is_result && !v->finished)
    v->has_slot = unit_of(v)->slot(t, v, &v->slot);
  if (v->slot.reads || v->slot.writes)
    wk_timing_want(t, WK_PORT_VE, v->c.operator, v->slot.address, v->slot.bytes, v->slot.writes);
}

static void push_result(const wk_timing *t, wk_ve *v) {
  int at = (int)(v->results_head + v->results_n++) % WK_VE_DEPTH;
  v->results[at].address = v->slot.result;
  v->results[at].bytes = v->slot.result_bytes;
  v->results[at].ready = t->now + (is_norm(v) ? WK_COST_ve_norm_latency : WK_COST_ve_latency);
}

static void move(wk_timing *t) {
  wk_ve *v = &t->ve;
  const unit *u = unit_of(v);
  bool accesses = v->slot.reads || v->slot.writes;
  bool passes = accesses ? wk_timing_got(t, WK_PORT_VE) : true;
  bool was_finished = v->finished;
  if (v->is_record) {
    v->record_at += passes;
  } else if (v->is_result) {
    if (accesses && passes) {
      v->results_head = (v->results_head + 1) % WK_VE_DEPTH;
      v->results_n--;
    }
  } else if (v->has_slot && passes) {
    if (v->slot.completes) push_result(t, v);
    u->pass(t, v);
  }
  if (!v->has_slot && !was_finished && !v->is_record && u->idle) u->idle(t, v);
}

int wk_timing_ve_state(const wk_timing *t) {
  const wk_port *p = &t->ports[WK_PORT_VE];
  if (!t->ve.busy) return WK_STATE_empty;
  return p->wants && !p->granted ? WK_STATE_bank : WK_STATE_busy;
}

bool wk_timing_ve_step(wk_timing *t, const wk_isa_command *offered) {
  wk_ve *v = &t->ve;
  bool done = v->busy && v->finished && !v->results_n;
  bool taken = offered && (!v->busy || done);
  t->retire[WK_QUEUE_ve] = done;
  if (v->busy || taken) t->moved = true;
  if (v->busy && !done) move(t);
  if (done) v->busy = false;
  if (taken) start(t, offered);
  return taken;
}
