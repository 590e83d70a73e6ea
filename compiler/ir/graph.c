/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/ir/graph.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/graph_names.h"

/* ---- modules and graphs -------------------------------------------------------------------- */

wk_module *wk_module_new(const char *name) {
  wk_arena *a = wk_arena_new();
  wk_module *m = wk_arena_alloc(a, sizeof *m);
  m->arena = a;
  m->name = wk_arena_strdup(a, name ? name : "");
  m->names = wk_map_new();
  m->constant_bytes_left = m->fold_work_left = INT64_MAX;
  return m;
}

static void free_graph(wk_graph *g) {
  wk_vec_free(&g->values);
  wk_vec_free(&g->nodes);
  wk_vec_free(&g->inputs);
  wk_vec_free(&g->outputs);
  wk_vec_free(&g->output_names);
  wk_vec_free(&g->updates);
  wk_map_free(g->names);
  g->names = NULL;
}

void wk_module_free(wk_module *m) {
  if (!m) return;
  wk_module_free(m->source);
  for (size_t i = 0; i < m->graphs.n; i++) free_graph(m->graphs.data[i]);
  wk_vec_free(&m->graphs);
  wk_vec_free(&m->labels);
  wk_vec_free(&m->open_axes);
  wk_vec_free(&m->quantised);
  wk_map_free(m->names);
  for (size_t i = 0; i < m->blobs.n; i++) free(m->blobs.data[i]);
  wk_vec_free(&m->blobs);
  for (size_t i = 0; i < m->files.n; i++) wk_file_unmap(&m->files.data[i]);
  wk_vec_free(&m->files);
  wk_arena_free(m->arena);
}

static int by_address(const void *a, const void *b) {
  uintptr_t x = (uintptr_t) * (void *const *)a, y = (uintptr_t) * (void *const *)b;
  return (x > y) - (x < y);
}

/* The last of the sorted blobs that begins at or before p: the only one that p may lie in; n:
 * none. */
static size_t blob_of(const wk_module *m, const void *p) {
  size_t low = 0, high = m->blobs.n;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if ((uintptr_t)m->blobs.data[middle] <= (uintptr_t)p) low = middle + 1;
    else high = middle;
  }
  return low ? low - 1 : m->blobs.n;
}

void wk_module_trim(wk_module *m, const wk_module *reader) {
  bool *is_used = wk_xcalloc(m->blobs.n + 1, sizeof *is_used);
  size_t kept = 0;
  if (m->blobs.n) qsort(m->blobs.data, m->blobs.n, sizeof *m->blobs.data, by_address);
  for (size_t k = 0; k < reader->graphs.n; k++) {
    const wk_graph *g = reader->graphs.data[k];
    for (size_t v = 0; v < g->values.n; v++) {
      if (g->values.data[v].kind == WK_VALUE_CONSTANT)
        is_used[blob_of(m, g->values.data[v].data)] = true;
      if (wk_is_variable(g, (wk_value_id)v)) is_used[blob_of(m, g->values.data[v].initial)] = true;
    }
  }
  for (size_t i = 0; i < m->blobs.n; i++) {
    if (is_used[i]) m->blobs.data[kept++] = m->blobs.data[i];
    else free(m->blobs.data[i]);
  }
  m->blobs.n = kept;
  free(is_used);
}

void wk_module_drop_graphs(wk_module *m, size_t n) {
  while (m->graphs.n > n) {
    wk_graph *gone = m->graphs.data[--m->graphs.n];
    wk_map_put(m->names, gone->name, 0);
    free_graph(gone);
  }
}

static bool graph_name_taken(const wk_module *m, const char *name) {
  uint32_t is_there = 0;
  return wk_map_get(m->names, name, &is_there) && is_there;
}

