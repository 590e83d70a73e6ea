/* SPDX-License-Identifier: Apache-2.0
 * The generator. A node is kept when its results are finite and of ordinary size, and when
 * disturbing its operands by their own uncertainty disturbs the results by little. */
#include "tests/random_draw_newer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ELEMENTS 3000
#define MAX_VALUE 1e4
#define MIN_LARGEST 1e-2

/* Relative to the largest element: what a value may be off, and what rounding of one node adds. Of
 * 16-bit floats that is the neighbour of the nearest number. */
static double most_error(wk_dtype t) { return t == WK_F16 ? 4e-3 : t == WK_BF16 ? 3e-2 : 2e-5; }
static double rounding(wk_dtype t) { return t == WK_F16 ? 1e-3 : t == WK_BF16 ? 8e-3 : 2e-7; }

/* ---- numbers --------------------------------------------------------------------------------- */

int64_t draw_int(draw *d, int64_t lo, int64_t hi) { return wk_rng_range(&d->rng, lo, hi); }
bool draw_chance(draw *d, int percent) { return draw_int(d, 0, 99) < percent; }

int64_t draw_dim(draw *d) {
  static const int64_t dims[] = {1, 2, 2, 3, 3, 4, 4, 5, 6, 8};
  return dims[draw_int(d, 0, (int64_t)WK_COUNTOF(dims) - 1)];
}

static void fill_random(wk_rng *r, const wk_tensor *t, double lo, double hi) {
  int64_t n = wk_type_count(&t->type);
  for (int64_t i = 0; i < n; i++) {
    if (wk_dtype_is_float(t->type.dtype))
      wk_store_f64(t->data, t->type.dtype, i, lo + (hi - lo) * wk_rng_unit(r));
    else
      wk_store_i64(t->data, t->type.dtype, i, wk_rng_range(r, (int64_t)lo, (int64_t)hi));
  }
}

/* ---- values ---------------------------------------------------------------------------------- */

const wk_type *draw_type(const draw *d, wk_value_id v) { return &wk_val(d->g, v)->type; }

static drawn *info(draw *d, wk_value_id v) {
  while (d->v.n < d->g->values.n) wk_vec_push(&d->v, (drawn){0});
  return &d->v.data[v];
}

/* Bounds of the numbers of an input are kept in its name (NAME_LO_HI_SEED), so that its data can be
 * made again. */
static void input_data(const char *name, const wk_tensor *t) {
  double lo = -2, hi = 2;
  const char *range = strchr(name, '_');
  if (range) {
    char *end;
    lo = strtod(range + 1, &end);
    if (*end == '_') hi = strtod(end + 1, NULL);
  }
  wk_rng r = {wk_hash64(name, strlen(name), 0)};
  fill_random(&r, t, lo, hi);
}

wk_value_id draw_fresh(draw *d, wk_dtype t, int rank, const int64_t *dims, bool constant, double lo,
                       double hi) {
  wk_type type = wk_type_make(t, rank, dims);
  wk_value_id v;
  wk_tensor data = {type, NULL};
  if (constant) {
    if (wk_graph_constant_alloc(d->g, NULL, &type, &v, &data.data)) abort();
    fill_random(&d->rng, &data, lo, hi);
  } else {
    char *name = wk_arena_printf(d->a, "in%zu_%g_%g_%llu", d->g->inputs.n, lo, hi,
                                 (unsigned long long)d->seed);
    v = wk_graph_input(d->g, name, &type);
    if (wk_tensor_alloc(&type, &data)) abort();
    input_data(wk_val(d->g, v)->name, &data);
  }
  info(d, v)->t = data;
  info(d, v)->is_open = true;
  return v;
}

wk_value_id draw_number(draw *d, wk_dtype t, double v) {
  wk_value_id id = wk_graph_scalar(d->g, t, v);
  info(d, id)->t = (wk_tensor){*draw_type(d, id), (void *)(uintptr_t)wk_val(d->g, id)->data};
  return id;
}

static wk_dtype draw_dtype(draw *d, uint32_t dtypes) {
  wk_dtype all[WK_DTYPE_COUNT];
  int n = 0;
  if ((dtypes & (1u << WK_F32)) && draw_chance(d, 90)) return WK_F32;
  for (wk_dtype t = WK_F32; t < WK_DTYPE_COUNT; t++)
    if (dtypes & (1u << t)) all[n++] = t;
  return all[draw_int(d, 0, n - 1)];
}

