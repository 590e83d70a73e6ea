/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/support/support.h"

#include <stdlib.h>
#include <string.h>

static char *format(const char *fmt, va_list ap) {
  wk_str b = {0};
  wk_str_add(&b, "");
  wk_str_vprintf(&b, fmt, ap);
  return b.s;
}

wk_status wk_status_make(wk_code code, const char *file, int line, const char *place,
                         const char *fmt, ...) {
  wk_status s = wk_xcalloc(1, sizeof *s);
  s->code = code;
  s->file = file;
  s->line = line;
  va_list ap;
  va_start(ap, fmt);
  s->message = format(fmt, ap);
  va_end(ap);
  wk_text_clean(s->message); /* names out of files are quoted there */
  return wk_status_place(s, place);
}

wk_status wk_status_note(wk_status s, const char *fmt, ...) {
  if (!s) return NULL;
  va_list ap;
  va_start(ap, fmt);
  char *note = format(fmt, ap);
  va_end(ap);
  wk_str all = {0};
  if (*s->message) { /* an empty message says that all is said */
    wk_text_clean(note);
    wk_str_printf(&all, "%s (%s)", s->message, note);
    free(s->message);
    s->message = all.s;
  }
  free(note);
  return s;
}

wk_status wk_status_item(wk_status s, const char *fmt, ...) {
  if (!s) return NULL;
  va_list ap;
  va_start(ap, fmt);
  char *item = format(fmt, ap);
  va_end(ap);
  wk_text_clean(item);
  wk_str all = {0};
  wk_str_printf(&all, "%s%s\n", s->notes ? s->notes : "", item);
  free(item);
  free(s->notes);
  s->notes = all.s;
  return s;
}

wk_status wk_status_place(wk_status s, const char *place) {
  if (!s || s->place || !place) return s;
  s->place = wk_xstrdup(place);
  wk_text_clean(s->place);
  return s;
}

void wk_status_free(wk_status s) {
  if (!s) return;
  free(s->place);
  free(s->message);
  free(s->notes);
  free(s);
}

void wk_status_print(FILE *f, wk_status s) {
  if (!s) return;
  if (s->place) fprintf(f, "%s: ", s->place);
  fprintf(f, "%s\n", s->message);
  for (const char *p = s->notes; p && *p;) {
    size_t n = strcspn(p, "\n");
    fprintf(f, "  %.*s\n", (int)n, p);
    p += n + (p[n] == '\n');
  }
}
