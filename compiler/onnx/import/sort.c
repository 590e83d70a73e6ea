/* SPDX-License-Identifier: Apache-2.0
 * Dependency order of the nodes of one ONNX graph. Files should be sorted already; those that are
 * not are brought into the order nearest to the file's: depth first over an explicit stack, in file
 * order. A node depends on what it reads, on what graphs in its attributes read from outside, and
 * on the tensors that it names (Gradient). */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/importer.h"

typedef struct {
  wk_map *makers;                 /* tensor name -> node */
  WK_VEC(uint32_t) deps, first;   /* nodes that node i needs: deps[first[i] .. first[i+1]) */
} graph_deps;

typedef struct { uint32_t node, next; } visit;

/* A name that a node makes, and another node, or what has it already. */
static wk_status stands_twice(const char *name, const Onnx__NodeProto *n,
                              const Onnx__NodeProto *other, const char *first,
                              wk_arena *scratch) {
  const char *node = wk_onnx_node_name(scratch, n);
  if (n == other)
    return wk_error_at(WK_INPUT, name, "this name stands twice among the results of node '%s'",
                       node);
  if (other)
    return wk_error_at(WK_INPUT, name,
                       "this name stands twice: a result of node '%s', and of node '%s'",
                       wk_onnx_node_name(scratch, other), node);
  return wk_error_at(WK_INPUT, name, "this name stands twice: %s, and a result of node '%s'", first,
                     node);
}

static wk_status collect_makers(graph_deps *d, const wk_scope *s, Onnx__NodeProto *const *nodes,
                                size_t n, wk_arena *scratch) {
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < nodes[i]->n_output; k++) {
      uint32_t other;
      const char *name = nodes[i]->output[k];
      if (!*name) continue;
      if (wk_map_get(d->makers, name, &other))
        return stands_twice(name, nodes[i], nodes[other], NULL, scratch);
      if (wk_scope_has(s, name))
        return stands_twice(name, nodes[i], NULL, "an input or initializer of the graph", scratch);
      wk_map_put(d->makers, name, (uint32_t)i);
    }
  }
  return NULL;
}

static void depend(graph_deps *d, const char *name, size_t reader) {
  uint32_t maker;
  if (*name && wk_map_get(d->makers, name, &maker) && maker != reader) wk_vec_push(&d->deps, maker);
}

static void collect_deps(graph_deps *d, Onnx__NodeProto *const *nodes, size_t n,
                         wk_arena *scratch) {
  wk_onnx_names names = {0};
  for (size_t i = 0; i < n; i++) {
    wk_vec_push(&d->first, (uint32_t)d->deps.n);
    names.n = 0;
    wk_onnx_reads(nodes[i], true, scratch, &names);
    for (size_t k = 0; k < names.n; k++) depend(d, names.data[k], i);
  }
  wk_vec_push(&d->first, (uint32_t)d->deps.n);
  wk_vec_free(&names);
}

static bool reads_itself(const Onnx__NodeProto *n) {
  for (size_t i = 0; i < n->n_input; i++) {
    for (size_t k = 0; k < n->n_output; k++) {
      if (*n->input[i] && strcmp(n->input[i], n->output[k]) == 0) return true;
    }
  }
  return false;
}

static bool is_around(const wk_scope *s, const char *name) {
  for (s = s->parent; s; s = s->parent) {
    if (wk_scope_has(s, name)) return true;
    for (size_t i = 0; i < s->n_nodes; i++)
      for (size_t k = 0; k < s->nodes[i]->n_output; k++)
        if (strcmp(s->nodes[i]->output[k], name) == 0) return true;
  }
  return false;
}

/* A result that has the name of what the graph around has; NULL: none. */
static const char *shadowing(const wk_scope *s, const Onnx__NodeProto *n) {
  for (size_t k = 0; k < n->n_output; k++)
    if (*n->output[k] && is_around(s, n->output[k])) return n->output[k];
  return NULL;
}

/* Through nodes each of which reads the next, the last the first. A reader may have meant what the
 * graph around has under the name. */
static wk_status cycle(const wk_scope *s, Onnx__NodeProto *const *nodes, const visit *through,
                       size_t n, wk_arena *scratch) {
  for (size_t i = 0; i < n; i++) {
    const Onnx__NodeProto *node = nodes[through[i].node];
    const char *name = shadowing(s, node);
    if (name)
      return stands_twice(name, node, NULL, "a name of the graph around it", scratch);
  }
  const Onnx__NodeProto *first = nodes[through[0].node];
  const char *name = first->name && *first->name ? first->name
                     : first->n_output           ? first->output[0]
                                                 : "node";
  return wk_error_at(WK_INPUT, name, "the graph has a cycle through this node");
}

static wk_status order_nodes(const graph_deps *d, const wk_scope *scope,
                             Onnx__NodeProto *const *nodes, size_t n, wk_arena *scratch,
                             uint32_t *order) {
  enum { NEW, OPEN, DONE };
  uint8_t *state = wk_xcalloc(n, 1);
  WK_VEC(visit) stack = {0};
  size_t n_done = 0;
  wk_status s = NULL;
  for (size_t root = 0; root < n && !s; root++) {
    if (state[root] != NEW) continue;
    state[root] = OPEN;
    wk_vec_push(&stack, ((visit){(uint32_t)root, d->first.data[root]}));
    while (stack.n > 0 && !s) {
      visit *v = &stack.data[stack.n - 1];
      if (v->next == d->first.data[v->node + 1]) {
        state[v->node] = DONE;
        order[n_done++] = v->node;
        stack.n--;
        continue;
      }
      uint32_t dep = d->deps.data[v->next++];
      size_t at = stack.n - 1;
      while (state[dep] == OPEN && stack.data[at].node != dep) at--;
      if (state[dep] == OPEN) s = cycle(scope, nodes, &stack.data[at], stack.n - at, scratch);
      if (state[dep] != NEW) continue;
      state[dep] = OPEN;
      wk_vec_push(&stack, ((visit){dep, d->first.data[dep]}));
    }
  }
  free(state);
  wk_vec_free(&stack);
  return s;
}

wk_status wk_onnx_sort(const wk_scope *scope, Onnx__NodeProto *const *nodes, size_t n,
                       wk_arena *scratch, uint32_t **order) {
  graph_deps d = {.makers = wk_map_new()};
  *order = wk_arena_alloc(scratch, n * sizeof **order);
  wk_status s = collect_makers(&d, scope, nodes, n, scratch);
  for (size_t i = 0; i < n && !s; i++) {
    if (reads_itself(nodes[i])) s = cycle(scope, nodes, &(visit){.node = (uint32_t)i}, 1, scratch);
  }
  if (!s) {
    collect_deps(&d, nodes, n, scratch);
    s = order_nodes(&d, scope, nodes, n, scratch, *order);
  }
  wk_map_free(d.makers);
  wk_vec_free(&d.deps);
  wk_vec_free(&d.first);
  return s;
}
