/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic output. The bytes go to an unnamed file in the destination's folder (O_TMPFILE), so that
 * even a killed process leaves nothing; commit gives it a temporary name and renames that. Where
 * the file system has no unnamed files, the temporary name exists from the start. Destinations
 * that are no regular files with a name (standard output, /dev/null, a pipe, a deleted file by its
 * descriptor) are written directly.
 * The stdio stream sits on a cookie, so that the first errno is known when commit reports it. */
#include "compiler/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 40 /* as Linux follows */

struct wk_out {
  int fd;
  bool is_stdout; /* fd belongs to others; a file of ours may have the same number */
  int error;  /* first errno, 0 = none */
  char *path; /* as the user gave it, for messages */
  char *dest; /* what rename replaces; NULL = written directly */
  char *temp; /* name of the temporary file; NULL = none yet */
  FILE *stream;
  bool is_reserved; /* longer than what is written into it */
};

static ssize_t write_all(void *cookie, const char *p, size_t n) {
  wk_out *o = cookie;
  for (size_t done = 0; done < n && !o->error;) {
    ssize_t k = write(o->fd, p + done, n - done);
    if (k > 0) done += (size_t)k;
    else if (k == 0) o->error = ENOSPC;
    else if (errno != EINTR) o->error = errno;
  }
  return o->error ? 0 : (ssize_t)n;
}

/* Calls make(o, name) with fresh names next to the destination until one is free. */
static int with_temp_name(wk_out *o, int (*make)(wk_out *, const char *)) {
  const char *slash = strrchr(o->dest, '/');
  int folder = slash ? (int)(slash - o->dest) + 1 : 0, result = -1;
  for (unsigned i = 0; i < 10000; i++) {
    wk_str name = {0};
    wk_str_printf(&name, "%.*s.wick-%ld-%u.tmp", folder, o->dest, (long)getpid(), i);
    result = make(o, name.s);
    if (result >= 0) {
      o->temp = name.s;
      break;
    }
    int error = errno;
    wk_str_free(&name);
    errno = error;
    if (error != EEXIST) break;
  }
  return result;
}

