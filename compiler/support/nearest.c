/* SPDX-License-Identifier: Apache-2.0 */
/* Nearest name by edit distance with transpositions (Damerau-Levenshtein, optimal string
 * alignment), three rows of the table at a time. Costs are doubled so that a difference in case
 * alone counts half. A candidate is near when at most a third of the longer name differs. */
#include "compiler/support/support.h"

#include <ctype.h>
#include <string.h>

enum { MAX_NAME = 63 };

static int min2(int a, int b) { return a < b ? a : b; }

static int substitution(char a, char b) {
  if (a == b) return 0;
  return tolower((unsigned char)a) == tolower((unsigned char)b) ? 1 : 2;
}

static int distance(const char *a, size_t na, const char *b, size_t nb) {
  int rows[3][MAX_NAME + 1];
  int *before = rows[0], *above = rows[1], *row = rows[2];
  for (size_t j = 0; j <= nb; j++) above[j] = before[j] = 2 * (int)j;
  for (size_t i = 1; i <= na; i++) {
    row[0] = 2 * (int)i;
    for (size_t j = 1; j <= nb; j++) {
      int d = above[j - 1] + substitution(a[i - 1], b[j - 1]);
      d = min2(d, min2(above[j], row[j - 1]) + 2);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d = min2(d, before[j - 2] + 2);
      row[j] = d;
    }
    int *free_row = before;
    before = above;
    above = row;
    row = free_row;
  }
  return above[nb];
}

const char *wk_nearest(const char *s, const char *const *names, size_t n) {
  size_t length = strlen(s);
  if (length == 0 || length > MAX_NAME) return NULL;
  const char *best = NULL;
  int best_distance = 0;
  for (size_t i = 0; i < n; i++) {
    size_t other = strlen(names[i]);
    if (other == 0 || other > MAX_NAME) continue;
    size_t longer = length > other ? length : other;
    int limit = 2 * (int)((longer + 2) / 3);
    int d = distance(s, length, names[i], other);
    if (d > limit || d >= 2 * (int)longer || (best && d >= best_distance)) continue;
    best = names[i];
    best_distance = d;
  }
  return best;
}
