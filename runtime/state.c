/* SPDX-License-Identifier: Apache-2.0
 *
 * The model's state, and files of it. A file names every state with its type and shape, so that one
 * model's file is another one's start:
 *
 *   header | rows | names | gap of zeros to a multiple of 64 | bytes of the states, at 64 each
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define STATE_MAGIC "WICKSTA" /* 8 bytes with its NUL */
enum { STATE_VERSION = 1 };

typedef struct {
  char magic[8];
  uint32_t version;
  uint32_t count;
  uint64_t file_size;
  uint32_t data_crc; /* CRC32C of everything behind the rows */
  uint32_t crc;      /* CRC32C of the header, with this field 0, and of the rows */
} state_header;

typedef struct {
  uint64_t name; /* offset in the file, NUL-terminated */
  uint32_t dtype;
  uint32_t rank;
  int64_t dims[WICK_MAX_RANK];
  uint64_t offset; /* in the file */
  uint64_t bytes;
} state_row;

struct wick_state {
  const wick_model *model;
  uint8_t *memory;
  atomic_int users; /* runs that read it; -1: one that writes */
};

/* ---- memory ---------------------------------------------------------------------------------- */

static void begin(const wick_model *m, uint8_t *memory) {
  memcpy(memory, m->state_image, m->state_image_bytes);
  memset(memory + m->state_image_bytes, 0, m->info.state_bytes - m->state_image_bytes);
}

static wick_status allocate(const wick_model *model, wick_error_detail *detail, wick_state **out) {
  size_t size = wick_align_up(model->info.state_bytes, WICK_PAGE);
  if (model->info.state_count == 0) return WICK_NO_STATE;
  if (size > model->memory_limit) return wick_fail_memory(detail, size, model->memory_limit);
  wick_state *s = calloc(1, sizeof *s);
  if (!s) return wick_fail(detail, WICK_NO_MEMORY, "out of memory");
  s->model = model;
  s->memory = aligned_alloc(WICK_PAGE, size ? size : WICK_PAGE);
  if (!s->memory) {
    free(s);
    return wick_fail(detail, WICK_NO_MEMORY, "out of memory");
  }
  begin(model, s->memory);
  *out = s;
  return WICK_OK;
}

wick_status wick_state_new(const wick_model *model, wick_state **out) {
  return model && out ? allocate(model, NULL, out) : WICK_BAD_ARGUMENT;
}

void wick_state_free(wick_state *state) {
  if (!state) return;
  free(state->memory);
  free(state);
}

uint8_t *wick_state_memory(wick_state *state) { return state->memory; }
const wick_model *wick_state_model(const wick_state *state) { return state->model; }

bool wick_state_lock(wick_state *state, bool write) {
  int users = 0;
  if (write) return atomic_compare_exchange_strong(&state->users, &users, -1);
  users = atomic_load(&state->users);
  while (users >= 0)
    if (atomic_compare_exchange_weak(&state->users, &users, users + 1)) return true;
  return false;
}

void wick_state_unlock(wick_state *state, bool write) {
  if (write) atomic_store(&state->users, 0);
  else atomic_fetch_sub(&state->users, 1);
}

wick_status wick_state_reset(wick_state *state) {
  if (!state) return WICK_BAD_ARGUMENT;
  if (!wick_state_lock(state, true)) return WICK_BUSY;
  begin(state->model, state->memory);
  wick_state_unlock(state, true);
  return WICK_OK;
}

wick_status wick_state_copy(wick_state *from, wick_state *to) {
  if (!from || !to || from->model != to->model) return WICK_BAD_ARGUMENT;
  if (from == to) return WICK_OK;
  if (!wick_state_lock(from, false)) return WICK_BUSY;
  bool is_free = wick_state_lock(to, true);
  if (is_free) {
    memcpy(to->memory, from->memory, from->model->info.state_bytes);
    wick_state_unlock(to, true);
  }
  wick_state_unlock(from, false);
  return is_free ? WICK_OK : WICK_BUSY;
}

