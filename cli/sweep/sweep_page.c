/* SPDX-License-Identifier: Apache-2.0
 * DIR/index.html: of each model, every figure against everything that was set, and what is worth
 * its memory and its multipliers. Plain SVG: it needs no script and no network. */
#include <math.h>
#include <stdlib.h>

#include "cli/plot.h"
#include "cli/study/sim.h"
#include "cli/sweep/sweep.h"
#include "cli/text.h"

/* ---- figures --------------------------------------------------------------------------------- */

static wk_text24 count_text(double v) { return wk_text_count((int64_t)v); }
static wk_text24 byte_text(double v) { return wk_bytes_text((uint64_t)v); }

static wk_text24 percent_text(double v) {
  wk_text24 t;
  snprintf(t.s, sizeof t.s, "%.0f %%", v);
  return t;
}

static wk_text24 plain_text(double v) {
  wk_text24 t;
  snprintf(t.s, sizeof t.s, "%.4g", v);
  return t;
}

/* A figure is the sum of two fields of a row, times a factor. */
typedef struct {
  const char *title, *field, *other; /* other: NULL: just one */
  double factor;
  wk_text24 (*text)(double v);
  bool is_bytes;
} figure;

static const figure figures[] = {
    {"Cycles", "cycles", NULL, 1, count_text, false},
    {"Utilisation of the array", "utilisation", NULL, 100, percent_text, false},
    {"Bytes to and from memory", "bytes_in", "bytes_out", 1, byte_text, true},
    {"Energy, pJ", "energy", NULL, 1, count_text, false}};

/* NaN: the row has none. */
static double value_of(const json_t *row, const figure *f) {
  const json_t *v = json_object_get(row, f->field);
  if (!json_is_number(v)) return NAN;
  double sum = json_number_value(v);
  if (f->other) sum += json_number_value(json_object_get(row, f->other));
  return sum * f->factor;
}

/* ---- one figure against one axis ------------------------------------------------------------- */

typedef struct {
  const wk_sweep *s;
  const json_t *rows;
  size_t first, n; /* points of this model */
} page_model;

static size_t stride_of(const wk_sweep *s, size_t axis) {
  size_t n = 1;
  for (size_t k = axis + 1; k < s->axes.n; k++) n *= s->axes.data[k].values.n;
  return n;
}

/* Place of the value in ascending order; settings stay as they were given. */
static size_t place_of(const wk_sweep_axis *axis, size_t value) {
  double v = strtod(axis->values.data[value], NULL);
  size_t place = 0;
  if (!axis->key) return value;
  for (size_t i = 0; i < axis->values.n; i++)
    place += strtod(axis->values.data[i], NULL) < v;
  return place;
}

static double x_at(const wk_sweep_axis *axis, size_t place) {
  return ((double)place + 0.5) / (double)axis->values.n;
}

static const char *tip_of(const page_model *m, size_t point, const char *value) {
  const wk_sweep_point *p = &m->s->points.data[point];
  wk_str b = {0};
  wk_str_add(&b, value);
  for (size_t k = 0; k < m->s->axes.n; k++)
    wk_str_printf(&b, "\n%s = %s", m->s->axes.data[k].name, p->values[k]);
  const char *text = wk_arena_strdup(m->s->arena, b.s);
  wk_str_free(&b);
  return text;
}

/* What tells lines apart: colours, dashes and marks, each another axis of several values. */
enum { COLOUR, DASH, MARK, LOOKS };

/* Of the axes but `axis`; the number of axes: nothing. */
static size_t axis_of(const wk_sweep *s, size_t axis, int look) {
  for (size_t k = 0; k < s->axes.n; k++)
    if (k != axis && s->axes.data[k].values.n > 1 && look-- == 0) return k;
  return s->axes.n;
}

static unsigned look_of(const wk_sweep *s, size_t point, size_t axis, int look) {
  size_t k = axis_of(s, axis, look);
  if (k == s->axes.n) return 0;
  size_t value = point / stride_of(s, k) % s->axes.data[k].values.n;
  return (unsigned)place_of(&s->axes.data[k], value);
}

