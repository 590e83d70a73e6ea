/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/csv.h"
#include "cli/sweep/sweep.h"
#include "wick_version.h"

/* ---- rows ------------------------------------------------------------------------------------ */

static json_t *axis_value(const wk_sweep_axis *axis, const char *value) {
  if (!axis->key) return json_string(value);
  double v = strtod(value, NULL);
  return strchr(value, '.') ? json_real(v) : json_integer((json_int_t)v);
}

static const char *reason_of(const wk_sweep_point *p) {
  return p->refusal ? p->refusal : p->lost ? p->lost : "has not been computed";
}

static json_t *row_of(const wk_sweep *s, const wk_sweep_point *p) {
  json_t *row = json_object(), *stored = p->refusal ? NULL : wk_sweep_row(s, p);
  json_object_set_new(row, "model", json_string(p->model->name));
  for (size_t k = 0; k < s->axes.n; k++)
    json_object_set_new(row, s->axes.data[k].name, axis_value(&s->axes.data[k], p->values[k]));
  json_object_set_new(row, "key", p->refusal ? json_null() : json_string(p->key));
  if (!stored) json_object_set_new(row, "error", json_string(reason_of(p)));
  json_object_del(stored, "identity");
  json_object_del(stored, "died");
  json_object_update_missing(row, stored);
  json_decref(stored);
  return row;
}

json_t *wk_sweep_rows(const wk_sweep *s) {
  json_t *rows = json_array();
  for (size_t i = 0; i < s->points.n; i++)
    json_array_append_new(rows, row_of(s, &s->points.data[i]));
  return rows;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Columns are those of all rows, in the order in which they are met, reasons last. */
static json_t *columns_of(const json_t *rows) {
  json_t *columns = json_object(), *row, *value;
  const char *name;
  size_t i;
  json_array_foreach(rows, i, row)
    json_object_foreach(row, name, value)
      if (strcmp(name, "error")) json_object_set_new(columns, name, json_null());
  json_object_set_new(columns, "error", json_null());
  return columns;
}

static void add_value(wk_str *b, const json_t *v) {
  if (json_is_string(v)) wk_csv_text(b, json_string_value(v));
  else if (json_is_integer(v)) wk_str_printf(b, "%lld", (long long)json_integer_value(v));
  else if (json_is_real(v)) wk_str_f64(b, json_real_value(v));
}

static void add_csv(wk_str *b, const json_t *rows) {
  json_t *columns = columns_of(rows), *row, *unused;
  const char *name, *comma = "";
  size_t i;
  json_object_foreach(columns, name, unused) {
    wk_str_printf(b, "%s%s", comma, name);
    comma = ",";
  }
  wk_str_add(b, "\n");
  json_array_foreach(rows, i, row) {
    comma = "";
    json_object_foreach(columns, name, unused) {
      wk_str_add(b, comma);
      add_value(b, json_object_get(row, name));
      comma = ",";
    }
    wk_str_add(b, "\n");
  }
  json_decref(columns);
}

static json_t *describe(const wk_sweep *s, const json_t *rows) {
  json_t *root = json_object(), *axes = json_array();
  for (size_t k = 0; k < s->axes.n; k++) {
    const wk_sweep_axis *axis = &s->axes.data[k];
    json_t *values = json_array();
    for (size_t i = 0; i < axis->values.n; i++)
      json_array_append_new(values, axis_value(axis, axis->values.data[i]));
    json_array_append_new(axes, json_pack("{s:s, s:o}", "name", axis->name, "values", values));
  }
  json_object_set_new(root, "wick", json_string(WICK_VERSION));
  json_object_set_new(root, "machine", json_string(s->o->machine ? s->o->machine : "base"));
  json_object_set_new(root, "axes", axes);
  json_object_set(root, "points", (json_t *)(uintptr_t)rows);
  return root;
}

wk_status wk_sweep_write_table(const wk_sweep *s, const json_t *rows) {
  wk_str csv = {0};
  json_t *root = describe(s, rows);
  char *text = json_dumps(root, JSON_INDENT(1) | JSON_ENSURE_ASCII);
  json_decref(root);
  if (!text) return wk_error(WK_RESOURCE, "no room for the text of all rows");
  add_csv(&csv, rows);
  wk_status status = wk_write_file(wk_arena_printf(s->arena, "%s/points.json", s->dir), text,
                                   strlen(text));
  if (!status)
    status = wk_write_file(wk_arena_printf(s->arena, "%s/points.csv", s->dir), csv.s, csv.n);
  wk_str_free(&csv);
  free(text);
  return status;
}
