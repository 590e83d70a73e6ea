/* SPDX-License-Identifier: Apache-2.0
 * Every draw adds a node or a few to a graph whose values have all one type but for numbers of
 * iterations. */
#include "tests/random_control.h"

#include <stdlib.h>

enum { MAX_POOL = 64, ROWS = 2, COLUMNS = 3 };

/* Values of f32[ROWS,COLUMNS] that nodes may read, and of i64[]. */
typedef struct {
  wk_module *m;
  wk_graph *g;
  wk_rng *rng;
  wk_value_id v[MAX_POOL], number;
  int n;
} pool;

static int64_t draw(pool *p, int64_t lo, int64_t hi) { return wk_rng_range(p->rng, lo, hi); }

static wk_type matrix(void) { return wk_type_make(WK_F32, 2, (const int64_t[]){ROWS, COLUMNS}); }

static wk_value_id any(pool *p) { return p->v[draw(p, 0, p->n - 1)]; }

static void put(pool *p, wk_value_id v) {
  if (p->n < MAX_POOL) p->v[p->n++] = v;
}

static pool inside(pool *p, const char *name) {
  return (pool){.m = p->m, .g = wk_graph_new(p->m, name), .rng = p->rng};
}

static wk_value_id input(pool *p) {
  const wk_type t = matrix();
  wk_value_id v = wk_graph_input(p->g, NULL, &t);
  put(p, v);
  return v;
}

static wk_value_id scalar(pool *p, wk_dtype t, double v) { return wk_graph_scalar(p->g, t, v); }

/* x times the transpose of another, times x. */
static wk_value_id products(pool *p) {
  wk_attr_transpose *t = wk_attrs_new(p->m->arena, WK_OP_TRANSPOSE);
  t->perm = wk_ints_dup(p->m->arena, (const int64_t[]){1, 0}, 2);
  wk_value_id x = any(p), turned = wk_build(p->g, WK_OP_TRANSPOSE, t, 1, any(p));
  wk_value_id square = wk_build(p->g, WK_OP_MATMUL, NULL, 2, x, turned);
  return wk_build(p->g, WK_OP_TANH, NULL, 1, wk_build(p->g, WK_OP_MATMUL, NULL, 2, square, any(p)));
}

static wk_value_id by_number(pool *p) {
  wk_attr_cast *c = wk_attrs_new(p->m->arena, WK_OP_CAST);
  c->to = WK_F32;
  wk_value_id x = wk_build(p->g, WK_OP_CAST, c, 1, p->number);
  x = wk_build(p->g, WK_OP_SIN, NULL, 1, wk_build(p->g, WK_OP_ADD, NULL, 2, x, any(p)));
  return wk_build(p->g, WK_OP_MUL, NULL, 2, x, any(p));
}

static void add_nodes(pool *p, int nodes, int depth);

static wk_value_id is_odd(pool *p) {
  wk_value_id two = scalar(p, WK_I64, 2), one = scalar(p, WK_I64, 1);
  return wk_build(p->g, WK_OP_EQUAL, NULL, 2, wk_build(p->g, WK_OP_MOD, NULL, 2, p->number, two),
                  one);
}

static wk_status add_if(pool *p, int depth) {
  enum { CAPTURES = 3 };
  wk_value_id in[CAPTURES + 2] = {is_odd(p), p->number}, out[2];
  wk_graph *bodies[2];
  int n_out = (int)draw(p, 1, 2);
  for (int k = 0; k < CAPTURES; k++) in[2 + k] = any(p);
  for (int b = 0; b < 2; b++) {
    pool q = inside(p, b ? "else" : "then");
    const wk_type number = wk_type_make(WK_I64, 0, NULL);
    q.number = wk_graph_input(q.g, NULL, &number);
    for (int k = 0; k < CAPTURES; k++) input(&q);
    add_nodes(&q, (int)draw(p, 0, 3), depth - 1);
    for (int k = 0; k < n_out; k++) wk_graph_output(q.g, NULL, any(&q));
    bodies[b] = q.g;
  }
  wk_node_desc d = {.op = WK_OP_IF, .name = "if", .in = in, .n_in = CAPTURES + 2,
                    .n_out = (uint32_t)n_out, .bodies = bodies, .n_bodies = 2};
  WK_TRY(wk_graph_add(p->g, &d, out));
  for (int k = 0; k < n_out; k++) put(p, out[k]);
  return NULL;
}

