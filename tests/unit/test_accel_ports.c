/* SPDX-License-Identifier: Apache-2.0
 * Who waits for a bank of the scratchpad, in the schedule model: cycles that are lost to the array,
 * of stretches that are drawn, and what commands make others wait, by hand; and where buffers get
 * room, against a scratchpad that is looked at byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/compile/ports.h"
#include "compiler/stream/room.h"
#include "targets/accel/isa/stream.h"

static int64_t draw(wk_rng *r, int64_t low, int64_t high) { return wk_rng_range(r, low, high); }

static void expect_near(double got, double want) {
  if (got - want > 1e-9 || want - got > 1e-9) fail_msg("%.12f, not %.12f", got, want);
}

/* ---- stretches ------------------------------------------------------------------------------- */

enum { ADDED = 300 };

/* All stretches so far, those before `first` forgotten. */
typedef struct {
  wk_accel_stretch all[ADDED];
  int first, n;
} history;

static double looped_loss(history *h, int64_t from, int64_t to, const wk_accel_accesses *a) {
  double lost = 0;
  for (int64_t cycle = from; cycle < to; cycle++)
    for (int i = h->first; i < h->n; i++) {
      const wk_accel_stretch *s = &h->all[i];
      double waits = a->share * (s->waits + s->behind * (a->run - 1) / 2);
      if (cycle >= s->from && cycle < s->to) lost += waits / (1 + waits);
    }
  while (h->first < h->n && h->all[h->first].to <= to) h->first++;
  return lost;
}

static double looped_waits(const history *h, int64_t now) {
  for (int i = h->first; i < h->n; i++)
    if (h->all[i].from <= now && now < h->all[i].to) return h->all[i].waits;
  return 0;
}

/* Few or many between two questions, so that the oldest are forgotten at times. */
static void losses(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    wk_rng r = {seed};
    wk_accel_ports p = {0};
    history h = {.n = 0};
    int64_t end = 0, asked = 0;
    while (h.n < ADDED) {
      wk_accel_stretch s = {.from = end + draw(&r, 0, 3), .waits = (double)draw(&r, 0, 8) / 8,
                            .behind = (double)draw(&r, 0, 4) / 8};
      s.to = end = s.from + draw(&r, 1, 9);
      wk_accel_ports_add(&p, &s);
      h.all[h.n++] = s;
      if (h.n - h.first > WK_ACCEL_STRETCHES) h.first++;
      int64_t now = draw(&r, asked, end + 2);
      expect_near(wk_accel_ports_now(&p, now), looped_waits(&h, now));
      if (draw(&r, 0, seed % 2 ? 3 : 60)) continue;
      int64_t to = draw(&r, asked, end + 2);
      wk_accel_accesses a = {(double)draw(&r, 0, 4) / 4, (double)draw(&r, 1, 5)};
      expect_near(wk_accel_ports_lost(&p, asked, to, &a), looped_loss(&h, asked, to, &a));
      asked = to;
    }
  }
}

/* ---- commands -------------------------------------------------------------------------------- */

static wk_isa_command command(const wk_machine *m, const char *text) {
  wk_isa_command c;
  wk_stream *s;
  wk_str b = {0};
  wk_str_printf(&b, "%s\nend\n", text);
  wk_status bad = wk_asm(b.s, b.n, "s.s", NULL, &(wk_asm_options){.machine = m}, &s);
  if (bad) fail_msg("%s: %s", text, bad->message);
  assert_true(wk_stream_get(s, 0, &c));
  wk_stream_free(s);
  wk_str_free(&b);
  return c;
}

/* Of 100 cycles on machine "base", which has 16 lanes and 8 banks: 800 times what others wait for
 * an access, by words and pixels that are drained, and behind one that has waited. */
