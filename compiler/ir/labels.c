/* SPDX-License-Identifier: Apache-2.0 */
/* What the numbers of a model's outputs stand for. */
#include <string.h>

#include "compiler/ir/text.h"

const char *wk_labels_kind_name(wk_labels_kind k) {
  static const char *const names[] = {[WK_LABELS_ELEMENTS] = "elements",
                                      [WK_LABELS_COLUMNS] = "columns"};
  return names[k];
}

void wk_module_label(wk_module *m, const wk_labels *labels) {
  wk_arena *a = m->arena;
  const char **texts = wk_arena_alloc(a, (size_t)labels->texts.n * sizeof *texts);
  for (int64_t i = 0; i < labels->texts.n; i++) texts[i] = wk_arena_strdup(a, labels->texts.v[i]);
  wk_labels copy = *labels;
  copy.output = wk_arena_strdup(a, labels->output);
  copy.texts.v = texts;
  wk_vec_push(&m->labels, copy);
}

void wk_module_unlabel(wk_module *m, const char *output) {
  size_t kept = 0;
  for (size_t i = 0; i < m->labels.n; i++)
    if (strcmp(m->labels.data[i].output, output) != 0) m->labels.data[kept++] = m->labels.data[i];
  m->labels.n = kept;
}

const wk_labels *wk_module_labels(const wk_module *m, const char *output) {
  for (size_t i = 0; i < m->labels.n; i++)
    if (strcmp(m->labels.data[i].output, output) == 0) return &m->labels.data[i];
  return NULL;
}

void wk_module_copy_labels(wk_module *m, const wk_module *from) {
  for (size_t i = 0; i < from->labels.n; i++) wk_module_label(m, &from->labels.data[i]);
}