wk_graph *wk_graph_new(wk_module *m, const char *name) {
  wk_graph *g = wk_arena_alloc(m->arena, sizeof *g);
  const char *base = name && *name ? name : m->graphs.n ? "graph" : "main";
  const char *unique = base;
  for (size_t k = m->graphs.n; graph_name_taken(m, unique); k++)
    unique = wk_arena_printf(m->arena, "%s.%zu", base, k);
  g->name = wk_arena_strdup(m->arena, unique);
  g->module = m;
  g->names = wk_map_new();
  wk_map_put(m->names, g->name, 1);
  wk_vec_push(&m->graphs, g);
  if (!m->main) m->main = g;
  return g;
}

/* Which graphs the main one reaches through bodies, parallel to m->graphs. */
static bool *reachable_graphs(const wk_module *m, wk_arena *scratch) {
  bool *seen = wk_arena_alloc(scratch, m->graphs.n);
  wk_map *index = wk_map_new(); /* names are unique */
  uint32_t *work = wk_arena_alloc(scratch, m->graphs.n * sizeof *work);
  size_t n_work = 0;
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    wk_map_put(index, m->graphs.data[i]->name, i);
    if (m->graphs.data[i] == m->main) seen[i] = true, work[n_work++] = i;
  }
  while (n_work) {
    const wk_graph *g = m->graphs.data[work[--n_work]];
    for (size_t k = 0; k < g->nodes.n; k++) {
      const wk_node *n = &g->nodes.data[k];
      for (uint32_t b = 0; !n->dead && b < n->n_bodies; b++) {
        uint32_t i;
        if (!wk_map_get(index, n->bodies[b]->name, &i) || seen[i]) continue;
        seen[i] = true;
        work[n_work++] = i;
      }
    }
  }
  wk_map_free(index);
  return seen;
}

wk_status wk_module_normalise(wk_module *m) {
  for (size_t i = 0; i < m->graphs.n; i++) WK_TRY(wk_graph_normalise(m->graphs.data[i]));
  wk_arena *scratch = wk_arena_new();
  bool *seen = reachable_graphs(m, scratch);
  size_t kept = 0;
  for (size_t i = 0; i < m->graphs.n; i++) {
    wk_graph *g = m->graphs.data[i];
    if (seen[i]) {
      m->graphs.data[kept++] = g;
      continue;
    }
    wk_map_put(m->names, g->name, 0);
    free_graph(g);
  }
  m->graphs.n = kept;
  wk_arena_free(scratch);
  return NULL;
}

/* ---- names --------------------------------------------------------------------------------- */

bool wk_name_is_generated(const char *name) {
  return name[0] == '_' && name[1] && strspn(name + 1, "0123456789") == strlen(name + 1);
}

const char *wk_graph_unique_name(const wk_graph *g, const char *name) {
  uint32_t id;
  wk_arena *a = g->module->arena;
  bool generated = !name || !*name;
  if (!generated && !wk_map_get(g->names, name, &id)) return wk_arena_strdup(a, name);
  /* A few small numbers read best; after them the steps grow, so that long runs of taken names
   * (renumbered graphs, hostile files) cost few probes. */
  size_t n = strlen(generated ? "" : name) + 24;
  char *text = wk_arena_alloc(a, n);
  uint64_t k = generated ? g->values.n : 1;
  for (uint64_t probe = 0;; probe++, k += probe < 8 ? 1 : probe * probe) {
    if (probe == 8) k += g->values.n;
    if (generated) snprintf(text, n, "_%llu", (unsigned long long)k);
    else snprintf(text, n, "%s.%llu", name, (unsigned long long)k);
    if (!wk_map_get(g->names, text, &id)) return text;
  }
}

void wk_graph_set_name(wk_graph *g, wk_value_id v, const char *name) {
  wk_val(g, v)->name = name;
  wk_map_put(g->names, name, v);
}

/* ---- values -------------------------------------------------------------------------------- */

static wk_value_id add_value(wk_graph *g, const char *name, const wk_type *t, wk_value_kind kind) {
  wk_value_id id = (wk_value_id)g->values.n;
  const char *unique = wk_graph_unique_name(g, name);
  wk_value v = {.type = *t, .kind = kind, .node = WK_NONE};
  wk_vec_push(&g->values, v);
  wk_graph_set_name(g, id, unique);
  return id;
}

