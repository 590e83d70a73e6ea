/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "compiler/lower/build.h"
#include "compiler/optim/optim.h"

static const wk_optimizer optimizers[] = {
#define OPTIMIZER(e, name, decay, states, factors, texts, update, doc, ...) \
  {name, WK_DECAY_##decay, states, factors, texts, update, doc, {__VA_ARGS__}},
#include "compiler/optim/optimizers.def"
#undef OPTIMIZER
};

static const struct { const char *name; size_t offset; } hypers[] = {
#define X(name) {#name, offsetof(wk_hypers, name)},
    WK_HYPERS(X)
#undef X
};

const wk_optimizer *wk_optimizer_get(wk_optimizer_kind k) { return &optimizers[k]; }

/* w, g, states, factors, apply */
enum { MAX_INPUTS = 3 + WK_OPTIMIZER_STATES + WK_OPTIMIZER_FACTORS };

static int words(const char *list) {
  int n = list[0] != 0;
  for (const char *p = list; *p; p++) n += *p == ' ';
  return n;
}

int wk_optimizer_states(wk_optimizer_kind k) { return words(optimizers[k].states); }
static int factor_count(wk_optimizer_kind k) { return words(optimizers[k].factors); }

/* $NAME and $rest_NAME of a wk_hypers. */
static bool hyper(const void *ctx, const char *name, size_t n, double *value) {
  static const char rest[] = "rest_";
  size_t k = n > sizeof rest - 1 && !strncmp(name, rest, sizeof rest - 1) ? sizeof rest - 1 : 0;
  for (size_t i = 0; i < WK_COUNTOF(hypers); i++) {
    if (strlen(hypers[i].name) != n - k || strncmp(hypers[i].name, name + k, n - k)) continue;
    double v = *(const double *)((const char *)ctx + hypers[i].offset);
    *value = k ? 1.0 - v : v;
    return true;
  }
  return false;
}

/* The results of e, all of one dtype, cast: the first to `first`, the others to `others`. apply:
 * the input that chooses between them and the inputs old[r]; 0: none does. */
typedef struct {
  const wk_dtype *in;
  int n_in, apply;
  wk_dtype first, others;
  int old[1 + WK_OPTIMIZER_STATES];
} casting;

static const wk_expr *cast_results(wk_arena *a, const wk_expr *e, const casting *c) {
  uint16_t inputs[MAX_INPUTS], out[1 + WK_OPTIMIZER_FACTORS];
  wk_expr_builder *b = wk_expr_begin(a);
  for (int i = 0; i < c->n_in; i++) inputs[i] = wk_expr_input(b, i, c->in[i]);
  for (uint32_t r = 0; r < e->n_results; r++) {
    out[r] = wk_expr_cast(b, r ? c->others : c->first, wk_expr_inline(b, e, inputs, (int)r));
    if (c->apply)
      out[r] = wk_expr_3(b, WK_EX_SELECT, inputs[c->apply], out[r], inputs[c->old[r]]);
  }
  return wk_expr_finish(b, out, (int)e->n_results);
}

static void map(wk_low *l, const wk_expr *e, const wk_value_id *in, int n, wk_value_id *out) {
  if (l->status) return;
  wk_attr_map *a = wk_attrs_new(l->arena, WK_OP_MAP);
  a->body = e;
  wk_low_add(l, WK_OP_MAP, a, in, (uint32_t)n, e->n_results, out);
}

wk_status wk_factors_build(wk_graph *g, const char *name, wk_optimizer_kind k, const wk_hypers *h,
                           wk_value_id rate, wk_value_id step, wk_dtype t,
                           wk_value_id out[WK_OPTIMIZER_FACTORS]) {
  wk_low l = {.g = g, .arena = g->module->arena, .name = name};
  const wk_value_id in[] = {wk_low_reshape(&l, rate, 0, NULL), wk_low_reshape(&l, step, 0, NULL)};
  WK_TRY(l.status);
  const wk_dtype dtypes[] = {wk_low_type(&l, in[0])->dtype, wk_low_type(&l, in[1])->dtype};
  const char *text = wk_arena_printf(l.arena, "rate = f64(r); step = f64(s); %s",
                                     optimizers[k].texts);
  wk_expr *e;
  WK_TRY(wk_expr_template(l.arena, text, "r s", dtypes, 2, WK_F64, hyper, h, &e));
  const casting c = {.in = dtypes, .n_in = 2, .first = t, .others = t};
  map(&l, cast_results(l.arena, e, &c), in, 2, out);
  return l.status;
}

wk_status wk_optimizer_build(wk_graph *g, const wk_update_desc *d, wk_value_id *new_weight,
                             wk_value_id *new_states) {
  wk_low l = {.g = g, .arena = g->module->arena, .name = d->name};
  const wk_optimizer *o = &optimizers[d->kind];
  wk_value_id in[MAX_INPUTS] = {d->weight, d->gradient};
  wk_value_id out[1 + WK_OPTIMIZER_STATES];
  wk_dtype dtypes[WK_COUNTOF(in)];
  int states = wk_optimizer_states(d->kind), factors = factor_count(d->kind), n = 2;
  for (int i = 0; i < states; i++) in[n++] = d->states[i];
  for (int i = 0; i < factors; i++) in[n++] = d->factors[i];
  if (d->apply != WK_NONE) in[n++] = d->apply;
  for (int i = 0; i < n; i++) dtypes[i] = wk_low_type(&l, in[i])->dtype;
  bool decays = o->decay == WK_DECAY_L2 && d->hypers->weight_decay != 0;
  const char *text = wk_arena_printf(
      l.arena, "d = %s; %s", decays ? "add(g, mul(w, $weight_decay))" : "g", o->update);
  const char *names = wk_arena_printf(l.arena, "w g%s%s %s apply", states ? " " : "", o->states,
                                      o->factors);
  wk_dtype wide = wk_compute_dtype(dtypes[0]);
  wk_expr *e;
  WK_TRY(wk_expr_template(l.arena, text, names, dtypes, n, wide, hyper, d->hypers, &e));
  casting c = {.in = dtypes, .n_in = n, .apply = d->apply == WK_NONE ? 0 : n - 1,
               .first = dtypes[0], .others = wide};
  for (int i = 0; i < states; i++) c.old[1 + i] = 2 + i;
  map(&l, cast_results(l.arena, e, &c), in, n, out);
  if (l.status) return l.status;
  *new_weight = out[0];
  for (int i = 0; i < states; i++) new_states[i] = out[1 + i];
  return NULL;
}