static int create_named(wk_out *o, const char *name) {
  (void)o;
  return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static int link_unnamed(wk_out *o, const char *name) {
  char self[40];
  snprintf(self, sizeof self, "/proc/self/fd/%d", o->fd);
  return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

static int open_temp(wk_out *o) {
  const char *slash = strrchr(o->dest, '/');
  char *folder = slash ? strndup(o->dest, (size_t)(slash - o->dest) + 1) : strdup(".");
  if (!folder) wk_no_memory();
  int fd = -1;
  if (access("/proc/self/fd", X_OK) == 0) /* without it the file could never get a name */
    fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  int error = errno;
  free(folder);
  errno = error;
  return fd >= 0 ? fd : with_temp_name(o, create_named);
}

static void release(wk_out *o) {
  if (o->stream) fclose(o->stream);
  if (o->fd >= 0 && !o->is_stdout) close(o->fd);
  if (o->temp) unlink(o->temp);
  free(o->path);
  free(o->dest);
  free(o->temp);
  free(o);
}

char *wk_out_place(const char *path) {
  char target[PATH_MAX], *at = wk_xstrdup(path);
  for (int hops = 0; hops < MAX_LINKS; hops++) {
    ssize_t n = readlink(at, target, sizeof target);
    if (n < 0) return at; /* no link, or nothing there */
    if ((size_t)n == sizeof target) break;
    const char *slash = *target == '/' ? NULL : strrchr(at, '/');
    int folder = slash ? (int)(slash - at) + 1 : 0;
    wk_str next = {0};
    wk_str_printf(&next, "%.*s%.*s", folder, at, (int)n, target);
    free(at);
    at = next.s;
  }
  free(at);
  errno = ELOOP;
  return NULL;
}

/* Sets o->is_stdout or, for an atomic destination, o->dest. Returns 0 or an errno. */
static int find_destination(wk_out *o, const char *path) {
  struct stat st;
  o->is_stdout = strcmp(path, "-") == 0;
  if (o->is_stdout) return 0;
  if (!*path) return ENOENT;
  bool exists = stat(path, &st) == 0;
  if (exists && S_ISDIR(st.st_mode)) return EISDIR;
  if (exists && access(path, W_OK) != 0) return errno;
  if (exists && (!S_ISREG(st.st_mode) || st.st_nlink == 0)) return 0;
  /* A symbolic link stays; the file that it names is replaced or made. */
  o->dest = exists ? realpath(path, NULL) : wk_out_place(path);
  return o->dest ? 0 : errno;
}

/* Sets o->fd. Returns 0 or an errno. */
static int open_destination(wk_out *o, const char *path) {
  if (o->is_stdout) {
    fflush(stdout);
    o->fd = STDOUT_FILENO;
  } else {
    o->fd = o->dest ? open_temp(o) : open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  }
  return o->fd < 0 ? errno : 0;
}

/* is_check: only what leaves nothing is opened. */
static int try_start(const char *path, bool is_check, wk_out **out) {
  wk_out *o = *out = wk_xcalloc(1, sizeof *o);
  o->fd = -1;
  o->path = wk_xstrdup(strcmp(path, "-") == 0 ? "standard output" : path);
  int error = find_destination(o, path);
  if (!error && (o->dest || !is_check)) error = open_destination(o, path);
  return error;
}

static wk_status start(const char *path, bool is_check, wk_out **out) {
  wk_out *o;
  int error = try_start(path, is_check, &o);
  *out = NULL;
  if (error) {
    wk_status s = wk_error_at(WK_IO, o->path, "cannot write: %s", strerror(error));
    release(o);
    return s;
  }
  *out = o;
  return NULL;
}

wk_status wk_out_check(const char *path) {
  wk_out *o;
  WK_TRY(start(path, true, &o));
  release(o);
  return NULL;
}

wk_status wk_out_check_folder(const char *path) {
  struct stat st;
  wk_str probe = {0}; /* a file in it, or in its place */
  wk_out *o;
  bool exists = stat(path, &st) == 0;
  if (exists && !S_ISDIR(st.st_mode)) return wk_error_at(WK_IO, path, "is not a folder");
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  wk_str_printf(&probe, "%.*s%s", (int)n, path, exists ? "/.wick-check" : "");
  int error = try_start(probe.s, true, &o);
  release(o);
  wk_str_free(&probe);
  if (!error) return NULL;
  return wk_error_at(WK_IO, path, "%s: %s",
                     exists ? "cannot write there" : "cannot make the folder", strerror(error));
}

wk_status wk_out_open(const char *path, wk_out **out) {
  wk_out *o;
  *out = NULL;
  WK_TRY(start(path, false, &o));
  o->stream = fopencookie(o, "wb", (cookie_io_functions_t){.write = write_all});
  if (!o->stream) wk_no_memory();
  setvbuf(o->stream, NULL, _IOFBF, 1 << 16);
  *out = o;
  return NULL;
}

void wk_out_write(wk_out *o, const void *p, size_t n) {
  if (n && !o->error && fwrite(p, 1, n, o->stream) != n && !o->error) o->error = EIO;
}

FILE *wk_out_stdio(wk_out *o) { return o->stream; }

wk_status wk_out_reserve(wk_out *o, size_t n) {
  if (!o->dest || n == 0) return NULL;
  int error = posix_fallocate(o->fd, 0, (off_t)n);
  if (error) return wk_error_at(WK_IO, o->path, "cannot write: %s", strerror(error));
  o->is_reserved = true;
  return NULL;
}

/* Everything that can fail but the renaming. */
static int finish(wk_out *o) {
  if (fflush(o->stream) != 0 && !o->error) o->error = errno;
  if (ferror(o->stream) && !o->error) o->error = EIO;
  if (o->error || !o->dest) return o->error;
  if (o->is_reserved && ftruncate(o->fd, lseek(o->fd, 0, SEEK_CUR)) != 0) return errno;
  if (fsync(o->fd) != 0) return errno;
  return !o->temp && with_temp_name(o, link_unnamed) < 0 ? errno : 0;
}

static int put_in_place(wk_out *o) {
  if (!o->dest) return 0;
  if (rename(o->temp, o->dest) != 0) return errno;
  free(o->temp);
  o->temp = NULL;
  return 0;
}

wk_status wk_out_commit_all(wk_out **o, size_t n) {
  static int (*const steps[])(wk_out *) = {finish, put_in_place};
  wk_status s = NULL;
  for (size_t step = 0; step < WK_COUNTOF(steps); step++)
    for (size_t k = 0; k < n && !s; k++) {
      int error = steps[step](o[k]);
      if (error) s = wk_error_at(WK_IO, o[k]->path, "cannot write: %s", strerror(error));
    }
  for (size_t k = 0; k < n; k++) wk_out_abort(o[k]); /* of what is in place, only memory is freed */
  return s;
}

wk_status wk_out_commit(wk_out *o) { return wk_out_commit_all(&o, 1); }

void wk_out_abort(wk_out *o) {
  if (!o) return;
  o->error = ECANCELED; /* what is still buffered is dropped, also for standard output */
  release(o);
}

wk_status wk_write_file(const char *path, const void *p, size_t n) {
  wk_out *o;
  WK_TRY(wk_out_open(path, &o));
  wk_out_write(o, p, n);
  return wk_out_commit(o);
}
