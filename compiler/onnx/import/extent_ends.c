/* SPDX-License-Identifier: Apache-2.0
 * Inputs and outputs of the model whose sizes a run decides. */
#include <string.h>

#include "compiler/onnx/import/extent.h"

static const char *scalar_name(wk_importer *im, const char *symbol) {
  return wk_arena_printf(im->m->arena, "size(%s)", symbol);
}

bool wk_extents_has_size(const wk_importer *im, const char *name) {
  const wk_extents *e = im->extents;
  for (size_t i = 0; i < e->inputs.n; i++)
    if (!strcmp(wk_val(im->m->main, e->inputs.data[i].size)->name, name)) return true;
  return false;
}

int wk_extents_growing(const wk_importer *im, wk_value_id v) {
  const wk_extents *e = im->extents;
  for (size_t i = 0; i < e->inputs.n; i++)
    if (e->inputs.data[i].input == v && e->inputs.data[i].is_kept) return e->inputs.data[i].axis;
  return -1;
}

/* The first axis with the symbol. */
static wk_open_input *first_with(const wk_extents *e, const char *symbol) {
  for (size_t i = 0; i < e->inputs.n; i++)
    if (!strcmp(e->inputs.data[i].symbol, symbol)) return &e->inputs.data[i];
  return NULL;
}

/* One scalar for all axes with a symbol. */
static void add_scalars(wk_importer *im, wk_scope *s) {
  const wk_type scalar = wk_type_make(WK_I64, 0, NULL);
  for (size_t i = 0; i < im->extents->inputs.n; i++) {
    wk_open_input *open = &im->extents->inputs.data[i];
    const wk_open_input *first = first_with(im->extents, open->symbol);
    open->size = first != open ? first->size
                               : wk_graph_input(s->g, scalar_name(im, open->symbol), &scalar);
  }
}

/* A size within the bounds of all axes with this symbol. */
static void add_unknown(wk_importer *im, const wk_open_input *open) {
  wk_unknown u = {.is_given = true, .g = im->m->main, .text = open->symbol,
                  .least = open->least, .most = open->most, .value = open->size};
  for (size_t i = 0; i < im->extents->inputs.n; i++) {
    const wk_open_input *other = &im->extents->inputs.data[i];
    if (strcmp(other->symbol, open->symbol) != 0) continue;
    if (other->least > u.least) u.least = other->least;
    if (other->most < u.most) u.most = other->most;
  }
  wk_vec_push(&im->extents->unknowns, u);
}

static const wk_size *size_of_symbol(wk_onnx_node *c, const char *symbol) {
  const wk_unknown u = {.is_given = true, .text = symbol};
  return wk_size_unknown(c, &u);
}

/* The size of a symbol of a formula; NULL: it is none of an axis, and a range. */
static const wk_size *size_of_part(wk_onnx_node *c, const char *symbol) {
  if (first_with(c->im->extents, symbol)) return size_of_symbol(c, symbol);
  const wk_symbol *known = wk_symbol_find(&c->im->extents->symbols, symbol);
  return known->least == known->value ? wk_size_const(c, known->value) : NULL;
}

/* What the formula says; NULL: not all of its symbols are sizes of axes. */
static const wk_size *size_by(wk_onnx_node *c, const wk_formula *f) {
  const wk_size *sum = wk_size_const(c, 0);
  for (int i = 0; i < f->n; i++) {
    const wk_size *term = wk_size_const(c, f->terms[i].factor);
    for (int k = 0; k < f->terms[i].n; k++) {
      const wk_size *part = size_of_part(c, f->terms[i].symbols[k]);
      if (!part) return NULL;
      term = wk_size_mul(c, term, part);
    }
    sum = wk_size_add(c, sum, term);
  }
  return sum;
}

/* What is kept and what a run adds to it, `past + seq`, is no more than there is room for; -1: the
 * formula is another one. */
static int64_t kept_most(const wk_extents *e, const wk_formula *f) {
  if (f->n != 2) return -1;
  for (int i = 0; i < 2; i++)
    if (f->terms[i].n != 1 || f->terms[i].factor != 1) return -1;
  for (size_t k = 0; k < e->inputs.n; k++) {
    const wk_open_input *open = &e->inputs.data[k];
    for (int i = 0; i < 2 && open->is_kept; i++)
      if (!strcmp(open->symbol, f->terms[i].symbols[0])) return open->most;
  }
  return -1;
}

/* Its size by the formula; a run in which the caller's is another one fails. */
static void give_formula(wk_onnx_node *c, wk_open_input *open) {
  const wk_size *by = size_by(c, open->formula), *dims[WK_MAX_RANK];
  int64_t kept = kept_most(c->im->extents, open->formula);
  if (kept >= 0 && kept < open->most) open->most = kept;
  if (kept >= 0 || open->is_bounded) wk_size_bound(c, by, open->most);
  int64_t *room = &wk_val(c->g, open->input)->type.dims[open->axis];
  if (open->most < *room) *room = open->most;
  wk_extent_dims(c, open->input, dims);
  dims[open->axis] = by;
  wk_extent_declare(c, open->input, dims);
}