/* "array = 8", "16", … in ascending order. */
static void add_legend(wk_plot *p, const wk_sweep *s, size_t axis, int look) {
  size_t k = axis_of(s, axis, look);
  if (k == s->axes.n) return;
  const wk_sweep_axis *a = &s->axes.data[k];
  for (size_t place = 0; place < a->values.n; place++)
    for (size_t i = 0; i < a->values.n; i++)
      if (place_of(a, i) == place) {
        const char *text = wk_arena_printf(s->arena, "%s%s%s", place ? "" : a->name,
                                           place ? "" : " = ", a->values.data[i]);
        if (look == COLOUR) wk_vec_push(&p->legend, text);
        else if (look == DASH) wk_vec_push(&p->dashes, text);
        else wk_vec_push(&p->marks, text);
      }
}

/* From the point that has the axis' first value; a failed point is a gap. */
static void add_line(wk_plot *p, const page_model *m, const figure *f, size_t axis, size_t from) {
  const wk_sweep_axis *a = &m->s->axes.data[axis];
  wk_plot_series line = {.is_line = true,
                         .colour = look_of(m->s, from, axis, COLOUR),
                         .dash = look_of(m->s, from, axis, DASH),
                         .mark = look_of(m->s, from, axis, MARK)};
  for (size_t place = 0; place < a->values.n; place++) {
    size_t value = 0;
    while (place_of(a, value) != place) value++;
    size_t point = from + value * stride_of(m->s, axis);
    double y = value_of(json_array_get(m->rows, point), f);
    if (isnan(y)) {
      wk_vec_push(&p->series, line);
      line.points.data = NULL, line.points.n = line.points.cap = 0;
      continue;
    }
    const wk_plot_point mark = {x_at(a, place), y, tip_of(m, point, f->text(y).s)};
    wk_vec_push(&line.points, mark);
  }
  wk_vec_push(&p->series, line);
}

static void add_figure(wk_str *b, const page_model *m, const figure *f, size_t axis) {
  const wk_sweep_axis *a = &m->s->axes.data[axis];
  size_t stride = stride_of(m->s, axis);
  wk_plot p = {.title = f->title, .x_title = a->name, .y_text = f->text,
               .is_binary = f->is_bytes};
  for (size_t i = 0; i < a->values.n; i++) {
    const wk_plot_label tick = {x_at(a, place_of(a, i)), a->values.data[i]};
    wk_vec_push(&p.ticks, tick);
  }
  for (int look = 0; look < LOOKS; look++) add_legend(&p, m->s, axis, look);
  for (size_t i = 0; i < m->n; i++)
    if (i / stride % a->values.n == 0) add_line(&p, m, f, axis, m->first + i);
  wk_plot_svg(b, &p);
  wk_plot_free(&p);
}

/* ---- what is worth its cost ------------------------------------------------------------------ */

static const figure cycles = {"Cycles", "cycles", NULL, 1, count_text, false};
static const figure costs[] = {
    {"Cycles against memory on the chip", "onchip_bytes", NULL, 1, byte_text, true},
    {"Cycles against multipliers", "array_macs", NULL, 1, plain_text, false}};

typedef struct {
  double cost, cycles, macs; /* macs: multipliers, whatever cost is */
  size_t point;
} offer;

static int by_cost(const void *a, const void *b) {
  const offer *x = a, *y = b;
  if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
  if (x->cycles != y->cycles) return x->cycles < y->cycles ? -1 : 1;
  return x->point < y->point ? -1 : x->point > y->point;
}

static int by_cycles(const void *a, const void *b) {
  const offer *x = a, *y = b;
  if (x->cycles != y->cycles) return x->cycles < y->cycles ? -1 : 1;
  if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
  if (x->macs != y->macs) return x->macs < y->macs ? -1 : 1;
  return x->point < y->point ? -1 : x->point > y->point;
}

