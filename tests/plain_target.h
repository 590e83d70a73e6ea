/* SPDX-License-Identifier: Apache-2.0
 * A target without code: programs made for it are the evaluator's. */
#ifndef WICK_PLAIN_TARGET_H
#define WICK_PLAIN_TARGET_H

#include "compiler/target/target.h"

static bool plain_supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                           const char **reason) {
  (void)t, (void)g, (void)n, (void)a, (void)reason;
  return true;
}

static wk_wish plain_wish(const wk_instance *t, const wk_graph *part) {
  (void)t, (void)part;
  return (wk_wish){.channels_last = true, .align = 64};
}

static const wk_target plain_target = {.name = "plain", .supports = plain_supports,
                                       .wish = plain_wish};
static wk_instance plain_instance = {.target = &plain_target, .is_here = true};
static wk_instance *const plain_list[] = {&plain_instance};
static const wk_targets plain_targets = {.list = plain_list, .n = 1, .has_host = true};

#endif
