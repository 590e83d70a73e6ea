/* SPDX-License-Identifier: Apache-2.0
 * A target that takes maps alone, beside a host, and modules lowered for them. */
#ifndef WICK_TEST_MAPS_TARGET_H
#define WICK_TEST_MAPS_TARGET_H

#include "compiler/lower/lower.h"
#include "tests/partition_for.h"
#include "tests/plain_target.h"

static const wk_target maps_host = {.name = "host", .supports = plain_supports,
                                    .wish = plain_wish, .cost = {1, 1, 0, 0}};

static inline bool supports_maps(const wk_instance *t, const wk_graph *g, const wk_node *n,
                                 wk_arena *a, const char **reason) {
  (void)t, (void)g, (void)a;
  *reason = "it is no map";
  return n->op == WK_OP_MAP;
}

static const wk_target maps_target = {.name = "maps", .supports = supports_maps,
                                      .wish = plain_wish};
static wk_instance maps_instance = {.target = &maps_target, .is_here = true};
static wk_instance dear_instance = {.target = &maps_host, .is_here = true};
static wk_instance *const maps_list[] = {&maps_instance, &dear_instance};
static const wk_targets maps_targets = {.list = maps_list, .n = 2, .has_host = true};

static inline wk_module *lowered(const char *graphs) {
  wk_module *m;
  wk_str text = {0};
  wk_str_printf(&text, "module \"t\" {\n%s}\n", graphs);
  wk_status s = wk_module_parse(text.s, "t", &m);
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
  assert_null(wk_lower_nodes(m, NULL, NULL));
  wk_str_free(&text);
  return m;
}

#endif
