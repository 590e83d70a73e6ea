/* SPDX-License-Identifier: Apache-2.0
 * The execute engine (wick_exec.sv): stages W, M and D. */
#include <string.h>

#include "targets/accel/model/timing.h"

/* ---- decode (wick_exec_decode.sv) ------------------------------------------------------------ */

static wk_work decode_conv(const wk_isa_command *c, int n) {
  wk_work w = {.v = wk_window_of(c), .e = wk_epilogue_of(c), .taps = 1, .lanes = n};
  w.wt = (uint32_t)WK_V(c, CONV, wt);
  w.k_c = (int64_t)WK_V(c, CONV, k_c);
  w.kc = (int)WK_V(c, CONV, kc);
  w.tail = (int)WK_V(c, CONV, k_tail);
  w.w_c = (uint32_t)(n * n);
  w.w_r = (uint32_t)n;
  return w;
}

static wk_work decode_dwc(const wk_isa_command *c, int n) {
  wk_work w = {.v = wk_window_of(c), .e = wk_epilogue_of(c), .taps = 1, .kc = 1, .dwc = true};
  w.wt = (uint32_t)WK_V(c, DWC, wt);
  w.lanes = w.tail = w.e.n;
  w.w_c = w.w_r = (uint32_t)n;
  if (WK_V(c, DWC, taps) != WK_CHOICE_TAPS_three) return w;
  w.three = true;
  w.taps = 3;
  w.two = w.v.sx == 2;
  w.v.nx = w.v.sx * (w.v.nx - 1) + 3;
  w.v.sx = 1;
  w.v.dx = 3;
  w.v.in_x = n;
  w.v.k_x = 3 * n;
  w.w_c = (uint32_t)(3 * n);
  return w;
}

static wk_work decode_mm(const wk_isa_command *c, int n) {
  wk_work w = {.v = {.nx = 1, .ky = 1, .kx = 1, .sy = 1, .sx = 1, .dy = 1, .dx = 1},
               .e = wk_epilogue_of(c), .taps = 1, .lanes = n, .by_block = true};
  w.v.in = (int64_t)WK_V(c, MM, in);
  w.v.in_y = (int64_t)WK_V(c, MM, in_y);
  w.k_c = (int64_t)WK_V(c, MM, k_c);
  w.v.ny = (int)WK_V(c, MM, ny);
  w.kc = (int)WK_V(c, MM, kc);
  w.tail = (int)WK_V(c, MM, k_tail);
  w.wt = (uint32_t)WK_V(c, MM, wt);
  w.w_c = (uint32_t)WK_V(c, MM, w_c);
  w.w_r = (uint32_t)WK_V(c, MM, w_r);
  w.transposed = WK_V(c, MM, transposed);
  return w;
}

static wk_work decode(const wk_timing *t, const wk_isa_command *c) {
  wk_work w = c->opcode == WK_CMD_CONV  ? decode_conv(c, t->n)
              : c->opcode == WK_CMD_DWC ? decode_dwc(c, t->n)
                                        : decode_mm(c, t->n);
  w.operator = c->operator;
  return w;
}

/* ---- W (wick_weights.sv) --------------------------------------------------------------------- */

static bool loader_last_block(const wk_loader *l) { return l->c == l->w.kc - 1; }

static int loader_lines(const wk_timing *t, const wk_loader *l) {
  if (l->w.dwc) return l->w.taps;
  if (!l->w.transposed) return l->w.e.n;
  return loader_last_block(l) ? l->w.tail : t->n;
}

static uint32_t loader_width(const wk_timing *t, const wk_loader *l) {
  if (l->w.transposed) return (uint32_t)l->w.e.n;
  return (uint32_t)(l->w.by_block && loader_last_block(l) ? l->w.tail : t->n);
}

