/* SPDX-License-Identifier: Apache-2.0
 * wick diff: two runs of `wick sim`, layer by layer. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/paths.h"
#include "cli/study/diff.h"
#include "cli/text.h"

typedef struct {
  const char *json;
  int64_t most;
} diff_opts;

static const diff_opts defaults = {.most = 0};

static const wk_option options[] = {
    {"most", 0, "N", "only the N layers that changed most (default: all that changed)",
     .kind = WK_OPTION_INT, .offset = offsetof(diff_opts, most), .min = 1, .max = INT32_MAX},
    {"json", 0, "FILE", "every part and layer of both runs", .kind = WK_OPTION_STRING,
     .offset = offsetof(diff_opts, json)},
    {0}};

/* ---- text ------------------------------------------------------------------------------------ */

static int64_t change_of(const wk_diff_row *r, wk_diff_value v) {
  return r->side[1].values[v] - r->side[0].values[v];
}

static wk_text24 value_text(const wk_diff_row *r, int side, wk_diff_value v) {
  wk_text24 none = {"-"};
  return r->side[side].is_there ? wk_sim_grouped((uint64_t)r->side[side].values[v]) : none;
}

/* "+1,234", "-5", "0" */
static wk_text24 change_text(int64_t v) {
  wk_text24 t, digits = wk_sim_grouped((uint64_t)(v < 0 ? -v : v));
  snprintf(t.s, sizeof t.s, "%s%.22s", v > 0 ? "+" : v < 0 ? "-" : "", digits.s);
  return t;
}

static wk_text24 percent_text(const wk_diff_row *r) {
  wk_text24 t = {"-"};
  double from = (double)r->side[0].values[WK_DIFF_cycles];
  if (r->side[0].is_there && r->side[1].is_there && from > 0)
    snprintf(t.s, sizeof t.s, "%+.1f", 100 * (double)change_of(r, WK_DIFF_cycles) / from);
  return t;
}

/* "latency +120, space -40": those that matter for this row, the largest first. */
static void add_causes(wk_str *b, const wk_diff_row *r) {
  bool shown[WK_CAUSE_COUNT] = {false};
  enum { MOST = 3 };
  for (int n = 0; n < MOST; n++) {
    int best = -1;
    int64_t most = 0;
    for (int k = 0; k < WK_CAUSE_COUNT; k++) {
      int64_t change = llabs(r->side[1].causes[k] - r->side[0].causes[k]);
      if (shown[k] || change <= most) continue;
      best = k, most = change;
    }
    if (best < 0) return;
    shown[best] = true;
    wk_str_printf(b, "%s%s %s", n ? ", " : "", wk_cause_infos[best].name,
                  change_text(r->side[1].causes[best] - r->side[0].causes[best]).s);
  }
}

static void add_row(wk_table *t, const wk_diff_row *r, const char *name, bool has_causes) {
  wk_str b = {0};
  wk_str_printf(&b, "%s\t%s\t%s\t%s\t%s", name, value_text(r, 0, WK_DIFF_cycles).s,
                value_text(r, 1, WK_DIFF_cycles).s, change_text(change_of(r, WK_DIFF_cycles)).s,
                percent_text(r).s);
  for (int v = WK_DIFF_cycles + 1; v < WK_DIFF_COUNT; v++)
    wk_str_printf(&b, "\t%s", change_text(change_of(r, v)).s);
  wk_str_add(&b, "\t");
  if (has_causes) add_causes(&b, r);
  wk_table_row(t, "%s", b.s);
  wk_str_free(&b);
}

