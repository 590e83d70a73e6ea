/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a package's bytes are. A file is mapped once, read-only, as a whole, and everything is used
 * where it lies. A mapping changes with its file: where a verifier decides, the bytes are brought
 * into memory that is this process's alone, so that what it has seen is what is used. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/* Pages of this process's own, in which code can be made executable like in those of a file. */
static wick_status take_pages(wick_model *model, size_t size, wick_error_detail *detail) {
  if (size > model->memory_limit) return wick_fail_memory(detail, size, model->memory_limit);
  void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return wick_fail(detail, WICK_NO_MEMORY, "out of memory");
  model->file = model->file_map = map;
  model->file_size = size;
  return WICK_OK;
}

static wick_status protect(wick_model *model, wick_error_detail *detail) {
  if (mprotect(model->file_map, model->file_size, PROT_READ) == 0) return WICK_OK;
  return wick_fail(detail, WICK_NO_MEMORY, "out of memory");
}

static wick_status read_pages(wick_model *model, int fd, const char *path,
                              wick_error_detail *detail) {
  uint8_t *to = model->file_map;
  for (size_t at = 0; at < model->file_size;) {
    ssize_t n = pread(fd, to + at, model->file_size - at, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return wick_fail(detail, WICK_CANNOT_READ, "%s: %s", path, strerror(errno));
    if (n == 0) return wick_fail(detail, WICK_CANNOT_READ, "%s: it becomes shorter", path);
    at += (size_t)n;
  }
  return protect(model, detail);
}

/* Before all of a file is read, or memory taken for it, that is something else. */
static wick_status look_at_header(int fd, size_t size, const char *path,
                                  wick_error_detail *detail) {
  wick_pkg_header start, header;
  size_t wanted = size < sizeof start ? size : sizeof start;
  ssize_t n = pread(fd, &start, wanted, 0);
  if (n < 0) return wick_fail(detail, WICK_CANNOT_READ, "%s: %s", path, strerror(errno));
  if ((size_t)n < wanted)
    return wick_fail(detail, WICK_CANNOT_READ, "%s: it becomes shorter", path);
  return wick_header_read(&start, size, &header, detail);
}

static wick_status map_pages(wick_model *model, int fd, size_t size, const char *path,
                             wick_error_detail *detail) {
  void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED)
    return wick_fail(detail, errno == ENOMEM ? WICK_NO_MEMORY : WICK_CANNOT_READ, "%s: %s", path,
                     strerror(errno));
  model->file = model->file_map = map;
  model->file_size = size;
  return WICK_OK;
}

wick_status wick_file_open(wick_model *model, const char *path, const wick_load_options *options) {
  wick_error_detail *detail = options->detail;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return wick_fail(detail, WICK_CANNOT_READ, "%s: %s", path, strerror(errno));
  struct stat st;
  wick_status status = WICK_OK;
  if (fstat(fd, &st) != 0)
    status = wick_fail(detail, WICK_CANNOT_READ, "%s: %s", path, strerror(errno));
  else if (!S_ISREG(st.st_mode))
    status = wick_fail(detail, WICK_CANNOT_READ, "%s: not a regular file", path);
  else if (st.st_size == 0)
    status = wick_fail(detail, WICK_NOT_PACKAGE, "%s: the file is empty", path);
  if (status == WICK_OK && options->verifier) {
    status = look_at_header(fd, (size_t)st.st_size, path, detail);
    if (status == WICK_OK) status = take_pages(model, (size_t)st.st_size, detail);
    if (status == WICK_OK) status = read_pages(model, fd, path, detail);
  } else if (status == WICK_OK) {
    status = map_pages(model, fd, (size_t)st.st_size, path, detail);
  }
  close(fd);
  return status;
}

wick_status wick_file_of_memory(wick_model *model, const void *data, size_t size,
                                const wick_load_options *options) {
  model->file = data;
  model->file_size = size;
  if (!options->verifier || size == 0) return WICK_OK;
  wick_status status = take_pages(model, size, options->detail);
  if (status != WICK_OK) return status;
  memcpy(model->file_map, data, size);
  return protect(model, options->detail);
}

void wick_file_close(wick_model *model) {
  if (model->file_map) munmap(model->file_map, model->file_size);
  free(model->file_copy);
}