/* ids[n - 1], the last one, goes to `at`; those from there on move up. */
static void move_last(wk_value_id *ids, size_t n, size_t at) {
  wk_value_id last = ids[n - 1];
  memmove(ids + at + 1, ids + at, (n - 1 - at) * sizeof *ids);
  ids[at] = last;
}

size_t wk_graph_plain_inputs(const wk_graph *g) {
  size_t n = g->inputs.n;
  while (n && wk_is_variable(g, g->inputs.data[n - 1])) n--;
  return n;
}

size_t wk_graph_plain_outputs(const wk_graph *g) {
  size_t n = g->outputs.n;
  while (n && g->updates.data[n - 1] != WK_NONE) n--;
  return n;
}

wk_value_id wk_graph_input(wk_graph *g, const char *name, const wk_type *t) {
  size_t at = wk_graph_plain_inputs(g);
  wk_value_id v = add_value(g, name, t, WK_VALUE_INPUT);
  wk_vec_push(&g->inputs, v);
  move_last(g->inputs.data, g->inputs.n, at);
  for (size_t i = at; i < g->inputs.n; i++) wk_val(g, g->inputs.data[i])->index = (uint32_t)i;
  return v;
}

wk_value_id wk_graph_variable(wk_graph *g, const char *name, const wk_type *t, const void *data,
                              bool is_trainable) {
  wk_value_id v = add_value(g, name, t, WK_VALUE_INPUT);
  wk_value *x = wk_val(g, v);
  x->initial = data;
  x->is_trainable = is_trainable;
  x->index = (uint32_t)g->inputs.n;
  wk_vec_push(&g->inputs, v);
  return v;
}

wk_value_id wk_graph_constant(wk_graph *g, const char *name, const wk_type *t, const void *data) {
  wk_value_id v = add_value(g, name, t, WK_VALUE_CONSTANT);
  wk_val(g, v)->data = data;
  return v;
}

wk_status wk_graph_data_alloc(wk_graph *g, const wk_type *t, void **data) {
  WK_TRY(wk_type_check(t));
  if (wk_type_bytes(t) > g->module->constant_bytes_left)
    return wk_error(WK_RESOURCE, "computed constants exceed their budget");
  WK_TRY(wk_try_malloc((size_t)wk_type_bytes(t), data));
  g->module->constant_bytes_left -= wk_type_bytes(t);
  wk_vec_push(&g->module->blobs, *data);
  return NULL;
}

wk_status wk_graph_constant_alloc(wk_graph *g, const char *name, const wk_type *t, wk_value_id *out,
                                  void **data) {
  WK_TRY(wk_graph_data_alloc(g, t, data));
  *out = wk_graph_constant(g, name, t, *data);
  return NULL;
}

wk_value_id wk_graph_scalar(wk_graph *g, wk_dtype t, double v) {
  wk_type type = wk_type_make(t, 0, NULL);
  void *data = wk_arena_alloc(g->module->arena, 8);
  wk_store_f64(data, t, 0, v);
  return wk_graph_constant(g, NULL, &type, data);
}

static void add_output(wk_graph *g, const char *name, wk_value_id v, wk_value_id variable) {
  wk_vec_push(&g->outputs, v);
  wk_vec_push(&g->output_names, wk_arena_strdup(g->module->arena, name));
  wk_vec_push(&g->updates, variable);
}

void wk_graph_drop_outputs(wk_graph *g) {
  g->outputs.n = g->output_names.n = g->updates.n = 0;
}

void wk_graph_output(wk_graph *g, const char *name, wk_value_id v) {
  size_t at = wk_graph_plain_outputs(g), n = g->outputs.n + 1;
  add_output(g, name && *name ? name : wk_val(g, v)->name, v, WK_NONE);
  const char *text = g->output_names.data[n - 1];
  move_last(g->outputs.data, n, at);
  move_last(g->updates.data, n, at);
  memmove(g->output_names.data + at + 1, g->output_names.data + at,
          (n - 1 - at) * sizeof *g->output_names.data);
  g->output_names.data[at] = text;
}

