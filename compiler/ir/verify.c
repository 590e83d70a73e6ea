/* SPDX-License-Identifier: Apache-2.0 */
/* The graph verifier. Structure first (every id in range, every back reference right, definitions
 * before uses), for all graphs; only then the nesting of bodies and the types, which follow ids
 * without looking. Nothing recurses: the bodies' nesting is checked by removing leaves. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/graph.h"

typedef struct {
  const wk_module *m;
  const wk_graph *g;
  wk_arena *scratch;
  wk_map *graph_ids; /* name -> position in m->graphs */
} checker;

#define BAD_GRAPH(c, ...) bad_graph((c)->g, __FILE__, __LINE__, __VA_ARGS__)
#define BAD_NODE(c, n, ...) bad_node((c)->g, (n), __FILE__, __LINE__, __VA_ARGS__)

static wk_status WK_PRINTF(4, 5)
    bad_graph(const wk_graph *g, const char *file, int line, const char *fmt, ...) {
  wk_str text = {0};
  va_list ap;
  va_start(ap, fmt);
  wk_str_vprintf(&text, fmt, ap);
  va_end(ap);
  wk_status s = wk_status_make(WK_INTERNAL, file, line, NULL, "graph @%s: %s", g->name, text.s);
  wk_str_free(&text);
  return s;
}

static wk_status WK_PRINTF(5, 6)
    bad_node(const wk_graph *g, size_t id, const char *file, int line, const char *fmt, ...) {
  const wk_node *n = &g->nodes.data[id];
  const char *op = (unsigned)n->op < WK_OP_COUNT ? wk_op_get(n->op)->name : "unknown operator";
  const char *name = n->name ? n->name : "";
  wk_str text = {0};
  va_list ap;
  va_start(ap, fmt);
  wk_str_vprintf(&text, fmt, ap);
  va_end(ap);
  wk_status s = wk_status_make(WK_INTERNAL, file, line, *name ? name : NULL,
                               "graph @%s: node %zu (%s): %s", g->name, id, op, text.s);
  wk_str_free(&text);
  return s;
}

/* ---- values -------------------------------------------------------------------------------- */

static bool is_permutation(const uint8_t *order, int rank) {
  unsigned seen = 0;
  for (int i = 0; i < rank; i++) {
    if (order[i] >= rank) return false;
    seen |= 1U << order[i];
  }
  return seen == (1U << rank) - 1;
}

static bool defined_by(const wk_graph *g, wk_value_id v, wk_node_id n, uint32_t index) {
  if (n >= g->nodes.n) return false;
  const wk_node *node = &g->nodes.data[n];
  return node->dead || (index < node->n_out && node->out[index] == v);
}

static wk_status check_value(const checker *c, wk_value_id id) {
  const wk_graph *g = c->g;
  const wk_value *v = &g->values.data[id];
  uint32_t found;
  if (v->kind == WK_VALUE_DEAD) return NULL;
  if (!v->name || !*v->name) return BAD_GRAPH(c, "value %u has no name", id);
  if (!wk_map_get(g->names, v->name, &found) || found != id)
    return BAD_GRAPH(c, "%%%s is not the only value of its name or not in the table", v->name);
  if (v->type.rank < 0 || v->type.rank > WK_MAX_RANK)
    return BAD_GRAPH(c, "%%%s has rank %d", v->name, v->type.rank);
  for (int i = v->type.rank; i < WK_MAX_RANK; i++)
    if (v->type.dims[i] != 0) return BAD_GRAPH(c, "%%%s has dims past its rank", v->name);
  wk_status s = wk_type_check(&v->type);
  if (s) {
    /* What was widened may be too large. */
    if (s->code != WK_RESOURCE) s = wk_status_as(s, WK_INTERNAL);
    return wk_status_note(s, "graph @%s: %%%s", g->name, v->name);
  }
  if (v->has_order && !is_permutation(v->order, v->type.rank))
    return BAD_GRAPH(c, "the memory order of %%%s is not a permutation", v->name);
  if (v->kind == WK_VALUE_CONSTANT && !v->data && wk_type_bytes(&v->type) > 0)
    return BAD_GRAPH(c, "constant %%%s has no data", v->name);
  if (v->kind != WK_VALUE_INPUT && (v->initial || v->is_trainable))
    return BAD_GRAPH(c, "%%%s is no input but has what variables have", v->name);
  if (v->is_trainable && (!v->initial || !wk_dtype_is_float(v->type.dtype)))
    return BAD_GRAPH(c, "%%%s is trainable but no variable of floats", v->name);
  if (v->kind == WK_VALUE_NODE && !defined_by(g, id, v->node, v->index))
    return BAD_GRAPH(c, "%%%s is not made by the node it names", v->name);
  return NULL;
}

