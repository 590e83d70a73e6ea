/* SPDX-License-Identifier: Apache-2.0
 * Calibration files. A sample is one tensor for every input of the model:
 *   FILE, NAME=FILE       for the only input, or the one named
 *   DIR/NAME.npy          each is a sample of the only input; of several inputs, NAME is the
 *                         input, as it is or as `wick run` would call its file, or
 *                         NAME.SUFFIX.npy for as many samples as there are suffixes
 *   DIR/input_K.pb        for input K; with one input each is a sample
 *   DIR/<folder>/…        each folder is a sample: the layout of the ONNX tests */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/calibrate/quantize.h"

typedef WK_VEC(const char *) text_list;

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), k = strlen(end);
  return n > k && !strcmp(s + n - k, end);
}

static wk_status list_folder(wk_calibration *c, const char *dir, text_list *out) {
  DIR *f = opendir(dir);
  if (!f) return wk_error_at(WK_IO, dir, "cannot read the folder: %s", strerror(errno));
  for (const struct dirent *e; (e = readdir(f));)
    if (e->d_name[0] != '.') wk_vec_push(out, wk_arena_strdup(c->arena, e->d_name));
  closedir(f);
  if (out->n) qsort(out->data, out->n, sizeof *out->data, by_text);
  return NULL;
}