static void add_heading(wk_table *t, const char *what, bool has_causes) {
  wk_str b = {0};
  wk_str_printf(&b, "%s\tcycles A\tB\tchange\t%%", what);
  for (int v = WK_DIFF_cycles + 1; v < WK_DIFF_COUNT; v++)
    wk_str_printf(&b, "\t%s", wk_diff_names[v]);
  wk_table_row(t, "\n%s%s", b.s, has_causes ? "\tcycles that went to" : "");
  wk_str_free(&b);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool has_changed(const wk_diff_row *r) {
  return r->side[0].is_there != r->side[1].is_there ||
         memcmp(r->side[0].values, r->side[1].values, sizeof r->side[0].values) != 0 ||
         memcmp(r->side[0].causes, r->side[1].causes, sizeof r->side[0].causes) != 0;
}

static int by_change(const void *a, const void *b) {
  const wk_diff_row *x = a, *y = b;
  for (int v = 0; v < WK_DIFF_COUNT; v++) {
    int64_t dx = llabs(change_of(x, v)), dy = llabs(change_of(y, v));
    if (dx != dy) return dx < dy ? 1 : -1;
  }
  int order = strcmp(x->part, y->part);
  return order ? order : strcmp(x->layer, y->layer);
}

static void print_parts(const wk_diff_runs *d) {
  wk_table t = {0};
  wk_diff_row all = {.part = "", .side = {{.is_there = true}, {.is_there = true}}};
  add_heading(&t, "part", d->has_causes);
  for (size_t i = 0; i < d->parts.n; i++) {
    const wk_diff_row *r = &d->parts.data[i];
    add_row(&t, r, *r->part ? wk_text_shown(d->arena, r->part) : "stream", d->has_causes);
    for (int side = 0; side < 2; side++) {
      for (int v = 0; v < WK_DIFF_COUNT; v++) all.side[side].values[v] += r->side[side].values[v];
      for (int k = 0; k < WK_CAUSE_COUNT; k++) all.side[side].causes[k] += r->side[side].causes[k];
    }
  }
  if (d->parts.n > 1) add_row(&t, &all, "all", d->has_causes);
  wk_table_print(stdout, &t, "lrrrrrrrl");
}

static void print_layers(const wk_diff_runs *d, int64_t most) {
  wk_table t = {0};
  size_t shown = 0, changed = 0, only[2] = {0};
  bool several = d->parts.n > 1;
  add_heading(&t, "layer", d->has_causes);
  for (size_t i = 0; i < d->layers.n; i++) {
    const wk_diff_row *r = &d->layers.data[i];
    if (!has_changed(r)) continue;
    changed++;
    for (int side = 0; side < 2; side++) only[side] += !r->side[!side].is_there;
    if (most && shown == (size_t)most) continue;
    shown++;
    const char *name = wk_text_shown(d->arena, r->layer);
    if (several)
      name = wk_arena_printf(d->arena, "%s: %s", wk_text_shown(d->arena, r->part), name);
    add_row(&t, r, name, d->has_causes);
  }
  if (shown) wk_table_print(stdout, &t, "lrrrrrrrl");
  else wk_str_free(&t.text);
  printf("\n%zu of %zu layers changed", changed, d->layers.n);
  if (only[0] || only[1]) printf("; %zu are only in A, %zu only in B", only[0], only[1]);
  printf("%s\n", shown < changed ? " (not all are shown)" : "");
}

static char *plain_text(const json_t *v) {
  if (json_is_string(v)) return wk_xstrdup(json_string_value(v));
  char *text = v ? json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)) : NULL;
  return text ? text : wk_xstrdup("-");
}

