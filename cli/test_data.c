/* SPDX-License-Identifier: Apache-2.0
 * Folders in the layout of the ONNX tests: model.onnx and test_data_set_N/{input,output}_K.pb. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/test_data.h"

/* "input_12.pb" with prefix "input_" and suffix ".pb" is 12; -1 when it is no such name. */
static int64_t numbered(const char *name, const char *prefix, const char *suffix) {
  size_t n = strlen(prefix);
  if (strncmp(name, prefix, n) != 0) return -1;
  char *end;
  if (name[n] < '0' || name[n] > '9') return -1;
  long v = strtol(name + n, &end, 10);
  return strcmp(end, suffix) == 0 && v < 1000000 ? v : -1;
}

static int by_number(const void *a, const void *b) {
  const wk_test_tensor *x = a, *y = b;
  if (x->number != y->number) return x->number > y->number ? 1 : -1;
  return (x->element > y->element) - (x->element < y->element);
}

static int by_name(const void *a, const void *b) {
  const wk_test_set *x = a, *y = b;
  int64_t i = numbered(x->name, "test_data_set_", ""), k = numbered(y->name, "test_data_set_", "");
  return (i > k) - (i < k);
}

static wk_test_tensor read_tensor(wk_test_data *d, const char *path, int64_t number) {
  wk_test_tensor t = {.number = number, .path = path, .target = -1, .element = -1};
  char *name = NULL;
  t.error = wk_tensor_read_pb(path, &t.t, &name);
  t.name = wk_arena_strdup(d->arena, name ? name : "");
  free(name);
  return t;
}

/* The tensors of a file for a sequence or optional, by the place of its number alone. */
static wk_status read_list(wk_test_data *d, const char *path, int64_t number, int target,
                           wk_test_set *set, bool is_input) {
  const wk_onnx_io *io = &(is_input ? d->info.inputs : d->info.outputs).data[target];
  wk_tensor_list list;
  WK_TRY(wk_tensor_list_read_pb(path, io, &list));
  const wk_test_length length = {.target = target, .n = list.n};
  if (is_input) wk_vec_push(&set->in_lengths, length);
  else wk_vec_push(&set->out_lengths, length);
  for (int64_t k = 0; k < list.n; k++) {
    wk_test_tensor t = {.number = number, .t = list.items[k], .target = target,
                        .element = io->is_sequence ? k : -1, .name = io->name};
    if (io->is_sequence)
      t.part = wk_arena_printf(d->arena, "%s[%lld]", io->name, (long long)k);
    if (is_input) wk_vec_push(&set->in, t);
    else wk_vec_push(&set->out, t);
  }
  free(list.items); /* the tensors are the set's */
  return NULL;
}

static wk_status open_dir(const char *path, DIR **out) {
  *out = opendir(path);
  if (*out) return NULL;
  return wk_error_at(WK_IO, path, "cannot read the folder: %s", strerror(errno));
}

/* The K-th input or output of those without a default; -1: there are not so many. */
static int by_place(const wk_onnx_io *io, size_t n, int64_t number) {
  int64_t k = 0;
  for (size_t i = 0; i < n; i++)
    if (!io[i].has_default && k++ == number) return (int)i;
  return -1;
}

static wk_status read_file(wk_test_data *d, const char *path, int64_t number, bool is_input,
                           wk_test_set *set) {
  const wk_onnx_io *io = is_input ? d->info.inputs.data : d->info.outputs.data;
  int target = by_place(io, is_input ? d->info.inputs.n : d->info.outputs.n, number);
  if (target >= 0 && (io[target].is_sequence || io[target].is_optional))
    return read_list(d, path, number, target, set, is_input);
  wk_test_tensor t = read_tensor(d, path, number);
  if (is_input) wk_vec_push(&set->in, t);
  else wk_vec_push(&set->out, t);
  return NULL;
}

static wk_status read_set(wk_test_data *d, const char *dir, const char *name) {
  DIR *f;
  const char *path = wk_arena_printf(d->arena, "%s/%s", dir, name);
  wk_test_set set = {.name = wk_arena_strdup(d->arena, name)};
  wk_status s = NULL;
  WK_TRY(open_dir(path, &f));
  for (const struct dirent *e; !s && (e = readdir(f));) {
    int64_t in = numbered(e->d_name, "input_", ".pb"), out = numbered(e->d_name, "output_", ".pb");
    if (in < 0 && out < 0) continue;
    const char *file = wk_arena_printf(d->arena, "%s/%s", path, e->d_name);
    s = read_file(d, file, in >= 0 ? in : out, in >= 0, &set);
  }
  closedir(f);
  if (set.in.n) qsort(set.in.data, set.in.n, sizeof *set.in.data, by_number);
  if (set.out.n) qsort(set.out.data, set.out.n, sizeof *set.out.data, by_number);
  wk_vec_push(&d->sets, set);
  return s;
}

