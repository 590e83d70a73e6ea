/* SPDX-License-Identifier: Apache-2.0
 * DIR/front.svg and DIR/index.html: cycles against area of all machines that were tried. Plain SVG:
 * it needs no script and no network. */
#include <math.h>
#include <stdlib.h>

#include "cli/plot.h"
#include "cli/study/sim.h"
#include "cli/sweep/explore.h"
#include "cli/text.h"

/* ---- the picture ----------------------------------------------------------------------------- */

/* What has run on the timing model; on the RTL; what others are compared with; what was dropped by
 * the second rung, and by the first. Places are colours. */
static const char *const kinds[] = {"timing", "RTL", "reference", "schedule model",
                                    "quick plan"};
enum { KINDS = WK_COUNTOF(kinds) };

static unsigned kind_of(const wk_explore *e, const wk_candidate *c) {
  if (c == e->reference) return 2;
  if (c->rtl[0] && !c->rtl_error) return 1;
  return c->rung == WK_RUNGS - 1 ? 0 : c->rung == 1 ? 3 : 4;
}

typedef struct {
  double small, large, fast, slow;
} extent;

static void widen(extent *x, const wk_candidate *c) {
  if (isnan(c->times)) return;
  x->small = fmin(x->small, c->area);
  x->large = fmax(x->large, c->area);
  x->fast = fmin(x->fast, c->times);
  x->slow = fmax(x->slow, c->times);
}

static extent extent_of(const wk_explore *e) {
  extent x = {INFINITY, 0, INFINITY, 0};
  for (size_t i = 0; i < e->tried.n; i++) widen(&x, e->tried.data[i]);
  widen(&x, e->reference);
  return x;
}

/* The y axis has powers of two. */
static wk_text24 times_text(double y) {
  wk_text24 t;
  snprintf(t.s, sizeof t.s, "%.2f x", exp2(y));
  return t;
}

static wk_plot_point mark_of(const wk_explore *e, const wk_candidate *c, const extent *x) {
  const char *tip = wk_arena_printf(e->sweep.arena, "%.3f x, %.3f mm²\n%s", c->times, c->area,
                                    wk_candidate_text(e, c));
  return (wk_plot_point){wk_plot_log(c->area, x->small, x->large), log2(c->times), tip};
}

static void add_ticks(wk_plot *p, const wk_explore *e, const extent *x) {
  enum { TICKS = 5 };
  for (int i = 0; i < TICKS; i++) {
    double factor = x->small > 0 ? x->large / x->small : 1;
    double area = x->small * pow(factor, (double)i / (TICKS - 1));
    const wk_plot_label tick = {wk_plot_log(area, x->small, x->large),
                                wk_arena_printf(e->sweep.arena, "%.3g", area)};
    wk_vec_push(&p->ticks, tick);
    if (factor <= 1) return;
  }
}

static void add_stairs(wk_plot *p, const wk_explore *e, const extent *x) {
  wk_candidates all = {0}, front = {0};
  wk_plot_series stairs = {.is_front = true, .colour = 0};
  for (size_t i = 0; i < e->tried.n; i++)
    if (e->tried.data[i]->is_front) wk_vec_push(&all, e->tried.data[i]);
  wk_explore_front(&all, &front);
  for (size_t i = front.n; i-- > 0;) { /* from the smallest */
    const wk_plot_point mark = mark_of(e, front.data[i], x);
    wk_vec_push(&stairs.points, mark);
  }
  wk_vec_push(&p->series, stairs);
  wk_vec_free(&all);
  wk_vec_free(&front);
}

/* Whoever came further is drawn above. */
static void add_marks(wk_plot *p, const wk_explore *e, const extent *x) {
  static const unsigned order[] = {4, 3, 0, 1, 2};
  wk_plot_series all[KINDS] = {0};
  for (size_t i = 0; i < e->tried.n; i++) {
    const wk_candidate *c = e->tried.data[i];
    if (isnan(c->times)) continue;
    const wk_plot_point mark = mark_of(e, c, x);
    wk_vec_push(&all[kind_of(e, c)].points, mark);
  }
  const wk_plot_point mark = mark_of(e, e->reference, x);
  wk_vec_push(&all[2].points, mark);
  for (size_t i = 0; i < KINDS; i++) {
    all[order[i]].colour = order[i];
    wk_vec_push(&p->series, all[order[i]]);
  }
}

