/* SPDX-License-Identifier: Apache-2.0 */
/* Random streams on the RTL against the functional model: memory, events, counters.
 *   test_sim [SEED [COUNT]]          on tiny; a few on the other machines as well
 * tests/soak_streams.c runs any number of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/sim_streams.h"

static struct { uint64_t first, count; } range = {1, 300};
static sim_subject tiny;
static struct { uint64_t streams, commands, cycles; } tally;

/* The cycles that it took. Settings with an odd seed have a memory of their own. */
static uint64_t must_agree(const sim_subject *x, uint64_t seed, random_stream_setting setting) {
  wk_str text = {0};
  wk_stream *s = random_stream(&x->machine, seed, NULL);
  wk_status refused = wk_check(s, &s->machine, NULL);
  if (refused) fail_msg("seed %llu: wk_check: %s", (unsigned long long)seed, refused->message);
  if (!random_stream_agrees(s, &setting, &text)) {
    random_stream_show(s, &setting, x->machine.name, seed);
    fail_msg("seed %llu: %s", (unsigned long long)seed, text.s);
  }
  tally.streams++;
  tally.commands += s->n;
  tally.cycles += setting.cycles;
  wk_stream_free(s);
  wk_str_free(&text);
  return setting.cycles;
}

static void test_streams(void **state) {
  (void)state;
  for (uint64_t seed = range.first; seed < range.first + range.count; seed++)
    must_agree(&tiny, seed,
               random_stream_draw_setting(tiny.rtl, &tiny.machine, seed % 2 ? seed : 0));
  print_message("%llu streams, %llu commands, %llu cycles\n", (unsigned long long)tally.streams,
                (unsigned long long)tally.commands, (unsigned long long)tally.cycles);
}

static void test_memories(void **state) {
  (void)state;
  for (uint64_t seed = 500; seed < 503; seed++) {
    uint64_t least = UINT64_MAX, most = 0;
    for (uint64_t k = 1; k <= 20; k++) {
      uint64_t cycles =
          must_agree(&tiny, seed, random_stream_draw_setting(tiny.rtl, &tiny.machine, k));
      if (cycles < least) least = cycles;
      if (cycles > most) most = cycles;
    }
    assert_true(least < most);
  }
}

static void test_reset_states(void **state) {
  (void)state;
  for (uint64_t seed = 600; seed < 608; seed++) {
    uint64_t cycles[3];
    for (int reset = WK_SIM_RESET_ZEROS; reset <= WK_SIM_RESET_RANDOM; reset++) {
      random_stream_setting setting = random_stream_draw_setting(tiny.rtl, &tiny.machine, seed);
      setting.reset = (wk_sim_reset)reset;
      cycles[reset] = must_agree(&tiny, seed, setting);
    }
    assert_int_equal(cycles[0], cycles[1]);
    assert_int_equal(cycles[0], cycles[2]);
  }
}

/* ---- several on one model -------------------------------------------------------------------- */

/* Runs s on the open model, and the functional model must agree. */
static void must_pass(sim_session *x, const wk_stream *s) {
  wk_str text = {0};
  wk_sim_result r = sim_run(x, s);
  uint8_t *want = sim_expected(s);
  if (r.status != 2 || r.violation[0])
    fail_msg("%s: status %u, error %08x %s", s->source, r.status, r.error, r.violation);
  if (!random_stream_same_memory(s, x->memory, want, &text)) fail_msg("%s: %s", s->source, text.s);
  free(want);
}

static void test_one_after_another(void **state) {
  (void)state;
  sim_session *x = sim_open(&tiny, -1);
  for (uint64_t seed = 700; seed < 716; seed++) {
    wk_stream *s = random_stream(&tiny.machine, seed, NULL);
    must_pass(x, s);
    if (seed % 4 == 0) must_pass(x, s); /* once more */
    wk_stream_free(s);
  }
  sim_close(x);
}

