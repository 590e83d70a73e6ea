/* SPDX-License-Identifier: Apache-2.0
 * plugin: a target, or custom operators, in a shared object of its own, which
 * `wick --plugin FILE.so` loads (rank 2).
 *
 *   static const wk_target mine = {.name = "mine", …};
 *   WK_TARGET_PLUGIN(mine)
 *
 * It is compiled with the headers of the Wick that loads it, of which WICK_TARGET_ABI is a hash;
 * any other one is refused. Functions of the compiler are found in the command that loads it: link
 * it with nothing of Wick's. What runs the code is another library (runtime/device.h), so that
 * programs need nothing of the compiler; both may be in one file. */
#ifndef WICK_PLUGIN_H
#define WICK_PLUGIN_H

#include "compiler/ir/custom.h"
#include "compiler/target/target.h"
#include "wick_target_abi.h"

/* The hash that the plugin was compiled with. */
const char *wk_target_abi(void);
/* The target; it stays as it is from now on. */
const wk_target *wk_target_plugin(void);

#define WK_TARGET_PLUGIN(target)                                \
  const char *wk_target_abi(void) { return WICK_TARGET_ABI; }   \
  const wk_target *wk_target_plugin(void) { return &(target); }

/* Custom operators (compiler/ir/custom.h), a table of pointers that ends with NULL:
 *   static const wk_custom_op *const mine[] = {&snake, NULL};
 *   WK_CUSTOM_PLUGIN(mine)
 * Beside a target, WK_CUSTOM_OPS(mine). */
const wk_custom_op *const *wk_custom_plugin(void);

#define WK_CUSTOM_OPS(list) \
  const wk_custom_op *const *wk_custom_plugin(void) { return (list); }
#define WK_CUSTOM_PLUGIN(list)                                \
  const char *wk_target_abi(void) { return WICK_TARGET_ABI; } \
  WK_CUSTOM_OPS(list)

#endif
