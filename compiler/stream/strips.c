/* SPDX-License-Identifier: Apache-2.0
 * Strips of groups: which rows of which tensors are in each, and in which order operators have
 * their turn. */
#include <stdlib.h>
#include <string.h>

#include "compiler/stream/building.h"

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows of the result come some at a time. */
static bool round_up(wk_sched_builder *b, const wk_sched_view *x, int64_t end) {
  int64_t rows[2], *there = &b->strip->tensors[x->tensor].end;
  wk_sched_rows_of(wk_sched_tensor_of(b, x->tensor), x, 0, end, rows);
  if (rows[1] <= *there) return true;
  *there = rows[1];
  return false;
}

/* Rows that the operator computes, and that it asks others for; true: they have these already. */
static bool ask_for_rows(wk_sched_builder *b, int index) {
  const wk_sched_op *op = wk_sched_op_of(b, index);
  wk_sched_op_rows *s = &b->strip->ops[index];
  int t = op->out.tensor;
  s->end = wk_sched_rows_below(wk_sched_tensor_of(b, t), &op->out, b->strip->tensors[t].end);
  bool is_settled = s->end <= s->done || round_up(b, &op->out, s->end);
  for (int k = 0; k < WK_SCHED_OPERANDS && s->end > s->done; k++) {
    const wk_sched_view *v = &op->in[k];
    int64_t rows[2];
    if (v->tensor < 0 || !wk_sched_is_made_here(b, v->tensor)) continue;
    wk_sched_round_rows(b, op, v, s->done, s->end, rows);
    wk_sched_tensor_state *x = &b->strip->tensors[v->tensor];
    if (rows[1] > x->end) x->end = rows[1], is_settled = false;
  }
  return is_settled;
}

/* Of the group's operators those that read the tensor take all of its rows together. */
static bool is_gathered(const wk_sched_builder *b, int t) {
  const wk_sched_group *g = b->base.group;
  for (int i = g->first; i <= g->last; i++)
    for (int k = 0; k < WK_SCHED_OPERANDS; k++)
      if (wk_sched_op_of(b, i)->in[k].tensor == t && !wk_sched_needs_all(b, i, t)) return false;
  return true;
}

/* Rows of a result that nobody asks for one by one: as many in each strip, or, where the operator
 * gathers rows that are made here, as late as can be. */
static int64_t driven_rows(const wk_sched_builder *b, int index, int64_t n, int64_t of) {
  const wk_sched_op *op = wk_sched_op_of(b, index);
  int64_t rows = wk_sched_tensor_of(b, op->out.tensor)->rows * n;
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) {
    int t = op->in[k].tensor;
    if (t >= 0 && wk_sched_is_made_here(b, t) && wk_sched_needs_all(b, index, t))
      return rows / of;
  }
  return wk_ceil_div(rows, of);
}

/* Rows up to n of `of` parts of the results, and those that these need. */
static void find_rows_up_to(wk_sched_builder *b, int64_t n, int64_t of) {
  const wk_sched_group *g = b->base.group;
  for (int i = g->first; i <= g->last; i++) {
    int t = wk_sched_op_of(b, i)->out.tensor;
    wk_sched_tensor_state *x = &b->strip->tensors[t];
    x->end = is_gathered(b, t) || n == of ? driven_rows(b, i, n, of) : 0;
    if (x->end < x->done) x->end = x->done;
  }
  bool is_settled = false;
  while (!is_settled) { /* again where who comes later writes a part of what is read before */
    is_settled = true;
    for (int i = g->last; i >= g->first; i--) is_settled = ask_for_rows(b, i) && is_settled;
  }
}

/* As many parts of the results as need no more rows of the first operator than are its share. */
static int64_t parts_by_first(wk_sched_builder *b, int64_t of) {
  const wk_sched_group *g = b->base.group;
  const wk_sched_op *op = wk_sched_op_of(b, g->first);
  int64_t share = wk_ceil_div(op->out.rows * (b->strip->strip + 1), g->strips), low = 0, high = of;
  while (high - low > 1) {
    int64_t middle = (low + high) / 2;
    find_rows_up_to(b, middle, of);
    if (b->strip->ops[g->first].end <= share) low = middle;
    else high = middle;
  }
  return low;
}

