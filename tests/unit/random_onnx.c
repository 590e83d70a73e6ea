/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/random_onnx.h"

#include <stdio.h>

enum { MOST_SIZE = 40, MOST_ELEMENTS = 1500, MOST_DRAWN_RANK = 5 };
#define MOST_NUMBER 50.0

const char *const onnx_symbols[ONNX_SYMBOLS] = {"A", "B"};
bool onnx_avoids_ties;

int64_t onnx_int(onnx_draw *d, int64_t lo, int64_t hi) { return wk_rng_range(&d->rng, lo, hi); }
bool onnx_chance(onnx_draw *d, int percent) { return onnx_int(d, 0, 99) < percent; }

/* ---- sizes ----------------------------------------------------------------------------------- */

onnx_dim onnx_fixed(int64_t n) {
  onnx_dim a = {.data = 0};
  for (int i = 0; i < ONNX_RUNS; i++) a.n[i] = n;
  return a;
}

bool onnx_same(const onnx_draw *d, const onnx_dim *a, const onnx_dim *b) {
  if (a->data != b->data) return false;
  for (int i = 0; i < d->runs; i++)
    if (a->n[i] != b->n[i]) return false;
  return true;
}

bool onnx_is_fixed(const onnx_draw *d, const onnx_dim *a) {
  const onnx_dim b = onnx_fixed(a->n[0]);
  return onnx_same(d, a, &b);
}

int64_t onnx_least(const onnx_draw *d, const onnx_dim *a) {
  int64_t n = a->data ? 0 : a->n[0];
  for (int i = 0; i < d->runs; i++) n = a->n[i] < n ? a->n[i] : n;
  return n;
}

int64_t onnx_most(const onnx_draw *d, const onnx_dim *a) {
  int64_t n = a->n[0];
  for (int i = 0; i < d->runs; i++) n = a->n[i] > n ? a->n[i] : n;
  return n;
}

onnx_dim onnx_by_data(onnx_draw *d, const onnx_dim *most) {
  onnx_dim a = *most;
  a.data = ++d->data;
  return a;
}

onnx_dim onnx_plus(onnx_draw *d, const onnx_dim *a, const onnx_dim *b) {
  onnx_dim y = *a;
  for (int i = 0; i < d->runs; i++) y.n[i] += b->n[i];
  if (a->data || b->data) y.data = ++d->data;
  return y;
}

onnx_dim onnx_times(onnx_draw *d, const onnx_dim *a, const onnx_dim *b) {
  onnx_dim y = *a;
  if (onnx_is_one(d, a)) return *b;
  if (onnx_is_one(d, b)) return *a;
  for (int i = 0; i < d->runs; i++) y.n[i] *= b->n[i];
  if (a->data || b->data) y.data = ++d->data;
  return y;
}

/* ---- values ---------------------------------------------------------------------------------- */

onnx_value onnx_like(wk_dtype type, int rank, const onnx_dim *dims) {
  onnx_value r = {.type = type, .rank = rank, .most = 1};
  for (int i = 0; i < rank; i++) r.dims[i] = dims[i];
  return r;
}

static int add_value(onnx_draw *d, const onnx_value *r, char letter) {
  if (d->values >= ONNX_VALUES) fail_msg("more than %d values", ONNX_VALUES);
  onnx_value *v = &d->v[d->values];
  *v = *r;
  v->is_hidden = v->is_constant = false;
  if (v->type != WK_I64) v->is_index = false;
  snprintf(v->name, sizeof v->name, "%c%d", letter, d->values);
  return d->values++;
}

int onnx_hide(onnx_draw *d, int x) {
  d->v[x].is_hidden = true;
  return x;
}

static int choose(onnx_draw *d, const int *from, int n) {
  if (!n) return -1;
  int recent = onnx_chance(d, 60) && n > 4 ? 4 : n;
  return from[n - 1 - onnx_int(d, 0, recent - 1)];
}

int onnx_pick(onnx_draw *d, wk_dtype type, int least, int most) {
  int list[ONNX_VALUES], n = 0;
  for (int i = 0; i < d->values; i++) {
    const onnx_value *v = &d->v[i];
    if (!v->is_hidden && v->type == type && v->rank >= least && v->rank <= most) list[n++] = i;
  }
  return choose(d, list, n);
}

int onnx_pick_for(onnx_draw *d, const onnx_value *x, onnx_fits fits) {
  int list[ONNX_VALUES], n = 0;
  for (int i = 0; i < d->values; i++)
    if (!d->v[i].is_hidden && fits(d, &d->v[i], x)) list[n++] = i;
  return choose(d, list, n);
}

