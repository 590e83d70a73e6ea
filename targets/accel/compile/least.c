/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/least.h"

#include <stdlib.h>

#include "targets/accel/compile/cuts.h"
#include "targets/accel/compile/taps.h"
#include "targets/accel/compile/views.h"
#include "targets/accel/isa/duration.h"

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- ex -------------------------------------------------------------------------------------- */

/* A tile of so many lines, and the words that go through it. It is fetched anew for as many pixels
 * as there are accumulators. */
static int64_t tile(const wk_accel_net *net, int64_t lines, int64_t words, int64_t pixels) {
  int64_t times = wk_ceil_div(pixels, wk_machine_entries(net->machine));
  return most(words, times * (lines + WK_COST_ex_tile));
}

static int64_t pixels_of(const wk_accel_op *op) { return op->out.o * op->out.h * op->out.w; }

static int64_t array_of_conv(const wk_accel_net *net, const wk_accel_op *op) {
  int64_t pixels = pixels_of(op), tiles = op->kc * op->ky * (op->is_packed ? 1 : op->kx), sum = 0;
  for (size_t i = 0; i < op->n_pieces; i++)
    sum += tiles * tile(net, op->pieces[i].n, pixels, pixels);
  return sum;
}

static int64_t array_of_product(const wk_accel_net *net, const wk_accel_op *op) {
  int64_t apart = op->b.so ? op->out.o : 1, pixels = pixels_of(op) / apart, sum = 0;
  for (size_t i = 0; i < op->n_pieces; i++) {
    int64_t n = op->pieces[i].n, lines = op->is_transposed ? net->n : n;
    int64_t last = op->is_transposed ? op->k_tail : n;
    sum += (op->kc - 1) * tile(net, lines, pixels, pixels) + tile(net, last, pixels, pixels);
  }
  return apart * sum;
}

enum { TAPS = 3 };

/* A kernel's taps side by side, for results in lines of `nx` with a stride. */
typedef struct {
  int64_t taps, nx, stride, pad, lines; /* lines of results */
} side;

/* All passes of a kernel row, three taps at a time where that is less and can be. */
static int64_t passes(const wk_accel_net *net, const side *s, bool can_three) {
  int64_t sum = 0, pixels = s->lines * s->nx;
  for (int64_t at = 0; at < s->taps; at += TAPS) {
    int64_t lead = least(2, most(0, s->pad - at)), n = least(TAPS, s->taps - at);
    int64_t each = n * tile(net, 1, pixels, pixels);
    int64_t words = s->lines * (s->stride * (s->nx - 1) + TAPS - lead);
    sum += can_three ? least(each, tile(net, TAPS, words, pixels)) : each;
  }
  return sum;
}

/* Of a piece: rows may lie as columns do. */
static int64_t array_of_depthwise(const wk_accel_net *net, const wk_accel_op *op) {
  const side x = {op->kx, op->out.w, op->sx, op->pad_l, op->out.o * op->out.h};
  const side y = {op->ky, op->out.h, op->sy, op->pad_t, op->out.o * op->out.w};
  int64_t along = op->ky * passes(net, &x, op->dx == 1 && op->sx <= 2);
  int64_t down = op->kx * passes(net, &y, op->dy == 1 && op->sy <= 2);
  return (int64_t)op->n_pieces * least(along, down);
}

static int64_t array_of_all(const wk_accel_net *net, const wk_accel_op *op) {
  if (op->kind == WK_ACCEL_CONV) return array_of_conv(net, op);
  return op->kind == WK_ACCEL_DWC ? array_of_depthwise(net, op) : array_of_product(net, op);
}

/* The share of a piece of an image's width in what the whole takes. */
static int64_t share_of(const wk_accel_op *op, int64_t whole) {
  return op->all ? whole * op->own / op->all : whole;
}

/* The layer that an operator computes a piece of the width of, with as much padding as may be. */
static wk_accel_op whole_of(const wk_accel_op *op) {
  wk_accel_op y = *op;
  if (op->all) y.out.w = op->all, y.pad_l = TAPS;
  return y;
}

static int64_t array_of(const wk_accel_net *net, const wk_accel_op *op) {
  const wk_accel_op whole = whole_of(op);
  return share_of(op, array_of_all(net, &whole));
}