/* A field of a random command becomes random; false: that is legal. */
static bool spoil(wk_rng *r, const wk_machine *m, wk_stream *s, uint32_t *index,
                  wk_isa_fault *fault) {
  uint32_t before[WK_QUEUE_COUNT] = {0};
  wk_isa_command c;
  *index = (uint32_t)wk_rng_range(r, 0, s->n - 2);
  for (uint32_t i = 0; i < *index; i++) {
    wk_stream_get(s, i, &c);
    before[c.queue]++;
  }
  wk_stream_get(s, *index, &c);
  const wk_isa_command_info *info = wk_isa_command_of((int)c.opcode);
  int f = (int)wk_rng_range(r, -6, info->n_fields - 1);
  if (f == -1) c.opcode = (uint32_t)wk_rng_range(r, 0, 1) ? 0 : (uint32_t)wk_rng_range(r, 14, 31);
  else if (f == -2) c.queue = (uint32_t)wk_rng_range(r, 0, 7);
  else if (f == -3) c.reserved = 1;
  else if (f < 0) wk_isa_wait(&c, (int)wk_rng_range(r, 0, 5), (uint32_t)wk_rng_range(r, 1, 60));
  else c.v[f] = wk_rng_range(r, 0, (INT64_C(1) << info->fields[f].bits) - 1);
  random_stream_put(s, *index, &c);
  if (!wk_isa_decode(wk_stream_bytes(s, *index), &c)) c.opcode = (uint32_t)c.opcode;
  return wk_isa_find_fault(m, &c, before, fault) && fault->error != WK_ERROR_none;
}

/* What cannot run ends in the error that wk_isa_find_fault foretells, and the next stream is as if
 * nothing had been. */
static void test_after_errors(void **state) {
  (void)state;
  wk_rng r = {99};
  random_stream_options small = {.commands = 8, .work = 60};
  sim_session *x = sim_open(&tiny, -1);
  wk_stream *good = random_stream(&tiny.machine, 801, &small);
  int tried = 0;
  for (uint64_t seed = 1; tried < 300; seed++) {
    wk_stream *s = random_stream(&tiny.machine, seed, &small);
    uint32_t index;
    wk_isa_fault fault;
    if (spoil(&r, &tiny.machine, s, &index, &fault)) {
      wk_sim_result got = sim_run(x, s);
      uint32_t want = (uint32_t)fault.error | index << 8;
      if (got.gave_up || got.status != 4 || got.error != want || got.violation[0]) {
        random_stream_print(s, fault.text);
        fail_msg("seed %llu: status %u, error %08x, not %d of command %u (field %s: %s) %s",
                 (unsigned long long)seed, got.status, got.error, fault.error, index,
                 fault.field ? fault.field : "-", fault.text, got.violation);
      }
      if (tried++ % 5 == 0) must_pass(x, good);
    }
    wk_stream_free(s);
  }
  must_pass(x, good);
  wk_stream_free(good);
  sim_close(x);
}

/* The bits beside a field's are set; false: that would be a fault of its own, as with lengths that
 * have to agree. */
static bool crowd(const wk_machine *m, wk_isa_command *c, const wk_isa_field *fields, int n,
                  int f) {
  wk_isa_fault fault;
  for (int i = 0; i < n; i++) {
    if (wk_isa_is_choice(fields[i].kind) || fields[i].kind == WK_KIND_FLAG) continue;
    if (fields[i].lsb == fields[f].lsb + fields[f].bits) c->v[i] |= 1;
    if (fields[i].lsb + fields[i].bits == fields[f].lsb)
      c->v[i] |= INT64_C(1) << (fields[i].bits - (fields[i].kind == WK_KIND_SIGNED ? 2 : 1));
  }
  return !wk_isa_find_fault(m, c, NULL, &fault) || fault.error != WK_ERROR_field;
}