/* Sorted by cost, then cycles. malloc'ed. */
static offer *offers_of(const page_model *m, const figure *cost, size_t *n) {
  offer *list = wk_xcalloc(m->n, sizeof *list);
  *n = 0;
  for (size_t i = m->first; i < m->first + m->n; i++) {
    const json_t *row = json_array_get(m->rows, i);
    const offer o = {value_of(row, cost), value_of(row, &cycles), value_of(row, &costs[1]), i};
    if (!isnan(o.cost) && !isnan(o.cycles)) list[(*n)++] = o;
  }
  qsort(list, *n, sizeof *list, by_cost);
  return list;
}

static void add_front(wk_str *b, const page_model *m, const figure *cost) {
  size_t n;
  offer *list = offers_of(m, cost, &n);
  wk_plot p = {.title = cost->title, .x_title = cost->field, .y_text = count_text};
  wk_plot_series all = {.colour = 0}, front = {.is_front = true, .colour = 1};
  for (size_t i = 0; i < n; i++) {
    double x = wk_plot_log(list[i].cost, list[0].cost, list[n - 1].cost);
    const wk_text24 value = wk_sim_grouped((uint64_t)list[i].cycles);
    const wk_plot_point mark = {x, list[i].cycles, tip_of(m, list[i].point, value.s)};
    const wk_plot_label tick = {x, wk_arena_strdup(m->s->arena, cost->text(list[i].cost).s)};
    bool is_better = !front.points.n || mark.y < front.points.data[front.points.n - 1].y;
    bool has_room = !p.ticks.n || x - p.ticks.data[p.ticks.n - 1].x > 0.12;
    wk_vec_push(&all.points, mark);
    if (is_better) wk_vec_push(&front.points, mark);
    if (has_room) wk_vec_push(&p.ticks, tick);
  }
  wk_vec_push(&p.series, all);
  wk_vec_push(&p.series, front);
  if (n) wk_plot_svg(b, &p);
  wk_plot_free(&p);
  free(list);
}

/* ---- tables ---------------------------------------------------------------------------------- */

void wk_sweep_page_cell(wk_str *b, const json_t *v) {
  wk_str_add(b, json_is_string(v) ? "<td class=\"text\">" : "<td>");
  if (json_is_string(v)) wk_html_text(b, json_string_value(v));
  if (json_is_integer(v)) wk_str_add(b, wk_sim_grouped((uint64_t)json_integer_value(v)).s);
  if (json_is_real(v)) wk_str_printf(b, "%.4g", json_real_value(v));
  wk_str_add(b, "</td>");
}

static const char *const shown[] = {"cycles", "exposed", "utilisation", "efficiency", "bytes_in",
                                    "bytes_out", "onchip_bytes", "array_macs", "error"};

static void add_head(wk_str *b, const wk_sweep *s) {
  wk_str_add(b, "<table><thead><tr>");
  for (size_t k = 0; k < s->axes.n; k++) wk_str_printf(b, "<th>%s</th>", s->axes.data[k].name);
  for (size_t k = 0; k < WK_COUNTOF(shown); k++) wk_str_printf(b, "<th>%s</th>", shown[k]);
  wk_str_add(b, "</tr></thead>\n");
}

static void add_row(wk_str *b, const page_model *m, size_t point) {
  const json_t *row = json_array_get(m->rows, point);
  wk_str_add(b, "<tr>");
  for (size_t k = 0; k < m->s->axes.n; k++)
    wk_sweep_page_cell(b, json_object_get(row, m->s->axes.data[k].name));
  for (size_t k = 0; k < WK_COUNTOF(shown); k++)
    wk_sweep_page_cell(b, json_object_get(row, shown[k]));
  wk_str_add(b, "</tr>\n");
}

/* No other point has as few cycles, bytes and multipliers, and fewer of one of them. By cycles:
 * whoever beats a point comes before it. */