/* [trip, ROWS, COLUMNS] with the first axis at another place. */
static wk_value_id stack(pool *p, int64_t trip, int64_t axis) {
  wk_attr_expand *e = wk_attrs_new(p->m->arena, WK_OP_EXPAND);
  int64_t dims[] = {trip, ROWS, COLUMNS}, ones[] = {trip, 1, 1}, steps[8];
  e->shape = wk_ints_dup(p->m->arena, dims, 3);
  wk_value_id all = wk_build(p->g, WK_OP_EXPAND, e, 1, any(p));
  float *v = wk_arena_alloc(p->m->arena, sizeof steps);
  for (int64_t i = 0; i < trip; i++) v[i] = (float)(0.5 + 0.25 * (double)i);
  const wk_type t = wk_type_make(WK_F32, 3, ones);
  all = wk_build(p->g, WK_OP_MUL, NULL, 2, all, wk_graph_constant(p->g, NULL, &t, v));
  static const int64_t perms[3][3] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0}};
  wk_attr_transpose *perm = wk_attrs_new(p->m->arena, WK_OP_TRANSPOSE);
  perm->perm = wk_ints_dup(p->m->arena, perms[axis], 3);
  return wk_build(p->g, WK_OP_TRANSPOSE, perm, 1, all);
}

typedef struct {
  int64_t axes[2], reverse[2];
} places;

static places draw_places(pool *p, int n) {
  places at = {{0}, {0}};
  for (int i = 0; i < n; i++) {
    at.axes[i] = draw(p, 0, 2);
    at.reverse[i] = draw(p, 0, 1);
  }
  return at;
}

static void put_slices(pool *p, wk_value_id all, int64_t axis) {
  wk_attr_reduce_sum *r = wk_attrs_new(p->m->arena, WK_OP_REDUCE_SUM);
  r->axes = wk_ints_dup(p->m->arena, &axis, 1);
  r->keepdims = 0;
  wk_value_id x = wk_build(p->g, WK_OP_SIN, NULL, 1, all);
  put(p, wk_build(p->g, WK_OP_REDUCE_SUM, r, 1, x));
}

/* Goes on while the number of the iteration is below that of the one around, plus 1. */
static wk_value_id condition(pool *p, wk_value_id limit) {
  return wk_build(p->g, WK_OP_LESS, NULL, 2, p->number,
                  wk_build(p->g, WK_OP_ADD, NULL, 2, limit, scalar(p, WK_I64, 0)));
}

