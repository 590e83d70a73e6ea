/* SPDX-License-Identifier: Apache-2.0
 * Adjoint of LOOP: a loop that runs the iterations once more, from the last to the first.
 *
 * The forward loop also collects what the states were when each iteration began, those that the
 * way back reads; the rest of an iteration is computed again. The states of the loop back are the
 * adjoints of the states, and sums of the adjoints of captures; it scans what was collected, what
 * the forward loop scanned, and the adjoints of collected slices, and collects those of scanned
 * ones. Iterations keep their numbers. A sum of products x^T g, which is what a weight gets, is one
 * product behind the loop of all x and all g, where these take no more room than the weight.
 *
 * A loop with a condition collects nothing. There states are remembered in, and adjoints of scanned
 * slices are put into, tensors with an axis of all its iterations, which are states themselves; and
 * the forward loop counts its iterations. The loop back runs as many: it knows nothing of
 * others. */
#include <string.h>

#include "compiler/grad/body.h"

/* What stands on both sides of a loop: a value around it, one inside at the beginning of an
 * iteration, one at its end. */
typedef struct {
  wk_value_id outer, inner, next;
  int64_t axis;
  bool reverse;
} lane;

typedef struct {
  lane *v;
  uint32_t n;
} lanes;

/* A loop under construction. `number` is the body's input with the number of the iteration. */
typedef struct {
  wk_graph *body;
  int64_t trip;
  bool has_cond;
  wk_value_id cond, next_cond, number;
  lanes states, scans, captures, slices;
} frame;

typedef struct {
  wk_adjoint *a;
  const wk_attr_loop *at;
  const wk_graph *body;   /* of the forward loop */
  uint32_t n_in, n_out;   /* of its body, without the condition */
  uint32_t first;         /* output of the body that is output 0 of the node */
  uint32_t captures;      /* the first one among its inputs */
  bool *active;           /* per input of the body: there is a path to it from what is asked for */
  bool *seeded;           /* per output of the node: it has an adjoint in some iteration */
  wk_value_id *saved;     /* per input: its values in all iterations, around the loop */
  wk_value_id count;      /* with a condition: how many iterations there were */
} loop;

/* ---- loops --------------------------------------------------------------------------------- */

static lane *add(wk_arena *a, lanes *to, wk_value_id outer, wk_value_id inner, wk_value_id next) {
  lane *v = wk_arena_alloc(a, (to->n + 1) * sizeof *v);
  if (to->n) memcpy(v, to->v, to->n * sizeof *v);
  to->v = v;
  v[to->n] = (lane){.outer = outer, .inner = inner, .next = next};
  return &v[to->n++];
}

static lane *add_along(wk_arena *a, lanes *to, wk_value_id outer, wk_value_id inner,
                       wk_value_id next, int64_t axis, bool reverse) {
  lane *v = add(a, to, outer, inner, next);
  v->axis = axis;
  v->reverse = reverse;
  return v;
}

/* Those that the body reads. */
static void keep_live(lanes *l, const bool *live) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < l->n; i++)
    if (live[l->v[i].inner]) l->v[n++] = l->v[i];
  l->n = n;
}

static void keep_what_is_read(wk_arena *a, frame *f) {
  bool *live = wk_arena_alloc(a, f->body->values.n);
  if (f->has_cond) wk_body_mark(f->body, f->next_cond, live);
  for (uint32_t i = 0; i < f->states.n; i++) wk_body_mark(f->body, f->states.v[i].next, live);
  for (uint32_t i = 0; i < f->slices.n; i++) wk_body_mark(f->body, f->slices.v[i].next, live);
  keep_live(&f->scans, live);
  keep_live(&f->captures, live);
}

static wk_ints axes_of(wk_arena *a, const lanes *l) {
  int64_t *v = wk_arena_alloc(a, l->n * sizeof *v);
  for (uint32_t i = 0; i < l->n; i++) v[i] = l->v[i].axis;
  return wk_ints_dup(a, v, l->n);
}

