/* SPDX-License-Identifier: Apache-2.0
 * plugin: a target in a shared object of its own, which `wick --plugin FILE.so` loads (rank 2).
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

#include "compiler/target/target.h"
#include "wick_target_abi.h"

/* The hash that the plugin was compiled with. */
const char *wk_target_abi(void);
/* The target; it stays as it is from now on. */
const wk_target *wk_target_plugin(void);

#define WK_TARGET_PLUGIN(target)                                \
  const char *wk_target_abi(void) { return WICK_TARGET_ABI; }   \
  const wk_target *wk_target_plugin(void) { return &(target); }

#endif
