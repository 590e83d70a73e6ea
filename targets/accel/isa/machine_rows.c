/* SPDX-License-Identifier: Apache-2.0
 * The text of a machine as wk_machine_text writes it: a row for each key. */
#include <string.h>

#include "targets/accel/isa/internal.h"

enum { ROW_MAX = 128 };

static wk_status refuse(const char *place, int row, const char *what) {
  return wk_error(WK_INPUT, "%s:%d: %s", place, row, what);
}

/* "KEY = NUMBER;" */
static wk_status read_row(char *row, const char *place, int number, wk_machine *m) {
  char *equals = strstr(row, " = "), *end = strchr(row, ';');
  char at[ROW_MAX];
  wk_fraction v;
  if (!equals || !end || end < equals || end[1]) return refuse(place, number, "no KEY = NUMBER;");
  *equals = *end = 0;
  const wk_machine_key *k = wk_machine_key_find(row);
  if (!k) return refuse(place, number, "unknown key");
  if (!wk_fraction_parse(equals + 3, &v)) return refuse(place, number, "its value is no number");
  snprintf(at, sizeof at, "%s:%d", place, number);
  return wk_machine_set(m, k, v, at);
}

wk_status wk_machine_read_rows(const char *text, size_t n, const char *place, wk_machine *out) {
  wk_machine m;
  wk_machine_defaults(&m);
  for (int number = 1; n > 0; number++) {
    char row[ROW_MAX + 1];
    const char *end = memchr(text, '\n', n);
    size_t length = end ? (size_t)(end - text) : n;
    if (!end || length > ROW_MAX || memchr(text, 0, length))
      return refuse(place, number, "no KEY = NUMBER;");
    memcpy(row, text, length);
    row[length] = 0;
    WK_TRY(read_row(row, place, number, &m));
    text = end + 1;
    n -= length + 1;
  }
  wk_status s = wk_machine_check(&m);
  if (!s) *out = m;
  return wk_status_place(s, place);
}