/* Every count of 0 is an error, whatever the fields beside it hold. */
static bool try_count(sim_session *x, wk_stream *s, uint32_t index, int f, bool crowded) {
  wk_isa_command c, plain;
  wk_stream_get(s, index, &plain);
  const wk_isa_command_info *info = wk_isa_command_of((int)plain.opcode);
  c = plain;
  if (crowded && !crowd(&tiny.machine, &c, info->fields, info->n_fields, f)) return false;
  c.v[f] = 0;
  random_stream_put(s, index, &c);
  wk_sim_result got = sim_run(x, s);
  random_stream_put(s, index, &plain);
  if (got.gave_up || got.status != 4 || got.error != ((uint32_t)WK_ERROR_field | index << 8))
    fail_msg("%s: %s = 0 as command %u: status %u, error %08x", info->name, info->fields[f].name,
             index, got.status, got.error);
  return true;
}

static void test_counts(void **state) {
  (void)state;
  enum { PLAIN = 1, CROWDED = 2, OPCODES = 32 };
  static int tried[OPCODES][WK_FIELDS_MAX];
  int crowded = 0;
  random_stream_options small = {.commands = 8, .work = 60};
  sim_session *x = sim_open(&tiny, -1);
  for (uint64_t seed = 1; seed <= 300; seed++) {
    wk_stream *s = random_stream(&tiny.machine, seed, &small);
    for (uint32_t i = 0; i + 1 < s->n; i++) {
      wk_isa_command c;
      wk_stream_get(s, i, &c);
      const wk_isa_command_info *info = wk_isa_command_of((int)c.opcode);
      for (int f = 0; f < info->n_fields; f++) {
        int *done = &tried[c.opcode][f];
        if (info->fields[f].kind != WK_KIND_COUNT || c.v[f] == 0) continue;
        for (int k = PLAIN; k <= CROWDED; k++)
          if (!(*done & k) && try_count(x, s, i, f, k == CROWDED)) *done |= k;
      }
    }
    wk_stream_free(s);
  }
  for (size_t k = 0; k < wk_isa_commands_count; k++) {
    const wk_isa_command_info *info = &wk_isa_commands[k];
    for (int f = 0; f < info->n_fields; f++)
      if (info->fields[f].kind == WK_KIND_COUNT) {
        int done = tried[info->opcode][f];
        if (!done) fail_msg("%s: %s was not tried", info->name, info->fields[f].name);
        crowded += done >= CROWDED;
      }
  }
  print_message("%d counts beside other bits\n", crowded);
  assert_true(crowded > 20);
  sim_close(x);
}

/* ---- by hand --------------------------------------------------------------------------------- */

/* A softmax of 32 elements, whose exponentials are random or all the same three bytes. */
#define SOFTMAX(exponentials, m, s)                                                         \
  ".memory x 0x1000 64\n.random x 1 20 100\n.memory p 0x2000 40\n.record p 0 zero=0\n"      \
  ".words p 32 " m "\n.bytes p 39 " s "\n.memory t 0x4000 768\n" exponentials "\n"          \
  ".memory y 0x3000 64\n.output y\n"                                                        \
  "x: ld.ld0 dram=x n0=64 spm=0 c0=64\np: ld.ld0 dram=p n0=40 spm=0x100 c0=40\n"            \
  "t: ld.ld0 dram=t n0=768 spm=0x400 c0=768\ntt: tab in=0x400 count=3 wait t\n"             \
  "m: row fn=softmax in=0 kc=4 out=0x40 par=0x100 wait x p tt\n"                            \
  "y: st dram=y n0=32 spm=0x40 c0=32 wait m\nend\n"
#define ANY ".random t 3 1 100"
#define ONES ".for q 0 256\n.bytes t q 1\n.end"

#define FILL(w0, w1, w2, w3, w4)                                                          \
  ".raw " w0 " " w1 " " w2 " " w3 " " w4 " 0x80004000 0x10010000 0 0 0 0 0 0 0 0 0\nend\n"
