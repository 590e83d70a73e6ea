/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/csv.h"
#include "cli/study/sim.h"
#include "cli/text.h"
#include "targets/accel/isa/parts.h"
#include "targets/accel/isa/unit_least.h"

/* ---- cycles ---------------------------------------------------------------------------------- */

static void charge_all(wk_sim_layers *out, const wk_sim_run *run) {
  wk_sched_charge *charges = wk_xcalloc(out->n + 1, sizeof *charges);
  wk_xcheck(wk_sim_charge(run, out->n, charges));
  for (uint32_t i = 0; i <= out->n; i++) {
    wk_sim_layer *l = &out->list[i];
    l->cycles = charges[i].cycles;
    l->transfers = charges[i].transfers;
    l->overlapped = charges[i].overlapped;
    l->exposed = charges[i].transfers - charges[i].overlapped;
  }
  free(charges);
}

/* ---- bytes and bounds ------------------------------------------------------------------------ */

static void count_bytes(wk_sim_layers *out, const wk_stream *s) {
  for (uint32_t i = 0; i < s->n; i++) {
    wk_isa_command c;
    if (!wk_stream_get(s, i, &c) || (c.opcode != WK_CMD_LD && c.opcode != WK_CMD_ST)) continue;
    wk_sim_layer *l = &out->list[c.operator <= out->n ? c.operator : 0];
    uint64_t bytes = wk_transfer_bytes(&c);
    *(c.opcode == WK_CMD_LD ? &l->read : &l->written) += bytes;
  }
}

static void count_accesses(wk_sim_layers *out, const wk_sim_run *run) {
  for (uint32_t i = 0; run->accesses && i < WK_TIMING_OPERATORS; i++) {
    wk_sim_layer *l = &out->list[i <= out->n ? i : 0];
    l->words += run->accesses[i].words;
    l->sums += run->accesses[i].sums;
  }
}

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void set_bounds(wk_sim_layer *l, const wk_machine *m) {
  uint64_t memory = wk_accel_memory_cycles(m, l->read + l->written);
  wk_accel_need bound = wk_accel_most_of(l->ex, l->drain, l->ve, memory);
  wk_accel_need least = wk_accel_need_of(m, &l->need);
  l->bound = bound.cycles, l->limit = bound.binds;
  l->least = least.cycles, l->binds = least.binds;
  l->hidden = l->bound > l->cycles ? l->bound - l->cycles : 0;
}

/* The part's least knows what cannot be at the same time. */
static void set_least_of_all(wk_sim_layers *l, const wk_sim_shown *x) {
  const wk_accel_unit *u = x->part->unit;
  uint32_t first = x->part->row->first_layer;
  if (!u->least) return;
  wk_accel_need need = wk_accel_need_of_part(x->machine, u->least + first,
                                             u->cuts ? u->cuts + first : NULL, l->n);
  l->total.least = need.cycles, l->total.binds = need.binds;
}

static void add(wk_sim_layer *to, const wk_sim_layer *l) {
  to->cycles += l->cycles;
  to->predicted += l->predicted;
  to->transfers += l->transfers;
  to->overlapped += l->overlapped;
  to->exposed += l->exposed;
  to->read += l->read;
  to->written += l->written;
  to->words += l->words;
  to->sums += l->sums;
  to->macs += l->macs;
  to->ex += l->ex;
  to->drain += l->drain;
  to->ve += l->ve;
  to->need.ex += l->need.ex;
  to->need.drain += l->need.drain;
  to->need.ve += l->need.ve;
  to->need.weights += l->need.weights;
  to->need.in += l->need.in;
  to->need.out += l->need.out;
}

wk_sim_layers wk_sim_layers_of(const wk_sim_shown *x) {
  const wk_accel_part *row = x->part->row;
  wk_sim_layers out = {.n = row->layers};
  out.list = wk_xcalloc(row->layers + 1, sizeof *out.list);
  charge_all(&out, x->run);
  count_bytes(&out, x->stream);
  count_accesses(&out, x->run);
  out.list[0].predicted = row->predicted; /* but for what is the layers' */
  for (uint32_t i = 0; i <= out.n; i++) {
    wk_sim_layer *l = &out.list[i];
    if (i) {
      const wk_accel_layer *from = &x->part->unit->layers[row->first_layer + i - 1];
      out.list[0].predicted -= from->predicted;
      l->predicted = from->predicted;
      l->macs = from->macs;
      l->ex = from->ex;
      l->drain = from->drain;
      l->ve = from->ve;
      if (x->part->unit->least) l->need = x->part->unit->least[row->first_layer + i - 1];
    }
    set_bounds(l, x->machine);
  }
  for (uint32_t i = 0; i <= out.n; i++) add(&out.total, &out.list[i]);
  set_bounds(&out.total, x->machine);
  set_least_of_all(&out, x);
  return out;
}

