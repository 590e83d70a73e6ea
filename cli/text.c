/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void wk_text_position(wk_str *b, const wk_type *t, int64_t flat) {
  int64_t strides[WK_MAX_RANK];
  wk_type_strides(t, strides);
  wk_str_add(b, "[");
  for (int i = 0; i < t->rank; i++) {
    int64_t stride = strides[i] ? strides[i] : 1;
    wk_str_printf(b, "%s%lld", i ? "," : "", (long long)(flat / stride));
    flat %= stride;
  }
  wk_str_add(b, "]");
}

void wk_text_element(wk_str *b, const wk_tensor *t, int64_t flat) {
  if (t->type.dtype == WK_F64) wk_str_printf(b, "%.17g", wk_load_f64(t->data, WK_F64, flat));
  else if (wk_dtype_is_float(t->type.dtype))
    wk_str_printf(b, "%.9g", wk_load_f64(t->data, t->type.dtype, flat));
  else if (t->type.dtype == WK_U64)
    wk_str_printf(b, "%llu", (unsigned long long)((const uint64_t *)t->data)[flat]);
  else wk_str_printf(b, "%lld", (long long)wk_load_i64(t->data, t->type.dtype, flat));
}

void wk_text_diff(wk_str *b, const wk_tensor *got, const wk_tensor *want, const wk_diff *d) {
  wk_str_printf(b, "%lld of %lld elements differ, worst at ", (long long)d->mismatches,
                (long long)wk_type_count(&want->type));
  wk_text_position(b, &want->type, d->worst);
  wk_str_add(b, ": got ");
  wk_text_element(b, got, d->worst);
  wk_str_add(b, ", want ");
  wk_text_element(b, want, d->worst);
}

/* What a unit's figures are rounded to decides which unit it is: 999.6 us are 1.00 ms. */
wk_text24 wk_text_seconds(double s) {
  wk_text24 t;
  double us = s * 1e6, ms = s * 1e3;
  if (us < 999.5) snprintf(t.s, sizeof t.s, "%.0f us", us);
  else if (ms < 999.5) snprintf(t.s, sizeof t.s, "%.*f ms", ms < 99.995 ? 2 : 0, ms);
  else snprintf(t.s, sizeof t.s, "%.*f s", s < 99.995 ? 2 : 0, s);
  return t;
}

wk_text24 wk_text_count(int64_t n) {
  static const char units[] = " kMGTPE";
  double v = (double)n;
  int u = 0;
  wk_text24 t;
  while (v >= 999.5) {
    v /= 1000;
    u++;
  }
  if (u == 0) snprintf(t.s, sizeof t.s, "%lld", (long long)n);
  else snprintf(t.s, sizeof t.s, "%.*f %c", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, units[u]);
  return t;
}

void wk_text_notes(FILE *f, const wk_note *notes, size_t n) {
  for (size_t i = 0; i < n; i++)
    fprintf(f, "wick: %s%s%s\n", notes[i].place ? notes[i].place : "",
            notes[i].place ? ": " : "", notes[i].text);
}

const char *wk_text_shown(wk_arena *a, const char *name) {
  char *s = wk_arena_strdup(a, name);
  wk_text_clean(s);
  return s;
}

/* ---- tables ---------------------------------------------------------------------------------- */

void wk_table_row(wk_table *t, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  size_t at = t->text.n;
  wk_str_vprintf(&t->text, fmt, ap);
  va_end(ap);
  for (char *cell = t->text.s + at + (*fmt == '\n'); *cell;) { /* no cell hides a separator */
    char *end = cell + strcspn(cell, "\t"), tab = *end;
    *end = 0;
    wk_text_clean(cell);
    *end = tab;
    cell = end + (tab != 0);
  }
  wk_str_add(&t->text, "\n");
}

enum { MAX_COLUMNS = 20 };

/* Columns on the terminal: UTF-8 continuation bytes take none. */
static int width_of(const char *s, size_t n) {
  int w = 0;
  for (size_t i = 0; i < n; i++) w += ((unsigned char)s[i] & 0xc0) != 0x80;
  return w;
}

/* Blanks are held back until text follows: lines have none at their ends. */
static void print_cell(FILE *f, const char *s, size_t n, int width, bool right, int *blanks) {
  int fill = width - width_of(s, n);
  if (n) {
    fprintf(f, "%*s", *blanks + (right ? fill : 0), "");
    fwrite(s, 1, n, f);
    *blanks = 0;
  }
  *blanks += n && right ? 2 : fill + 2;
}

void wk_table_print(FILE *f, wk_table *t, const char *align) {
  int widths[MAX_COLUMNS] = {0};
  for (int pass = 0; pass < 2; pass++)
    for (const char *p = t->text.s; p && *p;) {
      int blanks = 0;
      for (int c = 0;; c++) {
        size_t n = strcspn(p, "\t\n");
        int at = c < MAX_COLUMNS ? c : MAX_COLUMNS - 1, w = width_of(p, n);
        bool last = p[n] != '\t', right = at < (int)strlen(align) && align[at] == 'r';
        if (pass == 0) widths[at] = w > widths[at] ? w : widths[at];
        else print_cell(f, p, n, widths[at], right, &blanks);
        p += n + (p[n] != 0);
        if (last) break;
      }
      if (pass) fputc('\n', f);
    }
  wk_str_free(&t->text);
}