void wk_graph_update(wk_graph *g, wk_value_id variable, wk_value_id value) {
  add_output(g, wk_val(g, variable)->name, value, variable);
}

static void remove_at(wk_value_id *ids, size_t n, size_t at) {
  memmove(ids + at, ids + at + 1, (n - 1 - at) * sizeof *ids);
}

static void remove_output(wk_graph *g, size_t i) {
  size_t n = g->outputs.n--;
  remove_at(g->outputs.data, n, i);
  remove_at(g->updates.data, n, i);
  memmove(g->output_names.data + i, g->output_names.data + i + 1,
          (n - 1 - i) * sizeof *g->output_names.data);
  g->updates.n = g->output_names.n = n - 1;
}

wk_status wk_graph_keep(wk_graph *g, wk_value_id input, size_t output) {
  wk_value *x = wk_val(g, input);
  wk_value_id value = g->outputs.data[output];
  size_t n = g->inputs.n, bytes = (size_t)wk_type_bytes(&x->type);
  void *zeros = calloc(bytes ? bytes : 1, 1); /* pages that nobody writes take no memory */
  if (!zeros) return wk_error(WK_RESOURCE, "out of memory for %zu bytes of %s", bytes, x->name);
  wk_vec_push(&g->module->blobs, zeros);
  wk_module_unlabel(g->module, g->output_names.data[output]);
  remove_at(g->inputs.data, n, x->index);
  g->inputs.data[n - 1] = input;
  x->initial = zeros;
  x->is_public = true;
  for (size_t i = 0; i < n; i++) wk_val(g, g->inputs.data[i])->index = (uint32_t)i;
  remove_output(g, output);
  if (value != input) wk_graph_update(g, input, value);
  return NULL;
}

static bool is_output(const wk_graph *g, wk_value_id v, size_t first, size_t end) {
  bool is = false;
  for (size_t i = first; i < end; i++) is = is || g->outputs.data[i] == v;
  return is;
}

bool wk_is_update(const wk_graph *g, wk_value_id v) {
  return is_output(g, v, wk_graph_plain_outputs(g), g->outputs.n);
}

bool wk_is_plain_output(const wk_graph *g, wk_value_id v) {
  return is_output(g, v, 0, wk_graph_plain_outputs(g));
}

wk_value_id wk_graph_new_value(const wk_graph *g, wk_value_id variable) {
  for (size_t i = wk_graph_plain_outputs(g); i < g->outputs.n; i++)
    if (g->updates.data[i] == variable) return g->outputs.data[i];
  return WK_NONE;
}

/* ---- nodes --------------------------------------------------------------------------------- */

static uint32_t bodies_of(wk_op op) { return op == WK_OP_IF ? 2 : op == WK_OP_LOOP ? 1 : 0; }

/* How many outputs a node has when the caller does not say. */
static uint32_t default_outputs(const wk_node_desc *d, const void *attrs) {
  switch (d->op) {
  case WK_OP_SPLIT: return (uint32_t)((const wk_attr_split *)attrs)->sizes.n;
  case WK_OP_MAP: {
    const wk_expr *e = ((const wk_attr_map *)attrs)->body;
    return e ? e->n_results : 1;
  }
  case WK_OP_IF: return (uint32_t)d->bodies[0]->outputs.n;
  case WK_OP_LOOP: {
    const wk_attr_loop *l = attrs;
    return (uint32_t)d->bodies[0]->outputs.n - (l->has_cond && d->bodies[0]->outputs.n);
  }
  default: return (uint32_t)wk_op_get(d->op)->min_out;
  }
}

static wk_status check_desc(const wk_graph *g, const wk_node_desc *d) {
  if ((unsigned)d->op >= WK_OP_COUNT) return wk_error(WK_INPUT, "unknown operator %d", (int)d->op);
  const wk_op_info *op = wk_op_get(d->op);
  if (op->kind == WK_KIND_INST)
    return wk_error(WK_INPUT, "%s is an instruction, not a graph operator", op->name);
  for (uint32_t i = 0; i < d->n_in; i++) {
    if (d->in[i] == WK_NONE) continue;
    if (d->in[i] >= g->values.n || wk_val(g, d->in[i])->kind == WK_VALUE_DEAD)
      return wk_error(WK_INPUT, "%s: input %u is not a value of this graph", op->name, i);
  }
  uint32_t bodies = bodies_of(d->op);
  if (d->n_bodies != bodies)
    return wk_error(WK_INPUT, "%s has %u bodies, needs %u", op->name, d->n_bodies, bodies);
  return NULL;
}

