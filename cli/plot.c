/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the whole, and of the part between the axes. */
enum { WIDTH = 560, HEIGHT = 330, LEFT = 78, RIGHT = 14, TOP = 56, BOTTOM = 52 };

static const char *const colours[WK_PLOT_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#56b4e9", "#b8860b", "#555555", "#7b3294"};

static const char *const dashes[WK_PLOT_DASHES] = {"", "7 4", "2 3", "9 3 2 3", "14 4", "4 2"};

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
  if (!(step > 0)) return top; /* of the least numbers that there are it rounds to 0 */
  if (top / step > 20) return 5 * step;
  return top / step > 10 ? 2 * step : step;
}

static double more_of(const wk_plot *p);

static void add_axes(wk_str *b, const wk_plot *p, range r, double step) {
  enum { MOST_TICKS = 32 };
  for (int i = 0; i < MOST_TICKS && i * step <= (r.top - r.low) * 1.0001; i++) {
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
  add_text(b, 4, 18 - more_of(p), "start", p->title);
  wk_str_add(b, "</g>\n");
}

static const char *colour_at(unsigned i) { return colours[i % WK_PLOT_COLOURS]; }

/* A line without dashes has no attribute. */
static void add_dash(wk_str *b, unsigned dash) {
  const char *text = dashes[dash % WK_PLOT_DASHES];
  if (*text) wk_str_printf(b, " stroke-dasharray=\"%s\"", text);
}

/* Up to "fill"; the end of the element is the caller's. */
static void begin_mark(wk_str *b, unsigned mark, double x, double y) {
  static const char *const shapes[WK_PLOT_MARKS] = {
      [1] = "M%.1f %.1fm-3.2 -3.2h6.4v6.4h-6.4z", [2] = "M%.1f %.1fm0 -4.2l4 7h-8z",
      [3] = "M%.1f %.1fm0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z", [4] = "M%.1f %.1fm0 4.2l4 -7h-8z"};
  mark %= WK_PLOT_MARKS;
  if (!mark) {
    wk_str_printf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"", x, y);
    return;
  }
  wk_str_add(b, "<path d=\"");
  wk_str_printf(b, shapes[mark], x, y);
  wk_str_add(b, "\"");
}

/* ---- the legend ------------------------------------------------------------------------------ */

typedef enum { OF_COLOURS, OF_DASHES, OF_MARKS } legend_kind;
enum { ROW = 16, MOST_ROWS = 6 };

static void add_sample(wk_str *b, legend_kind kind, unsigned i, double x, double y) {
  unsigned shape = kind == OF_MARKS ? i : i / WK_PLOT_COLOURS;
  if (kind == OF_DASHES) {
    wk_str_printf(b, "<path class=\"line\" stroke=\"#1a1a1a\" d=\"M%.1f %.1fh26\"", x, y - 4);
    add_dash(b, i);
    wk_str_add(b, "/>\n");
  } else if (kind == OF_MARKS || shape) {
    begin_mark(b, shape, x + 5.5, y - 4.5);
    wk_str_printf(b, " fill=\"%s\"/>\n", kind == OF_MARKS ? "#1a1a1a" : colour_at(i));
  } else {
    wk_str_printf(b, "<rect x=\"%.1f\" y=\"%.0f\" width=\"11\" height=\"11\" fill=\"%s\"/>\n", x,
                  y - 10, colour_at(i));
  }
}

/* In rows as wide as the axis; returns how many. b NULL: they are only counted. Letters are about
 * as wide as here. */
static int add_rows(wk_str *b, legend_kind kind, const char *const *texts, size_t n, double y) {
  int rows = n > 0;
  double x = LEFT, sample = kind == OF_DASHES ? 30 : 15;
  for (size_t i = 0; i < n; i++) {
    double width = sample + 15 + 7.2 * (double)strlen(texts[i]);
    if (x > LEFT && x + width > WIDTH) {
      x = LEFT;
      if (rows++ == MOST_ROWS) {
        if (b) add_text(b, WIDTH - RIGHT, y, "end", "…");
        return MOST_ROWS;
      }
      y += ROW;
    }
    if (b) add_sample(b, kind, (unsigned)i, x, y);
    if (b) add_text(b, x + sample, y, "start", texts[i]);
    x += width;
  }
  return rows;
}

/* y: of the first row. Returns how many there are. */
static int add_legend(wk_str *b, const wk_plot *p, double y) {
  int rows = add_rows(b, OF_COLOURS, p->legend.data, p->legend.n, y);
  rows += add_rows(b, OF_DASHES, p->dashes.data, p->dashes.n, y + rows * ROW);
  return rows + add_rows(b, OF_MARKS, p->marks.data, p->marks.n, y + rows * ROW);
}

/* Above the diagram, whose own height has room for one row. */
static double more_of(const wk_plot *p) {
  int rows = add_legend(NULL, p, 0);
  return rows > 1 ? (rows - 1) * ROW : 0;
}

/* ---- the lines ------------------------------------------------------------------------------- */