static void usual_range(draw *d, wk_dtype t, double *lo, double *hi) {
  *lo = t == WK_BOOL || wk_dtype_is_unsigned(t) ? 0 : wk_dtype_is_float(t) ? -2 : -6;
  *hi = t == WK_BOOL ? 1 : wk_dtype_is_float(t) ? 2 : 9;
  if (wk_dtype_is_float(t) && draw_chance(d, 15)) *lo = 0.25; /* for roots and logarithms */
}

wk_value_id draw_operand(draw *d, draw_want want) {
  wk_value_id found[512];
  int n = 0;
  bool unused = draw_chance(d, 70);
  for (size_t i = d->v.n; i-- > 0 && n < 512;) {
    const drawn *v = &d->v.data[i];
    const wk_type *t = draw_type(d, (wk_value_id)i);
    if (v->is_open && (want.dtypes >> t->dtype & 1) && t->rank >= want.least &&
        t->rank <= want.most && (!want.exact || v->error == 0) && (!unused || !v->used))
      found[n++] = (wk_value_id)i;
  }
  if (n && draw_chance(d, 90))
    return found[draw_int(d, 0, n - 1 < 5 ? n - 1 : draw_int(d, 0, n - 1))];
  int64_t dims[WK_MAX_RANK];
  int rank =
      (int)draw_int(d, want.least, want.most < 4 ? want.most : want.least > 4 ? want.least : 4);
  double lo, hi;
  wk_dtype t = draw_dtype(d, want.dtypes);
  for (int i = 0; i < rank; i++) dims[i] = draw_dim(d);
  usual_range(d, t, &lo, &hi);
  return draw_fresh(d, t, rank, dims, draw_chance(d, 15), lo, hi);
}

wk_value_id draw_real(draw *d, int least, int most) {
  return draw_operand(d, (draw_want){DRAW_FLOATS, least, most, false});
}

wk_value_id draw_of_type(draw *d, wk_dtype t, int rank, const int64_t *dims) {
  wk_type want = wk_type_make(t, rank, dims);
  for (size_t i = d->v.n; i-- > 0 && draw_chance(d, 90);)
    if (d->v.data[i].is_open && wk_type_equal(draw_type(d, (wk_value_id)i), &want) &&
        draw_chance(d, 50))
      return (wk_value_id)i;
  double lo, hi;
  usual_range(d, t, &lo, &hi);
  return draw_fresh(d, t, rank, dims, draw_chance(d, 50), lo, hi);
}

static bool broadcasts_to(const wk_type *t, const wk_type *x) {
  if (t->rank > x->rank) return false;
  for (int i = 1; i <= t->rank; i++)
    if (t->dims[t->rank - i] != 1 && t->dims[t->rank - i] != x->dims[x->rank - i]) return false;
  return true;
}

wk_value_id draw_beside(draw *d, wk_value_id x, bool exact) {
  const wk_type t = *draw_type(d, x);
  for (size_t i = d->v.n; i-- > 0 && draw_chance(d, 90);) {
    const drawn *v = &d->v.data[i];
    const wk_type *u = draw_type(d, (wk_value_id)i);
    if (v->is_open && u->dtype == t.dtype && (!exact || v->error == 0) && broadcasts_to(u, &t) &&
        draw_chance(d, 40))
      return (wk_value_id)i;
  }
  int64_t dims[WK_MAX_RANK];
  int rank = (int)draw_int(d, 0, t.rank);
  double lo, hi;
  for (int i = 0; i < rank; i++) dims[i] = draw_chance(d, 30) ? 1 : t.dims[t.rank - rank + i];
  usual_range(d, t.dtype, &lo, &hi);
  return draw_fresh(d, t.dtype, rank, dims, draw_chance(d, 70), lo, hi);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static double largest(const wk_tensor *t) {
  double most = 0;
  for (int64_t i = 0; i < wk_type_count(&t->type); i++) {
    double v = fabs(wk_load_f64(t->data, t->type.dtype, i));
    if (!(v <= MAX_VALUE)) return INFINITY;
    most = fmax(most, v);
  }
  return most;
}

static bool evaluate(draw *d, const wk_node *n, const wk_tensor *in, wk_tensor *out) {
  for (uint32_t k = 0; k < n->n_out; k++) {
    out[k] = (wk_tensor){0};
    if (n->out[k] == WK_NONE) continue;
    if (wk_tensor_alloc(draw_type(d, n->out[k]), &out[k])) abort();
  }
  wk_eval_node_args args = {n, d->g, in, out};
  wk_status s = wk_eval_node(&args);
  bool ok = s == NULL;
  wk_status_free(s);
  return ok;
}

/* Copies with each element moved by up to its uncertainty. */
static void disturb(draw *d, const wk_node *n, wk_tensor *in, double *error) {
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (n->in[k] == WK_NONE) continue;
    const drawn *v = info(d, n->in[k]);
    wk_tensor copy;
    if (wk_tensor_alloc(&v->t.type, &copy)) abort();
    memcpy(copy.data, v->t.data, (size_t)wk_type_bytes(&v->t.type));
    double by = v->error * largest(&v->t);
    for (int64_t i = 0; by > 0 && i < wk_type_count(&copy.type); i++)
      wk_store_f64(copy.data, copy.type.dtype, i, wk_load_f64(copy.data, copy.type.dtype, i) +
                                                      by * (2 * wk_rng_unit(&d->rng) - 1));
    *error = fmax(*error, v->error);
    in[k] = copy;
  }
}

