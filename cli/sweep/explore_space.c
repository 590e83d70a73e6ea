/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sweep/explore.h"
#include "cli/text.h"

/* ---- limits ---------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  size_t offset;
} limit_names[] = {{"area", offsetof(wk_explore_limits, area)},
                   {"onchip_bytes", offsetof(wk_explore_limits, onchip)},
                   {"energy", offsetof(wk_explore_limits, energy)}};

static wk_status unknown_limit(const char *option, const char *name) {
  const char *names[WK_COUNTOF(limit_names)];
  for (size_t i = 0; i < WK_COUNTOF(names); i++) names[i] = limit_names[i].name;
  const char *near = wk_nearest(name, names, WK_COUNTOF(names));
  if (near)
    return wk_error_at(WK_USAGE, option, "unknown limit '%s'; did you mean '%s'?", name, near);
  return wk_error_at(WK_USAGE, option, "there are area, onchip_bytes and energy");
}

/* "2.5": as it is. "1.1x": negative, so many times the reference's. */
static wk_status read_limit(const char *option, const char *text, double *out) {
  char *end;
  double v = strtod(text, &end);
  bool is_times = *end == 'x' && !end[1];
  if (end == text || (*end && !is_times) || !isfinite(v) || v <= 0)
    return wk_error_at(WK_USAGE, option, "'%s' is no number above 0, nor one like 1.2x", text);
  *out = is_times ? -v : v;
  return NULL;
}

static wk_status add_limit(wk_explore *e, const char *text) {
  const char *option = wk_arena_printf(e->sweep.arena, "--limit %s", text);
  const char *equals = strchr(text, '=');
  if (!equals) return wk_error_at(WK_USAGE, option, "must be NAME=NUMBER or NAME=NUMBERx");
  const char *name = wk_arena_strndup(e->sweep.arena, text, (size_t)(equals - text));
  for (size_t i = 0; i < WK_COUNTOF(limit_names); i++) {
    double *limit = (double *)((char *)&e->limits + limit_names[i].offset);
    if (strcmp(limit_names[i].name, name) != 0) continue;
    if (*limit != INFINITY) return wk_error_at(WK_USAGE, option, "%s is limited twice", name);
    return read_limit(option, equals + 1, limit);
  }
  return unknown_limit(option, name);
}

static double absolute(double limit, double reference) {
  return limit < 0 ? -limit * reference : limit;
}

double wk_explore_energy_limit(const wk_explore *e) {
  return absolute(e->limits.energy, e->reference ? e->reference->energy : NAN);
}

bool wk_explore_is_within(const wk_explore *e, const wk_candidate *c) {
  double energy = wk_explore_energy_limit(e);
  bool has_energy = !isnan(c->energy) && !isnan(energy);
  return c->area <= e->limits.area && (double)c->onchip <= e->limits.onchip &&
         (!has_energy || c->energy <= energy);
}

/* ---- machines -------------------------------------------------------------------------------- */

static wk_candidate *candidate_new(wk_explore *e) {
  wk_arena *a = e->sweep.arena;
  size_t axes = e->sweep.axes.n, models = e->sweep.models.n;
  wk_candidate *c = wk_arena_alloc(a, sizeof *c);
  *c = (wk_candidate){.rung = -1, .times = NAN, .energy = NAN,
                      .values = wk_arena_alloc(a, axes * sizeof *c->values),
                      .predicted = wk_arena_alloc(a, models * sizeof *c->predicted),
                      .cycles = wk_arena_alloc(a, models * sizeof *c->cycles),
                      .rtl = wk_arena_alloc(a, models * sizeof *c->rtl)};
  for (size_t i = 0; i < models; i++) c->predicted[i] = c->cycles[i] = c->rtl[i] = 0;
  return c;
}

static void measure(wk_candidate *c) {
  c->area = wk_machine_area(&c->machine, NULL);
  c->onchip = wk_machine_onchip_bytes(&c->machine);
}