static const struct {
  const char *text;
  double waits, behind;
} arrays[] = {
    {"conv in=0 wt=0 ny=2 nx=8 in_x=16", 16, 0},
    {"conv in=0 wt=0 ny=2 nx=8 in_x=16 kc=3 ky=2", 96, 0},
    {"conv in=0 wt=0 ny=2 nx=8 in_x=16 drain out=4096 par=0", 32, 0},
    {"conv in=0 wt=0 ny=2 nx=8 in_x=16 drain out=4096 par=0 residual res=0", 48, 0},
    {"conv in=0 wt=0 ny=2 nx=8 in_x=16 residual res=0", 16, 0},
    {"conv in=0 wt=0 ny=16 in_x=0", 16, 0},
    {"dwc in=0 wt=0 taps=one ny=2 nx=8 in_x=4", 16, 0},
    {"mm in=0 wt=0 w_r=16 ny=16 kc=2", 32, 0},
    /* pixels of fewer bytes than a bank has: four accesses to it, of which three need the next one
     * as well if they are as wide as it */
    {"conv in=0 wt=0 ny=2 nx=8 in_x=4 k_tail=4", 16 * 2.5, 16 * 3},
    {"conv in=0 wt=0 ny=2 nx=8 in_x=4 k_tail=5", 16 * 1.25 * (4 * 1.25 + 1) / 2, 16 * 1.25 * 3},
    {"conv in=0 wt=0 ny=2 nx=8 in_x=4 k_tail=16", 16 * 1.75 * (4 * 1.75 + 1) / 2, 16 * 1.75 * 3},
    {"conv in=0 wt=0 ny=2 nx=8 in_x=4 k_tail=4 kc=2", 32 * 1.75 * (4 * 1.75 + 1) / 2,
     32 * 1.75 * 3},
    {"conv in=0 wt=0 ny=2 nx=8 in_x=8 k_tail=8 drain out=4096 par=0", 16 * 1.5 + 16, 16},
    {"conv in=0 wt=0 ny=2 nx=8 in_x=1 k_tail=1", 16 * 8.5, 16 * 15},
};

/* Accesses that the vector unit has; of most functions one in every cycle. */
static const struct {
  const char *text;
  double accesses, run;
} vectors[] = {
    {"map fn=move a=0 out=4096 n0=9", 100, 1},
    {"pool fn=max in=0 out=4096 ky=3 kx=3 k_x=16", 100, 3},
    {"pool fn=max in=0 out=4096 ky=3 kx=3 k_x=32", 100, 1},
    {"row fn=layernorm in=0 out=4096 par=8192 ny=3 kc=5 in_c=16 out_c=16 in_y=80 out_y=80", 100, 1},
    {"row fn=rmsnorm in=0 out=4096 par=8192", 100, 1},
    {"row fn=softmax in=0 out=4096 par=8192 ny=3 kc=5 in_c=16 out_c=16 in_y=80 out_y=80", 60, 1},
    {"row fn=max in=0 out=4096 ny=3 kc=5 in_c=16 in_y=80 out_y=1", 18, 1},
    {"row fn=mean in=0 out=4096 par=8192 ny=3 kc=5 in_c=16 in_y=80 out_y=1", 18, 1},
};

/* A word of a row every 128 bytes is in the same one of 8 banks of 16 bytes; the wait, of a command
 * of 100 cycles, times them. */
static const struct {
  const char *text;
  double waits;
} holders[] = {
    {"row fn=softmax in=0 in_y=16 in_c=272 ny=1 kc=20 out=0x8000 out_y=16 par=0x4000", 80},
    {"row fn=softmax in=0 in_y=16 in_c=256 ny=1 kc=20 out=0x8000 out_y=16 par=0x4000",
     80 * (15 - 225.0 / 80)},
    {"row fn=softmax in=0 in_y=16 in_c=256 ny=1 kc=6 out=0x8000 out_y=16 par=0x4000", 24 * 6},
    {"row fn=max in=0 in_y=16 in_c=128 ny=2 kc=8 out=0x8000 out_y=16", 18 * 4},
    {"map fn=move a=0 out=0x8000 n0=50", 100}};

