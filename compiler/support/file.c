/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const uint8_t nothing[1];

/* Maps an open descriptor and closes it. */
static wk_status map_fd(int fd, const char *path, bool one_link, wk_file *out) {
  struct stat st;
  wk_status s = NULL;
  if (fstat(fd, &st) != 0) {
    s = wk_error_at(WK_IO, path, "cannot read: %s", strerror(errno));
  } else if (S_ISDIR(st.st_mode)) {
    s = wk_error_at(WK_IO, path, "is a folder, not a file");
  } else if (!S_ISREG(st.st_mode)) {
    s = wk_error_at(WK_IO, path, "is not a regular file");
  } else if (one_link && st.st_nlink != 1) {
    s = wk_error_at(WK_INPUT, path, "is refused: the file has several hard links");
  } else if (st.st_size == 0) {
    *out = (wk_file){.data = nothing};
  } else {
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
      s = wk_error_at(errno == ENOMEM ? WK_RESOURCE : WK_IO, path, "cannot map: %s",
                      strerror(errno));
    else *out = (wk_file){.data = p, .size = (size_t)st.st_size, .map = p};
  }
  close(fd);
  return s;
}

wk_status wk_file_map(const char *path, wk_file *out) {
  *out = (wk_file){0};
  /* O_NONBLOCK: opening a FIFO must not hang before map_fd can refuse it. */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return wk_error_at(WK_IO, path, "cannot open: %s", strerror(errno));
  return map_fd(fd, path, false, out);
}

void wk_file_unmap(wk_file *f) {
  if (f->map) munmap(f->map, f->size);
  *f = (wk_file){0};
}

void wk_file_forget(const wk_file *f) {
  if (f->map) (void)madvise(f->map, f->size, MADV_DONTNEED);
}

/* Refuses what no relative path inside a folder needs: absolute, empty, "..". */
static bool is_plain_relative(const char *rel) {
  if (!*rel || *rel == '/') return false;
  for (const char *p = rel; *p;) {
    size_t n = strcspn(p, "/");
    if (n == 2 && p[0] == '.' && p[1] == '.') return false;
    p += n;
    p += *p == '/';
  }
  return true;
}

/* For kernels before 5.6 and sandboxes that filter openat2: one component at a time. */
static int open_stepwise(int dir, const char *rel) {
  int at = dup(dir);
  while (at >= 0) {
    size_t n = strcspn(rel, "/");
    const char *rest = rel + n + strspn(rel + n, "/");
    char *part = strndup(rel, n);
    if (!part) wk_no_memory();
    int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (*rest ? O_DIRECTORY : 0);
    int next = openat(at, part, flags), saved = errno;
    char c;
    if (next < 0 && saved == ENOTDIR && readlinkat(at, part, &c, 1) >= 0)
      saved = ELOOP; /* what openat says of a link depends on O_DIRECTORY */
    free(part);
    close(at);
    errno = saved;
    if (next < 0 || !*rest) return next;
    at = next;
    rel = rest;
  }
  return -1;
}

static int open_beneath(int dir, const char *rel) {
  struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                         .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
  long fd = syscall(SYS_openat2, dir, rel, &how, sizeof how);
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) return open_stepwise(dir, rel);
  return (int)fd;
}

wk_status wk_file_map_beneath(const char *dir, const char *rel, wk_file *out) {
  *out = (wk_file){0};
  if (!is_plain_relative(rel))
    return wk_error_at(WK_INPUT, rel, "is refused: not a path inside the model's folder");
  if (!*dir) dir = ".";
  int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) return wk_error_at(WK_IO, dir, "cannot open folder: %s", strerror(errno));
  int fd = open_beneath(at, rel), error = errno;
  close(at);
  if (fd < 0 && (error == ELOOP || error == EXDEV))
    return wk_error_at(WK_INPUT, rel, "is refused: the path leads through a symbolic link");
  if (fd < 0) return wk_error_at(WK_IO, rel, "cannot open in %s: %s", dir, strerror(error));
  return map_fd(fd, rel, true, out);
}