bool onnx_fits_alike(const onnx_draw *d, const onnx_value *y, const onnx_value *x) {
  bool fits = y->type == x->type && y->rank == x->rank;
  for (int i = 0; fits && i < x->rank; i++) fits = onnx_same(d, &y->dims[i], &x->dims[i]);
  return fits;
}

/* Broadcasts to x without enlarging it. */
bool onnx_fits_into(const onnx_draw *d, const onnx_value *y, const onnx_value *x) {
  if (y->type != x->type || y->rank > x->rank) return false;
  for (int i = 0; i < y->rank; i++)
    if (!onnx_is_one(d, &y->dims[i]) &&
        !onnx_same(d, &y->dims[i], &x->dims[x->rank - y->rank + i])) return false;
  return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

int onnx_op(onnx_draw *d, const char *op, const int *in, const onnx_value *r) {
  const onnx_value result = *r;
  Onnx__NodeProto *n = new_node(&d->b, op, "", "");
  ADD(&d->b, d->b.g->node, d->b.g->n_node, n);
  for (; *in != -1; in++)
    add_names(&d->b, &n->input, &n->n_input, *in == ONNX_NONE ? "-" : d->v[*in].name);
  d->node = n;
  return onnx_more(d, &result);
}

int onnx_more(onnx_draw *d, const onnx_value *r) {
  const onnx_value result = *r;
  int v = add_value(d, &result, 'v');
  add_names(&d->b, &d->node->output, &d->node->n_output, d->v[v].name);
  return v;
}

static int constant(onnx_draw *d, wk_dtype t, int32_t elem, int rank, const int64_t *dims,
                    const void *data) {
  onnx_value r = {.type = t, .rank = rank, .most = 1};
  size_t n = (size_t)wk_dtype_size(t);
  for (int i = 0; i < rank; i++) r.dims[i] = onnx_fixed(dims[i]), n *= (size_t)dims[i];
  int v = add_value(d, &r, 'c');
  d->v[v].is_hidden = d->v[v].is_constant = true;
  Onnx__TensorProto *p = raw_tensor(&d->b, d->v[v].name, elem, rank, dims, data, n);
  ADD(&d->b, d->b.g->initializer, d->b.g->n_initializer, p);
  return v;
}

int onnx_floats(onnx_draw *d, int rank, const int64_t *dims, double lo, double hi) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= dims[i];
  float *data = wk_arena_alloc(d->b.a, (size_t)n * sizeof *data + 1);
  for (int64_t i = 0; i < n; i++) data[i] = (float)(lo + (hi - lo) * wk_rng_unit(&d->rng));
  int v = constant(d, WK_F32, ELEM_F32, rank, dims, data);
  d->v[v].most = hi > -lo ? hi : -lo;
  return v;
}

int onnx_number(onnx_draw *d, double v) { return onnx_floats(d, 0, NULL, v, v); }

int onnx_list(onnx_draw *d, int n, const int64_t *v) {
  const int64_t dims[] = {n}, none = 0;
  return constant(d, WK_I64, ELEM_I64, 1, dims, n ? v : &none);
}

int onnx_scalar(onnx_draw *d, int64_t v) { return constant(d, WK_I64, ELEM_I64, 0, NULL, &v); }

/* ---- lists of sizes -------------------------------------------------------------------------- */

static onnx_value list_of(int64_t n) {
  const onnx_dim dims[] = {onnx_fixed(n)};
  return onnx_like(WK_I64, 1, dims);
}

int onnx_shape_of(onnx_draw *d, int x, int from, int to) {
  int rank = d->v[x].rank, way = (int)onnx_int(d, 0, 2);
  const onnx_value all = list_of(rank), part = list_of(to - from);
  int64_t at[WK_MAX_RANK];
  if (way == 0 && d->opset >= 15) {
    int v = onnx_hide(d, onnx_op(d, "Shape", ONNX_IN(x), &part));
    set_int(&d->b, d->node, "start", onnx_chance(d, 50) ? from : from - rank);
    if (to < rank || onnx_chance(d, 50)) set_int(&d->b, d->node, "end", to);
    return v;
  }
  int shape = onnx_hide(d, onnx_op(d, "Shape", ONNX_IN(x), &all));
  if (from == 0 && to == rank) return shape;
  if (way == 1) {
    int starts = onnx_list(d, 1, (const int64_t[]){from});
    int ends = onnx_list(d, 1, (const int64_t[]){to});
    int axes = onnx_list(d, 1, (const int64_t[]){0});
    return onnx_hide(d, onnx_op(d, "Slice", ONNX_IN(shape, starts, ends, axes), &part));
  }
  for (int i = from; i < to; i++) at[i - from] = onnx_chance(d, 50) ? i : i - rank;
  if (to - from > 1 || onnx_chance(d, 50))
    return onnx_hide(d, onnx_op(d, "Gather", ONNX_IN(shape, onnx_list(d, to - from, at)), &part));
  const onnx_value scalar = onnx_like(WK_I64, 0, NULL);
  int one = onnx_hide(d, onnx_op(d, "Gather", ONNX_IN(shape, onnx_scalar(d, at[0])), &scalar));
  int axes = onnx_list(d, 1, (const int64_t[]){0});
  return onnx_hide(d, onnx_op(d, "Unsqueeze", ONNX_IN(one, axes), &part));
}