#define END(w0, w1, w4) ".raw " w0 " " w1 " 0 0 " w4 " 0 0 0 0 0 0 0 0 0 0 0\nend\n"

static const struct {
  const char *text;
  int error; /* WK_ERROR_none: it runs */
} by_hand[] = {
    {SOFTMAX(ANY, "0x40000000", "24"), WK_ERROR_none},
    {SOFTMAX(ANY, "0x40000000", "60"), WK_ERROR_field}, /* shifts of no rescaling */
    {SOFTMAX(ANY, "0x40000000", "1"), WK_ERROR_none},
    {SOFTMAX(ANY, "0x40000000", "255"), WK_ERROR_field},
    {SOFTMAX(ANY, "0x3fffffff", "24"), WK_ERROR_field},
    {SOFTMAX(ANY, "0x80000000", "24"), WK_ERROR_field},
    {SOFTMAX(ONES, "0x40000000", "24"), WK_ERROR_none}, /* a sum of 32 */
    {SOFTMAX(ONES, "0x7fffffff", "24"), WK_ERROR_none},
    {SOFTMAX(ONES, "0x40000000", "1"), WK_ERROR_field},
    {SOFTMAX(ONES, "0x40000000", "18"), WK_ERROR_field},
    {SOFTMAX(ONES, "0x40000000", "19"), WK_ERROR_none},
    {SOFTMAX(ONES, "0x40000000", "80"), WK_ERROR_none},
    {SOFTMAX(ONES, "0x40000000", "81"), WK_ERROR_field},
    {SOFTMAX("", "0x40000000", "24"), WK_ERROR_field}, /* a sum of 0 */
    /* FILL of [0x40, 8]; header words: waits from bit 27, thresholds of 20 bits from bit 33 */
    {FILL("0x63", "0", "0", "0", "0"), WK_ERROR_none},
    {FILL("0x63", "0", "0", "0", "0x20"), WK_ERROR_field},               /* of ld2, no wait */
    {FILL("0x63", "0", "0", "0", "0x80000000"), WK_ERROR_field},         /* reserved */
    {FILL("0x63", "1", "0", "0", "0"), WK_ERROR_wait},                   /* for ld2 */
    {FILL("0x63", "1", "0", "0", "0x20"), WK_ERROR_wait},                /* for ld2, threshold */
    {FILL("0x8000063", "2", "0", "0", "0"), WK_ERROR_wait},              /* for ex: 1 */
    {FILL("0x63", "2", "0", "0", "0"), WK_ERROR_field},                  /* the threshold alone */
    {FILL("0x8000063", "2", "0", "0", "0x80000000"), WK_ERROR_wait},     /* and a reserved bit */
    {FILL("0xc3", "1", "0", "0", "0x80000000"), WK_ERROR_opcode},        /* on no queue */
    {FILL("0x40", "0", "0", "0", "0"), WK_ERROR_opcode},
    {END("0xd", "0", "0"), WK_ERROR_none},
    {END("0x800000d", "0", "0"), WK_ERROR_field}, /* END waits for ex */
    {END("0x800000d", "2", "0"), WK_ERROR_field},
    {END("0xd", "1", "0"), WK_ERROR_wait}, /* for ld2 */
    {END("0xd", "0", "0x20"), WK_ERROR_field},
    {END("0x2d", "0", "0x20"), WK_ERROR_opcode},
    /* what the machine does not look at */
    {".memory x 0x1000 64\n.random x 1\n.memory y 0x2000 64\n.output y\n"
     "x: ld.ld0 dram=x n0=64 spm=0 c0=16 c1=4 p1=8\ny: st dram=y n0=40 spm=0 c0=40 wait x\nend\n",
     WK_ERROR_none},
    {".memory x 0x1000 64\n.random x 1\n.memory y 0x2000 64\n.output y\n"
     "x: ld.ld0 dram=x n0=64 spm=0 c0=64\ny: st dram=y n0=16 n1=4 s1=8 spm=0 c0=64 wait x\nend\n",
     WK_ERROR_none},
    /* addresses begin again behind 2^32: runs backwards; and 2^31 twice */
    {".memory x 0x1000 64\n.random x 1\n.memory y 0x2000 64\n.output y\n"
     "x: ld.ld0 dram=x+48 n0=16 n1=4 s1=0xfffffff0 spm=0 c0=64\n"
     "y: st dram=y+56 n0=8 n1=8 s1=0xfffffff8 spm=0 c0=64 wait x\nend\n", WK_ERROR_none},
    {".memory x 0x1000 64\n.random x 1\n"
     "x: ld.ld0 dram=x n0=16 n1=2 n2=2 s1=0x80000000 s2=0x80000000 spm=0 c0=64\nend\n",
     WK_ERROR_read},
    {".memory x 0x1000 64\n.random x 1\n.memory y 0x2000 64\n.output y\n"
     "x: ld.ld0 dram=x n0=16 n1=1 n2=2 n3=2 s2=16 s3=0xfffffff0 spm=0 c0=64\n"
     "y: st dram=y n0=64 spm=0 c0=64 wait x\nend\n", WK_ERROR_none},
    {".memory y 0x2000 64\nx: fill.ld0 spm=0 c0=64\n"
     "y: st dram=0xfffffff0 n0=32 spm=0 c0=32 wait x\nend\n", WK_ERROR_write},
};

