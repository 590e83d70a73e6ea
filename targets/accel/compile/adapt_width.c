/* SPDX-License-Identifier: Apache-2.0
 * Images whose rows are long beside the scratchpad are computed in pieces of their width, each
 * through several layers before the next one, so that a strip of it is more than a row. Layers
 * follow one another in regions that begin and end where few bytes go from layer to layer; what
 * windows at the edge of a piece see of its neighbours is computed in both. */
#include <stdlib.h>
#include <string.h>

#include "compiler/passes/pass.h"
#include "targets/accel/compile/adapt.h"
#include "targets/accel/compile/net.h"

enum { LEAST_WIDTH = 8 }; /* of a piece, in pixels of its results */
/* Of the scratchpad, for what a window needs for a row of results: of all channels, or of a block
 * of them, beside which those of the layers around it have their own. */
enum { SUMS_PART = 2, BLOCK_PART = 7 };
enum { MOST_AGAIN = 5 };   /* a fifth of the work of a region, again */
enum { MOST_LOADED = 8 };  /* what is loaded again takes an eighth of the time of the work */

typedef struct {
  wk_graph *g;
  wk_pass_ctx *c;
  const wk_machine *machine;
  bool needs_room; /* only regions of which the machine cannot have a layer as it is */
  wk_uses uses;
} cutting;

/* Columns [from, to). */
typedef struct {
  int64_t from, to;
} range;

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Along one axis of an image; without a window: one pixel. */
typedef struct {
  int64_t span, stride, pad;
} window;

static int64_t width_of(const cutting *x, wk_value_id v) {
  const wk_type *t = &wk_val(x->g, v)->type;
  return t->rank == 4 ? t->dims[3] : 0;
}

static window window_of(const cutting *x, const wk_node *n, int axis) {
  if (n->op == WK_OP_CONV) {
    const wk_attr_conv *a = WK_ATTR(n, conv);
    const int64_t taps = wk_val(x->g, n->in[1])->type.dims[2 + axis];
    return (window){(taps - 1) * a->dilations.v[axis] + 1, a->strides.v[axis], a->pads.v[axis]};
  }
  if (n->op == WK_OP_MAX_POOL) {
    const wk_attr_max_pool *a = WK_ATTR(n, max_pool);
    return (window){(a->kernel.v[axis] - 1) * a->dilations.v[axis] + 1, a->strides.v[axis],
                    a->pads.v[axis]};
  }
  return (window){1, 1, 0};
}

static bool is_constant(const cutting *x, wk_value_id v) {
  return v == WK_NONE || wk_val(x->g, v)->kind == WK_VALUE_CONSTANT;
}

/* Operand k has the columns of the result, or those that windows see of it. */
static bool has_columns(const cutting *x, const wk_node *n, uint32_t k) {
  if (is_constant(x, n->in[k])) return false;
  return k == 0 || width_of(x, n->in[k]) == width_of(x, n->out[0]);
}

static bool is_image(const cutting *x, wk_value_id v) {
  const wk_type *t = &wk_val(x->g, v)->type;
  return t->rank == 4 && wk_accel_is_8_bit(t->dtype) && wk_type_count(t) > 0;
}

/* Each operand of a map is an image of the same columns, or the same for all of them. */
static bool is_map_local(const cutting *x, const wk_node *n) {
  const int64_t width = width_of(x, n->out[0]);
  for (uint32_t k = 0; k < n->n_in; k++) {
    const wk_type *t = &wk_val(x->g, n->in[k])->type;
    const int64_t own = t->rank ? t->dims[t->rank - 1] : 1;
    bool is_same = is_image(x, n->in[k]) && own == width;
    if (!is_same && (own != 1 || k == 0)) return false;
    if (is_same && is_constant(x, n->in[k])) return false;
  }
  return true;
}

static bool is_local(const cutting *x, const wk_node *n) {
  const bool is_piece = n->counted.all > 0;
  if (n->dead || is_piece || n->predicate != WK_NONE || n->n_bodies || !n->n_in || !n->n_out ||
      !is_image(x, n->out[0]) || !is_image(x, n->in[0]))
    return false;
  for (uint32_t k = 1; k < n->n_out; k++)
    if (n->out[k] != WK_NONE) return false;
  for (uint32_t k = 1; k < n->n_in && n->op == WK_OP_CONV; k++)
    if (!is_constant(x, n->in[k])) return false;
  if (n->op == WK_OP_MAP) return is_map_local(x, n);
  return n->op == WK_OP_CONV || n->op == WK_OP_MAX_POOL;
}