static bool is_live(const wk_graph *g, wk_value_id v) {
  if (v >= g->values.n || g->values.data[v].kind == WK_VALUE_DEAD) return false;
  return g->values.data[v].kind != WK_VALUE_NODE || !wk_nod(g, wk_val(g, v)->node)->dead;
}

/* Outputs from the first update on. */
static wk_status check_updates(const checker *c, size_t first) {
  const wk_graph *g = c->g;
  bool *seen = wk_arena_alloc(c->scratch, g->values.n);
  for (size_t i = first; i < g->outputs.n; i++) {
    wk_value_id v = g->updates.data[i];
    if (v >= g->values.n || !wk_is_variable(g, v))
      return BAD_GRAPH(c, "output %zu updates what is no variable", i);
    if (seen[v]) return BAD_GRAPH(c, "variable %%%s has two updates", wk_val(g, v)->name);
    seen[v] = true;
    if (wk_type_equal(&wk_val(g, v)->type, &wk_val(g, g->outputs.data[i])->type)) continue;
    wk_str have = {0}, want = {0};
    wk_type_print(&have, &wk_val(g, g->outputs.data[i])->type);
    wk_type_print(&want, &wk_val(g, v)->type);
    wk_status s = BAD_GRAPH(c, "variable %%%s is %s, its update %%%s is %s", wk_val(g, v)->name,
                            want.s, wk_val(g, g->outputs.data[i])->name, have.s);
    wk_str_free(&have);
    wk_str_free(&want);
    return s;
  }
  return NULL;
}

static wk_status check_variables(const checker *c) {
  const wk_graph *g = c->g;
  if (g->updates.n != g->outputs.n)
    return BAD_GRAPH(c, "%zu outputs but %zu updates", g->outputs.n, g->updates.n);
  size_t n_in = wk_graph_plain_inputs(g), n_out = wk_graph_plain_outputs(g);
  for (size_t i = 0; i < n_in; i++)
    if (wk_is_variable(g, g->inputs.data[i]))
      return BAD_GRAPH(c, "variable %%%s comes before a plain input",
                       wk_val(g, g->inputs.data[i])->name);
  for (size_t i = 0; i < n_out; i++)
    if (g->updates.data[i] != WK_NONE)
      return BAD_GRAPH(c, "output %zu, an update, comes before a plain output", i);
  if (g != c->m->main && (n_in < g->inputs.n || n_out < g->outputs.n))
    return BAD_GRAPH(c, "only the main graph has variables and updates");
  return check_updates(c, n_out);
}