static void free_tensors(wk_tensor *t, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) wk_tensor_free(&t[k]);
}

/* How far the results move, relative to the largest element; infinite when one is out of bounds. */
static double sensitivity(draw *d, const wk_node *n, const wk_tensor *out) {
  double worst = 0, given = 0;
  for (int round = 0; round < 2; round++) {
    wk_tensor in[32] = {{{0}, NULL}}, moved[32];
    disturb(d, n, in, &given);
    bool ok = evaluate(d, n, in, moved);
    for (uint32_t k = 0; ok && k < n->n_out; k++) {
      double most = moved[k].data ? largest(&out[k]) : 0;
      for (int64_t i = 0; moved[k].data && i < wk_type_count(&out[k].type); i++) {
        double by = fabs(wk_load_f64(moved[k].data, moved[k].type.dtype, i) -
                         wk_load_f64(out[k].data, out[k].type.dtype, i));
        if (by > 0) worst = fmax(worst, by / most);
      }
    }
    if (!ok) worst = INFINITY;
    free_tensors(in, n->n_in);
    free_tensors(moved, n->n_out);
    if (given == 0) break;
  }
  return worst;
}

/* Operators whose float results are operands or exact functions of them. */
static bool is_exact(const wk_node *n) {
  switch (n->op) {
  case WK_OP_IDENTITY: case WK_OP_ABS: case WK_OP_NEG: case WK_OP_SIGN: case WK_OP_RELU:
  case WK_OP_CLIP: case WK_OP_FLOOR: case WK_OP_CEIL: case WK_OP_ROUND: case WK_OP_MIN:
  case WK_OP_MAX: case WK_OP_WHERE: case WK_OP_MAX_POOL: case WK_OP_REDUCE_MAX:
  case WK_OP_REDUCE_MIN: case WK_OP_GATHER: case WK_OP_GATHER_ELEMENTS: case WK_OP_GATHER_ND:
  case WK_OP_ONE_HOT: case WK_OP_REVERSE_SEQUENCE: case WK_OP_TRILU: case WK_OP_TOP_K:
    return true;
  default: return wk_op_get(n->op)->cls == WK_CLASS_MOVEMENT;
  }
}

/* Steps in the graph of the operator: where a result jumps, rounding of an operand is no small
 * matter. */
static bool has_jumps(const wk_node *n) {
  switch (n->op) {
  case WK_OP_FLOOR: case WK_OP_CEIL: case WK_OP_ROUND: case WK_OP_SIGN: case WK_OP_CAST:
  case WK_OP_MOD: case WK_OP_FMOD: case WK_OP_EQUAL: case WK_OP_LESS: case WK_OP_LESS_EQUAL:
  case WK_OP_GREATER: case WK_OP_GREATER_EQUAL: case WK_OP_QUANTIZE: case WK_OP_FAKE_QUANTIZE:
  case WK_OP_ARG_MAX:
  case WK_OP_ARG_MIN: case WK_OP_HARDMAX: case WK_OP_TOP_K: case WK_OP_SHRINK:
  case WK_OP_THRESHOLDED_RELU: case WK_OP_NON_MAX_SUPPRESSION: case WK_OP_GRID_SAMPLE:
  case WK_OP_ROI_ALIGN: case WK_OP_IS_NAN: case WK_OP_IS_INF: return true;
  case WK_OP_MAX_POOL: return n->n_out > 1 && n->out[1] != WK_NONE;
  default: return false;
  }
}

