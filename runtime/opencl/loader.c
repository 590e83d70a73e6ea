/* SPDX-License-Identifier: Apache-2.0
 * Libraries are the ICD loader, which has OpenCL's functions by their names, or a driver, which may
 * have no more than the way to its platforms (cl_khr_icd): their first word is a table of all. */
#include "cl.h"

#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INSTALL "on Debian: apt-get install ocl-icd-libopencl1 pocl-opencl-icd"

static struct {
  pthread_once_t once;
  wick_cl functions;
  clIcdGetPlatformIDsKHR_fn driver_platforms; /* of a driver without the loader */
  bool is_found;
  _Atomic pid_t process; /* that has found it; 0: none has */
  wick_error_detail why;
} library = {.once = PTHREAD_ONCE_INIT};

/* What dlsym gives as a pointer to a function, which ISO C has no cast for. */
static bool symbol(void *object, const char *name, void *function) {
  void *address = dlsym(object, name);
  memcpy(function, &address, sizeof address);
  return address != NULL;
}

static bool from_names(void *object, wick_cl *out) {
#define WICK_X(name) && symbol(object, "cl" #name, &out->name)
  return true WICK_CL_FUNCTIONS(WICK_X);
#undef WICK_X
}

/* ---- a driver without the loader ------------------------------------------------------------- */

static cl_int CL_API_CALL get_driver_platforms(cl_uint size, cl_platform_id *out, cl_uint *n) {
  return library.driver_platforms(size, out, n);
}

static bool from_driver(void *object, wick_cl *out) {
  void *(CL_API_CALL *find)(const char *);
  cl_platform_id platform;
  cl_uint n = 0;
  if (!symbol(object, "clGetExtensionFunctionAddress", &find)) return false;
  void *address = find("clIcdGetPlatformIDsKHR");
  memcpy(&library.driver_platforms, &address, sizeof address);
  if (!address || library.driver_platforms(1, &platform, &n) != CL_SUCCESS || n == 0) return false;
  const cl_icd_dispatch *table = *(cl_icd_dispatch **)platform;
#define WICK_X(name) memcpy(&out->name, &table->cl##name, sizeof out->name);
  WICK_CL_FUNCTIONS(WICK_X)
#undef WICK_X
  out->GetPlatformIDs = get_driver_platforms;
  return true;
}

/* ---- libraries ------------------------------------------------------------------------------- */

static bool open_library(const char *name) {
  void *object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  cl_uint n = 0;
  if (!object) {
    wick_fail(&library.why, WICK_NO_DEVICE, "there is no OpenCL (%s); " INSTALL, dlerror());
    return false;
  }
  wick_cl *f = &library.functions;
  if (!from_names(object, f) && !from_driver(object, f)) {
    wick_fail(&library.why, WICK_NO_DEVICE, "%s has not all functions of OpenCL 1.2", name);
  } else if (f->GetPlatformIDs(0, NULL, &n) == CL_SUCCESS && n > 0) {
    library.why.text[0] = '\0';
    return true; /* it stays: drivers have threads */
  } else {
    wick_fail(&library.why, WICK_NO_DEVICE, "%s has no OpenCL platform; " INSTALL, name);
  }
  dlclose(object);
  return false;
}

static void open_one(void) {
  const char *own = getenv("WICK_OPENCL");
  if (own && *own) {
    library.is_found = open_library(own);
    return;
  }
  library.is_found = open_library("libOpenCL.so.1");
  wick_error_detail why = library.why;
  if (library.is_found) return;
  library.is_found = open_library("libnvidia-opencl.so.1");
  if (!library.is_found) library.why = why; /* what is to be installed */
}

static void find_library(void) {
  open_one();
  if (library.is_found) atomic_store(&library.process, getpid());
}

const wick_cl *wick_cl_get(wick_error_detail *why) {
  pthread_once(&library.once, find_library);
  if (library.is_found) return &library.functions;
  *why = library.why;
  return NULL;
}

/* ---- processes ------------------------------------------------------------------------------- */

bool wick_cl_is_forked(void) {
  pid_t process = atomic_load(&library.process);
  return process != 0 && process != getpid();
}

wick_status wick_cl_check_process(wick_error_detail *error) {
  if (!wick_cl_is_forked()) return WICK_OK;
  return wick_fail(error, WICK_DEVICE_FAILED, "OpenCL does not survive fork(): this process was "
                   "forked after OpenCL had been opened; fork first, then load packages");
}

void wick_cl_release_memory(const wick_cl *cl, cl_mem memory) {
  if (memory && !wick_cl_is_forked()) cl->ReleaseMemObject(memory);
}