static void find_rows(wk_sched_builder *b) {
  const wk_sched_group *g = b->base.group;
  int64_t n = b->strip->strip + 1, of = g->strips;
  if (g->by_first && n < of) {
    of = 1;
    for (int i = g->first; i <= g->last; i++) {
      int64_t rows = wk_sched_op_of(b, i)->out.rows;
      if (rows > of) of = rows;
    }
    n = parts_by_first(b, of);
  }
  find_rows_up_to(b, n, of);
}

static void join_columns(const wk_sched_builder *b, const wk_sched_view *x) {
  wk_sched_join_columns(wk_sched_tensor_of(b, x->tensor), x,
                        b->strip->tensors[x->tensor].columns);
}

static void join_planes(const wk_sched_builder *b, const wk_sched_op *op, const wk_sched_view *x,
                        int64_t all[2]) {
  int64_t planes[2];
  wk_sched_round_planes(b, op, x, planes);
  if (planes[0] < all[0]) all[0] = planes[0];
  if (planes[1] > all[1]) all[1] = planes[1];
}

static void find_needs(wk_sched_builder *b) {
  const wk_sched_group *g = b->base.group;
  for (int i = g->first; i <= g->last; i++) {
    const wk_sched_op *op = wk_sched_op_of(b, i);
    const wk_sched_op_rows *s = &b->strip->ops[i];
    for (int k = 0; k < WK_SCHED_OPERANDS; k++) {
      const wk_sched_view *v = &op->in[k];
      int64_t rows[2];
      if (v->tensor < 0) continue;
      wk_sched_tensor_state *x = &b->strip->tensors[v->tensor];
      if (s->done < op->out.rows) {
        wk_sched_round_rows(b, op, v, s->done, s->done + 1, rows);
        if (rows[0] < x->keep) x->keep = rows[0];
      }
      if (s->end <= s->done) continue;
      wk_sched_round_rows(b, op, v, s->done, s->end, rows);
      if (rows[0] < x->low) x->low = rows[0];
      if (rows[1] > x->high) x->high = rows[1];
      join_planes(b, op, v, x->read);
    }
  }
}

/* Planes of tensors in the round, and columns. */
static void find_planes(wk_sched_builder *b) {
  const wk_sched_group *g = b->base.group;
  wk_sched_tensor_state *tensors = b->strip->tensors;
  for (int i = g->first; i <= g->last; i++) {
    const wk_sched_op *op = wk_sched_op_of(b, i);
    join_planes(b, op, &op->out, tensors[op->out.tensor].made);
    join_columns(b, &op->out);
    for (int k = 0; k < WK_SCHED_OPERANDS; k++) {
      if (op->in[k].tensor < 0) continue;
      join_planes(b, op, &op->in[k], tensors[op->in[k].tensor].planes);
      join_columns(b, &op->in[k]);
    }
  }
}

/* ---- strips ---------------------------------------------------------------------------------- */

static wk_sched_strip *strip_of(const wk_sched_builder *b, int64_t number) {
  return (wk_sched_strip *)(uintptr_t)&b->strips[number % b->n_strips];
}

wk_sched_place wk_sched_place_before(const wk_sched_builder *b, int tensor) {
  int64_t number = b->number;
  for (;; number--) {
    const wk_sched_tensor_state *x = &strip_of(b, number)->tensors[tensor];
    if (!x->continues) return x->before;
    const wk_sched_tensor_state *last = &strip_of(b, number - 1)->tensors[tensor];
    if (last->place.buffer >= 0) return last->place;
  }
}

/* The strip before this one is dropped, now that all of its operators have had their turn. */
static void drop_before(wk_sched_builder *b, int64_t number) {
  if (number < 1) return;
  b->number = number;
  for (size_t i = 0; i < b->tensors.n; i++) {
    wk_sched_tensor_state *x = &strip_of(b, number)->tensors[b->tensors.data[i]];
    if (!x->continues) continue;
    x->before = wk_sched_place_before(b, b->tensors.data[i]);
    x->continues = false;
  }
}

/* Of the same round what the strip before has made is there, of another one what was read, of the
 * same planes. */
