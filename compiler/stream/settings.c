/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/settings.h"

#include <string.h>

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