static bool judge(draw *d, const wk_node *n, const wk_tensor *out, double *error) {
  double most = 0, given = 0, limit = most_error(WK_F32), rounds = rounding(WK_F32);
  bool floats = false;
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (!out[k].data) continue;
    if (wk_type_count(&out[k].type) > MAX_ELEMENTS || wk_type_count(&out[k].type) == 0)
      return false;
    floats |= wk_dtype_is_float(out[k].type.dtype);
    limit = fmax(limit, most_error(out[k].type.dtype));
    rounds = fmax(rounds, rounding(out[k].type.dtype));
    most = fmax(most, largest(&out[k]));
  }
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE) given = fmax(given, info(d, n->in[k])->error);
  if (most == INFINITY || (given > 0 && has_jumps(n))) return false;
  *error = sensitivity(d, n, out) + (floats && !is_exact(n) ? rounds : 0);
  if (!floats) *error = *error > 0 ? INFINITY : 0;
  return *error <= limit && (*error == 0 || most >= MIN_LARGEST);
}

wk_value_id draw_desc(draw *d, const wk_node_desc *desc) {
  uint32_t n_in = desc->n_in;
  const wk_value_id *in = desc->in;
  wk_value_id made[32];
  wk_tensor operands[32] = {{{0}, NULL}}, out[32];
  double error = 0;
  wk_status s = wk_graph_add(d->g, desc, made);
  if (s) {
    wk_status_free(s);
    return WK_NONE;
  }
  wk_node_id id = (wk_node_id)d->g->nodes.n - 1;
  wk_node n = *wk_nod(d->g, id);
  for (uint32_t k = 0; k < n_in; k++)
    if (in[k] != WK_NONE) operands[k] = info(d, in[k])->t;
  bool ok = evaluate(d, &n, operands, out) && judge(d, &n, out, &error);
  for (uint32_t k = 0; k < n.n_out; k++) {
    if (n.out[k] == WK_NONE) continue;
    *info(d, n.out[k]) = (drawn){out[k], error, ok, false};
    if (ok) continue;
    wk_tensor_free(&out[k]);
    info(d, n.out[k])->t.data = NULL;
  }
  for (uint32_t k = 0; ok && k < n_in; k++)
    if (in[k] != WK_NONE) info(d, in[k])->used = true;
  if (!ok) wk_node_remove(d->g, id);
  return ok ? n.out[0] : WK_NONE;
}

wk_value_id draw_node(draw *d, wk_op op, void *attrs, uint32_t n_in, const wk_value_id *in,
                      uint32_t n_out) {
  const wk_node_desc desc = {.op = op, .attrs = attrs, .in = in, .n_in = n_in, .n_out = n_out};
  return draw_desc(d, &desc);
}

wk_value_id draw_1(draw *d, wk_op op, void *attrs, wk_value_id x) {
  return x == WK_NONE ? x : draw_node(d, op, attrs, 1, &x, 0);
}

