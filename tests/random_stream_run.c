/* SPDX-License-Identifier: Apache-2.0
 * A stream on the RTL against the functional model. */
#include "tests/random_stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "targets/accel/model/model.h"

/* ---- settings -------------------------------------------------------------------------------- */

static void draw_memory(wk_rng *r, wk_machine *m) {
  static const wk_fraction rates[] = {{4, 1}, {16, 1}, {64, 1}, {1, 1}, {3, 2}, {1, 4}, {8, 1}};
  static const int64_t latencies[] = {1, 2, 7, 30, 100, 400, 1500};
  m->dram_bytes = rates[wk_rng_range(r, 0, WK_COUNTOF(rates) - 1)];
  m->dram_latency = latencies[wk_rng_range(r, 0, WK_COUNTOF(latencies) - 1)];
  m->dram_write_latency = latencies[wk_rng_range(r, 0, WK_COUNTOF(latencies) - 1)];
  m->dram_outstanding = wk_rng_range(r, 0, 1) ? wk_rng_range(r, 1, 6) : 256;
  m->dram_overhead = wk_rng_range(r, 0, 2) ? 0 : wk_rng_range(r, 1, 20);
  m->dram_jitter = wk_rng_range(r, 0, 1) ? 0 : wk_rng_range(r, 1, 300);
  m->dram_refresh_interval = wk_rng_range(r, 0, 2) ? 0 : wk_rng_range(r, 200, 2000);
  m->dram_refresh_cycles = m->dram_refresh_interval / 10;
  if (wk_rng_range(r, 0, 2) == 0) { /* more would leave nothing */
    m->dram_traffic = (wk_fraction){m->dram_bytes.num, 2 * m->dram_bytes.den};
    m->dram_overhead = 0;
  }
  m->dram_seed = wk_rng_range(r, 0, INT32_MAX);
}

random_stream_setting random_stream_draw_setting(const wk_sim_model *rtl, const wk_machine *m,
                                                 uint64_t seed) {
  random_stream_setting s = {.rtl = rtl, .machine = *m, .seed = seed};
  wk_rng r = {seed * 77777 + 5};
  s.machine.dram_size = RANDOM_STREAM_MEMORY;
  if (!seed) return s;
  draw_memory(&r, &s.machine);
  s.stalls = wk_rng_range(&r, 0, 1);
  s.reset = (wk_sim_reset)wk_rng_range(&r, WK_SIM_RESET_ZEROS, WK_SIM_RESET_RANDOM);
  return s;
}

/* ---- memory ---------------------------------------------------------------------------------- */

bool random_stream_same_memory(const wk_stream *s, const uint8_t *got, const uint8_t *want,
                               wk_str *text) {
  uint64_t marks = s->marks, marks_end = marks + wk_stream_mark_bytes(s), n = 0, first = 0;
  for (uint64_t i = 0; i < (uint64_t)RANDOM_STREAM_MEMORY; i++) {
    if (got[i] == want[i] || (i >= marks && i < marks_end)) continue;
    if (!n++) first = i;
  }
  if (!n) return true;
  wk_str_printf(text, "%" PRIu64 " bytes of memory differ, first 0x%" PRIx64, n, first);
  for (size_t i = 0; i < s->regions.n; i++) {
    const wk_image *x = &s->regions.data[i];
    if (first >= x->address && first < x->address + x->size)
      wk_str_printf(text, " (%s+0x%" PRIx64 ")", x->name, first - x->address);
  }
  wk_str_printf(text, ": %d, not %d", got[first], want[first]);
  return false;
}

uint8_t *random_stream_memory(const wk_stream *s) {
  uint8_t *memory = wk_xcalloc(1, RANDOM_STREAM_MEMORY);
  for (size_t i = 0; i < s->regions.n; i++) {
    const wk_image *x = &s->regions.data[i];
    if (x->data) memcpy(memory + x->address, x->data, x->size);
  }
  memcpy(memory + s->address, s->bytes.data, s->bytes.n);
  return memory;
}

void random_stream_execute(const wk_stream *s, const uint32_t *order, uint8_t *memory) {
  wk_functional f;
  wk_isa_command c;
  wk_functional_init(&f, &s->machine, memory, RANDOM_STREAM_MEMORY);
  for (uint32_t i = 0; i + 1 < s->n; i++) {
    wk_stream_get(s, order[i], &c);
    wk_functional_execute(&f, &c);
  }
  wk_functional_free(&f);
}

/* ---- events ---------------------------------------------------------------------------------- */

typedef struct {
  uint32_t *of[WK_QUEUE_COUNT]; /* ordinal -> command */
  uint32_t n[WK_QUEUE_COUNT];
} queues;

static queues queues_of(const wk_stream *s) {
  queues y = {0};
  wk_isa_command c;
  for (int q = 0; q < WK_QUEUE_COUNT; q++) y.of[q] = wk_xcalloc(s->n, sizeof(uint32_t));
  for (uint32_t i = 0; i + 1 < s->n; i++) {
    wk_stream_get(s, i, &c);
    y.of[c.queue][y.n[c.queue]++] = i;
  }
  return y;
}

static void queues_free(queues *y) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++) free(y->of[q]);
}

/* Against the command before it in its queue. */
static bool follows(const wk_sched_span *x, const wk_sched_span *before, uint32_t i, wk_str *text) {
  const char *what = NULL;
  if (x->start < before->start) what = "starts before the one before it in its queue";
  else if (x->retire < before->retire) what = "retires before the one before it in its queue";
  else if (x->queue == WK_QUEUE_ve && x->start < before->retire) what = "starts while ve is busy";
  if (what) wk_str_printf(text, "command %u %s", i, what);
  return !what;
}

