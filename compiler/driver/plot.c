/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/driver/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the whole, and of the part between the axes. */
enum { WIDTH = 560, HEIGHT = 330, LEFT = 78, RIGHT = 14, TOP = 56, BOTTOM = 52 };

static const char *const colours[WK_PLOT_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#56b4e9", "#b8860b", "#555555", "#7b3294"};

void wk_html_text(wk_str *b, const char *text) {
  static const struct {
    char c;
    const char *as;
  } marks[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  for (; *text; text++) {
    size_t i = 0;
    while (i < WK_COUNTOF(marks) && marks[i].c != *text) i++;
    if (i < WK_COUNTOF(marks)) wk_str_add(b, marks[i].as);
    else wk_str_addn(b, text, 1);
  }
}

static double x_of(double x) { return LEFT + x * (WIDTH - LEFT - RIGHT); }
typedef struct { double low, top; } range;

static double y_of(double y, range r) {
  return HEIGHT - BOTTOM - (y - r.low) / (r.top - r.low) * (HEIGHT - TOP - BOTTOM);
}

static void add_text(wk_str *b, double x, double y, const char *anchor, const char *text) {
  wk_str_printf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
  wk_html_text(b, text);
  wk_str_add(b, "</text>\n");
}

static double highest(const wk_plot *p) {
  double y = p->low;
  for (size_t i = 0; i < p->series.n; i++)
    for (size_t k = 0; k < p->series.data[i].points.n; k++)
      y = fmax(y, p->series.data[i].points.data[k].y);
  return y > p->low ? y : p->low + 1;
}

/* A power of two, or 1, 2 or 5 times a power of ten; about five of them up to the top. */
static double tick_step(double top, bool is_binary) {
  if (is_binary) return exp2(ceil(log2(top / 8)));
  double step = pow(10, floor(log10(top / 5)));
  if (top / step > 20) return 5 * step;
  return top / step > 10 ? 2 * step : step;
}

static void add_axes(wk_str *b, const wk_plot *p, range r, double step) {
  for (int i = 0; i * step <= (r.top - r.low) * 1.0001; i++) {
    double y = y_of(r.low + i * step, r);
    wk_str_printf(b, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, y, WIDTH - RIGHT);
    add_text(b, LEFT - 8, y + 4, "end", p->y_text(r.low + i * step).s);
  }
  for (size_t i = 0; i < p->ticks.n; i++) {
    double x = x_of(p->ticks.data[i].x);
    wk_str_printf(b, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", x, TOP, HEIGHT - BOTTOM + 4);
    add_text(b, x, HEIGHT - BOTTOM + 18, "middle", p->ticks.data[i].text);
  }
  add_text(b, x_of(0.5), HEIGHT - 10, "middle", p->x_title);
  wk_str_add(b, "<g class=\"title\">");
  add_text(b, 4, 18, "start", p->title);
  wk_str_add(b, "</g>\n");
}

/* About as wide as its letters; what has no room is left out. */
static void add_legend(wk_str *b, const wk_plot *p) {
  double x = LEFT;
  for (size_t i = 0; i < p->legend.n; i++) {
    const char *text = p->legend.data[i];
    double width = 30 + 7.2 * (double)strlen(text);
    if (x + width > WIDTH) {
      add_text(b, x, 42, "start", "…");
      return;
    }
    wk_str_printf(b, "<rect x=\"%.1f\" y=\"32\" width=\"11\" height=\"11\" fill=\"%s\"/>\n", x,
                  colours[i % WK_PLOT_COLOURS]);
    add_text(b, x + 15, 42, "start", text);
    x += width;
  }
}

static void add_line(wk_str *b, const wk_plot_series *s, range r) {
  if (!s->points.n) return;
  wk_str_printf(b, "<path class=\"%s\" stroke=\"%s\" d=\"", s->is_front ? "front" : "line",
                colours[s->colour % WK_PLOT_COLOURS]);
  for (size_t i = 0; i < s->points.n; i++) {
    double x = x_of(s->points.data[i].x), y = y_of(s->points.data[i].y, r);
    if (i && s->is_front) wk_str_printf(b, "H%.1fV%.1f", x, y);
    else wk_str_printf(b, "%c%.1f %.1f", i ? 'L' : 'M', x, y);
  }
  if (s->is_front) wk_str_printf(b, "H%d", WIDTH - RIGHT);
  wk_str_add(b, "\"/>\n");
}

static void add_points(wk_str *b, const wk_plot_series *s, range r) {
  for (size_t i = 0; i < s->points.n; i++) {
    const wk_plot_point *p = &s->points.data[i];
    wk_str_printf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"><title>", x_of(p->x),
                  y_of(p->y, r), colours[s->colour % WK_PLOT_COLOURS]);
    wk_html_text(b, p->tip);
    wk_str_add(b, "</title></circle>\n");
  }
}

void wk_plot_svg(wk_str *b, const wk_plot *p) {
  double height = highest(p) - p->low, step = tick_step(height, p->is_binary);
  double steps = ceil(height / step - 1e-9); /* 0.16 are 8 times 0.02, and what is rounded away */
  range r = {p->low, p->low + steps * step};
  wk_str_printf(b, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", WIDTH,
                HEIGHT, WIDTH, HEIGHT);
  add_axes(b, p, r, step);
  add_legend(b, p);
  for (size_t i = 0; i < p->series.n; i++)
    if (p->series.data[i].is_line || p->series.data[i].is_front)
      add_line(b, &p->series.data[i], r);
  for (size_t i = 0; i < p->series.n; i++)
    if (!p->series.data[i].is_front) add_points(b, &p->series.data[i], r);
  wk_str_add(b, "</svg>\n");
}

const char wk_plot_style[] =
    "svg text { font-size: 12px; fill: #1a1a1a; } .title text { font-weight: 600; }\n"
    ".grid { stroke: #ddd; fill: none; } .line { fill: none; stroke-width: 1.5; opacity: .75; }\n"
    ".front { fill: none; stroke-width: 2; }\n";

void wk_plot_file(wk_str *b, const wk_plot *p) {
  wk_str_printf(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                   "font-family=\"system-ui, DejaVu Sans, sans-serif\">\n<style>\n%s</style>\n"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                WIDTH, HEIGHT, wk_plot_style);
  wk_plot_svg(b, p);
  wk_str_add(b, "</svg>\n");
}

double wk_plot_log(double v, double low, double high) {
  return low > 0 && high > low ? 0.04 + 0.92 * log(v / low) / log(high / low) : 0.5;
}

void wk_plot_free(wk_plot *p) {
  for (size_t i = 0; i < p->series.n; i++) wk_vec_free(&p->series.data[i].points);
  wk_vec_free(&p->series);
  wk_vec_free(&p->ticks);
  wk_vec_free(&p->legend);
}