/* The lines of the next layer's first tile come behind the words of a layer's last one, which may
 * be fewer than its own lines. */
static int64_t behind_last(const wk_accel_net *net, const wk_accel_op *op) {
  int64_t lines = op->kind == WK_ACCEL_DWC ? TAPS : net->n;
  int64_t apart = op->kind == WK_ACCEL_MM && op->b.so ? op->out.o : 1;
  int64_t last = (pixels_of(op) / apart - 1) % wk_machine_entries(net->machine) + 1;
  return most(0, lines + WK_COST_ex_tile - last);
}

static int64_t drain_of(const wk_accel_op *op) {
  const wk_accel_op whole = whole_of(op);
  bool has_residual = op->kind != WK_ACCEL_MM && op->b.tensor >= 0;
  return share_of(op, (int64_t)op->n_pieces * pixels_of(&whole) * (has_residual ? 2 : 1));
}

/* ---- ve -------------------------------------------------------------------------------------- */

#define PUT(c, C, field, value) ((c)->v[WK_##C##_##field] = (value))

/* Words of a second operand, those that repeat once. */
static int64_t distinct_words(const wk_accel_op *op) {
  const wk_accel_view *b = &op->b;
  int64_t blocks = b->c == 1 ? 1 : (int64_t)op->n_pieces;
  return blocks * (b->so ? op->out.o : 1) * (b->sy ? op->out.h : 1) * (b->sx ? op->out.w : 1);
}

static int64_t vector_of_map(const wk_accel_net *net, const wk_accel_op *op) {
  wk_isa_command c = net->defaults[WK_CMD_MAP];
  int64_t words = (int64_t)op->n_pieces * pixels_of(op);
  int64_t lines = op->b.tensor >= 0 ? distinct_words(op) : 1;
  if (op->fn == WK_CHOICE_MAP_move) return 0;
  PUT(&c, MAP, fn, op->fn);
  PUT(&c, MAP, n0, words / lines);
  PUT(&c, MAP, n1, lines);
  PUT(&c, MAP, b0, 0);
  return (int64_t)wk_isa_duration(net->machine, &c);
}

/* But for copies, which a result that lies elsewhere would save. */
static int64_t vector_of_pick(const wk_accel_net *net, const wk_accel_op *op) {
  int64_t sum = 0;
  for (size_t i = 0; i < op->n_picks; i++) {
    const wk_accel_pick *p = &op->picks[i];
    wk_isa_command c = net->defaults[WK_CMD_MAP];
    PUT(&c, MAP, fn, p->fn);
    PUT(&c, MAP, n0, op->out.o * p->nx * p->ny * wk_ceil_div(p->nc, net->n));
    if (p->fn != WK_CHOICE_MAP_move) sum += (int64_t)wk_isa_duration(net->machine, &c);
  }
  return sum;
}

static int64_t vector_of_pool(const wk_accel_net *net, const wk_accel_op *op) {
  wk_isa_command c = net->defaults[WK_CMD_POOL];
  PUT(&c, POOL, fn, op->fn);
  PUT(&c, POOL, ny, op->out.o * op->out.h);
  PUT(&c, POOL, nx, op->out.w);
  PUT(&c, POOL, ky, op->ky);
  PUT(&c, POOL, kx, op->kx);
  return (int64_t)op->n_pieces * (int64_t)wk_isa_duration(net->machine, &c);
}

static int64_t vector_of_row(const wk_accel_net *net, const wk_accel_op *op) {
  wk_isa_command c = net->defaults[WK_CMD_ROW];
  PUT(&c, ROW, fn, op->fn);
  PUT(&c, ROW, ny, op->out.o * op->out.h);
  PUT(&c, ROW, kc, op->kc);
  PUT(&c, ROW, k_tail, op->k_tail);
  return (int64_t)wk_isa_duration(net->machine, &c);
}

static int64_t vector_of_all(const wk_accel_net *net, const wk_accel_op *op) {
  if (op->kind == WK_ACCEL_MAP) return vector_of_map(net, op);
  if (op->kind == WK_ACCEL_PICK) return vector_of_pick(net, op);
  if (op->kind == WK_ACCEL_TURN) return 0; /* but for copies, as above */
  return op->kind == WK_ACCEL_POOL ? vector_of_pool(net, op) : vector_of_row(net, op);
}

