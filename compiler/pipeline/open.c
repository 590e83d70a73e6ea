/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pipeline/open.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t input_named(const wk_graph *g, const char *name) {
  size_t n = wk_graph_plain_inputs(g), i = 0;
  while (i < n && strcmp(wk_val(g, g->inputs.data[i])->name, name) != 0) i++;
  return i;
}

static size_t output_named(const wk_graph *g, const char *name) {
  size_t n = wk_graph_plain_outputs(g), i = 0;
  while (i < n && strcmp(g->output_names.data[i], name) != 0) i++;
  return i;
}

static void poison(wk_tensor *t) {
  memset(t->data, 0xaa, (size_t)wk_type_bytes(&t->type));
  for (int64_t i = 0; wk_dtype_is_float(t->type.dtype) && i < wk_type_count(&t->type); i++)
    wk_store_f64(t->data, t->type.dtype, i, (double)NAN);
}

/* Rows of `small`, which has no more elements along any axis, between the layouts of both. */
static void move_rows(const wk_type *large, uint8_t *in_large, const wk_type *small,
                      uint8_t *in_small, bool to_large) {
  int rank = large->rank;
  size_t size = (size_t)wk_dtype_size(large->dtype);
  int64_t strides[WK_MAX_RANK], at[WK_MAX_RANK] = {0}, count = wk_type_count(small);
  int64_t run = rank ? small->dims[rank - 1] : 1;
  wk_type_strides(large, strides);
  for (int64_t n = 0; run > 0 && n < count; n += run) {
    int64_t offset = 0;
    for (int k = 0; k + 1 < rank; k++) offset += at[k] * strides[k];
    uint8_t *a = in_large + (size_t)offset * size, *b = in_small + (size_t)n * size;
    memmove(to_large ? a : b, to_large ? b : a, (size_t)run * size);
    for (int k = rank - 2; k >= 0; k--) {
      if (++at[k] < small->dims[k]) break;
      at[k] = 0;
    }
  }
}

static wk_status place_input(const wk_type *type, const wk_tensor *in, wk_tensor *given) {
  *given = *in;
  if (wk_shape_equal(type, &in->type)) return NULL;
  given->data = NULL;
  WK_TRY(wk_tensor_alloc(type, given));
  poison(given);
  move_rows(type, given->data, &in->type, in->data, true);
  return NULL;
}

static const wk_open_axis *first_with(const wk_module *m, const char *size) {
  const wk_open_axis *a = m->open_axes.data;
  while (a->is_output || strcmp(a->size, size) != 0) a++;
  return a;
}

static wk_status set_size(const wk_module *m, const wk_open_axis *a, const wk_tensor *in,
                          wk_tensor *given) {
  const wk_graph *g = m->main;
  size_t tensor = input_named(g, a->tensor), size = input_named(g, a->size);
  int64_t n = in[tensor].type.dims[a->axis];
  wk_tensor *scalar = &given[size];
  if (!scalar->data) WK_TRY(wk_tensor_alloc(&wk_val(g, g->inputs.data[size])->type, scalar));
  else if (*(int64_t *)scalar->data != n)
    return wk_error(WK_INPUT, "input %s has %lld elements along axis %d, where input %s has %lld "
                    "(%s)", a->tensor, (long long)n, a->axis, first_with(m, a->size)->tensor,
                    (long long)*(int64_t *)scalar->data, a->symbol);
  *(int64_t *)scalar->data = n;
  return NULL;
}

wk_status wk_open_inputs(const wk_module *m, const wk_tensor *in, wk_tensor *given) {
  const wk_graph *g = m->main;
  size_t seen = wk_module_seen_inputs(m);
  for (size_t i = 0; i < seen; i++)
    WK_TRY(place_input(&wk_val(g, g->inputs.data[i])->type, &in[i], &given[i]));
  for (size_t i = 0; i < m->open_axes.n; i++)
    if (!m->open_axes.data[i].is_output)
      WK_TRY(set_size(m, &m->open_axes.data[i], in, given));
  return NULL;
}

/* The type of result i in the sizes of this run. */
static wk_status actual_type(const wk_module *m, const wk_tensor *given, const wk_tensor *results,
                             size_t i, wk_type *actual) {
  const wk_graph *g = m->main;
  *actual = results[i].type;
  for (size_t k = 0; k < m->open_axes.n; k++) {
    const wk_open_axis *a = &m->open_axes.data[k];
    if (!a->is_output || strcmp(a->tensor, g->output_names.data[i]) != 0) continue;
    const wk_tensor *size = a->size_is_output ? &results[output_named(g, a->size)]
                                              : &given[input_named(g, a->size)];
    int64_t n = *(const int64_t *)size->data;
    if (n < 0 || n > actual->dims[a->axis])
      return wk_error(WK_INPUT, "output %s is larger than it may be", a->tensor);
    actual->dims[a->axis] = n;
  }
  return NULL;
}

wk_status wk_open_outputs(const wk_module *m, const wk_tensor *given, wk_tensor *results) {
  for (size_t i = 0; i < wk_module_seen_outputs(m); i++) {
    wk_type actual;
    WK_TRY(actual_type(m, given, results, i, &actual));
    if (wk_shape_equal(&actual, &results[i].type)) continue;
    move_rows(&results[i].type, results[i].data, &actual, results[i].data, false);
    results[i].type = actual;
  }
  return NULL;
}

void wk_open_free(const wk_module *m, const wk_tensor *in, wk_tensor *given, wk_tensor *results) {
  const wk_graph *g = m->main;
  size_t seen = wk_module_seen_inputs(m);
  for (size_t i = 0; i < wk_graph_plain_inputs(g); i++)
    if (i >= seen || given[i].data != in[i].data) wk_tensor_free(&given[i]);
  for (size_t i = wk_module_seen_outputs(m); i < wk_graph_plain_outputs(g); i++)
    wk_tensor_free(&results[i]);
}