static wk_status check_signature(const checker *c) {
  const wk_graph *g = c->g;
  bool *seen = wk_arena_alloc(c->scratch, g->values.n);
  size_t inputs = 0;
  for (size_t i = 0; i < g->inputs.n; i++) {
    wk_value_id v = g->inputs.data[i];
    if (v >= g->values.n || wk_val(g, v)->kind != WK_VALUE_INPUT || seen[v])
      return BAD_GRAPH(c, "input %zu is not a placeholder or appears twice", i);
    seen[v] = true;
  }
  for (size_t v = 0; v < g->values.n; v++) inputs += g->values.data[v].kind == WK_VALUE_INPUT;
  if (inputs != g->inputs.n)
    return BAD_GRAPH(c, "%zu placeholders but %zu inputs", inputs, g->inputs.n);
  if (g->output_names.n != g->outputs.n)
    return BAD_GRAPH(c, "%zu outputs but %zu names", g->outputs.n, g->output_names.n);
  for (size_t i = 0; i < g->outputs.n; i++) {
    if (!is_live(g, g->outputs.data[i])) return BAD_GRAPH(c, "output %zu is not a live value", i);
    if (!g->output_names.data[i]) return BAD_GRAPH(c, "output %zu has no name", i);
  }
  return check_variables(c);
}

/* ---- nodes --------------------------------------------------------------------------------- */

static wk_status check_operand(const checker *c, size_t id, const char *what, wk_value_id v) {
  if (!is_live(c->g, v)) return BAD_NODE(c, id, "%s is not a live value", what);
  const wk_value *x = wk_val(c->g, v);
  if (x->kind == WK_VALUE_NODE && x->node >= id)
    return BAD_NODE(c, id, "%s %%%s is used before its definition", what, x->name);
  return NULL;
}

static wk_status check_bodies(const checker *c, size_t id) {
  const wk_node *n = &c->g->nodes.data[id];
  uint32_t want = n->op == WK_OP_IF ? 2 : n->op == WK_OP_LOOP ? 1 : 0, at;
  if (n->n_bodies != want) return BAD_NODE(c, id, "%u bodies, needs %u", n->n_bodies, want);
  for (uint32_t b = 0; b < want; b++) {
    const wk_graph *body = n->bodies[b];
    if (!body || !body->name || !wk_map_get(c->graph_ids, body->name, &at) ||
        c->m->graphs.data[at] != body)
      return BAD_NODE(c, id, "body %u is not a graph of the module", b);
  }
  return NULL;
}

static wk_status check_node(const checker *c, size_t id) {
  const wk_graph *g = c->g;
  const wk_node *n = &g->nodes.data[id];
  if ((unsigned)n->op >= WK_OP_COUNT) return BAD_NODE(c, id, "operator %d", (int)n->op);
  if (wk_op_get(n->op)->kind == WK_KIND_INST) return BAD_NODE(c, id, "not a graph operator");
  if (!n->name) return BAD_NODE(c, id, "name is missing");
  if (!n->attrs) return BAD_NODE(c, id, "attributes are missing");
  if (n->n_out == 0 && n->op != WK_OP_IF && n->op != WK_OP_LOOP)
    return BAD_NODE(c, id, "no outputs");
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE) WK_TRY(check_operand(c, id, "input", n->in[k]));
  if (n->predicate != WK_NONE) {
    WK_TRY(check_operand(c, id, "predicate", n->predicate));
    if (wk_val(g, n->predicate)->type.dtype != WK_BOOL)
      return BAD_NODE(c, id, "the predicate is not bool");
  }
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (n->out[k] == WK_NONE) continue;
    const wk_value *v = n->out[k] < g->values.n ? wk_val(g, n->out[k]) : NULL;
    if (!v || v->kind != WK_VALUE_NODE || v->node != id || v->index != k)
      return BAD_NODE(c, id, "output %u is not its own", k);
  }
  return check_bodies(c, id);
}

static wk_status check_structure(const checker *c) {
  const wk_graph *g = c->g;
  if (g->module != c->m || !g->names) return BAD_GRAPH(c, "belongs to another module");
  for (size_t v = 0; v < g->values.n; v++) WK_TRY(check_value(c, (wk_value_id)v));
  WK_TRY(check_signature(c));
  for (size_t i = 0; i < g->nodes.n; i++)
    if (!g->nodes.data[i].dead) WK_TRY(check_node(c, i));
  return NULL;
}

/* ---- bodies' nesting ----------------------------------------------------------------------- */

typedef void (*body_fn)(void *ctx, uint32_t body);

