/* SPDX-License-Identifier: Apache-2.0
 * Memory of a device has an address as its name: a range that is reserved and that nobody can read
 * or write. Where the device works in the host's memory, it is memory of the host's. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "context.h"

static bool reserve(wick_cl_resident *r) {
  void *range = mmap(NULL, r->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  r->address = range == MAP_FAILED ? NULL : range;
  return r->address != NULL;
}

static wick_status make(wick_cl_context *c, wick_cl_resident *r, wick_error_detail *error) {
  cl_int code;
  if (c->u->shares_memory) {
    r->address = aligned_alloc(WICK_PAGE, wick_align_up(r->size, WICK_PAGE));
    return r->address ? wick_cl_import(c, r->address, r->size, error) : WICK_NO_MEMORY;
  }
  if (!reserve(r)) return WICK_NO_MEMORY;
  r->memory =
      c->cl->CreateBuffer(c->u->context, CL_MEM_READ_WRITE, r->size, NULL, &code);
  if (code == CL_SUCCESS) return WICK_OK;
  r->memory = NULL;
  return wick_cl_fail(error, "clCreateBuffer", code);
}

static void free_resident(const wick_cl_context *c, wick_cl_resident *r) {
  wick_cl_release_memory(c->cl, r->memory);
  if (c->u->shares_memory) free(r->address);
  else if (r->address) munmap(r->address, r->size);
  free(r);
}

wick_status wick_cl_allocate(void *context, size_t size, void **address,
                             wick_error_detail *error) {
  wick_cl_context *c = context;
  wick_status status = wick_cl_check_process(error);
  if (status != WICK_OK) return status;
  wick_cl_resident *r = calloc(1, sizeof *r);
  if (!r) return WICK_NO_MEMORY;
  r->size = size;
  status = make(c, r, error);
  if (status != WICK_OK) {
    free_resident(c, r);
    return wick_cl_note(c->u, status, error);
  }
  r->next = c->residents;
  c->residents = r;
  *address = r->address;
  return WICK_OK;
}

void wick_cl_free_residents(wick_cl_context *c) {
  while (c->residents) {
    wick_cl_resident *r = c->residents;
    c->residents = r->next;
    free_resident(c, r);
  }
}

cl_mem wick_cl_resident_at(const wick_cl_context *c, const void *address) {
  for (const wick_cl_resident *r = c->residents; r; r = r->next)
    if (r->address == address) return r->memory;
  return NULL;
}

static wick_status upload(wick_cl_context *c, void *address, const void *host, size_t size,
                          wick_error_detail *error) {
  cl_mem memory = wick_cl_resident_at(c, address);
  wick_status status = wick_cl_finish(c, error);
  if (status != WICK_OK) return status;
  if (!memory) return memcpy(address, host, size), WICK_OK;
  cl_int code =
      c->cl->EnqueueWriteBuffer(c->queue, memory, CL_TRUE, 0, size, host, 0, NULL, NULL);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clEnqueueWriteBuffer", code);
}

static wick_status download(wick_cl_context *c, const void *address, void *host, size_t size,
                            wick_error_detail *error) {
  cl_mem memory = wick_cl_resident_at(c, address);
  wick_status status = wick_cl_finish(c, error);
  if (status != WICK_OK) return status;
  if (!memory) return memcpy(host, address, size), WICK_OK;
  cl_int code = c->cl->EnqueueReadBuffer(c->queue, memory, CL_TRUE, 0, size, host, 0, NULL, NULL);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clEnqueueReadBuffer", code);
}

wick_status wick_cl_upload_to(void *context, void *address, const void *host, size_t size,
                              wick_error_detail *error) {
  wick_cl_context *c = context;
  return wick_cl_note(c->u, upload(c, address, host, size, error), error);
}

wick_status wick_cl_download_from(void *context, const void *address, void *host, size_t size,
                                  wick_error_detail *error) {
  wick_cl_context *c = context;
  return wick_cl_note(c->u, download(c, address, host, size, error), error);
}