/* Keys that differ. */
static void print_machines(const wk_diff_runs *d) {
  wk_table t = {0};
  const char *key;
  json_t *v, *from = (json_t *)wk_diff_machine(d, 0);
  const json_t *to = wk_diff_machine(d, 1);
  bool any = false;
  json_object_foreach(from, key, v) {
    const json_t *w = json_object_get(to, key);
    if (json_equal(v, w)) continue;
    char *a = plain_text(v), *b = plain_text(w);
    if (!any) wk_table_row(&t, "\nmachine\tA\tB");
    any = true;
    wk_table_row(&t, "%s\t%s\t%s", key, a, b);
    free(a);
    free(b);
  }
  if (any) wk_table_print(stdout, &t, "lrr");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *side_json(const wk_diff_runs *d, const wk_diff_side *s) {
  json_t *o = s->is_there ? json_object() : json_null(), *causes = json_object();
  for (int v = 0; v < WK_DIFF_COUNT; v++)
    json_object_set_new(o, wk_diff_names[v], json_integer(s->values[v]));
  for (int k = 0; k < WK_CAUSE_COUNT; k++)
    json_object_set_new(causes, wk_cause_infos[k].name, json_integer(s->causes[k]));
  if (d->has_causes) json_object_set(o, "causes", causes);
  json_decref(causes);
  return o;
}

static json_t *rows_json(const wk_diff_runs *d, const wk_diff_row *rows, size_t n) {
  json_t *list = json_array();
  for (size_t i = 0; i < n; i++) {
    json_t *o = json_object();
    json_object_set_new(o, "part", json_string(rows[i].part));
    if (rows[i].layer) json_object_set_new(o, "layer", json_string(rows[i].layer));
    json_object_set_new(o, "a", side_json(d, &rows[i].side[0]));
    json_object_set_new(o, "b", side_json(d, &rows[i].side[1]));
    json_array_append_new(list, o);
  }
  return list;
}

static wk_status write_json(const wk_diff_runs *d, const char *path) {
  json_t *root = json_object();
  json_object_set_new(root, "wick", json_string("diff"));
  json_object_set_new(root, "version", json_integer(WK_SIM_JSON_VERSION));
  json_object_set_new(root, "parts", rows_json(d, d->parts.data, d->parts.n));
  json_object_set_new(root, "layers", rows_json(d, d->layers.data, d->layers.n));
  char *text = json_dumps(root, JSON_INDENT(1) | JSON_ENSURE_ASCII);
  json_decref(root);
  if (!text) return wk_error_at(WK_RESOURCE, path, "no room for the text");
  wk_status s = wk_write_file(path, text, strlen(text));
  free(text);
  return s;
}

/* ---- the command ----------------------------------------------------------------------------- */

static wk_status compare(const diff_opts *o, const char *const paths[2], wk_diff_runs *d) {
  WK_TRY(wk_diff_read(paths, d));
  if (d->layers.n) qsort(d->layers.data, d->layers.n, sizeof *d->layers.data, by_change);
  if (o->json) WK_TRY(write_json(d, o->json));
  if (o->json && !strcmp(o->json, "-")) return NULL;
  printf("A\t%s\nB\t%s\n", paths[0], paths[1]);
  print_machines(d);
  print_parts(d);
  if (d->layers.n) print_layers(d, o->most);
  return NULL;
}

static wk_status run(const void *options_, const wk_strings *args) {
  const diff_opts *o = options_;
  const char *const paths[2] = {args->data[0], args->data[1]};
  wk_paths used = {0};
  wk_diff_runs d;
  wk_paths_read(&used, "A", paths[0]);
  wk_paths_read(&used, "B", paths[1]);
  wk_paths_write(&used, "--json", o->json);
  WK_TRY(wk_paths_check(&used));
  wk_status s = compare(o, paths, &d);
  wk_diff_free(&d);
  return s;
}

const wk_cmd wk_cmd_diff = {
    .command = {.name = "diff", .synopsis = "A.json B.json",
                .summary = "compare two runs on the accelerator, layer by layer",
                .description =
                    "Both files are of 'wick sim --json': other compilations of a model, other "
                    "machines, other versions of the compiler. Layers are matched by the names of "
                    "part and layer; those that changed most come first. Columns without a letter "
                    "are B - A. Where both runs were made with --causes, what the cycles went to "
                    "is compared, too.\n"
                    "\n"
                    "  wick sim before.wick --model timing --causes --json before.json\n"
                    "  wick sim after.wick --model timing --causes --json after.json\n"
                    "  wick diff before.json after.json",
                .options = options, .min_args = 2, .max_args = 2},
    .size = sizeof(diff_opts), .defaults = &defaults, .run = run};