int onnx_concat_lists(onnx_draw *d, int n, const int *lists) {
  int in[WK_MAX_RANK + 1];
  int64_t all = 0;
  for (int i = 0; i < n; i++) in[i] = lists[i], all += d->v[lists[i]].dims[0].n[0];
  in[n] = -1;
  const onnx_value r = list_of(all);
  int v = onnx_hide(d, onnx_op(d, "Concat", in, &r));
  set_int(&d->b, d->node, "axis", 0);
  return v;
}

int onnx_binary_list(onnx_draw *d, const char *op, int a, int b) {
  const onnx_value r = list_of(1);
  return onnx_hide(d, onnx_op(d, op, ONNX_IN(a, b), &r));
}

int onnx_size_list(onnx_draw *d, const onnx_dim *a) {
  int list[ONNX_VALUES], axes[ONNX_VALUES], n = 0;
  if (onnx_is_fixed(d, a)) return onnx_list(d, 1, a->n);
  for (int i = 0; i < d->values; i++)
    for (int k = 0; !d->v[i].is_hidden && k < d->v[i].rank; k++)
      if (n < ONNX_VALUES && onnx_same(d, &d->v[i].dims[k], a)) list[n] = i, axes[n++] = k;
  if (!n) return -1;
  int i = (int)onnx_int(d, 0, n - 1);
  return onnx_shape_of(d, list[i], axes[i], axes[i] + 1);
}

int onnx_to_scalar(onnx_draw *d, int list) {
  int axes = onnx_list(d, 1, (const int64_t[]){0});
  onnx_value r = d->v[list];
  r.rank = 0;
  return onnx_hide(d, onnx_op(d, "Squeeze", ONNX_IN(list, axes), &r));
}

/* ---- pieces ---------------------------------------------------------------------------------- */

int onnx_positive(onnx_draw *d, int x) {
  onnx_value r = d->v[x];
  int v = onnx_hide(d, onnx_op(d, "Abs", ONNX_IN(x), &r));
  r.most += 0.5;
  return onnx_hide(d, onnx_op(d, "Add", ONNX_IN(v, onnx_number(d, 0.5)), &r));
}

int onnx_untied(onnx_draw *d, int x, int axis) {
  onnx_value r = d->v[x], row = onnx_like(WK_F32, 1, &r.dims[axis]);
  if (!onnx_avoids_ties) return x;
  int n = onnx_to_scalar(d, onnx_shape_of(d, x, axis, axis + 1));
  row.type = WK_I64;
  n = onnx_hide(d, onnx_op(d, "Range", ONNX_IN(onnx_scalar(d, 0), n, onnx_scalar(d, 1)), &row));
  row.type = WK_F32;
  n = onnx_hide(d, onnx_op(d, "Cast", ONNX_IN(n), &row));
  set_int(&d->b, d->node, "to", ELEM_F32);
  n = onnx_hide(d, onnx_op(d, "Mul", ONNX_IN(n, onnx_number(d, 0.0137)), &row));
  for (int i = axis + 1; i < r.rank; i++) n = onnx_hide(d, onnx_unsqueeze(d, n, d->v[n].rank));
  return onnx_hide(d, onnx_op(d, "Add", ONNX_IN(x, n), &r));
}

int onnx_transpose_last(onnx_draw *d, int x) {
  onnx_value r = d->v[x];
  int64_t perm[WK_MAX_RANK];
  for (int i = 0; i < r.rank; i++) perm[i] = i;
  perm[r.rank - 1] = r.rank - 2, perm[r.rank - 2] = r.rank - 1;
  for (int i = 0; i < r.rank; i++) r.dims[i] = d->v[x].dims[perm[i]];
  int v = onnx_op(d, "Transpose", ONNX_IN(x), &r);
  set_ints(&d->b, d->node, "perm", (size_t)r.rank, perm);
  return v;
}

