/* SPDX-License-Identifier: Apache-2.0
 * The memory model against its definition (docs/machine.md, Memory), which makes a beat of its own
 * of every beat and a step of its own of every cycle: with bytes, and without them over idle
 * stretches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/support/support.h"
#include "targets/accel/model/model.h"

enum { CASES = 400, CYCLES = 6000, SIZE = 1 << 16, OTHERS = 99, MOST_BUS = 64, MOST_BEATS = 16 };

static int64_t draw(wk_rng *r, int64_t low, int64_t high) { return wk_rng_range(r, low, high); }
static bool one_in(wk_rng *r, int64_t n) { return draw(r, 1, n) == 1; }

/* ---- the definition -------------------------------------------------------------------------- */

typedef struct {
  bool is_write;
  int id;
  uint64_t ready; /* of a write without all its data: UINT64_MAX */
  uint32_t address, beats, come;
  uint8_t data[MOST_BEATS][MOST_BUS];
  uint64_t strobe[MOST_BEATS];
} request;

typedef struct {
  uint64_t cycle;
  int id, resp;
  bool last;
  uint8_t data[MOST_BUS];
} reply;

typedef struct {
  wk_dram_params p;
  uint8_t memory[SIZE];
  uint64_t now, pipe; /* pipe: end of the burst before, in 1 / bytes_num cycles */
  uint64_t answers, others;
  uint32_t inside;
  wk_rng rng;
  WK_VEC(request) waiting;
  WK_VEC(reply) beats;
  WK_VEC(reply) responses;
  size_t beat, response; /* the next one */
} definition;

static uint64_t jitter(definition *d) {
  return d->p.jitter ? (uint64_t)draw(&d->rng, 0, d->p.jitter) : 0;
}

static void ask(definition *d, bool is_write, int id, uint32_t address, uint32_t beats) {
  request x = {.is_write = is_write, .id = id, .address = address, .beats = beats};
  x.ready = is_write ? UINT64_MAX : d->now + d->p.latency + jitter(d);
  wk_vec_push(&d->waiting, x);
  d->inside++;
}

static request *open_write(definition *d) {
  for (size_t i = 0; i < d->waiting.n; i++) {
    request *x = &d->waiting.data[i];
    if (x->is_write && x->come < x->beats) return x;
  }
  return NULL;
}

static void send(definition *d, const uint8_t *data, uint64_t strobe) {
  request *x = open_write(d);
  memcpy(x->data[x->come], data, d->p.bus);
  x->strobe[x->come++] = strobe;
  if (x->come == x->beats) x->ready = d->now + jitter(d);
}

static int answer(definition *d, uint64_t address) {
  if ((int64_t)d->answers++ == d->p.error_beat) return WK_DRAM_SLVERR;
  return address + d->p.bus > d->p.size ? WK_DRAM_DECERR : WK_DRAM_OKAY;
}

static uint64_t in_cycles(const definition *d, uint64_t x) {
  return (x + d->p.bytes_num - 1) / d->p.bytes_num;
}

static void move(definition *d, const request *x) {
  uint64_t cost = (uint64_t)d->p.bus * d->p.bytes_den, ready = x->ready * d->p.bytes_num;
  uint64_t begin = (d->pipe > ready ? d->pipe : ready) + (uint64_t)d->p.overhead * d->p.bytes_num;
  d->pipe = begin + x->beats * cost;
  if (x->id == OTHERS) return;
  for (uint32_t k = 0; k < x->beats; k++) {
    uint64_t at = (uint64_t)x->address + k * d->p.bus;
    reply y = {.id = x->id, .last = k + 1 == x->beats};
    if (x->is_write && !y.last) continue;
    y.cycle = in_cycles(d, begin + (k + 1) * cost) + (x->is_write ? d->p.write_latency : 0);
    y.resp = answer(d, at);
    if (!x->is_write && at + d->p.bus <= d->p.size) memcpy(y.data, d->memory + at, d->p.bus);
    if (x->is_write) wk_vec_push(&d->responses, y);
    else wk_vec_push(&d->beats, y);
  }
  if (!x->is_write || d->responses.data[d->responses.n - 1].resp != WK_DRAM_OKAY) return;
  for (uint32_t k = 0; k < x->beats; k++)
    for (uint32_t i = 0; i < d->p.bus; i++)
      if (x->strobe[k] >> i & 1) d->memory[x->address + k * d->p.bus + i] = x->data[k][i];
}

