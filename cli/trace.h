/* SPDX-License-Identifier: Apache-2.0
 * trace: events of the Chrome trace format, for ui.perfetto.dev. */
#ifndef WICK_CLI_TRACE_H
#define WICK_CLI_TRACE_H

#include <jansson.h>

#include "compiler/support/support.h"

typedef struct {
  json_t *events; /* an array, added to */
  int process;    /* of those that follow */
} wk_trace;

/* An event of track `track`, counted from 0, that starts then (stolen): in microseconds. It is the
 * caller's until it is put among the others. */
json_t *wk_trace_event(const wk_trace *t, const char *phase, const char *name, int track,
                       json_t *time);
void wk_trace_put(const wk_trace *t, json_t *event); /* stolen */
/* Says something of the track or of its process: "thread_name", "name", … (value stolen). */
void wk_trace_describe(const wk_trace *t, int track, const char *what, const char *key,
                       json_t *value);
wk_status wk_trace_write(const wk_trace *t, const char *path) WK_MUST_CHECK;

#endif