static wk_ints reverses_of(wk_arena *a, const lanes *l) {
  int64_t *v = wk_arena_alloc(a, l->n * sizeof *v);
  for (uint32_t i = 0; i < l->n; i++) v[i] = l->v[i].reverse;
  return wk_ints_dup(a, v, l->n);
}

static wk_attr_loop *attrs_of(wk_arena *a, const frame *f) {
  wk_attr_loop *at = wk_attrs_new(a, WK_OP_LOOP);
  at->trip = f->trip;
  at->has_cond = f->has_cond;
  at->n_state = f->states.n;
  at->n_scan = f->scans.n;
  at->scan_axes = axes_of(a, &f->scans);
  at->scan_reverse = reverses_of(a, &f->scans);
  at->out_axes = axes_of(a, &f->slices);
  at->out_reverse = reverses_of(a, &f->slices);
  return at;
}

/* out: states, then slices. */
static void add_loop(wk_low *l, frame *f, wk_value_id *out) {
  if (l->status) return;
  keep_what_is_read(l->arena, f);
  const lanes *in_order[] = {&f->states, &f->scans, &f->captures};
  const lanes *made[] = {&f->states, &f->slices};
  uint32_t n_in = 1 + f->states.n + f->scans.n + f->captures.n, n_out = 0, k = 1;
  wk_value_id *outer = wk_arena_alloc(l->arena, n_in * sizeof *outer);
  wk_value_id *inner = wk_arena_alloc(l->arena, n_in * sizeof *inner);
  wk_value_id *next =
      wk_arena_alloc(l->arena, (1 + f->states.n + f->slices.n) * sizeof *next);
  outer[0] = f->cond;
  inner[0] = f->number;
  for (size_t g = 0; g < WK_COUNTOF(in_order); g++)
    for (uint32_t i = 0; i < in_order[g]->n; i++, k++) {
      outer[k] = in_order[g]->v[i].outer;
      inner[k] = in_order[g]->v[i].inner;
    }
  if (f->has_cond) next[n_out++] = f->next_cond;
  for (size_t g = 0; g < WK_COUNTOF(made); g++)
    for (uint32_t i = 0; i < made[g]->n; i++) next[n_out++] = made[g]->v[i].next;
  l->status = wk_body_end(f->body, inner, n_in, next, n_out);
  if (l->status) return;
  wk_node_desc d = {.op = WK_OP_LOOP, .name = l->name, .attrs = attrs_of(l->arena, f), .in = outer,
                    .n_in = n_in, .n_out = f->states.n + f->slices.n, .bodies = &f->body,
                    .n_bodies = 1};
  if (d.n_out) l->status = wk_graph_add(l->g, &d, out);
}

/* ---- paths --------------------------------------------------------------------------------- */

static bool is_float(const wk_graph *g, wk_value_id v) {
  return v != WK_NONE && wk_dtype_is_float(wk_val(g, v)->type.dtype);
}

/* From marked floats to what nodes make of them. */
static void mark_down(const wk_graph *g, bool *mark) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    bool any = false;
    for (uint32_t k = 0; k < n->n_in; k++)
      any = any || (is_float(g, n->in[k]) && mark[n->in[k]]);
    for (uint32_t k = 0; any && k < n->n_out; k++)
      if (is_float(g, n->out[k])) mark[n->out[k]] = true;
  }
}

/* From marked floats to what nodes make them of. */
static void mark_up(const wk_graph *g, bool *mark) {
  for (size_t i = g->nodes.n; i-- > 0;) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    bool any = false;
    for (uint32_t k = 0; k < n->n_out; k++)
      any = any || (is_float(g, n->out[k]) && mark[n->out[k]]);
    for (uint32_t k = 0; any && k < n->n_in; k++)
      if (is_float(g, n->in[k])) mark[n->in[k]] = true;
  }
}