static void commands(void **state) {
  wk_machine base;
  (void)state;
  assert_null(wk_machine_read("base", &base));
  for (size_t i = 0; i < WK_COUNTOF(arrays); i++) {
    wk_isa_command c = command(&base, arrays[i].text);
    wk_accel_stretch s = wk_accel_ports_stretch(&base, &c, 50, 150);
    expect_near(s.waits * 800, arrays[i].waits);
    expect_near(s.behind * 800, arrays[i].behind);
  }
  for (size_t i = 0; i < WK_COUNTOF(vectors); i++) {
    wk_isa_command c = command(&base, vectors[i].text);
    wk_accel_accesses a = wk_accel_ports_accesses(&base, &c, 100);
    expect_near(a.share * 100, vectors[i].accesses);
    expect_near(a.run, vectors[i].run);
  }
  for (size_t i = 0; i < WK_COUNTOF(holders); i++) {
    wk_isa_command c = command(&base, holders[i].text);
    expect_near(wk_accel_ports_held(&base, &c, 100) * 100, holders[i].waits);
  }
}

/* ---- room ------------------------------------------------------------------------------------ */

enum { BYTES = 64, BUFFERS = 400 };

typedef struct {
  int owner[BYTES]; /* of each byte; -1: none */
  int64_t ends[BUFFERS]; /* when it leaves; -1: not known, or it has left */
  bool is_live[BUFFERS];
} scratchpad;

/* The lowest place in the lowest gap, or the highest in the highest one; -1: there is none. */
static int64_t looped_place(const scratchpad *s, int64_t bytes, bool is_long) {
  for (int64_t i = 0; i + bytes <= BYTES; i++) {
    int64_t at = is_long ? BYTES - bytes - i : i;
    bool is_free = true;
    for (int64_t k = at; k < at + bytes; k++) is_free &= s->owner[k] < 0;
    if (is_free) return at;
  }
  return -1;
}

static void enter(wk_sched_room *room, scratchpad *s, int number, int64_t bytes, bool is_long) {
  int64_t place = -1, want = looped_place(s, bytes, is_long);
  bool entered = wk_sched_room_enter(room, number, bytes, is_long, &place);
  assert_int_equal(entered, want >= 0);
  assert_int_equal(place, want);
  for (int64_t k = 0; entered && k < bytes; k++) s->owner[want + k] = number;
  s->is_live[number] = entered;
}

/* Ends are all different, so that who leaves is known. */
static void leave(wk_sched_room *room, scratchpad *s, int n) {
  int first = -1;
  for (int i = 0; i < n; i++)
    if (s->ends[i] >= 0 && (first < 0 || s->ends[i] < s->ends[first])) first = i;
  if (first < 0) return;
  assert_int_equal(room->heap[0].time, s->ends[first]);
  wk_sched_room_leave(room);
  for (int k = 0; k < BYTES; k++)
    if (s->owner[k] == first) s->owner[k] = -1;
  s->ends[first] = -1;
  s->is_live[first] = false;
}

static void rooms(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    wk_rng r = {seed};
    wk_sched_room room;
    scratchpad s = {.is_live = {false}};
    memset(s.owner, -1, sizeof s.owner);
    memset(s.ends, -1, sizeof s.ends);
    wk_sched_room_init(&room, BYTES, BUFFERS);
    for (int n = 0; n < BUFFERS; n++) {
      enter(&room, &s, n, draw(&r, 1, draw(&r, 0, 3) ? 9 : 40), draw(&r, 0, 2) == 0);
      for (int i = 0; i <= n; i++) {
        if (!s.is_live[i] || s.ends[i] >= 0 || draw(&r, 0, 3)) continue;
        s.ends[i] = draw(&r, 0, 1000) * BUFFERS + i;
        wk_sched_room_end(&room, i, s.ends[i]);
      }
      while (draw(&r, 0, 1)) leave(&room, &s, n + 1);
    }
    wk_sched_room_free(&room);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(losses), cmocka_unit_test(commands),
                                     cmocka_unit_test(rooms)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