static void each_body(const checker *c, size_t graph, body_fn f, void *ctx) {
  const wk_graph *g = c->m->graphs.data[graph];
  uint32_t body = 0;
  for (size_t i = 0; i < g->nodes.n; i++)
    for (uint32_t b = 0; !g->nodes.data[i].dead && b < g->nodes.data[i].n_bodies; b++)
      if (wk_map_get(c->graph_ids, g->nodes.data[i].bodies[b]->name, &body)) f(ctx, body);
}

typedef struct {
  uint32_t *owners; /* nodes that have this graph as a body and are not yet removed */
  uint32_t *ready;
  size_t n_ready;
} nesting;

static void count_owner(void *ctx, uint32_t body) { ((nesting *)ctx)->owners[body]++; }

static void remove_owner(void *ctx, uint32_t body) {
  nesting *t = ctx;
  if (--t->owners[body] == 0) t->ready[t->n_ready++] = body;
}

static wk_status check_nesting(const checker *c) {
  size_t n = c->m->graphs.n;
  nesting t = {.owners = wk_arena_alloc(c->scratch, n * sizeof *t.owners),
               .ready = wk_arena_alloc(c->scratch, n * sizeof *t.ready)};
  for (size_t i = 0; i < n; i++) each_body(c, i, count_owner, &t);
  for (uint32_t i = 0; i < n; i++)
    if (!t.owners[i]) t.ready[t.n_ready++] = i;
  for (size_t k = 0; k < t.n_ready; k++) each_body(c, t.ready[k], remove_owner, &t);
  for (size_t i = 0; i < n; i++)
    if (t.owners[i]) return bad_graph(c->m->graphs.data[i], __FILE__, __LINE__, "contains itself");
  return NULL;
}

/* ---- types --------------------------------------------------------------------------------- */

/* A rule that says nothing of quantisation leaves it to whoever made the node. */
static bool type_agrees(const wk_type *stored, const wk_type *inferred) {
  wk_type want = *inferred;
  if (!want.quant) want.quant = stored->quant;
  return wk_type_equal(stored, &want);
}

static wk_status type_error(const checker *c, size_t id, uint32_t k, const wk_type *inferred) {
  const wk_value *v = wk_val(c->g, c->g->nodes.data[id].out[k]);
  wk_str have = {0}, want = {0};
  wk_type_print(&have, &v->type);
  wk_type_print(&want, inferred);
  wk_status s = BAD_NODE(c, id, "%%%s is %s, inference says %s", v->name, have.s, want.s);
  wk_str_free(&have);
  wk_str_free(&want);
  return s;
}

static wk_status check_types(const checker *c, size_t id) {
  const wk_graph *g = c->g;
  const wk_node *n = &g->nodes.data[id];
  const wk_type **in = wk_xcalloc(n->n_in, sizeof *in);
  wk_type *out = wk_xcalloc(n->n_out, sizeof *out);
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE) in[k] = &wk_val(g, n->in[k])->type;
  wk_infer query = {.graph = g, .op = n->op, .attrs = n->attrs, .in = in, .n_in = n->n_in,
                    .n_out = n->n_out, .n_bodies = n->n_bodies, .bodies = n->bodies, .out = out};
  wk_status inferred = wk_infer_node(&query), s = NULL;
  if (inferred) s = BAD_NODE(c, id, "%s", inferred->message);
  wk_status_free(inferred);
  for (uint32_t k = 0; k < n->n_out && !s; k++)
    if (n->out[k] != WK_NONE && !type_agrees(&wk_val(g, n->out[k])->type, &out[k]))
      s = type_error(c, id, k, &out[k]);
  free(in);
  free(out);
  return s;
}

/* ---- modules ------------------------------------------------------------------------------- */

