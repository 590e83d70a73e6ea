/* SPDX-License-Identifier: Apache-2.0 */
#include "trusted.h"

#include <errno.h>
#include <fcntl.h>
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
