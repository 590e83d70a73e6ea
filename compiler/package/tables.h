/* SPDX-License-Identifier: Apache-2.0
 * tables: a package before it is written. Private to package.
 *
 *   package.c  filling it
 *   check.c    do its pieces fit together
 *   write.c    the file */
#ifndef WICK_PACKAGE_TABLES_H
#define WICK_PACKAGE_TABLES_H

#include "compiler/package/package.h"
#include "runtime/wick.h"

typedef struct {
  const void *data; /* NULL: zeros */
  uint64_t offset, size;
} wk_package_piece;

typedef struct {
  uint32_t name, align;
  const void *data;
  uint64_t size;
} wk_package_own;

typedef struct {
  WK_VEC(uint8_t) code;
  WK_VEC(wk_package_piece) consts;
  WK_VEC(wk_package_own) own;
  WK_VEC(wick_pkg_symbol) symbols;
  wk_map *const_pieces; /* by contents */
  uint64_t const_size;
} wk_package_unit_data;

struct wk_package {
  wk_arena *texts;
  WK_VEC(wk_arena *) arenas; /* that were given to it */
  wk_map *text_offsets;
  wick_pkg_meta meta;
  WK_VEC(wick_pkg_unit) units; /* their sections are numbered when the package is written */
  WK_VEC(wk_package_unit_data) unit_data; /* one per unit */
  WK_VEC(wick_pkg_part) parts;
  WK_VEC(uint32_t) state_use; /* of each part */
  WK_VEC(wick_pkg_entry) entries;
  WK_VEC(wick_pkg_tensor) tensors;
  WK_VEC(wick_pkg_row) rows;
  WK_VEC(uint32_t) refs;
  WK_VEC(wick_pkg_step) steps;
  WK_VEC(wick_pkg_state) states;
  WK_VEC(wick_pkg_labels) labels;
  WK_VEC(wick_pkg_extent) extents;
  WK_VEC(char) strings;
  WK_VEC(wk_package_piece) initial; /* of states */
  uint64_t state_size;
  bool is_bad; /* a rank beyond WICK_MAX_RANK */
};

wk_status wk_package_check(const wk_package *p) WK_MUST_CHECK;

#endif
