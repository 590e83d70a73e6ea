/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/study/diff.h"

#include <inttypes.h>
#include <string.h>

const char *const wk_diff_names[WK_DIFF_COUNT] = {
#define WK_X(name, heading) heading,
    WK_DIFF_VALUES(WK_X)
#undef WK_X
};

static const char *const keys[WK_DIFF_COUNT] = {
#define WK_X(name, heading) #name,
    WK_DIFF_VALUES(WK_X)
#undef WK_X
};

/* ---- files ----------------------------------------------------------------------------------- */

static wk_status check_kind(const json_t *root) {
  const char *kind = json_string_value(json_object_get(root, "wick"));
  const json_t *version = json_object_get(root, "version");
  if (!kind || !json_is_integer(version))
    return wk_error(WK_INPUT, "is not what 'wick sim --json' writes, or an earlier Wick wrote it");
  if (strcmp(kind, WK_SIM_JSON_KIND) != 0)
    return wk_error(WK_INPUT, "is of kind '%s', not '" WK_SIM_JSON_KIND "' ('wick sim --json' "
                    "writes that)", kind);
  if (json_integer_value(version) != WK_SIM_JSON_VERSION)
    return wk_error(WK_INPUT, "has version %" JSON_INTEGER_FORMAT "; this Wick compares version %d",
                    json_integer_value(version), WK_SIM_JSON_VERSION);
  return NULL;
}

static wk_status read_file(const char *path, json_t **root) {
  wk_file f;
  json_error_t error;
  WK_TRY(wk_file_map(path, &f));
  *root = json_loadb((const char *)f.data, f.size, 0, &error);
  wk_file_unmap(&f);
  if (!*root) return wk_error(WK_INPUT, "is no JSON: line %d: %s", error.line, error.text);
  return check_kind(*root);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Whatever the file holds, sums of them have room. */
static int64_t number(const json_t *o, const char *key) {
  enum { BITS = 48 }; /* those of the machine's counters */
  int64_t v = json_integer_value(json_object_get(o, key)), most = ((int64_t)1 << BITS) - 1;
  return v < 0 ? 0 : v > most ? most : v;
}

static wk_diff_row *row_of(wk_diff_runs *d, bool is_part, const char *part, const char *layer,
                           int side) {
  size_t n = is_part ? d->parts.n : d->layers.n;
  wk_diff_row *list = is_part ? d->parts.data : d->layers.data;
  for (size_t i = 0; i < n; i++)
    if (!list[i].side[side].is_there && !strcmp(list[i].part, part) &&
        (is_part || !strcmp(list[i].layer, layer)))
      return &list[i];
  wk_diff_row row = {.part = part, .layer = layer};
  if (is_part) return wk_vec_push(&d->parts, row), &d->parts.data[n];
  return wk_vec_push(&d->layers, row), &d->layers.data[n];
}

static void set_layer(wk_diff_side *to, const json_t *layer, const json_t *causes) {
  int64_t operator = number(layer, "operator");
  size_t i;
  const json_t *row;
  to->is_there = true;
  for (int k = 0; k < WK_DIFF_COUNT; k++) to->values[k] = number(layer, keys[k]);
  json_array_foreach(causes, i, row) {
    const char *name = json_string_value(json_object_get(row, "cause"));
    for (int k = 0; name && k < WK_CAUSE_COUNT; k++)
      if (number(row, "operator") == operator && !strcmp(name, wk_cause_infos[k].name))
        to->causes[k] += number(row, "cycles");
  }
}

static void set_part(wk_diff_side *to, const json_t *part) {
  static const char *const loads[] = {"bytes_ld0", "bytes_ld1", "bytes_ld2"};
  const json_t *counters = json_object_get(part, "counters");
  const json_t *causes = json_object_get(part, "causes");
  to->is_there = true;
  to->values[WK_DIFF_cycles] = number(part, "cycles");
  to->values[WK_DIFF_exposed] = number(part, "exposed");
  for (size_t i = 0; i < WK_COUNTOF(loads); i++)
    to->values[WK_DIFF_read] += number(counters, loads[i]);
  to->values[WK_DIFF_written] = number(counters, "bytes_st");
  for (int k = 0; k < WK_CAUSE_COUNT; k++) to->causes[k] = number(causes, wk_cause_infos[k].name);
}

static void add_run(wk_diff_runs *d, int side, const json_t *run) {
  const char *part = json_string_value(json_object_get(run, "part")), *name;
  const json_t *layer, *causes = json_object_get(run, "causes_of_layers");
  size_t i;
  if (!part) part = "";
  if (!json_is_object(json_object_get(run, "causes"))) d->has_causes = false;
  set_part(&row_of(d, true, part, NULL, side)->side[side], run);
  json_array_foreach(json_object_get(run, "layers"), i, layer) {
    name = json_string_value(json_object_get(layer, "name"));
    if (name) set_layer(&row_of(d, false, part, name, side)->side[side], layer, causes);
  }
}

static wk_status check_whole(const json_t *run) {
  return json_is_true(json_object_get(run, "gave_up"))
             ? wk_error(WK_INPUT, "is of a run that was cut off (--max-cycles)") : NULL;
}

static wk_status add_runs(wk_diff_runs *d, int side) {
  const json_t *parts = json_object_get(d->root[side], "parts"), *run;
  size_t i;
  WK_TRY(check_whole(d->root[side]));
  if (!parts) add_run(d, side, d->root[side]);
  json_array_foreach(parts, i, run) {
    WK_TRY(check_whole(run));
    add_run(d, side, run);
  }
  return NULL;
}

wk_status wk_diff_read(const char *const paths[2], wk_diff_runs *out) {
  *out = (wk_diff_runs){.arena = wk_arena_new(), .has_causes = true};
  for (int side = 0; side < 2; side++) {
    WK_TRY(wk_status_place(read_file(paths[side], &out->root[side]), paths[side]));
    WK_TRY(wk_status_place(add_runs(out, side), paths[side]));
  }
  return NULL;
}

void wk_diff_free(wk_diff_runs *d) {
  for (int side = 0; side < 2; side++) json_decref(d->root[side]);
  wk_vec_free(&d->parts);
  wk_vec_free(&d->layers);
  wk_arena_free(d->arena);
}

const json_t *wk_diff_machine(const wk_diff_runs *d, int side) {
  const json_t *parts = json_object_get(d->root[side], "parts");
  const json_t *run = parts ? json_array_get(parts, 0) : d->root[side];
  return json_object_get(run, "machine");
}
