/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/pipeline/model.h"

void wk_notes_add(wk_notes *n, const char *place, const char *fmt, ...) {
  wk_str text = {0};
  va_list ap;
  va_start(ap, fmt);
  wk_str_vprintf(&text, fmt, ap);
  va_end(ap);
  const wk_note note = {place ? wk_xstrdup(place) : NULL, wk_xstrdup(text.s)};
  wk_vec_push(n, note);
  wk_str_free(&text);
}

void wk_notes_free(wk_notes *n) {
  for (size_t i = 0; i < n->n; i++) {
    free(n->data[i].place);
    free(n->data[i].text);
  }
  wk_vec_free(n);
}

static bool has(const wk_notes *n, const char *place, const char *text) {
  for (size_t i = 0; i < n->n; i++)
    if (n->data[i].place && !strcmp(n->data[i].place, place) && !strcmp(n->data[i].text, text))
      return true;
  return false;
}

void wk_model_add_note(wk_notes *n, const char *path, const char *note) {
  char *shown = wk_xstrdup(note);
  wk_text_clean(shown);
  if (!has(n, path, shown)) wk_notes_add(n, path, "%s", shown);
  free(shown);
}
