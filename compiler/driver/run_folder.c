/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/driver/run.h"

wk_status wk_run_folder_open(const char *path, wk_arena *a, wk_run_folder *out) {
  struct stat st;
  *out = (wk_run_folder){.path = path, .arena = a};
  out->is_new = mkdir(path, 0777) == 0;
  int error = errno;
  if (out->is_new || (stat(path, &st) == 0 && S_ISDIR(st.st_mode))) return NULL;
  return wk_error_at(WK_IO, path, "cannot make the folder: %s", strerror(error));
}

wk_status wk_run_folder_write(wk_run_folder *f, const char *file, const wk_tensor *t) {
  const char *path = wk_arena_printf(f->arena, "%s/%s.npy", f->path, file);
  WK_TRY(wk_tensor_write_npy(path, t));
  wk_vec_push(&f->files, path);
  return NULL;
}

wk_status wk_run_folder_close(wk_run_folder *f, wk_status s) {
  if (s && f->is_new) {
    for (size_t i = 0; i < f->files.n; i++) unlink(f->files.data[i]);
    rmdir(f->path);
  }
  wk_vec_free(&f->files);
  return s;
}
