/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/machine.h"

#include <stdlib.h>
#include <string.h>

#include "targets/accel/isa/isa.h"
#include "targets/accel/isa/internal.h"

#define IS_POW2_ANY false
#define IS_POW2_POW2 true

const wk_machine_key wk_machine_keys[WK_KEY_COUNT] = {
#define ROW(kind, name, def, min, max, check, unit, doc) \
  {#name, kind, IS_POW2_##check, offsetof(wk_machine, name), #def, #min, #max, unit, doc},
#define KEY(...) ROW(WK_KEY_HARDWARE, __VA_ARGS__)
#define RUN(...) ROW(WK_KEY_RUN, __VA_ARGS__)
#define FRACTION(...) ROW(WK_KEY_FRACTION, __VA_ARGS__)
#include "targets/accel/machine.def"
#undef ROW
};

/* Two relations hold for every machine that the table allows; more would be checks that nothing
 * can reach. */
enum {
#define KEY(name, def, min, max, ...) MIN_##name = min, MAX_##name = max,
#define RUN(...)
#include "targets/accel/machine.def"
};
_Static_assert(MAX_burst / MIN_bus <= 256, "a burst has at most 256 beats");
_Static_assert(MIN_burst >= MAX_bus, "a burst has a whole number of beats");
_Static_assert(MIN_scratchpad >= MAX_banks * MAX_array, "every bank has a word");
_Static_assert(MIN_accumulators / (4 * MAX_array) >= 2, "both banks of accumulators have an entry");

/* ---- values ---------------------------------------------------------------------------------- */

bool wk_fraction_parse(const char *s, wk_fraction *out) {
  bool negative = *s == '-';
  int64_t num = 0, den = 1;
  int digits = 0;
  bool in_fraction = false;
  for (s += negative; *s; s++) {
    if (*s == '.' && !in_fraction) {
      in_fraction = true;
      continue;
    }
    if (*s < '0' || *s > '9' || ++digits > 18) return false;
    if (in_fraction && den == WK_FRACTION_DEN) {
      if (*s != '0') return false;
      continue;
    }
    num = num * 10 + (*s - '0');
    if (in_fraction) den *= 10;
  }
  if (digits == 0) return false;
  int64_t g = (int64_t)wk_gcd((uint64_t)num, (uint64_t)den);
  *out = (wk_fraction){(negative ? -num : num) / g, den / g};
  return true;
}

/* By whole parts first: the products of the rests are small. */
static int compare(wk_fraction a, wk_fraction b) {
  int64_t whole_a = a.num / a.den, whole_b = b.num / b.den;
  if (whole_a != whole_b) return whole_a < whole_b ? -1 : 1;
  int64_t x = a.num % a.den * b.den, y = b.num % b.den * a.den;
  return x < y ? -1 : x > y;
}

/* Of a row of machine.def, which is one. */
static wk_fraction literal(const char *text) {
  wk_fraction f = {0, 1};
  (void)wk_fraction_parse(text, &f);
  return f;
}

static wk_fraction value_of(const wk_machine *m, const wk_machine_key *k) {
  const void *at = (const char *)m + k->offset;
  if (k->kind == WK_KEY_FRACTION) return *(const wk_fraction *)at;
  return (wk_fraction){*(const int64_t *)at, 1};
}

static void set_value(wk_machine *m, const wk_machine_key *k, wk_fraction v) {
  void *at = (char *)m + k->offset;
  if (k->kind == WK_KEY_FRACTION) *(wk_fraction *)at = v;
  else *(int64_t *)at = v.num;
}

/* "256", "0.0625": at most six decimals. */
typedef struct { char s[48]; } value_text;

static value_text text_of(wk_fraction v) {
  value_text t;
  int64_t rest = llabs(v.num % v.den);
  int n = snprintf(t.s, sizeof t.s, "%s%lld%s", v.num < 0 ? "-" : "",
                   (long long)llabs(v.num / v.den), rest ? "." : "");
  for (; rest != 0 && n < (int)sizeof t.s - 1; rest = rest * 10 % v.den)
    t.s[n++] = (char)('0' + rest * 10 / v.den);
  t.s[n] = 0;
  return t;
}

void wk_machine_key_text(wk_str *b, const wk_machine *m, const wk_machine_key *k) {
  wk_str_add(b, text_of(value_of(m, k)).s);
}

void wk_machine_text(wk_str *b, const wk_machine *m) {
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    wk_str_printf(b, "%s = ", wk_machine_keys[i].name);
    wk_machine_key_text(b, m, &wk_machine_keys[i]);
    wk_str_add(b, ";\n");
  }
}

