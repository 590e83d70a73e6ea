/* SPDX-License-Identifier: Apache-2.0
 * For each operator u, what every later result's element covers of u's result: a product of
 * channels, rows and columns. An axis that is not covered whole is known to be when all elements
 * along it are taken together; of rows and columns of images, where nothing but windows lies
 * between, how far they reach is known as well. */
#include "targets/accel/compile/cuts.h"

#include <stdlib.h>

#include "targets/accel/compile/taps.h"

/* Along an axis: element i of n covers elements [s * i - lo, s * i + hi] of u's `all`, as far as
 * these exist (SPAN); all elements together cover all (TOGETHER, and SPAN); each does (EACH). */
typedef enum { NOTHING, TOGETHER, SPAN, EACH } reach;
typedef struct {
  reach reach;
  int64_t s, lo, hi, all;
} axis;

typedef struct {
  axis c, y, x; /* NOTHING: all of them */
} cover;

static const cover nothing;

enum { NOBODY = -1 };

typedef struct {
  const wk_accel_net *net;
  size_t n, n_layers;
  int *last, *before; /* who writes a tensor last; of an operator: who writes there before */
  cover *made;         /* by operators, of the one in hand */
  bool *has_work;      /* of layers */
  /* n_layers x n_layers: when the second one has ended, the first one has not begun, has yet to
   * use all its weights, or has ended */
  bool *behind, *late, *ended;
} finding;

static bool is_all(const cover *x) {
  return x->c.reach == EACH && x->y.reach == EACH && x->x.reach == EACH;
}

static int rank_of(const cover *x) {
  return (int)x->c.reach + (int)x->y.reach + (int)x->x.reach;
}

static cover better(cover a, cover b) { return rank_of(&b) > rank_of(&a) ? b : a; }

/* What holds of elements of either. */
static axis common_axis(axis a, axis b) {
  if (a.reach > b.reach) return common_axis(b, a);
  if (a.reach != SPAN) return a;
  if (b.reach == EACH) return a;
  if (a.s != b.s) return (axis){.reach = TOGETHER};
  a.lo = a.lo < b.lo ? a.lo : b.lo, a.hi = a.hi < b.hi ? a.hi : b.hi;
  return a;
}

static cover common(cover a, cover b) {
  if (!rank_of(&a) || !rank_of(&b)) return nothing;
  return (cover){common_axis(a.c, b.c), common_axis(a.y, b.y), common_axis(a.x, b.x)};
}

/* ---- windows --------------------------------------------------------------------------------- */

typedef wk_accel_taps window;

static int64_t tap(const window *w, int64_t i, int64_t k) {
  return i * w->stride - w->pad + k * w->dilation;
}

/* Each result has an element in its window. */
static bool has_elements(const window *w) {
  for (int64_t i = 0; i < w->out; i++) {
    bool has = false;
    for (int64_t k = 0; k < w->taps && !has; k++) has = tap(w, i, k) >= 0 && tap(w, i, k) < w->in;
    if (!has) return false;
  }
  return true;
}

/* Of an element that fewest taps read. */
static int64_t least_taps(const window *w) {
  int64_t least = w->taps;
  for (int64_t at = 0; at < w->in && least; at++) {
    int64_t n = wk_accel_taps_on(w, at);
    if (n < least) least = n;
  }
  return least;
}

/* Each window is all there is. */
static bool is_whole(const window *w) {
  return w->dilation == 1 && tap(w, w->out - 1, 0) <= 0 && tap(w, 0, w->taps - 1) >= w->in - 1;
}

static bool reaches_all(const axis *a, int64_t n) {
  return a->hi >= a->all - 1 && a->s * (n - 1) - a->lo <= 0;
}

/* Where windows of rows that lie side by side leave no gap, and the last row reaches the end. */
static axis grown(const axis *a, const window *w) {
  axis y = {SPAN, a->s * w->stride, a->lo + a->s * w->pad,
            a->hi + a->s * (w->taps - 1 - w->pad), a->all};
  bool is_close = w->dilation == 1 && w->pad >= 0 && a->lo + a->hi + 1 >= a->s &&
                  a->s * (w->in - 1) + a->hi >= a->all - 1;
  if (!is_close) return (axis){.reach = TOGETHER};
  return reaches_all(&y, w->out) ? (axis){.reach = EACH} : y;
}

/* Of windows that have elements, each. */
static axis through(axis a, const window *w) {
  if (a.reach == EACH || is_whole(w)) return (axis){.reach = EACH};
  if (!least_taps(w)) return (axis){0};
  return a.reach == SPAN ? grown(&a, w) : a;
}

/* ---- operands -------------------------------------------------------------------------------- */

