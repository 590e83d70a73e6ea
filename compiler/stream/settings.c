/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/settings.h"

#include <stdlib.h>
#include <string.h>

wk_status wk_sched_open(const wk_target *target, wk_instance **out) {
  wk_sched_instance *t = wk_xcalloc(1, sizeof *t);
  t->base = (wk_instance){.target = target, .is_here = true};
  t->options = (wk_sched_options){.prefetch = WK_PREFETCH_AUTO, .effort = 1};
  *out = &t->base;
  return NULL;
}

void wk_sched_close(wk_instance *t) { free(t); }

static wk_sched_options *options_of(wk_instance *t) {
  return &((wk_sched_instance *)(void *)t)->options;
}

wk_status wk_sched_set_prefetch(wk_instance *t, const char *value) {
  for (size_t i = 0; i < WK_PREFETCH_COUNT; i++)
    if (!strcmp(value, wk_sched_prefetch_names[i]))
      return options_of(t)->prefetch = (wk_sched_prefetch)i, NULL;
  return wk_error(WK_USAGE, "there are off, serial, double and auto, not '%s'", value);
}

wk_status wk_sched_set_effort(wk_instance *t, const char *value) {
  if (strlen(value) != 1 || *value < '0' || *value > '3')
    return wk_error(WK_USAGE, "must be 0, 1, 2 or 3, not '%s'", value);
  options_of(t)->effort = *value - '0';
  return NULL;
}

wk_status wk_sched_set_without(wk_instance *t, const char *value) {
  return wk_sched_ideas_read(value, &options_of(t)->without);
}

wk_status wk_sched_set_report(wk_instance *t, const char *value) {
  if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
    return wk_error(WK_USAGE, "must be yes or no, not '%s'", value);
  ((wk_sched_instance *)(void *)t)->reports = *value == 'y';
  return NULL;
}

void wk_sched_tell(const wk_instance *t, const wk_emit_options *o, const char *part,
                   const wk_sched_net *net, const wk_sched_made *made) {
  const wk_sched_instance *x = (const wk_sched_instance *)(const void *)t;
  if (x->reports && o->text) wk_sched_report(o->text, part, net, &x->options, made);
}