const wk_machine_key *wk_machine_key_find(const char *name) {
  for (size_t i = 0; i < WK_KEY_COUNT; i++)
    if (strcmp(wk_machine_keys[i].name, name) == 0) return &wk_machine_keys[i];
  return NULL;
}

wk_status wk_machine_set(wk_machine *m, const wk_machine_key *k, wk_fraction v, const char *place) {
  wk_fraction low = literal(k->min), high = literal(k->max);
  const char *gap = *k->unit ? " " : "";
  if (k->kind != WK_KEY_FRACTION && v.den != 1)
    return wk_error_at(WK_INPUT, place, "%s must be a whole number", k->name);
  if (compare(v, low) < 0 || compare(v, high) > 0)
    return wk_error_at(WK_INPUT, place, "%s = %s is outside %s to %s%s%s", k->name, text_of(v).s,
                       k->min, k->max, gap, k->unit);
  if (k->is_pow2 && (v.num & (v.num - 1)))
    return wk_error_at(WK_INPUT, place, "%s = %lld must be a power of two", k->name,
                       (long long)v.num);
  set_value(m, k, v);
  return NULL;
}

void wk_machine_defaults(wk_machine *m) {
  *m = (wk_machine){0};
  for (size_t i = 0; i < WK_KEY_COUNT; i++)
    set_value(m, &wk_machine_keys[i], literal(wk_machine_keys[i].def));
}

/* ---- relations ------------------------------------------------------------------------------- */

/* Others ask for bursts of WK_TRAFFIC_BYTES, traffic / WK_TRAFFIC_BYTES a cycle in the mean; each
 * takes overhead + WK_TRAFFIC_BYTES / bytes cycles, and refresh its part of all. Is there time left
 *   1 - refresh_cycles / refresh_interval - traffic * (overhead / WK_TRAFFIC_BYTES + 1 / bytes) > 0
 * exactly? Otherwise the queue of the memory grows for ever. */
__extension__ typedef __int128 wide;

static bool has_time_left(const wk_machine *m, double *traffic, double *refresh) {
  const wk_fraction t = m->dram_traffic, r = m->dram_bytes;
  wide interval = m->dram_refresh_interval, cycles = m->dram_refresh_cycles;
  if (!interval) interval = 1, cycles = 0;
  wide taken = (wide)t.num * ((wide)m->dram_overhead * r.num + (wide)WK_TRAFFIC_BYTES * r.den);
  wide whole = (wide)WK_TRAFFIC_BYTES * t.den * r.num;
  *traffic = 100 * (double)taken / (double)whole;
  *refresh = 100 * (double)cycles / (double)interval;
  return (interval - cycles) * whole > interval * taken;
}

wk_status wk_machine_relations(const wk_machine *m, int *key) {
  *key = WK_KEY_bus;
  if (m->bus < m->array)
    return wk_error(WK_INPUT, "bus = %lld bytes is narrower than a word of array = %lld bytes",
                    (long long)m->bus, (long long)m->array);
  *key = WK_KEY_accumulators;
  if (wk_machine_entries(m) > WK_ENTRIES_MAX)
    return wk_error(WK_INPUT,
                    "accumulators = %lld bytes are %lld entries of array = %lld sums; commands "
                    "reach %d",
                    (long long)m->accumulators, (long long)wk_machine_entries(m),
                    (long long)m->array, WK_ENTRIES_MAX);
  *key = WK_KEY_dram_traffic;
  if (compare(m->dram_traffic, m->dram_bytes) >= 0)
    return wk_error(WK_INPUT, "dram_traffic leaves nothing of dram_bytes");
  *key = WK_KEY_dram_refresh_cycles;
  if (m->dram_refresh_interval > 0 && m->dram_refresh_cycles >= m->dram_refresh_interval)
    return wk_error(WK_INPUT, "dram_refresh_cycles = %lld leaves nothing of "
                    "dram_refresh_interval = %lld", (long long)m->dram_refresh_cycles,
                    (long long)m->dram_refresh_interval);
  *key = WK_KEY_dram_traffic;
  double traffic, refresh;
  if (!has_time_left(m, &traffic, &refresh))
    return wk_error(WK_INPUT,
                    "the memory cannot keep up: dram_traffic with its dram_overhead takes "
                    "%.4g %% of it, refresh %.4g %%",
                    traffic, refresh);
  return NULL;
}

