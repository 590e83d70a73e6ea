/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/description.h"
wk_status wk_opencl_read_json(const char *path, wick_opencl_info *out) {
  *out = (wick_opencl_info){0};
  return wk_error(WK_IO, "%s: not yet", path);
}
