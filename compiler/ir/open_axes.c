/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "compiler/ir/graph.h"

void wk_module_open(wk_module *m, const wk_open_axis *axis) {
  wk_open_axis copy = *axis;
  copy.tensor = wk_arena_strdup(m->arena, axis->tensor);
  copy.size = wk_arena_strdup(m->arena, axis->size);
  copy.symbol = wk_arena_strdup(m->arena, axis->symbol);
  wk_vec_push(&m->open_axes, copy);
}

void wk_module_copy_open(wk_module *m, const wk_module *from) {
  for (size_t i = 0; i < from->open_axes.n; i++) wk_module_open(m, &from->open_axes.data[i]);
}

static bool is_size(const wk_module *m, const char *name, bool is_output) {
  for (size_t i = 0; i < m->open_axes.n; i++) {
    const wk_open_axis *a = &m->open_axes.data[i];
    if (a->size_is_output == is_output && !strcmp(a->size, name)) return true;
  }
  return false;
}

size_t wk_module_seen_inputs(const wk_module *m) {
  size_t n = wk_graph_plain_inputs(m->main);
  while (n > 0 && is_size(m, wk_val(m->main, m->main->inputs.data[n - 1])->name, false)) n--;
  return n;
}

size_t wk_module_seen_outputs(const wk_module *m) {
  size_t n = wk_graph_plain_outputs(m->main);
  while (n > 0 && is_size(m, m->main->output_names.data[n - 1], true)) n--;
  return n;
}

wk_status wk_module_no_open(const wk_module *m, const char *where) {
  if (!m->open_axes.n) return NULL;
  const wk_open_axis *a = &m->open_axes.data[0];
  return wk_error(WK_UNSUPPORTED, "axis %d of %s %s has a size that is only known at run time "
                  "(%s), which %s does not take", a->axis, a->is_output ? "output" : "input",
                  a->tensor, a->symbol, where);
}
