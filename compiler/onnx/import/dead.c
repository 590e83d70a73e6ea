/* SPDX-License-Identifier: Apache-2.0
 * Nodes that nothing uses leave the model before anything is asked of them, whatever they are. What
 * is used is found graph by graph, graphs within nodes first, since a node reads what its graphs
 * read from outside: the outputs of a graph are used, and what used nodes read. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/model.h"

typedef struct {
  uint32_t node, graph; /* a graph within a node, both by number */
} inner;

/* The nodes of a graph or function. */
typedef struct {
  Onnx__NodeProto ***nodes;
  size_t *n;
  const Onnx__GraphProto *g;    /* NULL: a function */
  const Onnx__FunctionProto *f; /* that it is, or is in; NULL: the model itself */
  WK_VEC(inner) inner;          /* ascending by node */
  WK_VEC(const char *) outside; /* what it reads that it does not make */
  bool *is_used;                /* of each node */
  bool is_gone;                 /* within a node that is not used */
} part;

typedef struct {
  wk_importer *im;
  WK_VEC(part) parts; /* a graph behind the one that it is in */
} survey;

/* ---- all graphs ---------------------------------------------------------------------------- */

static void add_graph(survey *s, const Onnx__GraphProto *g, const Onnx__FunctionProto *f) {
  Onnx__GraphProto *own = (Onnx__GraphProto *)(uintptr_t)g; /* the model is the import's */
  const part p = {.nodes = &own->node, .n = &own->n_node, .g = g, .f = f};
  wk_vec_push(&s->parts, p);
}

static void add_inner(survey *s, size_t at, size_t node, const Onnx__GraphProto *g) {
  const inner x = {(uint32_t)node, (uint32_t)s->parts.n};
  add_graph(s, g, s->parts.data[at].f);
  wk_vec_push(&s->parts.data[at].inner, x);
}

static void collect(survey *s, const Onnx__ModelProto *m) {
  add_graph(s, m->graph, NULL);
  for (size_t i = 0; i < m->n_functions; i++) {
    Onnx__FunctionProto *f = m->functions[i];
    const part p = {.nodes = &f->node, .n = &f->n_node, .f = f};
    wk_vec_push(&s->parts, p);
  }
  for (size_t at = 0; at < s->parts.n; at++) { /* grows while it is walked */
    Onnx__NodeProto **nodes = *s->parts.data[at].nodes;
    for (size_t i = 0, n = *s->parts.data[at].n; i < n; i++)
      for (size_t k = 0; k < nodes[i]->n_attribute; k++) {
        const Onnx__AttributeProto *a = nodes[i]->attribute[k];
        if (a->g) add_inner(s, at, i, a->g);
        for (size_t j = 0; j < a->n_graphs; j++) add_inner(s, at, i, a->graphs[j]);
      }
  }
}

/* ---- what is used -------------------------------------------------------------------------- */

typedef struct {
  wk_map *makers;                /* name -> the last node that makes it */
  WK_VEC(uint32_t) node, before; /* … and the one before, by entry; UINT32_MAX: none */
  wk_map *defined, *seen;
  WK_VEC(const char *) names;    /* used, in the order found */
} uses;

static void use(uses *u, const char *name) {
  uint32_t ignored;
  if (!name || !*name || wk_map_get(u->seen, name, &ignored)) return;
  wk_map_put(u->seen, name, 1);
  wk_vec_push(&u->names, name);
}

static void define(uses *u, const part *p) {
  for (size_t i = 0; p->g && i < p->g->n_input; i++)
    if (p->g->input[i]->name) wk_map_put(u->defined, p->g->input[i]->name, 1);
  for (size_t i = 0; p->g && i < p->g->n_initializer; i++)
    if (p->g->initializer[i]->name) wk_map_put(u->defined, p->g->initializer[i]->name, 1);
  for (size_t i = 0; i < *p->n; i++) {
    const Onnx__NodeProto *n = (*p->nodes)[i];
    for (size_t k = 0; k < n->n_output; k++) {
      uint32_t before = UINT32_MAX;
      wk_map_get(u->makers, n->output[k], &before);
      wk_map_put(u->makers, n->output[k], (uint32_t)u->node.n);
      wk_vec_push(&u->node, (uint32_t)i);
      wk_vec_push(&u->before, before);
    }
  }
}

static void use_outputs(uses *u, const part *p) {
  for (size_t i = 0; p->g && i < p->g->n_output; i++) use(u, p->g->output[i]->name);
  for (size_t i = 0; !p->g && i < p->f->n_output; i++) use(u, p->f->output[i]);
}

