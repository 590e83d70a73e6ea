/* SPDX-License-Identifier: Apache-2.0
 * Inputs and outputs of the model whose sizes a run decides. */
#include <string.h>

#include "compiler/onnx/import/extent.h"

void wk_extents_open(wk_importer *im, const wk_scope *s, wk_value_id input, int axis,
                     const char *symbol, int64_t least) {
  const wk_open_input open = {input, axis, symbol, least, wk_val(s->g, input)->type.dims[axis]};
  wk_vec_push(&im->extents->inputs, open);
}

static const char *scalar_name(wk_importer *im, const char *symbol) {
  return wk_arena_printf(im->m->arena, "size(%s)", symbol);
}

bool wk_extents_has_size(const wk_importer *im, const char *name) {
  const wk_extents *e = im->extents;
  for (size_t i = 0; i < e->unknowns.n; i++)
    if (e->unknowns.data[i].is_given &&
        !strcmp(wk_val(im->m->main, e->unknowns.data[i].value)->name, name))
      return true;
  return false;
}

/* The axes before this one have another symbol. */
static bool is_first(const wk_extents *e, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (!strcmp(e->inputs.data[k].symbol, e->inputs.data[i].symbol)) return false;
  return true;
}

/* A size within the bounds of all axes with this symbol. */
static void add_unknown(wk_importer *im, wk_scope *s, const wk_open_input *open) {
  const wk_type scalar = wk_type_make(WK_I64, 0, NULL);
  wk_unknown u = {.is_given = true, .text = open->symbol, .least = open->least, .most = open->most,
                  .value = wk_graph_input(s->g, scalar_name(im, open->symbol), &scalar)};
  for (size_t i = 0; i < im->extents->inputs.n; i++) {
    const wk_open_input *other = &im->extents->inputs.data[i];
    if (strcmp(other->symbol, open->symbol) != 0) continue;
    if (other->least > u.least) u.least = other->least;
    if (other->most < u.most) u.most = other->most;
  }
  wk_vec_push(&im->extents->unknowns, u);
}

static wk_status give_sizes(wk_importer *im, wk_scope *s) {
  wk_onnx_node c = {.im = im, .scope = s, .g = s->g, .name = "inputs"};
  for (size_t i = 0; i < im->extents->inputs.n; i++) {
    const wk_open_input *open = &im->extents->inputs.data[i];
    const wk_unknown u = {.is_given = true, .text = open->symbol};
    const wk_size *dims[WK_MAX_RANK];
    wk_extent_dims(&c, open->input, dims);
    dims[open->axis] = wk_size_unknown(&c, &u);
    wk_extent_declare(&c, open->input, dims);
  }
  return c.status;
}

wk_status wk_extents_begin(wk_importer *im, wk_scope *s) {
  if (im->extents->inputs.n && im->opt->purpose != WK_FOR_INFERENCE)
    return wk_error(WK_UNSUPPORTED, "%s has a size that a run decides: training and derivatives "
                    "need one size", im->extents->inputs.data[0].symbol);
  for (size_t i = 0; i < im->extents->inputs.n; i++)
    if (is_first(im->extents, i)) add_unknown(im, s, &im->extents->inputs.data[i]);
  return give_sizes(im, s);
}

/* The input that says the size of this symbol. */
static const char *given_name(const wk_importer *im, const char *symbol) {
  const wk_extents *e = im->extents;
  size_t i = 0;
  while (!e->unknowns.data[i].is_given || strcmp(e->unknowns.data[i].text, symbol) != 0) i++;
  return wk_val(im->m->main, e->unknowns.data[i].value)->name;
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
                            .size = given_name(im, open->symbol), .symbol = open->symbol,
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
