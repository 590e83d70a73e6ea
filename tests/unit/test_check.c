/* SPDX-License-Identifier: Apache-2.0 */
/* wk_check against an oracle that shares nothing with it: random legal streams must be accepted,
 * and of their mutants exactly those that the oracle allows. What is allowed must give the same
 * memory in every order of starts that the waits permit.
 *   test_check [SEED [COUNT]] */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/random_stream.h"

enum { MOST_COMMANDS = 120, WAIT_MUTANTS = 12, BUFFER_MUTANTS = 5, STEP_MUTANTS = 5, ORDERS = 2 };

static struct { uint64_t first, count; } range = {1, 160};
static struct { int streams, accepted, refused, illegal, seen, orders, records; } tally;

typedef struct {
  uint64_t seed;
  wk_stream *s;
  random_stream_oracle *oracle;
  uint8_t *memory; /* as stream order leaves it */
  wk_rng r;
} subject;

static int64_t pick(subject *x, int64_t low, int64_t high) {
  return wk_rng_range(&x->r, low, high);
}

static bool is_accepted(const wk_stream *s, wk_str *why) {
  wk_status status = wk_check(s, &s->machine, NULL);
  bool ok = !status;
  if (why && status) wk_str_printf(why, "%s", status->message);
  wk_status_free(status);
  return ok;
}

/* The oracle knows nothing of what records hold, but the functional model does, and more than
 * can be known before: refused for a record, of a command by which the model has seen one. */
static bool is_bad_record(const wk_stream *s) {
  const wk_sim_run_options o = {.machine = &s->machine};
  wk_sim_run r;
  wk_status status = wk_check(s, &s->machine, NULL);
  bool bad = status && strstr(status->message, "the record at ");
  if (bad) {
    assert_null(wk_sim_run_stream(s, &wk_sim_functional, &o, &r));
    bool refused = (r.result.error & 0xff) == WK_ERROR_field;
    uint32_t index;
    assert_int_equal(sscanf(strstr(status->message, "command "), "command %" SCNu32, &index), 1);
    if (!refused && !(r.result.undefined[0] && r.result.undefined_at <= index))
      fail_msg("wk_check: %s; functional model: %s", status->message, r.result.undefined);
    wk_sim_run_free(&r);
    tally.records++;
  }
  wk_status_free(status);
  return bad;
}

static void complain(const subject *x, const wk_stream *s, const char *what) {
  wk_str why = {0};
  char line[64];
  bool accepted = is_accepted(s, &why);
  snprintf(line, sizeof line, "test_check %llu 1", (unsigned long long)x->seed);
  random_stream_print(s, line);
  fail_msg("seed %llu: %s; wk_check %s%s", (unsigned long long)x->seed, what,
           accepted ? "accepts it" : "says: ", accepted ? "" : why.s);
}

/* ---- execution in other orders --------------------------------------------------------------- */

static bool is_same_in_some_order(subject *x, const wk_stream *s) {
  uint32_t order[MOST_COMMANDS];
  wk_str text = {0};
  uint8_t *memory = random_stream_memory(x->s);
  random_stream_oracle_order(s, &x->r, order);
  random_stream_execute(s, order, memory);
  memcpy(memory + s->address, x->memory + s->address, s->bytes.n); /* the mutant itself */
  bool same = random_stream_same_memory(s, memory, x->memory, &text);
  wk_str_free(&text);
  free(memory);
  return same;
}

static void try_orders(subject *x, const wk_stream *s) {
  for (int i = 0; i < ORDERS; i++, tally.orders++)
    if (!is_same_in_some_order(x, s)) complain(x, s, "an order that is allowed gives other memory");
}

/* ---- waits ----------------------------------------------------------------------------------- */

static void drop_wait(subject *x, wk_isa_command *c, int q) {
  (void)x;
  c->wait &= ~(1u << q);
  c->threshold[q] = 0;
}

static void weaken_wait(subject *x, wk_isa_command *c, int q) {
  int64_t less = pick(x, 1, 3);
  c->threshold[q] = c->threshold[q] > less ? c->threshold[q] - (uint32_t)less : 0;
}

static void redirect_wait(subject *x, wk_isa_command *c, int q) {
  int other = (int)pick(x, 0, wk_machine_queues(&x->s->machine) - 1);
  uint32_t threshold = c->threshold[q];
  drop_wait(x, c, q);
  wk_isa_wait(c, other, threshold);
}

