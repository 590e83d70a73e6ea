/* SPDX-License-Identifier: Apache-2.0
 * The text of loops. */
#include <stdlib.h>
#include <string.h>

#include "compiler/cgen/expr_c.h"
#include "compiler/cgen/inst_c_make.h"

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
  const char **in = wk_arena_alloc(p->a, (n_accumulators + n) * sizeof *in);
  for (uint32_t k = 0; k < n_accumulators; k++) in[k] = wk_arena_printf(p->a, "a%u", k);
  for (size_t k = 0; k < n; k++) in[n_accumulators + k] = element(p, &reads[k]);
  wk_expr_c_print(p->b, e, &(wk_expr_c){.name = name, .inputs = in, .index = index});
}

void wk_cgen_for(wk_str *b, char letter, int first, int rank, const int64_t *dims) {
  for (int k = first; k < rank; k++)
    wk_str_printf(b, "for (long %c%d = 0; %c%d < %lld; %c%d++)\n", letter, k, letter, k,
                  (long long)dims[k], letter, k);
}

static void print_positions(const printing *p, const wk_inst_c *l) {
  for (size_t k = 0; k < l->n_positions; k++)
    wk_str_printf(p->b, "wk_i64 p%zu = wk_index(%s, %lld);\n"
                        "if (p%zu < 0) {\nWK_BAD_INDEX();\np%zu = 0;\n}\n",
                  k, element(p, &l->positions[k].read), (long long)l->positions[k].size, k, k);
}

static void print_end(const printing *p, const wk_inst_c *l) {
  print(p, "y", l->end, l->begin ? l->begin->n_results : 0, l->end_reads, l->n_end, wk_inst_c_i);
  for (uint32_t k = 0; k < p->i->n_out; k++) {
    wk_inst_c_read y = {.operand = k};
    memcpy(y.at, l->at, sizeof y.at);
    if (p->i->operands[k].buffer != WK_NONE)
      wk_str_printf(p->b, "%s = y%u;\n", element(p, &y), k);
  }
}

/* The loop over k0, which ends where data says. */
static void print_range(const printing *p, const wk_inst_c *l) {
  wk_str_printf(p->b, "wk_i64 first = %s, end = %s;\n", element(p, &l->range[0]),
                element(p, &l->range[1]));
  wk_str_printf(p->b, "if (first < 0 || end < first || end > %lld) {\nWK_BAD_INDEX();\n"
                "end = first;\n}\nfor (long k0 = first; k0 < end; k0++)\n",
                (long long)l->inner_dims[0]);
}

static void print_fold(const printing *p, const wk_inst_c *l) {
  uint32_t n = l->begin->n_results;
  print(p, "b", l->begin, 0, l->begin_reads, l->n_begin, NULL);
  for (uint32_t k = 0; k < n; k++)
    wk_str_printf(p->b, "%s a%u = b%u;\n",
                  wk_expr_c_type(l->begin->nodes[l->begin->results[k]].dtype), k, k);
  if (l->range) print_range(p, l);
  wk_cgen_for(p->b, 'k', l->range ? 1 : 0, l->inner_rank, l->inner_dims);
  wk_str_add(p->b, "{\n");
  print_positions(p, l);
  wk_str_printf(p->b, "if (%s) {\n", l->counts ? l->counts : "1");
  print(p, "s", l->step, n, l->step_reads, l->n_step, l->index);
  for (uint32_t k = 0; k < n; k++) wk_str_printf(p->b, "a%u = s%u;\n", k, k);
  wk_str_add(p->b, "}\n");
  if (l->stores) {
    wk_str_printf(p->b, "if (%s) {\n", l->stores);
    print_end(p, l);
    wk_str_add(p->b, "}\n");
  }
  wk_str_add(p->b, "}\n");
}

static void print_all(const printing *p, const wk_inst_c *l) {
  if (l->begin) print_fold(p, l);
  else print_positions(p, l);
  if (!l->stores) print_end(p, l);
}

/* ---- nests ----------------------------------------------------------------------------------- */

typedef WK_VEC(const wk_view *) views;

/* Whether an earlier one is of the same buffer; *bytes: what all of them need. */
static bool is_declared(const views *all, size_t k, int64_t *bytes) {
  bool is_known = false;
  *bytes = 0;
  for (size_t j = 0; j < all->n; j++) {
    int64_t lo, hi;
    if (all->data[j]->buffer != all->data[k]->buffer) continue;
    wk_view_extent(all->data[j], 1, &lo, &hi);
    if (hi > *bytes) *bytes = hi;
    is_known = is_known || j < k;
  }
  return is_known;
}

/* An array for each buffer of the body that has no memory. */
static void print_scratch(const printing *p) {
  const wk_block *body = &p->i->bodies[0];
  views all = {0};
  for (size_t k = 0; k < body->insts.n; k++) {
    const wk_inst *i = body->insts.data[k];
    for (uint32_t o = 0; o < i->n_operands; o++) {
      const wk_view *v = &i->operands[o];
      if (v->buffer != WK_NONE && !p->base[v->buffer]) wk_vec_push(&all, v);
    }
  }
  for (size_t k = 0; k < all.n; k++) {
    int64_t bytes, size = wk_dtype_size(all.data[k]->dtype);
    if (is_declared(&all, k, &bytes)) continue;
    wk_str_printf(p->b, "%s t%u[%lld];\n", wk_expr_c_type(all.data[k]->dtype),
                  all.data[k]->buffer, (long long)wk_ceil_div(bytes, size));
  }
  wk_vec_free(&all);
}

/* Each instruction of the body in loops over the axes that the nest does not have. */
static void print_nest(const printing *p, const wk_inst_c *l) {
  const wk_block *body = &p->i->bodies[0];
  print_scratch(p);
  for (size_t k = 0; k < body->insts.n; k++) {
    const printing member = {p->b, p->a, body->insts.data[k], p->base};
    wk_inst_c own;
    if (!wk_inst_c_loops(member.i, p->a, &own)) return; /* wk_inst_c_loops of the nest failed */
    wk_cgen_for(p->b, 'i', l->rank, own.rank, own.dims);
    wk_str_add(p->b, "{\n");
    print_all(&member, &own);
    wk_str_add(p->b, "}\n");
  }
}

/* ---- instructions ---------------------------------------------------------------------------- */

void wk_inst_c_body(wk_str *b, wk_arena *a, const wk_inst *i, const wk_inst_c *l,
                    const char *const *base) {
  const printing p = {b, a, i, base};
  if (i->op == WK_OP_NEST) print_nest(&p, l);
  else print_all(&p, l);
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
