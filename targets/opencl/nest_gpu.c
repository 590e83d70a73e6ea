/* SPDX-License-Identifier: Apache-2.0
 * Nests on GPUs: a work-group does a row, or several short ones, one instruction after the other.
 * Rows of scratch are in local memory, single elements in memory of each work item. An element is
 * always the work of the same item (rows.h), so that most instructions need no barrier between
 * them. What the nest writes to global memory and reads again is in local memory, too, if that has
 * room: global memory is written once. */
#include <string.h>

#include "compiler/cgen/expr_c.h"
#include "targets/opencl/nest.h"
#include "targets/opencl/rows.h"

typedef struct {
  const wk_cl_making *m;
  const wk_block *body;
  wk_cl_kernel *k;
  wk_cl_loops *loops; /* of each instruction */
  wk_cl_rows rows;
  int outer, fast;
  size_t barrier;     /* before this instruction there was one, or the beginning */
} nest;

static const wk_buffer *buffer_of(const wk_program *p, const wk_view *v) {
  return v->buffer == WK_NONE ? NULL : &p->buffers.data[v->buffer];
}

static bool is_scratch(const wk_program *p, const wk_view *v) {
  return v->buffer != WK_NONE && buffer_of(p, v)->region == WK_REGION_SCRATCH;
}

/* Each work item has its own. */
static bool is_private(const wk_program *p, const wk_view *v) {
  return is_scratch(p, v) && buffer_of(p, v)->size <= wk_dtype_size(v->dtype);
}

static int64_t elements_of(const wk_inst *i, int outer) {
  const wk_view *y = &i->operands[0];
  int64_t n = 1;
  for (int d = outer; d < y->rank; d++) n *= y->dims[d];
  return n;
}

static int64_t longest(const wk_inst *inst, int outer) {
  int64_t most = 1;
  for (size_t j = 0; j < inst->bodies[0].insts.n; j++) {
    int64_t n = elements_of(inst->bodies[0].insts.data[j], outer);
    if (n > most) most = n;
  }
  return most;
}

static int64_t count_of(const wk_inst *inst, int outer) {
  return wk_cl_product(outer, inst->bodies[0].insts.data[0]->operands[0].dims, -1);
}

static int outer_of(const wk_inst *inst) {
  return (int)((const wk_attr_nest *)inst->attrs)->outer;
}

/* ---- local memory ---------------------------------------------------------------------------- */

/* Bytes of scratch of a row that are no single elements. */
static int64_t scratch_of(const wk_program *p, const wk_inst *inst) {
  int64_t bytes = 0;
  for (size_t j = 0; j < inst->bodies[0].insts.n; j++) {
    const wk_inst *i = inst->bodies[0].insts.data[j];
    for (uint32_t o = 0; o < i->n_out; o++)
      if (is_scratch(p, &i->operands[o]) && !is_private(p, &i->operands[o]))
        bytes += wk_ceil_div(buffer_of(p, &i->operands[o])->size, 8) * 8;
  }
  return bytes;
}

static int64_t parts_of(const wk_inst *inst, const wk_cl_rows *r) {
  int64_t n = 0;
  for (size_t j = 0; j < inst->bodies[0].insts.n; j++)
    n += inst->bodies[0].insts.data[j]->op == WK_OP_REDUCE;
  return n * r->items * r->rows * 8;
}

/* As many rows side by side as local memory has room for, twice if it can be. */
static wk_cl_rows rows_of(const wk_opencl *d, const wk_program *p, const wk_inst *inst) {
  int outer = outer_of(inst);
  wk_cl_rows r = wk_cl_rows_for(d, count_of(inst, outer), longest(inst, outer), false);
  while (r.rows > 1 && 2 * (r.rows * scratch_of(p, inst) + parts_of(inst, &r)) >
                           (int64_t)d->info.local_memory)
    r.rows /= 2;
  return r;
}

enum { FEW_ELEMENTS = 8192 }; /* of a row that one group does while other units wait */

