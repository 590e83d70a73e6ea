/* SPDX-License-Identifier: Apache-2.0
 * What OpenCL's error codes are called, and what they may mean. Behind a device's first failure
 * others follow that do not say why: drivers refuse a queue whose command has failed. */
#include <stdio.h>
#include <string.h>

#include "unit.h"

#define ERRORS(X)                                                                               \
  X(DEVICE_NOT_FOUND) X(DEVICE_NOT_AVAILABLE) X(COMPILER_NOT_AVAILABLE)                         \
  X(MEM_OBJECT_ALLOCATION_FAILURE) X(OUT_OF_RESOURCES) X(OUT_OF_HOST_MEMORY) X(MEM_COPY_OVERLAP) \
  X(PROFILING_INFO_NOT_AVAILABLE)                                                               \
  X(BUILD_PROGRAM_FAILURE) X(MAP_FAILURE) X(MISALIGNED_SUB_BUFFER_OFFSET)                       \
  X(EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) X(COMPILE_PROGRAM_FAILURE)                       \
  X(LINKER_NOT_AVAILABLE) X(LINK_PROGRAM_FAILURE) X(KERNEL_ARG_INFO_NOT_AVAILABLE)              \
  X(INVALID_VALUE) X(INVALID_DEVICE_TYPE) X(INVALID_PLATFORM) X(INVALID_DEVICE)                 \
  X(INVALID_CONTEXT) X(INVALID_QUEUE_PROPERTIES) X(INVALID_COMMAND_QUEUE) X(INVALID_HOST_PTR)   \
  X(INVALID_MEM_OBJECT) X(INVALID_BINARY) X(INVALID_BUILD_OPTIONS) X(INVALID_PROGRAM)           \
  X(INVALID_PROGRAM_EXECUTABLE) X(INVALID_KERNEL_NAME) X(INVALID_KERNEL_DEFINITION)             \
  X(INVALID_KERNEL) X(INVALID_ARG_INDEX) X(INVALID_ARG_VALUE) X(INVALID_ARG_SIZE)               \
  X(INVALID_KERNEL_ARGS) X(INVALID_WORK_DIMENSION) X(INVALID_WORK_GROUP_SIZE)                   \
  X(INVALID_WORK_ITEM_SIZE) X(INVALID_GLOBAL_OFFSET) X(INVALID_EVENT_WAIT_LIST)                 \
  X(INVALID_EVENT) X(INVALID_OPERATION) X(INVALID_BUFFER_SIZE) X(INVALID_GLOBAL_WORK_SIZE)      \
  X(INVALID_PROPERTY) X(INVALID_COMPILER_OPTIONS) X(INVALID_LINKER_OPTIONS)

typedef struct {
  cl_int code;
  const char *text;
} row;

static const row names[] = {
#define X(name) {CL_##name, "CL_" #name},
    ERRORS(X)
#undef X
};

/* What a user can do something about. */
static const row meanings[] = {
    {CL_OUT_OF_RESOURCES, "the device has too little memory, or a kernel has failed"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "the device has too little memory"},
    {CL_DEVICE_NOT_AVAILABLE, "the device is lost, or somebody has it alone"},
    {-9999, "a kernel has left its memory"}, /* NVIDIA's */
};

/* NULL: there is none. */
static const char *find(const row *rows, size_t n, cl_int code) {
  for (size_t i = 0; i < n; i++)
    if (rows[i].code == code) return rows[i].text;
  return NULL;
}

wick_status wick_cl_fail(wick_error_detail *error, const char *function, cl_int code) {
  bool is_memory = code == CL_OUT_OF_HOST_MEMORY || code == CL_MEM_OBJECT_ALLOCATION_FAILURE;
  const char *name = find(names, WICK_COUNTOF(names), code);
  const char *meaning = find(meanings, WICK_COUNTOF(meanings), code);
  char number[24];
  snprintf(number, sizeof number, "error %d", code);
  return wick_fail(error, is_memory ? WICK_NO_MEMORY : WICK_DEVICE_FAILED, "%s: %s%s%s", function,
                   name ? name : number, meaning ? ", " : "", meaning ? meaning : "");
}

/* ---- devices that have failed ---------------------------------------------------------------- */

static void forget(wick_cl_failure *f) {
  if (!atomic_load(&f->is_set)) return;
  pthread_mutex_lock(&f->lock);
  atomic_store(&f->is_set, false);
  pthread_mutex_unlock(&f->lock);
}

wick_status wick_cl_note(const wick_cl_unit *u, wick_status status, wick_error_detail *error) {
  wick_cl_failure *f = u->failure;
  if (wick_cl_is_forked()) return status;
  if (status == WICK_OK) forget(f);
  if (status != WICK_DEVICE_FAILED && status != WICK_NO_MEMORY) return status;
  pthread_mutex_lock(&f->lock);
  if (!atomic_load(&f->is_set)) {
    f->first = *error;
    atomic_store(&f->is_set, true);
  } else if (strcmp(f->first.text, error->text) != 0) {
    const wick_error_detail last = *error;
    wick_fail(error, status, "%.100s; before that: %.130s", last.text, f->first.text);
  }
  pthread_mutex_unlock(&f->lock);
  return status;
}
