/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/part/part.h"

#include <inttypes.h>

static wk_instance_name name_of(const wk_parts *p, uint32_t t) {
  return wk_targets_name(p->targets, t);
}

static void add_tensor(wk_str *b, const wk_parts *p, uint32_t t) {
  const wk_part_tensor *x = &p->tensors.data[t];
  wk_str_printf(b, " %s ", x->name);
  wk_type_print(b, &x->type);
  if (x->variable) wk_str_add(b, " (state)");
}

/* Variables that the part has, and which of these it changes. */
static void add_variables(wk_str *b, const wk_graph *g) {
  size_t first = wk_graph_plain_inputs(g);
  for (size_t i = first; i < g->inputs.n; i++) {
    const wk_value *v = wk_val(g, g->inputs.data[i]);
    bool changes = wk_graph_new_value(g, g->inputs.data[i]) != WK_NONE;
    wk_str_printf(b, "%s%s %s ", i == first ? "\n    state" : ",", changes ? " changes" : " reads",
                  v->name);
    wk_type_print(b, &v->type);
  }
}

static void add_run(wk_str *b, const wk_parts *p, const wk_part_row *r) {
  const wk_part *x = &p->parts.data[r->part];
  size_t n_in = wk_graph_plain_inputs(x->module->main);
  wk_str_printf(b, "part %s on %s: %" PRId64 " operator%s, %" PRId64 " MACs, %" PRId64
                   " bytes in and out", x->name, name_of(p, x->target).s, x->nodes,
                x->nodes == 1 ? "" : "s", x->macs, x->edge_bytes);
  for (size_t k = 0; k < r->tensors.n; k++) {
    wk_str_printf(b, "%s", k == n_in ? "\n    out" : k == 0 ? "\n    in " : ",");
    add_tensor(b, p, r->tensors.data[k]);
  }
  add_variables(b, x->module->main);
}

static void add_copy(wk_str *b, const wk_parts *p, const wk_part_row *r) {
  wk_str_add(b, "copy");
  add_tensor(b, p, r->tensors.data[1]);
  wk_str_add(b, " from");
  add_tensor(b, p, r->tensors.data[0]);
  wk_str_printf(b, ": %" PRId64 " bytes%s", r->bytes,
                r->source_step || r->destination_step ? " of each iteration" : "");
}

static void add_row(wk_str *b, const wk_parts *p, const wk_part_row *r) {
  switch (r->kind) {
    case WICK_ROW_RUN: add_run(b, p, r); break;
    case WICK_ROW_COPY: add_copy(b, p, r); break;
    case WICK_ROW_IF:
      wk_str_printf(b, "if (%u rows, else %u)", (unsigned)r->body_count, (unsigned)r->else_count);
      add_tensor(b, p, r->tensors.data[0]);
      break;
    case WICK_ROW_LOOP:
      wk_str_printf(b, "loop (%u rows) at most %" PRId64 " times", (unsigned)r->body_count,
                    r->trip);
      break;
  }
  for (size_t k = 0; k < r->waits.n; k++)
    wk_str_printf(b, "%s%u", k ? ", " : "\n    after row ", (unsigned)r->waits.data[k]);
  wk_str_add(b, "\n");
}

/* Reasons that are the same for many operators of one kind stand once, where the first one is. */
static void add_reasons(wk_str *b, const wk_parts *p) {
  wk_arena *a = wk_arena_new();
  wk_map *seen = wk_map_new(); /* number of the kind, in the order in which they come */
  uint32_t n = 0, kind, *count = wk_arena_alloc(a, p->reasons.n * sizeof *count);
  const wk_part_reason **first = wk_arena_alloc(a, p->reasons.n * sizeof *first);
  for (size_t i = 0; i < p->reasons.n; i++) {
    const wk_part_reason *r = &p->reasons.data[i];
    const char *key = wk_arena_printf(a, "%u %u %s %s", (unsigned)r->refused, (unsigned)r->target,
                                      r->op, r->reason);
    if (!wk_map_get(seen, key, &kind)) {
      wk_map_put(seen, key, kind = n++);
      first[kind] = r;
    }
    count[kind]++;
  }
  for (uint32_t k = 0; k < n; k++) {
    const wk_part_reason *r = first[k];
    wk_str_printf(b, "  %s on %s, not %s: %s\n    %s", r->op, name_of(p, r->target).s,
                  name_of(p, r->refused).s, r->reason, r->node);
    if (count[k] > 1)
      wk_str_printf(b, " and %u other%s", (unsigned)count[k] - 1, count[k] == 2 ? "" : "s");
    wk_str_add(b, "\n");
  }
  wk_map_free(seen);
  wk_arena_free(a);
}

const char **wk_parts_colours(const wk_parts *p, wk_arena *a) {
  static const char *const palette[] = {"#9ecae1", "#a1d99b", "#fdae6b", "#bcbddc", "#fa9fb5"};
  const char **colour = wk_arena_alloc(a, p->of.n * sizeof *colour);
  for (size_t i = 0; i < p->of.n; i++) {
    if (p->of.data[i] == WK_NONE) continue;
    uint32_t target = p->parts.data[p->of.data[i]].target;
    if (target + 1 < p->targets->n || p->targets->n == 1)
      colour[i] = palette[target % WK_COUNTOF(palette)];
  }
  return colour;
}

void wk_parts_print(wk_str *b, const wk_parts *p) {
  for (size_t i = 0; i < p->rows.n; i++) {
    wk_str_printf(b, "row %zu: ", i);
    add_row(b, p, &p->rows.data[i]);
  }
  wk_str_printf(b, "edges: %" PRId64 " bytes of memory\n", p->edge_bytes);
  if (p->reasons.n) wk_str_add(b, "operators that a target of higher preference did not get:\n");
  add_reasons(b, p);
}