static void mutate_wait(subject *x) {
  static void (*const ways[])(subject * x, wk_isa_command * c, int q) = {drop_wait, weaken_wait,
                                                                         redirect_wait};
  wk_stream *s = random_stream_copy(x->s);
  wk_isa_command c;
  for (int tries = 0; tries < 50; tries++) {
    uint32_t i = (uint32_t)pick(x, 0, s->n - 2);
    int q = (int)pick(x, 0, WK_QUEUE_COUNT - 1);
    wk_stream_get(s, i, &c);
    if (!(c.wait >> q & 1)) continue;
    ways[pick(x, 0, 2)](x, &c, q);
    random_stream_put(s, i, &c);
    break;
  }
  wk_status bad = wk_stream_validate(s); /* a redirected wait may be one on a later command */
  bool allowed = !bad && random_stream_oracle_allows(x->oracle, s);
  wk_status_free(bad);
  if (allowed != is_accepted(s, NULL))
    complain(x, s, allowed ? "a wait less is harmless" : "a wait less leaves a hazard");
  *(allowed ? &tally.accepted : &tally.refused) += 1;
  if (allowed) try_orders(x, s);
  else if (!bad) tally.seen += !is_same_in_some_order(x, s);
  wk_stream_free(s);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static bool is_address(const wk_isa_field *f) {
  return f->kind == WK_KIND_SPM || f->kind == WK_KIND_DRAM || f->kind == WK_KIND_ACC ||
         !strcmp(f->name, "table");
}

/* An address of a command becomes that of a field of the same kind somewhere, or comes close to it.
 */
static bool move_buffer(subject *x, wk_stream *s) {
  wk_isa_command c, other;
  uint32_t i = (uint32_t)pick(x, 0, s->n - 2);
  wk_stream_get(s, i, &c);
  wk_stream_get(s, pick(x, 0, 2) ? (uint32_t)pick(x, 0, s->n - 2) : i, &other);
  const wk_isa_command_info *to = wk_isa_command_of((int)c.opcode);
  const wk_isa_command_info *from = wk_isa_command_of((int)other.opcode);
  if (!to->n_fields || !from->n_fields) return false;
  int a = (int)pick(x, 0, to->n_fields - 1), b = (int)pick(x, 0, from->n_fields - 1);
  if (!is_address(&to->fields[a]) || to->fields[a].kind != from->fields[b].kind ||
      c.v[a] == other.v[b])
    return false;
  c.v[a] = other.v[b] + (pick(x, 0, 3) ? 0 : pick(x, -9, 9));
  if (c.v[a] < 0) c.v[a] = 0;
  random_stream_put(s, i, &c);
  return true;
}

static bool is_step(const wk_isa_field *f) {
  static const char *const others[] = {"zero", "w_zero", "value", "row"};
  for (size_t i = 0; i < WK_COUNTOF(others); i++)
    if (!strcmp(f->name, others[i])) return false;
  return f->kind == WK_KIND_UNSIGNED && f->bits >= 8;
}

/* A step becomes another one, or close to what it was. */
static bool bend_step(subject *x, wk_stream *s) {
  wk_isa_command c;
  uint32_t i = (uint32_t)pick(x, 0, s->n - 2);
  wk_stream_get(s, i, &c);
  const wk_isa_command_info *info = wk_isa_command_of((int)c.opcode);
  if (!info->n_fields) return false;
  int f = (int)pick(x, 0, info->n_fields - 1);
  if (!is_step(&info->fields[f])) return false;
  int64_t before = c.v[f];
  c.v[f] = pick(x, 0, 1) ? pick(x, 0, 40) : before + pick(x, -9, 9);
  if (c.v[f] < 0) c.v[f] = 0;
  random_stream_put(s, i, &c);
  return c.v[f] != before;
}

static void mutate_buffer(subject *x, bool (*mutate)(subject *x, wk_stream *s)) {
  wk_stream *s = random_stream_copy(x->s);
  for (int tries = 0; tries < 200 && !mutate(x, s); tries++) continue;
  wk_status bad = wk_stream_validate(s);
  random_stream_oracle *oracle = random_stream_oracle_new(s);
  bool allowed = !bad && random_stream_oracle_allows(oracle, s);
  wk_status_free(bad);
  if (!is_bad_record(s)) {
    if (allowed != is_accepted(s, NULL))
      complain(x, s, allowed ? "a moved buffer is harmless" : "a moved buffer is a hazard");
    *(allowed ? &tally.accepted : &tally.refused) += 1;
  }
  random_stream_oracle_free(oracle);
  wk_stream_free(s);
}

/* ---- what can never be legal ----------------------------------------------------------------- */

static bool zero_count(subject *x, wk_isa_command *c, const wk_isa_command_info *info) {
  int f = (int)pick(x, 0, info->n_fields - 1);
  c->v[f] = 0;
  return info->fields[f].kind == WK_KIND_COUNT;
}

static bool too_many_lanes(subject *x, wk_isa_command *c, const wk_isa_command_info *info) {
  int f = (int)pick(x, 0, info->n_fields - 1);
  const char *name = info->fields[f].name;
  c->v[f] = x->s->machine.array + pick(x, 1, 20);
  return !strcmp(name, "n") || !strcmp(name, "k_tail") || !strcmp(name, "rows");
}

static bool beyond_the_end(subject *x, wk_isa_command *c, const wk_isa_command_info *info) {
  int f = (int)pick(x, 0, info->n_fields - 1);
  bool is_used = c->opcode == WK_CMD_LD || c->opcode == WK_CMD_ST || c->opcode == WK_CMD_FILL ||
                 c->opcode == WK_CMD_TRN || c->opcode == WK_CMD_TAB;
  c->v[f] = x->s->machine.scratchpad + pick(x, 0, 100);
  return is_used && info->fields[f].kind == WK_KIND_SPM;
}

static bool later_command(subject *x, wk_isa_command *c, const wk_isa_command_info *info) {
  (void)info;
  wk_isa_wait(c, (int)pick(x, 0, 4), x->s->n);
  return true;
}

static bool no_such_queue(subject *x, wk_isa_command *c, const wk_isa_command_info *info) {
  do c->queue = (uint32_t)pick(x, 0, 7);
  while (info->queues >> c->queue & 1 && (int)c->queue < wk_machine_queues(&x->s->machine));
  return true;
}

static bool reserved_bit(subject *x, wk_isa_command *c, const wk_isa_command_info *info) {
  (void)info;
  c->reserved = 1u << pick(x, 0, 6);
  return true;
}

static bool no_such_command(subject *x, wk_isa_command *c, const wk_isa_command_info *info) {
  (void)info;
  c->opcode = (uint32_t)pick(x, 14, 31);
  return true;
}

static bool early_end(subject *x, wk_isa_command *c, const wk_isa_command_info *info) {
  (void)info;
  *c = wk_isa_command_default(&x->s->machine, WK_CMD_END);
  return true;
}

static bool crooked(subject *x, wk_isa_command *c, const wk_isa_command_info *info) {
  int f = (int)pick(x, 0, info->n_fields - 1);
  c->v[f] += pick(x, 1, x->s->machine.array - 1);
  return !strcmp(info->fields[f].name, "wt") && c->opcode != WK_CMD_MM;
}

static bool (*const crimes[])(subject *x, wk_isa_command *c, const wk_isa_command_info *info) = {
    zero_count,   too_many_lanes,  beyond_the_end, later_command, no_such_queue,
    reserved_bit, no_such_command, early_end,      crooked};

static bool commit(subject *x, wk_stream *s, size_t crime) {
  wk_isa_command c;
  uint32_t i = (uint32_t)pick(x, 0, s->n - 2);
  wk_stream_get(s, i, &c);
  const wk_isa_command_info *info = wk_isa_command_of((int)c.opcode);
  if (!crimes[crime](x, &c, info)) return false;
  random_stream_put(s, i, &c);
  return true;
}

static void mutate_fields(subject *x) {
  for (size_t k = 0; k < WK_COUNTOF(crimes); k++) {
    wk_stream *s = random_stream_copy(x->s);
    bool done = false;
    for (int tries = 0; tries < 300 && !done; tries++) done = commit(x, s, k);
    if (done && is_accepted(s, NULL)) complain(x, s, "an illegal field");
    tally.illegal += done;
    wk_stream_free(s);
  }
}

static void cut_end(subject *x) {
  wk_stream *s = random_stream_copy(x->s);
  s->n--;
  if (is_accepted(s, NULL)) complain(x, s, "there is no END");
  tally.illegal++;
  wk_stream_free(s);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void try_stream(subject *x) {
  uint32_t order[MOST_COMMANDS];
  for (uint32_t i = 0; i < x->s->n; i++) order[i] = i;
  x->memory = random_stream_memory(x->s);
  x->oracle = random_stream_oracle_new(x->s);
  random_stream_execute(x->s, order, x->memory);
  if (!random_stream_oracle_allows(x->oracle, x->s) || !is_accepted(x->s, NULL))
    complain(x, x->s, "a legal stream");
  try_orders(x, x->s);
  for (int i = 0; i < WAIT_MUTANTS; i++) mutate_wait(x);
  for (int i = 0; i < BUFFER_MUTANTS; i++) mutate_buffer(x, move_buffer);
  for (int i = 0; i < STEP_MUTANTS; i++) mutate_buffer(x, bend_step);
  mutate_fields(x);
  cut_end(x);
  tally.streams++;
  free(x->memory);
  random_stream_oracle_free(x->oracle);
}

static void test_mutants(void **state) {
  wk_machine m;
  assert_null(wk_machine_read("tiny", &m));
  (void)state;
  for (uint64_t seed = range.first; seed < range.first + range.count; seed++) {
    random_stream_options o = {.commands = 3 + (int)(seed % 30), .work = 60};
    subject x = {.seed = seed, .s = random_stream(&m, seed, &o), .r = {seed}};
    if (x.s->n <= MOST_COMMANDS) try_stream(&x);
    wk_stream_free(x.s);
  }
  print_message(
      "%d streams in %d orders; mutants: %d accepted, %d refused (%d seen to go wrong in the "
      "first order tried), %d illegal, %d with a record that is\n",
      tally.streams, tally.orders, tally.accepted, tally.refused, tally.seen, tally.illegal,
      tally.records);
  if (range.count >= 100) assert_true(tally.accepted + tally.refused + tally.illegal > 2000);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static const struct {
  const char *text; /* behind a fill of 4 KiB, labelled a */
  const char *says; /* NULL: accepted */
} cases[] = {
    /* what a command reads itself must not hide who read before */
    {"mm in=0 in_y=8 wt=64 w_r=8 wait a\n"
     "mm in=256 wt=512 w_r=8 acc=1 drain residual out=0 res=0 par=1024 wait a",
     "a wait for ex:1 is missing"},
    {"mm in=0 in_y=8 wt=64 w_r=8 wait a\n"
     "mm in=256 wt=512 w_r=8 acc=1 drain residual out=0 res=0 par=1024 wait a ex:1",
     NULL},
    {"mm in=0 wt=64 w_r=8 drain out=4 par=1024 wait a", "which the command also reads"},
    {"mm in=0 wt=64 w_r=8 drain out=1120 par=1024 wait a", NULL},
    {"mm in=0 wt=64 w_r=8 drain out=1119 par=1024 wait a", "which the command also reads"},
    /* residuals are read ahead of the output that takes their place */
    {"conv in=0 nx=6 wt=0 drain residual out=2048 res=2048 out_x=8 par=1024 wait a", NULL},
    {"conv in=0 nx=6 wt=0 drain residual out=2048 res=2048 out_x=7 par=1024 wait a", "also reads"},
    {"conv in=0 nx=6 wt=0 n=7 drain residual out=2048 res=2048 out_x=7 par=1024 wait a", NULL},
    {"conv in=0 ny=3 nx=3 wt=0 drain residual out=2048 res=2048 out_x=24 out_y=8 par=1024 wait a",
     NULL},
    {"conv in=0 ny=3 nx=3 wt=0 drain residual out=2048 res=2048 out_x=20 out_y=8 par=1024 wait a",
     "also reads"},
    {"conv in=0 ny=3 nx=3 wt=0 drain residual out=2048 res=2048 out_x=28 out_y=20 par=1024 wait a",
     NULL},
    {"conv in=0 ny=3 nx=3 wt=0 drain residual out=2048 res=2048 out_x=28 out_y=16 par=1024 wait a",
     "also reads"},
    {"dwc in=0 ny=2 nx=2 taps=one wt=0 drain residual out=2048 res=2048 out_x=8 out_y=8 par=1024 "
     "wait a",
     "also reads"},
    {"mm in=0 ny=3 wt=64 w_r=8 drain residual out=2048 res=2048 out_y=7 par=1024 wait a",
     "also reads"},
    {"mm in=0 ny=3 wt=64 w_r=8 drain residual out=2048 res=2048 out_y=8 par=1024 wait a", NULL},
    {"mm in=0 wt=64 w_r=8 n=4 wait a\nmm in=0 wt=64 w_r=8 n=5 accumulate", "holds sums of 4"},
    {"mm in=0 wt=64 w_r=8 n=4 wait a\nmm in=0 wt=64 w_r=8 n=3 accumulate", NULL},
    {"map fn=move a=0 out=0 n0=9 wait a", NULL},
    {"map fn=move a=8 out=3 n0=9 wait a", NULL},
    {"map fn=move a=0 out=8 n0=9 wait a", "operand is still read"},
    {"map fn=move a=0 out=8 n0=1 wait a", NULL},
    {"map fn=max a=0 b=64 out=60 par=1024 n0=1 n1=2 a1=8 b1=8 y1=8 wait a", NULL},
    {"map fn=max a=0 b=60 out=64 par=1024 n0=1 n1=2 a1=8 b1=8 y1=8 wait a", "still read"},
    {"trn in=0 in_r=8 out=0 out_r=8 wait a", NULL},
    {"trn in=0 in_r=8 in_x=64 nx=2 out=64 out_r=8 out_x=64 wait a", "still read"},
    {"row fn=max in=0 in_y=8 ny=3 out=0 out_y=1 par=9 wait a", NULL},
    {"row fn=max in=0 in_y=8 ny=3 out=0 out_y=1 wait a", NULL},
    {"row fn=mean in=0 out=4200 par=4096 wait a", "no command has written"},
    {"row fn=max in=0 in_y=8 ny=3 out=8 out_y=1 par=9 wait a", "still read"},
    /* a record belongs to all rows */
    {"row fn=mean in=0 in_y=8 ny=3 out=1062 out_y=1 par=1024 wait a", "still read"},
    {"row fn=mean in=0 in_y=8 ny=3 out=1063 out_y=1 par=1024 wait a", "still read"},
    {"row fn=mean in=0 in_y=8 ny=3 out=1064 out_y=1 par=1024 wait a", NULL},
    {"row fn=mean in=0 in_y=8 ny=3 out=1022 out_y=1 par=1024 wait a", "still read"},
    {"row fn=mean in=0 in_y=8 ny=3 out=1021 out_y=1 par=1024 wait a", NULL},
    {"row fn=mean in=0 in_y=8 out=1024 par=1024 wait a", "still read"},
    {"row fn=max in=0 in_y=8 ny=3 out=1024 out_y=1 par=1024 wait a", NULL},
    /* rows are replaced by their results unless blocks share bytes */
    {"row fn=layernorm in=0 in_c=8 out=0 out_c=8 kc=4 par=1024 wait a", NULL},
    {"row fn=layernorm in=0 in_c=9 out=0 out_c=9 kc=4 par=1024 wait a", NULL},
    {"row fn=layernorm in=0 in_c=7 out=0 out_c=7 kc=4 par=1024 wait a", "still read"},
    {"row fn=layernorm in=0 in_c=7 out=0 out_c=7 kc=2 k_tail=1 par=1024 wait a", "still read"},
    {"row fn=layernorm in=0 in_c=7 out=0 out_c=7 kc=1 par=1024 wait a", NULL},
    {"tab in=0 count=3 wait a\nrow fn=softmax in=0 in_c=4 out=0 out_c=4 kc=4 par=1024 wait a",
     "still read"},
    {"tab in=0 count=3 wait a\nrow fn=softmax in=0 in_c=8 out=0 out_c=8 kc=4 par=1024 wait a",
     NULL},
    /* the same bytes any number of times */
    {"map fn=move a=0 out=256 a0=0 y0=0 n0=4095 n1=4095 n2=4095 wait a", NULL},
    {"map fn=move a=0 out=0 a0=0 y0=0 n0=4095 n1=4095 n2=4095 wait a", "still read"},
    {"map fn=move a=0 out=4096 n=1 a0=1 y0=3 y1=2 y2=1 n0=4095 n1=4095 n2=4095 wait a", NULL},
    {"map fn=move a=0 out=0 n=1 a0=1 y0=3 y1=2 y2=1 n0=4095 n1=4095 n2=4095 wait a", "still read"},
    {"map fn=max a=4095 b=0 par=0 out=4095 n=1 a0=0 b0=1 y0=1 y1=1 y2=0 n0=4095 n1=4095 wait a",
     "still read"},
    {"map fn=move a=4095 out=0 n=1 a0=0 y0=1 y1=1 n0=4095 n1=2 wait a", NULL},
    {"map fn=move a=4095 out=0 n=1 a0=0 y0=1 y1=1 n0=4095 n1=3 wait a", "still read"},
    {"row fn=max in=0 in_y=0 in_c=1 ny=4095 kc=4088 out=4096 out_y=3 par=0 wait a", NULL},
    {"row fn=max in=0 in_y=0 in_c=0 ny=4095 kc=4095 out=8 out_y=0 par=0 wait a", NULL},
    {"row fn=max in=0 in_y=0 in_c=1 ny=4095 kc=4088 out=4094 out_y=3 par=0 wait a", "still read"},
    {"trn in=0 in_r=1 in_x=0 in_y=1 nx=4080 ny=4080 out=4096 out_r=3 out_x=2 out_y=1 wait a", NULL},
    {"trn in=0 in_r=1 in_x=0 in_y=1 nx=4080 ny=4080 out=4080 out_r=3 out_x=2 out_y=1 wait a",
     "still read"},
    {"pool fn=max in=0 in_y=1 in_x=2 k_y=3 k_x=5 ny=511 nx=511 ky=63 kx=63 out=4096 out_y=1 "
     "out_x=2 wait a",
     NULL},
    {"pool fn=max in=0 in_y=1 in_x=2 k_y=3 k_x=5 ny=511 nx=511 ky=63 kx=63 out=2033 out_y=1 "
     "out_x=2 wait a",
     "which the command also reads"},
    /* far apart in memory */
    {"st dram=0x10000 n0=1 n1=4095 n2=127 s1=513 s2=2100737 spm=0 c0=1 c1=4095 p1=1 wait a", NULL},
    {"st dram=0x10000 n0=1 n1=64 s1=4099 spm=0 c0=64 wait a\n"
     "ld.ld1 dram=0x10000 n0=12298 spm=8192 c0=12298",
     "a wait for st:1 is missing"},
    {"st dram=0x10000 n0=1 n1=64 s1=4099 spm=0 c0=64 wait a\n"
     "ld.ld1 dram=0x10001 n0=4098 n1=3 s1=4099 spm=8192 c0=12294",
     NULL}};

static void test_by_hand(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_stream *s;
    wk_str text = {0}, why = {0};
    wk_str_printf(&text, ".machine tiny\na: fill.ld0 spm=0 c0=4096\n%s\nend\n", cases[i].text);
    wk_status bad = wk_asm(text.s, text.n, "case", NULL, NULL, &s);
    if (bad) fail_msg("%s: %s", cases[i].text, bad->message);
    bool accepted = is_accepted(s, &why);
    if (accepted != !cases[i].says || (!accepted && !strstr(why.s, cases[i].says)))
      fail_msg("%s: %s", cases[i].text, accepted ? "accepted" : why.s);
    wk_stream_free(s);
    wk_str_free(&text);
    wk_str_free(&why);
  }
}

/* ---- records --------------------------------------------------------------------------------- */

/* An operand of 64 bytes at 0 and a record in memory, p, which an LD brings to 0x400. */
#define ADD "map fn=add a=0 b=0 out=64 par=0x400"
#define MUL "map fn=mul a=0 b=0 out=64 par=0x400"
#define SCALE "map fn=scale a=0 out=64 par=0x400"
#define DRAIN "mm in=0 wt=0 w_r=8 drain out=256 par=0x400"
#define GAINS "\n.for i 0 8\n.entry p 0 i gain=1\n.end"
#define REFUSED "a row of softmax or normalisation out of range" /* by the machine itself */
static const struct {
  const char *record;  /* parts of it; entries have a good shift */
  const char *command;
  const char *says;    /* NULL: accepted */
  const char *runs;    /* what the functional model says; NULL: the same */
} records[] = {
    {"lo2=5 hi2=3", ADD, "the record at 0x400: lo2 is 5, above hi2, which is 3", NULL},
    {"lo2=5 hi2=5", ADD, NULL, NULL},
    {"lo2=5 hi2=3", "map fn=max a=0 b=0 out=64 par=0x400", "lo2 is 5, above hi2, which is 3", NULL},
    {"lo=5 hi=3", ADD, NULL, NULL}, /* of no accumulation */
    {"lo=5 hi=-3", DRAIN, "lo is 5, above hi, which is -3", NULL},
    {"lo2=5 hi2=3", DRAIN, NULL, NULL},
    {"lo2=5 hi2=3", DRAIN " residual res=0", "lo2 is 5, above hi2, which is 3", NULL},
    {"lo=1 hi=0", "pool fn=mean in=0 out=64 par=0x400", "lo is 1, above hi", NULL},
    {"lo=1 hi=0", "row fn=mean in=0 out=64 par=0x400", "lo is 1, above hi", NULL},
    {"ma=0x7fffff mb=-0x7fffff", ADD, NULL, NULL},
    {"zb=0\n.words p 8 0x800000", ADD, "ma is 8388608, not -8388607 to 8388607", NULL},
    {"zb=0\n.words p 12 -0x800000", ADD, "mb is -8388608, not -8388607 to 8388607", NULL},
    {"zb=0\n.words p 8 0x800000", SCALE, "ma is 8388608", NULL},
    {"zb=0\n.words p 12 -0x800000", SCALE, NULL, NULL},
    {"zb=0\n.words p 8 0x800000", DRAIN " residual res=0", "ma is 8388608", NULL},
    {"ma=0xffffff shift=1", MUL, NULL, NULL},
    {"shift=1\n.words p 8 0x1000000", MUL, "ma is 16777216, not 0 to 16777215", NULL},
    {"shift=1\n.words p 8 -1", MUL, "ma is -1, not 0 to 16777215", NULL},
    {"ma=1 shift=0", MUL, "shift is 0, not 1 to 62", NULL},
    {"shift=62", ADD, NULL, NULL},
    {"zb=0\n.bytes p 16 63", ADD, "shift is 63, not 0 to 62", NULL},
    {"zb=0\n.bytes p 16 63", DRAIN " residual res=0", "shift is 63, not 0 to 62", NULL},
    {"zb=0\n.bytes p 16 63", DRAIN, NULL, NULL},
    {"za=-128 zb=127", ADD, NULL, NULL},
    {"za=128", ADD, "za is 128, not -128 to 127", NULL},
    {"za=128", ADD " a_u8", NULL, NULL},
    {"za=-1", ADD " a_u8", "za is -1, not 0 to 255", NULL},
    {"zb=256", ADD " b_u8", "zb is 256, not 0 to 255", NULL},
    {"zb=256", SCALE, NULL, NULL},
    {"za=300", "pool fn=mean in=0 out=64 par=0x400", "za is 300", NULL},
    {"za=-1", "row fn=mean u8 in=0 out=64 par=0x400", "za is -1", NULL},
    {"za=300 zb=-300", DRAIN " residual res=0", NULL, NULL}, /* there any i16 */
    {"zb=0\n.bytes p 17 2", DRAIN, "flags is 2, not 0 to 1", NULL},
    {"zero=1\n.bytes p 6 1", DRAIN, "the record at 0x400: bytes 6 and 7 are 1, must be 0", NULL},
    {"zero=1\n.bytes p 31 1", ADD, "the record at 0x400: bytes 28 to 31 are 16777216, must be 0",
     NULL},
    {"zero=1\n.bytes p 39 0", DRAIN, "shift_0 is 0, not 1 to 62", NULL},
    {"zero=1\n.bytes p 95 63", DRAIN, "shift_7 is 63, not 1 to 62", NULL},
    {"zero=1\n.bytes p 95 63", DRAIN " n=7", NULL, NULL},
    {"zero=1\n.bytes p 39 0", "pool fn=mean in=0 out=64 par=0x400", "shift_0 is 0", NULL},
    {"zero=1\n.bytes p 47 0", "pool fn=mean in=0 out=64 par=0x400", NULL, NULL},
    /* 3 x 3 taps of which 4 and 6 are no padding: entries 3 and 5 */
    {"zero=1\n.bytes p 71 0",
     "pool fn=valid_mean in=-9 in_x=1 in_y=8 k_x=1 k_y=8 n=1 ky=3 kx=3 ny=2 nx=2 "
     "h=2 w=3 pad_t=1 pad_l=1 out=128 out_y=2 out_x=1 par=0x400",
     NULL, NULL},
    {"zero=1\n.bytes p 79 0",
     "pool fn=valid_mean in=-9 in_x=1 in_y=8 k_x=1 k_y=8 n=1 ky=3 kx=3 ny=2 nx=2 "
     "h=2 w=3 pad_t=1 pad_l=1 out=128 out_y=2 out_x=1 par=0x400",
     "shift_5 is 0", NULL},
    {"e=1 shift=23" GAINS, "row fn=layernorm in=0 out=64 par=0x400", NULL, NULL},
    {"shift=23\n.words p 8 0" GAINS, "row fn=layernorm in=0 out=64 par=0x400", "e is 0, not 1 to",
     NULL},
    {"e=1\n.bytes p 16 63" GAINS, "row fn=layernorm in=0 out=64 par=0x400",
     "shift is 63, not 0 to 62", REFUSED},
    {"e=1 shift=23 za=200" GAINS, "row fn=rmsnorm in=0 out=64 par=0x400", "za is 200", NULL},
    {"e=1 shift=23 za=200" GAINS, "row fn=layernorm in=0 out=64 par=0x400", NULL, NULL},
    {"e=1 shift=23" GAINS "\n.words p 36 0x1000000", "row fn=layernorm in=0 out=64 par=0x400",
     "gain_0 is 16777216, not -16777215 to 16777215", NULL},
    {"zero=1\n.words p 32 0x3fffffff", "row fn=softmax in=0 out=64 par=0x400",
     "bias_0 is 1073741823, not 1073741824 to 2147483647", REFUSED},
    {"zero=1\n.words p 32 0x40000000", "row fn=softmax in=0 out=64 par=0x400", NULL, NULL},
    /* what is not known before the stream runs */
    {"lo2=5 hi2=3", "fill.ld1 spm=0x418 c0=4 wait p\n" ADD, NULL, NULL},
    {"lo2=5 hi2=3",
     "st dram=p+8 n0=32 spm=0 c0=32 wait x p\n"
     "ld.ld1 dram=p n0=96 spm=0x400 c0=96 wait st:1 p\n" ADD,
     NULL, "command 5 (MAP): the record at 0x400: ma is -1948326079"}};

/* says, NULL: all is defined. */
static void run_functional(const wk_stream *s, const char *says) {
  const wk_sim_run_options o = {.machine = &s->machine};
  wk_sim_run r;
  assert_null(wk_sim_run_stream(s, &wk_sim_functional, &o, &r));
  wk_status verdict = wk_sim_verdict(s, &s->machine, &r);
  if (says ? !verdict || !strstr(verdict->message, says) : verdict != NULL)
    fail_msg("functional model: %s, not %s", verdict ? verdict->message : "nothing",
             says ? says : "nothing");
  assert_null(strstr(r.result.undefined, "bias_0")); /* the machine refuses that by itself */
  wk_status_free(verdict);
  wk_sim_run_free(&r);
}

static void test_records(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(records); i++) {
    wk_stream *s;
    wk_str text = {0}, why = {0};
    wk_str_printf(&text,
                  ".machine tiny\n.memory x 0x1000 4096\n.random x 1\n.memory p 0x4000 512\n"
                  ".for i 0 60\n.entry p 0 i mult=1 shift=1\n.end\n.record p 0 %s\n"
                  "x: ld.ld0 dram=x n0=768 spm=0 c0=768\np: ld.ld1 dram=p n0=512 spm=0x400 c0=512\n"
                  "tab in=0 count=3 wait x p\n%s wait x ld1:%d ve:1\nend\n",
                  records[i].record, records[i].command,
                  strstr(records[i].command, ".ld1") ? 2 : 1);
    wk_status bad = wk_asm(text.s, text.n, "case", NULL, NULL, &s);
    if (bad) fail_msg("%s: %s", text.s, bad->message);
    bool accepted = is_accepted(s, &why);
    if (accepted != !records[i].says || (!accepted && !strstr(why.s, records[i].says)))
      fail_msg("%s with %s: %s", records[i].command, records[i].record,
               accepted ? "accepted" : why.s);
    run_functional(s, records[i].runs ? records[i].runs : records[i].says);
    wk_stream_free(s);
    wk_str_free(&text);
    wk_str_free(&why);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand), cmocka_unit_test(test_records),
                                     cmocka_unit_test(test_mutants)};
  if (argc > 1) {
    range.first = strtoull(argv[1], NULL, 10);
    range.count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
