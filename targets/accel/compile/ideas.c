/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/ideas.h"

#include <string.h>

static const char *const names[] = {
#define X(enumerator, name) name,
    WK_ACCEL_IDEAS(X)
#undef X
};

static wk_status no_idea(const char *text, size_t n) {
  wk_str list = {0};
  for (size_t i = 0; i < WK_COUNTOF(names); i++)
    wk_str_printf(&list, "%s%s",
                  !i ? "" : i + 1 < WK_COUNTOF(names) ? ", " : " and ", names[i]);
  wk_status s = wk_error(WK_USAGE, "there are %s, not '%.*s'", list.s, (int)n, text);
  wk_str_free(&list);
  return s;
}

wk_status wk_accel_ideas_read(const char *text, unsigned *out) {
  *out = 0;
  for (;; text++) {
    size_t n = strcspn(text, ","), i = 0;
    while (i < WK_COUNTOF(names) && (strlen(names[i]) != n || strncmp(names[i], text, n) != 0)) i++;
    if (i == WK_COUNTOF(names)) return no_idea(text, n);
    *out |= 1u << i;
    text += n;
    if (!*text) return NULL;
  }
}

typedef wk_accel_counts counts;

static void need(wk_accel_step *s, int queue, const counts c) {
  if (s->needs[queue] < c[queue]) s->needs[queue] = c[queue];
}

void wk_accel_hold_loads(wk_accel_steps *s, unsigned without) {
  counts issued = {0}, group = {0};      /* group: those of the groups before */
  counts tiles[2] = {{0}, {0}};          /* without the last two tiles; without the last one */
  bool has_computed = false;
  for (size_t i = 0; i < s->list.n; i++) {
    wk_accel_step *x = &s->list.data[i];
    bool is_load = wk_accel_is_transfer(x) && x->c.queue != WK_QUEUE_st;
    if (i && x->group != s->list.data[i - 1].group) memcpy(group, issued, sizeof group);
    if (is_load && has_computed) {
      memcpy(tiles[0], tiles[1], sizeof tiles[0]);
      memcpy(tiles[1], issued, sizeof tiles[1]);
      has_computed = false;
    }
    for (int q = 0; q < WK_QUEUE_COUNT && is_load; q++) {
      bool is_engine = q == WK_QUEUE_ex || q == WK_QUEUE_ve;
      if (without & WK_ACCEL_CROSS_LAYER) need(x, q, group);
      if (without & WK_ACCEL_EARLY_ISSUE && is_engine) need(x, q, tiles[0]);
    }
    has_computed = has_computed || !wk_accel_is_transfer(x);
    issued[x->c.queue] = x->ordinal + 1;
  }
}
