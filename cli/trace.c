/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace.h"

#include "cli/json_file.h"

json_t *wk_trace_event(const wk_trace *t, const char *phase, const char *name, int track,
                       json_t *time) {
  json_t *e = json_object();
  json_object_set_new(e, "ph", json_string(phase));
  json_object_set_new(e, "name", json_string(name));
  json_object_set_new(e, "pid", json_integer(t->process));
  json_object_set_new(e, "tid", json_integer(track + 1));
  json_object_set_new(e, "ts", time);
  return e;
}

void wk_trace_put(const wk_trace *t, json_t *event) { json_array_append_new(t->events, event); }

void wk_trace_describe(const wk_trace *t, int track, const char *what, const char *key,
                       json_t *value) {
  json_t *e = wk_trace_event(t, "M", what, track, json_integer(0)), *args = json_object();
  json_object_set_new(args, key, value);
  json_object_set_new(e, "args", args);
  wk_trace_put(t, e);
}

wk_status wk_trace_write(const wk_trace *t, const char *path) {
  json_t *root = json_object();
  json_object_set(root, "traceEvents", t->events);
  json_object_set_new(root, "displayTimeUnit", json_string("ns"));
  return wk_json_write(root, path, JSON_COMPACT | JSON_REAL_PRECISION(15));
}