/* States carry paths from iteration to iteration. */
static void find_active(loop *p) {
  const wk_graph *g = p->body;
  bool *mark = wk_arena_alloc(p->a->l.arena, g->values.n);
  p->active = wk_arena_alloc(p->a->l.arena, p->n_in);
  for (uint32_t k = 1; k < p->n_in; k++) p->active[k] = p->a->wants[k];
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t k = 1; k < p->n_in; k++)
      if (p->active[k]) mark[g->inputs.data[k]] = true;
    mark_down(g, mark);
    for (uint32_t k = 0; k < (uint32_t)p->at->n_state; k++) {
      wk_value_id next = g->outputs.data[p->first + k];
      if (p->active[1 + k] || !is_float(g, next) || !mark[next]) continue;
      p->active[1 + k] = changed = true;
    }
  }
}

static void find_seeded(loop *p) {
  const wk_graph *g = p->body;
  bool *mark = wk_arena_alloc(p->a->l.arena, g->values.n);
  uint32_t n_state = (uint32_t)p->at->n_state;
  p->seeded = wk_arena_alloc(p->a->l.arena, p->n_out);
  for (uint32_t k = 0; k < p->n_out; k++)
    p->seeded[k] = p->a->dy[k] != WK_NONE && (k >= n_state || p->active[1 + k]);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t k = 0; k < p->n_out; k++)
      if (p->seeded[k]) mark[g->outputs.data[p->first + k]] = true;
    mark_up(g, mark);
    for (uint32_t k = 0; k < n_state; k++) {
      if (p->seeded[k] || !p->active[1 + k] || !mark[g->inputs.data[1 + k]]) continue;
      p->seeded[k] = changed = true;
    }
  }
}

/* ---- forwards ------------------------------------------------------------------------------ */

/* v as slice `at` of `all`, whose first axis is that of iterations. */
static wk_value_id put(wk_low *l, wk_value_id all, wk_value_id at, wk_value_id v) {
  static const int64_t one[] = {1, 1};
  if (l->status) return 0;
  const wk_type t = *wk_low_type(l, v);
  int64_t dims[WK_MAX_RANK] = {1};
  memcpy(dims + 1, t.dims, (size_t)t.rank * sizeof *dims);
  wk_value_id in[] = {all, wk_low_reshape(l, at, 2, one), wk_low_reshape(l, v, t.rank + 1, dims)};
  return wk_low_add(l, WK_OP_SCATTER_ND, wk_attrs_new(l->arena, WK_OP_SCATTER_ND), in, 3, 1, NULL);
}

/* One slice of type t per iteration, the iterations first. */
static wk_type of_all(loop *p, const wk_type *t) {
  wk_low *l = &p->a->l;
  wk_type all = wk_type_make(t->dtype, 0, NULL);
  if (l->status) return all;
  if (t->rank == WK_MAX_RANK) {
    wk_low_fail(l, wk_error(WK_UNSUPPORTED, "a state of rank %d cannot be kept per iteration",
                            t->rank));
    return all;
  }
  all.rank = t->rank + 1;
  all.dims[0] = p->at->trip;
  memcpy(all.dims + 1, t->dims, (size_t)t->rank * sizeof *t->dims);
  wk_status s = wk_type_check(&all);
  if (!s) return all;
  wk_status_free(s);
  wk_low_fail(l, wk_error(WK_UNSUPPORTED, "it may run %lld times, and what the way back needs of "
                          "all iterations is too large", (long long)p->at->trip));
  return wk_type_make(t->dtype, 0, NULL);
}

