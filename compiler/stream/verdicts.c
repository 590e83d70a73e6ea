/* SPDX-License-Identifier: Apache-2.0
 * Verdicts that have been found, by all that they depend on. Operators and tensors go by what they
 * are like and by where they stand in the run of groups that is judged, so that layers which are
 * alike are judged once. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/stream/crew.h"

/* Of a text: two hashes, one of which would do. */
typedef struct {
  uint64_t a, b;
} digest;

static digest digest_of(const wk_str *s) {
  return (digest){wk_hash64(s->s, s->n, 1), wk_hash64(s->s, s->n, 2)};
}

/* ---- what is kept ---------------------------------------------------------------------------- */

typedef struct {
  bool is_taken;
  digest key;
  wk_sched_verdict verdict;
} slot;

struct wk_sched_verdicts {
  pthread_mutex_t lock;
  slot *slots;
  size_t used, size; /* size: a power of two, at least twice `used` */
};

wk_sched_verdicts *wk_sched_verdicts_new(void) {
  wk_sched_verdicts *v = wk_xcalloc(1, sizeof *v);
  pthread_mutex_init(&v->lock, NULL);
  v->size = 1024;
  v->slots = wk_xcalloc(v->size, sizeof *v->slots);
  return v;
}

void wk_sched_verdicts_free(wk_sched_verdicts *v) {
  if (!v) return;
  pthread_mutex_destroy(&v->lock);
  free(v->slots);
  free(v);
}

size_t wk_sched_verdicts_known(wk_sched_verdicts *v) {
  pthread_mutex_lock(&v->lock);
  size_t used = v->used;
  pthread_mutex_unlock(&v->lock);
  return used;
}

/* The slot that has the key, or the free one where it belongs. */
static slot *find(slot *slots, size_t size, const digest *key) {
  size_t mask = size - 1, i = key->a & mask;
  while (slots[i].is_taken && (slots[i].key.a != key->a || slots[i].key.b != key->b))
    i = (i + 1) & mask;
  return &slots[i];
}

static bool look_up(wk_sched_verdicts *v, const digest *key, wk_sched_verdict *out) {
  pthread_mutex_lock(&v->lock);
  const slot *s = find(v->slots, v->size, key);
  bool is_known = s->is_taken;
  if (is_known) *out = s->verdict;
  pthread_mutex_unlock(&v->lock);
  return is_known;
}

/* False: there is no memory. */
static bool make_room(wk_sched_verdicts *v) {
  size_t size = 2 * v->size;
  if (2 * (v->used + 1) <= v->size) return true;
  slot *more = calloc(size, sizeof *more);
  if (!more) return false;
  for (size_t i = 0; i < v->size; i++)
    if (v->slots[i].is_taken) *find(more, size, &v->slots[i].key) = v->slots[i];
  free(v->slots);
  v->slots = more;
  v->size = size;
  return true;
}

/* Another thread may have found it meanwhile. */
static void keep(wk_sched_verdicts *v, const digest *key, const wk_sched_verdict *verdict) {
  pthread_mutex_lock(&v->lock);
  bool has_room = make_room(v);
  slot *s = has_room ? find(v->slots, v->size, key) : NULL;
  if (s && !s->is_taken) *s = (slot){true, *key, *verdict}, v->used++;
  pthread_mutex_unlock(&v->lock);
  if (!has_room) wk_no_memory();
}

/* ---- what operators and tensors are like ----------------------------------------------------- */

struct wk_sched_looks {
  digest *ops, *tensors;
};

/* Where a machine does not say what its operators are, each is like itself alone. */
static void look_at_op(const wk_sched_net *net, int i, wk_str *b) {
  wk_sched_put_op(b, &net->ops[i]);
  if (net->machine->describe) net->machine->describe(net, i, b);
  else WK_SCHED_PUT(b, i);
}

wk_sched_looks *wk_sched_looks_new(const wk_sched_net *net) {
  wk_sched_looks *x = wk_xcalloc(1, sizeof *x);
  wk_str b = {0};
  x->ops = wk_xcalloc(net->n_ops, sizeof *x->ops);
  x->tensors = wk_xcalloc(net->n_tensors, sizeof *x->tensors);
  for (size_t i = 0; i < net->n_ops; i++, b.n = 0) {
    look_at_op(net, (int)i, &b);
    x->ops[i] = digest_of(&b);
  }
  for (size_t t = 0; t < net->n_tensors; t++, b.n = 0) {
    wk_sched_put_tensor(&b, &net->tensors[t]);
    if (!net->machine->describe) WK_SCHED_PUT(&b, (int64_t)t);
    x->tensors[t] = digest_of(&b);
  }
  wk_str_free(&b);
  return x;
}

uint64_t wk_sched_look_hash(const wk_sched_looks *x, int op) { return x->ops[op].a; }

