/* SPDX-License-Identifier: Apache-2.0
 * The graph of a step: loss and metric of the model's output, the gradient of the loss for every
 * weight, what becomes of the gradients, new values of all variables. */
#include <stdlib.h>
#include <string.h>

#include "compiler/grad/grad.h"
#include "compiler/ir/graph_names.h"
#include "compiler/train/constants.h"
#include "compiler/train/maker.h"

typedef wk_step_maker maker;

/* ---- values by name -------------------------------------------------------------------------- */

static wk_value_id find_constant(const wk_graph *g, const char *name) {
  for (size_t i = 0; i < g->values.n; i++)
    if (g->values.data[i].kind == WK_VALUE_CONSTANT && !strcmp(g->values.data[i].name, name))
      return (wk_value_id)i;
  return WK_NONE;
}

static wk_value_id find_output(const wk_graph *g, const char *name) {
  for (size_t i = 0; i < g->outputs.n; i++)
    if (!strcmp(g->output_names.data[i], name)) return g->outputs.data[i];
  return WK_NONE;
}

static bool is_trained(const wk_type *t) { return t->rank > 0 && wk_dtype_is_float(t->dtype); }

void wk_step_weights(const wk_module *m, wk_import_report *report, wk_weight_names *out) {
  wk_find_constants(m->main, report);
  for (size_t i = 0; i < report->weights.n; i++) {
    const wk_import_weight *w = &report->weights.data[i];
    wk_value_id v = find_constant(m->main, w->name);
    if (v == WK_NONE || !is_trained(&wk_val(m->main, v)->type)) continue;
    if (!w->constant) wk_vec_push(out, w->name);
  }
}

/* ---- names of its own ------------------------------------------------------------------------ */

/* Another value of the name; WK_NONE: there is none. */
static wk_value_id named(const wk_graph *g, wk_value_id v, const char *name) {
  uint32_t id;
  if (!wk_map_get(g->names, name, &id) || id == v || strcmp(wk_val(g, id)->name, name))
    return WK_NONE;
  return id;
}

/* Input `at` gets the name. Inputs of the model and variables keep theirs, then it is train.NAME;
 * nobody sees those of other values. */
static void name_input(const maker *k, size_t at, const char *name) {
  if (at == WK_STEP_NONE) return;
  wk_value_id v = k->g->inputs.data[at], other;
  while ((other = named(k->g, v, name)) != WK_NONE &&
         wk_val(k->g, other)->kind == WK_VALUE_INPUT)
    name = wk_arena_printf(k->g->module->arena, "train.%s", name);
  if (other != WK_NONE) wk_graph_set_name(k->g, other, wk_graph_unique_name(k->g, name));
  wk_graph_set_name(k->g, v, name);
}

/* Once there are all inputs, which are variables too. */
static void name_inputs(const maker *k) {
  wk_step *s = k->s;
  name_input(k, s->labels, "labels");
  name_input(k, s->rate, "rate");
  name_input(k, s->step, "step");
  name_input(k, s->key, "key");
  name_input(k, s->apply, "apply");
  if (s->labels != WK_STEP_NONE)
    s->labels_name = wk_arena_strdup(s->arena, wk_val(k->g, k->g->inputs.data[s->labels])->name);
}

/* ---- variables ------------------------------------------------------------------------------- */

static wk_value_id add_input(maker *k, const char *name, wk_dtype t, size_t *at) {
  const wk_type scalar = wk_type_make(t, 0, NULL);
  *at = wk_graph_plain_inputs(k->g);
  return wk_graph_input(k->g, name, &scalar);
}

/* A constant that lives between runs from now on, and begins with what it is. */
static void open_constant(wk_graph *g, wk_value_id v, bool is_trainable) {
  wk_value *c = wk_val(g, v);
  c->kind = WK_VALUE_INPUT;
  c->is_public = true;
  c->initial = c->data;
  c->data = NULL;
  c->is_trainable = is_trainable;
  c->index = (uint32_t)g->inputs.n;
  wk_vec_push(&g->inputs, v);
}

