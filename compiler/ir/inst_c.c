/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/ir/inst_c.h"

#include <string.h>

#include "compiler/ir/expr_c.h"

const char *const wk_inst_c_i[WK_MAX_RANK] = {"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};
static const char *const inner[WK_MAX_RANK] = {"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"};

/* ---- text ------------------------------------------------------------------------------------ */

void wk_inst_c_for(wk_str *b, char letter, int rank, const int64_t *dims) {
  for (int k = 0; k < rank; k++)
    wk_str_printf(b, "for (long %c%d = 0; %c%d < %lld; %c%d++)\n", letter, k, letter, k,
                  (long long)dims[k], letter, k);
}

const char *wk_inst_c_element(wk_arena *a, const wk_view *v, const char *base,
                              const wk_inst_c_read *r) {
  wk_str b = {0};
  if (r->inside) wk_str_printf(&b, "(%s ? ", r->inside);
  wk_str_printf(&b, "((WK_GLOBAL %s *)(%s + %lld))[0", wk_expr_c_type(v->dtype), base,
                (long long)v->offset);
  for (int k = 0; k < v->rank; k++)
    if (v->dims[k] != 1 && v->strides[k] != 0)
      wk_str_printf(&b, " + %lld * (%s)", (long long)v->strides[k], r->at[k]);
  wk_str_add(&b, "]");
  if (r->inside) wk_str_printf(&b, " : %lld)", (long long)r->outside);
  const char *text = wk_arena_strdup(a, b.s);
  wk_str_free(&b);
  return text;
}

/* ---- parts of loops -------------------------------------------------------------------------- */

typedef struct {
  const wk_inst *i;
  wk_arena *a;
  wk_inst_c *out;
} making;

static const wk_view *input(const making *m, uint32_t k) {
  return &m->i->operands[m->i->n_out + k];
}

/* Reads input k at the position of the output, whose axes its own end with. */
static wk_inst_c_read read_at_output(const making *m, uint32_t k) {
  wk_inst_c_read r = {.operand = m->i->n_out + k};
  int shift = m->out->rank - input(m, k)->rank;
  for (int d = 0; d < input(m, k)->rank; d++) r.at[d] = wk_inst_c_i[d + shift];
  return r;
}

static const wk_expr *done(wk_expr_builder *b, uint16_t y) { return wk_expr_finish(b, &y, 1); }

static uint16_t number(wk_expr_builder *b, wk_dtype t, wk_scalar v) {
  return wk_dtype_is_float(t) ? wk_expr_f(b, t, v.f) : wk_expr_i(b, t, v.i);
}

static const wk_expr *constant(const making *m, wk_dtype t, wk_scalar v) {
  wk_expr_builder *b = wk_expr_begin(m->a);
  return done(b, number(b, t, v));
}

/* All inputs at the position of the output, as the reads of `end`. */
static void end_with_inputs(const making *m, const wk_expr *end) {
  uint32_t n = m->i->n_operands - m->i->n_out;
  m->out->end = end;
  m->out->n_end = n;
  m->out->end_reads = wk_arena_alloc(m->a, (n + 1) * sizeof *m->out->end_reads);
  for (uint32_t k = 0; k < n; k++) m->out->end_reads[k] = read_at_output(m, k);
}

/* ---- without a fold -------------------------------------------------------------------------- */

static bool map(const making *m) {
  end_with_inputs(m, ((const wk_attr_map *)m->i->attrs)->body);
  return true;
}

static bool copy(const making *m) {
  end_with_inputs(m, wk_expr_identity(m->a, m->i->operands[0].dtype));
  return true;
}

static bool fill(const making *m) {
  wk_expr_builder *b = wk_expr_begin(m->a);
  double v = ((const wk_attr_fill *)m->i->attrs)->value;
  end_with_inputs(m, done(b, wk_expr_f(b, m->i->operands[0].dtype, v)));
  return true;
}

/* ---- reduce ---------------------------------------------------------------------------------- */

static bool fold_op(const char *kind, wk_expr_op *op) {
  static const struct {
    const char *kind;
    wk_expr_op op;
  } rows[] = {{"sum", WK_EX_ADD}, {"prod", WK_EX_MUL}, {"max", WK_EX_MAX}, {"min", WK_EX_MIN}};
  for (size_t k = 0; k < WK_COUNTOF(rows); k++) {
    *op = rows[k].op;
    if (!strcmp(rows[k].kind, kind)) return true;
  }
  return false;
}

/* op(accumulator, pre(inputs)) */
static const wk_expr *fold_step(const making *m, const wk_attr_reduce *r, wk_dtype t,
                                wk_expr_op op) {
  uint32_t n = m->i->n_operands - m->i->n_out;
  wk_expr_builder *b = wk_expr_begin(m->a);
  uint16_t *in = wk_arena_alloc(m->a, (n + 1) * sizeof *in), acc = wk_expr_input(b, 0, t);
  for (uint32_t k = 0; k < n; k++) in[k] = wk_expr_input(b, k + 1, input(m, k)->dtype);
  return done(b, wk_expr_2(b, op, acc, r->pre ? wk_expr_inline(b, r->pre, in, 0) : in[0]));
}

static bool reduce(const making *m) {
  const wk_attr_reduce *r = m->i->attrs;
  wk_inst_c *y = m->out;
  wk_dtype t = wk_folded_dtype(r->kind, r->pre, input(m, 0)->dtype);
  wk_expr_op op;
  if (!fold_op(r->kind, &op)) return false;
  y->inner_rank = y->rank;
  for (int d = 0; d < y->rank; d++) y->inner_dims[d] = 1;
  for (int64_t k = 0; k < r->axes.n; k++) {
    int64_t d = r->axes.v[k];
    y->inner_dims[d] = y->dims[d];
    y->dims[d] = 1;
    y->index[d] = inner[d];
  }
  end_with_inputs(m, r->post ? r->post : wk_expr_identity(m->a, t));
  y->step_reads = y->end_reads;
  y->n_step = y->n_end;
  y->n_end = 0;
  for (size_t k = 0; k < y->n_step; k++)
    memcpy(y->step_reads[k].at, y->index, sizeof y->index);
  y->begin = constant(m, t, wk_fold_neutral(r->kind, t));
  y->step = fold_step(m, r, t, op);
  return true;
}

/* ---- contractions ---------------------------------------------------------------------------- */

/* Sums of products of the two elements that are read in each step, then bias, then the epilogue. */
static bool contract(const making *m, const wk_expr *epilogue, wk_inst_c_read x, wk_inst_c_read w,
                     const char *channel) {
  wk_inst_c *y = m->out;
  wk_dtype t = wk_accumulator_dtype(input(m, 0)->dtype);
  uint32_t n = m->i->n_operands - m->i->n_out;
  bool biased = n > 2 && input(m, 2)->buffer != WK_NONE;
  y->begin = constant(m, t, wk_fold_neutral("sum", t));
  y->n_step = 2;
  y->step_reads = wk_arena_alloc(m->a, 2 * sizeof x);
  y->step_reads[0] = x;
  y->step_reads[1] = w;
  wk_expr_builder *b = wk_expr_begin(m->a);
  uint16_t acc = wk_expr_input(b, 0, t), p = wk_expr_input(b, 1, input(m, 0)->dtype),
           q = wk_expr_input(b, 2, input(m, 1)->dtype);
  y->step = done(b, wk_expr_2(b, WK_EX_ADD, acc,
                              wk_expr_2(b, WK_EX_MUL, wk_expr_cast(b, t, p),
                                        wk_expr_cast(b, t, q))));
  y->end_reads = wk_arena_alloc(m->a, (n + 1) * sizeof x);
  uint16_t *in = wk_arena_alloc(m->a, (n + 1) * sizeof *in);
  b = wk_expr_begin(m->a);
  in[0] = wk_expr_input(b, 0, t);
  if (biased) {
    in[0] = wk_expr_2(b, WK_EX_ADD, in[0], wk_expr_input(b, 1, t));
    y->end_reads[y->n_end++] = (wk_inst_c_read){.operand = m->i->n_out + 2, .at = {channel}};
  }
  for (uint32_t k = 3; k < n; k++) {
    y->end_reads[y->n_end++] = read_at_output(m, k);
    in[k - 2] = wk_expr_input(b, (int64_t)y->n_end, input(m, k)->dtype);
  }
  y->end = done(b, epilogue ? wk_expr_inline(b, epilogue, in, 0) : in[0]);
  return true;
}

static bool matmul(const making *m) {
  int ra = input(m, 0)->rank, rb = input(m, 1)->rank;
  wk_inst_c_read a = read_at_output(m, 0), b = read_at_output(m, 1);
  m->out->inner_rank = 1;
  m->out->inner_dims[0] = input(m, 0)->dims[ra - 1];
  a.at[ra - 1] = b.at[rb - 2] = inner[0];
  return contract(m, ((const wk_attr_matmul *)m->i->attrs)->epilogue, a, b,
                  wk_inst_c_i[m->out->rank - 1]);
}

/* ---- windows --------------------------------------------------------------------------------- */

typedef struct {
  const wk_ints *strides, *dilations, *pads;
} window;

/* Positions of x in the window of i at k along the spatial axes; returns the condition under which
 * they are in x extended by `margin` (begins, then ends; NULL: x itself). */
static const char *in_window(const making *m, const window *w, const int64_t *margin,
                             const char **at) {
  const wk_view *x = input(m, 0);
  const char *inside = NULL;
  int n = x->rank - 2;
  for (int d = 0; d < n; d++) {
    at[d + 2] = wk_arena_printf(m->a, "i%d * %lld + k%d * %lld - %lld", d + 2,
                                (long long)w->strides->v[d], d + 2, (long long)w->dilations->v[d],
                                (long long)w->pads->v[d]);
    inside = wk_arena_printf(m->a, "%s%s%s >= %lld && %s < %lld", inside ? inside : "",
                             inside ? " && " : "", at[d + 2],
                             margin ? -(long long)margin[d] : 0, at[d + 2],
                             (long long)(x->dims[d + 2] + (margin ? margin[n + d] : 0)));
  }
  return inside;
}

static bool conv(const making *m) {
  const wk_attr_conv *c = m->i->attrs;
  const wk_view *w = input(m, 1);
  wk_inst_c_read x = {.operand = m->i->n_out, .at = {wk_inst_c_i[0]}, .outside = c->pad_value},
                 weight = {.operand = m->i->n_out + 1, .at = {wk_inst_c_i[1]}};
  x.at[1] = wk_arena_printf(m->a, "i1 / %lld * %lld + k1",
                            (long long)(m->out->dims[1] / c->group), (long long)w->dims[1]);
  x.inside = in_window(m, &(window){&c->strides, &c->dilations, &c->pads}, NULL, x.at);
  m->out->inner_rank = w->rank;
  memcpy(m->out->inner_dims, w->dims, sizeof w->dims);
  m->out->inner_dims[0] = 1;
  memcpy(weight.at + 1, inner + 1, (WK_MAX_RANK - 1) * sizeof *inner);
  return contract(m, c->epilogue, x, weight, wk_inst_c_i[1]);
}

/* One read of x per position of the window. */
static wk_inst_c_read *begin_pool(const making *m, const wk_ints *kernel) {
  wk_inst_c_read *x = m->out->step_reads = wk_arena_alloc(m->a, sizeof *x);
  *x = read_at_output(m, 0);
  m->out->n_step = 1;
  m->out->inner_rank = m->out->rank;
  for (int d = 0; d < m->out->rank; d++) m->out->inner_dims[d] = d < 2 ? 1 : kernel->v[d - 2];
  return x;
}

static bool max_pool(const making *m) {
  const wk_attr_max_pool *p = m->i->attrs;
  wk_dtype t = input(m, 0)->dtype;
  if (m->i->n_out > 1 && m->i->operands[1].buffer != WK_NONE) return false;
  wk_inst_c_read *x = begin_pool(m, &p->kernel);
  m->out->counts = in_window(m, &(window){&p->strides, &p->dilations, &p->pads}, NULL, x->at);
  m->out->begin = constant(m, t, wk_fold_neutral("max", t));
  wk_expr_builder *b = wk_expr_begin(m->a);
  m->out->step = done(b, wk_expr_2(b, WK_EX_MAX, wk_expr_input(b, 0, t), wk_expr_input(b, 1, t)));
  m->out->end = wk_expr_identity(m->a, t);
  return true;
}

/* The second accumulator counts what the sum is divided by. */
static bool avg_pool(const making *m) {
  const wk_attr_avg_pool *p = m->i->attrs;
  wk_dtype t = input(m, 0)->dtype;
  const window w = {&p->strides, &p->dilations, &p->pads};
  if (!wk_dtype_is_float(t)) return false;
  wk_inst_c_read *x = begin_pool(m, &p->kernel);
  m->out->counts = in_window(m, &w, p->real_pads.v, x->at);
  x->inside = in_window(m, &w, NULL, x->at);
  wk_expr_builder *b = wk_expr_begin(m->a);
  uint16_t y[2] = {wk_expr_f(b, t, 0), wk_expr_i(b, WK_I64, 0)};
  m->out->begin = wk_expr_finish(b, y, 2);
  b = wk_expr_begin(m->a);
  y[0] = wk_expr_2(b, WK_EX_ADD, wk_expr_input(b, 0, t), wk_expr_input(b, 2, t));
  y[1] = wk_expr_2(b, WK_EX_ADD, wk_expr_input(b, 1, WK_I64), wk_expr_i(b, WK_I64, 1));
  m->out->step = wk_expr_finish(b, y, 2);
  b = wk_expr_begin(m->a);
  uint16_t sum = wk_expr_input(b, 0, t), n = wk_expr_input(b, 1, WK_I64);
  m->out->end = done(b, wk_expr_2(b, WK_EX_DIV, sum, wk_expr_cast(b, t, n)));
  return true;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

static const struct {
  wk_op op;
  bool (*make)(const making *m);
} rows[] = {{WK_OP_MAP, map},           {WK_OP_COPY, copy}, {WK_OP_FILL, fill},
            {WK_OP_REDUCE, reduce},     {WK_OP_CONV, conv}, {WK_OP_MATMUL, matmul},
            {WK_OP_MAX_POOL, max_pool}, {WK_OP_AVG_POOL, avg_pool}};

const char *wk_inst_c_refusal(const wk_graph *g, const wk_node *n) {
  bool known = wk_op_get(n->op)->cls == WK_CLASS_MOVEMENT;
  for (size_t k = 0; k < WK_COUNTOF(rows); k++) known = known || n->op == rows[k].op;
  wk_expr_op op;
  if (!known) return "there are no loops for this operator";
  if (n->op == WK_OP_REDUCE && !fold_op(((const wk_attr_reduce *)n->attrs)->kind, &op))
    return "it finds positions, not values";
  if (n->op == WK_OP_MAX_POOL && n->n_out > 1) return "positions in windows are not kept";
  wk_dtype t = n->n_in ? wk_val(g, n->in[0])->type.dtype : WK_F32;
  if (n->op == WK_OP_AVG_POOL && !wk_dtype_is_float(t)) return "it is an average of integers";
  bool is_narrow = t == WK_F16 || t == WK_BF16, adds = n->op != WK_OP_MAP;
  adds = adds && wk_op_get(n->op)->cls != WK_CLASS_MOVEMENT;
  return is_narrow && adds ? "sums of 16-bit floats would be rounded at each step" : NULL;
}

bool wk_inst_c_loops(const wk_inst *i, wk_arena *a, wk_inst_c *out) {
  *out = (wk_inst_c){.rank = i->n_out ? i->operands[0].rank : 0};
  if (i->n_out) memcpy(out->dims, i->operands[0].dims, sizeof out->dims);
  memcpy(out->index, wk_inst_c_i, sizeof out->index);
  for (size_t k = 0; k < WK_COUNTOF(rows); k++)
    if (rows[k].op == i->op) return rows[k].make(&(making){i, a, out});
  return false;
}

/* ---- printing -------------------------------------------------------------------------------- */

typedef struct {
  wk_str *b;
  wk_arena *a;
  const wk_inst *i;
  const char *const *base;
} printing;

static const char *element(const printing *p, const wk_inst_c_read *r) {
  const wk_view *v = &p->i->operands[r->operand];
  return wk_inst_c_element(p->a, v, p->base[v->buffer], r);
}

/* e of the accumulators a0, a1, … and of what is read. */
static void print(const printing *p, const char *name, const wk_expr *e, uint32_t n_accumulators,
                  const wk_inst_c_read *reads, size_t n, const char *const *index) {
  const char **in = wk_arena_alloc(p->a, (n_accumulators + n + 1) * sizeof *in);
  for (uint32_t k = 0; k < n_accumulators; k++) in[k] = wk_arena_printf(p->a, "a%u", k);
  for (size_t k = 0; k < n; k++) in[n_accumulators + k] = element(p, &reads[k]);
  wk_expr_c_print(p->b, e, &(wk_expr_c){.name = name, .inputs = in, .index = index});
}

static void print_fold(const printing *p, const wk_inst_c *l) {
  uint32_t n = l->begin->n_results;
  print(p, "b", l->begin, 0, NULL, 0, NULL);
  for (uint32_t k = 0; k < n; k++)
    wk_str_printf(p->b, "%s a%u = b%u;\n",
                  wk_expr_c_type(l->begin->nodes[l->begin->results[k]].dtype), k, k);
  wk_inst_c_for(p->b, 'k', l->inner_rank, l->inner_dims);
  wk_str_printf(p->b, "if (%s) {\n", l->counts ? l->counts : "1");
  print(p, "s", l->step, n, l->step_reads, l->n_step, l->index);
  for (uint32_t k = 0; k < n; k++) wk_str_printf(p->b, "a%u = s%u;\n", k, k);
  wk_str_add(p->b, "}\n");
}

static const char *base_of(const wk_program *p, const wk_buffer *x, uint64_t const_at,
                           wk_arena *a) {
  switch (x->region) {
    case WK_REGION_INPUT: return wk_arena_printf(a, "io[%u]", x->io);
    case WK_REGION_OUTPUT: return wk_arena_printf(a, "io[%zu]", p->inputs.n + x->io);
    case WK_REGION_ACT: return wk_arena_printf(a, "arena + %lld", (long long)x->offset);
    default: return wk_arena_printf(a, "consts + %llu", (unsigned long long)const_at);
  }
}

const char *const *wk_inst_c_bases(const wk_program *p, const uint64_t *const_at, wk_arena *a) {
  const char **base = wk_arena_alloc(a, (p->buffers.n + 1) * sizeof *base);
  for (size_t k = 0; k < p->buffers.n; k++)
    base[k] = base_of(p, &p->buffers.data[k], const_at[k], a);
  return base;
}

void wk_inst_c_body(wk_str *b, wk_arena *a, const wk_inst *i, const wk_inst_c *l,
                    const char *const *base) {
  const printing p = {b, a, i, base};
  if (l->begin) print_fold(&p, l);
  print(&p, "y", l->end, l->begin ? l->begin->n_results : 0, l->end_reads, l->n_end, wk_inst_c_i);
  for (uint32_t k = 0; k < i->n_out; k++) {
    wk_inst_c_read y = {.operand = k};
    memcpy(y.at, wk_inst_c_i, sizeof y.at);
    if (i->operands[k].buffer != WK_NONE) wk_str_printf(b, "%s = y%u;\n", element(&p, &y), k);
  }
}

bool wk_inst_c_print(wk_str *b, wk_arena *a, const wk_inst *i, const char *const *base) {
  wk_inst_c l;
  if (!wk_inst_c_loops(i, a, &l)) return false;
  wk_inst_c_for(b, 'i', l.rank, l.dims);
  wk_str_add(b, "{\n");
  wk_inst_c_body(b, a, i, &l, base);
  wk_str_add(b, "}\n");
  return true;
}

wk_status wk_inst_c_cases(wk_str *b, wk_arena *a, const wk_program *p, const char *const *base,
                          size_t first) {
  for (size_t k = 0; k < p->body.insts.n; k++) {
    const wk_inst *i = p->body.insts.data[k];
    wk_str_printf(b, "case %zu:\n", first + k);
    if (!wk_inst_c_print(b, a, i, base))
      return wk_error(WK_INTERNAL, "instruction %zu, %s: there are no loops for it", k,
                      wk_op_get(i->op)->name);
    wk_str_add(b, "break;\n");
  }
  return NULL;
}
