/* SPDX-License-Identifier: Apache-2.0
 * What is asked of a list of instances: names, rates, pins. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "compiler/target/target.h"

uint32_t wk_targets_pinned(const wk_targets *all, const wk_node *n) {
  for (size_t i = all->n_pins; i-- > 0;)
    if (n->name && !fnmatch(all->pins[i].pattern, n->name, 0)) return all->pins[i].target;
  return WK_NONE;
}

wk_instance_name wk_targets_name(const wk_targets *all, uint32_t i) {
  const wk_instance *t = all->list[i];
  wk_instance_name x;
  size_t kind = 0, before = 0;
  for (size_t k = 0; k < all->n; k++) {
    const wk_instance *y = all->list[k];
    kind += y->target == t->target;
    bool is_same = t->spec && y->spec ? !strcmp(t->spec, y->spec) : t->spec == y->spec;
    before += k < i && y->target == t->target && is_same;
  }
  bool is_named = kind > 1 && t->spec;
  int n = snprintf(x.s, sizeof x.s, "%s%s%s", t->target->name, is_named ? ":" : "",
                   is_named ? t->spec : "");
  if (before && n < (int)sizeof x.s)
    snprintf(x.s + n, sizeof x.s - (size_t)n, "#%zu", before + 1);
  return x;
}

wk_target_cost wk_targets_cost(const wk_targets *all, uint32_t i) {
  const wk_instance *t = all->list[i];
  return t->target->cost_of ? t->target->cost_of(t) : t->target->cost;
}