static void add_variable(maker *k, wk_value_id v, bool is_weight, bool is_statistic) {
  const wk_value x = *wk_val(k->g, v);
  const wk_step_variable one = {.name = wk_arena_strdup(k->s->arena, x.name), .type = x.type,
                                .stored = x.type.dtype, .is_weight = is_weight,
                                .is_statistic = is_statistic};
  wk_vec_push(&k->s->variables, one);
}

wk_value_id wk_step_state(maker *k, const char *name, const char *role, const wk_type *t,
                          double first) {
  void *data;
  if (k->l.status) return 0;
  k->l.status = wk_graph_data_alloc(k->g, t, &data);
  if (k->l.status) return 0;
  for (int64_t i = 0; first != 0 && i < wk_type_count(t); i++)
    wk_store_f64(data, t->dtype, i, first);
  wk_value_id v = wk_graph_variable(k->g, wk_arena_printf(k->s->arena, "%s.%s", name, role), t,
                                    data, false);
  add_variable(k, v, false, false);
  return v;
}

/* ---- loss ------------------------------------------------------------------------------------ */

static wk_status refuse_output(const wk_graph *g, const char *name) {
  wk_status s = wk_error(WK_USAGE, "the model has no output '%s'; it has", name);
  for (size_t i = 0; i < g->outputs.n; i++) s = wk_status_item(s, "%s", g->output_names.data[i]);
  return s;
}

/* What the loss is of, in f32 or f64: no loss is computed, or added up, in halves. */
static wk_status find_prediction(maker *k, wk_value_id *y) {
  *y = find_output(k->g, k->o->output);
  if (*y == WK_NONE) return refuse_output(k->g, k->o->output);
  const wk_type t = wk_val(k->g, *y)->type;
  if (!wk_dtype_is_float(t.dtype) || wk_dtype_is_narrow(t.dtype))
    return wk_error(WK_USAGE, "the output '%s' is of %s: a loss, and what one is of, has floats",
                    k->o->output, wk_dtype_name(t.dtype));
  if (t.dtype == WK_F16 || t.dtype == WK_BF16) *y = wk_low_map(&k->l, WK_F32, "f32(a)", 1, *y);
  return k->l.status;
}