/* The copy of the forward body, as the body of the same loop. */
static frame same_loop(loop *p, wk_graph *g) {
  wk_arena *arena = p->a->l.arena;
  const wk_node *n = p->a->n;
  uint32_t n_state = (uint32_t)p->at->n_state;
  frame f = {.body = g, .trip = p->at->trip, .has_cond = p->first != 0, .cond = n->in[0],
             .next_cond = g->outputs.data[0], .number = g->inputs.data[0]};
  for (uint32_t k = 1; k < p->n_in; k++) {
    wk_value_id inner = g->inputs.data[k];
    uint32_t s = k - 1 - n_state;
    if (k <= n_state)
      add(arena, &f.states, n->in[k], inner, g->outputs.data[p->first + k - 1]);
    else if (k < p->captures)
      add_along(arena, &f.scans, n->in[k], inner, WK_NONE, p->at->scan_axes.v[s],
                p->at->scan_reverse.v[s] != 0);
    else
      add(arena, &f.captures, n->in[k], inner, WK_NONE);
  }
  for (uint32_t k = n_state; k < p->n_out; k++)
    add_along(arena, &f.slices, WK_NONE, WK_NONE, g->outputs.data[p->first + k],
              p->at->out_axes.v[k - n_state], p->at->out_reverse.v[k - n_state] != 0);
  return f;
}

/* What each iteration begins with is handed out: as a slice, or in a state of all iterations. */
static void remember(loop *p, wk_low *inside, frame *f, wk_value_id v) {
  wk_low *l = &p->a->l;
  const wk_type all = of_all(p, wk_low_type(inside, v));
  if (!f->has_cond) {
    add_along(l->arena, &f->slices, WK_NONE, WK_NONE, v, 0, false);
    return;
  }
  if (l->status) return;
  wk_value_id inner = wk_graph_input(inside->g, NULL, &all);
  add(l->arena, &f->states, wk_adjoint_zeros(l, &all), inner, put(inside, inner, f->number, v));
}

static void count_iterations(loop *p, wk_low *inside, frame *f) {
  const wk_type number = wk_type_make(WK_I64, 0, NULL);
  wk_value_id inner = wk_graph_input(inside->g, NULL, &number);
  add(p->a->l.arena, &f->states, wk_low_scalar(&p->a->l, WK_I64, 0), inner,
      wk_low_map(inside, WK_I64, "add(a, 1)", 1, f->number));
}

/* The same state in all iterations. */
static bool is_unchanged(const loop *p, uint32_t input) {
  return p->body->inputs.data[input] == p->body->outputs.data[p->first + input - 1];
}

/* Replaces the loop by one that also gives p->saved of the states in `live`, and p->count. */
static void run_forwards(loop *p, const bool *live) {
  wk_adjoint *a = p->a;
  wk_low *l = &a->l;
  uint32_t n_state = (uint32_t)p->at->n_state, n_saved = 0;
  uint32_t *which = wk_arena_alloc(l->arena, n_state * sizeof *which);
  for (uint32_t k = 1; k <= n_state; k++) {
    if (!live[p->body->inputs.data[k]]) continue;
    if (is_unchanged(p, k)) p->saved[k] = a->n->in[k];
    else which[n_saved++] = k;
  }
  if ((!n_saved && !p->first) || l->status) return;
  wk_graph *g = wk_graph_clone_into(l->g->module, p->body);
  wk_low inside = {.g = g, .arena = l->arena, .name = a->n->name}, around = *l;
  frame f = same_loop(p, g);
  for (uint32_t i = 0; i < n_saved; i++) remember(p, &inside, &f, g->inputs.data[which[i]]);
  if (p->first) count_iterations(p, &inside, &f);
  if (inside.status) wk_low_fail(l, inside.status);
  around.status = l->status;
  around.name = a->n->name;
  wk_value_id *out = wk_arena_alloc(l->arena, (f.states.n + f.slices.n) * sizeof *out);
  add_loop(&around, &f, out);
  l->status = around.status;
  if (l->status) return;
  for (uint32_t k = 0; k < p->n_out; k++) a->out[k] = out[k];
  for (uint32_t i = 0; i < n_saved; i++) p->saved[which[i]] = out[p->n_out + i];
  if (p->first) p->count = out[p->n_out + n_saved];
}