static void loader_ask(wk_timing *t) {
  const wk_loader *l = &t->ex.loader;
  if (l->busy && !l->full)
    wk_timing_want(t, WK_PORT_WEIGHTS, l->w.operator, l->tile + (uint32_t)l->line * l->w.w_r,
                   loader_width(t, l), false);
}

static void loader_step(wk_timing *t, bool taken) {
  wk_loader *l = &t->ex.loader;
  bool step = l->busy && !l->full && wk_timing_got(t, WK_PORT_WEIGHTS);
  if (taken) l->full = false;
  if (!step || ++l->line < loader_lines(t, l)) return;
  l->full = true;
  l->line = 0;
  l->tile += l->w.w_c;
  l->tx += l->w.taps;
  if (l->tx < l->w.v.kx) return;
  l->tx = 0;
  if (++l->ty < l->w.v.ky) return;
  l->ty = 0;
  if (++l->c == l->w.kc) l->busy = false;
}

/* ---- M (wick_mac_issue.sv, wick_mac.sv, wick_acc.sv) ----------------------------------------- */

/* Of three taps, padding at the left end of a row is left out, up to two words. */
static int left_out(const wk_mac *m) {
  int lead = m->w.v.pad_l - m->kx;
  if (!m->w.three || !m->w.v.w || lead <= 0) return 0;
  return lead < 2 ? lead : 2;
}

static void mac_load(wk_mac *m, const wk_work *w) {
  *m = (wk_mac){.valid = true, .w = *w, .entry = (int)w->e.acc, .first = true};
  m->x = left_out(m);
}

static int mac_taps(const wk_mac *m) {
  int left = m->w.v.kx - m->kx;
  return left < m->w.taps ? left : m->w.taps;
}

/* The word needs no read: padding, or no tap uses it. */
static bool mac_skips(const wk_mac *m) {
  const wk_work *w = &m->w;
  if (!wk_window_is_inside(&w->v, m->y, m->x, m->ky, m->kx / w->taps)) return true;
  if (!w->three) return false;
  return m->x + 4 > w->v.nx + mac_taps(m) || (w->two && mac_taps(m) == 1 && (m->x & 1));
}

static bool mac_emits(const wk_mac *m) {
  return !m->w.three || (m->x >= 2 && !(m->w.two && (m->x & 1)));
}

static int mac_lanes(const wk_mac *m) {
  return m->c == m->w.kc - 1 ? m->w.tail : m->w.lanes;
}

static bool mac_is_last(const wk_mac *m) {
  const wk_work *w = &m->w;
  return m->x == w->v.nx - 1 && m->y == w->v.ny - 1 && m->kx + w->taps >= w->v.kx &&
         m->ky == w->v.ky - 1 && m->c == w->kc - 1;
}

static void mac_ask(wk_timing *t) {
  const wk_mac *m = &t->ex.mac;
  if (!m->valid || (m->first && !t->ex.loader.full) || mac_skips(m)) return;
  int64_t at = wk_window_address(&m->w.v, m->y, m->x, m->ky, m->kx / m->w.taps) + m->c * m->w.k_c;
  wk_timing_want(t, WK_PORT_IN, m->w.operator, (uint32_t)at, (uint32_t)mac_lanes(m), false);
}

static void mac_next(wk_mac *m) {
  const wk_work *w = &m->w;
  if (mac_emits(m)) m->entry++;
  m->first = false;
  if (++m->x < w->v.nx) return;
  m->x = left_out(m);
  if (++m->y < w->v.ny) return;
  m->y = 0;
  m->first = true;
  m->entry = (int)w->e.acc;
  m->kx += w->taps;
  if (m->kx >= w->v.kx) {
    m->kx = 0;
    if (++m->ky == w->v.ky) {
      m->ky = 0;
      m->c++;
    }
  }
  m->x = left_out(m);
}

static int bank_of(const wk_timing *t, int entry) { return entry >= wk_machine_entries(t->m) / 2; }