static wk_status check_graph_names(checker *c) {
  for (uint32_t i = 0; i < c->m->graphs.n; i++) {
    const char *name = c->m->graphs.data[i]->name;
    uint32_t found;
    if (!name || !*name) return wk_error(WK_INTERNAL, "graph %u has no name", i);
    if (wk_map_get(c->graph_ids, name, &found))
      return wk_error(WK_INTERNAL, "two graphs are called @%s", name);
    wk_map_put(c->graph_ids, name, i);
  }
  return NULL;
}

/* ---- labels -------------------------------------------------------------------------------- */

static bool is_number(const char *s) {
  char *end;
  errno = 0;
  strtoll(s, &end, 10);
  return (*s == '-' || (*s >= '0' && *s <= '9')) && !*end && !errno;
}

static wk_status check_labels(const checker *c, const wk_labels *l) {
  const wk_graph *g = c->m->main;
  const wk_type *t = NULL;
  for (size_t i = 0; i < g->outputs.n && !t; i++)
    if (strcmp(g->output_names.data[i], l->output) == 0) t = &wk_val(g, g->outputs.data[i])->type;
  bool fits = t && l->texts.n > 0 && wk_module_labels(c->m, l->output) == l;
  if (fits && l->kind == WK_LABELS_ELEMENTS) fits = t->dtype == WK_I64;
  else if (fits) fits = t->rank > 0 && t->dims[t->rank - 1] == l->texts.n;
  for (int64_t i = 0; fits && l->are_numbers && i < l->texts.n; i++)
    fits = is_number(l->texts.v[i]);
  return fits ? NULL : wk_error(WK_INTERNAL, "the labels of output '%s' do not fit it", l->output);
}

/* ---- open axes ----------------------------------------------------------------------------- */

/* The type of a plain input or output of main; NULL: there is none of this name. */
static const wk_type *end_type(const wk_graph *g, const char *name, bool is_output) {
  size_t n = is_output ? wk_graph_plain_outputs(g) : wk_graph_plain_inputs(g);
  for (size_t i = 0; i < n; i++) {
    const wk_value *v = wk_val(g, is_output ? g->outputs.data[i] : g->inputs.data[i]);
    if (!strcmp(is_output ? g->output_names.data[i] : v->name, name)) return &v->type;
  }
  return NULL;
}

static wk_status check_open_axis(const wk_graph *g, const wk_open_axis *a) {
  const wk_type *t = end_type(g, a->tensor, a->is_output);
  const wk_type *size = end_type(g, a->size, a->size_is_output);
  bool fits = t && a->axis < t->rank && size && size->dtype == WK_I64 && size->rank == 0 &&
              a->least >= 0 && a->least <= t->dims[a->axis];
  return fits ? NULL : wk_error(WK_INTERNAL, "the size of axis %d of '%s' does not fit it",
                                a->axis, a->tensor);
}

static wk_status verify(checker *c) {
  const wk_module *m = c->m;
  if (m->graphs.n == 0 || m->main != m->graphs.data[0])
    return wk_error(WK_INTERNAL, "the first graph of the module is not the main one");
  WK_TRY(check_graph_names(c));
  for (size_t i = 0; i < m->graphs.n; i++) {
    c->g = m->graphs.data[i];
    WK_TRY(check_structure(c));
  }
  WK_TRY(check_nesting(c));
  for (size_t i = 0; i < m->labels.n; i++) WK_TRY(check_labels(c, &m->labels.data[i]));
  for (size_t i = 0; i < m->open_axes.n; i++)
    WK_TRY(check_open_axis(m->main, &m->open_axes.data[i]));
  for (size_t i = 0; i < m->graphs.n; i++) {
    c->g = m->graphs.data[i];
    for (size_t k = 0; k < c->g->nodes.n; k++)
      if (!c->g->nodes.data[k].dead) WK_TRY(check_types(c, k));
  }
  return NULL;
}

wk_status wk_module_verify(const wk_module *m) {
  checker c = {.m = m, .scratch = wk_arena_new(), .graph_ids = wk_map_new()};
  wk_status s = verify(&c);
  wk_map_free(c.graph_ids);
  wk_arena_free(c.scratch);
  return s;
}
