/* SPDX-License-Identifier: Apache-2.0
 * What to do about a model that suits a target badly: products in floats, of which a target of
 * integers has none, and weights that cost it more than they must. */
#include <string.h>

#include "compiler/pipeline/model.h"

enum { SHOWN = 3 }; /* names */

typedef struct {
  int64_t all, floats;  /* multiply-accumulates */
  size_t n;             /* operators that multiply floats */
  const char *names[SHOWN], *last;
  bool has_part, has_products, has_floats; /* the target; any tensor of a part that is another's */
} share;

static bool is_float(const wk_graph *g, wk_value_id v) {
  return v != WK_NONE && wk_dtype_is_float(g->values.data[v].type.dtype);
}

static void add_graph(share *x, const wk_graph *g) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (n->dead) continue;
    x->has_floats = x->has_floats || (n->n_out > 0 && is_float(g, n->out[0]));
    int64_t macs = wk_node_macs(g, n);
    if (macs <= 0 || !is_float(g, n->in[0])) continue;
    x->floats += macs;
    if (x->n > 0 && !strcmp(x->last, n->name)) continue; /* pieces of one operator */
    if (x->n < SHOWN) x->names[x->n] = n->name;
    x->n++;
    x->last = n->name;
  }
}

static share share_of(const wk_parts *p, uint32_t target) {
  share x = {0};
  for (size_t i = 0; i < p->parts.n; i++) {
    const wk_part *part = &p->parts.data[i];
    x.all += part->macs;
    x.has_part = x.has_part || part->target == target;
    x.has_products = x.has_products || (part->target == target && part->macs > 0);
    for (size_t k = 0; part->target != target && k < part->module->graphs.n; k++)
      add_graph(&x, part->module->graphs.data[k]);
  }
  return x;
}

static const char *whole_text(const char *path, const char *target, wk_arena *a) {
  return wk_arena_printf(a, "is a float model, and %s computes in integers: first 'wick quantize "
                         "%s --calibration DIR -o %s.int8.onnx', or to explore "
                         "--quantize-random 1", target, path, wk_model_name(a, path));
}

static const char *rest_text(const share *x, const char *target, wk_arena *a) {
  wk_str names = {0};
  for (size_t i = 0; i < x->n && i < SHOWN; i++)
    wk_str_printf(&names, "%s%s", i ? ", " : "", x->names[i]);
  if (x->n > SHOWN) wk_str_add(&names, ", …");
  const char *text =
      wk_arena_printf(a, "%.1f %% of the multiply-accumulates are in floats, which %s leaves to "
                      "others: %s; 'wick quantize' makes integers of a float model, "
                      "'wick compile --print-integer' says what stays in floats and why",
                      100 * (double)x->floats / (double)x->all, target, names.s);
  wk_str_free(&names);
  return text;
}

/* NULL: there is nothing to say. */
static const char *text_of(const char *path, const wk_pipeline_report *r, const wk_targets *t,
                           uint32_t i, const wk_parts *p, wk_arena *a) {
  const char *name = t->list[i]->target->name;
  if (!t->list[i]->target->wants_integers) return NULL;
  if (!p) return !r->n_integer && r->float_macs ? whole_text(path, name, a) : NULL;
  share x = share_of(p, i);
  bool is_idle = r->macs ? !x.has_products && x.floats : !x.has_part && x.has_floats;
  if (!r->n_integer && is_idle) return whole_text(path, name, a);
  return x.floats ? rest_text(&x, name, a) : NULL;
}

void wk_model_target_notes(wk_notes *notes, const char *path, const wk_pipeline_report *r,
                         const wk_targets *t, const wk_parts *p, wk_status s) {
  if (s ? s->code != WK_UNSUPPORTED : !p) return;
  wk_arena *a = wk_arena_new();
  for (uint32_t i = 0; i < t->n; i++) {
    const char *text = text_of(path, r, t, i, p, a);
    if (text) wk_model_add_note(notes, path, text);
  }
  if (r->adapted.why)
    wk_model_add_note(notes, path,
                      wk_arena_printf(a, "%s multiplies %.2f times as much as the model: %s",
                                      r->adapted_by,
                                      (double)(r->macs + r->adapted.more_macs) / (double)r->macs,
                                      r->adapted.why));
  wk_arena_free(a);
}

/* Why the target has nothing: of the first product that it refused, else of the first operator. */
static const char *refusal_text(const wk_parts *p, uint32_t i, const char *target, wk_arena *a) {
  const wk_part_reason *first = NULL;
  bool is_product = false;
  for (size_t k = 0; k < p->reasons.n && !is_product; k++) {
    const wk_part_reason *r = &p->reasons.data[k];
    wk_op op;
    if (r->refused != i) continue;
    is_product = wk_op_from_name(r->op, strlen(r->op), &op) &&
                 wk_op_get(op)->cls == WK_CLASS_CONTRACTION;
    if (is_product || !first) first = r;
  }
  if (!first) return NULL;
  return wk_arena_printf(a, "nothing of it runs on %s: %s: %s", target,
                         *first->node ? first->node : first->op, first->reason);
}

wk_status wk_model_check_used(const char *path, const wk_pipeline_report *r, const wk_targets *t,
                              const wk_parts *p, const char *target) {
  uint32_t i = 0;
  while (i < t->n && strcmp(t->list[i]->target->name, target) != 0) i++;
  for (size_t k = 0; k < p->parts.n; k++)
    if (p->parts.data[k].target == i) return NULL;
  wk_arena *a = wk_arena_new();
  const char *text = i < t->n ? text_of(path, r, t, i, p, a) : NULL;
  if (!text && i < t->n) text = refusal_text(p, i, target, a);
  if (!text)
    text = wk_arena_printf(a, "nothing of it runs on %s: 'wick ops --model %s --target %s' says "
                           "why", target, path, target);
  wk_status s = wk_error_at(WK_UNSUPPORTED, path, "%s", text);
  wk_arena_free(a);
  return s;
}
