/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/ports.h"

#include "targets/accel/isa/duration.h"
#include "targets/accel/isa/parts.h"
#include "targets/accel/isa/unit.h"

void wk_accel_ports_add(wk_accel_ports *p, const wk_accel_stretch *s) {
  if (p->n == WK_ACCEL_STRETCHES) {
    p->head = (p->head + 1) % WK_ACCEL_STRETCHES;
    p->n--;
  }
  p->at[(p->head + p->n++) % WK_ACCEL_STRETCHES] = *s;
}

double wk_accel_ports_lost(wk_accel_ports *p, int64_t from, int64_t to,
                           const wk_accel_accesses *a) {
  double lost = 0;
  for (uint32_t i = 0; i < p->n; i++) {
    const wk_accel_stretch *s = &p->at[(p->head + i) % WK_ACCEL_STRETCHES];
    int64_t begin = s->from > from ? s->from : from, end = s->to < to ? s->to : to;
    double waits = a->share * (s->waits + s->behind * (a->run - 1) / 2); /* for an own cycle */
    if (end > begin) lost += (double)(end - begin) * waits / (1 + waits);
  }
  while (p->n && p->at[p->head].to <= to) {
    p->head = (p->head + 1) % WK_ACCEL_STRETCHES;
    p->n--;
  }
  return lost;
}

double wk_accel_ports_now(const wk_accel_ports *p, int64_t now) {
  for (uint32_t i = p->n; i > 0; i--) {
    const wk_accel_stretch *s = &p->at[(p->head + i - 1) % WK_ACCEL_STRETCHES];
    if (s->to <= now) return 0;
    if (s->from <= now) return s->waits;
  }
  return 0;
}

/* Of accesses to words of `column` bytes, fewer than a bank's, of which `lanes` are read: how many
 * banks one needs, on average. */
static double banks_taken(int64_t n, int64_t column, int64_t lanes) {
  int64_t accesses = 0, crossing = 0;
  for (int64_t at = 0; at < n; at += column, accesses++) crossing += at + lanes > n;
  return (double)(accesses + crossing) / (double)accesses;
}

wk_accel_stretch wk_accel_ports_stretch(const wk_machine *m, const wk_isa_command *c, int64_t from,
                                        int64_t to) {
  const wk_epilogue e = wk_epilogue_of(c);
  int64_t n = m->array, column = c->opcode == WK_CMD_CONV ? WK_SV(c, CONV, in_x) : 0;
  double all = (double)(to - from) * (double)m->banks;
  double words = (double)wk_isa_tiles_of(m, c).words, stays = 1, taken = 1;
  double drained = e.drain ? (double)e.ny * e.nx * (e.residual ? 2 : 1) : 0;
  if (column > 0 && column < n) {
    stays = (double)n / (double)column;
    taken = banks_taken(n, column, WK_SV(c, CONV, kc) > 1 ? n : WK_SV(c, CONV, k_tail));
  }
  return (wk_accel_stretch){.from = from, .to = to,
                            .waits = (words * taken * (stays * taken + 1) / 2 + drained) / all,
                            .behind = words * taken * (stays - 1) / all};
}

static double share_of(const wk_isa_command *c, int64_t cycles) {
  if (c->opcode != WK_CMD_ROW || wk_isa_uses_of(c).entries == WK_USES_ENTRY_OF_COLUMN) return 1;
  bool softmax = WK_V(c, ROW, fn) == WK_CHOICE_ROW_softmax;
  int64_t words = WK_SV(c, ROW, kc), row = softmax ? 4 * words : words + 1;
  return (double)(WK_SV(c, ROW, ny) * row) / (double)cycles;
}

wk_accel_accesses wk_accel_ports_accesses(const wk_machine *m, const wk_isa_command *c,
                                          int64_t cycles) {
  bool is_run = c->opcode == WK_CMD_POOL && WK_SV(c, POOL, k_x) == m->array;
  return (wk_accel_accesses){.share = share_of(c, cycles),
                             .run = is_run ? (double)WK_SV(c, POOL, kx) : 1};
}

double wk_accel_ports_held(const wk_machine *m, const wk_isa_command *c, int64_t cycles) {
  double share = share_of(c, cycles);
  bool stays = c->opcode == WK_CMD_ROW && WK_SV(c, ROW, kc) > 1 &&
               WK_SV(c, ROW, in_c) % (m->banks * m->array) == 0;
  if (!stays) return share;
  bool reduces = wk_isa_uses_of(c).reduces;
  double run = (double)WK_SV(c, ROW, kc) * (reduces ? 1 : 2); /* accesses one after the other */
  const double most = WK_PORT_PATIENCE;
  return share * (run <= most ? run / 2 : most - most * most / (2 * run));
}