void *wick_state_data(wick_state *state, uint32_t index) {
  if (!state || index >= state->model->info.state_count) return NULL;
  return state->memory + state->model->states[index].tensor->offset;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct {
  FILE *file;
  uint64_t at;
  uint32_t crc;
} state_writer;

static void put(state_writer *w, const void *data, size_t size) {
  if (size == 0) return;
  if (w->file) fwrite(data, 1, size, w->file);
  w->crc = wick_crc32c(w->crc, data, size);
  w->at += size;
}

static void put_gap(state_writer *w) {
  static const uint8_t zeros[WICK_ALIGN];
  put(w, zeros, wick_align_up(w->at, WICK_ALIGN) - w->at);
}

/* Everything behind the rows; fills them. Without a file it only finds out where things go. */
static void put_data(state_writer *w, const wick_state *s, state_row *rows) {
  const wick_model_info *info = &s->model->info;
  w->at = sizeof(state_header) + info->state_count * sizeof *rows;
  w->crc = 0;
  for (uint32_t i = 0; i < info->state_count; i++) {
    const wick_tensor_info *t = info->states[i].tensor;
    rows[i] = (state_row){.name = w->at, .dtype = t->dtype, .rank = t->rank, .bytes = t->bytes};
    memcpy(rows[i].dims, t->dims, sizeof rows[i].dims);
    put(w, t->name, strlen(t->name) + 1);
  }
  for (uint32_t i = 0; i < info->state_count; i++) {
    put_gap(w);
    rows[i].offset = w->at;
    put(w, s->memory + info->states[i].tensor->offset, rows[i].bytes);
  }
}

static bool write_file(FILE *file, const wick_state *s, state_row *rows) {
  state_writer w = {0};
  put_data(&w, s, rows);
  state_header h = {.magic = STATE_MAGIC, .version = STATE_VERSION, .data_crc = w.crc,
                    .count = s->model->info.state_count, .file_size = w.at};
  h.crc = wick_crc32c(wick_crc32c(0, &h, sizeof h), rows, h.count * sizeof *rows);
  fwrite(&h, 1, sizeof h, file);
  fwrite(rows, sizeof *rows, h.count, file);
  w.file = file;
  put_data(&w, s, rows);
  return fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
}

/* Beside the file that it will replace. */
static FILE *open_beside(const wick_state *s, const char *path, char *temporary, size_t size) {
  int n = snprintf(temporary, size, "%s.%ld-%p", path, (long)getpid(), (const void *)s);
  if (n < 0 || (size_t)n >= size) {
    errno = ENAMETOOLONG;
    return NULL;
  }
  int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
  if (!file && fd >= 0) close(fd);
  return file;
}

static wick_status save(const wick_state *s, const char *path, state_row *rows,
                        wick_error_detail *detail) {
  char temporary[4096];
  FILE *file = open_beside(s, path, temporary, sizeof temporary);
  if (!file) return wick_fail(detail, WICK_CANNOT_WRITE, "%s: %s", path, strerror(errno));
  int reason = write_file(file, s, rows) ? 0 : errno;
  if (fclose(file) != 0 && !reason) reason = errno;
  if (!reason && rename(temporary, path) != 0) reason = errno;
  if (!reason) return WICK_OK;
  unlink(temporary);
  return wick_fail(detail, WICK_CANNOT_WRITE, "%s: %s", path, strerror(reason));
}

wick_status wick_state_save(wick_state *state, const char *path, wick_error_detail *detail) {
  if (detail) detail->text[0] = '\0';
  if (!state || !path) return WICK_BAD_ARGUMENT;
  if (!wick_state_lock(state, false)) return WICK_BUSY;
  state_row *rows = calloc(state->model->info.state_count, sizeof *rows);
  wick_status status = rows ? save(state, path, rows, detail) : WICK_NO_MEMORY;
  wick_state_unlock(state, false);
  free(rows);
  return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct {
  const uint8_t *data;
  size_t size;
  const state_row *rows;
  uint32_t count;
} state_file;

static wick_status read_all(const wick_model *model, const char *path, uint8_t **data,
                            size_t *size, wick_error_detail *detail) {
  FILE *file = fopen(path, "rbe");
  struct stat st;
  if (!file || fstat(fileno(file), &st) != 0) {
    int reason = errno;
    if (file) fclose(file);
    return wick_fail(detail, WICK_CANNOT_READ, "%s: %s", path, strerror(reason));
  }
  *size = S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
  *data = *size <= model->memory_limit ? wick_list(*size, 1) : NULL;
  bool whole = *data && fread(*data, 1, *size, file) == *size;
  fclose(file);
  if (whole) return WICK_OK;
  return *data ? wick_fail(detail, WICK_CANNOT_READ, "%s: cannot be read", path)
               : wick_fail(detail, WICK_NO_MEMORY, "out of memory");
}

static wick_status verify(state_file *f, wick_error_detail *detail) {
  state_header h;
  if (f->size < sizeof h || memcmp(f->data, STATE_MAGIC, sizeof h.magic) != 0)
    return wick_fail(detail, WICK_BAD_STATE, "not a file of states");
  memcpy(&h, f->data, sizeof h);
  if (h.version != STATE_VERSION)
    return wick_fail(detail, WICK_BAD_VERSION, "state version %u, this runtime reads %d", h.version,
                     STATE_VERSION);
  if (h.file_size != f->size || h.count > (f->size - sizeof h) / sizeof(state_row))
    return wick_fail(detail, WICK_CORRUPT, "the state file is truncated");
  uint32_t crc = h.crc;
  size_t rows = h.count * sizeof(state_row), begin = sizeof h + rows;
  h.crc = 0;
  if (wick_crc32c(wick_crc32c(0, &h, sizeof h), f->data + sizeof h, rows) != crc ||
      wick_crc32c_parallel(f->data + begin, f->size - begin) != h.data_crc)
    return wick_fail(detail, WICK_CORRUPT, "checksum of the state file differs");
  f->rows = (const state_row *)(f->data + sizeof h);
  f->count = h.count;
  for (uint32_t i = 0; i < f->count; i++) {
    const state_row *r = &f->rows[i];
    if (r->name >= f->size || !memchr(f->data + r->name, 0, f->size - r->name) ||
        !wick_is_range(r->offset, r->bytes, f->size))
      return wick_fail(detail, WICK_CORRUPT, "the state file contradicts itself");
  }
  return WICK_OK;
}

static const state_row *find_row(const state_file *f, const wick_tensor_info *t) {
  for (uint32_t i = 0; i < f->count; i++)
    if (strcmp((const char *)f->data + f->rows[i].name, t->name) == 0) return &f->rows[i];
  return NULL;
}

static wick_status fill(wick_state *s, const state_file *f, wick_error_detail *detail) {
  for (uint32_t i = 0; i < s->model->info.state_count; i++) {
    const wick_tensor_info *t = s->model->states[i].tensor;
    const state_row *r = find_row(f, t);
    if (!r) return wick_fail(detail, WICK_BAD_STATE, "it has no state '%s'", t->name);
    if (r->dtype != t->dtype || r->rank != t->rank || r->bytes != t->bytes ||
        memcmp(r->dims, t->dims, sizeof r->dims) != 0)
      return wick_fail(detail, WICK_BAD_STATE, "state '%s' has another type or shape", t->name);
    memcpy(s->memory + t->offset, f->data + r->offset, r->bytes);
  }
  return WICK_OK;
}

wick_status wick_state_load(const wick_model *model, const char *path, wick_error_detail *detail,
                            wick_state **out) {
  if (detail) detail->text[0] = '\0';
  if (!model || !path || !out) return WICK_BAD_ARGUMENT;
  wick_state *s = NULL;
  uint8_t *data = NULL;
  state_file f = {0};
  wick_status status = read_all(model, path, &data, &f.size, detail);
  f.data = data;
  if (status == WICK_OK) status = verify(&f, detail);
  if (status == WICK_OK) status = allocate(model, detail, &s);
  if (status == WICK_OK) status = fill(s, &f, detail);
  free(data);
  if (status == WICK_OK) *out = s;
  else wick_state_free(s);
  return status;
}
