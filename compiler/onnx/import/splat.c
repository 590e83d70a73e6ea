/* SPDX-License-Identifier: Apache-2.0
 * Constants with one repeated element. Models without trained weights hold hundreds of megabytes of
 * them in a few bytes of file, so large ones are address space only: one block of memory with the
 * pattern is mapped over and over, read only. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/onnx/import/make.h"

#define BLOCK ((size_t)1 << 20)
#define MAPPED_FROM ((int64_t)1 << 20) /* smaller ones are plain memory */

static void fill(uint8_t *p, size_t n, const void *value, size_t size) {
  for (size_t i = 0; i + size <= n; i += size) memcpy(p + i, value, size);
}

/* A file in memory that holds one block of the pattern; -1 when the system has none to give. */
static int make_file(const void *value, size_t size) {
  int fd = memfd_create("splat", MFD_CLOEXEC);
  if (fd < 0) return -1;
  void *p = ftruncate(fd, (off_t)BLOCK) == 0
                ? mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (p == MAP_FAILED) {
    close(fd);
    return -1;
  }
  fill(p, BLOCK, value, size);
  munmap(p, BLOCK);
  return fd;
}

/* The file for this pattern, made when it is met first; -1 when there are too many. */
static int pattern_file(wk_importer *im, const void *value, size_t size) {
  for (int i = 0; i < im->n_patterns; i++) {
    const wk_pattern *p = &im->patterns[i];
    if (p->size == size && memcmp(p->value, value, size) == 0) return p->fd;
  }
  if (im->n_patterns == WK_PATTERNS) return -1;
  wk_pattern *p = &im->patterns[im->n_patterns];
  p->fd = make_file(value, size);
  if (p->fd < 0) return -1;
  p->size = size;
  memcpy(p->value, value, size);
  im->n_patterns++;
  return p->fd;
}

void wk_importer_close_patterns(wk_importer *im) {
  while (im->n_patterns > 0) close(im->patterns[--im->n_patterns].fd);
}

static bool map_pattern(wk_importer *im, size_t bytes, const void *value, size_t size,
                        wk_file *out) {
  int fd = pattern_file(im, value, size);
  if (fd < 0) return false;
  uint8_t *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  bool ok = p != MAP_FAILED;
  for (size_t at = 0; ok && at < bytes; at += BLOCK) {
    size_t n = bytes - at < BLOCK ? bytes - at : BLOCK;
    ok = mmap(p + at, n, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
  }
  if (!ok && p != MAP_FAILED) munmap(p, bytes);
  if (ok) *out = (wk_file){.data = p, .size = bytes, .map = p};
  return ok;
}

wk_value_id wk_make_constant_splat(wk_onnx_node *c, const wk_type *t, const void *value) {
  if (c->status) return WK_NONE;
  wk_onnx_latch(c, wk_type_check(t));
  if (c->status) return WK_NONE;
  int64_t bytes = wk_type_bytes(t);
  size_t size = (size_t)wk_dtype_size(t->dtype);
  wk_file f;
  if (bytes >= MAPPED_FROM && bytes <= c->im->splat_left &&
      map_pattern(c->im, (size_t)bytes, value, size, &f)) {
    c->im->splat_left -= bytes;
    wk_vec_push(&c->im->m->files, f);
    return wk_graph_constant(c->g, NULL, t, f.data);
  }
  if (bytes >= MAPPED_FROM) { /* no room: computed at run time */
    wk_type scalar = wk_type_make(t->dtype, 0, NULL);
    void *one;
    wk_value_id v = wk_make_constant(c, &scalar, &one);
    if (one) memcpy(one, value, size);
    return wk_make_expand(c, v, t->rank, t->dims);
  }
  void *data;
  wk_value_id v = wk_make_constant(c, t, &data);
  if (data) fill(data, (size_t)bytes, value, size);
  return v;
}