wk_value_id draw_2(draw *d, wk_op op, void *attrs, wk_value_id x, wk_value_id y) {
  const wk_value_id in[] = {x, y};
  return x == WK_NONE || y == WK_NONE ? WK_NONE : draw_node(d, op, attrs, 2, in, 0);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static bool is_drawable(wk_op op) {
  const wk_op_info *i = wk_op_get(op);
  return i->kind != WK_KIND_INST && i->cls != WK_CLASS_PRIMITIVE && i->cls != WK_CLASS_CONTROL;
}

static void draw_any(draw *d) {
  if (d->o->only != WK_OP_COUNT) {
    draw_operator(d, d->o->only);
    return;
  }
  if (!d->o->no_motifs && draw_chance(d, 35)) {
    if (draw_chance(d, 30)) draw_newer_motif(d);
    else draw_motif(d);
    return;
  }
  wk_op op = (wk_op)draw_int(d, 0, WK_OP_CUSTOM - 1);
  if (draw_chance(d, 40)) { /* what networks are made of */
    static const wk_op often[] = {WK_OP_ADD, WK_OP_MUL, WK_OP_RELU, WK_OP_CONV, WK_OP_MATMUL,
                                  WK_OP_TRANSPOSE, WK_OP_RESHAPE, WK_OP_SLICE, WK_OP_CONCAT,
                                  WK_OP_SPLIT, WK_OP_PAD, WK_OP_EXPAND, WK_OP_SOFTMAX,
                                  WK_OP_SIGMOID, WK_OP_SUB, WK_OP_BATCH_NORM, WK_OP_REDUCE_MEAN};
    op = often[draw_int(d, 0, (int64_t)WK_COUNTOF(often) - 1)];
  }
  if (is_drawable(op)) draw_operator(d, op);
}

static void choose_outputs(draw *d) {
  for (size_t i = 0; i < d->v.n; i++) {
    const drawn *v = &d->v.data[i];
    if (!v->is_open || wk_val(d->g, (wk_value_id)i)->kind != WK_VALUE_NODE) continue;
    if (draw_chance(d, v->used ? 5 : 95)) wk_graph_output(d->g, NULL, (wk_value_id)i);
  }
}

wk_module *random_graph(uint64_t seed, const random_options *o) {
  wk_module *m = wk_module_new("random");
  draw d = {.g = wk_graph_new(m, "main"), .a = m->arena, .rng = {seed * 7919 + 1}, .seed = seed,
            .o = o};
  for (int tries = 0; tries < 20 * o->nodes && (int)d.g->nodes.n < 4 * o->nodes; tries++) {
    int alive = 0;
    for (size_t i = 0; i < d.g->nodes.n; i++) alive += !d.g->nodes.data[i].dead;
    if (alive >= o->nodes) break;
    draw_any(&d);
  }
  choose_outputs(&d);
  for (size_t i = 0; i < d.v.n; i++) {
    wk_value_kind kind = wk_val(d.g, (wk_value_id)i)->kind;
    if (kind != WK_VALUE_CONSTANT && d.v.data[i].t.data) wk_tensor_free(&d.v.data[i].t);
  }
  wk_vec_free(&d.v);
  wk_status s = wk_module_normalise(m);
  if (s) abort();
  return m;
}

wk_tensor *random_inputs(const wk_graph *g) {
  wk_tensor *in = wk_xcalloc(g->inputs.n + 1, sizeof *in);
  for (size_t i = 0; i < g->inputs.n; i++) {
    const wk_value *v = wk_val(g, g->inputs.data[i]);
    if (wk_tensor_alloc(&v->type, &in[i])) abort();
    input_data(v->name, &in[i]);
  }
  return in;
}

void random_tensors_free(wk_tensor *t, size_t n) {
  for (size_t i = 0; t && i < n; i++) wk_tensor_free(&t[i]);
  free(t);
}

bool random_same(const wk_graph *g, const wk_tensor *got, const wk_tensor *want, wk_str *text) {
  for (size_t i = 0; i < g->outputs.n; i++) {
    wk_tolerance tolerance = {1e-4, 1e-6, 1e-4};
    if (wk_compute_dtype(want[i].type.dtype) != want[i].type.dtype)
      tolerance.scale = most_error(want[i].type.dtype);
    wk_diff diff = wk_tensor_diff(&got[i], &want[i], &tolerance);
    if (diff.equal) continue;
    wk_str_printf(text, "output %s: element %lld is %.9g, want %.9g (%lld differ)",
                  g->output_names.data[i], (long long)diff.worst, diff.got, diff.want,
                  (long long)diff.mismatches);
    return false;
  }
  return true;
}

bool random_differs(const wk_module *m, random_run run, void *ctx, wk_str *text) {
  const wk_graph *g = m->main;
  wk_tensor *in = random_inputs(g);
  wk_tensor *want = wk_xcalloc(g->outputs.n + 1, sizeof *want);
  wk_tensor *got = wk_xcalloc(g->outputs.n + 1, sizeof *got);
  wk_str_free(text);
  *text = (wk_str){0};
  wk_status st = wk_eval_graph(g, in, want, NULL, NULL);
  bool refused = st != NULL, bad = false;
  wk_status_free(st);
  if (!refused) {
    st = run(ctx, m, in, got);
    if (st) wk_str_printf(text, "%s: %s", st->place ? st->place : "", st->message);
    bad = st || !random_same(g, got, want, text);
    wk_status_free(st);
  }
  random_tensors_free(got, g->outputs.n);
  random_tensors_free(want, g->outputs.n);
  random_tensors_free(in, g->inputs.n);
  return bad;
}
