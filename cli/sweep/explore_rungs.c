/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "cli/sweep/explore.h"

const wk_rung wk_rungs[WK_RUNGS] = {
    {"schedule model, quick plan", WK_SWEEP_SCHEDULE, "0"},
    {"schedule model", WK_SWEEP_SCHEDULE, NULL},
    {"timing model", WK_SWEEP_TIMING, NULL}};

/* Of those that a rung has, one in KEEP_ONE_IN takes part in the next, but at least KEEP_LEAST. */
enum { KEEP_ONE_IN = 4, KEEP_LEAST = 8 };
/* At least so many times the front is looked at while the budget lasts. */
enum { ROUNDS = 24 };

/* ---- points ---------------------------------------------------------------------------------- */

/* Those of the user, with this effort. */
static wk_option_pairs settings_with(const wk_explore *e, const char *effort) {
  const wk_option_pairs *of = &e->o->sweep.settings;
  wk_option_pairs all = {.n = of->n + 1};
  all.data = wk_arena_alloc(e->sweep.arena, all.n * sizeof *all.data);
  for (size_t i = 0; i < of->n; i++) all.data[i] = of->data[i];
  all.data[of->n] = (wk_option_pair){"effort", effort};
  return all;
}

static void add_points(wk_explore *e, const wk_candidate *c, wk_sweep_model_kind kind,
                       const wk_option_pairs *settings) {
  for (size_t m = 0; m < e->sweep.models.n; m++)
    wk_sweep_add(&e->sweep, &(wk_sweep_point){.model = &e->sweep.models.data[m],
                                              .values = c->values, .machine = c->machine,
                                              .settings = *settings, .kind = kind});
}

/* Points of the machines, in their order, one for each model. */
static wk_status compute(wk_explore *e, const wk_candidates *list, wk_sweep_model_kind kind,
                         const char *effort) {
  size_t computed = 0;
  e->sweep.points.n = 0;
  const wk_option_pairs settings = settings_with(e, effort);
  for (size_t i = 0; i < list->n; i++) add_points(e, list->data[i], kind, &settings);
  WK_TRY(wk_sweep_prepare(&e->sweep));
  if (!e->o->sweep.task) WK_TRY(wk_sweep_forget_deaths(&e->sweep));
  WK_TRY(e->o->sweep.slurm ? wk_sweep_run_slurm(&e->sweep, &computed)
                           : wk_sweep_run(&e->sweep, &computed));
  e->computed += computed;
  return NULL;
}

/* ---- figures --------------------------------------------------------------------------------- */

static uint64_t whole(const json_t *row, const char *name) {
  return (uint64_t)json_integer_value(json_object_get(row, name));
}

static const char *failure_of(wk_explore *e, const wk_sweep_point *p, const json_t *row,
                              uint64_t cycles, uint64_t *host_macs) {
  const char *error = json_string_value(json_object_get(row, "error"));
  uint64_t macs = whole(row, "host_macs"), allowed = *host_macs;
  wk_arena *a = e->sweep.arena;
  if (!row) error = p->lost ? p->lost : "has not been computed";
  if (!error && !cycles) error = "nothing of it runs on the machine";
  if (!error && macs > allowed)
    error = wk_arena_printf(a, "%llu multiplications cannot run on the machine",
                            (unsigned long long)macs);
  return error ? wk_arena_printf(a, "%s: %s", p->model->name, error) : NULL;
}