static void count_word(wk_timing *t, const wk_mac *m) {
  if (!mac_emits(m)) return;
  t->r->counters[WK_COUNTER_macs] +=
      (uint64_t)(m->w.e.n * (m->w.dwc ? mac_taps(m) : mac_lanes(m)));
  t->r->counters[WK_COUNTER_mac_cycles]++;
  t->r->counters[WK_COUNTER_acc_writes]++;
  if (t->ex.words[0].reads) t->r->counters[WK_COUNTER_acc_reads]++;
  wk_timing_count_sums(t, m->w.operator, 1 + t->ex.words[0].reads);
}

/* What the array reads in this cycle: the word that went out four cycles ago. */
static bool array_reads(const wk_ex *e, int bank) {
  return e->words[3].valid && e->words[3].reads && e->words[3].bank == bank;
}

/* True: the array takes the tile with this word. *ends: the command's last word. */
static bool mac_step(wk_timing *t, bool *ends) {
  wk_ex *e = &t->ex;
  wk_mac *m = &e->mac;
  bool ready = m->valid && (!m->first || e->loader.full);
  bool go = ready && (mac_skips(m) || wk_timing_got(t, WK_PORT_IN)), takes = go && m->first;
  *ends = go && mac_is_last(m);
  memmove(&e->words[1], &e->words[0], sizeof e->words - sizeof e->words[0]);
  e->words[0].valid = go && mac_emits(m);
  e->words[0].last = *ends;
  if (!go) return false;
  bool first_pass = !m->c && !m->ky && !m->kx;
  e->words[0].reads = m->w.e.accumulate || !first_pass;
  e->words[0].bank = bank_of(t, m->entry);
  count_word(t, m);
  if (*ends) m->valid = false;
  else mac_next(m);
  t->moved = true;
  return takes;
}

/* ---- D (wick_drain.sv) ----------------------------------------------------------------------- */

enum { RESIDUAL_STAGE = 4, LAST_STAGE = 9 }; /* of pixels[], which hold stages 1 to 10 */

static bool wants_write(const wk_ex *e) { return e->pixels[LAST_STAGE].valid && !e->written; }
static bool wants_residual(const wk_ex *e) {
  return e->pixels[RESIDUAL_STAGE].valid && e->pixels[RESIDUAL_STAGE].residual;
}

static bool record_asks(const wk_ex *e) {
  return e->record_busy && e->record.e.drain && !e->record_loaded && !e->buffer_used[e->buffer];
}

static void drain_ask(wk_timing *t) {
  wk_ex *e = &t->ex;
  uint32_t n = (uint32_t)t->n;
  e->asks_record = record_asks(e);
  if (e->asks_record)
    wk_timing_want(t, WK_PORT_DRAIN, e->record.operator, e->record_at,
                   e->record_left < n ? e->record_left : n, false);
  else if (wants_write(e))
    wk_timing_want(t, WK_PORT_DRAIN, e->pixels[LAST_STAGE].operator, e->pixels[LAST_STAGE].out,
                   e->pixels[LAST_STAGE].n, true);
  else if (wants_residual(e))
    wk_timing_want(t, WK_PORT_DRAIN, e->pixels[RESIDUAL_STAGE].operator,
                   e->pixels[RESIDUAL_STAGE].res, e->pixels[RESIDUAL_STAGE].n, false);
}

static bool pipe_is_empty(const wk_ex *e) {
  for (int i = 0; i <= LAST_STAGE; i++)
    if (e->pixels[i].valid) return false;
  return true;
}

static void record_begin(wk_ex *e) {
  e->record_busy = true;
  e->record_loaded = false;
  e->record = e->wait_work;
  e->record_at = (uint32_t)e->record.e.par;
  e->record_left = WK_RECORD_BYTES + WK_ENTRY_BYTES * (uint32_t)e->record.e.n;
  e->waits = false;
}

