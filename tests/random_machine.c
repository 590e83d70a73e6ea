/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/random_machine.h"

#include <stdio.h>

static int64_t power(wk_rng *r, int least, int most) {
  return INT64_C(1) << wk_rng_range(r, least, most);
}

static bool chance(wk_rng *r, int percent) { return wk_rng_range(r, 0, 99) < percent; }

static void draw_memory(wk_rng *r, wk_machine *m) {
  static const wk_fraction rates[] = {{1, 4}, {1, 1}, {3, 1}, {8, 1}, {32, 1}, {64, 1}};
  m->dram_bytes = rates[wk_rng_range(r, 0, 5)];
  m->dram_latency = chance(r, 50) ? 100 : wk_rng_range(r, 1, 1000);
  m->dram_write_latency = chance(r, 50) ? 100 : wk_rng_range(r, 1, 1000);
  m->dram_outstanding = chance(r, 50) ? 256 : wk_rng_range(r, 1, 64);
  m->dram_overhead = chance(r, 70) ? 0 : wk_rng_range(r, 1, 20);
  m->dram_jitter = chance(r, 50) ? 0 : wk_rng_range(r, 1, 300);
  m->dram_seed = wk_rng_range(r, 0, 1 << 20);
  if (chance(r, 30)) {
    m->dram_refresh_interval = wk_rng_range(r, 1000, 8000);
    m->dram_refresh_cycles = wk_rng_range(r, 1, 300);
  }
}

void random_machine(uint64_t seed, wk_machine *m) {
  wk_rng r = {seed * 31337 + 17};
  wk_status s = NULL;
  do {
    wk_status_free(s);
    wk_machine_defaults(m);
    m->array = power(&r, 3, 5);
    m->scratchpad = power(&r, 14, 20);
    m->banks = power(&r, 2, 4);
    m->accumulators = power(&r, 12, 18);
    m->tables = power(&r, 2, 4);
    m->load_channels = wk_rng_range(&r, 1, 3);
    m->fifo = power(&r, 1, 5);
    m->bus = power(&r, 4, 6);
    m->burst = power(&r, 6, 10);
    m->bursts = power(&r, 0, 6);
    draw_memory(&r, m);
    s = wk_machine_check(m);
  } while (s);
}

bool random_machine_write(const wk_machine *m, const char *path) {
  wk_str text = {0};
  FILE *f = fopen(path, "w");
  wk_machine_text(&text, m);
  bool fine = f && fwrite(text.s, 1, text.n, f) == text.n;
  if (f && fclose(f)) fine = false;
  wk_str_free(&text);
  return fine;
}