/* ---- what a node takes ----------------------------------------------------------------------- */

static int64_t blocks_of(const cutting *x, wk_value_id v) {
  return wk_ceil_div(wk_val(x->g, v)->type.dims[1], x->machine->array);
}

static bool is_depthwise(const cutting *x, const wk_node *n) {
  return n->op == WK_OP_CONV && WK_ATTR(n, conv)->group > 1 &&
         wk_val(x->g, n->in[1])->type.dims[1] == 1;
}

static bool sums_channels(const cutting *x, const wk_node *n) {
  return n->op == WK_OP_CONV && !is_depthwise(x, n);
}

/* Cycles of the array or the vector unit, about. */
static int64_t cycles_of(const cutting *x, const wk_node *n) {
  const wk_type *y = &wk_val(x->g, n->out[0])->type;
  const int64_t words = y->dims[0] * y->dims[2] * y->dims[3] * blocks_of(x, n->out[0]);
  const window h = window_of(x, n, 0), w = window_of(x, n, 1);
  if (n->op != WK_OP_CONV) return words * h.span * w.span;
  if (is_depthwise(x, n)) return words * h.span;
  return words * h.span * w.span * blocks_of(x, n->in[0]);
}

/* Bytes of the scratchpad for a row of its result, in so many pieces. Pixels for which nobody sees
 * others need no rows, unless there is no room for a row. */
static int64_t room_of(const cutting *x, const wk_node *n, int64_t pieces) {
  const window h = window_of(x, n, 0), w = window_of(x, n, 1);
  const int64_t channels = wk_val(x->g, n->in[0])->type.dims[1];
  const int64_t out = wk_ceil_div(width_of(x, n->out[0]), pieces);
  const int64_t blocks = sums_channels(x, n) ? blocks_of(x, n->in[0]) : 1;
  const int64_t pixel =
      channels <= 4 ? wk_accel_dense_lanes(channels) : x->machine->array * blocks;
  int64_t operands = 0;
  for (uint32_t k = 0; k < n->n_in; k++) operands += has_columns(x, n, k);
  if (h.span == 1 && w.span == 1 && !x->needs_room) return 0;
  return operands * h.span * ((out - 1) * w.stride + w.span) * pixel + out * x->machine->array;
}

static int64_t weights_of(const cutting *x, const wk_node *n) {
  return n->op == WK_OP_CONV ? wk_type_bytes(&wk_val(x->g, n->in[1])->type) : 0;
}

/* ---- regions --------------------------------------------------------------------------------- */

/* Nodes [first, end), in so many pieces. */
typedef struct {
  size_t first, end;
  int64_t pieces;
} region;

/* The last node before `end` that uses the value; `end`: one behind them or an output does. */
static size_t last_use(const cutting *x, wk_value_id v, size_t end) {
  size_t last = 0;
  for (uint32_t k = x->uses.first[v]; k < x->uses.first[v + 1]; k++) {
    const wk_node_id id = x->uses.uses[k].node;
    if (id == WK_NONE || id >= end) return end;
    if (id > last) last = id;
  }
  return last;
}

/* Of nodes [first, end) adds, for each, what goes from it and those before to those behind it. */
static int64_t *crossing(const cutting *x, size_t first, size_t end) {
  int64_t *bytes = wk_xcalloc(end - first + 1, sizeof *bytes);
  for (size_t i = first; i < end; i++) {
    const wk_node *n = wk_nod(x->g, (wk_node_id)i);
    const size_t last = last_use(x, n->out[0], end);
    const int64_t size = wk_type_bytes(&wk_val(x->g, n->out[0])->type);
    for (size_t k = i; k < last; k++) bytes[k - first] += size;
  }
  return bytes;
}

static bool is_inside(const cutting *x, const region *r, wk_value_id v) {
  const wk_value *y = wk_val(x->g, v);
  return y->kind == WK_VALUE_NODE && y->node >= r->first && y->node < r->end;
}