/* Places of the values of space index i. */
static void digits_of(const wk_explore *e, size_t index, size_t *digits) {
  for (size_t k = e->sweep.axes.n; k-- > 0;) {
    digits[k] = index % e->sweep.axes.data[k].values.n;
    index /= e->sweep.axes.data[k].values.n;
  }
}

static const char *make(wk_explore *e, size_t index, wk_candidate *c) {
  size_t digits[WK_KEY_COUNT];
  digits_of(e, index, digits);
  for (size_t k = 0; k < e->sweep.axes.n; k++)
    c->values[k] = e->sweep.axes.data[k].values.data[digits[k]];
  const char *refusal = wk_sweep_machine_of(&e->sweep, c->values, &c->machine);
  if (!refusal) measure(c);
  return refusal;
}

static void make_reference(wk_explore *e) {
  wk_candidate *c = candidate_new(e);
  c->machine = e->sweep.base;
  for (size_t k = 0; k < e->sweep.axes.n; k++) {
    wk_str text = {0};
    wk_machine_key_text(&text, &c->machine, e->sweep.axes.data[k].key);
    c->values[k] = wk_arena_strdup(e->sweep.arena, text.s);
    wk_str_free(&text);
  }
  measure(c);
  e->limits.area = absolute(e->limits.area, c->area);
  e->limits.onchip = absolute(e->limits.onchip, (double)c->onchip);
  e->reference = c;
}

/* ---- the space ------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
  double x = strtod(*(const char *const *)a, NULL), y = strtod(*(const char *const *)b, NULL);
  return (x > y) - (x < y);
}

enum { MAX_SIZE = 200000 };

static wk_status read_axes(wk_explore *e) {
  wk_machine_choices choices = {0};
  wk_status status = wk_machine_space_read(e->o->space, e->sweep.arena, &choices);
  e->size = 1;
  for (size_t i = 0; !status && i < choices.n; i++) {
    wk_sweep_axis axis = {.name = choices.data[i].key->name, .key = choices.data[i].key};
    for (size_t k = 0; k < choices.data[i].values.n; k++)
      wk_vec_push(&axis.values, choices.data[i].values.data[k]);
    qsort(axis.values.data, axis.values.n, sizeof *axis.values.data, by_number);
    wk_vec_push(&e->sweep.axes, axis);
    e->size *= axis.values.n;
    if (e->size > MAX_SIZE)
      status = wk_error_at(WK_RESOURCE, e->o->space, "the space has more than %d machines",
                           MAX_SIZE);
  }
  wk_machine_choices_free(&choices);
  return status;
}

/* What the smallest would need of what is exceeded. */
static wk_status refuse_space(const wk_explore *e, const wk_candidate *smallest) {
  if (!e->excluded)
    return wk_error_at(WK_INPUT, e->o->space, "no combination of these values is a machine: %s",
                       e->first_refusal);
  if (smallest->area > e->limits.area)
    return wk_error_at(WK_INPUT, e->o->space,
                       "no machine is within the limits: the smallest has %.3f mm² (area is "
                       "limited to %.3f)", smallest->area, e->limits.area);
  return wk_error_at(WK_INPUT, e->o->space,
                     "no machine is within the limits: onchip_bytes is limited to %.0f",
                     e->limits.onchip);
}

static wk_status find_places(wk_explore *e) {
  wk_candidate *c = candidate_new(e), smallest = {.area = INFINITY};
  for (size_t i = 0; i < e->size; i++) {
    const char *refusal = make(e, i, c);
    const wk_explore_place place = {i, false};
    if (refusal && !e->impossible++) e->first_refusal = refusal;
    if (refusal) continue;
    if (c->area < smallest.area) smallest = *c;
    if (wk_explore_is_within(e, c)) wk_vec_push(&e->places, place);
    else e->excluded++;
  }
  return e->places.n ? NULL : refuse_space(e, &smallest);
}