static bool are_same_rows(const wk_accel_view *a, const wk_accel_view *b) {
  return a->o == 1 && b->o == 1 && a->h == b->h && a->w == b->w && a->sy == b->sy &&
         a->sx == b->sx;
}

/* The same pixels, and all of y's channels. */
static bool holds_channels(int n, const wk_accel_view *x, const wk_accel_view *y) {
  int64_t d = y->offset - x->offset, blocks = x->sb ? d / x->sb : 0;
  int64_t from = blocks * n + y->first;
  return are_same_rows(x, y) && d == blocks * x->sb && from >= x->first &&
         from + y->c <= x->first + x->c && (x->sb == y->sb || y->first + y->c <= n);
}

/* All of y is among what is read of its tensor, which is all of that. */
static bool reads_all(const wk_accel_net *net, const wk_accel_view *x, const wk_accel_view *y) {
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  const int n = net->n;
  int64_t blocks = wk_ceil_div(x->c, n), tail = x->c % n;
  bool goes_on = x->w == 1 || x->sx > 0, has_rows = x->h == 1 || x->sy > 0;
  bool are_apart = x->h == 1 || x->w == 1 || x->sy >= x->w * x->sx;
  return !t->is_dense && wk_accel_is_picture(t, x) && goes_on && has_rows && are_apart &&
         (blocks == 1 || x->sb > 0) && x->o == 1 && !x->first &&
         (!tail || (y->first + y->c) % n == tail) && blocks * x->h * x->w * n == t->bytes;
}

static axis loosened(axis a) {
  return a.reach == SPAN ? (axis){.reach = TOGETHER} : a;
}

/* What one writer left, as a reader of view x sees it: of parts of channels, or of parts along one
 * axis. */
static cover seen(const wk_accel_net *net, const wk_accel_view *x, const wk_accel_view *y,
                  cover left) {
  if (is_all(&left) || holds_channels(net->n, x, y)) return left;
  bool same_channels = x->c == y->c && x->first == y->first && x->sb == y->sb && y->o == 1;
  bool same_rows = x->h == y->h && x->sy == y->sy, same_columns = x->w == y->w && x->sx == y->sx;
  bool are_parts = same_channels && ((same_rows && y->w < x->w) || (same_columns && y->h < x->h));
  if (!are_parts || !reads_all(net, x, y)) return nothing;
  return (cover){left.c, loosened(left.y), loosened(left.x)};
}

/* One element along an axis is all of it. */
static axis alone(axis a, int64_t n) {
  return a.reach && n == 1 ? (axis){.reach = EACH} : a;
}

/* Of each element of view x. */
static cover read(const finding *f, size_t reader, const wk_accel_view *x) {
  const wk_accel_op *ops = f->net->whole.data;
  cover all = nothing;
  if (x->tensor < 0) return nothing;
  int first = f->last[x->tensor];
  while (first >= (int)reader) first = f->before[first];
  for (int i = first; i != NOBODY && (i == first || rank_of(&all)); i = f->before[i]) {
    cover c = seen(f->net, x, &ops[i].out, f->made[i]);
    all = i == first ? c : common(all, c);
  }
  if (!rank_of(&all) || is_all(&all) || x->o != 1) return is_all(&all) ? all : nothing;
  return (cover){alone(all.c, x->c), alone(all.y, x->h), alone(all.x, x->w)};
}

/* Of all channels of a pixel of view x together: those of one writer may be enough. all: of
 * each. */