static double ratio(uint64_t part, double whole) { return whole > 0 ? (double)part / whole : -1; }

wk_sim_ratios wk_sim_ratios_of(const wk_machine *m, const wk_sim_layer *l, uint64_t all_cycles) {
  double array = (double)m->array * (double)m->array;
  return (wk_sim_ratios){
      .share = ratio(l->cycles, (double)all_cycles),
      .utilisation = ratio(l->macs, array * (double)l->cycles),
      .mapping = ratio(l->macs, array * (double)l->ex),
      .activity = l->ex ? ratio(l->ex, (double)l->cycles) : -1,
      .overlap = ratio(l->overlapped, (double)l->transfers),
      .efficiency = ratio(l->bound, (double)(l->cycles + l->hidden)),
      .of_least = l->least ? ratio(l->least, (double)most(l->cycles, l->least)) : -1};
}

/* ---- the table ------------------------------------------------------------------------------- */

const char *wk_sim_layer_name(const wk_sim_part *p, uint32_t operator) {
  if (!operator) return "other";
  return wk_accel_text(p->unit, p->unit->layers[p->row->first_layer + operator - 1].name);
}

const char *wk_sim_layer_op(const wk_sim_part *p, uint32_t operator) {
  if (!operator) return "";
  return wk_accel_text(p->unit, p->unit->layers[p->row->first_layer + operator - 1].op);
}

static wk_text24 percent(double v) {
  wk_text24 t;
  snprintf(t.s, sizeof t.s, v < 0 ? "-" : "%.1f", 100 * v);
  return t;
}

static void add_row(wk_table *t, const wk_machine *m, const char *name, const char *op,
                    const wk_sim_layer *l, uint64_t all) {
  wk_sim_ratios r = wk_sim_ratios_of(m, l, all);
  wk_table_row(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s"
               "\t%s", name,
               op, wk_sim_grouped(l->cycles).s, wk_sim_grouped(l->predicted).s,
               percent(r.share).s, percent(r.utilisation).s, percent(r.mapping).s,
               percent(r.activity).s, percent(r.overlap).s, wk_sim_grouped(l->exposed).s,
               wk_bytes_text(l->read).s, wk_bytes_text(l->written).s, *l->limit ? l->limit : "-",
               wk_sim_grouped(l->bound).s, wk_sim_grouped(l->hidden).s, percent(r.efficiency).s,
               *l->binds ? l->binds : "-", wk_sim_grouped(l->least).s, percent(r.of_least).s);
}

/* Of memory-bound layers: cycles that their least has beyond what it would be without weights. */
static uint64_t weights_cost(const wk_machine *m, const wk_sim_layer *l) {
  wk_sim_layer without = *l;
  without.need.weights = 0;
  set_bounds(&without, m);
  return l->least - without.least;
}

/* What only other layers can hide, and those only as far as the scratchpad has room. */
static void print_memory_bound(FILE *f, const wk_sim_shown *x, const wk_sim_layers *l) {
  wk_sim_layer sum = {0};
  uint64_t n = 0, shared = 0;
  for (uint32_t i = 1; i <= l->n; i++) {
    if (strcmp(l->list[i].binds, "memory") != 0) continue;
    add(&sum, &l->list[i]);
    shared += weights_cost(x->machine, &l->list[i]);
    n++;
  }
  if (!sum.exposed) return;
  const wk_accel_least *y = &sum.need;
  wk_accel_least moved = {.weights = y->weights, .in = y->in, .out = y->out};
  uint64_t memory = wk_accel_need_of(x->machine, &moved).cycles;
  fprintf(f, "\nMemory-bound: %" PRIu64 " %s, %s cycles, %.1f %%, %s of them exposed. Weights and "
          "the part's\ninputs and outputs take %s cycles to move, longer than the work on them; "
          "prefetch hides\nthat only behind other layers.", n, n == 1 ? "layer" : "layers",
          wk_sim_grouped(sum.cycles).s, 100 * ratio(sum.cycles, (double)l->total.cycles),
          wk_sim_grouped(sum.exposed).s, wk_sim_grouped(memory).s);
  if (2 * shared > memory)
    fprintf(f, " Several images in one run (--bind, --shape) share\nthe weights: each but the "
            "first may take up to %s cycles less.", wk_sim_grouped(shared).s);
  fputc('\n', f);
}

