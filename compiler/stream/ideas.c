/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/ideas.h"

#include <string.h>

const char *const wk_sched_idea_names[] = {
#define X(enumerator, name) name,
    WK_SCHED_IDEAS(X)
#undef X
};
enum { COUNT = WK_COUNTOF(wk_sched_idea_names) };

static bool is_name(const char *name, const char *text, size_t n) {
  return strlen(name) == n && !strncmp(name, text, n);
}

static wk_status no_idea(const char *text, size_t n) {
  wk_str list = {0};
  for (size_t i = 0; i < COUNT; i++)
    wk_str_printf(&list, "%s%s", !i ? "" : i + 1 < COUNT ? ", " : " and ", wk_sched_idea_names[i]);
  wk_status s = wk_error(WK_USAGE, "there are %s, not '%.*s'", list.s, (int)n, text);
  wk_str_free(&list);
  return s;
}

wk_status wk_sched_ideas_read(const char *text, unsigned *out) {
  *out = 0;
  for (;; text++) {
    size_t n = strcspn(text, ","), i = 0;
    while (i < COUNT && !is_name(wk_sched_idea_names[i], text, n)) i++;
    if (i == COUNT) return no_idea(text, n);
    *out |= 1u << i;
    text += n;
    if (!*text) return NULL;
  }
}

typedef wk_sched_counts counts;

static void need(wk_sched_step *s, int queue, const counts c) {
  if (s->needs[queue] < c[queue]) s->needs[queue] = c[queue];
}

void wk_sched_hold_loads(wk_sched_steps *s, const wk_sched_queues *q, unsigned without) {
  counts issued = {0}, group = {0};      /* group: those of the groups before */
  counts tiles[2] = {{0}, {0}};          /* without the last two tiles; without the last one */
  const int *first = s->first.data;
  bool has_computed = false;
  for (size_t i = 0; i < s->list.n; i++) {
    wk_sched_step *x = &s->list.data[i];
    bool computes = wk_sched_in(q->computes, x->queue);
    bool is_load = !computes && !wk_sched_in(q->stores, x->queue);
    int before = i ? s->list.data[i - 1].group : x->group;
    if (x->group != before && first[x->group] != first[before])
      memcpy(group, issued, sizeof group);
    if (is_load && has_computed) {
      memcpy(tiles[0], tiles[1], sizeof tiles[0]);
      memcpy(tiles[1], issued, sizeof tiles[1]);
      has_computed = false;
    }
    for (int k = 0; k < q->n && is_load; k++) {
      if (without & WK_SCHED_CROSS_LAYER) need(x, k, group);
      if (without & WK_SCHED_EARLY_ISSUE && wk_sched_in(q->computes, k)) need(x, k, tiles[0]);
    }
    has_computed = has_computed || computes;
    issued[x->queue] = x->ordinal + 1;
  }
}