/* Whoever is outside of the region sees the value. */
static bool is_result(const cutting *x, const region *r, wk_value_id v) {
  return last_use(x, v, r->end) == r->end;
}

static range piece_of(int64_t width, int64_t pieces, int64_t k) {
  return (range){width * k / pieces, width * (k + 1) / pieces};
}

static void join(range *all, range own) {
  if (all->to <= all->from) {
    *all = own;
    return;
  }
  if (own.from < all->from) all->from = own.from;
  if (own.to > all->to) all->to = own.to;
}

/* Columns of operand k that columns y of the result need; pads: those that are missing. */
static range needed(const cutting *x, const wk_node *n, uint32_t k, range y, int64_t pads[2]) {
  const window w = k ? (window){1, 1, 0} : window_of(x, n, 1);
  const int64_t width = width_of(x, n->in[k]);
  range r = {y.from * w.stride - w.pad, (y.to - 1) * w.stride - w.pad + w.span};
  pads[0] = r.from < 0 ? -r.from : 0;
  pads[1] = r.to > width ? r.to - width : 0;
  r.from += pads[0], r.to -= pads[1];
  return r;
}

/* Columns of each value that the region makes which piece k is about, and bytes that it has of
 * others; false: a piece would have no column of one of them, or its windows see none. */
static bool find_ranges(const cutting *x, const region *r, int64_t k, range *of, int64_t *read) {
  *read = 0;
  for (size_t i = r->end; i-- > r->first;) {
    const wk_node *n = wk_nod(x->g, (wk_node_id)i);
    range *y = &of[i - r->first];
    if (is_result(x, r, n->out[0])) join(y, piece_of(width_of(x, n->out[0]), r->pieces, k));
    if (y->to <= y->from) return false;
    for (uint32_t j = 0; j < n->n_in; j++) {
      int64_t pads[2];
      if (!has_columns(x, n, j)) continue;
      const range own = needed(x, n, j, *y, pads);
      if (own.to <= own.from) return false;
      if (is_inside(x, r, n->in[j])) join(&of[wk_val(x->g, n->in[j])->node - r->first], own);
      else *read += wk_type_bytes(&wk_val(x->g, n->in[j])->type) / width_of(x, n->in[j]) *
                    (own.to - own.from);
    }
  }
  return true;
}

/* Bytes that the region loads as a whole, but for weights. */
static int64_t read_by_all(const cutting *x, const region *r) {
  const region whole = {r->first, r->end, 1};
  range *of = wk_xcalloc(r->end - r->first, sizeof *of);
  int64_t read;
  (void)find_ranges(x, &whole, 0, of, &read);
  free(of);
  return read;
}

/* Work that pieces do more than once, and what is loaded more than once, are little, or that is
 * better than no room. */
static bool is_worth(const cutting *x, const region *r) {
  const size_t n = r->end - r->first;
  const wk_fraction rate = x->machine->dram_bytes;
  double work = 0, all = 0;
  int64_t weights = 0, again = -read_by_all(x, r), read;
  range *of = wk_xcalloc(n, sizeof *of);
  bool is_fine = true;
  for (int64_t k = 0; k < r->pieces && is_fine; k++) {
    memset(of, 0, n * sizeof *of);
    is_fine = find_ranges(x, r, k, of, &read);
    again += read;
    for (size_t i = 0; i < n; i++) {
      const wk_node *y = wk_nod(x->g, (wk_node_id)(r->first + i));
      const double cycles = (double)cycles_of(x, y), width = (double)width_of(x, y->out[0]);
      work += cycles * (double)(of[i].to - of[i].from) / width;
      if (k) continue;
      all += cycles;
      weights += weights_of(x, y);
    }
  }
  free(of);
  again += weights * (r->pieces - 1);
  const double load = (double)(again * rate.den) / (double)rate.num;
  bool is_little = (work - all) * MOST_AGAIN <= all && load * MOST_LOADED <= all;
  return is_fine && (x->needs_room || is_little);
}

/* Bytes of weights that stand beside any piece: of a block of channels by a block. */
static int64_t block_of(const cutting *x, const wk_node *n) {
  if (!sums_channels(x, n)) return 0;
  const wk_type *w = &wk_val(x->g, n->in[1])->type;
  return w->dims[2] * w->dims[3] * x->machine->array * x->machine->array;
}

