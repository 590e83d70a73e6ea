/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
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

/* Where what is open lies, without links, as the kernel has it. */
static bool place_of(int fd, char place[PATH_MAX]) {
  char self[32];
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(self, place, PATH_MAX - 1);
  if (n <= 0 || place[0] != '/') return false;
  place[n] = '\0';
  return true;
}

static bool is_within(const char *folder, const char *place) {
  char own[PATH_MAX];
  int fd = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
  if (fd < 0) return false;
  bool is_known = place_of(fd, own);
  close(fd);
  size_t n = is_known ? strlen(own) : 0;
  return n > 1 && strncmp(place, own, n) == 0 && (place[n] == '/' || !place[n]);
}

/* Links that the kernel does not follow beneath a folder, since they are absolute or go up, may
 * lead back: what they lead to is opened only when it lies where it may. */
static int open_link(int at, const char *rel, const char *dir, const char *home) {
  char place[PATH_MAX], self[32];
  int fd = openat(at, rel, O_PATH | O_CLOEXEC), out = -1, error = errno;
  if (fd < 0) return -1;
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  if (!place_of(fd, place) || !(is_within(dir, place) || is_within(home, place))) error = EXDEV;
  else if ((out = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0) error = errno;
  close(fd);
  errno = error;
  return out;
}

static int open_beneath(int at, const char *rel, const char *dir, const char *home) {
  struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = RESOLVE_BENEATH};
  long fd = syscall(SYS_openat2, at, rel, &how, sizeof how);
  bool is_unsure = errno == ENOSYS || errno == EPERM || errno == EXDEV || errno == ELOOP;
  return fd < 0 && is_unsure ? open_link(at, rel, dir, home) : (int)fd;
}

wk_status wk_file_map_beneath(const char *dir, const char *home, const char *rel, wk_file *out) {
  *out = (wk_file){0};
  if (!is_plain_relative(rel))
    return wk_error_at(WK_INPUT, rel, "is refused: not a path inside the model's folder");
  if (!*dir) dir = ".";
  int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) return wk_error_at(WK_IO, dir, "cannot open folder: %s", strerror(errno));
  int fd = open_beneath(at, rel, dir, home), error = errno;
  close(at);
  if (fd < 0 && error == ENOENT && home && strcmp(dir, home) != 0)
    return wk_file_map_beneath(home, home, rel, out);
  if (fd < 0 && error == EXDEV)
    return wk_error_at(WK_INPUT, rel, "is refused: a link leads out of the folder");
  if (fd < 0 && error == ELOOP)
    return wk_error_at(WK_INPUT, rel, "is refused: symbolic links go round in a circle");
  if (fd < 0) return wk_error_at(WK_IO, rel, "cannot open in %s: %s", dir, strerror(error));
  return map_fd(fd, rel, true, out);
}