bool wk_cl_nest_fits(const wk_opencl *d, const wk_program *p, const wk_inst *inst) {
  int64_t operands = 0, bytes = 0;
  enum { MOST = 128 << 10 }; /* bytes of a CPU's work item */
  for (size_t k = 0; k < inst->bodies[0].insts.n; k++) {
    const wk_inst *i = inst->bodies[0].insts.data[k];
    operands += i->n_operands;
    for (uint32_t o = 0; o < i->n_out; o++)
      if (is_scratch(p, &i->operands[o])) bytes += buffer_of(p, &i->operands[o])->size;
  }
  if (operands > WK_CL_MAX_OPERANDS) return false;
  if (d->family == WK_CL_CPU) return bytes <= MOST;
  wk_cl_rows r = rows_of(d, p, inst);
  int64_t n = longest(inst, outer_of(inst));
  return r.rows * scratch_of(p, inst) + parts_of(inst, &r) <= (int64_t)d->info.local_memory &&
         (n <= FEW_ELEMENTS || 4 * r.count >= (int64_t)d->info.units);
}

/* ---- scratch --------------------------------------------------------------------------------- */

/* Bytes of a row of local memory. */
static int64_t row_bytes(const nest *n, const wk_view *v) {
  return wk_ceil_div(buffer_of(n->m->p, v)->size, 8) * 8;
}

/* Arrays t0, t1, …, in order, so that the text says nothing of where the nest is; of the type of
 * who mentions them first. */
static void declare_scratch(const nest *n, const wk_view *v, int number) {
  bool own = is_private(n->m->p, v);
  int64_t size = wk_dtype_size(v->dtype);
  int64_t all = own ? 1 : wk_ceil_div(row_bytes(n, v), size) * n->rows.rows;
  wk_str_printf(&n->k->body, "%s%s t%d[%lld];\n", own ? "" : "__local ", wk_expr_c_type(v->dtype),
                number, (long long)all);
  if (!own) n->k->local_bytes += (uint64_t)(all * size);
}

/* Operands begin at the row of the work item. */
static void place_scratch(const nest *n) {
  int *number = wk_arena_alloc(n->m->a, n->m->p->buffers.n * sizeof *number), count = 0;
  for (size_t j = 0; j < n->body->insts.n; j++)
    for (uint32_t o = 0; o < n->body->insts.data[j]->n_operands; o++) {
      const wk_view *v = &n->body->insts.data[j]->operands[o];
      wk_cl_loops *x = &n->loops[j];
      if (!is_scratch(n->m->p, v)) continue;
      if (!number[v->buffer]) {
        number[v->buffer] = ++count;
        declare_scratch(n, v, count - 1);
      }
      bool own = is_private(n->m->p, v);
      x->space[o] = own ? "__private" : "__local";
      x->base[o] = wk_arena_printf(n->m->a, "(%s char *)t%d + ", x->space[o],
                                   number[v->buffer] - 1);
      x->base[o] = own ? wk_arena_printf(n->m->a, "%s0", x->base[o])
                       : wk_arena_printf(n->m->a, "%ssub * %lld", x->base[o],
                                         (long long)row_bytes(n, v));
    }
}

/* ---- order ----------------------------------------------------------------------------------- */

static bool is_fold(const nest *n, size_t j) {
  const wk_cl_loops *x = &n->loops[j];
  int64_t outputs = 1;
  for (int d = n->outer; d < x->l.rank; d++) outputs *= x->l.dims[d];
  return x->inst->op == WK_OP_REDUCE && outputs == 1 && wk_cl_is_joinable(x);
}