/* ---- backwards ----------------------------------------------------------------------------- */

/* x^T g of every iteration: what they are around the loop, or which slices it collects. */
typedef struct {
  bool is_one, has_x;  /* an adjoint is such a product; x is there already */
  wk_value_id x;       /* [trip, k, m] */
  uint32_t x_slice, g_slice;
  int64_t k, m, n;     /* x [k, m], g [k, n] */
} product;

/* The body that runs backwards, and the numbers of its iterations. */
typedef struct {
  loop *p;
  product *products;  /* per input of the body */
  wk_low *l, *inside; /* around the loop, in its body */
  wk_body body;
  frame f;
  wk_value_id number; /* of the iteration as the forward loop has it */
  uint32_t first_scan; /* slice that is an adjoint of a scanned one */
} way_back;

static wk_value_id new_input(way_back *w, const wk_type *t) {
  return wk_graph_input(w->inside->g, NULL, t);
}

/* trip - 1 - its own, or count - 1 - its own. */
static void count_down(way_back *w) {
  const wk_type number = wk_type_make(WK_I64, 0, NULL);
  w->f.number = new_input(w, &number);
  if (!w->f.has_cond) {
    wk_value_id last = wk_low_scalar(w->inside, WK_I64, (double)(w->f.trip - 1));
    w->number = wk_low_map(w->inside, WK_I64, "sub(a, b)", 2, last, w->f.number);
    return;
  }
  wk_value_id count = new_input(w, &number);
  add(w->l->arena, &w->f.captures, w->p->count, count, WK_NONE);
  w->number = wk_low_map(w->inside, WK_I64, "sub(sub(a, 1), b)", 2, count, w->f.number);
  w->f.cond = wk_low_map(w->l, WK_BOOL, "gt(a, 0)", 1, w->p->count);
  w->f.next_cond = wk_low_map(w->inside, WK_BOOL, "gt(a, 0)", 1, w->number);
}

/* Where in a tensor that is scanned (or collected) so an iteration's slice is. */
static wk_value_id position(way_back *w, bool reverse) {
  if (!reverse) return w->number;
  wk_value_id last = wk_low_scalar(w->inside, WK_I64, (double)(w->f.trip - 1));
  return wk_low_map(w->inside, WK_I64, "sub(a, b)", 2, last, w->number);
}

/* The body's input `inner` is, in every iteration, the slice of `outer` that it was. */
static void scan(way_back *w, wk_value_id outer, wk_value_id inner, int64_t axis, bool reverse) {
  if (w->l->status) return;
  if (!w->f.has_cond) {
    add_along(w->l->arena, &w->f.scans, outer, inner, WK_NONE, axis, !reverse);
    return;
  }
  wk_value_id all = new_input(w, wk_low_type(w->l, outer));
  add(w->l->arena, &w->f.captures, outer, all, WK_NONE);
  wk_value_id slice = wk_low_gather(w->inside, all, position(w, reverse), axis);
  if (!w->inside->status) wk_graph_replace_uses(w->inside->g, inner, slice);
}

/* What the forward body reads, it reads again. */
static void read_again(way_back *w, const bool *live) {
  loop *p = w->p;
  const wk_node *n = p->a->n;
  wk_arena *arena = w->l->arena;
  uint32_t n_state = (uint32_t)p->at->n_state;
  for (uint32_t k = 1; k < p->n_in; k++) {
    wk_value_id inner = p->body->inputs.data[k];
    uint32_t s = k - 1 - n_state;
    if (!live[inner]) continue;
    if (k <= n_state && !is_unchanged(p, k)) scan(w, p->saved[k], inner, 0, false);
    else if (k > n_state && k < p->captures)
      scan(w, n->in[k], inner, p->at->scan_axes.v[s], p->at->scan_reverse.v[s] != 0);
    else add(arena, &w->f.captures, n->in[k], inner, WK_NONE);
  }
}

