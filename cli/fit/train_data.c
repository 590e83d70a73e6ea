/* SPDX-License-Identifier: Apache-2.0
 * Samples from files: .npy is mapped; sets of the ONNX tests are put one behind the other. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/fit/train.h"
#include "cli/test_data.h"

/* ---- columns --------------------------------------------------------------------------------- */

static wk_column *column_of(wk_train_data *d, const char *name) {
  for (size_t i = 0; i < d->columns.n; i++)
    if (!strcmp(d->columns.data[i].name, name)) return &d->columns.data[i];
  return NULL;
}

static bool is_fixed(const wk_binding_set *b, const char *name) {
  for (size_t i = 0; i < b->values.n; i++)
    if (!strcmp(b->values.data[i].input, name)) return true;
  return false;
}

/* Empty columns, for what the model wants to be given. */
static wk_status start(wk_train_data *d, const wk_binding_set *b) {
  for (size_t i = 0; i < d->info.inputs.n; i++) {
    const wk_onnx_io *io = &d->info.inputs.data[i];
    if (io->has_default || is_fixed(b, io->name)) continue;
    if (io->is_sequence || io->is_optional)
      return wk_error(WK_UNSUPPORTED, "the input %s is a list of tensors, of which there are no "
                      "samples", io->name);
    const wk_column c = {.name = io->name};
    wk_vec_push(&d->columns, c);
  }
  return NULL;
}

/* The end of the name in "NAME=FILE" where NAME is an input; NULL: the whole is a path. */
static const char *name_end(wk_train_data *d, const char *arg) {
  for (const char *eq = strchr(arg, '='); eq; eq = strchr(eq + 1, '='))
    if (column_of(d, wk_arena_strndup(d->arena, arg, (size_t)(eq - arg)))) return eq;
  return NULL;
}