static void begin_tensors(wk_sched_builder *b, const wk_sched_strip *last) {
  wk_sched_strip *x = b->strip;
  bool is_new = !last || last->round != x->round;
  for (size_t i = 0; i < b->tensors.n; i++) {
    int t = b->tensors.data[i];
    wk_sched_tensor_state y = {.place = {.buffer = -1}, .before = {.buffer = -1},
                               .low = INT64_MAX, .keep = INT64_MAX,
                               .planes = {INT64_MAX, 0}, .read = {INT64_MAX, 0},
                               .made = {INT64_MAX, 0}, .columns = {INT64_MAX, 0}};
    if (!is_new) {
      const wk_sched_tensor_state *z = &last->tensors[t];
      memcpy(y.planes, z->planes, sizeof y.planes);
      memcpy(y.made, z->made, sizeof y.made);
      memcpy(y.columns, z->columns, sizeof y.columns);
      y.done = z->end;
      y.continues = true;
    }
    x->tensors[t] = y;
  }
  if (is_new) find_planes(b);
  for (size_t i = 0; i < b->tensors.n && is_new && last; i++) {
    int t = b->tensors.data[i];
    const wk_sched_tensor_state *z = &last->tensors[t];
    wk_sched_tensor_state *y = &x->tensors[t];
    y->continues = y->planes[0] == z->planes[0] && y->planes[1] == z->planes[1] &&
                   !wk_sched_is_made_here(b, t);
  }
}

