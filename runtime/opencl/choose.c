/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* What the device lacks first, into `out`; false: nothing. */
static bool lacks(const wick_opencl_info *d, const wick_cl_needs *n, char *out, size_t size) {
  const struct {
    bool is_missing;
    const char *what;
  } features[] = {
      {n->flags & WICK_CL_NEEDS_F64 && !d->has_f64, "f64 (cl_khr_fp64)"},
      {n->flags & WICK_CL_NEEDS_F16 && !d->has_f16, "f16 (cl_khr_fp16)"},
      {n->flags & WICK_CL_NEEDS_DOT && !d->has_dot, "cl_khr_integer_dot_product"},
      {n->flags & WICK_CL_NEEDS_SUBGROUPS && !d->subgroup, "subgroups"},
      {n->flags & WICK_CL_NEEDS_MATRIX && !d->has_matrix && strncmp(d->vendor, "NVIDIA", 6) == 0,
       "matrix units (compute capability 8.0)"},
  };
  const struct {
    uint64_t needed, there;
    const char *what;
  } sizes[] = {
      {n->max_group, d->max_group, "work items of a group"},
      {n->max_items[0], d->max_items[0], "work items along dimension 0"},
      {n->max_items[1], d->max_items[1], "work items along dimension 1"},
      {n->max_items[2], d->max_items[2], "work items along dimension 2"},
      {n->local_bytes, d->local_memory, "bytes of local memory"},
      {n->largest, d->max_alloc, "bytes in one allocation"},
      {n->arena_bytes, d->memory, "bytes of memory"},
  };
  for (size_t i = 0; i < WICK_COUNTOF(features); i++)
    if (features[i].is_missing) return snprintf(out, size, "%s", features[i].what), true;
  for (size_t i = 0; i < WICK_COUNTOF(sizes); i++)
    if (sizes[i].needed > sizes[i].there)
      return snprintf(out, size, "%llu %s", (unsigned long long)sizes[i].needed, sizes[i].what),
             true;
  return false;
}

/* The device that the user names, by its number or a part of its name in any case, with or without
 * "opencl:" in front; WICK_NONE: there is no such one. */
static uint32_t find_named(const char *name, const wick_opencl_info *list, uint32_t n) {
  char *end;
  if (strncmp(name, "opencl:", 7) == 0) name += 7;
  unsigned long index = strtoul(name, &end, 10);
  if (*end == '\0') return index < n ? (uint32_t)index : WICK_NONE;
  for (uint32_t i = 0; i < n; i++)
    if (strcasestr(list[i].name, name)) return i;
  return WICK_NONE;
}

static wick_status choose_named(const wick_cl_needs *needs, const char *name,
                                const wick_opencl_info *list, uint32_t n, uint32_t *out,
                                wick_error_detail *error) {
  char missing[96];
  *out = find_named(name, list, n);
  if (*out == WICK_NONE)
    return wick_fail(error, WICK_BAD_MACHINE,
                     "WICK_OPENCL_DEVICE=%s is none of the OpenCL devices (0 .. %u)", name, n - 1);
  if (lacks(&list[*out], needs, missing, sizeof missing))
    return wick_fail(error, WICK_BAD_MACHINE, "OpenCL device '%s' (WICK_OPENCL_DEVICE) lacks %s",
                     list[*out].name, missing);
  return WICK_OK;
}

/* "NAME", or "NAME#2" for the second of that name. */
static bool is_of(const char *spec, const wick_opencl_info *list, uint32_t device) {
  char text[sizeof list->name + 16];
  wick_opencl_spec(list, device, text, sizeof text);
  return strcmp(text, spec) == 0;
}

/* Of each device its first reason, as long as there is room. */
static wick_status fail_all(const wick_cl_needs *needs, const wick_opencl_info *list, uint32_t n,
                            wick_error_detail *error) {
  char text[sizeof error->text] = "", missing[96];
  size_t used = 0;
  for (uint32_t i = 0; i < n && used < sizeof text; i++) {
    lacks(&list[i], needs, missing, sizeof missing);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s'%s' lacks %s", i ? ", " : "",
                             list[i].name, missing);
  }
  return wick_fail(error, WICK_BAD_MACHINE, "OpenCL device %s", text);
}

wick_status wick_cl_choose(const wick_cl_needs *needs, const char *spec, wick_cl_device *out,
                           wick_error_detail *error) {
  const wick_opencl_info *list;
  const char *named = getenv("WICK_OPENCL_DEVICE");
  uint32_t n, chosen = WICK_NONE;
  char missing[96];
  wick_status status = wick_opencl_list(&list, &n, error);
  if (status != WICK_OK) return status;
  if (named && *named) {
    status = choose_named(needs, named, list, n, &chosen, error);
    if (status == WICK_OK) *out = wick_cl_device_of(chosen);
    return status;
  }
  for (uint32_t i = n, best = 0; i-- > 0;) {
    if (lacks(&list[i], needs, missing, sizeof missing)) continue;
    uint32_t fit = is_of(spec, list, i) ? 3 : list[i].type == needs->type ? 2 : 1;
    if (fit >= best) best = fit, chosen = i;
  }
  if (chosen == WICK_NONE) return fail_all(needs, list, n, error);
  *out = wick_cl_device_of(chosen);
  return WICK_OK;
}
