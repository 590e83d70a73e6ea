/* SPDX-License-Identifier: Apache-2.0
 * What records may hold, of every command that reads one: each part at the ends of its range and
 * beyond them, and that nothing is said about parts that the command does not use, or whose bytes
 * nobody knows. The ranges are those of isa.md. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/isa/isa.h"

enum { PAR = 0x400, BYTES = WK_RECORD_BYTES + 64 * WK_ENTRY_BYTES, ENTRY = WK_RECORD_BYTES };

/* Who reads a record: a letter each, by which the ranges below name them. */
static const struct {
  char letter;
  int opcode;
  int fields[4][2]; /* that are not as they are by default */
} users[] = {
    {'c', WK_CMD_CONV, {{WK_CONV_drain, 1}, {WK_CONV_n, 5}}},
    {'r', WK_CMD_CONV, {{WK_CONV_drain, 1}, {WK_CONV_n, 5}, {WK_CONV_residual, 1}}},
    {'d', WK_CMD_DWC, {{WK_DWC_drain, 1}, {WK_DWC_n, 5}}},
    {'D', WK_CMD_DWC, {{WK_DWC_drain, 1}, {WK_DWC_n, 5}, {WK_DWC_residual, 1}}},
    {'k', WK_CMD_MM, {{WK_MM_drain, 1}, {WK_MM_n, 5}}},
    {'K', WK_CMD_MM, {{WK_MM_drain, 1}, {WK_MM_n, 5}, {WK_MM_residual, 1}}},
    {'a', WK_CMD_MAP, {{WK_MAP_fn, WK_CHOICE_MAP_add}}},
    {'m', WK_CMD_MAP, {{WK_MAP_fn, WK_CHOICE_MAP_mul}}},
    {'x', WK_CMD_MAP, {{WK_MAP_fn, WK_CHOICE_MAP_max}}},
    {'n', WK_CMD_MAP, {{WK_MAP_fn, WK_CHOICE_MAP_min}}},
    {'s', WK_CMD_MAP, {{WK_MAP_fn, WK_CHOICE_MAP_scale}}},
    {'p', WK_CMD_POOL, {{WK_POOL_fn, WK_CHOICE_POOL_mean}}},
    {'S', WK_CMD_ROW, {{WK_ROW_fn, WK_CHOICE_ROW_softmax}, {WK_ROW_kc, 2}, {WK_ROW_k_tail, 3}}},
    {'L', WK_CMD_ROW, {{WK_ROW_fn, WK_CHOICE_ROW_layernorm}, {WK_ROW_kc, 2}, {WK_ROW_k_tail, 3}}},
    {'M', WK_CMD_ROW, {{WK_ROW_fn, WK_CHOICE_ROW_mean}, {WK_ROW_kc, 2}, {WK_ROW_k_tail, 3}}},
    {'R', WK_CMD_ROW, {{WK_ROW_fn, WK_CHOICE_ROW_rmsnorm}, {WK_ROW_kc, 2}, {WK_ROW_k_tail, 3}}},
};
#define ALL "crdDkKamxnspSLMR"
#define DRAINS "crdDkK"

static const struct {
  const char *users, *name;
  int at, bytes;
  int64_t low, high;
} ranges[] = {
    {"rDKas", "ma", 8, 4, -8388607, 8388607},
    {"m", "ma", 8, 4, 0, 16777215},
    {"rDKa", "mb", 12, 4, -8388607, 8388607},
    {"LR", "e", 8, 8, 1, INT64_C(4611686018427387903)},
    {"m", "shift", 16, 1, 1, 62},
    {"rDKasLR", "shift", 16, 1, 0, 62},
    {ALL, "bytes 6 and 7", 6, 2, 0, 0},
    {ALL, "bytes 28 to 31", 28, 4, 0, 0},
    {ALL, "flags", 17, 1, 0, 1},
    {"amspMR", "za", 18, 2, -128, 127},
    {"am", "zb", 20, 2, -128, 127},
    {DRAINS "pM", "shift_0", ENTRY + 7, 1, 1, 62},
    {DRAINS, "shift_4", ENTRY + 4 * 8 + 7, 1, 1, 62},
    {"", "shift_5", ENTRY + 5 * 8 + 7, 1, 1, 62}, /* there are five */
    {"S", "bias_0", ENTRY, 4, INT64_C(1) << 30, INT32_MAX},
    {"LR", "gain_0", ENTRY + 4, 4, -16777215, 16777215},
    {"LR", "gain_10", ENTRY + 10 * 8 + 4, 4, -16777215, 16777215},
    {"", "gain_11", ENTRY + 11 * 8 + 4, 4, -16777215, 16777215}, /* of a row of 8 + 3 */
};