static void add_line(wk_str *b, const wk_plot_series *s, range r) {
  if (!s->points.n) return;
  wk_str_printf(b, "<path class=\"%s\" stroke=\"%s\" d=\"", s->is_front ? "front" : "line",
                colour_at(s->colour));
  for (size_t i = 0; i < s->points.n; i++) {
    double x = x_of(s->points.data[i].x), y = y_of(s->points.data[i].y, r);
    if (i && s->is_front) wk_str_printf(b, "H%.1fV%.1f", x, y);
    else wk_str_printf(b, "%c%.1f %.1f", i ? 'L' : 'M', x, y);
  }
  if (s->is_front) wk_str_printf(b, "H%d", WIDTH - RIGHT);
  wk_str_add(b, "\"");
  add_dash(b, s->dash);
  wk_str_add(b, "/>\n");
}

static void add_points(wk_str *b, const wk_plot_series *s, range r) {
  for (size_t i = 0; i < s->points.n; i++) {
    const wk_plot_point *p = &s->points.data[i];
    unsigned mark = (s->mark + s->colour / WK_PLOT_COLOURS) % WK_PLOT_MARKS;
    begin_mark(b, mark, x_of(p->x), y_of(p->y, r));
    wk_str_printf(b, " fill=\"%s\"><title>", colour_at(s->colour));
    wk_html_text(b, p->tip);
    wk_str_printf(b, "</title></%s>\n", mark ? "path" : "circle");
  }
}

void wk_plot_svg(wk_str *b, const wk_plot *p) {
  double height = highest(p) - p->low, step = tick_step(height, p->is_binary);
  double steps = ceil(height / step - 1e-9); /* 0.16 are 8 times 0.02, and what is rounded away */
  range r = {p->low, p->low + steps * step};
  int more = (int)more_of(p);
  wk_str_printf(b, "<svg viewBox=\"0 %d %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", -more,
                WIDTH, HEIGHT + more, WIDTH, HEIGHT + more);
  add_axes(b, p, r, step);
  add_legend(b, p, 42 - more);
  for (size_t i = 0; i < p->series.n; i++)
    if (p->series.data[i].is_line || p->series.data[i].is_front)
      add_line(b, &p->series.data[i], r);
  for (size_t i = 0; i < p->series.n; i++)
    if (!p->series.data[i].is_front) add_points(b, &p->series.data[i], r);
  wk_str_add(b, "</svg>\n");
}

static const char style[] =
    "svg text { font-size: 12px; fill: #1a1a1a; } .title text { font-weight: 600; }\n"
    ".grid { stroke: #ddd; fill: none; } .line { fill: none; stroke-width: 1.5; opacity: .75; }\n"
    ".front { fill: none; stroke-width: 2; }\n";

void wk_plot_file(wk_str *b, const wk_plot *p) {
  wk_str_printf(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                   "font-family=\"system-ui, DejaVu Sans, sans-serif\">\n<style>\n%s</style>\n"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                WIDTH, HEIGHT + (int)more_of(p), style);
  wk_plot_svg(b, p);
  wk_str_add(b, "</svg>\n");
}

double wk_plot_log(double v, double low, double high) {
  return low > 0 && high > low ? 0.04 + 0.92 * log(v / low) / log(high / low) : 0.5;
}

int64_t wk_plot_tick_step(int64_t n, int64_t most) {
  int64_t step = 1;
  for (int k = 0; n / step > most; k++) step = k % 3 == 1 ? step / 2 * 5 : step * 2;
  return step;
}

void wk_plot_free(wk_plot *p) {
  for (size_t i = 0; i < p->series.n; i++) wk_vec_free(&p->series.data[i].points);
  wk_vec_free(&p->series);
  wk_vec_free(&p->ticks);
  wk_vec_free(&p->legend);
  wk_vec_free(&p->dashes);
  wk_vec_free(&p->marks);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static const char page_style[] =
    "body { font: 14px/1.45 system-ui, \"DejaVu Sans\", sans-serif; color: #1a1a1a;\n"
    "       background: #fff; margin: 0 auto; max-width: 1240px; padding: 0 24px 60px; }\n"
    "h1 { font-size: 22px; border-bottom: 2px solid #1a1a1a; } h2 { font-size: 18px; }\n"
    ".note { color: #444; } .plots { display: flex; flex-wrap: wrap; gap: 18px 30px; }\n"
    "table { border-collapse: collapse; font-size: 12.5px; font-variant-numeric: tabular-nums; }\n"
    "th { background: #f0f0f0; padding: 4px 8px; text-align: right; }\n"
    "td { padding: 2px 8px; text-align: right; border-top: 1px solid #e6e6e6; }\n"
    "td.text { text-align: left; }\n";

void wk_plot_page_begin(wk_str *b, const char *command, const char *title) {
  wk_str_printf(b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                   "<title>wick %s</title>\n<style>\n%s%s</style></head><body>\n<h1>%s</h1>\n",
                command, page_style, style, title);
}
