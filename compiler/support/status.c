/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/support/support.h"

#include <stdlib.h>
#include <string.h>

/* Messages quote names out of files, so control bytes must not reach a terminal. */
static void sanitize(char *s, bool keep_newlines) {
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '\n' && keep_newlines) continue;
    if (c == '\n' || c == '\t') *s = ' ';
    else if (c < 0x20 || c == 0x7f) *s = '?';
  }
}

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
  sanitize(s->message, false);
  return wk_status_place(s, place);
}

wk_status wk_status_note(wk_status s, const char *fmt, ...) {
  if (!s) return NULL;
  va_list ap;
  va_start(ap, fmt);
  char *note = format(fmt, ap);
  va_end(ap);
  sanitize(note, true);
  wk_str all = {0};
  if (s->notes) wk_str_add(&all, s->notes);
  wk_str_add(&all, note);
  if (all.n == 0 || all.s[all.n - 1] != '\n') wk_str_add(&all, "\n");
  free(note);
  free(s->notes);
  s->notes = all.s;
  return s;
}

wk_status wk_status_place(wk_status s, const char *place) {
  if (!s || s->place || !place) return s;
  s->place = wk_xstrdup(place);
  sanitize(s->place, false);
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
