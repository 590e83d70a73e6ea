/* SPDX-License-Identifier: Apache-2.0
 * A cut by itself, as it is with no fusion before. */
#ifndef WICK_PARTITION_FOR_H
#define WICK_PARTITION_FOR_H

#include "compiler/part/part.h"

static inline wk_status partition_for(wk_module *m, const wk_targets *t,
                                      const wk_part_refusals *refused, wk_parts **out) {
  wk_owners *owners = wk_owners_new(t);
  wk_status s = wk_partition(m, owners, refused, true, out);
  wk_owners_free(owners);
  return s;
}

#endif