/* Its points begin at p. What the reference leaves to the processor others may leave, too. */
static void read_figures(wk_explore *e, wk_candidate *c, const wk_sweep_point *p) {
  double energy = 0, logs = 0;
  bool is_reference = c == e->reference;
  for (size_t m = 0; m < e->sweep.models.n && !c->error; m++) {
    json_t *row = wk_sweep_row(&e->sweep, &p[m]);
    uint64_t any = UINT64_MAX, *host_macs = is_reference ? &any : &e->host_macs[m];
    uint64_t predicted = whole(row, "predicted"), cycles = whole(row, "cycles");
    bool has_run = p[m].kind != WK_SWEEP_SCHEDULE;
    c->error = failure_of(e, &p[m], row, has_run ? cycles : predicted, host_macs);
    if (is_reference) e->host_macs[m] = whole(row, "host_macs");
    energy += has_run ? json_number_value(json_object_get(row, "energy")) : NAN;
    c->predicted[m] = predicted;
    c->cycles[m] = cycles;
    json_decref(row);
  }
  c->energy = energy > 0 ? energy : NAN;
  for (size_t m = 0; m < e->sweep.models.n; m++) {
    const wk_candidate *r = e->reference;
    bool has_run = p[m].kind != WK_SWEEP_SCHEDULE;
    logs += has_run ? log((double)c->cycles[m] / (double)r->cycles[m])
                    : log((double)c->predicted[m] / (double)r->predicted[m]);
  }
  c->times = c->error ? NAN : exp(logs / (double)e->sweep.models.n);
}

/* ---- rungs ----------------------------------------------------------------------------------- */

static const char *effort_of(const wk_explore *e, int rung) {
  return wk_rungs[rung].effort ? wk_rungs[rung].effort : e->o->effort;
}

/* The reference goes first. */
static wk_status climb(wk_explore *e, const wk_candidates *list, int rung) {
  wk_candidates all = {0};
  wk_vec_push(&all, e->reference);
  for (size_t i = 0; i < list->n; i++) wk_vec_push(&all, list->data[i]);
  e->sweep.stage = wk_arena_printf(e->sweep.arena, "rung %d, %s: ", rung + 1, wk_rungs[rung].name);
  wk_status status = compute(e, &all, wk_rungs[rung].kind, effort_of(e, rung));
  for (size_t i = 0; !status && i < all.n; i++) {
    wk_candidate *c = all.data[i];
    read_figures(e, c, &e->sweep.points.data[i * e->sweep.models.n]);
    c->rung = rung;
    if (i == 0 && c->error)
      status = wk_error(WK_FAILED, "the machine that others are compared with, %s: %s",
                        e->sweep.base.name, c->error);
  }
  wk_vec_free(&all);
  return status;
}

/* The front, by times; every other time it begins elsewhere, so that all of it has its turn. */
static void find_front(const wk_candidates *list, size_t round, wk_candidates *front) {
  wk_candidates by_times = {0};
  wk_explore_front(list, &by_times);
  size_t n = by_times.n, from = n && round % 2 ? round / 2 % n : 0;
  front->n = 0;
  for (size_t i = 0; i < n; i++) wk_vec_push(front, by_times.data[(from + i) % n]);
  wk_vec_free(&by_times);
}

/* Half at random first, then around whoever is not beaten, a few at a time, until the budget is
 * spent; where nothing near the front is left, at random again. */
static wk_status first_rung(wk_explore *e, wk_candidates *list) {
  size_t budget = (size_t)e->o->budget, few = budget / ROUNDS + 1;
  size_t drawn = e->places.n <= budget ? budget : (budget + 1) / 2;
  wk_candidates fresh = {0}, front = {0};
  wk_status status = NULL;
  wk_explore_draw(e, drawn, &fresh);
  for (size_t round = 0; !status && fresh.n; round++) {
    status = climb(e, &fresh, 0);
    for (size_t i = 0; i < fresh.n; i++) wk_vec_push(list, fresh.data[i]);
    fresh.n = 0;
    size_t left = budget - list->n;
    find_front(list, round, &front);
    if (left > few) left = few;
    wk_explore_neighbours(e, &front, left, &fresh);
    for (; !fresh.n && left && drawn < e->places.n; drawn += left)
      wk_explore_draw(e, drawn + left, &fresh);
  }
  wk_vec_free(&fresh);
  wk_vec_free(&front);
  return status;
}

/* The best of the list; the others, best first, before those that were dropped earlier. */
static void keep_best(wk_candidates *list, wk_candidates *dropped) {
  size_t keep = list->n / KEEP_ONE_IN;
  wk_candidates before = *dropped;
  wk_explore_sort(list);
  if (keep < KEEP_LEAST) keep = KEEP_LEAST;
  *dropped = (wk_candidates){0};
  for (size_t i = keep; i < list->n; i++) wk_vec_push(dropped, list->data[i]);
  for (size_t i = 0; i < before.n; i++) wk_vec_push(dropped, before.data[i]);
  wk_vec_free(&before);
  if (list->n > keep) list->n = keep;
}