static void add_best(wk_str *b, const page_model *m) {
  size_t n;
  offer *list = offers_of(m, &costs[0], &n);
  WK_VEC(offer) best = {0};
  qsort(list, n, sizeof *list, by_cycles);
  for (size_t i = 0; i < n; i++) {
    bool is_beaten = false;
    for (size_t k = 0; k < best.n && !is_beaten; k++) {
      const offer *x = &best.data[k];
      bool is_same = x->cycles == list[i].cycles && x->cost == list[i].cost &&
                     x->macs == list[i].macs;
      is_beaten = !is_same && x->cost <= list[i].cost && x->macs <= list[i].macs;
    }
    if (is_beaten) continue;
    wk_vec_push(&best, list[i]);
    add_row(b, m, list[i].point);
  }
  wk_vec_free(&best);
  free(list);
}

static void add_tables(wk_str *b, const page_model *m) {
  wk_str_add(b, "<p class=\"note\">Not beaten in cycles, memory on the chip and multipliers "
                "together:</p>\n");
  add_head(b, m->s);
  add_best(b, m);
  wk_str_printf(b, "</table>\n<details><summary>All %zu points</summary>\n", m->n);
  add_head(b, m->s);
  for (size_t i = m->first; i < m->first + m->n; i++) add_row(b, m, i);
  wk_str_add(b, "</table></details>\n");
}

/* ---- the page -------------------------------------------------------------------------------- */

/* Some row has it. */
static bool is_known(const page_model *m, const figure *f) {
  for (size_t i = m->first; i < m->first + m->n; i++)
    if (!isnan(value_of(json_array_get(m->rows, i), f))) return true;
  return false;
}

static void add_model(wk_str *b, const page_model *m) {
  wk_str_add(b, "<h2>");
  wk_html_text(b, m->s->points.data[m->first].model->name);
  wk_str_add(b, "</h2>\n<div class=\"plots\">\n");
  for (size_t axis = 0; axis < m->s->axes.n; axis++) {
    if (m->s->axes.data[axis].values.n < 2) continue;
    for (size_t i = 0; i < WK_COUNTOF(figures); i++)
      if (is_known(m, &figures[i])) add_figure(b, m, &figures[i], axis);
  }
  for (size_t i = 0; i < WK_COUNTOF(costs); i++) add_front(b, m, &costs[i]);
  wk_str_add(b, "</div>\n");
  add_tables(b, m);
}

static void add_intro(wk_str *b, const wk_sweep *s) {
  static const char *const models[] = {[WK_SWEEP_TIMING] = "timing model", [WK_SWEEP_RTL] = "RTL",
                                       [WK_SWEEP_SCHEDULE] = "schedule model"};
  wk_plot_page_begin(b, "sweep", "Sweep over machines");
  wk_str_add(b, "<p class=\"note\">From ");
  wk_html_text(b, s->o->machine ? s->o->machine : "base");
  for (size_t k = 0; k < s->axes.n; k++) {
    const wk_sweep_axis *a = &s->axes.data[k];
    wk_str_printf(b, "; %s = ", a->name);
    for (size_t i = 0; i < a->values.n; i++)
      wk_str_printf(b, "%s%s", i ? ", " : "", a->values.data[i]);
  }
  wk_str_printf(b, ". %zu point%s by the %s. A line joins points that differ in one key alone; "
                   "where one is missing, its machine cannot be or is too small. The mouse shows "
                   "a point's keys.</p>\n", s->points.n, s->points.n == 1 ? "" : "s",
                models[s->o->model]);
}

wk_status wk_sweep_write_page(const wk_sweep *s, const json_t *rows) {
  wk_str b = {0};
  size_t n = s->points.n / s->models.n;
  add_intro(&b, s);
  for (size_t i = 0; i < s->models.n; i++) add_model(&b, &(page_model){s, rows, i * n, n});
  wk_str_add(&b, "</body></html>\n");
  wk_status status = wk_write_file(wk_arena_printf(s->arena, "%s/index.html", s->dir), b.s, b.n);
  wk_str_free(&b);
  return status;
}