static void use_node(survey *s, uses *u, part *p, uint32_t at, wk_onnx_names *named) {
  const Onnx__NodeProto *n = (*p->nodes)[at];
  if (p->is_used[at]) return;
  p->is_used[at] = true;
  for (size_t k = 0; k < n->n_input; k++) use(u, n->input[k]);
  named->n = 0;
  wk_onnx_named(n, s->im->arena, named);
  for (size_t k = 0; k < named->n; k++) use(u, named->data[k]);
  size_t low = 0, high = p->inner.n;
  while (low < high) { /* the first of its graphs */
    size_t mid = low + (high - low) / 2;
    if (p->inner.data[mid].node < at) low = mid + 1;
    else high = mid;
  }
  for (size_t k = low; k < p->inner.n && p->inner.data[k].node == at; k++) {
    const part *x = &s->parts.data[p->inner.data[k].graph];
    for (size_t j = 0; j < x->outside.n; j++) use(u, x->outside.data[j]);
  }
}

static void find_used(survey *s, part *p) {
  uses u = {.makers = wk_map_new(), .defined = wk_map_new(), .seen = wk_map_new()};
  wk_onnx_names named = {0};
  p->is_used = wk_arena_alloc(s->im->arena, *p->n * sizeof *p->is_used);
  define(&u, p);
  use_outputs(&u, p);
  for (size_t i = 0; i < u.names.n; i++) { /* grows while it is walked */
    const char *name = u.names.data[i];
    uint32_t at = UINT32_MAX, ignored;
    bool is_made = wk_map_get(u.makers, name, &at);
    for (; at != UINT32_MAX; at = u.before.data[at]) use_node(s, &u, p, u.node.data[at], &named);
    if (!is_made && !wk_map_get(u.defined, name, &ignored)) wk_vec_push(&p->outside, name);
  }
  wk_map_free(u.makers);
  wk_map_free(u.defined);
  wk_map_free(u.seen);
  wk_vec_free(&u.node);
  wk_vec_free(&u.before);
  wk_vec_free(&u.names);
  wk_vec_free(&named);
}

/* ---- leaving ------------------------------------------------------------------------------- */

typedef struct {
  size_t count;
  wk_str names; /* of the first few */
} unused;

static void add_unused(survey *s, unused *u, const part *p, const Onnx__NodeProto *n) {
  enum { SHOWN = 3 };
  const wk_frame frame = {.opsets = p->f ? p->f->opset_import : s->im->model->opset_import,
                          .n_opsets = p->f ? p->f->n_opset_import : s->im->model->n_opset_import};
  const char *domain = wk_onnx_domain(n->domain), *name = wk_onnx_node_name(s->im->arena, n);
  wk_survey_unused(s->im, n, name, wk_frame_opset(&frame, domain));
  if (++u->count > SHOWN + 1) return;
  if (u->count == SHOWN + 1) wk_str_add(&u->names, ", …");
  else
    wk_str_printf(&u->names, "%s%s (%s%s%s)", u->count > 1 ? ", " : "", name, domain,
                  *domain ? "." : "", n->op_type ? n->op_type : "");
}

static void leave(survey *s, part *p, unused *u) {
  size_t kept = 0, k = 0;
  for (size_t i = 0; i < *p->n; i++) {
    Onnx__NodeProto *n = (*p->nodes)[i];
    for (; k < p->inner.n && p->inner.data[k].node == i; k++)
      s->parts.data[p->inner.data[k].graph].is_gone = p->is_gone || !p->is_used[i];
    if (p->is_used[i]) (*p->nodes)[kept++] = n;
    else if (!p->is_gone) add_unused(s, u, p, n);
  }
  *p->n = kept;
}

void wk_model_leave_unused(wk_importer *im) {
  survey s = {.im = im};
  unused u = {0};
  collect(&s, im->model);
  for (size_t i = s.parts.n; i-- > 0;) find_used(&s, &s.parts.data[i]);
  for (size_t i = 0; i < s.parts.n; i++) leave(&s, &s.parts.data[i], &u);
  if (u.count)
    wk_vec_push(&im->rep->notes,
                wk_arena_printf(im->rep->arena, "%zu %s left out, since nothing uses %s: %s",
                                u.count, u.count == 1 ? "node is" : "nodes are",
                                u.count == 1 ? "its results" : "their results", u.names.s));
  for (size_t i = 0; i < s.parts.n; i++) {
    wk_vec_free(&s.parts.data[i].inner);
    wk_vec_free(&s.parts.data[i].outside);
  }
  wk_vec_free(&s.parts);
  wk_str_free(&u.names);
}