static wk_status read_sets(wk_test_data *d, const char *dir) {
  DIR *f;
  WK_VEC(const char *) names = {0};
  WK_TRY(open_dir(dir, &f));
  for (const struct dirent *e; (e = readdir(f));)
    if (numbered(e->d_name, "test_data_set_", "") >= 0)
      wk_vec_push(&names, wk_arena_strdup(d->arena, e->d_name));
  closedir(f);
  wk_status s = NULL;
  for (size_t i = 0; !s && i < names.n; i++) s = read_set(d, dir, names.data[i]);
  wk_vec_free(&names);
  if (d->sets.n) qsort(d->sets.data, d->sets.n, sizeof *d->sets.data, by_name);
  return s;
}

/* ---- matching -------------------------------------------------------------------------------- */

/* By name, else by place. */
static int find_io(const wk_onnx_io *io, size_t n, const wk_test_tensor *t) {
  for (size_t i = 0; i < n && *t->name; i++)
    if (!strcmp(io[i].name, t->name)) return (int)i;
  return by_place(io, n, t->number);
}

static bool adopt_bits(const wk_onnx_io *io, wk_tensor *t) { return wk_tensor_adopt(t, io->dtype); }

static bool shape_fits(const wk_onnx_io *io, const wk_type *t) {
  bool fits = io->rank < 0 || io->rank == t->rank;
  for (int i = 0; fits && i < io->rank; i++) fits = io->dims[i] < 0 || io->dims[i] == t->dims[i];
  return fits;
}

/* Some published sets were made by a program that knew no bf16: it wrote bits, and shapes that are
 * not the model's. Nothing can be learnt from these. */
static wk_status check_inputs(wk_test_data *d, const wk_test_set *set) {
  for (size_t k = 0; k < set->in.n; k++) {
    const wk_test_tensor *t = &set->in.data[k];
    const wk_onnx_io *io = &d->info.inputs.data[t->target];
    if (t->error || io->dtype == WK_DTYPE_NONE) continue;
    bool right = io->dtype == t->t.type.dtype, fits = shape_fits(io, &t->t.type);
    if (right && fits) continue;
    if (right && set->has_bits)
      return wk_error_at(WK_UNSUPPORTED, set->name,
                         "bf16 stored as u16, with other shapes than the model's");
    return wk_error_at(WK_INPUT, set->name, "input_%lld.pb is %s, the model declares %s %s",
                       (long long)t->number, wk_type_text(d->arena, &t->t.type), io->name,
                       wk_onnx_io_text(d->arena, io));
  }
  return NULL;
}

static wk_status match(const wk_onnx_io *io, size_t n, wk_test_tensor *ts, size_t count,
                       const char *kind, const char *set, bool *has_bits) {
  bool *taken = wk_xcalloc(n, sizeof *taken);
  wk_status s = NULL;
  for (size_t k = 0; !s && k < count; k++) {
    wk_test_tensor *t = &ts[k];
    if (t->target < 0) t->target = find_io(io, n, t);
    bool is_next = t->element > 0; /* of the same file */
    if (t->target < 0)
      s = wk_error_at(WK_INPUT, set, "%s_%lld.pb belongs to none of the model's %ss", kind,
                      (long long)t->number, kind);
    else if (taken[t->target] && !is_next)
      s = wk_error_at(WK_INPUT, set, "two files for %s '%s'", kind, io[t->target].name);
    else if (t->error && io[t->target].dtype != WK_DTYPE_NONE)
      s = wk_error_at(t->error->code, set, "%s_%lld.pb: %s", kind, (long long)t->number,
                      t->error->message);
    if (!s) taken[t->target] = true;
    if (s || t->error || io[t->target].dtype == WK_DTYPE_NONE) continue;
    *has_bits = adopt_bits(&io[t->target], &t->t) || *has_bits;
  }
  free(taken);
  return s;
}

static wk_status match_all(wk_test_data *d) {
  for (size_t i = 0; i < d->sets.n; i++) {
    wk_test_set *s = &d->sets.data[i];
    WK_TRY(match(d->info.inputs.data, d->info.inputs.n, s->in.data, s->in.n, "input", s->name,
                 &s->has_bits));
    WK_TRY(check_inputs(d, s));
    WK_TRY(match(d->info.outputs.data, d->info.outputs.n, s->out.data, s->out.n, "output", s->name,
                 &s->has_bits));
  }
  return NULL;
}

wk_status wk_test_data_read(const char *dir, const char *model, const wk_import_options *files,
                            wk_test_data *out) {
  *out = (wk_test_data){.arena = wk_arena_new()};
  WK_TRY(wk_net_inspect(model, files, &out->info));
  WK_TRY(read_sets(out, dir));
  return match_all(out);
}

static void free_tensors(wk_test_tensor *t, size_t n) {
  for (size_t i = 0; i < n; i++) {
    wk_tensor_free(&t[i].t);
    wk_status_free(t[i].error);
  }
}

void wk_test_data_free(wk_test_data *d) {
  for (size_t i = 0; i < d->sets.n; i++) {
    wk_test_set *s = &d->sets.data[i];
    free_tensors(s->in.data, s->in.n);
    free_tensors(s->out.data, s->out.n);
    wk_vec_free(&s->in);
    wk_vec_free(&s->out);
    wk_vec_free(&s->in_lengths);
    wk_vec_free(&s->out_lengths);
  }
  wk_vec_free(&d->sets);
  wk_onnx_info_free(&d->info);
  wk_arena_free(d->arena);
}