static void check_formula(wk_onnx_node *c, const wk_open_input *open) {
  const char *name = wk_val(c->g, open->input)->name;
  wk_bound b;
  if (!wk_scope_find(c->im, c->scope, name, &b) || b.kind != WK_BOUND_TENSOR) return;
  wk_value_id is = wk_size_value(c, wk_extent_dim(c, open->input, open->axis));
  wk_value_id same = wk_make_2(c, WK_OP_EQUAL, is, open->size);
  const char *reason = wk_arena_printf(c->im->m->arena, "axis %d of input %s is not %s",
                                       open->axis, name, open->symbol);
  b.value = wk_extent_gated(c, b.value, same, reason);
  wk_scope_bind(c->scope, name, b);
}

static void give_symbol(wk_onnx_node *c, const wk_open_input *open) {
  const wk_size *dims[WK_MAX_RANK];
  wk_extent_dims(c, open->input, dims);
  dims[open->axis] = size_of_symbol(c, open->symbol);
  wk_extent_declare(c, open->input, dims);
}

static wk_status give_sizes(wk_importer *im, wk_scope *s) {
  wk_onnx_node c = {.im = im, .scope = s, .g = s->g, .name = "inputs"};
  wk_extents *e = im->extents;
  for (size_t i = 0; i < e->inputs.n; i++)
    if (!e->inputs.data[i].formula && first_with(e, e->inputs.data[i].symbol) == &e->inputs.data[i])
      add_unknown(im, &e->inputs.data[i]);
  for (size_t i = 0; i < e->inputs.n; i++) {
    wk_open_input *open = &e->inputs.data[i];
    if (!open->formula || size_by(&c, open->formula)) continue;
    open->formula = NULL;
    if (first_with(e, open->symbol) == open) add_unknown(im, open);
  }
  for (size_t i = 0; i < e->inputs.n; i++)
    if (e->inputs.data[i].formula) give_formula(&c, &e->inputs.data[i]);
    else give_symbol(&c, &e->inputs.data[i]);
  for (size_t i = 0; i < e->inputs.n && wk_onnx_ok(&c); i++)
    if (e->inputs.data[i].formula) check_formula(&c, &e->inputs.data[i]);
  return c.status;
}

wk_status wk_extents_begin(wk_importer *im, wk_scope *s) {
  wk_extents_enter(im, s->g);
  if (im->extents->inputs.n && im->opt->purpose != WK_FOR_INFERENCE)
    return wk_error(WK_UNSUPPORTED, "%s has a size that a run decides: training and derivatives "
                    "need one size", im->extents->inputs.data[0].symbol);
  add_scalars(im, s);
  return give_sizes(im, s);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static wk_value_id output_named(const wk_graph *g, const char *name) {
  for (size_t i = 0; i < g->outputs.n; i++)
    if (!strcmp(g->output_names.data[i], name)) return g->outputs.data[i];
  return WK_NONE;
}

/* The output, behind the first `seen`, that has this value; NULL: none has. */
static const char *size_output(const wk_graph *g, size_t seen, wk_value_id v) {
  for (size_t i = seen; i < g->outputs.n; i++)
    if (g->outputs.data[i] == v) return g->output_names.data[i];
  return NULL;
}

/* The scalar that has the size: an input, or an output that is added unless it is there. */
static void name_size(wk_onnx_node *c, const wk_size *size, size_t seen, wk_open_axis *a) {
  wk_value_id v = wk_size_value(c, size);
  if (c->status) return;
  a->symbol = wk_size_text(c, size);
  a->size_is_output = wk_val(c->g, v)->kind != WK_VALUE_INPUT;
  a->size = a->size_is_output ? size_output(c->g, seen, v) : wk_val(c->g, v)->name;
  if (a->size) return;
  a->size = scalar_name(c->im, a->symbol);
  while (output_named(c->g, a->size) != WK_NONE)
    a->size = wk_arena_printf(c->im->m->arena, "%s.", a->size);
  wk_graph_output(c->g, a->size, v);
}

wk_status wk_extents_finish(wk_importer *im, const wk_scope *s) {
  wk_onnx_node c = {.im = im, .scope = (wk_scope *)(uintptr_t)s, .g = s->g, .name = "outputs"};
  const wk_graph *g = s->g;
  for (size_t i = 0; i < im->extents->inputs.n; i++) {
    const wk_open_input *open = &im->extents->inputs.data[i];
    const wk_open_axis a = {.tensor = wk_val(g, open->input)->name, .axis = open->axis,
                            .size = wk_val(g, open->size)->name, .symbol = open->symbol,
                            .least = open->least};
    wk_module_open(im->m, &a);
  }
  size_t n = g->outputs.n;
  for (size_t i = 0; i < n; i++) {
    wk_value_id v = g->outputs.data[i];
    for (int axis = 0; axis < wk_val(g, v)->type.rank && wk_onnx_ok(&c); axis++) {
      if (!wk_extent_is_open(&c, v, axis)) continue;
      wk_open_axis a = {.tensor = g->output_names.data[i], .is_output = true, .axis = axis};
      name_size(&c, wk_extent_dim(&c, v, axis), n, &a);
      if (wk_onnx_ok(&c)) wk_module_open(im->m, &a);
    }
  }
  return c.status;
}
