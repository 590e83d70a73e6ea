/* SPDX-License-Identifier: Apache-2.0
 * state: inputs of a model that take what an output of the run before was, such as the caches of a
 * decoder, as variables: they live in the package's state, and callers see neither of the two.
 *
 *   --state past_k0=present_k0,past_v0=present_v0   pairs, input first
 *   --state past_*=present_*                        * stands for the same text on both sides
 *   --state auto                                    pairs by the names that exporters give them */
#ifndef WICK_PIPELINE_STATE_H
#define WICK_PIPELINE_STATE_H

#include "compiler/pipeline/model.h"

/* Row of an option table: wk_strings `member` of the struct. */
#define WK_STATE_OPTION(type, member)                                                            \
  {"state", 0, "INPUT=OUTPUT,…",                                                                 \
   "keep a tensor from run to run: INPUT takes what OUTPUT was, from zeros on, and callers see "  \
   "neither; * in both stands for the same text, auto takes past…=present…",                      \
   .kind = WK_OPTION_LIST, .offset = offsetof(type, member)}

/* The k-th name, from 0 on, that exporters may give the output that takes the place of an input
 * with this one; text in the arena. NULL: there are no more. */
const char *wk_state_present_name(wk_arena *a, const char *past, size_t k);
/* Whether the options name this input of a model with these outputs. */
bool wk_state_keeps(const wk_strings *options, const char *input, const wk_strings *outputs);
/* Makes variables, which begin as zeros, of what the options name; a module without options stays
 * as it is. `auto` adds a note of what it took, and of what it had to leave; path: of the model, as
 * in wk_model_notes. WK_USAGE: an option that does not fit the model. */
wk_status wk_model_keep(wk_module *m, const wk_strings *options, const char *path,
                        wk_notes *notes) WK_MUST_CHECK;

#endif