static wk_status open_space(wk_explore *e) {
  if (!e->o->space) return wk_error(WK_USAGE, "which machines? (--space FILE)");
  WK_TRY(read_axes(e));
  for (size_t i = 0; i < e->o->limit.n; i++) WK_TRY(add_limit(e, e->o->limit.data[i]));
  make_reference(e);
  return find_places(e);
}

wk_status wk_explore_open(const wk_explore_opts *o, const wk_cmd *cmd, const wk_strings *models,
                          wk_explore *e) {
  *e = (wk_explore){.o = o, .limits = {INFINITY, INFINITY, INFINITY}};
  const wk_option_pairs effort = WK_SETTINGS({"effort", o->effort});
  WK_TRY(wk_sweep_check_settings(&effort));
  WK_TRY(wk_sweep_check_settings(&o->sweep.settings));
  WK_TRY(wk_sweep_open(&o->sweep, cmd, o, models, &e->sweep));
  return open_space(e);
}

void wk_explore_free(wk_explore *e) {
  wk_status_free(e->rtl_status);
  wk_vec_free(&e->places);
  wk_vec_free(&e->tried);
  if (e->sweep.arena) wk_sweep_free(&e->sweep);
}

/* ---- who is tried ---------------------------------------------------------------------------- */

static void try_place(wk_explore *e, size_t place, wk_candidates *out) {
  wk_candidate *c = candidate_new(e);
  (void)make(e, e->places.data[place].index, c); /* it is a machine */
  e->places.data[place].is_tried = true;
  wk_vec_push(&e->tried, c);
  wk_vec_push(out, c);
}

/* The first of a shuffled deck, in the order of the space. */
void wk_explore_draw(wk_explore *e, size_t n, wk_candidates *out) {
  wk_rng rng = {(uint64_t)e->o->seed};
  size_t *deck = wk_xcalloc(e->places.n, sizeof *deck), all = e->places.n;
  bool *is_drawn = wk_xcalloc(all, sizeof *is_drawn);
  for (size_t i = 0; i < all; i++) deck[i] = i;
  for (size_t i = 0; i < all && i < n; i++) {
    size_t k = (size_t)wk_rng_range(&rng, (int64_t)i, (int64_t)all - 1), x = deck[i];
    deck[i] = deck[k];
    deck[k] = x;
    is_drawn[deck[i]] = true;
  }
  for (size_t i = 0; i < all; i++)
    if (is_drawn[i] && !e->places.data[i].is_tried) try_place(e, i, out);
  free(is_drawn);
  free(deck);
}

static int by_index(const void *a, const void *b) {
  size_t x = ((const wk_explore_place *)a)->index, y = ((const wk_explore_place *)b)->index;
  return (x > y) - (x < y);
}

static void try_index(wk_explore *e, size_t index, wk_candidates *out) {
  const wk_explore_place key = {index, false};
  wk_explore_place *found = bsearch(&key, e->places.data, e->places.n, sizeof key, by_index);
  if (found && !found->is_tried) try_place(e, (size_t)(found - e->places.data), out);
}

static size_t index_of(const wk_explore *e, const wk_candidate *c) {
  size_t index = 0;
  for (size_t k = 0; k < e->sweep.axes.n; k++) {
    const wk_sweep_axis *axis = &e->sweep.axes.data[k];
    size_t digit = 0;
    while (strcmp(axis->values.data[digit], c->values[k]) != 0) digit++;
    index = index * axis->values.n + digit;
  }
  return index;
}

void wk_explore_neighbours(wk_explore *e, const wk_candidates *of, size_t n, wk_candidates *out) {
  for (size_t i = 0; i < of->n; i++) {
    size_t digits[WK_KEY_COUNT], index = index_of(e, of->data[i]), stride = 1;
    digits_of(e, index, digits);
    for (size_t k = e->sweep.axes.n; k-- > 0;) {
      size_t values = e->sweep.axes.data[k].values.n;
      if (digits[k] && out->n < n) try_index(e, index - stride, out);
      if (digits[k] + 1 < values && out->n < n) try_index(e, index + stride, out);
      stride *= values;
    }
  }
}