static void record_step(wk_timing *t) {
  wk_ex *e = &t->ex;
  if (!e->asks_record || !wk_timing_got(t, WK_PORT_DRAIN)) return;
  e->record_at += (uint32_t)t->n;
  if (e->record_left <= (uint32_t)t->n) e->record_loaded = true;
  else e->record_left -= (uint32_t)t->n;
}

static void walk_begin(wk_ex *e) {
  e->walk = e->record;
  e->walk_valid = true;
  e->walk_buffer = e->buffer;
  e->py = e->px = 0;
  e->buffer_used[e->buffer] = true;
  e->buffer = !e->buffer;
}

/* The next pixel into the first stage. */
static void pixel_issue(wk_timing *t) {
  wk_ex *e = &t->ex;
  const wk_work *w = &e->walk;
  uint64_t at = (uint64_t)e->py * w->e.out_y + (uint64_t)e->px * w->e.out_x;
  bool last = e->px == w->e.nx - 1 && e->py == w->v.ny - 1;
  e->pixels[0].valid = true;
  e->pixels[0].last = last;
  e->pixels[0].residual = w->e.residual;
  e->pixels[0].out = (uint32_t)(w->e.out + at);
  e->pixels[0].res = (uint32_t)(w->e.res + at);
  e->pixels[0].n = (uint32_t)w->e.n;
  e->pixels[0].buffer = e->walk_buffer;
  e->pixels[0].operator = w->operator;
  t->r->counters[WK_COUNTER_acc_reads]++;
  wk_timing_count_sums(t, w->operator, 1);
  if (last) e->walk_valid = false;
  if (++e->px < w->e.nx) return;
  e->px = 0;
  e->py++;
}

/* True: a draining command's last byte was written. */
static bool pixels_step(wk_timing *t, bool may_issue) {
  wk_ex *e = &t->ex;
  bool write = wants_write(e), read = wants_residual(e);
  bool granted = !e->asks_record && wk_timing_got(t, WK_PORT_DRAIN);
  bool moves = write ? granted && !read : !read || granted;
  bool ends = write && granted && e->pixels[LAST_STAGE].last;
  if (ends) e->buffer_used[e->pixels[LAST_STAGE].buffer] = false;
  e->written = !moves && (e->written || (write && granted));
  if (!moves) return ends;
  int entry = (int)e->walk.e.acc + e->py * e->walk.e.nx + e->px;
  bool issue = may_issue && e->walk_valid && !array_reads(e, bank_of(t, entry));
  memmove(&e->pixels[1], &e->pixels[0], LAST_STAGE * sizeof e->pixels[0]);
  e->pixels[0].valid = false;
  if (issue) pixel_issue(t);
  return ends;
}

/* ---- MARK (wick_exec_mark.sv) ---------------------------------------------------------------- */

enum { SUMMED, TAKEN, RETIRED };

static void count_event(wk_ex *e, int kind, bool accepted, bool happened) {
  int *down = happened && e->before[kind] ? &e->before[kind] : &e->behind[kind];
  if (accepted) (e->mark_valid ? e->behind : e->before)[kind]++;
  if (happened) --*down;
}

static void mark_step(wk_timing *t, bool starts, bool accepted, const bool *happened) {
  wk_ex *e = &t->ex;
  bool snap = e->mark_valid && !e->mark_snapped && !e->before[SUMMED] && t->mark.state == 0;
  bool finish = e->mark_valid && (e->mark_snapped || snap) && !e->before[RETIRED];
  for (int k = 0; k < 3; k++) count_event(e, k, accepted, happened[k]);
  t->mark_taken = snap;
  e->mark_done = finish;
  if (snap) e->mark_snapped = true;
  if (finish) {
    e->mark_valid = e->mark_snapped = false;
    for (int k = 0; k < 3; k++) {
      e->before[k] += e->behind[k];
      e->behind[k] = 0;
    }
  }
  if (starts) e->mark_valid = true;
  if (snap || finish || starts) t->moved = true;
}

/* ---- all ------------------------------------------------------------------------------------- */