static void draw(const wk_explore *e, wk_plot *p) {
  const extent x = extent_of(e);
  *p = (wk_plot){.title = "Cycles, over those of the machine that is compared with",
                 .x_title = "area, mm²", .y_text = times_text,
                 .low = floor(4 * log2(x.fast)) / 4};
  for (size_t i = 0; i < KINDS; i++) wk_vec_push(&p->legend, kinds[i]);
  add_ticks(p, e, &x);
  add_stairs(p, e, &x);
  add_marks(p, e, &x);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void add_number(wk_str *b, double v, bool is_known) {
  json_t *j = is_known ? json_real(v) : json_null();
  wk_sweep_page_cell(b, j);
  json_decref(j);
}

static void add_count(wk_str *b, uint64_t n) {
  json_t *j = n ? json_integer((json_int_t)n) : json_null();
  wk_sweep_page_cell(b, j);
  json_decref(j);
}

static void add_row(wk_str *b, const wk_explore *e, const wk_candidate *c) {
  wk_str_add(b, "<tr>");
  add_number(b, c->times, !isnan(c->times));
  add_number(b, c->area, true);
  add_count(b, (uint64_t)c->onchip);
  add_number(b, c->energy * 1e-6, !isnan(c->energy));
  for (size_t m = 0; m < e->sweep.models.n; m++) {
    add_count(b, c->predicted[m]);
    add_count(b, c->cycles[m]);
    add_count(b, c->rtl[m]);
  }
  for (size_t k = 0; k < e->sweep.axes.n; k++) wk_str_printf(b, "<td>%s</td>", c->values[k]);
  json_t *error = json_string(c->error ? c->error : c->rtl_error ? c->rtl_error : "");
  wk_sweep_page_cell(b, error);
  json_decref(error);
  wk_str_add(b, "</tr>\n");
}

static void add_head(wk_str *b, const wk_explore *e) {
  wk_str_add(b, "<table><thead><tr><th>times</th><th>mm²</th><th>on-chip bytes</th><th>µJ</th>");
  for (size_t m = 0; m < e->sweep.models.n; m++) {
    wk_str_add(b, "<th>");
    wk_html_text(b, e->sweep.models.data[m].name);
    wk_str_add(b, ": predicted</th><th>timing model</th><th>RTL</th>");
  }
  for (size_t k = 0; k < e->sweep.axes.n; k++)
    wk_str_printf(b, "<th>%s</th>", e->sweep.axes.data[k].name);
  wk_str_add(b, "<th></th></tr></thead>\n");
}

static void add_tables(wk_str *b, const wk_explore *e) {
  wk_candidates front = {0}, all = {0};
  for (size_t i = 0; i < e->tried.n; i++)
    if (e->tried.data[i]->is_front) wk_vec_push(&all, e->tried.data[i]);
  wk_explore_front(&all, &front);
  wk_str_add(b, "<h2>Not beaten in cycles and area, then ");
  wk_html_text(b, e->sweep.base.name);
  wk_str_add(b, "</h2>\n");
  add_head(b, e);
  for (size_t i = 0; i < front.n; i++) add_row(b, e, front.data[i]);
  add_row(b, e, e->reference);
  wk_str_printf(b, "</table>\n<details><summary>All %zu that were tried</summary>\n", e->tried.n);
  add_head(b, e);
  for (size_t i = 0; i < e->tried.n; i++) add_row(b, e, e->tried.data[i]);
  wk_str_add(b, "</table></details>\n");
  wk_vec_free(&front);
  wk_vec_free(&all);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void add_intro(wk_str *b, const wk_explore *e) {
  wk_plot_page_begin(b, "explore", "Machines for a workload");
  wk_str_printf(b, "<p class=\"note\">%zu machines: %zu cannot be, %zu are beyond the limits, %zu "
                   "of the other %zu were tried.", e->size, e->impossible, e->excluded,
                e->tried.n, e->places.n);
  for (int rung = 0; rung < WK_RUNGS; rung++) {
    size_t n = 0;
    for (size_t i = 0; i < e->tried.n; i++) n += e->tried.data[i]->rung >= rung;
    wk_str_printf(b, " %zu by the %s.", n, wk_rungs[rung].name);
  }
  wk_str_add(b, " A machine stands where the last of these puts it. The mouse shows its "
                "keys.</p>\n");
}

static wk_status write_text(const wk_explore *e, const char *name, wk_str *b) {
  wk_status status = wk_write_file(wk_arena_printf(e->sweep.arena, "%s/%s", e->sweep.dir, name),
                                   b->s, b->n);
  wk_str_free(b);
  return status;
}

wk_status wk_explore_write_page(const wk_explore *e) {
  wk_str page = {0}, picture = {0};
  wk_plot p;
  draw(e, &p);
  wk_plot_file(&picture, &p);
  add_intro(&page, e);
  wk_plot_svg(&page, &p);
  add_tables(&page, e);
  wk_str_add(&page, "</body></html>\n");
  wk_plot_free(&p);
  wk_status status = write_text(e, "front.svg", &picture);
  if (status) wk_str_free(&page);
  return status ? status : write_text(e, "index.html", &page);
}
