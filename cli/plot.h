/* SPDX-License-Identifier: Apache-2.0
 * Diagrams as SVG, for pages that need nothing else. */
#ifndef WICK_CLI_PLOT_H
#define WICK_CLI_PLOT_H

#include "compiler/support/support.h"

/* Colours are told apart also by those who see fewer; past the last, marks have another shape. */
enum { WK_PLOT_COLOURS = 8, WK_PLOT_DASHES = 6, WK_PLOT_MARKS = 5 };

typedef struct {
  double x, y;     /* x: 0 to 1, from left to right */
  const char *tip; /* what the mouse shows */
} wk_plot_point;

typedef struct {
  WK_VEC(wk_plot_point) points;
  unsigned colour, dash, mark; /* 0, 1, …: what is past the last begins again */
  bool is_line;  /* through the points, in order; else they are marks only */
  bool is_front; /* a line alone, as stairs that fall to the right */
} wk_plot_series;

typedef struct {
  double x;
  const char *text;
} wk_plot_label;

typedef struct {
  const char *title, *x_title;
  WK_VEC(wk_plot_series) series;
  WK_VEC(wk_plot_label) ticks;    /* below the x axis */
  WK_VEC(const char *) legend;    /* of colours 0, 1, … */
  WK_VEC(const char *) dashes;    /* of dashes, in a row of their own */
  WK_VEC(const char *) marks;     /* of marks, likewise */
  wk_text24 (*y_text)(double y);  /* of the ticks of the y axis */
  double low;                     /* y at the bottom: 0, or what it shall begin with */
  bool is_binary;                 /* these are at powers of two */
} wk_plot;

void wk_plot_svg(wk_str *b, const wk_plot *p);
/* The same as a file of its own. */
void wk_plot_file(wk_str *b, const wk_plot *p);
/* x of a value on a logarithmic scale that nearly fills the width. */
double wk_plot_log(double v, double low, double high);
/* Between ticks of whole numbers up to n: 1, 2 or 5 times a power of ten, for at most `most`. */
int64_t wk_plot_tick_step(int64_t n, int64_t most);
void wk_plot_free(wk_plot *p);
/* Text of a page: "&", "<", ">" and quotes are written as such. */
void wk_html_text(wk_str *b, const char *text);

/* The head of a page of diagrams, up to its title; such a page ends with "</body></html>". */
void wk_plot_page_begin(wk_str *b, const char *command, const char *title);

#endif