static void run_both(const char *text, wk_sim_run *rtl, wk_sim_run *functional) {
  const wk_sim_run_options o = {.machine = &tiny.machine, .timeout = 100000};
  wk_asm_options unchecked = {.unchecked = true};
  wk_str all = {0};
  wk_stream *s;
  wk_str_printf(&all, ".machine tiny\n%s", text);
  wk_status bad = wk_asm(all.s, all.n, "by hand", NULL, &unchecked, &s);
  if (!bad) bad = wk_sim_run_stream(s, tiny.rtl, &o, rtl);
  if (!bad) bad = wk_sim_run_stream(s, &wk_sim_functional, &o, functional);
  if (bad) fail_msg("%s: %s", text, bad->message);
  wk_stream_free(s);
  wk_str_free(&all);
}

static void test_by_hand(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(by_hand); i++) {
    wk_sim_run rtl, functional;
    run_both(by_hand[i].text, &rtl, &functional);
    if (rtl.result.status != functional.result.status ||
        rtl.result.error != functional.result.error ||
        (rtl.result.error & 0xff) != (uint32_t)by_hand[i].error)
      fail_msg("%s: status %u, error %08x; functional %u, %08x", by_hand[i].text,
               rtl.result.status, rtl.result.error, functional.result.status,
               functional.result.error);
    if (!rtl.result.error) assert_memory_equal(rtl.memory, functional.memory, rtl.memory_size);
    wk_sim_run_free(&rtl);
    wk_sim_run_free(&functional);
  }
}

/* ---- what isa.md allows ---------------------------------------------------------------------- */

/* Behind bytes at 0 to 0x7ff, a record with entries at 0x800 and zeros up to 0x1fff; all of it is
 * compared. p: more of the record. */