static wk_status no_such_input(wk_train_data *d, const char *arg) {
  WK_VEC(const char *) names = {0};
  char *typed = wk_arena_strndup(d->arena, arg, strcspn(arg, "="));
  for (size_t i = 0; i < d->info.inputs.n; i++)
    if (!strcmp(d->info.inputs.data[i].name, typed))
      return wk_error(WK_USAGE, "--data %s: the input '%s' takes no samples, it has a value", arg,
                      typed);
  for (size_t i = 0; i < d->columns.n; i++) wk_vec_push(&names, d->columns.data[i].name);
  const char *near = wk_nearest(typed, names.data, names.n);
  wk_vec_free(&names);
  return wk_error(WK_USAGE, "--data %s: there is no input '%s'%s%s%s", arg, typed,
                  near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static wk_status read_npy(wk_train_data *d, const char *path, wk_column *c) {
  wk_file file = {0};
  WK_TRY(wk_tensor_map_npy(path, &file, &c->t));
  if (file.data) wk_vec_push(&d->files, file);
  else wk_vec_push(&d->blobs, c->t.data);
  c->path = path;
  if (c->name) wk_vec_push(&d->paths, path);
  if (c->t.type.rank > 0) return NULL;
  return wk_error_at(WK_INPUT, path, "is a single number, samples lie along axis 0");
}

/* For the input that it names, otherwise for the first without a file. */
static wk_status read_file(wk_train_data *d, const char *arg) {
  const char *eq = name_end(d, arg);
  wk_column *c = NULL;
  if (eq) {
    c = column_of(d, wk_arena_strndup(d->arena, arg, (size_t)(eq - arg)));
    if (c->t.data) return wk_error(WK_USAGE, "--data: two files for the input %s", c->name);
    if (!eq[1]) return wk_error(WK_USAGE, "--data %s: the file name is empty", arg);
    return read_npy(d, eq + 1, c);
  }
  if (!*arg) return wk_error(WK_USAGE, "--data: the file name is empty");
  for (size_t i = 0; i < d->columns.n && !c; i++)
    if (!d->columns.data[i].t.data) c = &d->columns.data[i];
  if (!c && strchr(arg, '=')) return no_such_input(d, arg);
  if (!d->columns.n) return wk_error(WK_USAGE, "--data %s: the model has no input that takes "
                                     "samples", arg);
  if (!c) return wk_error(WK_USAGE, "--data %s: every input already has a file", arg);
  wk_status s = read_npy(d, arg, c);
  if (!s || !strchr(arg, '=')) return s;
  wk_status_free(s);
  return no_such_input(d, arg);
}

/* ---- folders --------------------------------------------------------------------------------- */

/* The tensor of input (or output) `target` in each of the sets. */
static const wk_test_tensor *find(const wk_test_set *s, bool is_input, int target) {
  const wk_test_tensor *t = is_input ? s->in.data : s->out.data;
  for (size_t i = 0, n = is_input ? s->in.n : s->out.n; i < n; i++)
    if (t[i].target == target && t[i].element < 0) return &t[i];
  return NULL;
}

static bool same_past_batch(const wk_type *a, const wk_type *b) {
  bool same = a->rank == b->rank && a->dtype == b->dtype && a->rank > 0;
  for (int i = 1; same && i < a->rank; i++) same = a->dims[i] == b->dims[i];
  return same;
}

/* All sets one behind the other; nothing when the first has no such tensor. */
static wk_status join(wk_train_data *d, const wk_test_data *sets, bool is_input, int target,
                      const char *dir, wk_column *c) {
  const wk_test_tensor *first = find(&sets->sets.data[0], is_input, target);
  if (!first) return NULL;
  wk_type all = first->t.type;
  for (size_t i = 1; i < sets->sets.n; i++) {
    const wk_test_tensor *t = find(&sets->sets.data[i], is_input, target);
    if (!t || !same_past_batch(&t->t.type, &all))
      return wk_error_at(WK_INPUT, dir, "%s: %s_%lld.pb does not fit that of %s",
                         sets->sets.data[i].name, is_input ? "input" : "output",
                         (long long)first->number, sets->sets.data[0].name);
    if (!wk_add_ok(all.dims[0], t->t.type.dims[0], &all.dims[0]))
      return wk_error_at(WK_INPUT, dir, "holds too many samples");
  }
  if (all.rank < 1) return wk_error_at(WK_INPUT, dir, "a single number has no samples");
  WK_TRY(wk_type_check(&all));
  WK_TRY(wk_tensor_alloc(&all, &c->t));
  wk_vec_push(&d->blobs, c->t.data);
  c->path = dir;
  size_t at = 0;
  for (size_t i = 0; i < sets->sets.n; i++) {
    const wk_tensor *t = &find(&sets->sets.data[i], is_input, target)->t;
    size_t bytes = (size_t)wk_type_bytes(&t->type);
    if (bytes) memcpy((uint8_t *)c->t.data + at, t->data, bytes);
    at += bytes;
  }
  return NULL;
}

static void add_paths(wk_train_data *d, const wk_test_tensor *t, size_t n) {
  for (size_t i = 0; i < n; i++) wk_vec_push(&d->paths, wk_arena_strdup(d->arena, t[i].path));
}

static wk_status join_all(wk_train_data *d, const wk_test_data *sets, const char *dir) {
  d->folder = dir;
  if (!sets->sets.n) return wk_error_at(WK_INPUT, dir, "holds no folder test_data_set_K");
  for (size_t i = 0; i < sets->sets.n; i++) {
    add_paths(d, sets->sets.data[i].in.data, sets->sets.data[i].in.n);
    add_paths(d, sets->sets.data[i].out.data, sets->sets.data[i].out.n);
  }
  for (size_t i = 0; i < d->columns.n; i++) {
    int target = 0;
    while (strcmp(sets->info.inputs.data[target].name, d->columns.data[i].name)) target++;
    if (d->columns.data[i].t.data)
      return wk_error_at(WK_USAGE, dir, "the input %s already has a file", d->columns.data[i].name);
    WK_TRY(join(d, sets, true, target, dir, &d->columns.data[i]));
  }
  return d->labels.t.data ? NULL : join(d, sets, false, 0, dir, &d->labels);
}

static wk_status read_folder(wk_train_data *d, const char *dir, const char *model,
                             const wk_import_options *files) {
  wk_test_data sets;
  wk_status s = wk_test_data_read(dir, model, files, &sets);
  if (!s) s = join_all(d, &sets, dir);
  wk_test_data_free(&sets);
  return s;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool is_folder(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static wk_status count(wk_train_data *d) {
  const wk_column *first = NULL;
  for (size_t i = 0; i <= d->columns.n; i++) {
    const wk_column *c = i < d->columns.n ? &d->columns.data[i] : &d->labels;
    if (!c->t.data && i < d->columns.n)
      return wk_error(WK_USAGE, "no samples for the input %s%s%s: give --data %s=FILE.npy", c->name,
                      d->folder ? ", nor in " : "", d->folder ? d->folder : "", c->name);
    if (!c->t.data) continue;
    int64_t n = c->t.type.dims[0];
    if (first && n != d->n)
      return wk_error_at(WK_INPUT, c->path, "has %lld samples, %s has %lld", (long long)n,
                         first->path, (long long)d->n);
    if (!first) first = c;
    d->n = n;
  }
  if (!d->n) return wk_error_at(WK_INPUT, first ? first->path : "--data", "holds no samples");
  return NULL;
}

wk_status wk_train_data_read(const char *model, const wk_import_options *files,
                             const wk_binding_set *binding, const wk_strings *data,
                             const char *labels, wk_train_data *out) {
  *out = (wk_train_data){.arena = wk_arena_new()};
  WK_TRY(wk_net_inspect(model, files, &out->info));
  WK_TRY(start(out, binding));
  if (labels) WK_TRY(read_npy(out, labels, &out->labels));
  for (size_t i = 0; i < data->n; i++)
    WK_TRY(is_folder(data->data[i]) ? read_folder(out, data->data[i], model, files)
                                    : read_file(out, data->data[i]));
  return count(out);
}

void wk_train_data_free(wk_train_data *d) {
  for (size_t i = 0; i < d->files.n; i++) wk_file_unmap(&d->files.data[i]);
  for (size_t i = 0; i < d->blobs.n; i++) free(d->blobs.data[i]);
  wk_vec_free(&d->files);
  wk_vec_free(&d->blobs);
  wk_vec_free(&d->paths);
  wk_vec_free(&d->columns);
  wk_onnx_info_free(&d->info);
  wk_arena_free(d->arena);
}