void wk_sched_looks_free(wk_sched_looks *x) {
  if (!x) return;
  free(x->ops);
  free(x->tensors);
  free(x);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Of a run of groups: operators [first, last], tensors in the order in which these name them. */
typedef struct {
  const wk_sched_searching *x;
  const wk_sched_plan *plan;
  int first, last;
  WK_VEC(int) tensors;
  wk_str text;
} run;

/* Where an operator stands: -2 there is none, -1 before the run, behind it all are alike. */
static int64_t place_of(const run *r, int op) {
  if (op < 0) return -2;
  return op < r->first ? -1 : op > r->last ? r->last - r->first + 1 : op - r->first;
}

static void put_digest(wk_str *b, const digest *d) {
  WK_SCHED_PUT(b, (int64_t)d->a, (int64_t)d->b);
}

static void put_tensor(run *r, int t) {
  const wk_sched_use *u = &r->x->uses[t];
  int resident = r->plan->resident[t];
  put_digest(&r->text, &r->x->looks->tensors[t]);
  WK_SCHED_PUT(&r->text, place_of(r, u->first_writer), place_of(r, u->last_writer),
               place_of(r, u->first_reader), place_of(r, u->last_reader),
               place_of(r, resident), u->last_reader > resident, u->last_writer > resident,
               u->first_writer == u->last_writer);
}

/* Its number in the run; what it is like, where it is a new one. */
static void put_operand(run *r, int t) {
  int64_t number = 0;
  while (number < (int64_t)r->tensors.n && r->tensors.data[number] != t) number++;
  WK_SCHED_PUT(&r->text, t < 0 ? -1 : number);
  if (t < 0 || number < (int64_t)r->tensors.n) return;
  wk_vec_push(&r->tensors, t);
  put_tensor(r, t);
}

static void put_op(run *r, int i) {
  const wk_sched_op *op = &r->x->net->ops[i];
  put_digest(&r->text, &r->x->looks->ops[i]);
  WK_SCHED_PUT(&r->text, (int64_t)op->layer - (int64_t)r->x->net->ops[r->first].layer);
  put_operand(r, op->out.tensor);
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) put_operand(r, op->in[k].tensor);
}

static void put_group(run *r, const wk_sched_group *g) {
  WK_SCHED_PUT(&r->text, g->last - g->first, g->strips, g->keeps, g->alone, g->rounds, g->follows,
               g->staggers, g->in_parts, g->by_first, g->is_brief);
}

static digest key_of(const wk_sched_searching *x, const wk_sched_plan *p, size_t g0, size_t g1) {
  run r = {.x = x, .plan = p, .first = p->groups.data[g0].first,
           .last = p->groups.data[g1 - 1].last};
  bool has_rounds = false;
  for (size_t g = g0; g < g1; g++) {
    put_group(&r, &p->groups.data[g]);
    has_rounds = has_rounds || p->groups.data[g].rounds > 1;
  }
  WK_SCHED_PUT(&r.text, x->net->machine->scratchpad, wk_sched_mode_of(p, x->o->prefetch),
               x->o->without & (WK_SCHED_EARLY_ISSUE | WK_SCHED_CROSS_LAYER), p->lasting,
               p->chunk, p->marks, has_rounds ? p->limit : 0, r.first == 0);
  for (int i = r.first; i <= r.last; i++) put_op(&r, i);
  digest key = digest_of(&r.text);
  wk_vec_free(&r.tensors);
  wk_str_free(&r.text);
  return key;
}

wk_sched_verdict wk_sched_judge(const wk_sched_searching *x, const wk_sched_plan *p, size_t g0,
                                size_t g1) {
  wk_sched_verdicts *all = x->verdicts;
  if (!all || g0 == g1) return wk_sched_judge_anew(x, p, g0, g1);
  wk_sched_verdict v;
  digest key = key_of(x, p, g0, g1);
  if (look_up(all, &key, &v)) return v;
  v = wk_sched_judge_anew(x, p, g0, g1);
  keep(all, &key, &v);
  return v;
}

/* ---- ahead ----------------------------------------------------------------------------------- */

/* Those that have no verdict yet, of equal ones the first. */
static void find_unknown(const wk_sched_searching *x, const wk_sched_run *runs, size_t n,
                         wk_sched_runs *out) {
  digest *keys = wk_xcalloc(n, sizeof *keys);
  wk_sched_verdict known;
  for (size_t i = 0; i < n; i++) {
    size_t k = 0;
    if (runs[i].from == runs[i].to) continue;
    keys[i] = key_of(x, runs[i].plan, runs[i].from, runs[i].to);
    while (keys[k].a != keys[i].a || keys[k].b != keys[i].b) k++;
    if (k == i && !look_up(x->verdicts, &keys[i], &known)) wk_vec_push(out, runs[i]);
  }
  free(keys);
}

typedef struct {
  const wk_sched_searching *x;
  const wk_sched_run *runs;
} judging;

static void judge_run(void *ctx, size_t i, wk_sched_steps *steps) {
  const judging *j = ctx;
  wk_sched_searching x = *j->x;
  x.steps = steps;
  (void)wk_sched_judge(&x, j->runs[i].plan, j->runs[i].from, j->runs[i].to);
}

void wk_sched_judge_ahead(const wk_sched_searching *x, const wk_sched_run *runs, size_t n) {
  wk_sched_runs unknown = {0};
  if (wk_sched_beside(x) == 1 || !x->verdicts) return;
  find_unknown(x, runs, n, &unknown);
  wk_sched_do(x, judge_run, &(judging){x, unknown.data}, unknown.n);
  wk_vec_free(&unknown);
}