static cover read_sums(const finding *f, size_t reader, const wk_accel_view *x, cover all) {
  const wk_accel_op *ops = f->net->whole.data;
  const axis each = {.reach = EACH};
  if (rank_of(&all)) all.c = each;
  for (int i = f->last[x->tensor]; i != NOBODY && !is_all(&all); i = f->before[i]) {
    if (i >= (int)reader || !holds_channels(f->net->n, x, &ops[i].out)) continue;
    cover c = f->made[i];
    if (rank_of(&c)) all = better(all, (cover){each, alone(c.y, x->h), alone(c.x, x->w)});
  }
  return all;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* Elements of the result are those of the operand. */
static cover along(const wk_accel_op *op, const wk_accel_view *x, cover c) {
  if (is_all(&c)) return c;
  bool fits = x->o == 1 && op->out.o == 1 && (x->h == op->out.h || x->h == 1) &&
              (x->w == op->out.w || x->w == 1) &&
              (x->c == op->out.c || c.c.reach == EACH);
  return fits ? c : nothing;
}

/* Rows and columns of windows; of a result that padding alone is read for, nothing. */
static cover through_windows(const wk_accel_op *op, cover x) {
  const axis each = {.reach = EACH};
  const window rows = wk_accel_taps_of_rows(op), columns = wk_accel_taps_of_columns(op);
  if (!rank_of(&x) || op->is_line) return nothing;
  if (op->is_flat) return is_all(&x) || op->out.h == 1 ? (cover){each, each, each} : nothing;
  if (!has_elements(&rows) || !has_elements(&columns)) return nothing;
  if (is_all(&x)) return x;
  x.y = through(x.y, &rows), x.x = through(x.x, &columns);
  return op->a.o == 1 && op->out.o == 1 && x.y.reach && x.x.reach ? x : nothing;
}

static bool is_one_of(wk_accel_kind kind, unsigned kinds) { return kinds >> kind & 1; }
enum {
  SUMS = 1 << WK_ACCEL_CONV | 1 << WK_ACCEL_MM | 1 << WK_ACCEL_ROW, /* of channels */
  WINDOWS = 1 << WK_ACCEL_CONV | 1 << WK_ACCEL_DWC | 1 << WK_ACCEL_POOL,
  PAIRS = 1 << WK_ACCEL_CONV | 1 << WK_ACCEL_DWC | 1 << WK_ACCEL_MAP /* b: element by element */
};

/* Of each element of the result of operator i, from those of its operands. */
static cover make(const finding *f, size_t i, cover a, cover b) {
  const wk_accel_op *op = &f->net->whole.data[i];
  bool is_elementwise = is_one_of(op->kind, SUMS) || op->kind == WK_ACCEL_MAP;
  b = is_one_of(op->kind, PAIRS) ? along(op, &op->b, b) : is_all(&b) ? b : nothing;
  if (is_one_of(op->kind, SUMS)) a = read_sums(f, i, &op->a, a);
  if (is_one_of(op->kind, WINDOWS)) a = through_windows(op, a);
  else if (is_elementwise) a = along(op, &op->a, a);
  else if (!is_all(&a)) a = nothing;
  return better(a, b);
}

static cover itself(const wk_accel_op *op) {
  const wk_accel_view *x = &op->out;
  if (x->o != 1) return nothing;
  return (cover){alone((axis){.reach = TOGETHER}, x->c),
                 alone((axis){SPAN, 1, 0, 0, x->h}, x->h),
                 alone((axis){SPAN, 1, 0, 0, x->w}, x->w)};
}

/* All work of operator i reads what depends on all of u: not the residual, which is added behind
 * the multiplications; nor padding, which may be multiplied before. */
static bool works_behind(const wk_accel_op *op, cover a, cover b) {
  bool has_residual = op->kind == WK_ACCEL_CONV || op->kind == WK_ACCEL_DWC;
  return !op->has_window && (is_all(&a) || (!has_residual && is_all(&b)));
}

static bool has_weights(const wk_accel_op *op) {
  return !op->is_helper && op->consts && wk_accel_is_sum(op);
}

static size_t pair(const finding *f, size_t first, size_t second) {
  return first * f->n_layers + second;
}

/* Late weights: whatever is the last of u's elements, there is a pixel of what operator i
 * multiplies of which each channel depends on it. */
static void follow_to(finding *f, size_t u, size_t i) {
  const wk_accel_op *ops = f->net->whole.data;
  const size_t to = pair(f, ops[i].layer, ops[u].layer);
  cover a = nothing, b = nothing;
  if (i > u) a = read(f, i, &ops[i].a), b = read(f, i, &ops[i].b);
  f->made[i] = i < u ? nothing : i == u ? itself(&ops[u]) : make(f, i, a, b);
  if (!ops[i].is_helper && !works_behind(&ops[i], a, b)) f->behind[to] = false;
  if (has_weights(&ops[i]) && a.c.reach != EACH) f->late[to] = false;
}

static void follow(finding *f, size_t u, bool *reached) {
  const wk_accel_op *ops = f->net->whole.data;
  for (size_t i = 0; i < f->n_layers; i++) reached[i] = false;
  for (size_t i = 0; i < f->n; i++) {
    follow_to(f, u, i);
    reached[ops[i].layer] |= i == u || rank_of(&f->made[i]);
  }
  for (size_t l = 0; l < f->n_layers; l++)
    if (!reached[l]) f->ended[pair(f, ops[u].layer, l)] = false;
}

/* What is not known to be otherwise holds. */
static void follow_all(finding *f) {
  const wk_accel_op *ops = f->net->whole.data;
  bool *reached = wk_xcalloc(f->n_layers + 1, sizeof *reached);
  for (size_t i = 0; i < f->net->tensors.n; i++) f->last[i] = NOBODY;
  for (size_t i = 0; i < f->n; i++) {
    f->before[i] = f->last[ops[i].out.tensor];
    f->last[ops[i].out.tensor] = (int)i;
    if (!ops[i].is_helper) f->has_work[ops[i].layer] = true;
  }
  for (size_t k = 0; k < f->n_layers; k++)
    for (size_t l = 0; l < f->n_layers; l++) {
      size_t to = pair(f, k, l);
      f->behind[to] = f->late[to] = f->ended[to] = f->has_work[k] && f->has_work[l];
    }
  for (size_t u = 0; u < f->n; u++) follow(f, u, reached);
  free(reached);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Bytes of weights that one pixel is multiplied by, and of the record that its sums go by. */
static uint64_t weights_of_one(const wk_accel_op *op) {
  const window y = wk_accel_taps_of_rows(op), x = wk_accel_taps_of_columns(op);
  int64_t pixels = op->out.o * op->out.h * (op->all ? op->own : op->out.w);
  int64_t each = (op->kind == WK_ACCEL_DWC ? 1 : op->a.c) * op->out.c;
  int64_t of_model = op->macs / (pixels * op->ky * op->kx); /* not those between groups */
  if (of_model < each) each = of_model;
  if (op->one_const || op->is_packed) return 0; /* few */
  if (op->kind != WK_ACCEL_MM && !op->is_flat) each *= least_taps(&y) * least_taps(&x);
  return (uint64_t)(each ? each + op->out.c * WK_ENTRY_BYTES : 0);
}

/* ---- cuts ------------------------------------------------------------------------------------ */

static size_t count_ended(const finding *f, size_t layer) {
  size_t n = 0;
  for (size_t l = 0; l < f->n_layers; l++) n += f->ended[pair(f, l, layer)];
  return n;
}

/* What has ended by the end of `layer` has by that of `then`. */
static bool is_held(const finding *f, size_t layer, size_t then) {
  for (size_t l = 0; l < f->n_layers; l++)
    if (f->ended[pair(f, l, layer)] && !f->ended[pair(f, l, then)]) return false;
  return true;
}

/* A cut is the end of a layer, by which more have ended than by the one before. */
static void cut_at(const finding *f, size_t layer, uint32_t cut, wk_accel_cuts *out) {
  for (size_t l = 0; l < f->n_layers; l++) {
    if (f->ended[pair(f, l, layer)] && out[l].before == WK_ACCEL_NO_CUT) out[l].before = cut;
    if (f->behind[pair(f, l, layer)]) out[l].after = cut;
    bool is_late = out[l].weights && f->late[pair(f, l, layer)];
    if (f->behind[pair(f, l, layer)] || is_late) out[l].late = cut;
  }
}

static void put_cuts(const finding *f, wk_accel_cuts *out) {
  size_t *sizes = wk_xcalloc(f->n_layers + 1, sizeof *sizes), last = f->n_layers;
  for (size_t l = 0; l < f->n_layers; l++) sizes[l] = count_ended(f, l);
  for (uint32_t cut = 1;; cut++) {
    size_t best = f->n_layers;
    for (size_t l = 0; l < f->n_layers; l++)
      if (f->has_work[l] && (last == f->n_layers || sizes[l] > sizes[last]) &&
          (best == f->n_layers || sizes[l] < sizes[best]) &&
          (last == f->n_layers || is_held(f, last, l)))
        best = l;
    if (best == f->n_layers) break;
    cut_at(f, best, cut, out);
    last = best;
  }
  free(sizes);
}

void wk_accel_cuts_of(const wk_accel_net *net, const bool *is_first, wk_accel_cuts *out) {
  size_t layers = net->layers.n, pairs = layers * layers + 1;
  finding f = {.net = net, .n = net->whole.n, .n_layers = layers};
  f.last = wk_xcalloc(net->tensors.n + 1, sizeof *f.last);
  f.before = wk_xcalloc(f.n + 1, sizeof *f.before);
  f.made = wk_xcalloc(f.n + 1, sizeof *f.made);
  f.has_work = wk_xcalloc(layers + 1, sizeof *f.has_work);
  f.behind = wk_xcalloc(pairs, sizeof *f.behind);
  f.late = wk_xcalloc(pairs, sizeof *f.late);
  f.ended = wk_xcalloc(pairs, sizeof *f.ended);
  follow_all(&f);
  for (size_t l = 0; l < layers; l++) out[l] = (wk_accel_cuts){.before = WK_ACCEL_NO_CUT};
  for (size_t i = 0; i < f.n; i++) {
    const wk_accel_op *op = &net->whole.data[i];
    if (has_weights(op) && is_first[i]) out[op->layer].weights += weights_of_one(op);
  }
  put_cuts(&f, out);
  free(f.last), free(f.before), free(f.made), free(f.has_work);
  free(f.behind), free(f.late), free(f.ended);
}
