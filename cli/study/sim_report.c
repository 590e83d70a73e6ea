/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/study/sim.h"
#include "cli/text.h"

static uint64_t subset(const uint64_t *c, int set) { return c[WK_COUNTER_subset_none + set]; }

wk_sim_figures wk_sim_figures_of(const wk_machine *m, const uint64_t *c) {
  enum { LOAD = 1, COMPUTE = 2, STORE = 4 }; /* the subsets' order in regs.def */
  wk_sim_figures f = {.cycles = c[WK_COUNTER_cycles], .exposed = c[WK_COUNTER_exposed],
                      .bytes_in = c[WK_COUNTER_bytes_ld0] + c[WK_COUNTER_bytes_ld1] +
                                  c[WK_COUNTER_bytes_ld2],
                      .bytes_out = c[WK_COUNTER_bytes_st]};
  for (int set = 0; set < 8; set++) {
    if (!(set & (LOAD | STORE))) continue;
    f.dma_active += subset(c, set);
    if (set & COMPUTE) f.overlapped += subset(c, set);
  }
  double peak = (double)m->array * (double)m->array * (double)f.cycles;
  if (peak > 0) f.active_lanes = (double)c[WK_COUNTER_macs] / peak;
  return f;
}

bool wk_sim_is_whole(const wk_sim_shown *x) {
  enum { FAILED = 4 }; /* STATUS */
  const wk_sim_result *r = &x->run->result;
  return r->cycles && !r->gave_up && !(r->status & FAILED);
}

static double percent(uint64_t part, uint64_t whole) {
  return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* 1234567 as "1,234,567" */
wk_text24 wk_sim_grouped(uint64_t n) {
  char digits[24];
  wk_text24 t;
  size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, n), used = 0;
  for (size_t i = 0; i < length && used + 2 < sizeof t.s; i++) {
    if (i && (length - i) % 3 == 0) t.s[used++] = ',';
    t.s[used++] = digits[i];
  }
  t.s[used] = 0;
  return t;
}

/* ---- summary --------------------------------------------------------------------------------- */

/* Memory keys that are not those that the part was scheduled for. */
static void add_schedule(wk_table *t, const wk_sim_shown *x) {
  const wk_machine *from = &x->part->unit->machine;
  wk_str b = {0};
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    wk_str have = {0}, want = {0};
    wk_machine_key_text(&have, x->machine, &wk_machine_keys[i]);
    wk_machine_key_text(&want, from, &wk_machine_keys[i]);
    if (strcmp(have.s, want.s) != 0)
      wk_str_printf(&b, "%s%s %s, not %s", b.n ? ", " : "", wk_machine_keys[i].name, want.s,
                    have.s);
    wk_str_free(&have);
    wk_str_free(&want);
  }
  if (b.n) wk_table_row(t, "scheduled for\t%s", b.s);
  wk_str_free(&b);
}

static void describe_machine(wk_table *t, const wk_sim_shown *x) {
  const wk_machine *m = x->machine;
  wk_table_row(t,
               "machine\t%s: %" PRId64 " x %" PRId64
               " MACs, %s + %s, memory %g B/cycle, latency %" PRId64,
               m->name, m->array, m->array, wk_bytes_text((uint64_t)m->scratchpad).s,
               wk_bytes_text((uint64_t)m->accumulators).s,
               (double)m->dram_bytes.num / (double)m->dram_bytes.den, m->dram_latency);
}

static void add_transfers(wk_table *t, const wk_machine *m, const wk_sim_figures *f) {
  uint64_t bytes = f->bytes_in + f->bytes_out;
  double rate = f->cycles ? (double)bytes / (double)f->cycles : 0;
  wk_table_row(t, "transfers\t%s in, %s out; %.2f B/cycle, %.2f GB/s",
               wk_bytes_text(f->bytes_in).s, wk_bytes_text(f->bytes_out).s, rate,
               rate * (double)m->clock_mhz / 1000);
}

/* "12 uJ" */
static wk_text24 energy_text(double pj) {
  static const char *const units[] = {"pJ", "nJ", "uJ", "mJ", "J"};
  wk_text24 t;
  size_t unit = 0;
  for (; pj >= 1000 && unit + 1 < WK_COUNTOF(units); unit++) pj /= 1000;
  snprintf(t.s, sizeof t.s, "%.3g %s", pj, units[unit]);
  return t;
}

static void add_energy(wk_table *t, const wk_sim_shown *x) {
  wk_sim_energy rows[WK_SIM_ENERGIES];
  double total = wk_sim_energy_of(x->machine, x->run->result.counters, rows);
  wk_str shares = {0};
  for (int i = 0; i < WK_SIM_ENERGIES; i++)
    if (rows[i].pj > 0)
      wk_str_printf(&shares, "%s%s %.1f %%", shares.n ? ", " : ": ", rows[i].name,
                    100 * rows[i].pj / total);
  wk_table_row(t, "energy\tabout %s%s", energy_text(total).s, shares.n ? shares.s : "");
  wk_str_free(&shares);
}