typedef struct {
  uint8_t bytes[BYTES];
  int hidden, n_hidden; /* bytes that are not known */
} memory;

static bool read(void *context, uint64_t from, int bytes, uint8_t *out) {
  const memory *m = context;
  int at = (int)(from - PAR);
  assert_true(at >= 0 && at + bytes <= BYTES);
  if (at < m->hidden + m->n_hidden && m->hidden < at + bytes) return false;
  memcpy(out, m->bytes + at, (size_t)bytes);
  return true;
}

static void put(memory *m, int at, int bytes, int64_t v) {
  for (int i = 0; i < bytes; i++) m->bytes[at + i] = (uint8_t)(v >> 8 * i);
}

/* Fine for all: e is 1 + 2^32, gains are those of scales with a shift of 1 and no multiplier but
 * for the first, which softmax needs a bias in. */
static memory good_record(char user) {
  memory m = {.n_hidden = 0};
  put(&m, 8, 4, 1);
  put(&m, 12, 4, 1);
  put(&m, 16, 1, 1);
  put(&m, ENTRY, 4, INT64_C(1) << 30);
  for (int i = 0; i < 64 && !strchr("LR", user); i++) put(&m, ENTRY + 8 * i + 7, 1, 1);
  return m;
}

static wk_isa_command command_of(const wk_machine *machine, size_t i) {
  wk_isa_command c = wk_isa_command_default(machine, users[i].opcode);
  static const int par[] = {[WK_CMD_CONV] = WK_CONV_par, [WK_CMD_DWC] = WK_DWC_par,
                            [WK_CMD_MM] = WK_MM_par, [WK_CMD_MAP] = WK_MAP_par,
                            [WK_CMD_POOL] = WK_POOL_par, [WK_CMD_ROW] = WK_ROW_par};
  for (int k = 0; k < 4; k++) {
    bool is_none = k && !users[i].fields[k][0] && !users[i].fields[k][1];
    if (!is_none) c.v[users[i].fields[k][0]] = users[i].fields[k][1];
  }
  c.v[par[c.opcode]] = PAR;
  return c;
}

/* NULL: nothing is wrong. */
static const char *fault_of(const wk_machine *machine, const wk_isa_command *c, memory *m) {
  static wk_isa_fault f;
  if (!wk_isa_find_record_fault(machine, c, read, m, &f)) return NULL;
  assert_string_equal(f.field, "par");
  bool is_softmax = c->opcode == WK_CMD_ROW && c->v[WK_ROW_fn] == WK_CHOICE_ROW_softmax;
  bool is_refused = is_softmax && strstr(f.text, "bias_0"); /* by the machine */
  assert_int_equal(f.error, is_refused ? WK_ERROR_field : WK_ERROR_none);
  return f.text;
}

static void expect(char user, const char *got, const char *want) {
  if (strcmp(got ? got : "fine", want ? want : "fine"))
    fail_msg("%c: %s, not %s", user, got ? got : "fine", want ? want : "fine");
}

/* The value of the range that has an end there, or one beyond it. */
static void try_value(const wk_machine *machine, size_t i, size_t r, int64_t v, bool is_used) {
  wk_isa_command c = command_of(machine, i);
  memory m = good_record(users[i].letter);
  char text[128];
  int64_t low = ranges[r].low, high = ranges[r].high;
  int unused = 64 - 8 * ranges[r].bytes; /* of ma the sign counts, whoever takes none */
  bool is_signed = ranges[r].at == 8 ? ranges[r].bytes == 4 : low < 0 || high == INT32_MAX;
  int64_t seen = is_signed ? (int64_t)((uint64_t)v << unused) >> unused
                           : (int64_t)((uint64_t)v << unused >> unused);
  put(&m, ranges[r].at, ranges[r].bytes, v);
  if (low == high)
    snprintf(text, sizeof text, "the record at 0x400: %s are %" PRId64 ", must be %" PRId64,
             ranges[r].name, seen, low);
  else
    snprintf(text, sizeof text, "the record at 0x400: %s is %" PRId64 ", not %" PRId64 " to %"
             PRId64, ranges[r].name, seen, low, high);
  bool is_bad = is_used && (v < low || v > high);
  expect(users[i].letter, fault_of(machine, &c, &m), is_bad ? text : NULL);
  m.hidden = ranges[r].at, m.n_hidden = ranges[r].bytes;
  expect(users[i].letter, fault_of(machine, &c, &m), NULL);
}

