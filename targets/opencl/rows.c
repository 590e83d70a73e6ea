/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/rows.h"

#include "compiler/cgen/expr_c.h"

enum {
  GROUP = 128,     /* work items */
  MOST_ITEMS = 256,
  ELEMENTS = 8,    /* of a row, for each work item */
  NEIGHBOURS = 32, /* work items that run together on many GPUs */
  LEAST_NEIGHBOURS = 8, /* rows, elements of which are a sector of memory */
  FEW = 16         /* partial results that each work item joins by itself */
};

/* ---- sizes ----------------------------------------------------------------------------------- */

static int most_of(const wk_opencl *d) {
  int most = MOST_ITEMS;
  while (most > 1 &&
         ((uint32_t)most > d->info.max_group || (uint32_t)most > d->info.max_items[0]))
    most /= 2;
  return most;
}

/* More items of a row as long as units have little to do, and each of them more than one
 * element. */
static void choose_items(wk_cl_rows *r, const wk_opencl *d, int64_t elements, int64_t most) {
  int64_t busy = (int64_t)d->info.units * WK_CL_BUSY;
  while (r->items < most && (r->items * ELEMENTS < elements || r->count * r->items < busy) &&
         r->items * 2 <= elements)
    r->items *= 2;
}

wk_cl_rows wk_cl_rows_for(const wk_opencl *d, int64_t count, int64_t elements, bool is_across) {
  wk_cl_rows r = {.items = 1, .rows = 1, .count = count, .is_across = is_across};
  int most = most_of(d);
  if (is_across) {
    while (r.rows < NEIGHBOURS && r.rows < count && r.rows < most) r.rows *= 2;
    while (r.rows > LEAST_NEIGHBOURS && count / r.rows < (int64_t)d->info.units) r.rows /= 2;
    int64_t busy = (int64_t)d->info.units * WK_CL_BUSY;
    while (r.items * r.rows < most && r.count * r.items < busy && r.items * 4 <= elements)
      r.items *= 2;
    return r;
  }
  choose_items(&r, d, elements, most);
  while (r.items * r.rows < GROUP && r.items * r.rows < most && r.rows < count &&
         (r.items * r.rows < NEIGHBOURS || count / (r.rows * 2) >= (int64_t)d->info.units))
    r.rows *= 2;
  return r;
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool has_rest(const wk_cl_rows *r) { return r->count % r->rows != 0; }

void wk_cl_rows_begin(const wk_cl_rows *r, const wk_cl_loops *x) {
  wk_cl_kernel *k = x->kernel;
  int size = r->is_across ? r->rows : r->items;
  k->local[0] = (uint32_t)(r->items * r->rows);
  k->global[0] = (uint64_t)wk_ceil_div(r->count, r->rows) * k->local[0];
  wk_str_printf(x->b, "const int local_id = get_local_id(0);\n"
                "const int %s = local_id %% %d, %s = local_id / %d;\n",
                r->is_across ? "sub" : "item", size, r->is_across ? "item" : "sub", size);
  wk_str_printf(x->b, "const %s row = get_group_id(0) * %d + sub;\n", wk_cl_flat_type(x), r->rows);
  if (has_rest(r)) wk_str_printf(x->b, "const bool live = row < %lld;\n", (long long)r->count);
}

/* `if (…) {`, or nothing; the text that ends it. */
static const char *guard(const wk_cl_rows *r, const wk_cl_loops *x, bool once) {
  const char *first = r->items > 1 && once ? "item == 0" : NULL;
  if (!first && !has_rest(r)) return "";
  wk_str_printf(x->b, "if (%s%s%s) {\n", first ? first : "", first && has_rest(r) ? " && " : "",
                has_rest(r) ? "live" : "");
  return "}\n";
}

typedef struct {
  const wk_cl_loops *x;
  char letter;
  int first, rank, fast;
  const int64_t *dims;
  void (*body)(const wk_cl_loops *x);
} walk;

static void add_element(const walk *w, const char *at) {
  wk_str_printf(w->x->b, "const %s e = %s;\n", wk_cl_flat_type(w->x), at);
  wk_cl_split_fast(w->x, w->letter, w->first, w->rank, w->dims, w->fast, "e");
  w->body(w->x);
  wk_str_add(w->x->b, "}\n");
}

/* The elements of an item. */
static void add_elements(const wk_cl_rows *r, const walk *w) {
  wk_str *b = w->x->b;
  int64_t n = 1;
  for (int d = w->first; d < w->rank; d++) n *= w->dims[d];
  int64_t whole = n / r->items * r->items;
  const char *end = guard(r, w->x, false);
  if (whole) {
    wk_str_printf(b, "for (%s from = 0; from < %lld; from += %d) {\n", w->x->type,
                  (long long)whole, r->items);
    add_element(w, "from + item");
  }
  if (whole < n) {
    wk_str_printf(b, "if (item < %lld) {\n", (long long)(n - whole));
    add_element(w, wk_arena_printf(w->x->a, "%lld + item", (long long)whole));
  }
  wk_str_add(b, end);
}

/* ---- folds ----------------------------------------------------------------------------------- */

static const char *sum_type(const wk_cl_loops *x) {
  return wk_expr_c_type(x->l.begin->nodes[x->l.begin->results[0]].dtype);
}

void wk_cl_rows_declare(const wk_cl_rows *r, const wk_cl_loops *x, int number) {
  int n = r->items * r->rows;
  if (r->items == 1) return;
  wk_str_printf(x->b, "__local %s part%d[%d];\n", sum_type(x), number, n);
  x->kernel->local_bytes += (uint64_t)n * 8;
}

/* Partial result of another item of the row. */
static const char *part(const wk_cl_rows *r, const wk_cl_loops *x, int number, const char *item) {
  return r->is_across ? wk_arena_printf(x->a, "part%d[(%s) * %d + sub]", number, item, r->rows)
                      : wk_arena_printf(x->a, "part%d[sub * %d + %s]", number, r->items, item);
}

/* a0 becomes what parts from `first` on are together, `step` items apart. */
static void join_parts(const wk_cl_rows *r, const wk_cl_loops *x, int number, const char *first,
                       int step, int count) {
  const char *at = wk_arena_printf(x->a, "%s + j * %d", first, step);
  wk_str_printf(x->b, "a0 = %s;\nWK_UNROLL for (int j = 1; j < %d; j++) {\n",
                part(r, x, number, first), count);
  wk_cl_join(x, (const char *const[]){"a0", part(r, x, number, at), NULL});
  wk_str_add(x->b, "}\n");
}

/* Some items join the parts of others, and then all of them those that are left. */
static void add_join(const wk_cl_rows *r, const wk_cl_loops *x, int number) {
  int left = r->items;
  wk_str_printf(x->b, "part%d[local_id] = a0;\nbarrier(CLK_LOCAL_MEM_FENCE);\n", number);
  if (left > FEW) {
    while (left > FEW || left * left > 2 * r->items) left /= 2;
    wk_str_printf(x->b, "if (item < %d) {\n", left);
    join_parts(r, x, number, "item", left, r->items / left);
    wk_str_printf(x->b, "part%d[local_id] = a0;\n}\nbarrier(CLK_LOCAL_MEM_FENCE);\n", number);
  }
  join_parts(r, x, number, "0", 1, left);
}

static void add_step(const wk_cl_loops *x) {
  wk_cl_step(x, (const char *const[]){"a0", NULL});
}

void wk_cl_rows_fold(const wk_cl_rows *r, const wk_cl_loops *x, int number, int fast,
                     bool is_private) {
  const walk w = {x, 'k', 0, x->l.inner_rank, fast, x->l.inner_dims, add_step};
  wk_cl_begin(x);
  add_elements(r, &w);
  if (r->items > 1) add_join(r, x, number);
  const char *end = guard(r, x, !is_private);
  wk_cl_end(x, (const char *const[]){"a0", NULL});
  wk_str_add(x->b, end);
}

void wk_cl_rows_each(const wk_cl_rows *r, const wk_cl_loops *x, int outer, int fast,
                     bool is_private) {
  const walk w = {x, 'i', outer, x->l.rank, fast, x->l.dims, wk_cl_at};
  int64_t n = 1;
  for (int d = outer; d < x->l.rank; d++) n *= x->l.dims[d];
  if (n > 1) {
    add_elements(r, &w);
    return;
  }
  const char *end = guard(r, x, !is_private);
  wk_cl_split(x, 'i', outer, x->l.rank, x->l.dims, -1, "0");
  wk_cl_at(x);
  wk_str_add(x->b, end);
}
