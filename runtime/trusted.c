/* SPDX-License-Identifier: Apache-2.0 */
#include "trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *wick_untrusted(int fd) {
  struct stat st;
  if (fstat(fd, &st) != 0) return "it cannot be looked at";
  if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) return "it is neither a file nor a folder";
  if (st.st_uid != geteuid() && st.st_uid != 0) return "it belongs to another user";
  if (st.st_mode & (S_IWGRP | S_IWOTH)) return "others may write it";
  return NULL;
}

int wick_open_trusted(const char *path, int flags, const char **why) {
  int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  struct stat st;
  *why = NULL;
  if (fd < 0) { /* which of the two is said of a link depends on O_DIRECTORY */
    int reason = errno;
    if ((reason == ELOOP || reason == ENOTDIR) && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
      *why = "it is a symbolic link";
    errno = reason;
    return -1;
  }
  *why = wick_untrusted(fd);
  if (!*why) return fd;
  close(fd);
  return -1;
}

/* ---- folders of caches ----------------------------------------------------------------------- */

/* With the folders around it. */
static bool make_folder(char *path) {
  for (char *p = path + 1; *p; p++) {
    if (*p != '/') continue;
    *p = '\0';
    bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
    *p = '/';
    if (!ok) return false;
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static const char *fail(const char *what, int *reason) {
  *reason = errno;
  return what;
}

static const char *take_folder(char *path, int *reason) {
  const char *why;
  if (!make_folder(path)) return fail("cannot make the folder", reason);
  int fd = wick_open_trusted(path, O_RDONLY | O_DIRECTORY, &why);
  if (fd < 0) return why ? why : fail("cannot open the folder", reason);
  close(fd);
  return NULL;
}

const char *wick_cache_folder(const char *sub, char *path, size_t size, int *reason) {
  const char *own = getenv("WICK_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  bool is_own = own && *own, is_xdg = !is_own && xdg && *xdg;
  const char *base = is_own ? own : is_xdg ? xdg : home && *home ? home : NULL;
  *reason = 0;
  path[0] = '\0';
  if (!base) return "no variable names a folder";
  int n = snprintf(path, size, "%s%s", base, is_own ? "" : is_xdg ? "/wick" : "/.cache/wick");
  size_t more = sub ? strlen(sub) + 1 : 0;
  if (n < 0 || (size_t)n + more >= size) {
    errno = ENAMETOOLONG;
    return fail("cannot make the folder", reason);
  }
  const char *why = take_folder(path, reason);
  if (why || !sub) return why;
  snprintf(path + n, size - (size_t)n, "/%s", sub);
  return take_folder(path, reason);
}