/* Another range of these bytes holds for the user. */
static bool has_other(char user, size_t r) {
  for (size_t k = 0; k < WK_COUNTOF(ranges); k++)
    if (k != r && strchr(ranges[k].users, user) &&
        ranges[k].at < ranges[r].at + ranges[r].bytes &&
        ranges[r].at < ranges[k].at + ranges[k].bytes)
      return true;
  return false;
}

static int entries_of(char user) {
  return strchr(DRAINS, user) ? 5 : strchr("pSM", user) ? 1 : strchr("LR", user) ? 11 : 0;
}

static void ends_of_ranges(void **state) {
  wk_machine tiny;
  (void)state;
  assert_null(wk_machine_read("tiny", &tiny));
  for (size_t i = 0; i < WK_COUNTOF(users); i++)
    for (size_t r = 0; r < WK_COUNTOF(ranges); r++) {
      bool is_used = strchr(ranges[r].users, users[i].letter);
      if (!is_used && has_other(users[i].letter, r)) continue;
      if (!is_used && ranges[r].at >= ENTRY &&
          ranges[r].at < ENTRY + entries_of(users[i].letter) * WK_ENTRY_BYTES)
        continue; /* where something else is */
      const int64_t values[] = {ranges[r].low - 1, ranges[r].low, ranges[r].high,
                                ranges[r].high + 1};
      for (size_t k = 0; k < WK_COUNTOF(values); k++) try_value(&tiny, i, r, values[k], is_used);
    }
}

/* ---- pairs, types, functions, taps ----------------------------------------------------------- */

static void lows_above_highs(void **state) {
  static const struct {
    const char *users, *low, *high;
    int at;
  } pairs[] = {{DRAINS "pSLMR", "lo", "hi", 2}, {"rDKamxns", "lo2", "hi2", 24}};
  wk_machine tiny;
  (void)state;
  assert_null(wk_machine_read("tiny", &tiny));
  for (size_t i = 0; i < WK_COUNTOF(users); i++)
    for (size_t p = 0; p < WK_COUNTOF(pairs); p++) {
      wk_isa_command c = command_of(&tiny, i);
      memory m = good_record(users[i].letter);
      char text[128];
      bool is_used = strchr(pairs[p].users, users[i].letter);
      snprintf(text, sizeof text, "the record at 0x400: %s is 300, above %s, which is 299",
               pairs[p].low, pairs[p].high);
      put(&m, pairs[p].at, 2, 300);
      put(&m, pairs[p].at + 2, 2, 300);
      expect(users[i].letter, fault_of(&tiny, &c, &m), NULL);
      put(&m, pairs[p].at + 2, 2, 299);
      expect(users[i].letter, fault_of(&tiny, &c, &m), is_used ? text : NULL);
      for (int k = 0; k < 2; k++) {
        m.hidden = pairs[p].at + 2 * k, m.n_hidden = 2;
        expect(users[i].letter, fault_of(&tiny, &c, &m), NULL);
      }
    }
}

/* za and zb lie in the type of their own operand. */
static void zeros_of_unsigned_operands(void **state) {
  static const struct {
    char user;
    int field, at;
    const char *name;
  } cases[] = {{'a', WK_MAP_a_u8, 18, "za"}, {'a', WK_MAP_b_u8, 20, "zb"},
               {'m', WK_MAP_a_u8, 18, "za"}, {'m', WK_MAP_b_u8, 20, "zb"},
               {'s', WK_MAP_a_u8, 18, "za"}, {'p', WK_POOL_u8, 18, "za"},
               {'M', WK_ROW_u8, 18, "za"},   {'R', WK_ROW_u8, 18, "za"}};
  static const int values[] = {-129, -128, -1, 0, 127, 128, 255, 256};
  wk_machine tiny;
  (void)state;
  assert_null(wk_machine_read("tiny", &tiny));
  for (size_t i = 0; i < WK_COUNTOF(cases); i++)
    for (size_t k = 0; k < WK_COUNTOF(values); k++)
      for (int u8 = 0; u8 < 2; u8++) {
        size_t user = 0;
        char text[128];
        while (users[user].letter != cases[i].user) user++;
        wk_isa_command c = command_of(&tiny, user);
        memory m = good_record(cases[i].user);
        int low = u8 ? 0 : -128, high = u8 ? 255 : 127;
        c.v[cases[i].field] = u8;
        put(&m, cases[i].at, 2, values[k]);
        snprintf(text, sizeof text, "the record at 0x400: %s is %d, not %d to %d", cases[i].name,
                 values[k], low, high);
        bool is_bad = values[k] < low || values[k] > high;
        expect(cases[i].user, fault_of(&tiny, &c, &m), is_bad ? text : NULL);
      }
}

