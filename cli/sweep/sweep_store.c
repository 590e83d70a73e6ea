/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/sweep/sweep.h"

static const char *in_dir(const wk_sweep *s, const char *name) {
  return wk_arena_printf(s->arena, "%s/%s", s->dir, name);
}

static const char *row_file(const wk_sweep *s, const wk_sweep_point *p) {
  return wk_arena_printf(s->arena, "%s/store/%s.json", s->dir, p->key);
}

static wk_status make_folder(const char *path) {
  struct stat st;
  if (mkdir(path, 0777) == 0) return NULL;
  int error = errno;
  if (error == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return NULL;
  return wk_error_at(WK_IO, path, "cannot make the folder: %s", strerror(error));
}

/* ---- machines -------------------------------------------------------------------------------- */

const char *wk_sweep_machine_file(const wk_sweep *s, const wk_sweep_point *p) {
  wk_str text = {0};
  wk_machine_text(&text, &p->machine);
  const char *file = wk_arena_printf(s->arena, "%s/machines/%016" PRIx64 ".cfg", s->dir,
                                     wk_hash64(text.s, text.n, 0));
  wk_str_free(&text);
  return file;
}

static wk_status put_machine(const wk_sweep *s, const wk_sweep_point *p) {
  const char *file = wk_sweep_machine_file(s, p);
  if (access(file, F_OK) == 0) return NULL;
  wk_str text = {0};
  wk_machine_text(&text, &p->machine);
  wk_status status = wk_write_file(file, text.s, text.n);
  wk_str_free(&text);
  return status;
}

wk_status wk_sweep_prepare(const wk_sweep *s) {
  WK_TRY(make_folder(s->dir));
  WK_TRY(make_folder(in_dir(s, "store")));
  WK_TRY(make_folder(in_dir(s, "machines")));
  for (size_t i = 0; i < s->points.n; i++)
    if (!s->points.data[i].refusal) WK_TRY(put_machine(s, &s->points.data[i]));
  return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

json_t *wk_sweep_row(const wk_sweep *s, const wk_sweep_point *p) {
  json_t *row = json_load_file(row_file(s, p), 0, NULL);
  const char *identity = json_string_value(json_object_get(row, "identity"));
  if (identity && !strcmp(identity, p->identity)) return row;
  json_decref(row);
  return NULL;
}

bool wk_sweep_has_row(const wk_sweep *s, const wk_sweep_point *p) {
  json_t *row = wk_sweep_row(s, p);
  json_decref(row);
  return row != NULL;
}

wk_status wk_sweep_put_row(const wk_sweep *s, const wk_sweep_point *p, json_t *row) {
  json_object_set_new(row, "identity", json_string(p->identity));
  char *text = json_dumps(row, JSON_INDENT(1) | JSON_ENSURE_ASCII);
  if (!text) return wk_error(WK_RESOURCE, "no room for the text of a row");
  wk_status status = wk_write_file(row_file(s, p), text, strlen(text));
  free(text);
  return status;
}

wk_status wk_sweep_forget_deaths(const wk_sweep *s) {
  for (size_t i = 0; i < s->points.n; i++) {
    const wk_sweep_point *p = &s->points.data[i];
    json_t *row = p->refusal ? NULL : wk_sweep_row(s, p);
    bool has_died = json_is_true(json_object_get(row, "died"));
    json_decref(row);
    if (has_died && unlink(row_file(s, p)) != 0 && errno != ENOENT)
      return wk_error_at(WK_IO, row_file(s, p), "cannot remove: %s", strerror(errno));
  }
  return NULL;
}

/* ---- who does what --------------------------------------------------------------------------- */

/* Locks of open file descriptions: those of processes would go with any descriptor of the file. */
static wk_status lock_byte(const char *path, int fd, int64_t at) {
  struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
  while (fcntl(fd, F_OFD_SETLKW, &range) != 0)
    if (errno != EINTR) return wk_error_at(WK_IO, path, "cannot lock: %s", strerror(errno));
  return NULL;
}

static wk_status open_locked(const char *path, int flags, int64_t at, int *fd) {
  *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0666);
  if (*fd < 0) return wk_error_at(WK_IO, path, "cannot write: %s", strerror(errno));
  wk_status status = lock_byte(path, *fd, at);
  if (status) close(*fd);
  return status;
}

wk_status wk_sweep_lock(const wk_sweep *s, const wk_sweep_point *p, int *fd) {
  uint64_t key = strtoull(p->key, NULL, 16);
  return open_locked(in_dir(s, "lock"), 0, (int64_t)(key >> 2), fd);
}

/* A line is there whole or not at all. */
wk_status wk_sweep_log(const wk_sweep *s, const char *what, const wk_sweep_point *p) {
  const char *path = in_dir(s, "log");
  char line[64];
  int fd, n = snprintf(line, sizeof line, "%s %s\n", what, p->key);
  WK_TRY(open_locked(path, O_APPEND, 0, &fd));
  off_t end = lseek(fd, 0, SEEK_END);
  ssize_t written = write(fd, line, (size_t)n);
  int error = written < 0 ? errno : ENOSPC;
  if (written > 0 && written < n && ftruncate(fd, end) != 0) error = errno;
  close(fd);
  return written == n ? NULL : wk_error_at(WK_IO, path, "cannot write: %s", strerror(error));
}