/* It reads and writes elements that are its work item's. Of a fold the result is not. */
static bool is_own(const nest *n, size_t j, uint32_t o) {
  const wk_inst *i = n->body->insts.data[j];
  const wk_view *v = &i->operands[o];
  if (is_private(n->m->p, v)) return true;
  if (is_fold(n, j) ? o < i->n_out : i->op == WK_OP_REDUCE) return false;
  for (int d = n->outer; d < v->rank; d++)
    if (n->body->insts.data[0]->operands[0].dims[d] > 1 &&
        (v->strides[d] == 0 || v->dims[d] != n->body->insts.data[0]->operands[0].dims[d]))
      return false;
  return elements_of(i, n->outer) > 1 || is_fold(n, j);
}

/* One of them writes what the other one reads or writes, and not element by element. */
static bool collide(const nest *n, size_t first, size_t second) {
  const wk_inst *i = n->body->insts.data[first], *j = n->body->insts.data[second];
  for (uint32_t a = 0; a < i->n_operands; a++)
    for (uint32_t b = 0; b < j->n_operands; b++) {
      if (i->operands[a].buffer == WK_NONE || i->operands[a].buffer != j->operands[b].buffer ||
          (a >= i->n_out && b >= j->n_out))
        continue;
      if (!is_own(n, first, a) || !is_own(n, second, b)) return true;
    }
  return false;
}

static void add_barrier(nest *n, size_t j) {
  bool needed = false;
  for (size_t before = n->barrier; before < j && !needed; before++)
    needed = collide(n, before, j);
  if (!needed) return;
  wk_str_add(&n->k->body, "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n");
  n->barrier = j;
}

/* ---- kept rows ------------------------------------------------------------------------------- */

/* Where a buffer of global memory is written first and last, and read last after that. */
typedef struct {
  size_t first, last, read;
  const wk_view *view; /* as it is written */
} kept;

/* False: it is not written, not read again, or not element by element. */
static bool find_uses(const nest *n, uint32_t buffer, kept *k) {
  bool is_written = false;
  *k = (kept){0};
  for (size_t j = 0; j < n->body->insts.n; j++) {
    const wk_inst *i = n->body->insts.data[j];
    for (uint32_t o = i->n_operands; o-- > 0;) { /* an instruction reads before it writes */
      const wk_view *v = &i->operands[o];
      if (v->buffer != buffer) continue;
      if (!is_own(n, j, o) || elements_of(i, n->outer) == 1 || v->step) return false;
      if (o >= i->n_out && is_written) k->read = j;
      if (o >= i->n_out) continue;
      if (!is_written) k->first = j, k->view = v;
      is_written = true;
      k->last = j;
    }
  }
  return is_written && k->read > k->first;
}

/* A row as it is in local memory. */
static wk_view *row_view(const nest *n, const wk_view *v) {
  wk_view *w = wk_arena_alloc(n->m->a, sizeof *w);
  int64_t run = 1;
  *w = *v;
  w->offset = 0;
  for (int d = v->rank - 1; d >= 0; d--) {
    w->strides[d] = d < n->outer ? 0 : run;
    run *= d < n->outer ? 1 : v->dims[d];
  }
  return w;
}

/* Reads behind the first write, and writes before the last one, go to local memory. */
static void keep_row(nest *n, uint32_t buffer, const kept *k, int number, int64_t bytes) {
  const wk_view *row = row_view(n, k->view);
  const char *base = wk_arena_printf(n->m->a, "(__local char *)r%d + sub * %lld", number,
                                     (long long)bytes);
  for (size_t j = k->first; j < n->body->insts.n; j++) {
    wk_cl_loops *x = &n->loops[j];
    wk_inst *copy = wk_arena_alloc(n->m->a, sizeof *copy);
    *copy = *x->inst;
    copy->operands = wk_arena_alloc(n->m->a, copy->n_operands * sizeof *copy->operands);
    memcpy(copy->operands, x->inst->operands, copy->n_operands * sizeof *copy->operands);
    x->inst = copy;
    for (uint32_t o = 0; o < copy->n_operands; o++) {
      if (copy->operands[o].buffer != buffer) continue;
      bool is_out = o < copy->n_out;
      if (is_out && j == k->last) {
        if (k->read > j) x->twin[o] = row, x->twin_base[o] = base;
      } else if (is_out || j > k->first) {
        memcpy(copy->operands[o].strides, row->strides, sizeof row->strides);
        x->base[o] = base;
        x->space[o] = "__local";
      }
    }
  }
}