/* Of those that are ready and behind nobody of their id, the first that was. */
static size_t next_of(const definition *d) {
  size_t best = d->waiting.n;
  for (size_t i = 0; i < d->waiting.n; i++) {
    const request *x = &d->waiting.data[i];
    bool is_oldest = true;
    for (size_t k = 0; k < i; k++)
      is_oldest &= d->waiting.data[k].id != x->id || d->waiting.data[k].is_write != x->is_write;
    if (!is_oldest || x->ready > d->now) continue;
    if (best == d->waiting.n || x->ready < d->waiting.data[best].ready) best = i;
  }
  return best;
}

static void tick(definition *d) {
  uint64_t num = d->p.bytes_num, i;
  if (d->p.traffic_num && wk_rng_next(&d->rng) >> 63) d->others += 2 * d->p.traffic_num;
  if (d->p.traffic_num && d->others >= 256ull * d->p.traffic_den) {
    d->others -= 256ull * d->p.traffic_den;
    wk_vec_push(&d->waiting,
                ((request){.id = OTHERS, .ready = d->now, .beats = 256 / d->p.bus}));
  }
  if (d->p.refresh_interval && d->now && d->now % d->p.refresh_interval == 0)
    d->pipe = (d->pipe > d->now * num ? d->pipe : d->now * num) + d->p.refresh_cycles * num;
  while (d->pipe < (d->now + 1) * num && (i = next_of(d)) < d->waiting.n) {
    move(d, &d->waiting.data[i]);
    memmove(&d->waiting.data[i], &d->waiting.data[i + 1],
            (--d->waiting.n - i) * sizeof *d->waiting.data);
  }
  d->now++;
}

static const reply *shown_beat(const definition *d) {
  const reply *y = &d->beats.data[d->beat];
  return d->beat < d->beats.n && y->cycle <= d->now ? y : NULL;
}

static const reply *shown_response(const definition *d) {
  const reply *y = &d->responses.data[d->response];
  return d->response < d->responses.n && y->cycle <= d->now ? y : NULL;
}

/* ---- three memories and who uses them -------------------------------------------------------- */

typedef struct {
  definition want;
  wk_dram *with_bytes, *without; /* the second is skipped over what is idle */
  uint8_t memory[SIZE];
  wk_rng rng;
  uint64_t skipped;
} bench;

static wk_dram_params draw_params(wk_rng *r) {
  wk_dram_params p = {.bus = 16u << draw(r, 0, 2), .latency = (uint32_t)draw(r, 1, 300),
                      .bytes_num = (uint32_t)draw(r, 1, 64), .bytes_den = (uint32_t)draw(r, 1, 5),
                      .write_latency = (uint32_t)draw(r, 1, 300),
                      .outstanding = (uint32_t)draw(r, 1, 12), .error_beat = -1, .size = SIZE,
                      .seed = (uint64_t)draw(r, 0, INT32_MAX)};
  if (one_in(r, 3)) p.overhead = (uint32_t)draw(r, 1, 30);
  if (one_in(r, 3)) p.jitter = (uint32_t)draw(r, 1, 200);
  if (one_in(r, 2)) p.refresh_interval = (uint32_t)draw(r, 2, one_in(r, 2) ? 20 : 1000);
  if (p.refresh_interval) p.refresh_cycles = (uint32_t)draw(r, 0, p.refresh_interval / 2);
  if (one_in(r, 3) && !p.overhead)
    p.traffic_num = p.bytes_num, p.traffic_den = 4 * p.bytes_den;
  if (one_in(r, 3)) p.error_beat = draw(r, 0, 200);
  return p;
}

static void open_bench(bench *b, uint64_t seed) {
  memset(b, 0, sizeof *b);
  b->rng.s = seed;
  for (int i = 0; i < SIZE; i++) b->memory[i] = (uint8_t)draw(&b->rng, 0, 255);
  memcpy(b->want.memory, b->memory, SIZE);
  b->want.p = draw_params(&b->rng);
  b->want.rng.s = b->want.p.seed;
  b->with_bytes = wk_dram_new(&b->want.p, b->memory);
  b->without = wk_dram_new(&b->want.p, NULL);
}

static void close_bench(bench *b) {
  wk_vec_free(&b->want.waiting);
  wk_vec_free(&b->want.beats);
  wk_vec_free(&b->want.responses);
  wk_dram_free(b->with_bytes);
  wk_dram_free(b->without);
}

