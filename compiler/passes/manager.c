/* SPDX-License-Identifier: Apache-2.0
 * The pass table and the order in which it runs: rounds of everything until nothing changes. */
#include <string.h>

#include "compiler/passes/pass.h"

#define ROUNDS 8
#define GRAPH WK_STAGE_GRAPH
#define PRIMITIVE WK_STAGE_PRIMITIVE
#define BOTH (WK_STAGE_GRAPH | WK_STAGE_PRIMITIVE)

const wk_pass wk_passes[] = {
#define PASS(name, fn, stages, doc) {name, wk_pass_##fn, stages, doc, NULL},
#include "compiler/passes/passes.def"
#undef PASS
};
const size_t wk_passes_count = WK_COUNTOF(wk_passes);

const wk_pass *wk_pass_find(const char *name) {
  for (size_t i = 0; i < wk_passes_count; i++)
    if (!strcmp(wk_passes[i].name, name)) return &wk_passes[i];
  return NULL;
}

wk_status wk_pass_run_one(wk_module *m, const wk_pass *p, wk_owners *owners,
                          int64_t *changes) {
  wk_pass_ctx c = {.owners = owners, .scratch = wk_arena_new(), .data = p->data};
  wk_status s = NULL;
  for (size_t k = m->graphs.n; !s && k-- > 0;) { /* bodies come after their owners */
    int64_t before = c.changes;
    s = p->run(m->graphs.data[k], &c);
    if (!s && c.changes != before) s = wk_graph_normalise(m->graphs.data[k]);
    wk_arena_reset(c.scratch);
  }
  wk_arena_free(c.scratch);
  *changes = c.changes;
  if (owners && c.changes) wk_owners_forget(owners);
  if (!s && c.changes) s = wk_module_verify(m);
  return wk_status_note(s, "in pass %s", p->name);
}

wk_status wk_passes_run(wk_module *m, wk_stage stage, wk_owners *owners, wk_pass_hook hook,
                        void *ctx) {
  int64_t total = 1;
  for (int round = 0; round < ROUNDS && total; round++) {
    total = 0;
    for (size_t i = 0; i < wk_passes_count; i++) {
      const wk_pass *p = &wk_passes[i];
      int64_t changes = 0;
      double started = wk_clock();
      if (!(p->stages & (unsigned)stage)) continue;
      WK_TRY(wk_pass_run_one(m, p, owners, &changes));
      if (hook) WK_TRY(hook(ctx, p, m, changes, wk_clock() - started));
      total += changes;
    }
  }
  return NULL;
}