static bool is_folder(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- which input ----------------------------------------------------------------------------- */

/* The K-th input without a default; -1 when there are fewer. */
static int free_input(const wk_calibration *c, long k) {
  for (size_t i = 0; i < c->info.inputs.n; i++)
    if (!c->info.inputs.data[i].has_default && k-- == 0) return (int)i;
  return -1;
}

static int free_inputs(const wk_calibration *c) {
  int n = 0;
  for (size_t i = 0; i < c->info.inputs.n; i++) n += !c->info.inputs.data[i].has_default;
  return n;
}

static bool is_name(const char *name, const char *s, size_t n) {
  return strlen(name) == n && !strncmp(name, s, n);
}

static int named_input(const wk_calibration *c, const char *name, size_t n) {
  for (size_t i = 0; i < c->info.inputs.n; i++)
    if (is_name(c->info.inputs.data[i].name, name, n)) return (int)i;
  return -1;
}

/* The input's name, or what wk_text_file_name makes of it. */
static int filed_input(wk_calibration *c, const char *name, size_t n) {
  int found = named_input(c, name, n);
  for (size_t i = 0; i < c->info.inputs.n && found < 0; i++)
    if (is_name(wk_text_file_name(c->arena, c->info.inputs.data[i].name), name, n)) found = (int)i;
  return found;
}

/* By "NAME.npy", "NAME.SUFFIX.npy" or "input_K.pb"; *suffix is what tells samples apart. */
static int input_by_file(wk_calibration *c, const char *name, const char **suffix) {
  size_t n = strlen(name) - strlen(strrchr(name, '.'));
  *suffix = "";
  int found = filed_input(c, name, n);
  for (size_t i = n; i-- > 0 && found < 0;) {
    if (name[i] != '.') continue;
    found = filed_input(c, name, i);
    *suffix = wk_arena_strndup(c->arena, name + i + 1, n - i - 1);
  }
  if (found >= 0) return found;
  *suffix = "";
  return strncmp(name, "input_", 6) ? -1 : free_input(c, strtol(name + 6, NULL, 10));
}

/* ---- reading --------------------------------------------------------------------------------- */

static wk_status read_file(wk_calibration *c, const char *path, int input, const char *group) {
  wk_calibration_file f = {.path = wk_arena_strdup(c->arena, path), .input = input,
                           .group = wk_arena_strdup(c->arena, group)};
  char *name = NULL;
  WK_TRY(wk_tensor_read(path, &f.t, &name));
  if (input < 0) f.input = named_input(c, name ? name : "", strlen(name ? name : ""));
  free(name);
  wk_vec_push(&c->files, f); /* before the check, so that the tensor is freed */
  if (f.input < 0)
    return wk_error_at(WK_INPUT, f.path,
                       "which of the model's %d inputs it is for is not clear: give NAME=FILE",
                       free_inputs(c));
  return NULL;
}

static wk_status read_in_folder(wk_calibration *c, const char *dir, const char *name,
                                bool is_sample) {
  const char *path = wk_arena_printf(c->arena, "%s/%s", dir, name), *suffix = "";
  bool npy = ends_with(name, ".npy"), pb = ends_with(name, ".pb") && !strncmp(name, "input_", 6);
  if (!npy && !pb) return NULL;
  int input = input_by_file(c, name, &suffix);
  if (input < 0 && free_inputs(c) == 1) input = free_input(c, 0);
  if (!is_sample && free_inputs(c) == 1) return read_file(c, path, free_input(c, 0), path);
  return read_file(c, path, input, wk_arena_printf(c->arena, "%s%s%s", dir, *suffix ? "/" : "",
                                                   suffix));
}

static wk_status read_folder(wk_calibration *c, const char *dir) {
  text_list names = {0}, inner = {0};
  size_t before = c->files.n;
  wk_status s = list_folder(c, dir, &names);
  for (size_t i = 0; i < names.n && !s; i++) {
    const char *sub = wk_arena_printf(c->arena, "%s/%s", dir, names.data[i]);
    if (!is_folder(sub)) {
      s = read_in_folder(c, dir, names.data[i], false);
      continue;
    }
    inner.n = 0;
    s = list_folder(c, sub, &inner);
    for (size_t k = 0; k < inner.n && !s; k++) s = read_in_folder(c, sub, inner.data[k], true);
  }
  wk_vec_free(&names);
  wk_vec_free(&inner);
  if (!s && c->files.n == before)
    s = wk_error_at(WK_INPUT, dir, "this calibration folder has no .npy and no input_K.pb file");
  return s;
}

static wk_status read_path(wk_calibration *c, const char *arg) {
  const char *path = arg;
  int input = -1;
  struct stat st;
  for (const char *eq = strchr(arg, '='); eq && input < 0; eq = strchr(eq + 1, '=')) {
    input = named_input(c, arg, (size_t)(eq - arg));
    if (input >= 0) path = eq + 1;
  }
  if (stat(path, &st) != 0)
    return wk_error_at(WK_IO, path, "cannot read the calibration data: %s", strerror(errno));
  if (S_ISDIR(st.st_mode)) return read_folder(c, path);
  const char *group = path;
  if (input >= 0 && free_inputs(c) > 1) { /* the n-th file of each input makes sample n */
    int n = 0;
    for (size_t i = 0; i < c->files.n; i++) n += c->files.data[i].input == input;
    group = wk_arena_printf(c->arena, "calibration sample %d", n + 1);
  }
  if (input < 0 && free_inputs(c) == 1) input = free_input(c, 0);
  return read_file(c, path, input, group);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static wk_calibration_group *group_of(wk_calibration *c, const char *name) {
  for (size_t i = c->groups.n; i-- > 0;)
    if (!strcmp(c->groups.data[i].place, name)) return &c->groups.data[i];
  size_t n = c->info.inputs.n + 1;
  wk_calibration_group g = {.place = name, .in = wk_arena_alloc(c->arena, n * sizeof *g.in),
                            .path = wk_arena_alloc(c->arena, n * sizeof *g.path)};
  wk_vec_push(&c->groups, g);
  return &c->groups.data[c->groups.n - 1];
}

static wk_status make_groups(wk_calibration *c) {
  for (size_t i = 0; i < c->files.n; i++) {
    const wk_calibration_file *f = &c->files.data[i];
    wk_calibration_group *g = group_of(c, f->group);
    if (g->path[f->input])
      return wk_error_at(WK_INPUT, f->path, "a second file for input '%s', which already has %s",
                         c->info.inputs.data[f->input].name, g->path[f->input]);
    g->in[f->input] = f->t;
    g->path[f->input] = f->path;
  }
  for (size_t i = 0; i < c->groups.n; i++)
    for (size_t k = 0; k < c->info.inputs.n; k++)
      if (!c->info.inputs.data[k].has_default && !c->groups.data[i].path[k])
        return wk_error_at(WK_INPUT, c->groups.data[i].place, "no file for input '%s'",
                           c->info.inputs.data[k].name);
  return NULL;
}

wk_status wk_calibration_read(const char *model, const wk_import_options *o,
                              const wk_strings *paths, wk_calibration *out) {
  *out = (wk_calibration){.arena = wk_arena_new()};
  WK_TRY(wk_net_inspect(model, o, &out->info));
  for (size_t i = 0; i < paths->n; i++) WK_TRY(read_path(out, paths->data[i]));
  return make_groups(out);
}

void wk_calibration_free(wk_calibration *c) {
  for (size_t i = 0; i < c->files.n; i++) wk_tensor_free(&c->files.data[i].t);
  wk_vec_free(&c->files);
  wk_vec_free(&c->groups);
  wk_onnx_info_free(&c->info);
  wk_arena_free(c->arena);
  *c = (wk_calibration){0};
}
