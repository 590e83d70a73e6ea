/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading: the file is mapped once, read-only, as a whole; weights are used where they lie, and the
 * pages of CODE are made executable. Code is copied to memory of its own when the package came from
 * memory, when the file's mount forbids execution, or when perf shall see names (perf looks only at
 * anonymous memory for them). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

static wick_status map_file(wick_model *model, const char *path, const wick_load_options *options) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return wick_fail(options, WICK_CANNOT_READ, "%s: %s", path, strerror(errno));
  struct stat st;
  wick_status status = WICK_OK;
  if (fstat(fd, &st) != 0)
    status = wick_fail(options, WICK_CANNOT_READ, "%s: %s", path, strerror(errno));
  else if (!S_ISREG(st.st_mode))
    status = wick_fail(options, WICK_CANNOT_READ, "%s: not a regular file", path);
  else if (st.st_size == 0)
    status = wick_fail(options, WICK_NOT_PACKAGE, "%s: the file is empty", path);
  if (status == WICK_OK) {
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
      status = wick_fail(options, WICK_CANNOT_READ, "%s: %s", path, strerror(errno));
    } else {
      model->file = model->file_map = map;
      model->file_size = (size_t)st.st_size;
    }
  }
  close(fd);
  return status;
}

static bool execute_in_place(wick_model *model, const wick_section_info *code) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t begin = code->offset / page * page;
  size_t end = (code->offset + code->size + page - 1) / page * page;
  if (mprotect((uint8_t *)model->file_map + begin, end - begin, PROT_READ | PROT_EXEC) != 0)
    return false;
  model->code = model->file + code->offset;
  return true;
}

static wick_status copy_code(wick_model *model, const wick_section_info *code,
                             const wick_load_options *options) {
  void *map = mmap(NULL, code->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return wick_fail(options, WICK_NO_MEMORY, "out of memory");
  model->code_map = map;
  model->code_map_size = code->size;
  memcpy(map, model->file + code->offset, code->size);
  if (mprotect(map, code->size, PROT_READ | PROT_EXEC) != 0)
    return wick_fail(options, WICK_CANNOT_READ, "the system refuses executable memory: %s",
                     strerror(errno));
  __builtin___clear_cache((char *)map, (char *)map + code->size);
  model->code = map;
  return WICK_OK;
}

static wick_status place_consts(wick_model *model, const wick_load_options *options) {
  const wick_section_info *consts = &model->info.sections[WICK_SECTION_CONST - 1];
  model->consts = model->file + consts->offset;
  if ((uintptr_t)model->consts % WICK_ALIGN == 0) return WICK_OK;
  size_t size = (consts->size + WICK_ALIGN) / WICK_ALIGN * WICK_ALIGN;
  model->const_copy = aligned_alloc(WICK_ALIGN, size);
  if (!model->const_copy) return wick_fail(options, WICK_NO_MEMORY, "out of memory");
  memcpy(model->const_copy, model->consts, consts->size);
  model->consts = model->const_copy;
  return WICK_OK;
}

static bool asked(const wick_load_options *options, uint32_t flag, const char *variable) {
  const char *value = getenv(variable);
  return (options && options->flags & flag) || (value && strcmp(value, "1") == 0);
}

static wick_status load(wick_model *model, const wick_load_options *options) {
  wick_status status = wick_model_verify(model, options);
  if (status == WICK_OK) status = wick_model_decode(model, options);
  if (status != WICK_OK || model->describe_only) return status;
  status = place_consts(model, options);
  if (status != WICK_OK) return status;
  const wick_section_info *code = &model->info.sections[WICK_SECTION_CODE - 1];
  bool perf = asked(options, WICK_LOAD_PERF_MAP, "WICK_PERF_MAP");
  if (perf || !model->file_map || !execute_in_place(model, code))
    status = copy_code(model, code, options);
  if (status == WICK_OK && perf) status = wick_perf_map_write(model, options);
  if (status == WICK_OK && asked(options, WICK_LOAD_GDB, "WICK_GDB"))
    status = wick_gdb_register(model);
  return status;
}

static wick_status start(const wick_load_options *options, wick_model **out) {
  if (options && options->detail) options->detail->text[0] = '\0';
  *out = calloc(1, sizeof **out);
  return *out ? WICK_OK : wick_fail(options, WICK_NO_MEMORY, "out of memory");
}

static wick_status finish(wick_model *model, wick_status status, wick_model **out) {
  if (status == WICK_OK)
    *out = model;
  else
    wick_model_free(model);
  return status;
}

wick_status wick_model_load(const char *path, const wick_load_options *options, wick_model **out) {
  if (!path || !out) return wick_fail(options, WICK_BAD_ARGUMENT, "no path or no place for it");
  wick_model *model;
  wick_status status = start(options, &model);
  if (status != WICK_OK) return status;
  status = map_file(model, path, options);
  if (status == WICK_OK) status = load(model, options);
  return finish(model, status, out);
}

wick_status wick_model_load_memory(const void *data, size_t size, const wick_load_options *options,
                                   wick_model **out) {
  if (!data || !out) return wick_fail(options, WICK_BAD_ARGUMENT, "no data or no place for it");
  wick_model *model;
  wick_status status = start(options, &model);
  if (status != WICK_OK) return status;
  model->file = data;
  model->file_size = size;
  return finish(model, load(model, options), out);
}

void wick_model_free(wick_model *model) {
  if (!model) return;
  wick_gdb_unregister(model);
  if (model->code_map) munmap(model->code_map, model->code_map_size);
  if (model->file_map) munmap(model->file_map, model->file_size);
  free(model->const_copy);
  free(model->tables);
  free(model->entries);
  free(model->entry_code);
  free(model->tensors);
  free(model->steps);
  free(model->step_code);
  free(model);
}
