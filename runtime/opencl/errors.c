/* SPDX-License-Identifier: Apache-2.0
 * What OpenCL's error codes are called. */
#include "cl.h"

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

static const struct {
  cl_int code;
  const char *name;
} errors[] = {
#define X(name) {CL_##name, "CL_" #name},
    ERRORS(X)
#undef X
};

wick_status wick_cl_fail(wick_error_detail *error, const char *function, cl_int code) {
  bool is_memory = code == CL_OUT_OF_HOST_MEMORY || code == CL_MEM_OBJECT_ALLOCATION_FAILURE;
  wick_status status = is_memory ? WICK_NO_MEMORY : WICK_DEVICE_FAILED;
  for (size_t i = 0; i < WICK_COUNTOF(errors); i++)
    if (errors[i].code == code) return wick_fail(error, status, "%s: %s", function, errors[i].name);
  return wick_fail(error, status, "%s: error %d", function, code);
}