void wk_timing_ex_ask(wk_timing *t) {
  mac_ask(t);
  drain_ask(t);
  loader_ask(t);
}

static bool drain_is_empty(const wk_ex *e) {
  return !e->waits && !e->record_busy && !e->walk_valid && !e->done && pipe_is_empty(e);
}

static bool is_active(const wk_ex *e) {
  if (e->loader.busy || e->pending_valid || e->mac.valid || e->mark_valid || !drain_is_empty(e))
    return true;
  for (int i = 0; i < WK_MAC_DELAY; i++)
    if (e->words[i].valid) return true;
  return false;
}

int wk_timing_ex_state(const wk_timing *t) {
  const wk_ex *e = &t->ex;
  const wk_port *in = &t->ports[WK_PORT_IN];
  if (!is_active(e)) return WK_STATE_empty;
  bool goes = e->mac.valid && (!e->mac.first || e->loader.full) && (!in->wants || in->granted);
  bool bank = in->wants && !in->granted;
  for (int p = WK_PORT_DRAIN; p <= WK_PORT_WEIGHTS; p++)
    if (p != WK_PORT_VE && !goes && t->ports[p].wants && !t->ports[p].granted) bank = true;
  if (bank) return WK_STATE_bank;
  bool waits_mark = e->mark_valid && !e->mark_snapped && !e->before[SUMMED] && t->mark.state != 0;
  bool waits = waits_mark && !e->mac.valid && !e->pending_valid && drain_is_empty(e);
  return waits ? WK_STATE_memory : WK_STATE_busy;
}

static void start(wk_timing *t, const wk_isa_command *c) {
  wk_ex *e = &t->ex;
  e->pending = decode(t, c);
  e->pending_valid = true;
  bool full = e->loader.full; /* the last tile of the command before */
  e->loader = (wk_loader){.busy = true, .full = full, .w = e->pending, .tile = e->pending.wt};
}

bool wk_timing_ex_step(wk_timing *t, const wk_isa_command *offered) {
  wk_ex *e = &t->ex;
  bool is_mark = offered && offered->opcode == WK_CMD_MARK, ends;
  bool taken = offered && (is_mark ? !e->mark_valid : !e->loader.busy && !e->pending_valid);
  bool summed = e->summed, hold = e->mark_valid && !e->before[TAKEN];
  bool record_done = e->record_busy && (!e->record.e.drain || e->record_loaded);
  bool takes = record_done && (summed || e->summed_n) && !e->walk_valid && !hold &&
               (e->record.e.drain || pipe_is_empty(e));
  bool drain_ready = !e->waits || !e->record_busy, was_full = e->loader.full;
  bool loads, had_mac = e->mac.valid, walked = e->walk_valid, waited = e->waits;
  bool record_was_busy = e->record_busy, retired = e->done, any = is_active(e) || taken;

  t->retire[WK_QUEUE_ex] = e->done || e->mark_done;
  e->summed = e->words[4].valid && e->words[4].last;
  bool ended = pixels_step(t, walked);
  record_step(t);
  bool takes_tile = mac_step(t, &ends);
  loader_step(t, takes_tile && was_full);
  loads = e->pending_valid && (!had_mac || ends) && drain_ready;
  e->summed_n += summed - takes;
  e->done = ended || (takes && !e->record.e.drain);
  if (takes) {
    e->record_busy = false;
    if (e->record.e.drain) walk_begin(e);
  }
  if (waited && !record_was_busy) record_begin(e);
  if (loads) {
    mac_load(&e->mac, &e->pending);
    e->waits = true;
    e->wait_work = e->pending;
    e->pending_valid = false;
  }
  const bool happened[3] = {summed, takes, retired};
  mark_step(t, taken && is_mark, taken && !is_mark, happened);
  if (taken && is_mark) e->mark_row = (uint32_t)WK_V(offered, MARK, row);
  if (taken && !is_mark) start(t, offered);
  if (any) t->moved = true;
  return taken;
}
