/* SPDX-License-Identifier: Apache-2.0
 * What happened in each epoch and step: a line, tables of comma-separated values, diagrams. */
#include <math.h>
#include <string.h>

#include "cli/fit/train.h"
#include "cli/plot.h"
#include "cli/text.h"

/* ---- lines ----------------------------------------------------------------------------------- */

static bool has_metric(const wk_history *h) { return h->metric[0] != 0; }
static bool has_held_out(const wk_epoch *e) { return !isnan(e->held_loss); }

/* No more than any computer reaches, however short a time a file tells of. */
static double samples_per_second(const wk_epoch *e) {
  return e->seconds > 0 ? fmin(e->samples / e->seconds, 1e15) : 0;
}

void wk_history_line(FILE *f, const wk_history *h, const wk_epoch *e) {
  int digits = snprintf(NULL, 0, "%lld", (long long)h->epochs);
  fprintf(f, "epoch %*lld/%lld: loss %.6g", digits, (long long)e->epoch, (long long)h->epochs,
          e->loss);
  if (has_metric(h)) fprintf(f, ", %s %.4g", h->metric, e->metric);
  if (has_held_out(e)) fprintf(f, "; held out: loss %.6g", e->held_loss);
  if (has_held_out(e) && has_metric(h)) fprintf(f, ", %s %.4g", h->metric, e->held_metric);
  fprintf(f, "; %s samples/s", wk_text_count((int64_t)samples_per_second(e)).s);
  int64_t left = h->epochs - e->epoch;
  if (left > 0) fprintf(f, ", %s left", wk_text_seconds(e->seconds * (double)left).s);
  fputc('\n', f);
}

static void add_cell(wk_str *b, double v) {
  wk_str_add(b, ",");
  if (!isnan(v)) wk_str_f64(b, v);
}

void wk_history_csv(wk_str *b, const wk_history *h) {
  wk_str_add(b, "epoch,step,rate,loss");
  const char *const prefix[] = {"", "held_out_"};
  for (int k = 0; k < 2; k++) {
    if (k) wk_str_add(b, ",held_out_loss");
    if (!has_metric(h)) continue;
    wk_str_printf(b, ",%s%s", prefix[k], h->metric);
  }
  wk_str_add(b, ",seconds,samples_per_second\n");
  for (size_t i = 0; i < h->rows.n; i++) {
    const wk_epoch *e = &h->rows.data[i];
    wk_str_printf(b, "%lld,%lld", (long long)e->epoch, (long long)e->step);
    add_cell(b, e->rate);
    add_cell(b, e->loss);
    if (has_metric(h)) add_cell(b, e->metric);
    add_cell(b, e->held_loss);
    if (has_metric(h)) add_cell(b, e->held_metric);
    add_cell(b, e->seconds);
    add_cell(b, samples_per_second(e));
    wk_str_add(b, "\n");
  }
}

void wk_history_steps_csv(wk_str *b, const wk_history *h) {
  wk_str_add(b, "step,epoch,rate,loss");
  if (has_metric(h)) wk_str_printf(b, ",%s", h->metric);
  wk_str_add(b, ",gradient_norm\n");
  for (size_t i = 0; i < h->steps.n; i++) {
    const wk_step_figures *f = &h->steps.data[i];
    wk_str_printf(b, "%zu,%lld", i + 1, (long long)((int64_t)i / h->per_epoch + 1));
    add_cell(b, f->rate);
    add_cell(b, f->loss);
    if (has_metric(h)) add_cell(b, f->metric);
    add_cell(b, f->norm);
    wk_str_add(b, "\n");
  }
}

/* ---- diagrams -------------------------------------------------------------------------------- */

enum { TICKS = 10 };

static wk_text24 number_text(double v) {
  wk_text24 t;
  snprintf(t.s, sizeof t.s, "%.4g", v);
  return t;
}

static double x_of(const wk_history *h, int64_t epoch) {
  return h->epochs > 1 ? (double)(epoch - 1) / (double)(h->epochs - 1) : 0.5;
}

static void add_series(wk_plot *p, const wk_history *h, wk_arena *a, size_t offset,
                       const char *name) {
  wk_plot_series line = {.is_line = true, .colour = (unsigned)p->legend.n};
  for (size_t i = 0; i < h->rows.n; i++) {
    const wk_epoch *e = &h->rows.data[i];
    double y = *(const double *)((const char *)e + offset);
    if (!isfinite(y)) continue;
    const char *tip = wk_arena_printf(a, "epoch %lld: %s", (long long)e->epoch, number_text(y).s);
    const wk_plot_point mark = {x_of(h, e->epoch), y, tip};
    wk_vec_push(&line.points, mark);
  }
  if (!line.points.n) return;
  wk_vec_push(&p->series, line);
  wk_vec_push(&p->legend, name);
}

static void add_diagram(wk_str *b, const wk_history *h, wk_arena *a, const char *title,
                        size_t train, size_t held_out) {
  wk_plot p = {.title = title, .x_title = "epoch", .y_text = number_text};
  int64_t step = wk_plot_tick_step(h->epochs, TICKS);
  for (int64_t e = step; e <= h->epochs; e += step) {
    const wk_plot_label tick = {x_of(h, e), wk_arena_printf(a, "%lld", (long long)e)};
    wk_vec_push(&p.ticks, tick);
  }
  add_series(&p, h, a, train, "training");
  add_series(&p, h, a, held_out, "held out");
  wk_plot_svg(b, &p);
  wk_plot_free(&p);
}

/* Of many steps only so many are drawn. */
enum { POINTS = 1000 };

static void add_step_diagram(wk_str *b, const wk_history *h, wk_arena *a, const char *title,
                             size_t offset) {
  wk_plot p = {.title = title, .x_title = "step", .y_text = number_text};
  wk_plot_series line = {.is_line = true};
  size_t n = h->steps.n, last = n > 1 ? n - 1 : 1;
  size_t tick = (size_t)wk_plot_tick_step((int64_t)n, TICKS), stride = wk_ceil_div(n, POINTS);
  for (size_t i = 0; i < n; i++) {
    double x = (double)i / (double)last;
    double y = *(const double *)((const char *)&h->steps.data[i] + offset);
    const wk_plot_label label = {x, wk_arena_printf(a, "%zu", i + 1)};
    const wk_plot_point mark = {x, y, wk_arena_printf(a, "step %zu: %s", i + 1, number_text(y).s)};
    if ((i + 1) % tick == 0) wk_vec_push(&p.ticks, label);
    if (i % stride == 0 && isfinite(y)) wk_vec_push(&line.points, mark);
  }
  wk_vec_push(&p.series, line);
  wk_vec_push(&p.legend, "training");
  wk_plot_svg(b, &p);
  wk_plot_free(&p);
}

void wk_history_page(wk_str *b, const wk_history *h) {
  wk_arena *a = wk_arena_new();
  wk_plot_page_begin(b, "train", "Training");
  wk_str_add(b, "<div class=\"plots\">\n");
  add_diagram(b, h, a, "loss", offsetof(wk_epoch, loss), offsetof(wk_epoch, held_loss));
  if (has_metric(h))
    add_diagram(b, h, a, h->metric, offsetof(wk_epoch, metric), offsetof(wk_epoch, held_metric));
  if (h->steps.n) {
    add_step_diagram(b, h, a, "loss of each step", offsetof(wk_step_figures, loss));
    add_step_diagram(b, h, a, "norm of the gradients", offsetof(wk_step_figures, norm));
  }
  wk_str_add(b, "</div>\n</body></html>\n");
  wk_arena_free(a);
}