static void begin_strip(wk_sched_builder *b, int64_t number, int round, int strip) {
  const wk_sched_strip *last = number ? strip_of(b, number - 1) : NULL;
  drop_before(b, number - b->n_strips + 1);
  b->number = number;
  b->strip = strip_of(b, number);
  b->strip->round = round, b->strip->strip = strip;
  begin_tensors(b, last);
  for (int i = b->base.group->first; i <= b->base.group->last; i++)
    b->strip->ops[i] = (wk_sched_op_rows){.done = strip ? last->ops[i].end : 0};
  find_rows(b);
  find_needs(b);
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* Rows of the tensor go along from strip to strip: for all but one reader, row by row. */
static bool may_carry(const wk_sched_net *net, const wk_sched_group *g, int tensor) {
  int readers = 0;
  for (int i = g->first; i <= g->last; i++)
    for (int k = 0; k < WK_SCHED_OPERANDS; k++) {
      const wk_sched_view *v = &net->ops[i].in[k];
      if (v->tensor != tensor) continue;
      if (v->needs || (v->has_window && (v->span > v->stride || v->pad))) return true;
      if (v->is_whole || v->takes_all || v->stack_rows || v->extra) return true;
      if (v->step != 1 || readers++) return true;
    }
  return false;
}

/* Operators before `op` and those from there on write parts of one tensor: what goes along must be
 * there as a whole. */
static bool share_result(const wk_sched_net *net, const wk_sched_group *g, int op) {
  for (int i = g->first; i < op; i++)
    for (int j = op; j <= g->last; j++) {
      int t = net->ops[i].out.tensor;
      if (t == net->ops[j].out.tensor && may_carry(net, g, t)) return true;
    }
  return false;
}

/* Operators of a group fall into stages where an engine would wait for another one that has waited
 * for it. The end of the one that begins with `first`. */
static int stage_end(const wk_sched_net *net, const wk_sched_group *g, int first) {
  unsigned used = 0;
  for (int i = first; i <= g->last; i++) {
    unsigned own = 1u << net->ops[i].queue;
    bool comes_back = i > first && net->ops[i].queue != net->ops[i - 1].queue && used & own;
    if (comes_back && !share_result(net, g, i)) return i;
    used |= own;
  }
  return g->last + 1;
}

int wk_sched_stages(const wk_sched_net *net, const wk_sched_group *g) {
  int n = 0;
  for (int i = g->first; i <= g->last && n < WK_SCHED_STAGES; i = stage_end(net, g, i)) n++;
  return n;
}

/* How many stages run side by side; ends: behind the last operator of each. */
static int find_stages(const wk_sched_net *net, const wk_sched_group *g,
                       int ends[WK_SCHED_STAGES]) {
  int n = g->staggers ? wk_sched_stages(net, g) : 1, first = g->first;
  for (int k = 0; k < n; k++) first = ends[k] = k + 1 < n ? stage_end(net, g, first) : g->last + 1;
  return n;
}

static void look_at_room(wk_sched_builder *b) {
  const wk_sched_machine *m = b->base.net->machine;
  if (b->scratchpad < INT64_MAX && !b->is_too_large)
    b->is_too_large = wk_sched_least_room(m, b->base.steps) > b->scratchpad;
}

/* Operators [first, end) in strip `number`. What does not fit shows in the first two strips, if
 * constants stay that the second one uses again. */
static void run_stage(wk_sched_builder *b, int64_t number, int first, int end) {
  b->number = number;
  b->strip = strip_of(b, number);
  for (int i = first; i < end && !b->is_too_large;) {
    bool has_rows = b->strip->ops[i].end > b->strip->ops[i].done;
    i = has_rows ? wk_sched_compute(b, i, end) : i + 1;
    if (has_rows && number < 2 && b->is_alone) look_at_room(b);
  }
}

static void use_strips(wk_sched_builder *b, int n) {
  b->n_strips = n;
  for (int k = 0; k < n; k++) {
    wk_sched_strip *x = &b->strips[k];
    if (x->ops) continue;
    x->tensors = wk_arena_alloc(b->arena, b->base.net->n_tensors * sizeof *x->tensors);
    x->ops = wk_arena_alloc(b->arena, b->base.net->n_ops * sizeof *x->ops);
  }
}

static void note_tensor(wk_sched_builder *b, int tensor) {
  for (size_t i = 0; i < b->tensors.n; i++)
    if (b->tensors.data[i] == tensor) return;
  if (tensor >= 0) wk_vec_push(&b->tensors, tensor);
}

static void find_tensors(wk_sched_builder *b, const wk_sched_group *g) {
  b->tensors.n = 0;
  for (int i = g->first; i <= g->last; i++) {
    note_tensor(b, wk_sched_op_of(b, i)->out.tensor);
    for (int k = 0; k < WK_SCHED_OPERANDS; k++)
      note_tensor(b, wk_sched_op_of(b, i)->in[k].tensor);
  }
}

/* Steps that are added from now on belong to another group, or to its next round. */
static void begin_steps(wk_sched_builder *b, const wk_sched_group *g, bool is_next) {
  wk_sched_steps *s = b->base.steps;
  s->group = s->groups++;
  wk_vec_push(&s->alone, g->alone && !is_next);
  wk_vec_push(&s->same, 2 * g->first + is_next);
  wk_vec_push(&s->first, g->first);
}

static void begin_group(wk_sched_builder *b, const wk_sched_group *g) {
  begin_steps(b, g, false);
}

/* Rounds [r0, r1) of a group: the strips one after the other, or each stage of a strip behind the
 * stage before of the next strip. */
static void build_group(wk_sched_builder *b, const wk_sched_group *g, int r0, int r1,
                        wk_sched_round_steps *out) {
  int ends[WK_SCHED_STAGES], n = find_stages(b->base.net, g, ends);
  int64_t count = (int64_t)(r1 - r0) * g->strips;
  b->base.group = g;
  use_strips(b, n + 1);
  find_tensors(b, g);
  for (int64_t at = 0; at < count + n - 1 && !b->is_too_large; at++) {
    if (at && at < count && at % g->strips == 0) begin_steps(b, g, true);
    if (at < count) begin_strip(b, at, r0 + (int)(at / g->strips), (int)(at % g->strips));
    for (int k = 0; k < n; k++)
      if (at >= k && at - k < count) run_stage(b, at - k, k ? ends[k - 1] : g->first, ends[k]);
    int64_t done = at - (n - 1) + 1; /* strips */
    const wk_sched_steps *s = b->base.steps;
    for (int k = 0; k < 2; k++)
      if (done == (int64_t)(k + 1) * g->strips)
        out->end[k] = s->list.n, out->bytes[k] = s->loaded + s->stored;
  }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Whoever has the tensor while it stays is among the groups that go round by round together. */
static bool stays_within(const wk_sched_builder *b, const wk_sched_group *g, size_t t) {
  const wk_sched_use *u = &b->uses[t];
  int from = u->first_writer >= 0 ? u->first_writer : u->first_reader;
  return g->rounds > 1 && from >= b->first && from <= b->last &&
         b->plan->resident[t] <= b->last;
}

/* Planes that stay: those of the round, or all. What is read alone is there already if they are
 * those of the round before. */
static void find_residents(wk_sched_builder *b, const wk_sched_group *g, int round) {
  for (size_t t = 0; t < b->base.net->n_tensors; t++) {
    wk_sched_resident_state *y = &b->resident[t];
    bool is_within = stays_within(b, g, t);
    int64_t planes[2] = {0, wk_sched_tensor_of(b, (int)t)->planes};
    if (b->plan->resident[t] < 0 || (y->place.buffer >= 0 && !is_within)) continue;
    if (is_within)
      wk_sched_planes_in(b->base.net, b->first, b->last, (int)t, WK_SCHED_WRITES | WK_SCHED_READS,
                         g->rounds, round, planes);
    bool is_same = planes[0] == y->planes[0] && planes[1] == y->planes[1];
    if (is_within && (b->uses[t].first_writer >= 0 || !is_same)) y->place.buffer = -1;
    memcpy(y->planes, planes, sizeof planes);
  }
}

/* No constants of theirs are in the scratchpad. */
static void forget_consts(wk_sched_builder *b) {
  for (int i = b->first; i <= b->last; i++) {
    size_t n = wk_sched_op_of(b, i)->pieces;
    b->consts[i] = wk_arena_alloc(b->arena, n * sizeof(int));
    for (size_t k = 0; k < n; k++) b->consts[i][k] = -1;
  }
}

static void mark(wk_sched_builder *b, size_t g) {
  if (!b->plan->marks) return;
  wk_sched_steps_compute(b->base.steps, -1, NULL);
  b->base.net->machine->mark(&b->base, g);
}

/* Rounds that are built of those that there are, by the first of the groups: two, and one more
 * where strips overlap, so that the second is like those behind it; all where they are brief. */
static int built_rounds(const wk_sched_builder *b, const wk_sched_group *g) {
  int all = g->rounds < 1 ? 1 : g->rounds, limit = b->plan->limit;
  if (limit > 1 && g->is_brief) return all;
  if (limit > 1 && g->staggers) limit++;
  return limit && all > limit ? limit : all;
}

/* Groups [g, end). */
static void build_together(wk_sched_builder *b, size_t g, size_t end) {
  wk_sched_steps *s = b->base.steps;
  const wk_sched_group *first = &b->plan->groups.data[g];
  int rounds = built_rounds(b, first);
  wk_sched_round_steps x = {.more = b->plan->limit > 1 ? first->rounds - rounds : 0};
  b->first = first->first, b->last = b->plan->groups.data[end - 1].last;
  if (end == g + 1) { /* constants may stay for all rounds, whose strips follow one another */
    forget_consts(b);
    find_residents(b, first, 0);
    begin_group(b, first);
    build_group(b, first, 0, rounds, &x);
    mark(b, g);
  }
  for (int r = 0; r < rounds && end > g + 1; r++) {
    wk_sched_round_steps ignored;
    forget_consts(b);
    find_residents(b, first, r);
    for (size_t i = g; i < end; i++) {
      begin_group(b, &b->plan->groups.data[i]);
      build_group(b, &b->plan->groups.data[i], r, r + 1, &ignored);
      if (r + 1 == rounds) mark(b, i);
    }
    if (r < 2) x.end[r] = s->list.n, x.bytes[r] = s->loaded + s->stored;
  }
  if (x.more > 0) wk_vec_push(&s->rounds, x);
}

size_t wk_sched_together(const wk_sched_plan *p, size_t g) {
  size_t end = g + 1;
  while (end < p->groups.n && p->groups.data[end].follows) end++;
  return end;
}

bool wk_sched_build_within(const wk_sched_net *net, const wk_sched_plan *p,
                           const wk_sched_use *uses, size_t g0, size_t g1, int64_t scratchpad,
                           wk_sched_steps *out) {
  wk_sched_builder b = {.base = {.net = net, .steps = out, .chunk = p->chunk},
                        .plan = p, .uses = uses,
                        .arena = wk_arena_new(), .scratchpad = scratchpad,
                        .is_alone = g1 == g0 + 1};
  b.consts = wk_arena_alloc(b.arena, net->n_ops * sizeof *b.consts);
  b.resident = wk_arena_alloc(b.arena, net->n_tensors * sizeof *b.resident);
  for (size_t t = 0; t < net->n_tensors; t++) b.resident[t].place.buffer = -1;
  out->command_bytes = net->machine->command_bytes;
  out->lasting = p->lasting;
  out->is_begin = g0 < g1 && !p->groups.data[g0].first;
  for (size_t g = g0, end; g < g1; g = end) {
    end = wk_sched_together(p, g);
    if (end > g1) end = g1;
    out->by_planes = out->by_planes || p->groups.data[g].rounds > 1;
    build_together(&b, g, end);
  }
  look_at_room(&b);
  wk_vec_free(&b.tensors);
  wk_arena_free(b.arena);
  return !b.is_too_large;
}

void wk_sched_build(const wk_sched_net *net, const wk_sched_plan *p, const wk_sched_use *uses,
                    size_t g0, size_t g1, wk_sched_steps *out) {
  (void)wk_sched_build_within(net, p, uses, g0, g1, INT64_MAX, out);
}