static wk_status infer_outputs(const wk_graph *g, const wk_node_desc *d, const void *attrs,
                               uint32_t n_out, wk_type *types) {
  const wk_type **in = wk_xcalloc(d->n_in, sizeof *in);
  for (uint32_t i = 0; i < d->n_in; i++)
    in[i] = d->in[i] == WK_NONE ? NULL : &wk_val(g, d->in[i])->type;
  wk_infer query = {.graph = g, .op = d->op, .attrs = attrs, .in = in, .n_in = d->n_in,
                    .n_out = n_out, .n_bodies = d->n_bodies, .bodies = d->bodies, .out = types};
  wk_status s = wk_infer_node(&query);
  free(in);
  return s;
}

static bool output_unwanted(const wk_node_desc *d, uint32_t i) {
  return d->out_names && d->out_names[i] && !*d->out_names[i];
}

static void append_node(wk_graph *g, const wk_node_desc *d, void *attrs, uint32_t n_out,
                        const wk_type *types, wk_value_id *out) {
  wk_arena *a = g->module->arena;
  wk_node n = {.op = d->op, .attrs = attrs, .n_in = d->n_in, .n_out = n_out,
               .n_bodies = d->n_bodies, .predicate = WK_NONE};
  n.name = wk_arena_strdup(a, d->name ? d->name : "");
  n.in = wk_arena_memdup(a, d->in, d->n_in * sizeof *n.in);
  n.out = wk_arena_alloc(a, n_out * sizeof *n.out);
  n.bodies = wk_arena_memdup(a, d->bodies, d->n_bodies * sizeof(wk_graph *));
  for (uint32_t i = 0; i < n_out; i++) {
    n.out[i] = WK_NONE;
    if (!output_unwanted(d, i)) {
      n.out[i] = add_value(g, d->out_names ? d->out_names[i] : NULL, &types[i], WK_VALUE_NODE);
      wk_val(g, n.out[i])->node = (wk_node_id)g->nodes.n;
      wk_val(g, n.out[i])->index = i;
    }
    if (out) out[i] = n.out[i];
  }
  wk_vec_push(&g->nodes, n);
}

wk_status wk_graph_add(wk_graph *g, const wk_node_desc *d, wk_value_id *out) {
  const char *place = d->name && *d->name ? d->name : NULL;
  wk_status s = check_desc(g, d);
  if (s) return wk_status_place(s, place);
  void *attrs = d->attrs ? d->attrs : wk_attrs_new(g->module->arena, d->op);
  uint32_t n_out = d->n_out ? d->n_out : default_outputs(d, attrs);
  wk_type *types = wk_xcalloc(n_out, sizeof *types);
  s = infer_outputs(g, d, attrs, n_out, types);
  if (!s) append_node(g, d, attrs, n_out, types, out);
  free(types);
  return wk_status_place(s, place);
}

wk_value_id wk_build(wk_graph *g, wk_op op, void *attrs, int n_in, ...) {
  enum { MAX_IN = 64 };
  wk_value_id in[MAX_IN];
  wk_assert(n_in >= 0 && n_in <= MAX_IN);
  va_list ap;
  va_start(ap, n_in);
  for (int i = 0; i < n_in; i++) in[i] = va_arg(ap, wk_value_id);
  va_end(ap);
  wk_node_desc d = {.op = op, .attrs = attrs, .in = in, .n_in = (uint32_t)n_in};
  wk_status s = wk_graph_add(g, &d, NULL);
  if (s) WK_BUG("operands do not fit the operator");
  const wk_node *n = &g->nodes.data[g->nodes.n - 1];
  return n->out[0];
}