static int64_t vector_of(const wk_accel_net *net, const wk_accel_op *op) {
  const wk_accel_op whole = whole_of(op);
  return share_of(op, vector_of_all(net, &whole));
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Weights as the model has them, and a record's entry for each channel of the result; of others
 * what they have. */
static int64_t weights_of(const wk_accel_op *op) {
  int64_t taps = op->ky * op->kx * op->out.c, each = op->kind == WK_ACCEL_DWC ? 1 : op->a.c;
  if (op->one_const) return op->const_bytes;
  const wk_accel_op whole = whole_of(op);
  int64_t pixels = share_of(op, pixels_of(&whole));
  int64_t weights = least(taps * each, wk_ceil_div(op->macs, pixels));
  return weights + WK_RECORD_BYTES + op->out.c * WK_ENTRY_BYTES;
}

/* The same constants are there once. */
static bool is_known(const wk_accel_net *net, size_t op, const uint64_t *hashes) {
  size_t i = 0;
  while (i < op && (hashes[i] != hashes[op] ||
                    wk_accel_const_bytes(&net->whole.data[i]) !=
                        wk_accel_const_bytes(&net->whole.data[op])))
    i++;
  return i < op;
}

/* Of each of the whole operators, helpers apart: none before it has the same constants. */
static void find_constants(const wk_accel_net *net, bool *is_first) {
  uint64_t *hashes = wk_xcalloc(net->whole.n + 1, sizeof *hashes);
  for (size_t i = 0; i < net->whole.n; i++) {
    const wk_accel_op *op = &net->whole.data[i];
    is_first[i] = !op->is_helper && op->consts;
    if (!is_first[i]) continue;
    hashes[i] = wk_hash64(op->consts, (size_t)wk_accel_const_bytes(op), 0);
    is_first[i] = !is_known(net, i, hashes);
  }
  free(hashes);
}

static void add_weights(const wk_accel_net *net, const bool *is_first, wk_accel_least *out) {
  for (size_t i = 0; i < net->whole.n; i++) {
    const wk_accel_op *op = &net->whole.data[i];
    if (is_first[i]) out[op->layer].weights += (uint64_t)weights_of(op);
  }
}

/* Elements that windows read. */
static int64_t touched(const wk_accel_taps *x) {
  int64_t sum = 0;
  for (int64_t i = 0; i < x->in; i++) sum += wk_accel_taps_on(x, i) > 0;
  return sum;
}

static int64_t pixels_picked(const wk_accel_op *op) {
  bool *is_read = wk_xcalloc((size_t)(op->a.h * op->a.w), sizeof *is_read);
  int64_t sum = 0;
  for (size_t i = 0; i < op->n_picks; i++) {
    const wk_accel_pick *p = &op->picks[i];
    for (int64_t q = 0; q < p->ny * p->nx; q++)
      for (int k = 0; k < 2; k++) {
        bool *x = &is_read[(p->from_y[k] + q / p->nx * p->step_y) * op->a.w + p->from_x[k] +
                           q % p->nx * p->step_x];
        sum += !*x;
        *x = true;
      }
  }
  free(is_read);
  return sum;
}

/* Pixels of an operand's plane that an operator reads: what is broadcast once. */
static int64_t pixels_read(const wk_accel_op *op, const wk_accel_view *x) {
  if (op->kind == WK_ACCEL_PICK) return pixels_picked(op);
  int64_t rows = x->h == 1 || x->sy ? x->h : 1, columns = x->w == 1 || x->sx ? x->w : 1;
  bool has_window = x == &op->a && !op->is_flat && (op->kind == WK_ACCEL_CONV ||
                    op->kind == WK_ACCEL_DWC || op->kind == WK_ACCEL_POOL);
  if (!has_window) return rows * columns;
  wk_accel_taps down = wk_accel_taps_of_rows(op), along = wk_accel_taps_of_columns(op);
  down.in = rows, along.in = columns;
  return touched(&down) * touched(&along);
}

/* Of a tensor in memory: the most that one of its readers touches, of each plane and of all. */
typedef struct {
  int64_t *planes, all;
} touches;

static void touch(const wk_accel_net *net, const wk_accel_op *op, const wk_accel_view *x,
                  touches *out) {
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  int64_t plane = t->rows * t->row, n = t->is_dense ? x->c : net->n, pixels = pixels_read(op, x);
  int64_t first = t->is_dense ? 0 : x->first;
  out->all = most(out->all, (x->o == 1 || x->so ? x->o : 1) * x->c * pixels);
  if (!wk_accel_is_picture(t, x) || x->so < 0 || x->sb < 0) return;
  for (int64_t o = 0; o < x->o; o++)
    for (int64_t c = 0, lanes; c < x->c; c += lanes) {
      int64_t *p = &out->planes[(x->offset + o * x->so + (first + c) / n * x->sb) / plane];
      lanes = least(n - (first + c) % n, x->c - c);
      *p = most(*p, lanes * pixels);
    }
}

static bool is_read_from_memory(const wk_accel_net *net, const wk_accel_tensor *t) {
  return t->segment == WK_SEGMENT_CONST || (t->segment >= WK_SEGMENT_IO &&
         (size_t)(t->segment - WK_SEGMENT_IO) < net->n_inputs);
}

static void add_input(const wk_accel_net *net, int t, wk_accel_least *out) {
  const wk_accel_tensor *x = &net->tensors.data[t];
  touches y = {.planes = wk_xcalloc((size_t)x->planes, sizeof *y.planes)};
  const wk_accel_op *first = NULL;
  int64_t bytes = 0, readers = 0;
  for (size_t i = 0; i < net->whole.n; i++) {
    const wk_accel_op *op = &net->whole.data[i];
    if (op->is_helper || (op->a.tensor != t && op->b.tensor != t)) continue;
    if (op->a.tensor == t) touch(net, op, &op->a, &y);
    if (op->b.tensor == t) touch(net, op, &op->b, &y);
    if (!readers++) first = op;
  }
  for (int64_t p = 0; p < x->planes; p++) bytes += y.planes[p];
  free(y.planes);
  if (!first) return;
  wk_accel_least *l = &out[first->layer];
  bool is_weight = x->segment == WK_SEGMENT_CONST && readers == 1;
  *(is_weight ? &l->weights : &l->in) += (uint64_t)most(bytes, y.all);
}

static void add_result(const wk_accel_net *net, const wk_accel_op *op, wk_accel_least *out) {
  const wk_accel_tensor *t = &net->tensors.data[op->out.tensor];
  if (t->segment >= WK_SEGMENT_IO)
    out[op->layer].out += (uint64_t)(pixels_of(op) * op->out.c);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void add_sums(const wk_accel_net *net, wk_accel_least *out) {
  int64_t *behind = wk_xcalloc(net->layers.n + 1, sizeof *behind);
  for (size_t i = 0; i < net->whole.n; i++) {
    const wk_accel_op *op = &net->whole.data[i];
    if (op->is_helper || !wk_accel_is_sum(op)) continue;
    out[op->layer].ex += (uint64_t)array_of(net, op);
    out[op->layer].drain += (uint64_t)drain_of(op);
    behind[op->layer] = most(behind[op->layer], behind_last(net, op));
  }
  for (size_t i = 0; i < net->layers.n; i++)
    out[i].ex -= (uint64_t)least(behind[i], (int64_t)out[i].ex);
  free(behind);
}

void wk_accel_least_of(const wk_accel_net *net, wk_accel_least *out, wk_accel_cuts *cuts) {
  bool *is_first = wk_xcalloc(net->whole.n + 1, sizeof *is_first);
  find_constants(net, is_first);
  wk_accel_cuts_of(net, is_first, cuts);
  for (size_t i = 0; i < net->layers.n; i++) out[i] = (wk_accel_least){0};
  add_weights(net, is_first, out);
  free(is_first);
  add_sums(net, out);
  for (size_t t = 0; t < net->tensors.n; t++)
    if (is_read_from_memory(net, &net->tensors.data[t])) add_input(net, (int)t, out);
  for (size_t i = 0; i < net->whole.n; i++) {
    const wk_accel_op *op = &net->whole.data[i];
    if (op->is_helper) continue;
    add_result(net, op, out);
    if (!wk_accel_is_sum(op)) out[op->layer].ve += (uint64_t)vector_of(net, op);
  }
}
