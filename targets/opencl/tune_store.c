/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "targets/opencl/tune.h"

struct wk_cl_tiles {
  char device[512]; /* what the measurements hold for */
  char path[1200];  /* "": there is no folder */
  json_t *known;    /* object: key to [rows, vectors, microseconds], with a split behind them */
  bool is_changed;
};

static json_t *read_known(const wk_cl_tiles *t) {
  json_error_t error;
  json_t *file = *t->path ? json_load_file(t->path, 0, &error) : NULL;
  const char *device = json_string_value(json_object_get(file, "device"));
  json_t *tiles = json_object_get(file, "tiles"), *known = NULL;
  if (device && !strcmp(device, t->device) && json_is_object(tiles)) known = json_incref(tiles);
  json_decref(file);
  return known ? known : json_object();
}

wk_cl_tiles *wk_cl_tiles_open(const wk_opencl *d) {
  wk_cl_tiles *t = wk_xcalloc(1, sizeof *t);
  char folder[1024];
  snprintf(t->device, sizeof t->device, "%s, %s, %s, %s", d->info.platform, d->info.name,
           d->info.version, d->info.driver);
  if (wick_opencl_cache_folder(folder, sizeof folder))
    snprintf(t->path, sizeof t->path, "%s/tiles-%016llx.json", folder,
             (unsigned long long)wk_hash64(t->device, strlen(t->device), 0));
  t->known = read_known(t);
  return t;
}

bool wk_cl_tiles_get(const wk_cl_tiles *t, const char *key, wk_cl_tile_size *size) {
  const json_t *row = json_object_get(t->known, key);
  const json_t *rows = json_array_get(row, 0), *vectors = json_array_get(row, 1);
  const json_t *split = json_array_get(row, 3);
  if (!json_is_integer(rows) || !json_is_integer(vectors)) return false;
  *size = (wk_cl_tile_size){(int)json_integer_value(rows), (int)json_integer_value(vectors),
                            json_is_integer(split) ? (int)json_integer_value(split) : 1};
  return true;
}

void wk_cl_tiles_put(wk_cl_tiles *t, const char *key, wk_cl_tile_size size, double microseconds) {
  json_t *row = json_pack("[iif]", size.rows, size.vectors, microseconds);
  if (size.split > 1) json_array_append_new(row, json_integer(size.split));
  json_object_set_new(t->known, key, row);
  t->is_changed = true;
}

/* The cache is a help: what cannot be written is measured again. */
static void write_known(wk_cl_tiles *t) {
  wk_out *out;
  json_t *others = read_known(t);
  json_object_update(others, t->known);
  json_t *file = json_pack("{ssso}", "device", t->device, "tiles", others);
  char *text = json_dumps(file, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
  wk_status s = wk_out_open(t->path, &out);
  if (!s) {
    wk_out_write(out, text, strlen(text));
    s = wk_out_commit(out);
  }
  wk_status_free(s);
  free(text);
  json_decref(file);
}

void wk_cl_tiles_close(wk_cl_tiles *t) {
  if (!t) return;
  if (t->is_changed && *t->path) write_known(t);
  json_decref(t->known);
  free(t);
}