/* The machine would take the node if it had more room, or if rows were shorter. */
static bool has_no_room(const cutting *x, const wk_node *n) {
  if (4 * block_of(x, n) > 3 * x->machine->scratchpad) return false;
  wk_machine roomy = *x->machine;
  wk_arena *a = wk_arena_new();
  roomy.scratchpad = WK_KEY_MAX_scratchpad;
  bool lacks_room = wk_accel_refusal(x->machine, x->g, n, a) &&
                    !wk_accel_refusal(&roomy, x->g, n, a);
  wk_arena_free(a);
  return lacks_room;
}

static bool is_asked_for(const cutting *x, const region *r) {
  bool is_any = !x->needs_room;
  for (size_t i = r->first; i < r->end && !is_any; i++)
    is_any = has_no_room(x, wk_nod(x->g, (wk_node_id)i));
  return is_any;
}

static void choose_pieces(const cutting *x, region *r) {
  int64_t pieces = 1;
  for (size_t i = r->first; i < r->end; i++) {
    const wk_node *n = wk_nod(x->g, (wk_node_id)i);
    const int64_t width = width_of(x, n->out[0]);
    const int64_t most = x->machine->scratchpad / (sums_channels(x, n) ? SUMS_PART : BLOCK_PART);
    while (room_of(x, n, pieces) > most && pieces * LEAST_WIDTH < width) pieces++;
  }
  for (r->pieces = pieces; r->pieces > 1 && !is_worth(x, r);) r->pieces--;
}

typedef WK_VEC(region) regions;