/* What no schedule can be below. */
static void add_least(wk_table *t, const wk_sim_layer *all, double of_least) {
  if (all->least)
    wk_table_row(t, "least\t%s cycles, of the %s, whatever the schedule: the run is at %.1f %% of "
                 "least", wk_sim_grouped(all->least).s, all->binds, 100 * of_least);
}

/* What the model has to multiply: a stream does not say. */
static void add_macs(wk_table *t, const wk_sim_shown *x) {
  wk_sim_layers l = wk_sim_layers_of(x);
  wk_sim_ratios r = wk_sim_ratios_of(x->machine, &l.total, l.total.cycles);
  wk_str shares = {0};
  if (r.activity >= 0)
    wk_str_printf(&shares, ": mapping %.1f %% x activity %.1f %%", 100 * r.mapping,
                  100 * r.activity);
  wk_table_row(t, "multiply-accumulates\t%s, %.1f %% of the peak%s",
               wk_text_count((int64_t)l.total.macs).s, 100 * r.utilisation,
               shares.n ? shares.s : "");
  wk_str_free(&shares);
  add_least(t, &l.total, r.of_least);
  free(l.list);
}

static void add_summary(wk_table *t, const wk_sim_shown *x) {
  const uint64_t *c = x->run->result.counters;
  wk_sim_figures f = wk_sim_figures_of(x->machine, c);
  wk_table_row(t, "cycles\t%s, %s at %" PRId64 " MHz", wk_sim_grouped(f.cycles).s,
               wk_text_seconds((double)f.cycles / ((double)x->machine->clock_mhz * 1e6)).s,
               x->machine->clock_mhz);
  if (x->part && wk_sim_is_whole(x)) add_macs(t, x);
  wk_table_row(t, "active lanes\t%s, %.1f %% of the peak, with those that only pad; the array "
               "computes in %.1f %% of the cycles", wk_text_count((int64_t)c[WK_COUNTER_macs]).s,
               100 * f.active_lanes, percent(c[WK_COUNTER_mac_cycles], f.cycles));
  add_transfers(t, x->machine, &f);
  wk_table_row(t, "overlap\t%.1f %% (of %s cycles with a transfer, %s also compute)",
               percent(f.overlapped, f.dma_active), wk_sim_grouped(f.dma_active).s,
               wk_sim_grouped(f.overlapped).s);
  wk_table_row(t, "exposed\t%s cycles, %.1f %%: nothing computes because it waits for a transfer",
               wk_sim_grouped(f.exposed).s, percent(f.exposed, f.cycles));
  wk_table_row(t, "scratchpad\t%s words read, %s written; accumulators %s entries read, %s written",
               wk_text_count((int64_t)c[WK_COUNTER_spm_reads]).s,
               wk_text_count((int64_t)c[WK_COUNTER_spm_writes]).s,
               wk_text_count((int64_t)c[WK_COUNTER_acc_reads]).s,
               wk_text_count((int64_t)c[WK_COUNTER_acc_writes]).s);
  add_energy(t, x);
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void add_queue(wk_table *t, const wk_sim_shown *x, int q, int queues) {
  const uint64_t *c = x->run->result.counters;
  uint64_t cycles = c[WK_COUNTER_cycles];
  wk_str row = {0};
  wk_str_printf(&row, "%s\t%" PRIu32, wk_isa_queue_name(q), x->run->result.done[q]);
  for (int state = 0; state < WK_STATE_wait; state++)
    wk_str_printf(&row, "\t%.1f", percent(c[wk_isa_counter(q, state, 0)], cycles));
  for (int r = 0; r < queues; r++)
    wk_str_printf(&row, "\t%.1f", percent(c[wk_isa_counter(q, WK_STATE_wait, r)], cycles));
  wk_table_row(t, "%s", row.s);
  wk_str_free(&row);
}

static void print_queues(FILE *f, const wk_sim_shown *x) {
  int queues = wk_machine_queues(x->machine);
  wk_table t = {0};
  wk_str head = {0};
  wk_str_add(&head, "queue\tcommands");
  for (int state = 0; state < WK_STATE_wait; state++)
    wk_str_printf(&head, "\t%s %%", wk_isa_states[state].name);
  for (int r = 0; r < queues; r++) wk_str_printf(&head, "\twait %s %%", wk_isa_queue_name(r));
  wk_table_row(&t, "%s", head.s);
  for (int q = 0; q < queues; q++) add_queue(&t, x, q, queues);
  fputc('\n', f);
  wk_table_print(f, &t, "lrrrrrrrrrrrr");
  wk_str_free(&head);
}

void wk_sim_print(FILE *f, const wk_sim_shown *x) {
  wk_table t = {0};
  wk_table_row(&t, "%s\t%s, %" PRIu32 " commands", x->part ? "part" : "stream",
               x->part ? x->part->name : x->stream->source, x->run->n);
  describe_machine(&t, x);
  if (x->part) add_schedule(&t, x);
  wk_table_row(&t, "model\t%s%s%s", x->model->name, x->model->build ? ", " : "",
               x->model->build ? x->model->build : "");
  /* Counters of a machine that still runs change while they are read. */
  bool is_known = x->run->result.cycles && !x->run->result.gave_up;
  if (is_known) add_summary(&t, x);
  wk_table_print(f, &t, "ll");
  if (is_known) print_queues(f, x);
}

/* ---- marks ---------------------------------------------------------------------------------- */

static void read_mark(const wk_sim_shown *x, uint64_t row, uint64_t *counters) {
  const uint8_t *p = x->run->memory + x->stream->marks + row * WK_MARK_BYTES;
  for (int i = 0; i < WK_COUNTER_COUNT; i++) memcpy(&counters[i], p + 8 * i, 8);
}

static void add_layer(wk_table *t, const wk_sim_shown *x, uint64_t row, const uint64_t *from,
                      const uint64_t *to) {
  uint64_t d[WK_COUNTER_COUNT];
  for (int i = 0; i < WK_COUNTER_COUNT; i++) d[i] = to[i] - from[i];
  wk_sim_figures f = wk_sim_figures_of(x->machine, d);
  wk_table_row(t, "%" PRIu64 "\t%s\t%.1f\t%.1f\t%s\t%s\t%s", row, wk_sim_grouped(f.cycles).s,
               100 * f.active_lanes, percent(f.overlapped, f.dma_active),
               wk_sim_grouped(f.exposed).s,
               wk_bytes_text(f.bytes_in).s, wk_bytes_text(f.bytes_out).s);
}

void wk_sim_print_marks(FILE *f, const wk_sim_shown *x) {
  uint64_t before[WK_COUNTER_COUNT] = {0}, now[WK_COUNTER_COUNT];
  wk_table t = {0};
  bool any = false;
  for (uint32_t i = 0; i < x->run->n; i++) {
    wk_isa_command c;
    if (!wk_stream_get(x->stream, i, &c) || c.opcode != WK_CMD_MARK) continue;
    read_mark(x, (uint64_t)c.v[WK_MARK_row], now);
    if (now[WK_COUNTER_cycles] <= before[WK_COUNTER_cycles]) continue; /* the run ended before */
    if (!any) wk_table_row(&t, "\nmark\tcycles\tactive lanes %%\toverlap %%\texposed\tin\tout");
    any = true;
    add_layer(&t, x, (uint64_t)c.v[WK_MARK_row], before, now);
    memcpy(before, now, sizeof now);
  }
  if (any) wk_table_print(f, &t, "rrrrrrr");
}

/* ---- commands, outputs ----------------------------------------------------------------------- */

void wk_sim_print_costs(FILE *f, const wk_sim_shown *x) {
  wk_table t = {0};
  wk_table_row(&t, "\nindex\tqueue\tstart\tend\tcycles\tcommand");
  for (uint32_t i = 0; i < x->run->n; i++) {
    const wk_sched_span *span = &x->run->spans[i];
    wk_isa_command c;
    wk_str text = {0};
    if (span->retire == WK_SCHED_NOT_RUN || !wk_stream_get(x->stream, i, &c)) continue;
    wk_disasm_command(&text, x->machine, &c);
    wk_table_row(&t, "%" PRIu32 "\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s", i,
                 wk_isa_queue_name(span->queue), span->start, span->retire,
                 span->retire - span->start, text.s);
    wk_str_free(&text);
  }
  wk_table_print(f, &t, "rlrrrl");
}

void wk_sim_print_outputs(FILE *f, const wk_sim_shown *x) {
  wk_table t = {0};
  bool any = false;
  for (size_t i = 0; i < x->stream->regions.n; i++) {
    const wk_image *r = &x->stream->regions.data[i];
    if (!r->is_output) continue;
    if (!any) wk_table_row(&t, "\nresult\tbytes\thash\tbegins");
    any = true;
    const uint8_t *p = x->run->memory + r->address;
    wk_str begin = {0};
    for (uint64_t k = 0; k < r->size && k < 8; k++)
      wk_str_printf(&begin, "%s%d", k ? " " : "", (int8_t)p[k]);
    wk_table_row(&t, "%s\t%s\t%016" PRIx64 "\t%s", r->name, wk_sim_grouped(r->size).s,
                 wk_hash64(p, r->size, 0), begin.s);
    wk_str_free(&begin);
  }
  if (any) wk_table_print(f, &t, "lrll");
}