/* Some lie behind the end of memory. */
static void request_something(bench *b, bool is_write) {
  uint32_t bus = b->want.p.bus, beats = (uint32_t)draw(&b->rng, 1, MOST_BEATS);
  uint32_t address = (uint32_t)draw(&b->rng, 0, (SIZE + 8 * bus) / bus) * bus;
  uint8_t id = (uint8_t)draw(&b->rng, 0, is_write ? 1 : 3);
  void (*const put)(wk_dram *, uint8_t, uint32_t, uint32_t) =
      is_write ? wk_dram_write : wk_dram_read;
  ask(&b->want, is_write, id, address, beats);
  put(b->with_bytes, id, address, beats);
  put(b->without, id, address, beats);
}

static void send_something(bench *b) {
  uint8_t data[MOST_BUS];
  uint64_t strobe = wk_rng_next(&b->rng);
  for (int i = 0; i < MOST_BUS; i++) data[i] = (uint8_t)draw(&b->rng, 0, 255);
  send(&b->want, data, strobe);
  assert_true(wk_dram_write_beat(b->with_bytes, data, strobe));
  assert_true(wk_dram_write_beat(b->without, NULL, 0));
}

static void check_beat(bench *b, wk_dram *d, bool has_bytes) {
  const reply *y = shown_beat(&b->want);
  wk_dram_beat got;
  assert_int_equal(wk_dram_read_beat(d, &got), y != NULL);
  if (!y) return;
  assert_int_equal(got.id, y->id);
  assert_int_equal(got.resp, y->resp);
  assert_int_equal(got.last, y->last);
  if (has_bytes) assert_memory_equal(got.data, y->data, b->want.p.bus);
}

static void check_response(bench *b, wk_dram *d) {
  const reply *y = shown_response(&b->want);
  uint8_t id, resp;
  assert_int_equal(wk_dram_response(d, &id, &resp), y != NULL);
  if (!y) return;
  assert_int_equal(id, y->id);
  assert_int_equal(resp, y->resp);
}

static void take_beat(bench *b) {
  b->want.inside -= b->want.beats.data[b->want.beat++].last;
  wk_dram_pop_read(b->with_bytes);
  wk_dram_pop_read(b->without);
}

static void take_response(bench *b) {
  b->want.inside--;
  b->want.response++;
  wk_dram_pop_response(b->with_bytes);
  wk_dram_pop_response(b->without);
}

/* False: nothing happens in this cycle, and nothing may. */
static bool wakes(bench *b, bool acts) {
  bool event = wk_dram_next_event(b->without) <= b->want.now;
  if (!event) {
    assert_null(shown_beat(&b->want));
    assert_null(shown_response(&b->want));
  }
  return acts || event;
}

static void cycle(bench *b, bool acts) {
  bool room = b->want.inside < b->want.p.outstanding, sends = open_write(&b->want) != NULL;
  bool is_awake = wakes(b, acts);
  if (is_awake && wk_dram_cycle(b->without) < b->want.now) {
    b->skipped += b->want.now - wk_dram_cycle(b->without);
    wk_dram_skip_to(b->without, b->want.now);
  }
  assert_int_equal(wk_dram_can_request(b->with_bytes), room);
  check_beat(b, b->with_bytes, true);
  check_response(b, b->with_bytes);
  if (is_awake) {
    check_beat(b, b->without, false);
    check_response(b, b->without);
    if (shown_beat(&b->want) && !one_in(&b->rng, 8)) take_beat(b);
    if (shown_response(&b->want)) take_response(b);
    if (acts && room && one_in(&b->rng, 2)) request_something(b, false);
    if (acts && room && one_in(&b->rng, 3)) request_something(b, true);
    if (acts && sends) send_something(b);
    wk_dram_tick(b->without);
  }
  wk_dram_tick(b->with_bytes);
  tick(&b->want);
}

static void test_definition(void **state) {
  bench *b = wk_xcalloc(1, sizeof *b);
  uint64_t skipped = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= CASES; seed++) {
    open_bench(b, seed);
    for (uint64_t rest = 0, acts = 0, t = 0; t < CYCLES; t++, rest--) {
      if (!rest) {
        acts = !acts;
        rest = (uint64_t)draw(&b->rng, 1, acts ? 40 : 1500);
      }
      cycle(b, acts);
    }
    assert_memory_equal(b->memory, b->want.memory, SIZE);
    skipped += b->skipped;
    close_bench(b);
  }
  free(b);
  print_message("%llu of %llu cycles were skipped\n", (unsigned long long)skipped,
                (unsigned long long)CASES * CYCLES);
  assert_true(skipped > (uint64_t)CASES * CYCLES / 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_definition)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