/* Nodes [first, end), all of them local, as regions. */
static void add_regions(const cutting *x, size_t first, size_t end, regions *out) {
  int64_t *bytes = crossing(x, first, end);
  for (size_t i = first, from = first; i < end; i++) {
    const int64_t here = bytes[i - first];
    bool is_least = i + 1 == end || (here <= bytes[i + 1 - first] &&
                                     (i == from || here <= bytes[i - 1 - first]) && i > from);
    if (!is_least) continue;
    region r = {.first = from, .end = i + 1};
    choose_pieces(x, &r);
    if (r.pieces > 1 && is_asked_for(x, &r)) wk_vec_push(out, r);
    from = i + 1;
  }
  free(bytes);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static wk_status add_slice(cutting *x, const wk_node *like, wk_value_id v, range of, range want,
                           wk_value_id *out) {
  const wk_type t = wk_val(x->g, v)->type;
  int64_t starts[4] = {0}, sizes[4], steps[4] = {1, 1, 1, 1};
  wk_arena *arena = x->g->module->arena;
  *out = v;
  if (of.from == want.from && of.to == want.to) return NULL;
  memcpy(sizes, t.dims, sizeof sizes);
  starts[3] = want.from - of.from, sizes[3] = want.to - want.from;
  wk_attr_slice *a = wk_attrs_new(arena, WK_OP_SLICE);
  a->starts = wk_ints_dup(arena, starts, 4);
  a->sizes = wk_ints_dup(arena, sizes, 4);
  a->steps = wk_ints_dup(arena, steps, 4);
  return wk_add_like(x->g, like, WK_OP_SLICE, a, &v, 1, out);
}

static void set_pads(wk_arena *arena, wk_ints *pads, const int64_t columns[2]) {
  const int64_t all[4] = {pads->v[0], columns[0], pads->v[2], columns[1]};
  *pads = wk_ints_dup(arena, all, 4);
}

/* Columns y of a node's result; made: what the piece has of the region's values. */
static wk_status add_piece(cutting *x, const region *r, size_t i, const range *of,
                           const wk_value_id *made, wk_value_id *out) {
  const wk_node n = *wk_nod(x->g, (wk_node_id)i);
  wk_arena *arena = x->g->module->arena;
  void *attrs = wk_attrs_clone(arena, n.op, n.attrs);
  wk_value_id *in = wk_arena_memdup(x->c->scratch, n.in, n.n_in * sizeof *in);
  for (uint32_t k = 0; k < n.n_in; k++) {
    int64_t pads[2];
    if (!has_columns(x, &n, k)) continue;
    const range want = needed(x, &n, k, of[i - r->first], pads);
    const bool is_here = is_inside(x, r, in[k]);
    const size_t by = is_here ? wk_val(x->g, in[k])->node - r->first : 0;
    const range has = is_here ? of[by] : (range){0, width_of(x, in[k])};
    if (n.op == WK_OP_CONV) set_pads(arena, &((wk_attr_conv *)attrs)->pads, pads);
    if (n.op == WK_OP_MAX_POOL) set_pads(arena, &((wk_attr_max_pool *)attrs)->pads, pads);
    WK_TRY(add_slice(x, &n, is_here ? made[by] : in[k], has, want, &in[k]));
  }
  return wk_add_like(x->g, &n, n.op, attrs, in, n.n_in, out);
}

/* The pieces of a result, in the order of their columns, are the result. */
static wk_status join_pieces(cutting *x, const region *r, size_t i, const wk_value_id *pieces) {
  const wk_node n = *wk_nod(x->g, (wk_node_id)i);
  wk_attr_concat *a = wk_attrs_new(x->g->module->arena, WK_OP_CONCAT);
  wk_value_id y;
  a->axis = 3;
  WK_TRY(wk_add_like(x->g, &n, WK_OP_CONCAT, a, pieces, (uint32_t)r->pieces, &y));
  wk_graph_replace(x->g, n.out[0], y);
  return NULL;
}

/* Of each piece how many columns of the result are its own, and are no other's. */
static void count_columns(cutting *x, const region *r, size_t i, int64_t k, wk_value_id piece) {
  const int64_t width = width_of(x, wk_nod(x->g, (wk_node_id)i)->out[0]);
  const range own = piece_of(width, r->pieces, k);
  wk_def(x->g, piece)->counted.own = (uint32_t)(own.to - own.from);
  wk_def(x->g, piece)->counted.all = (uint32_t)width;
}

static wk_status cut_region(cutting *x, const region *r) {
  const size_t n = r->end - r->first, pieces = (size_t)r->pieces;
  range *of = wk_arena_alloc(x->c->scratch, n * sizeof *of);
  wk_value_id *made = wk_arena_alloc(x->c->scratch, n * sizeof *made);
  wk_value_id *results = wk_arena_alloc(x->c->scratch, n * pieces * sizeof *results);
  for (int64_t k = 0; k < r->pieces; k++) {
    memset(of, 0, n * sizeof *of);
    int64_t read;
    (void)find_ranges(x, r, k, of, &read);
    for (size_t i = 0; i < n; i++) {
      const wk_node old = *wk_nod(x->g, (wk_node_id)(r->first + i));
      WK_TRY(add_piece(x, r, r->first + i, of, made, &made[i]));
      count_columns(x, r, r->first + i, k, made[i]);
      if (is_result(x, r, old.out[0]))
        WK_TRY(add_slice(x, &old, made[i], of[i], piece_of(width_of(x, old.out[0]), r->pieces, k),
                         &results[i * pieces + (size_t)k]));
    }
  }
  x->c->changes += r->pieces;
  for (size_t i = 0; i < n; i++)
    if (is_result(x, r, wk_nod(x->g, (wk_node_id)(r->first + i))->out[0]))
      WK_TRY(join_pieces(x, r, r->first + i, &results[i * pieces]));
  for (size_t i = r->end; i-- > r->first;) wk_node_remove(x->g, (wk_node_id)i);
  return NULL;
}

static wk_status cut_graph(wk_graph *g, wk_pass_ctx *c, bool needs_room) {
  WK_TRY(wk_graph_normalise(g));
  cutting x = {.g = g, .c = c, .machine = c->data, .needs_room = needs_room,
               .uses = wk_graph_uses(g, c->scratch)};
  const size_t n = g->nodes.n;
  regions all = {0};
  for (size_t i = 0, end; i < n; i = end) {
    for (end = i; end < n && is_local(&x, wk_nod(g, (wk_node_id)end));) end++;
    if (end > i) add_regions(&x, i, end, &all);
    else end++;
  }
  wk_status s = NULL;
  for (size_t i = 0; i < all.n && !s; i++) s = cut_region(&x, &all.data[i]);
  wk_vec_free(&all);
  return s;
}

wk_status wk_accel_make_room(wk_graph *g, wk_pass_ctx *c) { return cut_graph(g, c, true); }
wk_status wk_accel_part_width(wk_graph *g, wk_pass_ctx *c) { return cut_graph(g, c, false); }