static wk_value_id or_zeros(wk_low *l, wk_value_id v, const wk_type *t) {
  return v == WK_NONE ? wk_adjoint_zeros(l, t) : v;
}

/* Adjoints of states, from those after an iteration to those before it. */
static void carry(way_back *w) {
  loop *p = w->p;
  for (uint32_t k = 0; k < (uint32_t)p->at->n_state; k++) {
    if (!p->seeded[k]) continue;
    const wk_type t = *wk_low_type(w->l, p->a->n->in[1 + k]);
    add(w->l->arena, &w->f.states, or_zeros(w->l, p->a->dy[k], &t), w->body.seed[p->first + k],
        or_zeros(w->inside, w->body.dx[1 + k], &t));
  }
}

static void scan_adjoints(way_back *w) {
  loop *p = w->p;
  uint32_t n_state = (uint32_t)p->at->n_state;
  for (uint32_t k = n_state; k < p->n_out; k++)
    if (p->seeded[k])
      scan(w, p->a->dy[k], w->body.seed[p->first + k], p->at->out_axes.v[k - n_state],
           p->at->out_reverse.v[k - n_state] != 0);
}

static const wk_node *definer(const wk_graph *g, wk_value_id v, wk_op op) {
  if (wk_val(g, v)->kind != WK_VALUE_NODE) return NULL;
  const wk_node *n = wk_nod(g, wk_val(g, v)->node);
  return n->op == op && !n->dead ? n : NULL;
}

/* The tensor around the loop of whose slices, in order, v is one; WK_NONE. */
static wk_value_id whole_of(const loop *p, wk_value_id v, bool *is_reversed) {
  uint32_t n_state = (uint32_t)p->at->n_state;
  *is_reversed = false;
  for (uint32_t k = 1; k < p->captures; k++) {
    if (p->body->inputs.data[k] != v) continue;
    if (k <= n_state) return is_unchanged(p, k) ? WK_NONE : p->saved[k];
    *is_reversed = p->at->scan_reverse.v[k - 1 - n_state] != 0;
    return p->at->scan_axes.v[k - 1 - n_state] == 0 ? p->a->n->in[k] : WK_NONE;
  }
  return WK_NONE;
}

static uint32_t add_slice(way_back *w, wk_value_id v, bool reverse) {
  add_along(w->l->arena, &w->f.slices, WK_NONE, WK_NONE, v, 0, reverse);
  return w->f.slices.n - 1;
}

/* Capture k's adjoint as a product behind the loop; false: it is none, or its factors are large. */
static bool make_product(way_back *w, uint32_t k) {
  const wk_graph *g = w->inside->g;
  const wk_node *n = definer(g, w->body.dx[k], WK_OP_MATMUL), *turned;
  product *y = &w->products[k];
  bool is_reversed;
  if (w->f.has_cond || !n || n->n_in != 2 || WK_ATTR(n, matmul)->epilogue) return false;
  turned = definer(g, n->in[0], WK_OP_TRANSPOSE);
  if (!turned || wk_val(g, n->in[0])->type.rank != 2 || wk_val(g, n->in[1])->type.rank != 2)
    return false;
  wk_value_id x = turned->in[0];
  *y = (product){.k = wk_val(g, x)->type.dims[0], .m = wk_val(g, x)->type.dims[1],
                 .n = wk_val(g, n->in[1])->type.dims[1]};
  y->x = whole_of(w->p, x, &is_reversed);
  y->has_x = y->x != WK_NONE;
  y->is_one = y->k * (y->n + (y->has_x ? 0 : y->m)) <= y->m * y->n;
  if (!y->is_one) return false;
  y->g_slice = add_slice(w, n->in[1], !is_reversed);
  if (!y->has_x) y->x_slice = add_slice(w, x, !is_reversed);
  return true;
}

