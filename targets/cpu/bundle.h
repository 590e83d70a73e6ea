/* SPDX-License-Identifier: Apache-2.0
 * bundle: the files of a bundle. An object file, a header that says how to call it, and the
 * weights: the constants, what variables are at first, and a seal that tells whose they are.
 * Private to this folder. */
#ifndef WICK_CPU_BUNDLE_H
#define WICK_CPU_BUNDLE_H

#include <stdio.h>

#include "compiler/memory/memory.h"
#include "targets/cpu/llvm/module.h"
#include "targets/cpu/rare/bitcode/guard.h"

/* ---- names ----------------------------------------------------------------------------------- */

/* "_train" or "_2" behind the names of part k; nothing when it is the only one. */
const char *wk_bundle_suffix(const wk_cpu_module *m, size_t k, wk_arena *a);
/* NAME_run, and what tells the part from the others. */
const char *wk_bundle_function(const wk_cpu_module *m, size_t k, const char *what, wk_arena *a);

/* ---- weights --------------------------------------------------------------------------------- */

typedef struct {
  wk_state *states; /* of all parts, in the order of their places */
  size_t n_states;
  uint64_t state_bytes, state_at; /* what they are at first, in the file */
  uint64_t bytes; /* in front of the seal */
  guard_seal seal;
} wk_bundle_weights;

/* Places the states and adds up all bytes. */
wk_status wk_bundle_weights_of(const wk_cpu_module *m, wk_arena *a,
                               wk_bundle_weights *out) WK_MUST_CHECK;
void wk_bundle_weights_write(wk_out *out, const wk_cpu_module *m, const wk_bundle_weights *w);

/* ---- header and guard ------------------------------------------------------------------------ */

void wk_bundle_header(FILE *f, const wk_cpu_module *m, const wk_bundle_weights *w,
                      const wk_emit_options *o);
/* The module's functions ask for the processor and these weights before they do anything else, and
 * there is one more, NAME_check. */
wk_status wk_bundle_guard(wk_cpu_module *m, const wk_bundle_weights *w) WK_MUST_CHECK;

#endif