int onnx_unsqueeze(onnx_draw *d, int x, int axis) {
  onnx_value r = d->v[x];
  for (int i = r.rank++; i > axis; i--) r.dims[i] = r.dims[i - 1];
  r.dims[axis] = onnx_fixed(1);
  const int64_t at = onnx_chance(d, 50) ? axis : axis - r.rank;
  return onnx_op(d, "Unsqueeze", ONNX_IN(x, onnx_list(d, 1, &at)), &r);
}

int onnx_reduce(onnx_draw *d, const char *op, int x, uint32_t axes, bool keeps, double most) {
  onnx_value r = d->v[x];
  int64_t list[WK_MAX_RANK];
  int n = 0, rank = r.rank;
  r.rank = 0, r.most = most;
  for (int i = 0; i < rank; i++) {
    if (axes >> i & 1) list[n++] = onnx_chance(d, 30) ? i - rank : i;
    if (!(axes >> i & 1)) r.dims[r.rank++] = r.dims[i];
    else if (keeps) r.dims[r.rank++] = onnx_fixed(1);
  }
  bool is_operand = d->opset >= 18 || !strcmp(op, "ReduceSum"), is_all = n == rank;
  bool says = !is_all || onnx_chance(d, 50);
  int at = says && is_operand ? onnx_list(d, n, list) : -1;
  int v = onnx_op(d, op, ONNX_IN(x, at), &r);
  if (says && !is_operand) set_ints(&d->b, d->node, "axes", (size_t)n, list);
  if (!keeps || onnx_chance(d, 50)) set_int(&d->b, d->node, "keepdims", keeps);
  return v;
}

/* ---- models ---------------------------------------------------------------------------------- */

static onnx_dim symbol(const onnx_draw *d, int s) {
  onnx_dim a = {.data = 0};
  for (int i = 0; i < d->runs; i++) a.n[i] = d->sizes[i][s];
  return a;
}

static void draw_runs(onnx_draw *d) {
  d->symbols = (int)onnx_int(d, 1, ONNX_SYMBOLS);
  for (int s = 0; s < d->symbols; s++) {
    d->least[s] = onnx_chance(d, 70) ? 1 : 2;
    d->most[s] = onnx_int(d, d->least[s] + 1, s ? 4 : 5);
  }
  for (int64_t a = d->least[0]; a <= d->most[0]; a++)
    for (int64_t b = d->least[1]; b <= d->most[1]; b++) {
      d->sizes[d->runs][0] = a;
      d->sizes[d->runs++][1] = b;
    }
}

/* The sizes of the first input in parts, so that there are some that fit to each other. */
static void draw_shape(onnx_draw *d, onnx_value *v) {
  const onnx_value *first = &d->v[0];
  bool follows = d->inputs > 0 && onnx_chance(d, 60);
  v->rank = follows ? (int)onnx_int(d, 1, first->rank) : (int)onnx_int(d, 1, 4);
  int open = d->inputs ? -1 : (int)onnx_int(d, 0, v->rank - 1);
  for (int i = 0; i < v->rank; i++) {
    bool is_open = i == open || onnx_chance(d, 40);
    v->dims[i] = is_open ? symbol(d, (int)onnx_int(d, 0, d->symbols - 1))
                         : onnx_fixed(onnx_int(d, 1, 4));
    if (follows && onnx_chance(d, 80)) v->dims[i] = first->dims[first->rank - v->rank + i];
  }
}

Onnx__ValueInfoProto *onnx_draw_declare(onnx_draw *d, int v) {
  const onnx_value *x = &d->v[v];
  wk_str dims = {0};
  bool is_said = x->type == WK_F32 || (x->type == WK_I64 && x->is_index && !x->below.data);
  for (int i = 0; i < x->rank && is_said; i++) {
    int s = 0;
    while (s < d->symbols) {
      const onnx_dim a = symbol(d, s);
      if (onnx_same(d, &a, &x->dims[i])) break;
      s++;
    }
    is_said = s < d->symbols || onnx_is_fixed(d, &x->dims[i]);
    if (s < d->symbols) wk_str_printf(&dims, "%s ", onnx_symbols[s]);
    else wk_str_printf(&dims, "%d ", (int)x->dims[i].n[0]);
  }
  int32_t elem = x->type == WK_F32 ? ELEM_F32 : ELEM_I64;
  Onnx__ValueInfoProto *p = is_said ? value(&d->b, x->name, elem, dims.s ? dims.s : "") : NULL;
  wk_str_free(&dims);
  return p;
}