/* out: slices. */
static wk_value_id product_of(way_back *w, const product *y, const wk_value_id *out) {
  const int64_t rows = y->k * w->f.trip, x_dims[] = {rows, y->m}, g_dims[] = {rows, y->n};
  wk_value_id x = wk_low_reshape(w->l, y->has_x ? y->x : out[y->x_slice], 2, x_dims);
  wk_value_id g = wk_low_reshape(w->l, out[y->g_slice], 2, g_dims);
  return wk_low_matmul(w->l, wk_low_type(w->l, x)->dtype, wk_adjoint_swapped(w->l, x), g, WK_NONE);
}

/* Sums over the iterations, from the last to the first. */
static void add_up(way_back *w) {
  loop *p = w->p;
  w->products = wk_arena_alloc(w->l->arena, p->n_in * sizeof *w->products);
  for (uint32_t k = p->captures; k < p->n_in && !w->inside->status; k++) {
    wk_value_id d = w->body.dx[k];
    if (d == WK_NONE || make_product(w, k)) continue;
    wk_type t = *wk_low_type(w->inside, d);
    t.dtype = wk_compute_dtype(t.dtype);
    wk_value_id sum = new_input(w, &t);
    add(w->l->arena, &w->f.states, wk_adjoint_zeros(w->l, &t), sum,
        wk_low_map(w->inside, t.dtype, "add(a, b)", 2, sum, d));
  }
}

static void collect(way_back *w) {
  loop *p = w->p;
  w->first_scan = w->f.slices.n;
  for (uint32_t k = 1 + (uint32_t)p->at->n_state; k < p->captures && !w->inside->status; k++) {
    uint32_t s = k - 1 - (uint32_t)p->at->n_state;
    wk_value_id d = w->body.dx[k];
    bool reverse = p->at->scan_reverse.v[s] != 0;
    if (d == WK_NONE) continue;
    if (!w->f.has_cond) {
      add_along(w->l->arena, &w->f.slices, WK_NONE, WK_NONE, d, p->at->scan_axes.v[s], !reverse);
      continue;
    }
    const wk_type all = of_all(p, wk_low_type(w->inside, d));
    if (w->l->status) return;
    wk_value_id inner = new_input(w, &all);
    add(w->l->arena, &w->f.states, wk_adjoint_zeros(w->l, &all), inner,
        put(w->inside, inner, position(w, reverse), d));
  }
}

/* [trip, ...] with the first axis moved to where the scan has it. */
static wk_value_id axis_moved(wk_low *l, wk_value_id v, int64_t axis) {
  int64_t perm[WK_MAX_RANK];
  if (l->status || axis == 0) return v;
  for (int64_t i = 0; i < wk_low_type(l, v)->rank; i++)
    perm[i] = i == axis ? 0 : i < axis ? i + 1 : i;
  return wk_low_transpose(l, v, perm);
}

/* Each in the order in which they were added. */
static void hand_on(way_back *w, const wk_value_id *out) {
  loop *p = w->p;
  wk_adjoint *a = p->a;
  uint32_t i = 0;
  for (uint32_t k = 0; k < (uint32_t)p->at->n_state; k++) {
    if (!p->seeded[k]) continue;
    if (a->wants[1 + k]) a->dx[1 + k] = out[i];
    i++;
  }
  for (uint32_t k = p->captures; k < p->n_in && !w->l->status; k++) {
    if (w->body.dx[k] == WK_NONE) continue;
    wk_value_id d = w->products[k].is_one ? product_of(w, &w->products[k], out + w->f.states.n)
                                          : out[i++];
    a->dx[k] = wk_adjoint_cast(w->l, d, wk_low_type(w->l, a->n->in[k])->dtype);
  }
  if (!w->f.has_cond) i = w->f.states.n + w->first_scan;
  for (uint32_t k = 1 + (uint32_t)p->at->n_state; k < p->captures; k++) {
    if (w->body.dx[k] == WK_NONE) continue;
    a->dx[k] = out[i++];
    if (w->f.has_cond)
      a->dx[k] = axis_moved(w->l, a->dx[k], p->at->scan_axes.v[k - 1 - (uint32_t)p->at->n_state]);
  }
}