static wk_status add_loop(pool *p, int depth) {
  enum { CAPTURES = 2 };
  int states = (int)draw(p, 0, 3), scans = (int)draw(p, 0, 2);
  bool has_cond = draw(p, 0, 2) == 0, begins = draw(p, 0, 3) != 0;
  int slices = has_cond ? 0 : (int)draw(p, states ? 0 : 1, 2);
  if (has_cond && states == 0) states = 1;
  const wk_type number = wk_type_make(WK_I64, 0, NULL);
  pool q = inside(p, "body");
  wk_attr_loop *at = wk_attrs_new(p->m->arena, WK_OP_LOOP);
  places in_at = draw_places(p, scans), out_at = draw_places(p, slices);
  wk_value_id in[16] = {WK_NONE}, out[8];
  uint32_t n_in = 1;
  at->trip = draw(p, 1, 4);
  at->has_cond = has_cond;
  at->n_state = states + 1;
  at->n_scan = scans;
  at->scan_axes = wk_ints_dup(p->m->arena, in_at.axes, scans);
  at->scan_reverse = wk_ints_dup(p->m->arena, in_at.reverse, scans);
  at->out_axes = wk_ints_dup(p->m->arena, out_at.axes, slices);
  at->out_reverse = wk_ints_dup(p->m->arena, out_at.reverse, slices);
  if (has_cond && !begins) {
    uint8_t *no = wk_arena_alloc(p->m->arena, 1);
    const wk_type flag = wk_type_make(WK_BOOL, 0, NULL);
    in[0] = wk_graph_constant(p->g, NULL, &flag, no);
  }
  q.number = wk_graph_input(q.g, NULL, &number);
  for (int k = 0; k < states; k++) {
    in[n_in++] = any(p);
    input(&q);
  }
  wk_value_id counter = wk_graph_input(q.g, NULL, &number); /* an integer state */
  in[n_in++] = p->number;
  for (int k = 0; k < scans; k++) {
    in[n_in++] = stack(p, at->trip, in_at.axes[k]);
    input(&q);
  }
  for (int k = 0; k < CAPTURES; k++) {
    in[n_in++] = any(p);
    input(&q);
  }
  wk_value_id limit = wk_graph_input(q.g, NULL, &number), own = q.number;
  in[n_in++] = p->number;
  if (draw(p, 0, 1)) q.number = counter;
  add_nodes(&q, (int)draw(p, 1, 5), depth - 1);
  q.number = own;
  if (has_cond) wk_graph_output(q.g, NULL, condition(&q, limit));
  for (int k = 0; k < states; k++) wk_graph_output(q.g, NULL, any(&q));
  wk_graph_output(q.g, NULL, wk_build(q.g, WK_OP_ADD, NULL, 2, counter, scalar(&q, WK_I64, 2)));
  for (int k = 0; k < slices; k++) wk_graph_output(q.g, NULL, any(&q));
  wk_node_desc d = {.op = WK_OP_LOOP, .name = "loop", .attrs = at, .in = in, .n_in = n_in,
                    .n_out = (uint32_t)(states + 1 + slices), .bodies = &q.g, .n_bodies = 1};
  WK_TRY(wk_graph_add(p->g, &d, out));
  for (int k = 0; k < states; k++) put(p, out[k]);
  for (int k = 0; k < slices; k++) put_slices(p, out[states + 1 + k], out_at.axes[k]);
  return NULL;
}

static void add_nodes(pool *p, int nodes, int depth) {
  for (int i = 0; i < nodes; i++) {
    wk_status s = NULL;
    switch (draw(p, 0, depth > 0 ? 7 : 5)) {
      case 0: put(p, wk_build(p->g, WK_OP_ADD, NULL, 2, any(p), any(p))); break;
      case 1: put(p, wk_build(p->g, WK_OP_SUB, NULL, 2, any(p), any(p))); break;
      case 2: put(p, wk_build(p->g, WK_OP_TANH, NULL, 1, any(p))); break;
      case 3: put(p, by_number(p)); break;
      case 4:
      case 5: put(p, products(p)); break;
      case 6: s = add_if(p, depth); break;
      default: s = add_loop(p, depth); break;
    }
    if (s) abort();
  }
}

wk_module *random_control(uint64_t seed) {
  wk_rng rng = {wk_hash64("control", 7, seed)};
  wk_module *m = wk_module_new("control");
  pool p = {.m = m, .g = wk_graph_new(m, "main"), .rng = &rng};
  const wk_type number = wk_type_make(WK_I64, 0, NULL);
  p.number = wk_graph_input(p.g, "number", &number);
  for (int k = 0; k < 3; k++) input(&p);
  wk_status s = draw(&p, 0, 3) ? add_loop(&p, 2) : add_if(&p, 2);
  if (s) abort();
  add_nodes(&p, 2, 1);
  for (int k = 0; k < 2; k++) wk_graph_output(p.g, NULL, p.v[p.n - 1 - k]);
  s = wk_module_normalise(m);
  if (!s) s = wk_module_verify(m);
  if (s) abort();
  return m;
}

wk_tensor *random_control_inputs(const wk_graph *g, uint64_t seed) {
  wk_rng state = {seed + 1}, *rng = &state;
  wk_tensor *in = wk_xcalloc(g->inputs.n + 1, sizeof *in);
  for (size_t k = 0; k < g->inputs.n; k++) {
    const wk_type *t = &wk_val(g, g->inputs.data[k])->type;
    if (wk_tensor_alloc(t, &in[k])) abort();
    for (int64_t i = 0; i < wk_type_count(t); i++)
      if (wk_dtype_is_float(t->dtype))
        wk_store_f64(in[k].data, t->dtype, i, wk_rng_unit(rng) * 2 - 1);
      else wk_store_i64(in[k].data, t->dtype, i, wk_rng_range(rng, 1, 3));
  }
  return in;
}