void wk_sim_print_layers(FILE *f, const wk_sim_shown *x, const wk_sim_layers *l) {
  wk_arena *a = wk_arena_new();
  wk_table t = {0};
  wk_table_row(&t, "\nlayer\top\tcycles\tpredicted\t%%\tuse %%\tmapping %%\tactivity %%\toverlap %%"
               "\texposed\tread\twritten\tlimit\tbound\thidden\tefficiency %%\tbinds\tleast"
               "\tof least %%");
  for (uint32_t k = 1; k <= l->n + 1; k++) {
    uint32_t i = k <= l->n ? k : 0; /* what belongs to none comes last */
    const wk_sim_layer *row = &l->list[i];
    if (!i && !row->cycles && !row->read && !row->written) continue;
    add_row(&t, x->machine, wk_text_shown(a, wk_sim_layer_name(x->part, i)),
            wk_text_shown(a, wk_sim_layer_op(x->part, i)), row, l->total.cycles);
  }
  add_row(&t, x->machine, "all", "", &l->total, l->total.cycles);
  wk_table_print(f, &t, "llrrrrrrrrrrlrrrlrr");
  print_memory_bound(f, x, l);
  wk_arena_free(a);
}

/* ---- comma-separated ------------------------------------------------------------------------- */

static void add_cell(wk_str *b, const char *text) {
  wk_csv_text(b, text);
  wk_str_add(b, ",");
}

static void add_ratio(wk_str *b, double v) {
  if (v >= 0) wk_str_printf(b, "%.6f", v);
  wk_str_add(b, ",");
}

static void add_numbers(wk_str *b, const uint64_t *v, size_t n) {
  for (size_t i = 0; i < n; i++) wk_str_printf(b, "%" PRIu64 ",", v[i]);
}

void wk_sim_add_csv_heading(wk_str *b) {
  if (!b->n)
    wk_str_add(b, "part,operator,layer,op,cycles,predicted,share,utilisation,mapping,activity,"
                  "overlap,exposed,macs,ex,drain,ve,read,written,bound,hidden,efficiency,limit,"
                  "least_ex,least_drain,least_ve,least_weights,least_in,least_out,least,of_least,"
                  "binds\n");
}

void wk_sim_add_csv(wk_str *b, const wk_sim_shown *x) {
  wk_sim_layers layers = wk_sim_layers_of(x);
  wk_sim_add_csv_heading(b);
  for (uint32_t i = 0; i <= layers.n; i++) {
    const wk_sim_layer *l = &layers.list[i];
    wk_sim_ratios r = wk_sim_ratios_of(x->machine, l, layers.total.cycles);
    const uint64_t numbers[] = {l->exposed, l->macs, l->ex, l->drain, l->ve, l->read, l->written,
                                l->bound, l->hidden};
    const uint64_t least[] = {l->need.ex, l->need.drain, l->need.ve, l->need.weights, l->need.in,
                              l->need.out, l->least};
    wk_str_printf(b, "%zu,%u,", x->part->number, i);
    add_cell(b, wk_sim_layer_name(x->part, i));
    add_cell(b, wk_sim_layer_op(x->part, i));
    wk_str_printf(b, "%" PRIu64 ",%" PRIu64 ",", l->cycles, l->predicted);
    add_ratio(b, r.share);
    add_ratio(b, r.utilisation);
    add_ratio(b, r.mapping);
    add_ratio(b, r.activity);
    add_ratio(b, r.overlap);
    add_numbers(b, numbers, WK_COUNTOF(numbers));
    add_ratio(b, r.efficiency);
    wk_str_printf(b, "%s,", l->limit);
    add_numbers(b, least, WK_COUNTOF(least));
    add_ratio(b, r.of_least);
    wk_str_printf(b, "%s\n", l->binds);
  }
  free(layers.list);
}
