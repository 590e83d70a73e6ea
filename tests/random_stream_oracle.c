/* SPDX-License-Identifier: Apache-2.0
 * What a stream depends on, byte by byte: which bytes each command reads and writes comes from
 * random_stream_bytes.c, the order from the transitive closure over all starts and retirements. */
#include "tests/random_stream_bytes.h"

#include <stdlib.h>
#include <string.h>

struct random_stream_oracle {
  uint32_t n;      /* commands without END */
  bool is_bad;     /* something reads what nobody wrote, or lies outside */
  bool *conflicts; /* [earlier * n + later] */
};

/* ---- conflicts ------------------------------------------------------------------------------- */

static bool meet(const uint64_t *a, const uint64_t *b, size_t words) {
  for (size_t i = 0; i < words; i++)
    if (a[i] & b[i]) return true;
  return false;
}

static bool do_conflict(const stream_bytes *a, const stream_bytes *b, size_t words) {
  if (meet(a->writes, b->reads, words) || meet(a->reads, b->writes, words) ||
      meet(a->writes, b->writes, words))
    return true;
  bool same_sums = a->sums_from < b->sums_end && b->sums_from < a->sums_end;
  return same_sums && a->drains; /* sums are added in order, but a drain ends them */
}

/* In stream order: is all that is read there? */
static bool reads_unwritten(const stream_bytes *x, uint32_t n, size_t words, size_t memory_from,
                            int64_t entries) {
  uint64_t *written = wk_xcalloc(words, sizeof *written);
  int64_t *sums = wk_xcalloc((size_t)entries, sizeof *sums); /* channels */
  bool bad = false;
  for (uint32_t i = 0; i < n && !bad; i++) {
    for (size_t w = 0; w < memory_from; w++) bad = bad || (x[i].reads[w] & ~written[w]);
    for (int64_t e = x[i].sums_from; e < x[i].sums_end; e++) {
      bad = bad || (x[i].accumulates && sums[e] < x[i].channels);
      sums[e] = x[i].drains ? 0 : x[i].channels;
    }
    for (size_t w = 0; w < words; w++) written[w] |= x[i].writes[w];
  }
  free(written);
  free(sums);
  return bad;
}

random_stream_oracle *random_stream_oracle_new(const wk_stream *s) {
  random_stream_oracle *o = wk_xcalloc(1, sizeof *o);
  stream_cells cells = stream_cells_of(s);
  stream_bytes *x = wk_xcalloc(s->n, sizeof *x);
  wk_isa_command c;
  o->n = s->n - 1;
  o->conflicts = wk_xcalloc((size_t)o->n * o->n + 1, sizeof *o->conflicts);
  for (uint32_t i = 0; i < o->n; i++) {
    wk_stream_get(s, i, &c);
    stream_bytes_of(&s->machine, &cells, &c, &x[i]);
    o->is_bad = o->is_bad || x[i].is_outside;
  }
  for (uint32_t i = 0; i < o->n && !o->is_bad; i++)
    for (uint32_t k = i + 1; k < o->n; k++)
      o->conflicts[i * o->n + k] = do_conflict(&x[i], &x[k], cells.words);
  o->is_bad = o->is_bad || reads_unwritten(x, o->n, cells.words, cells.memory / 64,
                                           wk_machine_entries(&s->machine));
  for (uint32_t i = 0; i < o->n; i++) stream_bytes_free(&x[i]);
  free(x);
  return o;
}

void random_stream_oracle_free(random_stream_oracle *o) {
  free(o->conflicts);
  free(o);
}

/* ---- order ----------------------------------------------------------------------------------- */

enum { MOST = 128, WORDS = 2 * MOST / 64 };

/* Event 2i: command i starts; 2i + 1: it retires. from[a] has b: a comes before b. */
typedef struct {
  uint64_t before[2 * MOST][WORDS];
} closure;

static void comes_before(closure *k, uint32_t a, uint32_t b) {
  k->before[a][b / 64] |= UINT64_C(1) << b % 64;
}

static void close_over(closure *k, uint32_t events) {
  for (uint32_t mid = 0; mid < events; mid++)
    for (uint32_t a = 0; a < events; a++)
      if (k->before[a][mid / 64] >> mid % 64 & 1)
        for (int w = 0; w < WORDS; w++) k->before[a][w] |= k->before[mid][w];
}

static void put_order(const wk_stream *s, closure *k) {
  uint32_t of[WK_QUEUE_COUNT][MOST], n[WK_QUEUE_COUNT] = {0};
  wk_isa_command c;
  memset(k, 0, sizeof *k);
  for (uint32_t i = 0; i + 1 < s->n; i++) {
    wk_stream_get(s, i, &c);
    comes_before(k, 2 * i, 2 * i + 1);
    for (int q = 0; q < WK_QUEUE_COUNT; q++)
      if ((c.wait >> q & 1) && c.threshold[q] && c.threshold[q] <= n[q])
        comes_before(k, 2 * of[q][c.threshold[q] - 1] + 1, 2 * i);
    if (n[c.queue]) {
      uint32_t last = of[c.queue][n[c.queue] - 1];
      comes_before(k, 2 * last, 2 * i);
      comes_before(k, 2 * last + 1, 2 * i + 1);
      if (c.queue == WK_QUEUE_ve) comes_before(k, 2 * last + 1, 2 * i);
    }
    of[c.queue][n[c.queue]++] = i;
  }
  close_over(k, 2 * (s->n - 1));
}

bool random_stream_oracle_allows(const random_stream_oracle *o, const wk_stream *s) {
  if (o->is_bad) return false;
  closure *k = wk_xcalloc(1, sizeof *k);
  bool ok = true;
  put_order(s, k);
  for (uint32_t i = 0; i < o->n; i++)
    for (uint32_t j = i + 1; j < o->n; j++) {
      bool ordered = k->before[2 * i + 1][2 * j / 64] >> (2 * j % 64) & 1;
      if (o->conflicts[i * o->n + j] && !ordered) ok = false;
    }
  free(k);
  return ok;
}

void random_stream_oracle_order(const wk_stream *s, wk_rng *r, uint32_t *order) {
  uint32_t of[WK_QUEUE_COUNT][MOST], n[WK_QUEUE_COUNT] = {0}, done[WK_QUEUE_COUNT] = {0}, ready[8];
  wk_isa_command c;
  for (uint32_t i = 0; i + 1 < s->n; i++) {
    wk_stream_get(s, i, &c);
    of[c.queue][n[c.queue]++] = i;
  }
  for (uint32_t i = 0; i + 1 < s->n; i++) {
    uint32_t n_ready = 0;
    for (uint32_t q = 0; q < WK_QUEUE_COUNT; q++) {
      if (done[q] == n[q]) continue;
      wk_stream_get(s, of[q][done[q]], &c);
      bool waits = false;
      for (int k = 0; k < WK_QUEUE_COUNT; k++)
        waits = waits || ((c.wait >> k & 1) && done[k] < c.threshold[k]);
      if (!waits) ready[n_ready++] = q;
    }
    uint32_t q = ready[wk_rng_range(r, 0, n_ready - 1)];
    order[i] = of[q][done[q]++];
  }
}