static void draw_input(onnx_draw *d) {
  onnx_value v = {.type = WK_F32, .most = 2};
  draw_shape(d, &v);
  if (d->inputs && onnx_chance(d, 30)) {
    const onnx_value *first = &d->v[0];
    v.type = WK_I64, v.is_index = true;
    v.is_signed = onnx_chance(d, 30);
    v.below = first->dims[onnx_int(d, 0, first->rank - 1)];
  }
  add_value(d, &v, 'x');
  d->inputs++;
}

onnx_draw *onnx_draw_new(uint64_t seed) {
  static const int64_t opsets[] = {13, 15, 17, 18, 20, 21};
  onnx_draw *d = wk_xcalloc(1, sizeof *d);
  d->seed = seed;
  d->rng = (wk_rng){seed * 0x9e3779b97f4a7c15u + 1};
  d->opset = opsets[onnx_int(d, 0, WK_COUNTOF(opsets) - 1)];
  d->b = new_model(d->opset);
  draw_runs(d);
  for (int64_t n = onnx_int(d, 1, ONNX_INPUTS); n > 0; n--) draw_input(d);
  return d;
}

void onnx_draw_free(onnx_draw *d) {
  wk_arena_free(d->b.a);
  free(d);
}

onnx_mark onnx_draw_mark(const onnx_draw *d) {
  return (onnx_mark){d->b.g->n_node, d->b.g->n_initializer, d->values};
}

void onnx_draw_back(onnx_draw *d, onnx_mark m) {
  d->b.g->n_node = m.nodes;
  d->b.g->n_initializer = m.constants;
  d->values = m.values;
}

static bool is_moderate(const onnx_draw *d, const onnx_value *v) {
  int64_t most = 1;
  if (v->rank > MOST_DRAWN_RANK) return false;
  for (int i = 0; i < v->rank; i++) {
    int64_t n = onnx_most(d, &v->dims[i]);
    if (n > MOST_SIZE || (!v->dims[i].data && onnx_least(d, &v->dims[i]) < 1)) return false;
    most *= n;
  }
  return most <= MOST_ELEMENTS;
}

static void calm(onnx_draw *d, int v) {
  onnx_value r = d->v[v];
  if (r.type != WK_F32 || r.most <= MOST_NUMBER || r.is_hidden) return;
  int factor = onnx_number(d, 4 / r.most);
  r.most = 4;
  onnx_hide(d, v);
  onnx_op(d, "Mul", ONNX_IN(v, factor), &r);
}

static const onnx_step *draw_row(onnx_draw *d) {
  const onnx_step *all[] = {onnx_math_steps, onnx_move_steps};
  int64_t sum = 0;
  for (size_t k = 0; k < WK_COUNTOF(all); k++)
    for (const onnx_step *s = all[k]; s->name; s++) sum += s->weight;
  sum = onnx_int(d, 0, sum - 1);
  for (size_t k = 0; k < WK_COUNTOF(all); k++)
    for (const onnx_step *s = all[k]; s->name; s++)
      if ((sum -= s->weight) < 0) return s;
  return NULL;
}

const char *onnx_draw_step(onnx_draw *d) {
  for (int tries = 0; tries < 30; tries++) {
    const onnx_mark m = onnx_draw_mark(d);
    const onnx_step *s = draw_row(d);
    bool is_fine = s->draw(d);
    for (int i = m.values; i < d->values && is_fine; i++) is_fine = is_moderate(d, &d->v[i]);
    int n = d->values;
    for (int i = m.values; i < n && is_fine; i++) calm(d, i);
    if (is_fine) return s->name;
    onnx_draw_back(d, m);
  }
  return NULL;
}

wk_tensor onnx_draw_data(const onnx_draw *d, int id, int run) {
  const onnx_value *v = &d->v[id];
  int64_t dims[WK_MAX_RANK];
  for (int i = 0; i < v->rank; i++) dims[i] = v->dims[i].n[run];
  const wk_type type = wk_type_make(v->type, v->rank, dims);
  wk_tensor t = {0};
  wk_status s = wk_tensor_alloc(&type, &t);
  if (s) fail_msg("%s", s->message);
  wk_rng rng = {d->seed * 31 + (uint64_t)id * 1000 + (uint64_t)run + 7};
  wk_rng_next(&rng);
  for (int64_t i = 0; i < wk_type_count(&type); i++) {
    int64_t below = v->below.n[run];
    if (v->type == WK_F32) ((float *)t.data)[i] = (float)(4 * wk_rng_unit(&rng) - 2);
    else ((int64_t *)t.data)[i] = wk_rng_range(&rng, v->is_signed ? -below : 0, below - 1);
  }
  return t;
}
