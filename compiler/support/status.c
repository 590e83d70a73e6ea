/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/support/support.h"

#include <stdlib.h>
#include <string.h>

/* What is left to say when there is no memory for a message. It belongs to nobody. */
static const struct wk_status_rec out_of_memory = {
    .code = WK_RESOURCE, .file = __FILE__, .line = __LINE__, .message = (char *)"out of memory"};

/* malloc'ed; NULL: there is no memory. */
static char *format(const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  char *text = n < 0 ? NULL : malloc((size_t)n + 1);
  if (text) vsnprintf(text, (size_t)n + 1, fmt, again);
  va_end(again);
  if (text) wk_text_clean(text); /* names out of files are quoted there */
  return text;
}

static char *join(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *text = n < 0 ? NULL : malloc((size_t)n + 1);
  va_start(ap, fmt);
  if (text) vsnprintf(text, (size_t)n + 1, fmt, ap);
  va_end(ap);
  return text;
}

wk_status wk_status_make(wk_code code, const char *file, int line, const char *place,
                         const char *fmt, ...) {
  wk_status s = calloc(1, sizeof *s);
  va_list ap;
  va_start(ap, fmt);
  char *message = s ? format(fmt, ap) : NULL;
  va_end(ap);
  if (!message) {
    free(s);
    return (wk_status)(uintptr_t)&out_of_memory;
  }
  *s = (struct wk_status_rec){.code = code, .file = file, .line = line, .message = message};
  return wk_status_place(s, place);
}

/* Puts `text` in the place of *at; without memory what was there stays. */
static void replace(char **at, char *text) {
  if (!text) return;
  free(*at);
  *at = text;
}

wk_status wk_status_note(wk_status s, const char *fmt, ...) {
  if (!s || s == &out_of_memory || !*s->message) return s; /* "" says that all is said */
  va_list ap;
  va_start(ap, fmt);
  char *note = format(fmt, ap);
  va_end(ap);
  if (note) replace(&s->message, join("%s (%s)", s->message, note));
  free(note);
  return s;
}

wk_status wk_status_item(wk_status s, const char *fmt, ...) {
  if (!s || s == &out_of_memory) return s;
  va_list ap;
  va_start(ap, fmt);
  char *item = format(fmt, ap);
  va_end(ap);
  if (item) replace(&s->notes, join("%s%s\n", s->notes ? s->notes : "", item));
  free(item);
  return s;
}

wk_status wk_status_as(wk_status s, wk_code code) {
  if (s && s != &out_of_memory) s->code = code;
  return s;
}

wk_status wk_status_place(wk_status s, const char *place) {
  if (!s || s == &out_of_memory || s->place || !place || !*place) return s;
  s->place = strdup(place);
  if (s->place) wk_text_clean(s->place);
  return s;
}

void wk_status_free(wk_status s) {
  if (!s || s == &out_of_memory) return;
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
