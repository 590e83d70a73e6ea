/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run.h"
#include "cli/text.h"

wk_status wk_run_folder_open(const char *path, wk_arena *a, wk_run_folder *out) {
  struct stat st;
  *out = (wk_run_folder){.path = path, .arena = a};
  out->is_new = mkdir(path, 0777) == 0;
  int error = errno;
  bool exists = stat(path, &st) == 0;
  if (out->is_new || (exists && S_ISDIR(st.st_mode))) {
    out->count = wk_map_new();
    return NULL;
  }
  if (exists) return wk_error_at(WK_IO, path, "is not a folder");
  return wk_error_at(WK_IO, path, "cannot create the folder: %s", strerror(error));
}

char *wk_run_folder_file(wk_arena *a, const char *folder, const char *name, uint32_t part) {
  const char *file = wk_text_file_name(a, name);
  return part ? wk_arena_printf(a, "%s/%s~%u.npy", folder, file, part)
              : wk_arena_printf(a, "%s/%s.npy", folder, file);
}

static wk_status write_file(wk_run_folder *f, const char *name, uint32_t part,
                            const wk_tensor *t) {
  const char *path = wk_run_folder_file(f->arena, f->path, name, part);
  WK_TRY(wk_tensor_write_npy(path, t));
  wk_vec_push(&f->files, path);
  return NULL;
}

wk_status wk_run_folder_write(wk_run_folder *f, const char *name, const wk_tensor *t) {
  const char *file = wk_text_file_name(f->arena, name);
  if (wk_map_get(f->count, file, &(uint32_t){0})) return NULL;
  wk_map_put(f->count, file, 1);
  return write_file(f, name, 0, t);
}

wk_status wk_run_folder_write_part(wk_run_folder *f, const char *name, const wk_tensor *t) {
  const char *base = wk_arena_printf(f->arena, "%s~", wk_text_file_name(f->arena, name));
  uint32_t n = 0;
  wk_map_get(f->count, base, &n);
  wk_map_put(f->count, base, n + 1);
  return write_file(f, name, n + 1, t);
}

wk_status wk_run_folder_close(wk_run_folder *f, wk_status s) {
  if (s && f->is_new) {
    for (size_t i = 0; i < f->files.n; i++) unlink(f->files.data[i]);
    rmdir(f->path);
  }
  wk_vec_free(&f->files);
  wk_map_free(f->count);
  return s;
}