/* Of sums that stay, and of functions without one, there is no record. */
static void commands_without_records(void **state) {
  static const struct {
    int opcode, field, value;
  } cases[] = {{WK_CMD_CONV, WK_CONV_drain, 0}, {WK_CMD_DWC, WK_DWC_drain, 0},
               {WK_CMD_MM, WK_MM_drain, 0}, {WK_CMD_MAP, WK_MAP_fn, WK_CHOICE_MAP_move},
               {WK_CMD_MAP, WK_MAP_fn, WK_CHOICE_MAP_table},
               {WK_CMD_POOL, WK_POOL_fn, WK_CHOICE_POOL_max},
               {WK_CMD_ROW, WK_ROW_fn, WK_CHOICE_ROW_max}, {WK_CMD_LD, WK_LD_n0, 1}};
  wk_machine tiny;
  memory m;
  (void)state;
  memset(&m, 0x7f, sizeof m);
  m.n_hidden = 0;
  assert_null(wk_machine_read("tiny", &tiny));
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_isa_command c = wk_isa_command_default(&tiny, cases[i].opcode);
    c.v[cases[i].field] = cases[i].value;
    assert_null(fault_of(&tiny, &c, &m));
  }
}

/* The entries of valid_mean are those of the numbers of taps that its windows have inside. */
static const struct {
  int ny, nx, ky, kx, sy, sx, dy, dx, pad_t, pad_l, h, w;
} windows[] = {
    {1, 1, 2, 3, 1, 1, 1, 1, 0, 0, 0, 0}, /* no limits: all taps */
    {3, 4, 2, 3, 1, 1, 1, 1, 1, 1, 2, 3},
    {4, 5, 3, 3, 2, 2, 1, 1, 1, 2, 6, 7},
    {3, 3, 3, 2, 1, 3, 2, 1, 2, 0, 4, 7},
    {2, 2, 2, 2, 3, 1, 1, 3, 0, 3, 5, 4},
    {5, 1, 5, 1, 1, 1, 1, 1, 4, 0, 5, 0},
    {1, 5, 1, 5, 1, 1, 1, 1, 0, 4, 0, 5},
    {6, 6, 7, 7, 1, 1, 1, 1, 3, 3, 6, 6},
};

static int inside(int o, int k, int s, int d, int pad, int size) {
  int n = 0;
  for (int t = 0; t < k; t++) {
    int at = o * s + t * d - pad;
    n += !size || (at >= 0 && at < size);
  }
  return n;
}

static void entries_of_valid_means(void **state) {
  wk_machine tiny;
  (void)state;
  assert_null(wk_machine_read("tiny", &tiny));
  for (size_t i = 0; i < WK_COUNTOF(windows); i++) {
    const int *x = &windows[i].ny;
    static const int fields[] = {WK_POOL_ny, WK_POOL_nx, WK_POOL_ky, WK_POOL_kx,
                                 WK_POOL_sy, WK_POOL_sx, WK_POOL_dy, WK_POOL_dx,
                                 WK_POOL_pad_t, WK_POOL_pad_l, WK_POOL_h, WK_POOL_w};
    wk_isa_command c = wk_isa_command_default(&tiny, WK_CMD_POOL);
    bool used[64] = {false};
    c.v[WK_POOL_fn] = WK_CHOICE_POOL_valid_mean;
    c.v[WK_POOL_par] = PAR;
    for (size_t k = 0; k < WK_COUNTOF(fields); k++) c.v[fields[k]] = x[k];
    for (int y = 0; y < x[0]; y++)
      for (int q = 0; q < x[1]; q++) {
        int taps = inside(y, x[2], x[4], x[6], x[8], x[10]) *
                   inside(q, x[3], x[5], x[7], x[9], x[11]);
        if (taps) used[taps - 1] = true;
      }
    for (int e = 0; e < x[2] * x[3]; e++) {
      memory m = good_record('v');
      char text[128];
      put(&m, ENTRY + 8 * e + 7, 1, 63);
      snprintf(text, sizeof text, "the record at 0x400: shift_%d is 63, not 1 to 62", e);
      expect((char)('0' + i), fault_of(&tiny, &c, &m), used[e] ? text : NULL);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ends_of_ranges), cmocka_unit_test(lows_above_highs),
      cmocka_unit_test(zeros_of_unsigned_operands), cmocka_unit_test(commands_without_records),
      cmocka_unit_test(entries_of_valid_means)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
