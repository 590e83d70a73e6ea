/* SPDX-License-Identifier: Apache-2.0
 * devices: the OpenCL devices of this machine, found through the ICD loader, which is opened when
 * it is first asked for (libOpenCL.so.1; WICK_OPENCL names another library, a driver for
 * example). */
#ifndef WICK_OPENCL_DEVICES_H
#define WICK_OPENCL_DEVICES_H

#include "runtime/wick.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wick_opencl_type {
  WICK_OPENCL_CPU = 1,
  WICK_OPENCL_GPU = 2,
  WICK_OPENCL_ACCELERATOR = 3 /* or anything else */
} wick_opencl_type;

/* What a device says of itself. */
typedef struct wick_opencl_info {
  char name[128], vendor[64], platform[128], driver[64], version[64]; /* ASCII; version: OpenCL's */
  wick_opencl_type type;
  uint32_t units;       /* compute units */
  uint32_t clock_mhz;   /* 0: it does not say */
  uint32_t max_group;   /* work items of a work-group */
  uint32_t max_items[3];
  uint32_t base_align;  /* bytes: where memory of the device begins */
  uint32_t float_width; /* native vector width of f32; 1: it has no vectors */
  uint32_t half_width;  /* of f16; 0: it has none */
  uint32_t subgroup;    /* the size of subgroups, where they are advertised; else 0 */
  uint64_t memory, max_alloc, local_memory; /* bytes */
  int has_f64, has_f16, has_dot; /* has_dot: packed 8-bit dot products */
  int has_unified_memory;        /* it shares the host's */
  int has_matrix; /* units for products of halves and bytes, by the PTX of NVIDIA's compute
                     capability 8.0. In a list the device's word for it: targets/opencl/probe.h */
} wick_opencl_info;

enum { WICK_OPENCL_MAX_DEVICES = 64 };

/* Devices by index: all platforms in the loader's order, all devices of each. *list stays as it is
 * until the process ends, and in those that are forked from it, though none of them can be used
 * there. Those that cannot compile are left out. WICK_NO_DEVICE: there is no
 * loader, no platform or no device, and the text says which and how to get one. error may be
 * NULL. */
wick_status wick_opencl_list(const wick_opencl_info **list, uint32_t *count,
                             wick_error_detail *error);

/* How device `index` of a list is called where names must differ: by its name, the second of one
 * name "NAME#2". */
void wick_opencl_spec(const wick_opencl_info *list, uint32_t index, char *out, size_t size);

/* The folder of caches, which is made: "opencl" in $WICK_CACHE, else in $XDG_CACHE_HOME/wick, else
 * in ~/.cache/wick. 0: there is none, or not ours alone, and the path is undefined. */
int wick_opencl_cache_folder(char *path, size_t size);

#ifdef __cplusplus
}
#endif

#endif