/* The loss and its metric, from the labels that a run is given. */
static wk_status add_loss(maker *k, wk_reduction reduction, wk_value_id *loss,
                          wk_value_id *metric) {
  const wk_step_options *o = k->o;
  wk_value_id y;
  wk_type target;
  *metric = WK_NONE;
  WK_TRY(find_prediction(k, &y));
  if (o->is_loss) {
    const wk_type t = wk_val(k->g, y)->type;
    int64_t axes[WK_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    *loss = y;
    if (reduction == WK_REDUCTION_NONE || t.rank == 0) return NULL;
    wk_attr_reduce_mean *a = wk_attrs_new(k->l.arena, WK_OP_REDUCE_MEAN);
    a->axes = wk_ints_dup(k->l.arena, axes, t.rank);
    a->keepdims = 0;
    *loss = wk_low_add(&k->l, WK_OP_REDUCE_MEAN, a, &y, 1, 1, NULL);
    return k->l.status;
  }
  WK_TRY(wk_loss_target(o->loss, &wk_val(k->g, y)->type, &target));
  k->s->labels = k->g->inputs.n;
  if (wk_loss_get(o->loss)->target == WK_TARGET_CLASSES)
    k->s->classes = wk_val(k->g, y)->type.dims[1];
  const wk_loss_desc d = {.kind = o->loss, .name = "loss", .reduction = reduction,
                          .prediction = y, .target = wk_graph_input(k->g, "labels", &target),
                          .weights = WK_NONE};
  WK_TRY(wk_loss_build(k->g, &d, loss, NULL));
  return wk_metric_build(k->g, &d, metric);
}

/* Loss and metric become the first outputs, in the place of the model's; `kept` come behind. */
static void set_outputs(maker *k, wk_value_id loss, wk_value_id metric, const wk_value_id *kept,
                        size_t n) {
  wk_graph *g = k->g;
  wk_graph_drop_outputs(g);
  k->s->loss = 0;
  wk_graph_output(g, "loss", loss);
  k->s->metric = metric == WK_NONE ? WK_STEP_NONE : 1;
  if (metric != WK_NONE) wk_graph_output(g, "metric", metric);
  for (size_t i = 0; i < n; i++) wk_graph_output(g, NULL, kept[i]);
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* stored: of the names, what the file has them as. */
static wk_status differentiate(maker *k, const char *const *names, const wk_dtype *stored,
                               size_t n) {
  wk_value_id *ids = wk_arena_alloc(k->s->arena, n * sizeof *ids), *out;
  wk_dtype *types = wk_arena_alloc(k->s->arena, n * sizeof *types);
  size_t n_wrt = 0;
  out = wk_arena_alloc(k->s->arena, n * sizeof *out);
  for (size_t i = 0; i < n; i++) {
    ids[n_wrt] = find_constant(k->g, names[i]);
    types[n_wrt] = stored[i];
    if (ids[n_wrt] != WK_NONE) n_wrt++;
  }
  wk_scale_open(k);
  WK_TRY(k->l.status);
  const wk_grad_request r = {.n_of = 1, .n_wrt = n_wrt, .of = &k->loss, .seed = &k->scale,
                             .wrt = ids, .out = out};
  WK_TRY(wk_grad(k->g, &r));
  for (size_t i = 0; i < n_wrt; i++) {
    if (out[i] == WK_NONE) {
      wk_vec_push(&k->s->idle, wk_arena_strdup(k->s->arena, wk_val(k->g, ids[i])->name));
      continue;
    }
    wk_vec_push(&k->weights, ids[i]);
    wk_vec_push(&k->stored, types[i]);
    wk_vec_push(&k->gradients, out[i]);
  }
  wk_scale_undo(k);
  return k->l.status;
}

/* Marks what a value is computed from, itself included. */
static void mark_sources(const wk_graph *g, wk_value_id v, uint8_t *is_source) {
  WK_VEC(wk_value_id) work = {0};
  wk_vec_push(&work, v);
  while (work.n) {
    v = work.data[--work.n];
    if (v == WK_NONE || is_source[v]) continue;
    is_source[v] = 1;
    if (wk_val(g, v)->kind != WK_VALUE_NODE) continue;
    const wk_node *n = wk_nod(g, wk_val(g, v)->node);
    for (uint32_t i = 0; i < n->n_in; i++) wk_vec_push(&work, n->in[i]);
  }
  wk_vec_free(&work);
}

static bool reads(const wk_node *n, const uint8_t *marks) {
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != WK_NONE && marks[n->in[i]]) return true;
  return false;
}

/* The first operator between the weights and the loss whose derivative is 0; NULL: there is no way
 * from one to the other. */
static const wk_node *find_zero(const maker *k, const char *const *names, size_t n) {
  const wk_graph *g = k->g;
  const wk_node *found = NULL;
  uint8_t *is_source = wk_xcalloc(g->values.n, 1), *is_moved = wk_xcalloc(g->values.n, 1);
  mark_sources(g, k->loss, is_source);
  for (size_t i = 0; i < n; i++) {
    wk_value_id v = find_constant(g, names[i]);
    if (v != WK_NONE) is_moved[v] = 1;
  }
  for (size_t i = 0; i < g->nodes.n && !found; i++) {
    const wk_node *node = wk_nod(g, (wk_node_id)i);
    const char *note;
    if (node->dead || !reads(node, is_moved)) continue;
    wk_adjoint_kind kind = wk_adjoint_of(node->op, &note);
    bool is_zero = kind == WK_ADJOINT_CONSTANT || kind == WK_ADJOINT_NO_PATH;
    for (uint32_t o = 0; o < node->n_out; o++) {
      if (node->out[o] == WK_NONE) continue;
      is_moved[node->out[o]] = !is_zero;
      if (is_zero && is_source[node->out[o]]) found = node;
    }
  }
  free(is_source);
  free(is_moved);
  return found;
}

static wk_status nothing_to_train(const maker *k, const char *const *names, size_t n) {
  const wk_node *zero = find_zero(k, names, n);
  if (!n) return wk_error(WK_UNSUPPORTED, "nothing to train: all weights are frozen");
  if (!zero)
    return wk_error(WK_UNSUPPORTED, "nothing to train: the loss depends on none of the weights");
  return wk_error(WK_UNSUPPORTED, "nothing to train: between the weights and the loss is the %s "
                  "'%s', whose derivative is 0", wk_op_get(zero->op)->name,
                  zero->name ? zero->name : "");
}

/* Sum of what `text` makes of each element. */
static wk_value_id sum_all(maker *k, wk_dtype t, wk_value_id x, const char *text) {
  static const int64_t axes[WK_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
  return wk_low_reduce(&k->l, t, "sum", x, axes, wk_low_type(&k->l, x)->rank, false, text, NULL);
}

/* The common norm of all gradients, f64 if one of them is. */
static wk_value_id norm_of(maker *k, wk_dtype *t) {
  wk_value_id sum = WK_NONE;
  wk_dtype wide = WK_F32;
  for (size_t i = 0; i < k->gradients.n; i++)
    if (wk_low_type(&k->l, k->gradients.data[i])->dtype == WK_F64) wide = WK_F64;
  for (size_t i = 0; i < k->gradients.n; i++) {
    wk_value_id one = sum_all(k, wide, k->gradients.data[i], "mul(a, a)");
    sum = i ? wk_low_map(&k->l, wide, "add(a, b)", 2, sum, one) : one;
  }
  *t = wide;
  return wk_low_map(&k->l, wide, "sqrt(a)", 1, sum);
}

/* PyTorch's clip_grad_norm_: every gradient times min(1, limit / (norm + 1e-6)). */
static void clip(maker *k, wk_value_id norm, wk_dtype wide) {
  char text[96];
  snprintf(text, sizeof text, "min(1, div(%.17g, add(a, 1e-6)))", k->o->clip_norm);
  wk_value_id scale = wk_low_map(&k->l, wide, text, 1, norm);
  for (size_t i = 0; i < k->gradients.n && !k->l.status; i++) {
    wk_dtype t = wk_low_type(&k->l, k->gradients.data[i])->dtype;
    wk_value_id by = wk_low_map(&k->l, wk_compute_dtype(t), "out(a)", 1, scale);
    k->gradients.data[i] = wk_low_map(&k->l, t, "mul(a, b)", 2, k->gradients.data[i], by);
  }
}

/* ---- new values ------------------------------------------------------------------------------ */

void wk_step_update(maker *k, wk_value_id when, wk_value_id v, wk_value_id next) {
  if (k->l.status) return;
  next = wk_low_map(&k->l, wk_low_type(&k->l, next)->dtype, "select(a, b, c)", 3, when, next, v);
  if (!k->l.status) wk_graph_update(k->g, v, next);
}

/* Gradients become their sums over the batches of a step so far; those of halves are f32. */
static void add_sums(maker *k) {
  for (size_t i = 0; i < k->gradients.n && !k->l.status; i++) {
    const wk_value w = *wk_val(k->g, k->weights.data[i]);
    wk_type t = w.type;
    t.dtype = wk_compute_dtype(t.dtype);
    wk_value_id before = wk_step_state(k, w.name, "sum", &t, 0);
    wk_vec_push(&k->sums, before);
    k->gradients.data[i] =
        wk_low_map(&k->l, t.dtype, "add(a, out(b))", 2, before, k->gradients.data[i]);
  }
}

/* The sums are kept, until the step ends, and gradients become means. */
static void take_means(maker *k) {
  char text[64];
  snprintf(text, sizeof text, "mul(a, %.17g)", 1.0 / (double)k->o->accumulate);
  for (size_t i = 0; i < k->sums.n && !k->l.status; i++) {
    wk_dtype t = wk_low_type(&k->l, k->sums.data[i])->dtype;
    wk_value_id sum = k->gradients.data[i];
    wk_value_id next = wk_low_map(&k->l, t, "select(a, 0, b)", 2, k->ends, sum);
    wk_step_update(k, k->goes, k->sums.data[i], next);
    k->gradients.data[i] = wk_low_map(&k->l, t, text, 1, sum);
  }
}

/* The names of the states of an optimiser, one after the other. */
static char *state_name(wk_arena *a, const char *list, int i) {
  for (; i > 0; i--) list = strchr(list, ' ') + 1;
  return wk_arena_strndup(a, list, strcspn(list, " "));
}

static wk_status update(maker *k, size_t i, const wk_value_id *factors) {
  const wk_optimizer *o = wk_optimizer_get(k->o->optimizer);
  wk_value_id w = k->weights.data[i], states[WK_OPTIMIZER_STATES], next[1 + WK_OPTIMIZER_STATES];
  const wk_value of = *wk_val(k->g, w);
  wk_type t = of.type;
  int n = wk_optimizer_states(k->o->optimizer);
  t.dtype = wk_compute_dtype(t.dtype);
  for (int s = 0; s < n; s++)
    states[s] = wk_step_state(k, of.name, state_name(k->s->arena, o->states, s), &t, 0);
  WK_TRY(k->l.status);
  const wk_update_desc d = {.kind = k->o->optimizer, .name = of.name, .hypers = &k->o->hypers,
                            .weight = w, .gradient = k->gradients.data[i], .states = states,
                            .factors = factors, .apply = k->apply};
  WK_TRY(wk_optimizer_build(k->g, &d, &next[0], next + 1));
  open_constant(k->g, w, true);
  add_variable(k, w, true, false);
  wk_graph_update(k->g, w, next[0]);
  k->s->variables.data[k->s->variables.n - 1].stored = k->stored.data[i];
  for (int s = 0; s < n; s++) wk_graph_update(k->g, states[s], next[1 + s]);
  return NULL;
}

static wk_status update_all(maker *k) {
  wk_value_id factors[WK_DTYPE_COUNT][WK_OPTIMIZER_FACTORS];
  bool has[WK_DTYPE_COUNT] = {false};
  for (size_t i = 0; i < k->weights.n; i++) {
    wk_dtype t = wk_compute_dtype(wk_val(k->g, k->weights.data[i])->type.dtype);
    if (!has[t])
      WK_TRY(wk_factors_build(k->g, "factors", k->o->optimizer, &k->o->hypers, k->rate, k->step, t,
                              factors[t]));
    has[t] = true;
    WK_TRY(update(k, i, factors[t]));
  }
  return NULL;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* The statistics' next values are outputs from `first` on, until they become updates. */
static wk_status add_statistics(maker *k, const wk_import_report *r, size_t first) {
  wk_value_id *next = wk_arena_alloc(k->s->arena, r->moved.n * sizeof *next);
  for (size_t i = 0; i < r->moved.n; i++) next[i] = k->g->outputs.data[first + i];
  for (size_t i = first; i + r->moved.n < k->g->outputs.n; i++) {
    k->g->outputs.data[i] = k->g->outputs.data[i + r->moved.n];
    k->g->output_names.data[i] = k->g->output_names.data[i + r->moved.n];
    k->g->updates.data[i] = k->g->updates.data[i + r->moved.n];
  }
  k->g->outputs.n -= r->moved.n;
  k->g->output_names.n = k->g->updates.n = k->g->outputs.n;
  for (size_t i = 0; i < r->moved.n; i++) {
    wk_value_id v = find_constant(k->g, r->moved.data[i].name);
    if (v == WK_NONE) return wk_error(WK_INTERNAL, "no statistic '%s'", r->moved.data[i].name);
    open_constant(k->g, v, false);
    add_variable(k, v, false, true);
    wk_step_update(k, k->goes, v, next[i]);
  }
  return k->l.status;
}

/* When variables take their next values, and whether all was well. Updates wait for the loss alone,
 * but where clipping makes them wait for all gradients anyway: otherwise all of these would live at
 * once. What is not finite of them is counted: the sum of their squares could overflow where none
 * is infinite. */
static void add_conditions(maker *k) {
  k->finite = k->goes = wk_low_map(&k->l, WK_BOOL, "lt(abs(a), inf)", 1, k->loss);
  for (size_t i = 0; i < k->gradients.n && !k->l.status; i++) {
    wk_dtype t = wk_compute_dtype(wk_low_type(&k->l, k->gradients.data[i])->dtype);
    wk_value_id bad = sum_all(k, t, k->gradients.data[i], "select(lt(abs(a), inf), 0, 1)");
    wk_value_id good = wk_low_map(&k->l, WK_BOOL, "eq(a, 0)", 1, bad);
    k->finite = wk_low_map(&k->l, WK_BOOL, "and(a, b)", 2, k->finite, good);
  }
  k->valid = k->finite;
  if (k->scale != WK_NONE && !k->l.status)
    k->valid = wk_low_map(&k->l, WK_BOOL, "and(a, or(b, c))", 3, k->goes, k->finite,
                          wk_scale_can_shrink(k));
  k->s->waits = k->o->clip_norm > 0 || k->scale != WK_NONE;
  k->apply = k->s->waits ? k->finite : k->goes;
  if (k->ends != WK_NONE)
    k->apply = wk_low_map(&k->l, WK_BOOL, "and(a, b)", 2, k->apply, k->ends);
}

/* The norm, as an output behind `valid`, and what it is for. */
static void add_norm(maker *k) {
  wk_dtype t;
  if (!k->o->has_norm && k->o->clip_norm <= 0) return;
  wk_value_id norm = norm_of(k, &t);
  if (k->l.status) return;
  k->s->norm = k->s->valid + 1;
  wk_graph_output(k->g, "norm", norm);
  if (k->o->clip_norm > 0) clip(k, norm, t);
}

/* Weights of halves become those of f32 and their rounding. */
static wk_status open_masters(maker *k, const char *const *names, size_t n, wk_dtype *stored) {
  wk_value_id v;
  for (size_t i = 0; i < n; i++) WK_TRY(wk_master_open(k->g, names[i], &stored[i], &v));
  return NULL;
}

static wk_status make(maker *k, const wk_import_report *r, const char *const *names, size_t n) {
  wk_value_id metric, *moved = wk_arena_alloc(k->s->arena, r->moved.n * sizeof *moved);
  wk_dtype *stored = wk_arena_alloc(k->s->arena, n * sizeof *stored);
  for (size_t i = 0; i < r->moved.n; i++) moved[i] = find_output(k->g, r->moved.data[i].output);
  WK_TRY(open_masters(k, names, n, stored));
  for (size_t i = 0; r->key && i < k->g->inputs.n; i++)
    if (!strcmp(wk_val(k->g, k->g->inputs.data[i])->name, r->key)) k->s->key = i;
  WK_TRY(add_loss(k, WK_REDUCTION_MEAN, &k->loss, &metric));
  set_outputs(k, k->loss, metric, moved, r->moved.n);
  size_t first = k->g->outputs.n - r->moved.n;
  k->loss = WK_NONE; /* ids change when the graph is put in order */
  WK_TRY(wk_module_normalise(k->g->module));
  k->loss = k->g->outputs.data[0];
  WK_TRY(differentiate(k, names, stored, n));
  if (!k->weights.n) return nothing_to_train(k, names, n);
  k->rate = add_input(k, "rate", WK_F64, &k->s->rate);
  k->step = add_input(k, "step", WK_I64, &k->s->step);
  if (k->o->accumulate > 1) {
    k->ends = add_input(k, "apply", WK_BOOL, &k->s->apply);
    add_sums(k);
  }
  add_conditions(k);
  WK_TRY(k->l.status);
  wk_scale_update(k);
  k->s->valid = first; /* once the statistics are updates */
  wk_graph_output(k->g, "valid", k->valid);
  take_means(k);
  add_norm(k);
  WK_TRY(k->l.status);
  WK_TRY(update_all(k));
  WK_TRY(add_statistics(k, r, first));
  name_inputs(k);
  WK_TRY(wk_module_normalise(k->g->module));
  return wk_module_verify(k->g->module);
}

static maker start(wk_module *m, const wk_step_options *o, wk_step *out) {
  *out = (wk_step){.arena = wk_arena_new(), .labels = WK_STEP_NONE, .rate = WK_STEP_NONE,
                   .step = WK_STEP_NONE, .key = WK_STEP_NONE, .apply = WK_STEP_NONE,
                   .loss = WK_STEP_NONE, .metric = WK_STEP_NONE, .valid = WK_STEP_NONE,
                   .norm = WK_STEP_NONE};
  return (maker){.l = {.g = m->main, .arena = m->arena, .name = "step"}, .g = m->main, .o = o,
                 .s = out, .ends = WK_NONE, .apply = WK_NONE, .scale = WK_NONE};
}

static void end(maker *k) {
  wk_vec_free(&k->weights);
  wk_vec_free(&k->gradients);
  wk_vec_free(&k->sums);
  wk_vec_free(&k->stored);
}

wk_status wk_step_build(wk_module *m, const wk_import_report *report, const wk_step_options *o,
                        const char *const *weights, size_t n, wk_step *out) {
  maker k = start(m, o, out);
  wk_status s = make(&k, report, weights, n);
  end(&k);
  return s;
}

/* What the model has of the variables of a step. */
static wk_status share_variables(wk_graph *g, const wk_step *step) {
  wk_dtype stored;
  for (size_t i = 0; i < step->variables.n; i++) {
    const wk_step_variable *v = &step->variables.data[i];
    wk_value_id c = v->is_statistic ? find_constant(g, v->name) : WK_NONE;
    if (v->is_weight) WK_TRY(wk_master_open(g, v->name, &stored, &c));
    if (c != WK_NONE) open_constant(g, c, v->is_weight);
  }
  return NULL;
}

static wk_status evaluate(maker *k, const wk_step *step) {
  wk_value_id loss, metric;
  WK_TRY(add_loss(k, WK_REDUCTION_NONE, &loss, &metric));
  set_outputs(k, loss, metric, NULL, 0);
  WK_TRY(share_variables(k->g, step));
  if (k->s->labels != WK_STEP_NONE)
    name_input(k, k->s->labels, wk_arena_strdup(k->g->module->arena, step->labels_name));
  WK_TRY(wk_module_normalise(k->g->module));
  return wk_module_verify(k->g->module);
}

wk_status wk_step_inference(wk_module *m, const wk_step *step) {
  WK_TRY(share_variables(m->main, step));
  WK_TRY(wk_module_normalise(m));
  return wk_module_verify(m);
}

wk_status wk_step_evaluation(wk_module *m, const wk_step *step, const wk_step_options *o,
                             wk_step *out) {
  maker k = start(m, o, out);
  wk_status s = evaluate(&k, step);
  end(&k);
  return s;
}

void wk_step_free(wk_step *s) {
  wk_vec_free(&s->variables);
  wk_vec_free(&s->idle);
  wk_arena_free(s->arena);
  *s = (wk_step){0};
}