static size_t count_within(const wk_explore *e, const wk_candidates *list) {
  size_t n = 0;
  for (size_t i = 0; i < list->n; i++)
    n += !isnan(list->data[i]->times) && wk_explore_is_within(e, list->data[i]);
  return n;
}

/* Energy is known on the last rung only: where a limit leaves too few, the next best follow. */
static wk_status fill_last_rung(wk_explore *e, wk_candidates *list, wk_candidates *dropped) {
  wk_status status = NULL;
  size_t next = 0;
  while (!status && next < dropped->n && count_within(e, list) < KEEP_LEAST) {
    wk_candidates more = {0};
    for (; more.n < KEEP_LEAST && next < dropped->n; next++)
      wk_vec_push(&more, dropped->data[next]);
    status = climb(e, &more, WK_RUNGS - 1);
    for (size_t i = 0; i < more.n; i++) wk_vec_push(list, more.data[i]);
    wk_vec_free(&more);
  }
  return status;
}

/* ---- the front, and the RTL ------------------------------------------------------------------ */

static void mark_front(const wk_explore *e, const wk_candidates *last, wk_candidates *front) {
  wk_candidates within = {0};
  for (size_t i = 0; i < last->n; i++)
    if (wk_explore_is_within(e, last->data[i])) wk_vec_push(&within, last->data[i]);
  wk_explore_front(&within, front);
  for (size_t i = 0; i < front->n; i++) front->data[i]->is_front = true;
  wk_vec_free(&within);
}

static void read_rtl(wk_explore *e, wk_candidate *c, const wk_sweep_point *p) {
  for (size_t m = 0; m < e->sweep.models.n && !c->rtl_error; m++) {
    json_t *row = wk_sweep_row(&e->sweep, &p[m]);
    uint64_t none = UINT64_MAX;
    c->rtl[m] = whole(row, "cycles");
    c->rtl_error = failure_of(e, &p[m], row, c->rtl[m], &none);
    json_decref(row);
  }
}

static wk_status run_rtl(wk_explore *e, const wk_candidates *list) {
  e->sweep.stage = "RTL: ";
  WK_TRY(compute(e, list, WK_SWEEP_RTL, e->o->effort));
  for (size_t i = 0; i < list->n; i++)
    read_rtl(e, list->data[i], &e->sweep.points.data[i * e->sweep.models.n]);
  return NULL;
}

/* The reference and the fastest; for one that cannot be built the next. */
static wk_status confirm(wk_explore *e, const wk_candidates *front) {
  size_t wanted = (size_t)e->o->confirm, next = 0;
  wk_candidates list = {0};
  wk_status status = NULL;
  if (wanted) wk_vec_push(&list, e->reference);
  while (!status && wanted && next < front->n) {
    for (size_t i = 0; i < wanted && next < front->n; i++)
      wk_vec_push(&list, front->data[next++]);
    status = run_rtl(e, &list);
    for (size_t i = 0; i < list.n; i++)
      wanted -= list.data[i] != e->reference && !list.data[i]->rtl_error;
    list.n = 0;
  }
  wk_vec_free(&list);
  return status;
}

wk_status wk_explore_search(wk_explore *e) {
  wk_candidates list = {0}, dropped = {0}, front = {0};
  e->host_macs = wk_arena_alloc(e->sweep.arena, e->sweep.models.n * sizeof *e->host_macs);
  wk_status status = first_rung(e, &list);
  for (int rung = 1; !status && rung < WK_RUNGS; rung++) {
    keep_best(&list, &dropped);
    status = climb(e, &list, rung);
  }
  if (!status && isfinite(e->limits.energy)) status = fill_last_rung(e, &list, &dropped);
  if (!status) mark_front(e, &list, &front);
  if (!status) e->rtl_status = confirm(e, &front);
  wk_vec_free(&dropped);
  wk_vec_free(&front);
  wk_vec_free(&list);
  return status;
}