static const struct {
  const char *p, *text;
} allowed[] = {
    /* sums that nobody drained are lost */
    {"",
     "mm in=0 ny=3 wt=64 w_r=8 wait x p f\n"
     "mm in=128 ny=2 wt=256 w_r=8 acc=1 wait x p f\n"
     "mm in=8 ny=3 wt=512 w_r=8 accumulate drain out=0x1000 out_y=8 par=0x800 wait x p f\n"
     "mm in=8 ny=3 wt=512 w_r=8 drain out=0x1100 out_y=8 par=0x800 wait x p f ex:3"},
    /* tiles in the place of earlier ones */
    {"", "trn in=64 in_r=8 in_x=64 nx=3 out=0 out_r=8 out_x=64 wait x"},
    {"", "trn in=0 in_r=8 in_x=64 nx=3 out=0 out_r=8 out_x=64 wait x"},
    /* a result over its own record */
    {"", "map fn=add a=0 b=64 out=0x800 n0=12 par=0x800 wait x p"},
    {"", "map fn=scale a=0 out=0x7fc n0=12 par=0x800 wait x p"},
    {"shift=9", "map fn=mul a=0 b=64 out=0x810 n0=12 par=0x800 wait x p"},
    {"", "map fn=add a=0 b=0x800 out=0x800 n0=8 par=0x800 wait x p"}, /* which is an operand, too */
    /* results that lie on each other */
    {"", "conv in=0 in_x=8 nx=9 wt=64 drain out=0x1000 out_x=3 par=0x800 wait x p f"},
    {"",
     "conv in=0 in_x=8 in_y=72 nx=5 ny=4 wt=64 drain out=0x1000 out_x=8 out_y=11 par=0x800 "
     "wait x p f"},
    {"",
     "conv in=0 in_x=8 in_y=40 nx=5 ny=4 wt=64 drain residual res=0x300 out=0x1000 out_x=1 "
     "out_y=0 par=0x800 wait x p f"},
    {"", "dwc in=0 in_x=8 nx=9 k_x=8 kx=3 wt=64 drain out=0x1000 out_x=5 par=0x800 wait x p f"},
    {"", "mm in=0 in_y=8 ny=9 wt=64 w_r=8 drain out=0x1000 out_y=3 par=0x800 wait x p f"},
    {"", "map fn=add a=0 b=64 out=0x1000 y0=3 n0=9 par=0x800 wait x p f"},
    {"", "map fn=move a=0 out=0x1000 y0=8 y1=5 n0=4 n1=4 a1=32 wait x f"},
    {"",
     "pool fn=max in=0 in_x=8 in_y=80 k_x=8 k_y=80 ky=2 kx=2 nx=4 ny=3 out=0x1000 out_x=3 out_y=7 "
     "wait x f"},
    {"", "row fn=max in=0 in_y=16 kc=2 ny=9 out=0x1000 wait x f"},
    {"", "trn in=0 in_r=8 out=0x1000 out_r=3 in_x=64 nx=3 out_x=10 wait x f"},
    {"", "fill.ld0 value=3 spm=0x1000 c0=20 c1=5 p1=7 c2=3 p2=4 wait f"},
    /* zero points of what is no byte */
    {"za=300 zb=-300 ma=40 mb=70 shift=7",
     "mm in=0 in_y=8 ny=9 wt=64 w_r=8 drain residual res=256 "
     "out=0x1000 out_y=8 par=0x800 wait x p f"},
    {"lo=-32768 hi=32767 za=-32768 ma=0x7fffff zb=32767 mb=-0x7fffff shift=40",
     "mm in=0 in_y=8 ny=9 wt=64 w_r=8 drain residual res=256 out=0x1000 out_y=8 par=0x800 "
     "wait x p f"}};

/* What the commands of a case have to be waited for by. */
static const char *last_of(const char *text) {
  static const struct {
    const char *begin, *wait;
  } queues[] = {{"mm in=0 ny=3", "ex:4"}, {"mm", "ex:1"},  {"conv", "ex:1"}, {"dwc", "ex:1"},
                {"fill", "ld0:2"},        {"", "ve:1"}};
  size_t i = 0;
  while (strncmp(text, queues[i].begin, strlen(queues[i].begin)) != 0) i++;
  return queues[i].wait;
}

static void must_be_accepted(const char *text) {
  wk_str all = {0};
  wk_stream *s;
  wk_str_printf(&all, ".machine tiny\n%s", text);
  wk_status bad = wk_asm(all.s, all.n, "allowed", NULL, NULL, &s);
  if (!bad) bad = wk_check(s, &s->machine, NULL);
  if (bad) fail_msg("%s: %s", text, bad->message);
  wk_stream_free(s);
  wk_str_free(&all);
}

