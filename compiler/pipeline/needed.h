/* SPDX-License-Identifier: Apache-2.0
 * needed: rows of outputs that a program asks for, so that others need not be computed.
 *
 *   --needed last_hidden_state=attention_mask   of [batch, tokens, ..] the rows where
 *                                               attention_mask, [batch, tokens], is not 0 */
#ifndef WICK_PIPELINE_NEEDED_H
#define WICK_PIPELINE_NEEDED_H

#include "compiler/pipeline/model.h"

/* Row of an option table: wk_strings `member` of the struct. */
#define WK_NEEDED_OPTION(type, member)                                                           \
  {"needed", 0, "OUTPUT=INPUT,…",                                                                \
   "only the rows of OUTPUT are needed where INPUT, which has its leading dimensions, is not 0; " \
   "what others hold is not said", .kind = WK_OPTION_LIST, .offset = offsetof(type, member)}

/* WK_USAGE: an option that does not fit the model. */
wk_status wk_model_need(wk_module *m, const wk_strings *options) WK_MUST_CHECK;

#endif
