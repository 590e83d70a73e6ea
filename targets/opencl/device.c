/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/device.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "targets/opencl/description.h"
#include "targets/opencl/query.h"

/* What OpenCL 1.2 asks of every device but custom ones, in round numbers. */
static const wick_opencl_info any = {
    .name = "any", .type = WICK_OPENCL_GPU, .units = 1, .max_group = 64, .max_items = {64, 64, 64},
    .base_align = 128, .float_width = 4, .local_memory = 32 << 10,
    .memory = UINT64_MAX, .max_alloc = UINT64_MAX}; /* these are for the runtime to find out */

static bool is_number(const char *s) {
  for (const char *c = s; *c; c++)
    if (!isdigit((unsigned char)*c)) return false;
  return *s && strlen(s) < 6;
}

static bool is_path(const char *s) {
  size_t n = strlen(s);
  return strchr(s, '/') || (n > 5 && !strcmp(s + n - 5, ".json"));
}

static wk_status list_devices(wk_status s, const wick_opencl_info *list, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    s = wk_status_item(s, "opencl:%u  %s (%s)", k, list[k].name, list[k].platform);
  return s;
}

static wk_status find_here(const char *spec, wk_opencl *out) {
  const wick_opencl_info *list;
  uint32_t n;
  wk_status s = wk_cl_query(&list, &n);
  if (s)
    return wk_status_item(s, "opencl:any and opencl:FILE compile for devices that are not here");
  for (uint32_t k = 0; k < n; k++) {
    bool fits = !spec || (is_number(spec) ? (uint32_t)atoi(spec) == k
                                          : strcasestr(list[k].name, spec) != NULL);
    if (!fits) continue;
    out->info = list[k];
    wick_opencl_spec(list, k, out->spec, sizeof out->spec);
    return NULL;
  }
  return list_devices(wk_error(WK_USAGE, "there is no OpenCL device '%s' here:", spec), list, n);
}

wk_status wk_cl_find_device(const char *spec, wk_opencl *out) {
  const wick_opencl_info *list;
  uint32_t n;
  bool is_any = spec && !strcmp(spec, "any");
  out->base.is_here = true;
  if (!is_any && (!spec || !is_path(spec))) return find_here(spec, out);
  if (is_any) out->info = any;
  else WK_TRY(wk_opencl_read_json(spec, &out->info));
  snprintf(out->spec, sizeof out->spec, "%s", out->info.name);
  if (is_any) return NULL;
  wk_status s = wk_cl_query(&list, &n);
  out->base.is_here = false;
  for (uint32_t k = 0; !s && k < n; k++)
    out->base.is_here = out->base.is_here || !strcmp(list[k].name, out->info.name);
  wk_status_free(s); /* then it is not here */
  return NULL;
}