wk_status wk_machine_check(const wk_machine *m) {
  int key;
  return wk_machine_relations(m, &key);
}

/* ---- overrides ------------------------------------------------------------------------------- */

#define PREFIX "dram_"

static const wk_machine_key *find_short(const char *name) {
  char full[96];
  const wk_machine_key *k = wk_machine_key_find(name);
  if (k) return k;
  snprintf(full, sizeof full, PREFIX "%.64s", name);
  return wk_machine_key_find(full);
}

static wk_status unknown(const char *name, const char *item) {
  const char *names[2 * WK_KEY_COUNT];
  size_t n = 0, skip = strlen(PREFIX);
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    if (wk_machine_keys[i].kind == WK_KEY_HARDWARE) continue;
    bool is_dram = strncmp(wk_machine_keys[i].name, PREFIX, skip) == 0;
    if (is_dram) names[n++] = wk_machine_keys[i].name + skip;
    names[n++] = wk_machine_keys[i].name;
  }
  const char *near = wk_nearest(name, names, n);
  if (near) return wk_error_at(WK_USAGE, item, "unknown key '%s'; did you mean '%s'?", name, near);
  return wk_error_at(WK_USAGE, item, "unknown key '%s'", name);
}

static wk_status override_one(wk_machine *m, char *item) {
  char *equals = strchr(item, '='), name[96];
  if (!equals || equals == item)
    return wk_error(WK_USAGE, "'%s' is not of the form KEY=NUMBER", item);
  wk_fraction v;
  wk_status s = NULL;
  snprintf(name, sizeof name, "%.*s", (int)(equals - item < 95 ? equals - item : 95), item);
  const wk_machine_key *k = find_short(name);
  if (!k) s = unknown(name, item);
  else if (k->kind == WK_KEY_HARDWARE)
    s = wk_error_at(WK_USAGE, item, "%s is hardware: it stands in the machine file", k->name);
  else if (!wk_fraction_parse(equals + 1, &v))
    s = wk_error_at(WK_USAGE, item, "'%s' is no number of at most six decimals", equals + 1);
  else s = wk_machine_set(m, k, v, item);
  return wk_status_as(s, WK_USAGE);
}

wk_status wk_machine_override(wk_machine *m, const char *text) {
  char *copy = strdup(text), *at = copy;
  wk_machine changed = *m;
  wk_status s = copy ? NULL : wk_error(WK_RESOURCE, "out of memory");
  while (!s && at) {
    char *item = at, *comma = strchr(at, ',');
    if (comma) *comma = 0;
    at = comma ? comma + 1 : NULL;
    s = override_one(&changed, item);
  }
  if (!s) s = wk_machine_check(&changed);
  if (!s) *m = changed;
  free(copy);
  return wk_status_place(s, text);
}

/* ---- identity -------------------------------------------------------------------------------- */

uint64_t wk_machine_hash(const wk_machine *m) {
  wk_hasher h;
  char line[96];
  wk_hash_begin(&h);
  wk_isa_hash(&h);
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    const wk_machine_key *k = &wk_machine_keys[i];
    if (k->kind != WK_KEY_HARDWARE) continue;
    int n = snprintf(line, sizeof line, "key %.64s %lld\n", k->name,
                     (long long)value_of(m, k).num);
    wk_hash_add(&h, line, (size_t)n);
  }
  return wk_hash_end(&h);
}

wk_difference_text wk_machine_difference(const wk_machine *got, const wk_machine *want) {
  wk_difference_text t = {""};
  size_t at = 0;
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    const wk_machine_key *k = &wk_machine_keys[i];
    if (k->kind != WK_KEY_HARDWARE || compare(value_of(got, k), value_of(want, k)) == 0) continue;
    int n = snprintf(t.s + at, sizeof t.s - at, "%s%s is %lld, not %lld", at ? ", " : "", k->name,
                     (long long)value_of(got, k).num, (long long)value_of(want, k).num);
    at = (size_t)n < sizeof t.s - at ? at + (size_t)n : sizeof t.s - 1;
  }
  return t;
}