static void test_allowed(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(allowed); i++) {
    wk_sim_run rtl, functional;
    wk_str text = {0};
    wk_str_printf(
        &text,
        ".memory x 0x1000 2048\n.random x 1\n.memory p 0x2000 512\n"
        ".memory y 0x4000 0x2000\n.output y\n"
        ".record p 0 %s\n"
        ".for i 0 60\n.entry p 0 i bias=i*100 scale=0.01\n.end\n"
        "x: ld.ld0 dram=x n0=2048 spm=0 c0=2048\np: ld.ld1 dram=p n0=512 spm=0x800 c0=512\n"
        "f: fill.ld1 spm=0xa00 c0=0x1600\n%s\n"
        "st dram=y n0=0x2000 spm=0 c0=0x2000 wait x p f %s\nend\n",
        *allowed[i].p ? allowed[i].p : "zero=3 ma=77 mb=99 shift=7 za=5 zb=-6 zy=9",
        allowed[i].text, last_of(allowed[i].text));
    must_be_accepted(text.s);
    run_both(text.s, &rtl, &functional);
    if (rtl.result.status != 2 || functional.result.status != 2 ||
        memcmp(rtl.memory, functional.memory, rtl.memory_size) != 0)
      fail_msg("%s: status %u, error %08x, functional %u; memory differs", allowed[i].text,
               rtl.result.status, rtl.result.error, functional.result.status);
    wk_sim_run_free(&rtl);
    wk_sim_run_free(&functional);
    wk_str_free(&text);
  }
}

/* ---- errors of memory ------------------------------------------------------------------------ */

/* The error must name a command that used the address. False: no error, the run succeeded. */
static bool try_error(const wk_stream *s, int64_t beat) {
  sim_session *x = sim_open(&tiny, beat);
  wk_sim_result r = sim_run(x, s);
  sim_blame blame = sim_blamed();
  sim_close(x);
  if (!blame.seen && r.status == 2) return false;
  if (r.gave_up || r.status != 4 || r.violation[0] || !sim_blame_is_right(s, &blame, r.error))
    fail_msg("%s: beat %lld of id %u (%s 0x%x) fails: status %u, error %08x %s%s", s->source,
             (long long)beat, blame.id, blame.is_write ? "write" : "read", blame.address, r.status,
             r.error, r.gave_up ? "no end " : "", r.violation);
  return true;
}

static void test_memory_errors(void **state) {
  (void)state;
  random_stream_options small = {.commands = 5, .work = 30};
  int runs = 0;
  for (uint64_t seed = 900; seed < 906; seed++) {
    wk_stream *s = random_stream(&tiny.machine, seed, &small);
    int step = seed == 900 ? 1 : 17;
    for (int64_t beat = 0; try_error(s, beat); beat += step) runs++;
    wk_stream_free(s);
  }
  print_message("%d runs with an error of memory\n", runs);
  assert_true(runs > 100);
}

/* ---- other machines -------------------------------------------------------------------------- */

static void test_machines(void **state) {
  (void)state;
  static const char *const names[] = {"base", "wide"};
  for (size_t i = 0; i < WK_COUNTOF(names); i++) {
    sim_subject x = sim_subject_of(names[i]);
    for (uint64_t seed = 1; seed <= 20; seed++)
      must_agree(&x, seed, random_stream_draw_setting(x.rtl, &x.machine, seed % 2 ? seed : 0));
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_by_hand),      cmocka_unit_test(test_allowed),
      cmocka_unit_test(test_streams),      cmocka_unit_test(test_memories),
      cmocka_unit_test(test_reset_states), cmocka_unit_test(test_one_after_another),
      cmocka_unit_test(test_after_errors), cmocka_unit_test(test_memory_errors),
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_machines)};
  if (argc > 1) {
    range.first = strtoull(argv[1], NULL, 10);
    range.count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  }
  tiny = sim_subject_of("tiny");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
