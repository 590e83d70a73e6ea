/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/results.h"

#include <string.h>

int64_t *wk_accel_tensor_starts(const wk_accel_net *net, const wk_sched_use *uses, wk_arena *a,
                                int64_t *bytes) {
  int64_t *at = wk_arena_alloc(a, net->tensors.n * sizeof *at);
  *bytes = 0;
  for (size_t t = 0; t < net->tensors.n; t++) {
    at[t] = uses[t].first_writer < 0 ? -1 : *bytes;
    if (at[t] >= 0) *bytes += wk_ceil_div(net->tensors.data[t].bytes, WICK_ALIGN) * WICK_ALIGN;
  }
  return at;
}

void wk_accel_add_windows(const wk_accel_net *net, const wk_sched_steps *s, const int64_t *starts,
                          wk_str *windows, wk_str *pitches) {
  for (size_t i = 0; i < s->results.n; i++) {
    const wk_sched_computed *r = &s->results.data[i];
    const wk_accel_tensor *t = &net->tensors.data[r->tensor];
    const wk_sched_place *p = &r->place;
    int64_t plane = t->rows * t->row;
    wk_accel_window w = {.at = (uint64_t)(starts[r->tensor] + p->plane * plane + p->row * t->row +
                                          p->column),
                         .plane = (uint64_t)plane,
                         .scratchpad = (uint32_t)(s->buffers.data[p->buffer].at + p->offset),
                         .planes = (uint32_t)p->planes, .rows = (uint32_t)p->rows,
                         .row = (uint32_t)p->width};
    uint32_t pitch = (uint32_t)t->row;
    wk_str_addn(windows, (const char *)&w, sizeof w);
    wk_str_addn(pitches, (const char *)&pitch, sizeof pitch);
  }
}

bool wk_accel_have_pitches(const wk_accel_net *net, const wk_sched_steps *s) {
  for (size_t i = 0; i < s->results.n; i++) {
    const wk_sched_computed *r = &s->results.data[i];
    if (r->place.width != net->tensors.data[r->tensor].row) return true;
  }
  return false;
}

void wk_accel_add_values(const wk_accel_net *net, const int64_t *starts, uint32_t first,
                         wk_accel_layer *layers, wk_str *out) {
  for (size_t i = 0; i < net->left.n; i++) {
    const wk_accel_left *x = &net->left.data[i];
    const wk_accel_operand *y = &x->at;
    wk_accel_value v = {.at = (uint64_t)(starts[y->tensor] + y->offset),
                        .lane = y->lane < 0 ? WK_ACCEL_NO_LANE : (uint32_t)y->lane,
                        .first = (uint32_t)y->first};
    memcpy(v.strides, y->strides, (size_t)y->rank * sizeof *v.strides);
    wk_accel_layer *l = &layers[x->layer];
    if (!l->values++) l->first_value = first + (uint32_t)i;
    wk_str_addn(out, (const char *)&v, sizeof v);
  }
}

/* "i8[1,64,56,56] in group 3" */
static const char *text_of(const wk_graph *g, const wk_package_step *s, const wk_accel_left *left,
                           uint32_t group, wk_arena *a) {
  wk_str b = {0};
  wk_str_add(&b, s->op);
  for (size_t k = 0; k < s->n_tensors; k++) {
    wk_str_add(&b, k ? ", " : " ");
    wk_type_print(&b, &wk_val(g, left[k].value)->type);
  }
  wk_str_printf(&b, " in group %u", group);
  const char *text = wk_arena_strdup(a, b.s);
  wk_str_free(&b);
  return text;
}

static void add_tensors(const wk_graph *g, const wk_accel_left *left, size_t n, wk_arena *a,
                        wk_package_step *out) {
  wk_package_tensor *t = wk_arena_alloc(a, n * sizeof *t);
  for (size_t k = 0; k < n; k++) {
    const wk_value *v = wk_val(g, left[k].value);
    t[k] = (wk_package_tensor){.name = wk_arena_strdup(a, v->name ? v->name : ""),
                               .dtype = (uint32_t)v->type.dtype, .rank = v->type.rank,
                               .dims = wk_arena_memdup(a, v->type.dims, sizeof v->type.dims),
                               .place = WICK_PLACE_DEVICE};
  }
  out->tensors = t;
  out->n_tensors = n;
}

void wk_accel_add_steps(const wk_accel_net *net, const wk_graph *g, const wk_accel_layer *layers,
                        const char *const *ops, wk_arena *a, wk_package_part *out) {
  wk_package_step *steps = wk_arena_alloc(a, net->layers.n * sizeof *steps);
  const wk_accel_left *left = net->left.data;
  for (size_t i = 0; i < net->layers.n; i++) {
    const wk_accel_layer *l = &layers[i];
    steps[i] = (wk_package_step){.node = wk_arena_strdup(a, net->names.data[i]),
                                 .op = wk_arena_strdup(a, ops[i]), .code = i, .macs = l->macs,
                                 .bytes = l->loaded + l->stored};
    add_tensors(g, left, l->values, a, &steps[i]);
    steps[i].text = text_of(g, &steps[i], left, l->group, a);
    left += l->values;
  }
  out->steps = steps;
  out->n_steps = net->layers.n;
}