static void keep_rows(nest *n) {
  bool *seen = wk_arena_alloc(n->m->a, n->m->p->buffers.n * sizeof *seen);
  int number = 0;
  for (size_t j = 0; j < n->body->insts.n; j++)
    for (uint32_t o = 0; o < n->body->insts.data[j]->n_out; o++) {
      const wk_view *v = &n->body->insts.data[j]->operands[o];
      kept k;
      if (v->buffer == WK_NONE || seen[v->buffer] || is_scratch(n->m->p, v)) continue;
      seen[v->buffer] = true;
      if (!find_uses(n, v->buffer, &k)) continue;
      int64_t size = wk_dtype_size(v->dtype), elements = elements_of(n->body->insts.data[j],
                                                                     n->outer);
      int64_t bytes = wk_ceil_div(elements * size, 8) * 8, all = bytes * n->rows.rows;
      if (2 * (n->k->local_bytes + (uint64_t)all) > n->m->device->info.local_memory) continue;
      wk_str_printf(&n->k->body, "__local %s r%d[%lld];\n", wk_expr_c_type(v->dtype), number,
                    (long long)wk_ceil_div(all, size));
      n->k->local_bytes += (uint64_t)all;
      keep_row(n, v->buffer, &k, number++, bytes);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool open_body(nest *n) {
  size_t count = n->body->insts.n;
  n->loops = wk_arena_alloc(n->m->a, count * sizeof *n->loops);
  bool is_small = true;
  for (size_t j = 0; j < count; j++) {
    wk_cl_loops *x = &n->loops[j];
    if (!wk_cl_loops_open(x, n->m->a, n->k, n->m->p, n->body->insts.data[j], WK_NONE, false))
      return false;
    is_small = is_small && *x->type == 'i';
  }
  for (size_t j = 0; j < count; j++)
    if (!is_small) n->loops[j].type = "long";
  return true;
}

static void add_body(nest *n, size_t j) {
  const wk_cl_loops *x = &n->loops[j];
  bool own = is_private(n->m->p, &x->inst->operands[0]);
  add_barrier(n, j);
  wk_str_add(x->b, "{\n");
  if (is_fold(n, j)) {
    wk_cl_split(x, 'i', n->outer, x->l.rank, x->l.dims, -1, "0");
    wk_cl_rows_fold(&n->rows, x, (int)j, n->fast, own);
  } else {
    wk_cl_rows_each(&n->rows, x, n->outer, n->fast, own);
  }
  wk_str_add(x->b, "}\n");
}

bool wk_cl_nest_gpu(const wk_cl_making *m) {
  wk_cl_kernel k = {.what = "nest", .node = m->inst->name};
  const wk_inst *first = m->inst->bodies[0].insts.data[0];
  nest n = {.m = m, .body = &m->inst->bodies[0], .k = &k, .outer = outer_of(m->inst)};
  n.rows = rows_of(m->device, m->p, m->inst);
  n.fast = wk_cl_fastest(&first->operands[first->n_out]);
  if (n.fast < n.outer) n.fast = -1;
  if (!open_body(&n)) return false;
  place_scratch(&n);
  for (size_t j = 0; j < n.body->insts.n; j++)
    if (is_fold(&n, j)) wk_cl_rows_declare(&n.rows, &n.loops[j], (int)j);
  keep_rows(&n);
  wk_cl_rows_begin(&n.rows, &n.loops[0]);
  wk_cl_split(&n.loops[0], 'i', 0, n.outer, first->operands[0].dims, -1, "row");
  for (size_t j = 0; j < n.body->insts.n; j++) add_body(&n, j);
  wk_cl_add_launch(m->unit, &k);
  return true;
}