/* Without one, all adjoints are 0. */
static bool has_adjoints(const loop *p, const wk_body *b) {
  bool any = false;
  for (uint32_t k = 1; k < p->n_in; k++) any = any || b->dx[k] != WK_NONE;
  for (uint32_t k = 0; k < (uint32_t)p->at->n_state; k++) any = any || p->seeded[k];
  return any;
}

static bool *live_in_adjoints(loop *p, const wk_body *b) {
  bool *live = wk_arena_alloc(p->a->l.arena, b->l.g->values.n);
  for (uint32_t k = 1; k < p->n_in; k++) wk_body_mark(b->l.g, b->dx[k], live);
  return live;
}

static void differentiate(loop *p, wk_body *b) {
  wk_arena *arena = p->a->l.arena;
  bool *seeded = wk_arena_alloc(arena, p->first + p->n_out);
  bool *wanted = wk_arena_alloc(arena, p->n_in);
  for (uint32_t k = 0; k < p->n_out; k++) seeded[p->first + k] = p->seeded[k];
  for (uint32_t k = 1; k < p->n_in; k++)
    wanted[k] = k <= (uint32_t)p->at->n_state ? p->seeded[k - 1] : p->a->wants[k];
  wk_body_begin(p->a, p->body, seeded, wanted, b);
}

static void run_backwards(way_back *w, const bool *live) {
  loop *p = w->p;
  w->inside = &w->body.l;
  w->f = (frame){.body = w->inside->g, .trip = p->at->trip, .has_cond = p->first != 0,
                 .cond = WK_NONE};
  count_down(w);
  read_again(w, live);
  if (w->inside->status || w->l->status) return;
  wk_graph_replace_uses(w->inside->g, p->body->inputs.data[0], w->number);
  carry(w);
  add_up(w);
  collect(w);
  scan_adjoints(w);
}

/* Of a loop that never runs: its states stay what they are. */
static void pass_on(wk_adjoint *a, uint32_t n_state) {
  for (uint32_t k = 0; k < n_state; k++)
    if (a->wants[1 + k]) a->dx[1 + k] = a->dy[k];
}

void wk_adjoint_loop(wk_adjoint *a) {
  const wk_attr_loop *at = WK_ATTR(a->n, loop);
  if (at->trip == 0) {
    pass_on(a, (uint32_t)at->n_state);
    return;
  }
  loop p = {.a = a, .at = at, .body = a->n->bodies[0], .n_in = a->n->n_in, .n_out = a->n->n_out,
            .first = at->has_cond ? 1 : 0, .captures = (uint32_t)(1 + at->n_state + at->n_scan)};
  way_back w = {.p = &p, .l = &a->l};
  p.saved = wk_arena_alloc(a->l.arena, p.n_in * sizeof *p.saved);
  find_active(&p);
  find_seeded(&p);
  differentiate(&p, &w.body);
  if (a->l.status) return;
  if (!has_adjoints(&p, &w.body)) {
    a->l.status = wk_body_end(w.body.l.g, NULL, 0, NULL, 0);
    return;
  }
  bool *live = live_in_adjoints(&p, &w.body);
  run_forwards(&p, live);
  if (a->l.status) return;
  run_backwards(&w, live);
  if (w.inside->status) wk_low_fail(&a->l, w.inside->status);
  wk_value_id *out =
      wk_arena_alloc(a->l.arena, (w.f.states.n + w.f.slices.n) * sizeof *out);
  add_loop(&a->l, &w.f, out);
  if (!a->l.status) hand_on(&w, out);
}