static bool waited(const wk_sim_run *r, const queues *y, const wk_isa_command *c, uint32_t i,
                   wk_str *text) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    if (!(c->wait >> q & 1) || !c->threshold[q]) continue;
    uint32_t other = y->of[q][c->threshold[q] - 1];
    if (r->spans[other].retire < r->spans[i].start) continue;
    wk_str_printf(text,
                  "command %u starts in cycle %" PRIu64
                  "; command %u, which it waits for, retires in "
                  "%" PRIu64,
                  i, r->spans[i].start, other, r->spans[other].retire);
    return false;
  }
  return true;
}

static bool is_span_right(const wk_stream *s, const wk_sim_run *r, const queues *y, int q,
                          uint32_t k, wk_str *text) {
  uint32_t i = y->of[q][k];
  const wk_sched_span *x = &r->spans[i];
  wk_isa_command c;
  wk_stream_get(s, i, &c);
  if (x->start == WK_SCHED_NOT_RUN || x->retire == WK_SCHED_NOT_RUN || x->retire < x->start) {
    wk_str_printf(text, "command %u starts in cycle %" PRId64 " and retires in %" PRId64, i,
                  (int64_t)x->start, (int64_t)x->retire);
    return false;
  }
  return waited(r, y, &c, i, text) && (!k || follows(x, &r->spans[y->of[q][k - 1]], i, text));
}

bool random_stream_events_are_right(const wk_stream *s, const wk_sim_run *r, wk_str *text) {
  queues y = queues_of(s);
  bool ok = true;
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    for (uint32_t k = 0; ok && k < y.n[q]; k++) ok = is_span_right(s, r, &y, q, k, text);
    if (ok && r->result.done[q] != y.n[q]) {
      wk_str_printf(text, "%u commands of %s retired, not %u", r->result.done[q],
                    wk_isa_queue_name(q), y.n[q]);
      ok = false;
    }
  }
  queues_free(&y);
  return ok;
}

/* ---- both ------------------------------------------------------------------------------------ */

static const wk_sched_span *sorted_spans; /* qsort has no context */
static int by_start(const void *a, const void *b) {
  uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
  uint64_t x = sorted_spans[i].start, y = sorted_spans[k].start;
  return x != y ? (x > y) - (x < y) : (i > k) - (i < k);
}

/* The functional model, with the commands in the order in which the RTL started them. */
static bool same_in_order_of_starts(const wk_stream *s, const wk_sim_run *r, wk_str *text) {
  uint32_t *order = wk_xcalloc(s->n, sizeof *order);
  uint8_t *memory = random_stream_memory(s);
  for (uint32_t i = 0; i < s->n; i++) order[i] = i;
  sorted_spans = r->spans;
  qsort(order, s->n - 1, sizeof *order, by_start);
  random_stream_execute(s, order, memory);
  bool same = random_stream_same_memory(s, r->memory, memory, text);
  if (!same) wk_str_add(text, " (in the order of starts)");
  free(memory);
  free(order);
  return same;
}

static bool said(wk_status s, wk_str *text) {
  if (!s) return true;
  wk_str_printf(text, "%s", s->message);
  wk_status_free(s);
  return false;
}

static bool is_right(const wk_stream *s, const wk_machine *m, const wk_sim_run *r, wk_str *text) {
  uint32_t *order = wk_xcalloc(s->n, sizeof *order);
  uint8_t *memory = random_stream_memory(s);
  for (uint32_t i = 0; i < s->n; i++) order[i] = i;
  random_stream_execute(s, order, memory);
  bool ok = said(wk_sim_verdict(s, m, r), text) &&
            random_stream_same_memory(s, r->memory, memory, text) &&
            random_stream_events_are_right(s, r, text) &&
            random_stream_counters_are_right(s, r, text) && same_in_order_of_starts(s, r, text);
  free(memory);
  free(order);
  return ok;
}

bool random_stream_agrees(const wk_stream *s, random_stream_setting *setting, wk_str *text) {
  const wk_sim_run_options o = {.machine = &setting->machine,
                                .max_cycles = 8000000,
                                .timeout = 2000000,
                                .reset = setting->reset,
                                .seed = setting->seed,
                                .stalls = setting->stalls};
  wk_sim_run r;
  text->n = 0;
  if (!said(wk_sim_run_stream(s, setting->rtl, &o, &r), text)) return false;
  bool ok = is_right(s, &setting->machine, &r, text);
  setting->cycles = r.result.cycles;
  wk_sim_run_free(&r);
  return ok;
}

/* ---- a stream that does not agree ------------------------------------------------------------ */

static bool differs(void *context, const wk_stream *s) {
  wk_str text = {0};
  random_stream_setting setting = *(const random_stream_setting *)context;
  bool ok = random_stream_agrees(s, &setting, &text);
  wk_str_free(&text);
  return !ok;
}

void random_stream_show(const wk_stream *s, random_stream_setting *setting, const char *machine,
                        uint64_t seed) {
  wk_str text = {0};
  wk_stream *small = random_stream_reduce(s, differs, setting);
  random_stream_agrees(small, setting, &text);
  wk_str_printf(&text, "\nsoak_streams --machine %s --seed %" PRIu64 " --count 1", machine, seed);
  random_stream_print(small, text.s);
  wk_str_free(&text);
  wk_stream_free(small);
}
