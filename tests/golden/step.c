/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/golden/step.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/train/step.h"

enum { WORD_SIZE = 64 };

static const struct { const char *name; size_t offset; } numbers[] = {
#define X(name) {#name "=", offsetof(wk_step_options, hypers) + offsetof(wk_hypers, name)},
    WK_HYPERS(X)
#undef X
    {"clip=", offsetof(wk_step_options, clip_norm)}};

/* What becomes of the module, once there is a step. */
typedef enum { STEP, EVALUATION, INFERENCE } result;

static wk_status read_word(wk_arena *a, wk_step_options *o, result *then, const char *w) {
  for (int k = 0; k < WK_LOSS_COUNT; k++)
    if (!strcmp(w, wk_loss_get((wk_loss_kind)k)->name)) return o->loss = (wk_loss_kind)k, NULL;
  for (int k = 0; k < WK_OPTIMIZER_COUNT; k++) {
    const wk_optimizer *x = wk_optimizer_get((wk_optimizer_kind)k);
    if (strcmp(w, x->name) != 0) continue;
    o->optimizer = (wk_optimizer_kind)k;
    o->hypers = x->defaults;
    return NULL;
  }
  for (size_t i = 0; i < WK_COUNTOF(numbers); i++) {
    size_t n = strlen(numbers[i].name);
    if (strncmp(w, numbers[i].name, n) != 0) continue;
    *(double *)((char *)o + numbers[i].offset) = strtod(w + n, NULL);
    return NULL;
  }
  if (!strcmp(w, "evaluation")) *then = EVALUATION;
  else if (!strcmp(w, "inference")) *then = INFERENCE;
  else if (!strncmp(w, "output=", 7)) o->output = wk_arena_strdup(a, w + 7);
  else if (!strncmp(w, "accumulate=", 11)) o->accumulate = strtoll(w + 11, NULL, 10);
  else if (!strcmp(w, "is-loss")) o->is_loss = true;
  else if (!strcmp(w, "norm")) o->has_norm = true;
  else return wk_error(WK_USAGE, "step has no word '%s'", w);
  return NULL;
}

static wk_status read_words(wk_arena *a, wk_step_options *o, result *then, const char *at) {
  for (at += strspn(at, " "); *at; at += strspn(at, " ")) {
    char word[WORD_SIZE] = {0};
    size_t n = strcspn(at, " ");
    if (n >= sizeof word) return wk_error(WK_USAGE, "step: a word is too long: %s", at);
    memcpy(word, at, n);
    WK_TRY(read_word(a, o, then, word));
    at += n;
  }
  return NULL;
}

/* The output with the next value of a constant; NULL: it is no statistic. */
static const char *next_of(const wk_graph *g, const char *name) {
  for (size_t i = 0; i < g->outputs.n; i++) {
    const char *out = g->output_names.data[i];
    if (!strncmp(out, "next_", 5) && !strcmp(out + 5, name)) return out;
  }
  return NULL;
}

wk_status golden_step(wk_module *m, const char *words) {
  wk_step_options o = {.output = "y", .accumulate = 1};
  wk_import_report r = {0};
  wk_step step = {0}, evaluation = {0};
  result then = STEP;
  WK_VEC(const char *) weights = {0};
  const wk_graph *g = m->main;
  for (size_t v = 0; v < g->values.n; v++) {
    const wk_value *x = &g->values.data[v];
    if (x->kind != WK_VALUE_CONSTANT || !wk_dtype_is_float(x->type.dtype) || !x->type.rank)
      continue;
    const wk_statistic s = {x->name, next_of(g, x->name)};
    if (s.output) wk_vec_push(&r.moved, s);
    else wk_vec_push(&weights, x->name);
  }
  wk_status st = read_words(m->arena, &o, &then, words);
  if (!st) {
    wk_module *made = then == STEP ? m : wk_module_clone(m);
    st = wk_step_build(made, &r, &o, weights.data, weights.n, &step);
    if (!st && then == EVALUATION) st = wk_step_evaluation(m, &step, &o, &evaluation);
    if (!st && then == INFERENCE) st = wk_step_inference(m, &step);
    if (then != STEP) wk_module_free(made);
    wk_step_free(&evaluation);
    wk_step_free(&step);
  }
  wk_vec_free(&r.moved);
  wk_vec_free(&weights);
  return st;
}
